/* life_march.h - a run from its start to a fork, with each allocation refused once. */
#ifndef TEST_LIB_LIFE_MARCH_H
#define TEST_LIB_LIFE_MARCH_H

#include "pawl/kernel.h"

/* It is fed the events; where it may be, a snapshot is taken and loaded after each; and it is forked. Each try ends with PAWL_NOMEM or
 * PAWL_OK, and leaks nothing. How many allocations there are. */
size_t life_march(pawl_machine *m, const pawl_run_info *info, const pawl_event *events, size_t n);

#endif
