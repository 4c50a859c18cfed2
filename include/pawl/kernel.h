/* kernel.h - durable agent state machines: the kernel.
 *
 * A machine is a pure function. Fed one event, it answers with one step: what changes in
 * the state, the commands to carry out, what to tell the readers, and whether the run is
 * over. It does no I/O, reads no clock, draws no random number: time arrives in the event,
 * effects leave as commands. So a run folded again from its journal stands, byte for byte,
 * where it stood - after a crash, on another host, inside a test.
 *
 * The loop that drives a run, whole, as the engine does it:
 *
 *     pawl_advance(machine, state, &event, step, &err);    the machine says what happens, and the state has moved on
 *     store base, pawl_step_bytes(step) in one transaction  durable from here on; refused: drop the state, load it again
 *     perform pawl_state_command(state, i, ...)             effects; each ends in a receipt event
 *
 * Killed anywhere in between, load what is stored with pawl_state_load and go on. Whoever wants to keep a state that the store refused
 * feeds it with pawl_feed, which leaves it as it was, and folds the entry with pawl_apply once it is stored. */
#ifndef PAWL_KERNEL_H
#define PAWL_KERNEL_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_machine pawl_machine; /* immutable; made by graph.h or flow.h */
typedef struct pawl_state pawl_state;     /* the live, folded state of one run */
typedef struct pawl_step pawl_step;       /* an answer; one object, used again for every feed */
typedef struct pawl_entry pawl_entry;     /* what one step adds to the journal: an entry or a task record */

/* ---- stored names: add, never renumber ------------------------------------------------ */

typedef enum pawl_event_kind {
    PAWL_EV_START = 1,   /* value: an object, the channels' first values; or NULL */
    PAWL_EV_INPUT = 2,   /* value: an object of channels, for a machine between turns */
    PAWL_EV_TICK = 3,    /* nothing new: take the next superstep */
    PAWL_EV_RECEIPT = 4, /* id: the command; outcome; value: what came of it */
    PAWL_EV_TIMER = 5,   /* id: the sleep that is over, or the wait whose deadline passed */
    PAWL_EV_SIGNAL = 6,  /* name; value: for whoever waits for a signal of that name */
    PAWL_EV_ANSWER = 7,  /* id: the wait (id or slot; NULL: the only one); value; by, note, update */
    PAWL_EV_UPDATE = 8,  /* value: an object of channels; name: as if that node had written it, or NULL */
    PAWL_EV_CANCEL = 9,  /* call the run off */
    PAWL_EV_ADOPT = 10,  /* go on under the machine that is fed */
    PAWL_EV_REOPEN = 11  /* a person says: try what failed again; update may be given */
} pawl_event_kind;

typedef enum pawl_status {
    PAWL_SUBMITTED = 0,
    PAWL_WORKING = 1,
    PAWL_INPUT_REQUIRED = 2, /* a wait for a person is open, and no command or timer is */
    PAWL_COMPLETED = 3,
    PAWL_FAILED = 4,
    PAWL_CANCELED_RUN = 5,
    PAWL_REJECTED = 6
} pawl_status;

typedef enum pawl_outcome { /* of a command */
    PAWL_DONE = 0,          /* value: its result */
    PAWL_ERROR = 1,         /* it failed for good; value: what is known, best {"code":..,"text":..} */
    PAWL_TIMED_OUT = 2,
    PAWL_CALLED_OFF = 3,
    PAWL_OUTCOME_UNKNOWN = 4
} pawl_outcome;

typedef enum pawl_command_kind { PAWL_CALL = 1, PAWL_SLEEP = 2, PAWL_SPAWN = 3 } pawl_command_kind;

typedef enum pawl_class {    /* what to do about a command found without a receipt after a crash (E5) */
    PAWL_AT_LEAST_ONCE = 0,  /* run it again */
    PAWL_PURE = 1,           /* run it again, freely */
    PAWL_IDEMPOTENT = 2,     /* run it again, its id is its key */
    PAWL_COMPENSABLE = 3,    /* run it again; it has an inverse */
    PAWL_ONCE = 4            /* never: its outcome is unknown */
} pawl_class;

typedef enum pawl_wait_kind {
    PAWL_WAIT_APPROVAL = 1,
    PAWL_WAIT_QUESTION = 2,
    PAWL_WAIT_INPUT = 3,
    PAWL_WAIT_SIGNAL = 4
} pawl_wait_kind;

/* The stored name of each ("receipt", "input-required", "at-least-once", ...); static. */
PAWL_API const char *pawl_event_kind_name(pawl_event_kind kind);
PAWL_API const char *pawl_status_name(pawl_status status);
PAWL_API const char *pawl_outcome_name(pawl_outcome outcome);
PAWL_API const char *pawl_class_name(pawl_class cls);
PAWL_API const char *pawl_wait_kind_name(pawl_wait_kind kind);
/* Completed, failed, canceled, rejected: only `reopen` leaves failed (and `adopt` may come before it), nothing leaves the others. */
PAWL_API bool pawl_status_terminal(pawl_status status);

/* ---- channels: named cells of state, each with a rule (K3) ------------------------------ */

typedef enum pawl_rule {
    PAWL_LAST = 1,      /* the last write in task order wins */
    PAWL_SINGLE = 2,    /* two writers in one superstep are an error that names both */
    PAWL_APPEND = 3,    /* an array; a write adds one element, an extend an array's */
    PAWL_SUM = 4,       /* exact in int64_t (overflow: PAWL_LIMIT), else double in task order */
    PAWL_MIN = 5,       /* of numbers, or of strings by bytes; mixing them is PAWL_INVALID */
    PAWL_MAX = 6,
    PAWL_UNION = 7,     /* an array of elements unequal as canonical JSON; the first seen stays */
    PAWL_MERGE = 8,     /* objects, shallow; a null is stored */
    PAWL_TOPIC = 9,     /* a queue: what a superstep wrote, gone after the next; see accumulate */
    PAWL_EPHEMERAL = 10,/* lives for exactly one superstep */
    PAWL_BARRIER = 11,  /* an array of the names seen; counts sources */
    PAWL_CUSTOM = 12    /* the machine's function; the merged result is what is stored */
} pawl_rule;
PAWL_API const char *pawl_rule_name(pawl_rule rule);

/* Merge `update` into `old` (NULL at first: then the update is the result, and this is not
 * called). Pure. The result is one of the two, or made with pawl_pack and the like on `s`. NULL: it cannot be. */
typedef const pawl_value *pawl_merge_fn(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg);

typedef struct pawl_channel {
    const char *name;           /* [A-Za-z0-9_-]{1,64}, not beginning with '-' */
    pawl_rule rule;             /* 0: PAWL_LAST */
    const char *first;          /* its value before any write, as JSON text; NULL: none */
    const char *secret;         /* "env:TOKEN", "file:PATH" or "given:NAME": K4; else NULL */
    bool accumulate;            /* a topic that keeps what it has */
    bool keep;                  /* `keep: context`: carried into the next run of the context */
    pawl_merge_fn *merge;       /* with PAWL_CUSTOM, else NULL */
    void *merge_arg;
} pawl_channel;

/* ---- runs ---------------------------------------------------------------------------------- */

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

/* ---- open commands and waits ------------------------------------------------------------------ */

typedef struct pawl_retry {       /* E7; delay before attempt n+1 = min(initial * factor^(n-1), max) */
    uint32_t max_attempts;        /* the total number of calls; 0: as 1 */
    uint32_t initial_ms, max_ms;
    double factor;                /* 0: as 2 */
    bool jitter;                  /* full: uniform in [0, delay] */
} pawl_retry;

typedef struct pawl_limits {      /* what stands in a command's record (E5, E8) */
    pawl_class cls;
    pawl_retry retry;
    uint32_t attempt_timeout_ms, total_timeout_ms, heartbeat_ms; /* 0: none */
    const char *inverse;          /* of compensable ones: the effect that undoes it, told {"args","id","receipt"}; NULL: none.
                                   * A receipt null is of what was given up: it may have happened, or not */
    const char *on_unknown;       /* of those of class once and compensable: the effect that finds out what came of it, told
                                     {"args","effect","id","known"}; it replies {"done":V}, {"failed":TEXT} or "again", as a
                                     person would answer who is asked when it cannot, or when this is NULL */
    pawl_cost cost;               /* what a call reserves of a budget. calls 0: as many as it may have attempts; of class pure: none */
} pawl_limits;

typedef struct pawl_command {
    const char *id;               /* essay-1~9f3a.../2.review.1.0: the same on every replay */
    pawl_command_kind kind;
    const char *effect;           /* which handler: "llm", ...; of a spawn the machine; NULL for a sleep */
    const pawl_value *args;       /* every reference resolved but secrets; NULL for a sleep */
    int64_t due_ms;               /* of a sleep */
    pawl_limits limits;
    uint32_t cleared;             /* attempts that are known not to have happened: somebody answered "again" */
    pawl_caps share;              /* of a spawn: the child's budget, */
    const char *child;            /* and its name, where one was said; else NULL */
} pawl_command;

typedef struct pawl_wait {        /* W1 */
    const char *id;
    const char *slot;             /* unique among the open ones */
    const char *node;             /* who asks; "" when the machine itself does */
    pawl_wait_kind kind;
    const pawl_value *prompt, *schema, *options; /* NULL when there is none; options as in pawl_question */
    const char *asked_of;         /* NULL: anyone */
    int64_t asked_ms, expires_ms; /* 0: no deadline */
    const pawl_value *otherwise;  /* what it resolves to at its deadline; NULL: it stays open */
    const pawl_value *about;      /* what the answer is bound to, as whoever asked has it; NULL: it said nothing */
} pawl_wait;

PAWL_API size_t pawl_state_commands(const pawl_state *st);
PAWL_API size_t pawl_state_waits(const pawl_state *st);
/* The `index`-th open one, in task order; what it points to lives in `step` until it is used again.
 * A secret stands in args as null, and `secret` (may be NULL) gets the references still to be put in: an array of
 * [path, spec], or NULL when there are none. */
PAWL_API PAWL_MUST_USE pawl_code pawl_state_command(pawl_state *st, size_t index, pawl_step *step,
                                                    pawl_command *out, const pawl_value **secrets, pawl_err *err);
PAWL_API PAWL_MUST_USE pawl_code pawl_state_wait(pawl_state *st, size_t index, pawl_step *step, pawl_wait *out, pawl_err *err);

/* ---- feed and apply ------------------------------------------------------------------------------ */

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

/* ---- inside a machine's code: read, build, write --------------------------------------------------------- */

/* Reads see the state as the superstep found it, and what this task was sent. NULL when never set. */
PAWL_API const pawl_value *pawl_get(pawl_step *s, const char *channel);
PAWL_API const pawl_value *pawl_args(pawl_step *s);             /* what pawl_send gave; NULL when reached by an edge */
PAWL_API int64_t pawl_get_int(pawl_step *s, const char *channel);       /* 0 unless an integer */
PAWL_API bool pawl_get_bool(pawl_step *s, const char *channel);
PAWL_API double pawl_get_real(pawl_step *s, const char *channel);
PAWL_API const char *pawl_get_string(pawl_step *s, const char *channel); /* NULL unless a string */
PAWL_API const char *pawl_get_json(pawl_step *s, const char *channel);  /* canonical text; NULL when never set */
PAWL_API const char *pawl_node_name(const pawl_step *s);        /* the node that runs; "" in a reducer */
PAWL_API int64_t pawl_now(const pawl_step *s);                  /* time_ms, fixed per visit */
PAWL_API uint64_t pawl_random(pawl_step *s);                    /* the same numbers on every pass of a visit */
PAWL_API uint32_t pawl_visit(const pawl_step *s);               /* 1; a node's retry is the next */

/* Values for writes, arguments and prompts; they live in the step. NULL: out of memory, or a
 * NULL went in; feed then fails with the first error. */
PAWL_API const pawl_value *pawl_pack(pawl_step *s, const char *format, ...);    /* "{s:s,s:[i,b,n],s:v}": docs/INTERFACES.md */
PAWL_API const pawl_value *pawl_json(pawl_step *s, const char *text);           /* parsed */
PAWL_API const char *pawl_text(pawl_step *s, const pawl_value *v);              /* canonical JSON text; NULL in, NULL out */
PAWL_API const char *pawl_format(pawl_step *s, const char *format, ...) PAWL_PRINTF(2, 3); /* no floating point */
/* Stands in a command's arguments for a channel as of this entry (K7), or for a secret channel (K4). */
PAWL_API const pawl_value *pawl_ref(pawl_step *s, const char *channel);

/* Writes: kept when the node leaves, dropped with a pass that does not. A failed one makes the node fail. */
PAWL_API void pawl_set(pawl_step *s, const char *channel, const pawl_value *value);
PAWL_API void pawl_set_int(pawl_step *s, const char *channel, int64_t value);
PAWL_API void pawl_set_bool(pawl_step *s, const char *channel, bool value);
PAWL_API void pawl_set_real(pawl_step *s, const char *channel, double value);
PAWL_API void pawl_set_string(pawl_step *s, const char *channel, const char *value);
PAWL_API void pawl_set_json(pawl_step *s, const char *channel, const char *text);
PAWL_API void pawl_extend(pawl_step *s, const char *channel, const pawl_value *array);    /* each element */
PAWL_API void pawl_overwrite(pawl_step *s, const char *channel, const pawl_value *value); /* past the rule */
/* Tell the readers; kept with the run. An artifact is an emission named "artifact". */
PAWL_API void pawl_emit(pawl_step *s, const char *name, const pawl_value *value);

/* Ask the world, and stop here until it answers: PAWL_PENDING on the way out, PAWL_OK and the
 * receipt on the way back, PAWL_EFFECT and the error as receipt when it failed for good. `receipt` may be NULL.
 * The n-th command of a visit meets the n-th receipt; made before leaving, several run at once. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_value **receipt);
/* The same with what it may cost at most, where that is not what its effect declares (A8). What is refused for want of budget is PAWL_LIMIT, with
 * {"code","text"} as receipt; it is no command, and the node may go on without it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_call_with(pawl_step *s, const char *effect, const pawl_value *args, const pawl_cost *cost,
                                                const pawl_value **receipt);
PAWL_API PAWL_MUST_USE pawl_code pawl_sleep(pawl_step *s, int64_t ms);
/* A child run of another machine (see pawl_engine_add), begun with `input`, an object of its channels or NULL; the result: its channels when it
 * completed; else PAWL_EFFECT and {"code","run","status","text"}. Its rights are this run's. Secrets are no input. */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_value **result);
/* The same with a budget of its own, reserved of this run's, if that has one, until the child has ended. What `share` (may be NULL) does not say is
 * half of what is left, and all the time that is left. */
PAWL_API PAWL_MUST_USE pawl_code pawl_spawn_with(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share,
                                                 const pawl_value **result);
/* Ask a person: PAWL_INTERRUPTED out, PAWL_OK and the answer back. */
PAWL_API PAWL_MUST_USE pawl_code pawl_ask(pawl_step *s, const pawl_value *prompt, const pawl_value **answer);
typedef struct pawl_question {
    pawl_wait_kind kind;          /* 0: PAWL_WAIT_QUESTION */
    const char *slot;             /* NULL: one is made from the node's name; beside other tasks it is "worker:3.SLOT" */
    const char *asked_of;
    const pawl_value *prompt, *schema, *otherwise;
    const pawl_value *options;    /* an array, what may be answered; of an object with a "value" that, and its "label" is what people read */
    int64_t timeout_ms;           /* 0: none; else from now; `otherwise` is its answer then (W5) */
    const pawl_value *about;      /* for readers of the wait: what is asked about, a digest of it (W6); NULL: nothing */
} pawl_question;
PAWL_API PAWL_MUST_USE pawl_code pawl_ask_with(pawl_step *s, const pawl_question *q, const pawl_value **answer);
PAWL_API PAWL_MUST_USE pawl_code pawl_await_signal(pawl_step *s, const char *name, const pawl_value **value);
/* A race, by the clock: which of this visit's open commands was answered first; that is recorded.
 * PAWL_OK and its number among them (0 is the first command of the visit), else PENDING. The others may
 * be left unanswered. */
PAWL_API PAWL_MUST_USE pawl_code pawl_select(pawl_step *s, uint32_t *winner);
/* Fail with a code (below 0) and a line of text: `return pawl_fail(s, PAWL_TRANSIENT, "busy");` */
PAWL_API pawl_code pawl_fail(pawl_step *s, pawl_code code, const char *format, ...) PAWL_PRINTF(3, 4);

/* ---- typed state: a C struct stands for the channels (K9) ---------------------------------------------------- */

typedef enum pawl_field_type {
    PAWL_FIELD_INT = 1,    /* int64_t */
    PAWL_FIELD_BOOL = 2,   /* bool */
    PAWL_FIELD_REAL = 3,   /* double */
    PAWL_FIELD_STRING = 4, /* const char *, lent; NULL when never set */
    PAWL_FIELD_VALUE = 5   /* const pawl_value *, lent; NULL when never set */
} pawl_field_type;

typedef struct pawl_field {
    pawl_channel channel;
    pawl_field_type type;
    size_t offset;
} pawl_field;
#define PAWL_FIELD(structure, member, kind, ...) \
    { .channel = { .name = #member, __VA_ARGS__ }, .type = (kind), .offset = offsetof(structure, member) }

/* Fill `out` (zeroed first by you or not; every field is set) from the channels a node sees. PAWL_INVALID:
 * a channel holds another type than its field; names it. */
PAWL_API PAWL_MUST_USE pawl_code pawl_read(pawl_step *s, const pawl_field *fields, size_t n, void *out);
/* Write one field's update from `value`, which has the field's type; its channel's rule gets it. */
PAWL_API void pawl_write(pawl_step *s, const pawl_field *fields, size_t n, const char *name, const void *value);

/* ---- machines --------------------------------------------------------------------------------------------------- */

PAWL_API void pawl_machine_free(pawl_machine *m);
PAWL_API const char *pawl_machine_name(const pawl_machine *m);
PAWL_API uint32_t pawl_machine_version(const pawl_machine *m);
PAWL_API const char *pawl_machine_hash(const pawl_machine *m);  /* 64 hex digits, of the compiled definition (F5) */
/* Whether it declares `effect`; then *cls (may be NULL) is its class. */
PAWL_API bool pawl_machine_effect(const pawl_machine *m, const char *effect, pawl_class *cls);
PAWL_API const char *pawl_version(void);                        /* "0.1.0" */
#ifdef __cplusplus
}
#endif
#endif
