/* prove.h - files that have a proof: `pawl check --prove`, and --proven of run and worker. */
#ifndef CLI_PROVE_H
#define CLI_PROVE_H

#include "cli/open_session.h"
#include "proof/prove.h"

/* The modes of --modes, a list with commas; 0: the usage error was printed. */
unsigned prove_modes(const cli_call *c, const char *text);
/* `pawl check --prove` of a valid file: prints the result, returns the exit code. */
int prove_print(cli_call *c, session *s);
/* PAWL_OK: runs of the session's file that start in `mode` and stay in it have a proof under these rules. PAWL_DENIED: err has the last line of the
 * path. */
pawl_code prove_admits(session *s, pawl_mode mode, const pawl_value *policy, const pawl_value *grants, pawl_err *err);
/* `pawl sim --replay FILE`. */
int prove_replayed(cli_call *c, session *s, const char *path);

#endif
