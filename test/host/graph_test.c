/* graph_test.c - an agent that a node of a graph has begun goes by what the graph's run may do now, as an agent's child does by its parent (P1, E11). */
#include "json/json.h"
#include "hosting.h"

/* ---- a graph with an agent ----------------------------------------------------------------------------- */

static pawl_code begins(pawl_step *s, void *arg)
{
    const pawl_value *out, *rules = pawl_get(s, "@policy"), *input = pawl_pack(s, "{s:s,s:s,s:s,s:v}", "@cwd", "/w", "@mode", pawl_get_string(s, "@mode"),
                                                                            "@once", "run", "input", pawl_get(s, "say"));
    pawl_code rc;

    (void)arg;
    if (rules != NULL)
        input = pawl_pack(s, "{s:s,s:s,s:s,s:v,s:v}",
                          "@cwd", "/w", "@mode", pawl_get_string(s, "@mode"), "@once", "run", "@policy", rules, "input", pawl_get(s, "say"));
    if ((rc = pawl_spawn(s, "searcher", input, &out)) != PAWL_OK)
        return rc;
    pawl_set(s, "out", out);
    return PAWL_OK;
}

static pawl_machine *graph_machine(void)
{
    pawl_err err = {0};
    pawl_graph *g = pawl_graph_new("graph", 1);
    pawl_machine *m;

    pawl_graph_channel(g, "@mode", PAWL_RULE_LAST);
    pawl_graph_channel(g, "@policy", PAWL_RULE_LAST);
    pawl_graph_channel(g, "@grants", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "say", PAWL_RULE_LAST);
    pawl_graph_channel(g, "out", PAWL_RULE_LAST);
    pawl_graph_node(g, "agent", begins, NULL);
    pawl_graph_edge(g, PAWL_START, "agent");
    pawl_graph_edge(g, "agent", PAWL_END);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* A run "r" of it in a file, whose agent is told `script`. */
static void graph_begins(stage *g, unsigned threads, const char *mode, const char *script, pawl_watch_fn *watch, void *ctx)
{
    char input[600];
    pawl_err err = {0};

    stage_begin(g);
    path_new("host");
    g->e = host_engine(g, file_store(), threads);
    said(pawl_engine_add(g->e, graph_machine(), &err), &err);
    pawl_engine_watch(g->e, watch, ctx);
    if ((g->h = pawl_host_new(g->e, file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    snprintf(input, sizeof input, "{\"@mode\":\"%s\",\"say\":\"%s\"}", mode, script);
    said(pawl_host_spawn(g->h, "graph", "r", input, NULL, &err), &err);
}

static void update_left(const char *value)
{
    pawl_delivery d = { .id = value, .kind = PAWL_DELIVER_UPDATE, .by = "ann", .value = { value, strlen(value) } };
    pawl_store *s = file_store();
    pawl_err err = {0};

    said(s->verbs->deliver(s, "r", &d, &err), &err);
    pawl_store_free(s);
}

static bool see_child(void *ctx, const pawl_head *head)
{
    if (head->parent != NULL)
        snprintf(ctx, 64, "%s", head->run);
    return head->parent == NULL;
}

/* As soon as it is there. */
static const char *child_of(stage *g)
{
    static char run[64];
    pawl_err err = {0};
    int tries = 0;

    for (run[0] = '\0'; run[0] == '\0'; again(&tries))
        said(pawl_host_list(g->h, NULL, see_child, run, &err), &err);
    return run;
}

/* As it is stored now, or as soon as it is so. */
static void child_comes_to(stage *g, const char *channel, const char *json)
{
    pawl_store *s = file_store();
    const char *run = child_of(g);
    int tries = 0;

    for (bool there = false; !there; again(&tries)) {
        pawl_state *st = NULL;
        pawl_err err = {0};
        buf now;

        said(pawl_history_state(s, run, 0, &st, &err), &err);
        buf_init(&now, NULL);
        if (pawl_state_get(st, channel) != NULL)
            canon(&now, pawl_state_get(st, channel));
        there = now.size == strlen(json) && memcmp(now.data, json, now.size) == 0;
        buf_free(&now);
        pawl_state_free(st);
    }
    pawl_store_free(s);
}

static void run_ends(stage *g, const char *log, const char *talk)
{
    pawl_handle *a = found(g, "r");
    pawl_head head;
    int tries = 0;

    pawl_handle_free(a);
    for (bool over = false; !over; again(&tries)) {
        pawl_store *s = file_store();

        over = s->verbs->head(s, "r", &head, NULL) == PAWL_OK && head.over && head.status == PAWL_STATUS_COMPLETED;
        pawl_store_free(s);
    }
    pawl_host_drain(g->h);
    CHECK_STR(g->log, log);
    talk_is(g, child_of(g), talk);
    host_end(g);
}

/* ---- what it may not do any more ------------------------------------------------------------------------ */

#define PLAN "denied by plan mode, which only reads"

PAWL_TEST(test_P1_E11_an_agent_of_a_graph_comes_into_plan_mode_with_it_and_stays_there)
{
    stage g;

    graph_begins(&g, 3, "bypassPermissions", "both", NULL, NULL);
    stage_waits(&g, &g.working, 1);
    update_left("{\"@mode\":\"plan\"}");
    child_comes_to(&g, "@mode", "\"plan\"");
    update_left("{\"@mode\":\"bypassPermissions\"}");
    child_comes_to(&g, "@rights", "\"bypassPermissions\"");
    child_comes_to(&g, "@mode", "\"plan\"");
    gate_opens(&g);
    run_ends(&g, "b1\n", "user=both\nassistant=-\ntool b1=tool-bash did b1\n"
                         "tool e1!=Error: Permission denied for tool: edit_file: " PLAN ": /w/a\nassistant=so\n");
}

/* All while one superstep is open: the last of them holds. */
PAWL_TEST(test_P1_E11_an_agent_of_a_graph_goes_by_the_newest_rules_of_its_run)
{
    stage g;

    graph_begins(&g, 3, "bypassPermissions", "pair", NULL, NULL);
    stage_waits(&g, &g.working, 1);
    update_left("{\"@policy\":{\"deny\":[\"Bash(ls:*)\"]}}");
    update_left("{\"@policy\":{\"deny\":[\"Bash(make:*)\"]}}");
    update_left("{\"@policy\":{\"deny\":[\"Bash(rm:*)\"]}}");
    child_comes_to(&g, "@policy", "{\"deny\":[\"Bash(rm:*)\"]}");
    gate_opens(&g);
    run_ends(&g, "b1\n", "user=pair\nassistant=-\ntool b1=tool-bash did b1\n"
                         "tool b2!=Error: Permission denied for tool: bash: denied by the rule Bash(rm:*): rm x\nassistant=so\n");
}

/* What waits for a person is decided anew. */
PAWL_TEST(test_W6_what_an_agent_of_a_graph_has_asked_is_decided_by_the_new_mode)
{
    pawl_handle *child;
    stage g;

    graph_begins(&g, 2, "default", "use edit_file e1 {\\\"file_path\\\":\\\"/w/a\\\"}", NULL, NULL);
    child = found(&g, child_of(&g));
    CHECK_STR(comes_to(child, PAWL_UNTIL_ASKS), "waiting_for_permission");
    update_left("{\"@mode\":\"plan\"}");
    CHECK_STR(comes_to(child, PAWL_UNTIL_OVER), "over");
    pawl_handle_free(child);
    run_ends(&g, "", "user=use edit_file e1 {\"file_path\":\"/w/a\"}\nassistant=-\n"
                     "tool e1!=Error: Permission denied for tool: edit_file: " PLAN ": /w/a\nassistant=so\n");
}

/* ---- before it is there ------------------------------------------------------------------------------------- */

/* As soon as the run has said that there shall be an agent. */
static void spawn_watched(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    static const char value[] = "{\"@mode\":\"plan\",\"@policy\":{\"deny\":[\"Bash\"]}}";
    pawl_delivery d = { .id = "early", .kind = PAWL_DELIVER_UPDATE, .by = "ann", .value = { value, sizeof value - 1 } };
    pawl_store *s;

    (void)entry;
    if (strcmp(pawl_state_run(st), "r") != 0 || *(bool *)ctx)
        return;
    s = pawl_store_sqlite(path, NULL, NULL);
    *(bool *)ctx = s != NULL && s->verbs->deliver(s, "r", &d, NULL) == PAWL_OK;
    pawl_store_free(s);
}

PAWL_TEST(test_P1_E11_an_agent_that_is_not_there_yet_begins_with_what_its_graph_has_then)
{
    pawl_state *st = NULL;
    pawl_err err = {0};
    bool left = false;
    stage g;
    int tries = 0;

    graph_begins(&g, 0, "bypassPermissions", "say done", spawn_watched, &left);
    for (bool over = false; !over; again(&tries)) {
        pawl_store *s = file_store();
        pawl_head head;

        over = s->verbs->head(s, "r", &head, NULL) == PAWL_OK && head.over;
        pawl_store_free(s);
    }
    pawl_host_drain(g.h);
    CHECK(left);
    for (uint64_t seq = 1; st == NULL || pawl_value_size(pawl_state_get(st, "messages")) < 2; seq++) {  /* until its model has said something */
        pawl_state_free(st);
        st = NULL;
        said(pawl_history_state(pawl_engine_store(g.e), child_of(&g), seq, &st, &err), &err);
        if (pawl_value_size(pawl_state_get(st, "messages")) == 2) {
            CHECK_STR(pawl_value_string(pawl_state_get(st, "@mode")), "plan");
            CHECK_INT(pawl_value_size(pawl_value_get(pawl_state_get(st, "@policy"), "deny")), 1);
        }
    }
    pawl_state_free(st);
    host_end(&g);
}
