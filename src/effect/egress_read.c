/* egress_read.c - reads the first bytes of a client of the proxy: the head of a request, and in a tunnel the name that TLS or HTTP gives its host.
 *
 * Called by egress.c for each connection. Pure; bytes come from the sandbox, so nothing about them is trusted. */
#include "effect/egress.h"

#include <string.h>
#include <strings.h>

/* ---- hosts ------------------------------------------------------------------------------------------------- */

/* The same host, whatever the case, and with or without a dot at its end. */
static bool same_host(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b);

    n -= n > 0 && a[n - 1] == '.';
    m -= m > 0 && b[m - 1] == '.';
    return n == m && strncasecmp(a, b, n) == 0;
}

static bool is_address(const char *host)
{
    return *host == '[' || (host[strspn(host, "0123456789.")] == '\0' && *host != '\0');
}

/* "host" or "host:port"; *port is unchanged without one. */
static bool host_port(const char *text, size_t size, char host[EGRESS_HOST_BYTES], uint16_t *port)
{
    const char *close = size > 0 && *text == '[' ? memchr(text, ']', size) : NULL;
    const char *from = close != NULL ? close : text, *colon = memchr(from, ':', (size_t)(text + size - from));
    const size_t n = colon != NULL ? (size_t)(colon - text) : size;
    unsigned number = 0;

    if (n == 0 || n >= EGRESS_HOST_BYTES || (*text == '[' && close == NULL) || memchr(text, '\0', n) != NULL || memchr(text, '@', n) != NULL)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    if (colon == NULL)
        return true;
    for (const char *p = colon + 1; p < text + size; p++) {
        if (*p < '0' || *p > '9' || (number = number * 10 + (unsigned)(*p - '0')) > UINT16_MAX)
            return false;
    }
    *port = (uint16_t)number;
    return number > 0;
}

/* ---- heads ---------------------------------------------------------------------------------------------------- */

size_t egress_head_size(const char *text, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i++)
        if (memcmp(text + i, "\r\n\r\n", 4) == 0)
            return i + 4;
    return 0;
}

/* The next header from *at on; false: the head is at its end. */
static bool header_next(const char **at, const char *end, pawl_bytes *name, pawl_bytes *value)
{
    const char *line = *at, *cr = memchr(line, '\r', (size_t)(end - line)), *colon;

    if (cr == NULL || cr == line || cr + 1 >= end || cr[1] != '\n')
        return false;
    *at = cr + 2;
    colon = memchr(line, ':', (size_t)(cr - line));
    *name = (pawl_bytes){ line, (size_t)((colon != NULL ? colon : cr) - line) };
    for (colon = colon != NULL ? colon + 1 : cr; colon < cr && (*colon == ' ' || *colon == '\t'); colon++)
        continue;
    while (cr > colon && (cr[-1] == ' ' || cr[-1] == '\t'))
        cr--;
    *value = (pawl_bytes){ colon, (size_t)(cr - colon) };
    return true;
}

static bool named(const pawl_bytes *name, const char *word) { return name->size == strlen(word) && strncasecmp(name->data, word, name->size) == 0; }

/* Behind the first line; NULL: there is none. */
static const char *headers_of(const char *text, size_t size)
{
    const char *nl = memchr(text, '\n', size);

    return nl != NULL ? nl + 1 : NULL;
}

/* Every Host header names that host. */
static bool host_headers_fit(const char *text, size_t size, const char *host, bool due)
{
    const char *at = headers_of(text, size);
    char given[EGRESS_HOST_BYTES];
    pawl_bytes name, value;
    uint16_t port = 0;
    size_t n = 0;

    while (at != NULL && header_next(&at, text + size, &name, &value))
        if (named(&name, "Host")) {
            n++;
            if (!host_port(value.data, value.size, given, &port) || !same_host(given, strlen(given), host))
                return false;
        }
    return n == 1 || (n == 0 && !due);
}

static bool token(const char *text, size_t size, bool upper)
{
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];

        if (!((c >= 'A' && c <= 'Z') || (!upper && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("!#$%&'*+-.^_`|~", c) != NULL))) || c == '\0')
            return false;
    }
    return size > 0;
}

/* Two readers could see different headers in a head with a lone CR or LF, a folded line or a name that is none: such a head is refused. */
static bool lines_sound(const char *text, size_t size)
{
    const char *end = text + size - 2, *at = headers_of(text, size);

    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c == '\r' || c == '\n') {
            if (c == '\r' ? i + 1 == size || text[i + 1] != '\n' : i == 0 || text[i - 1] != '\r')
                return false;
        } else if ((c < ' ' && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    while (at != NULL && at < end) {
        const char *cr = memchr(at, '\r', (size_t)(text + size - at)), *colon = cr != NULL ? memchr(at, ':', (size_t)(cr - at)) : NULL;

        if (colon == NULL || !token(at, (size_t)(colon - at), false))
            return false;
        at = cr + 2;
    }
    return at == end;
}

bool egress_head_read(const char *text, size_t size, egress_head *out)
{
    const char *line_end = memchr(text, '\r', size), *blank, *target, *to;

    *out = (egress_head){ .port = 80 };
    if (line_end == NULL || !lines_sound(text, size) || (blank = memchr(text, ' ', (size_t)(line_end - text))) == NULL ||
        !token(text, (size_t)(blank - text), true))
        return false;
    target = blank + 1;
    if ((to = memchr(target, ' ', (size_t)(line_end - target))) == NULL || line_end - to < 9 || memcmp(to, " HTTP/1.", 8) != 0)
        return false;
    out->method_size = (size_t)(blank - text);
    out->connect = out->method_size == 7 && memcmp(text, "CONNECT", 7) == 0;
    if (out->connect) {
        out->port = 0;
        return host_port(target, (size_t)(to - target), out->host, &out->port) && out->port != 0;
    }
    if (to - target < 8 || strncasecmp(target, "http://", 7) != 0)
        return false;
    target += 7;
    for (out->path = target; out->path < to && *out->path != '/' && *out->path != '?'; out->path++)
        continue;
    out->path_size = (size_t)(to - out->path);
    return host_port(target, (size_t)(out->path - target), out->host, &out->port) && host_headers_fit(text, size, out->host, true);
}

void egress_head_put(buf *out, const char *text, size_t size, const egress_head *h)
{
    const char *at = headers_of(text, size);
    pawl_bytes name, value;

    buf_put(out, text, h->method_size);
    buf_text(out, h->path_size == 0 || *h->path == '?' ? " /" : " ");
    buf_put(out, h->path, h->path_size);
    buf_text(out, " HTTP/1.1\r\n");
    while (at != NULL && header_next(&at, text + size, &name, &value)) {
        if (named(&name, "Connection") || named(&name, "Keep-Alive") || (name.size > 6 && strncasecmp(name.data, "Proxy-", 6) == 0))
            continue;
        buf_put(out, name.data, name.size);
        buf_text(out, ": ");
        buf_put(out, value.data, value.size);
        buf_text(out, "\r\n");
    }
    buf_text(out, "Connection: close\r\n\r\n");
}

/* ---- the name in a TLS greeting ------------------------------------------------------------------------------------ */

typedef struct cursor { const unsigned char *at, *end; bool failed; } cursor;

static size_t number(cursor *c, int bytes)
{
    size_t n = 0;

    if (c->failed || c->end - c->at < bytes) {
        c->failed = true;
        return 0;
    }
    while (bytes-- > 0)
        n = n << 8 | *c->at++;
    return n;
}

/* The next `n` bytes as a cursor of their own. */
static cursor part(cursor *c, size_t n)
{
    cursor p = { c->at, c->at, true };

    if (c->failed || (size_t)(c->end - c->at) < n) {
        c->failed = true;
        return p;
    }
    p = (cursor){ c->at, c->at + n, false };
    c->at += n;
    return p;
}

/* server_name of a ClientHello; size 0: none, or it is none. */
static pawl_bytes server_name(cursor hello)
{
    cursor all, one, list, name;

    if (number(&hello, 1) != 1)         /* ClientHello */
        return (pawl_bytes){ NULL, 0 };
    all = part(&hello, number(&hello, 3));
    (void)part(&all, 34);               /* version and random */
    (void)part(&all, number(&all, 1));  /* session */
    (void)part(&all, number(&all, 2));  /* ciphers */
    (void)part(&all, number(&all, 1));  /* compression */
    all = part(&all, number(&all, 2));
    while (!all.failed && all.at < all.end) {
        const size_t type = number(&all, 2);

        one = part(&all, number(&all, 2));
        if (type != 0 || one.failed)
            continue;
        list = part(&one, number(&one, 2));
        if (number(&list, 1) != 0)      /* a host name */
            continue;
        name = part(&list, number(&list, 2));
        if (!name.failed)
            return (pawl_bytes){ (const char *)name.at, (size_t)(name.end - name.at) };
    }
    return (pawl_bytes){ NULL, 0 };
}

static egress_first tls_read(const char *data, size_t size, const char *host)
{
    cursor c = { (const unsigned char *)data, (const unsigned char *)data + size, false }, record;
    pawl_bytes name;
    size_t n;

    if (size < 5)
        return EGRESS_PENDING;
    (void)number(&c, 3);
    n = number(&c, 2);
    if (n > EGRESS_HEAD_BYTES - 5)
        return EGRESS_OTHER;
    if (size < 5 + n)
        return EGRESS_PENDING;
    record = part(&c, n);
    name = server_name(record);
    if (name.size == 0)
        return is_address(host) ? EGRESS_FITS : EGRESS_OTHER;
    return same_host(name.data, name.size, host) ? EGRESS_FITS : EGRESS_OTHER;
}

egress_first egress_first_read(const char *data, size_t size, const char *host)
{
    size_t n;

    if (size == 0)
        return EGRESS_PENDING;
    if (*data == 0x16)
        return tls_read(data, size, host);
    if (*data < 'A' || *data > 'Z')
        return EGRESS_OTHER;
    if ((n = egress_head_size(data, size)) == 0)
        return size < EGRESS_HEAD_BYTES ? EGRESS_PENDING : EGRESS_OTHER;
    return lines_sound(data, n) && host_headers_fit(data, n, host, true) ? EGRESS_FITS : EGRESS_OTHER;
}
