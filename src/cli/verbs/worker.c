/* worker.c - every run of a store that has something to do is driven, by the file that it keeps.
 *
 * A session for each machine, told apart by its hash, each with an engine, a handle of the store and a thread of its own. */
#include "cli/run_driver.h"
#include "cli/prove.h"
#include "cli/verbs.h"
#include "engine/run/owner.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS_MAX = 64, SEEN_MAX = 4096, LOOK_MS = 200 };

typedef struct bench_seat {     /* one machine */
    session *s;
    pthread_t thread;
    bool runs;                  /* it has a thread */
    bool once;
    pawl_code rc;
    pawl_err err;
    bool bypass, proven;        /* as the worker was told */
    hash good[PAWL_BYPASS + 1]; /* by mode: of rules under which there is a proof; */
    bool known[PAWL_BYPASS + 1];
} seat;

typedef struct working {
    cli_call *c;
    pawl_store *store;
    seat seats[SESSIONS_MAX];
    size_t nseats;
    bool named;                 /* files were given: only their runs */
    char seen[SEEN_MAX][RUN_ID_BYTES];
    size_t nseen;
} working;

static working *at_work;
static volatile sig_atomic_t ends;

static void on_end(int sig)
{
    static const char drains[] = "stopping: what is under way ends first; once more stops at once\n";
    const bool again = ends != 0;
    const int kept = errno;

    ends = sig;
    if (!again)
        (void)!write(STDERR_FILENO, drains, sizeof drains - 1);
    for (size_t i = 0; at_work != NULL && i < at_work->nseats; i++)
        if (again)
            pawl_engine_abandon(at_work->seats[i].s->engine);
        else
            pawl_engine_drain(at_work->seats[i].s->engine);
    errno = kept;
}

/* ---- one machine ---------------------------------------------------------------------------------------- */

static void told(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    const seat *t = ctx;
    pawl_status now;

    if (pawl_entry_is_record(entry))
        return;
    now = pawl_entry_status(entry);
    if (pawl_status_terminal(now) || now == PAWL_INPUT_REQUIRED)
        cli_note(t->s->c, "%s: %s", pawl_state_run(st), pawl_status_name(now));
}

/* As it is to be from the next superstep on; or as the open one, and graphs in it, still have it. */
static const pawl_value *rule_channel(pawl_state *st, const char *name, bool next)
{
    const pawl_value *coming = next ? pawl_state_coming(st, name) : NULL;

    return coming != NULL ? coming : pawl_state_get(st, name);
}

/* Its file has a proof in its mode, by its rules. What was proved is remembered: runs of one file mostly have the same. */
static pawl_code proven(seat *t, pawl_state *st, bool next, pawl_err *err)
{
    const pawl_value *policy = rule_channel(st, "@policy", next), *grants = rule_channel(st, "@grants", next);
    const pawl_mode had = pawl_mode_named(pawl_value_string(rule_channel(st, "@mode", next))), mode = had != PAWL_MODE_NONE ? had : PAWL_DEFAULT;
    pawl_code rc;
    hash of;
    buf b;

    buf_init(&b, NULL);
    if (policy != NULL)
        canon(&b, policy);
    buf_char(&b, '\n');
    if (grants != NULL)
        canon(&b, grants);
    if (b.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its proof", pawl_state_run(st));
    else if (hash_of(b.data, b.size, &of), t->known[mode] && memcmp(&of, &t->good[mode], sizeof of) == 0)
        rc = PAWL_OK;
    else if ((rc = prove_admits(t->s, mode, policy, grants, err)) == PAWL_OK) {
        t->good[mode] = of;
        t->known[mode] = true;
    }
    buf_free(&b);
    return rc;
}

/* Whoever goes on with it gives it again (P1). */
static pawl_code admits(void *ctx, pawl_state *st, pawl_err *err)
{
    seat *t = ctx;
    const char *mode = go_mode_of(st);
    pawl_code rc = PAWL_OK;

    if (pawl_state_next(st) == PAWL_HALTED)
        return PAWL_OK;
    if (mode == NULL || pawl_mode_named(mode) != PAWL_BYPASS || t->bypass) {
        if (t->proven && (rc = proven(t, st, false, err)) == PAWL_OK)
            rc = proven(t, st, true, err);
        return rc;
    }
    return fail(err, PAWL_DENIED, "%s was in bypassPermissions, which is not kept: `pawl resume %s --mode MODE`, or a worker with --bypass, goes on",
                pawl_state_run(st), pawl_state_run(st));
}

static void *work(void *ctx)
{
    seat *t = ctx;

    t->rc = pawl_work(t->s->engine, t->once ? 0 : INT64_MAX / 4, &t->err);
    return NULL;
}

static int sit(working *w, session *s)
{
    if (w->nseats == SESSIONS_MAX) {
        cli_note(w->c, "more than %d machines at once (SESSIONS_MAX): the others wait for another worker", SESSIONS_MAX);
        session_free(s);
        return EXIT_FAILED;
    }
    w->seats[w->nseats] = (seat){ .s = s, .bypass = cli_given(w->c, "bypass") != NULL, .proven = cli_given(w->c, "proven") != NULL };
    session_watch(s, told, &w->seats[w->nseats]);
    pawl_engine_admit(s->engine, admits, &w->seats[w->nseats]);
    w->nseats++;
    return EXIT_DONE;
}

static bool seated(const working *w, const char *digest)
{
    for (size_t i = 0; i < w->nseats; i++)
        if (strcmp(pawl_machine_hash(w->seats[i].s->machine), digest) == 0)
            return true;
    return false;
}

static int sit_file(working *w, const char *path)
{
    pawl_err err = {0};
    session *s;
    pawl_store *store;
    int code;

    if ((s = session_of_file(w->c, path, &code)) == NULL)
        return code;
    store = cli_store(w->c, true, &err);
    if (store == NULL || session_open(s, store, &err) != PAWL_OK) {
        session_free(s);
        return cli_fail(w->c, err.code < 0 ? err.code : PAWL_IO, &err);
    }
    return sit(w, s);
}

/* ---- which machines are needed ---------------------------------------------------------------------------- */

typedef struct found { working *w; char runs[64][RUN_ID_BYTES]; size_t n; } found;

static bool see(void *ctx, const pawl_head *head)
{
    found *f = ctx;

    for (size_t i = 0; i < f->w->nseen; i++)
        if (strcmp(f->w->seen[i], head->run) == 0)
            return true;
    snprintf(f->runs[f->n++], RUN_ID_BYTES, "%s", head->run);
    return f->n < 64;
}

/* Held by a process of this machine that is dead: nobody waits until its lease runs out. */
static bool see_dead(void *ctx, const pawl_head *head)
{
    return head->owner == NULL || !owner_dead(head->owner) ? true : see(ctx, head);
}

/* Of a run that nobody here has looked at: its file, unless a machine of that hash sits already. */
static void look_at(working *w, const char *run)
{
    pawl_err err = {0};
    pawl_store *store = cli_store(w->c, false, &err);
    session *s;
    int code;

    if (w->nseen == SEEN_MAX)
        w->nseen = 0;
    snprintf(w->seen[w->nseen++], RUN_ID_BYTES, "%s", run);
    if (store == NULL || (s = session_of_run_in(w->c, store, run, NULL, &code)) == NULL)
        return;
    if (seated(w, pawl_machine_hash(s->machine)))
        session_free(s);
    else
        (void)sit(w, s);
}

/* Runs that are due now, and at first those that are parked: whoever parked them may have been another version. */
static size_t look(working *w, bool parked)
{
    const pawl_filter f = { .parked = true, .limit = 1000 }, held = { .held = true, .limit = 1000 };
    pawl_store *s = w->store;
    found all = { .w = w };
    size_t before = w->nseats;

    if (w->named)
        return 0;
    if (parked)
        (void)s->verbs->list(s, &f, see, &all, NULL);
    else
        (void)s->verbs->due(s, s->verbs->now(s), NULL, 1000, see, &all, NULL);
    if (!parked && all.n < 64)
        (void)s->verbs->list(s, &held, see_dead, &all, NULL);
    for (size_t i = 0; i < all.n; i++)
        look_at(w, all.runs[i]);
    return w->nseats - before;
}

static bool see_parked(void *ctx, const pawl_head *head)
{
    found *f = ctx;

    snprintf(f->runs[f->n++], RUN_ID_BYTES, "%s", head->run);
    return f->n < 64;
}

static bool drives(seat *t, const char *run)
{
    pawl_state *st = !t->bypass || t->proven ? pawl_run_state(t->s->engine, run, NULL) : NULL;
    pawl_err err = {0};

    return st == NULL || admits(t, st, &err) == PAWL_OK;
}

/* What was parked is tried once more, each by a machine of its name. */
static void try_parked(working *w)
{
    for (size_t i = 0; i < w->nseats && !ends; i++) {
        const pawl_filter f = { .parked = true, .machine = pawl_machine_name(w->seats[i].s->machine), .limit = 64 };
        found all = { .w = w };

        (void)w->store->verbs->list(w->store, &f, see_parked, &all, NULL);
        for (size_t k = 0; k < all.n; k++) {
            pawl_err err = {0};

            if (drives(&w->seats[i], all.runs[k]))
                (void)!pawl_run(w->seats[i].s->engine, all.runs[k], NULL, &err);
        }
    }
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

static int join_all(working *w)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < w->nseats; i++) {
        seat *t = &w->seats[i];

        if (t->runs && pthread_join(t->thread, NULL) == 0 && t->rc != PAWL_OK && code == EXIT_DONE)
            code = cli_fail(w->c, t->rc, &t->err);
        t->runs = false;
    }
    return code;
}

static void start_all(working *w, bool once)
{
    for (size_t i = 0; i < w->nseats; i++) {
        seat *t = &w->seats[i];

        t->once = once;
        if (!t->runs && !ends)
            t->runs = pthread_create(&t->thread, NULL, work, t) == 0;
    }
}

static int rounds(working *w, bool once)
{
    const struct timespec nap = { 0, LOOK_MS * 1000000L };
    int code = EXIT_DONE;

    (void)look(w, true);
    (void)look(w, false);
    try_parked(w);
    if (once) {
        do {
            start_all(w, true);
            code = join_all(w);
        } while (code == EXIT_DONE && !ends && look(w, false) > 0);
        return code;
    }
    cli_note(w->c, "driving what is due in %s; Ctrl-C ends it, and nothing is lost", cli_store_name(w->c));
    while (!ends) {
        start_all(w, false);
        nanosleep(&nap, NULL);
        (void)look(w, false);
    }
    return join_all(w);
}

static int worker_run(cli_call *c)
{
    struct sigaction act = { .sa_handler = on_end };
    static working w;
    pawl_err err = {0};
    int code = EXIT_DONE;

    w = (working){ .c = c, .named = c->nargs > 0 };
    if ((w.store = cli_store(c, c->nargs > 0, &err)) == NULL)
        return cli_fail(c, err.code, &err);
    for (size_t i = 0; i < c->nargs && code == EXIT_DONE; i++)
        code = sit_file(&w, c->args[i]);
    if (code == EXIT_DONE) {
        at_work = &w;
        sigemptyset(&act.sa_mask);
        sigaction(SIGINT, &act, NULL);
        sigaction(SIGTERM, &act, NULL);
        code = rounds(&w, cli_given(c, "once") != NULL);
        at_work = NULL;
    }
    for (size_t i = 0; i < w.nseats; i++)
        session_free(w.seats[i].s);
    pawl_store_free(w.store);
    return ends && code == EXIT_DONE && cli_given(c, "once") != NULL ? 128 + (int)ends : code;
}

static const cli_option options[] = {
    { "once", NULL, "drive what is due now, then exit: for cron" },
    { "bypass", NULL, "also runs in bypassPermissions; without it they are parked" },
    RECORD_OPTIONS,
    { "proven", NULL, "only runs whose file is proved for their mode (`pawl check --prove`); others are parked" },
    { NULL, NULL, NULL },
};

const cli_verb verb_worker = {
    .name = "worker", .form = "[FILE...]", .what = "drive the runs of a store that are due", .options = options, .most = UINT8_MAX, .store = true,
    .looks = true, .run = worker_run,
    .about = "Without FILE: every run that is due or was parked, each by the file that it\n"
             "keeps. With files: only runs that were started with one of them. Several workers\n"
             "may share a store. On Ctrl-C or SIGTERM running commands end first.",
    .example = "pawl worker\npawl worker --once              # in a crontab\npawl worker survey.yaml deploy.yaml",
};
