/* loop.c - many runs at once: each takes a step, all that came of it is stored in one commit, and again (E3).
 *
 * Few threads and big commits: a run waits for its own step to be stored, and for nobody's work. */
#include "engine/engine.h"
#include "engine/owner.h"

#include <string.h>

enum { RUNS_MAX = 256, POLL_MS = 10 };

typedef struct crowd {
    live *runs[RUNS_MAX];
    live *some[RUNS_MAX];       /* those to be claimed, stored, or let go of in one transaction */
    pawl_claim claims[RUNS_MAX];
    size_t n, nsome;
    int64_t looked_ms;          /* when the store was asked who is due */
    bool moved;                 /* something was done in this pass */
    bool unlooked;              /* and the store was not asked since */
} crowd;

/* ---- who is in ------------------------------------------------------------------------------------ */

typedef struct invited { buf ids; size_t n; } invited;

static bool see_due(void *ctx, const pawl_head *head)
{
    invited *i = ctx;

    buf_put(&i->ids, head->run, strlen(head->run) + 1);
    i->n++;
    return !i->ids.failed;
}

/* Claimed together. One that somebody else holds, or of another machine, is left to who can. */
static pawl_code come_in(pawl_engine *e, crowd *c, pawl_err *err)
{
    pawl_code rc = c->nsome == 0 ? PAWL_OK : lives_claim(e, c->some, c->claims, c->nsome, err);
    size_t left = 0;

    for (size_t i = 0; i < c->nsome; i++) {
        live *r = c->some[i];
        pawl_err why = { PAWL_OK, "" };
        pawl_code one = rc == PAWL_OK ? c->claims[i].rc : rc;

        if (one == PAWL_OK && (one = live_enter(e, r, &why)) == PAWL_OK && live_fits(r)) {
            r->in_pass = true;
            r->heard = 0;
            c->runs[c->n++] = r;
            continue;
        }
        if (one != PAWL_OK && one != PAWL_HELD && one != PAWL_GONE && rc == PAWL_OK)
            rc = fail(err, one, "%s", why.text);
        c->some[left++] = r;
    }
    (void)lives_let_go(e, c->some, left, NULL);
    return rc;
}

static pawl_code crowd_fill(pawl_engine *e, crowd *c, pawl_err *err)
{
    int64_t now = engine_now(e);
    invited i = { .n = 0 };
    const char *id;
    pawl_code rc;

    c->unlooked = c->n > RUNS_MAX / 2 || (c->moved && now == c->looked_ms);
    if (c->unlooked)
        return PAWL_OK;
    e->left = false;
    c->looked_ms = now;
    c->nsome = 0;
    buf_init(&i.ids, &e->alloc);
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->due(e->store, now, NULL, RUNS_MAX - c->n, see_due, &i, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK && i.ids.failed)
        rc = fail(err, PAWL_NOMEM, "no memory for the runs that are due");
    id = i.ids.data;
    for (size_t k = 0; k < i.n && rc == PAWL_OK; k++, id += strlen(id) + 1) {
        live *r = live_of(e, id, err);

        if (r == NULL)
            rc = PAWL_NOMEM;
        else if (!r->in_pass)
            c->some[c->nsome++] = r;
    }
    buf_free(&i.ids);
    return rc == PAWL_OK ? come_in(e, c, err) : rc;
}

/* ---- one pass ---------------------------------------------------------------------------------------- */

static pawl_code step_once(pawl_engine *e, live *r, crowd *c, pawl_err *err)
{
    pawl_event tick = { .kind = PAWL_EV_TICK };
    pawl_code next, rc;
    pawl_err why = { PAWL_OK, "" };
    bool did = false;

    if (r->lease_lost) {
        live_lost(e, r);
        return PAWL_OK;
    }
    rc = deliveries_feed(e, r, err);
    r->took = rc == PAWL_OK && (r->nlines > 0 || r->ntaken > 0);
    if (rc != PAWL_OK || r->fence == 0)
        return rc;
    if (r->took) {              /* stored before anything leaves for it */
        c->some[c->nsome++] = r;
        return PAWL_OK;
    }
    next = pawl_state_next(r->st);
    errands_leftover(e, r, next);
    if (next == PAWL_HALTED && child_untold(r)) {
        if ((rc = child_tell(e, r, err)) == PAWL_OK)
            c->some[c->nsome++] = r;
        return rc;
    }
    if (next == PAWL_PENDING) {
        rc = perform(e, r, false, &did, &why);
        if (rc == PAWL_FENCED)
            return PAWL_OK;     /* it is somebody else's */
        if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
    } else if (next == PAWL_INTERRUPTED) {
        int64_t first;

        rc = timers_fire(e, r, &first, &did, err);
    } else if (next == PAWL_OK && (rc = deadline_keep(e, r, &did, err)) == PAWL_OK && !did) {
        tick.time_ms = engine_now(e);
        rc = run_feed(e, r, &tick, err);
        rc = rc < 0 ? rc : PAWL_OK;
    }
    if (rc == PAWL_OK && r->nlines > 0)
        c->some[c->nsome++] = r;
    return rc;
}

static bool has_work(const live *r)
{
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (er->open && er->h != NULL && (er->at != ERRAND_READY || er->not_before_ms == 0))
            return true;
    return pawl_state_next(r->st) == PAWL_OK || child_untold(r);
}

/* Those that were let go of or lost, and those that only wait: their timers stand in the store. */
static pawl_code crowd_sift(pawl_engine *e, crowd *c, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    size_t kept = 0, napping = 0, left = 0;
    live *gone[RUNS_MAX];

    c->nsome = 0;
    for (size_t i = 0; i < c->n; i++) {
        live *r = c->runs[i];
        bool works;
        int64_t wake;

        if (r->fence != 0 && r->st != NULL && (r->took || has_work(r))) {
            c->runs[kept++] = r;
            continue;
        }
        gone[left++] = r;
        if (r->fence == 0 || r->st == NULL)
            continue;
        wake = told_wake(e, r, &works);
        if (wake != r->wake_ms || works != r->work)
            c->some[napping++] = r;     /* a back-off */
    }
    c->n = kept;
    if (napping > 0)
        rc = runs_commit(e, c->some, napping, true, err);
    if (rc == PAWL_OK && left > 0)
        rc = lives_let_go(e, gone, left, err);
    for (size_t i = 0; i < left; i++) {
        gone[i]->in_pass = false;       /* not before: parking one forgets another */
        live_park(e, gone[i]);
    }
    return rc;
}

static pawl_code pass(pawl_engine *e, crowd *c, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    c->nsome = 0;
    for (size_t i = 0; i < c->n && rc == PAWL_OK; i++)
        rc = step_once(e, c->runs[i], c, err);
    c->moved = c->nsome > 0;
    if (c->nsome > 0) {
        pawl_code stored = runs_commit(e, c->some, c->nsome, true, err);

        rc = rc == PAWL_OK && stored != PAWL_FENCED && stored != PAWL_CONFLICT ? stored : rc;
    }
    return rc == PAWL_OK ? crowd_sift(e, c, err) : rc;
}

static void leave_all(pawl_engine *e, crowd *c)
{
    c->nsome = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->runs[i]->in_pass = false;
        if (errands_quiet(c->runs[i]))      /* else it stays this engine's until that is back */
            c->some[c->nsome++] = c->runs[i];
    }
    (void)lives_let_go(e, c->some, c->nsome, NULL);
    c->n = 0;
}

/* Nothing could be done: wait for the pool, a timer, a delivery; false: there is nothing to wait for until then. */
static bool wait_some(pawl_engine *e, const crowd *c, int64_t until_ms)
{
    int64_t now = engine_now(e), next;

    if (c->n > 0) {
        (void)errands_come(e, POLL_MS);
        return true;
    }
    pthread_mutex_lock(&e->lock);
    next = e->store->verbs->next_due(e->store);
    pthread_mutex_unlock(&e->lock);
    if (now >= until_ms)
        return false;
    if (next == 0 || next > until_ms)
        next = until_ms;
    engine_sleep(e, next < now + POLL_MS ? next : now + POLL_MS);
    return true;
}

pawl_code pawl_work(pawl_engine *e, int64_t until_ms, pawl_err *err)
{
    crowd *c = e == NULL ? NULL : mem_new(&e->alloc, sizeof *c);
    pawl_code rc = c == NULL ? fail(err, e == NULL ? PAWL_INVALID : PAWL_NOMEM, "no engine, or no memory, to work with") : PAWL_OK;

    while (rc == PAWL_OK && !e->stopping) {
        if ((rc = crowd_fill(e, c, err)) != PAWL_OK || (rc = pass(e, c, err)) != PAWL_OK)
            break;
        if (!c->moved && !(c->n == 0 && (c->unlooked || e->left)) && !wait_some(e, c, until_ms))
            break;
    }
    if (c != NULL) {
        leave_all(e, c);
        mem_free(&e->alloc, c, sizeof *c);
    }
    return rc;
}

/* ---- the children of one run ------------------------------------------------------------------------------ */

typedef struct family { crowd *c; int64_t wake_ms; bool fresh; } family;

/* One that is due comes in, as does one that nobody here has looked at: what it waits for is known then. */
static pawl_code child_comes(pawl_engine *e, family *f, const char *id, pawl_err *err)
{
    live *r = live_of(e, id, err);
    int64_t now = engine_now(e), store_ms;
    pawl_head head;
    pawl_code rc;
    bool due, held, dead = false;

    if (r == NULL)
        return PAWL_NOMEM;
    if (r->in_pass || f->c->n + f->c->nsome == RUNS_MAX)
        return PAWL_OK;
    if (r->fence != 0 && r->st != NULL) {       /* something of it is out */
        r->in_pass = true;
        f->c->runs[f->c->n++] = r;
        return PAWL_OK;
    }
    pthread_mutex_lock(&e->lock);
    store_ms = e->store->verbs->now(e->store);
    rc = e->store->verbs->head(e->store, id, &head, NULL);
    held = rc == PAWL_OK && head.owner != NULL && store_held(&head, store_ms) && !(dead = owner_dead(head.owner));
    due = rc == PAWL_OK && (dead || store_is_due(&head, now, store_ms));
    pthread_mutex_unlock(&e->lock);
    if (rc != PAWL_OK)
        return rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s: it cannot be looked at", id);
    if (!held && (due || (r->st == NULL && !head.over))) {
        f->fresh = f->fresh || r->st == NULL;
        f->c->some[f->c->nsome++] = r;
        return PAWL_OK;
    }
    if (held)
        head.wake_ms = now + POLL_MS;
    if (head.wake_ms > 0 && (f->wake_ms == 0 || head.wake_ms < f->wake_ms))
        f->wake_ms = head.wake_ms;
    return PAWL_OK;
}

static pawl_code children_come(pawl_engine *e, family *f, const live *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (const errand *er = r->errands; er != NULL && rc == PAWL_OK; er = er->next) {
        const live *child = !er->began || !er->open || er->at != ERRAND_READY ? NULL : live_find(e, er->child);

        if (er->began && er->open && er->at == ERRAND_READY)
            rc = child_comes(e, f, er->child, err);
        if (rc == PAWL_OK && child != NULL)
            rc = children_come(e, f, child, err);
    }
    return rc;
}

pawl_code children_drive(pawl_engine *e, live *r, bool *did, int64_t *wake, pawl_err *err)
{
    family f = { .c = mem_new(&e->alloc, sizeof *f.c) };
    pawl_code rc = f.c == NULL ? fail(err, PAWL_NOMEM, "%s: no memory to drive its children", r->id) : PAWL_OK;

    do {
        if (rc != PAWL_OK)
            break;
        f.wake_ms = 0;
        f.fresh = e->left = false;
        f.c->nsome = 0;
        if ((rc = children_come(e, &f, r, err)) == PAWL_OK && (rc = come_in(e, f.c, err)) == PAWL_OK)
            rc = pass(e, f.c, err);
        *did = *did || f.c->moved;
    } while (rc == PAWL_OK && (f.c->moved || f.fresh || e->left) && !e->stopping && !r->lease_lost && !delivered(e, r));
    if (rc == PAWL_OK && !*did && f.c->n > 0)
        (void)errands_come(e, POLL_MS), *did = true;
    *wake = f.wake_ms;
    if (f.c != NULL) {
        leave_all(e, f.c);
        mem_free(&e->alloc, f.c, sizeof *f.c);
    }
    return rc;
}
