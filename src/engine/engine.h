/* engine.h - inside the engine.
 *
 * One thread drives: it folds what came in (drive.c), has the store append what came of it, many runs in one commit, and only
 * then lets commands out (perform.c). What handlers come to is fed as receipts. While a handler runs on the driving thread,
 * or several on the pool (pool.c), a keeper renews the leases (keeper.c). The store is used under one lock. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "effect/effect.h"
#include "kernel/kernel.h"
#include "pawl/engine.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

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

/* A command on its way: performed here or on the pool, and tried again when it may be. */
typedef enum errand_at { ERRAND_READY, ERRAND_OUT, ERRAND_DONE } errand_at;
typedef struct errand {
    struct errand *next;        /* of its run */
    struct errand *queued;      /* of the pool */
    struct pawl_engine *e;
    struct live *run;           /* NULL: nobody waits for it any more */
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

typedef struct told_wait {      /* a wait that the store is to be told of */
    char *id;
    buf text;                   /* its SPEC, or its answer */
    int64_t asked_ms;
    bool over, answered;
} told_wait;

typedef struct held_blob held_blob;     /* set apart, and not stored yet: blobs.c */

typedef struct live {           /* a run that this engine has claimed, or knows */
    struct live *next;          /* in its slot */
    struct pawl_engine *e;
    pawl_state *st;             /* NULL: to be loaded */
    const pawl_machine *m;
    uint64_t fence;             /* 0: not held */
    uint64_t last_fence;        /* of its last claim here */
    uint64_t marked_fence;      /* under which the attempts of others were read */
    int64_t lease_ms;           /* until when, by the store's time */
    uint64_t no;                /* the store's */
    uint64_t seq;               /* of the newest entry that is stored */
    uint64_t records;           /* stored since; and with those that are only folded */
    uint64_t records_fed;
    uint64_t head_seq;          /* the same, as the store says it */
    int64_t changed_ms;         /* as the store said it at the claim; 0: something was stored since */
    uint32_t mail;              /* deliveries that wait, as far as was looked */
    uint32_t refused;           /* appends, one after another */
    bool shelved;               /* the store has it parked (F5) */
    bool unsure;                /* an append failed, and may be stored all the same: what the store was told last is not known */
    bool borrowed;              /* arguments of its errands stand in the state */
    bool admitted;              /* whoever may refuse it was asked */
    bool fresh;                 /* just now it was claimed, and nothing waited for it */
    uint8_t status;             /* as the store was told last; so the next five */
    bool over, work;
    int64_t wake_ms;
    char **asked;               /* ids of the open waits */
    size_t nasked, asked_cap;
    /* folded, and not stored yet */
    buf lines, snapshot;
    size_t nlines;
    bool hurry;                 /* there is something among them that may not wait (G9) */
    bool ends_in_record;
    int64_t gathers_since;      /* by the steady clock: the first of them, where they may wait */
    size_t tail_bytes;          /* of the lines since the last snapshot */
    told_wait *waits;
    size_t nwaits, waits_cap;
    uint64_t *taken;
    size_t ntaken, taken_cap;
    held_blob *blobs;
    size_t nblobs, blobs_cap, blobs_bytes;
    hash *kept;                 /* digests of blobs that the store has */
    size_t nkept, kept_cap, kept_next;
    buf blob;                   /* the one that was read last */
    uint64_t heard;             /* version of the store when its deliveries were looked at */
    bool quiet;                 /* the append just now found that nothing was delivered */
    errand *errands;
    bool commands_moved;        /* errands are to be compared with the open commands */
    errand *sql;                /* to be performed in the next commit, which stores its receipt */
    pawl_within within;         /* of that commit */
    arena *within_mem;
    bool within_naps;
    bool in_pass;
    bool took;                  /* in this pass: what was delivered */
    bool stepped;               /* in this pass something was folded: there may be new commands */
    bool parked;                /* among the last that were let go of */
    bool shown;                 /* its state was handed out */
    unsigned tried;             /* of a child: `tries` when it was last looked at */
    bool children_ask;          /* all that it waits for is somebody who was asked by a child of it */
    bool told;                  /* of a child that is over: its parent knows */
    bool gone;                  /* it was not to be kept: removed at its end, and what it was is in `st` */
    atomic_bool lease_lost;
    /* entries that were read for the state */
    buf cache;
    uint64_t cache_from, cache_to, cache_next;
    size_t cache_at;
    char id[];
} live;

typedef struct idle idle;
typedef struct pool pool;
typedef struct keeper keeper;

enum {
    LIVE_SLOTS = 1024, PARKED_MAX = 256, CACHE_ENTRIES = 4096, STRAYS_MAX = 64,
    UNTOLD_MS = 1               /* the timer of a child that is over while its parent was not told: long due, and no other is */
};

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
    live *lives[LIVE_SLOTS];
    live *parked[PARKED_MAX];   /* a ring */
    size_t parked_next;
    pawl_clock clock;           /* now_ms NULL: the store's time */
    pawl_secret_fn *secret;
    void *secret_ctx;
    pawl_admit_fn *admit;
    void *admit_ctx;
    pawl_watch_fn *watch;
    void *watch_ctx;
    buf text;                   /* of pawl_run_get */
    char owner[96];
    int64_t ttl_ms;
    int64_t sql_ms;             /* what the SQL of the next commit may take in all */
    pawl_durability durability;
    budget *budgets;
    size_t waiting, granted;    /* errands that wait for a place; that have one and have not left */
    int64_t grace_ms;           /* from the call to stop to the end without a reply */
    uint64_t late;              /* replies that came after it */
    idle *idle;                 /* open addressing */
    size_t idle_cap, idle_count;
    int64_t idle_again_ms;      /* when the first of them is to be tried again */
    unsigned tries;             /* how often handlers or machines came */
    bool idle_forgot;           /* all that is due is to be looked at */
    pool *pool;
    keeper *keeper;
    _Atomic(struct hub *) hub;  /* what is kept for those who read along; NULL: nobody ever did */
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
pawl_code run_known(pawl_engine *e, const char *run, live **out, pawl_err *err);
const pawl_machine *machine_named(const pawl_engine *e, const char *name);   /* NULL: none here */
live *run_look(pawl_engine *e, const char *run, pawl_err *err);     /* as it is stored, or held here; NULL: it is not there */

/* begin.c: runs begin, and are gone on with */
pawl_code info_draw(pawl_engine *e, pawl_run_info *info, pawl_err *err);    /* life, seed and time, where there are none */
pawl_code record_check(const pawl_run_info *info, pawl_err *err);
/* PAWL_CONFLICT: `now` says something else than what it was begun with. `look` is used. */
pawl_code record_same(const pawl_state *st, pawl_step *look, const pawl_run_info *now, pawl_err *err);

/* keep.c: deadlines, and what becomes of a run that is over (G10) */
int64_t live_retires_ms(const live *r);         /* when it is to be removed; 0: never, or it is not over */
bool live_retired(pawl_engine *e, const live *r);   /* it should not be there any more */
pawl_code live_remove(pawl_engine *e, live *r, pawl_err *err);
int64_t deadline_ms(const live *r);             /* 0: it has none that matters */
pawl_code deadline_keep(pawl_engine *e, live *r, bool *did, pawl_err *err);    /* it passed: the run is called off */

/* child.c: runs that are commands of other runs */
void children_why(pawl_engine *e, const live *r, pawl_err *why);        /* one could go on, and cannot here: what is missing */
bool child_untold(const live *r);               /* it is a child, over, and its parent was not told */
pawl_code child_tell(pawl_engine *e, live *r, pawl_err *err);
void child_ended(const live *r, const pawl_delivery *d);        /* a receipt that came in: the child that left it is not called off any more */
bool child_told(const live *r);                 /* it was, and the store does not know that yet */
/* loop.c: its children are driven, as far as they go now. *did: something came of it; *wake: when something may again; 0: when
 * somebody was asked. */
pawl_code children_drive(pawl_engine *e, live *r, bool *did, int64_t *wake, pawl_err *err);

/* lives.c: runs that are claimed, loaded, let go of */
live *live_find(const pawl_engine *e, const char *run);
live *live_of(pawl_engine *e, const char *run, pawl_err *err);  /* found, or made; NULL: no memory */
void live_drop(pawl_engine *e, live *r);        /* what is not stored is thrown away */
void live_lost(pawl_engine *e, live *r);        /* and it is somebody else's now */
/* Claimed in one transaction, not loaded: each has its rc and head in `all`, which has n places. */
pawl_code lives_claim(pawl_engine *e, live **runs, pawl_claim *all, size_t n, pawl_err *err);
pawl_code lives_let_go(pawl_engine *e, live **runs, size_t n, pawl_err *err);
pawl_code live_let_go(pawl_engine *e, live *r, pawl_err *err);
void live_free(pawl_engine *e, live *r);
void live_park(pawl_engine *e, live *r);        /* nobody works on it here: it may be forgotten, what it is lies in the store */
pawl_code live_entry(live *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records);   /* lent until the next */
pawl_code live_load(pawl_engine *e, live *r, pawl_err *err);
bool live_fits(const live *r);          /* this engine's machine is the one that it was begun with */
pawl_code live_enter(pawl_engine *e, live *r, pawl_err *err);   /* loaded, when it was claimed just now */
pawl_code live_hold(pawl_engine *e, live *r, pawl_err *err);    /* claimed and loaded */

/* blobs.c: what steps set apart */
pawl_code blobs_hold(pawl_engine *e, live *r, const pawl_step *s);      /* to be stored with the next commit; PAWL_NOMEM */
pawl_code blobs_fill_append(const live *r, pawl_append *a, arena *mem);
void blobs_stored(pawl_engine *e, live *r);
void blobs_drop(pawl_engine *e, live *r);
void blobs_free(pawl_engine *e, live *r);
pawl_code loader_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);     /* ctx: a live */

/* keeper.c: a thread that renews the leases, and listens for what is performed on the thread that drives */
void keeper_begin(pawl_engine *e);
void keeper_end(pawl_engine *e);
void keeper_here(pawl_engine *e, errand *er);   /* its handler is called here now; NULL: it is back */

/* told.c: what the store is told beside the lines */
pawl_code told_step(pawl_engine *e, live *r);   /* of what e->step has just folded */
pawl_code told_begin(pawl_engine *e, live *r);  /* the waits of a state that was loaded */
void told_forget(pawl_engine *e, live *r);      /* it is stored, or never will be */
/* Its first timer; 0: none. *works: somebody has something to do for it before that. */
int64_t told_wake(pawl_engine *e, live *r, bool *works);

/* drive.c: fold, append, take what was delivered */
pawl_code run_feed(pawl_engine *e, live *r, const pawl_event *ev, pawl_err *err);
/* Those that are over or ask somebody are let go of with it; `naps`: those too that only wait for a timer. */
pawl_code runs_commit(pawl_engine *e, live **runs, size_t n, bool naps, pawl_err *err);
pawl_code admission(pawl_engine *e, live *r, pawl_err *err);   /* whoever may refuse it is asked, once, in pawl_work */
pawl_code deliveries_feed(pawl_engine *e, live *r, pawl_err *err);      /* to be stored with the next commit */
pawl_code deliveries_take(pawl_engine *e, live *r, pawl_err *err);      /* and stored */
bool delivered(pawl_engine *e, const live *r);  /* something came for it that was not looked at */
pawl_code drive(pawl_engine *e, live *r, const pawl_event *first, pawl_err *err);
pawl_code drive_failed(pawl_engine *e, live *r, pawl_code rc, const pawl_err *why, pawl_err *err);     /* let go of; rc */

/* Its journal contradicts itself, the machine or the store: it is parked with the reason, and let go of (F5). */
pawl_code run_shelve(pawl_engine *e, live *r, const char *reason, pawl_err *err);

/* dead.c: what a dead process of this machine held is let go of for it */
pawl_code dead_let_go(pawl_engine *e, pawl_err *err);

/* idle.c: runs that need not be tried again yet */
void idle_put(pawl_engine *e, const live *r, int64_t now_ms, int64_t stored_ms);
bool idle_is(const pawl_engine *e, const pawl_head *h, int64_t now_ms);
void idle_forget(pawl_engine *e);       /* who could not be helped may be now */
void idle_free(pawl_engine *e);

/* durable.c: when what was folded is stored (G9) */
bool store_due(pawl_engine *e, live *r);        /* it must be, before anything else is done for it */
pawl_code store_as_due(pawl_engine *e, live *r, pawl_err *err);
pawl_code store_all(pawl_engine *e, live *r, pawl_err *err);    /* whatever it is */

pawl_code append_fill(pawl_engine *e, live *r, bool naps, pawl_append *a, arena *mem);
static inline bool run_has_news(const live *r) { return r->nlines > 0 || r->ntaken > 0 || r->sql != NULL; }

/* sql.c: commands that are performed in the transaction that stores their receipt */
pawl_code sql_choose(pawl_engine *e, live *r, bool *did, pawl_err *err);    /* one that is ready; *did: there is one */
void sql_within(live *r, bool naps, pawl_append *a, arena *mem);        /* it, into the append */
void sql_stale(live *r);                /* it was not stored: it never happened */

/* perform.c, and what errand.h lists: commands are carried out */
/* An errand for each open command. `why`: what one that cannot be made waits for. */
pawl_code errands_meet(pawl_engine *e, live *r, pawl_err *why, pawl_err *err);
bool errands_come(pawl_engine *e, int64_t wait_ms);    /* back from the pool; waits for one, that long; whether any did */
void errands_stored(pawl_engine *e, live *r);   /* the receipts that were fed are */
/* What can be done for it now, is; *did: something came of it, and is fed. `wait`: for timers and for what is out, too. */
pawl_code perform(pawl_engine *e, live *r, bool wait, bool *did, pawl_err *err);
pawl_code timers_fire(pawl_engine *e, live *r, int64_t *first, bool *did, pawl_err *err);
pawl_code answer_in_time(pawl_engine *e, live *r, const pawl_event *ev, pawl_err *err);        /* before an answer is fed */
const char *wait_meant(pawl_engine *e, const char *run, const char *want, pawl_err *err);   /* its id, in e->text; NULL: none, or several */
int64_t timer_at(pawl_engine *e, const call *c);    /* 0: it has none */
pawl_code errands_end(pawl_engine *e, live *r, pawl_err *err);     /* called off again: nothing is waited for, all receipts are fed */
bool errands_wait(const live *r);       /* for a place, and there is nothing else to do for it */
void errands_postpone(pawl_engine *e, live *r, int64_t now);    /* they give their places in the queue up, and come back later */
void errands_forget(pawl_engine *e, live *r);   /* unless something of them is known here alone */
void errands_unqueue(pawl_engine *e, live *r);  /* nobody drives it now: they keep nobody waiting */
void errands_leftover(pawl_engine *e, live *r, pawl_code next);     /* whose command nobody waits for any more */
bool errands_quiet(const live *r);      /* none is out, and none has a receipt that is not stored */
bool errands_back(const live *r);       /* the same of those whose command is open */
bool errands_home(const pawl_engine *e, const live *r); /* and of its children that are held here */
void errands_keep(pawl_engine *e, live *r);     /* the last: what is done is stored, what was stopped is begun again by the next engine */
void errand_unbegun(pawl_engine *e, errand *er);        /* it was put, and its handler was not called */
void errands_lost(live *r);     /* the run is somebody else's: those that are out are told to stop */
void errands_stale(live *r);    /* the state is gone: what comes back is fed if its command is still open */
void errands_free(pawl_engine *e, live *r);
void errand_run(errand *er);    /* one attempt, on any thread */

/* hub.c: those who read along are told */
struct hub;
static inline struct hub *hub_here(pawl_engine *e) { return atomic_load_explicit(&e->hub, memory_order_acquire); }     /* NULL: none */
void hub_stored(struct hub *h, const live *r, uint64_t seq, uint64_t records);     /* r->lines, which follow that entry and its records */
void hub_began(struct hub *h, const live *r, const errand *er);    /* an attempt has; will be tried again; its command is over */
void hub_again(struct hub *h, const errand *er);
void hub_over(struct hub *h, const errand *er);
pawl_code hub_say(struct hub *h, const errand *er, const char *name, const char *text);
void hub_end(pawl_engine *e);

/* budget.c: how much of an effect is performed at a time */
void budgets_grant(pawl_engine *e, int64_t now);        /* places to those that wait, as far as they go */
int64_t budgets_next(const pawl_engine *e);     /* when the next token is there, as of the last grant; 0: nobody waits for one */
void budgets_free(pawl_engine *e);

/* tell.c: what the effect "tell" does, by a store: the same however often it is tried, for its delivery has the command's id */
pawl_code tell_left(pawl_store *s, const pawl_alloc *alloc, const pawl_job *job, pawl_reply *reply);

/* pool.c: threads that perform */
void pool_begin(pawl_engine *e, unsigned threads);
void pool_end(pawl_engine *e);
bool pool_put(pawl_engine *e, errand *er);
void pool_rouse(pawl_engine *e);         /* who waits in pool_take comes back, on any thread */
errand *pool_take(pawl_engine *e, int64_t wait_ms);     /* those that are done; waits for one, that long; NULL: none */
unsigned pool_out(const pawl_engine *e);        /* errands that were put and not taken */
unsigned pool_size(const pawl_engine *e);
void pool_replace(pawl_engine *e);      /* threads of those that were given up, or told to stop and do not, by others */

#endif
