/* host.c - a thread that drives an engine; starts, finds and lists agents.
 *
 * Owns the engine, the thread and the second store handle. Called on any thread. The engine belongs to its thread; other threads read and write through
 * a store handle, under h->lock if that is the engine's. */
#include "engine/run/begin.h"
#include "engine/run/record_rights.h"
#include "host/host.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { AGAIN_MS = 100 };        /* pause after an error of the store */

/* ---- the thread that drives --------------------------------------------------------------------- */

static void trouble_is(pawl_host *h, pawl_code rc, const pawl_err *err)
{
    pthread_mutex_lock(&h->lock);
    h->trouble = (pawl_err){ PAWL_OK, "" };
    if (rc < 0)
        fail(&h->trouble, rc, "%s", err->text);
    pthread_mutex_unlock(&h->lock);
}

bool host_drives(pawl_host *h)
{
    return !h->ends && !h->e->draining && !h->e->stopping;
}

static void *drives(void *arg)
{
    const struct timespec again = { 0, AGAIN_MS * 1000000L };
    pawl_host *h = arg;

    while (host_drives(h)) {    /* also if a signal handler asked for it */
        pawl_err err = { PAWL_OK, "" };
        const pawl_code rc = pawl_work(h->e, INT64_MAX / 4, &err);

        trouble_is(h, rc, &err);
        if (rc < 0 && !h->ends)
            nanosleep(&again, NULL);
    }
    return NULL;
}

static void drives_no_more(pawl_host *h)
{
    pthread_mutex_lock(&h->ending);
    if (h->runs)
        pthread_join(h->thread, NULL);
    h->runs = false;
    pthread_mutex_unlock(&h->ending);
}

pawl_host *pawl_host_new(pawl_engine *e, pawl_store *look, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    pawl_host *h = e == NULL ? NULL : mem_new(&alloc, sizeof *h);

    if (e != NULL && h == NULL)
        fail(err, PAWL_NOMEM, "no memory for a host");
    if (h == NULL) {
        pawl_engine_free(e);
        pawl_store_free(look);
        return NULL;
    }
    h->alloc = alloc;
    h->e = e;
    h->own = look;
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->ending, NULL);
    h->runs = pthread_create(&h->thread, NULL, drives, h) == 0;
    if (h->runs)
        return h;
    fail(err, PAWL_IO, "the system gives no thread for a host");
    pawl_host_free(h);
    return NULL;
}

void pawl_host_drain(pawl_host *h)
{
    if (h == NULL)
        return;
    h->ends = true;
    pawl_engine_drain(h->e);
    drives_no_more(h);
}

void pawl_host_free(pawl_host *h)
{
    pawl_alloc alloc;

    if (h == NULL)
        return;
    alloc = h->alloc;
    h->ends = true;
    pawl_engine_abandon(h->e);
    drives_no_more(h);
    pawl_engine_free(h->e);
    pawl_store_free(h->own);
    pthread_mutex_destroy(&h->ending);
    pthread_mutex_destroy(&h->lock);
    mem_free(&alloc, h, sizeof *h);
}

pawl_code pawl_host_trouble(pawl_host *h, pawl_err *err)
{
    pawl_err now;

    if (h == NULL)
        return fail(err, PAWL_INVALID, "there is no host");
    pthread_mutex_lock(&h->lock);
    now = h->trouble;
    pthread_mutex_unlock(&h->lock);
    return now.code == PAWL_OK ? PAWL_OK : fail(err, now.code, "%s", now.text);
}

/* ---- the store ------------------------------------------------------------------------------------ */

pawl_store *host_hold(pawl_host *h)
{
    pthread_mutex_lock(h->own != NULL ? &h->lock : &h->e->lock);
    return h->own != NULL ? h->own : h->e->store;
}

void host_let(pawl_host *h)
{
    pthread_mutex_unlock(h->own != NULL ? &h->lock : &h->e->lock);
}

/* ---- handles ------------------------------------------------------------------------------------------ */

pawl_handle *host_handle(pawl_host *h, const char *id, uint64_t life, pawl_err *err)
{
    const size_t n = strlen(id) + 1;
    pawl_handle *a = mem_new(&h->alloc, sizeof *a + n);

    if (a == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for a handle", id);
        return NULL;
    }
    a->h = h;
    a->life = life;
    memcpy(a->id, id, n);
    return a;
}

void pawl_handle_free(pawl_handle *a)
{
    if (a != NULL)
        mem_free(&a->h->alloc, a, sizeof *a + strlen(a->id) + 1);
}

const char *pawl_handle_run(const pawl_handle *a) { return a == NULL ? NULL : a->id; }

pawl_code handle_head(const pawl_handle *a, pawl_store *s, pawl_head *head, pawl_err *err)
{
    const pawl_code rc = s->verbs->head(s, a->id, head, err);

    if (rc == PAWL_OK && head->life != a->life)
        return fail(err, PAWL_GONE, "%s: it was removed, and another was begun under its id", a->id);
    return rc;
}

pawl_handle *pawl_host_get(pawl_host *h, const char *id, pawl_err *err)
{
    pawl_head head;
    pawl_store *s;
    pawl_code rc;

    if (h == NULL || id == NULL || !run_id_valid(id)) {
        fail(err, PAWL_INVALID, "\"%.64s\" is no id of a run", id != NULL ? id : "");
        return NULL;
    }
    s = host_hold(h);
    rc = s->verbs->head(s, id, &head, err);
    host_let(h);
    return rc == PAWL_OK ? host_handle(h, id, head.life, err) : NULL;
}

pawl_code pawl_host_list(pawl_host *h, const pawl_filter *filter, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    static const pawl_filter all;
    pawl_store *s;
    pawl_code rc;

    if (h == NULL || fn == NULL)
        return fail(err, PAWL_INVALID, "a list of runs needs a host and a function: one of them is NULL");
    s = host_hold(h);
    rc = s->verbs->list(s, filter != NULL ? filter : &all, fn, ctx, err);
    host_let(h);
    return rc;
}

/* ---- agents begin ----------------------------------------------------------------------------------------- */

/* If the machine refuses the input, nothing is written. */
static pawl_code base_make(const pawl_machine *m, const pawl_run_info *info, const char *input, pawl_state **st, pawl_err *err)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = step == NULL ? fail(err, PAWL_NOMEM, "%s: no memory to begin", info->id) : pawl_state_new(m, info, 0, NULL, st, err);

    if (rc == PAWL_OK)
        rc = start_try(m, *st, (pawl_bytes){ input, input != NULL ? strlen(input) : 0 }, info->created_ms, step, err);
    pawl_step_free(step);
    return rc < 0 ? rc : PAWL_OK;
}

/* Whether the existing run was created with the same values. */
static pawl_code same_base(pawl_store *s, const pawl_run_info *given, pawl_err *err)
{
    pawl_step *look = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_code rc = look == NULL ? fail(err, PAWL_NOMEM, "%s: no memory to look at it", given->id) : pawl_history_state(s, given->id, 0, &st, err);

    if (rc == PAWL_OK)
        rc = record_same(st, look, given, err);
    pawl_state_free(st);
    pawl_step_free(look);
    return rc;
}

/* A run of that id exists. It is started now only if its creator died before its start was delivered: the first of several callers succeeds, since each
 * would deliver another start. */
static pawl_code taken_id(pawl_store *s, const pawl_machine *m, const pawl_run_info *given, uint64_t *life, pawl_err *err)
{
    const char *id = given->id;
    pawl_head head;
    pawl_code rc = s->verbs->head(s, id, &head, err);

    if (rc != PAWL_OK)
        return rc;
    *life = head.life;
    if (head.over)
        return fail(err, PAWL_CONFLICT, "%s: there was an agent of that id, and it is over: take another, or remove it", id);
    if (head.seq > 0 || head.mail > 0 || head.owner != NULL)
        return fail(err, PAWL_CONFLICT, "%s: an agent of that id runs already: take another, or pawl_host_get for this one", id);
    if (strcmp(head.machine, m->name) != 0)
        return fail(err, PAWL_CONFLICT, "%s: it was made of the machine \"%.64s\", and never begun: take another, or remove it", id, head.machine);
    return same_base(s, given, err);
}

static pawl_code start_deliver(pawl_store *s, const char *id, const char *input, uint64_t mine, pawl_err *err)
{
    char note[32];
    pawl_delivery d = { .id = "start", .kind = PAWL_DELIVER_START, .note = note };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    snprintf(note, sizeof note, "%016llx", (unsigned long long)mine);
    if (input != NULL)
        d.value = (pawl_bytes){ input, strlen(input) };
    if ((rc = s->verbs->deliver(s, id, &d, &why)) == PAWL_CONFLICT)
        return fail(err, rc, "%s: somebody else began it just now: pawl_host_get is for that one", id);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

pawl_code pawl_host_spawn_with(pawl_host *h, const char *machine, const pawl_run_info *given, const char *input, pawl_handle **out, pawl_err *err)
{
    const pawl_machine *m = h == NULL ? NULL : machine == NULL ? h->e->m : machine_named(h->e, machine);
    pawl_run_info info = given != NULL ? *given : (pawl_run_info){ .id = NULL };
    pawl_err why = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_store *s;
    uint64_t life;
    pawl_code rc;

    if (m == NULL)
        return fail(err, PAWL_INVALID, "the host has no machine \"%.64s\"", machine != NULL ? machine : "");
    if (info.id == NULL || info.dedupe_key != NULL || info.context != NULL)
        return fail(err, PAWL_INVALID, "%s: an agent is spawned with an id, and without a dedupe key or a context", m->name);
    if ((rc = record_check(&info, err)) != PAWL_OK || (rc = info_draw(h->e, &info, err)) != PAWL_OK || (rc = base_make(m, &info, input, &st, err)) != PAWL_OK) {
        pawl_state_free(st);
        return rc;
    }
    life = info.life;
    s = host_hold(h);
    rc = s->verbs->create(s, pawl_state_base(st), NULL, &why);
    if (rc == PAWL_CONFLICT)
        rc = taken_id(s, m, given, &life, err);
    else if (rc != PAWL_OK)
        fail(err, rc, "%s", why.text);
    if (rc == PAWL_OK)
        rc = start_deliver(s, info.id, input, info.life, err);
    host_let(h);
    pawl_engine_wake(h->e);
    pawl_state_free(st);
    if (rc == PAWL_OK && out != NULL && (*out = host_handle(h, given->id, life, err)) == NULL)
        rc = PAWL_NOMEM;        /* the run exists: pawl_host_get finds it */
    return rc;
}

pawl_code pawl_host_spawn(pawl_host *h, const char *machine, const char *id, const char *input, pawl_handle **out, pawl_err *err)
{
    return pawl_host_spawn_with(h, machine, &(pawl_run_info){ .id = id }, input, out, err);
}
