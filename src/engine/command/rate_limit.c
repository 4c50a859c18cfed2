/* rate_limit.c - limits how many commands of an effect run at a time: the others wait here in order of arrival, without a thread.
 *
 * A budget has a queue for each key (one, when it has none). Its turn list holds the keys that have a waiting entry and a free place, the one whose
 * first entry has waited longest at its head. Called on the driving thread, without a lock. Invariant: an entry waits only while its run is driven,
 * since otherwise it would take a place that it could not use. */
#include "engine/command/attempt.h"
#include "kernel/names.h"

#include <string.h>

enum { BUDGET_KEY_BYTES_MAX = 256, KEY_SLOTS = 64, BURSTS_A_SECOND = 100 };

#define RATE_LEAST      1e-6
#define RATE_MOST       1e6

struct budget_key {
    struct budget_key *next;            /* in its slot */
    struct budget_key *before, *after;  /* in the turn list */
    struct budget *of;
    outbox_entry *first, *last;         /* the waiting entries */
    uint32_t running;
    bool turn;                          /* the key is in the turn list */
    size_t size;
    char text[];
};

struct budget {
    struct budget *next;
    pawl_budget is;                     /* a copy: this file owns the texts */
    double tokens;
    int64_t filled_ms;                  /* when the tokens were last refilled; 0: never */
    uint32_t running;
    uint64_t arrived;
    size_t waiting;
    budget_key *slots[KEY_SLOTS];
    budget_key *turn_first, *turn_last;
    outbox_entry *held;                 /* the entries that have a place */
    char key[BUDGET_KEY_BYTES_MAX + 1];
    char effect[];
};

/* ---- keys ---------------------------------------------------------------------------------------------- */

static budget_key **slot_of(budget *b, const char *text, size_t size)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return &b->slots[(h ^ h >> 16) % KEY_SLOTS];
}

/* The key of an entry; NULL: no memory. Entries without a value at the pointer share the empty text, which is not JSON. */
static budget_key *key_of(pawl_engine *e, budget *b, const outbox_entry *entry)
{
    const pawl_value *v = b->is.key == NULL ? NULL : pawl_value_find(entry->job.args, b->is.key);
    budget_key *k = NULL, **slot;
    buf text;

    buf_init(&text, &e->alloc);
    if (v != NULL)
        canon(&text, v);
    slot = slot_of(b, text.data, text.size);
    if (!text.failed)
        for (k = *slot; k != NULL; k = k->next)
            if (k->size == text.size && (k->size == 0 || memcmp(k->text, text.data, k->size) == 0))
                break;
    if (!text.failed && k == NULL && (k = mem_new(&e->alloc, sizeof *k + text.size)) != NULL) {
        k->of = b;
        k->size = text.size;
        if (k->size > 0)
            memcpy(k->text, text.data, k->size);
        k->next = *slot;
        *slot = k;
    }
    buf_free(&text);
    return k;
}

static void turn_end(budget_key *k)
{
    budget *b = k->of;

    if (!k->turn)
        return;
    *(k->before != NULL ? &k->before->after : &b->turn_first) = k->after;
    *(k->after != NULL ? &k->after->before : &b->turn_last) = k->before;
    k->before = k->after = NULL;
    k->turn = false;
}

/* Puts the key at its place in the turn list; frees it when it has no entry. */
static void key_settle(pawl_engine *e, budget_key *k)
{
    budget *b = k->of;
    budget_key *at = b->turn_last, **link;

    turn_end(k);
    if (k->first == NULL && k->running == 0) {
        for (link = slot_of(b, k->text, k->size); *link != k; link = &(*link)->next)
            ;
        *link = k->next;
        mem_free(&e->alloc, k, sizeof *k + k->size);
        return;
    }
    if (k->first == NULL || (b->is.running_per_key > 0 && k->running >= b->is.running_per_key))
        return;
    at = b->turn_last;
    while (at != NULL && at->first->place.ticket > k->first->place.ticket)
        at = at->before;
    k->before = at;
    k->after = at != NULL ? at->after : b->turn_first;
    *(at != NULL ? &at->after : &b->turn_first) = k;
    *(k->after != NULL ? &k->after->before : &b->turn_last) = k;
    k->turn = true;
}

/* ---- made --------------------------------------------------------------------------------------------- */

static budget *budget_of(const pawl_engine *e, const char *effect)
{
    for (budget *b = e->budgets; b != NULL && effect != NULL; b = b->next)
        if (strcmp(b->effect, effect) == 0)
            return b;
    return NULL;
}

static pawl_code budget_check(const char *effect, const pawl_budget *b, pawl_err *err)
{
    size_t n = b->key == NULL ? 0 : strlen(b->key);

    if ((b->key == NULL) != (b->running_per_key == 0))
        return fail(err, PAWL_INVALID, "%s: its budget has %s: both, or neither", effect,
                    b->key == NULL ? "a running_per_key and no key" : "a key and no running_per_key");
    if (b->key != NULL && (n > BUDGET_KEY_BYTES_MAX || (n > 0 && *b->key != '/') || !utf8_valid(b->key, n)))
        return fail(err, PAWL_INVALID, "%s: the key of its budget is \"%.64s\": a JSON pointer begins with / and has at most %d bytes", effect,
                    b->key, BUDGET_KEY_BYTES_MAX);
    if (b->per_second != 0 && !(b->per_second >= RATE_LEAST && b->per_second <= RATE_MOST))
        return fail(err, PAWL_INVALID, "%s: the per_second of its budget is no number from %g to %g, nor 0", effect, RATE_LEAST, RATE_MOST);
    if (b->burst > 0 && b->per_second == 0)
        return fail(err, PAWL_INVALID, "%s: its budget has a burst and no per_second: both, or neither", effect);
    return PAWL_OK;
}

/* Updates the place of every key in the turn list after a change of the limits. */
static void keys_settle(pawl_engine *e, budget *b)
{
    for (size_t i = 0; i < KEY_SLOTS; i++)
        for (budget_key *k = b->slots[i], *next; k != NULL; k = next) {
            next = k->next;
            key_settle(e, k);
        }
}

pawl_code pawl_engine_budget(pawl_engine *e, const char *effect, const pawl_budget *is, pawl_err *err)
{
    static const pawl_budget none = { .running = 0 };
    size_t n = effect == NULL ? 0 : strlen(effect) + 1;
    budget *b;
    pawl_code rc;

    if (e == NULL)
        return PAWL_INVALID;
    if (is == NULL)
        is = &none;
    if (!name_valid(effect))
        return fail(err, PAWL_INVALID, "\"%.64s\": a budget needs the name of its effect", n > 0 ? effect : "");
    if ((rc = budget_check(effect, is, err)) != PAWL_OK)
        return rc;
    if ((b = budget_of(e, effect)) == NULL) {
        if ((b = mem_new(&e->alloc, sizeof *b + n)) == NULL)
            return fail(err, PAWL_NOMEM, "no memory for a budget");
        memcpy(b->effect, effect, n);
        b->next = e->budgets;
        e->budgets = b;
    }
    b->is = *is;
    b->is.key = is->key == NULL ? NULL : memcpy(b->key, is->key, strlen(is->key) + 1);
    b->is.burst = is->burst > 0 ? is->burst : is->per_second > BURSTS_A_SECOND ? (uint32_t)(is->per_second / BURSTS_A_SECOND) : 1;
    b->tokens = b->is.burst;
    keys_settle(e, b);
    return PAWL_OK;
}

void budgets_free(pawl_engine *e)
{
    for (budget *b = e->budgets, *next; b != NULL; b = next) {
        next = b->next;
        mem_free(&e->alloc, b, sizeof *b + strlen(b->effect) + 1);
    }
    e->budgets = NULL;
}

/* ---- waiting --------------------------------------------------------------------------------------------- */

static void queue_put(budget_key *k, outbox_entry *entry)
{
    outbox_entry *at = k->last;

    while (at != NULL && at->place.ticket > entry->place.ticket)
        at = at->place.before;
    entry->place.before = at;
    entry->place.after = at != NULL ? at->place.after : k->first;
    *(at != NULL ? &at->place.after : &k->first) = entry;
    *(entry->place.after != NULL ? &entry->place.after->place.before : &k->last) = entry;
}

static void queue_take(budget_key *k, outbox_entry *entry)
{
    *(entry->place.before != NULL ? &entry->place.before->place.after : &k->first) = entry->place.after;
    *(entry->place.after != NULL ? &entry->place.after->place.before : &k->last) = entry->place.before;
    entry->place.before = entry->place.after = NULL;
}

pawl_code budget_enter(pawl_engine *e, outbox_entry *entry)
{
    budget *b = e->budgets == NULL ? NULL : budget_of(e, entry->job.effect);

    if (b == NULL) {
        entry_move(entry, ENTRY_GRANTED);
        return PAWL_OK;
    }
    if ((b->is.key != NULL && args_copy(e, entry, NULL) != PAWL_OK) || (entry->place.key = key_of(e, b, entry)) == NULL)
        return PAWL_NOMEM;
    if (entry->place.ticket == 0)
        entry->place.ticket = ++b->arrived;
    entry->place.ask = e->asks;
    entry->not_before_ms = 0;           /* its back-off has passed */
    entry_move(entry, ENTRY_QUEUED);
    queue_put(entry->place.key, entry);
    b->waiting++;
    e->waiting++;
    key_settle(e, entry->place.key);
    return PAWL_OK;
}

void budget_leave(pawl_engine *e, outbox_entry *entry)
{
    budget_key *k = entry->place.key;
    const bool queued = entry->state == ENTRY_QUEUED, unused = entry->state == ENTRY_GRANTED;
    budget *b;

    if (k == NULL)
        return;
    b = k->of;
    PAWL_ASSERT(entry->state != ENTRY_LEAVING, "O1: an attempt that leaves keeps its place");
    entry->place.had_to_wait = had_to_wait(entry);
    if (queued) {
        queue_take(k, entry);
        b->waiting--;
        e->waiting--;
    } else {
        *(entry->place.before != NULL ? &entry->place.before->place.after : &b->held) = entry->place.after;
        if (entry->place.after != NULL)
            entry->place.after->place.before = entry->place.before;
        entry->place.before = entry->place.after = NULL;
        k->running--;
        b->running--;
        e->granted -= unused;
        if (unused && b->is.per_second > 0 && b->tokens + 1 <= b->is.burst)
            b->tokens += 1;
    }
    entry->place.key = NULL;
    if (unused && entry->count == COUNT_IN_COMMIT)
        count_clear(entry);
    if (queued || unused)
        entry_move(entry, ENTRY_READY);
    key_settle(e, k);
}

/* Whether the entry had to wait for a place: also true for one that is queued since an earlier round. */
bool had_to_wait(const outbox_entry *entry)
{
    return entry->place.had_to_wait || (entry->state == ENTRY_QUEUED && entry->place.ask != entry->e->asks);
}

void budget_started(pawl_engine *e, outbox_entry *entry)
{
    e->granted -= entry->place.key != NULL;
    entry->place.ticket = 0;
}

/* ---- places ------------------------------------------------------------------------------------------------ */

static void refill(budget *b, int64_t now)
{
    if (b->is.per_second > 0 && b->filled_ms > 0 && now > b->filled_ms) {
        b->tokens += (double)(now - b->filled_ms) * b->is.per_second / 1000;
        if (b->tokens > b->is.burst)
            b->tokens = b->is.burst;
    }
    b->filled_ms = now;
}

static bool has_token(const budget *b)
{
    return b->is.per_second == 0 || b->tokens > 1 - 1e-9;
}

static bool has_place(const budget *b)
{
    return b->is.running == 0 || b->running < b->is.running;
}

/* Takes the place of a handler that has not stopped within the grace time. */
static void deaf_leave(pawl_engine *e, budget *b)
{
    int64_t now = steady_of(e);

    for (outbox_entry *entry = b->held, *next; entry != NULL; entry = next) {
        next = entry->place.after;
        if (entry_is(entry, ENTRIES_RUNNING | ENTRY_IN(ENTRY_STRAY)) && entry->attempt.stop_ms > 0 && now - entry->attempt.stop_ms >= e->grace_ms)
            budget_leave(e, entry);
    }
}

static void grant_next(pawl_engine *e, budget *b)
{
    budget_key *k = b->turn_first;
    outbox_entry *entry = k->first;

    queue_take(k, entry);
    b->waiting--;
    e->waiting--;
    k->running++;
    b->running++;
    b->tokens -= b->is.per_second > 0 ? 1 : 0;
    entry->place.had_to_wait = had_to_wait(entry);
    entry_move(entry, ENTRY_GRANTED);
    entry->place.after = b->held;
    if (b->held != NULL)
        b->held->place.before = entry;
    b->held = entry;
    e->granted++;
    key_settle(e, k);
}

void budgets_grant(pawl_engine *e, int64_t now)
{
    if (e->waiting == 0)
        return;
    for (budget *b = e->budgets; b != NULL; b = b->next) {
        if (b->waiting == 0)
            continue;
        refill(b, now);
        if (!has_place(b) || b->turn_first == NULL)
            deaf_leave(e, b);
        while (b->turn_first != NULL && has_place(b) && has_token(b))
            grant_next(e, b);
    }
}

static int64_t token_at(const budget *b)
{
    double ms = (1 - b->tokens) * 1000 / b->is.per_second;

    return b->filled_ms + 1 + (int64_t)(ms > 1 ? ms - 1e-6 : 0);
}

/* Only tokens have a time; a place becomes free when an attempt returns. */
static int64_t budget_next(const budget *b)
{
    return b->waiting == 0 || b->turn_first == NULL || !has_place(b) || has_token(b) ? 0 : token_at(b);
}

int64_t budgets_next(const pawl_engine *e)
{
    int64_t first = 0;

    for (const budget *b = e->waiting == 0 ? NULL : e->budgets; b != NULL; b = b->next) {
        int64_t at = budget_next(b);

        if (at > 0 && (first == 0 || at < first))
            first = at;
    }
    return first;
}

int64_t budget_guess(const outbox_entry *entry, int64_t now)
{
    const budget *b = entry->place.key->of;
    double ms = b->is.per_second > 0 ? (double)b->waiting * 1000 / b->is.per_second : 1000;

    return now + (ms < 50 ? 50 : ms > 60000 ? 60000 : (int64_t)ms);
}
