/* llm_openai_test.c - OpenAI's API and those like it: what is sent, and what is made of their chunks. */
#include "effect/modeling.h"

#define DELTA(d) CH("{\"id\":\"c\",\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":" d ",\"finish_reason\":null}]}")
#define FINISH(why) CH("{\"id\":\"c\",\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}")
#define USAGE CH("{\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":20}}}")
#define DONE CH("[DONE]")
#define CALL(i, id, name, args) "{\"index\":" i ",\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":\"" args "\"}}"
#define MORE(i, args) "{\"index\":" i ",\"function\":{\"arguments\":\"" args "\"}}"
#define TOOLS(calls) DELTA("{\"tool_calls\":[" calls "]}")

static const char rich[] = DELTA("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}") DELTA("{\"content\":\"5 \xe2\x82\xac\"}")
    DELTA("{\"content\":\" \\ud83d\\ude42\"}") TOOLS(CALL("0", "call_a", "read", "")) TOOLS(MORE("0", "{\\\"path\\\":")) TOOLS(CALL("1", "call_b", "now", ""))
    TOOLS(MORE("0", "\\\"b.c\\\"}")) TOOLS(MORE("1", "{}")) FINISH("tool_calls") USAGE DONE;
static const char rich_content[] = "[{\"text\":\"5 \xe2\x82\xac \xf0\x9f\x99\x82\",\"type\":\"text\"},"
    "{\"id\":\"call_a\",\"input\":{\"path\":\"b.c\"},\"name\":\"read\",\"type\":\"tool_use\"},{\"id\":\"call_b\",\"input\":{},\"name\":\"now\",\"type\":\"tool_use\"}]";

static void content_is(world *w, const char *expected)
{
    value_is(w->h.value, "/message/content", expected);
}

static void body_has(world *w, const char *path, const char *expected)
{
    value_is(sent_to(w, false), path, expected);
}

PAWL_TEST(test_A7_chunks_become_a_message_and_are_told_as_they_come)
{
    world w;
    char *text;

    world_open(&w);
    for (size_t piece = 0; piece < 8; piece++) {
        says(&w, 200, "x-request-id: req_9\r\nContent-Type: text/event-stream\r\n", rich, piece, piece % 2 == 0 ? MODEL_WHOLE : MODEL_CLOSES);
        CHECK_INT(ask(&w, ASK_O), PAWL_OK);
        content_is(&w, rich_content);
        CHECK_STR(said(&w.h, "/stop"), "tool_use");
        CHECK_STR(said(&w.h, "/model"), "gpt-x");
        CHECK_STR(said(&w.h, "/request_id"), "req_9");
        CHECK_INT(number(&w.h, "/usage/input_tokens"), 10);
        CHECK_INT(number(&w.h, "/usage/cache_read_tokens"), 20);
        CHECK_INT(w.h.reply.tokens, 39);
        CHECK_INT(w.h.reply.micros, 30 + 20 + 135);
        CHECK_STR(text = told_of(&w, "text_delta", "text"), "5 \xe2\x82\xac \xf0\x9f\x99\x82");
        free(text);
        CHECK_STR(text = told_of(&w, "tool_delta", "name"), "readnow");
        free(text);
    }
    world_close(&w);
}

PAWL_TEST(test_A7_a_stream_that_is_cut_at_any_byte_is_no_answer)
{
    const char *finished = strstr(rich, "tool_calls\"}]}");     /* from the end of this chunk on nothing is missing but a count */
    const size_t size = sizeof rich - 1, step = check_run_all() ? 1 : 3;
    world w;

    world_open(&w);
    CHECK(finished != NULL);
    for (size_t n = 1; n <= size; n += step) {
        const model_script one = { .body = rich, .size = n, .end = n % 2 == 0 ? MODEL_CLOSES : MODEL_WHOLE };

        model_says(&w.s, &one, 1);
        if (ask(&w, ASK_O) == PAWL_OK) {
            CHECK(n >= (size_t)(finished - rich) + 14);
            content_is(&w, rich_content);
            continue;
        }
        CHECK_INT(w.h.rc, PAWL_TRANSIENT);
        CHECK(strncmp(text_of(&w), "Invalid response: ", 18) == 0);
        CHECK(n < size - 2);
    }
    says(&w, 200, NULL, DELTA("{\"content\":\"x\"}") FINISH("stop"), 0, MODEL_TORN);    /* the connection says that there is more */
    CHECK_INT(ask(&w, ASK_O), PAWL_TRANSIENT);
    world_close(&w);
}

typedef struct others_row { const char *body, *content, *stop; } others_row;

static void are_understood(const others_row *all, size_t n)
{
    world w;

    world_open(&w);
    for (size_t i = 0; i < n; i++) {
        says(&w, 200, NULL, all[i].body, i % 3, MODEL_WHOLE);
        if (ask(&w, "\"model\":\"else-where/org/m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]") != PAWL_OK)
            CHECK_FAIL("%zu: %s", i, text_of(&w));
        content_is(&w, all[i].content);
        CHECK_STR(said(&w.h, "/stop"), all[i].stop);
        CHECK_INT(w.h.reply.tokens, 39);
        CHECK_STR(pawl_value_string(pawl_value_get(sent_to(&w, false), "model")), "org/m");
    }
    world_close(&w);
}

PAWL_TEST(test_what_others_make_of_it_is_understood)
{
    static const others_row all[] = {
        /* no [DONE]; usage in every chunk; comments */
        { ": PROCESSING\n\n" CH("{\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":1}}") ": PROCESSING\n\n"
          CH("{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9}}"),
          "[{\"text\":\"ab\",\"type\":\"text\"}]", "end_turn" },
        /* a whole call in one chunk, its arguments an object, no index, and "stop" */
        { CH("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"read\",\"arguments\":{\"a\":1}}}]},"
             "\"finish_reason\":\"stop\"}]}") USAGE,
          "[{\"id\":\"x\",\"input\":{\"a\":1},\"name\":\"read\",\"type\":\"tool_use\"}]", "tool_use" },
        /* two calls without index, then two that say the same one */
        { DELTA("{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"r\",\"arguments\":\"{}\"}},{\"id\":\"y\",\"function\":{\"name\":\"s\",\"arguments\":\"{}\"}}]}")
          TOOLS(CALL("0", "v", "t", "{\\\"a\\\":")) TOOLS(MORE("0", "1}")) TOOLS(CALL("0", "w", "u", "{}")) FINISH("tool_calls") USAGE DONE,
          "[{\"id\":\"x\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\"},{\"id\":\"y\",\"input\":{},\"name\":\"s\",\"type\":\"tool_use\"},"
          "{\"id\":\"v\",\"input\":{\"a\":1},\"name\":\"t\",\"type\":\"tool_use\"},{\"id\":\"w\",\"input\":{},\"name\":\"u\",\"type\":\"tool_use\"}]",
          "tool_use" },
        /* no ids: they get some; id and name in each chunk of a call */
        { DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"r\",\"arguments\":\"{}\"}},{\"index\":1,\"function\":{\"name\":\"s\",\"arguments\":null}}]}")
          TOOLS(CALL("2", "z", "t", "{")) TOOLS(CALL("2", "z", "t", "}")) FINISH("tool_calls") USAGE DONE,
          "[{\"id\":\"call_1_1\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\"},{\"id\":\"call_1_2\",\"input\":{},\"name\":\"s\",\"type\":\"tool_use\"},"
          "{\"id\":\"z\",\"input\":{},\"name\":\"t\",\"type\":\"tool_use\"}]", "tool_use" },
        /* calls that are all of index 0, each whole, without ids; another id in each piece; one id for two */
        { TOOLS(CALL("0", "", "r", "{\\\"a\\\":1}")) TOOLS(CALL("0", "", "r", "{\\\"a\\\":2}"))
          TOOLS(CALL("0", "", "s", "")) TOOLS(CALL("0", "", "t", "")) FINISH("stop") USAGE DONE,
          "[{\"id\":\"call_1_1\",\"input\":{\"a\":1},\"name\":\"r\",\"type\":\"tool_use\"},{\"id\":\"call_1_2\",\"input\":{\"a\":2},\"name\":\"r\",\"type\":\"tool_use\"},"
          "{\"id\":\"call_1_3\",\"input\":{},\"name\":\"s\",\"type\":\"tool_use\"},{\"id\":\"call_1_4\",\"input\":{},\"name\":\"t\",\"type\":\"tool_use\"}]", "tool_use" },
        { TOOLS(CALL("0", "x1", "r", "")) TOOLS(CALL("0", "x2", "", "{\\\"a\\\":")) TOOLS(CALL("0", "x3", "", "1}")) FINISH("tool_calls") USAGE DONE,
          "[{\"id\":\"x1\",\"input\":{\"a\":1},\"name\":\"r\",\"type\":\"tool_use\"}]", "tool_use" },
        { TOOLS(CALL("0", "x", "r", "{}")) TOOLS(CALL("1", "x", "s", "{\\\"a\\\":")) TOOLS(MORE("1", "1}")) FINISH("tool_calls") USAGE DONE,
          "[{\"id\":\"x\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\"},{\"id\":\"call_1_2\",\"input\":{\"a\":1},\"name\":\"s\",\"type\":\"tool_use\"}]", "tool_use" },
        /* no arguments, as some say it */
        { TOOLS(CALL("0", "x", "r", "null")) FINISH("tool_calls") USAGE DONE,
          "[{\"id\":\"x\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\"}]", "tool_use" },
        /* thoughts */
        { DELTA("{\"reasoning_content\":\"h\",\"content\":null}") DELTA("{\"reasoning_content\":\"m\"}") DELTA("{\"content\":\"x\"}") FINISH("stop") USAGE DONE,
          "[{\"thinking\":\"hm\",\"type\":\"thinking\",\"via\":\"else-where\"},{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { DELTA("{\"reasoning_content\":\"\",\"reasoning\":\"hm\"}") DELTA("{\"content\":\"x\"}") FINISH("stop") USAGE DONE,
          "[{\"thinking\":\"hm\",\"type\":\"thinking\"},{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { DELTA("{\"reasoning\":\"hm\",\"content\":\"\"}") DELTA("{\"content\":\"x\"}") FINISH("stop") USAGE DONE,
          "[{\"thinking\":\"hm\",\"type\":\"thinking\"},{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        /* usage elsewhere; a blank at the end */
        { CH("{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9}}]}")
          CH("[DONE] "),
          "[{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { CH("{\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"x_groq\":{\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":9}}}")
          DONE,
          "[{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        /* a list of blocks; all of it in a message; another choice; the old way of a call */
        { DELTA("{\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\",\"text\":\"y\"}]}") FINISH("stop") USAGE DONE,
          "[{\"text\":\"xy\",\"type\":\"text\"}]", "end_turn" },
        { CH("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"},\"finish_reason\":\"length\"},{\"index\":0,\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}")
          USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { DELTA("{\"function_call\":{\"name\":\"r\",\"arguments\":\"\"}}") DELTA("{\"function_call\":{\"arguments\":\"{}\"}}")
          FINISH("function_call") USAGE DONE,
          "[{\"id\":\"call_1_1\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\"}]", "tool_use" },
    };

    are_understood(all, sizeof all / sizeof *all);
}

PAWL_TEST(test_every_reason_of_others_has_a_name)
{
    static const others_row all[] = {
        { DELTA("{\"content\":\"x\"}") FINISH("length") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "max_tokens" },
        { DELTA("{\"content\":\"x\"}") FINISH("content_filter") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "refusal" },
        { DELTA("{\"refusal\":\"No.\"}") FINISH("stop") USAGE DONE, "[{\"text\":\"No.\",\"type\":\"text\"}]", "refusal" },
        { DELTA("{\"content\":\"x\"}") FINISH("eos") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { DELTA("{\"content\":\"x\"}") FINISH("STOP") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "end_turn" },
        { DELTA("{\"content\":\"x\"}") FINISH("MAX_TOKENS") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "max_tokens" },
        { DELTA("{\"content\":\"x\"}") FINISH("model_length") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "max_tokens" },
        { DELTA("{\"content\":\"x\"}") FINISH("sensitive") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "refusal" },
        { DELTA("{\"content\":\"x\"}") FINISH("model_context_window_exceeded") USAGE DONE, "[{\"text\":\"x\",\"type\":\"text\"}]", "context_exceeded" },
        { TOOLS(CALL("0", "a", "r", "{\\\"x\\\":")) FINISH("length") USAGE DONE, "[{\"id\":\"a\",\"input\":{},\"invalid\":\"{\\\"x\\\":\",\"name\":\"r\",\"type\":\"tool_use\"}]", "max_tokens" },
        { TOOLS(CALL("0", "a", "r", "")) FINISH("length") USAGE DONE, "[{\"id\":\"a\",\"input\":{},\"invalid\":\"\",\"name\":\"r\",\"type\":\"tool_use\"}]", "max_tokens" },
    };

    are_understood(all, sizeof all / sizeof *all);
}

PAWL_TEST(test_X3_chunks_that_are_none_are_refused)
{
    static const struct { const char *body, *why; } all[] = {
        { DELTA("{\"content\":\"x\"}") DONE, "Invalid response: [DONE], and no finish_reason" },
        { DELTA("{\"content\":\"x\"}"), "Invalid response: it ended before a finish_reason" },
        { DELTA("{\"content\":\"x\"}") CH("{\"choices\""), "Invalid response: a chunk that is no JSON, or cut off" },
        { DELTA("{\"content\":\"x\"}") FINISH("stop") "data: {\"choices\":[],\"us", "Invalid response: a chunk that is no JSON, or cut off" },
        { TOOLS("{\"index\":0,\"function\":{\"arguments\":\"{}\"}}") FINISH("tool_calls"), "Invalid response: a tool is called without a name" },
        { DELTA("{\"content\":\"x\"}") CH("{\"error\":{\"message\":\"upstream died\",\"code\":502}}"), "API error: 502: upstream died" },
        { DELTA("{\"content\":\"x\"}") CH("{\"error\":\"busy\"}"), "API error: busy" },
        { DELTA("{\"content\":\"x\"}") CH("{\"error\":{\"message\":\"wait\",\"code\":429}}"), "Rate limited: 429: wait" },
        { DELTA("{\"content\":\"x\"}") EV("error", "{\"message\":\"no\"}"), "API error: no" },
        { DELTA("{\"content\":\"x\"}") CH("{\"object\":\"error\",\"message\":\"it died\",\"type\":\"InternalServerError\",\"code\":500}") DONE,
          "API error: 500 InternalServerError: it died" },
        /* what its server has cut off, and says so, is no answer: of a call of a tool least of all */
        { TOOLS(CALL("0", "a", "r", "{}")) FINISH("insufficient_system_resource") USAGE DONE, "API error: it was cut off: finish_reason insufficient_system_resource" },
        { DELTA("{\"content\":\"x\"}") FINISH("abort") USAGE DONE, "API error: it was cut off: finish_reason abort" },
        { DELTA("{\"content\":\"x\"}") FINISH("error") USAGE DONE, "API error: it was cut off: finish_reason error" },
        { DELTA("{\"content\":\"x\"}") FINISH("network_error"), "API error: it was cut off: finish_reason network_error" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        says(&w, 200, NULL, all[i].body, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_O), PAWL_TRANSIENT);
        CHECK_STR(text_of(&w), all[i].why);
    }
    world_close(&w);
}

PAWL_TEST(test_a_conversation_is_sent_as_the_api_accepts_it)
{
    static const char loop[] = "\"model\":\"openai/gpt\",\"system\":\"Be brief.\",\"max_tokens\":100,\"stop\":[\"END\"],\"tool_choice\":\"any\","
        "\"tools\":[{\"name\":\"read\",\"description\":\"Reads.\",\"input_schema\":{\"type\":\"object\"}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"server_tool_use\",\"id\":\"s\"},{\"type\":\"text\",\"text\":\"I look.\"},"
        "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"read\",\"input\":{\"b\":1,\"a\":2}},{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"read\",\"input\":{}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"name\":\"read\",\"content\":\"text\"},{\"role\":\"tool\",\"tool_call_id\":\"t2\",\"name\":\"read\","
        "\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"aGk=\"}],\"is_error\":true},"
        "{\"role\":\"user\",\"content\":\"well?\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t3\",\"name\":\"read\",\"input\":{}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"t3\",\"name\":\"read\",\"content\":\"\"}]";
    static const char expected[] = "[{\"content\":\"Be brief.\",\"role\":\"system\"},{\"content\":\"one\\ntwo\",\"role\":\"user\"},"
        "{\"content\":\"I look.\",\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"arguments\":\"{\\\"a\\\":2,\\\"b\\\":1}\",\"name\":\"read\"},\"id\":\"t1\",\"type\":\"function\"},"
        "{\"function\":{\"arguments\":\"{}\",\"name\":\"read\"},\"id\":\"t2\",\"type\":\"function\"}]},"
        "{\"content\":\"text\",\"role\":\"tool\",\"tool_call_id\":\"t1\"},{\"content\":\"see\",\"role\":\"tool\",\"tool_call_id\":\"t2\"},"
        "{\"content\":[{\"image_url\":{\"url\":\"data:image/png;base64,aGk=\"},\"type\":\"image_url\"},{\"text\":\"well?\",\"type\":\"text\"}],\"role\":\"user\"},"
        "{\"content\":null,\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"arguments\":\"{}\",\"name\":\"read\"},\"id\":\"t3\",\"type\":\"function\"}]},"
        "{\"content\":\"\",\"role\":\"tool\",\"tool_call_id\":\"t3\"}]";
    world w;
    char *first, *second;

    world_open(&w);
    says(&w, 200, NULL, DELTA("{\"content\":\"ok\"}") FINISH("stop") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, loop), PAWL_OK);
    body_has(&w, "/messages", expected);
    body_has(&w, "/max_completion_tokens", "100");
    body_has(&w, "/tool_choice", "\"required\"");
    body_has(&w, "/tools", "[{\"function\":{\"description\":\"Reads.\",\"name\":\"read\",\"parameters\":{\"type\":\"object\"}},\"type\":\"function\"}]");
    first = model_heard(&w.s);
    CHECK(strstr(first, "\r\nAuthorization: Bearer " KEY "\r\n") != NULL);
    CHECK_INT(ask(&w, loop), PAWL_OK);
    second = model_heard(&w.s);
    CHECK_STR(second, first);
    free(first);
    free(second);
    w.key = NULL;
    CHECK_INT(ask(&w, "\"model\":\"ollama/m\",\"max_tokens\":7,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"), PAWL_OK);
    body_has(&w, "/max_tokens", "7");
    first = model_heard(&w.s);
    CHECK(strstr(first, "Authorization") == NULL);
    free(first);
    world_close(&w);
}

/* Some refuse a conversation in which their thoughts are missing, or what they gave with a call; nobody else takes it. */
PAWL_TEST(test_what_a_provider_wants_back_goes_to_that_provider)
{
    char *told;
    world w;
    buf b;

    world_open(&w);
    says(&w, 200, NULL, DELTA("{\"reasoning_content\":\"so\"}") DELTA("{\"reasoning_content\":\" it is\"}")
         TOOLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"r\",\"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"Ej==\"}}}")
         FINISH("tool_calls") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, "\"model\":\"deep/m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"), PAWL_OK);
    content_is(&w, "[{\"thinking\":\"so it is\",\"type\":\"thinking\",\"via\":\"deep\"},"
                   "{\"extra_content\":{\"google\":{\"thought_signature\":\"Ej==\"}},\"id\":\"a\",\"input\":{},\"name\":\"r\",\"type\":\"tool_use\",\"via\":\"deep\"}]");
    buf_init(&b, NULL);
    canon(&b, pawl_value_find(w.h.value, "/message/content"));
    told = check_copy(b.data, b.size);
    buf_free(&b);
    for (int other = 0; other < 2; other++) {
        buf_init(&b, NULL);
        buf_text(&b, other ? "\"model\":\"other/m\"," : "\"model\":\"deep/m\",");
        buf_text(&b, "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":");
        buf_text(&b, told);
        buf_text(&b, "},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"name\":\"r\",\"content\":\"x\"}]");
        buf_char(&b, '\0');
        CHECK_INT(ask(&w, b.data), PAWL_OK);
        buf_free(&b);
        body_has(&w, "/messages/1", other ? "{\"content\":null,\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"arguments\":\"{}\",\"name\":\"r\"},\"id\":\"a\",\"type\":\"function\"}]}"
            : "{\"content\":null,\"reasoning_content\":\"so it is\",\"role\":\"assistant\",\"tool_calls\":[{\"extra_content\":{\"google\":{\"thought_signature\":\"Ej==\"}},"
              "\"function\":{\"arguments\":\"{}\",\"name\":\"r\"},\"id\":\"a\",\"type\":\"function\"}]}");
    }
    free(told);
    world_close(&w);
}

PAWL_TEST(test_a_query_of_the_address_stands_behind_the_path)
{
    char *sent;
    world w;

    world_open(&w);
    says(&w, 200, NULL, DELTA("{\"content\":\"ok\"}") FINISH("stop") USAGE DONE, 0, MODEL_WHOLE);
    snprintf(w.base, sizeof w.base, "http://127.0.0.1:%d/d/?api-version=v1", w.s.port);
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    CHECK(strncmp(sent = model_heard(&w.s), "POST /d/chat/completions?api-version=v1 HTTP", 44) == 0);
    free(sent);
    world_close(&w);
}

PAWL_TEST(test_a_typed_value_is_asked_for_and_checked)
{
    static const char schema[] = ASK_O ",\"schema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}";
    world w;

    world_open(&w);
    says(&w, 200, NULL, DELTA("{\"content\":\"{\\\"n\\\"\"}") DELTA("{\"content\":\":7}\"}") FINISH("stop") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, schema), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    body_has(&w, "/response_format/json_schema/name", "\"output\"");
    body_has(&w, "/response_format/json_schema/schema/required", "[\"n\"]");
    says(&w, 200, NULL, DELTA("{\"content\":\"{}\"}") FINISH("stop") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, schema), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "Invalid response: output", 24) == 0 && strstr(text_of(&w), "\"n\"") != NULL);
    says(&w, 200, NULL, DELTA("{\"content\":\"Sure!\"}") FINISH("stop") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, schema), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "Invalid response: no value by the schema", 40) == 0);
    CHECK_INT(w.h.reply.tokens, 39);    /* it is paid for */
    says(&w, 200, NULL, DELTA("{\"content\":\"{\\\"n\\\"\"}") FINISH("length") USAGE DONE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, schema), PAWL_TRANSIENT);
    CHECK_STR(text_of(&w), "Invalid response: the value was cut off, at max_tokens");
    world_close(&w);
}

/* ---- servers that do not know a way to ask for a typed value -------------------------------------------------- */

#define NUMBER ",\"schema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"
#define ASK_OF(model) "\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define JSON_HEAD "Content-Type: application/json\r\n"
#define NO(number, text) { .status = number, .head = JSON_HEAD, .body = "{\"error\":{\"message\":\"" text "\"}}" }
#define YES(text) { .body = DELTA("{\"content\":\"" text "\"}") FINISH("stop") USAGE DONE }
#define NO_FORMAT NO(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model")
#define NO_TOOL NO(422, "This model does not support tools")
#define NO_JSON NO(400, "This response_format type is unavailable now")
#define SEVEN "{\\\"n\\\":7}"

static size_t before;           /* requests, when the server was told its scripts */

static size_t requests(const world *w)
{
    return w->s.requests - before;
}

/* The n-th body that was sent since then. */
static const pawl_value *body_at(world *w, size_t n)
{
    const char *body;
    const pawl_value *v;

    n += before;
    CHECK(n < w->s.requests && w->s.sent[n] != NULL);
    CHECK((body = strstr(w->s.sent[n], "\r\n\r\n")) != NULL);
    CHECK((v = value_parse(&w->h.mem, body + 4, strlen(body + 4), "the body", NULL)) != NULL);
    openai_accepts(v);
    return v;
}

static bool prompted(const pawl_value *body)
{
    const char *text = pawl_value_string(pawl_value_find(body, "/messages/0/content"));

    return text != NULL && strstr(text, "JSON Schema") != NULL && strstr(text, "\"required\":[\"n\"]") != NULL;
}

static pawl_code ask_n(world *w, const model_script *all, size_t n, const char *args)
{
    model_says(&w->s, all, n);
    before = w->s.requests;
    return ask(w, args);
}

PAWL_TEST(test_a_server_that_refuses_a_schema_is_asked_by_a_tool)
{
    static const model_script all[] = { NO_FORMAT,
        { .body = TOOLS(CALL("0", "a", "output", SEVEN)) FINISH("tool_calls") USAGE DONE } };
    static const char tools[] = ASK_OF("w/tool-t") ",\"temperature\":1,\"system\":\"Be brief.\",\"stop\":[\"END\"],"
        "\"tools\":[{\"name\":\"read\",\"input_schema\":{\"type\":\"object\"}}]" NUMBER;
    world w;

    world_open(&w);
    CHECK_INT(ask_n(&w, all, 2, ASK_OF("w/tool") NUMBER), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK_STR(said(&w.h, "/stop"), "end_turn");
    CHECK_INT(w.h.reply.tokens, 39);
    CHECK_INT(requests(&w), 2);
    value_is(body_at(&w, 0), "/response_format/type", "\"json_schema\"");
    CHECK(pawl_value_get(body_at(&w, 1), "response_format") == NULL);
    value_is(body_at(&w, 1), "/tool_choice", "{\"function\":{\"name\":\"output\"},\"type\":\"function\"}");
    value_is(body_at(&w, 1), "/tools/0/function/parameters/required", "[\"n\"]");
    CHECK_INT(ask_n(&w, all + 1, 1, ASK_OF("w/tool") NUMBER), PAWL_OK);       /* the next call does not ask in vain */
    CHECK_INT(requests(&w), 1);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK_INT(ask_n(&w, all, 2, ASK_OF("w/tool-other") NUMBER), PAWL_OK);       /* of another model nothing is known */
    CHECK_INT(requests(&w), 2);
    CHECK_INT(ask_n(&w, all, 2, tools), PAWL_OK);       /* the second request has all of the first */
    value_is(body_at(&w, 1), "/tool_choice", "\"required\"");
    value_is(body_at(&w, 1), "/tools/0/function/name", "\"read\"");
    value_is(body_at(&w, 1), "/tools/1/function/name", "\"output\"");
    value_is(body_at(&w, 1), "/messages", "[{\"content\":\"Be brief.\",\"role\":\"system\"},{\"content\":\"hi\",\"role\":\"user\"}]");
    value_is(body_at(&w, 1), "/stop", "[\"END\"]");
    value_is(body_at(&w, 1), "/temperature", "1");
    world_close(&w);
}

PAWL_TEST(test_a_server_that_refuses_tools_too_is_asked_for_json_and_then_in_words)
{
    static const model_script json[] = { NO_FORMAT, NO_TOOL, YES(SEVEN) };
    static const model_script words[] = { NO_FORMAT, NO_TOOL, NO_JSON, YES("```json\\n" SEVEN "\\n```\\n") };
    static const model_script list[] = { NO_FORMAT, NO_TOOL, YES("{\\\"value\\\":[1,2]}") };
    world w;

    world_open(&w);
    CHECK_INT(ask_n(&w, json, 3, ASK_OF("w/json") NUMBER), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    value_is(body_at(&w, 2), "/response_format", "{\"type\":\"json_object\"}");
    CHECK(prompted(body_at(&w, 2)) && pawl_value_get(body_at(&w, 2), "tools") == NULL);
    CHECK_INT(ask_n(&w, words, 4, ASK_OF("w/words") NUMBER), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK(prompted(body_at(&w, 3)) && pawl_value_get(body_at(&w, 3), "response_format") == NULL);
    CHECK_INT(ask_n(&w, words + 3, 1, ASK_OF("w/words") NUMBER), PAWL_OK);
    CHECK_INT(requests(&w), 1);
    CHECK_INT(ask_n(&w, list, 3, ASK_OF("w/list") ",\"schema\":{\"type\":\"array\"}"), PAWL_OK);    /* JSON mode gives objects only */
    value_is(w.h.value, "/output", "[1,2]");
    world_close(&w);
}

PAWL_TEST(test_a_value_that_does_not_match_is_repaired_once)
{
    static const model_script repaired[] = { NO_FORMAT, NO_TOOL, YES("{\\\"n\\\":\\\"x\\\"}"), YES(SEVEN) };
    static const model_script never[] = { NO_FORMAT, NO_TOOL, NO_JSON, YES("Sure!"), YES("Sure!!") };
    static const model_script gone[] = { NO_FORMAT, NO_TOOL, YES("Sure!"), NO(503, "busy") };
    static const model_script unpriced[] = { NO_FORMAT, NO_TOOL, { .body = DELTA("{\"content\":\"no\"}") FINISH("stop") DONE }, YES(SEVEN) };
    const char *told;
    world w;

    world_open(&w);
    CHECK_INT(ask_n(&w, repaired, 4, ASK_OF("w/repair") NUMBER), PAWL_OK);
    CHECK_INT(number(&w.h, "/output/n"), 7);
    CHECK_INT(w.h.reply.tokens, 2 * 39);        /* both answers are paid for */
    CHECK_INT(number(&w.h, "/usage/output_tokens"), 18);
    value_is(body_at(&w, 3), "/messages/2", "{\"content\":\"{\\\"n\\\":\\\"x\\\"}\",\"role\":\"assistant\"}");
    told = pawl_value_string(pawl_value_find(body_at(&w, 3), "/messages/3/content"));
    CHECK(told != NULL && strstr(told, "Invalid response: output") != NULL);
    CHECK_INT(ask_n(&w, never, 5, ASK_OF("w/never") NUMBER), PAWL_TRANSIENT);
    CHECK_INT(requests(&w), 5);
    CHECK(strncmp(text_of(&w), "Invalid response: no value by the schema", 40) == 0);
    CHECK(strstr(text_of(&w), " (also after a request to repair it)") != NULL);
    CHECK_INT(w.h.reply.tokens, 2 * 39);
    CHECK_INT(ask_n(&w, gone, 4, ASK_OF("w/gone") NUMBER), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "API error: 503: busy", 20) == 0);
    CHECK_INT(w.h.reply.costs, false);          /* A9: the whole reservation */
    CHECK_INT(ask_n(&w, unpriced, 4, ASK_OF("w/unpriced") NUMBER), PAWL_OK);
    CHECK_INT(w.h.reply.costs, false);
    world_close(&w);
}

PAWL_TEST(test_other_refusals_are_no_reason_to_ask_in_another_way)
{
    static const model_script none[] = { NO_FORMAT, NO_TOOL, NO_JSON, NO(400, "This response_format type is unavailable now") };
    static const struct { model_script says; pawl_code rc; } all[] = {
        { NO(400, "Invalid schema for response_format 'output': a type is missing"), PAWL_INVALID },
        { NO(400, "temperature is not supported"), PAWL_INVALID },
        { NO(500, "response_format is not supported"), PAWL_TRANSIENT },
        { NO(401, "response_format is not supported"), PAWL_DENIED },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_INT(ask_n(&w, &all[i].says, 1, ASK_OF("w/other") NUMBER), all[i].rc);
        CHECK_INT(requests(&w), 1);
        CHECK(strstr(text_of(&w), "asked for by") == NULL);
    }
    CHECK_INT(ask_n(&w, none, 4, ASK_OF("w/none") NUMBER), PAWL_INVALID);
    CHECK_INT(requests(&w), 4);
    CHECK_STR(text_of(&w), "API error: 400: This response_format type is unavailable now (the value was asked for by the prompt, since the server refuses "
                           "JSON mode)");
    CHECK_INT(ask_n(&w, none, 1, ASK_OF("w/plain")), PAWL_INVALID);       /* no schema, nothing to ask in another way */
    CHECK_INT(requests(&w), 1);
    world_close(&w);
}

PAWL_TEST(test_an_answer_of_ten_megabytes_is_whole)
{
    enum { WORDS = 10240, WORD = 1000 };
    world w;
    buf b;

    buf_init(&b, NULL);
    for (int i = 0; i < WORDS; i++) {
        buf_text(&b, "data: {\"choices\":[{\"delta\":{\"content\":\"");
        for (int k = 0; k < WORD; k++)
            buf_char(&b, (char)('a' + (i + k) % 26));
        buf_text(&b, "\"}}]}\n\n");
    }
    buf_text(&b, FINISH("stop") DONE);
    buf_char(&b, '\0');
    CHECK(!b.failed);
    world_open(&w);
    says(&w, 200, NULL, b.data, 100000, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    CHECK_INT(pawl_value_size(pawl_value_find(w.h.value, "/message/content/0/text")), WORDS * WORD);
    CHECK_INT(w.words, WORDS + 1);
    world_close(&w);
    buf_free(&b);
}

PAWL_TEST(test_A9_usage_that_cannot_be_read_is_no_cost)
{
    static const struct { const char *usage; bool costs; } all[] = {
        { "{\"prompt_tokens\":30,\"completion_tokens\":9}", true },
        { "{\"prompt_tokens\":30,\"completion_tokens\":9,\"prompt_tokens_details\":null}", true },
        { "null", false }, { "{}", false }, { "[]", false }, { "{\"prompt_tokens\":30}", false },
        { "{\"prompt_tokens\":30,\"completion_tokens\":\"9\"}", false },
        { "{\"prompt_tokens\":30,\"completion_tokens\":9.0}", false }, { "{\"prompt_tokens\":-1,\"completion_tokens\":9}", false },
        { "{\"prompt_tokens\":1e300,\"completion_tokens\":9}", false }, { "{\"prompt_tokens\":9007199254740993,\"completion_tokens\":9}", false },
        { "{\"prompt_tokens\":30,\"completion_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":-2}}", false },
    };
    world w;
    char text[1024];

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "%sdata: {\"id\":\"c\",\"choices\":[],\"usage\":%s}\n\n%s", DELTA("{\"content\":\"x\"}") FINISH("stop"), all[i].usage,
                 DONE);
        says(&w, 200, NULL, text, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_O), PAWL_OK);
        CHECK_INT(w.h.reply.costs, all[i].costs);
        CHECK_INT(w.h.reply.tokens, all[i].costs ? 39 : 0);
    }
    world_close(&w);
}

int main(int argc, char **argv)
{
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    return check_main(argc, argv);
}
