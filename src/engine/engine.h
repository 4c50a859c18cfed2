/* engine.h - the struct of an engine, its clock, and what the folders of the engine share.
 *
 * One thread drives: it folds what came in (run/run_feed.c), has the store append what came of it, many runs in one commit (run/commit.c), and only
 * then lets commands leave (command/dispatch.c). The outcomes of handlers are fed as receipts. While a handler runs, on the driving thread or on the
 * pool, a thread renews the leases (run/lease_renewal.c). The store is used under `lock`. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "effect/effect.h"
#include "engine/run/owner.h"
#include "kernel/kernel.h"
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

enum { RUN_SLOTS = 1024, RELEASED_MAX = 256, STRAYS_MAX = 64 };

struct pawl_engine {
    pawl_alloc alloc;
    pawl_machine *m;            /* the machine of the runs that are begun here */
    pawl_machine **more;        /* further machines, whose runs it drives */
    size_t nmore, more_cap;
    pawl_store *store;
    pthread_mutex_t said_lock;  /* of the output of handlers that an interrupt keeps */
    pthread_mutex_t rouse_lock; /* of `rouse` and of the driving thread that sleeps on it */
    pthread_cond_t rouse;       /* and is woken: */
    atomic_bool roused;         /* since it slept last */
    pthread_mutex_t lock;       /* of the store and the leases, which the lease thread uses, too; recursive */
    pawl_step *step, *look;     /* `step`: for feeding; `look`: for reading states and entries */
    pawl_step *lent;            /* for a command whose arguments are lent while `look` is used for others */
    handler *handlers;
    cached_run *runs[RUN_SLOTS];
    cached_run *released[RELEASED_MAX];     /* a ring */
    size_t released_next;
    pawl_clock clock;           /* now_ms NULL: the store's time */
    pawl_secret_fn *secret;
    void *secret_ctx;
    pawl_admit_fn *admit;
    void *admit_ctx;
    pawl_watch_fn *watch;
    void *watch_ctx;
    buf text;                   /* of pawl_run_get */
    char owner[OWNER_BYTES];
    int64_t ttl_ms;
    int64_t sql_ms;             /* what the SQL of the next commit may take in all */
    pawl_durability durability;
    budget *budgets;
    size_t waiting, granted;    /* entries that wait for a place; that have one and have not left */
    unsigned asks;              /* how often entries asked for places */
    int64_t grace_ms;           /* from the call to stop to the end without a reply */
    _Atomic uint64_t late;      /* replies that came after that end, or were refused */
    backlog *backlog;                 /* open addressing */
    size_t backlog_cap, backlog_count;
    int64_t backlog_again_ms;      /* when the first of them is to be tried again */
    unsigned tries;             /* how often handlers, machines or secrets were added */
    bool backlog_cleared;           /* all due runs are to be looked at */
    pool *pool;
    completions *completions;
    lease_renewal *lease_renewal;
    _Atomic(struct stream_ring *) ring;     /* for stream readers (run/stream_ring.h); NULL: there was no reader yet */
    bool lease_loss;            /* under lock: a lease was lost, and commands of its run may be queued still */
    _Atomic int64_t leases_until_ms;    /* by steady_of(): each lease held here is valid until then; 0: one was lost, or not known yet */
    atomic_uint active;         /* see engine_active() */
    atomic_bool stopping;
    atomic_bool draining;       /* nothing more leaves */
    atomic_bool abandoned;      /* and running attempts are stopped, without an outcome */
    bool left;                  /* something was delivered to another run since the store was asked for due runs */
    size_t tail_bytes_least;    /* below, no snapshot is taken */
    size_t reply_bytes_max;
    bool (*drawn)(void *ctx, uint64_t out[2]);  /* random numbers of a simulation, which has no lease thread either; NULL: the system's */
    void *drawn_ctx;
};

/* clock.c: the only file of the engine that reads the system's clocks and random numbers */
bool chance(const pawl_engine *e, uint64_t out[2]);     /* NULL: the system's */
int64_t steady_ms(void);        /* the monotonic clock: every wait is counted by it */
int64_t steady_of(const pawl_engine *e);        /* the same; in a simulation the only time there is */
int64_t system_ms(void);        /* the wall clock, for handlers */
void cond_begin(pthread_cond_t *cond);  /* a condition that is waited for by the steady clock */
bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms);  /* false: the time is over, or the wait failed */
int64_t engine_now(pawl_engine *e);
void engine_sleep(pawl_engine *e, int64_t until_ms);    /* or until it is woken, stopped or drained */

/* There is no engine: the error that was reported before says why. */
static inline pawl_code code_before(const pawl_err *err) { return err != NULL && err->code < 0 ? err->code : PAWL_INVALID; }

/* binding.c */
const pawl_machine *machine_named(const pawl_engine *e, const char *name);   /* NULL: none here */

/* look.c */
pawl_code run_known(pawl_engine *e, const char *run, cached_run **out, pawl_err *err);
cached_run *run_look(pawl_engine *e, const char *run, pawl_err *err);     /* its state as it is stored, or held here; NULL: no such run, or an error */

/* blobs.c: what steps set apart */
pawl_code blobs_hold(pawl_engine *e, cached_run *r, const pawl_step *s);      /* to be stored with the next commit; PAWL_NOMEM */
pawl_code blobs_fill_append(const cached_run *r, pawl_append *a, arena *mem);
void blobs_stored(pawl_engine *e, cached_run *r);
void blobs_drop(pawl_engine *e, cached_run *r);
void blobs_free(pawl_engine *e, cached_run *r);
pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);     /* ctx: a cached_run */

/* rate_limit.c: how much of an effect is performed at a time */
void budgets_grant(pawl_engine *e, int64_t now);        /* gives places to waiting entries, while there are some */
int64_t budgets_next(const pawl_engine *e);     /* when the next token is there, as of the last grant; 0: no entry waits for one */
void budgets_free(pawl_engine *e);

/* completions.c: finished attempts come back to the driving thread */
bool completions_begin(pawl_engine *e);         /* false: no memory */
void completions_wait(pawl_engine *e);          /* waits for the jobs that are held: all were told to stop */
void completions_end(pawl_engine *e);
void completions_expect(pawl_engine *e, int n); /* so many more attempts are on the pool or pending */
unsigned completions_out(const pawl_engine *e); /* those that are expected and not taken */
bool completions_any(pawl_engine *e);           /* one is finished */
void completions_put(pawl_engine *e, outbox_entry *entry);       /* on any thread; the outbox_entry is the driving thread's again */
void completions_wake(pawl_engine *e);          /* a wait in completions_take() ends; any thread */
void completions_heard(pawl_engine *e);         /* the driving thread is at work: the descriptor is lowered */
outbox_entry *completions_take(pawl_engine *e, int64_t wait_ms);      /* the finished attempts, linked by `queued`; waits for one so long; NULL: none */

/* pool.c: threads that perform */
void pool_begin(pawl_engine *e, unsigned threads);
outbox_entry *pool_end(pawl_engine *e);         /* its threads are joined; the entries that none of them has begun, linked by `queued` */
bool pool_put(pawl_engine *e, outbox_entry *entry);
void pool_tend(pawl_engine *e, bool wait);      /* calls pool_replace() every LOOK_MS; in a simulation does what the threads would do */
unsigned pool_size(const pawl_engine *e);
void pool_simulate(pawl_engine *e, bool all);   /* in a simulation: its threads go on while the driving thread does something else; `all`: to the end */
void pool_replace(pawl_engine *e);      /* starts a thread in place of each whose handler was given up, or does not stop */

#endif
