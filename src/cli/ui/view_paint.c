/* view_paint.c - a thread that reads a run's items while another one drives the run, and paints the picture on stderr.
 *
 * Owns viewing. view_begin() and view_end() are called on the thread that drives; everything else is done by the thread that paints, which owns the
 * picture and the reader; `lock` protects what its comment says. Invariant: each final line is written once.
 *
 * On a terminal final lines scroll away, and the changing lines are painted again in place below them. Each painting is one write that first hides the
 * cursor and last shows it: however the program ends, the terminal is usable. The cursor is below the last line, so text that is typed meanwhile is
 * painted over. */
#include "cli/ui/view.h"
#include "cli/ui/format.h"
#include "engine/run/query.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PAINT_MS = 100,             /* between two paintings */
    LOOK_MS = PAINT_MS / 2,     /* between two looks at the items: a wake-up for each change would cost more than most changes */
    QUIET_MS = 50,              /* nothing is painted before: most short runs have ended by then */
    OPEN_MS = 2,                /* between two tries to open a run that has not started */
    PAST_ENTRIES = 2000,        /* of an older run at most so many past entries are read */
    ROWS = 24, ROWS_LEAST = 4
};

struct viewing {
    pawl_engine *e;
    view *v;
    bool live;                  /* a terminal: lines are painted */
    bool fresh;                 /* the run did not exist before */
    pthread_t thread;
    pthread_mutex_t lock;       /* protects the next two */
    pthread_cond_t woken;
    bool stop;
    char from[32], past[64];    /* cursors: where reading begins, where the past ends; "": at the beginning */
    int64_t begun_ms, painted_ms;
    int64_t resumed_ms;         /* when the past ended, by the system's clock */
    buf out, drawn, next;       /* what is written; the changing lines on the screen, and the new ones */
    int columns;                /* for which they were drawn */
    char run[RUN_ID_BYTES];
};

static atomic_int looking;         /* number of views that are shown */
static atomic_bool stopping;

static int64_t clock_in_ms(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- painting ------------------------------------------------------------------------------------------ */

static void write_all(const buf *b)
{
    for (size_t at = 0; at < b->size;) {
        ssize_t n = write(STDERR_FILENO, b->data + at, b->size - at);

        if (n <= 0)
            return;
        at += (size_t)n;
    }
}

static int rows_of_terminal(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 ? ROWS : size.ws_row < ROWS_LEAST ? ROWS_LEAST : size.ws_row;
}

/* Rows that the changing lines occupy now: a terminal that became narrower has wrapped them. */
static int rows_drawn(const viewing *w, int columns)
{
    const char *at = w->drawn.data, *end = at == NULL ? NULL : at + w->drawn.size;      /* NULL: nothing was drawn yet */
    int rows = 0;

    while (at < end) {
        size_t size = 0;
        const char *nl = memchr(at, '\n', (size_t)(end - at));

        for (bool sgr = false; at < nl; at++) {
            sgr = sgr || *at == '\x1b';
            size += !sgr && ((unsigned char)*at & 0xc0) != 0x80;
            sgr = sgr && *at != 'm';
        }
        rows += columns < w->columns && size > (size_t)columns ? (int)((size + (size_t)columns - 1) / (size_t)columns) : 1;
        at = nl + 1;
    }
    return rows;
}

static void paint(viewing *w, bool last)
{
    int columns = cli_columns(STDERR_FILENO), up = rows_drawn(w, columns);
    size_t head;
    buf was = w->drawn;

    buf_reset(&w->out);
    buf_text(&w->out, "\x1b[?25l\r");
    if (up > 0)
        buf_fmt(&w->out, "\x1b[%dA", up);
    buf_text(&w->out, "\x1b[J");
    head = w->out.size;
    view_past(w->v, columns - 1, false, &w->out);
    buf_reset(&w->next);
    if (!last)
        view_draw(w->v, clock_in_ms(CLOCK_REALTIME), columns - 1, rows_of_terminal() - 1, &w->next);
    if (w->out.size == head && columns == w->columns && was.size == w->next.size &&
        (was.size == 0 || memcmp(was.data, w->next.data, was.size) == 0))
        return;
    buf_put(&w->out, w->next.data, w->next.size);
    buf_text(&w->out, "\x1b[?25h");
    if (w->out.failed || w->next.failed)
        return;
    write_all(&w->out);
    w->columns = columns;
    w->drawn = w->next;
    w->next = was;
}

/* The picture is painted as often as a person can see a change. */
static void show(viewing *w, bool last)
{
    int64_t now = clock_in_ms(CLOCK_MONOTONIC);

    if (atomic_exchange(&stopping, false))
        view_stop(w->v);
    if (!w->live) {
        buf_reset(&w->out);
        view_past(w->v, COLUMNS_ANY, true, &w->out);
        if (!w->out.failed)
            write_all(&w->out);
        return;
    }
    if (!last && (now - w->begun_ms < QUIET_MS || now - w->painted_ms < PAINT_MS))
        return;
    paint(w, last);
    w->painted_ms = now;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

static void past_end(viewing *w)
{
    if (*w->past != '\0')
        view_resume(w->v, w->resumed_ms);
    *w->past = '\0';
}

static bool is_past(viewing *w, const pawl_item_change *c)
{
    unsigned long long seq, index;

    if (*w->past == '\0')
        return false;
    if (sscanf(w->past, "%llu.%llu", &seq, &index) == 2 && (c->seq < seq || (c->seq == seq && c->index <= index)) && c->live == 0)
        return true;
    past_end(w);
    return false;
}

static void feed(viewing *w, pawl_items *r, const pawl_item_change *c)
{
    const bool past = is_past(w, c);
    const char *json = view_reads(c) ? pawl_items_json(r, NULL) : NULL;

    (void)view_feed(w->v, c, json != NULL ? json : "null");
    if (past)
        view_past(w->v, 0, true, NULL);
}

/* Sleeps unless it is stopped. True: it was stopped. */
static bool stopped_after(viewing *w, int64_t ms)
{
    struct timespec until;
    bool stop;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && pthread_cond_timedwait(&w->woken, &w->lock, &until) == 0)
        continue;
    stop = w->stop;
    pthread_mutex_unlock(&w->lock);
    return stop;
}

/* Opens the items once the run exists. NULL: it was stopped before. */
static pawl_items *opened(viewing *w)
{
    const pawl_items_options options = { .from = *w->from != '\0' ? w->from : NULL, .kinds = VIEW_KINDS };
    pawl_items *r;
    bool last;

    if (w->fresh)               /* a run that ends before that needs no read of the store */
        (void)stopped_after(w, LOOK_MS);
    do {
        pthread_mutex_lock(&w->lock);
        last = w->stop;
        pthread_mutex_unlock(&w->lock);
        r = pawl_items_open(w->e, NULL, w->run, &options, NULL);
    } while (r == NULL && !last && (stopped_after(w, OPEN_MS), true));
    return r;
}

static void *view_follow(void *arg)
{
    viewing *w = arg;
    pawl_items *r = opened(w);
    pawl_item_change change;
    pawl_code rc;

    if (r == NULL) {
        show(w, true);
        return NULL;
    }
    do {
        while ((rc = pawl_items_next(r, &change, NULL)) == PAWL_OK) {
            feed(w, r, &change);
            if (*w->past == '\0')
                show(w, false);
        }
        if (rc == PAWL_PENDING || rc == PAWL_HALTED)
            past_end(w);        /* that was all of it */
        if (*w->past == '\0')
            show(w, false);
    } while (!stopped_after(w, LOOK_MS));
    while (pawl_items_next(r, &change, NULL) == PAWL_OK)
        feed(w, r, &change);
    show(w, true);
    pawl_items_close(r);
    return NULL;
}

/* ---- begun and ended -------------------------------------------------------------------------------------- */

/* The past of an existing run is read, for what is open in it, but not shown. The engine or a stream tells where it ends without reading it. */
static void past_find(viewing *w)
{
    unsigned long long seq = run_next_seq(w->e, w->run);
    pawl_stream *r = NULL;

    if (seq > 0)
        snprintf(w->past, sizeof w->past, "%llu.0", seq);
    else if ((r = pawl_stream_open(w->e, NULL, w->run, &(pawl_stream_options){ .from = "now", .kinds = PAWL_STREAM_TASKS }, NULL)) != NULL)
        snprintf(w->past, sizeof w->past, "%s", pawl_stream_cursor(r));
    w->fresh = seq == 0 && r == NULL;
    if (sscanf(w->past, "%llu", &seq) == 1 && seq > PAST_ENTRIES)
        snprintf(w->from, sizeof w->from, "%llu.0", seq - PAST_ENTRIES);
    pawl_stream_close(r);
}

static void viewing_free(viewing *w)
{
    atomic_fetch_sub(&looking, 1);
    view_free(w->v);
    buf_free(&w->out);
    buf_free(&w->drawn);
    buf_free(&w->next);
    pthread_cond_destroy(&w->woken);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

viewing *view_begin(cli_call *c, pawl_engine *e, const char *run)
{
    const char *term = getenv("TERM");
    viewing *w = calloc(1, sizeof *w);
    pthread_condattr_t attr;
    pawl_code live;

    if (w == NULL)
        return NULL;
    w->e = e;
    w->live = c->err_tty && term != NULL && strcmp(term, "dumb") != 0;
    w->v = view_new(c->err_colour);
    w->begun_ms = clock_in_ms(CLOCK_MONOTONIC);
    w->resumed_ms = clock_in_ms(CLOCK_REALTIME);
    snprintf(w->run, sizeof w->run, "%s", run);
    buf_init(&w->out, NULL);
    buf_init(&w->drawn, NULL);
    buf_init(&w->next, NULL);
    w->columns = cli_columns(STDERR_FILENO);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->woken, &attr);
    pthread_condattr_destroy(&attr);
    past_find(w);
    /* from now on live events are kept, so that a reader that is opened after an attempt started gets them */
    live = pawl_engine_live(e, 0, 0, NULL);
    atomic_fetch_add(&looking, 1);
    if (w->v != NULL && (live == PAWL_OK || live == PAWL_CONFLICT) && pthread_create(&w->thread, NULL, view_follow, w) == 0)
        return w;
    viewing_free(w);
    return NULL;
}

bool view_stopping(void)
{
    if (atomic_load(&looking) == 0)
        return false;
    atomic_store(&stopping, true);
    return true;
}

void view_end(viewing *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->woken);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    viewing_free(w);
}
