/* inside.c - the last step into a sandbox. Every file system there is mounted read-only or belongs to the sandbox, but a named pipe or a socket in one of
 * them still leads to a process outside. This program forbids itself and its children to open anything for writing outside the given folders and devices
 * (landlock.c), and system calls that lead out (filter.c); it sets limits of resources; then it runs PROGRAM.
 *
 *   inside [OPTION]... [WHERE]... -- PROGRAM [ARGUMENT]...
 *   inside [OPTION]... [WHERE]... -probe [NAME VALUE]...    tries each wall instead (probe.c)
 *
 *   -unix           sockets with a path may be made
 *   -loose          a kernel without Landlock is no error
 *   -proxy          descriptor 4 leads to a proxy outside (proxy.c)
 *   -processes N    as many processes of this user in the sandbox
 *   -memory N       bytes of data of each process
 *   -file N         bytes of each file that is written
 *   -files N        open files of each process
 *
 * A program of its own, for two reasons: after these restrictions bubblewrap could not mount anything, and a process that uses the library may have
 * many threads. The library contains the program as bytes (src/effect/sandbox.c). */
#define _GNU_SOURCE             /* syscall */
#include "inside/inside.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct options { bool unix_sockets, loose, proxy; } options;

/* ---- limits ---------------------------------------------------------------------------------------------------- */

/* Lowers a limit, also for those who could raise it again. */
static bool lowered(int which, rlim_t most)
{
    struct rlimit now;

    if (getrlimit((__rlimit_resource_t)which, &now) != 0)
        return false;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
        most = now.rlim_max;
    now = (struct rlimit){ most, most };
    return setrlimit((__rlimit_resource_t)which, &now) == 0;
}

/* 2: an option with its number; 1: one without; 0: not an option; -1: wrong. */
static int option_read(options *o, char **argv, int left)
{
    static const struct { const char *name; int which; } limits[] = {
        { "-processes", RLIMIT_NPROC }, { "-memory", RLIMIT_DATA }, { "-file", RLIMIT_FSIZE }, { "-files", RLIMIT_NOFILE },
    };

    if (strcmp(argv[0], "-unix") == 0)
        return o->unix_sockets = true;
    if (strcmp(argv[0], "-loose") == 0)
        return o->loose = true;
    if (strcmp(argv[0], "-proxy") == 0)
        return o->proxy = true;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(argv[0], limits[i].name) == 0)
            return left > 1 && lowered(limits[i].which, (rlim_t)number_of(argv[1])) ? 2 : -1;
    return 0;
}

/* ---- main ------------------------------------------------------------------------------------------------------- */

static int restricted(const options *o, char **where, int n)
{
    int code;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cannot("a pipe could be written to, for this kernel lets a program gain rights");
    if (!lowered(RLIMIT_CORE, 0))
        return cannot("a core file could be written, for its limit cannot be set");
    if ((o->proxy && (code = proxy_offer()) != 0) || (code = restrict_writing(where, n, !o->loose)) != 0 || (code = restrict_calls(o->unix_sockets)) != 0)
        return code;
#ifdef SYS_close_range
    (void)syscall(SYS_close_range, 3, ~0u, 0);      /* among them this program's own file */
#endif
    return 0;
}

int main(int argc, char **argv)
{
    options o = { .unix_sockets = false };
    int first = 1, n, code, took;

    while (first < argc && (took = option_read(&o, argv + first, argc - first)) != 0) {
        if (took < 0)
            return cannot("a limit of the sandbox cannot be set");
        first += took;
    }
    for (n = first; n < argc && argv[n][0] == '/';)
        n++;
    if (n < argc && strcmp(argv[n], "-probe") == 0)
        return (code = restricted(&o, argv + first, n - first)) != 0 ? code : probe_walls(argv + n + 1, argc - n - 1);
    if (n + 1 >= argc || strcmp(argv[n], "--") != 0)
        return cannot("usage: inside [OPTION]... [WHERE]... -- PROGRAM [ARGUMENT]...");
    if ((code = restricted(&o, argv + first, n - first)) != 0)
        return code;
    execvp(argv[n + 1], argv + n + 1);
    (void)line_write(STDERR_FILENO, argv[n + 1], ": ", strerror(errno));
    return NO_PROGRAM;
}
