/* resolve_unknown.c - resolves the unknown outcome of a command with an effect, before a person is asked (E5).
 *
 * While it does, the entry performs that effect in place of its own. Called by receipts.c on the driving thread, without a lock. Invariant: an unknown
 * outcome is put to the effect once, unless its answer is "again". */
#include "engine/command/attempt.h"
#include "kernel/compensation.h"
#include "kernel/machine.h"

#include <stdio.h>
#include <string.h>

struct resolving {              /* the original command of the entry, in the entry's memory */
    const handler *h;
    const char *effect;
    const pawl_value *args;
    pawl_limits limits;
    uint32_t attempt;
    char known[sizeof((pawl_err *)0)->text];
};

static const pawl_value *question(outbox_entry *entry, const struct resolving *was)
{
    arena *a = &entry->mem;
    const pawl_value *args = was->args != NULL ? was->args : value_null(a), *known;

    known = value_pack(a, NULL, "{s:u,s:s,s:s}", "attempts", (uint64_t)was->attempt, "code", pawl_code_name(PAWL_UNKNOWN), "text", was->known);
    return known == NULL || args == NULL ? NULL : value_pack(a, NULL, "{s:v,s:s,s:s,s:v}", "args", args, "effect", was->effect, "id", entry->job.id, "known",
                                                             known);
}

bool resolve_begin(pawl_engine *e, outbox_entry *entry)
{
    const handler *h = entry->limits.on_unknown != NULL && entry->resolution == RESOLUTION_OPEN ? handler_of(e, entry->limits.on_unknown) : NULL;
    struct resolving *was = h == NULL || h->sql ? NULL : arena_zero(&entry->mem, sizeof *was);
    const pawl_limits *limits;
    const pawl_value *args;

    if (was == NULL || args_copy(e, entry, NULL) != PAWL_OK)
        return false;
    *was = (struct resolving){ entry->h, entry->job.effect, entry->job.args, entry->limits, entry->job.attempt, "" };
    snprintf(was->known, sizeof was->known, "%s", reply_why(&entry->reply));
    if ((args = question(entry, was)) == NULL)
        return false;
    limits = entry->run != NULL ? machine_limits(entry->run->m, entry->limits.on_unknown) : NULL;
    entry->resolving = was;
    further_drop(entry);
    resolution_move(entry, RESOLUTION_ASKING);
    entry->h = h;
    entry->job.effect = was->limits.on_unknown;
    entry->job.args = args;
    entry->job.attempt = 0;
    entry->limits = limits != NULL ? *limits : (pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT };
    entry->first_ms = entry->not_before_ms = 0;
    entry->attempt.stop = false;
    count_clear(entry);
    entry_wait(entry);
    return true;
}

/* Reads {"done":V}, {"failed":TEXT} or "again", as a person would answer; any other result leaves the outcome unknown. */
static bool answer_read(pawl_engine *e, outbox_entry *entry, bool *again)
{
    buf *b = &entry->reply.text;
    pawl_outcome outcome;
    const pawl_value *v, *value;
    arena mem;
    bool known = false;

    arena_init(&mem, &e->alloc, 1024);
    v = entry->rc < 0 || b->failed ? NULL : value_parse(&mem, b->data, b->size, "the reply", NULL);
    *again = pawl_value_string(v) != NULL && strcmp(pawl_value_string(v), "again") == 0;
    if (doubt_answer_read(v, &mem, &outcome, &value)) {
        known = true;
        if (outcome == PAWL_OUTCOME_DONE) {
            buf_reset(b);
            canon(b, value);
        } else {
            entry->rc = pawl_reply_fail(&entry->reply, PAWL_EFFECT, "%s", pawl_value_string(pawl_value_get(v, "failed")));
        }
    }
    arena_free(&mem);
    return known;
}

const char *resolve_origin(const outbox_entry *entry, pawl_limits *limits, uint32_t *attempt)
{
    const struct resolving *was = entry->resolving;

    *limits = was != NULL ? was->limits : entry->limits;
    *attempt = was != NULL ? was->attempt : entry->job.attempt;
    return was != NULL ? was->effect : entry->job.effect;
}

bool resolve_end(pawl_engine *e, outbox_entry *entry)
{
    const struct resolving *was = entry->resolving;
    bool again = false, known = answer_read(e, entry, &again);

    entry->resolving = NULL;
    resolution_move(entry, again ? RESOLUTION_OPEN : RESOLUTION_CLOSED);       /* asked once for each unknown outcome */
    entry->h = was->h;
    entry->job.effect = was->effect;
    entry->job.args = was->args;
    entry->job.attempt = was->attempt;
    entry->limits = was->limits;
    if (again) {
        entry->cleared = was->attempt;
        entry->further = 0;
        entry->cost.reported = 0;
        entry->first_ms = entry->not_before_ms = 0;
        entry->attempt.stop = false;
        entry->attempt.exceeded = NULL;
        count_clear(entry);
        entry_wait(entry);
        return false;
    }
    if (!known)
        entry->rc = pawl_reply_fail(&entry->reply, PAWL_UNKNOWN, "%s", was->known);
    return true;
}
