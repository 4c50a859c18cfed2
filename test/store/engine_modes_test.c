/* engine_modes_test.c - durability (G9): what may be stored late is, and nobody sees what is not stored; killed at any moment. */
#include "lib/engine_fixture.h"
#include "pawl/stream.h"
#include "store/place.h"
#include "store/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a machine that does all there is, in an order that is drawn ----------------------------------------- */

enum { STEPS = 60 };
typedef enum what { TICK, PURE, AGAIN, ONCE, BOTH, ASK, SLEEP, WHATS } what;
static what plan[STEPS];

/* Ticks mostly: that is what is gathered. */
static void plan_draw(void)
{
    for (size_t i = 0; i < STEPS; i++)
        plan[i] = check_rand_below(2) == 0 ? TICK : (what)check_rand_below(WHATS);
}

static pawl_code asks(pawl_step *s)
{
    const pawl_value *v;

    return pawl_ask_with(s, &(pawl_question){ .slot = "ok", .prompt = pawl_json(s, "\"ok?\"") }, &v);
}

static pawl_code do_step(pawl_step *s, void *arg)
{
    int64_t n = pawl_value_int(pawl_get(s, "n"));
    const pawl_value *args = pawl_pack(s, "{s:i}", "n", n);
    pawl_code rc = PAWL_OK, other = PAWL_OK;

    (void)arg;
    switch (plan[n]) {
    case PURE: rc = pawl_call(s, "pure", args, NULL); break;
    case AGAIN: rc = pawl_call(s, "again", args, NULL); break;
    case ONCE: rc = pawl_call(s, "once", args, NULL); break;
    case BOTH: rc = pawl_call(s, "pure", args, NULL), other = pawl_call(s, "again", args, NULL); break;
    case ASK: rc = asks(s); break;
    case SLEEP: rc = pawl_sleep(s, 1); break;
    default: break;
    }
    rc = rc == PAWL_EFFECT ? PAWL_OK : rc;          /* unknown, after a crash */
    if (rc != PAWL_OK || other != PAWL_OK)
        return rc != PAWL_OK ? rc : other;
    pawl_set(s, "log", pawl_pack(s, "i", n * 10 + (int64_t)plan[n]));
    pawl_set(s, "n", pawl_pack(s, "i", n + 1));
    pawl_goto(s, n + 1 < STEPS ? "step" : PAWL_END);
    return PAWL_OK;
}

static pawl_machine *plan_machine(void)
{
    pawl_graph *g = pawl_graph_new("plan", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_effect(g, "pure", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
    pawl_graph_effect(g, "once", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "step", do_step, NULL);
    pawl_graph_chain(g, PAWL_START, "step", NULL);
    pawl_graph_goto(g, "step", "step", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static void log_expected(char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[");

    for (size_t i = 0; i < STEPS; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%d", i == 0 ? "" : ",", (int)i * 10 + (int)plan[i]);
    snprintf(out + n, size - n, "]");
}

/* ---- a store that counts, and fails when it is told to ------------------------------------------------------ */

static pawl_store_verbs counted;
static const pawl_store_verbs *under;
static unsigned appends, fail_at;       /* fail_at: the append that does, from 1; 0: none */
static unsigned steps_after;            /* taken after something that had to be stored first */
static size_t most_lines;

/* A line with a wait, an answer, a command that is not pure, or its receipt. */
static bool may_not_wait(const char *line)
{
    static const char *const calls[] = { "[\"call\",\"", "[\"receipt\",\"" };

    if (strstr(line, "[\"ask\",") != NULL || strstr(line, "[\"answer\",") != NULL || strstr(line, "[\"sleep\",") != NULL)
        return true;
    for (size_t i = 0; i < 2; i++)
        for (const char *at = strstr(line, calls[i]); at != NULL; at = strstr(at + 1, calls[i])) {
            unsigned superstep = 0, visit, n = 0;

            CHECK_INT(sscanf(at + strlen(calls[i]), "%u.step.%u.%u", &superstep, &visit, &n), 3);
            CHECK(superstep > 0 && superstep <= STEPS);
            if (plan[superstep - 1] == AGAIN || plan[superstep - 1] == ONCE || (plan[superstep - 1] == BOTH && n == 1))
                return true;
        }
    return false;
}

static void lines_look(const pawl_append *a)
{
    bool held = false;

    for (size_t i = 0; i < a->nlines; i++) {
        char *line = check_copy(a->lines[i].data, a->lines[i].size);

        steps_after += held && strstr(line, ",\"tick\",") != NULL;
        held = held || may_not_wait(line);
        free(line);
    }
}

static pawl_code append_counted(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    appends++;
    for (size_t i = 0; i < n; i++) {
        lines_look(&all[i]);
        if (all[i].nlines - all[i].nafter > most_lines)
            most_lines = all[i].nlines - all[i].nafter;     /* an entry that only names the snapshot is no step (K11) */
    }
    if (appends == fail_at) {
        for (size_t i = 0; i < n; i++)
            all[i].rc = PAWL_IO;
        return fail(err, PAWL_IO, "the disk is full");
    }
    return under->append(s, all, n, err);
}

/* The first lines of a run come with its base. */
static pawl_code create_counted(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    if (with != NULL && with->first != NULL) {
        appends++;
        lines_look(with->first);
        if (with->first->nlines - with->first->nafter > most_lines)
            most_lines = with->first->nlines - with->first->nafter;
        if (appends == fail_at)
            return fail(err, PAWL_IO, "the disk is full");
    }
    return under->create(s, base, with, err);
}

static pawl_store *counting(void)
{
    pawl_store *s = pawl_store_memory(NULL);

    under = s->verbs;
    counted = *under;
    counted.append = append_counted;
    counted.create = create_counted;
    s->verbs = &counted;
    appends = fail_at = steps_after = 0;
    most_lines = 0;
    return s;
}

static void plan_open(town *t, pawl_durability mode)
{
    town_begin(t, plan_machine(), counting());
    pawl_engine_durability(t->e, mode);
    town_acts(t, "pure", PAWL_CLASS_PURE);
    town_acts(t, "again", PAWL_CLASS_AT_LEAST_ONCE);
    town_acts(t, "once", PAWL_CLASS_ONCE);
    t->replies[0] = "1";
}

static const pawl_run_info one = { .id = "run", .life = 5, .seed = 6, .created_ms = 1000 };

/* Until it is over; every question is answered, and an error is told and gone on from. */
static unsigned run_to_end(town *t)
{
    unsigned errors = 0;
    pawl_code rc = pawl_run_with(t->e, &one, "{\"n\":0}", &t->err);

    for (int i = 0; i < 1000 && rc != PAWL_HALTED; i++) {
        errors += rc < 0;
        t->err = (pawl_err){ PAWL_OK, "" };
        rc = rc == PAWL_INTERRUPTED ? pawl_answer(t->e, "run", NULL, "1", &t->err) : pawl_run_with(t->e, &one, "{\"n\":0}", &t->err);
    }
    CHECK_INT(rc, PAWL_HALTED);
    return errors;
}

static char *journal_of(town *t)
{
    pawl_bytes b = town_journal(t, "run");

    return check_copy(b.data, b.size);
}

/* ---- the same in every mode ------------------------------------------------------------------------------------ */

PAWL_TEST(test_G9_the_journal_is_the_same_in_every_mode_and_takes_fewer_commits)
{
    for (int round = 0; round < (check_run_all() ? 200 : 20); round++) {
        char expected[1024], *sync, *other;
        unsigned commits[3];
        town t;

        plan_draw();
        log_expected(expected, sizeof expected);
        plan_open(&t, PAWL_DURABLE_SYNC);
        run_to_end(&t);
        CHECK_STR(pawl_run_get(t.e, "run", "log"), expected);
        sync = journal_of(&t);
        commits[0] = appends;
        town_end(&t);
        for (pawl_durability mode = PAWL_DURABLE_ASYNC; mode <= PAWL_DURABLE_EXIT; mode++) {
            plan_open(&t, mode);
            run_to_end(&t);
            other = journal_of(&t);
            CHECK_STR(other, sync);
            town_verify(&t, "run");
            commits[mode] = appends;
            CHECK_INT(steps_after, 0);
            free(other);
            town_end(&t);
        }
        CHECK(commits[2] < commits[0] && commits[1] <= commits[0]);
        free(sync);
    }
}

/* ---- readers ------------------------------------------------------------------------------------------------------- */

typedef struct reading { town *t; pawl_stream *r; buf told; } reading;

/* What is there for a reader now; nothing of it is ahead of the store. */
static void read_on(reading *g)
{
    pawl_store *s = pawl_engine_store(g->t->e);
    pawl_stream_event ev;
    pawl_head head;

    CHECK_INT(s->verbs->head(s, "run", &head, NULL), PAWL_OK);
    while (pawl_stream_next(g->r, &ev, NULL) == PAWL_OK) {
        if (ev.live != 0)
            continue;
        if (ev.seq > head.seq + 1)      /* task records are of the entry that will close them */
            CHECK_FAIL("%s was told, and entry %llu is the newest", ev.cursor, (unsigned long long)head.seq);
        buf_fmt(&g->told, "%s %d %s %s\n", ev.cursor, (int)ev.kind, ev.name != NULL ? ev.name : "", ev.json);
    }
}

static pawl_code act_read(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    read_on(arg);
    return pawl_reply_int(reply, 1);
}

PAWL_TEST(test_G11_readers_are_told_the_same_in_every_mode_and_nothing_early)
{
    for (int round = 0; round < (check_run_all() ? 100 : 10); round++) {
        char *sync = NULL;

        plan_draw();
        plan[0] = ASK;          /* it is there, and has done nothing yet */
        for (pawl_durability mode = PAWL_DURABLE_SYNC; mode <= PAWL_DURABLE_EXIT; mode++) {
            reading g;
            town t;

            plan_open(&t, mode);
            g = (reading){ .t = &t };
            buf_init(&g.told, NULL);
            CHECK_INT(pawl_engine_effect(t.e, "pure", act_read, &g, PAWL_CLASS_PURE, NULL), PAWL_OK);
            CHECK_INT(pawl_engine_effect(t.e, "again", act_read, &g, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
            CHECK_INT(pawl_engine_effect(t.e, "once", act_read, &g, PAWL_CLASS_ONCE, NULL), PAWL_OK);
            CHECK_INT(pawl_run_with(t.e, &one, "{\"n\":0}", &t.err), PAWL_INTERRUPTED);
            g.r = pawl_stream_open(t.e, NULL, "run", &(pawl_stream_options){ .kinds = 127 }, &t.err);
            CHECK(g.r != NULL);
            run_to_end(&t);
            read_on(&g);
            buf_char(&g.told, '\0');
            CHECK(g.told.size > STEPS && (sync == NULL || strcmp(sync, g.told.data) == 0));
            if (sync == NULL)
                sync = check_copy(g.told.data, g.told.size);
            pawl_stream_close(g.r);
            buf_free(&g.told);
            town_end(&t);
        }
        free(sync);
    }
}

/* ---- ticks alone -------------------------------------------------------------------------------------------------- */

typedef struct ticker { pawl_engine *e; pawl_store *eye; int64_t stop_at, cancel_at, last; } ticker;

static pawl_code tick(pawl_step *s, void *arg)
{
    ticker *k = arg;
    int64_t n = pawl_value_int(pawl_get(s, "n"));

    if (n == k->stop_at)
        pawl_engine_stop(k->e);
    if (n == k->cancel_at && k->eye != NULL) {
        pawl_delivery d = { .id = "c", .kind = PAWL_DELIVER_CANCEL };

        CHECK_INT(k->eye->verbs->deliver(k->eye, "run", &d, NULL), PAWL_OK);
    }
    k->last = n;
    pawl_set(s, "n", pawl_pack(s, "i", n + 1));
    pawl_goto(s, n + 1 < 2500 ? "tick" : PAWL_END);
    return PAWL_OK;
}

static pawl_machine *ticker_machine(ticker *k)
{
    pawl_graph *g = pawl_graph_new("ticker", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_LAST);
    pawl_graph_max_steps(g, 100000);
    pawl_graph_node(g, "tick", tick, k);
    pawl_graph_chain(g, PAWL_START, "tick", NULL);
    pawl_graph_goto(g, "tick", "tick", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

PAWL_TEST(test_G9_X2_what_waits_is_bounded)
{
    ticker k = { .stop_at = -1, .cancel_at = -1 };
    unsigned sync;
    town t;

    town_begin(&t, ticker_machine(&k), counting());
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    sync = appends;
    CHECK(sync > 2500);
    CHECK_INT(most_lines, 1);
    town_end(&t);
    town_begin(&t, ticker_machine(&k), counting());
    pawl_engine_durability(t.e, PAWL_DURABLE_EXIT);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_INT(most_lines, 1000);
    CHECK_INT(appends, 4);          /* the start, twice a thousand, the rest */
    town_verify(&t, "run");
    town_end(&t);
    town_begin(&t, ticker_machine(&k), counting());
    pawl_engine_durability(t.e, PAWL_DURABLE_ASYNC);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK(appends >= 4 && appends <= sync && most_lines <= 1000);
    town_end(&t);
}

PAWL_TEST(test_G9_who_is_stopped_leaves_all_of_it_stored)
{
    for (int by_work = 0; by_work < 2; by_work++) {
        ticker k = { .stop_at = 37, .cancel_at = -1 };
        pawl_head head;
        town t;

        town_begin(&t, ticker_machine(&k), counting());
        pawl_engine_durability(t.e, PAWL_DURABLE_EXIT);
        k.e = t.e;
        if (by_work) {
            CHECK_INT(pawl_begin(t.e, "run", NULL, &t.err), PAWL_OK);
            CHECK_INT(pawl_work(t.e, 0, &t.err), PAWL_OK);
        } else {
            CHECK(town_run(&t, "run", NULL) >= 0);
        }
        CHECK_INT(pawl_engine_store(t.e)->verbs->head(pawl_engine_store(t.e), "run", &head, NULL), PAWL_OK);
        CHECK_INT(head.seq, pawl_state_seq(pawl_run_state(t.e, "run", NULL)));
        CHECK_STR(pawl_run_get(t.e, "run", "n"), "38");
        CHECK(appends < 10);
        town_end(&t);
    }
}

PAWL_TEST(test_G9_E14_a_cancel_is_heard_while_steps_are_gathered)
{
    pawl_err err = { PAWL_OK, "" };
    ticker k = { .stop_at = -1, .cancel_at = 100 };
    town t;

    path_new("modes");
    town_begin(&t, ticker_machine(&k), pawl_store_sqlite(path, NULL, &err));
    k.eye = pawl_store_sqlite(path, NULL, &err);
    pawl_engine_durability(t.e, PAWL_DURABLE_EXIT);
    CHECK_INT(town_run(&t, "run", NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(t.e, "run", NULL)), PAWL_STATUS_CANCELED);
    CHECK_INT(k.last, 100);
    town_end(&t);
    pawl_store_free(k.eye);
    path_gone();
}

/* ---- an append fails ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_G9_a_failed_append_throws_away_what_was_gathered_and_no_effect)
{
    for (int round = 0; round < (check_run_all() ? 200 : 20); round++)
        for (pawl_durability mode = PAWL_DURABLE_SYNC; mode <= PAWL_DURABLE_EXIT; mode++) {
            size_t acts = 0, pures = 0;
            unsigned errors;
            char expected[1024];
            town t;

            plan_draw();
            log_expected(expected, sizeof expected);
            for (size_t i = 0; i < STEPS; i++) {
                acts += plan[i] == AGAIN || plan[i] == ONCE || plan[i] == BOTH;
                pures += plan[i] == PURE || plan[i] == BOTH;
            }
            plan_open(&t, mode);
            run_to_end(&t);
            CHECK_INT(t.calls, acts + pures);
            fail_at = 1 + (unsigned)check_rand_below(appends);
            town_end(&t);
            {
                unsigned when = fail_at;

                plan_open(&t, mode);
                fail_at = when;
            }
            errors = run_to_end(&t);
            CHECK_INT(errors, appends >= fail_at);      /* with async their number is a matter of time */
            CHECK_STR(pawl_run_get(t.e, "run", "log"), expected);
            CHECK(t.calls >= acts + pures && t.calls <= acts + 2 * pures);      /* no more than pure ones again */
            town_verify(&t, "run");
            town_end(&t);
        }
}

/* ---- many at once ----------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_G9_E3_many_runs_gather_side_by_side)
{
    enum { RUNS = 20 };
    char id[16], expected[1024];
    unsigned commits[3];

    plan_draw();
    for (size_t i = 0; i < STEPS; i++)      /* nobody answers them here */
        plan[i] = plan[i] == ASK ? TICK : plan[i];
    log_expected(expected, sizeof expected);
    for (pawl_durability mode = PAWL_DURABLE_SYNC; mode <= PAWL_DURABLE_EXIT; mode++) {
        town t;

        plan_open(&t, mode);
        t.now = store_system_ms() + 60000;  /* deliveries have the store's time */
        for (int i = 0; i < RUNS; i++) {
            snprintf(id, sizeof id, "r%d", i);
            CHECK_INT(pawl_begin(t.e, id, "{\"n\":0}", &t.err), PAWL_OK);
        }
        CHECK_INT(pawl_work(t.e, t.now + 1000, &t.err), PAWL_OK);
        for (int i = 0; i < RUNS; i++) {
            snprintf(id, sizeof id, "r%d", i);
            CHECK_STR(pawl_run_get(t.e, id, "log"), expected);
            town_verify(&t, id);
        }
        CHECK_INT(steps_after, 0);
        commits[mode] = appends;
        town_end(&t);
    }
    CHECK(commits[2] < commits[0]);
}

/* ---- kill -9 ------------------------------------------------------------------------------------------------------------ */

/* In the child: what it did and what it saw, a line each, is written down before anything else happens; and looked up in the store by a
 * second handle, as another process would. */
static char seen_path[112];
static pawl_store *eye;

static void see(const char *kind, const char *what_seen)
{
    FILE *f = fopen(seen_path, "a");

    if (f == NULL)
        _exit(3);
    fprintf(f, "%s %s\n", kind, what_seen);
    fclose(f);
}

static bool is_stored(pawl_store *s, const char *text)
{
    pawl_bytes b = pawl_store_journal(s, "run", NULL);
    char *copy = b.data != NULL ? malloc(b.size + 1) : NULL;
    union { const char *in; void *out; } bytes = { b.data };
    bool there = false;

    if (copy != NULL) {
        memcpy(copy, b.data, b.size);
        copy[b.size] = '\0';
        there = strstr(copy, text) != NULL;
    }
    free(copy);
    free(bytes.out);
    return there;
}

/* E1: its command is in the store before it leaves. A pure one may run ahead. */
static pawl_code act(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char call[200];

    snprintf(call, sizeof call, "[\"call\",\"%s\"", strchr(job->id, '/') + 1);
    if (!is_stored(eye, call))
        see("early", job->id);
    see(arg, call);
    return pawl_reply_int(reply, 1);
}

static pawl_code act_pure(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    return pawl_reply_int(reply, 1);
}

/* Readers see what is stored, terminal statuses among it. */
static void watch(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    char seq[32];
    pawl_head head;

    (void)ctx, (void)st;
    if (pawl_entry_is_record(entry))
        return;
    snprintf(seq, sizeof seq, " [%llu,", (unsigned long long)pawl_entry_seq(entry));
    if (eye->verbs->head(eye, "run", &head, NULL) != PAWL_OK || head.seq < pawl_entry_seq(entry))
        see("early", seq);
    see("entry", seq);
}

/* One at a time; what to answer: its own question, or what came of a command of class once that was interrupted. */
static const char *see_wait(pawl_engine *e)
{
    pawl_state *st = pawl_run_state(e, "run", NULL);
    bool own = false;
    pawl_wait w;
    char ask[200];

    if (pawl_state_waits(st) != 1 || pawl_state_wait(st, 0, pawl_engine_step(e), &w, NULL) != PAWL_OK)
        _exit(4);
    own = w.kind == PAWL_WAIT_QUESTION && w.schema == NULL;
    snprintf(ask, sizeof ask, own ? "[\"ask\",\"%s\"" : "[\"doubt\",\"%s\"", strchr(w.id, '/') + 1);
    if (!is_stored(eye, ask))
        see("early", ask);
    see("wait", ask);
    return own ? "1" : "{\"done\":1}";
}

static void drive_in_child(pawl_durability mode)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(plan_machine(), pawl_store_sqlite(path, NULL, &err), &err);
    pawl_code rc;

    eye = pawl_store_sqlite(path, NULL, &err);
    if (e == NULL || eye == NULL)
        _exit(2);
    pawl_engine_durability(e, mode);
    pawl_engine_effect(e, "pure", act_pure, NULL, PAWL_CLASS_PURE, &err);
    pawl_engine_effect(e, "again", act, "again", PAWL_CLASS_AT_LEAST_ONCE, &err);
    pawl_engine_effect(e, "once", act, "once", PAWL_CLASS_ONCE, &err);
    pawl_engine_watch(e, watch, NULL);
    for (rc = pawl_run(e, "run", "{\"n\":0}", &err); rc == PAWL_INTERRUPTED;)
        rc = pawl_answer(e, "run", NULL, see_wait(e), &err);
    if (rc == PAWL_HALTED)
        see("end", "\"completed\",");
    else
        fprintf(stderr, "%s: %s\n", pawl_code_name(rc), err.text);
    _exit(rc == PAWL_HALTED ? 0 : 1);
}

/* Whatever was done or seen is there. */
static size_t seen_check(bool over)
{
    pawl_store *s = pawl_store_sqlite(path, NULL, NULL);
    FILE *f = fopen(seen_path, "r");
    char line[300];
    size_t n = 0;

    CHECK(s != NULL);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *text = strchr(line, ' ') + 1;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "early", 5) == 0)
            CHECK_FAIL("not stored when it was done or seen: %s", text);
        if (!is_stored(s, text))
            CHECK_FAIL("done or seen, and not stored: %s", line);
        n++;
    }
    if (f != NULL)
        fclose(f);
    if (over)
        CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
    return n;
}

static int killed_until_done(pawl_durability mode, size_t *seen)
{
    for (int kills = 0; kills < 500; kills++) {
        struct timespec nap = { .tv_nsec = 0 };
        pid_t child = fork();
        int status;

        if (child == 0)
            drive_in_child(mode);
        nap.tv_nsec = (long)check_rand_below((uint64_t)(15000000 + 2000000 * kills));   /* in the end it gets through, however slow */
        nanosleep(&nap, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        *seen = seen_check(WIFEXITED(status));
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == 0 ? kills : -1;
    }
    return -1;
}

static int most_of(const char *kind)
{
    static char ids[STEPS * 8][100];
    FILE *f = fopen(seen_path, "r");
    char line[300];
    size_t n = 0;
    int most = 0;

    while (f != NULL && n < STEPS * 8 && fgets(line, sizeof line, f) != NULL) {
        int times = 1;

        if (strncmp(line, kind, strlen(kind)) != 0)
            continue;
        snprintf(ids[n], sizeof ids[n], "%.99s", line);
        for (size_t i = 0; i < n; i++)
            times += strcmp(ids[i], ids[n]) == 0;
        n++;
        most = times > most ? times : most;
    }
    if (f != NULL)
        fclose(f);
    return most;
}

PAWL_TEST(test_G9_killed_at_any_moment_nothing_was_seen_that_is_not_stored)
{
    int rounds = check_run_all() ? 40 : 4, total = 0;
    size_t seen = 0, all = 0;

    path_new("modes");
    snprintf(seen_path, sizeof seen_path, "%s.seen", path);
    for (int round = 0; round < rounds; round++)
        for (pawl_durability mode = PAWL_DURABLE_SYNC; mode <= PAWL_DURABLE_EXIT; mode++) {
            char expected[1024];
            int kills;
            town t;

            path_gone();
            plan_draw();
            log_expected(expected, sizeof expected);
            if ((kills = killed_until_done(mode, &seen)) < 0)
                CHECK_FAIL("mode %d: it does not end well", (int)mode);
            total += kills;
            all += seen;
            CHECK(most_of("once") <= 1);
            town_begin(&t, plan_machine(), pawl_store_sqlite(path, NULL, NULL));
            CHECK_STR(pawl_run_get(t.e, "run", "log"), expected);       /* whatever the mode */
            CHECK_INT(pawl_state_status(pawl_run_state(t.e, "run", NULL)), PAWL_STATUS_COMPLETED);
            town_verify(&t, "run");
            town_end(&t);
            path_gone();
        }
    printf("%d kills in %d runs, %zu things done or seen; seed %llu\n", total, rounds * 3, all, (unsigned long long)check_seed());
}
