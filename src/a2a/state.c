/* state.c - the states of a task: one table from the status of a run and what its open waits ask for, and their names in both versions. Pure.
 *
 * Called by task.c for each line of a journal, by the readers and writers for names, and by src/serve for lists. */
#include "a2a/a2a.h"

/* A run that ends is over, whatever still waits. In any other run a wait for a person asks, when nothing is at work: of a superstep that is open, the
 * status of the newest entry says less than its waits do. Of a run that says input-required an answer is stored, when none of its waits asks. */
static const uint8_t states[A2A_RUN_STATUSES][A2A_ASKS] = {
    /* submitted */      { A2A_SUBMITTED, A2A_INPUT_REQUIRED, A2A_AUTH_REQUIRED },
    /* working */        { A2A_WORKING, A2A_INPUT_REQUIRED, A2A_AUTH_REQUIRED },
    /* input-required */ { A2A_WORKING, A2A_INPUT_REQUIRED, A2A_AUTH_REQUIRED },
    /* completed */      { A2A_COMPLETED, A2A_COMPLETED, A2A_COMPLETED },
    /* failed */         { A2A_FAILED, A2A_FAILED, A2A_FAILED },
    /* canceled */       { A2A_CANCELED, A2A_CANCELED, A2A_CANCELED },
    /* rejected */       { A2A_REJECTED, A2A_REJECTED, A2A_REJECTED },
};

static const struct { const char *old, *name; uint8_t number; bool over, rests; } names[A2A_STATES] = {       /* number: of the enum of 1.0 */
    [A2A_SUBMITTED] = { "submitted", "TASK_STATE_SUBMITTED", 1, false, false },
    [A2A_WORKING] = { "working", "TASK_STATE_WORKING", 2, false, false },
    [A2A_INPUT_REQUIRED] = { "input-required", "TASK_STATE_INPUT_REQUIRED", 6, false, true },
    [A2A_AUTH_REQUIRED] = { "auth-required", "TASK_STATE_AUTH_REQUIRED", 8, false, true },
    [A2A_COMPLETED] = { "completed", "TASK_STATE_COMPLETED", 3, true, true },
    [A2A_FAILED] = { "failed", "TASK_STATE_FAILED", 4, true, true },
    [A2A_CANCELED] = { "canceled", "TASK_STATE_CANCELED", 5, true, true },
    [A2A_REJECTED] = { "rejected", "TASK_STATE_REJECTED", 7, true, true },
};

a2a_state a2a_state_of(unsigned status, a2a_asks asks)
{
    PAWL_ASSERT(status < A2A_RUN_STATUSES && asks < A2A_ASKS, "a run has a status of the table");
    return (a2a_state)states[status][asks];
}

bool a2a_state_over(a2a_state s) { return names[s].over; }
bool a2a_state_rests(a2a_state s) { return names[s].rests; }
const char *a2a_state_name(a2a_state s, a2a_version version) { return version == A2A_1_0 ? names[s].name : names[s].old; }

a2a_state a2a_state_read(const pawl_value *v)
{
    const char *text = pawl_value_string(v);
    unsigned s = 0;

    while (s < A2A_STATES && !(text != NULL ? strcmp(text, names[s].name) == 0 || strcmp(text, names[s].old) == 0
                                            : pawl_value_type(v) == PAWL_TYPE_INT && pawl_value_int(v) == names[s].number))
        s++;
    return (a2a_state)s;
}
