/* trouble.c - a graph in the simulator: kills, power cuts, rival workers and a failing store. */
#include <pawl/pawl.h>
#include <stdio.h>

static pawl_code order(pawl_step *s, void *effect)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, effect, pawl_pack(s, "{s:v}", "what", pawl_get(s, "what")), &receipt);

    if (rc == PAWL_OK)
        pawl_set(s, pawl_node_name(s), receipt);
    return rc;
}

static pawl_machine *shop(void *ctx, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("shop", 1);

    (void)ctx;
    pawl_graph_input(g, "what", NULL);
    pawl_graph_effect(g, "charge", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_effect(g, "ship", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 5, .initial_ms = 100 } });
    pawl_graph_node(g, "charged", order, "charge");
    pawl_graph_node(g, "shipped", order, "ship");
    pawl_graph_chain(g, PAWL_START, "charged", "shipped", PAWL_END, NULL);
    pawl_graph_gate(g, "charged", "Charge the card?");
    return pawl_graph_compile(g, err);
}

static uint64_t orders;

static pawl_code forget(pawl_step *s, void *arg)    /* a node that is not pure: what it says changes when it is run again */
{
    (void)arg;
    pawl_set_int(s, "number", (int64_t)++orders);
    return pawl_follow(s);
}

static pawl_machine *careless(void *ctx, pawl_err *err)
{
    pawl_graph *g = pawl_graph_new("careless", 1);

    (void)ctx;
    pawl_graph_node(g, "number", forget, NULL);
    pawl_graph_chain(g, PAWL_START, "number", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

static bool stands(const char *name, const pawl_sim_setup *setup)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        pawl_sim_report report;
        pawl_err err = {0};
        pawl_code rc = pawl_sim(setup, seed, &report, &err);

        if (rc != PAWL_OK)
            printf("%s: seed %d: %s does not hold for run %s\n", name, (int)seed, report.oracle, report.run);
        pawl_sim_report_free(&report);              /* report.trace says all that led to it */
        if (rc != PAWL_OK)
            return false;
    }
    printf("%s: stands 200 seeds of trouble\n", name);
    return true;
}

int main(void)
{
    static const char *const inputs[] = { "{\"what\":\"a kite\"}", "{\"what\":\"a drum\"}" };

    return !stands("shop", &(pawl_sim_setup){ .machine = shop, .inputs = inputs, .ninputs = 2, .workers = 3 }) ||
           stands("careless", &(pawl_sim_setup){ .machine = careless });
}
