/* resolve_unknown.c - an effect that finds out what came of a command, before a person is asked (E5): the errand turns to it, and back. */
#include "engine/command/outbox.h"

#include <string.h>

struct settling {               /* in the errand's memory: what it was before */
    const handler *h;
    const char *effect;
    const pawl_value *args;
    pawl_limits limits;
    uint32_t attempt;
    char known[sizeof((pawl_err *)0)->text];
};

static const pawl_value *question(errand *er, const struct settling *was)
{
    arena *a = &er->mem;
    const pawl_value *args = was->args != NULL ? was->args : value_null(a), *known;

    known = value_pack(a, NULL, "{s:u,s:s,s:s}", "attempts", (uint64_t)was->attempt, "code", pawl_code_name(PAWL_UNKNOWN), "text", was->known);
    return known == NULL || args == NULL ? NULL : value_pack(a, NULL, "{s:v,s:s,s:s,s:v}", "args", args, "effect", was->effect, "id", er->job.id, "known",
                                                             known);
}

bool settle_begin(pawl_engine *e, errand *er)
{
    const handler *h = er->limits.on_unknown != NULL && er->settling == NULL && er->asks_settled ? handler_of(e, er->limits.on_unknown) : NULL;
    struct settling *was = h == NULL || h->sql ? NULL : arena_zero(&er->mem, sizeof *was);
    const pawl_limits *limits;
    const pawl_value *args;

    if (was == NULL || args_take(e, er, NULL) != PAWL_OK)
        return false;
    *was = (struct settling){ er->h, er->job.effect, er->job.args, er->limits, er->job.attempt, "" };
    memcpy(was->known, er->reply.err.text, sizeof was->known);
    was->known[sizeof was->known - 1] = '\0';
    if ((args = question(er, was)) == NULL)
        return false;
    limits = er->run != NULL ? machine_limits(er->run->m, er->limits.on_unknown) : NULL;
    er->settling = was;
    er->h = h;
    er->job.effect = was->limits.on_unknown;
    er->job.args = args;
    er->job.attempt = 0;
    er->limits = limits != NULL ? *limits : (pawl_limits){ .cls = PAWL_IDEMPOTENT };
    er->first_ms = er->not_before_ms = 0;
    er->stop = false;
    er->at = ERRAND_READY;
    return true;
}

/* {"done":V}, {"failed":TEXT} or "again", as a person would answer; anything else leaves it unknown. */
static bool was_told(pawl_engine *e, errand *er, bool *again)
{
    buf *b = &er->reply.text;
    pawl_outcome outcome;
    const pawl_value *v, *value;
    arena mem;
    bool told = false;

    arena_init(&mem, &e->alloc, 1024);
    v = er->rc < 0 || b->failed ? NULL : value_parse(&mem, b->data, b->size, "the reply", NULL);
    *again = pawl_value_string(v) != NULL && strcmp(pawl_value_string(v), "again") == 0;
    if (doubt_told(v, &mem, &outcome, &value)) {
        told = true;
        if (outcome == PAWL_DONE) {
            buf_reset(b);
            canon(b, value);
        } else {
            er->rc = pawl_reply_fail(&er->reply, PAWL_EFFECT, "%s", pawl_value_string(pawl_value_get(v, "failed")));
        }
    }
    arena_free(&mem);
    return told;
}

const char *settle_was(const errand *er, pawl_limits *limits, uint32_t *attempt)
{
    const struct settling *was = er->settling;

    *limits = was != NULL ? was->limits : er->limits;
    *attempt = was != NULL ? was->attempt : er->job.attempt;
    return was != NULL ? was->effect : er->job.effect;
}

bool settle_end(pawl_engine *e, errand *er)
{
    const struct settling *was = er->settling;
    bool again = false, told = was_told(e, er, &again);

    er->settling = NULL;
    er->asks_settled = false;   /* once for each doubt */
    er->h = was->h;
    er->job.effect = was->effect;
    er->job.args = was->args;
    er->job.attempt = was->attempt;
    er->limits = was->limits;
    if (again) {
        er->cleared = was->attempt;
        er->billed = 0;
        er->asks_settled = true;
        er->first_ms = er->not_before_ms = 0;
        er->counted = false;
        er->stop = false;
        er->late = NULL;
        er->at = ERRAND_READY;
        return false;
    }
    if (!told)
        er->rc = pawl_reply_fail(&er->reply, PAWL_UNKNOWN, "%s", was->known);
    return true;
}
