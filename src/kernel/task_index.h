/* task_index.h - what the tasks of a frame with many of them do, counted, so that nobody walks past all of them at every event.
 *
 * It lies in the block of the tasks and goes with it; frames with fewer than TASKS_MANY tasks have none. Changed in a transaction only:
 * task_index_update() after each item that was folded (fold.c), on the thread that feeds or applies.
 * Invariant: each sum is that of the tallies, and each tally is what task_tally_of() says of its task between two items. */
#ifndef KERNEL_TASK_INDEX_H
#define KERNEL_TASK_INDEX_H

#include "kernel/frame.h"
#include "kernel/item.h"

enum {
    TASKS_MANY = 512,           /* fewer are walked past sooner than they are counted */
    BLOCK_TASKS = 64,
    GROUP_TASKS = 8 * BLOCK_TASKS
};

typedef struct task_tally {
    uint32_t commands, waits;   /* open ones of the task, and of its subgraph */
    uint8_t at;                 /* as in the task */
    bool runs;                  /* a pass of it, or something in its subgraph, can go on */
    bool blocked;               /* it has begun, and waits for something outside */
} task_tally;

typedef struct task_sums { uint32_t commands, waits, runs, ready, blocked, left, failed; } task_sums;   /* ready: they have not begun, and run */

typedef struct task_index {
    hash_index names;           /* of the tasks that edges reached; the others have their number in their name */
    task_tally *tallies;        /* by task */
    task_sums *blocks;          /* of BLOCK_TASKS tasks each */
    task_sums *groups;          /* of GROUP_TASKS tasks each: a walk past all blocks at each event would be quadratic */
    task_sums all;
} task_index;

size_t task_index_bytes(uint32_t ntasks, uint32_t nedges);     /* 0: so few tasks need none */
/* In zeroed memory of so many bytes; every task is ready. */
task_index *task_index_new(void *room, const frame *f);
/* An item was folded: counts its task anew, and those around it. */
struct pawl_state;
pawl_code task_index_update(struct pawl_state *st, const item *it);
/* The number of open commands (or waits) in the frame and below it. */
uint32_t frame_open(const frame *f, bool waits);

#endif
