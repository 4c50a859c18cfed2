/* record.c - records of a store of three methods: checksums, calls of the methods, and the coding of fields.
 *
 * A record is "p2", 16 bytes of a SHA-256 over its key and all that follows, a nonce, and the body: a record that is damaged, torn or under a wrong key is
 * found. Two writers put the same bytes under the same version, if nothing tells them apart: so each put has its own nonce. "p1" is a record without one, of a
 * store that an older build wrote. Called by the other files of the folder. Invariant: what a method returns is checked here, so that no code that it may not
 * return goes further. */
#include "store/simple/simple.h"

#include <stdlib.h>
#include <unistd.h>

enum { RECORD_HEAD_OLD_BYTES = SIMPLE_RECORD_HEAD_BYTES - SIMPLE_NONCE_BYTES };

uint32_t simple_hash(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* ---- the methods ---------------------------------------------------------------------------------- */

static pawl_code method_failed(simple_handle *h, const char *method, const char *key, pawl_code rc, const pawl_err *why, pawl_err *err)
{
    char text[sizeof why->text];
    size_t n = strnlen(why->text, sizeof text - 1);

    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)why->text[i] < ' ' ? ' ' : why->text[i];
    text[n] = '\0';
    if (rc > 0)
        return fail(err, PAWL_INVALID, "%s: %s of %s returned %s, which it may not", h->methods.name, method, key, pawl_code_name(rc));
    return fail(err, rc, "%s: %s: %s: %s", h->methods.name, key, method, n > 0 ? text : pawl_code_name(rc));
}

/* Over the key, and the record after the checksum. */
static void sum_make(const char *key, const buf *record, char out[SIMPLE_SUM_BYTES])
{
    hash sum;

    hash_parts((const pawl_bytes[]){ { key, strlen(key) + 1 }, { record->data + RECORD_HEAD_OLD_BYTES, record->size - RECORD_HEAD_OLD_BYTES } }, 2, &sum);
    memcpy(out, sum.b, SIMPLE_SUM_BYTES);
}

void record_begin(buf *record)
{
    static const char room[SIMPLE_RECORD_HEAD_BYTES] = "p2";

    buf_reset(record);
    buf_put(record, room, sizeof room);
}

pawl_bytes record_body(const buf *record)
{
    const size_t head = record->data[1] == '1' ? RECORD_HEAD_OLD_BYTES : SIMPLE_RECORD_HEAD_BYTES;

    return (pawl_bytes){ record->data + head, record->size - head };
}

/* A nonce that no other put has. The process is part of it: after a fork both processes have the handle. */
static void nonce_make(simple_handle *h, char out[SIMPLE_NONCE_BYTES])
{
    const uint64_t process = (uint64_t)getpid(), count = ++h->puts;
    hash sum;

    hash_parts((const pawl_bytes[]){ { (const char *)h->life, sizeof h->life }, { (const char *)&process, sizeof process },
                                     { (const char *)&count, sizeof count } }, 3, &sum);
    memcpy(out, sum.b, SIMPLE_NONCE_BYTES);
}

/* Whether this very record is there after all, though the put did not say so. */
static bool was_put(simple_handle *h, const char *key, uint64_t version, const buf *record)
{
    pawl_err why = { PAWL_OK, "" };
    uint64_t is = 0;

    buf_reset(&h->in.b);
    return h->methods.get(h->ctx, key, &h->in, &is, &why) == PAWL_OK && is == version && h->in.b.size == record->size &&
           memcmp(h->in.b.data, record->data, record->size) == 0;
}

pawl_code record_put(simple_handle *h, const char *key, uint64_t before, uint64_t version, buf *record, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    if (record->failed)
        return fail(err, PAWL_NOMEM, "%s: %s: no memory for a record", h->methods.name, key);
    PAWL_ASSERT(record->size >= SIMPLE_RECORD_HEAD_BYTES && version > before && version <= INT64_MAX, "a record has a checksum, and each version is higher");
    nonce_make(h, record->data + RECORD_HEAD_OLD_BYTES);
    sum_make(key, record, record->data + 2);
    rc = h->methods.put(h->ctx, key, before, version, (pawl_bytes){ record->data, record->size }, &why);
    if (rc == PAWL_OK)
        return PAWL_OK;
    if (rc != PAWL_INVALID && was_put(h, key, version, record))      /* a conflict: with the same put, which a client library made twice */
        return PAWL_OK;
    return method_failed(h, "put", key, rc, &why, err);
}

static bool is_gone(simple_handle *h, const char *key)
{
    pawl_err why = { PAWL_OK, "" };
    uint64_t version;

    buf_reset(&h->in.b);
    return h->methods.get(h->ctx, key, &h->in, &version, &why) == PAWL_GONE;
}

pawl_code record_remove(simple_handle *h, const char *key, uint64_t before, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = h->methods.put(h->ctx, key, before, 0, (pawl_bytes){0}, &why);

    if (rc == PAWL_OK || rc == PAWL_GONE || (rc != PAWL_INVALID && is_gone(h, key)))
        return PAWL_OK;
    return method_failed(h, "put", key, rc, &why, err);
}

static bool is_record(const buf *b)
{
    return (b->size >= RECORD_HEAD_OLD_BYTES && memcmp(b->data, "p1", 2) == 0) || (b->size >= SIMPLE_RECORD_HEAD_BYTES && memcmp(b->data, "p2", 2) == 0);
}

pawl_code record_get(simple_handle *h, const char *key, pawl_bytes *body, uint64_t *version, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    char sum[SIMPLE_SUM_BYTES];
    pawl_code rc;

    buf_reset(&h->in.b);
    *version = 0;
    rc = h->methods.get(h->ctx, key, &h->in, version, &why);
    if (rc == PAWL_GONE)
        return PAWL_GONE;
    if (rc != PAWL_OK)
        return method_failed(h, "get", key, rc, &why, err);
    if (*version == 0 || *version > INT64_MAX || !is_record(&h->in.b))
        return fail(err, PAWL_CORRUPT, "%s: %s is no record of Pawl, or one of a newer version", h->methods.name, key);
    sum_make(key, &h->in.b, sum);
    if (memcmp(sum, h->in.b.data + 2, SIMPLE_SUM_BYTES) != 0)
        return fail(err, PAWL_CORRUPT, "%s: %s is damaged: its bytes do not match their checksum", h->methods.name, key);
    *body = record_body(&h->in.b);
    return PAWL_OK;
}

typedef struct key_gather { simple_handle *h; simple_keys *out; const char *prefix; bool stray; } key_gather;

static bool gather_key(void *ctx, const char *key, uint64_t version)
{
    key_gather *g = ctx;
    arena *mem = &g->h->work;

    if (key == NULL || strncmp(key, g->prefix, strlen(g->prefix)) != 0 || strnlen(key, PAWL_KEY_BYTES_MAX + 1) > PAWL_KEY_BYTES_MAX) {
        g->stray = true;
        return false;
    }
    if (!arena_room(mem, (void **)&g->out->all, &g->out->cap, g->out->n, sizeof *g->out->all))
        return false;
    g->out->all[g->out->n++] = (simple_key){ version, arena_text(mem, key) };
    return !mem->failed;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const simple_key *)a)->key, ((const simple_key *)b)->key);
}

pawl_code record_list(simple_handle *h, const char *prefix, simple_keys *out, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    key_gather g = { .h = h, .out = out, .prefix = prefix };
    pawl_code rc;
    size_t n = 0;

    *out = (simple_keys){ .n = 0 };
    rc = h->methods.list(h->ctx, prefix, gather_key, &g, &why);
    if (g.stray)
        return fail(err, PAWL_INVALID, "%s: list of %s gave a key that does not begin so", h->methods.name, prefix);
    if (h->work.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory for the keys of %s", h->methods.name, prefix);
    if (rc != PAWL_OK)
        return method_failed(h, "list", prefix, rc, &why, err);
    if (out->n > 1)
        qsort(out->all, out->n, sizeof *out->all, by_key);
    for (size_t i = 0; i < out->n; i++)         /* one that was renamed meanwhile may come twice */
        if (n == 0 || strcmp(out->all[n - 1].key, out->all[i].key) != 0)
            out->all[n++] = out->all[i];
    out->n = n;
    return PAWL_OK;
}

/* ---- fields -------------------------------------------------------------------------------------------- */

void code_uint(simple_coder *c, uint64_t *n)
{
    uint64_t left = *n, read = 0;
    unsigned shift = 0;

    if (c->out != NULL) {
        for (; left >= 0x80; left >>= 7)
            buf_char(c->out, (char)(uint8_t)(left | 0x80));
        buf_char(c->out, (char)(uint8_t)left);
        return;
    }
    for (; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)*c->at++;

        read |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *n = read;
            return;
        }
    }
    c->wrong = true;
    *n = 0;
}

void code_int(simple_coder *c, int64_t *n)
{
    uint64_t folded = (uint64_t)*n << 1 ^ (*n < 0 ? UINT64_MAX : 0);

    code_uint(c, &folded);
    if (c->out == NULL)
        *n = (int64_t)(folded >> 1 ^ ((folded & 1) != 0 ? UINT64_MAX : 0));
}

void code_small(simple_coder *c, uint32_t *n)
{
    uint64_t wide = *n;

    code_uint(c, &wide);
    c->wrong = c->wrong || wide > UINT32_MAX;
    *n = (uint32_t)wide;
}

void code_flag(simple_coder *c, bool *b)
{
    uint64_t wide = *b;

    code_uint(c, &wide);
    c->wrong = c->wrong || wide > 1;
    *b = wide == 1;
}

/* The size and 1, or 0 for none; a NUL behind, so that texts can be lent. */
void code_bytes(simple_coder *c, pawl_bytes *b)
{
    uint64_t size = b->data == NULL ? 0 : (uint64_t)b->size + 1;

    code_uint(c, &size);
    if (c->out != NULL) {
        if (size > 0) {
            buf_put(c->out, b->data, b->size);
            buf_char(c->out, '\0');
        }
        return;
    }
    *b = (pawl_bytes){0};
    if (size == 0 || c->wrong)
        return;
    if (size > (uint64_t)(c->end - c->at) || c->at[size - 1] != '\0') {
        c->wrong = true;
        return;
    }
    *b = (pawl_bytes){ c->at, (size_t)size - 1 };
    c->at += size;
}

void code_text(simple_coder *c, const char **text)
{
    pawl_bytes b = { NULL, 0 };

    if (c->out != NULL)
        b = (pawl_bytes){ *text, *text == NULL ? 0 : strlen(*text) };
    code_bytes(c, &b);
    if (c->out == NULL)
        *text = b.data;
}

void code_hash(simple_coder *c, hash *h)
{
    if (c->out != NULL) {
        buf_put(c->out, h->b, HASH_BYTES);
    } else if (c->end - c->at < HASH_BYTES) {
        c->wrong = true;
    } else {
        memcpy(h->b, c->at, HASH_BYTES);
        c->at += HASH_BYTES;
    }
}

void code_count(simple_coder *c, void **items, size_t *n, size_t *cap, size_t item)
{
    uint64_t count = *n;

    code_uint(c, &count);
    if (c->out != NULL)
        return;
    *items = NULL;
    *n = *cap = 0;
    if (c->wrong || count > (uint64_t)(c->end - c->at)) {       /* each item has a byte at least */
        c->wrong = true;
        return;
    }
    if (count == 0 || (*items = arena_zero(c->mem, (size_t)count * item)) == NULL)
        return;
    *n = *cap = (size_t)count;
}
