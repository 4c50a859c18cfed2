/* egress.c - a proxy for one command in a sandbox: connects it to the hosts that rules allow, and to nothing else.
 *
 * Started and stopped by tool/bash.c, on the thread of the job. The sandbox has a network of its own, without a way out. The program in it (src/inside/)
 * opens a socket on its 127.0.0.1, and sends that socket here; who connects to it is served by a thread of this file, outside. One thread accepts, and
 * each connection has one.
 *
 * Invariants:
 *   N1  the name is decided on, then resolved, and each address is checked before it is connected to, so a name cannot change in between.
 *   N2  nothing is passed on before the first bytes were seen to be of that host.
 *   N3  `stop` stays readable once it was written to: every wait of every thread ends. */
#define _GNU_SOURCE             /* accept4 */
#include "effect/egress.h"
#include "effect/address.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TUNNELS_MAX = 64, FIRST_MS = 20000, CONNECT_MS = 15000, RELAY_BYTES = 32768, LOWEST_FD = 5 };

typedef struct tunnel {
    struct tunnel *next;
    egress *e;
    pthread_t thread;
    int client;
    bool done;                  /* under the lock: its thread has only to be joined */
} tunnel;

struct egress {
    const pawl_policy *policy;
    pthread_t thread;
    pthread_mutex_t lock;
    tunnel *tunnels;            /* under the lock */
    int stop, here, channel;    /* `here` and `channel`: a pair of sockets */
};

/* ---- waiting ------------------------------------------------------------------------------------------------ */

/* False: stopped, late, or an error. */
static bool ready(const egress *e, int fd, short events, int ms)
{
    struct pollfd p[] = { { fd, events, 0 }, { e->stop, POLLIN, 0 } };
    int n;

    do
        n = poll(p, 2, ms);
    while (n < 0 && errno == EINTR);
    return n > 0 && p[1].revents == 0 && p[0].revents != 0;
}

static bool send_all(const egress *e, int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !ready(e, fd, POLLOUT, FIRST_MS)) {
            return false;
        }
    }
    return true;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- connecting (N1) ------------------------------------------------------------------------------------------- */

static int connected(const egress *e, const struct addrinfo *to)
{
    const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(int);
    int why = 0;

    if (fd < 0)
        return -1;
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && ready(e, fd, POLLOUT, CONNECT_MS) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0)
        return fd;
    close(fd);
    return -1;
}

/* -1: it cannot be reached; *barred: it has only private addresses. */
static int host_connect(const egress *e, const egress_head *h, bool named, bool *barred)
{
    const struct addrinfo how = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
    struct addrinfo *all = NULL;
    char host[EGRESS_HOST_BYTES], port[8];
    const size_t n = strlen(h->host);
    int fd = -1;

    *barred = false;
    if (h->host[0] == '[')
        snprintf(host, sizeof host, "%.*s", (int)(n > 2 ? n - 2 : 0), h->host + 1);
    else
        snprintf(host, sizeof host, "%s", h->host);
    snprintf(port, sizeof port, "%u", (unsigned)h->port);
    if (getaddrinfo(host, port, &how, &all) != 0)
        return -1;
    for (const struct addrinfo *a = all; a != NULL && fd < 0; a = a->ai_next) {
        if (!named && address_private(a->ai_addr))
            *barred = true;
        else
            fd = connected(e, a);
    }
    freeaddrinfo(all);
    return fd;
}

/* ---- one connection ------------------------------------------------------------------------------------------------ */

static void refuse(const tunnel *t, const char *status, const egress_head *h, const char *why)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\npawl: ", status);
    if (h != NULL)
        buf_fmt(&b, "%s:%u: ", h->host, (unsigned)h->port);
    buf_fmt(&b, "%s\n", why);
    if (!b.failed)
        (void)send_all(t->e, t->client, b.data, b.size);
    buf_free(&b);
}

/* More bytes of the client; false: none come. */
static bool more(const tunnel *t, buf *in)
{
    char piece[4096];
    ssize_t n;

    if (in->size >= EGRESS_HEAD_BYTES || !ready(t->e, t->client, POLLIN, FIRST_MS) || (n = recv(t->client, piece, sizeof piece, MSG_DONTWAIT)) <= 0)
        return false;
    buf_put(in, piece, (size_t)n);
    return !in->failed;
}

/* One direction: it reads, has read the end, and has passed the end on. */
typedef enum half_state { HALF_READS, HALF_ENDED, HALF_SHUT } half_state;
typedef struct half { char data[RELAY_BYTES]; size_t at, n; int from, to; half_state state; } half;

static bool half_step(half *x, short in, short out)
{
    ssize_t n;

    if (x->n == 0 && x->state == HALF_READS && in != 0) {
        n = recv(x->from, x->data, sizeof x->data, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n == 0)
            x->state = HALF_ENDED;
        x->at = 0;
        x->n = n > 0 ? (size_t)n : 0;
    }
    if (x->n > 0 && out != 0) {
        n = send(x->to, x->data + x->at, x->n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        x->at += n > 0 ? (size_t)n : 0;
        x->n -= n > 0 ? (size_t)n : 0;
    }
    if (x->state == HALF_ENDED && x->n == 0) {
        (void)shutdown(x->to, SHUT_WR);
        x->state = HALF_SHUT;
    }
    return true;
}

static void relay(const tunnel *t, int server)
{
    half *up = calloc(2, sizeof *up), *down = up != NULL ? up + 1 : NULL;
    bool good = up != NULL;

    if (good) {
        up->from = down->to = t->client;
        up->to = down->from = server;
    }
    while (good && !(up->state == HALF_SHUT && down->state == HALF_SHUT)) {
        struct pollfd p[] = { { t->client, 0, 0 }, { server, 0, 0 }, { t->e->stop, POLLIN, 0 } };

        p[0].events = (short)((up->n == 0 && up->state == HALF_READS ? POLLIN : 0) | (down->n > 0 ? POLLOUT : 0));
        p[1].events = (short)((down->n == 0 && down->state == HALF_READS ? POLLIN : 0) | (up->n > 0 ? POLLOUT : 0));
        if (p[0].events == 0)
            p[0].fd = -1;
        if (p[1].events == 0)
            p[1].fd = -1;
        if (poll(p, 3, -1) < 0 && errno != EINTR)
            break;
        if (p[2].revents != 0)
            break;
        good = half_step(up, p[0].revents, p[1].revents) && half_step(down, p[1].revents, p[0].revents);
    }
    free(up);
}

/* In a tunnel: N2, then both directions. */
static void tunnel_serve(const tunnel *t, const egress_head *h, bool named, buf *in, size_t head_size)
{
    static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    egress_first first = EGRESS_PENDING;
    bool barred, waits = true;
    int server;

    if ((server = host_connect(t->e, h, named, &barred)) < 0) {
        refuse(t, barred ? "403 Forbidden" : "502 Bad Gateway", h,
               barred ? "an address of this machine or of a private network: a rule Network(HOST:PORT) has to name it" : "it cannot be reached");
        return;
    }
    if (send_all(t->e, t->client, yes, sizeof yes - 1)) {
        while ((first = egress_first_read(in->data + head_size, in->size - head_size, h->host)) == EGRESS_PENDING && (waits = more(t, in)))
            continue;
        if (waits && first == EGRESS_FITS && send_all(t->e, server, in->data + head_size, in->size - head_size))
            relay(t, server);
    }
    close(server);
}

static void request_serve(const tunnel *t, const egress_head *h, bool named, const buf *in, size_t head_size)
{
    bool barred;
    int server = host_connect(t->e, h, named, &barred);
    buf out;

    if (server < 0) {
        refuse(t, barred ? "403 Forbidden" : "502 Bad Gateway", h,
               barred ? "an address of this machine or of a private network: a rule Network(HOST:PORT) has to name it" : "it cannot be reached");
        return;
    }
    buf_init(&out, NULL);
    egress_head_put(&out, in->data, head_size, h);
    buf_put(&out, in->data + head_size, in->size - head_size);
    if (!out.failed && send_all(t->e, server, out.data, out.size))
        relay(t, server);
    buf_free(&out);
    close(server);
}

static void serve(const tunnel *t)
{
    egress_head h;
    size_t n = 0;
    bool named;
    buf in;

    buf_init(&in, NULL);
    while ((n = egress_head_size(in.size > 0 ? in.data : "", in.size)) == 0 && more(t, &in))
        continue;
    if (n == 0 || !egress_head_read(in.data, n, &h)) {
        if (in.size > 0)
            refuse(t, "400 Bad Request", NULL, "this is a proxy for http and https");
    } else if (!pawl_policy_network(t->e->policy, h.host, h.port, epoch_ms(), &named)) {
        refuse(t, "403 Forbidden", &h, "no rule lets a command connect to it: allow Network(HOST:PORT)");
    } else if (h.connect) {
        tunnel_serve(t, &h, named, &in, n);
    } else {
        request_serve(t, &h, named, &in, n);
    }
    buf_free(&in);
}

static void *tunnel_run(void *arg)
{
    tunnel *t = arg;

    serve(t);
    shut(&t->client);
    pthread_mutex_lock(&t->e->lock);
    t->done = true;
    pthread_mutex_unlock(&t->e->lock);
    return NULL;
}

/* ---- accepting --------------------------------------------------------------------------------------------------------- */

/* Joins the threads that have ended, or all. Returns how many are left. */
static size_t tunnels_join(egress *e, bool all)
{
    tunnel *ended = NULL;
    size_t left = 0;

    pthread_mutex_lock(&e->lock);
    for (tunnel **link = &e->tunnels, *t; (t = *link) != NULL;) {
        if (!t->done && !all) {
            left++;
            link = &t->next;
            continue;
        }
        *link = t->next;
        t->next = ended;
        ended = t;
    }
    pthread_mutex_unlock(&e->lock);
    while (ended != NULL) {
        tunnel *t = ended;

        ended = t->next;
        pthread_join(t->thread, NULL);
        free(t);
    }
    return left;
}

static void tunnel_begin(egress *e, int client)
{
    tunnel *t = tunnels_join(e, false) < TUNNELS_MAX ? calloc(1, sizeof *t) : NULL;

    if (t == NULL) {
        close(client);
        return;
    }
    t->e = e;
    t->client = client;
    pthread_mutex_lock(&e->lock);
    if (pthread_create(&t->thread, NULL, tunnel_run, t) == 0) {
        t->next = e->tunnels;
        e->tunnels = t;
        t = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    if (t != NULL) {
        close(client);
        free(t);
    }
}

/* The socket that the sandbox listens on; -1: it ended before. */
static int listener_take(const egress *e)
{
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec one = { &byte, 1 };
    struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    const struct cmsghdr *c;
    int fd = -1;

    if (!ready(e, e->here, POLLIN, -1) || recvmsg(e->here, &m, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    if ((c = CMSG_FIRSTHDR(&m)) != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        shut(&fd);
    return fd;
}

static void *egress_run(void *arg)
{
    egress *e = arg;
    int listener = listener_take(e), client;

    while (listener >= 0 && ready(e, listener, POLLIN, -1))
        if ((client = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
            tunnel_begin(e, client);
        else if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN && errno != EMFILE)
            break;
    shut(&listener);
    return NULL;
}

/* ---- started, stopped ----------------------------------------------------------------------------------------------------- */

static bool egress_open(egress *e)
{
    int pair[2];

    if ((e->stop = eventfd(0, EFD_CLOEXEC)) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    e->here = pair[0];
    e->channel = fcntl(pair[1], F_DUPFD_CLOEXEC, LOWEST_FD);
    close(pair[1]);
    return e->channel >= 0;
}

egress *egress_start(const pawl_policy *p, int *channel, pawl_err *err)
{
    egress *e = calloc(1, sizeof *e);
    sigset_t all, before;
    bool runs = false;

    if (e == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a proxy");
        return NULL;
    }
    e->policy = p;
    e->stop = e->here = e->channel = -1;
    pthread_mutex_init(&e->lock, NULL);
    if (egress_open(e)) {
        sigfillset(&all);       /* signals are for the threads of the host */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        runs = pthread_create(&e->thread, NULL, egress_run, e) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    *channel = e->channel;
    if (runs)
        return e;
    fail(err, PAWL_TRANSIENT, "a proxy for the sandbox cannot be made (errno %d)", errno);
    shut(&e->stop);
    shut(&e->here);
    shut(&e->channel);
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

void egress_stop(egress *e)
{
    const uint64_t one = 1;

    if (e == NULL)
        return;
    if (write(e->stop, &one, sizeof one) != sizeof one)
        shut(&e->here);         /* cannot happen: the counter of an eventfd is far from its end */
    pthread_join(e->thread, NULL);
    (void)tunnels_join(e, true);
    shut(&e->stop);
    shut(&e->here);
    shut(&e->channel);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
