/* agent_sim_test.c - agents put through trouble: scripted models that call tools, tools that are refused, lost and late, a sub-agent,
 * permissions, interrupts; kills, power cuts and rivals all along (A1 to A7 under the oracles of pawl/sim.h). */
#include "lib/check.h"
#include "pawl/agent.h"
#include "pawl/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 60, ALL_SEEDS = 5000 };

static const char object[] = "{\"type\":\"object\"}";
static const pawl_agent_tool tools[] = {
    { .name = "read_file", .rule = "Read", .schema = object, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true },
    { .name = "edit_file", .rule = "Edit", .schema = object, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "bash", .rule = "Bash", .schema = object, .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .mutates = true },
    { .name = "web_fetch", .rule = "WebFetch", .schema = object, .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE, .beside = true },
    { .name = "todo", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_TODO },
    { .name = "ask_user", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_ASK_USER },
    { .name = "spawn_agent", .schema = object, .cls = PAWL_PERMISSION_READ, .own = PAWL_OWN_SPAWN_AGENT, .beside = true },
};
static const pawl_agent_helper helpers[] = { { "searcher", "It searches." } };

static pawl_machine *made(const char *name, size_t ntools, pawl_err *err)
{
    const pawl_agent a = { .name = name, .version = 1, .model = "script:none", .system = "You help.", .tools = tools, .ntools = ntools, .helpers = helpers,
                           .nhelpers = 1, .post_tools = true, .max_retries = 1000 };

    return pawl_agent_machine(&a, NULL, err);
}

static pawl_machine *helper(void *ctx, pawl_err *err)
{
    (void)ctx;
    return made("helper", sizeof tools / sizeof *tools, err);
}

static pawl_machine *searcher(void *ctx, unsigned index, pawl_err *err)
{
    (void)ctx;
    return index == 0 ? made("searcher", 1, err) : NULL;
}

/* ---- a model: what it says is a function of how many answers of its are there -------------------------- */

static size_t answers_in(const pawl_value *messages)
{
    pawl_iter it = pawl_iter_of(messages);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        n += strcmp(pawl_value_string(pawl_value_get(one, "role")), "assistant") == 0;
    return n;
}

#define CALL(id, name, input) "{\"id\":\"" id "\",\"input\":" input ",\"name\":\"" name "\",\"type\":\"tool_use\"}"
#define SAYS(content) "{\"message\":{\"content\":[" content "],\"role\":\"assistant\"},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}"

static pawl_code model(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static const char *const script[] = {
        SAYS(CALL("r1", "read_file", "{\"file_path\":\"a\"}") "," CALL("w1", "web_fetch", "{\"url\":\"http://x\"}") ","
             CALL("e1", "edit_file", "{\"file_path\":\"a\"}")),
        SAYS(CALL("b1", "bash", "{\"command\":\"make\"}") "," CALL("n1", "nothing", "{}")),
        SAYS(CALL("s1", "spawn_agent", "{\"prompt\":\"look\"}") "," CALL("s2", "spawn_agent", "{\"prompt\":\"look again\"}") ","
             CALL("t1", "todo", "{\"todos\":[]}")),
        SAYS(CALL("q1", "ask_user", "{\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}")),
        SAYS("{\"text\":\"done\",\"type\":\"text\"}"),
    };
    static const char *const child[] = {
        SAYS(CALL("r1", "read_file", "{\"file_path\":\"b\"}") "," CALL("r2", "read_file", "{\"file_path\":\"c\"}")),
        SAYS("{\"text\":\"found\",\"type\":\"text\"}"),
    };
    const size_t n = answers_in(pawl_value_get(job->args, "messages"));
    const bool small = pawl_value_size(pawl_value_get(job->args, "tools")) == 1;

    (void)arg;
    return pawl_reply_json(reply, small ? child[n < 2 ? n : 1] : script[n < 5 ? n : 4]);
}

static const char *answer(void *ctx, const pawl_wait *wait)
{
    (void)ctx;
    if (wait->kind == PAWL_WAIT_INPUT)
        return "";
    return wait->kind == PAWL_WAIT_QUESTION ? "{\"Color\":\"red\"}" : "true";
}

static pawl_code content(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char json[256];

    (void)arg;
    snprintf(json, sizeof json, "{\"content\":\"of %.100s\"}", pawl_value_string(pawl_value_get(job->args, "call")));
    return pawl_reply_json(reply, json);
}

static const pawl_sim_effect effects[] = {
    { "llm", model, NULL },          { "tool-read_file", content, NULL }, { "tool-edit_file", content, NULL },
    { "tool-bash", content, NULL },  { "tool-web_fetch", content, NULL },
};

static void simulate(const pawl_sim_setup *setup, uint64_t first)
{
    const char *whole = getenv("PAWL_TEST_ALL");
    const uint64_t n = check_run_all() || (whole != NULL && strcmp(whole, "1") == 0) ? ALL_SEEDS : SEEDS;
    uint64_t kills = 0, repeated = 0, performed = 0, answers = 0;

    for (uint64_t seed = first; seed < first + n; seed++) {
        pawl_sim_report report;
        pawl_err err = { PAWL_OK, "" };
        const pawl_code rc = pawl_sim(setup, seed, &report, &err);

        if (rc != PAWL_OK)
            fprintf(stderr, "%s\n", report.trace != NULL ? report.trace : "");
        kills += report.kills;
        repeated += report.repeated;
        performed += report.performed;
        answers += report.answers;
        pawl_sim_report_free(&report);
        if (rc != PAWL_OK)
            CHECK_FAIL("seed %llu: %s", (unsigned long long)seed, err.text);
    }
    printf("%llu seeds: %llu performed, %llu repeated, %llu answers, %llu kills\n", (unsigned long long)n, (unsigned long long)performed,
           (unsigned long long)repeated, (unsigned long long)answers, (unsigned long long)kills);
    CHECK(kills > 0 && repeated > 0 && answers > 0);        /* else nothing was put to the test */
}

PAWL_TEST(test_A_agents_in_trouble)
{
    static const char *const inputs[] = { "{\"@once\":\"run\",\"input\":\"go\"}", "{\"@mode\":\"bypassPermissions\",\"@once\":\"run\",\"input\":\"go\"}" };
    const pawl_sim_setup setup = { .machine = helper, .more = searcher, .inputs = inputs, .ninputs = 2, .effects = effects,
                                   .neffects = sizeof effects / sizeof *effects, .answer = answer, .loose = true };

    simulate(&setup, check_seed());
}

PAWL_TEST(test_A4_interrupts_in_trouble)
{
    static const char *const inputs[] = { "{\"@mode\":\"acceptEdits\",\"input\":\"go\"}" };
    static const pawl_sim_signal signals[] = { { "input", "\"one\"" }, { "interrupt", NULL }, { "input", "\"two\"" }, { "input", "\"three\"" },
                                               { "interrupt", NULL },
                                               { "input", "\"four\"" }, { "interrupt", NULL }, { "shutdown", NULL } };
    const pawl_sim_setup setup = { .machine = helper, .more = searcher, .inputs = inputs, .ninputs = 1, .effects = effects,
                                   .neffects = sizeof effects / sizeof *effects, .answer = answer, .signals = signals,
                                   .nsignals = sizeof signals / sizeof *signals, .loose = true,
                                   .cancel = 100 };

    simulate(&setup, check_seed() + 100000);
}
