/* provider_test.c - an agent is interrupted in each of its states, and asked to go on: what its model is sent then is held against the types that
 * the two providers publish (@anthropic-ai/sdk and openai, by their own compiler), and against the rules that no type tells (A4). Skipped where
 * npm does not get them. */
#include "agenting.h"
#include "effect/llm/llm.h"
#include "lib/accepts.h"
#include "lib/peer.h"

enum { BODIES_MAX = 128 };

static const struct provider { const char *model, *type; const llm_api *api; void (*accepts)(const pawl_value *body); } providers[] = {
    { "anthropic/claude-sonnet-4", "Anthropic", &llm_anthropic, anthropic_accepts },
    { "openai/gpt-4o", "OpenAI", &llm_openai, openai_accepts },
};

/* ---- where an agent can stand ----------------------------------------------------------------------------------- */

static void begun(world *w, const char *model, const char *mode)
{
    pawl_agent a = agent_plain();
    char input[128];

    a.model = model;
    a.post_tools = true;
    snprintf(input, sizeof input, "{\"@mode\":\"%s\",\"input\":\"go\"}", mode);
    agent_begin(w, &a, input);
}

static void idle(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, "hi", NULL);
}

static void no_word_yet(world *w, const char *m) { begun(w, m, "default"); }

static void half_an_answer(world *w, const char *m)
{
    char said[700];

    begun(w, m, "default");
    snprintf(said, sizeof said, "{\"said\":{\"%s\":\"half an ans\"}}", command_of(w, "llm"));
    world_signal(w, "interrupt", said);
}

static void asks_again(world *w, const char *m)
{
    begun(w, m, "default");
    comes(w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"transient\",\"text\":\"busy\"}");
}

static void refused(world *w, const char *m)
{
    begun(w, m, "default");
    comes(w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"no money\"}");
}

static void said_nothing(world *w, const char *m)
{
    begun(w, m, "default");
    model_gives(w, "[{\"text\":\"\",\"type\":\"text\"}]");
}

static void at_a_permission(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, "I make.", "bash b1 {\"command\":\"make x\"};bash b2 {\"command\":\"make y\"};read_file r1 {\"file_path\":\"a\"}");
}

static void at_a_question(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, NULL, "ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}");
}

static void tools_run(world *w, const char *m)
{
    begun(w, m, "bypassPermissions");
    model_gives(w, "[{\"signature\":\"c2ln\",\"thinking\":\"hm\",\"type\":\"thinking\"},{\"data\":\"eA==\",\"type\":\"redacted_thinking\"},{\"text\":\"I look.\",\"type\":\"text\"},"
                   "{\"id\":\"r1\",\"input\":{\"file_path\":\"a\"},\"name\":\"read_file\",\"type\":\"tool_use\"},"
                   "{\"id\":\"r2\",\"input\":{\"file_path\":\"b.png\"},\"name\":\"read_file\",\"type\":\"tool_use\"},"
                   "{\"id\":\"b1\",\"input\":{\"command\":\"x\"},\"name\":\"bash\",\"type\":\"tool_use\"}]");
    comes(w, "r2", PAWL_OUTCOME_DONE, "{\"content\":[{\"text\":\"an image\",\"type\":\"text\"},{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"image\"}]}");
}

static void tool_failed(world *w, const char *m)
{
    begun(w, m, "bypassPermissions");
    model_says(w, NULL, "bash b1 {\"command\":\"x\"};bash b2 {\"command\":\"y\"}");
    comes(w, "b1", PAWL_OUTCOME_DONE, "{\"content\":\"\",\"is_error\":true}");
}

static void an_edit_is_let_finish(world *w, const char *m)
{
    begun(w, m, "bypassPermissions");
    model_says(w, NULL, "edit_file e1 {\"file_path\":\"a\"};bash b1 {\"command\":\"x\"}");
    world_signal(w, "interrupt", NULL);
    world_signal(w, "input", "\"meanwhile\"");
    comes(w, "e1", PAWL_OUTCOME_DONE, "\"edited\"");
}

static void a_second_cuts_the_edit(world *w, const char *m)
{
    begun(w, m, "bypassPermissions");
    model_says(w, NULL, "edit_file e1 {\"file_path\":\"a\"}");
    world_signal(w, "interrupt", NULL);
}

/* It is told twice, then: it is not waited for. */
static void a_child_at_work(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, NULL, "spawn_agent s1 {\"prompt\":\"look\"};read_file r1 {\"file_path\":\"a\"}");
    CHECK_STR(agent_shows(w), "waiting_for_sub_agent");
    world_signal(w, "interrupt", NULL);
}

static void a_child_ended(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, NULL, "spawn_agent s1 {\"prompt\":\"look\"};read_file r1 {\"file_path\":\"a\"}");
    world_signal(w, "interrupt", NULL);
    comes(w, "tell", PAWL_OUTCOME_DONE, "null");
    comes(w, "s1", PAWL_OUTCOME_DONE, "\"It ended without an answer: interrupt.\"");
}

static void after_tools(world *w, const char *m)
{
    begun(w, m, "bypassPermissions");
    model_says(w, NULL, "bash b1 {\"command\":\"x\"}");
    comes(w, "b1", PAWL_OUTCOME_DONE, "\"\"");
}

/* No JSON, a tool that is not there, an input that does not fit, one that plan mode denies. */
static void called_badly(world *w, const char *m)
{
    begun(w, m, "plan");
    model_gives(w, "[{\"id\":\"x1\",\"input\":{},\"invalid\":\"{\\\"a\\\":\",\"name\":\"read_file\",\"type\":\"tool_use\"},{\"id\":\"x2\",\"input\":{},\"name\":\"nothing\",\"type\":\"tool_use\"},"
                   "{\"id\":\"x3\",\"input\":{\"file_path\":7},\"name\":\"read_file\",\"type\":\"tool_use\"},"
                   "{\"id\":\"x4\",\"input\":{\"command\":\"x\"},\"name\":\"bash\",\"type\":\"tool_use\"},{\"id\":\"x5\",\"input\":{\"file_path\":\"a\"},\"name\":\"read_file\",\"type\":\"tool_use\"}]");
}

static void denied(world *w, const char *m)
{
    begun(w, m, "default");
    model_says(w, NULL, "bash b1 {\"command\":\"x\"};read_file r1 {\"file_path\":\"a\"}");
    world_answer(w, 0, "false");
}

static void summed_up(world *w, const char *m)
{
    pawl_agent a = agent_plain();

    a.model = m;
    a.compact_tokens = 12;
    agent_begin(w, &a, "{\"input\":\"go\"}");
    model_says(w, "hi", NULL);
    world_signal(w, "input", "\"more\"");
    CHECK(strstr(world_get(w, "@agent"), "compacting") != NULL);
}

static void interrupted_twice(world *w, const char *m)
{
    begun(w, m, "default");
    world_signal(w, "interrupt", NULL);
    world_signal(w, "input", "\"again\"");
    world_signal(w, "interrupt", NULL);
    world_signal(w, "input", "[{\"text\":\"and this\",\"type\":\"text\"},{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"image\"}]");
}

static const struct { void (*comes)(world *w, const char *model); const char *shown; } states[] = {
    { idle, "idle" }, { no_word_yet, "processing" }, { half_an_answer, "done" }, { asks_again, "processing" }, { refused, "error" }, { said_nothing, "idle" },
    { at_a_permission, "waiting_for_permission" }, { at_a_question, "waiting_for_user_input" }, { tools_run, "executing_tool" },
    { tool_failed, "executing_tool" },
    { an_edit_is_let_finish, "processing" }, { a_second_cuts_the_edit, "executing_tool" }, { a_child_at_work, "waiting_for_sub_agent" },
    { a_child_ended, "done" },
    { after_tools, "processing" }, { called_badly, "executing_tool" }, { denied, "done" }, { summed_up, "processing" }, { interrupted_twice, "processing" },
};
enum { STATES = sizeof states / sizeof *states };

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

/* The body of the request to the model that is out. */
static void sent(world *w, const struct provider *p, buf *out)
{
    const char *id = command_of(w, "llm");
    pawl_alloc alloc = mem_or_default(NULL);
    pawl_job job = { .id = id, .effect = "llm" };
    pawl_reply reply;
    pawl_command cmd;
    llm_request q;
    arena mem;
    pawl_err err = {0};

    arena_init(&mem, &alloc, 4096);
    reply_init(&reply, &alloc);
    for (size_t i = 0; job.args == NULL && i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && strcmp(cmd.id, id) == 0)
            job.args = llm_args_flat(&mem, cmd.args);
    CHECK(job.args != NULL);
    if (llm_request_read(&job, &reply, &mem, &q) != PAWL_OK)
        CHECK_FAIL("%s", reply_why(&reply));
    buf_reset(out);
    p->api->body(&mem, &q, out);
    CHECK(!out->failed && buf_room(out, 1));
    out->data[out->size] = '\0';
    p->accepts(value_parse(&mem, out->data, out->size, "the body", &err));
    CHECK_STR(err.text, "");
    reply_free(&reply);
    arena_free(&mem);
}

/* Interrupted there, it is told to go on. */
static void body_of(const struct provider *p, unsigned state, buf *out)
{
    world w;

    states[state].comes(&w, p->model);
    CHECK_STR(agent_shows(&w), states[state].shown);
    world_signal(&w, "interrupt", NULL);
    if (*command_of(&w, "llm") != '\0')
        CHECK_FAIL("state %u: its model is still asked", state);
    world_signal(&w, "input", "\"go on\"");
    if (strstr(world_get(&w, "@agent"), "compacting") != NULL)
        model_says(&w, "They said hi.", NULL);
    sent(&w, p, out);
    world_end(&w);
}

/* ---- their types ---------------------------------------------------------------------------------------------------- */

static char at[400], place[64], told[1 << 16];
static bool there;
static FILE *file;

static void types_begin(void)
{
    char name[100];

    if (!there)
        check_skip(at);
    snprintf(place, sizeof place, "/tmp/pawl-types-XXXXXX");
    CHECK(mkdtemp(place) != NULL);
    snprintf(name, sizeof name, "%s/bodies.ts", place);
    CHECK((file = fopen(name, "w")) != NULL);
    fprintf(file, "import type { MessageCreateParamsStreaming as Anthropic } from \"@anthropic-ai/sdk/resources/messages\"\n"
                  "import type { ChatCompletionCreateParamsStreaming as OpenAI } from \"openai/resources/chat/completions\"\n");
}

/* A line each, from the third on. */
static void types_add(unsigned n, const struct provider *p, const char *body)
{
    fprintf(file, "export const body%u: %s = %s\n", n, p->type, body);
}

/* The exit of the compiler; `told` is what it said. */
static int types_end(void)
{
    char command[1200];
    FILE *f;
    size_t n;
    int status;

    CHECK_INT(fclose(file), 0);
    snprintf(command, sizeof command, "cd %s && ln -s %s/node_modules . && node node_modules/typescript/lib/tsc.js --noEmit --strict --skipLibCheck --target es2022 "
             "--module nodenext --moduleResolution nodenext bodies.ts 2>&1; code=$?; rm -r %s; exit $code", place, at, place);
    CHECK((f = popen(command, "r")) != NULL);
    n = fread(told, 1, sizeof told - 1, f);
    told[n] = '\0';
    status = pclose(f);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

PAWL_TEST(test_A4_what_is_sent_after_an_interrupt_is_of_their_types)
{
    unsigned n = 0;
    buf body;
    int status;

    types_begin();
    buf_init(&body, NULL);
    for (unsigned p = 0; p < 2; p++)
        for (unsigned state = 0; state < STATES; state++) {
            body_of(&providers[p], state, &body);
            types_add(n++, &providers[p], body.data);
        }
    buf_free(&body);
    status = types_end();
    CHECK_STR(told, "");
    CHECK_INT(status, 0);
}

/* The same, each with one thing in it that is wrong: the compiler refuses every line, and so it would one of those above. */
PAWL_TEST(test_A4_what_is_wrong_is_not_of_their_types)
{
    static const struct { unsigned provider; const char *from, *to; } wrongs[] = {
        { 0, "\"role\":\"user\"", "\"role\":\"tool\"" }, { 0, "\"tool_use_id\"", "\"tool_call_id\"" },
        { 0, "\"type\":\"tool_result\"", "\"type\":\"tool_answer\"" },
        { 0, "\"max_tokens\":4096,", "" }, { 0, "\"input_schema\"", "\"schema\"" }, { 0, "\"media_type\":\"image/png\"", "\"media_type\":\"text/plain\"" },
        { 0, "\"messages\":", "\"conversation\":" }, { 0, "\"is_error\":true", "\"is_error\":\"yes\"" }, { 0, "\"signature\":\"c2ln\",", "" },
        { 1, "\"role\":\"tool\"", "\"role\":\"robot\"" }, { 1, "\"tool_call_id\"", "\"tool_use_id\"" }, { 1, "\"arguments\":", "\"input\":" },
        { 1, "\"type\":\"function\"", "\"type\":\"procedure\"" }, { 1, "\"messages\":", "\"conversation\":" },
        { 1, "\"include_usage\":true", "\"include_usage\":1" },
        { 1, "\"image_url\":{", "\"image\":{" },
    };
    enum { WRONGS = sizeof wrongs / sizeof *wrongs };
    buf body, broken;

    types_begin();
    buf_init(&body, NULL);
    buf_init(&broken, NULL);
    for (unsigned i = 0; i < WRONGS; i++) {
        const struct provider *p = &providers[wrongs[i].provider];
        unsigned state = 0;
        char *found;

        while (states[state].comes != tools_run)
            state++;
        body_of(p, state, &body);
        if ((found = strstr(body.data, wrongs[i].from)) == NULL)
            CHECK_FAIL("no %s in %s", wrongs[i].from, body.data);
        buf_reset(&broken);
        buf_put(&broken, body.data, (size_t)(found - body.data));
        buf_text(&broken, wrongs[i].to);
        buf_text(&broken, found + strlen(wrongs[i].from));
        buf_char(&broken, '\0');
        types_add(i, p, broken.data);
    }
    buf_free(&body);
    buf_free(&broken);
    CHECK(types_end() != 0);
    for (unsigned i = 0; i < WRONGS; i++) {
        char line[40];

        snprintf(line, sizeof line, "bodies.ts(%u,", i + 3);
        if (strstr(told, line) == NULL)
            CHECK_FAIL("%s in place of %s is of their types", wrongs[i].to, wrongs[i].from);
    }
}

int main(int argc, char **argv)
{
    there = peer_folder("types", at, sizeof at);
    return check_main(argc, argv);
}
