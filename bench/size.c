/* size.c - what grows and what does not: a long conversation, and a hundred thousand runs that wait. */
#include "bench.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 1000, EARLY = 100, LATE = 20000, WINDOW = 600, RUNS = 100000 };

/* ---- append ---------------------------------------------------------------------------------- */

static char message[MESSAGE_BYTES + 1];

static pawl_code node_append(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "messages", message);
    return pawl_follow(s);
}

static pawl_machine *append_machine(void)
{
    pawl_graph *g = pawl_graph_new("append", 1);

    memset(message, 'm', MESSAGE_BYTES);
    pawl_graph_channel(g, "messages", PAWL_RULE_APPEND);
    pawl_graph_node(g, "say", node_append, NULL);
    pawl_graph_edge(g, PAWL_START, "say");
    pawl_graph_edge(g, "say", "say");
    pawl_graph_max_steps(g, 1000000);
    return bench_compile(g);
}

/* A plain vector of strings, grown as one does. */
typedef struct plain { char **v; size_t n, cap; } plain;

static bool plain_append(plain *p)
{
    if (p->n == p->cap) {
        size_t cap = p->cap == 0 ? 8 : p->cap * 2;
        char **grown = realloc(p->v, cap * sizeof *grown);

        if (grown == NULL)
            return bench_wrong("no memory", NULL);
        p->v = grown;
        p->cap = cap;
    }
    if ((p->v[p->n] = malloc(MESSAGE_BYTES + 1)) == NULL)
        return bench_wrong("no memory", NULL);
    memcpy(p->v[p->n++], message, MESSAGE_BYTES + 1);
    return true;
}

/* The first window begins at message 100, the last ends at message 20,000. */
static bool append_growth(reading *out)
{
    pawl_machine *m = append_machine();
    pawl_step *step = pawl_step_new(NULL);
    double at[4] = {0}, plain_at[4] = {0};
    const int stops[4] = { EARLY, EARLY + WINDOW, LATE - WINDOW, LATE };
    plain p = {0};
    run r = {0};
    bool good = m != NULL && run_begin(&r, m, PAWL_STATE_NO_JOURNAL, step, NULL);

    for (int stop = 0, i = 0; stop < 4 && good; stop++) {
        for (; i < stops[stop] && good; i++)
            good = run_tick(&r);
        at[stop] = bench_ns();
    }
    for (int stop = 0, i = 0; stop < 4 && good; stop++) {
        for (; i < stops[stop] && good; i++)
            good = plain_append(&p);
        plain_at[stop] = bench_ns();
    }
    good = good && (pawl_value_size(pawl_state_get(r.st, "messages")) == LATE || bench_wrong("messages are missing", NULL));
    out->value = (at[3] - at[2]) / (at[1] - at[0]);
    out->base = (plain_at[3] - plain_at[2]) / (plain_at[1] - plain_at[0]);
    for (size_t i = 0; i < p.n; i++)
        free(p.v[i]);
    free(p.v);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- idle runs ---------------------------------------------------------------------------------- */

static pawl_code node_draft(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:s}", "prompt", "Write a short essay on why the sky is blue."), &text);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "draft", text);
    return pawl_follow(s);
}

static pawl_machine *waiting_machine(void)
{
    pawl_graph *g = pawl_graph_new("essay", 1);

    pawl_graph_channel(g, "draft", PAWL_RULE_LAST);
    pawl_graph_channel(g, "review", PAWL_RULE_LAST);
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_node(g, "draft", node_draft, NULL);
    pawl_graph_node(g, "review", node_count, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "review", PAWL_END, NULL);
    pawl_graph_gate(g, "review", "Shall it be published?");
    return bench_compile(g);
}

/* Its draft is there, and a person is asked whether to go on. */
static bool wait_begin(run *r, const pawl_machine *m, pawl_step *step, const pawl_alloc *alloc)
{
    const pawl_event receipt = { .kind = PAWL_EV_RECEIPT, .time_ms = 1700000000000, .id = "1.draft.1.0",
                                 .value = "\"The sky is blue because air scatters short waves more than long ones.\"" };

    return run_begin(r, m, 0, step, alloc) && run_take(r, &receipt) &&
           (r->rc == PAWL_INTERRUPTED || bench_wrong("the run does not wait", NULL));
}

static bool idle_run_bytes(reading *out)
{
    size_t live = 0, before;
    const pawl_alloc alloc = { bench_counted, &live };
    pawl_machine *m = waiting_machine();
    pawl_step *step = pawl_step_new(NULL);
    pawl_state **runs = calloc(RUNS, sizeof *runs);
    bool good = m != NULL && runs != NULL;
    run r = {0};

    for (size_t i = 0; runs != NULL && i < RUNS; i++)
        runs[i] = NULL;         /* its pages are there before anything is measured */
    (void)malloc_trim(0);       /* what earlier figures left in the heap does not count as new, nor as nothing */
    before = bench_resident();
    for (size_t i = 0; i < RUNS && good; i++) {
        good = wait_begin(&r, m, step, &alloc);
        runs[i] = r.st;
    }
    out->value = (double)(bench_resident() - before) / RUNS;
    out->base = (double)live / RUNS;
    for (size_t i = 0; runs != NULL && i < RUNS; i++)
        pawl_state_free(runs[i]);
    free(runs);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good && (live == 0 || bench_wrong("a freed run leaves memory behind", NULL));
}

const figure size_figures[] = {
    { "memory.append_growth", "x", "a vector of copied strings", 1.2, false, 15, append_growth },
    { "memory.idle_run_bytes", "bytes", "what was asked of the allocator", 2048, false, 1, idle_run_bytes },
    { 0 },
};
