/* serving.h - a server of net/http on a thread of its own, and a client that writes and reads raw bytes, for tests.
 *
 * The server's handler knows a few paths:
 *     /echo            200, "METHOD PATH?QUERY HOST" and the body, each on a line
 *     /stream?N        N frames of 8 bytes ("frame 1\n" ...), as a stream
 *     /flood?N         N frames of 64 KB of '.', waiting for room whenever the reader is slow
 *     /hold            kept until serving_release(); then 200 "released"
 *     /ever            a stream that begins and does not end before serving_release()
 *     /empty           204
 *     /big?N           200, a body of N bytes
 * Anything else is 404. */
#ifndef TEST_LIB_SERVING_H
#define TEST_LIB_SERVING_H

#include "net/http/http.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct serving {
    http_server *s;
    pthread_t thread;
    http_req *held[64];
    size_t nheld;
    atomic_int holding, gone, handled, counted;
    http_counts counts;
    char path[108];             /* of the unix socket; "": TCP */
} serving;

void serving_begin(serving *on, const http_limits *limits);     /* on 127.0.0.1; NULL: defaults */
void serving_begin_unix(serving *on, const http_limits *limits);
void serving_handle(void *ctx, http_req *c);  /* the handler; `ctx`: the serving */
void serving_run(serving *on);          /* the thread, for a server that the test made */
void serving_release(serving *on);      /* ends what is held */
void serving_end(serving *on);          /* stops, waits for the end of the drain, frees */

int dial(const serving *on);            /* a connected socket */
void say(int fd, const char *text);
void say_bytes(int fd, const void *data, size_t size);

typedef struct heard {
    unsigned status;
    char *head, *body;          /* end in NUL */
    size_t size;                /* of the body, without chunks */
    bool whole;                 /* it ended as it should */
} heard;
heard hear(int fd);                     /* one reply; status 0: the connection closed before it */
void heard_free(heard *h);
bool hears_the_end(int fd);             /* the server closes the connection, and sends nothing more */
http_counts serving_counts(serving *on);
void nap_us(long us);
void until(atomic_int *what, int at_least);

#endif
