/* odd_test.c - handles and readers in odd orders: two who drain at once, a reader that comes in the middle of an entry, a child that is not there any more, one that
 * never began, calls without what they need (A3, A7, G11, X1). */
#include "hosting.h"

/* ---- the host ------------------------------------------------------------------------------------------------ */

static void *drains(void *arg)
{
    pawl_host_drain(arg);
    return NULL;
}

static void test_A3_many_drain_at_once(void)
{
    enum { MANY = 4 };
    pthread_t all[MANY];
    pawl_handle *a;
    stage g;

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"say hello\"}");
    CHECK_STR(rests(a), "idle");
    for (int i = 0; i < MANY; i++)
        CHECK_INT(pthread_create(&all[i], NULL, drains, g.h), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(pthread_join(all[i], NULL), 0);
    pawl_host_drain(g.h);
    CHECK(pawl_handle_is_idle(a));              /* it is read all the same */
    pawl_handle_free(a);
    host_end(&g);
}

static void test_X1_without_what_it_needs_nothing_is_done(void)
{
    pawl_handle_view v;
    pawl_handle *a;
    stage g;

    CHECK_INT(pawl_handle_by(NULL, "ann", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_answer(NULL, NULL, "true", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_permit(NULL, NULL, true, "so", NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_interrupt(NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_shutdown(NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_states(NULL, shown_add, NULL, NULL), PAWL_INVALID);
    CHECK(pawl_handle_subscribe(NULL, NULL, NULL) == NULL && pawl_handle_run(NULL) == NULL);
    CHECK_INT(pawl_host_trouble(NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_host_list(NULL, NULL, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_host_spawn(NULL, NULL, "r", NULL, NULL, NULL), PAWL_INVALID);
    CHECK(pawl_host_get(NULL, "r", NULL) == NULL);
    host_begin(&g, false, 0);
    CHECK_INT(pawl_host_spawn(g.h, NULL, NULL, NULL, NULL, NULL), PAWL_INVALID);
    a = spawned(&g, "r", NULL);
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_handle_state(a, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_answer(a, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_by(a, "\xff", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_send(a, "\"\xff\"", NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_by(a, NULL, NULL), PAWL_OK);
    v = viewed(a);
    CHECK(!v.told);
    pawl_handle_view_free(&v);
    pawl_handle_view_free(&v);
    pawl_handle_view_free(NULL);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- what is permitted -------------------------------------------------------------------------------------------- */

/* The other input is one value, and no more of the answer than that. */
static void test_P2_another_input_is_one_value(void)
{
    static const char *const wrong[] = { "", "{", "{\"command\":\"x\"},\"note\":\"made up\"", "{}{}", "7", "{\"command\":\"\xff\"}" };
    pawl_handle *a;
    pawl_err err = {0};
    stage g;

    host_begin(&g, false, 0);
    a = spawned(&g, "r", "{\"input\":\"ask 1\"}");
    CHECK_STR(rests(a), "waiting_for_permission");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(pawl_handle_permit(a, NULL, true, NULL, wrong[i], NULL), PAWL_INVALID);
    CHECK_INT(pawl_handle_permit(a, NULL, true, "\xff", NULL, NULL), PAWL_INVALID);
    CHECK_STR(rests(a), "waiting_for_permission");
    said(pawl_handle_permit(a, NULL, true, "go", " {\"command\":\"make 2\"} ", &err), &err);
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- runs that never began, or were not let ------------------------------------------------------------------------- */

/* It is over, and who waits for it hears so. */
static void test_A3_one_that_fails_as_it_begins_is_over(void)
{
    pawl_handle *a;
    pawl_handle_view v;
    stage g;

    host_begin(&g, false, 0);
    a = spawned(&g, "r", "{\"@once\":\"run\",\"input\":\" \"}");
    CHECK_STR(comes_to(a, PAWL_UNTIL_RESTS), "over");
    v = viewed(a);
    CHECK(v.over && v.status == PAWL_FAILED && v.state == PAWL_SHOWN_ERROR);
    CHECK(v.message != NULL && strstr(v.message, "input is empty") != NULL);
    pawl_handle_view_free(&v);
    CHECK(pawl_handle_is_error(a) && !pawl_handle_is_processing(a));
    pawl_handle_free(a);
    host_end(&g);
}

/* What another one made is not begun with what was meant for this one. */
static void test_S9_one_that_was_made_of_another_machine_is_not_begun(void)
{
    const pawl_run_info info = { .id = "r", .life = 7, .seed = 7, .created_ms = 1 };
    pawl_machine *m = host_machine("searcher", 8);
    pawl_state *st = NULL;
    pawl_handle *a = NULL;
    pawl_store *s;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 0);
    s = file_store();
    said(pawl_state_new(m, &info, 0, NULL, &st, &err), &err);
    said(s->verbs->create(s, pawl_state_base(st), &err), &err);
    pawl_store_free(s);
    pawl_state_free(st);
    pawl_machine_free(m);
    CHECK_INT(pawl_host_spawn(g.h, "helper", "r", "{\"input\":\"say hello\"}", NULL, &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "searcher") != NULL);
    err = (pawl_err){0};
    said(pawl_host_spawn(g.h, "searcher", "r", "{\"input\":\"say hello\"}", &a, &err), &err);
    CHECK_STR(rests(a), "idle");
    pawl_handle_free(a);
    host_end(&g);
}

static void test_S7_a_record_is_checked_as_anywhere(void)
{
    const pawl_run_info odd[] = {
        { .id = "r", .created_by = "\xff" }, { .id = "r", .mode = "nonsense" }, { .id = "r", .retention = "abc" }, { .id = "r", .budget = { .tokens = -1 } },
        { .id = "r", .labels = { "\xff" } }, { .id = "r", .deadline_ms = -5 }, { .id = "r", .trace = "" }, { .id = "r", .context = "c" }, { .id = NULL },
    };
    stage g;

    host_begin(&g, false, 0);
    CHECK_INT(pawl_host_spawn_with(g.h, NULL, NULL, NULL, NULL, NULL), PAWL_INVALID);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        CHECK_INT(pawl_host_spawn_with(g.h, NULL, &odd[i], NULL, NULL, NULL), PAWL_INVALID);
    CHECK(pawl_host_get(g.h, "r", NULL) == NULL);
    host_end(&g);
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_A3_many_drain_at_once), CASE(test_X1_without_what_it_needs_nothing_is_done), CASE(test_P2_another_input_is_one_value),
        CASE(test_A3_one_that_fails_as_it_begins_is_over), CASE(test_S9_one_that_was_made_of_another_machine_is_not_begun),
        CASE(test_S7_a_record_is_checked_as_anywhere),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
