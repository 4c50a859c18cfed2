/* notify.c - `pawl notify`: calls a command or an address when a run asks something, once for each question.
 *
 * Called by main.c on the main thread. It only reads the store, so no run waits for it. Sent questions are in a file beside the store, a line each,
 * written to the disk after the call: a crash in between repeats the call under the same id, and loses none. */
#include "app/settings.h"
#include "cli/ui/format.h"
#include "cli/verbs.h"
#include "effect/effect.h"
#include "history/index_check.h"
#include "net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { CALL_MS = 30000, LOOK_MS = 1000, BACK_MS_MAX = 60000, SAID_BYTES = 4096, RECORD_BYTES_MAX = 64 << 20, KEY_BYTES = 16, HOOKS_MAX = 16 };

typedef struct notify_hook { const char *shown, *url; char **argv; const char **headers; char key[KEY_BYTES + 1]; } notify_hook;
typedef struct question { const char *id, *run, *json; } question;

typedef struct notifying {
    cli_call *c;
    pawl_store *s;
    notify_hook hooks[HOOKS_MAX];
    size_t nhooks;
    question *all;              /* the open questions of one look */
    size_t n, cap;
    arena mem;                  /* of one look */
    int fd;                     /* the record of the questions that were sent */
    char *told;                 /* its text */
    size_t told_bytes;
    size_t calls, failures;
} notifying;

static volatile sig_atomic_t stopped;

static void on_stop(int sig) { stopped = sig; }

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

static bool hook_of_run(arena *mem, notify_hook *h, const pawl_value *run)
{
    const size_t n = pawl_value_size(run);

    if (pawl_value_type(run) != PAWL_TYPE_ARRAY || n == 0 || (h->argv = arena_zero(mem, (n + 1) * sizeof *h->argv)) == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *word = pawl_value_string(pawl_value_at(run, i));

        if (word == NULL || (h->argv[i] = arena_text(mem, word)) == NULL)
            return false;
    }
    h->shown = h->argv[0];
    return true;
}

static bool hook_of_url(arena *mem, notify_hook *h, const pawl_value *v)
{
    const pawl_value *headers = pawl_value_get(v, "headers"), *key, *one;
    pawl_iter it = pawl_iter_of(headers);
    size_t n = 0;

    h->url = h->shown = pawl_value_string(pawl_value_get(v, "url"));
    if (h->url == NULL || (strncmp(h->url, "https://", 8) != 0 && strncmp(h->url, "http://", 7) != 0) ||
        (h->headers = arena_zero(mem, (pawl_value_size(headers) + 3) * sizeof *h->headers)) == NULL)
        return false;
    h->headers[n++] = "Content-Type: application/json";
    while ((one = pawl_iter_next(&it, &key)) != NULL) {
        buf b;

        buf_init(&b, NULL);
        buf_fmt(&b, "%s: %s", pawl_value_string(key), pawl_value_string(one) != NULL ? pawl_value_string(one) : "");
        h->headers[n++] = b.failed ? NULL : arena_strdup(mem, b.data, b.size);
        buf_free(&b);
    }
    return !mem->failed;        /* one place is left for the key of each call */
}

/* `from`: who names the hook. */
static bool hook_add(notifying *k, const pawl_value *v, const char *from, pawl_err *err)
{
    arena *mem = &k->c->mem;
    const pawl_value *run = pawl_value_get(v, "run");
    notify_hook *h = &k->hooks[k->nhooks];
    char hex[HASH_HEX + 1];
    hash digest;
    buf b;

    if (k->nhooks == HOOKS_MAX)
        return fail(err, PAWL_LIMIT, "%s: more than %d hooks to notify", from, HOOKS_MAX) == PAWL_OK;
    if (run != NULL ? !hook_of_run(mem, h, run) : !hook_of_url(mem, h, v))
        return fail(err, PAWL_INVALID, "%s: a hook of `notify` is {\"run\":[PROGRAM,ARG...]} or {\"url\":\"https://...\",\"headers\":{...}}", from) == PAWL_OK;
    buf_init(&b, NULL);
    canon(&b, v);
    hash_of(b.data, b.size, &digest);
    hash_hex(&digest, hex);
    snprintf(h->key, sizeof h->key, "%.*s", KEY_BYTES, hex);
    buf_free(&b);
    k->nhooks++;
    return true;
}

static pawl_code hooks_find(notifying *k, pawl_err *err)
{
    arena *mem = &k->c->mem;
    const char *command = cli_given(k->c, "command"), *url = cli_given(k->c, "url"), *path = settings_of_person(mem);
    const pawl_value *all, *one;
    pawl_iter it;

    if (command != NULL && !hook_add(k, value_pack(mem, NULL, "{s:[s,s,s]}", "run", "/bin/sh", "-c", command), "--command", err))
        return err->code;
    if (url != NULL && !hook_add(k, value_pack(mem, NULL, "{s:s}", "url", url), "--url", err))
        return err->code;
    if (command != NULL || url != NULL)
        return PAWL_OK;
    all = path != NULL ? pawl_value_get(settings_read(mem, path, err), "notify") : NULL;
    if (err->code != PAWL_OK)
        return err->code;
    if (all != NULL && pawl_value_type(all) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_INVALID, "%s: \"notify\" is a list of hooks", path);
    for (it = pawl_iter_of(all); (one = pawl_iter_next(&it, NULL)) != NULL;)
        if (!hook_add(k, one, path, err))
            return err->code;
    return k->nhooks > 0 ? PAWL_OK
           : fail(err, PAWL_INVALID, "nobody is to be notified: --command CMD, --url URL, or \"notify\" in %s", path != NULL ? path : "your settings");
}

/* ---- the record ---------------------------------------------------------------------------------------------------- */

/* Opened and locked: of two that notify, one waits until the other has read, and then knows which questions were sent. */
static pawl_code record_open(notifying *k, pawl_err *err)
{
    const char *name = cli_store_name(k->c);
    char path[STORE_URL_BYTES + 16];
    off_t size;

    if (strncmp(name, "sqlite:", 7) != 0)
        return fail(err, PAWL_INVALID, "%.80s: only a store in a file is watched", name);
    snprintf(path, sizeof path, "%s.notified", name + 7);
    if ((k->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0 || flock(k->fd, LOCK_EX) != 0 ||
        (size = lseek(k->fd, 0, SEEK_END)) < 0)
        return fail(err, PAWL_IO, "%s: %s; without it a question could be reported twice", path, strerror(errno));
    if (size > RECORD_BYTES_MAX || (k->told = malloc((size_t)size + 1)) == NULL)
        return fail(err, PAWL_LIMIT, "%s: it has more than %d bytes: remove its old lines", path, RECORD_BYTES_MAX);
    if (pread(k->fd, k->told, (size_t)size, 0) != (ssize_t)size)
        return fail(err, PAWL_IO, "%s: it cannot be read", path);
    k->told_bytes = (size_t)size;
    k->told[size] = '\0';
    return PAWL_OK;
}

static void record_close(notifying *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->told);
    k->fd = -1;
    k->told = NULL;
}

static bool was_sent(const notifying *k, const notify_hook *h, const char *id)
{
    const size_t n = strlen(id);

    for (const char *at = k->told; (at = strstr(at, h->key)) != NULL; at += KEY_BYTES)
        if ((at == k->told || at[-1] == '\n') && at[KEY_BYTES] == ' ' && strncmp(at + KEY_BYTES + 1, id, n) == 0 && at[KEY_BYTES + 1 + n] == '\n')
            return true;
    return false;
}

static bool sent_keep(notifying *k, const notify_hook *h, const char *id)
{
    char line[1024];
    const int n = snprintf(line, sizeof line, "%s %s\n", h->key, id);

    return n > 0 && (size_t)n < sizeof line && write(k->fd, line, (size_t)n) == n && fdatasync(k->fd) == 0;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

static pawl_code command_called(const notify_hook *h, const question *q, pawl_err *err)
{
    const pawl_job job = { .effect = "notify" };
    process p = { .job = &job, .argv = h->argv, .envp = environ, .in = q->json, .in_size = strlen(q->json), .output_bytes = SAID_BYTES,
                  .until_ms = clock_ms() + CALL_MS };
    pawl_code rc;

    buf_init(&p.out, NULL);
    buf_init(&p.err, NULL);
    rc = process_run(&p, err);
    if (rc == PAWL_OK && p.stopped != STOPPED_NOT)
        rc = fail(err, PAWL_TIMEOUT, "it took longer than %d s", CALL_MS / 1000);
    else if (rc == PAWL_OK && (p.signal != 0 || p.status != 0))
        rc = fail(err, PAWL_EFFECT, p.signal != 0 ? "ended by signal %d%s%.*s" : "ended with status %d%s%.*s", p.signal != 0 ? p.signal : p.status,
                  p.err.size > 0 ? ": " : "", (int)(p.err.size < 200 ? p.err.size : 200), p.err.size > 0 ? p.err.data : "");
    buf_free(&p.out);
    buf_free(&p.err);
    return rc;
}

static pawl_code url_called(const notify_hook *h, const question *q, pawl_err *err)
{
    char key[600];
    size_t n = 0;
    net_request r = { .method = "POST", .url = h->url, .headers = h->headers, .body = q->json, .body_size = strlen(q->json), .response_bytes = SAID_BYTES,
                      .until_ms = clock_ms() + CALL_MS };
    net_answer a;
    pawl_code rc;

    while (h->headers[n] != NULL)
        n++;
    snprintf(key, sizeof key, "Idempotency-Key: %s", q->id);
    h->headers[n] = key;
    net_answer_init(&a, NULL);
    rc = net_fetch(&r, &a, err);
    if (rc == PAWL_OK && (a.status < 200 || a.status > 299))
        rc = fail(err, PAWL_EFFECT, "it answered with status %ld", a.status);
    net_answer_free(&a);
    h->headers[n] = NULL;
    return rc;
}

static void call(notifying *k, const notify_hook *h, const question *q)
{
    pawl_err err = { PAWL_OK, "" };

    k->calls++;
    if ((h->url != NULL ? url_called(h, q, &err) : command_called(h, q, &err)) != PAWL_OK)
        cli_note(k->c, "notify %s about %s: %s; it is tried again", h->shown, q->run, err.text);
    else if (!sent_keep(k, h, q->id))
        cli_note(k->c, "notify %s about %s: it was called, but that could not be stored: %s; it may be called again", h->shown, q->run, strerror(errno));
    else
        return;
    k->failures++;
}

/* ---- one look ----------------------------------------------------------------------------------------------------------- */

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    notifying *k = ctx;
    arena *mem = &k->mem;
    const pawl_value *spec = w->answered ? NULL : value_read(mem, w->spec.data, w->spec.size, "a wait", NULL), *v;
    const char *kind = pawl_value_string(pawl_value_get(spec, "kind"));
    question *q;
    buf b;

    if (spec == NULL || kind == NULL || strcmp(kind, "input") == 0 || strcmp(kind, "signal") == 0)     /* no person is asked */
        return true;
    if (!arena_room(mem, (void **)&k->all, &k->cap, k->n, sizeof *k->all))
        return false;
    v = value_pack(mem, NULL, "{s:i,s:s,s:s,s:s,s:s}", "asked_ms", w->asked_ms, "id", w->id, "kind", kind, "run", run, "store", cli_store_name(k->c));
    buf_init(&b, NULL);
    words_prompt(&b, pawl_value_get(spec, "prompt"));
    v = value_with(mem, v, "prompt", value_string(mem, b.data != NULL ? b.data : "", b.size));
    buf_reset(&b);
    if (v != NULL)
        canon(&b, v);
    buf_char(&b, '\n');
    q = &k->all[k->n++];
    *q = (question){ arena_text(mem, w->id), arena_text(mem, run), b.failed ? NULL : arena_strdup(mem, b.data, b.size) };
    buf_free(&b);
    return q->json != NULL && !mem->failed;
}

static pawl_code questions_check(notifying *k, pawl_err *err)
{
    pawl_code rc;

    arena_reset(&k->mem);
    k->all = NULL;
    k->n = k->cap = 0;
    rc = waits_checked(k->s, NULL, see_wait, k, err);
    if (rc != PAWL_OK || k->n == 0)
        return rc;
    if ((rc = record_open(k, err)) == PAWL_OK)
        for (size_t i = 0; i < k->n && !stopped; i++)
            for (size_t h = 0; h < k->nhooks && !stopped; h++)
                if (!was_sent(k, &k->hooks[h], k->all[i].id))
                    call(k, &k->hooks[h], &k->all[i]);
    record_close(k);
    return rc;
}

static pawl_code notify_follow(notifying *k, pawl_err *err)
{
    int64_t back_ms = LOOK_MS;
    pawl_code rc = PAWL_OK;

    while (!stopped && rc == PAWL_OK) {
        const size_t before = k->failures;
        struct timespec rest;

        rc = questions_check(k, err);
        if (cli_given(k->c, "once") != NULL)
            break;
        back_ms = k->failures == before ? LOOK_MS : back_ms * 2 < BACK_MS_MAX ? back_ms * 2 : BACK_MS_MAX;
        rest = (struct timespec){ back_ms / 1000, back_ms % 1000 * 1000000L };
        if (!stopped && rc == PAWL_OK)
            nanosleep(&rest, NULL);
    }
    return rc;
}

static int notify_run(cli_call *c)
{
    struct sigaction act = { .sa_handler = on_stop };
    notifying k = { .c = c, .fd = -1 };
    pawl_err err = { PAWL_OK, "" };
    int code;
    pawl_code rc = hooks_find(&k, &err);

    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    if ((k.s = cli_store_of(c, NULL, NULL, &code)) == NULL)
        return code;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    arena_init(&k.mem, NULL, 4096);
    rc = notify_follow(&k, &err);
    arena_free(&k.mem);
    pawl_store_free(k.s);
    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    if (stopped)
        return stopped == SIGTERM ? EXIT_STOPPED + SIGTERM - SIGINT : EXIT_STOPPED;
    return k.failures > 0 ? EXIT_FAILED : EXIT_DONE;
}

static const cli_option options[] = {
    { "command", "CMD", "call this command, with `sh -c`, instead of the hooks of your settings" },
    { "url", "URL", "send it there by POST, instead of the hooks of your settings" },
    { "once", NULL, "send what is open now, and exit: for cron; exit 1: a call failed" },
    { NULL, NULL, NULL },
};

const cli_verb verb_notify = {
    .name = "notify", .form = "", .what = "call a command or an address when something is asked", .options = options, .store = true, .acts = true,
    .run = notify_run,
    .about = "Watches the open questions of all runs, and calls each hook once for each of\n"
             "them. Hooks are `notify` in your settings, a list of {\"run\":[PROGRAM,ARG...]}\n"
             "and {\"url\":URL,\"headers\":{...}}; or --command and --url. A command gets the\n"
             "question as JSON on stdin, an address as the body:\n"
             "{\"asked_ms\",\"id\",\"kind\",\"prompt\",\"run\",\"store\"}. `id` is that of the question,\n"
             "and the Idempotency-Key of the request.\n"
             "\n"
             "Sent questions are recorded beside the store (pawl.db.notified). A call that\n"
             "fails is reported on stderr, and tried again with the same id, after at most a\n"
             "minute; a crash can repeat a call, and loses none. Runs are never held up.",
    .example = "pawl notify --command 'mail -s \"Pawl asks\" me@example.org'\npawl notify --once --url https://chat.example.org/hook",
};
