/* calls.c - commands that are answered later: what a process holds while a thousand streamed model calls are open, and how soon an answer from
 * another thread is durable. The server is this process; the calls are made by a child, whose memory is measured. */
#include "bench.h"
#include "net/net.h"
#include "pawl/llm.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 1000, REQUEST_BYTES = 4096 };

/* ---- a server that answers no call before all are open ----------------------------------------------- */

static const char stream_begin[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
    "\"content\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n";
static const char stream_end[] =
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

typedef struct server {
    int fd, n, open[CALLS];     /* n: how many calls are to be open at once */
    pthread_t thread;
    char url[64];
} server;

/* Its bytes are not looked at: one segment holds all of it. */
static bool request_take(int fd)
{
    char text[REQUEST_BYTES];

    return recv(fd, text, sizeof text, 0) > 0 && send(fd, stream_begin, sizeof stream_begin - 1, MSG_NOSIGNAL) == (ssize_t)sizeof stream_begin - 1;
}

static void *serve(void *arg)
{
    server *s = arg;
    int n = 0;

    while (n < s->n && (s->open[n] = accept(s->fd, NULL, NULL)) >= 0 && request_take(s->open[n]))
        n++;
    for (int i = 0; i < n; i++) {
        (void)send(s->open[i], stream_end, sizeof stream_end - 1, MSG_NOSIGNAL);
        close(s->open[i]);
    }
    return NULL;
}

static bool server_begin(server *s, int n)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof at;

    *s = (server){ .n = n, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, size) != 0 || listen(s->fd, CALLS) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &size) != 0 || pthread_create(&s->thread, NULL, serve, s) != 0)
        return bench_wrong("a server", NULL);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
    return true;
}

static void server_end(server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static bool descriptors_allow(rlim_t n)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || (most.rlim_max != RLIM_INFINITY && most.rlim_max < n))
        return false;
    if (most.rlim_cur < n)
        most.rlim_cur = n;
    return setrlimit(RLIMIT_NOFILE, &most) == 0;
}

/* ---- the child ----------------------------------------------------------------------------------------- */

typedef struct calling { const char *url; int n, threads; } calling;

static const char *setting(void *ctx, const char *name)
{
    const calling *c = ctx;

    return strcmp(name, "ANTHROPIC_BASE_URL") == 0 ? c->url : strcmp(name, "ANTHROPIC_API_KEY") == 0 ? "none" : NULL;
}

/* Asked when an answer has ended: when the first has, all others are open. */
static int64_t price(void *ctx, const char *model, const pawl_llm_usage *usage)
{
    calling *c = ctx;
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *at;
    int n = 0;

    (void)model;
    (void)usage;
    while (dir != NULL && (at = readdir(dir)) != NULL)
        n += at->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    c->threads = n > c->threads ? n : c->threads;
    return 0;
}

static pawl_code node_plan(pawl_step *s, void *arg)
{
    const calling *c = arg;

    for (int i = 0; i < c->n; i++)
        pawl_send(s, "call", pawl_pack(s, "i", (int64_t)i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code node_call(pawl_step *s, void *arg)
{
    const pawl_value *reply;
    const pawl_value *args = pawl_json(s, "{\"max_tokens\":100,\"messages\":[{\"content\":\"hello\",\"role\":\"user\"}],\"model\":\"anthropic/m\"}");
    pawl_code rc = pawl_call(s, "llm", args, &reply);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set_int(s, "answers", 1);
    return pawl_follow(s);
}

static pawl_machine *calls_machine(calling *c)
{
    pawl_graph *g = pawl_graph_new("calls", 1);

    pawl_graph_channel(g, "answers", PAWL_RULE_SUM);
    pawl_graph_node(g, "plan", node_plan, c);
    pawl_graph_goto(g, "plan", "call", NULL);
    pawl_graph_node(g, "call", node_call, NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "call", PAWL_END);
    return bench_compile(g);
}

/* What the run of `count` calls took; 0: told. */
double calls_child(bool threads, const char *url, const char *count)
{
    calling c = { .url = url, .n = (int)strtol(count, NULL, 10) };
    const pawl_llm llm = { .setting = setting, .setting_ctx = &c, .price = price, .price_ctx = &c };
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(calls_machine(&c), pawl_store_memory(NULL), &err);
    bool good = e != NULL && descriptors_allow(CALLS + 64) &&
                pawl_engine_effect(e, "llm", pawl_effect_llm, (void *)(uintptr_t)&llm, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK &&
                pawl_run(e, "r", NULL, &err) == PAWL_HALTED && strtol(pawl_run_get(e, "r", "answers"), NULL, 10) == c.n;

    pawl_engine_free(e);
    return good || bench_wrong("calls", &err) ? threads ? (double)c.threads : (double)bench_resident_most() : 0;
}

/* ---- figures ------------------------------------------------------------------------------------------------ */

static bool calls_measure(const char *what, int n, double *number)
{
    static server s;
    char count[16];
    bool good = descriptors_allow(CALLS + 64) && server_begin(&s, n);

    if (!good)
        return bench_wrong("a thousand descriptors", NULL);
    snprintf(count, sizeof count, "%d", n);
    good = child_run(what, s.url, count, number);
    server_end(&s);
    return good;
}

static bool open_calls(reading *out)
{
    if (!calls_measure("calls", CALLS, &out->value) || !calls_measure("calls", 1, &out->base))
        return false;
    out->value /= 1e6;
    out->base /= 1e6;
    return true;
}

static bool open_threads(reading *out)
{
    return calls_measure("calls-threads", CALLS, &out->value) && calls_measure("calls-threads", 1, &out->base);
}

/* ---- an answer from another thread ------------------------------------------------------------------------- */

enum { REPLIES = 200 };

typedef struct replying {
    pawl_engine *e;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    char id[128];               /* of the command that waits for its answer; "": none does */
    bool over, bad;
    double given, took[REPLIES], plain[REPLIES];
    int n;
    disk d;
} replying;

static pawl_code put_down(const pawl_job *job, pawl_reply *r, void *arg)
{
    replying *p = arg;
    pawl_code rc = job->later(job, NULL, NULL);

    (void)r;
    if (rc != PAWL_OK)
        return rc;
    pthread_mutex_lock(&p->lock);
    snprintf(p->id, sizeof p->id, "%s", job->id);
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
    return PAWL_PENDING;
}

static void *answer_all(void *arg)
{
    replying *p = arg;
    char id[sizeof p->id];

    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (p->id[0] == '\0' && !p->over)
            pthread_cond_wait(&p->moved, &p->lock);
        memcpy(id, p->id, sizeof id);
        p->id[0] = '\0';
        pthread_mutex_unlock(&p->lock);
        if (id[0] == '\0')
            return NULL;
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
        p->bad = !disk_raw(&p->d, ENTRY_BYTES, 1, &p->plain[p->n]) || p->bad;
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);      /* the engine waits by then */
        p->given = bench_ns();
        p->bad = pawl_engine_reply(p->e, &(pawl_result){ .id = id, .value = "1" }, NULL) != PAWL_OK || p->bad;
    }
}

static pawl_code node_round(pawl_step *s, void *arg)
{
    const pawl_value *value;
    pawl_code rc = pawl_call(s, "job", NULL, &value);
    const int64_t n = pawl_get_int(s, "count");

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set_int(s, "count", n + 1);
    return pawl_goto(s, n + 1 < REPLIES ? "round" : PAWL_END);
}

static void stored(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    replying *p = ctx;

    (void)st;
    (void)entry;
    if (p->given > 0 && p->n < REPLIES)
        p->took[p->n++] = bench_ns() - p->given;
    p->given = 0;
}

static pawl_machine *rounds_machine(void)
{
    pawl_graph *g = pawl_graph_new("rounds", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "round", node_round, NULL);
    pawl_graph_goto(g, "round", "round", PAWL_END, NULL);
    pawl_graph_edge(g, PAWL_START, "round");
    pawl_graph_max_steps(g, 10 * REPLIES);
    return bench_compile(g);
}

/* Each reply beside a plain commit of the same moment, and the median of both: a sync takes what the disk makes of it. */
static bool reply_ratio(reading *out)
{
    static replying p;
    pawl_err err = { PAWL_OK, "" };
    double warm = 0;
    pthread_t thread;
    bool good;

    p = (replying){ .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };
    good = disk_begin(&p.d, false) && disk_raw(&p.d, ENTRY_BYTES, 1, &warm) && (p.e = disk_engine(&p.d, rounds_machine())) != NULL &&
           pawl_engine_effect(p.e, "job", put_down, &p, PAWL_CLASS_AT_LEAST_ONCE, &err) == PAWL_OK && pthread_create(&thread, NULL, answer_all, &p) == 0;
    if (good) {
        pawl_engine_watch(p.e, stored, &p);
        good = pawl_run(p.e, "r", NULL, &err) == PAWL_HALTED && p.n == REPLIES;
        pthread_mutex_lock(&p.lock);
        p.over = true;
        pthread_cond_signal(&p.moved);
        pthread_mutex_unlock(&p.lock);
        pthread_join(thread, NULL);
    }
    pawl_engine_free(p.e);
    disk_end(&p.d);
    *out = (reading){ bench_median(p.took, REPLIES) / 1e3, bench_median(p.plain, REPLIES) / 1e3 };
    return (good && !p.bad) || bench_wrong("answers from another thread", &err);
}

static bool reply_us(reading *out)
{
    return reply_ratio(out);
}

static bool reply_x(reading *out)
{
    if (!reply_ratio(out))
        return false;
    *out = (reading){ out->value / out->base, 1 };
    return true;
}

const figure calls_figures[] = {
    { "llm.open_calls", "MB", "the same with one call", 64, false, 3, open_calls },
    { "llm.open_threads", "threads", "the same with one call", 4, false, 1, open_threads },
    { "engine.reply_us", "us", "a plain row's commit, FULL", 0, false, 3, reply_us },
    { "engine.reply_vs_raw", "x", "a plain row's commit, FULL", 1.3, false, 5, reply_x },
    { 0 },
};
