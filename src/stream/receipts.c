/* receipts.c - keeps receipts and answers of the open superstep, and fills in the references of values (docs/INTERFACES.md, References).
 *
 * Owns the kept receipts of a line_walk. Called by walk.c for each line that is read, by stream_events.c and items.c for each value that is wanted. No
 * lock: a line_walk belongs to its reader's thread. Receipts are kept from their line until the superstep closes. */
#include "kernel/compensation.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "stream/walk.h"

#include <stdlib.h>
#include <string.h>

static bool is_receipt(const item *it)
{
    return (it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER || it->kind == ITEM_DOUBT) && *it->task != '@';
}

void receipts_cut(line_walk *w, size_t count)
{
    while (w->nreceipts > count) {
        kept_receipt *t = &w->kept[--w->nreceipts];

        w->texts.size = t->at;
        mem_free(&w->alloc, t->task, strlen(t->task) + 1);
    }
    w->texts.failed = false;
}

void receipts_free(line_walk *w)
{
    receipts_cut(w, 0);
    mem_free(&w->alloc, w->kept, w->receipts_cap * sizeof *w->kept);
}

static bool receipt_keep(line_walk *w, const item *it, const char *text)
{
    kept_receipt *t;

    if (!mem_room(&w->alloc, (void **)&w->kept, &w->receipts_cap, w->nreceipts, sizeof *w->kept))
        return false;
    t = &w->kept[w->nreceipts];
    *t = (kept_receipt){ .task = mem_text(&w->alloc, it->task), .visit = it->visit, .n = it->n, .kind = it->kind, .at = w->texts.size,
                       .size = it->text_size };
    if (t->task == NULL)
        return false;
    w->nreceipts++;
    buf_put(&w->texts, text, it->text_size);
    return !w->texts.failed;
}

bool receipts_keep(line_walk *w, const pawl_entry *e)
{
    for (const item *it = e->items; it != NULL; it = it->next)
        if (is_receipt(it) && !receipt_keep(w, it, e->items_text + it->text_at))
            return false;
    return true;
}

/* A base may be in the middle of a superstep. */
static pawl_code receipts_of_base(line_walk *w, const pawl_value *fold, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(fold, "open"));
    const pawl_value *v;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text;
        const item *one = item_of_value(&w->mem, v, &text, err);

        if (one == NULL || (is_receipt(one) && !receipt_keep(w, one, text)))
            rc = one == NULL && !w->mem.failed ? PAWL_CORRUPT : PAWL_NOMEM;
        else if (one->kind == ITEM_FRAME)
            rc = receipts_of_base(w, one->more, err);
    }
    return rc;
}

/* Keeps the receipts of lines before this seq that belong to the open superstep; *found: where it began. */
static pawl_code receipts_of_lines(line_walk *w, const buf *lines, size_t kept, bool *found, pawl_err *err)
{
    const char *at = lines->data, *end = lines->size > 0 ? at + lines->size : at;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_entry *e;

        if (*at == '{') {
            const pawl_value *base = value_read(&w->mem, at, (size_t)(nl - at), "a base", err);

            *found = true;
            rc = base == NULL ? PAWL_CORRUPT : receipts_of_base(w, pawl_value_get(base, "fold"), err);
        } else if ((rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, w->shown, &e, err)) == PAWL_OK) {
            rc = receipts_keep(w, e) ? PAWL_OK : PAWL_NOMEM;
            if (e->closes)
                receipts_cut(w, kept);
            *found = *found || e->closes;
        }
        at = nl + 1;
    }
    return rc;
}

/* A reader may start in the middle of a superstep: then the earlier lines of the superstep are read. */
static pawl_code receipts_before(line_walk *w, pawl_err *err)
{
    size_t kept = w->nreceipts;
    bool found = false;
    pawl_code rc = PAWL_OK;
    buf lines;

    if (w->source == NULL)
        return fail(err, PAWL_GONE, "%s: what was stored before entry %llu is not at hand", w->run, (unsigned long long)w->at.seq);
    buf_init(&lines, &w->alloc);
    for (uint64_t back = 16; rc == PAWL_OK && !found; back *= 4) {
        uint64_t upto = w->at.seq - 1, after = upto > back && upto - back > w->base_seq ? upto - back : w->base_seq;

        buf_reset(&lines);
        rc = w->source->lines(w->source_ctx, after, upto, &lines, err);
        if (rc == PAWL_OK && lines.failed)
            rc = PAWL_NOMEM;
        if (rc == PAWL_OK)
            rc = receipts_of_lines(w, &lines, kept, &found, err);
        if (!found || rc != PAWL_OK)
            receipts_cut(w, kept);
        found = found || after == w->base_seq;
    }
    w->receipts_whole = rc == PAWL_OK;
    buf_free(&lines);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for an event", w->run) : rc;
}

/* ---- values with their references filled in ------------------------------------------------------------------- */

/* The last kept item of that number: with `doubt` a question about its outcome, else a receipt or an answer. */
static const kept_receipt *receipt_find(const line_walk *w, const item *it, uint32_t n, bool doubt)
{
    for (size_t i = w->nreceipts; i-- > 0;)
        if (w->kept[i].n == n && w->kept[i].visit == it->visit && (w->kept[i].kind == ITEM_DOUBT) == doubt && strcmp(w->kept[i].task, it->task) == 0)
            return &w->kept[i];
    return NULL;
}

/* The VALUE of an item that has no references except blobs. */
const pawl_value *item_value(line_walk *w, const item *it, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(it->refs.list);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&each, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "blob") != 0) {
            fail(err, PAWL_CORRUPT, "%s: what came in refers to what is no blob", w->run);
            return NULL;
        }
    }
    return it->refs.list == NULL ? it->value : value_whole(w, it, it->value, it->refs.list, err);
}

/* The result of command n of the visit. An answer about an unknown outcome has another form. */
static const pawl_value *command_result(line_walk *w, const item *it, uint32_t n, pawl_err *err)
{
    const kept_receipt *t = receipt_find(w, it, n, false);
    const pawl_value *v;
    const item *one;
    pawl_outcome outcome;

    if ((t == NULL || (t->kind == ITEM_ANSWER && receipt_find(w, it, n, true) == NULL)) && !w->receipts_whole && receipts_before(w, err) == PAWL_OK)
        t = receipt_find(w, it, n, false);
    one = t == NULL ? NULL : item_parse(&w->mem, w->texts.data + t->at, t->size, err);
    v = one == NULL ? NULL : item_value(w, one, err);
    if (one == NULL || one->kind != ITEM_ANSWER || receipt_find(w, it, n, true) == NULL)
        return v;
    return doubt_answer_read(v, &w->mem, &outcome, &v) ? v : NULL;
}

/* The event of this entry: the "@" of a reducer. */
static const pawl_value *input_value(line_walk *w, pawl_err *err)
{
    const item *in = NULL;

    for (const item *it = w->entry->items; it != NULL && it != w->it; it = it->next)
        if (it->kind <= ITEM_SIGNAL || it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER)
            in = it;
    return in == NULL ? NULL : item_value(w, in, err);
}

static const pawl_value *event_part(line_walk *w, const item *it, const char *target, pawl_err *err)
{
    size_t n = strcspn(target, "/");

    if (n == 1 && *target == '@')
        return pawl_value_find(input_value(w, err), target + 1);
    if (n == 0 || n > 9)
        return NULL;
    return pawl_value_find(command_result(w, it, (uint32_t)strtoul(target, NULL, 10), err), target + n);
}

static pawl_code blob_bytes(line_walk *w, const char *digest, buf *out, pawl_err *err)
{
    if (w->source == NULL)
        return fail(err, PAWL_GONE, "%s: blob %.12s is not at hand", w->run, digest);
    return w->source->blob(w->source_ctx, digest, out, err);
}

static const pawl_value *blob_read(line_walk *w, const char *digest, pawl_err *err)
{
    const pawl_value *v = NULL;
    buf b;

    buf_init(&b, &w->alloc);
    if (blob_bytes(w, digest, &b, err) == PAWL_OK)
        v = value_parse(&w->mem, b.data, b.size, "a blob", err);
    buf_free(&b);
    return v;
}

/* A value with its references filled in; NULL: see err. */
const pawl_value *value_whole(line_walk *w, const item *it, const pawl_value *v, const pawl_value *stand, pawl_err *err)
{
    pawl_iter each = pawl_iter_of(stand);
    const pawl_value *ref;
    pawl_err why = { PAWL_OK, "" };

    if (v == NULL)
        v = value_null(&w->mem);
    while (v != NULL && (ref = pawl_iter_next(&each, NULL)) != NULL) {
        const char *path = pawl_value_string(pawl_value_at(ref, 0)), *form = pawl_value_string(pawl_value_at(ref, 1));
        const char *target = pawl_value_string(pawl_value_at(ref, 2));
        const pawl_value *sub = NULL;

        if (path != NULL && form != NULL && target != NULL)
            sub = strcmp(form, "event") == 0 ? event_part(w, it, target, &why) : strcmp(form, "blob") == 0 ? blob_read(w, target, &why) : NULL;
        v = sub == NULL ? NULL : value_splice(&w->mem, v, path, sub);
    }
    if (v == NULL && w->mem.failed)
        fail(err, PAWL_NOMEM, "%s: no memory for an event", w->run);
    else if (v == NULL)
        fail(err, why.code != PAWL_OK ? why.code : PAWL_CORRUPT, "%s: %s", w->run,
             why.code != PAWL_OK ? why.text : "a write refers to what no line before it has told");
    return v;
}
