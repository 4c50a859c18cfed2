/* life_march.h - a run from its start to a fork, with each allocation refused once. */
#ifndef TEST_LIB_LIFE_MARCH_H
#define TEST_LIB_LIFE_MARCH_H

#include "pawl/kernel.h"

/* Feeds the events, takes and loads a snapshot after each if possible, and forks the run. Repeats this with each allocation refused once, and checks that
 * each time ends with PAWL_NOMEM or PAWL_OK and leaks nothing. Returns the number of allocations. */
size_t life_march(pawl_machine *m, const pawl_run_info *info, const pawl_event *events, size_t n);

#endif
