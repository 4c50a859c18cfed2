/* read.c - journals, heads, lists, waits and the check are read from memory.
 *
 * Owns nothing. Called through the verbs load, snapshot, read, blob, head, list, waits and check; one thread at a time. */
#include "store/memory/memory.h"

/* ---- journals ------------------------------------------------------------------------------------------ */

static pawl_code reader(memory *m, const char *id, bool told, run **r, pawl_err *err)
{
    pawl_code rc = run_find(m, id, r, err);

    if (rc == PAWL_OK && !told)
        rc = fail(err, PAWL_INVALID, "%s: it is read for nobody", id);
    return rc;
}

/* Lines of the text from one place to another; the first entry among them is the one after `seq`. */
static void lines_tell(const run *r, size_t from, size_t to, uint64_t seq, pawl_line_fn *fn, void *ctx)
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
    run *r;
    pawl_code rc = reader(memory_of(s), id, fn != NULL, &r, err);

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
    lines_tell(r, run_end_of(r, seq), r->text.size, seq, fn, ctx);
    return PAWL_OK;
}

/* What is kept in memory is what was given: it has no digest. */
pawl_code memory_snapshot(pawl_store *s, const char *id, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    run *r;
    pawl_code rc = reader(memory_of(s), id, fn != NULL, &r, err);

    if (rc != PAWL_OK)
        return rc;
    if (r->snapshot.size == 0)
        return fail(err, PAWL_GONE, "%s: it has no snapshot", id);
    fn(ctx, PAWL_LINE_SNAPSHOT, r->snapshot_seq, r->snapshot);
    return PAWL_OK;
}

pawl_code memory_read(pawl_store *s, const char *id, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    run *r;
    pawl_code rc = reader(memory_of(s), id, fn != NULL, &r, err);
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
    lines_tell(r, run_end_of(r, after), to, after, fn, ctx);
    return PAWL_OK;
}

pawl_code memory_blob(pawl_store *s, const char *id, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    run *r;
    pawl_code rc = reader(memory_of(s), id, fn != NULL && digest != NULL, &r, err);
    const blob *b;

    if (rc != PAWL_OK)
        return rc;
    if ((b = (const blob *)table_find(&r->blobs, digest)) == NULL)
        return fail(err, PAWL_GONE, "%s: it has no blob %.64s", id, digest);
    fn(ctx, (pawl_line_kind)0, 0, b->bytes);
    return PAWL_OK;
}

/* ---- heads ------------------------------------------------------------------------------------------------- */

pawl_code memory_head(pawl_store *s, const char *id, pawl_head *head, pawl_err *err)
{
    run *r;
    pawl_code rc = reader(memory_of(s), id, head != NULL, &r, err);

    if (rc == PAWL_OK)
        *head = r->head;
    return rc;
}

static bool is_text(const char *asked, const char *text)
{
    return asked == NULL || (text != NULL && strcmp(asked, text) == 0);
}

static bool has_label(const run *r, const char *label)
{
    for (size_t i = 0; i < r->base.nlabels; i++)
        if (strcmp(label, r->base.labels[i]) == 0)
            return true;
    return false;
}

static bool passes(const pawl_filter *f, const run *r)
{
    const pawl_head *h = &r->head;

    return (f->begins == NULL || strncmp(h->run, f->begins, strlen(f->begins)) == 0) && is_text(f->machine, h->machine) &&
           is_text(f->context, h->context) && is_text(f->parent, h->parent) &&
           (f->label == NULL || has_label(r, f->label)) && (f->status == 0 || f->status == 1 + h->status) &&
           (!f->waiting || h->waits > 0) && (!f->parked || h->parked != NULL) && (!f->held || h->owner != NULL) && h->changed_ms >= f->changed_since_ms;
}

pawl_code memory_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter any;
    memory *m = memory_of(s);
    size_t i, limit;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "runs are listed for nobody");
    if (f == NULL)
        f = &any;
    limit = f->limit == 0 ? STORE_LIST_LIMIT : f->limit;
    i = f->before == 0 ? m->runs.count : run_index(m, f->before);
    while (i-- > 0 && limit > 0) {
        if (!passes(f, m->order[i]))
            continue;
        limit--;
        if (!fn(ctx, &m->order[i]->head))
            break;
    }
    return PAWL_OK;
}

/* ---- waits -------------------------------------------------------------------------------------------------- */

static bool waits_tell(const run *r, pawl_waiting_fn *fn, void *ctx)
{
    for (const node *n = r->open.first; n != NULL; n = n->next) {
        const waiting *w = (const waiting *)n;
        pawl_waiting told = { .id = n->key, .spec = w->text, .asked_ms = w->asked_ms, .answered = w->given != NULL };

        if (!fn(ctx, r->at.key, &told))
            return false;
    }
    return true;
}

pawl_code memory_waits(pawl_store *s, const char *id, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    memory *m = memory_of(s);
    run *r;
    pawl_code rc;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "waits are told to nobody");
    if (id != NULL) {
        if ((rc = run_find(m, id, &r, err)) == PAWL_OK)
            waits_tell(r, fn, ctx);
        return rc;
    }
    for (size_t i = 0; i < m->runs.count; i++)
        if (!waits_tell(m->order[i], fn, ctx))
            break;
    return PAWL_OK;
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

static pawl_code run_check(const run *r, pawl_err *err)
{
    hash digest;
    char hex[HASH_HEX + 1];

    if (r->head.seq != r->base.seq + r->nends || (r->nends > 0 && r->ends[r->nends - 1] > r->text.size))
        return fail(err, PAWL_CORRUPT, "%s: it has not as many entries as it says", r->at.key);
    for (const node *n = r->blobs.first; n != NULL; n = n->next) {
        hash_of(((const blob *)n)->bytes.data, ((const blob *)n)->bytes.size, &digest);
        hash_hex(&digest, hex);
        if (strcmp(hex, n->key) != 0)
            return fail(err, PAWL_CORRUPT, "%s: the bytes of blob %s are other ones", r->at.key, n->key);
    }
    return PAWL_OK;
}

pawl_code memory_check(pawl_store *s, pawl_err *err)
{
    memory *m = memory_of(s);
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < m->runs.count && rc == PAWL_OK; i++)
        rc = run_check(m->order[i], err);
    return rc;
}
