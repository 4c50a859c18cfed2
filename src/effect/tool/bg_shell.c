/* bg_shell.c - shells in the background: started by `bash`, read by `bash_output`, ended by `kill_shell` (A10).
 *
 * Owns the shells of one set of tools, grouped by run. Each has a thread that waits for its process, so that the process dies with this one (E18), and that
 * takes what it writes. The tools are called on any thread; the end of a run comes on the driving thread of an engine. One lock for all shells of a set: it is
 * held for the copy of an output, never while a process is waited for but by bg_shells_free().
 *
 * Invariants:
 *   H1  the state of a shell moves by shell_move() alone, under the lock
 *   H2  the thread of a shell that has ended takes the lock no more, so it is joined under the lock
 *   H3  a group of a run is in the list until the run has ended, because the engine has its address, and then until its shells have ended
 *   H4  begin <= begin + text.size, and what was read last lies in front of `read_to`: a repeated call gives it once more as long as it is kept */
#define _GNU_SOURCE
#include "effect/tool/bg_shell.h"
#include "base/regexp.h"
#include "base/sm.h"
#include "net/net.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BG_ID_BYTES = 20, BG_ID_DIGITS = 8 };

typedef enum bg_state { BG_STARTING, BG_RUNS, BG_STOPPING, BG_ENDED, BG_NOT_STARTED, BG_STATES } bg_state;

static const sm_row bg_rows[BG_STATES] = {
    [BG_STARTING]    = { "starting",    SM_TO(BG_RUNS) | SM_TO(BG_NOT_STARTED), SM_FIRST },
    [BG_RUNS]        = { "runs",        SM_TO(BG_STOPPING) | SM_TO(BG_ENDED), 0 },
    [BG_STOPPING]    = { "stopping",    SM_TO(BG_ENDED), 0 },
    [BG_ENDED]       = { "ended",       0, SM_LAST },
    [BG_NOT_STARTED] = { "not started", 0, SM_LAST },
};
static const sm_table bg_table = { "background shell", bg_rows, BG_STATES, NULL };

typedef struct bg_run bg_run;

typedef struct bg_shell {
    struct bg_shell *next;      /* of its run, the newest first */
    bg_run *run;
    char id[BG_ID_BYTES];
    uint8_t state;              /* a bg_state (H1) */
    bg_start *own;              /* given back when its process has ended; NULL then */
    pawl_job job;               /* for the process, since that of the call ends before */
    pthread_t thread;
    int stop;                   /* readable once it is to stop */
    unsigned users;             /* calls that wait for it: it is not freed meanwhile */
    buf text;                   /* the end of its output */
    uint64_t begin;             /* bytes before `text` */
    uint64_t read_from, read_to;        /* what the last call got */
    hash reader;                /* the call that got it */
    bool git_led;               /* a file was removed when it ended */
    bool writes;                /* it is not held to reading by its sandbox */
    bool for_plan;              /* it was ended because the mode became plan (P1) */
    int64_t limit_ms;
    /* how it ended */
    pawl_code rc;
    pawl_err why;
    stopped_by stopped;
    int status, signal;
} bg_shell;

struct bg_run {
    struct bg_run *next;
    bg_shells *of;
    bg_shell *shells;
    bool over;                  /* its run has ended */
    char key[];                 /* RUN~LIFE, as an invocation id begins */
};

struct bg_shells {
    pthread_mutex_t lock;
    pthread_cond_t moved;       /* a shell has changed its state */
    bg_run *runs;
};

/* ---- owned ------------------------------------------------------------------------------------------------------- */

bg_start *bg_start_new(void)
{
    bg_start *b = calloc(1, sizeof *b);

    if (b != NULL)
        arena_init(&b->mem, NULL, 4096);
    return b;
}

/* True: a git file was removed. */
static bool start_close(bg_start *b)
{
    bool led = false;

    for (size_t i = 0; i < b->ngit; i++)
        led = git_guard_close(b->git[i]) || led;
    sandbox_close(&b->in);
    pawl_policy_free(b->ways);
    arena_free(&b->mem);
    free(b);
    return led;
}

void bg_start_drop(bg_start *b)
{
    if (b != NULL)
        (void)start_close(b);
}

bg_shells *bg_shells_new(void)
{
    bg_shells *all = calloc(1, sizeof *all);

    if (all != NULL) {
        pthread_mutex_init(&all->lock, NULL);
        pthread_cond_init(&all->moved, NULL);
    }
    return all;
}

static void shell_move(bg_shell *s, bg_state to)
{
    sm_move(&bg_table, &s->state, to, s);
    pthread_cond_broadcast(&s->run->of->moved);
}

static bool shell_is_over(const bg_shell *s) { return s->state == BG_ENDED || s->state == BG_NOT_STARTED; }

/* Waits until it is in another state. Under the lock, which is given up meanwhile. */
static void shell_wait(bg_shell *s, uint64_t states)
{
    s->users++;
    while ((SM_TO(s->state) & states) != 0)
        pthread_cond_wait(&s->run->of->moved, &s->run->of->lock);
    s->users--;
}

/* Takes the shell out of its run. It has ended, or has no thread. Under the lock. */
static void shell_free(bg_shell *s, bool joins)
{
    bg_shell **at = &s->run->shells;

    if (joins)
        pthread_join(s->thread, NULL);  /* H2 */
    while (*at != NULL && *at != s)
        at = &(*at)->next;
    if (*at == s)
        *at = s->next;
    bg_start_drop(s->own);
    if (s->stop >= 0)
        close(s->stop);
    buf_free(&s->text);
    free(s);
}

/* Under the lock. */
static void shell_stop(bg_shell *s)
{
    const uint64_t one = 1;

    if (s->state == BG_RUNS)
        shell_move(s, BG_STOPPING);
    if (!shell_is_over(s) && write(s->stop, &one, sizeof one) != sizeof one)
        return;                 /* cannot happen: the counter of an eventfd is far from its end */
}

/* Frees groups of runs that have ended, once their shells have (H3). Under the lock. */
static void runs_sweep(bg_shells *all)
{
    for (bg_run **at = &all->runs, *r; (r = *at) != NULL; ) {
        for (bg_shell *s = r->over ? r->shells : NULL, *next; s != NULL; s = next) {
            next = s->next;
            if (shell_is_over(s) && s->users == 0)
                shell_free(s, true);
        }
        if (!r->over || r->shells != NULL) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r);
    }
}

/* Called by the engine: when the run has ended, when another engine took it, and after its commits in plan mode, where no shell may go on that writes (P1). */
static void run_ends(void *ctx, pawl_left_why why)
{
    bg_run *r = ctx;
    bg_shells *all = r->of;
    const bool plan = why == PAWL_LEFT_PLAN;

    pthread_mutex_lock(&all->lock);
    r->over = r->over || !plan;
    for (bg_shell *s = r->shells; s != NULL; s = s->next) {
        if (plan && !s->writes)
            continue;
        s->for_plan = s->for_plan || (plan && (s->state == BG_STARTING || s->state == BG_RUNS));
        shell_stop(s);
    }
    if (!plan)
        runs_sweep(all);        /* may free `r` */
    pthread_mutex_unlock(&all->lock);
}

void bg_shells_free(bg_shells *all)
{
    if (all == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    for (bg_run *r = all->runs; r != NULL; r = r->next) {
        r->over = true;         /* the engine is gone, and with it the address */
        for (bg_shell *s = r->shells; s != NULL; s = s->next)
            shell_stop(s);
    }
    for (runs_sweep(all); all->runs != NULL; runs_sweep(all))
        pthread_cond_wait(&all->moved, &all->lock);
    pthread_mutex_unlock(&all->lock);
    pthread_cond_destroy(&all->moved);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- its thread ---------------------------------------------------------------------------------------------------- */

static void text_trim(bg_shell *s, size_t most)
{
    const size_t gone = s->text.size > most ? s->text.size - most : 0;

    if (gone == 0)
        return;
    memmove(s->text.data, s->text.data + gone, most);
    s->text.size = most;
    s->begin += gone;
}

/* Up to twice the limit is held, so that bytes are moved rarely. */
static void on_output(void *ctx, const char *data, size_t size)
{
    bg_shell *s = ctx;

    pthread_mutex_lock(&s->run->of->lock);
    if (s->text.size + size > 2 * (size_t)BG_KEPT_BYTES)
        text_trim(s, BG_KEPT_BYTES);
    buf_put(&s->text, data, size);
    if (s->text.failed) {       /* no memory: it counts as dropped */
        s->begin += s->text.size + size;
        buf_reset(&s->text);
    }
    pthread_mutex_unlock(&s->run->of->lock);
}

static void on_start(void *ctx)
{
    bg_shell *s = ctx;

    pthread_mutex_lock(&s->run->of->lock);
    shell_move(s, BG_RUNS);
    pthread_mutex_unlock(&s->run->of->lock);
}

static void *shell_main(void *arg)
{
    bg_shell *s = arg;
    bg_start *own = s->own;
    process *p = &own->p;
    pawl_err why = {0};
    const pawl_code rc = process_run(p, &why);
    const process was = *p;
    bool led;

    buf_free(&p->out);
    buf_free(&p->err);
    led = start_close(own);
    pthread_mutex_lock(&s->run->of->lock);
    s->own = NULL;
    s->git_led = led;
    s->rc = rc;
    s->why = why;
    s->stopped = was.stopped;
    s->status = was.status;
    s->signal = was.signal;
    shell_move(s, s->state == BG_STARTING ? BG_NOT_STARTED : BG_ENDED);
    pthread_mutex_unlock(&s->run->of->lock);
    return NULL;
}

/* Signals are for the threads of the host. */
static bool thread_start(bg_shell *s)
{
    sigset_t all, before;
    bool runs;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    runs = pthread_create(&s->thread, NULL, shell_main, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

/* ---- started ------------------------------------------------------------------------------------------------------- */

/* The group of the call's run; NULL: none yet. Under the lock. */
static bg_run *run_of(const tool_call *c)
{
    const size_t n = c->job->id != NULL ? strcspn(c->job->id, "/") : 0;
    bg_run *r = c->bg->runs;

    while (r != NULL && (r->over || strlen(r->key) != n || memcmp(r->key, c->job->id, n) != 0))
        r = r->next;
    return n > 0 ? r : NULL;
}

static bg_run *run_made(tool_call *c, pawl_code *rc)
{
    const size_t n = strcspn(c->job->id, "/");
    bg_run *r = calloc(1, sizeof *r + n + 1);

    if (r == NULL) {
        *rc = tool_nomem(c);
        return NULL;
    }
    memcpy(r->key, c->job->id, n);
    r->of = c->bg;
    if ((*rc = c->job->outlive(c->job, run_ends, r)) == PAWL_OK) {
        r->next = c->bg->runs;
        return c->bg->runs = r;
    }
    free(r);
    *rc = *rc == PAWL_NOMEM ? tool_nomem(c) : pawl_reply_fail(c->r, *rc, "%s: canceled", c->job->effect);
    return NULL;
}

static bg_shell *shell_find(const bg_run *r, const char *id)
{
    bg_shell *s = r != NULL ? r->shells : NULL;

    while (s != NULL && strcmp(s->id, id) != 0)
        s = s->next;
    return s;
}

/* Room for one more. False: the run has as many as it may have. */
static bool room_made(bg_run *r)
{
    bg_shell *oldest = NULL;
    size_t n = 0, running = 0;

    for (bg_shell *s = r->shells; s != NULL; s = s->next) {
        n++;
        running += !shell_is_over(s);
        if (shell_is_over(s) && s->users == 0)
            oldest = s;
    }
    if (running >= BG_SHELLS_MAX)
        return false;
    if (n >= BG_RECORDS_MAX && oldest != NULL)
        shell_free(oldest, true);
    return true;
}

/* The id follows from that of the call, so no two calls of a run share one, before and after a restart. */
static bg_shell *shell_made(const tool_call *c, bg_run *r, bg_start *b)
{
    bg_shell *s = calloc(1, sizeof *s);
    char hex[HASH_HEX + 1];
    hash h;

    if (s == NULL)
        return NULL;
    hash_of(c->job->id, strlen(c->job->id), &h);
    hash_hex(&h, hex);
    snprintf(s->id, sizeof s->id, "bash_%.*s", BG_ID_DIGITS, hex);
    s->run = r;
    buf_init(&s->text, NULL);
    if ((s->stop = eventfd(0, EFD_CLOEXEC)) < 0) {
        free(s);
        return NULL;
    }
    s->own = b;
    s->limit_ms = b->limit_ms;
    s->writes = b->writes;
    s->job = (pawl_job){ .effect = "bash", .cancel_fd = s->stop };
    b->p.job = &s->job;
    b->p.output_bytes = 0;
    b->p.heard = on_output;
    b->p.began = on_start;
    b->p.heard_ctx = s;
    b->p.until_ms = b->limit_ms > 0 ? clock_ms() + b->limit_ms : INT64_MAX;
    buf_init(&b->p.out, NULL);
    buf_init(&b->p.err, NULL);
    sm_begin(&bg_table, &s->state, BG_STARTING, s);
    s->next = r->shells;
    r->shells = s;
    return s;
}

/* Under the lock; `b` is owned by the shell, or dropped. NULL: the reply has the error. */
static bg_shell *shell_begin(tool_call *c, bg_start *b, pawl_code *rc)
{
    bg_run *r = run_of(c);
    bg_shell *s = NULL;

    if (r == NULL && (r = run_made(c, rc)) == NULL) {
        ;                       /* the reply has the error */
    } else if (!room_made(r)) {
        *rc = tool_error(c, "%d shells run in the background already, as many as there may be (BG_SHELLS_MAX): end one with kill_shell", BG_SHELLS_MAX);
    } else if ((s = shell_made(c, r, b)) == NULL) {
        *rc = tool_nomem(c);
    } else if (!thread_start(s)) {
        *rc = tool_error(c, "IO error: no thread is left for a shell in the background");
        shell_free(s, false);   /* drops `b`, too */
        return NULL;
    }
    if (s == NULL)
        bg_start_drop(b);
    return s;
}

pawl_code bg_start_go(tool_call *c, bg_start *b)
{
    pawl_code rc = PAWL_OK;
    bg_shell *s;

    if (c->job->outlive == NULL || c->job->id == NULL) {
        bg_start_drop(b);
        return tool_error(c, "A command cannot run in the background here: what performs this call ends with it. Run it without run_in_background");
    }
    pthread_mutex_lock(&c->bg->lock);
    runs_sweep(c->bg);
    if ((s = shell_begin(c, b, &rc)) != NULL) {
        shell_wait(s, SM_TO(BG_STARTING));
        if (s->state == BG_NOT_STARTED) {
            rc = s->rc == PAWL_NOMEM ? tool_nomem(c) : tool_error(c, "IO error: %s", s->why.text);
            shell_free(s, true);
        } else {
            buf_fmt(&c->out, "The command runs in the background as %s. bash_output reads what it writes, kill_shell ends it.", s->id);
            rc = PAWL_PENDING;
        }
    }
    pthread_mutex_unlock(&c->bg->lock);
    return rc == PAWL_PENDING ? tool_text(c, CUT_END, false) : rc;
}

/* ---- asked ------------------------------------------------------------------------------------------------------------ */

/* A shell ends with the process that started it, so that of another one is known by nothing but its id. */
static pawl_code no_shell(tool_call *c, const bg_run *r, const char *id)
{
    buf all;
    pawl_code rc;

    buf_init(&all, NULL);
    for (const bg_shell *s = r != NULL ? r->shells : NULL; s != NULL; s = s->next)
        if (!shell_is_over(s))
            buf_fmt(&all, "%s%s", all.size > 0 ? ", " : "", s->id);
    buf_char(&all, '\0');
    rc = tool_error(c, "There is no shell %.40s here. One that an earlier process of pawl started has ended with that process, one of this "
                    "process when another one took the run, and what it wrote and nobody read is lost. %s%s", id, all.failed || all.size == 1 ? "No shell of this run is running" : "These are running: ", all.failed ? "" : all.data);
    buf_free(&all);
    return rc;
}

static void state_put(buf *out, const bg_shell *s)
{
    buf_fmt(out, "%s ", s->id);
    if (s->state == BG_STARTING || s->state == BG_RUNS)
        buf_text(out, "is running");
    else if (s->state == BG_STOPPING)
        buf_fmt(out, "is being ended%s", s->for_plan ? ": the mode became plan" : "");
    else if (s->rc != PAWL_OK)
        buf_fmt(out, "has ended: %s", s->why.text);
    else if (s->stopped == STOPPED_TIMEOUT)
        buf_fmt(out, "was ended after %lld ms", (long long)s->limit_ms);
    else if (s->stopped == STOPPED_CANCEL)
        buf_text(out, s->for_plan ? "was ended: the mode became plan, in which nothing is written" : "was ended by kill_shell");
    else if (s->signal != 0)
        buf_fmt(out, "was ended by signal %d", s->signal);
    else
        buf_fmt(out, "has ended with exit code %d", s->status);
    buf_char(out, '\n');
}

/* Whole characters; with a filter whole lines, as long as it may write more. */
static size_t readable(const bg_shell *s, const char *data, size_t size, bool lines)
{
    if (shell_is_over(s))
        return size;
    while (lines && size > 0 && data[size - 1] != '\n')
        size--;
    return cut_end(data, size);
}

static void lines_put(buf *out, const char *data, size_t size, const re_program *filter)
{
    const size_t before = out->size;

    for (size_t at = 0, n; at < size; at += n) {
        const char *nl = memchr(data + at, '\n', size - at);

        n = nl != NULL ? (size_t)(nl - data) - at + 1 : size - at;
        if (re_found(filter, data + at, nl != NULL ? n - 1 : n))
            buf_put(out, data + at, n);
    }
    if (out->size == before)
        buf_text(out, "(no new line fits the filter)\n");
}

/* The output since the last call; a repeated attempt of that call gets it once more (H4). Under the lock. */
static void output_put(tool_call *c, bg_shell *s, const re_program *filter)
{
    const char *data;
    uint64_t from, lost;
    size_t at, n;
    hash h;

    hash_of(c->job->id, strlen(c->job->id), &h);
    if (memcmp(&h, &s->reader, sizeof h) != 0) {
        s->read_from = s->read_to;
        text_trim(s, s->read_from > s->begin ? s->text.size - (size_t)(s->read_from - s->begin) : s->text.size);
    }
    s->reader = h;
    from = s->read_from;
    lost = s->begin > from ? s->begin - from : 0;
    at = (size_t)(from + lost - s->begin);
    data = s->text.size > 0 ? s->text.data + at : "";
    n = readable(s, data, s->text.size - at, filter != NULL);
    s->read_to = from + lost + n;
    if (lost > 0) {
        const size_t torn = cut_begin(data, n);

        buf_fmt(&c->out, "[%llu bytes were dropped here: of what nobody has read at least the last %d are kept]\n", (unsigned long long)(lost + torn),
                BG_KEPT_BYTES);
        data += torn;
        n -= torn;
    }
    if (n == 0)
        buf_text(&c->out, "(no new output)\n");
    else if (filter != NULL)
        lines_put(&c->out, data, n, filter);
    else
        buf_put(&c->out, data, n);
    if (shell_is_over(s) && s->git_led)
        snprintf(c->note, sizeof c->note, "%s", GIT_GUARD_NOTE);
}

pawl_code tool_bash_output(tool_call *c)
{
    const char *id = input_text(c, "bash_id"), *expr = input_text(c, "filter"), *why = NULL;
    re_program *filter = expr != NULL ? arena_get(&c->mem, sizeof *filter) : NULL;
    pawl_code rc = PAWL_OK;
    bg_shell *s;

    if (c->mem.failed)
        return tool_nomem(c);
    if (expr != NULL && !re_compile(filter, expr, true, &why))
        return tool_error(c, "Invalid arguments: \"filter\": %s", why);
    pthread_mutex_lock(&c->bg->lock);
    if ((s = shell_find(run_of(c), id)) == NULL) {
        rc = no_shell(c, run_of(c), id);
    } else {
        state_put(&c->out, s);
        output_put(c, s, filter);
    }
    pthread_mutex_unlock(&c->bg->lock);
    return s == NULL ? rc : tool_text(c, CUT_MIDDLE, false);
}

/* Waits for its end, which comes within the grace of process.c. */
pawl_code tool_kill_shell(tool_call *c)
{
    const char *id = input_text(c, "shell_id");
    pawl_code rc = PAWL_OK;
    bg_shell *s;

    pthread_mutex_lock(&c->bg->lock);
    if ((s = shell_find(run_of(c), id)) == NULL) {
        rc = no_shell(c, run_of(c), id);
    } else {
        shell_stop(s);
        shell_wait(s, SM_TO(BG_STARTING) | SM_TO(BG_RUNS) | SM_TO(BG_STOPPING));
        state_put(&c->out, s);
    }
    pthread_mutex_unlock(&c->bg->lock);
    return s == NULL ? rc : tool_text(c, CUT_END, false);
}
