/* step_items.c - items that several events lead to: drops of open calls, puts of channels with a user's function.
 *
 * Above the fold, below events.c and the step loop, which call it. Each item is folded when it is added. */
#include "kernel/channel.h"
#include "kernel/machine.h"
#include "kernel/spec.h"

#include <string.h>

void step_cut(pawl_step *s, item *last, uint32_t count)
{
    s->entry.last = last;
    s->entry.count = count;
    if (last == NULL)
        s->entry.items = NULL;
    else
        last->next = NULL;
}

/* ---- what is open is given up ------------------------------------------------------------------- */

typedef struct waits_open { pawl_step *s; item *first, *last; const char *tag; bool commands, failed; } waits_open;

static bool is_tagged(pawl_step *s, const call *c, const char *tag)
{
    const char *own = pawl_value_string(spec_get(s, c, "tag"));

    return own != NULL && strcmp(own, tag) == 0;
}

static bool see_open(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    waits_open *w = ctx;
    item *it;

    (void)f;
    if (w->tag != NULL ? !is_tagged(w->s, c, w->tag) : !call_asks(c) && !w->commands)
        return true;
    it = step_item(w->s, ITEM_DROP);
    if (it == NULL || (it->task = arena_strdup(&w->s->mem, path, strlen(path))) == NULL)
        return !(w->failed = true);
    it->superstep = c->superstep;
    it->visit = tk != NULL ? tk->visit : c->visit;
    it->n = n;
    if (w->last == NULL)
        w->first = it;
    else
        w->last->next = it;
    w->last = it;
    return true;
}

static pawl_code open_drop(waits_open *w, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    state_each_call(w->s->st, see_open, w);
    for (item *it = w->first, *next; it != NULL && rc == PAWL_OK; it = next) {
        next = it->next;
        it->next = NULL;
        rc = step_add(w->s, it, err);
    }
    return w->failed || w->s->mem.failed ? PAWL_NOMEM : rc;
}

pawl_code step_drop(pawl_step *s, bool commands, pawl_err *err)
{
    return open_drop(&(waits_open){ .s = s, .commands = commands }, err);
}

pawl_code step_drop_tagged(pawl_step *s, const char *tag, pawl_err *err)
{
    return open_drop(&(waits_open){ .s = s, .tag = tag }, err);
}

/* ---- channels with a user's function ------------------------------------------------------------ */

pawl_code step_custom(pawl_step *s, const char *path, const pawl_value *object, pawl_err *err)
{
    const frame *f = pawl_value_size(object) > 0 ? frame_above(s->st, path) : NULL;
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;
    item *put = NULL;
    item_write *w;
    uint32_t n = 0;

    if (f == NULL)
        return PAWL_OK;
    w = arena_get(&s->mem, pawl_value_size(object) * sizeof *w);
    while (w != NULL && (v = pawl_iter_next(&it, &key)) != NULL) {
        const machine_channel *mc = machine_channel_find(s->m, f->where, pawl_value_string(key));
        channel *c = mc == NULL ? NULL : channel_find(f, mc->c.name);
        const pawl_value *old;

        if (c == NULL || mc->c.rule != PAWL_RULE_CUSTOM)
            continue;
        if ((old = channel_value(s->st, c)) != NULL && (v = mc->c.merge(s, old, v, mc->c.merge_arg)) == NULL)
            return fail(err, PAWL_INVALID, "channel \"%s\": its function refuses the update", mc->c.name);
        w[n++] = (item_write){ .channel = mc->c.name, .value = v, .op = OP_OVERWRITE };
    }
    if (n == 0)
        return w == NULL ? PAWL_NOMEM : PAWL_OK;
    if ((put = step_item(s, ITEM_PUT)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    put->writes = w;
    put->nwrites = n;
    put->task = strchr(path, '/') != NULL ? path : "";
    return step_add(s, put, err);
}
