/* exporter_plan.c - where spans are sent, and with which headers and attributes: of the command line, and OTEL_* of the environment.
 *
 * Main thread, before there are others. Owns its texts. No text that is printed has a header or a password. */
#include "observe/exporter_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { TIMEOUT_MS = 10000, TIMEOUT_MOST_MS = 600000 };

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* OTEL_EXPORTER_OTLP_TRACES_NAME, else OTEL_EXPORTER_OTLP_NAME. */
static const char *otlp_env(const char *name)
{
    char text[96];
    const char *value;

    snprintf(text, sizeof text, "OTEL_EXPORTER_OTLP_TRACES_%s", name);
    value = env(text);
    snprintf(text, sizeof text, "OTEL_EXPORTER_OTLP_%s", name);
    return value != NULL ? value : env(text);
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-encoded bytes of one side of KEY=VALUE, without the blanks around it. NULL: no memory, or not UTF-8, or a control character. */
static char *side(arena *mem, const char *from, size_t size)
{
    char *out;
    size_t n = 0;

    while (size > 0 && isspace((unsigned char)*from))
        from++, size--;
    while (size > 0 && isspace((unsigned char)from[size - 1]))
        size--;
    if ((out = arena_get(mem, size + 1)) == NULL)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        const bool escape = from[i] == '%' && i + 2 < size && hex_of(from[i + 1]) >= 0 && hex_of(from[i + 2]) >= 0;

        out[n++] = escape ? (char)(hex_of(from[i + 1]) * 16 + hex_of(from[i + 2])) : from[i];
        i += escape ? 2 : 0;
    }
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)out[i] < ' ' || out[i] == 0x7f)
            return NULL;
    return utf8_valid(out, n) ? out : NULL;
}

typedef bool pair_fn(exporter_plan *p, const char *key, const char *value);

/* "a=b,c=d". False: malformed, or too many. */
static bool pairs_read(exporter_plan *p, const char *text, pair_fn *fn)
{
    while (text != NULL && *text != '\0') {
        const size_t size = strcspn(text, ",");
        const char *equals = memchr(text, '=', size);
        char *key, *value;

        if (equals == NULL || (key = side(&p->mem, text, (size_t)(equals - text))) == NULL || *key == '\0' ||
            (value = side(&p->mem, equals + 1, size - (size_t)(equals + 1 - text))) == NULL || !fn(p, key, value))
            return false;
        text += size + (text[size] == ',');
    }
    return true;
}

static bool header_comes(exporter_plan *p, const char *key, const char *value)
{
    const size_t size = strlen(key) + strlen(value) + 3;
    char *line = p->nheaders < PLAN_HEADERS_MOST ? arena_get(&p->mem, size) : NULL;

    if (line == NULL || strpbrk(key, " :\t") != NULL)
        return false;
    snprintf(line, size, *value != '\0' ? "%s: %s" : "%s;", key, value);
    p->headers[p->nheaders++] = line;
    return true;
}

static bool attribute_comes(exporter_plan *p, const char *key, const char *value)
{
    for (size_t i = 0; i < p->nresource; i++)
        if (strcmp(p->resource[i].key, key) == 0) {
            p->resource[i].value = value;
            return true;
        }
    if (p->nresource == PLAN_ATTRIBUTES_MOST)
        return false;
    p->resource[p->nresource++] = (otlp_attribute){ key, value };
    return true;
}

/* The URL of the traces, and what may be shown of it. */
static pawl_code url_take(exporter_plan *p, const char *url, bool whole, pawl_err *err)
{
    const char *scheme = strncasecmp(url, "https://", 8) == 0 ? "https://" : strncasecmp(url, "http://", 7) == 0 ? "http://" : NULL;
    const char *host = scheme != NULL ? url + strlen(scheme) : NULL, *end = host != NULL ? host + strcspn(host, "/?#") : NULL, *at = host;
    size_t size = strlen(url);
    char *text;

    if (host == NULL || host == end || strpbrk(url, " \t\r\n\"") != NULL || !utf8_valid(url, size))
        return fail(err, PAWL_INVALID, "the collector's address is not of the form http://HOST:PORT or https://HOST");
    for (const char *c = host; c < end; c++)
        at = *c == '@' ? c + 1 : at;
    while (!whole && size > 0 && url[size - 1] == '/')
        size--;
    if ((text = arena_get(&p->mem, size + sizeof "/v1/traces")) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the collector's address");
    memcpy(text, url, size);
    memcpy(text + size, whole ? "" : "/v1/traces", whole ? 1 : sizeof "/v1/traces");
    p->url = text;
    snprintf(p->shown, sizeof p->shown, "%s%.*s", scheme, (int)(end - at), at);
    return PAWL_OK;
}

static pawl_code plan_read(exporter_plan *p, const char *url, pawl_err *err)
{
    static char version[32];
    const char *traces = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), *base = env("OTEL_EXPORTER_OTLP_ENDPOINT"), *timeout = otlp_env("TIMEOUT");
    const char *protocol = otlp_env("PROTOCOL"), *name = env("OTEL_SERVICE_NAME");
    const char *to = url != NULL ? url : traces != NULL ? traces : base;
    uint64_t ms = 0;
    const char *end = timeout != NULL ? digits_read(timeout, &ms) : NULL;
    pawl_code rc = url_take(p, to, url == NULL && traces != NULL, err);

    if (rc != PAWL_OK)
        return rc;
    if (url == NULL && protocol != NULL && strcmp(protocol, "grpc") == 0)
        return fail(err, PAWL_INVALID, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and spans are sent over HTTP alone: set it to http/json, and the endpoint to the "
                                       "collector's port for HTTP (4318), or give --otlp URL");
    p->timeout_ms = timeout == NULL ? TIMEOUT_MS : end != NULL && *end == '\0' && ms > 0 && ms <= TIMEOUT_MOST_MS ? (int64_t)ms : 0;
    if (p->timeout_ms == 0)
        return fail(err, PAWL_INVALID, "OTEL_EXPORTER_OTLP_TIMEOUT: milliseconds, from 1 to %d", TIMEOUT_MOST_MS);
    p->ca = otlp_env("CERTIFICATE");
    p->headers[p->nheaders++] = "Content-Type: application/json";
    if (!pairs_read(p, otlp_env("HEADERS"), header_comes))
        return fail(err, PAWL_INVALID, "OTEL_EXPORTER_OTLP_HEADERS: not of the form NAME=VALUE,NAME=VALUE, or more than %d", PLAN_HEADERS_MOST);
    snprintf(version, sizeof version, "%d.%d.%d", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
    (void)attribute_comes(p, "service.name", "pawl");
    (void)attribute_comes(p, "service.version", version);
    if (!pairs_read(p, env("OTEL_RESOURCE_ATTRIBUTES"), attribute_comes))
        return fail(err, PAWL_INVALID, "OTEL_RESOURCE_ATTRIBUTES: not of the form KEY=VALUE,KEY=VALUE, or more than %d", PLAN_ATTRIBUTES_MOST);
    if (name != NULL)
        (void)attribute_comes(p, "service.name", name);
    if ((p->names = semconv_of(env("PAWL_SEMCONV"))) == NULL)
        return fail(err, PAWL_INVALID, "PAWL_SEMCONV: names of that version are not known; the newest is %s", semconv_tables[0].version);
    return p->mem.failed ? fail(err, PAWL_NOMEM, "no memory for the collector's address") : PAWL_OK;
}

exporter_plan *exporter_plan_new(const char *url, pawl_err *err)
{
    const char *disabled = env("OTEL_SDK_DISABLED"), *traces = env("OTEL_TRACES_EXPORTER");
    exporter_plan *p;

    if (url == NULL && env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == NULL && env("OTEL_EXPORTER_OTLP_ENDPOINT") == NULL)
        return NULL;
    if (url == NULL && ((disabled != NULL && strcasecmp(disabled, "true") == 0) || (traces != NULL && strcmp(traces, "none") == 0)))
        return NULL;
    if ((p = calloc(1, sizeof *p)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the collector's address");
        return NULL;
    }
    arena_init(&p->mem, NULL, 4096);
    if (plan_read(p, url, err) == PAWL_OK)
        return p;
    exporter_plan_free(p);
    return NULL;
}

void exporter_plan_free(exporter_plan *p)
{
    if (p == NULL)
        return;
    arena_free(&p->mem);
    free(p);
}

const char *exporter_plan_url(const exporter_plan *p) { return p->shown; }
