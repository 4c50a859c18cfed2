/* check.c - pawl_graph_check(): finds what can go wrong in a graph, each with a path that leads to it (K3, G1). Pure; the caller owns the report. */
#include "graph/search.h"
#include "kernel/machine.h"

#include <string.h>

enum {
    CHECK_STATES_MAX = 100000,  /* when the caller gives no limit */
    CHECK_STATES_MOST = 1 << 24,
    CHECK_LOOP_MAX = 32         /* states of a loop in a report */
};

/* ---- paths ----------------------------------------------------------------------------------------------------------- */

static void check_names(const search *s, buf *b, uint32_t at, const char *open, const char *quote, const char *shut)
{
    const uint64_t *next = check_item(&s->states, at);
    const char *between = open;

    for (size_t i = 0; i < s->g->nnodes; i++) {
        if (!check_bit(next, i))
            continue;
        buf_text(b, between);
        buf_text(b, quote);
        buf_text(b, s->g->nodes[i]->name);
        buf_text(b, quote);
        between = *quote != '\0' ? ", " : ",";
    }
    buf_text(b, shut);
}

static size_t check_width(const search *s, uint32_t at)
{
    size_t n = 0;

    for (size_t i = 0; i < s->g->nnodes; i++)
        n += check_bit(check_item(&s->states, at), i);
    return n;
}

static void check_step(const search *s, buf *b, uint32_t at)
{
    bool several = check_width(s, at) > 1;

    if (check_empty(check_item(&s->states, at), s->words))
        return;
    if (b->size > 0)
        buf_text(b, " -> ");
    check_names(s, b, at, several ? "{" : "", "", several ? "}" : "");
}

static const char *check_text(search *s, buf *b)
{
    const char *out = b->failed ? NULL : arena_strdup(&s->mem, b->data != NULL ? b->data : "", b->size);

    buf_free(b);
    s->failed = s->failed || out == NULL;
    return out != NULL ? out : "";
}

/* "@start -> a -> {b,c}"; `round`: also once around the loop. */
static const char *check_path(search *s, uint32_t at, bool round)
{
    uint32_t seen[CHECK_LOOP_MAX], n = 0, *steps;
    buf b;

    for (uint32_t up = at; up != CHECK_NONE; up = s->spots[up].parent)
        n++;
    if ((steps = arena_get(&s->mem, n * sizeof *steps)) == NULL) {
        s->failed = true;
        return "";
    }
    for (uint32_t up = at, i = n; up != CHECK_NONE; up = s->spots[up].parent)
        steps[--i] = up;
    buf_init(&b, &s->alloc);
    for (uint32_t i = 0; i < n; i++)
        check_step(s, &b, steps[i]);
    for (n = 0; round && n < CHECK_LOOP_MAX; n++) {
        seen[n] = at;
        at = s->edges[s->spots[at].edge];
        check_step(s, &b, at);
        for (uint32_t i = 0; i <= n; i++)
            round = round && seen[i] != at;
    }
    return check_text(s, &b);
}

/* ---- findings ---------------------------------------------------------------------------------------------------------- */

static uint32_t check_edges_end(const search *s, size_t at)
{
    return at + 1 < s->states.count ? s->spots[at + 1].edge : (uint32_t)s->nedges;
}

/* Whether C code chose a next node on the path to this state. Then the finding is only a warning, since the code may avoid the state. */
static bool check_guessed(const search *s, uint32_t at)
{
    for (; at != CHECK_NONE; at = s->spots[at].parent)
        for (size_t i = 0; i < s->g->nnodes; i++)
            if (check_bit(check_item(&s->states, at), i) && s->g->nodes[i]->ngotos > 0)
                return true;
    return false;
}

static void check_stuck(search *s)
{
    for (uint32_t at = 0; at < s->states.count && !s->failed; at++) {
        if ((s->spots[at].flags & SPOT_STUCK) == 0)
            continue;
        for (size_t i = 0; i < s->njoins; i++) {
            check_meet *m = &s->joins[i];
            const uint64_t *state = check_item(&s->states, at);
            uint32_t missing = 0;

            if (m->told || search_seen(m, state + m->at) == 0 || !search_begun(m, state))
                continue;
            while (search_came(m, state, missing))
                missing++;
            m->told = true;
            report_printf(s->r, check_guessed(s, at) ? PAWL_SEVERITY_WARNING : PAWL_SEVERITY_FAULT, "join-stuck", check_path(s, at, false),
                       "%s: join \"%.100s\" gets stuck: nothing is next, and \"%s\" is not done", s->label, m->j->name, m->j->from[missing]);
        }
    }
}

static bool check_turn_round(search *s)
{
    size_t n = s->states.count;

    s->back_at = arena_zero(&s->mem, (n + 2) * sizeof *s->back_at);
    s->back = arena_get(&s->mem, (s->nedges + 1) * sizeof *s->back);
    if (s->back_at == NULL || s->back == NULL)
        return false;
    for (size_t e = 0; e < s->nedges; e++)
        s->back_at[s->edges[e] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        s->back_at[i] += s->back_at[i - 1];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = s->spots[i].edge; e < check_edges_end(s, i); e++)
            s->back[s->back_at[s->edges[e] + 1]++] = i;
    return true;
}

/* The states from which a state with one of `flags` can be reached; NULL: no memory. */
static bool *check_reaches(search *s, unsigned flags)
{
    size_t n = s->states.count, queued = 0;
    bool *can = arena_zero(&s->mem, n * sizeof *can);
    uint32_t *queue = arena_get(&s->mem, n * sizeof *queue);

    if (can == NULL || queue == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if ((s->spots[i].flags & flags) != 0)
            can[i] = true, queue[queued++] = i;
    for (size_t q = 0; q < queued; q++) {
        for (uint32_t e = s->back_at[queue[q]]; e < s->back_at[queue[q] + 1]; e++) {
            uint32_t from = s->back[e];

            if (!can[from])
                can[from] = true, queue[queued++] = from;
        }
    }
    return can;
}

/* ---- loops: the strongly connected sets of states that nothing leaves (Tarjan) ---- */

typedef struct check_loops {
    search *s;
    uint32_t *order, *low;      /* by state; order 0: not visited */
    uint32_t *edge;             /* by state: the next edge to visit */
    uint32_t *stack, *calls;
    uint32_t *whole;            /* by state: its component, the number of its first state + 1 */
    size_t nstack, ncalls;
    uint32_t met;
    check_set told;             /* sets of nodes that were reported */
} check_loops;

/* Checks one component of `n` states without an end: it is a loop when no edge leaves it and an edge stays in it. */
static void check_component(check_loops *l, const uint32_t *members, size_t n)
{
    search *s = l->s;
    uint64_t *nodes = arena_zero(&s->mem, s->words * sizeof *nodes);
    uint32_t first = members[0], inside = 0;
    const char *between = "";
    size_t before = l->told.count;
    buf names;

    for (size_t i = 0; nodes != NULL && i < n; i++) {
        for (uint32_t e = s->spots[members[i]].edge; e < check_edges_end(s, members[i]); e++, inside++)
            if (l->whole[s->edges[e]] != l->whole[first])
                return;
        for (size_t w = 0; w < s->words; w++)
            nodes[w] |= check_item(&s->states, members[i])[w];
    }
    for (size_t i = 0; i < n; i++)
        first = members[i] < first ? members[i] : first;
    for (size_t i = 0; i < n && inside > 0; i++)
        s->spots[members[i]].flags |= SPOT_LOOP;
    if (nodes != NULL && inside > 0)
        check_add(&l->told, nodes, SIZE_MAX, &s->failed);
    s->failed = s->failed || nodes == NULL;
    if (s->failed || l->told.count == before)
        return;
    buf_init(&names, &s->alloc);
    for (size_t i = 0; i < s->g->nnodes; i++) {
        if (!check_bit(nodes, i))
            continue;
        buf_fmt(&names, "%s\"%s\"", between, s->g->nodes[i]->name);
        between = ", ";
    }
    report_printf(s->r, PAWL_SEVERITY_WARNING, "endless-loop", check_path(s, first, true), "%s: endless loop of %.140s: only max_steps (%lu) ends it",
               s->label, check_text(s, &names), (unsigned long)s->g->max_steps);
}

static void check_enter(check_loops *l, uint32_t at)
{
    l->order[at] = l->low[at] = ++l->met;
    l->edge[at] = l->s->spots[at].edge;
    l->stack[l->nstack++] = at;
    l->calls[l->ncalls++] = at;
}

static void check_leave(check_loops *l, uint32_t at)
{
    size_t from = l->nstack;

    l->ncalls--;
    if (l->ncalls > 0 && l->low[at] < l->low[l->calls[l->ncalls - 1]])
        l->low[l->calls[l->ncalls - 1]] = l->low[at];
    if (l->low[at] != l->order[at])
        return;
    do
        l->whole[l->stack[--from]] = at + 1;
    while (l->stack[from] != at);
    check_component(l, l->stack + from, l->nstack - from);
    l->nstack = from;
}

static void check_loops_from(check_loops *l, uint32_t root)
{
    check_enter(l, root);
    while (l->ncalls > 0 && !l->s->failed) {
        uint32_t at = l->calls[l->ncalls - 1], to;

        if (l->edge[at] == check_edges_end(l->s, at)) {
            check_leave(l, at);
            continue;
        }
        to = l->s->edges[l->edge[at]++];
        if (l->order[to] == 0)
            check_enter(l, to);
        else if (l->whole[to] == 0 && l->order[to] < l->low[at])
            l->low[at] = l->order[to];
    }
}

static bool check_endless(search *s, const bool *ends)
{
    size_t n = s->states.count;
    check_loops l = { .s = s };

    l.order = arena_zero(&s->mem, 6 * n * sizeof *l.order);
    if (l.order == NULL)
        return false;
    l.low = l.order + n;
    l.edge = l.low + n;
    l.stack = l.edge + n;
    l.calls = l.stack + n;
    l.whole = l.calls + n;
    check_set_init(&l.told, &s->alloc, s->words);
    for (uint32_t at = 0; at < n && !s->failed; at++)
        if (!ends[at] && l.order[at] == 0)
            check_loops_from(&l, at);
    check_set_free(&l.told);
    return !s->failed;
}

/* Reports states from which no end is reached: only the first state of each way in, and not those that only lead to a join that was reported.
 * Called after the loops are found. */
static bool check_no_way_out(search *s, const bool *ends)
{
    const bool *leaves = check_reaches(s, SPOT_ENDS | SPOT_LEAVES), *loops = check_reaches(s, SPOT_LOOP);
    check_set told;
    uint64_t *next = arena_get(&s->mem, s->words * sizeof *next);

    if (leaves == NULL || loops == NULL || next == NULL)
        return false;
    check_set_init(&told, &s->alloc, s->words);
    for (uint32_t at = 0; at < s->states.count && !s->failed; at++) {
        size_t before = told.count;
        buf names;

        if (ends[at] || (at > 0 && (!loops[at] || !ends[s->spots[at].parent])))
            continue;
        memcpy(next, check_item(&s->states, at), s->words * sizeof *next);
        check_add(&told, next, SIZE_MAX, &s->failed);
        if (told.count == before)
            continue;
        buf_init(&names, &s->alloc);
        check_names(s, &names, at, "", "\"", "");
        report_printf(s->r, leaves[at] ? PAWL_SEVERITY_WARNING : PAWL_SEVERITY_FAULT, "no-way-out", check_path(s, at, false),
                   "%s: no way out from %.140s: no end is reached%s", s->label, check_text(s, &names),
                   leaves[at] ? ", unless a node says so (pawl_halt)" : "");
    }
    check_set_free(&told);
    return !s->failed;
}

/* ---- nodes and channels ---- */

/* The state to report when node `at` never runs: one that is stuck before the node, or the end of the longest path. */
static uint32_t check_instead(const search *s, size_t at)
{
    for (uint32_t i = 0; i < s->states.count; i++)
        for (size_t k = 0; k < s->njoins && (s->spots[i].flags & SPOT_STUCK) != 0; k++)
            if (s->joins[k].to == at && search_seen(&s->joins[k], check_item(&s->states, i) + s->joins[k].at) > 0)
                return i;
    return (uint32_t)s->states.count - 1;
}

static void check_never(search *s)
{
    for (size_t i = 1; i < s->g->nnodes && !s->cut && !s->failed; i++) {
        const gnode *n = s->g->nodes[i];
        const char *path;

        if (check_bit(s->ran, i))
            continue;
        path = check_path(s, check_instead(s, i), false);
        report_printf(s->r, PAWL_SEVERITY_FAULT, "never-runs", path, "%s: node \"%s\" never runs", s->label, n->name);
        if (n->gate != NULL || n->before || n->after)
            report_printf(s->r, PAWL_SEVERITY_FAULT, "pause-stuck", path, "%s: node \"%s\": nothing comes to its %s, so nobody is asked", s->label,
                       n->name, n->gate != NULL ? "gate" : "interrupt");
    }
}

static void check_two(search *s, check_shared *w, uint32_t at)
{
    const uint64_t *next = check_item(&s->states, at);
    size_t first = 0;

    for (size_t i = check_next(next, s->words, 1); i < s->g->nnodes && !w->told; i = check_next(next, s->words, i + 1)) {
        if (!check_bit(w->nodes, i))
            continue;
        if (first == 0) {
            first = i;
            continue;
        }
        w->told = true;
        report_printf(s->r, w->c->c.rule == PAWL_RULE_LAST ? PAWL_SEVERITY_WARNING : PAWL_SEVERITY_FAULT, "two-writers", check_path(s, at, false),
                   "%s: channel \"%s\": \"%s\" and \"%s\" write it in one superstep, and its rule is %s", s->label, w->c->c.name,
                   s->g->nodes[first]->name, s->g->nodes[i]->name, pawl_rule_name(w->c->c.rule));
    }
}

/* ---- the whole ---- */

static bool check_graph(const pawl_graph *g, const char *label, pawl_report *r, size_t *left)
{
    search s = { .g = g, .r = r, .label = label, .alloc = r->mem.alloc, .limit = *left > 0 ? *left : 1 };
    bool good = search_run(&s) && check_turn_round(&s);
    const bool *ends = good ? check_reaches(&s, SPOT_ENDS) : NULL;

    if (good) {
        check_stuck(&s);
        good = ends != NULL && check_endless(&s, ends) && check_no_way_out(&s, ends);
        check_never(&s);
        for (uint32_t at = 0; at < s.states.count; at++)
            for (size_t i = 0; i < s.nwriters; i++)
                check_two(&s, &s.writers[i], at);
        r->exhaustive = r->exhaustive && !s.cut;
        *left -= s.states.count < *left ? s.states.count : *left;
    }
    good = good && !s.failed && !r->mem.failed;
    search_free(&s);
    for (size_t i = 0; good && i < g->nnodes; i++) {
        const gnode *n = g->nodes[i];
        buf inner;

        if (n->sub == NULL)
            continue;
        buf_init(&inner, &r->mem.alloc);
        buf_fmt(&inner, "%s/%s", label, n->name);
        buf_char(&inner, '\0');
        good = !inner.failed && check_graph(n->sub, inner.data, r, left);
        buf_free(&inner);
    }
    return good;
}

pawl_report *pawl_graph_check(const pawl_machine *m, size_t max_states, pawl_err *err)
{
    const pawl_graph *g = graph_of(m);
    size_t left = max_states == 0 ? CHECK_STATES_MAX : max_states < CHECK_STATES_MOST ? max_states : CHECK_STATES_MOST;
    pawl_report *r;

    if (g == NULL) {
        fail(err, PAWL_INVALID, "%s: it is no graph", m != NULL ? m->name : "machine");
        return NULL;
    }
    r = report_new(&m->alloc);
    if (r != NULL && check_graph(g, g->name, r, &left))
        return r;
    pawl_report_free(r);
    fail(err, PAWL_NOMEM, "%s: no memory to check it", g->name);
    return NULL;
}
