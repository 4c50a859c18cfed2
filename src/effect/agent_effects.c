/* agent_effects.c - performs the effects that the permission gate of agents and nodes issues: "hook" and "links".
 *
 * Handlers: called on any thread, several at once; they keep nothing between two calls. An answer that comes later copies what it needs of the arguments
 * (command_run, http_request), so the arena here ends with the call. */
#include "effect/agent_effects.h"
#include "effect/effect.h"
#include "effect/resolve_links.h"
#include "effect/sandbox.h"
#include "effect/script_digest.h"
#include "net/net.h"
#include "pawl/policy.h"

#include <string.h>

/* The names of secret variables that the hook's `env` lists; NULL: no memory. */
static const char *const *names_of(arena *mem, const pawl_value *list)
{
    const char **names = arena_zero(mem, (pawl_value_size(list) + 1) * sizeof *names);
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    for (size_t i = 0; names != NULL && (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        names[i] = pawl_value_string(one) != NULL ? pawl_value_string(one) : "";
    return (const char *const *)names;
}

const pawl_value *hook_unheard(arena *mem, const char *name, const char *event, const char *why)
{
    static const char *const stops[] = { "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit" };
    const pawl_value *text;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s: %s", name != NULL ? name : "a hook", why);
    text = b.failed ? NULL : value_string(mem, b.data, b.size);
    buf_free(&b);
    for (size_t i = 0; event != NULL && i < sizeof stops / sizeof *stops; i++)
        if (strcmp(event, stops[i]) == 0)
            return value_pack(mem, NULL, "{s:v,s:s}", "reason", text, "verdict", "deny");
    return value_pack(mem, NULL, "{s:{s:v},s:i}", "body_json", "systemMessage", text, "status", (int64_t)200);
}

pawl_code hook_unheard_reply(const pawl_job *job, pawl_reply *reply, const char *why)
{
    const pawl_value *v;
    pawl_code rc;
    arena mem;
    buf b;

    arena_init(&mem, NULL, 1024);
    buf_init(&b, NULL);
    v = hook_unheard(&mem, pawl_value_string(pawl_value_find(job->args, "/hook/name")),
                     pawl_value_string(pawl_value_find(job->args, "/input/hook_event_name")), why);
    if (v != NULL)
        canon(&b, v);
    buf_char(&b, '\0');
    rc = v == NULL || b.failed ? pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory") : pawl_reply_json(reply, b.data);
    buf_free(&b);
    arena_free(&mem);
    return rc;
}

/* A script that is not what the person trusted is not run, and its hook is not heard. */
static pawl_code hook_changed(const pawl_job *job, pawl_reply *reply, const char *script, const char *cwd)
{
    pawl_code rc;
    buf why;

    buf_init(&why, NULL);
    buf_fmt(&why, "%.1000s is not what was trusted when the run began or went on, so the hook does not run: look at it, then pawl policy trust %.1000s",
            script, cwd != NULL ? cwd : "");
    buf_char(&why, '\0');
    rc = why.failed ? pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory") : hook_unheard_reply(job, reply, why.data);
    buf_free(&why);
    return rc;
}

/* Runs one hook: a command with the input on its stdin, or a request with the input as its body. In plan mode the command runs in the read-only sandbox:
 * if either the mode of the call or the current mode is plan. */
pawl_code effect_hook(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_value *h = pawl_value_get(job->args, "hook"), *input = pawl_value_get(job->args, "input"), *run = pawl_value_get(h, "run");
    const pawl_value *limit = pawl_value_get(h, "timeout_ms"), *cwd = pawl_value_get(input, "cwd"), *headers = pawl_value_get(h, "headers");
    const pawl_value *project = pawl_value_get(h, "project"), *env;
    const char *const *names, *changed;
    const bool plan = pawl_mode_named(job->mode) == PAWL_MODE_PLAN || pawl_mode_named(pawl_value_string(pawl_value_get(input,
        "permission_mode"))) == PAWL_MODE_PLAN;
    const effect_codes as = { .transient = PAWL_EFFECT };      /* a hook is run once, without retry */
    pawl_job own = *job;
    pawl_code rc;
    arena mem;

    (void)arg;
    if (pawl_value_get(h, "callback") != NULL)
        return hook_unheard_reply(job, reply, "its client is not connected");
    if ((changed = script_changed(pawl_value_get(h, "scripts"))) != NULL)
        return hook_changed(job, reply, changed, pawl_value_string(project != NULL ? project : cwd));
    arena_init(&mem, NULL, 4096);
    names = names_of(&mem, pawl_value_get(h, "env"));
    env = names != NULL ? env_keyless(&mem, names) : NULL;
    env = env_more(&mem, env, pawl_value_get(job->args, "env"), names);       /* of settings: its caller's, not the journal's */
    if (env != NULL && project != NULL)         /* in the manner of Claude Code */
        env = value_with(&mem, env, "CLAUDE_PROJECT_DIR", project);
    if (run != NULL)
        own.args = value_pack(&mem, NULL, "{s:v,s:v,s:v,s:v}", "env", env, "run", run, "stdin", input, "timeout_ms", limit);
    else
        own.args = value_pack(&mem, NULL, "{s:v,s:s,s:v,s:v}", "body", input, "method", "POST", "timeout_ms", limit, "url", pawl_value_get(h, "url"));
    if (run != NULL && cwd != NULL)
        own.args = value_with(&mem, own.args, "cwd", cwd);
    if (run == NULL && headers != NULL)
        own.args = value_with(&mem, own.args, "headers", headers);
    if (own.args == NULL)
        rc = pawl_reply_fail(reply, PAWL_NOMEM, "hook: no memory");
    else
        rc = run == NULL ? http_request(&own, reply, as) : plan ? sandbox_command(&own, reply, as) : command_run(&own, reply, NULL, as);
    arena_free(&mem);
    return rc;
}

static bool stops(void *ctx)
{
    return job_canceled(ctx);
}

pawl_code effect_links(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const link_rules rules = { .policy = job->policy, .time_ms = epoch_ms(), .stop = stops, .ctx = (void *)(uintptr_t)job };
    const pawl_value *out;
    pawl_err err = {0};
    pawl_code rc;
    arena mem;
    buf b;

    (void)arg;
    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    if ((out = links_of(&mem, pawl_value_string(pawl_value_get(job->args, "cwd")), pawl_value_get(job->args, "paths"), &rules, &err)) != NULL)
        canon(&b, out);
    buf_char(&b, '\0');
    if (out == NULL)
        rc = pawl_reply_fail(reply, err.code, "%s", err.text);
    else
        rc = b.failed ? pawl_reply_fail(reply, PAWL_NOMEM, "links: no memory") : pawl_reply_json(reply, b.data);
    buf_free(&b);
    arena_free(&mem);
    return rc;
}
