/* draw_test.c - the pictures of an agent's tables are the tables (A1, A3). */
#include "agenting.h"
#include "pawl/graph.h"

static const char core_due[] =
    "core\n"
    "\n"
    "    any                    ShutdownRequested                       -> ShuttingDown           Shutdown\n"
    "    WaitingForUserInput    UserInput                               -> CallingLlm             SendLlmRequest\n"
    "    CallingLlm             TextDelta                               -> CallingLlm             DisplayMessage\n"
    "    CallingLlm             ToolCallDelta                           -> CallingLlm             WaitForInput\n"
    "    CallingLlm             Completed                               -> ProcessingLlmResponse  \n"
    "    ProcessingLlmResponse                          has tool calls  -> ExecutingTools         ExecuteTools\n"
    "    ProcessingLlmResponse                                          -> WaitingForUserInput    WaitForInput\n"
    "    CallingLlm             LlmError                retries < max   -> Error                  WaitForInput\n"
    "    CallingLlm             LlmError                                -> WaitingForUserInput    DisplayError\n"
    "    Error                  RetryTimeoutFired                       -> CallingLlm             SendLlmRequest\n"
    "    ExecutingTools         ToolProgress                            -> ExecutingTools         WaitForInput\n"
    "    ExecutingTools         ToolCompleted           some pending    -> ExecutingTools         WaitForInput\n"
    "    ExecutingTools         ToolCompleted           a mutation      -> PostToolsHook          RunPostToolsHook\n"
    "    ExecutingTools         ToolCompleted                           -> CallingLlm             SendLlmRequest\n"
    "    PostToolsHook          PostToolsHookCompleted                  -> CallingLlm             SendLlmRequest\n";

PAWL_TEST(test_A1_the_core_as_text)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};

    CHECK_STR(pawl_agent_draw(0, PAWL_PICTURE_TEXT, s, &err), core_due);
    pawl_step_free(s);
}

/* Every way that the table has stands in the picture, and no other. */
PAWL_TEST(test_A3_the_wrapper_as_it_is)
{
    static const sm_table *const tables[] = { &phase_table, &stage_table, &shown_table };
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};

    for (size_t i = 0; i < 3; i++) {
        const char *picture = pawl_agent_draw(i + 1, PAWL_PICTURE_MERMAID, s, &err);

        CHECK(picture != NULL);
        for (unsigned from = 0; from < tables[i]->count; from++)
            for (unsigned to = 0; to < tables[i]->count; to++) {
                char line[64];

                snprintf(line, sizeof line, "    s%u --> s%u\n", from, to);
                CHECK_INT(strstr(picture, line) != NULL, sm_may(tables[i], from, to));
            }
    }
    for (size_t i = 0; i < 4; i++)
        CHECK(strncmp(pawl_agent_draw(i, PAWL_PICTURE_DOT, s, &err), "digraph", 7) == 0);
    CHECK(strstr(pawl_agent_draw(0, PAWL_PICTURE_MERMAID, s, &err), "    CallingLlm --> Error: LlmError [retries < max] / WaitForInput\n") != NULL);
    CHECK(pawl_agent_draw(4, PAWL_PICTURE_TEXT, s, &err) == NULL);
    CHECK_INT(err.code, PAWL_OK);
    CHECK(pawl_agent_draw(0, (pawl_picture)99, s, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    pawl_step_free(s);
}

/* "FROM: TO, TO" of each state, in their order: the table has these ways and no other. */
static void ways_are(const sm_table *t, const char *const *rows, size_t n, const char *first, const char *last)
{
    CHECK_INT(t->count, n);
    for (unsigned from = 0; from < t->count; from++) {
        const sm_row *r = &t->rows[from];
        char said[256] = "", due[256] = "";
        size_t k = 0;

        while (k < n && (strncmp(rows[k], r->name, strlen(r->name)) != 0 || rows[k][strlen(r->name)] != ':'))
            k++;
        if (k == n)
            CHECK_FAIL("%s: nobody said what follows %s", t->name, r->name);
        for (unsigned to = 0; to < t->count; to++) {
            char word[64];

            snprintf(word, sizeof word, " %s,", t->rows[to].name);
            snprintf(due, sizeof due, "%s%s", rows[k] + strlen(r->name) + 1, rows[k][strlen(r->name) + 1] != '\0' ? "," : "");
            if (sm_may(t, from, to) != (strstr(due, word) != NULL))
                CHECK_FAIL("%s: %s to %s, %s", t->name, r->name, t->rows[to].name, sm_may(t, from, to) ? "which nobody said" : "there is no such way");
            if (sm_may(t, from, to))
                snprintf(said + strlen(said), sizeof said - strlen(said), "%s", word);
        }
        CHECK_INT(strlen(said), strlen(due));           /* each word of `due` is a state, and once */
        CHECK_INT((r->flags & SM_FIRST) != 0, strcmp(r->name, first) == 0);
        CHECK_INT((r->flags & SM_LAST) != 0, strcmp(r->name, last) == 0);
    }
}

/* A turn: summing up comes before a request, hooks of its life are asked anywhere on the way, and each state but the end gives up. */
PAWL_TEST(test_A3_the_ways_of_a_turn)
{
    static const char *const rows[] = {
        "idle: idle, compacting, asking the model, asking hooks, over",        /* it begins and waits */
        "compacting: asking the model, waiting to ask again, idle, asking hooks, over",
        "asking the model: asking the model, compacting, waiting to ask again, settling permissions, idle, asking hooks, over",
        "waiting to ask again: asking the model, compacting, idle, asking hooks, over",
        "settling permissions: using tools, idle, asking hooks, over",
        "using tools: after tools, asking the model, compacting, stopping, idle, asking hooks, over",
        "after tools: asking the model, compacting, idle, asking hooks, over",
        "stopping: idle, asking hooks, over",
        "asking hooks: asking hooks, asking the model, compacting, settling permissions, idle, over",
        "over:",
    };

    ways_are(&phase_table, rows, sizeof rows / sizeof *rows, "idle", "over");
}

/* A tool call: permission first, then its run, then the hook behind it; rules that change begin its permission anew (P1), and one that was
 * called off is done wherever it is. What left never goes back. */
PAWL_TEST(test_A3_the_ways_of_a_tool_call)
{
    static const char *const rows[] = {
        "new: settling, ready, done", "settling: ready, done", "ready: settling, running, done", "running: after, done", "after: done", "done:",
    };

    ways_are(&stage_table, rows, sizeof rows / sizeof *rows, "new", "done");
}

/* The source's table, state by state, and the one way in. */
PAWL_TEST(test_A3_the_ways_between_what_is_shown)
{
    static const char *const rows[] = {
        "new: idle",
        "idle: processing, done",
        "processing: executing_tool, waiting_for_permission, waiting_for_sub_agent, waiting_for_user_input, idle, done, error",
        "waiting_for_permission: executing_tool, done, processing",
        "executing_tool: processing, done, error, waiting_for_sub_agent",
        "waiting_for_sub_agent: processing, error",
        "waiting_for_user_input: processing, done",
        "done: idle",
        "error: idle, processing",
    };

    ways_are(&shown_table, rows, sizeof rows / sizeof *rows, "new", "");
}

PAWL_TEST(test_A3_each_state_has_its_badge)
{
    static const struct { pawl_shown s; const char *name, *text, *color; } rows[] = {
        { PAWL_SHOWN_IDLE, "idle", "Ready", "green" }, { PAWL_SHOWN_PROCESSING, "processing", "Thinking", "blue" },
        { PAWL_SHOWN_WAITING_FOR_PERMISSION, "waiting_for_permission", "Permission needed", "yellow" },
        { PAWL_SHOWN_EXECUTING_TOOL, "executing_tool", "Using tool", "purple" },
        { PAWL_SHOWN_WAITING_FOR_SUB_AGENT, "waiting_for_sub_agent", "Sub-agent", "blue" },
        { PAWL_SHOWN_WAITING_FOR_USER_INPUT, "waiting_for_user_input", "Question", "yellow" }, { PAWL_SHOWN_DONE, "done", "Complete", "gray" },
        { PAWL_SHOWN_ERROR, "error", "Error", "red" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_STR(pawl_shown_name(rows[i].s), rows[i].name);
        CHECK_STR(pawl_shown_badge(rows[i].s).text, rows[i].text);
        CHECK_STR(pawl_shown_badge(rows[i].s).color, rows[i].color);
    }
    CHECK_STR(pawl_shown_name(PAWL_SHOWN_NOTHING), "");
}
