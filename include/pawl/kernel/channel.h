/* channel.h - channels: named cells of state, each with a merge rule (K3). Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_CHANNEL_H
#define PAWL_KERNEL_CHANNEL_H

#include "pawl/kernel/names.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_rule {
    PAWL_LAST = 1,      /* the last write in task order wins */
    PAWL_SINGLE = 2,    /* two writers in one superstep are an error that names both */
    PAWL_APPEND = 3,    /* an array; a write adds one element, an extend an array's */
    PAWL_SUM = 4,       /* exact in int64_t (overflow: PAWL_LIMIT), else double in task order */
    PAWL_MIN = 5,       /* of numbers, or of strings by bytes; mixing them is PAWL_INVALID */
    PAWL_MAX = 6,
    PAWL_UNION = 7,     /* an array of elements unequal as canonical JSON; the first seen stays */
    PAWL_MERGE = 8,     /* objects, shallow; a null is stored */
    PAWL_TOPIC = 9,     /* a queue: what a superstep wrote, gone after the next; see accumulate */
    PAWL_EPHEMERAL = 10,/* lives for exactly one superstep */
    PAWL_BARRIER = 11,  /* an array of the names seen; counts sources */
    PAWL_CUSTOM = 12    /* the machine's function; the merged result is what is stored */
} pawl_rule;
PAWL_API const char *pawl_rule_name(pawl_rule rule);

/* Merge `update` into `old` (NULL at first: then the update is the result, and this is not
 * called). Pure. The result is one of the two, or made with pawl_pack and the like on `s`. NULL: it cannot be. */
typedef const pawl_value *pawl_merge_fn(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg);

typedef struct pawl_channel {
    const char *name;           /* [A-Za-z0-9_-]{1,64}, not beginning with '-' */
    pawl_rule rule;             /* 0: PAWL_LAST */
    const char *first;          /* its value before any write, as JSON text; NULL: none */
    const char *secret;         /* "env:TOKEN", "file:PATH" or "given:NAME": K4; else NULL */
    bool accumulate;            /* a topic that keeps what it has */
    bool keep;                  /* `keep: context`: carried into the next run of the context */
    pawl_merge_fn *merge;       /* with PAWL_CUSTOM, else NULL */
    void *merge_arg;
} pawl_channel;

#ifdef __cplusplus
}
#endif
#endif
