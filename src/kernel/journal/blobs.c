/* blobs.c - blobs: values larger than a limit are stored apart, once by content (S5). Moved out when a step is written, put in when it is read.
 *
 * Called by the code that writes or reads journals, on the thread that owns the step or state. Of a large value the smallest large parts are
 * moved out when the rest is small; otherwise the whole value is one blob. So a long text of a receipt is the same blob in the receipt and in a
 * snapshot of the channel that it was written to. */
#include "kernel/journal/apart.h"
#include "kernel/names.h"
#include "kernel/step.h"

#include <string.h>

enum {
    BLOB_LEVELS_MAX = 8,        /* depth of the search for large parts */
    BLOB_KEY_BYTES_MAX = 200,   /* of a key on the path to a part */
    BLOB_PARTS_MAX = 64         /* parts of one value */
};

void blobs_init(blob_set *k, const pawl_alloc *alloc, arena *mem)
{
    *k = (blob_set){ .mem = mem, .limit = SIZE_MAX };
    buf_init(&k->text, alloc);
}

void blobs_reset(blob_set *k)
{
    k->list = NULL;
    k->n = k->cap = k->bytes = 0;
}

void blobs_done(blob_set *k)
{
    buf_free(&k->text);
}

/* ---- taken out ------------------------------------------------------------------------------- */

typedef struct blob_place { const pawl_value *at; size_t blob; } blob_place;

typedef struct blob_search {
    blob_set *k;
    blob_place *places;         /* sorted by the address of the node */
    size_t n, cap;
} blob_search;

typedef struct text_at { const buf *b; size_t at, size; } text_at;  /* an offset, since the buffer may move */

static bool blob_put(blob_search *w, const pawl_value *v, const text_at *t, const hash *h)
{
    blob_set *k = w->k;
    char digest[HASH_HEX + 1];
    size_t i = 0;

    hash_hex(h, digest);
    while (i < k->n && strcmp(k->list[i].digest, digest) != 0)
        i++;
    if (!arena_room(k->mem, (void **)&w->places, &w->cap, w->n, sizeof *w->places) ||
        !arena_room(k->mem, (void **)&k->list, &k->cap, k->n, sizeof *k->list))
        return false;
    w->places[w->n++] = (blob_place){ v, i };
    if (i < k->n)
        return true;
    memcpy(k->list[i].digest, digest, sizeof digest);
    k->list[i].bytes = (pawl_bytes){ arena_strdup(k->mem, t->b->data + t->at, t->size), t->size };
    k->n++;
    k->bytes += t->size;
    return k->list[i].bytes.data != NULL;
}

static bool blob_like(const blob_set *k, const hash *h)
{
    char digest[HASH_HEX + 1];

    hash_hex(h, digest);
    for (size_t i = 0; i < k->nlike; i++)
        if (strcmp(pawl_value_string(k->like[i]), digest) == 0)
            return true;
    return false;
}

static bool blob_find(blob_search *w, const pawl_value *v, const text_at *t, unsigned level);

/* Moves large members out one by one. *left: the bytes of the rest. */
static bool blob_members(blob_search *w, const pawl_value *v, unsigned level, size_t *left)
{
    blob_set *k = w->k;
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *member, *key;

    while ((member = pawl_iter_next(&it, &key)) != NULL) {
        text_at t = { &k->text, k->text.size, 0 };
        bool good = true;

        if (pawl_value_size(key) > BLOB_KEY_BYTES_MAX)
            continue;
        canon(&k->text, member);
        t.size = k->text.size - t.at;
        if (t.size > blobs_most(k) && !k->text.failed) {
            *left -= t.size;
            good = blob_find(w, member, &t, level + 1);
        }
        k->text.size = t.at;
        if (!good || k->text.failed)
            return false;
    }
    return true;
}

/* False: no memory. */
static bool blob_find(blob_search *w, const pawl_value *v, const text_at *t, unsigned level)
{
    blob_set *k = w->k;
    size_t places = w->n, n = k->n, bytes = k->bytes, left = t->size;
    bool deeper = level < BLOB_LEVELS_MAX && pawl_value_type(v) >= PAWL_TYPE_ARRAY;
    hash h;

    if (k->nlike > 0) {
        hash_of(t->b->data + t->at, t->size, &h);
        if (blob_like(k, &h))
            return blob_put(w, v, t, &h);
        return !deeper || blob_members(w, v, level, &left);
    }
    if (deeper && !blob_members(w, v, level, &left))
        return false;
    if (deeper && left < t->size && left <= k->limit && w->n <= BLOB_PARTS_MAX)
        return true;
    w->n = places;
    k->n = n;
    k->bytes = bytes;
    hash_of(t->b->data + t->at, t->size, &h);
    return blob_put(w, v, t, &h);
}

/* Writes `v` with null at the places, and a reference for each place. */
static const pawl_value *blob_less(const blob_search *w, const pawl_value *v, value_ref *standing)
{
    value_place *places = arena_get(w->k->mem, w->n * sizeof *places);
    const pawl_value *nothing = value_null(w->k->mem), *less;
    union { const pawl_value *in; yyjson_val *out; } node;

    for (size_t i = 0; places != NULL && i < w->n; i++)
        places[i] = (value_place){ .at = w->places[i].at, .sub = nothing };
    less = places == NULL || nothing == NULL ? NULL : value_fill(w->k->mem, v, places, w->n);
    for (size_t i = 0; less != NULL && i < w->n; i++) {
        node.in = places[i].put;
        node.out->tag |= NODE_REF;
        standing[i] = (value_ref){ places[i].put, "blob", w->k->list[w->places[i].blob].digest, NULL };
    }
    return less;
}

void blob_apart(blob_set *k, buf *b, size_t at, const pawl_value *v, const char *prefix, buf *beside)
{
    blob_search w = { .k = k };
    const text_at t = { b, at, b->size - at };
    const pawl_value *less;
    value_ref *standing;

    buf_reset(&k->text);
    if (b->failed)
        return;
    if (!blob_find(&w, v, &t, 0)) {
        b->failed = true;
        return;
    }
    if (w.n == 0)
        return;
    standing = arena_get(k->mem, w.n * sizeof *standing);
    less = standing == NULL ? NULL : blob_less(&w, v, standing);
    if (less == NULL) {
        b->failed = true;
        return;
    }
    b->size = at;
    canon_refs_below(b, less, &(value_refs){ standing, w.n, 0 }, beside, prefix);
}

/* ---- in public ------------------------------------------------------------------------------- */

void pawl_step_blobs(pawl_step *s, size_t limit)
{
    if (s != NULL)
        s->blobs.limit = limit == 0 ? SIZE_MAX : limit;
}

pawl_bytes pawl_step_blob(const pawl_step *s, size_t index, const char **digest)
{
    bool there = s != NULL && index < s->blobs.n;

    if (digest != NULL)
        *digest = there ? s->blobs.list[index].digest : NULL;
    return there ? s->blobs.list[index].bytes : (pawl_bytes){0};
}

static pawl_code blob_of_step(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    const pawl_step *s = ctx;

    for (size_t i = 0; i < s->blobs.n; i++) {
        if (strcmp(s->blobs.list[i].digest, digest) == 0) {
            *bytes = s->blobs.list[i].bytes;
            return PAWL_OK;
        }
    }
    return fail(err, PAWL_IO, "blob %.64s is not of this step", digest);
}

pawl_loader step_loader(pawl_step *s)
{
    return (pawl_loader){ .blob = blob_of_step, .ctx = s };
}

/* ---- put in ---------------------------------------------------------------------------------- */

static pawl_code blob_value(pawl_state *st, arena *a, const char *digest, const pawl_value **out, size_t *size, pawl_err *err)
{
    char hex[HASH_HEX + 1];
    pawl_bytes bytes = {0};
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;
    hash h;

    if (!hash_unhex(digest, strlen(digest), &h))
        return fail(err, PAWL_CORRUPT, "\"%.64s\" is no digest of a blob", digest);
    rc = !st->has_loader || st->loader.blob == NULL ? fail(&why, PAWL_IO, "blob %.64s: the state has no loader for blobs", digest)
                                                    : st->loader.blob(st->loader.ctx, digest, &bytes, &why);
    if (rc != PAWL_OK) {
        st->load_failed = rc;       /* an error of the loader, not of the journal */
        return fail(err, rc, "%s", why.code != PAWL_OK ? why.text : pawl_code_name(rc));
    }
    hash_of(bytes.data, bytes.size, &h);
    hash_hex(&h, hex);
    if (strcmp(hex, digest) != 0)
        return fail(err, PAWL_CORRUPT, "blob %.64s: its bytes were changed", digest);
    *size += bytes.size;
    if ((*out = value_read(a, bytes.data, bytes.size, "a blob", &why)) != NULL)
        return PAWL_OK;
    return a->failed ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "%s", why.text);
}

const pawl_value *blob_get(pawl_state *st, arena *a, const char *digest, pawl_err *err)
{
    const pawl_value *v = NULL;
    size_t size = 0;

    return blob_value(st, a, digest, &v, &size, err) == PAWL_OK ? v : NULL;
}

static bool blob_below(const char *path, const char *under)
{
    size_t n = strlen(under);

    return strncmp(path, under, n) == 0 && (path[n] == '\0' || path[n] == '/' || n == 0);
}

pawl_code blobs_fill(pawl_state *st, arena *a, const pawl_value **v, const pawl_value *beside, const char *under, size_t *bytes, pawl_err *err)
{
    value_place *places = arena_get(a, (pawl_value_size(beside) + 1) * sizeof *places);
    pawl_iter it = pawl_iter_of(beside);
    const pawl_value *ref;
    pawl_code rc = places == NULL ? PAWL_NOMEM : PAWL_OK;
    size_t n = 0;

    while (rc == PAWL_OK && (ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_value_string(pawl_value_at(ref, 0)), *form = pawl_value_string(pawl_value_at(ref, 1));
        const char *target = pawl_value_string(pawl_value_at(ref, 2));
        value_place *p = &places[n];

        if (path == NULL || form == NULL || target == NULL || strcmp(form, "blob") != 0)
            return fail(err, PAWL_CORRUPT, "a reference that stands here is [path,\"blob\",digest]");
        if (!blob_below(path, under))
            continue;
        p->at = pawl_value_find(*v, path);
        if (pawl_value_type(p->at) != PAWL_TYPE_NULL || (n > 0 && val_of(p->at) <= val_of(places[n - 1].at)))
            return fail(err, PAWL_CORRUPT, "a reference at \"%.64s\", where no null is, or not in its order", path);
        rc = blob_value(st, a, target, &p->sub, bytes, err);
        n++;
    }
    if (rc != PAWL_OK || n == 0)
        return rc;
    if ((*v = value_fill(a, *v, places, n)) == NULL)
        return PAWL_NOMEM;
    return value_deeper(*v, READ_DEPTH_MAX) ? fail(err, PAWL_CORRUPT, "a value with its blobs has more than %d levels", READ_DEPTH_MAX) : PAWL_OK;
}

/* ---- of an entry that was read --------------------------------------------------------------------- */

pawl_code item_whole(pawl_state *st, pawl_entry *e, item *it, pawl_err *err)
{
    bool object = it->kind == ITEM_START || it->kind == ITEM_INPUT || it->kind == ITEM_UPDATE;
    const pawl_value *v = it->value;
    pawl_code rc = blobs_fill(st, e->mem, &v, it->refs.list, "", &e->apart, err);

    if (rc == PAWL_OK && object && pawl_value_type(v) != PAWL_TYPE_OBJECT)
        rc = fail(err, PAWL_CORRUPT, "item \"%s\": its blob is no object", item_name(it->kind));
    if (rc != PAWL_OK)
        return rc;
    it->value = v;
    it->refs.list = NULL;
    return PAWL_OK;
}

static bool all_blobs(const pawl_value *beside)
{
    pawl_iter it = pawl_iter_of(beside);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "blob") != 0)
            return false;
    }
    return beside != NULL;
}

/* Resolves the emissions of a leave, for stream readers. Its writes are resolved when the close merges them. */
static pawl_code emits_whole(pawl_state *st, pawl_entry *e, item *it, pawl_err *err)
{
    leave *l = arena_get(e->mem, sizeof *l);
    named *emits = arena_get(e->mem, it->leave->nemits * sizeof *emits);
    pawl_code rc = PAWL_OK;

    if (l == NULL || emits == NULL)
        return PAWL_NOMEM;
    *l = *it->leave;
    memcpy(emits, l->emits, l->nemits * sizeof *emits);
    for (uint32_t i = 0; i < l->nemits && rc == PAWL_OK; i++) {
        if (!all_blobs(emits[i].refs.list))
            continue;
        rc = blobs_fill(st, e->mem, &emits[i].value, emits[i].refs.list, "", &e->apart, err);
        emits[i].refs.list = NULL;
    }
    l->emits = emits;
    if (rc == PAWL_OK)
        it->leave = l;
    return rc;
}

static pawl_code entry_whole(pawl_state *st, pawl_entry *e, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (item *it = e->items; it != NULL && rc == PAWL_OK; it = it->next) {
        if (it->refs.list != NULL)
            rc = item_whole(st, e, it, err);
        else if (it->kind == ITEM_LEAVE && it->leave->nemits > 0)
            rc = emits_whole(st, e, it, err);
    }
    return rc;
}

pawl_code pawl_entry_load(pawl_state *st, pawl_entry *e, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    if (st == NULL || e == NULL)
        return fail(err, PAWL_INVALID, "an entry is loaded by a state");
    st->load_failed = PAWL_OK;
    rc = entry_whole(st, e, &why);
    st->load_failed = PAWL_OK;
    if (rc == PAWL_NOMEM || e->mem->failed)
        return fail(err, PAWL_NOMEM, "%s: no memory to load an entry", st->run);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.code != PAWL_OK ? why.text : pawl_code_name(rc));
}

/* ---- what a journal sets apart is set apart again when it is verified ----------------------------------- */

static bool like_add(blob_set *k, arena *mem, const pawl_value *beside)
{
    pawl_iter it = pawl_iter_of(beside);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "blob") != 0 || pawl_value_string(pawl_value_at(ref, 2)) == NULL)
            continue;
        if (!arena_room(mem, (void **)&k->like, &k->like_cap, k->nlike, sizeof *k->like))
            return false;
        k->like[k->nlike++] = pawl_value_at(ref, 2);
    }
    return true;
}

static bool like_writes(blob_set *k, arena *mem, const item_write *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!like_add(k, mem, w[i].refs.list))
            return false;
    return true;
}

static bool like_named(blob_set *k, arena *mem, const named *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!like_add(k, mem, v[i].refs.list))
            return false;
    return true;
}

bool blobs_like(blob_set *k, arena *mem, const pawl_entry *e)
{
    bool good = true;

    k->like = NULL;
    k->nlike = k->like_cap = 0;
    for (const item *it = e->items; it != NULL && good; it = it->next) {
        good = like_add(k, mem, it->refs.list) && like_writes(k, mem, it->writes, it->nwrites);
        if (good && it->kind == ITEM_LEAVE)
            good = like_writes(k, mem, it->leave->writes, it->leave->nwrites) && like_named(k, mem, it->leave->sends, it->leave->nsends) &&
                   like_named(k, mem, it->leave->emits, it->leave->nemits);
        if (good && it->kind == ITEM_CLOSE)
            good = like_writes(k, mem, it->closing->merged, it->closing->nmerged) && like_named(k, mem, it->closing->sends, it->closing->nsends);
    }
    return good;
}
