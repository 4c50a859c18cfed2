/* budget_ask.h - checks the budget of a run before a node's command is made.
 *
 * Called inside a visit, on the thread that owns the step. The state does not change: the visit adds up what its pass would use until the
 * commands are folded (budget.h). */
#ifndef KERNEL_BUDGET_ASK_H
#define KERNEL_BUDGET_ASK_H

#include "kernel/budget.h"

/* Checks a command or the share of a child. PAWL_LIMIT: refused, *why is the reason, in the step's memory. PAWL_OK: `due` is added to the
 * amounts that this pass would use. */
pawl_code budget_check_command(pawl_step *s, const amounts *due, const char **why);
/* The share of the child that the visit's next command spawns. A cap that `asked` leaves at 0 gets half of what is left; the time gets all. */
pawl_code budget_share(pawl_step *s, const pawl_caps *asked, pawl_caps *share);

#endif
