/* process.c - one program run to its end: started in a group of its own, fed, drained, stopped.
 *
 * A run is driven in one of two ways: process_run() waits with poll() on the caller's thread, process_start() has it watched by the loop thread. It
 * belongs to that thread from its start on.
 *
 * Invariants:
 *   R1  the leader is not reaped before its group has been killed: until then its number cannot be given to another process
 *   R2  a run moves by run_move() alone: it works; or it is told to stop (SIGTERM), then killed; when its leader has ended, its output may still come
 *       until the grace is over
 *   R3  a descriptor is taken out of the loop before it is closed */
#define _GNU_SOURCE             /* pipe2 */
#include "base/sm.h"
#include "effect/effect.h"
#include "effect/spawn.h"
#include "net/io_loop.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_MS = 2000,            /* from SIGTERM to SIGKILL; and for output that arrives after the program has ended */
    KILLED_MS = 10000,          /* a process that still exists so long after SIGKILL is given up */
    LOOK_MS = 20,               /* polling interval if no descriptor reports the end */
    CHUNK_BYTES = 16384,
    CHUNKS_MAX = 16             /* reads at a time, so that a program that writes without end can be stopped */
};

typedef enum run_state { RUN_WORKS, RUN_STOPPING, RUN_KILLED, RUN_GIVEN_UP, RUN_STATES } run_state;

static const sm_row run_rows[RUN_STATES] = {
    [RUN_WORKS]    = { "works",    SM_TO(RUN_STOPPING) | SM_TO(RUN_KILLED), SM_FIRST },
    [RUN_STOPPING] = { "stopping", SM_TO(RUN_KILLED), 0 },
    [RUN_KILLED]   = { "killed",   SM_TO(RUN_GIVEN_UP), SM_LAST },
    [RUN_GIVEN_UP] = { "given up", 0, SM_LAST },
};
static const sm_table run_table = { "process", run_rows, RUN_STATES, NULL };

enum { FD_IN, FD_OUT, FD_ERR, FD_END, FDS };

typedef struct process_exec {
    process *p;
    uint8_t state;              /* a run_state */
    pid_t pid;
    int fd[FDS];                /* ours; -1: closed. FD_END is readable when the leader has ended */
    int stop;                   /* readable when it must stop; -1: none */
    size_t fed;
    int64_t due_ms;             /* of the next signal */
    int64_t beat_ms;
    bool ended, lost;           /* the leader has ended; its status was taken by another part of the host */
    bool stop_heard;
    io_job job;                 /* from here on: of a run that the loop drives */
    io_watch watch[FDS];
    process_done_fn *done;
    void *done_ctx;
    pawl_alloc alloc;
} process_exec;

static void run_move(process_exec *r, run_state to) { sm_move(&run_table, &r->state, to, r); }       /* R2 */

/* ---- start -------------------------------------------------------------------------------------------- */

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void run_shut(process_exec *r, int which)
{
    io_watch_end(&r->watch[which]);     /* R3 */
    shut(&r->fd[which]);
}

/* Moved above 2, so that the child's three descriptors do not overwrite each other. */
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

static pawl_code start(process_exec *r, pawl_err *err)
{
    process *p = r->p;
    spawn_plan plan = { .argv = p->argv, .envp = p->envp, .cwd = p->cwd, .fds = { -1, -1, -1 }, .third = p->third, .fourth = p->fourth,
                        .groups = p->groups, .ngroups = p->ngroups, .confined = p->confined };
    struct stat st;
    int why;

    if (p->cwd != NULL && (stat(p->cwd, &st) != 0 || !S_ISDIR(st.st_mode)))
        return fail(err, PAWL_INVALID, "%s: its working folder %s is not there", p->argv[0], p->cwd);
    if (!pipe_open(&r->fd[FD_OUT], &plan.fds[1], true) || (!p->joined && !pipe_open(&r->fd[FD_ERR], &plan.fds[2], true)) ||
        (p->in != NULL && !pipe_open(&r->fd[FD_IN], &plan.fds[0], false))) {
        why = errno;
    } else {
        if (p->joined)
            plan.fds[2] = plan.fds[1];
        why = spawn_program(&plan, &r->pid);
        if (p->joined)
            plan.fds[2] = -1;
    }
    for (int i = 0; i < 3; i++)
        shut(&plan.fds[i]);
    if (why != 0)
        return not_started(p, why, err);
#ifdef SYS_pidfd_open
    r->fd[FD_END] = (int)syscall(SYS_pidfd_open, r->pid, 0);
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

/* Up to twice the limit is held, so that bytes are moved rarely. */
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

static void keep(process_exec *r, int which, const char *data, size_t n)
{
    process *p = r->p;
    size_t room = p->output_bytes - p->out.size;

    p->said += n;
    if (p->joined) {
        if (room > 0)
            buf_put(&p->out, data, n < room ? n : room);
        if (n > room)
            keep_end(&p->err, p->output_bytes, &p->err_cut, data + room, n - room);
    } else if (which == FD_OUT) {
        keep_begin(&p->out, p->output_bytes, &p->out_cut, data, n);
    } else {
        keep_end(&p->err, p->output_bytes, &p->err_cut, data, n);
    }
}

/* True: something was read. */
static bool drain(process_exec *r, int which)
{
    char chunk[CHUNK_BYTES];
    bool came = false;

    for (int i = 0; i < CHUNKS_MAX && r->fd[which] >= 0; i++) {
        ssize_t n = read(r->fd[which], chunk, sizeof chunk);

        if (n > 0) {
            came = true;
            keep(r, which, chunk, (size_t)n);
            if (r->p->heard != NULL)
                r->p->heard(r->p->heard_ctx, chunk, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            run_shut(r, which);
        } else if (errno == EAGAIN) {
            break;
        }
    }
    return came;
}

/* A program need not read its stdin. */
static bool feed(process_exec *r)
{
    process *p = r->p;
    size_t before = r->fed;

    while (r->fed < p->in_size) {
        ssize_t n = write(r->fd[FD_IN], p->in + r->fed, p->in_size - r->fed);

        if (n > 0)
            r->fed += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return r->fed > before;
        else if (n < 0 && errno != EINTR)
            break;
    }
    run_shut(r, FD_IN);
    return r->fed > before;
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

static void process_check(process_exec *r, int64_t now)
{
    siginfo_t info = {0};
    int rc;

    do
        rc = waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT | WNOHANG);
    while (rc != 0 && errno == EINTR);
    r->lost = rc != 0;          /* the host reaped it, or ignores SIGCHLD */
    r->ended = r->lost || info.si_pid == r->pid;
    if (!r->ended)
        return;
    run_shut(r, FD_IN);
    io_watch_end(&r->watch[FD_END]);    /* it would stay readable */
    if (now + GRACE_MS < r->due_ms)
        r->due_ms = now + GRACE_MS;
}

static void to_group(const process_exec *r, int sig)
{
    if (!r->lost)
        kill(-r->pid, sig);
}

/* Stop by cancel or deadline: SIGTERM, after the grace SIGKILL, then give up. */
static void decide(process_exec *r, int64_t now)
{
    process *p = r->p;

    if (!r->ended && p->stopped == STOPPED_NOT) {
        if (r->stop_heard || job_canceled(p->job))
            p->stopped = STOPPED_CANCEL;
        else if (p->until_plan && job_planned(p->job))
            p->stopped = STOPPED_PLAN;
        else if (now >= p->until_ms)
            p->stopped = STOPPED_TIMEOUT;
        if (p->stopped != STOPPED_NOT) {
            to_group(r, SIGTERM);
            to_group(r, SIGCONT);       /* a stopped process does not handle SIGTERM */
            r->due_ms = now + GRACE_MS;
            run_move(r, RUN_STOPPING);
        }
    }
    if (now < r->due_ms)
        return;
    if (r->state != RUN_KILLED)
        to_group(r, SIGKILL);
    run_move(r, r->state == RUN_KILLED ? RUN_GIVEN_UP : RUN_KILLED);
    r->due_ms = now + KILLED_MS;
}

/* The time of the next action that no descriptor announces. */
static int64_t due(const process_exec *r, int64_t now)
{
    int64_t until = r->due_ms;

    if (!r->ended && r->p->stopped == STOPPED_NOT) {
        if (r->p->until_ms < until)
            until = r->p->until_ms;
        if (((r->stop < 0 && r->p->job->canceled != NULL) || r->p->until_plan) && now + CANCEL_POLL_MS < until)
            until = now + CANCEL_POLL_MS;
    }
    if (!r->ended && r->fd[FD_END] < 0 && now + LOOK_MS < until)
        until = r->fd[FD_OUT] < 0 && r->fd[FD_ERR] < 0 ? now + 1 : now + LOOK_MS;
    return until;
}

/* Whether it has ended, and its output has ended or is no longer waited for. */
static bool over(process_exec *r, int64_t now)
{
    if (r->state == RUN_GIVEN_UP)
        return true;
    if (!r->ended)
        process_check(r, now);
    return r->ended && (r->state == RUN_KILLED || r->lost || (r->fd[FD_OUT] < 0 && r->fd[FD_ERR] < 0));
}

static pawl_code reap(process_exec *r, pawl_err *err)
{
    process *p = r->p;
    int status = 0;
    pid_t got = -1;

    if (r->state == RUN_GIVEN_UP && !r->ended)
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

/* Cleans up after a run that was started. */
static pawl_code settle(process_exec *r, pawl_err *err)
{
    to_group(r, SIGKILL);       /* processes that it left behind */
    drain(r, FD_OUT);
    drain(r, FD_ERR);
    tail_trim(&r->p->err, r->p->output_bytes);
    return reap(r, err);        /* R1 */
}

static void run_init(process_exec *r, process *p)
{
    *r = (process_exec){ .p = p, .fd = { -1, -1, -1, -1 }, .stop = p->job->cancel_fd > 0 ? p->job->cancel_fd : -1, .due_ms = INT64_MAX };
}

static void run_close(process_exec *r)
{
    for (int i = 0; i < FDS; i++)
        run_shut(r, i);
}

/* ---- driven on the caller's thread ------------------------------------------------------------------------------ */

static void turn(process_exec *r)
{
    struct pollfd fds[FDS + 1] = { { .fd = r->fd[FD_IN], .events = POLLOUT }, { .fd = r->fd[FD_OUT], .events = POLLIN },
                                   { .fd = r->fd[FD_ERR], .events = POLLIN }, { .fd = r->ended ? -1 : r->fd[FD_END], .events = POLLIN },
                                   { .fd = r->stop, .events = POLLIN } };
    const int64_t now = clock_ms(), until = due(r, now);
    bool moved = false;

    if (poll(fds, FDS + 1, until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now)) <= 0)
        return;
    if (r->fd[FD_IN] >= 0 && fds[FD_IN].revents != 0)
        moved |= feed(r);
    if (fds[FD_OUT].revents != 0)
        moved |= drain(r, FD_OUT);
    if (fds[FD_ERR].revents != 0)
        moved |= drain(r, FD_ERR);
    if (fds[FDS].revents != 0) {
        r->stop_heard = (fds[FDS].revents & POLLIN) != 0;
        r->stop = -1;
    }
    if (moved)
        job_moved(r->p->job, &r->beat_ms);
}

pawl_code process_run(process *p, pawl_err *err)
{
    process_exec r;
    pipe_hold hold;
    pawl_code rc;

    run_init(&r, p);
    if ((rc = start(&r, err)) == PAWL_OK) {
        pipe_guard(&hold);
        if (p->began != NULL)
            p->began(p->heard_ctx);
        for (int64_t now = clock_ms(); !over(&r, now); now = clock_ms()) {
            decide(&r, now);
            turn(&r);
        }
        rc = settle(&r, err);
        pipe_release(&hold);
    }
    run_close(&r);
    return rc;
}

/* ---- driven by the loop --------------------------------------------------------------------------------------------- */

static process_exec *run_of(io_job *job)
{
    return (process_exec *)(void *)((char *)job - offsetof(process_exec, job));
}

static void finish(process_exec *r, pawl_code rc, const pawl_err *err)
{
    const pawl_alloc alloc = r->alloc;
    process_done_fn *done = r->done;
    void *ctx = r->done_ctx;

    run_close(r);
    io_job_end(&r->job);
    mem_free(&alloc, r, sizeof *r);
    done(ctx, rc, err);
}

/* Called again after each event, until the run is done. Returns when it must be called next. */
static int64_t advance(process_exec *r)
{
    const int64_t now = clock_ms();
    struct pollfd stop = { .fd = r->stop, .events = POLLIN };
    pawl_err err = {0};
    pawl_code rc;

    if (r->stop >= 0 && poll(&stop, 1, 0) == 1) {
        r->stop_heard = (stop.revents & POLLIN) != 0;
        r->stop = -1;
    }
    if (over(r, now)) {
        rc = settle(r, &err);
        finish(r, rc, &err);
        return INT64_MAX;
    }
    decide(r, now);
    if (r->stop >= 0 && now + CANCEL_POLL_MS < due(r, now))
        return now + CANCEL_POLL_MS;
    return due(r, now);
}

static void on_ready(io_watch *w, uint32_t events)
{
    process_exec *r = NULL;
    bool moved = false;

    (void)events;
    r = w->ctx;
    if (w == &r->watch[FD_IN])
        moved = feed(r);
    else if (w == &r->watch[FD_OUT])
        moved = drain(r, FD_OUT);
    else if (w == &r->watch[FD_ERR])
        moved = drain(r, FD_ERR);
    if (moved)
        job_moved(r->p->job, &r->beat_ms);
    io_tick_by(advance(r));
}

static bool watch_all(process_exec *r)
{
    for (int i = 0; i < FDS; i++) {
        r->watch[i].ready = on_ready;
        r->watch[i].ctx = r;
        if (r->fd[i] >= 0 && !io_watch_set(&r->watch[i], r->fd[i], i == FD_IN ? EPOLLOUT : EPOLLIN))
            return false;
    }
    return true;
}

static int64_t tick(io_job *job, int64_t now)
{
    (void)now;
    return advance(run_of(job));
}

static int64_t begin(io_job *job)
{
    process_exec *r = run_of(job);
    pawl_err err = {0};
    pawl_code rc = start(r, &err);

    if (rc == PAWL_OK && watch_all(r))
        return advance(r);
    if (rc == PAWL_OK) {        /* it runs, but cannot be watched */
        to_group(r, SIGKILL);
        (void)reap(r, NULL);
        rc = fail(&err, PAWL_UNKNOWN, "%s: it was started and killed: no descriptor or memory is left to watch it", r->p->argv[0]);
    }
    finish(r, rc, &err);
    return INT64_MAX;
}

pawl_code process_start(process *p, process_done_fn *done, void *ctx, pawl_err *err)
{
    const pawl_alloc alloc = p->out.alloc;
    process_exec *r = mem_new(&alloc, sizeof *r);

    if (r == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to run it", p->argv[0]);
    run_init(r, p);
    r->job = (io_job){ .start = begin, .tick = tick };
    r->done = done;
    r->done_ctx = ctx;
    r->alloc = alloc;
    if (io_job_start(&r->job))
        return PAWL_PENDING;
    mem_free(&alloc, r, sizeof *r);
    return fail(err, PAWL_TRANSIENT, "%s: no memory, descriptor or thread is left to watch it", p->argv[0]);
}
