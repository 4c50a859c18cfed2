/* growth_test.c - K7 in an agent: what an event writes grows with what it changes, not with what its turn has become. All bytes are counted. */
#include "agenting.h"

#include <string.h>

enum { INPUT = 1000, REPLY = 1 << 20 };

/* Input number n as JSON text: {"input":"n17-xxxx..."}. Lives until the next call. */
static const char *input_json(int n)
{
    static char text[INPUT + 64];
    int used = snprintf(text, sizeof text, "{\"input\":\"n%d-", n);

    memset(text + used, 'x', INPUT);
    snprintf(text + used + INPUT, sizeof text - (size_t)used - INPUT, "\"}");
    return text;
}

static void begun(world *w, const pawl_agent *a, const char *input)
{
    agent_begin(w, a, input);
    w->unchecked = w->quiet = true;
}

/* The model calls for so many tools: "c0", "c1", ... all with that input. */
static void model_calls(world *w, const char *tool, int n, const char *input)
{
    char *json = malloc(REPLY);
    size_t used = 0;

    used += (size_t)snprintf(json, REPLY, "{\"message\":{\"content\":[");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(json + used, REPLY - used, "%s{\"id\":\"c%d\",\"input\":%s,\"name\":\"%s\",\"type\":\"tool_use\"}", i > 0 ? "," : "", i, input,
                                 tool);
    snprintf(json + used, REPLY - used, "],\"role\":\"assistant\"},\"stop\":\"tool_use\"}");
    comes(w, "llm", PAWL_OUTCOME_DONE, json);
    free(json);
}

/* What twice as much may cost: twice, and a tenth for longer numbers. */
static void linear(const char *what, size_t once, size_t twice)
{
    if (twice > once * 22 / 10)
        CHECK_FAIL("%s: %zu bytes, and %zu for twice as much", what, once, twice);
}

static size_t grew(const world *w, size_t *from)
{
    const size_t more = w->journal.size - *from;

    *from = w->journal.size;
    return more;
}

/* ---- inputs that wait ------------------------------------------------------------------------------------ */

/* So many inputs come while the model is asked, and then one turn after another has them. */
static size_t queue_bytes(int n)
{
    const pawl_agent a = agent_plain();
    size_t at, first = 0, more, put, bytes;
    char begins[16];
    world w;

    begun(&w, &a, "{\"input\":\"go\"}");
    at = put = w.journal.size;
    for (int i = 0; i < n; i++) {
        world_signal(&w, "input", input_json(i));
        more = grew(&w, &at);
        first = i == 0 ? more : first;
        if (more > first + 40)
            CHECK_FAIL("input %d costs %zu bytes, the first %zu", i, more, first);
    }
    for (int i = 0; i < n; i++) {
        model_says(&w, "so", NULL);
        snprintf(begins, sizeof begins, "n%d-", i);
        if (strncmp(content_at(&w, (size_t)i * 2 + 2), begins, strlen(begins)) != 0)
            CHECK_FAIL("turn %d has \"%.20s\"", i, content_at(&w, (size_t)i * 2 + 2));
    }
    model_says(&w, "done", NULL);
    CHECK_STR(world_get(&w, "@queue"), "[]");
    CHECK_STR(agent_shows(&w), "idle");
    world_crash(&w);
    CHECK_STR(agent_shows(&w), "idle");
    bytes = w.journal.size - put;
    world_end(&w);
    return bytes;
}

PAWL_TEST(test_K7_inputs_that_wait_are_not_written_with_each_one_more)
{
    const size_t once = queue_bytes(100), most = 100 * (3 * INPUT + 2000);

    linear("inputs", once, queue_bytes(200));
    if (once > most)            /* where it came, as a message, and once more while it waited; and what a turn costs */
        CHECK_FAIL("%zu bytes for 100 inputs of %d", once, INPUT);
}

/* One that is never empty, and still forgets what it gave. */
PAWL_TEST(test_K7_a_queue_that_is_never_empty_stays_short)
{
    const pawl_agent a = agent_plain();
    size_t at, early = 0, late = 0;
    world w;

    begun(&w, &a, "{\"input\":\"go\"}");
    for (int i = 0; i < 3; i++)
        world_signal(&w, "input", input_json(i));
    at = w.journal.size;
    for (int i = 3; i < 203; i++) {
        world_signal(&w, "input", input_json(i));
        model_says(&w, "so", NULL);
        if (pawl_value_size(pawl_state_get(w.st, "@queue")) > 8)
            CHECK_FAIL("round %d: the queue holds %zu", i, pawl_value_size(pawl_state_get(w.st, "@queue")));
        if (i == 102)
            early = grew(&w, &at);
    }
    late = grew(&w, &at);
    linear("rounds", early, early + late);
    world_signal(&w, "shutdown", NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_only_what_still_waits_counts_as_waiting)
{
    const pawl_agent a = agent_plain();
    world w;

    begun(&w, &a, "{\"input\":\"go\"}");
    for (int i = 0; i < QUEUE_MAX; i++)
        world_signal(&w, "input", "\"x\"");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@queue")), QUEUE_MAX);
    world_signal(&w, "input", "\"too much\"");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@queue")), QUEUE_MAX);
    model_says(&w, "so", NULL);
    world_signal(&w, "input", "\"last\"");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@queue")), QUEUE_MAX + 1);  /* with the one that has its turn */
    world_signal(&w, "input", "\"too much\"");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@queue")), QUEUE_MAX + 1);
    world_signal(&w, "shutdown", NULL);
    world_end(&w);
}

/* ---- calls whose input a person has changed ------------------------------------------------------------------ */

static size_t edited_bytes(int n)
{
    const pawl_agent a = agent_plain();
    char *answer = malloc(INPUT + 64), slot[16];
    size_t at, bytes, first = 0, more;
    world w;

    begun(&w, &a, "{\"input\":\"go\"}");
    model_calls(&w, "bash", n, "{\"command\":\"make\"}");
    at = bytes = w.journal.size;
    for (int i = 0; i < n; i++) {
        int used = snprintf(answer, 64, "{\"approve\":true,\"input\":{\"command\":\"e%d-", i);

        memset(answer + used, 'x', INPUT);
        snprintf(answer + used + INPUT, 8, "\"}}");
        snprintf(slot, sizeof slot, "c%d", i);
        world_answer(&w, world_open(&w, slot, true), answer);
        more = grew(&w, &at);
        first = i == 0 ? more : first;
        if (i + 1 < n && more > first + 80)
            CHECK_FAIL("edit %d of %d costs %zu bytes, the first %zu", i, n, more, first);
    }
    world_crash(&w);
    for (int i = 0; i < n; i++) {
        char part_of[16];
        pawl_command cmd;

        CHECK_INT(pawl_state_commands(w.st), 1);        /* one by one, */
        CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
        snprintf(part_of, sizeof part_of, "e%d-", i);
        CHECK(strncmp(pawl_value_string(pawl_value_find(cmd.args, "/input/command")), part_of, strlen(part_of)) == 0);  /* with what people made of it */
        snprintf(slot, sizeof slot, "c%d", i);
        comes(&w, slot, PAWL_OUTCOME_DONE, "\"x\"");
        more = grew(&w, &at);
        if (more > 4 * INPUT + 1000)
            CHECK_FAIL("call %d of %d costs %zu bytes", i, n, more);
    }
    bytes = w.journal.size - bytes;
    model_says(&w, "so", NULL);
    world_end(&w);
    free(answer);
    return bytes;
}

PAWL_TEST(test_K7_what_a_person_made_of_an_input_is_not_written_with_each_event)
{
    linear("edited calls", edited_bytes(20), edited_bytes(40));
}

/* Each of so many hooks makes another input of it. */
static size_t hooked_bytes(int n)
{
    const pawl_agent a = agent_plain();
    char *text = malloc(REPLY);
    size_t used, bytes, at, more, least = SIZE_MAX;
    world w;

    used = (size_t)snprintf(text, REPLY, "{\"@mode\":\"bypassPermissions\",\"@policy\":{\"hooks\":[{\"from\":\"settings.json\",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\","
                            "\"hooks\":[");
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, REPLY - used, "%s{\"type\":\"command\",\"command\":\"check %d\"}", i > 0 ? "," : "", i);
    snprintf(text + used, REPLY - used, "]}]}}]},\"input\":\"go\"}");
    begun(&w, &a, text);
    model_says(&w, NULL, "bash c0 {\"command\":\"make\"}");
    at = bytes = w.journal.size;
    for (int i = 0; i < n; i++) {
        used = (size_t)snprintf(text, REPLY, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
                                "\\\"updatedInput\\\":{\\\"command\\\":\\\"h%d-", i);
        memset(text + used, 'x', INPUT);
        snprintf(text + used + INPUT, REPLY - used - INPUT, "\\\"}}}\"}");
        comes(&w, "hook", PAWL_OUTCOME_DONE, text);
        more = grew(&w, &at);
        least = i > 0 && more < least ? more : least;
        if (i > 0 && i + 1 < n && more > least + 80)
            CHECK_FAIL("hook %d of %d costs %zu bytes, an earlier one %zu", i, n, more, least);
    }
    bytes = w.journal.size - bytes;
    CHECK(strstr(world_get(&w, "@edited"), "xxx") != NULL);
    comes(&w, "c0", PAWL_OUTCOME_DONE, "\"x\"");
    model_says(&w, "so", NULL);
    world_end(&w);
    free(text);
    return bytes;
}

PAWL_TEST(test_K7_what_a_gate_was_told_is_not_written_with_each_hook)
{
    linear("hooks", hooked_bytes(10), hooked_bytes(20));
}

/* ---- many calls, and what came of them ------------------------------------------------------------------------- */

/* The last comes first: all but one have to wait for their turn in the conversation. */
static size_t results_bytes(int n)
{
    const pawl_agent a = agent_plain();
    char result[INPUT + 8], id[16];
    size_t at, first = 0, more, bytes;
    world w;

    memset(result, 'x', sizeof result);
    result[0] = result[INPUT + 1] = '"';
    result[INPUT + 2] = '\0';
    begun(&w, &a, "{\"input\":\"go\"}");
    bytes = w.journal.size;
    model_calls(&w, "read_file", n, "{\"file_path\":\"a\"}");
    at = w.journal.size;
    for (int i = n - 1; i >= 0; i--) {
        snprintf(id, sizeof id, "c%d", i);
        comes(&w, id, PAWL_OUTCOME_DONE, result);
        more = grew(&w, &at);
        first = i == n - 1 ? more : first;
        if (i > 0 && more > first + 40)
            CHECK_FAIL("result %d of %d costs %zu bytes, the first %zu", n - i, n, more, first);
    }
    bytes = w.journal.size - bytes;
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "messages")), n + 2);
    model_says(&w, "so", NULL);
    CHECK_STR(world_get(&w, "@uses"), "{}");
    world_end(&w);
    return bytes;
}

PAWL_TEST(test_K7_a_result_does_not_write_how_all_other_calls_stand)
{
    linear("results", results_bytes(50), results_bytes(100));
}

/* ---- tools that are looked for ----------------------------------------------------------------------------------- */

enum { DEFERRED = 40 };

static size_t search_bytes(int n)
{
    static char names[DEFERRED][16], hints[DEFERRED][16];
    pawl_agent_tool tools[DEFERRED + 1];
    pawl_agent a = agent_plain();
    char query[64];
    size_t at, first = 0, more, bytes;
    world w;

    for (int i = 0; i < DEFERRED; i++) {
        snprintf(names[i], sizeof names[i], "far_%02d", i);
        snprintf(hints[i], sizeof hints[i], "word%02d", i);
        tools[i] = (pawl_agent_tool){ .name = names[i], .hint = hints[i], .schema = "{\"description\":\"a schema that takes its room\",\"type\":\"object\"}",
                                      .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_PURE, .deferred = true };
    }
    for (size_t i = 0; i < a.ntools; i++)
        if (a.tools[i].own == PAWL_OWN_TOOL_SEARCH)
            tools[DEFERRED] = a.tools[i];
    a.tools = tools;
    a.ntools = DEFERRED + 1;
    begun(&w, &a, "{\"input\":\"go\"}");
    at = bytes = w.journal.size;
    for (int i = 0; i < n; i++) {
        snprintf(query, sizeof query, "tool_search s%02d {\"query\":\"word%02d\"}", i, i);
        model_says(&w, NULL, query);
        more = grew(&w, &at);
        first = i == 0 ? more : first;
        if (more > first + 120)
            CHECK_FAIL("search %d costs %zu bytes, the first %zu", i, more, first);
    }
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@tools")), n + 1);
    bytes = w.journal.size - bytes;
    model_says(&w, "so", NULL);
    world_end(&w);
    return bytes;
}

PAWL_TEST(test_K7_a_search_adds_what_it_finds)
{
    linear("searches", search_bytes(DEFERRED / 2), search_bytes(DEFERRED));
}

PAWL_TEST(test_A5_two_searches_in_one_answer_add_both_and_none_twice)
{
    pawl_agent_tool tools[3] = { { .name = "far", .schema = "{\"type\":\"object\"}", .hint = "one", .cls = PAWL_PERMISSION_NET,
        .effect = PAWL_CLASS_PURE, .deferred = true },
                                 { .name = "near", .schema = "{\"type\":\"object\"}", .hint = "two", .cls = PAWL_PERMISSION_NET,
                                     .effect = PAWL_CLASS_PURE, .deferred = true } };
    pawl_agent a = agent_plain();
    world w;

    for (size_t i = 0; i < a.ntools; i++)
        if (a.tools[i].own == PAWL_OWN_TOOL_SEARCH)
            tools[2] = a.tools[i];
    a.tools = tools;
    a.ntools = 3;
    agent_begin(&w, &a, "{\"input\":\"go\"}");
    model_says(&w, NULL, "tool_search s1 {\"query\":\"one\"};tool_search s2 {\"query\":\"two\"};tool_search s3 {\"query\":\"one two\"}");
    CHECK_STR(pawl_value_string(pawl_value_find(pawl_state_get(w.st, "@tools"), "/1/name")), "far");
    CHECK_STR(pawl_value_string(pawl_value_find(pawl_state_get(w.st, "@tools"), "/2/name")), "near");
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "@tools")), 3);
    model_says(&w, "so", NULL);
    world_end(&w);
}
