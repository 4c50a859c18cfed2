/* spawn.h - how a program is started. */
#ifndef EFFECT_SPAWN_H
#define EFFECT_SPAWN_H

#include <sys/types.h>

/* Descriptors of 3 and above but `third`, signals that are blocked or ignored, and the caller's process group are not inherited. */
typedef struct spawn_plan {
    char **argv, **envp;        /* argv[0] is looked for in the caller's PATH unless it has a slash */
    const char *cwd;            /* NULL: the caller's */
    int fds[3];                 /* what the program has as 0, 1 and 2, each above 2; fds[0] below 0: /dev/null */
    int third;                  /* what it has as 3; 0: nothing */
} spawn_plan;

/* Start it as the leader of a process group of its own. It gets SIGKILL when the calling thread ends, and so when this process dies (E18).
 * Returns 0, or an errno of what went wrong: then there is no process. Any thread. */
int spawn_program(const spawn_plan *plan, pid_t *pid);

#endif
