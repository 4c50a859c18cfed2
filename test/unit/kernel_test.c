/* kernel_test.c - the bytes of a run, its names, its clock and its numbers (K2); what a node reads, builds and writes;
 * limits that are reached (X2). */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names that are stored -------------------------------------------------------------------- */

#define NAMES(fn, type, first, last, expected)                                                               \
    do {                                                                                                     \
        char all[512] = "";                                                                                  \
        for (int i = (int)(first) - 1; i <= (int)(last) + 1; i++)                                            \
            snprintf(all + strlen(all), sizeof all - strlen(all), "%d %s\n", i, fn((type)i));                \
        CHECK_STR(all, expected);                                                                            \
    } while (0)

PAWL_TEST(test_K5_the_stored_names_are_what_they_always_were)
{
    NAMES(pawl_event_kind_name, pawl_event_kind, PAWL_EV_START, PAWL_EV_REOPEN,
          "0 unnamed\n1 start\n2 input\n3 tick\n4 receipt\n5 timer\n6 signal\n7 answer\n8 update\n9 cancel\n10 adopt\n11 reopen\n12 unnamed\n");
    NAMES(pawl_status_name, pawl_status, PAWL_STATUS_SUBMITTED, PAWL_STATUS_REJECTED,
          "-1 unnamed\n0 submitted\n1 working\n2 input-required\n3 completed\n4 failed\n5 canceled\n6 rejected\n7 unnamed\n");
    NAMES(pawl_outcome_name, pawl_outcome, PAWL_OUTCOME_DONE, PAWL_OUTCOME_UNKNOWN,
          "-1 unnamed\n0 done\n1 error\n2 timeout\n3 canceled\n4 unknown\n5 unnamed\n");
    NAMES(pawl_class_name, pawl_class, PAWL_CLASS_AT_LEAST_ONCE, PAWL_CLASS_ONCE,
          "-1 unnamed\n0 at-least-once\n1 pure\n2 idempotent\n3 compensable\n4 once\n5 unnamed\n");
    NAMES(pawl_wait_kind_name, pawl_wait_kind, PAWL_WAIT_APPROVAL, PAWL_WAIT_SIGNAL,
          "0 unnamed\n1 approval\n2 question\n3 input\n4 signal\n5 unnamed\n");
    NAMES(pawl_rule_name, pawl_rule, PAWL_RULE_LAST, PAWL_RULE_CUSTOM,
          "0 unnamed\n1 last\n2 single\n3 append\n4 sum\n5 min\n6 max\n7 union\n8 merge\n9 topic\n10 ephemeral\n11 barrier\n12 custom\n"
          "13 unnamed\n");
}

PAWL_TEST(test_K5_terminal_statuses_are_four)
{
    char all[8] = "";

    for (int i = PAWL_STATUS_SUBMITTED; i <= PAWL_STATUS_REJECTED; i++)
        all[i] = pawl_status_terminal((pawl_status)i) ? 'T' : '.';
    CHECK_STR(all, "...TTTT");
}

/* ---- K2: bytes ------------------------------------------------------------------------------------ */

static const pawl_channel xy[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { 0 } };

PAWL_TEST(test_K2_K5_the_bytes_of_a_run_are_these)
{
    const part parts[] = { { "draft", NULL, "call llm {\"about\":\"sky\"} -> x | n=1" }, { "check", "draft", "ask \"good?\" -> x" }, { 0 } };
    world w;

    world_begin(&w, script_machine("bytes", 1, xy, parts), "{\"n\":41}");
    world_receipt(&w, "draft", "{\"text\":\"blue\",\"cost\":1.50}");
    world_answer(&w, NULL, "true");
    CHECK_STR(journal_of(&w),
              "{\"at\":1000,\"channels\":{\"n\":{\"first\":0,\"rule\":\"sum\"},\"x\":{\"rule\":\"last\"}},\"format\":1,\"id\":\"run-1\",\"li"
              "fe\":\"0000000000000001\",\"machine\":{\"hash\":\"16317538229ce1fa4e4e7092bc39a5a51950cb3f74bf5f7cf10dc00da3"
              "42a613\",\"name\":\"bytes\",\"version\":1},\"seed\":\"0000000000000007\"}\n"
              "ffa9b67161dd4a669f0e49468516db7874dc19b035e630115fd947fe1311c22a [1,1000,\"start\",\"working\",1] [[\"sta"
              "rt\",{\"n\":41}],[\"close\",[\"draft\"]],[\"call\",\"1.draft.1.0\",{\"args\":{\"about\":\"sky\"},\"effect\":\"llm\"}]]\n"
              "f1501478d2753ea463ea8b796e755d90116a4bad52be1a7e8ac9efd06b17d905 [2,1001,\"receipt\",\"input-required\","
              "1] [[\"receipt\",\"1.draft.1.0\",1001,\"done\",{\"cost\":1.5,\"text\":\"blue\"}],[\"leave\",\"draft\",1,[[\"x\",null,\""
              "merge\",[[\"\",\"event\",\"0\"]]],[\"n\",1]]],[\"close\",[\"check\"]],[\"ask\",\"2.check.1.0\",1001,{\"kind\":\"question"
              "\",\"prompt\":\"good?\",\"slot\":\"check\"}]]\n"
              "dfd4ea994a405a5cf9d93284d5899b5dd969a96adc2c6690ae288912fd54f3b4 [3,1002,\"answer\",\"completed\",1] [[\""
              "answer\",\"2.check.1.0\",1002,true],[\"leave\",\"check\",1,[[\"x\",true]]],[\"close\",[]]]\n");
    world_end(&w);
}

PAWL_TEST(test_K2_what_comes_in_is_kept_in_canonical_form)
{
    const part parts[] = { { "wait", NULL, "signal go" }, { 0 } };
    world w;

    world_begin(&w, script_machine("canon", 1, xy, parts),
                " { \"x\" : { \"b\" : [ 1e2 , 1.0 , -0.0, 0.1e-6, 18446744073709551615, -9223372036854775808 ] ,\n\"a\":\"\\u00e4\\/\\u0001\\n\\u2028\" } } ");
    CHECK_STR(world_get(&w, "x"), "{\"a\":\"\xc3\xa4/\\u0001\\n\xe2\x80\xa8\",\"b\":[100.0,1.0,0.0,1e-7,18446744073709551615,-9223372036854775808]}");
    CHECK(strstr(journal_of(&w), world_get(&w, "x")) != NULL);
    world_signal(&w, "go", NULL);
    world_end(&w);
}

PAWL_TEST(test_K2_what_is_no_strict_JSON_is_refused)
{
    static const char *const bad[] = { "{\"x\":NaN}", "{\"x\":1,\"x\":2}", "{\"x\":\"\xff\"}", "{\"x\":1e999}", "{\"x\":01}", "{\"x\":1,}",
                                       "{\"x\":'a'}", "{\"x\":\"\\ud800\"}", "{\"x\":1} 2", "{\"x\":Infinity}", "", "{\"a\\u0000\":1}" };
    const part parts[] = { { "wait", NULL, "signal go" }, { 0 } };
    world w;

    world_begin(&w, script_machine("strict", 1, xy, parts), NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_INT(world_update(&w, NULL, bad[i]), PAWL_INVALID);
        CHECK(strstr(w.err.text, ": the event's value") != NULL);
    }
    world_signal(&w, "go", NULL);
    world_end(&w);
}

PAWL_TEST(test_K2_a_value_with_a_size_needs_no_end)
{
    const part parts[] = { { "wait", NULL, "signal go -> x" }, { 0 } };
    pawl_event ev = { .kind = PAWL_EV_SIGNAL, .name = "go", .value = "[1,2]garbage", .value_size = 5 };
    world w;

    world_begin(&w, script_machine("sized", 1, xy, parts), NULL);
    CHECK(world_feed(&w, &ev) >= 0);
    world_go(&w);
    CHECK_STR(world_get(&w, "x"), "[1,2]");
    world_end(&w);
}

/* ---- K2: time ------------------------------------------------------------------------------------------ */

static pawl_code clock_node(pawl_step *s, void *arg)
{
    const pawl_value *v;
    int64_t before = pawl_now(s);
    pawl_code rc = pawl_call(s, "llm", NULL, &v);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "x", pawl_pack(s, "[i,i,u]", before, pawl_now(s), (uint64_t)pawl_visit(s)));
    return PAWL_OK;
}

PAWL_TEST(test_K2_the_clock_stands_still_for_a_visit)
{
    pawl_graph *g = pawl_graph_new("clock", 1);
    world w;

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_node(g, "a", clock_node, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    world_begin(&w, script_compile(g), NULL);
    w.now = 5000;
    world_receipt(&w, "a", "1");
    CHECK_STR(world_get(&w, "x"), "[1000,1000,1]");
    CHECK_INT(pawl_state_time_ms(w.st), 5000);
    world_end(&w);
}

static void times_go_on(world *w)
{
    pawl_err err = { 0 };
    pawl_entry *e;
    const char *line;
    int64_t last = 0;

    for (size_t i = 1; (line = line_of(w, i)) != NULL; i++) {
        CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, w->look, &e, &err), PAWL_OK);
        if (pawl_entry_is_record(e))
            continue;
        if (pawl_entry_time_ms(e) < last)
            CHECK_FAIL("line %zu: %lld after %lld", i, (long long)pawl_entry_time_ms(e), (long long)last);
        last = pawl_entry_time_ms(e);
    }
}

PAWL_TEST(test_K2_times_in_a_journal_never_go_back)
{
    const part parts[] = { { "a", NULL, "call llm 1" }, { "b", NULL, "call llm 2" }, { "c", "a b", "signal go" }, { "d", "c", "sleep 5" }, { 0 } };
    world w;

    world_begin(&w, script_machine("back", 1, xy, parts), NULL);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.b.1.0", .time_ms = 9000 }), PAWL_PENDING);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .time_ms = 4 }), PAWL_OK);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 5 }), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_time_ms(w.st), 9000);              /* the closing entry has the latest of its records */
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = "go", .time_ms = -77 }), PAWL_PENDING);
    CHECK_INT(pawl_state_time_ms(w.st), 9000);
    world_timer(&w, "d");
    CHECK_INT(pawl_state_time_ms(w.st), 9005);
    times_go_on(&w);
    world_end(&w);
}

/* ---- K2: numbers ------------------------------------------------------------------------------------------ */

static pawl_code dice_node(pawl_step *s, void *arg)
{
    uint64_t first = pawl_random(s), second = pawl_random(s);
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "[u,u]", first, second), NULL);

    (void)arg;
    if (rc == PAWL_EFFECT && pawl_visit(s) < 2)
        return pawl_fail(s, PAWL_TRANSIENT, "again");
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "list", pawl_pack(s, "[u,u,u]", first, second, pawl_random(s)));
    return PAWL_OK;
}

static pawl_machine *dice_machine(void)
{
    pawl_graph *g = pawl_graph_new("dice", 1);

    pawl_graph_channel(g, "list", PAWL_RULE_APPEND);
    pawl_graph_node(g, "a", dice_node, NULL);
    pawl_graph_node(g, "b", dice_node, NULL);
    pawl_graph_node(g, "c", dice_node, NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "a", "c");
    pawl_graph_edge(g, "b", PAWL_END);
    pawl_graph_edge(g, "c", PAWL_END);
    pawl_graph_retry(g, NULL, &(pawl_retry){ .max_attempts = 2 });
    return script_compile(g);
}

static char *dice_thrown(bool crash)
{
    char *out;
    world w;

    world_begin(&w, dice_machine(), NULL);
    world_receipt(&w, "b", "1");
    if (crash)
        world_crash(&w);
    world_receipt(&w, "a", "1");
    world_receipt(&w, "c", "1");
    CHECK_STR(world_status(&w), "completed");
    out = strdup(world_get(&w, "list"));
    world_end(&w);
    return out;
}

PAWL_TEST(test_K2_random_numbers_are_the_same_on_every_pass_and_every_day)
{
    char *one = dice_thrown(false), *two = dice_thrown(true);

    CHECK_STR(one, two);
    CHECK_STR(one, "[[6425225881985277898,12085685004233170770,9987209456557236456],"
                   "[1994240175079369683,14066608771170529033,11528865813338006027],"
                   "[15546278781630205639,3418122358099284085,1939651478382276227]]");
    free(one);
    free(two);
}

/* ---- what a node reads and writes ---------------------------------------------------------------------------- */

static pawl_code reader_node(pawl_step *s, void *arg)
{
    const pawl_value *whole;

    (void)arg;
    pawl_set_int(s, "int", pawl_get_int(s, "int") + 1);
    pawl_set_bool(s, "bool", !pawl_get_bool(s, "bool"));
    pawl_set_real(s, "real", pawl_get_real(s, "real") / 2);
    pawl_set_string(s, "string", pawl_format(s, "%s, and %d", pawl_get_string(s, "string"), 7));
    pawl_set_json(s, "json", "[{\"of\" : null}]");
    whole = pawl_pack(s, "{s:j,s:s,s:v}", "was", pawl_get_json(s, "json"), "node", pawl_node_name(s), "self", pawl_get(s, "int"));
    pawl_emit(s, "seen", whole);
    pawl_emit(s, "text", pawl_pack(s, "s", pawl_text(s, whole)));
    /* of another type, or never set */
    if (pawl_get_int(s, "string") != 0 || pawl_get_bool(s, "int") || pawl_get_real(s, "json") > 0 || pawl_get_string(s, "int") != NULL ||
        pawl_get_json(s, "unset") != NULL || pawl_get(s, "unset") != NULL || pawl_args(s) != NULL || pawl_text(s, NULL) != NULL)
        return pawl_fail(s, PAWL_INVALID, "read what is not there");
    return PAWL_OK;
}

PAWL_TEST(test_K9_getters_and_setters_of_every_type)
{
    const pawl_channel channels[] = { { .name = "int", .first = "41" }, { .name = "bool", .first = "true" }, { .name = "real", .first = "3" },
                                      { .name = "string", .first = "\"six\"" }, { .name = "json", .first = "{\"a\":[]}" },
                                      { .name = "unset" }, { 0 } };
    pawl_graph *g = pawl_graph_new("getters", 1);
    const char *name, *node;
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", reader_node, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    world_begin(&w, script_compile(g), NULL);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_all(&w), "{\"bool\":false,\"int\":42,\"json\":[{\"of\":null}],\"real\":1.5,\"string\":\"six, and 7\"}");
    const pawl_value *v = pawl_entry_emission(pawl_step_entry(w.s), 0, &name, &node);
    CHECK_STR(name, "seen");
    CHECK_STR(node, "a");
    CHECK_STR(pawl_text(w.look, v), "{\"node\":\"a\",\"self\":41,\"was\":{\"a\":[]}}");
    v = pawl_entry_emission(pawl_step_entry(w.s), 1, &name, NULL);
    CHECK_STR(pawl_value_string(v), "{\"node\":\"a\",\"self\":41,\"was\":{\"a\":[]}}");
    CHECK(pawl_entry_emission(pawl_step_entry(w.s), 2, NULL, NULL) == NULL);
    world_end(&w);
}

typedef enum slip { SLIP_GET, SLIP_SET, SLIP_NULL, SLIP_JSON, SLIP_PACK, SLIP_EMIT, SLIP_CALL, SLIP_REF, SLIP_ASK, SLIP_SPAWN, SLIP_FLOW } slip;

static pawl_code slip_node(pawl_step *s, void *arg)
{
    switch ((slip)*(int *)arg) {
    case SLIP_GET:   pawl_get(s, "nowhere"); break;
    case SLIP_SET:   pawl_set_int(s, "nowhere", 1); break;
    case SLIP_NULL:  pawl_set(s, "x", NULL); break;
    case SLIP_JSON:  pawl_set_json(s, "x", "{"); break;
    case SLIP_PACK:  pawl_set(s, "x", pawl_pack(s, "{s}", "a")); break;
    case SLIP_EMIT:  pawl_emit(s, "e", NULL); break;
    case SLIP_CALL:  return pawl_call(s, "no name", NULL, NULL);
    case SLIP_REF:   return pawl_call(s, "llm", pawl_ref(s, "nowhere"), NULL);
    case SLIP_ASK:   return pawl_ask_with(s, &(pawl_question){ .kind = PAWL_WAIT_APPROVAL, .otherwise = pawl_json(s, "true") }, NULL);
    case SLIP_SPAWN: return pawl_spawn(s, NULL, NULL, NULL);
    case SLIP_FLOW:  pawl_flow_call(s, "t", "llm", NULL); break;
    }
    return PAWL_OK;
}

PAWL_TEST(test_X1_a_slip_of_a_node_fails_the_run_and_says_which)
{
    static const char *const says[] = {
        "node \\\"a\\\": there is no channel \\\"nowhere\\\"", "node \\\"a\\\": there is no channel \\\"nowhere\\\"",
        "node \\\"a\\\": channel \\\"x\\\" was given no value", "a JSON text: byte 1: ", "format {s}: byte 2: ':' is missing",
        "node \\\"a\\\": an emission needs a name and a value", "node \\\"a\\\": \\\"no name\\\" is no name of an effect",
        "node \\\"a\\\": there is no channel \\\"nowhere\\\" to refer to", "node \\\"a\\\": an approval's only default is no",
        "node \\\"a\\\": \\\"\\\" is no name of a machine", "node \\\"a\\\": pawl_flow_call is for reducers; a node has pawl_call",
    };

    for (int i = 0; i <= SLIP_FLOW; i++) {
        pawl_graph *g = pawl_graph_new("slip", 1);
        world w;

        pawl_graph_channel(g, "x", PAWL_RULE_LAST);
        pawl_graph_node(g, "a", slip_node, &i);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        world_begin(&w, script_compile(g), NULL);
        CHECK_STR(world_status(&w), "failed");
        if (strstr(world_reason(&w), says[i]) == NULL)
            CHECK_STR(world_reason(&w), says[i]);
        world_end(&w);
    }
}

PAWL_TEST(test_X1_outside_of_a_node_nothing_is_read_and_nothing_breaks)
{
    pawl_step *s = pawl_step_new(NULL);
    const pawl_value *v = NULL;
    uint32_t winner;

    CHECK(pawl_get(s, "x") == NULL && pawl_args(s) == NULL && pawl_get_int(s, "x") == 0 && !pawl_get_bool(s, "x"));
    CHECK(pawl_get_string(s, "x") == NULL && pawl_get_json(s, "x") == NULL && pawl_ref(s, "x") == NULL && pawl_random(s) == 0);
    CHECK_STR(pawl_node_name(s), "");
    CHECK_INT(pawl_now(s), 0);
    CHECK_INT(pawl_visit(s), 0);
    pawl_set_int(s, "x", 1);
    pawl_emit(s, "x", v);
    pawl_extend(s, "x", v);
    pawl_overwrite(s, "x", v);
    CHECK_INT(pawl_call(s, "llm", NULL, &v), PAWL_INVALID);
    CHECK_INT(pawl_ask(s, NULL, &v), PAWL_INVALID);
    CHECK_INT(pawl_sleep(s, 1), PAWL_INVALID);
    CHECK_INT(pawl_spawn(s, "m", NULL, &v), PAWL_INVALID);
    CHECK_INT(pawl_await_signal(s, "go", &v), PAWL_INVALID);
    CHECK_INT(pawl_select(s, &winner), PAWL_INVALID);
    CHECK_INT(pawl_fail(s, PAWL_TRANSIENT, "x"), PAWL_TRANSIENT);
    CHECK_INT(pawl_read(s, NULL, 0, NULL), PAWL_INVALID);
    pawl_step_free(s);
    pawl_step_free(NULL);
    pawl_state_free(NULL);
    pawl_machine_free(NULL);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_X1_a_run_needs_an_id_a_life_and_a_machine)
{
    const part parts[] = { { "a", NULL, "n=1" }, { 0 } };
    static const char *const bad[] = { "", ".a", "-a", "_a", "a b", "a/b", "a~b", "\xc3\xa4" };
    pawl_machine *m = script_machine("ids", 1, xy, parts);
    pawl_run_info info = { .life = 1 };
    pawl_err err = { 0 };
    char long_id[140];
    pawl_state *st;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        info.id = bad[i];
        err = (pawl_err){ 0 };
        CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_INVALID);
        CHECK(st == NULL && strstr(err.text, "is no id of a run") != NULL);
    }
    CHECK_INT(pawl_state_new(m, NULL, 0, NULL, &st, NULL), PAWL_INVALID);
    CHECK_INT(pawl_state_new(NULL, &info, 0, NULL, &st, NULL), PAWL_INVALID);
    info = (pawl_run_info){ .id = "a" };
    err = (pawl_err){ 0 };
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_INVALID);
    CHECK_STR(err.text, "a: a life is drawn for each start; 0 is none");
    memset(long_id, 'a', sizeof long_id);
    long_id[129] = '\0';
    info = (pawl_run_info){ .id = long_id, .life = 1 };
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, NULL), PAWL_INVALID);
    long_id[128] = '\0';
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, NULL), PAWL_OK);
    CHECK_STR(pawl_state_run(st), long_id);
    pawl_state_free(st);
    pawl_machine_free(m);
}

static pawl_code many_calls(pawl_step *s, void *arg)
{
    pawl_code rc = PAWL_OK;

    for (int i = 0; i < *(int *)arg; i++)
        rc = pawl_call(s, "llm", NULL, NULL);
    return rc;
}

PAWL_TEST(test_X2_max_calls_names_the_node)
{
    for (int n = 3; n <= 4; n++) {
        pawl_graph *g = pawl_graph_new("calls", 1);
        world w;

        pawl_graph_channel(g, "x", PAWL_RULE_LAST);
        pawl_graph_node(g, "a", many_calls, &n);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        pawl_graph_max_calls(g, 3);
        world_begin(&w, script_compile(g), NULL);
        CHECK_STR(world_reason(&w), n == 3 ? "" : "{\"code\":\"limit\",\"text\":\"node \\\"a\\\": more than 3 commands in one visit (max_calls)\"}");
        CHECK_INT(pawl_state_commands(w.st), n == 3 ? 3 : 0);
        world_drop(&w);
    }
}

PAWL_TEST(test_X2_a_value_has_128_levels_at_most)
{
    const part parts[] = { { "wait", NULL, "signal go" }, { 0 } };
    char deep[300] = "{\"x\":";
    world w;

    world_begin(&w, script_machine("deep", 1, xy, parts), NULL);
    for (int levels = 127; levels <= 128; levels++) {
        size_t n = 5;

        for (int i = 0; i < levels; i++)
            deep[n++] = '[';
        for (int i = 0; i < levels; i++)
            deep[n++] = ']';
        deep[n++] = '}';
        deep[n] = '\0';
        CHECK_INT(world_update(&w, NULL, deep), levels == 127 ? PAWL_INTERRUPTED : PAWL_LIMIT);
    }
    CHECK(strstr(w.err.text, "128") != NULL);
    world_signal(&w, "go", NULL);
    world_end(&w);
}

static pawl_code wrap_node(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_overwrite(s, "list", pawl_pack(s, "[]"));
    if (pawl_get(s, "list") != NULL)
        pawl_set(s, "list", pawl_get(s, "list"));
    return PAWL_OK;
}

PAWL_TEST(test_X2_K8_no_value_grows_too_deep_to_be_read_back)
{
    pawl_graph *g = pawl_graph_new("wrap", 1);
    world w;

    pawl_graph_channel(g, "list", PAWL_RULE_APPEND);
    pawl_graph_node(g, "a", wrap_node, NULL);
    pawl_graph_chain(g, PAWL_START, "a", "a", NULL);
    world_begin(&w, script_compile(g), NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"node \\\"a\\\": a value of more than 128 levels (DEPTH_MAX)\"}");
    CHECK_INT(pawl_state_steps(w.st), 129);
    world_snapshot(&w);
    world_crash(&w);
    world_end(&w);
}

PAWL_TEST(test_X2_races_have_a_limit_that_names_the_node)
{
    for (int races = 16; races <= 17; races++) {
        char script[1024] = "", id[32];
        part parts[] = { { "a", NULL, script }, { 0 } };
        world w;

        for (int i = 0; i < 18; i++)
            snprintf(script + strlen(script), sizeof script - strlen(script), "%scall llm %d | ", i < 17 ? "also " : "", i);
        for (int i = 0; i < races; i++)
            snprintf(script + strlen(script), sizeof script - strlen(script), "%sselect -> x", i > 0 ? " | " : "");
        world_begin(&w, script_machine("races", 1, xy, parts), NULL);
        for (int i = 17; i >= 0; i--) {
            snprintf(id, sizeof id, "1.a.1.%d", i);
            CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id }) >= 0);
        }
        world_go(&w);
        CHECK_STR(world_reason(&w), races == 16 ? "" : "{\"code\":\"limit\",\"text\":\"node \\\"a\\\": more than 16 races decided in one pass (RACES_MAX)\"}");
        CHECK_STR(world_get(&w, "x"), races == 16 ? "15" : "");
        world_end(&w);
    }
}

PAWL_TEST(test_a_run_without_a_journal_goes_the_same_way)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> x | n=1" }, { "b", "a", "n=2" }, { 0 } };
    const pawl_run_info info = { .id = "r", .life = 1 };
    pawl_machine *m = script_machine("bare", 1, xy, parts);
    pawl_step *s = pawl_step_new(NULL), *look = pawl_step_new(NULL);
    pawl_event ev[] = { { .kind = PAWL_EV_START }, { .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "5" }, { .kind = PAWL_EV_TICK } };
    pawl_bytes bytes;
    pawl_state *st, *fork;
    pawl_err err = { 0 };

    CHECK_INT(pawl_state_new(m, &info, PAWL_STATE_NO_JOURNAL, NULL, &st, &err), PAWL_OK);
    for (size_t i = 0; i < 3; i++) {
        CHECK(pawl_feed(m, st, &ev[i], s, &err) >= 0);
        CHECK_INT(pawl_step_bytes(s).size, 0);
        CHECK_STR(pawl_entry_hash(pawl_step_entry(s)), "");
        CHECK_INT(pawl_apply(st, pawl_step_entry(s), &err), PAWL_OK);
    }
    CHECK_STR(pawl_state_json(st, look, &err), "{\"n\":3,\"x\":5}");
    CHECK_INT(pawl_state_status(st), PAWL_STATUS_COMPLETED);
    CHECK_INT(pawl_state_base(st).size, 0);
    CHECK_INT(pawl_state_snapshot(st, look, &bytes, &err), PAWL_INVALID);
    CHECK_STR(err.text, "r: it keeps no journal, so there is no a snapshot");
    CHECK_INT(pawl_state_fork(st, &info, look, &fork, NULL), PAWL_INVALID);
    CHECK_INT(pawl_state_prune(st, look, &bytes, NULL), PAWL_INVALID);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_step_free(look);
    pawl_machine_free(m);
}

/* ---- E6: a receipt comes more than once ------------------------------------------------------------- */

PAWL_TEST(test_E6_a_receipt_that_is_repeated_changes_nothing_and_is_counted)
{
    static const part parts[] = { { "a", NULL, "call llm 1 -> x" }, { "b", NULL, "call llm 2 -> x" }, { 0 } };
    static const pawl_channel list_of[] = { { .name = "x", .rule = PAWL_RULE_APPEND }, { 0 } };
    static const char *const again[] = { "\"one\"", "\"another\"" };
    world w;

    world_begin(&w, script_machine("twice", 1, list_of, parts), NULL);
    w.unchecked = true;     /* the checks feed each event more than once, which would be counted */
    world_receipt(&w, "a", "\"one\"");
    for (size_t i = 0; i < 4; i++) {    /* the same bytes, and others; also when the run is over */
        uint64_t before = pawl_state_ignored(w.st);

        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = again[i % 2] }), PAWL_IGNORED);
        CHECK_INT(pawl_state_ignored(w.st), before + 1);
        if (i == 1)
            world_receipt(&w, "b", "\"two\"");
    }
    CHECK_STR(world_get(&w, "x"), "[\"one\",\"two\"]");
    world_end(&w);
}

PAWL_TEST(test_E6_a_receipt_of_what_was_never_asked_is_refused)
{
    static const part parts[] = { { "a", NULL, "call llm 1 -> x" }, { 0 } };
    static const pawl_channel list_of[] = { { .name = "x" }, { 0 } };
    static const char *const ids[] = { "1.a.1.1", "2.a.1.0", "1.b.1.0", "1.a.2.0", "other~0000000000000001/1.a.1.0", "nonsense" };
    world w;

    world_begin(&w, script_machine("once", 1, list_of, parts), NULL);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = ids[i], .value = "1" }), PAWL_INVALID);
    world_receipt(&w, "a", "7");
    CHECK_STR(world_get(&w, "x"), "7");
    world_end(&w);
}
