/* loop.c - machines of one node that goes round. The node tells whoever measures, so that nothing else has to look. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static char note[NOTE_BYTES + 1], message[SAID_BYTES + 1];

static pawl_code node_turn(pawl_step *s, void *arg)
{
    const turns *t = arg;

    if (t->fn != NULL)
        t->fn(t->ctx, pawl_get_int(s, "who"));
    pawl_set_int(s, "count", pawl_get_int(s, "count") + 1);
    pawl_set_string(s, "note", note);
    return pawl_follow(s);
}

static pawl_code node_say(pawl_step *s, void *arg)
{
    const turns *t = arg;

    if (t->fn != NULL)
        t->fn(t->ctx, 0);
    pawl_set_string(s, "messages", message);
    return pawl_follow(s);
}

static pawl_machine *round_machine(pawl_graph *g, pawl_node_fn *fn, turns *t)
{
    memset(note, 'n', NOTE_BYTES);
    memset(message, 'm', SAID_BYTES);
    pawl_graph_node(g, "turn", fn, t);
    pawl_graph_edge(g, PAWL_START, "turn");
    pawl_graph_edge(g, "turn", "turn");
    pawl_graph_max_steps(g, UINT32_MAX);
    return bench_compile(g);
}

pawl_machine *loop_machine(turns *t)
{
    pawl_graph *g = pawl_graph_new("loop", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_channel(g, "note", PAWL_RULE_LAST);
    pawl_graph_input(g, "who", NULL);
    return round_machine(g, node_turn, t);
}

pawl_machine *say_machine(turns *t)
{
    pawl_graph *g = pawl_graph_new("say", 1);

    pawl_graph_channel(g, "messages", PAWL_RULE_APPEND);
    return round_machine(g, node_say, t);
}

/* ---- a hundred sends ------------------------------------------------------------------------- */

enum { SENDS = 100 };

static pawl_code node_plan(pawl_step *s, void *arg)
{
    const turns *t = arg;

    t->fn(t->ctx, 0);
    for (int i = 0; i < SENDS; i++)
        pawl_send(s, "work", pawl_pack(s, "i", (int64_t)i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code node_work(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_int(s, "total", pawl_value_int(pawl_args(s)));
    return pawl_follow(s);
}

pawl_machine *sends_machine(turns *t)
{
    pawl_graph *g = pawl_graph_new("sends", 1);

    pawl_graph_channel(g, "total", PAWL_RULE_SUM);
    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "plan", node_plan, t);
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_node(g, "work", node_work, NULL);
    pawl_graph_node(g, "gather", node_count, NULL);
    pawl_graph_join(g, "gather", "work", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "gather", "plan");
    pawl_graph_max_steps(g, 1000000);
    return bench_compile(g);
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static pawl_code node_nap(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_sleep(s, 3600000);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

pawl_machine *nap_machine(void)
{
    pawl_graph *g = pawl_graph_new("nap", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    pawl_graph_node(g, "nap", node_nap, NULL);
    pawl_graph_chain(g, PAWL_START, "nap", PAWL_END, NULL);
    return bench_compile(g);
}

static pawl_code node_ask(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "Shall it go on?"), &answer);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code node_slow(pawl_step *s, void *arg)
{
    const pawl_value *result;
    pawl_code rc = pawl_call(s, "slow", NULL, &result);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

pawl_machine *ask_machine(void)
{
    static const char *const names[] = { "ask", "slow", "slower" };
    pawl_graph *g = pawl_graph_new("ask", 1);

    pawl_graph_channel(g, "count", PAWL_RULE_LAST);
    for (int i = 0; i < 3; i++) {
        pawl_graph_node(g, names[i], i == 0 ? node_ask : node_slow, NULL);
        pawl_graph_edge(g, PAWL_START, names[i]);
        pawl_graph_edge(g, names[i], PAWL_END);
    }
    return bench_compile(g);
}
