/* serve.c - `pawl serve`: the runs of a store over HTTP (src/serve).
 *
 * Called by main.c on the main thread, which becomes the server's loop. Verbs are performed on a thread of the server, one at a time. */
#include "serve/serve.h"
#include "app/jobs.h"
#include "cli/exporting.h"
#include "cli/store_place.h"
#include "cli/open_session.h"
#include "cli/verbs.h"
#include "cli/verbs/worker.h"
#include "effect/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, TOKEN_LEAST = 16, TOKEN_MOST = 512, WORDS_MOST = 260, URL_MOST = 256 };
static const char default_listen[] = "127.0.0.1:7295";

enum { SERVED_FILES_MAX = 64 };

typedef struct served {
    cli_call *c;
    serve_machine machines[SERVED_FILES_MAX];
    size_t nmachines;
    session *files[SERVED_FILES_MAX];   /* loaded, until the worker takes them; without one NULL */
    worker_aside *worker;
    bool said;                  /* why the worker did not begin */
    const char *store_name;
    char token[TOKEN_MOST + 1];
    char note[OWN_PATH_BYTES + 128];
} served;

/* ---- the token ----------------------------------------------------------------------------------------------------- */

static pawl_code token_check(const char *token, const char *where, pawl_err *err)
{
    if (strlen(token) < TOKEN_LEAST)
        return fail(err, PAWL_INVALID, "%s: a token has at least %d characters", where, TOKEN_LEAST);
    for (const char *p = token; *p != '\0'; p++)
        if (*p <= ' ' || *p >= 0x7f)
            return fail(err, PAWL_INVALID, "%s: a token is one line of printable ASCII without blanks", where);
    return PAWL_OK;
}

/* The first line of the file at `path`, which only its owner may read. `flags`: O_NOFOLLOW, or 0 where a link will do: secrets are often mounted so. */
static pawl_code token_read(const char *path, int flags, char token[TOKEN_MOST + 1], pawl_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    struct stat at;
    ssize_t n;

    if (fd < 0)
        return fail(err, PAWL_IO, "%.160s cannot be read: %s", path, strerror(errno));
    n = fstat(fd, &at) == 0 && S_ISREG(at.st_mode) ? read(fd, token, TOKEN_MOST + 1) : -1;
    close(fd);
    if (n < 0 || n > TOKEN_MOST)
        return fail(err, PAWL_INVALID, "%.160s: not a file with a token of at most %d characters", path, TOKEN_MOST);
    if ((at.st_mode & 077) != 0)
        return fail(err, PAWL_DENIED, "%.160s: others may read it; chmod 600 it, and make a new token", path);
    token[n] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    return token_check(token, path, err);
}

/* A new token in a new file. PAWL_CONFLICT: another process has made it meanwhile. */
static pawl_code token_make(const char *path, pawl_err *err)
{
    uint8_t bytes[TOKEN_BYTES];
    char text[2 * TOKEN_BYTES + 2], beside[OWN_PATH_BYTES + 48];
    int fd, rc;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return fail(err, PAWL_IO, "no random bytes for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    memcpy(text + 2 * sizeof bytes, "\n", 2);
    snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    (void)unlink(beside);
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(err, PAWL_IO, "%.160s cannot be made: %s", path, strerror(errno));
    const bool good = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;

    /* It gets its name when it is whole; another process may have been first. */
    rc = close(fd) != 0 || !good ? -1 : link(beside, path);
    const int why = errno;

    (void)unlink(beside);
    return rc == 0 ? PAWL_OK : fail(err, good && why == EEXIST ? PAWL_CONFLICT : PAWL_IO, "%.160s cannot be written: %s", path, strerror(why));
}

/* PAWL_TOKEN, or the file of --token-file, or the file beside the stores, which is made. */
static pawl_code token_find(served *of, pawl_err *err)
{
    const char *env = getenv("PAWL_TOKEN"), *given = cli_given(of->c, "token-file");
    char folder[OWN_PATH_BYTES], path[OWN_PATH_BYTES + 16];
    struct stat at;
    pawl_code rc;

    if (given != NULL)
        return token_read(given, 0, of->token, err);
    if (env != NULL && env[0] != '\0') {
        if (strlen(env) > TOKEN_MOST)
            return fail(err, PAWL_INVALID, "PAWL_TOKEN: a token has at most %d characters", TOKEN_MOST);
        rc = token_check(env, "PAWL_TOKEN", err);
        snprintf(of->token, sizeof of->token, "%.512s", env);
        return rc;
    }
    if (!own_folder_path(OWN_STATE, folder))
        return fail(err, PAWL_IO, "there is no place for the token: neither XDG_STATE_HOME nor HOME is set to an absolute path; --token-file FILE names one");
    snprintf(path, sizeof path, "%s/serve.token", folder);
    rc = private_folder_make(folder, err);
    if (rc == PAWL_OK && lstat(path, &at) != 0 && (rc = token_make(path, err)) == PAWL_CONFLICT) {
        *err = (pawl_err){ 0 };
        rc = PAWL_OK;
    }
    if (rc == PAWL_OK)
        rc = token_read(path, O_NOFOLLOW, of->token, err);
    snprintf(of->note, sizeof of->note, "requests need the header `Authorization: Bearer TOKEN`; the token is in %s", path);
    return rc;
}

/* ---- what the server asks for ------------------------------------------------------------------------------------------- */

static int perform(void *ctx, serve_verb *call)
{
    const served *of = ctx;
    char *all[WORDS_MOST], *text = NULL, store[] = "--store";
    size_t size = 0;
    FILE *f = call->n + 2 < WORDS_MOST ? open_memstream(&text, &size) : NULL;
    int code = EXIT_FAILED, k = 0;

    if (f == NULL) {
        snprintf(call->said, sizeof call->said, "no memory for this request");
        return code;
    }
    cli_served asked = { .who = call->who, .delivery = call->delivery, .machine = call->machine, .once = call->once, .trace = call->trace,
                         .out = f, .said = call->said };

    all[k++] = call->words[0];
    all[k++] = store;
    all[k++] = (char *)(uintptr_t)of->store_name;       /* options are not written to */
    for (int i = 1; i < call->n; i++)
        all[k++] = call->words[i];
    code = cli_captured(of->c->program, &asked, k, all);
    call->why = asked.why;
    if (fclose(f) != 0) {
        snprintf(call->said, sizeof call->said, "no memory for this reply");
        code = EXIT_FAILED;
    } else {
        buf_put(call->out, text, size);
    }
    free(text);
    return code;
}

static pawl_store *open_store(void *ctx, pawl_err *err)
{
    served *of = ctx;
    pawl_store *s = cli_store(of->c, true, err);

    of->store_name = cli_store_name(of->c);
    return s;
}

static void say(void *ctx, const char *text)
{
    const served *of = ctx;

    cli_note(of->c, "%s", text);
}

/* ---- machines, and who drives their runs ---------------------------------------------------------------------------------- */

static const char *machine_json(arena *mem, const session *s)
{
    const pawl_value *nodes = value_pack(mem, NULL, "[]"), *v = value_pack(mem, NULL, "{s:s,s:s,s:s}", "hash", pawl_machine_hash(s->machine), "name",
                                                                           pawl_machine_name(s->machine), "file", s->path);
    const agent_file *f = s->file;
    const char *text;
    buf b;

    for (size_t i = 0; f != NULL && i < f->nnodes; i++)
        nodes = value_push(mem, nodes, value_string(mem, f->nodes[i].name, strlen(f->nodes[i].name)));
    v = value_with(mem, v, "nodes", nodes);
    if (f != NULL && f->description != NULL)
        v = value_with(mem, v, "description", value_string(mem, f->description, strlen(f->description)));
    if (f != NULL && f->input != NULL)
        v = value_with(mem, v, "input", f->input);
    buf_init(&b, NULL);
    if (v != NULL)
        canon(&b, v);
    text = b.failed || v == NULL ? NULL : arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return text;
}

/* How it takes messages of A2A, and what its card says. */
static a2a_taker taker_of(arena *mem, const session *s)
{
    const agent_file *f = s->file;
    a2a_taker t = { .name = arena_text(mem, pawl_machine_name(s->machine)), .version = 1 };
    const size_t n = f == NULL ? 0 : f->agent != NULL ? f->agent->a.ntools : f->nnodes;
    const char **tags = arena_get(mem, (n + 1) * sizeof *tags), **channels = f != NULL ? arena_get(mem, (f->nchannels + 1) * sizeof *channels) : NULL;

    if (f == NULL || tags == NULL || channels == NULL)
        return t;
    t.version = f->version;
    t.description = arena_text(mem, f->description);
    t.agent = f->agent != NULL;
    t.turns = f->turns != NULL;
    for (size_t i = 0; i < n; i++)
        tags[i] = arena_text(mem, f->agent != NULL ? f->agent->a.tools[i].name : f->nodes[i].name);
    for (size_t i = 0; i < f->nchannels; i++) {
        channels[i] = f->channels[i].c.name;
        t.whole = t.whole || strcmp(channels[i], "a2a") == 0;
    }
    t.text = arena_text(mem, a2a_text_channel(f->input, channels, f->nchannels));
    t.tags = tags;
    t.ntags = n;
    return t;
}

/* `keep`: for the worker. EXIT_DONE, or the error was printed. */
static int machines_read(served *of, bool keep)
{
    cli_call *c = of->c;
    pawl_err err = { 0 };

    if (c->nargs > SERVED_FILES_MAX)
        return cli_usage(c, "%d files at most", SERVED_FILES_MAX);
    for (size_t i = 0; i < c->nargs; i++) {
        serve_machine *m = &of->machines[i];
        int code;
        session *s = session_of_file(c, c->args[i], &code);

        if (s == NULL)
            return code;
        *m = (serve_machine){ arena_text(&c->mem, pawl_machine_name(s->machine)), c->args[i], arena_text(&c->mem, pawl_machine_hash(s->machine)),
                              machine_json(&c->mem, s), taker_of(&c->mem, s) };
        if (keep)
            of->files[i] = s;
        else
            session_free(s);
        if (m->json == NULL || c->mem.failed)
            return cli_fail(c, fail(&err, PAWL_NOMEM, "no memory for %s", c->args[i]), &err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(of->machines[k].name, m->name) == 0)
                return cli_usage(c, "%s and %s are both named %s: a machine is served by its name", of->machines[k].path, m->path, m->name);
        of->nmachines++;
    }
    return EXIT_DONE;
}

static pawl_code work(void *ctx, pawl_err *err)
{
    served *of = ctx;

    of->worker = aside_begin(of->c, of->files);
    memset(of->files, 0, sizeof of->files);
    if (of->worker != NULL)
        return PAWL_OK;
    of->said = true;
    return fail(err, PAWL_INVALID, "%s", of->c->said);
}

static void rest(void *ctx) { aside_stop(((served *)ctx)->worker); }

static bool at_work(void *ctx) { return !aside_over(((served *)ctx)->worker); }

static void worked(void *ctx)
{
    served *of = ctx;

    aside_end(of->worker);
    of->worker = NULL;
}

/* --url without the slash at its end. NULL: not given, or none. */
static const char *url_given(cli_call *c)
{
    const char *given = cli_given(c, "url");
    size_t n = given != NULL ? strlen(given) : 0;

    if (given == NULL || (strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0) || n > URL_MOST || strcspn(given, " \"\\<>\t") != n)
        return NULL;
    while (given[n - 1] == '/')
        n--;
    return arena_strdup(&c->mem, given, n);
}

static int serve_machines(served *of, bool works)
{
    cli_call *c = of->c;
    const char *listen[16] = { default_listen }, *hosts[16];
    serve_config config = { .verb = perform, .store = open_store, .note = say, .ctx = of, .listen = listen, .hosts = hosts, .machines = of->machines,
                            .nmachines = of->nmachines };
    pawl_err err = { 0 };
    spans_out out;
    bool tcp = false;
    int code;

    if (works) {
        config.jobs = c->app.jobs;
        config.work = work;
        config.rest = rest;
        config.at_work = at_work;
        config.worked = worked;
    }
    for (const char *one; config.nlisten < 16 && (one = cli_given_at(c, "listen", config.nlisten)) != NULL;)
        listen[config.nlisten++] = one;
    for (const char *one; config.nhosts < 16 && (one = cli_given_at(c, "host", config.nhosts)) != NULL;)
        hosts[config.nhosts++] = one;
    if ((config.url = url_given(c)) == NULL && cli_given(c, "url") != NULL)
        return cli_usage(c, "--url is the address by which clients reach the server, such as https://agents.example, and not \"%.100s\"", cli_given(c, "url"));
    config.nlisten += config.nlisten == 0 ? 1 : 0;
    for (size_t i = 0; i < config.nlisten; i++)
        tcp = tcp || strncmp(listen[i], "unix:", 5) != 0;
    if (tcp && token_find(of, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    config.user = caller_name();
    config.access_log = cli_given(c, "access-log");
    config.token = tcp ? of->token : NULL;
    config.token_note = of->note[0] != '\0' ? of->note : NULL;
    if ((code = exporting_begin(&out, c)) != EXIT_DONE)
        return code;
    if (serve_run(&config, &err) != PAWL_OK)
        code = of->said ? cli_exit_of_error(err.code) : cli_fail(c, err.code, &err);
    exporting_end(&out);
    return code;
}

static int serve_runs(cli_call *c)
{
    const bool works = c->nargs > 0 && cli_given(c, "no-work") == NULL;
    static served of;
    pawl_err err = { 0 };
    int code;

    of = (served){ .c = c };
    if (works && (c->app.jobs = jobs_new()) == NULL)
        return cli_fail(c, fail(&err, PAWL_NOMEM, "no memory for jobs"), &err);
    if ((code = machines_read(&of, works)) == EXIT_DONE)
        code = serve_machines(&of, works);
    for (size_t i = 0; i < c->nargs && i < SERVED_FILES_MAX; i++)
        session_free(of.files[i]);      /* the worker has not begun */
    jobs_free(c->app.jobs);
    c->app.jobs = NULL;
    return code;
}

static const cli_option options[] = {
    { "listen", "WHERE...", "127.0.0.1:7295 (the default), any loopback ADDRESS:PORT, unix:PATH, or systemd: the sockets that it opened" },
    { "token-file", "FILE", "the token of requests over TCP; else PAWL_TOKEN, else $XDG_STATE_HOME/pawl/serve.token, which is made" },
    { "host", "NAME...", "a name by which a proxy reaches this server, besides localhost" },
    { "url", "URL", "the address by which clients reach it, for agent cards (A2A); else http:// and the Host of the request" },
    { "no-work", NULL, "with files: their runs can be begun, and are driven by a worker elsewhere" },
    { "bypass", NULL, "drive runs in bypassPermissions, too; without it they are parked" },
    { "proven", NULL, "drive only runs whose file is proved for their mode; others are parked" },
    RECORD_OPTIONS,
    OPTION_ANCHOR,
    { "access-log", "FILE|-", "a line of JSON for each request, at the end of FILE or on stderr: who, what, status, time; no query, header or body" },
    OPTION_OTLP,
    { NULL, NULL, NULL },
};

const cli_verb verb_serve = {
    .name = "serve", .form = "[FILE...]", .what = "serve the runs of a store over HTTP", .options = options, .most = UINT8_MAX, .store = true,
    .looks = true, .acts = true, .run = serve_runs,
    .about = "The runs, their logs, items and open questions as JSON, streams of what happens\n"
             "in them, which resume, and what changes them: answers, approvals, input,\n"
             "signals, cancel, retry, mode, fork. With files, runs of them can be begun, too,\n"
             "and it drives them as `pawl worker FILE...` does; other runs are driven by\n"
             "others, and each sees at once what the other has stored. Nodes of the key `jobs`\n"
             "are given to workers elsewhere, which take them and reply over HTTP, as\n"
             "examples/worker.py does. `pawl token` makes tokens for others. On Ctrl-C or\n"
             "SIGTERM it answers what was asked, ends its streams, waits for running commands\n"
             "and exits; a second one stops at once.\n"
             "docs/SERVING.md has the routes.",
    .example = "pawl serve\ncurl -H \"Authorization: Bearer $(cat ~/.local/state/pawl/serve.token)\" \\\n     http://127.0.0.1:7295/v1/runs\n"
               "pawl serve --listen unix:/run/user/1000/pawl.sock",
};
