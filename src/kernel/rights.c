/* rights.c - the names of modes, and the mode that a run has now.
 *
 * Pure: any thread that owns the state. A cap that arrived is never lifted: "@rights" is one text, or a list of all that arrived. */
#include "kernel/rights.h"
#include "kernel/channel.h"
#include "kernel/list.h"
#include "kernel/state.h"

static const char *const rank_names[RANKS] = { "", "plan", "default", "acceptEdits", "bypassPermissions" };
static const char *const rank_titles[RANKS] = { "", "Plan", "Default", "AcceptEdits", "BypassPermissions" };

mode_rank mode_ranked(const char *name)
{
    const int i = name != NULL && *name != '\0' ? name_index(rank_names, RANKS, name) : -1;

    return i > 0 ? (mode_rank)i : RANK_NONE;
}

const char *mode_text(mode_rank r) { return rank_names[r]; }
const char *rank_title(mode_rank r) { return rank_titles[r]; }

static const pawl_value *own_value(pawl_state *st, const char *name)
{
    channel *c = channel_find(&st->root, name);

    return c != NULL ? channel_value(st, c) : NULL;
}

static mode_rank capped(mode_rank most, const pawl_value *caps)
{
    pawl_iter it = pawl_iter_of(caps);
    const pawl_value *one;
    mode_rank cap = mode_ranked(pawl_value_string(caps));

    most = cap != RANK_NONE && cap < most ? cap : most;
    while (pawl_value_type(caps) == PAWL_TYPE_ARRAY && (one = pawl_iter_next(&it, NULL)) != NULL)
        if ((cap = mode_ranked(pawl_value_string(one))) != RANK_NONE && cap < most)
            most = cap;
    return most;
}

mode_rank run_mode(pawl_state *st, bool coming)
{
    mode_rank mode = mode_ranked(pawl_value_string(own_value(st, "@mode"))), most = capped(RANK_BYPASS, own_value(st, "@rights"));
    pawl_iter it = pawl_iter_of(coming && st->pending != NULL ? list_value(st->pending) : NULL);
    const pawl_value *update;

    while ((update = pawl_iter_next(&it, NULL)) != NULL) {
        const mode_rank next = mode_ranked(pawl_value_string(pawl_value_get(update, "@mode")));

        mode = next != RANK_NONE ? next : mode;
        most = capped(most, pawl_value_get(update, "@rights"));
    }
    mode = mode != RANK_NONE ? mode : RANK_DEFAULT;
    return mode < most ? mode : most;
}

/* ---- approvers ------------------------------------------------------------------------------------------- */

static bool signers_kept(const pawl_value *now, const pawl_value *next)
{
    const pawl_value *approvers = pawl_value_get(now, "approvers"), *signers = pawl_value_get(next, "signers"), *name, *key;
    pawl_iter it = pawl_iter_of(pawl_value_get(now, "signers"));

    if (!pawl_value_bool(pawl_value_get(next, "keeps_signers")) || (approvers != NULL && !pawl_value_equal(approvers, pawl_value_get(next, "approvers"))))
        return false;
    while ((key = pawl_iter_next(&it, &name)) != NULL)
        if (!pawl_value_equal(key, pawl_value_get(signers, pawl_value_string(name))))
            return false;
    return true;
}

bool rights_keep_signers(pawl_state *st, const pawl_value *update)
{
    const pawl_value *rules = pawl_value_get(update, "@policy"), *law = pawl_value_get(update, "@law"), *now;

    if (rules == NULL && law == NULL)
        return true;
    if ((now = pawl_state_coming(st, "@policy")) == NULL)
        now = own_value(st, "@policy");
    if (!pawl_value_bool(pawl_value_get(now, "keeps_signers")))
        return true;            /* nobody signs, or an older run */
    return (rules == NULL || signers_kept(now, rules)) && (law == NULL || signers_kept(now, pawl_value_get(law, "policy")));
}
