/* engine_charge_test.c - attempts are charged to the budget of a run before they leave, also those that a crash cuts off (A9). */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a machine: {"n":N} calls side by side ------------------------------------------------------------------- */

static pawl_code sends(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < pawl_get_int(s, "n"); i++)
        pawl_send(s, "ask", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code asks(pawl_step *s, void *arg)
{
    const pawl_value *out;
    pawl_code rc = pawl_call(s, "model", NULL, &out);

    (void)arg;
    if (rc != PAWL_OK && rc != PAWL_EFFECT)
        return rc;
    pawl_set(s, rc == PAWL_OK ? "done" : "failed", out);
    return pawl_goto(s, PAWL_END);
}

static pawl_machine *machine(int64_t tokens)
{
    pawl_graph *g = pawl_graph_new("asker", 1);

    pawl_graph_effect(g, "model", &(pawl_limits){ .cost = { .calls = 1, .tokens = tokens } });
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "n", .first = "1" });
    pawl_graph_channel(g, "done", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "failed", PAWL_RULE_APPEND);
    pawl_graph_node(g, "plan", sends, NULL);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_goto(g, "plan", "ask", PAWL_END, NULL);
    pawl_graph_goto(g, "ask", PAWL_END, NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    return pawl_graph_compile(g, NULL);
}

static pawl_spent spent_of(pawl_engine *e, const char *run)
{
    pawl_spent s = {0};
    pawl_state *st = pawl_run_state(e, run, NULL);

    CHECK(st != NULL);
    CHECK(pawl_state_spent(st, &s));
    return s;
}

static void check_journal(pawl_engine *e, int64_t tokens)
{
    pawl_machine *m = machine(tokens);
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), "r", &err);
    union { const char *in; void *out; } bytes = { journal.data };
    pawl_verdict v;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("entry %llu: %s", (unsigned long long)v.seq, err.text);
    free(bytes.out);
    pawl_machine_free(m);
}

static size_t failures(pawl_engine *e, const char *says)
{
    const pawl_value *all = pawl_state_get(pawl_run_state(e, "r", NULL), "failed"), *v;
    pawl_iter it = pawl_iter_of(all);
    size_t n = 0;

    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        CHECK_STR(pawl_value_string(pawl_value_get(v, "code")), "limit");
        CHECK(strstr(pawl_value_string(pawl_value_get(v, "text")), says) != NULL);
        n++;
    }
    return n;
}

/* ---- killed ------------------------------------------------------------------------------------------------------- */

static char counter[128];

/* A far end that counts requests by the bytes of a file; this process then dies. */
static pawl_code counts_and_dies(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const int fd = open(counter, O_WRONLY | O_APPEND | O_CREAT, 0600);

    (void)job, (void)reply, (void)arg;
    CHECK(fd >= 0 && write(fd, "x", 1) == 1);
    _exit(7);
}

static pawl_engine *engine(int64_t tokens, pawl_handler_fn *fn, void *arg, unsigned threads)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(machine(tokens), pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err), &err);

    if (e == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_engine_effect(e, "model", fn, arg, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    pawl_engine_threads(e, threads);
    return e;
}

static bool dies(const pawl_run_info *info, const char *input, int64_t tokens, unsigned threads)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        pawl_engine *e = engine(tokens, counts_and_dies, NULL, threads);

        _exit(pawl_run_with(e, info, input, NULL) >= 0 ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7));
    return WEXITSTATUS(status) == 7;
}

static int64_t counted(void)
{
    struct stat st;

    return stat(counter, &st) == 0 ? st.st_size : 0;
}

/* Kills the run `kills` times; at most `cap` requests arrive, and the ledger has them all at the end. */
static void killed(int kills, int64_t cap, pawl_caps caps, int64_t tokens, int side, unsigned threads)
{
    const pawl_run_info info = { .id = "r", .life = 5, .seed = 6, .budget = caps };
    char input[32];
    int deaths = 0;
    pawl_engine *e;
    pawl_spent s;

    path_new("charge");
    snprintf(counter, sizeof counter, "%s.calls", path);
    unlink(counter);
    snprintf(input, sizeof input, "{\"n\":%d}", side);
    for (int i = 0; i < kills; i++)
        deaths += dies(&info, i == 0 ? input : NULL, tokens, threads);
    CHECK(counted() >= 1 && counted() <= cap);
    CHECK(deaths >= 1 && deaths <= cap);
    e = engine(tokens, counts_and_dies, NULL, 0);       /* nothing leaves here any more */
    CHECK_INT(pawl_run_with(e, &info, NULL, NULL), PAWL_HALTED);
    s = spent_of(e, "r");
    CHECK(s.used.calls >= counted());
    CHECK(!s.overdraft);
    CHECK_INT(s.reserved.calls + s.reserved.tokens, 0);
    CHECK(caps.calls == 0 || s.used.calls <= caps.calls);
    CHECK(caps.tokens == 0 || s.used.tokens <= caps.tokens);
    CHECK(side > 1 || s.used.calls == cap);             /* all of it is spent */
    CHECK_INT((int64_t)failures(e, "more for attempts that a crash cut off"), side);
    check_journal(e, tokens);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_A9_a_hundred_kills_and_no_more_calls_than_the_budget)
{
    static const int64_t few[] = { 1, 3, 20 };
    const bool all = check_run_all();

    for (size_t i = 0; i < 3; i++)
        killed(100, few[i], (pawl_caps){ .calls = few[i] }, 0, 1, 0);
    for (int64_t n = 1; all && n <= 50; n++)
        killed(100, n, (pawl_caps){ .calls = n }, 0, 1, 0);
}

PAWL_TEST(test_A9_a_crash_costs_the_whole_reservation_of_tokens)
{
    killed(12, 3, (pawl_caps){ .tokens = 35 }, 10, 1, 0);
    killed(12, 2, (pawl_caps){ .tokens = 35, .calls = 2 }, 10, 1, 0);
}

PAWL_TEST(test_A9_calls_side_by_side_are_killed_within_one_budget)
{
    const int kills = check_run_all() ? 100 : 30;

    for (int64_t n = 3; n <= 9; n += 3)
        killed(kills, n, (pawl_caps){ .calls = n }, 0, 3, 0);
    killed(kills, 9, (pawl_caps){ .calls = 9 }, 0, 3, 2);
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

typedef struct slow { int64_t now; atomic_int calls; } slow;

static int64_t slow_now(void *ctx) { return ((slow *)ctx)->now; }

static pawl_code takes_three_seconds(const pawl_job *job, pawl_reply *reply, void *arg)
{
    slow *s = arg;

    (void)job;
    s->now += 3000;
    s->calls++;
    return pawl_reply_int(reply, 1);
}

PAWL_TEST(test_A9_a_budget_of_time_ends_what_is_queued)
{
    for (int limited = 0; limited < 2; limited++) {
        slow s = { .now = 1000000 };
        const pawl_run_info info = { .id = "r", .budget = { .ms = 1000 } };
        pawl_engine *e;

        path_new("charge");
        e = engine(0, takes_three_seconds, &s, 0);
        pawl_engine_clock(e, &(pawl_clock){ .now_ms = slow_now, .ctx = &s });
        if (limited != 0)
            CHECK_INT(pawl_engine_budget(e, "model", &(pawl_budget){ .running = 1 }, NULL), PAWL_OK);
        CHECK_INT(pawl_run_with(e, &info, "{\"n\":60}", NULL), PAWL_HALTED);
        CHECK_INT(s.calls, 1);
        CHECK_INT(failures(e, "budget: 1000 ms: 3"), 59);
        CHECK_INT(spent_of(e, "r").used.calls, 1);
        check_journal(e, 0);
        pawl_engine_free(e);
        path_gone();
    }
}

static pawl_code takes_long(const pawl_job *job, pawl_reply *reply, void *arg)
{
    slow *s = arg;

    (void)job;
    s->calls++;
    nanosleep(&(struct timespec){ .tv_nsec = 60000000 }, NULL);
    return pawl_reply_int(reply, 1);
}

/* What waits for a thread is queued, too: each of the two threads takes longer than the budget, so it begins one call at most. */
PAWL_TEST(test_A9_a_budget_of_time_ends_what_waits_for_a_thread)
{
    slow s = { .now = 0 };
    const pawl_run_info info = { .id = "r", .budget = { .ms = 50 } };
    pawl_engine *e;

    path_new("charge");
    e = engine(0, takes_long, &s, 2);
    CHECK_INT(pawl_run_with(e, &info, "{\"n\":20}", NULL), PAWL_HALTED);
    CHECK(s.calls <= 2);
    CHECK_INT(failures(e, "budget: 50 ms"), (size_t)(20 - s.calls));
    CHECK_INT(spent_of(e, "r").used.calls, s.calls);
    pawl_engine_free(e);
    path_gone();
}

/* ---- usage ---------------------------------------------------------------------------------------------------------- */

static pawl_code says(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const pawl_cost *cost = arg;

    (void)job;
    pawl_reply_cost(reply, cost->tokens, cost->micros);
    return pawl_reply_int(reply, 1);
}

PAWL_TEST(test_A9_a_cost_that_cannot_be_costs_the_reservation)
{
    static const pawl_cost odd[] = { { .tokens = -1 }, { .micros = -5 }, { .tokens = INT64_MAX }, { .micros = (INT64_C(1) << 53) + 1 }, { .tokens = 4 } };

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        pawl_cost cost = odd[i];
        const pawl_run_info info = { .id = "r", .budget = { .tokens = 100 } };
        pawl_engine *e;

        path_new("charge");
        e = engine(10, says, &cost, 0);
        CHECK_INT(pawl_run_with(e, &info, "{\"n\":1}", NULL), PAWL_HALTED);
        CHECK_INT(spent_of(e, "r").used.tokens, i == 4 ? 4 : 10);
        pawl_engine_free(e);
        path_gone();
    }
}

int main(int argc, char **argv) { return check_main(argc, argv); }
