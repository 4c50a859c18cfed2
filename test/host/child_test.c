/* child_test.c - sub-agents on a host: their permissions are waits of their own runs, and they may do no more than their parent (A6, E11, P1). */
#include "hosting.h"

/* ---- five at once ---------------------------------------------------------------------------------------- */

static void permuted(int p, int order[5])
{
    int left[] = { 0, 1, 2, 3, 4 };

    for (int i = 0, n = 5; i < 5; i++, n--) {
        const int at = p % n;

        p /= n;
        order[i] = left[at];
        memmove(left + at, left + at + 1, (size_t)(n - at - 1) * sizeof *left);
    }
}

static void answer_in(stage *g, const char *run, int p)
{
    int order[5];

    permuted(p, order);
    for (int i = 0; i < 5; i++) {
        pawl_handle *child;
        pawl_err err = {0};
        char id[64];

        snprintf(id, sizeof id, "%s.sub-s%d", run, order[i]);
        child = found(g, id);
        CHECK_STR(comes_to(child, PAWL_UNTIL_ASKS), "waiting_for_permission");
        said(pawl_handle_permit(child, NULL, order[i] != 3, order[i] == 3 ? "not that" : NULL, NULL, &err), &err);
        CHECK_STR(comes_to(child, PAWL_UNTIL_OVER), "over");
        pawl_handle_free(child);
    }
}

static bool count_waiting(void *ctx, const pawl_head *head)
{
    *(int *)ctx += strstr(head->run, ".sub-") != NULL && head->parent != NULL;
    return true;
}

PAWL_TEST(test_A6_W4_five_children_are_answered_in_any_order)
{
    enum { ORDERS = 120 };
    char run[32];
    pawl_handle *a[ORDERS], *child;
    pawl_handle_view v;
    pawl_err err = {0};
    int waiting = 0;
    stage g;

    host_begin(&g, false, 2);
    for (int p = 0; p < ORDERS; p++) {
        snprintf(run, sizeof run, "r%d", p);
        a[p] = spawned(&g, run, "{\"input\":\"five\"}");
    }
    for (int p = 0; p < ORDERS; p++)
        for (int k = 0; k < 5; k++) {
            snprintf(run, sizeof run, "r%d.sub-s%d", p, k);
            child = found(&g, run);
            CHECK_STR(comes_to(child, PAWL_UNTIL_ASKS), "waiting_for_permission");
            pawl_handle_free(child);
        }
    said(pawl_host_list(g.h, &(pawl_filter){ .waiting = true, .limit = 1000 }, count_waiting, &waiting, &err), &err);
    CHECK_INT(waiting, ORDERS * 5);
    v = viewed(a[0]);
    CHECK_INT(v.state, PAWL_SHOWN_WAITING_FOR_PERMISSION);
    CHECK_STR(v.session_id, "r0.sub-s0");
    pawl_handle_view_free(&v);
    for (int p = 0; p < ORDERS; p++) {
        snprintf(run, sizeof run, "r%d", p);
        answer_in(&g, run, p);
    }
    for (int p = 0; p < ORDERS; p++) {
        CHECK_STR(rests(a[p]), "idle");
        pawl_handle_free(a[p]);
    }
    pawl_host_drain(g.h);
    for (int p = 0; p < ORDERS; p++) {
        snprintf(run, sizeof run, "r%d", p);
        talk_is(&g, run, "user=five\nassistant=-\ntool s0=so\ntool s1=so\ntool s2=so\ntool s3=so\ntool s4=so\nassistant=so\n");
        snprintf(run, sizeof run, "r%d.sub-s3", p);
        talk_is(&g, run, "user=ask 3\nassistant=-\ntool c3!=Error: not that\nassistant=so\n");
    }
    host_end(&g);
}

/* What it is told is longer than a reference to it, and refers to the answer in which its parent's model said it. */
PAWL_TEST(test_K7_A6_a_child_is_told_what_is_long)
{
    static char script[300], input[600], talk[800];
    pawl_handle *a;
    stage g;

    memset(script, 'x', sizeof script - 1);
    host_begin(&g, true, 2);
    snprintf(input, sizeof input, "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"say %s\\\"}\"}", script);
    a = spawned(&g, "r", input);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    snprintf(talk, sizeof talk, "user=say %s\nassistant=%s\n", script, script);
    talk_is(&g, "r.sub-s1", talk);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- rights ------------------------------------------------------------------------------------------------ */

static void update_left(const char *run, const char *value)
{
    pawl_delivery d = { .id = value, .kind = PAWL_DELIVER_UPDATE, .by = "ann", .value = { value, strlen(value) } };
    pawl_store *s = file_store();
    pawl_err err = {0};

    said(s->verbs->deliver(s, run, &d, &err), &err);
    pawl_store_free(s);
}

static void mode_left(stage *g, const char *run, const char *mode)
{
    char value[64];

    (void)g;
    snprintf(value, sizeof value, "{\"@mode\":\"%s\"}", mode);
    update_left(run, value);
}

/* Of the newest entry; by a handle of its own. */
static bool mode_is(const char *run, const char *mode)
{
    pawl_store *s = file_store();
    pawl_state *st = NULL;
    pawl_err err = {0};
    const char *now;
    bool is;

    said(pawl_history_state(s, run, 0, &st, &err), &err);
    now = pawl_value_string(pawl_state_get(st, "@mode"));
    is = now != NULL && strcmp(now, mode) == 0;
    pawl_state_free(st);
    pawl_store_free(s);
    return is;
}

PAWL_TEST(test_P1_E11_a_child_at_work_comes_into_plan_mode_with_its_parent)
{
    pawl_handle *a;
    stage g;
    int tries = 0;

    host_begin(&g, true, 3);
    a = spawned(&g, "r", "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"both\\\"}\"}");
    stage_waits(&g, &g.working, 1);
    CHECK(mode_is("r.sub-s1", "bypassPermissions"));
    mode_left(&g, "r", "plan");
    while (!mode_is("r.sub-s1", "plan"))
        again(&tries);
    gate_opens(&g);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "b1\n");   /* which was under way; what came after it was not let in any more */
    talk_is(&g, "r.sub-s1", "user=both\nassistant=-\ntool b1=tool-bash did b1\n"
                            "tool e1!=Error: Permission denied for tool: edit_file: denied by plan mode, which only reads: /w/a\nassistant=so\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* Whether a child knew when an entry of its parent was stored; seen on the thread that drives, by a handle of its own. */
typedef struct knowing { unsigned entries, known; } knowing;

static bool see_update(void *ctx, const pawl_delivery *d)
{
    *(bool *)ctx = *(bool *)ctx || d->kind == PAWL_DELIVER_UPDATE;
    return true;
}

static void parent_watched(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    pawl_store *s = strcmp(pawl_state_run(st), "r") == 0 && pawl_entry_kind(entry) == PAWL_EV_UPDATE ? pawl_store_sqlite(path, NULL, NULL) : NULL;
    pawl_state *child = NULL;
    knowing *w = ctx;
    const char *mode;
    bool known = false;

    if (s == NULL)
        return;
    w->entries++;
    if (s->verbs->deliveries(s, "r.sub-s1", see_update, &known, NULL) == PAWL_OK && !known && pawl_history_state(s, "r.sub-s1", 0, &child, NULL) == PAWL_OK) {
        mode = pawl_value_string(pawl_state_get(child, "@mode"));       /* or it has taken it already */
        known = mode != NULL && strcmp(mode, "plan") == 0;
    }
    w->known += known;
    pawl_state_free(child);
    pawl_store_free(s);
}

PAWL_TEST(test_P1_E11_a_child_knows_before_its_parents_entry_stands)
{
    knowing w = { 0, 0 };
    pawl_handle *a;
    pawl_err err = {0};
    stage g;
    int tries = 0;

    stage_begin(&g);
    path_new("host");
    g.e = host_engine(&g, file_store(), 3);
    pawl_engine_watch(g.e, parent_watched, &w);
    if ((g.h = pawl_host_new(g.e, file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    a = spawned(&g, "r", "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"both\\\"}\"}");
    stage_waits(&g, &g.working, 1);
    mode_left(&g, "r", "plan");
    while (!mode_is("r.sub-s1", "plan"))
        again(&tries);
    gate_opens(&g);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK_INT(w.entries, 1);
    CHECK_INT(w.known, 1);
    pawl_handle_free(a);
    host_end(&g);
}

/* As soon as the parent has said that there shall be a child, and before anybody makes it. */
static void spawn_watched(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    static const char value[] = "{\"@mode\":\"plan\"}";
    pawl_delivery d = { .id = "early", .kind = PAWL_DELIVER_UPDATE, .by = "ann", .value = { value, sizeof value - 1 } };
    pawl_store *s;

    if (strcmp(pawl_state_run(st), "r") != 0 || pawl_entry_kind(entry) != PAWL_EV_RECEIPT || *(bool *)ctx)
        return;
    s = pawl_store_sqlite(path, NULL, NULL);
    *(bool *)ctx = s != NULL && s->verbs->deliver(s, "r", &d, NULL) == PAWL_OK;
    pawl_store_free(s);
}

PAWL_TEST(test_P1_E11_a_child_that_is_not_there_yet_begins_with_what_its_parent_has_then)
{
    pawl_handle *a;
    pawl_state *st = NULL;
    pawl_err err = {0};
    bool left = false;
    stage g;

    stage_begin(&g);
    path_new("host");
    g.e = host_engine(&g, file_store(), 0);
    pawl_engine_watch(g.e, spawn_watched, &left);
    if ((g.h = pawl_host_new(g.e, file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    a = spawned(&g, "r", "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"say done\\\"}\"}");
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK(left);
    said(pawl_history_state(pawl_engine_store(g.e), "r.sub-s1", 2, &st, &err), &err);  /* its second entry, when nothing has left for it yet */
    CHECK_STR(pawl_value_string(pawl_state_get(st, "@mode")), "plan");
    CHECK_INT(pawl_value_size(pawl_state_get(st, "messages")), 1);
    pawl_state_free(st);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_P1_E11_a_child_at_work_goes_by_the_rules_that_its_parent_gets)
{
    pawl_handle *a;
    pawl_store *s;
    pawl_state *st = NULL;
    pawl_err err = {0};
    stage g;
    bool there = false;
    int tries = 0;

    host_begin(&g, true, 3);
    a = spawned(&g, "r", "{\"@cwd\":\"/w\",\"@mode\":\"bypassPermissions\",\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"pair\\\"}\"}");
    stage_waits(&g, &g.working, 1);
    update_left("r", "{\"@policy\":{\"deny\":[\"Bash(rm:*)\"]}}");
    for (; !there; again(&tries)) {
        s = file_store();
        said(pawl_history_state(s, "r.sub-s1", 0, &st, &err), &err);
        there = pawl_value_size(pawl_value_get(pawl_state_get(st, "@policy"), "deny")) == 1;
        pawl_state_free(st);
        pawl_store_free(s);
    }
    gate_opens(&g);
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "b1\n");
    talk_is(&g, "r.sub-s1", "user=pair\nassistant=-\ntool b1=tool-bash did b1\n"
                            "tool b2!=Error: Permission denied for tool: bash: denied by the rule Bash(rm:*): rm x\nassistant=so\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* What is left for a run before anybody has taken its start is not lost. */
PAWL_TEST(test_P1_E16_a_mode_that_is_set_before_it_begins)
{
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 0);
    pawl_host_drain(g.h);
    a = spawned(&g, "r", "{\"@mode\":\"bypassPermissions\",\"input\":\"use edit_file e1 {\\\"file_path\\\":\\\"/w/a\\\"}\"}");
    sends(a, "say more");
    mode_left(&g, "r", "plan");
    CHECK(pawl_handle_is_processing(a) && !pawl_handle_is_idle(a));
    pawl_handle_free(a);
    pawl_host_free(g.h);
    g.e = host_engine(&g, file_store(), 0);
    g.h = pawl_host_new(g.e, file_store(), &err);
    a = found(&g, "r");
    CHECK_STR(rests(a), "idle");
    pawl_host_drain(g.h);
    CHECK_STR(g.log, "");
    talk_is(&g, "r", "user=use edit_file e1 {\"file_path\":\"/w/a\"}\nassistant=-\n"
                     "tool e1!=Error: Permission denied for tool: edit_file: denied by plan mode, which only reads: /w/a\nassistant=so\n"
                     "user=say more\nassistant=more\n");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- interrupts ----------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A4_a_child_is_interrupted_with_its_parent)
{
    pawl_handle *a, *child;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"hang\\\"}\"}");
    stage_waits(&g, &g.speaking, 1);
    child = found(&g, "r.sub-s1");
    said(pawl_handle_interrupt(a, &err), &err);
    CHECK_STR(rests(child), "over");
    CHECK(pawl_handle_is_done(child));
    CHECK_STR(rests(a), "idle");
    shown_are(a, "idle processing waiting_for_sub_agent processing done");
    pawl_host_drain(g.h);
    talk_is(&g, "r.sub-s1", "user=hang\nassistant=half an answer\nuser=User interrupted this message\n");
    talk_is(&g, "r", "user=use spawn_agent s1 {\"prompt\":\"hang\"}\nassistant=-\ntool s1=It ended without an answer: interrupt.\nuser=User interrupted this message\n");
    pawl_handle_free(child);
    pawl_handle_free(a);
    host_end(&g);
}

/* What a model says is referred to by what is made of it (K7), as long as it may be: its child gets it whole. */
PAWL_TEST(test_A6_K7_a_child_is_told_all_of_its_prompt)
{
    static char text[4096], input[4300], talk[4300];
    stage g;

    for (size_t n = 1; n < sizeof text; n *= 2) {
        pawl_handle *a;

        memset(text, 'x', n);
        text[n] = '\0';
        snprintf(input, sizeof input, "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"say %s\\\"}\"}", text);
        snprintf(talk, sizeof talk, "user=say %.396s\nassistant=%.400s\n", text, text);
        host_begin(&g, n % 3 == 1, 2);
        a = spawned(&g, "r", input);
        CHECK_STR(rests(a), "idle");
        pawl_host_drain(g.h);
        talk_is(&g, "r.sub-s1", talk);
        pawl_handle_free(a);
        host_end(&g);
    }
}
