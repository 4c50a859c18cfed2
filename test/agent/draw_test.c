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

static void test_A1_the_core_as_text(void)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = {0};

    CHECK_STR(pawl_agent_draw(0, PAWL_PICTURE_TEXT, s, &err), core_due);
    pawl_step_free(s);
}

/* Every way that the table has stands in the picture, and no other. */
static void test_A3_the_wrapper_as_it_is(void)
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

/* The source's table, state by state, and the one way in. */
static void test_A3_the_ways_between_what_is_shown(void)
{
    static const char *const ways[] = {
        "new idle", "idle processing", "idle done", "processing executing_tool", "processing waiting_for_permission",
        "processing waiting_for_sub_agent", "processing waiting_for_user_input", "processing idle", "processing done", "processing error",
        "waiting_for_permission executing_tool", "waiting_for_permission done", "waiting_for_permission processing",
        "executing_tool processing", "executing_tool done", "executing_tool error", "executing_tool waiting_for_sub_agent",
        "waiting_for_sub_agent processing", "waiting_for_sub_agent error", "waiting_for_user_input processing", "waiting_for_user_input done",
        "done idle", "error idle", "error processing",
    };
    const size_t n = sizeof ways / sizeof *ways;
    size_t found = 0;

    for (unsigned from = 0; from < shown_table.count; from++)
        for (unsigned to = 0; to < shown_table.count; to++) {
            char text[64];
            size_t i = 0;

            snprintf(text, sizeof text, "%s %s", shown_table.rows[from].name, shown_table.rows[to].name);
            while (i < n && strcmp(ways[i], text) != 0)
                i++;
            if (sm_may(&shown_table, from, to) != (i < n))
                CHECK_FAIL("%s: %s", text, i < n ? "there is no such way" : "nobody said so");
            found += i < n;
        }
    CHECK_INT(found, n);
}

static void test_A3_each_state_has_its_badge(void)
{
    static const struct { pawl_shown s; const char *name, *text, *color; } rows[] = {
        { PAWL_SHOWN_IDLE, "idle", "Ready", "green" }, { PAWL_SHOWN_PROCESSING, "processing", "Thinking", "blue" },
        { PAWL_SHOWN_WAITING_FOR_PERMISSION, "waiting_for_permission", "Permission needed", "yellow" },
        { PAWL_SHOWN_EXECUTING_TOOL, "executing_tool", "Using tool", "purple" }, { PAWL_SHOWN_WAITING_FOR_SUB_AGENT, "waiting_for_sub_agent", "Sub-agent", "blue" },
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

int main(int argc, char **argv)
{
    static const check_case cases[] = { CASE(test_A1_the_core_as_text), CASE(test_A3_the_wrapper_as_it_is), CASE(test_A3_the_ways_between_what_is_shown), CASE(test_A3_each_state_has_its_badge) };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
