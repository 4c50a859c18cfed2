/* fetch.c - the tool web_fetch: gets a page.
 *
 * Called by call.c. The address is checked when the connection is made, so a host name that changes its address cannot lead to this machine or its
 * network. */
#include "effect/address.h"
#include "effect/tool/tool.h"
#include "net/net.h"

#include <strings.h>

enum {
    URL_BYTES_MAX = 8000,
    HOST_BYTES = 256,
    HOPS_MAX = 5,
    FETCH_MS = 60000,
    PAGE_BYTES = 5 << 20
};

typedef struct fetch {
    job_watch watch;            /* first: the request's ctx */
    tool_call *c;
    net_request q;
    net_answer a;
    bool barred;                /* an address was refused */
    bool anywhere;              /* this machine and private networks are allowed */
    char host[HOST_BYTES];
} fetch;

/* ---- addresses -------------------------------------------------------------------------------------------- */

static bool may_connect(void *ctx, const struct sockaddr *to)
{
    fetch *f = ctx;
    bool inner;

    if (f->anywhere)
        return true;
    inner = address_private(to);
    f->barred = f->barred || inner;
    return !inner;
}

/* ---- URLs --------------------------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

/* Host and port in lower case; false: not a URL of http or https, or one with a user name. */
static bool host_of(const char *url, char out[HOST_BYTES])
{
    const char *from = begins(url, "https://") ? url + 8 : begins(url, "http://") ? url + 7 : NULL;
    size_t n = from != NULL ? strcspn(from, "/?#\\") : 0;

    if (n == 0 || n >= HOST_BYTES || memchr(from, '@', n) != NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + ('a' - 'A')) : from[i];
    out[n] = '\0';
    for (const char *p = url; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7F)
            return false;
    return true;
}

/* A header of the answer. */
static const char *head_get(const buf *head, const char *name)
{
    for (size_t at = 0; at < head->size;) {
        const char *one = head->data + at, *value = one + strlen(one) + 1;

        if (strcmp(one, name) == 0)
            return value;
        at += strlen(one) + strlen(value) + 2;
    }
    return "";
}

/* ---- what came ------------------------------------------------------------------------------------------------- */

typedef enum content { CONTENT_OTHER, CONTENT_HTML, CONTENT_TEXT } content;

static content content_of(const char *type)
{
    static const char *const texts[] = { "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/yaml",
                                         "application/x-yaml", "application/toml", "application/x-ndjson", "application/x-sh" };
    size_t n = strcspn(type, "; \t");

    if ((n == 9 && begins(type, "text/html")) || (n == 21 && begins(type, "application/xhtml+xml")))
        return CONTENT_HTML;
    if (begins(type, "text/") || (n > 5 && (begins(type + n - 5, "+json") || begins(type + n - 4, "+xml"))))
        return CONTENT_TEXT;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (n == strlen(texts[i]) && begins(type, texts[i]))
            return CONTENT_TEXT;
    return CONTENT_OTHER;
}

/* UTF-8 is recognised whatever the header says; other text is Latin-1. */
static void body_put(buf *out, const char *type, const buf *body)
{
    const char *set = strstr(type, "charset=");
    const bool latin = set != NULL && (begins(set + 8, "iso-8859-1") || begins(set + 8, "windows-1252") || begins(set + 8, "latin1"));

    if (body->size == 0)
        return;
    if (!latin || utf8_valid(body->data, body->size)) {
        plain_put(out, body->data, body->size);
        return;
    }
    for (size_t i = 0; i < body->size; i++) {
        unsigned char byte = (unsigned char)body->data[i];

        if (byte >= 0x80)
            buf_char(out, (char)(0xC0 | byte >> 6));
        buf_char(out, (char)(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte));
    }
}

static pawl_code answered(fetch *f)
{
    tool_call *c = f->c;
    const char *type = head_get(&f->a.head, "content-type");
    content kind = type[0] == '\0' ? (plain_binary(f->a.body.data, f->a.body.size) ? CONTENT_OTHER : CONTENT_TEXT) : content_of(type);
    const bool failed = f->a.status >= 400;
    buf text;

    if (f->a.cut)
        f->a.body.size = cut_end(f->a.body.data, f->a.body.size);
    if (kind == CONTENT_OTHER && f->a.body.size > 0 && !failed)
        return tool_error(c, "Invalid response: %s is %.100s (%s%zu bytes), which cannot be shown as text", f->q.url, type[0] != '\0' ? type : "no text",
                          f->a.cut ? "more than " : "", f->a.body.size);
    if (failed)
        buf_fmt(&c->out, "HTTP error: %ld\n", f->a.status);
    if (kind == CONTENT_TEXT) {
        body_put(&c->out, type, &f->a.body);
    } else if (kind == CONTENT_HTML) {
        buf_init(&text, &c->r->alloc);
        body_put(&text, type, &f->a.body);
        html_text(text.data, text.size, &c->out);
        c->out.failed |= text.failed;
        buf_free(&text);
    }
    if (c->out.size == 0)
        buf_fmt(&c->out, "(status %ld, and nothing else)", f->a.status);
    if (f->a.cut)
        buf_fmt(&c->out, "\n[the page has more than %d bytes: the rest was not fetched]", PAGE_BYTES);
    return tool_text(c, CUT_END, failed);
}

/* ---- the way there ------------------------------------------------------------------------------------------------ */

static bool leads_on(const net_answer *a)
{
    return a->location != NULL && (a->status == 301 || a->status == 302 || a->status == 303 || a->status == 307 || a->status == 308);
}

static pawl_code fetch_failed(fetch *f, pawl_code rc, const pawl_err *why)
{
    if (f->barred)
        return tool_error(f->c, "%s is an address of this machine or of a private network, which is not gone to", f->host);
    if (rc == PAWL_CANCELED || rc == PAWL_NOMEM)
        return pawl_reply_fail(f->c->r, rc, "%s: %s", f->c->job->effect, why->text);
    if (rc == PAWL_TIMEOUT)
        return tool_error(f->c, "Tool execution timed out: %s: %s", f->host, why->text);
    return tool_error(f->c, "HTTP error: %s: %s", f->host, why->text);
}

/* Follows one redirect; *replied: the reply is made, and nothing is left to do. */
static pawl_code follow(fetch *f, bool *replied)
{
    tool_call *c = f->c;
    char host[HOST_BYTES];
    const char *to = f->a.location;

    *replied = true;
    if (!host_of(to, host) || strlen(to) > URL_BYTES_MAX)
        return tool_error(c, "HTTP error: %s redirects to what is no URL of http or https", f->host);
    if (strcmp(host, f->host) != 0 || (begins(f->q.url, "https:") && begins(to, "http:"))) {
        buf_fmt(&c->out, "%s redirects to another host. To go there, ask for this address:\n", f->q.url);
        buf_text(&c->out, to);
        return tool_text(c, CUT_END, false);
    }
    if ((f->q.url = arena_text(&c->mem, to)) == NULL)
        return tool_nomem(c);
    *replied = false;
    return PAWL_OK;
}

static pawl_code hops(fetch *f)
{
    bool replied = false;

    for (unsigned n = 0;; n++) {
        pawl_err why = {0};
        pawl_code rc = net_fetch(&f->q, &f->a, &why);

        if (rc != PAWL_OK)
            return fetch_failed(f, rc, &why);
        if (!leads_on(&f->a))
            return answered(f);
        if (n == HOPS_MAX)
            return tool_error(f->c, "HTTP error: %s: more than %d redirects", f->host, HOPS_MAX);
        if ((rc = follow(f, &replied)) != PAWL_OK || replied)
            return rc;
        net_answer_free(&f->a);
        net_answer_init(&f->a, &f->c->r->alloc);
    }
}

pawl_code tool_fetch(tool_call *c)
{
    static const char *headers[] = { "Accept: text/html, text/plain, application/json, */*;q=0.5", "Expect:", NULL };
    const char *limit;
    fetch f = { .c = c };
    pawl_code rc;

    f.q = (net_request){ .method = "GET", .url = input_text(c, "url"), .headers = headers, .response_bytes = PAGE_BYTES };
    if (strlen(f.q.url) > URL_BYTES_MAX || !host_of(f.q.url, f.host))
        return tool_error(c, "Invalid arguments: url: it is no URL of http or https, or has a name and password in it");
    f.q.until_ms = job_until(c->job, FETCH_MS, &limit);
    request_watch(&f.q, &f.watch, c->job);
    f.anywhere = pawl_value_bool(pawl_value_get(c->job->args, "private"));
    f.q.may_connect = may_connect;      /* no proxy in either case */
    net_answer_init(&f.a, &c->r->alloc);
    rc = hops(&f);
    net_answer_free(&f.a);
    return rc;
}
