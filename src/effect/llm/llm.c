/* llm.c - the handler of the effect `llm` over HTTP: finds the provider, makes the exchange, and makes the reply.
 *
 * Called by the engine on any thread; when the job can be answered later, the loop thread drives the call. One `call` belongs to one job.
 * Invariants: a key stands in no text of a reply. Nothing that may succeed as it is is tried again here: a second exchange asks for a typed value in
 * another way, because the server refused the first and charged nothing, or asks once to repair one; then the call costs both. An engine makes it a
 * further attempt, which is charged before it leaves (A9); without one it is made here. */
#include "effect/trace_context.h"
#include "effect/llm/llm.h"
#include "net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    SETTING_BYTES_MAX = 96,     /* of a setting's name */
    HEAD_KEPT_BYTES = 65536     /* kept of a body that may turn out not to be a stream */
};
#define DAY_MS              86400000
#define FIRST_MS            INT64_C(600000)
#define IDLE_MS             INT64_C(120000)
#define STREAM_BYTES_MAX    ((size_t)256 << 20)     /* of one answer */
#define ERROR_BYTES_MAX     ((size_t)1 << 20)       /* of the body of an error */
#define TELL_BYTES_MAX      ((size_t)2000)          /* of that body, in an error text */
#define VERSION "2023-06-01"

/* What a further attempt goes on with; the engine has it meanwhile. */
typedef struct llm_begun {
    pawl_alloc alloc;
    arena mem;
    uint32_t attempt;           /* the one before it: only the next one asks to repair its answer */
    llm_way way, first;
    const pawl_value *said, *told;      /* the answer to repair, and what is wrong with it; NULL: none */
    pawl_llm_usage spent;
    bool unknown;
} llm_begun;

typedef struct llm_call {
    job_watch watch;            /* first: the request's ctx */
    pawl_job flat;              /* a copy of the job, with flat arguments */
    const pawl_job *job;        /* that copy */
    pawl_reply *r;
    const pawl_llm *own;
    llm_request q;
    const llm_api *api;
    const char *key, *base;
    const char *place;          /* a copy of base, for what is known of it; NULL: no typed value is asked for in different ways */
    bool later;                 /* the loop thread drives the call */
    bool kept;                  /* call_own() was called */
    unsigned exchanges;         /* requests that were made, with those of earlier attempts */
    llm_way first;              /* how the value was asked for first */
    bool repairs;               /* the model was asked to repair its answer */
    const pawl_value *said, *told;      /* that answer and what it was told, as messages; NULL: none */
    pawl_llm_usage spent;       /* for the answer before */
    bool unknown;               /* that usage cannot be charged */
    const char *priced;         /* the model as the arguments name it, for the price */
    arena mem, scratch;         /* mem: kept for the call; scratch: for one event */
    buf body, head;             /* head: the headers of the answer */
    sse stream;
    llm_answer a;
    size_t bytes;               /* received of the stream */
    bool events;                /* at least one event was received */
    pawl_code rc;               /* the stream cannot be parsed: see err */
    pawl_err err;
    net_request net;
    net_answer answer;
} llm_call;

/* ---- whom to ask --------------------------------------------------------------------------------------------- */

static const char *setting(const llm_call *c, const char *name)
{
    const char *text = c->own->setting != NULL ? c->own->setting(c->own->setting_ctx, name) : getenv(name);

    return text != NULL && *text != '\0' ? text : NULL;
}

/* PROVIDER_KIND, in upper case; - becomes _. */
static bool setting_name(const char *provider, const char *kind, char out[SETTING_BYTES_MAX])
{
    const int n = snprintf(out, SETTING_BYTES_MAX, "%s_%s", provider, kind);

    for (char *p = out; *p != '\0'; p++)
        *p = *p >= 'a' && *p <= 'z' ? (char)(*p - ('a' - 'A')) : *p == '-' ? '_' : *p;
    return n > 0 && n < SETTING_BYTES_MAX;
}

/* Only characters that are valid in a header or an address. */
static bool clean(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static pawl_code provider_find(llm_call *c)
{
    static const struct { const char *name, *base; bool key; } known[] = {
        { "anthropic", "https://api.anthropic.com", true }, { "openai", "https://api.openai.com/v1", true },
        { "ollama", "http://127.0.0.1:11434/v1", false },
    };
    char name[SETTING_BYTES_MAX];
    bool due = false;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(c->q.provider, known[i].name) == 0) {
            c->base = known[i].base;
            due = known[i].key;
        }
    if (strcmp(c->q.provider, "script") == 0)
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: nobody here follows \"%s\"", c->job->effect, c->q.model);
    c->api = strcmp(c->q.provider, "anthropic") == 0 ? &llm_anthropic : &llm_openai;
    if (!setting_name(c->q.provider, "BASE_URL", name))
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: the name of the provider is too long", c->job->effect);
    if (setting(c, name) != NULL)
        c->base = setting(c, name);
    if (c->base == NULL)
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: there is no provider \"%s\"; set %s to the address of an API like OpenAI's", c->job->effect,
                               c->q.provider, name);
    if ((strncasecmp(c->base, "http://", 7) != 0 && strncasecmp(c->base, "https://", 8) != 0) || !clean(c->base))
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: %s is no URL of http or https", c->job->effect, name);
    setting_name(c->q.provider, "API_KEY", name);
    c->key = setting(c, name);
    if (c->key == NULL && due)
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: no key for %s; set %s", c->job->effect, c->q.provider, name);
    if (c->key != NULL && !clean(c->key))
        return pawl_reply_fail(c->r, PAWL_INVALID, "%s: %s has a byte that no key has: a blank, perhaps, or the end of a line", c->job->effect, name);
    c->a.key = c->key;
    if (c->q.schema != NULL && c->api == &llm_openai) {
        if ((c->place = arena_text(&c->mem, c->base)) == NULL)
            return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory", c->job->effect);
        c->q.way = c->first = llm_way_known(c->place, c->q.model);
    }
    return PAWL_OK;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static const char *joined(llm_call *c, const char *before, const char *text, const char *after)
{
    const size_t n = strlen(before), m = strlen(text), k = strlen(after);
    char *out = arena_get(&c->mem, n + m + k + 1);

    if (out == NULL)
        return NULL;
    memcpy(out, before, n);
    memcpy(out + n, text, m);
    memcpy(out + n + m, after, k + 1);
    return out;
}

/* The base URL without trailing slashes, the path, and the base's query if it has one; Anthropic's base may contain the version or not. */
static const char *url_make(llm_call *c)
{
    size_t n = strcspn(c->base, "?#");
    const char *base, *query = c->base[n] == '?' ? c->base + n : "";

    while (n > 0 && c->base[n - 1] == '/')
        n--;
    if ((base = arena_strdup(&c->mem, c->base, n)) == NULL)
        return NULL;
    if (c->api == &llm_anthropic && (n < 3 || strcmp(base + n - 3, "/v1") != 0) && (base = joined(c, base, "/v1", "")) == NULL)
        return NULL;
    return joined(c, base, c->api->path, query);
}

static bool headers_make(llm_call *c)
{
    const char **h = c->net.headers = arena_get(&c->mem, 9 * sizeof *h), *version, *beta;
    char trace[TRACEPARENT_BYTES];

    if (h == NULL)
        return false;
    *h++ = "Content-Type: application/json";
    *h++ = "Accept: text/event-stream";
    *h++ = "Expect:";                   /* do not wait for a 100 Continue */
    if (c->api == &llm_anthropic) {
        version = setting(c, "ANTHROPIC_VERSION");
        beta = setting(c, "ANTHROPIC_BETA");
        *h++ = joined(c, "anthropic-version: ", version != NULL && clean(version) ? version : VERSION, "");
        if (beta != NULL && clean(beta))
            *h++ = joined(c, "anthropic-beta: ", beta, "");
        *h++ = joined(c, "x-api-key: ", c->key, "");
    } else if (c->key != NULL) {
        *h++ = joined(c, "Authorization: Bearer ", c->key, "");
    }
    if (trace_context_of(c->job, trace))
        *h++ = joined(c, "traceparent: ", trace, "");
    *h = NULL;
    return !c->mem.failed;
}

/* ---- the exchange -------------------------------------------------------------------------------------------------- */

static void event_take(llm_call *c, const sse_event *ev)
{
    c->events = true;
    arena_reset(&c->scratch);
    c->rc = c->api->event(&c->a, ev, &c->scratch);
}

/* Called with each piece of the stream. */
static net_taken take(void *ctx, const net_answer *answer, const char *data, size_t size)
{
    llm_call *c = ctx;
    pawl_bytes in = { data, size };
    sse_event ev;
    pawl_code rc = PAWL_PENDING;

    (void)answer;
    if (!c->events && c->head.size < HEAD_KEPT_BYTES)
        buf_put(&c->head, data, size < HEAD_KEPT_BYTES - c->head.size ? size : HEAD_KEPT_BYTES - c->head.size);
    c->bytes += size;
    if (c->bytes > STREAM_BYTES_MAX)
        c->rc = fail(&c->err, PAWL_LIMIT, "the stream is over %zu bytes (STREAM_BYTES_MAX)", STREAM_BYTES_MAX);
    while (c->rc == PAWL_OK && (rc = sse_next(&c->stream, &in, &ev, &c->err)) == PAWL_OK)
        event_take(c, &ev);
    if (c->rc == PAWL_OK && rc != PAWL_PENDING)
        c->rc = rc;
    return c->rc != PAWL_OK ? NET_ENOUGH : c->a.whole ? NET_LAST : NET_MORE;
}

static pawl_code request_make(llm_call *c, pawl_err *why)
{
    const char *limit;

    c->api->body(&c->mem, &c->q, &c->body);
    c->exchanges++;
    if (c->net.url == NULL && (!headers_make(c) || (c->net.url = url_make(c)) == NULL))
        return fail(why, PAWL_NOMEM, "no memory for its request");
    if (c->mem.failed || c->body.failed)
        return fail(why, PAWL_NOMEM, "no memory for its request");
    c->net.method = "POST";
    c->net.body = c->body.data;
    c->net.body_size = c->body.size;
    c->net.response_bytes = ERROR_BYTES_MAX;
    c->net.ca = c->own->ca;
    c->net.sink = take;
    c->net.first_ms = c->own->first_ms > 0 ? c->own->first_ms : FIRST_MS;
    c->net.idle_ms = c->own->idle_ms > 0 ? c->own->idle_ms : IDLE_MS;
    c->net.until_ms = job_until(c->job, 0, &limit);
    llm_emit_begin(c->job);
    return PAWL_OK;
}

/* ---- another exchange ------------------------------------------------------------------------------------------------------ */

/* Makes room for another answer. Usage of this one is charged with the next. PAWL_PENDING: the next request is to be made. */
static pawl_code once_more(llm_call *c)
{
    const pawl_alloc *alloc = &c->r->alloc;

    buf_reset(&c->body);
    buf_reset(&c->head);
    sse_free(&c->stream);
    sse_init(&c->stream, alloc);
    net_answer_free(&c->answer);
    net_answer_init(&c->answer, alloc);
    llm_answer_free(&c->a);
    llm_answer_init(&c->a, &c->mem, c->job, &c->q);
    c->a.key = c->key;
    c->bytes = 0;
    c->events = false;
    c->rc = PAWL_OK;
    return PAWL_PENDING;
}

static void begun_drop(void *ctx)
{
    llm_begun *b = ctx;
    const pawl_alloc alloc = b->alloc;

    arena_free(&b->mem);
    mem_free(&alloc, b, sizeof *b);
}

/* NULL: no memory. */
static llm_begun *begun_new(const llm_call *c)
{
    const pawl_alloc *alloc = &c->r->alloc;
    llm_begun *b = mem_new(alloc, sizeof *b);

    if (b == NULL)
        return NULL;
    *b = (llm_begun){ .alloc = *alloc, .attempt = c->job->attempt, .way = c->q.way, .first = c->first, .spent = c->spent, .unknown = c->unknown };
    arena_init(&b->mem, alloc, 1024);
    if (c->said == NULL || ((b->said = value_copy(&b->mem, c->said)) != NULL && (b->told = value_copy(&b->mem, c->told)) != NULL))
        return b;
    begun_drop(b);
    return NULL;
}

/* Goes on where the attempt before ended; a retry begins the repair anew, in the way that is known by now. */
static void begun_use(llm_call *c)
{
    const llm_begun *b = c->job->kept;

    if (b == NULL || c->place == NULL)
        return;
    c->q.way = b->way;
    c->first = b->first;
    c->exchanges = 1;
    if (b->said == NULL || c->job->attempt != b->attempt + 1)
        return;
    c->said = b->said;
    c->told = b->told;
    c->q.messages = value_push(&c->mem, value_push(&c->mem, c->q.messages, b->said), b->told);
    c->spent = b->spent;
    c->unknown = b->unknown;
    c->repairs = true;
}

/* Another request is to be made: by a further attempt, or here (PAWL_PENDING). `why`: the error if the engine makes none. */
static pawl_code go_on(llm_call *c, const char *why)
{
    const pawl_job *job = c->job;
    llm_begun *b;
    pawl_code rc;

    if (job->again == NULL)
        return once_more(c);
    if ((b = begun_new(c)) == NULL)
        return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory for its next request", job->effect);
    if ((rc = job->again(job, b, begun_drop)) == PAWL_OK)
        return pawl_reply_fail(c->r, PAWL_TRANSIENT, "%s", why);
    begun_drop(b);
    return pawl_reply_fail(c->r, rc, "%s: called off before its next request", job->effect);
}

/* The server does not know this way to ask for a typed value: the next one is taken. False: the error stays. */
static bool way_next(llm_call *c, const llm_error *e)
{
    if (c->place == NULL || !llm_way_refused(c->q.way, e))
        return false;
    c->q.way++;
    return true;
}

/* Asks once for a value that matches, of a model that was given the schema in words. False: it is not asked. */
static bool repair(llm_call *c)
{
    const llm_answer *a = &c->a;
    const char *wrong;
    buf text;

    if (c->place == NULL || c->q.way < LLM_BY_JSON || c->repairs || a->rc != PAWL_TRANSIENT || !a->whole || a->stop == LLM_MAX_TOKENS ||
        a->stop == LLM_CONTEXT_EXCEEDED)
        return false;
    buf_init(&text, &c->mem.alloc);
    for (size_t i = 0; i < a->nparts; i++)
        if (a->parts[i].kind == LLM_TEXT)
            buf_put(&text, a->parts[i].text.data, a->parts[i].text.size);
    c->said = value_pack(&c->mem, NULL, "{s:s,s:v}", "role", "assistant", "content", value_string(&c->mem, text.size > 0 ? text.data : "", text.size));
    buf_reset(&text);
    buf_text(&text, a->err.text);
    buf_text(&text, "\nGive the answer again, as one JSON value that matches the schema, and no other text.");
    buf_char(&text, '\0');
    wrong = text.failed ? NULL : arena_text(&c->mem, text.data);
    buf_free(&text);
    c->told = wrong == NULL ? NULL : value_pack(&c->mem, NULL, "{s:s,s:s}", "role", "user", "content", wrong);
    if (c->job->again == NULL)
        c->q.messages = value_push(&c->mem, value_push(&c->mem, c->q.messages, c->said), c->told);
    if (c->told == NULL || c->mem.failed)
        return false;
    c->spent = a->usage;
    c->unknown = !llm_is_counted(a);
    c->repairs = true;
    return true;
}

/* The answer costs what the one before it cost, too. */
static void spent_add(llm_call *c)
{
    pawl_llm_usage *u = &c->a.usage;

    u->input += c->spent.input;
    u->output += c->spent.output;
    u->cache_read += c->spent.cache_read;
    u->cache_write += c->spent.cache_write;
    c->a.unreadable |= c->unknown ? USAGE_IN : 0;
}

/* ---- what it came to --------------------------------------------------------------------------------------------------- */

/* The key is taken out of the whole before anything is cut, so that no half of it remains. */
static void detail(llm_call *c, const buf *body)
{
    char *text = body->size > 0 ? arena_strdup(&c->mem, body->data, body->size) : NULL;

    if (text == NULL)
        return;
    text_ascii(text, body->size);
    (void)text_star(text, strlen(text), c->key);
    if (strlen(text) > TELL_BYTES_MAX)
        text[cut_end(text, TELL_BYTES_MAX)] = '\0';
    pawl_reply_detail(c->r, text);
}

static const char *header(const llm_call *c, const char *name)
{
    return net_head(&c->answer.head, name);
}

static int64_t wait_ms(const llm_call *c)
{
    const char *ms = header(c, "retry-after-ms");
    const long long n = ms != NULL ? strtoll(ms, NULL, 10) : 0;

    if (n > 0 && n <= DAY_MS)
        return n;
    return retry_after_ms(header(c, "retry-after"), header(c, "date"));
}

/* An error by its status and body, or by the body of an answer that is not a stream. */
static pawl_code refused(llm_call *c, const buf *body)
{
    const char *again = header(c, "x-should-retry");
    llm_error e = { .status = c->answer.status, .type = "", .code = "", .text = "" };
    pawl_err why = { 0 };
    pawl_code rc;

    e.should_retry = again != NULL && strcmp(again, "true") == 0;
    e.should_not = again != NULL && strcmp(again, "false") == 0;
    if (e.status / 100 == 2)
        e.status = 0;
    llm_error_read(value_parse(&c->mem, body->size > 0 ? body->data : "", body->size, "the answer", NULL), &e);
    rc = llm_error_fail(&e, c->key, &why);
    if (way_next(c, &e)) {
        if (c->job->again != NULL)
            pawl_reply_cost(c->r, 0, 0);        /* of this attempt */
        return go_on(c, why.text);
    }
    reply_status(c->r, e.status);
    if (rc == PAWL_TRANSIENT)
        pawl_reply_retry_after(c->r, wait_ms(c));
    detail(c, body);
    if (c->q.way != c->first)
        return pawl_reply_fail(c->r, rc, "%s (the value was asked for by %s, since the server refuses %s)", why.text, llm_way_name(c->q.way),
                               llm_way_name(c->q.way - 1));
    return pawl_reply_fail(c->r, rc, "%s", why.text);
}

/* Data arrived but no event: another content type, or JSON under any type. */
static bool is_no_stream(llm_call *c)
{
    const char *type = header(c, "content-type");

    return !c->events && c->head.size > 0 && (type == NULL || strncasecmp(type, "text/event-stream", 17) != 0 || strchr("{[", c->head.data[0]) != NULL);
}

/* The stream has ended. */
static pawl_code ended(llm_call *c)
{
    const char *id = header(c, c->api->request_id);
    pawl_code rc = c->rc;

    if (rc == PAWL_OK && c->a.rc == PAWL_OK && is_no_stream(c)) {
        if (llm_error_is(value_parse(&c->mem, c->head.data, c->head.size, "the answer", NULL)))
            return refused(c, &c->head);
        detail(c, &c->head);
        return pawl_reply_fail(c->r, PAWL_TRANSIENT, "Invalid response: no stream of events");
    }
    if (id != NULL && utf8_valid(id, strlen(id)))
        c->a.request_id = id;
    if (rc == PAWL_OK)
        rc = c->api->end(&c->a);
    if (rc == PAWL_OK)
        rc = llm_reply(&c->a, c->r);
    if (rc == PAWL_OK)
        return PAWL_OK;
    if (repair(c))
        return go_on(c, c->a.err.text);
    if (c->a.rc != PAWL_OK)
        return pawl_reply_fail(c->r, rc, "%s%s", c->a.err.text, c->repairs ? " (also after a request to repair it)" : "");
    return pawl_reply_fail(c->r, rc, "%s%s", rc == PAWL_LIMIT ? "Invalid response: " : "", c->err.text);
}

static pawl_code unanswered(llm_call *c, pawl_code rc, const pawl_err *why)
{
    if (c->rc != PAWL_OK || c->a.rc != PAWL_OK)         /* the error was known before the connection failed */
        return ended(c);
    if (c->answer.untouched && c->exchanges <= 1)
        pawl_reply_untouched(c->r);
    if (rc == PAWL_TIMEOUT)
        return pawl_reply_fail(c->r, rc, "Request timed out: %s: %s", c->q.provider, why->text);
    if (rc == PAWL_CANCELED)
        return pawl_reply_fail(c->r, rc, "%s: canceled", c->job->effect);
    if (rc == PAWL_EFFECT)                              /* the server's certificate is invalid: nothing was sent */
        rc = PAWL_INVALID;
    return pawl_reply_fail(c->r, rc, "HTTP error: %s: %s", c->q.provider, why->text);
}

/* Makes the reply from what net_fetch() or net_start() returned. PAWL_PENDING: another request is to be made. */
static pawl_code came(llm_call *c, pawl_code rc, const pawl_err *why)
{
    const bool stream = c->answer.status / 100 == 2;
    pawl_llm_usage own;
    sse_event ev;

    if (rc == PAWL_OK && stream && c->rc == PAWL_OK && !c->a.whole && sse_end(&c->stream, &ev))
        event_take(c, &ev);
    own = c->a.usage;
    spent_add(c);
    if (rc != PAWL_OK && !c->a.whole)
        rc = unanswered(c, rc, why);
    else
        rc = stream ? ended(c) : refused(c, &c->answer.body);
    if (rc == PAWL_PENDING)
        return rc;
    if (c->a.whole && c->place != NULL && c->q.way != c->first)
        llm_way_keep(c->place, c->q.model, c->q.way);
    if (c->job->again == NULL)
        own = c->a.usage;       /* else the attempt before has said its own cost */
    if (llm_is_counted(&c->a))                   /* an interrupted answer costs money, too */
        llm_cost(c->r, &own, c->own->price != NULL ? c->own->price(c->own->price_ctx, c->priced, &own) : 0);
    return rc;
}

/* ---- one call ------------------------------------------------------------------------------------------------------------ */

static llm_call *call_new(const pawl_job *job, pawl_reply *r, const pawl_llm *own)
{
    llm_call *c = mem_new(&r->alloc, sizeof *c);

    if (c == NULL)
        return NULL;
    c->flat = *job;
    c->job = &c->flat;
    c->r = r;
    c->own = own;
    request_watch(&c->net, &c->watch, c->job);
    arena_init(&c->mem, &r->alloc, 4096);
    arena_init(&c->scratch, &r->alloc, 4096);
    buf_init(&c->body, &r->alloc);
    buf_init(&c->head, &r->alloc);
    sse_init(&c->stream, &r->alloc);
    net_answer_init(&c->answer, &r->alloc);
    llm_answer_init(&c->a, &c->mem, c->job, &c->q);
    return c;
}

static void call_free(llm_call *c)
{
    const pawl_alloc alloc = c->r->alloc;

    llm_answer_free(&c->a);
    net_answer_free(&c->answer);
    sse_free(&c->stream);
    buf_free(&c->head);
    buf_free(&c->body);
    arena_free(&c->scratch);
    arena_free(&c->mem);
    mem_free(&alloc, c, sizeof *c);
}

static pawl_code call_make(llm_call *c);

static void call_done(void *ctx, pawl_code rc, const pawl_err *why)
{
    llm_call *c = ctx;
    const pawl_job job = c->flat;

    rc = came(c, rc, why);
    if (rc == PAWL_PENDING && (rc = call_make(c)) == PAWL_PENDING)
        return;
    call_free(c);
    job.finish(&job, rc);
}

/* The call outlives the handler's: what the answer needs of arguments and settings is copied, and all of them if it may make a second request; the rest is
 * already in the body. */
static bool call_own(llm_call *c)
{
    c->priced = arena_text(&c->mem, c->priced);
    c->q.model = arena_text(&c->mem, c->q.model);
    c->q.schema = value_copy(&c->mem, c->q.schema);
    if (c->key != NULL)
        c->a.key = c->key = arena_text(&c->mem, c->key);
    if (c->place != NULL && c->job->again == NULL) {
        c->q.messages = value_copy(&c->mem, c->q.messages);
        c->q.tools = value_copy(&c->mem, c->q.tools);
        c->q.stop = value_copy(&c->mem, c->q.stop);
        c->q.temperature = value_copy(&c->mem, c->q.temperature);
        c->q.system = arena_text(&c->mem, c->q.system);
        c->q.tool_choice = arena_text(&c->mem, c->q.tool_choice);
    } else {
        c->q.messages = c->q.tools = c->q.stop = c->q.temperature = NULL;
        c->q.system = c->q.tool_choice = NULL;
    }
    c->flat.args = NULL;
    c->kept = true;
    return !c->mem.failed;
}

/* Sends the request, and those that follow from its answer. PAWL_PENDING: call_done() will be called. */
static pawl_code call_make(llm_call *c)
{
    pawl_err why;
    pawl_code rc;

    do {
        why = (pawl_err){ 0 };
        rc = request_make(c, &why);
        if (rc == PAWL_OK && c->later && !c->kept && !call_own(c))
            rc = fail(&why, PAWL_NOMEM, "no memory for its request");
        if (rc == PAWL_OK)
            rc = c->later ? net_start(&c->net, &c->answer, call_done, c, &why) : net_fetch(&c->net, &c->answer, &why);
        if (rc == PAWL_PENDING)
            return rc;
        rc = came(c, rc, &why);
    } while (rc == PAWL_PENDING);
    return rc;
}

pawl_code pawl_effect_llm(const pawl_job *job, pawl_reply *r, void *arg)
{
    static const pawl_llm plain = { 0 };
    llm_call *c;
    bool later = false;
    pawl_code rc = answer_later(job, r, &later);

    if (rc != PAWL_OK)
        return rc;
    if ((c = call_new(job, r, arg != NULL ? arg : &plain)) == NULL || (c->flat.args = llm_args_flat(&c->mem, job->args)) == NULL) {
        rc = pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory", job->effect);
    } else if ((rc = llm_request_read(c->job, r, &c->mem, &c->q)) != PAWL_OK || (rc = provider_find(c)) != PAWL_OK) {
        pawl_reply_untouched(r);
    } else {
        begun_use(c);
        c->priced = pawl_value_string(pawl_value_get(c->flat.args, "model"));
        c->later = later;
        rc = call_make(c);
    }
    if (rc != PAWL_PENDING && c != NULL)
        call_free(c);
    return rc;
}
