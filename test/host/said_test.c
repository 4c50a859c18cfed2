/* said_test.c - what is said to an agent is looked at before it is left for it (A4). */
#include "hosting.h"

PAWL_TEST(test_A4_an_empty_input_is_refused)
{
    static const char *const none[] = { "\"\"", "\" \"", "{\"input\":\"\"}", "{\"content\":[],\"role\":\"user\"}", "[{\"type\":\"text\",\"text\":\"\"}]",
                                        "[{\"type\":\"image\",\"data\":\"aGk=\"}]", "[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]" };
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 1);
    a = spawned(&g, "one", "{}");
    CHECK_STR(rests(a), "idle");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK_INT(pawl_handle_send(a, none[i], &err), PAWL_INVALID);
        CHECK(strncmp(err.text, "one: ", 5) == 0);
    }
    CHECK_INT(pawl_handle_send(a, "\"\"", &err), PAWL_INVALID);
    CHECK_STR(err.text, "one: input is empty: there is no word in it");
    sends(a, "say hello");
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    pawl_host_drain(g.h);
    talk_is(&g, "one", "user=say hello\nassistant=hello\n");
    host_end(&g);
}
