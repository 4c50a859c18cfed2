/* chat_in.c - reads frames on stdin: messages of the user, answers to requests, interrupts, modes.
 *
 * Each becomes a delivery of the run, through another store handle than the engine's, so that it is taken during a turn. */
#include "app/signers.h"
#include "engine/engine.h"
#include "history/current_state.h"
#include "host/open_questions.h"
#include "cli/chat/chat.h"
#include "cli/run_driver.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* INPUTS_AHEAD: an agent queues at most QUEUE_MAX inputs during a turn and refuses the rest, so the listener never leaves more at once. */
enum { LOOK_MS = 100, DRAIN_MS = 5, PART_BYTES = 65536, INPUTS_AHEAD = 256, LATER_BYTES_MAX = 64 << 20 };

/* ---- left for the run -------------------------------------------------------------------------------------- */

static pawl_code leave_bytes(chat *k, const char *run, pawl_delivery_kind kind, const char *name, pawl_bytes value, pawl_err *err)
{
    char id[96];
    pawl_delivery d = { .kind = kind, .name = name, .id = id, .by = caller_name(), .value = value };
    pawl_code rc;

    snprintf(id, sizeof id, "chat-%ld-%lld-%llu", (long)getpid(), (long long)k->begun_ms, (unsigned long long)++k->left);
    rc = k->own->verbs->deliver(k->own, run, &d, err);
    pthread_mutex_lock(&k->hearing);
    k->heard++;
    k->inputs += kind == PAWL_DELIVER_INPUT && rc == PAWL_OK;
    k->rests = false;
    pthread_cond_broadcast(&k->heard_some);
    pthread_mutex_unlock(&k->hearing);
    return rc;
}

static pawl_code deliver_to(chat *k, const char *run, pawl_delivery_kind kind, const char *name, const pawl_value *v, pawl_err *err)
{
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    rc = b.failed ? fail(err, PAWL_NOMEM, "no memory") : leave_bytes(k, run, kind, name, (pawl_bytes){ b.data, b.size }, err);
    buf_free(&b);
    return rc;
}

static pawl_code leave(chat *k, pawl_delivery_kind kind, const char *name, const pawl_value *v, pawl_err *err)
{
    return deliver_to(k, k->s->run, kind, name, v, err);
}

static void respond(chat *k, arena *mem, const char *id, const pawl_value *v, const char *error)
{
    const pawl_value *r;

    if (error != NULL)
        r = value_pack(mem, NULL, "{s:s,s:s,s:s}", "error", error, "request_id", id, "subtype", "error");
    else
        r = value_pack(mem, NULL, "{s:s,s:v,s:s}", "request_id", id, "response", v != NULL ? v : value_pack(mem, NULL, "{}"), "subtype", "success");
    chat_write(k, value_pack(mem, NULL, "{s:v,s:s}", "response", r, "type", "control_response"));
}

/* ---- what is open ---------------------------------------------------------------------------------------------- */

typedef bool each_wait_fn(chat *k, arena *mem, const ask *a, void *ctx);

/* Calls `fn` for each open wait of the run and of its children. */
static void each_wait(chat *k, arena *mem, each_wait_fn *fn, void *ctx)
{
    asks all;

    if (asks_read(k->own, mem, k->s->run, &all, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < all.n; i++)
        if ((all.all[i].w.kind == PAWL_WAIT_APPROVAL || all.all[i].w.kind == PAWL_WAIT_QUESTION) && !fn(k, mem, &all.all[i], ctx))
            return;
}

/* After `initialize` all open questions are sent again; a client accepts a request twice. */
static bool again(chat *k, arena *mem, const ask *a, void *ctx)
{
    const pawl_value *request = chat_request(k, mem, a->w.id, a->w.slot, a->call, a->w.kind == PAWL_WAIT_APPROVAL, a->w.about, a->w.prompt);

    (void)ctx;
    if (request != NULL)
        chat_write(k, request);
    return true;
}

/* To a client whose `initialize` was read before the run was there. */
static void again_all(chat *k)
{
    arena mem;

    if (k->hello == NULL)
        return;
    arena_init(&mem, NULL, 4096);
    each_wait(k, &mem, again, NULL);
    arena_free(&mem);
}

typedef struct answer_search { const char *id; const pawl_value *reply; pawl_code rc; pawl_err err; bool found; } answer_search;

/* An approval, perhaps with changed arguments; or a denial, perhaps with a reason. Rules that come with it are not taken: then the call is denied, for some
 * of them may restrict. */
static const pawl_value *approval_of(arena *mem, const pawl_wait *w, const pawl_value *reply)
{
    const char *behavior = pawl_value_string(pawl_value_get(reply, "behavior"));
    const pawl_value *input = pawl_value_get(reply, "updatedInput"), *note = pawl_value_get(reply, "message");

    if (behavior != NULL && strcmp(behavior, "allow") == 0 && pawl_value_size(pawl_value_get(reply, "updatedPermissions")) > 0)
        return value_pack(mem, NULL, "{s:b,s:s}", "approve", 0, "note", "updatedPermissions is not in this version of Pawl: answer without it");
    if (behavior != NULL && strcmp(behavior, "allow") == 0)
        return input == NULL || pawl_value_equal(input, pawl_value_get(w->about, "input")) ? value_bool(mem, true)
                                                                                          : value_pack(mem, NULL, "{s:b,s:v}", "approve", 1, "input", input);
    if (behavior == NULL || strcmp(behavior, "deny") != 0)
        return NULL;
    return pawl_value_size(note) > 0 ? value_pack(mem, NULL, "{s:b,s:v}", "approve", 0, "note", note) : value_bool(mem, false);
}

/* ---- questions ---- */

static bool is_label(const pawl_value *question, const char *text, size_t size)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(question, "options"));
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *label = pawl_value_string(pawl_value_type(one) == PAWL_TYPE_STRING ? one : pawl_value_get(one, "label"));

        if (label != NULL && strlen(label) == size && memcmp(label, text, size) == 0)
            return true;
    }
    return false;
}

/* The size of the longest label that `text` begins with, before its end or a comma; 0: none. */
static size_t label_first(const pawl_value *question, const char *text)
{
    size_t best = 0;

    for (size_t n = 1; n <= strlen(text); n++)
        if ((text[n] == '\0' || strncmp(text + n, ", ", 2) == 0) && is_label(question, text, n))
            best = n;
    return best;
}

/* The labels in a text, separated by ", ", for a question with several answers. NULL: one of them is no label. */
static const pawl_value *labels_of(arena *mem, const pawl_value *question, const char *text)
{
    const pawl_value *all = value_pack(mem, NULL, "[]");
    size_t n;

    while (*text != '\0' && (n = label_first(question, text)) > 0) {
        all = value_push(mem, all, value_string(mem, text, n));
        text += n + (text[n] != '\0' ? 2 : 0);
    }
    return *text == '\0' && pawl_value_size(all) > 0 ? all : NULL;
}

static const pawl_value *answer_one(arena *mem, const pawl_value *question, const pawl_value *words)
{
    const bool several = pawl_value_bool(pawl_value_get(question, "multi_select"));
    pawl_iter it = pawl_iter_of(words);
    const pawl_value *one;

    if (pawl_value_type(words) == PAWL_TYPE_STRING && several)
        return labels_of(mem, question, pawl_value_string(words));
    if (pawl_value_type(words) == PAWL_TYPE_STRING)
        return is_label(question, pawl_value_string(words), pawl_value_size(words)) ? words : NULL;
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(one) != PAWL_TYPE_STRING || !is_label(question, pawl_value_string(one), pawl_value_size(one)))
            return NULL;
    return several && pawl_value_type(words) == PAWL_TYPE_ARRAY && pawl_value_size(words) > 0 ? words : NULL;
}

/* The answers by header, as the agent expects them; a client names a question by its header or by its text. NULL: not all are answered by labels. */
static const pawl_value *answers_of(arena *mem, const pawl_wait *w, const pawl_value *reply)
{
    const pawl_value *answers = pawl_value_find(reply, "/updatedInput/answers"), *out = value_pack(mem, NULL, "{}"), *one, *words;
    pawl_iter it = pawl_iter_of(pawl_value_get(w->about, "questions"));
    const char *behavior = pawl_value_string(pawl_value_get(reply, "behavior"));

    if (pawl_value_type(answers) != PAWL_TYPE_OBJECT || (behavior != NULL && strcmp(behavior, "allow") != 0))
        return NULL;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *header = pawl_value_string(pawl_value_get(one, "header")), *text = pawl_value_string(pawl_value_get(one, "question"));

        if (header == NULL || ((words = pawl_value_get(answers, header)) == NULL && (text == NULL || (words = pawl_value_get(answers, text)) == NULL)) ||
            (words = answer_one(mem, one, words)) == NULL)
            return NULL;
        out = value_with(mem, out, header, words);
    }
    return out;
}

/* Signed, where the wait names approvers. */
static pawl_code answer_leave(chat *k, arena *mem, const ask *asked, const pawl_value *v, pawl_err *err)
{
    const char *text, *json = NULL;
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    canon(&b, v);
    text = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    if (text == NULL)
        return fail(err, PAWL_NOMEM, "no memory");
    rc = signers_sign(mem, &asked->w, text, NULL, NULL, NULL, &json, err);
    return rc == PAWL_OK ? leave_bytes(k, asked->run, PAWL_DELIVER_ANSWER, asked->w.id, (pawl_bytes){ json, strlen(json) }, err) : rc;
}

/* A wait that stayed open would hold the client for ever. */
static pawl_code unanswered(chat *k, pawl_err *err)
{
    const pawl_code rc = leave(k, PAWL_DELIVER_SIGNAL, "interrupt", NULL, err);

    return rc == PAWL_OK ? fail(err, PAWL_INVALID, "each question is answered by a label of its options, under its text or its header; the turn ends") : rc;
}

static bool answer(chat *k, arena *mem, const ask *asked, void *ctx)
{
    answer_search *a = ctx;
    const pawl_wait *w = &asked->w;
    const pawl_value *v;

    if (strcmp(w->id, a->id) != 0)
        return true;
    a->found = true;
    if (pawl_value_bool(pawl_value_get(a->reply, "interrupt"))) {       /* alone: behind a denial it could come when the turn is over */
        a->rc = leave(k, PAWL_DELIVER_SIGNAL, "interrupt", NULL, &a->err);
        return false;
    }
    v = w->kind == PAWL_WAIT_APPROVAL ? approval_of(mem, w, a->reply) : answers_of(mem, w, a->reply);
    if (v != NULL)
        a->rc = answer_leave(k, mem, asked, v, &a->err);
    else if (w->kind == PAWL_WAIT_QUESTION && pawl_value_find(a->reply, "/updatedInput/answers") != NULL)
        a->rc = unanswered(k, &a->err);
    else if (w->kind == PAWL_WAIT_QUESTION)
        a->rc = leave(k, PAWL_DELIVER_SIGNAL, "interrupt", NULL, &a->err);     /* nobody can answer: the turn ends */
    else
        a->rc = fail(&a->err, PAWL_INVALID, "behavior is allow or deny");
    return false;
}

/* Stdin has ended, so nobody can answer: a denial. */
static bool refuse(chat *k, arena *mem, const ask *a, void *ctx)
{
    const char *tool = chat_tool(a->w.about);
    char note[128];

    (void)ctx;
    snprintf(note, sizeof note, "Permission denied for tool: %.64s", tool != NULL ? tool : "");
    if (a->w.kind == PAWL_WAIT_APPROVAL && a->w.approvers == NULL)      /* nobody signs for those who did not answer */
        (void)deliver_to(k, a->run, PAWL_DELIVER_ANSWER, a->w.id, value_pack(mem, NULL, "{s:b,s:s}", "approve", 0, "note", note), NULL);
    else
        (void)leave(k, PAWL_DELIVER_SIGNAL, "interrupt", NULL, NULL);
    return true;
}

/* ---- frames -------------------------------------------------------------------------------------------------------- */

static void bad_frame(chat *k, const char *why)
{
    k->refused = true;
    cli_note(k->c, "pawl: frame %llu on stdin: %s", (unsigned long long)k->frames, why);
}

static bool is_asked(chat *k, arena *mem, const ask *a, void *ctx)
{
    (void)k, (void)mem, (void)a;
    *(bool *)ctx = true;
    return false;
}

/* Whether one more input may be left: at most INPUTS_AHEAD more than turns have ended, or the run rests without an open question, and so has taken all. */
static bool input_fits(chat *k)
{
    bool fits, rests, asked = false;
    arena mem;

    pthread_mutex_lock(&k->hearing);
    fits = k->inputs < k->turns_ended + INPUTS_AHEAD;
    rests = k->rests;
    pthread_mutex_unlock(&k->hearing);
    if (fits || !rests)
        return fits;
    arena_init(&mem, NULL, 4096);
    each_wait(k, &mem, is_asked, &asked);
    arena_free(&mem);
    if (asked)
        return false;
    pthread_mutex_lock(&k->hearing);
    k->inputs = k->turns_ended;
    pthread_mutex_unlock(&k->hearing);
    return true;
}

static void inputs_leave(chat *k)
{
    while (k->later_at < k->later.size && input_fits(k)) {
        const char *at = k->later.data + k->later_at;
        const size_t size = strlen(at);
        pawl_err err = {0};

        if (leave_bytes(k, k->s->run, PAWL_DELIVER_INPUT, NULL, (pawl_bytes){ at, size }, &err) != PAWL_OK)
            bad_frame(k, err.text);
        k->later_at += size + 1;
    }
    if (k->later_at == k->later.size) {
        buf_reset(&k->later);
        k->later_at = 0;
    }
}

/* Appended to the inputs that wait, so that they keep the order of their frames. */
static void input_add(chat *k, arena *mem, const pawl_value *content)
{
    const size_t before = k->later.size;

    canon(&k->later, value_pack(mem, NULL, "{s:v}", "input", content));
    buf_char(&k->later, '\0');
    if (k->later.failed) {
        k->later.size = before;
        k->later.failed = false;
        bad_frame(k, "no memory");
    }
    inputs_leave(k);
}

/* Converts an image block of Claude's clients to ours. NULL: the error was printed. */
static const pawl_value *image_of(chat *k, arena *mem, const pawl_value *block)
{
    const pawl_value *source = pawl_value_get(block, "source"), *data = pawl_value_get(source, "data"), *media = pawl_value_get(source, "media_type");
    const char *type = pawl_value_string(pawl_value_get(source, "type"));

    if (type == NULL || strcmp(type, "base64") != 0 || data == NULL || media == NULL) {
        bad_frame(k, "the source of an image is {\"type\":\"base64\",\"media_type\",\"data\"}: nothing is fetched for it, by \"url\" or otherwise");
        return NULL;
    }
    return value_pack(mem, NULL, "{s:v,s:v,s:s}", "data", data, "media_type", media, "type", "image");
}

static const pawl_value *content_of(chat *k, arena *mem, const pawl_value *content)
{
    const pawl_value *all = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) != PAWL_TYPE_ARRAY)
        return content;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *type = pawl_value_string(pawl_value_get(one, "type"));

        if (type != NULL && strcmp(type, "image") == 0 && pawl_value_get(one, "source") != NULL && (one = image_of(k, mem, one)) == NULL)
            return NULL;
        all = value_push(mem, all, one);
    }
    return all;
}

static void on_retry(chat *k, arena *mem)
{
    current_state now;
    pawl_err err = {0};
    pawl_code rc = current_state_load(&now, k->own, k->s->run, &err);

    if (rc == PAWL_OK && !chat_may_retry(k->s->run, now.st, &err))
        rc = err.code;
    current_state_free(&now);
    if (rc == PAWL_OK)
        rc = leave(k, PAWL_DELIVER_SIGNAL, "retry_turn", NULL, &err);
    if (rc != PAWL_OK)
        chat_write(k, chat_error_result(mem, k->s->run, err.text));
}

/* A member that would change what becomes of the message; NULL: none. */
static const char *message_wants(const pawl_value *v)
{
    const pawl_value *query = pawl_value_get(v, "shouldQuery");
    const char *priority = pawl_value_string(pawl_value_get(v, "priority"));

    if (pawl_value_type(query) == PAWL_TYPE_BOOL && !pawl_value_bool(query))
        return "shouldQuery";
    if (priority != NULL && strcmp(priority, "now") == 0)
        return "priority";
    return pawl_value_bool(pawl_value_get(v, "isSynthetic")) ? "isSynthetic"
           : pawl_value_string(pawl_value_get(v, "parent_tool_use_id")) != NULL ? "parent_tool_use_id" : NULL;
}

static void on_user(chat *k, arena *mem, const pawl_value *v)
{
    const pawl_value *content = pawl_value_find(v, "/message/content"), *role = pawl_value_find(v, "/message/role");
    const pawl_type t = pawl_value_type(content);
    const bool users = role == NULL || (pawl_value_string(role) != NULL && strcmp(pawl_value_string(role), "user") == 0);
    const char *wants = message_wants(v);
    pawl_err err = {0};

    if (wants != NULL) {
        fail(&err, PAWL_INVALID, "%s of a message is not in this version of Pawl, and is not left out silently", wants);
        bad_frame(k, err.text);
        if (k->c->bare)         /* an SDK waits for the result */
            chat_write(k, chat_error_result(mem, k->s->run, err.text));
        return;
    }
    if (!users || (t != PAWL_TYPE_STRING && t != PAWL_TYPE_ARRAY))
        bad_frame(k, "a message of the user's is {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":TEXT or BLOCKS}}");
    else if ((content = content_of(k, mem, content)) == NULL)
        return;
    else if (chat_is_retry(content))
        on_retry(k, mem);
    else if (pawl_agent_input(content, &err) != PAWL_OK)
        bad_frame(k, err.text);
    else
        input_add(k, mem, content);
}

static void on_response(chat *k, arena *mem, const pawl_value *v)
{
    const pawl_value *r = pawl_value_get(v, "response"), *reply = pawl_value_get(r, "response");
    answer_search a = { .id = pawl_value_string(pawl_value_get(r, "request_id")), .reply = reply };
    const char *subtype = pawl_value_string(pawl_value_get(r, "subtype")), *error = pawl_value_string(pawl_value_get(r, "error"));
    const bool failed = subtype != NULL && strcmp(subtype, "error") == 0;

    if (a.id == NULL) {
        bad_frame(k, "a control_response names its request_id");
        return;
    }
    if (strncmp(a.id, "hook-", 5) == 0) {       /* one that is not found any more: its time was over, or the turn */
        (void)chat_hook_answered(k, a.id, reply, failed ? error != NULL ? error : "it failed" : NULL);
        return;
    }
    if (failed)
        a.reply = value_pack(mem, NULL, "{s:s,s:s}", "behavior", "deny", "message", error != NULL ? error : "");
    each_wait(k, mem, answer, &a);
    if (a.rc != PAWL_OK)
        bad_frame(k, a.err.text);
    else if (!a.found)
        bad_frame(k, "nothing of that request_id is open");
}

static pawl_code mode_set(chat *k, arena *mem, const pawl_value *request, pawl_err *err)
{
    const char *word = pawl_value_string(pawl_value_get(request, "mode"));
    const pawl_mode mode = pawl_mode_named(word);

    if (mode == PAWL_MODE_NONE)
        return fail(err, PAWL_INVALID, "mode is plan, default, acceptEdits or bypassPermissions");
    if (mode == PAWL_MODE_BYPASS && !k->bypass)
        return fail(err, PAWL_INVALID, "bypassPermissions has to be given when it begins: --mode bypassPermissions");
    return leave(k, PAWL_DELIVER_UPDATE, NULL, value_pack(mem, NULL, "{s:s}", "@mode", word), err);
}

/* The settings of requests with another model, or another budget for thinking; each takes effect with the next request. */
static pawl_code config_set(chat *k, arena *mem, const chat_request_settings *set, pawl_err *err)
{
    const pawl_value *was = k->config.size > 0 ? value_parse(mem, k->config.data, k->config.size, "settings", err) : NULL;
    const pawl_value *now = k->config.size > 0 && was == NULL ? NULL : chat_config(k, mem, was, set, err);

    if (now == NULL)
        return err->code != PAWL_OK ? err->code : PAWL_NOMEM;
    buf_reset(&k->config);
    canon(&k->config, now);
    return leave(k, PAWL_DELIVER_UPDATE, NULL, value_pack(mem, NULL, "{s:v}", "@config", now), err);
}

/* null: that of the file again. */
static pawl_code model_set(chat *k, arena *mem, const pawl_value *request, pawl_err *err)
{
    const pawl_value *model = pawl_value_get(request, "model");
    const chat_request_settings set = { .model = pawl_value_string(model) != NULL ? chat_model(k, mem, pawl_value_string(model)) : k->s->of->agent->a.model };

    if (model != NULL && pawl_value_type(model) != PAWL_TYPE_STRING && pawl_value_type(model) != PAWL_TYPE_NULL)
        return fail(err, PAWL_INVALID, "model is a text, or null");
    return config_set(k, mem, &set, err);
}

/* A second one: its hooks would come too late. */
static pawl_code initialize(chat *k, arena *mem, const pawl_value *request, pawl_err *err)
{
    static const char *const due[] = { "hooks", "agents", "sdkMcpServers", "systemPrompt", "appendSystemPrompt", "jsonSchema", "skills", "plugins" };
    const pawl_value *v;

    (void)k, (void)mem;
    for (size_t i = 0; i < sizeof due / sizeof *due; i++)
        if ((v = pawl_value_get(request, due[i])) != NULL && pawl_value_type(v) != PAWL_TYPE_NULL && pawl_value_size(v) > 0)
            return fail(err, PAWL_INVALID, "initialize: %s holds only as the first frame of a call without a verb: pawl --input-format stream-json "
                        "--output-format stream-json", due[i]);
    return chat_hello_check(request, err);
}

/* What a client may ask for, and with which member. */
static const struct { const char *subtype, *member; } requests[] = {
    { "interrupt", "" }, { "set_model", "model" }, { "set_permission_mode", "mode" }, { "mcp_status", "" },
};

/* No request, and no member of one, is left out silently. */
static pawl_code request_check(const pawl_value *request, const char *subtype, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(request);
    const pawl_value *key, *v;
    size_t i = 0;

    while (i < sizeof requests / sizeof *requests && strcmp(requests[i].subtype, subtype) != 0)
        i++;
    if (i == sizeof requests / sizeof *requests)
        return fail(err, PAWL_INVALID, "no such request: \"%.40s\"; initialize, interrupt, set_model, set_permission_mode and mcp_status are", subtype);
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), "subtype") != 0 && strcmp(pawl_value_string(key), requests[i].member) != 0 && !chat_is_empty(v))
            return fail(err, PAWL_INVALID, "%s: %.60s is not in this version of Pawl, and is not left out silently", subtype, pawl_value_string(key));
    return PAWL_OK;
}

static void on_request(chat *k, arena *mem, const pawl_value *v)
{
    const char *id = pawl_value_string(pawl_value_get(v, "request_id"));
    const pawl_value *request = pawl_value_get(v, "request");
    const char *subtype = pawl_value_string(pawl_value_get(request, "subtype"));
    pawl_code rc = PAWL_OK;
    pawl_err err = {0};

    if (id == NULL || subtype == NULL) {
        bad_frame(k, "a control_request has a request_id, and a request with its subtype");
        return;
    }
    rc = strcmp(subtype, "initialize") == 0 ? initialize(k, mem, request, &err) : request_check(request, subtype, &err);
    if (rc == PAWL_OK && strcmp(subtype, "initialize") == 0) {
        respond(k, mem, id, chat_greeting(k, mem), NULL);
        each_wait(k, mem, again, NULL);
        return;
    }
    if (rc == PAWL_OK && strcmp(subtype, "mcp_status") == 0) {
        respond(k, mem, id, value_pack(mem, NULL, "{s:[]}", "mcpServers"), NULL);
        return;
    }
    if (rc == PAWL_OK && strcmp(subtype, "interrupt") == 0)
        rc = leave(k, PAWL_DELIVER_SIGNAL, "interrupt", NULL, &err);
    else if (rc == PAWL_OK && strcmp(subtype, "set_model") == 0)
        rc = model_set(k, mem, request, &err);
    else if (rc == PAWL_OK && strcmp(subtype, "set_permission_mode") == 0)
        rc = mode_set(k, mem, request, &err);
    respond(k, mem, id, NULL, rc == PAWL_OK ? NULL : err.text);
}

static void on_line(chat *k, const char *line, size_t size)
{
    pawl_err err = {0};
    const pawl_value *v;
    const char *type;
    arena mem;

    if (strspn(line, " \t\r\n") >= size)
        return;
    k->frames++;
    arena_init(&mem, NULL, 4096);
    v = value_parse(&mem, line, size, "it is no JSON", &err);
    type = pawl_value_string(pawl_value_get(v, "type"));
    if (v == NULL)
        bad_frame(k, err.text);
    else if (type != NULL && strcmp(type, "user") == 0)
        on_user(k, &mem, v);
    else if (type != NULL && strcmp(type, "control_request") == 0)
        on_request(k, &mem, v);
    else if (type != NULL && strcmp(type, "control_response") == 0)
        on_response(k, &mem, v);
    else if (type == NULL || strcmp(type, "control_cancel_request") != 0)       /* each request here is answered at once: there is nothing to cancel */
        bad_frame(k, "its type is none of user, control_request, control_response");
    arena_free(&mem);
}

/* ---- the thread -------------------------------------------------------------------------------------------------------- */

/* Reads what stdin has; meanwhile inputs that wait are left. 0: stdin has ended; -1: the listener must end. */
static ssize_t part(chat *k, char *out)
{
    struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
    ssize_t n;

    while (!atomic_load(&k->leaves) && signals_stopped() == 0) {
        const bool full = k->later.size - k->later_at > LATER_BYTES_MAX;

        inputs_leave(k);
        chat_hooks_check(k);
        if (poll(&fd, full ? 0 : 1, k->later.size > 0 ? DRAIN_MS : LOOK_MS) <= 0)
            continue;
        if ((n = read(STDIN_FILENO, out, PART_BYTES)) >= 0)
            return n;
        if (errno != EINTR && errno != EAGAIN)
            return 0;
    }
    return -1;
}

/* Stdin has ended: inputs that wait are left as the queue gets room. Open questions are denied meanwhile; with --ask wait they stay open, and inputs
 * that then find no room are not taken. */
static void inputs_drain(chat *k)
{
    size_t n = 0;

    for (inputs_leave(k); k->later.size > 0 && !atomic_load(&k->leaves) && signals_stopped() == 0; inputs_leave(k)) {
        bool rests;

        (void)poll(NULL, 0, DRAIN_MS);
        pthread_mutex_lock(&k->hearing);
        rests = k->rests;
        pthread_mutex_unlock(&k->hearing);
        if (rests && !input_fits(k) && k->waits)
            break;
        if (rests)
            (void)chat_refuse_all(k);
    }
    for (size_t at = k->later_at; at < k->later.size; at += strlen(k->later.data + at) + 1)
        n++;
    if (n > 0) {
        k->refused = true;
        cli_note(k->c, "pawl: the last %zu messages of stdin were not taken: the run stopped, or waits for an answer", n);
    }
}

static bool line_take(chat *k, buf *line, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n') {
            buf_char(line, data[i]);
            continue;
        }
        buf_char(line, '\0');
        if (!line->failed)
            on_line(k, line->data, line->size - 1);
        buf_reset(line);
    }
    if (line->size <= CHAT_LINE_BYTES_MAX)
        return !line->failed;
    bad_frame(k, "a line of more than 32 MiB (CHAT_LINE_BYTES_MAX)");
    return false;
}

static void *listens(void *arg)
{
    chat *k = arg;
    char data[PART_BYTES];
    ssize_t n = 1;
    buf line;

    buf_init(&line, NULL);
    buf_init(&k->later, NULL);
    again_all(k);
    if (k->ahead.size > 0 && !line_take(k, &line, k->ahead.data, k->ahead.size))
        n = -1;
    while (n > 0 && (n = part(k, data)) > 0 && line_take(k, &line, data, (size_t)n))
        continue;
    if (line.size > 0 && n == 0)
        (void)line_take(k, &line, "\n", 1);
    buf_free(&line);
    chat_hooks_end(k);
    inputs_drain(k);
    buf_free(&k->later);
    pthread_mutex_lock(&k->hearing);
    k->deaf = true;
    pthread_cond_broadcast(&k->heard_some);
    pthread_mutex_unlock(&k->hearing);
    return NULL;
}

bool chat_listener_begin(chat *k)
{
    const char *name = k->c->store_name;

    k->own = name != NULL && strncmp(name, "sqlite:", 7) == 0 ? pawl_store_sqlite(name + 7, NULL, NULL) : NULL;
    k->looks = k->own != NULL && k->states ? pawl_store_sqlite(name + 7, NULL, NULL) : NULL;
    return k->own != NULL && (k->looks != NULL || !k->states) && pthread_create(&k->listener, NULL, listens, k) == 0;
}

unsigned chat_heard(chat *k)
{
    unsigned n;

    pthread_mutex_lock(&k->hearing);
    n = k->heard;
    pthread_mutex_unlock(&k->hearing);
    return n;
}

void chat_state(chat *k, const char *word)
{
    arena mem;

    if (!k->states || (k->state != NULL && strcmp(k->state, word) == 0))
        return;
    k->state = word;
    arena_init(&mem, NULL, 1024);
    chat_write(k, value_pack(&mem, NULL, "{s:b,s:s,s:s,s:s,s:s,s:v}", "sdk_host_only", 1, "session_id", k->s->run, "state", word, "subtype",
                             "session_state_changed", "type", "system", "uuid", chat_uuid(&mem)));
    arena_free(&mem);
}

/* The word for a run that is not driven: somebody has to answer, or it has nothing to do. */
static const char *rest_of(chat *k)
{
    bool asked = false;
    arena mem;
    asks all;

    if (!k->states)
        return "idle";
    arena_init(&mem, NULL, 4096);
    if (asks_read(k->looks, &mem, k->s->run, &all, NULL) == PAWL_OK)
        for (size_t i = 0; i < all.n; i++)
            asked = asked || all.all[i].w.kind == PAWL_WAIT_APPROVAL || all.all[i].w.kind == PAWL_WAIT_QUESTION;
    arena_free(&mem);
    return asked ? "requires_action" : "idle";
}

/* Under `hearing`, which is given up meanwhile. False: nothing came for a while. */
static bool heard_soon(chat *k)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += CLI_REST_LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return pthread_cond_timedwait(&k->heard_some, &k->hearing, &until) != ETIMEDOUT;
}

/* Another process has left something for the run while shells of it run in the background, such as a mode: it has been taken. Under `hearing`. */
static bool stirs_at_rest(chat *k)
{
    pawl_err err = {0};
    pawl_code rc;

    pthread_mutex_unlock(&k->hearing);
    rc = engine_rest_check(k->s->engine, k->s->run, &err);
    pthread_mutex_lock(&k->hearing);
    return rc != PAWL_OK;
}

bool chat_listener_wait(chat *k, unsigned heard)
{
    const char *rest = rest_of(k);
    bool more, stirs = false;

    pthread_mutex_lock(&k->hearing);
    while (k->heard == heard && !k->deaf && !stirs) {
        k->rests = true;
        chat_state(k, rest);
        stirs = !heard_soon(k) && stirs_at_rest(k);
    }
    k->rests = false;
    more = k->heard != heard || stirs;
    if (more)
        chat_state(k, "running");       /* before it is driven, and so before the result of what it drives */
    pthread_mutex_unlock(&k->hearing);
    return more;
}

bool chat_refuse_all(chat *k)
{
    const unsigned before = k->heard;
    arena mem;

    arena_init(&mem, NULL, 4096);
    each_wait(k, &mem, refuse, NULL);
    arena_free(&mem);
    return k->heard != before;
}

void chat_listener_end(chat *k)
{
    atomic_store(&k->leaves, true);
    pthread_join(k->listener, NULL);
    pawl_store_free(k->looks);
    pawl_store_free(k->own);
}
