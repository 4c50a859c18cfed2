/* worker.h - a worker beside something else: it drives the runs of the files of a call, on threads of its own, as `pawl worker FILE...` does. */
#ifndef CLI_VERBS_WORKER_H
#define CLI_VERBS_WORKER_H

#include "cli/cli.h"

typedef struct worker_aside worker_aside;

/* `files`: those of the arguments of `c`, each loaded, which the worker takes in any case; `c` is lent until aside_end. Signals are the caller's: they have to
 * be blocked. NULL: the error was printed. */
worker_aside *aside_begin(cli_call *c, session *const *files);
void aside_stop(worker_aside *a);      /* any thread: no new work; running commands end first, after a second call they are stopped */
bool aside_over(worker_aside *a);      /* after aside_stop: aside_end will not wait */
void aside_end(worker_aside *a);       /* after aside_stop: waits until its runs are released */

#endif
