/* engine.c - one run at a time, on the calling thread: advance, append, perform, and again. */
#include "engine/engine.h"
#include "kernel/kernel.h"

#include <string.h>

/* ---- made ----------------------------------------------------------------------------------- */

pawl_engine *pawl_engine_new(pawl_machine *m, pawl_store *store, pawl_err *err)
{
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_engine *e = m == NULL || store == NULL ? NULL : mem_new(&alloc, sizeof *e);

    if (m != NULL && store != NULL && e == NULL)
        fail(err, PAWL_NOMEM, "no memory for an engine");
    if (e == NULL) {
        pawl_machine_free(m);
        pawl_store_free(store);
        return NULL;
    }
    *e = (pawl_engine){ .alloc = alloc, .m = m, .store = store, .clock = clock_system() };
    e->step = pawl_step_new(NULL);
    e->look = pawl_step_new(NULL);
    e->reply.alloc = alloc;
    buf_init(&e->reply.text, &alloc);
    if (e->step == NULL || e->look == NULL) {
        fail(err, PAWL_NOMEM, "no memory for an engine");
        pawl_engine_free(e);
        return NULL;
    }
    return e;
}

static void live_free(pawl_engine *e, live *r)
{
    pawl_state_free(r->st);
    receipt_forget(e, r);
    buf_free(&r->receipt);
    mem_free(&e->alloc, r, sizeof *r + strlen(r->id) + 1);
}

void pawl_engine_free(pawl_engine *e)
{
    if (e == NULL)
        return;
    pawl_alloc alloc = e->alloc;

    for (live *r = e->runs, *next; r != NULL; r = next) {
        next = r->next;
        live_free(e, r);
    }
    for (handler *h = e->handlers, *next; h != NULL; h = next) {
        next = h->next;
        mem_free(&alloc, h, sizeof *h + strlen(h->name) + 1);
    }
    buf_free(&e->reply.text);
    pawl_step_free(e->step);
    pawl_step_free(e->look);
    pawl_machine_free(e->m);
    pawl_store_free(e->store);
    mem_free(&alloc, e, sizeof *e);
}

pawl_store *pawl_engine_store(pawl_engine *e) { return e == NULL ? NULL : e->store; }
const pawl_machine *pawl_engine_machine(const pawl_engine *e) { return e == NULL ? NULL : e->m; }
pawl_step *pawl_engine_step(pawl_engine *e) { return e == NULL ? NULL : e->look; }

void pawl_engine_watch(pawl_engine *e, pawl_watch_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->watch = fn;
    e->watch_ctx = ctx;
}

void pawl_engine_clock(pawl_engine *e, const pawl_clock *clock)
{
    if (e != NULL)
        e->clock = clock != NULL ? *clock : clock_system();
}

void pawl_engine_secret(pawl_engine *e, pawl_secret_fn *fn, void *ctx)
{
    if (e == NULL)
        return;
    e->secret = fn;
    e->secret_ctx = ctx;
}

pawl_code pawl_engine_effect(pawl_engine *e, const char *effect, pawl_effect_fn *fn, void *arg, pawl_class cls, pawl_err *err)
{
    size_t n = effect == NULL ? 0 : strlen(effect) + 1;
    pawl_class declared;
    handler *h;

    if (e == NULL)
        return PAWL_INVALID;
    if (!name_valid(effect) || fn == NULL || (int)cls < 0 || cls > PAWL_ONCE)
        return fail(err, PAWL_INVALID, "\"%.64s\": a handler needs the name of its effect, a function, and a class", n > 0 ? effect : "");
    if (!pawl_machine_effect(e->m, effect, &declared))
        declared = PAWL_AT_LEAST_ONCE;
    if (declared != cls)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\" is declared %s, and its handler is %s", pawl_machine_name(e->m), effect,
                    pawl_class_name(declared), pawl_class_name(cls));
    if ((h = mem_new(&e->alloc, sizeof *h + n)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a handler");
    h->fn = fn;
    h->arg = arg;
    h->cls = cls;
    memcpy(h->name, effect, n);
    h->next = e->handlers;
    e->handlers = h;
    return PAWL_OK;
}

/* ---- runs -------------------------------------------------------------------------------------- */

/* There is no engine: what went wrong before says why. */
static pawl_code code_before(const pawl_err *err)
{
    return err != NULL && err->code < 0 ? err->code : PAWL_INVALID;
}

static live *live_find(const pawl_engine *e, const char *run)
{
    for (live *r = e->runs; r != NULL; r = r->next)
        if (strcmp(r->id, run) == 0)
            return r;
    return NULL;
}

static live *live_add(pawl_engine *e, pawl_state *st, pawl_err *err)
{
    const char *run = pawl_state_run(st);
    live *r = mem_new(&e->alloc, sizeof *r + strlen(run) + 1);

    if (r == NULL) {
        pawl_state_free(st);
        fail(err, PAWL_NOMEM, "%s: no memory for a run", run);
        return NULL;
    }
    memcpy(r->id, run, strlen(run) + 1);
    r->st = st;
    buf_init(&r->receipt, &e->alloc);
    r->next = e->runs;
    e->runs = r;
    return r;
}

/* A failed append throws the live state away: what is stored is loaded again when somebody asks (G9). */
static void live_drop(live *r)
{
    pawl_state_free(r->st);
    r->st = NULL;
}

static pawl_code live_get(pawl_engine *e, const char *run, live **out, pawl_err *err)
{
    live *r = run == NULL ? NULL : live_find(e, run);
    pawl_bytes journal = run == NULL || (r != NULL && r->st != NULL) ? (pawl_bytes){0} : pawl_store_journal(e->store, run);
    pawl_state *st;
    pawl_code rc;

    *out = r;
    if (run == NULL)
        return fail(err, PAWL_INVALID, "a run has an id");
    if (r != NULL && r->st != NULL)
        return PAWL_OK;
    if (journal.data == NULL)
        return fail(err, PAWL_GONE, "%s: there is no such run", run);
    if ((rc = pawl_replay(journal, 0, NULL, &st, err)) != PAWL_OK)
        return rc;
    if (r != NULL)
        r->st = st;
    else
        *out = live_add(e, st, err);
    return *out != NULL ? PAWL_OK : PAWL_NOMEM;
}

static pawl_code info_new(pawl_engine *e, const char *run, pawl_run_info *info, pawl_err *err)
{
    uint64_t drawn[2] = {0};

    if (!chance(drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", run);
    *info = (pawl_run_info){ .id = run, .life = drawn[0], .seed = drawn[1], .created_ms = e->clock.now_ms(e->clock.ctx) };
    return PAWL_OK;
}

/* One event: fed and folded, stored, told. */
static pawl_code take(pawl_engine *e, live *r, const pawl_event *ev, pawl_err *err)
{
    pawl_code next = pawl_advance(e->m, r->st, ev, e->step, err), rc;
    pawl_bytes line = pawl_step_bytes(e->step);

    if (next < 0 || next == PAWL_IGNORED)
        return next;
    if ((rc = store_append(e->store, r->id, &line, 1, err)) != PAWL_OK) {
        live_drop(r);
        return rc;
    }
    if (e->watch != NULL)
        e->watch(e->watch_ctx, r->st, pawl_step_entry(e->step));
    return next;
}

static pawl_code drive(pawl_engine *e, live *r, const pawl_event *first, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_TICK };
    pawl_code rc = PAWL_OK;
    bool done = true;
    char id[2048];

    if (first != NULL) {
        ev = *first;
        if (ev.time_ms == 0)
            ev.time_ms = e->clock.now_ms(e->clock.ctx);
        rc = take(e, r, &ev, err);
        if (rc < 0 || rc == PAWL_IGNORED)
            return rc;
    }
    while (rc >= 0 && done) {
        pawl_code next = pawl_state_next(r->st);

        ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = e->clock.now_ms(e->clock.ctx) };
        if (next == PAWL_PENDING) {
            rc = perform(e, r, &done, &ev, id, sizeof id, err);
            if (rc < 0 || !done)
                return rc < 0 ? rc : PAWL_PENDING;
        } else if (next != PAWL_OK) {
            return next;
        }
        rc = take(e, r, &ev, err);
        if (rc >= 0)
            receipt_forget(e, r);
        if (rc == PAWL_IGNORED)
            return fail(err, PAWL_CORRUPT, "%s: it says there is something to do, and does nothing", r->id);
    }
    return rc;
}

pawl_code pawl_event_send(pawl_engine *e, const char *run, const pawl_event *ev, pawl_err *err)
{
    live *r;
    pawl_code rc = e == NULL ? code_before(err) : live_get(e, run, &r, err);

    return rc == PAWL_OK ? drive(e, r, ev, err) : rc;
}

/* A run is there when its start was taken: what is refused leaves nothing behind. */
static pawl_code run_begin(pawl_engine *e, const char *run, const char *input, live **out, pawl_err *err)
{
    const pawl_event start = { .kind = PAWL_EV_START, .value = input, .time_ms = e->clock.now_ms(e->clock.ctx) };
    pawl_run_info info;
    pawl_bytes line;
    pawl_state *st;
    pawl_code rc = info_new(e, run, &info, err), next;

    if (rc != PAWL_OK || (rc = pawl_state_new(e->m, &info, 0, NULL, &st, err)) != PAWL_OK)
        return rc;
    if ((next = pawl_advance(e->m, st, &start, e->step, err)) < 0 ||
        (rc = store_create(e->store, run, pawl_state_base(st), err)) != PAWL_OK) {
        pawl_state_free(st);
        return next < 0 ? next : rc;
    }
    if ((*out = live_add(e, st, err)) == NULL)
        return PAWL_NOMEM;
    line = pawl_step_bytes(e->step);
    if ((rc = store_append(e->store, run, &line, 1, err)) != PAWL_OK) {
        live_drop(*out);
        return rc;
    }
    if (e->watch != NULL)
        e->watch(e->watch_ctx, st, pawl_step_entry(e->step));
    return PAWL_OK;
}

/* Starting an id that exists goes on with it; with another input that would be lost silently (G10). */
static pawl_code same_input(pawl_engine *e, const live *r, const char *input, pawl_err *err)
{
    pawl_bytes journal = pawl_store_journal(e->store, r->id);
    const char *end = journal.data + journal.size, *at = memchr(journal.data, '\n', journal.size), *nl;
    pawl_entry *first = NULL;
    const pawl_value *given;

    at = at == NULL ? end : at + 1;
    nl = memchr(at, '\n', (size_t)(end - at));
    if (nl != NULL && pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, e->look, &first, NULL) == PAWL_OK &&
        first->items != NULL && first->items->kind == ITEM_START) {
        given = pawl_json(e->look, input);
        if (given != NULL && pawl_value_equal(given, first->items->value))
            return PAWL_OK;
    }
    return fail(err, PAWL_CONFLICT, "%s: it was begun with another input, and asks for none: go on without one, or begin another run", r->id);
}

pawl_code pawl_run(pawl_engine *e, const char *run, const char *input, pawl_err *err)
{
    const pawl_event start = { .kind = PAWL_EV_START, .value = input }, again = { .kind = PAWL_EV_INPUT, .value = input };
    live *r;
    pawl_code rc = e == NULL ? code_before(err) : PAWL_OK;

    if (rc != PAWL_OK)
        return rc;
    if (run != NULL && live_find(e, run) == NULL && pawl_store_journal(e->store, run).data == NULL)
        rc = run_begin(e, run, input, &r, err);
    else if ((rc = live_get(e, run, &r, err)) == PAWL_OK && pawl_state_status(r->st) == PAWL_SUBMITTED)
        return drive(e, r, &start, err);
    else if (rc == PAWL_OK && input != NULL) {
        rc = pawl_state_next(r->st) == PAWL_INTERRUPTED ? drive(e, r, &again, err) : PAWL_IGNORED;
        if (rc != PAWL_IGNORED)
            return rc;              /* it waited for input: the next turn (G13) */
        rc = same_input(e, r, input, err);
    }
    return rc == PAWL_OK ? drive(e, r, NULL, err) : rc;
}

pawl_code pawl_answer(pawl_engine *e, const char *run, const char *wait, const char *answer, pawl_err *err)
{
    const pawl_event ev = { .kind = PAWL_EV_ANSWER, .id = wait, .value = answer };

    return pawl_event_send(e, run, &ev, err);
}

pawl_code pawl_run_fork(pawl_engine *e, const char *run, uint64_t seq, const char *fork, pawl_err *err)
{
    pawl_bytes journal = e == NULL ? (pawl_bytes){0} : pawl_store_journal(e->store, run);
    pawl_run_info info;
    pawl_state *then, *made = NULL;
    pawl_code rc;

    if (journal.data == NULL)
        return fail(err, PAWL_GONE, "%s: there is no such run", run != NULL ? run : "");
    if ((rc = info_new(e, fork, &info, err)) != PAWL_OK || (rc = pawl_replay(journal, seq, NULL, &then, err)) != PAWL_OK)
        return rc;
    rc = pawl_state_fork(then, &info, e->step, &made, err);
    pawl_state_free(then);
    if (rc != PAWL_OK)
        return rc;
    if ((rc = store_create(e->store, fork, pawl_state_base(made), err)) != PAWL_OK) {
        pawl_state_free(made);
        return rc;
    }
    return live_add(e, made, err) != NULL ? PAWL_OK : PAWL_NOMEM;
}

pawl_state *pawl_run_state(pawl_engine *e, const char *run, pawl_err *err)
{
    live *r;

    return e == NULL || live_get(e, run, &r, err) != PAWL_OK ? NULL : r->st;
}

/* In the engine's own buffer: a string itself, any other value as JSON. */
static const char *value_shown(pawl_engine *e, const pawl_value *v)
{
    if (v == NULL)
        return "";
    if (pawl_value_string(v) != NULL)
        return pawl_value_string(v);
    buf_reset(&e->reply.text);
    canon(&e->reply.text, v);
    buf_char(&e->reply.text, '\0');
    return e->reply.text.failed ? "" : e->reply.text.data;
}

const char *pawl_run_get(pawl_engine *e, const char *run, const char *name)
{
    pawl_state *st = pawl_run_state(e, run, NULL);

    return value_shown(e, st == NULL ? NULL : pawl_state_get(st, name));
}

const char *pawl_run_reason(pawl_engine *e, const char *run)
{
    pawl_state *st = pawl_run_state(e, run, NULL);

    return value_shown(e, st == NULL ? NULL : pawl_value_get(pawl_state_reason(st), "text"));
}
