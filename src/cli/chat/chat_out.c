/* chat_out.c - writes frames during a turn: reads the items of the run and of its children on a thread of its own.
 *
 * Owns the reader's thread of `pawl chat -p`, its sources and what it kept of the turn. Called by chat.c on the main thread to begin and end it; all else
 * is of the reader's thread. chat_write() is of any thread, under `writing`. */
#include "host/open_questions.h"
#include "cli/chat/chat.h"
#include "effect/effect.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

static const int64_t open_ms = 5;

void chat_write(chat *k, const pawl_value *v)
{
    pthread_mutex_lock(&k->writing);
    cli_json(k->c, v);
    fflush(stdout);
    pthread_mutex_unlock(&k->writing);
}

static void frame(chat *k, const pawl_value *v, chat_source *of)
{
    arena *mem = &k->scratch;

    if (k->format != CHAT_STREAM)
        return;
    v = value_with(mem, v, "parent_tool_use_id", of->call != NULL ? value_string(mem, of->call, strlen(of->call)) : value_null(mem));
    chat_write(k, value_with(mem, v, "session_id", value_string(mem, k->s->run, strlen(k->s->run))));
}

void chat_init_frame(chat *k, pawl_mode mode, const char *model)
{
    static const char *const can[] = { "interrupt", "can_use_tool", "set_permission_mode" };
    const pawl_agent *a = &k->s->of->agent->a;
    arena *mem = &k->c->mem;
    const pawl_value *tools = value_pack(mem, NULL, "[]"), *capabilities = value_pack(mem, NULL, "[]"), *v;

    if (k->format != CHAT_STREAM)
        return;
    for (size_t i = 0; i < a->ntools; i++)
        tools = value_push(mem, tools, value_string(mem, a->tools[i].name, strlen(a->tools[i].name)));
    for (size_t i = 0; i < 3; i++)
        capabilities = value_push(mem, capabilities, value_string(mem, can[i], strlen(can[i])));
    v = value_pack(mem, NULL, "{s:v,s:s,s:[],s:s,s:s,s:s,s:s,s:v,s:s}", "capabilities", capabilities, "cwd", k->s->folder, "mcp_servers", "model", model,
                   "permissionMode", pawl_mode_name(mode), "session_id", k->s->run, "subtype", "init", "tools", tools, "type", "system");
    chat_write(k, v);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

/* The result of a tool, as a message of the user. */
static const pawl_value *tool_result(chat *k, const pawl_value *m)
{
    arena *mem = &k->scratch;
    const pawl_value *one = value_pack(mem, NULL, "{s:v,s:v,s:s}", "content", pawl_value_get(m, "content"), "tool_use_id", pawl_value_get(m, "tool_call_id"),
                                       "type", "tool_result");

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

static void denied(chat *k, const pawl_value *tool, const pawl_value *id)
{
    pawl_iter it = pawl_iter_of(k->turn.denials);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_equal(pawl_value_get(one, "tool_use_id"), id))
            return;
    if (k->turn.denials == NULL)
        k->turn.denials = value_pack(&k->mem, NULL, "[]");
    k->turn.denials = value_push(&k->mem, k->turn.denials, kept(k, value_pack(&k->scratch, NULL, "{s:v,s:v}", "tool_name", tool, "tool_use_id", id)));
}

static void on_tool(chat *k, const pawl_value *m, chat_source *of)
{
    const char *text = pawl_value_string(pawl_value_get(m, "content"));

    if (begins(text, "Error: Permission denied for tool: "))
        denied(k, pawl_value_get(m, "name"), pawl_value_get(m, "tool_call_id"));
    frame(k, tool_result(k, m), of);
}

static void answer_ends(chat *k, chat_source *of);

static void on_message(chat *k, const pawl_value *m, chat_source *of)
{
    const char *role = pawl_value_string(pawl_value_get(m, "role"));

    if (role == NULL)
        return;
    if (strcmp(role, "tool") == 0) {
        on_tool(k, m, of);
    } else if (strcmp(role, "assistant") == 0) {
        answer_ends(k, of);
        k->turn.turns += of->call == NULL;
        frame(k, value_pack(&k->scratch, NULL, "{s:v,s:s}", "message", m, "type", "assistant"), of);
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
            block_enter(k, "tool_use", value_pack(mem, NULL, "{s:s,s:{},s:s,s:s}", "id", d->id, "input", "name", d->name != NULL ? d->name : "", "type",
                                                  "tool_use"), of);
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

const pawl_value *chat_request(arena *mem, const char *id, const char *slot, const char *by, bool approval, const pawl_value *about, const pawl_value *prompt)
{
    const pawl_value *input = approval ? pawl_value_get(about, "input") : about, *request;
    const char *tool = approval ? chat_tool(about) : "AskUserQuestion";

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
    if (!k->frames_in)
        return;
    request = chat_request(&k->scratch, id, pawl_value_string(pawl_value_get(v, "slot")), of->call, strcmp(kind, "approval") == 0, about,
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

static const struct { const char *end, *subtype, *reason; bool error; } ends[] = {
    { "answer", "success", "completed", false }, { "denial", "success", "permission_denied", false }, { "stop_hook", "success", "stop_hook_prevented", false },
    { "prompt_blocked", "success", "prompt_blocked", false },
    { "max_iterations", "error_max_turns", "max_turns", true }, { "budget", "error_max_budget_usd", "budget_exhausted", true },
    { "interrupt", "error_during_execution", "aborted", true }, { "shutdown", "error_during_execution", "shutdown", true },
    { "", "success", "tool_deferred", false },
};

static const pawl_value *usage_of(arena *mem, const chat_turn *t)
{
    return value_pack(mem, NULL, "{s:i,s:i,s:i,s:i}", "cache_creation_input_tokens", t->usage[3], "cache_read_input_tokens", t->usage[2], "input_tokens",
                      t->usage[0], "output_tokens", t->usage[1]);
}

const pawl_value *chat_result(chat *k, arena *mem, const char *end, const pawl_value *waits)
{
    const char *subtype = "error_during_execution", *reason = "error";
    const chat_turn *t = &k->turn;
    bool error = true;
    const pawl_value *v;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i].end) == 0)
            subtype = ends[i].subtype, reason = ends[i].reason, error = ends[i].error;
    v = value_pack(mem, NULL, "{s:i,s:b,s:i,s:v,s:s,s:s,s:v,s:s,s:s,s:v,s:s,s:v}", "duration_ms", epoch_ms() - t->begun_ms, "is_error", (int)error, "num_turns",
                   (int64_t)t->turns, "permission_denials", t->denials != NULL ? t->denials : value_pack(mem, NULL, "[]"), "result",
                   t->text != NULL ? t->text : "",
                   "session_id", k->s->run, "stop_reason", t->stop != NULL ? value_string(mem, t->stop, strlen(t->stop)) : value_null(mem), "subtype", subtype,
                   "terminal_reason", reason, "total_cost_usd", value_real(mem, (double)t->micros / 1e6), "type", "result", "usage", usage_of(mem, t));
    if (t->error != NULL)
        v = value_with(mem, v, "errors", value_pack(mem, NULL, "[s]", t->error));
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
}

/* The usage of a child is in the child's own receipts; with a budget also in its parent's, with the number of calls. */
static void on_receipt(chat *k, const pawl_value *v, const chat_source *of)
{
    static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens" };
    const pawl_value *usage = pawl_value_find(v, "/value/usage");

    for (size_t i = 0; i < 4; i++)
        k->turn.usage[i] += pawl_value_int(pawl_value_get(usage, names[i]));
    if (pawl_value_find(v, "/usage/calls") == NULL)
        k->turn.micros += pawl_value_int(pawl_value_find(v, "/usage/micros"));
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

static void system_frame(chat *k, const char *subtype, const pawl_value *v, chat_source *of)
{
    arena *mem = &k->scratch;

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
        on_receipt(k, v, of);
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
        do {
            any = false;
            for (size_t i = 0; i < k->nsources; i++)
                any = read_all(k, &k->sources[i]) || any;
        } while (any);
    } while (more);
    for (size_t i = 0; i < k->nsources; i++)
        pawl_items_close(k->sources[i].r);
    return NULL;
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

    arena_init(&k->mem, NULL, 4096);
    arena_init(&k->scratch, NULL, 16384);
    pthread_mutex_init(&k->writing, NULL);
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
