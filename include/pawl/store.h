/* store.h - where journals live: the stores that are here, in memory and in a SQLite file, and what is done with any of them.
 *
 * A handle belongs to one thread at a time; several handles, of several processes, may be open on one SQLite file. What a store does is
 * in pawl/store_verbs.h, for those who ask it directly or write one of their own. */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include "pawl/store_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

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
