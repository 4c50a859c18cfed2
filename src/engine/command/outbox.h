/* outbox.h - the outbox of a run: its open commands, and what other folders may do with them.
 *
 * An entry is opened by the files of this folder only (entry.h). All of it is called on the driving thread, without a lock, unless said. */
#ifndef ENGINE_OUTBOX_H
#define ENGINE_OUTBOX_H

#include "base/id_index.h"
#include "engine/engine.h"
#include "kernel/cost.h"

typedef enum entry_state {
    ENTRY_READY,                /* may begin; has not asked for a place in the budget of its effect */
    ENTRY_UNHANDLED,            /* there is no handler for its effect in this engine */
    ENTRY_BACKOFF,              /* waits for the time of its next attempt (E7) */
    ENTRY_QUEUED,               /* waits for a place in the budget of its effect */
    ENTRY_GRANTED,              /* has its place, or needs none: leaves next */
    ENTRY_SQL_READY,            /* is performed in the transaction of a commit: waits for one */
    ENTRY_LEAVING,              /* its attempt is being counted */
    ENTRY_RUNNING,              /* an attempt is with its handler */
    ENTRY_UNWANTED,             /* the same, and its command is not open any more: dropped when it returns */
    ENTRY_DONE,                 /* its outcome is known and not folded */
    ENTRY_FED,                  /* its receipt is folded and not stored */
    ENTRY_CHILD_NEW,            /* a child run that was not started from here */
    ENTRY_CHILD_STARTED,        /* its start is in the store */
    ENTRY_CHILD_RELEASED,       /* it got its cancel, or has ended: no more is delivered to it */
    ENTRY_STRAY,                /* an attempt that was given up: in no outbox, freed when it returns */
    ENTRY_STATES
} entry_state;

#define ENTRY_IN(state) (UINT32_C(1) << (state))
enum {
    ENTRIES_RUNNING = ENTRY_IN(ENTRY_RUNNING) | ENTRY_IN(ENTRY_UNWANTED),
    ENTRIES_CHILD = ENTRY_IN(ENTRY_CHILD_NEW) | ENTRY_IN(ENTRY_CHILD_STARTED) | ENTRY_IN(ENTRY_CHILD_RELEASED),
    /* No attempt of it runs, and no receipt waits to be stored. */
    ENTRIES_CALL_WAITS = ENTRY_IN(ENTRY_READY) | ENTRY_IN(ENTRY_UNHANDLED) | ENTRY_IN(ENTRY_BACKOFF) | ENTRY_IN(ENTRY_QUEUED) |
                         ENTRY_IN(ENTRY_GRANTED) | ENTRY_IN(ENTRY_SQL_READY),
    ENTRIES_WITH_RECEIPT = ENTRY_IN(ENTRY_DONE) | ENTRY_IN(ENTRY_FED),
    /* Something can be done for it here and now, or will come back. */
    ENTRIES_WORK = ENTRY_IN(ENTRY_READY) | ENTRY_IN(ENTRY_QUEUED) | ENTRY_IN(ENTRY_GRANTED) | ENTRY_IN(ENTRY_SQL_READY) |
                   ENTRY_IN(ENTRY_LEAVING) | ENTRY_IN(ENTRY_RUNNING) | ENTRIES_WITH_RECEIPT,
    ENTRIES_ASLEEP = ENTRY_IN(ENTRY_BACKOFF) | ENTRY_IN(ENTRY_CHILD_STARTED) | ENTRY_IN(ENTRY_CHILD_RELEASED)
};

typedef struct entry_list { outbox_entry *first, *last; size_t count, limited; } entry_list;     /* limited: those with a time limit to be watched */
typedef struct outbox {
    entry_list in_state[ENTRY_STATES];          /* kept by entry_move() */
    id_index index;                             /* by command id */
    uint64_t orders;                            /* entries that were ever made */
    uint64_t stored;                            /* the commands of so many of them are known to be stored */
    uint64_t reconciled;                        /* reconciliations so far */
    int64_t watched_ms;                         /* when the limits of running attempts were looked at */
    size_t backoffs, take_backs, uncertain;     /* entries in COUNT_BACKOFF, in COUNT_TAKE_BACK, in COUNT_UNCERTAIN */
    buf received;                               /* ids of commands whose receipts came from outside and are not stored, each with its NUL */
    buf made;                   /* ids of commands that were made since the last comparison, each with its NUL */
    bool stops;                                 /* a running attempt was told to stop */
    bool beyond;                                /* an attempt may cost more than the reservation of its command (charge.c) */
    amounts unbilled;                           /* of commands that ended without a receipt: goes into the next receipt (charge.c) */
} outbox;

size_t outbox_count(const outbox *o, uint32_t states);
outbox_entry *outbox_find(const cached_run *r, const char *id);         /* NULL: none */
static inline outbox_entry *outbox_first(const outbox *o, entry_state state) { return o->in_state[state].first; }
outbox_entry *entry_next(const outbox_entry *entry);                    /* of the same state */

/* ---- what others may know of an entry, and do with it ---------------------------------------------------------- */

const char *entry_id(const outbox_entry *entry);
const char *entry_effect(const outbox_entry *entry);
const pawl_value *entry_args_of(const outbox_entry *entry);
const pawl_limits *entry_limits(const outbox_entry *entry);
bool has_limit(const pawl_limits *l);                                   /* a time is set: of an attempt, of all of them, of a heartbeat */
const char *entry_child(const outbox_entry *entry);                     /* NULL: it is a call */
pawl_caps entry_share(const outbox_entry *entry);
entry_state entry_state_of(const outbox_entry *entry);
bool entry_is_resolving(const outbox_entry *entry);                     /* it performs `on_unknown` in place of its effect (E5) */
bool entry_waits_for_thread(const outbox_entry *entry);                 /* it was dispatched, and its handler not called */
bool entry_is_lost(const outbox_entry *entry);                          /* its attempt runs on, and another engine holds its run */
void entry_child_started(outbox_entry *entry);
void entry_child_released(outbox_entry *entry);
/* approvals.c: the child must not begin, for its approval does not count any more, and the entry has its receipt. *rc: PAWL_OK, or no memory. */
bool child_approval_ends(pawl_engine *e, outbox_entry *entry, pawl_code *rc, pawl_err *err);
void entry_refuse(pawl_engine *e, outbox_entry *entry, pawl_code code, const char *text);       /* a child that could not begin: its receipt */
/* For stream_ring.c. */
int64_t entry_dispatched_ms(const outbox_entry *entry);
uint32_t entry_attempt_number(const outbox_entry *entry);
void entry_failure_json(const outbox_entry *entry, buf *out);           /* of an attempt after which there will be another */
/* For lease_renewal.c, of the entry whose handler runs on the driving thread meanwhile. With the engine's lock, on the lease thread. */
unsigned long entry_beats(const outbox_entry *entry);
bool entry_is_stopping(const outbox_entry *entry);
cached_run *entry_run(const outbox_entry *entry);
void entry_stop_here(outbox_entry *entry, const char *exceeded, bool lease_lost);

/* ---- entry.c, outbox.c: of a whole run -------------------------------------------------------------------------- */

bool outbox_any_running(const cached_run *r);
bool outbox_is_idle(const cached_run *r);               /* no attempt runs, and no receipt waits to be stored */
bool outbox_open_idle(const cached_run *r);             /* the same of entries whose command is open */
bool outbox_tree_idle(const pawl_engine *e, const cached_run *r);       /* and of its children that are held here */
bool outbox_only_queued(const cached_run *r);           /* all that it waits for is a place in a budget */
int64_t outbox_wake_ms(const cached_run *r);            /* the end of the first back-off; 0: there is none */
bool outbox_is_asleep(const cached_run *r, const char *id);     /* the entry waits for its time, or for its child */
void outbox_postpone(pawl_engine *e, cached_run *r, int64_t now);       /* its entries leave the queue of their budget for a while */
void outbox_forget(pawl_engine *e, cached_run *r);      /* drops the entries, unless this engine alone knows something of them */
void outbox_unqueue(pawl_engine *e, cached_run *r);     /* it is not driven now: its entries leave the queues, so that they keep no other entry waiting */
void outbox_lease_lost(cached_run *r);                  /* another engine holds the run: running attempts are stopped */
void outbox_state_dropped(cached_run *r);               /* the state was thrown away: receipts that were folded are fed again, such commands go */
void outbox_stop_all(cached_run *r);
void outbox_plan_mark(cached_run *r);                   /* after a commit: attempts that run learn that the mode of the run became plan (P1) */
void outbox_stop_unstarted(cached_run *r);              /* attempts that wait for a thread must not begin any more (E10) */
void outbox_free(pawl_engine *e, cached_run *r);

/* reconcile.c: an entry for each open command. `why`: what one that cannot be made waits for. */
pawl_code outbox_reconcile(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err);
/* A step has made that command: the next comparison looks at no other when nothing but this has happened. */
void outbox_note_made(cached_run *r, const char *id);
/* A receipt of that command came from outside, and is folded: its entry goes when that is stored. */
void outbox_note_receipt(cached_run *r, const char *id);
void outbox_stored(pawl_engine *e, cached_run *r);      /* the receipts that were folded are stored, and their entries go */
void outbox_drop_leftovers(pawl_engine *e, cached_run *r, pawl_code next);      /* when no command is open any more */

/* collect.c */
/* takes the attempts of all runs that came back; waits for one so long; returns whether there was one */
bool outbox_collect(pawl_engine *e, int64_t wait_ms);
/* ENTRY_RUNNING back to where it was: it was dispatched, and its handler was not called. */
void entry_not_started(pawl_engine *e, outbox_entry *entry);

void outbox_end_pool(pawl_engine *e);                   /* the pool ends: what came back is taken, what did not begin waits again */
void outbox_end_held(pawl_engine *e);                   /* each job that is held is waited for, and taken: all were told to stop */

/* cancel.c */
pawl_code outbox_end_all(pawl_engine *e, cached_run *r, pawl_err *err); /* a second cancel: waits for no attempt, and feeds all receipts (E10) */
void outbox_finish(pawl_engine *e, cached_run *r);      /* the engine ends: receipts are stored; an attempt that was stopped is made again by the next holder */

/* dispatch.c: what can be done for it now, is. `only_run`: no other run waits for this thread. */
typedef struct dispatched {
    bool did;                   /* something was folded */
    bool again;                 /* nothing was folded, and more can be done at once */
    int64_t timer_ms;           /* its first timer; 0: none was looked for, or there is none */
    pawl_err missing;           /* what a command waits for that this engine does not have: a handler, a machine, a secret */
} dispatched;
pawl_code dispatch(pawl_engine *e, cached_run *r, bool only_run, dispatched *out, pawl_err *err);
/* dispatch_wait.c: the same for the only run, and then a wait for attempts, for children and for timers. */
typedef enum waited {
    WAITED_MORE,                /* something was folded, or may be: there is more to do */
    WAITED_NOTHING,             /* nothing can be done before a person, a host or another run does something */
    WAITED_CHILDREN_ASK         /* the same: its children ask a person, or wait for a signal */
} waited;
pawl_code dispatch_and_wait(pawl_engine *e, cached_run *r, waited *out, pawl_err *err);

/* attempt_count.c */
/* fills in the counts of attempts that begin once the append is stored; and then: */
pawl_code counts_in_commit(pawl_engine *e, cached_run *r, pawl_append *a, arena *mem);
void counts_committed(cached_run *r, const pawl_append *a);
void counts_take_back(cached_run *r);                   /* no attempt begins any more: marks those that were counted and did not begin */
pawl_code backoffs_store(pawl_engine *e, cached_run *r, pawl_err *err);
void counts_close(pawl_engine *e, cached_run *r);       /* both, before the run is released: the next holder takes nothing for begun that was not */

/* approvals.c: whether the key of a signed answer counts on this machine (P11). PAWL_DENIED */
pawl_code answer_counts(pawl_engine *e, const cached_run *r, const pawl_event *ev, pawl_err *err);

/* lazy_args.c: before the state changes */
pawl_code args_copy_all(pawl_engine *e, cached_run *r, pawl_err *err);
bool args_wait(const cached_run *r);                    /* there are so many that it pays to look at what an event leads to */
bool args_stay(const pawl_entry *entry);                /* it changes no channel: they may stay in the state */

/* charge.c: the budget of the run before something leaves (A9) */
bool charge_time_is_spent(const cached_run *r, int64_t now, pawl_err *why);     /* *why: the line for its receipt */
int64_t charge_ends_ms(const cached_run *r);            /* when the time of the budget is over; 0: it has none */

/* cost.c */
void cost_of_run(const cached_run *r, buf *out);        /* the cost of a child that is over; nothing when it has no budget */

/* partial_output.c */
bool partial_wanted(const cached_run *r, const pawl_event *ev);         /* the event is the interrupt of the run */
pawl_code partial_event_value(cached_run *r, const pawl_event *ev, buf *out, pawl_err *err);    /* its value, with what handlers have said; empty: none */

/* sql_command.c: commands that are performed in the transaction that stores their receipt */
pawl_code sql_start(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);   /* begins one that is ready; *did: there is one */
void sql_into_append(cached_run *r, bool release_sleeping, pawl_append *a, arena *mem);

#endif
