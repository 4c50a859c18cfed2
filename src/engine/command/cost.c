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

static void number_say(buf *b, const char *name, int64_t n)
{
    buf_fmt(b, "%s\"%s\":%lld", b->size == 0 ? "{" : ",", name, (long long)n);
}

static int64_t at_least(int64_t n, int64_t least) { return n > least ? n : least; }

/* A cost that is unknown, or equal to the reservation, is left out: the kernel then takes the reservation. */
void cost_report(outbox_entry *entry)
{
    const cached_run *r = entry->run;
    const uint32_t made = entry->job.attempt - entry->cleared;
    const int64_t calls = cost_due(&entry->limits).n[COST_CALLS];
    bool unseen = made > entry->cost.reported;    /* attempts of an earlier holder, or given up */
    buf *b = &entry->cost.usage;

    buf_reset(b);
    if (entry->outcome == PAWL_OUTCOME_UNKNOWN || entry->child != NULL || made == 0)
        return;
    if (r != NULL && r->st != NULL && r->st->budget != NULL && calls > 0 && made != calls)
        number_say(b, "calls", made);
    if (entry->cost.known) {
        number_say(b, "micros", unseen ? at_least(entry->cost.micros, entry->limits.cost.micros) : entry->cost.micros);
        number_say(b, "tokens", unseen ? at_least(entry->cost.tokens, entry->limits.cost.tokens) : entry->cost.tokens);
    }
    if (b->size > 0)
        buf_char(b, '}');
    buf_char(b, '\0');
    b->size -= b->size > 0;
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
    number_say(out, "calls", s.used.calls > INT64_MAX - s.reserved.calls ? INT64_MAX : s.used.calls + s.reserved.calls);
    number_say(out, "micros", s.used.micros > INT64_MAX - s.reserved.micros ? INT64_MAX : s.used.micros + s.reserved.micros);
    number_say(out, "tokens", s.used.tokens > INT64_MAX - s.reserved.tokens ? INT64_MAX : s.used.tokens + s.reserved.tokens);
    buf_char(out, '}');
}
