/* server.c - the loop of a server: listeners, timers, watched descriptors, what other threads post, and the stop.
 *
 * The thread of http_run() owns all but `posted`, `stop` and `drained`, which `lock` covers. States: open; draining after http_stop(); cutting when the
 * time of the drain is over, or in http_free(). */
#include "net/http/http_inner.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const sm_row server_rows[] = {
    [SERVER_OPEN] = { "open", SM_TO(SERVER_DRAINING) | SM_TO(SERVER_CUTTING), SM_FIRST },
    [SERVER_DRAINING] = { "draining", SM_TO(SERVER_CUTTING), SM_LAST },
    [SERVER_CUTTING] = { "cutting", 0, SM_LAST },
};
static const sm_table server_table = { "server", server_rows, SERVER_STATES, NULL };

typedef enum side_kind { SIDE_TCP, SIDE_UNIX, SIDE_TIMER, SIDE_WATCH } side_kind;
struct server_side {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_timer_t timer;
        uv_poll_t poll;
    } io;
    http_server *s;
    server_side *next;
    side_kind kind;
    void (*fn)(void *ctx);
    void *ctx;
    bool pending;               /* a connection waits for the spare handle */
    char *path;                 /* of a unix socket that http_listen_unix() made; removed at the end */
    dev_t device;               /* which file it was */
    ino_t inode;
};

typedef struct posted {
    struct posted *next;
    void (*fn)(void *ctx);
    void *ctx;
} posted;

unsigned http_port(const http_server *s) { return s->port; }
http_counts http_counted(const http_server *s) { return s->counts; }
bool http_stopping(const http_server *s) { return s->state != SERVER_OPEN; }

/* ---- deadlines ---------------------------------------------------------------------------------------------------- */

static conn *conn_of_wait(wait_place *p) { return (conn *)((char *)p - offsetof(conn, wait)); }

static void on_tick(uv_timer_t *t)
{
    http_server *s = t->data;

    for (unsigned kind = WAIT_NONE + 1; kind < WAIT_KINDS; kind++)
        for (wait_place *p; (p = wait_first(&s->waits, kind)) != NULL && p->due_ms <= http_now(s);)
            conn_due(conn_of_wait(p));  /* leaves the list, or goes to its end */
    if (!wait_any(&s->waits))
        uv_timer_stop(t);
}

/* ---- the stop --------------------------------------------------------------------------------------------------------- */

static void on_side_closed(uv_handle_t *h)
{
    server_side *side = h->data;
    http_server *s = side->s;
    struct stat at;

    if (side->path != NULL) {
        if (lstat(side->path, &at) == 0 && at.st_dev == side->device && at.st_ino == side->inode)
            unlink(side->path);
        mem_free(&s->alloc, side->path, strlen(side->path) + 1);
    }
    mem_free(&s->alloc, side, sizeof *side);
}

static void close_sides(http_server *s, bool listeners_only)
{
    server_side **at = &s->sides;

    while (*at != NULL) {
        server_side *side = *at;

        if (listeners_only && side->kind != SIDE_TCP && side->kind != SIDE_UNIX) {
            at = &side->next;
            continue;
        }
        *at = side->next;
        uv_close(&side->io.handle, on_side_closed);
    }
}

static void cut_all(http_server *s)
{
    for (conn *c = s->conns, *next; c != NULL; c = next) {
        next = c->next;         /* conn_cut() frees nothing, and the handler ends no call but that one */
        conn_cut(c);
    }
}

void http_cut(http_server *s)
{
    if (s->state != SERVER_DRAINING)
        return;
    uv_timer_stop(&s->drain);
    sm_move(&server_table, &s->state, SERVER_CUTTING, NULL);
    cut_all(s);
    uv_unref((uv_handle_t *)&s->wake);  /* not even for a handler that has not ended its call */
}

static void on_drain_over(uv_timer_t *t) { http_cut(t->data); }

static void drain(http_server *s)
{
    if (s->state != SERVER_OPEN)
        return;
    sm_move(&server_table, &s->state, SERVER_DRAINING, NULL);
    close_sides(s, true);
    uv_timer_start(&s->drain, on_drain_over, s->limits.drain_ms, 0);
    for (conn *c = s->conns, *next; c != NULL; c = next) {
        next = c->next;
        conn_drain(c);
    }
    if (s->drained != NULL)
        s->drained(s->drained_ctx);
    if (s->conns == NULL)
        uv_unref((uv_handle_t *)&s->wake);
}

void http_stop(http_server *s, void (*drained)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&s->lock);
    if (!s->stop) {
        s->stop = true;
        s->drained = drained;
        s->drained_ctx = ctx;
    }
    pthread_mutex_unlock(&s->lock);
    uv_async_send(&s->wake);
}

/* ---- what other threads post --------------------------------------------------------------------------------------------- */

bool http_post(http_server *s, void (*fn)(void *ctx), void *ctx)
{
    posted *p = malloc(sizeof *p);      /* the caller's allocator is used by the loop at the same time */

    if (p == NULL)
        return false;
    *p = (posted){ .fn = fn, .ctx = ctx };
    pthread_mutex_lock(&s->lock);
    *s->posted_last = p;
    s->posted_last = &p->next;
    pthread_mutex_unlock(&s->lock);
    uv_async_send(&s->wake);
    return true;
}

static void on_wake(uv_async_t *a)
{
    http_server *s = a->data;

    pthread_mutex_lock(&s->lock);
    const bool stop = s->stop;
    posted *p = s->posted;      /* what these post is for the next turn of the loop */

    s->posted = NULL;
    s->posted_last = &s->posted;
    pthread_mutex_unlock(&s->lock);
    while (p != NULL) {
        const posted one = *p;

        free(p);
        one.fn(one.ctx);
        p = one.next;
    }
    if (stop)
        drain(s);
}

/* ---- a server ---------------------------------------------------------------------------------------------------------------- */

static void limits_fill(http_limits *l)
{
    l->head_bytes = l->head_bytes > 0 ? l->head_bytes : 32768;
    l->body_bytes = l->body_bytes > 0 ? l->body_bytes : (size_t)16 << 20;
    l->stream_bytes = l->stream_bytes > 0 ? l->stream_bytes : (size_t)256 << 10;
    l->headers = l->headers > 0 ? l->headers : 100;
    l->connections = l->connections > 0 ? l->connections : 10000;
    l->drain_ms = l->drain_ms > 0 ? l->drain_ms : 10000;
}

http_server *http_new(const http_config *config, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(config->alloc);
    http_server *s = mem_new(&alloc, sizeof *s);

    if (s == NULL) {
        fail(err, PAWL_NOMEM, "server: no memory");
        return NULL;
    }
    s->alloc = alloc;
    s->limits = config->limits;
    limits_fill(&s->limits);
    s->handler = config->handler;
    s->ended = config->ended;
    s->ctx = config->ctx;
    s->tick = on_tick;
    s->posted_last = &s->posted;
    wait_lists_init(&s->waits, &s->limits);
    sm_begin(&server_table, &s->state, SERVER_OPEN, NULL);
    const int rc = uv_loop_init(&s->loop);

    if (rc != 0) {
        fail(err, PAWL_IO, "server: no event loop: %s", uv_strerror(rc));
        mem_free(&alloc, s, sizeof *s);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    uv_timer_init(&s->loop, &s->ticker);        /* these two cannot fail */
    uv_timer_init(&s->loop, &s->drain);
    s->ticker.data = s->drain.data = s->wake.data = s;
    uv_unref((uv_handle_t *)&s->ticker);
    uv_unref((uv_handle_t *)&s->drain);
    if (uv_async_init(&s->loop, &s->wake, on_wake) != 0) {
        fail(err, PAWL_IO, "server: the event loop has no descriptor left");
        uv_close((uv_handle_t *)&s->ticker, NULL);
        uv_close((uv_handle_t *)&s->drain, NULL);
        uv_run(&s->loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->loop);
        pthread_mutex_destroy(&s->lock);
        mem_free(&alloc, s, sizeof *s);
        return NULL;
    }
    return s;
}

void http_run(http_server *s)
{
    pipe_hold pipe;

    pipe_guard(&pipe);          /* a client that is gone is an error of a write, not the end of this process */
    uv_run(&s->loop, UV_RUN_DEFAULT);
    pipe_release(&pipe);
}

void http_free(http_server *s)
{
    if (s == NULL)
        return;
    const pawl_alloc alloc = s->alloc;

    if (s->state != SERVER_CUTTING)
        sm_move(&server_table, &s->state, SERVER_CUTTING, NULL);
    cut_all(s);
    close_sides(s, false);
    uv_close((uv_handle_t *)&s->ticker, NULL);
    uv_close((uv_handle_t *)&s->drain, NULL);
    uv_close((uv_handle_t *)&s->wake, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    PAWL_ASSERT(s->conns == NULL, "the handler has ended every call");
    uv_loop_close(&s->loop);
    for (posted *p = s->posted, *next; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(&alloc, s, sizeof *s);
}

/* ---- connections ------------------------------------------------------------------------------------------------------------------ */

enum { OVER_THE_LIMIT = 64 };   /* connections that get a 503 at a time; more are closed without a reply */

/* Whether one more connection is served. An idle one makes room for it. */
static bool has_room(http_server *s)
{
    wait_place *oldest = wait_first(&s->waits, WAIT_IDLE);

    if (s->counts.connections < s->limits.connections)
        return true;
    if (oldest == NULL)
        return false;
    conn_cut(conn_of_wait(oldest));
    return true;
}

static void admit(conn *c, bool room)
{
    http_server *s = c->s;

    if (s->state != SERVER_OPEN || (!room && s->counts.connections > (size_t)s->limits.connections + OVER_THE_LIMIT))
        conn_cut(c);
    else if (!room)
        conn_refuse(c, 503, "too many connections");
    else
        conn_start(c);
}

static void on_spare_closed(uv_handle_t *h);

/* Accepts a connection for which there is no memory, and closes it: libuv listens again only after an accept. */
static void turn_away(server_side *side)
{
    http_server *s = side->s;
    const bool tcp = side->kind == SIDE_TCP;

    side->pending = s->spare_used;
    if (s->spare_used || (tcp ? uv_tcp_init(&s->loop, &s->spare.tcp) : uv_pipe_init(&s->loop, &s->spare.pipe, 0)) != 0)
        return;
    s->spare_used = true;
    s->spare.handle.data = s;
    uv_accept(&side->io.stream, &s->spare.stream);
    uv_close(&s->spare.handle, on_spare_closed);
}

static void accept_one(server_side *side)
{
    const bool room = has_room(side->s);
    conn *c = conn_new(side->s, side->kind == SIDE_TCP);

    side->pending = false;
    if (c == NULL)
        turn_away(side);
    else if (uv_accept(&side->io.stream, &c->io.stream) != 0)
        conn_cut(c);
    else
        admit(c, room);
}

static void on_spare_closed(uv_handle_t *h)
{
    http_server *s = h->data;

    s->spare_used = false;
    for (server_side *side = s->sides; side != NULL; side = side->next)
        if (side->pending)
            accept_one(side);
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0)
        accept_one(listener->data);
}

/* Whether the socket is one of TCP; false, too: it is no socket. */
static bool socket_family(int fd, int *family)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;

    if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return false;
    *family = at.ss_family;
    return at.ss_family == AF_INET || at.ss_family == AF_INET6 || at.ss_family == AF_UNIX;
}

pawl_code http_adopt(http_server *s, int fd, pawl_err *err)
{
    int family = 0;
    const bool known = socket_family(fd, &family), room = has_room(s);
    conn *c = known ? conn_new(s, family != AF_UNIX) : NULL;
    int rc = 0;

    if (c == NULL) {
        close(fd);
        return known ? fail(err, PAWL_NOMEM, "server: no memory for a connection") : fail(err, PAWL_INVALID, "server: %d is no socket that it can serve", fd);
    }
    rc = family == AF_UNIX ? uv_pipe_open(&c->io.pipe, fd) : uv_tcp_open(&c->io.tcp, fd);
    if (rc != 0) {
        close(fd);
        conn_cut(c);
        return fail(err, PAWL_IO, "server: socket %d: %s", fd, uv_strerror(rc));
    }
    admit(c, room);
    return PAWL_OK;
}

/* ---- listeners ------------------------------------------------------------------------------------------------------------------------ */

static server_side *side_new(http_server *s, side_kind kind, void (*fn)(void *ctx), void *ctx)
{
    server_side *side = mem_new(&s->alloc, sizeof *side);

    if (side != NULL)
        *side = (server_side){ .s = s, .kind = kind, .fn = fn, .ctx = ctx };
    return side;
}

/* After its handle is initialized. */
static void side_add(server_side *side)
{
    side->io.handle.data = side;
    side->next = side->s->sides;
    side->s->sides = side;
}

static pawl_code side_fails(server_side *side, int rc, const char *what, pawl_err *err)
{
    http_server *s = side->s;

    PAWL_ASSERT(s->sides == side, "the newest listener is the first");
    s->sides = side->next;
    uv_close(&side->io.handle, on_side_closed);
    return fail(err, PAWL_IO, "%s: %s", what, uv_strerror(rc));
}

enum { BACKLOG = 511 };

static void port_of(http_server *s, const server_side *side)
{
    struct sockaddr_storage at = { 0 };
    int size = sizeof at;

    if (side->kind == SIDE_TCP && uv_tcp_getsockname(&side->io.tcp, (struct sockaddr *)&at, &size) == 0)
        s->port = ntohs(at.ss_family == AF_INET ? ((const struct sockaddr_in *)&at)->sin_port : ((const struct sockaddr_in6 *)&at)->sin6_port);
}

pawl_code http_listen(http_server *s, const char *address, unsigned port, pawl_err *err)
{
    struct sockaddr_storage at = { 0 };
    char what[96];

    if (port > 65535 || (uv_ip4_addr(address, (int)port, (struct sockaddr_in *)&at) != 0 && uv_ip6_addr(address, (int)port, (struct sockaddr_in6 *)&at) != 0))
        return fail(err, PAWL_INVALID, "%s port %u: not an address of this machine, as 127.0.0.1 or ::1 is", address, port);
    server_side *side = side_new(s, SIDE_TCP, NULL, NULL);

    if (side == NULL)
        return fail(err, PAWL_NOMEM, "server: no memory for a listener");
    snprintf(what, sizeof what, "%.60s port %u", address, port);
    uv_tcp_init(&s->loop, &side->io.tcp);       /* opens nothing, so it cannot fail */
    side_add(side);
    int rc = uv_tcp_bind(&side->io.tcp, (const struct sockaddr *)&at, 0);

    if (rc == 0)
        rc = uv_listen(&side->io.stream, BACKLOG, on_connection);
    if (rc != 0)
        return side_fails(side, rc, what, err);
    port_of(s, side);
    return PAWL_OK;
}

pawl_code http_listen_fd(http_server *s, int fd, pawl_err *err)
{
    int family = 0;
    char what[32];

    snprintf(what, sizeof what, "descriptor %d", fd);
    if (!socket_family(fd, &family)) {
        close(fd);
        return fail(err, PAWL_INVALID, "%s: not a socket to listen on", what);
    }
    server_side *side = side_new(s, family == AF_UNIX ? SIDE_UNIX : SIDE_TCP, NULL, NULL);

    if (side == NULL) {
        close(fd);
        return fail(err, PAWL_NOMEM, "server: no memory for a listener");
    }
    if (family == AF_UNIX)
        uv_pipe_init(&s->loop, &side->io.pipe, 0);
    else
        uv_tcp_init(&s->loop, &side->io.tcp);
    side_add(side);
    int rc = family == AF_UNIX ? uv_pipe_open(&side->io.pipe, fd) : uv_tcp_open(&side->io.tcp, fd);

    if (rc != 0)
        close(fd);
    else
        rc = uv_listen(&side->io.stream, BACKLOG, on_connection);
    if (rc != 0)
        return side_fails(side, rc, what, err);
    port_of(s, side);
    return PAWL_OK;
}

/* Makes room at `path`: a socket of a server that is gone is removed. */
static pawl_code path_is_free(const char *path, const struct sockaddr_un *at, pawl_err *err)
{
    struct stat is;

    if (lstat(path, &is) != 0)
        return errno == ENOENT ? PAWL_OK : fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
    if (!S_ISSOCK(is.st_mode))
        return fail(err, PAWL_INVALID, "%s: a file that is no socket is there; it is not replaced", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
    const bool used = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno != ECONNREFUSED;

    close(fd);
    if (used)
        return fail(err, PAWL_CONFLICT, "%s: another process listens there", path);
    return unlink(path) == 0 ? PAWL_OK : fail(err, PAWL_IO, "%s: %s", path, strerror(errno));
}

pawl_code http_listen_unix(http_server *s, const char *path, mode_t mode, pawl_err *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct stat made;

    if (*path == '\0' || strlen(path) >= sizeof at.sun_path)
        return fail(err, PAWL_INVALID, "%s: the path of a socket has 1 to %zu bytes", path, sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    const pawl_code rc = path_is_free(path, &at, err);

    if (rc != PAWL_OK)
        return rc;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* fchmod() before bind(): Linux makes the file with that mode, so that it is never open to more than `mode` says. */
    if (fd < 0 || fchmod(fd, mode) != 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || lstat(path, &made) != 0) {
        const int why = errno;

        if (fd >= 0)
            close(fd);
        return fail(err, PAWL_IO, "%s: %s", path, strerror(why));
    }
    if (http_listen_fd(s, fd, err) != PAWL_OK) {
        unlink(path);
        return err != NULL ? err->code : PAWL_IO;
    }
    s->sides->path = mem_text(&s->alloc, path);
    s->sides->device = made.st_dev;
    s->sides->inode = made.st_ino;
    if (s->sides->path == NULL) {
        unlink(path);
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    }
    return PAWL_OK;
}

/* ---- timers and descriptors ---------------------------------------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *t)
{
    const server_side *side = t->data;

    side->fn(side->ctx);
}

http_timer *http_timer_new(http_server *s, unsigned ms, void (*fn)(void *ctx), void *ctx)
{
    server_side *side = side_new(s, SIDE_TIMER, fn, ctx);

    if (side == NULL)
        return NULL;
    uv_timer_init(&s->loop, &side->io.timer);
    side_add(side);
    uv_unref(&side->io.handle);
    uv_timer_set_repeat(&side->io.timer, ms);
    return side;
}

void http_timer_set(http_timer *t, bool on)
{
    const uint64_t ms = uv_timer_get_repeat(&t->io.timer);

    if (!on)
        uv_timer_stop(&t->io.timer);
    else if (!uv_is_active(&t->io.handle))
        uv_timer_start(&t->io.timer, on_timer, ms, ms);
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    const server_side *side = p->data;

    (void)events;
    if (status == 0)
        side->fn(side->ctx);
}

bool http_watch(http_server *s, int fd, void (*fn)(void *ctx), void *ctx)
{
    server_side *side = side_new(s, SIDE_WATCH, fn, ctx);

    if (side == NULL)
        return false;
    if (uv_poll_init(&s->loop, &side->io.poll, fd) != 0) {
        mem_free(&s->alloc, side, sizeof *side);
        return false;
    }
    side_add(side);
    uv_unref(&side->io.handle);
    return uv_poll_start(&side->io.poll, UV_READABLE, on_ready) == 0;
}
