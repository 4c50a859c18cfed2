/* serving.c - the server, its handler and the client of serving.h. */
#include "lib/serving.h"

#include "lib/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };   /* after which a test gives up; no test waits that long when all is well */

/* ---- the handler ------------------------------------------------------------------------------------------------ */

static void echo(http_req *c)
{
    const pawl_bytes body = http_body(c);
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s %s?%s %s\n", http_method(c), http_path(c), http_query(c) != NULL ? http_query(c) : "", http_host(c));
    buf_put(&b, body.data, body.size);
    http_reply(c, 200, (http_field[]){ { "Content-Type", "text/plain" } }, 1, b.data, b.size);
    buf_free(&b);
}

static void stream(http_req *c, unsigned n)
{
    char text[32];

    http_stream(c, 200, NULL, 0);
    for (unsigned i = 1; i <= n; i++) {
        http_frame *f = http_frame_new(NULL, text, (size_t)snprintf(text, sizeof text, "frame %u\n", i % 10));

        http_put(c, f);
        http_frame_drop(f);
    }
    http_end(c);
}

typedef struct flood {
    unsigned left;
    http_frame *frame;
} flood;

static void flood_gone(http_req *c, void *data)
{
    flood *f = data;

    http_frame_drop(f->frame);
    free(f);
    http_end(c);
}

static void flood_more(http_req *c, void *data)
{
    flood *f = data;

    while (f->left > 0) {
        f->left--;
        if (http_put(c, f->frame))
            continue;
        if (!http_gone(c)) {
            f->left++;
            http_on_room(c, flood_more);
        }
        return;
    }
    http_set(c, NULL, NULL);
    http_frame_drop(f->frame);
    free(f);
    http_end(c);
}

static void flood_begin(http_req *c, unsigned n)
{
    flood *f = malloc(sizeof *f);
    char *dots = malloc(65536);

    memset(dots, '.', 65536);
    *f = (flood){ n, http_frame_new(NULL, dots, 65536) };
    free(dots);
    http_stream(c, 200, NULL, 0);
    http_set(c, f, flood_gone);
    if (http_gone(c))
        flood_gone(c, f);
    else
        flood_more(c, f);
}

static void held_gone(http_req *c, void *data)
{
    serving *on = data;

    for (size_t i = 0; i < on->nheld; i++)
        if (on->held[i] == c) {
            on->held[i] = on->held[--on->nheld];
            break;
        }
    on->gone++;
    http_end(c);
}

static void hold(serving *on, http_req *c, bool streams)
{
    CHECK(on->nheld < 64);
    if (streams)
        http_stream(c, 200, NULL, 0);
    http_set(c, on, held_gone);
    if (http_gone(c)) {
        held_gone(c, on);
        return;
    }
    on->held[on->nheld++] = c;
    on->holding++;
}

void serving_handle(void *ctx, http_req *c)
{
    serving *on = ctx;
    const char *path = http_path(c), *query = http_query(c);
    const unsigned n = query != NULL ? (unsigned)strtoul(query, NULL, 10) : 0;

    if (strcmp(path, "/echo") == 0 || strcmp(path, "*") == 0)
        echo(c);
    else if (strcmp(path, "/stream") == 0)
        stream(c, n);
    else if (strcmp(path, "/flood") == 0)
        flood_begin(c, n);
    else if (strcmp(path, "/hold") == 0)
        hold(on, c, false);
    else if (strcmp(path, "/ever") == 0)
        hold(on, c, true);
    else if (strcmp(path, "/empty") == 0)
        http_reply(c, 204, NULL, 0, NULL, 0);
    else if (strcmp(path, "/big") == 0) {
        char *body = calloc(1, n + 1);

        http_reply(c, 200, NULL, 0, body, n);
        free(body);
    } else {
        http_reply(c, 404, NULL, 0, "none\n", 5);
    }
    on->handled++;
}

static void release(void *ctx)
{
    serving *on = ctx;

    while (on->nheld > 0) {
        http_req *c = on->held[--on->nheld];

        http_set(c, NULL, NULL);
        if (strcmp(http_path(c), "/ever") == 0)
            http_end(c);
        else
            http_reply(c, 200, NULL, 0, "released", 8);
    }
}

/* ---- the server ---------------------------------------------------------------------------------------------------- */

static void *run(void *ctx)
{
    http_run(ctx);
    return NULL;
}

void serving_run(serving *on) { CHECK_INT(pthread_create(&on->thread, NULL, run, on->s), 0); }

static void make(serving *on, const http_limits *limits)
{
    http_config config = { .handler = serving_handle, .ctx = on };
    pawl_err err = { 0 };

    memset(on, 0, sizeof *on);
    if (limits != NULL)
        config.limits = *limits;
    on->s = http_new(&config, &err);
    CHECK_STR(err.text, "");
}

void serving_begin(serving *on, const http_limits *limits)
{
    pawl_err err = { 0 };

    make(on, limits);
    http_listen(on->s, "127.0.0.1", 0, &err);
    CHECK_STR(err.text, "");
    serving_run(on);
}

void serving_begin_unix(serving *on, const http_limits *limits)
{
    pawl_err err = { 0 };
    static int count;

    make(on, limits);
    snprintf(on->path, sizeof on->path, "/tmp/pawl-serving-%ld-%d.sock", (long)getpid(), ++count);
    http_listen_unix(on->s, on->path, 0600, &err);
    CHECK_STR(err.text, "");
    serving_run(on);
}

void serving_release(serving *on) { CHECK(http_post(on->s, release, on)); }

void serving_end(serving *on)
{
    http_stop(on->s, release, on);
    pthread_join(on->thread, NULL);
    http_free(on->s);
}

/* ---- the client ------------------------------------------------------------------------------------------------------- */

int dial(const serving *on)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)http_port(on->s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    const bool tcp = *on->path == '\0';
    const int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    snprintf(un.sun_path, sizeof un.sun_path, "%s", on->path);
    CHECK_INT(tcp ? connect(fd, (struct sockaddr *)&at, sizeof at) : connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    return fd;
}

void say_bytes(int fd, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t n = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL);

        if (n < 0)
            return;             /* the server refused and closed: hear() tells */
        at += (size_t)n;
    }
}

void say(int fd, const char *text) { say_bytes(fd, text, strlen(text)); }

/* The next bytes; 0: the end of the connection, or an error. */
static size_t next(int fd, char *room, size_t size)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    if (poll(&p, 1, PATIENCE_MS) != 1)
        CHECK_FAIL("the server says nothing");
    const ssize_t n = recv(fd, room, size, 0);

    return n > 0 ? (size_t)n : 0;
}

static bool next_byte(int fd, buf *b)
{
    char c;

    if (next(fd, &c, 1) == 0)
        return false;
    buf_char(b, c);
    return true;
}

static bool next_bytes(int fd, buf *b, size_t size)
{
    while (size > 0) {
        char room[4096];
        const size_t n = next(fd, room, size < sizeof room ? size : sizeof room);

        if (n == 0)
            return false;
        buf_put(b, room, n);
        size -= n;
    }
    return true;
}

static bool next_chunks(int fd, buf *body)
{
    for (;;) {
        buf line;
        bool there = true;

        buf_init(&line, NULL);
        while ((there = next_byte(fd, &line)) && line.data[line.size - 1] != '\n')
            ;
        buf_char(&line, '\0');
        const size_t size = there ? (size_t)strtoul(line.data, NULL, 16) : 0;
        buf end;

        buf_free(&line);
        buf_init(&end, NULL);
        there = there && next_bytes(fd, body, size) && next_bytes(fd, &end, 2) && memcmp(end.data, "\r\n", 2) == 0;
        buf_free(&end);
        if (!there || size == 0)
            return there;
    }
}

heard hear(int fd)
{
    heard h = { 0 };
    buf head, body;

    buf_init(&head, NULL);
    buf_init(&body, NULL);
    while ((head.size < 4 || memcmp(head.data + head.size - 4, "\r\n\r\n", 4) != 0) && next_byte(fd, &head))
        ;
    buf_char(&head, '\0');
    sscanf(head.data, "HTTP/1.1 %u", &h.status);
    const char *length = strstr(head.data, "Content-Length: ");

    if (h.status == 0 || h.status == 100 || h.status == 204 || h.status == 304)
        h.whole = h.status != 0;
    else if (length != NULL)
        h.whole = next_bytes(fd, &body, strtoul(length + 16, NULL, 10));
    else if (strstr(head.data, "Transfer-Encoding: chunked") != NULL)
        h.whole = next_chunks(fd, &body);
    else
        for (h.whole = true; next_byte(fd, &body);)
            ;
    buf_char(&body, '\0');
    h.head = head.data;
    h.body = body.data;
    h.size = body.size - 1;
    return h;
}

void heard_free(heard *h)
{
    free(h->head);
    free(h->body);
}

bool hears_the_end(int fd)
{
    char c;

    return next(fd, &c, 1) == 0;
}

static void count(void *ctx)
{
    serving *on = ctx;

    on->counts = http_counted(on->s);
    on->counted++;
}

http_counts serving_counts(serving *on)
{
    const int before = on->counted;

    CHECK(http_post(on->s, count, on));
    until(&on->counted, before + 1);
    return on->counts;
}

void nap_us(long us) { nanosleep(&(struct timespec){ 0, us * 1000 }, NULL); }

void until(atomic_int *what, int at_least)
{
    for (int i = 0; atomic_load(what) < at_least; i++) {
        if (i == PATIENCE_MS)
            CHECK_FAIL("%d of %d", atomic_load(what), at_least);
        nap_us(1000);
    }
}
