/* modeling.h - a model that is asked over the wire: a server with scripts, and what the handler made of it. No text has the key in it, whatever
 * is asked. */
#ifndef TEST_EFFECT_MODELING_H
#define TEST_EFFECT_MODELING_H

#include "effect/hand.h"
#include "effect/model_server.h"
#include "lib/accepts.h"
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
    w->h.rc = hand_call(&w->h, fn, &w->h.reply, arg);
    if (w->h.rc >= 0) {
        CHECK((w->h.value = value_parse(&w->h.mem, w->h.reply.text.data, w->h.reply.text.size, "reply", &err)) != NULL);
        no_key_in(w->h.reply.text.data, w->h.reply.text.size);
    } else {
        CHECK(w->h.reply.why != NULL);
        no_key_in(reply_why(&w->h.reply), strlen(reply_why(&w->h.reply)));
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
    return reply_why(&w->h.reply);
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
