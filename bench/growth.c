/* growth.c - whether the cost of a thing grows as the thing does: each figure is the exponent of CPU time between FEW and MANY. 1.0 is in
 * proportion; a figure's base is the microseconds of each of the MANY. All of it runs in memory, with journals. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEW = 1000, MANY = 20000, NAME_BYTES = 24 };

static int64_t size_now;        /* of what is measured: nodes read it */

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- driving ------------------------------------------------------------------------------------ */

typedef struct open_ids { char **list; size_t n; } open_ids;

static void ids_free(open_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        free(ids->list[i]);
    free(ids->list);
}

/* The ids of all open commands, or waits. */
static bool ids_of(run *r, bool waits, open_ids *ids)
{
    size_t n = waits ? pawl_state_waits(r->st) : pawl_state_commands(r->st);
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    *ids = (open_ids){ .list = calloc(n + 1, sizeof *ids->list) };
    for (size_t i = 0; ids->list != NULL && i < n && rc == PAWL_OK; i++) {
        pawl_command c = {0};
        pawl_wait w = {0};

        rc = waits ? pawl_state_wait(r->st, i, r->step, &w, &err) : pawl_state_command(r->st, i, r->step, &c, NULL, &err);
        if (rc == PAWL_OK && (ids->list[ids->n] = strdup(waits ? w.id : c.id)) != NULL)
            ids->n++;
    }
    return ids->n == n || bench_wrong("what is open", &err);
}

/* Every open command gets its receipt, or every wait its answer, until the run is over. */
static bool all_answered(run *r, bool waits)
{
    open_ids ids;
    bool good = true;

    while (good && r->rc != PAWL_HALTED) {
        if (r->rc == PAWL_OK) {
            good = run_tick(r);
            continue;
        }
        good = ids_of(r, waits, &ids) && (ids.n > 0 || bench_wrong("nothing is open", NULL));
        for (size_t i = 0; i < ids.n && good; i++) {
            pawl_event ev = { .kind = waits ? PAWL_EV_ANSWER : PAWL_EV_RECEIPT, .outcome = PAWL_OUTCOME_DONE, .id = ids.list[i], .value = "true" };

            good = run_take(r, &ev);
        }
        ids_free(&ids);
    }
    return good;
}

static bool run_whole(pawl_machine *m, int64_t n, bool waits)
{
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    bool good;

    size_now = n;
    good = m != NULL && run_begin(&r, m, 0, step, NULL) && all_answered(&r, waits);
    if (good && pawl_state_status(r.st) != PAWL_STATUS_COMPLETED)
        good = bench_wrong("the run did not complete", NULL);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- machines ----------------------------------------------------------------------------------------- */

static pawl_code node_fan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < size_now; i++)
        pawl_send(s, "work", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

/* plan -> n x work, which join in the end. */
static pawl_machine *fan_machine(pawl_node_fn *work, pawl_graph *sub, pawl_rule rule)
{
    pawl_graph *g = pawl_graph_new("fan", 1);

    pawl_graph_channel(g, "seen", rule);
    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "plan", node_fan, NULL);
    pawl_graph_goto(g, "plan", "work", NULL);
    if (sub != NULL)
        pawl_graph_sub(g, "work", sub);
    else
        pawl_graph_node(g, "work", work, NULL);
    pawl_graph_node(g, "gather", node_count, NULL);
    pawl_graph_join(g, "gather", "work", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "gather", PAWL_END);
    return bench_compile(g);
}

static pawl_code node_write(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "seen", pawl_args(s));
    return PAWL_OK;
}

static pawl_code node_name(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "seen", pawl_pack(s, "s", pawl_format(s, "name-%lld", (long long)pawl_value_int(pawl_args(s)))));
    return PAWL_OK;
}

static pawl_code node_member(pawl_step *s, void *arg)
{
    const char *name = pawl_format(s, "name-%lld", (long long)pawl_value_int(pawl_args(s)));

    (void)arg;
    pawl_set(s, "seen", pawl_json(s, pawl_format(s, "{\"%s\":%lld}", name, (long long)pawl_value_int(pawl_args(s)))));
    return PAWL_OK;
}

static pawl_code node_call(pawl_step *s, void *arg)
{
    const pawl_value *result;

    (void)arg;
    return pawl_call(s, "slow", pawl_args(s), &result);
}

static pawl_code node_fails(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_fail(s, PAWL_TRANSIENT, "no room");
}

static pawl_code node_spawn(pawl_step *s, void *arg)
{
    const pawl_value *result;

    (void)arg;
    return pawl_spawn(s, "child", NULL, &result);
}

static pawl_code node_question(pawl_step *s, void *arg)
{
    const pawl_value *answer;

    (void)arg;
    return pawl_ask(s, pawl_pack(s, "s", "Shall it go on?"), &answer);
}

static pawl_code node_calls(pawl_step *s, void *arg)
{
    const pawl_value *result;
    pawl_code worst = PAWL_OK;

    (void)arg;
    for (int64_t i = 0; i < size_now; i++) {
        pawl_code rc = pawl_call(s, "slow", pawl_pack(s, "i", i), &result);

        worst = rc != PAWL_OK ? rc : worst;
    }
    return worst;
}

/* ---- what is measured -------------------------------------------------------------------------------------- */

typedef bool work_fn(int64_t n);

static bool work_tasks(int64_t n) { return run_whole(fan_machine(node_write, NULL, PAWL_RULE_SUM), n, false); }
static bool work_append(int64_t n) { return run_whole(fan_machine(node_write, NULL, PAWL_RULE_APPEND), n, false); }
static bool work_union(int64_t n) { return run_whole(fan_machine(node_write, NULL, PAWL_RULE_UNION), n, false); }
static bool work_barrier(int64_t n) { return run_whole(fan_machine(node_name, NULL, PAWL_RULE_BARRIER), n, false); }
static bool work_merge(int64_t n) { return run_whole(fan_machine(node_member, NULL, PAWL_RULE_MERGE), n, false); }
static bool work_calls(int64_t n) { return run_whole(fan_machine(node_call, NULL, PAWL_RULE_SUM), n, false); }
static bool work_spawns(int64_t n) { return run_whole(fan_machine(node_spawn, NULL, PAWL_RULE_SUM), n, false); }
static bool work_questions(int64_t n) { return run_whole(fan_machine(node_question, NULL, PAWL_RULE_SUM), n, true); }

/* All are open when the run is canceled, and each ends in its receipt. */
static bool work_cancel(int64_t n)
{
    const pawl_event cancel = { .kind = PAWL_EV_CANCEL, .by = "somebody" };
    pawl_machine *m = fan_machine(node_call, NULL, PAWL_RULE_SUM);
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    bool good;

    size_now = n;
    good = m != NULL && run_begin(&r, m, 0, step, NULL);
    while (good && r.rc == PAWL_OK)
        good = run_tick(&r);
    good = good && run_take(&r, &cancel) && all_answered(&r, false);
    if (good && pawl_state_status(r.st) != PAWL_STATUS_CANCELED)
        good = bench_wrong("the run was not canceled", NULL);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* plan -> n x work, whose commands have an inverse; then a node fails, and each is undone. */
static bool work_undo(int64_t n)
{
    const pawl_limits limits = { .cls = PAWL_CLASS_COMPENSABLE, .inverse = "back" };
    pawl_graph *g = pawl_graph_new("fan", 1);
    pawl_step *step = pawl_step_new(NULL);
    pawl_machine *m;
    run r = {0};
    bool good;

    size_now = n;
    pawl_graph_effect(g, "slow", &limits);
    pawl_graph_node(g, "plan", node_fan, NULL);
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_node(g, "work", node_call, NULL);
    pawl_graph_node(g, "gather", node_fails, NULL);
    pawl_graph_join(g, "gather", "work", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "gather", PAWL_END);
    m = bench_compile(g);
    good = m != NULL && run_begin(&r, m, 0, step, NULL) && all_answered(&r, false);
    if (good && pawl_state_status(r.st) != PAWL_STATUS_FAILED)
        good = bench_wrong("the run did not fail", NULL);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

static bool work_subgraphs(int64_t n)
{
    pawl_graph *inner = pawl_graph_new("inner", 1);

    pawl_graph_channel(inner, "own", PAWL_RULE_LAST);
    pawl_graph_node(inner, "ask", node_call, NULL);
    pawl_graph_chain(inner, PAWL_START, "ask", PAWL_END, NULL);
    return run_whole(fan_machine(NULL, inner, PAWL_RULE_SUM), n, false);
}

static bool work_visit(int64_t n)
{
    pawl_graph *g = pawl_graph_new("visit", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "calls", node_calls, NULL);
    pawl_graph_chain(g, PAWL_START, "calls", PAWL_END, NULL);
    pawl_graph_max_calls(g, MANY);
    return run_whole(bench_compile(g), n, false);
}

/* Commands of no visit: a reducer makes them, a thousand at each signal. */
static pawl_code reduce_calls(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    for (int i = 0; h->kind == PAWL_EV_SIGNAL && i < FEW; i++)
        pawl_flow_call(s, "t", "slow", NULL);
    pawl_set_int(s, "count", h->kind == PAWL_EV_RECEIPT);
    return h->kind == PAWL_EV_RECEIPT && pawl_get_int(s, "count") + 1 == size_now ? pawl_flow_complete(s) : PAWL_OK;
}

static bool work_loose(int64_t n)
{
    const pawl_channel count = { .name = "count", .rule = PAWL_RULE_SUM, .first = "0" };
    const pawl_event more = { .kind = PAWL_EV_SIGNAL, .name = "more", .value = "null" };
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_flow_reducer("loose", 1, &count, 1, reduce_calls, NULL, NULL, &err);
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    bool good;

    size_now = n;
    good = m != NULL && run_begin(&r, m, 0, step, NULL);
    for (int64_t i = 0; i < n && good; i += FEW)
        good = run_take(&r, &more);
    good = good && all_answered(&r, false);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* n nodes side by side, and a join of them all. */
static bool work_join(int64_t n)
{
    pawl_graph *g = pawl_graph_new("wide", 1);
    char (*names)[NAME_BYTES] = calloc((size_t)n, sizeof *names);
    const char **from = calloc((size_t)n, sizeof *from);
    bool good = names != NULL && from != NULL;

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    for (int64_t i = 0; i < n && good; i++) {
        snprintf(names[i], NAME_BYTES, "n%lld", (long long)i);
        from[i] = names[i];
        pawl_graph_node(g, names[i], node_call, NULL);
        pawl_graph_edge(g, PAWL_START, names[i]);
    }
    pawl_graph_node(g, "gather", node_count, NULL);
    if (good)
        pawl_graph_join_of(g, "gather", from, (size_t)n, 0, PAWL_JOIN_IGNORES_REST);
    pawl_graph_edge(g, "gather", PAWL_END);
    good = run_whole(bench_compile(g), n, false) && good;
    free(from);
    free(names);
    return good;
}

static bool work_chain(int64_t n)
{
    pawl_graph *g = pawl_graph_new("long", 1);
    char name[NAME_BYTES], before[NAME_BYTES] = "@start";

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "n%lld", (long long)i);
        pawl_graph_node(g, name, node_count, NULL);
        pawl_graph_edge(g, before, name);
        memcpy(before, name, sizeof before);
    }
    pawl_graph_edge(g, before, PAWL_END);
    pawl_graph_max_steps(g, UINT32_MAX);
    return run_whole(bench_compile(g), n, false);
}

/* Rounds of a fan: a source, ten nodes, a join; `n` nodes in all. */
static pawl_machine *fans(int64_t n)
{
    pawl_graph *g = pawl_graph_new("fans", 1);
    char name[NAME_BYTES], source[NAME_BYTES] = "@start";

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    for (int64_t i = 0; i < n / 12; i++) {
        char names[10][NAME_BYTES];
        const char *from[10];

        snprintf(name, sizeof name, "s%lld", (long long)i);
        pawl_graph_node(g, name, node_count, NULL);
        pawl_graph_edge(g, source, name);
        for (size_t k = 0; k < 10; k++) {
            snprintf(names[k], sizeof names[k], "n%lld_%zu", (long long)i, k);
            pawl_graph_node(g, names[k], node_count, NULL);
            pawl_graph_edge(g, name, names[k]);
            from[k] = names[k];
        }
        snprintf(source, sizeof source, "j%lld", (long long)i);
        pawl_graph_node(g, source, node_count, NULL);
        pawl_graph_join_of(g, source, from, 10, 0, PAWL_JOIN_IGNORES_REST);
    }
    pawl_graph_edge(g, source, PAWL_END);
    return bench_compile(g);
}

static bool work_check(int64_t n)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = fans(n);
    pawl_report *r = m != NULL ? pawl_graph_check(m, 0, &err) : NULL;
    const bool good = r != NULL && pawl_report_exhaustive(r) && pawl_report_count(r) == 0;

    pawl_report_free(r);
    pawl_machine_free(m);
    return good || bench_wrong("a check of a graph", &err);
}

static bool work_picture(int64_t n)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_step *step = pawl_step_new(NULL);
    pawl_machine *m = fans(n);
    const bool good = m != NULL && step != NULL && pawl_draw(m, NULL, PAWL_PICTURE_TEXT, step, &err) != NULL;

    pawl_step_free(step);
    pawl_machine_free(m);
    return good || bench_wrong("a drawing of a graph", &err);
}

static pawl_code node_everywhere(pawl_step *s, void *arg)
{
    char name[NAME_BYTES];

    (void)arg;
    for (int64_t i = 0; i < size_now; i++) {
        snprintf(name, sizeof name, "c%lld", (long long)i);
        pawl_set_int(s, name, pawl_get_int(s, name) + 1);
    }
    return PAWL_OK;
}

static bool work_channels(int64_t n)
{
    pawl_graph *g = pawl_graph_new("broad", 1);
    char name[NAME_BYTES];

    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "c%lld", (long long)i);
        pawl_graph_channel(g, name, PAWL_RULE_LAST);
    }
    pawl_graph_node(g, "all", node_everywhere, NULL);
    pawl_graph_chain(g, PAWL_START, "all", PAWL_END, NULL);
    return run_whole(bench_compile(g), n, false);
}

/* ---- exponents ---------------------------------------------------------------------------------------------- */

/* The least of some rounds: what else the machine does is in the others. */
static bool least_ns(work_fn *work, int64_t n, int rounds, double *ns)
{
    for (int i = 0; i < rounds; i++) {
        double from = cpu_ns(), took;

        if (!work(n))
            return false;
        took = cpu_ns() - from;
        *ns = i == 0 || took < *ns ? took : *ns;
    }
    return true;
}

static bool exponent(work_fn *work, reading *out)
{
    double few, many;

    if (!least_ns(work, FEW, 7, &few) || !least_ns(work, MANY, 2, &many))
        return false;
    out->value = log(many / few) / log((double)MANY / FEW);
    out->base = 1;
    return true;
}

#define GROWTH(name) static bool growth_##name(reading *out) { return exponent(work_##name, out); }
GROWTH(tasks)
GROWTH(append)
GROWTH(union)
GROWTH(barrier)
GROWTH(merge)
GROWTH(calls)
GROWTH(spawns)
GROWTH(questions)
GROWTH(subgraphs)
GROWTH(visit)
GROWTH(join)
GROWTH(chain)
GROWTH(channels)
GROWTH(loose)
GROWTH(cancel)
GROWTH(check)
GROWTH(picture)
GROWTH(undo)

#define FAN(name) static bool growth_##name(reading *out) { return exponent(fan_##name, out); }
FAN(refs)
FAN(deadlines)
FAN(naps)
FAN(children)
FAN(few)
FAN(some)
FAN(twice)
FAN(mixed)

#define FIGURE(name) { "growth." #name, "exponent", "linear growth", 1.1, false, 1, growth_##name }
const figure growth_figures[] = {
    FIGURE(tasks), FIGURE(append), FIGURE(union), FIGURE(barrier), FIGURE(merge), FIGURE(calls), FIGURE(spawns), FIGURE(questions),
    FIGURE(subgraphs), FIGURE(visit), FIGURE(join), FIGURE(chain), FIGURE(channels),
    FIGURE(loose), FIGURE(cancel), FIGURE(undo), FIGURE(refs), FIGURE(deadlines), FIGURE(naps), FIGURE(children), FIGURE(few), FIGURE(some),
    FIGURE(twice), FIGURE(mixed), FIGURE(check), FIGURE(picture), { 0 },
};
