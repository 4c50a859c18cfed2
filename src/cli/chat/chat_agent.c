/* chat_agent.c - the agent of a chat without a file, from the options of the call and of its client, and the settings of its requests.
 *
 * Called by chat.c on the main thread; chat_config() by the listener, too, which owns no session. */
#include "cli/chat/chat.h"
#include "policy/hook.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 4096 };

static const char own_system[] =
    "You are an agent in a terminal. Work in the workspace with the tools that you have: look before you change something, change as little as the task needs, and "
    "check what you did. When a tool is denied, say so, and do what can be done without it. Answer briefly, in plain text.";

/* ---- its model ------------------------------------------------------------------------------------------ */

const char *chat_model(chat *k, arena *mem, const char *word)
{
    buf b;
    const char *out;

    if (word == NULL || !k->c->bare || strchr(word, '/') != NULL || strncmp(word, "script:", 7) == 0)
        return word;
    buf_init(&b, NULL);         /* SDKs for Claude name its models without the provider */
    buf_fmt(&b, "anthropic/%s", word);
    out = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* ---- its system prompt ----------------------------------------------------------------------------------- */

/* A text, or a list of texts, as clients send it. False: it is neither. */
static bool text_add(buf *out, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one;

    if (pawl_value_type(v) == PAWL_TYPE_STRING) {
        buf_put(out, pawl_value_string(v), pawl_value_size(v));
        return true;
    }
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        if (pawl_value_type(one) != PAWL_TYPE_STRING)
            return false;
        buf_text(out, out->size > 0 ? "\n\n" : "");
        buf_put(out, pawl_value_string(one), pawl_value_size(one));
    }
    return pawl_value_type(v) == PAWL_TYPE_ARRAY;
}

static bool file_add(chat *k, buf *out, const char *path, pawl_err *err)
{
    pawl_bytes text;

    if (read_disk(&k->c->mem, path, &text, err) != PAWL_OK)
        return false;
    buf_put(out, text.data, text.size);
    return true;
}

const pawl_value *chat_system(chat *k, pawl_err *err)
{
    const char *text = cli_given(k->c, "system-prompt"), *file = cli_given(k->c, "system-prompt-file"), *more = cli_given(k->c, "append-system-prompt");
    const pawl_value *whole = pawl_value_get(k->hello, "systemPrompt"), *added = pawl_value_get(k->hello, "appendSystemPrompt"), *v = NULL;
    buf b;

    buf_init(&b, NULL);
    if (text != NULL && file != NULL)
        fail(err, PAWL_INVALID, "--system-prompt or --system-prompt-file, not both");
    else if (whole != NULL && pawl_value_type(whole) != PAWL_TYPE_NULL && !text_add(&b, whole))
        fail(err, PAWL_INVALID, "initialize: systemPrompt is a text, or a list of texts");
    else if (text != NULL)
        buf_text(&b, text);
    else if (file != NULL)
        (void)file_add(k, &b, file, err);
    else if (whole == NULL || pawl_value_type(whole) == PAWL_TYPE_NULL)
        buf_text(&b, own_system);
    if (more != NULL)
        buf_fmt(&b, "%s%s", b.size > 0 ? "\n\n" : "", more);
    if (added != NULL && pawl_value_type(added) != PAWL_TYPE_NULL && pawl_value_type(added) != PAWL_TYPE_STRING && err->code == PAWL_OK)
        fail(err, PAWL_INVALID, "initialize: appendSystemPrompt is a text");
    if (pawl_value_string(added) != NULL)
        buf_fmt(&b, "%s%s", b.size > 0 ? "\n\n" : "", pawl_value_string(added));
    if (err->code == PAWL_OK && !b.failed && !utf8_valid(b.data != NULL ? b.data : "", b.size))
        fail(err, PAWL_INVALID, "the system prompt is no UTF-8");
    if (err->code == PAWL_OK)
        v = b.failed ? NULL : value_string(&k->c->mem, b.data != NULL ? b.data : "", b.size);
    buf_free(&b);
    if (v == NULL && err->code == PAWL_OK)
        fail(err, PAWL_NOMEM, "no memory for the system prompt");
    return v;
}

static bool has_text(const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_size(one) > 0)
            return true;
    return pawl_value_type(v) == PAWL_TYPE_STRING && pawl_value_size(v) > 0;
}

/* An empty one is what SDKs give where their caller gives none. */
const pawl_value *chat_system_again(chat *k, const pawl_value *was, pawl_err *err)
{
    static const char *const options[] = { "system-prompt", "system-prompt-file", "append-system-prompt" };
    const pawl_value *now;
    bool given = has_text(pawl_value_get(k->hello, "systemPrompt")) || has_text(pawl_value_get(k->hello, "appendSystemPrompt"));

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        given = given || (cli_given(k->c, options[i]) != NULL && *cli_given(k->c, options[i]) != '\0');
    now = given ? chat_system(k, err) : NULL;
    return now != NULL && (was == NULL || !pawl_value_equal(now, was)) ? now : NULL;
}

/* ---- its tools ------------------------------------------------------------------------------------------------ */

const char *chat_word(const chat *k, const char *name, const char *rule)
{
    if (!k->c->bare || rule == NULL)
        return name;
    return hook_tool_elsewhere(rule);
}

static const pawl_value *tool_named(chat *k, session *known, const char *word, size_t size, pawl_err *err)
{
    const pawl_agent_tool *t;

    for (size_t i = 0; (t = session_tool(known, i)) != NULL; i++) {
        const char *words[] = { t->name, t->rule, chat_word(k, t->name, t->rule) };

        for (size_t n = 0; n < sizeof words / sizeof *words; n++)
            if (words[n] != NULL && strlen(words[n]) == size && memcmp(words[n], word, size) == 0)
                return value_string(&k->c->mem, t->name, strlen(t->name));
    }
    fail(err, PAWL_INVALID, "--tools: there is no tool \"%.*s\" here; docs/TOOLS.md lists those that there are", (int)(size < 60 ? size : 60), word);
    return NULL;
}

static const pawl_value *tools_given(chat *k, pawl_err *err)
{
    const char *list = cli_given(k->c, "tools");
    const pawl_value *all = value_pack(&k->c->mem, NULL, "[]"), *one;
    session *known;

    if (list == NULL || strcmp(list, "default") == 0)
        return value_pack(&k->c->mem, NULL, "s", "all");
    if ((known = session_new(&k->c->app)) == NULL)
        fail(err, PAWL_NOMEM, "no memory for tools");
    while (known != NULL && err->code == PAWL_OK && *(list += strspn(list, ", ")) != '\0') {
        const size_t size = strcspn(list, ", ");

        if ((one = tool_named(k, known, list, size, err)) != NULL)
            all = value_push(&k->c->mem, all, one);
        list += size;
    }
    session_free(known);
    return err->code == PAWL_OK ? all : NULL;
}

/* A program that continues a conversation gives its tools again; the run keeps those that it began with. */
pawl_code chat_tools_again(chat *k, pawl_err *err)
{
    const pawl_agent *a = &k->s->of->agent->a;
    const pawl_value *given, *one;
    size_t n = 0;
    pawl_iter it;

    if (cli_given(k->c, "tools") == NULL)
        return PAWL_OK;
    if ((given = tools_given(k, err)) == NULL)
        return err->code;
    if (pawl_value_type(given) == PAWL_TYPE_STRING)
        while (session_tool(k->s, n) != NULL)
            n++;
    it = pawl_iter_of(given);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        size_t i = 0;

        while (i < a->ntools && strcmp(a->tools[i].name, pawl_value_string(one)) != 0)
            i++;
        if (i == a->ntools)
            return fail(err, PAWL_INVALID, "--tools: %s is none of the tools that %s began with, and a conversation keeps them", pawl_value_string(one),
                        k->s->run);
        n++;
    }
    return n == a->ntools ? PAWL_OK : fail(err, PAWL_INVALID, "--tools: %s began with other tools, and a conversation keeps them", k->s->run);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

session *chat_session(chat *k, int *code)
{
    cli_call *c = k->c;
    const char *model = cli_given(c, "model") != NULL ? cli_given(c, "model") : getenv("PAWL_MODEL");
    const pawl_value *v = NULL, *system, *tools = NULL;
    session *s = NULL;
    pawl_err err = {0};
    buf b;

    if (model == NULL || *model == '\0') {
        *code = cli_usage(c, "no model is named: --model PROVIDER/NAME or PAWL_MODEL, such as anthropic/NAME, openai/NAME or ollama/NAME; or an agent FILE that has one");
        return NULL;
    }
    if ((system = chat_system(k, &err)) != NULL && (tools = tools_given(k, &err)) != NULL)
        v = value_pack(&c->mem, NULL, "{s:{s:s,s:s,s:v,s:v}}", "agent", "model", chat_model(k, &c->mem, model), "name", "chat", "system", system, "tools",
                       tools);
    if (v != NULL && c->bare)   /* as its clients know it: the model receives a denial, and only an interrupt ends the turn */
        v = value_with(&c->mem, v, "agent", value_with(&c->mem, pawl_value_get(v, "agent"), "denied", value_pack(&c->mem, NULL, "s", "tell")));
    if (v != NULL && k->attempts > 0)
        v = value_with(&c->mem, v, "agent", value_with(&c->mem, pawl_value_get(v, "agent"), "retry",
                                                       value_pack(&c->mem, NULL, "{s:i}", "max_attempts", (int64_t)k->attempts)));
    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    if (err.code != PAWL_OK)
        *code = cli_fail(c, err.code, &err);
    else if (v == NULL || b.failed)
        *code = cli_fail(c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no memory for an agent" });
    else
        s = session_of_text(c, "chat.json", (pawl_bytes){ b.data, b.size }, code);
    buf_free(&b);
    return s;
}

/* ---- the settings of its requests ------------------------------------------------------------------------------------ */

/* Those of its file; NULL: no memory. */
static const pawl_value *config_of(const pawl_agent *a, arena *mem)
{
    const pawl_value *v = a->options != NULL ? value_parse(mem, a->options, strlen(a->options), "options", NULL) : value_pack(mem, NULL, "{}");

    v = value_with(mem, v, "max_tokens", value_int(mem, a->max_tokens > 0 ? a->max_tokens : MAX_TOKENS));
    return value_with(mem, v, "model", value_string(mem, a->model, strlen(a->model)));
}

const pawl_value *chat_config(const chat *k, arena *mem, const pawl_value *was, const chat_request_settings *set, pawl_err *err)
{
    const session *s = k->s;
    const pawl_agent *a = &s->of->agent->a;
    const pawl_value *v = was != NULL ? was : config_of(a, mem);
    const char *now = pawl_value_string(pawl_value_get(v, "model"));

    if (set->model != NULL && (now == NULL || strcmp(set->model, now) != 0)) {
        if (strcmp(set->model, a->model) != 0 && (strchr(set->model, '/') == NULL || strncmp(set->model, "script:", 7) == 0))
            fail(err, PAWL_INVALID, "model %.64s: write it as PROVIDER/NAME, because the agent file names a model", set->model);
        else if (s->file->caps.micros > 0 && price_of(s->file, set->model) == NULL)
            fail(err, PAWL_INVALID, "model %.64s: its budget of money needs the price of it, in the file of `prices`", set->model);
        v = value_with(mem, v, "model", value_string(mem, set->model, strlen(set->model)));
    }
    if (set->turns > 0)
        v = value_with(mem, v, "max_iterations", value_int(mem, (int64_t)set->turns));
    if (set->thinking > 0) {
        v = value_with(mem, v, "thinking", value_pack(mem, NULL, "{s:i}", "budget_tokens", (int64_t)set->thinking));
        v = value_with(mem, v, "max_tokens", value_int(mem, (int64_t)set->thinking + (a->max_tokens > 0 ? a->max_tokens : MAX_TOKENS)));
    }
    if (v == NULL)
        fail(err, PAWL_NOMEM, "no memory");
    return err->code == PAWL_OK ? v : NULL;
}
