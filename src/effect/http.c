/* http.c - the handler of the effect `http`: arguments become requests, one for each redirect, and the last answer a reply.
 *
 * Called by the engine on any thread; when the job can be answered later, the loop thread makes the reply (net/curl_loop.c). One `call` belongs to one job.
 * Invariant: no text has more of a URL than its origin, since the rest may be a secret. */
#include "effect/effect.h"
#include "effect/trace_context.h"
#include "net/net.h"

#include <strings.h>

enum {
    METHOD_BYTES_MAX = 16,
    ORIGIN_BYTES_MAX = 300,     /* scheme, host and port */
    HEADERS_MAX = 200,          /* of a request */
    REDIRECTS = 5,
    REDIRECTS_MAX = 50,
    TELL_BYTES_MAX = 2000       /* of a failed response's body */
};
#define TIMEOUT_MS          INT64_C(60000)
#define TIMEOUT_MS_MAX      INT64_C(2592000000)     /* 30 days */
#define RESPONSE_BYTES      (INT64_C(8) << 20)
#define RESPONSE_BYTES_MAX  (INT64_C(1) << 28)

typedef struct http_call {
    job_watch watch;            /* first: the request's ctx */
    pawl_job own;               /* a copy of the job; if it is answered later, its arguments are a copy, too */
    const pawl_job *job;        /* that copy */
    pawl_reply *r;
    arena mem;
    buf json;                   /* the body, if it is not a string */
    net_request q;
    net_answer a;
    int64_t redirects, followed;
    effect_codes as;
    bool away;                  /* a redirect has led to another origin */
    const char *limit;          /* name of the limit behind until_ms */
    char origin[ORIGIN_BYTES_MAX];
} http_call;

/* ---- origins: the only part of a URL in any text, since the rest may be a secret ----------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* `http://host:port` in lower case, without a default port; false: not a URL of http or https. */
static bool origin_of(const char *url, char out[ORIGIN_BYTES_MAX])
{
    bool tls = begins(url, "https://");
    const char *host = url + (tls ? 8 : 7), *end, *port = tls ? ":443" : ":80";
    size_t n, scheme = (size_t)(host - url);

    if (!tls && !begins(url, "http://"))
        return false;
    end = host + strcspn(host, "/?#\\");
    for (const char *p = host; p < end; p++)
        if (*p == '@')
            host = p + 1;
    n = (size_t)(end - host);
    if (n == 0 || scheme + n >= ORIGIN_BYTES_MAX)
        return false;
    memcpy(out, url, scheme);
    memcpy(out + scheme, host, n);
    n += scheme;
    if (n - scheme > strlen(port) && memcmp(out + n - strlen(port), port, strlen(port)) == 0)
        n -= strlen(port);
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (out[i] >= 'A' && out[i] <= 'Z')
            out[i] = (char)(out[i] + ('a' - 'A'));
    return true;
}

static bool clean(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7F)
            return false;
    return true;
}

/* ---- headers ------------------------------------------------------------------------------------------------ */

static bool header_name(const char *name)
{
    for (const char *p = name; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || strchr("()<>@,;:\\\"/[]?={}", *p) != NULL)
            return false;
    return name[0] != '\0';
}

/* A string, or an array of strings that are joined: a secret is one of them. NULL: neither, or no memory. */
static const char *header_text(arena *mem, const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one;
    const char *out = NULL;
    buf b;

    if (pawl_value_type(v) != PAWL_TYPE_ARRAY)
        return text_whole(v) ? pawl_value_string(v) : NULL;
    buf_init(&b, &mem->alloc);
    while ((one = pawl_iter_next(&it, NULL)) != NULL && text_whole(one))
        buf_put(&b, pawl_value_string(one), pawl_value_size(one));
    if (one == NULL && !b.failed)
        out = arena_strdup(mem, b.size > 0 ? b.data : "", b.size);
    buf_free(&b);
    return out;
}

static bool header_value(const char *text)
{
    if (text == NULL)
        return false;
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7F)
            return false;
    return true;
}

static pawl_code headers_check(http_call *c, const pawl_value *headers)
{
    pawl_iter it = pawl_iter_of(headers);
    const pawl_value *key, *v;

    if (pawl_value_size(headers) > HEADERS_MAX)
        return pawl_reply_fail(c->r, PAWL_LIMIT, "%s: more than %d headers", c->job->effect, HEADERS_MAX);
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if (!text_whole(key) || !header_name(name))
            return pawl_reply_fail(c->r, PAWL_INVALID, "%s: \"%s\" is no name of a header", c->job->effect, name);
        if (strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0)
            return pawl_reply_fail(c->r, PAWL_INVALID, "%s: header %s follows from the body; leave it out", c->job->effect, name);
        if (!header_value(header_text(&c->mem, v)))
            return pawl_reply_fail(c->r, PAWL_INVALID, "%s: header %s is no string of one line", c->job->effect, name);
    }
    return PAWL_OK;
}

static bool given(const pawl_value *headers, const char *name)
{
    pawl_iter it = pawl_iter_of(headers);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL)
        if (strcasecmp(pawl_value_string(key), name) == 0)
            return true;
    return false;
}

/* Whether another origin may receive this header, too. */
static bool harmless(const char *name)
{
    static const char *const names[] = { "Accept", "Accept-Language", "Content-Type", "Idempotency-Key", "User-Agent" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* In libcurl's form: `Name;` for an empty value, `Name:` to remove the header. */
static char *header_make(arena *mem, const char *name, const char *value)
{
    size_t n = strlen(name), m = value != NULL ? strlen(value) : 0;
    char *line = value != NULL ? arena_get(mem, n + m + 3) : NULL;

    if (line == NULL)
        return NULL;
    memcpy(line, name, n);
    memcpy(line + n, m > 0 ? ": " : ";", m > 0 ? 3 : 2);
    memcpy(line + n + (m > 0 ? 2 : 1), value, m + 1);
    return line;
}

/* The invocation id as a header: bytes other than visible ASCII are %-encoded. */
static char *key_make(arena *mem, const char *id)
{
    static const char hex[] = "0123456789ABCDEF";
    char *key = arena_get(mem, strlen(id) * 3 + 1), *to = key;

    for (; key != NULL && *id != '\0'; id++) {
        unsigned char byte = (unsigned char)*id;

        if (byte > ' ' && byte < 0x7F && byte != '%') {
            *to++ = *id;
        } else {
            *to++ = '%';
            *to++ = hex[byte >> 4];
            *to++ = hex[byte & 15];
        }
    }
    if (key != NULL)
        *to = '\0';
    return key;
}

static pawl_code headers_make(http_call *c)
{
    const pawl_value *headers = pawl_value_get(c->job->args, "headers"), *key, *v;
    pawl_iter it = pawl_iter_of(headers);
    const char **at = c->q.headers = arena_get(&c->mem, (pawl_value_size(headers) + 5) * sizeof *at), *id;
    char trace[TRACEPARENT_BYTES];

    if (at == NULL)
        goto nomem;
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if ((c->away && !harmless(name)) || (c->q.body == NULL && strcasecmp(name, "Content-Type") == 0))
            continue;
        if ((*at++ = header_make(&c->mem, name, header_text(&c->mem, v))) == NULL)
            goto nomem;
    }
    if (c->job->id != NULL && !given(headers, "Idempotency-Key")) {     /* E15 */
        if ((id = key_make(&c->mem, c->job->id)) == NULL || (*at++ = header_make(&c->mem, "Idempotency-Key", id)) == NULL)
            goto nomem;
    }
    if (!c->away && !given(headers, "traceparent") && trace_context_of(c->job, trace) && (*at++ = header_make(&c->mem, "traceparent", trace)) == NULL)
        goto nomem;
    if (c->q.body != NULL && !given(headers, "Content-Type"))
        *at++ = c->json.size > 0 ? "Content-Type: application/json" : "Content-Type:";
    if (!given(headers, "Expect"))
        *at++ = "Expect:";      /* do not wait for a 100 Continue */
    *at = NULL;
    return PAWL_OK;
nomem:
    return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory for its headers", c->job->effect);
}

/* ---- the request ------------------------------------------------------------------------------------------------ */

static pawl_code body_make(http_call *c)
{
    const pawl_value *v = pawl_value_get(c->job->args, "body");

    if (v == NULL || pawl_value_type(v) == PAWL_TYPE_NULL)
        return PAWL_OK;
    c->q.body = pawl_value_string(v);
    c->q.body_size = pawl_value_size(v);
    if (c->q.body != NULL)
        return PAWL_OK;
    canon(&c->json, v);
    if (c->json.failed)
        return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory for its body", c->job->effect);
    c->q.body = c->json.data;
    c->q.body_size = c->json.size;
    return PAWL_OK;
}

static bool method_known(const char *method)
{
    size_t n = strlen(method);

    return n > 0 && n <= METHOD_BYTES_MAX && strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == n && strcmp(method, "CONNECT") != 0;
}

static pawl_code asked(http_call *c)
{
    static const char *const names[] = { "method", "url", "headers", "body", "timeout_ms", "response_bytes", "redirects", "ca" };
    int64_t timeout_ms = TIMEOUT_MS, bytes = RESPONSE_BYTES;
    const pawl_job *job = c->job;
    const pawl_value *headers = NULL;
    pawl_reply *r = c->r;
    pawl_code rc = args_known(job, r, names, sizeof names / sizeof *names);

    c->redirects = REDIRECTS;
    if (rc != PAWL_OK || (rc = args_text(job, r, "url", &c->q.url)) != PAWL_OK ||
        (rc = args_text(job, r, "method", &c->q.method)) != PAWL_OK || (rc = args_text(job, r, "ca", &c->q.ca)) != PAWL_OK ||
        (rc = args_object(job, r, "headers", &headers)) != PAWL_OK ||
        (rc = headers_check(c, headers)) != PAWL_OK || (rc = body_make(c)) != PAWL_OK ||
        (rc = args_count(job, r, "timeout_ms", TIMEOUT_MS_MAX, &timeout_ms)) != PAWL_OK ||
        (rc = args_count(job, r, "response_bytes", RESPONSE_BYTES_MAX, &bytes)) != PAWL_OK ||
        (rc = args_count(job, r, "redirects", REDIRECTS_MAX, &c->redirects)) != PAWL_OK)
        return rc;
    if (c->q.url == NULL)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"url\" is due", job->effect);
    if (!clean(c->q.url) || !origin_of(c->q.url, c->origin))
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"url\" is no URL of http or https", job->effect);
    if (c->q.method == NULL)
        c->q.method = c->q.body != NULL ? "POST" : "GET";
    if (!method_known(c->q.method))
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"method\" is none, or not in capitals", job->effect);
    c->q.response_bytes = (size_t)bytes;
    c->q.until_ms = job_until(job, timeout_ms, &c->limit);
    return PAWL_OK;
}

/* ---- redirects ------------------------------------------------------------------------------------------------------ */

static bool leads_on(const net_answer *a)
{
    return a->location != NULL &&
           (a->status == 301 || a->status == 302 || a->status == 303 || a->status == 307 || a->status == 308);
}

static pawl_code follow(http_call *c)
{
    char origin[ORIGIN_BYTES_MAX];
    net_request *q = &c->q;
    long status = c->a.status;
    char *url = arena_text(&c->mem, c->a.location);

    if (url == NULL)
        return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory for a redirect", c->job->effect);
    if (!clean(url) || !origin_of(url, origin))
        return pawl_reply_fail(c->r, PAWL_EFFECT, "%s %s: redirects to what is no URL of http or https", q->method, c->origin);
    if (begins(c->origin, "https:") && begins(origin, "http:"))
        return pawl_reply_fail(c->r, PAWL_EFFECT, "%s %s: redirects to http, where all may read it", q->method, c->origin);
    if (strcmp(origin, c->origin) != 0)
        c->away = true;         /* stays set even if a later redirect leads back */
    memcpy(c->origin, origin, sizeof origin);
    q->url = url;
    if ((status == 303 && strcmp(q->method, "HEAD") != 0) || ((status == 301 || status == 302) && strcmp(q->method, "POST") == 0)) {
        q->method = "GET";
        q->body = NULL;
        q->body_size = 0;
    }
    return PAWL_OK;
}

/* ---- the reply --------------------------------------------------------------------------------------------------------- */

/* Header bytes that are not UTF-8 are taken as Latin-1. */
static void head_text(buf *b, const char *text)
{
    if (utf8_valid(text, strlen(text))) {
        buf_text(b, text);
        return;
    }
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte >= 0x80)
            buf_char(b, (char)(0xC0 | byte >> 6));
        buf_char(b, (char)(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte));
    }
}

/* All values of `name` from `at` on, joined by commas; those of Set-Cookie, which contain commas, by newlines. */
static void head_values(buf *b, const buf *head, const char *name, size_t at)
{
    bool first = true;

    while (at < head->size) {
        const char *one = head->data + at, *value = one + strlen(one) + 1;

        if (strcmp(one, name) == 0) {
            if (!first)
                buf_text(b, strcmp(name, "set-cookie") == 0 ? "\n" : ", ");
            head_text(b, value);
            first = false;
        }
        at += strlen(one) + strlen(value) + 2;
    }
}

static void headers_to_json(buf *out, const buf *head)
{
    const char *comma = "";
    buf value;

    buf_init(&value, &out->alloc);
    buf_text(out, "\"headers\":{");
    for (size_t at = 0; at < head->size;) {
        const char *name = head->data + at;

        if (net_head(head, name) == name + strlen(name) + 1) {      /* the first header of this name */
            buf_reset(&value);
            head_values(&value, head, name, at);
            buf_text(out, comma);
            canon_string(out, name, strlen(name));
            buf_char(out, ':');
            canon_string(out, value.size > 0 ? value.data : "", value.size);
            out->failed |= value.failed;
            comma = ",";
        }
        at += strlen(name) + strlen(name + strlen(name) + 1) + 2;
    }
    buf_char(out, '}');
    buf_free(&value);
}

static bool is_json(const char *type)
{
    size_t n = type != NULL ? strcspn(type, "; \t") : 0;

    return (n == 16 && begins(type, "application/json")) || (n == 9 && begins(type, "text/json")) ||
           (n > 5 && begins(type + n - 5, "+json"));
}

/* The body as JSON if it is JSON; text if it is nested too deeply for a reply. */
static bool body_to_json(http_call *c, buf *out)
{
    const buf *body = &c->a.body;
    const pawl_value *v;

    if (c->a.cut || body->size == 0 || !is_json(net_head(&c->a.head, "content-type")))
        return false;
    v = value_parse(&c->mem, body->data, body->size, "body", NULL);
    if (c->mem.failed)
        out->failed = true;
    if (v == NULL || value_deeper(v, DEPTH_MAX - 1))
        return false;
    buf_text(out, "\"body_json\":");
    buf_put(out, body->data, body->size);
    return true;
}

static pawl_code result(http_call *c)
{
    buf *out = &c->r->text, *body = &c->a.body;

    if (c->a.cut)
        body->size = cut_end(body->data, body->size);
    buf_text(out, "{\"status\":");
    buf_int(out, c->a.status);
    buf_char(out, ',');
    headers_to_json(out, &c->a.head);
    buf_char(out, ',');
    if (!body_to_json(c, out))
        text_member(out, "body", body->data, body->size);
    if (c->a.cut)
        buf_text(out, ",\"cut\":true");
    buf_char(out, '}');
    if (out->failed)
        return pawl_reply_fail(c->r, PAWL_NOMEM, "%s %s: status %ld; no memory for its answer", c->q.method, c->origin, c->a.status);
    return PAWL_OK;
}

/* 429 and 5xx are transient, and obey Retry-After. */
static pawl_code refused(http_call *c)
{
    buf *body = &c->a.body;

    pawl_reply_retry_after(c->r, retry_after_ms(net_head(&c->a.head, "retry-after"), net_head(&c->a.head, "date")));
    if (body->size > TELL_BYTES_MAX)
        body->size = cut_end(body->data, TELL_BYTES_MAX);
    buf_char(body, '\0');
    if (!body->failed) {
        text_ascii(body->data, body->size - 1);
        pawl_reply_detail(c->r, body->data);
    }
    return pawl_reply_fail(c->r, PAWL_TRANSIENT, "%s %s: status %ld", c->q.method, c->origin, c->a.status);
}

void http_forget(void)
{
    net_forget();
}

/* ---- one call ------------------------------------------------------------------------------------------------------------ */

/* Handles the end of an exchange; `rc` and `why` are its own. PAWL_PENDING: a redirect; the next request is ready. */
static pawl_code came(http_call *c, pawl_code rc, const pawl_err *why)
{
    if (rc != PAWL_OK && c->followed == 0 && c->a.untouched)
        pawl_reply_untouched(c->r);
    if (rc == PAWL_TIMEOUT)
        return pawl_reply_fail(c->r, rc, "%s %s: %s within %s", c->q.method, c->origin, why->text, c->limit);
    if (rc != PAWL_OK)
        return pawl_reply_fail(c->r, rc, "%s %s: %s", c->q.method, c->origin, why->text);
    if (c->redirects == 0 || !leads_on(&c->a))
        return c->a.status == 429 || c->a.status >= 500 ? refused(c) : result(c);
    if (c->followed++ == c->redirects)
        return pawl_reply_fail(c->r, PAWL_EFFECT, "%s %s: more than %lld redirects", c->q.method, c->origin, (long long)c->redirects);
    if ((rc = follow(c)) != PAWL_OK || (rc = headers_make(c)) != PAWL_OK)
        return rc;
    net_answer_free(&c->a);
    net_answer_init(&c->a, &c->r->alloc);
    return PAWL_PENDING;
}

static http_call *call_new(const pawl_job *job, pawl_reply *r, effect_codes as)
{
    http_call *c = mem_new(&r->alloc, sizeof *c);

    if (c == NULL)
        return NULL;
    c->own = *job;
    c->job = &c->own;
    c->r = r;
    c->as = as;
    request_watch(&c->q, &c->watch, c->job);
    arena_init(&c->mem, &r->alloc, 4096);
    buf_init(&c->json, &r->alloc);
    net_answer_init(&c->a, &r->alloc);
    return c;
}

static void call_free(http_call *c)
{
    const pawl_alloc alloc = c->r->alloc;

    net_answer_free(&c->a);
    buf_free(&c->json);
    arena_free(&c->mem);
    mem_free(&alloc, c, sizeof *c);
}

static pawl_code call_begin(http_call *c);

static void call_done(void *ctx, pawl_code rc, const pawl_err *why)
{
    http_call *c = ctx;
    pawl_job job;

    rc = came(c, rc, why);
    if (rc == PAWL_PENDING)
        rc = call_begin(c);
    if (rc == PAWL_PENDING)
        return;
    job = c->own;
    rc = code_as(&c->as, rc);
    call_free(c);
    job.finish(&job, rc);
}

/* Driven by the loop thread. PAWL_PENDING: call_done() will be called. */
static pawl_code call_begin(http_call *c)
{
    pawl_err why = {0};
    const pawl_code rc = net_start(&c->q, &c->a, call_done, c, &why);

    return rc == PAWL_PENDING ? rc : came(c, rc, &why);
}

/* Driven on this thread. */
static pawl_code call_run(http_call *c)
{
    pawl_code rc;

    do {
        pawl_err why = {0};

        rc = net_fetch(&c->q, &c->a, &why);
        rc = came(c, rc, &why);
    } while (rc == PAWL_PENDING);
    return rc;
}

pawl_code http_request(const pawl_job *job, pawl_reply *r, effect_codes as)
{
    http_call *c;
    bool later;
    pawl_code rc = answer_later(job, r, &later);

    if (rc != PAWL_OK)
        return rc;
    if ((c = call_new(job, r, as)) == NULL) {
        pawl_reply_untouched(r);
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for a request", job->effect);
    }
    if (later && (c->own.args = value_copy(&c->mem, c->own.args)) == NULL)     /* it must outlive the call of the handler */
        rc = pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", job->effect);
    else
        rc = asked(c);
    if (rc != PAWL_OK)
        pawl_reply_untouched(r);
    else if ((rc = headers_make(c)) == PAWL_OK)
        rc = later ? call_begin(c) : call_run(c);
    if (rc == PAWL_PENDING)
        return rc;
    call_free(c);
    return code_as(&as, rc);
}

pawl_code pawl_effect_http(const pawl_job *job, pawl_reply *r, void *arg)
{
    (void)arg;
    return http_request(job, r, (effect_codes){ 0 });
}
