/* progress_test.c - the same call with the same result again: a person is asked before it leaves once more, and nobody else ever is. */
#include "kernel/laps.h"
#include "kernel/state.h"
#include "lib/life_march.h"
#include "lib/machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- machines ----------------------------------------------------------------------------------- */

static const pawl_channel plain[] = {
    { .name = "n" }, { .name = "plan" }, { .name = "won" }, { .name = "width" }, { 0 },
};

/* Round n of the plan, one call behind the other: [EFFECT, ARGUMENT], or [EFFECT] for an argument out of what the last call gave. Then
 * the next round, as long as there is one. */
static pawl_code rounds(pawl_step *s, void *arg)
{
    const pawl_value *round = pawl_value_at(pawl_get(s, "plan"), (size_t)pawl_get_int(s, "n")), *one, *last = NULL;
    pawl_iter it = pawl_iter_of(round);
    pawl_code rc;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *given = pawl_value_size(one) > 1 ? pawl_value_at(one, 1) : pawl_pack(s, "{s:v}", "it", last);

        if ((rc = pawl_call(s, pawl_value_string(pawl_value_at(one, 0)), given, &last)) != PAWL_OK && rc != PAWL_EFFECT)
            return rc;
    }
    pawl_set_int(s, "n", pawl_get_int(s, "n") + 1);
    return pawl_goto(s, round == NULL ? PAWL_END : arg != NULL ? arg : "a");
}

static void channels(pawl_graph *g)
{
    for (const pawl_channel *c = plain; c->name != NULL; c++)
        pawl_graph_channel_with(g, c);
    pawl_graph_effect(g, "look", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
}

static pawl_graph *planner(const char *name)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    channels(g);
    pawl_graph_node(g, "a", rounds, NULL);
    pawl_graph_goto(g, "a", "a", NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    return g;
}

static pawl_machine *planned(uint32_t times)
{
    pawl_graph *g = planner("planned");

    pawl_graph_no_progress(g, times);
    return script_compile(g);
}

/* ---- what is told -------------------------------------------------------------------------------- */

static int told;                /* receipts so far, of a test */

/* "tick" gives another number each time, "long" a text that is worth a reference; all else is the same each time. */
static const char *says(const char *effect)
{
    static char text[96];

    if (strcmp(effect, "fail") == 0)
        return "\"no\"";
    if (strcmp(effect, "tick") == 0)
        snprintf(text, sizeof text, "%d", told);
    else if (strcmp(effect, "look") == 0)
        snprintf(text, sizeof text, "\"%080d\"", told);
    else
        return "\"ok\"";
    return text;
}

static void tell(world *w)
{
    pawl_command cmd;
    pawl_err err = {0};
    char *id;

    CHECK_INT(pawl_state_command(w->st, 0, w->look, &cmd, NULL, &err), PAWL_OK);
    told++;
    id = strdup(cmd.id);
    CHECK(world_outcome(w, id, strcmp(cmd.effect, "fail") == 0 ? PAWL_OUTCOME_ERROR : PAWL_OUTCOME_DONE, says(cmd.effect)) >= 0);
    free(id);
}

/* Until nobody but a person is waited for: how many receipts that took. */
static int go(world *w)
{
    int n = 0;

    for (; pawl_state_commands(w->st) > 0 && n < 500; n++)
        tell(w);
    return n;
}

/* The plan of `times` rounds of `round`, each %d in it the number of the round. */
static const char *plan_of(const char *round, int times)
{
    static char text[32768];
    size_t at = (size_t)snprintf(text, sizeof text, "{\"n\":0,\"plan\":[");

    for (int i = 0; i < times; i++) {
        if (i > 0)
            text[at++] = ',';
        for (const char *p = round; *p != '\0'; p++) {
            if (p[0] == '%')
                at += (size_t)snprintf(text + at, sizeof text - at, "%d", i);
            else
                text[at++] = *p;
        }
    }
    memcpy(text + at, "]}", 3);
    return text;
}

static void begin(world *w, pawl_machine *m, const char *input)
{
    told = 0;
    world_begin(w, m, input);
}

static pawl_wait asked(world *w)
{
    pawl_wait wait = {0};
    pawl_err err = {0};

    CHECK_INT(pawl_state_waits(w->st) > 0, true);
    CHECK_INT(pawl_state_wait(w->st, 0, w->look, &wait, &err), PAWL_OK);
    return wait;
}

/* How many calls are made before somebody is asked; -1: it is over, and nobody was. */
static int leaves(const char *round, int times)
{
    world w;
    int n;

    begin(&w, planned(3), plan_of(round, times));
    n = go(&w);
    if (pawl_state_waits(w.st) == 0) {
        CHECK_STR(world_status(&w), "completed");
        n = -1;
    } else {
        CHECK_STR(world_status(&w), "input-required");
        if (w.st->nmarks == 0) {
            world_snapshot(&w);
            world_crash(&w);
        }
    }
    world_end(&w);
    return n;
}

/* ---- asked ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_W1_the_same_in_a_row_asks)
{
    pawl_wait wait;
    world w;

    begin(&w, planned(3), plan_of("[[\"run\",{\"argv\":[\"wc\",\"a.c\"]}]]", 9));
    CHECK_INT(go(&w), 3);
    CHECK_STR(world_status(&w), "input-required");
    wait = asked(&w);
    CHECK_INT(wait.kind, PAWL_WAIT_APPROVAL);
    CHECK_STR(pawl_value_string(wait.prompt), "the same call came to the same 3 times: a: run({\"argv\":[\"wc\",\"a.c\"]}): go on?");
    CHECK_INT(pawl_value_int(pawl_value_find(wait.about, "/times")), 3);
    CHECK_INT(pawl_value_int(pawl_value_find(wait.about, "/cost/calls")), 3);
    CHECK_STR(pawl_value_string(pawl_value_find(wait.about, "/cycle/0/effect")), "run");
    CHECK_STR(pawl_value_string(pawl_value_find(wait.about, "/cycle/0/node")), "a");
    CHECK_INT(pawl_value_size(pawl_value_find(wait.about, "/cycle")), 1);
    CHECK(strstr(line_of(&w, 0), "\"progress\":3") != NULL);
    world_end(&w);
}

/* The name of an effect is as its author wrote it: an agent file's own limits stand behind a dash, as eight digits. */
PAWL_TEST(test_W1_it_says_effects_as_they_were_written)
{
    static const struct { const char *effect, *said; } names[] = {
        { "run-4c8cd8e7", "a: run(1): go on?" }, { "run-4C8CD8E7", "a: run-4C8CD8E7(1): go on?" }, { "run-4c8cd8e", "a: run-4c8cd8e(1): go on?" },
        { "tool-a-00000000", "a: tool-a(1): go on?" }, { "x-4c8cd8e71", "a: x-4c8cd8e71(1): go on?" }, { "4c8cd8e7", "a: 4c8cd8e7(1): go on?" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char round[64];
        const char *text;
        world w;

        snprintf(round, sizeof round, "[[\"%s\",1]]", names[i].effect);
        begin(&w, planned(2), plan_of(round, 9));
        CHECK_INT(go(&w), 2);
        world_snapshot(&w);
        world_crash(&w);
        text = pawl_value_string(asked(&w).prompt);
        CHECK(strncmp(text, "the same call came to the same 2 times: ", 40) == 0);
        CHECK_STR(text + 40, names[i].said);
        CHECK_STR(pawl_value_string(pawl_value_find(asked(&w).about, "/cycle/0/effect")), names[i].effect);
        world_end(&w);
    }
}

/* Each call by the node that made it, also when it is read back from a snapshot. */
PAWL_TEST(test_W1_it_says_whose_calls_they_are)
{
    pawl_graph *g = planner("planned");
    pawl_wait wait;
    world w;

    pawl_graph_node(g, "b", rounds, "a");
    pawl_graph_goto(g, "b", "a", NULL);
    pawl_graph_node(g, "c", rounds, "b");
    pawl_graph_goto(g, "c", "b", NULL);
    pawl_graph_goto(g, "a", "c", NULL);
    pawl_graph_no_progress(g, 2);
    begin(&w, script_compile(g), "{\"n\":0,\"plan\":[[[\"x\",0]],[[\"run\",1],[\"get\",2]],[[\"run\",1],[\"get\",2]],[[\"run\",1]]]}");
    (void)go(&w);
    world_snapshot(&w);
    world_crash(&w);
    wait = asked(&w);
    CHECK_STR(pawl_value_string(wait.prompt), "the same 2 calls came to the same 2 times: a: run(1), a: get(2): go on?");
    world_end(&w);
}

/* A run that an older version began: its base does not say that nodes are named, and what was written then has to come again. */
PAWL_TEST(test_K6_a_run_of_an_older_version_goes_on_as_it_did)
{
    static const char flag[] = ",\"progress_nodes\":1";
    pawl_err err = { PAWL_OK, "" };
    pawl_event start = { .kind = PAWL_EV_START };
    pawl_state *old = NULL;
    char *base, *at;
    world w;

    start.value = plan_of("[[\"run-4c8cd8e7\",1]]", 9);
    begin(&w, planned(2), start.value);
    base = check_copy(w.st->base.data, w.st->base.size);
    CHECK((at = strstr(base, flag)) != NULL);
    memmove(at, at + sizeof flag - 1, strlen(at + sizeof flag - 1) + 1);
    CHECK_INT(pawl_state_load((pawl_bytes){ base, strlen(base) }, (pawl_bytes){0}, NULL, NULL, &old, &err), PAWL_OK);
    pawl_state_free(w.st);
    w.st = old;
    buf_reset(&w.journal);
    buf_reset(&w.snapshot);
    buf_put(&w.journal, base, strlen(base));
    buf_char(&w.journal, '\n');
    free(base);
    CHECK(world_feed(&w, &start) >= 0 && world_go(&w) >= 0);
    CHECK_INT(go(&w), 2);
    world_snapshot(&w);
    world_crash(&w);
    CHECK_STR(pawl_value_string(asked(&w).prompt), "the same call came to the same 2 times: run-4c8cd8e7(1): go on?");
    CHECK(pawl_value_find(asked(&w).about, "/cycle/0/node") == NULL);
    world_end(&w);
}

PAWL_TEST(test_W1_it_says_what_the_cycle_has_cost)
{
    static const char *const bills[] = { "{\"tokens\":5,\"micros\":7}", "{\"calls\":3,\"tokens\":6}" };
    pawl_wait wait;
    world w;

    world_budget((pawl_caps){ .calls = 50 });
    begin(&w, planned(2), plan_of("[[\"run\",1]]", 9));
    world_budget((pawl_caps){0});
    CHECK_INT(go(&w), 2);
    world_answer(&w, NULL, "true");
    for (size_t i = 0; i < sizeof bills / sizeof *bills; i++) {
        char *id = strdup(world_open(&w, "a", false));

        CHECK(world_feed(&w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "\"ok\"", .update = bills[i] }) >= 0);
        free(id);
        world_go(&w);
        if (w.st->nmarks == 0) {
            world_snapshot(&w);
            world_crash(&w);
        }
    }
    wait = asked(&w);
    CHECK_INT(pawl_value_int(pawl_value_find(wait.about, "/cost/calls")), 4);
    CHECK_INT(pawl_value_int(pawl_value_find(wait.about, "/cost/tokens")), 11);
    CHECK_INT(pawl_value_int(pawl_value_find(wait.about, "/cost/micros")), 7);
    world_end(&w);
}

PAWL_TEST(test_W1_yes_lets_as_many_rounds_go_and_no_rejects)
{
    world w;

    begin(&w, planned(3), plan_of("[[\"run\",1],[\"get\",2]]", 20));
    CHECK_INT(go(&w), 6);
    CHECK(strstr(pawl_value_string(asked(&w).prompt), "the same 2 calls came to the same 3 times: a: run(1), a: get(2): go on?") != NULL);
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    world_crash(&w);
    CHECK_INT(go(&w), 6);
    world_snapshot(&w);
    CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
    world_crash(&w);
    CHECK_INT(go(&w), 6);
    world_answer(&w, NULL, "false");
    CHECK_STR(world_status(&w), "rejected");
    CHECK(strstr(world_reason(&w), "no progress: the same 2 calls") != NULL);
    world_end(&w);
}

PAWL_TEST(test_W1_cycles_of_up_to_four_calls)
{
    /* in one visit each, */
    CHECK_INT(leaves("[[\"a\",1],[\"b\",1]]", 9), 6);
    CHECK_INT(leaves("[[\"a\",1],[\"b\",1],[\"c\",1]]", 9), 9);
    CHECK_INT(leaves("[[\"a\",1],[\"b\",1],[\"c\",1],[\"d\",1]]", 9), 12);
    CHECK_INT(leaves("[[\"a\",1],[\"b\",1],[\"c\",1],[\"d\",1],[\"e\",1]]", 9), -1);
    /* over visits, */
    CHECK_INT(leaves("[[\"a\",1]],[[\"b\",1]]", 9), 6);
    CHECK_INT(leaves("[[\"a\",1]],[[\"a\",2]],[[\"b\",1]],[[\"a\",2]]", 9), 12);
    /* and all in one */
    CHECK_INT(leaves("[[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1],[\"a\",1]]", 1), 3);
    CHECK_INT(leaves("[[\"a\",1],[\"a\",1],[\"a\",1]]", 1), -1);
    /* what failed is a result as any */
    CHECK_INT(leaves("[[\"fail\",1]]", 9), 3);
}

PAWL_TEST(test_W1_what_is_not_quite_the_same_asks_nobody)
{
    CHECK_INT(leaves("[[\"tick\",1]]", 12), -1);                /* another result */
    CHECK_INT(leaves("[[\"run\",%]]", 12), -1);                 /* another argument */
    CHECK_INT(leaves("[[\"run\",1],[\"tick\",1]]", 12), -1);
    CHECK_INT(leaves("[[\"run\",1],[\"run\",%]]", 12), -1);
    CHECK_INT(leaves("[[\"look\",1]]", 12), -1);                /* pure */
    CHECK_INT(leaves("[[\"run\",1]]", 3), -1);                  /* not once more */
    CHECK_INT(leaves("[[\"run\",1],[\"run\",1],[\"get\",%]]", 12), -1);
}

/* What is handed over by reference counts as what it was. */
PAWL_TEST(test_W1_arguments_are_what_they_refer_to)
{
    CHECK_INT(leaves("[[\"look\",1],[\"run\"]]", 12), -1);
    CHECK_INT(leaves("[[\"get\",1],[\"run\"]]", 12), 6);
}

/* ---- side by side -------------------------------------------------------------------------------------- */

static pawl_code fans(pawl_step *s, void *arg)
{
    (void)arg;
    if (pawl_get_int(s, "n") >= 8)
        return pawl_goto(s, PAWL_END);
    pawl_set_int(s, "n", pawl_get_int(s, "n") + 1);
    for (int64_t i = 0; i < pawl_get_int(s, "width"); i++)
        pawl_send(s, "work", pawl_pack(s, "i", (int64_t)1));
    return pawl_follow(s);
}

static pawl_code works(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_call(s, "run", pawl_args(s), NULL);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_goto(s, pawl_value_int(pawl_args(s)) < 0 ? PAWL_END : "fan");
}

static pawl_machine *fan(uint32_t times)
{
    pawl_graph *g = pawl_graph_new("fan", 1);

    channels(g);
    pawl_graph_node(g, "fan", fans, NULL);
    pawl_graph_node(g, "work", works, NULL);
    pawl_graph_goto(g, "fan", "work", NULL);
    pawl_graph_goto(g, "work", "fan", NULL);
    pawl_graph_edge(g, PAWL_START, "fan");
    pawl_graph_no_progress(g, times);
    return script_compile(g);
}

PAWL_TEST(test_W1_siblings_are_one_round)
{
    world w;

    begin(&w, fan(2), "{\"n\":0,\"width\":5}");
    CHECK_INT(go(&w), 10);      /* two supersteps of five */
    CHECK_INT(pawl_state_waits(w.st), 5);
    world_crash(&w);
    CHECK(strstr(pawl_value_string(asked(&w).prompt), "the same call came to the same 2 times: work: run(1)") != NULL);
    for (int i = 0; i < 5; i++)
        (void)world_answer(&w, world_open(&w, NULL, true), "true");
    CHECK_INT(go(&w), 10);
    CHECK_INT(pawl_state_waits(w.st), 5);
    world_end(&w);
}

/* Three calls at once, of which two are the same; then the first that was told. */
static pawl_code races(pawl_step *s, void *arg)
{
    uint32_t won = 0;
    pawl_code rc;

    (void)arg;
    if (pawl_get_int(s, "n") >= 6)
        return pawl_goto(s, PAWL_END);
    rc = pawl_call(s, "run", pawl_pack(s, "i", (int64_t)1), NULL);
    if (rc != PAWL_OK && rc != PAWL_PENDING && rc != PAWL_INTERRUPTED)
        return rc;
    if ((rc = pawl_call(s, "run", pawl_pack(s, "i", (int64_t)1), NULL)) == PAWL_EFFECT)
        return rc;
    if ((rc = pawl_call(s, "tick", pawl_pack(s, "i", pawl_get_int(s, "width")), NULL)) == PAWL_EFFECT)
        return rc;
    if ((rc = pawl_select(s, &won)) != PAWL_OK)
        return rc;
    pawl_set_int(s, "won", won);
    pawl_set_int(s, "n", pawl_get_int(s, "n") + 1);
    return pawl_goto(s, "a");
}

PAWL_TEST(test_W1_a_race_counts_no_wait_that_the_node_did_not_make)
{
    pawl_graph *g = pawl_graph_new("race", 1);
    world w;

    channels(g);
    pawl_graph_node(g, "a", races, NULL);
    pawl_graph_goto(g, "a", "a", NULL);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_no_progress(g, 2);
    begin(&w, script_compile(g), "{\"n\":0,\"width\":7}");
    world_receipt(&w, "1.a.1.1", "\"ok\"");     /* of the two alike, one is a round */
    CHECK_STR(world_get(&w, "won"), "1");
    CHECK_INT(pawl_state_waits(w.st), 0);
    world_receipt(&w, "2.a.1.0", "\"ok\"");
    CHECK_STR(world_get(&w, "won"), "0");
    CHECK_INT(pawl_state_waits(w.st), 0);       /* what was beside its like was no round */
    world_receipt(&w, "3.a.1.0", "\"ok\"");
    CHECK_INT(pawl_state_waits(w.st), 1);
    CHECK_INT(pawl_state_commands(w.st), 0);    /* nothing is made behind it */
    world_crash(&w);
    world_answer(&w, NULL, "true");
    CHECK_INT(pawl_state_commands(w.st), 3);
    world_crash(&w);
    world_receipt(&w, "4.a.1.3", "5");          /* its third, which stands fourth */
    CHECK_STR(world_get(&w, "won"), "2");
    world_end(&w);
}

/* ---- subgraphs --------------------------------------------------------------------------------------------- */

static pawl_code comes_back(pawl_step *s, void *arg)
{
    (void)arg;
    if (pawl_get_int(s, "width") >= 8)
        return pawl_goto(s, PAWL_END);
    pawl_set_int(s, "width", pawl_get_int(s, "width") + 1);
    return pawl_goto(s, "sub");
}

static pawl_machine *nested(void)
{
    pawl_graph *g = pawl_graph_new("outer", 1), *in = planner("inner");

    channels(g);
    pawl_graph_sub(g, "sub", in);
    pawl_graph_map(g, "sub", "n", "n", true, false);    /* and not back: it begins anew each time */
    pawl_graph_map(g, "sub", "plan", "plan", true, false);
    pawl_graph_node(g, "back", comes_back, NULL);
    pawl_graph_goto(g, "back", "sub", NULL);
    pawl_graph_chain(g, PAWL_START, "sub", "back", NULL);
    pawl_graph_no_progress(g, 3);
    return script_compile(g);
}

PAWL_TEST(test_W1_a_loop_inside_a_subgraph_and_one_around_it)
{
    world w;

    begin(&w, nested(), plan_of("[[\"run\",1]]", 9));
    CHECK_INT(go(&w), 3);
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_crash(&w);
    world_answer(&w, NULL, "true");
    CHECK_INT(go(&w), 3);
    world_end(&w);
    begin(&w, nested(), plan_of("[[\"run\",1],[\"get\",1]]", 1));
    CHECK_INT(go(&w), 6);       /* three times through it */
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_crash(&w);
    world_answer(&w, NULL, "true");
    CHECK_INT(go(&w), 6);
    world_end(&w);
}

/* ---- it is there whatever happens --------------------------------------------------------------------------- */

/* The last thing that is asked, but for its time. */
static const char *ask_of(const char *journal)
{
    static char text[1024];
    const char *at = strstr(journal, "[\"ask\","), *next;

    while (at != NULL && (next = strstr(at + 1, "[\"ask\",")) != NULL)
        at = next;
    CHECK(at != NULL);
    snprintf(text, sizeof text, "%.1000s", strchr(at, '{'));
    return text;
}

/* Killed after every entry: it asks the same at the same place. */
PAWL_TEST(test_K6_killed_anywhere_it_asks_at_the_same_place)
{
    char *whole, *ask;
    uint64_t last;
    world w;

    begin(&w, planned(2), plan_of("[[\"run\",1]],[[\"get\",2],[\"look\",3]],[[\"run\",4]]", 12));
    CHECK_INT(go(&w), 8);
    world_answer(&w, NULL, "true");
    CHECK_INT(go(&w), 8);
    whole = strdup(journal_of(&w));
    ask = strdup(ask_of(whole));
    last = pawl_state_seq(w.st);
    CHECK(last > 12);
    for (uint64_t seq = 1; seq < last; seq++) {
        const char *line;

        world_back(&w, seq);
        line = journal_of(&w);
        told = (int)times_in(line, "[\"receipt\",");
        (void)world_go(&w);
        for (int i = 0; i < 3 && pawl_state_seq(w.st) < last; i++) {
            go(&w);
            if (pawl_state_seq(w.st) < last)
                world_answer(&w, NULL, "true");
            if (w.st->nmarks == 0) {
                world_snapshot(&w);
                world_crash(&w);
            }
        }
        CHECK_INT((int64_t)pawl_state_seq(w.st), (int64_t)last);
        CHECK_INT(pawl_state_waits(w.st), 1);
        CHECK_INT((int64_t)times_in(journal_of(&w), "[\"ask\","), 2);
        CHECK_STR(ask_of(journal_of(&w)), ask);
    }
    CHECK_INT((int64_t)times_in(whole, "[\"ask\","), 2);
    free(whole);
    free(ask);
    world_end(&w);
}

PAWL_TEST(test_K10_a_fork_keeps_it)
{
    world w;

    begin(&w, planned(3), plan_of("[[\"run\",1]]", 20));
    tell(&w);
    tell(&w);
    world_fork(&w, &(pawl_run_info){ .id = "fork-1", .life = 9, .created_ms = 77000 });
    world_go(&w);
    CHECK_INT(go(&w), 1);
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_fork(&w, &(pawl_run_info){ .id = "fork-2", .life = 8, .created_ms = 78000 });
    world_go(&w);
    CHECK_INT(pawl_state_waits(w.st), 1);       /* it asks anew */
    world_answer(&w, NULL, "true");
    CHECK_INT(go(&w), 3);
    world_end(&w);
}

static pawl_code fails(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_call(s, "run", NULL, NULL);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_get_int(s, "width") > 0 ? pawl_fail(s, PAWL_EFFECT, "too wide") : pawl_follow(s);
}

PAWL_TEST(test_K9_visits_that_failed_count_when_it_is_opened_again)
{
    pawl_graph *g = pawl_graph_new("fails", 1);
    world w;

    channels(g);
    pawl_graph_node(g, "a", fails, NULL);
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    pawl_graph_no_progress(g, 2);
    begin(&w, script_compile(g), "{\"width\":1}");
    for (int i = 0; i < 2; i++) {
        CHECK_INT(go(&w), 1);
        CHECK_STR(world_status(&w), "failed");
        world_snapshot(&w);
        world_crash(&w);
        world_reopen(&w, "{}");
    }
    CHECK_INT(pawl_state_waits(w.st), 1);
    world_snapshot(&w);
    world_crash(&w);
    world_answer(&w, NULL, "true");
    CHECK_INT(go(&w), 1);
    world_reopen(&w, "{\"width\":0}");
    CHECK_INT(go(&w), 1);       /* one since the yes */
    CHECK_STR(world_status(&w), "completed");
    world_end(&w);
}

PAWL_TEST(test_W1_where_it_is_off_nothing_is_kept)
{
    world w;

    begin(&w, planned(0), plan_of("[[\"run\",1]]", 20));
    CHECK_INT(go(&w), 20);
    CHECK_STR(world_status(&w), "completed");
    CHECK(strstr(journal_of(&w), "progress") == NULL);
    CHECK(w.st->root.history == NULL);
    world_end(&w);
}

PAWL_TEST(test_W1_how_often_is_bounded)
{
    pawl_graph *g = planner("often");
    pawl_err err = {0};

    pawl_graph_no_progress(g, NO_PROGRESS_MAX + 1);
    CHECK(pawl_graph_compile(g, &err) == NULL);
    CHECK(strstr(err.text, "no_progress is 101") != NULL);
}

/* ---- by chance ------------------------------------------------------------------------------------------------ */

/* Rounds of calls by chance. Where no call repeats it never asks; where it may, it is asked once a cycle was there, and never before. */
static void random_plan(char *out, size_t size, bool repeats)
{
    size_t at = (size_t)snprintf(out, size, "{\"n\":0,\"plan\":[");
    int serial = 0, n = 3 + (int)check_rand_below(10);

    for (int i = 0; i < n; i++) {
        int calls = 1 + (int)check_rand_below(4);

        at += (size_t)snprintf(out + at, size - at, i > 0 ? ",[" : "[");
        for (int k = 0; k < calls; k++)
            at += (size_t)snprintf(out + at, size - at, "%s[\"%s\",%d]", k > 0 ? "," : "", check_rand_below(6) > 0 ? "run" : "look",
                                   repeats ? (int)check_rand_below(2) : serial++);
        at += (size_t)snprintf(out + at, size - at, "]");
    }
    snprintf(out + at, size - at, "]}");
}

/* By the definition, over what was told so far: whether the last calls are a cycle that was there `times` times. */
static bool in_circles(const int *calls, int n, int times, int next)
{
    for (int p = 1; p <= 4 && p * times <= n; p++) {
        bool same = calls[n - p] == next;

        for (int i = n - p * (times - 1); same && i < n; i++)
            same = calls[i] == calls[i - p];
        if (same)
            return true;
    }
    return false;
}

PAWL_TEST(test_W1_it_asks_when_a_call_goes_in_circles_and_only_then)
{
    int asks = 0;

    for (int round = 0; round < 150; round++) {
        const bool repeats = round % 2 > 0;
        int times = 1 + (int)check_rand_below(3), calls[100], n = 0;
        char plan[2048];
        world w;

        random_plan(plan, sizeof plan, repeats);
        begin(&w, planned((uint32_t)times), plan);
        for (int i = 0; i < 200 && pawl_state_commands(w.st) + pawl_state_waits(w.st) > 0; i++) {
            pawl_command cmd;
            pawl_err err = {0};

            if (check_rand_below(4) == 0 && w.st->nmarks == 0)
                world_snapshot(&w);
            if (check_rand_below(4) == 0)
                world_crash(&w);
            if (pawl_state_waits(w.st) > 0) {
                CHECK(repeats);
                asks++;
                CHECK_INT(world_answer(&w, NULL, "true"), PAWL_PENDING);
                CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
                CHECK(in_circles(calls, n, times, (int)pawl_value_int(cmd.args)));
                n = 0;
            }
            CHECK_INT(pawl_state_command(w.st, 0, w.look, &cmd, NULL, &err), PAWL_OK);
            if (strcmp(cmd.effect, "run") == 0) {
                CHECK(!in_circles(calls, n, times, (int)pawl_value_int(cmd.args)));
                calls[n++] = (int)pawl_value_int(cmd.args);
            }
            tell(&w);
        }
        CHECK_STR(world_status(&w), "completed");
        world_end(&w);
    }
    CHECK(asks > 50);
}

/* ---- without memory ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_W1_memory_that_fails_leaks_none)
{
    static const pawl_event events[] = {
        { .kind = PAWL_EV_START, .time_ms = 10, .value = "{\"n\":0,\"plan\":[[[\"run\",1]],[[\"run\",1]],[[\"run\",1]]]}" },
        { .kind = PAWL_EV_RECEIPT, .id = "1.a.1.0", .value = "1", .time_ms = 11 },
        { .kind = PAWL_EV_RECEIPT, .id = "2.a.1.0", .value = "1", .time_ms = 12 },
        { .kind = PAWL_EV_ANSWER, .value = "true", .time_ms = 13 },
        { .kind = PAWL_EV_RECEIPT, .id = "3.a.1.1", .value = "1", .time_ms = 14 },
    };
    const pawl_run_info info = { .id = "r", .life = 1, .created_ms = 1 };
    pawl_machine *m = planned(2);

    CHECK(life_march(m, &info, events, sizeof events / sizeof *events) > 30);
    pawl_machine_free(m);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
