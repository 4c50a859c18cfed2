/* io_loop.h - one thread that watches descriptors and clocks for all requests and processes whose caller does not wait.
 *
 * The thread starts with the first job and ends some seconds after the last one. Callers that block do not need it. */
#ifndef NET_IO_LOOP_H
#define NET_IO_LOOP_H

#include "base/base.h"

#include <sys/epoll.h>

/* A watched descriptor. Owned by its job; the watch must end before the descriptor is closed. Loop thread only. */
typedef struct io_watch io_watch;
struct io_watch {
    void (*ready)(io_watch *w, uint32_t events);    /* EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP; may end any watch, also its own */
    void *ctx;
    int fd;
    uint32_t events;            /* as requested; 0: not watched */
};
bool io_watch_set(io_watch *w, int fd, uint32_t events);    /* starts, or changes the events; false: the system refuses */
void io_watch_end(io_watch *w);                             /* safe if it is not watched */

/* One request or process. Its memory belongs to the caller until `start` is called, and again after io_job_end(). */
typedef struct io_job io_job;
struct io_job {
    int64_t (*start)(io_job *job);                      /* the first call on the loop thread; returns like `tick` */
    /* Checks clocks and cancels; returns the time of the next call by clock_ms. It may end its own job, and no other. */
    int64_t (*tick)(io_job *job, int64_t now_ms);
    io_job *next, *prev;
};
/* Give a job to the loop; any thread. False: there is no memory, descriptor or thread, and the job was not taken. */
bool io_job_start(io_job *job);
/* The job is done: no tick follows. Loop thread only. */
void io_job_end(io_job *job);
/* Call all ticks at that time at the latest. Loop thread only. */
void io_tick_by(int64_t at_ms);
/* Call all ticks at once, because a job was canceled. Any thread; takes only the loop's own lock. */
void io_poke(void);

/* What libcurl needs besides its jobs. Loop thread only; one for the loop, until its thread ends. */
typedef struct io_hook {
    void (*due)(void);          /* the time of io_hook_by(); may end any job */
    void (*end)(void);          /* before the thread ends */
    void (*lose)(void);         /* in a child process after a fork: everything belongs to the parent */
} io_hook;
void io_hook_set(const io_hook *hook);
void io_hook_by(int64_t at_ms);         /* INT64_MAX: never */

/* Ends the thread if it has no job; any thread. */
void io_loop_rest(void);
/* Ends the thread at exit, whatever its jobs do, before the libraries that it uses. */
void io_loop_halt(void);

#endif
