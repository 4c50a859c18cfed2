/* names.h - the kernel's types, and the numbers that are stored in journals: add, never renumber. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_NAMES_H
#define PAWL_KERNEL_NAMES_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_machine pawl_machine; /* immutable; any number of threads may share it. Made by graph.h, flow.h or agent.h */
typedef struct pawl_state pawl_state;     /* the state of one run, folded from its journal so far; for one thread at a time */
typedef struct pawl_step pawl_step;       /* what a machine returns for an event, and the memory for it. Use one again and again; for one thread at a time */
typedef struct pawl_entry pawl_entry;     /* what one step adds to the journal: an entry or a task record */

/* What drives a machine. The members named here are those of pawl_event (step.h) that the kind uses. */
typedef enum pawl_event_kind {
    PAWL_EV_START = 1,   /* the run begins. value: an object of channels, its input; or NULL */
    PAWL_EV_INPUT = 2,   /* the next turn of a run that waits for input. value: an object of channels */
    PAWL_EV_TICK = 3,    /* brings nothing: the run takes the next superstep that is due */
    PAWL_EV_RECEIPT = 4, /* id: the command; outcome; value: its result or error; update: what it cost */
    PAWL_EV_TIMER = 5,   /* id: the sleep that is over, or the wait whose deadline has passed */
    PAWL_EV_SIGNAL = 6,  /* name; value. It resolves a wait for a signal of that name */
    PAWL_EV_ANSWER = 7,  /* id: the wait's id or slot (NULL: the only open one); value; by, note, update */
    PAWL_EV_UPDATE = 8,  /* value: an object of channels to write; name: the node that it acts for, or NULL */
    PAWL_EV_CANCEL = 9,  /* the run is to end as canceled; by, note */
    PAWL_EV_ADOPT = 10,  /* the run goes on under the machine that is passed to this feed, which may have changed (F5) */
    PAWL_EV_REOPEN = 11  /* a failed run tries again what failed; by, note, update */
} pawl_event_kind;

typedef enum pawl_status {
    PAWL_STATUS_SUBMITTED = 0,      /* created; its start event has not been taken yet */
    PAWL_STATUS_WORKING = 1,        /* a step is due, a command or timer is open, or it waits for signals alone */
    PAWL_STATUS_INPUT_REQUIRED = 2, /* an approval, question or input is open, and no step, command or timer is */
    PAWL_STATUS_COMPLETED = 3,
    PAWL_STATUS_FAILED = 4,
    PAWL_STATUS_CANCELED = 5,
    PAWL_STATUS_REJECTED = 6
} pawl_status;

typedef enum pawl_outcome { /* how a command ended */
    PAWL_OUTCOME_DONE = 0,          /* value: its result */
    PAWL_OUTCOME_ERROR = 1,         /* it failed and is not retried; value: the error, usually {"code","text"} */
    PAWL_OUTCOME_TIMEOUT = 2,       /* a limit of the command passed */
    PAWL_OUTCOME_CANCELED = 3,      /* it was canceled */
    PAWL_OUTCOME_UNKNOWN = 4        /* it was in flight when its process died: it may have happened, or not (E5) */
} pawl_outcome;

/* A call of an effect, a timer, a child run. */
typedef enum pawl_command_kind { PAWL_COMMAND_CALL = 1, PAWL_COMMAND_SLEEP = 2, PAWL_COMMAND_SPAWN = 3 } pawl_command_kind;

typedef enum pawl_class {    /* of an effect: what happens to a command that has no receipt after a crash (E5) */
    PAWL_CLASS_AT_LEAST_ONCE = 0,  /* performed again */
    PAWL_CLASS_PURE = 1,           /* performed again; it changes nothing outside, so it may also run before its entry is durable */
    PAWL_CLASS_IDEMPOTENT = 2,     /* performed again; the receiver knows its invocation id, and does it once */
    PAWL_CLASS_COMPENSABLE = 3,    /* performed again; an inverse effect undoes it when the run fails or is canceled */
    PAWL_CLASS_ONCE = 4            /* never performed again: its outcome is unknown, and a person or `on_unknown` decides */
} pawl_class;

typedef enum pawl_wait_kind {
    PAWL_WAIT_APPROVAL = 1, /* a person says yes or no to something: true or false */
    PAWL_WAIT_QUESTION = 2, /* a person answers anything that the schema and options allow */
    PAWL_WAIT_INPUT = 3,    /* the input of the next turn */
    PAWL_WAIT_SIGNAL = 4    /* a named message from anywhere */
} pawl_wait_kind;

/* The name that is stored for each ("receipt", "input-required", "at-least-once", ...); static. "unnamed" for an unknown number. */
PAWL_API const char *pawl_event_kind_name(pawl_event_kind kind);
PAWL_API const char *pawl_status_name(pawl_status status);
PAWL_API const char *pawl_outcome_name(pawl_outcome outcome);
PAWL_API const char *pawl_class_name(pawl_class cls);
PAWL_API const char *pawl_wait_kind_name(pawl_wait_kind kind);
/* Whether a run with this status has ended: completed, failed, canceled or rejected. A failed run can be reopened, if necessary after an adoption; the
 * others are final. */
PAWL_API bool pawl_status_terminal(pawl_status status);

#ifdef __cplusplus
}
#endif
#endif
