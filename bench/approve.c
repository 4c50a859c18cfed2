/* approve.c - an approval from the answer to the end of the command that it opens, signed and not: the signature is made, checked at the answer, and read
 * again before the command leaves (P11). In memory, so that nothing else is measured. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { APPROVALS = 100 };

static uint8_t seed[PAWL_SEED_BYTES] = { 7 };
static char key[PAWL_KEY_ROOM];

static pawl_code gate(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Deploy?"),
                        .about = pawl_pack(s, "{s:s,s:s}", "digest", "aa", "policy", "bb") };
    pawl_code rc;

    if (arg != NULL)
        q.approvers = pawl_pack(s, "{s:[{s:s,s:s}],s:i}", "keys", "key", key, "name", "alice", "need", (int64_t)1);
    rc = pawl_ask_with(s, &q, &answer);
    return rc == PAWL_OK ? pawl_call(s, "deploy", NULL, NULL) : rc;
}

static pawl_code deploy(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_json(reply, "true");
}

static pawl_engine *engine(bool is_signed)
{
    static int any;
    pawl_graph *g = pawl_graph_new("gated", 1);
    pawl_err err = {0};
    pawl_engine *e;

    pawl_graph_effect(g, "deploy", NULL);
    pawl_graph_node(g, "go", gate, is_signed ? &any : NULL);
    pawl_graph_chain(g, PAWL_START, "go", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(NULL), &err);
    if (e == NULL || pawl_engine_effect(e, "deploy", deploy, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        bench_wrong("an engine", &err);
    return e;
}

/* The time of one approval is added to *ns. */
static bool approve(pawl_engine *e, int i, bool is_signed, pawl_step *step, double *ns)
{
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "true" };
    pawl_err err = {0};
    pawl_wait w;
    char id[32];
    double from;

    snprintf(id, sizeof id, "r%d", i);
    if (pawl_run(e, id, NULL, &err) != PAWL_INTERRUPTED)
        return bench_wrong("a run", &err);
    from = bench_ns();
    if (is_signed && (pawl_state_wait(pawl_run_state(e, id, &err), 0, pawl_engine_step(e), &w, &err) != PAWL_OK ||
                      (ev.value = pawl_wait_sign(&w, "true", NULL, NULL, "alice", seed, 1000, step, &err)) == NULL))
        return bench_wrong("a signature", &err);
    if (pawl_event_send(e, id, &ev, &err) != PAWL_HALTED)
        return bench_wrong("an approval", &err);
    *ns += bench_ns() - from;
    return true;
}

static bool signed_us(reading *out)
{
    double with = 0, without = 0;
    pawl_engine *e, *plain;
    pawl_step *step = pawl_step_new(NULL);
    pawl_err err = {0};
    bool good;

    if (pawl_key_of_seed(seed, key, &err) != PAWL_OK)
        return bench_wrong("a key", &err);
    e = engine(true);
    plain = engine(false);
    good = e != NULL && plain != NULL && step != NULL;
    for (int i = 0; i < APPROVALS && good; i++)
        good = approve(e, i, true, step, &with) && approve(plain, i, false, step, &without);
    *out = (reading){ with / APPROVALS / 1000, without / APPROVALS / 1000 };
    pawl_step_free(step);
    pawl_engine_free(e);
    pawl_engine_free(plain);
    return good;
}

const figure approve_figures[] = {
    { "approve.signed_us", "us", "an approval that nobody signs", 500, false, 5, signed_us },
    { 0 },
};
