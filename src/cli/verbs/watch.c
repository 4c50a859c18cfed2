/* watch.c - `pawl watch`: all runs of a store, live, whichever processes drive them.
 *
 * Called by main.c on the main thread. The list is read again and again; of a run only changes are printed. On a terminal it is a table that is painted
 * anew; else one line for each change, or one JSON object. */
#include "cli/run_list.h"
#include "cli/status_word.h"
#include "cli/ui/format.h"
#include "cli/verbs.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* BACK_MS: a run whose change was stored late is seen all the same */
enum { LOOK_MS = 250, BACK_MS = 10000, RUNS_MAX = 100000, ROWS_LEAST = 5, PROMPT_COLUMNS = 120, RUN_COLUMNS = 24, STATUS_COLUMNS = 24, TEXT_BYTES = 200 };

typedef struct watched {
    const char *run, *machine;
    char parked[TEXT_BYTES], prompt[TEXT_BYTES];        /* why it is parked, and what its first open question is; "": neither */
    uint64_t no, seq;
    int64_t changed_ms;
    uint32_t waits;
    uint8_t status;
    bool over, idle;
} watched;

typedef struct watching {
    cli_call *c;
    pawl_store *s;
    watched *all;
    size_t n, cap;
    bool first, changed, full;
    watched *of;                /* the run whose waits are read */
    arena mem;                  /* of one look */
    buf out;
} watching;

static volatile sig_atomic_t stopped;

static void on_stop(int sig) { stopped = sig; }

static watched *run_of(watching *w, const pawl_head *h)
{
    watched *one;

    for (size_t i = w->n; i > 0; i--)       /* what changes is mostly new */
        if (w->all[i - 1].no == h->no && strcmp(w->all[i - 1].run, h->run) == 0)
            return &w->all[i - 1];
    if (w->n == RUNS_MAX) {
        w->full = true;
        return NULL;
    }
    if (!arena_room(&w->c->mem, (void **)&w->all, &w->cap, w->n, sizeof *w->all))
        return NULL;
    one = &w->all[w->n++];
    *one = (watched){ .run = arena_text(&w->c->mem, h->run), .machine = h->machine != NULL ? arena_text(&w->c->mem, h->machine) : "-", .no = h->no,
                      .status = UINT8_MAX };
    return one;
}

/* Cut where a character ends. */
static void text_keep(char out[TEXT_BYTES], const char *text, size_t size)
{
    size_t n = size < TEXT_BYTES ? size : TEXT_BYTES - 1;

    while (n < size && n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    if (n > 0)
        memcpy(out, text, n);
    out[n] = '\0';
}

static bool see_wait(void *ctx, const char *run, const pawl_waiting *wait)
{
    watching *w = ctx;
    const pawl_value *spec = wait->answered ? NULL : value_read(&w->mem, wait->spec.data, wait->spec.size, "a wait", NULL);
    buf b;

    (void)run;
    if (spec == NULL)
        return true;
    buf_init(&b, NULL);
    words_prompt(&b, pawl_value_get(spec, "prompt"));
    text_keep(w->of->prompt, b.data, b.failed ? 0 : b.size);
    buf_free(&b);
    return false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void status_text(const watched *one, char out[64])
{
    if (one->idle)
        snprintf(out, 64, "idle");
    else if (one->waits > 0)
        snprintf(out, 64, "%s, waits: %u", pawl_status_name((pawl_status)one->status), (unsigned)one->waits);
    else
        snprintf(out, 64, "%s", pawl_status_name((pawl_status)one->status));
}

static void row_out(watching *w, const watched *one, const char *before)
{
    char status[64];

    status_text(one, status);
    buf_text(&w->out, before);
    cli_cell(&w->out, one->run, RUN_COLUMNS);
    buf_text(&w->out, "  ");
    cli_cell(&w->out, status, STATUS_COLUMNS);
    buf_text(&w->out, "  ");
    if (*one->parked != '\0')
        cli_cut(&w->out, one->parked, strlen(one->parked), PROMPT_COLUMNS);
    else
        cli_cut(&w->out, one->prompt, strlen(one->prompt), PROMPT_COLUMNS);
    while (w->out.size > 0 && w->out.data[w->out.size - 1] == ' ')
        w->out.size--;
    buf_char(&w->out, '\n');
}

static void line_out(watching *w, const watched *one)
{
    char when[32];

    cli_time(when, one->changed_ms);
    snprintf(when, sizeof when, "%.8s  ", strlen(when) >= 19 ? when + 11 : when);
    row_out(w, one, when);
}

static void json_out(watching *w, const watched *one)
{
    arena *mem = &w->mem;
    const pawl_value *v = value_pack(mem, NULL, "{s:i,s:s,s:s,s:u,s:s,s:u}", "changed_ms", one->changed_ms, "id", one->run, "machine", one->machine, "seq",
                                     one->seq, "status", pawl_status_name((pawl_status)one->status), "waits", (uint64_t)one->waits);

    if (one->idle)
        v = value_with(mem, v, "idle", value_bool(mem, true));
    if (*one->parked != '\0')
        v = value_with(mem, v, "parked", value_string(mem, one->parked, strlen(one->parked)));
    if (*one->prompt != '\0')
        v = value_with(mem, v, "prompt", value_string(mem, one->prompt, strlen(one->prompt)));
    canon(&w->out, v);
    buf_char(&w->out, '\n');
}

static size_t rows_of(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > ROWS_LEAST + 2 ? (size_t)size.ws_row - 2 : ROWS_LEAST;
}

/* Runs that are not over, then those that ended last, as many as there are rows. */
static void paint(watching *w)
{
    const size_t rows = rows_of();
    size_t shown = 0;

    buf_text(&w->out, "\x1b[H\x1b[2J");
    for (int over = 0; over < 2; over++)
        for (size_t i = w->n; i > 0 && shown < rows; i--)
            if (w->all[i - 1].over == (over == 1)) {
                row_out(w, &w->all[i - 1], "");
                shown++;
            }
    if (w->n == 0)
        buf_text(&w->out, "no run yet\n");
}

/* ---- looking -------------------------------------------------------------------------------------------------------- */

static bool see(void *ctx, const pawl_head *h)
{
    watching *w = ctx;
    watched *one = run_of(w, h);
    const bool parked = one != NULL && (*one->parked != '\0') != (h->parked != NULL);

    if (one == NULL || stopped)
        return w->full && !stopped;
    if (!parked && one->status == h->status && one->seq == h->seq && one->waits == h->waits)
        return true;
    one->status = h->status, one->seq = h->seq, one->waits = h->waits, one->changed_ms = h->changed_ms, one->over = h->over;
    text_keep(one->parked, h->parked, h->parked != NULL ? strlen(h->parked) : 0);
    *one->prompt = '\0';
    w->of = one;
    one->idle = run_is_idle(w->s, h);
    if (one->waits > 0)
        (void)w->s->verbs->waits(w->s, one->run, see_wait, w, NULL);
    w->changed = true;
    if (w->first && one->over)                /* what was over before is no news */
        return true;
    if (w->c->json)
        json_out(w, one);
    else if (!w->c->out_tty)
        line_out(w, one);
    return !w->out.failed;
}

/* Whether a run may still change by itself. */
static bool works(const watching *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->all[i].over && w->all[i].waits == 0 && *w->all[i].parked == '\0')
            return true;
    return false;
}

static pawl_code watch_on(watching *w, pawl_err *err)
{
    const struct timespec rest = { .tv_nsec = LOOK_MS * 1000000L };
    pawl_filter f = { .limit = SIZE_MAX / 2 };
    pawl_code rc = PAWL_OK;

    for (w->first = true; !stopped && rc == PAWL_OK; w->first = false) {
        const int64_t now = w->s->verbs->now(w->s);

        rc = runs_listed(w->s, &f, false, NULL, see, w, err);
        f.changed_since_ms = now - BACK_MS;
        if (rc == PAWL_OK && w->c->out_tty && !w->c->json && (w->changed || w->first))
            paint(w);
        w->changed = false;
        if (rc == PAWL_OK && w->out.failed)
            return fail(err, PAWL_NOMEM, "watch: no memory for the runs");
        if (!cli_put(w->c, &w->out) || fflush(stdout) != 0)
            return fail(err, PAWL_IO, "stdout cannot be written");
        buf_reset(&w->out);
        arena_reset(&w->mem);
        if (rc != PAWL_OK || (cli_given(w->c, "idle") != NULL && !works(w)))
            return rc;
        nanosleep(&rest, NULL);
    }
    return rc;
}

static int watch_run(cli_call *c)
{
    struct sigaction act = { .sa_handler = on_stop };
    watching w = { .c = c };
    pawl_err err = { PAWL_OK, "" };
    int code;
    pawl_code rc;

    if ((w.s = cli_store_of(c, NULL, NULL, &code)) == NULL)
        return code;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    buf_init(&w.out, NULL);
    arena_init(&w.mem, NULL, 4096);
    rc = watch_on(&w, &err);
    buf_free(&w.out);
    arena_free(&w.mem);
    pawl_store_free(w.s);
    if (w.full)
        cli_note(c, "there are more than %d runs: the others are not watched", RUNS_MAX);
    if (stopped)
        return stopped == SIGTERM ? EXIT_STOPPED + SIGTERM - SIGINT : EXIT_STOPPED;
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(c, rc, &err);
}

static const cli_option options[] = {
    { "idle", NULL, "end when no run works: all are over, parked, or wait for a person" },
    { "json", NULL, "one JSON object a line for each change" },
    { NULL, NULL, NULL },
};

const cli_verb verb_watch = {
    .name = "watch", .form = "", .what = "follow all runs", .options = options, .store = true, .run = watch_run,
    .about = "Shows the runs of the store and every change of their status, whichever process\n"
             "drives them, until Ctrl-C. On a terminal it is a table; a pipe receives a line\n"
             "for each change: the time, the run, its status, and what it asks. Ctrl-C ends\n"
             "the watch, not the runs. `pawl log RUN --follow` shows one run in full.\n"
             "\n"
             "--json: {\"changed_ms\",\"id\",\"idle\",\"machine\",\"parked\",\"prompt\",\"seq\",\"status\",\n"
             "\"waits\"}. `prompt` is that of the first open question; idle, parked and prompt\n"
             "are omitted if they have no value.",
    .example = "pawl watch\npawl watch --json | jq -c 'select(.waits > 0)'\npawl watch --idle               # until there is nothing to do",
};
