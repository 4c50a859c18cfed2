/* serve.c - the server of the program that lies beside this one: requests, streams, memory, start. The client is this process; what it is measured
 * against is a bare echo of libuv and llhttp in a process of its own, as the server is. */
#define _GNU_SOURCE             /* pipe2 */
#include "bench.h"

#ifdef BENCH_SERVES

#include <arpa/inet.h>
#include <fcntl.h>
#include <llhttp.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

enum { CONNECTIONS = 32, REQUESTS = 20000, READERS = 10000, FILES_APART = 200, STARTS = 11, REPLY_BYTES = 16384 };

static const char secret[] = "0123456789abcdef0123456789abcdef";

/* ---- a server ------------------------------------------------------------------------------------------------ */

typedef struct far_end {
    pid_t pid;
    unsigned port;
    double start_ns;            /* until it listened */
} far_end;

static void far_stop(far_end *f)
{
    if (f->pid > 0) {
        kill(f->pid, SIGTERM);
        kill(f->pid, SIGTERM);  /* it ends at once */
        waitpid(f->pid, NULL, 0);
    }
    f->pid = 0;
}

static bool program(char out[4096])
{
    ssize_t n = readlink("/proc/self/exe", out, 4000);
    char *slash;

    if (n <= 0)
        return bench_wrong("where this program lies", NULL);
    out[n] = '\0';
    if ((slash = strrchr(out, '/')) == NULL)
        return false;
    memcpy(slash + 1, "pawl", 5);
    return access(out, X_OK) == 0 || bench_wrong("there is no program pawl beside pawl_bench", NULL);
}

/* Its first line says where it serves. */
static bool port_said(int fd, far_end *f)
{
    char line[4096];
    size_t n = 0;
    const char *colon;
    ssize_t got;

    while (n < sizeof line - 1 && (got = read(fd, line + n, 1)) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    f->start_ns = bench_ns() - f->start_ns;
    colon = strrchr(line, ':');
    f->port = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    return f->port != 0 || bench_wrong(line, NULL);
}

static bool far_pawl(far_end *f, const disk *d)
{
    char path[4096], store[128];
    int said[2];

    *f = (far_end){ .pid = 0 };
    snprintf(store, sizeof store, "sqlite:%s", d->store);
    if (!program(path) || pipe2(said, O_CLOEXEC) != 0)
        return false;
    f->start_ns = bench_ns();
    if ((f->pid = fork()) == 0) {
        setenv("PAWL_TOKEN", secret, 1);
        dup2(said[1], STDERR_FILENO);
        execl(path, "pawl", "serve", "--listen", "127.0.0.1:0", "--store", store, (char *)NULL);
        _exit(127);
    }
    close(said[1]);
    const bool good = f->pid > 0 && port_said(said[0], f);

    if (!good)
        far_stop(f);
    return good;                /* the pipe stays open: the server notes what it does there */
}

/* ---- the echo -------------------------------------------------------------------------------------------------- */

typedef struct echo_conn { uv_tcp_t tcp; llhttp_t parser; char room[4096]; } echo_conn;
static llhttp_settings_t echo_settings;
static const char echo_reply[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"machines\":[]}\n";

static void echo_written(uv_write_t *w, int status)
{
    (void)status;
    free(w);
}

static int echo_complete(llhttp_t *p)
{
    echo_conn *c = p->data;
    uv_write_t *w = malloc(sizeof *w);
    uv_buf_t out = uv_buf_init((char *)(uintptr_t)echo_reply, sizeof echo_reply - 1);

    return w == NULL ? -1 : uv_write(w, (uv_stream_t *)&c->tcp, &out, 1, echo_written);
}

static void echo_room(uv_handle_t *h, size_t size, uv_buf_t *out)
{
    echo_conn *c = h->data;

    (void)size;
    *out = uv_buf_init(c->room, sizeof c->room);
}

static void echo_closed(uv_handle_t *h) { free(h->data); }

static void echo_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    echo_conn *c = s->data;

    if (n < 0 || (n > 0 && llhttp_execute(&c->parser, b->base, (size_t)n) != HPE_OK))
        uv_close((uv_handle_t *)s, echo_closed);
}

static void echo_accept(uv_stream_t *listener, int status)
{
    echo_conn *c = status == 0 ? calloc(1, sizeof *c) : NULL;

    if (c == NULL)
        return;
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    llhttp_init(&c->parser, HTTP_REQUEST, &echo_settings);
    c->parser.data = c;
    uv_accept(listener, (uv_stream_t *)&c->tcp);
    uv_read_start((uv_stream_t *)&c->tcp, echo_room, echo_read);
}

static void echo_serve(int say)
{
    struct sockaddr_in at;
    int size = sizeof at;
    uv_tcp_t listener;
    uv_loop_t loop;

    llhttp_settings_init(&echo_settings);
    echo_settings.on_message_complete = echo_complete;
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &at);
    uv_tcp_bind(&listener, (const struct sockaddr *)&at, 0);
    uv_listen((uv_stream_t *)&listener, 511, echo_accept);
    uv_tcp_getsockname(&listener, (struct sockaddr *)&at, &size);
    dprintf(say, "echo:%u\n", (unsigned)ntohs(at.sin_port));
    uv_run(&loop, UV_RUN_DEFAULT);
}

static bool far_echo(far_end *f)
{
    int said[2];

    *f = (far_end){ .pid = 0 };
    if (pipe2(said, O_CLOEXEC) != 0)
        return false;
    f->start_ns = bench_ns();
    if ((f->pid = fork()) == 0) {
        echo_serve(said[1]);
        _exit(1);
    }
    close(said[1]);
    const bool good = f->pid > 0 && port_said(said[0], f);

    close(said[0]);
    return good;
}

/* ---- a client ----------------------------------------------------------------------------------------------------- */

typedef struct client { int epoll, fds[CONNECTIONS]; size_t due, left[CONNECTIONS]; double sent_ns[CONNECTIONS]; } client;
static char request[512];

static int dial(unsigned port)
{
    const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static bool ask(int fd) { return send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request); }

/* The size of a reply; each has it. */
static size_t reply_size(int fd)
{
    char room[REPLY_BYTES];
    const char *end, *length;
    size_t n = 0;
    ssize_t got;

    if (!ask(fd))
        return 0;
    while (n < sizeof room - 1 && (got = recv(fd, room + n, sizeof room - 1 - n, 0)) > 0) {
        n += (size_t)got;
        room[n] = '\0';
        end = strstr(room, "\r\n\r\n");
        length = strstr(room, "Content-Length: ");
        if (end != NULL && length != NULL && n >= (size_t)(end + 4 - room) + strtoul(length + 16, NULL, 10))
            return strncmp(room, "HTTP/1.1 200", 12) == 0 ? n : 0;
    }
    return 0;
}

static void client_close(client *c)
{
    for (int i = 0; i < CONNECTIONS; i++)
        if (c->fds[i] >= 0)
            close(c->fds[i]);
    close(c->epoll);
}

static bool client_open(client *c, unsigned port)
{
    bool good = true;

    *c = (client){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
    snprintf(request, sizeof request, "GET /v1/machines HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n", port, secret);
    for (int i = 0; i < CONNECTIONS; i++) {
        struct epoll_event ev = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

        c->fds[i] = dial(port);
        good = good && c->fds[i] >= 0 && (c->due = reply_size(c->fds[i])) > 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fds[i], &ev) == 0;
    }
    return good || bench_wrong("the client of a server", NULL);
}

/* Reads what has come, and stores the time of each whole reply in `took` (NULL: not wanted). `again`: each asks anew. Replies; below 0: an error. */
static int replies(client *c, int wait_ms, bool again, double *took)
{
    struct epoll_event evs[CONNECTIONS];
    const int n = epoll_wait(c->epoll, evs, CONNECTIONS, wait_ms);
    char room[REPLY_BYTES];
    int whole = 0;

    for (int k = 0; k < n; k++) {
        const uint32_t i = evs[k].data.u32;
        const ssize_t got = recv(c->fds[i], room, sizeof room, 0);

        if (got <= 0 || (size_t)got > c->left[i])
            return -1;
        if ((c->left[i] -= (size_t)got) > 0)
            continue;
        if (took != NULL)
            took[whole] = bench_ns() - c->sent_ns[i];
        whole++;
        if (again) {
            c->left[i] = c->due;
            if (!ask(c->fds[i]))
                return -1;
        }
    }
    return whole;
}

/* Requests in a second, each connection with one under way. */
static double rate(unsigned port)
{
    client c;
    const bool good = client_open(&c, port);
    const double begun = bench_ns();
    int done = 0, n = 0;

    for (int i = 0; i < CONNECTIONS && good; i++) {
        c.left[i] = c.due;
        n = ask(c.fds[i]) ? n : -1;
    }
    while (good && n >= 0 && done < REQUESTS && (n = replies(&c, 1000, true, NULL)) >= 0)
        done += n;
    const double ns = bench_ns() - begun;

    client_close(&c);
    return good && n >= 0 ? done / (ns / 1e9) : 0;
}

/* ---- figures --------------------------------------------------------------------------------------------------------- */

static bool served(reading *out, bool (*measure)(const far_end *f, const disk *d, reading *out))
{
    far_end f;
    disk d;
    bool good = disk_begin(&d, false);

    if (!good)
        return false;
    good = disk_runs(&d, 100, 0) && far_pawl(&f, &d);
    if (good) {
        good = measure(&f, &d, out);
        far_stop(&f);
    }
    disk_end(&d);
    return good;
}

static bool rate_ours(const far_end *f, const disk *d, reading *out)
{
    far_end echo;
    double bare = 0, ours;

    (void)d;
    if (!far_echo(&echo))
        return false;
    ours = rate(f->port);
    bare = rate(echo.port);
    far_stop(&echo);
    out->value = bare > 0 ? ours / bare : 0;
    out->base = 1;
    fprintf(stderr, "serve.get_rps: %.0f, echo %.0f\n", ours, bare);
    return ours > 0 && bare > 0;
}

static bool get_rps(reading *out) { return served(out, rate_ours); }

/* Requests at fixed times, half as many as the server can; a late one counts from when it was due. */
static bool half_load(const far_end *f, const disk *d, reading *out)
{
    enum { N = REQUESTS / 2 };
    static double took[N + CONNECTIONS];
    const double step = 2e9 / rate(f->port);
    client c;
    bool good = client_open(&c, f->port);
    const double begun = bench_ns();
    int asked = 0, done = 0, n = 0, at = 0;

    (void)d;
    while (good && n >= 0 && done < N) {
        while (asked < N && asked - done < CONNECTIONS && bench_ns() >= begun + asked * step) {
            while (c.left[at] > 0)
                at = (at + 1) % CONNECTIONS;
            c.sent_ns[at] = begun + asked * step;
            c.left[at] = c.due;
            good = good && ask(c.fds[at]);
            asked++;
        }
        if ((n = replies(&c, 0, false, took + done)) > 0)
            done += n;
    }
    client_close(&c);
    if (!good || n < 0)
        return bench_wrong("a server at half load", NULL);
    out->base = bench_median(took, N) / 1e3;     /* sorts them */
    out->value = took[N * 99 / 100] / 1e3 / out->base;
    fprintf(stderr, "serve.p99: %.0f us, median %.0f us\n", took[N * 99 / 100] / 1e3, out->base);
    out->base = 1;
    return true;
}

static bool p99(reading *out) { return served(out, half_load); }

/* Bytes of a process in memory; 0: unknown. */
static double resident_of(pid_t pid)
{
    char path[64], line[256];
    double kb = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if ((f = fopen(path, "r")) == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtod(line + 6, NULL);
    fclose(f);
    return kb * 1024;
}

static bool idle(const far_end *f, const disk *d, reading *out)
{
    const int fd = dial(f->port);
    far_end echo;

    (void)d;
    snprintf(request, sizeof request, "GET /v1/runs HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n", f->port, secret);
    if (fd < 0 || reply_size(fd) == 0)
        return bench_wrong("a server that is idle", NULL);
    close(fd);
    out->value = resident_of(f->pid) / (1 << 20);
    if (!far_echo(&echo))
        return false;
    out->base = resident_of(echo.pid) / (1 << 20);
    far_stop(&echo);
    return true;
}

static bool idle_rss_mb(reading *out) { return served(out, idle); }

static bool start_ms(reading *out)
{
    double took[STARTS], bare[STARTS];
    disk d;
    bool good = disk_begin(&d, false) && disk_runs(&d, 100, 0);

    for (int i = 0; i < STARTS && good; i++) {
        far_end f;

        if ((good = far_pawl(&f, &d))) {
            took[i] = f.start_ns / 1e6;
            far_stop(&f);
        }
        if (good && (good = far_echo(&f))) {
            bare[i] = f.start_ns / 1e6;
            far_stop(&f);
        }
    }
    disk_end(&d);
    if (good) {
        out->value = bench_median(took, STARTS);
        out->base = bench_median(bare, STARTS);
    }
    return good;
}

/* ---- readers of a stream ------------------------------------------------------------------------------------------------ */

/* Reads until each of `n` readers has that text in what came; the bytes before it are of no interest. */
static bool all_heard(int epoll, int n, const char *text, bool *heard)
{
    struct epoll_event evs[256];
    char room[REPLY_BYTES];
    int left = n;

    memset(heard, 0, (size_t)n * sizeof *heard);
    while (left > 0) {
        const int k = epoll_wait(epoll, evs, 256, 10000);

        if (k <= 0)
            return false;
        for (int i = 0; i < k; i++) {
            const ssize_t got = recv((int)(evs[i].data.u64 >> 32), room, sizeof room - 1, 0);
            const uint32_t who = (uint32_t)evs[i].data.u64;

            if (got <= 0)
                return false;
            room[got] = '\0';
            if (!heard[who] && strstr(room, text) != NULL) {
                heard[who] = true;
                left--;
            }
        }
    }
    return true;
}

typedef struct crowd { int n, epoll, *fds; bool *heard; double bytes, ns; } crowd;

static bool crowd_come(crowd *c, const far_end *f)
{
    const double before = resident_of(f->pid);

    snprintf(request, sizeof request, "GET /v1/runs/r0/events HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n", f->port, secret);
    for (int i = 0; i < c->n; i++) {
        struct epoll_event ev = { .events = EPOLLIN };

        if ((c->fds[i] = dial(f->port)) < 0 || !ask(c->fds[i]))
            return false;
        ev.data.u64 = (uint64_t)c->fds[i] << 32 | (uint32_t)i;
        if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fds[i], &ev) != 0)
            return false;
    }
    if (!all_heard(c->epoll, c->n, "\"part\":\"ask\"", c->heard))
        return false;
    c->bytes = resident_of(f->pid) - before;
    return true;
}

/* One entry reaches all. */
static bool crowd_hears(crowd *c, pawl_engine *e)
{
    const double begun = bench_ns();
    pawl_err err = { PAWL_OK, "" };

    if (pawl_event_send(e, "r0", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &err) < 0)
        return bench_wrong("a cancel", &err);
    if (!all_heard(c->epoll, c->n, "canceled", c->heard))
        return false;
    c->ns = bench_ns() - begun;
    return true;
}

static bool crowd_measure(crowd *c)
{
    struct rlimit files;
    pawl_engine *e = NULL;
    far_end f = { .pid = 0 };
    disk d;
    bool good;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    *c = (crowd){ .n = files.rlim_cur > READERS + FILES_APART ? READERS : (int)files.rlim_cur - FILES_APART, .epoll = epoll_create1(EPOLL_CLOEXEC) };
    c->fds = calloc((size_t)c->n, sizeof *c->fds);
    c->heard = calloc((size_t)c->n, sizeof *c->heard);
    if (!disk_begin(&d, false))
        return false;
    good = c->fds != NULL && c->heard != NULL && (e = disk_engine(&d, ask_machine())) != NULL && pawl_run(e, "r0", NULL, NULL) > 0 && far_pawl(&f, &d) &&
           crowd_come(c, &f) && crowd_hears(c, e);
    far_stop(&f);
    pawl_engine_free(e);
    disk_end(&d);
    for (int i = 0; i < c->n && c->fds != NULL; i++)
        if (c->fds[i] > 0)
            close(c->fds[i]);
    close(c->epoll);
    free(c->fds);
    free(c->heard);
    return good || bench_wrong("readers of a stream", NULL);
}

static bool sse_readers_mb(reading *out)
{
    crowd c;

    if (!crowd_measure(&c))
        return false;
    out->value = c.bytes / (1 << 20) * READERS / c.n;
    out->base = 1;
    fprintf(stderr, "serve.sse_readers: %d readers\n", c.n);
    return true;
}

static bool sse_broadcast_ms(reading *out)
{
    crowd c;

    if (!crowd_measure(&c))
        return false;
    out->value = c.ns / 1e6;
    out->base = 50;
    return true;
}

const figure serve_figures[] = {
    { "serve.get_rps", "x", "a bare echo of libuv and llhttp", 0.5, true, 5, get_rps },
    { "serve.p99", "x", "the median, at half load", 5, false, 3, p99 },
    { "serve.sse_readers_mb", "MB", "a megabyte; of 10,000 readers of a stream", 60, false, 1, sse_readers_mb },
    { "serve.sse_broadcast_ms", "ms", "a look at the store; to 10,000 readers", 150, false, 3, sse_broadcast_ms },
    { "serve.idle_rss_mb", "MB", "the echo", 12, false, 1, idle_rss_mb },
    { "serve.start_ms", "ms", "the echo, which is a fork and no program", 15, false, 1, start_ms },
    { .name = NULL }
};

#else
const figure serve_figures[] = { { .name = NULL } };
#endif
