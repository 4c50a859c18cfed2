/* part.c - parts: the large bytes of a run, each a record of its own that the head names.
 *
 * Called by the other files of the folder. Invariants: a part is stored under an id that nobody has, and before the head that names it; it is removed after
 * the head that does not name it any more. A run that is being created gets a head that is not begun before its first part, so that a sweep finds a
 * head to change, and no part is swept that a head will name. */
#include "store/simple/simple.h"

#include <stdio.h>

enum {
    PART_IDS_MAX = 1000,        /* tried, for one part */
    BLOB_DIGITS = 40            /* of its digest, in a key */
};

void part_key(const simple_run *r, char kind, const char *name, char key[PAWL_KEY_BYTES_MAX + 1])
{
    snprintf(key, PAWL_KEY_BYTES_MAX + 1, "p~%s~%s~%llx~%c%s", r->h->space, r->head.run, (unsigned long long)r->head.no, kind, name);
}

static void id_key(const simple_run *r, uint64_t id, char key[PAWL_KEY_BYTES_MAX + 1])
{
    char name[UINT_TEXT_MAX + 1];

    snprintf(name, sizeof name, "%llx", (unsigned long long)id);
    part_key(r, 'o', name, key);
}

static uint64_t version_of(const simple_run *r, simple_part part)
{
    return r->head.no << 32 | part.at;
}

static pawl_code stub_put(simple_run *r, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1];
    const bool begun = r->begun;
    pawl_code rc;

    r->begun = false;
    rc = head_encode(r, err);
    r->begun = begun;
    head_key(r->h, r->head.run, key);
    if (rc == PAWL_OK && (rc = record_put(r->h, key, 0, r->head.no << 32 | 1, &r->h->out, err)) == PAWL_OK)
        r->version = r->head.no << 32 | 1;
    r->overtaken = rc == PAWL_CONFLICT;
    return rc;
}

static bool vector_add(simple_run *r, simple_part **all, size_t *n, size_t *cap, simple_part part)
{
    if (!arena_room(&r->h->work, (void **)all, cap, *n, sizeof part))
        return false;
    (*all)[(*n)++] = part;
    return true;
}

pawl_code part_put(simple_run *r, pawl_bytes bytes, simple_part *out, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1];
    pawl_err why = { PAWL_OK, "" };
    simple_part part;
    buf record;
    pawl_code rc = r->version != 0 ? PAWL_OK : stub_put(r, err);

    if (rc != PAWL_OK)
        return rc;
    buf_init(&record, &r->h->alloc);
    record_begin(&record);
    buf_put(&record, bytes.data, bytes.size);
    part.at = (uint32_t)(r->version + 1);
    for (int i = 0; i < PART_IDS_MAX; i++) {    /* an id may have been left by a write that was interrupted */
        part.id = ++r->parts;
        id_key(r, part.id, key);
        why = (pawl_err){ PAWL_OK, "" };
        if ((rc = record_put(r->h, key, 0, version_of(r, part), &record, &why)) != PAWL_CONFLICT)
            break;
    }
    buf_free(&record);
    if (rc != PAWL_OK)
        return fail(err, rc == PAWL_CONFLICT ? PAWL_IO : rc, "%s", why.text);
    if (!vector_add(r, &r->made, &r->nmade, &r->made_cap, part))
        return fail(err, PAWL_NOMEM, "%s: no memory for its parts", r->head.run);
    *out = part;
    return PAWL_OK;
}

void part_drop(simple_run *r, simple_part part)
{
    if (part.id != 0)           /* without memory it stays until a sweep */
        (void)vector_add(r, &r->dropped, &r->ndropped, &r->dropped_cap, part);
}

pawl_code part_get(simple_run *r, simple_part part, pawl_bytes *out, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1];
    uint64_t version;
    pawl_code rc;

    id_key(r, part.id, key);
    rc = record_get(r->h, key, out, &version, err);
    return rc == PAWL_OK && version != version_of(r, part) ? PAWL_GONE : rc;
}

/* A part that cannot be removed now is left to a sweep. */
void parts_clear(simple_run *r, bool committed)
{
    const simple_part *all = committed ? r->dropped : r->made;
    char key[PAWL_KEY_BYTES_MAX + 1];

    for (size_t i = 0, n = committed ? r->ndropped : r->nmade; i < n; i++) {
        id_key(r, all[i].id, key);
        (void)record_remove(r->h, key, version_of(r, all[i]), NULL);
    }
    r->nmade = r->ndropped = 0;
}

/* The key follows from the content, so it is the same for every writer. */
pawl_code part_blob_put(simple_run *r, const pawl_blob *b, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1], name[BLOB_DIGITS + 1];
    pawl_err why = { PAWL_OK, "" };
    buf record;
    pawl_code rc = r->version != 0 ? PAWL_OK : stub_put(r, err);

    if (rc != PAWL_OK)
        return rc;
    snprintf(name, sizeof name, "%.*s", (int)BLOB_DIGITS, b->digest);
    part_key(r, 'b', name, key);
    buf_init(&record, &r->h->alloc);
    record_begin(&record);
    buf_put(&record, b->bytes.data, b->bytes.size);
    rc = record_put(r->h, key, 0, r->head.no << 32 | 1, &record, &why);
    buf_free(&record);
    return rc == PAWL_OK || rc == PAWL_CONFLICT ? PAWL_OK : fail(err, rc, "%s", why.text);
}

pawl_code part_blob_get(simple_run *r, const char *digest, pawl_bytes *out, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1], name[BLOB_DIGITS + 1], hex[HASH_HEX + 1];
    uint64_t version;
    hash asked, is;
    pawl_code rc = PAWL_GONE;

    if (strnlen(digest, HASH_HEX + 1) == HASH_HEX && hash_unhex(digest, HASH_HEX, &asked)) {
        snprintf(name, sizeof name, "%.*s", (int)BLOB_DIGITS, digest);
        part_key(r, 'b', name, key);
        rc = record_get(r->h, key, out, &version, err);
    }
    if (rc == PAWL_GONE)
        return fail(err, PAWL_GONE, "%s: it has no blob %.64s", r->head.run, digest);
    if (rc != PAWL_OK)
        return rc;
    hash_of(out->data, out->size, &is);
    hash_hex(&is, hex);
    return hash_equal(&is, &asked) ? PAWL_OK : fail(err, PAWL_CORRUPT, "%s: the bytes of blob %s do not match its digest", r->head.run, digest);
}

pawl_code lump_put(simple_run *r, pawl_bytes bytes, simple_lump *out, pawl_err *err)
{
    *out = (simple_lump){ .bytes = bytes };
    if (bytes.size <= SIMPLE_INLINE_BYTES_MAX)
        return PAWL_OK;
    out->bytes = (pawl_bytes){0};
    return part_put(r, bytes, &out->part, err);
}

pawl_code lump_get(simple_run *r, const simple_lump *l, pawl_bytes *out, pawl_err *err)
{
    pawl_bytes bytes;
    pawl_code rc;

    *out = l->bytes;
    if (l->part.id == 0)
        return PAWL_OK;
    if ((rc = part_get(r, l->part, &bytes, err)) != PAWL_OK)
        return rc;
    out->data = arena_strdup(&r->h->work, bytes.data, bytes.size);
    out->size = bytes.size;
    return out->data == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for %zu bytes", r->head.run, bytes.size) : PAWL_OK;
}
