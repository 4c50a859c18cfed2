/* trials_more.c - worlds for what the first ones do not come to: wide groups of counted commands, snapshots amid joins, subgraphs, inverses and
 * doubts, approvals with deadlines, timers side by side, long back-offs, runs that are begun anew. */
#include "lib/trials.h"

#include <string.h>

#define WORDS "a line of talk that is as long as what people say to each other when they have time, so that a journal of such lines outgrows its "
#define PAD WORDS WORDS WORDS WORDS WORDS WORDS

static pawl_graph *graph(const char *name)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_channel(g, "rounds", PAWL_RULE_SUM);
    pawl_graph_channel(g, "note", PAWL_RULE_LAST);
    pawl_graph_effect(g, "sign", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .on_unknown = "look" });
    pawl_graph_effect(g, "stamp", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .on_unknown = "look", .retry = { .max_attempts = 3, .initial_ms = 100 } });
    pawl_graph_effect(g, "ask", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_effect(g, "again", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 4, .initial_ms = 50 } });
    pawl_graph_effect(g, "patient", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 6, .initial_ms = 4000, .factor = 2 },
                                                    .total_timeout_ms = 5000 });
    pawl_graph_effect(g, "book", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unbook", .on_unknown = "look" });
    pawl_graph_effect(g, "unbook", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 4, .initial_ms = 40 } });
    pawl_graph_effect(g, "hold", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "unhold" });
    pawl_graph_effect(g, "unhold", &(pawl_limits){ .cls = PAWL_CLASS_IDEMPOTENT, .retry = { .max_attempts = 2, .initial_ms = 40 } });
    return g;
}

static pawl_code pad_node(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "log", pawl_pack(s, "{s:i,s:s}", "round", pawl_get_int(s, "rounds"), "text", PAD));
    pawl_set_int(s, "rounds", 1);
    return PAWL_OK;
}

/* The same, after a question: while it is open, the run stands at an entry, and its subgraph amid its course. */
static pawl_code pad_ask_node(pawl_step *s, void *arg)
{
    const pawl_question q = { .prompt = pawl_json(s, "\"on?\""), .options = pawl_json(s, "[\"on\",\"off\"]") };
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    return rc == PAWL_OK ? pad_node(s, arg) : rc;
}

static bool more_pads(pawl_step *s, void *most)
{
    return pawl_get_int(s, "rounds") < (int64_t)(size_t)most;
}

/* Goes round so often, and then on. */
static void pads(pawl_graph *g, const char *node, pawl_node_fn *fn, size_t most, const char *next)
{
    pawl_graph_node(g, node, fn, NULL);
    pawl_graph_when(g, node, more_pads, (void *)most, node);
    pawl_graph_when(g, node, NULL, NULL, next);
}

/* ---- many at once ------------------------------------------------------------------------------------ */

enum { WIDTH = 10, WIDE_ROUNDS = 3 };

static pawl_code wide_plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int i = 0; i < WIDTH; i++)
        pawl_send(s, "work", pawl_pack(s, "{s:i,s:s}", "part", (int64_t)i, "text", PAD));
    pawl_set_int(s, "rounds", 1);
    return PAWL_OK;
}

static pawl_code wide_work(pawl_step *s, void *arg)
{
    static const char *const effects[] = { "sign", "again", "stamp", "book" };
    const int64_t n = pawl_value_int(pawl_value_get(pawl_args(s), "part"));
    const pawl_value *got = NULL;
    pawl_code rc = pawl_call(s, effects[n % 4], pawl_pack(s, "{s:i,s:i}", "part", n, "round", pawl_get_int(s, "rounds")), &got);

    (void)arg;
    if (rc == PAWL_OK || rc == PAWL_EFFECT)
        pawl_set(s, "log", rc == PAWL_OK ? got : pawl_pack(s, "{s:i}", "lost", n));
    return rc == PAWL_EFFECT ? PAWL_OK : rc;
}

static bool more_rounds(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "rounds") < WIDE_ROUNDS;
}

static pawl_code rest_node(pawl_step *s, void *arg)
{
    (void)s, (void)arg;
    return PAWL_OK;
}

static pawl_machine *wide(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("wide");

    (void)ctx;
    pawl_graph_node(g, "plan", wide_plan, NULL);
    pawl_graph_node(g, "work", wide_work, NULL);
    pawl_graph_node(g, "rest", rest_node, NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "work", NULL);
    pawl_graph_edge(g, "work", "rest");
    pawl_graph_when(g, "rest", more_rounds, NULL, "plan");
    pawl_graph_when(g, "rest", NULL, NULL, PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- snapshots amid joins and subgraphs -------------------------------------------------------------- */

/* A branch that is long over waits in the counters of the join for one that goes round. */
static void slow_join(pawl_graph *g, const char *from, pawl_node_fn *fn, size_t rounds)
{
    pawl_graph_node(g, "fast", trial_call, "again");
    pads(g, "slow", fn, rounds, "late");
    pawl_graph_node(g, "late", trial_call, "sign");
    pawl_graph_node(g, "both", trial_call, "again");
    pawl_graph_edge(g, from, "fast");
    pawl_graph_edge(g, from, "slow");
    pawl_graph_join(g, "both", "fast", "late", NULL);
    pawl_graph_edge(g, "both", PAWL_END);
}

static pawl_machine *joins(void *ctx, pawl_err *err)
{
    pawl_graph *inner = graph("inner"), *g = graph("joins");

    (void)ctx;
    slow_join(inner, PAWL_START, pad_ask_node, 8);
    pawl_graph_sub(g, "desk", inner);
    pawl_graph_edge(g, PAWL_START, "desk");
    slow_join(g, "desk", pad_node, 9);
    return pawl_graph_compile(g, err);
}

/* ---- what is done, and undone ------------------------------------------------------------------------- */

/* The last of it fails inside a subgraph whose join has heard one of two: so it stands while all is undone. */
static pawl_machine *booked(void *ctx, pawl_err *err)
{
    pawl_graph *inner = graph("inner"), *g = graph("booked");

    (void)ctx;
    pawl_graph_node(inner, "fast", trial_call, "again");
    pads(inner, "slow", pad_node, 2, "late");
    pawl_graph_node(inner, "late", trial_must, "refused");
    pawl_graph_node(inner, "both", trial_call, "again");
    pawl_graph_edge(inner, PAWL_START, "fast");
    pawl_graph_edge(inner, PAWL_START, "slow");
    pawl_graph_join(inner, "both", "fast", "late", NULL);
    pawl_graph_edge(inner, "both", PAWL_END);
    pawl_graph_node(g, "a", trial_must, "book");
    pads(g, "round", pad_node, 9, "b");
    pawl_graph_node(g, "b", trial_must, "book");
    pawl_graph_node(g, "c", trial_must, "book");
    pawl_graph_node(g, "d", trial_call, "again");
    pawl_graph_sub(g, "e", inner);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, "a", "round");
    pawl_graph_edge(g, "b", "c");
    pawl_graph_edge(g, "b", "d");
    pawl_graph_join(g, "e", "c", "d", NULL);
    pawl_graph_edge(g, "e", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* What undoes fails for good now and then: somebody is asked, amid the undoing. */
static pawl_machine *stubborn(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("stubborn");

    (void)ctx;
    pawl_graph_node(g, "a", trial_must, "hold");
    pawl_graph_node(g, "b", trial_must, "hold");
    pawl_graph_node(g, "c", trial_must, "refused");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- what came of it is not known ---------------------------------------------------------------------- */

static pawl_machine *doubts(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("doubts");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "ask");
    pawl_graph_node(g, "b", trial_call, "ask");
    pawl_graph_node(g, "c", trial_call, "ask");
    pawl_graph_node(g, "d", trial_call, "ask");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "a", "c");
    pawl_graph_join(g, "d", "b", "c", NULL);
    pawl_graph_edge(g, "d", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- deadlines and timers -------------------------------------------------------------------------------- */

static pawl_code approve(pawl_step *s, void *arg)
{
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_json(s, "\"may it?\""), .timeout_ms = 600,
                              .otherwise = pawl_json(s, "false") };
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "log", answer);
    return rc;
}

static pawl_machine *approvals(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("approvals");

    (void)ctx;
    pawl_graph_node(g, "a", approve, NULL);
    pawl_graph_node(g, "b", trial_call, "again");
    pawl_graph_node(g, "c", approve, NULL);
    pawl_graph_node(g, "d", approve, NULL);
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", "d", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

static const char *yes(void *ctx, const pawl_wait *wait)
{
    (void)ctx;
    return wait->kind == PAWL_WAIT_APPROVAL ? "true" : NULL;
}

static pawl_code nap(pawl_step *s, void *ms)
{
    pawl_code rc = pawl_sleep(s, (int64_t)(size_t)ms);

    if (rc == PAWL_OK)
        pawl_set(s, "log", pawl_pack(s, "{s:s}", "slept", pawl_node_name(s)));
    return rc;
}

static pawl_machine *naps(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("naps");

    (void)ctx;
    pawl_graph_node(g, "a", nap, (void *)(size_t)2600);
    pawl_graph_node(g, "b", nap, (void *)(size_t)700);
    pawl_graph_node(g, "c", nap, (void *)(size_t)4000);
    pawl_graph_node(g, "d", nap, (void *)(size_t)1500);
    pawl_graph_node(g, "e", nap, (void *)(size_t)3000);
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, PAWL_START, "c");
    pawl_graph_edge(g, "b", "d");
    pawl_graph_join(g, "e", "a", "c", "d", NULL);
    pawl_graph_edge(g, "e", PAWL_END);
    return pawl_graph_compile(g, err);
}

static pawl_machine *patience(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("patience");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "patient");
    pawl_graph_node(g, "b", trial_call, "again");
    pawl_graph_node(g, "c", trial_call, "patient");
    pawl_graph_chain(g, PAWL_START, "a", "b", "c", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- runs that are begun anew ------------------------------------------------------------------------------ */

static pawl_machine *short_one(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("short");

    (void)ctx;
    pawl_graph_node(g, "a", trial_call, "again");
    pawl_graph_node(g, "b", trial_call, "again");
    pawl_graph_edge(g, PAWL_START, "a");
    pawl_graph_edge(g, PAWL_START, "b");
    pawl_graph_edge(g, "a", PAWL_END);
    pawl_graph_edge(g, "b", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- many runs, each of them long ---------------------------------------------------------------------------- */

enum { CROWD_ROUNDS = 12 };

static pawl_code crowd_node(pawl_step *s, void *arg)
{
    const pawl_value *got = NULL;
    pawl_code rc = pawl_get_int(s, "rounds") % 3 == 0 ? pawl_call(s, "again", pawl_pack(s, "{s:i}", "n", pawl_get_int(s, "rounds")), &got) : PAWL_OK;

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set_int(s, "rounds", 1);
    return rc;
}

static pawl_machine *crowd(void *ctx, pawl_err *err)
{
    pawl_graph *g = graph("crowd");

    (void)ctx;
    pads(g, "round", crowd_node, CROWD_ROUNDS, PAWL_END);
    pawl_graph_edge(g, PAWL_START, "round");
    return pawl_graph_compile(g, err);
}

pawl_code trial_crowd(uint64_t seed, pawl_sim_report *report, pawl_err *err)
{
    static const pawl_sim_trouble busy = { .restart = 20, .fail = 4, .unsure = 4, .delay = 60, .rival = 20, .refuse = 40, .lose = 40, .slow = 400,
        .delay_ms = 60, .late_ms = 2000, .slow_ms = 40, .lease_ms = 4000 };
    static const pawl_sim_setup setup = { .machine = crowd, .runs = 8, .trouble = &busy };

    return pawl_sim(&setup, seed, report, err);
}

/* ---- all of them ---------------------------------------------------------------------------------------------- */

#define NOTE(n) { NULL, "{\"note\":{\"n\":" #n ",\"text\":\"" PAD PAD "\"}}" }
static const pawl_sim_signal notes[] = { NOTE(1), NOTE(2), NOTE(3), NOTE(4), NOTE(5), NOTE(6), NOTE(7), NOTE(8), NOTE(9), NOTE(10), NOTE(11), NOTE(12) };
enum { NOTES = sizeof notes / sizeof *notes };

static const pawl_sim_trouble refusing = { .kill = 4, .restart = 50, .fail = 8, .unsure = 8, .delay = 10, .rival = 30, .refuse = 800, .lose = 80,
    .late = 40, .slow = 40, .delay_ms = 1500, .late_ms = 2000, .slow_ms = 400, .lease_ms = 1000 };
static const pawl_sim_trouble dark = { .kill = 4, .power = 40, .restart = 50, .fail = 8, .unsure = 8, .delay = 10, .rival = 30, .refuse = 500,
    .lose = 80, .late = 700, .slow = 40, .delay_ms = 800, .late_ms = 3000, .slow_ms = 400, .lease_ms = 1000, .normal = true };

static const pawl_sim_trouble deadly = { .kill = 16, .restart = 50, .fail = 8, .unsure = 8, .delay = 10, .rival = 30, .refuse = 80, .lose = 80, .late = 40,
    .slow = 40, .delay_ms = 800, .late_ms = 2000, .slow_ms = 400, .lease_ms = 1000 };

const trial trials_more[TRIALS_MORE] = {
    { "wide", { .machine = wide, .workers = 3 } },
    { "joins", { .machine = joins, .signals = notes, .nsignals = NOTES, .loose = true } },
    { "booked", { .machine = booked, .effects = trial_refusals, .neffects = 1 } },
    { "called off", { .machine = booked, .effects = trial_refusals, .neffects = 1, .cancel = 800, .runs = 3 } },
    { "doubts", { .machine = doubts, .signals = notes, .nsignals = NOTES, .trouble = &deadly, .loose = true, .runs = 4 } },
    { "stubborn", { .machine = stubborn, .effects = trial_refusals, .neffects = 1, .trouble = &refusing, .loose = true, .runs = 3 } },
    { "approvals", { .machine = approvals, .answer = yes, .loose = true, .runs = 3 } },
    { "naps", { .machine = naps, .runs = 3 } },
    { "patience", { .machine = patience, .trouble = &refusing, .loose = true, .runs = 3 } },
    { "dark", { .machine = short_one, .trouble = &dark, .runs = 3 } },
};
