/* journal.c - the lines of a run: the newest in its head, the others in segments, which are parts.
 *
 * Called by append.c, read.c and sweep.c. Invariant: the lines are those of the indexes' segments, of the segments and of the tail, in this order; a segment
 * holds whole lines, up to the entry `upto` and the records behind it. */
#include "store/simple/simple.h"

/* ---- reading --------------------------------------------------------------------------------------- */

typedef struct segment_walk {
    simple_run *r;
    uint64_t after, upto;       /* upto 0: all */
    pawl_line_fn *fn;
    void *ctx;
    uint64_t seq;               /* of the entry before */
    bool stopped;
} segment_walk;

static bool walk_is_over(const segment_walk *w)
{
    return w->stopped || (w->upto != 0 && w->seq >= w->upto);
}

static void text_walk(segment_walk *w, pawl_bytes text)
{
    for (size_t at = 0; at < text.size && !walk_is_over(w);) {
        const char *line = text.data + at, *end = memchr(line, '\n', text.size - at);
        const pawl_bytes one = { line, end == NULL ? text.size - at : (size_t)(end - line) };
        const bool record = store_line_is_record(one);

        at += one.size + 1;
        if (w->seq >= w->after && !w->fn(w->ctx, record ? PAWL_LINE_RECORD : PAWL_LINE_ENTRY, w->seq + 1, one))
            w->stopped = true;
        w->seq += !record;
    }
}

/* A segment up to the entry `after` may have records that come after it. */
static pawl_code segments_walk(segment_walk *w, const simple_segment *all, size_t n, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    pawl_bytes text;

    for (size_t i = 0; i < n && rc == PAWL_OK && !walk_is_over(w); i++) {
        if (all[i].upto < w->after) {
            w->seq = all[i].upto;
            continue;
        }
        if ((rc = part_get(w->r, all[i].part, &text, err)) != PAWL_OK)
            break;
        text_walk(w, text);
        if (!walk_is_over(w) && w->seq != all[i].upto)
            rc = fail(err, PAWL_CORRUPT, "%s: a segment ends at entry %llu instead of %llu", w->r->head.run, (unsigned long long)w->seq,
                      (unsigned long long)all[i].upto);
    }
    return rc;
}

pawl_code journal_index(simple_run *r, const simple_segment *index, simple_segment **out, size_t *n, pawl_err *err)
{
    simple_coder c = { .mem = &r->h->work };
    pawl_bytes body;
    size_t cap;
    pawl_code rc = part_get(r, index->part, &body, err);

    *n = 0;
    if (rc != PAWL_OK)
        return rc;
    c.at = body.data;
    c.end = body.data + body.size;
    code_count(&c, (void **)out, n, &cap, sizeof **out);
    for (size_t i = 0; i < *n; i++)
        code_segment(&c, &(*out)[i]);
    if (r->h->work.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for an index of its journal", r->head.run);
    return c.wrong || c.at != c.end || *n == 0 ? fail(err, PAWL_CORRUPT, "%s: an index of its journal does not have the form of one", r->head.run) : PAWL_OK;
}

pawl_code journal_read(simple_run *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    segment_walk w = { .r = r, .after = after, .upto = upto, .fn = fn, .ctx = ctx, .seq = r->base_seq };
    simple_segment *all;
    pawl_code rc = PAWL_OK;
    size_t n;

    if (after > r->head.seq || (upto != 0 && upto <= after))
        return PAWL_OK;
    for (size_t i = 0; i < r->nindexes && rc == PAWL_OK && !walk_is_over(&w); i++) {
        if (r->indexes[i].upto < after)
            w.seq = r->indexes[i].upto;
        else if ((rc = journal_index(r, &r->indexes[i], &all, &n, err)) == PAWL_OK)
            rc = segments_walk(&w, all, n, err);
    }
    if (rc == PAWL_OK)
        rc = segments_walk(&w, r->segments, r->nsegments, err);
    if (rc == PAWL_OK && !walk_is_over(&w)) {
        w.seq = r->tail_after;
        text_walk(&w, r->tail);
    }
    return rc;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

static pawl_code segment_push(simple_run *r, simple_segment **all, size_t *n, size_t *cap, simple_segment one, pawl_err *err)
{
    if (!arena_room(&r->h->work, (void **)all, cap, *n, sizeof one))
        return fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->head.run);
    (*all)[(*n)++] = one;
    return PAWL_OK;
}

/* Moves the segments that the head names itself into an index. */
static pawl_code index_put(simple_run *r, pawl_err *err)
{
    simple_segment index = { .upto = r->segments[r->nsegments - 1].upto };
    simple_coder c;
    buf body;
    pawl_code rc;

    buf_init(&body, &r->h->alloc);
    c = (simple_coder){ .out = &body };
    code_count(&c, (void **)&r->segments, &r->nsegments, &r->segments_cap, sizeof *r->segments);
    for (size_t i = 0; i < r->nsegments; i++)
        code_segment(&c, &r->segments[i]);
    rc = body.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->head.run)
                     : part_put(r, (pawl_bytes){ body.data, body.size }, &index.part, err);
    buf_free(&body);
    if (rc == PAWL_OK)
        rc = segment_push(r, &r->indexes, &r->nindexes, &r->indexes_cap, index, err);
    if (rc == PAWL_OK)
        r->nsegments = 0;
    return rc;
}

static pawl_code segment_add(simple_run *r, simple_segment one, pawl_err *err)
{
    pawl_code rc = r->nsegments == SIMPLE_SEGMENTS_MAX ? index_put(r, err) : PAWL_OK;

    return rc == PAWL_OK ? segment_push(r, &r->segments, &r->nsegments, &r->segments_cap, one, err) : rc;
}

pawl_code journal_add(simple_run *r, const pawl_append *a, pawl_err *err)
{
    simple_segment one = { .upto = r->head.seq };
    size_t size = r->tail.size;
    pawl_code rc;
    char *text;

    for (size_t i = 0; i < a->nlines; i++) {
        size += a->lines[i].size + 1;
        one.upto += !store_line_is_record(a->lines[i]);
    }
    if (a->nlines == 0)
        return PAWL_OK;
    if ((text = arena_get(&r->h->work, size)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->head.run);
    size = r->tail.size;
    if (size > 0)
        memcpy(text, r->tail.data, size);
    for (size_t i = 0; i < a->nlines; i++) {
        memcpy(text + size, a->lines[i].data, a->lines[i].size);
        size += a->lines[i].size;
        text[size++] = '\n';
    }
    r->tail = (pawl_bytes){ text, size };
    r->head.seq = one.upto;
    if (size <= SIMPLE_TAIL_BYTES_MAX)
        return PAWL_OK;
    if ((rc = part_put(r, r->tail, &one.part, err)) != PAWL_OK || (rc = segment_add(r, one, err)) != PAWL_OK)
        return rc;
    r->tail = (pawl_bytes){0};
    r->tail_after = one.upto;
    return PAWL_OK;
}

/* ---- cutting --------------------------------------------------------------------------------------------- */

/* `text` begins after entry `seq`: what comes after entry `cut`. */
static pawl_bytes text_after(pawl_bytes text, uint64_t seq, uint64_t cut)
{
    size_t at = 0;

    while (at < text.size && seq < cut) {
        const char *end = memchr(text.data + at, '\n', text.size - at);

        seq += text.data[at] != '[';
        at = end == NULL ? text.size : (size_t)(end - text.data) + 1;
    }
    return (pawl_bytes){ text.data + at, text.size - at };
}

/* All segments, those of the indexes first. */
static pawl_code segments_all(simple_run *r, simple_segment **out, size_t *n, pawl_err *err)
{
    simple_segment *all = NULL, *some;
    size_t cap = 0, more;
    pawl_code rc = PAWL_OK;

    *n = 0;
    for (size_t i = 0; i <= r->nindexes && rc == PAWL_OK; i++) {
        some = r->segments;
        more = r->nsegments;
        if (i < r->nindexes)
            rc = journal_index(r, &r->indexes[i], &some, &more, err);
        for (size_t k = 0; k < more && rc == PAWL_OK; k++)
            rc = segment_push(r, &all, n, &cap, some[k], err);
    }
    *out = all;
    return rc;
}

static pawl_code segment_cut(simple_run *r, simple_segment *one, uint64_t from, uint64_t cut, bool *left, pawl_err *err)
{
    pawl_bytes text, copy;
    pawl_code rc = part_get(r, one->part, &text, err);

    if (rc != PAWL_OK)
        return rc;
    text = text_after(text, from, cut);
    part_drop(r, one->part);
    if (!(*left = text.size > 0))
        return PAWL_OK;
    copy = arena_bytes(&r->h->work, text);      /* a put may read */
    return copy.data == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for its journal", r->head.run) : part_put(r, copy, &one->part, err);
}

pawl_code journal_cut(simple_run *r, uint64_t seq, pawl_err *err)
{
    simple_segment *all;
    uint64_t from = r->base_seq;
    bool left = true;
    pawl_code rc;
    size_t n;

    if ((rc = segments_all(r, &all, &n, err)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < r->nindexes; i++)
        part_drop(r, r->indexes[i].part);
    r->nindexes = r->nsegments = 0;
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        const uint64_t upto = all[i].upto;

        left = upto >= seq;
        if (!left)
            part_drop(r, all[i].part);
        else if (from < seq)
            rc = segment_cut(r, &all[i], from, seq, &left, err);
        if (rc == PAWL_OK && left)
            rc = segment_add(r, all[i], err);
        from = upto;
    }
    if (rc == PAWL_OK && seq > r->tail_after) {
        r->tail = text_after(r->tail, r->tail_after, seq);
        r->tail_after = seq;
    }
    return rc;
}
