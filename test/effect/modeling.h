/* modeling.h - a model that is asked over the wire: a server with scripts, what the handler made of it, and whether what was sent is what the
 * two APIs accept. No text has the key in it, whatever is asked. */
#ifndef TEST_EFFECT_MODELING_H
#define TEST_EFFECT_MODELING_H

#include "effect/hand.h"
#include "effect/model_server.h"
#include "net/net.h"
#include "pawl/llm.h"

#define KEY "sk-0123-not-to-be-told"
#define ASK_A "\"model\":\"anthropic/claude\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define ASK_O "\"model\":\"openai/gpt\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define EV(name, json) "event: " name "\ndata: " json "\n\n"
#define CH(json) "data: " json "\n\n"

typedef struct world {
    hand h;
    model_server s;
    pawl_llm own;
    char base[64];
    const char *key;            /* NULL: there is none */
    buf told;                   /* what was said, a line each */
    int cancel[2];
    unsigned cancel_after;      /* so many words; 0: never */
    unsigned words;
} world;

static inline const char *world_setting(void *ctx, const char *name)
{
    const world *w = ctx;
    const size_t n = strlen(name);

    if (n > 8 && strcmp(name + n - 8, "BASE_URL") == 0 && strcmp(name, "NOBODY_BASE_URL") != 0)
        return w->base;
    return n > 7 && strcmp(name + n - 7, "API_KEY") == 0 ? w->key : NULL;
}

/* A thread of its own: nothing is checked here. */
static inline pawl_code world_say(const pawl_job *job, const char *name, const char *text)
{
    world *w = job->ctx;

    buf_text(&w->told, name);
    buf_char(&w->told, ' ');
    buf_text(&w->told, text);
    buf_char(&w->told, '\n');
    if (buf_room(&w->told, 1))
        w->told.data[w->told.size] = '\0';      /* behind its end, for who looks for a part */
    if (++w->words == w->cancel_after && write(w->cancel[1], "c", 1) != 1)
        return PAWL_IO;
    return PAWL_OK;
}

static inline int64_t world_price(void *ctx, const char *model, const pawl_llm_usage *u)
{
    (void)ctx;
    return strchr(model, '/') != NULL ? 3 * u->input + 15 * u->output + u->cache_read + 4 * u->cache_write : -1;
}

static inline void world_open(world *w)
{
    hand_init(&w->h);
    w->h.job.effect = "llm";
    w->h.job.say = world_say;
    w->h.job.ctx = w;
    w->key = KEY;
    w->words = w->cancel_after = 0;
    w->own = (pawl_llm){ .setting = world_setting, .setting_ctx = w, .price = world_price };
    buf_init(&w->told, NULL);
    model_server_start(&w->s);
    snprintf(w->base, sizeof w->base, "http://127.0.0.1:%d", w->s.port);
    CHECK_INT(pipe(w->cancel), 0);
}

static inline void world_close(world *w)
{
    net_forget();
    model_server_stop(&w->s);
    hand_free(&w->h);
    buf_free(&w->told);
    close(w->cancel[0]);
    close(w->cancel[1]);
}

static inline void no_key_in(const char *text, size_t size)
{
    for (size_t i = 0; size >= strlen(KEY) && i <= size - strlen(KEY); i++)
        if (memcmp(text + i, KEY, strlen(KEY)) == 0)
            CHECK_FAIL("the key is in a text: %.200s", text);
}

/* `args` are members, without braces. */
static inline pawl_code ask_of(world *w, const char *args, pawl_handler_fn *fn, void *arg)
{
    pawl_err err = { 0 };
    buf b;

    buf_init(&b, NULL);
    buf_char(&b, '{');
    buf_text(&b, args);
    buf_char(&b, '}');
    reply_reset(&w->h.reply);
    buf_reset(&w->told);
    w->words = 0;
    w->h.value = NULL;
    w->h.job.args = value_parse(&w->h.mem, b.data, b.size, "args", &err);
    CHECK_STR(err.text, "");
    buf_free(&b);
    w->h.rc = fn(&w->h.job, &w->h.reply, arg);
    if (w->h.rc >= 0) {
        CHECK((w->h.value = value_parse(&w->h.mem, w->h.reply.text.data, w->h.reply.text.size, "reply", &err)) != NULL);
        no_key_in(w->h.reply.text.data, w->h.reply.text.size);
    } else {
        CHECK_INT(w->h.rc, w->h.reply.err.code);
        no_key_in(w->h.reply.err.text, strlen(w->h.reply.err.text));
    }
    if (w->h.reply.detail.size > 0)
        no_key_in(w->h.reply.detail.data, w->h.reply.detail.size);
    if (w->told.size > 0)
        no_key_in(w->told.data, w->told.size);
    return w->h.rc;
}

static inline pawl_code ask(world *w, const char *args)
{
    return ask_of(w, args, pawl_effect_llm, &w->own);
}

/* One answer from now on. */
static inline void says(world *w, int status, const char *head, const char *body, size_t piece, model_end end)
{
    const model_script one = { .status = status, .head = head, .body = body, .piece = piece, .end = end };

    model_says(&w->s, &one, 1);
}

static inline const char *text_of(const world *w)
{
    return w->h.reply.err.text;
}

/* All that was said of one kind, put together: the texts of their member `name`. */
static inline char *told_of(world *w, const char *type, const char *name)
{
    buf out;
    char *copy;

    buf_init(&out, NULL);
    for (const char *at = w->told.data, *end; at != NULL && at < w->told.data + w->told.size; at = end + 1) {
        const pawl_value *v;

        end = memchr(at, '\n', (size_t)(w->told.data + w->told.size - at));
        v = value_parse(&w->h.mem, at + 8, (size_t)(end - at) - 8, "told", NULL);
        CHECK(strncmp(at, "message ", 8) == 0 && v != NULL);
        if (strcmp(pawl_value_string(pawl_value_get(v, "type")), type) == 0 && pawl_value_string(pawl_value_get(v, name)) != NULL)
            buf_put(&out, pawl_value_string(pawl_value_get(v, name)), pawl_value_size(pawl_value_get(v, name)));
    }
    copy = check_copy(out.size > 0 ? out.data : "", out.size);
    buf_free(&out);
    return copy;
}

/* ---- what the two APIs accept ---------------------------------------------------------------------------------- */

static inline void members_are(const pawl_value *v, const char *what, const char *names)
{
    const pawl_value *key;
    pawl_iter it = pawl_iter_of(v);
    char word[64];

    CHECK_INT(pawl_value_type(v), PAWL_TYPE_OBJECT);
    while (pawl_iter_next(&it, &key) != NULL) {
        snprintf(word, sizeof word, " %s ", pawl_value_string(key));
        if (strstr(names, word) == NULL)
            CHECK_FAIL("%s has no member %s", what, word);
    }
}

static inline const char *str(const pawl_value *v, const char *name)
{
    const char *text = pawl_value_string(pawl_value_get(v, name));

    return text != NULL ? text : "";
}

typedef struct api_check {
    unsigned marks;
    const pawl_value *calls[64];        /* of tools, which the next message must answer */
    size_t ncalls, answered;
} api_check;

static inline void answers(api_check *c, const char *id)
{
    for (size_t i = 0; i < c->ncalls; i++)
        if (strcmp(str(c->calls[i], "id"), id) == 0) {
            c->answered++;
            return;
        }
    CHECK_FAIL("nothing was called with the id %s", id);
}

static inline void anthropic_block(api_check *c, const pawl_value *b, bool assistant, size_t at, size_t results)
{
    const char *type = str(b, "type");

    c->marks += pawl_value_get(b, "cache_control") != NULL ? 1 : 0;
    if (strcmp(type, "text") == 0) {
        members_are(b, type, " type text cache_control citations ");
        CHECK(*str(b, "text") != '\0');
    } else if (strcmp(type, "image") == 0) {
        members_are(b, type, " type source cache_control ");
        members_are(pawl_value_get(b, "source"), "source", " type media_type data ");
        CHECK(!assistant);
    } else if (strcmp(type, "thinking") == 0) {
        members_are(b, type, " type thinking signature ");
        CHECK(assistant && *str(b, "signature") != '\0');
    } else if (strcmp(type, "tool_use") == 0) {
        members_are(b, type, " type id name input cache_control ");
        CHECK(assistant && *str(b, "id") != '\0' && pawl_value_type(pawl_value_get(b, "input")) == PAWL_TYPE_OBJECT);
        CHECK(c->ncalls < 64);
        c->calls[c->ncalls++] = b;
    } else if (strcmp(type, "tool_result") == 0) {
        members_are(b, type, " type tool_use_id content is_error cache_control ");
        CHECK(!assistant && at == results);     /* nothing stands before it */
        answers(c, str(b, "tool_use_id"));
    } else {
        CHECK(*type != '\0');
    }
}

static inline void anthropic_accepts(const pawl_value *body)
{
    static const char all[] = " model max_tokens tools tool_choice system messages thinking temperature stop_sequences stream ";
    pawl_iter it = pawl_iter_of(pawl_value_get(body, "messages")), blocks;
    const pawl_value *m, *b;
    const char *before = "assistant";
    api_check c = { 0 };

    members_are(body, "the body", all);
    CHECK(*str(body, "model") != '\0' && pawl_value_int(pawl_value_get(body, "max_tokens")) > 0);
    CHECK(pawl_value_bool(pawl_value_get(body, "stream")));
    CHECK(pawl_value_size(pawl_value_get(body, "messages")) > 0);
    CHECK(pawl_value_get(body, "tool_choice") == NULL || pawl_value_size(pawl_value_get(body, "tools")) > 0);
    for (blocks = pawl_iter_of(pawl_value_get(body, "tools")); (b = pawl_iter_next(&blocks, NULL)) != NULL;) {
        members_are(b, "a tool", " name description input_schema cache_control ");
        CHECK_STR(pawl_value_string(pawl_value_find(b, "/input_schema/type")), "object");
        c.marks += pawl_value_get(b, "cache_control") != NULL ? 1 : 0;
    }
    for (blocks = pawl_iter_of(pawl_value_get(body, "system")); (b = pawl_iter_next(&blocks, NULL)) != NULL;)
        anthropic_block(&c, b, false, 0, 0);
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        const bool assistant = strcmp(str(m, "role"), "assistant") == 0;
        const size_t due = c.ncalls;
        size_t at = 0, results = 0;

        members_are(m, "a message", " role content ");
        CHECK(strcmp(str(m, "role"), before) != 0);     /* they alternate, and the user begins */
        before = str(m, "role");
        CHECK(pawl_value_size(pawl_value_get(m, "content")) > 0);
        if (assistant)
            c.ncalls = c.answered = 0;
        for (blocks = pawl_iter_of(pawl_value_get(m, "content")); (b = pawl_iter_next(&blocks, NULL)) != NULL; at++) {
            anthropic_block(&c, b, assistant, at, results);
            results += strcmp(str(b, "type"), "tool_result") == 0 ? 1 : 0;
        }
        if (!assistant)
            CHECK_INT(results, due);
        if (!assistant)
            c.ncalls = 0;
    }
    CHECK(c.marks <= 4);
}

static inline void openai_message(api_check *c, const pawl_value *m, const char *before)
{
    const char *role = str(m, "role");
    const pawl_value *content = pawl_value_get(m, "content"), *calls = pawl_value_get(m, "tool_calls"), *call;
    pawl_iter it = pawl_iter_of(calls);

    if (strcmp(role, "tool") == 0) {
        members_are(m, role, " role tool_call_id content ");
        CHECK(strcmp(before, "tool") == 0 || strcmp(before, "assistant") == 0);
        CHECK_INT(pawl_value_type(content), PAWL_TYPE_STRING);
        answers(c, str(m, "tool_call_id"));
        return;
    }
    CHECK_INT(c->answered, c->ncalls);
    CHECK(strcmp(role, before) != 0);
    if (strcmp(role, "assistant") != 0) {
        members_are(m, role, " role content ");
        CHECK(pawl_value_size(content) > 0 && (strcmp(role, "user") == 0 || strcmp(role, "system") == 0));
        return;
    }
    members_are(m, role, " role content tool_calls ");
    CHECK(pawl_value_size(content) > 0 || pawl_value_size(calls) > 0);
    c->ncalls = c->answered = 0;
    while ((call = pawl_iter_next(&it, NULL)) != NULL) {
        members_are(call, "a call", " id type function ");
        members_are(pawl_value_get(call, "function"), "a function", " name arguments ");
        CHECK_INT(pawl_value_type(pawl_value_find(call, "/function/arguments")), PAWL_TYPE_STRING);
        CHECK(c->ncalls < 64);
        c->calls[c->ncalls++] = call;
    }
}

static inline void openai_accepts(const pawl_value *body)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(body, "messages"));
    const pawl_value *m;
    const char *before = "";
    api_check c = { 0 };

    members_are(body, "the body", " model max_tokens max_completion_tokens tools tool_choice messages response_format temperature stop stream "
                                  "stream_options ");
    members_are(pawl_value_get(body, "stream_options"), "stream_options", " include_usage ");
    CHECK(pawl_value_size(pawl_value_get(body, "messages")) > 0);
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        openai_message(&c, m, before);
        before = str(m, "role");
    }
    CHECK_INT(c.answered, c.ncalls);
}

/* The last body that was sent, which its API accepts. */
static inline const pawl_value *sent_to(world *w, bool anthropic)
{
    char *request = model_heard(&w->s), *body = strstr(request, "\r\n\r\n");
    pawl_err err = { 0 };
    const pawl_value *v = body != NULL ? value_parse(&w->h.mem, body + 4, strlen(body + 4), "the body", &err) : NULL;

    CHECK_STR(err.text, "");
    CHECK(v != NULL);
    CHECK(strstr(request, anthropic ? "POST /v1/messages HTTP" : "POST /chat/completions HTTP") != NULL);
    free(request);
    if (anthropic)
        anthropic_accepts(v);
    else
        openai_accepts(v);
    return v;
}

/* What lies there, as canonical JSON. */
static inline void value_is(const pawl_value *v, const char *path, const char *expected)
{
    buf b;

    buf_init(&b, NULL);
    canon(&b, pawl_value_find(v, path));
    CHECK_BYTES(b.data, b.size, expected, strlen(expected));
    buf_free(&b);
}

#endif
