/* references.c - resolves the references of a value (K3, K7). See references.h. */
#include "kernel/journal/apart.h"
#include "kernel/names.h"
#include "kernel/references.h"

#include <stdlib.h>
#include <string.h>

/* ---- channels by reference ----------------------------------------------------------------------- */

/* Extends the digest of a list by one element: the hash of the old digest and the element. False: no memory (b->failed). */
static bool digest_add(hash *d, const pawl_value *element, buf *b)
{
    hash own;

    buf_reset(b);
    canon(b, element);
    if (b->failed)
        return false;
    hash_of(b->data, b->size, &own);
    const pawl_bytes parts[2] = { { (const char *)d->b, HASH_BYTES }, { (const char *)own.b, HASH_BYTES } };
    hash_parts(parts, 2, d);
    return true;
}

static pawl_code list_digest(pawl_state *st, channel *c, hash *out, pawl_err *err)
{
    list *l = c->list.of;
    const yyjson_val *at;
    hash d;
    size_t i, total = l->segment + l->count;
    buf b;

    if (l->digested < l->segment) {     /* elements that are not loaded must be loaded to be digested */
        pawl_code rc = list_load(st, c, err);

        if (rc != PAWL_OK)
            return rc;
    }
    memset(&d, 0, sizeof d);
    if (l->digested > 0)
        d = l->digest;
    at = l->count > 0 ? l->nodes + 1 : NULL;
    if (l->digested_nodes > 0 && at != NULL)
        at = l->nodes + l->digested_nodes;
    else
        for (i = l->segment; i < l->digested; i++)
            at += value_nodes(of_val(at));
    buf_init(&b, &st->alloc);
    for (i = l->digested; i < total && !b.failed; i++) {
        if (!digest_add(&d, of_val(at), &b))
            break;
        at += value_nodes(of_val(at));
        if (i < total - l->floating) {  /* floating elements are left out of the stored digest, since the feed may be rolled back */
            l->digest = d;
            l->digested = i + 1;
            l->digested_nodes = (size_t)(at - l->nodes);
        }
    }
    *out = d;
    i = b.failed;
    buf_free(&b);
    return i ? fail(err, PAWL_NOMEM, "channel \"%s\": no memory for its digest", c->d->name) : PAWL_OK;
}

static void digest_text(char *out, size_t size, size_t count, const hash *h)
{
    char digits[24];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    if (sizeof digits - n + 1 + HASH_HEX + 1 > size)
        return;
    memcpy(out, digits + n, sizeof digits - n);
    out[sizeof digits - n] = ':';
    hash_hex(h, out + (sizeof digits - n) + 1);
}

pawl_code channel_digest(pawl_state *st, channel *c, char *out, size_t size, pawl_err *err)
{
    const pawl_value *v;
    hash h;
    buf b;
    pawl_code rc = PAWL_OK;

    memset(&h, 0, sizeof h);
    if (c->d->rule == PAWL_RULE_APPEND) {
        const list *l = channel_list(c);

        if (l != NULL)
            rc = list_digest(st, c, &h, err);
        if (rc == PAWL_OK)
            digest_text(out, size, l != NULL ? l->segment + l->count : 0, &h);
        return rc;
    }
    v = channel_value(st, c);
    if (v == NULL && channel_is_set(c))
        return st->load_failed != PAWL_OK ? st->load_failed : PAWL_NOMEM;
    buf_init(&b, &st->alloc);
    if (v != NULL)
        canon(&b, v);
    hash_of(b.data, b.size, &h);
    hash_hex(&h, out);
    rc = b.failed ? fail(err, PAWL_NOMEM, "channel \"%s\": no memory for its digest", c->d->name) : PAWL_OK;
    buf_free(&b);
    return rc;
}

/* ---- one reference ------------------------------------------------------------------------------------ */

/* "0/text" is /text in the receipt of command 0; "@/text" is /text in the event of a reducer. */
static const pawl_value *event_target(const task *tk, const pawl_value *in, const char *target)
{
    size_t n = strcspn(target, "/");

    if (n == 1 && target[0] == '@')
        return pawl_value_find(in, target + 1);
    if (tk == NULL || n == 0 || n > 9)
        return NULL;
    unsigned long i = strtoul(target, NULL, 10);
    if (i >= tk->ncalls || !call_has_outcome(&tk->calls[i]))
        return NULL;
    return pawl_value_find(tk->calls[i].value, target + n);
}

/* The frame of the task: references to channels mean those of the task's own graph. */
static frame *frame_of(frame *f, const task *tk)
{
    frame *in = NULL;

    if (tk == NULL || (tk >= f->tasks && tk < f->tasks + f->ntasks))
        return f;
    for (uint32_t i = 0; i < f->ntasks && in == NULL; i++)
        in = f->tasks[i].child != NULL ? frame_of(f->tasks[i].child, tk) : NULL;
    return in;
}

static const pawl_value *all_channels(pawl_state *st, const frame *f, arena *a)
{
    size_t nodes = 1, used = 1, count = 0;
    yyjson_val *out;

    for (uint32_t i = 0; i < f->nchannels; i++) {
        const pawl_value *v = channel_own(f->channels[i].d->name) ? NULL : channel_value(st, &f->channels[i]);

        if (v == NULL && channel_is_set(&f->channels[i]) && !channel_own(f->channels[i].d->name))
            return NULL;        /* one channel cannot be loaded, so the whole state cannot */
        nodes += v != NULL ? 1 + value_nodes(v) : 0;
    }
    if ((out = arena_get(a, nodes * sizeof *out)) == NULL)
        return NULL;
    for (uint32_t i = 0; i < f->nchannels; i++) {
        channel *c = &f->channels[i];
        const pawl_value *v = channel_own(c->d->name) ? NULL : channel_value(st, c), *name;

        if (v == NULL)
            continue;
        if ((name = value_string(a, c->d->name, strlen(c->d->name))) == NULL)
            return NULL;
        out[used++] = *val_of(name);
        memcpy(out + used, val_of(v), value_nodes(v) * sizeof *out);
        used += value_nodes(v);
        count++;
    }
    out[0].tag = (uint64_t)count << YYJSON_TAG_BIT | YYJSON_TYPE_OBJ;
    out[0].uni.ofs = used * sizeof *out;
    return of_val(out);
}

/* An append channel may have grown since the command was made: returns its first elements when their digest is the wanted one. */
static const pawl_value *list_before(arena *a, const pawl_value *v, const char *digest)
{
    unsigned long count = strtoul(digest, NULL, 10);
    const yyjson_val *at = val_of(v) + 1;
    hash d = {{0}};
    char then[HASH_HEX + 32] = "";
    yyjson_val *out;
    buf b;

    if (count >= pawl_value_size(v))
        return NULL;
    buf_init(&b, &a->alloc);
    for (unsigned long i = 0; i < count && !b.failed; i++, at += value_nodes(of_val(at))) {
        if (!digest_add(&d, of_val(at), &b))
            break;
    }
    a->failed = a->failed || b.failed;
    buf_free(&b);
    if (a->failed)
        return NULL;
    digest_text(then, sizeof then, count, &d);
    if (strcmp(then, digest) != 0 || (out = arena_get(a, (size_t)(at - val_of(v)) * sizeof *out)) == NULL)
        return NULL;
    memcpy(out, val_of(v), (size_t)(at - val_of(v)) * sizeof *out);
    out[0].tag = (uint64_t)count << YYJSON_TAG_BIT | YYJSON_TYPE_ARR;
    out[0].uni.ofs = (size_t)(at - val_of(v)) * sizeof *out;
    return of_val(out);
}

static const pawl_value *channel_target(pawl_state *st, const frame *f, arena *a, const char *target, const char *digest, pawl_err *err)
{
    char now[HASH_HEX + 32] = "";
    channel *c;
    const pawl_value *v;

    if (strcmp(target, "*") == 0)
        return all_channels(st, f, a);
    if ((c = channel_find(f, target)) == NULL) {
        fail(err, PAWL_CORRUPT, "a reference to channel \"%s\", which is not there", target);
        return NULL;
    }
    if (channel_digest(st, c, now, sizeof now, err) != PAWL_OK || (channel_value(st, c) == NULL && channel_is_set(c)))
        return NULL;            /* a value that cannot be loaded must not read as null */
    if (digest != NULL && strcmp(digest, now) != 0) {
        if (c->d->rule == PAWL_RULE_APPEND && (v = channel_value(st, c)) != NULL && (v = list_before(a, v, digest)) != NULL)
            return v;
        fail(err, PAWL_GONE, "channel \"%s\" has moved on since the command was made: take the state at its entry", target);
        return NULL;
    }
    v = channel_value(st, c);
    return v != NULL ? v : value_null(a);
}

static const pawl_value *ref_target(pawl_state *st, arena *a, const task *tk, const pawl_value *in, const pawl_value *ref,
                                    pawl_err *err)
{
    const char *form = pawl_value_string(pawl_value_at(ref, 1)), *target = pawl_value_string(pawl_value_at(ref, 2));
    const pawl_value *v = NULL;

    if (form == NULL || target == NULL) {
        fail(err, PAWL_CORRUPT, "a reference is [path,form,target], all texts");
        return NULL;
    }
    if (strcmp(form, "event") == 0) {
        if ((v = event_target(tk, in, target)) == NULL)
            fail(err, PAWL_CORRUPT, "a reference to \"%s\", which no command of the visit gave", target);
    } else if (strcmp(form, "channel") == 0) {
        v = channel_target(st, frame_of(&st->root, tk), a, target, pawl_value_string(pawl_value_at(ref, 3)), err);
    } else if (strcmp(form, "blob") == 0) {
        v = blob_get(st, a, target, err);
    } else {
        fail(err, PAWL_CORRUPT, "\"%s\" is no form of reference that this version knows", form);
    }
    return v;
}

/* Resolves the references to events in *args and returns the other references; NULL: no others, or *rc is an error. */
static const pawl_value *events_put(pawl_state *st, const pawl_value *in, const pawl_value *stand, const pawl_value **args, pawl_code *rc,
                                    pawl_err *err)
{
    arena *a = st->t->mem;
    pawl_iter it = pawl_iter_of(stand);
    const pawl_value *ref, *sub, *left = NULL;

    while (*rc == PAWL_OK && (ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "event") != 0) {
            left = left == NULL ? value_pack(a, err, "[v]", ref) : value_push(a, left, ref);
            *rc = left == NULL ? PAWL_NOMEM : PAWL_OK;
        } else if ((sub = ref_target(st, a, NULL, in, ref, err)) == NULL) {
            *rc = PAWL_CORRUPT;
        } else if ((*args = value_splice(a, *args, pawl_value_string(pawl_value_at(ref, 0)), sub)) == NULL) {
            *rc = a->failed ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "a reference at a place where there is nothing");
        }
    }
    return left;
}

pawl_code spec_whole(pawl_state *st, const pawl_value *in, const char **text, size_t *size, pawl_err *err)
{
    const pawl_value *spec = value_read(st->t->mem, *text, *size, "a command", err), *args = pawl_value_get(spec, "args");
    const pawl_value *stand = pawl_value_get(spec, "refs"), *left, *key, *v;
    pawl_iter it = pawl_iter_of(spec);
    pawl_code rc = spec != NULL ? PAWL_OK : st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    buf b;

    left = events_put(st, in, stand, &args, &rc, err);
    if (rc != PAWL_OK || pawl_value_size(left) == pawl_value_size(stand))
        return rc;
    buf_init(&b, &st->alloc);
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        if (v == stand && left == NULL)
            continue;
        buf_char(&b, b.size == 0 ? '{' : ',');
        canon(&b, key);
        buf_char(&b, ':');
        canon(&b, v == stand ? left : v == pawl_value_get(spec, "args") ? args : v);
    }
    buf_char(&b, '}');
    *size = b.size;
    *text = b.failed ? NULL : arena_strdup(st->t->mem, b.data, b.size);
    buf_free(&b);
    return *text != NULL ? PAWL_OK : PAWL_NOMEM;
}

/* Adds a reference to a secret to the list [[path,spec]...]. */
static const pawl_value *secret_add(arena *a, const pawl_value *told, const pawl_value *ref)
{
    const pawl_value *one = value_pack(a, NULL, "[v,v]", pawl_value_at(ref, 0), pawl_value_at(ref, 2));
    size_t n = told == NULL ? 1 : value_nodes(told);
    yyjson_val *out = one == NULL ? NULL : arena_get(a, (n + value_nodes(one)) * sizeof *out);

    if (out == NULL)
        return NULL;
    if (told != NULL)
        memcpy(out, val_of(told), n * sizeof *out);
    memcpy(out + n, val_of(one), value_nodes(one) * sizeof *out);
    n += value_nodes(one);
    out[0].tag = (uint64_t)(pawl_value_size(told) + 1) << YYJSON_TAG_BIT | YYJSON_TYPE_ARR;
    out[0].uni.ofs = n * sizeof *out;
    return of_val(out);
}

/* Sorts the places by address; false: one place is inside another. */
static bool places_sorted(value_place *places, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && val_of(places[j].at) < val_of(places[j - 1].at); j--) {
            const value_place one = places[j];

            places[j] = places[j - 1];
            places[j - 1] = one;
        }
    for (size_t i = 1; i < n; i++)
        if (val_of(places[i].at) < val_of(places[i - 1].at) + value_nodes(places[i - 1].at))
            return false;
    return true;
}

/* Resolves all references with one copy of the value, since the targets may be long. */
const pawl_value *refs_resolve(pawl_state *st, arena *a, const task *tk, const pawl_value *in, const pawl_value *v,
                               const pawl_value *stand, const pawl_value **secrets, pawl_err *err)
{
    const size_t most = pawl_value_size(stand);
    value_place *places = most == 0 ? NULL : arena_zero(a, most * sizeof *places);
    pawl_iter it = pawl_iter_of(stand);
    const pawl_value *ref;
    size_t n = 0;

    while (v != NULL && places != NULL && (ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_value_string(pawl_value_at(ref, 0)), *form = pawl_value_string(pawl_value_at(ref, 1));

        if (path == NULL || form == NULL) {
            fail(err, PAWL_CORRUPT, "a reference is [path,form,target], all texts");
            return NULL;
        }
        if (strcmp(form, "secret") == 0 && secrets != NULL) {
            if ((*secrets = secret_add(a, *secrets, ref)) == NULL)
                return NULL;
            continue;
        }
        if ((places[n].sub = ref_target(st, a, tk, in, ref, err)) == NULL)
            return NULL;
        if ((places[n++].at = pawl_value_find(v, path)) == NULL) {
            fail(err, PAWL_CORRUPT, "a reference at \"%s\", where there is nothing", path);
            return NULL;
        }
    }
    if (n == 0 || v == NULL)
        return a->failed ? NULL : v;
    if (!places_sorted(places, n)) {
        fail(err, PAWL_CORRUPT, "a reference that lies inside another");
        return NULL;
    }
    return value_fill(a, v, places, n);
}
