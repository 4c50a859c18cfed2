/* outlive.c - what handlers leave running for their runs: it is ended when the run has ended, and with the engine (A10).
 *
 * Owns the list engine.left, under its own lock, which is taken under no other and held around no call of `end`. job_outlive() is called on the thread of
 * a handler, the rest on the driving thread. Invariant: what is in the list is of a run that has not ended: a job that is stopped enters nothing, and a run
 * that ends has stopped its jobs. */
#include "engine/command/attempt.h"

#include <stdio.h>
#include <string.h>

typedef struct left_running {
    struct left_running *next;
    pawl_end_fn *end;
    void *ctx;
    size_t size;                /* of `run` */
    char run[];                 /* RUN~LIFE, as an invocation id begins */
} left_running;

pawl_code job_outlive(const pawl_job *job, pawl_end_fn *end, void *ctx)
{
    const outbox_entry *entry = job->ctx;
    pawl_engine *e = entry->e;
    const size_t size = strcspn(job->id, "/");
    left_running *one = mem_new(&e->alloc, sizeof *one + size + 1);
    bool stopped;

    if (one == NULL)
        return PAWL_NOMEM;
    *one = (left_running){ .end = end, .ctx = ctx, .size = size };
    memcpy(one->run, job->id, size);
    one->run[size] = '\0';
    pthread_mutex_lock(&e->left_lock);
    stopped = job->canceled(job);
    if (!stopped) {
        one->next = e->left;
        e->left = one;
    }
    pthread_mutex_unlock(&e->left_lock);
    if (stopped)
        mem_free(&e->alloc, one, sizeof *one + size + 1);
    return stopped ? PAWL_CANCELED : PAWL_OK;
}

/* Takes the first one of a run (NULL: of any) out of the list. */
static left_running *left_take(pawl_engine *e, const char *run)
{
    left_running **at = &e->left, *one;

    pthread_mutex_lock(&e->left_lock);
    while (*at != NULL && run != NULL && strcmp((*at)->run, run) != 0)
        at = &(*at)->next;
    if ((one = *at) != NULL)
        *at = one->next;
    pthread_mutex_unlock(&e->left_lock);
    return one;
}

static void left_end_of(pawl_engine *e, const char *run)
{
    for (left_running *one; (one = left_take(e, run)) != NULL; ) {
        one->end(one->ctx);
        mem_free(&e->alloc, one, sizeof *one + one->size + 1);
    }
}

void left_end(pawl_engine *e, const char *run, uint64_t life)
{
    bool any;
    buf id;

    pthread_mutex_lock(&e->left_lock);
    any = e->left != NULL;
    pthread_mutex_unlock(&e->left_lock);
    if (!any)
        return;
    buf_init(&id, &e->alloc);
    buf_fmt(&id, "%s~%016llx", run, (unsigned long long)life);
    buf_char(&id, '\0');
    if (!id.failed)             /* without memory it is ended with the engine */
        left_end_of(e, id.data);
    buf_free(&id);
}

void left_end_all(pawl_engine *e)
{
    left_end_of(e, NULL);
}
