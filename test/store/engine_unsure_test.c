/* engine_unsure_test.c - a store that does what it says it did not, and rivals who are quick: what an engine then believes. */
#include "lib/town.h"

#include <string.h>

/* Over the verbs of a store in memory, that come first. */
static const pawl_store_verbs *plain;
static pawl_store_verbs verbs;

static void verbs_take(pawl_store *s)
{
    plain = s->verbs;
    verbs = *plain;
    s->verbs = &verbs;
}

/* ---- done, and said to have failed ------------------------------------------------------------------ */

static unsigned appends_until_unsure;

static pawl_code append_unsure(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc = plain->append(s, all, n, err);

    if (rc != PAWL_OK || appends_until_unsure == 0 || --appends_until_unsure > 0)
        return rc;
    *err = (pawl_err){ PAWL_IO, "the line went dead" };
    return PAWL_IO;
}

static pawl_code call_node(pawl_step *s, void *effect)
{
    return pawl_call(s, effect, NULL, NULL);
}

static pawl_code ask_node(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_ask(s, pawl_json(s, "\"go on?\""), NULL);
}

static pawl_machine *fork_and_join(void)
{
    pawl_graph *g = pawl_graph_new("fork", 1);

    pawl_graph_node(g, "call", call_node, "act");
    pawl_graph_node(g, "ask", ask_node, NULL);
    pawl_graph_node(g, "last", call_node, "later");
    pawl_graph_edge(g, PAWL_START, "call");
    pawl_graph_edge(g, PAWL_START, "ask");
    pawl_graph_join(g, "last", "call", "ask", NULL);
    pawl_graph_edge(g, "last", PAWL_END);
    return pawl_graph_compile(g, NULL);
}

/* The receipt makes it wait for a person, and the store knows, though the engine was told otherwise. */
PAWL_TEST(test_S6_the_store_is_told_again_what_it_may_not_have_heard)
{
    pawl_store *s = pawl_store_memory(NULL);
    pawl_head head;
    town t;

    town_begin(&t, fork_and_join(), s);
    town_acts(&t, "act", PAWL_AT_LEAST_ONCE);
    verbs_take(s);
    verbs.append = append_unsure;
    appends_until_unsure = 2;
    CHECK_INT(town_run(&t, "r", NULL), PAWL_IO);
    CHECK_INT(plain->head(s, "r", &head, NULL), PAWL_OK);
    CHECK_INT(head.status, PAWL_INPUT_REQUIRED);
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_answer(t.e, "r", NULL, "true", &t.err), PAWL_PENDING);   /* nobody performs "later" */
    CHECK_INT(plain->head(s, "r", &head, NULL), PAWL_OK);
    CHECK_INT(head.status, PAWL_WORKING);
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

static const check_case cases[] = {
    CASE(test_S6_the_store_is_told_again_what_it_may_not_have_heard),
};

int main(int argc, char **argv)
{
    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
