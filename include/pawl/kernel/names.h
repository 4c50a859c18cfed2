/* names.h - numbers that stand in journals: add, never renumber. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_NAMES_H
#define PAWL_KERNEL_NAMES_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_machine pawl_machine; /* immutable; made by graph.h or flow.h */
typedef struct pawl_state pawl_state;     /* the live, folded state of one run */
typedef struct pawl_step pawl_step;       /* an answer; one object, used again for every feed */
typedef struct pawl_entry pawl_entry;     /* what one step adds to the journal: an entry or a task record */

typedef enum pawl_event_kind {
    PAWL_EV_START = 1,   /* value: an object, the channels' first values; or NULL */
    PAWL_EV_INPUT = 2,   /* value: an object of channels, for a machine between turns */
    PAWL_EV_TICK = 3,    /* nothing new: take the next superstep */
    PAWL_EV_RECEIPT = 4, /* id: the command; outcome; value: what came of it */
    PAWL_EV_TIMER = 5,   /* id: the sleep that is over, or the wait whose deadline passed */
    PAWL_EV_SIGNAL = 6,  /* name; value: for the wait for a signal of that name */
    PAWL_EV_ANSWER = 7,  /* id: the wait (id or slot; NULL: the only one); value; by, note, update */
    PAWL_EV_UPDATE = 8,  /* value: an object of channels; name: as if that node had written it, or NULL */
    PAWL_EV_CANCEL = 9,  /* call the run off */
    PAWL_EV_ADOPT = 10,  /* go on under the machine that is fed */
    PAWL_EV_REOPEN = 11  /* a person says: try what failed again; update may be given */
} pawl_event_kind;

typedef enum pawl_status {
    PAWL_SUBMITTED = 0,
    PAWL_WORKING = 1,
    PAWL_INPUT_REQUIRED = 2, /* a wait for a person is open, and no command or timer is */
    PAWL_COMPLETED = 3,
    PAWL_FAILED = 4,
    PAWL_CANCELED_RUN = 5,
    PAWL_REJECTED = 6
} pawl_status;

typedef enum pawl_outcome { /* of a command */
    PAWL_DONE = 0,          /* value: its result */
    PAWL_ERROR = 1,         /* it failed for good; value: what is known, best {"code":..,"text":..} */
    PAWL_TIMED_OUT = 2,
    PAWL_CALLED_OFF = 3,
    PAWL_OUTCOME_UNKNOWN = 4
} pawl_outcome;

typedef enum pawl_command_kind { PAWL_CALL = 1, PAWL_SLEEP = 2, PAWL_SPAWN = 3 } pawl_command_kind;

typedef enum pawl_class {    /* what to do about a command found without a receipt after a crash (E5) */
    PAWL_AT_LEAST_ONCE = 0,  /* run it again */
    PAWL_PURE = 1,           /* run it again, freely */
    PAWL_IDEMPOTENT = 2,     /* run it again, its id is its key */
    PAWL_COMPENSABLE = 3,    /* run it again; it has an inverse */
    PAWL_ONCE = 4            /* never: its outcome is unknown */
} pawl_class;

typedef enum pawl_wait_kind {
    PAWL_WAIT_APPROVAL = 1,
    PAWL_WAIT_QUESTION = 2,
    PAWL_WAIT_INPUT = 3,
    PAWL_WAIT_SIGNAL = 4
} pawl_wait_kind;

/* The stored name of each ("receipt", "input-required", "at-least-once", ...); static. */
PAWL_API const char *pawl_event_kind_name(pawl_event_kind kind);
PAWL_API const char *pawl_status_name(pawl_status status);
PAWL_API const char *pawl_outcome_name(pawl_outcome outcome);
PAWL_API const char *pawl_class_name(pawl_class cls);
PAWL_API const char *pawl_wait_kind_name(pawl_wait_kind kind);
/* Completed, failed, canceled, rejected: only `reopen` leaves failed (and `adopt` may come before it), nothing leaves the others. */
PAWL_API bool pawl_status_terminal(pawl_status status);

#ifdef __cplusplus
}
#endif
#endif
