/* life_test.c - hooks in the life of an agent: at its beginning, an input, an answer, a stop, a summary, a question and its end (P4, P5, A3). */
#include "agenting.h"

#define HOOK(point) "\"" point "\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"check\"}]}]"
#define HOOKS(list) "\"@policy\":{\"hooks\":[{\"from\":\"s.json\",\"hooks\":{" list "}}]}"
#define FINE "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}"
#define NO(why) "{\"status\":2,\"stderr\":\"" why "\",\"stdout\":\"\"}"
#define SAYS(json) "{\"status\":0,\"stderr\":\"\",\"stdout\":\"" json "\"}"

static void begin(world *w, const char *input)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
}

/* What the open hook was asked with, canonical; "": none is. */
static const char *asked(world *w)
{
    static char out[4096];
    pawl_command cmd;
    buf b;

    out[0] = '\0';
    for (size_t i = 0; i < pawl_state_commands(w->st); i++)
        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) == PAWL_OK && cmd.effect != NULL && strcmp(cmd.effect, "hook") == 0) {
            buf_init(&b, NULL);
            canon(&b, pawl_value_get(cmd.args, "input"));
            snprintf(out, sizeof out, "%.*s", (int)b.size, b.data);
            buf_free(&b);
            break;
        }
    return out;
}

/* What the open hook is asked about; and then it says that, after a crash. */
static void hears(world *w, const char *point, const char *says)
{
    char event[80];

    snprintf(event, sizeof event, "\"hook_event_name\":\"%s\"", point);
    if (strstr(asked(w), event) == NULL)
        CHECK_FAIL("asked: %s, and not at %s", asked(w), point);
    world_crash(w);
    comes(w, "hook", PAWL_OUTCOME_DONE, says);
}

static const char *last(world *w)
{
    return content_at(w, pawl_value_size(pawl_state_get(w->st, "messages")) - 1);
}

static const char *agent_has(world *w, const char *member)
{
    const char *text = pawl_value_string(pawl_value_get(pawl_state_get(w->st, "@agent"), member));

    return text != NULL ? text : "";
}

/* ---- an input ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P4_an_input_that_a_hook_blocks_is_not_given_to_the_model)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("UserPromptSubmit")) ",\"@cwd\":\"/w\",\"input\":\"drop it\"}");
    CHECK_STR(agent_shows(&w), "processing");
    CHECK_STR(asked(&w), "{\"cwd\":\"/w\",\"hook_event_name\":\"UserPromptSubmit\",\"permission_mode\":\"default\",\"prompt\":\"drop it\",\"run\":\"run-1\",\"session_id\":\"run-1\"}");
    CHECK_STR(command_of(&w, "llm"), "");
    CHECK_STR(roles(&w), "");
    world_signal(&w, "input", "\"keep it\"");   /* meanwhile: it queues, and is asked of in its turn */
    hears(&w, "UserPromptSubmit", NO("not that"));
    CHECK_STR(roles(&w), "");
    CHECK(strstr(traced(&w), "\"message\":\"Prompt blocked: not that\"") != NULL);
    CHECK(strstr(traced(&w), "\"end\":\"prompt_blocked\"") != NULL);
    CHECK(strstr(asked(&w), "\"prompt\":\"keep it\"") != NULL);
    hears(&w, "UserPromptSubmit", FINE);
    CHECK_STR(roles(&w), "user");
    CHECK_STR(content_at(&w, 0), "keep it");
    model_says(&w, "kept", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_signal(&w, "input", "\"drop it\"");
    hears(&w, "UserPromptSubmit", SAYS("{\\\"continue\\\":false,\\\"stopReason\\\":\\\"enough\\\"}"));
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(agent_has(&w, "note"), "Prompt blocked: enough");
    CHECK_STR(agent_has(&w, "end"), "stop_hook");
    CHECK_STR(roles(&w), "user assistant");
    CHECK_STR(world_status(&w), "input-required");
    world_end(&w);
}

PAWL_TEST(test_P4_a_hook_adds_to_an_input_or_makes_another_of_it)
{
    world w;

    begin(&w, "{" HOOKS("\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"},{\"type\":\"command\",\"command\":\"b\"}]}]") ",\"input\":\"one\"}");
    hears(&w, "UserPromptSubmit", SAYS("{\\\"verdict\\\":\\\"modify\\\",\\\"args\\\":{\\\"prompt\\\":\\\"two\\\"}}"));
    CHECK(strstr(asked(&w), "\"prompt\":\"two\"") != NULL);     /* as the one before it left it */
    hears(&w, "UserPromptSubmit", SAYS("{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"UserPromptSubmit\\\",\\\"additionalContext\\\":\\\"it rains\\\"}}"));
    CHECK_STR(world_get(&w, "messages"), "[{\"content\":[{\"text\":\"two\",\"type\":\"text\"},{\"text\":\"it rains\",\"type\":\"text\"}],\"role\":\"user\"}]");
    model_says(&w, "so", NULL);
    world_signal(&w, "input", "{\"input\":[{\"type\":\"image\",\"media_type\":\"image/png\",\"data\":\"aGk=\"},{\"type\":\"text\",\"text\":\"what?\"}]}");
    CHECK(strstr(asked(&w), "\"prompt\":\"what?\"") != NULL);
    hears(&w, "UserPromptSubmit", SAYS("{\\\"verdict\\\":\\\"modify\\\",\\\"args\\\":{\\\"prompt\\\":\\\"who?\\\"}}"));
    hears(&w, "UserPromptSubmit", FINE);
    CHECK(strstr(world_get(&w, "messages"),
                 "[{\"text\":\"who?\",\"type\":\"text\"},{\"data\":\"aGk=\",\"media_type\":\"image/png\",\"type\":\"image\"}]") != NULL);
    model_says(&w, "me", NULL);
    world_end(&w);
}

PAWL_TEST(test_P5_an_input_whose_hook_fails)
{
    static const char *const claude = "{\"@policy\":{\"hooks\":[{\"from\":\"s\",\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"check\","
                                      "\"profile\":\"claude\"}]}]}}]},\"input\":\"go\"}";
    world w;

    begin(&w, "{" HOOKS(HOOK("UserPromptSubmit")) ",\"input\":\"go\"}");
    comes(&w, "hook", PAWL_OUTCOME_TIMEOUT, "{\"code\":\"timeout\",\"text\":\"it took too long\"}");
    CHECK(strstr(agent_has(&w, "note"), "Prompt blocked: it failed with timeout: it took too long") != NULL);
    world_end(&w);
    begin(&w, claude);
    comes(&w, "hook", PAWL_OUTCOME_TIMEOUT, "{\"code\":\"timeout\",\"text\":\"it took too long\"}");
    CHECK(strstr(traced(&w), "it failed, and was let through: it failed with timeout") != NULL);
    CHECK_STR(roles(&w), "user");
    model_says(&w, "so", NULL);
    world_signal(&w, "input", "\"more\"");
    hears(&w, "UserPromptSubmit", SAYS("it rains"));     /* plain text is said to the model */
    CHECK(strstr(world_get(&w, "messages"), "[{\"text\":\"more\",\"type\":\"text\"},{\"text\":\"it rains\",\"type\":\"text\"}]") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
    begin(&w, "{\"@policy\":{\"hooks\":[{\"from\":\"s\",\"hooks\":{\"Stp\":[]}}]},\"input\":\"go\"}");
    CHECK(strstr(agent_has(&w, "note"), "Prompt blocked: s: there is no event \"Stp\"") != NULL);
    world_end(&w);
}

PAWL_TEST(test_A4_an_interrupt_while_a_hook_looks)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("UserPromptSubmit") "," HOOK("Stop")) ",\"input\":\"go\"}");
    world_signal(&w, "input", "\"next\"");
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(content_at(&w, 0), "User interrupted this message");      /* what was not let in is not given */
    CHECK(strstr(asked(&w), "\"prompt\":\"next\"") != NULL);
    CHECK_INT(pawl_state_commands(w.st), 1);
    hears(&w, "UserPromptSubmit", FINE);
    model_says(&w, "said", NULL);
    world_signal(&w, "interrupt", NULL);
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(roles(&w), "user user assistant user");
    CHECK_INT(pawl_state_commands(w.st), 0);
    world_end(&w);
}

PAWL_TEST(test_W6_hooks_that_change_while_they_are_asked)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("UserPromptSubmit")) ",\"input\":\"go\"}");
    world_update(&w, NULL, "{\"@config\":{\"model\":\"script:none\",\"max_tokens\":9}}");
    CHECK_INT(pawl_state_commands(w.st), 1);    /* it is asked already */
    world_update(&w, NULL, "{\"@policy\":{\"allow\":[\"Bash(ls)\"],\"hooks\":[{\"from\":\"s.json\",\"hooks\":{" HOOK("UserPromptSubmit") "}}]}}");
    CHECK_INT(pawl_state_commands(w.st), 1);
    world_update(&w, NULL, "{\"@policy\":{\"hooks\":[{\"from\":\"t.json\",\"hooks\":{" HOOK("UserPromptSubmit") "}}]}}");
    CHECK_INT(pawl_state_commands(w.st), 1);
    hears(&w, "UserPromptSubmit", NO("as t has it"));
    CHECK_STR(agent_has(&w, "note"), "Prompt blocked: as t has it");
    world_signal(&w, "input", "\"go\"");
    world_update(&w, NULL, "{\"@policy\":{}}");
    CHECK_STR(roles(&w), "user");               /* nobody is to be asked any more */
    CHECK_STR(asked(&w), "");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- the end of a turn ------------------------------------------------------------------------------------- */

PAWL_TEST(test_P4_a_hook_keeps_a_turn_from_its_end)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("Stop")) ",\"input\":\"go\"}");
    model_says(&w, "done", NULL);
    CHECK(strstr(asked(&w), "\"last_assistant_message\":\"done\"") != NULL && strstr(asked(&w), "\"stop_hook_active\":false") != NULL);
    CHECK_STR(agent_shows(&w), "processing");
    hears(&w, "Stop", SAYS("{\\\"decision\\\":\\\"block\\\",\\\"reason\\\":\\\"run the tests\\\"}"));
    CHECK_STR(roles(&w), "user assistant user");
    CHECK_STR(last(&w), "run the tests");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    model_says(&w, "they pass", NULL);
    CHECK(strstr(asked(&w), "\"stop_hook_active\":true") != NULL);
    hears(&w, "Stop", FINE);
    CHECK_STR(agent_shows(&w), "idle");
    CHECK_STR(world_get(&w, "output"), "\"they pass\"");
    world_signal(&w, "input", "\"more\"");
    model_says(&w, "more", NULL);
    CHECK(strstr(asked(&w), "\"stop_hook_active\":false") != NULL);      /* another turn */
    hears(&w, "Stop", SAYS("{\\\"continue\\\":false,\\\"stopReason\\\":\\\"enough\\\"}"));
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(agent_has(&w, "end"), "stop_hook");
    world_end(&w);
}

PAWL_TEST(test_P4_a_turn_is_kept_from_its_end_eight_times_at_most)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("Stop")) ",\"input\":\"go\"}");
    for (int i = 0; i < STOPS_MAX; i++) {
        model_says(&w, "done", NULL);
        hears(&w, "Stop", NO("again"));
        CHECK_STR(last(&w), "again");
    }
    model_says(&w, "done", NULL);
    hears(&w, "Stop", NO("again"));
    CHECK_STR(agent_shows(&w), "idle");
    CHECK(strstr(traced(&w), "(STOPS_MAX)") != NULL);
    CHECK_STR(command_of(&w, "llm"), "");
    world_end(&w);
}

PAWL_TEST(test_P4_a_sub_agent_has_a_stop_of_its_own)
{
    world w;

    begin(&w, "{\"@depth\":1,\"@once\":\"run\"," HOOKS(HOOK("UserPromptSubmit") "," HOOK("SessionStart") "," HOOK("SessionEnd") "," HOOK("Stop") ","
              "\"SubagentStop\":[{\"matcher\":\"other\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]},{\"matcher\":\"helper\",\"hooks\":[{\"type\":\"command\",\"command\":\"y\"}]}]")
              ",\"input\":\"go\"}");
    CHECK_STR(roles(&w), "user");               /* what a model asks of it is no person's input */
    model_says(&w, "found", NULL);
    CHECK(strstr(asked(&w), "\"agent_id\":\"run-1\",\"agent_type\":\"helper\"") != NULL);
    hears(&w, "SubagentStop", NO("look again"));
    CHECK_STR(last(&w), "look again");
    model_says(&w, "found more", NULL);
    hears(&w, "SubagentStop", FINE);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "output"), "\"found more\"");
    world_end(&w);
}

/* ---- an answer ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P4_a_hook_hears_each_answer_before_its_tools_are_used)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("PostAssistantResponse")) ",\"input\":\"go\"}");
    model_says(&w, "let me look", "read_file r1 {\"file_path\":\"a\"}");
    CHECK(strstr(asked(&w), "\"last_assistant_message\":\"let me look\"") != NULL);
    CHECK_STR(command_of(&w, "r1"), "");
    hears(&w, "PostAssistantResponse", NO("no such thing"));     /* there is nothing to deny: a person is told */
    CHECK(strstr(traced(&w), "s.json: PostAssistantResponse[0].hooks[0]: no such thing") != NULL);
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    model_says(&w, "so", "read_file r2 {\"file_path\":\"b\"}");
    hears(&w, "PostAssistantResponse", SAYS("{\\\"continue\\\":false,\\\"stopReason\\\":\\\"enough\\\"}"));
    CHECK_STR(command_of(&w, "r2"), "");
    CHECK_STR(roles(&w), "user assistant tool:r1 assistant tool:r2");
    CHECK_STR(last(&w), "Interrupted");
    CHECK_STR(agent_shows(&w), "done");
    world_end(&w);
}

/* ---- a summary -------------------------------------------------------------------------------------------------- */

static void compacting(world *w, const char *hooks)
{
    pawl_agent a = agent_plain();
    char input[1024];

    a.compact_tokens = 100;
    snprintf(input, sizeof input, "{%s,\"input\":\"one\"}", hooks);
    agent_begin(w, &a, input);
    comes(w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[{\"text\":\"1\",\"type\":\"text\"}],\"role\":\"assistant\"},\"stop\":\"end_turn\",\"usage\":{\"input_tokens\":99,\"output_tokens\":9}}");
    world_signal(w, "input", "\"two\"");
}

PAWL_TEST(test_P4_a_hook_keeps_a_conversation_from_being_summed_up)
{
    static const char *const usual = HOOKS("\"PreCompact\":[{\"matcher\":\"auto\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]");
    world w;

    compacting(&w, usual);
    CHECK(strstr(asked(&w), "\"trigger\":\"auto\"") != NULL);
    hears(&w, "PreCompact", FINE);
    CHECK(strstr(world_get(&w, "@agent"), "\"phase\":\"compacting\"") != NULL);
    model_says(&w, "sum", NULL);
    model_says(&w, "2", NULL);
    CHECK(strncmp(content_at(&w, 0), "Summary of the conversation so far:", 35) == 0);
    world_end(&w);
    compacting(&w, usual);
    hears(&w, "PreCompact", NO("not now"));
    CHECK(strstr(world_get(&w, "@agent"), "\"phase\":\"asking the model\"") != NULL);
    CHECK_STR(content_at(&w, 0), "one");
    comes(&w, "llm", PAWL_OUTCOME_DONE, "{\"message\":{\"content\":[],\"role\":\"assistant\"},\"stop\":\"context_exceeded\"}");
    hears(&w, "PreCompact", NO("not now"));      /* and then there is no way on */
    CHECK_STR(agent_shows(&w), "error");
    CHECK(strstr(agent_has(&w, "error"), "a hook keeps it from being summed up: not now") != NULL);
    world_end(&w);
    compacting(&w, HOOKS("\"PreCompact\":[{\"matcher\":\"manual\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]"));
    CHECK_STR(asked(&w), "");
    model_says(&w, "sum", NULL);
    model_says(&w, "2", NULL);
    world_end(&w);
}

/* ---- beginning and end --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P4_a_session_begins_and_ends)
{
    world w;

    begin(&w, "{" HOOKS("\"SessionStart\":[{\"matcher\":\"startup\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]},"
              "{\"matcher\":\"resume\",\"hooks\":[{\"type\":\"command\",\"command\":\"y\"}]}]," HOOK("SessionEnd")) ",\"@pinned\":\"rules\",\"input\":\"go\"}");
    CHECK(strstr(asked(&w), "\"model\":\"script:none\"") != NULL && strstr(asked(&w), "\"source\":\"startup\"") != NULL);
    world_signal(&w, "interrupt", NULL);        /* there is no turn */
    CHECK_STR(roles(&w), "");
    hears(&w, "SessionStart", SAYS("{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"SessionStart\\\",\\\"additionalContext\\\":\\\"branch: main\\\"}}"));
    CHECK_STR(world_get(&w, "@pinned"), "\"rules\\n\\nbranch: main\"");
    CHECK_STR(roles(&w), "user");
    model_says(&w, "so", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_signal(&w, "shutdown", NULL);
    CHECK_STR(world_status(&w), "working");
    CHECK(strstr(asked(&w), "\"reason\":\"other\"") != NULL);
    hears(&w, "SessionEnd", NO("stay"));
    CHECK_STR(world_status(&w), "completed");
    CHECK(strstr(traced(&w), "SessionEnd[0].hooks[0]: stay") != NULL);
    world_end(&w);
    begin(&w, "{" HOOKS(HOOK("SessionEnd")) ",\"input\":\"go\"}");
    world_signal(&w, "shutdown", NULL);
    world_signal(&w, "shutdown", NULL);         /* nobody waits for a hook twice */
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_P4_what_a_session_begins_with_is_in_its_first_request)
{
    pawl_command cmd;
    world w;

    begin(&w, "{" HOOKS(HOOK("SessionStart")) ",\"input\":\"go\"}");
    hears(&w, "SessionStart", SAYS("{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"SessionStart\\\",\\\"additionalContext\\\":\\\"branch: main\\\"}}"));
    CHECK_INT(pawl_state_commands(w.st), 1);
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_value_size(pawl_value_get(cmd.args, "system")), 2);
    model_says(&w, "so", NULL);
    world_end(&w);
    begin(&w, "{" HOOKS(HOOK("SessionStart") "," HOOK("UserPromptSubmit")) "}");        /* without an input */
    hears(&w, "SessionStart", FINE);
    CHECK_STR(world_status(&w), "input-required");
    world_signal(&w, "input", "\"go\"");
    hears(&w, "UserPromptSubmit", FINE);
    model_says(&w, "so", NULL);
    world_end(&w);
}

#define PLACE(text) SAYS("{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"SessionStart\\\",\\\"additionalContext\\\":\\\"" text "\\\"}}")

PAWL_TEST(test_P4_a_session_that_somebody_comes_back_to)
{
    world w;

    begin(&w, "{" HOOKS(HOOK("SessionStart") "," HOOK("UserPromptSubmit")) ",\"@pinned\":\"rules\",\"input\":\"one\"}");
    hears(&w, "SessionStart", PLACE("branch: main"));
    hears(&w, "UserPromptSubmit", FINE);
    model_says(&w, "1", NULL);
    world_signal(&w, "input", "\"two\"");
    hears(&w, "UserPromptSubmit", FINE);        /* nobody was away */
    world_update(&w, NULL, "{\"@resumed\":true}");
    world_crash(&w);
    model_says(&w, "2", NULL);
    CHECK_STR(asked(&w), "");           /* with the next input */
    world_signal(&w, "input", "\"three\"");
    CHECK(strstr(asked(&w), "\"source\":\"resume\"") != NULL);
    world_signal(&w, "interrupt", NULL);        /* there is no turn */
    world_signal(&w, "input", "\"four\"");
    hears(&w, "SessionStart", PLACE("branch: next"));
    CHECK_STR(world_get(&w, "@pinned"), "\"rules\\n\\nbranch: next\"");        /* in place of what was said before */
    CHECK(strstr(asked(&w), "\"prompt\":\"three\"") != NULL);
    hears(&w, "UserPromptSubmit", FINE);
    model_says(&w, "3", NULL);
    hears(&w, "UserPromptSubmit", FINE);        /* once */
    model_says(&w, "4", NULL);
    CHECK_STR(roles(&w), "user assistant user assistant user assistant user assistant");
    world_update(&w, NULL, "{\"@resumed\":true}");
    world_signal(&w, "input", "\"five\"");
    hears(&w, "SessionStart", FINE);    /* it has nothing to say: what it said stays */
    hears(&w, "UserPromptSubmit", FINE);
    CHECK_STR(world_get(&w, "@pinned"), "\"rules\\n\\nbranch: next\"");
    model_says(&w, "5", NULL);
    world_update(&w, NULL, "{\"@pinned\":\"other rules\",\"@resumed\":true}");
    world_signal(&w, "input", "\"six\"");
    hears(&w, "SessionStart", PLACE("branch: last"));
    CHECK_STR(world_get(&w, "@pinned"), "\"other rules\\n\\nbranch: last\"");
    hears(&w, "UserPromptSubmit", FINE);
    model_says(&w, "6", NULL);
    world_end(&w);
    begin(&w, "{\"input\":\"one\"}");
    model_says(&w, "1", NULL);
    world_update(&w, NULL, "{\"@resumed\":true}");
    world_signal(&w, "input", "\"two\"");
    model_says(&w, "2", NULL);          /* no hook is of that */
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_P4_a_session_that_goes_on_with_a_summary)
{
    pawl_command cmd;
    world w;

    compacting(&w, HOOKS("\"SessionStart\":[{\"matcher\":\"compact\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]"));
    model_says(&w, "sum", NULL);
    CHECK(strstr(asked(&w), "\"source\":\"compact\"") != NULL);
    CHECK(strncmp(content_at(&w, 0), "Summary of the conversation so far:", 35) == 0);
    CHECK_STR(command_of(&w, "llm"), "");
    hears(&w, "SessionStart", PLACE("branch: main"));
    CHECK_STR(world_get(&w, "@pinned"), "\"branch: main\"");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_value_size(pawl_value_get(cmd.args, "system")), 2);         /* with the request that follows */
    CHECK(pawl_value_get(cmd.args, "upto") == NULL);
    model_says(&w, "2", NULL);
    CHECK_STR(roles(&w), "user user assistant");
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
    compacting(&w, HOOKS("\"SessionStart\":[{\"matcher\":\"compact\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]"));
    model_says(&w, "sum", NULL);
    world_signal(&w, "interrupt", NULL);        /* a turn is under way */
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(asked(&w), "");
    CHECK_STR(roles(&w), "user user user");
    CHECK_STR(last(&w), "User interrupted this message");
    world_signal(&w, "input", "\"three\"");
    model_says(&w, "3", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

PAWL_TEST(test_P4_one_that_runs_once_ends_its_session)
{
    world w;

    begin(&w, "{\"@once\":\"run\"," HOOKS(HOOK("SessionEnd")) ",\"input\":\"go\"}");
    model_says(&w, "so", NULL);
    CHECK_STR(world_status(&w), "working");
    hears(&w, "SessionEnd", FINE);
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "output"), "\"so\"");
    world_end(&w);
    begin(&w, "{\"@once\":\"run\"," HOOKS(HOOK("SessionEnd")) ",\"input\":\"go\"}");
    comes(&w, "llm", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"no\"}");
    hears(&w, "SessionEnd", FINE);
    CHECK_STR(world_status(&w), "failed");
    world_end(&w);
}

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P4_a_note_keeps_nobody_waiting)
{
    static const char *const hooks = HOOKS("\"Notification\":[{\"matcher\":\"permission_prompt|idle_prompt\",\"hooks\":[{\"type\":\"command\",\"command\":\"ring\"}]}]");
    char input[512];
    world w;

    snprintf(input, sizeof input, "{%s,\"input\":\"go\"}", hooks);
    begin(&w, input);
    model_says(&w, NULL, "bash b1 {\"command\":\"make\"};ask_user q1 {\"questions\":[{\"question\":\"Which?\",\"header\":\"Which\",\"options\":[{\"label\":\"a\"},{\"label\":\"b\"}]}]}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    CHECK(strstr(asked(&w), "\"notification_type\":\"permission_prompt\"") != NULL);
    world_answer(&w, NULL, "true");
    CHECK(*command_of(&w, "b1") != '\0');       /* the hook has not said anything yet */
    comes(&w, "hook", PAWL_OUTCOME_DONE, SAYS("{\\\"systemMessage\\\":\\\"rung\\\"}"));
    CHECK(strstr(traced(&w), "\"message\":\"rung\"") != NULL);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"\"");
    CHECK_STR(agent_shows(&w), "waiting_for_user_input");
    CHECK_STR(asked(&w), "");                   /* of another type */
    world_answer(&w, NULL, "\"a\"");
    model_says(&w, "so", NULL);
    CHECK_STR(agent_shows(&w), "idle");
    CHECK(strstr(asked(&w), "\"notification_type\":\"idle_prompt\"") != NULL);
    world_signal(&w, "input", "\"more\"");
    comes(&w, "hook", PAWL_OUTCOME_DONE, NO("the bell is broken"));
    CHECK(strstr(traced(&w), "the bell is broken") != NULL);
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_crash(&w);
    comes(&w, "hook", PAWL_OUTCOME_DONE, FINE);
    world_end(&w);
}

/* ---- and where there are none of these --------------------------------------------------------------------------------- */

/* The same but for the hooks themselves: no effect, no entry, nothing kept. */
PAWL_TEST(test_P4_without_such_hooks_nothing_is_another)
{
    static const char *const policies[] = { "", "\"@policy\":{\"deny\":[\"Edit\"]},", HOOKS(HOOK("PreToolUse") "," HOOK("before")) "," };
    char first[4096] = "";

    for (size_t i = 0; i < 3; i++) {
        char input[512];
        world w;

        snprintf(input, sizeof input, "{%s\"input\":\"go\"}", policies[i]);
        begin(&w, input);
        model_says(&w, "so", NULL);
        CHECK_INT(pawl_state_commands(w.st), 0);
        if (i == 0)
            snprintf(first, sizeof first, "%s", world_get(&w, "@agent"));
        CHECK_STR(world_get(&w, "@agent"), first);
        CHECK(*world_get(&w, "@life") == '\0' && *world_get(&w, "@heard") == '\0' && strstr(world_get(&w, "@agent"), "stops") == NULL);
        world_end(&w);
    }
}
