/* cost.c - what a command has cost is told with its receipt, and what a child has with its end (A8). The ledger itself is the kernel's. */
#include "engine/command/outbox.h"

void cost_add(errand *er)
{
    const pawl_reply *r = &er->reply;

    if (er->settling != NULL)
        return;
    er->billed++;
    if (!r->costs)
        return;
    er->costs = true;
    er->tokens = er->tokens > INT64_MAX - r->tokens ? INT64_MAX : er->tokens + r->tokens;
    er->micros = er->micros > INT64_MAX - r->micros ? INT64_MAX : er->micros + r->micros;
}

void cost_take_back(errand *er)
{
    if (er->billed <= er->job.attempt - er->cleared)    /* it was not told yet */
        return;
    er->billed--;
    er->tokens -= er->reply.costs ? er->reply.tokens : 0;
    er->micros -= er->reply.costs ? er->reply.micros : 0;
    er->costs = er->costs && er->billed > 0;
}

static void number_say(buf *b, const char *name, int64_t n)
{
    buf_fmt(b, "%s\"%s\":%lld", b->size == 0 ? "{" : ",", name, (long long)n);
}

static int64_t at_least(int64_t n, int64_t least) { return n > least ? n : least; }

/* Nothing is said of what cost as much as was reserved for it, or is not known: the kernel takes it as that. */
void cost_say(errand *er)
{
    const live *r = er->run;
    const uint32_t made = er->job.attempt - er->cleared;
    const int64_t calls = cost_due(&er->limits).n[COST_CALLS];
    bool unseen = made > er->billed;    /* attempts of somebody who is gone, or is not waited for */
    buf *b = &er->usage;

    buf_reset(b);
    if (er->outcome == PAWL_OUTCOME_UNKNOWN || er->child != NULL || made == 0)
        return;
    if (r != NULL && r->st != NULL && r->st->budget != NULL && calls > 0 && made != calls)
        number_say(b, "calls", made);
    if (er->costs) {
        number_say(b, "micros", unseen ? at_least(er->micros, er->limits.cost.micros) : er->micros);
        number_say(b, "tokens", unseen ? at_least(er->tokens, er->limits.cost.tokens) : er->tokens);
    }
    if (b->size > 0)
        buf_char(b, '}');
    buf_char(b, '\0');
    b->size -= b->size > 0;
}

/* It never was: nothing of its share is spent. */
void cost_say_none(errand *er)
{
    buf_reset(&er->usage);
    if (!caps_none(&er->share))
        buf_text(&er->usage, "{\"calls\":0,\"micros\":0,\"tokens\":0}");
    buf_char(&er->usage, '\0');
    er->usage.size -= er->usage.size > 0;
}

/* With what stays reserved in it: what may have been spent, has been. */
void cost_of_run(const live *r, buf *out)
{
    pawl_spent s;

    if (!pawl_state_spent(r->st, &s))
        return;
    number_say(out, "calls", s.used.calls > INT64_MAX - s.reserved.calls ? INT64_MAX : s.used.calls + s.reserved.calls);
    number_say(out, "micros", s.used.micros > INT64_MAX - s.reserved.micros ? INT64_MAX : s.used.micros + s.reserved.micros);
    number_say(out, "tokens", s.used.tokens > INT64_MAX - s.reserved.tokens ? INT64_MAX : s.used.tokens + s.reserved.tokens);
    buf_char(out, '}');
}
