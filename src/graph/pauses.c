/* pauses.c - waits between two supersteps: interrupts after a node, and nodes that leave with a question (G5).
 *
 * Called when a superstep closes, inside the step's transaction. The node is done and its writes are merged; the next tasks are made and start
 * when every such wait is answered. */
#include "graph/graph.h"
#include "kernel/fold.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/names.h"
#include "kernel/spec.h"
#include "kernel/step.h"

#include <string.h>

static pawl_code hold_new(pawl_step *s, const task *tk, const char *path, uint64_t superstep, unsigned wait, const char *spec, size_t size,
                          held ***last)
{
    held *h = arena_zero(&s->mem, sizeof *h);
    item *it = step_item(s, ITEM_ASK);

    if (h == NULL || it == NULL || spec == NULL)
        return PAWL_NOMEM;
    it->task = path;
    it->hold = true;
    it->wait = (uint8_t)wait;
    it->superstep = superstep;
    it->visit = tk->visit;
    it->n = tk->ncalls;
    it->spec = spec;
    it->spec_size = size;
    h->it = it;
    h->next = NULL;
    **last = h;
    *last = &h->next;
    return PAWL_OK;
}

static pawl_code hold_of(pawl_step *s, const gnode *n, task *tk, const char *path, uint64_t superstep, held ***last, pawl_err *err)
{
    const leave *l = task_leave(s->st, tk, err);
    pawl_question q = { .kind = PAWL_WAIT_QUESTION };
    const char *spec, *prompt;
    size_t size = 0;
    int kind;
    buf *b;

    if (l == NULL)
        return s->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (l->hold != NULL) {
        b = step_text(s);
        canon(b, l->hold);
        spec = step_copy(s, b, &size);
        kind = name_index(wait_names, 5, pawl_value_string(pawl_value_get(l->hold, "kind")));
        return hold_new(s, tk, path, superstep, kind > 0 ? (unsigned)kind : PAWL_WAIT_QUESTION, spec, size, last);
    }
    if (!n->after || l->halt)
        return PAWL_OK;
    if ((prompt = pawl_format(s, "after %s", n->name)) == NULL)
        return PAWL_NOMEM;
    q.prompt = value_string(&s->mem, prompt, strlen(prompt));
    spec = spec_ask(s, &q, path, s->now, NULL, NULL, NULL, true, &size);
    return hold_new(s, tk, path, superstep, PAWL_WAIT_QUESTION, spec, size, last);
}

const char *path_join(pawl_step *s, const char *prefix, const char *name)
{
    buf *b;

    if (*prefix == '\0' || name == NULL)
        return name;
    b = step_text(s);
    buf_text(b, prefix);
    buf_text(b, name);
    return b->size > PATH_BYTES_MAX ? NULL : step_copy(s, b, NULL);
}

const char *path_below(pawl_step *s, const char *path, const task *tk)
{
    buf *b = step_text(s);

    buf_text(b, path);
    buf_char(b, '/');
    buf_uint(b, tk->visit);
    buf_char(b, '/');
    buf_uint(b, tk->child->superstep);
    buf_char(b, '/');
    return step_copy(s, b, NULL);
}

pawl_code holds_find(pawl_step *s, const pawl_graph *g, frame *f, const char *prefix, uint64_t superstep, held **out, pawl_err *err)
{
    held **last = out;
    pawl_code rc = PAWL_OK;

    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK; i++) {
        task *tk = &f->tasks[i];
        const gnode *n;
        const char *path;

        if (!g->holds && tk->leave != NULL && tk->leave->hold == NULL)
            continue;
        n = node_of_task(g, tk);
        if (n == NULL || (!n->after && n->kind == GNODE_WORK))
            continue;
        if (!n->after && tk->leave != NULL && tk->leave->hold == NULL)
            continue;
        if ((path = path_join(s, prefix, arena_strdup(&s->mem, tk->name, strlen(tk->name)))) == NULL)
            return PAWL_NOMEM;
        rc = hold_of(s, n, tk, path, superstep, &last, err);
    }
    for (uint32_t i = 0; i < f->ntasks && rc == PAWL_OK && *out != NULL; i++) {
        const leave *l = task_leave(s->st, &f->tasks[i], err);

        if (l == NULL)
            return s->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
        if (l->halt)
            *out = NULL;        /* after a halt no task follows, so asking makes no sense */
    }
    for (held *h = *out; h != NULL; h = h->next)
        h->it->at = f->parent != NULL ? frame_time(f) : s->now;
    return rc;
}

pawl_code holds_add(pawl_step *s, held *h, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (; h != NULL && rc == PAWL_OK; h = h->next)
        rc = step_add(s, h->it, err);
    return rc;
}
