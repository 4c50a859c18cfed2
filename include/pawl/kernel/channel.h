/* channel.h - channels: named cells of state, each with a merge rule (K3). Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_CHANNEL_H
#define PAWL_KERNEL_CHANNEL_H

#include "pawl/kernel/names.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the writes to one channel become its value, in task order, when a superstep closes. The first write to an empty channel is its value; a list rule
 * (append, union, topic, barrier) begins with an empty array. A write that the rule does not take fails the run: PAWL_INVALID. */
typedef enum pawl_rule {
    PAWL_RULE_LAST = 1,      /* the last write in task order replaces the value */
    PAWL_RULE_SINGLE = 2,    /* as last; but two writers in one superstep are an error that names both */
    PAWL_RULE_APPEND = 3,    /* an array: a write adds one element, pawl_extend adds each element of an array */
    PAWL_RULE_SUM = 4,       /* numbers, added: exact in int64_t (overflow: PAWL_LIMIT); with a real among them as doubles, in task order */
    PAWL_RULE_MIN = 5,       /* the smallest of numbers, or of strings by their bytes; to mix them is PAWL_INVALID */
    PAWL_RULE_MAX = 6,       /* the greatest, likewise */
    PAWL_RULE_UNION = 7,     /* an array without equal elements (as canonical JSON); the first of equal ones stays */
    PAWL_RULE_MERGE = 8,     /* objects: each member of a write replaces the member of that name; a null is a value like any other */
    PAWL_RULE_TOPIC = 9,     /* an array of what one superstep wrote; empty again after the next superstep, unless `accumulate` */
    PAWL_RULE_EPHEMERAL = 10,/* as last, but the value exists for one superstep only: the one after the write */
    PAWL_RULE_BARRIER = 11,  /* an array of names (strings), each once: to count which sources have arrived */
    PAWL_RULE_CUSTOM = 12    /* `merge` of the channel decides; the journal stores the merged result */
} pawl_rule;
/* The name that is stored for a rule ("append"); static. "unnamed" for an unknown number. */
PAWL_API const char *pawl_rule_name(pawl_rule rule);

/* Merges `update` into `old`, for a channel with PAWL_RULE_CUSTOM. Not called while the channel has no value: the first update is then the result. Must
 * be pure. Returns `old`, `update`, or a value that was made on `s` (pawl_pack and the like). NULL: they cannot be merged, and the run fails. `arg` is
 * merge_arg. */
typedef const pawl_value *pawl_merge_fn(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg);

typedef struct pawl_channel {
    const char *name;           /* [A-Za-z0-9_-]{1,64}, not beginning with '-' */
    pawl_rule rule;             /* 0: PAWL_RULE_LAST */
    const char *first;          /* its value before any write, as JSON text; NULL: it has none */
    const char *secret;         /* NULL: no secret. "env:TOKEN", "file:PATH" or "given:NAME": the channel stands for that secret. It is never written and
                                 * never read; pawl_ref puts it into the arguments of a command when that is performed (K4) */
    bool accumulate;            /* of a topic: it keeps its elements, and grows like append */
    bool keep;                  /* a later run of the same context begins with its final value (pawl_state_carry; `keep: context` in an agent file) */
    pawl_merge_fn *merge;       /* with PAWL_RULE_CUSTOM; else NULL */
    void *merge_arg;            /* lent to `merge` as long as the machine */
} pawl_channel;

#ifdef __cplusplus
}
#endif
#endif
