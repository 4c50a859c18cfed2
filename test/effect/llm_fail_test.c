/* llm_fail_test.c - models that refuse, stumble, hang or are called off; and what is refused before anybody is asked. */
#include "effect/modeling.h"
#include "net/sse.h"

#include <fcntl.h>
#include <strings.h>

#define JSON "Content-Type: application/json\r\n"
#define A_ERROR(type, text) "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"" text "\"}}"
#define A_START EV("message_start", "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10}}}")
#define A_TEXT "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"So \"}}\n\n"
#define O_ERROR(type, code) "{\"error\":{\"message\":\"no\",\"type\":\"" type "\",\"param\":null,\"code\":\"" code "\"}}"
#define O_WHOLE CH("{\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}") CH("[DONE]")

typedef struct refusal {
    const char *args;
    int status;
    const char *head, *body;
    pawl_code code;
    const char *text;
    int64_t retry_after_ms;
} refusal;

static void are_refused(const refusal *all, size_t n)
{
    world w;

    world_open(&w);
    for (size_t i = 0; i < n; i++) {
        const refusal *one = &all[i];

        says(&w, one->status, one->head, one->body, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, one->args), one->code);
        CHECK_STR(text_of(&w), one->text);
        CHECK_INT(w.h.reply.retry_after_ms, one->retry_after_ms);
        CHECK(!w.h.reply.untouched);
    }
    world_close(&w);
}

PAWL_TEST(test_E7_refusals_are_told_apart_by_status_and_word)
{
    static const refusal all[] = {
        { ASK_A, 400, JSON, A_ERROR("invalid_request_error", "bad"), PAWL_INVALID, "API error: 400 invalid_request_error: bad", 0 },
        { ASK_A, 401, JSON, A_ERROR("authentication_error", "who"), PAWL_DENIED, "API error: 401 authentication_error: who", 0 },
        { ASK_A, 402, JSON, A_ERROR("billing_error", "pay"), PAWL_DENIED, "API error: 402 billing_error: pay", 0 },
        { ASK_A, 403, JSON, A_ERROR("permission_error", "no"), PAWL_DENIED, "API error: 403 permission_error: no", 0 },
        { ASK_A, 404, JSON, A_ERROR("not_found_error", "model"), PAWL_INVALID, "API error: 404 not_found_error: model", 0 },
        { ASK_A, 408, JSON, "", PAWL_TRANSIENT, "API error: 408", 0 },
        { ASK_A, 409, JSON, A_ERROR("conflict_error", "x"), PAWL_TRANSIENT, "API error: 409 conflict_error: x", 0 },
        { ASK_A, 413, JSON, A_ERROR("request_too_large", "x"), PAWL_LIMIT, "Context exceeded: 413 request_too_large: x", 0 },
        { ASK_A, 429, JSON "Retry-After: 7\r\n", A_ERROR("rate_limit_error", "slow"), PAWL_TRANSIENT, "Rate limited: 429 rate_limit_error: slow", 7000 },
        { ASK_A, 429, JSON, "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"spent\",\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}}}",
          PAWL_DENIED, "API error: 429 rate_limit_error enforced_spend_limit_reached: spent", 0 },
        { ASK_A, 500, JSON, A_ERROR("api_error", "oh"), PAWL_TRANSIENT, "API error: 500 api_error: oh", 0 },
        { ASK_A, 504, JSON, A_ERROR("timeout_error", "late"), PAWL_TRANSIENT, "API error: 504 timeout_error: late", 0 },
        { ASK_A, 529, JSON "retry-after-ms: 1500\r\nRetry-After: 7\r\n", A_ERROR("overloaded_error", "full"), PAWL_TRANSIENT,
          "API error: 529 overloaded_error: full", 1500 },
        { ASK_A, 502, "Content-Type: text/html\r\n", "<html>\xff</html>", PAWL_TRANSIENT, "API error: 502", 0 },
        { ASK_A, 302, "Location: http://127.0.0.1:1/\r\n", "", PAWL_INVALID, "API error: 302", 0 },
        { ASK_A, 500, JSON "x-should-retry: false\r\n", A_ERROR("api_error", "never"), PAWL_INVALID, "API error: 500 api_error: never", 0 },
        { ASK_A, 429, JSON "x-should-retry: false\r\n", A_ERROR("rate_limit_error", "never"), PAWL_DENIED, "API error: 429 rate_limit_error: never", 0 },
        { ASK_A, 400, JSON "x-should-retry: true\r\n", A_ERROR("invalid_request_error", "again"), PAWL_TRANSIENT, "API error: 400 invalid_request_error: again",
          0 },
        { ASK_O, 429, JSON "retry-after-ms: 20\r\n", O_ERROR("requests", "rate_limit_exceeded"), PAWL_TRANSIENT,
          "Rate limited: 429 requests rate_limit_exceeded: no", 20 },
        { ASK_O, 429, JSON, O_ERROR("", "slow_down"), PAWL_TRANSIENT, "Rate limited: 429 slow_down: no", 0 },
        { ASK_O, 429, JSON, O_ERROR("insufficient_quota", "insufficient_quota"), PAWL_DENIED, "API error: 429 insufficient_quota: no", 0 },
        { ASK_O, 429, JSON, O_ERROR("", "credit_balance_exhausted"), PAWL_DENIED, "API error: 429 credit_balance_exhausted: no", 0 },
        { ASK_O, 429, JSON, O_ERROR("", "project_spend_limit_exceeded"), PAWL_DENIED, "API error: 429 project_spend_limit_exceeded: no", 0 },
        { ASK_O, 429, JSON, O_ERROR("", "organization_usage_limit_exceeded"), PAWL_DENIED, "API error: 429 organization_usage_limit_exceeded: no", 0 },
        { ASK_O, 429, JSON, O_ERROR("exceeded_current_quota_error", ""), PAWL_DENIED, "API error: 429 exceeded_current_quota_error: no", 0 },
        { ASK_O, 400, JSON, O_ERROR("invalid_request_error", "tool_use_failed"), PAWL_TRANSIENT,
          "API error: 400 invalid_request_error tool_use_failed: no", 0 },
        { ASK_O, 503, JSON, O_ERROR("server_error", "server_is_overloaded"), PAWL_TRANSIENT, "API error: 503 server_error server_is_overloaded: no", 0 },
        { ASK_O, 400, JSON, O_ERROR("invalid_request_error", "context_length_exceeded"), PAWL_LIMIT,
          "Context exceeded: 400 invalid_request_error context_length_exceeded: no", 0 },
        { ASK_O, 401, JSON, "{\"error\":{\"message\":\"wrong key: " KEY ".\"}}", PAWL_DENIED, "API error: 401: wrong key: **********************.", 0 },
        { ASK_O, 400, JSON, "[{\"error\":{\"message\":\"a list\",\"code\":400}}]", PAWL_INVALID, "API error: 400: a list", 0 },
        { ASK_O, 500, JSON, "{\"message\":\"two\\nlines\"}", PAWL_TRANSIENT, "API error: 500: two?lines", 0 },
        { ASK_O, 404, JSON, "{\"detail\":\"Not Found\"}", PAWL_INVALID, "API error: 404: Not Found", 0 },
        /* of status 200, and no stream */
        { ASK_O, 200, NULL, "{\"error\":{\"message\":\"no such model\",\"code\":404}}", PAWL_INVALID, "API error: 404: no such model", 0 },
        { ASK_O, 200, JSON, "{\"object\":\"error\",\"message\":\"no such model\",\"code\":404}", PAWL_INVALID, "API error: 404: no such model", 0 },
        { ASK_O, 200, JSON, "{\"error\":{\"message\":\"busy\",\"code\":503}}", PAWL_TRANSIENT, "API error: 503: busy", 0 },
        { ASK_O, 200, JSON, "{\"choices\":[]}", PAWL_TRANSIENT, "Invalid response: no stream of events", 0 },
        { ASK_A, 200, "Content-Type: text/html\r\n", "<html>log in</html>", PAWL_TRANSIENT, "Invalid response: no stream of events", 0 },
        { ASK_A, 200, "Content-Type: text/html\r\n", "", PAWL_TRANSIENT, "Invalid response: it ended before message_stop", 0 },
        /* in the middle of a stream */
        { ASK_A, 200, NULL, A_START A_TEXT EV("error", A_ERROR("overloaded_error", "full")), PAWL_TRANSIENT, "API error: overloaded_error: full", 0 },
        { ASK_A, 200, NULL, A_START A_TEXT EV("error", A_ERROR("api_error", "oh")), PAWL_TRANSIENT, "API error: api_error: oh", 0 },
        { ASK_A, 200, NULL, A_START A_TEXT EV("error", A_ERROR("rate_limit_error", "slow")), PAWL_TRANSIENT, "Rate limited: rate_limit_error: slow", 0 },
        { ASK_A, 200, NULL, A_START A_TEXT EV("error", A_ERROR("of_tomorrow", "what")), PAWL_TRANSIENT, "API error: of_tomorrow: what", 0 },
        { ASK_A, 200, NULL, A_START A_TEXT EV("error", A_ERROR("billing_error", "pay")), PAWL_DENIED, "API error: billing_error: pay", 0 },
        { ASK_A, 200, NULL, EV("error", A_ERROR("overloaded_error", KEY)), PAWL_TRANSIENT, "API error: overloaded_error: **********************", 0 },
    };

    are_refused(all, sizeof all / sizeof *all);
}

/* As those say it who have models. */
PAWL_TEST(test_more_than_the_model_takes_is_told_as_that)
{
    static const refusal all[] = {
        { ASK_A, 400, JSON, A_ERROR("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), PAWL_LIMIT,
          "Context exceeded: 400 invalid_request_error: prompt is too long: 208310 tokens > 200000 maximum", 0 },
        { ASK_A, 400, JSON, A_ERROR("invalid_request_error", "input length and `max_tokens` exceed context limit: 199658 + 8192 > 200000"), PAWL_LIMIT,
          "Context exceeded: 400 invalid_request_error: input length and `max_tokens` exceed context limit: 199658 + 8192 > 200000", 0 },
        { ASK_O, 400, JSON, "{\"object\":\"error\",\"message\":\"This model's maximum context length is 4096 tokens.\",\"type\":\"BadRequestError\",\"code\":400}", PAWL_LIMIT,
          "Context exceeded: 400 BadRequestError: This model's maximum context length is 4096 tokens.", 0 },
        { ASK_O, 400, JSON, "{\"error\":\"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens\"}",
          PAWL_LIMIT, "Context exceeded: 400: Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens", 0 },
        { ASK_O, 400, JSON, "{\"error\":{\"message\":\"the input length exceeds the context length\",\"type\":\"invalid_request_error\"}}", PAWL_LIMIT,
          "Context exceeded: 400 invalid_request_error: the input length exceeds the context length", 0 },
        { ASK_O, 400, JSON, "{\"error\":{\"message\":\"Your request exceeded model token limit: 131072\",\"type\":\"invalid_request_error\"}}", PAWL_LIMIT,
          "Context exceeded: 400 invalid_request_error: Your request exceeded model token limit: 131072", 0 },
        { ASK_O, 400, JSON, "{\"object\":\"error\",\"message\":\"The input (9000 tokens) is longer than the model's context length (8192 tokens).\",\"code\":400}", PAWL_LIMIT,
          "Context exceeded: 400: The input (9000 tokens) is longer than the model's context length (8192 tokens).", 0 },
        { ASK_O, 400, JSON, "{\"error\":{\"code\":400,\"message\":\"too big\",\"type\":\"exceed_context_size_error\",\"n_ctx\":4096}}", PAWL_LIMIT,
          "Context exceeded: 400 exceed_context_size_error: too big", 0 },
        { ASK_O, 200, JSON, O_ERROR("", "context_length_exceeded"), PAWL_LIMIT, "Context exceeded: context_length_exceeded: no", 0 },
        { ASK_A, 200, NULL, EV("error", A_ERROR("invalid_request_error", "Prompt is too long")), PAWL_LIMIT,
          "Context exceeded: invalid_request_error: Prompt is too long", 0 },
        { ASK_O, 400, JSON, "{\"error\":{\"message\":\"max_tokens is too large: 9000\",\"type\":\"invalid_request_error\"}}", PAWL_INVALID,
          "API error: 400 invalid_request_error: max_tokens is too large: 9000", 0 },
        { ASK_O, 503, JSON, "{\"error\":{\"message\":\"no room for that context size now\"}}", PAWL_TRANSIENT,
          "API error: 503: no room for that context size now", 0 },
    };

    are_refused(all, sizeof all / sizeof *all);
}

PAWL_TEST(test_a_refusal_that_passes_does_not_come_again)
{
    const model_script two[] = { { .status = 429, .head = JSON "Retry-After: 1\r\n", .body = O_ERROR("", "rate_limit_exceeded") }, { .body = O_WHOLE } };
    world w;

    world_open(&w);
    model_says(&w.s, two, 2);
    CHECK_INT(ask(&w, ASK_O), PAWL_TRANSIENT);
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    CHECK_INT(w.s.requests, 2);         /* nothing was tried again in between */
    world_close(&w);
}

PAWL_TEST(test_A8_what_was_cut_off_is_paid_for)
{
    world w;

    world_open(&w);
    says(&w, 200, NULL, A_START A_TEXT, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A), PAWL_TRANSIENT);
    CHECK(w.h.reply.costs);
    CHECK_INT(w.h.reply.tokens, 10);
    CHECK_INT(w.h.reply.micros, 30);
    says(&w, 529, JSON, "", 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_A), PAWL_TRANSIENT);
    CHECK(!w.h.reply.costs);
    world_close(&w);
}

PAWL_TEST(test_no_key_is_in_the_words_of_a_refusal_however_they_are_cut)
{
    world w;
    buf b;

    world_open(&w);
    for (size_t n = 1960; n < 2010; n++) {
        buf_init(&b, NULL);
        for (size_t i = 0; i < n; i++)
            buf_char(&b, 'x');
        buf_text(&b, KEY " and more");
        buf_char(&b, '\0');
        says(&w, 500, "Content-Type: text/plain\r\n", b.data, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_O), PAWL_TRANSIENT);
        buf_char(&w.h.reply.detail, '\0');
        CHECK(strstr(w.h.reply.detail.data, "sk-01") == NULL);
        buf_free(&b);
    }
    world_close(&w);
}

/* A server that echoes the header, or a part of it, as "user:KEY" in base64 or KEY in hex. */
PAWL_TEST(test_K4_no_key_is_in_the_words_of_a_refusal_in_another_code)
{
    static const struct { const char *text, *left; } all[] = {
        { "c2stMDEyMy1ub3QtdG8tYmUtdG9sZA==", "sk-0123" },                                  /* KEY */
        { "dTpzay0wMTIzLW5vdC10by1iZS10b2xk", "u:KEY" },
        { "dXM6c2stMDEyMy1ub3QtdG8tYmUtdG9sZA==", "us:KEY" },
        { "QmVhcmVyIHNrLTAxMjMtbm90LXRvLWJlLXRvbGQ=", "Bearer KEY" },
        { "736b2d303132332d6e6f742d746f2d62652d746f6c64", "hex" },
        { "736B2D303132332D6E6F742D746F2D62652D746F6C64", "HEX" },
    };
    char body[200], middle[17] = "";
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t n = strlen(all[i].text);

        memcpy(middle, all[i].text + (n - 16) / 2, 16);     /* it is of the key alone */
        snprintf(body, sizeof body, "{\"error\":{\"message\":\"you said %s: no.\"}}", all[i].text);
        says(&w, 401, JSON, body, 0, MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_O), PAWL_DENIED);
        buf_char(&w.h.reply.detail, '\0');
        CHECK(strstr(text_of(&w), "you said ") != NULL && strstr(text_of(&w), ": no.") != NULL);
        if (strstr(text_of(&w), middle) != NULL || strstr(w.h.reply.detail.data, middle) != NULL)
            CHECK_FAIL("%s: %s\n%s", all[i].left, text_of(&w), w.h.reply.detail.data);
    }
    world_close(&w);
}

/* ---- time ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_E8_a_model_that_says_nothing_is_a_timeout)
{
    world w;

    world_open(&w);
    w.own.first_ms = 30;
    says(&w, 200, NULL, "", 0, MODEL_HANGS);
    CHECK_INT(ask(&w, ASK_A), PAWL_TIMEOUT);
    CHECK_STR(text_of(&w), "Request timed out: anthropic: no answer for 30 ms");
    w.own.first_ms = 0;
    w.own.idle_ms = 30;
    says(&w, 200, NULL, A_START A_TEXT, 0, MODEL_HANGS);
    CHECK_INT(ask(&w, ASK_A), PAWL_TIMEOUT);
    CHECK_STR(text_of(&w), "Request timed out: anthropic: its answer stopped for 30 ms");
    CHECK_INT(w.h.reply.tokens, 10);
    w.own.idle_ms = 0;
    w.h.job.deadline_ms = epoch_ms() + 40;
    CHECK_INT(ask(&w, ASK_A), PAWL_TIMEOUT);
    CHECK_STR(text_of(&w), "Request timed out: anthropic: no whole answer");
    world_close(&w);
}

PAWL_TEST(test_an_answer_that_is_whole_is_not_waited_out)
{
    world w;

    world_open(&w);
    w.own.idle_ms = 600000;
    says(&w, 200, NULL, O_WHOLE, 0, MODEL_HANGS);
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    CHECK_STR(said(&w.h, "/message/content/0/text"), "ok");
    says(&w, 200, NULL, O_WHOLE, 0, MODEL_TORN);        /* the connection dies behind it */
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    world_close(&w);
}

static bool is_canceled(const pawl_job *job)
{
    const world *w = job->ctx;

    return w->words >= w->cancel_after;
}

PAWL_TEST(test_E10_a_model_is_called_off_while_it_speaks)
{
    world w;

    world_open(&w);
    says(&w, 200, NULL, A_START A_TEXT, 0, MODEL_HANGS);
    w.h.job.cancel_fd = w.cancel[0];
    w.cancel_after = 2;                 /* behind its first word */
    CHECK_INT(ask(&w, ASK_A), PAWL_CANCELED);
    CHECK_INT(w.words, 2);
    CHECK(strstr(w.told.data, "{\"text\":\"So \",\"type\":\"text_delta\"}") != NULL);
    w.h.job.cancel_fd = 0;              /* and where there is no descriptor */
    w.h.job.canceled = is_canceled;
    CHECK_INT(ask(&w, ASK_A), PAWL_CANCELED);
    world_close(&w);
}

PAWL_TEST(test_a_server_that_is_not_there_is_transient_and_untouched)
{
    world w;

    world_open(&w);
    net_forget();
    model_server_stop(&w.s);
    CHECK_INT(ask(&w, ASK_A), PAWL_TRANSIENT);
    CHECK(strncmp(text_of(&w), "HTTP error: anthropic: ", 23) == 0);
    CHECK(w.h.reply.untouched);
    model_server_start(&w.s);
    world_close(&w);
}

PAWL_TEST(test_X2_an_event_over_its_limit_ends_the_answer)
{
    char *body = malloc(SSE_EVENT_BYTES_MAX + 100);
    world w;

    CHECK(body != NULL);
    memset(body, 'x', SSE_EVENT_BYTES_MAX + 99);
    memcpy(body, "data: ", 6);
    body[SSE_EVENT_BYTES_MAX + 99] = '\0';
    world_open(&w);
    says(&w, 200, NULL, body, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_O), PAWL_LIMIT);
    CHECK(strncmp(text_of(&w), "Invalid response: an event of the stream is over", 48) == 0);
    world_close(&w);
    free(body);
}

/* ---- before anybody is asked --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_X1_wrong_arguments_are_named_and_nothing_is_sent)
{
    static const struct { const char *args, *text; } all[] = {
        { "\"messages\":[]", "llm: \"model\" is PROVIDER/NAME" },
        { "\"model\":\"claude\"", "llm: \"model\" is PROVIDER/NAME" },
        { "\"model\":\"Anthropic/claude\"", "llm: the provider in \"model\" is in lower case, with digits, - and _" },
        { "\"model\":\"anthropic/claude\"", "llm: \"messages\" is no list, or is empty" },
        { "\"model\":\"anthropic/claude\",\"messages\":[]", "llm: \"messages\" is no list, or is empty" },
        { ASK_A ",\"promt\":1", "llm: no argument \"promt\"" },
        { ASK_A ",\"max_tokens\":-1", "llm: \"max_tokens\" is no whole number from 0 to 100000000" },
        { ASK_A ",\"cache\":1", "llm: \"cache\" is true or false" },
        { ASK_A ",\"thinking\":true", "llm: \"thinking\" is {\"budget_tokens\":N}" },
        { "\"model\":\"script:a.yaml\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]", "llm: nobody here follows \"script:a.yaml\"" },
        { ASK_A ",\"stop\":[\"\"]", "llm: \"stop\" is no list of texts that are not empty" },
        { ASK_A ",\"tool_choice\":\"read\"", "llm: \"tool_choice\" is auto, none, any or a tool, and there is no tool \"read\"" },
        { ASK_A ",\"tools\":[{\"name\":\"x\"}]", "llm: tools[0] has no \"name\", or no \"input_schema\" that is an object" },
        { ASK_A ",\"schema\":{},\"tools\":[{\"name\":\"output\",\"input_schema\":{}}]", "llm: tools[0]: with a \"schema\" no tool can be called \"output\"" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"system\",\"content\":\"x\"}]", "llm: messages[0]: \"role\" is user, assistant or tool" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"user\",\"content\":1}]", "llm: messages[0]: \"content\" is no text and no list of blocks" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", "llm: messages[0].content[0]: \"text\" is no string" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"y\",\"input\":{}}]}]",
          "llm: messages[0].content[0]: a message of role user has no block \"tool_use\"" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"y\",\"input\":[]}]}]",
          "llm: messages[0].content[0]: \"input\" is no object" },
        { "\"model\":\"a/b\",\"messages\":[{\"role\":\"tool\",\"content\":\"x\"}]",
          "llm: messages[0]: the answer of a tool has \"tool_call_id\" and \"name\"" },
        { "\"model\":\"nobody/b\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]",
          "llm: there is no provider \"nobody\"; set NOBODY_BASE_URL to the address of an API like OpenAI's" },
    };
    world w;

    world_open(&w);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_INT(ask(&w, all[i].args), PAWL_INVALID);
        if (strncmp(text_of(&w), all[i].text, strlen(all[i].text)) != 0)
            CHECK_STR(text_of(&w), all[i].text);
        CHECK(w.h.reply.untouched);
        CHECK_INT(w.told.size, 0);
    }
    w.key = NULL;
    CHECK_INT(ask(&w, ASK_A), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: no key for anthropic; set ANTHROPIC_API_KEY");
    w.key = "a\r\nX-Evil: 1";
    CHECK_INT(ask(&w, ASK_O), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: OPENAI_API_KEY has a byte that no key has: a blank, perhaps, or the end of a line");
    snprintf(w.base, sizeof w.base, "file:///etc/passwd");
    CHECK_INT(ask(&w, ASK_O), PAWL_INVALID);
    CHECK_STR(text_of(&w), "llm: OPENAI_BASE_URL is no URL of http or https");
    CHECK_INT(w.s.requests, 0);
    world_close(&w);
}

PAWL_TEST(test_many_calls_leave_no_descriptor)
{
    world w;
    int before;

    world_open(&w);
    says(&w, 200, NULL, O_WHOLE, 0, MODEL_WHOLE);
    CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    before = open_fds();
    for (int i = 0; i < 50; i++) {
        says(&w, 200, NULL, O_WHOLE, 0, i % 3 == 0 ? MODEL_CLOSES : i % 3 == 1 ? MODEL_TORN : MODEL_WHOLE);
        CHECK_INT(ask(&w, ASK_O), PAWL_OK);
    }
    net_forget();
    CHECK(open_fds() <= before);
    world_close(&w);
}

int main(int argc, char **argv)
{
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    return check_main(argc, argv);
}
