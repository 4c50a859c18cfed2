/* model_request.c - builds requests to a model, by reference, so that the size of an entry does not grow with the conversation (K7). Called by turn.c and
 * compact.c; pure. */
#include "agent/agent.h"
#include "kernel/step.h"

/* Pinned text follows @system. Packed in one call: a reference inside a value that is packed again would be lost. */
const pawl_value *request_make(turn *t, const pawl_value *then)
{
    pawl_step *s = t->s;
    const bool pinned = pinned_now(t) != NULL;
    const pawl_value *config = pawl_ref(s, "@config"), *messages = pawl_ref(s, "messages"), *system = pawl_ref(s, "@system");
    const pawl_value *more = pinned ? pawl_ref(s, "@pinned") : NULL;

    if (then != NULL)           /* a summary calls no tool; the tools stay because the messages contain calls, and for the cache */
        return pawl_pack(s, pinned ? "{s:v,s:v,s:i,s:v,s:s,s:v,s:i,s:[v,v]}" : "{s:v,s:v,s:i,s:v,s:s,s:v,s:i,s:[v]}", "config", config, "messages", messages,
                         "retry", (int64_t)t->c.retries, "then", then, "tool_choice", "none", "tools", pawl_ref(s, "@tools"), "upto", (int64_t)t->summary_upto,
                         "system", system, more);
    if (t->c.retries > 0)
        return pawl_pack(s, pinned ? "{s:v,s:v,s:i,s:v,s:[v,v]}" : "{s:v,s:v,s:i,s:v,s:[v]}", "config", config, "messages", messages, "retry",
                         (int64_t)t->c.retries, "tools", pawl_ref(s, "@tools"), "system", system, more);
    return pawl_pack(s, pinned ? "{s:v,s:v,s:v,s:[v,v]}" : "{s:v,s:v,s:v,s:[v]}", "config", config, "messages", messages, "tools", pawl_ref(s, "@tools"),
                     "system", system, more);
}

/* ---- what it may cost ---------------------------------------------------------------------------------------- */

size_t canon_bytes(turn *t, const pawl_value *v)
{
    size_t size;
    buf b;

    if (v == NULL)
        return 0;
    buf_init(&b, &t->mem->alloc);
    canon(&b, v);
    t->mem->failed = t->mem->failed || b.failed;
    size = b.size;
    buf_free(&b);
    return size;
}

/* Bytes of the messages since the last usage report, those of this event included. */
static size_t messages_bytes(turn *t)
{
    const pawl_value *messages = t->messages_now != NULL ? t->messages_now : pawl_get(t->s, "messages"), *one;
    pawl_iter it = pawl_iter_of(messages);
    size_t bytes = 0;
    uint32_t i = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        bytes += i++ >= t->messages_seen ? canon_bytes(t, one) : 0;
    for (size_t k = 0; k < t->nadded; k++)
        bytes += i++ >= t->messages_seen ? canon_bytes(t, t->added[k]) : 0;
    return bytes;
}

/* An upper bound: a token has at least one byte; for earlier messages the usage report counts. */
static int64_t input_bound(turn *t, const pawl_value *args)
{
    size_t bytes = messages_bytes(t) + canon_bytes(t, pawl_value_get(args, "then"));

    if (t->tokens == 0 || prefix_changed(t))
        bytes += canon_bytes(t, pawl_get(t->s, "@system")) + canon_bytes(t, pinned_now(t)) + canon_bytes(t, tools_now(t));
    return t->tokens + (int64_t)bytes;
}

/* From @config, which people may set to anything; else the default of the machine. */
static int64_t output_bound(turn *t)
{
    const int64_t most = pawl_value_int(pawl_value_get(pawl_get(t->s, "@config"), "max_tokens"));

    return most > 0 ? most : t->def->a.max_tokens;
}

static int64_t sum_of(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

static int64_t price(int64_t tokens, int64_t a_million)
{
    return a_million > 0 && tokens > (INT64_MAX - 999999) / a_million ? INT64_MAX : (tokens * a_million + 999999) / 1000000;
}

pawl_code request_call(turn *t, const char *tag, const pawl_value *args)
{
    const bool counts = pawl_state_spent(t->s->st, &(pawl_spent){0});
    const int64_t input = counts ? input_bound(t, args) : 0, output = output_bound(t);
    const pawl_cost cost = { .calls = 1, .tokens = sum_of(input, output),
                             .micros = sum_of(price(input, t->def->a.price_input), price(output, t->def->a.price_output)) };
    pawl_code rc;

    rc = pawl_flow_call_with(t->s, tag, "llm", args, counts ? &cost : NULL);
    if (rc == PAWL_OK)
        prefix_check(t);
    return rc;
}
