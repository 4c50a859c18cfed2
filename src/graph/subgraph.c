/* subgraph.c - a graph as a node (G6): its own channels and tasks, entered and left like any node. Called by node_phases.c and frame_run.c inside the
 * step's transaction. */
#include "graph/graph.h"
#include "kernel/channel.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/machine.h"
#include "kernel/node_api.h"
#include "kernel/step.h"
#include "kernel/txn.h"
#include "kernel/visit.h"

#include <string.h>

static const char *inner_channel(const pawl_graph *g, const char *name)
{
    const machine_channel *mc = graph_channel(g, name);

    return mc != NULL && mc->c.secret == NULL ? mc->c.name : NULL;
}

/* The first values of the subgraph's channels: the mapped outer channels, overwritten by the members of the object that was sent to the node. */
static item_write *inputs(pawl_step *s, const gnode *n, frame *outer, uint32_t *count)
{
    const pawl_value *args = pawl_value_type(s->v->args) == PAWL_TYPE_OBJECT ? s->v->args : NULL, *key, *arg;
    pawl_iter it = pawl_iter_of(args);
    size_t most = pawl_value_size(args);
    item_write *w;

    for (const map *m = n->maps; m != NULL; m = m->next)
        most++;
    w = arena_zero(&s->mem, (most + 1) * sizeof *w);
    for (const map *m = n->maps; w != NULL && m != NULL; m = m->next) {
        channel *c = m->in ? channel_find(outer, m->outer) : NULL;
        const pawl_value *v = c == NULL ? NULL : channel_value(s->st, c);

        if (v == NULL)
            continue;
        w[*count].channel = m->inner;
        w[*count].op = OP_OVERWRITE;
        w[*count].from = worth_naming(v) ? m->outer : NULL;     /* K7: the journal has the value already */
        w[(*count)++].value = value_copy(&s->mem, v);
    }
    while (w != NULL && (arg = pawl_iter_next(&it, &key)) != NULL) {
        if ((w[*count].channel = inner_channel(n->sub, pawl_value_string(key))) == NULL)
            visit_wrong(s, PAWL_INVALID, "it was sent \"%.64s\", which is no channel inside", pawl_value_string(key));
        w[*count].op = OP_OVERWRITE;
        w[(*count)++].value = value_copy(&s->mem, arg);
    }
    return w;
}

/* See graph.h. */
pawl_code sub_fails(pawl_step *s, task *tk, const char *path, const pawl_err *why, pawl_err *err)
{
    item *it = step_item(s, ITEM_FAIL);

    if (it == NULL)
        return PAWL_NOMEM;
    it->task = path;
    it->visit = tk->visit;
    it->spec = reason_code(s, why->code, why->text, NULL, &it->spec_size);
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

pawl_code sub_enter(pawl_step *s, const gnode *n, task *tk, const char *path, pawl_err *err)
{
    frame *outer = s->v->frame;
    item *it = step_item(s, ITEM_FRAME), *close = step_item(s, ITEM_CLOSE);
    closing *cl = arena_zero(&s->mem, sizeof *cl);
    undo *before;
    pawl_err why = {0};
    pawl_code rc;

    PAWL_ASSERT(tk->child == NULL, "G6: a visit enters its subgraph once");
    if (it == NULL || close == NULL || cl == NULL)
        return PAWL_NOMEM;
    it->task = path;
    it->visit = tk->visit;
    if ((it->writes = inputs(s, n, outer, &it->nwrites)) == NULL || s->mem.failed)
        return PAWL_NOMEM;
    if ((rc = visit_time_item(s, s->v, err)) != PAWL_OK)
        return rc;
    before = txn_mark(s->st);
    rc = s->v->err.code != PAWL_OK ? fail(&why, s->v->err.code, "%s", s->v->err.text) : step_add(s, it, &why);
    if (sub_fault(rc)) {         /* a first value breaks a channel's rule */
        txn_rollback(s->st, before);
        return sub_fails(s, tk, path, &why, err);
    }
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    rc = plan_start(s, n->sub, tk->child, cl, &why);
    if (sub_fault(rc))
        return sub_fails(s, tk, path, &why, err);
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    close->task = path;
    close->closing = cl;
    return step_add(s, close, err);
}

/* ---- leaving ------------------------------------------------------------------------------------------------------ */

/* The elements that were appended to a list since the subgraph was entered. */
static const pawl_value *tail_of(pawl_step *s, const pawl_value *now, const pawl_value *before)
{
    size_t skip = pawl_value_size(before), n = pawl_value_size(now), used = 1;
    yyjson_val *out = arena_get(&s->mem, value_nodes(now) * sizeof *out);
    pawl_iter it = pawl_iter_of(now);
    const pawl_value *v;

    if (out == NULL)
        return NULL;
    for (size_t i = 0; (v = pawl_iter_next(&it, NULL)) != NULL; i++) {
        if (i < skip)
            continue;
        memcpy(out + used, val_of(v), value_nodes(v) * sizeof *out);
        used += value_nodes(v);
    }
    out[0].tag = (uint64_t)(n > skip ? n - skip : 0) << YYJSON_TAG_BIT | YYJSON_TYPE_ARR;
    out[0].uni.ofs = used * sizeof *out;
    return of_val(out);
}

static void output(pawl_step *s, const map *m, frame *inner)
{
    channel *to = channel_find(s->v->frame, m->outer), *from = channel_find(inner, m->inner);
    const pawl_value *v = from == NULL ? NULL : channel_value(s->st, from), *before;

    if (to == NULL || v == NULL)
        return;
    v = value_copy(&s->mem, v);     /* copied, since a rollback of this step would free a channel that the step made */
    before = m->in ? channel_value(s->st, to) : NULL;
    if (rule_is_list(to->d->rule) && pawl_value_type(v) == PAWL_TYPE_ARRAY) {
        v = before != NULL ? tail_of(s, v, before) : v;
        if (pawl_value_size(v) > 0)
            pawl_extend(s, m->outer, v);
        return;
    }
    if (before != NULL && to->d->rule == PAWL_RULE_SUM && pawl_value_type(v) == PAWL_TYPE_INT && pawl_value_type(before) == PAWL_TYPE_INT) {
        int64_t added;

        if (__builtin_sub_overflow(pawl_value_int(v), pawl_value_int(before), &added))
            visit_wrong(s, PAWL_LIMIT, "what \"%s\" added leaves the range of int64", m->inner);
        else
            pawl_set_int(s, m->outer, added);
        return;
    }
    if (before != NULL && to->d->rule == PAWL_RULE_SUM) {
        pawl_set_real(s, m->outer, pawl_value_real(v) - pawl_value_real(before));
        return;
    }
    pawl_set(s, m->outer, v);
}

void sub_outputs(pawl_step *s, const gnode *n, frame *inner)
{
    for (const map *m = n->maps; m != NULL && inner != NULL; m = m->next)
        if (m->out)
            output(s, m, inner);
}
