/* asked_test.c - what children ask, at any depth, is asked of whoever holds the handle of the first of them: he waits for it, sees it, and answers it. */
#include "hosting.h"

/* Input that begins a row of `deep` children, each the child of the one before and called s1 there; the last is told `script`. */
static const char *begins(const char *script, int deep)
{
    static char text[4096], more[4096];

    snprintf(text, sizeof text, "%s", script);
    for (int i = 0; i <= deep; i++) {
        size_t n = (size_t)snprintf(more, sizeof more, "%s", i < deep ? "use spawn_agent s1 {\"prompt\":\"" : "{\"input\":\"");

        for (const char *c = text; *c != '\0' && n < sizeof more - 8; c++) {
            if (*c == '"' || *c == '\\')
                more[n++] = '\\';
            more[n++] = *c;
        }
        snprintf(more + n, sizeof more - n, "\"}");
        snprintf(text, sizeof text, "%s", more);
    }
    return text;
}

typedef struct asked_list { size_t n; char runs[8][64], ids[8][160]; pawl_wait_kind kinds[8]; } asked_list;

static bool see_asked(void *ctx, const char *run, const pawl_wait *w)
{
    asked_list *l = ctx;

    snprintf(l->runs[l->n], sizeof l->runs[0], "%s", run);
    snprintf(l->ids[l->n], sizeof l->ids[0], "%s", w->id);
    l->kinds[l->n++] = w->kind;
    return l->n < 8;
}

static asked_list asked_of(pawl_handle *a)
{
    asked_list l = { .n = 0 };
    pawl_err err = {0};

    said(pawl_handle_asks(a, see_asked, &l, &err), &err);
    return l;
}

static void all_are_asked(pawl_handle *a, size_t n)
{
    int tries = 0;

    while (asked_of(a).n != n)
        again(&tries);
}

static void one_is_shown(pawl_handle *a, const char *run, const char *call)
{
    pawl_handle_view v = viewed(a);

    CHECK_INT(v.state, PAWL_SHOWN_WAITING_FOR_PERMISSION);
    CHECK_STR(v.badge.text, "Permission needed");
    CHECK_STR(v.session_id, run);
    CHECK_STR(v.tool_name, "bash");
    CHECK_STR(v.tool_use_id, call);
    CHECK(!v.has_mail && !v.over && strncmp(v.wait, run, strlen(run)) == 0 && v.wait[strlen(run)] == '~' && v.about != NULL);
    pawl_handle_view_free(&v);
}

/* ---- waited for, seen, answered ------------------------------------------------------------------------ */

/* r, r.sub-s1, and five under that; each time the next one is waited for as soon as the one before was answered. */
static void five_below(bool files)
{
    char seen[5][64];
    pawl_handle *a;
    pawl_handle_view v;
    pawl_err err = {0};
    stage g;

    host_begin(&g, files, 2);
    a = spawned(&g, "r", begins("five", 1));
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    all_are_asked(a, 5);
    one_is_shown(a, "r.sub-s1.sub-s0", "c0");
    CHECK_INT(pawl_handle_permit(a, NULL, true, NULL, NULL, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "5 waits are open") != NULL);
    for (int i = 0; i < 5; i++) {
        CHECK_STR(comes_to(a, PAWL_UNTIL_RESTS), "waiting_for_permission");
        v = viewed(a);
        CHECK(i > 0 || v.status == PAWL_STATUS_INPUT_REQUIRED);        /* all of them ask */
        snprintf(seen[i], sizeof seen[i], "%s", v.session_id);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(seen[k], seen[i]) != 0);       /* what was answered is not asked again */
        err = (pawl_err){0};
        said(pawl_handle_permit(a, v.wait, i != 3, i == 3 ? "not that" : NULL, NULL, &err), &err);
        CHECK_INT(pawl_handle_permit(a, v.wait, true, NULL, NULL, NULL), PAWL_CONFLICT);
        pawl_handle_view_free(&v);
    }
    CHECK_STR(rests(a), "idle");
    CHECK_INT(asked_of(a).n, 0);
    shown_are(a, "idle processing waiting_for_sub_agent processing idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r.sub-s1", "user=five\nassistant=-\ntool s0=so\ntool s1=so\ntool s2=so\ntool s3=so\ntool s4=so\nassistant=so\n");
    talk_is(&g, "r.sub-s1.sub-s3", "user=ask 3\nassistant=-\ntool c3!=Error: not that\nassistant=so\n");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_W4_a_childs_child_that_asks_is_answered_at_the_top) { five_below(false); }
PAWL_TEST(test_W4_the_same_where_the_host_looks_by_a_handle_of_its_own) { five_below(true); }

/* The only one that is open needs no name, and its slot is a name; it is a question. */
PAWL_TEST(test_W3_a_question_is_answered_by_its_slot_or_without_a_name)
{
    pawl_handle *a, *b;
    pawl_handle_view v;
    asked_list l;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "a", begins("use ask_user q1 {\"questions\":[{\"header\":\"Color\",\"options\":[\"red\",\"blue\"],\"question\":\"Which?\"}]}", 2));
    b = spawned(&g, "b", begins("ask 1", 2));
    CHECK_STR(comes_to(b, PAWL_UNTIL_ASKS), "waiting_for_permission");
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_user_input");
    v = viewed(a);
    CHECK_STR(v.session_id, "a.sub-s1.sub-s1");
    CHECK_STR(v.request_id, "q1");
    pawl_handle_view_free(&v);
    l = asked_of(a);
    CHECK_INT(l.n, 1);
    CHECK_STR(l.runs[0], "a.sub-s1.sub-s1");
    CHECK_INT(l.kinds[0], PAWL_WAIT_QUESTION);
    CHECK_INT(pawl_handle_permit(a, "q1", true, NULL, NULL, &err), PAWL_INVALID);
    CHECK_STR(err.text, "a: q1 is no approval");
    CHECK_INT(pawl_handle_answer(a, asked_of(b).ids[0], "true", NULL), PAWL_INVALID);  /* that is another's child */
    CHECK_INT(asked_of(b).n, 1);
    err = (pawl_err){0};
    said(pawl_handle_answer(a, "q1", "\"red\"", &err), &err);
    said(pawl_handle_permit(b, NULL, true, NULL, NULL, &err), &err);
    CHECK_STR(rests(a), "idle");
    CHECK_STR(rests(b), "idle");
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "c1\n");
    pawl_handle_free(a);
    pawl_handle_free(b);
    host_end(&g);
}

/* One child asks, and another is at work: somebody is asked, and the run works on. */
PAWL_TEST(test_A3_what_a_child_asks_comes_before_what_another_does)
{
    pawl_handle *a;
    pawl_handle_view v;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 3);
    a = spawned(&g, "r", "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"gate done\\\"};spawn_agent s2 {\\\"prompt\\\":\\\"ask 2\\\"}\"}");
    stage_waits(&g, &g.speaking, 1);
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    one_is_shown(a, "r.sub-s2", "c2");
    v = viewed(a);
    CHECK_INT(v.status, PAWL_STATUS_WORKING);
    said(pawl_handle_permit(a, v.wait, true, NULL, NULL, &err), &err);
    pawl_handle_view_free(&v);
    CHECK_INT(pawl_handle_wait(a, PAWL_UNTIL_ASKS, 0, NULL, &err), PAWL_PENDING);
    gate_opens(&g);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    talk_is(&g, "r", "user=use spawn_agent s1 {\"prompt\":\"gate done\"};spawn_agent s2 {\"prompt\":\"ask 2\"}\nassistant=-\ntool s1=done\ntool s2=so\nassistant=so\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- and called off ------------------------------------------------------------------------------------- */

PAWL_TEST(test_A4_an_interrupt_at_the_top_ends_what_is_asked_below)
{
    pawl_handle *a;
    pawl_err err = {0};
    asked_list l;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", begins("ask 7", 2));
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    one_is_shown(a, "r.sub-s1.sub-s1", "c7");
    l = asked_of(a);
    said(pawl_handle_interrupt(a, &err), &err);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(asked_of(a).n, 0);
    CHECK_INT(pawl_handle_permit(a, l.ids[0], true, NULL, NULL, NULL), PAWL_CONFLICT);
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "");
    talk_is(&g, "r.sub-s1.sub-s1", "user=ask 7\nassistant=-\ntool c7!=Interrupted\nuser=User interrupted this message\n");
    pawl_handle_free(a);
    host_end(&g);
}
