/* permission_test.c - may its tools be used: rules, hooks, the mode and a person, under an agent (P2, P4, P6, W3, W6, A3). */
#include "agenting.h"
#include "kernel/step.h"

static void asks(world *w, const char *input, const char *calls)
{
    const pawl_agent a = agent_plain();

    agent_begin(w, &a, input);
    model_says(w, NULL, calls);
}

static void begin(world *w, pawl_denied denied, const char *input, const char *calls)
{
    pawl_agent a = agent_plain();

    a.denied = denied;
    agent_begin(w, &a, input);
    model_says(w, NULL, calls);
}

/* ---- the policy ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P2_the_policy_of_a_run_is_compiled_once_for_all_its_calls)
{
    pawl_agent a = agent_plain();
    world w;

    agent_begin(&w, &a, "{\"@policy\":{\"allow\":[\"Bash(ls:*)\"]},\"input\":\"go\"}");
    model_says(&w, NULL, "bash b1 {\"command\":\"ls a\"};bash b2 {\"command\":\"ls b\"};bash b3 {\"command\":\"ls c\"}");
    for (int i = 0; i < 3; i++)
        comes(&w, (const char *[]){ "b1", "b2", "b3" }[i], PAWL_OUTCOME_DONE, "\"x\"");
    CHECK(w.s->derived.at != NULL);
    CHECK_INT(policy_cache_compiled(w.s->derived.at), 1);
    world_end(&w);
}

/* ---- a person ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A3_permissions_are_settled_first_in_request_order)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "read_file r1 {\"file_path\":\"a\"};bash b1 {\"command\":\"make x\"};bash b2 {\"command\":\"make y\"}");
    CHECK_STR(agent_shows(&w), "waiting_for_permission");
    CHECK_STR(command_of(&w, "r1"), "");        /* nothing runs before all are settled */
    CHECK(*world_open(&w, "b1", true) != '\0');
    CHECK_STR(world_open(&w, "b2", true), "");
    CHECK_STR(world_status(&w), "input-required");
    world_crash(&w);
    world_answer(&w, "b1", "true");
    CHECK(*world_open(&w, "b2", true) != '\0');
    world_answer(&w, "b2", "true");
    CHECK(*command_of(&w, "r1") != '\0');
    CHECK_STR(command_of(&w, "b1"), "");        /* the read comes first */
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    comes(&w, "b2", PAWL_OUTCOME_DONE, "\"y\"");
    model_says(&w, "so", NULL);
    CHECK_STR(roles(&w), "user assistant tool:r1 tool:b1 tool:b2 assistant");
    world_end(&w);
}

PAWL_TEST(test_A3_a_persons_no_ends_the_turn)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"};read_file r1 {\"file_path\":\"a\"}");
    world_answer(&w, NULL, "false");
    CHECK_STR(agent_shows(&w), "done");
    CHECK_STR(roles(&w), "user assistant tool:b1 tool:r1");
    CHECK_STR(content_at(&w, 2), "Error: User denied permission for: bash");
    CHECK_STR(content_at(&w, 3), "Interrupted");
    CHECK_STR(command_of(&w, "llm"), "");
    world_end(&w);
}

PAWL_TEST(test_P6_a_no_with_a_note_tells_the_model)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_answer(&w, NULL, "{\"approve\":false,\"note\":\"use ninja\"}");
    CHECK_STR(content_at(&w, 2), "Error: use ninja");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_end(&w);
    begin(&w, PAWL_DENIED_TELLS, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_answer(&w, NULL, "false");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_end(&w);
    begin(&w, PAWL_DENIED_ENDS, "{\"@policy\":{\"deny\":[\"Bash\"]},\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    CHECK_STR(agent_shows(&w), "done");
    world_end(&w);
}

PAWL_TEST(test_P2_edited_arguments_are_decided_again)
{
    world w;

    asks(&w, "{\"@policy\":{\"deny\":[\"Bash(rm:*)\"]},\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{\"command\":\"make y\"}}");
    CHECK(*command_of(&w, "b1") != '\0');
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"y\"");
    model_says(&w, NULL, "bash b2 {\"command\":\"make z\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{\"command\":\"rm -r z\"}}");
    CHECK(strncmp(content_at(&w, 4), "Error: Permission denied for tool: bash: ", 41) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P2_where_nobody_can_be_asked_it_is_a_no)
{
    world w;

    asks(&w, "{\"@unasked\":true,\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    CHECK_STR(content_at(&w, 2), "Error: Permission denied for tool: bash");
    CHECK(*command_of(&w, "llm") != '\0');
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* It was asked while somebody was there: what is settled without him is not asked any more. */
PAWL_TEST(test_P2_what_was_asked_of_who_left_is_over)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    CHECK(*world_open(&w, "b1", true) != '\0');
    world_update(&w, NULL, "{\"@unasked\":true}");
    CHECK_STR(world_open(&w, "b1", true), "");
    CHECK_INT(pawl_state_waits(w.st), 0);
    CHECK_STR(content_at(&w, 2), "Error: Permission denied for tool: bash");
    model_says(&w, "so", NULL);
    CHECK_INT(pawl_state_waits(w.st), 1);       /* for input */
    CHECK_STR(agent_shows(&w), "idle");
    world_end(&w);
}

/* ---- rules and modes ---------------------------------------------------------------------------------------- */

PAWL_TEST(test_P2_rules_decide_without_a_person)
{
    world w;

    asks(&w, "{\"@policy\":{\"allow\":[\"Bash(make:*)\"],\"deny\":[\"Read(//etc/**)\"]},\"@cwd\":\"/w\",\"input\":\"go\"}",
         "bash b1 {\"command\":\"make x\"};read_file r1 {\"file_path\":\"/etc/passwd\"}");
    if (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK(*command_of(&w, "b1") != '\0');
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied for tool: read_file: ", 46) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* "leads_to" in the decision with the open call of `id`; "" : it has none. */
static const char *led_to(world *w, const char *id)
{
    static char text[200];
    pawl_command cmd;

    for (size_t i = 0; i < pawl_state_commands(w->st); i++) {
        const char *to, *own;

        if (pawl_state_command(w->st, i, w->look, &cmd, NULL, NULL) != PAWL_OK)
            CHECK_FAIL("a command cannot be looked at");
        own = pawl_value_string(pawl_value_get(cmd.args, "call"));
        to = pawl_value_string(pawl_value_get(pawl_value_get(cmd.args, "decision"), "leads_to"));
        if (own != NULL && strcmp(own, id) == 0) {
            snprintf(text, sizeof text, "%s", to != NULL ? to : "");
            return text;
        }
    }
    return "";
}

/* The answer about links is in the journal: as older programs gave it, the decision keeps its bytes (K5). */
PAWL_TEST(test_P8_a_decision_names_the_target_that_it_was_made_on)
{
    static const struct { const char *links, *to; } rows[] = {
        { "{}", "" }, { "{\"/w/l\":\"/w/a\"}", "" }, { "{\"/w/l\":{\"to\":\"/w/a\"}}", "/w/a" }, { "{\"/w/l\":{\"same\":\"/w/a\"}}", "" },
    };
    world w;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        asks(&w, "{\"@policy\":{\"cwd\":\"/w\",\"deny\":[\"Read(./.env)\"]},\"@cwd\":\"/w\",\"input\":\"go\"}", "read_file r1 {\"file_path\":\"l\"}");
        comes(&w, "links", PAWL_OUTCOME_DONE, rows[i].links);
        CHECK_STR(led_to(&w, "r1"), rows[i].to);
        comes(&w, "r1", PAWL_OUTCOME_DONE, "\"x\"");
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

PAWL_TEST(test_P8_what_a_relative_path_leads_to_is_denied)
{
    static const char *const links[] = { "{\"/w/l\":\"/w/.env\"}", "{\"/w/l\":{\"to\":\"/w/.env\"}}", "{\"/w/l\":{\"same\":\"/w/.env\"}}" };
    world w;

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        asks(&w, "{\"@policy\":{\"cwd\":\"/w\",\"deny\":[\"Read(./.env)\"]},\"@cwd\":\"/w\",\"input\":\"go\"}", "read_file r1 {\"file_path\":\"l\"}");
        comes(&w, "links", PAWL_OUTCOME_DONE, links[i]);
        CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: read_file: denied by the rule Read(./.env)", 77) == 0);
        model_says(&w, "so", NULL);
        world_end(&w);
    }
}

PAWL_TEST(test_P1_plan_denies_what_writes)
{
    world w;

    asks(&w, "{\"@mode\":\"plan\",\"@policy\":{\"allow\":[\"Edit\",\"WebFetch\"]},\"input\":\"go\"}",
         "edit_file e1 {\"file_path\":\"a\"};web_fetch w1 {};bash b1 {\"command\":\"make\"}");
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK(*command_of(&w, "b1") != '\0');       /* its handler has it run where it can only read, or denies it */
    comes(&w, "b1", PAWL_OUTCOME_ERROR, "{\"code\":\"denied\",\"text\":\"no sandbox\"}");
    CHECK_STR(roles(&w), "user assistant tool:e1 tool:w1 tool:b1");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied", 24) == 0);
    CHECK(strncmp(content_at(&w, 3), "Error: Permission denied", 24) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- W6 -------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_W6_rules_that_change_while_it_is_asked)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_update(&w, NULL, "{\"@policy\":{\"deny\":[\"Bash(make:*)\"]}}");
    CHECK_STR(world_open(&w, "b1", true), "");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: bash: ", 41) == 0);
    model_says(&w, NULL, "bash b2 {\"command\":\"ninja\"}");
    CHECK(*world_open(&w, "b2", true) != '\0');
    world_update(&w, NULL, "{\"@policy\":{\"allow\":[\"Bash(ninja)\"]}}");
    CHECK(*command_of(&w, "b2") != '\0');       /* now nobody has to be asked */
    comes(&w, "b2", PAWL_OUTCOME_DONE, "\"\"");
    model_says(&w, NULL, "bash b3 {\"command\":\"cmake\"}");
    world_update(&w, NULL, "{\"@policy\":{\"allow\":[\"Bash(ls)\"]}}");
    CHECK(*world_open(&w, "b3", true) != '\0'); /* asked anew, under the new ones */
    world_update(&w, NULL, "{\"@mode\":\"bypassPermissions\"}");
    CHECK(*command_of(&w, "b3") != '\0');
    comes(&w, "b3", PAWL_OUTCOME_DONE, "\"\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* A yes was to what the call would have done where it was asked. */
PAWL_TEST(test_W6_another_folder_is_another_call)
{
    world w;

    asks(&w, "{\"@cwd\":\"/a\",\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"};bash b2 {\"command\":\"make y\"};bash b3 {\"command\":\"make z\"}");
    world_answer(&w, "b1", "true");
    world_update(&w, NULL, "{\"@cwd\":\"/b\"}");     /* b2 is asked, and b1 has its yes */
    CHECK(*world_open(&w, "b1", true) != '\0');
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_crash(&w);
    world_answer(&w, "b1", "true");
    world_answer(&w, "b2", "true");
    world_answer(&w, "b3", "true");
    CHECK(*command_of(&w, "b1") != '\0');
    world_update(&w, NULL, "{\"@cwd\":\"/c\"}");     /* b1 is at work in /b, the others wait for their turn */
    CHECK(*world_open(&w, "b2", true) != '\0');
    CHECK_INT(pawl_state_waits(w.st), 1);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK_STR(command_of(&w, "b2"), "");
    world_answer(&w, "b2", "true");
    CHECK(strstr(traced(&w), "\"call\":\"b1\",\"cwd\":\"/b\"") != NULL && strstr(traced(&w), "\"call\":\"b1\",\"cwd\":\"/a\"") == NULL);
    world_answer(&w, "b3", "true");
    comes(&w, "b2", PAWL_OUTCOME_DONE, "\"y\"");
    comes(&w, "b3", PAWL_OUTCOME_DONE, "\"z\"");
    CHECK(strstr(traced(&w), "\"call\":\"b2\",\"cwd\":\"/c\"") != NULL && strstr(traced(&w), "\"call\":\"b3\",\"cwd\":\"/c\"") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* So are other directories: they stand in the rules. */
PAWL_TEST(test_P1_tools_are_told_the_folders_of_the_workspace)
{
    static const char *const calls = "bash b1 {\"command\":\"make x\"};read_file r1 {\"file_path\":\"/data/a\"}";
    world w;

    asks(&w, "{\"@cwd\":\"/w\",\"@policy\":{\"cwd\":\"/w\",\"directories\":[\"/data\",\"/kept\"],\"deny\":[\"Edit(//kept/**)\",\"Edit(//data/secret/**)\"]},\"input\":\"go\"}", calls);
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    CHECK(*world_open(&w, "b1", true) != '\0');
    world_update(&w, NULL, "{\"@policy\":{\"cwd\":\"/w\",\"directories\":[\"/data\"]}}");
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK(*world_open(&w, "b1", true) != '\0');
    world_update(&w, NULL, "{\"@policy\":{\"cwd\":\"/w\",\"directories\":[\"/data\",\"/kept\"],\"deny\":[\"Edit(//kept/**)\",\"Edit(//data/secret/**)\"]}}");
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    world_answer(&w, NULL, "true");
    while (*command_of(&w, "links") != '\0')
        comes(&w, "links", PAWL_OUTCOME_DONE, "{}");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    CHECK(strstr(traced(&w), "\"directories\":[\"/data\",\"/kept\"],\"input\":{\"command\":\"make x\"},\"read_only\":[\"/kept\"],\"tool\":\"bash\"") != NULL);
    CHECK(strstr(traced(&w), "\"directories\":[\"/data\",\"/kept\"],\"input\":{\"file_path\":\"/data/a\"}") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
    asks(&w, "{\"@mode\":\"bypassPermissions\",\"@policy\":{\"cwd\":\"/w\"},\"input\":\"go\"}", calls);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    CHECK(strstr(traced(&w), "\"directories\":[") == NULL && strstr(traced(&w), "\"read_only\":[") == NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* What else changes meanwhile asks nobody anew: neither a person, nor a hook that is at work. */
PAWL_TEST(test_W6_what_is_asked_is_asked_once)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"};bash b2 {\"command\":\"make y\"}");
    world_update(&w, NULL, "{\"@config\":{\"max_tokens\":9,\"model\":\"script:none\"}}");
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_answer(&w, "b1", "true");
    CHECK(*world_open(&w, "b2", true) != '\0');
    world_crash(&w);
    world_update(&w, NULL, "{\"@config\":{\"max_tokens\":8,\"model\":\"script:none\"}}");
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_answer(&w, "b2", "{\"approve\":true,\"input\":{\"command\":\"make z\"}}");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    comes(&w, "b2", PAWL_OUTCOME_DONE, "\"z\"");
    model_says(&w, "so", NULL);
    world_end(&w);
    asks(&w, "{\"@mode\":\"bypassPermissions\",\"@policy\":{\"hooks\":[{\"from\":\"s\",\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"},"
             "{\"type\":\"command\",\"command\":\"b\"}]}]}}]},\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_update(&w, NULL, "{\"@config\":{\"max_tokens\":9,\"model\":\"script:none\"}}");
    CHECK_INT(pawl_state_commands(w.st), 1);
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    CHECK_INT(pawl_state_commands(w.st), 1);
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":2,\"stderr\":\"the second says no\",\"stdout\":\"\"}");
    CHECK(strstr(content_at(&w, 2), "the second says no") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* The first call goes back to its hook, and meanwhile somebody says no to the second: by the mode of now nobody would have been asked. */
PAWL_TEST(test_W6_a_no_stands_whatever_the_mode_has_become)
{
    static const char quiet[] = "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}";
    world w;

    asks(&w, "{\"@policy\":{\"allow\":[\"Bash\"],\"hooks\":[{\"from\":\"s\",\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}}]},"
             "\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"};edit_file e1 {\"file_path\":\"a\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, quiet);
    CHECK(*world_open(&w, "e1", true) != '\0');
    world_update(&w, NULL, "{\"@mode\":\"bypassPermissions\"}");
    CHECK(*command_of(&w, "hook") != '\0');
    world_answer(&w, "e1", "{\"approve\":false,\"note\":\"not that file\"}");
    world_crash(&w);
    comes(&w, "hook", PAWL_OUTCOME_DONE, quiet);
    CHECK_STR(command_of(&w, "e1"), "");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    CHECK(strstr(content_at(&w, 3), "not that file") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

static unsigned occurrences(const char *in, const char *text)
{
    unsigned n = 0;

    for (const char *at = in; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* The yes to the plan is heard while tools run: b1 is asked under plan mode, then the plan ends that mode, and b1 is asked again. */
PAWL_TEST(test_W6_a_question_that_its_own_event_takes_back_was_never_asked)
{
    static const char start[] = "{\"@mode\":\"bypassPermissions\",\"@policy\":{\"ask\":[\"Bash(make:*)\"],\"hooks\":[{\"from\":\"s\",\"hooks\":"
                                "{\"Notification\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}}]},\"input\":\"go\"}";
    unsigned requests;
    size_t hooks;
    world w;

    asks(&w, start, "bash r1 {\"command\":\"ls\"};plan_exit p1 {\"plan\":\"go\"};bash b1 {\"command\":\"make x\"}");
    world_answer(&w, "b1", "true");
    world_update(&w, NULL, "{\"@mode\":\"plan\"}");
    CHECK(*world_open(&w, "p1", true) != '\0');
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    requests = occurrences(traced(&w), "permission_request");
    hooks = pawl_state_commands(w.st);
    world_answer(&w, "p1", "true");
    CHECK_STR(world_get(&w, "@mode"), "\"default\"");
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK(*world_open(&w, "b1", true) != '\0');
    CHECK_INT(occurrences(traced(&w), "permission_request"), requests + 1);
    CHECK_INT(pawl_state_commands(w.st), hooks + 1);
    world_crash(&w);
    world_answer(&w, "b1", "true");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Rules that cannot be read deny, and nobody is asked under the rules before them any more. */
PAWL_TEST(test_W6_rules_that_cannot_be_read_leave_no_question_open)
{
    world w;

    asks(&w, "{\"input\":\"go\"}", "bash b1 {\"command\":\"make x\"}");
    world_update(&w, NULL, "{\"@policy\":{\"deny\":[\"Bash(\"]}}");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: bash: ", 41) == 0);
    CHECK_STR(world_open(&w, "b1", true), "");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* ---- hooks -------------------------------------------------------------------------------------------------------- */

#define HOOKS(point, matcher) "\"hooks\":[{\"from\":\"settings.json\",\"hooks\":{\"" point "\":[{\"matcher\":\"" matcher "\",\"hooks\":[{\"type\":\"command\",\"command\":\"check\"}]}]}}]"

PAWL_TEST(test_P4_a_hook_before_it)
{
    static const char policy[] = "{\"@mode\":\"bypassPermissions\",\"@policy\":{" HOOKS("PreToolUse", "Bash") "},\"input\":\"go\"}";
    world w;

    asks(&w, policy, "bash b1 {\"command\":\"make x\"};read_file r1 {\"file_path\":\"a\"};bash b2 {\"command\":\"make y\"};bash b3 {\"command\":\"make z\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    world_crash(&w);
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":2,\"stderr\":\"not y\",\"stdout\":\"\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
                                 "\\\"permissionDecision\\\":\\\"allow\\\",\\\"updatedInput\\\":{\\\"command\\\":\\\"make -n z\\\"}}}\"}");
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"x\"");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "\"a\"");
    CHECK(*command_of(&w, "b3") != '\0');
    CHECK_STR(command_of(&w, "b2"), "");
    CHECK(strstr(world_get(&w, "@edited"), "make -n z") != NULL);
    comes(&w, "b3", PAWL_OUTCOME_DONE, "\"z\"");
    CHECK(strstr(content_at(&w, 4), "not y") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P2_hooks_see_what_a_person_edited_and_may_not_change_it)
{
    static const char policy[] = "{\"@policy\":{" HOOKS("PreToolUse", "Bash") "},\"input\":\"go\"}";
    world w;

    asks(&w, policy, "bash b1 {\"command\":\"make x\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{\"command\":\"make y\"}}");
    CHECK_STR(command_of(&w, "b1"), "");
    world_crash(&w);
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    CHECK(strstr(world_get(&w, "@edited"), "make y") != NULL);
    comes(&w, "b1", PAWL_OUTCOME_DONE, "\"y\"");
    model_says(&w, NULL, "bash b2 {\"command\":\"make x\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    world_answer(&w, NULL, "{\"approve\":true,\"input\":{\"command\":\"make y\"}}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PreToolUse\\\","
                                 "\\\"updatedInput\\\":{\\\"command\\\":\\\"make z\\\"}}}\"}");
    CHECK(strstr(content_at(&w, 4), "rewrote what a person had edited") != NULL);
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P4_a_hook_after_it_may_replace_the_result)
{
    static const char policy[] = "{\"@mode\":\"bypassPermissions\",\"@policy\":{" HOOKS("PostToolUse", "Read") "},\"input\":\"go\"}";
    world w;

    asks(&w, policy, "read_file r1 {\"file_path\":\"a\"};read_file r2 {\"file_path\":\"b\"}");
    comes(&w, "r2", PAWL_OUTCOME_DONE, "{\"content\":\"two\"}");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "{\"content\":\"one\"}");
    CHECK_STR(roles(&w), "user assistant");
    world_crash(&w);
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\\\"hookSpecificOutput\\\":{\\\"hookEventName\\\":\\\"PostToolUse\\\","
                                 "\\\"updatedToolOutput\\\":\\\"hidden\\\"}}\"}");
    comes(&w, "hook", PAWL_OUTCOME_DONE, "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    CHECK_STR(roles(&w), "user assistant tool:r1 tool:r2");
    CHECK_STR(content_at(&w, 2), "one");
    CHECK_STR(content_at(&w, 3), "hidden");
    model_says(&w, "so", NULL);
    world_end(&w);
}

PAWL_TEST(test_P5_a_hook_that_fails_denies)
{
    static const char policy[] = "{\"@mode\":\"bypassPermissions\",\"@policy\":{" HOOKS("PreToolUse", "") "},\"input\":\"go\"}";
    world w;

    asks(&w, policy, "read_file r1 {\"file_path\":\"a\"}");
    comes(&w, "hook", PAWL_OUTCOME_TIMEOUT, "{\"code\":\"timeout\",\"text\":\"it took too long\"}");
    CHECK(strncmp(content_at(&w, 2), "Error: Permission denied for tool: read_file: ", 46) == 0);
    model_says(&w, "so", NULL);
    world_end(&w);
}
