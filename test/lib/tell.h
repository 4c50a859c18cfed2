/* tell.h - plays a plot three times: without a crash; with a crash after every step; with a crash after every step that loads a snapshot and
 * its tail. All three must write the same journal, byte for byte.
 *
 *     static void plot(world *w) { tell_receipt(w, "1.a.1.0", "1"); CHECK_STR(world_get(w, "x"), "1"); }
 *     tell(machine, NULL, plot);                                                          */
#ifndef TEST_LIB_TELL_H
#define TEST_LIB_TELL_H

#include "machines.h"

typedef pawl_machine *make_fn(void);
typedef void plot_fn(world *w);
void tell(make_fn *make, const char *input, plot_fn *plot);

/* In a plot: one event, and the ticks that follow, each with its crash. An event that is refused or ignored fails the test. */
void tell_event(world *w, const pawl_event *ev);
void tell_receipt(world *w, const char *id, const char *value);
void tell_answer(world *w, const char *wait, const char *value);
void tell_crash(world *w);      /* a crash, in the passes that have crashes */
/* As tell(), but only the pass without a crash. */
void tell_begin(world *w, pawl_machine *m, const char *input);

#endif
