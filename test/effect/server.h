/* server.h - an HTTP server of one thread that answers as badly as it is asked to, on a port of 127.0.0.1. Connections are kept open,
 * unless what it was asked for says otherwise. */
#ifndef TEST_EFFECT_SERVER_H
#define TEST_EFFECT_SERVER_H

#include "lib/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_BYTES_MAX = 4 << 20, CONNECTIONS_MAX = 64 };

typedef struct server {
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    unsigned requests, connections, closed;
    char *last;                 /* request, head and body; ends in NUL */
} server;

static inline bool send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static inline bool send_text(int fd, const char *text)
{
    return send_all(fd, text, strlen(text));
}

static inline void send_body(int fd, const char *head, const char *body, size_t size)
{
    char text[512];

    snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n", head, size);
    if (send_text(fd, text))
        send_all(fd, body, size);
}

static inline void until_closed(int fd)
{
    char bytes[4096];

    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        continue;
}

/* A whole request into `room`; its size, 0: the client has gone. */
static inline size_t receive(int fd, char *room)
{
    size_t n = 0, body = 0;
    char *end = NULL, *length;

    while (end == NULL || n < (size_t)(end + 4 - room) + body) {
        ssize_t got = n < REQUEST_BYTES_MAX - 1 ? recv(fd, room + n, REQUEST_BYTES_MAX - 1 - n, 0) : 0;

        if (got <= 0 || (n == 0 && room[0] == 0x16))     /* TLS, which is not spoken here */
            return 0;
        n += (size_t)got;
        room[n] = '\0';
        if (end == NULL && (end = strstr(room, "\r\n\r\n")) != NULL && (length = strstr(room, "\r\nContent-Length: ")) != NULL &&
            length < end)
            body = strtoul(length + 18, NULL, 10);
    }
    return n;
}

static inline void redirect(int fd, int status, const char *location)
{
    char text[2048];

    snprintf(text, sizeof text, "HTTP/1.1 %d Look There\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, location);
    send_text(fd, text);
}

static inline void deep(int fd, int levels)
{
    char text[1024];

    memset(text, '[', (size_t)levels);
    memset(text + levels, ']', (size_t)levels);
    send_body(fd, "Content-Type: application/json\r\n", text, (size_t)levels * 2);
}

/* Answers that are fixed: path, and all bytes of it; and whether that is the end of the connection. */
static const struct { const char *path, *answer; bool ends; } fixed[] = {
    { "/ok", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello", false },
    { "/json", "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 12\r\n\r\n{\"a\":[1,2]}\n", false },
    { "/problem", "HTTP/1.1 404 No\r\nContent-Type: application/problem+json\r\nContent-Length: 9\r\n\r\n{\"no\":[]}", false },
    { "/json-bad", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"a\":", false },
    { "/json-twice", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"a\":1,\"a\":2}", false },
    { "/text-that-is-json", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", false },
    { "/bytes", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", false },
    { "/empty", "HTTP/1.1 204 No Content\r\n\r\n", false },
    { "/429", "HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nslow down", false },
    { "/503", "HTTP/1.1 503 Later\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n"
              "Content-Length: 0\r\n\r\n", false },
    { "/500", "HTTP/1.1 500 Oh\r\nRetry-After: soon\r\nContent-Length: 2\r\n\r\n\xff!", false },
    { "/403", "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", false },
    { "/302", "HTTP/1.1 302 Nowhere\r\nContent-Length: 0\r\n\r\n", false },
    { "/half", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true },
    { "/unmeasured", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", true },
    { "/lies", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nno", true },
    { "/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n", false },
    { "/chunk-bad", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc", true },
    { "/continue", "HTTP/1.1 100 Continue\r\nEarly: 1\r\n\r\nHTTP/1.1 103 Hints\r\nEarly: 2\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false },
    { "/heads", "HTTP/1.1 200 OK\r\nX-Two: one\r\nx-two: two\r\nSet-Cookie: a=1, b\r\nSet-Cookie: c=2\r\nX-Latin: caf\xe9\r\n"
                "X-Utf8: caf\xc3\xa9\r\n: no name\r\nbad name: x\r\nX-Empty:\r\nX-Blank:   padded \t \r\n"
                "X-Quote: \"q\"\\\r\nContent-Length: 0\r\n\r\n", false },
    { "/no-colon", "HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 0\r\n\r\n", false },
    { "/garbage", "\x16\x03\x01 this is no HTTP at all\r\n\r\n", true },
    { "/page", "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=ISO-8859-1\r\nContent-Length: 11\r\n\r\n<p>Caf\xe9</p>", false },
    { "/pdf", "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 4\r\n\r\n%PDF", false },
    { "/nothing", "", true },
};

static inline void endless(int fd, const char *head, const char *line)
{
    bool on = send_text(fd, head);

    while (on)
        on = send_text(fd, line);
}

/* False: the connection is to be closed. */
static inline bool answer(int fd, const char *request)
{
    char path[1024] = "", location[64];
    const char *rest;
    int n = 0;

    sscanf(request, "%*s %1023s", path);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(path, fixed[i].path) == 0) {
            send_text(fd, fixed[i].answer);
            return !fixed[i].ends;
        }
    if (strcmp(path, "/echo") == 0)
        send_body(fd, "Content-Type: text/plain\r\n", request, strlen(request));
    else if (strcmp(path, "/silent") == 0)
        until_closed(fd);
    else if (strcmp(path, "/huge") == 0)
        endless(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
    else if (strcmp(path, "/huge-text") == 0)
        endless(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n", "x\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
    else if (strcmp(path, "/heads-huge") == 0)
        endless(fd, "HTTP/1.1 200 OK\r\n", "X-Head: of no end, of no end, of no end, of no end, of no end\r\n");
    else if (strcmp(path, "/head-long") == 0)
        endless(fd, "HTTP/1.1 200 OK\r\nX-Long: ", "of no end, of no end, of no end, ");
    else if (strcmp(path, "/loop") == 0)
        redirect(fd, 302, "/loop");
    else if (sscanf(path, "/deep/%d", &n) == 1)
        deep(fd, n);
    else if (sscanf(path, "/again/%d", &n) == 1 && n > 0) {
        snprintf(location, sizeof location, "/again/%d", n - 1);
        redirect(fd, 302, location);
    } else if (sscanf(path, "/to/%d", &n) == 1 && (rest = strchr(path, '?')) != NULL)
        redirect(fd, n, rest + 1);
    else
        send_body(fd, "", "", 0);
    return strcmp(path, "/silent") != 0 && strstr(path, "huge") == NULL && strstr(path, "long") == NULL;
}

/* One request; false: the connection is over. */
static inline bool serve_one(server *s, int fd, char *room)
{
    size_t n = receive(fd, room);

    if (n == 0)
        return false;
    pthread_mutex_lock(&s->lock);
    free(s->last);
    s->last = malloc(n + 1);
    if (s->last != NULL)
        memcpy(s->last, room, n + 1);
    s->requests++;
    pthread_mutex_unlock(&s->lock);
    return answer(fd, room);
}

/* Closed on this side; what still comes is read until the client has gone, too. */
static inline void end_one(server *s, int fd)
{
    shutdown(fd, SHUT_WR);
    pthread_mutex_lock(&s->lock);
    s->closed++;
    pthread_mutex_unlock(&s->lock);
}

static inline bool has_gone(int fd)
{
    char bytes[4096];

    return recv(fd, bytes, sizeof bytes, 0) <= 0;
}

static inline void *serve(void *arg)
{
    server *s = arg;
    char *room = malloc(REQUEST_BYTES_MAX);
    struct pollfd all[1 + CONNECTIONS_MAX] = { { .fd = s->fd, .events = POLLIN } };
    bool ended[1 + CONNECTIONS_MAX] = { false };
    nfds_t n = 1;
    int fd;

    while (room != NULL && poll(all, n, -1) > 0) {
        for (nfds_t i = n - 1; i > 0; i--) {
            if (all[i].revents == 0)
                continue;
            if (ended[i] && has_gone(all[i].fd)) {
                close(all[i].fd);
                all[i] = all[--n];
                ended[i] = ended[n];
            } else if (!ended[i] && !serve_one(s, all[i].fd, room)) {
                ended[i] = true;
                end_one(s, all[i].fd);
            }
        }
        if (all[0].revents == 0)
            continue;
        if (n > CONNECTIONS_MAX || (fd = accept(s->fd, NULL, NULL)) < 0)
            break;
        ended[n] = false;
        all[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
        pthread_mutex_lock(&s->lock);
        s->connections++;
        pthread_mutex_unlock(&s->lock);
    }
    while (n > 1)
        close(all[--n].fd);
    free(room);
    return NULL;
}

static inline void server_start(server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;

    *s = (server){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    pthread_mutex_init(&s->lock, NULL);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(s->fd, 16) == 0);
    CHECK_INT(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&s->thread, NULL, serve, s), 0);
}

static inline void server_stop(server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    free(s->last);
    pthread_mutex_destroy(&s->lock);
}

static inline unsigned count_of(server *s, const unsigned *what)
{
    unsigned n;

    pthread_mutex_lock(&s->lock);
    n = *what;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* Until it has closed `n` connections on its side. */
static inline void server_closes(server *s, unsigned n)
{
    struct timespec nap = { .tv_nsec = 1000000 };

    for (int i = 0; i < 10000 && count_of(s, &s->closed) < n; i++)
        nanosleep(&nap, NULL);
    CHECK(count_of(s, &s->closed) >= n);
}

static inline unsigned asked_of(server *s)
{
    return count_of(s, &s->requests);
}

#endif
