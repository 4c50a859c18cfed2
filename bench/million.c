/* million.c - what it matters that there are a million runs. Most of them are rows that were copied: nobody drives them. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MILLION = 1000000 };

static bool count_head(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(int *)ctx;
    return true;
}

/* ---- a page of the list --------------------------------------------------------------------------------- */

enum { PAGE_RUNS = 50, LISTS = 201 };

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The median of a page from the middle of the list. */
static bool list_us(pawl_store *s, const pawl_filter *f, double *us)
{
    double took[LISTS];
    pawl_err err = {0};
    bool good = true;

    for (int i = 0; i < LISTS && good; i++) {
        int n = 0;

        took[i] = bench_ns();
        good = s->verbs->list(s, f, count_head, &n, &err) == PAWL_OK || bench_wrong("a list", &err);
        took[i] = bench_ns() - took[i];
        good = good && (n == PAGE_RUNS || bench_wrong("a page is short", NULL));
    }
    qsort(took, LISTS, sizeof *took, by_size);
    *us = took[LISTS / 2] / 1000;
    return good;
}

static bool list_among(uint64_t runs, double *us)
{
    const pawl_filter f = { .status = 1 + PAWL_STATUS_INPUT_REQUIRED, .before = runs / 2, .limit = PAGE_RUNS };
    disk d;
    pawl_err err = {0};
    pawl_store *s = NULL;
    bool good = disk_begin(&d, true) && disk_runs(&d, runs, 0) && ((s = pawl_store_sqlite(d.store, NULL, &err)) != NULL || bench_wrong("a store", &err)) &&
                list_us(s, &f, us);

    pawl_store_free(s);
    disk_end(&d);
    return good;
}

static bool list_1m(reading *out)
{
    double many = 0, few = 1;
    bool good = list_among(1000, &few) && list_among(MILLION, &many);

    *out = (reading){ many / few, 1 };
    return good;
}

/* ---- a million timers --------------------------------------------------------------------------- */

enum { DUE = 2000, HOUR_MS = 3600000 };

static int64_t moved_now(void *ctx)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + *(int64_t *)ctx;
}

static void moved_sleep(void *ctx, int64_t time_ms)
{
    (void)ctx, (void)time_ms;
}

/* DUE runs sleep for an hour, all others of the million for a day. */
static bool nap(pawl_engine *e)
{
    pawl_err err = {0};
    char id[16];
    bool good = true;

    for (int i = 0; i < DUE && good; i++) {
        snprintf(id, sizeof id, "nap%d", i);
        good = pawl_begin(e, id, NULL, &err) == PAWL_OK || bench_wrong("a run", &err);
    }
    return good && (pawl_work(e, 0, &err) == PAWL_OK || bench_wrong("runs fall asleep", &err));
}

static bool timers(disk *d, double *found, double *fired, double *raw)
{
    int64_t ahead = 0;
    pawl_err err = {0};
    pawl_engine *e = NULL;
    int n = 0;
    bool good = disk_begin(d, false) && disk_runs(d, MILLION - DUE, moved_now(&ahead) + 24 * HOUR_MS) && disk_raw(d, ENTRY_BYTES, 500, raw) &&
                (e = disk_engine(d, nap_machine())) != NULL;

    if (good)
        pawl_engine_clock(e, &(pawl_clock){ moved_now, moved_sleep, &ahead });
    good = good && nap(e);
    ahead = HOUR_MS + 60000;
    for (int i = 0; i < 3 && good; i++) {
        n = 0;
        *found = bench_ns();
        good = pawl_engine_store(e)->verbs->due(pawl_engine_store(e), moved_now(&ahead), NULL, DUE, count_head, &n, &err) == PAWL_OK;
        *found = (bench_ns() - *found) / DUE / 1000;
        good = good && (n == DUE || bench_wrong("timers are missing", &err));
    }
    *fired = bench_ns();
    good = good && (pawl_work(e, 0, &err) == PAWL_OK || bench_wrong("timers", &err));
    *fired = (bench_ns() - *fired) / DUE / 1000;
    *raw /= 500 * 1000;
    good = good && (pawl_state_status(pawl_run_state(e, "nap7", NULL)) == PAWL_STATUS_COMPLETED || bench_wrong("a run sleeps on", NULL));
    pawl_engine_free(e);
    disk_end(d);
    return good;
}

/* Both figures come of one measurement. */
static bool timers_told(reading *find, reading *fire)
{
    static double found, fired, raw;
    disk d;

    if (found == 0 && !timers(&d, &found, &fired, &raw))
        return false;
    if (find != NULL)
        *find = (reading){ found, raw };
    if (fire != NULL)
        *fire = (reading){ fired, raw };
    return true;
}

static bool timers_1m(reading *out) { return timers_told(out, NULL); }
static bool timers_1m_fired(reading *out) { return timers_told(NULL, out); }

const figure million_figures[] = {
    { "sqlite.list_1m", "x", "the same page among a thousand", 1.5, false, 1, list_1m },
    { "engine.timers_1m", "us", "a plain row's commit, FULL", 1, false, 1, timers_1m },
    { "cli.ls_1m_ms", "ms", "a process that does nothing", 20, false, 1, cli_ls_1m },
    { "cli.show_1m_ms", "ms", "a process that does nothing", 20, false, 1, cli_show_1m },
    { "engine.timers_1m_fired", "us", "a plain row's commit, FULL", 50, false, 1, timers_1m_fired },
    { 0 },
};
