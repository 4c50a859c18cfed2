/* core_test.c - the heart of the agent: its whole matrix of states and events, as the source has it (A1, A2). */
#include "agent/core.h"
#include "lib/check.h"

static core at(core_at state) { return (core){ .at = state, .max_retries = 3 }; }

static core tools(uint32_t open, bool mutated)
{
    core c = at(CORE_EXECUTING_TOOLS);

    c.open = open;
    c.mutated = mutated;
    return c;
}

static core calling(uint32_t retries, uint32_t max)
{
    return (core){ .at = CORE_CALLING_LLM, .retries = retries, .max_retries = max };
}

#define TOLD(...) ((core_input){ __VA_ARGS__ })

/* ---- the matrix --------------------------------------------------------------------------------------- */

/* What the table of the source says, written down once more by hand: 0, the pair means nothing. */
static const struct { core_at next; core_action action; } due[CORE_STATES][CORE_EVENTS] = {
    [CORE_WAITING_FOR_USER_INPUT] = { [CORE_USER_INPUT] = { CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST } },
    [CORE_CALLING_LLM] = { [CORE_TEXT_DELTA] = { CORE_CALLING_LLM, CORE_DISPLAY_MESSAGE },
                           [CORE_TOOL_CALL_DELTA] = { CORE_CALLING_LLM, CORE_WAIT_FOR_INPUT },
                           [CORE_COMPLETED] = { CORE_WAITING_FOR_USER_INPUT, CORE_WAIT_FOR_INPUT },
                           [CORE_LLM_ERROR] = { CORE_ERROR, CORE_WAIT_FOR_INPUT } },
    [CORE_EXECUTING_TOOLS] = { [CORE_TOOL_PROGRESS] = { CORE_EXECUTING_TOOLS, CORE_WAIT_FOR_INPUT },
                               [CORE_TOOL_COMPLETED] = { CORE_EXECUTING_TOOLS, CORE_WAIT_FOR_INPUT } },
    [CORE_POST_TOOLS_HOOK] = { [CORE_POST_TOOLS_HOOK_COMPLETED] = { CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST } },
    [CORE_ERROR] = { [CORE_RETRY_TIMEOUT_FIRED] = { CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST } },
};

PAWL_TEST(test_A1_every_pair_of_state_and_event_is_answered)
{
    for (int state = 1; state < CORE_STATES; state++)
        for (int event = 1; event < CORE_EVENTS; event++) {
            core c = state == CORE_EXECUTING_TOOLS ? tools(2, false) : at((core_at)state);
            const core_input told = { .event = (core_event)event };
            bool ignored;
            const core_action action = core_feed(&c, &told, &ignored);

            if (event == CORE_SHUTDOWN_REQUESTED) {
                CHECK_INT(c.at, CORE_SHUTTING_DOWN);
                CHECK_INT(action, CORE_SHUTDOWN);
            } else if (due[state][event].next == 0) {   /* unchanged, and it waits for input */
                CHECK(ignored);
                CHECK_INT(c.at, state);
                CHECK_INT(action, CORE_WAIT_FOR_INPUT);
            } else {
                CHECK(!ignored);
                CHECK_INT(c.at, due[state][event].next);
                CHECK_INT(action, due[state][event].action);
            }
        }
}

PAWL_TEST(test_A1_what_the_answer_calls_for)
{
    core c = calling(1, 3);

    CHECK_INT(core_feed(&c, &TOLD(.event = CORE_COMPLETED, .calls = 2), NULL), CORE_EXECUTE_TOOLS);
    CHECK_INT(c.at, CORE_EXECUTING_TOOLS);
    CHECK_INT(c.open, 2);
    CHECK(!c.mutated);
}

PAWL_TEST(test_A1_the_last_tool_says_what_follows)
{
    static const struct { bool before, now; core_at next; core_action action; } rows[] = {
        { false, false, CORE_CALLING_LLM, CORE_SEND_LLM_REQUEST },
        { false, true, CORE_POST_TOOLS_HOOK, CORE_RUN_POST_TOOLS_HOOK },
        { true, false, CORE_POST_TOOLS_HOOK, CORE_RUN_POST_TOOLS_HOOK },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        core c = tools(1, rows[i].before);

        c.retries = 2;
        CHECK_INT(core_feed(&c, &TOLD(.event = CORE_TOOL_COMPLETED, .mutating = rows[i].now), NULL), rows[i].action);
        CHECK_INT(c.at, rows[i].next);
        if (rows[i].next == CORE_CALLING_LLM)
            CHECK_INT(c.retries, 0);
    }
}

/* ---- retries (A2) ---------------------------------------------------------------------------------------- */

/* How many calls are made of a request that always fails. */
static uint32_t calls_in_all(uint32_t max_retries)
{
    core c;
    uint32_t calls = 0;
    core_action action;

    core_begin(&c, max_retries);
    action = core_feed(&c, &TOLD(.event = CORE_USER_INPUT), NULL);
    while (action == CORE_SEND_LLM_REQUEST && calls < 100) {
        calls++;
        action = core_feed(&c, &TOLD(.event = CORE_LLM_ERROR), NULL);
        if (c.at == CORE_ERROR)
            action = core_feed(&c, &TOLD(.event = CORE_RETRY_TIMEOUT_FIRED), NULL);
    }
    CHECK_INT(action, CORE_DISPLAY_ERROR);
    CHECK_INT(c.at, CORE_WAITING_FOR_USER_INPUT);
    return calls;
}

PAWL_TEST(test_A2_retries_count_calls_in_all)
{
    static const uint32_t due_calls[] = { 1, 1, 2, 3, 4, 5 };

    for (uint32_t max = 0; max <= 5; max++)
        CHECK_INT(calls_in_all(max), due_calls[max]);
}

PAWL_TEST(test_A2_a_permanent_refusal_is_displayed_at_once)
{
    core c = calling(0, 5);

    CHECK_INT(core_feed(&c, &TOLD(.event = CORE_LLM_ERROR, .permanent = true), NULL), CORE_DISPLAY_ERROR);
    CHECK_INT(c.at, CORE_WAITING_FOR_USER_INPUT);
}

PAWL_TEST(test_A2_G4_retries_stay_over_the_timer)
{
    core c = calling(0, 2);

    CHECK_INT(core_feed(&c, &TOLD(.event = CORE_LLM_ERROR), NULL), CORE_WAIT_FOR_INPUT);
    CHECK_INT(c.at, CORE_ERROR);
    CHECK_INT(c.retries, 1);
    CHECK_INT(core_feed(&c, &TOLD(.event = CORE_RETRY_TIMEOUT_FIRED), NULL), CORE_SEND_LLM_REQUEST);
    CHECK_INT(c.retries, 1);
    CHECK_INT(core_feed(&c, &TOLD(.event = CORE_LLM_ERROR), NULL), CORE_DISPLAY_ERROR);
    CHECK_INT(c.at, CORE_WAITING_FOR_USER_INPUT);
}

/* ---- whatever comes ------------------------------------------------------------------------------------------ */

static core_input any_event(void)
{
    return (core_input){ .event = (core_event)(1 + check_rand_below(CORE_EVENTS - 2)), .calls = (uint32_t)check_rand_below(3),
                        .permanent = check_rand_below(4) == 0, .mutating = check_rand_below(2) == 0 };
}

/* The same events, the same actions; retries never above their bound; a shutdown from wherever it stands. */
PAWL_TEST(test_A1_whatever_comes)
{
    for (int round = 0; round < 2000; round++) {
        const uint32_t max = (uint32_t)check_rand_below(6);
        core a, b;

        core_begin(&a, max);
        core_begin(&b, max);
        CHECK_INT(a.at, CORE_WAITING_FOR_USER_INPUT);
        for (int i = 0; i < 40; i++) {
            const core_input told = any_event();
            const core_at before = a.at;
            const core_action action = core_feed(&a, &told, NULL);

            CHECK_INT(core_feed(&b, &told, NULL), action);
            CHECK_INT(a.at, b.at);
            CHECK(a.retries <= (max > 1 ? max : 1));
            CHECK(a.at != CORE_PROCESSING_LLM_RESPONSE);        /* it is passed through */
            if (before == CORE_POST_TOOLS_HOOK && told.event == CORE_POST_TOOLS_HOOK_COMPLETED)
                CHECK_INT(a.at, CORE_CALLING_LLM);
        }
        CHECK_INT(core_feed(&a, &TOLD(.event = CORE_SHUTDOWN_REQUESTED), NULL), CORE_SHUTDOWN);
        CHECK_INT(core_feed(&a, &TOLD(.event = CORE_SHUTDOWN_REQUESTED), NULL), CORE_SHUTDOWN);
        CHECK_INT(core_feed(&a, &TOLD(.event = CORE_USER_INPUT), NULL), CORE_WAIT_FOR_INPUT);
        CHECK_INT(a.at, CORE_SHUTTING_DOWN);
    }
}

PAWL_TEST(test_A1_names)
{
    for (int state = 1; state < CORE_STATES; state++)
        CHECK_INT(core_at_named(core_at_name((core_at)state)), state);
    CHECK_INT(core_at_named("Thinking"), 0);
    CHECK_INT(core_at_named(NULL), 0);
    CHECK_STR(core_event_name(CORE_POST_TOOLS_HOOK_COMPLETED), "PostToolsHookCompleted");
    CHECK_STR(core_action_name(CORE_RUN_POST_TOOLS_HOOK), "RunPostToolsHook");
    CHECK_INT(CORE_STATES - 1, 7);
    CHECK_INT(CORE_EVENTS - 1, 10);
    CHECK_INT(CORE_ACTIONS - 1, 7);
}
