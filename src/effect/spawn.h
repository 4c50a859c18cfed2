/* spawn.h - starts a program. */
#ifndef EFFECT_SPAWN_H
#define EFFECT_SPAWN_H

#include <stddef.h>
#include <stdbool.h>
#include <sys/types.h>

/* The program does not inherit descriptors of 3 and above (except `third` and `fourth`), blocked or ignored signals, and the caller's process group. */
typedef struct spawn_plan {
    char **argv, **envp;        /* argv[0] is searched in the caller's PATH unless it has a slash */
    const char *cwd;            /* NULL: the caller's */
    int fds[3];                 /* becomes 0, 1 and 2 of the program; each above 2; fds[0] below 0: /dev/null */
    int third, fourth;          /* become 3 and 4 of the program; 0: none. A fourth is above 4, and so is then the third */
    const int *groups;          /* ngroups entries of control groups (cgroup.h): the program belongs to these groups from its start */
    size_t ngroups;
    bool confined;              /* the program and all that it starts are marked, for spawn_is_confined() */
} spawn_plan;

/* Start it as the leader of its own process group. It gets SIGKILL when the calling thread ends, so also when this process dies (E18). Returns 0, or the
 * errno; then there is no process. Any thread. */
int spawn_program(const spawn_plan *plan, pid_t *pid);

/* Whether this process descends from a confined program: it must not change what runs may do (P9). The mark is the hard limit 0 of RLIMIT_LOCKS, which
 * Linux has not used since 2.4.25: every child and every program inherits it, and only CAP_SYS_RESOURCE of the machine itself, which no sandbox has, can
 * raise it. So neither another name of this program, an empty environment, another root or file system, nor a namespace of one's own takes it off. */
bool spawn_is_confined(void);

#endif
