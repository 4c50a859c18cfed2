/* flow_test.c - three ways to write a machine, and what each is given (F1, F2). */
#include "lib/world.h"

#include <string.h>

/* ---- F2: what a step is given ------------------------------------------------------------------------------------- */

/* Writes down what it was called with; then does what `arg`, a word for each step, says. */
static void note(pawl_step *s, const pawl_value *payload, const pawl_value *input)
{
    const pawl_value *none = pawl_pack(s, "s", "nothing");

    pawl_set(s, "log", pawl_pack(s, "[s,v,v]", pawl_node_name(s), payload != NULL ? payload : none, input != NULL ? input : none));
}

static pawl_code first(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    note(s, payload, input);
    return pawl_flow_goto(s, "second", pawl_pack(s, "{s:i}", "n", pawl_value_int(pawl_value_get(payload, "n")) + 1));
}

static pawl_code second(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    note(s, payload, input);
    return pawl_flow_await(s, NULL, pawl_pack(s, "s", "more?"), pawl_value_int(pawl_value_get(payload, "n")) > 1 ? pawl_pack(s, "s", "enough") : payload);
}

static pawl_code third(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    const pawl_value *fetched;
    pawl_code rc = pawl_call(s, "fetch", input, &fetched);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    note(s, payload, input);
    if (pawl_value_type(payload) == PAWL_TYPE_STRING)
        return pawl_flow_await(s, "last", pawl_pack(s, "s", "and?"), NULL);
    return pawl_flow_goto(s, "first", NULL);
}

static pawl_code fourth(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    note(s, payload, input);
    return pawl_flow_complete(s);
}

static pawl_machine *four_steps(bool takes_input, const char *payload, pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "log", .rule = PAWL_RULE_APPEND }, { .name = "payload", .first = payload } };
    const pawl_flow_step steps[] = { { .name = "first", .fn = first, .start = true, .takes_input = takes_input },
                                     { .name = "second", .fn = second }, { .name = "third", .fn = third, .resumes_from = "second" },
                                     { .name = "fourth", .fn = fourth, .resumes_from = "third" } };

    return pawl_flow_steps("four", 1, steps, 4, channels, payload == NULL ? 1 : 2, NULL, NULL, err);
}

PAWL_TEST(test_F2_first_call_gets_the_content_and_defaults)
{
    static const struct { bool takes; const char *payload, *log; } cases[] = {
        { true, NULL, "[[\"first\",\"nothing\",\"hello\"],[\"second\",{\"n\":1},\"nothing\"]]" },
        { false, NULL, "[[\"first\",\"nothing\",\"nothing\"],[\"second\",{\"n\":1},\"nothing\"]]" },
        { true, "{\"n\":6}", "[[\"first\",{\"n\":6},\"hello\"],[\"second\",{\"n\":7},\"nothing\"]]" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pawl_err err = {0};
        world w;

        world_begin(&w, four_steps(cases[i].takes, cases[i].payload, &err), "{\"input\":\"hello\"}");
        CHECK_STR(world_get(&w, "log"), cases[i].log);
        CHECK_STR(world_status(&w), "input-required");
        world_end(&w);
    }
}

/* Every later call gets what was stored, also when nobody is left who remembers it; an answer goes to the step that resumes. */
PAWL_TEST(test_F2_an_await_survives_restarts_and_is_routed)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, four_steps(true, NULL, &err), "{\"input\":\"hello\"}");
    for (int i = 0; i < 3; i++) {
        world_crash(&w);
        CHECK_STR(world_status(&w), "input-required");
        CHECK_INT(pawl_state_waits(w.st), 1);
        CHECK_INT(world_tick(&w), PAWL_IGNORED);        /* W2: driving it answers nothing */
        world_snapshot(&w);
    }
    CHECK_INT(world_answer(&w, "second", "\"yes\""), PAWL_PENDING);
    world_crash(&w);                                    /* in the middle of the step that was resumed */
    CHECK_INT(world_receipt(&w, "third", "1"), PAWL_INTERRUPTED);
    CHECK_STR(world_get(&w, "log"), "[[\"first\",\"nothing\",\"hello\"],[\"second\",{\"n\":1},\"nothing\"],[\"third\",{\"n\":1},\"yes\"],"
                                    "[\"first\",{\"n\":1},\"nothing\"],[\"second\",{\"n\":2},\"nothing\"]]");
    world_crash(&w);
    world_answer(&w, NULL, "\"again\"");
    CHECK_INT(world_receipt(&w, "third", "2"), PAWL_INTERRUPTED);
    world_crash(&w);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = "[\"bye\"]" }), PAWL_OK);
    CHECK_INT(world_go(&w), PAWL_HALTED);
    CHECK_STR(world_get(&w, "log"), "[[\"first\",\"nothing\",\"hello\"],[\"second\",{\"n\":1},\"nothing\"],[\"third\",{\"n\":1},\"yes\"],"
                                    "[\"first\",{\"n\":1},\"nothing\"],[\"second\",{\"n\":2},\"nothing\"],[\"third\",\"enough\",\"again\"],"
                                    "[\"fourth\",\"enough\",[\"bye\"]]]");
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

static pawl_code asks_years(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)payload, (void)input, (void)arg;
    return pawl_flow_await_with(s, &(pawl_question){ .slot = "years", .prompt = pawl_pack(s, "s", "How many years?"),
                                                     .schema = pawl_json(s, "{\"maximum\":80,\"minimum\":0,\"type\":\"integer\"}") }, NULL);
}

static pawl_code has_years(pawl_step *s, const pawl_value *payload, const pawl_value *years, void *arg)
{
    (void)payload, (void)arg;
    return pawl_flow_goto(s, PAWL_END, years);
}

static pawl_code asks_signal(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)payload, (void)input, (void)arg;
    return pawl_flow_await_with(s, &(pawl_question){ .kind = PAWL_WAIT_SIGNAL }, NULL);
}

static pawl_machine *years_of(pawl_flow_step_fn *fn, pawl_err *err)
{
    const pawl_flow_step steps[] = { { .name = "ask", .fn = fn, .start = true }, { .name = "have", .fn = has_years, .resumes_from = "ask" } };

    return pawl_flow_steps("years", 1, steps, 2, NULL, 0, NULL, NULL, err);
}

PAWL_TEST(test_W3_F2_what_an_await_with_a_schema_gets_is_checked)
{
    static const char *const wrong[] = { "\"many\"", "81", "-1", "1.5", "null" };
    pawl_err err = {0};
    world w;

    world_begin(&w, years_of(asks_years, &err), NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(world_answer(&w, "years", wrong[i]), PAWL_INVALID);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_INPUT, .value = wrong[i] }), PAWL_INVALID);
        CHECK_STR(world_status(&w), "input-required");
        world_crash(&w);
    }
    CHECK_INT(world_answer(&w, "years", "12"), PAWL_HALTED);
    CHECK_STR(world_get(&w, "payload"), "12");
    world_end(&w);
}

/* ---- F1: a reducer -------------------------------------------------------------------------------------------------- */

#define LONG "a text of more than forty-eight bytes, which is stored where it came in"

static pawl_code count_events(pawl_step *s, const pawl_input_event *h, void *arg)
{
    ++*(int *)arg;
    if (h->kind == PAWL_EV_START)
        pawl_flow_call(s, "one", "work", NULL);
    else
        pawl_flow_sleep(s, "rest", 10);
    return h->kind == PAWL_EV_TIMER ? pawl_flow_complete(s) : PAWL_OK;
}

PAWL_TEST(test_F1_a_reducer_is_called_once_for_each_event)
{
    const pawl_run_info info = { .id = "run-1", .life = 1 };
    pawl_event ev[] = { { .kind = PAWL_EV_START }, { .kind = PAWL_EV_RECEIPT, .id = "1.@.1.0" }, { .kind = PAWL_EV_TIMER, .id = "2.@.1.0", .time_ms = 10 } };
    pawl_err err = {0};
    int calls = 0;
    pawl_machine *m = pawl_flow_reducer("count", 1, NULL, 0, count_events, &calls, NULL, &err);
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *st;

    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(pawl_feed(m, st, &ev[i], s, &err), i < 2 ? PAWL_PENDING : PAWL_HALTED);
        CHECK_INT(pawl_apply(st, pawl_step_entry(s), &err), PAWL_OK);
        CHECK_INT(calls, i + 1);
    }
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}

static pawl_code keeper(pawl_step *s, const pawl_input_event *h, void *arg)
{
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "stop?"), .schema = pawl_json(s, "{\"type\":\"boolean\"}") };

    (void)arg;
    if (h->kind == PAWL_EV_START || h->kind == PAWL_EV_SIGNAL) {
        const pawl_value *now = h->kind == PAWL_EV_START ? pawl_value_get(h->value, "first") : h->value;

        pawl_set(s, "said", now);
        pawl_flow_call(s, h->tag, "llm", pawl_pack(s, "{s:v,s:v}", "all", pawl_ref(s, "said"), "now", now));
        if (h->kind == PAWL_EV_START)
            pawl_flow_ask(s, "stop", &q);
        return PAWL_OK;
    }
    if (h->kind == PAWL_EV_ANSWER)
        return pawl_value_bool(h->value) ? pawl_flow_complete(s) : pawl_flow_reject(s, "they go on");
    pawl_set(s, "said", h->value);
    pawl_emit(s, "message", h->value);
    pawl_flow_call(s, NULL, "never", NULL);
    return h->outcome == PAWL_OUTCOME_DONE ? pawl_fail(s, PAWL_TRANSIENT, "cannot take %s", h->tag != NULL ? h->tag : "it") : PAWL_IGNORED;
}

static pawl_machine *machine_keeper(pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "said", .rule = PAWL_RULE_APPEND }, { .name = "first" } };

    return pawl_flow_reducer("keeper", 1, channels, 2, keeper, NULL, NULL, err);
}

static const char *open_args(world *w, size_t index)
{
    pawl_command cmd;
    const char *text;

    if (pawl_state_command(w->st, index, w->look, &cmd, NULL, &w->err) != PAWL_OK)
        return w->err.text;
    text = pawl_text(w->look, cmd.args);
    return text != NULL ? text : "";
}

/* K7: what came in, and the channel as the event left it, are referred to; the command has them after any crash. */
PAWL_TEST(test_F1_a_reducer_s_command_keeps_what_it_refers_to)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, machine_keeper(&err), "{\"first\":\"" LONG "\"}");
    world_expect(&w, "1 start working | start {\"first\":\"" LONG "\"}; put said=\"" LONG "\"; "
                     "call 1.@.1.0 {\"args\":{\"all\":null,\"now\":null},\"effect\":\"llm\",\"refs\":[[\"/all\",\"channel\",\"said\","
                     "\"1:27bd8258c91957f3aa072b40d3486cd462a6ff0fdd47b5d2dbcdfcb7bf9015d3\"],[\"/now\",\"event\",\"@/first\"]]}; "
                     "ask 1.@.1.1 {\"kind\":\"approval\",\"prompt\":\"stop?\",\"schema\":{\"type\":\"boolean\"},\"slot\":\"stop\",\"tag\":\"stop\"}\n");
    for (int i = 0; i < 3; i++) {
        CHECK_STR(open_args(&w, 0), "{\"all\":[\"" LONG "\"],\"now\":\"" LONG "\"}");
        world_crash(&w);
        world_snapshot(&w);
    }
    world_end(&w);
}

/* Goes through what it is told, member by member, and does something else where there is nothing. */
static pawl_code members(pawl_step *s, const pawl_input_event *h, void *arg)
{
    pawl_iter it = pawl_iter_of(h->value);
    const pawl_value *key;

    (void)arg;
    if (h->kind == PAWL_EV_START)
        return PAWL_OK;
    pawl_set_string(s, "log", h->value == NULL ? "nothing" : pawl_value_type(h->value) == PAWL_TYPE_NULL ? "null" : "told");
    while (pawl_value_type(h->value) == PAWL_TYPE_OBJECT && pawl_iter_next(&it, &key) != NULL)
        pawl_set_string(s, "log", pawl_value_string(key));
    return PAWL_OK;
}

/* K2: whoever replays reads members in the order of canonical JSON; world_end verifies. */
PAWL_TEST(test_K2_a_reducer_is_told_what_a_replay_will_tell_it)
{
    const pawl_channel channels[] = { { .name = "log", .rule = PAWL_RULE_APPEND } };
    pawl_err err = {0};
    world w;

    world_begin(&w, pawl_flow_reducer("members", 1, channels, 1, members, NULL, NULL, &err), NULL);
    world_signal(&w, "go", "{\"b\":1,\"a\":{\"d\":2,\"c\":3}}");
    CHECK_STR(world_get(&w, "log"), "[\"told\",\"a\",\"b\"]");
    world_signal(&w, "go", "[{\"b\":1,\"a\":2}]");
    world_signal(&w, "go", NULL);
    world_signal(&w, "go", "null");
    CHECK_STR(world_get(&w, "log"), "[\"told\",\"a\",\"b\",\"told\",\"null\",\"null\"]");
    world_end(&w);
}

PAWL_TEST(test_F1_a_reducer_that_fails_or_ignores_keeps_nothing)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, machine_keeper(&err), "{\"first\":\"a\"}");
    CHECK_INT(world_answer(&w, "stop", "\"no idea\""), PAWL_INVALID);      /* W3: the schema says true or false */
    CHECK_INT(world_error(&w, "1.@.1.0", "\"busy\""), PAWL_INTERRUPTED);    /* ignored, but the receipt is in */
    CHECK_STR(world_get(&w, "said"), "[\"a\"]");
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK_INT(world_signal(&w, "bell", "\"b\""), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "3.@.1.0", "\"c\""), PAWL_HALTED);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"transient\",\"text\":\"cannot take bell\"}");
    CHECK_STR(world_get(&w, "said"), "[\"a\",\"b\"]");
    CHECK_INT(pawl_state_commands(w.st) + pawl_state_waits(w.st), 1);       /* "stop" stays open for a reopen */
    CHECK_INT(world_answer(&w, "stop", "true"), PAWL_IGNORED);
    world_end(&w);
}

PAWL_TEST(test_F1_a_reducer_completes_or_rejects)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, machine_keeper(&err), "{\"first\":\"a\"}");
    CHECK_INT(world_answer(&w, "stop", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(world_receipt(&w, "1.@.1.0", "\"late\""), PAWL_IGNORED);
    world_end(&w);
    world_begin(&w, machine_keeper(&err), "{\"first\":\"a\"}");
    CHECK_INT(world_answer(&w, "stop", "false"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "rejected");
    CHECK_STR(world_reason(&w), "{\"code\":\"denied\",\"text\":\"they go on\"}");
    world_end(&w);
}

static pawl_code dice(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)h;
    (void)arg;
    for (int i = 0; i < 2; i++)
        pawl_set(s, "thrown", pawl_pack(s, "u", pawl_random(s)));
    return PAWL_OK;
}

/* K2: each event has numbers of its own, and the same ones when it is fed again, which the world does. */
PAWL_TEST(test_F1_a_reducer_draws_other_numbers_for_each_event)
{
    const pawl_channel channels[] = { { .name = "thrown", .rule = PAWL_RULE_UNION } };
    pawl_err err = {0};
    world w;

    world_begin(&w, pawl_flow_reducer("dice", 1, channels, 1, dice, NULL, NULL, &err), NULL);
    world_signal(&w, "again", NULL);
    world_crash(&w);
    world_signal(&w, "again", NULL);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "thrown")), 6);
    world_end(&w);
}

/* Entries of a fork are numbered anew: what it took over must not share a name with what it will ask. */
static pawl_code looks_at_values(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    pawl_set(s, "seen", pawl_pack(s, "s", h->value == NULL ? "nothing" : pawl_text(s, h->value)));
    if (h->kind == PAWL_EV_SIGNAL)
        pawl_flow_sleep(s, "rest", 10);
    if (h->kind == PAWL_EV_TIMER)
        pawl_flow_call(s, "one", "work", NULL);
    return PAWL_OK;
}

/* K2: what an event did not say is null in the journal, and so it is when it comes. */
PAWL_TEST(test_F1_a_reducer_is_told_what_its_journal_will_say)
{
    const pawl_channel channels[] = { { .name = "seen", .rule = PAWL_RULE_APPEND } };
    pawl_err err = {0};
    world w;

    world_begin(&w, pawl_flow_reducer("looker", 1, channels, 1, looks_at_values, NULL, NULL, &err), NULL);
    world_signal(&w, "go", NULL);
    world_timer(&w, "2.@.1.0");
    world_receipt(&w, "3.@.1.0", NULL);
    CHECK_STR(world_get(&w, "seen"), "[\"{}\",\"null\",\"null\",\"null\"]");
    world_end(&w);
}

PAWL_TEST(test_F1_a_fork_of_a_reducer_has_ids_of_its_own)
{
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 2 };
    pawl_err err = {0};
    pawl_state *fork;
    world w;

    world_begin(&w, machine_keeper(&err), "{\"first\":\"a\"}");
    world_signal(&w, "bell", "\"b\"");
    CHECK_INT(pawl_state_fork(w.st, &info, w.s, &fork, &w.err), PAWL_OK);
    pawl_state_free(w.st);
    w.st = fork;
    w.unchecked = w.no_verify = true;       /* the world's journal is the other run's */
    CHECK_STR(world_open(&w, "0.@.1.0", false), "run-2~0000000000000002/0.@.1.0");
    world_signal(&w, "bell", "\"c\"");
    CHECK_STR(world_open(&w, "1.@.1.0", false), "run-2~0000000000000002/1.@.1.0");
    CHECK_INT(pawl_state_commands(w.st), 3);
    CHECK_STR(open_args(&w, 2), "{\"all\":[\"a\",\"b\",\"c\"],\"now\":\"c\"}");
    CHECK_STR(world_open(&w, "stop", true), "run-2~0000000000000002/0.@.1.1");
    CHECK_INT(world_error(&w, "0.@.1.0", "null"), PAWL_PENDING);
    CHECK_INT(pawl_state_commands(w.st), 2);
    world_end(&w);
}

static void fails_with(pawl_machine *m, const char *reason)
{
    world w;

    world_begin(&w, m, NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), reason);
    world_end(&w);
}

/* ---- F1: what a reducer leaves open, and how much it may ask for ------------------------------------------------------- */

static pawl_code asks_twice(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_SIGNAL || (h->kind == PAWL_EV_ANSWER && pawl_value_bool(h->value)))
        return pawl_flow_complete(s);
    pawl_flow_ask(s, "rate", &(pawl_question){ .kind = PAWL_WAIT_QUESTION });
    pawl_flow_ask(s, "rate", &(pawl_question){ .kind = PAWL_WAIT_QUESTION });
    pawl_flow_call(s, "look", "look", NULL);
    return PAWL_OK;
}

PAWL_TEST(test_W1_slots_of_a_reducer_are_unique_among_its_open_waits)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, pawl_flow_reducer("rates", 1, NULL, 0, asks_twice, NULL, NULL, &err), NULL);
    CHECK_STR(world_open(&w, "rate", true), "run-1~0000000000000001/1.@.1.0");
    CHECK_STR(world_open(&w, "rate.2", true), "run-1~0000000000000001/1.@.1.1");
    world_answer(&w, "rate", "false");
    CHECK_STR(world_open(&w, "rate", true), "run-1~0000000000000001/2.@.1.0");      /* free again */
    CHECK_STR(world_open(&w, "rate.3", true), "run-1~0000000000000001/2.@.1.1");
    world_end(&w);
}

PAWL_TEST(test_F1_a_reducer_that_completes_leaves_nothing_open)
{
    pawl_err err = {0};
    world w;

    world_begin(&w, pawl_flow_reducer("rates", 1, NULL, 0, asks_twice, NULL, NULL, &err), NULL);
    CHECK_INT(world_answer(&w, "rate", "true"), PAWL_HALTED);
    CHECK_STR(world_status(&w), "completed");
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK_INT(pawl_state_commands(w.st), 0);
    CHECK_INT(world_receipt(&w, "1.@.1.2", "null"), PAWL_IGNORED);      /* what arrives late is counted */
    world_end(&w);
}

static pawl_code asks_for_many(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)h;
    for (int i = 0; i < *(int *)arg; i++)
        pawl_flow_sleep(s, NULL, 1);
    return PAWL_OK;
}

PAWL_TEST(test_X2_the_commands_of_one_event_have_a_limit)
{
    pawl_err err = {0};
    int n = PAWL_FLOW_COMMANDS_MAX;
    world w;

    world_begin(&w, pawl_flow_reducer("many", 1, NULL, 0, asks_for_many, &n, NULL, &err), NULL);
    CHECK_INT(pawl_state_commands(w.st), PAWL_FLOW_COMMANDS_MAX);
    world_end(&w);
    n++;
    fails_with(pawl_flow_reducer("many", 1, NULL, 0, asks_for_many, &n, NULL, &err),
                   "{\"code\":\"limit\",\"text\":\"many: more than 1000 commands for one event (PAWL_FLOW_COMMANDS_MAX)\"}");
}

PAWL_TEST(test_E5_a_flow_declares_its_effects)
{
    const pawl_limits once = { .cls = PAWL_CLASS_ONCE, .attempt_timeout_ms = 50 };
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_reducer("rates", 1, NULL, 0, asks_twice, NULL, NULL, &err);
    char before[65];
    pawl_command cmd;
    world w;

    memcpy(before, pawl_machine_hash(m), sizeof before);
    CHECK_INT(pawl_flow_effect(m, "look", &once, &err), PAWL_OK);
    CHECK(strcmp(before, pawl_machine_hash(m)) != 0);       /* what is declared is part of the machine */
    CHECK_INT(pawl_flow_effect(m, "look", &once, &err), PAWL_INVALID);
    CHECK_STR(err.text, "rates: effect \"look\" is declared already");
    CHECK_INT(pawl_flow_effect(m, "no name", &once, NULL), PAWL_INVALID);
    CHECK_INT(pawl_flow_effect(m, "pay", &(pawl_limits){ .cls = 9 }, NULL), PAWL_INVALID);
    CHECK_INT(pawl_flow_effect(NULL, "pay", &once, NULL), PAWL_INVALID);
    world_begin(&w, m, NULL);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &w.err), PAWL_OK);
    CHECK_INT(cmd.limits.cls, PAWL_CLASS_ONCE);
    CHECK_INT(cmd.limits.attempt_timeout_ms, 50);
    world_end(&w);
}

/* ---- F1: the wrong word in the wrong place ----------------------------------------------------------------------------- */

typedef pawl_code word_fn(pawl_step *s);

static pawl_code say_call(pawl_step *s) { return pawl_call(s, "work", NULL, NULL); }
static pawl_code say_ask(pawl_step *s) { return pawl_ask(s, NULL, NULL); }
static pawl_code say_goto(pawl_step *s) { return pawl_goto(s, PAWL_END); }
static pawl_code say_await(pawl_step *s) { return pawl_flow_await(s, NULL, NULL, NULL); }
static pawl_code say_flow_call(pawl_step *s) { pawl_flow_call(s, NULL, "work", NULL); return PAWL_OK; }
static pawl_code say_flow_sleep(pawl_step *s) { pawl_flow_sleep(s, NULL, 1); return PAWL_OK; }
static pawl_code say_flow_ask(pawl_step *s) { pawl_flow_ask(s, NULL, &(pawl_question){0}); return PAWL_OK; }
static pawl_code say_bad_effect(pawl_step *s) { pawl_flow_call(s, NULL, "no name", NULL); return PAWL_OK; }
static pawl_code say_nothing_asked(pawl_step *s) { pawl_flow_ask(s, NULL, NULL); return PAWL_OK; }
static pawl_code say_unknown_channel(pawl_step *s) { pawl_set_int(s, "there", 1); return PAWL_OK; }
static pawl_code say_default_yes(pawl_step *s)
{
    pawl_flow_ask(s, NULL, &(pawl_question){ .kind = PAWL_WAIT_APPROVAL, .otherwise = pawl_pack(s, "b", 1), .timeout_ms = 1 });
    return PAWL_OK;
}

typedef struct word { word_fn *say; const char *reason; } word;

static pawl_code word_event(pawl_step *s, const pawl_input_event *h, void *arg) { (void)h; return ((const word *)arg)->say(s); }
static pawl_code word_line(pawl_step *s, const pawl_value *input, void *arg) { (void)input; return ((const word *)arg)->say(s); }

#define WRONG(text) "{\"code\":\"invalid\",\"text\":\"" text "\"}"

PAWL_TEST(test_F1_a_word_of_another_form_is_an_error_that_names_the_right_one)
{
    static word in_reducer_words[] = {
        { say_call, WRONG("words: call is for nodes; a reducer has pawl_flow_call") },
        { say_ask, WRONG("words: ask is for nodes; a reducer has pawl_flow_ask") },
        { say_goto, WRONG("words: a reducer has no nodes to go to; pawl_flow_complete ends its run") },
        { say_await, WRONG("words: await is for steps; a reducer has pawl_flow_ask") },
        { say_bad_effect, WRONG("words: \\\"no name\\\" is no name of an effect") },
        { say_nothing_asked, WRONG("words: a question is needed to ask") },
        { say_default_yes, WRONG("words: an approval's only default is no") },
        { say_unknown_channel, WRONG("words: there is no channel \\\"there\\\"") },
    };
    static word in_line_words[] = {
        { say_flow_call, WRONG("node \\\"main\\\": pawl_flow_call is for reducers; a node has pawl_call") },
        { say_flow_sleep, WRONG("node \\\"main\\\": pawl_flow_sleep is for reducers; a node has pawl_sleep") },
        { say_flow_ask, WRONG("node \\\"main\\\": pawl_flow_ask is for reducers; a node has pawl_ask") },
        { say_await, WRONG("node \\\"main\\\": it awaits input, and no step resumes from it") },
    };
    pawl_err err = {0};

    for (size_t i = 0; i < sizeof in_reducer_words / sizeof *in_reducer_words; i++)
        fails_with(pawl_flow_reducer("words", 1, NULL, 0, word_event, &in_reducer_words[i], NULL, &err), in_reducer_words[i].reason);
    for (size_t i = 0; i < sizeof in_line_words / sizeof *in_line_words; i++)
        fails_with(pawl_flow_linear("words", 1, NULL, 0, word_line, &in_line_words[i], 0, NULL, &err), in_line_words[i].reason);
    fails_with(years_of(asks_signal, &err), WRONG("node \\\"ask\\\": await is for input or a question"));
}

/* ---- F1: linear ---------------------------------------------------------------------------------------------------------- */

static pawl_code fickle(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *a, *b;
    pawl_code one, two;

    (void)input;
    one = pawl_call(s, "left", pawl_pack(s, "i", (int64_t)++*(int *)arg / 1000), &a);      /* both are out at once */
    two = pawl_call(s, "right", NULL, &b);
    if (one != PAWL_OK || two != PAWL_OK)
        return one == PAWL_EFFECT || two == PAWL_EFFECT ? pawl_fail(s, PAWL_EFFECT, "left or right") : PAWL_PENDING;
    pawl_set(s, "both", pawl_pack(s, "[v,v]", a, b));
    return PAWL_OK;
}

PAWL_TEST(test_F1_linear_steps_know_their_calls_by_position)
{
    const pawl_channel channels[] = { { .name = "both" } };
    pawl_err err = {0};
    int passes = 0;
    world w;

    world_begin(&w, pawl_flow_linear("fickle", 1, channels, 1, fickle, &passes, 0, NULL, &err), NULL);
    CHECK_INT(pawl_state_commands(w.st), 2);
    world_receipt(&w, "1.main.1.1", "\"r\"");
    CHECK_INT(world_receipt(&w, "1.main.1.0", "\"l\""), PAWL_HALTED);
    CHECK_STR(world_get(&w, "both"), "[\"l\",\"r\"]");
    world_end(&w);
    passes = 0;
    world_begin(&w, pawl_flow_linear("fickle", 1, channels, 1, fickle, &passes, 0, NULL, &err), NULL);
    world_receipt(&w, "1.main.1.0", "\"l\"");
    passes = 1000;      /* from now on it calls with something else: that is found, the run stands where it stood */
    CHECK_INT(world_receipt(&w, "1.main.1.1", "\"r\""), PAWL_CORRUPT);
    CHECK(strstr(w.err.text, "the node is not pure") != NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    passes = 0;
    CHECK_INT(world_receipt(&w, "1.main.1.1", "\"r\""), PAWL_HALTED);
    passes = 0;
    world_end(&w);
}

static pawl_code endless(pawl_step *s, const pawl_value *input, void *arg)
{
    (void)input;
    (void)arg;
    for (;;) {
        pawl_code rc = pawl_call(s, "again", NULL, NULL);

        if (rc != PAWL_OK)
            return rc;
    }
}

static const char *say_null(void *ctx, const char *node, const char *effect, const char *args)
{
    (void)node;
    (void)effect;
    (void)args;
    ++*(int *)ctx;
    return "null";
}

PAWL_TEST(test_F1_what_loops_for_ever_in_one_node_meets_its_limit)
{
    pawl_err err = {0};
    int calls = 0;
    world w;

    world_begin(&w, pawl_flow_linear("endless", 1, NULL, 0, endless, NULL, 7, NULL, &err), NULL);
    CHECK_INT(world_run(&w, say_null, &calls), PAWL_HALTED);
    CHECK_INT(calls, 7);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"node \\\"main\\\": more than 7 commands in one visit (max_calls)\"}");
    world_end(&w);
}

/* ---- F1: mistakes -------------------------------------------------------------------------------------------------------------- */

static void refused(const pawl_flow_step *steps, size_t n, const char *text)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_steps("four", 1, steps, n, NULL, 0, NULL, NULL, &err);

    CHECK(m == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    CHECK_STR(err.text, text);
}

PAWL_TEST(test_F1_mistakes_in_a_machine_are_told_when_it_is_made)
{
    const pawl_channel twice[] = { { .name = "a" }, { .name = "a" } };
    const pawl_flow_step none[] = { { .name = "first", .fn = first } };
    const pawl_flow_step two[] = { { .name = "first", .fn = first, .start = true }, { .name = "second", .fn = second, .start = true } };
    const pawl_flow_step lost[] = { { .name = "first", .fn = first, .start = true, .resumes_from = "frist" } };
    const pawl_flow_step shared[] = { { .name = "first", .fn = first, .start = true }, { .name = "second", .fn = second, .resumes_from = "first" },
                                      { .name = "third", .fn = third, .resumes_from = "first" } };
    const pawl_flow_step hollow[] = { { .name = "first", .start = true } };
    pawl_err err = {0};

    refused(NULL, 0, "four: 0 steps have `start`; exactly one must");
    refused(none, 1, "four: 0 steps have `start`; exactly one must");
    refused(two, 2, "four: 2 steps have `start`; exactly one must");
    refused(lost, 1, "four: step \"first\" resumes from \"frist\", which is no step");
    refused(shared, 3, "four: steps \"second\" and \"third\" both resume from \"first\"");
    refused(hollow, 1, "four: node \"first\" has no function");
    CHECK(pawl_flow_linear("line", 1, NULL, 0, NULL, NULL, 0, NULL, &err) == NULL);
    CHECK_STR(err.text, "line: node \"main\" has no function");
    err = (pawl_err){0};
    CHECK(pawl_flow_reducer("r", 1, NULL, 0, NULL, NULL, NULL, &err) == NULL);
    CHECK_STR(err.text, "a reducer needs a name and a function");
    err = (pawl_err){0};
    CHECK(pawl_flow_reducer("r", 1, twice, 2, keeper, NULL, NULL, &err) == NULL);
    CHECK_STR(err.text, "r: channel \"a\" stands there twice");
}
