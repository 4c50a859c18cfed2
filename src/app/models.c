/* models.c - the handlers of "llm" and "prompt": models of providers over the network, and scripted models.
 *
 * Called by the engine on any thread, several at once; scripts do not change after the session has opened. by_agent and by_node hand on a copy of the job
 * whose arguments end with the call: pawl_effect_llm copies what it needs when it answers later, pawl_effect_script answers at once. */
#include "app/session.h"
#include "effect/effect.h"

#include <string.h>

enum { PROMPT_TOKENS = 4096 };   /* reserved for the answer to a node without max_tokens */

struct script {
    script *next;
    const char *model;          /* "script:PATH" */
    pawl_llm_script *made;
};

/* The price of a usage, by the prices of the agent file. */
static int64_t price(void *ctx, const char *model, const pawl_llm_usage *u)
{
    const session *s = ctx;
    const model_price *p = price_of(s->file, model);

    return p == NULL ? 0 : price_micros(u->input + u->cache_read + u->cache_write, p->input) + price_micros(u->output, p->output);
}

/* ---- scripts -------------------------------------------------------------------------------------------- */

static pawl_llm_script *script_read(session *s, const file_source *src, pawl_err *err)
{
    const pawl_value *all;
    const doc *d;
    faults f;

    faults_init(&f, &s->mem);
    d = doc_read(&s->mem, src->path, src->text, &f);
    all = d != NULL ? doc_value(d, &s->mem, &f) : NULL;
    if (all != NULL && f.count == 0)
        return pawl_llm_script_new(all, src->path, price, s, err);
    fail(err, PAWL_INVALID, "%s:%u:%u: %s", src->path, (unsigned)(f.first != NULL ? f.first->at.line : 1),
         (unsigned)(f.first != NULL ? f.first->at.column : 1), f.first != NULL ? f.first->text : "no memory");
    return NULL;
}

/* A call of an agent or a node that no record answers. */
static pawl_code live(const pawl_job *job, pawl_reply *reply, void *arg);

/* Reads all scripts when the session opens: handlers on many threads only read them. */
pawl_code session_models(session *s, pawl_err *err)
{
    static const char lead[] = "script:";

    s->llm = (pawl_llm){ .price = price, .price_ctx = s, .setting = session_setting, .setting_ctx = s };
    for (size_t g = 0; s->file != NULL && g < s->file->nscripts; g++) {
        const char *path = s->file->scripts[g] + sizeof lead - 1;
        const file_source *src = s->file->sources;
        script *one;

        while (src != NULL && strcmp(src->path, path) != 0)
            src = src->next;
        if (src == NULL || (one = arena_zero(&s->mem, sizeof *one)) == NULL)
            return fail(err, PAWL_NOMEM, "%s: it was not read", path);
        *one = (script){ .next = s->scripts, .model = s->file->scripts[g], .made = script_read(s, src, err) };
        if (one->made == NULL)
            return err->code;
        s->scripts = one;
    }
    return session_record_open(s, live, err);
}

void session_models_free(session *s)
{
    for (script *sc = s->scripts; sc != NULL; sc = sc->next)
        pawl_llm_script_free(sc->made);
    s->scripts = NULL;
    pawl_llm_record_close(s->record);
    s->record = NULL;
}

static pawl_code ask(const session *s, const pawl_job *job, pawl_reply *reply, const char *model)
{
    for (const script *sc = s->scripts; sc != NULL && model != NULL; sc = sc->next)
        if (strcmp(sc->model, model) == 0)
            return pawl_effect_script(job, reply, sc->made);
    if (model != NULL && strncmp(model, "script:", 7) != 0)
        return pawl_effect_llm(job, reply, (void *)(uintptr_t)&s->llm);
    pawl_reply_untouched(reply);
    return pawl_reply_fail(reply, PAWL_INVALID, "there is no model \"%s\"", model != NULL ? model : "");
}

/* ---- by an agent ------------------------------------------------------------------------------------------ */

/* Leaves out `max_iterations`, which is not for the model. */
static const pawl_value *request(arena *mem, const pawl_value *args)
{
    const pawl_value *config = pawl_value_get(args, "config"), *out = value_pack(mem, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(config);

    if (pawl_value_get(config, "max_iterations") == NULL)
        return args;
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), "max_iterations") != 0)
            out = value_with(mem, out, pawl_value_string(key), v);
    return value_with(mem, args, "config", out);
}

static pawl_code by_agent(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    own.args = request(&mem, job->args);
    rc = own.args != NULL && !mem.failed ? ask(arg, &own, reply, pawl_value_string(pawl_value_find(job->args, "/config/model")))
                                         : pawl_reply_fail(reply, PAWL_NOMEM, "llm: no memory");
    arena_free(&mem);
    return rc;
}

/* ---- by a node ---------------------------------------------------------------------------------------------- */

/* One message of the user. The schema of a scripted answer is checked where the answer is stored. */
static const pawl_value *prompt_request(arena *mem, const pawl_value *args)
{
    static const char *const same[] = { "model", "system", "max_tokens", "schema", "node" };
    const pawl_value *out = value_pack(mem, NULL, "{s:[{s:v,s:s}]}", "messages", "content", pawl_value_get(args, "prompt"), "role", "user"), *v;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if ((v = pawl_value_get(args, same[i])) != NULL)
            out = value_with(mem, out, same[i], v);
    return pawl_value_get(args, "max_tokens") != NULL ? out : value_with(mem, out, "max_tokens", value_int(mem, PROMPT_TOKENS));
}

static pawl_code by_node(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const char *model = pawl_value_string(pawl_value_get(job->args, "model"));
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    if (model == NULL || strncmp(model, "script:", 7) == 0)
        return ask(arg, job, reply, model);
    arena_init(&mem, NULL, 4096);
    own.args = prompt_request(&mem, job->args);
    rc = own.args != NULL && !mem.failed ? ask(arg, &own, reply, model) : pawl_reply_fail(reply, PAWL_NOMEM, "prompt: no memory");
    arena_free(&mem);
    return rc;
}

/* ---- by a record, or not ------------------------------------------------------------------------------------- */

static pawl_code live(const pawl_job *job, pawl_reply *reply, void *arg)
{
    return pawl_value_get(job->args, "prompt") != NULL ? by_node(job, reply, arg) : by_agent(job, reply, arg);
}

pawl_code session_llm(const pawl_job *job, pawl_reply *reply, void *arg)
{
    session *s = arg;

    return s->record != NULL ? session_recorded(s, job, reply) : by_agent(job, reply, s);
}

pawl_code session_prompt(const pawl_job *job, pawl_reply *reply, void *arg)
{
    session *s = arg;

    return s->record != NULL ? session_recorded(s, job, reply) : by_node(job, reply, s);
}
