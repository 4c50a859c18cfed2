/* llm_anthropic_test.c - Anthropic's API: what is sent, and what is made of its stream. */
#include "effect/modeling.h"
#include "lib/heap.h"

#define START EV("message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"claude-x\",\"content\":[],"              \
                                  "\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}")
#define STOP(why, n) EV("message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" why "\"},\"usage\":{\"output_tokens\":" n "}}") \
                     EV("message_stop", "{\"type\":\"message_stop\"}")
#define BEGIN(i, block) EV("content_block_start", "{\"type\":\"content_block_start\",\"index\":" i ",\"content_block\":" block "}")
#define DELTA(i, delta) EV("content_block_delta", "{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":" delta "}")
#define END(i) EV("content_block_stop", "{\"type\":\"content_block_stop\",\"index\":" i "}")
#define PING EV("ping", "{\"type\":\"ping\"}")
#define TEXT(i, text) BEGIN(i, "{\"type\":\"text\",\"text\":\"\"}") DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" text "\"}") END(i)

/* Everything that a stream of theirs has. */
static const char rich[] = START PING
    BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
    DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"Hm\xc3\xa9\"}")
    DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\" so.\"}")
    DELTA("0", "{\"type\":\"signature_delta\",\"signature\":\"EqQB+/==\"}") END("0")
    BEGIN("1", "{\"type\":\"text\",\"text\":\"\"}") PING
    DELTA("1", "{\"type\":\"text_delta\",\"text\":\"It costs 5 \xe2\x82\xac\"}") DELTA("1", "{\"type\":\"text_delta\",\"text\":\" \\ud83d\\ude42\"}") END("1")
    BEGIN("2", "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"read\",\"input\":{}}")
    DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"\"}")
    DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"pa\"}")
    DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"th\\\":\\\"b.c\\\",\\\"n\\\":12345678901234567890}\"}") END("2")
    EV("news", "{\"type\":\"news_of_tomorrow\",\"index\":9}")
    BEGIN("3", "{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"now\",\"input\":{}}") END("3")
    BEGIN("4", "{\"type\":\"server_tool_use\",\"id\":\"srv\",\"name\":\"web\",\"input\":{},\"odd\":[1]}")
    DELTA("4", "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\":1}\"}") END("4")
    BEGIN("5", "{\"type\":\"redacted_thinking\",\"data\":\"abc\"}") END("5")
    STOP("tool_use", "50");

static const char rich_content[] = "[{\"signature\":\"EqQB+/==\",\"thinking\":\"Hm\xc3\xa9 so.\",\"type\":\"thinking\"},"
    "{\"text\":\"It costs 5 \xe2\x82\xac \xf0\x9f\x99\x82\",\"type\":\"text\"},"
    "{\"id\":\"toolu_1\",\"input\":{\"n\":12345678901234567890,\"path\":\"b.c\"},\"name\":\"read\",\"type\":\"tool_use\"},"
    "{\"id\":\"toolu_2\",\"input\":{},\"name\":\"now\",\"type\":\"tool_use\"},"
    "{\"id\":\"srv\",\"input\":{\"q\":1},\"name\":\"web\",\"odd\":[1],\"type\":\"server_tool_use\"},"
    "{\"data\":\"abc\",\"type\":\"redacted_thinking\"}]";

static void content_is(world *w, const char *expected)
{
    value_is(w->h.value, "/message/content", expected);
}

static void body_has(world *w, const char *path, const char *expected)
{
    value_is(sent_to(w, true), path, expected);
}

PAWL_TEST(test_A7_a_stream_becomes_a_message_and_is_told_as_it_comes)
{
    world w;
    char *text;

    world_open(&w);
    for (size_t piece = 0; piece < 8; piece++) {
        says(&w, 200, "request-id: req_7\r\nContent-Type: text/event-stream; charset=utf-8\r\n", rich, piece, piece % 2 == 0 ? MODEL_WHOLE : MODEL_CLOSES);
        CHECK_INT(ask(&w, ASK_A), PAWL_OK);
        content_is(&w, rich_content);
        CHECK_STR(said(&w.h, "/stop"), "tool_use");
        CHECK_STR(said(&w.h, "/model"), "claude-x");
        CHECK_STR(said(&w.h, "/request_id"), "req_7");
        CHECK_INT(number(&w.h, "/usage/input_tokens"), 10);
        CHECK_INT(number(&w.h, "/usage/output_tokens"), 50);
        CHECK_INT(number(&w.h, "/usage/cache_read_tokens"), 5);
        CHECK_INT(number(&w.h, "/usage/cache_write_tokens"), 2);
        CHECK_INT(w.h.reply.tokens, 67);
        CHECK_INT(w.h.reply.micros, 30 + 750 + 5 + 8);
        CHECK(strncmp(w.told.data, "message {\"attempt\":1,\"type\":\"begin\"}\n", 37) == 0);
        CHECK_STR(text = told_of(&w, "text_delta", "text"), "It costs 5 \xe2\x82\xac \xf0\x9f\x99\x82");
        free(text);
        CHECK_STR(text = told_of(&w, "thinking_delta", "thinking"), "Hm\xc3\xa9 so.");
        free(text);
        CHECK_STR(text = told_of(&w, "tool_delta", "input"), "{\"path\":\"b.c\",\"n\":12345678901234567890}");
        free(text);
        CHECK_STR(text = told_of(&w, "tool_delta", "id"), "toolu_1toolu_2");
        free(text);
    }
    world_close(&w);
}

PAWL_TEST(test_lines_of_another_kind_say_the_same)
{
    buf b;
    world w;

    buf_init(&b, NULL);
    buf_text(&b, "\xef\xbb\xbf: hello\r\n");
    for (const char *p = rich; *p != '\0'; p++)
        buf_text(&b, *p == '\n' ? "\r\n" : (char[]){ *p, '\0' });
    buf_char(&b, '\0');
    world_open(&w);
    for (size_t piece = 1; piece < 4; piece++) {
        says(&w, 200, NULL, b.data, piece, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_A), PAWL_OK);
        content_is(&w, rich_content);
    }
    world_close(&w);
    buf_free(&b);
}

/* The stream, cut anywhere, is no answer; nor is it where the server says that this was all. */
PAWL_TEST(test_A7_a_stream_that_is_cut_at_any_byte_is_no_answer)
{
    const size_t size = sizeof rich - 1, whole = size - 2;      /* its last newlines say nothing */
    const size_t step = check_run_all() ? 1 : 3;
    world w;

    world_open(&w);
    for (size_t n = 1; n < size; n += n + 40 < size ? step : 1) {
        const model_end end = n % 2 == 0 ? MODEL_CLOSES : n % 3 == 0 ? MODEL_TORN : MODEL_WHOLE;
        const model_script one = { .body = rich, .size = n, .end = end };

        model_says(&w.s, &one, 1);
        if (ask(&w, ASK_A) == PAWL_OK) {
            CHECK(n >= whole);
            content_is(&w, rich_content);
            continue;
        }
        CHECK(n < whole || end == MODEL_TORN);
        CHECK_INT(w.h.rc, PAWL_TRANSIENT);
        CHECK(strncmp(text_of(&w), "Invalid response: ", 18) == 0 || strncmp(text_of(&w), "HTTP error: ", 12) == 0);
        CHECK(!w.h.reply.untouched);
    }
    world_close(&w);
}

PAWL_TEST(test_every_reason_to_stop_has_a_name)
{
    static const struct { const char *said, *is; } all[] = {
        { START TEXT("0", "x") STOP("end_turn", "1"), "end_turn" }, { START TEXT("0", "x") STOP("max_tokens", "1"), "max_tokens" },
        { START TEXT("0", "x") STOP("stop_sequence", "1"), "stop_sequence" }, { START TEXT("0", "x") STOP("refusal", "1"), "refusal" },
        { START TEXT("0", "x") STOP("pause_turn", "1"), "pause_turn" },
        { START TEXT("0", "x") STOP("model_context_window_exceeded", "1"), "context_exceeded" },
        { START TEXT("0", "x") STOP("of_tomorrow", "1"), "end_turn" }, { START STOP("end_turn", "1"), "end_turn" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        says(&w, 200, NULL, all[i].said, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_A), PAWL_OK);
        CHECK_STR(said(&w.h, "/stop"), all[i].is);
    }
    world_close(&w);
}

#define TOOL(json) START BEGIN("0", "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read\",\"input\":{}}")                                          \
                   DELTA("0", "{\"type\":\"input_json_delta\",\"partial_json\":\"" json "\"}") END("0")

PAWL_TEST(test_A5_arguments_that_are_none_are_told_and_are_no_failure)
{
    static const struct { const char *body, *content; } all[] = {
        { TOOL("{\\\"path\\\": ") STOP("tool_use", "1"),
          "[{\"id\":\"t\",\"input\":{},\"invalid\":\"{\\\"path\\\": \",\"name\":\"read\",\"type\":\"tool_use\"}]" },
        { TOOL("[1]") STOP("tool_use", "1"), "[{\"id\":\"t\",\"input\":{},\"invalid\":\"[1]\",\"name\":\"read\",\"type\":\"tool_use\"}]" },
        { TOOL("{\\\"a\\\":1,\\\"a\\\":2}") STOP("tool_use", "1"),
          "[{\"id\":\"t\",\"input\":{},\"invalid\":\"{\\\"a\\\":1,\\\"a\\\":2}\",\"name\":\"read\",\"type\":\"tool_use\"}]" },
        { TOOL("{\\\"a\\\":") STOP("max_tokens", "1"), "[{\"id\":\"t\",\"input\":{},\"invalid\":\"{\\\"a\\\":\",\"name\":\"read\",\"type\":\"tool_use\"}]" },
        { TOOL("") STOP("max_tokens", "1"), "[{\"id\":\"t\",\"input\":{},\"invalid\":\"\",\"name\":\"read\",\"type\":\"tool_use\"}]" },
        { TOOL("") STOP("tool_use", "1"), "[{\"id\":\"t\",\"input\":{},\"name\":\"read\",\"type\":\"tool_use\"}]" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        says(&w, 200, NULL, all[i].body, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_A), PAWL_OK);
        content_is(&w, all[i].content);
    }
    world_close(&w);
}

PAWL_TEST(test_X3_a_stream_that_contradicts_itself_is_refused)
{
    static const struct { const char *body, *why; } all[] = {
        { TEXT("0", "x") STOP("end_turn", "1"), "Invalid response: content_block_start before message_start" },
        { START START, "Invalid response: a second message_start" },
        { START TEXT("0", "x") TEXT("0", "y") STOP("end_turn", "1"), NULL },
        { START DELTA("0", "{\"type\":\"text_delta\",\"text\":\"x\"}"), "Invalid response: more of a block that is not open" },
        { START TEXT("0", "x") DELTA("0", "{\"type\":\"text_delta\",\"text\":\"x\"}"), "Invalid response: more of a block that is not open" },
        { START TEXT("0", "x") END("0"), "Invalid response: the end of a block that is not open" },
        { START BEGIN("0", "{\"type\":\"text\"}") DELTA("0", "{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}"),
          "Invalid response: a input_json_delta that does not fit its block" },
        { START BEGIN("0", "{\"type\":\"text\"}") STOP("end_turn", "1"), "Invalid response: its end, and block 0 has none" },
        { START EV("message_stop", "{\"type\":\"message_stop\"}"), "Invalid response: its end, and no reason for it" },
        { START BEGIN("0", "{\"type\":\"tool_use\",\"name\":\"x\"}"), "Invalid response: a tool is called without id or name" },
        { START BEGIN("0", "{}"), "Invalid response: a block begins without type or index" },
        { START "data: nothing\n\n", "Invalid response: an event that is no JSON, or cut off" },
        { "data: {\"type\":\"ping\"}\n\n", "Invalid response: it ended before message_stop" },
        { ": nothing\n\n", "Invalid response: it ended before message_stop" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        says(&w, 200, NULL, all[i].body, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_A), all[i].why != NULL ? PAWL_TRANSIENT : PAWL_OK);
        if (all[i].why != NULL)
            CHECK_STR(text_of(&w), all[i].why);
    }
    world_close(&w);
}

/* ---- what is sent ------------------------------------------------------------------------------------------------- */

static const char loop[] = "\"model\":\"anthropic/claude\",\"system\":\"Be brief.\",\"max_tokens\":100,\"temperature\":0.5,\"stop\":[\"END\"],"
    "\"tools\":[{\"name\":\"read\",\"description\":\"Reads.\",\"input_schema\":{\"type\":\"object\"}},{\"name\":\"now\",\"input_schema\":{\"type\":\"object\"}}],"
    "\"messages\":[{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"},"
    "{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"aGk=\"},{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\" \\n\"}]},"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"},{\"type\":\"thinking\",\"thinking\":\"of another\"},"
    "{\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"read\",\"input\":{\"b\":1,\"a\":2}},"
    "{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"now\",\"input\":{},\"invalid\":\"{\"}]},"
    "{\"role\":\"user\",\"content\":\"hurry\"},{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"name\":\"read\",\"content\":\"text\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"t2\",\"name\":\"now\",\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"is_error\":true},"
    "{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"and now?\"}]";

PAWL_TEST(test_a_conversation_is_sent_as_the_api_accepts_it)
{
    static const char expected[] = "[{\"content\":[{\"text\":\"one\",\"type\":\"text\"},{\"text\":\"two\",\"type\":\"text\"},"
        "{\"source\":{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"base64\"},\"type\":\"image\"}],\"role\":\"user\"},"
        "{\"content\":[{\"signature\":\"sig\",\"thinking\":\"hm\",\"type\":\"thinking\"},{\"text\":\"I look.\",\"type\":\"text\"},"
        "{\"id\":\"t1\",\"input\":{\"a\":2,\"b\":1},\"name\":\"read\",\"type\":\"tool_use\"},"
        "{\"cache_control\":{\"type\":\"ephemeral\"},\"id\":\"t2\",\"input\":{},\"name\":\"now\",\"type\":\"tool_use\"}],\"role\":\"assistant\"},"
        "{\"content\":[{\"content\":\"text\",\"tool_use_id\":\"t1\",\"type\":\"tool_result\"},"
        "{\"content\":[{\"text\":\"no\",\"type\":\"text\"}],\"is_error\":true,\"tool_use_id\":\"t2\",\"type\":\"tool_result\"},"
        "{\"text\":\"hurry\",\"type\":\"text\"},{\"cache_control\":{\"type\":\"ephemeral\"},\"text\":\"and now?\",\"type\":\"text\"}],\"role\":\"user\"}]";
    world w;
    char *first, *second;

    world_open(&w);
    says(&w, 200, NULL, START TEXT("0", "ok") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, loop), PAWL_OK);
    body_has(&w, "/messages", expected);
    body_has(&w, "/system", "[{\"cache_control\":{\"type\":\"ephemeral\"},\"text\":\"Be brief.\",\"type\":\"text\"}]");
    body_has(&w, "/tools/1", "{\"cache_control\":{\"type\":\"ephemeral\"},\"input_schema\":{\"type\":\"object\"},\"name\":\"now\"}");
    body_has(&w, "/max_tokens", "100");
    body_has(&w, "/temperature", "0.5");
    body_has(&w, "/stop_sequences", "[\"END\"]");
    first = model_heard(&w.s);
    CHECK(strstr(first, "\r\nx-api-key: " KEY "\r\n") != NULL && strstr(first, "\r\nanthropic-version: 2023-06-01\r\n") != NULL);
    CHECK(strstr(first, "Authorization:") == NULL);
    CHECK_INT(ask(&w, loop), PAWL_OK);
    second = model_heard(&w.s);
    CHECK_STR(second, first);           /* to the byte */
    free(first);
    free(second);
    world_close(&w);
}

/* A model says a blank text, and what it says is sent back for as long as the conversation goes on. */
PAWL_TEST(test_what_the_api_would_refuse_is_not_sent)
{
    world w;

    world_open(&w);
    says(&w, 200, NULL, START TEXT("0", "ok") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, "\"model\":\"anthropic/claude\",\"cache\":false,\"system\":\" \\n\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},"
                      "{\"role\":\"assistant\",\"content\":\" \\n\\n\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go\"},{\"type\":\"text\",\"text\":\" \"}]},"
                      "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\\n\\n\"},{\"type\":\"tool_use\",\"id\":\"functions.read:0\",\"name\":\"read\",\"input\":{}}]},"
                      "{\"role\":\"tool\",\"tool_call_id\":\"functions.read:0\",\"name\":\"read\",\"content\":[{\"type\":\"text\",\"text\":\"\\n\"}]}]"),
              PAWL_OK);
    body_has(&w, "/messages", "[{\"content\":[{\"text\":\"hi\",\"type\":\"text\"},{\"text\":\"go\",\"type\":\"text\"}],\"role\":\"user\"},"
                              "{\"content\":[{\"id\":\"functions_read_0\",\"input\":{},\"name\":\"read\",\"type\":\"tool_use\"}],\"role\":\"assistant\"},"
                              "{\"content\":[{\"content\":[],\"tool_use_id\":\"functions_read_0\",\"type\":\"tool_result\"}],\"role\":\"user\"}]");
    CHECK(pawl_value_get(sent_to(&w, true), "system") == NULL);
    world_close(&w);
}

PAWL_TEST(test_marks_can_be_left_out_and_more_of_a_conversation_keeps_its_beginning)
{
    world w;
    char *first, *second, *cut;

    world_open(&w);
    says(&w, 200, NULL, START TEXT("0", "ok") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A ",\"cache\":false,\"system\":\"s\""), PAWL_OK);
    sent_to(&w, true);
    first = model_heard(&w.s);
    CHECK(strstr(first, "cache_control") == NULL);
    CHECK_INT(ask(&w, "\"cache\":false,\"system\":\"s\",\"model\":\"anthropic/claude\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},"
                      "{\"role\":\"assistant\",\"content\":\"ho\"},{\"role\":\"user\",\"content\":\"he\"}]"), PAWL_OK);
    sent_to(&w, true);
    second = model_heard(&w.s);
    CHECK((cut = strstr(first, "}],\"stream\"")) != NULL);
    *cut = '\0';
    cut = strstr(first, "\r\n\r\n");
    CHECK(strstr(second, cut) != NULL);
    free(first);
    free(second);
    world_close(&w);
}

PAWL_TEST(test_layers_of_arguments_are_one_request)
{
    world w;

    world_open(&w);
    says(&w, 200, NULL, START TEXT("0", "ok") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, "\"config\":{\"model\":\"anthropic/claude\",\"max_tokens\":7,\"cache\":false},\"system\":[\"one\",\"two\"],\"max_tokens\":9,"
                      "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"then\":\"sum it up\""), PAWL_OK);
    body_has(&w, "/max_tokens", "9");
    body_has(&w, "/system", "[{\"text\":\"one\\n\\ntwo\",\"type\":\"text\"}]");
    body_has(&w, "/messages", "[{\"content\":[{\"text\":\"hi\",\"type\":\"text\"},{\"text\":\"sum it up\",\"type\":\"text\"}],\"role\":\"user\"}]");
    CHECK_INT(ask(&w, "\"model\":\"anthropic/claude\",\"cache\":false,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"ho\"},"
                      "{\"role\":\"user\",\"content\":\"new\"}],\"then\":\"sum it up\",\"upto\":2"), PAWL_OK);
    body_has(&w, "/messages", "[{\"content\":[{\"text\":\"hi\",\"type\":\"text\"}],\"role\":\"user\"},{\"content\":[{\"text\":\"ho\",\"type\":\"text\"}],\"role\":\"assistant\"},"
                              "{\"content\":[{\"text\":\"sum it up\",\"type\":\"text\"}],\"role\":\"user\"}]");
    world_close(&w);
}

PAWL_TEST(test_choices_of_tools_and_thinking_are_sent)
{
    static const struct { const char *args, *path, *is; } all[] = {
        { ",\"tool_choice\":\"any\"", "/tool_choice", "{\"type\":\"any\"}" }, { ",\"tool_choice\":\"none\"", "/tool_choice", "{\"type\":\"none\"}" },
        { ",\"tool_choice\":\"auto\"", "/tool_choice", "{\"type\":\"auto\"}" },
        { ",\"tool_choice\":\"t\"", "/tool_choice", "{\"name\":\"t\",\"type\":\"tool\"}" },
        { ",\"thinking\":{\"budget_tokens\":2000}", "/thinking", "{\"budget_tokens\":2000,\"type\":\"enabled\"}" },
        { ",\"thinking\":{\"budget_tokens\":2000}", "/max_tokens", "10192" },
    };
    char args[512];
    world w;

    world_open(&w);
    says(&w, 200, NULL, START TEXT("0", "ok") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(args, sizeof args, ASK_A ",\"tools\":[{\"name\":\"t\",\"input_schema\":{\"type\":\"object\"}}]%s", all[i].args);
        CHECK_INT(ask(&w, args), PAWL_OK);
        body_has(&w, all[i].path, all[i].is);
    }
    world_close(&w);
}

/* ---- typed values ---------------------------------------------------------------------------------------------------- */

#define OUTPUT(json) START BEGIN("0", "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"output\",\"input\":{}}")                                        \
                     DELTA("0", "{\"type\":\"input_json_delta\",\"partial_json\":\"" json "\"}") END("0") STOP("tool_use", "1")
#define SCHEMA ",\"schema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"

PAWL_TEST(test_a_typed_value_is_asked_for_and_checked)
{
    world w;

    world_open(&w);
    says(&w, 200, NULL, OUTPUT("{\\\"n\\\":7}"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A SCHEMA), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK_STR(said(&w.h, "/stop"), "end_turn");
    content_is(&w, "[{\"text\":\"{\\\"n\\\":7}\",\"type\":\"text\"}]");
    body_has(&w, "/tool_choice", "{\"name\":\"output\",\"type\":\"tool\"}");
    body_has(&w, "/tools/0/input_schema/required", "[\"n\"]");
    says(&w, 200, NULL, OUTPUT("{\\\"n\\\":\\\"seven\\\"}"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A SCHEMA), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "Invalid response: output/n", 26) == 0 || strstr(text_of(&w), "n") != NULL);
    says(&w, 200, NULL, OUTPUT("{\\\"value\\\":[1,2]}"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A ",\"schema\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/n\"},\"$defs\":{\"n\":{\"type\":\"integer\"}}}"), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/1"), 2);
    body_has(&w, "/tools/0/input_schema/$defs", "{\"n\":{\"type\":\"integer\"}}");
    says(&w, 200, NULL, START TEXT("0", "no") STOP("end_turn", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A SCHEMA ",\"thinking\":{\"budget_tokens\":1024}"), PAWL_TRANSIENT);
    body_has(&w, "/tool_choice", "{\"type\":\"auto\"}");
    says(&w, 200, NULL, START TEXT("0", "no") STOP("refusal", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A SCHEMA), PAWL_OK);
    CHECK_STR(said(&w.h, "/stop"), "refusal");
    CHECK(pawl_value_get(w.h.value, "output") == NULL);
    says(&w, 200, NULL, TOOL("{}") STOP("tool_use", "1"), 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A SCHEMA ",\"tools\":[{\"name\":\"read\",\"input_schema\":{\"type\":\"object\"}}]"), PAWL_OK);
    body_has(&w, "/tool_choice", "{\"type\":\"any\"}");
    CHECK_STR(said(&w.h, "/stop"), "tool_use");
    CHECK(pawl_value_get(w.h.value, "output") == NULL);
    world_close(&w);
}

PAWL_TEST(test_memory_may_end_at_any_call)
{
    heap mem;
    world w;

    world_open(&w);
    heap_init(&mem);
    says(&w, 200, NULL, rich, 100, MODEL_WHOLE);
    for (size_t n = 0;; n++) {
        const pawl_alloc alloc = heap_alloc(&mem), before = w.h.reply.alloc;
        pawl_reply r;
        pawl_code rc;

        CHECK_INT(ask(&w, loop), PAWL_OK);      /* a connection is kept, and the arguments are there */
        reply_init(&r, &alloc);
        heap_fail_at(&mem, n);
        rc = hand_call(&w.h, pawl_effect_llm, &r, &w.own);
        if (!mem.fired || rc != PAWL_NOMEM) {   /* what is told may be lost without harm: the answer is the same */
            CHECK_INT(rc, PAWL_OK);
            CHECK_BYTES(r.text.data, r.text.size, w.h.reply.text.data, w.h.reply.text.size);
        }
        reply_free(&r);
        heap_check(&mem);
        w.h.reply.alloc = before;
        if (!mem.fired)
            break;
    }
    world_close(&w);
}

enum { WORDS = 10240, WORD = 1000 };

static char letter(size_t at)
{
    return (char)('a' + (at / WORD + at % WORD) % 26);
}

/* WORDS events; each has a part of one text, as a member of `delta` behind `lead`. */
static void put_words(buf *b, const char *index, const char *lead)
{
    for (size_t i = 0; i < WORDS; i++) {
        buf_fmt(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%s,\"delta\":{%s", index, lead);
        for (size_t k = 0; k < WORD; k++)
            buf_char(b, letter(i * WORD + k));
        buf_text(b, "\"}}\n\n");
    }
}

static void words_are(const pawl_value *v)
{
    const char *text = pawl_value_string(v);
    size_t at = 0;

    CHECK_INT(pawl_value_size(v), WORDS * WORD);
    while (at < WORDS * WORD && text[at] == letter(at))
        at++;
    CHECK_INT(at, WORDS * WORD);
}

/* Ten of text, and ten of what a tool is called with. */
PAWL_TEST(test_an_answer_of_ten_megabytes_is_whole)
{
    world w;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, START BEGIN("0", "{\"type\":\"text\",\"text\":\"\"}"));
    put_words(&b, "0", "\"type\":\"text_delta\",\"text\":\"");
    buf_text(&b, END("0") BEGIN("1", "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"write\",\"input\":{}}"));
    buf_text(&b, DELTA("1", "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"content\\\":\\\"\"}"));
    put_words(&b, "1", "\"type\":\"input_json_delta\",\"partial_json\":\"");
    buf_text(&b, DELTA("1", "{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"}\"}") END("1") STOP("tool_use", "50"));
    buf_char(&b, '\0');
    CHECK(!b.failed);
    world_open(&w);
    says(&w, 200, NULL, b.data, 100000, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A), PAWL_OK);
    words_are(pawl_value_find(w.h.value, "/message/content/0/text"));
    words_are(pawl_value_find(w.h.value, "/message/content/1/input/content"));
    CHECK_STR(said(&w.h, "/stop"), "tool_use");
    world_close(&w);
    buf_free(&b);
}

PAWL_TEST(test_A9_usage_that_cannot_be_read_is_no_cost)
{
    static const struct { const char *start, *stop; bool costs; } all[] = {
        { "\"input_tokens\":10,\"output_tokens\":1", "\"output_tokens\":50", true },
        { "\"input_tokens\":10,\"cache_read_input_tokens\":null,\"output_tokens\":1", "\"input_tokens\":null,\"output_tokens\":50", true },
        { "\"output_tokens\":1", "\"output_tokens\":50", false }, { "\"input_tokens\":10", "\"x\":1", false }, { "", "", false },
        { "\"input_tokens\":\"10\",\"output_tokens\":1", "\"output_tokens\":50", false },
        { "\"input_tokens\":10,\"output_tokens\":1", "\"output_tokens\":5.0", false },
        { "\"input_tokens\":10,\"output_tokens\":1", "\"output_tokens\":-5", false },
        { "\"input_tokens\":10,\"output_tokens\":1", "\"output_tokens\":9007199254740993", false },
        { "\"input_tokens\":18446744073709551615,\"output_tokens\":1", "\"output_tokens\":5", false },
        { "\"input_tokens\":10,\"cache_read_input_tokens\":\"5\",\"output_tokens\":1", "\"output_tokens\":50", false },
    };
    world w;
    char text[2048];

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, EV("message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{%s}}}") TEXT("0", "x")
                 EV("message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{%s}}")
                 EV("message_stop", "{\"type\":\"message_stop\"}"), all[i].start, all[i].stop);
        says(&w, 200, NULL, text, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_A), PAWL_OK);
        CHECK_INT(w.h.reply.costs, all[i].costs);
        CHECK_INT(w.h.reply.tokens, all[i].costs ? 60 : 0);
    }
    world_close(&w);
}

int main(int argc, char **argv)
{
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    return check_main(argc, argv);
}
