/* output.c - the output of a handler while it works: kept for an interrupt when the run has one (A4), and given to the stream readers of the engine.
 *
 * Two functions of a job, on the thread of its handler. Invariants: a typed delta is neither parsed nor written as JSON here; output in JSON is parsed
 * once. Locks: e->said_lock, then that of the ring, one after the other. */
#include "effect/effect.h"
#include "engine/command/attempt.h"
#include "engine/run/stream_ring.h"
#include "kernel/names.h"

#include <string.h>

/* Converts the output to canonical JSON for readers. Without readers and without an interrupt, only the name is checked. */
pawl_code job_say(const pawl_job *job, const char *name, const char *text)
{
    outbox_entry *entry = job->ctx;
    stream_ring *h = ring_here(entry->e);
    const bool kept = entry->keeps_output && name != NULL && text != NULL && strcmp(name, "message") == 0 && strstr(text, "text_delta") != NULL;
    const size_t size = text != NULL ? strlen(text) : 0;
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *v;
    pawl_delta said;
    arena mem;
    buf b;

    entry->attempt.beats++;
    if (!name_valid(name) || text == NULL)
        return PAWL_INVALID;
    if (h == NULL && !kept)
        return PAWL_OK;
    arena_init(&mem, &entry->e->alloc, 1024);
    buf_init(&b, &entry->e->alloc);
    if ((v = value_parse(&mem, text, size, "what a handler says", &why)) != NULL && kept && delta_of_value(v, &said) && said.kind == PAWL_DELTA_TEXT)
        partial_add(entry, said.bytes, said.size);
    if (v != NULL && h != NULL && size > h->bytes_max) {
        why.code = PAWL_LIMIT;
    } else if (v != NULL && h != NULL) {
        canon(&b, v);
        why.code = b.failed ? PAWL_NOMEM : ring_publish(h, entry, &(pawl_delta){ .bytes = b.data, .size = b.size, .name = name });
    }
    buf_free(&b);
    arena_free(&mem);
    return why.code;
}

pawl_code job_delta(const pawl_job *job, const pawl_delta *delta)
{
    outbox_entry *entry;
    stream_ring *h;

    if (job->say != job_say)
        return PAWL_PENDING;    /* called with a copy of the job, whose `ctx` may belong to another attempt */
    if (!delta_valid(delta))
        return PAWL_INVALID;
    entry = job->ctx;
    h = ring_here(entry->e);
    entry->attempt.beats++;
    if (entry->keeps_output && delta->kind == PAWL_DELTA_TEXT)
        partial_add(entry, delta->bytes, delta->size);
    return h == NULL ? PAWL_OK : ring_publish(h, entry, delta);
}
