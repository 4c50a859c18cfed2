/* node.h - functions for the code of a machine: nodes, routes, reducers, steps of flows. They read channels, build values, write channels, issue commands
 * and ask people. Included by pawl/kernel.h.
 *
 * `s` is the step that the node was called with; outside of such a call they do nothing, or return NULL, 0 or PAWL_INVALID. A reducer issues its commands
 * with flow.h; those of this header are for nodes. What they return is lent for the call of the node.
 *
 * A mistake (no such channel, a NULL value, a wrong format) is kept by the step: the node then fails with it, whatever it returns. So the calls may be
 * nested unchecked. */
#ifndef PAWL_KERNEL_NODE_H
#define PAWL_KERNEL_NODE_H

#include "pawl/kernel/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reading. A node sees the channels as they were when its superstep began, without the writes of this superstep. pawl_get returns NULL for a channel that
 * has no value, and for a secret. */
PAWL_API const pawl_value *pawl_get(pawl_step *s, const char *channel);
PAWL_API const pawl_value *pawl_args(pawl_step *s);             /* the arguments of pawl_send; NULL: reached by an edge */
PAWL_API int64_t pawl_get_int(pawl_step *s, const char *channel);       /* 0 unless it is an integer in range */
PAWL_API bool pawl_get_bool(pawl_step *s, const char *channel);         /* false unless it is true */
PAWL_API double pawl_get_real(pawl_step *s, const char *channel);       /* 0 unless it is a number */
PAWL_API const char *pawl_get_string(pawl_step *s, const char *channel); /* NULL unless it is a string */
PAWL_API const char *pawl_get_json(pawl_step *s, const char *channel);  /* canonical JSON; NULL: no value */
PAWL_API const char *pawl_node_name(const pawl_step *s);        /* the node that runs; "" in a reducer */
PAWL_API int64_t pawl_now(const pawl_step *s);                  /* ms since 1970; the same throughout a visit */
PAWL_API uint64_t pawl_random(pawl_step *s);                    /* the next of a sequence that is the same in every pass of a visit and in every replay */
PAWL_API uint32_t pawl_visit(const pawl_step *s);               /* the number of this visit, from 1; each retry of the node is the next. 0 in a reducer */

/* Building values for writes, arguments and prompts. They are owned by the step. NULL: no memory, a NULL argument, or an error that the step keeps. */
PAWL_API const pawl_value *pawl_pack(pawl_step *s, const char *format, ...);    /* "{s:s,s:[i,b,n],s:v}": "Formats of pawl_pack" in docs/INTERFACES.md */
PAWL_API const pawl_value *pawl_json(pawl_step *s, const char *text);           /* parses JSON */
PAWL_API const char *pawl_text(pawl_step *s, const pawl_value *v);              /* canonical JSON; NULL for NULL */
PAWL_API const char *pawl_format(pawl_step *s, const char *format, ...) PAWL_PRINTF(2, 3); /* as printf, without floating point */
/* A reference to a channel, for the arguments of a command: the journal stores the reference, the handler gets the value that the channel has now (K7). Of
 * a secret channel the handler gets the secret (K4). It cannot be written to a channel, emitted or sent. */
PAWL_API const pawl_value *pawl_ref(pawl_step *s, const char *channel);

/* Writing. Writes count when the node leaves; a pass that stops at a command drops them, and the next pass makes them again. They are merged by the rule of
 * the channel when the superstep closes (channel.h). */
PAWL_API void pawl_set(pawl_step *s, const char *channel, const pawl_value *value);
PAWL_API void pawl_set_int(pawl_step *s, const char *channel, int64_t value);
PAWL_API void pawl_set_bool(pawl_step *s, const char *channel, bool value);
PAWL_API void pawl_set_real(pawl_step *s, const char *channel, double value);
PAWL_API void pawl_set_string(pawl_step *s, const char *channel, const char *value);
PAWL_API void pawl_set_json(pawl_step *s, const char *channel, const char *text);
PAWL_API void pawl_extend(pawl_step *s, const char *channel, const pawl_value *array);    /* of a list rule: each element is a write */
PAWL_API void pawl_overwrite(pawl_step *s, const char *channel, const pawl_value *value); /* replaces the value, whatever the rule */
/* Emits a value under a name for readers of the run (stream.h, items.h); it is stored in the journal when the node leaves. The name "artifact" makes it an
 * artifact. */
PAWL_API void pawl_emit(pawl_step *s, const char *name, const pawl_value *value);

/* Calls an effect. In the first pass it returns PAWL_PENDING: return this code from the node, and the node runs again from its top once the command has a
 * receipt. The same call then returns PAWL_OK and the result in *receipt, or PAWL_EFFECT and the error, when the command failed and is not retried.
 * `receipt` may be NULL; `args` too. To run several commands at once, issue them all before returning PAWL_PENDING. A command is recognised by its
 * number in the visit, so a node must issue the same commands in every pass: another one is PAWL_CORRUPT. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_value **receipt);
/* The same with the most that this call may cost (A8), in place of the cost that its effect declares; NULL: as declared. PAWL_LIMIT, also of pawl_call: the
 * budget does not suffice. *receipt is {"code","text"}, nothing is performed, and the node may continue without it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call_with(pawl_step *s, const char *effect, const pawl_value *args, const pawl_cost *cost,
                                                const pawl_value **receipt);
/* Waits for `ms` from the start of the visit on, or from its last answer: PAWL_PENDING, then PAWL_OK. No process needs to exist meanwhile. Below 0: as 0. */
PAWL_API PAWL_MUST_USE pawl_code pawl_sleep(pawl_step *s, int64_t ms);
/* Starts a child run of another machine (pawl_engine_add) and waits for its end. `input`: an object of its channels, without secrets; NULL: none.
 * PAWL_PENDING; then PAWL_OK and in *result (may be NULL) an object of its channels, or what pawl_flow_output chose; or PAWL_EFFECT and
 * {"code","run","status","text"}: it did not complete. A child never has more rights than this run (E11). */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_value **result);
/* The same with a budget for the child, which is reserved of this run's budget, if there is one, until the child has ended. A limit that is 0 in `share`,
 * or all with NULL: half of what is left, and all the time that is left. PAWL_LIMIT: as of pawl_call_with. */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn_with(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share,
                                                 const pawl_value **result);
/* Asks a person a question: PAWL_INTERRUPTED, to be returned from the node; in the pass after the answer PAWL_OK and *answer (may be NULL). */
PAWL_API PAWL_MUST_USE pawl_code pawl_ask(pawl_step *s, const pawl_value *prompt, const pawl_value **answer);
typedef struct pawl_question {    /* 0 or NULL: the default, or not given */
    pawl_wait_kind kind;          /* 0: PAWL_WAIT_QUESTION */
    const char *slot;             /* the name of the wait; NULL: that of the task. Beside other tasks it is "worker:3.SLOT", the second of a visit "SLOT.1" */
    const char *asked_of;         /* who should answer; for readers, not enforced. NULL: anyone */
    /* prompt: what people read, a text or any value. schema: the JSON schema that the answer must match (W3). otherwise: the answer once timeout_ms has
     * passed; of an approval only false; NULL: the wait stays open */
    const pawl_value *prompt, *schema, *otherwise;
    const pawl_value *options;    /* an array of the possible answers; an object with "value" offers that value, and "label" is its text for people */
    int64_t timeout_ms;           /* from the start of the visit; 0: none (W5) */
    const pawl_value *about;      /* for readers: what it asks about, such as a digest of it (W6) */
    /* Of an approval, {"keys":[{"key":"ed25519:..","name":"alice"}...],"need":1}: only answers that so many of them have signed count (P11). *answer is
     * then {"approve":BOOL,"signed":..}, with "input" and "note" where the answer has them */
    const pawl_value *approvers;
} pawl_question;
/* The same with more than a prompt. PAWL_INVALID: an approval whose `otherwise` is not false; approvers of another wait, or not of
 * that form. */
PAWL_API PAWL_MUST_USE pawl_code pawl_ask_with(pawl_step *s, const pawl_question *q, const pawl_value **answer);
/* Waits for a signal of that name: PAWL_INTERRUPTED, then PAWL_OK and its value in *value (may be NULL). */
PAWL_API PAWL_MUST_USE pawl_code pawl_await_signal(pawl_step *s, const char *name, const pawl_value **value);
/* Which of the commands that this visit has issued so far has its receipt first; each call of pawl_select gives the next one. PAWL_OK and its number in the
 * visit, from 0; PAWL_PENDING: no further one has a receipt yet. The result is stored, so that a replay has the same. The node may leave while other
 * commands are open. */
PAWL_API PAWL_MUST_USE pawl_code pawl_select(pawl_step *s, uint32_t *winner);
/* Sets the error of the node, a code below 0 and one line of text, and returns the code: `return pawl_fail(s, PAWL_TRANSIENT, "busy");` */
PAWL_API pawl_code pawl_fail(pawl_step *s, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4);

/* ---- typed state: a C struct stands for the channels (K9) ---------------------------------------------------- */

typedef enum pawl_field_type {
    PAWL_FIELD_INT = 1,    /* int64_t */
    PAWL_FIELD_BOOL = 2,   /* bool */
    PAWL_FIELD_REAL = 3,   /* double */
    PAWL_FIELD_STRING = 4, /* const char *, lent; NULL when never set */
    PAWL_FIELD_VALUE = 5   /* const pawl_value *, lent; NULL when never set */
} pawl_field_type;

typedef struct pawl_field {     /* one member of the struct, and its channel */
    pawl_channel channel;
    pawl_field_type type;
    size_t offset;              /* of the member in the struct */
} pawl_field;
/* One of these for each member: PAWL_FIELD(my_state, count, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM). What follows the type are members of pawl_channel; the name
 * of the channel is that of the member. */
#define PAWL_FIELD(structure, member, kind, ...) \
    { .channel = { .name = #member, __VA_ARGS__ }, .type = (kind), .offset = offsetof(structure, member) }

/* Sets every field of `out`, a struct as `fields` says, from the channels that the node sees. A channel without a value, or with null, gives 0, false or
 * NULL. PAWL_INVALID: the value of a channel has another type than its field; the error names it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_read(pawl_step *s, const pawl_field *fields, size_t n, void *out);
/* Writes `*value` to the channel of the field `name`: `value` points to an object of the field's C type. The rule of the channel merges it. */
PAWL_API void pawl_write(pawl_step *s, const pawl_field *fields, size_t n, const char *name, const void *value);

#ifdef __cplusplus
}
#endif
#endif
