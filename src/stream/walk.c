/* walk.c - the places of journal lines: one for each line itself, those of its items, and one for the values after an entry (docs/INTERFACES.md,
 * Streams). A cursor names a place.
 *
 * Called by the readers (reader.c) and by those that project a journal without a store. Pure: time and store are the caller's. No lock: a line_walk
 * belongs to one thread. Invariant: from line_begin() to the last line_next() of a line, entry is set and `part` tells the current place. */
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "stream/walk.h"

#include <string.h>

void walk_init(line_walk *w, const pawl_alloc *alloc, const char *run)
{
    *w = (line_walk){ .alloc = *alloc, .run = run, .keeps = true };
    arena_init(&w->mem, alloc, 1024);
    buf_init(&w->json, alloc);
    buf_init(&w->id, alloc);
    buf_init(&w->texts, alloc);
    w->step = pawl_step_new(alloc);
    w->shown = pawl_step_new(alloc);
}

bool walk_ready(const line_walk *w)
{
    return w->step != NULL && w->shown != NULL;
}

void walk_free(line_walk *w)
{
    receipts_free(w);
    pawl_state_free(w->st);
    pawl_step_free(w->step);
    pawl_step_free(w->shown);
    arena_free(&w->mem);
    buf_free(&w->json);
    buf_free(&w->id);
    buf_free(&w->texts);
}

static unsigned name_kind(const char *name)
{
    return strcmp(name, "message") == 0 ? PAWL_STREAM_MESSAGES : PAWL_STREAM_CUSTOM;
}

static unsigned item_stream_kind(const item *it)
{
    switch ((item_kind)it->kind) {
    case ITEM_START:
    case ITEM_INPUT:
    case ITEM_PUT:  return PAWL_STREAM_UPDATES;
    case ITEM_UPDATE: return snapshot_is_name(it) ? PAWL_STREAM_DEBUG : PAWL_STREAM_UPDATES;
    case ITEM_EMIT: return name_kind(it->task);
    default:        return PAWL_STREAM_TASKS;
    }
}

unsigned line_kind(const line_walk *w)
{
    switch (w->part) {
    case PART_LINE:   return w->entry->erased ? PAWL_STREAM_GAP : PAWL_STREAM_DEBUG;
    case PART_ITEM:   return item_stream_kind(w->it);
    case PART_UPDATE: return PAWL_STREAM_UPDATES;
    case PART_EMIT:   return name_kind(w->it->leave->emits[w->sub].name);
    case PART_VALUES: break;
    }
    return PAWL_STREAM_VALUES;
}

static void line_end(line_walk *w)
{
    const pawl_entry *e = w->entry;

    w->entry = NULL;
    if (e->record) {
        w->at.line++;
        return;
    }
    w->at = (place){ w->at.seq + 1, 0 };
    w->index = 0;
    w->latest_ms = 0;
    w->over = pawl_status_terminal((pawl_status)e->status);
    if (e->closes) {
        receipts_cut(w, 0);
        w->receipts_whole = true;
    }
}

/* Moves to that item; the item `records` has no place. */
static void item_at(line_walk *w, item *it)
{
    while (it != NULL && it->kind == ITEM_RECORDS)
        it = it->next;
    w->it = it;
    w->sub = 0;
    w->part = it == NULL ? PART_VALUES : it->kind != ITEM_LEAVE ? PART_ITEM : it->leave->nemits > 0 ? PART_EMIT : PART_UPDATE;
    if (it == NULL && w->entry->record)
        line_end(w);
}

void line_next(line_walk *w)
{
    w->index++;
    switch (w->part) {
    case PART_LINE:
        item_at(w, w->entry->items);
        break;
    case PART_EMIT:
        if (++w->sub == w->it->leave->nemits)
            w->part = PART_UPDATE;
        break;
    case PART_UPDATE:
        w->part = PART_ITEM;
        break;
    case PART_ITEM:
        item_at(w, w->it->next);
        break;
    case PART_VALUES:
        line_end(w);
        break;
    }
}

int64_t item_time(const item *it)
{
    bool has = it->kind == ITEM_VISIT || it->kind == ITEM_ASK || it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER || it->kind == ITEM_DOUBT ||
               it->kind == ITEM_REFUSAL || it->kind == ITEM_SIGN;

    return has ? it->at : 0;
}

pawl_code line_begin(line_walk *w, pawl_bytes line, pawl_err *err)
{
    size_t kept = w->nreceipts;
    pawl_entry *e;
    pawl_code rc = pawl_entry_read(line, w->step, &e, err);

    if (rc != PAWL_OK)
        return rc;
    if (w->keeps && !receipts_keep(w, e))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for an event", w->run);
    if (rc == PAWL_OK && w->st != NULL)
        rc = pawl_apply(w->st, e, err);
    if (rc != PAWL_OK) {
        receipts_cut(w, kept);
        return rc;
    }
    for (const item *it = e->items; it != NULL; it = it->next)
        if (item_time(it) > w->latest_ms)
            w->latest_ms = item_time(it);
    w->entry = e;
    w->part = PART_LINE;
    return PAWL_OK;
}
