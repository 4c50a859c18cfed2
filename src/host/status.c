/* status.c - the display state of an agent, now and at earlier entries, and waiting for one.
 *
 * Reads only the store, so it does not matter which process drives the run. Called on any thread, one at a time for a handle. */
#include "host/open_questions.h"
#include "host/host.h"
#include "history/current_state.h"
#include "engine/run/owner.h"
#include "kernel/step.h"

#include <stdio.h>
#include <string.h>

enum { SLICE_MS = 1000 };       /* a parked run causes no event, so it is polled */
enum { CHILDREN_MS = 20 };      /* interval at which children are polled */

/* ---- a look ---------------------------------------------------------------------------------------- */

static const char *kept_json(arena *a, const pawl_value *v)
{
    const char *out = NULL;
    buf b;

    if (v == NULL)
        return NULL;
    buf_init(&b, &a->alloc);
    canon(&b, v);
    if (!b.failed)
        out = arena_strdup(a, b.data, b.size);
    a->failed = a->failed || b.failed;
    buf_free(&b);
    return out;
}

/* Copies the question rather than the call, since hooks may have changed the input. */
static pawl_code wait_copy(pawl_state *st, pawl_handle_view *v, arena *mem, pawl_err *err)
{
    pawl_step *step = v->request_id == NULL ? NULL : pawl_step_new(NULL);
    pawl_code rc = v->request_id != NULL && step == NULL ? PAWL_NOMEM : PAWL_OK;

    for (size_t i = 0; step != NULL && i < pawl_state_waits(st) && rc == PAWL_OK && v->wait == NULL; i++) {
        pawl_wait w;

        if ((rc = pawl_state_wait(st, i, step, &w, err)) != PAWL_OK || strcmp(w.slot, v->request_id) != 0)
            continue;
        v->wait = arena_text(mem, w.id);
        v->about = kept_json(mem, w.about);
        if (pawl_value_string(w.prompt) != NULL)
            v->message = arena_text(mem, pawl_value_string(w.prompt));
        if (v->state == PAWL_SHOWN_WAITING_FOR_PERMISSION && pawl_value_get(w.about, "input") != NULL)
            v->input = kept_json(mem, pawl_value_get(w.about, "input"));
    }
    pawl_step_free(step);
    return rc;
}

/* A tool call with unknown outcome waits for a person, and is not at work. */
static pawl_code unknown_copy(pawl_state *st, pawl_handle_view *v, arena *mem, pawl_err *err)
{
    const bool looks = v->state == PAWL_SHOWN_EXECUTING_TOOL || v->state == PAWL_SHOWN_PROCESSING;
    pawl_step *step = looks ? pawl_step_new(NULL) : NULL;
    pawl_code rc = looks && step == NULL ? PAWL_NOMEM : PAWL_OK;

    for (size_t i = 0; step != NULL && i < pawl_state_waits(st) && rc == PAWL_OK && v->request_id == NULL; i++) {
        const pawl_value *of;
        pawl_wait w;

        if ((rc = pawl_state_wait(st, i, step, &w, err)) != PAWL_OK || !pawl_agent_unknown(&w))
            continue;
        of = pawl_agent_unknown_call(st, &w);
        v->state = PAWL_SHOWN_WAITING_FOR_USER_INPUT;
        v->badge = pawl_shown_badge(v->state);
        v->request_id = arena_text(mem, w.slot);
        v->wait = arena_text(mem, w.id);
        v->about = kept_json(mem, w.prompt);
        v->message = arena_text(mem, pawl_value_string(pawl_value_get(w.prompt, "text")));
        v->tool_name = arena_text(mem, pawl_value_string(pawl_value_get(of, "name")));
        v->tool_use_id = arena_text(mem, pawl_value_string(pawl_value_get(of, "id")));
        v->input = kept_json(mem, pawl_value_get(of, "input"));
    }
    pawl_step_free(step);
    return rc;
}

static pawl_code state_copy(pawl_state *st, pawl_handle_view *v, arena *mem, pawl_err *err)
{
    pawl_agent_view a;
    const char *end;
    pawl_code rc;

    v->status = pawl_state_status(st);
    v->seq = pawl_state_seq(st);
    v->time_ms = pawl_state_time_ms(st);
    if ((rc = pawl_agent_display(st, &a, err)) != PAWL_OK)
        return rc;
    end = pawl_value_string(pawl_value_get(pawl_state_get(st, "@agent"), "end"));
    /* in its journal a turn that was interrupted ends in `done`, and the agent goes on with the next message */
    v->state = a.state == PAWL_SHOWN_DONE && end != NULL && strcmp(end, "interrupt") == 0 && pawl_agent_idle(st) ? PAWL_SHOWN_IDLE : a.state;
    a.state = v->state;
    v->badge = pawl_shown_badge(a.state);
    v->tool_name = arena_text(mem, a.tool_name);
    v->tool_use_id = arena_text(mem, a.tool_use_id);
    v->input = kept_json(mem, a.input);
    v->session_id = arena_text(mem, a.session_id);
    v->request_id = arena_text(mem, a.request_id);
    v->message = arena_text(mem, a.message);
    rc = wait_copy(st, v, mem, err);
    return rc == PAWL_OK ? unknown_copy(st, v, mem, err) : rc;
}

/* ---- what its children ask ------------------------------------------------------------------------- */

/* A child that is not an agent: only its wait is known. */
static void ask_copy(const ask *one, pawl_handle_view *v, arena *mem)
{
    const pawl_value *about = one->w.about;
    const char *text = pawl_value_string(one->w.prompt);

    v->state = one->w.kind == PAWL_WAIT_APPROVAL ? PAWL_SHOWN_WAITING_FOR_PERMISSION : PAWL_SHOWN_WAITING_FOR_USER_INPUT;
    v->request_id = arena_text(mem, one->w.slot);
    v->wait = arena_text(mem, one->w.id);
    v->about = kept_json(mem, about != NULL ? about : one->w.prompt);
    v->message = arena_text(mem, text != NULL ? text : pawl_value_string(pawl_value_get(one->w.prompt, "text")));
    v->tool_name = arena_text(mem, pawl_value_string(pawl_value_get(about, "tool")));
    v->input = kept_json(mem, pawl_value_get(about, "input"));
}

/* The display state of the child itself. It may have been answered meanwhile: then it has not taken the answer yet. */
static pawl_code child_copy(pawl_store *s, const ask *one, pawl_handle_view *v, arena *mem, pawl_err *err)
{
    pawl_handle_view c = { .state = PAWL_SHOWN_NOTHING };
    current_state now;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = current_state_load(&now, s, one->run, &why);

    if (rc == PAWL_OK && pawl_state_get(now.st, "@agent") == NULL)
        ask_copy(one, &c, mem);
    else if (rc == PAWL_OK)
        rc = state_copy(now.st, &c, mem, &why);
    current_state_free(&now);
    if (rc != PAWL_OK && rc != PAWL_GONE)
        return fail(err, rc, "%s", why.text);
    if (rc == PAWL_GONE || c.wait == NULL) {
        v->has_mail = true;
        return PAWL_OK;
    }
    v->state = c.state;
    v->badge = pawl_shown_badge(c.state);
    v->session_id = arena_text(mem, one->run);
    v->tool_name = c.tool_name;
    v->tool_use_id = c.tool_use_id;
    v->input = c.input;
    v->request_id = c.request_id;
    v->wait = c.wait;
    v->about = c.about;
    v->message = c.message;
    return PAWL_OK;
}

/* An approval before a question; of several the first. */
static const ask *first_asked(const asks *all)
{
    static const pawl_wait_kind order[] = { PAWL_WAIT_APPROVAL, PAWL_WAIT_QUESTION };

    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < all->n; i++)
            if (all->all[i].w.kind == order[k])
                return &all->all[i];
    return NULL;
}

/* The run's own waits come first; without any it has the display state of its asking children. */
static pawl_code children_copy(pawl_handle *a, pawl_store *s, pawl_state *st, pawl_handle_view *v, asks *all, arena *mem, pawl_err *err)
{
    const pawl_status own = v->status;
    const ask *one;
    pawl_code rc;

    if (own != PAWL_STATUS_WORKING || (rc = asks_under(s, mem, st, &v->has_mail, all, err)) == PAWL_GONE)
        return PAWL_OK;
    if (rc != PAWL_OK)
        return rc;
    v->status = asks_status(all, own);
    one = v->request_id == NULL ? first_asked(all) : NULL;
    return one != NULL && ask_is_childs(one, a->id) ? child_copy(s, one, v, mem, err) : PAWL_OK;
}

static pawl_code status_held(pawl_handle *a, pawl_store *s, pawl_handle_view *v, asks *all, arena *mem, pawl_err *err)
{
    current_state now;
    pawl_head head;
    pawl_code rc = handle_head(a, s, &head, err);

    if (rc != PAWL_OK)
        return rc;
    v->parked = arena_text(mem, head.parked);
    if ((rc = asks_mail(s, a->id, &v->has_mail, err)) != PAWL_OK)
        return rc;
    if ((rc = current_state_load(&now, s, a->id, err)) == PAWL_OK && (rc = state_copy(now.st, v, mem, err)) == PAWL_OK)
        rc = children_copy(a, s, now.st, v, all, mem, err);
    v->has_mail = v->has_mail && !pawl_status_terminal(v->status);
    v->over = pawl_status_terminal(v->status);
    current_state_free(&now);
    return rc == PAWL_NOMEM || (rc == PAWL_OK && mem->failed) ? fail(err, PAWL_NOMEM, "%s: no memory for its status", a->id) : rc;
}

/* *all is in the memory of *out. */
static pawl_code status_read(pawl_handle *a, pawl_handle_view *out, asks *all, pawl_err *err)
{
    pawl_handle_view v = { .badge = pawl_shown_badge(PAWL_SHOWN_NOTHING) };
    arena *mem;
    pawl_code rc;

    if (a == NULL || out == NULL)
        return fail(err, PAWL_INVALID, "a status needs a handle, and a place: one of them is NULL");
    if ((mem = mem_new(&a->h->alloc, sizeof *mem)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its status", a->id);
    arena_init(mem, &a->h->alloc, 1024);
    *all = (asks){0};
    rc = status_held(a, host_hold(a->h), &v, all, mem, err);
    host_let(a->h);
    v.kept = mem;
    if (rc == PAWL_OK)
        *out = v;
    else
        pawl_handle_view_free(&v);
    return rc;
}

pawl_code pawl_handle_state(pawl_handle *a, pawl_handle_view *out, pawl_err *err)
{
    asks all;

    return status_read(a, out, &all, err);
}

void pawl_handle_view_free(pawl_handle_view *v)
{
    arena *mem = v != NULL ? v->kept : NULL;
    pawl_alloc alloc;

    if (mem == NULL)
        return;
    alloc = mem->alloc;
    arena_free(mem);
    mem_free(&alloc, mem, sizeof *mem);
    *v = (pawl_handle_view){ .kept = NULL };
}

pawl_code pawl_handle_asks(pawl_handle *a, pawl_asked_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *s;
    pawl_head head;
    arena mem;
    asks all = {0};
    pawl_code rc;

    if (a == NULL || fn == NULL)
        return fail(err, PAWL_INVALID, "%s: the list of questions needs a handle and a function: one of them is NULL", a != NULL ? a->id : "no handle");
    arena_init(&mem, &a->h->alloc, 1024);
    s = host_hold(a->h);
    if ((rc = handle_head(a, s, &head, err)) == PAWL_OK)
        rc = asks_read(s, &mem, a->id, &all, err);
    host_let(a->h);
    for (size_t i = 0; rc == PAWL_OK && i < all.n; i++) {
        const ask *one = &all.all[i];

        if ((one->w.kind == PAWL_WAIT_APPROVAL || one->w.kind == PAWL_WAIT_QUESTION) && !fn(ctx, one->run, &one->w))
            break;
    }
    arena_free(&mem);
    return rc;
}

/* ---- is it so? ----------------------------------------------------------------------------------------- */

typedef struct standing {
    pawl_handle_view v;
    asks all;                   /* in the memory of the view */
    uint64_t version, moved;    /* before the last look: version of the store, and a digest of the known children's heads */
    uint64_t slice_seq, stuck_seq;      /* entry at the last look; entry at which missing handlers were last searched */
} standing;

static bool is(pawl_handle *a, pawl_shown state)
{
    pawl_handle_view v;
    bool so = pawl_handle_state(a, &v, NULL) == PAWL_OK;

    if (so) {
        so = !v.has_mail && v.state == state;
        pawl_handle_view_free(&v);
    }
    return so;
}

bool pawl_handle_is_idle(pawl_handle *a) { return is(a, PAWL_SHOWN_IDLE); }
bool pawl_handle_is_done(pawl_handle *a) { return is(a, PAWL_SHOWN_DONE); }
bool pawl_handle_is_error(pawl_handle *a) { return is(a, PAWL_SHOWN_ERROR); }

bool pawl_handle_is_processing(pawl_handle *a)
{
    pawl_handle_view v;
    bool so = pawl_handle_state(a, &v, NULL) == PAWL_OK;

    if (so) {
        so = v.has_mail || v.state == PAWL_SHOWN_PROCESSING;
        pawl_handle_view_free(&v);
    }
    return so;
}

/* ---- waited for ------------------------------------------------------------------------------------------- */

static bool reached(const pawl_handle_view *v, unsigned until)
{
    static const unsigned of[] = { [PAWL_SHOWN_IDLE] = PAWL_UNTIL_IDLE, [PAWL_SHOWN_DONE] = PAWL_UNTIL_DONE, [PAWL_SHOWN_ERROR] = PAWL_UNTIL_ERROR,
                                   [PAWL_SHOWN_WAITING_FOR_PERMISSION] = PAWL_UNTIL_ASKS, [PAWL_SHOWN_WAITING_FOR_USER_INPUT] = PAWL_UNTIL_ASKS };

    return !v->has_mail && (size_t)v->state < sizeof of / sizeof *of && (of[v->state] & until) != 0;
}

static uint64_t mixed(uint64_t sum, const char *text)
{
    do
        sum = (sum ^ (uint8_t)*text) * 1099511628211u;
    while (*text++ != '\0');
    return sum;
}

/* A digest of what the heads of its children show: whether one has waits, has ended, has deliveries, or rests. */
static uint64_t moved(pawl_store *s, const asks *all)
{
    uint64_t sum = 14695981039346656037u;
    char how[64];
    pawl_head h;

    for (size_t i = 0; i < all->nchildren; i++) {
        h = (pawl_head){ .seq = 0 };
        (void)s->verbs->head(s, all->children[i].run, &h, NULL);
        snprintf(how, sizeof how, "%u %d %d %d %d", (unsigned)h.waits, h.over, h.mail > 0, h.work, h.parked != NULL);
        sum = mixed(mixed(sum, all->children[i].run), how);
    }
    return sum;
}

static void standing_free(standing *s)
{
    pawl_handle_view_free(&s->v);
    s->all = (asks){0};
}

/* Reads the state again; the version is read first, so that no later change is missed. */
static pawl_code stands(pawl_handle *a, standing *s, pawl_err *err)
{
    pawl_store *store = host_hold(a->h);
    pawl_code rc;

    s->version = store->verbs->version(store);
    s->moved = moved(store, &s->all);
    host_let(a->h);
    standing_free(s);
    if ((rc = status_read(a, &s->v, &s->all, err)) != PAWL_OK)
        s->v = (pawl_handle_view){ .kept = NULL };
    return rc;
}

/* The stream has no events of children: the store's version tells whether anything was written, then their heads whether they changed. */
static bool children_moved(pawl_handle *a, standing *s)
{
    pawl_store *store = host_hold(a->h);
    const uint64_t version = store->verbs->version(store);
    bool did = false;

    if (version == 0 || version != s->version) {
        s->version = version;
        did = moved(store, &s->all) != s->moved;
    }
    host_let(a->h);
    return did;
}

static bool state_may_change(const standing *s, const pawl_stream_event *ev)
{
    return (s->v.has_mail && ev->live == 0) || strcmp(ev->name != NULL ? ev->name : "", ev->kind == PAWL_STREAM_TASKS ? "ask" : "state") == 0;
}

/* Waits for something that may have changed the state; PAWL_PENDING: a slice has passed. */
static pawl_code something(pawl_handle *a, pawl_stream *r, standing *s, int64_t left_ms, pawl_err *err)
{
    const int64_t end = steady_ms() + (left_ms < SLICE_MS ? left_ms : SLICE_MS);
    pawl_stream_event ev;
    pawl_code rc;

    for (;;) {
        const int64_t now = steady_ms(), left = end > now ? end - now : 0;
        const bool looks = s->all.nchildren > 0 && left > CHILDREN_MS;

        rc = pawl_stream_wait(r, looks ? CHILDREN_MS : left, &ev, err);
        if (rc == PAWL_OK ? state_may_change(s, &ev) : rc != PAWL_PENDING || !looks || children_moved(a, s))
            return rc < 0 ? rc : PAWL_OK;
    }
}

/* Whether it waits for effects without a handler in this engine: then err names them. */
static bool is_unhandled(pawl_handle *a, pawl_err *err)
{
    bool missing;
    buf names;

    buf_init(&names, NULL);
    if ((missing = missing_handlers(a, &names))) {
        buf_char(&names, '\0');
        if (!names.failed)
            fail(err, PAWL_PENDING, "%s: no handler here for effect %.160s (pawl_host_bind, pawl_engine_effect)", a->id, names.data);
    }
    buf_free(&names);
    return missing;
}

/* The same for a wait without limit: checked once for an entry after which nothing came, and not while another process drives the run, which may have
 * the handlers. */
static bool is_stuck(pawl_handle *a, standing *s, pawl_err *err)
{
    const bool still = s->v.seq == s->slice_seq;
    pawl_head head;
    pawl_code rc;

    s->slice_seq = s->v.seq;
    if (!still || s->stuck_seq == s->v.seq)
        return false;
    rc = handle_head(a, host_hold(a->h), &head, NULL);
    if (rc == PAWL_OK && head.owner != NULL && !owner_is_own(head.owner) && !owner_dead(head.owner))
        rc = PAWL_HELD;
    host_let(a->h);
    if (rc != PAWL_OK)
        return false;
    s->stuck_seq = s->v.seq;
    return is_unhandled(a, err);
}

static pawl_code wait_on(pawl_handle *a, pawl_stream *r, standing *s, unsigned until, int64_t timeout_ms, pawl_shown *state, pawl_err *err)
{
    const int64_t end = timeout_ms < 0 || timeout_ms > INT64_MAX / 4 ? INT64_MAX / 2 : steady_ms() + timeout_ms;
    pawl_code rc;

    while ((rc = stands(a, s, err)) == PAWL_OK) {
        const int64_t left = end - steady_ms();

        if (state != NULL)
            *state = s->v.state;
        if (s->v.over)
            return PAWL_HALTED;
        if (reached(&s->v, until))
            return PAWL_OK;
        if (s->v.parked != NULL)
            return fail(err, PAWL_CONFLICT, "%s: it is parked: %s", a->id, s->v.parked);
        if (left <= 0) {
            (void)is_unhandled(a, err);
            return PAWL_PENDING;
        }
        if (timeout_ms < 0 && is_stuck(a, s, err))
            return PAWL_PENDING;
        if ((rc = something(a, r, s, left, err)) != PAWL_OK)
            return rc;
    }
    return rc;
}

/* The stream is opened before the state is first read: a later change wakes the wait. */
pawl_code pawl_handle_wait(pawl_handle *a, unsigned until, int64_t timeout_ms, pawl_shown *state, pawl_err *err)
{
    const pawl_stream_options now = { .from = "now", .kinds = PAWL_STREAM_CUSTOM | PAWL_STREAM_TASKS | PAWL_STREAM_DEBUG };
    pawl_stream *r = pawl_handle_subscribe(a, &now, err);
    standing s = { .version = 0 };
    pawl_code rc;

    if (r == NULL)
        return code_before(err);
    rc = wait_on(a, r, &s, until, timeout_ms, state, err);
    standing_free(&s);
    pawl_stream_close(r);
    return rc;
}

pawl_stream *pawl_handle_subscribe(pawl_handle *a, const pawl_stream_options *options, pawl_err *err)
{
    pawl_head head;
    pawl_code rc;

    if (a == NULL) {
        fail(err, PAWL_INVALID, "there is no handle");
        return NULL;
    }
    rc = handle_head(a, host_hold(a->h), &head, err);
    host_let(a->h);
    return rc == PAWL_OK ? pawl_stream_open(a->h->e, NULL, a->id, options, err) : NULL;
}

/* ---- as it stood ---------------------------------------------------------------------------------------------- */

typedef struct status_following { pawl_shown_fn *fn; void *ctx; } status_following;

static pawl_shown shown_named(const char *name)
{
    for (int i = PAWL_SHOWN_IDLE; name != NULL && i <= PAWL_SHOWN_ERROR; i++)
        if (strcmp(pawl_shown_name((pawl_shown)i), name) == 0)
            return (pawl_shown)i;
    return PAWL_SHOWN_NOTHING;
}

static bool see_entry(void *ctx, uint64_t seq, const pawl_entry *entry)
{
    const status_following *t = ctx;
    const pawl_value *v;
    const char *name, *node;

    for (size_t i = 0; (v = pawl_entry_emission(entry, i, &name, &node)) != NULL; i++) {
        const pawl_shown_at at = { shown_named(pawl_value_string(pawl_value_get(v, "state"))), seq, pawl_entry_time_ms(entry), v };

        if (strcmp(name, "state") == 0 && at.state != PAWL_SHOWN_NOTHING && !t->fn(t->ctx, &at))
            return false;
    }
    return true;
}

pawl_code pawl_handle_states(pawl_handle *a, pawl_shown_fn *fn, void *ctx, pawl_err *err)
{
    status_following t = { fn, ctx };
    pawl_head head;
    pawl_store *s;
    pawl_code rc;

    if (a == NULL || fn == NULL)
        return fail(err, PAWL_INVALID, "%s: following the status needs a handle and a function: one of them is NULL", a != NULL ? a->id : "no handle");
    s = host_hold(a->h);
    if ((rc = handle_head(a, s, &head, err)) == PAWL_OK)
        rc = pawl_history_walk(s, a->id, 0, 0, see_entry, &t, err);
    host_let(a->h);
    return rc;
}
