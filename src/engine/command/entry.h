/* entry.h - one entry of a run's outbox: a command, from the step that made it until its receipt is stored.
 *
 * Opened by the files of this folder alone; others use the functions of outbox.h. An entry belongs to the driving thread. While an attempt of it
 * runs, the thread of its handler has `job`, `reply` and the fields that are marked H.
 *
 * Its life is `state` (entry_table), changed by entry_move() only. Beside it, each with a table and a mover of its own:
 *   count       what the store has of the number of its attempts (E13);
 *   args        where its arguments lie;
 *   resolution  whether an effect may still resolve an unknown outcome (E5);
 *   later.state how the attempt is answered when its handler returned before it was done (E17): under the lock of completions.c. */
#ifndef ENGINE_ENTRY_H
#define ENGINE_ENTRY_H

#include "base/trace_id.h"
#include "engine/child/child.h"
#include "engine/command/handler.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"

extern const sm_table entry_table, count_table, args_table, resolution_table, later_table;

typedef enum entry_count {
    COUNT_NONE,                 /* the store has no count of the next attempt */
    COUNT_BACKOFF,              /* the end of the back-off before it is to be stored (E7) */
    COUNT_IN_COMMIT,            /* the commit at hand counts it */
    COUNT_STORED,               /* it is counted */
    COUNT_USED,                 /* it was counted, and has begun */
    COUNT_TAKE_BACK,            /* it was counted and did not begin: that is to be stored */
    COUNT_UNCERTAIN,            /* the store did not say whether it counted it: that is read before anything leaves */
    COUNT_STATES
} entry_count;

typedef enum entry_args {
    ARGS_OWN,                   /* in the entry's memory, or `copied`; NULL: there are none, or it has its receipt */
    ARGS_IN_STATE,              /* in the run's state, to which they refer; job.args is NULL */
    ARGS_LENT,                  /* the same; job.args points there for an attempt on this thread */
    ARGS_STATES
} entry_args;

typedef enum entry_resolution {
    RESOLUTION_OPEN,            /* the effect `on_unknown` may resolve an unknown outcome */
    RESOLUTION_ASKING,          /* the entry performs that effect now, in place of its own */
    RESOLUTION_CLOSED,          /* it was asked once, or nothing new may begin */
    RESOLUTION_STATES
} entry_resolution;

typedef enum later_state {
    LATER_NOT,                  /* the attempt is answered when its handler returns */
    LATER_ANNOUNCED,            /* its handler said that it answers later, and has not returned */
    LATER_PENDING,              /* it has returned, and the answer is missing */
    LATER_ANSWERED,             /* the answer is there, and it has not returned */
    LATER_STATES
} later_state;

typedef struct later_answer {   /* under the lock of completions.c */
    uint8_t state;
    bool listed;                /* in the table of completions.c, by its command's id */
    bool stopped;               /* `stop` was called */
    pawl_stop_fn *stop;         /* NULL: the job is not held */
    void *ctx;
    outbox_entry *next;         /* in its slot of that table */
} later_answer;

typedef struct entry_attempt {  /* the attempt that runs, or ran last */
    int64_t started_ms;         /* when its handler was called; while it waits for a thread: now */
    bool start_seen;            /* its handler was called */
    _Atomic int64_t called_ms;  /* H the same by the steady clock; 0: not yet */
    int64_t dispatched_ms;      /* for stream readers */
    int64_t total_until_ms;     /* by the steady clock: the end of all attempts; 0: none */
    int64_t budget_until_ms;    /* by the steady clock: its handler is not called later, for the budget of its run is over; 0: no such time */
    int64_t until_ms;           /* H of this one: what its handler may see for itself; 0: none */
    atomic_bool overran;        /* H its handler saw that the time is over */
    atomic_ulong beats;         /* H heartbeats */
    unsigned long beats_seen;
    int64_t beat_ms;            /* when the driving thread saw the last one */
    const char *exceeded;       /* the limit for which it was stopped; NULL: none */
    atomic_bool stop;           /* its handler is to stop. Set by the lease thread, too, for one that runs on the driving thread */
    int64_t stop_ms;            /* by the steady clock: since when; 0: it need not */
    atomic_bool lease_lost;     /* another engine holds the run: this is no outcome of its command (S2) */
    bool not_started;           /* H the engine drains, or its leases are not known to be valid: the handler was not called */
    atomic_bool planned;        /* the mode of its run has become plan since */
    bool again;                 /* H its handler asked for a further attempt (further.c) */
    bool thread_replaced;       /* under the lock of pool.c: its thread ends when it returns */
    char mode[24];              /* of its run, when it began */
    char trace[TRACEPARENT_BYTES];      /* of its run */
} entry_attempt;

typedef struct entry_place {    /* in the budget of its effect (rate_limit.c) */
    budget_key *key;            /* NULL: it neither has a place nor waits for one */
    outbox_entry *before, *after;       /* links among those that wait, or among those that have a place */
    uint64_t ticket;            /* by which it waits; 0: it has not arrived */
    unsigned ask;               /* e->asks when it arrived */
    bool had_to_wait;           /* there was no place when it asked */
} entry_place;

typedef struct entry_cost {
    uint32_t reported;          /* attempts that came back here, with or without a cost */
    bool last_unsaid;           /* the last of them had no cost */
    bool known;
    int64_t tokens, micros;
    buf usage;                  /* what its receipt says of that; empty: nothing */
} entry_cost;

struct outbox_entry {
    uint8_t state, count, args, resolution;
    bool in_doubt;              /* its last attempt was made by another engine, and its outcome is unknown */
    bool was_in_doubt;          /* before the attempt that runs */
    bool charged;               /* its attempts are charged to the budget of its run, so the store counts each (A9) */
    bool keeps_output;          /* an interrupt of its run gets what its handler has said: `output` */
    outbox_entry *next, *prev;  /* in the list of its state */
    uint32_t hash;              /* of its command's id */
    cached_run *run;            /* NULL: ENTRY_STRAY */
    const handler *h;           /* NULL: none in this engine, or it is a spawn */
    const char *child;          /* of a spawn: the id of the child run; NULL: it is a call */
    struct run_rules *rules;    /* has job.policy; NULL: none */
    int64_t first_ms;           /* when its first attempt began; 0: none did */
    int64_t not_before_ms;      /* of the next attempt; 0: at once */
    pawl_code rc;
    pawl_outcome outcome;
    uint32_t cleared;           /* attempts that are known not to have happened */
    uint32_t further;           /* attempts that a handler asked for itself: they are none of its retry. Not known of those before a crash */
    bool limited;               /* it is counted in `limited` of the outbox */
    entry_place place;
    /* up to here is what every pass over many entries reads */
    outbox_entry *queued;       /* in the pool's queue, or in the queue of finished attempts: under their locks */
    uint64_t order;             /* lists are in the order in which commands were made */
    uint64_t seen;              /* the newest reconciliation that found its command open */
    pawl_engine *e;
    pawl_limits limits;
    pawl_job job;
    pawl_drop_fn *drop;         /* H frees job.kept; NULL: nothing to free */
    size_t bytes;               /* of its block, where its first texts are, too */
    arena mem;
    const char **secrets;       /* the values of those in its arguments, up to a NULL; NULL: it has none */
    void *copied;               /* the block of arguments that were in the state; NULL: there is none */
    size_t copied_bytes;
    pawl_reply reply;
    entry_attempt attempt;
    later_answer later;
    entry_cost cost;
    pawl_caps share;            /* of a spawn: its part of the budget */
    struct resolving *resolving;        /* RESOLUTION_ASKING: the entry as it was before */
    buf output;                 /* under e->said_lock */
};

/* ---- entry.c ----------------------------------------------------------------------------------------------- */

void entry_move(outbox_entry *entry, entry_state to);
void entry_wait(outbox_entry *entry);           /* to the state in which it waits for its next attempt */
void count_move(outbox_entry *entry, entry_count to);
void count_clear(outbox_entry *entry);           /* to COUNT_NONE, from wherever */
void args_move(outbox_entry *entry, entry_args to);
void resolution_move(outbox_entry *entry, entry_resolution to);
void later_move(outbox_entry *entry, later_state to);           /* under the lock of completions.c */
pawl_code outbox_add(cached_run *r, outbox_entry *entry);       /* into the index and the list of its state. PAWL_NOMEM */
void outbox_take_out(outbox_entry *entry);      /* of both */
static inline bool entry_is(const outbox_entry *entry, uint32_t states) { return (UINT32_C(1) << entry->state & states) != 0; }
static inline bool outbox_any_queued(const cached_run *r) { return outbox_first(&r->outbox, ENTRY_QUEUED) != NULL; }
/* The entries of a run in one state; the one at hand may be moved or removed. */
#define OUTBOX_EACH(r, entry, following, in) \
    for (outbox_entry *entry = (r)->outbox.in_state[in].first, *following = NULL; \
         entry != NULL && ((following = entry->next), true); entry = following)

/* ---- outbox.c ---------------------------------------------------------------------------------------------- */

void entry_free(pawl_engine *e, outbox_entry *entry);
void entry_remove(pawl_engine *e, outbox_entry *entry);         /* out of its outbox, and freed */
void attempt_stop(outbox_entry *entry);         /* its handler is to stop; it is waited for during the grace time at most */
void entry_stop(outbox_entry *entry);           /* the same, of a run's entry on the driving thread */

/* ---- entry_make.c, reconcile.c ----------------------------------------------------------------------------- */

outbox_entry *entry_copy(pawl_engine *e, const outbox_entry *entry);  /* ENTRY_READY, of the same command, in no list; NULL: no memory */
/* Makes the entry of an open command in the outbox. `in_state`: its arguments refer to values of the state, and stay there. */
pawl_code entry_make(pawl_engine *e, cached_run *r, const pawl_command *cmd, bool in_state, const pawl_value *secrets, pawl_err *err);
void handlers_find(const pawl_engine *e, cached_run *r);        /* for entries that found none before */

/* ---- lazy_args.c ------------------------------------------------------------------------------------------- */

pawl_code args_copy(pawl_engine *e, outbox_entry *entry, pawl_err *err);        /* into its own memory: it may go to another thread */
pawl_code args_lend(pawl_engine *e, outbox_entry *entry, pawl_err *err);        /* for an attempt on this thread; and then: */
void args_return(outbox_entry *entry);
pawl_code args_keep(outbox_entry *entry);       /* lent ones are copied: its handler keeps the job. PAWL_NOMEM */
void args_drop(outbox_entry *entry);            /* it has its receipt: what was copied of the state is freed */
bool args_borrow(const outbox_entry *entry);    /* they are in the state, and its attempt needs them */
/* The arguments of a command that refers to channels which have changed since: their old values, in `mem`. PAWL_CORRUPT: no journal line has them. */
pawl_code args_as_of(pawl_engine *e, cached_run *r, const char *id, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err);

/* ---- secrets.c: each secret in its place; the command waits when one is missing, and `why` says which -------- */

/* The values that were put into `args`, so that its reply is freed of them. False: no memory. */
bool secrets_keep(outbox_entry *entry, const pawl_value *args, const pawl_value *secrets);
bool secrets_copy(outbox_entry *copy, const outbox_entry *entry);   /* for the attempt after one that was given up; false: no memory */
/* A machine may not read secrets: a reply has stars in place of them (K4). */
void secrets_star(pawl_engine *e, outbox_entry *entry);
pawl_code secrets_put(pawl_engine *e, arena *mem, pawl_command *cmd, const pawl_value *secrets, bool *missing, pawl_err *why,
                      pawl_err *err);

/* ---- partial_output.c ------------------------------------------------------------------------------------------- */

void partial_add(outbox_entry *entry, const char *text, size_t size);   /* text of its handler's; on the handler's thread */
void partial_begin(outbox_entry *entry);        /* an attempt of it begins */

#endif
