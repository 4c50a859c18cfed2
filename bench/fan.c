/* fan.c - what a command, a question or a child costs beside many others: fan-outs that an engine drives, in a store in memory. CPU time. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FEW = 1000, MANY = 20000 };

static int64_t fan_size;        /* nodes read it */

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static pawl_code node_plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < fan_size; i++)
        pawl_send(s, "work", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code node_work(pawl_step *s, void *arg)
{
    const pawl_value *value;
    pawl_code rc = pawl_call(s, "job", pawl_args(s), &value);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set_int(s, "total", pawl_value_int(value));
    return pawl_follow(s);
}

static pawl_code answer(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "1");
}

static pawl_machine *fan_of(pawl_node_fn *work, uint32_t at_once)
{
    pawl_graph *g = pawl_graph_new("fan", 1);

    pawl_graph_channel(g, "total", PAWL_RULE_SUM);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "about", .first = "[1,2,3]" });
    pawl_graph_max_concurrency(g, at_once);
    pawl_graph_node(g, "plan", node_plan, NULL);
    pawl_graph_node(g, "work", work, NULL);
    pawl_graph_goto(g, "plan", "work", PAWL_END, NULL);
    pawl_graph_edge(g, "work", PAWL_END);
    pawl_graph_edge(g, PAWL_START, "plan");
    return bench_compile(g);
}

static pawl_machine *fan_machine(void) { return fan_of(node_work, 0); }

/* Of each task, in a fan-out of that many. */
static bool task_ns(int64_t n, double *ns)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(fan_machine(), pawl_store_memory(NULL), &err);
    double from;
    bool good;

    fan_size = n;
    good = e != NULL && pawl_engine_effect(e, "job", answer, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK;
    from = cpu_ns();
    good = good && pawl_run(e, "r", NULL, &err) == PAWL_HALTED;
    *ns = (cpu_ns() - from) / (double)n;
    pawl_engine_free(e);
    return good || bench_wrong("a fan-out of calls", &err);
}

bool fan_growth(reading *out)
{
    double few = 0, many = 0;

    if (!task_ns(FEW, &few) || !task_ns(FEW, &few) || !task_ns(MANY, &many))
        return false;
    *out = (reading){ many / few, 1 };
    return true;
}

bool fan_us(reading *out)
{
    double few = 0, many = 0;

    if (!task_ns(FEW, &few) || !task_ns(MANY, &many))
        return false;
    *out = (reading){ many / 1e3, few / 1e3 };
    return true;
}

/* ---- other fan-outs, for growth.c ------------------------------------------------------------------------ */

enum { LIFE = 1, HOUR_MS = 3600000 };

static int64_t fan_now;         /* the engine's clock; a sleep moves it */

static int64_t clock_now(void *ctx)
{
    (void)ctx;
    return fan_now;
}

static void clock_sleep(void *ctx, int64_t until)
{
    (void)ctx;
    fan_now = until > fan_now ? until : fan_now;
}

static pawl_code node_ref(pawl_step *s, void *arg)
{
    const pawl_value *value;

    (void)arg;
    return pawl_call(s, "job", pawl_pack(s, "{s:v,s:v}", "about", pawl_ref(s, "about"), "i", pawl_args(s)), &value);
}

static pawl_code node_late(pawl_step *s, void *arg)
{
    const pawl_question q = { .prompt = pawl_pack(s, "s", "Shall it go on?"), .otherwise = pawl_pack(s, "b", false),
                              .timeout_ms = HOUR_MS + (pawl_value_int(pawl_args(s)) * 7919) % 100000 };
    const pawl_value *value;

    (void)arg;
    return pawl_ask_with(s, &q, &value);
}

static pawl_code node_nap(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_sleep(s, HOUR_MS + (pawl_value_int(pawl_args(s)) * 7919) % 100000);
}

static pawl_code node_child(pawl_step *s, void *arg)
{
    const pawl_value *value;

    (void)arg;
    return pawl_spawn(s, "chain", NULL, &value);
}

static pawl_code node_twice(pawl_step *s, void *arg)
{
    const pawl_value *value;
    pawl_code rc = pawl_call(s, "job", pawl_args(s), &value);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_call(s, "job", pawl_args(s), &value);
}

/* The first half asks, and the others make a call after another: each step looks at what is open beside the questions. */
static pawl_code node_mixed(pawl_step *s, void *arg)
{
    const pawl_value *value;

    if (pawl_value_int(pawl_args(s)) >= fan_size / 2)
        return node_twice(s, arg);
    return pawl_ask(s, pawl_pack(s, "s", "Shall it go on?"), &value);
}

static pawl_engine *fan_engine(int64_t n, pawl_machine *m)
{
    const pawl_clock clock = { .now_ms = clock_now, .sleep_until = clock_sleep };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, pawl_store_memory(NULL), &err);
    bool good = e != NULL && pawl_engine_add(e, bench_chain(1), &err) == PAWL_OK &&
                pawl_engine_effect(e, "job", answer, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK;

    fan_size = n;
    fan_now = HOUR_MS;
    if (good) {
        pawl_engine_clock(e, &clock);
        return e;
    }
    pawl_engine_free(e);
    (void)bench_wrong("an engine", &err);
    return NULL;
}

/* Driven until it ends; the first `answers` tasks ask, and each is answered by its id, by an event of its own. */
static bool fan_driven(int64_t n, pawl_machine *m, int64_t answers)
{
    const pawl_run_info info = { .id = "r", .life = LIFE };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = fan_engine(n, m);
    pawl_code rc = e != NULL ? pawl_run_with(e, &info, NULL, &err) : PAWL_INVALID;
    char id[64];

    for (int64_t i = 0; i < answers && rc == PAWL_INTERRUPTED; i++) {
        snprintf(id, sizeof id, "r~%016x/2.work:%lld.1.0", LIFE, (long long)i);
        rc = pawl_answer(e, "r", id, "true", &err);
    }
    pawl_engine_free(e);
    return rc == PAWL_HALTED || bench_wrong("a fan-out", &err);
}

bool fan_refs(int64_t n) { return fan_driven(n, fan_of(node_ref, 0), 0); }
bool fan_deadlines(int64_t n) { return fan_driven(n, fan_of(node_late, 0), n); }
bool fan_naps(int64_t n) { return fan_driven(n, fan_of(node_nap, 0), 0); }
bool fan_children(int64_t n) { return fan_driven(n, fan_of(node_child, 0), 0); }
bool fan_few(int64_t n) { return fan_driven(n, fan_of(node_work, 4), 0); }
bool fan_some(int64_t n) { return fan_driven(n, fan_of(node_work, 64), 0); }
bool fan_twice(int64_t n) { return fan_driven(n, fan_of(node_twice, 0), 0); }
bool fan_mixed(int64_t n) { return fan_driven(n, fan_of(node_mixed, 0), n / 2); }
