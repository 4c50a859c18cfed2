/* contract_look.c - the contract: which runs there are, and which somebody has to look at. */
#include "store/contract_inner.h"
#include "store/store.h"

enum { SUBMITTED = 0, WORKING = 1, INPUT_REQUIRED = 2, COMPLETED = 3 };

static void move(pawl_store *s, const char *run, uint64_t fence, uint8_t status, int64_t wake_ms)
{
    pawl_append a = { .run = run, .fence = fence, .seq = head(s, run).seq, .moves = true, .status = status,
                      .over = status >= COMPLETED, .wake_ms = wake_ms };

    CHECK_INT(put_one(s, &a), PAWL_OK);
}

static void let_go(pawl_store *s, const char *run, uint64_t fence)
{
    CHECK_INT(release_one(s, run, fence, NULL), PAWL_OK);
}

/* Whether those told are these, in any order. */
static void check_set(const char *told, const char *expected)
{
    size_t n = strlen(told);

    CHECK_INT(n, strlen(expected));
    for (const char *at = expected; *at != '\0'; at += strcspn(at, " ") + 1) {
        const char *name = text(" %.*s", (int)strcspn(at, " ") + 1, at);

        if (strstr(text(" %s", told), name) == NULL)
            CHECK_FAIL("told %s, expected %s", told, expected);
    }
}

/* ---- lists -------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_S6_runs_are_listed_by_what_they_are)
{
    pawl_store *s = fresh();
    pawl_append a = { .run = "d", .moves = true, .status = WORKING, .parked = "no machine" };
    pawl_waiting w = { .id = "w", .spec = bytes("{}") };
    int64_t since;

    begun(s, "a", ",\"context\":\"talk\",\"labels\":[\"x\",\"y\"]");
    begun(s, "b", ",\"context\":\"talk\",\"parent\":\"p~00000000000000aa/1.a.1.0\"");
    CHECK_INT(s->verbs->create(s, bytes("{\"format\":1,\"id\":\"c\",\"life\":\"00000000000000ab\",\"labels\":[\"y\"],\"machine\":{\"name\":\"other\"}}"), NULL,
                               NULL), PAWL_OK);
    a.fence = begun(s, "d", "");
    move(s, "b", head(s, "b").fence, COMPLETED, 0);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    pass(s, 5);
    since = s->verbs->now(s);
    pass(s, 5);
    a = (pawl_append){ .run = "a", .fence = head(s, "a").fence, .waits = &w, .nwaits = 1 };
    CHECK_INT(put_one(s, &a), PAWL_OK);
    s = again(s);
    CHECK_STR(listed(s, NULL), "d c b a ");
    CHECK_STR(listed(s, &(pawl_filter){ .limit = 0 }), "d c b a ");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "essay" }), "d b a ");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "other" }), "c ");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "essa" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .context = "talk" }), "b a ");
    CHECK_STR(listed(s, &(pawl_filter){ .parent = "p~00000000000000aa/1.a.1.0" }), "b ");
    CHECK_STR(listed(s, &(pawl_filter){ .parent = "p" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "x" }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "y" }), "c a ");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "z" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .status = 1 + SUBMITTED }), "c a ");
    CHECK_STR(listed(s, &(pawl_filter){ .status = 1 + COMPLETED }), "b ");
    CHECK_STR(listed(s, &(pawl_filter){ .waiting = true }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .parked = true }), "d ");
    CHECK_STR(listed(s, &(pawl_filter){ .held = true }), "d b a ");
    CHECK_STR(listed(s, &(pawl_filter){ .held = true, .before = head(s, "d").no, .limit = 1 }), "b ");
    CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = since }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = head(s, "a").changed_ms }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = head(s, "a").changed_ms + 1 }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = INT64_MAX }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "essay", .context = "talk", .label = "y", .waiting = true }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "other", .context = "talk" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .limit = 2 }), "d c ");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "y", .before = head(s, "c").no }), "a ");
    CHECK_STR(listed(s, &(pawl_filter){ .before = head(s, "a").no }), "");
    pawl_store_free(s);
}

typedef struct since_all { char text[400]; int64_t since_ms; uint64_t before; } since_all;

static bool add_since(void *ctx, const pawl_head *h)
{
    since_all *a = ctx;
    size_t n = strlen(a->text);

    if (h->changed_ms >= a->since_ms && h->no < a->before)
        snprintf(a->text + n, sizeof a->text - n, "%s ", h->run);
    return true;
}

/* Whether their heads or their newest rows say when they changed; newest first, whatever changed last. */
PAWL_TEST(test_S6_what_changed_since_a_time_is_what_a_look_at_all_runs_finds)
{
    enum { RUNS = 24 };
    static const int touched[] = { 3, 20, 7, 3, 0, 23, 11, 7 };
    pawl_store *s = fresh(), *other = opened("other");
    uint64_t fences[RUNS], seqs[RUNS] = {0};
    const pawl_filter all = { .limit = 100 };

    for (int i = 0; i < RUNS; i++)
        fences[i] = begun(s, text("r%d", i), i % 2 == 0 ? ",\"labels\":[\"even\"]" : "");
    begun(other, "elsewhere", "");
    for (size_t i = 0; i < sizeof touched / sizeof *touched; i++) {
        int r = touched[i];

        pass(s, 3);
        put(s, text("r%d", r), fences[r], seqs[r], text("%s", entry(seqs[r] + 1, "[]")), NULL);
        seqs[r]++;
        if (i == 4)
            let_go(s, text("r%d", r), fences[r]);
        for (int k = 0; k < RUNS; k++) {
            since_all due = { .since_ms = head(s, text("r%d", k)).changed_ms, .before = k % 3 == 0 ? (uint64_t)k + 1 : UINT64_MAX };
            const pawl_filter f = { .changed_since_ms = due.since_ms, .before = k % 3 == 0 ? due.before : 0, .limit = 100 };
            const char *one;

            CHECK_INT(s->verbs->list(s, &all, add_since, &due, NULL), PAWL_OK);
            CHECK_STR(listed(s, &f), due.text);
            one = text("%.*s", (int)strcspn(due.text, " ") + (*due.text != '\0'), due.text);
            CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = due.since_ms, .before = f.before, .limit = 1 }), one);
        }
    }
    CHECK_STR(listed(s, &(pawl_filter){ .changed_since_ms = head(s, "r23").changed_ms, .label = "even" }), "");
    pawl_store_free(other);
    pawl_store_free(s);
}

/* By bytes, and whatever is asked for: `_` and `%` mean themselves, and no id has a byte above ~. */
PAWL_TEST(test_S6_runs_are_listed_by_how_their_ids_begin)
{
    static const char *const ids[] = { "ab", "a", "abc", "b", "ab-1", "aB", "a_c", "a.b", "ab.x", "abzz" };
    pawl_store *s = fresh();

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        begun(s, ids[i], i % 2 == 0 ? ",\"labels\":[\"even\"]" : "");
    s = again(s);
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab" }), "abzz ab.x ab-1 abc ab ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "abzz" }), "abzz ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "abzzz" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "a_" }), "a_c ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "%" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "c" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "A" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "a\xFF" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "' OR 1 --" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "" }), "abzz ab.x a.b a_c aB ab-1 b abc a ab ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .limit = 2 }), "abzz ab.x ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .limit = 2, .before = head(s, "ab.x").no }), "ab-1 abc ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .label = "even", .machine = "essay" }), "ab.x ab-1 abc ab ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .machine = "other" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .label = "even", .limit = 1, .before = head(s, "ab.x").no }), "ab-1 ");
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "ab", .changed_since_ms = INT64_MAX }), "");
    CHECK_INT(s->verbs->remove(s, "abc", head(s, "abc").fence, NULL), PAWL_OK);
    CHECK_STR(listed(s, &(pawl_filter){ .begins = "abc" }), "");
    pawl_store_free(s);
}

typedef struct page {
    char ids[512];
    uint64_t last;
} page;

static bool add_page(void *ctx, const pawl_head *h)
{
    page *p = ctx;
    size_t n = strlen(p->ids);

    snprintf(p->ids + n, sizeof p->ids - n, "%s ", h->run);
    CHECK(p->last == 0 || h->no < p->last);
    p->last = h->no;
    return true;
}

PAWL_TEST(test_S6_pages_stay_as_they_were_while_runs_come_and_go)
{
    pawl_store *s = fresh();
    page p = { .ids = "" };

    for (int i = 0; i < 7; i++)
        begun(s, text("r%d", i), i == 3 ? "" : ",\"labels\":[\"x\"]");
    for (int i = 0; i < 5; i++) {
        pawl_filter f = { .label = "x", .limit = 2, .before = p.last };

        CHECK_INT(s->verbs->list(s, &f, add_page, &p, NULL), PAWL_OK);
        begun(s, text("new%d", i), ",\"labels\":[\"x\"]");
        if (i == 0) /* the last of the page goes: the next page still begins below it */
            CHECK_INT(s->verbs->remove(s, "r5", head(s, "r5").fence, NULL), PAWL_OK);
    }
    CHECK_STR(p.ids, "r6 r5 r4 r2 r1 r0 ");
    CHECK_STR(listed(s, &(pawl_filter){ .limit = 3 }), "new4 new3 new2 ");
    pawl_store_free(s);
}

PAWL_TEST(test_S6_a_page_has_fifty_when_nothing_is_said)
{
    pawl_store *s = fresh();
    size_t n = 0;

    for (int i = 0; i < 60; i++)
        CHECK_INT(s->verbs->create(s, bytes(base(text("r%d", i), "")), NULL, NULL), PAWL_OK);
    for (const char *at = listed(s, NULL); *at != '\0'; at++)
        n += *at == ' ';
    CHECK_INT(n, 50);
    n = 0;
    for (const char *at = listed(s, &(pawl_filter){ .limit = SIZE_MAX }); *at != '\0'; at++)
        n += *at == ' ';
    CHECK_INT(n, 60);
    pawl_store_free(s);
}

/* ---- what is due ---------------------------------------------------------------------------------------------- */

PAWL_TEST(test_E9_timers_are_due_the_first_one_first)
{
    static const struct { const char *run; int64_t wake_ms; } timers[] = { { "a", 300 }, { "b", 100 }, { "c", 400 }, { "d", 200 } };
    pawl_store *s = fresh();
    int64_t t = s->verbs->now(s) + LONG_MS;
    uint64_t f[4];

    CHECK_INT(s->verbs->next_due(s), 0);
    for (int i = 0; i < 4; i++) {
        f[i] = begun(s, timers[i].run, "");
        move(s, timers[i].run, f[i], WORKING, t + timers[i].wake_ms);
        let_go(s, timers[i].run, f[i]);
    }
    s = again(s);
    CHECK_INT(s->verbs->next_due(s), t + 100);
    CHECK_STR(due(s, t + 99, 10), "");
    CHECK_STR(due(s, t + 100, 10), "b ");
    CHECK_STR(due(s, t + 300, 10), "b d a ");
    CHECK_STR(due(s, t + 300, 2), "b d ");
    CHECK_STR(due(s, t + 300, 0), "");
    CHECK_STR(due(s, t + 1000, 10), "b d a c ");
    f[1] = claimed(s, "b", "me");
    CHECK_STR(due(s, t + 1000, 10), "d a c ");
    move(s, "b", f[1], WORKING, t + 350);
    let_go(s, "b", f[1]);
    CHECK_INT(s->verbs->next_due(s), t + 200);
    CHECK_STR(due(s, t + 1000, 10), "d a b c ");
    f[3] = claimed(s, "d", "me");
    move(s, "d", f[3], COMPLETED, 0);
    let_go(s, "d", f[3]);
    CHECK_STR(due(s, t + 1000, 10), "a b c ");
    CHECK_INT(s->verbs->next_due(s), t + 300);
    pawl_store_free(s);
}

/* Whoever asks has a clock of his own. */
PAWL_TEST(test_E9_a_timer_is_due_at_the_time_that_is_asked_for)
{
    pawl_store *s = fresh();
    int64_t t = s->verbs->now(s) + 2;
    uint64_t f = begun(s, "r", "");

    move(s, "r", f, WORKING, t);
    let_go(s, "r", f);
    pass(s, 5);
    CHECK_STR(due(s, t - 1, 10), "");
    CHECK_STR(due(s, t, 10), "r ");
    CHECK_INT(s->verbs->next_due(s), t);
    pawl_store_free(s);
}

PAWL_TEST(test_E16_a_run_is_due_while_a_delivery_waits)
{
    pawl_store *s = fresh();
    uint64_t f;
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_START, .value = bytes("{}") };
    pawl_append a = { .run = "a", .taken = &d.no, .ntaken = 1, .moves = true, .status = INPUT_REQUIRED };

    CHECK_INT(s->verbs->create(s, bytes(base("a", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->create(s, bytes(base("b", "")), NULL, NULL), PAWL_OK);
    CHECK_STR(due(s, 0, 10), ""); /* begun, and nobody has said start */
    CHECK_INT(s->verbs->deliver(s, "a", &d, NULL), PAWL_OK);
    CHECK_STR(due(s, 0, 10), "a ");
    CHECK_STR(due(s, INT64_MAX, 10), "a ");
    CHECK_INT(s->verbs->next_due(s), 0);
    a.fence = f = claimed(s, "a", "me");
    CHECK_STR(due(s, 0, 10), "");
    let_go(s, "a", f);
    CHECK_STR(due(s, 0, 10), "a ");
    f = a.fence = claimed(s, "a", "me");
    CHECK_INT(put_one(s, &a), PAWL_OK);
    let_go(s, "a", f);
    CHECK_STR(due(s, 0, 10), "");
    move(s, "a", claimed(s, "a", "me"), COMPLETED, 0);
    let_go(s, "a", head(s, "a").fence);
    CHECK_INT(deliver(s, "a", "late", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(due(s, 0, 10), "a "); /* to be ignored */
    pawl_store_free(s);
}

PAWL_TEST(test_E12_a_run_whose_lease_ran_out_is_due)
{
    pawl_store *s = fresh();
    pawl_head h;

    for (int i = 0; i < 3; i++) {
        const char *run = text("r%d", i);

        CHECK_INT(s->verbs->create(s, bytes(base(run, "")), NULL, NULL), PAWL_OK);
        CHECK_INT(claim_one(s, run, "me", i == 2 ? LONG_MS : 1, &h, NULL), PAWL_OK);
        move(s, run, h.fence, i == 1 ? COMPLETED : WORKING, 0);
    }
    pass(s, 2);
    CHECK_STR(due(s, s->verbs->now(s), 10), "r0 "); /* r1 is over, r2 is held */
    CHECK_STR(due(s, 0, 10), "r0 ");
    CHECK_INT(renew_one(s, "r0", head(s, "r0").fence, LONG_MS, NULL), PAWL_OK);
    CHECK_STR(due(s, INT64_MAX, 10), "");
    pawl_store_free(s);
}

/* What its holder said, whatever it waits for beside that. */
PAWL_TEST(test_E12_a_run_that_was_let_go_of_with_work_to_do_is_due)
{
    pawl_store *s = fresh();
    int64_t t = s->verbs->now(s) + LONG_MS;
    pawl_waiting w = { .id = "w", .spec = bytes("{\"kind\":\"signal\"}") };
    pawl_append all[] = {
        { .run = "works", .status = WORKING, .work = true },
        { .run = "beside", .status = WORKING, .work = true, .waits = &w, .nwaits = 1 },
        { .run = "naps", .status = WORKING, .work = true, .wake_ms = t + 5, .waits = &w, .nwaits = 1 },
        { .run = "waits", .status = WORKING, .waits = &w, .nwaits = 1 },
        { .run = "sleeps", .status = WORKING, .wake_ms = t },
        { .run = "asks", .status = INPUT_REQUIRED },
        { .run = "done", .status = COMPLETED, .over = true, .work = true },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i].fence = begun(s, all[i].run, "");
        all[i].moves = true;
        CHECK_INT(put_one(s, &all[i]), PAWL_OK);
        CHECK(head(s, all[i].run).work == all[i].work);
    }
    CHECK_STR(due(s, t, 10), "");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        let_go(s, all[i].run, all[i].fence);
    check_set(due(s, 0, 10), "works beside naps ");
    check_set(due(s, t, 10), "works beside naps sleeps ");
    s = again(s);
    check_set(due(s, t - 1, 10), "works beside naps ");
    all[1] = (pawl_append){ .run = "beside", .fence = claimed(s, "beside", "me"), .moves = true, .status = WORKING, .release = true };
    CHECK_INT(put_one(s, &all[1]), PAWL_OK); /* looked at, and there was none */
    check_set(due(s, 0, 10), "works naps ");
    pawl_store_free(s);
}

typedef struct paged { char ids[512]; pawl_due last; } paged;

static bool add_due(void *ctx, const pawl_head *h)
{
    paged *p = ctx;
    size_t n = strlen(p->ids);

    snprintf(p->ids + n, sizeof p->ids - n, "%s ", h->run);
    CHECK(h->look_ms > p->last.look_ms || (h->look_ms == p->last.look_ms && h->no > p->last.no));
    p->last = (pawl_due){ h->look_ms, h->no };
    return true;
}

/* Many with which nobody can do anything stand before all others: whoever looks goes on after them. */
PAWL_TEST(test_E14_what_is_due_is_paged_in_one_order)
{
    pawl_store *s = fresh();
    int64_t t = s->verbs->now(s);
    paged p = { .ids = "" };
    pawl_head h;

    for (int i = 0; i < 7; i++) {       /* three at one time, in the order of their numbers */
        const char *run = text("r%d", i);

        move(s, run, begun(s, run, ""), WORKING, t - (i < 3 ? 10 : 10 - i));
        let_go(s, run, head(s, run).fence);
    }
    begun(s, "held", "");
    CHECK_INT(s->verbs->create(s, bytes(base("mail", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "mail", "d", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_INT(head(s, "mail").mail, 1);
    CHECK(head(s, "mail").look_ms > 0);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(s->verbs->due(s, t, &p.last, 2, add_due, &p, NULL), PAWL_OK);
        if (i == 0) /* one that was told goes, and comes again later: nobody is left out, nobody comes twice */
            CHECK_INT(claim_one(s, "r1", "me", LONG_MS, &h, NULL), PAWL_OK);
    }
    CHECK_STR(p.ids, "r0 r1 r2 r3 r4 r5 r6 mail ");
    CHECK_STR(due(s, t, 3), "r0 r2 r3 ");
    CHECK_INT(head(s, "held").look_ms, head(s, "held").lease_ms);
    pawl_store_free(s);
}

PAWL_TEST(test_F5_a_parked_run_is_left_alone)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    int64_t t = s->verbs->now(s);
    pawl_append a = { .run = "r", .fence = f, .moves = true, .status = WORKING, .wake_ms = t, .parked = "no machine" };

    CHECK_INT(put_one(s, &a), PAWL_OK);
    let_go(s, "r", f);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(due(s, t + 1, 10), "");
    CHECK_STR(listed(s, &(pawl_filter){ .parked = true }), "r ");
    a.fence = claimed(s, "r", "me");
    a.parked = NULL;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    let_go(s, "r", a.fence);
    CHECK_STR(due(s, t + 1, 10), "r ");
    pawl_store_free(s);
}

static bool first_only(void *ctx, const pawl_head *h) { (void)h; *(int *)ctx += 1; return false; }
static bool first_line(void *ctx, pawl_line_kind k, uint64_t seq, pawl_bytes l) { (void)k, (void)seq, (void)l; *(int *)ctx += 1; return false; }
static bool first_delivery(void *ctx, const pawl_delivery *d) { (void)d; *(int *)ctx += 1; return false; }
static bool first_wait(void *ctx, const char *run, const pawl_waiting *w) { (void)run, (void)w; *(int *)ctx += 1; return false; }
static bool first_mark(void *ctx, const pawl_mark *mark) { (void)mark; *(int *)ctx += 1; return false; }

PAWL_TEST(test_whoever_is_told_may_stop)
{
    pawl_store *s = fresh();
    int64_t t = s->verbs->now(s);
    int n = 0;

    for (int i = 0; i < 5; i++) {
        const char *run = text("r%d", i);

        move(s, run, begun(s, run, ""), WORKING, t + i);
        let_go(s, run, head(s, run).fence);
    }
    CHECK_INT(s->verbs->list(s, NULL, first_only, &n, NULL), PAWL_OK);
    CHECK_INT(n, 1);
    CHECK_INT(s->verbs->due(s, t + 10, NULL, 10, first_only, &n, NULL), PAWL_OK);
    CHECK_INT(n, 2);
    CHECK_STR(due(s, t + 10, 10), "r0 r1 r2 r3 r4 ");
    CHECK_STR(due(s, t + 2, 10), "r0 r1 r2 ");
    pawl_store_free(s);
}

PAWL_TEST(test_whoever_reads_a_run_may_stop)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_waiting w[2] = { { .id = "v", .spec = bytes("{}") }, { .id = "w", .spec = bytes("{}") } };
    pawl_append a = { .run = "r", .fence = f, .waits = w, .nwaits = 2 };
    pawl_mark marked[2] = { { .run = "r", .fence = f, .id = "1" }, { .run = "r", .fence = f, .id = "2" } };
    int n = 0;

    CHECK_INT(put_one(s, &a), PAWL_OK);
    entries(s, "r", f, 1, 3);
    CHECK_INT(s->verbs->mark(s, marked, 2, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", "1", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", "2", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->load(s, "r", first_line, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->read(s, "r", 0, 0, first_line, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->read(s, "r", 1, 0, first_line, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->deliveries(s, "r", first_delivery, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->waits(s, "r", first_wait, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->waits(s, NULL, first_wait, &n, NULL), PAWL_OK);
    CHECK_INT(s->verbs->marks(s, "r", first_mark, &n, NULL), PAWL_OK);
    CHECK_INT(n, 7);
    CHECK_INT(put(s, "r", f, 3, entry(4, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

/* ---- head and lines of one moment --------------------------------------------------------------------------------- */

typedef struct looked { char *at; size_t left; } looked;

static bool add_looked(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    looked *l = ctx;
    const int n = snprintf(l->at, l->left, "%d.%llu ", (int)kind, (unsigned long long)seq);

    (void)line;
    l->at += n;
    l->left -= (size_t)n;
    return true;
}

static void check_look(pawl_store *s, pawl_look look, const char *lines, uint64_t seq)
{
    char got[200] = "";
    looked l = { got, sizeof got };

    look.fn = lines != NULL ? add_looked : NULL;
    look.ctx = &l;
    CHECK_INT(s->verbs->look(s, "r", &look, NULL), PAWL_OK);
    CHECK_STR(got, lines != NULL ? lines : "");
    CHECK_STR(look.head.run, "r");
    CHECK_INT(look.head.seq, seq);
    CHECK_INT(look.version, s->verbs->version(s));
}

/* `s` has run r of three entries, pruned to the second when `pruned`. */
static void check_looks(pawl_store *s, bool pruned)
{
    pawl_look look = { .fn = add_looked, .after = 0 };
    looked l = { text("%100s", ""), 100 };

    check_look(s, (pawl_look){ .load = true }, pruned ? "1.2 4.3 " : "1.0 4.1 4.2 4.3 ", 3);
    check_look(s, (pawl_look){ .after = 2 }, "4.3 ", 3);
    check_look(s, (pawl_look){ .after = 3 }, "", 3);
    check_look(s, (pawl_look){ .after = 0 }, pruned ? NULL : "1.0 4.1 4.2 4.3 ", 3);
    look.ctx = &l;
    CHECK_INT(s->verbs->look(s, "r", &look, NULL), pruned ? PAWL_GONE : PAWL_OK);
    CHECK_STR(look.head.run, "r");      /* it is there, whatever was pruned */
    CHECK_INT(s->verbs->look(s, "nobody", &look, NULL), PAWL_GONE);
    CHECK(look.head.run == NULL);
    CHECK_INT(s->verbs->look(s, "", &look, NULL), PAWL_INVALID);
}

PAWL_TEST(test_S6_a_look_gives_the_head_and_the_lines_of_one_moment)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");

    if (s->verbs->look == NULL) {
        pawl_store_free(s);
        check_skip("it does not have the verb");
    }
    entries(s, "r", f, 1, 3);
    check_looks(s, false);
    CHECK_INT(s->verbs->prune(s, "r", f, 2, bytes(base("r", ",\"seq\":2")), NULL), PAWL_OK);
    check_looks(s, true);
    pawl_store_free(s);
}

/* ---- what may go (G10) -------------------------------------------------------------------------------------------- */

/* Over, and kept until then (0: for ever). */
static void ended(pawl_store *s, const char *run, int64_t until_ms)
{
    uint64_t f = begun(s, run, until_ms == 0 ? "" : ",\"retention\":\"keep:7d\"");

    entries(s, run, f, 1, 2);
    move(s, run, f, COMPLETED, until_ms);
    let_go(s, run, f);
}

PAWL_TEST(test_G10_a_sweep_removes_what_is_over_and_past_its_time)
{
    pawl_store *s = fresh();
    int64_t now = s->verbs->now(s);
    uint64_t f;
    size_t n = 7;

    ended(s, "kept", 0);
    ended(s, "later", now + LONG_MS);
    f = begun(s, "works", "");
    move(s, "works", f, WORKING, now - 5);              /* its timer is due, and it is not over */
    let_go(s, "works", f);
    f = begun(s, "timer", ",\"retention\":\"keep\"");   /* whatever its timer is for */
    move(s, "timer", f, COMPLETED, now - 5);
    let_go(s, "timer", f);
    f = begun(s, "child", ",\"parent\":\"p~00000000000000aa/1.a.1.0\",\"retention\":\"delete\"");
    move(s, "child", f, COMPLETED, now - 5);
    let_go(s, "child", f);
    ended(s, "held", now - 3);
    ended(s, "again", now - 2);
    ended(s, "a", now - 4);
    ended(s, "b", now - 1);
    ended(s, "c", now);
    claimed(s, "held", "me");
    f = claimed(s, "again", "me");
    move(s, "again", f, WORKING, 0);
    let_go(s, "again", f);
    s = again(s);
    CHECK_INT(pawl_store_sweep(s, 1, &n, NULL), PAWL_OK);
    CHECK_INT(n, 1);
    CHECK_STR(listed(s, NULL), "c b again held child timer works later kept ");
    CHECK_INT(pawl_store_sweep(s, 0, &n, NULL), PAWL_OK);
    CHECK_INT(n, 2);
    CHECK_INT(pawl_store_sweep(s, 0, &n, NULL), PAWL_OK);
    CHECK_INT(n, 0);
    CHECK_STR(listed(s, NULL), "again held child timer works later kept ");
    CHECK_STR(ranged(s, "a", 0, 0), "gone");
    CHECK_STR(ranged(s, "held", 1, 0), "2 []\n");
    begun(s, "a", "");                                  /* the id is free for another life */
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_STR(listed(s, NULL), "a again held child timer works later kept ");
    pawl_store_free(s);
}

PAWL_TEST(test_G10_S6_many_go_in_one_sweep_past_many_that_are_due)
{
    enum { RUNS = 150 };
    pawl_store *s = fresh();
    int64_t now = s->verbs->now(s);
    size_t n;

    for (int i = 0; i < RUNS; i++) {
        const char *run = text("r%d", i);
        uint64_t f = begun(s, run, ",\"retention\":\"delete\"");

        move(s, run, f, i % 3 == 0 ? WORKING : COMPLETED, now - 1000 + i);
        let_go(s, run, f);
    }
    CHECK_INT(pawl_store_sweep(s, 70, &n, NULL), PAWL_OK);
    CHECK_INT(n, 70);
    CHECK_INT(pawl_store_sweep(s, 0, &n, NULL), PAWL_OK);
    CHECK_INT(n, RUNS / 3 * 2 - 70);
    CHECK_INT(head(s, "r0").seq, 0);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
    CHECK_INT(pawl_store_sweep(NULL, 0, &n, NULL), PAWL_INVALID);
    CHECK_INT(n, 0);
}
