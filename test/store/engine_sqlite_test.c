/* engine_sqlite_test.c - runs that outlive the process: driven, killed, taken up by another, told things from outside. */
#include "lib/engine_fixture.h"
#include "store/place.h"
#include "store/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pawl_store *open_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

/* ---- one process after another --------------------------------------------------------------------- */

PAWL_TEST(test_E4_a_run_goes_on_in_the_next_process)
{
    town t;

    path_new("engine");
    town_begin(&t, town_essay(NULL), open_store());
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(t.calls, 1);
    town_end(&t);
    town_begin(&t, town_essay(NULL), open_store());
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    CHECK_INT(town_run(&t, "essay-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":2}"), PAWL_CONFLICT);
    CHECK_INT(t.calls, 0);                      /* what was answered is not asked again */
    CHECK_STR(pawl_run_get(t.e, "essay-1", "draft"), "first");
    t.err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_answer(t.e, "essay-1", "publish", "true", &t.err), PAWL_HALTED);
    town_verify(&t, "essay-1");
    town_end(&t);
    path_gone();
}

/* ---- kill -9 ----------------------------------------------------------------------------------------------- */

enum { STEPS = 12 };

static pawl_code step_node(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < STEPS; i++) {
        pawl_code rc = pawl_call(s, i % 2 == 0 ? "once" : "again", pawl_pack(s, "{s:i}", "n", i), NULL);

        if (rc != PAWL_OK && rc != PAWL_EFFECT)
            return rc;
        if (rc == PAWL_EFFECT)
            pawl_set(s, "unknown", pawl_pack(s, "i", i));
    }
    return pawl_follow(s);
}

static pawl_machine *steps_machine(void)
{
    pawl_graph *g = pawl_graph_new("steps", 1);

    pawl_graph_channel(g, "unknown", PAWL_RULE_APPEND);
    pawl_graph_effect(g, "once", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "all", step_node, NULL);
    pawl_graph_chain(g, PAWL_START, "all", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* Appends a line to the file of its effect, whatever happens next. */
static pawl_code write_line(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char name[160], line[32];
    FILE *f;

    snprintf(name, sizeof name, "%s.%s", path, (const char *)arg);
    snprintf(line, sizeof line, "%lld\n", (long long)pawl_value_int(pawl_value_get(job->args, "n")));
    if ((f = fopen(name, "a")) == NULL)
        return pawl_reply_fail(reply, PAWL_INVALID, "%s", name);
    fputs(line, f);
    fclose(f);
    return pawl_reply_int(reply, 1);
}

/* What came of it nobody knows: so it is left, and the run goes on. */
static pawl_code run_and_settle(pawl_engine *e, pawl_err *err)
{
    pawl_code rc = pawl_run(e, "run", NULL, err);

    while (rc == PAWL_INTERRUPTED)
        rc = pawl_answer(e, "run", NULL, "{\"failed\":\"nobody knows\"}", err);
    return rc;
}

static void drive_in_child(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(steps_machine(), pawl_store_sqlite(path, NULL, &err), &err);
    pawl_code rc;

    pawl_engine_effect(e, "once", write_line, "once", PAWL_CLASS_ONCE, &err);
    pawl_engine_effect(e, "again", write_line, "again", PAWL_CLASS_AT_LEAST_ONCE, &err);
    if ((rc = run_and_settle(e, &err)) != PAWL_HALTED)
        fprintf(stderr, "%s: %s\n", pawl_code_name(rc), err.text);
    _exit(rc == PAWL_HALTED ? 0 : 1);
}

/* How often each number stands in the file of that effect. */
static void lines_count(const char *effect, int counts[STEPS])
{
    char name[160];
    FILE *f;
    int n;

    memset(counts, 0, STEPS * sizeof *counts);
    snprintf(name, sizeof name, "%s.%s", path, effect);
    f = fopen(name, "r");
    while (f != NULL && fscanf(f, "%d", &n) == 1 && n >= 0 && n < STEPS)
        counts[n]++;
    if (f != NULL)
        fclose(f);
    unlink(name);
}

static int killed_until_done(unsigned *seed)
{
    for (int kills = 0; kills < 500; kills++) {
        struct timespec t = { .tv_nsec = 0 };
        pid_t child = fork();
        int status;

        if (child == 0)
            drive_in_child();
        *seed = *seed * 1103515245 + 12345;
        t.tv_nsec = (long)((uint64_t)(*seed >> 8) * (uint64_t)(kills < 490 ? 12000000 + 2000000L * kills : 999999999) >> 24);   /* in the end it gets through */
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == 0 ? kills : -1;
    }
    return -1;
}

PAWL_TEST(test_E4_E5_killed_at_any_moment_nothing_of_class_once_happens_twice)
{
    unsigned seed = (unsigned)check_seed();
    int total = 0, rounds = check_run_all() ? 60 : 6;

    for (int round = 0; round < rounds; round++) {
        int once[STEPS], again[STEPS];
        pawl_err err = { PAWL_OK, "" };
        pawl_verdict v;
        pawl_bytes journal;
        pawl_machine *m = steps_machine();
        pawl_store *s;
        union { const char *in; void *out; } bytes;
        int kills;

        path_new("engine");
        if ((kills = killed_until_done(&seed)) < 0)
            CHECK_FAIL("it does not end well");
        total += kills;
        lines_count("once", once);
        lines_count("again", again);
        for (int i = 0; i < STEPS; i++) {
            CHECK(i % 2 != 0 || once[i] <= 1);
            CHECK(i % 2 == 0 || again[i] >= 1);
        }
        s = open_store();
        journal = pawl_store_journal(s, "run", &err);
        if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
            CHECK_FAIL("verify: entry %llu: %s", (unsigned long long)v.seq, err.text);
        CHECK_INT(s->verbs->check(s, &err), PAWL_OK);
        bytes.in = journal.data;
        free(bytes.out);
        pawl_store_free(s);
        pawl_machine_free(m);
        path_gone();
    }
    printf("%d kills in %d runs\n", total, rounds);
}

static pawl_code dies(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)reply, (void)arg;
    _exit(9);
}

/* Nobody has waited for the process yet, so the system still knows its number. */
PAWL_TEST(test_S2_who_died_holds_nothing_though_nobody_buried_it)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    int counts[STEPS], status;
    siginfo_t info;
    pid_t child;

    path_new("engine");
    if ((child = fork()) == 0) {
        e = pawl_engine_new(steps_machine(), pawl_store_sqlite(path, NULL, &err), &err);
        pawl_engine_effect(e, "once", dies, NULL, PAWL_CLASS_ONCE, &err);
        _exit(pawl_run(e, "run", NULL, &err) == PAWL_HALTED ? 0 : 1);
    }
    CHECK_INT(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CHECK_INT(info.si_status, 9);
    e = pawl_engine_new(steps_machine(), open_store(), &err);
    CHECK_INT(pawl_engine_effect(e, "once", write_line, "once", PAWL_CLASS_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "again", write_line, "again", PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(run_and_settle(e, &err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(e, "run", "unknown"), "[0]");
    pawl_engine_free(e);
    CHECK_INT(waitpid(child, &status, 0), child);
    lines_count("once", counts);
    CHECK_INT(counts[0], 0);
    lines_count("again", counts);
    path_gone();
}

/* Its leases are of an hour, and many runs are in flight: whoever works next goes on with all of them at once. */
PAWL_TEST(test_S2_what_a_dead_process_held_is_worked_on_at_once)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    char id[16];
    int status;
    pid_t child;

    path_new("engine");
    if ((child = fork()) == 0) {
        e = pawl_engine_new(steps_machine(), pawl_store_sqlite(path, NULL, &err), &err);
        pawl_engine_lease(e, NULL, 3600000);
        pawl_engine_effect(e, "once", dies, NULL, PAWL_CLASS_ONCE, &err);
        for (int i = 0; i < 64; i++) {
            snprintf(id, sizeof id, "run-%d", i);
            if (pawl_begin(e, id, NULL, &err) != PAWL_OK)
                _exit(1);
        }
        _exit(pawl_work(e, 0, &err) == PAWL_OK ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(WEXITSTATUS(status), 9);
    e = pawl_engine_new(steps_machine(), open_store(), &err);
    CHECK_INT(pawl_engine_effect(e, "once", write_line, "once", PAWL_CLASS_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "again", write_line, "again", PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, &err), PAWL_OK);
    for (int i = 0; i < 64; i++) {
        pawl_status s;

        snprintf(id, sizeof id, "run-%d", i);
        s = pawl_state_status(pawl_run_state(e, id, &err));
        CHECK(s == PAWL_STATUS_COMPLETED || s == PAWL_STATUS_INPUT_REQUIRED);     /* the one that it died of is asked about */
    }
    pawl_engine_free(e);
    path_gone();
}

/* ---- two at once ---------------------------------------------------------------------------------------------- */

/* While it is performed, another engine of the same process leaves an answer for the run. */
static pawl_code told_meanwhile(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *other = pawl_engine_new(town_essay(NULL), open_store(), &err);

    (void)job;
    CHECK_INT(pawl_event_send(other, "essay-1", &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"request\":\"later\"}" }, &err), PAWL_PENDING);
    CHECK_INT(pawl_run(other, "essay-1", NULL, &err), PAWL_HELD);
    CHECK(strstr(err.text, "essay-1: ") == err.text && strstr(err.text, " holds it for another ") != NULL);
    pawl_engine_free(other);
    *(int *)arg += 1;
    return pawl_reply_string(reply, "text");
}

PAWL_TEST(test_E16_S2_who_does_not_hold_a_run_delivers)
{
    int calls = 0;
    town t;

    path_new("engine");
    town_begin(&t, town_essay(NULL), open_store());
    CHECK_INT(pawl_engine_effect(t.e, "llm", told_meanwhile, &calls, PAWL_CLASS_AT_LEAST_ONCE, &t.err), PAWL_OK);
    CHECK_INT(town_run(&t, "essay-1", "{\"request\":\"now\"}"), PAWL_INTERRUPTED);
    CHECK_INT(calls, 1);
    CHECK(town_stored(&t, "essay-1", "[\"update\",{\"request\":\"later\"},{}]"));    /* kept while the superstep is open */
    CHECK_INT(pawl_answer(t.e, "essay-1", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "essay-1", "request"), "later");
    town_verify(&t, "essay-1");
    town_end(&t);
    path_gone();
}

/* Beside a question stands work; an answer is left by what names the question while that work holds the run. */
static pawl_code question(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask_with(s, &(pawl_question){ .slot = "color", .prompt = pawl_pack(s, "s", "which?") }, &answer);

    (void)arg;
    return rc == PAWL_OK ? pawl_set(s, "color", answer), pawl_follow(s) : rc;
}

static pawl_machine *asks_beside(void)
{
    pawl_graph *g = pawl_graph_new("asks", 1);

    pawl_graph_channel(g, "color", PAWL_RULE_LAST);
    pawl_graph_node(g, "question", question, NULL);
    pawl_graph_work(g, "work", "work");
    pawl_graph_chain(g, PAWL_START, "question", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "work", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_code answered_meanwhile(const pawl_job *job, pawl_reply *reply, void *arg)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *other = pawl_engine_new(asks_beside(), open_store(), &err);

    (void)job;
    CHECK_INT(pawl_answer(other, "r", "taste", "\"red\"", &err), PAWL_INVALID);
    CHECK_STR(err.text, "r: no open wait \"taste\"");
    if (arg != NULL && *(char *)arg == '\0') {      /* by its id */
        char id[128];
        pawl_wait w;

        CHECK_INT(pawl_state_wait(pawl_run_state(other, "r", NULL), 0, pawl_engine_step(other), &w, NULL), PAWL_OK);
        snprintf(id, sizeof id, "%s", w.id);
        CHECK_INT(pawl_answer(other, "r", id, "\"red\"", &err), PAWL_PENDING);
    } else {
        CHECK_INT(pawl_answer(other, "r", arg, "\"red\"", &err), PAWL_PENDING);
    }
    pawl_engine_free(other);
    return pawl_reply_json(reply, "{}");
}

PAWL_TEST(test_E16_W3_an_answer_that_is_left_names_its_wait_like_any_other)
{
    static char slot[] = "color", node[] = "question", id[] = "";
    char *names[] = { slot, node, id, NULL };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_engine *e;

        path_new("engine");
        e = pawl_engine_new(asks_beside(), open_store(), &err);
        CHECK_INT(pawl_engine_effect(e, "work", answered_meanwhile, names[i], PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
        CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "color"), "red");
        pawl_engine_free(e);
        path_gone();
    }
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_E3_many_runs_are_driven_at_once)
{
    enum { RUNS = 40 };
    char id[16];
    town t;

    path_new("engine");
    town_begin(&t, town_essay(NULL), open_store());
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"text\"";
    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "run-%d", i);
        CHECK_INT(pawl_begin(t.e, id, "{\"request\":1}", &t.err), PAWL_OK);
    }
    CHECK_INT(pawl_begin(t.e, "bad", "[1]", NULL), PAWL_INVALID);
    CHECK_INT(t.calls, 0);
    CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
    CHECK_INT(t.calls, RUNS);
    for (int i = 0; i < RUNS; i++) {
        snprintf(id, sizeof id, "run-%d", i);
        CHECK_STR(pawl_run_get(t.e, id, "draft"), "text");
        CHECK_INT(pawl_answer(t.e, id, NULL, "true", &t.err), PAWL_HALTED);
        town_verify(&t, id);
    }
    town_end(&t);
    path_gone();
}
