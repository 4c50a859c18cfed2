/* inside.h - shared by the files of the program `inside`: each restriction is one function. One thread; 0: it holds, else an exit code. */
#ifndef INSIDE_INSIDE_H
#define INSIDE_INSIDE_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { CANNOT = 125, NO_PROGRAM = 127 };     /* exit codes when PROGRAM was not run */

/* Writes one line to stderr; returns CANNOT. */
static inline int cannot(const char *what)
{
    (void)dprintf(STDERR_FILENO, "%s\n", what);
    return CANNOT;
}

/* Nothing can be opened for writing except below `where` (n paths; one that does not exist needs no rule). `required` false: a kernel without Landlock
 * is no error. */
int restrict_writing(char *const *where, int n, bool required);

/* No socket that leads outside of the network namespace, no new namespaces, keyrings, io_uring, ptrace and the like. `unix_sockets`: sockets with a path
 * may be made. Before it, PR_SET_NO_NEW_PRIVS is set. */
int restrict_calls(bool unix_sockets);

/* Opens a socket on this sandbox's 127.0.0.1, sends it through descriptor 4 to the proxy outside, which serves it, and names it in the environment. */
int proxy_offer(void);

/* Tries each wall for real, and writes "NAME shut" or "NAME open" for it on stdout. `with`: pairs of a name and what it needs ("read" "/home/x/file"). */
int probe_walls(char *const *with, int n);

#endif
