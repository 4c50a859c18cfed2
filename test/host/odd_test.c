/* odd_test.c - handles and readers in odd orders: two who drain at once, a reader that comes in the middle of an entry, a child that is not there any
 * more, one that never began, calls without what they need (A3, A7, G11, X1). */
#include "hosting.h"

/* ---- the host ------------------------------------------------------------------------------------------------ */

static void *drains(void *arg)
{
    pawl_host_drain(arg);
    return NULL;
}

PAWL_TEST(test_A3_many_drain_at_once)
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

PAWL_TEST(test_X1_without_what_it_needs_nothing_is_done)
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
    CHECK(!v.has_mail);
    pawl_handle_view_free(&v);
    pawl_handle_view_free(&v);
    pawl_handle_view_free(NULL);
    pawl_handle_free(a);
    host_end(&g);
}

/* ---- what is permitted -------------------------------------------------------------------------------------------- */

/* The other input is one value, and no more of the answer than that. */
PAWL_TEST(test_P2_another_input_is_one_value)
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
PAWL_TEST(test_A3_one_that_fails_as_it_begins_is_over)
{
    pawl_handle *a;
    pawl_handle_view v;
    stage g;

    host_begin(&g, false, 0);
    a = spawned(&g, "r", "{\"@once\":\"run\",\"input\":\" \"}");
    CHECK_STR(comes_to(a, PAWL_UNTIL_RESTS), "over");
    v = viewed(a);
    CHECK(v.over && v.status == PAWL_STATUS_FAILED && v.state == PAWL_SHOWN_ERROR);
    CHECK(v.message != NULL && strstr(v.message, "input is empty") != NULL);
    pawl_handle_view_free(&v);
    CHECK(pawl_handle_is_error(a) && !pawl_handle_is_processing(a));
    pawl_handle_free(a);
    host_end(&g);
}

/* What another one made is not begun with what was meant for this one. */
PAWL_TEST(test_S9_one_that_was_made_of_another_machine_is_not_begun)
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
    said(s->verbs->create(s, pawl_state_base(st), NULL, &err), &err);
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

PAWL_TEST(test_S7_a_record_is_checked_as_anywhere)
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

/* ---- readers of children ------------------------------------------------------------------------------------------------ */

typedef struct place { uint64_t seq, index; char cursor[48]; pawl_chunk_kind kind; } place;

/* All that is told from there on: how often of children, how often of them before the chunk that tells of them, and how many of their tools began. */
typedef struct heard { size_t n, children, early, tools; bool spawned; place all[256]; } heard;

static pawl_code read_from(pawl_handle *a, const char *from, heard *h)
{
    pawl_chunks *c;
    pawl_err err = {0};
    pawl_chunk k;
    pawl_code rc;

    *h = (heard){ .n = 0 };
    if ((c = pawl_handle_chunks(a, from, &err)) == NULL)
        CHECK_FAIL("%s: %s", from != NULL ? from : "", err.text);
    while ((rc = pawl_chunks_wait(c, 5000, &k, &err)) == PAWL_OK) {
        const pawl_chunk *in = &k;

        if (k.kind == PAWL_CHUNK_SUB_AGENT_OUTPUT) {
            h->children++;
            h->early += !h->spawned;
            while (in->chunk != NULL)
                in = in->chunk;
            h->tools += in->kind == PAWL_CHUNK_TOOL_START && strstr(in->json, "\"read_file\"") != NULL;
            continue;
        }
        h->spawned = h->spawned || k.kind == PAWL_CHUNK_SUB_AGENT_SPAWNED;
        CHECK(h->n < sizeof h->all / sizeof *h->all);
        h->all[h->n] = (place){ .seq = k.seq, .index = k.index, .kind = k.kind };
        snprintf(h->all[h->n++].cursor, sizeof h->all->cursor, "%s", k.cursor);
    }
    if (rc < 0)
        CHECK_FAIL("%s", err.text);
    pawl_chunks_close(c);
    return rc;
}

/* A cursor may lie within an entry: what is behind it there has not been told, and a child that it tells of has not begun. */
PAWL_TEST(test_G11_no_child_is_told_before_the_chunk_that_tells_of_it)
{
    static heard all, some;
    pawl_handle *a;
    pawl_err err = {0};
    char start[48];
    bool behind = true;
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"say found\\\"}\"}");
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK_INT(read_from(a, NULL, &all), PAWL_HALTED);
    CHECK(all.spawned && all.children > 0 && all.early == 0);
    for (size_t i = 0; i < all.n && behind; i++) {
        behind = all.all[i].kind != PAWL_CHUNK_SUB_AGENT_SPAWNED;
        snprintf(start, sizeof start, "%llu.0", (unsigned long long)all.all[i].seq);
        CHECK_INT(read_from(a, start, &some), PAWL_HALTED);
        CHECK(some.spawned && some.early == 0);
        CHECK_INT(some.children, all.children);
        CHECK_INT(read_from(a, all.all[i].cursor, &some), PAWL_HALTED);
        CHECK(some.spawned == behind && (behind ? some.early == 0 : some.early == some.children));
        CHECK_INT(some.children, all.children);
    }
    pawl_handle_free(a);
    host_end(&g);
}

/* "A \"B\"": what is said, in quotes of one level more. */
static void quoted(char *out, size_t room, const char *before, const char *text)
{
    size_t n = (size_t)snprintf(out, room, "%s", before);

    for (; *text != '\0' && n + 3 < room; text++) {
        if (*text == '"' || *text == '\\')
            out[n++] = '\\';
        out[n++] = *text;
    }
    snprintf(out + n, room - n, "\"}");
}

/* As deep as a model may say it, and each parent puts some levels around it. */
PAWL_TEST(test_X3_what_is_deep_is_told_through_all_parents)
{
    enum { DEEP = 123, ROOM = 4096 };
    static heard all;
    static char text[5][ROOM];
    pawl_handle *a;
    pawl_err err = {0};
    size_t n;
    stage g;

    n = (size_t)snprintf(text[0], ROOM, "use read_file r1 {\"x\":");
    memset(text[0] + n, '[', DEEP);
    memset(text[0] + n + DEEP, ']', DEEP);
    snprintf(text[0] + n + 2 * (size_t)DEEP, 2, "}");
    quoted(text[1], ROOM, "use spawn_agent s3 {\"prompt\":\"", text[0]);
    quoted(text[2], ROOM, "use spawn_agent s2 {\"prompt\":\"", text[1]);
    quoted(text[3], ROOM, "use spawn_agent s1 {\"prompt\":\"", text[2]);
    quoted(text[4], ROOM, "{\"@mode\":\"bypassPermissions\",\"input\":\"", text[3]);
    host_begin(&g, true, 2);
    a = spawned(&g, "r", text[4]);
    CHECK_STR(rests(a), "idle");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK_INT(read_from(a, NULL, &all), PAWL_HALTED);
    CHECK_INT(all.tools, 1);
    pawl_handle_free(a);
    host_end(&g);
}

/* Its call was cut off, and its run removed: nobody waits for what it may say. */
PAWL_TEST(test_A7_a_child_that_is_not_there_any_more_keeps_no_reader)
{
    static heard all;
    pawl_handle *a, *child;
    pawl_store *s;
    pawl_head head;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 2);
    a = spawned(&g, "r", "{\"input\":\"use spawn_agent s1 {\\\"prompt\\\":\\\"hang\\\"}\"}");
    stage_waits(&g, &g.speaking, 1);
    child = found(&g, "r.sub-s1");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    CHECK_STR(comes_to(child, PAWL_UNTIL_OVER), "over");
    pawl_handle_free(child);
    pawl_host_drain(g.h);
    CHECK_INT(read_from(a, NULL, &all), PAWL_HALTED);
    s = file_store();
    said(s->verbs->head(s, "r.sub-s1", &head, &err), &err);
    said(s->verbs->remove(s, "r.sub-s1", head.fence, &err), &err);
    pawl_store_free(s);
    CHECK_INT(read_from(a, NULL, &all), PAWL_HALTED);
    pawl_handle_free(a);
    host_end(&g);
}
