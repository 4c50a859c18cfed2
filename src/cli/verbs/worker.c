/* worker.c - `pawl worker`: drives every run of a store that has something to do, by the file that it keeps.
 *
 * The main thread asks the store which runs are due, finds the machine of each, and starts the driver of that machine (machine_driver.h), which takes
 * the runs itself. A driver without due runs has no thread; one that was not used for a while, or whose place another machine needs, is closed. At most
 * DRIVERS_MAX are open at once; other machines wait until one is idle. Owned here, and used by the main thread alone: the list of drivers and the table
 * of due runs. Signal handlers only count; the main thread acts. */
#include "cli/exporting.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"
#include "cli/verbs/machine_driver.h"
#include "cli/verbs/worker.h"
#include "engine/run/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    DRIVERS_MAX = 64,           /* engines that are open at once */
    UNUSED_MS = 60000,          /* then an idle driver is closed */
    DUE_MAX = 1000,             /* runs that are read from the store at a time */
    LOOK_MS = 200,              /* between two looks at the store */
    SIGNAL_MS = 50,             /* a signal is noticed after at most so long */
    LOADS_MAX = 32,             /* runs whose machine is determined in one look, by loading their state */
    SIGHTS_LEAST = 2,           /* number of times that a run is seen due before it is loaded while its machine may be at work */
    KNOWN_MAX = 16384,          /* runs that are remembered */
    VAIN_ROUNDS_MAX = 8,        /* of `--once`: rounds in a row in which nothing was stored */
    AGAIN_MS = 60000,           /* a run that no machine here can drive is tried again after this, even if unchanged */
    AGAIN_FIRST_MS = 1000       /* if its machine could not be opened: the first retry, doubled each time */
};

/* A due run, as it was when its machine was determined. */
typedef struct known_run {
    uint64_t no;                /* 0: the slot is free */
    uint64_t driver;            /* serial of its driver; 0: not determined, or none */
    uint64_t seq;
    int64_t changed_ms, again_ms, pause_ms;
    uint32_t mail, sights;
    bool loaded;                /* its machine was determined in that state */
    bool tried;                 /* and its driver could do nothing */
} known_run;

typedef struct dispatcher {
    cli_call *c;
    pawl_store *store;
    driver_board board;
    driver *drivers[DRIVERS_MAX];
    size_t ndrivers;
    uint64_t serials;
    bool named;                 /* files were given: only their runs are driven */
    bool crowded;               /* a machine waits for a place, and this was printed */
    known_run *known;           /* open addressing */
    size_t nknown;
    pawl_due deep;              /* how far the runs after the first DUE_MAX were read; no 0: from their beginning */
    atomic_int *asked;          /* how often it was told to end; NULL: by signals */
    int signals;                /* number of those that were handled */
    int code;                   /* exit code of the first driver that gave up or failed */
} dispatcher;

static volatile sig_atomic_t ended, ended_times;

static void on_end(int sig)
{
    static const char drains[] = "stopping: running commands end first; Ctrl-C again stops at once\n";
    const int kept = errno;

    ended = sig;
    if (ended_times++ == 0)
        (void)!write(STDERR_FILENO, drains, sizeof drains - 1);
    errno = kept;
}

/* Handles signals. True: the worker ends. */
static bool ending(dispatcher *w)
{
    const int times = w->asked != NULL ? atomic_load(w->asked) : ended_times;

    if (times == w->signals)
        return times > 0;
    w->signals = times;
    w->board.stop = true;
    for (size_t i = 0; i < w->ndrivers; i++)
        if (times > 1)
            pawl_engine_abandon(w->drivers[i]->s->engine);
        else
            pawl_engine_drain(w->drivers[i]->s->engine);
    return true;
}

/* ---- drivers ------------------------------------------------------------------------------------------------ */

static void drop(dispatcher *w, size_t i)
{
    driver_close(w->drivers[i]);
    w->drivers[i] = w->drivers[--w->ndrivers];
}

/* Closes the driver that was idle for longest. False: all are at work. */
static bool make_place(dispatcher *w)
{
    size_t oldest = w->ndrivers;

    for (size_t i = 0; i < w->ndrivers; i++)
        if (driver_now(w->drivers[i]) == DRIVER_IDLE && (oldest == w->ndrivers || w->drivers[i]->used_ms < w->drivers[oldest]->used_ms))
            oldest = i;
    if (oldest == w->ndrivers) {
        if (!w->crowded)
            cli_note(w->c, "%d machines are at work at once (DRIVERS_MAX): the others wait until one of them has nothing to do", DRIVERS_MAX);
        w->crowded = true;
        return false;
    }
    drop(w, oldest);
    return true;
}

/* Takes `s`. NULL: no memory. The caller has made a place. */
static driver *add_driver(dispatcher *w, session *s)
{
    driver *d = driver_new(&w->board, s);

    if (d == NULL)
        return NULL;
    d->serial = ++w->serials;
    w->drivers[w->ndrivers++] = d;
    return d;
}

static driver *driver_of(const dispatcher *w, uint64_t serial)
{
    for (size_t i = 0; i < w->ndrivers; i++)
        if (serial != 0 && w->drivers[i]->serial == serial)
            return w->drivers[i];
    return NULL;
}

static driver *driver_with(const dispatcher *w, const char *digest)
{
    for (size_t i = 0; i < w->ndrivers; i++)
        if (strcmp(pawl_machine_hash(w->drivers[i]->s->machine), digest) == 0)
            return w->drivers[i];
    return NULL;
}

static driver *driver_under(const dispatcher *w, const pawl_state *st)
{
    for (size_t i = 0; i < w->ndrivers; i++)
        if (driver_fits(w->drivers[i], st))
            return w->drivers[i];
    return NULL;
}

/* The only driver of a machine with that name; NULL: none, or several. */
static driver *driver_named(const dispatcher *w, const char *machine)
{
    driver *one = NULL;

    for (size_t i = 0; i < w->ndrivers; i++)
        if (driver_has(w->drivers[i], machine)) {
            if (one != NULL)
                return NULL;
            one = w->drivers[i];
        }
    return one;
}

static void start(dispatcher *w, driver *d)
{
    if (driver_now(d) == DRIVER_IDLE && !ending(w))
        (void)driver_start(d);          /* no thread now: the next look tries again */
}

/* Joins threads that have returned, and closes engines that are not needed. */
static void tidy(dispatcher *w)
{
    for (size_t i = w->ndrivers; i-- > 0;) {
        driver *d = w->drivers[i];

        if (driver_now(d) == DRIVER_RETURNED) {
            driver_join(d);
            if (d->rc != PAWL_OK && w->code == EXIT_DONE && (w->board.once || ending(w)))
                w->code = cli_exit_of_error(d->rc);
            if (driver_gave_up(d) && !w->named) {
                drop(w, i);
                continue;
            }
        }
        if (driver_now(d) == DRIVER_IDLE && !w->named && driver_clock_ms() - d->used_ms > UNUSED_MS)
            drop(w, i);
    }
    w->crowded = w->crowded && w->ndrivers == DRIVERS_MAX;
}

/* `s`: the file, if it was loaded before; it is taken. */
static int open_file(dispatcher *w, const char *path, session *s)
{
    pawl_err err = {0};
    pawl_store *store;
    int code;

    if (w->ndrivers == DRIVERS_MAX) {
        session_free(s);
        return cli_usage(w->c, "%d files at most (DRIVERS_MAX)", DRIVERS_MAX);
    }
    if (s == NULL && (s = session_of_file(w->c, path, &code)) == NULL)
        return code;
    store = cli_store(w->c, true, &err);
    if (store == NULL || session_open(s, store, &err) != PAWL_OK) {
        session_free(s);
        return cli_fail(w->c, err.code < 0 ? err.code : PAWL_IO, &err);
    }
    return add_driver(w, s) != NULL ? EXIT_DONE : EXIT_FAILED;
}

/* The driver of the run's machine, opened if necessary; NULL: the error of its file was printed, there is no place (*full), or the run is gone. */
static driver *driver_for(dispatcher *w, const char *run, bool *full)
{
    pawl_err err = {0};
    pawl_state *st = NULL;
    driver *d = NULL;
    pawl_store *store;
    session *s;
    int code;

    *full = false;
    if (pawl_history_state(w->store, run, 0, &st, &err) == PAWL_OK)
        d = driver_under(w, st);
    pawl_state_free(st);
    if (d != NULL || w->named)
        return d;
    if ((*full = w->ndrivers == DRIVERS_MAX && !make_place(w)))
        return NULL;
    store = cli_store(w->c, false, &err);
    if (store == NULL || (s = session_of_run_in(w->c, store, run, NULL, &code)) == NULL)
        return NULL;
    if ((d = driver_with(w, pawl_machine_hash(s->machine))) != NULL) {
        session_free(s);
        return d;
    }
    return add_driver(w, s);
}

/* ---- which runs are due ----------------------------------------------------------------------------------------- */

typedef struct due_batch {       /* what the store listed, copied: the handle cannot be used during the listing */
    arena mem;
    pawl_head *heads;
    size_t n, loads;
    bool more;                  /* a due run has a driver that was started, or waits for a place */
} due_batch;

static bool copy_head(void *ctx, const pawl_head *head)
{
    due_batch *l = ctx;
    pawl_head *to = &l->heads[l->n];

    *to = *head;
    to->run = arena_text(&l->mem, head->run);
    to->machine = arena_text(&l->mem, head->machine);
    l->n += to->run != NULL && to->machine != NULL;
    return !l->mem.failed && l->n < DUE_MAX;
}

/* Its holder was a process of this machine that is dead: its lease need not expire first. */
static bool copy_dead(void *ctx, const pawl_head *head)
{
    return head->owner == NULL || !owner_dead(head->owner) || copy_head(ctx, head);
}

static bool list_begin(due_batch *l)
{
    *l = (due_batch){0};
    arena_init(&l->mem, NULL, 65536);
    l->heads = arena_get(&l->mem, DUE_MAX * sizeof *l->heads);
    return l->heads != NULL;
}

static known_run *known_place(dispatcher *w, uint64_t no)
{
    size_t i = (size_t)(no * UINT64_C(0x9E3779B97F4A7C15) >> 32);

    while (w->known[i &= 2 * KNOWN_MAX - 1].no != 0 && w->known[i].no != no)
        i++;
    return &w->known[i];
}

static known_run *known_of(dispatcher *w, uint64_t no)
{
    known_run *k = known_place(w, no);

    if (k->no == no)
        return k;
    if (w->nknown == KNOWN_MAX) {       /* the table is full: forget all, so that no run is left out */
        memset(w->known, 0, 2 * KNOWN_MAX * sizeof *w->known);
        w->nknown = 0;
        k = known_place(w, no);
    }
    w->nknown++;
    *k = (known_run){ .no = no };
    return k;
}

static bool changed(const known_run *k, const pawl_head *h)
{
    return k->seq != h->seq || k->mail != h->mail || k->changed_ms != h->changed_ms || driver_clock_ms() >= k->again_ms;
}

/* Determines its machine, unless that was done and nothing has changed since. */
static driver *find_out(dispatcher *w, due_batch *l, known_run *k, const pawl_head *h)
{
    int64_t pause;
    bool full;
    driver *d;

    if ((k->loaded && (k->driver == 0 || k->tried) && !changed(k, h)) || (l->loads == LOADS_MAX && !w->board.once))
        return NULL;
    l->loads++;
    d = driver_for(w, h->run, &full);
    l->more = l->more || full;
    if (full)
        return NULL;
    pause = d != NULL || k->pause_ms * 2 > AGAIN_MS ? AGAIN_MS : k->pause_ms > 0 ? k->pause_ms * 2 : AGAIN_FIRST_MS;
    *k = (known_run){ .no = h->no, .driver = d != NULL ? d->serial : 0, .seq = h->seq, .changed_ms = h->changed_ms, .mail = h->mail,
                      .pause_ms = pause, .again_ms = driver_clock_ms() + pause, .sights = k->sights, .loaded = true };
    return d;
}

/* A driver at work is not asked: it finds its runs itself. */
static void consider(dispatcher *w, due_batch *l, const pawl_head *h)
{
    known_run *k = known_of(w, h->no);
    driver *d = driver_of(w, k->driver);

    k->sights += k->sights < SIGHTS_LEAST;
    if (d == NULL && !k->loaded && !w->board.once && k->sights < SIGHTS_LEAST)
        d = driver_named(w, h->machine);
    if (d != NULL && driver_now(d) != DRIVER_IDLE)
        return;
    if (d == NULL || driver_tried(d, h)) {
        k->tried = d != NULL;
        d = find_out(w, l, k, h);
    }
    if (d == NULL || driver_now(d) != DRIVER_IDLE || (k->tried = driver_tried(d, h)))
        return;
    start(w, d);
    l->more = true;
}

/* Considers the runs of one page, after `after` (no 0: from the first). *end: it was the last page. */
static bool page_read(dispatcher *w, due_batch *l, pawl_due *after, bool *end)
{
    const pawl_store_verbs *v = w->store->verbs;

    l->n = 0;
    (void)v->due(w->store, v->now(w->store), after->no != 0 ? after : NULL, DUE_MAX, copy_head, l, NULL);
    for (size_t i = 0; i < l->n && !ending(w); i++)
        consider(w, l, &l->heads[i]);
    *end = l->n < DUE_MAX;
    *after = *end ? (pawl_due){ 0, 0 } : (pawl_due){ l->heads[l->n - 1].look_ms, l->heads[l->n - 1].no };
    return !ending(w);
}

/* Considers the first page, and one of the later pages in turn; with --once all. True: a driver was started for a due run. */
static bool due_check(dispatcher *w)
{
    const pawl_filter held = { .held = true, .limit = DUE_MAX };
    pawl_due after = { 0, 0 };
    due_batch l;
    bool end, more;

    if (!list_begin(&l))
        return false;
    if (page_read(w, &l, &after, &end) && !end) {
        if (w->deep.no == 0 || w->board.once)
            w->deep = after;
        while (page_read(w, &l, &w->deep, &end) && !end && w->board.once)
            ;
    }
    l.n = 0;
    (void)w->store->verbs->list(w->store, &held, copy_dead, &l, NULL);
    for (size_t i = 0; i < l.n && !ending(w); i++)
        consider(w, &l, &l.heads[i]);
    more = l.more;
    arena_free(&l.mem);
    return more;
}

/* Parked runs are not due; each is tried once when the worker starts. */
static void parked_check(dispatcher *w)
{
    const pawl_filter f = { .parked = true, .limit = DUE_MAX };
    due_batch l;

    if (!list_begin(&l))
        return;
    (void)w->store->verbs->list(w->store, &f, copy_head, &l, NULL);
    for (size_t i = 0; i < l.n && !ending(w); i++) {
        bool full;
        driver *d = driver_for(w, l.heads[i].run, &full);

        if (d != NULL && driver_now(d) == DRIVER_IDLE)
            (void)driver_try(d, l.heads[i].run);
    }
    for (size_t i = 0; i < w->ndrivers; i++)
        if (w->drivers[i]->nparked > 0)
            start(w, w->drivers[i]);
    arena_free(&l.mem);
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

static bool at_work(dispatcher *w)
{
    for (size_t i = 0; i < w->ndrivers; i++) {
        const driver_state now = driver_now(w->drivers[i]);

        if (now == DRIVER_WORKING || now == DRIVER_BACKING_OFF)
            return true;
    }
    return false;
}

static void wait_for_all(dispatcher *w)
{
    while (at_work(w)) {
        driver_board_wait(&w->board, SIGNAL_MS);
        (void)ending(w);
    }
    tidy(w);
}

/* Repeats until no machine has anything to do. */
static void once(dispatcher *w)
{
    unsigned vain = 0;
    unsigned long before;

    parked_check(w);
    do {
        before = w->board.stored;
        if (!due_check(w) && !at_work(w))
            break;
        wait_for_all(w);
        vain = w->board.stored == before ? vain + 1 : 0;
    } while (w->code == EXIT_DONE && !ending(w) && vain < VAIN_ROUNDS_MAX);
}

/* At most until the next timer. */
static void nap(dispatcher *w)
{
    const pawl_store_verbs *v = w->store->verbs;
    const int64_t now = v->now(w->store), next = v->next_due(w->store);
    const int64_t ms = next > now && next - now < LOOK_MS ? next - now : LOOK_MS;

    (void)nanosleep(&(struct timespec){ 0, (long)ms * 1000000L }, NULL);
}

static void rounds(dispatcher *w)
{
    cli_note(w->c, "driving the runs that are due in %s; Ctrl-C stops it, and nothing is lost", w->board.store_name);
    parked_check(w);
    while (!ending(w)) {
        tidy(w);
        (void)due_check(w);
        nap(w);
    }
}

static void dispatcher_close(dispatcher *w)
{
    while (w->ndrivers > 0)
        drop(w, w->ndrivers - 1);
    pawl_store_free(w->store);
    free(w->known);
}

/* EXIT_DONE, or the error was printed. */
static int dispatcher_init(dispatcher *w, cli_call *c)
{
    pawl_err err = {0};

    *w = (dispatcher){ .c = c, .named = c->nargs > 0, .known = calloc(2 * KNOWN_MAX, sizeof *w->known) };
    if (w->known == NULL)
        return cli_fail(c, PAWL_NOMEM, &err);
    if ((w->store = cli_store(c, c->nargs > 0, &err)) == NULL) {
        free(w->known);
        return cli_fail(c, err.code, &err);
    }
    driver_board_init(&w->board);
    w->board.store_name = cli_store_name(c);
    w->board.once = cli_given(c, "once") != NULL;
    w->board.bypass = cli_given(c, "bypass") != NULL;
    w->board.proven = cli_given(c, "proven") != NULL;
    return EXIT_DONE;
}

/* `files`: those that were loaded before, or NULL; they are taken in any case. EXIT_DONE; else the error was printed, and it is closed. */
static int dispatcher_open(dispatcher *w, cli_call *c, session *const *files)
{
    const int code = dispatcher_init(w, c);

    for (size_t i = 0; i < c->nargs; i++)
        if (code == EXIT_DONE && w->code == EXIT_DONE)
            w->code = open_file(w, c->args[i], files != NULL ? files[i] : NULL);
        else if (files != NULL)
            session_free(files[i]);
    if (code != EXIT_DONE)
        return code;
    if (w->code != EXIT_DONE)
        dispatcher_close(w);
    return w->code;
}

static int worker_run(cli_call *c)
{
    struct sigaction act = { .sa_handler = on_end };
    static dispatcher w;
    spans_out out;
    int code = dispatcher_open(&w, c, NULL);

    if (code != EXIT_DONE)
        return code;
    if ((code = exporting_begin(&out, c)) != EXIT_DONE) {
        dispatcher_close(&w);
        return code;
    }
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (w.board.once)
        once(&w);
    else
        rounds(&w);
    wait_for_all(&w);
    dispatcher_close(&w);
    exporting_end(&out);
    return ended != 0 && w.code == EXIT_DONE && w.board.once ? 128 + (int)ended : w.code;
}

/* ---- beside a server ---------------------------------------------------------------------------------------------- */

struct worker_aside {
    dispatcher w;
    pthread_t thread;
    atomic_int asked;
    atomic_bool over;
};

static void *work_aside(void *ctx)
{
    worker_aside *a = ctx;

    rounds(&a->w);
    wait_for_all(&a->w);
    atomic_store(&a->over, true);
    return NULL;
}

worker_aside *aside_begin(cli_call *c, session *const *files)
{
    worker_aside *a = calloc(1, sizeof *a);
    pawl_err err = {0};

    if (a == NULL) {
        for (size_t i = 0; i < c->nargs; i++)
            session_free(files[i]);
        cli_fail(c, fail(&err, PAWL_NOMEM, "no memory for a worker"), &err);
        return NULL;
    }
    if (dispatcher_open(&a->w, c, files) != EXIT_DONE) {
        free(a);
        return NULL;
    }
    atomic_init(&a->asked, 0);
    atomic_init(&a->over, false);
    a->w.asked = &a->asked;
    if (pthread_create(&a->thread, NULL, work_aside, a) == 0)
        return a;
    cli_fail(c, fail(&err, PAWL_NOMEM, "no thread for a worker"), &err);
    dispatcher_close(&a->w);
    free(a);
    return NULL;
}

void aside_stop(worker_aside *a) { atomic_fetch_add(&a->asked, 1); }

bool aside_over(worker_aside *a) { return atomic_load(&a->over); }

void aside_end(worker_aside *a)
{
    pthread_join(a->thread, NULL);
    dispatcher_close(&a->w);
    free(a);
}

static const cli_option options[] = {
    { "once", NULL, "drive what is due now, then exit: for cron" },
    { "bypass", NULL, "also runs in bypassPermissions; without it they are parked" },
    RECORD_OPTIONS,
    OPTION_ANCHOR,
    { "proven", NULL, "only runs whose file is proved for their mode (`pawl check --prove`); others are parked" },
    OPTION_OTLP,
    { NULL, NULL, NULL },
};

const cli_verb verb_worker = {
    .name = "worker", .form = "[FILE...]", .what = "drive the runs of a store that are due", .options = options, .most = UINT8_MAX, .store = true,
    .looks = true, .acts = true, .run = worker_run,
    .about = "Without FILE: every run that is due or was parked, each by the file that it\n"
             "keeps. With files: only runs that were started with one of them. Several workers\n"
             "may share a store. On Ctrl-C or SIGTERM running commands end first.\n"
             "After an error of the store it prints the error, waits and tries again.",
    .example = "pawl worker\npawl worker --once              # in a crontab\npawl worker survey.yaml deploy.yaml",
};
