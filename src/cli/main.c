/* main.c - the program. */
#include "cli/cli.h"
#include "effect/jq/jq.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "@jq") == 0)
        return jq_child();
    return cli_main(argc, argv);
}
