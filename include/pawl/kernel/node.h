/* node.h - inside the code of a machine: read, build, write, ask. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_NODE_H
#define PAWL_KERNEL_NODE_H

#include "pawl/kernel/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads see the state as the superstep found it, and what this task was sent. NULL when never set. */
PAWL_API const pawl_value *pawl_get(pawl_step *s, const char *channel);
PAWL_API const pawl_value *pawl_args(pawl_step *s);             /* what pawl_send gave; NULL when reached by an edge */
PAWL_API int64_t pawl_get_int(pawl_step *s, const char *channel);       /* 0 unless an integer */
PAWL_API bool pawl_get_bool(pawl_step *s, const char *channel);
PAWL_API double pawl_get_real(pawl_step *s, const char *channel);
PAWL_API const char *pawl_get_string(pawl_step *s, const char *channel); /* NULL unless a string */
PAWL_API const char *pawl_get_json(pawl_step *s, const char *channel);  /* canonical text; NULL when never set */
PAWL_API const char *pawl_node_name(const pawl_step *s);        /* the node that runs; "" in a reducer */
PAWL_API int64_t pawl_now(const pawl_step *s);                  /* time_ms, fixed per visit */
PAWL_API uint64_t pawl_random(pawl_step *s);                    /* the same numbers on every pass of a visit */
PAWL_API uint32_t pawl_visit(const pawl_step *s);               /* 1; a node's retry is the next */

/* Values for writes, arguments and prompts; they live in the step. NULL: out of memory, or a
 * NULL went in; feed then fails with the first error. */
PAWL_API const pawl_value *pawl_pack(pawl_step *s, const char *format, ...);    /* "{s:s,s:[i,b,n],s:v}": docs/INTERFACES.md */
PAWL_API const pawl_value *pawl_json(pawl_step *s, const char *text);           /* parsed */
PAWL_API const char *pawl_text(pawl_step *s, const pawl_value *v);              /* canonical JSON text; NULL in, NULL out */
PAWL_API const char *pawl_format(pawl_step *s, const char *format, ...) PAWL_PRINTF(2, 3); /* no floating point */
/* Stands in a command's arguments for a channel as of this entry (K7), or for a secret channel (K4). */
PAWL_API const pawl_value *pawl_ref(pawl_step *s, const char *channel);

/* Writes: kept when the node leaves, dropped with a pass that does not. A failed one makes the node fail. */
PAWL_API void pawl_set(pawl_step *s, const char *channel, const pawl_value *value);
PAWL_API void pawl_set_int(pawl_step *s, const char *channel, int64_t value);
PAWL_API void pawl_set_bool(pawl_step *s, const char *channel, bool value);
PAWL_API void pawl_set_real(pawl_step *s, const char *channel, double value);
PAWL_API void pawl_set_string(pawl_step *s, const char *channel, const char *value);
PAWL_API void pawl_set_json(pawl_step *s, const char *channel, const char *text);
PAWL_API void pawl_extend(pawl_step *s, const char *channel, const pawl_value *array);    /* each element */
PAWL_API void pawl_overwrite(pawl_step *s, const char *channel, const pawl_value *value); /* past the rule */
/* Tell the readers; kept with the run. An artifact is an emission named "artifact". */
PAWL_API void pawl_emit(pawl_step *s, const char *name, const pawl_value *value);

/* Ask the world, and stop here until it answers: PAWL_PENDING on the way out, PAWL_OK and the
 * receipt on the way back, PAWL_EFFECT and the error as receipt when it failed for good. `receipt` may be NULL.
 * The n-th command of a visit meets the n-th receipt; made before leaving, several run at once. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_value **receipt);
/* The same with what it may cost at most, where that is not what its effect declares (A8). What is refused for want of budget is PAWL_LIMIT, with
 * {"code","text"} as receipt; it is no command, and the node may go on without it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call_with(pawl_step *s, const char *effect, const pawl_value *args, const pawl_cost *cost,
                                                const pawl_value **receipt);
PAWL_API PAWL_MUST_USE pawl_code pawl_sleep(pawl_step *s, int64_t ms);
/* A child run of another machine (see pawl_engine_add), begun with `input`, an object of its channels or NULL; the result: its channels when it
 * completed; else PAWL_EFFECT and {"code","run","status","text"}. Its rights are this run's. Secrets are no input. */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_value **result);
/* The same with a budget of its own, reserved of this run's, if that has one, until the child has ended. What `share` (may be NULL) does not say is
 * half of what is left, and all the time that is left. */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn_with(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share,
                                                 const pawl_value **result);
/* Ask a person: PAWL_INTERRUPTED out, PAWL_OK and the answer back. */
PAWL_API PAWL_MUST_USE pawl_code pawl_ask(pawl_step *s, const pawl_value *prompt, const pawl_value **answer);
typedef struct pawl_question {
    pawl_wait_kind kind;          /* 0: PAWL_WAIT_QUESTION */
    const char *slot;             /* NULL: one is made from the node's name; beside other tasks it is "worker:3.SLOT" */
    const char *asked_of;
    const pawl_value *prompt, *schema, *otherwise;
    const pawl_value *options;    /* an array, what may be answered; of an object with a "value" that, and its "label" is what people read */
    int64_t timeout_ms;           /* 0: none; else from now; `otherwise` is its answer then (W5) */
    const pawl_value *about;      /* for readers of the wait: what is asked about, a digest of it (W6); NULL: nothing */
} pawl_question;
PAWL_API PAWL_MUST_USE pawl_code pawl_ask_with(pawl_step *s, const pawl_question *q, const pawl_value **answer);
PAWL_API PAWL_MUST_USE pawl_code pawl_await_signal(pawl_step *s, const char *name, const pawl_value **value);
/* A race, by the clock: which of this visit's open commands was answered first; that is recorded.
 * PAWL_OK and its number among them (0 is the first command of the visit), else PENDING. The others may
 * be left unanswered. */
PAWL_API PAWL_MUST_USE pawl_code pawl_select(pawl_step *s, uint32_t *winner);
/* Fail with a code (below 0) and a line of text: `return pawl_fail(s, PAWL_TRANSIENT, "busy");` */
PAWL_API pawl_code pawl_fail(pawl_step *s, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4);

/* ---- typed state: a C struct stands for the channels (K9) ---------------------------------------------------- */

typedef enum pawl_field_type {
    PAWL_FIELD_INT = 1,    /* int64_t */
    PAWL_FIELD_BOOL = 2,   /* bool */
    PAWL_FIELD_REAL = 3,   /* double */
    PAWL_FIELD_STRING = 4, /* const char *, lent; NULL when never set */
    PAWL_FIELD_VALUE = 5   /* const pawl_value *, lent; NULL when never set */
} pawl_field_type;

typedef struct pawl_field {
    pawl_channel channel;
    pawl_field_type type;
    size_t offset;
} pawl_field;
#define PAWL_FIELD(structure, member, kind, ...) \
    { .channel = { .name = #member, __VA_ARGS__ }, .type = (kind), .offset = offsetof(structure, member) }

/* Fill `out` (zeroed first by you or not; every field is set) from the channels a node sees. PAWL_INVALID:
 * a channel holds another type than its field; names it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_read(pawl_step *s, const pawl_field *fields, size_t n, void *out);
/* Write one field's update from `value`, which has the field's type; its channel's rule gets it. */
PAWL_API void pawl_write(pawl_step *s, const pawl_field *fields, size_t n, const char *name, const void *value);

#ifdef __cplusplus
}
#endif
#endif
