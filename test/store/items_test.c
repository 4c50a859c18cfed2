/* items_test.c - a run as items (pawl/items.h): stable ids, each change once, from any cursor the same, each thing ended once. */
#include "lib/heap.h"
#include "lib/item_list.h"
#include "lib/scenes.h"
#include "store/one.h"
#include "store/store.h"
#include "store/streaming.h"
#include "stream/projection.h"

#include <stdlib.h>

/* ---- journals as they were kept ------------------------------------------------------------------------------ */

static const char *const kept_all[] = { "letter", "desk", "survey", "fan", "gate", "nest", "joins", "repair", "talk", "vault", "hooks", "race", "rules",
                                        "pruned", "forked", "adopted", "trip" };

static char *journal_read(const char *name, size_t *size)
{
    char path[1024], *text;
    FILE *f;
    long n;

    snprintf(path, sizeof path, strchr(name, '/') != NULL ? "%s/test/%s" : "%s/test/journals/0.1/%s.journal", PAWL_SOURCE_DIR, name);
    if ((f = fopen(path, "rb")) == NULL)
        CHECK_FAIL("%s is not there", path);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    CHECK(n > 0 && (text = calloc(1, (size_t)n + 1)) != NULL);
    CHECK_INT(fread(text, 1, (size_t)n, f), n);
    fclose(f);
    *size = (size_t)n;
    return text;
}

/* A store that has that journal, of a run that `run` gets the id of. */
static pawl_store *journal_store(const char *name, char run[64])
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes lines[400];
    pawl_append a = { .run = run, .lines = lines, .moves = true };
    pawl_store *s = pawl_store_memory(NULL);
    arena mem;
    pawl_head head;
    size_t size;
    char *text = journal_read(name, &size);
    const char *at = text, *end = text + size, *nl = memchr(at, '\n', size);
    const pawl_value *base;
    pawl_state *st;

    arena_init(&mem, NULL, 4096);
    base = value_read(&mem, at, (size_t)(nl - at), "a base", &err);
    snprintf(run, 64, "%s", pawl_value_string(pawl_value_get(base, "id")));
    CHECK_INT(pawl_replay((pawl_bytes){ text, size }, 0, NULL, &st, &err), PAWL_OK);
    CHECK_INT(s->verbs->create(s, (pawl_bytes){ at, (size_t)(nl - at) }, NULL, &err), PAWL_OK);
    for (at = nl + 1; at < end && a.nlines < 400; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        lines[a.nlines++] = (pawl_bytes){ at, (size_t)(nl - at) };
    }
    CHECK_INT(claim_one(s, run, "test", 1000, &head, &err), PAWL_OK);
    a.fence = head.fence;
    a.seq = head.seq;
    a.status = (uint8_t)pawl_state_status(st);
    a.over = pawl_status_terminal(pawl_state_status(st));
    if (s->verbs->append(s, &a, 1, &err) != PAWL_OK || a.rc != PAWL_OK)
        CHECK_FAIL("%s: %s %s", name, pawl_code_name(a.rc), err.text);
    CHECK_INT(release_one(s, run, head.fence, &err), PAWL_OK);
    pawl_state_free(st);
    arena_free(&mem);
    free(text);
    return s;
}

PAWL_TEST(test_items_whole_and_from_each_cursor_are_the_same)
{
    for (size_t i = 0; i < sizeof kept_all / sizeof *kept_all; i++) {
        char run[64];
        pawl_store *s = journal_store(kept_all[i], run);
        item_list whole = item_list_read(NULL, s, run, NULL, ALL_ITEMS), again = item_list_read(NULL, s, run, NULL, ALL_ITEMS);

        CHECK(whole.n > 3);
        item_list_check(&whole, kept_all[i]);
        item_list_same(&whole, SIZE_MAX, &again, ALL_ITEMS, kept_all[i]);
        item_list_from_any(s, run, &whole, SIZE_MAX, kept_all[i]);
        item_list_from_any(s, run, &whole, 40, kept_all[i]);
        item_list_free(&whole);
        item_list_free(&again);
        pawl_store_free(s);
    }
}

/* ---- as text -------------------------------------------------------------------------------------------------------- */

/* Without the run's name, which stands in each id. */
static void shorter(buf *b, const char *cursor, const char *text)
{
    static const char name[] = "run-1~0000000000000001";

    buf_fmt(b, "%s ", cursor);
    for (const char *at; (at = strstr(text, name)) != NULL; text = at + sizeof name - 1) {
        buf_put(b, text, (size_t)(at - text));
        buf_char(b, '~');
    }
    buf_fmt(b, "%s\n", text);
}

static void expect_items(pawl_store *s, const char *run, unsigned kinds, const char *expected)
{
    item_list l = item_list_read(NULL, s, run, NULL, kinds);
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < l.n; i++)
        shorter(&b, strchr(l.all[i].cursor, ':') + 1, l.all[i].text);
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
    item_list_free(&l);
}

PAWL_TEST(test_items_of_a_repair)
{
    char run[64];
    pawl_store *s = journal_store("repair", run);

    expect_items(s, run, PAWL_ITEM_RUN | PAWL_ITEM_TASK | PAWL_ITEM_TOOL_CALL | PAWL_ITEM_WAIT | PAWL_ITEM_ERROR,
        "1.0 run ~ submitted + . run-1 <~ null\n"
        "1.2 run ~ submitted ~ start run-1 <~ []\n"
        "1.3 run ~ submitted ~ close run-1 <~ {\"next\":[\"flaky\",\"steady\"]}\n"
        "1.4.2 task ~/task:1.flaky running + . flaky <~ at=flaky/flaky null\n"
        "1.4 tool_call ~/1.flaky.1.0 running + call try <~/task:1.flaky call=~/1.flaky.1.0 at=flaky/flaky {\"args\":{\"visit\":1},\"effect\":\"try\"}\n"
        "1.5.2 task ~/task:1.steady running + . steady <~ at=steady/steady null\n"
        "1.5 tool_call ~/1.steady.1.0 running + call work <~/task:1.steady call=~/1.steady.1.0 at=steady/steady {\"effect\":\"work\"}\n"
        "1.6 run ~ working ~ status run-1 <~ null\n"
        "2.2 tool_call ~/1.flaky.1.0 failed - receipt try <~/task:1.flaky call=~/1.flaky.1.0 at=flaky/flaky {\"outcome\":\"error\",\"value\":{\"code\":\"transient\",\"text\":\"busy\"}}\n"
        "2.3 task ~/task:1.flaky running ~ visit flaky <~ at=flaky/flaky {\"visit\":2}\n"
        "2.4.1 wait ~/1.flaky.2.0 waiting + sleep sleep <~/task:1.flaky call=~/1.flaky.2.0 at=flaky/flaky {\"due\":1010}\n"
        "2.4 task ~/task:1.flaky waiting ~ state flaky <~ at=flaky/flaky null\n"
        "2.6 tool_call ~/1.steady.1.0 done - receipt work <~/task:1.steady call=~/1.steady.1.0 at=steady/steady {\"outcome\":\"done\",\"value\":{\"long\":\"a receipt that is worth a reference of its own\",\"ok\":true}}\n"
        "2.8 task ~/task:1.steady running ~ writes steady <~ at=steady/steady [[\"done\",{\"long\":\"a receipt that is worth a reference of its own\",\"ok\":true}]]\n"
        "2.9.1 task ~/task:1.steady done - leave steady <~ at=steady/steady {\"visit\":1}\n"
        "2.11.1 wait ~/1.flaky.2.0 done - receipt sleep <~/task:1.flaky call=~/1.flaky.2.0 at=flaky/flaky {\"outcome\":\"done\",\"value\":null}\n"
        "2.11 task ~/task:1.flaky running ~ state flaky <~ at=flaky/flaky null\n"
        "2.12 tool_call ~/1.flaky.2.1 running + call try <~/task:1.flaky call=~/1.flaky.2.1 at=flaky/flaky {\"args\":{\"visit\":2},\"effect\":\"try\"}\n"
        "2.14 tool_call ~/1.flaky.2.1 done - receipt try <~/task:1.flaky call=~/1.flaky.2.1 at=flaky/flaky {\"outcome\":\"done\",\"value\":\"at last\"}\n"
        "2.15 task ~/task:1.flaky running ~ writes flaky <~ at=flaky/flaky [[\"done\",\"at last\"]]\n"
        "2.16.1 task ~/task:1.flaky done - leave flaky <~ at=flaky/flaky {\"visit\":2}\n"
        "2.18 run ~ working ~ close run-1 <~ {\"next\":[\"strict\"]}\n"
        "3.2.2 task ~/task:2.strict running + . strict <~ at=strict/strict null\n"
        "3.2.3 task ~/task:2.strict failed - fail strict <~ at=strict/strict {\"code\":\"invalid\",\"text\":\"there is no key\"}\n"
        "3.2 error ~/error:3.2 done +- fail fail <~/task:2.strict at=strict/strict {\"code\":\"invalid\",\"text\":\"there is no key\"}\n"
        "3.3.1 run ~ working ~ end run-1 <~ {\"code\":\"invalid\",\"text\":\"there is no key\"}\n"
        "3.3 error ~/error:3.3 done +- end end <~ {\"code\":\"invalid\",\"text\":\"there is no key\"}\n"
        "3.4 run ~ failed - status run-1 <~ null\n"
        "4.2 run ~ working ~ reopen run-1 <~ {\"update\":{\"key\":\"found under the mat\"}}\n"
        "4.3.2 task ~/task:2.strict running + . strict <~ at=strict/strict null\n"
        "4.3 task ~/task:2.strict running ~ visit strict <~ at=strict/strict {\"visit\":2}\n"
        "4.4 task ~/task:2.strict running ~ writes strict <~ at=strict/strict [[\"done\",\"found under the mat\"]]\n"
        "4.5.1 task ~/task:2.strict done - leave strict <~ at=strict/strict {\"visit\":2}\n"
        "5.2 run ~ working ~ close run-1 <~ {\"next\":[]}\n"
        "5.3 run ~ completed - status run-1 <~ null\n");
    pawl_store_free(s);
}

PAWL_TEST(test_items_of_subgraphs)
{
    char run[64];
    pawl_store *s = journal_store("nest", run);

    expect_items(s, run, PAWL_ITEM_NODE | PAWL_ITEM_WAIT,
        "1.4.1 node ~/node:middle running + . middle <~ at=middle/middle null\n"
        "1.6.1 node ~/node:middle/first running + . middle/first <~ at=middle/1/1/first/first null\n"
        "1.7.1 node ~/node:side running + . side <~ at=side/side null\n"
        "2.4 node ~/node:middle/first idle ~ state middle/first <~ at=middle/1/1/first/first null\n"
        "2.6 wait ~/1.middle/1/1/first.1.1 waiting + ask question <~ call=~/1.middle/1/1/first.1.1 at=middle/1/1/first/first {\"hold\":true,\"kind\":\"question\",\"prompt\":\"after first\",\"slot\":\"middle/1/1/first\"}\n"
        "2.10 node ~/node:side idle ~ state side <~ at=side/side null\n"
        "2.12 wait ~/1.middle/1/1/first.1.1 done - answer question <~ call=~/1.middle/1/1/first.1.1 at=middle/1/1/first/first {\"by\":\"ada\",\"value\":\"on\"}\n"
        "2.13.1 node ~/node:middle/deep running + . middle/deep <~ at=middle/1/2/deep/deep null\n"
        "2.16.1 node ~/node:middle/deep/ask running + . middle/deep/ask <~ at=middle/1/2/deep/1/1/ask/ask null\n"
        "2.17.1 wait ~/1.middle/1/2/deep/1/1/ask.1.0 waiting + ask question <~/task:1.middle/1/2/deep/1/1/ask call=~/1.middle/1/2/deep/1/1/ask.1.0 at=middle/1/2/deep/1/1/ask/ask {\"kind\":\"question\",\"prompt\":\"inside?\",\"slot\":\"middle/1/2/deep/1/1/ask\"}\n"
        "2.18.1 node ~/node:middle/deep/call running + . middle/deep/call <~ at=middle/1/2/deep/1/1/call/call null\n"
        "2.23 node ~/node:middle/deep/call idle ~ state middle/deep/call <~ at=middle/1/2/deep/1/1/call/call null\n"
        "2.25.1 wait ~/1.middle/1/2/deep/1/1/ask.1.0 done - answer question <~/task:1.middle/1/2/deep/1/1/ask call=~/1.middle/1/2/deep/1/1/ask.1.0 at=middle/1/2/deep/1/1/ask/ask {\"by\":\"ada\",\"value\":\"deep answer\"}\n"
        "2.27 node ~/node:middle/deep/ask idle ~ state middle/deep/ask <~ at=middle/1/2/deep/1/1/ask/ask null\n"
        "2.30 node ~/node:middle/deep idle ~ state middle/deep <~ at=middle/1/2/deep/deep null\n"
        "2.33 node ~/node:middle idle ~ state middle <~ at=middle/middle null\n"
        "2.36.1 node ~/node:after running + . after <~ at=after/after null\n"
        "3.4 node ~/node:after idle ~ state after <~ at=after/after null\n"
        "3.6.1 node ~/node:middle done - . middle <~ null\n"
        "3.6.2 node ~/node:middle/first done - . middle/first <~ null\n"
        "3.6.3 node ~/node:side done - . side <~ null\n"
        "3.6.4 node ~/node:middle/deep done - . middle/deep <~ null\n"
        "3.6.5 node ~/node:middle/deep/ask done - . middle/deep/ask <~ null\n"
        "3.6.6 node ~/node:middle/deep/call done - . middle/deep/call <~ null\n"
        "3.6.7 node ~/node:after done - . after <~ null\n");
    pawl_store_free(s);
}

/* ---- lines by hand: what happens seldom ----------------------------------------------------------------------------- */

/* The changes of those records, one a line; NULL ends them. No store, no clock: the projection alone. */
static void projects(const char *const *lines, const char *expected)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    pawl_err err = { PAWL_OK, "" };
    projection p;
    line_walk w;
    buf b;

    buf_init(&b, NULL);
    walk_init(&w, &alloc, "r");
    w.at.seq = 1;
    w.receipts_whole = true;
    CHECK_INT(projection_begin(&p, &alloc, "r", 1, NULL, &err), PAWL_OK);
    for (; *lines != NULL; lines++) {
        if (line_begin(&w, (pawl_bytes){ *lines, strlen(*lines) }, &err) != PAWL_OK)
            CHECK_FAIL("%s: %s", *lines, err.text);
        for (; w.entry != NULL; line_next(&w)) {
            CHECK_INT(project_place(&p, &w, &err), PAWL_OK);
            for (size_t i = 0; i < p.nchanges; i++) {
                const change *c = &p.changes[i];

                if (c->kind != kind_number(PAWL_ITEM_LINE) && c->kind != kind_number(PAWL_ITEM_NODE))
                    buf_fmt(&b, "%s %s%s%s%s %s\n", c->id + strlen("r~0000000000000001") + (c->id[18] == '/'),
                            (c->what & PAWL_ITEM_ADDED) != 0 ? "+" : "", (c->what & PAWL_ITEM_UPDATED) != 0 ? "~" : "",
                            (c->what & PAWL_ITEM_ENDED) != 0 ? "-" : "", *c->part != '\0' ? c->part : ".",
                            pawl_item_state_name((pawl_item_kind)(1u << c->kind), (pawl_item_state)c->state));
            }
        }
    }
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
    projection_free(&p);
    walk_free(&w);
}

#define PAYS "[[\"call\",\"1.a.1.0\",{\"effect\":\"pay\"}],[\"doubt\",\"1.a.1.0\",5,{\"kind\":\"question\"}]]"
static const char is_asked_about[] =
    "task:1.a +. running\n"
    "1.a.1.0 +call running\n"
    "doubt:1.a.1.0 +doubt waiting\n"
    "task:1.a ~state waiting\n"
    "1.a.1.0 ~state waiting\n";

static void doubt_is(const char *answer, const char *rest)
{
    const char *const lines[] = { PAYS, answer, NULL };
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s%s", is_asked_about, rest);
    buf_char(&b, '\0');
    projects(lines, b.data);
    buf_free(&b);
}

PAWL_TEST(test_items_of_a_command_whose_outcome_is_not_known)
{
    doubt_is("[[\"answer\",\"1.a.1.0\",6,{\"done\":1}]]",
             "doubt:1.a.1.0 -answer done\ntask:1.a ~state running\n1.a.1.0 -answer done\n");
    doubt_is("[[\"answer\",\"1.a.1.0\",6,{\"failed\":\"no\"}]]",
             "doubt:1.a.1.0 -answer done\ntask:1.a ~state running\n1.a.1.0 -answer failed\n");
    doubt_is("[[\"answer\",\"1.a.1.0\",6,\"again\"],[\"receipt\",\"1.a.1.0\",7,\"done\",2]]",
             "doubt:1.a.1.0 -answer done\ntask:1.a ~state running\n1.a.1.0 ~state running\n1.a.1.0 -receipt done\n");
    doubt_is("[[\"drop\",\"1.a.1.0\"]]",
             "doubt:1.a.1.0 -. dropped\ntask:1.a ~state running\n1.a.1.0 -drop dropped\n");
}

PAWL_TEST(test_items_that_nobody_waits_for_end_with_their_task)
{
    static const char *const lost[] = { "[[\"call\",\"1.a.1.0\",{\"effect\":\"x\"}],[\"sleep\",\"1.a.1.1\",9,{}],[\"leave\",\"a\",1,[]]]", NULL };
    static const char *const again[] = { "[[\"call\",\"1.a.1.0\",{\"effect\":\"x\"}],[\"visit\",\"a\",2,9],[\"receipt\",\"1.a.1.0\",9,\"done\",1]]", NULL };

    projects(lost, "task:1.a +. running\n1.a.1.0 +call running\n1.a.1.1 +sleep waiting\ntask:1.a ~state waiting\n"
                   "task:1.a ~writes waiting\n"
                   "1.a.1.0 -. dropped\n1.a.1.1 -. dropped\ntask:1.a ~state running\ntask:1.a -leave done\n");
    projects(again, "task:1.a +. running\n1.a.1.0 +call running\n1.a.1.0 -. dropped\ntask:1.a ~visit running\n ~receipt submitted\n");
}

PAWL_TEST(test_items_of_a_budget_that_has_no_room)
{
    static const char *const refused[] = { "[[\"refusal\",\"1.a.1.0\",5,\"call\",{\"effect\":\"llm\"},{\"code\":\"limit\",\"text\":\"no\"}],"
                                           "[\"call\",\"1.a.1.1\",{\"effect\":\"x\"}],"
                                           "[\"receipt\",\"1.a.1.1\",6,\"error\",null,{\"usage\":{\"calls\":1}}]]", NULL };

    projects(refused, "task:1.a +. running\n1.a.1.0 +-refusal refused\n1.a.1.1 +call running\n1.a.1.1 -receipt failed\n"
                      "usage:1.a.1.1 +-receipt done\n");
}

/* ---- want of memory ----------------------------------------------------------------------------------------------------- */

/* PAWL_OK, or PAWL_NOMEM: then what there is can be freed, and nothing else. */
static pawl_code projected_with(const pawl_alloc *alloc, const char *text, size_t size)
{
    const char *at = text, *end = text + size, *nl = memchr(at, '\n', size);
    pawl_err err = { PAWL_OK, "" };
    projection p;
    line_walk w;
    arena mem;
    pawl_code rc;

    arena_init(&mem, NULL, 4096);
    walk_init(&w, alloc, "run-1");
    w.at.seq = 1;
    w.receipts_whole = true;
    rc = projection_begin(&p, alloc, "run-1", 1, value_read(&mem, at, (size_t)(nl - at), "a base", &err), &err);
    if (!walk_ready(&w))
        rc = PAWL_NOMEM;
    for (at = nl + 1; rc == PAWL_OK && at < end; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        rc = line_begin(&w, (pawl_bytes){ at, (size_t)(nl - at) }, &err);
        while (rc == PAWL_OK && w.entry != NULL) {
            arena_reset(&w.mem);
            rc = project_place(&p, &w, &err);
            if (rc == PAWL_OK)
                line_next(&w);
        }
    }
    CHECK(rc == PAWL_OK || rc == PAWL_NOMEM);
    projection_free(&p);
    walk_free(&w);
    arena_free(&mem);
    return rc;
}

PAWL_TEST(test_items_each_allocation_fails_once)
{
    static const char *const some[] = { "nest", "repair", "trip", "pruned", "fuzz/corpus/fuzz_items/agent" };

    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        size_t size;
        char *text = journal_read(some[i], &size);
        heap h;

        heap_init(&h);
        for (size_t n = 0;; n++) {
            const pawl_alloc alloc = heap_alloc(&h);
            pawl_code rc;

            heap_fail_at(&h, n);
            rc = projected_with(&alloc, text, size);
            heap_check(&h);
            if (!h.fired && rc != PAWL_OK)
                CHECK_FAIL("%s: %s with all memory there is", some[i], pawl_code_name(rc));
            if (!h.fired)
                break;
        }
        free(text);
    }
}
