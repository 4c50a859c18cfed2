/* stream_ring.c - writes the ring: newly stored lines and live events, for the stream readers of the engine. See stream_ring.h.
 *
 * Called by the driving thread (ring_stored, ring_attempt_*, ring_command_over) and by handlers on any thread (ring_publish). Each takes the ring's lock
 * and wakes the readers of the run under it. Invariants:
 *   R1  no line is lost for a reader: lines that do not fit the ring are in the store.
 *   R2  a live event that does not fit is counted, so every gap in the numbers of a run's live events is such an event.
 *   R3  the record of a run or of an attempt is freed when its last reference goes. */
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"

#include <string.h>

/* ---- made -------------------------------------------------------------------------------------- */

static stream_ring *ring_new(pawl_engine *e, size_t events, size_t bytes)
{
    stream_ring *h = mem_new(&e->alloc, sizeof *h);

    if (h == NULL)
        return NULL;
    h->e = e;
    h->alloc = e->alloc;
    h->cap = events > 0 ? events : RING_EVENTS;
    h->bytes_max = bytes > 0 ? bytes : RING_BYTES;
    h->next = h->first = 1;
    if (h->cap > SIZE_MAX / sizeof *h->ring || (h->ring = mem_new(&h->alloc, h->cap * sizeof *h->ring)) == NULL) {
        mem_free(&e->alloc, h, sizeof *h);
        return NULL;
    }
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

/* Takes the engine's lock, since two readers may open at the same time. */
pawl_code ring_begin(pawl_engine *e, size_t events, size_t bytes)
{
    stream_ring *h;
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    h = ring_here(e);
    rc = h != NULL ? PAWL_CONFLICT : PAWL_OK;
    if (h == NULL && (h = ring_new(e, events, bytes)) == NULL)
        rc = PAWL_NOMEM;
    if (rc == PAWL_OK)
        atomic_store(&e->ring, h);
    pthread_mutex_unlock(&e->lock);
    return rc;
}

stream_ring *ring_of(pawl_engine *e, pawl_err *err)
{
    if (ring_begin(e, 0, 0) == PAWL_NOMEM)
        fail(err, PAWL_NOMEM, "no memory for the streams of an engine");
    return ring_here(e);
}

/* ---- runs -------------------------------------------------------------------------------------------- */

static size_t slot_of(const char *text, size_t size)
{
    uint32_t n = 2166136261u;

    for (size_t i = 0; i < size; i++)
        n = (n ^ (uint8_t)text[i]) * 16777619u;
    return (n ^ n >> 16) % RING_SLOTS;
}

static ring_run *ring_run_find(stream_ring *h, const char *run, size_t size)
{
    for (ring_run *r = h->runs[slot_of(run, size)]; r != NULL; r = r->next)
        if (strncmp(r->id, run, size) == 0 && r->id[size] == '\0')
            return r;
    return NULL;
}

static ring_run *ring_run_made(stream_ring *h, const char *run, size_t size)
{
    ring_run *r = ring_run_find(h, run, size), **slot;

    if (r == NULL && (r = mem_new(&h->alloc, sizeof *r + size + 1)) != NULL) {
        memcpy(r->id, run, size);
        slot = &h->runs[slot_of(run, size)];
        r->next = *slot;
        *slot = r;
    }
    if (r != NULL)
        r->refs++;
    return r;
}

ring_run *ring_run_of(stream_ring *h, const char *run)
{
    return ring_run_made(h, run, strlen(run));
}

void ring_run_release(stream_ring *h, ring_run *r)
{
    ring_run **at;

    if (--r->refs > 0)
        return;
    for (at = &h->runs[slot_of(r->id, strlen(r->id))]; *at != r; at = &(*at)->next)
        continue;
    *at = r->next;
    mem_free(&h->alloc, r, sizeof *r + strlen(r->id) + 1);
}

/* ---- the ring -------------------------------------------------------------------------------------------- */

static void entry_drop_oldest(stream_ring *h)
{
    ring_entry *t = &h->ring[h->first++ % h->cap];

    t->run->first = t->next;
    h->bytes -= t->size;
    mem_free(&h->alloc, t->block, t->size);
    ring_run_release(h, t->run);
}

/* Takes over t->block. Drops an entry that is larger than the ring; readers notice by their place or by the number (R1, R2). */
static void ring_put(stream_ring *h, const ring_entry *t)
{
    if (t->block == NULL)
        return;
    if (t->size > h->bytes_max) {
        mem_free(&h->alloc, t->block, t->size);
        return;
    }
    t->run->refs++;
    while (h->next - h->first >= h->cap || h->bytes + t->size > h->bytes_max)
        entry_drop_oldest(h);
    if (t->run->first == 0)
        t->run->first = h->next;
    else
        h->ring[t->run->last % h->cap].next = h->next;
    t->run->last = h->next;
    h->ring[h->next++ % h->cap] = *t;
    h->bytes += t->size;
}

static void readers_wake(ring_run *r)
{
    for (ring_reader *s = r->readers; s != NULL; s = s->next) {
        pthread_cond_signal(&s->woken);
        if (s->wake != NULL)
            s->wake(s->wake_ctx);
    }
}

void ring_check(stream_ring *h, bool changed)
{
    const int64_t now = steady_of(h->e);

    h->look_due = h->look_due || changed;
    if (!h->look_due || now - h->looked_ms < RING_LOOK_MS)
        return;
    h->look_due = false;
    h->looked_ms = now;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < RING_SLOTS; i++)
        for (ring_run *r = h->runs[i]; r != NULL; r = r->next)
            for (ring_reader *s = r->readers; s != NULL; s = s->next)
                if (s->wake != NULL)
                    s->wake(s->wake_ctx);
    pthread_mutex_unlock(&h->lock);
}

/* ---- lines that were stored ----------------------------------------------------------------------------- */

static void lines_put(stream_ring *h, ring_run *hr, const cached_run *r, place here)
{
    const char *at = r->lines.data, *end = r->nlines > 0 ? at + r->lines.size : at;

    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        ring_entry t = { .run = hr, .kind = RING_LINE, .at = here, .size = (size_t)(nl - at), .block = mem_grow(&h->alloc, NULL, 0, (size_t)(nl - at)) };

        if (t.block != NULL)
            memcpy(t.block, at, t.size);
        ring_put(h, &t);
        here = *at == '[' ? (place){ here.seq, here.line + 1 } : (place){ here.seq + 1, 0 };
        at = nl + 1;
    }
}

void ring_stored(stream_ring *h, const cached_run *r, uint64_t seq, uint64_t records)
{
    ring_run *hr;

    pthread_mutex_lock(&h->lock);
    if ((hr = ring_run_find(h, r->id, strlen(r->id))) != NULL) {
        if (hr->readers != NULL)
            lines_put(h, hr, r, (place){ seq + 1, records });
        hr->end = (place){ r->seq + 1, r->records };
        readers_wake(hr);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- live events ------------------------------------------------------------------------------------------------ */

/* Builds the block of a live event: four texts, each with its NUL (see ring_entry). */
static char *block_of(stream_ring *h, const char *id, const pawl_delta *d, size_t *size)
{
    const char *const texts[] = { id, d->name != NULL ? d->name : "", d->id != NULL ? d->id : "" };
    const size_t sizes[] = { strlen(texts[0]) + 1, strlen(texts[1]) + 1, strlen(texts[2]) + 1 };
    char *block = mem_grow(&h->alloc, NULL, 0, *size = sizes[0] + sizes[1] + sizes[2] + d->size + 1), *at = block;

    if (block == NULL)
        return NULL;
    for (size_t i = 0; i < 3; at += sizes[i++])
        memcpy(at, texts[i], sizes[i]);
    if (d->size > 0)
        memcpy(at, d->bytes, d->size);
    at[d->size] = '\0';
    return block;
}

void ring_delta(const ring_entry *t, const char *block, pawl_delta *out)
{
    const char *name = block + strlen(block) + 1, *id = name + strlen(name) + 1, *bytes = id + strlen(id) + 1;

    *out = (pawl_delta){ .kind = t->delta, .bytes = bytes, .size = t->size - 1 - (size_t)(bytes - block), .number = t->number,
                         .id = *id != '\0' ? id : NULL, .name = name };
}

static ring_attempt *attempt_find(const stream_ring *h, const char *id)
{
    for (ring_attempt *a = h->attempts[slot_of(id, strlen(id))]; a != NULL; a = a->next)
        if (strcmp(a->id, id) == 0)
            return a;
    return NULL;
}

/* The record of an attempt, made also when the attempt started before the ring. */
static ring_attempt *attempt_of(stream_ring *h, ring_run *hr, const char *id)
{
    ring_attempt *a = attempt_find(h, id), **slot = &h->attempts[slot_of(id, strlen(id))];

    if (a != NULL || (a = mem_new(&h->alloc, sizeof *a + strlen(id) + 1)) == NULL)
        return a;
    memcpy(a->id, id, strlen(id) + 1);
    a->run = hr;
    a->from = h->next;
    a->next = *slot;
    *slot = a;
    hr->refs++;
    return a;
}

typedef struct live_event {
    const outbox_entry *entry;
    ring_kind kind;
    const pawl_delta *said;
    place end;                  /* the end of the stored lines, when the caller knows it */
    bool starts;                /* an attempt starts: later readers do not get the output of the attempt before it */
} live_event;

static void live_put(stream_ring *h, const live_event *ev)
{
    const char *id = entry_id(ev->entry);
    ring_run *hr;
    ring_attempt *a;
    ring_entry t = { .kind = ev->kind, .delta = ev->said->kind, .number = ev->said->number };

    t.time_ms = h->e->clock.now_ms != NULL ? entry_dispatched_ms(ev->entry) : system_ms();   /* the host's clock may be usable on the driving thread only */
    pthread_mutex_lock(&h->lock);
    hr = ring_run_made(h, id, strcspn(id, "~"));
    if (hr != NULL) {
        if (ev->end.seq > 0)
            hr->end = ev->end;
        a = attempt_of(h, hr, id);
        if (a != NULL && ev->starts)
            a->from = h->next;
        t.run = hr;
        t.at = hr->end;
        t.live = ++hr->live;
        t.block = block_of(h, id, ev->said, &t.size);
        ring_put(h, &t);
        readers_wake(hr);
        ring_run_release(h, hr);
    }
    pthread_mutex_unlock(&h->lock);
}

void ring_attempt_started(stream_ring *h, const cached_run *r, const outbox_entry *entry)
{
    buf b;

    buf_init(&b, &h->alloc);
    buf_fmt(&b, "{\"attempt\":%u}", (unsigned)entry_attempt_number(entry));
    if (!b.failed)
        live_put(h, &(live_event){ .entry = entry, .kind = RING_STARTED, .starts = true,
                                   .said = &(pawl_delta){ .bytes = b.data, .size = b.size, .name = "started" },
                                   .end = r->nlines == 0 ? (place){ r->seq + 1, r->records } : (place){ 0, 0 } });
    buf_free(&b);
}

void ring_attempt_failed(stream_ring *h, const outbox_entry *entry)
{
    buf raw, b;
    arena mem;

    arena_init(&mem, &h->alloc, 1024);
    buf_init(&raw, &h->alloc);
    buf_init(&b, &h->alloc);
    entry_failure_json(entry, &raw);
    if (!raw.failed)
        canon(&b, value_parse(&mem, raw.data, raw.size, "a failure", NULL));
    if (!b.failed && b.size > 0)
        live_put(h, &(live_event){ .entry = entry, .kind = RING_RETRY, .said = &(pawl_delta){ .bytes = b.data, .size = b.size, .name = "again" } });
    buf_free(&raw);
    buf_free(&b);
    arena_free(&mem);
}

static void attempt_free(stream_ring *h, ring_attempt **at)
{
    ring_attempt *a = *at;

    *at = a->next;
    ring_run_release(h, a->run);
    mem_free(&h->alloc, a, sizeof *a + strlen(a->id) + 1);
}

void ring_command_over(stream_ring *h, const outbox_entry *entry)
{
    const char *id = entry_id(entry);
    ring_attempt **at;

    pthread_mutex_lock(&h->lock);
    for (at = &h->attempts[slot_of(id, strlen(id))]; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->id, id) == 0) {
            attempt_free(h, at);
            break;
        }
    pthread_mutex_unlock(&h->lock);
}

pawl_code ring_publish(stream_ring *h, const outbox_entry *entry, const pawl_delta *said)
{
    if (said->size > h->bytes_max)
        return PAWL_LIMIT;
    live_put(h, &(live_event){ .entry = entry, .kind = RING_SAID, .said = said });
    return PAWL_OK;
}

bool ring_is_running(const stream_ring *h, const ring_run *r, const char *id, uint64_t number)
{
    const ring_attempt *a = attempt_find(h, id);

    return a != NULL && a->run == r && number >= a->from;
}

void ring_end(pawl_engine *e)
{
    stream_ring *h = ring_here(e);

    if (h == NULL)
        return;
    while (h->first < h->next)
        entry_drop_oldest(h);
    for (size_t i = 0; i < RING_SLOTS; i++)
        while (h->attempts[i] != NULL)
            attempt_free(h, &h->attempts[i]);
    mem_free(&h->alloc, h->ring, h->cap * sizeof *h->ring);
    pthread_mutex_destroy(&h->lock);
    atomic_store(&e->ring, NULL);
    mem_free(&e->alloc, h, sizeof *h);
}
