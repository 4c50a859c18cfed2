/* handle_test.c - agents are spoken to by handles, from any thread and process, while they are driven on another (A3, A4). */
#include "hosting.h"

#include <sys/wait.h>

/* ---- from its beginning to its end --------------------------------------------------------------------- */

static bool count_head(void *ctx, const pawl_head *head)
{
    *(int *)ctx += strcmp(pawl_shown_name(PAWL_SHOWN_IDLE), "idle") == 0 && head->no > 0;
    return true;
}

static void lives(bool files, unsigned threads)
{
    pawl_handle *a, *again;
    pawl_handle_view v;
    pawl_err err = {0};
    int n = 0;
    stage g;

    host_begin(&g, files, threads);
    a = spawned(&g, "one", NULL);
    CHECK_STR(pawl_handle_run(a), "one");
    CHECK_STR(rests(a), "idle");
    CHECK(pawl_handle_is_idle(a) && !pawl_handle_is_processing(a) && !pawl_handle_is_done(a) && !pawl_handle_is_error(a));
    sends(a, "say hello");
    CHECK_STR(rests(a), "idle");
    v = viewed(a);
    CHECK_STR(v.badge.text, "Ready");
    CHECK_INT(v.status, PAWL_INPUT_REQUIRED);
    CHECK(!v.over && !v.told && v.parked == NULL && v.tool_name == NULL && v.wait == NULL && v.seq > 0);
    pawl_handle_view_free(&v);
    again = pawl_host_get(g.h, "one", &err);
    CHECK(again != NULL);
    sends(again, "use read_file r1 {\\\"file_path\\\":\\\"a\\\"}");
    CHECK_STR(rests(again), "idle");
    said(pawl_host_list(g.h, NULL, count_head, &n, &err), &err);
    CHECK_INT(n, 1);
    CHECK(pawl_host_get(g.h, "two", NULL) == NULL);
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(rests(again), "over");
    CHECK(pawl_handle_is_done(a));
    CHECK_INT(pawl_handle_send(a, "\"more\"", NULL), PAWL_CONFLICT);
    shown_are(a, "idle processing idle processing executing_tool processing idle done");
    CHECK_INT(pawl_host_trouble(g.h, NULL), PAWL_OK);
    pawl_host_drain(g.h);
    talk_is(&g, "one", "user=say hello\nassistant=hello\nuser=use read_file r1 {\"file_path\":\"a\"}\nassistant=-\ntool r1=tool-read_file did r1\nassistant=so\n");
    pawl_handle_free(again);
    pawl_handle_free(a);
    host_end(&g);
}

static void test_A3_an_agent_is_spawned_told_and_looked_at(void)
{
    lives(false, 0);
    lives(false, 2);
    lives(true, 0);
    lives(true, 2);
}

static void test_A3_what_is_asked_is_in_its_view(void)
{
    pawl_handle *a;
    pawl_handle_view v;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"use bash b1 {\\\"command\\\":\\\"make x\\\"}\"}");
    said(pawl_handle_by(a, "ann", &err), &err);
    CHECK_STR(rests(a), "waiting_for_permission");
    v = viewed(a);
    CHECK_STR(v.tool_name, "bash");
    CHECK_STR(v.tool_use_id, "b1");
    CHECK_STR(v.request_id, "b1");
    CHECK_STR(v.input, "{\"command\":\"make x\"}");
    CHECK_STR(v.badge.color, "yellow");
    CHECK(v.wait != NULL && v.message != NULL && v.about != NULL);
    said(pawl_handle_permit(a, v.wait, true, NULL, "{\"command\":\"make y\"}", &err), &err);
    pawl_handle_view_free(&v);
    CHECK_STR(rests(a), "idle");
    sends(a, "use ask_user q1 {\\\"questions\\\":[{\\\"header\\\":\\\"Color\\\",\\\"options\\\":[\\\"red\\\",\\\"blue\\\"],\\\"question\\\":\\\"Which?\\\"}]}");
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_user_input");
    v = viewed(a);
    CHECK_STR(v.request_id, "q1");
    CHECK_STR(v.message, "Which?");
    CHECK_INT(pawl_handle_permit(a, "q1", true, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_answer(a, NULL, "\"green\"", NULL), PAWL_INVALID);
    said(pawl_handle_answer(a, NULL, "\"blue\"", &err), &err);
    pawl_handle_view_free(&v);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=use bash b1 {\"command\":\"make x\"}\nassistant=-\ntool b1=tool-bash did b1\nassistant=so\n"
                     "user=use ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}\nassistant=-\n"
                     "tool q1={\"Color\":\"blue\"}\nassistant=so\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- interrupts ------------------------------------------------------------------------------------------- */

static void stops(bool files, unsigned threads)
{
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, files, threads);
    a = spawned(&g, "r", "{\"input\":\"hang\"}");
    stage_waits(&g, &g.speaking, 1);
    said(pawl_handle_interrupt(a, &err), &err);
    CHECK_STR(rests(a), "done");
    sends(a, "say here");
    CHECK_STR(rests(a), "idle");
    shown_are(a, "processing done processing idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=hang\nassistant=half an answer\nuser=User interrupted this message\nuser=say here\nassistant=here\n");
    pawl_handle_free(a);
    host_end(&g);
}

static void test_A4_an_interrupt_keeps_what_was_said(void)
{
    stops(false, 0);            /* the model speaks on the thread that drives, */
    stops(false, 2);            /* or on one of its own */
    stops(true, 0);
    stops(true, 2);
}

/* Whoever leaves it may be any process. */
static void interrupt_by_another(const char *file)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        pawl_delivery d = { .id = "stop-1", .kind = PAWL_DELIVER_SIGNAL, .name = "interrupt" };
        pawl_store *s = pawl_store_sqlite(file, NULL, NULL);

        _exit(s != NULL && s->verbs->deliver(s, "r", &d, NULL) == PAWL_OK ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_A4_E16_an_interrupt_that_another_process_left(void)
{
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pawl_handle *a;
        stage g;

        host_begin(&g, true, threads);
        a = spawned(&g, "r", "{\"input\":\"hang\"}");
        stage_waits(&g, &g.speaking, 1);
        interrupt_by_another(path);
        CHECK_STR(comes_to(a, PAWL_UNTIL_DONE), "done");
        pawl_host_drain(g.h);
        talk_is(&g, "r", "user=hang\nassistant=half an answer\nuser=User interrupted this message\n");
        pawl_handle_free(a);
        host_end(&g);
    }
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_A3_an_agent_is_spawned_told_and_looked_at), CASE(test_A3_what_is_asked_is_in_its_view), CASE(test_A4_an_interrupt_keeps_what_was_said),
        CASE(test_A4_E16_an_interrupt_that_another_process_left),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
