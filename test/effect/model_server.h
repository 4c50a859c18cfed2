/* model_server.h - a model's API as far as its wire goes: it answers each request with the next of the scripts that it was given, in pieces
 * of any size, and keeps what it was sent. */
#ifndef TEST_EFFECT_MODEL_SERVER_H
#define TEST_EFFECT_MODEL_SERVER_H

#include "effect/server.h"

#include <netinet/tcp.h>

enum { MODEL_SCRIPTS_MAX = 32 };

typedef enum model_end {
    MODEL_WHOLE,                /* chunked, with the last chunk */
    MODEL_TORN,                 /* chunked, and the connection closes without it */
    MODEL_CLOSES,               /* of no length: its end is the connection's */
    MODEL_HANGS                 /* says no more, and stays */
} model_end;

typedef struct model_script {
    int status;                 /* 0: 200 */
    const char *head;           /* more lines of it, each with CRLF; NULL: text/event-stream */
    const char *body;
    size_t size;                /* of it; 0: to its NUL */
    size_t piece;               /* bytes of a chunk; 0: all in one */
    model_end end;
} model_script;

typedef struct model_server {
    int fd, port;
    pthread_t thread;
    pthread_mutex_t lock;
    model_script scripts[MODEL_SCRIPTS_MAX];
    size_t nscripts, at;        /* the last one answers all that follow */
    char *last;                 /* request */
    char *sent[MODEL_SCRIPTS_MAX];      /* the first of them */
    size_t requests;
} model_server;

static inline bool model_chunks(int fd, const model_script *s, size_t size)
{
    const size_t piece = s->piece > 0 ? s->piece : size;
    char *out = malloc(size + (size / (piece > 0 ? piece : 1) + 2) * 32), *p = out;

    if (out == NULL)
        return false;
    for (size_t at = 0; at < size; at += piece) {
        const size_t n = size - at < piece ? size - at : piece;

        p += snprintf(p, 24, "%zx\r\n", n);
        memcpy(p, s->body + at, n);
        p += n;
        memcpy(p, "\r\n", 2);
        p += 2;
    }
    if (s->end == MODEL_WHOLE) {
        memcpy(p, "0\r\n\r\n", 5);
        p += 5;
    }
    const bool sent = send_all(fd, out, (size_t)(p - out));
    free(out);
    return sent;
}

/* False: the connection is to be closed. */
static inline bool model_answer(int fd, const model_script *s)
{
    const size_t size = s->size > 0 ? s->size : strlen(s->body);
    char head[2048];

    snprintf(head, sizeof head, "HTTP/1.1 %d Status\r\n%s%s\r\n", s->status != 0 ? s->status : 200,
             s->head != NULL ? s->head : "Content-Type: text/event-stream\r\n",
             s->end == MODEL_CLOSES ? "Connection: close\r\n" : "Transfer-Encoding: chunked\r\n");
    if (!send_text(fd, head))
        return false;
    if (s->end == MODEL_CLOSES) {
        send_all(fd, s->body, size);
        return false;
    }
    if (!model_chunks(fd, s, size))
        return false;
    if (s->end == MODEL_HANGS)
        until_closed(fd);
    return s->end == MODEL_WHOLE;
}

static inline bool model_next(model_server *s, const char *request, size_t n, model_script *out)
{
    bool there;

    pthread_mutex_lock(&s->lock);
    free(s->last);
    s->last = malloc(n + 1);
    if (s->last != NULL)
        memcpy(s->last, request, n + 1);
    if (s->requests < MODEL_SCRIPTS_MAX && (s->sent[s->requests] = malloc(n + 1)) != NULL)
        memcpy(s->sent[s->requests], request, n + 1);
    s->requests++;
    there = s->nscripts > 0;
    if (there)
        *out = s->scripts[s->at];
    if (s->at + 1 < s->nscripts)
        s->at++;
    pthread_mutex_unlock(&s->lock);
    return there;
}

/* One connection after the other: a client has one. */
static inline void *model_serve(void *arg)
{
    model_server *s = arg;
    char *room = malloc(REQUEST_BYTES_MAX);
    model_script script;
    int fd;

    while (room != NULL && (fd = accept(s->fd, NULL, NULL)) >= 0) {
        const int on = 1;
        size_t n;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        while ((n = receive(fd, room)) > 0 && model_next(s, room, n, &script) && model_answer(fd, &script))
            continue;
        shutdown(fd, SHUT_WR);
        until_closed(fd);
        close(fd);
    }
    free(room);
    return NULL;
}

static inline void model_server_start(model_server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;

    *s = (model_server){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    pthread_mutex_init(&s->lock, NULL);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(s->fd, 16) == 0);
    CHECK_INT(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&s->thread, NULL, model_serve, s), 0);
}

/* Only when no connection is kept: net_forget() goes before. */
static inline void model_server_stop(model_server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    free(s->last);
    for (size_t i = 0; i < MODEL_SCRIPTS_MAX; i++)
        free(s->sent[i]);
    pthread_mutex_destroy(&s->lock);
}

/* What it answers from now on. */
static inline void model_says(model_server *s, const model_script *scripts, size_t n)
{
    pthread_mutex_lock(&s->lock);
    memcpy(s->scripts, scripts, n * sizeof *scripts);
    s->nscripts = n;
    s->at = 0;
    pthread_mutex_unlock(&s->lock);
}

/* The last request, head and body; free() it. */
static inline char *model_heard(model_server *s)
{
    char *out;

    pthread_mutex_lock(&s->lock);
    out = check_copy(s->last != NULL ? s->last : "", s->last != NULL ? strlen(s->last) : 0);
    pthread_mutex_unlock(&s->lock);
    return out;
}

#endif
