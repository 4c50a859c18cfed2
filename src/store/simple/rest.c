/* rest.c - what a head does not keep for ever: ids of deliveries that were taken, answers of closed waits, counts of attempts.
 *
 * Called by append.c, deliver.c and marks.c. Invariant: only what a stored head says is moved to records d and w, before the head without it is stored. So such
 * a record is true even if that head is never stored, and a writer that is late repeats what was true; of a wait the record with the higher number stays. */
#include "store/simple/simple.h"

enum { NAME_DIGITS = 32 };

static void name_of(const char *id, char name[NAME_DIGITS + 1])
{
    char hex[HASH_HEX + 1];
    hash sum;

    hash_of(id, strlen(id), &sum);
    hash_hex(&sum, hex);
    memcpy(name, hex, NAME_DIGITS);
    name[NAME_DIGITS] = '\0';
}

static void code_taken(simple_coder *c, simple_taken *t)
{
    code_text(c, &t->id);
    code_hash(c, &t->digest);
    code_uint(c, &t->no);
    code_int(c, &t->at_ms);
}

static void code_closed(simple_coder *c, simple_closed *w)
{
    code_text(c, &w->id);
    code_bytes(c, &w->shown);
    code_uint(c, &w->nth);
}

/* ---- storing ---------------------------------------------------------------------------------------- */

static pawl_code taken_put(simple_run *r, simple_taken *t, pawl_err *err)
{
    simple_coder c = { .out = &r->h->out };
    char key[PAWL_KEY_BYTES_MAX + 1], name[NAME_DIGITS + 1];
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    name_of(t->id, name);
    part_key(r, 'd', name, key);
    record_begin(c.out);
    code_taken(&c, t);
    rc = record_put(r->h, key, 0, t->no, c.out, &why);
    return rc == PAWL_OK || rc == PAWL_CONFLICT ? PAWL_OK : fail(err, rc, "%s", why.text);
}

static pawl_code closed_put(simple_run *r, simple_closed *w, pawl_err *err)
{
    simple_coder c = { .out = &r->h->out };
    char key[PAWL_KEY_BYTES_MAX + 1], name[NAME_DIGITS + 1];
    pawl_err why = { PAWL_OK, "" };
    uint64_t version = 0;
    pawl_bytes body;
    pawl_code rc = PAWL_CONFLICT;

    name_of(w->id, name);
    part_key(r, 'w', name, key);
    record_begin(c.out);
    code_closed(&c, w);
    for (int i = 0; i < SIMPLE_TRIES_MAX && rc == PAWL_CONFLICT && version < w->nth; i++) {
        why = (pawl_err){ PAWL_OK, "" };
        rc = record_put(r->h, key, version, w->nth, c.out, &why);
        if (rc == PAWL_CONFLICT && (rc = record_get(r->h, key, &body, &version, &why)) == PAWL_OK)
            rc = PAWL_CONFLICT;
        else if (rc == PAWL_GONE)
            rc = PAWL_CONFLICT;
    }
    return rc == PAWL_OK || version >= w->nth ? PAWL_OK : fail(err, rc, "%s", why.text);
}

static pawl_code marks_put(simple_run *r, pawl_err *err)
{
    simple_mark *all;
    simple_part part;
    simple_coder c;
    size_t n, cap = 0;
    buf body;
    pawl_code rc = marks_all(r, &all, &n, err);

    if (rc != PAWL_OK)
        return rc;
    buf_init(&body, &r->h->alloc);
    c = (simple_coder){ .out = &body };
    code_count(&c, (void **)&all, &n, &cap, sizeof *all);
    for (size_t i = 0; i < n; i++)
        code_mark(&c, &all[i]);
    rc = body.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its counts", r->head.run)
                     : part_put(r, (pawl_bytes){ body.data, body.size }, &part, err);
    buf_free(&body);
    if (rc != PAWL_OK)
        return rc;
    part_drop(r, r->cold_marks);
    r->cold_marks = part;
    r->nmarks = 0;
    return PAWL_OK;
}

pawl_code rest_store(simple_run *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (r->ntaken > SIMPLE_REST_MAX) {
        for (size_t i = 0; i < r->ntaken && rc == PAWL_OK; i++)
            rc = taken_put(r, &r->taken[i], err);
        r->ntaken = 0;
        r->rests_taken = true;
    }
    if (rc == PAWL_OK && r->nclosed > SIMPLE_REST_MAX) {
        for (size_t i = 0; i < r->nclosed && rc == PAWL_OK; i++)
            rc = closed_put(r, &r->closed[i], err);
        r->nclosed = 0;
        r->rests_closed = true;
    }
    return rc == PAWL_OK && r->nmarks > SIMPLE_MARKS_MAX ? marks_put(r, err) : rc;
}

/* ---- finding ------------------------------------------------------------------------------------------ */

/* In h->work, since a later read uses the buffer again. PAWL_GONE without a text. */
static pawl_code rest_get(simple_run *r, char kind, const char *id, simple_coder *c, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1], name[NAME_DIGITS + 1];
    uint64_t version;
    pawl_bytes body;
    pawl_code rc;

    name_of(id, name);
    part_key(r, kind, name, key);
    if ((rc = record_get(r->h, key, &body, &version, err)) != PAWL_OK)
        return rc;
    if ((body = arena_bytes(&r->h->work, body)).data == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for %s", r->head.run, id);
    *c = (simple_coder){ .at = body.data, .end = body.data + body.size, .mem = &r->h->work };
    return PAWL_OK;
}

pawl_code rest_taken(simple_run *r, const char *id, simple_taken *out, pawl_err *err)
{
    simple_coder c;
    pawl_code rc;

    for (size_t i = 0; i < r->ntaken; i++)
        if (strcmp(r->taken[i].id, id) == 0) {
            *out = r->taken[i];
            return PAWL_OK;
        }
    if (!r->rests_taken || (rc = rest_get(r, 'd', id, &c, err)) == PAWL_GONE)
        return PAWL_GONE;
    if (rc != PAWL_OK)
        return rc;
    *out = (simple_taken){ .id = NULL };
    code_taken(&c, out);
    if (c.wrong || out->id == NULL)
        return fail(err, PAWL_CORRUPT, "%s: what is kept of delivery %s does not have the form of it", r->head.run, id);
    return strcmp(out->id, id) == 0 ? PAWL_OK : PAWL_GONE;
}

pawl_code rest_closed(simple_run *r, const char *id, pawl_bytes *shown, pawl_err *err)
{
    simple_closed w = { .id = NULL };
    simple_coder c;
    pawl_code rc;

    for (size_t i = 0; i < r->nclosed; i++)
        if (strcmp(r->closed[i].id, id) == 0) {
            *shown = r->closed[i].shown;
            return PAWL_OK;
        }
    if (!r->rests_closed || (rc = rest_get(r, 'w', id, &c, err)) == PAWL_GONE)
        return PAWL_GONE;
    if (rc != PAWL_OK)
        return rc;
    code_closed(&c, &w);
    if (c.wrong || w.id == NULL)
        return fail(err, PAWL_CORRUPT, "%s: what is kept of wait %s does not have the form of it", r->head.run, id);
    *shown = w.shown;
    return strcmp(w.id, id) == 0 ? PAWL_OK : PAWL_GONE;
}
