/* request.c - one request: parsed by llhttp in its strict form, with limits; ambiguous requests are refused (N4, RFC 9112).
 *
 * Called by conn.c with bytes as they come. Loop thread. A refusal sets parse.refused and parse.why; the connection then replies and closes. */
#include "net/http/http_inner.h"

#include <asm/socket.h>    /* SO_PEERCRED, which POSIX lacks */
#include <strings.h>
#include <sys/socket.h>

static conn *conn_of(llhttp_t *l) { return l->data; }

static int refuse(conn *c, unsigned status, const char *why)
{
    if (c->parse.refused == 0) {
        c->parse.refused = status;
        c->parse.why = why;
    }
    return -1;
}

static int no_memory(conn *c) { return refuse(c, 503, "no memory for this request"); }

/* ---- the head, as it comes ------------------------------------------------------------------------------------- */

static bool head_fits(conn *c, size_t more)
{
    c->parse.head_bytes += more;
    return c->parse.head_bytes <= c->s->limits.head_bytes;
}

static int on_target(llhttp_t *l, const char *at, size_t n)
{
    conn *c = conn_of(l);

    if (!head_fits(c, n))
        return refuse(c, 414, "the target is too long");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] <= ' ' || (unsigned char)at[i] >= 0x7f || at[i] == '#')
            return refuse(c, 400, "the target has a byte that must be percent-encoded");
    buf_put(&c->call.head, at, n);
    return c->call.head.failed ? no_memory(c) : 0;
}

static int on_target_end(llhttp_t *l)
{
    conn *c = conn_of(l);

    buf_char(&c->call.head, '\0');
    c->call.fields = c->call.head.size;
    return c->call.head.failed ? no_memory(c) : 0;
}

static int on_name(llhttp_t *l, const char *at, size_t n)
{
    conn *c = conn_of(l);
    parse_state *p = &c->parse;

    if (!head_fits(c, n))
        return refuse(c, 431, "the headers are too long");
    if (p->part == PART_BODY)           /* a trailer: nobody reads it */
        return 0;
    if (p->part != PART_NAME) {
        if (++p->headers > c->s->limits.headers)
            return refuse(c, 431, "there are too many headers");
        p->part = PART_NAME;
        p->name = c->call.head.size;
    }
    for (size_t i = 0; i < n; i++)
        buf_char(&c->call.head, at[i] >= 'A' && at[i] <= 'Z' ? (char)(at[i] | 0x20) : at[i]);
    return c->call.head.failed ? no_memory(c) : 0;
}

static int on_name_end(llhttp_t *l)
{
    conn *c = conn_of(l);

    if (c->parse.part == PART_BODY)
        return 0;
    buf_char(&c->call.head, '\0');
    c->parse.part = PART_VALUE;
    c->parse.value = c->call.head.size;
    return c->call.head.failed ? no_memory(c) : 0;
}

static int on_value(llhttp_t *l, const char *at, size_t n)
{
    conn *c = conn_of(l);

    if (!head_fits(c, n))
        return refuse(c, 431, "the headers are too long");
    if (c->parse.part == PART_BODY)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            return refuse(c, 400, "a header has a control character");
    buf_put(&c->call.head, at, n);
    return c->call.head.failed ? no_memory(c) : 0;
}

static int on_value_end(llhttp_t *l)
{
    conn *c = conn_of(l);
    buf *b = &c->call.head;

    if (c->parse.part == PART_BODY)
        return 0;
    while (b->size > c->parse.value && (b->data[b->size - 1] == ' ' || b->data[b->size - 1] == '\t'))
        b->size--;
    buf_char(b, '\0');
    return b->failed ? no_memory(c) : 0;
}

/* ---- the head, when it is complete --------------------------------------------------------------------------------- */

/* The next header from `*at` on; false: there is none. */
static bool next_field(const http_req *c, size_t *at, const char **name, const char **value)
{
    if (*at >= c->head.size)
        return false;
    *name = c->head.data + *at;
    *value = *name + strlen(*name) + 1;
    *at = (size_t)(*value - c->head.data) + strlen(*value) + 1;
    return true;
}

static unsigned count_of(const http_req *c, const char *name, const char **value)
{
    const char *n, *v;
    unsigned count = 0;

    for (size_t at = c->fields; next_field(c, &at, &n, &v);)
        if (strcmp(n, name) == 0 && count++ == 0)
            *value = v;
    return count;
}

static bool is_before(const http_req *c, const char *name)
{
    const char *n, *v;

    for (size_t at = c->fields; next_field(c, &at, &n, &v) && n < name;)
        if (strcmp(n, name) == 0)
            return true;
    return false;
}

/* Lines of one name become one, in the place of the first. */
static bool join_fields(http_req *c)
{
    buf out;
    const char *n, *v, *n2, *v2;
    bool twice = false;

    for (size_t at = c->fields; next_field(c, &at, &n, &v) && !twice;)
        twice = is_before(c, n);
    if (!twice)
        return true;
    buf_init(&out, &c->head.alloc);
    buf_put(&out, c->head.data, c->fields);
    for (size_t at = c->fields; next_field(c, &at, &n, &v);) {
        if (is_before(c, n))
            continue;
        buf_put(&out, n, strlen(n) + 1);
        buf_text(&out, v);
        for (size_t more = at; next_field(c, &more, &n2, &v2);)
            if (strcmp(n, n2) == 0)
                buf_fmt(&out, "%s%s", strcmp(n, "cookie") == 0 ? "; " : ", ", v2);
        buf_char(&out, '\0');
    }
    buf_free(&c->head);
    c->head = out;
    return !out.failed;
}

static size_t keep_text(buf *b, const char *text, size_t size)
{
    const size_t at = b->size;

    buf_put(b, text, size);
    buf_char(b, '\0');
    return at;
}

/* Splits the target into path, query and authority. What is copied comes after the last header, so `head.size` of the headers is kept in `*end`. */
static int split_target(conn *c, size_t *end)
{
    http_req *call = &c->call;
    char *target = call->head.data, *mark = strchr(target, '?');
    const size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;

    *end = call->head.size;
    call->path = 0;
    if (mark != NULL) {
        *mark = '\0';
        call->query = (size_t)(mark + 1 - target);
    }
    if (*target == '/')
        return 0;
    if (strcmp(target, "*") == 0 && mark == NULL && c->parse.llhttp.method == HTTP_OPTIONS)
        return 0;
    if (scheme == 0)
        return refuse(c, 400, "the target must begin with /");
    const size_t size = strcspn(target + scheme, "/");
    const size_t path = scheme + size;
    char authority[256];

    if (size == 0 || size >= sizeof authority || memchr(target + scheme, '@', size) != NULL)
        return refuse(c, 400, "the target has no usable authority");
    memcpy(authority, target + scheme, size);
    const bool bare = target[path] == '\0';     /* asked before the buffer may move */

    call->host = keep_text(&call->head, authority, size);
    call->path = bare ? keep_text(&call->head, "/", 1) : path;
    return call->head.failed ? no_memory(c) : 0;
}

static int check_framing(conn *c, const char **host)
{
    const http_req *call = &c->call;
    const char *value = NULL;
    const unsigned te = count_of(call, "transfer-encoding", &value);
    const bool old = c->parse.llhttp.http_minor == 0;
    const unsigned hosts = count_of(call, "host", host);

    if (c->parse.llhttp.http_major != 1 || c->parse.llhttp.http_minor > 1)
        return refuse(c, 505, "only HTTP/1.1 and HTTP/1.0 are served");
    if (c->parse.llhttp.method == HTTP_CONNECT)
        return refuse(c, 501, "this is no proxy");
    if (te > 1 || (te == 1 && (old || strcasecmp(value, "chunked") != 0)))
        return refuse(c, te == 1 && !old ? 501 : 400, "of transfer encodings only one, chunked, is served");
    if (te == 1 && count_of(call, "content-length", &value) > 0)
        return refuse(c, 400, "a request has Content-Length or Transfer-Encoding, not both");
    if (count_of(call, "content-length", &value) > 1)
        return refuse(c, 400, "a request has one Content-Length");
    if (hosts > 1 || (hosts == 0 && !old))
        return refuse(c, 400, "a request has one Host header");
    if (count_of(call, "expect", &value) > 0 && strcasecmp(value, "100-continue") != 0)
        return refuse(c, 417, "of expectations only 100-continue is met");
    if (c->parse.llhttp.content_length > c->s->limits.body_bytes)
        return refuse(c, 413, "the body is too long");
    return 0;
}

static int on_head(llhttp_t *l)
{
    conn *c = conn_of(l);
    const char *host = "";
    size_t end = 0;

    l->upgrade = 0;             /* no other protocol is served: the request is an ordinary one */
    if (check_framing(c, &host) != 0)
        return -1;
    if (!join_fields(&c->call))
        return no_memory(c);
    if (split_target(c, &end) != 0)
        return -1;
    c->call.fields_end = end;
    c->parse.part = PART_BODY;
    return 0;
}

static int on_body(llhttp_t *l, const char *at, size_t n)
{
    conn *c = conn_of(l);

    if (n > c->s->limits.body_bytes - c->call.body.size)
        return refuse(c, 413, "the body is too long");
    buf_put(&c->call.body, at, n);
    return c->call.body.failed ? no_memory(c) : 0;
}

static int on_end(llhttp_t *l)
{
    conn *c = conn_of(l);

    c->parse.keeps = llhttp_should_keep_alive(l) != 0;
    return HPE_PAUSED;          /* the next request is parsed after the reply to this one */
}

/* ---- the parser --------------------------------------------------------------------------------------------------- */

static const llhttp_settings_t settings = {
    .on_url = on_target,
    .on_url_complete = on_target_end,
    .on_header_field = on_name,
    .on_header_field_complete = on_name_end,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_end,
    .on_headers_complete = on_head,
    .on_body = on_body,
    .on_message_complete = on_end,
};

void call_clear(http_req *call)
{
    conn *c = call->c;

    buf_free(&call->head);
    buf_free(&call->body);
    *call = (http_req){ .c = c };
    buf_init(&call->head, &c->s->alloc);
    buf_init(&call->body, &c->s->alloc);
}

void parse_init(conn *c)
{
    c->parse = (parse_state){ .part = PART_TARGET };
    llhttp_init(&c->parse.llhttp, HTTP_REQUEST, &settings);
    c->parse.llhttp.data = c;
}

parsed parse_bytes(conn *c, const char *data, size_t size, size_t *used)
{
    parse_state *p = &c->parse;
    const llhttp_errno_t e = llhttp_execute(&p->llhttp, data, size);

    *used = size;
    if (e == HPE_OK)
        return PARSED_MORE;
    if (e == HPE_PAUSED) {
        *used = (size_t)(llhttp_get_error_pos(&p->llhttp) - data);
        return PARSED_WHOLE;
    }
    refuse(c, e == HPE_INVALID_VERSION ? 505 : 400, llhttp_get_error_reason(&p->llhttp));
    return PARSED_WRONG;
}

bool parse_wants_continue(const conn *c)
{
    return c->parse.llhttp.http_minor == 1 && c->call.body.size == 0 && http_header(&c->call, "expect") != NULL;
}

/* ---- what was asked --------------------------------------------------------------------------------------------------- */

const char *http_method(const http_req *c) { return llhttp_method_name(c->c->parse.llhttp.method); }
const char *http_path(const http_req *c) { return c->head.data + c->path; }
const char *http_query(const http_req *c) { return c->query == 0 ? NULL : c->head.data + c->query; }
pawl_bytes http_body(const http_req *c) { return (pawl_bytes){ c->body.data, c->body.size }; }

const char *http_header(const http_req *c, const char *name)
{
    const char *n, *v;

    for (size_t at = c->fields; at < c->fields_end && next_field(c, &at, &n, &v);)
        if (strcmp(n, name) == 0)
            return v;
    return NULL;
}

const char *http_host(const http_req *c)
{
    const char *host = c->host > 0 ? c->head.data + c->host : http_header(c, "host");

    return host != NULL ? host : "";
}

void http_name_set(http_req *c, const char *who)
{
    const size_t n = strlen(who) < sizeof c->name ? strlen(who) : sizeof c->name - 1;

    memcpy(c->name, who, n);
    c->name[n] = '\0';
}

const char *http_name(const http_req *c) { return c->name; }
bool http_is_tcp(const http_req *c) { return c->c->tcp; }

bool http_peer_user(const http_req *call, uid_t *uid)
{
    const conn *c = call->c;
    struct { pid_t pid; uid_t uid; gid_t gid; } who;    /* struct ucred, which needs _GNU_SOURCE */
    socklen_t size = sizeof who;
    uv_os_fd_t fd = -1;

    *uid = (uid_t)-1;
    if (c->tcp)
        return false;
    if (uv_fileno(&c->io.handle, &fd) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && size == sizeof who)
        *uid = who.uid;
    return true;
}

void http_set(http_req *c, void *data, void (*gone)(http_req *c, void *data))
{
    c->data = data;
    c->gone = gone;
}

bool http_gone(const http_req *c) { return c->c->state == CONN_CLOSED; }
