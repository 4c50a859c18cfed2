/* trials.c - machines for the simulator: calls of each class, fan-out, waits, timers, signals, a subgraph, snapshots, children, compensation. */
#include "lib/trials.h"

#include "pawl/flow.h"

#include <assert.h>
#include <string.h>

/* ---- calls ---------------------------------------------------------------------------------------- */

pawl_code trial_call(pawl_step *s, void *effect)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, effect, pawl_pack(s, "{s:s,s:i}", "node", pawl_node_name(s), "n", pawl_get_int(s, "n")), &receipt);

    if (rc != PAWL_OK && rc != PAWL_EFFECT)
        return rc;
    pawl_set(s, "log", rc == PAWL_OK ? receipt : pawl_pack(s, "{s:s}", "lost", pawl_node_name(s)));
    pawl_set_int(s, "n", 1);
    return PAWL_OK;
}

static void effects(pawl_graph *g)
{
    pawl_graph_effect(g, "once", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_effect(g, "again", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 4, .initial_ms = 50, .jitter = true } });
    pawl_graph_effect(g, "pure", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
    pawl_graph_effect(g, "timed", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 5, .initial_ms = 20 },
                                                  .attempt_timeout_ms = 300 });
}

static pawl_graph *graph(const char *name)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_channel(g, "said", PAWL_RULE_APPEND);
    effects(g);
    return g;
}

static pawl_machine *chain(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("chain");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "once");
    pawl_graph_node(g, "b", trial_call, "again");
    pawl_graph_node(g, "c", trial_call, "plain");        /* not declared: at-least-once */
    pawl_graph_node(g, "d", trial_call, "once");
    pawl_graph_node(g, "e", trial_call, "pure");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", "d", "e", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- parallel tasks ----------------------------------------------------------------------------------- */

static pawl_code plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++)
        pawl_send(s, "work", pawl_pack(s, "{s:i}", "part", (int64_t)i));
    return PAWL_OK;
}

static pawl_code part(pawl_step *s, void *arg)
{
    const pawl_value *got[2];
    int64_t n = pawl_value_int(pawl_value_get(pawl_args(s), "part"));
    pawl_code one = pawl_call(s, n % 2 == 0 ? "again" : "plain", pawl_args(s), &got[0]);
    pawl_code two = pawl_call(s, "pure", pawl_args(s), &got[1]);

    (void)arg;
    if (one != PAWL_OK || two != PAWL_OK)
        return one != PAWL_OK ? one : two;
    pawl_set(s, "log", pawl_pack(s, "[v,v]", got[0], got[1]));
    pawl_set_int(s, "n", n);
    return PAWL_OK;
}

static pawl_machine *fan(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("fan");

    (void)ctx;
    pawl_graph_node(g, "plan", plan, NULL);
    pawl_graph_node(g, "work", part, NULL);
    pawl_graph_node(g, "sum", trial_call, "again");
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_edge(g, "work", "sum");
    pawl_graph_edge(g, "sum", PAWL_END);
    return pawl_graph_compile(g, err);
}

static pawl_machine *join(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("join");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "again");
    pawl_graph_node(g, "b", trial_call, "timed");
    pawl_graph_node(g, "c", trial_call, "once");
    pawl_graph_node(g, "d", trial_call, "plain");
    pawl_graph_node(g, "e", trial_call, "pure");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_edge(g, "c", "d");
    pawl_graph_join(g, "e", "a", "b", "d", NULL);
    pawl_graph_edge(g, "e", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- waits, timers, signals --------------------------------------------------------------------------- */

static pawl_code ask(pawl_step *s, void *arg)
{
    const pawl_question colour = { .prompt = pawl_json(s, "\"which?\""), .options = pawl_json(s, "[\"red\",\"green\"]") };
    const pawl_question count = { .prompt = pawl_json(s, "\"how many?\""), .slot = "count",
                                  .schema = pawl_json(s, "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":3}}}") };
    const pawl_value *one, *two;
    pawl_code rc = pawl_ask_with(s, &colour, &one), second = pawl_ask_with(s, &count, &two);

    (void)arg;
    if (rc != PAWL_OK || second != PAWL_OK)
        return rc != PAWL_OK ? rc : second;
    pawl_set(s, "said", pawl_pack(s, "[v,v]", one, two));
    return PAWL_OK;
}

static pawl_code deadline(pawl_step *s, void *arg)
{
    const pawl_question q = { .prompt = pawl_json(s, "\"still there?\""), .timeout_ms = 700, .otherwise = pawl_json(s, "\"nobody\"") };
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "said", answer);
    return rc;
}

static pawl_machine *waits(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("waits");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "again");
    pawl_graph_node(g, "ask", ask, NULL);
    pawl_graph_node(g, "deadline", deadline, NULL);
    pawl_graph_node(g, "b", trial_call, "once");
    pawl_graph_chain(g, PAWL_START, "a", "ask", "deadline", "b", PAWL_END, NULL);
    pawl_graph_gate(g, "b", "go on?");
    return pawl_graph_compile(g, err);
}

static pawl_code nap(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_sleep(s, 900);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "said", pawl_json(s, "\"slept\""));
    return rc;
}

static pawl_code heard(pawl_step *s, void *name)
{
    const pawl_value *value;
    pawl_code rc = pawl_await_signal(s, name, &value);

    if (rc == PAWL_OK)
        pawl_set(s, "said", value);
    return rc;
}

static pawl_machine *timers(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("timers");

    (void)ctx;
    pawl_graph_node(g, "a", nap, NULL);
    pawl_graph_node(g, "b", trial_call, "timed");
    pawl_graph_node(g, "c", deadline, NULL);
    pawl_graph_node(g, "d", trial_call, "plain");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", "d", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

static pawl_machine *signals(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("signals");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "plain");
    pawl_graph_node(g, "go", heard, "go");
    pawl_graph_node(g, "b", trial_call, "once");
    pawl_graph_node(g, "stop", heard, "stop");
    pawl_graph_chain(g, PAWL_START, "a", "go", "b", "stop", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- graphs in graphs, long runs, flows --------------------------------------------------------------------- */

static pawl_machine *nested(void *ctx, pawl_err *err)
{
    pawl_graph *inner = graph("inner"), *g = graph("nested");

    (void)ctx;
    pawl_graph_node(inner, "x", trial_call, "again");
    pawl_graph_node(inner, "ask", ask, NULL);
    pawl_graph_node(inner, "y", trial_call, "once");
    pawl_graph_chain(inner, PAWL_START, "x", "ask", "y", PAWL_END, NULL);
    pawl_graph_sub(g, "desk", inner);
    pawl_graph_map(g, "desk", "log", "log", false, true);
    pawl_graph_map(g, "desk", "said", "said", false, true);
    pawl_graph_node(g, "a", trial_call, "plain");
    pawl_graph_node(g, "b", trial_call, "again");
    pawl_graph_edge(g, PAWL_START, "desk");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_join(g, "b", "desk", "a", NULL);
    pawl_graph_edge(g, "b", PAWL_END);
    return pawl_graph_compile(g, err);
}

enum { ROUNDS = 40 };

static pawl_code round_node(pawl_step *s, void *arg)
{
    int64_t n = pawl_get_int(s, "n");
    const pawl_value *receipt = NULL;
    pawl_code rc = n % 4 == 0 ? pawl_call(s, "again", pawl_pack(s, "{s:i}", "n", n), &receipt) : PAWL_OK;

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "log", pawl_pack(s, "{s:i,s:i,s:s}", "n", n, "chance", (int64_t)(pawl_random(s) >> 32), "text",
                                 "as long as a line of talk mostly is, so that the tail grows and a snapshot is due now and then"));
    pawl_set_int(s, "n", 1);
    return PAWL_OK;
}

static bool more_rounds(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "n") < ROUNDS;
}

static pawl_machine *rounds(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("rounds");

    (void)ctx;
    pawl_graph_node(g, "round", round_node, NULL);
    pawl_graph_edge(g, PAWL_START, "round");
    pawl_graph_when(g, "round", more_rounds, NULL, "round");
    pawl_graph_when(g, "round", NULL, NULL, PAWL_END);
    return pawl_graph_compile(g, err);
}

/* Sums its signals; four calls in sequence count to the end. */
static pawl_code reduce(pawl_step *s, const pawl_input_event *h, void *arg)
{
    int64_t n = pawl_get_int(s, "n");

    (void)arg;
    if (h->kind == PAWL_EV_SIGNAL) {
        pawl_set_int(s, "order", (pawl_get_int(s, "order") * 31 + pawl_value_int(pawl_value_get(h->value, "n"))) % 1000003);
        pawl_set_int(s, "sum", pawl_get_int(s, "sum") + pawl_value_int(pawl_value_get(h->value, "n")));
        pawl_set_int(s, "heard", pawl_get_int(s, "heard") + 1);
    } else if (h->kind == PAWL_EV_START || h->kind == PAWL_EV_RECEIPT || h->kind == PAWL_EV_TIMER) {
        pawl_set_int(s, "n", n + 1);
        if (n == 2)
            pawl_flow_sleep(s, "nap", 400);
        else if (n < 6)
            pawl_flow_call(s, "next", n % 2 == 0 ? "plain" : "again", pawl_pack(s, "{s:i,s:s}", "n", n, "pad",
                           "words that make the tail of a journal outgrow its snapshot, which is what this is for, and then some more of them"));
    } else {
        return PAWL_IGNORED;
    }
    return pawl_get_int(s, "heard") == 24 && pawl_get_int(s, "n") >= 7 ? pawl_flow_complete(s) : PAWL_OK;
}

static pawl_machine *reducer(void *ctx, pawl_err *err)
{
    const pawl_channel channels[] = { { .name = "n" }, { .name = "sum" }, { .name = "heard" }, { .name = "order" } };
    pawl_machine *m = pawl_flow_reducer("reducer", 1, channels, 4, reduce, NULL, NULL, err);

    (void)ctx;
    pawl_flow_effect(m, "again", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 3, .initial_ms = 30 } }, err);
    return m;
}

/* ---- children, compensation, retries -------------------------------------------------------------------------- */

static pawl_machine *kid(void *ctx, unsigned index, pawl_err *err)
{
    pawl_graph *g = index > 0 ? NULL : graph("kid");

    (void)ctx;
    if (g == NULL)
        return NULL;
    pawl_graph_node(g, "a", trial_call, "again");
    pawl_graph_node(g, "b", trial_call, "once");
    pawl_graph_node(g, "c", deadline, NULL);
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

static pawl_code spawn_node(pawl_step *s, void *arg)
{
    const pawl_value *one, *two;
    pawl_code first = pawl_spawn(s, "kid", pawl_json(s, "{\"n\":1}"), &one), second = pawl_spawn(s, "kid", pawl_json(s, "{\"n\":2}"), &two);

    (void)arg;
    if (first != PAWL_OK || second != PAWL_OK)
        return first != PAWL_OK ? first : second;
    pawl_set(s, "log", one);
    pawl_set(s, "said", two);
    return PAWL_OK;
}

static pawl_machine *parents(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("parents");

    (void)ctx;
    pawl_graph_node(g, "spawn", spawn_node, NULL);
    pawl_graph_node(g, "last", trial_call, "plain");
    pawl_graph_chain(g, PAWL_START, "spawn", "last", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* Two commands succeed, the third fails for good: both are compensated. */
static pawl_code refuse(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)arg;
    return pawl_reply_fail(reply, PAWL_EFFECT, "%s: never", job->effect);
}

const pawl_sim_effect trial_refusals[1] = { { "refused", refuse, NULL } };

pawl_code trial_must(pawl_step *s, void *effect)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, effect, pawl_pack(s, "{s:s}", "node", pawl_node_name(s)), &receipt);

    if (rc == PAWL_EFFECT)
        return pawl_fail(s, PAWL_EFFECT, "%s did not work", pawl_node_name(s));
    if (rc == PAWL_OK)
        pawl_set(s, "log", receipt);
    return rc;
}

static pawl_machine *undone(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("undone");

    (void)ctx;
    pawl_graph_effect(g, "book", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook", .on_unknown = "look" });
    pawl_graph_effect(g, "pay", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook",
                                                .retry = { .max_attempts = 3, .initial_ms = 40 } });
    pawl_graph_effect(g, "unbook", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 4, .initial_ms = 40 } });
    pawl_graph_effect(g, "sign", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .on_unknown = "look" });
    pawl_graph_node(g, "a", trial_must, "book");
    pawl_graph_node(g, "b", trial_must, "pay");
    pawl_graph_node(g, "c", trial_must, "sign");
    pawl_graph_node(g, "d", trial_must, "refused");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", "d", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const char *const inputs[] = { "{\"n\":0}", "{\"n\":100}" };
static const pawl_sim_signal both[] = { { "go", "\"went\"" }, { "stop", "{\"why\":\"late\"}" } };
#define PAD "so many words that a journal which is made of such signals soon outgrows its snapshot, and one is taken somewhere amid " \
            "them; for that they have to be as long as what people say to each other, and not as short as what machines do"
#define ADD(n) { "add", "{\"n\":" #n ",\"pad\":\"" PAD "\"}" }
static const pawl_sim_signal many[] = { ADD(1), ADD(2), ADD(3), ADD(4), ADD(5), ADD(6), ADD(7), ADD(8), ADD(9), ADD(10), ADD(11), ADD(12), ADD(13),
    ADD(14), ADD(15), ADD(16), ADD(17), ADD(18), ADD(19), ADD(20), ADD(21), ADD(22), ADD(23), ADD(24) };
static const pawl_sim_trouble normal = { .kill = 4, .power = 3, .restart = 50, .fail = 10, .unsure = 15, .delay = 15, .rival = 30, .refuse = 80,
    .lose = 80, .late = 80, .slow = 80, .delay_ms = 1500, .late_ms = 2000, .slow_ms = 400, .lease_ms = 1000, .normal = true };

static const trial first[] = {
    { "chain", { .machine = chain, .inputs = inputs, .ninputs = 2 } },
    { "fan", { .machine = fan, .workers = 3 } },
    { "join", { .machine = join, .inputs = inputs, .ninputs = 2 } },
    { "waits", { .machine = waits } },
    { "timers", { .machine = timers, .runs = 3 } },
    { "signals", { .machine = signals, .signals = both, .nsignals = 2 } },
    { "nested", { .machine = nested, .workers = 3 } },
    { "rounds", { .machine = rounds, .runs = 1 } },
    { "reducer", { .machine = reducer, .signals = many, .nsignals = 24 } },
    { "parents", { .machine = parents, .more = kid } },
    { "undone", { .machine = undone, .effects = trial_refusals, .neffects = 1 } },
    { "canceled", { .machine = waits, .cancel = 700, .runs = 3 } },
};
static_assert(sizeof first / sizeof *first + TRIALS_MORE == TRIALS, "every world has its seeds");

const trial *trial_at(unsigned index)
{
    return index < TRIALS - TRIALS_MORE ? &first[index] : index < TRIALS ? &trials_more[index - (TRIALS - TRIALS_MORE)] : NULL;
}

pawl_code trial_run(uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    pawl_sim_setup setup = trial_at((unsigned)(seed % TRIALS))->setup;
    pawl_sim_trouble t = normal;

    t.kill = (unsigned)(seed / TRIALS % 3) * 4;
    t.rival = (unsigned)(seed / TRIALS % 7) * 10;
    if (seed / TRIALS % 5 == 4 && setup.trouble == NULL)        /* every fifth on a disk that loses unsynced writes */
        setup.trouble = &t;
    return pawl_sim(&setup, seed, report, err);
}
