/* contract_deliver.c - the contract: what is left for a run, waits and their answers, attempts. */
#include "store/contract_inner.h"

/* ---- deliveries ------------------------------------------------------------------------------------------- */

static const pawl_delivery kinds[] = {
    { .id = "start", .kind = PAWL_DELIVER_START, .value = { "{\"topic\":\"sky\"}", 15 }, .by = "ada", .trace = "00-1" },
    { .id = "input", .kind = PAWL_DELIVER_INPUT, .value = { "{}", 2 } },
    { .id = "signal", .kind = PAWL_DELIVER_SIGNAL, .name = "bell", .value = { "null", 4 }, .note = "two\nlines" },
    { .id = "signal 2", .kind = PAWL_DELIVER_SIGNAL, .name = "bell" },
    { .id = "cancel", .kind = PAWL_DELIVER_CANCEL, .by = "" },
    { .id = "update", .kind = PAWL_DELIVER_UPDATE, .name = "draft", .value = { "{\"a\":1}", 7 } },
    { .id = "update 2", .kind = PAWL_DELIVER_UPDATE, .value = { "{\"a\":1}", 7 } },
    { .id = "receipt", .kind = PAWL_DELIVER_RECEIPT, .name = "1.a.1.0", .outcome = 1, .value = { "{\"code\":\"io\"}", 13 } },
    { .id = "reopen", .kind = PAWL_DELIVER_REOPEN, .update = { "{\"b\":2}", 7 } },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct walk {
    size_t n;
    uint64_t last;
    int64_t after_ms;
} walk;

static bool same_text(const char *a, const char *b)
{
    return (a == NULL || b == NULL) ? a == b : strcmp(a, b) == 0;
}

static bool same_bytes(pawl_bytes a, pawl_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool is_next(void *ctx, const pawl_delivery *d)
{
    walk *w = ctx;
    const pawl_delivery *is = &kinds[w->n++];

    CHECK(d->no > w->last);
    w->last = d->no;
    CHECK(d->at_ms >= w->after_ms);
    CHECK_STR(d->id, is->id);
    CHECK_INT(d->kind, is->kind);
    CHECK_INT(d->outcome, is->outcome);
    CHECK(same_text(d->name, is->name) && same_text(d->by, is->by) && same_text(d->note, is->note) && same_text(d->trace, is->trace));
    CHECK(same_bytes(d->value, is->value) && same_bytes(d->update, is->update));
    return true;
}

PAWL_TEST(test_E16_deliveries_wait_in_order_as_they_were_made)
{
    pawl_store *s = fresh();
    walk w = { .after_ms = s->verbs->now(s) };
    uint64_t no[KINDS], last = 0;

    begun(s, "r", "");
    for (size_t i = 0; i < KINDS; i++) {
        pawl_delivery d = kinds[i];

        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        CHECK(d.no > last);
        CHECK(d.at_ms >= w.after_ms);
        no[i] = last = d.no;
    }
    s = again(s);
    CHECK_INT(s->verbs->deliveries(s, "r", is_next, &w, NULL), PAWL_OK);
    CHECK_INT(w.n, KINDS);
    for (size_t i = 0; i < KINDS; i++) {
        pawl_delivery d = kinds[i];

        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        CHECK_INT(d.no, no[i]);
    }
    w = (walk){ .after_ms = w.after_ms };
    CHECK_INT(s->verbs->deliveries(s, "r", is_next, &w, NULL), PAWL_OK);
    CHECK_INT(w.n, KINDS);
    pawl_store_free(s);
}

PAWL_TEST(test_E16_a_delivery_again_is_success_and_other_bytes_are_a_conflict)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_SIGNAL, .name = "bell", .value = bytes("1"), .by = "ada" }, other;
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .taken = &d.no, .ntaken = 1 };
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    for (int taken = 0; taken < 2; taken++) {
        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        other = d, other.value = bytes("2");
        CHECK_INT(s->verbs->deliver(s, "r", &other, &err), PAWL_CONFLICT);
        CHECK(strstr(err.text, "r: ") == err.text);
        other = d, other.name = "horn";
        CHECK_INT(s->verbs->deliver(s, "r", &other, NULL), PAWL_CONFLICT);
        other = d, other.kind = PAWL_DELIVER_UPDATE;
        CHECK_INT(s->verbs->deliver(s, "r", &other, NULL), PAWL_CONFLICT);
        other = d, other.by = NULL;
        CHECK_INT(s->verbs->deliver(s, "r", &other, NULL), PAWL_CONFLICT);
        CHECK_STR(deliveries(s, "r"), taken ? "" : "d ");
        CHECK_INT(put_one(s, &a), PAWL_OK);
        s = again(s);
    }
    begun(s, "q", ""); /* an id is a run's own */
    CHECK_INT(deliver(s, "q", "d", PAWL_DELIVER_SIGNAL, "bell", "2"), PAWL_OK);
    pawl_store_free(s);
}

/* A handle may remember the run as it was, with this delivery. */
PAWL_TEST(test_E16_a_delivery_again_to_a_run_that_another_removed_is_not_success)
{
    pawl_store *s = fresh(), *other;
    uint64_t f;

    if (!made->shared) {
        pawl_store_free(s);
        check_skip("it has one handle alone");
    }
    other = opened("");
    f = begun(s, "r", "");
    CHECK_INT(deliver(s, "r", "a", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_INT(other->verbs->remove(other, "r", f, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", "a", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_GONE);
    f = begun(s, "r", "");
    CHECK_INT(deliver(s, "r", "a", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_INT(other->verbs->remove(other, "r", f, NULL), PAWL_OK);
    begun(other, "r", "");
    CHECK_INT(deliver(s, "r", "a", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(deliveries(other, "r"), "a ");
    pawl_store_free(other);
    pawl_store_free(s);
}

PAWL_TEST(test_E16_deliveries_are_taken_with_the_lines_or_not_at_all)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), no[3], taken[2];
    pawl_bytes line = bytes(entry(1, "[]")), record = bytes("[[2]]");
    pawl_append a = { .run = "r", .fence = f + 1000, .lines = &line, .nlines = 1, .taken = taken, .ntaken = 2 };

    for (int i = 0; i < 3; i++) {
        pawl_delivery d = { .id = text("d%d", i), .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };

        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        no[i] = d.no;
    }
    taken[0] = no[2]; /* in any order */
    taken[1] = no[0];
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    a.fence = f;
    a.seq = 4;
    line = bytes(entry(5, "[]"));
    CHECK_INT(put_one(s, &a), PAWL_CONFLICT);
    CHECK_STR(deliveries(s, "r"), "d0 d1 d2 ");
    a.seq = 0;
    line = bytes(entry(1, "[]"));
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_STR(deliveries(s, "r"), "d1 ");
    a = (pawl_append){ .run = "r", .fence = f, .seq = 1, .lines = &record, .nlines = 1, .taken = no + 1, .ntaken = 1 };
    CHECK_INT(put_one(s, &a), PAWL_OK);
    s = again(s);
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_STR(ranged(s, "r", 1, 0), "record [[2]]\n");
    CHECK_INT(deliver(s, "r", "d3", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(deliveries(s, "r"), "d3 ");
    pawl_store_free(s);
}

PAWL_TEST(test_E16_so_many_may_wait_and_no_more)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), first = 0;
    pawl_err err = { PAWL_OK, "" };
    pawl_delivery d = { .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };
    pawl_append a = { .run = "r", .fence = f, .taken = &first, .ntaken = 1 };

    for (uint32_t i = 0; i < made->signals_max; i++) {
        d.id = text("d%lu", (unsigned long)i);
        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        first = i == 0 ? d.no : first;
    }
    d.id = "one more";
    CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_LIMIT);
    CHECK_INT(err.code, PAWL_LIMIT);
    CHECK(strstr(err.text, "signals_max") != NULL);
    d.id = "d0";
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    begun(s, "other", "");
    CHECK_INT(deliver(s, "other", "d", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    d.id = "one more";
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    pawl_store_free(s);
}

static bool quiet_after(pawl_store *s, uint64_t f, uint64_t seq, const uint64_t *taken)
{
    pawl_bytes line = bytes(entry(seq, "[]"));
    pawl_append a = { .run = "r", .fence = f, .seq = seq - 1, .lines = &line, .nlines = 1, .taken = taken, .ntaken = taken != NULL, .quiet = true };

    CHECK_INT(put_one(s, &a), PAWL_OK);
    return a.quiet;
}

/* A store that says so is not asked what was delivered before the next step is taken. */
PAWL_TEST(test_E16_an_append_says_quiet_only_when_nothing_waits)
{
    pawl_store *s = fresh(), *t = made->shared ? opened("") : NULL;
    uint64_t f = begun(s, "r", ""), g = begun(s, "other", "");
    pawl_delivery d = { .id = "a", .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };
    bool quiet = quiet_after(s, f, 1, NULL);

    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    CHECK(!quiet_after(s, f, 2, NULL));
    CHECK(!quiet_after(s, f, 3, NULL));
    CHECK_INT(quiet_after(s, f, 4, &d.no), quiet);
    CHECK_INT(deliver(s, "other", "b", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
    CHECK_INT(quiet_after(s, f, 5, NULL), quiet);
    if (t != NULL) {
        CHECK_INT(deliver(t, "r", "c", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
        CHECK(!quiet_after(s, f, 6, NULL));
    }
    CHECK_INT(release_one(s, "other", g, NULL), PAWL_OK);
    pawl_store_free(t);
    pawl_store_free(s);
}

PAWL_TEST(test_X3_a_delivery_that_is_none_is_refused)
{
    static const char bad[] = "\xff";
    static const pawl_delivery none[] = {
        { .kind = PAWL_DELIVER_CANCEL },
        { .id = "", .kind = PAWL_DELIVER_CANCEL },
        { .id = bad, .kind = PAWL_DELIVER_CANCEL },
        { .id = "d" },
        { .id = "d", .kind = (pawl_delivery_kind)9 },
        { .id = "d", .kind = PAWL_DELIVER_SIGNAL },
        { .id = "d", .kind = PAWL_DELIVER_SIGNAL, .name = "" },
        { .id = "d", .kind = PAWL_DELIVER_SIGNAL, .name = bad },
        { .id = "d", .kind = PAWL_DELIVER_RECEIPT },
        { .id = "d", .kind = PAWL_DELIVER_RECEIPT, .name = "1.a.1.0", .outcome = 5 },
        { .id = "d", .kind = PAWL_DELIVER_RECEIPT, .name = "1.a.1.0", .outcome = -1 },
        { .id = "d", .kind = PAWL_DELIVER_ANSWER, .name = "1.a.1.0" },
        { .id = "d", .kind = PAWL_DELIVER_INPUT, .value = { "{", 1 } },
        { .id = "d", .kind = PAWL_DELIVER_INPUT, .value = { "{} {}", 5 } },
        { .id = "d", .kind = PAWL_DELIVER_REOPEN, .update = { "x", 1 } },
        { .id = "d", .kind = PAWL_DELIVER_CANCEL, .by = bad },
        { .id = "d", .kind = PAWL_DELIVER_CANCEL, .note = bad },
        { .id = "d", .kind = PAWL_DELIVER_CANCEL, .trace = bad },
    };
    pawl_store *s = fresh();

    begun(s, "r", "");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        pawl_delivery d = none[i];
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc = s->verbs->deliver(s, "r", &d, &err);

        if (rc != PAWL_INVALID || err.code != rc)
            CHECK_FAIL("delivery %zu: %s, %s", i, pawl_code_name(rc), err.text);
    }
    CHECK_STR(deliveries(s, "r"), "");
    pawl_store_free(s);
}

/* ---- waits ---------------------------------------------------------------------------------------------------------- */

static pawl_code ask(pawl_store *s, uint64_t f, const char *id, const char *spec)
{
    pawl_waiting w = { .id = id, .spec = bytes(spec), .asked_ms = 5 };
    pawl_append a = { .run = "r", .fence = f, .waits = &w, .nwaits = 1, .seq = head(s, "r").seq };

    return put_one(s, &a);
}

static pawl_code over(pawl_store *s, uint64_t f, const char *id, const char *answer)
{
    pawl_waiting w = { .id = id, .over = true, .answer = bytes(answer) };
    pawl_append a = { .run = "r", .fence = f, .waits = &w, .nwaits = 1, .seq = head(s, "r").seq };

    return put_one(s, &a);
}

static bool one_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    *(int *)ctx += 1;
    CHECK_STR(run, "r");
    CHECK_STR(w->id, "1.a.1.0");
    CHECK_BYTES(w->spec.data, w->spec.size, "{\"kind\":\"input\",\"prompt\":\"and now?\"}", 36);
    CHECK_INT(w->asked_ms, 5);
    CHECK(!w->over);
    CHECK_INT(w->answer.size, 0);
    return false;
}

PAWL_TEST(test_W1_open_waits_are_listed_until_they_are_over)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), g = begun(s, "q", "");
    pawl_waiting both[3] = { { .id = "b", .spec = bytes("{}") }, { .id = "c", .spec = bytes("{}") }, { .id = "c", .over = true } };
    pawl_append a = { .run = "q", .fence = g, .waits = both, .nwaits = 3 };
    int n = 0;

    CHECK_INT(ask(s, f, "1.a.1.0", "{\"kind\":\"input\",\"prompt\":\"and now?\"}"), PAWL_OK);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(head(s, "q").waits, 1);
    CHECK_INT(ask(s, f + 1000, "no", "{}"), PAWL_FENCED);
    s = again(s);
    CHECK_STR(waits(s, "r"), "r 1.a.1.0 ");
    CHECK_STR(waits(s, "q"), "q b ");
    CHECK(strcmp(waits(s, NULL), "r 1.a.1.0 q b ") == 0 || strcmp(waits(s, NULL), "q b r 1.a.1.0 ") == 0);
    CHECK_INT(s->verbs->waits(s, "r", one_wait, &n, NULL), PAWL_OK);
    CHECK_INT(n, 1);
    CHECK_INT(ask(s, f, "1.b.1.0", "{}"), PAWL_OK);
    CHECK_INT(s->verbs->waits(s, "r", one_wait, &n, NULL), PAWL_OK); /* in the order of asking; it stops */
    CHECK_INT(n, 2);
    CHECK_INT(head(s, "r").waits, 2);
    CHECK_INT(over(s, f, "1.a.1.0", "\"yes\""), PAWL_OK);
    CHECK_STR(waits(s, "r"), "r 1.b.1.0 ");
    CHECK_INT(over(s, f, "1.b.1.0", NULL), PAWL_OK);
    CHECK_STR(waits(s, "r"), "");
    CHECK_INT(head(s, "r").waits, 0);
    pawl_store_free(s);
}

static pawl_code answer(pawl_store *s, const char *id, const char *wait, const char *value, pawl_err *err)
{
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_ANSWER, .name = wait, .value = bytes(value), .by = "ada" };

    *err = (pawl_err){ PAWL_OK, "" };
    return s->verbs->deliver(s, "r", &d, err);
}

PAWL_TEST(test_W3_an_answer_is_checked_against_schema_and_options)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_err err;

    CHECK_INT(ask(s, f, "number", "{\"kind\":\"question\",\"schema\":{\"minimum\":3,\"type\":\"integer\"}}"), PAWL_OK);
    CHECK_INT(ask(s, f, "choice", "{\"kind\":\"question\",\"options\":[\"a\",{\"label\":\"B\",\"value\":\"b\"},null]}"), PAWL_OK);
    CHECK_INT(ask(s, f, "whole", "{\"kind\":\"question\",\"options\":[{\"label\":\"C\"}]}"), PAWL_OK);
    CHECK_INT(ask(s, f, "free", "{\"kind\":\"input\"}"), PAWL_OK);
    CHECK_INT(answer(s, "1", "number", "\"four\"", &err), PAWL_INVALID);
    CHECK_INT(err.code, PAWL_INVALID);
    CHECK(strstr(err.text, "r: ") == err.text);
    CHECK_INT(answer(s, "1", "number", "2", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "1", "number", "{", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "1", "choice", "\"c\"", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "1", "choice", "{\"label\":\"B\",\"value\":\"b\"}", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "1", "never", "1", &err), PAWL_INVALID);
    CHECK(strstr(err.text, "never") != NULL);
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_INT(answer(s, "1", "number", "4", &err), PAWL_OK);
    CHECK_INT(answer(s, "2", "choice", "\"b\"", &err), PAWL_OK);
    CHECK_INT(answer(s, "3", "free", "{\"any\":[1,2]}", &err), PAWL_OK);
    CHECK_INT(answer(s, "4", "whole", "\"C\"", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "4", "whole", "{\"label\":\"C\"}", &err), PAWL_OK);
    CHECK_STR(deliveries(s, "r"), "1 2 3 4 ");
    CHECK_INT(head(s, "r").waits, 4); /* until the holder takes them */
    pawl_store_free(s);
}

static bool see_answered(void *ctx, const char *run, const pawl_waiting *w)
{
    char *list = ctx;
    size_t n = strlen(list);

    (void)run;
    snprintf(list + n, 100 - n, "%s %s ", w->id, w->answered ? "answered" : "open");
    return true;
}

static const char *answered(pawl_store *s, const char *run)
{
    char list[100] = "";

    CHECK_INT(s->verbs->waits(s, run, see_answered, list, NULL), PAWL_OK);
    return text("%s", list);
}

/* Its holder may be stopped for hours: the wait is his to end, and nobody else's to answer. */
PAWL_TEST(test_W3_a_wait_says_that_its_answer_is_on_its_way)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), no;
    pawl_delivery d = { .id = "1", .kind = PAWL_DELIVER_ANSWER, .name = "w", .value = bytes("1") };
    pawl_append a = { .run = "r", .fence = f, .taken = &no, .ntaken = 1 };

    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_INT(ask(s, f, "v", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_STR(answered(s, "r"), "w open v open ");
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    no = d.no;
    s = again(s);
    CHECK_STR(answered(s, "r"), "w answered v open ");
    CHECK_STR(answered(s, NULL), "w answered v open ");
    CHECK_INT(put_one(s, &a), PAWL_OK);         /* ignored: the wait is free for another */
    CHECK_STR(answered(s, "r"), "w open v open ");
    pawl_store_free(s);
}

PAWL_TEST(test_W3_the_first_answer_wins_and_the_second_is_told_it)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), no;
    pawl_delivery d = { .id = "1", .kind = PAWL_DELIVER_ANSWER, .name = "w", .value = bytes("\"yes\"") };
    pawl_waiting w = { .id = "w", .over = true, .answer = bytes("\"yes\"") };
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .waits = &w, .nwaits = 1, .taken = &no, .ntaken = 1 };
    pawl_err err;

    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_INT(ask(s, f, "v", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    no = d.no;
    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\"}"), PAWL_OK); /* asked again it is the same wait */
    CHECK_INT(answer(s, "2", "w", "\"no\"", &err), PAWL_CONFLICT);
    CHECK_INT(err.code, PAWL_CONFLICT);
    CHECK(strstr(err.text, "\"yes\"") != NULL);
    CHECK_STR(deliveries(s, "r"), "1 ");
    s = again(s);
    CHECK_INT(answer(s, "2", "w", "\"no\"", &err), PAWL_CONFLICT);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(answer(s, "2", "w", "\"no\"", &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "\"yes\"") != NULL);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK); /* the first one again */
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_INT(over(s, f, "v", NULL), PAWL_OK);
    CHECK_INT(answer(s, "3", "v", "\"no\"", &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "closed") != NULL);
    s = again(s);
    CHECK_INT(answer(s, "4", "v", "1", &err), PAWL_CONFLICT);
    CHECK_INT(answer(s, "4", "w", "1", &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "\"yes\"") != NULL);
    pawl_store_free(s);
}

/* What came of a command may be in doubt twice: the second question is a question of its own. */
PAWL_TEST(test_E5_a_wait_that_was_over_may_be_asked_again)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), no;
    pawl_delivery d = { .id = "1", .kind = PAWL_DELIVER_ANSWER, .name = "w", .value = bytes("\"again\"") };
    pawl_waiting w = { .id = "w", .over = true, .answer = bytes("\"again\"") };
    pawl_append a = { .run = "r", .fence = f, .waits = &w, .nwaits = 1, .taken = &no, .ntaken = 1 };
    pawl_err err;

    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    no = d.no;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(head(s, "r").waits, 0);
    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\",\"options\":[1,2]}"), PAWL_OK);
    s = again(s);
    CHECK_INT(head(s, "r").waits, 1);
    CHECK_INT(answer(s, "2", "w", "3", &err), PAWL_INVALID);
    CHECK_INT(answer(s, "3", "w", "2", &err), PAWL_OK);
    CHECK_INT(answer(s, "4", "w", "1", &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "with 2") != NULL);
    CHECK_STR(deliveries(s, "r"), "3 ");
    pawl_store_free(s);
}

/* The machine refused it: the wait stands, and takes another. */
PAWL_TEST(test_W3_an_answer_that_was_ignored_leaves_its_wait_open)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_delivery d = { .id = "1", .kind = PAWL_DELIVER_ANSWER, .name = "w", .value = bytes("1") };
    pawl_append a = { .run = "r", .fence = f, .taken = &d.no, .ntaken = 1 };
    pawl_err err;

    CHECK_INT(ask(s, f, "w", "{\"kind\":\"question\"}"), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_STR(waits(s, "r"), "r w ");
    CHECK_INT(answer(s, "2", "w", "2", &err), PAWL_OK);
    CHECK_INT(answer(s, "3", "w", "3", &err), PAWL_CONFLICT);
    CHECK(strstr(err.text, "with 2") != NULL);
    CHECK_STR(deliveries(s, "r"), "2 ");
    pawl_store_free(s);
}

/* ---- attempts --------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E13_attempts_are_counted_by_invocation)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), g = begun(s, "q", "");
    pawl_mark all[5] = {
        { .run = "r", .fence = f, .id = "1.a.1.0" }, { .run = "r", .fence = f + 1000, .id = "1.a.1.1" },
        { .run = "none", .fence = f, .id = "1.a.1.0" }, { .run = "q", .fence = g, .id = "1.a.1.0" },
        { .run = "r", .fence = f, .id = "1.b.1.0" },
    };

    CHECK_STR(marks(s, "r"), "");
    CHECK_INT(s->verbs->mark(s, all, 5, NULL), PAWL_OK);
    CHECK_INT(all[0].rc, PAWL_OK);
    CHECK_INT(all[1].rc, PAWL_FENCED);
    CHECK_INT(all[2].rc, PAWL_GONE);
    CHECK_INT(all[3].rc, PAWL_OK);
    CHECK_INT(all[4].rc, PAWL_OK);
    CHECK_INT(s->verbs->mark(s, all, 1, NULL), PAWL_OK);
    s = again(s);
    CHECK_INT(s->verbs->mark(s, all, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=3 1.b.1.0=1 ");
    CHECK_STR(marks(s, "q"), "1.a.1.0=1 ");
    all[0] = all[4] = (pawl_mark){ .run = "q", .fence = g, .id = "2.c.1.0" };
    CHECK_INT(s->verbs->mark(s, all, 5, NULL), PAWL_OK);
    CHECK_STR(marks(s, "q"), "1.a.1.0=2 2.c.1.0=2 ");
    pawl_store_free(s);
}

PAWL_TEST(test_E7_E13_a_mark_keeps_when_the_first_began_and_when_the_next_is_due)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_mark one = { .run = "r", .fence = f, .id = "1.a.1.0", .first_ms = 500 }, bad = one;

    CHECK_INT(s->verbs->mark(s, &one, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=1(500,0) ");
    one.again_ms = 900;         /* the last one is over: none is counted */
    one.first_ms = 600;
    CHECK_INT(s->verbs->mark(s, &one, 1, NULL), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &one, 1, NULL), PAWL_OK);
    s = again(s);
    CHECK_STR(marks(s, "r"), "1.a.1.0=1(600,900) ");
    one.again_ms = one.first_ms = 0;
    CHECK_INT(s->verbs->mark(s, &one, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=2(600,0) ");
    one = (pawl_mark){ .run = "r", .fence = f, .id = "1.b.1.0", .again_ms = 700 };
    CHECK_INT(s->verbs->mark(s, &one, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=2(600,0) 1.b.1.0=0(0,700) ");
    bad.first_ms = -1;
    CHECK_INT(s->verbs->mark(s, &bad, 1, NULL), PAWL_OK);
    CHECK_INT(bad.rc, PAWL_INVALID);
    bad.first_ms = 0;
    bad.again_ms = -1;
    CHECK_INT(s->verbs->mark(s, &bad, 1, NULL), PAWL_OK);
    CHECK_INT(bad.rc, PAWL_INVALID);
    CHECK_STR(marks(s, "r"), "1.a.1.0=2(600,0) 1.b.1.0=0(0,700) ");
    pawl_store_free(s);
}

PAWL_TEST(test_E13_an_attempt_that_never_began_is_not_counted_any_more)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_mark both[2] = { { .run = "r", .fence = f, .id = "1.a.1.0", .first_ms = 500 }, { .run = "r", .fence = f, .id = "1.b.1.0", .first_ms = 500 } };
    pawl_mark back = both[0];

    back.first_ms = 0;
    back.unbegun = true;
    CHECK_INT(s->verbs->mark(s, both, 2, NULL), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, both, 1, NULL), PAWL_OK);
    back.again_ms = 900;        /* as it stood before */
    CHECK_INT(s->verbs->mark(s, &back, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=1(500,900) 1.b.1.0=1(500,0) ");
    back.again_ms = 0;
    back.fence = f + 1;
    CHECK_INT(s->verbs->mark(s, &back, 1, NULL), PAWL_OK);
    CHECK_INT(back.rc, PAWL_FENCED);
    back.fence = f;
    CHECK_INT(s->verbs->mark(s, &back, 1, NULL), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &back, 1, NULL), PAWL_OK);      /* and none below none */
    CHECK_INT(back.rc, PAWL_OK);
    s = again(s);
    CHECK_STR(marks(s, "r"), "1.b.1.0=1(500,0) ");
    CHECK_INT(s->verbs->mark(s, both, 1, NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "1.a.1.0=1(500,0) 1.b.1.0=1(500,0) ");
    pawl_store_free(s);
}

PAWL_TEST(test_E13_attempts_are_counted_with_lines_or_not_at_all)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    const char *lines[] = { entry(1, "[1]"), entry(2, "[2]") };
    pawl_bytes line = bytes(lines[0]);
    pawl_mark both[2] = { { .id = "1.a.1.0", .first_ms = 500 }, { .id = "1.b.1.0", .first_ms = 600 } }, bad = { .id = "" };
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .marks = both, .nmarks = 2 };

    a.fence = f + 1;
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    a.fence = f;
    line = bytes(lines[1]);
    a.seq = 1;
    CHECK_INT(put_one(s, &a), PAWL_CONFLICT);
    line = bytes(lines[0]);
    a.seq = 0;
    a.marks = &bad;
    a.nmarks = 1;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    bad = (pawl_mark){ .id = "1.a.1.0", .first_ms = -1 };
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.marks = NULL;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    CHECK_STR(marks(s, "r"), "");
    CHECK_STR(ranged(s, "r", 0, 0), "base 0 {\"at\":10\n");
    a.marks = both;
    a.nmarks = 2;
    for (int i = 0; i < 2; i++) {       /* its reply may be lost: the same again counts nothing twice */
        CHECK_INT(put_one(s, &a), PAWL_OK);
        CHECK_STR(marks(s, "r"), "1.a.1.0=1(500,0) 1.b.1.0=1(600,0) ");
    }
    line = bytes(lines[1]);
    a.seq = a.nmarks = 1;
    both[0].first_ms = 0;       /* as it was said before */
    CHECK_INT(put_one(s, &a), PAWL_OK);
    s = again(s);
    CHECK_STR(marks(s, "r"), "1.a.1.0=2(500,0) 1.b.1.0=1(600,0) ");
    CHECK_STR(ranged(s, "r", 0, 0), "base 0 {\"at\":10\n1 [1]\n2 [2]\n");
    pawl_store_free(s);
}
