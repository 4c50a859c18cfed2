/* sweep.c - what goes from a store of three methods: pruned entries, removed runs, what interrupted writes left behind; and the check of all records.
 *
 * Called through the verbs prune, remove, vacuum and check. Invariant: a part is swept only if it was there, in the version that is removed, before a put of
 * its run's head that does not name it. Whoever was about to name it has to replace an older head, and fails; so no head ever names a part that was swept. */
#include "store/simple/simple.h"

#include <stdlib.h>

enum { SWEEP_TRIES_MAX = 10 };

/* ---- prune_order (K10) --------------------------------------------------------------------------------------- */

typedef struct prune_order { uint64_t fence, seq; pawl_bytes base; } prune_order;

static pawl_code prune_check(simple_run *r, const prune_order *g, pawl_err *err)
{
    const char *id = r->head.run;
    store_base b;
    pawl_code rc;

    if (g->seq < r->base_seq)
        return fail(err, PAWL_GONE, "%s: entry %llu was pruned, it begins at %llu", id, (unsigned long long)g->seq, (unsigned long long)r->base_seq);
    if (g->seq == 0 || g->seq > r->head.seq)
        return fail(err, PAWL_INVALID, "%s: there is no entry %llu to begin at", id, (unsigned long long)g->seq);
    rc = store_base_read(&r->h->work, g->base, &b, err);
    if (rc == PAWL_OK && (strcmp(b.run, id) != 0 || b.life != r->head.life || b.seq != g->seq))
        rc = fail(err, PAWL_INVALID, "%s: the base is another run's, or of another entry than %llu", id, (unsigned long long)g->seq);
    return rc;
}

static pawl_code snapshot_cut(simple_run *r, uint64_t seq, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    bool survives = false;
    pawl_bytes bytes;
    pawl_code rc = lump_get(r, &r->snapshot, &bytes, &why);

    if (rc == PAWL_OK)
        rc = store_snapshot_survives(&r->h->alloc, bytes, r->snapshot_seq, seq, &survives);
    if (rc != PAWL_OK && rc != PAWL_CORRUPT)
        return why.code != PAWL_OK ? fail(err, rc, "%s", why.text) : rc == PAWL_GONE ? rc : fail(err, rc, "%s: no memory for its snapshot", r->head.run);
    if (survives)
        return PAWL_OK;
    part_drop(r, r->snapshot.part);
    r->snapshot = (simple_lump){ .bytes = { NULL, 0 } };
    r->snapshot_seq = 0;
    return PAWL_OK;
}

static pawl_code prune_change(simple_run *r, void *ctx, pawl_err *err)
{
    const prune_order *g = ctx;
    pawl_bytes text;
    pawl_code rc;

    if ((rc = run_held(r, g->fence, err)) != PAWL_OK || (rc = prune_check(r, g, err)) != PAWL_OK)
        return rc;
    if (g->seq == r->base_seq) {
        if ((rc = lump_get(r, &r->base, &text, err)) != PAWL_OK)
            return rc;
        return g->base.size == text.size && memcmp(g->base.data, text.data, text.size) == 0 ? PAWL_IGNORED
             : fail(err, PAWL_CONFLICT, "%s: it begins at entry %llu, with another base", r->head.run, (unsigned long long)g->seq);
    }
    if ((rc = snapshot_cut(r, g->seq, err)) != PAWL_OK || (rc = journal_cut(r, g->seq, err)) != PAWL_OK)
        return rc;
    part_drop(r, r->base.part);
    r->base_seq = g->seq;
    return lump_put(r, g->base, &r->base, err);
}

pawl_code simple_prune(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_bytes base, pawl_err *err)
{
    prune_order g = { fence, seq, base };

    simple_begin(simple_of(s));
    return run_change(simple_of(s), run, prune_change, &g, err);
}

/* ---- removing ------------------------------------------------------------------------------------------------ */

static uint64_t version_of(simple_handle *h, const simple_key *k)
{
    uint64_t version = k->version;
    pawl_bytes body;

    return version != 0 || record_get(h, k->key, &body, &version, NULL) == PAWL_OK ? version : 0;
}

/* All parts under `prefix`; those that cannot be removed now are left to a sweep. */
static void parts_remove(simple_handle *h, const char *prefix)
{
    simple_keys keys;

    if (record_list(h, prefix, &keys, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < keys.n; i++) {
        const uint64_t version = version_of(h, &keys.all[i]);

        if (version != 0)
            (void)record_remove(h, keys.all[i].key, version, NULL);
    }
}

pawl_code simple_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    char key[PAWL_KEY_BYTES_MAX + 1];
    pawl_err why = { PAWL_OK, "" };
    simple_run r;
    pawl_code rc = PAWL_CONFLICT;

    for (int i = 0; i < SIMPLE_TRIES_MAX && rc == PAWL_CONFLICT; i++) {
        why = (pawl_err){ PAWL_OK, "" };
        simple_begin(h);
        if ((rc = run_open(h, run, true, &r, &why)) != PAWL_OK || (rc = run_held(&r, fence, &why)) != PAWL_OK)
            break;
        head_key(h, run, key);
        rc = record_remove(h, key, r.version, &why);
        run_forget(h, run);
    }
    if (rc != PAWL_OK)
        return fail(err, rc == PAWL_CONFLICT ? PAWL_TRANSIENT : rc, "%s", why.text);
    if (r.hint != NULL)
        (void)record_remove(h, r.hint, r.version, NULL);
    part_key(&r, 'x', "", key);
    key[strlen(key) - 1] = '\0';        /* all kinds; the `~` before stays: number 1 is not the beginning of number 10 */
    parts_remove(h, key);
    return PAWL_OK;
}

/* ---- sweeping ------------------------------------------------------------------------------------------------- */

typedef struct part_ids { uint64_t *all; size_t n, cap; } part_ids;

static void id_add(simple_run *r, part_ids *ids, simple_part part)
{
    if (part.id != 0 && arena_room(&r->h->work, (void **)&ids->all, &ids->cap, ids->n, sizeof *ids->all))
        ids->all[ids->n++] = part.id;
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The parts that the head names, in order. */
static pawl_code ids_named(simple_run *r, part_ids *ids, pawl_err *err)
{
    simple_segment *some;
    pawl_code rc = PAWL_OK;
    size_t n;

    *ids = (part_ids){ .n = 0 };
    id_add(r, ids, r->base.part);
    id_add(r, ids, r->snapshot.part);
    id_add(r, ids, r->cold_marks);
    for (size_t i = 0; i < r->nindexes && rc == PAWL_OK; i++) {
        id_add(r, ids, r->indexes[i].part);
        rc = journal_index(r, &r->indexes[i], &some, &n, err);
        for (size_t k = 0; k < n && rc == PAWL_OK; k++)
            id_add(r, ids, some[k].part);
    }
    for (size_t i = 0; i < r->nsegments; i++)
        id_add(r, ids, r->segments[i].part);
    for (size_t i = 0; i < r->nwaits; i++)
        id_add(r, ids, r->waits[i].spec.part);
    for (size_t i = 0; i < r->nmail; i++) {
        id_add(r, ids, r->mail[i].value.part);
        id_add(r, ids, r->mail[i].update.part);
    }
    if (r->h->work.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory to sweep", r->head.run);
    if (ids->n > 1)
        qsort(ids->all, ids->n, sizeof *ids->all, by_id);
    return rc;
}

static uint64_t hex_read(const char *text, char **end)
{
    return strtoull(text, end, 16);
}

/* `rest`: the key after the run and its `~`. */
static bool is_garbage(const simple_run *r, const part_ids *ids, const char *rest)
{
    char *end;
    uint64_t id;

    if (hex_read(rest, &end) != r->head.no || *end != '~')
        return true;
    if (end[1] != 'o')
        return !r->begun;
    id = hex_read(end + 2, &end);
    return ids->n == 0 || bsearch(&id, ids->all, ids->n, sizeof id, by_id) == NULL;
}

/* Puts the head again, so that a writer that was about to replace the one before starts again. One that is not begun is removed; its creator starts again. */
static pawl_code head_touch(simple_run *r, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1];

    if (r->begun)
        return run_commit(r, err);
    head_key(r->h, r->head.run, key);
    run_forget(r->h, r->head.run);
    return record_remove(r->h, key, r->version, err);
}

/* `parts` of one run were listed before; `prefix`: of their keys. Versions that the list did not give are read before the head is put: read after it, they
 * might be those of a writer that began with the new head, under the same ids. */
static pawl_code run_sweep(simple_handle *h, const char *run, const simple_key *parts, size_t n, size_t prefix, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    part_ids ids = { .n = 0 };
    uint64_t *garbage = NULL;           /* versions; 0: it is none */
    bool some = false;
    simple_run r;
    pawl_code rc = run_open(h, run, true, &r, &why);
    const bool there = rc == PAWL_OK || (rc == PAWL_GONE && r.version != 0);

    if (rc != PAWL_OK && rc != PAWL_GONE)
        return fail(err, rc, "%s", why.text);
    if (there && r.begun && (rc = ids_named(&r, &ids, err)) != PAWL_OK)
        return rc == PAWL_GONE ? PAWL_CONFLICT : rc;
    if ((garbage = arena_zero(&h->work, n * sizeof *garbage)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to sweep", run);
    for (size_t i = 0; i < n; i++)
        if (!there || is_garbage(&r, &ids, parts[i].key + prefix))
            some = (garbage[i] = version_of(h, &parts[i])) != 0 || some;
    if (there && (some || !r.begun)) {
        why = (pawl_err){ PAWL_OK, "" };
        if ((rc = head_touch(&r, &why)) != PAWL_OK)
            return rc == PAWL_CONFLICT ? rc : fail(err, rc, "%s", why.text);
    }
    for (size_t i = 0; i < n; i++)
        if (garbage[i] != 0)
            (void)record_remove(h, parts[i].key, garbage[i], NULL);
    return PAWL_OK;
}

/* The text between the prefix and the next `~`. */
static bool run_of_key(const char *key, size_t prefix, char run[STORE_RUN_BYTES_MAX + 1])
{
    size_t n = strcspn(key + prefix, "~");

    if (n > STORE_RUN_BYTES_MAX)
        return false;
    memcpy(run, key + prefix, n);
    run[n] = '\0';
    return store_run_valid(run);
}

/* All keys of a kind, in `mem`, since h->work is used again for each run. */
static pawl_code keys_read(simple_handle *h, char kind, arena *mem, simple_keys *keys, size_t *prefix, pawl_err *err)
{
    char text[PAWL_KEY_BYTES_MAX + 1];
    pawl_code rc;

    head_key(h, "", text);
    text[0] = kind;
    *prefix = strlen(text);
    simple_begin(h);
    rc = record_list(h, text, keys, err);
    *mem = h->work;
    arena_init(&h->work, &h->alloc, 0);
    return rc;
}

/* `all` are parts of one run, `n` of them: again, while others write to it. */
static pawl_code run_sweep_surely(simple_handle *h, const char *run, const simple_key *all, size_t n, size_t prefix, pawl_err *err)
{
    pawl_code rc = PAWL_CONFLICT;

    for (int i = 0; i < SWEEP_TRIES_MAX && rc == PAWL_CONFLICT; i++) {
        simple_begin(h);
        rc = run_sweep(h, run, all, n, prefix, err);
    }
    return rc == PAWL_CONFLICT ? PAWL_OK : rc;          /* the next sweep finds it */
}

static pawl_code parts_sweep(simple_handle *h, pawl_err *err)
{
    char run[STORE_RUN_BYTES_MAX + 1];
    simple_keys keys;
    size_t prefix, n;
    arena mem;
    pawl_code rc = keys_read(h, 'p', &mem, &keys, &prefix, err);

    for (size_t i = 0; i < keys.n && rc == PAWL_OK; i += n) {
        const char *key = keys.all[i].key;

        n = 1;
        if (!run_of_key(key, prefix, run))
            continue;
        const size_t size = prefix + strlen(run) + 1;
        while (i + n < keys.n && strncmp(key, keys.all[i + n].key, size) == 0)
            n++;
        rc = run_sweep_surely(h, run, keys.all + i, n, size, err);
    }
    arena_free(&mem);
    return rc;
}

typedef pawl_code each_run_fn(simple_handle *h, const char *run, pawl_err *err);

static pawl_code each_run(simple_handle *h, each_run_fn *fn, pawl_err *err)
{
    simple_keys keys;
    size_t prefix;
    arena mem;
    pawl_code rc = keys_read(h, 'h', &mem, &keys, &prefix, err);

    for (size_t i = 0; i < keys.n && rc == PAWL_OK; i++) {
        simple_begin(h);
        rc = fn(h, keys.all[i].key + prefix, err);
    }
    arena_free(&mem);
    return rc;
}

/* A head that is not begun and has no parts: its creator was interrupted before the first one. */
static pawl_code stub_sweep(simple_handle *h, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    simple_run r;
    pawl_code rc = run_open(h, run, true, &r, &why);

    if (rc == PAWL_GONE && r.version != 0)
        (void)head_touch(&r, NULL);
    return rc == PAWL_OK || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s", why.text);
}

static int by_key_alone(const void *a, const void *b)
{
    return strcmp(a, ((const simple_key *)b)->key);
}

/* Hints whose head has another version by now, or is gone. The heads are listed after them: none of these hints will be true again. */
static pawl_code hints_sweep(simple_handle *h, pawl_err *err)
{
    char run[STORE_RUN_BYTES_MAX + 1], key[PAWL_KEY_BYTES_MAX + 1];
    simple_keys hints, heads = { .n = 0 };
    size_t prefix;
    arena mem;
    pawl_code rc = keys_read(h, 'm', &mem, &hints, &prefix, err);

    simple_begin(h);
    head_key(h, "", key);
    if (rc == PAWL_OK)
        rc = record_list(h, key, &heads, err);
    for (size_t i = 0; i < hints.n && rc == PAWL_OK; i++) {
        const uint64_t version = version_of(h, &hints.all[i]);
        const simple_key *head;

        if (version == 0 || !run_of_key(hints.all[i].key, prefix, run))
            continue;
        head_key(h, run, key);
        head = heads.n > 0 ? bsearch(key, heads.all, heads.n, sizeof *heads.all, by_key_alone) : NULL;
        if (head == NULL || (head->version != 0 && head->version != version))
            (void)record_remove(h, hints.all[i].key, version, NULL);
    }
    arena_free(&mem);
    return rc;
}

pawl_code simple_vacuum(pawl_store *s, pawl_err *err)
{
    pawl_code rc = parts_sweep(simple_of(s), err);

    if (rc == PAWL_OK)
        rc = each_run(simple_of(s), stub_sweep, err);
    if (rc == PAWL_OK)
        rc = hints_sweep(simple_of(s), err);
    return rc == PAWL_OK ? hints_complete(simple_of(s), err) : rc;
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

typedef struct line_count { uint64_t seq; bool ordered; } line_count;

/* The SEQ of an entry follows its hash: HASH [SEQ, */
static bool count_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    line_count *c = ctx;
    uint64_t is = 0;

    if (kind != PAWL_LINE_ENTRY)
        return true;
    for (size_t i = HASH_HEX + 2; i < line.size && line.data[i] >= '0' && line.data[i] <= '9'; i++)
        is = is * 10 + (uint64_t)(line.data[i] - '0');
    c->ordered = is == seq;
    c->seq = seq;
    return c->ordered;
}

static pawl_code parts_check(simple_run *r, pawl_err *err)
{
    part_ids ids;
    pawl_bytes bytes;
    pawl_code rc = ids_named(r, &ids, err);

    for (size_t i = 0; i < r->nwaits && rc == PAWL_OK; i++)
        rc = lump_get(r, &r->waits[i].spec, &bytes, err);
    for (size_t i = 0; i < r->nmail && rc == PAWL_OK; i++)
        if ((rc = lump_get(r, &r->mail[i].value, &bytes, err)) == PAWL_OK)
            rc = lump_get(r, &r->mail[i].update, &bytes, err);
    if (rc == PAWL_OK && (rc = lump_get(r, &r->base, &bytes, err)) == PAWL_OK)
        rc = lump_get(r, &r->snapshot, &bytes, err);
    if (rc == PAWL_OK && r->cold_marks.id != 0)
        rc = part_get(r, r->cold_marks, &bytes, err);
    return rc;
}

static pawl_code blobs_check(simple_run *r, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1], hex[HASH_HEX + 1];
    uint64_t version;
    pawl_bytes bytes;
    simple_keys keys;
    size_t prefix;
    hash is;
    pawl_code rc;

    part_key(r, 'b', "", key);
    prefix = strlen(key);
    rc = record_list(r->h, key, &keys, err);
    for (size_t i = 0; i < keys.n && rc == PAWL_OK; i++) {
        if ((rc = record_get(r->h, keys.all[i].key, &bytes, &version, err)) == PAWL_GONE)
            return rc;
        if (rc != PAWL_OK)
            break;
        hash_of(bytes.data, bytes.size, &is);
        hash_hex(&is, hex);
        if (strncmp(hex, keys.all[i].key + prefix, strlen(keys.all[i].key + prefix)) != 0)
            rc = fail(err, PAWL_CORRUPT, "%s: the bytes of blob %s do not match its digest", r->head.run, keys.all[i].key + prefix);
    }
    return rc;
}

static pawl_code check_one(simple_run *r, void *ctx, pawl_err *err)
{
    line_count c = { r->base_seq, true };
    pawl_code rc = journal_read(r, r->base_seq, 0, count_line, &c, err);

    (void)ctx;
    if (rc == PAWL_OK && (!c.ordered || c.seq != r->head.seq))
        rc = fail(err, PAWL_CORRUPT, "%s: its entries end at %llu, and its head says %llu", r->head.run, (unsigned long long)c.seq,
                  (unsigned long long)r->head.seq);
    if (rc == PAWL_OK)
        rc = parts_check(r, err);
    return rc == PAWL_OK ? blobs_check(r, err) : rc;
}

static pawl_code run_check(simple_handle *h, const char *run, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = run_query(h, run, check_one, NULL, &why);

    return rc == PAWL_OK || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s", why.text);
}

pawl_code simple_check(pawl_store *s, pawl_err *err)
{
    return each_run(simple_of(s), run_check, err);
}
