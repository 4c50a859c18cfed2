/* history.h - what a run was: its entries, its state at any of them, whether its journal is right, what another machine
 * would have said, where two runs part; and a run as a file.
 *
 * Only what is stored is looked at, through a handle of the store. Nothing is held and nothing changed by it, so it may be done
 * while somebody works on the run; only an import writes. The handle belongs to one thread at a time (pawl_engine_store gives an
 * engine's own: use it while the engine is not called). */
#ifndef PAWL_HISTORY_H
#define PAWL_HISTORY_H

#include "pawl/kernel.h"
#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- looking back (G8) --------------------------------------------------------------------------- */

/* The state of `run` after entry `seq`, folded from its base; 0: as it stands now, task records of the open superstep with it.
 * It is the caller's: pawl_state_free(). PAWL_GONE: no such run or entry, or it was pruned; PAWL_CORRUPT: the journal is damaged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_state(pawl_store *s, const char *run, uint64_t seq, pawl_state **state, pawl_err *err);

/* `seq`: the entry's; of a task record, the number of the entry that closes it. `entry` is lent for the call, for the getters of
 * kernel.h. It may not use the handle. False: enough. */
typedef bool pawl_history_fn(void *ctx, uint64_t seq, const pawl_entry *entry);
/* The entries after `after` (0: from where the journal begins) up to `upto` (0: all), each after the task records that it closes; those
 * that no entry closes yet come last. PAWL_GONE: no such run, or it was pruned there. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_walk(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_history_fn *fn,
                                                   void *ctx, pawl_err *err);

/* ---- where two runs part (G8) ------------------------------------------------------------------------ */

typedef struct pawl_diff_side {
    uint64_t seq;               /* of the first entry that the other run has no like of; 0: this one has come no further */
    char of[129];               /* whose entry that is: its own, or that of the run that it was forked from */
    char fact[252];             /* what it says: an item of docs/INTERFACES.md without times and numbers; cut; "": it only says less */
    uint64_t newest;            /* its newest entry */
    pawl_status status;         /* there */
} pawl_diff_side;
typedef struct pawl_diff {
    bool same;                  /* all that one says the other says too */
    size_t channels;            /* how many of them are other ones */
    pawl_diff_side a, b;
} pawl_diff;
typedef enum pawl_diff_at { PAWL_AT_END = 0, PAWL_AT_PARTING = 1 } pawl_diff_at;
/* A channel of the run that has another value in `b`; NULL: it has none. Lent for the call. False: enough. */
typedef bool pawl_channel_diff_fn(void *ctx, const char *channel, const pawl_value *a, const pawl_value *b);

/* Compare what came in, what was asked, what was written and how it ended; not ids, lives, times, hashes, nor in which order answers came
 * within a superstep. A fork begins with what it was forked from; runs that have nothing to do with each other begin each with its
 * start. Then their channels as they stand now, or after the entries at which they part. `fn` and `out` may be NULL.
 * PAWL_GONE: no such run, or one was pruned where the other was not. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_diff(pawl_store *s, const char *a, const char *b, pawl_diff_at at, pawl_channel_diff_fn *fn,
                                                   void *ctx, pawl_diff *out, pawl_err *err);

/* ---- is it right? (K5, F5) --------------------------------------------------------------------------- */

/* Fold the whole journal and feed every event again to `m`, as pawl_verify does, whose codes it returns; `m` NULL: fold it only, then
 * v->folded counts all. PAWL_CORRUPT also when the store knows of entries that are not there, or has a snapshot that is damaged or is another
 * state than the journal's. PAWL_GONE: no such run, or an erased body. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_verify(pawl_store *s, const pawl_machine *m, const char *run, pawl_verdict *v, pawl_err *err);

typedef struct pawl_divergence {    /* lent for the call */
    const char *run;
    uint64_t seq;               /* the entry where it shows; of a task record, the one that closes it */
    pawl_bytes journaled;       /* the line that stands there; {0}: the machine could not take the run over, or it cannot be read */
    pawl_bytes says;            /* the line that the machine says instead; {0}: none */
    pawl_code code;             /* PAWL_CORRUPT: it says something else; PAWL_INVALID: a channel of its is another one in the run;
                                 * another one below 0: the journal itself cannot be replayed, `text` says why */
    const char *text;           /* all of it in one line */
} pawl_divergence;
typedef bool pawl_divergence_fn(void *ctx, const pawl_divergence *d);   /* false: enough. It may use the handle */

typedef struct pawl_against { size_t runs, same, diverged, unread; } pawl_against;  /* how many were replayed, and came out so */

/* Which runs would `m` have driven elsewhere, and where first: before it is deployed (F5). Every entry since a run's last adoption
 * is fed to `m`, whatever machine wrote it. `run`: this one; NULL: all runs of the machine's name that pass `which` (its `machine`,
 * `before` and `limit` do not count), by default all that are not over. A divergence is told, and is no failure; `fn` and `sum` may
 * be NULL. PAWL_CONFLICT: `run` is another machine's; PAWL_GONE: there is none. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_against(pawl_store *s, const pawl_machine *m, const char *run, const pawl_filter *which,
                                                      pawl_divergence_fn *fn, void *ctx, pawl_against *sum, pawl_err *err);

/* ---- a run as a file --------------------------------------------------------------------------------- */

/* One line with its newline. False: no more can be taken. It may use the handle. */
typedef bool pawl_sink_fn(void *ctx, pawl_bytes line);
/* Write `run` as JSON lines (docs/INTERFACES.md): its journal byte for byte, and what the store has beside it: blobs, counted
 * attempts, deliveries not taken yet. It is folded before anything is told. PAWL_GONE: no such run, or an erased body; PAWL_CORRUPT:
 * the journal is damaged; PAWL_IO: `sink` said no; PAWL_CONFLICT: it is half imported itself; PAWL_TRANSIENT: it moved on all the
 * while; PAWL_LIMIT: more than 2 GiB (EXPORT_BYTES_MAX). */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err);

/* What handlers of `effect` ("llm"), and of those whose name goes on behind it with a dash ("prompt-1f2e3d4c" of "prompt"), have answered in `run`,
 * in the order of its journal, as the lines of a record that pawl_llm_record_open reads: so that a test asks what was asked then, and
 * nobody answers. PAWL_GONE, PAWL_CORRUPT and PAWL_IO as above. */
PAWL_API PAWL_MUST_USE pawl_code pawl_llm_recording_of_run(pawl_store *s, const char *run, const char *effect, pawl_sink_fn *sink, void *ctx,
                                                           pawl_err *err);

/* Make the run of an export in this store. It goes on as the original would have: waits are open, attempts stay counted, a command of
 * class once that was begun is unknown, and only one of the two should. Its children are runs of their own: carry them first. All of
 * it is read and folded first, and fed again to `m` when it is not NULL (PAWL_CONFLICT: it is another machine's); what is refused has
 * made nothing, and err has the line's number: PAWL_CORRUPT: damaged, or cut anywhere; PAWL_INVALID: a higher format, or no export;
 * PAWL_LIMIT: too large. PAWL_CONFLICT: there is such a run. Its id cannot be another one: it is in every hash of the chain. Killed in
 * between, or left by the store, it leaves nothing, or a run without entries that nobody takes up and that says why: the same import
 * again completes it. PAWL_HELD: somebody else is at it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_import(pawl_store *s, pawl_bytes lines, const pawl_machine *m, pawl_err *err);
/* The next piece of it, lent until the next call; of size 0 at its end. False: it cannot be read. */
typedef bool pawl_source_fn(void *ctx, pawl_bytes *piece);
PAWL_API PAWL_MUST_USE pawl_code pawl_history_import_from(pawl_store *s, pawl_source_fn *source, void *ctx, const pawl_machine *m, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
