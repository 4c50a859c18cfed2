/* stream_events.c - a place of the journal as a stream event: name, task, id, JSON (docs/INTERFACES.md, Streams).
 *
 * Called by reader.c for streams and by items_reader.c for the JSON of a change. Pure. No lock: a line_walk belongs to one thread. Results are in the
 * walk's arena and buffers until the next event. */
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

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

static pawl_code writes_json(line_walk *w, const item *it, const item_write *all, uint32_t n, pawl_err *err)
{
    buf_char(&w->json, '[');
    for (uint32_t i = 0; i < n; i++) {
        const pawl_value *v = value_whole(w, it, all[i].value, all[i].refs.list, err);

        if (v == NULL)
            return w->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
        write_json(&w->json, all[i].channel, v, all[i].op);
    }
    buf_char(&w->json, ']');
    return PAWL_OK;
}

static pawl_code update_json(line_walk *w, const item *it, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(it->value);
    const pawl_value *key, *v;

    if (it->kind == ITEM_LEAVE)
        return writes_json(w, it, it->leave->writes, it->leave->nwrites, err);
    if (it->kind == ITEM_PUT)
        return writes_json(w, it, it->writes, it->nwrites, err);
    buf_char(&w->json, '[');
    while ((v = pawl_iter_next(&each, &key)) != NULL)
        write_json(&w->json, pawl_value_string(key), v, OP_MERGE);
    buf_char(&w->json, ']');
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
    case ITEM_SIGN:
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
    default:                    /* cancel, reopen, adopt: the event; drop, turn: null */
        object_or_none(b, it->value);
        break;
    }
}

/* The node of "desk/1/1/worker:3" is worker; "@" has none. */
const char *node_of(line_walk *w, const char *path)
{
    const char *last = strrchr(path, '/');

    last = last != NULL ? last + 1 : path;
    return *last == '@' ? "" : arena_strdup(&w->mem, last, strcspn(last, ":"));
}

static void item_head(line_walk *w, pawl_stream_event *ev)
{
    const item *it = w->it;

    ev->name = it->kind == ITEM_EMIT ? it->task : item_name(it->kind);
    ev->path = it->kind == ITEM_EMIT || it->kind == ITEM_SIGNAL ? "" : it->task;
    ev->node = node_of(w, ev->path);
    if (item_time(it) > 0)
        ev->time_ms = item_time(it);
    if (w->part == PART_EMIT)
        ev->name = it->leave->emits[w->sub].name;
    if (w->part != PART_ITEM || !item_has_id(it->kind))
        return;
    buf_fmt(&w->id, "%s~%016llx/", w->run, (unsigned long long)w->life);
    id_code(&w->id, it);
    buf_char(&w->id, '\0');
    ev->id = w->id.data;
}

static pawl_code item_json(line_walk *w, unsigned kind, pawl_err *err)
{
    item filled = *w->it;
    const item *it = &filled;
    const pawl_value *v;

    if (it->refs.list != NULL && (filled.value = item_value(w, it, err)) == NULL)
        return err != NULL && err->code != PAWL_OK ? err->code : w->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (kind == PAWL_STREAM_UPDATES)
        return update_json(w, it, err);
    if (kind == PAWL_STREAM_TASKS) {
        task_json(&w->json, it);
        return PAWL_OK;
    }
    if (kind == PAWL_STREAM_DEBUG) {    /* the name of a snapshot */
        object_or_none(&w->json, it->value);
        return PAWL_OK;
    }
    v = it->kind == ITEM_EMIT ? it->value : value_whole(w, it, it->leave->emits[w->sub].value, it->leave->emits[w->sub].refs.list, err);
    if (v == NULL && it->kind != ITEM_EMIT)
        return w->mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    object_or_none(&w->json, v);
    return PAWL_OK;
}

const char *cursor_text(const line_walk *w, char out[CURSOR_BYTES])
{
    char *pen = pen_uint(out, w->at.seq);

    *pen++ = '.';
    pen = pen_uint(pen, w->index);
    *pen = '\0';
    return out;
}

static pawl_code values_json(line_walk *w, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const char *text = pawl_state_json(w->st, w->shown, &why);

    if (text == NULL)
        return fail(err, why.code != PAWL_OK ? why.code : PAWL_NOMEM, "%s", why.text);
    buf_text(&w->json, text);
    return PAWL_OK;
}

pawl_code line_head(line_walk *w, pawl_stream_event *ev, pawl_err *err)
{
    const pawl_entry *e = w->entry;

    buf_reset(&w->id);
    *ev = (pawl_stream_event){ .kind = (pawl_stream_kind)line_kind(w), .seq = w->at.seq, .index = w->index + 1, .run = w->run, .path = "", .node = "",
                               .json = "", .time_ms = e->record ? w->latest_ms : e->time_ms };
    w->index++;
    ev->cursor = cursor_text(w, w->cursor);
    w->index--;
    if (w->part == PART_LINE)
        ev->name = e->erased ? "erased" : e->record ? "record" : "entry";
    else if (w->part == PART_VALUES)
        ev->name = status_names[e->status];
    else
        item_head(w, ev);
    return w->id.failed || w->mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for an event", w->run) : PAWL_OK;
}

static pawl_code json_written(line_walk *w, pawl_err *err)
{
    char from[CURSOR_BYTES];

    if (w->part == PART_VALUES)
        return values_json(w, err);
    if (w->part != PART_LINE)
        return item_json(w, line_kind(w), err);
    if (w->entry->erased)
        buf_fmt(&w->json, "{\"from\":\"%s\",\"to\":\"%s\"}", cursor_text(w, from), w->cursor);
    else
        entry_json(&w->json, w->entry);
    return PAWL_OK;
}

pawl_code line_json(line_walk *w, const char **json, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    buf_reset(&w->json);
    rc = json_written(w, &why);
    buf_char(&w->json, '\0');
    *json = w->json.data;
    if (w->json.failed || w->mem.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for an event", w->run);
    return rc == PAWL_OK ? rc : fail(err, why.code != PAWL_OK ? why.code : rc, "%s", why.text);
}

pawl_code line_event(line_walk *w, pawl_stream_event *ev, pawl_err *err)
{
    pawl_code rc;

    arena_reset(&w->mem);
    rc = line_head(w, ev, err);
    return rc == PAWL_OK ? line_json(w, &ev->json, err) : rc;
}
