/* store_verbs.h - the interface of a store (S1-S7): a table of verbs. A store of your own has these, or three methods (pawl/store_simple.h).
 *
 * Every verb blocks, may be repeated, and reports an error as one line in `err`. A write changes one run. Verbs that take many runs set an rc for each, return
 * PAWL_OK when each has its rc, and put the first refusal into `err`. A handle is used by one thread at a time; several handles, of several processes, may
 * be open on one store. A handle sees one namespace.
 *
 * A worker claims a run and gets a fence: a number that no other claim ever gets. Every write of the holder carries the fence, and is refused when it is not
 * the newest (PAWL_FENCED): then another worker has the run. A process without the lease delivers. Times are the store's own (verbs->now). */
#ifndef PAWL_STORE_VERBS_H
#define PAWL_STORE_VERBS_H

#include "pawl/store_loss.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_store pawl_store;

/* ---- the head of a run --------------------------------------------------------------- */

typedef struct pawl_head {      /* texts are lent until the next call on the handle; NULL: none */
    const char *run;
    const char *machine, *context, *parent;
    const char *owner;          /* the holder of the lease */
    const char *parked;         /* why no worker can drive it */
    uint64_t no;                /* runs are numbered in the order of their creation; lists are sorted by it */
    uint64_t life;
    uint64_t seq;               /* of the newest entry */
    uint64_t fence;             /* of the newest claim */
    uint64_t fence_before;      /* of the claim before; when that was yours, nobody has written since */
    int64_t lease_ms;           /* end of the lease; 0: nobody holds it */
    int64_t created_ms, changed_ms;
    int64_t wake_ms;            /* its earliest timer; 0: none */
    int64_t look_ms;            /* when it is due for a worker, see `due`; 0: never */
    uint32_t waits;             /* open waits */
    uint32_t mail;              /* deliveries in its mailbox, not taken yet */
    uint8_t status;             /* pawl_status of kernel.h */
    bool over;                  /* the status is terminal */
    bool work;                  /* the holder stored that work is left, whatever the run waits for */
} pawl_head;

/* ---- writes of the holder ------------------------------------------------------------------------- */

typedef struct pawl_waiting {   /* a wait that is opened or closed; a closed one may be opened again under its id */
    const char *id;             /* its invocation id */
    pawl_bytes spec;            /* opened: canonical JSON of its SPEC (docs/INTERFACES.md) */
    pawl_bytes answer;          /* closed: its answer; {0}: closed without one */
    int64_t asked_ms;
    bool over;
    bool answered;              /* out, of waits: an answer was delivered, and nobody has taken it yet */
} pawl_waiting;
typedef struct pawl_blob { const char *digest; pawl_bytes bytes; } pawl_blob;   /* 64 hex digits: SHA-256 of the bytes */

/* SQL of the caller in the transaction of an append: its writes and the lines that record them are durable together, or neither is.
 * Only for a store whose verbs->sql is not NULL; any other returns PAWL_INVALID.
 *
 * First `work` is called, for each append that has one, in the order of the appends, before any line is written; fence and seq are the
 * newest then. It gets the store's connection for the duration of the call, and writes to tables of its own. It may not begin or end a
 * transaction, attach, set a pragma, touch the store's tables or use the store's handle. Its writes, and no others, are rolled back when it
 * returns a code below 0, tried something forbidden, left an SQL error unhandled or exceeded `limit_ms`: a statement that runs then is
 * interrupted. It may be called again in one append, when the work of another made SQLite roll back the transaction.
 * Then `made` is called, on success and on failure, to fill in lines and the other members; it may read the store. When it does not return
 * PAWL_OK after work that succeeded, or its lines are refused, the whole append fails and nothing of it is stored. */
struct pawl_append;
typedef struct pawl_within {
    pawl_code (*work)(void *ctx, void *sql, pawl_err *err);     /* `sql`: a sqlite3 * */
    pawl_code (*made)(void *ctx, struct pawl_append *a);
    void *ctx;
    int64_t limit_ms;           /* 0: none */
    pawl_code rc;               /* out: result of the work; PAWL_PENDING: not called, its run was refused */
    pawl_err why;               /* out: the error that the store found */
} pawl_within;

typedef struct pawl_append {    /* to one run: stored whole or not at all */
    const char *run;
    uint64_t fence;
    uint64_t seq;               /* of the newest entry before these lines */
    const pawl_bytes *lines;    /* task records and entries in order, without newlines; entries are numbered on from seq */
    size_t nlines;
    bool moves;                 /* the next five members replace those of the head; false: they stay */
    uint8_t status;
    bool over;
    bool work;                  /* a step or a command is due: once released, any worker may take it */
    int64_t wake_ms;            /* 0: no timer */
    const char *parked;         /* why it is parked; NULL: it is not */
    const pawl_waiting *waits;
    size_t nwaits;
    const uint64_t *taken;      /* numbers of the deliveries that these lines take or ignore; they leave the mailbox */
    size_t ntaken;
    pawl_bytes snapshot;        /* the state after these lines but the last `nafter`, at an entry; {0}: none. It replaces the one before */
    size_t nafter;              /* lines that come after the snapshot: the one that names it (K11) */
    const pawl_blob *blobs;
    size_t nblobs;
    const struct pawl_mark *marks;      /* attempts that begin once these lines are stored, and are counted with them; id and first_ms are set */
    size_t nmarks;
    bool release;               /* release the lease with it, as by the verb release */
    pawl_within *within;        /* SQL that is run first; then the lines are made. NULL: none */
    pawl_code rc;               /* out: the result for this run */
    bool quiet;                 /* out: its mailbox is empty; false: not known */
    uint64_t version;           /* out: the store's version with this append and no later write; 0: not known */
} pawl_append;

typedef struct pawl_mark {      /* the count of a command's attempts */
    const char *run;
    uint64_t fence;
    const char *id;             /* its invocation id */
    pawl_code rc;               /* out */
    int64_t first_ms;           /* when the first attempt began; 0: as stored before */
    int64_t again_ms;           /* back-off: the next attempt begins then, none is counted; 0: an attempt begins and is counted */
    uint32_t attempts;          /* out, of `marks`: how many were counted */
    bool unbegun;               /* the attempt that was counted last never began: subtract it; at 0 the count is deleted */
} pawl_mark;
typedef struct pawl_hold { const char *run; uint64_t fence; pawl_code rc; bool died; } pawl_hold;   /* a lease; rc: out; died: see pawl/store_loss.h */
typedef struct pawl_claim { const char *run; pawl_head head; pawl_code rc; } pawl_claim;   /* head, rc: out */

/* ---- deliveries ------------------------------------------------------------------ */

typedef enum pawl_delivery_kind {
    PAWL_DELIVER_START = 1,     /* value: the input */
    PAWL_DELIVER_INPUT = 2,
    PAWL_DELIVER_ANSWER = 3,    /* name: the wait's invocation id */
    PAWL_DELIVER_SIGNAL = 4,    /* name: the signal's */
    PAWL_DELIVER_CANCEL = 5,
    PAWL_DELIVER_UPDATE = 6,    /* name: the node that it acts for; NULL: none */
    PAWL_DELIVER_RECEIPT = 7,   /* name: the command's invocation id; outcome */
    PAWL_DELIVER_REOPEN = 8
} pawl_delivery_kind;

typedef struct pawl_delivery {
    uint64_t no;                /* out: assigned by the store, ascending */
    const char *id;             /* chosen by the sender; the same delivery again is success */
    pawl_delivery_kind kind;
    const char *name;
    int outcome;                /* pawl_outcome of kernel.h */
    pawl_bytes value, update;   /* JSON text; {0}: none */
    const char *by, *note, *trace;
    int64_t at_ms;              /* out */
} pawl_delivery;

/* ---- queries ------------------------------------------------------------------------------------ */

typedef struct pawl_filter {    /* NULL, 0 or false: any */
    const char *machine, *context, *parent, *label;
    const char *begins;         /* prefix of the run id; costs what it returns */
    int status;                 /* 1 + pawl_status */
    bool waiting;               /* a wait is open */
    bool parked;
    bool held;                  /* claimed and not released; the lease may have expired, or the holder may be dead */
    int64_t changed_since_ms;
    uint64_t before;            /* only runs with a smaller number: paging, the last number of the page before */
    size_t limit;               /* 0: 50 */
} pawl_filter;
typedef enum pawl_line_kind { PAWL_LINE_BASE = 1, PAWL_LINE_SNAPSHOT = 2, PAWL_LINE_RECORD = 3, PAWL_LINE_ENTRY = 4 } pawl_line_kind;
typedef struct pawl_due { int64_t look_ms; uint64_t no; } pawl_due;     /* a position in the order of `due`, from a head */
/* Callbacks. Each returns false to stop. Arguments are lent for the call; a callback may not use the handle. */
typedef bool pawl_line_fn(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line);
typedef bool pawl_head_fn(void *ctx, const pawl_head *head);
typedef bool pawl_delivery_fn(void *ctx, const pawl_delivery *d);
typedef bool pawl_waiting_fn(void *ctx, const char *run, const pawl_waiting *w);
typedef bool pawl_mark_fn(void *ctx, const pawl_mark *mark);    /* its run, fence and rc are not set */
/* The head of a run and lines of its journal, of the same moment. */
typedef struct pawl_look {
    pawl_line_fn *fn;           /* gets the lines; NULL: none are wanted */
    void *ctx;
    uint64_t after, upto;       /* which lines, as for read; not used by a load */
    bool load;                  /* the lines that load gives */
    pawl_head head; uint64_t version;   /* out; head.run NULL: there is no such run (PAWL_GONE is also for pruned lines); version 0: not known */
} pawl_look;
/* How a run begins, beside its base: all of it is durable in one transaction, or nothing is. */
typedef struct pawl_beginning {
    const char *owner;          /* who claims it, for ttl_ms; NULL: nobody */
    int64_t ttl_ms;
    uint64_t fence;             /* of a run that exists: its newest, or nothing is claimed (PAWL_FENCED); 0: whatever it is */
    struct pawl_append *first;  /* its first lines, written by that owner, without SQL of its own (within); the store sets run, fence and
                                 * all that is out. NULL: none */
    pawl_delivery *left;        /* a delivery that waits for it, such as its start; NULL: none */
    pawl_head head;             /* out: as a claim gives it, before `first` was written; where there is an owner */
} pawl_beginning;
/* ---- the verbs ------------------------------------------------------------------------------------------ */

typedef struct pawl_store_verbs {
    const char *name;           /* "sqlite" */
    const char *sql;            /* the kind of connection that pawl_within gets: "sqlite"; NULL: none, pawl_within is refused */
    void (*close)(pawl_store *s);
    int64_t (*now)(pawl_store *s);                      /* ms since the epoch, never back within a handle */
    /* A number that changes with every write of any handle or process; cheap. 0: not available. */
    uint64_t (*version)(pawl_store *s);

    /* Create a run with this base (a line of docs/INTERFACES.md, no newline) and with `with` (NULL: nothing more). The same base again is success;
     * another one under that id PAWL_CONFLICT. When the run exists with the same base, `with` acts as claim, append and deliver do, all
     * in one transaction: PAWL_HELD when another owner has the lease, PAWL_FENCED when it has another fence than with->fence. */
    pawl_code (*create)(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err);
    /* Claim each run for `ttl_ms`. PAWL_OK: its head, with a fresh fence and the newest seq. PAWL_HELD: another owner has the lease, the head says who
     * and until when; an owner may claim its own run again. PAWL_GONE: no such run. */
    pawl_code (*claim)(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
    pawl_code (*renew)(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);     /* PAWL_FENCED */
    pawl_code (*release)(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);   /* PAWL_FENCED */
    /* Append to many runs, durable together; each has its rc: PAWL_OK; PAWL_FENCED; PAWL_CONFLICT: seq is not the newest. The newest entry again with the
     * same bytes is success. A refused append changes nothing and does not affect the others. Returns PAWL_OK when all with rc PAWL_OK are durable; else
     * err says why, and each run was written to or not: load it again. */
    pawl_code (*append)(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
    /* Durable together: count an attempt (E13), store when the next is due (E7), or subtract one that never began. PAWL_INVALID: before 1970. */
    pawl_code (*mark)(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
    pawl_code (*marks)(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err);

    /* Without a lease (E16). Durable on return. PAWL_OK also when that id was delivered before with the same bytes, taken or not; PAWL_CONFLICT with other
     * bytes, and for an answer to a wait that is closed or answered: err has the first answer. PAWL_INVALID: no such wait was opened, or its schema or options
     * refuse the value. PAWL_DENIED: it names approvers, and none has signed this answer (P11). PAWL_GONE: no such run. PAWL_LIMIT: the mailbox is full. */
    pawl_code (*deliver)(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err);
    pawl_code (*deliveries)(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err);     /* the mailbox, in order */

    /* What loads a run: base, snapshot if there is one, then all after it; a damaged snapshot is left out, and one that the first line after it does
     * not name must not be used (K11). PAWL_GONE: no such run. */
    pawl_code (*load)(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
    /* The snapshot alone. PAWL_CORRUPT: it does not fit its digest or its entry, or cannot be read; PAWL_GONE: there is none, or no run. */
    pawl_code (*snapshot)(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
    /* Entries after `after` up to `upto` (0: all), each preceded by the records that it closes; records that no entry closes yet
     * come last. after 0 begins with the base. PAWL_GONE: no such run, or pruned. */
    pawl_code (*read)(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
    pawl_code (*blob)(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);    /* kind 0 */
    pawl_code (*head)(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
    pawl_code (*list)(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);   /* newest first */
    pawl_code (*waits)(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err);    /* open; run NULL: of all */
    /* Runs that are due for a worker, by the time since when, then by number: a timer is due at `now_ms`, the mailbox is not empty, the
     * run was released with work left, or its lease has expired. Held and parked runs are left out. At most `limit`, after the
     * position `after` (NULL: from the first), so that many runs which no worker here can drive do not hide the others. */
    pawl_code (*due)(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
    int64_t (*next_due)(pawl_store *s);                 /* the earliest timer of all runs; 0: none */

    /* The journal begins with this base at entry `seq`; what was before is deleted (K10), and so is a snapshot of `seq` or of deleted entries. */
    pawl_code (*prune)(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
    pawl_code (*remove)(pawl_store *s, const char *run, uint64_t fence, pawl_err *err);  /* the whole run; its id may be used again, fences are not */
    pawl_code (*check)(pawl_store *s, pawl_err *err);                           /* the whole store; PAWL_CORRUPT: err says what is damaged */
    pawl_code (*backup)(pawl_store *s, const char *path, pawl_err *err);        /* may be used meanwhile; PAWL_INVALID: not supported */
    pawl_code (*vacuum)(pawl_store *s, pawl_err *err);                          /* free the space that pruning and removing left */

    /* One look instead of two: head, with load or read. Returns what these return. May be NULL: then the three are called one after another. */
    pawl_code (*look)(pawl_store *s, const char *run, pawl_look *look, pawl_err *err);
    /* The absolute path of the file, lent with the handle: tools of agents never open it (P9). NULL: there is none. May be NULL. */
    const char *(*file)(pawl_store *s);
    /* Tells the store and namespace from all others (P12): 16 hex digits, "/SPACE" unless that is "". Lent with the handle. NULL: see err. May be NULL. */
    const char *(*id)(pawl_store *s, pawl_err *err);
    pawl_code (*losses)(pawl_store *s, const char *run, pawl_loss_fn *fn, void *ctx, pawl_err *err);      /* oldest first. May be NULL: none is stored */
} pawl_store_verbs;
struct pawl_store { const pawl_store_verbs *verbs; };   /* first member of every store */
#ifdef __cplusplus
}
#endif
#endif
