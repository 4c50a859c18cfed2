/* history.h - reads stored runs: entries, the state at any entry, verification, replay against another machine, where two runs diverge; export and import.
 *
 * Reads through a handle of the store, without a lease and without changes, so other engines may drive the run meanwhile; only an import writes. The
 * handle belongs to one thread at a time (pawl_engine_store lends the engine's: use it while the engine is not called). */
#ifndef PAWL_HISTORY_H
#define PAWL_HISTORY_H

#include "pawl/engine.h"
#include "pawl/kernel.h"
#include "pawl/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- states and entries (G8) --------------------------------------------------------------------------- */

/* The state of `run` after entry `seq`, folded from its base; 0: the newest, with the task records of the open superstep. Free it with
 * pawl_state_free(). PAWL_GONE: no such run or entry, or it was pruned; PAWL_CORRUPT: the journal is damaged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_state(pawl_store *s, const char *run, uint64_t seq, pawl_state **state, pawl_err *err);

/* `seq`: the entry's; of a task record, the number of the entry that closes it. `entry` is lent for the call, for the getters of
 * kernel.h. It may not use the handle. False: stop. */
typedef bool pawl_history_fn(void *ctx, uint64_t seq, const pawl_entry *entry);
/* Calls `fn` with the entries after `after` (0: from the first) up to `upto` (0: all), each after the task records that it closes; records that no entry
 * closes yet come last. PAWL_GONE: no such run, or pruned. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_walk(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_history_fn *fn,
                                                   void *ctx, pawl_err *err);

/* ---- where two runs diverge (G8) ------------------------------------------------------------------------ */

typedef struct pawl_diff_side {
    uint64_t seq;               /* of the first entry without an equal in the other run; 0: none, this run is behind */
    char of[129];               /* the run of that entry: itself, or the run that it was forked from */
    char fact[252];             /* the item that differs (docs/INTERFACES.md), without times and numbers, cut; "": it only has fewer items */
    uint64_t newest;            /* its newest entry */
    pawl_status status;         /* at that entry */
} pawl_diff_side;
typedef struct pawl_diff {
    bool same;                  /* no difference */
    size_t channels;            /* how many channels differ */
    pawl_diff_side a, b;
} pawl_diff;
typedef enum pawl_diff_at { PAWL_DIFF_AT_END = 0, PAWL_DIFF_AT_PARTING = 1 } pawl_diff_at;
/* A channel with different values; NULL: no value. Lent for the call. False: stop. */
typedef bool pawl_channel_diff_fn(void *ctx, const char *channel, const pawl_value *a, const pawl_value *b);

/* Compares inputs, commands, writes and results of two runs; not ids, lives, times, hashes, nor the order of answers within a superstep. A fork begins
 * with the journal of its origin. Then compares their channels, at the end or after the diverging entries (`at`). `fn` and `out` may be NULL.
 * PAWL_GONE: no such run, or one was pruned where the other was not. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_diff(pawl_store *s, const char *a, const char *b, pawl_diff_at at, pawl_channel_diff_fn *fn,
                                                   void *ctx, pawl_diff *out, pawl_err *err);

/* ---- verification (K5, F5) --------------------------------------------------------------------------- */

/* Folds the whole journal and feeds every event to `m` again, as pawl_verify, whose codes it returns; `m` NULL: only folds (v->folded counts all).
 * PAWL_CORRUPT also when entries are missing, or the snapshot, an open wait, the head or the mailbox is damaged or differs from the journal. PAWL_GONE:
 * no such run, or an erased body. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_verify(pawl_store *s, const pawl_machine *m, const char *run, pawl_verdict *v, pawl_err *err);

/* ---- anchored heads (P12) ------------------------------------------------------------------------------ */

enum { PAWL_ANCHOR_LINE_BYTES = 4096 };
/* The head of `run` now, as pawl_engine_anchor gives it, for what removes or prunes a run without an engine. Its `run` is `run`, it has no retention. The
 * journal is folded. PAWL_GONE: no such run; PAWL_CORRUPT: the journal is damaged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_anchor_of(pawl_store *s, const char *run, pawl_anchor *out, pawl_err *err);
/* One line of an anchor file (docs/INTERFACES.md), with its newline and a NUL. `store`: as pawl_anchor_fn gets it. PAWL_INVALID: a name that no store or
 * run has; PAWL_LIMIT: it has no room. */
PAWL_API PAWL_MUST_USE pawl_code pawl_anchor_line(const char *store, const pawl_anchor *head, int64_t at_ms, char out[PAWL_ANCHOR_LINE_BYTES],
                                                  pawl_err *err);

typedef enum pawl_anchor_fault {
    PAWL_ANCHOR_CUT = 1,        /* the journal ends before the anchored head */
    PAWL_ANCHOR_REWRITTEN,      /* it has another entry there, or other task records after it */
    PAWL_ANCHOR_MISSING,        /* there is no such run, and neither its retention nor a person has removed it */
    PAWL_ANCHOR_PRUNED,         /* it begins after the newest anchored head, so it cannot be compared with that */
    PAWL_ANCHOR_DAMAGED,        /* its chain of hashes is broken */
    PAWL_ANCHOR_NONSENSE,       /* a line is no anchor */
    PAWL_ANCHOR_FOREIGN         /* there are anchors, and runs, but no anchor of this store */
} pawl_anchor_fault;
/* "cut", "rewritten", "missing", "pruned", "damaged", "nonsense", "foreign". */
PAWL_API const char *pawl_anchor_fault_name(pawl_anchor_fault fault);
typedef struct pawl_anchor_finding {    /* lent for the call */
    pawl_anchor_fault fault;
    const char *run;            /* NULL: of a line, or of the whole */
    uint64_t line;              /* the first line that shows it; 0: of the whole */
    uint64_t lines;             /* how many lines of the run show it */
    uint64_t seq;               /* the entry that line names */
    uint64_t newest;            /* the newest entry of the run now; 0: there is no run */
    int64_t at_ms;              /* when that line was written; 0: unknown */
    const char *text;           /* one line for people */
} pawl_anchor_finding;
typedef void pawl_anchor_finding_fn(void *ctx, const pawl_anchor_finding *f);   /* it may not use the handle */
typedef struct pawl_anchored {
    uint64_t lines;             /* anchors that were read, of this store */
    uint64_t others;            /* of other stores */
    uint64_t torn;              /* lines that were cut off, as by a crash: no findings */
    size_t runs;                /* runs that have an anchor */
    size_t good;                /* of these, runs whose journals agree with all their anchors */
    size_t removed;             /* that their retention or a person has removed */
    size_t ahead;               /* good ones that have entries after their newest anchor */
    size_t unanchored;          /* runs of the store without an anchor */
    size_t findings;
    bool rolled_back;           /* the findings are those of an older copy of the store: nothing after line `since` is in it */
    uint64_t since;
    int64_t since_ms;           /* when that line was written */
} pawl_anchored;
/* The next piece of a file, lent until the next call; size 0: the end. False: a read error. */
typedef bool pawl_source_fn(void *ctx, pawl_bytes *piece);
/* Compares the runs of the store with the anchors that `source` gives: each anchored head must be the hash of that entry, computed along its chain. `run`:
 * this one only; NULL: all. What a journal says besides is checked by pawl_history_verify. Findings are no failure; `fn` may be NULL. PAWL_IO: `source`
 * failed; PAWL_LIMIT: more than 2^31 anchors; PAWL_NOMEM; a code of the store. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_anchored(pawl_store *s, const char *run, pawl_source_fn *source, void *ctx, pawl_anchor_finding_fn *fn,
                                                       void *fn_ctx, pawl_anchored *sum, pawl_err *err);

typedef struct pawl_divergence {    /* lent for the call */
    const char *run;
    uint64_t seq;               /* the first entry that differs; for a task record, the entry that closes it */
    pawl_bytes journaled;       /* the stored line; {0}: the machine cannot adopt the run, or the journal cannot be read */
    pawl_bytes says;            /* the line of the machine in its place; {0}: none */
    pawl_code code;             /* PAWL_CORRUPT: the lines differ; PAWL_INVALID: a channel is declared otherwise; any other code below 0: the journal
                                 * cannot be replayed, and `text` says why */
    const char *text;           /* one line for people */
} pawl_divergence;
typedef bool pawl_divergence_fn(void *ctx, const pawl_divergence *d);   /* false: stop. It may use the handle */

typedef struct pawl_against { size_t runs, same, diverged, unread; } pawl_against;  /* counts of the replayed runs */

/* Replays runs against `m` before it is deployed, and reports the first divergence of each (F5). Every entry since the last adoption is fed to `m`,
 * whatever machine wrote it. `run`: this one; NULL: all runs of the machine's name that pass `which` (without its `machine`, `before` and `limit`), by
 * default all that have not ended. A divergence is not a failure; `fn` and `sum` may be NULL. PAWL_CONFLICT: `run` is of another machine; PAWL_GONE: no
 * such run. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_against(pawl_store *s, const pawl_machine *m, const char *run, const pawl_filter *which,
                                                      pawl_divergence_fn *fn, void *ctx, pawl_against *sum, pawl_err *err);

/* ---- a run as a file --------------------------------------------------------------------------------- */

/* One line with its newline, lent for the call. False: the sink failed. It may use the handle. */
typedef bool pawl_sink_fn(void *ctx, pawl_bytes line);
/* Exports `run` as JSON lines (docs/INTERFACES.md): its journal byte for byte, and its blobs, attempt counts and mailbox. The journal is folded before
 * anything is written. PAWL_GONE: no such run, or an erased body; PAWL_CORRUPT: the journal is damaged; PAWL_IO: `sink` failed; PAWL_CONFLICT: the run is
 * an unfinished import; PAWL_TRANSIENT: it changed all the while; PAWL_LIMIT: more than 2 GiB (EXPORT_BYTES_MAX). */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err);

#ifndef PAWL_NO_BUILTIN_EFFECTS
/* Writes the answers of `effect` ("llm") and of effects named EFFECT-... ("prompt-1f2e3d4c") in `run`, in the order of its journal, as a record for
 * pawl_llm_record_open: a test can replay them without a model. PAWL_GONE, PAWL_CORRUPT and PAWL_IO as above. */
PAWL_API PAWL_MUST_USE pawl_code pawl_llm_recording_of_run(pawl_store *s, const char *run, const char *effect, pawl_sink_fn *sink, void *ctx,
                                                           pawl_err *err);
#endif

/* Creates the exported run in this store. It continues as the original would: waits are open, attempts stay counted, a started command of class once has
 * an unknown outcome; only one of the two should be continued. Children are runs of their own: import them first. Everything is read and folded first,
 * and verified with `m` when it is not NULL (PAWL_CONFLICT: of another machine). A refused import creates nothing, and err has the line number:
 * PAWL_CORRUPT: damaged or cut; PAWL_INVALID: a newer format, or not an export; PAWL_LIMIT: too large; PAWL_CONFLICT: the run exists. The id cannot be
 * changed: it is part of every hash. A crash in between leaves nothing, or a parked run without entries that says why: the same import again
 * completes it. PAWL_HELD: another process is importing it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_history_import(pawl_store *s, pawl_bytes lines, const pawl_machine *m, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_history_import_from(pawl_store *s, pawl_source_fn *source, void *ctx, const pawl_machine *m, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
