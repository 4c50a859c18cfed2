/* step.h - feed and apply: the steps of a run, their bytes, replay and verify. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_STEP_H
#define PAWL_KERNEL_STEP_H

#include "pawl/kernel/command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An event. Which members a kind uses is in names.h; 0 or NULL: not given. All texts are lent for the call. */
typedef struct pawl_event {
    pawl_event_kind kind;
    pawl_outcome outcome;         /* of a receipt: how the command ended */
    int64_t time_ms;              /* ms since 1970: the only clock of the machine. One that is earlier than the newest entry's counts as that */
    const char *id;
    const char *name;
    const char *by;               /* who sends it, for the journal */
    const char *note;             /* why, for the journal */
    const char *value;            /* JSON text */
    size_t value_size;            /* bytes of value; 0: it ends in NUL */
    const char *update;           /* JSON text. Of an answer or a reopen: an object of channels to write with it (W7). Of a receipt: the cost of the
                                   * command, {"calls","micros","tokens"}; a member that is missing cost what was reserved for it */
} pawl_event;

/* Makes a step: the memory for the result of one call at a time. Each function that takes a step forgets what the last one left in it, so one step per
 * thread is enough. `alloc` may be NULL: malloc. NULL: no memory. */
PAWL_API pawl_step *pawl_step_new(const pawl_alloc *alloc);
PAWL_API void pawl_step_free(pawl_step *s);     /* NULL: does nothing */

/* Feeds one event to `m`, and leaves the result in `s`: an entry to store and then to apply. The state is read and not changed. Returns what comes after
 * the step: PAWL_OK (feed a tick), PAWL_PENDING (commands are open), PAWL_INTERRUPTED (only waits are open), PAWL_HALTED (the run has ended); or
 * PAWL_IGNORED: the event does not apply, and there is nothing to store. Below 0 nothing happened: PAWL_INVALID, the event is wrong; PAWL_CONFLICT, the
 * run is of another machine, or of another version or hash and must adopt `m` first (PAWL_EV_ADOPT); PAWL_LIMIT; PAWL_NOMEM; a code of the loader; or
 * PAWL_CORRUPT, the machine contradicts the journal. A node that fails is no error of this call: the step then says that the run failed. */
PAWL_API PAWL_MUST_USE pawl_code pawl_feed(const pawl_machine *m, pawl_state *st, const pawl_event *ev,
                                           pawl_step *s, pawl_err *err);
/* Sets the limit above which values become blobs (S5): entries, snapshots and bases that are written with `s` contain the SHA-256 of the canonical text
 * of such a value instead of the value, if that text has more than `limit` bytes. 0, as at first: no blobs. With blobs a state needs a loader that finds
 * them, those of the last step included. The limit is not stored; pawl_verify uses the blobs of the journal. NULL `s`: does nothing. */
PAWL_API void pawl_step_blobs(pawl_step *s, size_t limit);
/* The blob of number `index` that the last call with `s` made, each content once; {0} after the last. Store it together with the entry, snapshot or base,
 * unless the run has that blob already. *digest (may be NULL): 64 hex digits. Both are valid until `s` is used again. */
PAWL_API pawl_bytes pawl_step_blob(const pawl_step *s, size_t index, const char **digest);
/* The entry or task record of the last feed on `s`, and its bytes, which are what to store, without a newline. NULL and {0} when it made none: the event
 * was ignored or refused. With PAWL_STATE_NO_JOURNAL the bytes are {0}. Both are valid until `s` is used again. */
PAWL_API pawl_entry *pawl_step_entry(pawl_step *s);
PAWL_API pawl_bytes pawl_step_bytes(const pawl_step *s);

/* Folds an entry into the state: the only way in which a state changes (K6). No machine is needed. PAWL_CORRUPT: the entry is not the next one (by its
 * seq and the hash before it), and not a task record of the open superstep. PAWL_NOMEM, or a code of the loader. On failure the state is unchanged. */
PAWL_API PAWL_MUST_USE pawl_code pawl_apply(pawl_state *st, pawl_entry *e, pawl_err *err);

/* pawl_feed and pawl_apply in one call, at the cost of one. Returns what pawl_feed returns. The state is then one entry ahead of the store: if the entry
 * cannot be stored, the caller must free the state and load it again, before anybody saw it (G9). The engine does so. */
PAWL_API PAWL_MUST_USE pawl_code pawl_advance(const pawl_machine *m, pawl_state *st, const pawl_event *ev, pawl_step *s,
                                              pawl_err *err);

/* ---- entries and task records as bytes (docs/INTERFACES.md) ---------------------------------------- */

/* Reads an entry or task record from its bytes, which are copied. *entry is owned by `step`, and valid until `step` is used again. PAWL_CORRUPT: the bytes
 * are damaged or unknown, and err says where; PAWL_LIMIT: they are too many; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_entry_read(pawl_bytes bytes, pawl_step *step, pawl_entry **entry, pawl_err *err);
/* Loads the blobs of an entry that was read, by the loader of `st`, so that pawl_entry_emission returns whole values. For callers that do not apply the
 * entry; pawl_apply does it itself. PAWL_IO and other codes of the loader: a blob cannot be read; its value is null. PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_entry_load(pawl_state *st, pawl_entry *e, pawl_err *err);
/* Getters; what they return is valid as long as the entry. Of a task record the seq is 0. */
PAWL_API pawl_bytes pawl_entry_bytes(const pawl_entry *e);
PAWL_API bool pawl_entry_is_record(const pawl_entry *e);   /* a task record: no seq, no hash, no status */
PAWL_API uint64_t pawl_entry_seq(const pawl_entry *e);
PAWL_API int64_t pawl_entry_time_ms(const pawl_entry *e);
PAWL_API pawl_event_kind pawl_entry_kind(const pawl_entry *e);
PAWL_API pawl_status pawl_entry_status(const pawl_entry *e);
PAWL_API const char *pawl_entry_hash(const pawl_entry *e); /* 64 hex digits; "" of a record */
/* The value of emission `index` of the entry (pawl_emit), its name and the task that emitted it ("": the run itself); NULL after the last. `name` and
 * `node` may be NULL. */
PAWL_API const pawl_value *pawl_entry_emission(const pawl_entry *e, size_t index, const char **name, const char **node);

/* ---- replay and verify (K5, K6) ----------------------------------------------------------------------- */

/* How far a verification came. */
typedef struct pawl_verdict {
    uint64_t seq;                 /* when it failed: the first entry that is wrong; 0: the base */
    uint64_t entries, records;    /* how many were good, or before that entry */
    uint64_t folded;              /* how many of these are of another machine: folded, and not fed to `m` */
} pawl_verdict;

/* Folds a journal to a state, without a machine. `journal`: the base, then entries and task records in the order in which they were stored, each line
 * ending in a newline; a last line without one is dropped (K8). Stops after entry `upto`; 0: folds all. *state is to be freed. PAWL_CORRUPT: a line is
 * damaged or in the wrong place; PAWL_GONE: there is no entry `upto`, or it was pruned; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_replay(pawl_bytes journal, uint64_t upto, const pawl_alloc *alloc,
                                             pawl_state **state, pawl_err *err);
/* The same for a journal with blobs. `loader` is copied into the state, which goes on using it; NULL: there are none. */
PAWL_API PAWL_MUST_USE pawl_code pawl_replay_with(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc,
                                                  pawl_state **state, pawl_err *err);
/* Folds a journal, feeds every event to `m` again and compares every byte of the result. PAWL_OK: all are the same. PAWL_CORRUPT: bytes were changed, or
 * the machine now answers differently; *v says where, err what. Parts of another machine (before an adoption) are folded and counted; PAWL_CONFLICT: all
 * of the journal is of another machine. PAWL_GONE: a body was erased, or a blob is missing; after it only the hash chain is checked, and is intact.
 * PAWL_INVALID: `m` or `v` is NULL. */
PAWL_API PAWL_MUST_USE pawl_code pawl_verify(const pawl_machine *m, pawl_bytes journal, const pawl_alloc *alloc,
                                             pawl_verdict *v, pawl_err *err);
/* The same for a journal with blobs. PAWL_IO: a blob cannot be read now. */
PAWL_API PAWL_MUST_USE pawl_code pawl_verify_with(const pawl_machine *m, pawl_bytes journal, const pawl_loader *loader,
                                                  const pawl_alloc *alloc, pawl_verdict *v, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
