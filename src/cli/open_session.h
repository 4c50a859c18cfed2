/* open_session.h - a session (app/session.h) for a verb: of a file, or of the run that its argument names; what is wrong is said on stderr.
 *
 * Each returns NULL with *code, the exit code, once the reason was said. */
#ifndef CLI_OPEN_SESSION_H
#define CLI_OPEN_SESSION_H

#include "app/session.h"
#include "cli/cli.h"

/* Of a file: loaded and checked whole. */
session *session_of_file(cli_call *c, const char *path, int *code);
/* Of a text, which is copied, under the name `path`. */
session *session_of_text(cli_call *c, const char *path, pawl_bytes text, int *code);
/* Of a file, and nothing is said: what was found is in its faults; it has no machine when one of them is more than a note, or `err` says
 * what else was wrong. NULL: no memory. */
session *session_load_quietly(cli_call *c, const char *path, pawl_err *err);
/* Of the run that `given` means in the store of the call, by the file that the run keeps. --file of the call (where the verb has it) gives
 * another one: where its hash differs, *code is EXIT_FAILED and the first divergence is said, unless --upgrade was given. */
session *session_of_run(cli_call *c, const char *given, int *code);
/* The same of a run in an open store, by `file` (NULL: the one that it keeps). Takes `store`, also on failure. */
session *session_of_run_in(cli_call *c, pawl_store *store, const char *run, const char *file, int *code);
/* Says what was found in the file, one line each: "FILE:LINE:COLUMN: ...". `all`: notes, too. */
void session_say_faults(const cli_call *c, const faults *f, bool all);
/* An agent's last turn did not end well: says why. False: it is under way, or ended otherwise. */
bool agent_failed(const session *s, pawl_state *st);

#endif
