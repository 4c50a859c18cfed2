/* store.h - where journals live: a few verbs, filled by memory, by SQLite, or by a store of your own (S1-S7).
 *
 * Every verb blocks, may be repeated, and says in one line what was wrong. What it writes touches one run; verbs that take many
 * answer each run by itself, in its rc, return PAWL_OK when all were answered, and tell `err` of the first that was refused. A
 * handle belongs to one thread at a time; several handles, of several processes, may be open on one store. A handle sees one
 * namespace.
 *
 * Who works on a run claims it and gets a fence: a number that no other claim ever gets. Every write of a holder carries it,
 * and a fence that is no longer the newest is refused (PAWL_FENCED): then the run is somebody else's. Who holds no lease
 * delivers. Times are the store's own (verbs->now). */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_store pawl_store;

/* ---- what a store knows of a run --------------------------------------------------------------- */

typedef struct pawl_head {      /* texts are lent until the next call on the handle; NULL: not there */
    const char *run;
    const char *machine, *context, *parent;
    const char *owner;          /* who holds the lease */
    const char *parked;         /* why nobody can drive it now */
    uint64_t no;                /* runs are numbered as they begin: newest first is by this */
    uint64_t life;
    uint64_t seq;               /* of the newest entry */
    uint64_t fence;             /* of the newest claim */
    uint64_t fence_before;      /* of the claim before it: when that was yours, nobody has written since */
    int64_t lease_ms;           /* until when it is held; 0: nobody holds it */
    int64_t created_ms, changed_ms;
    int64_t wake_ms;            /* its first timer; 0: none */
    int64_t look_ms;            /* from when somebody has to look at it: see due; 0: nobody has to */
    uint32_t waits;             /* open ones */
    uint32_t mail;              /* deliveries that wait for it */
    uint8_t status;             /* pawl_status of kernel.h */
    bool over;                  /* a terminal one */
    bool work;                  /* its holder said: there is something to do, whatever it waits for */
} pawl_head;

/* ---- what a holder writes ------------------------------------------------------------------------- */

typedef struct pawl_waiting {   /* a wait that was asked, or is over; one that is over may be asked again under its id */
    const char *id;             /* its invocation id */
    pawl_bytes spec;            /* asked: canonical JSON of its SPEC (docs/INTERFACES.md) */
    pawl_bytes answer;          /* over: what it was answered; {0}: nobody waits any more */
    int64_t asked_ms;
    bool over;
} pawl_waiting;

typedef struct pawl_blob { const char *digest; pawl_bytes bytes; } pawl_blob;   /* 64 hex digits: SHA-256 of the bytes */

/* Work of the caller's own in the transaction of an append: what it writes and the lines that tell of it are durable together, or
 * neither is. For a store whose verbs->sql is not NULL; any other answers PAWL_INVALID.
 *
 * First `work` is called, for each append that has one, in the order of the appends, before any line is written: fence and seq are
 * the newest then. It is given the store's own connection, for the call alone, and writes to tables of its own. It may not end or
 * begin a transaction, attach, set a pragma, or touch the store's tables; nor use the store's handle. What it did is taken back, it
 * alone, when it returns a code below 0, tried what it may not, left an SQL error unhandled, or was over `limit_ms`: a statement that
 * runs then is interrupted. It may be called again in one append, when the work of another made SQLite give up the transaction.
 * Then `made` is called, on success and on failure, to fill in lines and all else; from it the store may be read. When it is not
 * PAWL_OK after work that succeeded, or what it filled in is refused, the whole append fails and nothing of it is there. */
struct pawl_append;
typedef struct pawl_within {
    pawl_code (*work)(void *ctx, void *sql, pawl_err *err);     /* `sql`: a sqlite3 * */
    pawl_code (*made)(void *ctx, struct pawl_append *a);
    void *ctx;
    int64_t limit_ms;           /* 0: none */
    pawl_code rc;               /* out: how the work went; PAWL_PENDING: it was not called, its run was refused */
    pawl_err why;               /* out: what was wrong, when the store found it so */
} pawl_within;

typedef struct pawl_append {    /* to one run: all of it or nothing */
    const char *run;
    uint64_t fence;
    uint64_t seq;               /* of the newest entry before these lines */
    const pawl_bytes *lines;    /* task records and entries in their order, no newlines; entries are numbered on from seq */
    size_t nlines;
    bool moves;                 /* the next five say what holds from now on; else all stay as they were */
    uint8_t status;
    bool over;
    bool work;                  /* a step is due, or a command is to be performed: let go of, it is for anybody to go on with */
    int64_t wake_ms;            /* 0: no timer */
    const char *parked;         /* NULL: it is not */
    const pawl_waiting *waits;
    size_t nwaits;
    const uint64_t *taken;      /* deliveries that these lines take or ignore, by their numbers: they are gone with this */
    size_t ntaken;
    pawl_bytes snapshot;        /* of the state after these lines, the last of which is an entry; {0}: none. It replaces the last */
    const pawl_blob *blobs;
    size_t nblobs;
    const struct pawl_mark *marks;      /* attempts that begin as soon as these lines are stored, counted with them; each has an id and a first_ms */
    size_t nmarks;
    bool release;               /* with this the run is let go of: as by release */
    pawl_within *within;        /* NULL; else to be done first, and then these lines are made */
    pawl_code rc;               /* out: how it went for this run */
    bool quiet;                 /* out: nothing that was delivered waits for it; false: that is to be looked for */
} pawl_append;

typedef struct pawl_mark {      /* of a command's attempts */
    const char *run;
    uint64_t fence;
    const char *id;             /* its invocation id */
    pawl_code rc;               /* out */
    int64_t first_ms;           /* when the first of them began; 0: as it was said before */
    int64_t again_ms;           /* the last one is over, and the next begins then: none is counted; 0: one begins, and is counted */
    uint32_t attempts;          /* told by `marks`: so many were counted */
    bool unbegun;               /* the last that was counted never began: it is taken back; with none left it is as if none ever was */
} pawl_mark;
typedef struct pawl_hold { const char *run; uint64_t fence; pawl_code rc; } pawl_hold;     /* a run that is held; rc: out */
typedef struct pawl_claim { const char *run; pawl_head head; pawl_code rc; } pawl_claim;   /* head, rc: out */

/* ---- what anybody leaves for a run ------------------------------------------------------------------ */

typedef enum pawl_delivery_kind {
    PAWL_DELIVER_START = 1,     /* value: the input */
    PAWL_DELIVER_INPUT = 2,
    PAWL_DELIVER_ANSWER = 3,    /* name: the wait's invocation id */
    PAWL_DELIVER_SIGNAL = 4,    /* name: the signal's */
    PAWL_DELIVER_CANCEL = 5,
    PAWL_DELIVER_UPDATE = 6,    /* name: the node it stands for; NULL: none */
    PAWL_DELIVER_RECEIPT = 7,   /* name: the command's invocation id; outcome */
    PAWL_DELIVER_REOPEN = 8
} pawl_delivery_kind;

typedef struct pawl_delivery {
    uint64_t no;                /* out: given by the store, in order */
    const char *id;             /* chosen by who delivers: the same again is success */
    pawl_delivery_kind kind;
    const char *name;
    int outcome;                /* pawl_outcome of kernel.h */
    pawl_bytes value, update;   /* JSON text; {0}: none */
    const char *by, *note, *trace;
    int64_t at_ms;              /* out */
} pawl_delivery;

/* ---- what is asked ------------------------------------------------------------------------------------ */

typedef struct pawl_filter {    /* NULL, 0 or false: any */
    const char *machine, *context, *parent, *label;
    const char *begins;         /* runs whose ids begin with this; found along them, however many others there are */
    int status;                 /* 1 + pawl_status */
    bool waiting;               /* a wait is open */
    bool parked;
    bool held;                  /* somebody has claimed it, and not let go of it: his lease may have run out, or he may be dead */
    int64_t changed_since_ms;
    uint64_t before;            /* only runs with a smaller number: the last one of the page before */
    size_t limit;               /* 0: 50 */
} pawl_filter;

typedef enum pawl_line_kind { PAWL_LINE_BASE = 1, PAWL_LINE_SNAPSHOT = 2, PAWL_LINE_RECORD = 3, PAWL_LINE_ENTRY = 4 } pawl_line_kind;

typedef struct pawl_due { int64_t look_ms; uint64_t no; } pawl_due;     /* a place in the order of what is due: of a head */

/* Each returns false to stop. What they are given is lent for the call; they may not use the handle. */
typedef bool pawl_line_fn(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line);
typedef bool pawl_head_fn(void *ctx, const pawl_head *head);
typedef bool pawl_delivery_fn(void *ctx, const pawl_delivery *d);
typedef bool pawl_waiting_fn(void *ctx, const char *run, const pawl_waiting *w);
typedef bool pawl_mark_fn(void *ctx, const pawl_mark *mark);    /* its run, fence and rc are not set */

/* ---- the verbs ------------------------------------------------------------------------------------------ */

typedef struct pawl_store_verbs {
    const char *name;           /* "sqlite" */
    const char *sql;            /* whose connection pawl_within is given: "sqlite"; NULL: there is none, it is refused */
    void (*close)(pawl_store *s);
    int64_t (*now)(pawl_store *s);                      /* ms since the epoch, never back within a handle */
    /* A number that is another one after anybody has written anything; cheap. 0: cannot be said. */
    uint64_t (*version)(pawl_store *s);

    /* A run begins, with this base (a line of docs/INTERFACES.md, no newline). The same base again is success;
     * another one under that id PAWL_CONFLICT. */
    pawl_code (*create)(pawl_store *s, pawl_bytes base, pawl_err *err);
    /* Take each run for `ttl_ms`. PAWL_OK: its head, with a fresh fence and the true newest seq. PAWL_HELD: somebody has it, its
     * head says who and until when; the same owner never holds it against himself. PAWL_GONE: no such run. */
    pawl_code (*claim)(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err);
    pawl_code (*renew)(pawl_store *s, int64_t ttl_ms, pawl_hold *all, size_t n, pawl_err *err);     /* PAWL_FENCED */
    pawl_code (*release)(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err);   /* PAWL_FENCED; nothing is lost by it */
    /* Appends to many runs, made durable together; each answers for itself in its rc: PAWL_OK; PAWL_FENCED; PAWL_CONFLICT: seq
     * is not the newest; the newest entry again with the same bytes is success. One that is refused changes nothing and
     * hinders none. Returns PAWL_OK when all that are PAWL_OK are durable; else none of them is, and err says why. */
    pawl_code (*append)(pawl_store *s, pawl_append *all, size_t n, pawl_err *err);
    /* Count an attempt before it is dispatched (E13), say when the next one is due (E7), or take back one that never began; durable
     * together. PAWL_INVALID: a time before 1970. */
    pawl_code (*mark)(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err);
    pawl_code (*marks)(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err);

    /* Without a lease (E16). Durable on return. PAWL_OK also when that id was delivered before with the same bytes, taken or not;
     * PAWL_CONFLICT with other bytes; for an answer: the wait is over, and err tells the first answer; PAWL_INVALID: no such
     * wait was ever asked, or its schema or options refuse the value; PAWL_GONE: no such run. PAWL_LIMIT: too many wait. */
    pawl_code (*deliver)(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err);
    pawl_code (*deliveries)(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err);     /* not taken; in order */

    /* What loads a run: base, snapshot if there is one, then all after it. PAWL_GONE: no such run. */
    pawl_code (*load)(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err);
    /* Entries after `after` up to `upto` (0: all), each preceded by the records that it closes; records that no entry closes yet
     * come last. after 0 begins with the base. PAWL_GONE: no such run, or pruned. */
    pawl_code (*read)(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
    pawl_code (*blob)(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err);    /* kind 0 */
    pawl_code (*head)(pawl_store *s, const char *run, pawl_head *head, pawl_err *err);
    pawl_code (*list)(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err);   /* newest first */
    pawl_code (*waits)(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err);    /* open; run NULL: of all */
    /* Runs that somebody has to look at, in order of since when, then of their numbers: a timer is due at `now_ms`, a delivery
     * waits, or they were let go of with work to do, or not let go of and their lease ran out. Held and parked ones are left out.
     * At most `limit`, of those that come after `after` (NULL: all): so that many with which nobody here can do anything keep
     * nobody from the others. */
    pawl_code (*due)(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err);
    int64_t (*next_due)(pawl_store *s);                 /* the first timer of all; 0: none */

    /* The journal begins with this base at entry `seq` from now on; what is before it is gone (K10), a snapshot of `seq`, or one
     * that leans on what is gone, too: the base has that state. */
    pawl_code (*prune)(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err);
    pawl_code (*remove)(pawl_store *s, const char *run, uint64_t fence, pawl_err *err);  /* all of it; the id is free, fences go on */
    pawl_code (*check)(pawl_store *s, pawl_err *err);                           /* PAWL_CORRUPT says what is damaged */
    pawl_code (*backup)(pawl_store *s, const char *path, pawl_err *err);        /* while it is used; PAWL_INVALID: it has none */
    pawl_code (*vacuum)(pawl_store *s, pawl_err *err);                          /* give back what pruning left */
} pawl_store_verbs;

struct pawl_store { const pawl_store_verbs *verbs; };   /* first member of every store */

/* ---- the stores that are here ---------------------------------------------------------------------------- */

/* What a store writes may be packed or encrypted on its way (K5): the journal's lines, bases, snapshots, blobs, what waits ask and are
 * answered, of a delivery its value, update, note and who left it, and why a run is parked. In clear stay ids and names (of runs,
 * machines, contexts, commands, waits, signals, deliveries, who holds a run, the namespace), labels, statuses, counts, times, trace
 * contexts, and SHA-256 digests of bases, blobs and deliveries. No hash of a journal depends on it. A store without a file needs none.
 *
 * Both get all of `in`, and give the result by pawl_out_size; PAWL_OK, or a code below 0 and a word in err. What decode refuses is
 * PAWL_CORRUPT, unless it was PAWL_NOMEM. Called by the thread that uses the handle. */
typedef struct pawl_out pawl_out;
typedef struct pawl_codec {
    const char *id;             /* the codec and its key, such as "aes-gcm/2026-11": 1 to 64 printable ASCII characters. It stands in
                                 * each row, and what it stands for must never change */
    pawl_code (*encode)(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err);        /* NULL: it only reads */
    pawl_code (*decode)(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err);
    void *ctx;
} pawl_codec;
/* From now on the result has `size` bytes: these, with what was there as far as it goes. NULL: no memory, and it is as it was. */
PAWL_API void *pawl_out_size(pawl_out *out, size_t size);

/* Journals in memory, for as long as the process; one thread. NULL: no memory. */
PAWL_API pawl_store *pawl_store_memory(pawl_err *err);
/* Another handle on what `s`, a store in memory, has, in namespace `space` (NULL: ""). It is gone with its last handle; all of them
 * belong to one thread at a time. NULL: see err. */
PAWL_API pawl_store *pawl_store_memory_again(pawl_store *s, const char *space, pawl_err *err);

typedef struct pawl_sqlite {    /* NULL or 0: the default */
    const char *space;          /* the namespace; "" */
    bool normal;                /* synchronous NORMAL: the last commits may be lost with the machine's power, not with the process */
    int busy_ms;                /* how long to wait for another writer; 5000 */
    uint32_t signals_max;       /* deliveries that may wait for a run; 10000 */
    const pawl_codec *codecs;   /* the first that encodes is used for what is written, each for what has its id; what is there in clear
                                 * is read as it is. Copied; what they point to is lent for as long as the handle is open. A row of
                                 * another codec is PAWL_INVALID, which names it */
    size_t ncodecs;
} pawl_sqlite;

/* A SQLite file, made when it is not there. PAWL_IO, PAWL_CORRUPT: no such file can be; PAWL_INVALID: a newer Pawl's. */
PAWL_API pawl_store *pawl_store_sqlite(const char *path, const pawl_sqlite *options, pawl_err *err);

PAWL_API void pawl_store_free(pawl_store *s);
/* Remove runs that are over and were not to be kept, once the timer that their end was stored with has passed (G10): at most `limit` (0:
 * 1000); *n: how many went. Those that somebody holds, or that were begun again meanwhile, stay, and children are left to who drives
 * their parents. An engine removes what it ends, or finds due, by itself; this is for a store that nobody drives. A file gives their room to what is written
 * next, and to the disk with vacuum. */
PAWL_API pawl_code pawl_store_sweep(pawl_store *s, size_t limit, size_t *n, pawl_err *err);
/* The whole journal of `run` as docs/INTERFACES.md has it, base first; free() it. {0}: see err. */
PAWL_API pawl_bytes pawl_store_journal(pawl_store *s, const char *run, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
