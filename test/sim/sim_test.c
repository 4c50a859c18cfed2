/* sim_test.c - machines of every kind, put through 500 seeds of trouble; 20,000 with --all or PAWL_TEST_ALL=1. */
#include "lib/check.h"
#include "lib/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 500, SEEDS_ALL = 20000, TRACE_SHOWN = 6000 };

static uint64_t seeds(void)
{
    const char *all = getenv("PAWL_TEST_ALL");

    return check_run_all() || (all != NULL && strcmp(all, "1") == 0) ? SEEDS_ALL : SEEDS;
}

static void told(pawl_sim_report *r, const pawl_err *err)
{
    static char end[TRACE_SHOWN + 1];
    size_t n = r->trace == NULL ? 0 : r->trace_size < TRACE_SHOWN ? r->trace_size : TRACE_SHOWN;

    memcpy(end, n > 0 ? r->trace + r->trace_size - n : "", n);
    end[n] = '\0';
    pawl_sim_report_free(r);
    CHECK_FAIL("%s\nthe end of its trace:\n%s", err->text, end);
}

static void march(const char *name)
{
    pawl_sim_report all = {0}, r;
    unsigned index = 0;

    while (strcmp(trial_at(index)->name, name) != 0)
        index++;
    for (uint64_t seed = index; seed < seeds(); seed += TRIALS) {
        pawl_err err = { PAWL_OK, "" };

        if (trial_run(seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        all.kills += r.kills, all.power_cuts += r.power_cuts, all.restarts += r.restarts, all.failed += r.failed, all.unsure += r.unsure;
        all.delays += r.delays, all.rivals += r.rivals, all.performed += r.performed, all.repeated += r.repeated, all.refused += r.refused;
        all.lost += r.lost, all.late += r.late, all.snapshots += r.snapshots, all.forgotten += r.forgotten, all.fenced += r.fenced;
        all.marred += r.marred, all.points += r.points, all.appends += r.appends, all.answers += r.answers, all.cancels += r.cancels;
        pawl_sim_report_free(&r);
    }
    printf("%s: %u points, %u kills, %u power cuts (%u writes gone), %u restarts, %u verbs failed, %u unsure, %u delays, %u rivals, %u fenced\n",
           name, all.points, all.kills, all.power_cuts, all.forgotten, all.restarts, all.failed, all.unsure, all.delays, all.rivals, all.fenced);
    printf("    %u appends, %u snapshots, %u performed, %u repeated, %u refused, %u lost, %u late, %u answers, %u cancels, %u runs marred\n",
           all.appends, all.snapshots, all.performed, all.repeated, all.refused, all.lost, all.late, all.answers, all.cancels, all.marred);
    CHECK(all.kills > 0 && all.power_cuts > 0 && all.restarts > 0 && all.failed > 0 && all.unsure > 0 && all.delays > 0 && all.rivals > 0);
    CHECK(all.performed > 0 && all.forgotten > 0 && all.fenced > 0);
}

PAWL_TEST(test_E5_calls_of_every_class) { march("chain"); }
PAWL_TEST(test_G2_fan_out_and_sends) { march("fan"); }
PAWL_TEST(test_G3_branches_and_a_join) { march("join"); }
PAWL_TEST(test_W1_questions_gates_and_deadlines) { march("waits"); }
PAWL_TEST(test_E9_timers) { march("timers"); }
PAWL_TEST(test_E16_signals) { march("signals"); }
PAWL_TEST(test_G6_a_subgraph) { march("nested"); }
PAWL_TEST(test_K6_runs_long_enough_for_snapshots) { march("rounds"); }
PAWL_TEST(test_F1_a_reducer) { march("reducer"); }
PAWL_TEST(test_E10_runs_that_are_called_off) { march("canceled"); }

/* ---- the simulator itself ------------------------------------------------------------------------------ */

PAWL_TEST(test_sim_a_seed_gives_the_same_trace_every_time)
{
    for (uint64_t seed = 0; seed < 3 * TRIALS; seed++) {
        pawl_sim_report one, two;
        pawl_err err = { PAWL_OK, "" };

        if (trial_run(seed, &one, &err) != PAWL_OK)
            told(&one, &err);
        if (trial_run(seed, &two, &err) != PAWL_OK)
            told(&two, &err);
        CHECK(one.trace != NULL && one.trace_size > 1000);
        CHECK_STR(one.trace, two.trace);
        CHECK_INT(one.points, two.points);
        pawl_sim_report_free(&one);
        pawl_sim_report_free(&two);
    }
}

static const check_case cases[] = {
    CASE(test_E5_calls_of_every_class), CASE(test_G2_fan_out_and_sends), CASE(test_G3_branches_and_a_join),
    CASE(test_W1_questions_gates_and_deadlines), CASE(test_E9_timers), CASE(test_E16_signals), CASE(test_G6_a_subgraph),
    CASE(test_K6_runs_long_enough_for_snapshots), CASE(test_F1_a_reducer), CASE(test_E10_runs_that_are_called_off),
    CASE(test_sim_a_seed_gives_the_same_trace_every_time),
};

int main(int argc, char **argv)
{
    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
