/* step.h - feed and apply: the steps of a run, their bytes, replay and verify. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_STEP_H
#define PAWL_KERNEL_STEP_H

#include "pawl/kernel/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_event {
    pawl_event_kind kind;
    pawl_outcome outcome;         /* of a receipt */
    int64_t time_ms;              /* the machine's only clock; never goes back: an earlier one is taken as the last */
    const char *id;
    const char *name;
    const char *by;               /* who, for answers, updates, cancel, reopen; NULL: not said */
    const char *note;
    const char *value;            /* JSON text, lent for the call; NULL: none */
    size_t value_size;            /* 0: up to its NUL */
    const char *update;           /* with an answer or a reopen: an object of channels, JSON text (W7); with a receipt: what the command has
                                   * cost, {"calls","micros","tokens"}: what is left out cost what was reserved for it */
} pawl_event;

/* `alloc` may be NULL. One per thread is enough: each feed forgets what the last one said. NULL: no memory. */
PAWL_API pawl_step *pawl_step_new(const pawl_alloc *alloc);
PAWL_API void pawl_step_free(pawl_step *s);

/* Feed one event. Reads the state, leaves it as it was. Returns how the step came out: PAWL_OK (feed a
 * tick next), PENDING, INTERRUPTED, HALTED; IGNORED, and then there is nothing to store; or below
 * 0, and then nothing happened: the event was wrong, memory or the loader failed, or the machine
 * contradicts the journal (PAWL_CORRUPT: park the run). A node that fails is no error of feed: the run fails. */
PAWL_API PAWL_MUST_USE pawl_code pawl_feed(const pawl_machine *m, pawl_state *st, const pawl_event *ev,
                                           pawl_step *s, pawl_err *err);
/* Values whose canonical text has more than `limit` bytes stand apart from now on, in what is written down with `s`: entries,
 * snapshots and bases name them by the SHA-256 of that text (S5). 0, as at first: never. The state then needs a
 * loader that finds them, those of the last step too. A journal is verified with what stands apart in it, whatever the limit. */
PAWL_API void pawl_step_blobs(pawl_step *s, size_t limit);
/* What the last call with `s` set apart, one by one, each content once: store it with the entry, the snapshot or the base that names
 * it, unless it is there. `digest` (may be NULL): 64 hex digits. Lives in `s` until it is used again. {0} after the last. */
PAWL_API pawl_bytes pawl_step_blob(const pawl_step *s, size_t index, const char **digest);
/* What the last feed on `s` adds to the journal, and its bytes; NULL and {0} when there is nothing.
 * They live in `s` until it is used again. */
PAWL_API pawl_entry *pawl_step_entry(pawl_step *s);
PAWL_API pawl_bytes pawl_step_bytes(const pawl_step *s);

/* Fold: the only way in which a state changes. Needs no machine. The entry must be the next one
 * (its seq, the hash before it) or a record of the open superstep: else PAWL_CORRUPT. Whole or not at all. */
PAWL_API PAWL_MUST_USE pawl_code pawl_apply(pawl_state *st, pawl_entry *e, pawl_err *err);

/* pawl_feed and pawl_apply at once, at the cost of one: what pawl_feed returns, and the state has moved on. For who keeps no
 * journal, and for an owner, such as the engine, who drops the state when the entry cannot be stored, before anybody saw it (G9). */
PAWL_API PAWL_MUST_USE pawl_code pawl_advance(const pawl_machine *m, pawl_state *st, const pawl_event *ev, pawl_step *s,
                                              pawl_err *err);

/* ---- entries and task records as bytes (docs/INTERFACES.md) ---------------------------------------- */

/* Read one entry or task record back. `step` lends its memory: the entry lives until `step` is used
 * again. Damaged or unknown bytes are PAWL_CORRUPT and say where. */
PAWL_API PAWL_MUST_USE pawl_code pawl_entry_read(pawl_bytes bytes, pawl_step *step, pawl_entry **entry, pawl_err *err);
/* Put in what stands apart of an entry that was read: for who looks at its emissions and does not apply it. PAWL_IO: a blob cannot be
 * read now; what was not put in is null. */
PAWL_API PAWL_MUST_USE pawl_code pawl_entry_load(pawl_state *st, pawl_entry *e, pawl_err *err);
PAWL_API pawl_bytes pawl_entry_bytes(const pawl_entry *e);
PAWL_API bool pawl_entry_is_record(const pawl_entry *e);   /* a task record: no seq, no hash, no status */
PAWL_API uint64_t pawl_entry_seq(const pawl_entry *e);
PAWL_API int64_t pawl_entry_time_ms(const pawl_entry *e);
PAWL_API pawl_event_kind pawl_entry_kind(const pawl_entry *e);
PAWL_API pawl_status pawl_entry_status(const pawl_entry *e);
PAWL_API const char *pawl_entry_hash(const pawl_entry *e); /* 64 hex digits; "" of a record */
/* What the step tells its readers: (name, value) pairs; NULL after the last. `node` may be NULL. */
PAWL_API const pawl_value *pawl_entry_emission(const pawl_entry *e, size_t index, const char **name, const char **node);

/* ---- replay and verify (K5, K6) ----------------------------------------------------------------------- */

typedef struct pawl_verdict {
    uint64_t seq;                 /* the first entry where it shows; 0: the base */
    uint64_t entries, records;    /* how many were good before it */
    uint64_t folded;              /* of these: stretches of another machine, folded but not fed again */
} pawl_verdict;

/* Fold a whole journal: the base, then lines of entries and task records as they were stored, each ending in
 * a newline. Stops after entry `upto` (0: the last). A torn last line is dropped (K8). */
PAWL_API PAWL_MUST_USE pawl_code pawl_replay(pawl_bytes journal, uint64_t upto, const pawl_alloc *alloc,
                                             pawl_state **state, pawl_err *err);
/* The same for one with blobs, which `loader` finds; it is asked on by the state. NULL: it has none. */
PAWL_API PAWL_MUST_USE pawl_code pawl_replay_with(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc,
                                                  pawl_state **state, pawl_err *err);
/* Fold it and feed every event again to `m`, comparing every byte. PAWL_OK: all the same. PAWL_CORRUPT: changed
 * bytes, or a machine that now answers differently; `v` says where, err what. Stretches of other machines are folded and
 * counted; PAWL_CONFLICT: all of it is, nothing was fed. PAWL_GONE: a body is erased, or a blob gone; from it on only the chain of
 * entries is checked, and holds. */
PAWL_API PAWL_MUST_USE pawl_code pawl_verify(const pawl_machine *m, pawl_bytes journal, const pawl_alloc *alloc,
                                             pawl_verdict *v, pawl_err *err);
/* The same for one with blobs. PAWL_IO: one of them cannot be read now. */
PAWL_API PAWL_MUST_USE pawl_code pawl_verify_with(const pawl_machine *m, pawl_bytes journal, const pawl_loader *loader,
                                                  const pawl_alloc *alloc, pawl_verdict *v, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
