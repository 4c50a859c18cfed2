/* codec.c - encodes and decodes the values of a store in a file: packed or encrypted by a codec of the caller (K5).
 *
 * An encoded value is 01 ID 00 BYTES. No plain value begins with 01, for each is JSON or a journal line; a blob may, and is recognized by its digest.
 *
 * Owns nothing. Called by the SQLite store, on the thread that uses the handle; the callbacks of a codec run on that thread, in a transaction. */
#include "store/store.h"

void *pawl_out_size(pawl_out *out, size_t size)
{
    size_t had = out->b.size - out->head;

    if (size > PTRDIFF_MAX / 2 || (size > had && !buf_room(&out->b, size - had + 1))) {
        out->b.failed = false;
        return NULL;
    }
    if (size > had)
        memset(out->b.data + out->b.size, 0, size - had);
    out->b.size = out->head + size;
    return out->b.data + out->head;
}

static bool id_valid(const char *id)
{
    size_t n = id == NULL ? 0 : strnlen(id, STORE_CODEC_ID_MAX + 1);

    for (size_t i = 0; i < n; i++)
        if (id[i] <= ' ' || id[i] > '~')
            return false;
    return n > 0 && n <= STORE_CODEC_ID_MAX;
}

pawl_code store_codecs_check(const pawl_codec *all, size_t n, pawl_err *err)
{
    if (n > STORE_CODECS_MAX)
        return fail(err, PAWL_LIMIT, "%zu codecs, and a store has at most %d (STORE_CODECS_MAX)", n, (int)STORE_CODECS_MAX);
    if (n > 0 && all == NULL)
        return fail(err, PAWL_INVALID, "%zu codecs, and no list of them", n);
    for (size_t i = 0; i < n; i++) {
        if (!id_valid(all[i].id))
            return fail(err, PAWL_INVALID, "codec %zu: an id has 1 to %d printable ASCII characters and no blank", i, (int)STORE_CODEC_ID_MAX);
        if (all[i].decode == NULL)
            return fail(err, PAWL_INVALID, "codec \"%s\" cannot decode", all[i].id);
        for (size_t k = 0; k < i; k++)
            if (strcmp(all[i].id, all[k].id) == 0)
                return fail(err, PAWL_INVALID, "there are two codecs \"%s\"", all[i].id);
    }
    return PAWL_OK;
}

pawl_code store_encode(const store_codecs *c, pawl_bytes plain, pawl_out *out, pawl_bytes *stored, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *stored = plain;
    if (c->encoder == NULL)
        return PAWL_OK;
    buf_reset(&out->b);
    buf_char(&out->b, STORE_ENCODED);
    buf_put(&out->b, c->encoder->id, strlen(c->encoder->id) + 1);
    out->head = out->b.size;
    if (out->b.failed)
        return fail(err, PAWL_NOMEM, "codec \"%s\": no memory", c->encoder->id);
    rc = c->encoder->encode(c->encoder->ctx, plain, out, &why);
    if (rc != PAWL_OK)
        return fail(err, rc < 0 ? rc : PAWL_IO, "codec \"%s\" could not encode: %s", c->encoder->id,
                    why.text[0] != '\0' ? why.text : pawl_code_name(rc));
    *stored = (pawl_bytes){ out->b.data, out->b.size };
    return PAWL_OK;
}

pawl_code store_decode(const store_codecs *c, const char *file, const char *run, pawl_bytes stored, pawl_out *out, pawl_bytes *plain,
                       pawl_err *err)
{
    const char *id = stored.data + 1, *end = memchr(id, '\0', stored.size - 1);
    const pawl_codec *one = NULL;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    if (end == NULL || !id_valid(id))
        return fail(err, PAWL_CORRUPT, "%s: run %s has a value that is neither plain nor of any codec; restore a backup", file, run);
    for (size_t i = 0; i < c->n && one == NULL; i++)
        one = strcmp(c->all[i].id, id) == 0 ? &c->all[i] : NULL;
    if (one == NULL)
        return fail(err, PAWL_INVALID, "%s: run %s is written with codec \"%s\", which this handle does not have; open the store with it", file,
                    run, id);
    buf_reset(&out->b);
    out->head = 0;
    rc = one->decode(one->ctx, (pawl_bytes){ end + 1, stored.size - (size_t)(end + 1 - stored.data) }, out, &why);
    if (rc == PAWL_OK && !buf_room(&out->b, 1))
        rc = PAWL_NOMEM;
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "%s: run %s: no memory to decode \"%s\"", file, run, id);
    if (rc != PAWL_OK)
        return fail(err, PAWL_CORRUPT, "%s: run %s has a value that codec \"%s\" cannot decode: %s", file, run, id,
                    why.text[0] != '\0' ? why.text : pawl_code_name(rc));
    out->b.data[out->b.size] = '\0';
    *plain = (pawl_bytes){ out->b.data, out->b.size };
    return PAWL_OK;
}
