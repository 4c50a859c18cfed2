/* run.h - a run as this engine has it: claimed or known, loaded, driven, stored, released. */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/command/outbox.h"
#include "engine/run/look.h"

enum {
    CACHE_ENTRIES = 4096,
    PARENT_UNNOTIFIED_MS = 1               /* the stored timer of a child that is over and whose end is not delivered: always due, and no other timer has it */
};

typedef struct wait_change {      /* a change of an open wait, for the store's table of waits */
    char *id;
    buf text;                   /* its SPEC, or its answer */
    int64_t asked_ms;
    bool over, answered;
} wait_change;

/* What this engine has of the run's state (cached_run_table), changed by run_move() only. */
typedef enum cached_run_state {
    RUN_EMPTY,                  /* nothing: its state is to be loaded */
    RUN_LOADED,                 /* its state, as the store has it */
    RUN_FOLDED,                 /* the same, and lines that are folded and not stored */
    RUN_URGENT,                 /* the same, and one of them may not wait for others (G9) */
    RUN_GONE,                   /* it was removed at its end; its last state is kept */
    RUN_STATES
} cached_run_state;

/* Whether this engine holds the run (lease_table), changed by lease_move() only, with the engine's lock. */
typedef enum lease_state {
    LEASE_NONE,                 /* this engine does not hold it */
    LEASE_HELD,                 /* this engine holds it, under `fence` */
    LEASE_LOST,                 /* this engine held it, and another engine may have claimed it since */
    LEASE_STATES
} lease_state;

/* Whether the store's head of the run is known here (head_table), changed by head_move() only. */
typedef enum head_state {
    HEAD_KNOWN,                 /* `status`, `work` and `wake_ms` are what the store has */
    HEAD_PARKED,                /* the same, and the store has the run parked (F5) */
    HEAD_UNSURE,                /* an append failed, and may be stored all the same */
    HEAD_STATES
} head_state;

/* Whether a batch of the scheduler drives the run (pass_table), changed by pass_move() only. */
typedef enum pass_state {
    PASS_OUT,                   /* no batch does */
    PASS_IN,                    /* a batch does */
    PASS_STEPPED,               /* the same, and in this pass something was folded or taken: there may be new commands */
    PASS_STATES
} pass_state;

/* Whether the mailbox is to be read before the next step (mailbox_table), changed by mailbox_move() only. */
typedef enum mailbox_state {
    MAILBOX_UNREAD,             /* it is */
    MAILBOX_EMPTY,              /* the claim found it empty: not before the first step */
    MAILBOX_EMPTY_AT_APPEND,    /* the last append found it empty: not while the machine can go on by itself */
    MAILBOX_STATES
} mailbox_state;
extern const sm_table cached_run_table, lease_table, head_table, pass_table, mailbox_table;

typedef struct held_blob held_blob;     /* set apart, and not stored yet: blobs.c */

struct cached_run {             /* a run that this engine has claimed or looked at */
    struct cached_run *next;          /* in its slot */
    struct pawl_engine *e;
    pawl_state *st;             /* NULL: to be loaded */
    const pawl_machine *m;
    uint8_t state, lease, head, pass, mailbox;  /* cached_run_state, lease_state, head_state, pass_state, mailbox_state */
    uint64_t fence;             /* 0: not held */
    uint64_t last_fence;        /* of its last claim here */
    uint64_t loaded_fence;      /* the newest fence when the run was loaded here without a claim, and no engine held it; 0: it was not loaded so */
    uint64_t looked;            /* version of the store when its head was read without a claim, and agreed with `st` */
    uint64_t rest_fence;        /* its newest fence then, when no engine held it and nothing was in its mailbox; 0: something was, or it is not known */
    uint64_t marked_fence;      /* the fence under which the marks of attempts were read */
    int64_t lease_ms;           /* until when, by the store's time */
    uint64_t no;                /* the store's */
    uint64_t seq;               /* of the newest entry that is stored */
    uint64_t records;           /* stored since; and with those that are only folded */
    uint64_t records_fed;
    uint64_t head_seq;          /* the same, as the store says it */
    int64_t changed_ms;         /* as the store said it at the claim; 0: something was stored since */
    uint32_t mail;              /* deliveries in its mailbox when that was read last */
    uint32_t refused;           /* appends, one after another */
    bool borrowed;              /* arguments of an entry point into the state */
    bool admitted;              /* the host was asked whether it may be driven */
    uint8_t status;             /* these three as the store has them, unless HEAD_UNSURE */
    bool work;
    int64_t wake_ms;
    struct open_wait **asked;   /* the open waits by their ids: open hashing, `asked_cap` is a power of two (wait_index.c) */
    size_t nasked, asked_cap;
    uint64_t scans;             /* how often all of them were compared with the state */
    /* folded, and not stored yet */
    buf lines, snapshot;
    size_t nlines;
    int64_t gathers_since;      /* by the steady clock: the first of them, where they may wait */
    size_t tail_bytes;          /* of the lines since the last snapshot */
    wait_change *waits;
    size_t nwaits, waits_cap;
    uint64_t *taken;
    size_t ntaken, taken_cap;
    held_blob *blobs;
    size_t nblobs, blobs_cap, blobs_bytes;
    hash *kept;                 /* digests of blobs that the store has */
    size_t nkept, kept_cap, kept_next;
    buf blob;                   /* the one that was read last */
    uint64_t heard;             /* version of the store when its mailbox was read */
    outbox outbox;
    bool no_timers;             /* nothing that is open has a timer, or an unknown outcome: known, and not changed since */
    bool commands_moved;        /* the outbox is to be compared with the open commands */
    outbox_entry *sql;                /* to be performed in the next commit, which stores its receipt */
    pawl_within within;         /* of that commit */
    arena *within_mem;
    bool within_naps;
    bool in_ring;               /* among the runs that were released last */
    bool shown;                 /* the host has a pointer to its state, so it is not freed */
    unsigned tried;             /* of a child: `tries` when it was last looked at */
    bool parent_notified;       /* of a child that is over: its end was delivered to its parent */
    atomic_bool lease_lost;     /* set by the lease thread while the lease is LEASE_HELD: a renewal failed. The driving thread then moves the lease */
    /* entries that were read for the state */
    buf cache;
    uint64_t cache_from, cache_to, cache_next;
    size_t cache_at;
    char id[];
};

/* cached_run.c: its states, and how it is found */
void run_move(cached_run *r, cached_run_state to);
void run_hurry(cached_run *r);                /* what was just folded may not wait; nothing when nothing was */
void lease_move(cached_run *r, lease_state to, uint64_t fence);         /* with the engine's lock; fence 0: not held */
void head_move(cached_run *r, head_state to);
void pass_move(cached_run *r, pass_state to);
void mailbox_move(cached_run *r, mailbox_state to);
size_t cached_run_slot(const char *run);                                 /* its index in e->runs */
cached_run *cached_run_find(const pawl_engine *e, const char *run);
bool run_fits(const cached_run *r);          /* this engine's machine is the one that it was begun with */

static inline bool run_is_gone(const cached_run *r) { return r->state == RUN_GONE; }
static inline bool run_is_folded(const cached_run *r) { return r->state == RUN_FOLDED || r->state == RUN_URGENT; }
static inline bool run_is_over(const cached_run *r) { return pawl_status_terminal((pawl_status)r->status); }   /* as the store has it */
static inline bool run_has_news(const cached_run *r) { return r->nlines > 0 || r->ntaken > 0 || r->sql != NULL; }

/* run_cache.c: runs are claimed, loaded and released */
cached_run *run_cached(pawl_engine *e, const char *run, pawl_err *err);  /* found, or made; NULL: no memory */
void run_drop_state(pawl_engine *e, cached_run *r);        /* what is not stored is thrown away */
void run_lease_lost(pawl_engine *e, cached_run *r);        /* the same, and the lease is lost */
/* Claimed in one transaction, not loaded: each has its rc and head in `all`, which has n places. */
pawl_code runs_claim(pawl_engine *e, cached_run **runs, pawl_claim *all, size_t n, pawl_err *err);
void run_claimed(pawl_engine *e, cached_run *r, const pawl_head *head);    /* with the lock */
void run_init(pawl_engine *e, cached_run *r, pawl_state *st);     /* a new run, which the store does not have yet; takes `st` */
pawl_code runs_release(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err);
pawl_code run_release(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code run_remove(pawl_engine *e, cached_run *r, pawl_err *err);  /* from the store; its last state stays readable here */
void cached_run_free(pawl_engine *e, cached_run *r);
void run_keep_released(pawl_engine *e, cached_run *r);        /* no call drives it: it may be freed when RELEASED_MAX others were released since */
/* Its state was loaded while no engine held it, and no claim came after that fence: no engine has written since. */
static inline bool run_loaded_under(const cached_run *r, uint64_t fence) { return fence != 0 && r->loaded_fence == fence; }
pawl_code run_read_entry(cached_run *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records);   /* lent until the next */
pawl_code run_load(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code run_load_by(pawl_engine *e, cached_run *r, const run_seen *seen);   /* of a run without a state; on failure it has none */
pawl_code run_enter(pawl_engine *e, cached_run *r, pawl_err *err);   /* loaded, when it was claimed just now */
pawl_code run_hold(pawl_engine *e, cached_run *r, pawl_err *err);    /* claimed and loaded */

/* retention.c: deadlines, and how long finished runs are kept (G10) */
int64_t deadline_ms(const cached_run *r);             /* 0: it has none that matters */
int64_t run_retires_ms(const cached_run *r);         /* when it is to be removed; 0: never, or it is not over */
bool run_is_retired(pawl_engine *e, const cached_run *r);   /* its retention has passed */

/* lease_renewal.c: a thread that renews the leases, and reads the mailbox for a handler that runs on the driving thread */
void renewal_begin(pawl_engine *e);
void renewal_end(pawl_engine *e);
/* Whether every lease of this engine is known to be valid: asked after the last call that may block, before a handler is called. It narrows the
 * time in which a process that was stopped acts under a lease that ran out; no lease closes it, so handlers get the fence, too (E15). Any thread. */
bool leases_valid(const pawl_engine *e);
/* The driving thread, before commands leave: renews what is not known to be valid, and stops the commands of runs that were lost (S2). */
void leases_check(pawl_engine *e);
void renewal_watch(pawl_engine *e, outbox_entry *entry);   /* its handler is called here now; NULL: it is back */

/* wait_index.c: waits and timers, as the store keeps them beside the lines */
pawl_code wait_index_step(pawl_engine *e, cached_run *r);   /* of what e->step has just folded */
pawl_code wait_index_load(pawl_engine *e, cached_run *r);  /* the waits of a state that was loaded */
void wait_index_free(pawl_engine *e, cached_run *r);    /* its open waits are not known any more */
void wait_index_clear(pawl_engine *e, cached_run *r);      /* the changes are stored, or thrown away */
/* Its first timer; 0: none. *works: an engine has something to do for it before that. */
int64_t wait_index_wake(pawl_engine *e, cached_run *r, bool *works);

int64_t timer_at(pawl_engine *e, const call *c);    /* 0: it has none */

/* dead_owner.c: releases the leases of dead processes of this machine */
pawl_code dead_owners_release(pawl_engine *e, pawl_err *err);

/* run_feed.c: folds an event. Below 0 nothing happened, but for PAWL_NOMEM and PAWL_IO after it was folded: then the state was thrown away */
pawl_code run_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);

/* timers.c */
pawl_code timers_fire(pawl_engine *e, cached_run *r, int64_t *first, bool *did, pawl_err *err);
pawl_code deadline_keep(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);    /* when it has passed, the run is canceled */
pawl_code answer_in_time(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);        /* before an answer is fed */

/* append.c */
pawl_code append_fill(pawl_engine *e, cached_run *r, bool naps, pawl_append *a, arena *mem);
/* Whether the lease may be released with this append: no engine has to do anything for the run until something is delivered or due. */
bool run_may_release(const cached_run *r, bool naps);

/* commit.c: stores the runs. Those that are over or wait for a person are released with it; `naps`: also those that only wait for a timer. One that was
 * at rest is claimed with it: PAWL_FENCED, PAWL_HELD: another engine was faster */
pawl_code runs_commit(pawl_engine *e, cached_run **runs, size_t n, bool naps, pawl_err *err);
/* Nobody writes the run: what is folded into its state now may be stored, and the run claimed, in one transaction. */
bool run_is_at_rest(pawl_engine *e, const cached_run *r);
/* The first of a run that run_init has made: base, lines and lease in one transaction. PAWL_CONFLICT: there is such a run. */
pawl_code run_create(pawl_engine *e, cached_run *r, pawl_err *err);
/* Its journal contradicts itself, the machine or the store: it is parked with the reason, and released (F5). */
pawl_code run_park(pawl_engine *e, cached_run *r, const char *reason, pawl_err *err);

/* flush_policy.c: when folded lines are stored (G9) */
bool store_due(pawl_engine *e, cached_run *r);        /* it must be stored before anything else is done for it */
pawl_code store_as_due(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code store_all(pawl_engine *e, cached_run *r, pawl_err *err);    /* whatever the durability mode says */

/* deliveries.c */
pawl_code admission(pawl_engine *e, cached_run *r, pawl_err *err);   /* the host is asked once whether pawl_work() may drive it */
pawl_code deliveries_feed(pawl_engine *e, cached_run *r, pawl_err *err);      /* folds the deliveries; the next commit stores them */
pawl_code deliveries_take(pawl_engine *e, cached_run *r, pawl_err *err);      /* the same, and stores them */
bool has_deliveries(pawl_engine *e, const cached_run *r);  /* its mailbox has something that was not read */
/* Before an event: a second cancel waits for no attempt, and each running one ends in its receipt (E10). */
pawl_code cancel_again(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);
/* before an event: each open command has an entry, so that those that the event gives up are found */
pawl_code open_commands_known(pawl_engine *e, cached_run *r, pawl_err *err);

/* drive.c */
pawl_code drive(pawl_engine *e, cached_run *r, const pawl_event *first, pawl_err *err);
pawl_code drive_begun(pawl_engine *e, cached_run *r, pawl_err *err);    /* one whose first entry is stored; it may be released already */
pawl_code drive_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err);     /* releases the run, or parks it; returns rc */

/* look.c */
const char *wait_named(pawl_engine *e, const char *run, const char *want, pawl_err *err);   /* its id, in e->text; NULL: none, or several */

#endif
