/* hand.h - a job handed to a handler, and what came back.
 *
 * With PAWL_TEST_LATER in the environment each job may be answered later (E17): the same tests then go through the loop thread. */
#ifndef TEST_EFFECT_HAND_H
#define TEST_EFFECT_HAND_H

#include "effect/effect.h"
#include "lib/check.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

typedef struct hand {
    arena mem;
    pawl_job job;
    pawl_reply reply;
    pawl_code rc;
    const pawl_value *value;    /* of the reply, or NULL */
    sem_t finished;             /* of a job that is answered later: posted by finish(), which says: */
    pawl_code late_rc;
    pawl_stop_fn *stop;
    void *stop_ctx;
} hand;

static inline bool hand_is_late(void) { return getenv("PAWL_TEST_LATER") != NULL; }

/* The thread sanitizer lets no thread begin in a child of a program that has threads. */
static inline void hand_needs_fork(void)
{
#if defined __SANITIZE_THREAD__
    check_skip("no thread may begin after a fork under the thread sanitizer");
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
    check_skip("no thread may begin after a fork under the thread sanitizer");
#endif
#endif
}

static inline pawl_code hand_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx)
{
    hand *h = job->sql;         /* what no handler here uses */

    h->stop = stop;
    h->stop_ctx = ctx;
    return PAWL_OK;
}

static inline void hand_finish(const pawl_job *job, pawl_code rc)
{
    hand *h = job->sql;

    h->late_rc = rc;
    sem_post(&h->finished);
}

/* Called as an engine does it, and waited for. Safe in any thread. */
static inline pawl_code hand_call(hand *h, pawl_handler_fn *fn, pawl_reply *reply, void *arg)
{
    pawl_code rc;

    h->job.sql = h;
    h->job.later = hand_is_late() ? hand_later : NULL;
    h->job.finish = hand_finish;
    rc = fn(&h->job, reply, arg);
    if (rc != PAWL_PENDING || h->job.later == NULL)
        return rc;
    while (sem_wait(&h->finished) != 0)
        continue;
    return h->late_rc;
}

static inline void hand_init(hand *h)
{
    pawl_alloc alloc = mem_or_default(NULL);

    *h = (hand){ .job = { .id = "essay-1~9f3a/2.review.1.0", .effect = "do", .fence = 7, .attempt = 1 } };
    arena_init(&h->mem, &alloc, 4096);
    reply_init(&h->reply, &alloc);
    sem_init(&h->finished, 0, 0);
}

static inline void hand_free(hand *h)
{
    reply_free(&h->reply);
    arena_free(&h->mem);
    sem_destroy(&h->finished);
}

/* Safe in any thread: nothing is checked here. */
static inline pawl_code hand_over(hand *h, pawl_handler_fn *fn, const char *args)
{
    pawl_err err = {0};

    reply_reset(&h->reply);
    h->value = NULL;
    h->job.args = value_parse(&h->mem, args, strlen(args), "args", &err);
    if (h->job.args == NULL)
        return h->rc = PAWL_CORRUPT;
    h->rc = hand_call(h, fn, &h->reply, NULL);
    if (h->rc >= 0)
        h->value = value_parse(&h->mem, h->reply.text.data, h->reply.text.size, "reply", &err);
    return h->rc;
}

static inline const char *said(const hand *h, const char *path)
{
    return pawl_value_string(pawl_value_find(h->value, path));
}

static inline int64_t number(const hand *h, const char *path)
{
    const pawl_value *v = pawl_value_find(h->value, path);

    return v == NULL ? INT64_MIN : pawl_value_int(v);
}

static inline int open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static inline bool no_children(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1;
}

#endif
