/* peer_2_test.c - the rest of docs/PEERS.md: calls that are remembered, errors, timeouts, questions, time travel, subgraphs, memory. */
#include "kernel/names.h"
#include "kernel/state.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log",
    .rule = PAWL_RULE_APPEND }, { 0 } };

static pawl_graph *graph(const part *parts)
{
    return script_graph("peer", 1, channels, parts);
}

static void begin(world *w, pawl_graph *g, const char *input)
{
    world_begin(w, script_compile(g), input);
}

/* A graph of `parts`, and "sub" after @start. */
static pawl_graph *with_sub(const part *parts, pawl_graph *inner)
{
    pawl_graph *g = graph(parts);

    pawl_graph_sub(g, "sub", inner);
    pawl_graph_map(g, "sub", "log", "log", false, true);
    pawl_graph_edge(g, PAWL_START, "sub");
    return g;
}

static bool n_below(pawl_step *s, void *arg)
{
    return pawl_get_int(s, "n") < strtol(arg, NULL, 10);
}

/* ---- calls that are remembered ----------------------------------------------------------------- */

static pawl_code doubled(pawl_step *s, int64_t n, int64_t *out)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "double", pawl_pack(s, "i", n), &v);

    *out = rc == PAWL_OK ? pawl_value_int(v) : -1;
    return rc;
}

/* A loop over a function that calls; an error comes back to where the call stands. */
static pawl_code sum_of_doubles(pawl_step *s, const pawl_value *input, void *arg)
{
    int64_t sum = 0, one;

    (void)arg;
    for (int64_t i = 1; i <= pawl_value_int(pawl_value_get(input, "input")); i++) {
        pawl_code rc = doubled(s, i, &one);

        if (rc != PAWL_OK && rc != PAWL_EFFECT)
            return rc;
        sum += one;
    }
    pawl_set_int(s, "x", sum);
    return PAWL_OK;
}

PAWL_TEST(test_peer_26_results_of_calls_are_remembered_and_errors_come_back_to_the_caller)
{
    world w;

    world_begin(&w, pawl_flow_linear("sum", 1, channels, 1, sum_of_doubles, NULL, 0, NULL, NULL), "{\"input\":{\"input\":4}}");
    for (int i = 1; i <= 4; i++) {
        char text[16];

        CHECK_INT(pawl_state_commands(w.st), 1);
        snprintf(text, sizeof text, "%d", 2 * i);
        world_crash(&w);
        if (i == 3)
            world_error(&w, "main", "\"no\"");
        else
            world_receipt(&w, "main", text);
    }
    CHECK_STR(world_get(&w, "x"), "13");        /* 2 + 4 - 1 + 8 */
    CHECK_INT(times_in(journal_of(&w), "[\"call\","), 4);
    world_end(&w);
}

/* What is written when somebody answers is the answer and what is new after it. */
PAWL_TEST(test_peer_27_a_resume_writes_what_is_new_and_nothing_else)
{
    const part parts[] = { { "a", NULL, "call one 1 -> log | call two 2 -> log | ask \"?\" -> log | call three 3 -> log | ask \"!\" -> log" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_receipt(&w, "a", "1");
    world_receipt(&w, "a", "2");
    world_crash(&w);
    world_answer(&w, NULL, "\"go\"");
    world_crash(&w);
    world_receipt(&w, "a", "3");
    world_answer(&w, NULL, "\"on\"");
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"args\":1,\"effect\":\"one\"}\n"
                     ". receipt 1.a.1.0 1; call 1.a.1.1 {\"args\":2,\"effect\":\"two\"}\n"
                     ". receipt 1.a.1.1 2; ask 1.a.1.2 {\"kind\":\"question\",\"prompt\":\"?\",\"slot\":\"a.2\"}\n"
                     ". answer 1.a.1.2 \"go\"; call 1.a.1.3 {\"args\":3,\"effect\":\"three\"}\n"
                     ". receipt 1.a.1.3 3; ask 1.a.1.4 {\"kind\":\"question\",\"prompt\":\"!\",\"slot\":\"a.4\"}\n"
                     ". answer 1.a.1.4 \"on\"; a leaves log=1 log=2 log=\"go\" log=3 log=\"on\"\n"
                     "2 tick completed | records 10; close ->\n");
    world_end(&w);
}

/* ---- errors and time ---------------------------------------------------------------------------- */

/* Says which attempt it is, and when that began; the first two fail. */
static pawl_code third_time(pawl_step *s, void *arg)
{
    (void)arg;
    if (pawl_visit(s) < 3)
        return pawl_fail(s, PAWL_TRANSIENT, "not yet");
    pawl_set(s, "x", pawl_pack(s, "{s:u,s:i}", "attempt", (uint64_t)pawl_visit(s), "at", pawl_now(s)));
    return PAWL_OK;
}

PAWL_TEST(test_peer_28_an_attempt_knows_its_number_and_its_time)
{
    const pawl_retry enough = { .max_attempts = 3, .initial_ms = 100 }, few = { .max_attempts = 2, .initial_ms = 100 };
    world w;

    for (int i = 0; i < 2; i++) {
        pawl_graph *g = graph((const part[]){ { 0 } });

        pawl_graph_node(g, "a", third_time, NULL);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        pawl_graph_retry(g, "a", i == 0 ? &enough : &few);
        begin(&w, g, NULL);
        world_timer(&w, "a");
        if (i == 0)
            world_timer(&w, "a");
        CHECK_STR(world_status(&w), i == 0 ? "completed" : "failed");
        CHECK_STR(world_get(&w, "x"), i == 0 ? "{\"at\":1100,\"attempt\":3}" : "");   /* it began when the one before failed */
        world_end(&w);
    }
}

/* Two attempts; what then still fails is handled by another node. */
static pawl_code risky(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "llm", NULL, &v);

    (void)arg;
    if (rc == PAWL_OK || rc > 0)
        return rc;
    if (pawl_visit(s) < 2)
        return pawl_fail(s, PAWL_TRANSIENT, "again");
    pawl_set(s, "x", v);
    return pawl_goto(s, "handler");
}

static pawl_graph *handled(const char *handler)
{
    const pawl_retry retry = { .max_attempts = 2 };
    const part parts[] = { { "handler", "-", handler }, { "good", "-", "log=\"good\"" }, { 0 } };
    pawl_graph *g = graph(parts);

    pawl_graph_node(g, "risky", risky, NULL);
    pawl_graph_chain(g, PAWL_START, "risky", "good", NULL);
    pawl_graph_goto(g, "risky", "handler", NULL);
    pawl_graph_retry(g, "risky", &retry);
    return g;
}

static void fails_twice(world *w)
{
    world_error(w, "risky", "\"first\"");
    world_timer(w, "risky");
    world_error(w, "risky", "\"second\"");
}

PAWL_TEST(test_peer_29_a_node_leads_to_its_handler_when_its_attempts_are_used_up)
{
    world w;

    begin(&w, handled("get x -> log | ask \"what now?\" -> log"), NULL);
    fails_twice(&w);
    CHECK_STR(world_status(&w), "input-required");      /* a question in a handler is one like any other */
    world_answer(&w, NULL, "\"mended\"");
    CHECK_STR(world_get(&w, "log"), "[\"second\",\"mended\"]");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
    begin(&w, handled("fail invalid the handler failed"), NULL);
    fails_twice(&w);
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"the handler failed\"}");
    world_end(&w);
}

PAWL_TEST(test_peer_30_after_a_crash_the_handler_goes_on_and_what_failed_does_not_run)
{
    world w;

    begin(&w, handled("call mend 1 -> log"), NULL);
    fails_twice(&w);
    world_crash(&w);
    CHECK_STR(world_tasks(&w), "handler");
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_STR(world_open(&w, NULL, false), "run-1~0000000000000001/2.handler.1.0");
    CHECK_STR(world_get(&w, "x"), "\"second\"");
    world_receipt(&w, "handler", "\"mended\"");
    CHECK_STR(world_get(&w, "log"), "[\"mended\"]");
    CHECK_INT(times_in(journal_of(&w), "[\"call\",\"1.risky."), 2);
    world_end(&w);
}

static pawl_code impatient(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "llm", NULL, &v);

    (void)arg;
    if (rc == PAWL_EFFECT && pawl_visit(s) < 2)
        return pawl_fail(s, PAWL_TIMEOUT, "too late");
    if (rc == PAWL_OK)
        pawl_set(s, "log", v);
    return rc;
}

/* Whoever performs the command has its limits, and says that they are over; a late result is of no use. */
PAWL_TEST(test_peer_31_a_timeout_is_a_result_that_may_be_tried_again_and_what_is_late_is_dropped)
{
    const pawl_retry retry = { .max_attempts = 2 };
    const pawl_limits limits = { .attempt_timeout_ms = 50, .heartbeat_ms = 10 };
    pawl_graph *g = graph((const part[]){ { 0 } });
    pawl_command cmd;
    char late[ID_BYTES_MAX];
    world w;

    pawl_graph_effect(g, "llm", &limits);
    pawl_graph_node(g, "a", impatient, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_retry(g, "a", &retry);
    begin(&w, g, NULL);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_INT(cmd.limits.attempt_timeout_ms, 50);
    CHECK_INT(cmd.limits.heartbeat_ms, 10);
    snprintf(late, sizeof late, "%s", cmd.id);
    CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = late, .outcome = PAWL_OUTCOME_TIMEOUT }) >= 0);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = late, .value = "\"late\"" }), PAWL_IGNORED);
    world_timer(&w, "a");
    world_receipt(&w, "a", "\"in time\"");
    CHECK_STR(world_get(&w, "log"), "[\"in time\"]");
    CHECK_STR(world_status(&w), "completed");
    CHECK(strstr(journal_of(&w), "late") == NULL);
    world_end(&w);
}

/* Nobody has to be asked to stop: between two events nothing is in anybody's hands. */
PAWL_TEST(test_peer_32_a_run_stops_at_any_superstep_and_goes_on_from_there)
{
    const part in[] = { { "s1", NULL, "log=\"s1\" | ask \"?\" -> log" }, { "s2", "s1", "log=\"s2\"" }, { 0 } };
    const part parts[] = { { "a", "sub", "log=\"a\"" }, { "b", "a", "log=\"b\"" }, { 0 } };
    char end[256] = "";
    world w;

    for (uint64_t stop = 1; stop <= 4; stop++) {
        pawl_graph *g = with_sub(parts, graph(in));

        pawl_graph_edge(g, "sub", "a");
        begin(&w, g, NULL);
        world_answer(&w, NULL, "1");
        if (stop == 1)
            snprintf(end, sizeof end, "%s", world_all(&w));
        CHECK_INT(pawl_state_seq(w.st), 4);
        world_back(&w, stop);
        world_snapshot(&w);
        world_crash(&w);
        if (world_go(&w) == PAWL_INTERRUPTED)
            world_answer(&w, NULL, "1");
        CHECK_STR(world_all(&w), end);
        CHECK_STR(world_status(&w), "completed");
        world_end(&w);
    }
}

PAWL_TEST(test_peer_33_cancel_waits_for_what_is_in_flight_and_a_node_that_says_so_fails)
{
    const part parts[] = { { "a", NULL, "call llm 1 | log=\"never\"" }, { "b", NULL, "ask \"?\"" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    CHECK_INT(world_cancel(&w), PAWL_PENDING);
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = world_open(&w, "a", false), .outcome = PAWL_OUTCOME_CANCELED }) >= 0);
    world_go(&w);
    CHECK_STR(world_status(&w), "canceled");
    CHECK_STR(world_get(&w, "log"), "");
    world_end(&w);
    begin(&w, graph((const part[]){ { "a", NULL, "fail canceled called off" }, { 0 } }), NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"canceled\",\"text\":\"called off\"}");
    world_end(&w);
}

/* ---- questions ------------------------------------------------------------------------------------ */

PAWL_TEST(test_peer_35_many_tasks_ask_at_once_and_each_question_has_an_id)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1 | send w 2 | goto @end" }, { "w", "-", "ask \"first\" -> log | ask \"second\" -> log" },
                           { 0 } };
    static const char *const slots[] = { "w:2", "w:0", "w:1", "w:0.1", "w:1.1", "w:2.1" };
    world w;

    begin(&w, graph(parts), NULL);
    for (size_t i = 0; i < 3; i++) {
        char id[64];
        pawl_wait q;

        CHECK_INT(pawl_state_wait(w.st, i, w.look, &q, &w.err), PAWL_OK);
        snprintf(id, sizeof id, "run-1~0000000000000001/2.w:%zu.1.0", i);
        CHECK_STR(q.id, id);
    }
    for (size_t i = 0; i < 6; i++) {
        char text[16];

        CHECK_INT(pawl_state_waits(w.st), i < 3 ? 3 : 6 - i);
        snprintf(text, sizeof text, "\"%s\"", slots[i]);
        world_answer(&w, slots[i], text);
    }
    CHECK_STR(world_get(&w, "log"), "[\"w:0\",\"w:0.1\",\"w:1\",\"w:1.1\",\"w:2\",\"w:2.1\"]");
    world_end(&w);
}

PAWL_TEST(test_peer_37_pauses_before_and_after_stop_nodes_that_write_nothing)
{
    const part parts[] = { { "a", NULL, "goto b" }, { "b", "-", "" }, { "c", "b", "" }, { 0 } };
    pawl_graph *g = graph(parts);
    world w;

    pawl_graph_interrupt_before(g, "b");
    pawl_graph_interrupt_after(g, "b");
    pawl_graph_interrupt_before(g, "c");
    begin(&w, g, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(world_status(&w), "input-required");
        CHECK_STR(world_tasks(&w), i == 0 ? "b" : "c");
        world_crash(&w);
        CHECK_INT(world_tick(&w), PAWL_IGNORED);        /* going on without an answer is no answer */
        world_answer(&w, NULL, "null");
    }
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_all(&w), "{\"n\":0}");
    world_end(&w);
}

/* Twice round: each time the subgraph asks twice, anew. */
PAWL_TEST(test_peer_38_a_subgraph_that_asks_twice_is_entered_twice)
{
    const part in[] = { { "s1", NULL, "ask \"one\" -> log" }, { "s2", "s1", "ask \"two\" -> log" }, { 0 } };
    pawl_graph *g = with_sub((const part[]){ { 0 } }, graph(in));
    world w;

    pawl_graph_node(g, "count", script_node, "n=1");
    pawl_graph_edge(g, "sub", "count");
    pawl_graph_when(g, "count", n_below, "2", "sub");
    pawl_graph_when(g, "count", NULL, NULL, PAWL_END);
    begin(&w, g, NULL);
    for (int i = 1; i <= 4; i++) {
        char text[16];

        CHECK_INT(pawl_state_waits(w.st), 1);
        world_crash(&w);
        snprintf(text, sizeof text, "%d", i);
        world_answer(&w, NULL, text);
    }
    CHECK_STR(world_get(&w, "log"), "[1,2,3,4]");
    CHECK_STR(world_get(&w, "n"), "2");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_peer_39_a_node_that_is_done_never_runs_again_however_often_others_ask)
{
    const part parts[] = { { "a", NULL, "n=1 | call llm 1 -> log" }, { "q1", "a", "ask 1 -> log" }, { "q2", "q1", "ask 2 -> log | ask 3 -> log" },
                           { "q3", "q2", "log=\"q3\" | interrupt 4 -> x" }, { "end", "q3", "n=10" }, { 0 } };
    world w;

    begin(&w, graph(parts), NULL);
    world_receipt(&w, "a", "\"a\"");
    for (int i = 1; i <= 4; i++) {
        char text[16];

        world_crash(&w);
        snprintf(text, sizeof text, "%d", i);
        CHECK_INT(pawl_state_waits(w.st), 1);
        world_answer(&w, NULL, text);
    }
    CHECK_STR(world_all(&w), "{\"log\":[\"a\",1,2,3,\"q3\"],\"n\":11,\"x\":4}");
    CHECK_INT(times_in(journal_of(&w), "[\"call\","), 1);
    world_end(&w);
}

/* ---- time travel ------------------------------------------------------------------------------------- */

/* A new run from where `of` stood at entry `seq`. Its machine is lent. */
static void fork_at(world *out, const world *of, uint64_t seq, const char *id)
{
    const pawl_run_info info = { .id = id, .life = 2, .seed = 7, .created_ms = of->now };
    pawl_state *at;

    *out = (world){ .m = of->m, .lent = true, .now = of->now, .alloc = mem_or_default(NULL), .s = pawl_step_new(NULL), .look = pawl_step_new(NULL) };
    buf_init(&out->journal, &out->alloc);
    buf_init(&out->trace, &out->alloc);
    buf_init(&out->snapshot, &out->alloc);
    if (pawl_replay((pawl_bytes){ of->journal.data, of->journal.size }, seq, NULL, &at, &out->err) != PAWL_OK ||
        pawl_state_fork(at, &info, out->look, &out->st, &out->err) != PAWL_OK)
        CHECK_FAIL("fork at %d: %s", (int)seq, out->err.text);
    buf_put(&out->journal, out->st->base.data, out->st->base.size);
    buf_char(&out->journal, '\n');
    pawl_state_free(at);
}

PAWL_TEST(test_peer_40_forks_of_one_entry_ask_again_and_come_to_the_same)
{
    const part parts[] = { { "a", NULL, "n=1" }, { "b", "a", "ask \"?\" -> log" }, { "c", "b", "n=10" }, { 0 } };
    char first[4096] = "";
    world w, f;

    begin(&w, graph(parts), NULL);
    world_answer(&w, NULL, "\"yes\"");
    w.now = 9000;
    for (int i = 0; i < 3; i++) {
        fork_at(&f, &w, 2, "fork");
        CHECK_INT(world_go(&f), PAWL_INTERRUPTED);      /* the question is asked anew, under an id of the fork */
        CHECK_STR(world_open(&f, NULL, true), "fork~0000000000000002/2.b.1.0");
        world_answer(&f, NULL, "\"yes\"");
        CHECK_STR(world_all(&f), world_all(&w));
        if (i == 0)
            snprintf(first, sizeof first, "%s", journal_of(&f));
        CHECK_STR(journal_of(&f), first);
        world_end(&f);
    }
    world_end(&w);
}

PAWL_TEST(test_peer_42_a_fork_takes_the_place_of_what_came_after_it)
{
    const part parts[] = { { "a", NULL, "n=10" }, { "b", "a", "n=100" }, { 0 } };
    world w, f, g;

    begin(&w, graph(parts), "{\"n\":1}");
    CHECK_STR(world_get(&w, "n"), "111");
    fork_at(&f, &w, 1, "fork-1");
    fork_at(&g, &w, 1, "fork-2");
    CHECK_STR(world_tasks(&f), "a");
    world_update(&f, "a", "{\"n\":20}");
    CHECK_STR(world_get(&f, "n"), "121");       /* 1 + 20 + 100 */
    world_update(&g, "a", "{\"n\":30}");
    CHECK_STR(world_get(&g, "n"), "131");
    CHECK_STR(world_get(&f, "n"), "121");
    CHECK_STR(world_get(&w, "n"), "111");
    world_end(&g);
    world_end(&f);
    world_end(&w);
}

/* What happens inside is part of the run's superstep: a fork in the middle of it enters the subgraphs anew. */
PAWL_TEST(test_peer_43_a_fork_while_a_subgraph_of_a_subgraph_asks_enters_it_anew)
{
    const part leaf[] = { { "s1", NULL, "log=\"s1\"" }, { "s2", "s1", "ask \"?\" -> log" }, { 0 } };
    const part middle[] = { { "m", "sub", "log=\"m\"" }, { 0 } }, outer[] = { { "a", "sub", "log=\"a\"" }, { 0 } };
    pawl_graph *mid = with_sub(middle, graph(leaf)), *g;
    pawl_state *then;
    world w, f;

    pawl_graph_edge(mid, "sub", "m");
    g = with_sub(outer, mid);
    pawl_graph_edge(g, "sub", "a");
    begin(&w, g, NULL);
    world_answer(&w, NULL, "\"old\"");
    CHECK_STR(world_get(&w, "log"), "[\"s1\",\"old\",\"m\",\"a\"]");
    CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, 1, NULL, &then, &w.err), PAWL_OK);
    CHECK_INT(pawl_state_waits(then), 1);       /* as it stood then, question and all */
    pawl_state_free(then);
    fork_at(&f, &w, 1, "fork");
    world_go(&f);
    CHECK_STR(world_open(&f, NULL, true), "fork~0000000000000002/1.sub/1/1/sub/1/2/s2.1.0");
    world_answer(&f, NULL, "\"new\"");
    CHECK_STR(world_get(&f, "log"), "[\"s1\",\"new\",\"m\",\"a\"]");
    CHECK_STR(world_get(&w, "log"), "[\"s1\",\"old\",\"m\",\"a\"]");
    world_end(&f);
    world_end(&w);
}

PAWL_TEST(test_peer_44_a_run_is_told_again_by_updates_as_its_nodes)
{
    const part parts[] = { { "a", NULL, "log=\"a\" | n=1" }, { "b", "a", "log=\"b\"" }, { "c", "b", "log=\"c\"" }, { 0 } };
    static const struct { const char *as, *value; } told[] = { { "a", "{\"log\":\"a\",\"n\":1}" }, { "b", "{\"log\":\"b\"}" }, { "c", "{\"log\":\"c\"}" } };
    world live, w;

    begin(&live, graph(parts), "{\"x\":1}");
    begin(&w, graph(parts), "{\"x\":1}");
    world_back(&w, 1);
    for (size_t i = 0; i < 3; i++) {
        CHECK_STR(world_tasks(&w), told[i].as);
        CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_UPDATE, .name = told[i].as, .value = told[i].value }) >= 0);
    }
    CHECK_STR(world_all(&w), world_all(&live));
    CHECK_STR(world_tasks(&w), world_tasks(&live));
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_state_seq(w.st), pawl_state_seq(live.st));
    world_end(&w);
    world_end(&live);
}

PAWL_TEST(test_peer_45_a_fork_says_where_it_came_from_and_an_update_what_it_is)
{
    const part parts[] = { { "a", NULL, "n=1" }, { "b", "a", "n=10" }, { 0 } };
    world w, f;

    begin(&w, graph(parts), NULL);
    fork_at(&f, &w, 2, "fork");
    CHECK(strstr(line_of(&f, 0), "\"life\":\"0000000000000001\",\"run\":\"run-1\",\"seq\":2}") != NULL);
    CHECK(strstr(line_of(&f, 0), "\"lineage\":{\"hash\":\"") != NULL);
    CHECK(world_feed(&f, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"n\":5}", .by = "ada" }) >= 0);
    CHECK_INT(pawl_entry_kind(pawl_step_entry(f.s)), PAWL_EV_UPDATE);
    world_go(&f);
    CHECK_STR(world_get(&f, "n"), "16");
    world_end(&f);
    world_end(&w);
}

/* ---- subgraphs, memory ----------------------------------------------------------------------------------- */

/* What is mapped both ways lasts from one entry to the next; what is not begins anew. Two of a kind keep apart. */
PAWL_TEST(test_peer_46_a_subgraph_keeps_what_is_mapped_and_forgets_the_rest)
{
    static const pawl_channel both[] = { { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "m", .rule = PAWL_RULE_SUM, .first = "0" },
                                         { .name = "log", .rule = PAWL_RULE_APPEND }, { .name = "round", .rule = PAWL_RULE_SUM, .first = "0" }, { 0 } };
    const part in[] = { { "add", NULL, "n=1 | m=1" }, { "tell", "add", "get n -> log | get m -> log" }, { 0 } };
    pawl_graph *g = script_graph("peer", 1, both, (const part[]){ { 0 } });
    world w;

    pawl_graph_sub(g, "one", script_graph("inner", 1, both, in));
    pawl_graph_sub(g, "two", script_graph("inner", 1, both, in));
    for (int i = 0; i < 2; i++) {
        pawl_graph_map(g, i == 0 ? "one" : "two", "log", "log", false, true);
        pawl_graph_map(g, i == 0 ? "one" : "two", i == 0 ? "n" : "m", "n", true, true);
    }
    pawl_graph_node(g, "again", script_node, "round=1");
    pawl_graph_chain(g, PAWL_START, "one", "two", "again", NULL);
    pawl_graph_when(g, "again", n_below, "2", "one");
    pawl_graph_when(g, "again", NULL, NULL, PAWL_END);
    begin(&w, g, "{\"m\":100}");
    CHECK_STR(world_get(&w, "log"), "[1,1,101,1,2,1,102,1]");
    CHECK_STR(world_get(&w, "n"), "2");
    CHECK_STR(world_get(&w, "m"), "102");
    world_end(&w);
}

PAWL_TEST(test_peer_50_invocations_leave_no_memory_behind)
{
    const part parts[] = { { "a", NULL, "log=\"a\" | send w 1 | send w 2" }, { "w", "-", "call llm 1 -> log" }, { "b", "a", "ask \"?\" -> x" }, { 0 } };
    pawl_machine *m = script_compile(graph(parts));
    size_t most = 0;

    for (int i = 0; i < 20; i++) {
        pawl_alloc alloc;
        heap h;
        world w;

        heap_init(&h);
        alloc = heap_alloc(&h);
        CHECK(world_try_begin(&w, m, NULL, &alloc) >= 0);
        w.lent = true;
        world_receipt(&w, "w", "\"w\"");
        world_receipt(&w, "w", "\"w\"");
        world_answer(&w, NULL, "1");
        CHECK_STR(world_status(&w), "completed");
        world_drop(&w);
        heap_check(&h);
        most = i == 0 ? h.bytes_most : most;
        CHECK_INT(h.bytes_most, most);
    }
    pawl_machine_free(m);
}
