/* cgroup.h - a group of processes with limits of the kernel, where this process may make one. */
#ifndef EFFECT_CGROUP_H
#define EFFECT_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CGROUP_FOLDERS_MAX = 2 };    /* cgroup v1 has one folder for each kind of limit, v2 one for all */

typedef struct cgroup {
    char folders[CGROUP_FOLDERS_MAX][PATH_MAX];
    int entries[CGROUP_FOLDERS_MAX];    /* open files: a process of one thread that writes "0" to each belongs to the group */
    size_t n;                       /* 0: none could be made */
} cgroup;

/* Makes a group for at most `processes` processes and `memory` bytes in all. False: none may be made here, and nothing is left. Any thread. */
bool cgroup_make(cgroup *g, uint64_t processes, uint64_t memory);
/* Ends what still runs in it, and removes it. */
void cgroup_end(cgroup *g);

#endif
