/* serve.c - a server from its start to its drain: listeners, signals, and the parts that it is made of (N4, N6).
 *
 * Main thread, which becomes the loop. SIGTERM and SIGINT are blocked in every thread and read from a descriptor. */
#include "app/jobs.h"
#include "net/http/http.h"
#include "net/net.h"
#include "serve/serve_inner.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SYSTEMD_FIRST_FD = 3, DRAIN_MS = 10000, WORK_LOOK_MS = 50 };
/* FILES_APART: descriptors for all that is no connection. */
enum { BODY_MOST = 256 << 10, CONNECTIONS_MOST = 10000, CONNECTIONS_LEAST = 16, FILES_APART = 64 };

static void note(const server *s, const char *fmt, ...) PAWL_PRINTF(2, 3);
static void note(const server *s, const char *fmt, ...)
{
    char text[4608];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->config->note(s->config->ctx, text);
}

/* ---- listeners -------------------------------------------------------------------------------------------------------- */

static pawl_code needs_token(const server *s, const char *word, pawl_err *err)
{
    return s->config->token != NULL ? PAWL_OK : fail(err, PAWL_INVALID, "%s: a TCP address needs a token", word);
}

/* "127.0.0.1:80", "[::1]:80". */
static pawl_code listen_tcp(server *s, const char *word, pawl_err *err)
{
    const char *colon = strrchr(word, ':');
    char address[64] = "", *end = NULL;
    const bool bracket = word[0] == '[';
    const size_t size = colon != NULL ? (size_t)(colon - word) : 0;
    const unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;

    if (size == 0 || size >= sizeof address || end == colon + 1 || *end != '\0' || (bracket && word[size - 1] != ']'))
        return fail(err, PAWL_INVALID, "--listen %s: wanted unix:PATH, ADDRESS:PORT, [ADDRESS]:PORT or systemd", word);
    memcpy(address, word + (bracket ? 1 : 0), size - (bracket ? 2 : 0));
    if (strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0)
        return fail(err, PAWL_INVALID, "--listen %s: not a loopback address; what goes over a network needs TLS, so let a proxy on this machine serve it "
                                       "(docs/SERVING.md)", word);
    pawl_code rc = needs_token(s, word, err);

    if (rc == PAWL_OK)
        rc = http_listen(s->http, address, (unsigned)port, err);
    if (rc == PAWL_OK)
        note(s, bracket ? "serving on http://[%s]:%u" : "serving on http://%s:%u", address, http_port(s->http));
    return rc;
}

static bool is_local(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t size = sizeof at;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at;

    if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return false;
    return at.ss_family == AF_UNIX || (at.ss_family == AF_INET && (ntohl(v4->sin_addr.s_addr) >> 24) == 127) ||
           (at.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
}

/* The sockets that systemd opened for this process. */
static pawl_code listen_systemd(server *s, pawl_err *err)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    const long n = pid != NULL && fds != NULL && strtol(pid, NULL, 10) == (long)getpid() ? strtol(fds, NULL, 10) : 0;
    pawl_code rc = needs_token(s, "systemd", err);

    if (rc == PAWL_OK && (n < 1 || n > 64))
        rc = fail(err, PAWL_INVALID, "--listen systemd: LISTEN_FDS has no sockets for this process");
    unsetenv("LISTEN_PID");     /* they are of this process, and of no program that it starts */
    unsetenv("LISTEN_FDS");
    for (int fd = SYSTEMD_FIRST_FD; rc == PAWL_OK && fd < SYSTEMD_FIRST_FD + (int)n; fd++) {
        if (!is_local(fd))
            rc = fail(err, PAWL_INVALID, "--listen systemd: socket %d is neither of loopback nor a unix socket; what goes over a network needs TLS", fd);
        else if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            rc = fail(err, PAWL_IO, "--listen systemd: socket %d cannot be used", fd);
        else
            rc = http_listen_fd(s->http, fd, err);
    }
    if (rc == PAWL_OK)
        note(s, "serving on %ld socket%s of systemd", n, n == 1 ? "" : "s");
    return rc;
}

static pawl_code listen_on(server *s, const char *word, pawl_err *err)
{
    pawl_code rc;

    if (strcmp(word, "systemd") == 0)
        return listen_systemd(s, err);
    if (strncmp(word, "unix:", 5) != 0)
        return listen_tcp(s, word, err);
    rc = http_listen_unix(s->http, word + 5, 0600, err);
    if (rc == PAWL_OK)
        note(s, "serving on %s", word);
    return rc;
}

/* ---- the stop ------------------------------------------------------------------------------------------------------------ */

typedef struct stopper {
    server *s;
    int fd;
    unsigned times;             /* that it was told to stop */
    http_timer *look;           /* on while it waits for jobs that are out; NULL: there are no jobs */
    int64_t until_ms;           /* then it waits no more */
} stopper;

static void drained(void *ctx)
{
    server *s = ctx;

    events_drain(s->events);
    waits_drain(s->waits);
    job_routes_drain(s->jobs);
    a2a_drain(s->a2a);
}

/* Workers that have jobs may still reply, so it listens until all have, or the time is over. What comes to the queue meanwhile goes back: the engines learn
 * a little later that they drain. */
static void await_jobs(void *ctx)
{
    stopper *st = ctx;
    server *s = st->s;

    jobs_look(s->config->jobs);
    job_routes_drain(s->jobs);
    if (jobs_out(s->config->jobs, NULL) > 0 && http_now(s->http) < st->until_ms)
        return;
    http_timer_set(st->look, false);
    http_stop(s->http, NULL, NULL);
}

static void leave(stopper *st)
{
    if (st->look == NULL) {
        http_stop(st->s->http, drained, st->s);
        return;
    }
    st->s->leaving = true;
    st->until_ms = http_now(st->s->http) + DRAIN_MS;
    drained(st->s);
    http_timer_set(st->look, true);
    await_jobs(st);
}

static void on_signal(void *ctx)
{
    stopper *st = ctx;
    struct signalfd_siginfo info;

    if (read(st->fd, &info, sizeof info) != (ssize_t)sizeof info || ++st->times > 2)
        return;
    if (st->times == 1)
        note(st->s, "stopping: what was asked is answered first, for %d s at most%s; once more stops at once", DRAIN_MS / 1000,
             st->s->works ? ", and running commands end" : "");
    if (st->s->works)
        st->s->config->rest(st->s->config->ctx);
    if (st->times == 1) {
        leave(st);
    } else {
        http_stop(st->s->http, NULL, NULL);
        http_cut(st->s->http);
    }
}

/* The loop has ended; running commands may have not. */
static void await_work(stopper *st)
{
    const serve_config *config = st->s->config;
    struct pollfd signals = { .fd = st->fd, .events = POLLIN };

    while (config->at_work(config->ctx)) {
        if (config->jobs != NULL)
            jobs_end(config->jobs);     /* nobody replies any more; an engine that does not drain yet may have put one more in */
        if (poll(&signals, 1, WORK_LOOK_MS) > 0)
            on_signal(st);
    }
    if (config->jobs != NULL)
        jobs_end(config->jobs);
    config->worked(config->ctx);
}

/* ---- a server -------------------------------------------------------------------------------------------------------------- */

static pawl_code run(server *s, stopper *st, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if ((s->calls = calls_new(s, err)) == NULL || (s->events = events_new(s, err)) == NULL || (s->waits = waits_new(s, err)) == NULL ||
        (s->metrics = metrics_new(s, err)) == NULL || (s->a2a = a2a_new(s, err)) == NULL || !job_routes_new(s, err))
        return err->code;
    if (s->jobs != NULL && (st->look = http_timer_new(s->http, WORK_LOOK_MS, await_jobs, st)) == NULL)
        return fail(err, PAWL_NOMEM, "server: no memory");
    if (!http_watch(s->http, st->fd, on_signal, st))
        return fail(err, PAWL_NOMEM, "server: no memory");
    for (size_t i = 0; i < s->config->nlisten && rc == PAWL_OK; i++)
        rc = listen_on(s, s->config->listen[i], err);
    if (rc == PAWL_OK && s->config->token_note != NULL)
        note(s, "%s", s->config->token_note);
    if (rc == PAWL_OK && s->config->work != NULL)
        rc = s->config->work(s->config->ctx, err);
    s->works = rc == PAWL_OK && s->config->work != NULL;
    if (rc == PAWL_OK)
        http_run(s->http);
    return rc;
}

/* As many connections as this process may have descriptors for: at that limit an idle one makes room, while a failed accept would make none. */
static unsigned connections_of(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return CONNECTIONS_LEAST;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < CONNECTIONS_LEAST + FILES_APART)
        return CONNECTIONS_LEAST;
    return files.rlim_cur - FILES_APART < CONNECTIONS_MOST ? (unsigned)(files.rlim_cur - FILES_APART) : CONNECTIONS_MOST;
}

pawl_code serve_run(const serve_config *config, pawl_err *err)
{
    server s = { .config = config, .started_ms = epoch_ms(), .log_fd = -1 };
    const http_config http = { .handler = routes_serve, .ended = access_ended, .ctx = &s,
        .limits = { .drain_ms = DRAIN_MS, .body_bytes = BODY_MOST, .connections = connections_of() } };
    sigset_t stops, before;
    stopper st = { .s = &s };
    pawl_code rc = PAWL_IO;

    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    st.fd = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
    s.store = config->store(config->ctx, err);
    guard_open(&s);
    if (st.fd < 0)
        fail(err, PAWL_IO, "server: no descriptor for signals");
    else if (s.store != NULL && access_open(&s, err) == PAWL_OK && (s.http = http_new(&http, err)) != NULL)
        rc = run(&s, &st, err);
    else
        rc = err->code;
    if (s.works)
        await_work(&st);
    pthread_sigmask(SIG_SETMASK, &before, NULL);        /* a verb that takes long: one more signal ends the process */
    waits_free(s.waits);
    calls_free(s.calls);
    metrics_free(s.metrics);
    a2a_free(s.a2a);
    job_routes_free(s.jobs);
    events_free(s.events);
    http_free(s.http);
    access_close(&s);
    guard_close(&s);
    pawl_store_free(s.store);
    if (st.fd >= 0)
        close(st.fd);
    return rc;
}
