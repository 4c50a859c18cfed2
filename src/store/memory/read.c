/* read.c - reads of a store in memory: journals, heads, lists, due runs, waits; the check of the whole store.
 *
 * Owns nothing. Called through the verbs load, snapshot, read, blob, head, list, waits, due, next_due and check; one thread at a time. */
#include "store/memory/memory.h"

/* ---- journals ------------------------------------------------------------------------------------------ */

static pawl_code run_to_read(memory_space *m, const char *id, bool has_callback, stored_run **r, pawl_err *err)
{
    pawl_code rc = run_find(m, id, r, err);

    if (rc == PAWL_OK && !has_callback)
        rc = fail(err, PAWL_INVALID, "%s: a read needs a callback", id);
    return rc;
}

/* The lines between two offsets of the text; the first entry among them is seq + 1. */
static void lines_emit(const stored_run *r, size_t from, size_t to, uint64_t seq, pawl_line_fn *fn, void *ctx)
{
    while (from < to) {
        const char *data = r->text.data + from, *end = memchr(data, '\n', to - from);
        pawl_bytes line = { data, (size_t)(end - data) };
        bool record = store_line_is_record(line);

        from += line.size + 1;
        if (!fn(ctx, record ? PAWL_LINE_RECORD : PAWL_LINE_ENTRY, seq + 1, line))
            return;
        seq += record ? 0 : 1;
    }
}

pawl_code memory_load(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    uint64_t seq;
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, fn != NULL, &r, err);

    if (rc != PAWL_OK)
        return rc;
    seq = r->base.seq;
    if (!fn(ctx, PAWL_LINE_BASE, seq, r->base_text))
        return PAWL_OK;
    if (r->snapshot.size > 0) {
        seq = r->snapshot_seq;
        if (!fn(ctx, PAWL_LINE_SNAPSHOT, seq, r->snapshot))
            return PAWL_OK;
        seq += BROKEN(BROKEN_SNAPSHOT) && seq < r->head.seq;
    }
    lines_emit(r, run_end_of(r, seq), r->text.size, seq, fn, ctx);
    return PAWL_OK;
}

/* A snapshot in memory cannot be damaged, so it has no digest. */
pawl_code memory_snapshot(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, fn != NULL, &r, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->snapshot.size == 0)
        return fail(err, PAWL_GONE, "%s: it has no snapshot", id);
    fn(ctx, PAWL_LINE_SNAPSHOT, r->snapshot_seq, r->snapshot);
    return PAWL_OK;
}

pawl_code memory_read(pawl_store *s, const char *id, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, fn != NULL, &r, err);
    size_t to;

    if (rc != PAWL_OK)
        return rc;
    if (after < r->base.seq)
        return fail(err, PAWL_GONE, "%s: what is before entry %llu was pruned", id, (unsigned long long)r->base.seq + 1);
    if (after == 0 && !fn(ctx, PAWL_LINE_BASE, 0, r->base_text))
        return PAWL_OK;
    if (after > r->head.seq || (upto != 0 && upto <= after))
        return PAWL_OK;
    to = upto == 0 || upto > r->head.seq ? r->text.size : run_end_of(r, upto);
    lines_emit(r, run_end_of(r, after), to, after, fn, ctx);
    return PAWL_OK;
}

pawl_code memory_blob(pawl_store *s, const char *id, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, fn != NULL && digest != NULL, &r, err);
    const stored_blob *b;

    if (rc != PAWL_OK)
        return rc;
    if ((b = (const stored_blob *)table_find(&r->blobs, digest)) == NULL)
        return fail(err, PAWL_GONE, "%s: it has no blob %.64s", id, digest);
    fn(ctx, (pawl_line_kind)0, 0, b->bytes);
    return PAWL_OK;
}

/* ---- heads ------------------------------------------------------------------------------------------------- */

pawl_code memory_head(pawl_store *s, const char *id, pawl_head *head, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, head != NULL, &r, err);

    if (rc == PAWL_OK)
        *head = r->head;
    return rc;
}

pawl_code memory_look(pawl_store *s, const char *id, pawl_look *look, pawl_err *err)
{
    stored_run *r;
    pawl_code rc = run_to_read(space_of(s), id, look != NULL, &r, err);

    if (look != NULL)
        look->head = (pawl_head){ .run = NULL };
    if (rc != PAWL_OK)
        return rc;
    if (look->fn != NULL)
        rc = look->load ? memory_load(s, id, look->fn, look->ctx, err) : memory_read(s, id, look->after, look->upto, look->fn, look->ctx, err);
    look->head = r->head;
    look->version = space_of(s)->all->version;
    return rc;
}

static bool text_matches(const char *asked, const char *text)
{
    return asked == NULL || (text != NULL && strcmp(asked, text) == 0);
}

static bool has_label(const stored_run *r, const char *label)
{
    for (size_t i = 0; i < r->base.nlabels; i++)
        if (strcmp(label, r->base.labels[i]) == 0)
            return true;
    return false;
}

static bool filter_matches(const pawl_filter *f, const stored_run *r)
{
    const pawl_head *h = &r->head;

    return (f->begins == NULL || strncmp(h->run, f->begins, strlen(f->begins)) == 0) && text_matches(f->machine, h->machine) &&
           text_matches(f->context, h->context) && text_matches(f->parent, h->parent) &&
           (f->label == NULL || has_label(r, f->label)) && (f->status == 0 || f->status == 1 + h->status) &&
           (!f->waiting || h->waits > 0) && (!f->parked || h->parked != NULL) && (!f->held || h->owner != NULL) && h->changed_ms >= f->changed_since_ms;
}

pawl_code memory_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter any;
    memory_space *m = space_of(s);
    size_t i, limit;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list needs a callback");
    if (f == NULL)
        f = &any;
    limit = f->limit == 0 ? STORE_LIST_LIMIT : f->limit;
    i = f->before == 0 ? m->runs.count : run_index(m, f->before);
    while (i-- > 0 && limit > 0) {
        if (!filter_matches(f, m->order[i]))
            continue;
        limit--;
        if (!fn(ctx, &m->order[i]->head))
            break;
    }
    return PAWL_OK;
}

pawl_code memory_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of due runs needs a callback");
    order_walk(space_of(s), now_ms, memory_now(s), after, limit, fn, ctx);
    return PAWL_OK;
}

int64_t memory_next_due(pawl_store *s)
{
    const heap_of_runs *h = &space_of(s)->heaps[BY_WAKE];

    return h->count == 0 ? 0 : h->items[0]->key[BY_WAKE];
}

/* ---- waits -------------------------------------------------------------------------------------------------- */

static bool waits_emit(const stored_run *r, pawl_waiting_fn *fn, void *ctx)
{
    for (const node *n = r->open.first; n != NULL; n = n->next) {
        const stored_wait *w = (const stored_wait *)n;
        pawl_waiting wait = { .id = n->key, .spec = w->text, .asked_ms = w->asked_ms, .answered = w->answer != NULL };

        if (!fn(ctx, r->at.key, &wait))
            return false;
    }
    return true;
}

pawl_code memory_waits(pawl_store *s, const char *id, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    memory_space *m = space_of(s);
    stored_run *r;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "a list of waits needs a callback");
    if (id != NULL) {
        if ((rc = run_find(m, id, &r, err)) == PAWL_OK)
            waits_emit(r, fn, ctx);
        return rc;
    }
    for (size_t i = 0; i < m->runs.count; i++)
        if (!waits_emit(m->order[i], fn, ctx))
            break;
    return PAWL_OK;
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

static pawl_code run_check(const stored_run *r, pawl_err *err)
{
    hash digest;
    char hex[HASH_HEX + 1];

    if (r->head.seq != r->base.seq + r->nentries || (r->nentries > 0 && r->entry_ends[r->nentries - 1] > r->text.size))
        return fail(err, PAWL_CORRUPT, "%s: its number of entries is not that of its head", r->at.key);
    for (const node *n = r->blobs.first; n != NULL; n = n->next) {
        hash_of(((const stored_blob *)n)->bytes.data, ((const stored_blob *)n)->bytes.size, &digest);
        hash_hex(&digest, hex);
        if (strcmp(hex, n->key) != 0)
            return fail(err, PAWL_CORRUPT, "%s: the bytes of blob %s do not match its digest", r->at.key, n->key);
    }
    return PAWL_OK;
}

pawl_code memory_check(pawl_store *s, pawl_err *err)
{
    memory_space *m = space_of(s);
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < m->runs.count && rc == PAWL_OK; i++)
        rc = run_check(m->order[i], err);
    return rc;
}
