/* partial_output.c - collects the text that handlers have output so far, for the signal that interrupts a run (A4): the entry of the interrupt stores
 * the text that stream readers have seen.
 *
 * partial_add() is called on the handler's thread, the rest on the driving thread; the text is under e->said_lock. */
#include "engine/command/entry.h"
#include "kernel/machine.h"

enum { SAID_BYTES_MAX = 4 << 20 };      /* bytes of text that are kept of one attempt; later text is dropped */

/* Called often, on the handler's thread, so it only appends; an interrupt reads the text. */
void partial_add(outbox_entry *entry, const char *text, size_t size)
{
    pthread_mutex_lock(&entry->e->said_lock);
    if (entry->output.size + size <= SAID_BYTES_MAX)
        buf_put(&entry->output, text, size);
    pthread_mutex_unlock(&entry->e->said_lock);
}

/* A new attempt outputs its text from the start. */
void partial_begin(outbox_entry *entry)
{
    if (!entry->keeps_output)
        return;
    pthread_mutex_lock(&entry->e->said_lock);
    buf_reset(&entry->output);
    pthread_mutex_unlock(&entry->e->said_lock);
}

bool partial_wanted(const cached_run *r, const pawl_event *ev)
{
    return ev->kind == PAWL_EV_SIGNAL && r->m->interrupt != NULL && ev->name != NULL && strcmp(ev->name, r->m->interrupt) == 0;
}

static const pawl_value *partial_object(cached_run *r, arena *mem)
{
    static const entry_state states[] = { ENTRY_RUNNING, ENTRY_DONE, ENTRY_FED };
    const pawl_value *out = value_pack(mem, NULL, "{}");

    pthread_mutex_lock(&r->e->said_lock);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        OUTBOX_EACH(r, entry, next, states[i])
            if (entry->output.size > 0 && !entry->output.failed)
                out = value_with(mem, out, entry->job.id, value_string(mem, entry->output.data, entry->output.size));
    pthread_mutex_unlock(&r->e->said_lock);
    return out;
}

pawl_code partial_event_value(cached_run *r, const pawl_event *ev, buf *out, pawl_err *err)
{
    const size_t size = ev->value_size > 0 || ev->value == NULL ? ev->value_size : strlen(ev->value);
    const pawl_value *v = NULL, *said;
    pawl_code rc = PAWL_OK;
    arena mem;

    arena_init(&mem, &r->e->alloc, 1024);
    said = partial_object(r, &mem);
    if (ev->value != NULL && (v = value_parse(&mem, ev->value, size, "the event's value", err)) == NULL)
        rc = mem.failed ? PAWL_NOMEM : PAWL_INVALID;
    if (rc == PAWL_OK && pawl_value_size(said) > 0 && (v == NULL || pawl_value_type(v) == PAWL_TYPE_NULL || pawl_value_type(v) == PAWL_TYPE_OBJECT))
        v = value_with(&mem, v != NULL && pawl_value_type(v) == PAWL_TYPE_OBJECT ? v : value_pack(&mem, NULL, "{}"), "said", said);
    if (rc == PAWL_OK && v != NULL)
        canon(out, v);
    if (rc == PAWL_OK && (mem.failed || out->failed))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for what was said", r->id);
    arena_free(&mem);
    return rc;
}
