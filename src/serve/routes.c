/* routes.c - the table of routes, and the way from a request to its row. Loop thread.
 *
 * A row that names a verb is that verb with --json: the parameters of the query become its options, and no other option can be given. The id of a run is
 * taken as it stands: neither a prefix nor "@". A run that is not there is 404 before anything else is done. */
#include "serve/serve_inner.h"
#include "json/json.h"

#include <stdlib.h>

enum { SCOPE_NAMED = 16, SCOPE_OPEN = 32 };     /* every admitted caller; everybody, without a token */

typedef struct route {
    const char *path;           /* {run} is the id of a run */
    const char *verb;           /* NULL: `serve` */
    const char *const *options; /* that the query may give, each with the value that follows it; NULL-terminated */
    const char *type;
    unsigned fine;              /* the exit codes that are no error, as bits */
    uint8_t scope;              /* a bit of app/tokens.h, or one of these below; 0: nobody */
    void (*serve)(server *s, http_req *r, const admitted *by, const char *run, const params *p);
    const char *what;           /* one line, for docs and `/` */
} route;

static const char *const ls_options[] = { "status", "machine", "context", "label", "node", "text", "since", "until", "limit", "before", "waiting", "parked",
    NULL };
static const char *const show_options[] = { "at", NULL };
static const char *const inbox_options[] = { "limit", "all", NULL };
static const char *const log_options[] = { "from", NULL };
static const char *const draw_options[] = { "format", "table", NULL };
static const char *const diff_options[] = { "at-parting", NULL };
static const char *const no_options[] = { NULL };
static const char *const formats[] = { "text", "mermaid", "dot", NULL };    /* an svg would need a program, which takes its time */
static const char *const flags[] = { "waiting", "parked", "all", "at-parting", NULL };

static bool among(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* ---- routes that are no verb ---------------------------------------------------------------------------------------- */

static void health(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    (void)s, (void)by, (void)run, (void)p;
    http_reply(r, 200, (http_field[]){ { "Content-Type", "application/json" } }, 1, "{\"status\":\"ok\"}\n", 16);
}

static bool see_none(void *ctx, const pawl_head *h)
{
    (void)ctx, (void)h;
    return false;
}

static void ready(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const pawl_filter one = { .limit = 1 };
    pawl_err err = { 0 };

    (void)run, (void)p;
    if (http_stopping(s->http))
        problem(r, 503, "canceled", "the server stops");
    else if (s->store->verbs->list(s->store, &one, see_none, NULL, &err) != PAWL_OK)
        problem_of(r, &err);
    else
        health(s, r, by, NULL, p);
}

static void items(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const char *limit = params_get(p, "limit");
    char *end = NULL;
    const unsigned long n = limit != NULL ? strtoul(limit, &end, 10) : 100;

    (void)by;
    if (limit != NULL && (*limit < '0' || *limit > '9' || *end != '\0' || n < 1 || n > 1000))
        problem(r, 400, "invalid", "limit: a number from 1 to 1000");
    else
        items_page(s, r, run, params_get(p, "from"), params_get(p, "kinds"), n);
}

/* A client that comes back says where it was. */
static void follow_runs(server *s, http_req *r, const admitted *by, const char *const *runs, size_t n, const params *p)
{
    const char *last = http_header(r, "last-event-id"), *until = params_get(p, "until");

    if (last != NULL && !utf8_valid(last, strlen(last)))
        problem(r, 400, "invalid", "Last-Event-ID: not the id of an event");
    else if (until != NULL && strcmp(until, "end") != 0)
        problem(r, 400, "invalid", "until: only `end`, for a stream that ends when its runs have");
    else
        events_follow(s->events, r, by, runs, n, last != NULL ? last : params_get(p, "from"), params_get(p, "kinds"), until != NULL);
}

static void run_events(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    follow_runs(s, r, by, &run, 1, p);
}

static void many_events(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    const char *runs[PARAMS_MAX];
    size_t n = 0;

    (void)run;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->names[i], "run") == 0) {
            if (!run_is_seen(s, r, by->who, p->values[i]))
                return;
            runs[n++] = p->values[i];
        }
    if (n == 0)
        problem(r, 400, "invalid", "run: name at least one run, as in ?run=A&run=B");
    else
        follow_runs(s, r, by, runs, n, p);
}

static void index_of(server *s, http_req *r, const admitted *by, const char *run, const params *p);

static const char *const items_options[] = { "from", "kinds", "limit", NULL };
static const char *const events_options[] = { "from", "kinds", "until", "run", NULL };
static const char *const run_events_options[] = { "from", "kinds", "until", NULL };

#define JSON "application/json"
static const route routes[] = {
    { "/", NULL, no_options, NULL, 0, SCOPE_NAMED, index_of, "these routes" },
    { "/healthz", NULL, no_options, NULL, 0, SCOPE_OPEN, health, "the server answers" },
    { "/readyz", NULL, no_options, NULL, 0, SCOPE_NAMED, ready, "the store can be read, and the server does not stop" },
    { "/v1/runs", "ls", ls_options, JSON, 1, SCOPE_READ, NULL, "the runs of the store, newest first: as `pawl ls --json`" },
    { "/v1/events", NULL, events_options, NULL, 0, SCOPE_READ, many_events, "a stream of what happens in the runs that `run` names" },
    { "/v1/waits", "inbox", inbox_options, JSON, 1, SCOPE_READ, NULL, "the open questions of all runs: as `pawl inbox --json`" },
    { "/v1/runs/{run}", "show", show_options, JSON, 1, SCOPE_READ, NULL, "a run: as `pawl show --json`" },
    { "/v1/runs/{run}/log", "log", log_options, "application/x-ndjson", 1, SCOPE_READ, NULL, "its journal: as `pawl log --json`" },
    { "/v1/runs/{run}/items", NULL, items_options, NULL, 0, SCOPE_READ, items, "its items, a page at a time" },
    { "/v1/runs/{run}/events", NULL, run_events_options, NULL, 0, SCOPE_READ, run_events, "a stream of its items (SSE)" },
    { "/v1/runs/{run}/graph", "draw", draw_options, "text/plain; charset=utf-8", 1, SCOPE_READ, NULL, "its graph: as `pawl draw`" },
    { "/v1/runs/{run}/diff/{run}", "diff", diff_options, JSON, 3, SCOPE_READ, NULL, "where two runs part: as `pawl diff --json`" },
    { "/v1/runs/{run}/export", "export", no_options, "application/x-ndjson", 1, SCOPE_READ, NULL, "the whole run: as `pawl export`" },
};
enum { ROUTES = sizeof routes / sizeof routes[0], RUNS_IN_PATH = 2 };

static const char *scope_said(const route *row)
{
    static const struct { uint8_t scope; const char *name; } rows[] = { { SCOPE_READ, "read" }, { SCOPE_ANSWER, "answer" }, { SCOPE_RUN, "run" },
        { SCOPE_ADMIN, "admin" }, { SCOPE_NAMED, "any" }, { SCOPE_OPEN, "none" } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].scope == row->scope)
            return rows[i].name;
    return "nobody";
}

static void index_of(server *s, http_req *r, const admitted *by, const char *run, const params *p)
{
    buf b;

    (void)s, (void)by, (void)run, (void)p;
    buf_init(&b, NULL);
    buf_word(&b, "{\"routes\":[");
    for (size_t i = 0; i < ROUTES; i++) {
        buf_text(&b, i == 0 ? "{\"options\":[" : ",{\"options\":[");
        for (size_t k = 0; routes[i].options[k] != NULL; k++)
            buf_fmt(&b, k == 0 ? "\"%s\"" : ",\"%s\"", routes[i].options[k]);
        buf_fmt(&b, "],\"path\":\"%s\",\"scope\":\"%s\",\"what\":\"%s\"}", routes[i].path, scope_said(&routes[i]), routes[i].what);
    }
    buf_fmt(&b, "],\"version\":\"%d.%d.%d\"}\n", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
    text_reply(r, JSON, &b);
}

/* ---- from a request to its row ----------------------------------------------------------------------------------------- */

/* Whether `path` is of this row; the segments at {run} go to `runs`. */
static bool fits(const route *row, const char *path, pawl_bytes runs[RUNS_IN_PATH], size_t *nruns)
{
    const char *want = row->path;

    *nruns = 0;
    while (*want != '\0' && *path != '\0') {
        if (strncmp(want, "{run}", 5) == 0) {
            const size_t size = strcspn(path, "/");

            runs[*nruns] = (pawl_bytes){ path, size };
            ++*nruns;
            want += 5;
            path += size;
        } else if (*want++ != *path++) {
            return false;
        }
    }
    return *want == '\0' && *path == '\0';
}

bool run_is_seen(server *s, http_req *r, const asker *who, const char *run)
{
    pawl_err err = { 0 };
    bool sees;

    if (asker_sees(who, s->store, run, &sees, &err) != PAWL_OK)
        problem_of(r, &err);
    else if (!sees)
        problem(r, 404, "gone", "no such run");
    else
        return true;
    return false;
}

static void options_wrong(http_req *r, const route *row, const char *name)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%.60s: no such parameter here; there %s", name, row->options[0] == NULL ? "are none" : "are");
    for (size_t i = 0; row->options[i] != NULL; i++)
        buf_fmt(&b, " %s", row->options[i]);
    buf_char(&b, '\0');
    problem(r, 400, "invalid", b.failed ? "no such parameter here" : b.data);
    buf_free(&b);
}

/* False: the problem was replied. */
static bool option_fits(http_req *r, const route *row, const char *name, const char *value)
{
    if (!among(row->options, name)) {
        options_wrong(r, row, name);
    } else if (row->verb != NULL && among(flags, name) && *value != '\0') {
        problem(r, 400, "invalid", "waiting, parked, all and at-parting are given without a value");
    } else if (strcmp(name, "format") == 0 && !among(formats, value)) {
        problem(r, 400, "invalid", "format: text, mermaid or dot");
    } else {
        return true;
    }
    return false;
}

/* The words of the row's verb: options as --NAME=VALUE, so that no value is taken for an option, and the runs after "--". */
static void serve_verb(server *s, http_req *r, const route *row, const admitted *by, const char *const *runs, size_t nruns, params *p)
{
    const char *words[PARAMS_MAX + 8];
    size_t n = 0;

    words[n++] = row->verb;
    if (strcmp(row->verb, "draw") != 0 && strcmp(row->verb, "export") != 0)
        words[n++] = "--json";
    for (size_t i = 0; i < p->n; i++) {
        const size_t size = strlen(p->names[i]) + strlen(p->values[i]) + 4;
        char *word = arena_get(&p->mem, size);

        if (word == NULL) {
            problem(r, 503, "nomem", "no memory for this request");
            return;
        }
        snprintf(word, size, among(flags, p->names[i]) ? "--%s" : "--%s=%s", p->names[i], p->values[i]);
        words[n++] = word;
    }
    words[n++] = "--";
    for (size_t i = 0; i < nruns; i++)
        words[n++] = runs[i];
    calls_add(s->calls, r, by, words, n, row->type, row->fine);
}

static void serve_row(server *s, http_req *r, const route *row, const admitted *by, const pawl_bytes *segments, size_t nruns)
{
    const char *runs[RUNS_IN_PATH] = { NULL };
    params p;
    bool good = params_read(&p, http_query(r));

    for (size_t i = 0; i < nruns && good; i++)
        good = (runs[i] = segment_decode(&p.mem, segments[i].data, segments[i].size)) != NULL;
    if (!good) {
        problem(r, 400, "invalid", "the target is malformed: an escape is wrong, or there are too many parameters");
        params_free(&p);
        return;
    }
    for (size_t i = 0; i < p.n && good; i++)
        good = option_fits(r, row, p.names[i], p.values[i]);
    for (size_t i = 0; i < nruns && good; i++)
        good = run_is_seen(s, r, by->who, runs[i]);
    if (good && row->verb != NULL)
        serve_verb(s, r, row, by, runs, nruns, &p);
    else if (good)
        row->serve(s, r, by, runs[0], &p);
    params_free(&p);
}

/* NULL: there is none. */
static const route *row_of(const char *path, pawl_bytes runs[RUNS_IN_PATH], size_t *nruns)
{
    for (size_t i = 0; i < ROUTES; i++)
        if (fits(&routes[i], path, runs, nruns))
            return &routes[i];
    return NULL;
}

void routes_serve(void *ctx, http_req *r)
{
    server *s = ctx;
    const char *method = http_method(r);
    pawl_bytes runs[RUNS_IN_PATH];
    size_t nruns;
    const route *row = row_of(http_path(r), runs, &nruns);
    const bool open = row != NULL && row->scope == SCOPE_OPEN;  /* a probe of a load balancer has no token, and learns nothing */
    admitted by = { .who = NULL };

    if (!open && !guard_admits(s, r, &by))
        return;
    if (http_stopping(s->http) && !open) {
        problem(r, 503, "canceled", "the server stops");
    } else if (row == NULL) {
        problem(r, 404, "gone", "no such route; GET / lists them");
    } else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        problem(r, 405, "invalid", "only GET is served here: this server reads runs and changes none; the program does (`pawl help`)");
    } else if (!open && row->scope != SCOPE_NAMED && (row->scope & by.who->scopes) == 0) {
        problem(r, 403, "denied", "the scopes of this token do not have this route; GET / lists what each route needs");
    } else {
        serve_row(s, r, row, &by, runs, nruns);
    }
}
