/* command.c - the handler of the effect `run`: an argument list becomes a process, and its result a reply.
 *
 * Called by the engine on any thread; when the job can be answered later, the loop thread makes the reply (process.c). One `call` belongs to one job and is
 * freed by the thread that finishes it. Invariant: job.finish() is called once, and after it nothing of the job is touched. */
#define _GNU_SOURCE             /* environ */
#include "effect/effect.h"
#include "effect/sandbox.h"
#include "net/net.h"

#include <fcntl.h>
#include <unistd.h>

enum { STDERR_LINES = 20 };
#define TIMEOUT_MS_MAX      INT64_C(2592000000)     /* 30 days */
#define OUTPUT_BYTES        (INT64_C(1) << 20)
#define OUTPUT_BYTES_MAX    (INT64_C(1) << 28)

/* ---- arguments ----------------------------------------------------------------------------------- */

/* Appended to the words of the sandbox. */
static pawl_code argv_make(const pawl_job *job, pawl_reply *r, const sandbox *in, arena *mem, process *p)
{
    const pawl_value *list = pawl_value_get(job->args, "run"), *one;
    const size_t n = pawl_value_size(list), before = in != NULL ? in->n : 0;
    size_t i = 0;
    pawl_iter it = pawl_iter_of(list);

    if (pawl_value_type(list) != PAWL_TYPE_ARRAY || n == 0)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"run\" is due, a list of the program and its arguments", job->effect);
    if ((p->argv = arena_get(mem, (before + n + 1) * sizeof *p->argv)) == NULL)
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", job->effect);
    for (size_t k = 0; k < before; k++)
        if ((p->argv[k] = arena_text(mem, in->words[k])) == NULL)
            return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", job->effect);
    for (; (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        if (!text_whole(one))
            return pawl_reply_fail(r, PAWL_INVALID, "%s: \"run\"[%zu] is no string, or holds NUL", job->effect, i);
        if ((p->argv[before + i] = arena_strdup(mem, pawl_value_string(one), pawl_value_size(one))) == NULL)
            return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", job->effect);
    }
    p->argv[before + n] = NULL;
    p->third = in != NULL ? in->inside : 0;     /* `in` has no group: the command may end after it */
    p->confined = in != NULL;
    if (p->argv[before][0] == '\0')
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"run\"[0], the program, is empty", job->effect);
    return PAWL_OK;
}

static bool named(const char *entry, const char *name)
{
    size_t n = strlen(name);

    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool ours(const char *name)
{
    return strcmp(name, "PAWL_INVOCATION_ID") == 0 || strcmp(name, "PAWL_FENCE") == 0;
}

static bool taken(const char *entry, const pawl_value *env)
{
    pawl_iter it = pawl_iter_of(env);
    const pawl_value *key;

    if (named(entry, "PAWL_INVOCATION_ID") || named(entry, "PAWL_FENCE"))
        return true;
    while (pawl_iter_next(&it, &key) != NULL)
        if (named(entry, pawl_value_string(key)))
            return true;
    return false;
}

static pawl_code env_check(const pawl_job *job, pawl_reply *r, const pawl_value *env)
{
    pawl_iter it = pawl_iter_of(env);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key);

        if (ours(name))
            return pawl_reply_fail(r, PAWL_INVALID, "%s: \"env\": %s is Pawl's own", job->effect, name);
        if (name[0] == '\0' || strchr(name, '=') != NULL || !text_whole(key))
            return pawl_reply_fail(r, PAWL_INVALID, "%s: \"env\": \"%s\" is no name of a variable", job->effect, name);
        if (!text_whole(v) && pawl_value_type(v) != PAWL_TYPE_NULL)
            return pawl_reply_fail(r, PAWL_INVALID, "%s: \"env\": %s is neither a string without NUL nor null", job->effect, name);
    }
    return PAWL_OK;
}

static pawl_code env_make(const pawl_job *job, pawl_reply *r, arena *mem, process *p)
{
    const pawl_value *env = NULL, *key, *v;
    size_t n = 0, i = 0;
    char fence[24] = "";
    pawl_iter it;
    buf text;
    pawl_code rc;

    if ((rc = args_object(job, r, "env", &env)) != PAWL_OK || (rc = env_check(job, r, env)) != PAWL_OK)
        return rc;
    while (environ != NULL && environ[n] != NULL)
        n++;
    if ((p->envp = arena_get(mem, (n + pawl_value_size(env) + 3) * sizeof *p->envp)) == NULL)
        goto nomem;
    for (size_t k = 0; k < n; k++)
        if (!taken(environ[k], env))
            p->envp[i++] = environ[k];
    for (it = pawl_iter_of(env); (v = pawl_iter_next(&it, &key)) != NULL;)
        if (pawl_value_string(v) != NULL && (p->envp[i++] = env_entry(mem, pawl_value_string(key), pawl_value_string(v))) == NULL)
            goto nomem;
    buf_init(&text, &r->alloc);
    buf_uint(&text, job->fence);
    if (!text.failed && text.size < sizeof fence)
        memcpy(fence, text.data, text.size);
    buf_free(&text);
    if (fence[0] == '\0')
        goto nomem;
    if ((p->envp[i++] = env_entry(mem, "PAWL_INVOCATION_ID", job->id != NULL ? job->id : "")) == NULL ||
        (p->envp[i++] = env_entry(mem, "PAWL_FENCE", fence)) == NULL)
        goto nomem;
    p->envp[i] = NULL;
    return PAWL_OK;
nomem:
    return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its environment", job->effect);
}

/* ---- stdin: a string as it is, any other value as JSON ------------------------------------------------- */

static pawl_code in_make(const pawl_job *job, pawl_reply *r, buf *json, process *p)
{
    const pawl_value *v = pawl_value_get(job->args, "stdin");

    if (v == NULL || pawl_value_type(v) == PAWL_TYPE_NULL)
        return PAWL_OK;
    p->in = pawl_value_string(v);
    p->in_size = pawl_value_size(v);
    if (p->in != NULL)
        return PAWL_OK;
    canon(json, v);
    if (json->failed)
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its stdin", job->effect);
    p->in = json->data;
    p->in_size = json->size;
    return PAWL_OK;
}

static pawl_code asked(const pawl_job *job, pawl_reply *r, const sandbox *in, arena *mem, buf *json, process *p, bool *check)
{
    static const char *const names[] = { "run", "stdin", "env", "cwd", "timeout_ms", "output_bytes", "check" };
    const pawl_value *strict = pawl_value_get(job->args, "check");
    int64_t timeout_ms = 0, output_bytes = OUTPUT_BYTES;
    pawl_code rc = args_known(job, r, names, sizeof names / sizeof *names);

    if (rc != PAWL_OK || (rc = argv_make(job, r, in, mem, p)) != PAWL_OK || (rc = env_make(job, r, mem, p)) != PAWL_OK ||
        (rc = in_make(job, r, json, p)) != PAWL_OK || (rc = args_text(job, r, "cwd", &p->cwd)) != PAWL_OK ||
        (rc = args_count(job, r, "timeout_ms", TIMEOUT_MS_MAX, &timeout_ms)) != PAWL_OK ||
        (rc = args_count(job, r, "output_bytes", OUTPUT_BYTES_MAX, &output_bytes)) != PAWL_OK)
        return rc;
    if (strict != NULL && pawl_value_type(strict) != PAWL_TYPE_BOOL)
        return pawl_reply_fail(r, PAWL_INVALID, "%s: \"check\" is neither true nor false", job->effect);
    *check = pawl_value_bool(strict);
    p->output_bytes = (size_t)output_bytes;
    p->until_ms = job_until(job, timeout_ms, &p->limit);
    return PAWL_OK;
}

/* ---- replies ---------------------------------------------------------------------------------------------- */

/* The last lines of stderr, converted to valid text. */
static void stderr_to_reply(pawl_reply *r, process *p)
{
    size_t from = last_lines(p->err.data, p->err.size, STDERR_LINES);

    buf_char(&p->err, '\0');
    if (p->err.failed)
        return;
    text_ascii(p->err.data + from, p->err.size - from - 1);
    pawl_reply_detail(r, p->err.data + from);
}

static pawl_code result(pawl_reply *r, const char *name, process *p)
{
    size_t from = p->err_cut ? cut_begin(p->err.data, p->err.size) : 0;

    if (p->out_cut)
        p->out.size = cut_end(p->out.data, p->out.size);
    buf_text(&r->text, "{\"status\":");
    buf_int(&r->text, p->status);
    if (p->signal != 0) {
        buf_text(&r->text, ",\"signal\":");
        buf_int(&r->text, p->signal);
    }
    buf_char(&r->text, ',');
    text_member(&r->text, "stdout", p->out.data, p->out.size);
    buf_char(&r->text, ',');
    text_member(&r->text, "stderr", from > 0 ? p->err.data + from : p->err.data, p->err.size - from);
    if (p->out_cut || p->err_cut)
        buf_text(&r->text, ",\"cut\":true");
    buf_char(&r->text, '}');
    if (p->out.failed || p->err.failed || r->text.failed)
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: it ended with %d; no memory for its output", name, p->status);
    return PAWL_OK;
}

static pawl_code ended(pawl_reply *r, const char *name, process *p, bool check)
{
    if (p->stopped == STOPPED_NOT && (!check || p->status == 0))
        return result(r, name, p);
    stderr_to_reply(r, p);
    switch (p->stopped) {
    case STOPPED_TIMEOUT: return pawl_reply_fail(r, PAWL_TIMEOUT, "%s: not done within %s, and stopped", name, p->limit);
    case STOPPED_CANCEL: return pawl_reply_fail(r, PAWL_CANCELED, "%s: canceled, and stopped", name);
    case STOPPED_PLAN: return pawl_reply_fail(r, PAWL_DENIED, "%s: ended, because the mode became plan, in which nothing is written", name);
    case STOPPED_NOT: break;
    }
    if (p->signal != 0)
        return pawl_reply_fail(r, PAWL_EFFECT, "%s: ended by signal %d", name, p->signal);
    return pawl_reply_fail(r, PAWL_EFFECT, "%s: ended with status %d", name, p->status);
}

/* ---- one command ------------------------------------------------------------------------------------------ */

typedef struct command {
    pawl_job job;               /* a copy; if it is answered later, its arguments are a copy, too */
    pawl_reply *r;
    process p;
    arena mem;
    buf json;                   /* stdin, if it is not a string */
    const char *name;           /* the program of the node, without its sandbox */
    int inside;                 /* our descriptor for p.third; 0: none */
    bool check;
    effect_codes as;
} command;

static command *command_new(const pawl_job *job, pawl_reply *r, effect_codes as)
{
    command *c = mem_new(&r->alloc, sizeof *c);

    if (c == NULL)
        return NULL;
    c->job = *job;
    c->r = r;
    c->as = as;
    c->p.job = &c->job;
    arena_init(&c->mem, &r->alloc, 4096);
    buf_init(&c->json, &r->alloc);
    buf_init(&c->p.out, &r->alloc);
    buf_init(&c->p.err, &r->alloc);
    return c;
}

static void command_free(command *c)
{
    const pawl_alloc alloc = c->r->alloc;

    if (c->inside > 0)
        close(c->inside);
    buf_free(&c->p.err);
    buf_free(&c->p.out);
    buf_free(&c->json);
    arena_free(&c->mem);
    mem_free(&alloc, c, sizeof *c);
}

/* Makes the reply from what process_run() or process_start() returned. */
static pawl_code command_came(command *c, pawl_code rc, const pawl_err *err)
{
    if (rc == PAWL_OK)
        return code_as(&c->as, ended(c->r, c->name, &c->p, c->check));
    if (rc != PAWL_UNKNOWN)
        pawl_reply_untouched(c->r);     /* it did not start */
    return code_as(&c->as, pawl_reply_fail(c->r, rc, "%s", err->text));
}

static void command_done(void *ctx, pawl_code rc, const pawl_err *err)
{
    command *c = ctx;
    const pawl_job job = c->job;

    rc = command_came(c, rc, err);
    command_free(c);
    job.finish(&job, rc);
}

static pawl_code command_start(command *c)
{
    pawl_err err = {0};
    pawl_code rc;

    if (c->p.third > 0)         /* close the sandbox's descriptor only after the loop has started the program */
        c->p.third = c->inside = fcntl(c->p.third, F_DUPFD_CLOEXEC, 3);
    if (c->inside < 0)
        rc = fail(&err, PAWL_TRANSIENT, "%s: no file descriptor is left to run it with", c->name);
    else
        rc = process_start(&c->p, command_done, c, &err);
    return rc == PAWL_PENDING ? rc : command_came(c, rc, &err);
}

/* PAWL_PENDING: command_done() will be called. */
static pawl_code command_make(command *c, const sandbox *in, bool later)
{
    pawl_reply *r = c->r;
    pawl_err err = {0};
    pawl_code rc;

    if (later && (c->job.args = value_copy(&c->mem, c->job.args)) == NULL)     /* it must outlive the call of the handler */
        rc = pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", c->job.effect);
    else
        rc = asked(&c->job, r, in, &c->mem, &c->json, &c->p, &c->check);
    if (rc != PAWL_OK) {
        pawl_reply_untouched(r);
        return code_as(&c->as, rc);
    }
    c->name = c->p.argv[in != NULL ? in->n : 0];
    if (job_canceled(&c->job)) {
        pawl_reply_untouched(r);
        return pawl_reply_fail(r, PAWL_CANCELED, "%s: canceled before it began", c->name);
    }
    if (later)
        return command_start(c);
    rc = process_run(&c->p, &err);
    return command_came(c, rc, &err);
}

static pawl_code run_of(const pawl_job *job, pawl_reply *r, const sandbox *in, effect_codes as, bool until_plan)
{
    command *c;
    bool later;
    pawl_code rc = answer_later(job, r, &later);

    if (rc != PAWL_OK)
        return rc;
    if ((c = command_new(job, r, as)) == NULL) {
        pawl_reply_untouched(r);
        return pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory for its arguments", job->effect);
    }
    c->p.until_plan = until_plan;
    if ((rc = command_make(c, in, later)) != PAWL_PENDING)
        command_free(c);
    return rc;
}

pawl_code command_run(const pawl_job *job, pawl_reply *r, const sandbox *in, effect_codes as)
{
    return run_of(job, r, in, as, false);
}

pawl_code command_until_plan(const pawl_job *job, pawl_reply *r)
{
    return run_of(job, r, NULL, (effect_codes){ 0 }, true);
}

pawl_code pawl_effect_command(const pawl_job *job, pawl_reply *r, void *arg)
{
    (void)arg;
    return command_run(job, r, NULL, (effect_codes){ 0 });
}
