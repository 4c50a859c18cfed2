/* scene_machines_2.c - more machines of scenes.c: failures, turns, references, hooks, races, merge rules, compensation. */
#include "scene_machines.h"

/* ---- repair: failures, retries, a person who opens it again --------------------------------- */

static pawl_code repair_flaky(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "try", pawl_pack(s, "{s:i}", "visit", (int64_t)pawl_visit(s)), &receipt);

    (void)arg;
    if (rc == PAWL_EFFECT)
        return pawl_fail(s, PAWL_TRANSIENT, "it was %s", pawl_text(s, receipt));
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "done", receipt);
    return PAWL_OK;
}

static pawl_code repair_steady(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "work", NULL, &receipt);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "done", receipt);
    pawl_emit(s, "done", pawl_pack(s, "{s:v}", "by steady", receipt));
    return PAWL_OK;
}

static pawl_code repair_strict(pawl_step *s, void *arg)
{
    (void)arg;
    if (pawl_get_string(s, "key") == NULL)
        return pawl_fail(s, PAWL_INVALID, "there is no key");
    pawl_set(s, "done", pawl_get(s, "key"));
    return PAWL_OK;
}

pawl_machine *machine_repair(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_retry retry = { .max_attempts = 3, .initial_ms = 100, .max_ms = 1000, .factor = 3, .jitter = true };
    pawl_graph *g = scene_graph("repair", 1, alloc);

    pawl_graph_channel(g, "key", PAWL_RULE_LAST);
    pawl_graph_channel(g, "done", PAWL_RULE_APPEND);
    pawl_graph_node(g, "flaky", repair_flaky, NULL);
    pawl_graph_node(g, "steady", repair_steady, NULL);
    pawl_graph_node(g, "strict", repair_strict, NULL);
    pawl_graph_retry(g, "flaky", &retry);
    pawl_graph_edge(g, PAWL_START, "flaky");
    pawl_graph_edge(g, PAWL_START, "steady");
    pawl_graph_join(g, "strict", "flaky", "steady", NULL);
    pawl_graph_edge(g, "strict", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- talk: turns, messages that commands refer to -------------------------------------------- */

static pawl_code talk_hear(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "messages", pawl_pack(s, "{s:v,s:s}", "text", pawl_get(s, "said"), "who", "user"));
    return PAWL_OK;
}

static pawl_code talk_answer(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v,s:v}", "messages", pawl_ref(s, "messages"), "said", pawl_ref(s, "said")),
                             &answer);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "messages", pawl_pack(s, "{s:v,s:s}", "text", answer, "who", "model"));
    pawl_set_int(s, "answers", 1);
    return PAWL_OK;
}

static pawl_machine *talk(uint32_t version, const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_channel answers = { .name = "answers", .rule = PAWL_RULE_SUM, .first = "0" };
    const pawl_channel mood = { .name = "mood", .first = "\"calm\"" };
    pawl_graph *g = scene_graph("talk", version, alloc);

    pawl_graph_channel(g, "said", PAWL_RULE_EPHEMERAL);
    pawl_graph_channel(g, "messages", PAWL_RULE_APPEND);
    pawl_graph_channel_with(g, &answers);
    if (version > 1)
        pawl_graph_channel_with(g, &mood);
    pawl_graph_node(g, "hear", talk_hear, NULL);
    pawl_graph_node(g, "answer", talk_answer, NULL);
    pawl_graph_chain(g, PAWL_START, "hear", "answer", PAWL_END, NULL);
    pawl_graph_turns(g, "and now?");
    return pawl_graph_compile(g, err);
}

pawl_machine *machine_talk(const pawl_alloc *alloc, pawl_err *err)
{
    return talk(1, alloc, err);
}

pawl_machine *machine_talk_2(const pawl_alloc *alloc, pawl_err *err)
{
    return talk(2, alloc, err);
}

/* ---- vault: secrets, effects with limits, work nodes ------------------------------------------- */

static pawl_code vault_open(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "http", pawl_pack(s, "{s:s,s:{s:v}}", "url", "https://vault", "headers", "token", pawl_ref(s, "token")),
                             &receipt);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "log", receipt);
    return PAWL_OK;
}

pawl_machine *machine_vault(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_limits http = { .cls = PAWL_CLASS_IDEMPOTENT, .attempt_timeout_ms = 1000, .total_timeout_ms = 9000, .heartbeat_ms = 100,
                               .retry = { .max_attempts = 4, .initial_ms = 50, .factor = 1.5 } };
    const pawl_channel token = { .name = "token", .secret = "given:token" };
    pawl_graph *g = scene_graph("vault", 1, alloc);

    pawl_graph_channel_with(g, &token);
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "state", PAWL_RULE_MERGE);
    pawl_graph_effect(g, "http", &http);
    pawl_graph_node(g, "open", vault_open, NULL);
    pawl_graph_work(g, "store", "store");
    pawl_graph_chain(g, PAWL_START, "open", "store", PAWL_END, NULL);
    pawl_graph_timeout(g, "store", 500, 5000);
    return pawl_graph_compile(g, err);
}

/* ---- hooks: before and after, verdicts of every kind -------------------------------------------- */

static pawl_code hooks_body(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set(s, "out", pawl_pack(s, "{s:v,s:s}", "args", pawl_args(s) != NULL ? pawl_args(s) : pawl_json(s, "null"), "node",
                                 pawl_node_name(s)));
    return PAWL_OK;
}

pawl_machine *machine_hooks(const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = scene_graph("hooks", 1, alloc);

    pawl_graph_channel(g, "out", PAWL_RULE_APPEND);
    pawl_graph_node(g, "one", hooks_body, NULL);
    pawl_graph_node(g, "two", hooks_body, NULL);
    pawl_graph_node(g, "three", hooks_body, NULL);
    pawl_graph_chain(g, PAWL_START, "one", "two", "three", PAWL_END, NULL);
    pawl_graph_goto(g, "two", "one", NULL);
    pawl_graph_hook(g, NULL, PAWL_PHASE_BEFORE, "guard");
    pawl_graph_hook(g, "two", PAWL_PHASE_AFTER, "audit");
    return pawl_graph_compile(g, err);
}

/* ---- race: the clock decides, signals, updates while a superstep is open -------------------------- */

static pawl_code race_run(pawl_step *s, void *arg)
{
    const pawl_value *slow = NULL, *other = NULL;
    uint32_t winner = 0;
    pawl_code rc;

    (void)arg;
    (void)(pawl_call(s, "slow", pawl_pack(s, "{}"), &slow) == PAWL_OK);
    (void)(pawl_call(s, "other", pawl_pack(s, "{}"), &other) == PAWL_OK);
    (void)(pawl_sleep(s, 1000) == PAWL_OK);
    if ((rc = pawl_select(s, &winner)) != PAWL_OK)
        return rc;
    pawl_set_int(s, "winner", winner);
    if (other != NULL)
        pawl_set(s, "result", other);
    return PAWL_OK;
}

static pawl_code race_listen(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_await_signal(s, "go", &v);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "signal", v);
    return PAWL_OK;
}

static pawl_code race_spawn(pawl_step *s, void *arg)
{
    const pawl_value *result;
    pawl_code rc = pawl_spawn(s, "child", pawl_pack(s, "{s:i}", "winner", pawl_get_int(s, "winner")), &result);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "result", result);
    return pawl_halt(s);
}

pawl_machine *machine_race(const pawl_alloc *alloc, pawl_err *err)
{
    pawl_graph *g = scene_graph("race", 1, alloc);

    pawl_graph_channel(g, "winner", PAWL_RULE_LAST);
    pawl_graph_channel(g, "result", PAWL_RULE_LAST);
    pawl_graph_channel(g, "signal", PAWL_RULE_LAST);
    pawl_graph_channel(g, "notes", PAWL_RULE_APPEND);
    pawl_graph_node(g, "run", race_run, NULL);
    pawl_graph_node(g, "listen", race_listen, NULL);
    pawl_graph_node(g, "spawn", race_spawn, NULL);
    pawl_graph_edge(g, PAWL_START, "run");
    pawl_graph_edge(g, PAWL_START, "listen");
    pawl_graph_join(g, "spawn", "run", "listen", NULL);
    pawl_graph_edge(g, "spawn", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- rules: every way to merge ------------------------------------------------------------------- */

static pawl_code rules_write(pawl_step *s, void *arg)
{
    const pawl_value *n = pawl_value_get(pawl_args(s), "n");

    (void)arg;
    pawl_set(s, "last", n);
    pawl_set(s, "append", n);
    pawl_set(s, "sum", n);
    pawl_set(s, "min", n);
    pawl_set(s, "max", n);
    pawl_set(s, "union", pawl_pack(s, "i", pawl_value_int(n) % 2));
    pawl_set(s, "merge", pawl_pack(s, "{s:v,s:n}", pawl_value_int(n) > 1 ? "big" : "small", n, "none"));
    pawl_set(s, "topic", n);
    pawl_set(s, "kept", n);
    pawl_set(s, "now", n);
    pawl_set_string(s, "barrier", pawl_value_int(n) > 1 ? "b" : "a");
    pawl_set(s, "custom", n);
    pawl_set_real(s, "real", (double)pawl_value_int(n) / 4);
    return PAWL_OK;
}

static pawl_code rules_begin(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_set_string(s, "single", "mine");
    pawl_overwrite(s, "append", pawl_json(s, "[\"first\",{\"deep\":[1,2.5,null]}]"));
    for (int64_t n = 1; n <= 3; n++)
        pawl_send(s, "write", pawl_pack(s, "{s:i}", "n", n));
    return pawl_goto(s, PAWL_END);
}

static pawl_code rules_look(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "look", pawl_pack(s, "{s:v,s:v,s:v}", "now", pawl_ref(s, "now"), "topic", pawl_ref(s, "topic"), "all",
                                                  pawl_ref(s, "append")), &receipt);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "append", receipt);
    pawl_set_json(s, "last", "{\"text\":\"\\u00e9\\n\\\"quoted\\\"\",\"list\":[[],{}]}");
    return PAWL_OK;
}

static const pawl_value *pair(pawl_step *s, const pawl_value *old, const pawl_value *update, void *arg)
{
    (void)arg;
    return pawl_pack(s, "[v,v]", old, update);
}

pawl_machine *machine_rules(const pawl_alloc *alloc, pawl_err *err)
{
    static const pawl_channel channels[] = {
        { .name = "last" }, { .name = "single", .rule = PAWL_RULE_SINGLE }, { .name = "append", .rule = PAWL_RULE_APPEND },
        { .name = "sum", .rule = PAWL_RULE_SUM, .first = "10" }, { .name = "min", .rule = PAWL_RULE_MIN }, { .name = "max", .rule = PAWL_RULE_MAX },
        { .name = "union", .rule = PAWL_RULE_UNION, .first = "[7]" }, { .name = "merge", .rule = PAWL_RULE_MERGE },
        { .name = "topic", .rule = PAWL_RULE_TOPIC }, { .name = "kept", .rule = PAWL_RULE_TOPIC, .accumulate = true },
        { .name = "now", .rule = PAWL_RULE_EPHEMERAL }, { .name = "barrier", .rule = PAWL_RULE_BARRIER },
        { .name = "custom", .rule = PAWL_RULE_CUSTOM, .merge = pair }, { .name = "real", .rule = PAWL_RULE_SUM, .first = "0.5" },
    };
    pawl_graph *g = scene_graph("rules", 1, alloc);

    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        pawl_graph_channel_with(g, &channels[i]);
    pawl_graph_node(g, "begin", rules_begin, NULL);
    pawl_graph_node(g, "write", rules_write, NULL);
    pawl_graph_node(g, "look", rules_look, NULL);
    pawl_graph_goto(g, "begin", "write", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "begin", NULL);
    pawl_graph_chain(g, "write", "look", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}

/* ---- trip: what is booked is given back when the trip fails; a payment of which nobody knows -------- */

static pawl_code trip_book(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "book", pawl_pack(s, "{s:v,s:s,s:v}", "for", pawl_ref(s, "who"), "what", pawl_node_name(s), "with", pawl_ref(s, "card")),
                             &receipt);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "who", receipt);
    return PAWL_OK;
}

static pawl_code trip_pay(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "pay", NULL, &receipt);

    (void)arg;
    if (rc != PAWL_OK && rc != PAWL_EFFECT)
        return rc;
    pawl_set(s, "paid", receipt);
    return PAWL_OK;
}

static pawl_code trip_go(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_fail(s, PAWL_EFFECT, "no wind, and %s", pawl_text(s, pawl_get(s, "paid")));
}

pawl_machine *machine_trip(const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_limits book = { .cls = PAWL_CLASS_COMPENSABLE, .inverse = "give-back" }, pay = { .cls = PAWL_CLASS_ONCE, .on_unknown = "look-up" };
    pawl_graph *g = scene_graph("trip", 1, alloc);

    pawl_graph_channel(g, "who", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "paid", PAWL_RULE_LAST);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "card", .secret = "env:CARD" });
    pawl_graph_effect(g, "book", &book);
    pawl_graph_effect(g, "pay", &pay);
    pawl_graph_node(g, "boat", trip_book, NULL);
    pawl_graph_node(g, "inn", trip_book, NULL);
    pawl_graph_node(g, "pay", trip_pay, NULL);
    pawl_graph_node(g, "go", trip_go, NULL);
    pawl_graph_edge(g, PAWL_START, "boat");
    pawl_graph_edge(g, "boat", "inn");
    pawl_graph_edge(g, "boat", "pay");
    pawl_graph_join(g, "go", "inn", "pay", NULL);
    pawl_graph_edge(g, "go", PAWL_END);
    return pawl_graph_compile(g, err);
}

/* ---- pact: two of three sign before it is shipped; then one is asked who says no, and one who says nothing -------- */

static const char pact_keys[] =
    "{\"keys\":[{\"key\":\"ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=\",\"name\":\"alice\"},"
    "{\"key\":\"ed25519:gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=\",\"name\":\"bob\"},"
    "{\"key\":\"ed25519:7UkoxijRwsbq6QM4kFmVYSlZJzpcY/k2NsFGFKyHN9E=\",\"name\":\"carol\"}],\"need\":%d}";

static pawl_code pact_ask(pawl_step *s, int need, int64_t timeout_ms, bool *yes)
{
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Ship it?"), .timeout_ms = timeout_ms,
                              .approvers = pawl_json(s, pawl_format(s, pact_keys, need)),
                              .about = pawl_pack(s, "{s:s,s:s}", "digest", "0a0b", "policy", "0c0d"),
                              .otherwise = timeout_ms > 0 ? pawl_pack(s, "b", 0) : NULL };
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    *yes = rc == PAWL_OK && pawl_value_bool(pawl_value_get(answer, "approve"));
    return rc;
}

static pawl_code pact_ship(pawl_step *s, void *arg)
{
    bool yes;
    pawl_code rc = pact_ask(s, 2, 0, &yes);

    (void)arg;
    if (rc != PAWL_OK || !yes)
        return rc == PAWL_OK ? pawl_fail(s, PAWL_DENIED, "nobody ships it") : rc;
    if ((rc = pawl_call(s, "ship", pawl_pack(s, "{s:v}", "to", pawl_get(s, "to")), NULL)) == PAWL_OK)
        pawl_set(s, "said", pawl_pack(s, "s", "shipped"));
    return rc;
}

static pawl_code pact_wait(pawl_step *s, void *arg)
{
    bool yes;
    pawl_code rc = pact_ask(s, arg != NULL ? 1 : 2, arg != NULL ? 0 : 60000, &yes);

    if (rc == PAWL_OK)
        pawl_set(s, "said", pawl_pack(s, "s", yes ? "yes" : "no"));
    return rc;
}

pawl_machine *machine_pact(const pawl_alloc *alloc, pawl_err *err)
{
    static int one = 1;
    pawl_graph *g = scene_graph("pact", 1, alloc);

    pawl_graph_channel(g, "to", PAWL_RULE_LAST);
    pawl_graph_channel(g, "said", PAWL_RULE_APPEND);
    pawl_graph_effect(g, "ship", NULL);
    pawl_graph_node(g, "ship", pact_ship, NULL);
    pawl_graph_node(g, "refuse", pact_wait, &one);
    pawl_graph_node(g, "late", pact_wait, NULL);
    pawl_graph_chain(g, PAWL_START, "ship", "refuse", "late", PAWL_END, NULL);
    return pawl_graph_compile(g, err);
}
