/* engine.h - the struct of an engine, its clock, and the functions that several folders of the engine share.
 *
 * One thread drives the engine: it folds events (run/run_feed.c), stores the resulting lines of many runs in one commit (run/commit.c), and only
 * then dispatches commands (command/dispatch.c); the outcomes of handlers are fed as receipts (E1). While a handler runs, on the driving thread or
 * on the pool, the lease thread renews the leases (run/lease_renewal.c). The store is used under `lock`. The driving thread owns every other member
 * that is neither atomic nor marked as under a lock. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "effect/effect.h"
#include "effect/reach.h"
#include "engine/run/owner.h"
#include "kernel/names.h"
#include "pawl/engine.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct cached_run cached_run;    /* run/run.h */

typedef struct handler handler;         /* command/handler.h */
typedef struct outbox_entry outbox_entry;       /* command/entry.h */
typedef struct budget budget;
typedef struct budget_key budget_key;
typedef struct backlog backlog;
typedef struct pool pool;
typedef struct completions completions;
typedef struct lease_renewal lease_renewal;

enum { RUN_SLOTS_FIRST = 1024, RELEASED_MAX = 256, STRAYS_MAX = 64, RULES_KEPT = 16 };

struct pawl_engine {
    pawl_alloc alloc;
    pawl_machine *m;            /* the machine of the runs that are started through this engine */
    pawl_machine **more;        /* further machines, whose runs this engine drives */
    size_t nmore, more_cap;
    pawl_store *store;
    reach_store reach;          /* keeps the file of the store out of reach for tools */
    pthread_mutex_t said_lock;  /* guards the partial output of handlers (outbox_entry.output) */
    pthread_mutex_t rouse_lock; /* guards `rouse`, the condition that the driving thread sleeps on */
    pthread_cond_t rouse;       /* signalled to wake the driving thread */
    atomic_bool roused;         /* woken since the driving thread slept last */
    pthread_mutex_t lock;       /* guards the store, the table of runs and their leases, which the lease thread uses too; recursive */
    pawl_step *step, *look;     /* `step`: for feeding events; `look`: for reading states and entries */
    pawl_step *lent;            /* has lent arguments of a command while `look` is used for another purpose */
    handler *handlers;
    struct run_rules *rules[RULES_KEPT];    /* compiled policies of runs; a ring */
    size_t rules_next;
    cached_run **runs;          /* by the hash of their ids, in chains: `run_slots` is a power of two, and grows with `nruns` */
    size_t run_slots, nruns;
    cached_run *released[RELEASED_MAX];     /* a ring: the oldest is freed when a new one needs its place */
    size_t released_next;
    pawl_clock clock;           /* now_ms NULL: use the store's time */
    pawl_approver_fn *approver;
    void *approver_ctx;
    pawl_secret_fn *secret;
    void *secret_ctx;
    pawl_settings_fn *settings;
    void *settings_ctx;
    pawl_admit_fn *admit;
    void *admit_ctx;
    pawl_watch_fn *watch;
    void *watch_ctx;
    pawl_anchor_fn *anchor;     /* NULL: heads are not anchored (run/anchor.c) */
    void *anchor_ctx;
    const char *anchor_store;   /* the id of the store, lent by it */
    pawl_notice_fn *notice;
    void *notice_ctx;
    uint64_t refolds;           /* how often a snapshot did not fit, and the journal was folded */
    buf text;                   /* the result of pawl_run_get() */
    char owner[OWNER_BYTES];
    int64_t ttl_ms;
    int64_t sql_ms;             /* time limit of all SQL commands of the next commit together */
    pawl_durability durability;
    budget *budgets;
    size_t waiting, granted;    /* number of entries that wait for a place; that have a place and have not left */
    unsigned asks;              /* number of rounds in which entries asked for places */
    int64_t grace_ms;           /* from the stop of an attempt until it is given up */
    _Atomic uint64_t late;      /* number of replies that came after that, or were refused */
    backlog *backlog;                 /* open addressing */
    size_t backlog_cap, backlog_count;
    int64_t backlog_again_ms;      /* when the first run of the backlog is tried again */
    unsigned tries;             /* number of times that handlers, machines or secrets were added */
    bool backlog_cleared;           /* the next fill must look at all due runs */
    pool *pool;
    completions *completions;
    lease_renewal *lease_renewal;
    pthread_mutex_t left_lock;  /* guards `left` */
    struct left_running *left;  /* what handlers left running (outlive.c) */
    char rest_run[RUN_BYTES_MAX + 1];   /* the run that left_has_mail() was asked for last, */
    uint64_t rest_mail;         /* and the newest delivery that it has found in its mailbox */
    _Atomic(struct stream_ring *) ring;     /* for stream readers (run/stream_ring.h); NULL: no reader so far */
    bool lease_loss;            /* under lock: a lease was lost, and commands of its run may still be queued */
    _Atomic int64_t leases_until_ms;    /* by steady_of(): every lease of this engine is valid until then; 0: unknown, or a lease was lost */
    atomic_uint active;         /* see engine_active() */
    atomic_bool stopping;
    atomic_bool draining;       /* no attempt starts any more */
    atomic_bool abandoned;      /* also stop running attempts, without an outcome */
    uint64_t left_no;           /* number of the delivery that the last pawl_event_send left for the holder of the run; 0: none */
    bool delivered;             /* this engine delivered to another run since the store was last asked for due runs */
    size_t tail_bytes_least;    /* a shorter tail needs no snapshot */
    size_t reply_bytes_max;
    bool (*drawn)(void *ctx, uint64_t out[2]);  /* random numbers of a simulation, which has no lease thread; NULL: the system's */
    void *drawn_ctx;
};

/* clock.c: the only file of the engine that reads the system's clocks and random numbers */
bool chance(const pawl_engine *e, uint64_t out[2]);     /* of the simulation (`drawn`), else of the system; false: no random numbers */
int64_t steady_ms(void);        /* the monotonic clock, for every wait */
int64_t steady_of(const pawl_engine *e);        /* the same; in a simulation the simulated time */
int64_t system_ms(void);        /* the wall clock, for handlers */
void cond_begin(pthread_cond_t *cond);  /* initializes a condition that waits by the steady clock */
bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms);  /* false: `until_ms` has come, or the wait failed */
int64_t engine_now(pawl_engine *e);
void engine_sleep(pawl_engine *e, int64_t until_ms);    /* returns earlier when the engine is woken, stopped or drained */

/* The code of a call with e == NULL: that of the earlier error, which explains why there is no engine. */
static inline pawl_code code_before(const pawl_err *err) { return err != NULL && err->code < 0 ? err->code : PAWL_INVALID; }

/* binding.c */
const pawl_machine *machine_named(const pawl_engine *e, const char *name);   /* NULL: this engine has no machine of that name */

/* query.c */
pawl_code run_known(pawl_engine *e, const char *run, cached_run **out, pawl_err *err);
cached_run *run_state_query(pawl_engine *e, const char *run, pawl_err *err);     /* loads the run's state without a lease; NULL: no such run, or an error */

/* blobs.c: the blobs of steps */
pawl_code blobs_hold(pawl_engine *e, cached_run *r, const pawl_step *s);      /* keeps the step's blobs for the next commit; PAWL_NOMEM */
pawl_code blobs_fill_append(const cached_run *r, pawl_append *a, arena *mem);
void blobs_stored(pawl_engine *e, cached_run *r);
void blobs_drop(pawl_engine *e, cached_run *r);
void blobs_free(pawl_engine *e, cached_run *r);
pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);     /* ctx: the cached_run */

void run_rules_free(pawl_engine *e);    /* run_rules.c: after all entries */

/* rate_limit.c: how many commands of an effect run at a time */
void budgets_grant(pawl_engine *e, int64_t now);        /* gives free places to waiting entries */
int64_t budgets_next(const pawl_engine *e);     /* when the next token is free, as of the last grant; 0: no entry waits for a token */
void budgets_free(pawl_engine *e);

/* completions.c: finished attempts return to the driving thread */
bool completions_begin(pawl_engine *e);         /* false: no memory */
void completions_wait(pawl_engine *e);          /* waits for jobs that a handler still has, after all were stopped */
void completions_end(pawl_engine *e);
void completions_expect(pawl_engine *e, int n); /* adds to the number of attempts on the pool or pending */
unsigned completions_out(const pawl_engine *e); /* number of expected attempts that were not taken */
bool completions_any(pawl_engine *e);           /* an attempt has finished */
void completions_put(pawl_engine *e, outbox_entry *entry);       /* any thread; the driving thread owns the entry again */
void completions_wake(pawl_engine *e);          /* any thread: ends a wait in completions_take() */
void completions_heard(pawl_engine *e);         /* the driving thread is at work: lowers the descriptor */
outbox_entry *completions_take(pawl_engine *e, int64_t wait_ms);      /* all finished attempts, linked by `queued`; waits for the first one; NULL: none */

/* outlive.c: what handlers left running */
void left_committed(pawl_engine *e, const char *run, pawl_state *st);  /* ended when the run has, and what may write when its mode is plan (P1) */
void left_lost(pawl_engine *e, const char *run);        /* the lease of the run was lost */
/* After a claim, under the engine's lock: finds what was left running before another engine had the run. Then, without that lock, left_end_lost(). */
void left_claimed(pawl_engine *e, const char *run, const pawl_head *head);
void left_end_lost(pawl_engine *e);
void left_check_leases(pawl_engine *e);                 /* asks the store which runs other engines took */
/* The first run among `also` and those of which something was left running that no engine drives and that has mail since the last look; false: none. */
bool left_has_mail(pawl_engine *e, const char *also, char run[RUN_BYTES_MAX + 1]);
void left_end_all(pawl_engine *e);              /* every handler has returned */

/* rest.c: while nobody drives, and something was left running, another process may have taken its run, or have left something for it or for `run`, such as
 * a mode: that is driven. PAWL_OK: nothing was; else as pawl_run. On the driving thread. */
pawl_code engine_rest_check(pawl_engine *e, const char *run, pawl_err *err);

/* pool.c: threads that run attempts */
void pool_begin(pawl_engine *e, unsigned threads);
outbox_entry *pool_end(pawl_engine *e);         /* joins the threads; returns the entries that no thread has started, linked by `queued` */
bool pool_put(pawl_engine *e, outbox_entry *entry);
void pool_tend(pawl_engine *e, bool wait);      /* calls pool_replace() every LOOK_MS; in a simulation runs the simulated threads */
unsigned pool_size(const pawl_engine *e);
size_t pool_room(pawl_engine *e);       /* how many more entries the queue for a thread should take */
void pool_simulate(pawl_engine *e, bool all);   /* in a simulation: lets the threads continue; `all`: until they have no work */
void pool_replace(pawl_engine *e);      /* starts a thread in place of each thread whose handler was given up or does not stop */

#endif
