/* ask.c - what is sent to a model: all of it by reference, so that an entry costs what it adds (K7). */
#include "agent/agent.h"

/* What is pinned stands behind @system. All in one go: a reference inside of what is packed once more is none. */
const pawl_value *request_make(turn *t, const pawl_value *then)
{
    pawl_step *s = t->s;
    const bool pinned = t->pinned != NULL || pawl_get(s, "@pinned") != NULL;
    const pawl_value *config = pawl_ref(s, "@config"), *messages = pawl_ref(s, "messages"), *system = pawl_ref(s, "@system");
    const pawl_value *more = pinned ? pawl_ref(s, "@pinned") : NULL;

    if (then != NULL)           /* no tool is to be called for it; they stand there all the same, since calls of them are in the messages, and in the cache */
        return pawl_pack(s, pinned ? "{s:v,s:v,s:i,s:v,s:s,s:v,s:i,s:[v,v]}" : "{s:v,s:v,s:i,s:v,s:s,s:v,s:i,s:[v]}", "config", config, "messages", messages,
                         "retry", (int64_t)t->c.retries, "then", then, "tool_choice", "none", "tools", pawl_ref(s, "@tools"), "upto", (int64_t)t->upto,
                         "system", system, more);
    if (t->c.retries > 0)
        return pawl_pack(s, pinned ? "{s:v,s:v,s:i,s:v,s:[v,v]}" : "{s:v,s:v,s:i,s:v,s:[v]}", "config", config, "messages", messages, "retry",
                         (int64_t)t->c.retries, "tools", pawl_ref(s, "@tools"), "system", system, more);
    return pawl_pack(s, pinned ? "{s:v,s:v,s:v,s:[v,v]}" : "{s:v,s:v,s:v,s:[v]}", "config", config, "messages", messages, "tools", pawl_ref(s, "@tools"),
                     "system", system, more);
}

/* ---- what it may cost ---------------------------------------------------------------------------------------- */

/* A token has a byte at least; and what was sent before is known from its bill. */
static int64_t input_bound(turn *t)
{
    const pawl_value *messages = t->all != NULL ? t->all : pawl_get(t->s, "messages"), *one;
    pawl_iter it = pawl_iter_of(messages);
    int64_t bytes = 0;
    uint32_t i = 0;
    buf b;

    buf_init(&b, &t->mem->alloc);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (i++ >= t->seen) {
            buf_reset(&b);
            canon(&b, one);
            bytes += (int64_t)b.size;
        }
    for (const char *const *name = (const char *const[]){ "@system", "@pinned", "@tools", NULL }; t->tokens == 0 && *name != NULL; name++) {
        buf_reset(&b);
        if (pawl_get(t->s, *name) != NULL)
            canon(&b, pawl_get(t->s, *name));
        bytes += (int64_t)b.size;
    }
    if (t->h->value != NULL && t->all == NULL) {    /* what this event brings is not among the messages yet */
        buf_reset(&b);
        canon(&b, t->h->value);
        bytes += (int64_t)b.size;
    }
    t->mem->failed = t->mem->failed || b.failed;
    buf_free(&b);
    return t->tokens + bytes;
}

static int64_t price(int64_t tokens, int64_t a_million)
{
    return a_million > 0 && tokens > INT64_MAX / a_million ? INT64_MAX : (tokens * a_million + 999999) / 1000000;
}

pawl_code request_call(turn *t, const char *tag, const pawl_value *args)
{
    const int64_t most = pawl_value_int(pawl_value_get(pawl_get(t->s, "@config"), "max_tokens"));
    pawl_cost cost = { .calls = 1 };
    const bool counts = pawl_state_spent(t->s->st, &(pawl_spent){0});
    const int64_t input = counts ? input_bound(t) : 0;
    pawl_code rc;

    cost.tokens = input + most;
    cost.micros = price(input, t->def->a.price_input) + price(most, t->def->a.price_output);
    rc = pawl_flow_call_with(t->s, tag, "llm", args, counts ? &cost : NULL);
    if (rc == PAWL_OK)
        prefix_look(t);
    return rc;
}
