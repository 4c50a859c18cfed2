/* state.h - the state of a run, and what can be read from it at once.
 *
 * One thread at a time. Everything in it changes by folding items inside a transaction (K6), but for what is fixed since the base. */
#ifndef KERNEL_STATE_H
#define KERNEL_STATE_H

#include "kernel/budget.h"
#include "kernel/frame.h"
#include "kernel/list.h"
#include "pawl/kernel.h"

struct channel;
struct decl;
struct txn;

typedef struct mark {           /* the digest of an item in a record */
    uint32_t root;              /* index of the root task */
    uint32_t visit, n, rank;
    const char *path;
    hash digest;
} mark;

#define BY_DEADLINE "@deadline"   /* who cancels a run whose deadline passed */

/* How a run comes to its end otherwise than completed (E10, E5), changed by ending_move() only, along ending_table. */
typedef enum ending_state {
    ENDING_NONE,                /* it does not, or has no need to wait */
    ENDING_CANCEL,              /* canceled: what is in flight is waited for, nothing new begins */
    ENDING_WAIT,                /* the same, and then inverses run, and it comes to the status `unwind` */
    ENDING_COMPENSATE,          /* inverses run, one by one */
    ENDING_STATES
} ending_state;

struct pawl_state {
    frame root;
    uint64_t seq, turn;
    int64_t time_ms;            /* of the newest entry */
    int64_t record_ms;          /* the latest time in the records since */
    hash head;                  /* of the newest entry; before it, of the base */
    size_t tail_bytes;
    uint32_t commands, waits, people; /* open ones; people: waits for a person */
    uint8_t status;
    void *spare;                /* SPARE_BYTES that the next superstep will need; none while the run waits */
    /* up to here: the head, which mostly every step moves: a transaction keeps it whole, HEAD_BYTES */
    uint64_t ignored;
    bool no_journal;
    bool many_tasks;            /* some frame has, or had, an index of its tasks */
    uint8_t ending;             /* ending_state */
    bool only;                  /* beside another: folds for one channel, see lazy_list.c */
    uint32_t nmarks, marks_cap;
    mark *marks;
    const pawl_value *reason;
    size_t reason_bytes;
    size_t snapshot_bytes;
    list *pending;              /* updates told while the superstep is open: merged when it closes */
    list *undo;                 /* what may have to be undone: [KEY,ID,{"args","effect","refs"},RECEIPT] */
    ledger *budget;             /* NULL: none */
    uint32_t undone;            /* inverses that were issued */
    uint32_t no_progress, progress_nodes;   /* so often the same in a row, and a person is asked, 0: nobody is; 1: with the nodes, 0: of an older run */
    uint8_t unwind;             /* the terminal status that the run comes to when they have run; 0: it is not to be compensated */
    size_t bytes;               /* of the block that this state begins */
    struct { const call *calls; size_t nth; uint32_t call; bool waits; } nth_hint;     /* where that command (or wait) was found last */
    /* fixed since the base, but for adopt */
    struct txn *t;              /* while a step is fed or applied */
    pawl_alloc alloc;
    pawl_loader loader;
    /* Reads the elements of a list that are in the journal (segment_load() of lazy_list.c, which folds, so it is above the channels): set by the
     * snapshot that left them there. NULL: no list has a segment. */
    pawl_code (*segment_load)(struct pawl_state *st, struct channel *c, pawl_err *err);
    pawl_code load_failed;      /* by a reader that could not say so */
    bool has_loader;
    arena fixed;                /* declarations, names, the base */
    const struct decl *decls;
    uint32_t ndecls, base_decls; /* of these the base has; an adopted machine may bring more */
    const char *run;
    uint64_t life, seed, base_seq;
    int64_t at_ms, deadline_ms; /* of its base */
    const char *retention;      /* NULL: not said */
    const char *parent;         /* the invocation id that it was spawned by; NULL: none */
    const char *machine;
    uint32_t version;
    hash machine_hash;
    pawl_bytes base;
};

#define HEAD_FROM offsetof(struct pawl_state, root.channels)     /* the frame of the run stays where it is in the run */
#define HEAD_BYTES (offsetof(struct pawl_state, ignored) - HEAD_FROM)
/* Each transaction copies it, and up to here that is a few moves without a loop. */
enum { HEAD_BYTES_MOST = 256 };
_Static_assert(HEAD_BYTES <= HEAD_BYTES_MOST, "the head of a state is copied in every transaction: keep what is rare out of it");

static inline bool status_over(unsigned status)
{
    return (1u << status & (1u << PAWL_COMPLETED | 1u << PAWL_FAILED | 1u << PAWL_CANCELED_RUN | 1u << PAWL_REJECTED)) != 0;
}
/* What is in flight is waited for, and nothing new begins. */
static inline bool state_canceling(const pawl_state *st) { return st->ending == ENDING_CANCEL || st->ending == ENDING_WAIT; }
static inline void ending_move(pawl_state *st, ending_state to) { sm_move(&ending_table, &st->ending, to, st); }
static inline void status_move(pawl_state *st, unsigned to) { sm_move_hot(&run_table, status_rows, &st->status, to, st); }
/* Something can be done without waiting for anybody. In an open superstep that is only ending it: whatever can be
 * begun is begun by the step that makes it possible. */
static inline bool state_runnable(const pawl_state *st)
{
    if (state_canceling(st) || st->root.nloose > 0)
        return false;
    if (st->root.ntasks == 0)       /* a fork of what was over: a tick ends it again. A reducer has no supersteps */
        return st->root.superstep > 0;
    return !st->root.open || !frame_waits(&st->root);
}
static inline pawl_status status_now(const pawl_state *st)      /* of a run that is not over */
{
    return st->people > 0 && st->commands == 0 && !state_runnable(st) ? PAWL_INPUT_REQUIRED : PAWL_WORKING;
}
static inline pawl_code next_of_state(const pawl_state *st, unsigned status)
{
    if (status_over(status))
        return PAWL_HALTED;
    if (state_runnable(st))
        return PAWL_OK;
    return st->commands > 0 ? PAWL_PENDING : PAWL_INTERRUPTED;
}

/* As pawl_state_command, but nothing is put into its arguments. Where something is to be, they are NULL; *refers: all of that is the run's
 * own, and no secret. */
pawl_code state_command_bare(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, bool *refers, pawl_err *err);
/* The open command of that id. Not *open: it is none; `out` is empty then. */
pawl_code state_command_named(pawl_state *st, const char *id, pawl_step *s, pawl_command *out, const pawl_value **secrets, bool *open, pawl_err *err);
/* "RUN~LIFE/2.draft.1.0" or without the run; `path` has room for PATH_BYTES_MAX + 1. False: another run's, or no id at all. */
bool state_id_parse(const pawl_state *st, const char *id, char *path, uint64_t *superstep, uint32_t *visit_no, uint32_t *n);
enum { STATE_FIXED_FIRST = 256 };
pawl_state *state_empty(const pawl_alloc *alloc, size_t fixed);        /* with room for `fixed` bytes of what never changes, in the same block */
pawl_code state_begin(pawl_state *st, const pawl_caps *caps, pawl_err *err);   /* the channels' first values, and its budget */
void state_drop(pawl_state *st);                /* what is in it, in a transaction */

#endif
