/* node_ask.c - the waits of node code: questions to people, and signals, each with a slot.
 *
 * Called by nodes, and by the loop guard on behalf of a node; inside a visit, on the thread that owns the step. */
#include "kernel/visit.h"

#include <string.h>

/* The default slot: the path of the task, from the second wait of a visit on with its number. A slot is unique among the open waits of a run. */
static const char *slot_made(pawl_step *s)
{
    buf *b = step_text(s);

    buf_text(b, s->v->path);
    if (s->v->cursor > 0) {
        buf_char(b, '.');
        buf_uint(b, s->v->cursor);
    }
    return step_copy(s, b, NULL);
}

static bool slot_used(pawl_step *s, const char *slot)
{
    const visit *v = s->v;
    const item *it = v->commands;

    for (uint32_t i = 0; i < v->cursor; i++) {
        call made = { .kind = CALL_ASK };
        const call *c = i < v->task->ncalls ? &v->task->calls[i] : &made;
        const char *used;

        if (i >= v->task->ncalls && it != NULL) {
            made = (call){ .kind = it->kind == ITEM_ASK ? CALL_ASK : CALL_CALL, .spec = it->spec, .spec_size = (uint32_t)it->spec_size };
            it = it->next;
        }
        used = c->kind == CALL_ASK && c->spec != NULL ? pawl_value_string(spec_get(s, c, "slot")) : NULL;
        if (used != NULL && strcmp(used, slot) == 0)
            return true;
    }
    return false;
}

/* The slot that a node chose. With other tasks beside it, or in a subgraph, the path comes first; for a slot that the visit used before, the
 * number comes last. The order in which tasks ask has no influence (G2). */
static const char *slot_chosen(pawl_step *s, const char *chosen)
{
    const bool alone = s->v->frame->parent == NULL && s->v->frame->ntasks == 1;
    const char *slot = alone ? chosen : pawl_format(s, "%s.%s", s->v->path, chosen);

    return slot != NULL && slot_used(s, slot) ? pawl_format(s, "%s.%u", slot, (unsigned)s->v->cursor) : slot;
}

pawl_code pawl_ask_with(pawl_step *s, const pawl_question *q, const pawl_value **answer)
{
    const char *slot, *spec;
    const call *c;
    size_t size = 0;
    pawl_wait_kind kind;
    pawl_code rc;

    if (answer != NULL)
        *answer = NULL;
    if (!in_node(s) || s->v->task == NULL)
        return not_here(s, "ask");
    kind = q->kind != 0 ? q->kind : PAWL_WAIT_QUESTION;
    if (kind == PAWL_WAIT_APPROVAL && q->otherwise != NULL && !is_no(q->otherwise))
        return visit_wrong(s, PAWL_INVALID, "an approval's only default is no");
    slot = q->slot != NULL ? slot_chosen(s, q->slot) : slot_made(s);
    spec = slot == NULL ? NULL : spec_ask(s, q, slot, s->v->now, NULL, NULL, NULL, false, &size);
    rc = visit_command(s, CALL_ASK, s->v->at, kind, spec, size, NULL, &c);
    return command_value(rc, c, answer);
}

pawl_code pawl_ask(pawl_step *s, const pawl_value *prompt, const pawl_value **answer)
{
    const pawl_question q = { .prompt = prompt };

    return pawl_ask_with(s, &q, answer);
}

pawl_code pawl_await_signal(pawl_step *s, const char *name, const pawl_value **value)
{
    const pawl_question q = { .kind = PAWL_WAIT_SIGNAL };
    const char *slot, *spec;
    const call *c;
    size_t size = 0;
    pawl_code rc;

    if (value != NULL)
        *value = NULL;
    if (!in_node(s) || s->v->task == NULL || name == NULL)
        return not_here(s, "await_signal");
    slot = slot_made(s);
    spec = slot == NULL ? NULL : spec_ask(s, &q, slot, s->v->now, name, NULL, NULL, false, &size);
    rc = visit_command(s, CALL_ASK, s->v->at, PAWL_WAIT_SIGNAL, spec, size, NULL, &c);
    return command_value(rc, c, value);
}
