/* io_loop.h - one thread that watches descriptors and clocks for all requests and processes that nobody waits for.
 *
 * A caller that wants to block does not need it. The thread starts with the first job and ends some seconds after the last one. */
#ifndef NET_IO_LOOP_H
#define NET_IO_LOOP_H

#include "base/base.h"

#include <sys/epoll.h>

/* A descriptor that is watched. Owned by its job; it must be ended before the descriptor is closed. Loop thread only. */
typedef struct io_watch io_watch;
struct io_watch {
    void (*ready)(io_watch *w, uint32_t events);    /* EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP; may end any watch, also its own */
    void *ctx;
    int fd;
    uint32_t events;            /* as asked; 0: it is not watched */
};
bool io_watch_set(io_watch *w, int fd, uint32_t events);    /* begin, or change the events; false: the system refuses */
void io_watch_end(io_watch *w);                             /* safe when it is not watched */

/* One request or process. Its memory belongs to the caller until `start` was called and io_job_end() is done. */
typedef struct io_job io_job;
struct io_job {
    int64_t (*start)(io_job *job);                      /* the first call on the loop thread; returns as `tick` does */
    /* Looks at clocks and cancels; returns by when it wants the next call, by clock_ms. It may end its own job, and no other. */
    int64_t (*tick)(io_job *job, int64_t now_ms);
    io_job *next, *prev;
};
/* Hand a job over; any thread. False: there is no memory, descriptor or thread for the loop, and the job was not taken. */
bool io_job_start(io_job *job);
/* The job is done: no tick follows. Loop thread only. */
void io_job_end(io_job *job);
/* Have all ticks called at that time at the latest. Loop thread only. */
void io_tick_by(int64_t at_ms);
/* Have all ticks called at once: a job was canceled. Any thread; takes the loop's own lock alone. */
void io_poke(void);

/* What libcurl needs beside its jobs. Loop thread only; one for the loop, until its thread ends. */
typedef struct io_hook {
    void (*due)(void);          /* the time given to io_hook_by() has come; may end any job */
    void (*end)(void);          /* before the thread ends */
    void (*lose)(void);         /* in a child after a fork: what the loop had is the parent's */
} io_hook;
void io_hook_set(const io_hook *hook);
void io_hook_by(int64_t at_ms);         /* INT64_MAX: never */

/* End the thread if it has no job; any thread. */
void io_loop_rest(void);
/* End the thread, whatever its jobs do: at exit, before the libraries that it uses are taken down. */
void io_loop_halt(void);

#endif
