/* engine_child_test.c - commands that are runs of their own (E11): begun once, with their parent's rights, ended in its journal. */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/flow.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pawl_store *open_store(bool sqlite)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = sqlite ? pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err) : pawl_store_memory(&err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

/* ---- machines ----------------------------------------------------------------------------------- */

/* {"n":N}: N children of "digger", side by side; their sum. */
static pawl_code sends(pawl_step *s, void *arg)
{
    int64_t n = pawl_get_int(s, "n");

    (void)arg;
    for (int64_t i = 1; i <= n; i++)
        pawl_send(s, "dig", pawl_pack(s, "i", i));
    return pawl_follow(s);
}

static pawl_code digs(pawl_step *s, void *arg)
{
    const pawl_value *out;
    const pawl_value *how = pawl_get(s, "how");
    pawl_code rc = pawl_spawn(s, "digger", how == NULL ? pawl_pack(s, "{s:v}", "depth", pawl_args(s))
                                                       : pawl_pack(s, "{s:v,s:v}", "depth", pawl_args(s), "how", how), &out);

    (void)arg;
    if (rc == PAWL_EFFECT) {
        pawl_set(s, "wrong", out);
        return pawl_follow(s);
    }
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "sum", pawl_value_get(out, "depth"));
    return pawl_follow(s);
}

static pawl_code ends(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_follow(s);
}

static pawl_machine *boss(void)
{
    pawl_graph *g = pawl_graph_new("boss", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_channel(g, "how", PAWL_RULE_LAST);
    pawl_graph_channel(g, "sum", PAWL_RULE_SUM);
    pawl_graph_channel(g, "wrong", PAWL_RULE_APPEND);
    pawl_graph_node(g, "plan", sends, NULL);
    pawl_graph_node(g, "dig", digs, NULL);
    pawl_graph_node(g, "end", ends, NULL);
    pawl_graph_goto(g, "plan", "dig", NULL);
    pawl_graph_chain(g, PAWL_START, "plan", "end", PAWL_END, NULL);
    pawl_graph_edge(g, "dig", PAWL_END);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* {"depth":D,"how":H}: digs, asks, fails, or has another dig one less deep, and adds one. */
static pawl_code shovels(pawl_step *s, void *arg)
{
    const char *how = pawl_get_string(s, "how");
    int64_t depth = pawl_get_int(s, "depth");
    const pawl_value *v;
    pawl_code rc;

    (void)arg;
    if (how != NULL && strcmp(how, "fail") == 0)
        return pawl_fail(s, PAWL_EFFECT, "rock at %d", (int)depth);
    if (how != NULL && strcmp(how, "ask") == 0 && (rc = pawl_ask(s, pawl_pack(s, "s", "deeper?"), NULL)) != PAWL_OK)
        return rc;
    if (how != NULL && strcmp(how, "nap") == 0 && (rc = pawl_sleep(s, 5)) != PAWL_OK)
        return rc;
    if (how != NULL && strcmp(how, "deep") == 0 && depth > 1) {
        if ((rc = pawl_spawn(s, "digger", pawl_pack(s, "{s:i,s:s}", "depth", depth - 1, "how", "deep"), &v)) != PAWL_OK)
            return rc;
        pawl_set_int(s, "depth", pawl_value_int(pawl_value_get(v, "depth")) + 1);
    }
    if ((rc = pawl_call(s, "shovel", pawl_pack(s, "i", depth), NULL)) != PAWL_OK)
        return rc;
    return pawl_follow(s);
}

static pawl_machine *digger(void)
{
    pawl_graph *g = pawl_graph_new("digger", 1);

    pawl_graph_channel(g, "depth", PAWL_RULE_LAST);
    pawl_graph_channel(g, "how", PAWL_RULE_LAST);
    pawl_graph_node(g, "shovel", shovels, NULL);
    pawl_graph_chain(g, PAWL_START, "shovel", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* ---- engines -------------------------------------------------------------------------------------- */

static pawl_code shovel(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    if (arg != NULL)
        ++*(atomic_int *)arg;
    return pawl_reply_json(reply, "true");
}

static pawl_engine *engine(bool sqlite, bool with_digger, atomic_int *calls)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(boss(), open_store(sqlite), &err);

    CHECK(e != NULL);
    if (with_digger)
        CHECK_INT(pawl_engine_add(e, digger(), &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "shovel", shovel, calls, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    return e;
}

typedef struct listed { int n, over, waiting; char first[160]; pawl_run_info info; } listed;

static bool see(void *ctx, const pawl_head *h)
{
    listed *l = ctx;

    if (h->parent == NULL)
        return true;
    if (l->n++ == 0)
        snprintf(l->first, sizeof l->first, "%s", h->run);
    l->over += h->over;
    l->waiting += h->waits > 0;
    return true;
}

static listed children(pawl_engine *e)
{
    pawl_store *s = pawl_engine_store(e);
    listed l = { 0 };

    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 1000 }, see, &l, NULL), PAWL_OK);
    return l;
}

static void verified(pawl_engine *e, const char *run, pawl_machine *m)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), run, &err);
    union { const char *in; void *out; } bytes = { journal.data };
    pawl_verdict v;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("%s: entry %llu: %s", run, (unsigned long long)v.seq, err.text);
    free(bytes.out);
    pawl_machine_free(m);
}

/* ---- what comes of it ----------------------------------------------------------------------------- */

PAWL_TEST(test_E11_children_run_to_their_end_and_their_channels_are_the_result)
{
    static const char *const inputs[] = { "{\"n\":3}", "{\"n\":3,\"how\":\"deep\"}", "{\"n\":3,\"how\":\"nap\"}" };

    for (int sqlite = 0; sqlite < 2; sqlite++)
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
            atomic_int calls = 0;
            pawl_engine *e;

            path_new("child");
            e = engine(sqlite, true, &calls);
            CHECK_INT(pawl_run(e, "r", inputs[i], NULL), PAWL_HALTED);
            CHECK_STR(pawl_run_get(e, "r", "sum"), "6");
            CHECK_INT(calls, i == 1 ? 6 : 3);
            CHECK_INT(children(e).n, calls);
            CHECK_INT(children(e).over, calls);
            verified(e, "r", boss());
            verified(e, children(e).first, digger());
            pawl_engine_free(e);
            path_gone();
        }
}

PAWL_TEST(test_E11_a_worker_drives_children_and_parents_alike)
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        char run[16];
        atomic_int calls = 0;
        pawl_engine *e;

        path_new("child");
        e = engine(sqlite, true, &calls);
        pawl_engine_threads(e, sqlite ? 3 : 0);
        for (int i = 0; i < 5; i++) {
            snprintf(run, sizeof run, "r%d", i);
            CHECK_INT(pawl_begin(e, run, "{\"n\":4,\"how\":\"deep\"}", NULL), PAWL_OK);
        }
        CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
        for (int i = 0; i < 5; i++) {
            snprintf(run, sizeof run, "r%d", i);
            CHECK_STR(pawl_run_get(e, run, "sum"), "10");
            CHECK_INT(pawl_run(e, run, NULL, NULL), PAWL_HALTED);
        }
        CHECK_INT(calls, 50);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_E11_a_child_that_fails_is_an_error_of_the_command)
{
    pawl_engine *e = engine(false, true, NULL);

    CHECK_INT(pawl_run(e, "r", "{\"n\":1,\"how\":\"fail\"}", NULL), PAWL_HALTED);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "[{\"code\":\"effect\",\"run\":\"r.") != NULL);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "\",\"status\":\"failed\",\"text\":\"rock at 1\"}]") != NULL);
    pawl_engine_free(e);
}

PAWL_TEST(test_E11_an_input_that_the_child_refuses_is_its_error)
{
    pawl_graph *g = pawl_graph_new("digger", 1);
    pawl_engine *e = engine(false, false, NULL);

    pawl_graph_channel(g, "depth", PAWL_RULE_LAST);
    pawl_graph_node(g, "end", ends, NULL);
    pawl_graph_chain(g, PAWL_START, "end", PAWL_END, NULL);
    CHECK_INT(pawl_engine_add(e, pawl_graph_compile(g, NULL), NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", "{\"n\":1,\"how\":\"ask\"}", NULL), PAWL_HALTED);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "[{\"code\":\"invalid\"") != NULL);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "how") != NULL);
    CHECK_INT(children(e).n, 0);
    pawl_engine_free(e);
}

/* The parent waits for whoever is asked; answered, both go on, also in another process. */
PAWL_TEST(test_E11_a_child_that_asks_keeps_its_parent_waiting)
{
    listed l;
    pawl_engine *e;

    path_new("child");
    e = engine(true, true, NULL);
    CHECK_INT(pawl_run(e, "r", "{\"n\":2,\"how\":\"ask\"}", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_WORKING);
    l = children(e);
    CHECK_INT(l.waiting, 2);
    CHECK_INT(pawl_answer(e, l.first, NULL, "true", NULL), PAWL_HALTED);
    pawl_engine_free(e);
    e = engine(true, true, NULL);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(children(e).over, 1);
    for (int i = 0; i < 2 && children(e).over < 2; i++) {
        pawl_store *s = pawl_engine_store(e);
        listed w = { 0 };

        CHECK_INT(s->verbs->list(s, &(pawl_filter){ .waiting = true }, see, &w, NULL), PAWL_OK);
        CHECK_INT(pawl_answer(e, w.first, NULL, "true", NULL), PAWL_HALTED);
    }
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "sum"), "3");
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E10_E11_a_cancel_reaches_the_children_and_waits_for_their_end)
{
    pawl_engine *e = engine(false, true, NULL);
    pawl_store *s = pawl_engine_store(e);
    pawl_head h;

    CHECK_INT(pawl_run(e, "r", "{\"n\":2,\"how\":\"ask\"}", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(children(e).over, 2);
    CHECK_INT(s->verbs->head(s, children(e).first, &h, NULL), PAWL_OK);
    CHECK_INT(h.status, PAWL_STATUS_CANCELED);
    verified(e, "r", boss());
    pawl_engine_free(e);
}

PAWL_TEST(test_E11_a_child_has_the_rights_of_its_parent)
{
    pawl_engine *e = engine(false, true, NULL);
    pawl_run_info mine = { .id = "r", .mode = "default", .rights = "acceptEdits", .context = "talk", .priority = 7, .trace = "00-1-2-01", .labels = { "red" } };
    pawl_run_info its;
    pawl_step *s = pawl_step_new(NULL);
    char id[200];

    CHECK_INT(pawl_run_with(e, &mine, "{\"n\":1}", NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_info(pawl_run_state(e, children(e).first, NULL), s, &its, NULL), PAWL_OK);
    CHECK_STR(its.mode, "default");
    CHECK_STR(its.rights, "acceptEdits");
    CHECK_STR(its.context, "talk");
    CHECK_STR(its.trace, "00-1-2-01");
    CHECK_INT(its.priority, 7);
    CHECK(its.labels[0] == NULL);
    snprintf(id, sizeof id, "r~%016llx/2.dig:0.1.0", (unsigned long long)pawl_state_life(pawl_run_state(e, "r", NULL)));
    CHECK_STR(its.parent, id);
    pawl_step_free(s);
    pawl_engine_free(e);
}

PAWL_TEST(test_E11_without_its_machine_a_child_waits_for_who_has_it)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine(false, false, NULL);

    CHECK_INT(pawl_run(e, "r", "{\"n\":1}", &err), PAWL_PENDING);
    CHECK(strstr(err.text, "/2.dig:0.1.0: no machine \"digger\" here for a child run") != NULL);
    CHECK_INT(pawl_engine_add(e, digger(), NULL), PAWL_OK);
    CHECK_INT(pawl_engine_add(e, digger(), &err), PAWL_CONFLICT);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "sum"), "1");
    pawl_engine_free(e);
}

PAWL_TEST(test_E11_a_child_that_was_begun_waits_for_who_has_its_machine)
{
    pawl_err err = { PAWL_OK, "" };
    atomic_int calls = 0;
    pawl_engine *e;

    path_new("child");
    e = pawl_engine_new(boss(), open_store(true), &err);        /* it has the machine, and no shovel */
    CHECK_INT(pawl_engine_add(e, digger(), NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", "{\"n\":1}", &err), PAWL_PENDING);     /* nobody was asked anything */
    CHECK(strstr(err.text, ": no handler for effect \"shovel\"") != NULL);
    pawl_engine_free(e);
    e = engine(true, false, &calls);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_PENDING);
    CHECK(strstr(err.text, "/2.dig:0.1.0: no machine \"digger\" here for a child run") != NULL);
    CHECK_INT(pawl_engine_add(e, digger(), NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(calls, 1);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_G10_E11_children_that_are_not_kept_go_when_their_parent_knows)
{
    pawl_engine *e;

    path_new("child");
    e = engine(true, true, NULL);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .retention = "delete" }, "{\"n\":3,\"how\":\"deep\"}", NULL), PAWL_HALTED);
    CHECK_INT(children(e).n, 0);
    pawl_engine_free(e);
    path_gone();
}

static pawl_code races(pawl_step *s, void *arg)
{
    uint32_t winner;
    pawl_code child = pawl_spawn(s, "digger", pawl_pack(s, "{s:i,s:s}", "depth", (int64_t)1, "how", "ask"), NULL);
    pawl_code nap = pawl_sleep(s, 1), rc = pawl_select(s, &winner);

    (void)arg, (void)child, (void)nap;
    if (rc != PAWL_OK)
        return rc;
    pawl_set_int(s, "winner", winner);
    return pawl_follow(s);
}

static pawl_engine *race(void)
{
    pawl_graph *g = pawl_graph_new("race", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    pawl_graph_channel(g, "winner", PAWL_RULE_LAST);
    pawl_graph_node(g, "race", races, NULL);
    pawl_graph_node(g, "end", ends, NULL);
    pawl_graph_chain(g, PAWL_START, "race", "end", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), open_store(false), &err);
    CHECK_INT(pawl_engine_add(e, digger(), &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "shovel", shovel, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    return e;
}

/* The run is over in the same breath, and let go of. */
PAWL_TEST(test_E10_E11_a_child_that_lost_a_race_is_called_off)
{
    for (int worker = 0; worker < 2; worker++) {
        pawl_engine *e = race();
        pawl_store *s = pawl_engine_store(e);
        pawl_head h;

        if (worker) {
            CHECK_INT(pawl_begin(e, "r", NULL, NULL), PAWL_OK);
            do
                CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
            while (s->verbs->head(s, "r", &h, NULL) == PAWL_OK && !h.over);
        } else {
            CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        }
        CHECK_STR(pawl_run_get(e, "r", "winner"), "1");
        CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
        CHECK_INT(children(e).n, 1);
        CHECK_INT(s->verbs->head(s, children(e).first, &h, NULL), PAWL_OK);
        CHECK_INT(h.status, PAWL_STATUS_CANCELED);
        pawl_engine_free(e);
    }
}

static bool see_mail(void *ctx, const pawl_head *h)
{
    *(uint32_t *)ctx += h->mail;
    return true;
}

PAWL_TEST(test_E11_a_child_that_has_ended_gets_no_cancel)
{
    pawl_engine *e = engine(false, true, NULL);
    pawl_store *s = pawl_engine_store(e);
    uint32_t mail = 0;

    CHECK_INT(pawl_run(e, "r", "{\"n\":2,\"how\":\"ask\"}", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, children(e).first, NULL, "true", NULL), PAWL_HALTED);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 10 }, see_mail, &mail, NULL), PAWL_OK);
    CHECK_INT(mail, 0);
    pawl_engine_free(e);
}

/* Spawns "x", until it is told to stop; or rests. */
static pawl_code names_its_child(pawl_step *s, const pawl_input_event *h, void *arg)
{
    pawl_code rc = PAWL_OK;

    (void)arg;
    if (h->kind == PAWL_EV_SIGNAL)
        pawl_flow_drop(s, "child");
    if (h->kind == PAWL_EV_SIGNAL || pawl_get(s, "rests") != NULL)
        pawl_flow_ask(s, "rest", &(pawl_question){ .kind = PAWL_WAIT_QUESTION, .slot = "rest" });
    else
        rc = pawl_flow_spawn(s, "child", "digger", NULL, &(pawl_flow_child){ .name = "x" });
    return rc;
}

static pawl_engine *namer(void)
{
    const pawl_channel channels[] = { { .name = "rests" } };
    pawl_engine *e = pawl_engine_new(pawl_flow_reducer("namer", 1, channels, 1, names_its_child, NULL, NULL, NULL), open_store(false), NULL);

    CHECK(e != NULL);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_PENDING);      /* it is not begun: nobody here has its machine */
    CHECK_INT(pawl_run(e, "r.sub-x", "{\"rests\":true}", NULL), PAWL_INTERRUPTED);
    return e;
}

/* Its id is another's: whoever gives it up lets that one be, and does not wait for its end. */
PAWL_TEST(test_E10_E11_a_run_that_only_has_a_childs_id_is_not_called_off)
{
    pawl_engine *e = namer();
    pawl_store *s = pawl_engine_store(e);
    pawl_head h;

    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(s->verbs->head(s, "r.sub-x", &h, NULL), PAWL_OK);
    CHECK(!h.over && h.mail == 0);
    pawl_engine_free(e);
    e = namer();
    s = pawl_engine_store(e);
    CHECK_INT(pawl_engine_add(e, digger(), NULL), PAWL_OK);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_SIGNAL, .name = "stop" }, NULL), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->head(s, "r.sub-x", &h, NULL), PAWL_OK);
    CHECK(!h.over && h.mail == 0);
    pawl_engine_free(e);
}

/* The cancel was left for it by an engine that could not drive it. */
PAWL_TEST(test_E10_E11_whoever_goes_on_with_a_cancel_drives_the_children_to_their_end)
{
    pawl_engine *e;

    path_new("child");
    e = engine(true, true, NULL);
    CHECK_INT(pawl_run(e, "r", "{\"n\":2,\"how\":\"ask\"}", NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    e = engine(true, false, NULL);
    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL, .by = "ada" }, NULL), PAWL_INTERRUPTED);
    CHECK_INT(children(e).over, 0);
    pawl_engine_free(e);
    e = engine(true, true, NULL);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(children(e).over, 2);
    verified(e, "r", boss());
    pawl_engine_free(e);
    path_gone();
}

static const pawl_store_verbs *real;
static int starts_lost;

static pawl_code loses_starts(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    if (d->kind != PAWL_DELIVER_START || starts_lost > 0)
        return real->deliver(s, run, d, err);
    starts_lost++;
    return PAWL_IO;
}

/* Made, and not started: so it looks after a crash in between. */
PAWL_TEST(test_E11_a_child_is_started_whatever_mail_it_has)
{
    pawl_engine *e = engine(false, true, NULL);
    pawl_store *s = pawl_engine_store(e);
    pawl_store_verbs verbs = *s->verbs;
    pawl_delivery signal = { .id = "s", .kind = PAWL_DELIVER_SIGNAL, .name = "go", .value = { "1", 1 } };

    real = s->verbs;
    starts_lost = 0;
    verbs.deliver = loses_starts;
    s->verbs = &verbs;
    CHECK_INT(pawl_run(e, "r", "{\"n\":1}", NULL), PAWL_IO);
    s->verbs = real;
    CHECK_INT(starts_lost, 1);
    CHECK_INT(children(e).n, 1);
    CHECK_INT(s->verbs->deliver(s, children(e).first, &signal, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "r", "sum"), "1");
    CHECK_INT(children(e).n, 1);
    pawl_engine_free(e);
}

enum { DEEP = 128 };            /* levels that a value may have */

static pawl_code digs_deep(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char text[2 * DEEP + 1] = "";

    (void)job, (void)arg;
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    return pawl_reply_json(reply, text);
}

static pawl_code keeps(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "shovel", NULL, &v);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "depth", v);
    return pawl_follow(s);
}

/* In the object of all channels it is one level deeper. */
PAWL_TEST(test_E11_channels_too_deep_for_a_receipt_are_an_error_of_the_command)
{
    pawl_graph *g = pawl_graph_new("digger", 1);
    pawl_engine *e = engine(false, false, NULL);

    pawl_graph_channel(g, "depth", PAWL_RULE_LAST);
    pawl_graph_node(g, "keep", keeps, NULL);
    pawl_graph_chain(g, PAWL_START, "keep", PAWL_END, NULL);
    CHECK_INT(pawl_engine_add(e, pawl_graph_compile(g, NULL), NULL), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "shovel", digs_deep, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_run(e, "r", "{\"n\":1}", NULL), PAWL_HALTED);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "[{\"code\":\"limit\",\"run\":\"r.") != NULL);
    CHECK(strstr(pawl_run_get(e, "r", "wrong"), "\"status\":\"completed\"") != NULL);
    pawl_engine_free(e);
}

static pawl_code remembers(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_spawn(s, "digger", pawl_pack(s, "{s:i}", "depth", (int64_t)1), NULL);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set_int(s, "memory", pawl_get_int(s, "memory") + 1);
    return pawl_follow(s);
}

/* Its child stands in the same context, and was begun later. */
PAWL_TEST(test_E11_a_context_is_carried_on_from_its_last_run_not_from_a_child)
{
    pawl_graph *g = pawl_graph_new("talker", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    int64_t n;

    pawl_graph_channel_with(g, &(pawl_channel){ .name = "memory", .rule = PAWL_RULE_LAST, .keep = true });
    pawl_graph_node(g, "remember", remembers, NULL);
    pawl_graph_chain(g, PAWL_START, "remember", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), open_store(false), &err);
    CHECK_INT(pawl_engine_add(e, digger(), &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "shovel", shovel, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    for (n = 1; n <= 3; n++) {
        char run[16], memory[16];

        snprintf(run, sizeof run, "t%d", (int)n);
        snprintf(memory, sizeof memory, "%d", (int)n);
        CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = run, .context = "talk" }, NULL, &err), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, run, "memory"), memory);
    }
    CHECK_INT(children(e).n, 3);
    pawl_engine_free(e);
}

/* ---- killed ----------------------------------------------------------------------------------------- */

static pawl_code shovel_line(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char name[160];
    FILE *f;

    (void)arg;
    snprintf(name, sizeof name, "%s.done", path);
    if ((f = fopen(name, "a")) == NULL)
        return pawl_reply_fail(reply, PAWL_INVALID, "%s", name);
    fprintf(f, "%s\n", job->id);
    fclose(f);
    return pawl_reply_json(reply, "true");
}

static int driven_once(unsigned *seed, long most_ns)
{
    struct timespec t = { .tv_nsec = 0 };
    pid_t child = fork();
    int status;

    if (child == 0) {
        pawl_engine *e = engine(true, true, NULL);
        pawl_code rc;

        (void)pawl_engine_effect(e, "shovel", shovel_line, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL);
        rc = pawl_run(e, "r", "{\"n\":4,\"how\":\"deep\"}", NULL);
        _exit(rc == PAWL_HALTED ? 0 : 1);
    }
    *seed = *seed * 1103515245 + 12345;
    t.tv_nsec = (long)((uint64_t)(*seed >> 8) * (uint64_t)most_ns >> 24);
    nanosleep(&t, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

PAWL_TEST(test_E4_E11_killed_at_any_moment_each_child_is_one_run_and_the_sum_is_right)
{
    unsigned seed = (unsigned)check_seed();
    int rounds = check_run_all() ? 50 : 5, kills = 0;

    for (int round = 0; round < rounds; round++) {
        pawl_engine *e;
        int how = -1;

        path_new("child");
        for (int i = 0; i < 500 && (how = driven_once(&seed, i < 100 ? 15000000 + 5000000L * i : 999999999)) < 0; i++)
            kills++;
        CHECK_INT(how, 0);
        e = engine(true, true, NULL);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "sum"), "10");
        CHECK_INT(children(e).n, 10);
        CHECK_INT(children(e).over, 10);
        verified(e, "r", boss());
        CHECK_INT(pawl_engine_store(e)->verbs->check(pawl_engine_store(e), NULL), PAWL_OK);
        pawl_engine_free(e);
        path_gone();
    }
    printf("%d kills in %d rounds, seed %u\n", kills, rounds, (unsigned)check_seed());
}
