/* compact.c - a conversation that has become too long is summed up: by the model, or by dropping what old tools gave. What is pinned, and this
 * turn, stay to the letter; rules, mode, plan, todo and budget stand in channels of their own, and are not touched. */
#include "agent/agent.h"

static const char instruction[] =
    "Summarise the conversation above for yourself, since it will be replaced by your summary. Keep: what the user asked for, in their words; decisions "
    "and their reasons; files and names that matter; what was done and what failed; what is still to be done. Answer with the summary alone.";

bool compact_due(const turn *t)
{
    return t->def->a.compact_tokens > 0 && t->tokens >= t->def->a.compact_tokens && t->begun > 0 && t->at != PHASE_COMPACT;
}

static bool is_pinned(const pawl_value *message)
{
    return pawl_value_bool(pawl_value_get(message, "pinned"));
}

/* What of the messages before this turn stays, and the whole of this turn. */
typedef struct keeping { const pawl_value *all; size_t kept, dropped; } keeping;

static const pawl_value *without_result(turn *t, const pawl_value *message)
{
    const char *role = pawl_value_string(pawl_value_get(message, "role"));
    buf b;

    if (role == NULL || strcmp(role, "tool") != 0)
        return NULL;
    buf_init(&b, &t->mem->alloc);
    canon(&b, pawl_value_get(message, "content"));
    message = b.size < 200 ? NULL : value_with(t->mem, message, "content", pawl_pack(t->s, "s", pawl_format(t->s, "[%zu bytes, dropped]", b.size)));
    buf_free(&b);
    return message;
}

static void replaced(turn *t, const pawl_value *all, const char *method, size_t from, size_t to)
{
    pawl_overwrite(t->s, "messages", all);
    t->nmessages = (uint32_t)pawl_value_size(all);
    t->seen = 0;
    t->tokens = 0;
    readers_told(t, "compact", pawl_pack(t->s, "{s:i,s:s,s:i}", "from", (int64_t)from, "method", method, "to", (int64_t)to));
    readers_told(t, "cache_break", pawl_pack(t->s, "{s:s}", "cause", "compaction"));
}

static void drop_results(turn *t)
{
    const pawl_value *messages = pawl_get(t->s, "messages"), *all = value_pack(t->mem, NULL, "[]"), *one, *less;
    pawl_iter it = pawl_iter_of(messages);
    const size_t n = pawl_value_size(messages);

    for (uint32_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        less = i < t->begun && !is_pinned(one) ? without_result(t, one) : NULL;
        all = value_push(t->mem, all, less != NULL ? less : one);
    }
    for (size_t i = 0; i < t->nadded; i++)      /* of this event */
        all = value_push(t->mem, all, t->added[i]);
    replaced(t, all, "drop", n + t->nadded, n + t->nadded);
}

void compact_begin(turn *t)
{
    const pawl_value *then = pawl_pack(t->s, "s", instruction);
    pawl_code rc;

    if (t->def->a.compact_drops || (rc = request_call(t, "compact", request_make(t, then))) == PAWL_LIMIT) {
        drop_results(t);
        t->loops -= t->loops > 0;
        turn_phase(t, PHASE_COMPACT);
        turn_act(t, CORE_SEND_LLM_REQUEST, NULL);
        return;
    }
    if (rc != PAWL_OK)
        t->rc = rc;
    readers_told(t, "status", pawl_pack(t->s, "{s:b}", "compacting", 1));
    turn_phase(t, PHASE_COMPACT);
}

static const char *summary_of(const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(pawl_value_get(v, "message"), "content"));
    const pawl_value *block;
    const char *text;

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if ((text = pawl_value_string(pawl_value_get(block, "text"))) != NULL && *text != '\0')
            return text;
    return NULL;
}

/* The summary, what is pinned, and this turn. */
static void sum_up(turn *t, const char *summary)
{
    const pawl_value *messages = pawl_get(t->s, "messages"), *one;
    const pawl_value *all = pawl_pack(t->s, "[{s:s,s:s}]", "content", pawl_format(t->s, "Summary of the conversation so far:\n\n%s", summary), "role", "user");
    pawl_iter it = pawl_iter_of(messages);
    const size_t n = pawl_value_size(messages);

    for (uint32_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        if (i >= t->begun || is_pinned(one))
            all = value_push(t->mem, all, one);
    t->begun = (uint32_t)(pawl_value_size(all) - (n - t->begun));
    replaced(t, all, "summary", n, pawl_value_size(all));
}

void compact_told(turn *t)
{
    const char *summary = t->h->outcome == PAWL_DONE ? summary_of(t->h->value) : NULL;
    const char *why = pawl_value_string(pawl_value_get(t->h->value, "text"));

    if (summary == NULL) {      /* nothing is cut off: a person sees to it */
        turn_end(t, "error", pawl_format(t->s, "The conversation could not be summed up: %s", why != NULL ? text_cut(t, why, 500) : "there was no summary"));
        return;
    }
    sum_up(t, summary);
    t->loops -= t->loops > 0;
    turn_act(t, CORE_SEND_LLM_REQUEST, NULL);
}
