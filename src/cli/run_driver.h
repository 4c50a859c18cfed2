/* run_driver.h - drives a run for a verb: shows it, asks its questions, stops it on Ctrl-C, prints how it ended. */
#ifndef CLI_RUN_DRIVER_H
#define CLI_RUN_DRIVER_H

#include "host/open_questions.h"
#include "cli/open_session.h"

/* What begins it: called once with Ctrl-C and the view in place; returns what the engine says. */
typedef pawl_code go_fn(session *s, void *ctx, pawl_err *err);

/* Drive the session's run: `first`, and then whatever follows, until it is over, waits for somebody who is not here, or was
 * stopped. Says how it stands, and the one command that goes on; prints the result. Returns the exit code. */
int go(session *s, go_fn *first, void *ctx);
/* `pawl_run` without input: as it stands. */
pawl_code go_on(session *s, void *ctx, pawl_err *err);
/* One event, which `ctx` points to. */
pawl_code go_event(session *s, void *ctx, pawl_err *err);
/* For verbs that write an event: with --no-run it is only left for the run, and nothing is driven. */
int go_tell(session *s, const pawl_event *ev);
pawl_code session_tell(session *s, const pawl_event *ev, pawl_err *err);    /* left in the store for who drives it; durable */
pawl_code session_tell_run(session *s, const char *run, const pawl_event *ev, pawl_err *err);   /* the same for another run: a child of it */
/* After `rc` of an answer: the error of a conflict names the author of the first answer. */
pawl_code answered_before(session *s, const pawl_event *ev, pawl_code rc, pawl_err *err);
/* Whether the run accepts an event of that kind now. EXIT_DONE, or the exit code; then the reason was printed. */
int go_may_tell(session *s, pawl_event_kind kind);
const pawl_value *set_values(cli_call *c, int *code);                       /* retry.c: --set CHANNEL=JSON... as an object */
const char *go_who(void);                       /* who is at the keyboard: "ada" */

/* budget.c: the bounds that an option gives, as "@budget" has them. EXIT_DONE, or the usage was said. */
int budget_bounds(cli_call *c, const char *option, const pawl_value **caps);
/* run_mode.c: before it is driven on, --mode and the settings of the moment are left for it. Bypass is not kept, and has to be given again.
 * EXIT_DONE; else said. */
const char *go_mode_of(pawl_state *st);                /* the mode that it has, or is about to have; NULL: none */
int go_mode(session *s, pawl_state *st);
int go_mode_with(session *s, const pawl_value **set);   /* of one that is over, which takes them with its reopening alone: beside `set` */
int resume_session(session *s);                 /* resume.c: a run that is there goes on where it stands */

/* ui/waits.c: what a run waits for, as a block on stderr, and as JSON. */
const pawl_value *wait_json(arena *mem, const pawl_wait *w);
/* All that a run and its children ask, as it is stored. False: it cannot be read. */
bool go_asks(session *s, const char *run, asks *out);
void say_asks(session *s, const asks *all);
const pawl_value *asks_json(arena *mem, const asks *all);
/* Of what the run `within` (the session's, or a child of it) and its children ask, the wait that `given` means (NULL: the only one that asks a
 * person; else an id, a slot, a node, or the run that asks); else lists them. PAWL_OK, and *out lives as long as the session. PAWL_CONFLICT: it
 * was answered before, and err tells with what. */
pawl_code wait_find(session *s, const char *within, const char *given, ask *out, pawl_err *err);
/* Another process drives the session's run now: who, in `who` (may be NULL). Not while this one does. */
enum { GO_WHO_BYTES = 160, TAKEN_LOOKS = 25, TAKEN_MS = 20, TAKEN_LOOK_MS = 2 };     /* a delivery is waited for so often, so long */
bool go_elsewhere(session *s, char who[GO_WHO_BYTES]);
/* What was answered last, of those waits of `run` that `given` (an id, a node; NULL: any) means: lives as long as the session. False: nothing was. */
typedef struct said { const char *node, *by, *note; const pawl_value *value; } said;
bool go_said(session *s, const char *run, const char *given, said *out);
/* Until somebody has written to the store, or for TAKEN_MS: no table is read for that. `seen`: the version that was looked at, and then is. */
void wait_for_write(pawl_store *store, uint64_t *seen);
bool said_soon(session *s, const char *id, said *out);  /* the same of the wait `id`; it is waited for shortly, since it may not be stored yet */
pawl_code go_said_before(const char *run, const said *before, pawl_err *err);  /* PAWL_CONFLICT: that it was, and with what */
/* ui/unknown_outcome.c: a wait that asks what came of a command; how it is answered, and what was answered as the wait wants it. */
bool doubt_is(const pawl_wait *w);
void doubt_say(const pawl_wait *w, const char *run, bool only, buf *b);
pawl_code doubt_answer(session *s, const pawl_wait *w, const char *text, buf *json, pawl_err *err);
/* After Ctrl-C or SIGTERM: 130 or 143; else 0. */
int go_stopped(void);
void go_signals(pawl_engine *e);                /* NULL: as they were */

#endif
