/* model.c - random models, tools and hooks: each answer is a function of the seed and of the request; nothing outside is run.
 *
 * Called through agents_act by the engines, on the thread of pawl_sim. */
#include "sim/agents.h"
#include "effect/effect.h"

#include <string.h>

enum { ROUNDS_MAX = 6, CALLS_MAX = 4, LEVELS_MAX = 2, SPAWNS_MAX = 2, ID_ROOM = 40 };

static bool one_in_a_while(rng *c, unsigned of_hundred) { return rng_below(c, 100) < of_hundred; }

static const char *text_of(const pawl_value *v, const char *key)
{
    const char *text = pawl_value_string(pawl_value_get(v, key));

    return text != NULL ? text : "";
}

static pawl_code reply_text(pawl_reply *reply, buf *b)
{
    pawl_code rc;

    buf_char(b, '\0');
    rc = b->failed ? PAWL_NOMEM : pawl_reply_json(reply, b->data);
    buf_free(b);
    return rc;
}

/* ---- failures of models ------------------------------------------------------------------------------------- */

typedef struct fault_kind { pawl_code code; const char *text; int64_t after_ms; } fault_kind;

static pawl_code model_fails(rng *c, pawl_reply *reply)
{
    static const fault_kind pass[] = { { PAWL_TRANSIENT, "API error: 529 overloaded_error: Overloaded", 0 },
                                       { PAWL_TRANSIENT, "Rate limited: 429 rate_limit_error: slower", 700 },
                                       { PAWL_TRANSIENT, "API error: 500 api_error: Internal server error", 0 },
                                       { PAWL_TRANSIENT, "HTTP error: the connection was reset", 0 },
                                       { PAWL_TRANSIENT, "Invalid response: the stream ended in the middle", 0 },
                                       { PAWL_TIMEOUT, "Request timed out: no first byte", 0 } };
    static const fault_kind stay[] = { { PAWL_DENIED, "API error: 401 authentication_error: invalid x-api-key", 0 },
                                       { PAWL_INVALID, "API error: 400 invalid_request_error", 0 },
                                       { PAWL_LIMIT, "Invalid response: a stream over 256 MiB", 0 } };
    const fault_kind *f = one_in_a_while(c, 90) ? &pass[rng_below(c, sizeof pass / sizeof *pass)] : &stay[rng_below(c, sizeof stay / sizeof *stay)];

    if (f->after_ms > 0)
        pawl_reply_retry_after(reply, f->after_ms);
    if (one_in_a_while(c, 30))
        pawl_reply_cost(reply, (int64_t)rng_below(c, 50), (int64_t)rng_below(c, 50));
    return pawl_reply_fail(reply, f->code, "%s", f->text);
}

/* ---- what was said before ------------------------------------------------------------------------------------- */

typedef struct talk { size_t answers, rounds, spawns; unsigned level; } talk;   /* in the whole conversation; since the user's last message */

static size_t spawns_in(const pawl_value *message)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(message, "content"));
    const pawl_value *block;
    size_t n = 0;

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        n += strcmp(text_of(block, "name"), "spawn_agent") == 0;
    return n;
}

/* A child's prompt contains its depth, which limits the number of children. */
static talk talk_read(const pawl_value *messages)
{
    static const char deep[] = "level ";
    pawl_iter it = pawl_iter_of(messages);
    const char *first = text_of(pawl_value_at(messages, 0), "content");
    const pawl_value *m;
    talk t = {0};

    if (strncmp(first, deep, sizeof deep - 1) == 0)
        t.level = (unsigned)(first[sizeof deep - 1] - '0');
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        if (strcmp(text_of(m, "role"), "user") == 0)
            t.rounds = t.spawns = 0;
        if (strcmp(text_of(m, "role"), "assistant") != 0)
            continue;
        t.answers++;
        t.rounds++;
        t.spawns += spawns_in(m);
    }
    return t;
}

/* ---- calls of tools --------------------------------------------------------------------------------------------- */

typedef struct answering { const agents *a; rng *c; const pawl_value *tools; talk t; buf *b; size_t blocks, calls; } answering;

static void block_begin(answering *w)
{
    buf_text(w->b, w->blocks++ > 0 ? "," : "");
}

static void id_put(answering *w)
{
    if (w->a->same_ids)
        buf_fmt(w->b, "call_%zu", w->calls);
    else
        buf_fmt(w->b, "call_%zu_%zu_%08llx", w->t.answers + 1, w->calls, (unsigned long long)(rng_draw(w->c) & 0xffffffff));
}

/* An invalid input, of the kinds that models give. */
static void input_bad(answering *w, const pawl_value *schema)
{
    switch (rng_below(w->c, 4)) {
    case 0: buf_text(w->b, "{}"); break;
    case 1: buf_text(w->b, "{\"no such thing\":[1,{\"a\":null}]}"); break;
    case 2: buf_text(w->b, "{},\"invalid\":\"{\\\"half\\\": [\""); break;       /* not JSON: kept as text */
    default:
        buf_text(w->b, "{\"prompt\":7,\"command\":false,\"file_path\":{},\"questions\":");
        schema_value(w->b, schema, w->c);
        buf_char(w->b, '}');
    }
}

static void call_put(answering *w, const char *name, const pawl_value *schema)
{
    const bool spawns = strcmp(name, "spawn_agent") == 0;

    block_begin(w);
    w->calls++;
    buf_text(w->b, "{\"id\":\"");
    id_put(w);
    buf_text(w->b, "\",\"input\":");
    w->t.spawns += spawns;
    if (one_in_a_while(w->c, 12))
        input_bad(w, schema);
    else if (spawns)
        buf_fmt(w->b, "{\"prompt\":\"level %u: look\"}", w->t.level + 1);
    else if (schema == NULL)
        buf_text(w->b, "{}");
    else
        schema_value(w->b, schema, w->c);
    buf_text(w->b, ",\"name\":");
    canon_string(w->b, name, strlen(name));
    buf_text(w->b, ",\"type\":\"tool_use\"}");
}

static bool may_spawn(const answering *w)
{
    return w->t.level < LEVELS_MAX && w->t.spawns < (w->t.level == 0 ? SPAWNS_MAX : 1);
}

/* A random tool; more often the one that starts a child, where that is allowed. */
static const pawl_value *tool_chosen(answering *w)
{
    const bool likes = may_spawn(w) && one_in_a_while(w->c, 30);
    pawl_iter it = pawl_iter_of(w->tools);
    const pawl_value *tool;

    while (likes && (tool = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(text_of(tool, "name"), "spawn_agent") == 0)
            return tool;
    return pawl_value_at(w->tools, rng_below(w->c, pawl_value_size(w->tools)));
}

static void calls_put(answering *w)
{
    const size_t n = pawl_value_size(w->tools), calls = 1 + (one_in_a_while(w->c, 50) ? rng_below(w->c, CALLS_MAX) : 0);

    for (size_t i = 0; i < calls; i++) {
        const pawl_value *tool = tool_chosen(w);
        const char *name = text_of(tool, "name");

        if (n == 0 || one_in_a_while(w->c, 3))
            call_put(w, "nosuch", NULL);
        else if (strcmp(name, "spawn_agent") != 0 || may_spawn(w))
            call_put(w, name, pawl_value_get(tool, "input_schema"));
    }
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static void text_put(answering *w, const char *type, const char *key)
{
    block_begin(w);
    buf_fmt(w->b, "{\"%s\":\"said %llu\",\"type\":\"%s\"}", key, (unsigned long long)rng_below(w->c, 1000), type);
}

static const char *stop_of(answering *w)
{
    static const char *const odd[] = { "max_tokens", "refusal", "pause_turn", "context_exceeded", "stop_sequence", "no such reason" };

    if (one_in_a_while(w->c, 8))
        return odd[rng_below(w->c, sizeof odd / sizeof *odd)];
    return w->calls > 0 ? "tool_use" : "end_turn";
}

static void message_put(answering *w)
{
    const bool calls = w->t.rounds < ROUNDS_MAX && pawl_value_size(w->tools) > 0 && one_in_a_while(w->c, 75);

    buf_text(w->b, "{\"message\":{\"content\":[");
    if (one_in_a_while(w->c, 15))
        text_put(w, "thinking", "thinking");
    if (one_in_a_while(w->c, calls ? 40 : 95))
        text_put(w, "text", "text");
    if (calls)
        calls_put(w);
    buf_fmt(w->b, "],\"role\":\"assistant\"},\"stop\":\"%s\",\"usage\":{\"input_tokens\":%llu,\"output_tokens\":%llu}}", stop_of(w),
            (unsigned long long)rng_below(w->c, 400), (unsigned long long)rng_below(w->c, 100));
}

static pawl_code model_reply(const agents *a, const pawl_job *job, pawl_reply *reply)
{
    rng c = rng_of(a, "llm", job->args);
    const pawl_value *messages = pawl_value_get(job->args, "messages");
    answering w = { .a = a, .c = &c, .tools = pawl_value_get(job->args, "tools"), .t = talk_read(messages) };
    buf b;

    if (one_in_a_while(&c, 12))
        return model_fails(&c, reply);
    buf_init(&b, NULL);
    w.b = &b;
    if (one_in_a_while(&c, 1))
        buf_text(&b, rng_below(&c, 2) == 0 ? "{\"text\":\"no message\"}" : "[]");
    else if (pawl_value_get(job->args, "then") != NULL && one_in_a_while(&c, 90))
        buf_text(&b, "{\"message\":{\"content\":[{\"text\":\"What was said, in short.\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\"}");
    else
        message_put(&w);
    if (one_in_a_while(&c, 95))       /* rarely more than expected */
        pawl_reply_cost(reply, (int64_t)rng_below(&c, 60), (int64_t)rng_below(&c, 100));
    else if (one_in_a_while(&c, 20))
        pawl_reply_cost(reply, 1000000, 1000000);
    return reply_text(reply, &b);
}

/* ---- tools, and others ---------------------------------------------------------------------------------------------- */

/* Like every tool it changes nothing in plan mode, whatever was decided before. */
static bool plan_denies(const agents *a, const pawl_job *job)
{
    const char *name = text_of(job->args, "tool");

    if (pawl_mode_named(job->mode) != PAWL_MODE_PLAN)
        return false;
    for (unsigned i = 0; i < a->nknown; i++) {
        const pawl_agent_tool *tool = agent_tool(a->known[i], name);

        if (tool != NULL)
            return tool->cls != PAWL_PERMISSION_READ && strcmp(tool->rule != NULL ? tool->rule : "", "Bash") != 0;
    }
    return false;
}

static pawl_code tool_reply(const agents *a, const pawl_job *job, pawl_reply *reply)
{
    rng c = rng_of(a, "tool", job->args);
    const uint64_t what = rng_below(&c, 100), n = rng_below(&c, 1000);
    buf b;

    if (plan_denies(a, job)) {
        pawl_reply_untouched(reply);
        return pawl_reply_fail(reply, PAWL_DENIED, "%s requires Default mode; current mode is Plan.", text_of(job->args, "tool"));
    }
    if (what < 6)
        return pawl_reply_fail(reply, what < 3 ? PAWL_EFFECT : PAWL_TIMEOUT, "the tool has failed");
    buf_init(&b, NULL);
    if (what < 16)
        buf_fmt(&b, "{\"content\":\"it cannot: %llu\",\"is_error\":true}", (unsigned long long)n);
    else if (what < 22)
        buf_fmt(&b, "{\"content\":[{\"text\":\"block %llu\",\"type\":\"text\"}]}", (unsigned long long)n);
    else if (what < 25)
        buf_fmt(&b, what < 24 ? "\"bare %llu\"" : "{\"note\":\"no content\",\"of\":%llu}", (unsigned long long)n);
    else if (what < 28)
        buf_text(&b, "null");
    else
        buf_fmt(&b, "{\"content\":\"result %llu\"}", (unsigned long long)n);
    return reply_text(reply, &b);
}

/* Most answers of a hook are empty. */
static pawl_code hook_reply(const agents *a, const pawl_job *job, pawl_reply *reply)
{
    static const char *const commands[] = {
        "{\"status\":2,\"stderr\":\"a hook says no\",\"stdout\":\"\"}", "{\"status\":1,\"stderr\":\"it broke\",\"stdout\":\"\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"half\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\",\\\"permissionDecision\\\":\\\"allow\\\"}}\"}",
        "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\",\\\"permissionDecision\\\":\\\"ask\\\"}}\"}",
    };
    rng c = rng_of(a, "hook", job->args);

    if (one_in_a_while(&c, 10))
        return pawl_reply_fail(reply, PAWL_TIMEOUT, "the hook took too long");
    if (one_in_a_while(&c, 50))
        return pawl_reply_json(reply, pawl_value_get(pawl_value_get(job->args, "hook"), "url") != NULL ? "{\"body\":\"\",\"status\":200}"
                                                                                                       : "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    return pawl_reply_json(reply, commands[rng_below(&c, sizeof commands / sizeof *commands)]);
}

/* The model of a node: a value for its schema, or a text. */
static pawl_code prompt_reply(const agents *a, const pawl_job *job, pawl_reply *reply)
{
    rng c = rng_of(a, "prompt", job->args);
    const pawl_value *schema = pawl_value_get(job->args, "schema");
    buf b;

    if (one_in_a_while(&c, 5))
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "API error: 529 overloaded_error: Overloaded");
    buf_init(&b, NULL);
    buf_text(&b, schema != NULL ? "{\"output\":" : "{\"text\":\"1\"");
    if (schema != NULL)
        schema_value(&b, schema, &c);
    buf_char(&b, '}');
    return reply_text(reply, &b);
}

static pawl_code same(const pawl_job *job, pawl_reply *reply)
{
    buf b;

    buf_init(&b, NULL);
    canon(&b, job->args);
    return reply_text(reply, &b);
}

pawl_code agents_act(const pawl_job *job, pawl_reply *reply, void *arg)
{
    agents *a = arg;

    if (strcmp(job->effect, "llm") == 0) {
        a->report->asked++;
        return model_reply(a, job, reply);
    }
    if (strncmp(job->effect, "tool-", 5) == 0) {
        a->report->used++;
        return tool_reply(a, job, reply);
    }
    if (strcmp(job->effect, "hook") == 0)
        return hook_reply(a, job, reply);
    if (strncmp(job->effect, "prompt", 6) == 0) {
        a->report->asked++;
        return prompt_reply(a, job, reply);
    }
    if (strcmp(job->effect, "links") == 0)
        return pawl_reply_json(reply, "{}");
    if (strcmp(job->effect, "mode") == 0)
        return same(job, reply);
    return pawl_reply_json(reply, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"1\\n\"}");
}
