/* tables.c - the state machines of the kernel, as tables: what may follow what. Fold keeps to them; pictures are drawn
 * from them. */
#include "kernel/frame.h"

const sm_row task_rows[TASK_STATES] = {
    [TASK_READY] = { "ready", SM_TO(TASK_READY) | SM_TO(TASK_OPEN) | SM_TO(TASK_LEFT) | SM_TO(TASK_FAILED), SM_FIRST },
    [TASK_OPEN] = { "open", SM_TO(TASK_READY) | SM_TO(TASK_OPEN) | SM_TO(TASK_LEFT) | SM_TO(TASK_FAILED), 0 },
    [TASK_LEFT] = { "done", 0, SM_LAST },
    [TASK_FAILED] = { "failed", SM_TO(TASK_READY), 0 },
};

static const sm_row run_rows[] = {
    [PAWL_SUBMITTED] = { "submitted", SM_TO(PAWL_WORKING) | SM_TO(PAWL_INPUT_REQUIRED) | SM_TO(PAWL_COMPLETED) | SM_TO(PAWL_FAILED) |
                         SM_TO(PAWL_CANCELED_RUN) | SM_TO(PAWL_REJECTED), SM_FIRST },
    [PAWL_WORKING] = { "working", SM_TO(PAWL_WORKING) | SM_TO(PAWL_INPUT_REQUIRED) | SM_TO(PAWL_COMPLETED) | SM_TO(PAWL_FAILED) |
                       SM_TO(PAWL_CANCELED_RUN) | SM_TO(PAWL_REJECTED), 0 },
    [PAWL_INPUT_REQUIRED] = { "input-required", SM_TO(PAWL_WORKING) | SM_TO(PAWL_INPUT_REQUIRED) | SM_TO(PAWL_COMPLETED) |
                              SM_TO(PAWL_FAILED) | SM_TO(PAWL_CANCELED_RUN) | SM_TO(PAWL_REJECTED), 0 },
    [PAWL_COMPLETED] = { "completed", 0, SM_LAST },
    [PAWL_FAILED] = { "failed", SM_TO(PAWL_WORKING) | SM_TO(PAWL_INPUT_REQUIRED) | SM_TO(PAWL_COMPLETED) | SM_TO(PAWL_FAILED) |
                      SM_TO(PAWL_REJECTED), SM_LAST },
    [PAWL_CANCELED_RUN] = { "canceled", 0, SM_LAST },
    [PAWL_REJECTED] = { "rejected", 0, SM_LAST },
};

const sm_table run_table = { "run", run_rows, sizeof run_rows / sizeof *run_rows, NULL };
const sm_table task_table = { "task", task_rows, TASK_STATES, NULL };
