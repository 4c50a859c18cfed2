/* rights_test.c - what a person changes of an agent by its handle: its mode, its rules, and what it may do from now on; and what it has said so far. */
#include "host/hosting.h"

PAWL_TEST(test_P1_a_handle_sets_the_mode_of_an_agent_that_runs)
{
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"ask 1\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    said(pawl_handle_permit(a, NULL, true, NULL, NULL, &err), &err);
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_mode(a, PAWL_MODE_BYPASS, &err), &err);
    sends(a, "ask 2");
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_update(a, "{\"@mode\":\"default\"}", &err), &err);
    sends(a, "ask 3");
    CHECK_STR(rests(a), "waiting_for_permission");
    CHECK_INT(pawl_handle_mode(a, (pawl_mode)9, &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@mode\":\"root\"}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"messages\":[]}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@rights\":\"bypassPermissions\"}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@policy\":{\"deny\":[\"Bash(\"]}}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@policy\":[]}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@grants\":[{\"rule\":\"Bash(\"}]}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@grants\":{}}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{\"@config\":1}", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "[1]", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(a, "{", &err), PAWL_INVALID);
    CHECK_INT(pawl_handle_update(NULL, "{}", &err), PAWL_INVALID);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_P1_a_mode_above_the_rights_of_a_run_is_lowered_for_a_handle_too)
{
    pawl_err err = {0};
    pawl_handle *a = NULL;
    stage g;

    host_begin(&g, false, 2);
    said(pawl_host_spawn_with(g.h, NULL, &(pawl_run_info){ .id = "r", .rights = "default" }, "{\"input\":\"say hello\"}", &a, &err), &err);
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_mode(a, PAWL_MODE_BYPASS, &err), &err);
    sends(a, "ask 1");
    CHECK_STR(rests(a), "waiting_for_permission");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_P2_what_a_person_allows_for_good_is_not_asked_again)
{
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"ask 1\"}");
    CHECK_INT(pawl_handle_allow(a, "no such wait", 0, &err), PAWL_CONFLICT);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_STR(rests(a), "waiting_for_permission");
    said(pawl_handle_allow(a, NULL, 0, &err), &err);
    CHECK_STR(rests(a), "idle");
    sends(a, "ask 1");
    CHECK_STR(rests(a), "idle");
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_handle_allow(a, NULL, 0, &err), PAWL_INVALID);
    CHECK_STR(err.text, "r: no approval is asked");
    CHECK_INT(pawl_handle_allow(a, NULL, -1, &err), PAWL_INVALID);
    pawl_handle_free(a);
    host_end(&g);
}

/* All of them ask before the first is answered. */
PAWL_TEST(test_P2_what_is_allowed_for_good_to_a_child_is_allowed_to_its_parent_too)
{
    const char *how;
    pawl_err err = {0};
    pawl_handle *a;
    pawl_handle_view v;
    char *text;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"five\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    v = viewed(a);
    CHECK_STR(v.session_id, "r.sub-s0");
    said(pawl_handle_allow(a, v.wait, INT64_MAX, &err), &err);
    CHECK_INT(pawl_handle_allow(a, v.wait, INT64_MAX, NULL), PAWL_CONFLICT);
    pawl_handle_view_free(&v);
    for (int i = 0; i < 4 && strcmp(how = rests(a), "idle") != 0; i++) {
        CHECK_STR(how, "waiting_for_permission");
        v = viewed(a);
        said(pawl_handle_permit(a, v.wait, true, NULL, NULL, &err), &err);
        pawl_handle_view_free(&v);
    }
    CHECK_STR(rests(a), "idle");
    text = pawl_handle_channel(a, "@grants", &err);
    CHECK_STR(text, "[[{\"from\":\"an approval\",\"rule\":\"Bash(make 0)\",\"until\":9223372036854775807}]]");
    free(text);
    sends(a, "ask 0");
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A1_a_handle_reads_the_conversation)
{
    pawl_err err = {0};
    pawl_handle *a;
    char *text;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"say hello\"}");
    CHECK_STR(rests(a), "idle");
    text = pawl_handle_channel(a, "messages", &err);
    CHECK_STR(text, "[{\"content\":\"say hello\",\"role\":\"user\"},{\"content\":[{\"text\":\"hello\",\"type\":\"text\"}],\"role\":\"assistant\"}]");
    free(text);
    text = pawl_handle_channel(a, "output", &err);
    CHECK_STR(text, "\"hello\"");
    free(text);
    text = pawl_handle_channel(a, "no such channel", &err);
    CHECK_STR(text, "null");
    free(text);
    CHECK(pawl_handle_channel(a, NULL, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A1_the_state_of_the_core_is_public)
{
    pawl_handle *a;
    pawl_state *st;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"ask 1\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    st = stored_state(&g, "r");
    CHECK_STR(pawl_agent_core(st), "ExecutingTools");
    pawl_state_free(st);
    said(pawl_handle_permit(a, NULL, true, NULL, NULL, NULL), &(pawl_err){0});
    CHECK_STR(rests(a), "idle");
    st = stored_state(&g, "r");
    CHECK_STR(pawl_agent_core(st), "WaitingForUserInput");
    pawl_state_free(st);
    CHECK_STR(pawl_agent_core(NULL), "");
    pawl_handle_free(a);
    host_end(&g);
}
