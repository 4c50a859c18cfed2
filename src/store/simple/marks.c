/* marks.c - counts of attempts in the head of a run, and in a part (E13).
 *
 * Called by mark_verbs.c, append.c and rest.c. A head has the newest counts, as differences from those in a part; the part is read for a list, and when a
 * count is taken back. Invariant: the sum of both is what was counted. */
#include "store/simple/simple.h"

static simple_mark *mark_find(simple_mark *all, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].id, id) == 0)
            return &all[i];
    return NULL;
}

static pawl_code cold_read(simple_run *r, simple_mark **out, size_t *n, pawl_err *err)
{
    simple_coder c = { .mem = &r->h->work };
    pawl_bytes body;
    size_t cap;
    pawl_code rc;

    *out = NULL;
    *n = 0;
    if (r->cold_marks.id == 0)
        return PAWL_OK;
    if ((rc = part_get(r, r->cold_marks, &body, err)) != PAWL_OK)
        return rc;
    body = arena_bytes(&r->h->work, body);
    c.at = body.data;
    c.end = body.data == NULL ? NULL : body.data + body.size;
    if (body.data != NULL)
        code_count(&c, (void **)out, n, &cap, sizeof **out);
    for (size_t i = 0; i < *n; i++)
        code_mark(&c, &(*out)[i]);
    if (r->h->work.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for its counts", r->head.run);
    return c.wrong ? fail(err, PAWL_CORRUPT, "%s: its counts of attempts do not have the form of them", r->head.run) : PAWL_OK;
}

/* `cold` may be NULL. */
static void mark_add(simple_mark *hot, const simple_mark *cold)
{
    if (!hot->whole && cold != NULL) {
        hot->attempts += cold->attempts;
        hot->first_ms = hot->first_ms > 0 ? hot->first_ms : cold->first_ms;
    }
    hot->whole = true;
}

pawl_code marks_all(simple_run *r, simple_mark **out, size_t *n, pawl_err *err)
{
    simple_mark *cold, *all;
    hash_index by_id = { .slots = NULL };
    size_t ncold, kept = 0;
    pawl_code rc = cold_read(r, &cold, &ncold, err);

    *n = 0;
    if (rc != PAWL_OK)
        return rc;
    if ((all = arena_get(&r->h->work, (ncold + r->nmarks + 1) * sizeof *all)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its counts", r->head.run);
    for (size_t i = 0; i < r->nmarks && rc == PAWL_OK; i++)
        if (!hash_index_add(&by_id, &r->h->alloc, simple_hash(r->marks[i].id), (uint32_t)i))
            rc = fail(err, PAWL_NOMEM, "%s: no memory for its counts", r->head.run);
    if (r->nmarks > 0)
        memcpy(all + ncold, r->marks, r->nmarks * sizeof *all);
    for (size_t i = 0; i < ncold && rc == PAWL_OK; i++) {
        const uint32_t h = simple_hash(cold[i].id);
        uint32_t at = hash_index_first(&by_id, h), found;

        while ((found = hash_index_next(&by_id, h, &at)) != UINT32_MAX && strcmp(r->marks[found].id, cold[i].id) != 0)
            continue;
        if (found == UINT32_MAX)
            all[kept++] = cold[i];
        else
            mark_add(&all[ncold + found], &cold[i]);
    }
    for (size_t i = 0; i < r->nmarks; i++) {
        all[ncold + i].whole = true;
        if (!all[ncold + i].removed)
            all[kept++] = all[ncold + i];
    }
    hash_index_free(&by_id, &r->h->alloc);
    *out = all;
    *n = kept;
    return rc;
}

static pawl_code take_back(simple_run *r, simple_mark *m, pawl_err *err)
{
    simple_mark *cold = NULL;
    size_t n = 0;
    pawl_code rc = m->whole ? PAWL_OK : cold_read(r, &cold, &n, err);

    if (rc != PAWL_OK)
        return rc;
    mark_add(m, mark_find(cold, n, m->id));
    m->attempts -= m->attempts > 0;
    m->removed = m->attempts == 0;
    return PAWL_OK;
}

pawl_code mark_change(simple_run *r, const pawl_mark *mark, pawl_err *err)
{
    simple_mark *m = mark_find(r->marks, r->nmarks, mark->id);
    pawl_code rc = PAWL_OK;

    if (m == NULL) {
        if (!arena_room(&r->h->work, (void **)&r->marks, &r->marks_cap, r->nmarks, sizeof *m))
            return fail(err, PAWL_NOMEM, "%s: no memory for a mark", r->head.run);
        m = &r->marks[r->nmarks++];
        *m = (simple_mark){ .id = mark->id, .whole = r->cold_marks.id == 0 };
    } else if (m->removed) {
        *m = (simple_mark){ .id = m->id, .whole = true };
    }
    if (mark->unbegun)
        rc = take_back(r, m, err);
    else
        m->attempts += mark->again_ms == 0;
    m->first_ms = mark->first_ms > 0 ? mark->first_ms : m->first_ms;
    m->again_ms = mark->again_ms;
    if (rc == PAWL_OK && m->removed && r->cold_marks.id == 0)
        *m = r->marks[--r->nmarks];
    return rc;
}
