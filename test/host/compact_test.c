/* compact_test.c - agents whose conversation is too long, on a host, with a server in the place of their model: what providers say of that, what
 * they are asked then, and that it goes on. */
#include "effect/model_server.h"
#include "hosting.h"
#include "net/net.h"
#include "pawl/llm.h"

#define EV(name, json) "event: " name "\ndata: " json "\n\n"
#define A_SAYS(text, tokens)                                                                                                                            \
    EV("message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":" tokens "}}}")               \
    EV("content_block_start", "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"" text "\"}}")             \
    EV("content_block_stop", "{\"type\":\"content_block_stop\",\"index\":0}")                                                                          \
    EV("message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}")                         \
    EV("message_stop", "{\"type\":\"message_stop\"}")
#define O_SAYS(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
#define O_CALLS(id)                                                                                                                                     \
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"read_file\","        \
    "\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
#define A_FULL "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"
#define JSON "Content-Type: application/json\r\n"

typedef struct wire { model_server s; pawl_llm own; char base[64]; } wire;

static const char *wire_setting(void *ctx, const char *name)
{
    const wire *w = ctx;
    const size_t n = strlen(name);

    return n > 8 && strcmp(name + n - 8, "BASE_URL") == 0 ? w->base : n > 7 && strcmp(name + n - 7, "API_KEY") == 0 ? "sk-1" : NULL;
}

static size_t file_size = 300;

/* So many bytes of a file. */
static pawl_code reads(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char text[9000];

    (void)job;
    (void)arg;
    memset(text, 'x', sizeof text);
    text[0] = text[file_size + 1] = '"';
    text[file_size + 2] = '\0';
    return pawl_reply_json(reply, text);
}

static void wire_begin(wire *w, stage *g, const char *model, int64_t tokens, const model_script *scripts, size_t n)
{
    const pawl_agent a = { .name = "helper", .version = 1, .model = model, .system = "You help.", .tools = host_tools, .ntools = 1, .max_retries = 2,
                           .retry_initial_ms = 1, .retry_max_ms = 1, .compact_tokens = tokens };
    pawl_err err = {0};

    model_server_start(&w->s);
    memcpy(w->s.scripts, scripts, n * sizeof *scripts);
    w->s.nscripts = n;
    snprintf(w->base, sizeof w->base, "http://127.0.0.1:%d", w->s.port);
    w->own = (pawl_llm){ .setting = wire_setting, .setting_ctx = w };
    stage_begin(g);
    if ((g->e = pawl_engine_new(pawl_agent_machine(&a, NULL, &err), pawl_store_memory(&err), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    said(pawl_engine_effect(g->e, "llm", pawl_effect_llm, &w->own, PAWL_CLASS_AT_LEAST_ONCE, &err), &err);
    said(pawl_engine_effect(g->e, "tool-read_file", reads, NULL, PAWL_CLASS_PURE, &err), &err);
    said(pawl_engine_add_tell(g->e, &err), &err);
    pawl_engine_threads(g->e, 1);
    if ((g->h = pawl_host_new(g->e, NULL, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
}

static void wire_end(wire *w, stage *g, size_t requests)
{
    host_end(g);
    net_forget();
    model_server_stop(&w->s);
    CHECK_INT(w->s.requests, requests);
}

static bool has(const wire *w, size_t request, const char *text) { return strstr(w->s.sent[request], text) != NULL; }

/* Both are answered by the scripts; then `talk` is what was said. */
static void two_turns(wire *w, stage *g, int64_t tokens, const model_script *scripts, const char *talk)
{
    pawl_handle *a;

    wire_begin(w, g, "anthropic/claude", tokens, scripts, 4);
    a = spawned(g, "r1", "{\"input\":\"first\"}");
    CHECK_STR(rests(a), "idle");
    sends(a, "second");
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    pawl_host_drain(g->h);
    talk_is(g, "r1", talk);
}

static void runs_once(stage *g)
{
    pawl_handle *a = spawned(g, "r1", "{\"@mode\":\"bypassPermissions\",\"@once\":\"run\",\"input\":\"go\"}");

    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    pawl_handle_free(a);
    pawl_host_drain(g->h);
}

/* ---- too long ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_a_prompt_that_is_too_long_is_summed_up_and_sent_again)
{
    static const model_script scripts[] = {
        { .body = A_SAYS("One.", "10") },
        { .status = 400, .head = JSON, .body = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 208310 tokens > 200000 maximum\"}}" },
        { .body = A_SAYS("They said one.", "10") },
        { .body = A_SAYS("Two.", "10") },
    };
    static const char system_and_on[] = "\"system\":[{\"type\":\"text\",\"text\":\"You help.\"";
    stage g;
    wire w;

    two_turns(&w, &g, 0, scripts, "user=Summary of the conversation so far:\n\nThey said one.\nuser=second\nassistant=Two.\n");
    CHECK(has(&w, 2, "\"tool_choice\":{\"type\":\"none\"}") && !has(&w, 1, "tool_choice") && !has(&w, 3, "tool_choice"));
    for (size_t i = 0; i < 4; i++)      /* what is cached */
        CHECK(has(&w, i, "\"tools\":[{\"name\":\"read_file\"") && has(&w, i, system_and_on));
    CHECK(has(&w, 2, "Summarise the conversation") && has(&w, 2, "first") && !has(&w, 2, "second"));
    CHECK(has(&w, 3, "They said one.") && has(&w, 3, "second") && !has(&w, 3, "first"));
    wire_end(&w, &g, 4);
}

PAWL_TEST(test_a_first_turn_that_is_too_long_goes_on)
{
    static const model_script scripts[] = {
        { .body = O_CALLS("c1") },
        { .body = O_CALLS("c2") },
        { .status = 400, .head = JSON, .body = "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":\"context_length_exceeded\"}}" },
        { .body = O_SAYS("Done.") },
    };
    stage g;
    wire w;

    wire_begin(&w, &g, "openai/gpt", 0, scripts, 4);
    runs_once(&g);
    CHECK(!has(&w, 2, "dropped]"));
    CHECK(has(&w, 3, "\"tool_call_id\":\"c1\",\"content\":\"[302 bytes, dropped]\"") && has(&w, 3, "\"tool_call_id\":\"c2\",\"content\":\"xxx"));
    wire_end(&w, &g, 4);
}

PAWL_TEST(test_a_result_that_is_too_long_alone_is_cut_and_the_turn_goes_on)
{
    static const char said[] = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 208310 tokens > 200000 maximum\"}}";
    static const model_script scripts[] = {
        { .body = EV("message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":10}}}")
                  EV("content_block_start", "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"read_file\",\"input\":{}}}")
                  EV("content_block_stop", "{\"type\":\"content_block_stop\",\"index\":0}")
                  EV("message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":1}}")
                  EV("message_stop", "{\"type\":\"message_stop\"}") },
        { .status = 400, .head = JSON, .body = said },
        { .status = 400, .head = JSON, .body = said },
        { .body = A_SAYS("Done.", "10") },
    };
    stage g;
    wire w;

    file_size = 8000;
    wire_begin(&w, &g, "anthropic/claude", 0, scripts, 4);
    runs_once(&g);
    file_size = 300;
    CHECK(!has(&w, 1, "left out here"));
    CHECK(has(&w, 2, "of 8000 bytes are left out here") && has(&w, 3, "of 8000 bytes are left out here"));
    CHECK(strlen(w.s.sent[1]) > strlen(w.s.sent[2]) + 3900 && strlen(w.s.sent[2]) > strlen(w.s.sent[3]) + 1900);
    CHECK(!has(&w, 3, "\"cut\""));      /* a word of ours, that no provider knows */
    wire_end(&w, &g, 4);
}

PAWL_TEST(test_one_that_stays_too_long_ends_its_turn_with_words)
{
    static const model_script scripts[] = {
        { .status = 413, .head = JSON, .body = "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"Request exceeds the maximum size\"}}" },
    };
    pawl_handle_view v;
    pawl_handle *a;
    stage g;
    wire w;

    wire_begin(&w, &g, "anthropic/claude", 0, scripts, 1);
    a = spawned(&g, "r1", "{\"input\":\"first\"}");
    CHECK_STR(rests(a), "error");
    v = viewed(a);
    CHECK(strncmp(v.message, "LLM error: the conversation is too long for the model, and nothing of it can be left out: the tools have ", 103) == 0);
    CHECK(strstr(v.message,
                 " bytes; give it fewer, or take a model that reads more: Context exceeded: 413 request_too_large: Request exceeds the maximum size") != NULL);
    pawl_handle_view_free(&v);
    pawl_handle_free(a);
    pawl_host_drain(g.h);
    wire_end(&w, &g, 1);
}

/* ---- summaries that fail --------------------------------------------------------------------------------------- */

PAWL_TEST(test_A2_a_summary_is_asked_for_again_when_they_are_overloaded)
{
    static const model_script scripts[] = {
        { .body = A_SAYS("One.", "500") },
        { .status = 529, .head = JSON "retry-after-ms: 20\r\n", .body = A_FULL },
        { .body = A_SAYS("They said one.", "10") },
        { .body = A_SAYS("Two.", "10") },
    };
    stage g;
    wire w;

    two_turns(&w, &g, 100, scripts, "user=Summary of the conversation so far:\n\nThey said one.\nuser=second\nassistant=Two.\n");
    CHECK_STR(strstr(w.s.sent[1], "\r\n\r\n"), strstr(w.s.sent[2], "\r\n\r\n"));        /* the same, once more */
    wire_end(&w, &g, 4);
}

PAWL_TEST(test_a_summary_that_fails_for_good_ends_no_turn)
{
    static const model_script scripts[] = {
        { .body = A_SAYS("One.", "500") },
        { .status = 529, .head = JSON, .body = A_FULL },
        { .status = 529, .head = JSON, .body = A_FULL },
        { .body = A_SAYS("Two.", "510") },
    };
    stage g;
    wire w;

    two_turns(&w, &g, 100, scripts, "user=first\nassistant=One.\nuser=second\nassistant=Two.\n");
    wire_end(&w, &g, 4);
}
