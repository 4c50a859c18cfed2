/* hand.h - a job handed to a handler, and what came back. */
#ifndef TEST_EFFECT_HAND_H
#define TEST_EFFECT_HAND_H

#include "effect/effect.h"
#include "lib/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

typedef struct hand {
    arena mem;
    pawl_job job;
    pawl_reply reply;
    pawl_code rc;
    const pawl_value *value;    /* of the reply, or NULL */
} hand;

static inline void hand_init(hand *h)
{
    pawl_alloc alloc = mem_or_default(NULL);

    *h = (hand){ .job = { .id = "essay-1~9f3a/2.review.1.0", .effect = "do", .fence = 7, .attempt = 1 } };
    arena_init(&h->mem, &alloc, 4096);
    reply_init(&h->reply, &alloc);
}

static inline void hand_free(hand *h)
{
    reply_free(&h->reply);
    arena_free(&h->mem);
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
    h->rc = fn(&h->job, &h->reply, NULL);
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
