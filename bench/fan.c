/* fan.c - what a command costs beside many others: a fan-out of calls that an engine performs, in a store in memory. CPU time. */
#include "bench.h"

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

static pawl_machine *fan_machine(void)
{
    pawl_graph *g = pawl_graph_new("fan", 1);

    pawl_graph_channel(g, "total", PAWL_SUM);
    pawl_graph_node(g, "plan", node_plan, NULL);
    pawl_graph_node(g, "work", node_work, NULL);
    pawl_graph_goto(g, "plan", "work", PAWL_END, NULL);
    pawl_graph_edge(g, "work", PAWL_END);
    pawl_graph_edge(g, PAWL_START, "plan");
    return bench_compile(g);
}

/* Of each task, in a fan-out of that many. */
static bool task_ns(int64_t n, double *ns)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(fan_machine(), pawl_store_memory(NULL), &err);
    double from;
    bool good;

    fan_size = n;
    good = e != NULL && pawl_engine_effect(e, "job", answer, NULL, PAWL_AT_LEAST_ONCE, &err) == PAWL_OK;
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
