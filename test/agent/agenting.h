/* agenting.h - an agent in a world of a test: its tools are names, and what they and its model come to is said by hand. */
#ifndef TEST_AGENT_AGENTING_H
#define TEST_AGENT_AGENTING_H

#include "agent/agent.h"
#include "lib/model_reply.h"
#include "lib/world.h"

#include <stdio.h>
#include <stdlib.h>

static const pawl_agent_tool agent_tools[] = {
    { .name = "read_file", .rule = "Read", .description = "Read a file.",
      .schema = "{\"properties\":{\"file_path\":{\"type\":\"string\"}},\"required\":[\"file_path\"],\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE },
    { .name = "edit_file", .rule = "Edit", .description = "Change a file.",
      .schema = "{\"properties\":{\"file_path\":{\"type\":\"string\"}},\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "bash", .rule = "Bash", .description = "Run a command.",
      .schema = "{\"properties\":{\"command\":{\"type\":\"string\"}},\"required\":[\"command\"],\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "web_fetch", .rule = "WebFetch", .description = "Get a page.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_NET,
        .effect = PAWL_CLASS_AT_LEAST_ONCE,
      .beside = true,
      .deferred = true, .hint = "internet http page" },
    { .name = "todo", .description = "Keep a list.", .schema = "{\"properties\":{\"todos\":{\"type\":\"array\"}},\"required\":[\"todos\"],\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_READ,
      .own = PAWL_OWN_TODO },
    { .name = "ask_user", .description = "Ask.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_ASK_USER },
    { .name = "spawn_agent", .description = "Have another do it.",
      .schema = "{\"properties\":{\"prompt\":{\"type\":\"string\"}},\"required\":[\"prompt\"],\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_SPAWN_AGENT, .beside = true },
    { .name = "plan_enter", .description = "Plan first.", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_ENTER },
    { .name = "plan_exit", .description = "Show the plan.",
      .schema = "{\"properties\":{\"plan\":{\"type\":\"string\"}},\"required\":[\"plan\"],\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ,
      .own = PAWL_OWN_PLAN_EXIT },
    { .name = "tool_search", .description = "Look for tools.",
      .schema = "{\"properties\":{\"query\":{\"type\":\"string\"}},\"required\":[\"query\"],\"type\":\"object\"}",
      .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_TOOL_SEARCH },
};
static const pawl_agent_helper agent_helpers[] = { { "searcher", "It searches." } };

static inline pawl_agent agent_plain(void)
{
    return (pawl_agent){ .name = "helper", .version = 1, .model = "script:none", .system = "You help.", .tools = agent_tools,
                         .ntools = sizeof agent_tools / sizeof *agent_tools, .helpers = agent_helpers, .nhelpers = 1 };
}

static inline void agent_begin(world *w, const pawl_agent *a, const char *input)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_agent_machine(a, NULL, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    world_begin(w, m, input);
    w->quiet = false;
    world_go(w);
}

/* The open command that `what` means: an effect, the id of a tool call, the name of a child, or "sleep". "": there is none. */
static inline const char *command_of(world *w, const char *what)
{
    static char id[512];
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++) {
        const char *own;

        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) != PAWL_OK)
            CHECK_FAIL("a command cannot be looked at");
        own = pawl_value_string(pawl_value_get(cmd.args, "call"));
        if ((cmd.kind == PAWL_COMMAND_SLEEP && strcmp(what, "sleep") == 0) || (cmd.effect != NULL && strcmp(cmd.effect, what) == 0) ||
            (own != NULL && strcmp(own, what) == 0) || (cmd.child != NULL && strcmp(cmd.child, what) == 0)) {
            snprintf(id, sizeof id, "%s", cmd.id);
            return id;
        }
    }
    return "";
}

static inline void comes(world *w, const char *what, pawl_outcome outcome, const char *value)
{
    const char *id = command_of(w, what);

    if (*id == '\0')
        CHECK_FAIL("nothing of \"%s\" is open", what);
    world_outcome(w, id, outcome, value);
}

/* All that has happened, as text. */
static inline const char *traced(world *w)
{
    buf_char(&w->trace, '\0');
    w->trace.size--;
    return w->trace.data;
}

/* How often that was told or asked. */
static inline int told_times(world *w, const char *what)
{
    int n = 0;

    buf_char(&w->trace, '\0');
    w->trace.size--;
    for (const char *at = w->trace.data; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static inline void wakes(world *w)
{
    world_timer(w, command_of(w, "sleep"));
}

/* What the model answers, as it is. */
static inline void model_gives(world *w, const char *content)
{
    char json[4096];

    snprintf(json, sizeof json, "{\"message\":{\"content\":%s,\"role\":\"assistant\"},\"stop\":\"end_turn\"}", content);
    comes(w, "llm", PAWL_OUTCOME_DONE, json);
}

/* The same, written short. */
static inline void model_says(world *w, const char *text, const char *calls)
{
    char json[16384];

    if (!model_reply(json, sizeof json, text, calls))
        CHECK_FAIL("no calls: %s", calls);
    comes(w, "llm", PAWL_OUTCOME_DONE, json);
}

static inline const char *agent_shows(world *w)
{
    pawl_agent_view v;

    return pawl_agent_display(w->st, &v, NULL) == PAWL_OK ? pawl_shown_name(v.state) : "?";
}

/* The roles of all messages, and of those of tools their call: "user assistant tool:c1". */
static inline const char *roles(world *w)
{
    static char out[4096];
    pawl_iter it = pawl_iter_of(pawl_state_get(w->st, "messages"));
    const pawl_value *one;
    size_t n = 0;

    out[0] = '\0';
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *id = pawl_value_string(pawl_value_get(one, "tool_call_id"));

        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s%s%s", n > 0 ? " " : "", pawl_value_string(pawl_value_get(one, "role")), id != NULL ? ":" : "",
                              id != NULL ? id : "");
    }
    return out;
}

static inline const char *content_at(world *w, size_t i)
{
    const char *text = pawl_value_string(pawl_value_get(pawl_value_at(pawl_state_get(w->st, "messages"), i), "content"));

    return text != NULL ? text : "";
}

/* Every tool call of an assistant has its result before anybody else speaks, and no result is without its call. */
static inline void check_valid(world *w)
{
    pawl_iter it = pawl_iter_of(pawl_state_get(w->st, "messages"));
    const pawl_value *one;
    const char *open[64];
    size_t n = 0, at = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *role = pawl_value_string(pawl_value_get(one, "role")), *id = pawl_value_string(pawl_value_get(one, "tool_call_id"));
        pawl_iter blocks = pawl_iter_of(pawl_value_get(one, "content"));
        const pawl_value *block;

        if (strcmp(role, "tool") == 0) {
            if (at == n || strcmp(open[at], id) != 0)
                CHECK_FAIL("a result of %s, which nobody called: %s", id, world_get(w, "messages"));
            at++;
            continue;
        }
        if (at < n)
            CHECK_FAIL("no result of %s: %s", open[at], world_get(w, "messages"));
        n = at = 0;
        while (strcmp(role, "assistant") == 0 && (block = pawl_iter_next(&blocks, NULL)) != NULL)
            if (strcmp(pawl_value_string(pawl_value_get(block, "type")), "tool_use") == 0)
                open[n++] = pawl_value_string(pawl_value_get(block, "id"));
    }
    if (at < n)
        CHECK_FAIL("no result of %s: %s", open[at], world_get(w, "messages"));
}

#endif
