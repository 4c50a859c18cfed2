/* fault_test.c - twelve faults that were measured in another engine of supersteps, each shown to be absent here, through every
 * crash. */
#include "lib/tell.h"
#include "lib/engine_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" }, { .name = "list", .rule = PAWL_RULE_APPEND },
                                         { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "flash", .rule = PAWL_RULE_EPHEMERAL },
                                         { .name = "queue", .rule = PAWL_RULE_TOPIC }, { .name = "seen", .rule = PAWL_RULE_BARRIER }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("fault", 1, channels, parts);
}

/* ---- K1: the order in which tasks end leaves no mark ------------------------------------------------ */

static pawl_machine *slow_and_fast(void)
{
    const part parts[] = { { "a", NULL, "call llm \"slow\" -> list" }, { "b", NULL, "call llm \"fast\" -> list | emit said \"b\" | goto y" },
                           { "x", "a", "list=\"x\"" }, { "y", "-", "list=\"y\"" }, { 0 } };

    return script_compile(graph(parts));
}

static const char *const slow_and_fast_end = "2 tick working | records 4; close -> x y\n"
                                             "3 tick completed | x leaves list=\"x\"; y leaves list=\"y\"; close ->\n";

static void b_first(world *w)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.b.1.0", .value = "\"B\"", .time_ms = 1500 });
    w->now = 3000;
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "\"A\"", .time_ms = 2000 });
    world_expect(w, "1 start working | start {}; close -> a b; call 1.a.1.0 {\"args\":\"slow\",\"effect\":\"llm\"}; "
                    "call 1.b.1.0 {\"args\":\"fast\",\"effect\":\"llm\"}\n"
                    ". receipt 1.b.1.0 \"B\"; b leaves list=\"B\" goto y emit said \"b\"\n"
                    ". receipt 1.a.1.0 \"A\"; a leaves list=\"A\"\n"
                    "2 tick working | records 4; close -> x y\n"
                    "3 tick completed | x leaves list=\"x\"; y leaves list=\"y\"; close ->\n");
    CHECK_STR(world_get(w, "list"), "[\"A\",\"B\",\"x\",\"y\"]");
}

static void a_first(world *w)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "\"A\"", .time_ms = 2000 });
    w->now = 3000;
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.b.1.0", .value = "\"B\"", .time_ms = 1500 });
    buf_char(&w->trace, '\0');
    w->trace.size--;
    CHECK(strstr(w->trace.data, slow_and_fast_end) != NULL);
    CHECK_STR(world_get(w, "list"), "[\"A\",\"B\",\"x\",\"y\"]");
}

/* There: ["A","B"] or ["B","A"] by the clock, and x never ran when b was the faster. */
PAWL_TEST(test_fault_K1_who_is_done_first_changes_no_state_no_route_and_no_entry)
{
    char hex[2][HASH_HEX + 1];
    world w;

    tell(slow_and_fast, NULL, b_first);
    tell(slow_and_fast, NULL, a_first);
    for (int i = 0; i < 2; i++) {
        tell_begin(&w, slow_and_fast(), NULL);
        (i == 0 ? a_first : b_first)(&w);
        snprintf(hex[i], sizeof hex[i], "%s", pawl_entry_hash(pawl_step_entry(w.s)));
        world_end(&w);
    }
    CHECK_STR(hex[0], hex[1]);
}

/* There: what b wrote was told as an update of a. */
PAWL_TEST(test_fault_K1_what_a_task_wrote_and_said_bears_its_own_name)
{
    const char *name, *node;
    const pawl_value *v;
    world w;

    tell_begin(&w, slow_and_fast(), NULL);
    tell_receipt(&w, "1.b.1.0", "\"B\"");
    v = pawl_entry_emission(pawl_step_entry(w.s), 0, &name, &node);
    CHECK_STR(pawl_value_string(v), "b");
    CHECK_STR(name, "said");
    CHECK_STR(node, "b");
    CHECK(strstr(line_of(&w, 2), "[\"leave\",\"b\",1,[[\"list\",\"B\"]]") != NULL);
    world_drop(&w);
}

/* ---- K2: an interrupt after a node goes on --------------------------------------------------------------- */

static pawl_machine *paused_after(void)
{
    const part parts[] = { { "a", NULL, "n=1 | list=\"a\"" }, { "b", "a", "n=1 | list=\"b\"" }, { "c", "b", "n=1 | list=\"c\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_interrupt_after(g, "a");
    pawl_graph_interrupt_after(g, "b");
    return script_compile(g);
}

static void goes_on_after(world *w)
{
    CHECK_STR(world_tasks(w), "b");             /* what is next is known while it waits */
    tell_answer(w, "a", "null");
    CHECK_STR(world_tasks(w), "c");
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\"]");
    tell_answer(w, "b", "null");
    CHECK_STR(world_status(w), "completed");
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\",\"c\"]");
    CHECK_STR(world_get(w, "n"), "3");
}

/* There: every resume began at the entry again, and the run never ended. */
PAWL_TEST(test_fault_K2_after_a_node_a_resume_goes_on_at_the_next)
{
    tell(paused_after, NULL, goes_on_after);
}

/* ---- K3: a pause in a fan-out ------------------------------------------------------------------------------- */

static pawl_machine *one_asks(void)
{
    const part parts[] = { { "sibling", NULL, "list=\"S\"" }, { "human", NULL, "ask \"?\" -> list" }, { "end", "sibling human", "get list -> x" }, { 0 } };

    return script_compile(graph(parts));
}

static void human_answers(world *w)
{
    CHECK_STR(world_status(w), "input-required");
    tell_answer(w, NULL, "\"H\"");
    CHECK_STR(world_get(w, "x"), "[\"S\",\"H\"]");
    CHECK_STR(world_status(w), "completed");
    CHECK_INT(times_in(journal_of(w), "[\"leave\",\"sibling\""), 1);
}

/* There: the sibling's write was lost for good. */
PAWL_TEST(test_fault_K3_a_sibling_s_finished_write_survives_the_pause)
{
    tell(one_asks, NULL, human_answers);
}

static pawl_code worker(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc;

    (void)arg;
    if ((rc = pawl_ask(s, pawl_pack(s, "{s:v}", "of", pawl_args(s)), &v)) != PAWL_OK)
        return rc;
    pawl_set(s, "list", pawl_pack(s, "[v,v]", pawl_args(s), v));
    return pawl_follow(s);
}

static pawl_graph *asking_workers(void)
{
    pawl_graph *g = graph((const part[]){ { "plan", NULL, "send w 1 | send w 2 | send w 3 | goto @end" }, { 0 } });

    pawl_graph_node(g, "w", worker, NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    return g;
}

static pawl_machine *workers_inside(void)
{
    return script_compile(asking_workers());
}

static pawl_machine *workers_before(void)
{
    pawl_graph *g = asking_workers();

    pawl_graph_interrupt_before(g, "w");
    return script_compile(g);
}

static void workers_answered(world *w)
{
    CHECK_INT(pawl_state_waits(w->st), 3);
    CHECK_STR(world_tasks(w), "w:0 w:1 w:2");
    tell_answer(w, "w:1", "\"two\"");
    tell_answer(w, "w:2", "\"three\"");
    tell_answer(w, "w:0", "\"one\"");
    CHECK_STR(world_get(w, "list"), "[[1,\"one\"],[2,\"two\"],[3,\"three\"]]");
    CHECK_STR(world_status(w), "completed");
}

static void workers_let_in(world *w)
{
    CHECK_INT(pawl_state_waits(w->st), 3);      /* each task of the superstep, not its first alone */
    tell_answer(w, "w:2", "null");
    tell_answer(w, "w:0", "null");
    tell_answer(w, "w:1", "null");
    tell_answer(w, "w:1.1", "\"two\"");
    tell_answer(w, "w:2.1", "\"three\"");
    tell_answer(w, "w:0.1", "\"one\"");
    CHECK_STR(world_get(w, "list"), "[[1,\"one\"],[2,\"two\"],[3,\"three\"]]");
}

/* There: one node to resume at was kept; the other tasks, and what they had been sent, were gone. */
PAWL_TEST(test_fault_K3_all_tasks_of_the_superstep_and_what_they_were_sent_are_kept)
{
    tell(workers_inside, NULL, workers_answered);
    tell(workers_before, NULL, workers_let_in);
}

/* ---- K4: a limit is what it says -------------------------------------------------------------------------------- */

static pawl_code count_up(pawl_step *s, void *arg)
{
    int64_t most = strtol(arg, NULL, 10);

    pawl_set_int(s, "n", 1);
    return pawl_get_int(s, "n") + 1 < most ? pawl_goto(s, "count") : pawl_goto(s, PAWL_END);
}

/* A run of exactly `steps` supersteps, under a limit (0: none said). */
static void counted(const char *steps, uint32_t most, const char *status)
{
    union { const char *in; void *out; } arg = { steps };
    pawl_graph *g = pawl_graph_new("count", 1);
    world w;

    pawl_graph_channel_with(g, &channels[3]);
    pawl_graph_node(g, "count", count_up, arg.out);
    pawl_graph_edge(g, PAWL_START, "count");
    pawl_graph_goto(g, "count", "count", PAWL_END, NULL);
    pawl_graph_edge(g, "count", PAWL_END);
    if (most > 0)
        pawl_graph_max_steps(g, most);
    world_begin(&w, script_compile(g), NULL);
    CHECK_STR(world_status(&w), status);
    if (strcmp(status, "failed") == 0) {
        CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"count: max_steps 100 is reached, and \\\"count\\\" is next\"}");
        CHECK_STR(world_get(&w, "n"), "100");       /* all hundred were taken, and are kept */
    }
    world_end(&w);
}

/* There: 99 supersteps were allowed, 100 failed, and nobody could say otherwise. */
PAWL_TEST(test_fault_K4_exactly_so_many_steps_as_the_limit_says)
{
    counted("99", 100, "completed");
    counted("100", 100, "completed");
    counted("101", 100, "failed");
    counted("101", 101, "completed");
    counted("1000", 0, "completed");
    counted("1", 1, "completed");
}

/* ---- K5: attempts are the total number of calls ------------------------------------------------------------------- */

static pawl_machine *tries_thrice(void)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> x | fail transient busy" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_retry(g, "a", &(pawl_retry){ .max_attempts = 3 });
    return script_compile(g);
}

static void fails_thrice(world *w)
{
    tell_receipt(w, "1.a.1.0", "1");
    tell_receipt(w, "1.a.2.0", "2");
    tell_receipt(w, "1.a.3.0", "3");
    CHECK_STR(world_status(w), "failed");
    CHECK_STR(world_reason(w), "{\"code\":\"transient\",\"text\":\"busy\"}");
    CHECK_INT(times_in(journal_of(w), "[\"call\","), 3);
}

/* There: max_attempts 3 called the node four times. */
PAWL_TEST(test_fault_K5_three_attempts_are_three_calls)
{
    const pawl_limits thrice = { .retry = { .max_attempts = 3, .initial_ms = 10 } };
    town t;

    tell(tries_thrice, NULL, fails_thrice);
    town_begin(&t, town_essay(&thrice), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "!transient busy";
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"sky\"}"), PAWL_HALTED);
    CHECK_INT(t.calls, 3);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "essay-1", NULL)), PAWL_STATUS_FAILED);
    town_end(&t);
}

/* ---- K6: what failed runs again, and nothing before it ---------------------------------------------------------------- */

static pawl_machine *fails_in_b(void)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> x | list=\"a\"" }, { "b", "a", "call llm 2 | list=\"b\"" }, { "c", "b", "list=\"c\"" }, { 0 } };

    return script_compile(graph(parts));
}

static void b_fails_and_is_tried_again(world *w)
{
    tell_receipt(w, "1.a.1.0", "1");
    CHECK_STR(world_tasks(w), "b");
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "2.b.1.0", .outcome = PAWL_OUTCOME_ERROR, .value = "\"down\"" });
    CHECK_STR(world_status(w), "failed");
    CHECK_STR(world_tasks(w), "b");             /* where it stands is part of the state */
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_REOPEN });
    CHECK_STR(world_open(w, NULL, false), "run-1~0000000000000001/2.b.2.0");
    tell_receipt(w, "2.b.2.0", "2");
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\",\"c\"]");
    CHECK_INT(times_in(journal_of(w), "[\"call\",\"1.a."), 1);
    CHECK_INT(times_in(journal_of(w), "[\"leave\",\"a\""), 1);
}

/* There: a ran again, since nobody had stored what was next. */
PAWL_TEST(test_fault_K6_a_failure_in_b_runs_b_again_and_never_a)
{
    tell(fails_in_b, NULL, b_fails_and_is_tried_again);
}

/* ---- K7: what lives for a superstep is gone after it ------------------------------------------------------------------------ */

static pawl_machine *flashes(void)
{
    const part parts[] = { { "a", NULL, "flash=1 | queue=1" }, { "b", "a", "get flash -> list | get queue -> list | ask \"?\" -> x" },
                           { "c", "b", "get flash -> list | get queue -> list" }, { "d", "c", "get flash -> list | get queue -> list" }, { 0 } };

    return script_compile(graph(parts));
}

static void flash_is_gone(world *w)
{
    CHECK_STR(world_get(w, "flash"), "1");      /* while its superstep is open, through any crash */
    CHECK_STR(world_get(w, "queue"), "[1]");
    tell_answer(w, NULL, "null");
    CHECK_STR(world_get(w, "list"), "[1,[1],null,null,null,null]");
    CHECK_STR(world_get(w, "flash"), "");
    CHECK_STR(world_get(w, "queue"), "");
}

/* There: both could be read two supersteps later. */
PAWL_TEST(test_fault_K7_an_ephemeral_is_consumed_and_a_topic_drained)
{
    tell(flashes, NULL, flash_is_gone);
}

/* ---- K8: an update is an update ------------------------------------------------------------------------------------------------ */

typedef struct talk { const pawl_value *list; int64_t n; const char *x; } talk;
static const pawl_field fields[] = { PAWL_FIELD(talk, list, PAWL_FIELD_VALUE, .rule = PAWL_RULE_APPEND),
                                     PAWL_FIELD(talk, n, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM, .first = "0"),
                                     PAWL_FIELD(talk, x, PAWL_FIELD_STRING, .rule = PAWL_RULE_LAST) };
enum { NFIELDS = sizeof fields / sizeof *fields };

static pawl_code says_back(pawl_step *s, void *arg)
{
    talk t;
    pawl_code rc;

    (void)arg;
    if ((rc = pawl_read(s, fields, NFIELDS, &t)) != PAWL_OK)
        return rc;
    t.n = 1;
    t.x = pawl_text(s, t.list);
    pawl_write(s, fields, NFIELDS, "n", &t.n);
    pawl_write(s, fields, NFIELDS, "x", &t.x);
    return pawl_follow(s);
}

static pawl_machine *whole_states(void)
{
    pawl_graph *g = pawl_graph_new("whole", 1), *in = pawl_graph_new("inner", 1);

    pawl_graph_fields(g, fields, NFIELDS);
    pawl_graph_fields(in, fields, NFIELDS);
    pawl_graph_node(g, "typed", says_back, NULL);
    pawl_graph_node(in, "typed", says_back, NULL);
    pawl_graph_chain(in, PAWL_START, "typed", PAWL_END, NULL);
    pawl_graph_sub(g, "inner", in);             /* whose whole state comes back */
    pawl_graph_map(g, "inner", "list", "list", true, true);
    pawl_graph_map(g, "inner", "n", "n", true, true);
    pawl_graph_chain(g, PAWL_START, "typed", "inner", PAWL_END, NULL);
    return script_compile(g);
}

static void nothing_is_doubled(world *w)
{
    CHECK_STR(world_all(w), "{\"list\":[\"hello\"],\"n\":7,\"x\":\"[\\\"hello\\\"]\"}");
    CHECK_STR(world_status(w), "completed");
}

/* There: a node that gave the state back applied every rule again: ["hello"] became ["hello","hello"]. Here nobody can: what
 * is written is a field's update; and what a subgraph gives back is what it added. */
PAWL_TEST(test_fault_K8_a_state_that_was_read_is_not_merged_again)
{
    tell(whole_states, "{\"list\":\"hello\",\"n\":5}", nothing_is_doubled);
}

/* ---- K9: a pause inside a subgraph ----------------------------------------------------------------------------------------------- */

static pawl_machine *asks_inside(void)
{
    const part inside[] = { { "p", NULL, "x=1" }, { "q", "p", "ask \"?\" -> y" }, { "r", "q", "get y -> x" }, { 0 } };
    const part outside[] = { { "first", NULL, "list=\"first\"" }, { "last", "-", "get x -> list" }, { 0 } };
    pawl_graph *g = graph(outside);

    pawl_graph_sub(g, "sub", script_graph("inside", 1, channels, inside));
    pawl_graph_map(g, "sub", "x", "x", false, true);
    pawl_graph_chain(g, "first", "sub", "last", NULL);
    return script_compile(g);
}

static void answered_inside(world *w)
{
    CHECK_STR(world_status(w), "input-required");
    CHECK_STR(world_tasks(w), "sub");
    CHECK_STR(world_open(w, NULL, true), "run-1~0000000000000001/2.sub/1/2/q.1.0");     /* the same after every crash */
    tell_answer(w, "run-1~0000000000000001/2.sub/1/2/q.1.0", "\"yes\"");
    CHECK_STR(world_get(w, "list"), "[\"first\",\"yes\"]");
    CHECK_STR(world_status(w), "completed");
    CHECK_INT(times_in(journal_of(w), "[\"leave\",\"sub/1/1/p\""), 1);
}

/* There: the outer graph said that it was done, later nodes never ran, and the inner state could not be found again. */
PAWL_TEST(test_fault_K9_a_pause_inside_is_a_pause_of_the_run)
{
    tell(asks_inside, NULL, answered_inside);
}

/* ---- K10: a limit of one attempt is not that of all ---------------------------------------------------------------------------------- */

static const pawl_retry five = { .max_attempts = 5 };

static pawl_machine *limited(void)
{
    pawl_graph *g = graph((const part[]){ { "pure", NULL, "call llm 1 -> x | fail timeout over 100 ms" }, { 0 } });

    pawl_graph_work(g, "work", "job");
    pawl_graph_chain(g, PAWL_START, "work", PAWL_END, NULL);
    for (int i = 0; i < 2; i++) {
        pawl_graph_timeout(g, i == 0 ? "pure" : "work", 100, i == 0 ? 0 : 450);
        pawl_graph_retry(g, i == 0 ? "pure" : "work", &five);
    }
    return script_compile(g);
}

static void check_limits(world *w, const char *id, uint32_t total_ms, uint32_t max_attempts)
{
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++) {
        CHECK_INT(pawl_state_command(w->st, i, w->look, &cmd, NULL, &w->err), PAWL_OK);
        if (strcmp(strchr(cmd.id, '/') + 1, id) != 0)
            continue;
        CHECK_INT(cmd.limits.attempt_timeout_ms, 100);
        CHECK_INT(cmd.limits.total_timeout_ms, total_ms);
        CHECK_INT(cmd.limits.retry.max_attempts, max_attempts);
        return;
    }
    CHECK_FAIL("%s is not open", id);
}

/* The work node's one command has all its attempts before it; the node that is code gives each visit's command the limit
 * anew. */
static void each_attempt_has_its_limit(world *w)
{
    char id[32];

    check_limits(w, "1.work.1.0", 450, 5);
    for (int visit_no = 1; visit_no <= 5; visit_no++) {
        snprintf(id, sizeof id, "1.pure.%d.0", visit_no);
        check_limits(w, id, 0, 0);
        w->now += 90;                           /* five times 90 ms is more than 100 */
        tell_receipt(w, id, "1");
    }
    CHECK_STR(world_status(w), "working");
    tell_receipt(w, "1.work.1.0", "null");
    CHECK_STR(world_status(w), "failed");
    CHECK_STR(world_reason(w), "{\"code\":\"timeout\",\"text\":\"over 100 ms\"}");
}

/* There: 100 ms were for all attempts together, and the third was cut off. */
PAWL_TEST(test_fault_K10_a_timeout_of_an_attempt_is_apart_from_that_of_all)
{
    tell(limited, NULL, each_attempt_has_its_limit);
}

/* Five attempts of 40 ms each, under a limit of 100 ms for one: all five are made. */
static pawl_code forty_ms(const pawl_job *cmd, pawl_reply *reply, void *arg)
{
    const struct timespec three = { .tv_nsec = 3000000 };
    static int64_t before;
    town *t = arg;

    CHECK(t->calls == 0 || cmd->deadline_ms >= before + 3);     /* of this attempt alone, by the system's clock */
    before = cmd->deadline_ms;
    nanosleep(&three, NULL);
    t->now += 40;
    t->calls++;
    return t->calls < 5 ? pawl_reply_fail(reply, PAWL_TRANSIENT, "busy") : PAWL_OK;
}

PAWL_TEST(test_fault_K10_five_attempts_of_40_ms_fit_a_limit_of_100_ms_for_each)
{
    pawl_graph *g = pawl_graph_new("slow", 1);
    town t;

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_work(g, "work", "job");
    pawl_graph_chain(g, PAWL_START, "work", PAWL_END, NULL);
    pawl_graph_timeout(g, "work", 100, 0);
    pawl_graph_retry(g, "work", &five);
    town_begin(&t, script_compile(g), NULL);
    CHECK_INT(pawl_engine_effect(t.e, "job", forty_ms, &t, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
    CHECK_INT(t.calls, 5);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "r", NULL)), PAWL_STATUS_COMPLETED);
    town_end(&t);
}

/* ---- K11: one road to the readers -------------------------------------------------------------------------------------------------------- */

static pawl_machine *speaks(void)
{
    const part parts[] = { { "a", NULL, "emit note 1 | call llm 1 -> x | emit note 2 | emit artifact {\"name\":\"t\"}" },
                           { "b", NULL, "emit note 3 | fail transient busy" }, { "c", "a b", "emit note 4" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_retry(g, "b", &(pawl_retry){ .max_attempts = 2 });
    return script_compile(g);
}

/* What a reader sees who takes the emissions of this name from every line that is stored. */
static void check_told(world *w, const char *wanted, const char *expected)
{
    const char *name, *node, *line;
    char all[512] = "";
    pawl_entry *e;

    for (size_t i = 1; (line = line_of(w, i)) != NULL; i++) {
        CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, w->s, &e, &w->err), PAWL_OK);
        for (size_t k = 0; pawl_entry_emission(e, k, &name, &node) != NULL; k++)
            if (wanted == NULL || strcmp(name, wanted) == 0)
                snprintf(all + strlen(all), sizeof all - strlen(all), "%s.%s ", node, name);
    }
    CHECK_STR(all, expected);
}

static void is_heard_once(world *w)
{
    check_told(w, NULL, "");                    /* a has not left: nothing of it is told, however often it runs */
    tell_receipt(w, "1.a.1.0", "1");
    check_told(w, NULL, "a.note a.note a.artifact ");
    check_told(w, "artifact", "a.artifact ");
    check_told(w, "values", "");
    CHECK_STR(world_status(w), "failed");       /* b never left: its note was never told */
}

/* There: what a node sent went past the reader's filter. Here an emission has a name, a node and a place in the entry, there is no
 * other road, and a pass that does not leave tells nothing. */
PAWL_TEST(test_fault_K11_every_emission_is_named_told_once_and_kept_in_its_entry)
{
    tell(speaks, NULL, is_heard_once);
}

typedef struct reader { char all[256]; const char *mode; } reader;

static void listens(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    reader *r = ctx;
    const char *name;

    (void)st;
    for (size_t i = 0; pawl_entry_emission(entry, i, &name, NULL) != NULL; i++)
        if (strcmp(name, r->mode) == 0)
            snprintf(r->all + strlen(r->all), sizeof r->all - strlen(r->all), "%llu.%zu ", (unsigned long long)pawl_entry_seq(entry), i);
}

PAWL_TEST(test_fault_K11_a_watcher_who_wants_one_kind_gets_one_kind)
{
    const part parts[] = { { "a", NULL, "emit custom 1 | emit values 2" }, { "b", "a", "emit values 3 | emit custom 4" }, { 0 } };
    const char *const modes[3] = { "values", "custom", "debug" }, *const heard[3] = { "2.1 3.0 ", "2.0 3.1 ", "" };

    for (int i = 0; i < 3; i++) {
        reader r = { .mode = modes[i] };
        town t;

        town_begin(&t, script_compile(graph(parts)), NULL);
        pawl_engine_watch(t.e, listens, &r);
        CHECK_INT(town_run(&t, "r", NULL), PAWL_HALTED);
        CHECK_STR(r.all, heard[i]);
        town_end(&t);
    }
}

/* ---- K12: starting what waits -------------------------------------------------------------------------------------------------------------- */

static pawl_machine *waits(void)
{
    const part parts[] = { { "a", NULL, "list=\"a\"" }, { "b", "a", "ask \"?\" -> list" }, { 0 } };

    return script_compile(graph(parts));
}

static void started_again(world *w)
{
    char id[64], *before = strdup(journal_of(w));

    snprintf(id, sizeof id, "%s", world_open(w, NULL, true));
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_START }), PAWL_IGNORED);
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"x\":1}" }), PAWL_IGNORED);
    CHECK_INT(world_tick(w), PAWL_IGNORED);
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER }), PAWL_INVALID);     /* a resume that says nothing */
    CHECK_STR(w->err.text, "run-1: answer: an answer needs a value (null is one)");
    tell_crash(w);
    CHECK_STR(journal_of(w), before);
    CHECK_STR(world_open(w, NULL, true), id);
    w->now = 5000;
    tell_answer(w, id, "\"b\"");
    CHECK_STR(world_get(w, "list"), "[\"a\",\"b\"]");
    free(before);
}

/* There: the run began again from its entry, and the question was forgotten. */
PAWL_TEST(test_fault_K12_starting_a_run_that_waits_gives_the_same_wait)
{
    town t;

    tell(waits, NULL, started_again);
    town_begin(&t, waits(), NULL);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_STR(pawl_run_get(t.e, "r", "list"), "[\"a\"]");
    CHECK_INT(pawl_state_waits(pawl_run_state(t.e, "r", NULL)), 1);
    CHECK_INT(pawl_answer(t.e, "r", NULL, "\"b\"", &t.err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "r", "list"), "[\"a\",\"b\"]");
    town_end(&t);
}
