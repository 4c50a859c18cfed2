/* fuzz_http.c - bytes of a client, in two pieces: the HTTP server replies or closes, and ends every call once. */
#include "net/http/http.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct trial {
    http_server *s;
    int client;
    const uint8_t *data;
    size_t size;
} trial;

static void handle(void *ctx, http_req *c)
{
    const pawl_bytes body = http_body(c);
    http_frame *f = http_frame_new(NULL, "piece", 5);

    (void)ctx;
    if (http_query(c) == NULL) {
        http_reply(c, 200, (http_field[]){ { "X", http_host(c) } }, 1, body.data, body.size);
    } else {
        http_stream(c, 200, NULL, 0);
        http_put(c, f);
        http_end(c);
    }
    http_frame_drop(f);
}

/* Called between two turns of the loop until the connection has ended. */
static void look(void *ctx)
{
    trial *t = ctx;

    if (t->size > 0) {          /* the second piece, then the end */
        if (send(t->client, t->data, t->size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        }
        t->size = 0;
        shutdown(t->client, SHUT_WR);
    }
    if (http_counted(t->s).connections == 0)
        http_stop(t->s, NULL, NULL);
    else
        http_post(t->s, look, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd[2];
    pawl_err err = { 0 };
    const size_t first = size > 0 ? data[0] % size : 0;
    trial t = { .s = http_new(&(http_config){ .handler = handle, .limits = { .body_bytes = 1000, .head_bytes = 1000, .linger_ms = 1 } }, &err) };

    if (t.s == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return 0;
    t.client = fd[0];
    t.data = data + first;
    t.size = size - first;
    if (send(t.client, data, first, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || t.size == 0)
        shutdown(t.client, SHUT_WR);
    if (http_adopt(t.s, fd[1], &err) == PAWL_OK) {
        http_post(t.s, look, &t);
        http_run(t.s);
    }
    close(t.client);
    http_free(t.s);
    return 0;
}
