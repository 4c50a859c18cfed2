/* engine_doubt_test.c - what came of a command is not known: an effect finds out, or a person says; and what a run did is undone (E5). */
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "store/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pawl_store *file_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

typedef struct far_end { int pays, looks, books, backs; const char *look; pawl_code pay, back; uint32_t back_attempts; } far_end;

static pawl_code pay(const pawl_job *job, pawl_reply *reply, void *arg)
{
    far_end *f = arg;

    (void)job;
    f->pays++;
    if (f->pay != PAWL_OK) {
        pawl_code rc = f->pay;

        f->pay = PAWL_OK;
        return pawl_reply_fail(reply, rc, "the line went dead");
    }
    return pawl_reply_string(reply, "paid");
}

static char told[512];

static pawl_code look(const pawl_job *job, pawl_reply *reply, void *arg)
{
    far_end *f = arg;
    pawl_step *s = pawl_step_new(NULL);

    snprintf(told, sizeof told, "%s", pawl_text(s, job->args));
    pawl_step_free(s);
    f->looks++;
    return f->look != NULL ? pawl_reply_json(reply, f->look) : pawl_reply_fail(reply, PAWL_EFFECT, "nobody is in");
}

static pawl_code book(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    ((far_end *)arg)->books++;
    return pawl_reply_string(reply, "seat");
}

static pawl_code give_back(const pawl_job *job, pawl_reply *reply, void *arg)
{
    far_end *f = arg;

    CHECK_STR(pawl_value_string(pawl_value_get(job->args, "receipt")), "seat");
    f->backs++;
    return f->back != PAWL_OK ? pawl_reply_fail(reply, f->back, "the shop is shut") : pawl_reply_json(reply, "null");
}

static pawl_code books(pawl_step *s, void *arg)
{
    pawl_code rc = pawl_call(s, "book", pawl_pack(s, "s", "window"), NULL);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code pays(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "pay", pawl_pack(s, "i", (int64_t)7), &v);

    (void)arg;
    if (rc != PAWL_OK && rc != PAWL_EFFECT)
        return rc;
    pawl_set(s, "paid", rc == PAWL_OK ? v : pawl_value_get(v, "text"));
    return rc == PAWL_OK ? pawl_follow(s) : pawl_fail(s, PAWL_EFFECT, "not paid");
}

static pawl_engine *engine(pawl_store *store, far_end *f, const char *on_unknown)
{
    pawl_graph *g = pawl_graph_new("trip", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    pawl_graph_effect(g, "pay", &(pawl_limits){ .cls = PAWL_CLASS_ONCE, .on_unknown = on_unknown });
    pawl_graph_effect(g, "book", &(pawl_limits){ .cls = PAWL_CLASS_COMPENSABLE, .inverse = "give-back" });
    if (f->back_attempts > 0)
        pawl_graph_effect(g, "give-back", &(pawl_limits){ .retry = { .max_attempts = f->back_attempts } });
    pawl_graph_channel(g, "paid", PAWL_RULE_LAST);
    pawl_graph_node(g, "books", books, NULL);
    pawl_graph_node(g, "pays", pays, NULL);
    pawl_graph_chain(g, PAWL_START, "books", "pays", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), store, &err);
    CHECK(e != NULL);
    CHECK_INT(pawl_engine_effect(e, "pay", pay, f, PAWL_CLASS_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "book", book, f, PAWL_CLASS_COMPENSABLE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "give-back", give_back, f, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "look-up", look, f, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    return e;
}

static pawl_status status(pawl_engine *e)
{
    return pawl_state_status(pawl_run_state(e, "r", NULL));
}

PAWL_TEST(test_E5_on_unknown_finds_out_and_nobody_is_asked)
{
    static const struct { const char *look; pawl_status end; const char *paid; int pays; } cases[] = {
        { "{\"done\":\"found\"}", PAWL_STATUS_COMPLETED, "found", 1 }, { "{\"failed\":\"refused\"}", PAWL_STATUS_FAILED, "", 1 }, { "\"again\"",
            PAWL_STATUS_COMPLETED, "paid", 2 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        far_end f = { .look = cases[i].look, .pay = PAWL_UNKNOWN };
        pawl_engine *e = engine(pawl_store_memory(NULL), &f, "look-up");

        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(status(e), cases[i].end);
        CHECK_INT(f.looks, 1);
        CHECK_INT(f.pays, cases[i].pays);
        CHECK_INT(f.backs, cases[i].end == PAWL_STATUS_FAILED);
        CHECK_STR(pawl_run_get(e, "r", "paid"), cases[i].paid);
        CHECK(strstr(told, "\"effect\":\"pay\",\"id\":\"r~") != NULL);
        CHECK(strstr(told, "/2.pays.1.0\",\"known\":{\"attempts\":1,\"code\":\"unknown\",\"text\":\"the line went dead\"}}") != NULL);
        pawl_engine_free(e);
    }
}

/* It cannot say, or says nonsense: then a person is asked. */
PAWL_TEST(test_E5_what_on_unknown_cannot_find_out_a_person_is_asked)
{
    static const char *const looks[] = { NULL, "\"perhaps\"", "{\"done\":", "7" };

    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        far_end f = { .look = looks[i], .pay = PAWL_UNKNOWN };
        pawl_engine *e = engine(pawl_store_memory(NULL), &f, "look-up");

        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(f.pays, 1);
        CHECK_INT(f.looks, 1);
        CHECK_INT(pawl_answer(e, "r", "pays", "{\"done\":\"by hand\"}", NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, "r", "paid"), "by hand");
        CHECK_INT(f.backs, 0);
        pawl_engine_free(e);
    }
}

/* Another engine, on the store alone: what was asked stands there, and is answered there. */
PAWL_TEST(test_E5_a_doubt_and_an_undoing_outlive_their_process)
{
    far_end f = { .pay = PAWL_IO, .back = PAWL_EFFECT };
    pawl_engine *e;

    path_new("doubt");
    e = engine(file_store(), &f, NULL);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    e = engine(file_store(), &f, NULL);
    CHECK_INT(pawl_answer(e, "r", NULL, "7", NULL), PAWL_INVALID);
    CHECK_INT(pawl_answer(e, "r", NULL, "\"again\"", NULL), PAWL_HALTED);
    CHECK_INT(f.pays, 2);
    pawl_engine_free(e);
    path_gone();
}

PAWL_TEST(test_E5_an_inverse_that_cannot_run_is_asked_about_and_tried_again)
{
    far_end f = { .look = "{\"failed\":\"no\"}", .pay = PAWL_UNKNOWN, .back = PAWL_EFFECT };
    pawl_engine *e;

    path_new("doubt");
    e = engine(file_store(), &f, "look-up");
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(status(e), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_STR(pawl_run_reason(e, "r"), "not paid");
    CHECK_INT(f.backs, 1);
    pawl_engine_free(e);
    f.back = PAWL_OK;
    e = engine(file_store(), &f, "look-up");
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(e, "r", NULL, "\"again\"", NULL), PAWL_HALTED);
    CHECK_INT(f.backs, 2);
    CHECK_INT(status(e), PAWL_STATUS_FAILED);
    CHECK_INT(f.books, 1);
    pawl_engine_free(e);
    path_gone();
}

/* All of its attempts, each time, whoever goes on with it. */
PAWL_TEST(test_E5_E7_an_inverse_that_is_performed_again_has_its_attempts_again)
{
    for (int fresh = 0; fresh < 2; fresh++) {
        far_end f = { .look = "{\"failed\":\"no\"}", .pay = PAWL_UNKNOWN, .back = PAWL_TRANSIENT, .back_attempts = 3 };
        pawl_engine *e;

        path_new("doubt");
        e = engine(file_store(), &f, "look-up");
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
        CHECK_INT(f.backs, 3);
        for (int i = 2; i <= 4; i++) {
            if (fresh) {
                pawl_engine_free(e);
                e = engine(file_store(), &f, "look-up");
            }
            CHECK_INT(pawl_answer(e, "r", NULL, "\"again\"", NULL), PAWL_INTERRUPTED);
            CHECK_INT(f.backs, 3 * i);
        }
        f.back = PAWL_OK;
        CHECK_INT(pawl_answer(e, "r", NULL, "\"again\"", NULL), PAWL_HALTED);
        CHECK_INT(f.backs, 13);
        pawl_engine_free(e);
        path_gone();
    }
}

/* It ends anyway: nobody looks at it for its deadline, again and again. */
PAWL_TEST(test_E5_a_deadline_is_no_timer_of_a_run_that_is_undone)
{
    far_end f = { .look = "{\"failed\":\"refused\"}", .pay = PAWL_UNKNOWN, .back = PAWL_EFFECT };
    pawl_engine *e = engine(pawl_store_memory(NULL), &f, "look-up");
    pawl_store *s = pawl_engine_store(e);
    pawl_head h;

    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "r", .deadline_ms = INT64_MAX / 2 }, NULL, NULL), PAWL_INTERRUPTED);
    CHECK_INT(status(e), PAWL_STATUS_INPUT_REQUIRED);
    CHECK_INT(f.books, 1);
    CHECK_INT(s->verbs->head(s, "r", &h, NULL), PAWL_OK);
    CHECK_INT(h.wake_ms, 0);
    pawl_engine_free(e);
}
