/* state.h - the state of a run, with the queries that need no search.
 *
 * Owned by the caller (the engine keeps one for each cached run); one thread at a time, no lock. It changes only by folding items inside a
 * transaction (K6); the second half is fixed by the base record. */
#ifndef KERNEL_STATE_H
#define KERNEL_STATE_H

#include "kernel/budget.h"
#include "kernel/frame.h"
#include "kernel/list.h"
#include "pawl/kernel.h"

struct channel;
struct decl;
struct txn;

typedef struct mark {           /* the digest of an item of a task record */
    uint32_t root;              /* index of the root task */
    uint32_t visit, n, rank;
    const char *path;           /* below the root task, "": the root task's own; of no task (root UINT32_MAX): the whole path */
    hash digest;
} mark;

typedef struct mark_block {     /* a block of marks; never moved, since a wide superstep has very many */
    struct mark_block *older;
    uint32_t from, cap;         /* number of the first; room */
    bool paths;                 /* a mark has, or had, a path of its own */
    mark of[];
} mark_block;

#define BY_DEADLINE "@deadline"   /* `by` of the cancel of a run whose deadline has passed */

/* How a run ends otherwise than completed (E10, E5). Changed only by ending_move(), along ending_table. */
typedef enum ending_state {
    ENDING_NONE,                /* the run goes on, or ends without waiting */
    ENDING_CANCEL,              /* canceled: waits for commands in flight, starts nothing new */
    ENDING_WAIT,                /* the same; then inverses run, and the run gets the status `unwind` */
    ENDING_COMPENSATE,          /* inverses run, one by one */
    ENDING_STATES
} ending_state;

struct pawl_state {
    frame root;
    uint64_t seq, turn;
    int64_t time_ms;            /* of the newest entry */
    int64_t record_ms;          /* the latest time in the newest entry and in the task records after it */
    hash head;                  /* hash of the newest entry; without entries, of the base */
    size_t tail_bytes;
    uint32_t commands, waits, people; /* numbers of open ones; people: waits for a person */
    uint8_t status;
    bool has_signed;            /* a wait that the run has, or had, names approvers (signed.c) */
    void *spare;                /* a block of SPARE_BYTES for the next superstep; NULL while the run waits */
    /* end of the head: almost every step changes it, so a transaction saves it as a whole (HEAD_BYTES) */
    uint64_t ignored;
    bool no_journal;
    bool many_tasks;            /* a frame has, or had, an index of its tasks */
    uint8_t ending;             /* ending_state */
    bool only;                  /* a side state, which folds items for one channel only (lazy_list.c) */
    uint32_t nmarks;
    mark_block *marks;          /* the newest block */
    const pawl_value *reason;
    size_t reason_bytes;
    size_t snapshot_bytes;
    list *pending;              /* updates that arrived in the open superstep; its close merges them */
    list *undo;                 /* notes for compensation: [KEY,ID,{"args","effect","refs"},RECEIPT] */
    struct undo_order *undo_order;      /* of these notes (compensation.c); NULL: not made. No part of the state: follows from `undo` */
    ledger *budget;             /* NULL: none */
    uint32_t undone;            /* inverses that were issued */
    uint32_t no_progress, progress_nodes;   /* loop guard: repetitions before a person is asked, 0: off; 1: laps have node names, 0: an older run */
    uint8_t unwind;             /* the terminal status after the inverses have run; 0: no compensation */
    bool has_loader;
    bool nth_hint_waits;        /* of nth_hint: it is of a wait */
    bool settles;               /* joins settle (G3); false: an older run, or no run of a file */
    bool rounds;                /* joins with `need` begin anew in loops (G3); false: an older run, or no such join */
    bool shows_undo;            /* an approval is of the command and of its inverse (P10); false: an older run, or no command has an inverse */
    size_t bytes;               /* size of the block that starts with this state */
    struct { const call *calls; uint32_t nth, call; } nth_hint;     /* where nth_find() found this command (or wait) last */
    /* from here on fixed by the base, except for an adoption */
    struct txn *t;              /* the open transaction; NULL: none */
    hash *snapshot;             /* of the snapshot that this state made last, the only one that it lets be named (K11); NULL: none */
    pawl_alloc alloc;
    pawl_loader loader;
    /* Loads list elements from the journal: segment_load() of lazy_list.c, which is a layer above channel.c because it folds. Set when a snapshot
     * with such a list is read. NULL: no list has a segment. */
    pawl_code (*segment_load)(struct pawl_state *st, struct channel *c, pawl_err *err);
    pawl_code load_failed;      /* the error of a loader, kept here because the failing function can only return NULL */
    uint32_t version;           /* of the machine */
    arena fixed;                /* declarations, names, the base */
    const struct decl *decls;
    uint32_t ndecls, base_decls; /* number of declarations; of these, from the base: an adopted machine may add more */
    const char *run;
    uint64_t life, seed, base_seq;
    int64_t at_ms, deadline_ms; /* from the base: start time, deadline */
    const char *retention;      /* NULL: not given */
    const char *parent;         /* invocation id of the spawn command in the parent run; NULL: no parent */
    const char *machine;
    hash machine_hash;
    pawl_bytes base;
};

#define HEAD_FROM offsetof(struct pawl_state, root.channels)     /* the members before it never change in the root frame */
#define HEAD_BYTES (offsetof(struct pawl_state, ignored) - HEAD_FROM)
/* Each transaction copies the head; up to this size the compiler does so without a loop. */
enum { HEAD_BYTES_MOST = 256 };
_Static_assert(HEAD_BYTES <= HEAD_BYTES_MOST, "the head of a state is copied in every transaction: keep what is rare out of it");

static inline bool status_is_terminal(unsigned status)
{
    return (1u << status & (1u << PAWL_STATUS_COMPLETED | 1u << PAWL_STATUS_FAILED | 1u << PAWL_STATUS_CANCELED | 1u << PAWL_STATUS_REJECTED)) != 0;
}
/* Whether the run only waits for commands in flight and starts nothing new. */
static inline bool state_canceling(const pawl_state *st) { return st->ending == ENDING_CANCEL || st->ending == ENDING_WAIT; }
static inline void ending_move(pawl_state *st, ending_state to) { sm_move(&ending_table, &st->ending, to, st); }
static inline void status_move(pawl_state *st, unsigned to) { sm_move_hot(&run_table, status_rows, &st->status, to, st); }
/* Whether a tick can make progress without an outside event. In an open superstep that can only be its close: a step starts everything that can
 * start. */
static inline bool state_runnable(const pawl_state *st)
{
    if (state_canceling(st) || st->root.ndetached > 0)
        return false;
    if (st->root.ntasks == 0)       /* a fork of a run that ended: a tick ends the fork. A reducer has no supersteps */
        return st->root.superstep > 0;
    return !st->root.open || !frame_waits(&st->root);
}
static inline pawl_status status_now(const pawl_state *st)      /* of a run that has not ended */
{
    return st->people > 0 && st->commands == 0 && !state_runnable(st) ? PAWL_STATUS_INPUT_REQUIRED : PAWL_STATUS_WORKING;
}
static inline pawl_code next_of_state(const pawl_state *st, unsigned status)
{
    if (status_is_terminal(status))
        return PAWL_HALTED;
    if (state_runnable(st))
        return PAWL_OK;
    return st->commands > 0 ? PAWL_PENDING : PAWL_INTERRUPTED;
}

/* As pawl_state_command(), without resolving references: arguments with references are NULL. *refers: no reference is to a secret. */
pawl_code state_command_bare(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, bool *refers, pawl_err *err);
/* The open command of that id. *open false: no open command has the id, and `out` is zeroed. */
pawl_code state_command_named(pawl_state *st, const char *id, pawl_step *s, pawl_command *out, const pawl_value **secrets, bool *open, pawl_err *err);
pawl_code state_command_bare_named(pawl_state *st, const char *id, pawl_step *s, pawl_command *out, bool *refers, bool *open, pawl_err *err);
/* Parses "RUN~LIFE/2.draft.1.0", or the part after "/". `path` has room for PATH_BYTES_MAX + 1. False: an id of another run, or not an id. */
bool state_id_parse(const pawl_state *st, const char *id, char *path, uint64_t *superstep, uint32_t *visit_no, uint32_t *n);
enum { STATE_FIXED_FIRST = 256 };
pawl_state *state_empty(const pawl_alloc *alloc, size_t fixed);        /* with room for `fixed` bytes of st->fixed in the same block */
pawl_code state_begin(pawl_state *st, const pawl_caps *caps, pawl_err *err);   /* sets the channels' first values and the budget */
void state_drop(pawl_state *st);                /* frees the contents, in a transaction */

#endif
