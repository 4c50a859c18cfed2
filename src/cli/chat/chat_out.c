/* chat_out.c - writes frames during a turn: reads the items of the run and of its children on a thread of its own.
 *
 * Owns the reader's thread of `pawl chat -p`, its sources and what it kept of the turn. Called by chat.c on the main thread to begin and end it; all else
 * is of the reader's thread. chat_write() is of any thread, under `writing`. */
#include "host/open_questions.h"
#include "app/settings.h"
#include "cli/chat/chat.h"
#include "cli/ui/format.h"
#include "effect/effect.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const int64_t open_ms = 5;

void chat_write(chat *k, const pawl_value *v)
{
    pthread_mutex_lock(&k->writing);
    cli_json(k->c, v);
    fflush(stdout);
    pthread_mutex_unlock(&k->writing);
}

void chat_write_line(chat *k, const buf *line)
{
    pthread_mutex_lock(&k->writing);
    cli_put(k->c, line);
    fflush(stdout);
    pthread_mutex_unlock(&k->writing);
}

const pawl_value *chat_uuid(arena *mem)
{
    unsigned char b[16] = {0};
    char text[37];
    size_t n = 0;

    (void)getrandom(b, sizeof b, 0);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof b; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return value_string(mem, text, n);
}

static void frame(chat *k, const pawl_value *v, chat_source *of)
{
    arena *mem = &k->scratch;

    if (k->format != CHAT_STREAM)
        return;
    v = value_with(mem, v, "uuid", chat_uuid(mem));
    v = value_with(mem, v, "parent_tool_use_id", of->call != NULL ? value_string(mem, of->call, strlen(of->call)) : value_null(mem));
    chat_write(k, value_with(mem, v, "session_id", value_string(mem, k->s->run, strlen(k->s->run))));
}

/* The tool of that name, as its model knows it. */
static const pawl_agent_tool *tool_of(const chat *k, const char *name)
{
    const pawl_agent *a = &k->s->of->agent->a;

    for (size_t i = 0; name != NULL && i < a->ntools; i++)
        if (strcmp(a->tools[i].name, name) == 0)
            return &a->tools[i];
    return NULL;
}

const char *chat_tool_word(const chat *k, const char *name)
{
    const pawl_agent_tool *t = tool_of(k, name);

    return t != NULL ? chat_word(k, name, t->rule) : name;
}

/* Members that SDKs for agents read beside its content; "2.0.0" is the version of the protocol. */
static const pawl_value *init_more(arena *mem, const pawl_value *v)
{
    char version[64];

    snprintf(version, sizeof version, "2.0.0 (pawl %s)", pawl_version());
    v = value_with(mem, v, "claude_code_version", value_string(mem, version, strlen(version)));
    v = value_with(mem, v, "apiKeySource", value_pack(mem, NULL, "s", "user"));
    v = value_with(mem, v, "output_style", value_pack(mem, NULL, "s", "default"));
    v = value_with(mem, v, "slash_commands", value_pack(mem, NULL, "[]"));
    v = value_with(mem, v, "skills", value_pack(mem, NULL, "[]"));
    v = value_with(mem, v, "plugins", value_pack(mem, NULL, "[]"));
    v = value_with(mem, v, "agents", value_pack(mem, NULL, "[]"));
    return value_with(mem, v, "uuid", chat_uuid(mem));
}

void chat_init_frame(chat *k, pawl_mode mode, const char *model)
{
    static const char *const can[] = { "interrupt", "can_use_tool", "set_permission_mode", "set_model" };
    const pawl_agent *a = &k->s->of->agent->a;
    arena *mem = &k->c->mem;
    const pawl_value *tools = value_pack(mem, NULL, "[]"), *capabilities = value_pack(mem, NULL, "[]"), *changed, *v;
    pawl_err err = {0};

    k->model = arena_text(mem, model);
    if (k->format != CHAT_STREAM)
        return;
    for (size_t i = 0; i < a->ntools; i++) {
        const char *word = chat_tool_word(k, a->tools[i].name);

        tools = value_push(mem, tools, value_string(mem, word, strlen(word)));
    }
    for (size_t i = 0; i < sizeof can / sizeof *can; i++)
        capabilities = value_push(mem, capabilities, value_string(mem, can[i], strlen(can[i])));
    v = value_pack(mem, NULL, "{s:v,s:s,s:[],s:s,s:s,s:s,s:s,s:v,s:s}", "capabilities", capabilities, "cwd", k->s->folder, "mcp_servers", "model", model,
                   "permissionMode", pawl_mode_name(mode), "session_id", k->s->run, "subtype", "init", "tools", tools, "type", "system");
    changed = settings_changed(mem, k->s->folder, &err);
    if (pawl_value_size(changed) > 0)           /* what was settled before says so to a person */
        v = value_with(mem, v, "untrusted", changed);
    if (k->s->instructions_changed != NULL)
        v = value_with(mem, v, "instructions_changed", k->s->instructions_changed);
    k->first = init_more(mem, v);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

static const pawl_value *tokens_of(arena *mem, const int64_t usage[4])
{
    return value_pack(mem, NULL, "{s:i,s:i,s:i,s:i}", "cache_creation_input_tokens", usage[3], "cache_read_input_tokens", usage[2], "input_tokens", usage[0],
                      "output_tokens", usage[1]);
}

/* An image has its data in a `source`, as clients know it. */
static const pawl_value *content_shown(arena *mem, const pawl_value *content)
{
    const pawl_value *all = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) != PAWL_TYPE_ARRAY)
        return content;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *type = pawl_value_string(pawl_value_get(one, "type"));

        if (type != NULL && strcmp(type, "image") == 0 && pawl_value_get(one, "data") != NULL && pawl_value_get(one, "media_type") != NULL)
            one = value_pack(mem, NULL, "{s:{s:v,s:v,s:s},s:s}", "source", "data", pawl_value_get(one, "data"), "media_type", pawl_value_get(one, "media_type"),
                             "type", "base64", "type", "image");
        all = value_push(mem, all, one);
    }
    return all;
}

/* The result of a tool, as a message of the user. */
static const pawl_value *tool_result(chat *k, const pawl_value *m)
{
    arena *mem = &k->scratch;
    const pawl_value *one = value_pack(mem, NULL, "{s:v,s:v,s:s}", "content", content_shown(mem, pawl_value_get(m, "content")), "tool_use_id",
                                       pawl_value_get(m, "tool_call_id"), "type", "tool_result");

    if (pawl_value_bool(pawl_value_get(m, "is_error")))
        one = value_with(mem, one, "is_error", value_bool(mem, true));
    return value_pack(mem, NULL, "{s:{s:[v],s:s},s:s}", "message", "content", one, "role", "user", "type", "user");
}

/* Copied into the memory of the turn: it outlives the event. */
static const pawl_value *kept(chat *k, const pawl_value *v)
{
    const pawl_value *out = NULL;
    buf b;

    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    if (v != NULL && !b.failed)
        out = value_parse(&k->mem, b.data, b.size, "an item", NULL);
    buf_free(&b);
    return out;
}

/* Whoever reads only the answer would not know that a call was denied. */
static void print_denied(const chat *k, const char *name, const char *word, const pawl_value *input)
{
    const pawl_agent_tool *t = name != NULL ? tool_of(k, name) : NULL;
    buf b;

    if (k->format == CHAT_STREAM || k->c->bare)
        return;
    buf_init(&b, NULL);
    words_input(&b, input);
    buf_char(&b, '\0');
    cli_note(k->c, "denied: %s %s; to be asked: --ask wait; to allow all such calls: \"%s\" under `allow` in `permissions`", word, b.failed ? "" : b.data,
             t != NULL && t->rule != NULL ? t->rule : word);
    buf_free(&b);
}

static void denied(chat *k, const pawl_value *tool, const pawl_value *id)
{
    pawl_iter it = pawl_iter_of(k->turn.denials);
    const pawl_value *one, *input;
    const char *word;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_equal(pawl_value_get(one, "tool_use_id"), id))
            return;
    if (k->turn.denials == NULL)
        k->turn.denials = value_pack(&k->mem, NULL, "[]");
    if ((input = pawl_value_get(k->inputs_of, pawl_value_string(id) != NULL ? pawl_value_string(id) : "")) == NULL)
        input = value_pack(&k->scratch, NULL, "{}");
    word = chat_tool_word(k, pawl_value_string(tool));
    one = value_pack(&k->scratch, NULL, "{s:v,s:s,s:v}", "tool_input", input, "tool_name", word != NULL ? word : "", "tool_use_id", id);
    k->turn.denials = value_push(&k->mem, k->turn.denials, kept(k, one));
    print_denied(k, pawl_value_string(tool), word != NULL ? word : "", input);
}

static void on_tool(chat *k, const pawl_value *m, chat_source *of)
{
    const char *text = pawl_value_string(pawl_value_get(m, "content"));

    if (begins(text, "Error: Permission denied for tool: "))
        denied(k, pawl_value_get(m, "name"), pawl_value_get(m, "tool_call_id"));
    frame(k, tool_result(k, m), of);
}

static void answer_ends(chat *k, chat_source *of);

/* One block of an answer, as clients know it. */
static const pawl_value *block_shown(chat *k, const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type")), *id = pawl_value_string(pawl_value_get(block, "id")), *word;
    arena *mem = &k->scratch;

    if (type != NULL && strcmp(type, "thinking") == 0 && pawl_value_get(block, "signature") == NULL)
        return value_with(mem, block, "signature", value_string(mem, "", 0));
    if (type == NULL || strcmp(type, "tool_use") != 0)
        return block;
    if (id != NULL && pawl_value_get(block, "input") != NULL)
        k->inputs_of = value_with(&k->mem, k->inputs_of != NULL ? k->inputs_of : value_pack(&k->mem, NULL, "{}"), id, kept(k, pawl_value_get(block, "input")));
    word = chat_tool_word(k, pawl_value_string(pawl_value_get(block, "name")));
    return word != NULL ? value_with(mem, block, "name", value_string(mem, word, strlen(word))) : block;
}

static const pawl_value *answer_shown(chat *k, const pawl_value *m, chat_source *of)
{
    arena *mem = &k->scratch;
    const pawl_value *content = pawl_value_get(m, "content"), *blocks = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        blocks = pawl_value_size(content) > 0 ? value_pack(mem, NULL, "[{s:v,s:s}]", "text", content, "type", "text") : blocks;
    else
        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            blocks = value_push(mem, blocks, block_shown(k, one));
    m = value_with(mem, m, "content", blocks);
    m = value_with(mem, m, "id", chat_uuid(mem));
    m = value_with(mem, m, "model", value_string(mem, of->model != NULL ? of->model : k->model, strlen(of->model != NULL ? of->model : k->model)));
    m = value_with(mem, m, "stop_reason", of->stop != NULL ? of->stop : value_null(mem));
    m = value_with(mem, m, "stop_sequence", value_null(mem));
    m = value_with(mem, m, "type", value_string(mem, "message", 7));
    return value_with(mem, m, "usage", tokens_of(mem, of->usage));
}

/* Its last text; text that an interrupt kept is only in its message. */
static void text_keep(chat *k, const pawl_value *content)
{
    pawl_iter it = pawl_iter_of(pawl_value_type(content) == PAWL_TYPE_ARRAY ? content : NULL);
    const pawl_value *block;
    const char *type;

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if ((type = pawl_value_string(pawl_value_get(block, "type"))) != NULL && strcmp(type, "text") == 0 &&
            pawl_value_string(pawl_value_get(block, "text")) != NULL)
            k->turn.text = pawl_value_string(kept(k, pawl_value_get(block, "text")));
}

static void on_message(chat *k, const pawl_value *m, chat_source *of)
{
    const char *role = pawl_value_string(pawl_value_get(m, "role"));

    if (role == NULL)
        return;
    if (strcmp(role, "tool") == 0) {
        on_tool(k, m, of);
    } else if (strcmp(role, "assistant") == 0) {
        answer_ends(k, of);
        if (of->call == NULL)
            text_keep(k, pawl_value_get(m, "content"));
        k->turn.turns += of->call == NULL;
        frame(k, value_pack(&k->scratch, NULL, "{s:v,s:s}", "message", answer_shown(k, m, of), "type", "assistant"), of);
    }
}

/* ---- while it comes --------------------------------------------------------------------------------------- */

static void stream_event(chat *k, const pawl_value *event, chat_source *of)
{
    frame(k, value_pack(&k->scratch, NULL, "{s:v,s:s}", "event", event, "type", "stream_event"), of);
}

/* Continues the current block of the answer, or begins another one if the kind differs. */
static void block_enter(chat *k, const char *kind, const pawl_value *start, chat_source *of)
{
    arena *mem = &k->scratch;

    if (of->kind != NULL && strcmp(of->kind, kind) == 0 && strcmp(kind, "tool_use") != 0)
        return;
    if (of->kind != NULL)
        stream_event(k, value_pack(mem, NULL, "{s:i,s:s}", "index", (int64_t)of->block++, "type", "content_block_stop"), of);
    of->kind = kind;
    stream_event(k, value_pack(mem, NULL, "{s:v,s:i,s:s}", "content_block", start, "index", (int64_t)of->block, "type", "content_block_start"), of);
}

static void delta(chat *k, const char *type, const char *member, const pawl_delta *d, chat_source *of)
{
    const pawl_value *text = value_string(&k->scratch, d->size > 0 ? d->bytes : "", d->size);

    stream_event(k, value_pack(&k->scratch, NULL, "{s:{s:v,s:s},s:i,s:s}", "delta", member, text, "type", type, "index", (int64_t)of->block, "type",
                               "content_block_delta"), of);
}

static void answer_ends(chat *k, chat_source *of)
{
    arena *mem = &k->scratch;

    if (of->kind == NULL)
        return;
    stream_event(k, value_pack(mem, NULL, "{s:i,s:s}", "index", (int64_t)of->block, "type", "content_block_stop"), of);
    stream_event(k, value_pack(mem, NULL, "{s:s}", "type", "message_stop"), of);
    of->kind = NULL;
}

static void on_delta(chat *k, const pawl_delta *d, chat_source *of)
{
    arena *mem = &k->scratch;

    switch (d->kind) {
    case PAWL_DELTA_BEGIN:
        of->block = 0;
        of->kind = NULL;
        stream_event(k, value_pack(mem, NULL, "{s:i,s:s}", "attempt", (int64_t)d->number, "type", "message_start"), of);
        break;
    case PAWL_DELTA_TEXT:
        block_enter(k, "text", value_pack(mem, NULL, "{s:s,s:s}", "text", "", "type", "text"), of);
        delta(k, "text_delta", "text", d, of);
        break;
    case PAWL_DELTA_THINKING:
        block_enter(k, "thinking", value_pack(mem, NULL, "{s:s,s:s}", "thinking", "", "type", "thinking"), of);
        delta(k, "thinking_delta", "thinking", d, of);
        break;
    case PAWL_DELTA_TOOL_INPUT:
        if (d->id != NULL)
            block_enter(k, "tool_use", value_pack(mem, NULL, "{s:s,s:{},s:s,s:s}", "id", d->id, "input", "name",
                                                  d->name != NULL ? chat_tool_word(k, d->name) : "", "type", "tool_use"), of);
        delta(k, "input_json_delta", "partial_json", d, of);
        break;
    case PAWL_DELTA_TOOL_OUTPUT:
        frame(k, value_pack(mem, NULL, "{s:v,s:s,s:s}", "output", value_string(mem, d->bytes, d->size), "tool_use_id", d->id != NULL ? d->id : "", "type",
                            delta_name(d)), of);
        break;
    case PAWL_DELTA_CUSTOM:
        break;
    }
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

const char *chat_tool(const pawl_value *about)
{
    const char *name = pawl_value_string(pawl_value_get(about, "name"));

    return name != NULL ? name : pawl_value_string(pawl_value_get(about, "tool"));
}

/* Their names of what is asked, too: `multiSelect` beside `multi_select`. */
static const pawl_value *questions_shown(arena *mem, const pawl_value *about)
{
    const pawl_value *all = value_pack(mem, NULL, "[]"), *one, *several;
    pawl_iter it = pawl_iter_of(pawl_value_get(about, "questions"));

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        several = pawl_value_get(one, "multi_select");
        all = value_push(mem, all, value_with(mem, one, "multiSelect", several != NULL ? several : value_bool(mem, false)));
    }
    return pawl_value_get(about, "questions") != NULL ? value_with(mem, about, "questions", all) : about;
}

const pawl_value *chat_request(const chat *k, arena *mem, const char *id, const char *slot, const char *by, bool approval, const pawl_value *about,
                               const pawl_value *prompt)
{
    const pawl_value *input = approval ? pawl_value_get(about, "input") : questions_shown(mem, about), *request;
    const char *tool = approval ? chat_tool_word(k, chat_tool(about)) : "AskUserQuestion";

    if (tool == NULL || id == NULL)
        return NULL;
    request = value_pack(mem, NULL, "{s:v,s:s,s:s,s:s}", "input", input != NULL ? input : value_null(mem), "subtype", "can_use_tool", "tool_name", tool,
                         "tool_use_id", slot != NULL ? slot : "");
    if (pawl_value_type(prompt) == PAWL_TYPE_STRING)
        request = value_with(mem, request, "decision_reason", prompt);
    return value_pack(mem, NULL, "{s:v,s:v,s:s,s:s}", "parent_tool_use_id", by != NULL ? value_string(mem, by, strlen(by)) : value_null(mem), "request",
                      request, "request_id", id, "type", "control_request");
}

static void on_ask(chat *k, const char *id, const pawl_value *v, const chat_source *of)
{
    const char *kind = pawl_value_string(pawl_value_get(v, "kind"));
    const pawl_value *about = pawl_value_get(v, "about"), *request;
    const char *tool = chat_tool(about);

    if (kind == NULL || (strcmp(kind, "approval") != 0 && strcmp(kind, "question") != 0))
        return;
    if (strcmp(kind, "approval") == 0 && id != NULL && tool != NULL)
        k->asked = value_with(&k->mem, k->asked != NULL ? k->asked : value_pack(&k->mem, NULL, "{}"), id,
                              kept(k, value_pack(&k->scratch, NULL, "[s,v]", tool, pawl_value_get(v, "slot"))));
    if (!k->frames_in || !k->answers)
        return;
    request = chat_request(k, &k->scratch, id, pawl_value_string(pawl_value_get(v, "slot")), of->call, strcmp(kind, "approval") == 0, about,
                           pawl_value_get(v, "prompt"));
    if (request != NULL)
        chat_write(k, request);
}

/* A person denied a call: it is listed in permission_denials. */
static void on_answer(chat *k, const char *id, const pawl_value *v)
{
    const pawl_value *answer = pawl_value_get(v, "value"), *call = id != NULL ? pawl_value_get(k->asked, id) : NULL;

    if (call != NULL && !pawl_value_bool(answer) && !pawl_value_bool(pawl_value_get(answer, "approve")))
        denied(k, pawl_value_at(call, 0), pawl_value_at(call, 1));
}

/* ---- how it came out ------------------------------------------------------------------------------------------------ */

static const struct { const char *end, *subtype, *reason; const char *error; } ends[] = {       /* error NULL: it is none */
    { "answer", "success", "completed", NULL }, { "denial", "success", "permission_denied", NULL }, { "stop_hook", "success", "stop_hook_prevented", NULL },
    { "prompt_blocked", "success", "prompt_blocked", NULL },
    { "max_iterations", "error_max_turns", "max_turns", "the turn made as many requests to the model as it may" },
    { "budget", "error_max_budget_usd", "budget_exhausted", "the budget of the run has no room for more" },
    { "interrupt", "error_during_execution", "aborted", "the turn was interrupted" }, { "shutdown", "error_during_execution", "shutdown", "the run was shut down" },
    { "", "success", "tool_deferred", NULL },
};

/* By model; of sub-agents with other models, too, under the one that answered the run last. */
static const pawl_value *models_of(const chat *k, arena *mem)
{
    const chat_turn *t = &k->turn;
    const pawl_value *v = value_pack(mem, NULL, "{s:i,s:i,s:i,s:f,s:i,s:i,s:i}", "cacheCreationInputTokens", t->usage[3], "cacheReadInputTokens", t->usage[2],
                                     "contextWindow", (int64_t)0, "costUSD", (double)t->micros / 1e6, "inputTokens", t->usage[0], "outputTokens", t->usage[1],
                                     "webSearchRequests", (int64_t)0);
    const char *model = k->sources[0].model != NULL ? k->sources[0].model : k->model;

    return model != NULL ? value_with(mem, value_pack(mem, NULL, "{}"), model, v) : value_pack(mem, NULL, "{}");
}

const pawl_value *chat_result(chat *k, arena *mem, const char *end, const pawl_value *waits)
{
    const char *subtype = "error_during_execution", *reason = "error", *error = "the turn failed";
    const chat_turn *t = &k->turn;
    const pawl_value *v;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i].end) == 0)
            subtype = ends[i].subtype, reason = ends[i].reason, error = ends[i].error;
    v = value_pack(mem, NULL, "{s:i,s:i,s:b,s:v,s:i,s:v,s:s,s:s,s:v,s:s,s:s,s:v,s:s,s:v,s:v}", "duration_api_ms", t->api_ms, "duration_ms",
                   epoch_ms() - t->begun_ms, "is_error", error != NULL, "modelUsage", models_of(k, mem), "num_turns",
                   (int64_t)t->turns, "permission_denials", t->denials != NULL ? t->denials : value_pack(mem, NULL, "[]"), "result",
                   t->text != NULL ? t->text : "",
                   "session_id", k->s->run, "stop_reason", t->stop != NULL ? value_string(mem, t->stop, strlen(t->stop)) : value_null(mem), "subtype", subtype,
                   "terminal_reason", reason, "total_cost_usd", value_real(mem, (double)t->micros / 1e6), "type", "result", "usage", tokens_of(mem, t->usage), "uuid", chat_uuid(mem));
    if (t->error != NULL || error != NULL)
        v = value_with(mem, v, "errors", value_pack(mem, NULL, "[s]", t->error != NULL ? t->error : error));
    return waits != NULL ? value_with(mem, v, "waits", waits) : v;
}

/* The agent's queue has room for one more message of the user. */
static void turn_ended(chat *k)
{
    pthread_mutex_lock(&k->hearing);
    k->turns_ended++;
    pthread_mutex_unlock(&k->hearing);
}

static void on_done(chat *k, const pawl_value *v)
{
    const char *end = pawl_value_string(pawl_value_get(v, "end"));

    k->result = chat_result(k, &k->mem, end != NULL ? end : "error", NULL);
    if (k->format == CHAT_STREAM)
        chat_write(k, k->result);
    turn_ended(k);
    k->turn = (chat_turn){ .begun_ms = epoch_ms() };
    k->inputs_of = NULL;
}

/* The usage of a child is in the child's own receipts; with a budget also in its parent's, with the number of calls. */
static void on_receipt(chat *k, const pawl_value *v, int64_t time_ms, chat_source *of)
{
    static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens" };
    const pawl_value *usage = pawl_value_find(v, "/value/usage");

    for (size_t i = 0; i < 4; i++) {
        of->usage[i] = pawl_value_int(pawl_value_get(usage, names[i]));
        k->turn.usage[i] += of->usage[i];
    }
    of->stop = kept(k, pawl_value_find(v, "/value/stop"));
    if (pawl_value_string(pawl_value_find(v, "/value/model")) != NULL)
        of->model = pawl_value_string(kept(k, pawl_value_find(v, "/value/model")));
    if (pawl_value_find(v, "/usage/calls") == NULL)
        k->turn.micros += pawl_value_int(pawl_value_find(v, "/usage/micros"));
    if (pawl_value_find(v, "/value/message") != NULL && of->asked_ms > 0 && time_ms > of->asked_ms)
        k->turn.api_ms += time_ms - of->asked_ms;
    if (of->call == NULL && pawl_value_find(v, "/value/message") != NULL && pawl_value_string(pawl_value_find(v, "/value/stop")) != NULL)
        k->turn.stop = pawl_value_string(kept(k, pawl_value_find(v, "/value/stop")));
}

/* ---- other frames --------------------------------------------------------------------------------------------- */

static void child_add(chat *k, const pawl_value *v)
{
    const char *run = pawl_value_string(pawl_value_get(v, "session_id")), *call = pawl_value_string(pawl_value_get(v, "tool_use_id"));

    size_t i = 1;

    while (i < k->nsources && !k->sources[i].over)
        i++;
    if (run == NULL || call == NULL || i == CHAT_SOURCES_MAX)
        return;
    k->nsources += i == k->nsources;
    k->sources[i] = (chat_source){ .run = arena_text(&k->mem, run), .call = arena_text(&k->mem, call) };
}

/* What clients know of a sub-agent: its run is the task. */
static const pawl_value *task_shown(arena *mem, const pawl_value *v, bool over)
{
    const pawl_value *run = pawl_value_get(v, "session_id"), *what = pawl_value_get(v, "agent_type"), *result = pawl_value_get(v, "result");
    const bool text = pawl_value_type(result) == PAWL_TYPE_STRING;

    if (run != NULL)
        v = value_with(mem, v, "task_id", run);
    if (!over) {
        v = value_with(mem, v, "description", what != NULL ? what : value_string(mem, "", 0));
        return value_with(mem, v, "task_type", value_string(mem, "local_agent", 11));
    }
    v = value_with(mem, v, "output_file", value_string(mem, "", 0));
    v = value_with(mem, v, "summary", text ? result : value_string(mem, "", 0));
    return value_with(mem, v, "status", pawl_value_bool(pawl_value_get(v, "succeeded")) ? value_string(mem, "completed", 9) : value_string(mem, "failed", 6));
}

static void system_frame(chat *k, const char *subtype, const pawl_value *v, chat_source *of)
{
    arena *mem = &k->scratch;

    if (strcmp(subtype, "api_retry") == 0)
        v = chat_again_frame(mem, v);
    else if (strncmp(subtype, "task_", 5) == 0)
        v = task_shown(mem, v, strcmp(subtype, "task_started") != 0);
    v = value_with(mem, v, "subtype", value_string(mem, subtype, strlen(subtype)));
    frame(k, value_with(mem, v, "type", value_string(mem, "system", 6)), of);
}

static void on_emission(chat *k, const char *name, const pawl_value *v, chat_source *of)
{
    static const struct { const char *name, *member, *subtype; } rows[] = {
        { "status", "again_in_ms", "api_retry" }, { "status", NULL, "informational" }, { "compact", NULL, "compact_boundary" },
        { "cache_break", NULL, "cache_break" }, { "sub_agent_spawned", NULL, "task_started" }, { "sub_agent_complete", NULL, "task_notification" },
    };

    if (of->call == NULL && strcmp(name, "done") == 0)
        on_done(k, v);
    else if (of->call == NULL && strcmp(name, "error") == 0 && pawl_value_string(pawl_value_get(v, "message")) != NULL)
        k->turn.error = pawl_value_string(kept(k, pawl_value_get(v, "message")));
    else if (of->call == NULL && strcmp(name, "text_complete") == 0)
        k->turn.text = pawl_value_string(kept(k, pawl_value_get(v, "text")));
    if (strcmp(name, "sub_agent_spawned") == 0)
        child_add(k, v);
    chat_again_end(k);
    if (strcmp(name, "status") == 0 && pawl_value_get(v, "again_in_ms") != NULL)
        chat_again(k, v);
    if (k->verbose && k->format != CHAT_STREAM && strcmp(name, "tool_start") == 0)
        cli_note(k->c, "%s %s", pawl_value_string(pawl_value_get(v, "name")), pawl_value_string(pawl_value_get(v, "tool_use_id")));
    if (k->format != CHAT_STREAM && strcmp(name, "status") == 0 && pawl_value_get(v, "hook") != NULL)
        cli_note(k->c, "%s: %s", pawl_value_string(pawl_value_get(v, "hook")), pawl_value_string(pawl_value_get(v, "message")));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(name, rows[i].name) == 0 && (rows[i].member == NULL || pawl_value_get(v, rows[i].member) != NULL)) {
            system_frame(k, rows[i].subtype, v, of);
            return;
        }
}

/* Dispatches a change to the function for its kind of item. */
static void on_change(chat *k, const pawl_item_change *ch, chat_source *of)
{
    const bool live = ch->live > 0, emitted = (ch->what & PAWL_ITEM_EMITTED) != 0, said = strcmp(ch->part, "message") == 0;
    const bool message = said && (live || ch->kind == PAWL_ITEM_MESSAGE), wait = ch->kind == PAWL_ITEM_WAIT && !live;
    const bool progress = live && k->partial && strcmp(ch->part, "tool_progress") == 0;
    const bool receipt = !live && ch->kind != PAWL_ITEM_USAGE && strcmp(ch->part, "receipt") == 0;
    const char *json = ch->delta != NULL ? NULL : message || emitted || progress || wait || receipt ? pawl_items_json(of->r, NULL) : NULL;
    const pawl_value *v = json == NULL ? NULL : value_parse(&k->scratch, json, strlen(json), ch->part, NULL);
    const pawl_delta *delta = ch->delta;
    pawl_delta said_json;

    if (ch->kind == PAWL_ITEM_MESSAGE && !live && (ch->what & PAWL_ITEM_ADDED) != 0)
        of->asked_ms = ch->time_ms;
    if (v != NULL && message && live && delta_of_value(v, &said_json))
        delta = &said_json;
    if (delta != NULL && k->partial)
        on_delta(k, delta, of);
    if (v == NULL || (message && live))
        return;
    if (message && !emitted)
        on_message(k, v, of);
    else if (emitted)
        on_emission(k, ch->part, v, of);
    else if (progress)
        frame(k, value_with(&k->scratch, v, "type", value_string(&k->scratch, ch->part, strlen(ch->part))), of);
    else if (wait && strcmp(ch->part, "ask") == 0)
        on_ask(k, ch->call, v, of);
    else if (wait && strcmp(ch->part, "answer") == 0)
        on_answer(k, ch->call, v);
    else if (receipt)
        on_receipt(k, v, ch->time_ms, of);
}

/* True: the change will be written, or is a result; items of children that came before it are written first. */
static bool is_written(const pawl_item_change *ch)
{
    static const char *const parts[] = { "put", "start", "input", "update" };
    bool found = false;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        found = found || (ch->kind == PAWL_ITEM_RUN && strcmp(ch->part, parts[i]) == 0);
    return found;
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------ */

static void stirs(void *ctx)
{
    chat *k = ctx;

    pthread_mutex_lock(&k->lock);
    k->stirred = true;
    pthread_cond_broadcast(&k->woken);
    pthread_mutex_unlock(&k->lock);
}

/* Opens the items of a run as soon as the run exists. */
static void source_open(chat *k, chat_source *of)
{
    const pawl_items_options options = { .from = of->now ? "now" : of->call == NULL && *k->from != '\0' ? k->from : NULL, .wake = stirs, .wake_ctx = k };

    of->r = pawl_items_open(k->s->engine, NULL, of->run, &options, NULL);
}

static bool read_all(chat *k, chat_source *of);

/* The result of a child is written to its parent's frames after all items of the child. The id of a child is that of its parent, a dot, and more. */
static void children_read(chat *k, const chat_source *of)
{
    const size_t size = strlen(of->run);

    for (size_t i = 1; i < k->nsources; i++)
        if (strncmp(k->sources[i].run, of->run, size) == 0 && k->sources[i].run[size] == '.')
            (void)read_all(k, &k->sources[i]);
}

static bool read_all(chat *k, chat_source *of)
{
    pawl_code rc = PAWL_PENDING;
    pawl_item_change ch;
    bool any = false;

    if (of->r == NULL && !of->over)
        source_open(k, of);
    while (of->r != NULL && (rc = pawl_items_next(of->r, &ch, NULL)) == PAWL_OK) {
        if (is_written(&ch))
            children_read(k, of);
        arena_reset(&k->scratch);
        on_change(k, &ch, of);
        any = true;
    }
    if (rc == PAWL_HALTED && of->call != NULL) {
        pawl_items_close(of->r);
        of->r = NULL;
        of->over = true;
    }
    return any;
}

/* Waits until there may be something to read. False: the reader must stop. */
static bool skips_machine(chat *k, bool opened)
{
    struct timespec until;
    bool stop;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (opened ? 50 : (long)open_ms) * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&k->lock);
    while (!k->stop && !k->stirred && pthread_cond_timedwait(&k->woken, &k->lock, &until) == 0)
        continue;
    k->stirred = false;
    stop = k->stop;
    pthread_mutex_unlock(&k->lock);
    return !stop;
}

static void *reads(void *arg)
{
    chat *k = arg;
    bool more, any;

    do {
        more = skips_machine(k, k->sources[0].r != NULL);
        chat_again_draw(k);
        chat_stop_check(k);
        do {
            any = false;
            for (size_t i = 0; i < k->nsources; i++)
                any = read_all(k, &k->sources[i]) || any;
        } while (any);
    } while (more);
    chat_again_end(k);
    for (size_t i = 0; i < k->nsources; i++)
        pawl_items_close(k->sources[i].r);
    return NULL;
}

void chat_calls_keep(chat *k, const pawl_value *messages)
{
    const pawl_value *m = NULL, *block, *blocks = NULL;
    pawl_iter it;

    for (size_t n = pawl_value_size(messages); n > 0 && blocks == NULL; n--) {
        m = pawl_value_at(messages, n - 1);
        if (pawl_value_string(pawl_value_get(m, "role")) != NULL && strcmp(pawl_value_string(pawl_value_get(m, "role")), "assistant") == 0)
            blocks = pawl_value_get(m, "content");
    }
    it = pawl_iter_of(pawl_value_type(blocks) == PAWL_TYPE_ARRAY ? blocks : NULL);
    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        (void)block_shown(k, block);
}

/* Adds the children that a continued conversation already waits for. */
static void children_add(chat *k)
{
    asks all;

    if (asks_read(session_store(k->s), &k->mem, k->s->run, &all, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < all.nchildren && k->nsources < CHAT_SOURCES_MAX; i++)
        if (all.children[i].call != NULL) {
            k->sources[k->nsources] = (chat_source){ .run = all.children[i].run, .call = all.children[i].call, .now = true };
            source_open(k, &k->sources[k->nsources++]);
        }
}

bool chat_reader_begin(chat *k)
{
    pawl_code live = pawl_engine_live(k->s->engine, 0, 0, NULL);

    pthread_mutex_init(&k->lock, NULL);
    pthread_mutex_init(&k->hearing, NULL);
    pthread_cond_init(&k->heard_some, NULL);
    pthread_cond_init(&k->woken, NULL);
    k->turn.begun_ms = epoch_ms();
    k->sources[k->nsources++] = (chat_source){ .run = k->s->run };
    if (live == PAWL_OK || live == PAWL_CONFLICT)
        source_open(k, &k->sources[0]);
    if (*k->from != '\0')
        children_add(k);
    return (live == PAWL_OK || live == PAWL_CONFLICT) && pthread_create(&k->reader, NULL, reads, k) == 0;
}

void chat_reader_end(chat *k)
{
    pthread_mutex_lock(&k->lock);
    k->stop = true;
    pthread_cond_broadcast(&k->woken);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->reader, NULL);
}
