/* wait_index.c - what the store keeps of a run beside its lines: its open waits, and its first timer.
 *
 * Called by run_feed.c and run_cache.c, and by append.c for the timer, on the driving thread; deliveries to children go to the store under the engine's
 * lock. Invariant: `asked` has the waits that are open in the state, and `waits` the changes that the next append stores. */
#include "engine/child/child.h"
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"

#include <string.h>

typedef struct wait_scan {
    pawl_engine *e;
    cached_run *r;
    uint32_t seen;              /* open waits */
    int64_t wake_ms;
    size_t timers;
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

/* ---- the open waits by id ---------------------------------------------------------------------------------- */

enum { ASKED_LEAST = 16 };

typedef struct open_wait {
    struct open_wait *next;     /* in its slot */
    uint64_t seen;              /* the scan that found it open last */
    char id[];
} open_wait;

static open_wait **asked_slot(const cached_run *r, const char *id)
{
    uint32_t h = name_hash(id);
    open_wait **at = &r->asked[(h ^ h >> 16) & (r->asked_cap - 1)];

    while (*at != NULL && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static bool asked_grow(pawl_engine *e, cached_run *r)
{
    size_t old_cap = r->asked_cap, cap = old_cap == 0 ? ASKED_LEAST : 2 * old_cap;
    open_wait **old = r->asked, **all = r->nasked < old_cap ? NULL : mem_new(&e->alloc, cap * sizeof *all);

    if (all == NULL)
        return old_cap > 0;     /* longer chains, that is all */
    r->asked = all;
    r->asked_cap = cap;
    for (size_t i = 0; i < old_cap; i++)
        for (open_wait *w = old[i], *next; w != NULL; w = next) {
            open_wait **slot = asked_slot(r, w->id);

            next = w->next;
            w->next = NULL;
            *slot = w;
        }
    mem_free(&e->alloc, old, old_cap * sizeof *old);
    return true;
}

/* False: no memory. */
static bool asked_add(pawl_engine *e, cached_run *r, const char *id)
{
    const size_t n = strlen(id) + 1;
    open_wait *w = asked_grow(e, r) ? mem_new(&e->alloc, sizeof *w + n) : NULL;

    if (w == NULL)
        return false;
    memcpy(w->id, id, n);
    w->seen = r->scans;
    *asked_slot(r, id) = w;
    r->nasked++;
    return true;
}

static void asked_remove(pawl_engine *e, cached_run *r, open_wait **at)
{
    open_wait *w = *at;

    *at = w->next;
    r->nasked--;
    mem_free(&e->alloc, w, sizeof *w + strlen(w->id) + 1);
}

void wait_index_free(pawl_engine *e, cached_run *r)
{
    for (size_t i = 0; i < r->asked_cap; i++)
        while (r->asked[i] != NULL)
            asked_remove(e, r, &r->asked[i]);
    mem_free(&e->alloc, r->asked, r->asked_cap * sizeof *r->asked);
    r->asked = NULL;
    r->asked_cap = 0;
    r->no_timers = false;
}

/* ---- changes for the store ------------------------------------------------------------------------------------ */

static wait_change *wait_new(pawl_engine *e, cached_run *r, const char *id)
{
    wait_change *w;

    if (!mem_room(&e->alloc, (void **)&r->waits, &r->waits_cap, r->nwaits, sizeof *r->waits))
        return NULL;
    w = &r->waits[r->nwaits];
    *w = (wait_change){ .id = mem_text(&e->alloc, id) };
    buf_init(&w->text, &e->alloc);
    r->nwaits += w->id != NULL;
    return w->id != NULL ? w : NULL;
}

static bool see_asked(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    wait_scan *l = ctx;
    wait_change *w;
    buf *id = &l->e->text;
    open_wait *known;

    (void)f;
    if (!call_asks(c))
        return true;
    id_text(id, l->r, path, c, tk, n);
    l->seen++;
    if (id->failed)
        return !(l->failed = true);
    if (l->r->nasked > 0 && (known = *asked_slot(l->r, id->data)) != NULL) {
        known->seen = l->r->scans;
        return true;
    }
    if (!asked_add(l->e, l->r, id->data))
        return !(l->failed = true);
    if ((w = wait_new(l->e, l->r, id->data)) == NULL)
        return !(l->failed = true);
    buf_put(&w->text, c->at == CALL_IN_DOUBT ? c->doubt : c->spec, c->at == CALL_IN_DOUBT ? strlen(c->doubt) : c->spec_size);
    w->asked_ms = c->time_ms;
    return !(l->failed = w->text.failed);
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

static pawl_code wait_over(pawl_engine *e, cached_run *r, open_wait **at)
{
    wait_change *w = wait_new(e, r, (*at)->id);

    if (w == NULL)
        return PAWL_NOMEM;
    w->over = true;
    answer_of(e, r, w);
    asked_remove(e, r, at);
    return w->text.failed ? PAWL_NOMEM : PAWL_OK;
}

/* All waits of the state are compared with those that are known. */
static pawl_code waits_scan(pawl_engine *e, cached_run *r)
{
    wait_scan l = { .e = e, .r = r };
    pawl_code rc = PAWL_OK;

    r->scans++;
    state_each_call(r->st, see_asked, &l);
    if (l.failed)
        return PAWL_NOMEM;
    if (l.seen == r->nasked)
        return PAWL_OK;
    for (size_t i = 0; i < r->asked_cap && rc == PAWL_OK; i++)
        for (open_wait **at = &r->asked[i]; *at != NULL && rc == PAWL_OK;)
            if ((*at)->seen == r->scans)
                at = &(*at)->next;
            else
                rc = wait_over(e, r, at);
    return rc;
}

/* What a step answers is over; nothing else that it may contain ends a wait or asks one. */
static pawl_code waits_answered(pawl_engine *e, cached_run *r, const pawl_entry *entry)
{
    pawl_code rc = PAWL_OK;

    for (const item *it = entry->items; it != NULL && rc == PAWL_OK; it = it->next) {
        open_wait **at;

        if (it->kind != ITEM_ANSWER)
            continue;
        buf_reset(&e->text);
        buf_fmt(&e->text, "%s~%016llx/", r->id, (unsigned long long)r->st->life);
        id_code(&e->text, it);
        buf_char(&e->text, '\0');
        if (e->text.failed)
            return PAWL_NOMEM;
        if (r->nasked > 0 && *(at = asked_slot(r, e->text.data)) != NULL)
            rc = wait_over(e, r, at);
    }
    return rc;
}

/* Receipts, answers, and the writes of a task: no such item opens a wait, and only an answer closes one. */
static bool is_plain(item_kind kind)
{
    static const bool plain[ITEM_KINDS] = { [ITEM_CALL] = true, [ITEM_RECORDS] = true, [ITEM_RECEIPT] = true, [ITEM_ANSWER] = true,
        [ITEM_LEAVE] = true, [ITEM_PUT] = true, [ITEM_EMIT] = true };

    return kind < ITEM_KINDS && plain[kind];
}

pawl_code wait_index_step(pawl_engine *e, cached_run *r)
{
    const pawl_entry *entry = pawl_step_entry(e->step);
    bool plain = true;
    pawl_code rc;

    for (const item *it = entry->items; it != NULL && plain; it = it->next)
        plain = is_plain((item_kind)it->kind);
    r->no_timers = r->no_timers && plain;
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
    if (plain && (rc = waits_answered(e, r, entry)) != PAWL_OK)
        return rc;
    return plain && r->nasked == r->st->waits ? PAWL_OK : waits_scan(e, r);
}

/* Its store has these already. */
pawl_code wait_index_load(pawl_engine *e, cached_run *r)
{
    wait_scan l = { .e = e, .r = r };

    r->commands_moved = true;
    r->no_timers = false;
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
    l->timers += at > 0 || c->at == CALL_IN_DOUBT;
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
    l.works = l.works || (!r->commands_moved && outbox_count(&r->outbox, ~(uint32_t)(ENTRIES_ASLEEP | ENTRY_IN(ENTRY_FED) | ENTRY_IN(ENTRY_UNWANTED))) > 0);
    l.naps = outbox_count(&r->outbox, ENTRIES_ASLEEP) > 0;
    l.wake_ms = outbox_wake_ms(r);      /* a child wakes it by its end */
    if ((r->st->commands > 0 || r->st->waits > 0) && !(r->no_timers && (l.works || !r->commands_moved))) {
        l.timers = 0;
        state_each_call(r->st, see_timer, &l);
        r->no_timers = l.timers == 0;
    }
    *works = l.works;
    if (deadline > 0 && (l.wake_ms == 0 || deadline < l.wake_ms))
        l.wake_ms = deadline;
    return l.wake_ms;
}
