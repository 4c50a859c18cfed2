/* search.c - a bounded search over the states that a graph can reach: next nodes, deferred nodes, and sources that joins have seen. See search.h.
 *
 * Decisions that depend on values are left open, so the search follows every declared edge. Breadth first, so the parents of a state are a shortest
 * path to it. */
#include "graph/search.h"

#include <string.h>

enum {
    CHECK_WORK_PER_STATE = 64,  /* sets that are tried for each state of the limit: bounds a wide fan of routes */
    CHECK_OPTIONS_MAX = 4096,   /* sets of next nodes of one node */
    CHECK_GOTOS_MAX = 6,        /* up to so many gotos every subset is tried; of more: none, each single one, all */
    CHECK_BYTES_FIRST = 4096
};

/* ---- sets of nodes, and sets of those ------------------------------------------------------------- */

static void check_unite(uint64_t *set, const uint64_t *more, size_t words)
{
    for (size_t i = 0; i < words; i++)
        set[i] |= more[i];
}

void check_set_init(check_set *s, const pawl_alloc *alloc, size_t width)
{
    *s = (check_set){ .alloc = *alloc, .width = width };
}

void check_set_free(check_set *s)
{
    mem_free(&s->alloc, s->words, s->cap * s->width * sizeof *s->words);
    mem_free(&s->alloc, s->slots, s->nslots * sizeof *s->slots);
}

static void check_set_clear(check_set *s)
{
    s->count = 0;
    if (s->nslots > 0)
        memset(s->slots, 0, s->nslots * sizeof *s->slots);
}

/* The slot of `key`, or the free slot for it. */
static size_t check_slot(const check_set *s, const uint64_t *key)
{
    uint64_t h = 0;
    size_t at;

    for (size_t i = 0; i < s->width; i++)
        if (key[i] != 0) {          /* most words are 0: few of the nodes are next */
            h = (h ^ key[i] ^ (uint64_t)i << 40) * UINT64_C(0x9E3779B97F4A7C15);
            h ^= h >> 29;
        }
    for (at = (size_t)h & (s->nslots - 1); s->slots[at] != 0; at = (at + 1) & (s->nslots - 1))
        if (memcmp(check_item(s, s->slots[at] - 1), key, s->width * sizeof *key) == 0)
            break;
    return at;
}

static bool check_set_grow(check_set *s)
{
    size_t cap = s->cap == 0 ? 1 : s->cap * 2, nslots = cap * 2;
    uint64_t *words = mem_grow(&s->alloc, s->words, s->cap * s->width * sizeof *words, cap * s->width * sizeof *words);
    uint32_t *slots = NULL;

    if (words == NULL)
        return false;
    s->words = words;
    s->cap = cap;
    if ((slots = mem_new(&s->alloc, nslots * sizeof *slots)) == NULL)
        return false;
    mem_free(&s->alloc, s->slots, s->nslots * sizeof *s->slots);
    s->slots = slots;
    s->nslots = nslots;
    for (size_t i = 0; i < s->count; i++)
        slots[check_slot(s, check_item(s, i))] = (uint32_t)i + 1;
    return true;
}

uint32_t check_add(check_set *s, const uint64_t *key, size_t limit, bool *failed)
{
    size_t at;

    if ((s->count == s->cap || s->nslots < 2 * s->cap) && !check_set_grow(s)) {
        *failed = true;
        return CHECK_NONE;
    }
    at = check_slot(s, key);
    if (s->slots[at] != 0)
        return s->slots[at] - 1;
    if (s->count >= limit)
        return CHECK_NONE;
    memcpy(s->words + s->count * s->width, key, s->width * sizeof *key);
    s->slots[at] = (uint32_t)++s->count;
    return (uint32_t)s->count - 1;
}

/* ---- how a node may leave --------------------------------------------------------------------------------- */

static void check_option(search *s, check_set *into, const uint64_t *option)
{
    if (check_add(into, option, CHECK_OPTIONS_MAX, &s->failed) == CHECK_NONE && !s->failed)
        s->cut = true;
}

static void check_to(const search *s, uint64_t *set, const char *to)
{
    int at = node_index(s->g, to);

    if (at > 0)
        check_mark(set, (size_t)at);
}

void search_to(const search *s, uint64_t *set, uint32_t from, const char *to)
{
    const int at = node_index(s->g, to);
    bool passes = false;

    for (size_t k = 0; s->g->settles && at > 0 && k < s->njoins; k++)
        if (s->joins[k].to == (uint32_t)at && s->joins[k].j->passes[from]) {
            check_mark(set, s->g->nnodes + k);
            passes = true;
        }
    if (!passes)
        check_to(s, set, to);
}

/* Combines each option so far with each of the names; NULL adds nothing. `from`: the node that routes; START_INDEX: edges. */
static void check_product(search *s, check_set *options, uint32_t from, const char *const *names, size_t n)
{
    check_set grown;

    check_set_init(&grown, &s->alloc, s->words);
    for (size_t i = 0; i < options->count && !s->failed; i++) {
        for (size_t k = 0; k < n; k++) {
            memcpy(s->one, check_item(options, i), s->words * sizeof *s->one);
            if (names[k] != NULL && from != START_INDEX)
                search_to(s, s->one, from, names[k]);
            else if (names[k] != NULL)
                check_to(s, s->one, names[k]);
            check_option(s, &grown, s->one);
        }
    }
    check_set_free(options);
    *options = grown;
}

/* The options of a node's edges: every edge, one target of every route, one of all conditions. */
static void check_ways_of(search *s, const gnode *n, check_set *options)
{
    size_t most = 2;
    const char **names;

    for (const way *w = n->ways; w != NULL; w = w->next)
        most += w->ntargets + 1;
    if ((names = arena_get(&s->mem, most * sizeof *names)) == NULL) {
        s->failed = true;
        return;
    }
    memset(s->one, 0, s->words * sizeof *s->one);
    check_option(s, options, s->one);
    most = 0;
    for (const way *w = n->ways; w != NULL; w = w->next)
        if (w->kind == WAY_WHEN)
            names[most++] = w->to;
    if (most > 0)
        check_product(s, options, n->index, names, most);
    for (const way *w = n->ways; w != NULL; w = w->next) {
        most = 0;
        if (w->kind == WAY_EDGE)
            names[most++] = w->to;
        for (uint32_t i = 0; i < w->ntargets; i++)
            names[most++] = w->targets[i];
        if (w->otherwise != NULL)
            names[most++] = w->otherwise;
        if (w->kind == WAY_ROUTE && (most == 0 || (w->otherwise == NULL && n->ngotos > 0)))
            names[most++] = NULL;       /* a route may also only send */
        if (most > 0 && w->kind != WAY_WHEN)
            check_product(s, options, w->kind == WAY_EDGE ? START_INDEX : n->index, names, most);
    }
}

/* The options of a node's code: a subset of its declared targets, as sends beside its edges, or as gotos instead of them. */
static void check_options_of(search *s, const gnode *n, check_set *options, size_t ways, const uint64_t *said)
{
    if (n->kind != GNODE_START)
        check_option(s, options, said);
    for (size_t i = 0; i < ways && !s->failed; i++) {
        memcpy(s->one, check_item(options, i), s->words * sizeof *s->one);
        check_unite(s->one, said, s->words);
        check_option(s, options, s->one);
    }
}

static void check_gotos_of(search *s, const gnode *n, check_set *options)
{
    uint64_t *said = arena_get(&s->mem, s->words * sizeof *said);
    bool whole = n->ngotos <= CHECK_GOTOS_MAX;
    size_t ways = options->count, rounds = whole ? (size_t)1 << n->ngotos : (size_t)n->ngotos + 2;

    if (said == NULL) {
        s->failed = true;
        return;
    }
    for (size_t round = 1; round < rounds && !s->failed; round++) {
        memset(said, 0, s->words * sizeof *said);
        for (uint32_t i = 0; i < n->ngotos; i++)
            if (whole ? round >> i & 1 : round == (size_t)i + 1 || round == rounds - 1)
                search_to(s, said, n->index, n->gotos[i]);
        check_options_of(s, n, options, ways, said);
    }
    s->cut = s->cut || (!whole && s->njoins > 0);
}

typedef struct check_leading { const search *s; check_exit *e; } check_leading;

static void check_lead(void *ctx, const char *to, const way *w)
{
    check_leading *l = ctx;

    (void)w;
    check_to(l->s, l->e->leads, to);
    l->e->ends = l->e->ends || strcmp(to, PAWL_END) == 0;
}

static bool check_exit_init(search *s, size_t at)
{
    const gnode *n = s->g->nodes[at];
    check_exit *e = &s->exits[at];

    check_set_init(&e->options, &s->alloc, s->words);
    if (s->cancels && (e->leads = arena_zero(&s->mem, s->words * sizeof *e->leads)) == NULL)
        return false;
    if (s->cancels)
        each_target(s->g, n, check_lead, &(check_leading){ s, e });
    check_ways_of(s, n, &e->options);
    check_gotos_of(s, n, &e->options);
    if (n->gate != NULL && n->gate_no != NULL && !s->failed) {
        memset(s->one, 0, s->words * sizeof *s->one);
        search_to(s, s->one, n->index, n->gate_no);
        check_option(s, &e->options, s->one);
    }
    if (n->defer)
        check_mark(s->deferring, at);
    return !s->failed;
}

/* ---- joins, as next.c steps them -------------------------------------------------------------------------- */

uint32_t search_seen(const check_meet *m, const uint64_t *seen)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->j->nfrom; i++)
        n += check_bit(seen, i);
    return n;
}

/* The number of the source `at` of the join + 1; 0: not a source. */
static uint32_t check_source_of(const check_meet *m, uint32_t at)
{
    for (uint32_t i = 0; i < m->j->nfrom; i++)
        if (m->from[i] == at)
            return i + 1;
    return 0;
}

/* Whether `at` may still reach the end, the target or a source that was seen; `out` has the nodes that are known to. */
static bool check_gets_out(const search *s, const check_meet *m, const uint64_t *seen, uint32_t at, const uint64_t *out)
{
    const gnode *n = s->g->nodes[at];
    const check_exit *e = &s->exits[at];
    uint32_t source = check_source_of(m, at);

    if (source > 0)
        return check_bit(seen, source - 1);
    if ((n->ways == NULL && n->ngotos == 0) || e->ends || check_bit(e->leads, m->to))
        return true;
    for (size_t i = 0; i < s->words; i++)
        if ((e->leads[i] & out[i]) != 0)
            return true;
    return false;
}

/* A join that cancels its rest: drops the nodes that lead only to sources that are not needed any more. */
static void check_cancel(search *s, const check_meet *m, const uint64_t *seen)
{
    bool more = true;

    memset(s->one, 0, s->words * sizeof *s->one);
    while (more) {
        more = false;
        for (uint32_t i = 1; i < s->g->nnodes; i++) {
            if (check_bit(s->one, i) || !check_gets_out(s, m, seen, i, s->one))
                continue;
            check_mark(s->one, i);
            more = true;
        }
    }
    for (size_t i = 1; i < s->g->nnodes; i++)
        if (!check_bit(s->one, i) && i != m->to)
            check_mark(s->gone, i);
}

static size_t check_meet_words(const join *j)
{
    return (j->nfrom + 1 + (j->k < j->nfrom ? j->nfrom : 0)) / 64 + 1;
}

static uint32_t check_again(const check_meet *m, const uint64_t *seen)
{
    uint32_t n = 0;

    for (uint32_t i = 0; m->j->k < m->j->nfrom && i < m->j->nfrom; i++)
        n += check_bit(seen, m->j->nfrom + 2 + i);
    return n;
}

/* The round is complete: the next one has what came again. */
static uint32_t check_round_next(const check_meet *m, uint64_t *seen)
{
    const uint32_t n = m->j->nfrom;

    for (uint32_t i = 0; i < n; i++)
        if (!check_bit(seen, n + 2 + i))
            seen[i / 64] &= ~(UINT64_C(1) << (i % 64));
    for (uint32_t i = n; i < 2 * n + 2; i++)
        seen[i / 64] &= ~(UINT64_C(1) << (i % 64));
    return search_seen(m, seen);
}

static void check_meet_step(search *s, const check_meet *m)
{
    uint64_t *seen = s->after + m->at;
    uint32_t n = m->j->nfrom, count;
    const bool fired = check_bit(seen, n);

    for (uint32_t i = 0; i < n; i++) {
        if (!check_bit(s->now, m->from[i]))
            continue;
        if (fired && check_bit(seen, i) && m->j->again[i])
            check_mark(seen, n + 2 + i);
        check_mark(seen, i);
    }
    count = search_seen(m, seen);
    if (count >= n && check_again(m, seen) > 0)
        count = check_round_next(m, seen);
    if (count >= m->j->k && !check_bit(seen, n)) {
        check_mark(s->hit, m->to);
        if (m->j->rest == PAWL_JOIN_CANCELS_REST && count < n) {
            check_cancel(s, m, seen);
            count = n;
        }
        check_mark(seen, n);
    }
    if (count >= n)
        memset(seen, 0, check_meet_words(m->j) * sizeof *seen);
}

/* Joins none of whose sources is `now` stay as they are. The others step in the order of their numbers, since one may cancel the sources of another. */
static void check_meets_step(search *s)
{
    uint32_t first = UINT32_MAX, last = 0;

    s->step++;
    for (size_t i = check_next(s->now, s->words, 0); i < s->g->nnodes; i = check_next(s->now, s->words, i + 1))
        for (uint32_t k = s->by_source.first[i]; k < s->by_source.first[i + 1]; k++) {
            const uint32_t number = s->by_source.numbers[k];

            s->stepped[number] = s->step;
            first = number < first ? number : first;
            last = number > last ? number : last;
        }
    for (uint32_t k = first; k <= last; k++)
        if (s->stepped[k] == s->step)
            check_meet_step(s, &s->joins[k]);
}

bool search_begun(const check_meet *m, const uint64_t *state)
{
    const uint64_t *seen = state + m->at;

    if (check_bit(seen, m->j->nfrom))
        return check_again(m, seen) > 0;
    return search_seen(m, seen) > 0 || check_bit(seen, m->j->nfrom + 1);
}

bool search_came(const check_meet *m, const uint64_t *state, uint32_t source)
{
    const uint64_t *seen = state + m->at;

    return check_bit(seen, check_bit(seen, m->j->nfrom) ? m->j->nfrom + 2 + source : source);
}

/* A join that has seen some but not enough sources; NULL: none. */
static const check_meet *check_partly(const search *s, const uint64_t *state)
{
    for (size_t i = 0; i < s->njoins; i++) {
        const check_meet *m = &s->joins[i];

        if (search_begun(m, state))
            return m;
    }
    return NULL;
}

/* As next.c does with the ways past the sources of joins. */
static void check_pass(search *s, const uint64_t *reached)
{
    for (size_t k = 0; k < s->njoins; k++) {
        const check_meet *m = &s->joins[k];
        uint64_t *seen = s->after + m->at;

        if (!check_bit(reached, s->g->nnodes + k) || check_bit(s->hit, m->to) || check_bit(reached, m->to))
            continue;
        check_mark(check_bit(seen, m->j->nfrom) ? s->hit : seen, check_bit(seen, m->j->nfrom) ? m->to : m->j->nfrom + 1);
    }
}

static bool check_waits(const search *s, const check_meet *m)
{
    for (size_t k = 0; k < s->njoins; k++)
        if (join_later(m->j, s->joins[k].j) && search_begun(&s->joins[k], s->after))
            return true;
    return false;
}

/* Nothing is next: as next.c settles joins. */
static void check_settle(search *s)
{
    const check_meet *first = check_partly(s, s->after);
    bool any = false;

    memset(s->one, 0, s->words * sizeof *s->one);
    for (size_t k = 0; k < s->njoins; k++)
        if (search_begun(&s->joins[k], s->after) && !check_waits(s, &s->joins[k])) {
            check_mark(s->one, s->joins[k].to);
            any = true;
        }
    if (first != NULL && !any)
        check_mark(s->one, first->to);
    for (size_t k = 0; k < s->njoins; k++) {
        const check_meet *m = &s->joins[k];

        if (check_bit(s->one, m->to) && search_begun(m, s->after))
            memset(s->after + m->at, 0, check_meet_words(m->j) * sizeof *s->after);
    }
    memcpy(s->after, s->one, s->words * sizeof *s->after);
}

/* ---- one superstep -------------------------------------------------------------------------------------------- */

const check_set *search_layer(search *s)
{
    check_set *to = &s->layers[0], *from = &s->layers[1];

    memset(s->one, 0, s->wide * sizeof *s->one);
    for (size_t i = check_next(s->now, s->words, 0); i < s->g->nnodes; i = check_next(s->now, s->words, i + 1))
        if (s->exits[i].options.count == 1)
            check_unite(s->one, check_item(&s->exits[i].options, 0), s->wide);
    check_set_clear(to);
    check_add(to, s->one, 1, &s->failed);
    for (size_t i = check_next(s->now, s->words, 0); i < s->g->nnodes && !s->failed; i = check_next(s->now, s->words, i + 1)) {
        const check_set *options = &s->exits[i].options;
        check_set *old = to;

        if (options->count == 1)
            continue;
        to = from;
        from = old;
        check_set_clear(to);
        for (size_t a = 0; a < from->count && !s->failed; a++) {
            for (size_t b = 0; b < options->count && s->work > 0; b++, s->work--) {
                memcpy(s->one, check_item(from, a), s->wide * sizeof *s->one);
                check_unite(s->one, check_item(options, b), s->wide);
                check_add(to, s->one, SIZE_MAX, &s->failed);
            }
        }
    }
    return to;
}

static bool check_edge(search *s, uint32_t to)
{
    if (!mem_room(&s->alloc, (void **)&s->edges, &s->edges_cap, s->nedges, sizeof *s->edges))
        return false;
    s->edges[s->nedges++] = to;
    return true;
}

static bool check_found(search *s, const uint64_t *state, uint32_t parent)
{
    size_t before = s->states.count;
    uint32_t at = check_add(&s->states, state, s->limit, &s->failed);

    if (at == CHECK_NONE && !s->failed) {
        s->cut = true;
        s->spots[parent].flags |= SPOT_ENDS;    /* the search stops here, so assume that the run may end */
        return true;
    }
    if (s->failed || (s->states.count > before && !mem_room(&s->alloc, (void **)&s->spots, &s->spots_cap, before, sizeof *s->spots)))
        return false;
    if (s->states.count > before)
        s->spots[at] = (check_spot){ .parent = parent };
    return parent == CHECK_NONE || check_edge(s, at);
}

void search_enter(search *s, const uint64_t *state)
{
    memcpy(s->now, state, s->states.width * sizeof *s->now);
    memset(s->hit, 0, s->words * sizeof *s->hit);
    memset(s->gone, 0, s->words * sizeof *s->gone);
    memcpy(s->after, s->now, s->states.width * sizeof *s->after);
    if (!check_bit(s->now, START_INDEX))
        check_meets_step(s);
}

bool search_rests(const search *s)
{
    return check_empty(s->now, s->words);
}

bool search_stuck(const search *s)
{
    return check_partly(s, s->now) != NULL;
}

void search_succeed(search *s, const uint64_t *reached)
{
    uint64_t *next = s->after, *deferred = s->after + s->words;

    if (s->g->settles)
        check_pass(s, reached);
    for (size_t i = 0; i < s->words; i++) {
        const uint64_t all = (reached[i] | s->hit[i]) & ~s->gone[i], sent = s->wide > s->words ? reached[s->words + i] & ~s->gone[i] : 0;

        next[i] = (all & ~s->deferring[i]) | sent;
        deferred[i] = (s->now[s->words + i] & ~s->gone[i]) | (all & s->deferring[i]);
    }
    for (size_t k = 0; s->g->settles && k < s->njoins; k++)
        next[(s->g->nnodes + k) / 64] &= ~(UINT64_C(1) << ((s->g->nnodes + k) % 64));
    if (check_empty(next, s->words)) {
        memcpy(next, deferred, s->words * sizeof *next);
        memset(deferred, 0, s->words * sizeof *deferred);
    }
    if (s->g->settles && check_empty(next, s->words))
        check_settle(s);
}

static void check_flags(search *s, check_spot *spot)
{
    for (size_t i = check_next(s->now, s->words, 1); i < s->g->nnodes; i = check_next(s->now, s->words, i + 1)) {
        const gnode *n = s->g->nodes[i];

        if (n->kind == GNODE_PURE)
            spot->flags |= SPOT_LEAVES;
        if (n->gate != NULL && n->gate_no == NULL && !n->gate_waits)
            spot->flags |= SPOT_ENDS;           /* the answer no rejects the run */
    }
    check_unite(s->ran, s->now, s->words);
}

static bool check_expand(search *s, uint32_t at)
{
    const check_set *layer;

    search_enter(s, check_item(&s->states, at));
    s->spots[at].edge = (uint32_t)s->nedges;
    if (search_rests(s)) {
        s->spots[at].flags |= search_stuck(s) ? SPOT_STUCK : SPOT_ENDS;
        return true;
    }
    check_flags(s, &s->spots[at]);
    layer = search_layer(s);
    for (size_t i = 0; i < layer->count && !s->failed; i++) {
        search_succeed(s, check_item(layer, i));
        if (!check_found(s, s->after, at))
            return false;
    }
    return !s->failed;
}

static bool check_states(search *s)
{
    uint64_t *first = s->after;

    memset(first, 0, s->states.width * sizeof *first);
    check_mark(first, START_INDEX);
    if (!check_found(s, first, CHECK_NONE))
        return false;
    for (; s->expanded < s->states.count && s->work > 0; s->expanded++)
        if (!check_expand(s, (uint32_t)s->expanded))
            return false;
    s->cut = s->cut || s->work == 0;
    for (size_t i = s->work == 0 ? s->expanded - 1 : s->expanded; i < s->states.count; i++) {
        s->spots[i].flags |= SPOT_ENDS;
        if (i >= s->expanded)
            s->spots[i].edge = (uint32_t)s->nedges;
    }
    return true;
}

/* ---- setting up ---------------------------------------------------------------------------------------------------- */

static bool check_meets_init(search *s)
{
    if (!join_index_make(&s->by_source, &s->mem, s->g, NULL))
        return false;
    s->joins = arena_zero(&s->mem, (s->by_source.njoins + 1) * sizeof *s->joins);
    s->stepped = arena_zero(&s->mem, (s->by_source.njoins + 1) * sizeof *s->stepped);
    if (s->joins == NULL || s->stepped == NULL)
        return false;
    s->states.width = 2 * s->words;
    while (s->njoins < s->by_source.njoins) {
        const join *j = s->by_source.joins[s->njoins];
        check_meet *m = &s->joins[s->njoins++];

        *m = (check_meet){ .j = j, .at = s->states.width, .to = (uint32_t)node_index(s->g, j->to) };
        if ((m->from = arena_get(&s->mem, j->nfrom * sizeof *m->from)) == NULL)
            return false;
        for (uint32_t i = 0; i < j->nfrom; i++)
            m->from[i] = (uint32_t)node_index(s->g, j->from[i]);
        s->states.width += check_meet_words(j);
        s->cancels = s->cancels || j->rest == PAWL_JOIN_CANCELS_REST;
    }
    return true;
}

/* Whether a node declares to write this channel; mostly none does. */
static bool check_writer(search *s, const char *name, size_t at)
{
    size_t i = 0;

    while (i < s->nwriters && strcmp(s->writers[i].c->c.name, name) != 0)
        i++;
    if (i == s->nwriters)
        return true;            /* the rule accepts any number of writers */
    if (s->writers[i].nodes == NULL && (s->writers[i].nodes = arena_zero(&s->mem, s->words * sizeof *s->ran)) == NULL)
        return false;
    check_mark(s->writers[i].nodes, at);
    return true;
}

/* The channels for which two writers in one superstep are reported, with the nodes that declare to write them. */
static bool check_shared_init(search *s)
{
    size_t kept = 0;
    bool good = true;

    if ((s->writers = arena_zero(&s->mem, (s->g->nchannels + 1) * sizeof *s->writers)) == NULL)
        return false;
    for (size_t i = 0; i < s->g->nchannels; i++)
        if (s->g->channels[i].c.rule == PAWL_RULE_LAST || s->g->channels[i].c.rule == PAWL_RULE_SINGLE)
            s->writers[s->nwriters++].c = &s->g->channels[i];
    for (size_t at = 1; at < s->g->nnodes; at++) {
        const gnode *n = s->g->nodes[at];

        for (uint32_t i = 0; i < n->nwrites && good; i++)
            good = check_writer(s, n->writes[i], at);
        for (const map *m = n->maps; m != NULL && good; m = m->next)
            good = !m->out || check_writer(s, m->outer, at);
    }
    for (size_t i = 0; i < s->nwriters; i++) {
        check_shared *w = &s->writers[i];
        int own = s->g->essay && w->nodes != NULL ? node_index(s->g, w->c->c.name) : -1;

        if (own > 0 && s->g->nodes[own]->kind == GNODE_PURE)
            check_mark(w->nodes, (size_t)own);
        if (w->nodes != NULL)
            s->writers[kept++] = *w;
    }
    s->nwriters = kept;
    return good;
}

bool search_prepare(search *s)
{
    size_t n = s->g->nnodes;

    arena_init(&s->mem, &s->alloc, CHECK_BYTES_FIRST);
    for (const join *j = s->g->settles ? s->g->joins : NULL; j != NULL; j = j->next)
        n++;                    /* a bit for each way past the sources of a join */
    s->words = (n + 63) / 64;
    n = s->g->nnodes;
    s->work = s->limit * CHECK_WORK_PER_STATE;
    check_set_init(&s->states, &s->alloc, 0);
    s->wide = s->apart ? 2 * s->words : s->words;
    check_set_init(&s->layers[0], &s->alloc, s->wide);
    check_set_init(&s->layers[1], &s->alloc, s->wide);
    if ((s->exits = arena_zero(&s->mem, n * sizeof *s->exits)) == NULL || !check_meets_init(s) || !check_shared_init(s))
        return false;
    s->now = arena_zero(&s->mem, 2 * s->states.width * sizeof *s->now);
    s->hit = arena_zero(&s->mem, 6 * s->words * sizeof *s->hit);
    if (s->now == NULL || s->hit == NULL)
        return false;
    s->after = s->now + s->states.width;
    s->gone = s->hit + s->words;
    s->one = s->gone + s->words;            /* twice as wide, for sends */
    s->ran = s->one + 2 * s->words;
    s->deferring = s->ran + s->words;
    for (size_t i = 0; i < n; i++)
        if (!check_exit_init(s, i))
            return false;
    return true;
}

void search_free(search *s)
{
    for (size_t i = 0; s->exits != NULL && i < s->g->nnodes; i++)
        if (s->exits[i].options.width > 0)
            check_set_free(&s->exits[i].options);
    check_set_free(&s->states);
    check_set_free(&s->layers[0]);
    check_set_free(&s->layers[1]);
    mem_free(&s->alloc, s->spots, s->spots_cap * sizeof *s->spots);
    mem_free(&s->alloc, s->edges, s->edges_cap * sizeof *s->edges);
    arena_free(&s->mem);
}

bool search_run(search *s)
{
    return search_prepare(s) && check_states(s) && !s->failed;
}
