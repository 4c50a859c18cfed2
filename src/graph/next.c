/* next.c - plans the next superstep (G3): edges, routes over the merged state, joins, deferred nodes.
 *
 * Called by drive.c, frame_run.c and subgraph.c when a superstep closes or starts, inside the step's transaction. A plan changes nothing: the close item
 * that it fills in does, when it is folded. */
#include "graph/graph.h"
#include "kernel/channel.h"
#include "kernel/fold.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/base.h"
#include "kernel/list.h"
#include "kernel/machine.h"
#include "kernel/pending.h"
#include "kernel/references.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/txn.h"
#include "kernel/visit.h"

#include <string.h>

typedef struct plan {
    pawl_step *s;
    const pawl_graph *g;
    frame *f;               /* while routes are evaluated, the frame has the merged writes */
    bool *hit;              /* by node: is next */
    bool *done;             /* by node: left in this superstep */
    named *sends;
    size_t nsends, sends_cap;
    const pawl_value *joins;    /* the joins before this superstep */
    const pawl_value *changed;
    bool halt;
    bool holds;             /* a task left with a question, or the graph has an interrupt after a node */
    uint32_t nleft;         /* number of sends in the leaves */
    uint32_t *drop;
    uint32_t ndrop;
    bool *gone;             /* by node: a join cancelled it */
    bool settles;           /* branches that were not taken count as done */
    bool *passed;           /* by join, if it settles: a way led past its sources */
    bool rounds;            /* what comes again after a join fired is of its next round */
    uint32_t at;            /* the node whose ways are followed */
    pawl_err *err;
} plan;

/* A way past the sources of joins to their target is held until the joins fire. */
static bool passes(plan *p, uint32_t to)
{
    size_t k = 0;
    bool any = false;

    for (const join *j = p->settles ? p->g->joins : NULL; j != NULL; j = j->next, k++)
        if (j->to_at == to && j->passes[p->at])
            p->passed[k] = any = true;
    return any;
}

static pawl_code hit_name(plan *p, const char *to)
{
    int i;

    if (strcmp(to, PAWL_END) == 0)
        return PAWL_OK;
    i = node_index(p->g, to);
    if (i < 1)
        return fail(p->err, PAWL_CORRUPT, "%s: there is no node \"%s\"", p->g->name, to);
    p->hit[i] = p->hit[i] || !passes(p, (uint32_t)i);
    return PAWL_OK;
}

/* ---- routes ---------------------------------------------------------------------------------------- */

static pawl_code no_route(plan *p, const gnode *n, const char *said)
{
    buf *b = step_text(p->s);
    const char *seen;

    values_code(p->s->st, p->f, b, false, false);
    seen = step_copy(p->s, b, NULL);
    return fail(p->err, PAWL_INVALID, "%s: no route from \"%s\"%s%.64s%s, with %.120s", p->g->name, n->name,
                said != NULL ? " to \"" : "", said != NULL ? said : "", said != NULL ? "\"" : "", seen != NULL ? seen : "{}");
}

static pawl_code route_one(plan *p, const gnode *n, const way *w)
{
    const char *to = w->route(p->s, w->arg);

    if (p->s->v->err.code != PAWL_OK)
        return fail(p->err, p->s->v->err.code, "%s", p->s->v->err.text);
    if (to == NULL)
        return w->otherwise != NULL ? hit_name(p, w->otherwise) : p->s->v->nsends > 0 ? PAWL_OK : no_route(p, n, NULL);
    for (uint32_t i = 0; i < w->ntargets; i++)
        if (strcmp(w->targets[i], to) == 0)
            return hit_name(p, w->targets[i]);
    if (w->otherwise != NULL && strcmp(w->otherwise, to) == 0)
        return hit_name(p, to);
    return no_route(p, n, to);
}

static pawl_code ways_eval(plan *p, const gnode *n)
{
    const way *group = NULL;
    bool taken = false;
    pawl_code rc = PAWL_OK;

    for (const way *w = n->ways; w != NULL && rc == PAWL_OK; w = w->next) {
        if (w->kind == WAY_EDGE)
            p->hit[w->index] = true;    /* @end has START_INDEX, whose flag is never read */
        else if (w->kind == WAY_ROUTE)
            rc = route_one(p, n, w);
        else if (!taken && (group = w, w->when == NULL || w->when(p->s, w->arg)))
            rc = (taken = true, hit_name(p, w->to));
        if (rc == PAWL_OK && p->s->v->err.code != PAWL_OK)
            rc = fail(p->err, p->s->v->err.code, "%s", p->s->v->err.text);
    }
    if (rc == PAWL_OK && group != NULL && !taken)
        rc = no_route(p, n, NULL);
    return rc;
}

/* Follows the edges, routes and conditions of one node for one of its tasks; routes may send. */
static pawl_code ways_of(plan *p, const gnode *n, task *tk, uint32_t sender)
{
    visit v;
    pawl_code rc;

    if (!n->has_routes) {
        for (const way *w = n->ways; w != NULL; w = w->next)
            p->hit[w->index] = true;    /* @end has START_INDEX, whose flag is never read */
        return PAWL_OK;
    }
    visit_begin(p->s, &v, p->f, tk, tk != NULL ? tk->name : n->name, n->name);
    v.reading = true;
    rc = ways_eval(p, n);
    for (size_t i = 0; i < v.nsends && rc == PAWL_OK; i++) {
        if (!arena_room(&p->s->mem, (void **)&p->sends, &p->sends_cap, p->nsends, sizeof *p->sends))
            rc = PAWL_NOMEM;
        else
            p->sends[p->nsends] = v.sends[i], p->sends[p->nsends++].sender = sender;
    }
    p->s->v = NULL;
    return rc;
}

static pawl_code leave_eval(plan *p, task *tk, uint32_t i)
{
    const gnode *n = node_of_task(p->g, tk);
    const leave *l = task_leave(p->s->st, tk, p->err);
    pawl_code rc = PAWL_OK;

    if (n == NULL)
        return fail(p->err, PAWL_CORRUPT, "%s: the machine has no node of task \"%s\"", p->g->name, tk->name);
    if (l == NULL)
        return p->s->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    p->done[n->index] = true;
    p->at = n->index;
    p->halt = p->halt || l->halt;
    p->holds = p->holds || l->hold != NULL;
    p->nleft += l->nsends;
    for (uint32_t j = 0; j < l->ngotos && rc == PAWL_OK; j++)
        rc = hit_name(p, l->gotos[j]);
    return rc != PAWL_OK || l->ngotos > 0 || l->halt ? rc : ways_of(p, n, tk, i);
}

/* ---- joins --------------------------------------------------------------------------------------------- */

static const pawl_value *seen_add(plan *p, const pawl_value *seen, const char *name)
{
    const pawl_value *one = value_string(&p->s->mem, name, strlen(name));

    return value_push(&p->s->mem, seen, one);
}

/* The sources that the join has seen, with those that left in this superstep. NULL: no memory. */
static const pawl_value *seen_more(plan *p, const join *j, const pawl_value *seen)
{
    bool *has = arena_zero(&p->s->mem, p->g->nnodes);
    size_t used = seen != NULL ? value_nodes(seen) : 1, count = pawl_value_size(seen);
    yyjson_val *out = arena_get(&p->s->mem, (used + j->nfrom) * sizeof *out);
    pawl_iter it = pawl_iter_of(seen);
    const pawl_value *v;

    if (has == NULL || out == NULL)
        return NULL;
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        const int at = node_index(p->g, pawl_value_string(v));

        if (at >= 0)
            has[at] = true;
    }
    if (seen != NULL)
        memcpy(out, val_of(seen), used * sizeof *out);
    for (uint32_t i = 0; i < j->nfrom; i++) {
        if (!p->done[j->at[i]] || has[j->at[i]])
            continue;
        if ((v = value_string(&p->s->mem, j->from[i], strlen(j->from[i]))) == NULL)
            return NULL;
        has[j->at[i]] = true;
        out[used++] = *val_of(v);
        count++;
    }
    out[0].tag = (uint64_t)count << YYJSON_TAG_BIT | YYJSON_TYPE_ARR;
    out[0].uni.ofs = used * sizeof *out;
    return of_val(out);
}

/* Whether every path from `at` comes to a source that the join does not need any more, before the end or the join's target. */
static bool captive(const pawl_graph *g, const join *j, const pawl_value *seen, int at, bool *been);

typedef struct escape { const pawl_graph *g; const join *j; const pawl_value *seen; bool *been; bool out; } escape;

static void see_way(void *ctx, const char *to, const way *w)
{
    escape *e = ctx;
    int i = node_index(e->g, to);

    (void)w;
    if (i < 0 || strcmp(to, e->j->to) == 0)
        e->out = true;
    else if (!e->been[i] && !captive(e->g, e->j, e->seen, i, e->been))
        e->out = true;
}

static bool captive(const pawl_graph *g, const join *j, const pawl_value *seen, int at, bool *been)
{
    escape e = { g, j, seen, been, false };

    been[at] = true;
    for (uint32_t i = 0; i < j->nfrom; i++)
        if (strcmp(j->from[i], g->nodes[at]->name) == 0)
            return !join_has(seen, j->from[i]);
    if (g->nodes[at]->ways == NULL && g->nodes[at]->ngotos == 0)
        return false;
    each_target(g, g->nodes[at], see_way, &e);
    return !e.out;
}

static pawl_code rest_cancel(plan *p, const join *j, const pawl_value *seen)
{
    bool *been = arena_get(&p->s->mem, p->g->nnodes * sizeof *been);

    if (been == NULL)
        return PAWL_NOMEM;
    for (size_t i = 1; i < p->g->nnodes; i++) {
        memset(been, 0, p->g->nnodes * sizeof *been);
        if (strcmp(p->g->nodes[i]->name, j->to) != 0 && captive(p->g, j, seen, (int)i, been))
            p->gone[i] = true;
    }
    return PAWL_OK;
}

/* `seen` of a join that has fired, with the sources that came again. NULL: no memory. */
static const pawl_value *again_add(plan *p, const join *j, const pawl_value *before, const pawl_value *seen)
{
    for (uint32_t i = 0; i < j->nfrom && seen != NULL; i++) {
        char name[NAME_BYTES_MAX + 2] = { JOIN_AGAIN };

        if (!p->done[j->at[i]] || !j->again[i] || !join_has(before, j->from[i]) || join_has_again(seen, j->from[i]))
            continue;
        memcpy(name + 1, j->from[i], strlen(j->from[i]) + 1);
        seen = seen_add(p, seen, name);
    }
    return seen;
}

/* The next round of a join: what came again. NULL: no memory. */
static const pawl_value *round_next(plan *p, const pawl_value *seen)
{
    const pawl_value *next = value_pack(&p->s->mem, p->err, "[]"), *v;
    pawl_iter it = pawl_iter_of(seen);

    while (next != NULL && (v = pawl_iter_next(&it, NULL)) != NULL)
        if (*pawl_value_string(v) == JOIN_AGAIN)
            next = seen_add(p, next, pawl_value_string(v) + 1);
    return next;
}

static pawl_code join_puts(plan *p, const join *j, const pawl_value *seen)
{
    p->changed = value_with(&p->s->mem, p->changed != NULL ? p->changed : value_pack(&p->s->mem, p->err, "{}"), j->name, seen);
    return p->changed == NULL ? PAWL_NOMEM : PAWL_OK;
}

static pawl_code join_step(plan *p, const join *j)
{
    const pawl_value *seen = pawl_value_get(p->joins, j->name), *before = seen;
    uint32_t count = 0, again;
    bool fired;

    for (uint32_t i = 0; i < j->nfrom; i++)
        count += p->done[j->at[i]];
    if (pawl_value_size(seen) == 0 && (count == 0 || count == j->nfrom)) {     /* fast path: none or all sources left at once */
        p->hit[j->to_at] = p->hit[j->to_at] || count > 0;
        return PAWL_OK;
    }
    if ((seen = seen_more(p, j, seen)) == NULL)
        return PAWL_NOMEM;
    fired = join_has(seen, JOIN_FIRED);
    if (fired && p->rounds && (seen = again_add(p, j, before, seen)) == NULL)
        return PAWL_NOMEM;
    again = join_again(seen);
    count = (uint32_t)pawl_value_size(seen) - fired - again - join_has(seen, JOIN_PASSED);
    if (count >= j->nfrom && again > 0) {       /* this round is complete, and the next one has begun */
        if ((seen = round_next(p, seen)) == NULL)
            return PAWL_NOMEM;
        count = again;
        fired = false;
    }
    if (count >= j->k && !fired) {
        if (hit_name(p, j->to) != PAWL_OK)
            return PAWL_CORRUPT;
        if (j->rest == PAWL_JOIN_CANCELS_REST && count < j->nfrom) {
            if (rest_cancel(p, j, seen) != PAWL_OK)
                return PAWL_NOMEM;
            count = j->nfrom;               /* no other source will arrive: this round of the join is complete */
        }
        seen = seen_add(p, seen, JOIN_FIRED);
    }
    if (count >= j->nfrom)
        seen = value_pack(&p->s->mem, p->err, "[]");
    if (seen == NULL)
        return PAWL_NOMEM;
    if (before == NULL ? pawl_value_size(seen) == 0 : pawl_value_equal(before, seen))
        return PAWL_OK;
    return join_puts(p, j, seen);
}

static const pawl_value *seen_now(const plan *p, const join *j)
{
    const pawl_value *seen = pawl_value_get(p->changed, j->name);

    return seen != NULL ? seen : pawl_value_get(p->joins, j->name);
}

/* Joins that a way led past: one that fires in this superstep has it already, one that has fired in its round runs its target again. */
static pawl_code joins_pass(plan *p)
{
    pawl_code rc = PAWL_OK;
    size_t k = 0;

    for (const join *j = p->g->joins; j != NULL && rc == PAWL_OK; j = j->next, k++) {
        const pawl_value *seen = seen_now(p, j);

        if (!p->passed[k] || p->hit[j->to_at] || join_has(seen, JOIN_PASSED))
            continue;
        if (join_has(seen, JOIN_FIRED)) {
            p->hit[j->to_at] = true;
            continue;
        }
        seen = seen_add(p, seen != NULL ? seen : value_pack(&p->s->mem, p->err, "[]"), JOIN_PASSED);
        rc = seen != NULL ? join_puts(p, j, seen) : PAWL_NOMEM;
    }
    return rc;
}

static bool begun(const plan *p, const join *j)
{
    return join_begun(seen_now(p, j));
}

/* Whether another join that has begun may still lead to a source of this one. */
static bool waits_for_join(const plan *p, const join *j)
{
    for (const join *k = p->g->joins; k != NULL; k = k->next)
        if (join_later(j, k) && begun(p, k))
            return true;
    return false;
}

/* Nothing is next: the joins that have begun fire, those first to which no other leads. Of a ring of joins the first fires. */
static pawl_code joins_settle(plan *p)
{
    const join *first = NULL;
    bool *fires = arena_zero(&p->s->mem, p->g->nnodes * sizeof *fires), any = false;
    pawl_code rc = PAWL_OK;

    if (fires == NULL)
        return PAWL_NOMEM;
    for (const join *j = p->g->joins; j != NULL; j = j->next) {
        if (!begun(p, j))
            continue;
        first = first != NULL ? first : j;
        fires[j->to_at] = fires[j->to_at] || !waits_for_join(p, j);
        any = any || fires[j->to_at];
    }
    if (first != NULL && !any)
        fires[first->to_at] = true;
    for (const join *j = p->g->joins; j != NULL && rc == PAWL_OK; j = j->next) {
        if (!fires[j->to_at] || !begun(p, j))
            continue;
        p->hit[j->to_at] = true;
        rc = join_puts(p, j, value_pack(&p->s->mem, p->err, "[]"));
    }
    return rc;
}

static pawl_code joins_step(plan *p)
{
    pawl_code rc = PAWL_OK;
    bool any = false;

    for (size_t i = 0; i < p->g->nnodes; i++)
        any = any || p->done[i];
    for (const join *j = p->g->joins; j != NULL && any && rc == PAWL_OK; j = j->next)
        rc = join_step(p, j);
    if (rc == PAWL_OK && p->settles)
        rc = joins_pass(p);
    for (size_t i = 0; i < p->g->nnodes; i++)
        if (p->gone[i])
            p->hit[i] = false;
    return rc;
}

/* ---- the plan becomes a close --------------------------------------------------------------------------------- */

static pawl_code plan_begin(plan *p, pawl_step *s, const pawl_graph *g, frame *f, pawl_err *err)
{
    *p = (plan){ .s = s, .g = g, .f = f, .joins = f->joins, .settles = g->joins != NULL && g->settles && s->st->settles,
                  .rounds = s->st->rounds, .err = err };
    if (p->settles) {
        size_t n = 0;

        for (const join *j = g->joins; j != NULL; j = j->next)
            n++;
        if ((p->passed = arena_zero(&s->mem, (n + 1) * sizeof *p->passed)) == NULL)
            return PAWL_NOMEM;
    }
    p->hit = arena_zero(&s->mem, 3 * g->nnodes * sizeof *p->hit);
    if (p->hit == NULL)
        return PAWL_NOMEM;
    p->done = p->hit + g->nnodes;
    p->gone = p->done + g->nnodes;
    return PAWL_OK;
}

/* The deferred nodes that no join cancelled; NULL: none, or no memory. */
static const pawl_value *defer_left(plan *p, bool *changed)
{
    pawl_iter it = pawl_iter_of(p->f->defer);
    const pawl_value *left = NULL, *v;

    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        int i = node_index(p->g, pawl_value_string(v));

        if (i > 0 && p->gone[i])
            *changed = true;
        else
            left = value_push(&p->s->mem, left != NULL ? left : value_pack(&p->s->mem, p->err, "[]"), v);
    }
    return *changed ? left : p->f->defer;
}

/* Moves deferred nodes to the list of waiting ones while other tasks are next. */
static pawl_code defer_split(plan *p, closing *cl, bool busy)
{
    bool changed = false, any = busy;
    const pawl_value *list_now = defer_left(p, &changed), *v;
    pawl_iter it;

    for (size_t i = 1; i < p->g->nnodes; i++) {
        if (!p->hit[i])
            continue;
        if (!p->g->nodes[i]->defer) {
            any = true;
            continue;
        }
        p->hit[i] = false;
        if (!join_has(list_now, p->g->nodes[i]->name)) {
            list_now = value_push(&p->s->mem, list_now != NULL ? list_now : value_pack(&p->s->mem, p->err, "[]"),
                                  value_string(&p->s->mem, p->g->nodes[i]->name, strlen(p->g->nodes[i]->name)));
            changed = true;
            if (list_now == NULL)
                return PAWL_NOMEM;
        }
    }
    if (!any && pawl_value_size(list_now) > 0) {
        it = pawl_iter_of(list_now);
        while ((v = pawl_iter_next(&it, NULL)) != NULL)
            if (node_index(p->g, pawl_value_string(v)) > 0)
                p->hit[node_index(p->g, pawl_value_string(v))] = true;
        list_now = value_pack(&p->s->mem, p->err, "[]");
        changed = p->f->defer != NULL;
    }
    if (changed && list_now == NULL)
        list_now = value_pack(&p->s->mem, p->err, "[]");
    cl->defer = changed ? list_now : NULL;
    return p->s->mem.failed ? PAWL_NOMEM : PAWL_OK;
}

/* Empties all joins after a halt. NULL: there were none. */
static const pawl_value *joins_over(plan *p)
{
    pawl_iter it = pawl_iter_of(p->f->joins);
    const pawl_value *key, *out = p->f->joins != NULL ? value_pack(&p->s->mem, p->err, "{}") : NULL;

    while (out != NULL && pawl_iter_next(&it, &key) != NULL)
        out = value_with(&p->s->mem, out, pawl_value_string(key), value_pack(&p->s->mem, p->err, "[]"));
    return out;
}

static bool any_hit(const plan *p)
{
    bool any = false;

    for (size_t i = 1; i < p->g->nnodes; i++)
        any = any || p->hit[i];
    return any;
}

static pawl_code plan_end(plan *p, closing *cl, uint32_t sends_before)
{
    const char **next = arena_get(&p->s->mem, (p->g->nnodes + 1) * sizeof *next);
    uint32_t *hints = arena_get(&p->s->mem, (p->g->nnodes + 1) * sizeof *hints);
    pawl_code rc;

    if (next == NULL || hints == NULL)
        return PAWL_NOMEM;
    cl->joins = p->changed;
    if (p->halt) {
        cl->drop_all = sends_before > 0;
        cl->defer = p->f->defer != NULL ? value_pack(&p->s->mem, p->err, "[]") : NULL;
        cl->joins = joins_over(p);
        return p->s->mem.failed ? PAWL_NOMEM : PAWL_OK;
    }
    cl->sends = p->sends;
    cl->nsends = (uint32_t)p->nsends;
    if ((rc = defer_split(p, cl, p->nsends + sends_before > p->ndrop)) != PAWL_OK)
        return rc;
    if (p->settles && p->nsends + sends_before <= p->ndrop && !any_hit(p) && (rc = joins_settle(p)) != PAWL_OK)
        return rc;
    cl->joins = p->changed;
    cl->drop = p->drop;
    cl->ndrop = p->ndrop;
    for (size_t i = 1; i < p->g->nnodes; i++)
        if (p->hit[i]) {
            hints[cl->nnext] = (uint32_t)i;
            next[cl->nnext++] = p->g->nodes[i]->name;
        }
    cl->next = next;
    cl->hints = hints;
    if (cl->nnext + (uint64_t)p->nsends + sends_before > p->g->max_tasks)
        return fail(p->err, PAWL_LIMIT, "%s: a superstep of %llu tasks is over max_tasks %u", p->g->name,
                    (unsigned long long)(cl->nnext + (uint64_t)p->nsends + sends_before), (unsigned)p->g->max_tasks);
    return PAWL_OK;
}

/* Collects the sends to nodes that a join cancelled, as numbers in the order of all sends. */
static pawl_code sends_drop(plan *p, uint32_t *total)
{
    uint32_t most = (uint32_t)p->nsends, at = 0;
    bool any = false;

    *total = p->nleft;
    most += *total;
    for (size_t i = 0; i < p->g->nnodes; i++)
        any = any || p->gone[i];
    if (!any)
        return PAWL_OK;
    if ((p->drop = arena_get(&p->s->mem, (most + 1) * sizeof *p->drop)) == NULL)
        return PAWL_NOMEM;
    most = 0;
    for (uint32_t i = 0; i < p->f->ntasks; i++) {
        const leave *l = task_leave(p->s->st, &p->f->tasks[i], p->err);

        for (uint32_t j = 0; l != NULL && j < l->nsends; j++, most++)
            if (p->gone[node_index(p->g, l->sends[j].name)])
                p->drop[p->ndrop++] = most;
        for (; at < p->nsends && p->sends[at].sender == i; at++, most++)
            if (p->gone[node_index(p->g, p->sends[at].name)])
                p->drop[p->ndrop++] = most;
    }
    return PAWL_OK;
}

/* ---- channels with a user's function ------------------------------------------------------------------------------ */

/* Merges the member of an update for this channel, if there is one. */
static pawl_code custom_merged(pawl_step *s, const machine_channel *mc, const pawl_value *update, const pawl_value **now, bool *any,
                             pawl_err *err)
{
    const pawl_value *v = pawl_value_get(update, mc->c.name);

    if (v == NULL)
        return PAWL_OK;
    *now = *now == NULL ? v : mc->c.merge(s, *now, v, mc->c.merge_arg);
    *any = true;
    return *now != NULL ? PAWL_OK : fail(err, PAWL_INVALID, "channel \"%s\": its function refuses the update", mc->c.name);
}

static pawl_code custom_task(pawl_step *s, const machine_channel *mc, task *tk, const pawl_value **now, bool *any, pawl_err *err)
{
    const leave *l = task_leave(s->st, tk, err);
    pawl_code rc = PAWL_OK;

    for (uint32_t j = 0; j < tk->ncalls && rc == PAWL_OK; j++)
        if (tk->calls[j].after == 0)
            rc = custom_merged(s, mc, tk->calls[j].update, now, any, err);
    for (uint32_t j = 0; l != NULL && j < l->nwrites && rc == PAWL_OK; j++) {
        const item_write *w = &l->writes[j];
        const pawl_value *v = w->value;

        if (strcmp(w->channel, mc->c.name) != 0)
            continue;
        if (w->refs.list != NULL && (v = refs_resolve(s->st, &s->mem, tk, NULL, v, w->refs.list, NULL, err)) == NULL)
            return s->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
        *now = *now == NULL || w->op == OP_OVERWRITE ? v : mc->c.merge(s, *now, v, mc->c.merge_arg);
        if (*now == NULL)
            return fail(err, PAWL_INVALID, "channel \"%s\": its function refuses what \"%s\" wrote", mc->c.name, tk->name);
        *any = true;
    }
    return rc;
}

/* Merges in the order of the kernel's close: the tasks with the updates of their answers, then the pending updates (pending.h). */
static pawl_code custom_one(pawl_step *s, frame *f, const machine_channel *mc, const pending_updates *last, item_write *out, bool *any, pawl_err *err)
{
    channel *c = channel_find(f, mc->c.name);
    const pawl_value *now = c == NULL ? NULL : channel_value(s->st, c);
    pawl_code rc = PAWL_OK;

    *any = false;
    for (uint32_t i = 0; c != NULL && i < f->ntasks && rc == PAWL_OK; i++)
        rc = custom_task(s, mc, &f->tasks[i], &now, any, err);
    for (uint32_t i = 0; c != NULL && i < last->n && rc == PAWL_OK; i++)
        rc = custom_merged(s, mc, last->of[i], &now, any, err);
    *out = (item_write){ .channel = mc->c.name, .value = now, .op = OP_OVERWRITE };
    return rc;
}

static pawl_code custom_merge(pawl_step *s, frame *f, closing *cl, pawl_err *err)
{
    pending_updates last = {0};
    item_write *w = NULL;
    pawl_code rc = PAWL_OK;
    bool any;

    for (uint32_t i = 0; i < s->m->nchannels && rc == PAWL_OK; i++) {
        const machine_channel *mc = &s->m->channels[i];

        if (mc->c.rule != PAWL_RULE_CUSTOM || strcmp(mc->where, f->where) != 0)
            continue;
        if (w == NULL && (w = arena_get(&s->mem, s->m->nchannels * sizeof *w)) == NULL)
            return PAWL_NOMEM;
        if (f == &s->st->root && last.n == 0 && (rc = pending_order(s->st, &s->mem, &last, err)) != PAWL_OK)
            return rc;
        rc = custom_one(s, f, mc, &last, &w[cl->nmerged], &any, err);
        cl->nmerged += rc == PAWL_OK && any;
    }
    cl->merged = w;
    return rc;
}

/* ---- the three beginnings of a plan ------------------------------------------------------------------------------------ */

static bool has_choice(const plan *p)
{
    for (uint32_t i = 0; p->g->has_routes && i < p->f->ntasks; i++) {
        const gnode *n = node_of_task(p->g, &p->f->tasks[i]);

        if (n != NULL && n->has_routes)
            return true;
    }
    return false;
}

/* Routes read the merged state: folds a close without next tasks, which the caller rolls back. */
static pawl_code merged_begin(plan *p, const char *path, const closing *cl, task **tasks, uint32_t *n)
{
    closing *bare = arena_zero(&p->s->mem, sizeof *bare);
    item *it = step_item(p->s, ITEM_CLOSE);

    *tasks = p->f->tasks;
    *n = p->f->ntasks;
    if (bare == NULL || it == NULL)
        return PAWL_NOMEM;
    bare->drop_all = true;
    bare->merged = cl->merged;
    bare->nmerged = cl->nmerged;
    it->task = path;
    it->closing = bare;
    return item_fold(p->s->st, &p->s->entry, it, p->err);
}

pawl_code plan_next(pawl_step *s, const pawl_graph *g, frame *f, const char *path, closing *cl, bool *holds, pawl_err *err)
{
    bool closed = s->st->t->closed;
    task *tasks = f->tasks;
    uint32_t n = f->ntasks, total = 0;
    undo *before;
    plan p;
    pawl_code rc;

    leaves_begin(s->st, f);
    before = txn_mark(s->st);
    if ((rc = plan_begin(&p, s, g, f, err)) != PAWL_OK || (rc = custom_merge(s, f, cl, err)) != PAWL_OK)
        return rc;
    if (has_choice(&p)) {
        rc = merged_begin(&p, path, cl, &tasks, &n);
        p.joins = f->joins;
    }
    for (uint32_t i = 0; i < n && rc == PAWL_OK; i++)
        rc = leave_eval(&p, &tasks[i], i);
    txn_rollback(s->st, before);
    s->st->t->closed = closed;
    *holds = p.holds || g->holds;
    if (rc == PAWL_OK && !p.halt)
        rc = joins_step(&p);
    if (rc == PAWL_OK)
        rc = sends_drop(&p, &total);
    return rc == PAWL_OK ? plan_end(&p, cl, total) : rc;
}

pawl_code plan_from(pawl_step *s, const pawl_graph *g, frame *f, const gnode *n, closing *cl, pawl_err *err)
{
    plan p;
    pawl_code rc = plan_begin(&p, s, g, f, err);

    if (rc != PAWL_OK)
        return rc;
    p.at = n->index;
    p.done[node_index(g, n->name)] = n->kind != GNODE_START;
    if ((rc = ways_of(&p, n, NULL, 0)) != PAWL_OK || (rc = joins_step(&p)) != PAWL_OK)
        return rc;
    return plan_end(&p, cl, 0);
}

pawl_code plan_start(pawl_step *s, const pawl_graph *g, frame *f, closing *cl, pawl_err *err)
{
    const gnode *start = g->nodes[START_INDEX];

    if (g->plain && start->plain && f->defer == NULL) {
        cl->next = &start->ways->to;
        cl->hints = &start->ways->index;
        cl->nnext = start->ways->index != START_INDEX;
        return PAWL_OK;
    }
    return plan_from(s, g, f, start, cl, err);
}
