/* budget_ask.c - checks the budget of a run before a node's command is made. See budget_ask.h. */
#include "kernel/budget_ask.h"
#include "kernel/visit.h"

#include <string.h>

static const char *refusal_text(pawl_step *s, const ledger *l, const amounts *due, int i)
{
    return pawl_format(s, "budget: %lld %s: %lld used, %lld reserved, %lld more wanted: raise it with an update of " BUDGET_CHANNEL,
                       (long long)l->cap.n[i], cost_names[i], (long long)l->used.n[i],
                       (long long)cost_plus(l->reserved.n[i], s->v->wants.n[i]), (long long)due->n[i]);
}

static int64_t gone_ms(const pawl_step *s, const ledger *l)
{
    return s->v->at > l->since_ms ? s->v->at - l->since_ms : 0;
}

static bool has_room(const ledger *l, const amounts *wants, const amounts *due, int i)
{
    const int64_t held = cost_plus(l->used.n[i], l->reserved.n[i]), more = cost_plus(wants->n[i], due->n[i]);

    return BROKEN(BROKEN_CAP) || l->cap.n[i] == 0 || due->n[i] == 0 || cost_plus(held, more) <= l->cap.n[i];
}

pawl_code budget_check_command(pawl_step *s, const amounts *due, const char **why)
{
    const ledger *l = s->st->budget;
    visit *v = s->v;

    *why = NULL;
    if (l == NULL)
        return PAWL_OK;
    if (l->over)
        *why = "budget: a bill was above what was reserved for it, and nothing more leaves: look at it, and update " BUDGET_CHANNEL;
    else if (l->cap_ms > 0 && gone_ms(s, l) >= l->cap_ms)
        *why = pawl_format(s, "budget: %lld ms: %lld are gone: raise it with an update of " BUDGET_CHANNEL, (long long)l->cap_ms,
                           (long long)gone_ms(s, l));
    for (int i = 0; i < COSTS && *why == NULL; i++)
        if (!has_room(l, &v->wants, due, i))
            *why = refusal_text(s, l, due, i);
    if (s->mem.failed)
        return PAWL_NOMEM;
    for (int i = 0; i < COSTS && *why == NULL; i++)
        v->wants.n[i] = cost_plus(v->wants.n[i], due->n[i]);
    return *why == NULL ? PAWL_OK : PAWL_LIMIT;
}

/* A later pass meets a command that an earlier pass made: the share in its stored spec counts, whatever the budget is now. */
static pawl_code share_given(pawl_step *s, pawl_caps *share)
{
    const call *c = &s->v->task->calls[s->v->cursor];
    const pawl_value *spec = c->kind == CALL_SPAWN ? value_read(&s->mem, c->spec, c->spec_size, "a spec", NULL) : NULL;

    (void)share_of(spec, share);
    return s->mem.failed ? PAWL_NOMEM : PAWL_OK;
}

pawl_code budget_share(pawl_step *s, const pawl_caps *asked, pawl_caps *share)
{
    const ledger *l = s->st->budget;
    amounts own;
    int64_t left;

    *share = asked != NULL ? *asked : (pawl_caps){0};
    if (share->calls < 0 || share->micros < 0 || share->tokens < 0 || share->ms < 0)
        return visit_wrong(s, PAWL_INVALID, "the share of a child is not below 0");
    if (l == NULL)
        return PAWL_OK;
    if (s->v->task != NULL && s->v->cursor < s->v->task->ncalls)
        return share_given(s, share);
    own = share_due(share);
    for (int i = 0; i < COSTS; i++) {
        left = l->cap.n[i] - l->used.n[i] - l->reserved.n[i] - s->v->wants.n[i];
        if (own.n[i] == 0 && l->cap.n[i] > 0)
            own.n[i] = left > 1 ? left - left / 2 : 1;      /* 0 would mean "no cap"; with 1 and nothing left, the spawn is refused */
    }
    left = l->cap_ms - gone_ms(s, l);
    if (l->cap_ms > 0 && (share->ms == 0 || share->ms > left))
        share->ms = left > 1 ? left : 1;
    share->calls = own.n[COST_CALLS];
    share->micros = own.n[COST_MICROS];
    share->tokens = own.n[COST_TOKENS];
    return PAWL_OK;
}
