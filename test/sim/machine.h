/* machine.h - a random graph as Pawl runs it, and what the world answers.
 *
 *     world_begin(&w, sim_machine(g), sim_input(g, text));
 *     while (sim_open(w.st, w.look, i, &ev, &room))       the i-th open command or wait, with its answer
 *         ...                                                                                        */
#ifndef TEST_SIM_MACHINE_H
#define TEST_SIM_MACHINE_H

#include "kernel/frame.h"
#include "kernel/names.h"
#include "lib/world.h"
#include "sim/generate.h"

/* `g` must outlive it. Fails the test when it does not compile. */
pawl_machine *sim_machine(sim_graph *g);

enum { SIM_INPUT_BYTES = 512, SIM_ANSWER_BYTES = 256 };
/* The start event's value. */
const char *sim_input(const sim_graph *g, char *out);

/* An event with the text that it points to. */
typedef struct sim_answer { pawl_event ev; char id[ID_BYTES_MAX + 1], value[SIM_ANSWER_BYTES], update[SIM_ANSWER_BYTES]; int number; } sim_answer;
/* What answers the `index`-th open thing, commands before waits; a sleep's time is when it is due, else 0. False: no more. */
bool sim_open(pawl_state *st, pawl_step *look, size_t index, sim_answer *out);

/* The state as the reference writes it down: the tasks with their arguments, and the channels; of the frame `f`. */
void sim_note(pawl_state *st, const frame *f, buf *out);

#endif
