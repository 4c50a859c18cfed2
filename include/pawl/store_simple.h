/* store_simple.h - a store of your own in three methods: put, get and list of opaque records (docs/STORES.md).
 *
 * pawl_store_simple makes a whole store of them: every verb of pawl/store_verbs.h, with leases, mailboxes, waits, snapshots, pruning. Each run has one
 * record that decides, its head. A write puts large data into records of their own first, and then replaces the head: that one compare-and-set makes all
 * of it valid, or none. Records that an interrupted write left behind are never read, and the verb vacuum removes them;
 * but a blob stays until its run is removed.
 *
 * What the methods promise each other, and nothing more:
 *   - a put replaces a record as a whole, or not at all: no get ever sees half of one;
 *   - of two puts that expect the same version one succeeds, in whatever processes they are (compare-and-set);
 *   - when a put has returned PAWL_OK, every later get and list sees it, and it survives a crash.
 *
 * pawl/store_test.h tests methods, and the store that stands on them. */
#ifndef PAWL_STORE_SIMPLE_H
#define PAWL_STORE_SIMPLE_H

#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAWL_KEY_BYTES_MAX = 220 };

/* Called by list for each key. Returns false to stop. It calls no method. */
typedef bool pawl_record_fn(void *ctx, const char *key, uint64_t version);

/* The methods. They block, and are called on the thread that uses the handle; when several handles on several threads share a `ctx`, the methods lock.
 *
 * A key has 1 to PAWL_KEY_BYTES_MAX characters of A-Z a-z 0-9 . _ - ~ and begins with a letter, so that it can be the name of a file or of an object. Case
 * counts. A version is a number above 0, below 2^63, that Pawl chooses and the store keeps with the record. A value is bytes, up to 1 GiB but mostly below
 * 32 KiB.
 *
 * Each returns PAWL_OK or a code below 0; what failed goes to err->text, one line without the key and the name of the store, which Pawl adds. It may stay
 * empty; `err` is never NULL. After any code but PAWL_OK and PAWL_INVALID a put may have happened or not (PAWL_CONFLICT: with a first try of
 * itself, which a client library repeated): Pawl reads the record to find out. */
typedef struct pawl_simple_methods {
    const char *name;           /* "folder": named in errors */
    /* Replaces the record under `key` if its version is `before` now, which is 0 when there is none; else PAWL_CONFLICT, and nothing changes. The record then
     * has `version` and the bytes of `value`, which are lent for the call. value.data NULL: the record is removed. */
    pawl_code (*put)(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err);
    /* Writes the record's bytes to the buffer of pawl_out_size(out, size), and its version. PAWL_GONE: there is no such record. */
    pawl_code (*get)(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err);
    /* Calls `fn` with the key of every record that begins with `prefix`, once each, in any order, and with its version, or 0 where it is not known without
     * reading the record: then a list of runs reads every head. A record that is put or removed meanwhile may be among them or not. */
    pawl_code (*list)(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err);
    int64_t (*now)(void *ctx);  /* ms since the epoch: the clock that all processes on this store share, for leases. NULL: that of the system */
    void (*close)(void *ctx);   /* the handle was closed. NULL: nothing is done */
} pawl_simple_methods;

typedef struct pawl_simple {    /* NULL or 0: the default */
    const char *space;          /* the namespace; "". At most 20 characters of A-Z a-z 0-9 . _ - */
    uint32_t signals_max;       /* deliveries in one mailbox; 0: 1000 */
} pawl_simple;

/* A store on these methods. `methods` is copied, `ctx` is lent until `close`; `options` may be NULL. Nothing is written before the first run begins. NULL: see
 * err: PAWL_INVALID: a method or the name is missing, or the namespace is none; PAWL_NOMEM; then `close` was not called.
 *
 * Compared with the store in SQLite: an append to many runs stores each by itself, so after an error some may be stored and others not; the verb
 * version returns 0 (polling costs a read); a list takes the keys of all runs, and reads the heads of those that it gives and of those that somebody works on;
 * pawl_within and backup are PAWL_INVALID. A record that is damaged is PAWL_CORRUPT, and err names it. */
PAWL_API pawl_store *pawl_store_simple(const pawl_simple_methods *methods, void *ctx, const pawl_simple *options, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
