/* agents.c - binds what the agents of a file need (tools, sub-agents, the hook after tools), and makes an agent's first input.
 *
 * Called when a session opens, on the thread of its caller; run_post_tools is a handler, on any thread. Its copy of the job ends with its call, which
 * command_run allows: it copies job and arguments when it answers later. */
#include "app/session.h"
#include "app/transcript.h"
#include "effect/agent_effects.h"
#include "effect/effect.h"
#include "pawl/host.h"
#include "policy/hook.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool session_is_agent(const session *s)
{
    return s->of != NULL && s->of->agent != NULL;
}

bool session_of_agent(session *s, const char *name)
{
    for (const file_helper *h = s->file != NULL ? s->file->helpers : NULL; h != NULL; h = h->next)
        if (strcmp(h->name, name) == 0 && h->file != s->file) {
            s->of = h->file;
            return true;
        }
    return false;
}

/* ---- the tools that come with the program ------------------------------------------------------------------ */

const pawl_agent_tool *session_tool(void *ctx, size_t index)
{
    session *s = ctx;
    pawl_agent_tool *all;

    if (s->tools == NULL && ((s->tools = pawl_tools_new(NULL, NULL)) == NULL || tools_add_set(s->tools, s->toolset, NULL) != PAWL_OK)) {
        s->mem.failed = true;
        return NULL;
    }
    if (s->builtins == NULL) {
        if ((all = arena_zero(&s->mem, (pawl_tools_count(s->tools) + 1) * sizeof *all)) == NULL)
            return NULL;
        s->nbuiltins = pawl_host_tools(s->tools, all, pawl_tools_count(s->tools));
        s->builtins = all;
    }
    return index < s->nbuiltins ? &s->builtins[index] : NULL;
}

/* Its own programs, after the tools of the library. */
static pawl_code own_tools_add(session *s, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (const file_tool *t = s->file->tools; t != NULL && rc == PAWL_OK; t = t->next) {
        const pawl_tool tool = { .name = t->t.name, .rule = t->t.rule, .description = t->t.description, .schema = t->t.schema, .cls = t->t.cls,
                                 .effect = t->t.effect, .timeout_ms = t->t.timeout_ms, .beside = t->t.beside, .mutates = t->t.mutates,
                                 .deferred = t->t.deferred, .hint = t->t.hint, .env = t->env };

        if (pawl_tools_find(s->tools, t->t.name) == NULL)
            rc = pawl_tool_command(s->tools, &tool, t->run, err);
    }
    return rc;
}

/* ---- after its tools ---------------------------------------------------------------------------------------------- */

/* The input of the hook after tools: each call with its input. NULL: no memory. */
static const pawl_value *post_tools_input(arena *mem, const pawl_value *args, const char *cwd)
{
    const pawl_value *calls = pawl_value_get(args, "calls"), *all = value_pack(mem, NULL, "[]"), *one, *id;
    pawl_iter it = pawl_iter_of(pawl_value_get(args, "tools"));

    for (size_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        const pawl_value *call = pawl_value_at(calls, i);

        if (pawl_value_get(one, "tool_input") == NULL && pawl_value_get(call, "input") != NULL)
            one = value_with(mem, one, "tool_input", pawl_value_get(call, "input"));
        if ((id = pawl_value_get(call, "id")) != NULL)
            one = value_with(mem, one, "tool_use_id", id);
        all = value_push(mem, all, one);
    }
    return value_pack(mem, NULL, "{s:s,s:v}", "cwd", cwd, "tools", all);
}

static pawl_code run_post_tools(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const session *s = arg;
    const char *cwd = pawl_value_string(pawl_value_get(job->args, "cwd"));
    const char *const *keys = (const char *const *)s->file->post_tools_env;
    const pawl_value *words, *env;
    pawl_job own = *job;
    pawl_err err = {0};
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    cwd = cwd != NULL && *cwd != '\0' ? cwd : s->folder;
    words = value_pack(&mem, NULL, "[]");
    for (size_t i = 0; s->file->post_tools[i] != NULL; i++)
        words = value_push(&mem, words, value_string(&mem, s->file->post_tools[i], strlen(s->file->post_tools[i])));
    env = env_more(&mem, env_keyless(&mem, keys), session_env(s, &mem, cwd, &err), keys);
    own.args = value_pack(&mem, NULL, "{s:b,s:s,s:v,s:v,s:v}", "check", 1, "cwd", cwd, "env", env, "run", words, "stdin",
                          post_tools_input(&mem, job->args, cwd));
    if (err.code != PAWL_OK)
        rc = pawl_reply_fail(reply, err.code, "post-tools: %s", err.text);
    else if (own.args == NULL)
        rc = pawl_reply_fail(reply, PAWL_NOMEM, "post-tools: no memory");
    else if (pawl_mode_named(job->mode) == PAWL_MODE_PLAN)
        rc = pawl_reply_fail(reply, PAWL_DENIED, "post-tools: nothing is changed in plan mode");
    else
        rc = command_run(&own, reply, NULL, (effect_codes){ .transient = PAWL_EFFECT });
    arena_free(&mem);
    return rc;
}

/* ---- its hooks ---------------------------------------------------------------------------------------------------- */

/* What Claude Code calls the tool: by the name that rules have for it. */
static const char *tool_there(void *ctx, const char *name)
{
    const session *s = ctx;

    for (size_t i = 0; i < s->nbuiltins; i++)
        if (strcmp(s->builtins[i].name, name) == 0)
            return hook_tool_elsewhere(s->builtins[i].rule);
    return NULL;
}

struct transcript *session_transcripts(session *s)
{
    if (s->file == NULL || s->hands_out || (s->file->agent == NULL && s->file->helpers == NULL))
        return NULL;
    return transcript_new(s->caller->store, tool_there, s);
}

/* A hook that is a callback goes to the client that is connected; without one effect_hook refuses it. */
static pawl_code hook_perform(const session *s, const pawl_job *job, pawl_reply *reply)
{
    return s->client != NULL && pawl_value_find(job->args, "/hook/callback") != NULL ? s->client(job, reply, s->client_arg) : effect_hook(job, reply, NULL);
}

/* Hooks get the variables of settings, those in the manner of Claude Code the path of the transcript; neither is part of the journal, for both are others on
 * another machine. */
pawl_code session_hook(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const session *s = arg;
    const pawl_value *input = pawl_value_get(job->args, "input");
    const char *run = pawl_value_string(pawl_value_get(input, "session_id"));
    char path[TRANSCRIPT_PATH_BYTES];
    const pawl_value *env;
    pawl_job own = *job;
    pawl_err err = {0};
    pawl_code rc;
    arena mem;

    arena_init(&mem, NULL, 4096);
    if ((env = session_env(s, &mem, pawl_value_string(pawl_value_get(input, "cwd")), &err)) != NULL && pawl_value_size(env) > 0)
        own.args = value_with(&mem, own.args, "env", env);
    if (s->transcripts != NULL && run != NULL && pawl_value_find(job->args, "/hook/project") != NULL &&
        transcript_path(s->caller->store, run, path))
        own.args = value_with(&mem, own.args, "input", value_with(&mem, input, "transcript_path", value_string(&mem, path, strlen(path))));
    rc = err.code != PAWL_OK ? pawl_reply_fail(reply, err.code, "hook: %s", err.text)
         : own.args == NULL  ? pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory")
                             : hook_perform(s, &own, reply);
    arena_free(&mem);
    return rc;
}

/* ---- all agents of a file -------------------------------------------------------------------------------------------- */

pawl_code session_each_agent(session *s, pawl_code (*fn)(session *s, const agent_file *a, pawl_err *err), pawl_err *err)
{
    pawl_code rc = s->file != NULL && s->file->agent != NULL ? fn(s, s->file, err) : PAWL_OK;

    for (const file_helper *h = s->file != NULL ? s->file->helpers : NULL; h != NULL && rc == PAWL_OK; h = h->next)
        if (h->file != s->file)
            rc = fn(s, h->file, err);
    return rc;
}

static pawl_code machine_add(session *s, const agent_file *a, pawl_err *err)
{
    pawl_machine *m = a == s->file ? NULL : pawl_agent_machine(&a->agent->a, NULL, err);

    if (a == s->file)
        return PAWL_OK;
    if (a == s->of)             /* the engine owns it now */
        s->machine = m;
    return m != NULL ? pawl_engine_add(s->engine, m, err) : err->code < 0 ? err->code : PAWL_NOMEM;
}

static pawl_code tools_bind(session *s, const agent_file *a, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    char name[80];

    for (size_t i = 0; i < a->agent->a.ntools && rc == PAWL_OK; i++) {
        const pawl_agent_tool *t = &a->agent->a.tools[i];
        const pawl_tool *tool = pawl_tools_find(s->tools, t->name);

        if (t->own != PAWL_OWN_NOT || tool == NULL)
            continue;
        snprintf(name, sizeof name, "tool-%s", t->name);
        rc = pawl_engine_effect(s->engine, name, tool->fn, tool->arg, t->effect, err);
    }
    return rc;
}

pawl_code session_tool_bind(session *s, const file_effect *e, pawl_err *err)
{
    const pawl_tool *tool = s->tools != NULL ? pawl_tools_find(s->tools, e->word + 5) : NULL;

    if (tool == NULL || tool->fn == NULL)
        return fail(err, PAWL_INVALID, "%s: there is no such tool", e->word);
    return pawl_engine_effect(s->engine, e->name, tool->fn, tool->arg, e->limits.cls, err);
}

pawl_code session_agents_bind(session *s, pawl_err *err)
{
    pawl_code rc;

    if (s->file == NULL || s->hands_out || (s->file->agent == NULL && s->file->helpers == NULL))
        return PAWL_OK;
    (void)session_tool(s, 0);
    if (s->tools == NULL)
        return fail(err, PAWL_NOMEM, "no memory for tools");
    rc = own_tools_add(s, err);
    if (rc == PAWL_OK)
        rc = session_each_agent(s, machine_add, err);
    if (rc == PAWL_OK)
        rc = session_each_agent(s, tools_bind, err);
    if (rc == PAWL_OK)
        rc = pawl_engine_effect(s->engine, "llm", session_llm, s, PAWL_CLASS_AT_LEAST_ONCE, err);
    if (rc == PAWL_OK)
        rc = pawl_engine_add_tell(s->engine, err);
    if (rc == PAWL_OK && s->file->post_tools != NULL)
        rc = pawl_engine_effect(s->engine, "post-tools", run_post_tools, s, PAWL_CLASS_AT_LEAST_ONCE, err);
    return rc;
}

/* ---- what it begins with ------------------------------------------------------------------------------------------------ */

const pawl_value *session_agent_input(session *s, const pawl_value *v, pawl_err *err)
{
    const pawl_value *text, *key, *one;
    pawl_iter it = pawl_iter_of(s->own);

    if (!session_is_agent(s))
        return v;
    if ((one = pawl_value_get(v, "input")) != NULL && pawl_value_type(one) != PAWL_TYPE_NULL && pawl_agent_input(one, err) != PAWL_OK)
        return NULL;
    while ((one = pawl_iter_next(&it, &key)) != NULL)
        v = value_with(&s->mem, v, pawl_value_string(key), one);
    if ((text = session_instructions(s, err)) != NULL)
        v = value_with(&s->mem, v, "@pinned", text);
    else if (err->code != PAWL_OK)
        return NULL;
    return v;
}

/* ---- how it stands ---------------------------------------------------------------------------------------------------- */

const char *agent_end(pawl_state *st)
{
    const char *end = pawl_value_string(pawl_value_get(pawl_state_get(st, "@agent"), "end"));

    return end != NULL ? end : "";
}

const char *agent_no(const session *s)
{
    return s->of->agent->a.denied == PAWL_DENIED_TELLS ? "the model is told" : "the turn ends";
}
