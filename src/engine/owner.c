/* owner.c - see owner.h. Alone, since what it includes of the system has names that the kernel has, too. */
#include "engine/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 48 };

static void host_name(char host[static HOST_BYTES])
{
    memset(host, 0, HOST_BYTES);
    if (gethostname(host, HOST_BYTES - 1) != 0 || *host == '\0')
        memcpy(host, "here", 5);
}

void owner_name(char *out, size_t size, uint64_t number)
{
    char host[HOST_BYTES];

    host_name(host);
    snprintf(out, size, "%s:%ld:%08llx", host, (long)getpid(), (unsigned long long)(number >> 32));
}

bool owner_dead(const char *owner)
{
    char host[HOST_BYTES];
    const char *colon = owner == NULL ? NULL : strchr(owner, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - owner);
    long pid;

    host_name(host);
    if (colon == NULL || n >= HOST_BYTES || strncmp(owner, host, n) != 0 || host[n] != '\0')
        return false;
    pid = strtol(colon + 1, NULL, 10);
    return pid > 0 && pid != (long)getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}
