/* own_test.c - what layers above put into a machine: channels of Pawl's own, where it was made from, notes for its picture, routes
 * whose targets are a list. */
#include "lib/machines.h"

#include <string.h>

/* ---- channels that begin with @ -------------------------------------------------------------------- */

static pawl_code see_own(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "x", pawl_get(s, "@mode"));
    return PAWL_OK;
}

static pawl_machine *machine_own(void)
{
    pawl_graph *g = pawl_graph_new("own", 1);

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_channel(g, "@mode", PAWL_RULE_LAST);
    pawl_graph_node(g, "a", see_own, NULL);
    pawl_graph_work(g, "b", "look");
    pawl_graph_chain(g, PAWL_START, "a", "b", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

PAWL_TEST(test_K3_channels_of_pawls_own_are_kept_and_not_shown)
{
    pawl_command cmd;
    world w;

    world_begin(&w, machine_own(), "{\"@mode\":\"plan\"}");
    world_go(&w);
    CHECK_STR(world_all(&w), "{\"x\":\"plan\"}");
    CHECK_STR(pawl_value_string(pawl_state_get(w.st, "@mode")), "plan");
    CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, NULL), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_value_get(cmd.args, "state")), "{\"x\":\"plan\"}");    /* "*" leaves it out */
    world_receipt(&w, "b", "null");
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    world_end(&w);              /* loaded from base, snapshot and tail alike, and verified */
}

PAWL_TEST(test_K3_what_an_update_brings_is_seen_before_it_is_there)
{
    world w;

    world_begin(&w, machine_own(), "{\"@mode\":\"plan\"}");
    world_go(&w);
    CHECK(pawl_state_coming(w.st, "@mode") == NULL);
    world_update(&w, NULL, "{\"@mode\":\"default\"}");
    world_update(&w, NULL, "{\"x\":\"y\"}");
    CHECK_STR(pawl_value_string(pawl_state_get(w.st, "@mode")), "plan");
    CHECK_STR(pawl_value_string(pawl_state_coming(w.st, "@mode")), "default");
    world_update(&w, NULL, "{\"@mode\":\"acceptEdits\"}");
    CHECK_STR(pawl_value_string(pawl_state_coming(w.st, "@mode")), "acceptEdits");
    CHECK(pawl_state_coming(w.st, NULL) == NULL);
    CHECK(pawl_state_coming(w.st, "@none") == NULL);
    world_receipt(&w, "b", "null");
    CHECK(pawl_state_coming(w.st, "@mode") == NULL);
    CHECK_STR(pawl_value_string(pawl_state_get(w.st, "@mode")), "acceptEdits");
    world_end(&w);
}

PAWL_TEST(test_K3_only_a_name_behind_the_at_is_a_channel_of_pawls_own)
{
    static const char *const names[] = { "@", "@@a", "@-a", "@a b", "a@b" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pawl_graph *g = pawl_graph_new("names", 1);
        pawl_err err = {0};

        pawl_graph_channel(g, names[i], PAWL_RULE_LAST);
        pawl_graph_node(g, "a", see_own, NULL);
        pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
        CHECK(pawl_graph_compile(g, &err) == NULL);
        CHECK(strstr(err.text, "is no name of a channel") != NULL);
    }
}

/* ---- the source --------------------------------------------------------------------------------------- */

static pawl_machine *machine_from(const char *source, const char *note)
{
    pawl_graph *g = pawl_graph_new("from", 1);

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_node(g, "a", see_own, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    if (source != NULL)
        pawl_graph_source(g, (pawl_bytes){ source, strlen(source) });
    if (note != NULL)
        pawl_graph_note(g, "a", note);
    return pawl_graph_compile(g, NULL);
}

PAWL_TEST(test_F5_the_source_is_part_of_the_machines_hash_and_a_note_is_not)
{
    pawl_machine *none = machine_from(NULL, NULL), *a = machine_from("a", NULL), *b = machine_from("b", NULL), *noted = machine_from("a", "gate, run");

    CHECK(strcmp(pawl_machine_hash(none), pawl_machine_hash(a)) != 0);
    CHECK(strcmp(pawl_machine_hash(a), pawl_machine_hash(b)) != 0);
    CHECK_STR(pawl_machine_hash(a), pawl_machine_hash(noted));
    pawl_machine_free(none);
    pawl_machine_free(a);
    pawl_machine_free(b);
    pawl_machine_free(noted);
}

PAWL_TEST(test_F5_a_state_says_whether_it_runs_under_a_machine)
{
    pawl_machine *a = machine_from("a", NULL), *b = machine_from("b", NULL);
    pawl_state *st = NULL;

    CHECK_INT(pawl_state_new(a, &(pawl_run_info){ .id = "r", .life = 1 }, 0, NULL, &st, NULL), PAWL_OK);
    CHECK(pawl_state_under(st, a));
    CHECK(!pawl_state_under(st, b));
    CHECK(!pawl_state_under(st, NULL));
    pawl_state_free(st);
    pawl_machine_free(a);
    pawl_machine_free(b);
}

PAWL_TEST(test_G12_a_note_stands_in_the_picture)
{
    pawl_machine *m = machine_from(NULL, "gate, run");
    pawl_step *s = pawl_step_new(NULL);

    CHECK(strstr(pawl_draw(m, NULL, PAWL_PICTURE_TEXT, s, NULL), "gate, run") != NULL);
    CHECK(strstr(pawl_draw(m, NULL, PAWL_PICTURE_DOT, s, NULL), "gate, run") != NULL);
    pawl_step_free(s);
    pawl_machine_free(m);
}

/* ---- routes ---------------------------------------------------------------------------------------------- */

static const char *by_x(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_string(s, "x");
}

static pawl_code nothing(pawl_step *s, void *arg)
{
    (void)s, (void)arg;
    return PAWL_OK;
}

static pawl_machine *machine_route(void)
{
    static const char *const to[] = { "b", "c" };
    pawl_graph *g = pawl_graph_new("route", 1);

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    for (const char *name = "a\0b\0c\0"; *name != '\0'; name += 2)
        pawl_graph_node(g, name, nothing, NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route_of(g, "a", by_x, NULL, NULL, to, 2);
    pawl_graph_edge(g, "b", PAWL_END);
    pawl_graph_edge(g, "c", PAWL_END);
    return pawl_graph_compile(g, NULL);
}

PAWL_TEST(test_G3_a_route_leads_to_one_of_its_list)
{
    world w;

    world_begin(&w, machine_route(), "{\"x\":\"c\"}");
    world_go(&w);
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
    world_begin(&w, machine_route(), "{\"x\":\"a\"}");
    world_go(&w);
    CHECK_STR(world_status(&w), "failed");
    CHECK(strstr(world_reason(&w), "no route from \\\"a\\\" to \\\"a\\\"") != NULL);
    world_end(&w);
}
