/* engine.h - inside the engine.
 *
 * One thread drives: it folds what came in (drive.c), has the store append what came of it, many runs in one commit, and only
 * then lets commands out (perform.c). What handlers come to is fed as receipts. While a handler runs on the driving thread,
 * or several on the pool (pool.c), a keeper renews the leases (keeper.c). The store is used under one lock. */
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
typedef cached_run live;                 /* the name that it had */

typedef struct handler {
    struct handler *next;
    pawl_handler_fn *fn;
    void *arg;
    pawl_class cls;
    bool sql;                   /* performed in the transaction that stores its receipt (sql.c) */
    int64_t limit_ms;           /* of such a one */
    char name[];
} handler;

typedef struct budget budget;
typedef struct budget_key budget_key;
typedef enum place_at { PLACE_NONE, PLACE_WAITS, PLACE_HELD } place_at;        /* of a budget */

/* How the attempt at hand is answered (E17). Changed under the lock of completions.c alone. */
typedef enum later_at {
    LATER_NOT,                  /* when its handler returns */
    LATER_ANNOUNCED,            /* its handler said that it answers later, and has not returned */
    LATER_PENDING,              /* it has returned, and nobody has answered */
    LATER_ANSWERED              /* somebody has, and it has not returned */
} later_at;
typedef struct later {
    later_at at;
    bool listed;                /* it is in the table, by its id */
    bool stopped;               /* `stop` was called */
    pawl_stop_fn *stop;         /* NULL: the job is not held */
    void *ctx;
    struct errand *next;        /* in its slot of the table */
} later;

/* A command on its way: performed here or on the pool, and tried again when it may be. */
typedef enum errand_at { ERRAND_READY, ERRAND_OUT, ERRAND_DONE } errand_at;
typedef struct errand {
    struct errand *next;        /* of its run */
    struct errand *queued;      /* of the pool, and of what comes back */
    later later;
    struct pawl_engine *e;
    struct cached_run *run;     /* NULL: nobody waits for it any more */
    const handler *h;
    arena mem;
    pawl_job job;               /* its texts and arguments lie in mem */
    pawl_limits limits;
    pawl_reply reply;
    int64_t first_ms;           /* when its first attempt began; 0: none did */
    int64_t began_ms;           /* of this attempt; while it waits for a thread: now */
    int64_t left_ms;            /* when it left, for those who read along */
    bool began_seen;            /* that is when its handler was called */
    _Atomic int64_t begun_ms;   /* by the steady clock, when it was; 0: not yet */
    atomic_ulong beats;         /* its heartbeats, counted by its thread */
    unsigned long beats_seen;
    int64_t beat_ms;            /* when the driving thread saw the last one */
    int64_t total_until_ms;     /* by the steady clock: the end of all its attempts; 0: none */
    int64_t until_ms;           /* of this attempt: what its handler may see for itself; 0: no limit */
    atomic_bool overran;        /* and did see */
    const char *late;           /* the limit for which it was told to stop */
    int64_t not_before_ms;
    pawl_code rc;
    pawl_outcome outcome;
    errand_at at;
    bool open;                  /* its command is */
    bool fed;                   /* its receipt is folded, and not stored yet */
    bool rides;                 /* it is counted by the commit at hand */
    bool counted;               /* the attempt that comes next is in the store */
    bool marked;                /* the one that is out was counted there */
    bool unmarks;               /* it never began, and that is to be stored */
    bool refused;               /* it never began, for nothing leaves any more */
    bool unsure;                /* the last attempt was somebody's who is gone: nobody knows how it ended */
    bool was_unsure;            /* that, of the one before */
    bool rests;                 /* its back-off is to be stored */
    uint32_t cleared;           /* attempts that are known not to have happened */
    uint32_t billed;            /* attempts that came back here, and what they said they have cost */
    bool costs;
    int64_t tokens, micros;
    pawl_caps share;            /* of a spawn */
    buf usage;                  /* what its receipt says of that; empty: nothing */
    const char *child;          /* of a spawn: the run; NULL: it is a call */
    bool began;                 /* which is in the store */
    bool told_off;              /* and was told to end */
    bool asks_settled;          /* when its outcome is not known, `on_unknown` is asked first */
    struct settling *settling;  /* which is being done; NULL: it is not */
    atomic_bool stop;
    char mode[24];              /* of its run, when this attempt began */
    int64_t told_ms;            /* by the steady clock: when it was called off; 0: it was not */
    budget_key *key;            /* of its budget, when it has a place or waits for one */
    place_at place;
    struct errand *before, *after;      /* of those that wait, or have one */
    uint64_t ticket;            /* by which it waits; 0: it has not arrived */
    bool waited;                /* it had no place when it was ready to leave */
    bool leaves;                /* it is among those that leave now */
    bool stray;                 /* its command has ended without it */
    bool replaced;              /* the pool's: its thread goes when it returns */
    atomic_bool lost;           /* since the run is somebody else's: that is no outcome of its command */
    bool refers;                /* its arguments stand in the state, and job.args is NULL while they do: borrow.c */
    bool lent;                  /* for this attempt, which is made here */
    bool listened;              /* an interrupt of its run is to know what it has said: */
    buf said;                   /* its messages, under the engine's said_lock */
} errand;

typedef struct idle idle;
typedef struct pool pool;
typedef struct completions completions;
typedef struct keeper keeper;

enum { RUN_SLOTS = 1024, RELEASED_MAX = 256, STRAYS_MAX = 64 };

struct pawl_engine {
    pawl_alloc alloc;
    pawl_machine *m;            /* of the runs that are begun here */
    pawl_machine **more;        /* others, whose runs it drives */
    size_t nmore, more_cap;
    pawl_store *store;
    pthread_mutex_t said_lock;  /* of what handlers have said */
    pthread_mutex_t rouse_lock; /* of who sleeps with nothing to do, */
    pthread_cond_t rouse;       /* and is woken: */
    atomic_bool roused;         /* since it slept last */
    pthread_mutex_t lock;       /* of the store and the leases: the keeper uses both; may be taken again by who has it */
    pawl_step *step, *look;     /* of feeding; of looking at what is open */
    pawl_step *lent;            /* of a command that others are looked at beside: its arguments, while they are lent or told */
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
    size_t waiting, granted;    /* errands that wait for a place; that have one and have not left */
    int64_t grace_ms;           /* from the call to stop to the end without a reply */
    _Atomic uint64_t late;      /* replies that came after it, or were refused */
    idle *idle;                 /* open addressing */
    size_t idle_cap, idle_count;
    int64_t idle_again_ms;      /* when the first of them is to be tried again */
    unsigned tries;             /* how often handlers or machines came */
    bool idle_forgot;           /* all that is due is to be looked at */
    pool *pool;
    completions *completions;
    keeper *keeper;
    _Atomic(struct stream_ring *) ring;     /* kept for stream readers (run/stream_ring.h); NULL: nobody ever read */
    _Atomic int64_t leases_until_ms;    /* by steady_of(): each lease held here is valid until then; 0: one was lost, or not known yet */
    atomic_uint active;         /* see engine_active() */
    atomic_bool stopping;
    atomic_bool draining;       /* nothing more leaves */
    atomic_bool abandoned;      /* and what is out stops, without an outcome */
    bool left;                  /* something was left for another run since somebody asked who is due */
    size_t tail_bytes_least;    /* below, no snapshot is taken */
    size_t reply_bytes_max;
    bool (*drawn)(void *ctx, uint64_t out[2]);  /* chance, in a simulation: then there is no keeper either; NULL: the system's */
    void *drawn_ctx;
};

/* clock.c: the only file here that knows the time and chance */
bool chance(const pawl_engine *e, uint64_t out[2]);     /* NULL: the system's */
int64_t steady_ms(void);        /* goes on, whatever is done to the other; what is waited for is counted by it */
int64_t steady_of(const pawl_engine *e);        /* the same; in a simulation the only time there is */
int64_t system_ms(void);        /* the clock on the wall: what handlers know */
void cond_begin(pthread_cond_t *cond);  /* one that is waited for by the steady clock */
bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms);  /* false: it is that time, or something is wrong */
int64_t engine_now(pawl_engine *e);
void engine_sleep(pawl_engine *e, int64_t until_ms);    /* or until it is woken, stopped or drained */

/* engine.c */
pawl_code code_before(const pawl_err *err);     /* there is no engine: what went wrong before says why */
pawl_code run_known(pawl_engine *e, const char *run, cached_run **out, pawl_err *err);
const pawl_machine *machine_named(const pawl_engine *e, const char *name);   /* NULL: none here */
cached_run *run_look(pawl_engine *e, const char *run, pawl_err *err);     /* as it is stored, or held here; NULL: it is not there */

/* blobs.c: what steps set apart */
pawl_code blobs_hold(pawl_engine *e, cached_run *r, const pawl_step *s);      /* to be stored with the next commit; PAWL_NOMEM */
pawl_code blobs_fill_append(const cached_run *r, pawl_append *a, arena *mem);
void blobs_stored(pawl_engine *e, cached_run *r);
void blobs_drop(pawl_engine *e, cached_run *r);
void blobs_free(pawl_engine *e, cached_run *r);
pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);     /* ctx: a cached_run */

/* sql.c: commands that are performed in the transaction that stores their receipt */
pawl_code sql_choose(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);    /* one that is ready; *did: there is one */
void sql_within(cached_run *r, bool naps, pawl_append *a, arena *mem);        /* it, into the append */
void sql_stale(cached_run *r);                /* it was not stored: it never happened */

/* perform.c, and what errand.h lists: commands are carried out */
/* An errand for each open command. `why`: what one that cannot be made waits for. */
pawl_code errands_meet(pawl_engine *e, cached_run *r, pawl_err *why, pawl_err *err);
bool errands_come(pawl_engine *e, int64_t wait_ms);    /* back from the pool; waits for one, that long; whether any did */
void errands_stored(pawl_engine *e, cached_run *r);   /* the receipts that were fed are */
/* What can be done for it now, is; *did: something came of it, and is fed. `wait`: for timers and for what is out, too. */
pawl_code perform(pawl_engine *e, cached_run *r, bool wait, bool *did, pawl_err *err);
pawl_code errands_end(pawl_engine *e, cached_run *r, pawl_err *err);     /* called off again: nothing is waited for, all receipts are fed */
bool errands_wait(const cached_run *r);       /* for a place, and there is nothing else to do for it */
void errands_postpone(pawl_engine *e, cached_run *r, int64_t now);    /* they give their places in the queue up, and come back later */
void errands_forget(pawl_engine *e, cached_run *r);   /* unless something of them is known here alone */
void errands_unqueue(pawl_engine *e, cached_run *r);  /* nobody drives it now: they keep nobody waiting */
void errands_leftover(pawl_engine *e, cached_run *r, pawl_code next);     /* whose command nobody waits for any more */
bool errands_quiet(const cached_run *r);      /* none is out, and none has a receipt that is not stored */
bool errands_back(const cached_run *r);       /* the same of those whose command is open */
bool errands_home(const pawl_engine *e, const cached_run *r); /* and of its children that are held here */
void errands_keep(pawl_engine *e, cached_run *r);     /* the last: what is done is stored, what was stopped is begun again by the next engine */
void errand_unbegun(pawl_engine *e, errand *er);        /* it was put, and its handler was not called */
void errands_lost(cached_run *r);     /* the run is somebody else's: those that are out are told to stop */
void errands_stale(cached_run *r);    /* the state is gone: what comes back is fed if its command is still open */
void errands_free(pawl_engine *e, cached_run *r);
pawl_code errand_run(errand *er);       /* one attempt, on any thread: what its handler returned */

/* budget.c: how much of an effect is performed at a time */
void budgets_grant(pawl_engine *e, int64_t now);        /* places to those that wait, as far as they go */
int64_t budgets_next(const pawl_engine *e);     /* when the next token is there, as of the last grant; 0: nobody waits for one */
void budgets_free(pawl_engine *e);

/* completions.c: finished attempts come back to the driving thread */
bool completions_begin(pawl_engine *e);         /* false: no memory */
void completions_wait(pawl_engine *e);          /* for the jobs that are held: all were told to stop */
void completions_end(pawl_engine *e);
void completions_expect(pawl_engine *e, int n); /* so many more are out, on the pool or pending */
unsigned completions_out(const pawl_engine *e); /* those that are expected and not taken */
bool completions_any(pawl_engine *e);           /* one is finished */
void completions_put(pawl_engine *e, errand *er);       /* on any thread; the errand is the driving thread's again */
void completions_wake(pawl_engine *e);          /* who waits in completions_take comes back, on any thread */
void completions_heard(pawl_engine *e);         /* the driving thread is at work: the descriptor need not say so */
errand *completions_take(pawl_engine *e, int64_t wait_ms);      /* those that are finished; waits for one, that long; NULL: none */

/* pool.c: threads that perform */
void pool_begin(pawl_engine *e, unsigned threads);
void pool_end(pawl_engine *e);
bool pool_put(pawl_engine *e, errand *er);
void pool_tend(pawl_engine *e, bool wait);      /* pool_replace, every now and then; in a simulation what the threads do meanwhile */
unsigned pool_size(const pawl_engine *e);
void pool_simulate(pawl_engine *e, bool all);   /* in a simulation: its threads go on while the driving thread does something else; `all`: to the end */
void pool_replace(pawl_engine *e);      /* threads of those that were given up, or told to stop and do not, by others */

#endif
