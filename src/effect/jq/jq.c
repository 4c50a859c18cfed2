/* jq.c - the parent's side: starts the child, limits its time and memory, and reports results.
 *
 * Called on any thread; `lock` protects the child and its buffers. The child is not trusted: it evaluates code from outside, and is killed when it takes
 * too long. Expressions have no effects, so one that was interrupted by an outside kill is evaluated once more. */
#define _GNU_SOURCE             /* posix_spawn that closes all other descriptors */
#include "effect/jq/jq.h"
#include "effect/jq/jq_wire.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 5,                /* between two looks at the child's memory */
    CHUNK_BYTES = 65536,        /* read at a time, at least */
    SHOWN_BYTES = 60,           /* of an expression that an error shows */
    WORDS_BYTES = 256,
    TRIES = 2
};

struct jq {
    size_t n;
    char **texts;               /* one block, with the texts after the pointers */
    const char *program;
    int64_t evaluate_ms;
    int64_t wait_ms;            /* limit of the current request */
    uint64_t bytes;
    pthread_mutex_t lock;       /* protects everything below */
    pid_t pid;                  /* 0: no child */
    int fd;
    bool compiled;              /* this child has compiled all texts */
    bool outside;               /* the last child was killed by somebody else */
    size_t at;                  /* first unread byte of `in` */
    buf in, out;
    char engine[16];            /* "": unknown yet */
};

/* The result of waiting for the child. */
typedef enum news { CAME, LATE, LARGE, ENDED, GARBLED, NO_ROOM } news;

/* ---- open, close ------------------------------------------------------------------------------------ */

jq *jq_open(const char *const *texts, size_t n)
{
    size_t bytes = (n + 1) * sizeof(char *);
    jq *q = calloc(1, sizeof *q);
    char *at;

    for (size_t i = 0; i < n; i++)
        bytes += strlen(texts[i]) + 1;
    if (q == NULL || (q->texts = malloc(bytes)) == NULL || pthread_mutex_init(&q->lock, NULL) != 0) {
        if (q != NULL)
            free(q->texts);
        free(q);
        return NULL;
    }
    at = (char *)(q->texts + n + 1);
    for (size_t i = 0; i < n; i++) {
        const size_t size = strlen(texts[i]) + 1;

        q->texts[i] = at;
        memcpy(at, texts[i], size);
        at += size;
    }
    q->texts[n] = at;           /* end of the texts */
    q->n = n;
    q->program = "/proc/self/exe";
    q->evaluate_ms = JQ_EVALUATE_MS;
    q->bytes = JQ_BYTES_MAX;
    q->fd = -1;
    buf_init(&q->in, NULL);
    buf_init(&q->out, NULL);
    return q;
}

/* Ends the child before it returns. Its status as from waitpid, or 0. */
static int stop(jq *q)
{
    int status = 0;

    if (q->pid > 0) {
        kill(q->pid, SIGKILL);  /* its number cannot be reused before waitpid */
        while (waitpid(q->pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    if (q->fd >= 0)
        close(q->fd);
    q->pid = 0;
    q->fd = -1;
    q->compiled = false;
    q->at = 0;
    buf_reset(&q->in);
    return status;
}

void jq_close(jq *q)
{
    if (q == NULL)
        return;
    stop(q);
    pthread_mutex_destroy(&q->lock);
    buf_free(&q->in);
    buf_free(&q->out);
    free(q->texts);
    free(q);
}

void jq_program(jq *q, const char *path)
{
    q->program = path;
}

void jq_limits(jq *q, int64_t evaluate_ms, uint64_t bytes)
{
    q->evaluate_ms = evaluate_ms;
    q->bytes = bytes;
}

/* ---- words -------------------------------------------------------------------------------------------- */

/* In one line, with single blanks, cut between characters. */
static const char *shown(const char *text, size_t most, char out[])
{
    size_t n = 0;
    bool blank = false;

    for (; *text != '\0'; text++) {
        const bool is_blank = *text == ' ' || (*text >= '\t' && *text <= '\r');

        if (!is_blank || (!blank && n > 0))
            out[n++] = is_blank ? ' ' : *text;
        blank = is_blank;
        if (n == most) {
            while (n > 0 && ((unsigned char)out[n - 1] & 0xC0) == 0x80)
                n--;
            if (n > 0 && (unsigned char)out[n - 1] >= 0xC0)
                n--;
            memcpy(out + n, "...", 4);
            return out;
        }
    }
    out[n > 0 && out[n - 1] == ' ' ? n - 1 : n] = '\0';
    return out;
}

static pawl_code wrong(const jq *q, uint32_t which, const char *words, pawl_err *err)
{
    char text[SHOWN_BYTES + 4];

    return fail(err, PAWL_EFFECT, "expression \"%s\": %s", shown(q->texts[which], SHOWN_BYTES, text), words);
}

/* Stops the child; `words` gets the reason, as the end of "expression ...: ". */
static void lost(jq *q, news what, char words[WORDS_BYTES])
{
    const int status = stop(q);

    if (what == ENDED && WIFEXITED(status) && WEXITSTATUS(status) == JQ_ENDS_FULL)
        what = LARGE;
    q->outside = what == ENDED && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    switch (what) {
    case LATE:
        snprintf(words, WORDS_BYTES, "more than %lld ms (JQ_EVALUATE_MS); it was stopped", (long long)q->wait_ms);
        break;
    case LARGE:
        snprintf(words, WORDS_BYTES, "more than %llu MiB of memory (JQ_BYTES_MAX); it was stopped", (unsigned long long)(q->bytes >> 20));
        break;
    case GARBLED:
        snprintf(words, WORDS_BYTES, "its answer makes no sense; it was stopped");
        break;
    case NO_ROOM:
        snprintf(words, WORDS_BYTES, "no memory for its value");
        break;
    case CAME:
    case ENDED:
        if (q->outside)
            snprintf(words, WORDS_BYTES, "jq was killed, and not by Pawl; is there memory for it?");
        else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
            snprintf(words, WORDS_BYTES, "jq broke off (signal %d); what it makes is nested too deep", SIGSEGV);
        else if (WIFSIGNALED(status))
            snprintf(words, WORDS_BYTES, "jq broke off (signal %d)", WTERMSIG(status));
        else
            snprintf(words, WORDS_BYTES, "jq broke off (exit code %d)", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        break;
    }
}

/* ---- talk ----------------------------------------------------------------------------------------------- */

static bool too_large(const jq *q)
{
    char name[64], text[64];
    unsigned long long pages = 0;
    ssize_t n;
    int fd;

    snprintf(name, sizeof name, "/proc/%ld/statm", (long)q->pid);
    if ((fd = open(name, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return sscanf(text, "%*u %llu", &pages) == 1 && pages > q->bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

static news await(const jq *q, short events, int64_t until_ms)
{
    for (;;) {
        struct pollfd p = { .fd = q->fd, .events = events };
        const int64_t left_ms = until_ms - clock_ms();

        if (left_ms <= 0)
            return LATE;
        if (poll(&p, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS) > 0)
            return CAME;
        if (too_large(q))
            return LARGE;
    }
}

/* Sends `out`, a complete frame. */
static news child_send(jq *q, int64_t until_ms)
{
    for (size_t sent = 0; sent < q->out.size;) {
        const ssize_t n = send(q->fd, q->out.data + sent, q->out.size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        news what;

        if (n > 0)
            sent += (size_t)n;
        else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            return ENDED;
        else if ((what = await(q, POLLOUT, until_ms)) != CAME)
            return what;
    }
    return CAME;
}

/* Reads until at least `size` bytes are at q->at. */
static news have(jq *q, size_t size, int64_t until_ms)
{
    if (q->at > 0 && q->in.size - q->at < size) {
        memmove(q->in.data, q->in.data + q->at, q->in.size - q->at);
        q->in.size -= q->at;
        q->at = 0;
    }
    while (q->in.size - q->at < size) {
        news what;
        ssize_t n;

        if (!buf_room(&q->in, size > CHUNK_BYTES ? size : CHUNK_BYTES))
            return NO_ROOM;
        if ((what = await(q, POLLIN, until_ms)) != CAME)
            return what;
        n = recv(q->fd, q->in.data + q->in.size, q->in.cap - q->in.size, MSG_DONTWAIT);
        if (n > 0)
            q->in.size += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return ENDED;
    }
    return CAME;
}

/* Reads the next frame; `body` is valid until the next call. */
static news hear(jq *q, int64_t until_ms, jq_verb *verb, pawl_bytes *body)
{
    jq_head head;
    news what;

    if ((what = have(q, sizeof head, until_ms)) != CAME)
        return what;
    memcpy(&head, q->in.data + q->at, sizeof head);
    if (head.verb < JQ_HELLO || head.verb > JQ_TOUCHED || head.size > JQ_OUTPUT_BYTES_MAX)
        return GARBLED;
    if ((what = have(q, sizeof head + head.size, until_ms)) != CAME)
        return what;
    *verb = (jq_verb)head.verb;
    *body = (pawl_bytes){ q->in.data + q->at + sizeof head, head.size };
    q->at += sizeof head + head.size;
    return CAME;
}

static news ask(jq *q, int64_t wait_ms, jq_verb *verb, pawl_bytes *body)
{
    const int64_t until_ms = clock_ms() + wait_ms;
    news what;

    q->wait_ms = wait_ms;
    if (!jq_frame_end(&q->out))
        return NO_ROOM;
    what = child_send(q, until_ms);
    return what == CAME ? hear(q, until_ms, verb, body) : what;
}

/* ---- start ------------------------------------------------------------------------------------------------ */

/* In a process group of its own: Ctrl-C is for the parent, which may have something to finish. */
static int spawn(jq *q, int theirs)
{
    char name[] = "pawl", verb[] = "@jq", *argv[] = { name, verb, NULL }, *none[] = { NULL };
    posix_spawn_file_actions_t acts;
    posix_spawnattr_t attr;
    sigset_t signals;
    int rc;

    if ((rc = posix_spawn_file_actions_init(&acts)) != 0)
        return rc;
    if ((rc = posix_spawnattr_init(&attr)) != 0) {
        posix_spawn_file_actions_destroy(&acts);
        return rc;
    }
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attr, 0);
    sigfillset(&signals);
    sigdelset(&signals, SIGKILL);
    sigdelset(&signals, SIGSTOP);
    posix_spawnattr_setsigdefault(&attr, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attr, &signals);
    rc = posix_spawn_file_actions_adddup2(&acts, theirs, JQ_FD);
    for (int fd = 1; fd < 3 && rc == 0; fd++)
        rc = posix_spawn_file_actions_addopen(&acts, fd, "/dev/null", O_WRONLY, 0);
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(&acts, 3);
#endif
    if (rc == 0)
        rc = posix_spawn(&q->pid, q->program, &acts, &attr, argv, none);
    if (rc != 0)
        q->pid = 0;
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&acts);
    return rc;
}

static pawl_code launch(jq *q, pawl_err *err)
{
    int fd[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return fail(err, PAWL_IO, "the child for expressions: no socket for it (errno %d)", errno);
    rc = spawn(q, fd[1]);
    close(fd[1]);
    q->fd = fd[0];
    if (rc == 0)
        return PAWL_OK;
    stop(q);
    return fail(err, PAWL_IO, "the child for expressions: %s cannot be started (errno %d)", q->program, rc);
}

static pawl_code greet(jq *q, pawl_err *err)
{
    const jq_begin begin = { q->bytes, JQ_OUTPUT_BYTES_MAX, (uint64_t)q->evaluate_ms };
    char words[WORDS_BYTES], engine[sizeof q->engine] = "";
    pawl_bytes body;
    jq_verb verb;
    news what;

    jq_frame_begin(&q->out, JQ_BEGIN);
    buf_put(&q->out, &begin, sizeof begin);
    what = ask(q, q->evaluate_ms, &verb, &body);
    if (what == CAME && (verb != JQ_HELLO || body.size >= sizeof engine || (body.size > 0 && (body.size < 3 || memcmp(body.data, "jq-", 3) != 0))))
        what = GARBLED;
    if (what != CAME) {
        lost(q, what, words);
        return fail(err, PAWL_IO, "the child for expressions: %s", words);
    }
    memcpy(engine, body.data, body.size);
    if (engine[0] == '\0') {
        stop(q);
        return fail(err, PAWL_IO, "expressions need libjq: apt-get install libjq1 (plain paths such as .a.b do without)");
    }
    if (q->engine[0] != '\0' && strcmp(q->engine, engine) != 0) {
        stop(q);
        return fail(err, PAWL_IO, "libjq was %s and is %s now: end this program and start it again", q->engine, engine);
    }
    memcpy(q->engine, engine, sizeof engine);
    return PAWL_OK;
}

/* Ensures that a child is running. */
static pawl_code start(jq *q, pawl_err *err)
{
    int status;
    pawl_code rc;

    if (q->pid > 0 && waitpid(q->pid, &status, WNOHANG) == 0)
        return PAWL_OK;
    q->pid = 0;                 /* it was already reaped */
    stop(q);
    return (rc = launch(q, err)) == PAWL_OK ? greet(q, err) : rc;
}

const char *jq_engine(jq *q, pawl_err *err)
{
    pthread_mutex_lock(&q->lock);
    if (q->engine[0] == '\0')
        start(q, err);
    pthread_mutex_unlock(&q->lock);
    return q->engine;
}

/* ---- compile ------------------------------------------------------------------------------------------------ */

/* PAWL_INVALID: refused; `words` has the reason if it is a single expression. */
static pawl_code compile(jq *q, size_t from, size_t n, char words[WORDS_BYTES], pawl_err *err)
{
    pawl_code rc;

    for (int tries = 0; tries < TRIES; tries++) {
        pawl_bytes body;
        jq_verb verb;
        news what;

        if ((rc = start(q, err)) != PAWL_OK)
            return rc;
        jq_frame_begin(&q->out, JQ_COMPILE);
        buf_put(&q->out, q->texts[from], (size_t)(q->texts[from + n] - q->texts[from]));
        what = ask(q, JQ_EVALUATE_MS, &verb, &body);
        q->compiled = false;
        if (what == CAME && verb == JQ_DONE) {
            q->compiled = n == q->n;
            return PAWL_OK;
        }
        if (what == CAME && verb == JQ_WRONG) {
            snprintf(words, WORDS_BYTES, "%.*s", (int)body.size, body.data);
            return PAWL_INVALID;
        }
        lost(q, what == CAME ? GARBLED : what, words);
        if (what == NO_ROOM)
            return fail(err, PAWL_NOMEM, "no memory for the expressions");
        if (!q->outside)
            break;
    }
    return PAWL_INVALID;
}

typedef struct jq_search {
    jq_warn_fn *tell;           /* or NULL */
    void *ctx;
    size_t found;
    char words[WORDS_BYTES];
} jq_search;

static void found(jq *q, jq_search *s, size_t index, const char *words, pawl_err *err)
{
    char text[SHOWN_BYTES + 4];

    if (s->tell != NULL)
        s->tell(s->ctx, index, words);
    s->found++;
    fail(err, PAWL_INVALID, "expression \"%s\": %s", shown(q->texts[index], SHOWN_BYTES, text), words);
}

/* Finds the wrong ones among from..from+n by halves, since most are right. */
static pawl_code find(jq *q, jq_search *s, size_t from, size_t n, pawl_err *err)
{
    const size_t half = n / 2;

    if (n == 1) {
        found(q, s, from, s->words, err);
        return PAWL_OK;
    }
    for (int i = 0; i < 2; i++) {
        const size_t at = i == 0 ? from : from + half, many = i == 0 ? half : n - half;
        pawl_code rc = compile(q, at, many, s->words, err);

        if (rc == PAWL_INVALID)
            rc = find(q, s, at, many, err);
        if (rc != PAWL_OK)
            return rc;
    }
    return PAWL_OK;
}

/* Compiles all of them as one program. */
static pawl_code compile_all(jq *q, jq_warn_fn *tell, void *ctx, pawl_err *err)
{
    jq_search s = { .tell = tell, .ctx = ctx };
    char together[WORDS_BYTES + 64], words[WORDS_BYTES];
    pawl_code rc;

    if (q->n == 0)
        return PAWL_OK;
    if ((rc = start(q, err)) != PAWL_OK || q->compiled)
        return rc;
    if ((rc = compile(q, 0, q->n, s.words, err)) != PAWL_INVALID)
        return rc;
    memcpy(words, s.words, sizeof words);
    if ((rc = find(q, &s, 0, q->n, err)) != PAWL_OK)
        return rc;
    if (s.found == 0) {
        snprintf(together, sizeof together, "%zu expressions together: %s", q->n, words);
        found(q, &s, 0, together, err);
    }
    return PAWL_INVALID;
}

pawl_code jq_check(jq *q, jq_warn_fn *tell, void *ctx, pawl_err *err)
{
    pawl_code rc;

    pthread_mutex_lock(&q->lock);
    rc = compile_all(q, tell, ctx, err);
    pthread_mutex_unlock(&q->lock);
    return rc;
}

/* ---- evaluate --------------------------------------------------------------------------------------------- */

/* The integers of an input that a double cannot hold. */
typedef struct bigs {
    size_t n;
    bool minus;                 /* of the first: sign, digits, path */
    uint64_t size;
    buf path;
} bigs;

static void path_step(buf *path, const pawl_value *key, uint64_t index)
{
    buf_char(path, '/');
    if (key == NULL)
        buf_uint(path, index);
    for (const char *c = pawl_value_string(key); c != NULL && *c != '\0'; c++)
        if (*c == '~' || *c == '/')
            buf_text(path, *c == '~' ? "~0" : "~1");
        else
            buf_char(path, *c);
}

static void find_bigs(const pawl_value *v, bigs *b)
{
    const size_t size = b->path.size;
    const pawl_type type = pawl_value_type(v);
    const pawl_value *key, *item;
    pawl_iter it;

    if (type == PAWL_TYPE_INT && (pawl_value_uint(v) > JQ_EXACT_MAX || pawl_value_int(v) < -(int64_t)JQ_EXACT_MAX) && b->n++ == 0) {
        b->minus = pawl_value_int(v) < 0;
        b->size = b->minus ? 0 - (uint64_t)pawl_value_int(v) : pawl_value_uint(v);
    }
    if (type != PAWL_TYPE_ARRAY && type != PAWL_TYPE_OBJECT)
        return;
    it = pawl_iter_of(v);
    for (uint64_t i = 0; (item = pawl_iter_next(&it, &key)) != NULL; i++) {
        if (b->n == 0)
            path_step(&b->path, key, i);
        find_bigs(item, b);
        if (b->n == 0)
            b->path.size = size;
    }
}

/* The expression did more with such an integer than to pass it on. */
static pawl_code touched(const jq *q, uint32_t which, bigs *b, pawl_err *err)
{
    char at[SHOWN_BYTES + 4], text[SHOWN_BYTES + 4], more[48] = "";

    if (b->path.size == 0)
        buf_text(&b->path, "the input");
    buf_char(&b->path, '\0');
    if (b->path.failed)
        return fail(err, PAWL_NOMEM, "no memory for the input of an expression");
    if (b->n > 1)
        snprintf(more, sizeof more, ", with %zu more", b->n - 1);
    return fail(err, PAWL_EFFECT,
                "expression \"%s\": it works with an integer beyond 2^53 (%s is %s%llu%s), which jq can only pass on: take it by a plain "
                "path, or keep it as a text",
                shown(q->texts[which], SHOWN_BYTES, text), shown(b->path.data, SHOWN_BYTES, at), b->minus ? "-" : "",
                (unsigned long long)b->size, more);
}

/* Checks the size of the input, and finds its integers that are too large for a double. */
static pawl_code input_right(const jq *q, uint32_t which, pawl_bytes input, arena *a, bigs *b, pawl_err *err)
{
    char words[WORDS_BYTES];
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *v;

    if (input.size > q->bytes / 2 || input.size > INT32_MAX) {
        snprintf(words, sizeof words, "its input has %zu MiB, too much for jq", input.size >> 20);
        return wrong(q, which, words, err);
    }
    if ((v = value_parse(a, input.data, input.size, "the input of an expression", &why)) == NULL)
        return fail(err, why.code, "%s", why.text);
    find_bigs(v, b);
    return PAWL_OK;
}

/* Appends a value if Pawl accepts it. */
static pawl_code value_right(const jq *q, uint32_t which, pawl_bytes text, arena *a, buf *out, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };

    arena_reset(a);
    if (value_parse(a, text.data, text.size, "its value", &why) == NULL)
        return why.code == PAWL_NOMEM ? fail(err, PAWL_NOMEM, "%s", why.text) : wrong(q, which, why.text, err);
    buf_put(out, text.data, text.size);
    return PAWL_OK;
}

static pawl_code run(jq *q, const uint32_t *which, size_t n, pawl_bytes input, bigs *b, arena *a, buf *out, pawl_err *err)
{
    const uint32_t counts[2] = { (uint32_t)n, b->n > 0 };
    char words[WORDS_BYTES];
    pawl_bytes body;
    jq_verb verb;
    news what;
    pawl_code rc = PAWL_OK;

    jq_frame_begin(&q->out, JQ_RUN);
    buf_put(&q->out, counts, sizeof counts);
    buf_put(&q->out, which, n * sizeof *which);
    buf_put(&q->out, input.data, input.size);
    what = ask(q, q->evaluate_ms, &verb, &body);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        if (i > 0)
            what = hear(q, clock_ms() + q->evaluate_ms, &verb, &body);
        if (what == CAME && verb == JQ_WRONG) {
            snprintf(words, sizeof words, "%.*s", (int)body.size, body.data);
            return wrong(q, which[i], words, err);
        }
        if (what == CAME && verb == JQ_TOUCHED && b->n > 0)
            return touched(q, which[i], b, err);
        if (what != CAME || verb != JQ_VALUE) {
            lost(q, what == CAME ? GARBLED : what, words);
            return what == NO_ROOM ? fail(err, PAWL_NOMEM, "no memory for the value of an expression")
                                   : wrong(q, which[i], words, err);
        }
        buf_char(out, i > 0 ? ',' : '[');
        if ((rc = value_right(q, which[i], body, a, out, err)) != PAWL_OK && i + 1 < n)
            stop(q);            /* discards the remaining answers */
    }
    return rc;
}

static pawl_code evaluate(jq *q, const uint32_t *which, size_t n, pawl_bytes input, bigs *b, arena *a, buf *out, pawl_err *err)
{
    const size_t size = out->size;
    pawl_err why;
    pawl_code rc = PAWL_EFFECT;

    for (int tries = 0; tries < TRIES; tries++) {
        why = (pawl_err){ PAWL_OK, "" };
        out->size = size;
        q->outside = false;
        if ((rc = compile_all(q, NULL, NULL, &why)) == PAWL_OK)
            rc = run(q, which, n, input, b, a, out, &why);
        if (rc != PAWL_EFFECT || !q->outside)
            break;
    }
    if (rc == PAWL_OK && out->failed)
        rc = fail(&why, PAWL_NOMEM, "no memory for the values of expressions");
    if (rc == PAWL_OK)
        return PAWL_OK;
    out->size = size;
    return fail(err, rc == PAWL_INVALID ? PAWL_EFFECT : rc, "%s", why.text);
}

pawl_code jq_evaluate(jq *q, const uint32_t *which, size_t n, pawl_bytes input, buf *out, pawl_err *err)
{
    bigs b = { .n = 0 };
    pawl_code rc;
    arena a;

    for (size_t i = 0; i < n; i++)
        if (which[i] >= q->n)
            return fail(err, PAWL_INVALID, "there is no expression %u", (unsigned)which[i]);
    if (n == 0) {
        buf_text(out, "[]");
        return out->failed ? fail(err, PAWL_NOMEM, "no memory for the values of expressions") : PAWL_OK;
    }
    arena_init(&a, NULL, input.size);
    buf_init(&b.path, NULL);
    rc = input_right(q, which[0], input, &a, &b, err);
    if (rc == PAWL_OK) {
        pthread_mutex_lock(&q->lock);
        rc = evaluate(q, which, n, input, &b, &a, out, err);
        pthread_mutex_unlock(&q->lock);
        if (rc == PAWL_OK)
            buf_char(out, ']');
    }
    buf_free(&b.path);
    arena_free(&a);
    return rc == PAWL_OK && out->failed ? fail(err, PAWL_NOMEM, "no memory for the values of expressions") : rc;
}
