/* open_session.h - a session (app/session.h) for a verb: of a file, or of the run that its argument names.
 *
 * Each function returns NULL with *code, the exit code, after it has printed the error on stderr. */
#ifndef CLI_OPEN_SESSION_H
#define CLI_OPEN_SESSION_H

#include "app/session.h"
#include "cli/cli.h"

/* A session of a file, which is loaded and checked completely. */
session *session_of_file(cli_call *c, const char *path, int *code);
/* A session of a text, which is copied, under the name `path`. */
session *session_of_text(cli_call *c, const char *path, pawl_bytes text, int *code);
/* As session_of_file, without printing: the errors are in its faults. It has no machine if one of them is more than a note, or if `err` has
 * another error. NULL: no memory. */
session *session_load_quietly(cli_call *c, const char *path, pawl_err *err);
/* A session of the run that `given` names in the store of the call, by the file that the run keeps, or by --file if the verb has that option: if its
 * hash differs, and --upgrade was not given, the first difference is printed and *code is EXIT_FAILED. */
session *session_of_run(cli_call *c, const char *given, int *code);
/* The same for a run in an open store, by `file` (NULL: the one that the run keeps). Takes `store`, also on failure. */
session *session_of_run_in(cli_call *c, pawl_store *store, const char *run, const char *file, int *code);
/* The same, by the file that it keeps, for the topmost run that waits for `run` (asks_top). */
session *session_of_top_in(cli_call *c, pawl_store *store, const char *run, int *code);
/* Prints the errors of the file, one a line: "FILE:LINE:COLUMN: ...". `all`: notes, too. */
void session_print_faults(const cli_call *c, const faults *f, bool all, FILE *to);
/* Prints why the last turn of an agent failed. False: it has not ended, or did not fail. */
bool agent_failed(const session *s, pawl_state *st);

#endif
