/* routes.c - the way from a request to its row in the table, and from there to the words of a verb. Loop thread.
 *
 * The id of a run is taken as it stands: neither a prefix nor "@". A run that is not there, or that whoever asks may not see, is 404 before anything else is
 * done. A write is in JSON, which no page of another site can send without being asked (CORS); its Origin is looked at, too (guard.c). */
#include "serve/serve_inner.h"
#include "json/json.h"

#include <strings.h>

static const char *const formats[] = { "text", "mermaid", "dot", NULL };
enum { RUNS_IN_PATH = 3, KEY_BYTES_MAX = 200 };

static bool among(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static const parameter *member_named(const parameter *all, const char *name)
{
    while (all->name != NULL && strcmp(all->name, name) != 0)
        all++;
    return all->name != NULL ? all : NULL;
}

/* ---- from a request to its row ----------------------------------------------------------------------------------------- */

/* Whether `path` is of this row; the segments at {run} and {machine} go to `runs`. */
static bool fits(const route *row, const char *path, pawl_bytes runs[RUNS_IN_PATH], size_t *nruns)
{
    const char *want = row->path;

    *nruns = 0;
    while (*want != '\0' && *path != '\0') {
        if (*want == '{') {
            const char *rest = want + strcspn(want, "}") + 1;
            size_t size = strcspn(path, "/");

            if (*rest == ':' && size > strlen(rest) && strcmp(path + size - strlen(rest), rest) == 0)
                size -= strlen(rest);

            runs[*nruns] = (pawl_bytes){ path, size };
            ++*nruns;
            want = rest;
            path += size;
        } else if (*want++ != *path++) {
            return false;
        }
    }
    return *want == '\0' && *path == '\0';
}

static void option_unknown(http_req *r, const route *row, const char *name)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%.60s: no such parameter here; there %s", name, row->params->name == NULL ? "are none" : "are");
    for (const parameter *m = row->params; m->name != NULL; m++)
        buf_fmt(&b, " %s", m->name);
    buf_char(&b, '\0');
    problem(r, 400, "invalid", b.failed ? "no such parameter here" : b.data);
    buf_free(&b);
}

/* False: the problem was replied. */
static bool option_fits(http_req *r, const route *row, const char *name, const char *value)
{
    const parameter *m = member_named(row->params, name);
    char text[100];

    if (m == NULL) {
        option_unknown(r, row, name);
    } else if (m->kind == MEMBER_FLAG && *value != '\0') {
        snprintf(text, sizeof text, "%s is given without a value", m->name);
        problem(r, 400, "invalid", text);
    } else if (strcmp(name, "format") == 0 && !among(formats, value)) {
        problem(r, 400, "invalid", "format: text, mermaid or dot");
    } else {
        return true;
    }
    return false;
}

/* A new id that a caller chooses would tell it of runs that it may not see. */
static bool id_is_free(const asker *who, const body_words *body)
{
    for (size_t i = 0; i < body->noptions; i++)
        if (strncmp(body->options[i], "--id=", 5) == 0)
            return !asker_limited(who);
    return true;
}

/* Into `body`. False: the problem was replied. */
static bool body_fits(http_req *r, const route *row, const admitted *by, params *p, body_words *body)
{
    const char *type = http_header(r, "content-type");
    pawl_err err = { 0 };

    body->noptions = body->nargs = 0;
    if (row->members == NULL && http_body(r).size > 0)
        problem(r, 400, "invalid", "this route takes no body");
    else if (row->members == NULL)
        return true;
    else if (type == NULL || strncasecmp(type, "application/json", 16) != 0 || (type[16] != '\0' && type[16] != ';' && type[16] != ' '))
        problem(r, 415, "invalid", "the body is JSON, with Content-Type: application/json");
    else if (body_read(&p->mem, http_body(r), row->members, by->who, body, &err) != PAWL_OK)
        problem_of(r, &err);
    else if (!id_is_free(by->who, body))
        problem(r, 403, "denied", "id: a token with --machine or --label cannot choose it");
    else
        return true;
    return false;
}

/* *key: what the Idempotency-Key belongs to, and the key; NULL: none. False: the problem was replied. */
static bool key_fits(http_req *r, const route *row, const char *run, params *p, const char **key)
{
    const char *given = http_header(r, "idempotency-key");
    bool good = given == NULL || (row->keyed && *given != '\0' && strlen(given) <= KEY_BYTES_MAX);
    char *text = NULL;
    size_t size;

    for (const char *at = given; good && at != NULL && *at != '\0'; at++)
        good = *at >= ' ' && *at < 0x7f;
    *key = NULL;
    if (good && given == NULL)
        return true;
    if (!good) {
        problem(r, 400, "invalid", row->keyed ? "Idempotency-Key: 1 to 200 printable characters" : "Idempotency-Key: not of this route");
        return false;
    }
    size = strlen(given) + strlen(row->path) + strlen(run) + 3;
    if ((text = arena_get(&p->mem, size)) == NULL) {
        problem(r, 503, "nomem", "no memory for this request");
        return false;
    }
    snprintf(text, size, "%s\n%s\n%s", row->path, run, given);
    *key = text;
    return true;
}

/* If-Match goes with what changes a run. With a key the request may come again, after what it changed. False: the problem was replied. */
static bool match_fits(http_req *r, const route *row, const char *run, call_order *how)
{
    how->match = http_header(r, "if-match");
    how->of = run;
    if (how->match == NULL || (strcmp(row->method, "GET") != 0 && run != NULL && how->key == NULL))
        return true;
    problem(r, 400, "invalid", how->key != NULL ? "If-Match: not with an Idempotency-Key, whose request may come again after its change"
                                               : "If-Match: only with what changes a run");
    return false;
}

/* The words of the row's verb: options as --NAME=VALUE, so that no value is taken for an option, and runs and arguments after "--". `subject`: the run or
 * the machine to which an Idempotency-Key belongs. */
static void serve_words(server *s, http_req *r, const route *row, const admitted *by, const char *const *runs, size_t nruns, const char *subject,
                        const call_order *order, params *p)
{
    static const size_t own = 16;
    const char *words[PARAMS_MAX + BODY_WORDS_MAX + 16];
    call_order how = *order;
    body_words body;
    size_t n = 0;

    if (!body_fits(r, row, by, p, &body) || !key_fits(r, row, subject, p, &how.key) ||
        !match_fits(r, row, nruns > 0 && how.machine == NULL ? runs[0] : NULL, &how))
        return;
    words[n++] = row->verb;
    for (size_t i = 0; row->given[i] != NULL; i++)
        words[n++] = row->given[i];
    for (size_t i = 0; i < p->n; i++) {
        const size_t size = strlen(p->names[i]) + strlen(p->values[i]) + 4;
        char *word = arena_get(&p->mem, size);

        if (word == NULL) {
            problem(r, 503, "nomem", "no memory for this request");
            return;
        }
        snprintf(word, size, member_named(row->params, p->names[i])->kind == MEMBER_FLAG ? "--%s" : "--%s=%s", p->names[i], p->values[i]);
        words[n++] = word;
    }
    for (size_t i = 0; i < body.noptions; i++)
        words[n++] = body.options[i];
    words[n++] = "--";
    for (size_t i = 0; i < nruns; i++)
        words[n++] = runs[i];
    for (size_t i = 0; i < body.nargs; i++)
        words[n++] = body.args[i];
    PAWL_ASSERT(n <= PARAMS_MAX + BODY_WORDS_MAX + own, "a row gives few options of its own");
    calls_add(s->calls, r, by, words, n, &how);
}

static bool of_machine(const route *row) { return strstr(row->path, "{machine}") != NULL; }

/* The verb gets the file of the machine, and begins no run of another one. */
static void serve_begin(server *s, http_req *r, const route *row, const admitted *by, const char *name, params *p)
{
    const serve_machine *m = machine_seen(s, r, by->who, name);
    call_order how = row->how;

    if (m == NULL)
        return;
    how.machine = m->hash;
    serve_words(s, r, row, by, &m->path, 1, m->name, &how, p);    /* another server may have the file elsewhere */
}

/* Only a route that has the parameter `wait` comes here: a run, as it is then. */
static void serve_later(server *s, http_req *r, const route *row, const admitted *by, const char *run, const params *p)
{
    const char *given = params_get(p, "wait");
    uint64_t seconds;
    const char *end = digits_read(given, &seconds);

    if (end == NULL || *end != '\0' || seconds < 1 || seconds > 60)
        problem(r, 400, "invalid", "wait: seconds, from 1 to 60");
    else if (p->n > 1)
        problem(r, 400, "invalid", "wait: it stands alone, since the run is shown as it is then");
    else
        waits_add(s->waits, r, by, run, (unsigned)seconds, &row->how);
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
    for (size_t i = 0; i < nruns && good && !of_machine(row); i++)
        good = run_is_seen(s, r, by->who, runs[i]);
    if (good && row->verb != NULL && of_machine(row))
        serve_begin(s, r, row, by, runs[0], &p);
    else if (good && row->verb != NULL && params_get(&p, "wait") != NULL)
        serve_later(s, r, row, by, runs[0], &p);
    else if (good && row->verb != NULL)
        serve_words(s, r, row, by, runs, nruns, nruns > 0 ? runs[0] : "", &row->how, &p);
    else if (good)
        row->serve(s, r, by, runs[0], &p);
    params_free(&p);
}

/* NULL: there is none. `allow`: the methods of the path. */
static const route *row_of(const char *method, const char *path, pawl_bytes runs[RUNS_IN_PATH], size_t *nruns, char allow[64])
{
    const route *found = NULL;
    pawl_bytes at[RUNS_IN_PATH];
    size_t n;

    allow[0] = '\0';
    for (const route *row = route_table; row->method != NULL; row++) {
        const bool get = strcmp(row->method, "GET") == 0;

        if (!fits(row, path, at, &n))
            continue;
        snprintf(allow + strlen(allow), 64 - strlen(allow), "%s%s", allow[0] != '\0' ? ", " : "", get ? "GET, HEAD" : row->method);
        if (found == NULL && (strcmp(method, row->method) == 0 || (get && strcmp(method, "HEAD") == 0))) {
            found = row;
            *nruns = n;
            memcpy(runs, at, sizeof at);
        }
    }
    return found;
}

void routes_serve(void *ctx, http_req *r)
{
    server *s = ctx;
    pawl_bytes runs[RUNS_IN_PATH];
    size_t nruns = 0;
    char allow[64];
    const route *row = row_of(http_method(r), http_path(r), runs, &nruns, allow);
    const bool open = row != NULL && row->scope == SCOPE_OPEN;  /* a probe of a load balancer has no token, and learns nothing */
    admitted by = { .who = NULL };

    if (!open && !guard_admits(s, r, &by))
        return;
    http_name_set(r, by.who != NULL ? by.who->by : "");
    if ((s->leaving || http_stopping(s->http)) && !open && (row == NULL || !row->late)) {
        problem(r, 503, "canceled", "the server stops");
    } else if (row == NULL && allow[0] != '\0') {
        problem_with(r, 405, "invalid", "this route has other methods, which Allow names; GET / lists all", &(http_field){ "Allow", allow });
    } else if (row == NULL) {
        problem(r, 404, "gone", "no such route; GET / lists them");
    } else if (!open && row->scope != SCOPE_NAMED && (row->scope & by.who->scopes) == 0) {
        problem(r, 403, "denied", "the scopes of this token do not have this route; GET / lists what each route needs");
    } else if (row->own) {
        row->serve(s, r, &by, NULL, NULL);
    } else {
        serve_row(s, r, row, &by, runs, nruns);
    }
}
