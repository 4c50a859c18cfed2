/* run.h - a cached run: claimed or only read, loaded, driven, stored, released.
 *
 * Owned by the table of runs in the engine (run_cache.c). On the driving thread, without a lock, unless a comment says otherwise; the lease thread
 * reads the table, fences and leases under the engine's lock. */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/command/outbox.h"
#include "engine/run/query.h"
#include "engine/run/timer_index.h"
#include "kernel/frame.h"

enum {
    CACHE_ENTRIES = 4096,
    PARENT_UNNOTIFIED_MS = 1               /* stored timer of a finished child whose end is not delivered: always due, and no other timer has this value */
};

typedef struct wait_change {      /* a change of an open wait, for the store's table of waits */
    char *id;
    buf text;                   /* the SPEC of the wait, or its answer */
    int64_t asked_ms;
    bool over, answered;
} wait_change;

/* The cached state of the run (cached_run_table). Changed only by run_move(). */
typedef enum cached_run_state {
    RUN_EMPTY,                  /* no state */
    RUN_LOADED,                 /* the state of the store */
    RUN_FOLDED,                 /* the same, with folded lines that are not stored */
    RUN_URGENT,                 /* the same; one of the lines must be stored at once (G9) */
    RUN_GONE,                   /* the run was removed from the store; its last state is kept */
    RUN_STATES
} cached_run_state;

/* Whether this engine has the lease (lease_table). Changed only by lease_move(), under the engine's lock. */
typedef enum lease_state {
    LEASE_NONE,                 /* this engine does not have the lease */
    LEASE_HELD,                 /* this engine has the lease, with `fence` */
    LEASE_LOST,                 /* this engine had the lease; another engine may have claimed the run since */
    LEASE_STATES
} lease_state;

/* Whether the store's head of the run is known here (head_table). Changed only by head_move(). */
typedef enum head_state {
    HEAD_KNOWN,                 /* `status`, `work` and `wake_ms` equal those of the store */
    HEAD_PARKED,                /* the same; the store has the run as parked (F5) */
    HEAD_UNSURE,                /* an append failed, but may be stored all the same */
    HEAD_STATES
} head_state;

/* Whether a batch of the scheduler drives the run (pass_table). Changed only by pass_move(). */
typedef enum pass_state {
    PASS_OUT,                   /* in no batch */
    PASS_IN,                    /* in a batch */
    PASS_STEPPED,               /* the same; this pass folded an event, so there may be new commands */
    PASS_STATES
} pass_state;

/* Whether the mailbox must be read before the next step (mailbox_table). Changed only by mailbox_move(). */
typedef enum mailbox_state {
    MAILBOX_UNREAD,             /* must be read */
    MAILBOX_EMPTY,              /* the claim found it empty: need not be read before the first step */
    MAILBOX_EMPTY_AT_APPEND,    /* the last append found it empty: need not be read while the machine can go on by itself */
    MAILBOX_STATES
} mailbox_state;
extern const sm_table cached_run_table, lease_table, head_table, pass_table, mailbox_table;

typedef struct held_blob held_blob;     /* a blob that is not stored yet (blobs.c) */

struct cached_run {
    struct cached_run *next;          /* in its slot */
    struct pawl_engine *e;
    pawl_state *st;             /* NULL: not loaded */
    const pawl_machine *m;
    uint8_t state, lease, head, pass, mailbox, anchor;  /* cached_run_state, lease_state, head_state, pass_state, mailbox_state, anchor_state */
    uint64_t fence;             /* of the lease; 0: no lease */
    uint64_t last_fence;        /* of this engine's last claim */
    uint64_t loaded_fence;      /* newest fence when the state was loaded without a claim while no engine had the lease; 0: not loaded so */
    uint64_t looked;            /* store version when the head was read without a claim and agreed with `st` */
    uint64_t rest_fence;        /* newest fence at `looked`, when no engine had the lease and the mailbox was empty; 0: else */
    uint64_t marked_fence;      /* the fence under which the counts of attempts were read */
    int64_t lease_ms;           /* end of the lease by the store's time */
    uint64_t no;                /* the store's number of the run */
    uint64_t seq;               /* newest stored entry */
    uint64_t records;           /* task records stored after it; `records_fed`: with those that are only folded */
    uint64_t records_fed;
    uint64_t head_seq;          /* newest entry by the store's head */
    int64_t changed_ms;         /* time of the last change at the claim; 0: this engine has stored since */
    uint32_t mail;              /* deliveries at the last read of the mailbox */
    uint32_t refused;           /* number of refused appends in a row */
    bool borrowed;              /* arguments of an outbox entry point into the state */
    bool admitted;              /* the host has allowed pawl_work() to drive the run */
    uint8_t status;             /* this and the next two equal those of the store, unless HEAD_UNSURE */
    bool work;
    int64_t wake_ms;
    id_index asked;             /* the open waits by id (wait_index.c) */
    size_t ndoubts;             /* waits in `asked` that ask for the outcome of a command */
    uint64_t scans;             /* number of comparisons of all waits with the state */
    timer_index timers;
    /* the contents of the next append: */
    buf lines, snapshot;
    size_t nlines;
    int64_t gathers_since;      /* by the steady clock: when the first of the gathered lines was folded */
    size_t tail_bytes;          /* bytes of lines since the last snapshot */
    wait_change *waits;
    size_t nwaits, waits_cap;
    uint64_t *taken;
    size_t ntaken, taken_cap;
    held_blob *blobs;
    size_t nblobs, blobs_cap, blobs_bytes;
    hash *kept;                 /* digests of blobs that the store has, as a ring */
    size_t nkept, kept_cap, kept_next;
    buf blob;                   /* the blob that was read last */
    uint64_t heard;             /* store version when the mailbox was read */
    outbox outbox;
    bool commands_moved;        /* the outbox must be compared with the open commands */
    bool indexed;               /* `asked` and `timers` contain every open call of the state that belongs there */
    bool only_naps;             /* a walk found no open command but sleeps, and no step has made one since */
    outbox_entry *sql;                /* the SQL command that the next commit performs */
    pawl_within within;         /* of that commit (sql_command.c) */
    arena *within_mem;
    bool within_release_sleeping;
    bool in_ring;               /* in the engine's ring `released` */
    bool pinned;                /* the host has a pointer to the state, so the run is never freed */
    unsigned tried;             /* of a child: `tries` of the engine at the last look */
    unsigned snapshot_put_off;  /* commits in a row that left the snapshot to the next */
    bool parent_notified, noticed;  /* of a finished child: its end was delivered to its parent; the host knows that the snapshot does not fit */
    atomic_bool lease_lost;     /* set by the lease thread after a refused renewal; the driving thread then moves the lease */
    /* entries that were read for segment_load(): */
    buf cache;
    uint64_t cache_from, cache_to, cache_next;
    size_t cache_at;
    char id[];
};

/* cached_run.c */
void run_move(cached_run *r, cached_run_state to);
void run_mark_urgent(cached_run *r);                /* the folded lines must be stored at once; no effect without lines */
void lease_move(cached_run *r, lease_state to, uint64_t fence);         /* under the engine's lock; fence 0: no lease */
void head_move(cached_run *r, head_state to);
void pass_move(cached_run *r, pass_state to);
void mailbox_move(cached_run *r, mailbox_state to);
bool cached_runs_begin(pawl_engine *e);                 /* the table of runs; false: no memory */
void cached_runs_end(pawl_engine *e);
void cached_run_add(pawl_engine *e, cached_run *r);     /* this and the next under the engine's lock: the lease thread reads the table */
void cached_run_remove(pawl_engine *e, const cached_run *r);
static inline bool commands_due(const cached_run *r) { return r->commands_moved || r->outbox.made.size > 0; }    /* outbox_reconcile() has work */
cached_run *cached_run_find(const pawl_engine *e, const char *run);
bool run_fits(const cached_run *r);          /* the state is under this engine's version of the machine */

static inline bool run_is_gone(const cached_run *r) { return r->state == RUN_GONE; }
static inline bool run_is_folded(const cached_run *r) { return r->state == RUN_FOLDED || r->state == RUN_URGENT; }
static inline bool run_has_ended(const cached_run *r) { return pawl_status_terminal((pawl_status)r->status); }   /* by the stored status */
static inline bool run_has_news(const cached_run *r) { return r->nlines > 0 || r->ntaken > 0 || r->sql != NULL; }

/* run_cache.c: claims, loads and releases runs */
cached_run *run_cached(pawl_engine *e, const char *run, pawl_err *err);  /* finds or makes the cached run; NULL: no memory */
void run_drop_state(pawl_engine *e, cached_run *r);        /* drops the state and all lines that are not stored */
void run_lease_lost(pawl_engine *e, cached_run *r);        /* the same, and moves the lease to LEASE_LOST */
/* Claims n runs in one transaction without loading them; each has its result code and head in `all`. */
pawl_code runs_claim(pawl_engine *e, cached_run **runs, pawl_claim *all, size_t n, pawl_err *err);
void run_claimed(pawl_engine *e, cached_run *r, const pawl_head *head);    /* after a claim, under the engine's lock */
void run_init(pawl_engine *e, cached_run *r, pawl_state *st);     /* a new run that is not in the store yet; takes over `st` */
pawl_code runs_release(pawl_engine *e, cached_run **runs, size_t n, pawl_err *err);
pawl_code run_release(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code run_remove(pawl_engine *e, cached_run *r, pawl_err *err);  /* removes the run from the store; its last state stays readable here */
void cached_run_free(pawl_engine *e, cached_run *r);
void run_keep_released(pawl_engine *e, cached_run *r);        /* puts it into the ring `released`, and may free the oldest run there */
/* Whether the state was loaded while no engine had the lease, and no claim came after `fence`: then no engine has written since. */
static inline bool run_loaded_under(const cached_run *r, uint64_t fence) { return fence != 0 && r->loaded_fence == fence; }
pawl_code run_read_entry(cached_run *r, uint64_t seq, pawl_bytes *entry, pawl_bytes *records);   /* valid until the next call */
pawl_code run_load(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code run_load_by(pawl_engine *e, cached_run *r, const run_seen *seen);   /* the run has no state before, and none after an error */
pawl_code run_enter(pawl_engine *e, cached_run *r, pawl_err *err);   /* loads a run that was just claimed */
pawl_code run_hold(pawl_engine *e, cached_run *r, pawl_err *err);    /* claims and loads, as needed */

/* retention.c: deadlines and retention (G10) */
int64_t deadline_ms(const cached_run *r);             /* 0: no deadline, or the run is ending anyway */
int64_t run_retires_ms(const cached_run *r);         /* when to remove the run; 0: never, or not finished */
bool run_is_retired(pawl_engine *e, const cached_run *r);   /* the retention has passed */

/* lease_renewal.c: the lease thread */
void renewal_begin(pawl_engine *e);
void renewal_end(pawl_engine *e);
/* Whether every lease of this engine is known to be valid. Asked after the last call that may block, before a handler is called. This narrows the time
 * in which a process that was suspended acts under an expired lease; no lease can close it, so handlers also get the fence (E15). Any thread. */
bool leases_valid(const pawl_engine *e);
/* On the driving thread, before commands leave: renews leases that are not known to be valid, and stops attempts of runs whose lease was lost (S2). */
void leases_check(pawl_engine *e);
void renewal_watch(pawl_engine *e, outbox_entry *entry);   /* its handler runs on the driving thread now; NULL: the handler has returned */

/* wait_index.c: the waits and the timer that the store keeps beside the lines */
pawl_code wait_index_step(pawl_engine *e, cached_run *r);   /* after e->step was folded */
pawl_code wait_index_load(pawl_engine *e, cached_run *r);  /* after a state was loaded */
void wait_index_free(pawl_engine *e, cached_run *r);    /* forgets the open waits */
void wait_index_clear(pawl_engine *e, cached_run *r);      /* forgets the changes, after they were stored or dropped */
/* The run's first timer; 0: none. *works: an engine has work for the run before that. */
int64_t wait_index_wake(pawl_engine *e, cached_run *r, bool *works);

/* dead_owner.c: releases the leases of dead processes of this machine */
pawl_code dead_owners_release(pawl_engine *e, pawl_err *err);

/* run_feed.c: folds an event. After an error (< 0) nothing has changed; after a PAWL_NOMEM or PAWL_IO that came later than the fold, the state was
 * dropped. */
pawl_code run_feed(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);

/* timers.c */
pawl_code timers_fire(pawl_engine *e, cached_run *r, int64_t *first, bool *did, pawl_err *err);
pawl_code deadline_keep(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);    /* cancels the run after its deadline */
pawl_code answer_in_time(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);        /* called before an answer is fed */

/* append.c */
pawl_code append_fill(pawl_engine *e, cached_run *r, bool release_sleeping, pawl_append *a, arena *mem);
/* Whether this append may release the lease: no engine has work for the run before a delivery or a timer. `release_sleeping`: a timer is allowed. */
bool run_may_release(const cached_run *r, bool release_sleeping);

/* commit.c: stores the runs, and releases those that ended or wait for a person; with `release_sleeping`, also those that only wait for a timer. A run
 * at rest is claimed in the same transaction; PAWL_FENCED or PAWL_HELD: another engine was faster. */
pawl_code runs_commit(pawl_engine *e, cached_run **runs, size_t n, bool release_sleeping, pawl_err *err);
/* Whether no engine has the lease and the cached state is current, so that an event can be folded, stored and the run claimed in one transaction. */
bool run_is_at_rest(pawl_engine *e, const cached_run *r);
/* The first commit of a run that run_init() made: base, lines and lease in one transaction. PAWL_CONFLICT: the run exists. */
pawl_code run_create(pawl_engine *e, cached_run *r, pawl_err *err);
/* Parks the run with the reason and releases it: its journal contradicts itself, the machine or the store (F5). */
pawl_code run_park(pawl_engine *e, cached_run *r, const char *reason, pawl_err *err);

/* flush_policy.c: when folded lines are stored (G9) */
bool store_due(pawl_engine *e, cached_run *r);        /* the folded lines must be stored before the next step */
pawl_code store_as_due(pawl_engine *e, cached_run *r, pawl_err *err);
pawl_code store_all(pawl_engine *e, cached_run *r, pawl_err *err);    /* in every durability mode */

/* deliveries.c */
pawl_code admission(pawl_engine *e, cached_run *r, pawl_err *err);   /* once for pawl_work(): folds the host's settings, asks whether it may drive */
pawl_code deliveries_feed(pawl_engine *e, cached_run *r, pawl_err *err);      /* folds the deliveries; the next commit stores the lines */
pawl_code deliveries_take(pawl_engine *e, cached_run *r, pawl_err *err);      /* the same, with the commit */
bool has_deliveries(pawl_engine *e, const cached_run *r);  /* the mailbox has deliveries that were not read */
/* Called before an event: a second cancel does not wait for running attempts; each one ends in a receipt (E10). */
pawl_code cancel_again(pawl_engine *e, cached_run *r, const pawl_event *ev, pawl_err *err);
/* before an event: makes an outbox entry for each open command, so that commands that the event drops can be found */
pawl_code open_commands_known(pawl_engine *e, cached_run *r, pawl_err *err);

/* drive.c */
pawl_code drive(pawl_engine *e, cached_run *r, const pawl_event *first, pawl_err *err);
pawl_code drive_begun(pawl_engine *e, cached_run *r, pawl_err *err);    /* a run whose first entry is stored; perhaps released already */
pawl_code drive_failed(pawl_engine *e, cached_run *r, pawl_code rc, const pawl_err *why, pawl_err *err);     /* releases the run, or parks it; returns rc */

/* query.c */
const char *wait_named(pawl_engine *e, const char *run, const char *want, pawl_err *err);   /* its id, in e->text; NULL: none or several, err is set */

#endif
