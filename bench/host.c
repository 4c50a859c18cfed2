/* host.c - what readers cost that wait for agents which say nothing: processor time of this process, as a share of one core. */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { READERS = 100, WATCHED_S = 10, ALONE_S = 5 };

static double core_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In percent of a core. */
static double share_of(int seconds)
{
    const struct timespec all = { .tv_sec = seconds };
    const double from = core_s(), began = bench_ns();

    nanosleep(&all, NULL);
    return 100 * (core_s() - from) / ((bench_ns() - began) / 1e9);
}

static void *reads(void *arg)
{
    pawl_chunk chunk;

    while (pawl_chunks_wait(arg, -1, &chunk, NULL) == PAWL_OK)
        continue;
    return NULL;
}

/* So many agents that wait for their first message, each with a reader, in a store that other processes may write to. */
static bool readers_begin(pawl_host *h, pawl_chunks **readers, pthread_t *threads, int *n)
{
    pawl_err err = { PAWL_OK, "" };

    for (; *n < READERS; ++*n) {
        pawl_handle *a = NULL;
        char id[32];

        snprintf(id, sizeof id, "agent-%d", *n);
        if (pawl_host_spawn(h, NULL, id, NULL, &a, &err) == PAWL_OK)
            readers[*n] = pawl_handle_chunks(a, NULL, &err);
        pawl_handle_free(a);
        if (readers[*n] == NULL || pthread_create(&threads[*n], NULL, reads, readers[*n]) != 0) {
            pawl_chunks_close(readers[*n]);
            return bench_wrong("a reader", &err);
        }
    }
    return true;
}

static bool idle_readers(reading *out)
{
    static const pawl_agent agent = { .name = "helper", .version = 1, .model = "script:none" };
    pawl_chunks *readers[READERS] = { NULL };
    pthread_t threads[READERS];
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = NULL;
    pawl_host *h = NULL;
    disk d;
    bool good = disk_begin(&d, true);
    int n = 0;

    if (good && (e = disk_engine(&d, pawl_agent_machine(&agent, NULL, &err))) != NULL)
        h = pawl_host_new(e, pawl_store_sqlite(d.store, NULL, &err), &err);
    good = h != NULL || bench_wrong("a host", &err);
    if (good) {
        out->base = share_of(ALONE_S);
        good = readers_begin(h, readers, threads, &n);
    }
    if (good) {
        (void)share_of(ALONE_S);        /* the agents have begun, and are silent */
        out->value = share_of(WATCHED_S) - out->base;
    }
    for (int i = 0; i < n; i++) {
        pawl_chunks_stop(readers[i]);
        pthread_join(threads[i], NULL);
        pawl_chunks_close(readers[i]);
    }
    pawl_host_free(h);
    disk_end(&d);
    return good;
}

const figure host_figures[] = {
    { "host.idle_readers", "% of core", "the host alone: what 100 waiting readers add", 0.5, false, 1, idle_readers },
    { 0 },
};
