/* retry.c - one command, several attempts: how often, how long, and which of them are counted (E7, E8, E13). */
#include "engine/command/outbox.h"
#include "engine/run/stream_ring.h"

#include <string.h>

/* ---- counted ----------------------------------------------------------------------------------- */

/* Of one that this engine has made attempts at itself it knows more. */
static bool see_mark(void *ctx, const pawl_mark *told)
{
    errand *er = errand_find(ctx, told->id);

    if (er == NULL || er->at != ERRAND_READY || er->settling != NULL || er->job.attempt >= told->attempts)
        return true;
    er->job.attempt = told->attempts - (BROKEN(BROKEN_MARK_LESS) && told->attempts > 0);
    er->first_ms = told->first_ms;
    er->not_before_ms = told->again_ms;
    er->unsure = told->again_ms == 0;
    return true;
}

pawl_code marks_read(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc;

    if (r->marked_fence == r->fence || r->errands == NULL)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->marks(e->store, r->id, see_mark, r, err);
    pthread_mutex_unlock(&e->lock);
    if (rc == PAWL_OK)
        r->marked_fence = r->fence;
    return rc;
}

/* Attempts that somebody will want to know of are counted before they leave. What is done in SQL is known by its receipt: a count of
 * class once would say that it may have happened. */
static bool counts(const errand *er)
{
    if (er->h->sql && er->limits.cls == PAWL_ONCE)
        return false;
    return er->settling == NULL && (er->waited || er->limits.cls == PAWL_ONCE || er->limits.cls == PAWL_COMPENSABLE || er->limits.retry.max_attempts > 1);
}

static pawl_code marks_put(pawl_engine *e, const live *r, pawl_mark *all, size_t n, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->mark(e->store, all, n, err);
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (all[i].rc != PAWL_OK)
            rc = all[i].rc == PAWL_FENCED ? fail(err, PAWL_FENCED, "%s: somebody else works on it now", r->id)
                                          : fail(err, all[i].rc, "%s: an attempt cannot be counted: %s", all[i].id, pawl_code_name(all[i].rc));
    return rc;
}

typedef enum mark_kind { MARK_COUNT, MARK_REST, MARK_UNBEGUN } mark_kind;

static bool is_meant(const errand *er, mark_kind kind)
{
    switch (kind) {
    case MARK_COUNT:   return er->leaves && !er->counted && counts(er);
    case MARK_REST:    return er->rests && er->at == ERRAND_READY;
    case MARK_UNBEGUN: return er->unmarks && er->at == ERRAND_READY;
    }
    return false;
}

/* Of one that never began: as it stood before that. */
static int64_t again_of(const errand *er, mark_kind kind)
{
    if (kind == MARK_COUNT || (kind == MARK_UNBEGUN && er->unsure))
        return 0;
    return er->not_before_ms > 0 ? er->not_before_ms : 1;
}

static void is_marked(errand *er, mark_kind kind)
{
    switch (kind) {
    case MARK_COUNT:   er->counted = true; break;
    case MARK_REST:    er->rests = false; break;
    case MARK_UNBEGUN: er->unmarks = er->counted = false; break;
    }
}

/* Of all errands that are meant, together. */
static pawl_code marks_make(pawl_engine *e, live *r, mark_kind kind, pawl_err *err)
{
    pawl_mark few[4], *all = few;
    size_t n = 0, k = 0;
    arena mem;
    pawl_code rc;

    for (const errand *er = r->errands; er != NULL; er = er->next)
        n += is_meant(er, kind);
    if (n == 0 || r->fence == 0)
        return PAWL_OK;
    if (kind == MARK_COUNT && n > 1 && BROKEN(BROKEN_MARK_FIRST))
        n = 1;
    if (kind == MARK_COUNT && n > 4 && BROKEN(BROKEN_MARK_FOUR))
        n = 4;
    arena_init(&mem, &e->alloc, 512);
    if (n > sizeof few / sizeof *few && (all = arena_get(&mem, n * sizeof *all)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for %zu marks", r->id, n);     /* nothing is in `mem` then */
    for (const errand *er = r->errands; er != NULL; er = er->next)
        if (is_meant(er, kind) && k < n)
            all[k++] = (pawl_mark){ .run = r->id, .fence = r->fence, .id = er->job.id, .first_ms = er->first_ms,
                                    .again_ms = again_of(er, kind), .unbegun = kind == MARK_UNBEGUN };
    rc = marks_put(e, r, all, n, err);
    for (errand *er = r->errands; er != NULL && (rc == PAWL_OK || kind == MARK_UNBEGUN); er = er->next)
        if (is_meant(er, kind))
            is_marked(er, kind);        /* none is taken back twice: one that is counted too often does no harm */
    arena_free(&mem);
    return rc;
}

/* A mark outlives the process, so the command that it counts has to be stored before it, even one that is pure and might wait (G9):
 * else it would be made anew, and its attempts counted from the first again. */
pawl_code counted_store(pawl_engine *e, live *r, int64_t now, pawl_err *err)
{
    bool any = false;

    for (const errand *er = r->errands; er != NULL && !any && e->durability != PAWL_DURABLE_SYNC; er = er->next)
        any = er->at == ERRAND_READY && er->h != NULL && er->not_before_ms <= now && !er->counted && counts(er);
    return any ? store_all(e, r, err) : PAWL_OK;
}

pawl_code rests_mark(pawl_engine *e, live *r, pawl_err *err)
{
    pawl_code rc = marks_make(e, r, MARK_UNBEGUN, err);

    return rc == PAWL_OK ? marks_make(e, r, MARK_REST, err) : rc;
}

pawl_code leaving_mark(pawl_engine *e, live *r, int64_t now, pawl_err *err)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        if (er->leaves && er->first_ms == 0)
            er->first_ms = now;
    return r->lease_lost ? fail(err, PAWL_FENCED, "%s: its lease ran out", r->id) : marks_make(e, r, MARK_COUNT, err);
}

/* Those that have got a place since, and leave as soon as what made room for them is stored: their count is of the same commit. */
static bool rides(const live *r, const errand *er, int64_t now)
{
    return er->at == ERRAND_READY && er->place == PLACE_HELD && er->not_before_ms <= now && !er->counted && counts(er) &&
           !is_unknown(er) && !is_over(er, now) && call_open(r->st, er->job.id);
}

/* Whether what is open is performed once this is stored. */
static bool performs_on(const pawl_engine *e, const live *r)
{
    pawl_code next = pawl_state_next(r->st);

    return !e->draining && !e->stopping && !r->lease_lost && !r->st->canceling && (next == PAWL_OK || next == PAWL_PENDING);
}

pawl_code riding_marks(pawl_engine *e, live *r, pawl_append *a, arena *mem)
{
    int64_t now = e->granted > 0 && performs_on(e, r) ? engine_now(e) : -1;
    pawl_mark *all;
    size_t n = 0;

    for (const errand *er = r->errands; er != NULL && now >= 0; er = er->next)
        n += rides(r, er, now);
    if (n == 0)
        return PAWL_OK;
    if ((all = arena_zero(mem, n * sizeof *all)) == NULL)
        return PAWL_NOMEM;
    a->marks = all;
    for (errand *er = r->errands; er != NULL; er = er->next)
        if ((er->rides = rides(r, er, now))) {
            er->first_ms = er->first_ms > 0 ? er->first_ms : now;
            all[a->nmarks++] = (pawl_mark){ .id = er->job.id, .first_ms = er->first_ms };
        }
    return PAWL_OK;
}

void riding_stored(live *r, const pawl_append *a)
{
    for (errand *er = r->errands; er != NULL && a->nmarks > 0; er = er->next) {
        er->counted = er->counted || er->rides;
        er->rides = false;
    }
}

void unbegun_look(live *r)
{
    for (errand *er = r->errands; er != NULL; er = er->next)
        er->unmarks = er->unmarks || (er->counted && er->at == ERRAND_READY);
}

bool is_unknown(const errand *er)
{
    uint32_t made = er->job.attempt - er->cleared, most = er->limits.retry.max_attempts;

    if (er->h != NULL && er->h->sql && er->limits.cls != PAWL_ONCE)
        return false;           /* a count of such a one is its own, and without a receipt it has not happened */
    return er->unsure && er->settling == NULL && made > 0 &&
           ((er->limits.cls == PAWL_ONCE && (most <= 1 || !BROKEN(BROKEN_ONCE_RETRY))) || (most > 1 && made >= most));
}

/* ---- limits ------------------------------------------------------------------------------------ */

/* What it waited for a thread is no part of its attempt. */
static void began_look(const pawl_engine *e, errand *er, int64_t now)
{
    int64_t begun = er->begun_ms;

    if (er->began_seen)
        return;
    er->began_seen = begun > 0;
    if (begun == 0)
        er->began_ms = er->beat_ms = now;
    else if (e->clock.now_ms == NULL)
        er->began_ms = er->beat_ms = now - (steady_ms() - begun);
}

/* The limit that it is over now; NULL: none. */
static const char *limit_over(const errand *er, int64_t now)
{
    const pawl_limits *l = &er->limits;
    const struct { const char *name; uint32_t ms; int64_t took; } limits[] = {
        { "total_timeout_ms", l->total_timeout_ms, now - er->first_ms },
        { "attempt_timeout_ms", l->attempt_timeout_ms, now - er->began_ms },
        { "heartbeat_ms", er->at == ERRAND_OUT ? l->heartbeat_ms : 0, now - er->beat_ms },
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].ms > 0 && limits[i].took > limits[i].ms)
            return limits[i].name;
    }
    return NULL;
}

bool is_over(const errand *er, int64_t now)
{
    return !BROKEN(BROKEN_TOTAL_TIMEOUT) && er->limits.total_timeout_ms > 0 && er->first_ms > 0 && now - er->first_ms > er->limits.total_timeout_ms;
}

const char *limit_least(const pawl_limits *l, int64_t gone, int64_t *left)
{
    const char *name = l->total_timeout_ms > 0 ? "total_timeout_ms" : NULL;

    *left = l->total_timeout_ms > 0 ? l->total_timeout_ms - gone : 0;
    if (l->attempt_timeout_ms > 0 && (name == NULL || l->attempt_timeout_ms < *left)) {
        *left = l->attempt_timeout_ms;
        name = "attempt_timeout_ms";
    }
    if (name != NULL && *left < 1)
        *left = 1;
    return name;
}

void errand_limits(pawl_engine *e, errand *er, int64_t now)
{
    const char *over;
    int64_t left;

    began_look(e, er, now);
    over = er->late != NULL ? er->late : limit_over(er, now);
    if (over == NULL && er->overran)
        over = limit_least(&er->limits, er->began_ms - er->first_ms, &left);
    if (over != NULL)
        er->rc = pawl_reply_fail(&er->reply, PAWL_TIMEOUT, "%s: it took longer than its %s allows", er->job.effect, over);
}

void errands_watch(pawl_engine *e, live *r, int64_t now)
{
    for (errand *er = r->errands; er != NULL; er = er->next) {
        if (er->at != ERRAND_OUT || er->late != NULL)
            continue;
        began_look(e, er, now);
        if (er->beats != er->beats_seen) {
            er->beats_seen = er->beats;
            er->beat_ms = now;
        }
        if ((er->late = limit_over(er, now)) != NULL)
            told_to_stop(er);
    }
}

/* ---- made -------------------------------------------------------------------------------------- */

bool has_limit(const pawl_limits *l)
{
    return l->attempt_timeout_ms > 0 || l->total_timeout_ms > 0 || l->heartbeat_ms > 0;
}

pawl_code lone_mark(pawl_engine *e, live *r, errand *er, int64_t now, pawl_err *err)
{
    pawl_mark one = { .run = r->id, .fence = r->fence, .id = er->job.id };

    if (er->first_ms == 0)
        er->first_ms = now;
    one.first_ms = er->first_ms;
    if (r->lease_lost && !BROKEN(BROKEN_LEASE_LONE))
        return fail(err, PAWL_FENCED, "%s: its lease ran out", r->id);
    return er->counted || !counts(er) ? PAWL_OK : marks_put(e, r, &one, 1, err);
}

/* What may be done can change while a command waits for its turn, or for its next attempt: its handler is told (P1). */
static void mode_look(errand *er, pawl_state *st)
{
    const pawl_value *coming = pawl_state_coming(st, "@mode");
    const char *mode = pawl_value_string(coming != NULL ? coming : pawl_state_get(st, "@mode"));

    er->job.mode = NULL;
    if (mode == NULL || strlen(mode) >= sizeof er->mode)
        return;
    memcpy(er->mode, mode, strlen(mode) + 1);
    er->job.mode = er->mode;
}

void errand_begin(pawl_engine *e, errand *er, int64_t now)
{
    const live *r = er->run;
    int64_t left;

    keeper_begin(e);
    budget_begun(e, er);
    er->marked = er->counted || counts(er);
    er->leaves = er->counted = er->waited = er->unmarks = er->refused = false;
    er->job.attempt++;
    said_begin(er);
    er->job.fence = r->fence;
    er->job.alone = false;
    mode_look(er, r->st);
    er->began_ms = now;
    er->was_unsure = er->unsure;
    er->unsure = er->rests = false;
    left = er->limits.total_timeout_ms - (now - er->first_ms);
    er->total_until_ms = er->limits.total_timeout_ms > 0 ? steady_ms() + (left > 1 ? left : 1) : 0;
    er->overran = er->began_seen = false;
    er->begun_ms = 0;
    er->beat_ms = now;
    er->late = NULL;
    er->stop = er->lost = false;
    er->replaced = false;
    er->told_ms = 0;
    er->at = ERRAND_OUT;
    er->left_ms = now;
    if (ring_here(e) != NULL)
        ring_attempt_started(ring_here(e), r, er);
}

pawl_code attempt_code(errand *er, pawl_code rc)
{
    return rc <= 0 ? rc : pawl_reply_fail(&er->reply, PAWL_INVALID, "%s: its handler returned \"%s\", which is no result%s", er->job.effect,
                                          pawl_code_name(rc), rc == PAWL_PENDING ? ": it announced no later answer" : "");
}

/* On any thread: it sees nothing but the errand. */
pawl_code errand_run(errand *er)
{
    int64_t now = steady_ms(), until = er->total_until_ms;

    reply_reset(&er->reply);
    er->begun_ms = now;         /* first: who has it stopped looks at this afterwards */
    /* a command in SQL is fenced by its transaction */
    er->refused = !er->h->sql && (er->e->draining || (!leases_valid(er->e) && !BROKEN(BROKEN_LEASE_DISPATCH)));
    if (er->stop || er->refused) {      /* while it waited for a thread */
        er->begun_ms = 0;
        pawl_reply_untouched(&er->reply);
        return pawl_reply_fail(&er->reply, PAWL_CANCELED, "%s: called off before it began", er->job.effect);
    }
    if (er->limits.attempt_timeout_ms > 0 && (until == 0 || now + er->limits.attempt_timeout_ms < until))
        until = now + er->limits.attempt_timeout_ms;
    er->until_ms = until;
    er->job.deadline_ms = until > 0 ? system_ms() + (until - now) : 0;
    er->job.later = er->h->sql ? NULL : job_later;
    return er->h->fn(&er->job, &er->reply, er->h->arg);
}

/* ---- tried again ------------------------------------------------------------------------------- */

static int64_t delay_before(const pawl_engine *e, const pawl_retry *r, uint32_t attempt)
{
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;
    uint64_t drawn[2] = {0};

    for (uint32_t i = 1; i < attempt && ms < most; i++)
        ms *= factor;
    ms = ms < most ? ms : most;
    if (r->jitter && chance(e, drawn))
        ms = ms * (double)(drawn[1] >> 11) / 9007199254740992.0;
    return (int64_t)ms;
}

bool tried_again(pawl_code code)
{
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

bool errand_again(const pawl_engine *e, errand *er, int64_t now)
{
    const pawl_limits *l = &er->limits;
    uint32_t most = l->retry.max_attempts > 0 ? l->retry.max_attempts : 1, made = er->job.attempt - (er->settling == NULL ? er->cleared : 0);
    int64_t delay = delay_before(e, &l->retry, made);

    if (er->rc >= 0 || !tried_again(er->rc) || made >= most + BROKEN(BROKEN_ATTEMPTS) ||
        (l->cls == PAWL_ONCE && !er->reply.untouched) || (er->stop && er->late == NULL))
        return false;
    if (er->reply.retry_after_ms > delay)
        delay = er->reply.retry_after_ms;
    if (l->total_timeout_ms > 0 && now + delay - er->first_ms > l->total_timeout_ms)
        return false;
    er->not_before_ms = now + (BROKEN(BROKEN_BACKOFF_SKIPPED) ? 0 : delay);
    er->counted = false;
    er->rests = delay > 0 && counts(er) && !BROKEN(BROKEN_BACKOFF_LOST);
    er->at = ERRAND_READY;
    return true;
}
