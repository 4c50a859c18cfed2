/* curl.c - requests by libcurl, which is opened when the first one is made: linked, every start would pay for it.
 *
 * A connection that served a whole exchange is kept for a while, for the next request to that origin. A request that may have
 * reached the far end is never sent twice: what libcurl would do when a kept connection dies under it. */
#include "net/net.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    KEPT_MAX = 16,              /* connections that nobody uses */
    KEPT_MS = 4000,             /* for so long: servers close what is idle after five seconds, or later */
    KEY_BYTES_MAX = 512,
    HEAD_BYTES_MAX = 262144,    /* of an answer's head */
    HEAD_LINES_MAX = 1000,
    POLL_MS_MAX = 1000,
    LAST_MS = 250               /* for the end of an answer of which all that matters has come */
};

/* ---- the library ------------------------------------------------------------------------------------ */

typedef struct curl_api {
    CURLcode (*global_init)(long flags);
    curl_version_info_data *(*version_info)(CURLversion version);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned n, int ms, int *ready);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
} curl_api;

/* One for the process, as libcurl itself is; never written to again. */
static curl_api api;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool symbol(void *lib, const char *name, void *slot)
{
    void *at = dlsym(lib, name);

    memcpy(slot, &at, sizeof at);   /* a function's address, which C lets nobody cast */
    return at != NULL;
}

static void kept_begin(void);

static void load(void)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib" };
    void *lib = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && lib == NULL; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    loaded = lib != NULL && symbol(lib, "curl_global_init", &api.global_init) && symbol(lib, "curl_version_info", &api.version_info) &&
             symbol(lib, "curl_easy_init", &api.easy_init) &&
             symbol(lib, "curl_easy_cleanup", &api.easy_cleanup) && symbol(lib, "curl_easy_setopt", &api.easy_setopt) &&
             symbol(lib, "curl_easy_getinfo", &api.easy_getinfo) && symbol(lib, "curl_easy_strerror", &api.easy_strerror) &&
             symbol(lib, "curl_slist_append", &api.slist_append) && symbol(lib, "curl_slist_free_all", &api.slist_free_all) &&
             symbol(lib, "curl_multi_init", &api.multi_init) && symbol(lib, "curl_multi_cleanup", &api.multi_cleanup) &&
             symbol(lib, "curl_multi_add_handle", &api.multi_add_handle) && symbol(lib, "curl_multi_setopt", &api.multi_setopt) &&
             symbol(lib, "curl_multi_remove_handle", &api.multi_remove_handle) &&
             symbol(lib, "curl_multi_perform", &api.multi_perform) && symbol(lib, "curl_multi_poll", &api.multi_poll) &&
             symbol(lib, "curl_multi_info_read", &api.multi_info_read) && api.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (loaded)
        kept_begin();
}

bool net_library_of(net_library *out)
{
    const curl_version_info_data *info;

    *out = (net_library){ 0 };
    pthread_once(&once, load);
    if (!loaded)
        return false;
    info = api.version_info(CURLVERSION_NOW);
    out->version = info->version;
    out->tls = info->ssl_version;
#if LIBCURL_VERSION_NUM >= 0x074600
    if (info->age >= CURLVERSION_SEVENTH) {     /* an older library's answer ends before these */
        out->ca_file = info->cainfo;
        out->ca_folder = info->capath;
    }
#endif
    return true;
}

/* ---- connections that are kept ------------------------------------------------------------------------- */

/* A multi handle has the connections of what it performed; these have one each at most. */
typedef struct kept { CURLM *multi; int64_t since_ms; char key[KEY_BYTES_MAX]; } kept;

static kept all_kept[KEPT_MAX];         /* the oldest first */
static CURLM *lost[KEPT_MAX];           /* the parent's, in a child: closing them here would end them there */
static size_t nkept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static CURLM *kept_out(size_t i)
{
    CURLM *multi = all_kept[i].multi;

    memmove(&all_kept[i], &all_kept[i + 1], (--nkept - i) * sizeof *all_kept);
    return multi;
}

static void lock_before_fork(void) { pthread_mutex_lock(&kept_lock); }
static void unlock_after_fork(void) { pthread_mutex_unlock(&kept_lock); }

static void lose_after_fork(void)
{
    for (size_t i = 0; i < nkept; i++)
        lost[i] = all_kept[i].multi;
    nkept = 0;
    pthread_mutex_unlock(&kept_lock);
}

static void kept_begin(void)
{
    if (pthread_atfork(lock_before_fork, unlock_after_fork, lose_after_fork) != 0 || atexit(net_forget) != 0)
        loaded = false;         /* no memory */
}

/* Those that are too old, or all; one at a time: closing may take a while. */
static void kept_close(bool all)
{
    CURLM *multi;

    do {
        pthread_mutex_lock(&kept_lock);
        multi = nkept > 0 && (all || clock_ms() - all_kept[0].since_ms > KEPT_MS) ? kept_out(0) : NULL;
        pthread_mutex_unlock(&kept_lock);
        if (multi != NULL)
            api.multi_cleanup(multi);
    } while (multi != NULL);
}

void net_forget(void)
{
    pipe_hold hold;

    pipe_guard(&hold);
    kept_close(true);
    pipe_release(&hold);
}

/* Scheme, host and port, and whom to trust. False: too long to be kept, or not made as others are. */
static bool key_of(const net_request *q, char out[KEY_BYTES_MAX])
{
    const char *host = strstr(q->url, "://");
    size_t n = host == NULL ? 0 : (size_t)(host + 3 - q->url) + strcspn(host + 3, "/?#\\"), m = q->ca == NULL ? 0 : strlen(q->ca);

    if (n == 0 || n + m + 2 > KEY_BYTES_MAX || q->may_connect != NULL)
        return false;
    memcpy(out, q->url, n);
    out[n] = ' ';
    memcpy(out + n + 1, q->ca == NULL ? "" : q->ca, m + 1);
    return true;
}

static CURLM *kept_take(const char *key)
{
    CURLM *multi = NULL;

    kept_close(false);
    pthread_mutex_lock(&kept_lock);
    for (size_t i = nkept; i > 0 && multi == NULL; i--)
        if (strcmp(all_kept[i - 1].key, key) == 0)
            multi = kept_out(i - 1);
    pthread_mutex_unlock(&kept_lock);
    return multi;
}

static void kept_put(CURLM *multi, const char *key)
{
    CURLM *out = NULL;
    kept *k;

    pthread_mutex_lock(&kept_lock);
    if (nkept == KEPT_MAX)
        out = kept_out(0);
    k = &all_kept[nkept++];
    k->multi = multi;
    k->since_ms = clock_ms();
    memcpy(k->key, key, strlen(key) + 1);
    pthread_mutex_unlock(&kept_lock);
    if (out != NULL)
        api.multi_cleanup(out);
}

/* ---- what it calls ------------------------------------------------------------------------------------ */

typedef struct exchange {
    const net_request *q;
    net_answer *a;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    size_t head_lines;
    curl_off_t moved;           /* bytes, both ways */
    bool over;                  /* the head is over its limit */
    bool died;                  /* the connection did, under a request that may have arrived */
    char why[CURL_ERROR_SIZE];
    bool body;                  /* it has begun: what looks like a head is a trailer */
    int64_t piece_ms;           /* by clock_ms: when the last piece of it came; before: when the exchange began */
    int64_t last_ms;            /* when it need not be waited for any longer; 0: it must be */
} exchange;

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

/* A line that is no header is left out. */
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

static size_t on_head(char *line, size_t size, size_t count, void *ctx)
{
    exchange *x = ctx;
    size_t n = size * count;

    if (x->body)
        return n;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {      /* after 100 Continue another one */
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

static size_t sink(exchange *x, const char *data, size_t n)
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
        api.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->a->status);
    x->body = true;
    x->piece_ms = clock_ms();
    if (x->q->sink != NULL && x->a->status / 100 == 2)
        return sink(x, data, n);
    buf_put(body, data, n < room ? n : room);
    x->a->cut = n > room;
    return x->a->cut || body->failed ? 0 : n;
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

    return x->easy == NULL || (api.easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK && bytes == 0);
}

/* A second connection when something was sent on the first would send it again. */
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

/* ---- one exchange ---------------------------------------------------------------------------------------- */

static bool headers_set(exchange *x)
{
    for (const char **h = x->q->headers; h != NULL && *h != NULL; h++) {
        struct curl_slist *more = api.slist_append(x->headers, *h);

        if (more == NULL)
            return false;
        x->headers = more;
    }
    return api.easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers) == CURLE_OK;
}

static bool body_set(exchange *x)
{
    const net_request *q = x->q;

    if (q->body == NULL && strcmp(q->method, "HEAD") == 0)
        return api.easy_setopt(x->easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    if (q->body != NULL || strcmp(q->method, "POST") == 0 || strcmp(q->method, "PUT") == 0 || strcmp(q->method, "PATCH") == 0)
        if (api.easy_setopt(x->easy, CURLOPT_POST, 1L) != CURLE_OK ||
            api.easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_size) != CURLE_OK ||
            api.easy_setopt(x->easy, CURLOPT_POSTFIELDS, q->body != NULL ? q->body : "") != CURLE_OK)
            return false;
    return api.easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, q->method) == CURLE_OK;
}

static bool trust_set(exchange *x)
{
    const char *ca = x->q->ca != NULL ? x->q->ca : getenv("SSL_CERT_FILE");

    return ca == NULL || *ca == '\0' || api.easy_setopt(x->easy, CURLOPT_CAINFO, ca) == CURLE_OK;
}

static bool prepare(exchange *x)
{
    CURL *easy = x->easy = api.easy_init();

    if (easy == NULL || (x->multi == NULL && (x->multi = api.multi_init()) == NULL) ||
        api.multi_setopt(x->multi, CURLMOPT_MAXCONNECTS, 1L) != CURLM_OK)
        return false;
    /* an older one does not know these two; who calls has looked at the scheme */
    api.easy_setopt(easy, (CURLoption)(CURLOPTTYPE_STRINGPOINT + 318), "http,https");   /* PROTOCOLS_STR */
    api.easy_setopt(easy, (CURLoption)(CURLOPTTYPE_LONG + 322), 1L);    /* QUICK_EXIT: a name that is being looked up holds nobody */
    if (x->q->may_connect != NULL && api.easy_setopt(easy, CURLOPT_PROXY, "") != CURLE_OK)
        return false;           /* the address would be the proxy's */
    return api.easy_setopt(easy, CURLOPT_URL, x->q->url) == CURLE_OK && api.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_USERAGENT, "pawl") == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_HEADERDATA, x) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_WRITEDATA, x) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_XFERINFODATA, x) == CURLE_OK && api.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x) == CURLE_OK &&
           api.easy_setopt(easy, CURLOPT_ERRORBUFFER, x->why) == CURLE_OK && trust_set(x) && body_set(x) && headers_set(x) &&
           api.multi_add_handle(x->multi, easy) == CURLM_OK;
}

/* When it is waited for no longer, if nothing comes. */
static int64_t patience(const exchange *x)
{
    const int64_t most = x->body ? x->q->idle_ms : x->q->first_ms;
    const int64_t until = most > 0 && most < x->q->until_ms - x->piece_ms ? x->piece_ms + most : x->q->until_ms;

    return x->last_ms > 0 && x->last_ms < until ? x->last_ms : until;
}

static pawl_code impatient(exchange *x, int64_t now, CURLcode *code, pawl_err *err)
{
    if (x->last_ms > 0) {       /* all that matters is there */
        x->a->cut = true;
        *code = CURLE_WRITE_ERROR;
        return PAWL_OK;
    }
    if (now >= x->q->until_ms)
        return fail(err, PAWL_TIMEOUT, "no whole answer");
    if (x->body)
        return fail(err, PAWL_TIMEOUT, "its answer stopped for %lld ms", (long long)x->q->idle_ms);
    return fail(err, PAWL_TIMEOUT, "no answer for %lld ms", (long long)x->q->first_ms);
}

/* Until it is answered, its time is over, or it is to stop. */
static pawl_code drive(exchange *x, CURLcode *code, pawl_err *err)
{
    const net_request *q = x->q;
    struct curl_waitfd stop = { .fd = q->stop_fd, .events = CURL_WAIT_POLLIN };
    int running = 1, left;
    CURLMsg *msg;

    for (;;) {
        int64_t now = clock_ms(), until = patience(x);
        int ms = q->stop_fd > 0 || q->poll_ms <= 0 ? POLL_MS_MAX : q->poll_ms;

        if ((stop.revents & CURL_WAIT_POLLIN) != 0 || (q->stop != NULL && q->stop(q->ctx)))
            return x->last_ms > 0 ? impatient(x, now, code, err) : fail(err, PAWL_CANCELED, "canceled");
        if (now >= until)
            return impatient(x, now, code, err);
        if (api.multi_perform(x->multi, &running) != CURLM_OK)
            return fail(err, PAWL_TRANSIENT, "libcurl stumbled");
        if (running == 0)
            break;
        until = patience(x);    /* pieces may have come */
        now = clock_ms();
        if (until - now < ms)
            ms = until > now ? (int)(until - now) : 0;
        if (api.multi_poll(x->multi, &stop, q->stop_fd > 0 ? 1 : 0, ms, NULL) != CURLM_OK)
            return fail(err, PAWL_TRANSIENT, "libcurl cannot wait");
    }
    msg = api.multi_info_read(x->multi, &left);
    *code = msg != NULL && msg->msg == CURLMSG_DONE ? msg->data.result : CURLE_RECV_ERROR;
    return PAWL_OK;
}

/* One line, in libcurl's words; they may quote a certificate. */
static const char *certificate_why(exchange *x)
{
    static const char head[] = "SSL certificate problem: ";

    for (char *p = x->why; *p != '\0'; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    if (x->why[0] == '\0')
        return api.easy_strerror(CURLE_PEER_FAILED_VERIFICATION);
    return strncmp(x->why, head, sizeof head - 1) == 0 ? x->why + sizeof head - 1 : x->why;
}

static pawl_code came_to(exchange *x, CURLcode code, pawl_err *err)
{
    net_answer *a = x->a;

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
    return fail(err, code == CURLE_OPERATION_TIMEDOUT ? PAWL_TIMEOUT : PAWL_TRANSIENT, "%s", api.easy_strerror(code));
}

static pawl_code location_keep(exchange *x, pawl_err *err)
{
    const char *url = NULL;
    net_answer *a = x->a;

    if (api.easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &url) != CURLE_OK || url == NULL)
        return PAWL_OK;
    a->location_bytes = strlen(url) + 1;
    if ((a->location = mem_new(&a->body.alloc, a->location_bytes)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for its answer");
    memcpy(a->location, url, a->location_bytes);
    return PAWL_OK;
}

pawl_code net_fetch(const net_request *q, net_answer *a, pawl_err *err)
{
    exchange x = { .q = q, .a = a, .piece_ms = clock_ms() };
    CURLcode code = CURLE_OK;
    char key[KEY_BYTES_MAX];
    bool keep = key_of(q, key);
    pipe_hold hold;
    pawl_code rc;

    pthread_once(&once, load);
    a->untouched = !loaded;
    if (!loaded)
        return fail(err, PAWL_INVALID, "there is no libcurl; install the package libcurl4");
    pipe_guard(&hold);          /* TLS writes without MSG_NOSIGNAL */
    if (keep)
        x.multi = kept_take(key);
    if (!prepare(&x)) {
        rc = fail(err, PAWL_NOMEM, "no memory for a request");
    } else if ((rc = drive(&x, &code, err)) == PAWL_OK && (rc = came_to(&x, code, err)) == PAWL_OK) {
        api.easy_getinfo(x.easy, CURLINFO_RESPONSE_CODE, &a->status);
        rc = location_keep(&x, err);
    }
    a->untouched = rc != PAWL_OK && nothing_sent(&x);
    if (x.multi != NULL && x.easy != NULL)
        api.multi_remove_handle(x.multi, x.easy);
    if (x.easy != NULL)
        api.easy_cleanup(x.easy);
    if (x.multi != NULL && keep && rc == PAWL_OK && code == CURLE_OK)
        kept_put(x.multi, key);
    else if (x.multi != NULL)
        api.multi_cleanup(x.multi);
    api.slist_free_all(x.headers);
    pipe_release(&hold);
    return rc;
}

const char *net_head(const buf *head, const char *name)
{
    for (size_t at = 0; at < head->size;) {
        const char *one = head->data + at, *value = one + strlen(one) + 1;

        if (strcmp(one, name) == 0)
            return value;
        at += strlen(one) + strlen(value) + 2;
    }
    return NULL;
}

void net_answer_init(net_answer *a, const pawl_alloc *alloc)
{
    *a = (net_answer){0};
    buf_init(&a->head, alloc);
    buf_init(&a->body, alloc);
}

void net_answer_free(net_answer *a)
{
    mem_free(&a->body.alloc, a->location, a->location_bytes);
    buf_free(&a->head);
    buf_free(&a->body);
    a->location = NULL;
}
