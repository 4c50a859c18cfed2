/* scrape.c - the numbers of a store: gauges from its heads and open waits, counters and histograms from the cursor file.
 *
 * Called by the thread that replies to GET /metrics. A scrape costs a few lists of runs that have not ended; runs that have ended cost nothing. */
#include "observe/scrape.h"
#include "kernel/names.h"
#include "net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MORE_MS = 1000, RUNS_MOST = 1000000, DUE_MOST = 100000, MACHINES_MOST = METRIC_SERIES_MOST };

static const metric_family runs_open = { "pawl_runs", "Runs that have not ended, by machine and status.", METRIC_GAUGE, false, NULL };
static const metric_family runs_held = { "pawl_runs_held", "Runs that a worker has.", METRIC_GAUGE, false, NULL };
static const metric_family runs_parked = { "pawl_runs_parked", "Runs that no worker can drive as they are.", METRIC_GAUGE, false, NULL };
static const metric_family runs_due = { "pawl_runs_due", "Runs that are due for a worker, and that none has: the queue.", METRIC_GAUGE, false, NULL };
static const metric_family due_oldest = { "pawl_runs_due_oldest_seconds", "For how long the first of the queue has been due.", METRIC_GAUGE, true, NULL };
static const metric_family waits_open = { "pawl_waits_open", "Open waits without an answer, by age: below 1m, 10m, 1h, 1d, 7d, or more.", METRIC_GAUGE,
                                          false, NULL };
static const metric_family wait_oldest = { "pawl_waits_open_oldest_seconds", "The age of the oldest of them.", METRIC_GAUGE, true, NULL };
static const metric_family store_bytes = { "pawl_store_bytes", "Bytes of the store on the disk, by file.", METRIC_GAUGE, false, NULL };
static const metric_family since = { "pawl_counters_since_seconds", "The time from which on the counters of runs count, in seconds since 1970.",
                                     METRIC_GAUGE, true, NULL };
static const metric_family unread = { "pawl_journals_unread_total", "Times that a journal could not be read for the counters, since the start.",
                                      METRIC_COUNTER, false, NULL };
static const metric_family errors = { "pawl_scrape_errors_total", "Numbers that could not be read from the store, since the start.", METRIC_COUNTER,
                                      false, NULL };

typedef struct machine_count { char *machine; uint64_t n[7]; } machine_count;

struct scraper {
    pawl_alloc alloc;
    pawl_store *store;
    cursor_file *file;          /* NULL: there is none */
    journals *journals;
    int64_t until_ms;
    uint64_t errors;
    pawl_code rc;               /* of the numbers of one look */
    pawl_err *err;
    machine_count *machines;
    size_t nmachines, machines_cap;
};

/* ---- what was: counters ------------------------------------------------------------------------------------------------- */

static void number_adds(void *ctx, const metric_family *f, const char *labels, unsigned part, int64_t value)
{
    scraper *s = ctx;

    if (s->rc == PAWL_OK)
        s->rc = cursor_add(s->file, f->name, labels, part, value, METRIC_SERIES_MOST, metric_other, s->err);
}

static void span_adds(void *ctx, const run_span *span) { metrics_of_span(span, number_adds, ctx); }
static void steps_add(void *ctx, const char *machine, uint64_t n) { metrics_of_steps(machine, n, number_adds, ctx); }

static bool time_is_over(void *ctx)
{
    const scraper *s = ctx;

    return s->rc != PAWL_OK || clock_ms() >= s->until_ms;
}

scraper *scraper_new(pawl_store *store, pawl_err *err)
{
    const char *file = store->verbs->file != NULL ? store->verbs->file(store) : NULL;
    scraper *s = calloc(1, sizeof *s);
    const journals_sink sink = { span_adds, steps_add, time_is_over, s };
    char path[4096];

    if (s == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the numbers of the store");
        return NULL;
    }
    s->alloc = mem_or_default(NULL);
    s->store = store;
    if (file != NULL && snprintf(path, sizeof path, "%s.metrics", file) < (int)sizeof path) {
        s->file = cursor_file_open(path, false, store->verbs->now(store), err);
        s->journals = s->file != NULL ? journals_new(store, &sink, err) : NULL;
        if (s->journals == NULL) {
            scraper_free(s);
            return NULL;
        }
    }
    return s;
}

void scraper_free(scraper *s)
{
    if (s == NULL)
        return;
    journals_free(s->journals);
    cursor_file_close(s->file);
    mem_free(&s->alloc, s->machines, s->machines_cap * sizeof *s->machines);
    free(s);
}

pawl_code scrape_more(scraper *s, bool *more, pawl_err *err)
{
    pawl_code rc;

    *more = false;
    if (s->file == NULL)
        return PAWL_OK;
    s->until_ms = clock_ms() + MORE_MS;
    s->rc = PAWL_OK;
    s->err = err;
    if ((rc = cursor_begin(s->file, err)) != PAWL_OK)
        return rc;
    rc = journals_look(s->journals, s->file, more, err);
    rc = rc == PAWL_OK ? s->rc : rc;
    if (rc == PAWL_OK)
        rc = cursor_commit(s->file, err);
    if (rc != PAWL_OK) {
        cursor_rollback(s->file);
        journals_forget(s->journals);
    }
    return rc;
}

/* ---- what is: gauges ----------------------------------------------------------------------------------------------------- */

static bool count_machine(void *ctx, const pawl_head *h)
{
    scraper *s = ctx;
    const char *name = h->machine != NULL ? h->machine : "";
    size_t i = 0;

    if (h->over || h->status >= 7)
        return true;
    while (i < s->nmachines && strcmp(s->machines[i].machine, name) != 0)
        i++;
    if (i == s->nmachines) {
        if (!mem_room(&s->alloc, (void **)&s->machines, &s->machines_cap, s->nmachines, sizeof *s->machines) ||
            (s->machines[i] = (machine_count){ .machine = mem_text(&s->alloc, i < MACHINES_MOST ? name : "") }).machine == NULL)
            return false;
        s->nmachines++;
    }
    s->machines[i].n[h->status]++;
    return true;
}

static int machine_order(const void *a, const void *b)
{
    return strcmp(((const machine_count *)a)->machine, ((const machine_count *)b)->machine);
}

static void runs_write(scraper *s, metric_text *t)
{
    static const uint8_t open[] = { 0, 1, 2 };  /* submitted, working, input-required */

    s->nmachines = 0;
    for (size_t i = 0; i < sizeof open; i++) {
        const pawl_filter of = { .status = 1 + open[i], .limit = RUNS_MOST };

        s->errors += s->store->verbs->list(s->store, &of, count_machine, s, NULL) != PAWL_OK;
    }
    if (s->nmachines > 1)
        qsort(s->machines, s->nmachines, sizeof *s->machines, machine_order);
    for (size_t i = 0; i < s->nmachines; i++) {
        machine_count *m = &s->machines[i];

        for (size_t k = 0; k < sizeof open; k++) {
            char labels[METRIC_LABELS_BYTES] = "";

            metric_label(labels, "machine", m->machine);
            metric_label(labels, "status", status_names[open[k]]);
            metric_put(t, &runs_open, labels, 0, (int64_t)m->n[open[k]]);
        }
        mem_free(&s->alloc, m->machine, strlen(m->machine) + 1);
    }
}

typedef struct run_count { int64_t n, first_ms; } run_count;

static bool count_run(void *ctx, const pawl_head *h)
{
    run_count *c = ctx;

    if (c->n++ == 0)
        c->first_ms = h->look_ms;
    return true;
}

static void lists_write(scraper *s, metric_text *t)
{
    const pawl_filter held = { .held = true, .limit = RUNS_MOST }, parked = { .parked = true, .limit = RUNS_MOST };
    const pawl_store_verbs *v = s->store->verbs;
    const int64_t now = v->now(s->store);
    run_count c = { 0, 0 };

    s->errors += v->list(s->store, &held, count_run, &c, NULL) != PAWL_OK;
    metric_put(t, &runs_held, "", 0, c.n);
    c = (run_count){ 0, 0 };
    s->errors += v->list(s->store, &parked, count_run, &c, NULL) != PAWL_OK;
    metric_put(t, &runs_parked, "", 0, c.n);
    c = (run_count){ 0, 0 };
    s->errors += v->due(s->store, now, NULL, DUE_MOST, count_run, &c, NULL) != PAWL_OK;
    metric_put(t, &runs_due, "", 0, c.n);
    metric_put(t, &due_oldest, "", 0, c.n > 0 && c.first_ms < now ? now - c.first_ms : 0);
}

enum { AGES = 6 };
typedef struct wait_ages { int64_t now_ms, oldest_ms, n[AGES]; } wait_ages;
static const struct { const char *below; int64_t ms; } ages[AGES] = { { "1m", 60000 }, { "10m", 600000 }, { "1h", 3600000 }, { "1d", 86400000 },
                                                                     { "7d", 604800000 }, { "more", INT64_MAX } };

static bool count_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    wait_ages *a = ctx;
    const int64_t age = a->now_ms > w->asked_ms ? a->now_ms - w->asked_ms : 0;
    size_t i = 0;

    (void)run;
    if (w->answered)
        return true;
    while (age >= ages[i].ms && i + 1 < AGES)
        i++;
    a->n[i]++;
    a->oldest_ms = age > a->oldest_ms ? age : a->oldest_ms;
    return true;
}

static void waits_write(scraper *s, metric_text *t)
{
    wait_ages a = { .now_ms = s->store->verbs->now(s->store) };

    s->errors += s->store->verbs->waits(s->store, NULL, count_wait, &a, NULL) != PAWL_OK;
    for (size_t i = 0; i < AGES; i++) {
        char labels[METRIC_LABELS_BYTES] = "";

        metric_label(labels, "age", ages[i].below);
        metric_put(t, &waits_open, labels, 0, a.n[i]);
    }
    metric_put(t, &wait_oldest, "", 0, a.oldest_ms);
}

static void bytes_write(scraper *s, metric_text *t)
{
    static const char *const ends[] = { "", "-wal" }, *const names[] = { "store", "wal" };
    const char *file = s->store->verbs->file != NULL ? s->store->verbs->file(s->store) : NULL;
    char path[4096];
    struct stat at;

    for (size_t i = 0; i < sizeof ends / sizeof *ends && file != NULL; i++) {
        char labels[METRIC_LABELS_BYTES] = "";

        metric_label(labels, "file", names[i]);
        if (snprintf(path, sizeof path, "%s%s", file, ends[i]) < (int)sizeof path && stat(path, &at) == 0)
            metric_put(t, &store_bytes, labels, 0, at.st_size);
    }
}

static void number_comes(void *ctx, const char *name, const char *labels, unsigned part, int64_t value)
{
    const metric_family *f = metric_named(name);

    if (f != NULL)              /* of a newer Pawl */
        metric_put(ctx, f, labels, part, value);
}

void scrape_write(scraper *s, metric_text *t)
{
    runs_write(s, t);
    lists_write(s, t);
    waits_write(s, t);
    bytes_write(s, t);
    if (s->file != NULL) {
        s->errors += cursor_numbers(s->file, number_comes, t, NULL) != PAWL_OK;
        metric_put(t, &since, "", 0, cursor_time_of(s->file, CURSOR_SINCE));
        metric_put(t, &unread, "", 0, (int64_t)journals_unread(s->journals));
    }
    metric_put(t, &errors, "", 0, (int64_t)s->errors);
    metric_end(t);
}
