/* git_guard.c - keeps a command from leading git to another configuration.
 *
 * Called by bash.c before a command and after it, and by bg_shell.c when a shell has ended; any thread. Owns nothing. */
#define _XOPEN_SOURCE 700
#include "effect/tool/tool.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* Where git looks for its configuration and hooks, if that file is in a repository: a repository of its own has none, and a command could make one. git
 * makes files beside it all the time, so that nothing can be mounted there. */
static const char git_leads[] = "commondir";

static bool git_leads_away(int git)
{
    struct stat st;

    return fstatat(git, git_leads, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The repository as it is before the command, which may put another folder, or a link, in its place. -1: there is none, or its configuration is elsewhere. */
int git_guard_open(const char *folder)
{
    char path[PATH_MAX];
    int git = -1;

    if (snprintf(path, sizeof path, "%s/.git", folder) < (int)sizeof path)
        git = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (git < 0 || !git_leads_away(git))
        return git;
    close(git);
    return -1;
}

bool git_guard_close(int git)
{
    bool led = false;

    if (git < 0)
        return false;
    led = git_leads_away(git) && unlinkat(git, git_leads, 0) == 0;
    close(git);
    return led;
}
