/* exchange.c - one request and its answer: libcurl's easy handle, its callbacks, limits, and what a result means.
 *
 * Called by the two drivers, curl.c and curl_loop.c; an exchange belongs to the thread that drives it.
 *
 * Invariant:
 *   X1  a request is sent once at most. libcurl sends a request again when a kept connection dies under it, on a new connection or on another kept
 *       one. on_send() is asked before every send, also on a kept connection, and refuses the second one; a library that does not know that callback
 *       (before 7.80) gets a new connection for each request, which it never sends again. */
#include "net/exchange.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    KEPT_S = 4,                 /* servers close idle connections after five seconds or later */
    HEAD_BYTES_MAX = 262144,    /* of the headers of an answer */
    HEAD_LINES_MAX = 1000,
    LAST_MS = 250,              /* for the end of an answer whose important part has arrived */
    EXPECTATION_FAILED = 417    /* a status: the server refuses `Expect`, and requires the request without it */
};

/* ---- the head ------------------------------------------------------------------------------------------- */

static bool token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || strchr("()<>@,;:\\\"/[]?={}", text[i]) != NULL)
            return false;
    return n > 0;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Ignores a line that is not a header. */
static void head_line(exchange *x, const char *line, size_t n)
{
    buf *head = &x->a->head;
    const char *colon = memchr(line, ':', n);
    size_t name = colon != NULL ? (size_t)(colon - line) : 0, from = name + 1;

    if (!token(line, name) || memchr(line, '\0', n) != NULL)
        return;
    while (n > from && blank(line[n - 1]))
        n--;
    while (from < n && blank(line[from]))
        from++;
    for (size_t i = 0; i < name; i++)
        buf_char(head, line[i] >= 'A' && line[i] <= 'Z' ? (char)(line[i] + ('a' - 'A')) : line[i]);
    buf_char(head, '\0');
    buf_put(head, line + from, n - from);
    buf_char(head, '\0');
}

/* ---- callbacks of libcurl ---------------------------------------------------------------------------------- */

static size_t on_head(char *line, size_t size, size_t count, void *ctx)
{
    exchange *x = ctx;
    size_t n = size * count;

    if (x->body)
        return n;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {      /* another header block follows 100 Continue */
        buf_reset(&x->a->head);
        return n;
    }
    if (++x->head_lines > HEAD_LINES_MAX || n > HEAD_BYTES_MAX - x->a->head.size) {
        x->over = true;
        return 0;
    }
    head_line(x, line, n);
    return n;
}

static size_t to_sink(exchange *x, const char *data, size_t n)
{
    const net_taken taken = x->q->sink(x->q->ctx, x->a, data, n);

    if (taken == NET_LAST && x->last_ms == 0)
        x->last_ms = x->piece_ms + LAST_MS;
    x->a->cut = taken == NET_ENOUGH;
    return x->a->cut ? 0 : n;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    exchange *x = ctx;
    buf *body = &x->a->body;
    size_t n = size * count, room = x->q->response_bytes - body->size;

    if (!x->body)
        curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->a->status);
    x->body = true;
    x->piece_ms = clock_ms();
    if (x->q->sink != NULL && x->a->status / 100 == 2) {
        n = to_sink(x, data, n);
    } else {
        buf_put(body, data, n < room ? n : room);
        x->a->cut = n > room;
        n = x->a->cut || body->failed ? 0 : n;
    }
    if (x->done != NULL)        /* the loop drives it: its limit may be earlier now */
        io_tick_by(exchange_until(x));
    return n;
}

static int on_progress(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up)
{
    exchange *x = ctx;

    (void)down_all;
    (void)up_all;
    if (down + up > x->moved && x->q->moved != NULL)
        x->q->moved(x->q->ctx);
    x->moved = down + up;
    return 0;
}

static bool nothing_sent(const exchange *x)
{
    long bytes = 1;

    return x->easy == NULL || (curl.easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK && bytes == 0);
}

/* A connection that is opened after something was sent would send the request again (X1). */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    exchange *x = ctx;
    int fd = -1;

    (void)purpose;
    x->died = x->died || !nothing_sent(x);
    if (x->q->may_connect != NULL && !x->q->may_connect(x->q->ctx, (const struct sockaddr *)&to->addr))
        return CURL_SOCKET_BAD;
    if (!x->died && (fd = socket(to->family, to->socktype, to->protocol)) >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* libcurl has a connection and is about to send. 1: it must not. */
static int on_send(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
    exchange *x = ctx;
    long status = 0;

    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (x->sends > 0 && status != EXPECTATION_FAILED)
        x->died = true;         /* X1 */
    x->sends++;
    return x->died ? 1 : 0;
}

/* ---- the handle --------------------------------------------------------------------------------------------- */

static bool headers_set(exchange *x)
{
    for (const char **h = x->q->headers; h != NULL && *h != NULL; h++) {
        struct curl_slist *more = curl.slist_append(x->headers, *h);

        if (more == NULL)
            return false;
        x->headers = more;
    }
    return curl.easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers) == CURLE_OK;
}

static bool body_set(exchange *x)
{
    const net_request *q = x->q;

    if (q->body == NULL && strcmp(q->method, "HEAD") == 0)
        return curl.easy_setopt(x->easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    if (q->body != NULL || strcmp(q->method, "POST") == 0 || strcmp(q->method, "PUT") == 0 || strcmp(q->method, "PATCH") == 0)
        if (curl.easy_setopt(x->easy, CURLOPT_POST, 1L) != CURLE_OK ||
            curl.easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_size) != CURLE_OK ||
            curl.easy_setopt(x->easy, CURLOPT_POSTFIELDS, q->body != NULL ? q->body : "") != CURLE_OK)
            return false;
    return curl.easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, q->method) == CURLE_OK;
}

static bool trust_set(exchange *x)
{
    const char *ca = x->q->ca != NULL ? x->q->ca : getenv("SSL_CERT_FILE");

    return ca == NULL || *ca == '\0' || curl.easy_setopt(x->easy, CURLOPT_CAINFO, ca) == CURLE_OK;
}

/* Kept connections are used if libcurl can be prevented from sending twice, and addresses need not be checked. */
static bool connection_set(exchange *x)
{
    enum { PREREQFUNCTION = CURLOPTTYPE_FUNCTIONPOINT + 312, PREREQDATA = CURLOPTTYPE_OBJECTPOINT + 313 };     /* headers older than 7.80 lack them */
    const bool asks = curl.easy_setopt(x->easy, (CURLoption)PREREQFUNCTION, on_send) == CURLE_OK &&
                      curl.easy_setopt(x->easy, (CURLoption)PREREQDATA, x) == CURLE_OK;

    if (x->q->may_connect != NULL && curl.easy_setopt(x->easy, CURLOPT_PROXY, "") != CURLE_OK)
        return false;           /* the checked address would be that of the proxy */
    if (!asks || x->q->may_connect != NULL)
        return curl.easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK && curl.easy_setopt(x->easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK;
    return curl.easy_setopt(x->easy, (CURLoption)(CURLOPTTYPE_LONG + 288), (long)KEPT_S) == CURLE_OK;     /* MAXAGE_CONN, 7.65 */
}

static bool handle_make(exchange *x)
{
    CURL *easy = x->easy = curl.easy_init();

    if (easy == NULL)
        return false;
    /* An older library lacks these two; the caller has checked the scheme. */
    curl.easy_setopt(easy, (CURLoption)(CURLOPTTYPE_STRINGPOINT + 318), "http,https");   /* PROTOCOLS_STR */
    curl.easy_setopt(easy, (CURLoption)(CURLOPTTYPE_LONG + 322), 1L);    /* QUICK_EXIT: do not wait for a pending name look-up */
    return curl.easy_setopt(easy, CURLOPT_URL, x->q->url) == CURLE_OK && curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_USERAGENT, "pawl") == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_HEADERDATA, x) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_WRITEDATA, x) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_XFERINFODATA, x) == CURLE_OK && curl.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x) == CURLE_OK && curl.easy_setopt(easy, CURLOPT_PRIVATE, x) == CURLE_OK &&
           curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, x->why) == CURLE_OK && connection_set(x) && trust_set(x) && body_set(x) && headers_set(x);
}

pawl_code exchange_open(exchange *x, const net_request *q, net_answer *a)
{
    *x = (exchange){ .q = q, .a = a, .piece_ms = clock_ms() };
    if (!curl_here())
        return fail(&x->err, PAWL_INVALID, "there is no libcurl; install the package libcurl4");
    return handle_make(x) ? PAWL_OK : fail(&x->err, PAWL_NOMEM, "no memory for a request");
}

CURLM *multi_make(long connections)
{
    CURLM *multi = curl.multi_init();

    if (multi != NULL && curl.multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections) != CURLM_OK) {
        curl.multi_cleanup(multi);
        multi = NULL;
    }
    return multi;
}

/* ---- time and cancel ------------------------------------------------------------------------------------------ */

int64_t exchange_until(const exchange *x)
{
    const int64_t most = x->body ? x->q->idle_ms : x->q->first_ms;
    const int64_t until = most > 0 && most < x->q->until_ms - x->piece_ms ? x->piece_ms + most : x->q->until_ms;

    return x->last_ms > 0 && x->last_ms < until ? x->last_ms : until;
}

static pawl_code late(exchange *x, int64_t now)
{
    if (now >= x->q->until_ms)
        return fail(&x->err, PAWL_TIMEOUT, "no whole answer");
    if (x->body)
        return fail(&x->err, PAWL_TIMEOUT, "its answer stopped for %lld ms", (long long)x->q->idle_ms);
    return fail(&x->err, PAWL_TIMEOUT, "no answer for %lld ms", (long long)x->q->first_ms);
}

bool exchange_expires(exchange *x, int64_t now, bool canceled, pawl_code *rc)
{
    if (!canceled && now < exchange_until(x))
        return false;
    if (x->last_ms > 0) {       /* the important part has arrived */
        x->a->cut = true;
        *rc = exchange_result(x, CURLE_WRITE_ERROR);
    } else if (canceled) {
        *rc = fail(&x->err, PAWL_CANCELED, "canceled");
    } else {
        *rc = late(x, now);
    }
    return true;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

/* One line of libcurl's text, which may quote a certificate. */
static const char *certificate_why(exchange *x)
{
    static const char head[] = "SSL certificate problem: ";

    for (char *p = x->why; *p != '\0'; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    if (x->why[0] == '\0')
        return curl.easy_strerror(CURLE_PEER_FAILED_VERIFICATION);
    return strncmp(x->why, head, sizeof head - 1) == 0 ? x->why + sizeof head - 1 : x->why;
}

pawl_code exchange_result(exchange *x, CURLcode code)
{
    net_answer *a = x->a;
    pawl_err *err = &x->err;

    if (a->head.failed || a->body.failed || code == CURLE_OUT_OF_MEMORY)
        return fail(err, PAWL_NOMEM, "no memory for its answer");
    if (x->over)
        return fail(err, PAWL_LIMIT, "the head of its answer is over %d bytes or %d lines", HEAD_BYTES_MAX, HEAD_LINES_MAX);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && a->cut))
        return PAWL_OK;
    if (code == CURLE_URL_MALFORMAT)
        return fail(err, PAWL_INVALID, "is no URL");
    if (code == CURLE_UNSUPPORTED_PROTOCOL)
        return fail(err, PAWL_TRANSIENT, "its answer is no HTTP");
    if (x->died)
        return fail(err, PAWL_TRANSIENT, "its connection closed under the request, which may have arrived");
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return fail(err, PAWL_EFFECT, "its certificate is not to be trusted: %s", certificate_why(x));
    if (code == CURLE_SSL_CACERT_BADFILE)
        return fail(err, PAWL_INVALID, "the file of certificates to trust (\"ca\", or SSL_CERT_FILE) cannot be read");
    return fail(err, code == CURLE_OPERATION_TIMEDOUT ? PAWL_TIMEOUT : PAWL_TRANSIENT, "%s", curl.easy_strerror(code));
}

static pawl_code location_keep(exchange *x)
{
    const char *url = NULL;
    net_answer *a = x->a;

    if (curl.easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &url) != CURLE_OK || url == NULL)
        return PAWL_OK;
    a->location_bytes = strlen(url) + 1;
    if ((a->location = mem_new(&a->body.alloc, a->location_bytes)) == NULL)
        return fail(&x->err, PAWL_NOMEM, "no memory for its answer");
    memcpy(a->location, url, a->location_bytes);
    return PAWL_OK;
}

pawl_code exchange_close(exchange *x, CURLM *multi, pawl_code rc)
{
    if (rc == PAWL_OK) {
        curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->a->status);
        rc = location_keep(x);
    }
    x->a->untouched = rc != PAWL_OK && nothing_sent(x);
    if (multi != NULL && x->easy != NULL)
        curl.multi_remove_handle(multi, x->easy);
    if (x->easy != NULL)
        curl.easy_cleanup(x->easy);
    if (x->headers != NULL)
        curl.slist_free_all(x->headers);
    x->easy = NULL;
    x->headers = NULL;
    return rc;
}
