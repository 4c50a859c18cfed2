/* wait_index.c - what the store is told of a run beside its lines: which waits were asked and are over, and its first timer. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"

#include <string.h>

typedef struct wait_scan {
    pawl_engine *e;
    cached_run *r;
    uint32_t seen;              /* open waits */
    int64_t wake_ms;
    bool naps, works;           /* a command is in its back-off; one is not, or a step is due */
    bool failed;
} wait_scan;

static void id_text(buf *b, const cached_run *r, const char *path, const call *c, const task *tk, uint32_t n)
{
    const item it = { .superstep = c->superstep, .task = path, .visit = tk != NULL ? tk->visit : c->visit, .n = n };

    buf_reset(b);
    buf_fmt(b, "%s~%016llx/", r->id, (unsigned long long)r->st->life);
    id_code(b, &it);
    buf_char(b, '\0');
}

static bool is_asked(const cached_run *r, const char *id)
{
    for (size_t i = 0; i < r->nasked; i++)
        if (strcmp(r->asked[i], id) == 0)
            return true;
    return false;
}

static char *copy_of(pawl_engine *e, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_new(&e->alloc, n);

    return copy == NULL ? NULL : memcpy(copy, text, n);
}

static wait_change *wait_new(pawl_engine *e, cached_run *r, const char *id)
{
    wait_change *w;

    if (!mem_room(&e->alloc, (void **)&r->waits, &r->waits_cap, r->nwaits, sizeof *r->waits))
        return NULL;
    w = &r->waits[r->nwaits];
    *w = (wait_change){ .id = copy_of(e, id) };
    buf_init(&w->text, &e->alloc);
    r->nwaits += w->id != NULL;
    return w->id != NULL ? w : NULL;
}

static bool see_asked(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    wait_scan *l = ctx;
    wait_change *w;
    buf *id = &l->e->text;

    (void)f;
    if (!call_asks(c))
        return true;
    id_text(id, l->r, path, c, tk, n);
    l->seen++;
    if (id->failed)
        return !(l->failed = true);
    if (is_asked(l->r, id->data))
        return true;
    if (!mem_room(&l->e->alloc, (void **)&l->r->asked, &l->r->asked_cap, l->r->nasked, sizeof *l->r->asked) ||
        (l->r->asked[l->r->nasked] = copy_of(l->e, id->data)) == NULL)
        return !(l->failed = true);
    l->r->nasked++;
    if ((w = wait_new(l->e, l->r, id->data)) == NULL)
        return !(l->failed = true);
    buf_put(&w->text, c->asked ? c->doubt : c->spec, c->asked ? strlen(c->doubt) : c->spec_size);
    w->asked_ms = c->time_ms;
    return !(l->failed = w->text.failed);
}

typedef struct is_open { const char *id; wait_scan *l; bool found; } is_open;

static bool see_same(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    is_open *o = ctx;
    buf *id = &o->l->e->text;

    (void)f;
    if (!call_asks(c))
        return true;
    id_text(id, o->l->r, path, c, tk, n);
    o->found = !id->failed && strcmp(id->data, o->id) == 0;
    return !o->found;
}

/* What the step that was just folded answered it with. */
static void answer_of(pawl_engine *e, cached_run *r, wait_change *w)
{
    const pawl_entry *entry = pawl_step_entry(e->step);
    const char *local = strchr(w->id, '/') + 1;
    buf b;

    (void)r;
    buf_init(&b, &e->alloc);
    for (const item *it = entry == NULL ? NULL : entry->items; it != NULL; it = it->next) {
        if (it->kind != ITEM_ANSWER)
            continue;
        buf_reset(&b);
        id_code(&b, it);
        if (b.size != strlen(local) || memcmp(b.data, local, b.size) != 0)
            continue;
        w->answered = true;
        if (it->value != NULL)
            canon(&w->text, it->value);
        else
            buf_text(&w->text, "null");
    }
    w->text.failed = w->text.failed || b.failed;
    buf_free(&b);
}

static pawl_code waits_over(wait_scan *l)
{
    cached_run *r = l->r;

    for (size_t i = 0; i < r->nasked;) {
        is_open o = { r->asked[i], l, false };
        wait_change *w;

        state_each_call(r->st, see_same, &o);
        if (o.found) {
            i++;
            continue;
        }
        if ((w = wait_new(l->e, r, r->asked[i])) == NULL)
            return PAWL_NOMEM;
        w->over = true;
        answer_of(l->e, r, w);
        if (w->text.failed)
            return PAWL_NOMEM;
        mem_free(&l->e->alloc, r->asked[i], strlen(r->asked[i]) + 1);
        r->asked[i] = r->asked[--r->nasked];
    }
    return PAWL_OK;
}

pawl_code wait_index_step(pawl_engine *e, cached_run *r)
{
    const pawl_entry *entry = pawl_step_entry(e->step);
    wait_scan l = { .e = e, .r = r };

    for (const item *it = entry->items; it != NULL && !r->commands_moved; it = it->next)
        r->commands_moved = it->kind == ITEM_CALL || it->kind == ITEM_SPAWN || it->kind == ITEM_SLEEP || it->kind == ITEM_DROP ||
                            it->kind == ITEM_SELECT || it->kind == ITEM_CANCEL || it->kind == ITEM_VISIT || it->kind == ITEM_DOUBT ||
                            it->kind == ITEM_ANSWER || it->kind == ITEM_UNWIND;
    if (r->commands_moved && r->outbox.count > 0 && (tells_before_commit(e, r) != PAWL_OK || children_cancel_dropped(e, r) != PAWL_OK))
        return PAWL_IO;
    if (rights_before_commit(e, r) != PAWL_OK)
        return PAWL_IO;
    if (r->st->waits == 0 && r->nasked == 0)
        return PAWL_OK;
    state_each_call(r->st, see_asked, &l);
    if (l.failed)
        return PAWL_NOMEM;
    return l.seen < r->nasked ? waits_over(&l) : PAWL_OK;
}

/* Its store has these already. */
pawl_code wait_index_load(pawl_engine *e, cached_run *r)
{
    wait_scan l = { .e = e, .r = r };

    r->commands_moved = true;
    state_each_call(r->st, see_asked, &l);
    wait_index_clear(e, r);
    return l.failed ? PAWL_NOMEM : PAWL_OK;
}

void wait_index_clear(pawl_engine *e, cached_run *r)
{
    for (size_t i = 0; i < r->nwaits; i++) {
        mem_free(&e->alloc, r->waits[i].id, strlen(r->waits[i].id) + 1);
        buf_free(&r->waits[i].text);
    }
    r->nwaits = 0;
    r->ntaken = 0;
}

/* ---- timers ------------------------------------------------------------------------------------- */

int64_t timer_at(pawl_engine *e, const call *c)
{
    if (c->kind == CALL_SLEEP)
        return c->time_ms;
    return c->kind == CALL_ASK && spec_get(e->look, c, "otherwise") != NULL ? pawl_value_int(spec_get(e->look, c, "expires")) : 0;
}

static bool see_timer(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    wait_scan *l = ctx;
    int64_t at = timer_at(l->e, c);

    (void)f;
    if (at > 0 && (l->wake_ms == 0 || at < l->wake_ms || BROKEN(BROKEN_WAKE_LAST)) && !(BROKEN(BROKEN_DEADLINE_WAKE) && c->kind == CALL_ASK))
        l->wake_ms = at;
    if (c->kind == CALL_ASK || c->kind == CALL_SLEEP || l->works)
        return true;
    l->works = true;
    if (l->naps) {
        id_text(&l->e->text, l->r, path, c, tk, n);
        l->works = l->e->text.failed || !outbox_is_asleep(l->r, l->e->text.data);
    }
    return true;
}

/* A command in its back-off is a timer. */
int64_t wait_index_wake(pawl_engine *e, cached_run *r, bool *works)
{
    wait_scan l = { .e = e, .r = r, .works = pawl_state_next(r->st) == PAWL_OK };
    int64_t deadline = deadline_ms(r);

    if (pawl_status_terminal((pawl_status)r->st->status)) {
        *works = false;
        return child_must_notify(r) && !BROKEN(BROKEN_CHILD_END) ? PARENT_UNNOTIFIED_MS : run_retires_ms(r);
    }
    step_reset(e->look);
    l.naps = outbox_count(&r->outbox, ENTRIES_ASLEEP) > 0;
    l.wake_ms = outbox_wake_ms(r);      /* a child wakes it by its end */
    if (r->st->commands > 0 || r->st->waits > 0)
        state_each_call(r->st, see_timer, &l);
    *works = l.works;
    if (deadline > 0 && (l.wake_ms == 0 || deadline < l.wake_ms))
        l.wake_ms = deadline;
    return l.wake_ms;
}

/* ---- an answer that is left for whoever holds the run ---------------------------------------------- */

/* RUN~LIFE/... */
static bool is_id_of(const char *run, const char *wait)
{
    size_t n = strlen(run);

    return wait != NULL && strncmp(wait, run, n) == 0 && wait[n] == '~' && strchr(wait + n, '/') != NULL;
}

/* As the kernel takes it: the rest of an id, a very slot, else the end of a slot, or a node. */
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
