/* store.h - opens stores of journals, in memory and in a SQLite file, and what works on any of them.
 *
 * A handle belongs to one thread at a time; several handles, of several processes, may be open on one SQLite file. The interface of a store is in
 * pawl/store_verbs.h, for callers that use it directly and for stores of your own. */
#ifndef PAWL_STORE_H
#define PAWL_STORE_H

#include "pawl/store_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A codec compresses or encrypts the values of a SQLite store (K5): journal lines, bases, snapshots, blobs, specs and answers of waits, value, update,
 * note and author of deliveries, and the reason why a run is parked. Not encoded: ids and names (of runs, machines, contexts, commands, waits, signals,
 * deliveries, lease owners, the namespace), labels, statuses, counts, times, trace contexts, and SHA-256 digests of bases, blobs and deliveries. No hash
 * of a journal depends on a codec.
 *
 * Both functions get the whole value in `in`, and write the result to the buffer of pawl_out_size; PAWL_OK, or a code below 0 with a text in err. A
 * failed decode is PAWL_CORRUPT, unless it is PAWL_NOMEM. Called on the thread that uses the handle. */
typedef struct pawl_out pawl_out;
typedef struct pawl_codec {
    const char *id;             /* the codec and its key, such as "aes-gcm/2026-11": 1 to 64 printable ASCII characters. It is stored in
                                 * each row, so its meaning must never change */
    pawl_code (*encode)(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err);        /* NULL: for reading only */
    pawl_code (*decode)(void *ctx, pawl_bytes in, pawl_out *out, pawl_err *err);
    void *ctx;
} pawl_codec;
/* Sets the size of the result and returns its buffer, with earlier bytes up to that size. Lent until the next call. NULL: no memory, and unchanged. */
PAWL_API void *pawl_out_size(pawl_out *out, size_t size);

/* A store in memory, for one thread. Free it with pawl_store_free. NULL: no memory. */
PAWL_API pawl_store *pawl_store_memory(pawl_err *err);
/* Another handle on the store in memory of `s`, in namespace `space` (NULL: ""). The store is freed with its last handle; all of them belong to one
 * thread at a time. NULL: see err. */
PAWL_API pawl_store *pawl_store_memory_again(pawl_store *s, const char *space, pawl_err *err);

typedef struct pawl_sqlite {    /* NULL or 0: the default */
    const char *space;          /* the namespace; "" */
    bool normal;                /* synchronous NORMAL: a power failure may lose the last commits; a crash of the process does not */
    int busy_ms;                /* how long to wait for another writer; 0: 5000 */
    uint32_t signals_max;       /* deliveries in one mailbox; 0: 10000 */
    const pawl_codec *codecs;   /* the first with `encode` writes; each reads values of its id; plain values are read as they are. The array is
                                 * copied, what it points to is lent as long as the handle is open. A value of another codec is PAWL_INVALID,
                                 * and err names the codec */
    size_t ncodecs;
    bool read_only;             /* nothing is created, upgraded or written; the file must exist */
} pawl_sqlite;

/* Opens a SQLite file, and creates it when it does not exist; `options` may be NULL. NULL: see err: PAWL_IO, PAWL_CORRUPT: the file cannot be opened;
 * PAWL_INVALID: another program's, or of a newer Pawl. A new file can be read by its owner alone. */
PAWL_API pawl_store *pawl_store_sqlite(const char *path, const pawl_sqlite *options, pawl_err *err);

/* Moves a SQLite file that nobody has open: it is copied to `to`, which must not exist, the copy is checked, and the file is removed with all that lies
 * beside it. PAWL_HELD: a process has it open; PAWL_INVALID, PAWL_IO, PAWL_CORRUPT. Whatever the error, the file is as before, and `to` is not there. */
PAWL_API pawl_code pawl_store_sqlite_move(const char *from, const char *to, pawl_err *err);

PAWL_API void pawl_store_free(pawl_store *s);                      /* closes the handle; may be NULL */
/* Removes finished runs whose retention has passed (G10): at most `limit` (0: 1000); *n (may be NULL): how many. Runs that are held or were created
 * again stay, and children are removed by the engine that drives their parents. Engines sweep by themselves; this is for a store without workers. The
 * space is reused by later writes, and freed by the verb vacuum. */
PAWL_API pawl_code pawl_store_sweep(pawl_store *s, size_t limit, size_t *n, pawl_err *err);
/* The whole journal of `run` (docs/INTERFACES.md), base first; free() its data. {0}: see err. */
PAWL_API pawl_bytes pawl_store_journal(pawl_store *s, const char *run, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
