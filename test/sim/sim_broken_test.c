/* sim_broken_test.c - the test of the test: each rule that is broken has to be found within 500 seeds. */
#include "base/broken.h"
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

PAWL_TEST(test_E1_effects_before_the_commit_are_found) { found(BROKEN_COMMIT, "effects before the commit"); }
PAWL_TEST(test_E4_a_receipt_that_is_not_checked_is_found) { found(BROKEN_RECEIPT, "a receipt not checked"); }
PAWL_TEST(test_S2_a_fence_that_is_not_checked_is_found) { found(BROKEN_FENCE, "a fence not checked"); }
PAWL_TEST(test_K6_a_snapshot_one_entry_short_is_found) { found(BROKEN_SNAPSHOT, "a snapshot one entry short"); }
PAWL_TEST(test_E9_a_timer_that_is_not_stored_is_found) { found(BROKEN_TIMER, "a timer not stored"); }

static const check_case cases[] = {
    CASE(test_E1_effects_before_the_commit_are_found),   CASE(test_E4_a_receipt_that_is_not_checked_is_found),
    CASE(test_S2_a_fence_that_is_not_checked_is_found),  CASE(test_K6_a_snapshot_one_entry_short_is_found),
    CASE(test_E9_a_timer_that_is_not_stored_is_found),
};

int main(int argc, char **argv)
{
    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
