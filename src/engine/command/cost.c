/* cost.c - adds up the cost of a command for its receipt, and that of a child for its end (A8). The kernel keeps the ledger.
 *
 * Called on the driving thread, without a lock. Invariant: an attempt whose cost is not known costs its whole reservation (A9). */
#include "engine/command/attempt.h"
#include "kernel/cost.h"
#include "kernel/state.h"

void cost_add(outbox_entry *entry)
{
    const pawl_reply *r = &entry->reply;

    if (entry->resolution == RESOLUTION_ASKING)
        return;
    entry->cost.reported++;
    entry->cost.last_unsaid = !r->costs;
    if (!r->costs)
        return;
    entry->cost.known = true;
    entry->cost.tokens = entry->cost.tokens > INT64_MAX - r->tokens ? INT64_MAX : entry->cost.tokens + r->tokens;
    entry->cost.micros = entry->cost.micros > INT64_MAX - r->micros ? INT64_MAX : entry->cost.micros + r->micros;
}

void cost_take_back(outbox_entry *entry)
{
    if (entry->cost.reported <= entry->job.attempt - entry->cleared)    /* the cost of this attempt was not added yet */
        return;
    entry->cost.reported--;
    entry->cost.tokens -= entry->reply.costs ? entry->reply.tokens : 0;
    entry->cost.micros -= entry->reply.costs ? entry->reply.micros : 0;
    entry->cost.known = entry->cost.known && entry->cost.reported > 0;
}

static void number_put(buf *b, const char *name, int64_t n)
{
    buf_fmt(b, "%s\"%s\":%lld", b->size == 0 ? "{" : ",", name, (long long)n);
}

static int64_t at_least(int64_t n, int64_t least) { return n > least ? n : least; }

static void close_usage(buf *b)
{
    if (b->size > 0)
        buf_char(b, '}');
    buf_char(b, '\0');
    b->size -= b->size > 0;
}

/* Without a ledger. An attempt that nobody saw costs the reservation at least. */
static void report_plain(outbox_entry *entry, bool unseen)
{
    const entry_cost *c = &entry->cost;

    if (!c->known)
        return;
    number_put(&entry->cost.usage, "micros", unseen ? at_least(c->micros, entry->limits.cost.micros) : c->micros);
    number_put(&entry->cost.usage, "tokens", unseen ? at_least(c->tokens, entry->limits.cost.tokens) : c->tokens);
}

/* With a ledger. Each attempt that nobody saw costs the whole reservation, and so does the last one when its cost cannot be read. `unseen` has the kernel
 * compare the sum with the caps, since the command reserved for one. What commands cost that ended without a receipt is added here. */
static void report_charged(outbox_entry *entry, uint32_t made)
{
    const amounts due = cost_due(&entry->limits);
    const entry_cost *c = &entry->cost;
    const uint32_t unseen = attempts_unseen(entry);
    amounts *late = &entry->run->outbox.unbilled;
    const bool more = due.n[COST_CALLS] > 0 && (late->n[COST_CALLS] > 0 || late->n[COST_MICROS] > 0 || late->n[COST_TOKENS] > 0);
    const int64_t whole = (int64_t)unseen + (c->last_unsaid && (c->known || unseen > 0 || more));
    buf *b = &entry->cost.usage;

    if (due.n[COST_CALLS] > 0 && (more || made != due.n[COST_CALLS]))
        number_put(b, "calls", cost_plus(made, late->n[COST_CALLS]));
    if (c->known || whole > 0 || more) {
        number_put(b, "micros", cost_plus(more ? late->n[COST_MICROS] : 0, cost_plus(c->micros, cost_times(whole, due.n[COST_MICROS]))));
        number_put(b, "tokens", cost_plus(more ? late->n[COST_TOKENS] : 0, cost_plus(c->tokens, cost_times(whole, due.n[COST_TOKENS]))));
    }
    if (whole > 0 || more)
        number_put(b, "unseen", whole + more);
    if (more)
        *late = (amounts){0};
}

/* A cost that is unknown, or equal to the reservation, is left out: the kernel then takes the reservation. */
void cost_report(outbox_entry *entry)
{
    const cached_run *r = entry->run;
    const uint32_t made = entry->job.attempt - entry->cleared;
    buf *b = &entry->cost.usage;

    buf_reset(b);
    if (entry->outcome == PAWL_OUTCOME_UNKNOWN && entry->child == NULL)
        charge_unbilled(entry);
    if (entry->outcome == PAWL_OUTCOME_UNKNOWN || entry->child != NULL || made == 0)
        return;
    if (r != NULL && r->st != NULL && r->st->budget != NULL)
        report_charged(entry, made);
    else
        report_plain(entry, made > entry->cost.reported);
    close_usage(b);
}

void cost_report_unbegun(outbox_entry *entry)
{
    buf *b = &entry->cost.usage;

    if (entry->job.attempt != entry->cleared || entry->state != ENTRY_DONE)
        return;
    buf_reset(b);
    buf_text(b, "{\"calls\":0,\"micros\":0,\"tokens\":0");
    close_usage(b);
}

/* The child never started, so nothing of its share is spent. */
void cost_report_none(outbox_entry *entry)
{
    buf_reset(&entry->cost.usage);
    if (!caps_none(&entry->share))
        buf_text(&entry->cost.usage, "{\"calls\":0,\"micros\":0,\"tokens\":0}");
    buf_char(&entry->cost.usage, '\0');
    entry->cost.usage.size -= entry->cost.usage.size > 0;
}

/* Amounts that are still reserved in the child count as spent. */
void cost_of_run(const cached_run *r, buf *out)
{
    pawl_spent s;

    if (!pawl_state_spent(r->st, &s))
        return;
    s.reserved.calls = cost_plus(s.reserved.calls, r->outbox.unbilled.n[COST_CALLS]);
    s.reserved.micros = cost_plus(s.reserved.micros, r->outbox.unbilled.n[COST_MICROS]);
    s.reserved.tokens = cost_plus(s.reserved.tokens, r->outbox.unbilled.n[COST_TOKENS]);
    number_put(out, "calls", s.used.calls > INT64_MAX - s.reserved.calls ? INT64_MAX : s.used.calls + s.reserved.calls);
    number_put(out, "micros", s.used.micros > INT64_MAX - s.reserved.micros ? INT64_MAX : s.used.micros + s.reserved.micros);
    number_put(out, "tokens", s.used.tokens > INT64_MAX - s.reserved.tokens ? INT64_MAX : s.used.tokens + s.reserved.tokens);
    buf_char(out, '}');
}
