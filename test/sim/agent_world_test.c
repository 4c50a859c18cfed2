/* agent_world_test.c - agents whose models, tools and people are chance, in all trouble (A1 to A8, P2 under the oracles of pawl/sim.h). */
#include "lib/agent_trial.h"
#include "lib/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 150, ALL_SEEDS = 20000 };

static void add(pawl_sim_report *sum, const pawl_sim_report *r)
{
    sum->kills += r->kills;
    sum->power_cuts += r->power_cuts;
    sum->repeated += r->repeated;
    sum->asked += r->asked;
    sum->used += r->used;
    sum->children += r->children;
    sum->answers += r->answers;
    sum->signals += r->signals;
    sum->cancels += r->cancels;
}

PAWL_TEST(test_A_agents_of_chance_in_trouble)
{
    const char *whole = getenv("PAWL_TEST_ALL");
    const uint64_t n = check_run_all() || (whole != NULL && strcmp(whole, "1") == 0) ? ALL_SEEDS : SEEDS;
    pawl_sim_report sum = {0};

    for (uint64_t seed = check_seed(); seed < check_seed() + n; seed++) {
        pawl_sim_report r;
        pawl_err err = { PAWL_OK, "" };
        const pawl_code rc = pawl_sim_agent(&trial_setup, seed, &r, &err);

        if (rc != PAWL_OK)
            fprintf(stderr, "%s\n", r.trace != NULL ? r.trace : "");
        add(&sum, &r);
        pawl_sim_report_free(&r);
        if (rc != PAWL_OK)
            CHECK_FAIL("%s", err.text);
    }
    printf("%llu seeds: %u requests, %u uses of tools, %u children, %u repeated, %u answers, %u kills\n", (unsigned long long)n, sum.asked, sum.used,
           sum.children, sum.repeated, sum.answers, sum.kills);
    /* else nothing was put to the test */
    CHECK(sum.asked > n && sum.used > n / 2 && sum.children > n / 10 && sum.answers > 0 && sum.signals > n && sum.cancels > 0);
    CHECK(sum.kills > n && sum.power_cuts > 0 && sum.repeated > 0);
}

PAWL_TEST(test_A_a_seed_is_one_world)
{
    for (uint64_t seed = check_seed(); seed < check_seed() + 5; seed++) {
        pawl_sim_report a, b;

        CHECK_INT(pawl_sim_agent(&trial_setup, seed, &a, NULL), PAWL_OK);
        CHECK_INT(pawl_sim_agent(&trial_setup, seed, &b, NULL), PAWL_OK);
        CHECK(a.trace_size > 0);
        CHECK_STR(a.trace, b.trace);
        CHECK_INT(a.asked, b.asked);
        CHECK_INT(a.used, b.used);
        pawl_sim_report_free(&a);
        pawl_sim_report_free(&b);
    }
}

/* What a setup says counts before chance. */
static const char *nobody(void *ctx, const pawl_wait *wait)
{
    (void)ctx;
    return wait->kind == PAWL_WAIT_INPUT ? "" : "false";
}

static pawl_code speechless(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "{\"message\":{\"content\":[{\"text\":\"no\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\"}");
}

PAWL_TEST(test_A_a_setup_counts_before_chance)
{
    static const pawl_sim_effect effects[] = { { "llm", speechless, NULL } };
    static const pawl_sim_signal signals[] = { { "input", "\"more\"" } };
    pawl_sim_setup setup = trial_setup;
    pawl_sim_report r;

    setup.effects = effects;
    setup.neffects = 1;
    setup.answer = nobody;
    setup.signals = signals;
    setup.nsignals = 1;
    CHECK_INT(pawl_sim_agent(&setup, 7, &r, NULL), PAWL_OK);
    CHECK_INT(r.asked, 0);      /* not by chance: */
    CHECK(r.performed > 0);
    CHECK_INT(r.used, 0);
    pawl_sim_report_free(&r);
}

static pawl_machine *none(void *ctx, pawl_err *err)
{
    (void)ctx;
    pawl_code rc = trial_agent("a name that is none", 1, err) == NULL ? PAWL_OK : PAWL_INVALID;

    CHECK_INT(rc, PAWL_OK);
    return NULL;
}

PAWL_TEST(test_A_what_cannot_be_simulated_is_said)
{
    const pawl_sim_setup broken = { .machine = none };
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(pawl_sim_agent(NULL, 1, NULL, &err), PAWL_INVALID);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_sim_agent(&broken, 1, NULL, &err), PAWL_INVALID);
    CHECK_STR(err.text, "an agent needs a name and a model");
}
