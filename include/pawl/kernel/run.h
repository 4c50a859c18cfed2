/* run.h - the state of a run: how to create, load, read, snapshot, fork and prune it. Included by pawl/kernel.h. */
#ifndef PAWL_KERNEL_RUN_H
#define PAWL_KERNEL_RUN_H

#include "pawl/kernel/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The budget of a run and of all its child runs together (A8); 0: no limit. A call reserves the most that it may cost before it is made, and is refused
 * when this and what is used and reserved already would exceed a limit. Its receipt replaces the reservation by the real cost. */
typedef struct pawl_caps {
    int64_t tokens, calls;
    int64_t micros;             /* money: millionths of a unit of your choice */
    int64_t ms;                 /* time since its start; a call that would be made later is refused */
} pawl_caps;

typedef struct pawl_cost { int64_t tokens, micros, calls; } pawl_cost;

typedef struct pawl_run_info {  /* the record with which a run is created (S7); 0 or NULL: not given */
    const char *id;             /* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */
    uint64_t life;              /* 64 random bits, not 0, drawn by the caller: a run that is created again under this id has another life */
    uint64_t seed;              /* 64 random bits for pawl_random, drawn by the caller */
    int64_t created_ms;         /* ms since 1970 */
    const char *created_by;     /* who; kept, not read */
    const char *context;        /* groups runs that belong together, such as the turns of a conversation */
    const char *parent;         /* of a child run: the invocation id of the command that spawned it */
    const char *mode;           /* of permissions: plan, default, acceptEdits, bypassPermissions; an engine puts it into the start of the run */
    const char *rights;         /* the highest mode that the run and its children may ever have; enforced by an engine */
    const char *dedupe_key;     /* this and the next two: see pawl_run_with (engine.h); the kernel only stores them */
    const char *retention;
    const char *trace;          /* W3C trace context */
    int64_t deadline_ms;        /* ms since 1970 */
    int32_t priority;           /* kept, not read */
    const char *labels[16];     /* for lists of runs (pawl_filter) */
    pawl_caps budget;
} pawl_run_info;

/* Reads stored bytes for a state: of old entries, and of blobs. The owner of the state provides it; the kernel calls it on the owner's thread, also during
 * a feed, because reading what is stored is no effect. Bytes from `entry` must stay valid until `entry` is called again, those from `blob` until `blob`
 * is. Both return PAWL_OK, or a code below 0 with a text in err. */
typedef struct pawl_loader {
    /* Sets *entry to the bytes of entry `seq` (from 1), without a newline, and *records to the task records that it closes, each followed by a newline,
     * in the order in which they were stored. PAWL_GONE: pruned. */
    pawl_code (*entry)(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err);
    /* Sets *bytes to the blob with this SHA-256 (64 hex digits). */
    pawl_code (*blob)(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err);
    void *ctx;
} pawl_loader;

typedef enum pawl_state_flags {
    PAWL_STATE_NO_JOURNAL = 1     /* makes no bytes and no hashes: for runs that end with the process */
} pawl_state_flags;

/* Creates a run of `m`: *state is to be freed, its status is submitted, and PAWL_EV_START is the event to feed. `m` is not kept. `flags`: of
 * pawl_state_flags, or 0. `alloc` may be NULL: malloc. PAWL_INVALID: err says what is wrong in `info`. PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_new(const pawl_machine *m, const pawl_run_info *info, unsigned flags,
                                                const pawl_alloc *alloc, pawl_state **state, pawl_err *err);
/* Loads a run from its base and its newest snapshot, or {0} for none; then apply the entries and records after it (pawl_entry_read, pawl_apply). *state is
 * to be freed. `loader` is copied; it may be NULL when the snapshot refers to no entries and the journal has no blobs. PAWL_CORRUPT: damaged bytes;
 * PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_load(pawl_bytes base, pawl_bytes snapshot, const pawl_loader *loader,
                                                 const pawl_alloc *alloc, pawl_state **state, pawl_err *err);
PAWL_API void pawl_state_free(pawl_state *st);  /* NULL: does nothing */
PAWL_API void pawl_state_loader(pawl_state *st, const pawl_loader *loader); /* replaces its loader by a copy of this; NULL: none */

/* The bytes of its base, the first line of its journal, without a newline. Valid as long as the state, as are the texts below. {0}
 * with PAWL_STATE_NO_JOURNAL. */
PAWL_API pawl_bytes pawl_state_base(const pawl_state *st);
PAWL_API const char *pawl_state_run(const pawl_state *st);      /* its id, "essay-1" */
PAWL_API uint64_t pawl_state_life(const pawl_state *st);
PAWL_API const char *pawl_state_machine(const pawl_state *st, uint32_t *version); /* the name of its machine; *version (may be NULL) */
/* Whether `m` is the machine of the run, by name, version and hash. If not, feed PAWL_EV_ADOPT with `m` before any other event (F5). */
PAWL_API bool pawl_state_under(const pawl_state *st, const pawl_machine *m);
PAWL_API uint64_t pawl_state_seq(const pawl_state *st);         /* of the newest entry; at first that of the base */
PAWL_API int64_t pawl_state_time_ms(const pawl_state *st);      /* the time of the newest entry */
PAWL_API uint64_t pawl_state_turn(const pawl_state *st);        /* from 1; each input of a graph with turns begins the next (G13) */
PAWL_API uint64_t pawl_state_steps(const pawl_state *st);       /* supersteps in this turn so far */
PAWL_API uint64_t pawl_state_ignored(const pawl_state *st);     /* events that were ignored since it was created or loaded */
PAWL_API pawl_status pawl_state_status(const pawl_state *st);
/* Sets *info to the record with which the run was created. Its texts are valid until `step` is used again. PAWL_INVALID with PAWL_STATE_NO_JOURNAL;
 * PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_info(const pawl_state *st, pawl_step *step, pawl_run_info *info, pawl_err *err);
/* What the run needs next, as pawl_feed returns it: PAWL_OK (a tick), PAWL_PENDING, PAWL_INTERRUPTED or PAWL_HALTED. */
PAWL_API pawl_code pawl_state_next(const pawl_state *st);
typedef struct pawl_spent {       /* the balance of a budget */
    pawl_caps caps;               /* the limits */
    pawl_cost used;
    pawl_cost reserved;           /* by open commands, and by those that were given up and may have happened */
    int64_t since_ms;             /* when its time began, ms since 1970; 0: not yet */
    bool overdraft;               /* a command cost more than it had reserved: no other is made until the budget is changed */
} pawl_spent;
/* Sets *spent to the balance of the run's budget. False: the run has none, and *spent is all 0. Used and reserved together never exceed a limit, unless
 * there was an overdraft. An update (or that of a reopen) of the channel @budget changes limits: {"@budget":{"calls":200}} that of calls, the others stay;
 * 0: no limit. */
PAWL_API bool pawl_state_spent(const pawl_state *st, pawl_spent *spent);
/* Why the run failed, was rejected or missed its deadline, or is about to while its inverses run: {"code","text"} and more. NULL: none of these. Lent
 * until the state changes. */
PAWL_API const pawl_value *pawl_state_reason(const pawl_state *st);
/* The value of a channel. NULL: it has none, there is no such channel, `channel` is NULL, or the loader failed (pawl_state_json says why). Lent until the
 * state changes. */
PAWL_API const pawl_value *pawl_state_get(pawl_state *st, const char *channel);
/* The value that an update has for the channel, if it came while a superstep was open: it is written when that superstep closes. Of several the newest.
 * NULL: there is none, or `channel` is NULL. Lent until the state changes. */
PAWL_API const pawl_value *pawl_state_coming(pawl_state *st, const char *channel);
/* As pawl_state_get(), with the updates that came while a superstep was open, alone or with an answer (W8). The nodes of that superstep do not see them;
 * its close merges them. A run that has ended shows only what was merged, and a channel with a function of its own keeps its value until the close. In
 * the memory of `step`, valid until that is used again. */
PAWL_API const pawl_value *pawl_state_shown(pawl_state *st, pawl_step *step, const char *channel);
/* All channels that have a value, as one object of canonical JSON, as pawl_state_shown() gives them; a secret as its reference ("env:TOKEN"). Valid until
 * `step` is used again. NULL: see err, PAWL_NOMEM or a code of the loader. */
PAWL_API const char *pawl_state_json(pawl_state *st, pawl_step *step, pawl_err *err);
/* The name of task `index` of the superstep that is open or next: "draft", or "worker:3" for the fourth task that was sent; NULL after the last. *at (may
 * be NULL): "ready" (not begun), "open" (it has made commands), "done" or "failed". */
PAWL_API const char *pawl_state_task(const pawl_state *st, size_t index, const char **at);

/* Makes a snapshot of the state, to be stored as a cache. *bytes is valid until `step` is used again. PAWL_INVALID: task records came after the newest
 * entry, or PAWL_STATE_NO_JOURNAL. PAWL_NOMEM, or a code of the loader. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_snapshot(pawl_state *st, pawl_step *step, pawl_bytes *bytes, pawl_err *err);
/* Whether a snapshot is worth its bytes now: the entries since the last one are larger than it and have at least 4 KiB (K7). */
PAWL_API bool pawl_state_snapshot_due(const pawl_state *st);

/* Creates a run that starts from this state (K10): its base has the channels and the tasks that are next; open commands and waits are made anew, nothing
 * else is inherited. To fork at an earlier entry, load the run, apply up to that entry, and fork. *fork is to be freed. PAWL_INVALID: `info` needs an id
 * and a life, or PAWL_STATE_NO_JOURNAL. PAWL_NOMEM, or a code of the loader. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_fork(pawl_state *st, const pawl_run_info *info, pawl_step *step,
                                                 pawl_state **fork, pawl_err *err);
/* Creates a run of `m` in the context of the run `from` (G13, K10): channels that `m` declares with `keep` begin with their values in `from`; nothing else
 * is shared. Feed it PAWL_EV_START. *state is to be freed. Errors as of pawl_state_new and pawl_state_snapshot. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_carry(pawl_state *from, const pawl_machine *m, const pawl_run_info *info,
                                                  pawl_step *step, pawl_state **state, pawl_err *err);
/* Makes a base at the newest entry of this run, with the hash of that entry: the first line of its journal once what is before was deleted. *base is valid
 * until `step` is used again. Errors as of pawl_state_snapshot. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_prune(pawl_state *st, pawl_step *step, pawl_bytes *base, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
