/* locate.c - opens the store of a call, and finds the run in it; draws ids for new runs.
 *
 * Called by the verbs and open_session.c, on the main thread. A store that is opened belongs to the caller. */
#include "app/tokens.h"
#include "cli/store_place.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NEAR_RUNS_MAX = 1000,       /* the newest runs, among which a similar id is searched */
    FITS_TOLD = 4,              /* matches of a prefix that an error lists */
    ID_DRAWS = 16,              /* tries before an id gets one more letter */
    ID_LETTERS = 4, ID_LETTERS_MAX = 12
};

/* ---- the store ------------------------------------------------------------------------------------ */

/* The absolute path of `path`, for messages and for processes in other folders. */
static const char *whole_path(cli_call *c, const char *path)
{
    char cwd[STORE_URL_BYTES], whole[2 * STORE_URL_BYTES];

    if (path[0] == '/' || getcwd(cwd, sizeof cwd) == NULL)
        snprintf(whole, sizeof whole, "%s", path);
    else
        snprintf(whole, sizeof whole, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path);
    return arena_text(&c->mem, whole);
}

/* Whether files can be created in the folder of `path`: SQLite needs its WAL index there even to read. */
static bool beside(const char *path)
{
    char folder[2 * STORE_URL_BYTES];
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);

    if (n == 0 || n >= sizeof folder)
        return true;
    memcpy(folder, path, n);
    folder[n] = '\0';
    return access(folder, W_OK) == 0;
}

static pawl_store *sqlite_at(cli_call *c, const char *path, bool make, pawl_err *err)
{
    const char *whole = whole_path(c, path);
    pawl_err why = { PAWL_OK, "" };
    struct stat st;
    pawl_store *s;
    buf name;

    if (whole == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the store");
        return NULL;
    }
    buf_init(&name, NULL);
    buf_fmt(&name, "sqlite:%s", whole);
    buf_char(&name, '\0');
    if (name.failed || c->store_name == NULL || strcmp(c->store_name, name.data) != 0)     /* a worker opens it once for each machine */
        c->store_name = name.failed ? NULL : arena_strdup(&c->mem, name.data, name.size - 1);
    buf_free(&name);
    if (!make && stat(whole, &st) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            fail(err, PAWL_IO, "%.160s: there is no such store; `pawl run FILE` makes one", c->store_name);
        else
            fail(err, PAWL_IO, "%.160s: the store cannot be opened: %s", c->store_name, strerror(errno));
        return NULL;
    }
    if (!make && st.st_size == 0) {
        fail(err, PAWL_IO, "%.160s: the file is empty: no run was started in it", c->store_name);
        return NULL;
    }
    if ((s = pawl_store_sqlite(whole, NULL, &why)) == NULL && why.code == PAWL_IO && !make && !beside(whole))
        fail(err, PAWL_IO, "%.95s is in a folder that cannot be written, and SQLite reads it there only while another process has it open; copy it elsewhere",
             c->store_name);
    else if (s == NULL)
        fail(err, why.code < 0 && why.code != PAWL_CORRUPT ? why.code : PAWL_IO, "%s", why.text);     /* damaged: it is not available */
    else if (c->app.store != c->store_name)
        c->app.store = c->store_name;
    return s;
}

/* `given`: --store or PAWL_STORE. Errors name only its kind, because the URL may contain a password. */
static pawl_store *store_of_url(cli_call *c, const char *given, const char *url, bool make, pawl_err *err)
{
    size_t kind = strcspn(url, ":");

    if (strncmp(url, "sqlite:", 7) == 0 && url[7] != '\0' && strlen(url) < STORE_URL_BYTES)
        return sqlite_at(c, url + 7, make, err);
    if (strcmp(url, "memory:") == 0 && make) {
        c->store_name = "memory:";
        return pawl_store_memory(err);
    }
    if (strcmp(url, "memory:") == 0)
        fail(err, PAWL_INVALID, "%s: a store in memory exists only while `pawl run` runs; name a file, sqlite:PATH", given);
    else if (strncmp(url, "postgres:", 9) == 0 || strncmp(url, "postgresql:", 11) == 0 || strncmp(url, "dynamodb:", 9) == 0)
        fail(err, PAWL_INVALID, "%s: a store of kind %.*s: is not in this version; sqlite:PATH and memory: are", given, (int)kind, url);
    else if (url[kind] == '\0' && kind > 0 && kind < 128)
        fail(err, PAWL_INVALID, "%s %s: no kind of store is named (did you mean \"sqlite:%s\"?)", given, url, url);
    else
        fail(err, PAWL_INVALID, "%s: no store of that kind; there are sqlite:PATH and memory:", given);
    return NULL;
}

/* Prints one line, once in a call. */
static void store_note(cli_call *c, const char *text, const char *path, const char *more)
{
    if (!c->store_said)
        cli_note(c, text, path, more);
    c->store_said = true;
}

/* A store that lies in the project, as older versions made it, goes on being used until it is moved. */
static pawl_store *store_of_place(cli_call *c, const store_place *p, bool make, pawl_err *err)
{
    if (p->there) {
        if (p->found[0] != '\0')
            store_note(c, "%s is not used: the store of this project is %s; --store names another", p->found, p->path);
        return sqlite_at(c, p->path, make, err);
    }
    if (p->found[0] != '\0' && p->owned[0] != '\0') {
        fail(err, PAWL_INVALID, "%.160s belongs to another user, who decides what its runs do; to use it, name it with --store", p->found);
        return NULL;
    }
    if (p->found[0] != '\0') {
        store_note(c, "%s lies where the agents of this project can reach it; `pawl store move` moves it%s", p->found, "");
        return sqlite_at(c, p->found, make, err);
    }
    if (make)
        return store_place_make(p, err) == PAWL_OK ? sqlite_at(c, p->path, true, err) : NULL;
    if (store_place_needed(p, err) == PAWL_OK)
        fail(err, PAWL_IO, "%.120s has no store yet; `pawl run FILE` makes one, --store and PAWL_STORE name another", p->project);
    return NULL;
}

pawl_store *cli_store(cli_call *c, bool make, pawl_err *err)
{
    const char *env = getenv("PAWL_STORE");
    store_place *p;

    if (c->store_url != NULL)
        return store_of_url(c, "--store", c->store_url, make, err);
    if (env != NULL && env[0] != '\0')
        return store_of_url(c, "PAWL_STORE", env, make, err);
    if ((p = arena_get(&c->mem, sizeof *p)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for the store");
        return NULL;
    }
    return store_place_find(p, err) == PAWL_OK ? store_of_place(c, p, make, err) : NULL;
}

const char *cli_store_name(const cli_call *c)
{
    return c->store_name == NULL ? "no store" : c->store_name;
}

/* ---- the run -------------------------------------------------------------------------------------- */

typedef struct run_search {
    arena *mem;
    const char *prefix;
    size_t size;
    char tops[FITS_TOLD][RUN_ID_BYTES], child[RUN_ID_BYTES];    /* the matches: top-level runs, and one child run */
    size_t ntops, nchildren;
    const char *near[NEAR_RUNS_MAX];
    size_t nnear;
} run_search;

static bool see_latest(void *ctx, const pawl_head *h)
{
    if (h->parent != NULL)
        return true;
    snprintf(ctx, RUN_ID_BYTES, "%s", h->run);
    return false;
}

static bool see_fit(void *ctx, const pawl_head *h)
{
    run_search *l = ctx;

    if (h->parent != NULL)
        snprintf(l->child, RUN_ID_BYTES, "%s", h->run), l->nchildren++;
    else if (l->ntops++ < FITS_TOLD)
        snprintf(l->tops[l->ntops - 1], RUN_ID_BYTES, "%s", h->run);
    return l->ntops <= FITS_TOLD;       /* enough is known: it is not unique */
}

static bool see_newest(void *ctx, const pawl_head *h)
{
    run_search *l = ctx;

    if (h->parent == NULL && (l->near[l->nnear] = arena_text(l->mem, h->run)) != NULL)
        l->nnear++;
    return strncmp(h->run, l->prefix, l->size) != 0 || see_fit(ctx, h);
}

static pawl_code several(const run_search *l, pawl_err *err)
{
    char list[FITS_TOLD * 40] = "";

    for (size_t i = 0; i < FITS_TOLD && i < l->ntops; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.36s", i == 0 ? "" : ", ", l->tops[i]);
    if (l->ntops == 0)
        return fail(err, PAWL_INVALID, "%.60s: the ids of %zu child runs begin so; write more of the id", l->prefix, l->nchildren);
    return fail(err, PAWL_INVALID, "%.60s: several ids begin so, %s%s; write more of the id", l->prefix, list,
                l->ntops > FITS_TOLD ? " and others" : "");
}

static pawl_code by_prefix(cli_call *c, pawl_store *s, const char *given, char run[RUN_ID_BYTES], pawl_err *err)
{
    const pawl_filter fits = { .begins = given, .limit = SIZE_MAX / 2 }, newest = { .limit = NEAR_RUNS_MAX };
    run_search *l = arena_zero(&c->mem, sizeof *l);
    char near[RUN_ID_BYTES + 24];
    pawl_code rc;

    if (l == NULL)
        return fail(err, PAWL_NOMEM, "no memory to look for a run");
    l->mem = &c->mem;
    l->prefix = given;
    l->size = strlen(given);
    if ((rc = s->verbs->list(s, &newest, see_newest, l, err)) != PAWL_OK)
        return rc;
    if (l->ntops > FITS_TOLD)           /* there may be more matches; they need not be found */
        return several(l, err);
    l->ntops = l->nchildren = 0;
    if ((rc = s->verbs->list(s, &fits, see_fit, l, err)) != PAWL_OK)
        return rc;
    if (l->ntops == 1 || (l->ntops == 0 && l->nchildren == 1)) {
        snprintf(run, RUN_ID_BYTES, "%s", l->ntops == 1 ? l->tops[0] : l->child);
        return PAWL_OK;
    }
    if (l->ntops + l->nchildren > 0)
        return several(l, err);
    did_you_mean(near, sizeof near, given, l->near, l->nnear);
    return fail(err, PAWL_GONE, "%.60s: no such run in %.80s%s; `pawl ls` lists them", given, cli_store_name(c), near);
}

pawl_code cli_run_id(cli_call *c, pawl_store *s, const char *given, char run[RUN_ID_BYTES], pawl_err *err)
{
    const pawl_filter all = { .limit = SIZE_MAX / 2 };
    pawl_head head;
    pawl_code rc;
    bool sees;

    run[0] = '\0';
    if (c->served) {
        rc = s->verbs->head(s, given, &head, err);
        if (rc == PAWL_OK && c->who != NULL && (rc = asker_sees(c->who, s, given, &sees, err)) == PAWL_OK && !sees)
            rc = store_run_missing(given, err);
        snprintf(run, RUN_ID_BYTES, "%s", rc == PAWL_OK ? given : "");
        return rc;
    }
    if (strcmp(given, "@") == 0) {
        rc = s->verbs->list(s, &all, see_latest, run, err);
        return rc != PAWL_OK || run[0] != '\0' ? rc
               : fail(err, PAWL_GONE, "@: there is no run in %.120s yet; `pawl run FILE` starts one", cli_store_name(c));
    }
    if (given[0] == '\0')
        return fail(err, PAWL_INVALID, "the id of a run is empty; `pawl ls` lists the runs, @ is the most recent one");
    rc = s->verbs->head(s, given, &head, NULL);
    if (rc == PAWL_OK && strlen(given) < RUN_ID_BYTES) {
        memcpy(run, given, strlen(given) + 1);
        return PAWL_OK;
    }
    return rc == PAWL_OK || rc == PAWL_GONE || rc == PAWL_INVALID ? by_prefix(c, s, given, run, err) : s->verbs->head(s, given, &head, err);
}

pawl_store *cli_store_of(cli_call *c, const char *given, char run[RUN_ID_BYTES], int *code)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = cli_store(c, false, &err);
    pawl_code rc;

    if (s == NULL) {
        *code = cli_fail(c, err.code, &err);
        return NULL;
    }
    if (given == NULL || (rc = cli_run_id(c, s, given, run, &err)) == PAWL_OK)
        return s;
    *code = cli_fail(c, rc == PAWL_CORRUPT ? PAWL_IO : rc, &err);
    pawl_store_free(s);
    return NULL;
}

/* ---- a new one ------------------------------------------------------------------------------------ */

static bool in_id(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static pawl_code draw(char *to, size_t n, pawl_err *err)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char bytes[ID_LETTERS_MAX];

    if (getrandom(bytes, n, 0) != (ssize_t)n)
        return fail(err, PAWL_IO, "no random number for a run's id: %s", strerror(errno));
    for (size_t i = 0; i < n; i++)
        to[i] = letters[bytes[i] % (sizeof letters - 1)];
    to[n] = '\0';
    return PAWL_OK;
}

pawl_code cli_new_id(pawl_store *s, const char *name, char run[RUN_ID_BYTES], pawl_err *err)
{
    size_t n = 0;
    pawl_head head;
    pawl_code rc;

    for (const char *p = name == NULL ? "" : name; *p != '\0' && n < RUN_ID_BYTES - ID_LETTERS_MAX - 2; p++)
        if (in_id(*p) && (n > 0 || (*p != '-' && *p != '_' && *p != '.')))
            run[n++] = *p;
    if (n == 0)
        memcpy(run, "run", 3), n = 3;
    run[n++] = '-';
    for (size_t letters = ID_LETTERS; letters <= ID_LETTERS_MAX; letters++)
        for (int i = 0; i < ID_DRAWS; i++) {
            if ((rc = draw(run + n, letters, err)) != PAWL_OK)
                return rc;
            if ((rc = s->verbs->head(s, run, &head, NULL)) == PAWL_GONE)
                return PAWL_OK;
            if (rc != PAWL_OK)
                return s->verbs->head(s, run, &head, err);
        }
    return fail(err, PAWL_LIMIT, "%.*s: no free id was found; give one, --id RUN", (int)(n - 1), run);
}
