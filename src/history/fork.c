/* fork.c - starts a run from the state of another run at some entry, unchanged or changed (G8, K10).
 *
 * Called by the program, the host and tests. The state of the old run is folded first, without a lock; then the engine starts the new run like any
 * other, under its own lock (engine/run/begin.h). Nothing is written to the old run. */
#include "engine/run/begin.h"
#include "engine/run/run.h"
#include "history/history.h"
#include "kernel/journal/replay.h"
#include "kernel/state.h"

#include <string.h>

typedef struct forking {
    pawl_engine *e;
    const char *run, *fork;
    const pawl_event *change;   /* NULL: none */
    pawl_state *st;             /* the fork */
    arena mem;
    blob_list blobs;
    bool made;                  /* this call has created it in the store */
} forking;

static pawl_code blob_of_fork(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    const forking *f = ctx;

    for (size_t i = 0; i < f->blobs.n; i++) {
        if (strcmp(f->blobs.all[i].digest, digest) == 0) {
            *bytes = f->blobs.all[i].bytes;
            return PAWL_OK;
        }
    }
    return fail(err, PAWL_GONE, "%s: it has no blob %.64s", f->fork, digest);
}

static pawl_loader fork_loader(forking *f)
{
    return (pawl_loader){ .blob = blob_of_fork, .ctx = f };
}

/* Keeps the blobs of the current step. */
static pawl_code blobs_add(forking *f, pawl_err *err)
{
    const char *digest;
    pawl_bytes bytes;

    for (size_t i = 0; (bytes = pawl_step_blob(f->e->step, i, &digest)).data != NULL; i++) {
        if (!arena_room(&f->mem, (void **)&f->blobs.all, &f->blobs.cap, f->blobs.n, sizeof *f->blobs.all))
            break;
        f->blobs.all[f->blobs.n++] = (pawl_blob){ arena_strdup(&f->mem, digest, HASH_HEX), { arena_strdup(&f->mem, bytes.data, bytes.size), bytes.size } };
    }
    return f->mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for its blobs", f->fork) : PAWL_OK;
}

/* What the record of the old run says that still holds for a fork: what it may do, and for how long it is kept. */
static pawl_code record_of(const pawl_state *old, pawl_step *look, pawl_run_info *info, pawl_err *err)
{
    pawl_run_info was;
    const pawl_code rc = pawl_state_info(old, look, &was, err);

    if (rc != PAWL_OK)
        return rc;
    info->mode = was.mode;
    info->rights = was.rights;
    info->retention = was.retention;
    return PAWL_OK;
}

/* Makes the fork's state, and reads the blobs that its base names. */
static pawl_code fork_state(forking *f, uint64_t seq, pawl_err *err)
{
    pawl_engine *e = f->e;
    pawl_run_info info = { .id = f->fork };
    pawl_state *then = NULL;
    blobs_of blobs;
    buf text;
    pawl_code rc = info_draw(e, &info, err);

    if (rc != PAWL_OK)
        return rc;
    buf_init(&text, &e->alloc);
    blobs_begin(&blobs, e->store, f->run);
    pthread_mutex_lock(&e->lock);
    rc = store_journal(e->store, f->run, seq, &text, NULL, err);
    if (rc == PAWL_OK)
        rc = journal_fold((pawl_bytes){ text.data, text.size }, seq, &blobs.loader, NULL, &then, err);
    if (rc == PAWL_OK)
        rc = record_of(then, e->look, &info, err);
    if (rc == PAWL_OK)
        rc = pawl_state_fork(then, &info, e->step, &f->st, err);
    pthread_mutex_unlock(&e->lock);
    blobs_end(&blobs);
    buf_free(&text);
    if (rc == PAWL_OK)
        rc = blobs_add(f, err);
    pawl_state_free(then);
    return rc;
}

/* Feeds the change as its first entry; the line stays in e->step. */
static pawl_code change_feed(forking *f, pawl_err *err)
{
    const pawl_machine *m = machine_named(f->e, f->st->machine);
    pawl_event ev = *f->change;
    pawl_code rc;

    if (m == NULL)
        return fail(err, PAWL_CONFLICT, "%s: it is a run of machine %s, which this engine has not", f->fork, f->st->machine);
    if (ev.time_ms == 0)
        ev.time_ms = engine_now(f->e);
    rc = pawl_advance(m, f->st, &ev, f->e->step, err);
    if (rc == PAWL_IGNORED)
        return fail(err, PAWL_INVALID, "%s: %s has not begun there, so there is no state to change: give it with the input", f->fork, f->run);
    return rc < 0 ? rc : blobs_add(f, err);
}

/* ---- what is there already ------------------------------------------------------------------------ */

static bool lineage_same(const pawl_state *a, const pawl_state *b)
{
    bool same = false;
    arena mem;

    arena_init(&mem, NULL, a->base.size + b->base.size);
    same = pawl_value_equal(pawl_value_get(value_read(&mem, a->base.data, a->base.size, "a base", NULL), "lineage"),
                            pawl_value_get(value_read(&mem, b->base.data, b->base.size, "a base", NULL), "lineage"));
    arena_free(&mem);
    return same && !mem.failed;
}

static bool see_blob(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)ctx, (void)kind, (void)seq, (void)line;
    return false;
}

static bool blobs_miss(const forking *f)
{
    const pawl_store *s = f->e->store;

    return f->blobs.n > 0 && s->verbs->blob(f->e->store, f->fork, f->blobs.all[0].digest, see_blob, NULL, NULL) == PAWL_GONE;
}

/* A run of that id exists. If it was forked from the same entry and has no entry of its own, or lacks its blobs, an earlier call did not finish: it is
 * completed instead. The claim is held. */
static pawl_code fork_found(forking *f, const pawl_head *head, const pawl_err *why, pawl_err *err)
{
    const pawl_loader loader = fork_loader(f);
    pawl_state *there = NULL;
    buf text;
    pawl_code rc;

    if ((f->change == NULL && !blobs_miss(f)) || head->seq > 0)
        return fail(err, why->code, "%s", why->text);
    buf_init(&text, &f->e->alloc);
    rc = store_journal(f->e->store, f->fork, 0, &text, NULL, err);
    if (rc == PAWL_OK)
        rc = pawl_replay_with((pawl_bytes){ text.data, text.size }, 0, &loader, NULL, &there, err);
    if (rc == PAWL_GONE || rc == PAWL_CORRUPT || (rc == PAWL_OK && (there->nmarks > 0 || !lineage_same(there, f->st)))) {
        rc = fail(err, why->code, "%s", why->text);
    } else if (rc == PAWL_OK) {
        pawl_state_free(f->st);
        f->st = there;
        there = NULL;
    }
    pawl_state_free(there);
    buf_free(&text);
    return rc;
}

/* ---- into the store --------------------------------------------------------------------------------- */

static pawl_code fork_append(forking *f, const pawl_head *head, pawl_err *err)
{
    wait_list waits = { .n = 0 };
    pawl_append a = { .run = f->fork, .fence = head->fence, .seq = head->seq, .release = true };
    pawl_bytes line;
    pawl_code rc = f->change == NULL ? PAWL_OK : change_feed(f, err);

    if (rc != PAWL_OK)
        return rc;
    if (f->change != NULL) {
        line = pawl_step_bytes(f->e->step);
        a.lines = &line;
        a.nlines = 1;
    }
    if (waits_open(f->st, &f->mem, &waits) != PAWL_OK)
        return fail(err, PAWL_NOMEM, "%s: no memory for a fork", f->fork);
    a.waits = waits.all;
    a.nwaits = waits.n;
    a.moves = waits.n > 0;      /* listings must show its waits (S6); it is driven when it is resumed or answered */
    a.status = (uint8_t)pawl_state_status(f->st);
    a.blobs = f->blobs.all;
    a.nblobs = f->blobs.n;
    rc = f->e->store->verbs->append(f->e->store, &a, 1, err);
    return rc != PAWL_OK || a.rc == PAWL_OK ? rc : fail(err, a.rc, "%s: another process works on it", f->fork);
}

/* Base and blobs are two writes: the lease is held in between, and the run is removed if the second fails. */
static pawl_code fork_store(forking *f, bool more, pawl_err *err)
{
    pawl_engine *e = f->e;
    const pawl_store_verbs *v = e->store->verbs;
    pawl_err why = { PAWL_OK, "" };
    pawl_claim one = { .run = f->fork };
    pawl_hold held;
    pawl_code rc = v->create(e->store, pawl_state_base(f->st), NULL, &why);

    f->made = rc == PAWL_OK;
    if (rc != PAWL_OK && rc != PAWL_CONFLICT)
        return fail(err, rc, "%s", why.text);
    if (!more)
        return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
    if ((rc = v->claim(e->store, e->owner, e->ttl_ms, &one, 1, err)) != PAWL_OK || one.rc != PAWL_OK)
        return rc != PAWL_OK ? rc : one.rc;
    held = (pawl_hold){ .run = f->fork, .fence = one.head.fence };
    rc = f->made ? PAWL_OK : fork_found(f, &one.head, &why, err);
    if (rc == PAWL_OK)
        rc = fork_append(f, &one.head, err);
    if (rc != PAWL_OK && f->made)
        (void)v->remove(e->store, f->fork, held.fence, NULL);
    else if (rc != PAWL_OK)
        (void)v->release(e->store, &held, 1, NULL);
    return rc;
}

/* Tries the change on a copy before anything is written, since the store may have a run of that id from another life. */
static pawl_code change_tried(forking *f, pawl_err *err)
{
    const pawl_bytes base = pawl_state_base(f->st);
    const pawl_loader loader = fork_loader(f);
    pawl_state *copy = NULL, *st = f->st;
    size_t blobs = f->blobs.n;
    pawl_code rc;

    if (f->change->kind != PAWL_EV_UPDATE)
        return fail(err, PAWL_INVALID, "%s: what changes a fork is an update, and this is another event (%d)", f->fork, (int)f->change->kind);
    if ((rc = pawl_state_load(base, (pawl_bytes){0}, &loader, NULL, &copy, err)) != PAWL_OK)
        return rc;
    f->st = copy;
    rc = change_feed(f, err);
    f->st = st;
    f->blobs.n = blobs;
    pawl_state_free(copy);
    return rc;
}

pawl_code pawl_run_fork_with(pawl_engine *e, const char *run, uint64_t seq, const char *fork, const pawl_event *change, pawl_err *err)
{
    forking f = { .e = e, .run = run, .fork = fork, .change = change };
    cached_run *r;
    pawl_code rc = e == NULL ? fail(err, PAWL_GONE, "%s: there is no such run", run != NULL ? run : "") : run_known(e, run, &r, err);

    if (rc != PAWL_OK || (rc = run_known(e, fork, &r, err)) != PAWL_OK)
        return rc;
    if (r->fence != 0)
        return fail(err, PAWL_CONFLICT, "%s: there is such a run, and it is driven here", fork);
    arena_init(&f.mem, &e->alloc, 512);
    rc = fork_state(&f, seq, err);
    if (rc == PAWL_OK && change != NULL)
        rc = change_tried(&f, err);
    if (rc == PAWL_OK) {
        pthread_mutex_lock(&e->lock);
        rc = fork_store(&f, change != NULL || f.blobs.n > 0 || pawl_state_waits(f.st) > 0, err);
        pthread_mutex_unlock(&e->lock);
    }
    pawl_state_free(f.st);
    arena_free(&f.mem);
    return rc;
}

pawl_code pawl_run_fork(pawl_engine *e, const char *run, uint64_t seq, const char *fork, pawl_err *err)
{
    return pawl_run_fork_with(e, run, seq, fork, NULL, err);
}
