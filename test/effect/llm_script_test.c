/* llm_script_test.c - models that follow a script, and models that are a function. */
#include "effect/modeling.h"

#define S "\"model\":\"script:s.yaml\""
#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"say hi to Ada\"}]"
#define LOOP "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"the weather\"}]},{\"role\":\"assistant\",\"content\":["              \
             "{\"type\":\"tool_use\",\"id\":\"call_1_1\",\"name\":\"look\",\"input\":{}}]},"                                                       \
             "{\"role\":\"tool\",\"tool_call_id\":\"call_1_1\",\"name\":\"look\",\"content\":\"rain\"}]"

static pawl_llm_script *script_of(world *w, const char *list, const char *error)
{
    pawl_err err = { 0 };
    const pawl_value *v = value_parse(&w->h.mem, list, strlen(list), "list", &err);
    pawl_llm_script *s;

    CHECK(v != NULL);
    s = pawl_llm_script_new(v, "s.yaml", world_price, NULL, &err);
    CHECK_STR(err.text, error);
    CHECK((s != NULL) == (*error == '\0'));
    return s;
}

static void reply_is(const world *w, const char *expected)
{
    CHECK_BYTES(w->h.reply.text.data, w->h.reply.text.size, expected, strlen(expected));
}

PAWL_TEST(test_the_first_entry_that_fits_answers)
{
    world w;
    pawl_llm_script *s;

    world_open(&w);
    w.own.price = NULL;
    s = script_of(&w, "[{\"match\":\"Bob\",\"reply\":\"no\"},{\"node\":\"draft\",\"match\":\"Ada\",\"reply\":\"a draft\"},"
                      "{\"after_tool\":\"look\",\"reply\":\"It rains.\"},{\"turn\":2,\"reply\":\"two\"},"
                      "{\"match\":\"weather\",\"thinking\":\"hm\",\"reply\":\"I look.\",\"tools\":[{\"name\":\"look\",\"input\":{\"b\":1}},{\"name\":\"now\",\"id\":\"mine\"}],"
                      "\"usage\":{\"input_tokens\":3,\"output_tokens\":2,\"cache_read_tokens\":1}},"
                      "{\"match\":\"Ada\",\"reply\":{\"b\":[1],\"a\":2}}]", "");
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_script, s), PAWL_OK);
    reply_is(&w, "{\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":2,\\\"b\\\":[1]}\"}]},\"stop\":\"end_turn\","
                 "\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"cache_read_tokens\":0,\"cache_write_tokens\":0},\"model\":\"script:s.yaml\"}");
    CHECK(!w.h.reply.costs);
    CHECK_INT(ask_of(&w, S ",\"node\":\"draft\"," HI, pawl_effect_script, s), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "a draft");
    CHECK_INT(ask_of(&w, S "," LOOP, pawl_effect_script, s), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "It rains.");
    CHECK_INT(ask_of(&w, S ",\"messages\":[{\"role\":\"user\",\"content\":\"the weather\"}]", pawl_effect_script, s), PAWL_OK);
    reply_is(&w, "{\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\",\"text\":\"I look.\"},"
                 "{\"type\":\"tool_use\",\"id\":\"call_1_1\",\"name\":\"look\",\"input\":{\"b\":1}},{\"type\":\"tool_use\",\"id\":\"mine\",\"name\":\"now\",\"input\":{}}]},"
                 "\"stop\":\"tool_use\",\"usage\":{\"input_tokens\":3,\"output_tokens\":2,\"cache_read_tokens\":1,\"cache_write_tokens\":0},\"model\":\"script:s.yaml\"}");
    CHECK_INT(w.h.reply.tokens, 6);
    buf_char(&w.told, '\0');
    CHECK_STR(w.told.data, "message {\"attempt\":1,\"type\":\"begin\"}\nmessage {\"thinking\":\"hm\",\"type\":\"thinking_delta\"}\n"
                "message {\"text\":\"I look.\",\"type\":\"text_delta\"}\n"
                "message {\"id\":\"call_1_1\",\"index\":2,\"input\":\"{\\\"b\\\":1}\",\"name\":\"look\",\"type\":\"tool_delta\"}\n"
                "message {\"id\":\"mine\",\"index\":3,\"input\":\"{}\",\"name\":\"now\",\"type\":\"tool_delta\"}\n");
    CHECK_INT(ask_of(&w, S ",\"messages\":[{\"role\":\"user\",\"content\":\"else\"}]", pawl_effect_script, s), PAWL_EFFECT);
    CHECK_STR(text_of(&w), "script:s.yaml: no answer fits turn 1, whose last words of a user begin \"else\"");
    CHECK_INT(ask_of(&w, S ",\"messages\":[{\"role\":\"user\",\"content\":\"else\"},{\"role\":\"assistant\",\"content\":\"x\"}]", pawl_effect_script, s),
              PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "two");
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_a_prompt_is_answered_with_text)
{
    world w;
    pawl_llm_script *s;

    world_open(&w);
    s = script_of(&w, "[{\"match\":\"bad\",\"error\":\"busy\"},{\"node\":\"n\",\"reply\":{\"b\":1,\"a\":2}},{\"match\":\"x\",\"reply\":\"yes\",\"tools\":[{\"name\":\"t\"}]}]", "");
    CHECK_INT(ask_of(&w, S ",\"prompt\":\"x\",\"node\":\"n\"", pawl_effect_script, s), PAWL_OK);
    reply_is(&w, "{\"text\":\"{\\\"a\\\":2,\\\"b\\\":1}\"}");
    CHECK_INT(ask_of(&w, S ",\"prompt\":\"x\"", pawl_effect_script, s), PAWL_OK);
    reply_is(&w, "{\"text\":\"yes\"}");
    CHECK_INT(w.told.size, 0);
    CHECK_INT(ask_of(&w, S ",\"prompt\":\"bad\"", pawl_effect_script, s), PAWL_TRANSIENT);
    CHECK_STR(text_of(&w), "the script says: busy");
    CHECK_INT(ask_of(&w, S ",\"prompt\":\"what?\",\"node\":\"m\"", pawl_effect_script, s), PAWL_EFFECT);
    CHECK_STR(text_of(&w), "script:s.yaml: no answer fits the prompt of \"m\", which begins \"what?\"");
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_errors_pass_after_so_many_attempts)
{
    world w;
    pawl_llm_script *s;

    world_open(&w);
    s = script_of(&w, "[{\"error\":\"Rate limited: slow\",\"retry_after_ms\":20,\"times\":2},{\"match\":\"Ada\",\"times\":3,\"reply\":\"wait\",\"deltas\":2,"
                      "\"error\":\"API error: died\",\"error_code\":\"denied\"},{\"reply\":\"well\"}]", "");
    for (uint32_t attempt = 1; attempt <= 4; attempt++) {
        w.h.job.attempt = attempt;
        CHECK_INT(ask_of(&w, S "," HI, pawl_effect_script, s), attempt <= 2 ? PAWL_TRANSIENT : attempt == 3 ? PAWL_DENIED : PAWL_OK);
        CHECK_INT(w.h.reply.retry_after_ms, attempt <= 2 ? 20 : 0);
        CHECK_STR(text_of(&w), attempt <= 2 ? "Rate limited: slow" : attempt == 3 ? "API error: died" : "");
    }
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_text_is_said_in_parts_between_characters)
{
    world w;
    pawl_llm_script *s;
    char *text;

    world_open(&w);
    s = script_of(&w, "[{\"reply\":\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac ab\",\"deltas\":5}]", "");
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_script, s), PAWL_OK);
    CHECK_INT(w.words, 1 + 4);          /* one of the five is empty */
    CHECK_STR(text = told_of(&w, "text_delta", "text"), "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac ab");
    free(text);
    pawl_llm_script_free(s);
    s = script_of(&w, "[{\"reply\":\"abc\",\"deltas\":3,\"delay_ms\":86400000}]", "");
    w.h.job.deadline_ms = epoch_ms() + 20;
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_script, s), PAWL_TIMEOUT);
    w.h.job.deadline_ms = 0;
    w.h.job.cancel_fd = w.cancel[0];
    CHECK_INT(write(w.cancel[1], "c", 1), 1);
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_script, s), PAWL_CANCELED);
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_a_typed_value_is_checked_and_bad_input_is_told)
{
    world w;
    pawl_llm_script *s;

    world_open(&w);
    s = script_of(&w, "[{\"match\":\"bad\",\"reply\":\"seven\"},{\"match\":\"tool\",\"tools\":[{\"name\":\"t\",\"input\":\"{cut\"}]},{\"reply\":{\"n\":7}}]",
                  "");
    CHECK_INT(ask_of(&w, S ",\"schema\":{\"type\":\"object\"}," HI, pawl_effect_script, s), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK_INT(ask_of(&w, S ",\"schema\":{\"type\":\"array\"}," HI, pawl_effect_script, s), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "Invalid response: ", 18) == 0);
    CHECK_INT(ask_of(&w, S ",\"messages\":[{\"role\":\"user\",\"content\":\"tool\"}]", pawl_effect_script, s), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/invalid"), "{cut");
    CHECK_INT(pawl_value_size(pawl_value_find(w.h.value, "/message/content/0/input")), 0);
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_arguments_may_come_in_layers)
{
    world w;
    pawl_llm_script *s;

    world_open(&w);
    s = script_of(&w, "[{\"match\":\"sum it up\",\"reply\":\"a sum\"},{\"match\":\"Ada\",\"node\":\"n\",\"reply\":{\"n\":1}}]", "");
    CHECK_INT(ask_of(&w, "\"config\":{\"model\":\"script:s\",\"max_tokens\":5},\"system\":[\"be brief\",null,\"\"],\"then\":\"sum it up\"," HI,
                     pawl_effect_script, s), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "a sum");
    CHECK_STR(said(&w.h, "/model"), "script:s");
    CHECK_INT(ask_of(&w, "\"config\":{\"model\":\"script:s\",\"schema\":{\"type\":\"object\"}},\"node\":\"n\"," HI, pawl_effect_script, s), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 1);
    CHECK_INT(ask_of(&w, "\"config\":{\"model\":\"script:s\",\"promt\":1}," HI, pawl_effect_script, s), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: no argument \"promt\"");
    CHECK_INT(ask_of(&w, S ",\"tools\":null,\"temperature\":null,\"system\":[null],\"config\":{\"stop\":null},\"node\":\"n\"," HI, pawl_effect_script, s),
              PAWL_OK);
    CHECK_INT(ask_of(&w, "\"model\":\"script:s\",\"config\":7," HI, pawl_effect_script, s), PAWL_INVALID);
    CHECK(strncmp(text_of(&w), "llm: no argument \"config\"", 25) == 0);
    CHECK_INT(ask_of(&w, S ",\"system\":[1]," HI, pawl_effect_script, s), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: \"system\" is no string, or holds NUL");
    CHECK_INT(ask_of(&w, S ",\"upto\":-1," HI, pawl_effect_script, s), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: no argument \"upto\"");
    CHECK_INT(ask_of(&w, S ",\"upto\":0," HI, pawl_effect_script, s), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: \"messages\" is no list, or is empty");
    pawl_llm_script_free(s);
    world_close(&w);
}

PAWL_TEST(test_X1_a_script_that_is_wrong_says_where)
{
    static const struct { const char *list, *text; } all[] = {
        { "{}", "s.yaml: a script is a list of answers: [{match: TEXT, reply: TEXT}]" },
        { "[{\"reply\":\"a\"},1]", "s.yaml: answer 2 is no map: {match: TEXT, reply: TEXT}" },
        { "[{\"replay\":\"a\"}]", "s.yaml: answer 1 has no key \"replay\" (did you mean \"reply\"?)" },
        { "[{\"match\":\"a\"}]", "s.yaml: answer 1: it has `reply`, `tools` or `error`" },
        { "[{\"match\":1,\"reply\":\"a\"}]", "s.yaml: answer 1: `match`, `node`, `after_tool`, `thinking`, `error` and `stop` are texts" },
        { "[{\"turn\":-1,\"reply\":\"a\"}]",
          "s.yaml: answer 1: `turn`, `times`, `deltas`, `delay_ms`, `retry_after_ms` and `error_status` are whole numbers, and not too large" },
        { "[{\"tools\":[{}]}]", "s.yaml: answer 1: `tools` is a list of {name, input?, id?}" },
        { "[{\"error\":\"a\",\"error_code\":\"io\"}]", "s.yaml: answer 1: `error_code` is transient, timeout, denied, limit or invalid" },
        { "[{\"reply\":\"a\",\"usage\":{\"tokens\":1}}]",
          "s.yaml: answer 1: `usage` is {input_tokens?, output_tokens?, cache_read_tokens?, cache_write_tokens?}" },
        { "[{\"reply\":\"a\",\"stop\":\"now\"}]",
          "s.yaml: answer 1: `stop` is end_turn, tool_use, max_tokens, stop_sequence, refusal, pause_turn or context_exceeded" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        script_of(&w, all[i].list, all[i].text);
    world_close(&w);
}

/* ---- a function -------------------------------------------------------------------------------------------------------- */

typedef struct mind {
    pthread_t thread;
    pawl_model_call *call;
    const char *reply;          /* NULL: it fails */
    pawl_code begins;
    bool here;                  /* in start itself */
    bool slow;                  /* until it is canceled */
    int canceled;
    int gate[2];
} mind;

static void *think(void *arg)
{
    mind *m = arg;
    char c;

    pawl_model_delta(m->call, "{\"text\":\"a\",\"type\":\"text_delta\"}");
    pawl_model_delta(m->call, "{\"text\":\"b\",\"type\":\"text_delta\"}");
    if (m->slow && read(m->gate[0], &c, 1) != 1)
        return NULL;
    if (m->reply != NULL)
        pawl_model_done(m->call, m->reply);
    else
        pawl_model_failed(m->call, PAWL_TRANSIENT, "Rate limited: by myself", 70);
    return NULL;
}

static pawl_code mind_start(void *ctx, const pawl_value *request, pawl_model_call *call)
{
    mind *m = ctx;

    if (m->begins < 0 || pawl_value_get(request, "messages") == NULL)
        return m->begins;
    m->call = call;
    if (m->here)
        think(m);
    else if (pthread_create(&m->thread, NULL, think, m) != 0)
        return PAWL_NOMEM;
    return PAWL_OK;
}

static void mind_cancel(void *ctx, pawl_model_call *call)
{
    mind *m = ctx;

    m->canceled += call == m->call ? 1 : 100;
    if (write(m->gate[1], "c", 1) != 1)
        m->canceled = -1;
}

PAWL_TEST(test_a_function_answers_from_any_thread)
{
    world w;
    mind m = { .reply = "{\"message\":{\"role\":\"assistant\",\"content\":\"ab\"},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}" };
    pawl_model model = { .start = mind_start, .cancel = mind_cancel, .ctx = &m };
    char *text;

    world_open(&w);
    CHECK_INT(pipe(m.gate), 0);
    for (int i = 0; i < 100; i++) {
        m.here = i % 2 == 0;
        CHECK_INT(ask_of(&w, S "," HI, pawl_effect_model, &model), PAWL_OK);
        CHECK_STR(said(&w.h, "/message/content"), "ab");
        CHECK_INT(w.h.reply.tokens, 7);
        CHECK_STR(text = told_of(&w, "text_delta", "text"), "ab");
        free(text);
        if (!m.here)
            pthread_join(m.thread, NULL);
    }
    m.reply = NULL;
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_model, &model), PAWL_TRANSIENT);
    pthread_join(m.thread, NULL);
    CHECK_STR(text_of(&w), "Rate limited: by myself");
    CHECK_INT(w.h.reply.retry_after_ms, 70);
    m.begins = PAWL_DENIED;
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_model, &model), PAWL_DENIED);
    CHECK_STR(text_of(&w), "llm: the model did not begin");
    CHECK_INT(m.canceled, 0);
    close(m.gate[0]);
    close(m.gate[1]);
    world_close(&w);
}

PAWL_TEST(test_E10_a_function_is_called_off_and_ends_later)
{
    world w;
    mind m = { .reply = "{}", .slow = true };
    pawl_model model = { .start = mind_start, .cancel = mind_cancel, .ctx = &m };

    world_open(&w);
    CHECK_INT(pipe(m.gate), 0);
    w.h.job.cancel_fd = w.cancel[0];
    w.cancel_after = 3;
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_model, &model), PAWL_CANCELED);
    pthread_join(m.thread, NULL);       /* which ends the call that nobody waits for */
    CHECK_INT(m.canceled, 1);
    w.h.job.cancel_fd = 0;
    w.cancel_after = 0;
    w.h.job.deadline_ms = epoch_ms() + 20;
    CHECK_INT(ask_of(&w, S "," HI, pawl_effect_model, &model), PAWL_TIMEOUT);
    pthread_join(m.thread, NULL);
    CHECK_INT(m.canceled, 2);
    close(m.gate[0]);
    close(m.gate[1]);
    world_close(&w);
}
