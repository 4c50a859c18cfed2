/* reader.c - a stream of one run: knows its position in the journal, and takes the next line from the ring of its engine or from the store.
 *
 * Owns pawl_stream. Called by readers (host, cli, items_reader.c), on the reader's own thread; pawl_stream_stop() on any. The ring's lock protects the
 * reader's link in it, the engine's lock a store that is not lent; neither is taken under the other. Invariant: everything before w.at was returned or
 * skipped, so no durable event comes twice. */
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "stream/items_paged.h"
#include "stream/stream.h"
#include "effect/effect.h"

#include <string.h>

enum { READ_ENTRIES = ITEMS_PAGE, READ_BYTES = 1 << 18, POLL_LEAST_MS = 2, POLL_MOST_MS = 64 };   /* the poll interval doubles while nothing new comes */

/* ---- lines from the store ------------------------------------------------------------------------- */

typedef struct line_gather { pawl_stream *r; uint64_t line; bool stopped; } line_gather;

/* Skips lines that were read before. */
static bool gather(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    line_gather *g = ctx;
    pawl_stream *r = g->r;

    if (kind != PAWL_LINE_ENTRY && kind != PAWL_LINE_RECORD)
        return true;
    if (kind == PAWL_LINE_RECORD && seq == r->w.at.seq && g->line++ < r->w.at.line)
        return true;
    buf_put(&r->lines, line.data, line.size);
    buf_char(&r->lines, '\n');
    g->stopped = r->lines.failed || r->lines.size >= READ_BYTES;
    return !g->stopped;
}

/* Whether it is still the run that was opened: a life is never reused, so earlier lines belong to the same run. */
static pawl_code same_life(const pawl_stream *r, const pawl_head *head, pawl_err *err)
{
    if (head->life == r->w.life)
        return PAWL_OK;
    return fail(err, PAWL_GONE, "%s: the run was deleted, and another one was begun under its id: open another stream", r->run);
}

static pawl_code run_read(pawl_stream *r, line_gather *g, pawl_head *head, pawl_err *err)
{
    const uint64_t after = r->w.at.seq - 1;
    pawl_look look = { .fn = gather, .ctx = g, .after = after, .upto = after + READ_ENTRIES };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = store_look(r->store, r->run, &look, &why), same;

    *head = look.head;
    if (rc == PAWL_GONE && head->run == NULL)
        return fail(err, PAWL_GONE, "%s: the run was deleted", r->run);
    if ((rc == PAWL_OK || rc == PAWL_GONE) && (same = same_life(r, head, err)) != PAWL_OK)
        return same;
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);      /* PAWL_GONE: it was pruned beyond this position */
}

/* Reads the next lines from the store. PAWL_PENDING: there is nothing new. */
static pawl_code lines_read(pawl_stream *r, pawl_err *err)
{
    line_gather g = { .r = r };
    pawl_head head;
    uint64_t now;
    pawl_code rc;

    buf_reset(&r->lines);
    r->lines_at = 0;
    store_lock(r);
    now = r->store->verbs->version(r->store);
    rc = !r->look && now != 0 && now == r->heard ? PAWL_PENDING : run_read(r, &g, &head, err);
    store_unlock(r);
    if (rc == PAWL_OK && r->lines.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->run);
    if (rc == PAWL_GONE && r->w.over)     /* it was removed after its end */
        rc = PAWL_PENDING;
    if (rc != PAWL_OK) {
        buf_reset(&r->lines);
        return rc;
    }
    if (!g.stopped && head.seq < r->w.at.seq - 1 + READ_ENTRIES) {    /* there are no more */
        r->look = false;
        r->heard = now;
    }
    if (r->lines.size > 0)
        return PAWL_OK;
    r->w.over = head.seq + 1 == r->w.at.seq && r->w.at.line == 0 && pawl_status_terminal((pawl_status)head.status);
    return PAWL_PENDING;
}

/* ---- the ring ------------------------------------------------------------------------------------------ */

typedef enum taken { TAKEN_NONE, TAKEN_LINE, TAKEN_LIVE, TAKEN_AHEAD } taken;

static bool wants_live(const pawl_stream *r)
{
    return (r->kinds & (PAWL_STREAM_MESSAGES | PAWL_STREAM_CUSTOM | PAWL_STREAM_TASKS)) != 0;
}

/* `n` more events are lost, up to that number. */
static void lost_more(pawl_stream *r, uint64_t last, uint64_t n)
{
    if (n == 0 || !wants_live(r))
        return;
    if (r->lost == 0)
        cursor_text(&r->w, r->lost_from);
    r->lost += n;
    r->lost_last = last;
}

/* The kind of a live event; for output of a handler its name decides. */
static pawl_stream_kind live_kind(const ring_entry *t)
{
    pawl_delta said;

    if (t->kind != RING_SAID)
        return PAWL_STREAM_TASKS;
    ring_delta(t, t->block, &said);
    return strcmp(delta_name(&said), "message") == 0 ? PAWL_STREAM_MESSAGES : PAWL_STREAM_CUSTOM;
}

static taken live_take(pawl_stream *r, stream_ring *h, uint64_t slot)
{
    const ring_entry *t = &h->ring[slot % h->cap];

    lost_more(r, t->live - 1, t->live > r->live + 1 ? t->live - r->live - 1 : 0);
    if (t->live > r->live)
        r->live = t->live;
    if ((live_kind(t) & r->kinds) == 0 || (slot < r->open_slot && !ring_is_running(h, t->run, t->block, slot)))
        return TAKEN_NONE;      /* the output of an attempt that ended before this reader came */
    if (place_before(r->w.at, t->at) || (t->at.seq == 0 && r->look))
        return TAKEN_AHEAD;
    r->take = *t;
    if ((r->take.block = mem_grow(&r->alloc, NULL, 0, t->size)) != NULL)
        memcpy(r->take.block, t->block, t->size);
    else
        lost_more(r, t->live, 1);
    return r->take.block != NULL ? TAKEN_LIVE : TAKEN_NONE;
}

/* Skips a line that was read before; leaves one that is ahead, or that the store's lines lead up to. */
static taken line_take(pawl_stream *r, const ring_entry *t)
{
    if (place_before(t->at, r->w.at))
        return TAKEN_NONE;
    if (place_before(r->w.at, t->at) || r->lines_at < r->lines.size)
        return TAKEN_AHEAD;
    buf_reset(&r->lines);
    r->lines_at = 0;
    buf_put(&r->lines, t->block, t->size);
    buf_char(&r->lines, '\n');
    if (!r->lines.failed)
        return TAKEN_LINE;
    buf_reset(&r->lines);
    return TAKEN_AHEAD;         /* the store has it, too */
}

static taken ring_take(pawl_stream *r)
{
    stream_ring *h = ring_here(r->e);
    taken what = TAKEN_NONE;

    pthread_mutex_lock(&h->lock);
    for (uint64_t slot; what == TAKEN_NONE && (slot = ring_after(h, r->in_ring, r->slot)) != 0;) {
        const ring_entry *t = &h->ring[slot % h->cap];

        what = t->live > 0 ? live_take(r, h, slot) : line_take(r, t);
        if (what != TAKEN_AHEAD)
            r->slot = slot;
    }
    if (what == TAKEN_NONE) {
        lost_more(r, r->in_ring->live, r->in_ring->live - r->live);
        r->live = r->in_ring->live;
        what = place_before(r->w.at, r->in_ring->end) ? TAKEN_AHEAD : TAKEN_NONE;
    }
    pthread_mutex_unlock(&h->lock);
    return what;
}

/* ---- what comes next --------------------------------------------------------------------------------------- */

static pawl_code line_first(pawl_stream *r, pawl_err *err)
{
    const char *at = r->lines.data + r->lines_at, *nl = memchr(at, '\n', r->lines.size - r->lines_at);
    pawl_code rc = line_begin(&r->w, (pawl_bytes){ at, (size_t)(nl - at) }, err);

    r->poll_ms = POLL_LEAST_MS;
    if (rc == PAWL_OK)
        r->lines_at += (size_t)(nl - at) + 1;
    return rc;
}

/* On an engine the store is read if the ring does not have the next line, and now and then for lines of other processes. */
static pawl_code lines_find(pawl_stream *r, taken what, pawl_err *err)
{
    int64_t now = steady_ms();

    if (r->e != NULL && what == TAKEN_NONE && !r->look && now - r->looked_ms < r->poll_ms)
        return PAWL_PENDING;
    r->looked_ms = now;
    r->look = r->look || what == TAKEN_AHEAD;
    r->poll_ms = r->poll_ms < POLL_MOST_MS ? r->poll_ms * 2 : POLL_MOST_MS;
    return lines_read(r, err);
}

/* Moves to the next place. PAWL_OK: there is one, or a live event. */
static pawl_code place_find(pawl_stream *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && r->w.entry == NULL && r->take.block == NULL) {
        taken what = r->e != NULL ? ring_take(r) : TAKEN_NONE;

        if (what == TAKEN_LINE || what == TAKEN_LIVE)
            continue;
        rc = r->lines_at < r->lines.size ? line_first(r, err) : lines_find(r, what, err);
    }
    return rc;
}

static pawl_code gap_event(pawl_stream *r, const char *name, const char *from, const char *to, pawl_stream_event *ev, pawl_err *err)
{
    buf_reset(&r->w.json);
    if (r->lost > 0)
        buf_fmt(&r->w.json, "{\"from\":\"%s\",\"live\":%llu,\"to\":\"%s\"}", from, (unsigned long long)r->lost, to);
    else
        buf_fmt(&r->w.json, "{\"from\":\"%s\",\"to\":\"%s\"}", from, to);
    buf_char(&r->w.json, '\0');
    if (r->w.json.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    *ev = (pawl_stream_event){ .kind = PAWL_STREAM_GAP, .cursor = cursor_text(&r->w, r->w.cursor), .seq = r->w.at.seq, .index = r->w.index,
                               .live = r->lost > 0 ? r->lost_last : 0,
                               .run = r->run, .name = name, .path = "", .node = "", .json = r->w.json.data };
    return PAWL_OK;
}

static pawl_code pruned_event(pawl_stream *r, pawl_stream_event *ev, pawl_err *err)
{
    pawl_code rc = gap_event(r, "pruned", "1.0", cursor_text(&r->w, r->w.cursor), ev, err);

    r->pruned = rc != PAWL_OK;
    return rc;
}

static pawl_code lost_event(pawl_stream *r, pawl_stream_event *ev, pawl_err *err)
{
    pawl_code rc = gap_event(r, "slow", r->lost_from, cursor_text(&r->w, r->w.cursor), ev, err);

    if (rc == PAWL_OK)
        r->lost = 0;
    return rc;
}

const char *live_json(pawl_stream *r, const pawl_stream_event *ev, pawl_err *err)
{
    if (ev->json != NULL)
        return ev->json;
    buf_reset(&r->w.json);
    delta_json(&r->w.json, ev->delta);
    buf_char(&r->w.json, '\0');
    if (!r->w.json.failed)
        return r->w.json.data;
    fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    return NULL;
}

/* Its texts stay in r->w.mem until the next event. */
static pawl_code live_event(pawl_stream *r, bool json, pawl_stream_event *ev, pawl_err *err)
{
    ring_entry *t = &r->take;
    char *id, *path;

    arena_reset(&r->w.mem);
    id = arena_strdup(&r->w.mem, t->block, t->size);
    path = arena_text(&r->w.mem, t->block);
    if (id == NULL || path == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    ring_delta(t, id, &r->said);
    path += strcspn(path, "/") + 1;                     /* RUN~LIFE/SUPERSTEP.TASK.VISIT.N */
    path += strcspn(path, ".") + 1;
    for (int i = 0; i < 2; i++)
        if (strrchr(path, '.') != NULL)
            *strrchr(path, '.') = '\0';
    *ev = (pawl_stream_event){ .kind = live_kind(t), .cursor = cursor_text(&r->w, r->w.cursor), .seq = r->w.at.seq, .index = r->w.index,
                               .live = t->live, .run = r->run, .name = delta_name(&r->said), .path = path, .node = node_of(&r->w, path), .id = id,
                               .json = r->said.kind == PAWL_DELTA_CUSTOM ? r->said.bytes : NULL, .time_ms = t->time_ms,
                               .delta = r->said.kind == PAWL_DELTA_CUSTOM ? NULL : &r->said };
    if (ev->node == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    if (json && (ev->json = live_json(r, ev, err)) == NULL)
        return PAWL_NOMEM;
    mem_free(&r->alloc, t->block, t->size);
    t->block = NULL;
    return PAWL_OK;
}

pawl_code stream_step(pawl_stream *r, bool json, pawl_stream_event *ev, pawl_err *err)
{
    pawl_code rc;

    *ev = (pawl_stream_event){ .kind = (pawl_stream_kind)0 };
    if (r->pruned)
        return pruned_event(r, ev, err);
    rc = place_find(r, err);
    if (rc < 0)
        return rc;
    if (r->lost > 0 && r->w.entry == NULL)
        return lost_event(r, ev, err);
    if (rc != PAWL_OK)
        return r->w.over ? PAWL_HALTED : rc;
    return r->w.entry == NULL ? live_event(r, json, ev, err) : PAWL_OK;
}

pawl_code pawl_stream_next(pawl_stream *r, pawl_stream_event *ev, pawl_err *err)
{
    pawl_code rc;

    if (r == NULL || ev == NULL)
        return fail(err, PAWL_INVALID, "next: a stream and room for an event are needed");
    while ((rc = stream_step(r, true, ev, err)) == PAWL_OK && ev->kind == 0) {
        if ((line_kind(&r->w) & r->kinds) == 0) {
            line_next(&r->w);
            continue;
        }
        if ((rc = line_event(&r->w, ev, err)) == PAWL_OK)
            line_next(&r->w);
        break;
    }
    return rc;
}

/* ---- waiting ------------------------------------------------------------------------------------------------ */

static pthread_mutex_t *gate_of(pawl_stream *r)
{
    return r->e != NULL ? &ring_here(r->e)->lock : &r->gate;
}

/* Waits until something is added, or until it is time to poll. */
void stream_rest(pawl_stream *r, int64_t until)
{
    const stream_ring *h = r->e == NULL ? NULL : ring_here(r->e);
    int64_t at = steady_ms() + r->poll_ms;

    if (until < at)
        at = until;
    pthread_mutex_lock(gate_of(r));
    while (!r->stopped && (h == NULL || (ring_after(h, r->in_ring, r->slot) == 0 && !place_before(r->w.at, r->in_ring->end))) &&
           cond_wait(&r->join.woken, gate_of(r), at))
        continue;
    pthread_mutex_unlock(gate_of(r));
}

pawl_code pawl_stream_wait(pawl_stream *r, int64_t timeout_ms, pawl_stream_event *ev, pawl_err *err)
{
    int64_t now = steady_ms(), until = timeout_ms < 0 || timeout_ms > INT64_MAX - now ? INT64_MAX : now + timeout_ms;
    pawl_code rc;

    while (r == NULL || !r->stopped) {
        rc = pawl_stream_next(r, ev, err);
        if (rc != PAWL_PENDING || steady_ms() >= until)
            return rc;
        stream_rest(r, until);
    }
    return fail(err, PAWL_CANCELED, "%s: its reader was asked to stop", r->run);
}

void pawl_stream_stop(pawl_stream *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(gate_of(r));
    r->stopped = true;
    pthread_cond_broadcast(&r->join.woken);
    pthread_mutex_unlock(gate_of(r));
}

const char *pawl_stream_cursor(pawl_stream *r)
{
    return r == NULL ? "" : cursor_text(&r->w, r->w.cursor);
}

/* ---- opened ------------------------------------------------------------------------------------------------------- */

typedef struct begun { buf base, snapshot, next; uint64_t base_seq, snapshot_seq, before; } begun;

/* Only a snapshot of an entry before the first one to read is useful; `next` is the line after it. */
static bool see_begin(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    begun *b = ctx;

    if (kind == PAWL_LINE_BASE) {
        b->base_seq = seq;
        buf_put(&b->base, line.data, line.size);
        return b->before > 0;
    }
    if (kind == PAWL_LINE_SNAPSHOT && seq < b->before) {
        b->snapshot_seq = seq;
        buf_put(&b->snapshot, line.data, line.size);
        return true;
    }
    if (b->snapshot.size > 0) {
        buf_put(&b->next, line.data, line.size);
        buf_char(&b->next, '\n');
    }
    return false;
}

/* A snapshot that cannot be used costs only time: the entries after the base are folded instead (K11). */
static pawl_code begun_load(pawl_stream *r, const begun *b, const pawl_loader *loader, uint64_t *first, pawl_err *err)
{
    const pawl_bytes base = { b->base.data, b->base.size }, snapshot = { b->snapshot.data, b->snapshot.size };
    pawl_code rc = snapshot_fits((pawl_bytes){ b->next.data, b->next.size }, snapshot, r->w.step, err);

    if (rc == PAWL_OK)
        rc = pawl_state_load(base, snapshot, loader, &r->alloc, &r->w.st, err);
    if ((rc != PAWL_CORRUPT && rc != PAWL_GONE) || b->snapshot.size == 0)
        return rc;
    *first = b->base_seq + 1;
    if (err != NULL)
        *err = (pawl_err){ PAWL_OK, "" };
    return pawl_state_load(base, (pawl_bytes){0}, loader, &r->alloc, &r->w.st, err);
}

/* Loads the base, and the head of the same moment; with values also the state before the first line. */
static pawl_code base_load(pawl_stream *r, uint64_t before, bool snapshot, uint64_t *first, pawl_head *head, pawl_err *err)
{
    const pawl_loader loader = stream_loader(r);
    bool values = (r->kinds & PAWL_STREAM_VALUES) != 0;
    begun b = { .before = values && snapshot ? before : 0 };
    pawl_look look = { .fn = see_begin, .ctx = &b, .load = true };
    pawl_code rc;

    buf_init(&b.base, &r->alloc);
    buf_init(&b.snapshot, &r->alloc);
    buf_init(&b.next, &r->alloc);
    store_lock(r);
    rc = store_look(r->store, r->run, &look, err);
    store_unlock(r);
    *head = look.head;
    r->w.life = head->life;
    if (rc == PAWL_OK && (b.base.failed || b.snapshot.failed || b.next.failed))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for a stream", r->run);
    r->w.base_seq = b.base_seq;
    if (r->base != NULL)
        buf_put(r->base, b.base.data, b.base.size);
    *first = (b.snapshot.size > 0 ? b.snapshot_seq : b.base_seq) + 1;
    if (rc == PAWL_OK && values && before > b.base_seq)
        rc = begun_load(r, &b, &loader, first, err);
    buf_free(&b.base);
    buf_free(&b.snapshot);
    buf_free(&b.next);
    return rc;
}

bool cursor_read(const char *text, uint64_t *seq, uint64_t *index)
{
    const char *dot = digits_read(text, seq), *end = dot == NULL || *dot != '.' ? NULL : digits_read(dot + 1, index);

    return end != NULL && *end == '\0' && *seq > 0;
}

/* Skips everything up to that place, or up to the end; PAWL_PENDING: it does not exist yet. `fn` is called for each place before it is skipped. *reads (NULL:
 * no limit): how often the store may be read, READ_ENTRIES at a time; PAWL_INTERRUPTED: that was not enough, and the same call again goes on. */
pawl_code stream_seek(pawl_stream *r, bool now, uint64_t seq, uint64_t index, unsigned *reads, place_fn *fn, void *ctx, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    r->look = true;
    while (now || r->w.at.seq < seq || (r->w.at.seq == seq && r->w.index < index)) {
        bool there = r->w.at.seq == seq && r->w.index + 1 == index;

        if (r->w.entry == NULL && r->lines_at == r->lines.size) {
            if (reads != NULL && *reads == 0)
                return PAWL_INTERRUPTED;
            if (reads != NULL)
                --*reads;
            if ((rc = lines_read(r, err)) != PAWL_OK)
                return rc;
        }
        if (r->w.entry == NULL && (rc = line_first(r, err)) != PAWL_OK)
            return rc;
        if (fn != NULL && (rc = fn(ctx, &r->w, err)) != PAWL_OK)
            return rc;
        line_next(&r->w);
        if (there && !now)
            return PAWL_OK;
    }
    return r->w.at.seq == seq ? PAWL_OK : PAWL_PENDING;
}

pawl_code stream_beyond(const pawl_stream *r, const char *from, pawl_err *err)
{
    return fail(err, PAWL_INVALID, "%s: there is no event \"%.40s\" of this run yet: take a cursor that it has given", r->run, from);
}

static pawl_code stream_begin(pawl_stream *r, const char *from, pawl_err *err)
{
    bool now = from != NULL && strcmp(from, "now") == 0;
    uint64_t seq = 1, index = 0, first;
    pawl_head head = { .run = NULL };
    pawl_code rc;

    if (from != NULL && !now && !cursor_read(from, &seq, &index))
        return fail(err, PAWL_INVALID, "%s: \"%.40s\" is no cursor: SEQ.INDEX, as a stream gave it, or now", r->run, from);
    if ((rc = base_load(r, from == NULL || now ? UINT64_MAX : seq, from != NULL, &first, &head, err)) != PAWL_OK)
        return rc;
    r->pruned = from == NULL && r->w.base_seq > 0;
    if (from == NULL)
        seq = r->w.base_seq + 1;
    if (!now && seq <= r->w.base_seq)
        return fail(err, PAWL_GONE, "%s: cursor \"%.40s\" was pruned: entries up to %llu are gone, go on from %llu.0", r->run, from,
                    (unsigned long long)r->w.base_seq, (unsigned long long)r->w.base_seq + 1);
    if (!now && seq > head.seq + 1)
        return stream_beyond(r, from, err);
    r->w.at.seq = r->w.st != NULL ? first : now ? head.seq + 1 : seq;
    r->w.receipts_whole = r->w.at.seq == 1;
    rc = stream_seek(r, now, seq, index, NULL, NULL, NULL, err);
    if (rc == PAWL_PENDING)
        rc = now ? PAWL_OK : stream_beyond(r, from, err);
    r->look = true;
    return rc;
}

/* Moves the reader on, as if it had read the lines that the ring has dropped. */
static uint64_t live_begin(const stream_ring *h, const ring_run *r)
{
    for (uint64_t slot = r->first; slot != 0; slot = h->ring[slot % h->cap].next)
        if (h->ring[slot % h->cap].live > 0)
            return h->ring[slot % h->cap].live - 1;
    return r->live;
}

static pawl_code reader_join(pawl_stream *r, pawl_err *err)
{
    stream_ring *h = ring_of(r->e, err);

    if (h == NULL)
        return PAWL_NOMEM;
    pthread_mutex_lock(&h->lock);
    if ((r->in_ring = ring_run_of(h, r->run)) != NULL) {
        r->join.next = r->in_ring->readers;
        r->in_ring->readers = &r->join;
        r->open_slot = h->next;
        r->live = live_begin(h, r->in_ring);
    }
    pthread_mutex_unlock(&h->lock);
    return r->in_ring != NULL ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory for a stream", r->run);
}

static void reader_leave(pawl_stream *r)
{
    stream_ring *h = r->in_ring == NULL ? NULL : ring_here(r->e);

    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    for (ring_reader **at = &r->in_ring->readers; *at != NULL; at = &(*at)->next)
        if (*at == &r->join) {
            *at = r->join.next;
            break;
        }
    ring_run_release(h, r->in_ring);
    pthread_mutex_unlock(&h->lock);
}

static pawl_stream *stream_new(pawl_engine *e, pawl_store *store, const char *run, const pawl_stream_options *o, buf *base)
{
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_stream *r = mem_new(&alloc, sizeof *r);

    if (r == NULL)
        return NULL;
    r->alloc = alloc;
    r->e = e;
    r->lent = store != NULL;
    r->store = store != NULL ? store : e->store;
    r->kinds = (o->kinds != 0 ? o->kinds : PAWL_STREAM_DEBUG - 1) | PAWL_STREAM_GAP;
    r->join.wake = o->wake;
    r->join.wake_ctx = o->wake_ctx;
    r->look = true;
    r->poll_ms = POLL_LEAST_MS;
    r->base = base;
    pthread_mutex_init(&r->gate, NULL);
    cond_begin(&r->join.woken);
    buf_init(&r->lines, &alloc);
    entry_page_init(&r->past, &alloc);
    buf_init(&r->blob, &alloc);
    r->run = mem_text(&alloc, run);
    walk_init(&r->w, &alloc, r->run);
    r->w.keeps = (r->kinds & (PAWL_STREAM_UPDATES | PAWL_STREAM_MESSAGES | PAWL_STREAM_CUSTOM)) != 0;
    r->w.source = &store_source;
    r->w.source_ctx = r;
    if (r->run == NULL || !walk_ready(&r->w)) {
        pawl_stream_close(r);
        return NULL;
    }
    return r;
}

pawl_stream *stream_open(pawl_engine *e, pawl_store *store, const char *run, const pawl_stream_options *options, buf *base, pawl_err *err)
{
    static const pawl_stream_options usual;
    const pawl_stream_options *o = options != NULL ? options : &usual;
    pawl_stream *r;

    if ((e == NULL && store == NULL) || run == NULL || !run_id_valid(run) || (o->kinds & ~(PAWL_STREAM_GAP * 2u - 1)) != 0) {
        fail(err, PAWL_INVALID, "\"%.64s\": a stream needs an engine or a store, a run, and kinds that there are", run != NULL ? run : "");
        return NULL;
    }
    if ((r = stream_new(e, store, run, o, base)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for a stream", run);
        return NULL;
    }
    if ((e != NULL && reader_join(r, err) != PAWL_OK) || stream_begin(r, o->from, err) != PAWL_OK) {
        pawl_stream_close(r);
        return NULL;
    }
    r->base = NULL;
    return r;
}

pawl_stream *pawl_stream_open(pawl_engine *e, pawl_store *store, const char *run, const pawl_stream_options *options, pawl_err *err)
{
    return stream_open(e, store, run, options, NULL, err);
}

void pawl_stream_close(pawl_stream *r)
{
    pawl_alloc alloc;

    if (r == NULL)
        return;
    alloc = r->alloc;
    reader_leave(r);
    mem_free(&alloc, r->take.block, r->take.size);
    walk_free(&r->w);
    buf_free(&r->lines);
    entry_page_free(&r->past);
    buf_free(&r->blob);
    pthread_cond_destroy(&r->join.woken);
    pthread_mutex_destroy(&r->gate);
    mem_free(&alloc, r->run, r->run != NULL ? strlen(r->run) + 1 : 0);
    mem_free(&alloc, r, sizeof *r);
}

pawl_code pawl_engine_live(pawl_engine *e, size_t events, size_t bytes, pawl_err *err)
{
    pawl_code rc = e == NULL ? PAWL_INVALID : ring_begin(e, events, bytes);

    if (e == NULL)
        return fail(err, rc, "live events are kept by an engine");
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "no memory for %zu live events", events);
    return rc == PAWL_OK ? rc : fail(err, rc, "there is a stream already: say before the first how much is kept for them");
}
