/* run.h - a run: made, loaded, read, forked. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_RUN_H
#define PAWL_KERNEL_RUN_H

#include "pawl/kernel/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a run may spend, and all that it spawns with it (A8); 0: no bound. Before a call leaves, what it may cost is reserved, and refused when
 * that and what was used and reserved before is above a cap; its receipt settles it. */
typedef struct pawl_caps {
    int64_t tokens, calls;
    int64_t micros;             /* money: millionths of whatever unit */
    int64_t ms;                 /* from its start on; a call that would be made later is refused */
} pawl_caps;

typedef struct pawl_cost { int64_t tokens, micros, calls; } pawl_cost;

typedef struct pawl_run_info {  /* S7; whatever is 0 or NULL is not there */
    const char *id;             /* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */
    uint64_t life;              /* drawn at random by who starts it: 64 bits, not 0 */
    uint64_t seed;              /* for pawl_random; drawn likewise */
    int64_t created_ms;
    const char *created_by;
    const char *context;
    const char *parent;         /* the invocation id that spawned it */
    const char *mode;           /* rights of this run: plan, default, acceptEdits, bypassPermissions */
    const char *rights;
    const char *dedupe_key;
    const char *retention;
    const char *trace;          /* W3C trace context */
    int64_t deadline_ms;
    int32_t priority;
    const char *labels[16];
    pawl_caps budget;
} pawl_run_info;

/* Reading what is committed is no effect: one loader, given by the state's owner, may be
 * asked while a step is fed. What `entry` hands out lives until `entry` is called again, what `blob` does until `blob` is. */
typedef struct pawl_loader {
    /* The bytes of entry `seq` (seq >= 1) as pawl_entry_bytes gave them, and of the task records that
     * it closes, each followed by a newline, in the order they were stored. PAWL_GONE when pruned. */
    pawl_code (*entry)(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err);
    /* The bytes of the blob whose SHA-256 is `digest` (64 hex digits). */
    pawl_code (*blob)(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);
    void *ctx;
} pawl_loader;

typedef enum pawl_state_flags {
    PAWL_NO_JOURNAL = 1     /* keep no bytes and no hashes: for runs that need not outlive the process */
} pawl_state_flags;

/* A new run of `m`: state at its base, status submitted; feed PAWL_EV_START. The machine is
 * not kept. `alloc` may be NULL (malloc). PAWL_INVALID names what is wrong in `info`. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_new(const pawl_machine *m, const pawl_run_info *info, unsigned flags,
                                                const pawl_alloc *alloc, pawl_state **state, pawl_err *err);
/* The same from bytes: the base, and the latest snapshot or {0}. Feed it the tail with
 * pawl_apply. `loader` may be NULL when the snapshot has no references. PAWL_CORRUPT: damaged bytes. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_load(pawl_bytes base, pawl_bytes snapshot, const pawl_loader *loader,
                                                 const pawl_alloc *alloc, pawl_state **state, pawl_err *err);
PAWL_API void pawl_state_free(pawl_state *st);
PAWL_API void pawl_state_loader(pawl_state *st, const pawl_loader *loader); /* copied; NULL: none */

/* The bytes of the base: what a journal begins with. Live as long as the state. {0} with PAWL_NO_JOURNAL. */
PAWL_API pawl_bytes pawl_state_base(const pawl_state *st);
PAWL_API const char *pawl_state_run(const pawl_state *st);      /* "essay-1" */
PAWL_API uint64_t pawl_state_life(const pawl_state *st);
PAWL_API const char *pawl_state_machine(const pawl_state *st, uint32_t *version); /* its name */
/* Whether `m` is that machine, by name, version and hash; else it has to be adopted before it is fed (F5). */
PAWL_API bool pawl_state_under(const pawl_state *st, const pawl_machine *m);
PAWL_API uint64_t pawl_state_seq(const pawl_state *st);         /* of the newest entry; the base's at first */
PAWL_API int64_t pawl_state_time_ms(const pawl_state *st);      /* of the newest entry */
PAWL_API uint64_t pawl_state_turn(const pawl_state *st);        /* 1, 2, ... (G13) */
PAWL_API uint64_t pawl_state_steps(const pawl_state *st);       /* supersteps taken in this turn */
PAWL_API uint64_t pawl_state_ignored(const pawl_state *st);     /* events ignored since it was loaded */
PAWL_API pawl_status pawl_state_status(const pawl_state *st);
/* The record that it was begun with. Its texts live in `step` until it is used again, or as long as the state. PAWL_INVALID with
 * PAWL_NO_JOURNAL. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_info(const pawl_state *st, pawl_step *step, pawl_run_info *info, pawl_err *err);
/* What to do next: PAWL_OK feed a tick, PENDING, INTERRUPTED or HALTED. */
PAWL_API pawl_code pawl_state_next(const pawl_state *st);
typedef struct pawl_spent {
    pawl_caps caps;
    pawl_cost used;
    pawl_cost reserved;           /* for what is open, and for what was given up while it may have happened */
    int64_t since_ms;             /* when its time began; 0: it has not */
    bool overdraft;               /* a bill was above what was reserved for it: nothing leaves before its budget is changed */
} pawl_spent;
/* used + reserved are never above a cap, unless there was an overdraft. Caps are changed by an update of Pawl's own channel @budget, or by one that
 * comes with a reopen: {"@budget":{"calls":200}}; 0 takes a cap away. False: it has no budget. */
PAWL_API bool pawl_state_spent(const pawl_state *st, pawl_spent *spent);
/* Why a run failed, was rejected or missed its deadline, or will be when its inverses have run: {"code","text",..}; else NULL. */
PAWL_API const pawl_value *pawl_state_reason(const pawl_state *st);
/* The value of a channel, NULL when never written (or when loading failed: then the next feed
 * says why). Lent until the state changes. `channel` may be NULL: NULL. */
PAWL_API const pawl_value *pawl_state_get(pawl_state *st, const char *channel);
/* The value that an update has brought for it in the middle of a superstep, and that its end puts there; the newest, where several did.
 * NULL: none. Lent until the state changes. `channel` may be NULL: NULL. */
PAWL_API const pawl_value *pawl_state_coming(pawl_state *st, const char *channel);
/* All channels that have a value, as one object of canonical JSON text, for a person or a result.
 * Secrets appear by their name. The text lives in `step` until it is used again. NULL: see err. */
PAWL_API const char *pawl_state_json(pawl_state *st, pawl_step *step, pawl_err *err);
/* The tasks of the superstep that is next or open: "draft", or "worker:3", one by one; NULL after the last.
 * `at` (may be NULL) says how far it is: "ready", "open", "done", "failed". */
PAWL_API const char *pawl_state_task(const pawl_state *st, size_t index, const char **at);

/* The snapshot at this entry, to be stored as a cache; lives in `step` until it is used again. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_snapshot(pawl_state *st, pawl_step *step, pawl_bytes *bytes, pawl_err *err);
/* Whether the tail now outweighs the last snapshot, and one should be taken (K7). */
PAWL_API bool pawl_state_snapshot_due(const pawl_state *st);

/* A new run that starts from this state (K10): its base holds the folded channels and the tasks that
 * are next; open commands and waits are issued anew, nothing else is inherited. At any entry of
 * a run: load it, apply up to that entry, fork. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_fork(pawl_state *st, const pawl_run_info *info, pawl_step *step,
                                                 pawl_state **fork, pawl_err *err);
/* A new run of `m` in the context of `from` (G13, K10): channels that `m` declares with `keep` begin with what they are in `from`;
 * nothing else ties the two together. Feed it PAWL_EV_START. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_carry(pawl_state *from, const pawl_machine *m, const pawl_run_info *info,
                                                  pawl_step *step, pawl_state **state, pawl_err *err);
/* A base at the newest entry, of the same run, that names the hash before it: what a pruned journal
 * begins with. Lives in `step` until it is used again. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_prune(pawl_state *st, pawl_step *step, pawl_bytes *base, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
