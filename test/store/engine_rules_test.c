/* engine_rules_test.c - a job has the compiled rules of its run, as they are when its attempt begins (P8). */
#include "lib/engine_fixture.h"
#include "pawl/policy.h"

typedef struct seen { size_t calls, rules; char first[128]; } seen;

static pawl_code act(const pawl_job *j, pawl_reply *reply, void *arg)
{
    seen *s = arg;

    s->calls++;
    s->rules = pawl_policy_count(j->policy);
    snprintf(s->first, sizeof s->first, "%s", pawl_policy_rule(j->policy, 0).text);
    return pawl_reply_json(reply, "{\"done\":1}");
}

static pawl_engine *engine_of(seen *s, unsigned threads)
{
    pawl_graph *g = pawl_graph_new("rules", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    pawl_graph_channel(g, "done", PAWL_RULE_SUM);
    pawl_graph_channel(g, "@policy", PAWL_RULE_LAST);
    pawl_graph_work(g, "a", "job");
    pawl_graph_chain(g, PAWL_START, "a", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, NULL), pawl_store_memory(NULL), &err);
    if (e == NULL || pawl_engine_effect(e, "job", act, s, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("engine: %s", err.text);
    pawl_engine_threads(e, threads);
    return e;
}

static void runs(seen *s, pawl_engine *e, const char *id, const char *policy)
{
    pawl_err err = { PAWL_OK, "" };
    char input[200];

    snprintf(input, sizeof input, policy != NULL ? "{\"@policy\":%s}" : "{}", policy);
    *s = (seen){ .calls = 0 };
    if (pawl_run(e, id, input, &err) < 0)
        CHECK_FAIL("%s: %s", id, err.text);
    CHECK_INT(s->calls, 1);
}

static void rules_are_seen(unsigned threads)
{
    char id[16], policy[80], rule[40];
    seen s;
    pawl_engine *e = engine_of(&s, threads);

    runs(&s, e, "none", NULL);
    CHECK_INT(s.rules, 0);
    for (int i = 0; i < 60; i++) {      /* more than are kept, and some again */
        snprintf(id, sizeof id, "r%d", i);
        snprintf(rule, sizeof rule, "Read(//x%d)", i % 40);
        snprintf(policy, sizeof policy, "{\"deny\":[\"%s\",\"Bash\"]}", rule);
        runs(&s, e, id, policy);
        CHECK_INT(s.rules, 2);
        CHECK_STR(s.first, rule);
    }
    runs(&s, e, "bad", "{\"deny\":[\"no rule (\"]}");
    CHECK_INT(s.rules, 0);
    pawl_engine_free(e);
}

PAWL_TEST(test_P8_a_job_has_the_rules_of_its_run) { rules_are_seen(0); }
PAWL_TEST(test_P8_a_job_on_a_thread_has_the_rules_of_its_run) { rules_are_seen(2); }
