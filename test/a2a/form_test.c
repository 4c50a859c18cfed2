/* form_test.c - the forms of A2A: states, errors, messages, requests, times, and what a message becomes. Tables, and properties over a seed. */
#include "a2a/a2a.h"
#include "lib/check.h"
#include "pawl/kernel.h"

#include <stdio.h>
#include <stdlib.h>

static arena mem;
static uint64_t drawn;

static void begin(void)
{
    arena_free(&mem);
    arena_init(&mem, NULL, 4096);
    drawn = check_seed() * 2654435761u + 1;
}

static uint64_t draw(uint64_t below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (drawn >> 33) % below;
}

static const pawl_value *json(const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(&mem, text, strlen(text), "a text", &err);

    if (v == NULL)
        CHECK_FAIL("%s: %s", text, err.text);
    return v;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_N2_every_status_and_wait_has_one_state)
{
    bool reached[A2A_STATES] = { false };

    for (unsigned status = 0; status < A2A_RUN_STATUSES; status++)
        for (unsigned asks = 0; asks < A2A_ASKS; asks++) {
            const a2a_state s = a2a_state_of(status, (a2a_asks)asks);

            CHECK(s < A2A_STATES);
            CHECK(a2a_state_over(s) == (status >= PAWL_STATUS_COMPLETED));      /* a run that is over is a task that is over, and no other */
            CHECK((s == A2A_INPUT_REQUIRED) == (!a2a_state_over(s) && asks == A2A_ASKS_PERSON));
            CHECK((s == A2A_AUTH_REQUIRED) == (!a2a_state_over(s) && asks == A2A_ASKS_SIGNATURE));
            reached[s] = true;
        }
    for (unsigned s = 0; s < A2A_STATES; s++) {
        CHECK(reached[s]);
        CHECK(a2a_state_rests((a2a_state)s) == (s != A2A_SUBMITTED && s != A2A_WORKING));
    }
}

PAWL_TEST(test_names_of_states_are_read_back_in_both_versions)
{
    begin();
    for (unsigned s = 0; s < A2A_STATES; s++)
        for (unsigned v = A2A_0_3; v <= A2A_1_0; v++) {
            const char *name = a2a_state_name((a2a_state)s, (a2a_version)v);

            CHECK_INT(a2a_state_read(value_string(&mem, name, strlen(name))), s);
        }
    CHECK_INT(a2a_state_read(json("8")), A2A_AUTH_REQUIRED);
    CHECK_INT(a2a_state_read(json("9")), A2A_STATES);
    CHECK_INT(a2a_state_read(json("\"done\"")), A2A_STATES);
    CHECK_INT(a2a_state_read(NULL), A2A_STATES);
}

/* ---- errors ------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_errors_have_codes_of_their_own_and_are_json)
{
    begin();
    for (unsigned e = A2A_FINE + 1; e < A2A_ERRORS; e++) {
        const a2a_fault f = { (a2a_error)e, "a.field", "why \"so\"\xC3" };
        buf b;

        for (unsigned k = A2A_FINE + 1; k < e; k++)
            CHECK(a2a_error_code((a2a_error)k) != a2a_error_code((a2a_error)e));
        CHECK(a2a_error_status((a2a_error)e) >= 400);
        CHECK((a2a_error_code((a2a_error)e) > -32100) == (*a2a_error_reason((a2a_error)e) != '\0'));
        for (int form = 0; form < 3; form++) {
            buf_init(&b, NULL);
            if (form < 2)
                a2a_error_put(&b, &f, (a2a_version)form);
            else
                a2a_rest_error_put(&b, &f);
            CHECK(value_parse(&mem, b.data, b.size, "an error", NULL) != NULL);
            buf_free(&b);
        }
    }
}

PAWL_TEST(test_the_first_fault_stays)
{
    a2a_fault f = { A2A_FINE, "", "" };

    CHECK(!a2a_wrong(&f, A2A_INVALID_PARAMS, "x", "first\nline"));
    CHECK(!a2a_wrong(&f, A2A_INTERNAL, NULL, "second"));
    CHECK_INT(f.error, A2A_INVALID_PARAMS);
    CHECK_STR(f.text, "first?line");
    CHECK_STR(f.field, "x");
}

/* ---- messages -------------------------------------------------------------------------------------------------------- */

static const char *digest_of(const char *text)
{
    static char hex[HASH_HEX + 1];
    a2a_fault f = { A2A_FINE, "", "" };
    a2a_message m;

    if (!a2a_message_read(&mem, json(text), &m, &f))
        CHECK_FAIL("%s: %s", text, f.text);
    CHECK(a2a_message_digest(&m, hex));
    return arena_text(&mem, hex);
}

PAWL_TEST(test_a_message_is_the_same_in_every_way_to_write_it)
{
    begin();
    const char *one = digest_of("{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"hi\"},{\"raw\":\"aGk=\",\"filename\":\"f\",\"mediaType\":\"a/b\"},"
                                "{\"url\":\"http://x\"},{\"data\":{\"a\":1}}]}");

    CHECK_STR(one, digest_of("{\"message_id\":\"m\",\"role\":1,\"parts\":[{\"text\":\"hi\"},{\"raw\":\"aGk=\",\"filename\":\"f\",\"media_type\":\"a/b\"},"
                             "{\"url\":\"http://x\"},{\"data\":{\"a\":1}}],\"unknown\":[1],\"taskId\":null}"));
    CHECK_STR(one, digest_of("{\"kind\":\"message\",\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"kind\":\"text\",\"text\":\"hi\"},{\"kind\":\"file\",\"file\":"
                             "{\"bytes\":\"aGk=\",\"name\":\"f\",\"mimeType\":\"a/b\"}},{\"kind\":\"file\",\"file\":{\"uri\":\"http://x\"}},"
                             "{\"kind\":\"data\",\"data\":{\"a\":1}}]}"));
    CHECK(strcmp(one, digest_of("{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}")) != 0);
}

PAWL_TEST(test_wrong_messages_are_refused_with_what_is_wrong)
{
    static const char *const wrong[] = { "{}", "[]", "1", "{\"messageId\":\"m\",\"role\":\"user\"}", "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[]}",
        "{\"messageId\":\"\",\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}", "{\"messageId\":\"m\",\"role\":\"boss\",\"parts\":[{\"text\":\"x\"}]}",
        "{\"messageId\":\"m\",\"parts\":[{\"text\":\"x\"}]}", "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{}]}",
        "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"x\",\"url\":\"y\"}]}",
        "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":1}]}",
        "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"raw\":\"not base64!\"}]}", "{\"messageId\":1,\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}",
        "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"x\"}],\"metadata\":1}", "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[7]}",
        "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"x\"}],\"extensions\":[1]}" };

    begin();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        a2a_fault f = { A2A_FINE, "", "" };
        a2a_message m;

        if (a2a_message_read(&mem, json(wrong[i]), &m, &f) || f.error != A2A_INVALID_PARAMS || f.text[0] == '\0' || f.field[0] == '\0')
            CHECK_FAIL("%s is taken, or the fault is %d %s", wrong[i], (int)f.error, f.text);
    }
}

/* ---- requests ----------------------------------------------------------------------------------------------------------- */

#define MESSAGE "\"message\":{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}"

static const struct { const char *body, *version; a2a_error error; a2a_method method; a2a_version of; const char *id; } bodies[] = {
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{" MESSAGE "}}", "1.0", A2A_FINE, A2A_SEND, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"message/send\",\"params\":{" MESSAGE "}}", NULL, A2A_FINE, A2A_SEND, A2A_0_3, "\"a\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/stream\",\"params\":{" MESSAGE "}}", "1.0.1", A2A_FINE, A2A_STREAM, A2A_0_3, "1" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"GetTask\",\"params\":{\"id\":\"t\"}}", "", A2A_FINE, A2A_GET, A2A_1_0, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ListTasks\"}", NULL, A2A_FINE, A2A_LIST, A2A_1_0, "1.5" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"t\"}}", "0.2", A2A_VERSION_NOT_SUPPORTED, A2A_SEND, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{}}", NULL, A2A_INVALID_PARAMS, A2A_GET, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":[]}", NULL, A2A_INVALID_PARAMS, A2A_GET, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"t\",\"historyLength\":-1}}", NULL, A2A_INVALID_PARAMS, A2A_GET, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\",\"params\":{\"page_size\":0}}", NULL, A2A_INVALID_PARAMS, A2A_LIST, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\",\"params\":{\"pageSize\":\"100\",\"status\":\"TASK_STATE_WORKING\"}}", NULL, A2A_FINE, A2A_LIST,
      A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\",\"params\":{\"status\":\"ready\"}}", NULL, A2A_INVALID_PARAMS, A2A_LIST, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/list\"}", NULL, A2A_METHOD_NOT_FOUND, A2A_SEND, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"nothing\"}", NULL, A2A_METHOD_NOT_FOUND, A2A_SEND, A2A_1_0, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1}", NULL, A2A_INVALID_REQUEST, A2A_SEND, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\"}", NULL, A2A_INVALID_REQUEST, A2A_SEND, A2A_1_0, "null" },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"GetTask\"}", NULL, A2A_INVALID_REQUEST, A2A_SEND, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"GetTask\"}", NULL, A2A_INVALID_REQUEST, A2A_SEND, A2A_1_0, "null" },
    { "[]", NULL, A2A_INVALID_REQUEST, A2A_SEND, A2A_1_0, "null" },
    { "{", NULL, A2A_PARSE_ERROR, A2A_SEND, A2A_1_0, "null" },
    { "", NULL, A2A_PARSE_ERROR, A2A_SEND, A2A_1_0, "null" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"CreateTaskPushNotificationConfig\",\"params\":{}}", NULL, A2A_PUSH_NOT_SUPPORTED, A2A_PUSH_CREATE, A2A_1_0, "1" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/pushNotificationConfig/get\",\"params\":{\"id\":\"t\"}}", NULL, A2A_PUSH_NOT_SUPPORTED, A2A_PUSH_GET,
      A2A_0_3, "1" },
};

PAWL_TEST(test_N2_each_body_of_json_rpc_is_taken_or_refused_by_its_rule)
{
    begin();
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        a2a_request q = { .method = A2A_SEND };
        a2a_fault f = { A2A_FINE, "", "" };
        const bool taken = a2a_rpc_read(&mem, (pawl_bytes){ bodies[i].body, strlen(bodies[i].body) }, bodies[i].version, &q, &f);

        if (f.error != bodies[i].error || taken != (f.error == A2A_FINE) || q.method != bodies[i].method || q.version != bodies[i].of ||
            strcmp(q.id, bodies[i].id) != 0)
            CHECK_FAIL("%s: fault %d %s, method %d, version %d, id %s", bodies[i].body, (int)f.error, f.text, (int)q.method, (int)q.version, q.id);
    }
}

PAWL_TEST(test_blocking_is_the_default_of_1_0_alone)
{
    static const struct { const char *method, *configuration; bool blocking; } rows[] = {
        { "SendMessage", "{}", true }, { "SendMessage", "{\"returnImmediately\":true}", false }, { "SendMessage", "{\"return_immediately\":false}", true },
        { "message/send", "{}", false }, { "message/send", "{\"blocking\":true}", true }, { "message/send", "{\"blocking\":false}", false } };

    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        a2a_request q = { .method = A2A_SEND };
        a2a_fault f = { A2A_FINE, "", "" };
        buf b;

        buf_init(&b, NULL);
        buf_fmt(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{" MESSAGE ",\"configuration\":%s}}", rows[i].method, rows[i].configuration);
        CHECK(a2a_rpc_read(&mem, (pawl_bytes){ b.data, b.size }, NULL, &q, &f));
        CHECK_INT(q.blocking, rows[i].blocking);
        buf_free(&b);
    }
}

/* ---- times ------------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_times_are_read_back)
{
    int64_t ms = 0;

    begin();
    for (int i = 0; i < 2000; i++) {
        const int64_t at = (int64_t)draw(253402300799999 >> 31) * (1ll << 31) + (int64_t)draw(1u << 30);
        buf b;

        buf_init(&b, NULL);
        a2a_time_put(&b, at);
        buf_char(&b, '\0');
        b.data[b.size - 2] = '\0';
        CHECK(a2a_time_read(b.data + 1, &ms));
        CHECK_INT(ms, at);
        buf_free(&b);
    }
    CHECK(a2a_time_read("2026-11-28T12:00:00.123456+02:00", &ms));
    CHECK_INT(ms, 1795860000123);
    CHECK(a2a_time_read("2026-11-28T12:00:00Z", &ms));
    CHECK(!a2a_time_read("2026-11-28T12:00:00", &ms));
    CHECK(!a2a_time_read("2026-11-28", &ms));
    CHECK(!a2a_time_read("2026-13-28T12:00:00Z", &ms));
    CHECK(!a2a_time_read("2026-11-28T12:00:00Zx", &ms));
    CHECK(!a2a_time_read("", &ms));
}

/* ---- what a message becomes ------------------------------------------------------------------------------------------------ */

static const char *input_of(const a2a_taker *t, const char *parts, a2a_fault *f)
{
    a2a_message m;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"messageId\":\"m\",\"role\":\"user\",\"parts\":%s}", parts);
    buf_char(&b, '\0');
    *f = (a2a_fault){ A2A_FINE, "", "" };
    CHECK(a2a_message_read(&mem, json(b.data), &m, f));
    buf_free(&b);
    return a2a_input(&mem, t, &m, f);
}

PAWL_TEST(test_a_message_is_the_input_of_a_machine)
{
    static const char *const channels[] = { "n", "question" };
    const a2a_taker graph = { .name = "g", .text = "question" }, whole = { .name = "w", .whole = true }, agent = { .name = "a", .agent = true };
    a2a_fault f;

    begin();
    CHECK_STR(a2a_text_channel(json("{\"required\":[\"who\"],\"properties\":{\"who\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}"), channels,
                               2), "who");
    CHECK_STR(a2a_text_channel(json("{\"properties\":{\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"}}}"), channels, 2), "b");
    CHECK_STR(a2a_text_channel(json("{\"properties\":{\"a\":{},\"b\":{}}}"), channels, 2), "question");
    CHECK_STR(a2a_text_channel(NULL, channels, 1), NULL);
    CHECK_STR(input_of(&graph, "[{\"text\":\"a\"},{\"text\":\"b\"},{\"data\":{\"n\":1}}]", &f), "{\"n\":1,\"question\":\"a\\nb\"}");
    CHECK_STR(input_of(&graph, "[{\"text\":\"a\"},{\"data\":{\"question\":\"given\"}}]", &f), "{\"question\":\"given\"}");
    CHECK_STR(input_of(&graph, "[{\"raw\":\"aGk=\"}]", &f), NULL);
    CHECK_INT(f.error, A2A_CONTENT_TYPE);
    CHECK_STR(input_of(&(a2a_taker){ .name = "none" }, "[{\"text\":\"a\"}]", &f), NULL);
    CHECK_INT(f.error, A2A_CONTENT_TYPE);
    CHECK_STR(input_of(&whole, "[{\"raw\":\"aGk=\",\"filename\":\"f\"},{\"text\":\"t\"}]", &f),
              "{\"a2a\":{\"messageId\":\"m\",\"parts\":[{\"filename\":\"f\",\"raw\":\"aGk=\"},{\"text\":\"t\"}],\"role\":\"ROLE_USER\"}}");
    CHECK_STR(input_of(&agent, "[{\"text\":\"hi\"}]", &f), "{\"input\":\"hi\"}");
    CHECK_STR(input_of(&agent, "[{\"text\":\"hi\"},{\"raw\":\"aGk=\",\"mediaType\":\"image/png\"},{\"data\":[1]}]", &f),
              "{\"input\":[{\"text\":\"hi\",\"type\":\"text\"},{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"image\"},{\"text\":\"[1]\",\"type\":\"text\"}]}");
    CHECK_STR(input_of(&agent, "[{\"raw\":\"aGk=\",\"mediaType\":\"application/pdf\"}]", &f), NULL);
    CHECK_INT(f.error, A2A_CONTENT_TYPE);
}

/* ---- cards ------------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_cards_have_what_each_version_requires)
{
    static const char *const of_1[] = { "name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "defaultOutputModes", "skills" };
    static const char *const of_0[] = { "name", "description", "version", "url", "protocolVersion", "preferredTransport", "capabilities", "defaultInputModes",
                                        "defaultOutputModes", "skills" };
    static const char *const tags[] = { "a \"node\"" };
    const a2a_taker one = { .name = "g", .description = "It \"works\".", .version = 3, .tags = tags, .ntags = 1 }, two = { .name = "h", .agent = true };
    const a2a_taker *const takers[] = { &one, &two };

    begin();
    for (size_t n = 0; n <= 2; n++)
        for (int shape = A2A_CARD_1_0; shape <= A2A_CARD_0_3; shape++) {
            const a2a_card card = { .url = "http://x", .takers = takers, .ntakers = n, .server_version = "1.2.3", .token = n > 0 };
            const pawl_value *v;
            buf b;

            buf_init(&b, NULL);
            a2a_card_put(&b, &card, (a2a_card_shape)shape);
            buf_char(&b, '\0');
            v = json(b.data);
            for (size_t i = 0; shape == A2A_CARD_1_0 && i < 8; i++)
                CHECK(pawl_value_get(v, of_1[i]) != NULL);
            for (size_t i = 0; shape == A2A_CARD_0_3 && i < 10; i++)
                CHECK(pawl_value_get(v, of_0[i]) != NULL);
            CHECK_INT(pawl_value_size(pawl_value_get(v, "skills")), n);
            CHECK_STR(pawl_value_string(pawl_value_get(v, "version")), n == 1 ? "3" : "1.2.3");
            buf_free(&b);
        }
}
