/* tables.c - the life cycles of the kernel as tables, with the invariant of each state.
 *
 * Only the movers change a state: call_state_begin() and call_state_move() of frame.c, task_move() of frame.h, ending_move() and status_move()
 * of state.h. Another move is an assertion; folds check first, so a journal that needs another move is PAWL_CORRUPT. Invariants, checked after
 * each move:
 *   C1  a call in doubt is a command with a question about its outcome (E5);
 *   C2  only commands are refused for lack of budget (A8);
 *   C3  a signed wait has at least one signature, and names approvers (P11);
 *   T1  a task that left has no open call and no subgraph (G2);
 *   T2  a task has an error exactly when it failed (G4);
 *   N1  `unwind` is set exactly while a run is to be compensated or is being compensated (E5). */
#include "kernel/state.h"

#define TO(state) SM_TO(CALL_##state)
static const sm_row call_rows[CALL_STATES] = {
    [CALL_OPEN] = { "open", TO(IN_DOUBT) | TO(ANSWERED) | TO(DROPPED) | TO(SIGNED), SM_FIRST | SM_LAST },
    [CALL_IN_DOUBT] = { "in doubt", TO(OPEN) | TO(ANSWERED) | TO(DROPPED), SM_LAST },
    [CALL_ANSWERED] = { "answered", 0, SM_LAST },
    [CALL_REFUSED] = { "refused", 0, SM_FIRST | SM_LAST },
    [CALL_DROPPED] = { "dropped", 0, SM_LAST },
    [CALL_SIGNED] = { "signed", TO(ANSWERED) | TO(DROPPED) | TO(SIGNED), SM_LAST },
};
#undef TO

static const char *call_broken(const void *owner, unsigned state)
{
    const call *c = owner;

    if (state == CALL_IN_DOUBT && (c->doubt == NULL || c->kind == CALL_ASK || c->kind == CALL_SLEEP))
        return "C1: a command is in doubt, and there is no question about it";
    if (state == CALL_REFUSED && c->kind != CALL_CALL && c->kind != CALL_SPAWN)
        return "C2: a wait was refused for want of budget";
    if (state == CALL_SIGNED && (c->kind != CALL_ASK || c->signs == NULL))
        return "C3: a wait is signed, and there is no signature";
    return NULL;
}

#define TO(state) SM_TO(TASK_##state)
const sm_row task_rows[TASK_STATES] = {
    [TASK_READY] = { "ready", TO(READY) | TO(OPEN) | TO(LEFT) | TO(FAILED), SM_FIRST },
    [TASK_OPEN] = { "open", TO(READY) | TO(OPEN) | TO(LEFT) | TO(FAILED), 0 },
    [TASK_LEFT] = { "done", 0, SM_LAST },
    [TASK_FAILED] = { "failed", TO(READY), 0 },
};
#undef TO

static const char *task_broken(const void *owner, unsigned state)
{
    const task *tk = owner;

    if (state == TASK_LEFT && (tk->commands + tk->waits > 0 || tk->child != NULL))
        return "T1: it left, and something of it is open";
    if ((state == TASK_FAILED) != (tk->fault != NULL))
        return "T2: it failed, and has no error; or it has one, and did not fail";
    return NULL;
}

#define TO(state) SM_TO(ENDING_##state)
static const sm_row ending_rows[ENDING_STATES] = {
    [ENDING_NONE] = { "none", TO(NONE) | TO(CANCEL) | TO(WAIT), SM_FIRST | SM_LAST },
    [ENDING_CANCEL] = { "canceled", TO(NONE) | TO(CANCEL) | TO(WAIT), SM_FIRST | SM_LAST },
    [ENDING_WAIT] = { "to compensate", TO(NONE) | TO(WAIT) | TO(COMPENSATE), SM_FIRST | SM_LAST },
    [ENDING_COMPENSATE] = { "compensating", TO(NONE) | TO(WAIT) | TO(COMPENSATE), SM_FIRST | SM_LAST },
};
#undef TO

static const char *ending_broken(const void *owner, unsigned state)
{
    const pawl_state *st = owner;

    return (state == ENDING_WAIT || state == ENDING_COMPENSATE) != (st->unwind != 0) ? "N1: how it ends and the status it comes to disagree" : NULL;
}

#define TO(status) SM_TO(PAWL_STATUS_##status)
#define TO_END (TO(COMPLETED) | TO(FAILED) | TO(CANCELED) | TO(REJECTED))
const sm_row status_rows[] = {
    [PAWL_STATUS_SUBMITTED] = { "submitted", TO(WORKING) | TO(INPUT_REQUIRED) | TO_END, SM_FIRST },
    [PAWL_STATUS_WORKING] = { "working", TO(WORKING) | TO(INPUT_REQUIRED) | TO_END, 0 },
    [PAWL_STATUS_INPUT_REQUIRED] = { "input-required", TO(WORKING) | TO(INPUT_REQUIRED) | TO_END, 0 },
    [PAWL_STATUS_COMPLETED] = { "completed", 0, SM_LAST },
    [PAWL_STATUS_FAILED] = { "failed", TO(WORKING) | TO(INPUT_REQUIRED) | TO(COMPLETED) | TO(FAILED) | TO(REJECTED), SM_LAST },
    [PAWL_STATUS_CANCELED] = { "canceled", 0, SM_LAST },
    [PAWL_STATUS_REJECTED] = { "rejected", 0, SM_LAST },
};
#undef TO_END
#undef TO

const sm_table run_table = { "run", status_rows, PAWL_STATUS_REJECTED + 1, NULL };
const sm_table ending_table = { "end of a run", ending_rows, ENDING_STATES, ending_broken };
const sm_table task_table = { "task", task_rows, TASK_STATES, task_broken };
const sm_table call_table = { "command or wait", call_rows, CALL_STATES, call_broken };
