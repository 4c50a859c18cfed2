/* tools.c - the clock, the plain things to measure against, and a run driven by hand. */
#include "bench.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

bool bench_wrong(const char *what, const pawl_err *err)
{
    fprintf(stderr, "pawl_bench: %s: %s\n", what, err != NULL && err->text[0] != '\0' ? err->text : "it did not go as expected");
    return false;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double bench_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void *take(size_t size) { return malloc(size); }

double bench_malloc_ns(size_t calls)
{
    void *(*volatile through)(size_t) = take;
    double from = bench_ns();

    for (size_t i = 0; i < calls; i++) {
        char *volatile p = through(64);

        if (p != NULL)
            *p = (char)i;
        free(p);
    }
    return (bench_ns() - from) / (double)calls;
}

size_t bench_resident(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL)
        return 0;
    if (fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    fclose(f);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

size_t bench_resident_most(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

double bench_allocated(void)
{
    return (double)mallinfo2().uordblks - (double)sqlite3_memory_used();
}

/* ---- a run -------------------------------------------------------------------------------- */

pawl_machine *bench_compile(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);

    if (m == NULL)
        bench_wrong("compile", &err);
    return m;
}

static bool journal_add(run *r, pawl_bytes b)
{
    if (r->journal_size + b.size + 1 > r->journal_cap) {
        size_t cap = (r->journal_size + b.size + 1) * 2;
        char *grown = realloc(r->journal, cap);

        if (grown == NULL)
            return bench_wrong("no memory for a journal", NULL);
        r->journal = grown;
        r->journal_cap = cap;
    }
    if (b.size > 0)
        memcpy(r->journal + r->journal_size, b.data, b.size);
    r->journal[r->journal_size + b.size] = '\n';
    r->journal_size += b.size + 1;
    return true;
}

static pawl_err err;    /* of all runs: one for each event would be measured with it, and what goes wrong ends a figure */

bool run_begin(run *r, const pawl_machine *m, unsigned flags, pawl_step *step, const pawl_alloc *alloc)
{
    static const pawl_run_info info = { .id = "bench-1", .life = 0x5eed, .seed = 1, .created_ms = 1700000000000 };
    static const pawl_event start = { .kind = PAWL_EV_START, .time_ms = 1700000000000 };
    bool keep = r->keep;

    *r = (run){ .m = m, .step = step, .keep = keep };
    if (m == NULL || step == NULL)
        return bench_wrong("a run needs a machine and a step", NULL);
    if (pawl_state_new(m, &info, flags, alloc, &r->st, &err) != PAWL_OK)
        return bench_wrong("a new run", &err);
    if (r->keep && !journal_add(r, pawl_state_base(r->st)))
        return false;
    return run_take(r, &start);
}

bool run_take(run *r, const pawl_event *ev)
{
    r->rc = pawl_advance(r->m, r->st, ev, r->step, &err);
    if (r->rc < 0 || r->rc == PAWL_IGNORED)
        return bench_wrong("advance", &err);
    return !r->keep || journal_add(r, pawl_step_bytes(r->step));
}

bool run_tick(run *r)
{
    static const pawl_event tick = { .kind = PAWL_EV_TICK, .time_ms = 1700000000000 };

    return run_take(r, &tick);
}

bool run_to_end(run *r)
{
    while (r->rc == PAWL_OK)
        if (!run_tick(r))
            return false;
    return r->rc == PAWL_HALTED ? true : bench_wrong("the run is not over", NULL);
}

void run_end(run *r)
{
    pawl_state_free(r->st);
    free(r->journal);
    *r = (run){ .keep = r->keep };
}

pawl_code node_count(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "count", pawl_get_int(s, "count") + 1);
    return pawl_follow(s);
}

pawl_machine *bench_chain(size_t nodes)
{
    pawl_graph *g = pawl_graph_new("chain", 1);
    char name[24], before[24] = PAWL_START;

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    for (size_t i = 0; i < nodes; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        pawl_graph_node(g, name, node_count, NULL);
        pawl_graph_edge(g, before, name);
        memcpy(before, name, sizeof name);
    }
    pawl_graph_edge(g, before, PAWL_END);
    pawl_graph_max_steps(g, 1000000);
    return bench_compile(g);
}

void *bench_counted(void *ctx, void *ptr, size_t old_size, size_t size)
{
    size_t *live = ctx;
    void *p = NULL;

    if (size == 0)
        free(ptr);
    else if ((p = realloc(ptr, size)) == NULL)
        return NULL;
    *live += size - old_size;
    return p;
}
