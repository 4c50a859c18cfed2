/* items_test.c - an agent as items: messages, tool calls, waits and children, each with its states; live parts at the end. */
#include "hosting.h"
#include "lib/item_list.h"

/* Until a change of that id comes with that part; what it said, to be freed. */
static char *until(pawl_items *r, item_list *l, const char *id, const char *part_name)
{
    pawl_item_change c;
    pawl_err err = {0};

    for (;;) {
        const pawl_code rc = pawl_items_wait(r, PATIENCE_MS, &c, &err);
        const char *json = rc == PAWL_OK ? pawl_items_json(r, &err) : NULL;

        if (json == NULL)
            CHECK_FAIL("%s of %s does not come: %s %s", part_name, id, pawl_code_name(rc), err.text);
        if (c.live == 0)
            item_list_add(l, &c, json);
        if (strstr(c.id, id) != NULL && strcmp(c.part, part_name) == 0)
            return item_text(&c, json);
    }
}

/* Until one with that text does; a live part may come in pieces. */
static void comes(pawl_items *r, item_list *l, const char *id, const char *part_name, const char *text)
{
    bool found_it = false;

    while (!found_it) {
        char *given = until(r, l, id, part_name);

        found_it = strstr(given, text) != NULL;
        free(given);
    }
}

static pawl_items *items_of(stage *g, const char *run, const char *from)
{
    pawl_err err = {0};
    pawl_items *r = pawl_items_open(g->e, NULL, run, &(pawl_items_options){ .from = from, .kinds = ALL_ITEMS }, &err);

    if (r == NULL)
        CHECK_FAIL("%s: %s", run, err.text);
    return r;
}

static void the_rest(pawl_items *r, item_list *l)
{
    pawl_item_change c;
    pawl_err err = {0};

    while ((l->rc = pawl_items_wait(r, 200, &c, &err)) == PAWL_OK)
        if (c.live == 0)
            item_list_add(l, &c, pawl_items_json(r, &err));
    CHECK_INT(l->rc, PAWL_HALTED);
}

/* What is stored says the same to one who comes late, from each cursor on; and each thing of it ends once. */
static void settled(stage *g, const char *run, const item_list *l)
{
    pawl_store *s = pawl_engine_store(g->e);
    item_list whole = item_list_read(g->e, NULL, run, NULL, ALL_ITEMS);

    (void)s;
    item_list_check(&whole, run);
    if (l != NULL)
        item_list_same(&whole, SIZE_MAX, l, ALL_ITEMS, run);
    for (size_t i = 0; i < whole.n; i++) {
        item_list later = item_list_read(g->e, NULL, run, whole.all[i].cursor, ALL_ITEMS);

        item_list_same(&whole, i, &later, ALL_ITEMS, whole.all[i].cursor);
        item_list_free(&later);
    }
    item_list_free(&whole);
}

PAWL_TEST(test_items_of_an_agent)
{
    item_list l = { .n = 0 };
    pawl_handle *a;
    pawl_items *r;
    pawl_err err = {0};
    stage g;

    host_begin(&g, true, 4);
    said(pawl_engine_live(g.e, 0, 0, &err), &err);
    a = spawned(&g, "r", "{\"input\":\"use bash b1 {\\\"command\\\":\\\"make\\\",\\\"hold\\\":true,\\\"tell\\\":\\\"half\\\"}\"}");
    r = items_of(&g, "r", NULL);
    comes(r, &l, "/1.@.1.0", "call", "message r~");
    comes(r, &l, "b1", "proposed", " proposed ~ proposed bash ");
    comes(r, &l, "b1", "permission_request", " waiting ~* permission_request bash ");
    said(pawl_handle_permit(a, NULL, true, NULL, NULL, &err), &err);
    comes(r, &l, "b1", "tool_start", " running ~* tool_start bash ");
    comes(r, &l, "b1", "call", "\"effect\":\"tool-bash\"");
    stage_waits(&g, &g.working, 1);
    comes(r, &l, "b1", "tool_progress", "{\"output\":\"half\",\"tool_use_id\":\"b1\"}");
    gate_opens(&g);
    comes(r, &l, "b1", "tool_end", " done -* tool_end bash ");
    comes(r, &l, "r~", "status", " input-required ~ status ");
    sends(a, "gate hello");
    comes(r, &l, ".@.1.0", "message", "\"thinking_delta\"");
    comes(r, &l, ".@.1.0", "message", "\"text\":\"half an \"");
    gate_opens(&g);
    comes(r, &l, ".@.1.0", "text_complete", "{\"text\":\"hello\"}");
    sends(a, "use spawn_agent s1 {\\\"prompt\\\":\\\"deep\\\"}");
    comes(r, &l, ".@.1.", "spawn", "child=r.sub-s1");
    gate_opens(&g);
    comes(r, &l, "s1", "sub_agent_complete", " running ~* ");
    comes(r, &l, "s1", "tool_end", " done -* ");
    comes(r, &l, "r~", "status", " input-required ~ status ");
    sends(a, "fail invalid");
    comes(r, &l, "error:", "error", "API error: it will not");
    said(pawl_handle_shutdown(a, &err), &err);
    CHECK_STR(comes_to(a, PAWL_UNTIL_OVER), "over");
    the_rest(r, &l);
    pawl_items_close(r);
    settled(&g, "r", &l);
    settled(&g, "r.sub-s1", NULL);
    settled(&g, "r.sub-s1.sub-g1", NULL);
    item_list_free(&l);
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_items_are_asked_for_as_they_may_be)
{
    pawl_handle *a;
    pawl_items *r;
    pawl_item_change c;
    pawl_err err = {0};
    stage g;
    static const struct { const char *from; pawl_code rc; } wrong[] = { { "nowhere", PAWL_INVALID }, { "r:0.1", PAWL_INVALID }, { "q:1.1", PAWL_INVALID },
                                                                        { "r:1.1.x", PAWL_INVALID }, { "r:999.1", PAWL_INVALID } };

    host_begin(&g, false, 2);
    a = spawned(&g, "r", "{\"input\":\"say hello\"}");
    CHECK_STR(rests(a), "idle");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(pawl_items_open(g.e, NULL, "r", &(pawl_items_options){ .from = wrong[i].from }, &err) == NULL);
        CHECK_INT(err.code, wrong[i].rc);
        err = (pawl_err){0};
    }
    CHECK(pawl_items_open(g.e, NULL, "nobody", NULL, &err) == NULL && err.code == PAWL_GONE);
    err = (pawl_err){0};
    CHECK(pawl_items_open(NULL, NULL, "r", NULL, &err) == NULL && err.code == PAWL_INVALID);
    err = (pawl_err){0};
    CHECK(pawl_items_open(g.e, NULL, "r", &(pawl_items_options){ .kinds = ALL_ITEMS + 1 }, &err) == NULL);
    CHECK_INT(pawl_items_next(NULL, &c, NULL), PAWL_INVALID);
    CHECK_STR(pawl_items_cursor(NULL), "");
    CHECK_STR(pawl_item_kind_name(PAWL_ITEM_TOOL_CALL), "tool_call");
    CHECK_STR(pawl_item_kind_name((pawl_item_kind)3), "");
    CHECK_STR(pawl_item_state_name(PAWL_ITEM_RUN, PAWL_ITEM_DROPPED), "canceled");
    CHECK_STR(pawl_item_state_name(PAWL_ITEM_MESSAGE, PAWL_ITEM_RUNNING), "streaming");
    r = items_of(&g, "r", "now");
    while (pawl_items_next(r, &c, &err) == PAWL_OK)
        ;                       /* what the engine still stored after it had come to rest */
    CHECK_INT(pawl_items_next(r, &c, &err), PAWL_PENDING);
    sends(a, "say more");
    CHECK_STR(rests(a), "idle");
    CHECK_INT(pawl_items_wait(r, PATIENCE_MS, &c, &err), PAWL_OK);
    CHECK(c.seq > 1 && c.kind == PAWL_ITEM_LINE);
    pawl_items_close(r);
    r = items_of(&g, "r", "1.2");       /* a cursor of a stream */
    CHECK_INT(pawl_items_next(r, &c, &err), PAWL_OK);
    CHECK(c.seq == 1 && c.index == 3);
    pawl_items_stop(r);
    CHECK_INT(pawl_items_wait(r, -1, &c, &err), PAWL_CANCELED);
    pawl_items_stop(NULL);
    pawl_items_close(r);
    pawl_items_close(NULL);
    pawl_handle_free(a);
    host_end(&g);
}
