/* frame.h - calls, tasks and frames: the open work of a run.
 *
 * The root frame is the run; a frame inside a task is a subgraph. The state owns all three. They change only inside a transaction, by folds,
 * on the thread that owns the state. */
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
    CALL_OPEN,                  /* issued, without a receipt or an answer */
    CALL_IN_DOUBT,              /* open: a command with an unknown outcome; a person is asked, so the call counts as a wait (E5) */
    CALL_ANSWERED,              /* its receipt or answer is folded */
    CALL_REFUSED,               /* above the budget: never issued; its value is the reason */
    CALL_DROPPED,               /* closed without a receipt: lost a race, or given up */
    CALL_SIGNED,                /* open: a wait that some of its approvers have signed, and not yet as many as it needs (P11) */
    CALL_STATES
} call_state;

typedef struct call {           /* a command or a wait; its index in task.calls is its number in the visit */
    uint8_t kind, at, outcome, wait;
    uint32_t visit, n;          /* set only for a call outside a visit; otherwise implied by the array index */
    bool names_approvers;       /* a wait whose answers are signed (signed.h) */
    uint64_t superstep;
    int64_t time_ms;            /* open: when a sleep is due, or when a wait was asked; answered: the time of the answer */
    const char *task;           /* path of a call outside a visit; else NULL */
    const char *spec;           /* canonical text */
    uint32_t spec_size;         /* an entry has TEXT_BYTES_MAX bytes at most */
    uint32_t after;             /* of `update`: it is late, behind so many pending updates (pending.h); 0: it is merged with its task */
    const void *value;          /* nodes of the receipt or the answer; NULL: null */
    size_t value_bytes;         /* 0: lent by the step */
    const pawl_value *update;   /* update of channels that came with the answer (W7) */
    size_t update_bytes;
    union {
        const char *doubt;      /* of a command: SPEC of the question about the outcome; NULL: the outcome was never in doubt */
        const char *signs;      /* of a wait: who has signed it so far, canonical text (signed.h); NULL: nobody */
    };
    lap *lap;                   /* digests for the loop guard; NULL: the guard is off, or this call does not count */
} call;

static inline bool call_is_open(const call *c) { return c->at == CALL_OPEN || c->at == CALL_IN_DOUBT || c->at == CALL_SIGNED; }
static inline bool call_has_outcome(const call *c) { return c->at == CALL_ANSWERED || c->at == CALL_REFUSED; }
static inline bool call_asks(const call *c) { return c->kind == CALL_ASK || c->at == CALL_IN_DOUBT; }     /* whether an open call counts as a wait */

/* Changed by task_move() only, along task_table. Zeroed memory is a ready task. */
typedef enum task_state {
    TASK_READY,                 /* its visit has not started */
    TASK_OPEN,                  /* its visit has issued commands, or entered a subgraph */
    TASK_LEFT,                  /* done: its writes wait for the close of the superstep */
    TASK_FAILED,                /* its visit ended in an error */
    TASK_STATES
} task_state;

struct frame;
struct leave;
typedef struct task {
    const char *name;           /* "draft", "worker:3" */
    uint32_t node_size;         /* bytes of the node's name at the start of `name` */
    uint32_t node_hint;         /* index of the node in the machine, checked before use; not part of the stored state */
    uint32_t visit;
    uint32_t since;             /* visits before the last reopening: the node's retries count from there */
    uint32_t commands, waits;   /* numbers of its open calls */
    uint32_t *wins;             /* the winning call of each race of the visit */
    int64_t visit_ms;
    const pawl_value *args;     /* stored in the block of the tasks, like the name */
    call *calls;
    const laps *history;        /* calls of its earlier visits, for the loop guard; NULL: none. From here on is what the close of a superstep reads */
    uint32_t ncalls, calls_cap;
    const struct leave *leave;  /* the leave item, while its entry is being folded */
    const char *left;           /* else the text of the leave item */
    const char *fault;          /* TASK_FAILED: canonical text of {"code","text"} */
    uint32_t left_size, fault_size;
    struct frame *child;        /* of a subgraph */
    uint8_t at;
    bool timed;                 /* a visit item has set visit_ms */
    bool racing;                /* a race is open: any receipt runs the visit again */
    uint32_t nwins;
} task;
#define LEFT_BYTES (sizeof(task) - offsetof(task, leave)) /* the part of a task that a leave changes */

typedef struct frame {          /* a running graph: the run, or a subgraph inside a task */
    struct frame *parent;
    const char *where;          /* names of the nodes from the root, "a/b"; "" for the run */
    struct channel *channels;
    uint32_t nchannels;
    bool has_ephemeral;              /* some channels live for one superstep only */
    bool open;                  /* the superstep has started: its tasks see this state */
    bool detached_mixed;           /* the detached calls are not in the order of superstep and number */
    task *tasks;
    uint32_t ntasks, nedges;    /* the first nedges tasks were reached by edges, the others by sends */
    size_t tasks_bytes;         /* size of the one block with tasks, arguments, names and index */
    call *detached;                /* detached calls, which no visit waits for: waits between supersteps, commands of a reducer, inverses */
    uint32_t ndetached;            /* number of detached calls, in detached_used places; a free place has task NULL */
    uint32_t detached_used, detached_cap;
    uint64_t superstep;         /* number of the open or next superstep; 0: not started */
    uint64_t steps;             /* supersteps closed in this turn */
    int64_t now_ms;             /* of a subgraph: the latest time of a receipt or answer in it */
    const pawl_value *joins;    /* {JOIN: [seen]} */
    const pawl_value *defer;    /* [node] */
    size_t joins_bytes, defer_bytes;
    const laps *history;           /* the last calls with their results, for the loop guard; NULL: the guard is off, or no calls yet */
    struct task_index *index;   /* stored in the block of the tasks; NULL: fewer than TASKS_MANY tasks */
    hash_index by_name;         /* index of the channels; empty for few channels */
} frame;

/* lookup.c: finds objects by the names that a journal uses. NULL: no object of that name. */
task *task_named(const frame *f, const char *name, size_t size);  /* of this frame */
/* The frame that a path leads into, even when the superstep in the path is closed: detached waits are in such frames. */
frame *frame_above(pawl_state *st, const char *path);
task *task_find(pawl_state *st, const char *path, frame **in);
/* *of (`of` may be NULL): the task that made the call; NULL: the call is detached. */
call *call_find(pawl_state *st, uint64_t superstep, const char *path, uint32_t visit_no, uint32_t n, frame **in, task **of);
frame *frame_find(pawl_state *st, const char *path);            /* "": the run's */
uint64_t number_in(const char **at);
bool frame_waits(const frame *f);               /* no task of the frame or of a subgraph can go on before an event arrives */
static inline bool task_ready(const task *tk) { return tk->commands + tk->waits == 0; }    /* every call of its last pass is closed */
/* The latest time of a receipt or answer of the task, or in its subgraph. A maximum, so the order of arrival has no influence. */
int64_t task_time(const task *tk);
int64_t frame_time(const frame *f);

/* open_calls.c: calls `see` for each open command and wait in task order until `see` returns false. task_each_call(): those of one task and of
 * its subgraph; `path` is the path of the task. */
typedef bool see_call_fn(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n);
bool state_each_call(const pawl_state *st, see_call_fn *see, void *ctx);
bool task_each_call(const frame *f, const task *tk, const char *path, see_call_fn *see, void *ctx);

/* The next detached call from *at on; NULL: no more. */
static inline call *detached_next(const frame *f, uint32_t *at)
{
    while (*at < f->detached_used && f->detached[*at].task == NULL)
        ++*at;
    return *at < f->detached_used ? &f->detached[(*at)++] : NULL;
}

frame *frame_new(pawl_state *st, frame *parent, const char *where);
void frame_drop(pawl_state *st, frame *f);
void frame_clear(pawl_state *st, frame *f);     /* frees everything except the channels */
void task_drop(pawl_state *st, task *tk);       /* frees everything that the task owns */
void visit_drop(pawl_state *st, task *tk);      /* the same, except what a task keeps from visit to visit */
void call_drop(pawl_state *st, call *c);
/* The movers of a call. They update the counts of open commands and waits in the state and in `tk`, the task whose visit made the call. The
 * caller has called call_touch(tk). `tk` is NULL for a detached call, and for a call of a task that is being freed. */
void call_state_begin(pawl_state *st, task *tk, call *c, call_state first);
void call_state_move(pawl_state *st, task *tk, call *c, call_state to);
bool call_touch(pawl_state *st, task *tk);

/* tables.c. `run_table` has the states of pawl_status, `ending_table` those of ending_state (state.h). */
extern const sm_row status_rows[], task_rows[TASK_STATES];
extern const sm_table run_table, ending_table, task_table, call_table;

static inline bool task_may(const task *tk, task_state to) { return sm_may_hot(task_rows, tk->at, to); }
static inline void task_move(task *tk, task_state to) { sm_move_hot(&task_table, task_rows, &tk->at, to, tk); }

#endif
