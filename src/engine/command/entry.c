/* entry.c - the states of an outbox entry as tables, their movers, and the two indexes of entries: by state, and by the command's id.
 *
 * Called on the driving thread, except later_move(), which needs the lock of completions.c. Invariants, checked after each move:
 *   O1  an entry has a place in a budget, or waits for one, in no other state than queued, granted, leaving and while it runs;
 *   O2  an attempt leaves for a handler, with a number of 1 or more, and not before its count is in the store where that is to know it (E13);
 *   O3  an entry with a receipt has no attempt, and is not being resolved (E5);
 *   O4  an entry is in exactly one list, that of its state, and in the index, unless it is stray: then it is in none;
 *   O5  the lists are in the order in which the commands were made, that of the back-offs in the order of their ends. */
#include "engine/command/entry.h"
#include "kernel/names.h"

#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------------------- */

#define TO(state) SM_TO(ENTRY_##state)

static const sm_row entry_rows[ENTRY_STATES] = {
    [ENTRY_READY] = { "ready", TO(READY) | TO(UNHANDLED) | TO(BACKOFF) | TO(QUEUED) | TO(GRANTED) | TO(SQL_READY) | TO(DONE), SM_FIRST },
    [ENTRY_UNHANDLED] = { "no handler", TO(READY) | TO(UNHANDLED) | TO(BACKOFF) | TO(DONE), SM_FIRST },
    [ENTRY_BACKOFF] = { "back-off", TO(READY) | TO(UNHANDLED) | TO(BACKOFF) | TO(DONE), 0 },
    [ENTRY_QUEUED] = { "queued", TO(READY) | TO(GRANTED), 0 },
    [ENTRY_GRANTED] = { "granted", TO(READY) | TO(BACKOFF) | TO(LEAVING) | TO(DONE), 0 },
    [ENTRY_SQL_READY] = { "waits for a commit", TO(READY) | TO(BACKOFF) | TO(LEAVING) | TO(DONE), 0 },
    [ENTRY_LEAVING] = { "leaving", TO(RUNNING) | TO(GRANTED) | TO(SQL_READY), 0 },
    [ENTRY_RUNNING] = { "running", TO(READY) | TO(UNHANDLED) | TO(BACKOFF) | TO(SQL_READY) | TO(UNWANTED) | TO(DONE) | TO(STRAY), 0 },
    [ENTRY_UNWANTED] = { "running, not wanted", TO(RUNNING) | TO(STRAY), SM_LAST },
    [ENTRY_DONE] = { "done", TO(FED) | TO(SQL_READY), SM_LAST },
    [ENTRY_FED] = { "fed", TO(DONE) | TO(SQL_READY), SM_LAST },
    [ENTRY_CHILD_NEW] = { "child, not started", TO(CHILD_STARTED) | TO(CHILD_RELEASED) | TO(DONE), SM_FIRST },
    [ENTRY_CHILD_STARTED] = { "child, started", TO(CHILD_RELEASED) | TO(DONE), SM_LAST },
    [ENTRY_CHILD_RELEASED] = { "child, released", TO(DONE), SM_LAST },
    [ENTRY_STRAY] = { "stray", 0, SM_LAST },
};
#undef TO

/* The states in which a handler has the attempt. */
enum { ATTEMPT_OUT = ENTRY_IN(ENTRY_RUNNING) | ENTRY_IN(ENTRY_UNWANTED) | ENTRY_IN(ENTRY_STRAY) };
enum { MAY_HAVE_PLACE = ENTRY_IN(ENTRY_QUEUED) | ENTRY_IN(ENTRY_GRANTED) | ENTRY_IN(ENTRY_LEAVING) | ATTEMPT_OUT };

static const char *entry_wrong(const void *owner, unsigned state)
{
    const outbox_entry *entry = owner;
    const uint32_t in = ENTRY_IN(state);

    if (entry->place.key != NULL && (in & MAY_HAVE_PLACE) == 0)
        return "O1: it has a place in a budget, or waits for one";
    if (state == ENTRY_QUEUED && entry->place.key == NULL)
        return "O1: it is in no queue";
    if ((in & ATTEMPT_OUT) != 0 && (entry->h == NULL || entry->job.attempt == 0))
        return "O2: its attempt has no handler, or no number";
    if (state == ENTRY_RUNNING && entry->count != COUNT_USED && entry->count != COUNT_NONE)
        return "O2: its attempt began, and its count says that it did not";
    if ((in & ENTRIES_WITH_RECEIPT) != 0 && entry->resolution == RESOLUTION_ASKING)
        return "O3: it has a receipt, and still asks what came of it";
    if ((in & ENTRIES_CHILD) != 0 && entry->child == NULL)
        return "O2: it is no spawn";
    if ((in & ENTRIES_CALL_WAITS) != 0 && entry->child != NULL)
        return "O2: it is a spawn, and no handler performs it";
    return NULL;
}

const sm_table entry_table = { "outbox entry", entry_rows, ENTRY_STATES, entry_wrong };

#define TO(state) SM_TO(COUNT_##state)
static const sm_row count_rows[COUNT_STATES] = {
    [COUNT_NONE] = { "not counted", TO(BACKOFF) | TO(IN_COMMIT) | TO(STORED) | TO(UNCERTAIN), SM_FIRST | SM_LAST },
    [COUNT_BACKOFF] = { "back-off to be stored", TO(NONE) | TO(IN_COMMIT) | TO(STORED) | TO(UNCERTAIN), 0 },
    [COUNT_IN_COMMIT] = { "in the commit", TO(NONE) | TO(STORED), 0 },
    [COUNT_STORED] = { "counted", TO(NONE) | TO(USED) | TO(TAKE_BACK), 0 },
    [COUNT_USED] = { "used", TO(NONE) | TO(BACKOFF) | TO(STORED) | TO(TAKE_BACK), SM_LAST },
    [COUNT_TAKE_BACK] = { "to be taken back", TO(NONE) | TO(USED), 0 },
    [COUNT_UNCERTAIN] = { "perhaps counted", TO(NONE) | TO(STORED), 0 },
};
#undef TO

static const char *count_wrong(const void *owner, unsigned count)
{
    const outbox_entry *entry = owner;

    if (count == COUNT_IN_COMMIT && entry->state != ENTRY_GRANTED)
        return "E13: a commit counts an attempt that cannot begin after it";
    if (count == COUNT_UNCERTAIN && entry->state != ENTRY_LEAVING)
        return "E13: it is not known whether an attempt is counted, and none was about to begin";
    if (count == COUNT_USED && entry->state != ENTRY_LEAVING)
        return "E13: a count was used, and no attempt begins";
    return NULL;
}

const sm_table count_table = { "count of an attempt", count_rows, COUNT_STATES, count_wrong };

static const sm_row args_rows[ARGS_STATES] = {
    [ARGS_OWN] = { "own", 0, SM_FIRST | SM_LAST },
    [ARGS_IN_STATE] = { "in the state", SM_TO(ARGS_OWN) | SM_TO(ARGS_LENT), SM_FIRST | SM_LAST },
    [ARGS_LENT] = { "lent", SM_TO(ARGS_IN_STATE) | SM_TO(ARGS_OWN), 0 },
};

static const char *args_wrong(const void *owner, unsigned args)
{
    const outbox_entry *entry = owner;

    return args == ARGS_IN_STATE && entry->resolution != RESOLUTION_ASKING && entry->job.args != NULL ? "they stand in the state and in the job" : NULL;
}

const sm_table args_table = { "arguments of a command", args_rows, ARGS_STATES, args_wrong };

static const sm_row resolution_rows[RESOLUTION_STATES] = {
    [RESOLUTION_OPEN] = { "open", SM_TO(RESOLUTION_ASKING) | SM_TO(RESOLUTION_CLOSED), SM_FIRST | SM_LAST },
    [RESOLUTION_ASKING] = { "asking", SM_TO(RESOLUTION_OPEN) | SM_TO(RESOLUTION_CLOSED), 0 },
    [RESOLUTION_CLOSED] = { "closed", 0, SM_FIRST | SM_LAST },
};

static const char *resolution_wrong(const void *owner, unsigned resolution)
{
    const outbox_entry *entry = owner;

    return (resolution == RESOLUTION_ASKING) != (entry->resolving != NULL) ? "E5: what it was before and its state disagree" : NULL;
}

const sm_table resolution_table = { "resolution of an unknown outcome", resolution_rows, RESOLUTION_STATES, resolution_wrong };

static const sm_row later_rows[LATER_STATES] = {
    [LATER_NOT] = { "on return", SM_TO(LATER_ANNOUNCED), SM_FIRST | SM_LAST },
    [LATER_ANNOUNCED] = { "announced", SM_TO(LATER_NOT) | SM_TO(LATER_PENDING) | SM_TO(LATER_ANSWERED), 0 },
    [LATER_PENDING] = { "pending", SM_TO(LATER_NOT), 0 },
    [LATER_ANSWERED] = { "answered", SM_TO(LATER_NOT), 0 },
};

static const char *later_wrong(const void *owner, unsigned state)
{
    const outbox_entry *entry = owner;

    return (state == LATER_NOT || state == LATER_ANSWERED) && entry->later.listed ? "C3: nobody may answer it, and it is listed by its id" : NULL;
}

const sm_table later_table = { "later answer", later_rows, LATER_STATES, later_wrong };

/* Adds `by` (1 or -1) to the counter of the entry's count state. */
static void counts_add(const outbox_entry *entry, size_t n)
{
    outbox *o = &entry->run->outbox;

    o->backoffs += entry->count == COUNT_BACKOFF ? n : 0;
    o->take_backs += entry->count == COUNT_TAKE_BACK ? n : 0;
    o->uncertain += entry->count == COUNT_UNCERTAIN ? n : 0;
}

void count_move(outbox_entry *entry, entry_count to)
{
    if (entry->run != NULL)
        counts_add(entry, (size_t)-1);
    sm_move(&count_table, &entry->count, to, entry);
    if (entry->run != NULL)
        counts_add(entry, 1);
}

void count_clear(outbox_entry *entry)
{
    if (entry->count != COUNT_NONE)
        count_move(entry, COUNT_NONE);
}

void args_move(outbox_entry *entry, entry_args to) { sm_move(&args_table, &entry->args, to, entry); }
void resolution_move(outbox_entry *entry, entry_resolution to) { sm_move(&resolution_table, &entry->resolution, to, entry); }
void later_move(outbox_entry *entry, later_state to) { sm_move(&later_table, &entry->later.state, to, entry); }

/* ---- the lists by state --------------------------------------------------------------------------------------- */

static bool before_in(const outbox_entry *a, const outbox_entry *b, unsigned state)
{
    if (state == ENTRY_BACKOFF && a->not_before_ms != b->not_before_ms)
        return a->not_before_ms < b->not_before_ms;
    return a->order < b->order;
}

/* Whether a time limit of the entry must be watched in that state. */
static bool is_limited(const outbox_entry *entry, unsigned state)
{
    if (state == ENTRY_QUEUED)
        return entry->first_ms > 0 && entry->limits.total_timeout_ms > 0;
    return state == ENTRY_RUNNING && has_limit(&entry->limits);
}

/* Inserts the entry at its place (O5), which is mostly the end. */
static void list_add(entry_list *l, outbox_entry *entry)
{
    outbox_entry *at = l->last;

    while (at != NULL && before_in(entry, at, entry->state))
        at = at->prev;
    entry->prev = at;
    entry->next = at != NULL ? at->next : l->first;
    *(at != NULL ? &at->next : &l->first) = entry;
    *(entry->next != NULL ? &entry->next->prev : &l->last) = entry;
    l->count++;
    entry->limited = is_limited(entry, entry->state);
    l->limited += entry->limited;
}

static void list_remove(entry_list *l, outbox_entry *entry)
{
    *(entry->prev != NULL ? &entry->prev->next : &l->first) = entry->next;
    *(entry->next != NULL ? &entry->next->prev : &l->last) = entry->prev;
    entry->next = entry->prev = NULL;
    l->count--;
    l->limited -= entry->limited;
    entry->limited = false;
}

static entry_list *list_of(outbox_entry *entry)
{
    return entry->run != NULL ? &entry->run->outbox.in_state[entry->state] : NULL;
}

void entry_move(outbox_entry *entry, entry_state to)
{
    if (entry->run != NULL)
        list_remove(list_of(entry), entry);
    sm_move(&entry_table, &entry->state, to, entry);
    if (entry->run != NULL && to != ENTRY_STRAY)
        list_add(list_of(entry), entry);
}

void entry_wait(outbox_entry *entry)
{
    const entry_state to = entry->h == NULL ? ENTRY_UNHANDLED : entry->not_before_ms > 0 ? ENTRY_BACKOFF : ENTRY_READY;

    entry_move(entry, to);
}

size_t outbox_count(const outbox *o, uint32_t states)
{
    size_t n = 0;

    for (unsigned i = 0; i < ENTRY_STATES; i++)
        if ((states >> i & 1) != 0)
            n += o->in_state[i].count;
    return n;
}

/* ---- the index by command id ------------------------------------------------------------------------------------ */

pawl_code outbox_add(cached_run *r, outbox_entry *entry)
{
    outbox *o = &r->outbox;

    PAWL_ASSERT_SLOW(outbox_find(r, entry->job.id) == NULL, "O4: a command has one entry");
    entry->hash = id_hash(entry->job.id);
    if (!id_index_add(&o->index, &r->e->alloc, entry->hash, entry))
        return PAWL_NOMEM;
    entry->run = r;
    entry->seen = o->reconciled;
    if (entry->order == 0)
        entry->order = ++o->orders;
    list_add(list_of(entry), entry);
    counts_add(entry, 1);
    return PAWL_OK;
}

void outbox_take_out(outbox_entry *entry)
{
    outbox *o = &entry->run->outbox;

    id_index_remove(&o->index, entry->hash, entry);
    counts_add(entry, (size_t)-1);
    list_remove(list_of(entry), entry);
    entry->run = NULL;
}

outbox_entry *outbox_find(const cached_run *r, const char *id)
{
    outbox_entry *entry;
    uint32_t h;
    size_t at;

    if (r->outbox.index.count == 0)
        return NULL;
    h = id_hash(id);
    at = id_index_first(&r->outbox.index, h);
    while ((entry = id_index_next(&r->outbox.index, h, &at)) != NULL && strcmp(entry->job.id, id) != 0)
        ;
    return entry;
}

/* ---- for other folders ---------------------------------------------------------------------------------------- */

outbox_entry *entry_next(const outbox_entry *entry) { return entry->next; }
const char *entry_id(const outbox_entry *entry) { return entry->job.id; }
const char *entry_effect(const outbox_entry *entry) { return entry->job.effect; }
const pawl_value *entry_args_of(const outbox_entry *entry) { return entry->job.args; }
const pawl_limits *entry_limits(const outbox_entry *entry) { return &entry->limits; }
const char *entry_child(const outbox_entry *entry) { return entry->child; }
pawl_caps entry_share(const outbox_entry *entry) { return entry->share; }
entry_state entry_state_of(const outbox_entry *entry) { return (entry_state)entry->state; }
bool entry_is_resolving(const outbox_entry *entry) { return entry->resolution == RESOLUTION_ASKING; }
int64_t entry_dispatched_ms(const outbox_entry *entry) { return entry->attempt.dispatched_ms; }
uint32_t entry_attempt_number(const outbox_entry *entry) { return entry->job.attempt; }
unsigned long entry_beats(const outbox_entry *entry) { return entry->attempt.beats; }
bool entry_is_stopping(const outbox_entry *entry) { return entry->attempt.stop; }
cached_run *entry_run(const outbox_entry *entry) { return entry->run; }

bool entry_waits_for_thread(const outbox_entry *entry)
{
    return entry_is(entry, ENTRIES_RUNNING) && entry->attempt.called_ms == 0 && !entry->attempt.stop;
}

void entry_failure_json(const outbox_entry *entry, buf *out)
{
    buf_fmt(out, "{\"at\":%lld,\"attempt\":%u,\"error\":", (long long)entry->not_before_ms, (unsigned)entry->job.attempt);
    reply_failure(&entry->reply, entry->rc, 0, out);
    buf_char(out, '}');
}

void entry_child_started(outbox_entry *entry)
{
    if (entry->state == ENTRY_CHILD_NEW)
        entry_move(entry, ENTRY_CHILD_STARTED);
}

void entry_child_released(outbox_entry *entry)
{
    if (entry->state != ENTRY_CHILD_RELEASED)
        entry_move(entry, ENTRY_CHILD_RELEASED);
}

int64_t outbox_wake_ms(const cached_run *r)
{
    const outbox_entry *first = outbox_first(&r->outbox, ENTRY_BACKOFF);

    return first != NULL ? first->not_before_ms : 0;
}

bool outbox_is_asleep(const cached_run *r, const char *id)
{
    const outbox_entry *entry = outbox_find(r, id);

    return entry != NULL && entry_is(entry, ENTRIES_ASLEEP);
}

bool outbox_any_running(const cached_run *r) { return outbox_count(&r->outbox, ENTRIES_RUNNING) > 0; }

bool outbox_is_idle(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRIES_RUNNING | ENTRIES_WITH_RECEIPT) == 0;
}

bool outbox_open_idle(const cached_run *r)
{
    return outbox_count(&r->outbox, ENTRY_IN(ENTRY_RUNNING) | ENTRIES_WITH_RECEIPT) == 0;
}

bool outbox_only_queued(const cached_run *r)
{
    enum { OTHERS = ENTRIES_RUNNING | (ENTRIES_WORK & ~ENTRY_IN(ENTRY_QUEUED)) };

    return outbox_first(&r->outbox, ENTRY_QUEUED) != NULL && outbox_count(&r->outbox, OTHERS) == 0 && pawl_state_next(r->st) == PAWL_PENDING;
}

bool outbox_tree_idle(const pawl_engine *e, const cached_run *r)
{
    static const entry_state started[] = { ENTRY_CHILD_STARTED, ENTRY_CHILD_RELEASED };

    if (!outbox_open_idle(r))
        return false;
    for (size_t i = 0; i < sizeof started / sizeof *started; i++)
        for (const outbox_entry *entry = outbox_first(&r->outbox, started[i]); entry != NULL; entry = entry->next) {
            const cached_run *child = cached_run_find(e, entry->child);

            if (child != NULL && child->fence != 0 && child->st != NULL && !outbox_tree_idle(e, child))
                return false;
        }
    return true;
}
