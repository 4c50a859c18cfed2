/* next_step.c - the choice of a turn's next step: a function that has done its part chooses one and returns.
 *
 * agent_reduce() runs the chosen step, and so on until none is chosen. So no file of this folder calls one above it, and the stack does not grow
 * with the number of inputs that wait in the queue. A function that has chosen a step returns without doing more; choosing two is a fault. */
#include "agent/agent.h"

static void step_choose(turn *t, chosen_step next)
{
    PAWL_ASSERT(t->next.step == STEP_NONE, "a function of the agent chooses one next step");
    t->next = next;
}

void next_step(turn *t, turn_step step) { step_choose(t, (chosen_step){ .step = step }); }
void next_begin(turn *t, const pawl_value *message) { step_choose(t, (chosen_step){ .step = STEP_BEGIN, .message = message }); }
void next_open(turn *t, const pawl_value *message) { step_choose(t, (chosen_step){ .step = STEP_OPEN, .message = message }); }
void next_continue(turn *t, const char *text) { step_choose(t, (chosen_step){ .step = STEP_CONTINUE, .text = text }); }

void next_act(turn *t, core_action action, const char *why)
{
    step_choose(t, (chosen_step){ .step = STEP_ACT, .action = action, .text = why });
}

void next_end(turn *t, const char *how, const char *error)
{
    step_choose(t, (chosen_step){ .step = STEP_END, .text = how, .error = error });
}

bool next_chosen(const turn *t) { return t->next.step != STEP_NONE; }
