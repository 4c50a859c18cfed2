/* task_index.h - counts of what the tasks of a wide frame do, so that an event need not visit all tasks.
 *
 * Stored in the block of the tasks and freed with it; a frame with fewer than TASKS_MANY tasks has none. Changes only in a transaction:
 * task_index_update() runs after each folded item (fold.c), on the thread that owns the state.
 * Invariants, between two items: each sum is the sum of its tallies; each tally equals task_tally_of() of its task. */
#ifndef KERNEL_TASK_INDEX_H
#define KERNEL_TASK_INDEX_H

#include "kernel/frame.h"
#include "kernel/item.h"

enum {
    TASKS_MANY = 512,           /* fewer tasks are visited faster than counted */
    BLOCK_TASKS = 64,
    GROUP_TASKS = 8 * BLOCK_TASKS
};

typedef struct task_tally {
    uint32_t commands, waits;   /* open ones of the task and of its subgraph */
    uint8_t at;                 /* task_state */
    bool runs;                  /* a pass of the task, or a task in its subgraph, can go on */
    bool blocked;               /* the task has started, and waits for an outside event */
} task_tally;

typedef struct task_sums { uint32_t commands, waits, runs, ready, blocked, left, failed; } task_sums;   /* ready: tasks that have not started */

typedef struct task_index {
    hash_index names;           /* names of tasks that edges reached; a task of a send has its index in its name */
    task_tally *tallies;        /* one for each task */
    task_sums *blocks;          /* one for each BLOCK_TASKS tasks */
    task_sums *groups;          /* one for each GROUP_TASKS tasks: visiting all blocks at each event would be quadratic */
    task_sums all;
} task_index;

size_t task_index_bytes(uint32_t ntasks, uint32_t nedges);     /* 0: too few tasks for an index */
/* Builds the index in `room`, zeroed memory of task_index_bytes(); every task is ready. */
task_index *task_index_new(void *room, const frame *f);
/* After the fold of an item: counts its task again, and the tasks around it. */
struct pawl_state;
pawl_code task_index_update(struct pawl_state *st, const item *it);
/* The number of open commands (or waits) in the frame and below it. */
uint32_t frame_open(const frame *f, bool waits);

#endif
