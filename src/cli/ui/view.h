/* view.h - what a run does, for a person who looks on: a few lines that change on a terminal, plain lines elsewhere.
 *
 * The picture is a function of the events that it was fed and of the time: no terminal, no clock. Beside it a thread that reads
 * the run's stream and paints on stderr while another one drives. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/cli.h"

typedef struct view view;

/* ---- the picture ---------------------------------------------------------------------------- */

enum { VIEW_KINDS = PAWL_STREAM_TASKS | PAWL_STREAM_DEBUG };    /* what of a stream it is made of */

view *view_new(bool colour);
void view_free(view *v);
bool view_feed(view *v, const pawl_stream_event *ev);   /* false: no memory; then the picture is not what it should be */
/* The lines as they stand at `now_ms`, each ending in a newline, none longer than `columns`, at most `rows` of them. */
void view_draw(const view *v, int64_t now_ms, int columns, int rows, buf *out);
/* Lines that will not change any more of what came since this was asked last: nodes that ended, and how. `all`: also retries, waits,
 * answers, and how far a fan-out is at each tenth: for a pipe, where nothing is drawn. `out` NULL: they are forgotten. */
void view_past(view *v, int columns, bool all, buf *out);
/* Somebody pressed Ctrl-C: a line about what that does. */
void view_stop(view *v);

/* ---- on a terminal, or in a pipe --------------------------------------------------------------- */

typedef struct viewing viewing;
/* Begin to show `run` on stderr, as c->err_tty and c->err_colour say: what happens from now on; `run` may be begun later. Until it
 * is ended the store's handle is the engine's alone. NULL: nothing is shown (no memory, no thread): never mind. */
viewing *view_begin(cli_call *c, pawl_engine *e, const char *run);
/* Show what is left, take the changing lines away, and stop. NULL: nothing. */
void view_end(viewing *w);
/* For a signal's handler, which may not write between the lines: what Ctrl-C does is said here. False: nothing is shown now, say it yourself. */
bool view_stopping(void);

/* ---- asking ------------------------------------------------------------------------------------------ */

typedef enum ask_result { ASKED_ANSWER = 1, ASKED_LATER = 2, ASKED_GONE = 3 } ask_result;  /* GONE: stdin is over, or Ctrl-C */
/* Ask whoever sits there what `w` asks, on stderr and stdin: prompt, options by number, what "no" and "later" do (`no`: what a no leads to, or
 * NULL: nothing is said of it); again until the answer fits schema and options. `answer` gets JSON text. */
ask_result view_ask(cli_call *c, const pawl_wait *w, const char *no, buf *answer);
/* What somebody typed or gave on the command line as the answer to `w`: JSON where that is meant, bare text or a number's option where
 * the schema wants a string or an option (checked). PAWL_INVALID: err says what fits. */
pawl_code view_answer(const pawl_wait *w, const char *text, buf *json, pawl_err *err);

#endif
