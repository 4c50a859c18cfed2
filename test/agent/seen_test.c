/* seen_test.c - which content of a file the run has seen is in its journal, and goes to the tools that read and write files (A5). */
#include "agenting.h"

#define PATH_SCHEMA "{\"properties\":{\"file_path\":{\"type\":\"string\"}},\"type\":\"object\"}"

static const pawl_agent_tool sees[] = {
    { .name = "read_file", .rule = "Read", .schema = PATH_SCHEMA, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .seen = true },
    { .name = "edit_file", .rule = "Edit", .schema = PATH_SCHEMA, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .seen = true },
};

static void begin(world *w, bool seen)
{
    pawl_agent_tool tools[2] = { sees[0], sees[1] };
    const pawl_agent a = { .name = "helper", .version = 1, .model = "script:none", .tools = tools, .ntools = 2 };

    tools[0].seen = tools[1].seen = seen;
    agent_begin(w, &a, "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"input\":\"go\"}");
}

static bool told(world *w, const char *text) { return strstr(traced(w), text) != NULL; }

PAWL_TEST(test_A5_what_a_read_told_goes_to_the_next_write_of_that_file)
{
    world w;

    begin(&w, true);
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"}");
    CHECK(told(&w, "\"input\":{\"file_path\":\"a\"},\"seen\":null,\"tool\":\"edit_file\""));
    comes(&w, "e1", PAWL_OUTCOME_DONE, "{\"content\":\"no\",\"is_error\":true,\"seen\":{\"path\":\"/w/a\",\"version\":\"v0\"}}");
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"./a\"};edit_file e2 {\"file_path\":\"/w/b/../a\"}");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "{\"content\":\"x\",\"seen\":{\"path\":\"/real/a\",\"version\":\"v1\"}}");
    CHECK(told(&w, "\"input\":{\"file_path\":\"/w/b/../a\"},\"seen\":\"v1\",\"tool\":\"edit_file\""));
    world_crash(&w);            /* it is in the journal */
    comes(&w, "e2", PAWL_OUTCOME_DONE, "{\"content\":\"y\",\"seen\":{\"path\":\"/real/a\",\"version\":\"v2\"}}");
    model_says(&w, NULL, "edit_file e3 {\"file_path\":\"/real/a\"};edit_file e4 {\"file_path\":\"~a\"}");
    CHECK(told(&w, "\"input\":{\"file_path\":\"/real/a\"},\"seen\":\"v2\",\"tool\":\"edit_file\""));
    comes(&w, "e3", PAWL_OUTCOME_DONE, "{\"content\":\"z\",\"seen\":{\"path\":7}}");       /* none of ours */
    CHECK(told(&w, "\"input\":{\"file_path\":\"~a\"},\"seen\":null,\"tool\":\"edit_file\""));
    comes(&w, "e4", PAWL_OUTCOME_DONE, "{\"content\":\"z\"}");
    model_says(&w, "so", NULL);
    world_end(&w);
}

/* Machines of runs that were begun with earlier tools are what they were: without the channel, and without the argument. */
PAWL_TEST(test_K5_a_machine_without_such_tools_keeps_nothing)
{
    world w;

    begin(&w, false);
    model_says(&w, NULL, "read_file r1 {\"file_path\":\"a\"}");
    comes(&w, "r1", PAWL_OUTCOME_DONE, "{\"content\":\"x\",\"seen\":{\"path\":\"/w/a\",\"version\":\"v1\"}}");
    model_says(&w, NULL, "edit_file e1 {\"file_path\":\"a\"}");
    CHECK(!told(&w, "\"seen\":null") && !told(&w, "\"seen\":\"v1\""));
    CHECK(pawl_state_get(w.st, "@seen") == NULL);
    comes(&w, "e1", PAWL_OUTCOME_DONE, "{\"content\":\"y\"}");
    model_says(&w, "so", NULL);
    world_end(&w);
}
