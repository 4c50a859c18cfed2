/* view.h - shows a run that is driven: a few changing lines on a terminal, plain lines elsewhere.
 *
 * The picture is a function of the changes of the run's items (pawl/items.h: nodes, tasks, waits, children, tool calls, messages) and of the time: it
 * uses no terminal and no clock. A thread beside the one that drives reads the items and paints on stderr. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/cli.h"
#include "pawl/items.h"

typedef struct view view;

/* ---- the picture ---------------------------------------------------------------------------- */

/* The kinds of items that it needs. A line of the journal tells how many tasks come next. */
enum { VIEW_KINDS = PAWL_ITEM_RUN | PAWL_ITEM_MESSAGE | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_TASK | PAWL_ITEM_WAIT | PAWL_ITEM_CHILD | PAWL_ITEM_LINE |
                    PAWL_ITEM_ARTIFACT };

view *view_new(bool colour);
void view_free(view *v);
bool view_reads(const pawl_item_change *c);     /* whether view_feed() needs the JSON of the change; else pass "null" */
bool view_feed(view *v, const pawl_item_change *c, const char *json);   /* false: no memory; then the picture is incomplete */
/* The lines at the time `now_ms`, each ending in a newline, none longer than `columns`, at most `rows` of them. */
void view_draw(const view *v, int64_t now_ms, int columns, int rows, buf *out);
/* The final lines since the last call: nodes and tool calls that ended, and how. `all`, for a pipe: also retries, waits, answers, and each tenth of a
 * fan-out. `out` NULL: they are dropped. */
void view_past(view *v, int columns, bool all, buf *out);
/* What was fed so far happened before this process: the time of what is still open counts from `now_ms` on, and not while the run lay still. */
void view_resume(view *v, int64_t now_ms);
/* Ctrl-C was pressed: adds a line that says what happens. */
void view_stop(view *v);

/* ---- on a terminal, or in a pipe --------------------------------------------------------------- */

typedef struct viewing viewing;
/* Begin to show `run` on stderr, as c->err_tty and c->err_colour say: what happens from now on; `run` may start later. Until view_end() the store handle
 * is the engine's alone. NULL: nothing is shown (no memory, no thread), which is not an error. */
viewing *view_begin(cli_call *c, pawl_engine *e, const char *run);
/* Print the last lines, remove the changing ones, and stop. NULL: nothing. */
void view_end(viewing *w);
/* Called by a signal handler, which must not write between the lines: the view adds a line about Ctrl-C. False: no view is shown, and the caller prints
 * it. */
bool view_stopping(void);

/* ---- asking ------------------------------------------------------------------------------------------ */

typedef enum ask_result { ASKED_ANSWER = 1, ASKED_LATER = 2, ASKED_GONE = 3 } ask_result;  /* GONE: stdin has ended, or Ctrl-C was pressed */
/* Ask the person at the terminal the question of `w`, on stderr and stdin: prompt, options by number, what "no" and "later" do (`no`: the effect of a
 * denial; NULL: not printed); repeats until the answer fits schema and options. `answer` gets JSON text. */
ssize_t ask_line(cli_call *c, char **line, size_t *room);       /* getline() of stdin; meanwhile c->rests is called */
ask_result view_ask(cli_call *c, const pawl_wait *w, const char *no, buf *answer);
/* unknown_outcome.c: the same for a wait that asks for the outcome of a command, answered in words. */
struct session;
ask_result doubt_ask(struct session *s, const char *run, const pawl_wait *w, buf *answer);
/* A typed answer to `w` as JSON: JSON text, or bare text or an option's number if the schema requires a string or an option; checked. PAWL_INVALID: err
 * says what fits. */
pawl_code view_answer(const pawl_wait *w, const char *text, buf *json, pawl_err *err);

#endif
