/* scene_machines.c - the machines of scenes.c, one for each way in which a run can go; more in scene_machines_2.c. */
#include "scene_machines.h"

#include "graph/graph.h"

pawl_graph *scene_graph(const char *name, uint32_t version, const pawl_alloc *alloc)
{
    pawl_graph *g = pawl_graph_new_in(name, version, alloc);

    if (g != NULL && alloc != NULL)
        g->mem.chunk_bytes = 0;     /* each piece is asked for by itself: a march can refuse every one */
    return g;
}

/* ---- letter: linear steps ------------------------------------------------------------------ */

static pawl_code letter(pawl_step *s, const pawl_value *input, void *arg)
{
    const pawl_value *draft, *notes, *answer;
    pawl_code rc;

    (void)arg;
    if ((rc = pawl_call(s, "llm", pawl_pack(s, "{s:v,s:i}", "about", input, "words", (int64_t)100), &draft)) != PAWL_OK)
        return rc;
    if ((rc = pawl_sleep(s, 500)) != PAWL_OK)
        return rc;
    if ((rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "review", draft), &notes)) != PAWL_OK)
        return rc;
    if ((rc = pawl_ask(s, pawl_pack(s, "s", "send it?"), &answer)) != PAWL_OK)
        return rc;
    pawl_set(s, "draft", draft);
    pawl_set(s, "notes", notes);
    pawl_set_bool(s, "sent", pawl_value_bool(answer));
    pawl_emit(s, "artifact", pawl_pack(s, "{s:v,s:s}", "text", draft, "kind", "letter"));
    return PAWL_OK;
}

pawl_machine *machine_letter(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "draft" }, { .name = "notes" }, { .name = "sent" } };

    return pawl_flow_linear("letter", 1, channels, 3, letter, NULL, 0, alloc, err);
}

/* ---- desk: a reducer ----------------------------------------------------------------------- */

static const pawl_value *both(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg)
{
    (void)arg;
    return pawl_pack(s, "{s:v,s:v}", "is", update, "was", old);
}

static pawl_code desk(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START) {
        pawl_flow_call(s, "look", "search", pawl_pack(s, "{s:v}", "for", pawl_get(s, "topic")));
        pawl_flow_sleep(s, "late", 60000);
        return PAWL_OK;
    }
    if (h->kind == PAWL_EV_RECEIPT && h->tag != NULL && h->outcome == PAWL_OUTCOME_DONE) {
        const pawl_question q = { .prompt = pawl_pack(s, "s", "which one?"), .options = pawl_json(s, "[\"a\",\"b\"]") };

        pawl_set(s, "found", h->value);
        pawl_emit(s, "found", h->value);
        pawl_flow_ask(s, "pick", &q);
        return PAWL_OK;
    }
    if (h->kind == PAWL_EV_ANSWER) {
        pawl_set(s, "history", h->value);
        pawl_set_int(s, "answers", 1);
        return PAWL_OK;
    }
    if (h->kind == PAWL_EV_SIGNAL) {
        pawl_set(s, "history", pawl_pack(s, "{s:s}", "signal", h->tag));
        return PAWL_OK;
    }
    if (h->kind == PAWL_EV_TIMER)
        return pawl_flow_complete(s);
    return h->kind == PAWL_EV_UPDATE ? PAWL_OK : PAWL_IGNORED;
}

pawl_machine *machine_desk(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "topic" },
                                      { .name = "found", .rule = PAWL_RULE_APPEND, .first = "[\"nothing yet\"]" },
                                      { .name = "history", .rule = PAWL_RULE_CUSTOM, .merge = both },
                                      { .name = "answers", .rule = PAWL_RULE_SUM, .first = "0" } };

    return pawl_flow_reducer("desk", 3, channels, 4, desk, NULL, alloc, err);
}

/* ---- survey: a step table ------------------------------------------------------------------- */

static pawl_code survey_ask(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    return pawl_flow_await(s, "reply", pawl_pack(s, "{s:v}", "so far", payload != NULL ? payload : input),
                           pawl_pack(s, "{s:i}", "asked", pawl_value_int(pawl_value_get(payload, "asked")) + 1));
}

static pawl_code survey_take(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    (void)arg;
    pawl_set(s, "replies", input);
    if (pawl_value_int(pawl_value_get(payload, "asked")) < 2)
        return pawl_flow_goto(s, "ask", payload);
    return pawl_flow_goto(s, "sum", pawl_pack(s, "{s:v}", "replies", pawl_get(s, "replies")));
}

static pawl_code survey_sum(pawl_step *s, const pawl_value *payload, const pawl_value *input, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "llm", payload, &receipt);

    (void)arg;
    (void)input;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "payload", receipt);
    return pawl_flow_complete(s);
}

pawl_machine *machine_survey(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "replies", .rule = PAWL_RULE_APPEND } };
    const pawl_flow_step steps[] = { { .name = "ask", .fn = survey_ask, .start = true, .takes_input = true },
                                     { .name = "take", .fn = survey_take, .resumes_from = "ask" },
                                     { .name = "sum", .fn = survey_sum } };

    return pawl_flow_steps("survey", 1, steps, 3, channels, 1, NULL, alloc, err);
}

/* ---- fan: sends, receipts in any order ------------------------------------------------------- */

static pawl_code fan_plan(pawl_step *s, void *arg)
{
    const pawl_value *list_of, *v;
    pawl_iter it;
    pawl_code rc = pawl_call(s, "plan", pawl_pack(s, "{s:v}", "topic", pawl_get(s, "topic")), &list_of);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    it = pawl_iter_of(list_of);
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        pawl_send(s, "worker", pawl_pack(s, "{s:v}", "part", v));
    return pawl_goto(s, PAWL_END);
}

static pawl_code fan_worker(pawl_step *s, void *arg)
{
    const pawl_value *receipt, *more;
    pawl_code rc = pawl_call(s, "work", pawl_pack(s, "{s:v,s:u}", "args", pawl_args(s), "dice", pawl_random(s) % 1000), &receipt);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    if (pawl_value_bool(pawl_value_get(receipt, "again")) && (rc = pawl_call(s, "work", pawl_args(s), &more)) != PAWL_OK)
        return rc;
    pawl_set(s, "found", receipt);
    pawl_extend(s, "words", pawl_value_get(receipt, "words"));
    pawl_set_int(s, "count", 1);
    pawl_emit(s, "progress", pawl_value_get(receipt, "text"));
    return pawl_follow(s);
}

static pawl_code fan_gather(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "result", pawl_pack(s, "{s:v,s:i}", "found", pawl_get(s, "found"), "count", pawl_get_int(s, "count")));
    return PAWL_OK;
}

pawl_machine *machine_fan(const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = scene_graph("fan", 1, alloc);

    pawl_graph_channel(g, "topic", PAWL_RULE_LAST);
    pawl_graph_channel(g, "found", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "words", PAWL_RULE_UNION);
    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    pawl_graph_channel(g, "result", PAWL_RULE_LAST);
    pawl_graph_node(g, "plan", fan_plan, NULL);
    pawl_graph_node(g, "worker", fan_worker, NULL);
    pawl_graph_node(g, "gather", fan_gather, NULL);
    pawl_graph_goto(g, "plan", "worker", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "plan", NULL);
    pawl_graph_chain(g, "worker", "gather", PAWL_END, NULL);
    pawl_graph_max_concurrency(g, 2);
    return pawl_graph_compile(g, err);
}

/* ---- gate: pauses of every kind, schemas, updates with an answer ------------------------------- */

static pawl_code gate_draft(pawl_step *s, void *arg)
{
    const pawl_value *draft;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "request", pawl_get(s, "request")), &draft);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "draft", draft);
    return pawl_interrupt(s, pawl_pack(s, "s", "any wish?"), "wish");
}

static pawl_code gate_rate(pawl_step *s, void *arg)
{
    const pawl_value *stars, *word;
    const pawl_question q = { .slot = "stars", .prompt = pawl_pack(s, "s", "how many stars?"), .asked_of = "editor",
                              .schema = pawl_json(s, "{\"type\":\"integer\",\"minimum\":1,\"maximum\":5}"),
                              .otherwise = pawl_json(s, "3"), .timeout_ms = 10000 };
    pawl_code one = pawl_ask_with(s, &q, &stars), two = pawl_ask(s, pawl_pack(s, "s", "a word?"), &word);

    (void)arg;
    if (one != PAWL_OK || two != PAWL_OK)
        return one != PAWL_OK ? one : two;
    pawl_set(s, "stars", stars);
    pawl_set(s, "word", word);
    return PAWL_OK;
}

static pawl_code gate_publish(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_emit(s, "artifact", pawl_get(s, "draft"));
    return PAWL_OK;
}

pawl_machine *machine_gate(const pawl_alloc *alloc, pawl_err *err)
{
    const char *const names[] = { "request", "draft", "wish", "stars", "word" };
    pawl_graph *g = scene_graph("gate", 1, alloc);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pawl_graph_channel(g, names[i], PAWL_RULE_LAST);
    pawl_graph_node(g, "draft", gate_draft, NULL);
    pawl_graph_node(g, "rate", gate_rate, NULL);
    pawl_graph_node(g, "publish", gate_publish, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "rate", "publish", PAWL_END, NULL);
    pawl_graph_interrupt_before(g, "rate");
    pawl_graph_interrupt_after(g, "rate");
    pawl_graph_gate(g, "publish", "publish it?");
    pawl_graph_gate_no(g, "publish", "draft");
    return pawl_graph_compile(g, err);
}

/* ---- nest: subgraphs in subgraphs, pauses inside ------------------------------------------------ */

static pawl_code nest_call(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:s}", "node", pawl_node_name(s)), &receipt);

    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, arg, receipt);
    return PAWL_OK;
}

static pawl_code nest_ask(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "inside?"), &answer);

    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, arg, answer);
    return PAWL_OK;
}

static pawl_graph *nest_deep(const pawl_alloc *alloc)
{
    pawl_graph *g = scene_graph("deep", 1, alloc);

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_node(g, "ask", nest_ask, "log");
    pawl_graph_node(g, "call", nest_call, "log");
    pawl_graph_chain(g, PAWL_START, "ask", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "call", PAWL_END, NULL);
    return g;
}

static pawl_graph *nest_middle(const pawl_alloc *alloc)
{
    pawl_graph *g = scene_graph("middle", 1, alloc), *deep = nest_deep(alloc);

    if (deep == NULL) {         /* a node without a graph is a fault; this is memory */
        pawl_graph_free(g);
        return NULL;
    }

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "own", PAWL_RULE_LAST);
    pawl_graph_node(g, "first", nest_call, "own");
    pawl_graph_sub(g, "deep", deep);
    pawl_graph_map(g, "deep", "log", "log", true, true);
    pawl_graph_chain(g, PAWL_START, "first", "deep", PAWL_END, NULL);
    pawl_graph_interrupt_after(g, "first");
    return g;
}

pawl_machine *machine_nest(const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = scene_graph("nest", 1, alloc), *middle = nest_middle(alloc);

    if (middle == NULL) {
        pawl_graph_free(g);
        g = NULL;
    }

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "side", PAWL_RULE_LAST);
    pawl_graph_sub(g, "middle", middle);
    pawl_graph_map(g, "middle", "log", "log", true, true);
    pawl_graph_node(g, "side", nest_call, "side");
    pawl_graph_node(g, "after", nest_call, "log");
    pawl_graph_edge(g, PAWL_START, "middle");
    pawl_graph_edge(g, PAWL_START, "side");
    pawl_graph_join(g, "after", "middle", "side", NULL);
    pawl_graph_edge(g, "after", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- joins: branches of different length, k of n, loops, a deferred node -------------------------- */

static pawl_code joins_note(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "path", pawl_node_name(s));
    pawl_set_int(s, "steps", 1);
    return PAWL_OK;
}

static const char *joins_again(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "steps") < 12 ? "split" : NULL;
}

static bool joins_even(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "steps") % 2 == 0;
}

pawl_machine *machine_joins(const pawl_alloc *alloc, pawl_err *err)
{
    const char *const names[] = { "split", "left", "right", "far", "meet", "any", "slow", "slower", "quick", "even", "odd", "last" };
    const char *const one_of[] = { "left", "far" }, *const first_of[] = { "left", "slower" };
    pawl_graph *g = scene_graph("joins", 1, alloc);

    pawl_graph_channel(g, "path", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "steps", PAWL_RULE_SUM);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pawl_graph_node(g, names[i], joins_note, NULL);
    pawl_graph_work(g, "outside", "look");
    pawl_graph_chain(g, PAWL_START, "split", "left", NULL);
    pawl_graph_chain(g, "split", "right", "far", NULL);
    pawl_graph_join(g, "meet", "left", "far", NULL);
    pawl_graph_join_of(g, "any", one_of, 2, 1, PAWL_JOIN_IGNORES_REST);
    pawl_graph_chain(g, "split", "slow", "slower", NULL);
    pawl_graph_join_of(g, "quick", first_of, 2, 1, PAWL_JOIN_CANCELS_REST);
    pawl_graph_edge(g, "quick", PAWL_END);
    pawl_graph_edge(g, "any", "outside");
    pawl_graph_edge(g, "outside", PAWL_END);
    pawl_graph_route(g, "meet", joins_again, NULL, "last", "split", NULL);
    pawl_graph_when(g, "last", joins_even, NULL, "even");
    pawl_graph_when(g, "last", NULL, NULL, "odd");
    pawl_graph_chain(g, "even", PAWL_END, NULL);
    pawl_graph_chain(g, "odd", PAWL_END, NULL);
    pawl_graph_edge(g, "split", "last");
    pawl_graph_defer(g, "last");
    return pawl_graph_compile(g, err);
}
