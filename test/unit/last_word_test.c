/* last_word_test.c - the update of an answer is a person's last word, and an update at a pause shows at once (W8), with answers in any order (W4). */
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_value *joined(pawl_step *s, const pawl_value *a, const pawl_value *b, void *arg)
{
    (void)arg;
    return pawl_pack(s, "s", pawl_format(s, "%s-%s", pawl_value_string(a), pawl_value_string(b)));
}

static const pawl_channel channels[] = { { .name = "x" }, { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { .name = "log", .rule = PAWL_RULE_APPEND },
                                         { .name = "seen", .rule = PAWL_RULE_APPEND }, { .name = "own", .rule = PAWL_RULE_CUSTOM, .first = "\"z\"",
                                             .merge = joined },
                                         { .name = "y" }, { 0 } };
static const part three[] = { { "a", NULL, "ask \"?\" -> y | log=\"a\"" }, { "b", NULL, "ask \"?\" -> y | get x -> seen | log=\"b\"" },
                              { "c", NULL, "signal go | log=\"c\"" }, { "d", "a b c", "get x -> seen" }, { 0 } };

static pawl_machine *plan(void)
{
    static const part one[] = { { "a", NULL, "ask \"?\" -> y | get x -> seen" }, { "b", "a", "get x -> seen" }, { 0 } };

    return script_machine("plan", 1, channels, one);
}

static void answer(world *w, const char *slot, const char *update)
{
    CHECK(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = slot, .value = "1", .update = update }) >= 0);
    world_go(w);
}

static const char *shown(world *w, const char *channel)
{
    pawl_step *s = pawl_step_new(NULL);
    const pawl_value *v = pawl_state_shown(w->st, s, channel);
    const char *text = v != NULL ? pawl_text(w->look, v) : NULL;

    pawl_step_free(s);
    return text != NULL ? text : "";
}

PAWL_TEST(test_W8_an_answers_update_comes_after_the_updates_before_it)
{
    world w;

    world_begin(&w, plan(), NULL);
    world_go(&w);
    world_update(&w, NULL, "{\"x\":\"first\",\"log\":1}");
    world_update(&w, NULL, "{\"log\":2}");
    answer(&w, "a", "{\"x\":\"last\",\"log\":3,\"own\":\"said\"}");
    CHECK_STR(world_status(&w), "completed");
    CHECK_STR(world_get(&w, "x"), "\"last\"");
    CHECK_STR(world_get(&w, "log"), "[1,2,3]");
    CHECK_STR(world_get(&w, "own"), "\"z-said\"");
    CHECK_STR(world_get(&w, "seen"), "[null,\"last\"]");        /* the node that asked sees one state to its end */
    world_end(&w);
}

PAWL_TEST(test_W8_an_update_that_comes_after_the_answer_is_merged_after_it)
{
    world w;

    world_begin(&w, script_machine("plan", 1, channels, three), NULL);
    world_go(&w);
    answer(&w, "a", "{\"x\":\"said\",\"own\":\"a\"}");
    world_update(&w, NULL, "{\"x\":\"later\",\"own\":\"u\"}");
    answer(&w, "b", "{\"own\":\"b\"}");
    world_signal(&w, "go", NULL);
    CHECK_STR(world_get(&w, "x"), "\"later\"");
    CHECK_STR(world_get(&w, "own"), "\"z-a-u-b\"");
    world_end(&w);
}

/* A snapshot is taken at an entry, and in an open superstep an adoption makes one. */
static void snapshot_by_adoption(world *w, uint32_t version)
{
    pawl_machine_free(w->m);
    w->m = script_machine("plan", version, channels, three);
    w->no_verify = true;
    CHECK(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ADOPT }) >= 0);
    world_snapshot(w);
    world_crash(w);
}

/* Answers of one place among the updates: in task order, and in whichever order they came. */
static void answered_in(const char *first, const char *second, bool crash, char *all, size_t size)
{
    world w;

    world_begin(&w, script_machine("plan", 1, channels, three), NULL);
    world_go(&w);
    world_update(&w, NULL, "{\"log\":\"u1\",\"own\":\"u1\",\"n\":1}");
    for (int i = 0; i < 2; i++) {
        const char *slot = i == 0 ? first : second;
        char update[128];

        snprintf(update, sizeof update, "{\"log\":\"of %s\",\"own\":\"of %s\",\"x\":\"%s\",\"n\":10}", slot, slot, slot);
        answer(&w, slot, update);
        if (crash)
            snapshot_by_adoption(&w, (uint32_t)i + 2);
    }
    world_update(&w, NULL, "{\"log\":\"u2\",\"own\":\"u2\",\"n\":100}");
    if (crash)
        world_crash(&w);
    world_signal(&w, "go", NULL);
    CHECK_STR(world_status(&w), "completed");
    snprintf(all, size, "%s", world_all(&w));
    world_end(&w);
}

PAWL_TEST(test_W4_W8_answers_among_updates_end_in_one_state_in_every_order)
{
    char all[3][1024];

    answered_in("a", "b", false, all[0], sizeof all[0]);
    answered_in("b", "a", false, all[1], sizeof all[1]);
    answered_in("b", "a", true, all[2], sizeof all[2]);
    CHECK_STR(all[0], "{\"log\":[\"a\",\"b\",\"c\",\"u1\",\"of a\",\"of b\",\"u2\"],\"n\":121,\"own\":\"z-u1-of a-of b-u2\",\"seen\":[null,\"b\"],"
                      "\"x\":\"b\",\"y\":1}");
    CHECK_STR(all[1], all[0]);
    CHECK_STR(all[2], all[0]);
}

PAWL_TEST(test_W8_an_update_at_a_pause_shows_at_once)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    world w;

    world_begin(&w, script_machine("plan", 1, channels, three), "{\"x\":\"old\",\"log\":0}");
    world_go(&w);
    world_update(&w, NULL, "{\"x\":\"new\",\"log\":1,\"n\":2,\"own\":\"u\"}");
    CHECK_STR(shown(&w, "x"), "\"new\"");
    CHECK_STR(shown(&w, "log"), "[0,1]");
    CHECK_STR(shown(&w, "n"), "2");
    CHECK_STR(shown(&w, "own"), "\"z\"");           /* only the machine can merge it */
    CHECK_STR(shown(&w, "nowhere"), "");
    CHECK_STR(pawl_state_json(w.st, s, &err), "{\"log\":[0,1],\"n\":2,\"own\":\"z\",\"x\":\"new\"}");
    CHECK_STR(world_get(&w, "x"), "\"old\"");       /* the nodes of the superstep see what they saw */
    answer(&w, "b", "{\"x\":\"said\",\"n\":3}");
    CHECK_STR(shown(&w, "x"), "\"said\"");
    CHECK_STR(shown(&w, "n"), "5");
    CHECK_STR(world_get(&w, "seen"), "");
    world_crash(&w);
    CHECK_STR(shown(&w, "x"), "\"said\"");
    answer(&w, "a", NULL);
    world_signal(&w, "go", NULL);
    CHECK_STR(world_get(&w, "x"), "\"said\"");
    CHECK_STR(world_get(&w, "seen"), "[\"old\",\"said\"]");
    CHECK_STR(shown(&w, "x"), "\"said\"");
    pawl_step_free(s);
    world_end(&w);
}

PAWL_TEST(test_W8_the_newest_of_what_comes_is_that_of_the_answer)
{
    world w;
    const pawl_value *coming;

    world_begin(&w, script_machine("plan", 1, channels, three), NULL);
    world_go(&w);
    world_update(&w, NULL, "{\"x\":\"first\",\"n\":1}");
    answer(&w, "a", "{\"x\":\"said\"}");
    coming = pawl_state_coming(w.st, "x");
    CHECK_STR(pawl_value_string(coming), "said");
    world_update(&w, NULL, "{\"x\":\"later\"}");
    CHECK_STR(pawl_value_string(pawl_state_coming(w.st, "x")), "later");
    CHECK_INT(pawl_value_int(pawl_state_coming(w.st, "n")), 1);
    world_drop(&w);
}

PAWL_TEST(test_W8_an_update_that_cannot_be_merged_refuses_the_answer)
{
    world w;

    world_begin(&w, plan(), NULL);
    world_go(&w);
    world_update(&w, NULL, "{\"n\":1}");
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "1", .update = "{\"n\":\"many\"}" }), PAWL_INVALID);
    CHECK_INT(pawl_state_waits(w.st), 1);
    answer(&w, "a", "{\"n\":2}");
    CHECK_STR(world_get(&w, "n"), "3");
    world_end(&w);
}

/* As a version stored it that gave updates the last word over answers: read, folded and verified for ever. */
static const char early[] =
    "{\"at\":1000,\"channels\":{\"log\":{\"rule\":\"append\"},\"n\":{\"first\":0,\"rule\":\"sum\"},\"own\":{\"first\":\"z\",\"rule"
    "\":\"custom\"},\"seen\":{\"rule\":\"append\"},\"x\":{\"rule\":\"last\"},\"y\":{\"rule\":\"last\"}},\"format\":1,\"id\":\"run-"
    "1\",\"life\":\"0000000000000001\",\"machine\":{\"hash\":\"6f69af20cac8d0ae307038cd60e0b26f649165ea0179144edf3672588f3807be\","
    "\"name\":\"plan\",\"version\":1},\"seed\":\"0000000000000007\"}\n"
    "6c876c282b8f139d56a3c3c7ea7cde3ad095519b1d924a51f2b1d55b3b67b9d1 [1,1000,\"start\",\"input-required\",1] [[\"start\",{}],[\"c"
    "lose\",[\"a\"]],[\"ask\",\"1.a.1.0\",1000,{\"kind\":\"question\",\"prompt\":\"?\",\"slot\":\"a\"}]]\n"
    "[[\"update\",{\"log\":1,\"x\":\"first\"},{}]]\n"
    "[[\"update\",{\"log\":2},{}]]\n"
    "[[\"answer\",\"1.a.1.0\",1003,1,{\"update\":{\"log\":3,\"own\":\"said\",\"x\":\"last\"}}],[\"leave\",\"a\",1,[[\"y\",1],[\"se"
    "en\",null]]]]\n"
    "c5d5b46a25ba1b97ecf624c6e375cb7a3bffc54d449dda8a13e17c15251f5827 [2,1003,\"tick\",\"working\",1] [[\"records\",4,\"bb82868582"
    "db9d185ac93a76d6948edb1ab616f96fe675ceba2a725600f92969\"],[\"close\",[\"b\"],{\"merged\":[[\"own\",\"z-said\",\"overwrite\"]]"
    "}]]\n"
    "f7a4a66171cdfead1a11673a236bcc972eac7fbb16865b33452df3e14d990e69 [3,1005,\"tick\",\"completed\",1] [[\"leave\",\"b\",1,[[\"se"
    "en\",\"first\"]]],[\"close\",[]]]\n";

PAWL_TEST(test_K5_W8_an_older_journal_is_folded_as_it_was)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = plan();
    const pawl_bytes journal = { early, sizeof early - 1 };
    pawl_verdict v;
    pawl_state *st;

    CHECK_INT(pawl_verify(m, journal, NULL, &v, &err), PAWL_OK);
    CHECK_INT(pawl_replay(journal, 0, NULL, &st, &err), PAWL_OK);
    CHECK_STR(pawl_value_string(pawl_state_get(st, "x")), "first");
    pawl_state_free(st);
    pawl_machine_free(m);
}
