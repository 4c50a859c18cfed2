/* agent_trial.h - an agent with a helper, ready for the simulator: its input and the answers of its model are generated from the seed. */
#ifndef TEST_LIB_AGENT_TRIAL_H
#define TEST_LIB_AGENT_TRIAL_H

#include "pawl/agent.h"
#include "pawl/sim.h"

#define TRIAL_TEXT(name) "{\"properties\":{\"" name "\":{\"minLength\":1,\"type\":\"string\"}},\"required\":[\"" name "\"],\"type\":\"object\"}"

static const pawl_agent_tool trial_tools[] = {
    { .name = "read_file", .rule = "Read", .schema = TRIAL_TEXT("file_path"), .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true },
    { .name = "edit_file", .rule = "Edit", .schema = TRIAL_TEXT("file_path"), .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "bash", .rule = "Bash", .schema = TRIAL_TEXT("command"), .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "web_fetch", .rule = "WebFetch", .schema = TRIAL_TEXT("url"), .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE, .beside = true },
    { .name = "todo", .schema = "{\"properties\":{\"todos\":{\"type\":\"array\"}},\"required\":[\"todos\"],\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ,
      .own = PAWL_OWN_TODO },
    { .name = "plan_enter", .rule = "EnterPlan", .schema = "{\"type\":\"object\"}", .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_ENTER },
    { .name = "plan_exit", .rule = "ExitPlan", .schema = TRIAL_TEXT("plan"), .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_PLAN_EXIT },
    { .name = "spawn_agent", .rule = "Agent", .schema = TRIAL_TEXT("prompt"), .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_SPAWN_AGENT, .beside = true },
};
static const pawl_agent_helper trial_helpers[] = { { "searcher", "It searches." } };
static const char *const trial_inputs[] = {
    "{\"input\":\"go\"}",
    "{\"@mode\":\"acceptEdits\",\"@policy\":{\"allow\":[\"Bash(ls)\"],\"ask\":[\"WebFetch\"],\"cwd\":\"/w\",\"deny\":[\"Read(/etc/**)\",\"Bash(rm:*)\"]},\"input\":\"go\"}",
};

static inline pawl_machine *trial_agent(const char *name, size_t ntools, pawl_err *err)
{
    const pawl_agent a = { .name = name, .version = 1, .model = "none/none", .system = "You help.", .tools = trial_tools, .ntools = ntools,
                           .helpers = trial_helpers,
                           .nhelpers = 1, .post_tools = true, .compact_tokens = 1200 };

    return pawl_agent_machine(&a, NULL, err);
}

static inline pawl_machine *trial_helper(void *ctx, pawl_err *err)
{
    (void)ctx;
    return trial_agent("helper", sizeof trial_tools / sizeof *trial_tools, err);
}

static inline pawl_machine *trial_searcher(void *ctx, unsigned index, pawl_err *err)
{
    (void)ctx;
    return index == 0 ? trial_agent("searcher", 3, err) : NULL;
}

static const pawl_sim_setup trial_setup = { .machine = trial_helper, .more = trial_searcher, .inputs = trial_inputs, .ninputs = 2 };

#endif
