/* charge.c - checks the budget of a run before an attempt leaves (A9).
 *
 * The ledger of the kernel reserves once for a command. A crash, and a handler that needs a further request, lead to more attempts than that, and
 * time passes while a command waits. So each attempt is counted in the store before it leaves (attempt_count.c), and is compared here with what
 * the ledger has left. Called on the driving thread, without a lock. Invariant: used and reserved amounts, with those of the attempts
 * beyond the reservations, are within the caps before each attempt. */
#include "engine/command/attempt.h"
#include "engine/command/handler.h"
#include "kernel/budget.h"
#include "kernel/compensation.h"
#include "kernel/state.h"

#include <string.h>

static const ledger *ledger_of(const outbox_entry *entry)
{
    return entry->run != NULL && entry->run->st != NULL ? entry->run->st->budget : NULL;
}

uint32_t attempts_unseen(const outbox_entry *entry)
{
    const uint32_t made = entry->job.attempt - entry->cleared;

    return made > entry->cost.reported ? made - entry->cost.reported : 0;
}

/* What earlier attempts cost beyond the reservation of the command. That is for the attempt that runs, or is next; else for what came back. */
static int64_t cost_beyond(const outbox_entry *entry, bool at_hand, int64_t cost, int64_t due)
{
    return !entry->cost.known ? 0 : at_hand ? cost : cost > due ? cost - due : 0;
}

/* What the attempts of this entry may cost beyond the reservation of its command; `next`: with one more attempt. */
static amounts beyond(const outbox_entry *entry, bool next)
{
    const bool at_hand = next || entry_is(entry, ENTRY_IN(ENTRY_LEAVING) | ENTRIES_RUNNING);
    pawl_limits limits;
    uint32_t attempt;
    int64_t made, unseen, micros, tokens;
    amounts due;

    (void)resolve_origin(entry, &limits, &attempt);
    due = cost_due(&limits);
    made = (int64_t)attempt - entry->cleared;
    unseen = made > entry->cost.reported ? made - entry->cost.reported : 0;
    made += next;
    micros = cost_plus(cost_times(unseen, due.n[COST_MICROS]), cost_beyond(entry, at_hand, entry->cost.micros, due.n[COST_MICROS]));
    tokens = cost_plus(cost_times(unseen, due.n[COST_TOKENS]), cost_beyond(entry, at_hand, entry->cost.tokens, due.n[COST_TOKENS]));
    return (amounts){ .n = { [COST_CALLS] = due.n[COST_CALLS] > 0 && made > due.n[COST_CALLS] ? made - due.n[COST_CALLS] : 0,
                             [COST_MICROS] = micros, [COST_TOKENS] = tokens } };
}

/* The same of all entries of the run whose receipt is not folded; `next` makes one more attempt. */
static amounts all_beyond(const cached_run *r, const outbox_entry *next)
{
    amounts sum = r->outbox.unbilled, one;

    for (unsigned s = 0; s < ENTRY_STATES; s++) {
        if (s == ENTRY_FED || (ENTRIES_CHILD >> s & 1) != 0)
            continue;
        for (const outbox_entry *entry = r->outbox.in_state[s].first; entry != NULL; entry = entry->next) {
            one = beyond(entry, entry == next);
            for (int i = 0; i < COSTS; i++)
                sum.n[i] = cost_plus(sum.n[i], one.n[i]);
        }
    }
    return sum;
}

static bool is_charged(const outbox_entry *entry)
{
    const amounts due = cost_due(&entry->limits);

    return entry->child == NULL && (entry->h == NULL || !entry->h->sql) && (due.n[COST_CALLS] > 0 || due.n[COST_MICROS] > 0 || due.n[COST_TOKENS] > 0);
}

void charge_unbilled(const outbox_entry *entry)
{
    const amounts one = beyond(entry, false);
    amounts *sum = ledger_of(entry) != NULL ? &entry->run->outbox.unbilled : NULL;

    for (int i = 0; i < COSTS && sum != NULL && is_charged(entry); i++) {
        sum->n[i] = cost_plus(sum->n[i], one.n[i]);
        entry->run->outbox.beyond = entry->run->outbox.beyond || one.n[i] > 0;
    }
}

static bool refuse(outbox_entry *entry, const char *wrong)
{
    const bool lost = entry->in_doubt && entry->limits.cls == PAWL_CLASS_COMPENSABLE;    /* it may have happened, so its inverse may be due */

    entry->rc = pawl_reply_fail(&entry->reply, lost ? PAWL_UNKNOWN : PAWL_LIMIT, "%s", wrong);
    return true;
}

/* Compares amounts only after an attempt was begun that no receipt accounts for: else the kernel has compared them. */
static bool amounts_spent(outbox_entry *entry, const ledger *l)
{
    const amounts due = cost_due(&entry->limits), own = beyond(entry, true);
    amounts sum;
    pawl_err text = { PAWL_OK, "" };

    entry->run->outbox.beyond = entry->run->outbox.beyond || own.n[COST_CALLS] > 0 || own.n[COST_MICROS] > 0 || own.n[COST_TOKENS] > 0;
    if (!entry->run->outbox.beyond)
        return false;
    sum = all_beyond(entry->run, entry);
    for (int i = 0; i < COSTS; i++) {
        if (l->cap.n[i] == 0 || due.n[i] == 0 || sum.n[i] == 0 || cost_plus(cost_plus(l->used.n[i], l->reserved.n[i]), sum.n[i]) <= l->cap.n[i])
            continue;
        fail(&text, PAWL_LIMIT, "budget: %lld %s: %lld used, %lld reserved, %lld more for %s and the next one: raise it with an update of " BUDGET_CHANNEL,
             (long long)l->cap.n[i], cost_names[i], (long long)l->used.n[i], (long long)l->reserved.n[i], (long long)sum.n[i],
             entry->further > 0 ? "requests that were made for this call" : "attempts that a crash cut off");
        return refuse(entry, text.text);
    }
    return false;
}

bool charge_time_is_spent(const cached_run *r, int64_t now, pawl_err *why)
{
    const ledger *l = r->st != NULL ? r->st->budget : NULL;
    const int64_t gone = l != NULL && l->since_ms > 0 && now > l->since_ms ? now - l->since_ms : 0;

    if (l == NULL || l->cap_ms == 0 || gone < l->cap_ms)
        return false;
    fail(why, PAWL_LIMIT, "budget: %lld ms: %lld are gone: raise it with an update of " BUDGET_CHANNEL, (long long)l->cap_ms, (long long)gone);
    return true;
}

bool charge_is_refused(outbox_entry *entry, int64_t now)
{
    const ledger *l = ledger_of(entry);
    pawl_err why = { PAWL_OK, "" };

    if (l == NULL || entry->resolution == RESOLUTION_ASKING || strstr(entry->job.id, "." UNDO_TASK ".") != NULL)
        return false;
    entry->charged = is_charged(entry);
    if (charge_time_is_spent(entry->run, now, &why))
        return refuse(entry, why.text);
    return entry->charged && amounts_spent(entry, l);
}

int64_t charge_ends_ms(const cached_run *r)
{
    const ledger *l = r->st != NULL ? r->st->budget : NULL;

    return l != NULL && l->cap_ms > 0 && l->since_ms > 0 ? l->since_ms + l->cap_ms : 0;
}
