/* args.c - checks the arguments of a model call once, so that writers of requests need not.
 *
 * Called by llm.c, script.c and record.c, on the handler's thread. Pure. */
#include "effect/llm/llm.h"

#include <stdio.h>

enum { WHERE_BYTES = 64, TOOLS_MAX = 1000, STOPS_MAX = 64 };
#define TOKENS_MAX INT64_C(100000000)

typedef struct args_reading {
    const pawl_job *job;
    pawl_reply *r;
    char where[WHERE_BYTES];    /* "messages[3].content[0]" */
} args_reading;

static pawl_code wrong(const args_reading *at, const char *what)
{
    return pawl_reply_fail(at->r, PAWL_INVALID, "%s: %s%s", at->job->effect, at->where, what);
}

bool llm_is(const pawl_value *object, const char *type)
{
    const char *is = pawl_value_string(pawl_value_get(object, "type"));

    return is != NULL && strcmp(is, type) == 0;
}

const char *llm_text(const pawl_value *object, const char *key)
{
    const char *text = pawl_value_string(pawl_value_get(object, key));

    return text != NULL ? text : "";
}

static bool has_text(const pawl_value *object, const char *key)
{
    return pawl_value_type(pawl_value_get(object, key)) == PAWL_TYPE_STRING;
}

static bool has_name(const pawl_value *object, const char *key)
{
    return text_whole(pawl_value_get(object, key)) && *llm_text(object, key) != '\0';
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

/* The members that a block of each type must have, and who may send it: user, assistant, tool. */
static const struct { const char *type; const char *texts[2]; bool user, assistant, tool; } kinds[] = {
    { "text", { "text" }, true, true, true },
    { "image", { "media_type", "data" }, true, false, true },
    { "thinking", { "thinking" }, false, true, false },
    { "redacted_thinking", { "data" }, false, true, false },
    { "tool_use", { "id", "name" }, false, true, false },
    { "tool_result", { NULL }, false, false, false },   /* is a message of its own */
};

static pawl_code block_check(const args_reading *at, const pawl_value *block, const char *role)
{
    const char *type = llm_text(block, "type");

    if (pawl_value_type(block) != PAWL_TYPE_OBJECT || *type == '\0')
        return wrong(at, " is no object with a \"type\"");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(type, kinds[i].type) != 0)
            continue;
        if (!(*role == 'u' ? kinds[i].user : *role == 'a' ? kinds[i].assistant : kinds[i].tool))
            return pawl_reply_fail(at->r, PAWL_INVALID, "%s: %s: a message of role %s has no block \"%s\"", at->job->effect, at->where, role, type);
        for (size_t k = 0; k < 2 && kinds[i].texts[k] != NULL; k++)
            if (!has_text(block, kinds[i].texts[k]))
                return pawl_reply_fail(at->r, PAWL_INVALID, "%s: %s: \"%s\" is no string", at->job->effect, at->where, kinds[i].texts[k]);
        if (strcmp(type, "tool_use") == 0 && pawl_value_type(pawl_value_get(block, "input")) != PAWL_TYPE_OBJECT)
            return wrong(at, ": \"input\" is no object");
        return PAWL_OK;
    }
    return *role == 't' ? wrong(at, ": a tool answers with text and images") : PAWL_OK;
}

static pawl_code message_check(args_reading *at, const pawl_value *m, size_t index)
{
    static const char *const roles[] = { "user", "assistant", "tool" };
    const char *role = llm_text(m, "role");
    const pawl_value *content = pawl_value_get(m, "content"), *block;
    pawl_iter it = pawl_iter_of(content);
    pawl_code rc = PAWL_OK;
    size_t i = 0;

    snprintf(at->where, sizeof at->where, "messages[%zu]", index);
    while (i < 3 && strcmp(role, roles[i]) != 0)
        i++;
    if (i == 3)
        return wrong(at, ": \"role\" is user, assistant or tool");
    if (*role == 't' && (!has_name(m, "tool_call_id") || !has_text(m, "name")))
        return wrong(at, ": the answer of a tool has \"tool_call_id\" and \"name\"");
    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        return PAWL_OK;
    if (pawl_value_type(content) != PAWL_TYPE_ARRAY)
        return wrong(at, ": \"content\" is no text and no list of blocks");
    for (i = 0; rc == PAWL_OK && (block = pawl_iter_next(&it, NULL)) != NULL; i++) {
        snprintf(at->where, sizeof at->where, "messages[%zu].content[%zu]", index, i);
        rc = block_check(at, block, role);
    }
    return rc;
}

static pawl_code messages_check(args_reading *at, llm_request *out)
{
    const pawl_value *m;
    pawl_iter it = pawl_iter_of(out->messages);
    pawl_code rc = PAWL_OK;

    if (pawl_value_type(out->messages) != PAWL_TYPE_ARRAY || pawl_value_size(out->messages) == 0)
        return wrong(at, "\"messages\" is no list, or is empty");
    if (pawl_value_size(out->messages) > LLM_MESSAGES_MAX)
        return pawl_reply_fail(at->r, PAWL_LIMIT, "%s: more than %d messages (LLM_MESSAGES_MAX)", at->job->effect, LLM_MESSAGES_MAX);
    out->turn = 1;
    for (size_t i = 0; rc == PAWL_OK && (m = pawl_iter_next(&it, NULL)) != NULL; i++) {
        rc = message_check(at, m, i);
        out->turn += *llm_text(m, "role") == 'a' ? 1 : 0;
    }
    at->where[0] = '\0';
    return rc;
}

/* ---- the other arguments -------------------------------------------------------------------------------------- */

static pawl_code tools_check(args_reading *at, llm_request *out)
{
    const char *choice = out->tool_choice;
    const pawl_value *tool;
    pawl_iter it = pawl_iter_of(out->tools);
    bool found = choice == NULL || strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0 || strcmp(choice, "any") == 0;

    if (out->tools != NULL && pawl_value_type(out->tools) != PAWL_TYPE_ARRAY)
        return wrong(at, "\"tools\" is no list");
    if (pawl_value_size(out->tools) > TOOLS_MAX)
        return pawl_reply_fail(at->r, PAWL_LIMIT, "%s: more than %d tools", at->job->effect, TOOLS_MAX);
    for (size_t i = 0; (tool = pawl_iter_next(&it, NULL)) != NULL; i++) {
        const pawl_value *schema = pawl_value_get(tool, "input_schema");

        snprintf(at->where, sizeof at->where, "tools[%zu]", i);
        if (!has_name(tool, "name") || pawl_value_type(schema) != PAWL_TYPE_OBJECT)
            return wrong(at, " has no \"name\", or no \"input_schema\" that is an object");
        if (pawl_value_get(tool, "description") != NULL && !has_text(tool, "description"))
            return wrong(at, ": \"description\" is no string");
        if (out->schema != NULL && strcmp(llm_text(tool, "name"), LLM_OUTPUT) == 0)
            return wrong(at, ": with a \"schema\" no tool can be called \"" LLM_OUTPUT "\"");
        found = found || strcmp(llm_text(tool, "name"), choice) == 0;
    }
    at->where[0] = '\0';
    if (pawl_value_size(out->tools) == 0)
        out->tools = NULL;
    if (!found)
        return pawl_reply_fail(at->r, PAWL_INVALID, "%s: \"tool_choice\" is auto, none, any or a tool, and there is no tool \"%s\"", at->job->effect, choice);
    return PAWL_OK;
}

static pawl_code stop_check(const args_reading *at, const pawl_value *stop)
{
    const pawl_value *one;
    pawl_iter it = pawl_iter_of(stop);

    if (stop != NULL && (pawl_value_type(stop) != PAWL_TYPE_ARRAY || pawl_value_size(stop) > STOPS_MAX))
        return wrong(at, "\"stop\" is no list of texts, or a long one");
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(one) != PAWL_TYPE_STRING || pawl_value_size(one) == 0)
            return wrong(at, "\"stop\" is no list of texts that are not empty");
    return PAWL_OK;
}

static pawl_code others_check(args_reading *at, llm_request *out)
{
    static const char *const thinking_names[] = { "budget_tokens" };
    const pawl_value *args = at->job->args, *cache = pawl_value_get(args, "cache"), *thinking = pawl_value_get(args, "thinking"), *schema;
    const pawl_value *temperature = pawl_value_get(args, "temperature");
    pawl_job inner = *at->job;
    pawl_code rc;

    if (temperature != NULL && pawl_value_type(temperature) != PAWL_TYPE_INT && pawl_value_type(temperature) != PAWL_TYPE_REAL)
        return wrong(at, "\"temperature\" is no number");
    if (cache != NULL && pawl_value_type(cache) != PAWL_TYPE_BOOL)
        return wrong(at, "\"cache\" is true or false");
    schema = pawl_value_get(args, "schema");
    if (schema != NULL && pawl_value_type(schema) != PAWL_TYPE_OBJECT)
        return wrong(at, "\"schema\" is no object");
    if (thinking != NULL) {
        if (pawl_value_type(thinking) != PAWL_TYPE_OBJECT)
            return wrong(at, "\"thinking\" is {\"budget_tokens\":N}");
        inner.args = thinking;
        if ((rc = args_known(&inner, at->r, thinking_names, 1)) != PAWL_OK ||
            (rc = args_count(&inner, at->r, "budget_tokens", TOKENS_MAX, &out->budget_tokens)) != PAWL_OK)
            return rc;
        if (out->budget_tokens == 0)
            return wrong(at, "\"thinking\" is {\"budget_tokens\":N}");
    }
    out->temperature = temperature;
    out->cache = cache == NULL || pawl_value_bool(cache);
    out->schema = schema;
    return PAWL_OK;
}

/* "PROVIDER/NAME", where the name may contain slashes, or "script:PATH". */
static pawl_code model_read(const args_reading *at, arena *mem, const char *model, llm_request *out)
{
    const char *slash = model != NULL ? strchr(model, '/') : NULL;

    if (model != NULL && strncmp(model, "script:", 7) == 0) {
        out->provider = "script";
        out->model = model;
        return PAWL_OK;
    }
    if (slash == NULL || slash == model || slash[1] == '\0')
        return wrong(at, "\"model\" is PROVIDER/NAME");
    for (const char *p = model; p < slash; p++)
        if ((*p < 'a' || *p > 'z') && (*p < '0' || *p > '9') && *p != '-' && *p != '_')
            return wrong(at, "the provider in \"model\" is in lower case, with digits, - and _");
    out->provider = arena_strdup(mem, model, (size_t)(slash - model));
    out->model = slash + 1;
    return out->provider != NULL ? PAWL_OK : pawl_reply_fail(at->r, PAWL_NOMEM, "%s: no memory", at->job->effect);
}

pawl_code llm_request_read(const pawl_job *job, pawl_reply *r, arena *mem, llm_request *out)
{
    static const char *const names[] = { "model", "messages", "system", "tools", "tool_choice", "max_tokens", "temperature", "thinking",
                                         "schema", "stop", "cache", "node", "decision", "retry" };
    args_reading at = { .job = job, .r = r };
    const char *model = NULL;
    pawl_code rc = args_known(job, r, names, sizeof names / sizeof *names);

    *out = (llm_request){ 0 };
    if (rc != PAWL_OK || (rc = args_text(job, r, "model", &model)) != PAWL_OK || (rc = model_read(&at, mem, model, out)) != PAWL_OK ||
        (rc = args_text(job, r, "system", &out->system)) != PAWL_OK || (rc = args_text(job, r, "tool_choice", &out->tool_choice)) != PAWL_OK ||
        (rc = args_count(job, r, "max_tokens", TOKENS_MAX, &out->max_tokens)) != PAWL_OK || (rc = others_check(&at, out)) != PAWL_OK)
        return rc;
    out->messages = pawl_value_get(job->args, "messages");
    out->tools = pawl_value_get(job->args, "tools");
    out->stop = pawl_value_get(job->args, "stop");
    if ((rc = messages_check(&at, out)) != PAWL_OK || (rc = tools_check(&at, out)) != PAWL_OK || (rc = stop_check(&at, out->stop)) != PAWL_OK)
        return rc;
    if (pawl_value_size(out->stop) == 0)
        out->stop = NULL;
    return PAWL_OK;
}

/* ---- flat --------------------------------------------------------------------------------------------------------- */

/* Joins the texts, omitting null, with a blank line between them; NULL: it is not a list of texts. */
static const pawl_value *system_join(arena *mem, const pawl_value *list)
{
    const pawl_value *one, *out = NULL;
    pawl_iter it = pawl_iter_of(list);
    bool texts = true;
    buf b;

    buf_init(&b, &mem->alloc);
    while (texts && (one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_type type = pawl_value_type(one);

        texts = type == PAWL_TYPE_STRING || type == PAWL_TYPE_NULL;
        if (type == PAWL_TYPE_STRING && pawl_value_size(one) > 0) {
            buf_text(&b, b.size > 0 ? "\n\n" : "");
            buf_put(&b, pawl_value_string(one), pawl_value_size(one));
        }
    }
    if (texts && !b.failed)
        out = value_string(mem, b.size > 0 ? b.data : "", b.size);
    mem->failed = mem->failed || b.failed;
    buf_free(&b);
    return out;
}

static bool is_given(const pawl_value *v)
{
    return pawl_value_type(v) != PAWL_TYPE_NULL;
}

static bool all_given(const pawl_value *object)
{
    const pawl_value *v;
    pawl_iter it = pawl_iter_of(object);

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (!is_given(v))
            return false;
    return true;
}

/* `over` laid over `under`; both may be NULL. */
static const pawl_value *lay(arena *mem, const pawl_value *under, const pawl_value *over, const pawl_value *const without[3])
{
    const pawl_value *key, *v;
    pawl_iter it = pawl_iter_of(over);

    while ((v = pawl_iter_next(&it, &key)) != NULL && under != NULL)
        if (v != without[0] && v != without[1] && v != without[2] && is_given(v))
            under = value_with(mem, under, pawl_value_string(key), v);
    return under;
}

static const pawl_value *first_of(arena *mem, const pawl_value *list, uint64_t n)
{
    const pawl_value *one, *out = value_pack(mem, NULL, "[]");
    pawl_iter it = pawl_iter_of(list);

    if (pawl_value_size(list) <= n)
        return list;
    while (n-- > 0 && (one = pawl_iter_next(&it, NULL)) != NULL)
        out = value_push(mem, out, one);
    return out;
}

const pawl_value *llm_args_flat(arena *mem, const pawl_value *args)
{
    const pawl_value *config = pawl_value_get(args, "config"), *system = pawl_value_get(args, "system"), *then = pawl_value_get(args, "then");
    const pawl_value *messages = pawl_value_get(args, "messages"), *upto = pawl_value_get(args, "upto"), *out, *v;
    const bool based = pawl_value_type(config) == PAWL_TYPE_OBJECT, listed = pawl_value_type(system) == PAWL_TYPE_ARRAY;
    const bool more = pawl_value_type(then) == PAWL_TYPE_STRING && pawl_value_type(messages) == PAWL_TYPE_ARRAY;
    const bool fewer = pawl_value_type(upto) == PAWL_TYPE_INT && pawl_value_int(upto) >= 0 && pawl_value_type(messages) == PAWL_TYPE_ARRAY;

    if (pawl_value_type(args) != PAWL_TYPE_OBJECT || (!based && !listed && !more && !fewer && all_given(args)))
        return args;
    out = lay(mem, value_pack(mem, NULL, "{}"), based ? config : NULL, (const pawl_value *const[3]){ NULL });
    out = lay(mem, out, args, (const pawl_value *const[3]){ based ? config : NULL, more ? then : NULL, fewer ? upto : NULL });
    if (listed && (v = system_join(mem, system)) != NULL)
        out = value_with(mem, out, "system", v);
    if (fewer)
        out = value_with(mem, out, "messages", messages = first_of(mem, messages, pawl_value_uint(upto)));
    if (more)
        out = value_with(mem, out, "messages", value_push(mem, messages, value_pack(mem, NULL, "{s:s,s:v}", "role", "user", "content", then)));
    return mem->failed ? NULL : out;
}

/* ---- what requests need -------------------------------------------------------------------------------------- */

void llm_put_text(buf *b, const char *name, const char *text)
{
    buf_text(b, name);
    canon_string(b, text, strlen(text));
}

void llm_put_value(buf *b, const char *name, const pawl_value *v)
{
    buf_text(b, name);
    canon(b, v);
}

bool llm_schema_wraps(const pawl_value *schema)
{
    return !llm_is(schema, "object");
}

void llm_put_schema(buf *b, const pawl_value *schema)
{
    static const char *const kept[] = { "$defs", "definitions" };

    if (!llm_schema_wraps(schema)) {
        canon(b, schema);
        return;
    }
    buf_text(b, "{\"type\":\"object\",\"required\":[\"value\"]");
    for (size_t i = 0; i < 2; i++)
        if (pawl_value_get(schema, kept[i]) != NULL) {
            llm_put_text(b, ",", kept[i]);
            llm_put_value(b, ":", pawl_value_get(schema, kept[i]));
        }
    llm_put_value(b, ",\"properties\":{\"value\":", schema);
    buf_text(b, "}}");
}

const pawl_value *llm_blocks(arena *mem, const pawl_value *message)
{
    const pawl_value *content = pawl_value_get(message, "content");

    return pawl_value_type(content) == PAWL_TYPE_STRING ? value_pack(mem, NULL, "[{s:s,s:v}]", "type", "text", "text", content) : content;
}

static bool sent(arena *mem, const pawl_value *m, llm_sends_fn *sends, bool assistant)
{
    const pawl_value *block;
    pawl_iter it = pawl_iter_of(llm_blocks(mem, m));

    if (*llm_text(m, "role") == 't')
        return true;
    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (sends(block, assistant))
            return true;
    return false;
}

bool llm_turns(arena *mem, const llm_request *q, llm_sends_fn *sends, llm_turn **out, size_t *n)
{
    const size_t most = pawl_value_size(q->messages);
    const pawl_value **all = arena_get(mem, most * sizeof *all), *m;
    llm_turn *turns = arena_get(mem, most * sizeof *turns);
    pawl_iter it = pawl_iter_of(q->messages);
    size_t count = 0, used = 0;

    if (all == NULL || turns == NULL)
        return false;
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        const bool assistant = *llm_text(m, "role") == 'a';

        if (!sent(mem, m, sends, assistant))
            continue;
        if (count == 0 || turns[count - 1].assistant != assistant)
            turns[count++] = (llm_turn){ .assistant = assistant, .messages = all + used };
        all[used++] = m;
        turns[count - 1].n++;
    }
    *out = turns;
    *n = count;
    return true;
}

const char *llm_last_text(arena *mem, const pawl_value *messages)
{
    const pawl_value *m, *last = NULL, *block;
    pawl_iter it = pawl_iter_of(messages);
    char *out;
    size_t n = 0;

    while ((m = pawl_iter_next(&it, NULL)) != NULL)
        if (*llm_text(m, "role") == 'u')
            last = m;
    if (last == NULL)
        return "";
    last = pawl_value_get(last, "content");
    if (pawl_value_type(last) == PAWL_TYPE_STRING)
        return pawl_value_string(last);
    for (it = pawl_iter_of(last); (block = pawl_iter_next(&it, NULL)) != NULL;)
        n += strlen(llm_text(block, "text")) + 1;
    if ((out = arena_get(mem, n + 1)) == NULL)
        return NULL;
    n = 0;
    for (it = pawl_iter_of(last); (block = pawl_iter_next(&it, NULL)) != NULL;) {
        const char *text = llm_text(block, "text");
        const size_t size = strlen(text);

        if (!llm_is(block, "text"))
            continue;
        if (n > 0)
            out[n++] = '\n';
        memcpy(out + n, text, size);
        n += size;
    }
    out[n] = '\0';
    return out;
}
