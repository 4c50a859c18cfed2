/* failed_tasks.h - the failed tasks of a run: which node, for which element of a fan-out, and why. */
#ifndef CLI_FAILED_TASKS_H
#define CLI_FAILED_TASKS_H

#include "json/json.h"
#include "pawl/kernel.h"

/* [{"code","element"?,"node","task","text"}], those of subgraphs too; `element` is what a fan-out sent, {NAME: VALUE}. At most 100. If the run failed
 * because a channel could not take what was written, the tasks that wrote it in that superstep, with "channel". */
const pawl_value *failed_tasks(arena *mem, const pawl_state *st);
/* A line for each task of a fan-out, "count notes/empty.txt: grep: ended with status 1", and for each writer, "count notes/a.txt: wrote 5 to total". */
void failed_tasks_put(buf *out, const pawl_value *failed, const char *indent);

#endif
