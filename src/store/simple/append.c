/* append.c - what the holder of a lease writes to a run of a store of three methods: lines, and all that goes with them (S3).
 *
 * Called through the verb append, and by create.c. Invariant: everything is checked before the first part is stored, and one put of the head makes all of it
 * true. */
#include "store/simple/simple.h"

/* ---- an append that is made again ------------------------------------------------------------------ */

typedef struct repeat_gather { buf text; size_t entry_end; } repeat_gather;

static bool gather_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    repeat_gather *g = ctx;

    (void)seq;
    buf_put(&g->text, line.data, line.size);
    buf_char(&g->text, '\n');
    if (kind == PAWL_LINE_ENTRY)
        g->entry_end = g->text.size;
    return !g->text.failed;
}

static bool text_has(const buf *text, size_t *at, pawl_bytes line)
{
    if (line.size >= text->size - *at || memcmp(text->data + *at, line.data, line.size) != 0 || text->data[*at + line.size] != '\n')
        return false;
    *at += line.size + 1;
    return true;
}

static bool lines_are(const repeat_gather *g, const pawl_append *a)
{
    size_t last = a->nlines, bytes = 0, at;

    while (store_line_is_record(a->lines[last - 1]))
        last--;
    for (size_t i = 0; i < last; i++)
        bytes += a->lines[i].size + 1;
    at = g->entry_end;
    if (bytes > at || (bytes < at && g->text.data[at - bytes - 1] != '\n'))
        return false;
    at -= bytes;
    for (size_t i = 0; i < a->nlines; i++)
        if (!text_has(&g->text, &at, a->lines[i]))
            return false;
    return true;
}

/* Whether this append was stored before and its result was lost: the newest entry is among these lines, which identifies them. */
static pawl_code find_repeated(simple_run *r, const pawl_append *a, uint64_t entries, bool *repeated, pawl_err *err)
{
    repeat_gather g = { .entry_end = 0 };
    pawl_code rc;

    *repeated = false;
    if (entries == 0 || a->seq + entries != r->head.seq || a->seq < r->base_seq)
        return PAWL_OK;
    buf_init(&g.text, &r->h->alloc);
    rc = journal_read(r, a->seq, 0, gather_line, &g, err);
    if (rc == PAWL_OK && g.text.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its journal", a->run);
    *repeated = rc == PAWL_OK && lines_are(&g, a);
    buf_free(&g.text);
    return rc;
}

/* ---- what goes with the lines ------------------------------------------------------------------------- */

static simple_mail *mail_find(simple_run *r, uint64_t no)
{
    for (size_t i = 0; i < r->nmail; i++)
        if (r->mail[i].d.no == no)
            return &r->mail[i];
    return NULL;
}

static bool mail_mark(simple_run *r, const pawl_append *a)
{
    for (size_t i = 0; i < a->ntaken; i++) {
        simple_mail *m = mail_find(r, a->taken[i]);

        if (m == NULL || m->taken_now)
            return false;
        m->taken_now = true;
    }
    return true;
}

static pawl_code mail_take(simple_run *r, pawl_err *err)
{
    size_t left = 0;

    for (size_t i = 0; i < r->nmail; i++) {
        const simple_mail *m = &r->mail[i];
        simple_wait *w = m->d.kind == PAWL_DELIVER_ANSWER ? simple_wait_find(r, m->d.name) : NULL;

        if (!m->taken_now) {
            r->mail[left++] = *m;
            continue;
        }
        if (!arena_room(&r->h->work, (void **)&r->taken, &r->taken_cap, r->ntaken, sizeof *r->taken))
            return fail(err, PAWL_NOMEM, "%s: no memory for a delivery", r->head.run);
        r->taken[r->ntaken++] = (simple_taken){ m->d.id, m->digest, m->d.no, m->d.at_ms };
        if (w != NULL && w->answer == m->d.no)
            w->answer = 0;
        part_drop(r, m->value.part);
        part_drop(r, m->update.part);
    }
    r->nmail = left;
    return PAWL_OK;
}

static void closed_remove(simple_run *r, const char *id)
{
    size_t left = 0;

    for (size_t i = 0; i < r->nclosed; i++)
        if (strcmp(r->closed[i].id, id) != 0)
            r->closed[left++] = r->closed[i];
    r->nclosed = left;
}

static pawl_code wait_close(simple_run *r, const pawl_waiting *given, pawl_err *err)
{
    simple_wait *w = simple_wait_find(r, given->id);
    simple_closed c = { given->id, given->answer, ++r->closings };

    if (w != NULL) {
        part_drop(r, w->spec.part);
        memmove(w, w + 1, (size_t)(r->waits + --r->nwaits - w) * sizeof *w);
    }
    closed_remove(r, given->id);
    if (c.shown.size > SIMPLE_SHOWN_BYTES_MAX)
        c.shown.size = SIMPLE_SHOWN_BYTES_MAX;
    if (c.shown.size == 0)
        c.shown = (pawl_bytes){0};
    if (!arena_room(&r->h->work, (void **)&r->closed, &r->closed_cap, r->nclosed, sizeof c))
        return fail(err, PAWL_NOMEM, "%s: no memory for a wait", r->head.run);
    r->closed[r->nclosed++] = c;
    return PAWL_OK;
}

static pawl_code wait_open(simple_run *r, const pawl_waiting *given, pawl_err *err)
{
    simple_wait *w = simple_wait_find(r, given->id);

    if (w == NULL) {
        if (!arena_room(&r->h->work, (void **)&r->waits, &r->waits_cap, r->nwaits, sizeof *w))
            return fail(err, PAWL_NOMEM, "%s: no memory for a wait", r->head.run);
        w = &r->waits[r->nwaits++];
        *w = (simple_wait){ .id = given->id };
        closed_remove(r, given->id);
    }
    if (given->asked_ms != 0)
        w->asked_ms = given->asked_ms;
    part_drop(r, w->spec.part);
    return lump_put(r, given->spec, &w->spec, err);
}

static pawl_code snapshot_set(simple_run *r, const pawl_append *a, pawl_err *err)
{
    uint64_t seq = r->head.seq;
    hash entry = { { 0 } };

    for (size_t i = a->nlines - a->nafter; i < a->nlines; i++)
        seq -= !store_line_is_record(a->lines[i]);
    (void)store_entry_hash(a->lines[a->nlines - a->nafter - 1], &entry);
    store_snapshot_digest(&entry, a->snapshot, &r->snapshot_digest);
    part_drop(r, r->snapshot.part);
    r->snapshot_seq = seq;
    return lump_put(r, a->snapshot, &r->snapshot, err);
}

static pawl_code others_set(simple_run *r, const pawl_append *a, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < a->nwaits && rc == PAWL_OK; i++)
        rc = a->waits[i].over ? wait_close(r, &a->waits[i], err) : wait_open(r, &a->waits[i], err);
    for (size_t i = 0; i < a->nblobs && rc == PAWL_OK; i++)
        rc = part_blob_put(r, &a->blobs[i], err);
    for (size_t i = 0; i < a->nmarks && rc == PAWL_OK; i++)
        rc = mark_change(r, &(pawl_mark){ .id = a->marks[i].id, .first_ms = a->marks[i].first_ms }, err);
    if (rc == PAWL_OK)
        rc = mail_take(r, err);
    return rc == PAWL_OK && a->snapshot.size > 0 ? snapshot_set(r, a, err) : rc;
}

static pawl_code append_check(simple_run *r, pawl_append *a, bool *repeated, pawl_err *err)
{
    uint64_t entries;
    pawl_code rc;

    *repeated = false;
    if (a->within != NULL)
        return fail(err, PAWL_INVALID, "%s: a store of three methods runs no SQL", a->run);
    if ((rc = store_append_check(a, &entries, err)) != PAWL_OK || (rc = run_held(r, a->fence, err)) != PAWL_OK ||
        (rc = find_repeated(r, a, entries, repeated, err)) != PAWL_OK || *repeated)
        return rc;
    if (a->seq != r->head.seq)
        return fail(err, PAWL_CONFLICT, "%s: its newest entry is %llu, and these lines follow %llu", a->run, (unsigned long long)r->head.seq,
                    (unsigned long long)a->seq);
    return mail_mark(r, a) ? PAWL_OK : fail(err, PAWL_CONFLICT, "%s: a delivery that these lines take is not in its mailbox", a->run);
}

pawl_code append_change(simple_run *r, pawl_append *a, pawl_err *err)
{
    bool repeated, releases = a->release && r->head.owner != NULL;
    pawl_code rc = append_check(r, a, &repeated, err);

    a->version = 0;
    a->quiet = false;
    if (rc != PAWL_OK)
        return rc;
    if (!repeated && ((rc = rest_store(r, err)) != PAWL_OK || (rc = journal_add(r, a, err)) != PAWL_OK || (rc = others_set(r, a, err)) != PAWL_OK))
        return rc;
    if (!repeated && a->moves) {
        r->head.status = a->status;
        r->head.over = a->over;
        r->head.work = a->work;
        r->head.wake_ms = a->wake_ms;
        r->head.parked = a->parked;
    }
    if (!repeated)
        r->head.changed_ms = simple_now(&r->h->store);
    if (releases)
        lease_end(r);
    a->quiet = r->nmail == 0;
    return repeated && !releases ? PAWL_IGNORED : PAWL_OK;
}

static pawl_code append_one(simple_run *r, void *ctx, pawl_err *err)
{
    return append_change(r, ctx, err);
}

pawl_code simple_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    pawl_code rc = PAWL_OK;

    if (n > 0 && all == NULL)
        return fail(err, PAWL_INVALID, "a count of appends without an array");
    for (size_t i = 0; i < n; i++) {
        simple_begin(h);
        all[i].rc = rc == PAWL_OK ? run_change(h, all[i].run, append_one, &all[i], err) : rc;
        if (all[i].rc != PAWL_OK && !run_is_refused(all[i].rc))
            rc = all[i].rc;
    }
    for (size_t i = 0; i < n && rc != PAWL_OK; i++)
        all[i].rc = rc;
    return rc;
}
