/* egress_test.c - the way from the sandbox to the hosts that rules allow. */
#define _GNU_SOURCE
#include "effect/egress.h"
#include "effect/sandbox.h"
#include "effect/tooling.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

/* ---- what is read ------------------------------------------------------------------------------------------- */

static bool head(const char *text, egress_head *h)
{
    CHECK_INT(egress_head_size(text, strlen(text)), strlen(text));
    return egress_head_read(text, strlen(text), h);
}

PAWL_TEST(test_P13_a_request_to_the_proxy_is_read)
{
    static const char *const none[] = {
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n", "CONNECT a:0 HTTP/1.1\r\n\r\n", "CONNECT a:70000 HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n", "CONNECT a:4x HTTP/1.1\r\n\r\n", "CONNECT [::1:443 HTTP/1.1\r\n\r\n", "CONNECT x@a:443 HTTP/1.1\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n", "GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a/ FTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n", " \r\n\r\n", "GET http://a/\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n",
        "\x16GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost\x01: b\r\n\r\n",
    };
    egress_head h;
    buf b;

    CHECK(head("CONNECT Example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", &h) && h.connect);
    CHECK_STR(h.host, "Example.com");
    CHECK_INT(h.port, 443);
    CHECK(head("CONNECT [::1]:8443 HTTP/1.1\r\n\r\n", &h));
    CHECK_STR(h.host, "[::1]");
    CHECK_INT(h.port, 8443);
    CHECK(head("GET http://a.b:81/x?y=1 HTTP/1.1\r\nHost: A.b:81\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\nX: y\r\n\r\n", &h) && !h.connect);
    CHECK_STR(h.host, "a.b");
    CHECK_INT(h.port, 81);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(!head(none[i], &h));
    CHECK_INT(egress_head_size("GET x\r\n", 7), 0);
    CHECK(head("POST http://a?q HTTP/1.1\r\nHost: a\r\nProxy-Authorization: x\r\nContent-Length: 2\r\n\r\n", &h));
    buf_init(&b, NULL);
    egress_head_put(&b, "POST http://a?q HTTP/1.1\r\nHost: a\r\nProxy-Authorization: x\r\nContent-Length: 2\r\n\r\n", 82, &h);
    buf_char(&b, '\0');
    CHECK(strncmp(b.data, "POST /", 6) == 0);
    buf_free(&b);
}

/* A ClientHello with one server name. */
static size_t hello(unsigned char out[600], const char *name)
{
    const size_t n = strlen(name), list = n + 3, ext = list + 2, all = ext + 4, body = 2 + 32 + 1 + 4 + 2 + 2 + all;
    unsigned char *p = out;

    memset(out, 0, 600);
    *p++ = 0x16, *p++ = 3, *p++ = 1, *p++ = (unsigned char)((body + 4) >> 8), *p++ = (unsigned char)(body + 4);
    *p++ = 1, *p++ = 0, *p++ = (unsigned char)(body >> 8), *p++ = (unsigned char)body;
    *p++ = 3, *p++ = 3;
    p += 32;
    *p++ = 0;
    *p++ = 0, *p++ = 2, *p++ = 0x13, *p++ = 1;
    *p++ = 1, *p++ = 0;
    *p++ = (unsigned char)(all >> 8), *p++ = (unsigned char)all;
    *p++ = 0, *p++ = 0, *p++ = (unsigned char)(ext >> 8), *p++ = (unsigned char)ext;
    *p++ = (unsigned char)(list >> 8), *p++ = (unsigned char)list;
    *p++ = 0, *p++ = (unsigned char)(n >> 8), *p++ = (unsigned char)n;
    memcpy(p, name, n);
    return (size_t)(p - out) + n;
}

PAWL_TEST(test_P13_a_tunnel_is_of_the_host_that_it_was_asked_for)
{
    unsigned char h[600];
    size_t n = hello(h, "a.example"), m;

    CHECK_INT(egress_first_read((char *)h, n, "A.example."), EGRESS_FITS);
    CHECK_INT(egress_first_read((char *)h, n, "b.example"), EGRESS_OTHER);
    for (size_t i = 1; i < n; i++)
        CHECK_INT(egress_first_read((char *)h, i, "a.example"), EGRESS_PENDING);
    for (size_t i = 5; i < n; i++)              /* changed bytes are read without harm */
        for (unsigned char bit = 1; bit != 0; bit = (unsigned char)(bit << 1)) {
            h[i] ^= bit;
            (void)egress_first_read((char *)h, n, "a.example");
            h[i] ^= bit;
        }
    m = hello(h, "");
    CHECK_INT(egress_first_read((char *)h, m, "a.example"), EGRESS_OTHER);
    CHECK_INT(egress_first_read((char *)h, m, "127.0.0.1"), EGRESS_FITS);
    CHECK_INT(egress_first_read("SSH-2.0-x\r\n", 11, "a.example"), EGRESS_PENDING);
    CHECK_INT(egress_first_read("\x01\x02", 2, "a.example"), EGRESS_OTHER);
    CHECK_INT(egress_first_read("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 35, "a.example"), EGRESS_FITS);
    CHECK_INT(egress_first_read("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", 35, "a.example"), EGRESS_OTHER);
}

/* ---- from the sandbox -------------------------------------------------------------------------------------------- */

/* `visits` and `text`: under the lock. */
typedef struct server { int fd; unsigned port, visits; char text[4096]; pthread_t thread; pthread_mutex_t lock; } server;

static void *server_run(void *arg)
{
    static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
    server *s = arg;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        char text[sizeof s->text] = "";
        const ssize_t n = recv(fd, text, sizeof text - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        pthread_mutex_lock(&s->lock);
        memcpy(s->text, text, sizeof text);
        s->visits++;
        pthread_mutex_unlock(&s->lock);
        (void)!send(fd, reply, sizeof reply - 1, MSG_NOSIGNAL);
        close(fd);
    }
    return NULL;
}

static void server_begin(server *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;

    *s = (server){ .visits = 0 };
    pthread_mutex_init(&s->lock, NULL);
    CHECK((s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
    CHECK_INT(bind(s->fd, (const struct sockaddr *)&at, sizeof at), 0);
    CHECK_INT(listen(s->fd, 16), 0);
    CHECK_INT(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static unsigned visits(server *s, char text[4096])
{
    unsigned n;

    pthread_mutex_lock(&s->lock);
    n = s->visits;
    memcpy(text, s->text, sizeof s->text);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void server_end(server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    pthread_mutex_destroy(&s->lock);
}

static pawl_policy *rules(const char *text)
{
    char json[400];
    pawl_err err = {0};
    pawl_policy *p;

    snprintf(json, sizeof json, "{\"cwd\":\"/\",%s}", text);
    if ((p = pawl_policy_read(NULL, json, strlen(json), &err)) == NULL)
        CHECK_FAIL("rules: %s", err.text);
    return p;
}

/* The command sends `request` to the proxy, and prints what comes. */
static void asks(kit *k, const char *request)
{
    char text[1200];

    snprintf(text, sizeof text, "{\"command\":\"exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:} && printf '%s' >&3 && cat <&3\"}", request);
    CHECK_INT(use(k, "bash", text), PAWL_OK);
}

PAWL_TEST(test_P13_a_rule_opens_the_way_to_one_host_and_port)
{
    char text[200], request[300], got[4096];
    pawl_policy *p;
    server s, other;
    kit k;

    if (sandbox_try(SANDBOX_WORKSPACE, NULL) != SANDBOX_WORKS)
        check_skip("no sandbox can be made here");
    server_begin(&s);
    server_begin(&other);
    kit_open(&k);
    snprintf(text, sizeof text, "\"allow\":[\"Network(127.0.0.1:%u)\",\"Network(*:%u)\"]", s.port, other.port);
    p = rules(text);
    k.h.job.policy = p;
    snprintf(request, sizeof request, "GET http://127.0.0.1:%u/x HTTP/1.1\\\\r\\\\nHost: 127.0.0.1:%u\\\\r\\\\n\\\\r\\\\n", s.port, s.port);
    asks(&k, request);
    CHECK(strstr(content(&k), "hello\n") != NULL);
    CHECK_INT(visits(&s, got), 1);
    CHECK(strncmp(got, "GET /x HTTP/1.1\r\n", 17) == 0 && strstr(got, "\r\nConnection: close\r\n\r\n") != NULL);
    snprintf(request, sizeof request, "CONNECT 127.0.0.1:%u HTTP/1.1\\\\r\\\\n\\\\r\\\\nGET /y HTTP/1.1\\\\r\\\\nHost: 127.0.0.1\\\\r\\\\n\\\\r\\\\n", s.port);
    asks(&k, request);
    CHECK(strstr(content(&k), "200 Connection established") != NULL && strstr(content(&k), "hello\n") != NULL);
    CHECK_INT(visits(&s, got), 2);
    /* another name inside of the tunnel, a pattern for a private address, another port */
    snprintf(request, sizeof request, "CONNECT 127.0.0.1:%u HTTP/1.1\\\\r\\\\n\\\\r\\\\nGET /y HTTP/1.1\\\\r\\\\nHost: other\\\\r\\\\n\\\\r\\\\n", s.port);
    asks(&k, request);
    CHECK(strstr(content(&k), "hello") == NULL);
    CHECK_STR(visits(&s, got) >= 3 ? got : "", "");     /* it may have been connected to, but it got nothing */
    snprintf(request, sizeof request, "GET http://127.0.0.1:%u/ HTTP/1.1\\\\r\\\\nHost: 127.0.0.1:%u\\\\r\\\\n\\\\r\\\\n", other.port, other.port);
    asks(&k, request);
    CHECK(strstr(content(&k), "has to name it") != NULL);
    asks(&k, "CONNECT 127.0.0.1:1 HTTP/1.1\\\\r\\\\n\\\\r\\\\n");
    CHECK(strstr(content(&k), "no rule lets a command connect to it: allow Network(HOST:PORT)") != NULL);
    CHECK_INT(visits(&other, got), 0);
    /* past the proxy there is no way, and without a rule no proxy */
    snprintf(text, sizeof text, "{\"command\":\"exec 3<>/dev/tcp/127.0.0.1/%u\"}", s.port);
    CHECK_INT(use(&k, "bash", text), PAWL_OK);
    CHECK(is_error(&k));
    k.h.job.policy = NULL;
    GIVES(&k, "bash", "{\"command\":\"echo ${http_proxy-none}\"}", "none\n");
    pawl_policy_free(p);
    kit_close(&k);
    server_end(&s);
    server_end(&other);
}

PAWL_TEST(test_P13_network_rules)
{
    static const struct { const char *rules, *host; unsigned port; bool allowed, named; } all[] = {
        { "\"allow\":[\"Network(a.b:443)\"]", "a.b", 443, true, true }, { "\"allow\":[\"Network(a.b:443)\"]", "A.B.", 443, true, true },
        { "\"allow\":[\"Network(a.b:443)\"]", "a.b", 80, false, false }, { "\"allow\":[\"Network(a.b:443)\"]", "x.a.b", 443, false, false },
        { "\"allow\":[\"Network(*.a.b:443)\"]", "x.a.b", 443, true, false }, { "\"allow\":[\"Network(*.a.b:443)\"]", "a.b", 443, false, false },
        { "\"allow\":[\"Network(a.b:*)\"]", "a.b", 9, true, true }, { "\"allow\":[\"Network\"]", "c", 1, true, false },
        { "\"allow\":[\"Network\"],\"deny\":[\"Network(c:1)\"]", "c", 1, false, false },
        { "\"allow\":[\"Network\"],\"ask\":[\"Network(*:1)\"]", "c", 1, false, false },
        { "\"allow\":[\"Network\"],\"deny\":[\"Network\"]", "c", 1, false, false }, { "\"allow\":[\"WebFetch(domain:c)\"]", "c", 443, false, false },
    };
    static const char *const bad[] = { "Network(a)", "Network(a:0)", "Network(a:70000)", "Network(:1)", "Network(a b:1)", "Network(a:1x)", "network(a:1)" };
    pawl_err err = {0};
    char json[200];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pawl_policy *p = rules(all[i].rules);
        bool named = false;

        CHECK_INT(pawl_policy_network(p, all[i].host, (uint16_t)all[i].port, 0, &named), all[i].allowed);
        CHECK_INT(all[i].allowed && named, all[i].named);
        pawl_policy_free(p);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(json, sizeof json, "{\"cwd\":\"/\",\"allow\":[\"%s\"]}", bad[i]);
        CHECK(pawl_policy_read(NULL, json, strlen(json), &err) == NULL);
    }
}
