/* io_loop.c - the loop thread: epoll, a queue of new jobs, and ticks.
 *
 * Owns the one loop of the process. Called by curl_loop.c and effect/process.c. Fields of `shared` belong to its lock; fields of `own`
 * belong to the loop thread, and to nobody while there is none.
 *
 * Invariants:
 *   L1  the thread runs in state LOOP_RUNS only; a job is in the queue or in the list, never in both
 *   L2  the thread leaves LOOP_RUNS under the lock, with an empty queue or because of a halt: no queued job is forgotten
 *   L3  a watch that has ended is not called again, even if its event is in the batch at hand */
#include "base/sm.h"
#include "net/io_loop.h"
#include "net/net.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    BATCH = 64,                 /* events from one epoll_wait */
    REST_MS = 4500              /* time for which the thread waits for another job: a little longer than connections are kept */
};

/* ---- the life of the thread -------------------------------------------------------------------------- */

typedef enum loop_state { LOOP_NONE, LOOP_RUNS, LOOP_ENDED, LOOP_STATES } loop_state;

static const sm_row loop_rows[LOOP_STATES] = {
    [LOOP_NONE]  = { "none",  SM_TO(LOOP_RUNS), SM_FIRST },
    [LOOP_RUNS]  = { "runs",  SM_TO(LOOP_ENDED), 0 },
    [LOOP_ENDED] = { "ended", SM_TO(LOOP_NONE), SM_LAST },      /* the thread returns, and must be joined */
};
static const char *loop_wrong(const void *unused, unsigned state);
static const sm_table loop_table = { "io loop", loop_rows, LOOP_STATES, loop_wrong };

static struct {
    pthread_mutex_t lock;
    uint8_t state;              /* a loop_state */
    pthread_cond_t moved;       /* the state or `rest` has changed */
    pthread_t thread;
    io_job *first, *last;       /* the queue; linked by `next` */
    size_t jobs;                /* in the queue and in the list */
    bool poked;
    bool halt, rest;            /* the thread must end: at once; as soon as it has no job */
    int wake;                   /* an eventfd */
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER, .wake = -1 };

static struct {
    int epoll;
    io_job *jobs;
    int64_t tick_ms;            /* time of the next ticks; INT64_MAX: never */
    int64_t idle_ms;            /* time since which there is no job */
    struct epoll_event batch[BATCH];
    int at, n;                  /* of the batch: the current event */
    const io_hook *hook;        /* NULL: none */
    int64_t hook_ms;            /* its time; INT64_MAX: never */
} own = { .epoll = -1 };

static _Thread_local bool on_loop;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* L1; under the lock. */
static const char *loop_wrong(const void *unused, unsigned state)
{
    (void)unused;
    return (state == LOOP_RUNS) == (shared.wake >= 0) ? NULL : "a thread that runs can be woken up, and no other";
}

static void loop_move(loop_state to) { sm_move(&loop_table, &shared.state, to, NULL); }

static void before_fork(void) { pthread_mutex_lock(&shared.lock); }
static void after_fork(void) { pthread_mutex_unlock(&shared.lock); }

/* A child process has no loop thread, and must not watch its parent's descriptors. */
static void in_child(void)
{
    if (shared.state == LOOP_RUNS) {
        close(own.epoll);
        close(shared.wake);
    }
    shared.state = LOOP_NONE;
    shared.first = shared.last = NULL;
    shared.jobs = 0;
    shared.halt = shared.rest = shared.poked = false;
    shared.wake = own.epoll = -1;
    own.jobs = NULL;
    if (own.hook != NULL)
        own.hook->lose();
    own.hook = NULL;
    on_loop = false;
    pthread_mutex_unlock(&shared.lock);
}

static void prepare(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
    atexit(io_loop_halt);
}

/* ---- watches ---------------------------------------------------------------------------------------------- */

bool io_watch_set(io_watch *w, int fd, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = w };

    PAWL_ASSERT(on_loop && events != 0, "watches belong to the loop thread");
    if (w->events != 0 && w->fd == fd && w->events == events)
        return true;
    if (epoll_ctl(own.epoll, w->events != 0 && w->fd == fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) != 0)
        return false;
    w->fd = fd;
    w->events = events;
    return true;
}

void io_watch_end(io_watch *w)
{
    if (w->events == 0)
        return;
    PAWL_ASSERT(on_loop, "watches belong to the loop thread");
    epoll_ctl(own.epoll, EPOLL_CTL_DEL, w->fd, NULL);
    w->events = 0;
    for (int i = own.at + 1; i < own.n; i++)
        if (own.batch[i].data.ptr == w)
            own.batch[i].data.ptr = NULL;       /* L3 */
}

/* ---- jobs --------------------------------------------------------------------------------------------------- */

void io_tick_by(int64_t at_ms)
{
    if (at_ms < own.tick_ms)
        own.tick_ms = at_ms;
}

void io_hook_set(const io_hook *hook) { own.hook = hook; }
void io_hook_by(int64_t at_ms) { own.hook_ms = at_ms; }

static void job_begin(io_job *job)
{
    job->prev = NULL;
    job->next = own.jobs;
    if (own.jobs != NULL)
        own.jobs->prev = job;
    own.jobs = job;
    io_tick_by(job->start(job));
}

void io_job_end(io_job *job)
{
    PAWL_ASSERT(on_loop, "jobs end on the loop thread");
    if (job->next != NULL)
        job->next->prev = job->prev;
    if (job->prev != NULL)
        job->prev->next = job->next;
    else
        own.jobs = job->next;
    own.idle_ms = clock_ms();
    pthread_mutex_lock(&shared.lock);
    shared.jobs--;
    pthread_mutex_unlock(&shared.lock);
}

static void ticks(int64_t now)
{
    own.tick_ms = INT64_MAX;
    for (io_job *job = own.jobs, *next; job != NULL; job = next) {
        next = job->next;
        io_tick_by(job->tick(job, now));
    }
}

/* ---- the thread ------------------------------------------------------------------------------------------- */

static void wake(void)
{
    const uint64_t one = 1;
    const ssize_t n = write(shared.wake, &one, sizeof one);

    (void)n;                    /* a full counter wakes, too */
}

/* False: the thread must end, which the state says. */
static bool queue_take(void)
{
    io_job *first;
    bool ends;

    pthread_mutex_lock(&shared.lock);
    first = shared.first;
    shared.first = shared.last = NULL;
    ends = shared.halt || (shared.jobs == 0 && (shared.rest || clock_ms() - own.idle_ms >= REST_MS));
    shared.rest = false;
    if (shared.poked)
        io_tick_by(0);
    shared.poked = false;
    if (ends) {
        PAWL_ASSERT(shared.halt || first == NULL, "L2: no queued job is forgotten");
        close(shared.wake);
        shared.wake = -1;
        loop_move(LOOP_ENDED);
    }
    pthread_cond_broadcast(&shared.moved);
    pthread_mutex_unlock(&shared.lock);
    for (io_job *next; first != NULL && !ends; first = next) {
        next = first->next;
        job_begin(first);
    }
    return !ends;
}

static int wait_ms(void)
{
    const int64_t now = clock_ms(), rest = own.jobs == NULL ? own.idle_ms + REST_MS : INT64_MAX;
    int64_t until = own.tick_ms < rest ? own.tick_ms : rest;

    until = own.hook_ms < until ? own.hook_ms : until;
    return until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

static void turn(void)
{
    int n = epoll_wait(own.epoll, own.batch, BATCH, wait_ms());

    own.n = n > 0 ? n : 0;
    for (own.at = 0; own.at < own.n; own.at++) {
        io_watch *w = own.batch[own.at].data.ptr;
        uint64_t count;

        if (w != NULL)
            w->ready(w, own.batch[own.at].events);
        else if (own.batch[own.at].data.u64 == 0 && read(shared.wake, &count, sizeof count) < 0)
            continue;
    }
    own.n = 0;
    if (clock_ms() >= own.hook_ms) {
        own.hook_ms = INT64_MAX;
        own.hook->due();
    }
    if (clock_ms() >= own.tick_ms)
        ticks(clock_ms());
}

static void *run(void *unused)
{
    (void)unused;
    on_loop = true;
    own.idle_ms = clock_ms();
    while (queue_take())
        turn();
    if (own.hook != NULL)
        own.hook->end();
    own.hook = NULL;
    close(own.epoll);
    own.epoll = -1;
    return NULL;
}

/* Under the lock, when the previous thread was joined. False: it could not start. */
static bool loop_begin(void)
{
    struct epoll_event ev = { .events = EPOLLIN };      /* a NULL pointer marks the wake-up */
    sigset_t all, before;
    bool begun;

    own.epoll = epoll_create1(EPOLL_CLOEXEC);
    shared.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    own.tick_ms = own.hook_ms = INT64_MAX;
    own.jobs = NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);        /* signals are for the host's threads; SIGPIPE is for none */
    begun = own.epoll >= 0 && shared.wake >= 0 && epoll_ctl(own.epoll, EPOLL_CTL_ADD, shared.wake, &ev) == 0 &&
            pthread_create(&shared.thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (begun) {
        loop_move(LOOP_RUNS);
        return true;
    }
    if (own.epoll >= 0)
        close(own.epoll);
    if (shared.wake >= 0)
        close(shared.wake);
    own.epoll = shared.wake = -1;
    return false;
}

/* Under the lock, which the thread does not need any more: it closes its connections and returns. */
static void loop_join(void)
{
    if (shared.state != LOOP_ENDED)
        return;
    pthread_join(shared.thread, NULL);
    loop_move(LOOP_NONE);
}

bool io_job_start(io_job *job)
{
    bool taken;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&shared.lock);
    if (!on_loop)
        loop_join();
    taken = !shared.halt && (shared.state == LOOP_RUNS || loop_begin());
    if (taken) {
        job->next = NULL;
        shared.jobs++;
        if (shared.first == NULL)
            shared.first = job;
        else
            shared.last->next = job;
        shared.last = job;
        wake();
    }
    pthread_mutex_unlock(&shared.lock);
    return taken;
}

void io_poke(void)
{
    pthread_mutex_lock(&shared.lock);
    if (shared.state == LOOP_RUNS && !shared.poked) {
        shared.poked = true;
        wake();
    }
    pthread_mutex_unlock(&shared.lock);
}

/* ---- its end ----------------------------------------------------------------------------------------------- */

static void loop_end(bool halt)
{
    if (on_loop)
        return;
    pthread_mutex_lock(&shared.lock);
    shared.halt = shared.halt || halt;
    shared.rest = shared.state == LOOP_RUNS && (halt || shared.jobs == 0);
    if (shared.rest)
        wake();
    while (shared.state == LOOP_RUNS && shared.rest)
        pthread_cond_wait(&shared.moved, &shared.lock);
    loop_join();
    pthread_mutex_unlock(&shared.lock);
}

void io_loop_rest(void) { loop_end(false); }
void io_loop_halt(void) { loop_end(true); }
