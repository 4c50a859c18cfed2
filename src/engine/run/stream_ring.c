/* hub.c - what an engine tells its readers: lines that were just stored, and live events, kept in a ring until they come. */
#include "stream/stream.h"

#include <string.h>

/* ---- made -------------------------------------------------------------------------------------- */

static hub *hub_new(pawl_engine *e, size_t events, size_t bytes)
{
    hub *h = mem_new(&e->alloc, sizeof *h);

    if (h == NULL)
        return NULL;
    h->e = e;
    h->alloc = e->alloc;
    h->cap = events > 0 ? events : LIVE_EVENTS;
    h->bytes_max = bytes > 0 ? bytes : LIVE_BYTES;
    h->next = h->first = 1;
    if (h->cap > SIZE_MAX / sizeof *h->ring || (h->ring = mem_new(&h->alloc, h->cap * sizeof *h->ring)) == NULL) {
        mem_free(&e->alloc, h, sizeof *h);
        return NULL;
    }
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

/* Under the engine's lock: two readers may come at once. */
static pawl_code hub_begin(pawl_engine *e, size_t events, size_t bytes)
{
    hub *h = hub_here(e);
    pawl_code rc = h != NULL ? PAWL_CONFLICT : PAWL_OK;

    if (h == NULL && (h = hub_new(e, events, bytes)) == NULL)
        rc = PAWL_NOMEM;
    if (rc == PAWL_OK)
        atomic_store(&e->hub, h);
    return rc;
}

hub *hub_of(pawl_engine *e, pawl_err *err)
{
    pthread_mutex_lock(&e->lock);
    if (hub_begin(e, 0, 0) == PAWL_NOMEM)
        fail(err, PAWL_NOMEM, "no memory for the streams of an engine");
    pthread_mutex_unlock(&e->lock);
    return hub_here(e);
}

pawl_code pawl_engine_live(pawl_engine *e, size_t events, size_t bytes, pawl_err *err)
{
    pawl_code rc;

    if (e == NULL)
        return fail(err, PAWL_INVALID, "live events are kept by an engine");
    pthread_mutex_lock(&e->lock);
    rc = hub_begin(e, events, bytes);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "no memory for %zu live events", events);
    return rc == PAWL_OK ? rc : fail(err, rc, "there is a stream already: say before the first how much is kept for them");
}

/* ---- runs -------------------------------------------------------------------------------------------- */

static size_t slot_of(const char *text, size_t size)
{
    uint32_t n = 2166136261u;

    for (size_t i = 0; i < size; i++)
        n = (n ^ (uint8_t)text[i]) * 16777619u;
    return (n ^ n >> 16) % HUB_SLOTS;
}

static hub_run *run_find(hub *h, const char *run, size_t size)
{
    for (hub_run *r = h->runs[slot_of(run, size)]; r != NULL; r = r->next)
        if (strncmp(r->id, run, size) == 0 && r->id[size] == '\0')
            return r;
    return NULL;
}

static hub_run *run_made(hub *h, const char *run, size_t size)
{
    hub_run *r = run_find(h, run, size), **slot;

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

hub_run *hub_run_of(hub *h, const char *run)
{
    return run_made(h, run, strlen(run));
}

void hub_run_let(hub *h, hub_run *r)
{
    hub_run **at;

    if (--r->refs > 0)
        return;
    for (at = &h->runs[slot_of(r->id, strlen(r->id))]; *at != r; at = &(*at)->next)
        continue;
    *at = r->next;
    mem_free(&h->alloc, r, sizeof *r + strlen(r->id) + 1);
}

/* ---- the ring -------------------------------------------------------------------------------------------- */

static void ring_forget(hub *h)
{
    told *t = &h->ring[h->first++ % h->cap];

    t->run->first = t->next;
    h->bytes -= t->size;
    mem_free(&h->alloc, t->block, t->size);
    hub_run_let(h, t->run);
}

/* Takes t->block, or frees it. What finds no room is lost: readers see that by their place, or by the number. */
static void ring_put(hub *h, const told *t)
{
    if (t->block == NULL)
        return;
    if (t->size > h->bytes_max) {
        mem_free(&h->alloc, t->block, t->size);
        return;
    }
    t->run->refs++;
    while (h->next - h->first >= h->cap || h->bytes + t->size > h->bytes_max)
        ring_forget(h);
    if (t->run->first == 0)
        t->run->first = h->next;
    else
        h->ring[t->run->last % h->cap].next = h->next;
    t->run->last = h->next;
    h->ring[h->next++ % h->cap] = *t;
    h->bytes += t->size;
}

static void readers_wake(hub_run *r)
{
    for (pawl_stream *s = r->readers; s != NULL; s = s->next_reader) {
        pthread_cond_signal(&s->woken);
        if (s->wake != NULL)
            s->wake(s->wake_ctx);
    }
}

/* ---- what the driving thread tells ----------------------------------------------------------------------------- */

static void lines_tell(hub *h, hub_run *hr, const live *r, place here)
{
    const char *at = r->lines.data, *end = r->nlines > 0 ? at + r->lines.size : at;

    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        told t = { .run = hr, .at = here, .size = (size_t)(nl - at), .block = mem_grow(&h->alloc, NULL, 0, (size_t)(nl - at)) };

        if (t.block != NULL)
            memcpy(t.block, at, t.size);
        ring_put(h, &t);
        here = *at == '[' ? (place){ here.seq, here.line + 1 } : (place){ here.seq + 1, 0 };
        at = nl + 1;
    }
}

void hub_stored(hub *h, const live *r, uint64_t seq, uint64_t records)
{
    hub_run *hr;

    pthread_mutex_lock(&h->lock);
    if ((hr = run_find(h, r->id, strlen(r->id))) != NULL) {
        if (hr->readers != NULL)
            lines_tell(h, hr, r, (place){ seq + 1, records });
        hr->end = (place){ r->seq + 1, r->records };
        readers_wake(hr);
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- live events ------------------------------------------------------------------------------------------------ */

static char *block_of(hub *h, const char *id, const char *name, const buf *json, size_t *size)
{
    size_t n = strlen(id) + 1, m = strlen(name) + 1;
    char *block = mem_grow(&h->alloc, NULL, 0, *size = n + m + json->size + 1);

    if (block == NULL)
        return NULL;
    memcpy(block, id, n);
    memcpy(block + n, name, m);
    memcpy(block + n + m, json->data, json->size);
    block[n + m + json->size] = '\0';
    return block;
}

static attempt *out_find(const hub *h, const char *id)
{
    for (attempt *a = h->out[slot_of(id, strlen(id))]; a != NULL; a = a->next)
        if (strcmp(a->id, id) == 0)
            return a;
    return NULL;
}

/* An attempt that nobody told of: there was no hub when it began. */
static attempt *out_made(hub *h, hub_run *hr, const char *id)
{
    attempt *a = out_find(h, id), **slot = &h->out[slot_of(id, strlen(id))];

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

static void live_put(hub *h, const errand *er, unsigned kind, const char *name, const buf *json, place end, bool begins)
{
    hub_run *hr;
    attempt *a;
    told t = { .kind = kind };

    t.time_ms = h->e->clock.now_ms != NULL ? er->left_ms : system_ms();   /* a clock that was given may be one thread's */
    pthread_mutex_lock(&h->lock);
    hr = run_made(h, er->job.id, strcspn(er->job.id, "~"));
    if (hr != NULL) {
        if (end.seq > 0)
            hr->end = end;
        a = out_made(h, hr, er->job.id);
        if (a != NULL && begins)
            a->from = h->next;      /* what the one before said is not to be gone on with */
        t.run = hr;
        t.at = hr->end;
        t.live = ++hr->live;
        t.block = block_of(h, er->job.id, name, json, &t.size);
        ring_put(h, &t);
        readers_wake(hr);
        hub_run_let(h, hr);
    }
    pthread_mutex_unlock(&h->lock);
}

void hub_began(hub *h, const live *r, const errand *er)
{
    buf b;

    buf_init(&b, &h->alloc);
    buf_fmt(&b, "{\"attempt\":%u}", (unsigned)er->job.attempt);
    if (!b.failed)
        live_put(h, er, PAWL_STREAM_TASKS, "started", &b, r->nlines == 0 ? (place){ r->seq + 1, r->records } : (place){ 0, 0 }, true);
    buf_free(&b);
}

/* Of any JSON, canonical JSON. */
static pawl_code said(hub *h, const char *text, size_t size, buf *out)
{
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *v;
    arena mem;

    arena_init(&mem, &h->alloc, 1024);
    v = value_parse(&mem, text, size, "what a handler says", &why);
    if (v != NULL)
        canon(out, v);
    arena_free(&mem);
    return v == NULL ? why.code : out->failed ? PAWL_NOMEM : PAWL_OK;
}

void hub_again(hub *h, const errand *er)
{
    buf raw, b;

    buf_init(&raw, &h->alloc);
    buf_init(&b, &h->alloc);
    buf_fmt(&raw, "{\"at\":%lld,\"attempt\":%u,\"error\":", (long long)er->not_before_ms, (unsigned)er->job.attempt);
    reply_failure(&er->reply, er->rc, 0, &raw);
    buf_char(&raw, '}');
    if (!raw.failed && said(h, raw.data, raw.size, &b) == PAWL_OK)
        live_put(h, er, PAWL_STREAM_TASKS, "again", &b, (place){ 0, 0 }, false);
    buf_free(&raw);
    buf_free(&b);
}

static void out_forget(hub *h, attempt **at)
{
    attempt *a = *at;

    *at = a->next;
    hub_run_let(h, a->run);
    mem_free(&h->alloc, a, sizeof *a + strlen(a->id) + 1);
}

/* Its command is: what was said of it is settled. */
void hub_over(hub *h, const errand *er)
{
    attempt **at;

    pthread_mutex_lock(&h->lock);
    for (at = &h->out[slot_of(er->job.id, strlen(er->job.id))]; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->id, er->job.id) == 0) {
            out_forget(h, at);
            break;
        }
    pthread_mutex_unlock(&h->lock);
}

/* On any thread. */
pawl_code hub_say(hub *h, const errand *er, const char *name, const char *text)
{
    size_t size = text != NULL ? strlen(text) : 0;
    pawl_code rc = name_valid(name) && text != NULL ? PAWL_OK : PAWL_INVALID;
    buf b;

    if (rc != PAWL_OK || h == NULL)
        return rc;
    buf_init(&b, &h->alloc);
    rc = size > h->bytes_max ? PAWL_LIMIT : said(h, text, size, &b);
    if (rc == PAWL_OK)
        live_put(h, er, strcmp(name, "message") == 0 ? PAWL_STREAM_MESSAGES : PAWL_STREAM_CUSTOM, name, &b, (place){ 0, 0 }, false);
    buf_free(&b);
    return rc;
}

bool hub_is_out(const hub *h, const hub_run *r, const char *id, uint64_t number)
{
    const attempt *a = out_find(h, id);

    return a != NULL && a->run == r && number >= a->from;
}

void hub_end(pawl_engine *e)
{
    hub *h = hub_here(e);

    if (h == NULL)
        return;
    while (h->first < h->next)
        ring_forget(h);
    for (size_t i = 0; i < HUB_SLOTS; i++)
        while (h->out[i] != NULL)
            out_forget(h, &h->out[i]);
    mem_free(&h->alloc, h->ring, h->cap * sizeof *h->ring);
    pthread_mutex_destroy(&h->lock);
    atomic_store(&e->hub, NULL);
    mem_free(&e->alloc, h, sizeof *h);
}
