/* sim_test.c - machines of every kind, put through 500 seeds of trouble; 20,000 with --all or PAWL_TEST_ALL=1. */
#include "lib/check.h"
#include "lib/trials.h"
#include "pawl/graph.h"

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

static void add_up(pawl_sim_report *all, const pawl_sim_report *r)
{
    all->kills += r->kills, all->power_cuts += r->power_cuts, all->restarts += r->restarts, all->failed += r->failed, all->unsure += r->unsure;
    all->delays += r->delays, all->rivals += r->rivals, all->performed += r->performed, all->repeated += r->repeated, all->refused += r->refused;
    all->lost += r->lost, all->late += r->late, all->snapshots += r->snapshots, all->forgotten += r->forgotten, all->fenced += r->fenced;
    all->marred += r->marred, all->points += r->points, all->appends += r->appends, all->answers += r->answers, all->cancels += r->cancels;
    all->sqlite += r->sqlite;
    for (unsigned i = 0; i < PAWL_SIM_PROMISES_MAX; i++)
        all->checked[i] += r->checked[i];
}

static void march_through(const char *name, pawl_sim_report *all)
{
    pawl_sim_report r;
    unsigned index = 0;

    while (strcmp(trial_at(index)->name, name) != 0)
        index++;
    for (uint64_t seed = index; seed < seeds(); seed += TRIALS) {
        pawl_err err = { PAWL_OK, "" };

        if (trial_run(seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        add_up(all, &r);
        pawl_sim_report_free(&r);
    }
    printf("%s: %u points, %u kills, %u power cuts (%u writes gone), %u restarts, %u verbs failed, %u unsure, %u delays, %u rivals, %u fenced\n",
           name, all->points, all->kills, all->power_cuts, all->forgotten, all->restarts, all->failed, all->unsure, all->delays, all->rivals,
           all->fenced);
    printf("    %u appends, %u snapshots, %u performed, %u repeated, %u refused, %u lost, %u late, %u answers, %u cancels, %u runs marred, %u over SQLite\n",
           all->appends, all->snapshots, all->performed, all->repeated, all->refused, all->lost, all->late, all->answers, all->cancels, all->marred,
           all->sqlite);
    CHECK(all->kills > 0 && all->restarts > 0 && all->failed > 0 && all->unsure > 0 && all->delays > 0 && all->rivals > 0 && all->sqlite > 0);
}

static void march(const char *name)
{
    pawl_sim_report all = {0};

    march_through(name, &all);
    CHECK(all.power_cuts > 0 && all.performed > 0 && all.forgotten > 0 && all.fenced > 0);
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
PAWL_TEST(test_E11_children) { march("parents"); }
PAWL_TEST(test_E5_what_was_done_is_undone) { march("undone"); }
PAWL_TEST(test_E10_runs_that_are_called_off) { march("canceled"); }

PAWL_TEST(test_E13_many_that_leave_together) { march("wide"); }
PAWL_TEST(test_K6_snapshots_amid_joins) { march("joins"); }
PAWL_TEST(test_E5_the_last_is_undone_first) { march("booked"); }
PAWL_TEST(test_E5_what_was_done_is_undone_when_called_off) { march("called off"); }
PAWL_TEST(test_E5_doubts) { march_through("doubts", &(pawl_sim_report){0}); }
PAWL_TEST(test_E5_doubts_amid_inverses) { march_through("stubborn", &(pawl_sim_report){0}); }
PAWL_TEST(test_W5_approvals_with_deadlines) { march("approvals"); }
PAWL_TEST(test_E7_long_back_offs) { march_through("patience", &(pawl_sim_report){0}); }

PAWL_TEST(test_E9_timers_side_by_side)
{
    pawl_sim_report all = {0};

    march_through("naps", &all);
    CHECK(all.performed == 0 && all.appends > 0);
}

PAWL_TEST(test_E16_runs_that_are_begun_anew)
{
    pawl_sim_report all = {0};

    march_through("dark", &all);
    CHECK(all.power_cuts > 0 && all.performed > 0 && all.forgotten > 0);
}

/* Eight runs and two workers: none is passed over while others go on. */
PAWL_TEST(test_sim_a_crowd_is_driven_in_turn)
{
    static const uint64_t found[] = { 2311 };   /* seeds that found something */
    const size_t nfound = sizeof found / sizeof *found;
    pawl_sim_report all = {0}, r;

    for (uint64_t i = 0; i < seeds() / 5 + nfound; i++) {
        pawl_err err = { PAWL_OK, "" };

        if (trial_crowd(i < nfound ? found[i] : i - nfound, &r, &err) != PAWL_OK)
            told(&r, &err);
        add_up(&all, &r);
        pawl_sim_report_free(&r);
    }
    CHECK(all.rivals > 0 && all.delays > 0 && all.restarts > 0);
}

/* A promise that no world ever comes to is not proven by it. */
PAWL_TEST(test_sim_exercises_each_promise)
{
    pawl_sim_report all = {0}, r;
    const char *number, *what;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pawl_err err = { PAWL_OK, "" };

        if (trial_run(seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        add_up(&all, &r);
        pawl_sim_report_free(&r);
    }
    for (unsigned i = 0; (number = pawl_sim_promise(i, &what)) != NULL; i++)
        printf("%9u times %-4s %s\n", all.checked[i], number, what);
    for (unsigned i = 0; (number = pawl_sim_promise(i, &what)) != NULL; i++)
        if (all.checked[i] == 0)
            CHECK_FAIL("%s is never held against anything: %s", number, what);
}

/* Rare ones: a run that was let go of before its back-offs and what never began were marked, marks of a lease that was lost, a command that came
 * back unbegun as its run was canceled, a run whose engine closed and that was due no more, back-offs and failures that came as an engine closed,
 * an append that gave the lease up and seemed to fail, a count of the last attempt that seemed to fail, and one such amid counts of what did not begin;
 * and an inverse that was folded and not stored, while another engine stored it with the receipt (E5). */
PAWL_TEST(test_E13_seeds_that_found_something)
{
    static const uint64_t found[] = { 284, 922, 2281, 2532, 3592, 3697, 3895, 4908, 9285, 10069, 10462, 11118, 15244, 18025, 18108 };

    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        pawl_sim_report r;
        pawl_err err = { PAWL_OK, "" };

        if (trial_run(found[i], &r, &err) != PAWL_OK)
            told(&r, &err);
        pawl_sim_report_free(&r);
    }
}

/* What somebody else signs comes first, and may open nothing; two sign, whatever dies meanwhile. */
PAWL_TEST(test_P11_in_any_world_only_the_approvers_open_a_gate)
{
    pawl_sim_report r;
    uint32_t kills = 0, performed = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        pawl_err err = { PAWL_OK, "" };

        if (trial_signed(seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        kills += r.kills;
        performed += r.performed;
        pawl_sim_report_free(&r);
    }
    CHECK(kills > 0 && performed > 40);
}

/* What is pure may leave before it is stored (G9); what counts its attempts may not, for the count outlives the process. */
static pawl_code call_pure(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, arg, pawl_pack(s, "{s:s}", "of", pawl_node_name(s)), &v);

    if (rc == PAWL_OK)
        pawl_set(s, "x", v);
    return rc;
}

static pawl_machine *pure_retries(void *ctx, pawl_err *err)
{
    const pawl_limits plain = { .cls = PAWL_CLASS_PURE }, tried = { .cls = PAWL_CLASS_PURE, .retry = { .max_attempts = 3, .initial_ms = 200 } };
    pawl_graph *g = pawl_graph_new("pure", 1);

    (void)ctx;
    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_effect(g, "plain", &plain);
    pawl_graph_effect(g, "tried", &tried);
    pawl_graph_node(g, "a", call_pure, "plain");
    pawl_graph_node(g, "b", call_pure, "tried");
    pawl_graph_node(g, "c", call_pure, "plain");
    pawl_graph_node(g, "d", call_pure, "tried");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", "d", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

PAWL_TEST(test_E13_what_is_pure_and_counted_is_stored_before_it_leaves)
{
    const pawl_sim_setup setup = { .machine = pure_retries };

    for (uint64_t seed = 0; seed < seeds(); seed++) {
        pawl_sim_report r;
        pawl_err err = { PAWL_OK, "" };

        if (pawl_sim(&setup, seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        pawl_sim_report_free(&r);
    }
}

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

static int64_t tick;

static pawl_code impure(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "n", ++tick);
    return PAWL_OK;
}

static pawl_machine *impure_graph(void *ctx, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("impure", 1);

    (void)ctx;
    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_node(g, "count", impure, NULL);
    pawl_graph_chain(g, PAWL_START, "count", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

PAWL_TEST(test_K2_a_node_that_is_not_pure_is_found)
{
    const pawl_sim_setup setup = { .machine = impure_graph };
    pawl_sim_report r;
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(pawl_sim(&setup, 1, &r, &err), PAWL_CORRUPT);
    CHECK(r.oracle != NULL && r.run[0] == 'r' && strstr(err.text, "seed 1: ") != NULL);
    CHECK(strstr(r.trace, r.oracle) != NULL);
    pawl_sim_report_free(&r);
}

typedef struct laid { uint64_t next, entries, refused; } laid;     /* of one run */

static bool one_by_one(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err)
{
    laid *l = ctx;
    const char *wrong = NULL;
    pawl_spent s;

    *oracle = "law";
    if (!pawl_state_spent(st, &s) || s.caps.calls != 9)
        wrong = "its budget is not the setup's";
    else if (entry == NULL)
        l->next = 1;
    else if (!pawl_entry_is_record(entry) && (pawl_entry_seq(entry) != l->next++ || pawl_state_seq(st) != pawl_entry_seq(entry)))
        wrong = "an entry is missing, or its state is another one";
    l->entries += entry != NULL;
    if (wrong == NULL && l->refused > 0 && l->entries >= l->refused)
        wrong = "there is one too many";
    if (wrong != NULL)
        snprintf(err->text, sizeof err->text, "%s", wrong);
    return wrong == NULL;
}

PAWL_TEST(test_sim_a_law_is_asked_at_every_entry)
{
    laid l = { 0 };
    pawl_sim_setup setup = { .machine = pure_retries, .stored = one_by_one, .ctx = &l, .budget = { .calls = 9 }, .runs = 1 };
    pawl_sim_report r;
    pawl_err err = { PAWL_OK, "" };
    uint64_t undisturbed;

    for (uint64_t seed = 0; seed < 20; seed++) {
        if (pawl_sim(&setup, seed, &r, &err) != PAWL_OK)
            told(&r, &err);
        pawl_sim_report_free(&r);
    }
    CHECK(l.entries >= 20 * 2 * 4);
    l = (laid){ .refused = 1 };
    CHECK_INT(pawl_sim(&setup, 1, &r, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "undisturbed, seed 1: law: r0: at entry 1 there is one too many") != NULL);
    pawl_sim_report_free(&r);
    for (undisturbed = 2; undisturbed < 100; undisturbed++) {   /* and amid trouble */
        l = (laid){ .refused = undisturbed };
        err = (pawl_err){ PAWL_OK, "" };
        if (pawl_sim(&setup, 1, &r, &err) == PAWL_CORRUPT)
            break;
        pawl_sim_report_free(&r);
    }
    CHECK(undisturbed < 100);
    CHECK_STR(r.oracle, "law");
    CHECK_STR(r.run, "r0");
    pawl_sim_report_free(&r);
}

static pawl_machine *no_machine(void *ctx, pawl_err *err)
{
    (void)ctx;
    err->code = PAWL_INVALID;
    memcpy(err->text, "none today", 11);
    return NULL;
}

static pawl_code loop_node(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_goto(s, "loop");
}

static pawl_machine *endless(void *ctx, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("endless", 1);

    (void)ctx;
    pawl_graph_max_steps(g, UINT32_MAX);
    pawl_graph_node(g, "loop", loop_node, NULL);
    pawl_graph_edge(g, PAWL_START, "loop");
    pawl_graph_goto(g, "loop", "loop", NULL);
    return pawl_graph_compile(g, err);
}

static void refused(const pawl_sim_setup *setup, const char *text)
{
    pawl_sim_report r;
    pawl_err err = { PAWL_OK, "" };

    pawl_code rc = pawl_sim(setup, 1, &r, &err);

    pawl_sim_report_free(&r);
    CHECK_INT(rc, PAWL_INVALID);
    if (strstr(err.text, text) == NULL)
        CHECK_FAIL("\"%s\" says nothing of \"%s\"", err.text, text);
}

PAWL_TEST(test_X1_a_setup_that_cannot_be_is_refused)
{
    static const pawl_sim_effect unnamed[] = { { NULL, NULL, NULL } };
    static const pawl_sim_signal silent[] = { { NULL, NULL } };
    static const pawl_sim_trouble leaseless = { .kill = 1 };

    refused(NULL, "a machine");
    refused(&(pawl_sim_setup){ .runs = 1 }, "a machine");
    refused(&(pawl_sim_setup){ .machine = no_machine }, "none today");
    refused(&(pawl_sim_setup){ .machine = impure_graph, .workers = 9 }, "at most 8 workers");
    refused(&(pawl_sim_setup){ .machine = impure_graph, .runs = 513 }, "512 runs");
    refused(&(pawl_sim_setup){ .machine = impure_graph, .effects = unnamed, .neffects = 1 }, "effect 0");
    refused(&(pawl_sim_setup){ .machine = impure_graph, .signals = silent, .nsignals = 1 }, "signal 0 of the simulation has no name, and is no update");
    refused(&(pawl_sim_setup){ .machine = impure_graph, .trouble = &leaseless }, "lease");
    refused(&(pawl_sim_setup){ .machine = endless }, "undisturbed");
    pawl_sim_report_free(NULL);
}
