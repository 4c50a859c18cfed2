/* memory.c - what a superstep costs when nothing is stored. */
#include "bench.h"

#include "json/json.h"

#include <stdio.h>
#include <string.h>

enum { CHAIN_NODES = 100, SENDS = 100, TURNS = 60 };

/* ---- one superstep ------------------------------------------------------------------------- */

/* The nodes of a long chain, one a superstep; making and freeing the run is not counted. */
static bool chain_ns(unsigned flags, reading *out)
{
    pawl_machine *m = bench_chain(CHAIN_NODES);
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    double ns = 0, base = 0;
    bool good = m != NULL;

    for (int i = 0; i < TURNS && good; i++) {
        double from;

        good = run_begin(&r, m, flags, step, NULL);
        from = bench_ns();
        for (int k = 0; k < CHAIN_NODES && good; k++)
            good = run_tick(&r);
        ns += bench_ns() - from;
        good = good && (r.rc == PAWL_HALTED || bench_wrong("the chain is not over", NULL));
        run_end(&r);
        base += bench_malloc_ns(CHAIN_NODES);
    }
    out->value = ns / (TURNS * CHAIN_NODES);
    out->base = base / TURNS;
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

static bool chain_superstep(reading *out)
{
    return chain_ns(PAWL_STATE_NO_JOURNAL, out);
}

/* The bytes of one entry, hashed as the chain is: a digest of the body, and one of the envelope with two digests. */
static double hash_ns(pawl_bytes entry, size_t times)
{
    const char *envelope = entry.data + HASH_HEX + 1;
    const char *body = memchr(envelope, ' ', entry.size - HASH_HEX - 1);
    hash digest = {{0}}, self = {{0}};
    double from = bench_ns();

    for (size_t i = 0; i < times && body != NULL; i++) {
        pawl_bytes parts[3] = { { (const char *)self.b, HASH_BYTES }, { envelope, (size_t)(body - envelope) },
                                { (const char *)digest.b, HASH_BYTES } };
        hash next;

        hash_of(body + 1, entry.size - (size_t)(body + 1 - entry.data), &digest);
        hash_parts(parts, 3, &next);
        self = next;
    }
    return (bench_ns() - from) / (double)times;
}

static bool entry_ns(reading *out)
{
    pawl_machine *m = bench_chain(3);
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    bool good = m != NULL && chain_ns(0, out) && run_begin(&r, m, 0, step, NULL) && run_tick(&r);

    if (good)
        out->base = hash_ns(pawl_step_bytes(step), 2000);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- whole invocations ------------------------------------------------------------------------- */

/* A run made, started, taken to its end and freed. `tasks` of them ran. */
static bool invocation_ns(pawl_machine *m, int times, size_t tasks, reading *out)
{
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    double ns = 0, base = 0;
    bool good = m != NULL;

    for (int i = 0; i < TURNS && good; i++) {
        double from = bench_ns();

        for (int k = 0; k < times && good; k++) {
            good = run_begin(&r, m, PAWL_STATE_NO_JOURNAL, step, NULL) && run_to_end(&r);
            run_end(&r);
        }
        ns += bench_ns() - from;
        base += bench_malloc_ns((size_t)times * tasks);
    }
    out->value = ns / (TURNS * times);
    out->base = base / TURNS * (double)tasks;
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

static bool chain3(reading *out)
{
    return invocation_ns(bench_chain(3), 50, 3, out);
}

static bool fan5(reading *out)
{
    pawl_graph *g = pawl_graph_new("fan", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_channel(g, "total", PAWL_RULE_SUM);
    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof name, "w%d", i);
        pawl_graph_node(g, name, node_count, NULL);
        pawl_graph_edge(g, PAWL_START, name);
    }
    pawl_graph_node(g, "end", node_count, NULL);
    pawl_graph_join(g, "end", "w0", "w1", "w2", "w3", "w4", NULL);
    pawl_graph_edge(g, "end", PAWL_END);
    return invocation_ns(bench_compile(g), 20, 6, out);
}

/* ---- a hundred sends ------------------------------------------------------------------------------ */

static pawl_code node_plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int i = 0; i < SENDS; i++)
        pawl_send(s, "work", pawl_pack(s, "i", (int64_t)i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code node_work(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "total", pawl_value_int(pawl_args(s)));
    return pawl_follow(s);
}

/* plan -> 100 x work -> gather -> plan ...: a round is three supersteps. */
static bool send100_round(reading *out)
{
    pawl_graph *g = pawl_graph_new("sends", 1);
    pawl_machine *m;
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    double ns = 0, base = 0;
    bool good;

    pawl_graph_channel(g, "total", PAWL_RULE_SUM);
    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "plan", node_plan, NULL);
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_node(g, "work", node_work, NULL);
    pawl_graph_node(g, "gather", node_count, NULL);
    pawl_graph_join(g, "gather", "work", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "gather", "plan");
    pawl_graph_max_steps(g, 1000000);
    m = bench_compile(g);
    good = m != NULL && run_begin(&r, m, PAWL_STATE_NO_JOURNAL, step, NULL);
    for (int i = 0; i < TURNS && good; i++) {
        double from = bench_ns();

        for (int k = 0; k < 3 && good; k++)
            good = run_tick(&r);
        ns += bench_ns() - from;
        base += bench_malloc_ns(SENDS + 2);
    }
    good = good && (pawl_value_int(pawl_state_get(r.st, "count")) == TURNS || bench_wrong("a round is not three supersteps", NULL));
    out->value = ns / TURNS / 1000;
    out->base = base / TURNS * (SENDS + 2) / 1000;
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

const figure memory_figures[] = {
    { "memory.chain_superstep", "ns", "indirect call + malloc/free", 150, false, 15, chain_superstep },
    { "memory.chain3", "ns", "3 indirect calls + malloc/free", 600, false, 15, chain3 },
    { "memory.fan5", "ns", "6 indirect calls + malloc/free", 1500, false, 15, fan5 },
    { "memory.send100_round", "us", "102 indirect calls + malloc/free", 15, false, 15, send100_round },
    { "memory.entry_ns", "ns", "SHA-256 of the same bytes", 350, false, 15, entry_ns },
    { 0 },
};
