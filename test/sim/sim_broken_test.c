/* sim_broken_test.c - the test of the test: each rule that is broken has to be found within 500 seeds. */
#include "base/broken.h"
#include "lib/agent_trial.h"
#include "lib/check.h"
#include "lib/trials.h"

#include <stdio.h>
#include <string.h>

enum { SEEDS = 500 };

int pawl_broken = BROKEN_NOTHING;

static void found(broken_rule rule, const char *what)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pawl_sim_report report;
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc;

        pawl_broken = (int)rule;
        rc = trial_run(seed, &report, &err);
        pawl_broken = BROKEN_NOTHING;
        pawl_sim_report_free(&report);
        if (rc == PAWL_OK)
            continue;
        printf("%s: %s\n", what, err.text);
        /* and it is the rule that was found, nothing else */
        err = (pawl_err){ PAWL_OK, "" };
        rc = trial_run(seed, &report, &err);
        pawl_sim_report_free(&report);
        if (rc != PAWL_OK)
            CHECK_FAIL("unbroken: %s", err.text);
        return;
    }
    CHECK_FAIL("%s: not found in %d seeds", what, (int)SEEDS);
}

/* The same of agents; and it is this promise that is found to be broken. */
static void found_of_agents(broken_rule rule, const char *oracle)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pawl_sim_report report;
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc;

        pawl_broken = (int)rule;
        rc = pawl_sim_agent(&trial_setup, seed, &report, &err);
        pawl_broken = BROKEN_NOTHING;
        pawl_sim_report_free(&report);
        if (rc == PAWL_OK)
            continue;
        printf("%s: %s\n", oracle, err.text);
        CHECK(strstr(err.text, oracle) != NULL);
        CHECK_INT(pawl_sim_agent(&trial_setup, seed, NULL, NULL), PAWL_OK);
        return;
    }
    CHECK_FAIL("%s: not found in %d seeds", oracle, (int)SEEDS);
}

PAWL_TEST(test_A4_a_call_without_a_result_is_found) { found_of_agents(BROKEN_RESULT, " A4: "); }
PAWL_TEST(test_A8_calls_over_a_cap_are_found) { found_of_agents(BROKEN_CAP, " A8: "); }
PAWL_TEST(test_P2_a_tool_that_was_denied_is_found) { found_of_agents(BROKEN_GATE, " P2: "); }
PAWL_TEST(test_E1_effects_before_the_commit_are_found) { found(BROKEN_COMMIT, "effects before the commit"); }
PAWL_TEST(test_E4_a_receipt_that_is_not_checked_is_found) { found(BROKEN_RECEIPT, "a receipt not checked"); }
PAWL_TEST(test_S2_a_fence_that_is_not_checked_is_found) { found(BROKEN_FENCE, "a fence not checked"); }
PAWL_TEST(test_K6_a_snapshot_one_entry_short_is_found) { found(BROKEN_SNAPSHOT, "a snapshot one entry short"); }
PAWL_TEST(test_E9_a_timer_that_is_not_stored_is_found) { found(BROKEN_TIMER, "a timer not stored"); }

static const check_case cases[] = {
    CASE(test_E1_effects_before_the_commit_are_found),   CASE(test_E4_a_receipt_that_is_not_checked_is_found),
    CASE(test_S2_a_fence_that_is_not_checked_is_found),  CASE(test_K6_a_snapshot_one_entry_short_is_found),
    CASE(test_E9_a_timer_that_is_not_stored_is_found),   CASE(test_A4_a_call_without_a_result_is_found),
    CASE(test_A8_calls_over_a_cap_are_found),            CASE(test_P2_a_tool_that_was_denied_is_found),
};

int main(int argc, char **argv)
{
    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
