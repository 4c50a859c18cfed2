/* promise_test.c - sentences of the promises that no other test shows: typed state (K9), bases (K10), and what a value may look
 * like (K3). */
#include "kernel/state.h"
#include "lib/tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel xy[] = { { .name = "x" }, { .name = "y" }, { .name = "list", .rule = PAWL_RULE_APPEND },
                                   { .name = "n", .rule = PAWL_RULE_SUM, .first = "0" }, { 0 } };

static bool base_has(const pawl_state *st, const char *text)
{
    pawl_bytes base = pawl_state_base(st);
    char *copy = check_copy(base.data, base.size);
    bool has = strstr(copy, text) != NULL;

    free(copy);
    return has;
}

/* ---- K3: what a value may look like ------------------------------------------------------------- */

static pawl_machine *plain_machine(void)
{
    const part parts[] = { { "a", NULL, "call llm {\"secret\":{\"env\":\"TOKEN\"}} -> x | y={\"__overwrite__\":[1]} | list={\"__overwrite__\":[]}" },
                           { "b", "a", "list={\"$ref\":\"x\"} | list=[\"\",\"channel\",\"x\"]" }, { 0 } };

    return script_machine("plain", 1, xy, parts);
}

static void plain_plot(world *w)
{
    pawl_command cmd;
    const pawl_value *secrets;

    CHECK_INT(pawl_state_command(w->st, 0, w->look, &cmd, &secrets, &w->err), PAWL_OK);
    CHECK(secrets == NULL);
    CHECK_STR(pawl_text(w->look, cmd.args), "{\"secret\":{\"env\":\"TOKEN\"}}");
    tell_receipt(w, "1.a.1.0", "[[\"\",\"event\",\"0\"],{\"refs\":[[\"/a\",\"blob\",\"00\"]]}]");
    CHECK_STR(world_get(w, "x"), "[[\"\",\"event\",\"0\"],{\"refs\":[[\"/a\",\"blob\",\"00\"]]}]");
    CHECK_STR(world_get(w, "y"), "{\"__overwrite__\":[1]}");
    CHECK_STR(world_get(w, "list"), "[{\"__overwrite__\":[]},{\"$ref\":\"x\"},[\"\",\"channel\",\"x\"]]");
}

/* Ops and forms stand beside a value: whatever a value looks like, it is a value. */
PAWL_TEST(test_K3_nothing_in_a_value_is_an_op_or_a_reference)
{
    tell(plain_machine, NULL, plain_plot);
}

static const char blob_text[] = "{\"large\":[1,2,3]}";

static pawl_code blob_right(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    (void)ctx, (void)digest, (void)err;
    *bytes = (pawl_bytes){ blob_text, sizeof blob_text - 1 };
    return PAWL_OK;
}

static pawl_code blob_changed(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    blob_right(ctx, digest, bytes, err);
    bytes->size -= 1;
    return PAWL_OK;
}

static pawl_code blob_away(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    (void)ctx, (void)digest, (void)bytes;
    return fail(err, PAWL_IO, "the disk is away");
}

/* Of a world that is at its start: its second entry, as another store wrote it, with the value of x kept apart. */
static pawl_code apply_blob(world *w, pawl_code (*load)(void *, const char *, pawl_bytes *, pawl_err *))
{
    const char *const envelope = "[2,1001,\"tick\",\"completed\",1]";
    const pawl_loader loader = { .blob = load };
    char body[256], line[512], hex[HASH_HEX + 1];
    hash digest, self;
    pawl_entry *e;

    hash_of(blob_text, sizeof blob_text - 1, &digest);
    hash_hex(&digest, hex);
    snprintf(body, sizeof body, "[[\"leave\",\"a\",1,[[\"x\",null,\"merge\",[[\"\",\"blob\",\"%s\"]]]]],[\"close\",[]]]", hex);
    hash_of(body, strlen(body), &digest);
    const pawl_bytes parts[3] = { { (const char *)w->st->head.b, HASH_BYTES }, { envelope, strlen(envelope) }, { (const char *)digest.b, HASH_BYTES } };
    hash_parts(parts, 3, &self);
    hash_hex(&self, hex);
    snprintf(line, sizeof line, "%s %s %s", hex, envelope, body);
    pawl_state_loader(w->st, load != NULL ? &loader : NULL);
    w->err = (pawl_err){ 0 };
    CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, w->s, &e, &w->err), PAWL_OK);
    return pawl_apply(w->st, e, &w->err);
}

/* What is kept apart is named by its bytes: others are not taken for it, and what cannot be read changes nothing. */
PAWL_TEST(test_K3_K5_a_value_may_be_kept_apart_as_a_blob)
{
    const part parts[] = { { "a", NULL, "x=1" }, { 0 } };
    world w;

    world_begin(&w, script_machine("blob", 1, xy, parts), NULL);
    world_back(&w, 1);
    CHECK_INT(apply_blob(&w, NULL), PAWL_IO);
    CHECK_INT(apply_blob(&w, blob_away), PAWL_IO);
    CHECK_STR(w.err.text, "the disk is away");
    CHECK_INT(apply_blob(&w, blob_changed), PAWL_CORRUPT);
    CHECK(strstr(w.err.text, ": its bytes were changed") != NULL);
    CHECK_STR(world_status(&w), "working");
    CHECK_INT(apply_blob(&w, blob_right), PAWL_OK);
    CHECK_STR(world_get(&w, "x"), blob_text);
    CHECK_STR(world_status(&w), "completed");
    world_drop(&w);
}

/* ---- K9: a struct stands for the channels --------------------------------------------------------------- */

typedef struct diary {
    int64_t count;
    bool open;
    double mean;
    const char *mood;
    const pawl_value *pages;
    const char *flash, *key;
} diary;

static const pawl_field diary_fields[] = {
    PAWL_FIELD(diary, count, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM, .first = "40"),
    PAWL_FIELD(diary, open, PAWL_FIELD_BOOL, .first = "true"),
    PAWL_FIELD(diary, mean, PAWL_FIELD_REAL, .rule = PAWL_RULE_MAX),
    PAWL_FIELD(diary, mood, PAWL_FIELD_STRING, .first = "\"calm\""),
    PAWL_FIELD(diary, pages, PAWL_FIELD_VALUE, .rule = PAWL_RULE_APPEND),
    PAWL_FIELD(diary, flash, PAWL_FIELD_STRING, .rule = PAWL_RULE_EPHEMERAL),
    PAWL_FIELD(diary, key, PAWL_FIELD_STRING, .secret = "env:KEY"),
};
enum { DIARY = sizeof diary_fields / sizeof *diary_fields };

/* One line that says what the struct holds. */
static void diary_say(pawl_step *s, const diary *d)
{
    pawl_emit(s, "diary", pawl_pack(s, "[i,b,f,s,v,s,b]", d->count, (int)d->open, d->mean, d->mood != NULL ? d->mood : "-",
                                    d->pages != NULL ? d->pages : pawl_pack(s, "n"), d->flash != NULL ? d->flash : "-", d->key != NULL));
}

static pawl_code diary_write(pawl_step *s, void *arg)
{
    const int64_t one = 1;
    const bool no = false;
    const double mean = 2.5;
    const char *mood = "merry", *flash = "now";
    const pawl_value *page = pawl_pack(s, "{s:i}", "day", (int64_t)1);
    diary d;
    pawl_code rc;

    (void)arg;
    memset(&d, 0x5a, sizeof d);         /* every field is set */
    if ((rc = pawl_read(s, diary_fields, DIARY, &d)) != PAWL_OK)
        return rc;
    diary_say(s, &d);
    pawl_write(s, diary_fields, DIARY, "count", &one);
    pawl_write(s, diary_fields, DIARY, "count", &one);
    pawl_write(s, diary_fields, DIARY, "open", &no);
    pawl_write(s, diary_fields, DIARY, "mean", &mean);
    pawl_write(s, diary_fields, DIARY, "mood", &mood);
    pawl_write(s, diary_fields, DIARY, "pages", &page);
    pawl_write(s, diary_fields, DIARY, "flash", &flash);
    return pawl_follow(s);
}

static pawl_code diary_read(pawl_step *s, void *arg)
{
    diary d;
    pawl_code rc = pawl_read(s, diary_fields, DIARY, &d);

    (void)arg;
    if (rc == PAWL_OK)
        diary_say(s, &d);
    return rc;
}

static pawl_machine *diary_machine(void)
{
    pawl_graph *g = pawl_graph_new("diary", 1);

    pawl_graph_fields(g, diary_fields, DIARY);
    pawl_graph_node(g, "write", diary_write, NULL);
    pawl_graph_node(g, "read", diary_read, NULL);
    pawl_graph_node(g, "later", diary_read, NULL);
    pawl_graph_chain(g, PAWL_START, "write", "read", "later", PAWL_END, NULL);
    return script_compile(g);
}

static void diary_plot(world *w)
{
    world_expect(w, "1 start working | start {}; close -> write\n"
                    "2 tick working | write leaves count=1 count=1 open=false mean=2.5 mood=\"merry\" pages={\"day\":1} flash=\"now\" "
                    "emit diary [40,true,0.0,\"calm\",null,\"-\",false]; close -> read\n"
                    "3 tick working | read leaves emit diary [42,false,2.5,\"merry\",[{\"day\":1}],\"now\",false]; close -> later\n"
                    "4 tick completed | later leaves emit diary [42,false,2.5,\"merry\",[{\"day\":1}],\"-\",false]; close ->\n");
}

/* A field has its default, its rule gets the update and never the whole, an ephemeral one is gone after its superstep, a
 * secret one cannot be read. */
PAWL_TEST(test_K9_a_struct_is_read_whole_and_written_by_field)
{
    world w;

    tell(diary_machine, NULL, diary_plot);
    tell_begin(&w, diary_machine(), NULL);
    CHECK(strstr(line_of(&w, 0), "\"channels\":{\"count\":{\"first\":40,\"rule\":\"sum\"},\"flash\":{\"rule\":\"ephemeral\"},"
                                 "\"key\":{\"rule\":\"last\",\"secret\":\"env:KEY\"},\"mean\":{\"rule\":\"max\"},"
                                 "\"mood\":{\"first\":\"calm\",\"rule\":\"last\"},\"open\":{\"first\":true,\"rule\":\"last\"},"
                                 "\"pages\":{\"rule\":\"append\"}}") != NULL);
    world_end(&w);
}

typedef struct odd { int64_t i; bool b; double r; const char *s; const pawl_value *v; } odd;
static const pawl_field odd_fields[] = { PAWL_FIELD(odd, i, PAWL_FIELD_INT, .rule = PAWL_RULE_LAST), PAWL_FIELD(odd, b, PAWL_FIELD_BOOL,
    .rule = PAWL_RULE_LAST),
                                         PAWL_FIELD(odd, r, PAWL_FIELD_REAL, .rule = PAWL_RULE_LAST), PAWL_FIELD(odd, s, PAWL_FIELD_STRING,
                                             .rule = PAWL_RULE_LAST),
                                         PAWL_FIELD(odd, v, PAWL_FIELD_VALUE, .rule = PAWL_RULE_LAST) };

static pawl_code odd_read(pawl_step *s, void *arg)
{
    odd o;
    pawl_code rc = pawl_read(s, odd_fields, 5, &o);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_emit(s, "odd", pawl_pack(s, "[i,b,f,b,b]", o.i, (int)o.b, o.r, o.s != NULL, o.v != NULL));
    return rc;
}

static pawl_code odd_write(pawl_step *s, void *arg)
{
    const int64_t one = 1;

    (void)arg;
    pawl_write(s, odd_fields, 5, "nowhere", &one);
    return PAWL_OK;
}

static void odd_run(pawl_node_fn *fn, const char *input, const char *status, const char *says)
{
    pawl_graph *g = pawl_graph_new("odd", 1);
    world w;

    pawl_graph_fields(g, odd_fields, 5);
    pawl_graph_node(g, "a", fn, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    world_begin(&w, script_compile(g), input);
    CHECK_STR(world_status(&w), status);
    if (strstr(world_reason(&w), says) == NULL)
        CHECK_STR(world_reason(&w), says);
    world_end(&w);
}

PAWL_TEST(test_K9_a_channel_of_another_type_is_an_error_that_names_the_field)
{
    odd_run(odd_read, "{\"i\":1.0}", "failed", "channel \\\"i\\\" holds what is no int64");
    odd_run(odd_read, "{\"i\":9223372036854775808}", "failed", "channel \\\"i\\\" holds what is no int64");
    odd_run(odd_read, "{\"b\":1}", "failed", "channel \\\"b\\\" holds what is no boolean");
    odd_run(odd_read, "{\"r\":\"2\"}", "failed", "channel \\\"r\\\" holds what is no number");
    odd_run(odd_read, "{\"s\":[]}", "failed", "channel \\\"s\\\" holds what is no string");
    odd_run(odd_read, "{\"i\":null,\"b\":null,\"r\":null,\"s\":null,\"v\":null}", "completed", "");     /* as if never set */
    odd_run(odd_read, "{\"i\":-9223372036854775808,\"r\":3,\"v\":{\"any\":[1]}}", "completed", "");
    odd_run(odd_write, NULL, "failed", "the struct has no field \\\"nowhere\\\"");
}

/* ---- K9: a field added later -------------------------------------------------------------------------------- */

typedef struct first_one { int64_t n; } first_one;
typedef struct second_one { int64_t n; const char *mood; const pawl_value *pages; bool open; } second_one;

static const pawl_field first_fields[] = { PAWL_FIELD(first_one, n, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM, .first = "1") };
static const pawl_field second_fields[] = {
    PAWL_FIELD(second_one, n, PAWL_FIELD_INT, .rule = PAWL_RULE_SUM, .first = "1"), PAWL_FIELD(second_one, mood, PAWL_FIELD_STRING, .first = "\"calm\""),
    PAWL_FIELD(second_one, pages, PAWL_FIELD_VALUE, .rule = PAWL_RULE_APPEND), PAWL_FIELD(second_one, open, PAWL_FIELD_BOOL, .rule = PAWL_RULE_LAST),
};

static pawl_code first_node(pawl_step *s, void *arg)
{
    first_one d;
    pawl_code rc = pawl_read(s, first_fields, 1, &d);

    (void)arg;
    if (rc == PAWL_OK && (rc = pawl_ask(s, pawl_pack(s, "{s:i}", "n", d.n), NULL)) == PAWL_OK)
        pawl_write(s, first_fields, 1, "n", &(int64_t){ 1 });
    return rc;
}

static pawl_code second_node(pawl_step *s, void *arg)
{
    second_one d;
    const pawl_value *page;
    pawl_code rc = pawl_read(s, second_fields, 4, &d);

    if (rc != PAWL_OK || strcmp(arg, "a") == 0)
        return rc == PAWL_OK ? first_node(s, NULL) : rc;
    pawl_emit(s, "second", pawl_pack(s, "[i,s,v,b]", d.n, d.mood, d.pages != NULL ? d.pages : pawl_pack(s, "n"), (int)d.open));
    page = pawl_pack(s, "s", pawl_node_name(s));
    pawl_write(s, second_fields, 4, "pages", &page);
    return rc;
}

static pawl_machine *of_version(uint32_t version)
{
    pawl_graph *g = pawl_graph_new("diary", version);

    if (version == 1)
        pawl_graph_fields(g, first_fields, 1);
    else
        pawl_graph_fields(g, second_fields, 4);
    pawl_graph_node(g, "a", version == 1 ? first_node : second_node, "a");
    pawl_graph_node(g, "b", version == 1 ? first_node : second_node, "b");
    pawl_graph_node(g, "c", version == 1 ? first_node : second_node, "c");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", PAWL_END, NULL);
    return script_compile(g);
}

/* The run began under a machine that knew one field. It goes on under another, which knows four: those that came later have
 * their first value, or none, and nothing was migrated. */
static void adopted(world *w, bool crash, bool snapshot)
{
    pawl_machine *second = of_version(2);

    tell_begin(w, of_version(1), "{\"n\":5}");
    w->no_verify = true;
    pawl_machine_free(w->m);
    w->m = second;
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "1" }), PAWL_CONFLICT);     /* not before it is adopted */
    CHECK_STR(world_get(w, "mood"), "");
    CHECK_INT(world_feed(w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_INTERRUPTED);
    CHECK_STR(world_all(w), "{\"mood\":\"calm\",\"n\":6}");
    if (snapshot)
        world_snapshot(w);
    if (crash)
        world_crash(w);
    CHECK_INT(world_answer(w, NULL, "1"), PAWL_HALTED);
    buf_char(&w->trace, '\0');
    CHECK(strstr(w->trace.data, "emit second [7,\"calm\",null,false]") != NULL);
    CHECK(strstr(w->trace.data, "emit second [7,\"calm\",[\"b\"],false]") != NULL);
    CHECK_STR(world_all(w), "{\"mood\":\"calm\",\"n\":7,\"pages\":[\"b\",\"c\"]}");
}

PAWL_TEST(test_K9_a_field_added_later_starts_with_its_default)
{
    char *whole = NULL;

    for (int i = 0; i < 3; i++) {
        world w;

        adopted(&w, i > 0, i > 1);
        CHECK_INT(times_in(line_of(&w, 0), "mood"), 0);         /* the base is as it was */
        CHECK(strstr(journal_of(&w), "[[\"adopt\",{\"channels\":{\"mood\":{\"first\":\"calm\",\"rule\":\"last\"},\"open\":{\"rule\":\"last\"},"
                                     "\"pages\":{\"rule\":\"append\"}},\"hash\":\"") != NULL);
        whole = whole != NULL ? whole : strdup(journal_of(&w));
        CHECK_STR(journal_of(&w), whole);
        world_end(&w);
    }
    free(whole);
}

static pawl_machine *nested_of_version(uint32_t version)
{
    static const pawl_channel old[] = { { .name = "x" }, { 0 } };
    static const pawl_channel now[] = { { .name = "x" }, { .name = "pages", .rule = PAWL_RULE_APPEND }, { .name = "mood", .first = "\"calm\"" }, { 0 } };
    const part before[] = { { "a", NULL, "ask \"?\"" }, { "b", "a", "x=1" }, { 0 } };
    const part then[] = { { "a", NULL, "ask \"?\"" }, { "b", "a", "pages=1" }, { "c", "b", "pages=2 | get mood -> x" }, { 0 } };
    pawl_graph *g = pawl_graph_new("outer", version);

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_sub(g, "sub", script_graph("inner", 1, version == 1 ? old : now, version == 1 ? before : then));
    pawl_graph_map(g, "sub", "x", "x", false, true);
    pawl_graph_chain(g, PAWL_START, "sub", PAWL_END, NULL);
    return script_compile(g);
}

/* A subgraph that is open when the machine is adopted has the new fields at once, whether it lived on or was loaded. */
PAWL_TEST(test_K9_K6_a_field_added_to_a_subgraph_is_there_in_one_that_is_open)
{
    for (int i = 0; i < 3; i++) {
        world w;

        tell_begin(&w, nested_of_version(1), NULL);
        w.no_verify = true;
        pawl_machine_free(w.m);
        w.m = nested_of_version(2);
        CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_INTERRUPTED);
        if (i > 1)
            world_snapshot(&w);
        if (i > 0)
            world_crash(&w);
        CHECK_INT(world_answer(&w, NULL, "1"), PAWL_HALTED);
        CHECK_STR(world_status(&w), "completed");
        CHECK_STR(world_get(&w, "x"), "\"calm\"");
        world_end(&w);
    }
}

/* A field keeps its rule: what is folded was folded by it. Who needs another takes another name. */
PAWL_TEST(test_K9_K6_a_machine_that_changes_a_field_s_rule_is_not_adopted)
{
    static const struct { pawl_channel was, is; const char *says; } rows[] = {
        { { .rule = PAWL_RULE_SUM }, { .rule = PAWL_RULE_LAST }, "sum in this run, and last in" },
        { { .rule = PAWL_RULE_LAST }, { .rule = PAWL_RULE_APPEND }, "last in this run, and append in" },
        { { .rule = PAWL_RULE_TOPIC }, { .rule = PAWL_RULE_TOPIC, .accumulate = true }, "topic in this run, and accumulating in" },
        { { .rule = PAWL_RULE_LAST }, { .rule = PAWL_RULE_LAST, .secret = "env:X" }, "last in this run, and env:X in" },
        { { .rule = PAWL_RULE_LAST, .secret = "env:X" }, { .rule = PAWL_RULE_LAST }, "env:X in this run, and last in" },
        { { .rule = PAWL_RULE_LAST, .secret = "env:X" }, { .rule = PAWL_RULE_LAST, .secret = "env:Y" }, "env:X in this run, and env:Y in" },
        { { .rule = PAWL_RULE_LAST, .first = "1" }, { .rule = PAWL_RULE_LAST, .first = "2", .keep = true }, NULL },
    };
    const part parts[] = { { "a", NULL, "ask \"?\"" }, { 0 } };
    char says[128];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_channel was[2] = { rows[i].was, { 0 } }, is[2] = { rows[i].is, { 0 } };
        pawl_machine *second;
        pawl_err err = { 0 };
        world w;

        was[0].name = is[0].name = "n";
        world_begin(&w, script_machine("rule", 1, was, parts), NULL);
        second = script_machine("rule", 2, is, parts);
        snprintf(says, sizeof says, "run-1: adopt: channel \"n\" is %s rule 2: give it another name", rows[i].says != NULL ? rows[i].says : "");
        CHECK_INT(pawl_feed(second, w.st, &(pawl_event){ .kind = PAWL_EV_ADOPT }, w.s, &err), rows[i].says != NULL ? PAWL_INVALID : PAWL_INTERRUPTED);
        CHECK_STR(err.text, rows[i].says != NULL ? says : "");
        pawl_machine_free(second);
        world_answer(&w, NULL, "1");            /* it goes on as it was */
        world_end(&w);
    }
}

/* What came with the adopted machine goes with a fork, and stands in a pruned base. */
PAWL_TEST(test_K9_K10_what_was_adopted_is_forked_and_pruned_with_the_rest)
{
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7 };
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *fork, *pruned;
    pawl_bytes base;
    uint32_t version;
    world w;

    adopted(&w, false, false);
    CHECK_INT(pawl_state_fork(w.st, &info, s, &fork, &w.err), PAWL_OK);
    CHECK_STR(pawl_state_json(fork, w.look, &w.err), "{\"mood\":\"calm\",\"n\":7,\"pages\":[\"b\",\"c\"]}");
    CHECK_STR(pawl_state_machine(fork, &version), "diary");
    CHECK_INT(version, 2);
    CHECK_INT(pawl_feed(w.m, fork, &(pawl_event){ .kind = PAWL_EV_UPDATE, .name = "b", .value = "{\"mood\":\"merry\",\"pages\":\"x\"}" }, s, &w.err), PAWL_OK);
    CHECK_INT(pawl_apply(fork, pawl_step_entry(s), &w.err), PAWL_OK);
    CHECK_STR(pawl_state_json(fork, w.look, &w.err), "{\"mood\":\"merry\",\"n\":7,\"pages\":[\"b\",\"c\",\"x\"]}");
    CHECK_INT(pawl_state_prune(w.st, s, &base, &w.err), PAWL_OK);
    CHECK_INT(pawl_state_load(base, (pawl_bytes){ 0 }, NULL, NULL, &pruned, &w.err), PAWL_OK);
    CHECK_STR(pawl_state_json(pruned, w.look, &w.err), "{\"mood\":\"calm\",\"n\":7,\"pages\":[\"b\",\"c\"]}");
    pawl_state_free(fork);
    pawl_state_free(pruned);
    pawl_step_free(s);
    world_end(&w);
}

/* ---- K10: bases ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_K10_S7_a_base_holds_the_run_s_record)
{
    const part parts[] = { { "a", NULL, "ask \"?\"" }, { 0 } };
    const pawl_run_info info = { .id = "r.1", .life = 0xfedcba9876543210, .seed = 9, .created_ms = 1234, .created_by = "ada", .context = "talk-7",
                                 .parent = "p~0000000000000001/2.x.1.0", .mode = "plan", .rights = "read", .dedupe_key = "k", .retention = "keep",
                                 .trace = "00-4bf9-01", .deadline_ms = 99999, .priority = -3, .labels = { "one", "two" } };
    pawl_machine *m = script_machine("record", 3, xy, parts);
    pawl_step *s = pawl_step_new(NULL);
    char expected[1024], *whole;
    pawl_bytes base;
    pawl_state *st, *again;
    pawl_err err = { 0 };

    snprintf(expected, sizeof expected, "{\"at\":1234,\"by\":\"ada\",\"channels\":{\"list\":{\"rule\":\"append\"},\"n\":{\"first\":0,\"rule\":\"sum\"},"
             "\"x\":{\"rule\":\"last\"},\"y\":{\"rule\":\"last\"}},\"context\":\"talk-7\",\"deadline\":99999,\"dedupe\":\"k\",\"format\":1,\"id\":\"r.1\","
             "\"labels\":[\"one\",\"two\"],\"life\":\"fedcba9876543210\",\"machine\":{\"hash\":\"%s\",\"name\":\"record\",\"version\":3},\"mode\":\"plan\","
             "\"parent\":\"p~0000000000000001/2.x.1.0\",\"priority\":-3,\"retention\":\"keep\",\"rights\":\"read\",\"seed\":\"0000000000000009\","
             "\"trace\":\"00-4bf9-01\"}", pawl_machine_hash(m));
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    whole = check_copy(pawl_state_base(st).data, pawl_state_base(st).size);
    CHECK_STR(whole, expected);
    CHECK_INT(pawl_state_prune(st, s, &base, &err), PAWL_OK);      /* whoever prunes it keeps the record */
    CHECK_INT(pawl_state_load(base, (pawl_bytes){ 0 }, NULL, NULL, &again, &err), PAWL_OK);
    expected[strlen("{\"at\":1234,\"by\":\"ada\",\"channels\":{\"list\"")] = '\0';
    CHECK(base_has(again, expected));
    CHECK(base_has(again, "\"labels\":[\"one\",\"two\"]") && base_has(again, "\"priority\":-3"));
    CHECK(base_has(again, "\"deadline\":99999") && base_has(again, "\"prev\":\""));
    pawl_state_free(st);
    pawl_state_free(again);
    pawl_step_free(s);
    pawl_machine_free(m);
    free(whole);
}

static void pruned_begin(world *w)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> list | n=1" }, { "b", "a", "call llm 2 -> list | n=1" }, { "c", "b", "call llm 3 -> list | n=1" },
                           { 0 } };

    world_begin(w, script_machine("pruned", 1, xy, parts), NULL);
    world_receipt(w, "a", "\"one\"");
    world_receipt(w, "b", "\"two\"");
}

/* verify starts at the base that names the hash before it; what is earlier is gone; sequence numbers go on. */
PAWL_TEST(test_K10_a_pruned_journal_is_verified_from_its_base_on)
{
    char prev[100];
    pawl_verdict v;
    pawl_bytes base;
    pawl_state *st;
    world w;

    pruned_begin(&w);
    CHECK_INT(pawl_state_seq(w.st), 3);
    snprintf(prev, sizeof prev, "\"prev\":\"%.64s\"", line_of(&w, 3));
    CHECK_INT(pawl_state_prune(w.st, w.look, &base, &w.err), PAWL_OK);
    buf_reset(&w.journal);
    buf_put(&w.journal, base.data, base.size);
    buf_char(&w.journal, '\n');
    CHECK(strstr(journal_of(&w), prev) != NULL && strstr(journal_of(&w), "\"seq\":3}") != NULL);
    world_crash(&w);
    CHECK_INT(pawl_state_seq(w.st), 3);
    CHECK_STR(world_all(&w), "{\"list\":[\"one\",\"two\"],\"n\":2}");
    CHECK_STR(world_open(&w, NULL, false), "run-1~0000000000000001/3.c.1.0");     /* the same run: the same id */
    world_receipt(&w, "c", "\"three\"");
    CHECK_STR(world_all(&w), "{\"list\":[\"one\",\"two\",\"three\"],\"n\":3}");
    CHECK_INT(pawl_verify(w.m, (pawl_bytes){ w.journal.data, w.journal.size }, NULL, &v, &w.err), PAWL_OK);
    CHECK_INT(v.entries, 1);
    CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, 2, NULL, &st, &w.err), PAWL_GONE);
    CHECK(st == NULL);
    world_end(&w);
}

/* What a fork is told is told to it alone: what was answered before is in its state, what was answered to an open visit is
 * asked anew, under its own ids. */
PAWL_TEST(test_K10_a_fork_inherits_no_receipt_no_answer_and_no_id)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> x | ask \"first?\" -> list | ask \"second?\" -> list" }, { 0 } };
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7 };
    pawl_step *s = pawl_step_new(NULL);
    pawl_event late = { .kind = PAWL_EV_ANSWER, .id = "run-1~0000000000000001/1.a.1.2", .value = "1" };
    pawl_state *fork;
    world w;

    world_begin(&w, script_machine("forked", 1, xy, parts), NULL);
    world_receipt(&w, "a", "1");
    world_answer(&w, "a.1", "\"one\"");         /* the approval of something, say */
    CHECK_STR(world_open(&w, NULL, true), "run-1~0000000000000001/1.a.1.2");
    CHECK_INT(pawl_state_fork(w.st, &info, s, &fork, &w.err), PAWL_OK);
    CHECK_INT(pawl_state_waits(fork), 0);
    CHECK_INT(pawl_state_next(fork), PAWL_OK);
    CHECK_INT(pawl_feed(w.m, fork, &late, s, &w.err), PAWL_INVALID);        /* what was delivered to the other run */
    CHECK(!base_has(fork, "\"one\""));
    CHECK_INT(pawl_feed(w.m, fork, &(pawl_event){ .kind = PAWL_EV_TICK }, s, &w.err), PAWL_PENDING);
    CHECK_INT(pawl_apply(fork, pawl_step_entry(s), &w.err), PAWL_OK);
    pawl_state_free(w.st);
    w.st = fork;
    CHECK_STR(world_open(&w, NULL, false), "run-2~0000000000000002/1.a.1.0");       /* from the top of the node */
    pawl_step_free(s);
    world_drop(&w);
}

/* ---- K10, G13: carrying on in a context ---------------------------------------------------------------------------- */

static const pawl_channel before[] = { { .name = "talk", .rule = PAWL_RULE_APPEND, .keep = true }, { .name = "facts", .rule = PAWL_RULE_MERGE, .keep = true },
                                       { .name = "count", .rule = PAWL_RULE_SUM, .first = "0", .keep = true }, { .name = "draft", .keep = true },
                                       { .name = "flash", .rule = PAWL_RULE_EPHEMERAL }, { .name = "token", .secret = "env:TOKEN" }, { 0 } };
static const pawl_channel after[] = { { .name = "talk", .rule = PAWL_RULE_APPEND, .keep = true }, { .name = "facts", .rule = PAWL_RULE_MERGE, .keep = true },
                                      { .name = "count", .rule = PAWL_RULE_SUM, .first = "7", .keep = true }, { .name = "draft", .first = "\"none\"" },
                                      { .name = "more", .first = "1", .keep = true }, { .name = "token", .secret = "env:TOKEN" }, { 0 } };

static void carry_from(world *w)
{
    const part parts[] = { { "a", NULL, "talk=\"hello\" | talk=\"there\" | facts={\"sky\":\"blue\"} | count=2 | draft=\"d1\" | flash=1" }, { 0 } };

    world_begin(w, script_machine("first", 1, before, parts), "{\"talk\":\"hi\"}");
    CHECK_STR(world_status(w), "completed");
}

PAWL_TEST(test_K10_G13_channels_that_are_kept_are_copied_once_into_the_new_run_s_base)
{
    const part parts[] = { { "a", NULL, "talk=\"again\" | count=1 | ask \"?\"" }, { "b", "a", "talk=\"bye\"" }, { 0 } };
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7, .created_ms = 1000, .context = "talk-7" };
    char *base;
    world from, w;

    carry_from(&from);
    world_begin(&w, script_machine("second", 1, after, parts), NULL);
    pawl_state_free(w.st);
    CHECK_INT(pawl_state_carry(from.st, w.m, &info, w.s, &w.st, &w.err), PAWL_OK);
    world_end(&from);                   /* nothing else ties the two together */
    CHECK_STR(world_all(&w), "{\"count\":2,\"draft\":\"none\",\"facts\":{\"sky\":\"blue\"},\"more\":1,\"talk\":[\"hi\",\"hello\",\"there\"],\"token\":\"env:TOKEN\"}");
    CHECK_STR(world_status(&w), "submitted");
    CHECK_INT(pawl_state_seq(w.st), 0);
    base = check_copy(pawl_state_base(w.st).data, pawl_state_base(w.st).size);
    CHECK(strstr(base, "\"context\":\"talk-7\"") != NULL && strstr(base, "run-1") == NULL && strstr(base, "d1") == NULL);
    buf_reset(&w.journal);
    buf_put(&w.journal, base, strlen(base));
    buf_char(&w.journal, '\n');
    world_crash(&w);
    CHECK_INT(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"facts\":{\"sea\":\"green\"}}" }), PAWL_INTERRUPTED);
    world_crash(&w);
    world_answer(&w, NULL, "1");
    CHECK_STR(world_all(&w), "{\"count\":3,\"draft\":\"none\",\"facts\":{\"sea\":\"green\",\"sky\":\"blue\"},\"more\":1,"
                             "\"talk\":[\"hi\",\"hello\",\"there\",\"again\",\"bye\"],\"token\":\"env:TOKEN\"}");
    free(base);
    world_end(&w);
}

static pawl_code carry(world *from, const pawl_channel *channels, pawl_state **st)
{
    const part parts[] = { { "a", NULL, "" }, { 0 } };
    const pawl_run_info info = { .id = "run-2", .life = 2 };
    pawl_machine *m = script_machine("other", 1, channels, parts);
    pawl_code rc;

    from->err = (pawl_err){ 0 };
    rc = pawl_state_carry(from->st, m, &info, from->look, st, &from->err);
    pawl_machine_free(m);
    return rc;
}

/* A value is copied as an overwrite is, and what the rule could not go on from is refused. */
PAWL_TEST(test_K10_G13_what_no_rule_can_hold_is_refused_and_secrets_are_never_carried)
{
    static const pawl_channel wrong[] = { { .name = "facts", .rule = PAWL_RULE_APPEND, .keep = true }, { 0 } };
    static const pawl_channel seen[] = { { .name = "token", .keep = true }, { .name = "count", .keep = true }, { 0 } };
    static const pawl_channel added[] = { { .name = "facts", .rule = PAWL_RULE_SUM, .keep = true }, { 0 } };
    static const pawl_channel hidden[] = { { .name = "draft", .secret = "env:DRAFT", .keep = true }, { 0 } };
    pawl_state *st;
    world from;

    carry_from(&from);
    CHECK_INT(carry(&from, wrong, &st), PAWL_INVALID);
    CHECK(st == NULL && strstr(from.err.text, "facts") != NULL);
    CHECK_INT(carry(&from, added, &st), PAWL_INVALID);
    CHECK(st == NULL && strstr(from.err.text, "facts") != NULL);
    CHECK_INT(carry(&from, hidden, &st), PAWL_INVALID);
    CHECK_STR(from.err.text, "channel \"draft\": is a secret, and is never written");
    CHECK_INT(carry(&from, seen, &st), PAWL_OK);
    CHECK_STR(pawl_state_json(st, from.look, &from.err), "{\"count\":2}");
    pawl_state_free(st);
    world_end(&from);
}

/* ---- K7: snapshots ------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_K7_a_snapshot_is_due_when_the_tail_outweighs_the_last_one)
{
    const part parts[] = { { "a", NULL, "call llm 1 -> list | n=1 | goto a" }, { 0 } };
    char text[1100] = "\"";
    size_t tail = 0, last = 0;
    int taken = 0;
    world w;

    memset(text + 1, 'm', 1000);
    text[1001] = '"';
    world_begin(&w, script_machine("due", 1, xy, parts), NULL);
    for (int i = 0; i < 60; i++) {
        size_t was = w.journal.size;

        CHECK(pawl_state_snapshot_due(w.st) == (w.st->tail_bytes >= 4096 && w.st->tail_bytes > last));
        if (pawl_state_snapshot_due(w.st)) {
            CHECK(tail > last);
            world_snapshot(&w);
            CHECK(!pawl_state_snapshot_due(w.st));
            buf_char(&w.snapshot, '\0');
            w.snapshot.size--;
            CHECK_INT(times_in(w.snapshot.data, "mmm"), 0);     /* the list stands in it by the entries that hold it */
            CHECK(w.snapshot.size < 1500);
            last = w.snapshot.size;
            tail = 0;
            taken++;
        }
        world_receipt(&w, "a", text);
        tail += w.journal.size - was;
    }
    CHECK(taken > 10);          /* each weighs little, so a tail of 4 KiB outweighs it */
    world_crash(&w);
    CHECK_INT(pawl_value_size(pawl_state_get(w.st, "list")), 60);
    world_drop(&w);
}
