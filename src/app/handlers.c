/* handlers.c - handlers for the nodes of an agent file: programs, requests, expressions, and the binding of all effects of a session.
 *
 * Called by the engine on any thread, several at once; they read the session, which does not change after session_open.
 * A wrapper hands a copy of the job on, with arguments of its own that end with its call. That is right for handlers that answer later only when they
 * keep a copy of the job and of its arguments (E17), as command_run, http_request and pawl_effect_llm do; for any other it sets `later` to NULL. */
#include "app/session.h"
#include "app/jobs.h"
#include "effect/agent_effects.h"
#include "effect/command_rules.h"
#include "effect/effect.h"
#include "effect/sandbox.h"
#include "file/read.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECEIPT_BYTES_MAX = 100000 };    /* in the environment of an undo */

/* ---- programs --------------------------------------------------------------------------------------- */

/* The arguments without Pawl's internal members. */
static const pawl_value *without(arena *mem, const pawl_value *args)
{
    static const char *const own[] = { "decision", "sandbox", "undo" };
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(args);

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        size_t i = 0;

        while (i < 3 && strcmp(pawl_value_string(key), own[i]) != 0)
            i++;
        if (i == 3)
            out = value_with(mem, out, pawl_value_string(key), v);
    }
    return out;
}

/* The mode at dispatch counts, even if the command was decided or approved in another mode (P1). */
static bool in_plan(const pawl_job *job)
{
    return pawl_mode_named(job->mode) == PAWL_MODE_PLAN;
}

static pawl_code plan_denies(pawl_reply *reply)
{
    pawl_reply_untouched(reply);
    return pawl_reply_fail(reply, PAWL_DENIED, "it requires %s mode; current mode is %s.", mode_spoken(PAWL_MODE_DEFAULT), mode_spoken(PAWL_MODE_PLAN));
}

static pawl_code command(const pawl_job *job, pawl_reply *reply, const file_effect *e)
{
    const bool plan = in_plan(job) || pawl_value_bool(pawl_value_get(job->args, "sandbox"));
    /* With `retry` an exit status other than 0 is retried, too. */
    const effect_codes as = { .effect = e->limits.retry.max_attempts > 1 ? PAWL_TRANSIENT : PAWL_OK };
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    if (plan && e->limits.cls != PAWL_CLASS_PURE)
        return plan_denies(reply);
    arena_init(&mem, NULL, 4096);
    own.args = without(&mem, job->args);
    if (own.args == NULL)
        rc = pawl_reply_fail(reply, PAWL_NOMEM, "%s: no memory", job->effect);
    else
        rc = plan ? sandbox_command(&own, reply, as) : command_run(&own, reply, NULL, as);
    arena_free(&mem);
    return rc;
}

/* The command as it was decided: a text for a shell, or words. */
static const pawl_value *decided_on(const pawl_value *run)
{
    const char *program = pawl_value_string(pawl_value_at(run, 0)), *option = pawl_value_string(pawl_value_at(run, 1));
    const bool shell = program != NULL && strcmp(program, "sh") == 0 && option != NULL && strcmp(option, "-c") == 0;

    return shell && pawl_value_at(run, 2) != NULL ? pawl_value_at(run, 2) : run;
}

static pawl_code run_command(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char why[COMMAND_WHY_BYTES];

    if (command_denied(job, decided_on(pawl_value_get(job->args, "run")), pawl_value_string(pawl_value_get(job->args, "cwd")), true, why)) {
        pawl_reply_untouched(reply);
        return pawl_reply_fail(reply, PAWL_DENIED, "%s: %s", job->effect, why);
    }
    return command(job, reply, arg);
}

/* The receipt of the command for PAWL_RECEIPT: JSON, null when the outcome is unknown. NULL: more than an environment takes. */
static const pawl_value *receipt_text(arena *mem, const pawl_value *args)
{
    const pawl_value *receipt = pawl_value_get(args, "receipt"), *out = NULL;
    buf b;

    buf_init(&b, NULL);
    canon(&b, receipt != NULL ? receipt : value_null(mem));
    if (!b.failed && b.size <= RECEIPT_BYTES_MAX)
        out = value_string(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

static const pawl_value *env_of(arena *mem, const pawl_value *undo)
{
    const pawl_value *env = pawl_value_get(undo, "env");

    return env != NULL ? env : value_pack(mem, NULL, "{}");
}

/* The inverse of a command. Its arguments were stored with the command, since the state may have changed since. */
static pawl_code undo_command(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *args = pawl_value_get(job->args, "args"), *undo = pawl_value_get(args, "undo"), *cwd = pawl_value_get(args, "cwd");
    const pawl_value *receipt;
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if (undo != NULL && cwd != NULL && pawl_value_get(undo, "cwd") == NULL)
        undo = value_with(&mem, undo, "cwd", cwd);
    if (undo != NULL)
        undo = value_with(&mem, undo, "check", value_bool(&mem, true));
    if (undo != NULL && (receipt = receipt_text(&mem, job->args)) != NULL)
        undo = value_with(&mem, undo, "env", value_with(&mem, env_of(&mem, undo), "PAWL_RECEIPT", receipt));
    own.args = undo;
    rc = undo != NULL ? command(&own, reply, arg) : pawl_reply_fail(reply, PAWL_INVALID, "%s: nothing says how it is taken back", job->effect);
    arena_free(&mem);
    return rc;
}

/* Calls any other handler with the arguments that the author wrote. */
static pawl_code bare(const pawl_job *job, pawl_reply *reply, pawl_handler_fn *fn, void *arg)
{
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    if (pawl_value_get(job->args, "decision") == NULL)
        return fn(job, reply, arg);
    arena_init(&mem, NULL, 4096);
    own.args = without(&mem, job->args);
    if (fn != pawl_effect_http)     /* a plug-in's handler may keep job->args, which end here */
        own.later = NULL;
    rc = own.args != NULL ? fn(&own, reply, arg) : pawl_reply_fail(reply, PAWL_NOMEM, "%s: no memory", job->effect);
    arena_free(&mem);
    return rc;
}

static pawl_code request(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const file_effect *e = arg;

    if (in_plan(job) && e->limits.cls != PAWL_CLASS_PURE && file_request_writes(job->args))
        return plan_denies(reply);
    return bare(job, reply, pawl_effect_http, NULL);
}

/* A plug-in's kind, under the class that a node has given it. */
typedef struct plugged_kind {
    const plugin_handler *h;
    const file_effect *e;
} plugged_kind;

static pawl_code plugged(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const plugged_kind *k = arg;

    if (in_plan(job) && k->e->limits.cls != PAWL_CLASS_PURE)
        return plan_denies(reply);
    return bare(job, reply, k->h->fn, k->h->arg);
}

static pawl_code bind_plugged(session *s, const plugin_handler *h, const file_effect *e, pawl_err *err)
{
    plugged_kind *k = arena_zero(&s->mem, sizeof *k);

    if (k == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to bind it", e->name);
    *k = (plugged_kind){ .h = h, .e = e };
    return pawl_engine_effect(s->engine, e->name, plugged, k, e->limits.cls, err);
}

/* A job of `jobs`, for workers elsewhere. */
typedef struct bound_job {
    struct jobs *to;
    const file_effect *e;
} bound_job;

static pawl_code remote(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const bound_job *k = arg;

    if (in_plan(job) && k->e->limits.cls != PAWL_CLASS_PURE)
        return plan_denies(reply);
    return jobs_put(k->to, k->e->word + sizeof FILE_JOB_PREFIX - 1, k->e->limits.cls, job, reply);
}

/* Without a queue it has no handler: its command waits for a process that has one. */
static pawl_code bind_job(session *s, const file_effect *e, pawl_err *err)
{
    bound_job *k = s->caller != NULL && s->caller->jobs != NULL ? arena_zero(&s->mem, sizeof *k) : NULL;
    const pawl_budget places = { .running = JOBS_PLACES };
    pawl_code rc;

    if (s->caller == NULL || s->caller->jobs == NULL)
        return PAWL_OK;
    if (k == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to bind it", e->name);
    *k = (bound_job){ .to = s->caller->jobs, .e = e };
    rc = pawl_engine_effect(s->engine, e->name, remote, k, e->limits.cls, err);
    return rc == PAWL_OK ? pawl_engine_budget(s->engine, e->name, &places, err) : rc;
}

/* Mode and rules of a visit, if they changed since the superstep began. */
static pawl_code mode_handler(const pawl_job *job, pawl_reply *reply, void *arg)
{
    buf b;
    pawl_code rc;

    (void)arg;
    buf_init(&b, NULL);
    canon(&b, job->args);
    buf_char(&b, '\0');
    rc = b.failed ? pawl_reply_fail(reply, PAWL_NOMEM, "mode: no memory") : pawl_reply_json(reply, b.data);
    buf_free(&b);
    return rc;
}

/* ---- expressions -------------------------------------------------------------------------------------- */

typedef struct picking { arena *mem; const pawl_value *state, *args, *out; } picking;

static bool pick(void *ctx, const char *name, size_t size)
{
    picking *p = ctx;
    const char *key = arena_strdup(p->mem, name, size);
    const pawl_value *v = key != NULL ? pawl_value_get(p->args, key) : NULL;

    if (v == NULL && key != NULL)
        v = pawl_value_get(p->state, key);
    if (v != NULL && p->out != NULL && pawl_value_get(p->out, key) == NULL)
        p->out = value_with(p->mem, p->out, key, v);
    return p->out != NULL;
}

/* The parts of the state, with `args` over it, that the expressions read; everything if one may read everything. A state may be large, while most
 * expressions read little. */
static const pawl_value *input_of(const session *s, arena *mem, const uint32_t *which, size_t n, const pawl_value *state, const pawl_value *args)
{
    picking p = { mem, state, args, value_pack(mem, NULL, "{}") };
    const pawl_value *out = pawl_value_type(state) == PAWL_TYPE_OBJECT ? state : p.out, *key, *v;
    pawl_iter it = pawl_iter_of(args);
    size_t i = 0;

    while (i < n && p.out != NULL && jq_reads(s->file->jq[which[i]]->text, pick, &p))
        i++;
    if (i == n || p.out == NULL)
        return p.out;
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        out = value_with(mem, out, pawl_value_string(key), v);
    return out;
}

static bool labels_found(const session *s, const pawl_value *labels, uint32_t *which, size_t n, const char **missing)
{
    for (size_t i = 0; i < n; i++) {
        const char *label = pawl_value_string(pawl_value_at(labels, i));
        size_t k = 0;

        while (label != NULL && k < s->file->njq && strcmp(s->file->jq[k]->label, label) != 0)
            k++;
        *missing = label != NULL ? label : "";
        if (label == NULL || k == s->file->njq)
            return false;
        which[i] = s->file->jq[k]->number;
    }
    return true;
}

/* Values of the expressions that `labels` name, as JSON text in `out`. */
static pawl_code evaluate(const session *s, const pawl_value *labels, const pawl_value *state, const pawl_value *args, buf *out, pawl_err *err)
{
    const size_t n = pawl_value_size(labels);
    uint32_t *which = malloc((n + 1) * sizeof *which);
    const char *missing = "";
    pawl_code rc = PAWL_NOMEM;
    const pawl_value *input;
    arena mem;
    buf in;

    buf_init(&in, NULL);
    arena_init(&mem, NULL, 4096);
    if (which == NULL) {
        fail(err, PAWL_NOMEM, "no memory to evaluate expressions");
    } else if (!labels_found(s, labels, which, n, &missing)) {
        rc = fail(err, PAWL_INVALID, "the file has no expression \"%.80s\"", missing);
    } else {
        if ((input = input_of(s, &mem, which, n, state, args)) != NULL)
            canon(&in, input);
        rc = input == NULL || in.failed ? fail(err, PAWL_NOMEM, "no memory to evaluate expressions")
                                        : jq_evaluate(s->jq, which, n, (pawl_bytes){ in.data, in.size }, out, err);
    }
    buf_free(&in);
    arena_free(&mem);
    free(which);
    return rc;
}

pawl_code session_jq(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const session *s = arg;
    pawl_err err = {0};
    pawl_code rc;
    buf out;

    buf_init(&out, NULL);
    rc = evaluate(s, pawl_value_get(job->args, "jq"), pawl_value_get(job->args, "state"), pawl_value_get(job->args, "args"), &out, &err);
    buf_char(&out, '\0');
    if (rc == PAWL_OK && !out.failed)
        rc = pawl_reply_json(reply, out.data);
    else
        rc = pawl_reply_fail(reply, rc == PAWL_OK ? PAWL_NOMEM : PAWL_EFFECT, "%s", *err.text != '\0' ? err.text : "no memory");
    buf_free(&out);
    return rc;
}

static const pawl_value *evaluate_in(const session *s, arena *mem, const pawl_value *labels, const pawl_value *input, pawl_err *err)
{
    const pawl_value *v = NULL;
    buf out;

    buf_init(&out, NULL);
    if (evaluate(s, labels, input, NULL, &out, err) == PAWL_OK)
        v = value_parse(mem, out.data, out.size, "what the expressions gave", err);
    buf_free(&out);
    return v;
}

static const pawl_value *anew(void *ctx, arena *mem, const pawl_value *labels, const pawl_value *input, pawl_err *err)
{
    return evaluate_in(ctx, mem, labels, input, err);
}

const pawl_value *session_output(session *s, pawl_state *st, pawl_err *err)
{
    const expression *e = s->file != NULL ? s->file->output : NULL;
    const pawl_value *state, *labels, *out;
    pawl_step *step = pawl_engine_step(s->engine);
    const char *json;

    if (session_is_agent(s))
        return pawl_state_get(st, "output");
    if (e == NULL)
        return NULL;
    if ((json = pawl_state_json(st, step, err)) == NULL || (state = value_parse(&s->mem, json, strlen(json), "the state", err)) == NULL)
        return NULL;
    if (e->path) {
        out = e->nsteps > 0 ? path_follow(e, state, err) : state;
        return out;
    }
    labels = value_pack(&s->mem, err, "[s]", e->label);
    out = labels != NULL ? evaluate_in(s, &s->mem, labels, state, err) : NULL;
    return pawl_value_at(out, 0);
}

/* More threads than processors, because programs and requests mostly wait. */
unsigned session_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 2 ? 4 : n > 16 ? 64 : (unsigned)n * 4;
}

/* ---- binding -------------------------------------------------------------------------------------------------- */

static pawl_code bind_file(session *s, pawl_err *err)
{
    const pawl_budget places = { .running = session_threads() };
    pawl_code rc = PAWL_OK;

    for (const file_effect *e = s->hands_out ? NULL : s->file->effects; e != NULL && rc == PAWL_OK; e = e->next) {
        const plugin_handler *h = plugin_kind(s->plugins, e->word);
        void *own = (void *)(uintptr_t)e;
        const bool job = h == NULL && strncmp(e->word, FILE_JOB_PREFIX, sizeof FILE_JOB_PREFIX - 1) == 0;

        if (job)
            rc = bind_job(s, e, err);
        else if (h != NULL)
            rc = bind_plugged(s, h, e, err);
        else if (strncmp(e->word, "tool-", 5) == 0)
            rc = session_tool_bind(s, e, err);
        else if (strcmp(e->word, "run") == 0)
            rc = pawl_engine_effect(s->engine, e->name, run_command, own, e->limits.cls, err);
        else if (strcmp(e->word, "undo") == 0)
            rc = pawl_engine_effect(s->engine, e->name, undo_command, own, e->limits.cls, err);
        else if (strcmp(e->word, "http") == 0)
            rc = pawl_engine_effect(s->engine, e->name, request, own, e->limits.cls, err);
        else
            rc = pawl_engine_effect(s->engine, e->name, session_prompt, s, e->limits.cls, err);
        if (rc == PAWL_OK && !job)
            rc = pawl_engine_budget(s->engine, e->name, &places, err);
    }
    if (rc == PAWL_OK && !s->hands_out)
        rc = pawl_engine_effect(s->engine, "hook", session_hook, s, PAWL_CLASS_AT_LEAST_ONCE, err);
    if (rc == PAWL_OK && !s->hands_out)
        rc = pawl_engine_effect(s->engine, "links", effect_links, NULL, PAWL_CLASS_AT_LEAST_ONCE, err);
    if (rc == PAWL_OK && s->file->agent == NULL)
        rc = pawl_engine_effect(s->engine, "mode", mode_handler, NULL, PAWL_CLASS_PURE, err);
    if (rc == PAWL_OK && s->file->njq > 0)
        rc = pawl_engine_effect(s->engine, "jq", session_jq, s, PAWL_CLASS_PURE, err);
    return rc;
}

void session_anew(session *s)
{
    if (s->file == NULL)
        return;
    s->file->anew = anew;
    s->file->anew_ctx = s;
}

pawl_code session_bind(session *s, pawl_err *err)
{
    pawl_code rc = session_models(s, err);

    if (rc == PAWL_OK)
        rc = session_sandbox(s, err);
    if (rc == PAWL_OK && s->file != NULL)
        rc = bind_file(s, err);
    if (rc == PAWL_OK)
        rc = session_agents_bind(s, err);
    for (const pawl_plugin *p = s->plugins; p != NULL && rc == PAWL_OK; p = p->next)
        for (const plugin_handler *h = p->handlers; h != NULL && rc == PAWL_OK; h = h->next)
            if (!h->kind)
                rc = pawl_engine_effect(s->engine, h->name, h->fn, h->arg, h->cls, err);
    return rc;
}
