/* sqlite.c - what a durable step costs, beside a plain row of as many bytes with a commit of its own. Both lie in one folder
 * and take turns. The first thousand steps of either are not counted: until its WAL begins again from its
 * start, each commit makes a file longer. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 1500, BLOCK = 50, BLOCKS = 40 };

/* ---- one run ------------------------------------------------------------------------------- */

/* The store's steps and the plain rows in turns of BLOCK. */
typedef struct laps {
    disk *d;
    pawl_engine *e;
    int at, blocks;
    double from, ns, raw_ns;
    bool bad;
} laps;

static void lap(void *ctx, int64_t who)
{
    laps *l = ctx;
    int turn = ++l->at - WARM;

    (void)who;
    if (turn < 0 || turn % BLOCK != 0)
        return;
    if (turn > 0)
        l->ns += bench_ns() - l->from;
    l->bad = l->bad || !disk_raw(l->d, ENTRY_BYTES, turn > 0 ? BLOCK : 0, &l->raw_ns);
    if (l->bad || turn == BLOCK * l->blocks)
        pawl_engine_stop(l->e);
    l->from = bench_ns();
}

static bool run_stopped(pawl_engine *e, const char *id)
{
    pawl_err err = {0};

    return pawl_run(e, id, NULL, &err) >= 0 || bench_wrong("a run", &err);
}

static bool steps(bool normal, pawl_durability mode, double *ns, double *raw_ns)
{
    disk d;
    laps l = { .d = &d, .blocks = BLOCKS };
    turns t = { lap, &l };
    bool good = disk_begin(&d, normal) && (l.e = disk_engine(&d, loop_machine(&t))) != NULL;

    pawl_engine_durability(l.e, mode);
    good = good && run_stopped(l.e, "r") && !l.bad;
    *ns = l.ns;
    *raw_ns = l.raw_ns;
    pawl_engine_free(l.e);
    disk_end(&d);
    return good;
}

static bool step_vs_raw(bool normal, reading *out)
{
    double ns, raw_ns;
    bool good = steps(normal, PAWL_DURABLE_SYNC, &ns, &raw_ns);

    *out = (reading){ good ? ns / raw_ns : 0, 1 };
    return good;
}

static bool step_full(reading *out) { return step_vs_raw(false, out); }
static bool step_normal(reading *out) { return step_vs_raw(true, out); }

/* Steps in the time of a plain row: they are gathered. */
static bool gathered(pawl_durability mode, reading *out)
{
    double ns, raw_ns;
    bool good = steps(false, mode, &ns, &raw_ns);

    *out = (reading){ good ? raw_ns / ns : 0, 1 };
    return good;
}

static bool step_exit(reading *out) { return gathered(PAWL_DURABLE_EXIT, out); }
static bool step_async(reading *out) { return gathered(PAWL_DURABLE_ASYNC, out); }

/* ---- 64 runs ---------------------------------------------------------------------------------- */

/* In slices, plain rows between them: the disk has bad moments, and those of one slice are not those of all. */
enum { RUNS = 64, SLICES = 60, SLICE_MS = 200, RAW_ROWS = 300, SLICE_STEPS_MAX = 1 << 18 };

typedef struct crowd {
    disk *d;
    pawl_engine *e;
    int warm, slices;
    double from;                /* of this slice */
    double last[RUNS + 1];      /* when a run's step before began: between two is one step and its commit; 0: plain rows were */
    double took[SLICE_STEPS_MAX];
    size_t n, steps;
    double rate[SLICES], p99[SLICES];
    bool bad;
} crowd;

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void slice_end(crowd *c, double now)
{
    double raw = 0;

    c->bad = !disk_raw(c->d, ENTRY_BYTES, RAW_ROWS, &raw);
    qsort(c->took, c->n, sizeof *c->took, by_size);
    c->rate[c->slices] = (double)c->steps / (now - c->from) * raw / RAW_ROWS;
    c->p99[c->slices] = c->took[c->n * 99 / 100] / (raw / RAW_ROWS);
    c->n = c->steps = 0;
    memset(c->last, 0, sizeof c->last);
    if (++c->slices == SLICES || c->bad)
        pawl_engine_stop(c->e);
    c->from = bench_ns();
}

static void crowd_turn(void *ctx, int64_t who)
{
    crowd *c = ctx;
    double now = bench_ns();

    if (c->warm > 0 || c->slices == SLICES) {
        c->warm--;
        c->from = now;
        return;
    }
    c->steps++;
    if (c->last[who] > 0 && c->n < SLICE_STEPS_MAX)
        c->took[c->n++] = now - c->last[who];
    c->last[who] = now;
    if (now - c->from >= SLICE_MS * 1e6)
        slice_end(c, now);
}

static bool crowd_begin(crowd *c)
{
    pawl_err err = {0};
    char id[16], input[32];
    bool good = true;

    for (int i = 1; i <= RUNS && good; i++) {
        snprintf(id, sizeof id, "r%d", i);
        snprintf(input, sizeof input, "{\"who\":%d}", i);
        good = pawl_begin(c->e, id, input, &err) == PAWL_OK || bench_wrong("a run", &err);
    }
    return good;
}

/* Both figures come of one measurement. */
static bool runs64(reading *rate, reading *p99)
{
    static double times, waits;
    static crowd c;
    disk d;
    turns t = { crowd_turn, &c };
    pawl_err err = {0};
    double warm = 0;
    bool good = true;

    if (times == 0) {
        c = (crowd){ .d = &d, .warm = 400 * RUNS };
        good = disk_begin(&d, false) && disk_raw(&d, ENTRY_BYTES, 0, &warm) && (c.e = disk_engine(&d, loop_machine(&t))) != NULL &&
               crowd_begin(&c) && (pawl_work(c.e, INT64_MAX, &err) == PAWL_OK || bench_wrong("64 runs", &err)) && !c.bad;
        qsort(c.rate, SLICES, sizeof *c.rate, by_size);
        qsort(c.p99, SLICES, sizeof *c.p99, by_size);
        times = good ? c.rate[SLICES / 2] : 0;
        waits = good ? c.p99[SLICES / 2] : 0;
        pawl_engine_free(c.e);
        disk_end(&d);
    }
    if (rate != NULL)
        *rate = (reading){ times, 1 };
    if (p99 != NULL)
        *p99 = (reading){ waits, 1 };
    return good;
}

static bool runs64_rate(reading *out) { return runs64(out, NULL); }
static bool runs64_p99(reading *out) { return runs64(NULL, out); }

/* ---- 2,000 messages ------------------------------------------------------------------------------ */

enum { MESSAGES = 2000, EARLY = 100, LATE = 1900, AROUND = 50 };

typedef struct talk {
    pawl_engine *e;
    int at;
    double last, took[MESSAGES + 1];
} talk;

static void talk_turn(void *ctx, int64_t who)
{
    talk *k = ctx;
    double now = bench_ns();

    (void)who;
    k->took[k->at] = now - k->last;
    k->last = now;
    if (++k->at == MESSAGES)
        pawl_engine_stop(k->e);
}

static bool messages(disk *d, talk *k)
{
    turns t = { talk_turn, k };
    bool good = (k->e = disk_engine(d, say_machine(&t))) != NULL && run_stopped(k->e, "talk");

    pawl_engine_free(k->e);
    return good;
}

static bool msgs_bytes(reading *out)
{
    static talk k;
    disk d;
    bool good = disk_begin(&d, true);

    k = (talk){ .at = 0 };
    good = good && messages(&d, &k);
    out->value = disk_size(d.store) / (MESSAGES * SAID_BYTES);
    out->base = 1;
    disk_end(&d);
    return good;
}

static double middle(double *took, int at)
{
    qsort(took + at - AROUND, 2 * AROUND, sizeof *took, by_size);
    return took[at];
}

/* Another run has filled the WAL once before, else the early steps would be the slow ones. Its handle stays open: the last one
 * that is closed takes the WAL away. */
static bool msgs_growth(reading *out)
{
    static talk k;
    disk d;
    laps l = { .d = &d };
    turns t = { lap, &l };
    bool good = disk_begin(&d, false) && (l.e = disk_engine(&d, loop_machine(&t))) != NULL && run_stopped(l.e, "warm") && !l.bad;

    k = (talk){ .at = 0 };
    good = good && messages(&d, &k);
    out->value = good ? middle(k.took, LATE) / middle(k.took, EARLY) : 0;
    out->base = 1;
    pawl_engine_free(l.e);
    disk_end(&d);
    return good;
}

/* ---- 2,000 calls ----------------------------------------------------------------------------------- */

typedef struct calls { pawl_engine *e; int n; } calls;

static pawl_code reply(const pawl_job *job, pawl_reply *r, void *arg)
{
    calls *c = arg;
    char text[SAID_BYTES + 1];

    (void)job;
    memset(text, 'r', SAID_BYTES);
    text[SAID_BYTES] = '\0';
    if (++c->n == MESSAGES)
        pawl_engine_stop(c->e);
    return pawl_reply_string(r, text);
}

static bool calls_bytes(reading *out)
{
    disk d;
    calls c = { .n = 0 };
    bool good = disk_begin(&d, true) && (c.e = disk_engine(&d, talk_machine())) != NULL &&
                pawl_engine_effect(c.e, "llm", reply, &c, PAWL_CLASS_AT_LEAST_ONCE, NULL) == PAWL_OK && run_stopped(c.e, "talk");

    pawl_engine_free(c.e);
    out->value = disk_size(d.store) / (MESSAGES * SAID_BYTES);
    out->base = 1;
    disk_end(&d);
    return good;
}

/* ---- a fresh process goes on ------------------------------------------------------------------------ */

static bool child_ms(const char *what, const disk *d, double *ms)
{
    double from = bench_ns();
    bool good = child_run(what, d->store, "talk", ms);

    *ms = (*ms - from) / 1e6;
    return good;
}

static bool resume_ms(reading *out)
{
    enum { TIMES = 9 };
    static talk k;
    double ms[TIMES] = {0}, none[TIMES] = {0};
    disk d;
    bool good = disk_begin(&d, false);

    k = (talk){ .at = 0 };
    good = good && messages(&d, &k);
    for (int i = 0; i < TIMES && good; i++)
        good = child_ms("resume", &d, &ms[i]) && child_ms("nothing", &d, &none[i]);
    qsort(ms, TIMES, sizeof *ms, by_size);
    qsort(none, TIMES, sizeof *none, by_size);
    *out = (reading){ ms[TIMES / 2], none[TIMES / 2] };
    disk_end(&d);
    return good;
}

/* ---- plan, 100 sends, join ---------------------------------------------------------------------------- */

enum { FAN_WARM = 600, FAN_TURNS = 300 };

typedef struct fans {
    disk *d;
    pawl_engine *e;
    int at, n;
    double from, took[FAN_TURNS], raw[FAN_TURNS];
    bool bad;
} fans;

/* At the end of a round, three plain rows. */
static void fan_turn(void *ctx, int64_t who)
{
    fans *f = ctx;
    double now = bench_ns();

    (void)who;
    if (++f->at > FAN_WARM) {
        if (f->at > FAN_WARM + 1)
            f->took[f->n++] = now - f->from;
        f->bad = f->n < FAN_TURNS && !disk_raw(f->d, ENTRY_BYTES, 3, &f->raw[f->n]);
        if (f->bad || f->n == FAN_TURNS)
            pawl_engine_stop(f->e);
    }
    f->from = bench_ns();
}

static bool fan100(reading *out)
{
    static fans f;
    disk d;
    turns t = { fan_turn, &f };
    double warm = 0;
    bool good = disk_begin(&d, false);

    f = (fans){ .d = &d };
    good = good && disk_raw(&d, ENTRY_BYTES, 0, &warm) && (f.e = disk_engine(&d, sends_machine(&t))) != NULL &&
           run_stopped(f.e, "fan") && !f.bad;
    qsort(f.took, FAN_TURNS, sizeof *f.took, by_size);
    qsort(f.raw, FAN_TURNS, sizeof *f.raw, by_size);
    *out = (reading){ f.took[FAN_TURNS / 2] / 1e6, f.raw[FAN_TURNS / 2] / 1e6 };
    pawl_engine_free(f.e);
    disk_end(&d);
    return good;
}

const figure sqlite_figures[] = {
    { "sqlite.step_vs_raw", "x", "a plain row's commit, FULL", 1.15, false, 5, step_full },
    { "sqlite.step_vs_raw_normal", "x", "a plain row's commit, NORMAL", 1.2, false, 9, step_normal },
    { "sqlite.step_exit_vs_raw", "x", "plain rows with a commit each, FULL", 0, true, 5, step_exit },
    { "sqlite.step_async_vs_raw", "x", "plain rows with a commit each, FULL", 0, true, 5, step_async },
    { "sqlite.runs64_vs_raw", "x", "plain rows with a commit each, FULL", 20, true, 1, runs64_rate },
    { "sqlite.runs64_p99", "x", "a plain row's commit, FULL", 6, false, 1, runs64_p99 },
    { "sqlite.msgs2000_bytes", "x", "the payload", 1.5, false, 1, msgs_bytes },
    { "sqlite.msgs2000_growth", "x", "step 100 of the same run", 1.2, false, 3, msgs_growth },
    { "sqlite.calls2000_bytes", "x", "the payload", 1.7, false, 1, calls_bytes },
    { "sqlite.resume_ms", "ms", "a process that does nothing", 4, false, 1, resume_ms },
    { "sqlite.fan100_ms", "ms", "three plain rows, a commit each", 1, false, 1, fan100 },
    { 0 },
};
