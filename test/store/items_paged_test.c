/* items_paged_test.c - a reader that begins far behind: each of its calls reads a bounded part of the journal (N3). Reads are counted, never timed. */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "stream/items_paged.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3000 };

static pawl_store_verbs counting;
static const pawl_store_verbs *real;
static unsigned entries;
static pawl_line_fn *line_fn;

static bool line_counted(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    entries += kind == PAWL_LINE_ENTRY;
    return line_fn(ctx, kind, seq, line);
}

static pawl_code read_counted(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    line_fn = fn;
    return real->read(s, run, after, upto, line_counted, ctx, err);
}

static pawl_code load_counted(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    line_fn = fn;
    return real->load(s, run, line_counted, ctx, err);
}

static pawl_code look_counted(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    pawl_look mine = *look;
    pawl_code rc;

    line_fn = look->fn;
    mine.fn = look->fn != NULL ? line_counted : NULL;
    rc = real->look(s, run, &mine, err);
    mine.fn = look->fn;
    *look = mine;
    return rc;
}

static pawl_code count_up(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "n", pawl_pack(s, "i", pawl_value_int(pawl_get(s, "n")) + 1));
    return PAWL_OK;
}

static const char *until_done(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_value_int(pawl_get(s, "n")) < ROUNDS ? "a" : PAWL_END;
}

/* A run of ROUNDS supersteps in a store that counts. */
static pawl_store *long_run(void)
{
    pawl_store *s = pawl_store_memory(NULL), *again;
    pawl_graph *g = pawl_graph_new("long", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    pawl_graph_max_steps(g, 2 * ROUNDS);
    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_node(g, "a", count_up, NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_route(g, "a", until_done, NULL, "a", PAWL_END, NULL);
    again = pawl_store_memory_again(s, NULL, &err);
    CHECK(again != NULL);
    e = pawl_engine_new(pawl_graph_compile(g, NULL), s, &err);
    CHECK(e != NULL);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    real = again->verbs;
    counting = *real;
    counting.read = read_counted;
    counting.load = load_counted;
    counting.look = look_counted;
    again->verbs = &counting;
    pawl_engine_free(e);
    return again;
}

/* The changes after the cursor that `r` began with, as ids; each call reads a page at most. */
static unsigned changes_counted(pawl_items *r, unsigned *calls, unsigned *most)
{
    pawl_item_change ch;
    pawl_err err = { PAWL_OK, "" };
    unsigned n = 0;
    pawl_code rc;

    do {
        entries = 0;
        rc = pawl_items_next(r, &ch, &err);
        *calls += rc == PAWL_INTERRUPTED;
        *most = entries > *most ? entries : *most;
        n += rc == PAWL_OK;
    } while (rc == PAWL_OK || rc == PAWL_INTERRUPTED);
    CHECK_INT(rc, PAWL_HALTED);
    return n;
}

PAWL_TEST(test_N3_a_reader_that_comes_back_to_a_long_run_reads_a_page_in_one_call)
{
    pawl_store *s = long_run();
    pawl_items_options o = { .from = NULL };
    pawl_err err = { PAWL_OK, "" };
    unsigned calls = 0, most = 0, paged;
    pawl_item_change ch;
    char cursor[200];
    pawl_items *r;
    pawl_code rc;

    snprintf(cursor, sizeof cursor, "r:%d.0", ROUNDS - 5);
    o.from = cursor;
    entries = 0;
    CHECK((r = items_open_paged(s, "r", &o, &err)) != NULL);
    CHECK(entries <= ITEMS_PAGE);
    paged = changes_counted(r, &calls, &most);
    pawl_items_close(r);
    CHECK(calls >= ROUNDS / ITEMS_PAGE - 1);
    CHECK(most <= ITEMS_PAGE);
    entries = 0;
    CHECK((r = pawl_items_open(NULL, s, "r", &o, &err)) != NULL);
    CHECK(entries > ROUNDS - 10);       /* this one reads all of it when it is opened */
    calls = 0;
    CHECK_INT(changes_counted(r, &calls, &most), paged);
    CHECK_INT(calls, 0);
    pawl_items_close(r);
    o.from = "r:1000000.0";
    CHECK(items_open_paged(s, "r", &o, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    snprintf(cursor, sizeof cursor, "r:%d.900", ROUNDS - 5);
    o.from = cursor;
    CHECK((r = items_open_paged(s, "r", &o, &err)) != NULL);
    while ((rc = pawl_items_next(r, &ch, &err)) == PAWL_INTERRUPTED)
        ;
    CHECK_INT(rc, PAWL_INVALID);        /* which a reader that is opened at once says then */
    pawl_items_close(r);
    s->verbs = real;
    pawl_store_free(s);
}
