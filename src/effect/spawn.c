/* spawn.c - starts a program by vfork() and execve().
 *
 * Called by process.c, on any thread. posix_spawn() cannot ask for a signal at the parent's death, so the steps between fork and exec are here.
 *
 * Invariants:
 *   P1  between vfork() and execve() the child shares the parent's memory: it calls nothing but system calls, allocates nothing, and writes to its own
 *       stack alone. All signals are blocked meanwhile, so that no handler of the host runs in it.
 *   P2  no program runs that has missed the death of its parent: the parent is compared after the signal was asked for. */
#define _GNU_SOURCE             /* vfork, pipe2, environ */
#include "effect/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLOSE_MAX = 65536 };     /* descriptors closed one by one if the system cannot close a range */

typedef struct child_plan {
    const spawn_plan *plan;
    const char *path;           /* of the caller's environment */
    pid_t parent;
    int report;                 /* receives the errno; closed by a successful exec */
} child_plan;

/* ---- in the child (P1) -------------------------------------------------------------------------------- */

static bool signals_reset(void)
{
    const struct sigaction plain = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            sigaction(sig, &plain, NULL);       /* some signals belong to the C library, which refuses them */
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static void close_between(unsigned first, unsigned last)
{
    struct rlimit most;

    if (first > last)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur > CLOSE_MAX)
        most.rlim_cur = CLOSE_MAX;
    for (unsigned fd = first; fd <= last && fd < most.rlim_cur; fd++)
        close((int)fd);
}

static bool descriptors_set(const child_plan *c)
{
    const spawn_plan *p = c->plan;
    const unsigned own = p->fourth > 0 ? 5 : p->third > 0 ? 4 : 3;
    int null;

    if (p->fds[0] >= 0) {
        if (dup2(p->fds[0], 0) < 0)
            return false;
    } else {
        if ((null = open("/dev/null", O_RDONLY)) < 0 || (null != 0 && dup2(null, 0) < 0))
            return false;
    }
    if (dup2(p->fds[1], 1) < 0 || dup2(p->fds[2], 2) < 0)
        return false;
    if (p->third > 0 && p->third != 3 && dup2(p->third, 3) < 0)
        return false;
    if (p->third == 3 && fcntl(3, F_SETFD, 0) != 0)
        return false;
    if (p->fourth > 0 && dup2(p->fourth, 4) < 0)
        return false;
    close_between(own, (unsigned)c->report - 1);
    close_between((unsigned)c->report + 1, UINT_MAX);
    return true;
}

/* Like execvpe(), except that a file without a known format is not run by sh. */
static int run(const child_plan *c)
{
    const spawn_plan *p = c->plan;
    const char *name = p->argv[0], *at = c->path;
    const size_t n = strlen(name);
    char file[PATH_MAX];
    bool refused = false;

    if (strchr(name, '/') != NULL) {
        execve(name, p->argv, p->envp);
        return errno;
    }
    for (bool more = true; more;) {
        const size_t m = strcspn(at, ":"), slash = m > 0 ? 1 : 0;       /* an empty entry is the working folder */

        if (m + slash + n < sizeof file) {
            memcpy(file, at, m);
            file[m] = '/';
            memcpy(file + m + slash, name, n + 1);
            execve(file, p->argv, p->envp);
            refused = refused || errno == EACCES;
            if (errno != EACCES && errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT)
                return errno;
        }
        more = at[m] == ':';
        at += m + 1;
    }
    return refused ? EACCES : ENOENT;
}

static bool groups_joined(const spawn_plan *p)
{
    for (size_t i = 0; i < p->ngroups; i++)
        if (write(p->groups[i], "0", 1) != 1)
            return false;
    return true;
}

static bool mark_set(void)
{
    const struct rlimit none = { 0, 0 };

    return setrlimit(RLIMIT_LOCKS, &none) == 0;
}

static _Noreturn void child(const child_plan *c)
{
    int why;
    ssize_t told;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || (getppid() != c->parent && getppid() != 0))     /* P2; 0: the parent is of another PID namespace */
        _exit(127);
    if (setpgid(0, 0) != 0 || !groups_joined(c->plan) || !descriptors_set(c) || (c->plan->confined && !mark_set()) ||
        (c->plan->cwd != NULL && chdir(c->plan->cwd) != 0) || !signals_reset())
        why = errno;
    else
        why = run(c);
    told = write(c->report, &why, sizeof why);
    (void)told;
    _exit(127);
}

/* ---- in the parent ---------------------------------------------------------------------------------------- */

static pid_t launch(const child_plan *c)
{
    const pid_t pid = vfork();

    if (pid == 0)
        child(c);
    return pid;
}

/* 0: it was started. */
static int outcome(int report, pid_t pid)
{
    int why = 0, status;
    ssize_t n;

    do
        n = read(report, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return n == (ssize_t)sizeof why && why != 0 ? why : EAGAIN;
}

int spawn_program(const spawn_plan *plan, pid_t *pid)
{
    const char *path = getenv("PATH");
    child_plan c = { .plan = plan, .path = path != NULL ? path : "/bin:/usr/bin", .parent = getpid() };
    sigset_t all, before;
    int report[2], why;

    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    if (report[1] < 5) {        /* the child puts other descriptors there */
        why = fcntl(report[1], F_DUPFD_CLOEXEC, 5);
        close(report[1]);
        report[1] = why;
    }
    if ((c.report = report[1]) < 0) {
        why = errno;
        close(report[0]);
        return why;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *pid = launch(&c);
    why = *pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (*pid > 0)
        why = outcome(report[0], *pid);
    close(report[0]);
    return why;
}

bool spawn_is_confined(void)
{
    struct rlimit now;

    return getrlimit(RLIMIT_LOCKS, &now) == 0 && now.rlim_max == 0;
}
