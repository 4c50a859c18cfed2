/* blob_test.c - what is larger than a limit stands apart, once by content, and nothing else changes by it (S5, K7, K10). */
#include "kernel/state.h"
#include "lib/machines.h"
#include "lib/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- every scene, with nearly everything apart -------------------------------------------------- */

static void play_apart(const scene *sc, bool snapshots, size_t apart)
{
    world w;
    play p;
    size_t moves = 0;

    while (sc->moves[moves].kind != 0)
        moves++;
    scene_play(&w, &p, sc, 0);
    for (size_t upto = 1; upto <= moves; upto++) {
        if (snapshots && w.st->nmarks == 0)
            world_snapshot(&w);
        world_crash(&w);
        scene_go_on(&w, &p, upto);
    }
    CHECK(w.apart.n > 0 || apart > 1);
    world_end(&w);              /* verified, with its blobs */
}

PAWL_TEST(test_S5_K6_every_scene_goes_its_way_with_all_values_apart)
{
    for (size_t i = 0; i < scene_count; i++) {
        for (size_t limit = 1; limit < 64; limit *= 3) {
            world_apart(limit);
            play_apart(&scenes[i], false, limit);
            play_apart(&scenes[i], true, limit);
        }
        world_apart(0);
    }
}

/* ---- the bytes -------------------------------------------------------------------------------- */

/* Everything that comes in is told on, but a cue. */
static pawl_code keeps(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        pawl_flow_call(s, "get", "get", NULL);
    if (h->kind == PAWL_EV_RECEIPT)
        pawl_flow_ask(s, "q", &(pawl_question){ .prompt = pawl_json(s, "\"well?\"") });
    if (h->kind == PAWL_EV_SIGNAL)
        pawl_emit(s, "heard", pawl_json(s, "[\"so long that it stands apart\"]"));
    if (h->value != NULL && h->kind != PAWL_EV_START && h->kind != PAWL_EV_UPDATE)
        pawl_set(s, "x", h->value);
    return PAWL_OK;
}

static pawl_machine *keeper(void)
{
    static const pawl_channel channels[] = { { .name = "x" }, { .name = "y" } };

    return pawl_flow_reducer("keeper", 1, channels, 2, keeps, NULL, NULL, NULL);
}

#define LONG "\"so long that it stands apart\""

static const char *digest_of(const char *json)
{
    static char hex[HASH_HEX + 1];
    hash h;

    hash_of(json, strlen(json), &h);
    hash_hex(&h, hex);
    return hex;
}

/* The newest line has `items` in it; % stands for the digest of LONG. */
static void check_line(world *w, const char *items)
{
    const char *line = NULL, *one;
    char want[1024] = "";
    size_t n = 0;

    for (size_t i = 0; (one = line_of(w, i)) != NULL; i++)
        n = i;
    line = line_of(w, n);
    for (size_t used = 0; *items != '\0'; items++) {
        if (*items == '%')
            used += (size_t)snprintf(want + used, sizeof want - used, "%s", digest_of(LONG));
        else
            used += (size_t)snprintf(want + used, sizeof want - used, "%c", *items);
    }
    if (strstr(line, want) == NULL)
        CHECK_FAIL("is   %s\n  not  %s", line, want);
}

PAWL_TEST(test_S5_each_item_that_came_in_names_what_stands_apart_of_it)
{
    world w;

    world_apart(24);
    world_begin(&w, keeper(), "{\"x\":" LONG ",\"y\":1}");
    check_line(&w, "[[\"start\",{\"x\":null,\"y\":1},[[\"/x\",\"blob\",\"%\"]]],");
    world_receipt(&w, "@", "{\"body\":" LONG ",\"status\":200}");
    check_line(&w, "\"done\",{\"body\":null,\"status\":200},[[\"/body\",\"blob\",\"%\"]]],[\"put\",[[\"x\",null,\"merge\",[[\"\",\"event\",\"@\"]]]]],");
    world_feed(&w, &(pawl_event){ .kind = PAWL_EV_ANSWER, .by = "ada", .value = LONG });
    check_line(&w, ",null,{\"by\":\"ada\"},[[\"\",\"blob\",\"%\"]]],");
    world_update(&w, NULL, "{\"y\":[1,[" LONG "]]}");
    check_line(&w, "[[\"update\",{\"y\":[1,[null]]},{},[[\"/y/1/0\",\"blob\",\"%\"]]]");
    world_signal(&w, "s", LONG);
    check_line(&w, "[[\"signal\",\"s\",null,[[\"\",\"blob\",\"%\"]]],");
    check_line(&w, "[\"emit\",\"heard\",[null],[[\"/0\",\"blob\",\"%\"]]]");
    CHECK_INT(w.apart.n, 1);
    CHECK_STR(world_get(&w, "x"), LONG);
    world_end(&w);
    world_begin(&w, script_machine("waits", 1, (pawl_channel[]){ { .name = "x" }, { 0 } }, (part[]){ { "a", NULL, "ask \"well?\" -> x" }, { 0 } }), NULL);
    world_answer(&w, NULL, LONG);
    check_line(&w, ",null,[[\"\",\"blob\",\"%\"]]],");  /* without who said it */
    world_end(&w);
    world_apart(0);
}

PAWL_TEST(test_S5_an_emission_that_was_read_is_whole_once_it_is_loaded)
{
    const char *name, *line;
    pawl_entry *e;
    pawl_step *s = pawl_step_new(NULL);
    world w;

    world_apart(24);
    world_begin(&w, keeper(), NULL);
    world_signal(&w, "s", "1");
    line = line_of(&w, 2);
    CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, s, &e, NULL), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_entry_emission(e, 0, &name, NULL)), "[null]");
    CHECK_INT(pawl_entry_load(w.st, e, NULL), PAWL_OK);
    CHECK_STR(pawl_text(w.look, pawl_entry_emission(e, 0, &name, NULL)), "[" LONG "]");
    CHECK_STR(name, "heard");
    pawl_step_free(s);
    world_end(&w);
    world_apart(0);
}

/* ---- which parts ----------------------------------------------------------------------------------- */

/* `value` as the start's x, with that limit: how many blobs, and the start as it is stored, without digests. */
static size_t parts_of(const char *value, size_t limit, char *out, size_t size)
{
    char *input = calloc(1, strlen(value) + 16);
    const char *line, *at;
    size_t used = 0, n;
    world w;

    world_apart(limit);
    snprintf(input, strlen(value) + 16, "{\"x\":%s}", value);
    world_begin(&w, keeper(), input);
    n = w.apart.n;
    line = line_of(&w, 1);
    for (at = strstr(line, "[[\"start\","); *at != '\0' && used + 1 < size; at++) {
        bool hex = strncmp(at, "blob\",\"", 7) == 0;

        out[used++] = *at;
        if (hex) {
            memcpy(out + used, "lob\"", 4);
            used += 4;
            at += 7 + HASH_HEX;
        }
    }
    out[used] = '\0';
    CHECK(strcmp(world_get(&w, "x"), "") != 0);
    world_crash(&w);
    world_end(&w);
    world_apart(0);
    free(input);
    return n;
}

PAWL_TEST(test_S5_the_smallest_large_parts_stand_apart_or_all_of_it)
{
    char out[4000], many[4000] = "[", deep[400] = "";
    size_t used = 1;

    CHECK_INT(parts_of("[1,2,3]", 30, out, sizeof out), 0);
    CHECK_INT(parts_of("{\"a\":{\"b\":[0,\"0123456789012345678901234567890\"],\"c\":1}}", 30, out, sizeof out), 1);
    CHECK(strstr(out, "[[\"start\",{\"x\":{\"a\":{\"b\":[0,null],\"c\":1}}},[[\"/x/a/b/1\",\"blob\"]]]") == out);
    /* two of the same are one */
    CHECK_INT(parts_of("[\"0123456789012345678901234567890\",\"0123456789012345678901234567890\"]", 30, out, sizeof out), 1);
    CHECK(strstr(out, "{\"x\":[null,null]},[[\"/x/0\",\"blob\"],[\"/x/1\",\"blob\"]]]") != NULL);
    /* what is left would be large, too */
    CHECK_INT(parts_of("[\"0123456789012345678901234567890\",1,2,3,4,5,6,7,8,9,10,11,12,13,14]", 30, out, sizeof out), 1);
    CHECK(strstr(out, "{\"x\":null},[[\"/x\",\"blob\"]]]") != NULL);
    /* more than 64 of them */
    for (int i = 0; i < 80; i++)
        used += (size_t)snprintf(many + used, sizeof many - used, "%s\"0123456789012345678901234567890%02d\"", i > 0 ? "," : "", i);
    many[used] = ']';
    CHECK_INT(parts_of(many, 33, out, sizeof out), 1);
    /* deeper than 8 levels */
    for (int i = 0; i < 12; i++)
        deep[i] = '[';
    snprintf(deep + 12, sizeof deep - 12, "\"0123456789012345678901234567890123456789\"");
    for (size_t i = 0, n = strlen(deep); i < 12; i++)
        deep[n + i] = ']';
    CHECK_INT(parts_of(deep, 30, out, sizeof out), 1);
    CHECK(strstr(out, "{\"x\":[[[[[[[null]]]]]]]}") != NULL);
    /* names that need escapes, and one that is too long to be gone along */
    CHECK_INT(parts_of("{\"a/~b\":\"0123456789012345678901234567890\"}", 30, out, sizeof out), 1);
    CHECK(strstr(out, "\"/x/a~1~0b\"") != NULL);
    memset(many, 0, sizeof many);
    memcpy(many, "{\"", 2);
    memset(many + 2, 'k', 300);
    snprintf(many + 302, sizeof many - 302, "\":\"0123456789012345678901234567890\"}");
    CHECK_INT(parts_of(many, 30, out, sizeof out), 1);
    CHECK(strstr(out, "{\"x\":null}") != NULL);
}

/* ---- read back ------------------------------------------------------------------------------------- */

typedef struct odd { bag *b; const char *bytes; pawl_code rc; } odd;

static pawl_code odd_blob(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    const odd *o = ctx;

    if (o->rc != PAWL_OK)
        return fail(err, o->rc, "no blob today");
    if (o->bytes == NULL)
        return bag_find(o->b, digest, bytes, err);
    *bytes = (pawl_bytes){ o->bytes, strlen(o->bytes) };
    return PAWL_OK;
}

static void check_read(world *w, const odd *o, pawl_code rc, const char *text, const char *verified)
{
    union { const odd *in; void *out; } ctx = { o };
    const pawl_loader loader = { .blob = odd_blob, .ctx = ctx.out };
    pawl_bytes journal = { w->journal.data, w->journal.size };
    pawl_err err = { PAWL_OK, "" }, why = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_verdict v;

    CHECK_INT(pawl_replay_with(journal, 0, o == NULL ? NULL : &loader, NULL, &st, &err), rc);
    CHECK((rc == PAWL_OK) == (st != NULL));
    if (rc != PAWL_OK && strstr(err.text, text) == NULL)
        CHECK_FAIL("%s", err.text);
    pawl_state_free(st);
    CHECK_INT(pawl_verify_with(w->m, journal, o == NULL ? NULL : &loader, NULL, &v, &why), rc);
    if (rc != PAWL_OK && strstr(why.text, verified) == NULL)
        CHECK_FAIL("%s", why.text);
    CHECK_INT(v.seq, rc == PAWL_OK ? 0 : 1);
}

PAWL_TEST(test_S5_K5_a_blob_that_is_changed_or_away_is_told)
{
    world w;

    world_apart(24);
    world_begin(&w, keeper(), "{\"x\":" LONG "}");
    world_receipt(&w, "@", "2");
    world_apart(0);
    check_read(&w, &(odd){ &w.apart, NULL, PAWL_OK }, PAWL_OK, "", "");   /* verified, whatever the limit is now */
    check_read(&w, &(odd){ &w.apart, "\"so long that it stands aparT\"", PAWL_OK }, PAWL_CORRUPT, "its bytes were changed", "its bytes were changed");
    check_read(&w, &(odd){ &w.apart, NULL, PAWL_IO }, PAWL_IO, "no blob today", "no blob today");
    check_read(&w, &(odd){ &w.apart, NULL, PAWL_GONE }, PAWL_GONE, "no blob today",
               "a blob of entry 1 is gone; the chain holds up to entry 2");
    check_read(&w, NULL, PAWL_IO, "has no loader for blobs", "has no loader for blobs");
    world_end(&w);
}

/* A start that says this, with one blob to be had, that of `json`. */
static pawl_code apply_items(const char *items, const char *json)
{
    char body[2048], line[4096];
    pawl_err err = { PAWL_OK, "" };
    pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7 };
    pawl_machine *m = keeper();
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_entry *e;
    bag b = { .n = 0 };
    hash digest, self;
    char hex[HASH_HEX + 1];
    const odd o = { &b, json, PAWL_OK };
    union { const odd *in; void *out; } ctx = { &o };
    pawl_code rc;

    snprintf(body, sizeof body, items, digest_of(json), digest_of(json));
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, NULL), PAWL_OK);
    pawl_state_loader(st, &(pawl_loader){ .blob = odd_blob, .ctx = ctx.out });
    hash_of(body, strlen(body), &digest);
    const char envelope[] = "[1,1000,\"start\",\"working\",1]";
    const pawl_bytes parts[3] = { { (const char *)st->head.b, HASH_BYTES }, { envelope, sizeof envelope - 1 }, { (const char *)digest.b, HASH_BYTES } };
    hash_parts(parts, 3, &self);
    hash_hex(&self, hex);
    snprintf(line, sizeof line, "%s %s %s", hex, envelope, body);
    rc = pawl_entry_read((pawl_bytes){ line, strlen(line) }, s, &e, &err);
    if (rc == PAWL_OK)
        rc = pawl_apply(st, e, &err);
    CHECK((rc == PAWL_OK) == (err.code == PAWL_OK));
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
    return rc;
}

PAWL_TEST(test_X3_references_that_do_not_fit_are_refused)
{
    static const char *const bad[] = {
        "[[\"start\",{\"x\":1},[[\"/x\",\"blob\",\"%s\"]]]]",                 /* no null there */
        "[[\"start\",{\"x\":null},[[\"/y\",\"blob\",\"%s\"]]]]",
        "[[\"start\",{\"x\":null},[[\"x\",\"blob\",\"%s\"]]]]",
        "[[\"start\",{\"x\":null},[[\"/x\",\"event\",\"%s\"]]]]",
        "[[\"start\",{\"x\":null},[[\"/x\",\"blob\",\"%.10s\"]]]]",
        "[[\"start\",{\"x\":null},[[\"/x\",\"blob\",7]]]]",
        "[[\"start\",{\"x\":null},[[\"/x\",\"blob\"]]]]",
        "[[\"start\",{\"x\":null,\"y\":null},[[\"/y\",\"blob\",\"%s\"],[\"/x\",\"blob\",\"%s\"]]]]",     /* out of order */
        "[[\"start\",{\"x\":null},[[\"/x\",\"blob\",\"%s\"],[\"/x\",\"blob\",\"%s\"]]]]",
        "[[\"start\",{\"x\":null},[[\"/x\",\"blob\",\"%s\"]],7]]",
        "[[\"start\",null,[[\"\",\"blob\",\"%s\"]]]]",                          /* it is no object */
    };

    CHECK_INT(apply_items("[[\"start\",{\"x\":null},[[\"/x\",\"blob\",\"%s\"]]]]", LONG), PAWL_OK);
    CHECK_INT(apply_items("[[\"start\",null,[[\"\",\"blob\",\"%s\"]]]]", "{\"x\":1}"), PAWL_OK);
    CHECK_INT(apply_items("[[\"start\",{\"x\":null},[[\"/x\",\"blob\",\"%s\"]]]]", "no json"), PAWL_CORRUPT);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (apply_items(bad[i], LONG) != PAWL_CORRUPT)
            CHECK_FAIL("%s was taken", bad[i]);
}

/* ---- snapshots, bases, forks -------------------------------------------------------------------------- */

static const pawl_channel talk_channels[] = { { .name = "page" }, { .name = "msgs", .rule = PAWL_RULE_APPEND }, { .name = "n", .rule = PAWL_RULE_SUM },
                                              { 0 } };
static const part talk_parts[] = { { "get", NULL, "call get 1 -> page" }, { "say", "get say", "call llm 1 -> msgs | n=1" }, { 0 } };

static char large[40002];

static void talk_begin(world *w)
{
    large[0] = large[sizeof large - 2] = '"';
    memset(large + 1, 'p', sizeof large - 3);
    world_begin(w, script_machine("talk", 1, talk_channels, talk_parts), NULL);
    w->quiet = w->unchecked = true;
    CHECK_INT(world_receipt(w, "get", large), PAWL_PENDING);
}

PAWL_TEST(test_K7_snapshots_name_a_large_value_and_are_taken_when_the_tail_outweighs_them)
{
    size_t snapshots = 0, bytes = 0;
    world w;

    world_apart(4096);
    talk_begin(&w);
    for (int i = 0; i < 400; i++) {
        CHECK_INT(world_receipt(&w, "say", "\"a message of the usual length, about a hundred bytes with all that goes with it in its entry\""), PAWL_PENDING);
        if (!pawl_state_snapshot_due(w.st))
            continue;
        world_snapshot(&w);
        bytes += w.snapshot.size;
        snapshots++;
    }
    CHECK(snapshots >= 2 && snapshots <= 5);    /* the first costs what the value weighs */
    CHECK(bytes < 1000 * snapshots);
    CHECK_INT(w.apart.n, 1);
    CHECK_INT(w.apart.bytes, sizeof large - 1);
    CHECK(w.journal.size < 400 * 400);
    world_crash(&w);
    CHECK_STR(world_get(&w, "page"), large);
    CHECK_INT(pawl_state_get(w.st, "n") != NULL, true);
    world_end(&w);
    world_apart(0);
}

PAWL_TEST(test_K10_forks_and_pruned_journals_bring_the_blobs_that_their_base_names)
{
    static const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 8, .created_ms = 2000 };
    pawl_bytes base;
    world w;

    world_apart(4096);
    talk_begin(&w);
    CHECK_INT(pawl_state_prune(w.st, w.look, &base, &w.err), PAWL_OK);
    CHECK(base.size < 2000);
    bag_free(&w.apart);         /* as if all that was before were gone */
    bag_take(&w.apart, w.look);
    CHECK_INT(w.apart.n, 1);
    world_base(&w, base);
    world_crash(&w);
    CHECK_STR(world_get(&w, "page"), large);
    CHECK_INT(world_receipt(&w, "say", "1"), PAWL_PENDING);
    world_fork(&w, &info);      /* with blobs of its own alone */
    CHECK_INT(w.apart.n, 1);
    CHECK(w.journal.size < 2000);
    world_crash(&w);
    CHECK_STR(world_get(&w, "page"), large);
    CHECK_INT(world_go(&w), PAWL_PENDING);
    CHECK_INT(world_receipt(&w, "say", "2"), PAWL_PENDING);
    CHECK_STR(world_get(&w, "msgs"), "[1,2]");
    world_end(&w);
    world_apart(0);
}

PAWL_TEST(test_K7_elements_that_a_snapshot_left_in_the_journal_come_back_with_their_blobs)
{
    world w;

    world_apart(4096);
    talk_begin(&w);
    for (int i = 0; i < 3; i++)
        CHECK_INT(world_receipt(&w, "say", large), PAWL_PENDING);
    world_snapshot(&w);
    world_crash(&w);
    w.apart.fails_at = w.apart.loads + 1;
    CHECK_STR(world_get(&w, "msgs"), "");       /* not now */
    w.apart.fails_at = 0;
    CHECK_INT(strlen(world_get(&w, "msgs")), 3 * (sizeof large - 1) + 4);
    CHECK_INT(w.apart.n, 1);
    world_end(&w);
    world_apart(0);
}

PAWL_TEST(test_S5_who_keeps_no_journal_sets_nothing_apart)
{
    static const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7 };
    pawl_machine *m = keeper();
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *st = NULL;

    pawl_step_blobs(s, 1);
    CHECK_INT(pawl_state_new(m, &info, PAWL_STATE_NO_JOURNAL, NULL, &st, NULL), PAWL_OK);
    CHECK_INT(pawl_advance(m, st, &(pawl_event){ .kind = PAWL_EV_START, .value = "{\"x\":" LONG "}" }, s, NULL), PAWL_PENDING);
    CHECK(pawl_step_blob(s, 0, NULL).data == NULL);
    CHECK_STR(pawl_value_string(pawl_state_get(st, "x")), "so long that it stands apart");
    pawl_state_free(st);
    pawl_step_free(s);
    pawl_machine_free(m);
}
