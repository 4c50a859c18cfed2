/* prove_path.c - the path to a hole, in words, and as JSON for prove_replay and programs.
 *
 * Owns nothing beyond the caller's arena. Called by prove.c when a hole was found; pure, one thread. */
#include "proof/prove_inner.h"

#include <stdarg.h>

const file_node *seen_file_node(const seen_graph *g, size_t at)
{
    const gnode *n = g->g->nodes[at];

    return n->kind == GNODE_SUB ? file_node_find(g->a, n->name) : n->kind == GNODE_START ? NULL : n->arg;
}

static const char *words(arena *mem, const char *fmt, ...) PAWL_PRINTF(2, 3);
static const char *words(arena *mem, const char *fmt, ...)
{
    const char *out = NULL;
    va_list args;
    buf b;

    buf_init(&b, &mem->alloc);
    va_start(args, fmt);
    buf_fmtv(&b, fmt, args);
    va_end(args);
    if (!b.failed)
        out = arena_strdup(mem, b.data != NULL ? b.data : "", b.size);
    else
        mem->failed = true;
    buf_free(&b);
    return out != NULL ? out : "";
}

/* ---- why it was let through --------------------------------------------------------------------------------- */

const char *path_why(arena *mem, const seen_graph *g, size_t node, pawl_mode mode)
{
    const file_node *n = seen_file_node(g, node);
    const seen_node *seen = &g->nodes[mode][node];
    const trace *how = &seen->j.how;

    if (seen->v.slip != NULL)
        return seen->v.slip;
    if (how->opened)
        return words(mem, "the hook %s %s, and its profile lets that through", how->hook, how->outcome);
    if (how->ground == PAWL_GROUND_ALLOW_RULE && how->text != NULL)
        return words(mem, "its text is not known, and with \"%s\" the rule %s allows it", how->text, how->rule);
    if (how->ground == PAWL_GROUND_ALLOW_RULE)
        return words(mem, "the rule %s allows it", how->rule != NULL ? how->rule : "?");
    if (how->hook != NULL)
        return words(mem, "the hook %s %s", how->hook, how->outcome);
    if (how->unfit != NULL)
        return words(mem, "its text is not known, and the rule %s need not fit it", how->unfit);
    if (n->requires != PAWL_MODE_NONE)
        return words(mem, "it requires %s, which the mode %s permits", pawl_mode_name(n->requires), pawl_mode_name(mode));
    return "no gate, no requires, no ask rule";
}

/* ---- one step --------------------------------------------------------------------------------------------------- */

static const char *way_name(unsigned by)
{
    return by == WAY_NO ? "no" : by == WAY_ERROR ? "error" : by == WAY_ROUTED ? "hook" : "next";
}

static const pawl_value *names_of(proving *p, const seen_graph *g, const uint64_t *set)
{
    const pawl_value *names = value_pack(p->mem, NULL, "[]");

    for (size_t i = 1; i < g->g->nnodes && names != NULL; i++)
        if (check_bit(set, i) || check_bit(set + g->s.words, i))
            names = value_push(p->mem, names, value_pack(p->mem, NULL, "s", g->g->nodes[i]->name));
    for (size_t k = 0; g->g->settles && k < g->s.njoins && names != NULL; k++)      /* a way past the sources of a join */
        if (check_bit(set, g->g->nnodes + k))
            names = value_push(p->mem, names, value_pack(p->mem, NULL, "s", g->s.joins[k].j->to));
    return names;
}

static const char *names_text(proving *p, const pawl_value *names)
{
    buf b;
    const char *out;

    if (pawl_value_size(names) == 0)
        return "the end";
    buf_init(&b, &p->mem->alloc);
    for (size_t i = 0; i < pawl_value_size(names); i++)
        buf_fmt(&b, "%s%s", i == 0 ? "" : i + 1 == pawl_value_size(names) ? " and " : ", ", pawl_value_string(pawl_value_at(names, i)));
    out = words(p->mem, "%s", b.failed ? "" : b.data);
    buf_free(&b);
    return out;
}

/* What the node did before its exit. */
static const char *done_text(proving *p, const seen_graph *g, const file_node *n, const seen_node *seen)
{
    const char *what = call_words(p->mem, n);

    if (n->kind == KIND_ASK)
        return words(p->mem, "%s%s asks, and is answered", g->prefix, n->name);
    if (n->kind == KIND_AGENT || (n->kind == KIND_TOOL && guard_acts(n)))
        return words(p->mem, "%s%s is done (%s), which is left out of the proof", g->prefix, n->name, n->kind == KIND_TOOL ? n->tool->name : n->word);
    if ((n->kind & (unsigned)KINDS_CALL) == 0)
        return words(p->mem, "%s%s is done (%s)", g->prefix, n->name, n->word);
    if (!guard_acts(n))
        return words(p->mem, "%s%s runs (%s), %s", g->prefix, n->name, what, n->kind == KIND_HTTP && n->reads_only ? "which reads" : "pure");
    return words(p->mem, "%s%s runs (%s), %s", g->prefix, n->name, what, seen->j.acts ? "approved" : "which is left out of the proof");
}

/* The hook whose answer leads along this path. */
static const pawl_value *with_hook(proving *p, const pawl_value *v, const trace *how)
{
    if (how->hook == NULL)
        return v;
    return value_with(p->mem, value_with(p->mem, v, "hook", value_pack(p->mem, NULL, "s", how->hook)), "outcome",
                      value_pack(p->mem, NULL, "s", how->outcome));
}

static const pawl_value *step_left(proving *p, seen_graph *g, size_t at, pawl_mode mode, unsigned by, const uint64_t *set, const pawl_value *inside)
{
    const file_node *n = seen_file_node(g, at);
    const seen_node *seen = &g->nodes[mode][at];
    const bool gated = n->kind != KIND_ASK && n->ask != NULL, asked = gated || (seen->j.asks && (seen->j.acts || !seen->j.passes || by == WAY_NO));
    const pawl_value *names = names_of(p, g, set), *v;
    const char *name = n->choice_of != NULL ? n->choice_of->name : n->name, *text, *leads = names_text(p, names);

    if (n->choice_of != NULL)
        text = words(p->mem, "%s%s leads to %s", g->prefix, name, leads);
    else if (by == WAY_NO)
        text = words(p->mem, "%s%s: a person says no, on to %s", g->prefix, name, leads);
    else if (by == WAY_ERROR)
        text = words(p->mem, "%s%s fails, on to %s", g->prefix, name, leads);
    else if (n->kind == KIND_GRAPH)
        text = words(p->mem, "%s%s: its graph is done, on to %s", g->prefix, name, leads);
    else if (n->chooses && by != WAY_ROUTED)
        text = done_text(p, g, n, seen);
    else
        text = words(p->mem, "%s%s %s", done_text(p, g, n, seen), by == WAY_ROUTED ? ", and a hook leads on to" : ", on to", leads);
    v = value_pack(p->mem, NULL, "{s:s,s:s,s:s,s:s,s:v,s:s}", "graph", g->prefix, "kind", "run", "node", g->g->nodes[at]->name, "text", text, "to",
                   names, "way",
                   way_name(by));
    if (asked && v != NULL)
        v = value_with(p->mem, v, "yes", value_bool(p->mem, by != WAY_NO));
    if (v != NULL && (by == WAY_ON || by == WAY_NO))
        v = with_hook(p, v, asked && !gated ? &seen->j.asked : &seen->j.how);
    return inside == NULL || v == NULL ? v : value_with(p->mem, v, "inside", inside);
}

static const pawl_value *step_mode(proving *p, pawl_mode mode, bool first)
{
    return value_pack(p->mem, NULL, "{s:s,s:s,s:s}", "kind", first ? "begin" : "mode", "mode", pawl_mode_name(mode), "text",
                      words(p->mem, first ? "begins in %s" : "its mode is switched to %s", pawl_mode_name(mode)));
}

static const pawl_value *step_hole(proving *p, seen_graph *g, size_t at, pawl_mode mode)
{
    const file_node *n = seen_file_node(g, at);
    const node_judgement *j = &g->nodes[mode][at].j;
    const pawl_value *v = value_pack(p->mem, NULL, "{s:s,s:s,s:s,s:s}", "graph", g->prefix, "kind", "act", "node", n->name, "text",
                                     words(p->mem, "%s%s runs (%s) without approval: %s", g->prefix, n->name, call_words(p->mem, n),
                                           path_why(p->mem, g, at, mode)));

    if (g->nodes[mode][at].v.slip != NULL)
        return v == NULL ? NULL : value_with(p->mem, v, "edited", value_bool(p->mem, true));
    if (v != NULL && j->how.text != NULL)
        v = value_with(p->mem, v, "call", value_pack(p->mem, NULL, "s", j->how.text));
    return v == NULL ? NULL : with_hook(p, v, &j->how);
}

/* ---- one superstep ---------------------------------------------------------------------------------------------------- */

typedef struct layers {             /* what is reached when the first nodes have left, and from which and by which way */
    check_set sets;
    uint32_t *from, *by;
    size_t from_cap, by_cap;
} layers;

static void layers_free(proving *p, layers *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check_set_free(&all[i].sets);
        mem_free(&p->mem->alloc, all[i].from, all[i].from_cap * sizeof *all[i].from);
        mem_free(&p->mem->alloc, all[i].by, all[i].by_cap * sizeof *all[i].by);
    }
}

static bool layer_add(proving *p, layers *l, const uint64_t *set, uint32_t from, uint32_t by)
{
    const size_t before = l->sets.count;
    bool bad = false;

    if (check_add(&l->sets, set, SIZE_MAX - 1, &bad) == CHECK_NONE)
        return false;
    if (l->sets.count == before)
        return true;
    if (!mem_room(&p->mem->alloc, (void **)&l->from, &l->from_cap, before, sizeof *l->from) ||
        !mem_room(&p->mem->alloc, (void **)&l->by, &l->by_cap, before, sizeof *l->by))
        return false;
    l->from[before] = from;
    l->by[before] = by;
    return true;
}

/* The layers of all that runs now; all[n] has what may be reached. */
static bool layers_make(proving *p, seen_graph *g, pawl_mode mode, const size_t *run, size_t n, layers *all)
{
    const size_t words_of = g->s.wide;
    uint64_t *set = arena_zero(p->mem, words_of * sizeof *set);

    for (size_t i = 0; i <= n; i++)
        check_set_init(&all[i].sets, &p->mem->alloc, words_of);
    if (set == NULL || !layer_add(p, &all[0], set, 0, 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        const check_set *options = &g->own[mode][run[i]].options;

        for (size_t a = 0; a < all[i].sets.count; a++) {
            for (size_t b = 0; b < options->count; b++) {
                for (size_t k = 0; k < words_of; k++)
                    set[k] = check_item(&all[i].sets, a)[k] | check_item(options, b)[k];
                if (!layer_add(p, &all[i + 1], set, (uint32_t)a, (uint32_t)b))
                    return false;
            }
        }
    }
    return true;
}

/* The exit that each node took to reach this state. False: no memory. */
static bool ways_taken(proving *p, seen_graph *g, pawl_mode mode, const size_t *run, size_t n, const uint64_t *next, uint32_t *by)
{
    layers *all = arena_zero(p->mem, (n + 1) * sizeof *all);
    bool good = all != NULL && layers_make(p, g, mode, run, n, all);
    uint32_t at = CHECK_NONE;

    for (size_t i = 0; good && i < all[n].sets.count && at == CHECK_NONE; i++) {
        search_succeed(&g->s, check_item(&all[n].sets, i));
        if (memcmp(g->s.after, next, g->s.states.width * sizeof *next) == 0)
            at = (uint32_t)i;
    }
    for (size_t i = n; good && at != CHECK_NONE && i > 0; i--) {
        by[i - 1] = all[i].by[at];
        at = all[i].from[at];
    }
    if (all != NULL)
        layers_free(p, all, n + 1);
    return good;
}

static const pawl_value *steps_between(proving *p, seen_graph *g, const graph_search_result *f, uint32_t from, uint32_t next, const pawl_value *steps)
{
    const size_t width = g->s.states.width;
    const uint64_t *key = check_item(&f->states, from), *after = check_item(&f->states, next);
    const pawl_mode mode = (pawl_mode)key[width];
    size_t *run = arena_get(p->mem, g->g->nnodes * sizeof *run), n = 0;
    uint32_t *by = arena_zero(p->mem, g->g->nnodes * sizeof *by);

    if (run == NULL || by == NULL)
        return NULL;
    if (after[width] != key[width])
        return value_push(p->mem, steps, step_mode(p, (pawl_mode)after[width], false));
    g->s.exits = g->own[mode];
    search_enter(&g->s, key);
    for (size_t i = 0; i < g->g->nnodes; i++)
        if (check_bit(key, i))
            run[n++] = i;
    if (!ways_taken(p, g, mode, run, n, after, by))
        return NULL;
    for (size_t i = 0; i < n && steps != NULL; i++) {
        const unsigned left = g->nodes[mode][run[i]].ways[by[i]];
        seen_graph *inner = g->inner[run[i]];
        const pawl_value *inside = NULL;

        if (run[i] == START_INDEX)
            continue;
        if (inner != NULL && left == WAY_ON && (inside = path_steps(p, inner, &inner->in[mode], false, value_pack(p->mem, NULL, "[]"))) == NULL)
            return NULL;
        steps = value_push(p->mem, steps, step_left(p, g, run[i], mode, left, check_item(&g->own[mode][run[i]].options, by[i]), inside));
    }
    return steps == NULL ? NULL : value_push(p->mem, steps, value_pack(p->mem, NULL, "{s:s,s:s}", "graph", g->prefix, "kind", "close"));
}

const pawl_value *path_steps(proving *p, seen_graph *g, const graph_search_result *f, bool hole, const pawl_value *steps)
{
    const uint32_t last = hole ? f->hole : f->end;
    const size_t n = f->depths[last];
    uint32_t *chain = arena_get(p->mem, (n + 1) * sizeof *chain), at = last;
    pawl_mode mode;

    if (chain == NULL || steps == NULL)
        return NULL;
    for (size_t i = n + 1; i > 0; i--) {
        chain[i - 1] = at;
        at = f->parents[at];
    }
    mode = (pawl_mode)check_item(&f->states, chain[0])[g->s.states.width];
    if (g == p->root)
        steps = value_push(p->mem, steps, step_mode(p, mode, true));
    for (size_t i = 0; i < n && steps != NULL; i++)
        steps = steps_between(p, g, f, chain[i], chain[i + 1], steps);
    if (!hole || steps == NULL)
        return steps;
    mode = (pawl_mode)check_item(&f->states, last)[g->s.states.width];
    if (g->inner[f->node] == NULL)
        return value_push(p->mem, steps, step_hole(p, g, f->node, mode));
    steps = value_push(p->mem, steps, value_pack(p->mem, NULL, "{s:s,s:s,s:s,s:s}", "graph", g->prefix, "kind", "enter", "node",
                                                 g->g->nodes[f->node]->name, "text",
                                               words(p->mem, "%s%s begins its graph%s", g->prefix, g->g->nodes[f->node]->name,
                                                     seen_file_node(g, f->node)->ask != NULL ? ", its gate being passed" : "")));
    return path_steps(p, g->inner[f->node], &g->inner[f->node]->in[mode], true, steps);
}
