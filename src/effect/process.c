/* process.c - one program run to its end: started in a group of its own, fed, drained, stopped.
 *
 * The leader is not reaped before its group has been killed: until then nobody else can get its number. */
#define _GNU_SOURCE             /* pipe2, and what posix_spawn lacks: a working folder, closing all else */
#include "effect/effect.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_MS = 2000,            /* from SIGTERM to SIGKILL; and for output that still comes when the program has ended */
    KILLED_MS = 10000,          /* until what was killed is taken for immortal */
    LOOK_MS = 20,               /* between two looks at it where no descriptor tells its end */
    CHUNK_BYTES = 16384,
    CHUNKS_MAX = 16             /* at a time, so that an endless writer can be stopped */
};

typedef struct run {
    process *p;
    pid_t pid;
    int in, out, err, end, stop;    /* ours; -1: closed. `end` is readable when it has ended, `stop` when it is to stop */
    size_t fed;
    int64_t due_ms;                 /* of the next signal */
    int64_t beat_ms;
    bool ended, lost, killed, immortal;
} run;

/* ---- start -------------------------------------------------------------------------------------------- */

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Above 2, so that no two of the child's three are in each other's way. */
static bool lift(int *fd)
{
    int high;

    if (*fd > 2)
        return true;
    high = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
    shut(fd);
    *fd = high;
    return high >= 0;
}

static bool pipe_open(int *ours, int *theirs, bool read)
{
    int fd[2];
    bool lifted;

    if (pipe2(fd, O_CLOEXEC) != 0)
        return false;
    *ours = fd[read ? 0 : 1];
    *theirs = fd[read ? 1 : 0];
    lifted = lift(ours);
    return lift(theirs) && lifted && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

static int spawn(run *r, const int theirs[3])
{
    posix_spawn_file_actions_t acts;
    posix_spawnattr_t attr;
    sigset_t all, none;
    int rc;

    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    if ((rc = posix_spawn_file_actions_init(&acts)) != 0)
        return rc;
    if ((rc = posix_spawnattr_init(&attr)) != 0) {
        posix_spawn_file_actions_destroy(&acts);
        return rc;
    }
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    rc = theirs[0] >= 0 ? posix_spawn_file_actions_adddup2(&acts, theirs[0], 0)
                        : posix_spawn_file_actions_addopen(&acts, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 1; i < 3 && rc == 0; i++)
        rc = posix_spawn_file_actions_adddup2(&acts, r->p->joined ? theirs[1] : theirs[i], i);
    if (rc == 0 && r->p->third > 0)
        rc = posix_spawn_file_actions_adddup2(&acts, r->p->third, 3);
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (rc == 0)                /* what the host left open without O_CLOEXEC is not the program's */
        rc = posix_spawn_file_actions_addclosefrom_np(&acts, r->p->third > 0 ? 4 : 3);
#endif
    if (rc == 0 && r->p->cwd != NULL)
        rc = posix_spawn_file_actions_addchdir_np(&acts, r->p->cwd);
    if (rc == 0)
        rc = posix_spawnp(&r->pid, r->p->argv[0], &acts, &attr, r->p->argv, r->p->envp);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&acts);
    return rc;
}

static pawl_code not_started(const process *p, int why, pawl_err *err)
{
    const char *name = p->argv[0];

    switch (why) {
    case ENOENT:
    case ENOTDIR: return fail(err, PAWL_INVALID, "%s: there is no such program%s", name, strchr(name, '/') ? "" : " in PATH");
    case EACCES:
    case EPERM: return fail(err, PAWL_INVALID, "%s: is not a program that may be run; check its mode bits", name);
    case ENOEXEC: return fail(err, PAWL_INVALID, "%s: is not a program; a script begins with #!", name);
    case E2BIG: return fail(err, PAWL_LIMIT, "%s: its arguments and environment are more than the system takes", name);
    case EMFILE:
    case ENFILE: return fail(err, PAWL_TRANSIENT, "%s: no file descriptor is left to run it with", name);
    case EAGAIN:
    case ENOMEM: return fail(err, PAWL_TRANSIENT, "%s: the system has no room for another process", name);
    default: return fail(err, PAWL_INVALID, "%s: cannot be run (errno %d)", name, why);
    }
}

static pawl_code start(run *r, pawl_err *err)
{
    int theirs[3] = { -1, -1, -1 }, why = 0;
    process *p = r->p;
    struct stat st;

    if (p->cwd != NULL && (stat(p->cwd, &st) != 0 || !S_ISDIR(st.st_mode)))
        return fail(err, PAWL_INVALID, "%s: its working folder %s is not there", p->argv[0], p->cwd);
    if (!pipe_open(&r->out, &theirs[1], true) || (!p->joined && !pipe_open(&r->err, &theirs[2], true)) ||
        (p->in != NULL && !pipe_open(&r->in, &theirs[0], false)))
        why = errno;
    else
        why = spawn(r, theirs);
    for (int i = 0; i < 3; i++)
        shut(&theirs[i]);
    if (why != 0)
        return not_started(p, why, err);
#ifdef SYS_pidfd_open
    r->end = (int)syscall(SYS_pidfd_open, r->pid, 0);
#endif
    return PAWL_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------------------- */

static void keep_begin(buf *b, size_t most, bool *cut, const char *data, size_t n)
{
    size_t room = most - b->size;

    if (n > room)
        *cut = true;
    buf_put(b, data, n < room ? n : room);
}

static void tail_trim(buf *b, size_t most)
{
    if (b->size <= most)
        return;
    memmove(b->data, b->data + (b->size - most), most);
    b->size = most;
}

/* Up to twice as much is held, so that it is moved seldom. */
static void keep_end(buf *b, size_t most, bool *cut, const char *data, size_t n)
{
    if (n > most) {
        data += n - most;
        n = most;
        *cut = true;
    }
    if (b->size + n > most)
        *cut = true;
    if (b->size + n > 2 * most)
        tail_trim(b, most);
    buf_put(b, data, n);
}

static void keep(run *r, const int *fd, const char *data, size_t n)
{
    process *p = r->p;
    size_t room = p->output_bytes - p->out.size;

    if (p->joined) {
        if (room > 0)
            buf_put(&p->out, data, n < room ? n : room);
        if (n > room)
            keep_end(&p->err, p->output_bytes, &p->err_cut, data + room, n - room);
    } else if (fd == &r->out) {
        keep_begin(&p->out, p->output_bytes, &p->out_cut, data, n);
    } else {
        keep_end(&p->err, p->output_bytes, &p->err_cut, data, n);
    }
}

/* Whether anything came. */
static bool drain(run *r, int *fd)
{
    char chunk[CHUNK_BYTES];
    bool came = false;

    for (int i = 0; i < CHUNKS_MAX && *fd >= 0; i++) {
        ssize_t n = read(*fd, chunk, sizeof chunk);

        if (n > 0) {
            came = true;
            keep(r, fd, chunk, (size_t)n);
            if (r->p->heard != NULL)
                r->p->heard(r->p->heard_ctx, chunk, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            shut(fd);
        } else if (errno == EAGAIN) {
            break;
        }
    }
    return came;
}

/* A program need not read what it is given. */
static bool feed(run *r)
{
    process *p = r->p;
    size_t before = r->fed;

    while (r->fed < p->in_size) {
        ssize_t n = write(r->in, p->in + r->fed, p->in_size - r->fed);

        if (n > 0)
            r->fed += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return r->fed > before;
        else if (n < 0 && errno != EINTR)
            break;
    }
    shut(&r->in);
    return r->fed > before;
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

static void look(run *r, int64_t now)
{
    siginfo_t info = {0};
    int rc;

    do
        rc = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT | WNOHANG);
    while (rc != 0 && errno == EINTR);
    r->lost = rc != 0;          /* the host waited for it, or ignores SIGCHLD */
    r->ended = r->lost || info.si_pid == r->pid;
    if (!r->ended)
        return;
    shut(&r->in);
    if (now + GRACE_MS < r->due_ms)
        r->due_ms = now + GRACE_MS;
}

static void to_group(const run *r, int sig)
{
    if (!r->lost)
        kill(-r->pid, sig);
}

/* What the hour asks for. */
static void decide(run *r, int64_t now)
{
    process *p = r->p;

    if (!r->ended && p->stopped == STOPPED_NOT) {
        if (r->stop == -2 || job_canceled(p->job))
            p->stopped = STOPPED_CANCEL;
        else if (now >= p->until_ms)
            p->stopped = STOPPED_TIMEOUT;
        if (p->stopped != STOPPED_NOT) {
            to_group(r, SIGTERM);
            to_group(r, SIGCONT);       /* one that is halted hears nothing */
            r->due_ms = now + GRACE_MS;
        }
    }
    if (now < r->due_ms)
        return;
    if (r->killed) {
        r->immortal = true;
        return;
    }
    to_group(r, SIGKILL);
    r->killed = true;
    r->due_ms = now + KILLED_MS;
}

static int wait_ms(const run *r, int64_t now)
{
    int64_t until = r->due_ms;

    if (!r->ended && r->p->stopped == STOPPED_NOT) {
        if (r->p->until_ms < until)
            until = r->p->until_ms;
        if (r->stop < 0 && r->p->job->canceled != NULL && now + CANCEL_POLL_MS < until)
            until = now + CANCEL_POLL_MS;
    }
    if (!r->ended && r->end < 0 && now + LOOK_MS < until)
        until = r->out < 0 && r->err < 0 ? now + 1 : now + LOOK_MS;
    return until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

static void turn(run *r)
{
    struct pollfd fds[5] = { { .fd = r->in, .events = POLLOUT }, { .fd = r->out, .events = POLLIN },
                             { .fd = r->err, .events = POLLIN }, { .fd = r->ended ? -1 : r->end, .events = POLLIN },
                             { .fd = r->stop, .events = POLLIN } };
    bool moved = false;

    if (poll(fds, 5, wait_ms(r, clock_ms())) <= 0)
        return;
    if (r->in >= 0 && fds[0].revents != 0)
        moved |= feed(r);
    if (fds[1].revents != 0)
        moved |= drain(r, &r->out);
    if (fds[2].revents != 0)
        moved |= drain(r, &r->err);
    if (fds[4].revents != 0)
        r->stop = fds[4].revents & POLLIN ? -2 : -1;    /* -2: heard */
    if (moved)
        job_moved(r->p->job, &r->beat_ms);
}

/* Until it has ended and its output has, or nobody is left to write any. */
static void pump(run *r)
{
    while (!r->immortal) {
        int64_t now = clock_ms();

        if (!r->ended)
            look(r, now);
        if (r->ended && (r->killed || r->lost || (r->out < 0 && r->err < 0)))
            break;
        decide(r, now);
        turn(r);
    }
    to_group(r, SIGKILL);       /* what it left behind */
    drain(r, &r->out);
    drain(r, &r->err);
}

static pawl_code reap(run *r, pawl_err *err)
{
    process *p = r->p;
    int status = 0;
    pid_t got = -1;

    if (r->immortal && !r->ended)
        return fail(err, PAWL_UNKNOWN, "%s: does not end, though it was killed (process %ld)", p->argv[0], (long)r->pid);
    if (!r->lost)
        do
            got = waitpid(r->pid, &status, 0);
        while (got < 0 && errno == EINTR);
    if (got != r->pid)
        return fail(err, PAWL_UNKNOWN, "%s: its status was lost; the host must not ignore SIGCHLD, nor wait for any child", p->argv[0]);
    p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    p->status = p->signal != 0 ? 128 + p->signal : WEXITSTATUS(status);
    return PAWL_OK;
}

pawl_code process_run(process *p, pawl_err *err)
{
    run r = { .p = p, .in = -1, .out = -1, .err = -1, .end = -1, .stop = p->job->cancel_fd > 0 ? p->job->cancel_fd : -1,
              .due_ms = INT64_MAX };
    pipe_hold hold;
    pawl_code rc = start(&r, err);

    if (rc == PAWL_OK) {
        pipe_guard(&hold);
        pump(&r);
        pipe_release(&hold);
        rc = reap(&r, err);
        tail_trim(&p->err, p->output_bytes);
    }
    shut(&r.in);
    shut(&r.out);
    shut(&r.err);
    shut(&r.end);
    return rc;
}
