/* main.c - the program. */
#include "cli/verbs.h"
#include "effect/jq/jq.h"

#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    signal(SIGCHLD, SIG_DFL);   /* ignored, as some starters leave it, it would take the status of every command */
    if (argc > 1 && strcmp(argv[1], "@jq") == 0)
        return jq_child();
    return cli_main(&cli_program_pawl, argc, argv);
}
