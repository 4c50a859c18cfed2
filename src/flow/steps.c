/* steps.c - a step table and linear steps, both built as graphs (F1, F2): a step is a node, its payload a channel.
 *
 * Programs call it to build a machine, and the code of steps calls it inside a visit; one thread for a machine under construction, and for a step. Pure. */
#include "flow/flow.h"
#include "kernel/spec.h"
#include "kernel/step.h"
#include "kernel/visit.h"

#include <string.h>

typedef struct bound_step {
    pawl_flow_step step;
    void *arg;
    const char *resumes;        /* the step that continues after an await of this one; NULL: none */
} bound_step;

static pawl_code step_node(pawl_step *s, void *arg)
{
    const bound_step *b = arg;
    const pawl_value *input = b->step.takes_input || b->step.resumes_from != NULL ? pawl_get(s, "input") : NULL;

    return b->step.fn(s, pawl_get(s, "payload"), input, b->arg);
}

pawl_code pawl_flow_goto(pawl_step *s, const char *step, const pawl_value *payload)
{
    if (payload != NULL)
        pawl_set(s, "payload", payload);
    return pawl_goto(s, step);
}

/* The step that continues after an await is the one declared target that is marked so. */
static const char *resumer(const pawl_step *s)
{
    const pawl_graph *g = graph_of(s->m);
    const gnode *n = g == NULL ? NULL : node_find(g, s->v->node);

    return n == NULL || n->fn != step_node ? NULL : ((const bound_step *)n->arg)->resumes;
}

pawl_code pawl_flow_await(pawl_step *s, const char *slot, const pawl_value *prompt, const pawl_value *payload)
{
    return pawl_flow_await_with(s, &(pawl_question){ .slot = slot, .prompt = prompt }, payload);
}

pawl_code pawl_flow_await_with(pawl_step *s, const pawl_question *question, const pawl_value *payload)
{
    pawl_question q = question != NULL ? *question : (pawl_question){ .prompt = NULL };
    const char *to, *spec;
    size_t size = 0;

    if (s == NULL || s->v == NULL)
        return PAWL_INVALID;
    if (q.kind == 0)
        q.kind = PAWL_WAIT_INPUT;
    if (q.kind != PAWL_WAIT_INPUT && q.kind != PAWL_WAIT_QUESTION)
        return visit_wrong(s, PAWL_INVALID, "await is for input or a question");
    if (s->v->task == NULL)
        return visit_wrong(s, PAWL_INVALID, "await is for steps; a reducer has pawl_flow_ask");
    if ((to = resumer(s)) == NULL)
        return visit_wrong(s, PAWL_INVALID, "it awaits input, and no step resumes from it");
    if (payload != NULL)
        pawl_set(s, "payload", payload);
    spec = spec_ask(s, &q, q.slot != NULL ? q.slot : s->v->node, s->v->now, NULL, "input", NULL, true, &size);
    s->v->hold = spec == NULL ? NULL : value_read(&s->mem, spec, size, "a wait", &s->v->err);
    if (s->v->hold == NULL)
        return s->v->err.code < 0 ? s->v->err.code : PAWL_NOMEM;
    return pawl_goto(s, to);
}

static const char *resumed_by(const pawl_flow_step *steps, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i].resumes_from != NULL && strcmp(steps[i].resumes_from, name) == 0)
            return steps[i].name;
    return NULL;
}

/* Declares a channel that the flow itself uses, unless the caller has declared it. */
static void own_channel(pawl_graph *g, const pawl_channel *channels, size_t n, const char *name, pawl_rule rule)
{
    for (size_t i = 0; i < n; i++)
        if (channels[i].name != NULL && strcmp(channels[i].name, name) == 0)
            return;
    pawl_graph_channel(g, name, rule);
}

static void step_add_node(pawl_graph *g, const pawl_flow_step *steps, size_t n, size_t i, void *arg)
{
    bound_step *b = arena_zero(&g->mem, sizeof *b);
    const char *resumes = steps[i].name == NULL ? NULL : resumed_by(steps, n, steps[i].name);

    if (b == NULL) {
        g->failed = true;
        return;
    }
    b->step = steps[i];
    b->arg = arg;
    b->resumes = arena_text(&g->mem, resumes);
    pawl_graph_node(g, steps[i].name, steps[i].fn == NULL ? NULL : step_node, b);
    if (steps[i].start)
        pawl_graph_edge(g, PAWL_START, steps[i].name);
}

pawl_machine *pawl_flow_steps(const char *name, uint32_t version, const pawl_flow_step *steps, size_t n, const pawl_channel *channels,
                              size_t channel_count, void *arg, const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new_in(name, version, alloc);
    size_t starts = 0;

    if (g == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a machine");
        return NULL;
    }
    for (size_t i = 0; i < channel_count; i++)
        pawl_graph_channel_with(g, &channels[i]);
    own_channel(g, channels, channel_count, "payload", PAWL_RULE_LAST);
    own_channel(g, channels, channel_count, "input", PAWL_RULE_EPHEMERAL);
    for (size_t i = 0; i < n; i++) {
        starts += steps[i].start;
        step_add_node(g, steps, n, i, arg);
    }
    for (size_t i = 0; i < n; i++) {
        if (steps[i].resumes_from != NULL && node_find(g, steps[i].resumes_from) == NULL)
            fault_add(g, PAWL_SEVERITY_FAULT, "unknown-source", "", "%s: step \"%s\" resumes from \"%.64s\", which is no step", g->name, steps[i].name,
                      steps[i].resumes_from);
        for (size_t j = 0; j < i; j++)
            if (steps[i].resumes_from != NULL && steps[j].resumes_from != NULL && strcmp(steps[i].resumes_from, steps[j].resumes_from) == 0)
                fault_add(g, PAWL_SEVERITY_FAULT, "duplicate-resume", "", "%s: steps \"%s\" and \"%s\" both resume from \"%.64s\"", g->name, steps[j].name,
                          steps[i].name, steps[i].resumes_from);
        for (size_t j = 0; j < n; j++)
            pawl_graph_goto(g, steps[i].name, steps[j].name, NULL);
    }
    if (starts != 1)
        fault_add(g, PAWL_SEVERITY_FAULT, "no-entry", "", "%s: %zu steps have `start`; exactly one must", g->name, starts);
    return pawl_graph_compile(g, err);
}

/* ---- linear ------------------------------------------------------------------------------------------------ */

typedef struct bound_linear { pawl_flow_linear_fn *fn; void *arg; } bound_linear;

static pawl_code linear_node(pawl_step *s, void *arg)
{
    const bound_linear *b = arg;

    return b->fn(s, pawl_get(s, "input"), b->arg);
}

pawl_machine *pawl_flow_linear(const char *name, uint32_t version, const pawl_channel *channels, size_t n, pawl_flow_linear_fn *fn,
                               void *arg, uint32_t max_calls, const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new_in(name, version, alloc);
    bound_linear *b = g == NULL ? NULL : arena_zero(&g->mem, sizeof *b);

    if (b == NULL) {
        pawl_graph_free(g);
        fail(err, PAWL_NOMEM, "no memory for a machine");
        return NULL;
    }
    b->fn = fn;
    b->arg = arg;
    for (size_t i = 0; i < n; i++)
        pawl_graph_channel_with(g, &channels[i]);
    own_channel(g, channels, n, "input", PAWL_RULE_LAST);
    pawl_graph_node(g, "main", fn == NULL ? NULL : linear_node, b);
    pawl_graph_chain(g, PAWL_START, "main", PAWL_END, NULL);
    if (max_calls > 0)
        pawl_graph_max_calls(g, max_calls);
    return pawl_graph_compile(g, err);
}
