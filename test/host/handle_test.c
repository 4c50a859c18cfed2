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
    CHECK_INT(v.status, PAWL_STATUS_INPUT_REQUIRED);
    CHECK(!v.over && !v.has_mail && v.parked == NULL && v.tool_name == NULL && v.wait == NULL && v.seq > 0);
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

PAWL_TEST(test_A3_an_agent_is_spawned_told_and_looked_at)
{
    lives(false, 0);
    lives(false, 2);
    lives(true, 0);
    lives(true, 2);
}

PAWL_TEST(test_A3_what_is_asked_is_in_its_view)
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
    CHECK_STR(rests(a), "idle");
    sends(a, "say here");
    CHECK_STR(rests(a), "idle");
    shown_are(a, "idle processing done idle processing idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=hang\nassistant=half an answer\nuser=User interrupted this message\nuser=say here\nassistant=here\n");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A4_an_interrupt_keeps_what_was_said)
{
    stops(false, 0);            /* the model speaks on the thread that drives, */
    stops(false, 2);            /* or on one of its own */
    stops(true, 0);
    stops(true, 2);
}

/* Another process, which is there before there are threads here: it leaves an interrupt for "r" when it is told to. */
typedef struct other { pid_t pid; int told[2]; } other;

static void other_begin(other *o)
{
    pawl_delivery d = { .id = "stop-1", .kind = PAWL_DELIVER_SIGNAL, .name = "interrupt" };
    pawl_store *s;
    char go;

    path_new("host");
    CHECK_INT(pipe(o->told), 0);
    o->pid = fork();
    CHECK(o->pid >= 0);
    if (o->pid > 0)
        return;
    close(o->told[1]);
    if (read(o->told[0], &go, 1) != 1 || (s = pawl_store_sqlite(path, NULL, NULL)) == NULL)
        _exit(2);
    _exit(s->verbs->deliver(s, "r", &d, NULL) == PAWL_OK ? 0 : 1);
}

static void other_goes(other *o)
{
    int status;

    CHECK_INT(write(o->told[1], "!", 1), 1);
    CHECK_INT(waitpid(o->pid, &status, 0), o->pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(o->told[0]);
    close(o->told[1]);
}

PAWL_TEST(test_A4_E16_an_interrupt_that_another_process_left)
{
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pawl_handle *a;
        other o;
        stage g;

        other_begin(&o);
        host_begin(&g, true, threads);
        a = spawned(&g, "r", "{\"input\":\"hang\"}");
        stage_waits(&g, &g.speaking, 1);
        other_goes(&o);
        CHECK_STR(comes_to(a, PAWL_UNTIL_IDLE), "idle");    /* interrupted is not done */
        pawl_host_drain(g.h);
        talk_is(&g, "r", "user=hang\nassistant=half an answer\nuser=User interrupted this message\n");
        pawl_handle_free(a);
        host_end(&g);
    }
}

/* ---- the same where no host drives: pawl_run, with the model on its very thread ------------------------- */

static void *interrupts(void *arg)
{
    pawl_delivery d = { .id = "stop-1", .kind = PAWL_DELIVER_SIGNAL, .name = "interrupt" };
    stage *g = arg;
    pawl_store *s = pawl_store_sqlite(path, NULL, NULL);
    bool speaks_now = false;

    while (!speaks_now) {
        pthread_mutex_lock(&g->lock);
        speaks_now = g->speaking > 0;
        pthread_mutex_unlock(&g->lock);
        moment();
    }
    if (s != NULL)
        (void)s->verbs->deliver(s, "r", &d, NULL);
    pawl_store_free(s);
    return NULL;
}

PAWL_TEST(test_A4_an_interrupt_of_a_lone_command_on_the_thread_that_drives)
{
    for (unsigned threads = 0; threads <= 2; threads += 2) {
        pthread_t thread;
        pawl_err err = {0};
        stage g;

        stage_begin(&g);
        path_new("host");
        g.e = host_engine(&g, file_store(), threads);
        CHECK_INT(pthread_create(&thread, NULL, interrupts, &g), 0);
        CHECK_INT(pawl_run(g.e, "r", "{\"input\":\"hang\"}", &err), PAWL_INTERRUPTED);
        CHECK_INT(pthread_join(thread, NULL), 0);
        talk_is(&g, "r", "user=hang\nassistant=half an answer\nuser=User interrupted this message\n");
        pawl_engine_free(g.e);
        path_gone();
    }
    path[0] = '\0';
}

/* ---- what the model says, as it says it ---------------------------------------------------------------------- */

static void tries(pawl_handle *a)
{
    pawl_err err = {0};

    said(pawl_handle_retry(a, &err), &err);
}

PAWL_TEST(test_A3_the_message_of_a_turn_that_is_tried_again_is_not_there_twice)
{
    pawl_handle *a;
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"fail denied\"}");
    CHECK_STR(rests(a), "error");
    tries(a);
    CHECK_STR(rests(a), "error");
    CHECK_INT(g.calls, 2);
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=fail denied\n");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A3_a_failed_turn_is_tried_again_by_its_handle)
{
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"fail denied\"}");
    CHECK_STR(rests(a), "error");
    CHECK_INT(g.calls, 1);
    tries(a);
    CHECK_STR(rests(a), "error");
    CHECK_INT(g.calls, 2);
    sends(a, "loop");
    CHECK_STR(rests(a), "done");
    CHECK_INT(g.calls, 2 + 8);
    tries(a);
    CHECK_STR(rests(a), "done");
    CHECK_INT(g.calls, 2 + 16);
    sends(a, "say well");
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_handle_retry(a, &err), PAWL_INVALID);
    CHECK_STR(err.text, "r: its last turn has not failed, and there is nothing to try again");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(rests(a), "over");
    CHECK_INT(pawl_handle_retry(a, &err), PAWL_INVALID);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_A7_a_reader_hears_the_model_speak)
{
    static const char *const deltas[] = { "{\"attempt\":1,\"type\":\"begin\"}", "{\"thinking\":\"hm\",\"type\":\"thinking_delta\"}",
                                          "{\"text\":\"half an \",\"type\":\"text_delta\"}", "{\"text\":\"answer\",\"type\":\"text_delta\"}" };
    pawl_stream_event ev;
    pawl_handle *a;
    pawl_stream *r;
    pawl_err err = {0};
    size_t n = 0;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", NULL);
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .kinds = PAWL_STREAM_MESSAGES }, &err);
    CHECK(r != NULL);
    sends(a, "gate well");
    while (n < 4 && pawl_stream_wait(r, PATIENCE_MS, &ev, &err) == PAWL_OK) {
        CHECK(ev.live > 0);
        CHECK_STR(ev.json, deltas[n]);
        n++;
    }
    CHECK_INT(n, 4);            /* and it has not answered yet */
    CHECK(pawl_handle_is_processing(a));
    gate_opens(&g);
    CHECK_STR(rests(a), "idle");
    pawl_stream_close(r);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- what is no call at all ------------------------------------------------------------------------------------- */

PAWL_TEST(test_X1_what_cannot_be_is_said)
{
    pawl_handle *a;
    pawl_handle_view v;
    pawl_err err = {0};
    char by[300];
    stage g;

    CHECK(pawl_host_new(NULL, NULL, &err) == NULL);
    pawl_host_drain(NULL);
    pawl_host_free(NULL);
    pawl_handle_free(NULL);
    CHECK_INT(pawl_handle_send(NULL, "1", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_state(NULL, &v, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_wait(NULL, PAWL_UNTIL_RESTS, 0, NULL, NULL), PAWL_INVALID);
    CHECK(!pawl_handle_is_idle(NULL));
    host_begin(&g, false, 0);
    a = spawned(&g, "r", NULL);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_handle_wait(a, PAWL_UNTIL_ERROR, 0, NULL, NULL), PAWL_PENDING);
    CHECK_INT(pawl_handle_send(a, "{\"a\"", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_send(a, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_permit(a, NULL, false, NULL, "{}", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_states(a, NULL, NULL, NULL), PAWL_INVALID);
    memset(by, 'x', sizeof by - 1);
    by[sizeof by - 1] = '\0';
    CHECK_INT(pawl_handle_by(a, by, NULL), PAWL_INVALID);
    said(pawl_handle_send(a, "7", &err), &err);         /* JSON, and no input: readers are told, and it rests */
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}

/* E5: a tool of class once was cut off. The agent waits for who knows what came of it, and who waits for it is told. */
PAWL_TEST(test_A3_what_nobody_knows_is_asked)
{
    pawl_handle_view v;
    pawl_err err = {0};
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 1);
    a = spawned(&g, "one", "{\"@mode\":\"bypassPermissions\",\"input\":\"use edit_file e1 {\\\"file_path\\\":\\\"/w/a\\\",\\\"lost\\\":true}\"}");
    CHECK_STR(rests(a), "waiting_for_user_input");
    CHECK_INT(pawl_handle_wait(a, PAWL_UNTIL_ASKS, PATIENCE_MS, NULL, NULL), PAWL_OK);
    CHECK_INT(pawl_handle_state(a, &v, &err), PAWL_OK);
    CHECK_INT((int)v.state, PAWL_SHOWN_WAITING_FOR_USER_INPUT);
    CHECK_STR(v.badge.text, "Question");
    CHECK_STR(v.tool_name, "edit_file");
    CHECK_STR(v.tool_use_id, "e1");
    CHECK_STR(v.input, "{\"file_path\":\"/w/a\",\"lost\":true}");
    CHECK(strstr(v.message, "tool-edit_file was begun, and what came of it is not known") == v.message);
    CHECK(v.wait != NULL && v.request_id != NULL);
    said(pawl_handle_answer(a, v.wait, "{\"done\":{\"content\":\"it is written\"}}", &err), &err);
    pawl_handle_view_free(&v);
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}
