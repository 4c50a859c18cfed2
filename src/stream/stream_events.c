/* stream_events.c - a line of a journal as events: which places its items have, and what each of them tells (docs/INTERFACES.md). */
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* ---- receipts, which what is written later may name instead of repeating them ------------------------- */

static bool is_told(const item *it)
{
    return (it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER || it->kind == ITEM_DOUBT) && *it->task != '@';
}

static void told_cut(pawl_stream *r, size_t count)
{
    while (r->ntold > count) {
        receipt_at *t = &r->told[--r->ntold];

        r->receipts.size = t->at;
        mem_free(&r->alloc, t->task, strlen(t->task) + 1);
    }
    r->receipts.failed = false;
}

void told_free(pawl_stream *r)
{
    told_cut(r, 0);
    mem_free(&r->alloc, r->told, r->told_cap * sizeof *r->told);
}

static bool told_add(pawl_stream *r, const item *it, const char *text)
{
    size_t n = strlen(it->task) + 1;
    receipt_at *t;

    if (!mem_room(&r->alloc, (void **)&r->told, &r->told_cap, r->ntold, sizeof *r->told))
        return false;
    t = &r->told[r->ntold];
    *t = (receipt_at){ .task = mem_new(&r->alloc, n), .visit = it->visit, .n = it->n, .kind = it->kind, .at = r->receipts.size,
                       .size = it->text_size };
    if (t->task == NULL)
        return false;
    memcpy(t->task, it->task, n);
    r->ntold++;
    buf_put(&r->receipts, text, it->text_size);
    return !r->receipts.failed;
}

static bool told_line(pawl_stream *r, const pawl_entry *e)
{
    for (const item *it = e->items; it != NULL; it = it->next)
        if (is_told(it) && !told_add(r, it, e->items_text + it->text_at))
            return false;
    return true;
}

/* A base may begin in the middle of a superstep. */
static pawl_code told_base(pawl_stream *r, const pawl_value *fold, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(fold, "open"));
    const pawl_value *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text;
        const item *one = item_of_value(&r->mem, v, &text, err);

        if (one == NULL || (is_told(one) && !told_add(r, one, text)))
            rc = one == NULL && !r->mem.failed ? PAWL_CORRUPT : PAWL_NOMEM;
        else if (one->kind == ITEM_FRAME)
            rc = told_base(r, one->more, err);
    }
    return rc;
}

typedef struct past { buf lines; } past;

static bool see_past(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    past *p = ctx;

    (void)seq;
    if (kind == PAWL_LINE_BASE && p->lines.size > 0)
        return true;            /* it is there already */
    buf_put(&p->lines, line.data, line.size);
    buf_char(&p->lines, '\n');
    return !p->lines.failed;
}

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)see_past(ctx, kind, seq, line);
    return false;
}

/* Lines before this seq: what they told, as far as the superstep that is open; *found: where it began. */
static pawl_code past_told(pawl_stream *r, const past *p, size_t kept, bool *found, pawl_err *err)
{
    const char *at = p->lines.data, *end = p->lines.size > 0 ? at + p->lines.size : at;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_entry *e;

        if (*at == '{') {
            const pawl_value *base = value_read(&r->mem, at, (size_t)(nl - at), "a base", err);

            *found = true;
            rc = base == NULL ? PAWL_CORRUPT : told_base(r, pawl_value_get(base, "fold"), err);
        } else if ((rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, r->shown, &e, err)) == PAWL_OK) {
            rc = told_line(r, e) ? PAWL_OK : PAWL_NOMEM;
            if (e->closes)
                told_cut(r, kept);
            *found = *found || e->closes;
        }
        at = nl + 1;
    }
    return rc;
}

/* A stream may begin in the middle of a superstep too: then what it needs is looked for before its first entry. */
static pawl_code told_before(pawl_stream *r, pawl_err *err)
{
    size_t kept = r->ntold;
    bool found = false;
    pawl_code rc = PAWL_OK;
    past p = {0};

    buf_init(&p.lines, &r->alloc);
    for (uint64_t back = 16; rc == PAWL_OK && !found; back *= 4) {
        uint64_t upto = r->at.seq - 1, after = upto > back && upto - back > r->base_seq ? upto - back : r->base_seq;

        buf_reset(&p.lines);
        if (after == r->base_seq)
            rc = stream_base(r, see_base, &p, err);
        if (rc == PAWL_OK && upto > after)
            rc = stream_read(r, after, upto, see_past, &p, err);
        if (rc == PAWL_OK && p.lines.failed)
            rc = PAWL_NOMEM;
        if (rc == PAWL_OK)
            rc = past_told(r, &p, kept, &found, err);
        if (!found || rc != PAWL_OK)
            told_cut(r, kept);
        found = found || after == r->base_seq;
    }
    r->told_all = rc == PAWL_OK;
    buf_free(&p.lines);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for an event", r->run) : rc;
}

/* ---- values made whole ---------------------------------------------------------------------------------------- */

/* The last of that number that is a doubt, or is none. */
static const receipt_at *told_find(const pawl_stream *r, const item *it, uint32_t n, bool doubt)
{
    for (size_t i = r->ntold; i-- > 0;)
        if (r->told[i].n == n && r->told[i].visit == it->visit && (r->told[i].kind == ITEM_DOUBT) == doubt && strcmp(r->told[i].task, it->task) == 0)
            return &r->told[i];
    return NULL;
}

static const pawl_value *whole(pawl_stream *r, const item *it, const pawl_value *v, const pawl_value *stand, pawl_err *err);

/* The VALUE of an item, of which nothing but blobs stands apart. */
static const pawl_value *told_whole(pawl_stream *r, const item *it, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(it->refs.list);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&each, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "blob") != 0) {
            fail(err, PAWL_CORRUPT, "%s: what came in refers to what is no blob", r->run);
            return NULL;
        }
    }
    return it->refs.list == NULL ? it->value : whole(r, it, it->value, it->refs.list, err);
}

/* What command n of the visit came to. An answer to the doubt about it says so in words of its own. */
static const pawl_value *told_value(pawl_stream *r, const item *it, uint32_t n, pawl_err *err)
{
    const receipt_at *t = told_find(r, it, n, false);
    const pawl_value *v;
    const item *one;
    pawl_outcome outcome;

    if ((t == NULL || (t->kind == ITEM_ANSWER && told_find(r, it, n, true) == NULL)) && !r->told_all && told_before(r, err) == PAWL_OK)
        t = told_find(r, it, n, false);
    one = t == NULL ? NULL : item_parse(&r->mem, r->receipts.data + t->at, t->size, err);
    v = one == NULL ? NULL : told_whole(r, one, err);
    if (one == NULL || one->kind != ITEM_ANSWER || told_find(r, it, n, true) == NULL)
        return v;
    return doubt_told(v, &r->mem, &outcome, &v) ? v : NULL;
}

/* What came in with this entry: a reducer's "@". */
static const pawl_value *came_in(pawl_stream *r, pawl_err *err)
{
    const item *in = NULL;

    for (const item *it = r->entry->items; it != NULL && it != r->it; it = it->next)
        if (it->kind <= ITEM_SIGNAL || it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER)
            in = it;
    return in == NULL ? NULL : told_whole(r, in, err);
}

static const pawl_value *event_value(pawl_stream *r, const item *it, const char *target, pawl_err *err)
{
    size_t n = strcspn(target, "/");

    if (n == 1 && *target == '@')
        return pawl_value_find(came_in(r, err), target + 1);
    if (n == 0 || n > 9)
        return NULL;
    return pawl_value_find(told_value(r, it, (uint32_t)strtoul(target, NULL, 10), err), target + n);
}

static const pawl_value *blob_value(pawl_stream *r, const char *digest, pawl_err *err)
{
    const pawl_value *v = NULL;
    buf b;

    buf_init(&b, &r->alloc);
    if (stream_blob(r, digest, &b, err) == PAWL_OK)
        v = value_parse(&r->mem, b.data, b.size, "a blob", err);
    buf_free(&b);
    return v;
}

/* A value with what its references stand for; NULL: told. */
static const pawl_value *whole(pawl_stream *r, const item *it, const pawl_value *v, const pawl_value *stand, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(stand);
    const pawl_value *ref;
    pawl_err why = { PAWL_OK, "" };

    if (v == NULL)
        v = value_null(&r->mem);
    while (v != NULL && (ref = pawl_iter_next(&each, NULL)) != NULL) {
        const char *path = pawl_value_string(pawl_value_at(ref, 0)), *form = pawl_value_string(pawl_value_at(ref, 1));
        const char *target = pawl_value_string(pawl_value_at(ref, 2));
        const pawl_value *sub = NULL;

        if (path != NULL && form != NULL && target != NULL)
            sub = strcmp(form, "event") == 0 ? event_value(r, it, target, &why) : strcmp(form, "blob") == 0 ? blob_value(r, target, &why) : NULL;
        v = sub == NULL ? NULL : value_splice(&r->mem, v, path, sub);
    }
    if (v == NULL && r->mem.failed)
        fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    else if (v == NULL)
        fail(err, why.code != PAWL_OK ? why.code : PAWL_CORRUPT, "%s: %s", r->run,
             why.code != PAWL_OK ? why.text : "a write refers to what no line before it has told");
    return v;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static unsigned name_kind(const char *name)
{
    return strcmp(name, "message") == 0 ? PAWL_STREAM_MESSAGES : PAWL_STREAM_CUSTOM;
}

static unsigned item_kind_told(const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_UPDATE:
    case ITEM_PUT:  return PAWL_STREAM_UPDATES;
    case ITEM_EMIT: return name_kind(it->task);
    default:        return PAWL_STREAM_TASKS;
    }
}

unsigned line_kind(const pawl_stream *r)
{
    switch (r->part) {
    case PART_LINE:   return r->entry->erased ? PAWL_STREAM_GAP : PAWL_STREAM_DEBUG;
    case PART_ITEM:   return item_kind_told(r->it);
    case PART_UPDATE: return PAWL_STREAM_UPDATES;
    case PART_EMIT:   return name_kind(r->it->leave->emits[r->sub].name);
    case PART_VALUES: break;
    }
    return PAWL_STREAM_VALUES;
}

static void line_end(pawl_stream *r)
{
    const pawl_entry *e = r->entry;

    r->entry = NULL;
    if (e->record) {
        r->at.line++;
        return;
    }
    r->at = (place){ r->at.seq + 1, 0 };
    r->index = 0;
    r->told_ms = 0;
    r->over = pawl_status_terminal((pawl_status)e->status);
    if (e->closes) {
        told_cut(r, 0);
        r->told_all = true;
    }
}

/* To that item: what covers the records has no place. */
static void item_at(pawl_stream *r, item *it)
{
    while (it != NULL && it->kind == ITEM_RECORDS)
        it = it->next;
    r->it = it;
    r->sub = 0;
    r->part = it == NULL ? PART_VALUES : it->kind != ITEM_LEAVE ? PART_ITEM : it->leave->nemits > 0 ? PART_EMIT : PART_UPDATE;
    if (it == NULL && r->entry->record)
        line_end(r);
}

void line_next(pawl_stream *r)
{
    r->index++;
    switch (r->part) {
    case PART_LINE:
        item_at(r, r->entry->items);
        break;
    case PART_EMIT:
        if (++r->sub == r->it->leave->nemits)
            r->part = PART_UPDATE;
        break;
    case PART_UPDATE:
        r->part = PART_ITEM;
        break;
    case PART_ITEM:
        item_at(r, r->it->next);
        break;
    case PART_VALUES:
        line_end(r);
        break;
    }
}

static int64_t item_time(const item *it)
{
    bool has = it->kind == ITEM_VISIT || it->kind == ITEM_ASK || it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER || it->kind == ITEM_DOUBT ||
               it->kind == ITEM_REFUSAL;

    return has ? it->at : 0;
}

pawl_code line_begin(pawl_stream *r, pawl_bytes line, pawl_err *err)
{
    size_t kept = r->ntold;
    pawl_entry *e;
    pawl_code rc = pawl_entry_read(line, r->step, &e, err);

    if (rc != PAWL_OK)
        return rc;
    if ((r->kinds & (PAWL_STREAM_UPDATES | PAWL_STREAM_MESSAGES | PAWL_STREAM_CUSTOM)) != 0 && !told_line(r, e))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    if (rc == PAWL_OK && r->st != NULL)
        rc = pawl_apply(r->st, e, err);
    if (rc != PAWL_OK) {
        told_cut(r, kept);
        return rc;
    }
    for (const item *it = e->items; it != NULL; it = it->next)
        if (item_time(it) > r->told_ms)
            r->told_ms = item_time(it);
    r->entry = e;
    r->part = PART_LINE;
    return PAWL_OK;
}

/* ---- what a place tells -------------------------------------------------------------------------------------------- */

static void entry_json(buf *b, const pawl_entry *e)
{
    const char *envelope = e->bytes.data + HASH_HEX + 1;

    if (e->record) {
        buf_put(b, e->bytes.data, e->bytes.size);
        return;
    }
    buf_text(b, "{\"body\":");
    buf_put(b, e->items_text, e->bytes.size - (size_t)(e->items_text - e->bytes.data));
    buf_text(b, ",\"envelope\":");
    buf_put(b, envelope, (size_t)(e->items_text - 1 - envelope));
    buf_text(b, ",\"hash\":\"");
    buf_put(b, e->bytes.data, HASH_HEX);
    buf_text(b, "\"}");
}

static void write_json(buf *b, const char *name, const pawl_value *v, unsigned op)
{
    buf_text(b, b->size == 1 ? "[" : ",[");
    canon_string(b, name, strlen(name));
    buf_char(b, ',');
    canon(b, v);
    if (op != OP_MERGE)
        buf_fmt(b, ",\"%s\"", op_names[op]);
    buf_char(b, ']');
}

static pawl_code writes_json(pawl_stream *r, const item *it, const write *w, uint32_t n, pawl_err *err)
{
    buf_char(&r->json, '[');
    for (uint32_t i = 0; i < n; i++) {
        const pawl_value *v = whole(r, it, w[i].value, w[i].refs.list, err);

        if (v == NULL)
            return r->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
        write_json(&r->json, w[i].channel, v, w[i].op);
    }
    buf_char(&r->json, ']');
    return PAWL_OK;
}

static pawl_code update_json(pawl_stream *r, const item *it, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(it->value);
    const pawl_value *key, *v;

    if (it->kind == ITEM_LEAVE)
        return writes_json(r, it, it->leave->writes, it->leave->nwrites, err);
    if (it->kind == ITEM_PUT)
        return writes_json(r, it, it->writes, it->nwrites, err);
    buf_char(&r->json, '[');
    while ((v = pawl_iter_next(&each, &key)) != NULL)
        write_json(&r->json, pawl_value_string(key), v, OP_MERGE);
    buf_char(&r->json, ']');
    return PAWL_OK;
}

static void member(buf *b, const char *name, const pawl_value *v)
{
    if (v == NULL)
        return;
    buf_fmt(b, "%s\"%s\":", b->data[b->size - 1] == '{' ? "" : ",", name);
    canon(b, v);
}

static void object_or_none(buf *b, const pawl_value *v)
{
    if (v != NULL)
        canon(b, v);
    else
        buf_text(b, "null");
}

static void close_json(buf *b, const closing *cl)
{
    buf_text(b, "{\"next\":[");
    for (uint32_t i = 0; i < cl->nnext; i++) {
        buf_text(b, i > 0 ? "," : "");
        canon_string(b, cl->next[i], strlen(cl->next[i]));
    }
    buf_text(b, "]}");
}

static void answer_json(buf *b, const item *it)
{
    buf_char(b, '{');
    if (b->failed)
        return;
    member(b, "by", pawl_value_get(it->more, "by"));
    member(b, "note", pawl_value_get(it->more, "note"));
    if (it->kind == ITEM_RECEIPT)
        buf_fmt(b, "%s\"outcome\":\"%s\"", b->data[b->size - 1] == '{' ? "" : ",", outcome_names[it->outcome]);
    member(b, "overdraft", it->kind == ITEM_RECEIPT ? pawl_value_get(it->more, "overdraft") : NULL);
    member(b, "update", pawl_value_get(it->more, "update"));
    member(b, "usage", pawl_value_get(it->more, "usage"));
    member(b, "value", it->value);
    buf_char(b, '}');
}

static void task_json(buf *b, const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_CALL:
    case ITEM_SPAWN:
    case ITEM_ASK:
    case ITEM_DOUBT:
    case ITEM_FAIL:
    case ITEM_END:
        buf_put(b, it->spec, it->spec_size);
        break;
    case ITEM_SLEEP:
        buf_fmt(b, "{\"due\":%lld}", (long long)it->at);
        break;
    case ITEM_RECEIPT:
    case ITEM_ANSWER:
        answer_json(b, it);
        break;
    case ITEM_VISIT:
    case ITEM_FRAME:
    case ITEM_LEAVE:
        buf_fmt(b, "{\"visit\":%u}", (unsigned)it->visit);
        break;
    case ITEM_SELECT:
        if (it->n == UINT32_MAX)
            buf_fmt(b, "{\"race\":%u,\"visit\":%u,\"won\":null}", (unsigned)it->k, (unsigned)it->visit);
        else
            buf_fmt(b, "{\"race\":%u,\"visit\":%u,\"won\":%u}", (unsigned)it->k, (unsigned)it->visit, (unsigned)it->n);
        break;
    case ITEM_CLOSE:
        close_json(b, it->closing);
        break;
    case ITEM_UNWIND:
        buf_text(b, "{\"reason\":");
        if (it->spec != NULL)
            buf_put(b, it->spec, it->spec_size);
        else
            buf_text(b, "null");
        buf_fmt(b, ",\"status\":\"%s\"}", status_names[it->outcome]);
        break;
    case ITEM_SIGNAL:
        buf_text(b, "{\"name\":");
        canon_string(b, it->task, strlen(it->task));
        buf_text(b, ",\"value\":");
        object_or_none(b, it->value);
        buf_char(b, '}');
        break;
    default:                    /* cancel, reopen, adopt: what came in; drop, turn: nothing */
        object_or_none(b, it->value);
        break;
    }
}

static bool has_id(const item *it)
{
    return it->kind == ITEM_CALL || it->kind == ITEM_SLEEP || it->kind == ITEM_SPAWN || it->kind == ITEM_ASK || it->kind == ITEM_RECEIPT ||
           it->kind == ITEM_ANSWER || it->kind == ITEM_DROP || it->kind == ITEM_DOUBT || it->kind == ITEM_REFUSAL;
}

/* "desk/1/1/worker:3" is of the node worker; "@" of none. */
const char *node_of(pawl_stream *r, const char *path)
{
    const char *last = strrchr(path, '/');

    last = last != NULL ? last + 1 : path;
    return *last == '@' ? "" : arena_strdup(&r->mem, last, strcspn(last, ":"));
}

static void item_head(pawl_stream *r, pawl_stream_event *ev)
{
    const item *it = r->it;

    ev->name = it->kind == ITEM_EMIT ? it->task : item_name(it->kind);
    ev->path = it->kind == ITEM_EMIT || it->kind == ITEM_SIGNAL ? "" : it->task;
    ev->node = node_of(r, ev->path);
    if (item_time(it) > 0)
        ev->time_ms = item_time(it);
    if (r->part == PART_EMIT)
        ev->name = it->leave->emits[r->sub].name;
    if (r->part != PART_ITEM || !has_id(it))
        return;
    buf_fmt(&r->id, "%s~%016llx/", r->run, (unsigned long long)r->life);
    id_code(&r->id, it);
    buf_char(&r->id, '\0');
    ev->id = r->id.data;
}

static pawl_code item_json(pawl_stream *r, unsigned kind, pawl_err *err)
{
    item filled = *r->it;
    const item *it = &filled;
    const pawl_value *v;

    if (it->refs.list != NULL && (filled.value = told_whole(r, it, err)) == NULL)
        return err != NULL && err->code != PAWL_OK ? err->code : r->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (kind == PAWL_STREAM_UPDATES)
        return update_json(r, it, err);
    if (kind == PAWL_STREAM_TASKS) {
        task_json(&r->json, it);
        return PAWL_OK;
    }
    v = it->kind == ITEM_EMIT ? it->value : whole(r, it, it->leave->emits[r->sub].value, it->leave->emits[r->sub].refs.list, err);
    if (v == NULL && it->kind != ITEM_EMIT)
        return r->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    object_or_none(&r->json, v);
    return PAWL_OK;
}

const char *cursor_text(pawl_stream *r, char out[CURSOR_BYTES])
{
    char *pen = pen_uint(out, r->at.seq);

    *pen++ = '.';
    pen = pen_uint(pen, r->index);
    *pen = '\0';
    return out;
}

static pawl_code values_json(pawl_stream *r, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const char *text = pawl_state_json(r->st, r->shown, &why);

    if (text == NULL)
        return fail(err, why.code != PAWL_OK ? why.code : PAWL_NOMEM, "%s", why.text);
    buf_text(&r->json, text);
    return PAWL_OK;
}

pawl_code line_event(pawl_stream *r, pawl_stream_event *ev, pawl_err *err)
{
    const pawl_entry *e = r->entry;
    char from[CURSOR_BYTES];
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    arena_reset(&r->mem);
    buf_reset(&r->json);
    buf_reset(&r->id);
    *ev = (pawl_stream_event){ .kind = (pawl_stream_kind)line_kind(r), .seq = r->at.seq, .index = r->index + 1, .run = r->run, .path = "", .node = "",
                               .time_ms = e->record ? r->told_ms : e->time_ms };
    cursor_text(r, from);
    r->index++;
    ev->cursor = cursor_text(r, r->cursor);
    r->index--;
    if (r->part == PART_LINE) {
        ev->name = e->erased ? "erased" : e->record ? "record" : "entry";
        if (e->erased)
            buf_fmt(&r->json, "{\"from\":\"%s\",\"to\":\"%s\"}", from, ev->cursor);
        else
            entry_json(&r->json, e);
    } else if (r->part == PART_VALUES) {
        ev->name = status_names[e->status];
        rc = values_json(r, &why);
    } else {
        item_head(r, ev);
        rc = item_json(r, ev->kind, &why);
    }
    buf_char(&r->json, '\0');
    if (r->json.failed || r->id.failed || r->mem.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for an event", r->run);
    ev->json = r->json.data;
    return rc == PAWL_OK ? rc : fail(err, why.code != PAWL_OK ? why.code : rc, "%s", why.text);
}
