/* attempt_count.c - the stored number of attempts of a command: counted before an attempt starts, so that a crash never leads to one more (E13).
 *
 * Called by dispatch.c, sql_command.c and the commit (append.c, commit.c), on the driving thread; the store is used under the engine's lock. A count is a
 * mark beside the journal. Its states are those of count_table (entry.c). */
#include "engine/command/attempt.h"
#include "kernel/events.h"
#include "kernel/state.h"

#include <string.h>

/* ---- read ------------------------------------------------------------------------------------------------------ */

/* Whether the entry's own count is right and its mark must not replace it: the attempt was counted here and did not start (the mark has one more), or
 * the marks were read under this lease already, after which only this engine writes them. */
static bool knows_more(const cached_run *r, const outbox_entry *entry)
{
    return entry->count == COUNT_STORED || entry->count == COUNT_TAKE_BACK || (r->marked_fence == r->fence && entry->count != COUNT_UNCERTAIN);
}

/* Takes over a stored count; an entry with attempts of this engine has the newer number itself. */
static bool see_mark(void *ctx, const pawl_mark *m)
{
    const cached_run *r = ctx;
    outbox_entry *entry = outbox_find(r, m->id);

    if (entry == NULL || knows_more(r, entry))
        return true;
    if (entry->count == COUNT_UNCERTAIN && m->attempts == entry->job.attempt + 1 && r->marked_fence == r->fence) {
        count_move(entry, COUNT_STORED);        /* this engine counted the attempt, and has not started it */
        return true;
    }
    if (!entry_is(entry, ENTRIES_CALL_WAITS) || entry->resolution == RESOLUTION_ASKING || entry->job.attempt >= m->attempts)
        return true;
    budget_leave(entry->e, entry);
    entry->job.attempt = m->attempts - (BROKEN(BROKEN_MARK_LESS) && m->attempts > 0);
    entry->further = 0;
    entry->first_ms = m->first_ms;
    entry->not_before_ms = m->again_ms;
    entry->in_doubt = m->again_ms == 0;
    entry_wait(entry);
    return true;
}

pawl_code counts_read(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc;

    if ((r->marked_fence == r->fence && r->outbox.uncertain == 0) || r->outbox.index.count == 0)
        return PAWL_OK;
    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->marks(e->store, r->id, see_mark, r, err);
    pthread_mutex_unlock(&e->lock);
    if (rc != PAWL_OK)
        return rc;
    r->marked_fence = r->fence;
    for (unsigned s = 0; s < ENTRY_STATES && r->outbox.uncertain > 0; s++)
        OUTBOX_EACH(r, entry, next, s)
            if (entry->count == COUNT_UNCERTAIN)
                count_move(entry, COUNT_NONE);
    return PAWL_OK;
}

/* ---- stored ---------------------------------------------------------------------------------------------------- */

/* A command in SQL needs no count: its receipt proves that it happened, and a count of class once would put its outcome in doubt. What is charged to
 * a budget is counted, so that a crash does not give an attempt back (A9). */
bool attempt_is_counted(const outbox_entry *entry)
{
    const pawl_limits *l = &entry->limits;

    if ((entry->h != NULL && entry->h->sql && l->cls == PAWL_CLASS_ONCE) || entry->resolution == RESOLUTION_ASKING)
        return false;
    return entry->charged || had_to_wait(entry) || l->cls == PAWL_CLASS_ONCE || l->cls == PAWL_CLASS_COMPENSABLE || l->retry.max_attempts > 1;
}

static bool is_uncounted(const outbox_entry *entry)
{
    return entry->count != COUNT_STORED && entry->count != COUNT_TAKE_BACK && entry->count != COUNT_UNCERTAIN && attempt_is_counted(entry);
}

static pawl_code marks_put(pawl_engine *e, const cached_run *r, pawl_mark *all, size_t n, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&e->lock);
    rc = e->store->verbs->mark(e->store, all, n, err);
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++)
        if (all[i].rc != PAWL_OK)
            rc = all[i].rc == PAWL_FENCED ? fail(err, PAWL_FENCED, "%s: another process works on it now", r->id)
                                          : fail(err, all[i].rc, "%s: an attempt cannot be counted: %s", all[i].id, pawl_code_name(all[i].rc));
    return rc;
}

typedef enum mark_kind { MARK_COUNT, MARK_BACKOFF, MARK_TAKE_BACK } mark_kind;

static bool is_meant(const outbox_entry *entry, mark_kind kind)
{
    switch (kind) {
    case MARK_COUNT:     return is_uncounted(entry);
    case MARK_BACKOFF:   return entry->count == COUNT_BACKOFF;
    case MARK_TAKE_BACK: return entry->count == COUNT_TAKE_BACK;
    }
    return false;
}

/* The time in the mark: 0 while an attempt may be under way or in doubt, else when the next attempt may start (1: at once). */
static int64_t again_of(const outbox_entry *entry, mark_kind kind)
{
    if (kind == MARK_COUNT || (kind == MARK_TAKE_BACK && entry->in_doubt))
        return 0;
    return entry->not_before_ms > 0 ? entry->not_before_ms : 1;
}

/* A failed mark may be stored all the same. So counts are read again; a count that is not taken back is one too many, which does no harm; a back-off
 * is stored again. */
static entry_count count_after(mark_kind kind, pawl_code rc)
{
    return kind != MARK_COUNT ? COUNT_NONE : rc == PAWL_OK ? COUNT_STORED : COUNT_UNCERTAIN;
}

/* Stores the marks of one kind for all entries in these states, in one transaction. */
static pawl_code marks_store(pawl_engine *e, cached_run *r, mark_kind kind, uint32_t states, pawl_err *err)
{
    pawl_mark few[4], *all = few;
    size_t n = 0, k = 0;
    arena mem;
    pawl_code rc;

    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((states >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                n += is_meant(entry, kind);
    if (n == 0 || r->fence == 0)
        return PAWL_OK;
    if (kind == MARK_COUNT && n > 1 && BROKEN(BROKEN_MARK_FIRST))
        n = 1;
    if (kind == MARK_COUNT && n > 4 && BROKEN(BROKEN_MARK_FOUR))
        n = 4;
    arena_init(&mem, &e->alloc, 512);
    if (n > sizeof few / sizeof *few && (all = arena_get(&mem, n * sizeof *all)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for %zu marks", r->id, n);     /* nothing is in `mem` then */
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((states >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                if (is_meant(entry, kind) && k < n)
                    all[k++] = (pawl_mark){ .run = r->id, .fence = r->fence, .id = entry->job.id, .first_ms = entry->first_ms,
                                            .again_ms = again_of(entry, kind), .unbegun = kind == MARK_TAKE_BACK };
    rc = marks_put(e, r, all, n, err);
    for (unsigned s = 0; s < ENTRY_STATES && (rc == PAWL_OK || kind != MARK_BACKOFF); s++)
        if ((states >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                if (is_meant(entry, kind))
                    count_move(entry, count_after(kind, rc));
    arena_free(&mem);
    return rc;
}

/* A mark outlives the process, so the command that it counts has to be stored before it, even one that is pure and might wait (G9):
 * else it would be made anew, and its attempts counted from the first again. */
bool counts_wait_for_lines(const pawl_engine *e, const cached_run *r)
{
    bool any = false;

    if (e->durability == PAWL_DURABLE_SYNC || (r->nlines == 0 && r->ntaken == 0))
        return false;
    for (const outbox_entry *entry = outbox_first(&r->outbox, ENTRY_GRANTED); entry != NULL && !any; entry = entry->next)
        any = is_uncounted(entry);
    for (const outbox_entry *entry = outbox_first(&r->outbox, ENTRY_SQL_READY); entry != NULL && !any; entry = entry->next)
        any = is_uncounted(entry);
    return any;
}

pawl_code backoffs_store(pawl_engine *e, cached_run *r, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (r->outbox.take_backs > 0)
        rc = marks_store(e, r, MARK_TAKE_BACK, ENTRIES_CALL_WAITS, err);
    return rc == PAWL_OK && r->outbox.backoffs > 0 ? marks_store(e, r, MARK_BACKOFF, ENTRIES_CALL_WAITS, err) : rc;
}

pawl_code counts_store(pawl_engine *e, cached_run *r, int64_t now, pawl_err *err)
{
    OUTBOX_EACH(r, entry, next, ENTRY_LEAVING)
        if (entry->first_ms == 0)
            entry->first_ms = now;
    if (r->lease_lost && !(r->outbox.in_state[ENTRY_LEAVING].count == 1 && BROKEN(BROKEN_LEASE_LONE)))
        return fail(err, PAWL_FENCED, "%s: its lease ran out", r->id);
    return marks_store(e, r, MARK_COUNT, ENTRY_IN(ENTRY_LEAVING), err);
}

/* ---- in the commit at hand -------------------------------------------------------------------------------------------- */

/* It got its place meanwhile, and leaves as soon as what made room for it is stored: its count is of the same commit. */
static bool leaves_after_commit(const cached_run *r, const outbox_entry *entry, int64_t now)
{
    return entry->place.key != NULL && is_uncounted(entry) && !entry_is_in_doubt(entry) && !entry_has_expired(entry, now) &&
           call_open(r->st, entry->job.id);
}

/* Whether open commands are performed after this commit. */
static bool dispatches_on(const pawl_engine *e, const cached_run *r)
{
    pawl_code next = pawl_state_next(r->st);

    return !e->draining && !e->stopping && !r->lease_lost && !state_canceling(r->st) && (next == PAWL_OK || next == PAWL_PENDING);
}

pawl_code counts_in_commit(pawl_engine *e, cached_run *r, pawl_append *a, arena *mem)
{
    int64_t now = e->granted > 0 && dispatches_on(e, r) ? engine_now(e) : -1;
    pawl_mark *all;
    size_t n = 0;

    if (e->granted == 0)
        return PAWL_OK;
    OUTBOX_EACH(r, before, next, ENTRY_GRANTED) {
        if (before->count == COUNT_IN_COMMIT)
            count_clear(before);        /* this commit is filled again */
        n += now >= 0 && leaves_after_commit(r, before, now);
    }
    if (n == 0)
        return PAWL_OK;
    if ((all = arena_zero(mem, n * sizeof *all)) == NULL)
        return PAWL_NOMEM;
    a->marks = all;
    OUTBOX_EACH(r, entry, following, ENTRY_GRANTED)
        if (leaves_after_commit(r, entry, now)) {
            entry->first_ms = entry->first_ms > 0 ? entry->first_ms : now;
            all[a->nmarks++] = (pawl_mark){ .id = entry->job.id, .first_ms = entry->first_ms };
            count_move(entry, COUNT_IN_COMMIT);
        }
    return PAWL_OK;
}

void counts_committed(cached_run *r, const pawl_append *a)
{
    if (a->nmarks == 0)
        return;
    OUTBOX_EACH(r, entry, next, ENTRY_GRANTED)
        if (entry->count == COUNT_IN_COMMIT)
            count_move(entry, COUNT_STORED);
}

void counts_take_back(cached_run *r)
{
    for (unsigned s = 0; s < ENTRY_STATES; s++)
        if ((ENTRIES_CALL_WAITS >> s & 1) != 0)
            OUTBOX_EACH(r, entry, next, s)
                if (entry->count == COUNT_STORED)
                    count_move(entry, COUNT_TAKE_BACK);
}

void counts_close(pawl_engine *e, cached_run *r)
{
    if (r->outbox.uncertain > 0)
        (void)counts_read(e, r, NULL);
    counts_take_back(r);
    (void)backoffs_store(e, r, NULL);
}
