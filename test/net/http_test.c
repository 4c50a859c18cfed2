/* http_test.c - the HTTP server: what it accepts and refuses, its limits and waits, streams, the stop (N4, N6). */
#include "lib/check.h"
#include "lib/heap.h"
#include "lib/serving.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST "Host: a\r\n"

static void expect(int fd, unsigned status, const char *body)
{
    heard h = hear(fd);

    CHECK_INT(h.status, status);
    CHECK(h.whole);
    if (body != NULL)
        CHECK_STR(h.body, body);
    heard_free(&h);
}

static void until_alone(serving *on)
{
    for (int i = 0; serving_counts(on).connections > 0; i++) {
        CHECK(i < 20000);
        nap_us(1000);
    }
}

/* One request on a connection of its own; its status, 0 if the connection closed without a word. */
static unsigned status_of(const serving *on, const char *request, size_t size)
{
    const int fd = dial(on);

    say_bytes(fd, request, size);
    shutdown(fd, SHUT_WR);
    heard h = hear(fd);
    const unsigned status = h.status;

    heard_free(&h);
    close(fd);
    return status;
}

PAWL_TEST(test_requests_and_replies)
{
    serving on;

    serving_begin(&on, NULL);
    const int fd = dial(&on);

    say(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 200, "GET /echo? a\n");
    say(fd, "POST /echo?x=1&y HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    expect(fd, 200, "POST /echo?x=1&y a\nhello");
    say(fd, "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: t\r\n\r\n");
    expect(fd, 200, "POST /echo? a\nhello");
    say(fd, "\r\nGET http://elsewhere:80/echo?q HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 200, "GET /echo?q elsewhere:80\n");
    say(fd, "GET http://elsewhere HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 404, NULL);
    say(fd, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 200, "OPTIONS *? a\n");
    say(fd, "GET /empty HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 204, "");
    say(fd, "GET /nothing HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    expect(fd, 404, "none\n");
    CHECK(hears_the_end(fd));
    close(fd);
    serving_end(&on);
}

PAWL_TEST(test_head_and_http_1_0)
{
    serving on;
    heard h;

    serving_begin(&on, NULL);
    int fd = dial(&on);

    say(fd, "HEAD /big?1000 HTTP/1.1\r\n" HOST "\r\nGET /empty HTTP/1.1\r\n" HOST "\r\n");
    char room[2048];
    size_t n = 0;

    while (n < sizeof room - 1) {
        const ssize_t more = recv(fd, room + n, sizeof room - 1 - n, 0);

        CHECK(more > 0);
        n += (size_t)more;
        room[n] = '\0';
        if (strstr(room, "204 No Content") != NULL && n >= 4 && strcmp(room + n - 4, "\r\n\r\n") == 0)
            break;
    }
    CHECK(strstr(strstr(room, "204 No Content"), "Transfer-Encoding") == NULL);       /* there is no body to be encoded */
    CHECK(strstr(room, "Content-Length: 1000\r\n") != NULL);
    CHECK(strstr(room, "\r\n\r\nHTTP/1.1 204") != NULL);        /* no body between the two heads */
    close(fd);

    fd = dial(&on);
    say(fd, "GET /stream?3 HTTP/1.0\r\n\r\n");
    h = hear(fd);
    CHECK_STR(h.body, "frame 1\nframe 2\nframe 3\n");
    CHECK(strstr(h.head, "chunked") == NULL && strstr(h.head, "Connection: close") != NULL);
    heard_free(&h);
    close(fd);

    fd = dial(&on);
    say(fd, "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect(fd, 200, "GET /echo? \n");
    say(fd, "GET /echo HTTP/1.0\r\n\r\n");
    expect(fd, 200, "GET /echo? \n");
    CHECK(hears_the_end(fd));
    close(fd);
    serving_end(&on);
}

/* What two readers could read in two ways is refused (request smuggling, RFC 9112); 0: any status from 400 on, or a close. */
static const struct {
    const char *request;
    unsigned status;
} wrong[] = {
    { "GET /echo HTTP/1.1\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
    { "GET /echo HTTP/2.0\r\n" HOST "\r\n", 505 },
    { "GET /echo HTTP/0.9\r\n\r\n", 505 },
    { "GET /echo HTTP/1.2\r\n" HOST "\r\n", 505 },
    { "GET /echo\r\n\r\n", 0 },
    { "GET echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http:///echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET http://a@b/echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET ftp://b/echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET /echo#part HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n", 501 },
    { "NOSUCH /echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "get /echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { " GET /echo HTTP/1.1\r\n" HOST "\r\n", 400 },
    { "GET /echo HTTP/1.1\n" "Host: a\n\n", 0 },
    { "GET /echo HTTP/1.1\r" "Host: a\r\r", 400 },
    { "GET /echo HTTP/1.1\r\nHost : a\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n Host: a\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X: a\x01\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X: a\x7f\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X y: a\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST ": a\r\n\r\n", 400 },
    { "GET /echo HTTP/1.1\r\n" HOST "X\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5 5\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\nhello", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 0 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n", 0 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding:\x0b" "chunked\r\n\r\n0\r\n\r\n", 0 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 0 },
    { "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\na\r\n0\r\n\r\n", 400 },
    { "POST /echo HTTP/1.1\r\n" HOST "Expect: miracles\r\nContent-Length: 1\r\n\r\na", 417 },
    { "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0 },     /* the begin of TLS */
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0 },
};

PAWL_TEST(test_N4_what_could_mean_two_things_is_refused)
{
    serving on;

    serving_begin(&on, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const int handled = on.handled;
        const unsigned status = status_of(&on, wrong[i].request, strlen(wrong[i].request));

        if (wrong[i].status != 0 ? status != wrong[i].status : status != 0 && status < 400)
            CHECK_FAIL("%s: %u", wrong[i].request, status);
        CHECK_INT(on.handled, handled);
    }
    /* Upgrades are not served: such a request is an ordinary one. */
    static const char upgrade[] = "GET /echo HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

    CHECK_INT(status_of(&on, upgrade, strlen(upgrade)), 200);
    serving_end(&on);
}

/* A body that holds a request is a body, however it arrives. */
PAWL_TEST(test_N4_pieces_of_any_size)
{
    static const char request[] =
        "POST /echo HTTP/1.1\r\n" HOST "Cookie: a\r\nCookie: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        "1b\r\nGET /inner HTTP/1.1\r\nA: b\r\n\r\n0\r\n\r\n"
        "POST /echo?2 HTTP/1.1\r\nContent-Length: 2\r\n" HOST "\r\nok";
    serving on;

    serving_begin(&on, NULL);
    for (size_t split = 0; split <= sizeof request - 1; split++) {
        const int fd = dial(&on);

        say_bytes(fd, request, split);
        if (split % 3 == 0)
            nap_us(200);        /* now and then the pieces arrive apart; both ways must give the same */
        say_bytes(fd, request + split, sizeof request - 1 - split);
        expect(fd, 200, "POST /echo? a\nGET /inner HTTP/1.1\r\nA: b\r\n");
        expect(fd, 200, "POST /echo?2 a\nok");
        close(fd);
    }
    const int fd = dial(&on);

    for (size_t i = 0; i < sizeof request - 1; i++)
        say_bytes(fd, request + i, 1);
    expect(fd, 200, NULL);
    expect(fd, 200, "POST /echo?2 a\nok");
    close(fd);
    CHECK_INT(serving_counts(&on).refused, 0);
    serving_end(&on);
}

PAWL_TEST(test_requests_sent_ahead)
{
    serving on;
    buf all;

    serving_begin(&on, NULL);
    const int fd = dial(&on);

    buf_init(&all, NULL);
    for (int i = 0; i < 3000; i++)      /* more than is read ahead */
        buf_fmt(&all, i == 10 ? "GET /hold?%d HTTP/1.1\r\n" HOST "\r\n" : "GET /echo?%d HTTP/1.1\r\n" HOST "\r\n", i);
    say_bytes(fd, all.data, all.size);
    buf_free(&all);
    until(&on.holding, 1);
    serving_release(&on);
    for (int i = 0; i < 3000; i++) {
        char body[64];

        snprintf(body, sizeof body, "GET /echo?%d a\n", i);
        expect(fd, 200, i == 10 ? "released" : body);
    }
    shutdown(fd, SHUT_WR);
    CHECK(hears_the_end(fd));
    close(fd);
    serving_end(&on);
}

PAWL_TEST(test_N4_sizes_have_limits)
{
    const http_limits limits = { .head_bytes = 600, .body_bytes = 100, .headers = 10 };
    serving on;
    buf b;

    serving_begin(&on, &limits);
    buf_init(&b, NULL);
    for (int kind = 0; kind < 7; kind++) {
        static const unsigned expected[] = { 414, 431, 431, 413, 413, 200, 0 };

        buf_reset(&b);
        buf_text(&b, kind < 3 ? "GET /echo?" : "POST /echo?");
        for (int i = 0; kind == 0 && i < 700; i++)
            buf_char(&b, 'x');
        buf_text(&b, " HTTP/1.1\r\n" HOST);
        for (int i = 0; kind == 1 && i < 12; i++)
            buf_text(&b, "X: y\r\n");
        for (int i = 0; kind == 2 && i < 700; i++)
            buf_text(&b, i == 0 ? "X: y" : "y");
        buf_fmt(&b, kind == 3 ? "Content-Length: 101\r\n" : kind == 5 ? "Content-Length: 100\r\n" : kind >= 4 ? "Transfer-Encoding: chunked\r\n" : "\r\n");
        buf_text(&b, "\r\n");
        for (int i = 0; kind >= 4 && i < (kind == 5 ? 100 : 101); i++)
            buf_text(&b, kind == 4 ? "1\r\nx\r\n" : kind == 5 ? "x" : "");
        buf_text(&b, kind == 6 ? "0\r\n" : "");
        for (int i = 0; kind == 6 && i < 100; i++)
            buf_text(&b, "Trailer: 12345678\r\n");
        const unsigned status = status_of(&on, b.data, b.size);

        if (kind == 6 ? status != 431 : status != expected[kind])
            CHECK_FAIL("%d: %u", kind, status);
    }
    buf_free(&b);
    serving_end(&on);
}

PAWL_TEST(test_N4_waits_have_limits)
{
    const http_limits limits = { .head_ms = 300, .body_ms = 300, .idle_ms = 300, .write_ms = 300, .linger_ms = 300 };
    serving on;

    serving_begin(&on, &limits);
    const int idle = dial(&on), head = dial(&on), body = dial(&on), deaf = dial(&on), dripping = dial(&on);

    say(head, "GET /echo HTTP/1.1\r\nHo");
    say(body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhel");
    say(deaf, "GET /flood?2000 HTTP/1.1\r\n" HOST "\r\n");      /* reads nothing of 128 MB */
    for (int i = 0; i < 40; i++) {      /* a byte now and then does not prolong the time of a head */
        say(dripping, i == 0 ? "GET /" : "x");
        nap_us(20000);
    }
    expect(head, 408, NULL);
    CHECK(hears_the_end(head));
    expect(body, 408, NULL);
    expect(dripping, 408, NULL);
    CHECK(hears_the_end(idle));
    until_alone(&on);
    close(idle), close(head), close(body), close(deaf), close(dripping);
    serving_end(&on);
}

PAWL_TEST(test_N4_connections_have_a_limit)
{
    const http_limits limits = { .connections = 4 };
    serving on;
    int fd[6];

    serving_begin(&on, &limits);
    for (int i = 0; i < 4; i++) {
        fd[i] = dial(&on);
        say(fd[i], i == 0 ? "GET /echo HTTP/1.1\r\n" HOST "\r\n" : "GET /hold HTTP/1.1\r\n" HOST "\r\n");
        if (i == 0)
            expect(fd[i], 200, NULL);
        else
            until(&on.holding, i);
    }
    fd[4] = dial(&on);          /* the one that waits for a request makes room */
    say(fd[4], "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    CHECK(hears_the_end(fd[0]));
    until(&on.holding, 4);
    fd[5] = dial(&on);          /* nobody can */
    expect(fd[5], 503, NULL);
    serving_release(&on);
    for (int i = 1; i < 5; i++)
        expect(fd[i], 200, "released");
    for (int i = 0; i < 6; i++)
        close(fd[i]);
    serving_end(&on);
}

enum { MANY = 10000, MANY_APART = 200 };

/* The other ends of `n` connections, in a process of its own since each process has its own limit of descriptors: each is served once, and then idle until
 * the pipe `until` is closed. One byte to `ready` says that all are. */
static pid_t many_clients(const serving *on, int n, int ready, const int until[2])
{
    static const char request[] = "GET /empty HTTP/1.1\r\n" HOST "\r\n";
    const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)http_port(on->s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const pid_t child = fork();
    char room[1024];

    if (child != 0)
        return child;
    close(until[1]);
    for (int i = 0; i < n; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 || write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1 ||
            read(fd, room, sizeof room) <= 0)
            _exit(1);
    }
    _exit(write(ready, "x", 1) == 1 && read(until[0], room, 1) == 0 ? 0 : 1);
}

PAWL_TEST(test_N4_ten_thousand_idle_connections_hold_back_nobody)
{
    struct rlimit files;
    int ready[2], until_closed[2], n, status;
    http_limits limits = { .idle_ms = 600000 };
    serving on;
    char byte;

    CHECK_INT(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &files), 0);
    n = files.rlim_cur >= MANY + MANY_APART ? MANY : (int)files.rlim_cur - MANY_APART;
    CHECK(n >= 500);
    limits.connections = (unsigned)n + 10;
    serving_begin(&on, &limits);
    CHECK(pipe(ready) == 0 && pipe(until_closed) == 0);
    const pid_t child = many_clients(&on, n, ready[1], until_closed);

    CHECK(child > 0);
    close(ready[1]);
    CHECK_INT(read(ready[0], &byte, 1), 1);
    http_counts counts = serving_counts(&on);

    CHECK_INT(counts.connections, n);
    CHECK_INT(counts.waiting, n);
    CHECK_INT(counts.refused, 0);
    for (int i = 0; i < 100; i++) {     /* somebody else is served as ever */
        const int fd = dial(&on);

        say(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nok");
        expect(fd, 200, "POST /echo? a\nok");
        close(fd);
    }
    CHECK(serving_counts(&on).waiting >= (size_t)n);    /* nobody was sent away for it */
    close(until_closed[0]);
    close(until_closed[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(ready[0]);
    until_alone(&on);
    serving_end(&on);
}

PAWL_TEST(test_streams_and_slow_readers)
{
    serving on;
    buf frames;

    serving_begin(&on, NULL);
    const int fd = dial(&on), slow = dial(&on);

    buf_init(&frames, NULL);
    for (int i = 1; i <= 1000; i++)
        buf_fmt(&frames, "frame %d\n", i % 10);
    buf_char(&frames, '\0');
    say(slow, "GET /flood?400 HTTP/1.1\r\n" HOST "\r\n");
    for (int i = 0; i < 20; i++) {      /* a reader that does not read holds back nobody (N3) */
        say(fd, "GET /stream?1000 HTTP/1.1\r\n" HOST "\r\n");
        expect(fd, 200, frames.data);
    }
    buf_free(&frames);
    heard h = hear(slow);

    CHECK_INT(h.size, 400 * 65536);
    CHECK(h.whole);
    heard_free(&h);
    say(slow, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect(slow, 200, NULL);
    close(fd), close(slow);
    serving_end(&on);
}

PAWL_TEST(test_clients_that_leave)
{
    serving on;

    serving_begin(&on, NULL);
    for (int i = 0; i < 20; i++) {
        const int fd = dial(&on);

        say(fd, i % 2 == 0 ? "GET /hold HTTP/1.1\r\n" HOST "\r\n" : "GET /ever HTTP/1.1\r\n" HOST "\r\n");
        until(&on.holding, i + 1);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger)); /* a reset; a close may still read (half-closed) */
        close(fd);
        until(&on.gone, i + 1);
    }
    const int flood = dial(&on);

    say(flood, "GET /flood?1000 HTTP/1.1\r\n" HOST "\r\n");
    until(&on.handled, 21);
    close(flood);
    until_alone(&on);
    serving_end(&on);
}

/* Who closes its side after asking gets every reply. */
PAWL_TEST(test_half_closed)
{
    serving on;

    serving_begin(&on, NULL);
    const int fd = dial(&on);

    say(fd, "GET /hold HTTP/1.1\r\n" HOST "\r\nGET /big?3000000 HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\nGET /ec");
    shutdown(fd, SHUT_WR);
    until(&on.holding, 1);
    serving_release(&on);
    expect(fd, 200, "released");
    heard h = hear(fd);

    CHECK_INT(h.size, 3000000);
    heard_free(&h);
    expect(fd, 200, "GET /echo? a\n");
    CHECK(hears_the_end(fd));
    close(fd);
    serving_end(&on);
}

PAWL_TEST(test_continue)
{
    serving on;

    serving_begin(&on, NULL);
    const int fd = dial(&on);

    say(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    expect(fd, 100, NULL);
    say(fd, "ok");
    expect(fd, 200, "POST /echo? a\nok");
    say(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
    expect(fd, 200, "POST /echo? a\nok");
    close(fd);
    serving_end(&on);
}

PAWL_TEST(test_N6_a_stop_drains)
{
    serving on;

    serving_begin(&on, NULL);
    const int held = dial(&on), streamed = dial(&on), idle = dial(&on), half = dial(&on);

    say(held, "GET /hold HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    say(streamed, "GET /ever HTTP/1.1\r\n" HOST "\r\n");
    until(&on.holding, 2);
    say(half, "GET /echo HTTP/1.1\r\n");
    say(idle, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect(idle, 200, NULL);
    http_stop(on.s, NULL, NULL);
    CHECK(hears_the_end(idle));
    say(half, HOST "\r\n");             /* what had begun is finished */
    heard h = hear(half);

    CHECK_INT(h.status, 200);
    CHECK(strstr(h.head, "Connection: close") != NULL);
    heard_free(&h);
    serving_release(&on);
    expect(held, 200, "released");
    CHECK(hears_the_end(held));         /* and the next one is not begun */
    heard s = hear(streamed);

    CHECK(s.status == 200 && s.whole);
    heard_free(&s);
    pthread_join(on.thread, NULL);
    CHECK_INT(http_counted(on.s).connections, 0);
    http_free(on.s);
    close(held), close(streamed), close(idle), close(half);
}

PAWL_TEST(test_N6_the_drain_has_an_end)
{
    const http_limits limits = { .drain_ms = 200 };
    serving on;

    serving_begin(&on, &limits);
    const int held = dial(&on), half = dial(&on);

    say(held, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    say(half, "GET /echo HTTP/1.1\r\n");
    until(&on.holding, 1);
    http_stop(on.s, NULL, NULL);
    pthread_join(on.thread, NULL);
    CHECK_INT(on.gone, 1);
    CHECK(hears_the_end(held));
    CHECK(hears_the_end(half));
    http_free(on.s);
    close(held), close(half);
}

PAWL_TEST(test_unix_sockets)
{
    serving on;
    struct stat at;
    pawl_err err = { 0 };

    serving_begin_unix(&on, NULL);
    CHECK_INT(lstat(on.path, &at), 0);
    CHECK_INT(at.st_mode & 0777, 0600);
    const int fd = dial(&on);

    say(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 200, "GET /echo? a\n");
    close(fd);

    serving other;      /* a second server does not take the socket of a live one */
    char path[108];

    memcpy(path, on.path, sizeof path);
    memset(&other, 0, sizeof other);
    other.s = http_new(&(http_config){ .limits = { 0 } }, &err);
    CHECK_INT(http_listen_unix(other.s, path, 0600, &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "another process listens there") != NULL);
    http_free(other.s);
    CHECK_INT(lstat(path, &at), 0);
    serving_end(&on);
    CHECK_INT(lstat(path, &at), -1);

    err = (pawl_err){ 0 };      /* nor does it replace a file */
    FILE *f = fopen(path, "w");

    fclose(f);
    other.s = http_new(&(http_config){ .limits = { 0 } }, &err);
    CHECK_INT(http_listen_unix(other.s, path, 0600, &err), PAWL_INVALID);
    unlink(path);

    err = (pawl_err){ 0 };      /* but what a killed one left behind */
    const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    struct { unsigned short family; char path[108]; } un = { AF_UNIX, "" };

    memcpy(un.path, path, sizeof un.path);
    CHECK_INT(bind(dead, (const struct sockaddr *)(const void *)&un, sizeof un), 0);
    close(dead);
    CHECK_INT(http_listen_unix(other.s, path, 0600, &err), PAWL_OK);
    http_free(other.s);
    CHECK_INT(lstat(path, &at), -1);
}

PAWL_TEST(test_addresses)
{
    pawl_err err = { 0 };
    http_server *s = http_new(&(http_config){ .limits = { 0 } }, &err);

    CHECK_INT(http_listen(s, "localhost", 0, &err), PAWL_INVALID);
    err = (pawl_err){ 0 };
    CHECK_INT(http_listen(s, "127.0.0.1", 65536, &err), PAWL_INVALID);
    err = (pawl_err){ 0 };
    CHECK_INT(http_listen(s, "127.0.0.1", 0, &err), PAWL_OK);
    const unsigned port = http_port(s);

    CHECK_INT(http_listen(s, "127.0.0.1", port, &err), PAWL_IO);
    CHECK(strstr(err.text, "address already in use") != NULL);
    err = (pawl_err){ 0 };
    CHECK_INT(http_listen_fd(s, -1, &err), PAWL_INVALID);
    http_free(s);
}

/* Bytes of any kind, cut anywhere: a reply or a close, and the next client is served. */
PAWL_TEST(test_N4_random_bytes)
{
    static const char *const seeds[] = {
        "POST /echo?x HTTP/1.1\r\n" HOST "Content-Length: 12\r\nX-A: b\r\n\r\nhello, world",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET /stream?3 HTTP/1.1\r\n" HOST "\r\n",
        "GET http://b/echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\nHEAD /big?10 HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n",
    };
    const int rounds = check_run_all() ? 20000 : 1500;
    serving on;
    char bytes[512];

    serving_begin(&on, NULL);
    for (int i = 0; i < rounds; i++) {
        const char *seed = seeds[check_rand() % 3];
        size_t size = strlen(seed);

        memcpy(bytes, seed, size);
        for (uint64_t n = check_rand() % 4; n > 0; n--)
            bytes[check_rand() % size] = (char)check_rand();
        size -= check_rand() % 4 == 0 ? check_rand() % size : 0;
        const int fd = dial(&on);

        say_bytes(fd, bytes, size);
        shutdown(fd, SHUT_WR);
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            ;
        close(fd);
    }
    const int fd = dial(&on);

    say(fd, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    expect(fd, 200, "GET /echo? a\n");
    close(fd);
    serving_end(&on);
}

/* Every allocation of the server fails once: a reply, or a closed connection; nothing leaks. */
PAWL_TEST(test_every_allocation_may_fail)
{
    static const char request[] =
        "POST /echo HTTP/1.1\r\n" HOST "X: 1\r\nX: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        "GET /stream?9 HTTP/1.1\r\n" HOST "\r\nGET http://b HTTP/1.1\r\n" HOST "\r\nBAD";
    heap h;

    heap_init(&h);
    for (size_t n = 0;; n++) {
        pawl_alloc alloc = heap_alloc(&h);
        pawl_err err = { 0 };
        serving on = { .path = "" };

        heap_fail_at(&h, n);
        on.s = http_new(&(http_config){ .alloc = &alloc, .handler = serving_handle, .ctx = &on }, &err);
        if (on.s == NULL) {
            CHECK_INT(err.code, PAWL_NOMEM);
            heap_check(&h);
            continue;
        }
        if (http_listen(on.s, "127.0.0.1", 0, &err) != PAWL_OK) {
            CHECK_INT(err.code, PAWL_NOMEM);
            http_free(on.s);
            heap_check(&h);
            continue;
        }
        serving_run(&on);
        int served = 0;

        for (int i = 0; i < 2; i++) {   /* one failure costs one client at most */
            const int fd = dial(&on);

            say_bytes(fd, request, sizeof request - 1);
            shutdown(fd, SHUT_WR);
            heard r = hear(fd);

            while (!hears_the_end(fd))
                ;
            served += r.status == 200 ? 1 : 0;
            heard_free(&r);
            close(fd);
        }
        http_stop(on.s, NULL, NULL);
        pthread_join(on.thread, NULL);
        http_free(on.s);
        heap_check(&h);
        CHECK(served >= (h.fired ? 1 : 2));
        if (!h.fired)
            break;
    }
}
