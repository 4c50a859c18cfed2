/* fault_test.c - what an agent of this shape is known to do wrong, and this one does not: twelve faults, by their numbers. (The third and the
 * fourth are looked at once more in test/agent/stop_test.c, event by event; the eleventh in crash_test.c, entry by entry.) */
#include "hosting.h"

static void is_told(pawl_handle *a, pawl_code (*tell)(pawl_handle *, pawl_err *))
{
    pawl_err err = {0};

    said(tell(a, &err), &err);
}

/* ---- S1: states that nothing ever enters --------------------------------------------------------------------- */

PAWL_TEST(test_S1_every_state_is_entered_and_left_and_durable)
{
    pawl_handle *a, *b;
    pawl_handle_view v;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "a", "{\"@cwd\":\"/w\",\"@mode\":\"default\",\"input\":\"use read_file r1 {\\\"file_path\\\":\\\"a\\\"}\"}");
    CHECK_STR(rests(a), "idle");
    sends(a, "use bash b1 {\\\"command\\\":\\\"x\\\"}");
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    said(pawl_handle_permit(a, "b1", true, NULL, NULL, &err), &err);
    CHECK_STR(rests(a), "idle");
    sends(a, "use spawn_agent s1 {\\\"prompt\\\":\\\"say found\\\"}");
    CHECK_STR(rests(a), "idle");
    sends(a, "fail invalid");
    CHECK_STR(rests(a), "error");
    CHECK(pawl_handle_is_error(a) && !pawl_handle_is_idle(a));
    v = viewed(a);
    CHECK_STR(v.message, "LLM error: API error: it will not");
    CHECK_STR(v.badge.text, "Error");
    pawl_handle_view_free(&v);
    pawl_handle_free(a);
    pawl_host_free(g.h);        /* and it is there again when the program is */
    g.e = host_engine(&g, file_store(), 0);
    g.h = pawl_host_new(g.e, NULL, &err);
    a = found(&g, "a");
    CHECK(pawl_handle_is_error(a));
    sends(a, "say well");
    CHECK_STR(rests(a), "idle");
    b = spawned(&g, "b", "{\"input\":\"hang\"}");
    stage_waits(&g, &g.speaking, 1);
    is_told(b, pawl_handle_interrupt);
    CHECK_STR(rests(b), "idle");
    CHECK(!pawl_handle_is_done(b));
    shown_are(a, "idle processing executing_tool processing idle processing waiting_for_permission executing_tool processing idle "
                 "processing waiting_for_sub_agent processing idle processing error processing idle");
    pawl_handle_free(b);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S2: a denial that does not end the turn --------------------------------------------------------------------- */

PAWL_TEST(test_S2_a_persons_no_ends_the_turn)
{
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"use bash b1 {\\\"command\\\":\\\"x\\\"};bash b2 {\\\"command\\\":\\\"y\\\"}\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    said(pawl_handle_permit(a, "b1", false, NULL, NULL, &err), &err);
    CHECK_STR(rests(a), "done");
    pawl_host_drain(g.h);
    CHECK_INT(g.calls, 1);
    CHECK_STR(g.log, "");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S3, S4: an interrupt at a permission, at a question ------------------------------------------------------------ */

static void asked_and_interrupted(const char *script, const char *wait)
{
    char input[600];
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    snprintf(input, sizeof input, "{\"input\":\"use %s\"}", script);
    a = spawned(&g, "r", input);
    CHECK(strncmp(rests(a), "waiting_for_", 12) == 0);
    is_told(a, pawl_handle_interrupt);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_handle_answer(a, wait, "true", NULL), PAWL_INVALID);         /* nobody waits for it under that name */
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "");       /* nothing was used, nor was the second asked */
    CHECK_INT(g.calls, 1);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_S3_an_interrupt_at_a_permission_and_nothing_runs)
{
    asked_and_interrupted("bash b1 {\\\"command\\\":\\\"x\\\"};bash b2 {\\\"command\\\":\\\"y\\\"};read_file r1 {\\\"file_path\\\":\\\"a\\\"}", "b2");
}

PAWL_TEST(test_S4_an_interrupt_at_a_question_ends_the_turn)
{
    asked_and_interrupted("ask_user q1 {\\\"questions\\\":[{\\\"header\\\":\\\"Color\\\",\\\"options\\\":[\\\"red\\\",\\\"blue\\\"],\\\"question\\\":\\\"Which?\\\"}]}", "q1");
}

/* ---- S5: what is sent meanwhile is dropped ------------------------------------------------------------------------------ */

static void meanwhile(bool files, unsigned threads)
{
    pawl_handle *a;
    stage g;

    host_begin(&g, files, threads);
    a = spawned(&g, "r", "{\"input\":\"gate one\"}");
    stage_waits(&g, &g.speaking, 1);
    sends(a, "use bash b1 {\\\"command\\\":\\\"x\\\",\\\"hold\\\":true}");      /* while the model speaks */
    sends(a, "say three");
    gate_opens(&g);
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    sends(a, "say four");       /* while a person is asked */
    CHECK_INT(pawl_handle_permit(a, NULL, true, NULL, NULL, NULL), PAWL_OK);
    stage_waits(&g, &g.working, 1);
    sends(a, "say five");       /* while a tool is used */
    gate_opens(&g);
    CHECK_STR(comes_to(a, PAWL_UNTIL_IDLE), "idle");
    sends(a, "gate seven");
    stage_waits(&g, &g.speaking, 2);
    sends(a, "say eight");
    is_told(a, pawl_handle_shutdown);
    gate_opens(&g);             /* with no thread of its own the model speaks to its end first */
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK(pawl_handle_is_done(a));
    pawl_host_drain(g.h);
    {
        char *talk = talk_of(&g, "r");

        CHECK(strncmp(talk, "user=gate one\nassistant=one\nuser=use bash b1 {\"command\":\"x\",\"hold\":true}\nassistant=-\ntool b1=tool-bash did b1\nassistant=so\n"
                            "user=say three\nassistant=three\nuser=say four\nassistant=four\nuser=say five\nassistant=five\nuser=gate seven\n", 189) == 0);
        free(talk);
    }
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_S5_what_is_sent_while_the_model_speaks_is_not_lost)
{
    meanwhile(false, 0);
    meanwhile(false, 2);
    meanwhile(true, 0);
    meanwhile(true, 2);
}

/* ---- S6: an interrupt while idle ends it ---------------------------------------------------------------------------------- */

PAWL_TEST(test_S6_an_interrupt_of_one_that_rests_does_nothing)
{
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", NULL);
    is_told(a, pawl_handle_interrupt);
    CHECK_STR(rests(a), "idle");
    sends(a, "fail denied");
    CHECK_STR(rests(a), "error");
    is_told(a, pawl_handle_interrupt);
    CHECK_STR(rests(a), "error");
    sends(a, "say one");
    CHECK_STR(rests(a), "idle");
    sends(a, "hang");
    stage_waits(&g, &g.speaking, 1);
    is_told(a, pawl_handle_interrupt);
    CHECK_STR(rests(a), "idle");
    is_told(a, pawl_handle_interrupt);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=fail denied\nuser=say one\nassistant=one\nuser=hang\nassistant=half an answer\nuser=User interrupted this message\n");
    shown_are(a, "idle processing error processing idle processing done");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S7: rules that never match, and such as are not there ------------------------------------------------------------------ */

PAWL_TEST(test_S7_rules_are_matched_with_the_command_itself)
{
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"@cwd\":\"/w\",\"@policy\":{\"allow\":[\"Bash(git diff:*)\"],\"deny\":[\"Bash(git diff --ext:*)\",\"WebFetch\"]},\"input\":"
                         "\"use bash b1 {\\\"command\\\":\\\"git diff src\\\"};bash b2 {\\\"command\\\":\\\"git diff --ext x\\\"};web_fetch w1 {\\\"url\\\":\\\"http://a/\\\"};"
                         "bash b3 {\\\"command\\\":\\\"git difftool\\\"}\"}");
    CHECK_STR(rests(a), "waiting_for_permission");      /* for the last alone */
    CHECK_INT(pawl_handle_permit(a, "b1", true, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_permit(a, "b3", false, "no tool", NULL, NULL), PAWL_OK);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "b1\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S8: an answer finds another question than it was meant for ---------------------------------------------------------------- */

PAWL_TEST(test_S8_an_answer_is_to_one_wait_and_taken_once)
{
    char old[256], now[256];
    pawl_handle *a;
    pawl_handle_view v;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"use bash b1 {\\\"command\\\":\\\"x\\\"};bash b2 {\\\"command\\\":\\\"x\\\"}\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    v = viewed(a);
    snprintf(old, sizeof old, "%s", v.wait);
    CHECK_STR(v.request_id, "b1");
    pawl_handle_view_free(&v);
    CHECK_INT(pawl_handle_permit(a, "b2", true, NULL, NULL, NULL), PAWL_INVALID);       /* the same tool, and not asked yet */
    CHECK_INT(pawl_handle_permit(a, "r~1/2.@.1.1", true, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_answer(a, old, "\"maybe\"", NULL), PAWL_INVALID);
    said(pawl_handle_by(a, "ann", &err), &err);
    said(pawl_handle_permit(a, old, true, NULL, NULL, &err), &err);
    CHECK_INT(pawl_handle_permit(a, old, false, NULL, NULL, &err), PAWL_CONFLICT);      /* whether it was taken yet or not, */
    CHECK(strstr(err.text, "true") != NULL);                                            /* and what the first one was */
    CHECK_STR(rests(a), "waiting_for_permission");
    v = viewed(a);
    snprintf(now, sizeof now, "%s", v.wait);
    CHECK_STR(v.request_id, "b2");
    pawl_handle_view_free(&v);
    CHECK(strcmp(old, now) != 0);
    CHECK_INT(pawl_handle_permit(a, old, false, NULL, NULL, NULL), PAWL_CONFLICT);      /* nor does it find the one that is asked now */
    sends(a, "say more");       /* which no other message answers either */
    CHECK_STR(rests(a), "waiting_for_permission");
    said(pawl_handle_permit(a, now, true, NULL, NULL, &(pawl_err){0}), &err);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_handle_permit(a, now, false, NULL, NULL, NULL), PAWL_CONFLICT);
    CHECK_INT(pawl_handle_permit(a, NULL, true, NULL, NULL, NULL), PAWL_INVALID);       /* nothing is asked */
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "b1\nb2\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S9: names in place of ids, and a spawn that takes another's place ------------------------------------------------------------ */

PAWL_TEST(test_S9_tools_begin_and_end_by_their_ids)
{
    pawl_handle *a;
    pawl_stream *r;
    pawl_stream_event ev;
    pawl_err err = {0};
    int starts_seen = 0, ends_seen = 0;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"use read_file r1 {\\\"file_path\\\":\\\"a\\\"};read_file r2 {\\\"file_path\\\":\\\"b\\\"}\"}");
    CHECK_STR(rests(a), "idle");
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .kinds = PAWL_STREAM_CUSTOM }, &err);
    CHECK(r != NULL);
    while (pawl_stream_next(r, &ev, &err) == PAWL_OK) {
        const bool start = strcmp(ev.name, "tool_start") == 0, end = strcmp(ev.name, "tool_end") == 0;

        if (!start && !end)
            continue;
        CHECK(strstr(ev.json, "\"name\":\"read_file\"") != NULL);
        CHECK(strstr(ev.json, "\"tool_use_id\":\"r1\"") != NULL || strstr(ev.json, "\"tool_use_id\":\"r2\"") != NULL);
        starts_seen += start;
        ends_seen += end;
    }
    CHECK_INT(starts_seen, 2);
    CHECK_INT(ends_seen, 2);
    pawl_stream_close(r);
    pawl_handle_free(a);
    host_end(&g);
}

typedef struct spawner { pthread_t thread; stage *g; pawl_code rc; pawl_handle *a; } spawner;

static void *spawns(void *arg)
{
    spawner *s = arg;

    s->rc = pawl_host_spawn(s->g->h, NULL, "r", "{\"input\":\"gate one\"}", &s->a, NULL);
    return NULL;
}

PAWL_TEST(test_S9_an_id_that_runs_is_not_spawned_again)
{
    enum { MANY = 8 };

    for (int files = 0; files < 2; files++) {
        spawner all[MANY] = { { .rc = PAWL_OK } };
        pawl_handle *a = NULL;
        pawl_err err = {0};
        stage g;
        int won = 0;

        host_begin(&g, files == 1, 2);
        for (int i = 0; i < MANY; i++) {
            all[i].g = &g;
            CHECK_INT(pthread_create(&all[i].thread, NULL, spawns, &all[i]), 0);
        }
        for (int i = 0; i < MANY; i++) {
            CHECK_INT(pthread_join(all[i].thread, NULL), 0);
            won += all[i].rc == PAWL_OK;
            CHECK(all[i].rc == PAWL_OK || (all[i].rc == PAWL_CONFLICT && all[i].a == NULL));
            a = all[i].a != NULL ? all[i].a : a;
        }
        CHECK_INT(won, 1);
        stage_waits(&g, &g.speaking, 1);
        CHECK_INT(pawl_host_spawn(g.h, NULL, "r", "{\"input\":\"say two\"}", NULL, &err), PAWL_CONFLICT);
        CHECK(strstr(err.text, "runs already") != NULL);
        CHECK_INT(pawl_host_spawn(g.h, "nobody", "x", NULL, NULL, NULL), PAWL_INVALID);
        CHECK_INT(pawl_host_spawn(g.h, NULL, "no id", NULL, NULL, NULL), PAWL_INVALID);
        CHECK_INT(pawl_host_spawn(g.h, NULL, "x", "[1", NULL, NULL), PAWL_INVALID);
        CHECK(pawl_host_get(g.h, "x", NULL) == NULL);
        gate_opens(&g);
        CHECK_STR(rests(a), "idle");        /* the first one is untouched */
        is_told(a, pawl_handle_shutdown);
        CHECK_STR(rests(a), "over");
        CHECK_INT(pawl_host_spawn(g.h, NULL, "r", NULL, NULL, NULL), PAWL_CONFLICT);
        pawl_host_drain(g.h);
        talk_is(&g, "r", "user=gate one\nassistant=one\n");
        pawl_handle_free(a);
        host_end(&g);
    }
}

/* Whoever made its base died before its start was left: it is begun by one of those who come after him. */
PAWL_TEST(test_S9_one_that_was_made_and_never_begun)
{
    enum { MANY = 4 };
    const pawl_run_info info = { .id = "r", .life = 7, .seed = 7, .created_ms = 1 };
    spawner all[MANY] = { { .rc = PAWL_OK } };
    pawl_machine *m = host_machine("helper", 8);
    pawl_state *st = NULL;
    pawl_store *s;
    pawl_err err = {0};
    stage g;
    int won = 0;

    host_begin(&g, true, 2);
    s = file_store();
    said(pawl_state_new(m, &info, 0, NULL, &st, &err), &err);
    said(s->verbs->create(s, pawl_state_base(st), NULL, &err), &err);
    pawl_store_free(s);
    pawl_state_free(st);
    pawl_machine_free(m);
    gate_opens(&g);
    for (int i = 0; i < MANY; i++) {
        all[i].g = &g;
        CHECK_INT(pthread_create(&all[i].thread, NULL, spawns, &all[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(pthread_join(all[i].thread, NULL), 0);
        won += all[i].rc == PAWL_OK;
        if (all[i].a != NULL)
            CHECK_STR(rests(all[i].a), "idle");
        pawl_handle_free(all[i].a);
    }
    CHECK_INT(won, 1);
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=gate one\nassistant=one\n");
    host_end(&g);
}

/* ---- S10: a reader that is slow, or late ---------------------------------------------------------------------------------------------- */

typedef struct reading { char text[1 << 21]; size_t n; int gaps, deltas; } reading;

static void read_on(pawl_stream *r, reading *to, int most)
{
    pawl_stream_event ev;
    pawl_err err = {0};
    pawl_code rc = PAWL_OK;

    for (int i = 0; i < most && (rc = pawl_stream_next(r, &ev, &err)) == PAWL_OK; i++) {
        to->gaps += ev.kind == PAWL_STREAM_GAP;
        to->deltas += ev.live > 0;
        if (to->n + strlen(ev.json) + 256 > sizeof to->text)
            CHECK_FAIL("too much is told");
        if (ev.live == 0 && ev.kind != PAWL_STREAM_GAP)
            to->n += (size_t)snprintf(to->text + to->n, sizeof to->text - to->n, "%s %s %s\n", ev.cursor, ev.name, ev.json);
    }
    if (rc < 0)
        CHECK_FAIL("%s", err.text);
}

static const unsigned kinds = PAWL_STREAM_UPDATES | PAWL_STREAM_MESSAGES | PAWL_STREAM_TASKS | PAWL_STREAM_CUSTOM;

PAWL_TEST(test_S10_a_slow_reader_misses_nothing_and_is_told_of_gaps)
{
    static reading slow, late, halves;
    pawl_handle *a;
    pawl_stream *r;
    pawl_err err = {0};
    char cursor[48];
    stage g;

    slow.n = late.n = halves.n = 0;
    stage_begin(&g);
    g.e = host_engine(&g, pawl_store_memory(&err), 2);
    CHECK_INT(pawl_engine_live(g.e, 4, 0, &err), PAWL_OK);      /* hardly anything is kept for those who are slow */
    g.h = pawl_host_new(g.e, NULL, &err);
    a = spawned(&g, "r", NULL);
    CHECK_STR(rests(a), "idle");
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .kinds = kinds }, &err);
    read_on(r, &slow, 1);
    for (int i = 0; i < 40; i++) {
        sends(a, i % 2 == 0 ? "gate x" : "use read_file r1 {\\\"file_path\\\":\\\"a\\\"}");
        if (i % 2 == 0)
            gate_opens(&g);
        CHECK_STR(rests(a), "idle");
    }
    is_told(a, pawl_handle_shutdown);
    CHECK_STR(rests(a), "over");
    read_on(r, &slow, 1 << 20);
    pawl_stream_close(r);
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .kinds = kinds }, &err);           /* who comes afterwards */
    read_on(r, &late, 1 << 20);
    pawl_stream_close(r);
    /* who goes away in between, and comes again with the cursor he has */
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .kinds = kinds }, &err);
    read_on(r, &halves, 97);
    snprintf(cursor, sizeof cursor, "%s", pawl_stream_cursor(r));
    pawl_stream_close(r);
    r = pawl_handle_subscribe(a, &(pawl_stream_options){ .from = cursor, .kinds = kinds }, &err);
    read_on(r, &halves, 1 << 20);
    pawl_stream_close(r);
    CHECK(slow.gaps > 0);
    CHECK(slow.n > 2000);
    CHECK_STR(late.text, slow.text);
    CHECK_STR(halves.text, slow.text);
    CHECK_INT(late.deltas, 0);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- S12: no model is asked again, and turns without end ------------------------------------------------------------------------------- */

PAWL_TEST(test_S12_the_model_is_asked_again_and_a_turn_has_an_end)
{
    pawl_handle *a;
    pawl_handle_view v;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"twice well\"}");
    CHECK_STR(rests(a), "idle");
    CHECK_INT(g.calls, 3);
    sends(a, "fail transient");
    CHECK_STR(rests(a), "error");
    CHECK_INT(g.calls, 6);      /* three calls in all, and no more */
    sends(a, "fail denied");
    CHECK_STR(rests(a), "error");
    CHECK_INT(g.calls, 7);      /* what will not pass is not tried again */
    sends(a, "loop");
    CHECK_STR(rests(a), "done");
    CHECK_INT(g.calls, 7 + 8);  /* as many as a turn may have, */
    v = viewed(a);
    CHECK_STR(v.badge.text, "Complete");
    pawl_handle_view_free(&v);
    sends(a, "say on");         /* and it is no error, nor its end */
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}
