/* verify_test.c - who is asked whether a journal is right, and what is said when it is not (K5). */
#include "lib/machines.h"
#include "lib/world.h"

#include <string.h>

static pawl_machine *two(const char *name, uint32_t version, bool reversed)
{
    pawl_graph *g = pawl_graph_new(name, version);

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_node(g, "a", script_node, "log=\"a\"");
    pawl_graph_node(g, "b", script_node, "log=\"b\"");
    pawl_graph_chain(g, PAWL_START, reversed ? "b" : "a", reversed ? "a" : "b", PAWL_END, NULL);
    return script_compile(g);
}

static pawl_code verified(const world *w, pawl_machine *m, pawl_verdict *v, pawl_err *err)
{
    pawl_code rc;

    *err = (pawl_err){ PAWL_OK, "" };
    rc = pawl_verify(m, (pawl_bytes){ w->journal.data, w->journal.size }, NULL, v, err);
    pawl_machine_free(m);
    return rc;
}

PAWL_TEST(test_K5_a_journal_of_another_machine_is_not_verified_by_this_one)
{
    const struct { const char *name; uint32_t version; bool reversed; } others[] = { { "two", 1, true }, { "three", 1, false }, { "two", 2, false } };
    pawl_verdict v;
    pawl_err err;
    world w;

    world_begin(&w, two("two", 1, false), NULL);
    CHECK_INT(verified(&w, two("two", 1, false), &v, &err), PAWL_OK);
    CHECK_INT(v.entries, 3);
    CHECK_INT(v.folded, 0);
    for (size_t i = 0; i < 3; i++) {
        CHECK_INT(verified(&w, two(others[i].name, others[i].version, others[i].reversed), &v, &err), PAWL_CONFLICT);
        CHECK_INT(v.folded, 3);
        CHECK(strstr(err.text, "run-1: its machine is two 1 (") == err.text);
        CHECK(strstr(err.text, others[i].name) != NULL && strstr(err.text, "verify it with its own") != NULL);
    }
    CHECK_INT(pawl_verify(NULL, (pawl_bytes){ w.journal.data, w.journal.size }, NULL, &v, NULL), PAWL_INVALID);
    CHECK_INT(pawl_verify(w.m, (pawl_bytes){ w.journal.data, w.journal.size }, NULL, NULL, NULL), PAWL_INVALID);
    world_end(&w);
}

/* Damage is told as damage: the machine is not asked about it. */
PAWL_TEST(test_K5_changed_bytes_are_told_before_any_machine_is_asked)
{
    pawl_verdict v;
    pawl_err err = { PAWL_OK, "" };
    char *at;
    world w;

    world_begin(&w, two("two", 1, false), NULL);
    buf_char(&w.journal, '\0');
    w.journal.size--;
    at = strstr(w.journal.data, "[\"log\",\"a\"]");
    CHECK(at != NULL);
    at[8] = 'x';
    CHECK_INT(pawl_verify(w.m, (pawl_bytes){ w.journal.data, w.journal.size }, NULL, &v, &err), PAWL_CORRUPT);
    CHECK_INT(v.seq, 2);
    CHECK_STR(err.text, "run-1: entry 2 does not follow from what stands before it (hash)");
    world_drop(&w);
}
