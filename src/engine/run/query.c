/* query.c - queries of a run without its lease: its state, a channel, the reason of its end, the id of one of its waits.
 *
 * Called on the driving thread; the store is used under the engine's lock. Invariant: the result is the stored state, or, for a run that this
 * engine has claimed, the state with the lines folded here. */
#include "engine/run/run.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <string.h>

pawl_code run_known(pawl_engine *e, const char *run, cached_run **out, pawl_err *err)
{
    *out = NULL;
    if (run == NULL || !run_id_valid(run))
        return fail(err, PAWL_INVALID, run == NULL ? "a run has an id%s" : "\"%.64s\" is no id of a run", run != NULL ? run : "");
    *out = run_cached(e, run, err);
    return *out != NULL ? PAWL_OK : PAWL_NOMEM;
}

static bool is_unchanged(pawl_engine *e, const cached_run *r)
{
    uint64_t now;

    pthread_mutex_lock(&e->lock);
    now = e->store->verbs->version(e->store);
    pthread_mutex_unlock(&e->lock);
    return now != 0 && now == r->looked;
}

bool run_is_at_rest(pawl_engine *e, const cached_run *r)
{
    return r->fence == 0 && r->rest_fence != 0 && r->st != NULL && r->st->commands == 0 && !run_has_ended(r) && run_fits(r) && is_unchanged(e, r);
}

bool run_is_free(pawl_engine *e, const char *run)
{
    cached_run *r;

    return run_known(e, run, &r, NULL) == PAWL_OK && r->fence == 0 && r->rest_fence != 0 && is_unchanged(e, r);
}

uint64_t run_next_seq(pawl_engine *e, const char *run)
{
    cached_run *r;

    if (run_known(e, run, &r, NULL) != PAWL_OK || r->fence != 0 || r->st == NULL || run_is_gone(r) || r->records > 0 || !is_unchanged(e, r))
        return 0;
    return r->seq + 1;
}

uint64_t engine_left_no(const pawl_engine *e) { return e->left_no; }

/* Keeps the head of a run whose state is cached without a lease. */
static void head_seen(cached_run *r, const pawl_head *head, uint64_t version)
{
    const bool known = r->head != HEAD_UNSURE && head->parked == NULL;

    r->looked = version;
    r->rest_fence = known && head->owner == NULL && head->mail == 0 ? head->fence : 0;
    r->status = head->status;
    r->work = head->work;
    r->wake_ms = head->wake_ms;
}

/* The cached run with an up-to-date state, loaded when needed, without a lease. */
cached_run *run_state_query(pawl_engine *e, const char *run, pawl_err *err)
{
    cached_run *r;
    pawl_head head;
    bool loads, same;
    uint64_t now;
    pawl_code rc;

    if (e == NULL || run_known(e, run, &r, err) != PAWL_OK)
        return NULL;
    pthread_mutex_lock(&e->lock);
    now = r->fence != 0 ? 0 : e->store->verbs->version(e->store);
    same = now != 0 && now == r->looked && r->st != NULL && !run_is_gone(r);       /* no engine has written since */
    rc = r->fence != 0 || same ? PAWL_OK : e->store->verbs->head(e->store, run, &head, err);
    pthread_mutex_unlock(&e->lock);
    if (same)
        return run_load(e, r, err) == PAWL_OK ? r : NULL;      /* the machine may have been added since */
    if (rc == PAWL_GONE && run_is_gone(r))
        return r;               /* removed because its retention has passed: the last state */
    if (rc != PAWL_OK)
        return NULL;
    if (r->fence == 0 && r->st != NULL && ((head.fence != r->last_fence && !run_loaded_under(r, head.fence)) || head.seq != r->seq))
        run_drop_state(e, r);
    loads = r->st == NULL;
    if (run_load(e, r, err) != PAWL_OK)
        return NULL;
    if (loads && r->fence == 0)
        r->loaded_fence = head.owner == NULL ? head.fence : 0;
    if (r->fence == 0)
        head_seen(r, &head, now);
    return r;
}

void run_load_seen(pawl_engine *e, const char *run, const run_seen *seen)
{
    cached_run *r;

    if (run_known(e, run, &r, NULL) != PAWL_OK || r->fence != 0 || r->st != NULL || run_is_gone(r) || run_load_by(e, r, seen) != PAWL_OK)
        return;                 /* the next query loads the run itself, and reports the error */
    r->loaded_fence = seen->head.owner == NULL ? seen->head.fence : 0;
    head_seen(r, &seen->head, seen->version);
}

pawl_state *pawl_run_state(pawl_engine *e, const char *run, pawl_err *err)
{
    cached_run *r = run_state_query(e, run, err);

    if (r != NULL)
        r->pinned = true;
    return r != NULL ? r->st : NULL;
}

pawl_code pawl_run_loader(pawl_engine *e, const char *run, pawl_loader *loader, pawl_err *err)
{
    cached_run *r = NULL;
    pawl_code rc = e == NULL ? code_before(err) : run_known(e, run, &r, err);

    *loader = (pawl_loader){ .ctx = NULL };
    if (rc != PAWL_OK)
        return rc;
    r->pinned = true;        /* keeps the cached run, since the loader points to it */
    *loader = (pawl_loader){ .blob = loader_blob, .ctx = r };
    return PAWL_OK;
}

/* A string itself; any other value as JSON, in the engine's buffer. */
static const char *value_shown(pawl_engine *e, const pawl_value *v)
{
    if (v == NULL)
        return "";
    if (pawl_value_string(v) != NULL)
        return pawl_value_string(v);
    buf_reset(&e->text);
    canon(&e->text, v);
    buf_char(&e->text, '\0');
    return e->text.failed ? "" : e->text.data;
}

const char *pawl_run_get(pawl_engine *e, const char *run, const char *name)
{
    cached_run *r = run_state_query(e, run, NULL);

    return value_shown(e, r == NULL ? NULL : pawl_state_shown(r->st, e->look, name));
}

const char *pawl_run_reason(pawl_engine *e, const char *run)
{
    cached_run *r = run_state_query(e, run, NULL);

    return value_shown(e, r == NULL ? NULL : pawl_value_get(pawl_state_reason(r->st), "text"));
}

/* ---- the id of a wait -------------------------------------------------------------------------------------------- */

/* Whether `wait` is a full id, RUN~LIFE/... */
static bool is_id_of(const char *run, const char *wait)
{
    size_t n = strlen(run);

    return wait != NULL && strncmp(wait, run, n) == 0 && wait[n] == '~' && strchr(wait + n, '/') != NULL;
}

/* Matches as the kernel does: the local part of an id or the whole slot (*very); else the end of a slot, or the node. */
static bool wait_is_meant(const pawl_wait *w, const char *want, bool *very)
{
    size_t n = w->slot != NULL ? strlen(w->slot) : 0, m = want != NULL ? strlen(want) : 0;
    const char *rest = strchr(w->id, '/');

    *very = want != NULL && ((w->slot != NULL && strcmp(w->slot, want) == 0) || (rest != NULL && strcmp(rest + 1, want) == 0));
    if (w->kind == PAWL_WAIT_SIGNAL)
        return *very = false;
    return want == NULL || *very || strcmp(w->node, want) == 0 || (n > m && w->slot[n - m - 1] == '.' && strcmp(w->slot + n - m, want) == 0);
}

const char *wait_named(pawl_engine *e, const char *run, const char *want, pawl_err *err)
{
    pawl_state *st = is_id_of(run, want) ? NULL : pawl_run_state(e, run, err);
    size_t found = 0;
    bool by_slot = false;

    if (st == NULL)
        return is_id_of(run, want) ? want : NULL;
    for (size_t i = 0; i < pawl_state_waits(st); i++) {
        pawl_wait w;
        bool very;

        if (pawl_state_wait(st, i, e->look, &w, err) != PAWL_OK)
            return NULL;
        if (!wait_is_meant(&w, want, &very) || (by_slot && !very))
            continue;
        found = very && !by_slot ? 1 : found + 1;
        by_slot = by_slot || very;
        buf_reset(&e->text);
        buf_put(&e->text, w.id, strlen(w.id) + 1);
    }
    if (found == 1 && !e->text.failed)
        return e->text.data;
    if (found == 1)
        fail(err, PAWL_NOMEM, "%s: no memory for an answer", run);
    else if (found == 0)
        fail(err, PAWL_INVALID, want == NULL ? "%s: nothing is asked%s" : "%s: no open wait \"%s\"", run, want != NULL ? want : "");
    else
        fail(err, PAWL_INVALID, "%s: %zu waits are open%s%s: name one by its id", run, found, want != NULL ? " for " : "",
             want != NULL ? want : "");
    return NULL;
}
