/* wire.c - a turn of an agent whose model answers over HTTP from this process, in 200 pieces of text, beside the bare transfer of them. */
#include "bench.h"
#include "net/net.h"
#include "pawl/agent.h"
#include "pawl/llm.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DELTAS = 200, ROUND_TURNS = 40 };

/* ---- the far end ----------------------------------------------------------------------------------------- */

enum { PIECES = DELTAS + 5, PIECE_BYTES = 256 };

typedef struct server {
    int fd;
    pthread_t thread;
    char url[64];
    bool burst;                 /* it sends the whole answer at once; else each piece as it comes, in a chunk of its own, as a model does */
    char pieces[PIECES][PIECE_BYTES];
} server;

static void piece_put(server *s, int i, const char *event)
{
    const size_t n = strlen(event);

    snprintf(s->pieces[i], PIECE_BYTES, "%zx\r\n%s\r\n", n, event);
}

static void pieces_make(server *s)
{
    char event[PIECE_BYTES - 16];
    int n = 0;

    piece_put(s, n++, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
                      "\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n");
    piece_put(s, n++, "event: content_block_start\n"
                      "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    for (int i = 0; i < DELTAS; i++) {
        snprintf(event, sizeof event, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                 "\"delta\":{\"type\":\"text_delta\",\"text\":\"piece %d of it, \"}}\n\n", i);
        piece_put(s, n++, event);
    }
    piece_put(s, n++, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
    piece_put(s, n++, "event: message_delta\n"
                      "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":400}}\n\n");
    piece_put(s, n++, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

/* Names of headers are told in any case. */
static const char *header(const char *text, const char *name)
{
    for (; *text != '\0'; text++)
        if (strncasecmp(text, name, strlen(name)) == 0)
            return text + strlen(name);
    return NULL;
}

/* One request, whatever it asks; false: the connection is closed. */
static bool request_read(int c, char *buffer, size_t room)
{
    size_t n = 0, due = 0;
    const char *end = NULL, *length;
    ssize_t got;

    while (end == NULL || n < due) {
        if (n + 1 >= room || (got = recv(c, buffer + n, room - n - 1, 0)) <= 0)
            return false;
        n += (size_t)got;
        buffer[n] = '\0';
        if (end == NULL && (end = strstr(buffer, "\r\n\r\n")) != NULL) {
            length = header(buffer, "content-length:");
            due = (size_t)(end + 4 - buffer) + (length != NULL ? strtoul(length, NULL, 10) : 0);
        }
    }
    return true;
}

static bool all_send(int c, const char *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        const ssize_t n = send(c, data + sent, size - sent, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

static bool answer_send(int c, const server *s)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", end[] = "0\r\n\r\n";
    char all[sizeof head + PIECES * PIECE_BYTES + sizeof end];
    size_t n = (size_t)snprintf(all, sizeof all, "%s", head);
    bool good = true;

    for (int i = 0; i < PIECES && good; i++) {
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", s->pieces[i], i + 1 == PIECES ? end : "");
        if (!s->burst) {
            good = all_send(c, all, n);
            n = 0;
        }
    }
    return good && all_send(c, all, n);
}

static void *serve(void *arg)
{
    const server *s = arg;
    const size_t room = 4 << 20;
    char *buffer = malloc(room);
    int c;

    while (buffer != NULL && (c = accept(s->fd, NULL, NULL)) >= 0) {
        (void)setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        while (request_read(c, buffer, room) && answer_send(c, s))
            continue;
        close(c);
    }
    free(buffer);
    return NULL;
}

static bool server_begin(server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof at;

    pieces_make(s);
    if ((s->fd = socket(AF_INET, SOCK_STREAM, 0)) < 0 || bind(s->fd, (struct sockaddr *)&at, size) != 0 || listen(s->fd, 8) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &size) != 0 || pthread_create(&s->thread, NULL, serve, s) != 0)
        return bench_wrong("a server", NULL);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
    return true;
}

static void server_end(server *s)
{
    net_forget();               /* the connection that was kept ends, and with it what is served on it */
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* ---- the two ------------------------------------------------------------------------------------------------ */

static const char *setting(void *ctx, const char *name)
{
    const server *s = ctx;

    return strcmp(name, "ANTHROPIC_BASE_URL") == 0 ? s->url : strcmp(name, "ANTHROPIC_API_KEY") == 0 ? "none" : NULL;
}

static bool bare_turn(const server *s)
{
    static const char body[] = "{\"max_tokens\":4096,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"model\":\"m\",\"stream\":true}";
    const char *headers[] = { "content-type: application/json", NULL };
    char url[128];
    net_request q = { .method = "POST", .headers = headers, .body = body, .body_size = sizeof body - 1, .response_bytes = 1 << 20,
                      .until_ms = INT64_MAX };
    net_answer a;
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;

    snprintf(url, sizeof url, "%s/v1/messages", s->url);
    q.url = url;
    net_answer_init(&a, NULL);
    rc = net_fetch(&q, &a, &err);
    rc = rc == PAWL_OK && a.status == 200 && a.body.size > 10000 ? PAWL_OK : PAWL_EFFECT;
    net_answer_free(&a);
    return rc == PAWL_OK || bench_wrong("a bare transfer", &err);
}

/* A new agent each, so that all turns are first ones; begun before the clock is. */
static bool agent_turn(pawl_engine *e, const char *id)
{
    const pawl_event input = { .kind = PAWL_EV_SIGNAL, .name = "input", .value = "\"hello\"" };
    pawl_err err = { PAWL_OK, "" };
    const pawl_code rc = pawl_event_send(e, id, &input, &err);
    const char *text = rc == PAWL_INTERRUPTED ? pawl_run_get(e, id, "output") : "";

    return strlen(text) > 2000 || bench_wrong("a turn", &err);
}

static bool rounds(pawl_engine *e, const server *s, reading *out)
{
    double took = 0, base = 0, from;
    bool good = true;

    for (int i = 0; i < ROUND_TURNS && good; i++) {
        char id[32];

        snprintf(id, sizeof id, "turn-%d", i);
        good = pawl_begin(e, id, NULL, NULL) == PAWL_OK && pawl_run(e, id, NULL, NULL) == PAWL_INTERRUPTED;
        from = bench_ns();
        good = good && agent_turn(e, id);
        took += bench_ns() - from;
        from = bench_ns();
        good = good && bare_turn(s);
        base += bench_ns() - from;
    }
    out->value = took / base;
    out->base = 1;
    return good;
}

static bool turn_measure(reading *out, bool burst)
{
    static server s;
    const pawl_agent a = { .name = "helper", .version = 1, .model = "anthropic/m", .system = "You help." };
    const pawl_llm llm = { .setting = setting, .setting_ctx = &s };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = NULL;
    disk d;
    bool good;

    s.burst = burst;
    good = server_begin(&s) && disk_begin(&d, true);

    if (!good)
        return false;
    e = disk_engine(&d, pawl_agent_machine(&a, NULL, &err));
    good = e != NULL && pawl_engine_effect(e, "llm", pawl_effect_llm, (void *)(uintptr_t)&llm, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK && bare_turn(&s) &&
           rounds(e, &s, out);
    pawl_engine_free(e);
    server_end(&s);
    disk_end(&d);
    return good || bench_wrong("an agent", &err);
}

static bool turn_ratio(reading *out) { return turn_measure(out, false); }
static bool turn_burst(reading *out) { return turn_measure(out, true); }

const figure wire_figures[] = {
    { "agent.turn_ratio", "x", "the bare transfer of its answer", 1.5, false, 5, turn_ratio },
    { "agent.turn_burst", "x", "the same, sent in one piece", 0, false, 5, turn_burst },
    { NULL, NULL, NULL, 0, false, 0, NULL },
};
