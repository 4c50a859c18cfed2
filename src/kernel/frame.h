/* frame.h - calls, tasks and frames: what a run is doing.
 *
 * The root frame is the run; a frame inside a task is a subgraph. They belong to the state and change in a transaction only. */
#ifndef KERNEL_FRAME_H
#define KERNEL_FRAME_H

#include "base/hash_index.h"
#include "base/sm.h"
#include "kernel/laps.h"
#include "pawl/kernel.h"

struct channel;
struct item;

typedef enum call_kind { CALL_CALL = 1, CALL_SLEEP = 2, CALL_SPAWN = 3, CALL_ASK = 4 } call_kind;
/* Changed by call_state_move() only, along call_table. */
typedef enum call_state {
    CALL_OPEN,                  /* made, and nobody has answered */
    CALL_IN_DOUBT,              /* open: a command whose outcome nobody knows; somebody is asked, so it counts as a wait (E5) */
    CALL_ANSWERED,              /* its receipt or its answer is here */
    CALL_REFUSED,               /* over the budget: never issued; its value says why */
    CALL_DROPPED,               /* given up */
    CALL_STATES
} call_state;

typedef struct call {           /* a command or a wait, by its number in the visit */
    uint8_t kind, at, outcome, wait;
    uint32_t visit, n;          /* of a loose one; else its place says so */
    uint64_t superstep;
    int64_t time_ms;            /* due, or asked; answered: when */
    const char *task;           /* of a loose one; else NULL */
    const char *spec;           /* canonical text */
    size_t spec_size;
    const void *value;          /* nodes of the receipt or the answer; NULL: null */
    size_t value_bytes;         /* 0: lent by the step */
    const pawl_value *update;   /* that came with the answer (W7) */
    size_t update_bytes;
    const char *doubt;          /* SPEC of the question what came of it; NULL: that was never in doubt */
    lap *lap;                   /* where repetition is looked for, and it counts; else NULL */
} call;

static inline bool call_is_open(const call *c) { return c->at == CALL_OPEN || c->at == CALL_IN_DOUBT; }
static inline bool call_has_outcome(const call *c) { return c->at == CALL_ANSWERED || c->at == CALL_REFUSED; }
static inline bool call_asks(const call *c) { return c->kind == CALL_ASK || c->at == CALL_IN_DOUBT; }     /* a wait, if it is open */

/* Changed by task_move() only, along task_table. Zeroed memory is a ready task. */
typedef enum task_state {
    TASK_READY,                 /* its visit has not begun */
    TASK_OPEN,                  /* its visit has made commands, or entered a subgraph */
    TASK_LEFT,                  /* done: its writes wait for the close of the superstep */
    TASK_FAILED,                /* its visit ended in an error */
    TASK_STATES
} task_state;

struct frame;
struct leave;
typedef struct task {
    const char *name;           /* "draft", "worker:3" */
    uint32_t node_size;         /* bytes of the node's name in it */
    uint32_t node_hint;         /* where the machine has that node, if it still does; no part of the state */
    uint32_t visit;
    uint32_t since;             /* visits before the last reopening: attempts are counted from there */
    uint32_t commands, waits;   /* of its calls, those that are open */
    uint32_t *wins;             /* winners of the visit's races */
    int64_t visit_ms;
    const laps *told;           /* of its visits that are over; NULL: none */
    const pawl_value *args;     /* in the block of the tasks, as the name */
    call *calls;
    uint32_t ncalls, calls_cap;
    const struct leave *leave;  /* how it left: while the entry that says so is being folded */
    const char *left;           /* else the item's text */
    const char *fault;          /* TASK_FAILED: canonical text of {"code","text"} */
    uint32_t left_size, fault_size;
    struct frame *child;        /* of a subgraph */
    uint8_t at;
    bool timed;                 /* the visit has a time of its own */
    bool racing;                /* a race is open: any receipt runs the visit again */
    uint32_t nwins;
} task;
#define LEFT_BYTES (sizeof(task) - offsetof(task, leave)) /* what a leave changes */

typedef struct frame {          /* a graph in its course: the run, or a subgraph inside a task */
    struct frame *parent;
    const char *where;          /* node names down to here; "" for the run */
    struct channel *channels;
    uint32_t nchannels;
    bool fleeting;              /* it has channels that live for one superstep */
    bool open;                  /* the superstep has begun: its tasks see this state */
    bool loose_mixed;           /* the loose calls do not lie in the order of superstep and number */
    task *tasks;
    uint32_t ntasks, nedges;    /* the first nedges were reached by edges */
    size_t tasks_bytes;         /* of one block: tasks, arguments, names, index */
    call *loose;                /* what no visit waits for: holds, a reducer's commands */
    uint32_t nloose;            /* that are there; they lie in loose_used places; a free one has no task */
    uint32_t loose_used, loose_cap;
    uint64_t superstep;         /* the number of the one that is next or open; 0: not begun */
    uint64_t steps;             /* closed in this turn */
    int64_t now_ms;             /* of a subgraph: the latest time that was told in it */
    const pawl_value *joins;    /* {JOIN: [seen]} */
    const pawl_value *defer;    /* [node] */
    size_t joins_bytes, defer_bytes;
    const laps *told;           /* what its calls came to lately; NULL: nobody looks, or none */
    struct task_index *index;   /* in the block of the tasks; of few there is none */
    hash_index by_name;         /* of the channels; of few there is none */
} frame;

/* lookup.c: by the names that they have in a journal. NULL: none of that name. */
/* The frame that a path leads into, though its last superstep may be over: where holds stand. */
task *task_named(const frame *f, const char *name, size_t size);  /* of this frame */
frame *frame_above(pawl_state *st, const char *path);
task *task_find(pawl_state *st, const char *path, frame **in);  /* NULL: none */
/* *of (`of` may be NULL): the task that it is a call of; NULL: it belongs to no visit. */
call *call_find(pawl_state *st, uint64_t superstep, const char *path, uint32_t visit_no, uint32_t n, frame **in, task **of);
frame *frame_find(pawl_state *st, const char *path);            /* "": the run's */
uint64_t number_in(const char **at);
bool frame_waits(const frame *f);               /* for the world, here or below */
static inline bool task_ready(const task *tk) { return tk->commands + tk->waits == 0; }    /* every command of its last pass is answered */
/* The latest time that was told to the task, or anywhere in the subgraph: no order of arrival shows in it. */
int64_t task_time(const task *tk);
int64_t frame_time(const frame *f);

/* open_calls.c: calls `see` for each open command and wait in task order until it returns false. task_each_call(): of one task and in it; `path`:
 * its own. */
typedef bool see_call_fn(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n);
bool state_each_call(const pawl_state *st, see_call_fn *see, void *ctx);
bool task_each_call(const frame *f, const task *tk, const char *path, see_call_fn *see, void *ctx);

/* The loose calls one by one, from *at on; NULL: that was the last. */
static inline call *loose_next(const frame *f, uint32_t *at)
{
    while (*at < f->loose_used && f->loose[*at].task == NULL)
        ++*at;
    return *at < f->loose_used ? &f->loose[(*at)++] : NULL;
}

frame *frame_new(pawl_state *st, frame *parent, const char *where);
void frame_drop(pawl_state *st, frame *f);
void frame_clear(pawl_state *st, frame *f);     /* all but its channels */
void task_drop(pawl_state *st, task *tk);       /* frees what it has */
void visit_drop(pawl_state *st, task *tk);      /* the same, but for what it keeps from visit to visit */
void call_drop(pawl_state *st, call *c);
/* The movers of a call. They keep the counts of open commands and waits of the state, and of `tk`: the task whose visit made it, touched by
 * call_touch(); NULL: of no visit, or of a task that goes. */
void call_state_begin(pawl_state *st, task *tk, call *c, call_state first);
void call_state_move(pawl_state *st, task *tk, call *c, call_state to);
bool call_touch(pawl_state *st, task *tk);

/* tables.c. `run_table` is of pawl_status, `ending_table` of ending_state (state.h). */
extern const sm_row status_rows[], task_rows[TASK_STATES];
extern const sm_table run_table, ending_table, task_table, call_table;

static inline bool task_may(const task *tk, task_state to) { return sm_may_hot(task_rows, tk->at, to); }
static inline void task_move(task *tk, task_state to) { sm_move_hot(&task_table, task_rows, &tk->at, to, tk); }

#endif
