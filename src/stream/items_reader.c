/* items_reader.c - items by cursor: a stream of one run, whose places are projected one after another (pawl/items.h).
 *
 * Owns pawl_items: a pawl_stream, the projection, and the position among its changes. Called by the readers of a run, each on its own thread; only
 * pawl_items_stop() on any. Locks are those of the stream. Invariant: everything before the cursor was projected, and was skipped or returned once. */
#include "kernel/item.h"
#include "kernel/names.h"
#include "stream/items_paged.h"
#include "stream/projection.h"
#include "stream/stream.h"

#include <stdio.h>

enum { ITEM_CURSOR_BYTES = RUN_BYTES_MAX + CURSOR_BYTES + 24 };
enum { STREAM_KINDS = PAWL_STREAM_UPDATES | PAWL_STREAM_MESSAGES | PAWL_STREAM_TASKS | PAWL_STREAM_CUSTOM };

typedef struct item_spot { uint64_t seq, index, k; bool has_k; } item_spot;

struct pawl_items {
    pawl_alloc alloc;
    pawl_stream *s;
    projection p;
    bool begun;                 /* there is a projection */
    unsigned kinds;
    bool at_place;              /* the current place was projected: its changes are p.changes */
    size_t next;                /* the change that is returned next */
    item_spot to;               /* the initial cursor */
    bool now, seeking;          /* it is not reached yet */
    size_t skip;                /* number of changes of the next place that are before the initial cursor */
    bool headed;                /* `head` is that of the current place */
    pawl_stream_event head;     /* of the current place, or of the live event */
    const change *given;        /* the last change that was returned; NULL: none, or `head` is live */
    bool live;
    buf json;
    char cursor[ITEM_CURSOR_BYTES];
};

/* ---- cursors --------------------------------------------------------------------------------------------- */

/* "RUN:SEQ.INDEX", "RUN:SEQ.INDEX.K" or "SEQ.INDEX". */
static bool spot_read(const char *run, const char *text, item_spot *out)
{
    const size_t n = strlen(run);
    const char *at;

    *out = (item_spot){ .seq = 0 };
    if (strncmp(text, run, n) == 0 && text[n] == ':')
        text += n + 1;
    if ((at = digits_read(text, &out->seq)) == NULL || *at != '.' || out->seq == 0 || (at = digits_read(at + 1, &out->index)) == NULL)
        return false;
    if (*at == '.') {
        out->has_k = true;
        at = digits_read(at + 1, &out->k);
    }
    return at != NULL && *at == '\0';
}

/* After `k` of `n` changes of that place. */
static void cursor_set(pawl_items *r, uint64_t seq, uint64_t index, size_t k, size_t n)
{
    int size = snprintf(r->cursor, sizeof r->cursor, "%s:%llu.%llu", r->s->run, (unsigned long long)seq, (unsigned long long)index);

    if (k < n)
        snprintf(r->cursor + size, sizeof r->cursor - (size_t)size, ".%zu", k);
}

/* ---- opened ------------------------------------------------------------------------------------------------ */

/* Opens the stream, and projects the items that are open at its base. */
static pawl_code base_begin(pawl_items *r, pawl_engine *e, pawl_store *store, const char *run, const pawl_stream_options *all, pawl_err *err)
{
    const pawl_value *base = NULL;
    pawl_code rc = PAWL_OK;
    arena mem;
    buf text;

    buf_init(&text, &r->alloc);
    arena_init(&mem, &r->alloc, 4096);
    if ((r->s = stream_open(e, store, run, all, &text, err)) == NULL)
        rc = PAWL_GONE;         /* or another reason: see err */
    else if (text.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its items", run);
    else if ((base = value_read(&mem, text.data, text.size, "a base", err)) == NULL)
        rc = mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (rc == PAWL_OK) {
        r->begun = true;
        rc = projection_begin(&r->p, &r->alloc, r->s->run, r->s->w.life, base, err);
    }
    arena_free(&mem);
    buf_free(&text);
    return rc;
}

static pawl_code pass_place(void *ctx, line_walk *w, pawl_err *err)
{
    pawl_items *r = ctx;

    arena_reset(&w->mem);
    return project_place(&r->p, w, err);
}

/* The items that are open at the base come first. */
static void seek_done(pawl_items *r)
{
    r->seeking = false;
    r->at_place = r->next < r->p.nchanges;
    if (r->at_place)
        cursor_set(r, r->p.seq, 0, r->next, r->p.nchanges);
    else
        cursor_set(r, r->s->w.at.seq, r->s->w.index, 0, 0);
}

/* Projects what is before the cursor without returning it; PAWL_INTERRUPTED: not all of it. */
static pawl_code seek_on(pawl_items *r, unsigned *reads, pawl_err *err)
{
    const item_spot *to = &r->to;
    char text[CURSOR_BYTES];
    pawl_code rc = stream_seek(r->s, r->now, to->seq, to->has_k && to->index > 0 ? to->index - 1 : to->index, reads, pass_place, r, err);

    snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)to->seq, (unsigned long long)to->index);
    if (rc == PAWL_PENDING)
        rc = r->now ? PAWL_OK : stream_beyond(r->s, text, err);
    r->s->look = true;
    if (rc == PAWL_OK)
        seek_done(r);
    return rc;
}

/* Whether the cursor is one of this run that is not pruned. r->seeking: the reader is not there yet. */
static pawl_code seek_begin(pawl_items *r, const char *from, pawl_err *err)
{
    pawl_stream *s = r->s;
    const uint64_t first = s->w.base_seq + 1;

    r->now = strcmp(from, "now") == 0;
    r->to = (item_spot){ .seq = first };
    s->pruned = false;          /* the cursor is after that gap */
    if (!r->now && !spot_read(s->run, from, &r->to))
        return fail(err, PAWL_INVALID, "%s: \"%.160s\" is no cursor of its: RUN:SEQ.INDEX, as a reader gave it, or now", s->run, from);
    if (!r->now && r->to.seq < first)
        return fail(err, PAWL_GONE, "%s: cursor \"%.160s\" was pruned: entries up to %llu are gone, go on from %llu.0", s->run, from,
                    (unsigned long long)first - 1, (unsigned long long)first);
    r->seeking = r->now || r->to.seq != first || r->to.index != 0;
    r->next = !r->seeking && r->to.has_k ? (size_t)r->to.k : SIZE_MAX;
    r->skip = r->seeking ? (size_t)r->to.k : 0;
    return PAWL_OK;
}

/* Whether the run has come that far: what can be said before the journal is read. */
static pawl_code seek_possible(pawl_items *r, const char *from, pawl_err *err)
{
    pawl_head head;
    const pawl_code rc = r->seeking && !r->now ? r->s->store->verbs->head(r->s->store, r->s->run, &head, err) : PAWL_OK;

    return rc == PAWL_OK && r->seeking && !r->now && r->to.seq > head.seq + 1 ? stream_beyond(r->s, from, err) : rc;
}

static pawl_items *reader_open(pawl_engine *e, pawl_store *store, const char *run, const pawl_items_options *options, bool paged, pawl_err *err)
{
    static const pawl_items_options usual;
    const pawl_items_options *o = options != NULL ? options : &usual;
    const pawl_stream_options all = { .kinds = STREAM_KINDS, .wake = o->wake, .wake_ctx = o->wake_ctx };
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_code rc;
    pawl_items *r;

    if ((o->kinds & ~(PAWL_ITEM_LINE * 2u - 1)) != 0) {
        fail(err, PAWL_INVALID, "items: kinds that there are not");
        return NULL;
    }
    if ((r = mem_new(&alloc, sizeof *r)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for items");
        return NULL;
    }
    r->alloc = alloc;
    r->kinds = o->kinds != 0 ? o->kinds : PAWL_ITEM_LINE - 1;
    r->head = (pawl_stream_event){ .path = "", .node = "" };
    buf_init(&r->json, &alloc);
    rc = base_begin(r, e, store, run, &all, err);
    if (rc == PAWL_OK && o->from != NULL)
        rc = seek_begin(r, o->from, err);
    if (rc == PAWL_OK && r->seeking)
        rc = paged ? seek_possible(r, o->from, err) : seek_on(r, NULL, err);
    else if (rc == PAWL_OK)
        seek_done(r);
    if (rc == PAWL_OK)
        return r;
    pawl_items_close(r);
    return NULL;
}

pawl_items *pawl_items_open(pawl_engine *engine, pawl_store *store, const char *run, const pawl_items_options *options, pawl_err *err)
{
    return reader_open(engine, store, run, options, false, err);
}

pawl_items *items_open_paged(pawl_store *store, const char *run, const pawl_items_options *options, pawl_err *err)
{
    return reader_open(NULL, store, run, options, true, err);
}

void pawl_items_close(pawl_items *r)
{
    if (r == NULL)
        return;
    if (r->begun)
        projection_free(&r->p);
    pawl_stream_close(r->s);
    buf_free(&r->json);
    mem_free(&r->alloc, r, sizeof *r);
}

void items_each_child(const pawl_items *r, child_fn *fn, void *ctx)
{
    for (const open_item *it = r->p.run->first; it != NULL; it = it->after)
        if (it->space == KEY_TOOL && it->child != NULL && !fn(ctx, it->child))
            return;
}

/* ---- what comes next ------------------------------------------------------------------------------------------ */

static void run_change(const pawl_items *r, pawl_item_change *out)
{
    const open_item *run = r->p.run;

    *out = (pawl_item_change){ .kind = PAWL_ITEM_RUN, .state = (pawl_item_state)run->state, .what = PAWL_ITEM_UPDATED, .id = run->id, .parent = run->id,
                               .name = run->name, .part = r->head.name, .path = r->head.path, .node = r->head.node, .run = r->s->run, .cursor = r->cursor,
                               .seq = r->head.seq, .index = r->head.index, .live = r->head.live, .time_ms = r->head.time_ms };
}

/* A live event or a gap. A live event of an item that has ended meanwhile has its last open state: running. */
static void live_given(pawl_items *r, pawl_item_change *out)
{
    const bool gap = r->head.kind == PAWL_STREAM_GAP;
    const open_item *it = gap ? NULL : projection_live(&r->p, r->head.id, NULL);

    r->given = NULL;
    r->live = true;
    if (r->at_place)
        cursor_set(r, r->p.seq, r->p.index, r->next, r->p.nchanges);
    else
        cursor_set(r, r->head.seq, r->head.index, 0, 0);
    run_change(r, out);
    out->call = r->head.id;
    out->delta = r->head.delta;
    if (gap) {
        out->what |= PAWL_ITEM_GAP;
    } else if (it != NULL) {
        out->kind = (pawl_item_kind)it->kind;
        out->state = (pawl_item_state)it->state;
        out->id = it->id;
        out->parent = it->parent->id;
        out->name = it->name;
        out->child = it->child;
    } else {
        out->kind = r->head.kind == PAWL_STREAM_MESSAGES ? PAWL_ITEM_MESSAGE : PAWL_ITEM_TOOL_CALL;
        out->state = PAWL_ITEM_RUNNING;
        out->id = r->head.id;
        out->name = "";
    }
}

/* The first change of a place is also the emission, if the run has one there. */
static unsigned emitted_bit(const pawl_items *r, const change *c)
{
    const line_walk *w = &r->s->w;
    bool emission = w->entry != NULL && r->p.index > 0 && (w->part == PART_EMIT || (w->part == PART_ITEM && w->it->kind == ITEM_EMIT));

    return emission && c->json == JSON_PLACE ? PAWL_ITEM_EMITTED : 0;
}

/* The next change of the current place; false: there is none. */
static bool change_given(pawl_items *r, pawl_item_change *out, pawl_code *rc, pawl_err *err)
{
    const projection *p = &r->p;

    while (r->next < p->nchanges) {
        const change *c = &p->changes[r->next];

        if ((1u << c->kind & r->kinds) == 0 && (c->what & PAWL_ITEM_GAP) == 0) {
            r->next++;
            continue;
        }
        if (!r->headed && r->s->w.entry != NULL && p->index > 0 && (*rc = line_head(&r->s->w, &r->head, err)) != PAWL_OK)
            return true;
        r->headed = true;
        r->next++;
        r->given = c;
        r->live = false;
        cursor_set(r, p->seq, p->index, r->next, p->nchanges);
        *out = (pawl_item_change){ .kind = (pawl_item_kind)(1u << c->kind), .state = (pawl_item_state)c->state, .what = c->what | emitted_bit(r, c),
                                   .id = c->id, .parent = c->parent, .name = c->name, .part = c->part, .call = c->call, .child = c->child, .path = r->head.path,
                                   .node = r->head.node, .run = r->s->run, .cursor = r->cursor, .seq = p->seq, .index = p->index,
                                   .time_ms = r->head.time_ms };
        *rc = PAWL_OK;
        return true;
    }
    return false;
}

static pawl_code place_projected(pawl_items *r, pawl_err *err)
{
    pawl_code rc;

    arena_reset(&r->s->w.mem);
    if ((rc = project_place(&r->p, &r->s->w, err)) != PAWL_OK)
        return rc;
    r->at_place = true;
    r->headed = false;
    r->next = r->skip;
    r->skip = 0;
    return PAWL_OK;
}

pawl_code pawl_items_next(pawl_items *r, pawl_item_change *out, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (r == NULL || out == NULL)
        return fail(err, PAWL_INVALID, "next: a reader and room for a change are needed");
    if (r->p.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for its items: open another reader at its cursor", r->s->run);
    r->given = NULL;
    if (r->seeking && (rc = seek_on(r, &(unsigned){ 1 }, err)) != PAWL_OK)
        return rc;
    if (r->s->pruned) {         /* the gap comes before the items that are open after it */
        if ((rc = stream_step(r->s, false, &r->head, err)) == PAWL_OK)
            live_given(r, out);
        return rc;
    }
    for (;;) {
        if (r->at_place && change_given(r, out, &rc, err))
            return rc;
        if (r->at_place && r->p.index > 0)
            line_next(&r->s->w);
        r->at_place = false;
        if ((rc = stream_step(r->s, false, &r->head, err)) != PAWL_OK) {
            if (rc > PAWL_OK)   /* behind all of the last entry, which may be pruned then */
                cursor_set(r, r->s->w.at.seq, r->s->w.index, 0, 0);
            return rc;
        }
        if (r->head.kind != 0) {
            live_given(r, out);
            return PAWL_OK;
        }
        if ((rc = place_projected(r, err)) != PAWL_OK)
            return rc;
    }
}

pawl_code pawl_items_wait(pawl_items *r, int64_t timeout_ms, pawl_item_change *out, pawl_err *err)
{
    int64_t now = steady_ms(), until = timeout_ms < 0 || timeout_ms > INT64_MAX - now ? INT64_MAX : now + timeout_ms;
    pawl_code rc;

    while (r == NULL || !r->s->stopped) {
        rc = pawl_items_next(r, out, err);
        if (rc != PAWL_PENDING || steady_ms() >= until)
            return rc;
        stream_rest(r->s, until);
    }
    return fail(err, PAWL_CANCELED, "%s: its reader was asked to stop", r->s->run);
}

void pawl_items_stop(pawl_items *r)
{
    pawl_stream_stop(r != NULL ? r->s : NULL);
}

const char *pawl_items_cursor(pawl_items *r)
{
    return r == NULL ? "" : r->cursor;
}

/* ---- what came with a change ---------------------------------------------------------------------------------------- */

static void usage_member(buf *b, const char *name, const pawl_value *v)
{
    if (v == NULL)
        return;
    buf_fmt(b, "%s\"%s\":", b->size > 1 ? "," : "", name);
    canon(b, v);
}

static void usage_json(buf *b, const item *it)
{
    const pawl_value *cost = pawl_value_get(it->more, "usage"), *model = pawl_value_get(it->value, "usage");

    buf_char(b, '{');
    usage_member(b, "calls", pawl_value_get(cost, "calls"));
    usage_member(b, "micros", pawl_value_get(cost, "micros"));
    usage_member(b, "model", model);
    usage_member(b, "tokens", pawl_value_get(cost, "tokens"));
    buf_char(b, '}');
}

const char *pawl_items_json(pawl_items *r, pawl_err *err)
{
    line_walk *w;
    const change *c = r == NULL ? NULL : r->given;
    const pawl_value *v = NULL;
    const item_write *one;
    const char *json = NULL;

    if (c == NULL)
        return r != NULL && r->live ? live_json(r->s, &r->head, err) : "null";
    w = &r->s->w;
    if (c->json == JSON_NONE)
        return "null";
    if (c->json == JSON_PLACE)
        return line_json(w, &json, err) == PAWL_OK ? json : NULL;
    buf_reset(&r->json);
    if (c->json == JSON_USAGE) {
        usage_json(&r->json, w->it);
    } else {
        one = c->json == JSON_WRITE ? c->from : NULL;
        v = one == NULL ? c->from : value_whole(w, w->it, one->value, one->refs.list, err);
        if (v == NULL)
            return NULL;
        canon(&r->json, v);
    }
    buf_char(&r->json, '\0');
    if (!r->json.failed)
        return r->json.data;
    fail(err, PAWL_NOMEM, "%s: no memory for an item", r->s->run);
    return NULL;
}
