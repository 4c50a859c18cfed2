/* bind.c - binds what an agent's runs need besides their model: tools, hooks, links, children.
 *
 * Called before the host has the engine, on the caller's thread; missing_handlers() on the thread of a handle, since handlers do not change any more
 * then. */
#include "effect/agent_effects.h"
#include "engine/command/handler.h"
#include "host/host.h"
#include "pawl/llm.h"

#include <stdio.h>
#include <string.h>

static pawl_own_tool own_of(const char *name)
{
    static const struct { const char *name; pawl_own_tool own; } rows[] = {
        { "todo", PAWL_OWN_TODO }, { "ask_user", PAWL_OWN_ASK_USER }, { "spawn_agent", PAWL_OWN_SPAWN_AGENT }, { "plan_enter", PAWL_OWN_PLAN_ENTER },
        { "plan_exit", PAWL_OWN_PLAN_EXIT }, { "tool_search", PAWL_OWN_TOOL_SEARCH },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].own;
    return PAWL_OWN_NOT;
}

size_t pawl_host_tools(const pawl_tools *tools, pawl_agent_tool *out, size_t most)
{
    const size_t n = tools != NULL ? pawl_tools_count(tools) : 0;

    for (size_t i = 0; i < n && i < most; i++) {
        const pawl_tool *t = pawl_tools_at(tools, i);

        out[i] = (pawl_agent_tool){ .name = t->name, .rule = t->rule, .description = t->description, .schema = t->schema, .cls = t->cls, .effect = t->effect,
                                    .timeout_ms = t->fn == NULL ? 0 : t->timeout_ms > 0 ? t->timeout_ms : PAWL_TOOL_TIMEOUT_MS,
                                    .own = t->fn == NULL ? own_of(t->name) : PAWL_OWN_NOT, .beside = t->beside, .alone = t->alone, .mutates = t->mutates,
                                    .deferred = t->deferred, .hint = t->hint, .usual_args = t->usual_args, .seen = t->seen };
    }
    return n < most ? n : most;
}

pawl_code pawl_host_bind(pawl_engine *e, const pawl_tools *tools, pawl_err *err)
{
    const size_t n = tools != NULL ? pawl_tools_count(tools) : 0;
    pawl_code rc = e != NULL ? pawl_engine_add_tell(e, err) : fail(err, PAWL_INVALID, "there is no engine to bind tools to");

    if (rc == PAWL_OK)
        rc = pawl_engine_effect(e, "hook", effect_hook, NULL, PAWL_CLASS_AT_LEAST_ONCE, err);
    if (rc == PAWL_OK)
        rc = pawl_engine_effect(e, "links", effect_links, NULL, PAWL_CLASS_AT_LEAST_ONCE, err);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        const pawl_tool *t = pawl_tools_at(tools, i);
        char name[80];

        snprintf(name, sizeof name, "tool-%s", t->name);
        if (t->fn != NULL)
            rc = pawl_engine_effect(e, name, t->fn, t->arg, t->effect, err);
    }
    return rc;
}

pawl_engine *pawl_host_engine(const pawl_agent *agent, const pawl_tools *tools, pawl_store *store, pawl_err *err)
{
    const size_t n = tools != NULL ? pawl_tools_count(tools) : 0;
    const pawl_alloc alloc = mem_or_default(NULL);
    pawl_agent_tool *known = n > 0 ? mem_new(&alloc, n * sizeof *known) : NULL;
    pawl_agent with = agent != NULL ? *agent : (pawl_agent){ .name = NULL };
    pawl_machine *m = NULL;
    pawl_engine *e;

    with.tools = known;
    with.ntools = known != NULL ? pawl_host_tools(tools, known, n) : 0;
    if (agent == NULL)
        fail(err, PAWL_INVALID, "there is no agent to make an engine for");
    else if (n > 0 && known == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory for its tools", agent->name != NULL ? agent->name : "the agent");
    else
        m = pawl_agent_machine(&with, NULL, err);
    e = pawl_engine_new(m, store, err);
    mem_free(&alloc, known, n * sizeof *known);
    if (e != NULL && (pawl_engine_effect(e, "llm", pawl_effect_llm, NULL, PAWL_CLASS_AT_LEAST_ONCE, err) != PAWL_OK ||
                      pawl_host_bind(e, tools, err) != PAWL_OK)) {
        pawl_engine_free(e);
        e = NULL;
    }
    return e;
}

bool missing_handlers(pawl_handle *a, buf *out)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_store *store = host_hold(a->h);
    const size_t before = out->size;

    (void)!pawl_history_state(store, a->id, 0, &st, NULL);
    host_let(a->h);
    for (size_t i = 0; st != NULL && step != NULL && i < pawl_state_commands(st); i++) {
        pawl_command c;

        if (pawl_state_command(st, i, step, &c, NULL, NULL) == PAWL_OK && c.kind == PAWL_COMMAND_CALL && c.effect != NULL && handler_of(a->h->e,
            c.effect) == NULL) buf_fmt(out, "%s\"%s\"", out->size > before ? ", " : "", c.effect);
    }
    pawl_state_free(st);
    pawl_step_free(step);
    return out->size > before && !out->failed;
}
