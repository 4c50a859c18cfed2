/* engine_states_test.c - the life cycles of the engine as tables: printed, and each way of an outbox entry by hand. */
#include "engine/run/anchor.h"
#include "engine/command/entry.h"
#include "graph/graph.h"
#include "lib/check.h"
#include "pawl/graph.h"

#include <stdio.h>
#include <string.h>

/* "FROM: TO, TO" of each state, in their order: the table has these ways and no other. */
static void ways_are(const sm_table *t, const char *const *due, size_t n)
{
    CHECK_INT(t->count, n);
    for (unsigned from = 0; from < n; from++) {
        char said[512];
        bool any = false;

        snprintf(said, sizeof said, "%s:", sm_name(t, from));
        for (unsigned to = 0; to < t->count; to++)
            if (sm_may(t, from, to)) {
                snprintf(said + strlen(said), sizeof said - strlen(said), "%s %s", any ? "," : "", sm_name(t, to));
                any = true;
            }
        CHECK_STR(said, due[from]);
    }
}

PAWL_TEST(test_O_the_ways_of_an_outbox_entry)
{
    static const char *const due[] = {
        "ready: ready, no handler, back-off, queued, granted, waits for a commit, done",
        "no handler: ready, no handler, back-off, done",
        "back-off: ready, no handler, back-off, done",
        "queued: ready, granted",
        "granted: ready, back-off, leaving, done",
        "waits for a commit: ready, back-off, leaving, done",
        "leaving: granted, waits for a commit, running",
        "running: ready, no handler, back-off, waits for a commit, running, not wanted, done, stray",
        "running, not wanted: running, stray",
        "done: waits for a commit, fed",
        "fed: waits for a commit, done",
        "child, not started: done, child, started, child, released",
        "child, started: done, child, released",
        "child, released: done",
        "stray:",
    };

    ways_are(&entry_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_S2_the_ways_of_a_lease)
{
    static const char *const due[] = { "none: held, lost", "held: none, held, lost", "lost: held, lost" };

    ways_are(&lease_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_G9_the_ways_of_a_cached_run)
{
    static const char *const due[] = {
        "empty: empty, loaded",
        "loaded: empty, loaded, folded, not stored, removed",
        "folded, not stored: empty, loaded, folded, not stored, folded, to be stored at once",
        "folded, to be stored at once: empty, loaded, folded, to be stored at once",
        "removed: empty",
    };

    ways_are(&cached_run_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_S4_the_ways_of_a_head)
{
    static const char *const due[] = { "known: known, parked, unsure", "parked: known, parked", "unsure: known, parked" };

    ways_are(&head_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_E3_the_ways_of_a_run_in_a_batch)
{
    static const char *const due[] = { "out: in a batch", "in a batch: out, in a batch, stepped", "stepped: out, in a batch, stepped" };

    ways_are(&pass_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_E16_the_ways_of_a_mailbox)
{
    static const char *const due[] = {
        "unread: unread, empty at the claim, empty at the last append",
        "empty at the claim: unread, empty at the last append",
        "empty at the last append: unread, empty at the last append",
    };

    ways_are(&mailbox_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_P12_the_ways_of_an_anchor)
{
    static const char *const due[] = {
        "not anchored: not anchored, to be anchored before a command leaves, anchored",
        "to be anchored before a command leaves: not anchored, to be anchored before a command leaves, anchored",
        "anchored: not anchored, to be anchored before a command leaves",
    };

    ways_are(&anchor_table, due, sizeof due / sizeof *due);
}

PAWL_TEST(test_the_tables_of_the_engine_are_printed)
{
    static const sm_table *const tables[] = { &entry_table, &count_table, &args_table, &resolution_table, &later_table, &cached_run_table,
                                            &lease_table, &head_table, &pass_table, &mailbox_table, &anchor_table };
    pawl_step *s = pawl_step_new(NULL);

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *picture = draw_sm(tables[i], PAWL_PICTURE_TEXT, s, NULL);

        CHECK(picture != NULL && strstr(picture, tables[i]->name) != NULL);
        printf("%s\n", picture != NULL ? picture : "");
        CHECK(strncmp(draw_sm(tables[i], PAWL_PICTURE_DOT, s, NULL), "digraph", 7) == 0);
    }
    pawl_step_free(s);
}
