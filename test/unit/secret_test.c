/* secret_test.c - K4: a secret is a name wherever it can be seen; what is ephemeral is gone after its superstep. */
#include "lib/machines.h"

#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "token", .secret = "env:TOKEN" }, { .name = "key", .secret = "file:/run/key" },
                                         { .name = "pin", .secret = "given:PIN" }, { .name = "x" }, { 0 } };

/* ---- where it stands --------------------------------------------------------------------------- */

PAWL_TEST(test_K4_the_base_and_the_state_show_a_secret_by_its_name)
{
    const part parts[] = { { "a", NULL, "get token -> x" }, { 0 } };
    world w;

    world_begin(&w, script_machine("names", 1, channels, parts), NULL);
    CHECK(strstr(line_of(&w, 0), "\"token\":{\"rule\":\"last\",\"secret\":\"env:TOKEN\"}") != NULL);
    CHECK_STR(world_all(&w), "{\"key\":\"file:/run/key\",\"pin\":\"given:PIN\",\"token\":\"env:TOKEN\",\"x\":null}");
    CHECK(pawl_state_get(w.st, "token") == NULL);
    CHECK_INT(times_in(journal_of(&w), "TOKEN"), 1);        /* in the base, once */
    CHECK_INT(times_in(world_fold(w.st, w.look), "TOKEN"), 0);
    world_end(&w);
}

PAWL_TEST(test_K4_a_secret_is_written_by_no_road)
{
    static const char *const roads[] = { "token=\"abc\"", "token:=\"abc\"", "token+=[1]", "call llm 1 -> token", "interrupt 1 -> token" };
    const part calm[] = { { "a", NULL, "ask \"?\" -> x" }, { "b", "a", "interrupt \"?\"" }, { "c", "b", "x=1" }, { 0 } };
    const char *const says = "channel \"token\": is a secret, and is never written";
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "1", .update = "{\"token\":\"abc\"}" };
    pawl_err err = { 0 };
    pawl_state *st;
    world w;

    for (size_t i = 0; i < sizeof roads / sizeof *roads; i++) {
        const part parts[] = { { "a", NULL, roads[i] }, { 0 } };

        world_begin(&w, script_machine("roads", 1, channels, parts), NULL);
        if (i == 3)
            world_receipt(&w, "a", "\"abc\"");
        CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"node \\\"a\\\": channel \\\"token\\\" is a secret, and is never written\"}");
        world_end(&w);
    }
    world_begin(&w, script_machine("calm", 1, channels, calm), NULL);
    CHECK_INT(world_update(&w, NULL, "{\"token\":\"abc\"}"), PAWL_INVALID);
    CHECK(strstr(w.err.text, says) != NULL);
    for (int i = 0; i < 2; i++) {           /* in a visit, and between two supersteps */
        CHECK_INT(world_feed(&w, &ev), PAWL_INVALID);
        CHECK(strstr(w.err.text, says) != NULL);
        world_answer(&w, NULL, "1");
    }
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(times_in(journal_of(&w), "abc"), 0);
    world_back(&w, 0);
    CHECK_INT(pawl_feed(w.m, w.st, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"token\":\"abc\"}" }, w.s, &err), PAWL_INVALID);
    CHECK(strstr(err.text, says) != NULL);
    CHECK_INT(pawl_state_new(w.m, &(pawl_run_info){ .id = "again", .life = 2 }, 0, NULL, &st, &err), PAWL_OK);
    pawl_state_free(st);
    world_drop(&w);
}

/* ---- what goes out --------------------------------------------------------------------------------- */

static pawl_code refer(pawl_step *s, void *arg)
{
    const pawl_value *inner = pawl_pack(s, "{s:v}", "both", pawl_pack(s, "[v,v]", pawl_ref(s, "token"), pawl_ref(s, "key")));
    const pawl_value *args = pawl_pack(s, "{s:v,s:v,s:{s:v},s:s}", "x", pawl_ref(s, "x"), "both", pawl_value_get(inner, "both"), "a/b~c", "pin",
                                       pawl_ref(s, "pin"), "plain", "text");

    (void)arg;
    return pawl_call(s, "http", args, NULL);
}

static pawl_machine *machine_refer(void)
{
    pawl_graph *g = pawl_graph_new("refer", 1);

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_node(g, "a", refer, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    return script_compile(g);
}

PAWL_TEST(test_K4_a_command_holds_the_reference_and_says_what_is_to_be_put_in)
{
    const pawl_value *secrets;
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    world_begin(&w, machine_refer(), "{\"x\":[1,2]}");
    world_crash(&w);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"a/b~c\":{\"pin\":null},\"both\":[null,null],\"plain\":\"text\",\"x\":[1,2]}");
    CHECK_STR(pawl_text(w.s, secrets), "[[\"/a~1b~0c/pin\",\"given:PIN\"],[\"/both/0\",\"env:TOKEN\"],[\"/both/1\",\"file:/run/key\"]]");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);      /* who does not ask gets null there */
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"a/b~c\":{\"pin\":null},\"both\":[null,null],\"plain\":\"text\",\"x\":[1,2]}");
    CHECK(strstr(line_of(&w, 1), "[\"/both/0\",\"secret\",\"env:TOKEN\"]") != NULL);
    world_receipt(&w, "a", "1");
    world_end(&w);
}

PAWL_TEST(test_K4_a_whole_argument_may_be_a_secret)
{
    const part parts[] = { { "a", NULL, "ref http token -> x" }, { 0 } };
    const pawl_value *secrets;
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    world_begin(&w, script_machine("whole", 1, channels, parts), NULL);
    world_expect(&w, "1 start working | start {}; close -> a; call 1.a.1.0 {\"args\":{\"it\":null},\"effect\":\"http\",\"refs\":[[\"/it\",\"secret\",\"env:TOKEN\"]]}\n");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, secrets), "[[\"/it\",\"env:TOKEN\"]]");
    world_receipt(&w, "a", "\"done\"");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_K4_a_work_node_that_takes_all_channels_takes_no_secret)
{
    pawl_graph *g = pawl_graph_new("work", 1);
    const pawl_value *secrets;
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    for (const pawl_channel *c = channels; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_work(g, "a", "do");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    world_begin(&w, script_compile(g), "{\"x\":5}");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, cmd.args), "{\"args\":null,\"state\":{\"x\":5}}");
    CHECK(secrets == NULL);
    CHECK_INT(world_receipt(&w, "a", "{\"token\":\"abc\"}"), PAWL_HALTED);      /* nor does its receipt write one */
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "channel \\\"token\\\" is a secret, and is never written") != NULL);
    world_end(&w);
}

static pawl_code spend(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        pawl_flow_call(s, "t", "http", pawl_pack(s, "{s:v}", "auth", pawl_ref(s, "token")));
    return h->kind == PAWL_EV_START ? PAWL_OK : pawl_flow_complete(s);
}

PAWL_TEST(test_K4_a_reducer_refers_to_a_secret_alike)
{
    const pawl_value *secrets;
    pawl_command cmd;
    pawl_err err = { 0 };
    world w;

    world_begin(&w, pawl_flow_reducer("spend", 1, channels, 4, spend, NULL, NULL, &err), NULL);
    world_crash(&w);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, &secrets, &err), PAWL_OK);
    CHECK_STR(pawl_text(w.s, secrets), "[[\"/auth\",\"env:TOKEN\"]]");
    world_receipt(&w, "@", "1");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_K4_K10_a_fork_and_a_pruned_base_hold_the_name_only)
{
    const part parts[] = { { "a", NULL, "call llm 0 | x=1" }, { "b", "a", "ref http token -> x" }, { 0 } };
    const pawl_run_info info = { .id = "fork", .life = 2 };
    pawl_err err = { 0 };
    pawl_bytes base;
    pawl_state *fork;
    world w;

    world_begin(&w, script_machine("forks", 1, channels, parts), NULL);
    world_receipt(&w, "a", "0");
    CHECK_INT(pawl_state_prune(w.st, w.look, &base, &err), PAWL_OK);
    char *text = strndup(base.data, base.size);
    CHECK_INT(times_in(text, "TOKEN"), 2);          /* the declaration, and the open command's reference */
    free(text);
    CHECK_INT(pawl_state_fork(w.st, &info, w.look, &fork, &err), PAWL_OK);
    base = pawl_state_base(fork);
    text = strndup(base.data, base.size);
    CHECK_INT(times_in(text, "TOKEN"), 1);
    CHECK_STR(pawl_state_json(fork, w.look, &err), "{\"key\":\"file:/run/key\",\"pin\":\"given:PIN\",\"token\":\"env:TOKEN\",\"x\":1}");
    free(text);
    pawl_state_free(fork);
    world_receipt(&w, "b", "1");
    world_end(&w);
}

/* ---- what is no name of a secret ------------------------------------------------------------------------ */

PAWL_TEST(test_K4_a_secret_is_declared_by_env_file_or_given_and_by_nothing_else)
{
    static const char *const bad[] = { "hunter2", "", "env:", "http://x", "TOKEN", "env" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pawl_graph *g = pawl_graph_new("bad", 1);
        const pawl_channel c = { .name = "token", .secret = bad[i] };
        pawl_err err = { 0 };

        pawl_graph_channel_with(g, &c);
        pawl_graph_work(g, "a", "do");
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        CHECK(pawl_graph_compile(g, &err) == NULL);
        CHECK(strstr(err.text, "secret") != NULL && strstr(err.text, "hunter2") == NULL);
        err = (pawl_err){ 0 };
        CHECK(pawl_flow_reducer("bad", 1, &c, 1, spend, NULL, NULL, &err) == NULL);
        CHECK(strstr(err.text, "secret") != NULL);
    }
}

/* ---- ephemeral --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_K4_ephemeral_is_in_no_snapshot_after_its_superstep)
{
    const pawl_channel own[] = { { .name = "now", .rule = PAWL_RULE_EPHEMERAL }, { .name = "queue", .rule = PAWL_RULE_TOPIC }, { .name = "x" }, { 0 } };
    const part parts[] = { { "a", NULL, "call llm 0 | now=\"a passing thought\" | queue=\"passing\"" }, { "b", "a", "call llm 1 | get now -> x" },
                           { "c", "b", "ask \"?\" | get now -> x" }, { 0 } };
    world w;

    world_begin(&w, script_machine("pass", 1, own, parts), NULL);
    world_receipt(&w, "a", "0");
    CHECK_STR(world_all(&w), "{\"now\":\"a passing thought\",\"queue\":[\"passing\"]}");
    CHECK_INT(times_in(world_fold(w.st, w.look), "passing"), 2);        /* its superstep is open: a crash must not lose it */
    world_snapshot(&w);
    world_crash(&w);
    world_receipt(&w, "b", "1");
    CHECK_STR(world_all(&w), "{\"x\":\"a passing thought\"}");
    world_snapshot(&w);
    buf_char(&w.snapshot, '\0');
    CHECK_INT(times_in(w.snapshot.data, "passing"), 1);                 /* what b made of it */
    world_snapshot(&w);
    world_crash(&w);
    world_answer(&w, NULL, "1");
    CHECK_STR(world_all(&w), "{\"x\":null}");
    world_end(&w);
}
