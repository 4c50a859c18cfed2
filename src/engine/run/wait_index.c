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
#include "kernel/state.h"
#include "kernel/step.h"

#include <string.h>

/* In e->text: the id of what an item names. False: no memory. */
static bool id_of_item(pawl_engine *e, const cached_run *r, const item *it)
{
    buf_reset(&e->text);
    buf_fmt(&e->text, "%s~%016llx/", r->id, (unsigned long long)r->st->life);
    id_code(&e->text, it);
    buf_char(&e->text, '\0');
    return !e->text.failed;
}

static bool id_of_call(pawl_engine *e, const cached_run *r, const task *tk, const char *path, const call *c, uint32_t n)
{
    return id_of_item(e, r, &(item){ .superstep = c->superstep, .task = path, .visit = tk != NULL ? tk->visit : c->visit, .n = n });
}

/* ---- the open waits by id ---------------------------------------------------------------------------------- */

typedef struct open_wait {
    uint64_t seen;              /* the scan that found it open last */
    uint32_t hash;              /* of its id */
    bool doubt;                 /* what came of a command is asked */
    char id[];
} open_wait;

static open_wait *asked_find(const cached_run *r, const char *id)
{
    open_wait *w;
    uint32_t h;
    size_t at;

    if (r->asked.count == 0)
        return NULL;
    h = id_hash(id);
    at = id_index_first(&r->asked, h);
    while ((w = id_index_next(&r->asked, h, &at)) != NULL && strcmp(w->id, id) != 0)
        ;
    return w;
}

/* False: no memory. */
static bool asked_add(pawl_engine *e, cached_run *r, const char *id, bool doubt)
{
    const size_t n = strlen(id) + 1;
    open_wait *w = mem_new(&e->alloc, sizeof *w + n);

    if (w == NULL)
        return false;
    memcpy(w->id, id, n);
    w->hash = id_hash(id);
    w->seen = r->scans;
    w->doubt = doubt;
    if (!id_index_add(&r->asked, &e->alloc, w->hash, w)) {
        mem_free(&e->alloc, w, sizeof *w + n);
        return false;
    }
    r->ndoubts += doubt;
    return true;
}

static void wait_free(pawl_engine *e, open_wait *w)
{
    mem_free(&e->alloc, w, sizeof *w + strlen(w->id) + 1);
}

static void asked_remove(pawl_engine *e, cached_run *r, open_wait *w)
{
    id_index_remove(&r->asked, w->hash, w);
    r->ndoubts -= w->doubt;
    wait_free(e, w);
}

void wait_index_free(pawl_engine *e, cached_run *r)
{
    for (size_t i = 0; i < r->asked.size; i++)
        if (r->asked.slots[i].of != NULL)
            wait_free(e, r->asked.slots[i].of);
    id_index_free(&r->asked, &e->alloc);
    r->ndoubts = 0;
    timers_free(e, r);
    r->indexed = r->only_naps = false;
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

/* A wait was opened; its id is in e->text. */
static pawl_code wait_asked(pawl_engine *e, cached_run *r, const call *c)
{
    const bool doubt = c->at == CALL_IN_DOUBT;
    wait_change *w;

    if (!asked_add(e, r, e->text.data, doubt) || (w = wait_new(e, r, e->text.data)) == NULL)
        return PAWL_NOMEM;
    buf_put(&w->text, doubt ? c->doubt : c->spec, doubt ? strlen(c->doubt) : c->spec_size);
    w->asked_ms = c->time_ms;
    return w->text.failed ? PAWL_NOMEM : PAWL_OK;
}

/* `it` says how it ended; NULL: it was given up. */
static pawl_code wait_over(pawl_engine *e, cached_run *r, open_wait *open, const item *it)
{
    wait_change *w = wait_new(e, r, open->id);

    if (w == NULL)
        return PAWL_NOMEM;
    w->over = true;
    w->answered = it != NULL && it->kind == ITEM_ANSWER;
    if (w->answered && it->value != NULL)
        canon(&w->text, it->value);
    else if (w->answered)
        buf_text(&w->text, "null");
    asked_remove(e, r, open);
    return w->text.failed ? PAWL_NOMEM : PAWL_OK;
}

/* ---- all that is open ---------------------------------------------------------------------------------------- */

typedef struct wait_scan { pawl_engine *e; cached_run *r; pawl_code rc; } wait_scan;

static bool see_open(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    wait_scan *l = ctx;
    open_wait *known;

    (void)f;
    if (!call_asks(c) && c->kind != CALL_SLEEP)
        return true;
    if (!id_of_call(l->e, l->r, tk, path, c, n))
        return (l->rc = PAWL_NOMEM) == PAWL_OK;
    if (!l->r->indexed)
        l->rc = timer_add(l->e, l->r, tk, c, strchr(l->e->text.data, '/') + 1);
    if (l->rc == PAWL_OK && (known = asked_find(l->r, l->e->text.data)) != NULL)
        known->seen = l->r->scans;
    else if (l->rc == PAWL_OK && call_asks(c))
        l->rc = wait_asked(l->e, l->r, c);
    return l->rc == PAWL_OK;
}

/* The waits of the state are compared with those that are known, and its timers are taken where none are known. */
static pawl_code waits_scan(pawl_engine *e, cached_run *r)
{
    wait_scan l = { .e = e, .r = r, .rc = PAWL_OK };

    r->scans++;
    state_each_call(r->st, see_open, &l);
    for (size_t i = 0; i < r->asked.size && l.rc == PAWL_OK && r->asked.count > r->st->waits;) {
        open_wait *w = r->asked.slots[i].of;

        if (w == NULL || w->seen == r->scans)
            i++;
        else
            l.rc = wait_over(e, r, w, NULL);    /* another one may have its slot now */
    }
    r->indexed = l.rc == PAWL_OK;
    return l.rc;
}

/* For PAWL_ASSERT_SLOW: what a walk finds. */
typedef struct index_check { pawl_engine *e; cached_run *r; size_t known, waits; int64_t first_ms; bool failed; } index_check;

static bool see_indexed(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    index_check *l = ctx;
    int64_t at;

    (void)f;
    if (timer_at(l->e, c, &at) != PAWL_OK || !id_of_call(l->e, l->r, tk, path, c, n))
        return !(l->failed = true);
    l->waits += call_asks(c);
    l->known += asked_find(l->r, l->e->text.data) != NULL;
    if (at != 0 && (l->first_ms == 0 || at < l->first_ms))
        l->first_ms = at;
    return true;
}

/* True, too, where there is no memory to find out. */
static bool index_agrees(pawl_engine *e, cached_run *r)
{
    index_check l = { .e = e, .r = r };
    const timer *first = timer_first(e, r);

    state_each_call(r->st, see_indexed, &l);
    return l.failed || BROKEN(BROKEN_RECEIPT) ||
           (l.known == l.waits && l.waits == r->asked.count && l.first_ms == (first != NULL ? first->at_ms : 0));
}

/* ---- what one step did --------------------------------------------------------------------------------------- */

/* Opens a wait or a timer; ends a wait; makes a command; the outbox is to be compared with all open commands; changes rights. */
enum { OPENS = 1, ENDS = 2, MAKES = 4, MOVES = 8, UPDATES = 16 };
static const uint8_t item_does[ITEM_KINDS] = {
    [ITEM_CALL] = MAKES, [ITEM_SPAWN] = MAKES, [ITEM_SLEEP] = OPENS, [ITEM_ASK] = OPENS, [ITEM_DOUBT] = OPENS | MOVES,
    [ITEM_RECEIPT] = ENDS, [ITEM_ANSWER] = ENDS | MOVES | UPDATES, [ITEM_DROP] = ENDS | MOVES,
    [ITEM_SELECT] = MOVES, [ITEM_CANCEL] = MOVES, [ITEM_VISIT] = MOVES, [ITEM_UNWIND] = MOVES, [ITEM_UPDATE] = UPDATES,
};

static pawl_code item_opened(pawl_engine *e, cached_run *r, const item *it)
{
    frame *in;
    task *tk;
    const call *c = call_find(r->st, it->superstep, it->task, it->visit, it->n, &in, &tk);
    pawl_code rc;

    if (c == NULL || !call_is_open(c))
        return PAWL_OK;         /* the same step gave it up again */
    if (!id_of_item(e, r, it))
        return PAWL_NOMEM;
    rc = it->kind != ITEM_DOUBT ? timer_add(e, r, tk, c, strchr(e->text.data, '/') + 1) : PAWL_OK;
    return rc == PAWL_OK && call_asks(c) && asked_find(r, e->text.data) == NULL ? wait_asked(e, r, c) : rc;
}

static pawl_code item_ended(pawl_engine *e, cached_run *r, const item *it)
{
    open_wait *open;

    if (r->asked.count == 0)
        return PAWL_OK;
    if (!id_of_item(e, r, it))
        return PAWL_NOMEM;
    return (open = asked_find(r, e->text.data)) != NULL ? wait_over(e, r, open, it) : PAWL_OK;
}

/* The calls that a task lost in a race end when it leaves: they have no item of their own. */
static pawl_code task_left(pawl_engine *e, cached_run *r, const item *it)
{
    frame *in;
    const task *tk = task_find(r->st, it->task, &in);
    item gone = { .kind = ITEM_LEAVE, .task = it->task, .visit = it->visit };
    pawl_code rc = PAWL_OK;

    for (; tk != NULL && tk->visit == it->visit && gone.n < tk->ncalls && rc == PAWL_OK; gone.n++) {
        gone.superstep = tk->calls[gone.n].superstep;
        if (!call_is_open(&tk->calls[gone.n]))
            rc = item_ended(e, r, &gone);
    }
    return rc;
}

static pawl_code items_index(pawl_engine *e, cached_run *r, const item *items)
{
    pawl_code rc = PAWL_OK;

    for (const item *it = items; it != NULL && rc == PAWL_OK; it = it->next)
        rc = (item_does[it->kind] & OPENS) != 0  ? item_opened(e, r, it)
             : (item_does[it->kind] & ENDS) != 0 ? item_ended(e, r, it)
                                                 : PAWL_OK;
    for (const item *it = items; it != NULL && rc == PAWL_OK && r->asked.count > r->st->waits; it = it->next)
        rc = it->kind == ITEM_LEAVE ? task_left(e, r, it) : PAWL_OK;
    return rc;
}

static pawl_code items_made(pawl_engine *e, cached_run *r, const item *items)
{
    for (const item *it = items; it != NULL; it = it->next)
        if ((item_does[it->kind] & MAKES) == 0)
            continue;
        else if (!id_of_item(e, r, it))
            return PAWL_NOMEM;
        else
            outbox_note_made(r, e->text.data);
    return PAWL_OK;
}

/* Delivers to other runs what they must have before this step is stored. */
static pawl_code children_check(pawl_engine *e, cached_run *r, unsigned does)
{
    pawl_code rc = PAWL_OK;

    if (r->outbox.index.count > 0 && ((does & MAKES) != 0 || r->commands_moved))
        rc = children_update(e, r);
    if (rc == PAWL_OK && r->outbox.index.count > 0 && r->commands_moved)
        rc = children_cancel_dropped(e, r);
    return rc == PAWL_OK && (does & UPDATES) != 0 ? rights_before_commit(e, r) : rc;
}

pawl_code wait_index_step(pawl_engine *e, cached_run *r)
{
    const pawl_entry *entry = pawl_step_entry(e->step);
    unsigned does = 0;
    pawl_code rc;

    for (unsigned kind = 0; kind < ITEM_KINDS; kind++)
        does |= (entry->kinds & kind_bit(kind)) != 0 ? item_does[kind] : 0u;
    r->commands_moved = r->commands_moved || (does & MOVES) != 0;
    r->only_naps = r->only_naps && (does & MAKES) == 0;
    if (children_check(e, r, does) != PAWL_OK)
        return PAWL_IO;
    if ((does & MAKES) != 0 && items_made(e, r, entry->items) != PAWL_OK)
        return PAWL_NOMEM;
    rc = (does & (OPENS | ENDS)) != 0 || r->asked.count > r->st->waits ? items_index(e, r, entry->items) : PAWL_OK;
    if (rc == PAWL_OK && (r->asked.count != r->st->waits || !r->indexed))
        rc = waits_scan(e, r);
    PAWL_ASSERT_SLOW(rc != PAWL_OK || index_agrees(e, r), "E9, W5: the open waits and the first timer are those of the state");
    return rc;
}

/* The waits of a state that was loaded are in the store already: no change is left for the next append. */
pawl_code wait_index_load(pawl_engine *e, cached_run *r)
{
    pawl_code rc = waits_scan(e, r);

    r->commands_moved = true;
    wait_index_clear(e, r);
    return rc;
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

/* ---- the first timer ------------------------------------------------------------------------------------------- */

typedef struct work_search { pawl_engine *e; const cached_run *r; bool calls, works; } work_search;

static bool see_work(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    work_search *l = ctx;

    (void)f;
    if (c->kind == CALL_ASK || c->kind == CALL_SLEEP)
        return true;
    l->calls = true;
    l->works = outbox_count(&l->r->outbox, ENTRIES_ASLEEP) == 0 || !id_of_call(l->e, l->r, tk, path, c, n) || !outbox_is_asleep(l->r, l->e->text.data);
    return !l->works;
}

/* An engine has something to do for it before its first timer: for a command that is not asleep, or whose outcome is in doubt. */
static bool has_work(pawl_engine *e, cached_run *r)
{
    work_search l = { .e = e, .r = r };

    if (pawl_state_next(r->st) == PAWL_OK)
        return true;
    if (!commands_due(r) && outbox_count(&r->outbox, ~(uint32_t)(ENTRIES_ASLEEP | ENTRY_IN(ENTRY_FED) | ENTRY_IN(ENTRY_UNWANTED))) > 0)
        return true;
    if (r->ndoubts == 0 && (!commands_due(r) || r->st->commands == 0 || r->only_naps))
        return false;
    state_each_call(r->st, see_work, &l);
    r->only_naps = !l.calls;
    return l.works;
}

/* A command in its back-off is a timer; a child wakes the run by its end. */
int64_t wait_index_wake(pawl_engine *e, cached_run *r, bool *works)
{
    const int64_t others[] = { timer_wake_ms(e, r), deadline_ms(r) };
    int64_t wake = outbox_wake_ms(r);

    if (pawl_status_terminal((pawl_status)r->st->status)) {
        *works = false;
        return child_must_notify(r) && !BROKEN(BROKEN_CHILD_END) ? PARENT_UNNOTIFIED_MS : run_retires_ms(r);
    }
    *works = has_work(e, r);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] > 0 && (wake == 0 || others[i] < wake))
            wake = others[i];
    return wake;
}
