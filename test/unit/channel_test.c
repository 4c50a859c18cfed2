/* channel_test.c - the merge rules of K3, one small run for each fact.
 *
 * A plan is supersteps, " / " between them; in each the tasks a, b, c, " & " between them; each a script of machines.h. */
#include "base/base.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 24, PLAN_BYTES = 4096 };

typedef struct planned { char text[PLAN_BYTES]; char names[TASKS_MAX][16], after[TASKS_MAX][64]; part parts[TASKS_MAX + 1]; } planned;

static char *cut(char **at, const char *sep)
{
    char *from = *at, *end = strstr(from, sep);

    *at = end != NULL ? end + strlen(sep) : NULL;
    if (end != NULL)
        *end = '\0';
    return from;
}

/* a0 & b0 / a1: the nodes of a superstep come after all of the one before. */
static void plan_read(planned *p, const char *plan)
{
    char *step, *at = p->text, *in;
    char before[64] = "", now[64];
    size_t n = 0;

    memset(p, 0, sizeof *p);
    snprintf(p->text, sizeof p->text, "%s", plan);
    for (int depth = 0; at != NULL; depth++) {
        step = in = cut(&at, " / ");
        now[0] = '\0';
        for (char who = 'a'; in != NULL && n < TASKS_MAX; who++, n++) {
            const char *script = cut(&in, " & ");

            snprintf(p->names[n], sizeof p->names[n], "%c%d", who, depth);
            memcpy(p->after[n], before, sizeof before);
            p->parts[n] = (part){ p->names[n], depth == 0 ? NULL : p->after[n], script };
            snprintf(now + strlen(now), sizeof now - strlen(now), "%s%s", *now != '\0' ? " " : "", p->names[n]);
        }
        memcpy(before, now, sizeof before);
    }
    (void)step;
}

static planned the_plan;

static void begin_plan(world *w, const pawl_channel *channels, const char *plan, const char *input)
{
    plan_read(&the_plan, plan);
    world_begin(w, script_machine("plan", 1, channels, the_plan.parts), input);
}

/* What channel "x" holds after the plan; or why the run failed. Lives until the next call. */
static const char *after(const pawl_channel *x, const char *plan)
{
    static char out[PLAN_BYTES];
    const pawl_channel channels[] = { *x, { .name = "y" }, { .name = "z" }, { 0 } };
    world w;

    begin_plan(&w, channels, plan, NULL);
    CHECK_STR(world_status(&w), *world_reason(&w) != '\0' ? "failed" : "completed");
    snprintf(out, sizeof out, "%s", *world_reason(&w) != '\0' ? world_reason(&w) : world_get(&w, "x"));
    world_end(&w);
    return out;
}

#define AFTER(the_rule, plan)       after(&(pawl_channel){ .name = "x", .rule = (the_rule) }, plan)
#define AFTER_FIRST(the_rule, was, plan) after(&(pawl_channel){ .name = "x", .rule = (the_rule), .first = (was) }, plan)

/* ---- rules of one value ------------------------------------------------------------------------- */

PAWL_TEST(test_K3_all_channels_begin_empty_or_with_their_first_value)
{
    const pawl_channel channels[] = { { .name = "bare" }, { .name = "first", .first = "{\"a\":[1]}" },
                                      { .name = "list", .rule = PAWL_RULE_APPEND }, { .name = "named", .rule = PAWL_RULE_UNION, .first = "[1,1,2]" },
                                      { 0 } };
    const part parts[] = { { "wait", NULL, "signal go" }, { 0 } };
    world w;

    world_begin(&w, script_machine("first", 1, channels, parts), NULL);
    CHECK_STR(world_all(&w), "{\"first\":{\"a\":[1]},\"named\":[1,2]}");
    world_signal(&w, "go", NULL);
    CHECK_STR(world_all(&w), "{\"first\":{\"a\":[1]},\"named\":[1,2]}");   /* nothing was written: nothing changed */
    world_end(&w);
}

PAWL_TEST(test_K3_last_the_last_in_task_order_wins)
{
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x=1"), "1");
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x=1 & x=2 & y=0"), "2");
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x=1 | x=2 | x=3"), "3");
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x={\"a\":1} / x=null"), "null");
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x=1 & x:=7 & x=2"), "2");
    CHECK_STR(AFTER_FIRST(PAWL_RULE_LAST, "5", "y=0"), "5");
    CHECK_STR(AFTER(PAWL_RULE_LAST, "x+=[1]"),
              "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": extend is for append, union, topic and barrier\"}");
}

PAWL_TEST(test_K3_single_two_writers_are_an_error_that_names_both_and_the_channel)
{
    CHECK_STR(AFTER(PAWL_RULE_SINGLE, "x=1 & y=2"), "1");
    CHECK_STR(AFTER(PAWL_RULE_SINGLE, "x=1 | x=2"), "2");            /* one task is one writer */
    CHECK_STR(AFTER(PAWL_RULE_SINGLE, "x=1 / x=2 & y=1"), "2");      /* and another superstep another matter */
    CHECK_STR(AFTER(PAWL_RULE_SINGLE, "x=1 & y=1 & x=1"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\" takes one writer a superstep: "
                                                    "\\\"a0\\\" and \\\"c0\\\" both wrote it\"}");
    CHECK_STR(AFTER(PAWL_RULE_SINGLE, "x=1 & x:=2"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\" takes one writer a superstep: "
                                               "\\\"a0\\\" and \\\"b0\\\" both wrote it\"}");
}

PAWL_TEST(test_K3_single_what_failed_to_merge_changes_nothing)
{
    const pawl_channel channels[] = { { .name = "x", .rule = PAWL_RULE_SINGLE }, { .name = "y" }, { 0 } };
    world w;

    begin_plan(&w, channels, "x=1 | y=\"old\" / y=\"new\" | x=2 & x=3", NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_all(&w), "{\"x\":1,\"y\":\"old\"}");
    CHECK_STR(world_tasks(&w), "a1 b1");                        /* the superstep stands where it was */
    world_end(&w);
}

PAWL_TEST(test_K3_sum_is_exact_in_int64)
{
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1 & x=2 & x=3 / x=-10"), "-4");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=9007199254740993 & x=1"), "9007199254740994");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=9223372036854775806 & x=1"), "9223372036854775807");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=-9223372036854775807 / x=-1"), "-9223372036854775808");
    CHECK_STR(AFTER_FIRST(PAWL_RULE_SUM, "10", "x=-3"), "7");
    CHECK_STR(AFTER_FIRST(PAWL_RULE_SUM, "10", "x:=1 | x=1"), "2");
}

PAWL_TEST(test_K3_sum_overflow_is_an_error)
{
    const char *const left = "{\"code\":\"limit\",\"text\":\"channel \\\"x\\\": the sum leaves the range of int64\"}";

    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=9223372036854775807 & x=1"), left);
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=-9223372036854775808 / x=-1"), left);
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=18446744073709551615 / x=1"), left);
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1 / x=9223372036854775808"), left);
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1e308 & x=1e308"), "{\"code\":\"limit\",\"text\":\"channel \\\"x\\\": the sum leaves the range of double\"}");
}

PAWL_TEST(test_K3_sum_of_doubles_is_in_task_order)
{
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=0.1 & x=0.2 & x=0.3"), "0.6000000000000001");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=0.3 & x=0.2 & x=0.1"), "0.6");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1e16 & x=1.0 & x=-1e16"), "0.0");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1 & x=0.5"), "1.5");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1.0 & x=1"), "2.0");           /* once a double, always one */
}

PAWL_TEST(test_K3_sum_takes_numbers_only)
{
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=\"1\""), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": a sum takes numbers\"}");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x=1 / x=null"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": a sum takes numbers\"}");
    CHECK_STR(AFTER(PAWL_RULE_SUM, "x:=\"one\" / x=1"),
              "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": a sum was overwritten with what is no number\"}");
}

PAWL_TEST(test_K3_min_and_max_of_numbers)
{
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=3 & x=1 & x=2"), "1");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=3 & x=1 / x=2"), "3");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=1.5 & x=1"), "1");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=1 & x=1.0"), "1");             /* equal: what is there stays */
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=-1 & x=18446744073709551615"), "-1");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=-1 & x=18446744073709551615"), "18446744073709551615");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=5 / x:=1 / x=2"), "2");
}

PAWL_TEST(test_K3_min_and_max_are_exact_between_integers_and_doubles)
{
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=9007199254740993 & x=9007199254740992"), "9007199254740993");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=9007199254740992.0 & x=9007199254740993"), "9007199254740993");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=9007199254740993 & x=9007199254740992.0"), "9007199254740992.0");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=18446744073709551616.0 & x=18446744073709551615"), "18446744073709551615");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=9223372036854775807 & x=9223372036854775808.0"), "9223372036854776000.0");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=-9223372036854775808.0 & x=-9223372036854775808"), "-9223372036854776000.0");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=1e300 & x=3"), "3");
}

PAWL_TEST(test_K3_min_and_max_of_strings_are_by_bytes)
{
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=\"a\" & x=\"Z\""), "\"Z\"");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=\"z\" & x=\"\xc3\xa4\""), "\"\xc3\xa4\"");
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=\"ab\" & x=\"a\""), "\"ab\"");
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=\"10\" & x=\"9\""), "\"10\"");
}

PAWL_TEST(test_K3_min_and_max_do_not_mix_types)
{
    const char *const mixed = "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": min and max take all numbers or all strings\"}";
    const char *const wrong = "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": min and max take numbers or strings\"}";

    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=1 & x=\"1\""), mixed);
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=\"a\" / x=2.5"), mixed);
    CHECK_STR(AFTER(PAWL_RULE_MAX, "x=[1]"), wrong);
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x=1 / x=true"), wrong);
    CHECK_STR(AFTER(PAWL_RULE_MIN, "x:=true / x=\"a\""), mixed);
}

PAWL_TEST(test_K3_merge_is_shallow_and_null_is_stored)
{
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x={\"a\":1} & x={\"b\":2}"), "{\"a\":1,\"b\":2}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x={\"a\":{\"p\":1}} / x={\"a\":{\"q\":2}}"), "{\"a\":{\"q\":2}}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x={\"a\":1,\"b\":2} / x={\"a\":null}"), "{\"a\":null,\"b\":2}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x={\"a\":1} / x={}"), "{\"a\":1}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x={\"a\":1} | x:={\"z\":0} | x={\"b\":[2,{}]}"), "{\"b\":[2,{}],\"z\":0}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x=[1]"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": merge takes objects\"}");
    CHECK_STR(AFTER(PAWL_RULE_MERGE, "x:=5 / x={\"a\":1}"), "{\"a\":1}");
}

/* ---- lists ----------------------------------------------------------------------------------------- */

PAWL_TEST(test_K3_append_adds_one_element_extend_an_arrays)
{
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x=1"), "[1]");                /* the first write is the rule's result: a list of it */
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x=1 & x=[2] & x+=[3,[4]] / x=null"), "[1,[2],3,[4],null]");
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x+=[]"), "[]");
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "y=0"), "");
    CHECK_STR(AFTER_FIRST(PAWL_RULE_APPEND, "[0]", "x=1"), "[0,1]");
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x+=5"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": extend takes an array\"}");
}

PAWL_TEST(test_K3_overwrite_goes_past_the_rule_and_later_writes_merge_again)
{
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x=1 | x:=[7] | x=8"), "[7,8]");
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x=1 & x:=[7] & x=8 / x:=[] / x=9"), "[9]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=1 / x:=[3,3,1] / x=3"), "[3,1]");
    CHECK_STR(AFTER(PAWL_RULE_APPEND, "x=1 / x:=2"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": is a list; overwrite it with an array\"}");
}

PAWL_TEST(test_K3_union_is_by_canonical_bytes_and_the_first_seen_keeps_its_place)
{
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=\"b\" & x=\"a\" & x=\"b\""), "[\"b\",\"a\"]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x+=[3,1,2] / x+=[2,4,1]"), "[3,1,2,4]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x={\"a\":1,\"b\":2} / x={\"b\":2,\"a\":1}"), "[{\"a\":1,\"b\":2}]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=1 & x=1.0 & x=\"1\" & x=true"), "[1,1.0,\"1\",true]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=0.0 / x=-0.0"), "[0.0]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=1e1 / x=10.0 / x=10"), "[10.0,10]");
    CHECK_STR(AFTER(PAWL_RULE_UNION, "x=\"\\u00e4\" / x=\"\xc3\xa4\""), "[\"\xc3\xa4\"]");
}

PAWL_TEST(test_K3_barrier_counts_each_source_once)
{
    CHECK_STR(AFTER(PAWL_RULE_BARRIER, "x=\"b\" & x=\"a\" & x=\"b\" / x=\"a\""), "[\"b\",\"a\"]");
    CHECK_STR(AFTER(PAWL_RULE_BARRIER, "x+=[\"a\",\"b\",\"a\"]"), "[\"a\",\"b\"]");
    CHECK_STR(AFTER(PAWL_RULE_BARRIER, "x=\"a\" / x:=[] / x=\"b\""), "[\"b\"]");
    CHECK_STR(AFTER(PAWL_RULE_BARRIER, "x=1"), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": a barrier takes names\"}");
}

/* ---- rules of time ------------------------------------------------------------------------------------ */

PAWL_TEST(test_K3_topic_is_what_the_superstep_before_wrote)
{
    CHECK_STR(AFTER(PAWL_RULE_TOPIC, "x=1 & x+=[2,3] / get x -> y / get x -> z / y=0"), "");
    CHECK_STR(AFTER(PAWL_RULE_TOPIC, "y=0 / x=1 & x=1"), "[1,1]");
    CHECK_STR(AFTER(PAWL_RULE_TOPIC, "x=1 / x=2 / x=3"), "[3]");     /* drained, then what was written since */
    CHECK_STR(after(&(pawl_channel){ .name = "x", .rule = PAWL_RULE_TOPIC, .accumulate = true }, "x=1 / x=2 / y=0 / x=3"), "[1,2,3]");
}

PAWL_TEST(test_K3_topic_is_seen_by_the_next_superstep_and_by_none_after)
{
    const pawl_channel channels[] = { { .name = "news", .rule = PAWL_RULE_TOPIC, .first = "[\"first\"]" },
                                      { .name = "seen", .rule = PAWL_RULE_APPEND }, { 0 } };
    world w;

    begin_plan(&w, channels, "get news -> seen | news=1 / get news -> seen | news=2 & news=3 / get news -> seen / get news -> seen", NULL);
    CHECK_STR(world_get(&w, "seen"), "[[\"first\"],[1],[2,3],null]");
    world_end(&w);
}

PAWL_TEST(test_K3_K4_ephemeral_lives_for_exactly_one_superstep)
{
    const pawl_channel channels[] = { { .name = "now", .rule = PAWL_RULE_EPHEMERAL }, { .name = "seen", .rule = PAWL_RULE_APPEND }, { 0 } };
    world w;

    begin_plan(&w, channels, "get now -> seen | now=1 | now=2 / get now -> seen & get now -> seen / get now -> seen / now=3", "{\"now\":0}");
    CHECK_STR(world_get(&w, "seen"), "[0,2,2,null]");
    world_end(&w);
}

/* ---- a user's function ------------------------------------------------------------------------------------ */

/* Joins strings with a dash; refuses "no". */
static const pawl_value *dashed(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg)
{
    int *calls = arg;

    ++*calls;
    if (strcmp(pawl_value_string(update), "no") == 0)
        return NULL;
    return pawl_pack(s, "s", pawl_format(s, "%s-%s", pawl_value_string(old), pawl_value_string(update)));
}

static int dashes;
static const pawl_channel dash = { .name = "x", .rule = PAWL_RULE_CUSTOM, .merge = dashed, .merge_arg = &dashes };

PAWL_TEST(test_K3_custom_folds_left_to_right_and_the_first_write_bypasses_it)
{
    dashes = 0;
    CHECK_STR(after(&dash, "x=\"a\""), "\"a\"");
    CHECK_INT(dashes, 0);
    CHECK_STR(after(&dash, "x=\"a\" & x=\"b\" & x=\"c\" / x=\"d\" | x=\"e\""), "\"a-b-c-d-e\"");
    CHECK_STR(after(&dash, "x=\"a\" & x:=\"q\" & x=\"c\" / x=\"d\""), "\"q-c-d\"");
    CHECK_STR(after(&(pawl_channel){ .name = "x", .rule = PAWL_RULE_CUSTOM, .first = "\"z\"", .merge = dashed, .merge_arg = &dashes }, "x=\"a\""), "\"z-a\"");
}

PAWL_TEST(test_K3_custom_a_function_may_refuse)
{
    CHECK_STR(after(&dash, "x=\"no\""), "\"no\"");
    CHECK_STR(after(&dash, "x=\"a\" & x=\"no\""),
              "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": its function refuses what \\\"b0\\\" wrote\"}");
}

PAWL_TEST(test_K6_custom_results_are_stored_and_apply_needs_no_machine)
{
    const pawl_channel channels[] = { dash, { 0 } };
    pawl_state *st;
    pawl_err err = { 0 };
    world w;
    int calls;

    begin_plan(&w, channels, "x=\"a\" & x=\"b\" / x=\"c\"", NULL);
    CHECK(strstr(journal_of(&w), "{\"merged\":[[\"x\",\"a-b\"]]") != NULL || strstr(journal_of(&w), "\"a-b\"") != NULL);
    calls = dashes;
    CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, 0, NULL, &st, &err), PAWL_OK);
    CHECK_STR(pawl_value_string(pawl_state_get(st, "x")), "a-b-c");
    CHECK_INT(dashes, calls);
    pawl_state_free(st);
    world_end(&w);
}

PAWL_TEST(test_K3_custom_takes_start_values_and_updates_from_outside)
{
    const pawl_channel channels[] = { { .name = "x", .rule = PAWL_RULE_CUSTOM, .first = "\"z\"", .merge = dashed, .merge_arg = &dashes }, { 0 } };
    world w;

    begin_plan(&w, channels, "signal go | x=\"n\" / signal go", "{\"x\":\"in\"}");
    CHECK_STR(world_get(&w, "x"), "\"z-in\"");
    CHECK_INT(world_update(&w, NULL, "{\"x\":\"up\"}"), PAWL_INTERRUPTED);
    CHECK_STR(world_get(&w, "x"), "\"z-in\"");                  /* the open superstep sees one state to its end */
    world_signal(&w, "go", NULL);
    CHECK_STR(world_get(&w, "x"), "\"z-in-n-up\"");
    CHECK_INT(world_update(&w, NULL, "{\"x\":\"no\"}"), PAWL_INTERRUPTED);
    world_signal(&w, "go", NULL);
    CHECK_STR(world_status(&w), "failed");
    CHECK_STR(world_reason(&w), "{\"code\":\"invalid\",\"text\":\"channel \\\"x\\\": its function refuses the update\"}");
    world_end(&w);
}

PAWL_TEST(test_W7_K3_custom_takes_updates_that_come_with_an_answer)
{
    const pawl_channel channels[] = { { .name = "x", .rule = PAWL_RULE_CUSTOM, .first = "\"z\"", .merge = dashed, .merge_arg = &dashes },
                                      { .name = "y" }, { 0 } };
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "1", .update = "{\"x\":\"told\"}" };
    world w;

    begin_plan(&w, channels, "ask \"in a visit?\" -> y | x=\"n\" / interrupt \"after one?\" -> x / y=2", NULL);
    CHECK(world_feed(&w, &ev) >= 0 && world_go(&w) == PAWL_INTERRUPTED);
    CHECK_STR(world_get(&w, "x"), "\"z-told-n\"");              /* told before the node, so merged before what it writes */
    ev.value = "\"answer\"";
    CHECK(world_feed(&w, &ev) >= 0 && world_go(&w) == PAWL_HALTED);
    CHECK_STR(world_get(&w, "x"), "\"z-told-n-answer-told\"");
    world_end(&w);
}

/* ---- what comes from outside keeps to the rules ------------------------------------------------------------- */

PAWL_TEST(test_K3_start_and_update_are_writes_by_the_channels_rules)
{
    const pawl_channel channels[] = { { .name = "n", .rule = PAWL_RULE_SUM, .first = "1" }, { .name = "l", .rule = PAWL_RULE_APPEND, .first = "[0]" },
                                      { .name = "m", .rule = PAWL_RULE_MERGE, .first = "{\"a\":1}" }, { 0 } };
    world w;

    begin_plan(&w, channels, "signal go", "{\"n\":2,\"l\":[1],\"m\":{\"b\":2}}");
    CHECK_STR(world_all(&w), "{\"l\":[0,[1]],\"m\":{\"a\":1,\"b\":2},\"n\":3}");
    world_update(&w, NULL, "{\"n\":4}");
    world_update(&w, NULL, "{\"n\":5,\"l\":2}");
    CHECK_STR(world_get(&w, "n"), "3");
    world_signal(&w, "go", NULL);
    CHECK_STR(world_all(&w), "{\"l\":[0,[1],2],\"m\":{\"a\":1,\"b\":2},\"n\":12}");
    world_end(&w);
}

PAWL_TEST(test_K3_what_breaks_a_rule_from_outside_is_refused_and_changes_nothing)
{
    const pawl_channel channels[] = { { .name = "n", .rule = PAWL_RULE_SUM }, { 0 } };
    world w;

    begin_plan(&w, channels, "signal go / n=1 / signal go", "{\"n\":2}");
    CHECK_INT(world_update(&w, NULL, "{\"n\":\"x\"}"), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: update: channel \"n\": a sum takes numbers");
    CHECK_INT(world_update(&w, NULL, "{\"m\":1}"), PAWL_INVALID);
    CHECK_STR(w.err.text, "run-1: update: there is no channel \"m\"");
    CHECK_INT(world_update(&w, NULL, "{\"n\":9223372036854775807}"), PAWL_INTERRUPTED);     /* fits when it is told */
    world_signal(&w, "go", NULL);
    CHECK_STR(world_reason(&w), "{\"code\":\"limit\",\"text\":\"channel \\\"n\\\": the sum leaves the range of int64\"}");
    CHECK_STR(world_get(&w, "n"), "2");
    world_end(&w);
}

PAWL_TEST(test_K3_a_start_that_breaks_a_rule_is_refused)
{
    const pawl_channel channels[] = { { .name = "n", .rule = PAWL_RULE_SUM }, { 0 } };
    const part parts[] = { { "a", NULL, "n=1" }, { 0 } };
    const pawl_run_info info = { .id = "r", .life = 1 };
    pawl_machine *m = script_machine("start", 1, channels, parts);
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *st;
    pawl_err err = { 0 };

    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    CHECK_INT(pawl_feed(m, st, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"n\":[]}" }, s, &err), PAWL_INVALID);
    CHECK_STR(err.text, "r: start: channel \"n\": a sum takes numbers");
    CHECK_INT(pawl_state_status(st), PAWL_STATUS_SUBMITTED);
    CHECK(pawl_step_entry(s) == NULL && pawl_step_bytes(s).size == 0);
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}
