/* main.c - the program: repairs what it inherits from the process that started it, then calls a verb.
 *
 * Called once, before there is another thread. */
#define _XOPEN_SOURCE 700       /* SIGXFSZ */
#include "cli/verbs.h"
#include "effect/jq/jq.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { STACK_KIB_LEAST = 512 };

/* If 0, 1 or 2 is closed, the store or a pipe would get that number, and messages would be written into it. */
static bool standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

static bool stack_fits(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_STACK, &r) != 0 || r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= (rlim_t)STACK_KIB_LEAST * 1024;
}

int main(int argc, char **argv)
{
    if (!standard_files())
        return EXIT_FAILED;
    (void)prctl(PR_SET_DUMPABLE, 0);    /* the keys of models are in its memory: no core file, and no other process of this user reads it */
    signal(SIGCHLD, SIG_DFL);   /* if it is ignored, as some starters leave it, the exit status of every command is lost */
    signal(SIGXFSZ, SIG_IGN);   /* a file that may not grow must be an error of the store, not the end of the program */
    if (argc > 1 && strcmp(argv[1], "@jq") == 0)
        return jq_child();
    if (!stack_fits()) {
        fprintf(stderr, "pawl: the stack is limited to less than %d KiB; ulimit -s %d, or more, and try again\n", STACK_KIB_LEAST, STACK_KIB_LEAST);
        return EXIT_FAILED;
    }
    return cli_main(&cli_program_pawl, argc, argv);
}
