/* engine.c - how soon an engine hears of things, what it keeps, and how fast a process has one. */
#include "bench.h"


#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- an answer from another process ----------------------------------------------------------- */

/* The run is held: two commands are out. One of them is the process that answers. */
typedef struct answering {
    disk d;
    pawl_engine *e;
    double given, durable;      /* 0: not yet */
    bool asked;
    volatile bool over, bad;
} answering;

static pawl_code slow(const pawl_job *job, pawl_reply *r, void *arg)
{
    answering *a = arg;
    double given;

    if (strstr(job->id, "slower") == NULL) {
        if (!child_run("answer", a->d.store, "r", &given))
            a->bad = true;
        a->given = given;
    }
    while (!a->over && !a->bad)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    return pawl_reply_int(r, 1);
}

static void answer_stored(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    answering *a = ctx;

    (void)entry;
    a->asked = a->asked || pawl_state_waits(st) > 0;
    if (a->durable > 0 || !a->asked || pawl_state_waits(st) > 0)
        return;
    a->durable = bench_ns();
    a->over = true;
}

static bool deliver_ms(reading *out)
{
    answering a = { .given = 0 };
    pawl_err err = {0};
    double raw = 0;
    bool good = disk_begin(&a.d, false) && disk_raw(&a.d, ENTRY_BYTES, 20, &raw) && (a.e = disk_engine(&a.d, ask_machine())) != NULL &&
                pawl_engine_effect(a.e, "slow", slow, &a, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK;

    if (good) {
        pawl_engine_threads(a.e, 2);
        pawl_engine_watch(a.e, answer_stored, &a);
        good = pawl_run(a.e, "r", NULL, &err) == PAWL_HALTED || bench_wrong("a run that is answered", &err);
    }
    pawl_engine_free(a.e);
    good = good && !a.bad && (a.durable > 0 || bench_wrong("an answer", NULL));
    *out = (reading){ (a.durable - a.given) / 1e6, raw / 20 / 1e6 };
    disk_end(&a.d);
    return good;
}

/* ---- runs that wait ------------------------------------------------------------------------------- */

enum { PARKED_FIRST = 10000, PARKED = 20000 };

static bool park(pawl_engine *e, int from, int to)
{
    enum { BATCH = 500 };
    pawl_err err = {0};
    char id[16];
    bool good = true;

    for (int i = from; i < to && good; i++) {
        snprintf(id, sizeof id, "r%d", i);
        good = pawl_begin(e, id, NULL, &err) == PAWL_OK || bench_wrong("a run", &err);
        if ((i + 1) % BATCH == 0)
            good = good && (pawl_work(e, 0, &err) == PAWL_OK || bench_wrong("runs are parked", &err));
    }
    return good;
}

static bool parked_bytes(reading *out)
{
    disk d;
    pawl_engine *e = NULL;
    double before = 0, grown = 0;
    bool good = disk_begin(&d, true) && (e = disk_engine(&d, nap_machine())) != NULL && park(e, 0, PARKED_FIRST);

    if (good) {
        before = bench_allocated();
        good = park(e, PARKED_FIRST, PARKED_FIRST + PARKED);
        grown = bench_allocated() - before;
    }
    pawl_engine_free(e);
    *out = (reading){ grown > 0 ? grown / PARKED : 0, disk_size(d.store) / (PARKED_FIRST + PARKED) };
    disk_end(&d);
    return good;
}

/* ---- a process begins --------------------------------------------------------------------------------- */

static disk cold_disk;

static bool cold_child(const char *what, double *number)
{
    static int n;
    char id[16];

    snprintf(id, sizeof id, "r%d", n++);
    return child_run(what, cold_disk.store, id, number);
}

static bool cold_start(reading *out)
{
    double at = 0, none = 0, from;
    bool good = disk_begin(&cold_disk, false) && cold_child("start", &at);

    from = bench_ns();
    good = good && cold_child("nothing", &none);
    out->base = (none - from) / 1e6;
    from = bench_ns();
    good = good && cold_child("start", &at);
    out->value = (at - from) / 1e6;
    disk_end(&cold_disk);
    return good;
}

static bool cold_rss(reading *out)
{
    double most = 0;
    bool good = disk_begin(&cold_disk, false) && cold_child("start", &most) && cold_child("memory", &most);

    *out = (reading){ most / 1e6, 1 };
    disk_end(&cold_disk);
    return good;
}

const figure engine_figures[] = {
    { "engine.deliver_ms", "ms", "a plain row's commit, FULL", 50, false, 7, deliver_ms },
    { "engine.parked_bytes", "bytes", "a run in the file", 16, false, 1, parked_bytes },
    { "engine.fan20000_growth", "x", "a task of 1,000", 1.3, false, 3, fan_growth },
    { "engine.fan20000_us", "us", "a task of 1,000", 0, false, 1, fan_us },
    { "cold.start_ms", "ms", "a process that does nothing", 5, false, 9, cold_start },
    { "cold.rss_mb", "MB", "1 MB", 6, false, 3, cold_rss },
    { 0 },
};
