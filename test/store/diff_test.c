/* diff_test.c - two runs are compared, and the entry is named at which they part. */
#include "fuzz/fuzz_run.h"
#include "store/shelf.h"

#define ERR (pawl_err){ PAWL_OK, "" }

/* ---- two runs --------------------------------------------------------------------------------------------- */

typedef struct channels { char text[512]; } channels;

static bool see_channel(void *ctx, const char *name, const pawl_value *a, const pawl_value *b)
{
    channels *c = ctx;
    size_t n = strlen(c->text);
    buf x;

    buf_init(&x, NULL);
    buf_fmt(&x, "%s ", name);
    if (a != NULL)
        canon(&x, a);
    buf_text(&x, "|");
    if (b != NULL)
        canon(&x, b);
    buf_text(&x, "; ");
    buf_char(&x, '\0');
    snprintf(c->text + n, sizeof c->text - n, "%s", x.data);
    buf_free(&x);
    return true;
}

static void diff_of(pawl_store *s, const char *a, const char *b, pawl_diff_at at, pawl_diff *d, channels *c)
{
    pawl_err err = ERR;

    c->text[0] = '\0';
    if (pawl_history_diff(s, a, b, at, see_channel, c, d, &err) != PAWL_OK)
        CHECK_FAIL("%s and %s: %s", a, b, err.text);
}

static void fork_is_compared(void)
{
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    channels c;
    pawl_diff d;
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        char same[8], other[8];

        snprintf(same, sizeof same, "s%d", (int)seq);
        snprintf(other, sizeof other, "o%d", (int)seq);
        CHECK_INT(pawl_run_fork(t.e, "r", seq, same, &err), PAWL_OK);
        diff_of(s, "r", same, PAWL_DIFF_AT_END, &d, &c);
        if (d.same || d.a.seq <= seq || d.b.seq != 0)           /* it has not gone on yet */
            CHECK_FAIL("forked at %llu: %s %llu %s, %s %llu %s", (unsigned long long)seq, d.a.of, (unsigned long long)d.a.seq, d.a.fact, d.b.of,
                       (unsigned long long)d.b.seq, d.b.fact);
        CHECK_INT(town_run(&t, same, NULL), seq < 3 ? PAWL_INTERRUPTED : PAWL_PENDING + 2);
        if (seq < 3)
            CHECK_INT(shelf_answer(&t, same, "true"), PAWL_HALTED);
        diff_of(s, "r", same, PAWL_DIFF_AT_END, &d, &c);
        if (!d.same)
            CHECK_FAIL("forked at %llu: %s %llu %s, %s %llu %s", (unsigned long long)seq, d.a.of, (unsigned long long)d.a.seq, d.a.fact, d.b.of,
                       (unsigned long long)d.b.seq, d.b.fact);
        CHECK_STR(c.text, "");
        if (seq == 3)
            break;
        CHECK_INT(pawl_run_fork(t.e, "r", seq, other, &err), PAWL_OK);
        CHECK_INT(town_run(&t, other, NULL), PAWL_INTERRUPTED);
        CHECK_INT(shelf_answer(&t, other, "false"), PAWL_HALTED);
        diff_of(s, "r", other, PAWL_DIFF_AT_END, &d, &c);
        CHECK(!d.same && d.channels == 1);
        CHECK_STR(c.text, "verdict true|false; ");
        CHECK_STR(d.a.of, "r");
        CHECK_STR(d.b.of, other);
        CHECK_INT(d.a.seq, 3);
        CHECK_STR(d.a.fact, "[\"answer\",\"review.1.0\",true]");
        CHECK_STR(d.b.fact, "[\"answer\",\"review.1.0\",false]");
        CHECK(d.b.seq >= 1 && d.b.seq <= d.b.newest && d.a.status == PAWL_STATUS_COMPLETED && d.b.status == PAWL_STATUS_COMPLETED);
        diff_of(s, other, same, PAWL_DIFF_AT_PARTING, &d, &c);       /* two forks of one run */
        CHECK_STR(c.text, "verdict false|true; ");
        CHECK_STR(d.a.of, other);
    }
    town_end(&t);
}

PAWL_TEST(test_G8_a_fork_is_compared_with_what_it_was_made_from) { on_both(fork_is_compared); }

/* The world answers by hand, in the order of `order`. */
static void drive_by_hand(town *t, const char *run, const char *input, bool reversed, const char *right)
{
    pawl_code rc = town_run(t, run, input);

    for (int n = 0; n < 30 && rc != PAWL_HALTED; n++) {
        pawl_state *st = pawl_run_state(t->e, run, NULL);
        pawl_step *step = pawl_step_new(NULL);
        pawl_command cmd;
        char id[256] = "";
        bool is_right = false;

        t->err = ERR;
        t->now += 7;
        if (pawl_state_commands(st) > 0) {
            size_t which = reversed ? pawl_state_commands(st) - 1 : 0;

            CHECK_INT(pawl_state_command(st, which, step, &cmd, NULL, NULL), PAWL_OK);
            snprintf(id, sizeof id, "%s", cmd.id);
            is_right = strstr(id, ".right.") != NULL;
        }
        pawl_step_free(step);
        rc = id[0] == '\0' ? shelf_answer(t, run, "true")
                           : pawl_event_send(t->e, run, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = is_right ? right : "\"said\"" }, &t->err);
        if (rc < 0)
            CHECK_FAIL("%s: %s", run, t->err.text);
    }
    CHECK_INT(rc, PAWL_HALTED);
}

static void runs_started_alike(void)
{
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    channels c;
    pawl_diff d;
    town t;

    town_begin(&t, shelf_machine(1, NULL), s);
    drive_by_hand(&t, "a", "{\"request\":1}", false, "\"said\"");
    drive_by_hand(&t, "b", "{\"request\":1}", true, "\"said\"");       /* the two workers are answered the other way round */
    drive_by_hand(&t, "c", "{\"request\":2}", false, "\"said\"");
    drive_by_hand(&t, "d", "{\"request\":1}", true, "\"else\"");
    diff_of(s, "a", "b", PAWL_DIFF_AT_END, &d, &c);
    CHECK(d.same && d.channels == 0 && d.a.seq == 0 && d.b.seq == 0);
    diff_of(s, "a", "a", PAWL_DIFF_AT_END, &d, &c);
    CHECK(d.same);
    diff_of(s, "a", "c", PAWL_DIFF_AT_END, &d, &c);
    CHECK(!d.same && d.a.seq == 1 && d.b.seq == 1);
    CHECK_STR(c.text, "request 1|2; ");
    CHECK_STR(d.b.fact, "[\"start\",{\"request\":2}]");
    diff_of(s, "a", "d", PAWL_DIFF_AT_PARTING, &d, &c);
    CHECK_INT(d.a.seq, d.b.seq);
    CHECK_STR(d.a.fact, "[\"receipt\",\"right.1.0\",\"done\",\"said\"]");
    CHECK_STR(c.text, "log [\"said\",\"said\",\"said\"]|[\"said\",\"said\",\"else\"]; ");
    CHECK_INT(pawl_history_diff(s, "a", "nobody", PAWL_DIFF_AT_END, NULL, NULL, &d, &err), PAWL_GONE);
    err = ERR;
    CHECK_INT(pawl_run_fork(t.e, "a", 1, "f", &err), PAWL_OK);
    shelf_prune(s, "a", 2);
    CHECK_INT(pawl_history_diff(s, "a", "f", PAWL_DIFF_AT_END, NULL, NULL, &d, &err), PAWL_GONE);    /* where f comes from is gone */
    CHECK(strstr(err.text, "a and f: ") == err.text && strstr(err.text, "pruned") != NULL);
    err = ERR;
    CHECK_INT(pawl_history_diff(s, "a", "b", PAWL_DIFF_AT_END, NULL, NULL, &d, &err), PAWL_GONE);
    town_end(&t);
}

PAWL_TEST(test_G8_runs_that_were_started_alike_are_compared) { on_both(runs_started_alike); }

/* Asks, and asks again until it hears enough. */
static pawl_code haggle(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        pawl_flow_call(s, "price", "llm", pawl_pack(s, "{s:i}", "offer", (int64_t)1));
    else
        pawl_set(s, "log", h->value);
    if (h->kind == PAWL_EV_RECEIPT && pawl_value_size(pawl_get(s, "log")) < 2)
        pawl_flow_call(s, "price", "llm", pawl_pack(s, "{s:i}", "offer", (int64_t)2));
    else if (h->kind == PAWL_EV_RECEIPT)
        return pawl_flow_complete(s);
    return PAWL_OK;
}

static pawl_code drive_reducer(town *t, const char *run, const char *last)
{
    pawl_code rc = town_run(t, run, NULL);

    for (int n = 0; n < 9 && rc == PAWL_PENDING; n++) {
        pawl_state *st = pawl_run_state(t->e, run, NULL);
        bool is_last = pawl_value_size(pawl_state_get(st, "log")) == 2;
        pawl_step *step = pawl_step_new(NULL);
        pawl_command cmd;

        t->err = ERR;
        CHECK_INT(pawl_state_command(st, 0, step, &cmd, NULL, NULL), PAWL_OK);
        rc = pawl_event_send(t->e, run, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = cmd.id, .value = is_last ? last : "\"no\"" }, &t->err);
        pawl_step_free(step);
    }
    return rc;
}

/* It has no supersteps: entry by entry. A command that a fork takes over has another id, and is the same. */
static void reducers_are_compared(void)
{
    static const pawl_channel log[] = { { .name = "log", .rule = PAWL_RULE_APPEND } };
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    channels c;
    pawl_diff d;
    town t;

    town_begin(&t, pawl_flow_reducer("haggle", 1, log, 1, haggle, NULL, NULL, &err), s);
    CHECK_INT(drive_reducer(&t, "a", "\"yes\""), PAWL_HALTED);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        char same[8], other[8];

        snprintf(same, sizeof same, "s%d", (int)seq);
        snprintf(other, sizeof other, "o%d", (int)seq);
        CHECK_INT(pawl_run_fork(t.e, "a", seq, same, &err), PAWL_OK);
        CHECK_INT(pawl_run_fork(t.e, "a", seq, other, &err), PAWL_OK);
        CHECK_INT(drive_reducer(&t, same, "\"yes\""), PAWL_HALTED);
        diff_of(s, "a", same, PAWL_DIFF_AT_END, &d, &c);
        if (!d.same)
            CHECK_FAIL("forked at %llu: %llu %s, %llu %s", (unsigned long long)seq, (unsigned long long)d.a.seq, d.a.fact,
                       (unsigned long long)d.b.seq, d.b.fact);
        CHECK_INT(drive_reducer(&t, other, "\"perhaps\""), PAWL_HALTED);
        diff_of(s, "a", other, PAWL_DIFF_AT_END, &d, &c);
        CHECK(!d.same && d.a.seq == d.a.newest && d.b.seq == d.b.newest);
        CHECK_STR(d.b.of, other);
        CHECK_STR(d.b.fact, "[\"receipt\",\"@\",\"done\",\"perhaps\"]");
    }
    town_end(&t);
}

PAWL_TEST(test_G8_reducers_are_compared_entry_by_entry) { on_both(reducers_are_compared); }

/* Answers by the name of what asks, whatever the order: so that a fork that does the same is told the same. */
static pawl_code rote(town *t, const char *run, int most)
{
    pawl_code rc = PAWL_OK;

    for (int n = 0; n < most && rc != PAWL_HALTED; n++) {
        pawl_state *st = pawl_run_state(t->e, run, NULL);
        pawl_step *step = pawl_step_new(NULL);
        pawl_event ev = { .kind = PAWL_EV_TICK, .time_ms = t->now += 3 };
        pawl_command cmd = { .id = NULL };
        pawl_wait w;

        for (size_t i = 0; i < pawl_state_commands(st) && ev.kind == PAWL_EV_TICK; i++) {
            CHECK_INT(pawl_state_command(st, i, step, &cmd, NULL, NULL), PAWL_OK);
            if (cmd.kind == PAWL_COMMAND_SLEEP)
                continue;
            ev = (pawl_event){ .kind = PAWL_EV_RECEIPT, .id = cmd.id, .time_ms = t->now,
                               .value = strstr(cmd.id, ".begin.") != NULL ? "[{\"part\":\"a\"},{\"part\":\"b\"}]" :
                                        strstr(cmd.id, ".end.") != NULL ? "{\"last\":\"done\"}" : "{\"text\":\"done\"}" };
            ev.outcome = strstr(cmd.id, ".flaky.1.") != NULL ? PAWL_OUTCOME_ERROR : PAWL_OUTCOME_DONE;
        }
        if (ev.kind == PAWL_EV_TICK && pawl_state_waits(st) > 0) {
            CHECK_INT(pawl_state_wait(st, 0, step, &w, NULL), PAWL_OK);
            ev = (pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .time_ms = t->now,
                               .value = w.kind == PAWL_WAIT_APPROVAL ? "true" : w.kind == PAWL_WAIT_INPUT ? "{\"last\":\"again\"}" : "7" };
        } else if (ev.kind == PAWL_EV_TICK && cmd.id != NULL) {
            ev = (pawl_event){ .kind = PAWL_EV_TIMER, .id = cmd.id, .time_ms = t->now = cmd.due_ms };
        }
        t->err = ERR;
        if ((rc = pawl_event_send(t->e, run, &ev, &t->err)) < 0)
            CHECK_FAIL("%s: %s", run, t->err.text);
        pawl_step_free(step);
    }
    return rc;
}

/* Subgraphs, joins, races, retries, gates and turns: forked at every entry, and told the same again. Nothing that the two share is
 * ever where they part, and what was told the same is the same. */
static void every_fork_is_compared(void)
{
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    pawl_state *st = NULL;
    uint64_t newest;
    channels c;
    pawl_diff d;
    town t;

    town_begin(&t, fuzz_machine(), s);
    CHECK_INT(town_run(&t, "r", "{\"last\":\"first\",\"now\":1}"), PAWL_PENDING);
    if (rote(&t, "r", 40) == PAWL_HALTED)
        CHECK_FAIL("%s", pawl_run_reason(t.e, "r"));
    CHECK_INT(pawl_history_state(s, "r", 0, &st, NULL), PAWL_OK);
    newest = pawl_state_seq(st);
    CHECK(newest >= 8 && pawl_state_turn(st) > 1);
    pawl_state_free(st);
    for (uint64_t seq = 1; seq <= newest; seq++) {
        char fork[16];

        snprintf(fork, sizeof fork, "f%d", (int)seq);
        CHECK_INT(pawl_run_fork(t.e, "r", seq, fork, &err), PAWL_OK);
        for (int more = 0; more <= 40; more += 8) {
            pawl_code rc = more == 0 ? PAWL_PENDING : rote(&t, fork, 8);

            CHECK(rc != PAWL_HALTED);
            diff_of(s, "r", fork, PAWL_DIFF_AT_PARTING, &d, &c);
            if ((d.a.seq != 0 && (d.a.seq <= seq || d.b.seq != 0)) || d.same != (d.a.seq == 0 && d.b.seq == 0))
                CHECK_FAIL("forked at %llu, and %d more: %s %llu %s, %s %llu %s", (unsigned long long)seq, more, d.a.of,
                           (unsigned long long)d.a.seq, d.a.fact, d.b.of, (unsigned long long)d.b.seq, d.b.fact);
        }
    }
    town_end(&t);
}

PAWL_TEST(test_G8_a_fork_at_every_entry_is_compared) { on_both(every_fork_is_compared); }
