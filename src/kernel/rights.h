/* rights.h - what a run may do now: its mode, and the highest mode that it may ever have (P1, E11). */
#ifndef KERNEL_RIGHTS_H
#define KERNEL_RIGHTS_H

#include "kernel/names.h"

/* The modes in the order of their rights; a journal has their names. */
typedef enum mode_rank { RANK_NONE = 0, RANK_PLAN = 1, RANK_DEFAULT = 2, RANK_ACCEPT_EDITS = 3, RANK_BYPASS = 4, RANKS = 5 } mode_rank;

mode_rank mode_ranked(const char *name);        /* RANK_NONE: no such mode; `name` may be NULL */
const char *mode_text(mode_rank r);             /* "acceptEdits" */
const char *rank_title(mode_rank r);            /* "AcceptEdits": for messages of denial */
/* The mode of a run: that of the channel "@mode" (default, without one), and not above any of "@rights". `coming`: with the updates that are merged when
 * the open superstep closes. The same throughout a superstep without it. */
mode_rank run_mode(pawl_state *st, bool coming);

/* Whether an update of channels leaves the approvers of the run as they are (P11): rules ("@policy", or "@law" of its parent) that keep their signers are
 * followed only by rules that have each of their keys, and their `approvers`. A further name may be added: no gate of the file that the run has names it. */
#define SIGNERS_OTHER "its rules name other approvers, or other keys of them, than the run began with"
bool rights_keep_signers(pawl_state *st, const pawl_value *update);

#endif
