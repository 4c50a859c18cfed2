/* budget_ask.h - the budget of a run is asked before a command is made.
 *
 * Called inside a visit, on the thread that owns the step. Nothing of the run changes: what a pass wants is in its visit until its
 * commands are folded (budget.h). */
#ifndef KERNEL_BUDGET_ASK_H
#define KERNEL_BUDGET_ASK_H

#include "kernel/budget.h"

/* What the call under way, or the share of a child, is refused with: PAWL_LIMIT, *why in the step. PAWL_OK: it counts as reserved by this pass. */
pawl_code budget_wants(pawl_step *s, const amounts *due, const char **why);
/* What a child gets where `asked` does not say: half of what is left of each cap, and all of the time. Of a visit's next command. */
pawl_code budget_share(pawl_step *s, const pawl_caps *asked, pawl_caps *share);

#endif
