/* engine_cost_test.c - what commands and children have cost comes to the ledgers of a tree of runs, killed wherever it is (A8). */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- machines ----------------------------------------------------------------------------------- */

/* {"n":N,"share":C,"each":E,"own":O}: N children side by side, with C calls each (0: what they are given), which call E times (0: once); then
 * calls of its own. */
static char own[] = "own", its[] = "n";

static pawl_code sends(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < pawl_get_int(s, "n"); i++)
        pawl_send(s, "hire", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code hires(pawl_step *s, void *arg)
{
    const pawl_caps share = { .calls = pawl_get_int(s, "share") };
    const pawl_value *out;
    pawl_code rc = pawl_spawn_with(s, "hand", pawl_get_int(s, "each") > 0 ? pawl_pack(s, "{s:i}", "n", pawl_get_int(s, "each")) : NULL,
                                   share.calls > 0 ? &share : NULL, &out);

    (void)arg;
    if (rc == PAWL_LIMIT)
        pawl_set(s, "refused", out);
    else if (rc == PAWL_EFFECT)
        pawl_set(s, "failed", out);
    else if (rc != PAWL_OK)
        return rc;
    return pawl_follow(s);
}

static pawl_code model_calls(pawl_step *s, void *arg)
{
    pawl_code rc;

    for (int64_t i = 0; i < pawl_get_int(s, arg); i++)
        if ((rc = pawl_call(s, "model", pawl_pack(s, "i", i), NULL)) != PAWL_OK)
            return rc;
    return pawl_follow(s);
}

static void model(pawl_graph *g)
{
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "n", .first = "1" });
    pawl_graph_effect(g, "model", &(pawl_limits){ .retry = { .max_attempts = 3, .initial_ms = 1 },
                                                  .cost = { .tokens = 30, .micros = 9, .calls = 3 } });
}

static pawl_machine *boss(void)
{
    pawl_graph *g = pawl_graph_new("boss", 1);

    model(g);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "share", .first = "0" });
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "each", .first = "0" });
    pawl_graph_channel(g, "refused", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "failed", PAWL_RULE_APPEND);
    pawl_graph_node(g, "plan", sends, NULL);
    pawl_graph_node(g, "hire", hires, NULL);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "own", .first = "1" });
    pawl_graph_node(g, "sum", model_calls, own);
    pawl_graph_goto(g, "plan", "hire", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_chain(g, "hire", "sum", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_machine *hand(void)
{
    pawl_graph *g = pawl_graph_new("hand", 1);

    model(g);
    pawl_graph_node(g, "work", model_calls, its);
    pawl_graph_chain(g, PAWL_START, "work", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* ---- the world ------------------------------------------------------------------------------------- */

typedef struct bills {
    atomic_int calls;
    int fails;                  /* so many attempts of each command fail first */
    int64_t tokens, micros;     /* of each attempt; below 0: not said */
    int *left;                  /* until the process dies; NULL: never */
} bills;

static void may_die(int *left)
{
    if (left != NULL && (*left)-- == 0)
        _exit(7);
}

static pawl_code answer(const pawl_job *job, pawl_reply *reply, void *arg)
{
    bills *b = arg;

    atomic_fetch_add(&b->calls, 1);
    may_die(b->left);
    if (b->tokens >= 0)
        pawl_reply_cost(reply, b->tokens, b->micros);
    if ((int)job->attempt <= b->fails)
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "busy");
    return pawl_reply_json(reply, "true");
}

static void watched(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    (void)st, (void)entry;
    may_die(((bills *)ctx)->left);
}

static pawl_engine *engine(bool sqlite, bills *b)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *store = sqlite ? pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err) : pawl_store_memory(&err);
    pawl_engine *e = pawl_engine_new(boss(), store, &err);

    if (e == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(pawl_engine_add(e, hand(), &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "model", answer, b, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    pawl_engine_watch(e, watched, b);
    return e;
}

/* ---- what stands there ------------------------------------------------------------------------------- */

static pawl_spent spent_of(pawl_engine *e, const char *run)
{
    pawl_spent s = {0};
    pawl_state *st = pawl_run_state(e, run, NULL);

    CHECK(st != NULL);
    CHECK(pawl_state_spent(st, &s));
    return s;
}

static bool below(int64_t cap, int64_t used, int64_t reserved)
{
    return used >= 0 && reserved >= 0 && (cap == 0 || used + reserved <= cap);
}

/* At every line of its journal, which is as its machine would have it. */
static void check_run(pawl_engine *e, const char *run, pawl_machine *m)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), run, &err);
    union { const char *in; void *out; } bytes = { journal.data };
    const char *at = journal.data, *end = at + journal.size, *nl = memchr(at, '\n', journal.size);
    pawl_step *s = pawl_step_new(NULL);
    pawl_verdict v;
    pawl_state *st;
    pawl_entry *entry;
    pawl_spent spent;

    if (pawl_verify(m, journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("%s: entry %llu: %s", run, (unsigned long long)v.seq, err.text);
    CHECK_INT(pawl_state_load((pawl_bytes){ at, (size_t)(nl - at) }, (pawl_bytes){0}, NULL, NULL, &st, &err), PAWL_OK);
    for (at = nl + 1; at < end; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        CHECK_INT(pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, s, &entry, &err), PAWL_OK);
        CHECK_INT(pawl_apply(st, entry, &err), PAWL_OK);
        CHECK(pawl_state_spent(st, &spent));
        if (!spent.overdraft)
            CHECK(below(spent.caps.calls, spent.used.calls, spent.reserved.calls) &&
                  below(spent.caps.tokens, spent.used.tokens, spent.reserved.tokens) &&
                  below(spent.caps.micros, spent.used.micros, spent.reserved.micros));
    }
    pawl_state_free(st);
    pawl_step_free(s);
    free(bytes.out);
    pawl_machine_free(m);
}

typedef struct tree { int n, over; char ids[16][PAWL_DEDUPE_RUN_BYTES]; } tree;

static bool see_child(void *ctx, const pawl_head *h)
{
    tree *t = ctx;

    if (h->parent == NULL)
        return true;
    if (t->n < 16)
        snprintf(t->ids[t->n], sizeof t->ids[0], "%s", h->run);
    t->n++;
    t->over += h->over;
    return true;
}

static tree children(pawl_engine *e)
{
    pawl_store *s = pawl_engine_store(e);
    tree t = {0};

    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 10000 }, see_child, &t, NULL), PAWL_OK);
    return t;
}

/* Back-offs of a child may have to be waited for. */
static pawl_code to_its_end(pawl_engine *e, const char *run)
{
    pawl_code rc = PAWL_PENDING;

    for (int i = 0; i < 1000 && rc >= 0 && rc != PAWL_HALTED; i++)
        rc = pawl_run(e, run, NULL, NULL);
    return rc;
}

/* ---- told -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_what_the_attempts_say_they_cost_adds_up)
{
    for (int sqlite = 0; sqlite < 2; sqlite++) {
        bills b = { .fails = 2, .tokens = 7, .micros = 1 };
        const pawl_run_info info = { .id = "c", .budget = { .tokens = 100, .calls = 9 } };
        pawl_spent s;
        pawl_engine *e;

        path_new("cost");
        e = engine(sqlite, &b);
        CHECK(pawl_run_with(e, &info, "{\"n\":1}", NULL) >= 0);
        CHECK_INT(to_its_end(e, "c"), PAWL_HALTED);
        s = spent_of(e, "c");
        CHECK_INT(s.used.calls, 6);         /* its child's three, and its own */
        CHECK_INT(s.used.tokens, 42);
        CHECK_INT(s.used.micros, 6);
        CHECK_INT(s.reserved.calls, 0);
        CHECK_INT(s.reserved.tokens, 0);
        CHECK(!s.overdraft);
        check_run(e, "c", boss());
        s = spent_of(e, children(e).ids[0]);
        CHECK_INT(s.caps.calls, 5);         /* half of nine */
        CHECK_INT(s.caps.tokens, 50);
        CHECK_INT(s.used.calls, 3);
        CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "c", .budget = { .calls = 10 } }, NULL, NULL), PAWL_CONFLICT);
        CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "d", .budget = { .calls = -1 } }, NULL, NULL), PAWL_INVALID);
        pawl_engine_free(e);
        path_gone();
    }
}

PAWL_TEST(test_A8_what_nobody_says_cost_what_was_reserved)
{
    bills b = { .tokens = -1 };
    pawl_engine *e = engine(false, &b);
    pawl_spent s;

    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .budget = { .tokens = 100, .calls = 9 } }, "{\"n\":1}", NULL), PAWL_HALTED);
    s = spent_of(e, "r");
    CHECK_INT(s.used.calls, 2);             /* attempts are known */
    CHECK_INT(s.used.tokens, 60);
    pawl_engine_free(e);
}

static bool holds(pawl_bytes text, const char *what)
{
    size_t n = strlen(what);

    for (size_t i = 0; i + n <= text.size; i++)
        if (memcmp(text.data + i, what, n) == 0)
            return true;
    return false;
}

PAWL_TEST(test_A8_a_run_without_a_budget_has_no_ledger_and_its_journal_no_mark_of_one)
{
    bills b = { .tokens = -1, .fails = 1 };
    pawl_engine *e = engine(false, &b);
    pawl_err err = { PAWL_OK, "" };
    pawl_spent s;
    pawl_bytes journal;
    union { const char *in; void *out; } bytes;

    CHECK_INT(pawl_run(e, "r", "{\"n\":2,\"own\":2}", NULL), PAWL_HALTED);
    CHECK(!pawl_state_spent(pawl_run_state(e, "r", NULL), &s));
    journal = pawl_store_journal(pawl_engine_store(e), "r", &err);
    bytes.in = journal.data;
    CHECK(!holds(journal, "usage"));
    CHECK(!holds(journal, "budget"));
    free(bytes.out);
    pawl_engine_free(e);
}

PAWL_TEST(test_A8_a_child_that_is_overdrawn_stops_and_its_parent_counts_it)
{
    bills b = { .tokens = 31 };             /* one above what was reserved */
    pawl_engine *e = engine(false, &b);
    pawl_spent s;

    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .budget = { .tokens = 1000 } }, "{\"n\":1,\"each\":2}", NULL), PAWL_HALTED);
    CHECK_INT(b.calls, 2);                  /* the child's second does not leave; its parent has reserved more for it, and goes on */
    s = spent_of(e, children(e).ids[0]);
    CHECK(s.overdraft);
    CHECK_INT(pawl_state_status(pawl_run_state(e, children(e).ids[0], NULL)), PAWL_STATUS_FAILED);
    CHECK(strstr(pawl_run_get(e, "r", "failed"), "nothing more leaves") != NULL);
    CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
    CHECK(spent_of(e, "r").overdraft);      /* by its own */
    CHECK_INT(spent_of(e, "r").used.tokens, 62);
    check_run(e, "r", boss());
    pawl_engine_free(e);
}

/* ---- a tree ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A8_a_thousand_children_spend_no_more_than_was_given)
{
    bills b = { .tokens = 5 };
    pawl_engine *e = engine(false, &b);
    const pawl_run_info info = { .id = "r", .budget = { .calls = 1800, .tokens = 1000000 } };
    pawl_spent s;

    pawl_engine_threads(e, 4);
    CHECK_INT(pawl_begin_with(e, &info, "{\"n\":1000,\"share\":3}", NULL), PAWL_OK);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    s = spent_of(e, "r");
    CHECK(s.used.calls + s.reserved.calls <= 1800);
    CHECK_INT(s.used.calls, b.calls);       /* each command once */
    CHECK(pawl_value_size(pawl_state_get(pawl_run_state(e, "r", NULL), "refused")) > 0);
    CHECK_INT(children(e).n, children(e).over);
    check_run(e, "r", boss());
    pawl_engine_free(e);
}

/* ---- killed -------------------------------------------------------------------------------------------------- */

/* In a process of its own, which dies at its `left`-th entry or attempt; true: it came to its end before. */
static bool lives(const pawl_run_info *info, int left)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        bills b = { .tokens = 7, .micros = 2, .fails = 1, .left = &left };
        pawl_engine *e = engine(true, &b);

        _exit(pawl_run_with(e, info, "{\"n\":2,\"own\":2}", NULL) == PAWL_HALTED ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7));
    return WEXITSTATUS(status) == 0;
}

PAWL_TEST(test_A8_killed_at_every_entry_and_every_attempt_the_ledger_is_right)
{
    const pawl_run_info info = { .id = "r", .life = 5, .seed = 6, .budget = { .tokens = 400, .calls = 40, .micros = 100 } };
    bool done = false;
    int left;

    for (left = 0; !done; left++) {
        bills b = { .tokens = 7, .micros = 2, .fails = 1 };
        pawl_cost sum = {0};
        pawl_engine *e;
        pawl_spent s;
        tree t;

        path_new("cost");
        done = lives(&info, left);
        e = engine(true, &b);
        CHECK_INT(pawl_run_with(e, &info, pawl_run_state(e, "r", NULL) == NULL ? "{\"n\":2,\"own\":2}" : NULL, NULL), PAWL_HALTED);
        s = spent_of(e, "r");
        CHECK_INT(pawl_state_status(pawl_run_state(e, "r", NULL)), PAWL_STATUS_COMPLETED);
        CHECK(!s.overdraft);
        CHECK_INT(s.reserved.calls + s.reserved.tokens + s.reserved.micros, 0);
        check_run(e, "r", boss());
        t = children(e);
        CHECK_INT(t.n, 2);
        for (int i = 0; i < t.n; i++) {
            pawl_spent c = spent_of(e, t.ids[i]);

            check_run(e, t.ids[i], hand());
            sum.calls += c.used.calls;
            sum.tokens += c.used.tokens;
        }
        CHECK(s.used.calls >= sum.calls + 2 && s.used.calls <= sum.calls + 6);      /* and its own two, of two attempts, or one more */
        CHECK(s.used.tokens >= sum.tokens + 28 && s.used.tokens <= sum.tokens + 28 + 60);    /* an attempt that nobody saw costs all of the 30 (A9) */
        CHECK(sum.calls >= 4 && sum.calls <= 6 && sum.tokens >= 28);                /* they leave together: one attempt more of each */
        pawl_engine_free(e);
        path_gone();
    }
    CHECK(left > 20);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
