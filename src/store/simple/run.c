/* run.c - reading and changing the head of a run; the counter; the clock of a store of three methods.
 *
 * Owns the heads that a handle remembers. Called by the files of the verbs. Invariants: a verb that writes has either replaced the head that it decoded, or
 * changed nothing; a head is remembered only as it was stored, in the version that it was stored under. */
#include "store/simple/simple.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t simple_now(pawl_store *s)
{
    simple_handle *h = simple_of(s);
    int64_t now = h->methods.now != NULL ? h->methods.now(h->ctx) : store_system_ms();

    if (now > h->last_ms)
        h->last_ms = now;
    return h->last_ms;
}

void simple_begin(simple_handle *h)
{
    arena_reset(&h->lent);
    arena_reset(&h->work);
}

/* ---- heads that are remembered -------------------------------------------------------------------------- */

static simple_cached *cached_of(simple_handle *h, const char *run)
{
    return &h->cached[simple_hash(run) % SIMPLE_CACHED_RUNS];
}

void run_forget(simple_handle *h, const char *run)
{
    simple_cached *c = cached_of(h, run);

    if (strcmp(c->run, run) == 0)
        c->version = 0;
}

/* Takes the bytes of `record`, and leaves it another buffer. */
static void remember(simple_handle *h, const char *run, uint64_t version, buf *record)
{
    simple_cached *c = cached_of(h, run);
    buf before = c->bytes;

    memcpy(c->run, run, strlen(run) + 1);
    c->version = version;
    c->bytes = *record;
    *record = before;
}

/* `fresh`: from the store. A run that is being created is there for create only. */
static pawl_code head_get(simple_handle *h, const char *run, bool fresh, simple_run *out, pawl_err *err)
{
    simple_cached *c = cached_of(h, run);
    char key[PAWL_KEY_BYTES_MAX + 1];
    uint64_t version;
    pawl_bytes body;
    pawl_code rc;

    if (!fresh && c->version != 0 && strcmp(c->run, run) == 0)
        return head_decode(h, run, record_body(&c->bytes), c->version, out, err);
    head_key(h, run, key);
    if ((rc = record_get(h, key, &body, &version, err)) != PAWL_OK) {
        run_forget(h, run);
        return rc == PAWL_GONE ? store_run_missing(run, err) : rc;
    }
    remember(h, run, version, &h->in.b);
    rc = head_decode(h, run, record_body(&c->bytes), version, out, err);
    out->fresh = true;
    if (rc != PAWL_OK)
        run_forget(h, run);
    return rc;
}

pawl_code run_open(simple_handle *h, const char *run, bool fresh, simple_run *out, pawl_err *err)
{
    pawl_code rc;

    *out = (simple_run){ .h = h };
    if (!store_run_valid(run))
        return fail(err, PAWL_INVALID, "no run has such an id");
    rc = head_get(h, run, fresh, out, err);
    return rc == PAWL_OK && !out->begun ? store_run_missing(run, err) : rc;
}

pawl_code run_held(const simple_run *r, uint64_t fence, pawl_err *err)
{
    return fence == 0 || fence != r->head.fence ? store_fenced(r->head.run, fence, r->head.fence, err) : PAWL_OK;
}

/* ---- changing ------------------------------------------------------------------------------------------------ */

/* Whether another writer put the head in this version, so that nobody ever saw the one that was to have it. */
static bool is_another(simple_handle *h, const char *key, uint64_t version)
{
    pawl_err why = { PAWL_OK, "" };
    uint64_t is = 0;

    buf_reset(&h->in.b);
    return h->methods.get(h->ctx, key, &h->in, &is, &why) == PAWL_OK && is == version;
}

pawl_code run_commit(simple_run *r, pawl_err *err)
{
    char key[PAWL_KEY_BYTES_MAX + 1];
    const uint64_t version = r->version == 0 ? r->head.no << 32 | 1 : r->version + 1;
    pawl_code rc;

    if (version >> 32 != r->head.no)
        return fail(err, PAWL_LIMIT, "%s: its head was written 4294967295 times, and cannot be written again", r->head.run);
    head_key(r->h, r->head.run, key);
    if ((rc = head_encode(r, err)) == PAWL_OK)
        rc = record_put(r->h, key, r->version, version, &r->h->out, err);
    if (rc != PAWL_OK) {
        run_forget(r->h, r->head.run);
        if ((r->overtaken = rc == PAWL_CONFLICT) && is_another(r->h, key, version))
            parts_clear(r, false);      /* else the head may have been there, and what is there now may name them: a sweep knows */
        return rc;
    }
    parts_clear(r, true);
    const uint64_t before = r->version;
    r->version = version;
    hint_moved(r, r->hint, before);
    return PAWL_OK;
}

bool run_is_refused(pawl_code rc)
{
    switch (rc) {
    case PAWL_INVALID: case PAWL_LIMIT: case PAWL_CONFLICT: case PAWL_CORRUPT: case PAWL_DENIED: case PAWL_GONE: case PAWL_FENCED: case PAWL_HELD:
        return true;
    case PAWL_OK: case PAWL_PENDING: case PAWL_INTERRUPTED: case PAWL_HALTED: case PAWL_IGNORED: case PAWL_NOMEM: case PAWL_TRANSIENT: case PAWL_IO:
    case PAWL_EFFECT: case PAWL_TIMEOUT: case PAWL_CANCELED: case PAWL_UNKNOWN:
        return false;
    }
    return false;
}

/* A part that `fn` did not find: another writer has removed it, and has changed the head. *before: the version that was read before. */
static bool is_overtaken(const simple_run *r, pawl_code rc, pawl_err *why, uint64_t *before)
{
    if (rc != PAWL_GONE || why->code != PAWL_OK || r->version == 0)
        return false;
    if (r->fresh && r->version == *before) {
        fail(why, PAWL_CORRUPT, "%s: a part that its head names is missing", r->head.run);
        return false;
    }
    *before = r->fresh ? r->version : 0;
    return true;
}

static pawl_code overtaken_always(const char *run, pawl_err *err)
{
    return fail(err, PAWL_TRANSIENT, "%s: others write to it all the time: %d tries (SIMPLE_TRIES_MAX)", run, (int)SIMPLE_TRIES_MAX);
}

pawl_code run_change(simple_handle *h, const char *run, simple_change_fn *fn, void *ctx, pawl_err *err)
{
    uint64_t before = 0;
    simple_run r;
    pawl_code rc;

    for (int i = 0; i < SIMPLE_TRIES_MAX; i++) {
        pawl_err why = { PAWL_OK, "" };

        if ((rc = run_open(h, run, i > 0, &r, &why)) == PAWL_OK && (rc = fn(&r, ctx, &why)) == PAWL_OK) {
            if ((rc = run_commit(&r, &why)) != PAWL_OK && r.overtaken)
                continue;
            if (rc == PAWL_OK)
                remember(h, run, r.version, &h->out);
        } else {
            parts_clear(&r, false);
            if (is_overtaken(&r, rc, &why, &before) || ((run_is_refused(rc) || rc == PAWL_IGNORED) && r.version != 0 && !r.fresh))
                continue;
        }
        return rc == PAWL_OK || rc == PAWL_IGNORED ? PAWL_OK : fail(err, why.code != PAWL_OK ? why.code : rc, "%s", why.text);
    }
    return overtaken_always(run, err);
}

pawl_code run_query(simple_handle *h, const char *run, simple_change_fn *fn, void *ctx, pawl_err *err)
{
    uint64_t before = 0;
    simple_run r;
    pawl_code rc;

    for (int i = 0; i < SIMPLE_TRIES_MAX; i++) {
        pawl_err why = { PAWL_OK, "" };

        if ((rc = run_open(h, run, true, &r, &why)) == PAWL_OK)
            rc = fn(&r, ctx, &why);
        if (!is_overtaken(&r, rc, &why, &before))
            return rc == PAWL_OK ? PAWL_OK : fail(err, why.code != PAWL_OK ? why.code : rc, "%s", why.text);
    }
    return overtaken_always(run, err);
}

/* ---- the counter ----------------------------------------------------------------------------------------------- */

/* The id of a new store: what no other machine, process and moment has. */
static void id_draw(const simple_handle *h, char id[17])
{
    struct timespec t;
    char text[128], hex[HASH_HEX + 1];
    hash sum;
    int n;

    clock_gettime(CLOCK_REALTIME, &t);
    n = snprintf(text, sizeof text, "%lld %ld %ld %p %p", (long long)t.tv_sec, t.tv_nsec, (long)getpid(), (const void *)h, (void *)text);
    hash_of(text, (size_t)n, &sum);
    hash_hex(&sum, hex);
    memcpy(id, hex, 16);
    id[16] = '\0';
}

static void code_counter(simple_coder *c, const char **id, uint64_t *drawn)
{
    uint64_t format = 1;

    code_uint(c, &format);
    code_text(c, id);
    code_uint(c, drawn);
    c->wrong = c->wrong || format != 1 || *id == NULL || strlen(*id) != 16;
}

/* *no: the last number that was drawn, after `more` of them. PAWL_CONFLICT: another handle drew at the same time. */
static pawl_code counter_move(simple_handle *h, uint64_t more, uint64_t *no, char id[17], pawl_err *err)
{
    uint64_t version, drawn = 0;
    const char *kept = NULL;
    pawl_bytes body;
    pawl_code rc = record_get(h, "n", &body, &version, err);
    simple_coder read = { .mem = &h->work }, write = { .out = &h->out };

    if (rc == PAWL_OK) {
        read.at = body.data;
        read.end = body.data + body.size;
        code_counter(&read, &kept, &drawn);
        if (read.wrong || read.at != read.end)
            return fail(err, PAWL_CORRUPT, "%s: its counter does not have the form of one", h->methods.name);
        memcpy(id, kept, 17);
    } else if (rc == PAWL_GONE) {
        id_draw(h, id);
    } else {
        return rc;
    }
    *no = drawn + more;
    if (*no > INT32_MAX)
        return fail(err, PAWL_LIMIT, "%s: it has numbered %llu runs, and cannot number more", h->methods.name, (unsigned long long)drawn);
    if (rc == PAWL_OK && more == 0)
        return PAWL_OK;
    record_begin(&h->out);
    kept = id;
    code_counter(&write, &kept, no);
    return record_put(h, "n", version, version + 1, &h->out, err);
}

static pawl_code counter(simple_handle *h, uint64_t more, uint64_t *no, char id[17], pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_CONFLICT;

    for (int i = 0; i < SIMPLE_TRIES_MAX && rc == PAWL_CONFLICT; i++) {
        why = (pawl_err){ PAWL_OK, "" };
        rc = counter_move(h, more, no, id, &why);
    }
    return rc == PAWL_OK ? rc : fail(err, rc == PAWL_CONFLICT ? PAWL_TRANSIENT : rc, "%s", why.text);
}

pawl_code counter_draw(simple_handle *h, uint64_t *no, pawl_err *err)
{
    char id[17];

    return counter(h, 1, no, id, err);
}

pawl_code counter_id(simple_handle *h, char id[17], pawl_err *err)
{
    uint64_t no;

    return counter(h, 0, &no, id, err);
}
