/* promise_wait_test.c - sentences about waits, races, limits and errors that no other test shows (W1, W3-W5, W7, G3, X). */
#include "kernel/names.h"
#include "lib/tell.h"
#include "pawl/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel xy[] = { { .name = "x" }, { .name = "y" }, { .name = "list", .rule = PAWL_RULE_APPEND },
                                   { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { 0 } };

static pawl_machine *one_node(pawl_node_fn *fn, void *arg)
{
    pawl_graph *g = pawl_graph_new("waits", 1);

    for (const pawl_channel *c = xy; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", fn, arg);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    return script_compile(g);
}

/* ---- W1: the record of a wait ------------------------------------------------------------------------ */

static pawl_code asks_all(pawl_step *s, void *arg)
{
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .slot = "budget", .asked_of = "ada", .prompt = pawl_pack(s, "{s:s}", "text", "spend it?"),
                              .schema = pawl_json(s, "{\"type\":\"boolean\"}"), .options = pawl_json(s, "[true,false]"),
                              .otherwise = pawl_pack(s, "b", 0), .timeout_ms = 5000 };
    const pawl_value *v;
    pawl_code rc = pawl_ask_with(s, &q, &v);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "x", v);
    return rc;
}

static pawl_machine *asks_all_machine(void)
{
    return one_node(asks_all, NULL);
}

static void whole_record(world *w)
{
    pawl_wait q;

    CHECK_INT(pawl_state_waits(w->st), 1);
    CHECK_INT(pawl_state_wait(w->st, 0, w->look, &q, &w->err), PAWL_OK);
    CHECK_STR(q.id, "run-1~0000000000000001/1.a.1.0");      /* the run stands in it */
    CHECK_STR(q.slot, "budget");
    CHECK_STR(q.node, "a");                                 /* where it resumes */
    CHECK_INT(q.kind, PAWL_WAIT_APPROVAL);
    CHECK_STR(pawl_value_string(pawl_value_get(q.prompt, "text")), "spend it?");
    CHECK_STR(pawl_value_string(pawl_value_get(q.schema, "type")), "boolean");
    CHECK_INT(pawl_value_size(q.options), 2);
    CHECK_STR(q.asked_of, "ada");
    CHECK_INT(q.asked_ms, 1000);
    CHECK_INT(q.expires_ms, 6000);
    CHECK_INT(pawl_value_type(q.otherwise), PAWL_TYPE_BOOL);
    CHECK(!pawl_value_bool(q.otherwise));
}

static void record_plot(world *w)
{
    whole_record(w);
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "\"yes\"" }), PAWL_INVALID);
    whole_record(w);
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"y\":1}" });       /* something else happens meanwhile */
    whole_record(w);
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "budget", .value = "true", .by = "ada", .note = "once" });
    CHECK(strstr(journal_of(w), "[\"answer\",\"1.a.1.0\",") != NULL);
    CHECK(strstr(journal_of(w), ",true,{\"by\":\"ada\",\"note\":\"once\"}]") != NULL);
    CHECK_STR(world_get(w, "x"), "true");
}

PAWL_TEST(test_W1_a_wait_is_a_whole_record_and_survives_everything)
{
    tell(asks_all_machine, NULL, record_plot);
}

static pawl_code asks_in_sub(pawl_step *s, void *arg)
{
    const pawl_value *a, *b;
    pawl_code one = pawl_ask(s, pawl_pack(s, "s", "one"), &a), two = pawl_ask(s, pawl_pack(s, "s", "two"), &b);

    (void)arg;
    return one != PAWL_OK ? one : two;
}

static pawl_graph *asking_graph(const char *name)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_node(g, "a", asks_in_sub, NULL);
    pawl_graph_node(g, "b", asks_in_sub, NULL);
    pawl_graph_interrupt_before(g, "b");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "a", PAWL_END);
    pawl_graph_edge(g, "b", PAWL_END);
    return g;
}

/* Of whatever nodes, sends and subgraphs: no two open waits have the same slot, so a slot names one. */
PAWL_TEST(test_W1_slots_that_are_made_are_unique_among_the_open_ones)
{
    const part parts[] = { { "plan", NULL, "send w 0 | send w 1 | send sub 2 | send sub 3" }, { "w", "-", "also ask 1 | also ask 2" },
                           { "a", "plan", "also ask 1 | also signal go | also ask 2" }, { 0 } };
    pawl_graph *g = script_graph("slots", 1, xy, parts);
    char slots[16][64], first[64];
    pawl_wait q;
    size_t n;
    world w;

    pawl_graph_sub(g, "sub", asking_graph("inner"));
    pawl_graph_edge(g, "sub", PAWL_END);
    pawl_graph_goto(g, "plan", "sub", NULL);
    world_begin(&w, script_compile(g), NULL);
    n = pawl_state_waits(w.st);
    CHECK_INT(n, 2 + 2 + 3 + 2 * 3);
    for (size_t i = 0; i < n; i++) {
        CHECK_INT(pawl_state_wait(w.st, i, w.look, &q, &w.err), PAWL_OK);
        snprintf(slots[i], sizeof slots[i], "%s", q.slot);
        for (size_t j = 0; j < i; j++)
            if (strcmp(slots[i], slots[j]) == 0)
                CHECK_FAIL("two waits in slot %s", slots[i]);
    }
    for (size_t i = n; i-- > 0;) {
        snprintf(first, sizeof first, "%s", slots[i]);
        if (strcmp(first, "a.1") == 0)
            world_signal(&w, "go", NULL);
        else if (world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = first, .value = "0" }) < 0)
            CHECK_FAIL("slot %s: %s", first, w.err.text);
    }
    world_end(&w);
}

static pawl_code asks_in_budget(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_ask_with(s, &(pawl_question){ .slot = "budget" }, &v);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "list", v);
    return rc;
}

/* Two nodes that choose the same slot have two, by their names; what both chose is never guessed. */
PAWL_TEST(test_W1_W3_a_slot_that_two_nodes_chose_is_made_unique)
{
    pawl_graph *g = pawl_graph_new("chosen", 1);
    world w;

    pawl_graph_channel_with(g, &xy[2]);
    pawl_graph_node(g, "a", asks_in_budget, NULL);
    pawl_graph_node(g, "b", asks_in_budget, NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "a", PAWL_END);
    pawl_graph_edge(g, "b", PAWL_END);
    world_begin(&w, script_compile(g), NULL);
    if (pawl_state_waits(w.st) == 2 && world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "budget", .value = "1" }) >= 0)
        CHECK_FAIL("one of two was taken");
    CHECK_STR(w.err.text, "run-1: 2 waits are open for budget: name one by its id");
    CHECK_STR(world_open(&w, "b.budget", true), "run-1~0000000000000001/1.b.1.0");
    world_answer(&w, "b.budget", "2");
    world_answer(&w, "1.a.1.0", "1");
    CHECK_STR(world_get(&w, "list"), "[1,2]");
    world_end(&w);
}

/* ---- W3, W4: taken once, in journal order ----------------------------------------------------------------- */

static pawl_code clerk(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START) {
        pawl_flow_ask(s, "one", &(pawl_question){ .schema = pawl_json(s, "{\"type\":\"integer\"}") });
        pawl_flow_ask(s, "two", &(pawl_question){ .kind = PAWL_WAIT_APPROVAL });
        return PAWL_OK;
    }
    pawl_set(s, "list", pawl_pack(s, "[s,v,v]", h->tag, h->value, pawl_get(s, "x") != NULL ? pawl_get(s, "x") : pawl_pack(s, "n")));
    return pawl_value_size(pawl_get(s, "list")) == 1 ? pawl_flow_complete(s) : PAWL_OK;
}

static pawl_machine *clerk_machine(void)
{
    pawl_err err = { 0 };
    pawl_machine *m = pawl_flow_reducer("clerk", 1, xy, 4, clerk, NULL, NULL, &err);

    CHECK_STR(err.text, "");
    return m;
}

static void second_first(world *w)
{
    tell_answer(w, "two", "true");
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "one", .value = "\"no integer\"" }), PAWL_INVALID);
    CHECK_INT(pawl_state_waits(w->st), 1);
    tell_answer(w, "one", "1");
    CHECK_STR(world_get(w, "list"), "[[\"two\",true,null],[\"one\",1,null]]");
    CHECK_STR(world_status(w), "completed");
}

/* The graph's order is that of its tasks; a reducer's is that of its journal. */
PAWL_TEST(test_W4_a_reducer_sees_answers_in_journal_order)
{
    tell(clerk_machine, NULL, second_first);
}

static void with_updates(world *w)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "one", .value = "1", .update = "{\"x\":\"with one\"}" });
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "two", .value = "1", .update = "{\"nowhere\":1}" }), PAWL_INVALID);
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "two", .value = "true", .update = "{\"x\":\"with two\",\"n\":5}" });
    CHECK_STR(world_get(w, "list"), "[[\"one\",1,\"with one\"],[\"two\",true,\"with two\"]]");
    CHECK_STR(world_get(w, "n"), "5");
}

PAWL_TEST(test_W7_a_reducer_sees_the_update_that_came_with_the_answer)
{
    tell(clerk_machine, NULL, with_updates);
}

static pawl_machine *two_of_one_superstep(void)
{
    const part parts[] = { { "a", NULL, "ask \"?\" -> list" }, { "b", NULL, "ask \"?\" -> list" }, { "c", "a b", "get x -> list" }, { 0 } };

    return script_machine("once", 1, xy, parts);
}

static void second_is_refused(world *w)
{
    char journal[4096];

    tell_answer(w, "run-1~0000000000000001/1.a.1.0", "\"first\"");
    snprintf(journal, sizeof journal, "%s", journal_of(w));
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "1.a.1.0", .value = "\"second\"" }), PAWL_CONFLICT);
    CHECK_STR(w->err.text, "run-1: wait 1.a.1.0 was answered before, with \"first\"");
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "1.a.1.0", .value = "\"first\"" }), PAWL_CONFLICT);
    CHECK_STR(journal_of(w), journal);
    w->now = 9000;
    tell_answer(w, "b", "2");
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = "1.b.1.0", .value = "3" }), PAWL_IGNORED);     /* the run is over */
    CHECK_STR(world_get(w, "list"), "[\"first\",2,null]");
}

PAWL_TEST(test_W3_of_two_answers_the_first_is_taken_and_the_second_told)
{
    tell(two_of_one_superstep, NULL, second_is_refused);
}

/* ---- W5: nothing by silence ------------------------------------------------------------------------------------ */

static const pawl_question *asked;

static pawl_code asks_so(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_question q = *asked;
    pawl_code rc;

    if (arg != NULL)
        q.otherwise = pawl_json(s, arg);
    if ((rc = pawl_ask_with(s, &q, &v)) == PAWL_OK)
        pawl_set(s, "x", v);
    return rc;
}

static pawl_machine *asks_with_default(void)
{
    static const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .timeout_ms = 5000 };

    asked = &q;
    return one_node(asks_so, "false");
}

static void time_passes(world *w)
{
    const pawl_event early = { .kind = PAWL_EV_TIMER, .id = "1.a.1.0", .time_ms = 5999 }, late = { .kind = PAWL_EV_TIMER, .id = "1.a.1.0", .time_ms = 6000 };

    CHECK_INT(world_feed(w, &early), PAWL_IGNORED);
    CHECK_STR(world_status(w), "input-required");
    tell_event(w, &late);
    CHECK_STR(world_get(w, "x"), "false");
    CHECK(strstr(journal_of(w), "[\"answer\",\"1.a.1.0\",6000,false,{\"by\":\"@timer\"}]") != NULL);
}

PAWL_TEST(test_W5_a_deadline_gives_the_default_that_was_asked_with_and_not_before)
{
    tell(asks_with_default, NULL, time_passes);
}

PAWL_TEST(test_W5_what_has_no_deadline_or_no_default_waits_for_ever)
{
    static const pawl_question rows[] = { { .kind = PAWL_WAIT_QUESTION }, { .kind = PAWL_WAIT_QUESTION, .timeout_ms = 10 },
                                          { .kind = PAWL_WAIT_APPROVAL, .timeout_ms = 10 } };
    world w;

    for (size_t i = 0; i < 3; i++) {
        asked = &rows[i];
        world_begin(&w, one_node(asks_so, NULL), NULL);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_TIMER, .id = "1.a.1.0", .time_ms = INT64_MAX / 2 }), PAWL_IGNORED);
        CHECK_INT(pawl_state_waits(w.st), 1);
        world_drop(&w);
    }
}

PAWL_TEST(test_W5_the_only_default_of_an_approval_is_deny)
{
    static const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .timeout_ms = 10 };
    static const struct { const char *otherwise, *status; } rows[] = { { "true", "failed" }, { "false", "input-required" }, { "null", "failed" },
                                                                       { "1", "failed" }, { "\"yes\"", "failed" }, { "\"no\"", "input-required" } };
    world w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        union { const char *in; void *out; } arg = { rows[i].otherwise };

        asked = &q;
        world_begin(&w, one_node(asks_so, arg.out), NULL);
        if (strcmp(world_status(&w), rows[i].status) != 0)
            CHECK_FAIL("an approval with the default %s: %s", rows[i].otherwise, world_status(&w));
        world_drop(&w);
    }
}

/* A default is an answer: what the schema refuses is no default. */
PAWL_TEST(test_W3_W5_a_default_that_its_schema_refuses_is_never_asked_with)
{
    pawl_step *s = pawl_step_new(NULL);
    const pawl_question q = { .kind = PAWL_WAIT_QUESTION, .timeout_ms = 10, .schema = pawl_json(s, "{\"type\":\"integer\"}") };
    world w;

    const pawl_question one_of = { .timeout_ms = 10, .options = pawl_json(s, "[1,{\"value\":2}]") };

    asked = &one_of;
    world_begin(&w, one_node(asks_so, "3"), NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": the default is none of the options\"}");
    world_end(&w);
    world_begin(&w, one_node(asks_so, "2"), NULL);
    CHECK_STR(world_status(&w), "input-required");
    world_end(&w);
    asked = &q;
    world_begin(&w, one_node(asks_so, "\"many\""), NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "node \\\"a\\\": the default: ") != NULL);
    world_end(&w);
    world_begin(&w, one_node(asks_so, "3"), NULL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_TIMER, .id = "1.a.1.0", .time_ms = 1010 }), PAWL_HALTED);
    CHECK_STR(world_get(&w, "x"), "3");
    world_end(&w);
    pawl_step_free(s);
}

/* ---- G3: a race by the clock -------------------------------------------------------------------------------------- */

static pawl_code races(pawl_step *s, void *arg)
{
    const pawl_value *v;
    uint32_t winner = 9;
    pawl_code rc = pawl_call(s, "llm", NULL, &v);

    (void)arg;
    if (rc < 0 || pawl_sleep(s, 50) < 0)
        return rc;
    if ((rc = pawl_select(s, &winner)) != PAWL_OK)
        return rc;
    pawl_set_string(s, "x", winner == 0 ? "answered" : "too late");
    if (winner == 0)
        pawl_set(s, "y", v);
    return pawl_follow(s);
}

static pawl_machine *race_machine(void)
{
    return one_node(races, NULL);
}

static void the_call_wins(world *w)
{
    tell_receipt(w, "1.a.1.0", "\"blue\"");
    CHECK_STR(world_get(w, "x"), "\"answered\"");
    CHECK_STR(world_get(w, "y"), "\"blue\"");
    CHECK(strstr(journal_of(w), "[\"select\",\"a\",1,0,0]") != NULL);       /* who won is recorded, and no clock is asked again */
}

static void the_clock_wins(world *w)
{
    tell_event(w, &(pawl_event){ .kind = PAWL_EV_TIMER, .id = "1.a.1.1", .time_ms = 1050 });
    CHECK_STR(world_get(w, "x"), "\"too late\"");
    CHECK_STR(world_status(w), "completed");
    CHECK_INT(pawl_state_commands(w->st), 0);
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "1" }), PAWL_IGNORED);
}

PAWL_TEST(test_G3_a_race_by_the_clock_is_recorded_and_the_loser_left)
{
    tell(race_machine, NULL, the_call_wins);
    tell(race_machine, NULL, the_clock_wins);
}

/* ---- X: errors and limits ----------------------------------------------------------------------------------------- */

static char *document(const char *name)
{
    char path[1024], *text = NULL;
    FILE *f;
    long size;

    snprintf(path, sizeof path, "%s/docs/%s", PAWL_SOURCE_DIR, name);
    if ((f = fopen(path, "rb")) == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0)
        CHECK_FAIL("no %s", path);
    if ((text = calloc(1, (size_t)size + 1)) == NULL || fread(text, 1, (size_t)size, f) != (size_t)size)
        CHECK_FAIL("cannot read %s", path);
    fclose(f);
    return text;
}

PAWL_TEST(test_X1_the_document_says_what_to_do_about_every_code)
{
    char *text = document("ERRORS.md"), row[64];

    for (int code = PAWL_HELD; code <= PAWL_IGNORED; code++) {
        snprintf(row, sizeof row, "| %d | `%s` | ", code, pawl_code_name((pawl_code)code));
        if (strstr(text, row) == NULL)
            CHECK_FAIL("docs/ERRORS.md has no row %s", row);
    }
    free(text);
}

PAWL_TEST(test_X2_the_document_names_every_limit_with_its_default)
{
    static const char *const rows[] = {
        "| `max_steps`, supersteps of a run or a turn | 1,000 | `pawl_graph_max_steps` |",
        "| `max_calls`, commands of a visit | 1,000 | `pawl_graph_max_calls`",
        "| `max_tasks`, tasks of a superstep | 100,000 | `pawl_graph_max_tasks` |", "| `DEPTH_MAX`, levels of a value | 128 |",
        "| `TEXT_BYTES_MAX`, of one JSON text, one entry | 1 GiB |", "| `NAME_BYTES_MAX`, of a node, channel or effect | 64 |",
        "| `RUN_BYTES_MAX`, of a run's id | 128 |", "| `PATH_BYTES_MAX`, of a task in subgraphs | 1,024 |", "| `RACES_MAX`, decided in one pass | 16 |",
    };
    char *text = document("DESIGN.md");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(text, rows[i]) == NULL)
            CHECK_FAIL("docs/DESIGN.md has no row %s", rows[i]);
    CHECK(DEPTH_MAX == 128 && TEXT_BYTES_MAX == 1u << 30 && NAME_BYTES_MAX == 64 && RUN_BYTES_MAX == 128 && PATH_BYTES_MAX == 1024 && RACES_MAX == 16);
    free(text);
}

static pawl_code calls_many(pawl_step *s, void *arg)
{
    pawl_code rc = PAWL_OK;

    for (long i = 0; i < strtol(arg, NULL, 10); i++)
        rc = pawl_call(s, "llm", NULL, NULL);
    return rc;
}

static pawl_code sends_many(pawl_step *s, void *arg)
{
    for (long i = 0; i < strtol(arg, NULL, 10); i++)
        pawl_send(s, "w", NULL);
    return pawl_goto(s, PAWL_END);
}

/* A run under limits that nobody set. */
static void by_default(pawl_node_fn *fn, const char *n, const char *says)
{
    union { const char *in; void *out; } arg = { n };
    const pawl_run_info info = { .id = "run-1", .life = 1 };
    pawl_graph *g = pawl_graph_new("plain", 1);
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { 0 };
    pawl_event ev = { .kind = PAWL_EV_START };
    pawl_machine *m;
    pawl_state *st;

    pawl_graph_channel_with(g, &xy[3]);
    pawl_graph_node(g, "a", fn, arg.out);
    pawl_graph_node(g, "w", script_node, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_edge(g, "w", PAWL_END);
    pawl_graph_goto(g, "a", "a", "w", PAWL_END, NULL);
    m = script_compile(g);
    CHECK_INT(pawl_state_new(m, &info, PAWL_STATE_NO_JOURNAL, NULL, &st, &err), PAWL_OK);
    do {
        if (pawl_feed(m, st, &ev, s, &err) < 0 || pawl_apply(st, pawl_step_entry(s), &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        ev.kind = PAWL_EV_TICK;
    } while (pawl_state_next(st) == PAWL_OK);
    CHECK_STR(pawl_value_string(pawl_value_get(pawl_state_reason(st), "text")), says);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}

static pawl_code loops_so_often(pawl_step *s, void *arg)
{
    pawl_set_int(s, "n", 1);
    return pawl_goto(s, pawl_get_int(s, "n") + 1 < strtol(arg, NULL, 10) ? "a" : PAWL_END);
}

PAWL_TEST(test_X2_limits_that_nobody_set_are_those_of_the_document)
{
    by_default(loops_so_often, "1000", NULL);
    by_default(loops_so_often, "1001", "plain: max_steps 1000 is reached, and \"a\" is next");
    by_default(calls_many, "1000", NULL);
    by_default(calls_many, "1001", "node \"a\": more than 1000 commands in one visit (max_calls)");
    by_default(sends_many, "100000", NULL);
    by_default(sends_many, "100001", "plain: a superstep of 100001 tasks is over max_tasks 100000");
}
