/* run_driver.h - drives a run for a verb: shows it, asks its questions, stops it on Ctrl-C, prints how it ended. */
#ifndef CLI_RUN_DRIVER_H
#define CLI_RUN_DRIVER_H

#include "host/open_questions.h"
#include "cli/open_session.h"

/* The first action: called once, after Ctrl-C and the view are set up; returns the engine's code. */
typedef pawl_code drive_fn(session *s, void *ctx, pawl_err *err);

/* Drives the session's run: calls `first`, then drives it until it ends, waits for a person who is not at this terminal, or was stopped. Prints its state,
 * the command that continues it, and the result. Returns the exit code. */
int drive_run(session *s, drive_fn *first, void *ctx);
/* `pawl_run` without input. */
pawl_code drive_continue(session *s, void *ctx, pawl_err *err);
/* Applies one event, which `ctx` points to. */
pawl_code drive_event(session *s, void *ctx, pawl_err *err);
/* Gives the run an event, and drives it as drive_run; with --no-run the event is only stored for the run. Returns the exit code. */
int event_send(session *s, const pawl_event *ev);
pawl_code session_deliver(session *s, const pawl_event *ev, pawl_err *err);    /* stores a delivery for the process that drives the run; durable */
pawl_code session_deliver_to(session *s, const char *run, const pawl_event *ev, pawl_err *err);   /* the same for another run: a child */
/* The same under the id that the call has, if it has one (cli_call): the same event again changes nothing, another one is PAWL_CONFLICT. */
pawl_code session_deliver_once(session *s, const char *run, const pawl_event *ev, pawl_err *err);
pawl_code session_deliver_under(session *s, const char *run, const pawl_event *ev, const char *id, pawl_err *err);     /* under `id`; NULL: a new one */
bool delivered_under(session *s, const char *run, const char *id);      /* something was delivered to `run` under `id`; NULL: nothing was */
bool delivered_before(session *s, const char *run);          /* something was delivered to `run` under that id, and perhaps taken since */
int left_print(session *s, const char *run);             /* EXIT_DONE; as JSON if it is wanted: something is stored for `run`, and not driven */
/* Whether the delivery `no` of `run` is in its mailbox. False: a process has taken it, and stored what it led to in the same transaction. */
bool delivery_is_open(session *s, const char *run, uint64_t no);
/* If `rc` is a conflict, replaces the error by one that names the author of the first answer. */
pawl_code answered_before(session *s, const pawl_event *ev, pawl_code rc, pawl_err *err);
/* Whether the run accepts an event of that kind now: EXIT_DONE, or the exit code after the reason was printed. */
int event_allowed(session *s, pawl_event_kind kind);
const pawl_value *set_values(cli_call *c, int *code);                       /* retry.c: --set CHANNEL=JSON... as an object */
/* run.c: whether each member of `values` is a channel of the file, and no secret; false: err says which, and what was meant. */
bool channels_known(const session *s, const pawl_value *values, const char *what, pawl_err *err);
bool set_fits(session *s, const pawl_value *set, int *code);                /* retry.c: the same for --set; false: the error was printed */

/* budget.c: the limits that an option gives, in the form of "@budget". EXIT_DONE, or the usage error was printed. */
int budget_bounds(cli_call *c, const char *option, const pawl_value **caps);
/* run_mode.c: before a run continues, --mode and the current settings are delivered to it (app/ways.h). `drives`: this process drives it, so bypass, which
 * is not kept, has to be given again. EXIT_DONE; else the error was printed. */
int mode_deliver(session *s, pawl_state *st, bool drives);
int mode_with_reopen(session *s, const pawl_value **set);   /* for a run that has ended, which takes them only when it is reopened: adds them to `set` */
pawl_code mode_deliver_quietly(session *s, pawl_state *st, bool drives, pawl_err *err);   /* as mode_deliver, but prints nothing; --mode was checked */
bool mode_within(cli_call *c, pawl_mode mode, int *code);        /* false: whoever asks the server may not give it, which was said */
bool mode_given(cli_call *c, int *code);        /* whether --mode has a valid value, or none; else the usage error was printed */
/* fork.c: a new run from the entry `seq` (0: the newest) of s->run, with `set` (an object) and the current settings; `id`: its id, NULL: a new one. */
pawl_code fork_make(session *s, uint64_t seq, const pawl_value *set, const char *id, char fork[RUN_ID_BYTES], pawl_err *err);
int resume_session(session *s);                 /* resume.c: continue an existing run */

/* ui/waits.c: the waits of a run, as a block on stderr, and as JSON. */
const pawl_value *wait_json(arena *mem, const pawl_wait *w);
const pawl_value *signed_names(arena *mem, const pawl_value *signed_by);        /* who has signed so far, of pawl_wait: an array of names */
/* The open questions of a run and its children, from the store. False: it cannot be read. */
bool session_asks(session *s, const char *run, asks *out);
void print_asks(session *s, const asks *all);
const char *wait_kind_text(pawl_wait_kind kind);     /* "an approval", "a signal" */
const pawl_value *asks_json(arena *mem, const asks *all);
/* Among the open waits of the run `within` (the session's, or a child) and of its children, find the one that `given` names: an id, a slot, a node or a
 * run; NULL: the only one that asks a person. If it is not unique, the waits are listed. PAWL_OK: *out is valid as long as the session. PAWL_CONFLICT: it
 * was answered before, and err has that answer. */
pawl_code wait_find(session *s, const char *within, const char *given, ask *out, pawl_err *err);
enum { DRIVER_NAME_BYTES = 160 };
/* Waiting for another process: the version of the store is read every WRITE_LOOK_MS, its tables after a change, else after WRITE_MS: PAST_ANSWER_READS
 * times for an answer; for a delivery in intervals that double up to WRITE_MS_MAX, TAKEN_MS_MAX in all. */
enum { WRITE_LOOK_MS = 2, WRITE_MS = 20, PAST_ANSWER_READS = 25, WRITE_MS_MAX = 160, TAKEN_MS_MAX = 3000 };
/* Whether another process drives the session's run now; its name is put into `who` (may be NULL). False while this process drives it. */
bool driven_elsewhere(session *s, char who[DRIVER_NAME_BYTES]);
/* The latest answer to a wait of `run` that `given` (an id, a node; NULL: any) names; valid as long as the session. False: there is none. */
typedef struct past_answer { const char *node, *by, *note; const pawl_value *value; uint64_t seq; } past_answer;      /* seq: of its entry */
void put_refusal(session *s, buf *b);           /* of a rejected run: who denied, and why */
bool past_answer_find(session *s, const char *run, const char *given, past_answer *out);
/* Waits until somebody has written to the store, or for `ms`; reads no table. `seen`: the data version, in and out. */
void wait_for_write(pawl_store *store, uint64_t *seen, int ms);
/* The same for the wait `id`; waits for a moment, because the answer may not be stored yet. */
bool past_answer_await(session *s, const char *id, past_answer *out);
pawl_code past_answer_conflict(const char *run, const past_answer *before, pawl_err *err);  /* PAWL_CONFLICT, with the earlier answer in err */
/* ui/unknown_outcome.c: a wait that asks for the outcome of a command; how it is printed, and an answer converted to what the wait expects. */
bool doubt_is(const pawl_wait *w);
/* The command of a node that was cut off, as its run stored it, as {"input","tool"}: its id is that of the wait. NULL: pruned, or no memory. */
const pawl_value *doubt_command(arena *mem, pawl_store *store, const char *run, const char *id, const char *task);
void doubt_print(const pawl_wait *w, const pawl_value *about, buf *b);
void doubt_print_ways(const pawl_wait *w, const char *run, bool only, buf *b);
pawl_code doubt_answer(session *s, const pawl_wait *w, const char *text, buf *json, pawl_err *err);
/* After Ctrl-C or SIGTERM: 130 or 143; else 0. */
int signals_stopped(void);
/* From now on the first Ctrl-C does not stop the run: the caller checks signals_interrupted(), and interrupts the turn of its agent. */
void signals_interrupt_turn(void);
bool signals_interrupted(void);
void signals_catch(pawl_engine *e);             /* NULL: restores the previous handlers */

#endif
