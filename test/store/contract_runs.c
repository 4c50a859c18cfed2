/* contract_runs.c - the contract: runs begin, are held by one at a time, and go. */
#include "store/contract_inner.h"

/* ---- beginning ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_S7_a_run_begins_with_what_its_base_says)
{
    pawl_store *s = fresh();
    const char *b = base("r", ",\"context\":\"talk\",\"labels\":[\"x\"],\"parent\":\"p~00000000000000aa/1.a.1.0\"");
    pawl_head h;

    CHECK_INT(s->verbs->create(s, bytes(b), NULL, NULL), PAWL_OK);
    h = head(s, "r");
    CHECK_STR(h.run, "r");
    CHECK_STR(h.machine, "essay");
    CHECK_STR(h.context, "talk");
    CHECK_STR(h.parent, "p~00000000000000aa/1.a.1.0");
    CHECK(h.owner == NULL && h.parked == NULL);
    CHECK(h.no > 0);
    CHECK_INT(h.life, 0xab);
    CHECK_INT(h.seq, 0);
    CHECK_INT(h.lease_ms, 0);
    CHECK_INT(h.created_ms, 1000);
    CHECK(h.changed_ms > 0);
    CHECK_INT(h.wake_ms, 0);
    CHECK_INT(h.waits, 0);
    CHECK_INT(h.status, 0);
    CHECK(!h.over);
    check_journal(s, "r", text("%s\n", b));
    pawl_store_free(s);
}

PAWL_TEST(test_create_again_is_success_and_otherwise_a_conflict)
{
    pawl_store *s = fresh();
    pawl_err err = { PAWL_OK, "" };
    uint64_t no;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, &err), PAWL_OK);
    no = head(s, "r").no;
    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, &err), PAWL_OK);
    CHECK_INT(err.code, PAWL_OK);
    CHECK_INT(s->verbs->create(s, bytes(base("r", ",\"by\":\"ada\"")), NULL, &err), PAWL_CONFLICT);
    CHECK_INT(err.code, PAWL_CONFLICT);
    CHECK(strstr(err.text, "r: ") == err.text);
    CHECK_INT(head(s, "r").no, no);
    entries(s, "r", claimed(s, "r", "me"), 1, 2);
    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(head(s, "r").seq, 2);
    check_journal(s, "r", text("%s\n%s\n%s\n", base("r", ""), entry(1, "[]"), entry(2, "[]")));
    pawl_store_free(s);
}

PAWL_TEST(test_X3_a_base_that_is_none_begins_nothing)
{
    static const char *const none[] = {
        "", "x", "{", "null", "[]", "{}", "{\"format\":1}", "{\"format\":1,\"id\":\"r\"}",
        "{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ab\"}",
        "{\"format\":1,\"id\":\"r\",\"life\":\"ab\",\"machine\":{\"name\":\"m\"}}",
        "{\"format\":1,\"id\":\".r\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}",
        "{\"format\":1,\"id\":\"r\\u0000\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}",
        "{\"format\":2,\"id\":\"r\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}",
        "{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"},\"labels\":[1]}",
        "{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ab\",\n\"machine\":{\"name\":\"m\"}}",
    };
    pawl_store *s = fresh();

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        pawl_err err = { PAWL_OK, "" };

        if (s->verbs->create(s, bytes(none[i]), NULL, &err) != PAWL_INVALID || err.code != PAWL_INVALID)
            CHECK_FAIL("taken for a base: %s", none[i]);
        CHECK(strchr(err.text, '\n') == NULL && err.text[0] != '\0');
    }
    CHECK_INT(s->verbs->create(s, (pawl_bytes){0}, NULL, NULL), PAWL_INVALID);
    CHECK_STR(listed(s, NULL), "");
    CHECK_INT(s->verbs->create(s, bytes("{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}"), NULL, NULL),
              PAWL_OK);
    pawl_store_free(s);
}

/* An import: the journal of a pruned run. */
PAWL_TEST(test_K10_a_run_may_begin_at_a_later_entry)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ",\"seq\":7");

    CHECK_INT(head(s, "r").seq, 7);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), NULL), PAWL_CONFLICT);
    entries(s, "r", f, 8, 9);
    CHECK_STR(ranged(s, "r", 6, 0), "gone");
    CHECK_STR(ranged(s, "r", 7, 0), "8 []\n9 []\n");
    check_journal(s, "r", text("%s\n%s\n%s\n", base("r", ",\"seq\":7"), entry(8, "[]"), entry(9, "[]")));
    pawl_store_free(s);
}

/* ---- holding --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_S2_a_claim_takes_the_run_and_the_next_one_is_told_who_has_it)
{
    pawl_store *s = fresh();
    pawl_err err = { PAWL_OK, "" };
    pawl_head h, other;

    begun(s, "r", "");
    entries(s, "r", head(s, "r").fence, 1, 3);
    CHECK_INT(claim_one(s, "r", "me", LONG_MS, &h, &err), PAWL_OK);
    CHECK_INT(h.seq, 3);
    CHECK(h.fence > 0);
    CHECK_STR(h.owner, "me");
    CHECK(h.lease_ms > s->verbs->now(s) && h.lease_ms <= s->verbs->now(s) + LONG_MS);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &other, &err), PAWL_HELD);
    CHECK_INT(err.code, PAWL_HELD);
    CHECK(strstr(err.text, "me") != NULL);
    CHECK_STR(other.owner, "me");
    CHECK_INT(other.lease_ms, head(s, "r").lease_ms);
    CHECK_INT(other.fence, head(s, "r").fence);
    CHECK_INT(claim_one(s, "none", "me", LONG_MS, &h, NULL), PAWL_GONE);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_the_same_owner_never_holds_it_against_himself)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), g = claimed(s, "r", "me");

    CHECK(g != f);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), NULL), PAWL_FENCED);
    CHECK_INT(put(s, "r", g, 0, entry(1, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_a_lease_that_ran_out_is_taken_over_and_its_holder_is_fenced)
{
    pawl_store *s = fresh();
    pawl_err err = { PAWL_OK, "" };
    pawl_mark mark = { .run = "r", .id = "1.a.1.0" };
    pawl_head h, mine;
    uint64_t f;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "me", 1, &mine, NULL), PAWL_OK);
    mark.fence = f = mine.fence;
    pass(s, 2);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &h, NULL), PAWL_OK);
    CHECK(h.fence != f);
    CHECK_INT(h.seq, 1);
    CHECK_INT(put(s, "r", f, 1, entry(2, "[]"), NULL), PAWL_FENCED);
    CHECK_INT(renew_one(s, "r", f, LONG_MS, &err), PAWL_FENCED);
    CHECK_INT(err.code, PAWL_FENCED);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_FENCED);
    CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(mark.rc, PAWL_FENCED);
    CHECK_INT(s->verbs->prune(s, "r", f, 1, bytes(base("r", ",\"seq\":1")), NULL), PAWL_FENCED);
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_FENCED);
    CHECK_INT(put(s, "r", h.fence, 1, entry(2, "[]"), NULL), PAWL_OK);
    CHECK_STR(marks(s, "r"), "");
    CHECK_STR(head(s, "r").owner, "you");
    pawl_store_free(s);
}

PAWL_TEST(test_S2_a_fence_never_comes_again)
{
    enum { ROUNDS = 12 };
    pawl_store *s = fresh();
    uint64_t seen[2 * ROUNDS];
    size_t n = 0;

    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(s->verbs->create(s, bytes(base("a", "")), NULL, NULL), PAWL_OK);
        CHECK_INT(s->verbs->create(s, bytes(base("b", "")), NULL, NULL), PAWL_OK);
        seen[n++] = claimed(s, "a", "me");
        seen[n++] = claimed(s, "b", "me");
        if (i % 2 == 0)
            CHECK_INT(s->verbs->remove(s, "a", seen[n - 2], NULL), PAWL_OK);
        if (i % 3 == 0)
            CHECK_INT(s->verbs->remove(s, "b", seen[n - 1], NULL), PAWL_OK);
        if (i % 4 == 1)
            s = again(s);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (seen[i] == seen[k])
                CHECK_FAIL("claims %zu and %zu got fence %llu", k, i, (unsigned long long)seen[i]);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_no_fence_is_none)
{
    pawl_store *s = fresh();

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(put(s, "r", 0, 0, entry(1, "[]"), NULL), PAWL_FENCED);
    CHECK_INT(renew_one(s, "r", 0, LONG_MS, NULL), PAWL_FENCED);
    CHECK_INT(release_one(s, "r", 0, NULL), PAWL_FENCED);
    CHECK_INT(s->verbs->remove(s, "r", 0, NULL), PAWL_FENCED);
    CHECK_INT(put(s, "r", UINT64_MAX, 0, entry(1, "[]"), NULL), PAWL_FENCED);
    CHECK_INT(head(s, "r").seq, 0);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_a_lease_is_renewed_and_let_go_of)
{
    pawl_store *s = fresh();
    int64_t before;
    uint64_t f;
    pawl_head h;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "me", 1, &h, NULL), PAWL_OK);
    f = h.fence;
    before = h.lease_ms;
    pass(s, 2);
    CHECK_INT(renew_one(s, "r", f, LONG_MS, NULL), PAWL_OK);
    CHECK(head(s, "r").lease_ms > before);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &h, NULL), PAWL_HELD);
    entries(s, "r", f, 1, 1);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    CHECK(head(s, "r").owner == NULL);
    CHECK_INT(head(s, "r").lease_ms, 0);
    CHECK_INT(head(s, "r").seq, 1);
    CHECK_INT(claim_one(s, "r", "you", INT64_MAX, &h, NULL), PAWL_OK);
    CHECK(h.lease_ms > s->verbs->now(s));
    CHECK_INT(h.seq, 1);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_FENCED);
    CHECK_INT(claim_one(s, "r", "me", LONG_MS, &h, NULL), PAWL_HELD);
    pawl_store_free(s);
}

PAWL_TEST(test_S3_many_are_claimed_renewed_and_let_go_of_each_answered_by_itself)
{
    enum { N = 6 };
    static const char *const names[N] = { "a", "none", "b", "r\n", "c", "a" };
    static const pawl_code claims[N] = { PAWL_OK, PAWL_GONE, PAWL_HELD, PAWL_INVALID, PAWL_OK, PAWL_OK };
    static const pawl_code holds[N] = { PAWL_FENCED, PAWL_GONE, PAWL_FENCED, PAWL_INVALID, PAWL_OK, PAWL_OK };
    pawl_store *s = fresh();
    pawl_err err = { PAWL_OK, "" };
    pawl_claim all[N];
    pawl_hold held[N];

    CHECK_INT(s->verbs->create(s, bytes(base("a", "")), NULL, NULL), PAWL_OK);
    begun(s, "b", "");
    entries(s, "b", head(s, "b").fence, 1, 2);
    CHECK_INT(s->verbs->create(s, bytes(base("c", "")), NULL, NULL), PAWL_OK);
    for (int i = 0; i < N; i++)
        all[i] = (pawl_claim){ .run = names[i] };
    CHECK_INT(s->verbs->claim(s, "you", LONG_MS, all, N, &err), PAWL_OK);
    CHECK_INT(err.code, PAWL_GONE); /* the first that was refused */
    CHECK(strstr(err.text, "none") != NULL);
    for (int i = 0; i < N; i++)
        CHECK_INT(all[i].rc, claims[i]);
    CHECK_STR(all[0].head.run, "a");
    CHECK_STR(all[2].head.owner, "me");
    CHECK_INT(all[2].head.seq, 2);
    CHECK_STR(all[4].head.run, "c");
    CHECK_STR(all[4].head.owner, "you");
    CHECK(all[0].head.fence != all[4].head.fence && all[5].head.fence != all[4].head.fence);
    CHECK_INT(all[5].head.fence_before, all[0].head.fence); /* twice among them: claimed again */
    for (int i = 0; i < N; i++)
        held[i] = (pawl_hold){ .run = names[i], .fence = all[i].rc == PAWL_OK ? all[i].head.fence : 1000000 };
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->renew(s, 2 * (int64_t)LONG_MS, held, N, &err), PAWL_OK);
    CHECK_INT(err.code, PAWL_FENCED);
    for (int i = 0; i < N; i++)
        CHECK_INT(held[i].rc, holds[i]);
    CHECK(head(s, "c").lease_ms > s->verbs->now(s) + LONG_MS);
    CHECK(head(s, "b").lease_ms <= s->verbs->now(s) + LONG_MS);
    CHECK_INT(s->verbs->release(s, held, N, NULL), PAWL_OK);
    for (int i = 0; i < N; i++)
        CHECK_INT(held[i].rc, holds[i]);
    CHECK(head(s, "a").owner == NULL && head(s, "c").owner == NULL);
    CHECK_STR(head(s, "b").owner, "me");
    CHECK_INT(s->verbs->release(s, held, N, NULL), PAWL_OK); /* again: nothing more */
    for (int i = 0; i < N; i++)
        CHECK_INT(held[i].rc, holds[i]);
    CHECK_INT(s->verbs->renew(s, LONG_MS, held + 4, 1, NULL), PAWL_OK);
    CHECK_INT(held[4].rc, PAWL_FENCED);
    pawl_store_free(s);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

typedef struct losses_seen { char text[2048]; size_t n; uint64_t fences[2 * PAWL_LOSSES_MAX]; } losses_seen;

static bool see_loss(void *ctx, const pawl_loss *l)
{
    losses_seen *seen = ctx;
    const size_t at = strlen(seen->text);

    snprintf(seen->text + at, sizeof seen->text - at, "%s %s -> %s; ", l->owner, l->died ? "died" : "expired", l->taker != NULL ? l->taker : "nobody");
    CHECK(l->at_ms > 0 && (l->taker == NULL ? l->taken_ms == 0 && l->taker_fence == 0 : l->taken_ms >= l->at_ms && l->taker_fence > l->fence));
    if (seen->n < 2 * PAWL_LOSSES_MAX)
        seen->fences[seen->n] = l->fence;
    seen->n++;
    return true;
}

static losses_seen losses(pawl_store *s, const char *run)
{
    losses_seen seen = { .n = 0 };

    CHECK_INT(s->verbs->losses(s, run, see_loss, &seen, NULL), PAWL_OK);
    return seen;
}

static void died(pawl_store *s, const char *run, uint64_t fence)
{
    pawl_hold h = { .run = run, .fence = fence, .died = true };

    CHECK_INT(s->verbs->release(s, &h, 1, NULL), PAWL_OK);
    CHECK_INT(h.rc, PAWL_OK);
}

PAWL_TEST(test_S2_a_lease_that_was_lost_is_told_with_who_took_the_run)
{
    pawl_store *s = fresh();
    pawl_head h;
    uint64_t f;

    if (s->verbs->losses == NULL) {
        pawl_store_free(s);
        return;
    }
    f = begun(s, "r", "");
    CHECK_STR(losses(s, "r").text, "");
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    f = claimed(s, "r", "me");
    f = claimed(s, "r", "me");
    CHECK_STR(losses(s, "r").text, "");         /* released, or claimed again by its holder: none is lost */
    died(s, "r", f);
    died(s, "r", f);
    CHECK_STR(losses(s, "r").text, "me died -> nobody; ");
    CHECK_INT(losses(s, "r").fences[0], f);
    CHECK_INT(claim_one(s, "r", "you", 1, &h, NULL), PAWL_OK);
    CHECK_STR(losses(s, "r").text, "me died -> you; ");
    pass(s, 2);
    s = again(s);
    CHECK_INT(claim_one(s, "r", "ada", LONG_MS, &h, NULL), PAWL_OK);
    CHECK_STR(losses(s, "r").text, "me died -> you; you expired -> ada; ");
    CHECK_INT(put(s, "r", h.fence, 0, entry(1, "[]"), NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r", h.fence, NULL), PAWL_OK);
    f = claimed(s, "r", "me");
    CHECK_STR(losses(s, "r").text, "me died -> you; you expired -> ada; ");
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_OK);
    begun(s, "r", "");
    CHECK_STR(losses(s, "r").text, "");
    CHECK_INT(s->verbs->losses(s, "none", see_loss, &(losses_seen){ .n = 0 }, NULL), PAWL_GONE);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_of_losses_the_newest_are_kept)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), first = 0;
    losses_seen seen;

    for (int i = 0; i < PAWL_LOSSES_MAX + 5 && s->verbs->losses != NULL; i++) {
        died(s, "r", f);
        first = i == 5 ? f : first;
        f = claimed(s, "r", i % 2 == 0 ? "you" : "me");
    }
    if (s->verbs->losses != NULL) {
        seen = losses(s, "r");
        CHECK_INT(seen.n, PAWL_LOSSES_MAX);
        CHECK_INT(seen.fences[0], first);
        for (size_t i = 1; i < seen.n; i++)
            CHECK(seen.fences[i] > seen.fences[i - 1]);
    }
    pawl_store_free(s);
}

/* ---- going ------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_G10_what_is_removed_is_gone_and_its_id_is_free)
{
    static const char digest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), kept = begun(s, "other", "");
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_waiting w = { .id = "1.a.1.0", .spec = bytes("{\"kind\":\"question\"}") };
    pawl_blob blob = { digest, bytes("abc") };
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .moves = true, .status = 1, .wake_ms = 5,
                      .waits = &w, .nwaits = 1, .snapshot = bytes("{\"s\":1}"), .blobs = &blob, .nblobs = 1 };
    pawl_mark mark = { .run = "r", .fence = f, .id = "1.a.1.0" };
    pawl_head h;
    uint64_t no;

    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", "1"), PAWL_OK);
    no = head(s, "other").no;
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_OK);
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_GONE);
    CHECK_INT(s->verbs->head(s, "r", &h, NULL), PAWL_GONE);
    CHECK_INT(put_one(s, &a), PAWL_GONE);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", "1"), PAWL_GONE);
    CHECK(pawl_store_journal(s, "r", NULL).data == NULL);
    CHECK_STR(listed(s, NULL), "other ");
    CHECK_STR(waits(s, NULL), "");
    CHECK_STR(due(s, 10, 10), "");
    CHECK_INT(s->verbs->next_due(s), 0);
    CHECK_INT(s->verbs->create(s, bytes(base("r", ",\"by\":\"ada\"")), NULL, NULL), PAWL_OK);
    CHECK(head(s, "r").no > no);
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\n");
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_STR(marks(s, "r"), "");
    CHECK_STR(waits(s, "r"), "");
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", "2"), PAWL_OK);
    CHECK_STR(listed(s, NULL), "r other ");
    CHECK_INT(put(s, "other", kept, 0, entry(1, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

/* ---- handles ------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_K8_what_was_written_is_there_when_it_is_opened_again)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ",\"context\":\"c\",\"labels\":[\"x\"]");
    pawl_bytes lines[2] = { bytes(entry(1, "[[1]]")), bytes("[[2]]") };
    pawl_waiting w = { .id = "1.a.1.0", .spec = bytes("{\"kind\":\"question\"}"), .asked_ms = 4 };
    pawl_append a = { .run = "r", .fence = f, .lines = lines, .nlines = 2, .moves = true, .status = 1, .wake_ms = 77,
                      .parked = "no machine", .waits = &w, .nwaits = 1 };
    pawl_mark mark = { .run = "r", .fence = f, .id = "1.a.1.0" };
    pawl_head h;

    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", "1"), PAWL_OK);
    s = again(s);
    h = head(s, "r");
    CHECK_INT(h.seq, 1);
    CHECK_INT(h.status, 1);
    CHECK_INT(h.wake_ms, 77);
    CHECK_INT(h.waits, 1);
    CHECK_INT(h.fence, f);
    CHECK_STR(h.parked, "no machine");
    CHECK_STR(h.owner, "me");
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\n1 [[1]]\nrecord [[2]]\n");
    CHECK_STR(waits(s, NULL), "r 1.a.1.0 ");
    CHECK_STR(deliveries(s, "r"), "d ");
    CHECK_STR(marks(s, "r"), "1.a.1.0=1 ");
    CHECK_STR(listed(s, &(pawl_filter){ .context = "c", .label = "x" }), "r ");
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "bell", "2"), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 1, entry(2, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_S2_handles_see_each_other)
{
    pawl_store *s, *t;
    uint64_t f, g, version;
    pawl_head h;

    if (!made->shared)
        check_skip("it has one handle");
    s = fresh();
    t = opened("");
    version = t->verbs->version(t);
    f = begun(s, "r", "");
    CHECK(version == 0 || t->verbs->version(t) != version);
    CHECK_INT(claim_one(t, "r", "you", LONG_MS, &h, NULL), PAWL_HELD);
    CHECK_STR(h.owner, "me");
    CHECK_INT(put(t, "r", f, 0, entry(1, "[]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[[1]]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 1, entry(2, "[]"), NULL), PAWL_OK);
    CHECK_STR(ranged(t, "r", 1, 0), "2 []\n");
    version = s->verbs->version(s);
    CHECK_INT(deliver(t, "r", "d", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
    CHECK(version == 0 || s->verbs->version(s) != version);
    CHECK_STR(deliveries(s, "r"), "d ");
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    g = claimed(t, "r", "you");
    CHECK_INT(put(s, "r", f, 2, entry(3, "[]"), NULL), PAWL_FENCED);
    pawl_store_free(s);
    CHECK_INT(put(t, "r", g, 2, entry(3, "[]"), NULL), PAWL_OK);
    pawl_store_free(t);
}

PAWL_TEST(test_S7_a_handle_sees_one_namespace)
{
    pawl_store *s, *t;
    uint64_t f, g;

    if (!made->spaces)
        check_skip("it has one namespace");
    s = fresh();
    t = opened("other");
    f = begun(s, "r", "");
    CHECK_STR(listed(t, NULL), "");
    CHECK_INT(put(t, "r", f, 0, entry(1, "[]"), NULL), PAWL_GONE);
    g = begun(t, "r", ",\"by\":\"ada\"");
    CHECK(f != g);
    CHECK_INT(put(t, "r", f, 0, entry(1, "[]"), NULL), PAWL_FENCED);
    entries(s, "r", f, 1, 2);
    entries(t, "r", g, 1, 1);
    begun(s, "mine", "");
    CHECK_STR(listed(s, NULL), "mine r ");
    CHECK_STR(listed(t, NULL), "r ");
    CHECK_INT(head(s, "r").seq, 2);
    CHECK_INT(head(t, "r").seq, 1);
    CHECK_INT(deliver(t, "r", "d", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_INT(release_one(t, "r", g, NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    CHECK_STR(due(t, 0, 10), "r ");
    CHECK_STR(due(s, 0, 10), "");
    CHECK_INT(t->verbs->remove(t, "r", g, NULL), PAWL_OK);
    CHECK_STR(listed(s, NULL), "mine r ");
    CHECK_STR(ranged(s, "r", 1, 0), "2 []\n");
    pawl_store_free(s);
    pawl_store_free(t);
}

PAWL_TEST(test_E16_the_version_changes_with_every_write)
{
    pawl_store *s = fresh();
    uint64_t v = s->verbs->version(s), f;
    pawl_mark mark = { .run = "r", .id = "1.a.1.0" };

#define CHANGED(did) do { (did); CHECK(v == 0 || s->verbs->version(s) != v); v = s->verbs->version(s); } while (0)
    CHANGED(CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, NULL), PAWL_OK));
    CHANGED(f = claimed(s, "r", "me"));
    CHANGED(entries(s, "r", f, 1, 1));
    mark.fence = f;
    CHANGED(CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK));
    CHANGED(CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK));
    CHANGED(CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK));
    listed(s, NULL);
    loaded(s, "r", 0);
    CHECK_INT(s->verbs->version(s), v);
    f = claimed(s, "r", "me");
    v = s->verbs->version(s);
    CHANGED(CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_OK));
#undef CHANGED
    pawl_store_free(s);
}

/* What nobody has written to since need not be read again. */
PAWL_TEST(test_E16_an_append_says_the_version_that_it_made)
{
    pawl_store *s = fresh(), *t;
    pawl_append a = { .run = "r", .moves = true, .status = 1 }, first = { .run = "n", .moves = true, .status = 1 };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &first };

    a.fence = begun(s, "r", "");
    (void)head(s, "r");                 /* known is what was read, and was not written to by others since */
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK(a.version != 0 || s->verbs->version(s) == 0);     /* 0: the store has none */
    CHECK_INT(a.version, s->verbs->version(s));
    CHECK_INT(s->verbs->create(s, bytes(base("n", "")), &with, NULL), PAWL_OK);
    CHECK_INT(first.version, s->verbs->version(s));
    if ((t = opened("")) != NULL) {
        CHECK_INT(put_one(s, &a), PAWL_OK);
        CHECK_INT(deliver(t, "r", "d", PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
        CHECK(a.version == 0 || a.version != s->verbs->version(s));
        pawl_store_free(t);
    }
    a.fence++;
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    pawl_store_free(s);
}

PAWL_TEST(test_the_clock_never_goes_back)
{
    pawl_store *s = fresh();
    int64_t last = s->verbs->now(s);

    CHECK(last > 0);
    for (int i = 0; i < 1000; i++) {
        int64_t now = s->verbs->now(s);

        CHECK(now >= last);
        last = now;
    }
    pass(s, 3);
    CHECK(s->verbs->now(s) >= last + 3);
    pawl_store_free(s);
}

/* ---- nonsense -------------------------------------------------------------------------------------------------------- */

static bool no_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line) { (void)ctx, (void)kind, (void)seq, (void)line; return false; }
static bool no_head(void *ctx, const pawl_head *h) { (void)ctx, (void)h; return false; }
static bool no_delivery(void *ctx, const pawl_delivery *d) { (void)ctx, (void)d; return false; }
static bool no_wait(void *ctx, const char *run, const pawl_waiting *w) { (void)ctx, (void)run, (void)w; return false; }
static bool no_mark(void *ctx, const pawl_mark *mark) { (void)ctx, (void)mark; return false; }

/* What every verb says of the run named `run`. */
static void check_all(pawl_store *s, const char *run, pawl_code due_code)
{
    const pawl_store_verbs *v = s->verbs;
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .run = run, .fence = 1, .lines = &line, .nlines = 1 };
    pawl_mark mark = { .run = run, .fence = 1, .id = "1.a.1.0" };
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_CANCEL };
    pawl_head h;

    CHECK_INT(claim_one(s, run, "me", 1000, &h, NULL), due_code);
    CHECK_INT(renew_one(s, run, 1, 1000, NULL), due_code);
    CHECK_INT(release_one(s, run, 1, NULL), due_code);
    CHECK_INT(v->append(s, &a, 1, NULL), PAWL_OK);
    CHECK_INT(a.rc, due_code);
    CHECK_INT(v->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(mark.rc, due_code);
    CHECK_INT(v->marks(s, run, no_mark, NULL, NULL), due_code);
    CHECK_INT(v->deliver(s, run, &d, NULL), due_code);
    CHECK_INT(v->deliveries(s, run, no_delivery, NULL, NULL), due_code);
    CHECK_INT(v->load(s, run, no_line, NULL, NULL), due_code);
    CHECK_INT(v->read(s, run, 0, 0, no_line, NULL, NULL), due_code);
    CHECK_INT(v->blob(s, run, base("x", ""), no_line, NULL, NULL), due_code);
    CHECK_INT(v->head(s, run, &h, NULL), due_code);
    if (run != NULL)
        CHECK_INT(v->waits(s, run, no_wait, NULL, NULL), due_code);
    CHECK_INT(v->prune(s, run, 1, 1, bytes(base("r", ",\"seq\":1")), NULL), due_code);
    CHECK_INT(v->remove(s, run, 1, NULL), due_code);
    CHECK(pawl_store_journal(s, run, NULL).data == NULL);
}

PAWL_TEST(test_X3_a_run_that_is_not_there_is_gone_and_one_that_cannot_be_is_invalid)
{
    pawl_store *s = fresh();
    char name[400];

    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    check_all(s, "nobody", PAWL_GONE);
    check_all(s, NULL, PAWL_INVALID);
    check_all(s, "", PAWL_INVALID);
    check_all(s, name, PAWL_INVALID);
    check_all(s, "a b", PAWL_INVALID);
    check_all(s, "../etc", PAWL_INVALID);
    check_all(s, "r\n", PAWL_INVALID);
    name[128] = '\0';
    check_all(s, name, PAWL_GONE);
    CHECK_STR(listed(s, NULL), "");
    CHECK(pawl_store_journal(NULL, "r", NULL).data == NULL);
    pawl_store_free(s);
    pawl_store_free(NULL);
}

PAWL_TEST(test_X3_calls_that_make_no_sense_are_refused_and_change_nothing)
{
    pawl_store *s = fresh();
    const pawl_store_verbs *v = s->verbs;
    uint64_t f = begun(s, "r", ""), version = v->version(s);
    pawl_mark mark = { .run = "r", .fence = f };
    pawl_head h;

    CHECK_INT(claim_one(s, "r", NULL, 1000, &h, NULL), PAWL_INVALID);
    CHECK_INT(claim_one(s, "r", "", 1000, &h, NULL), PAWL_INVALID);
    CHECK_INT(claim_one(s, "r", "me", 0, &h, NULL), PAWL_INVALID);
    CHECK_INT(claim_one(s, "r", "me", -1, &h, NULL), PAWL_INVALID);
    CHECK_INT(v->claim(s, "me", 1000, NULL, 1, NULL), PAWL_INVALID);
    CHECK_INT(v->claim(s, "me", 1000, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(v->renew(s, 1000, NULL, 1, NULL), PAWL_INVALID);
    CHECK_INT(v->renew(s, 1000, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(v->release(s, NULL, 1, NULL), PAWL_INVALID);
    CHECK_INT(v->release(s, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(renew_one(s, "r", f, 0, NULL), PAWL_INVALID);
    CHECK_INT(v->append(s, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(v->append(s, NULL, 1, NULL), PAWL_INVALID);
    CHECK_INT(v->mark(s, NULL, 0, NULL), PAWL_OK);
    CHECK_INT(v->mark(s, NULL, 1, NULL), PAWL_INVALID);
    CHECK_INT(v->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(mark.rc, PAWL_INVALID);
    CHECK_INT(v->marks(s, "r", NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->deliver(s, "r", NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->deliveries(s, "r", NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->load(s, "r", NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->read(s, "r", 0, 0, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->blob(s, "r", NULL, no_line, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->blob(s, "r", "x", NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->head(s, "r", NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->list(s, NULL, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->list(s, NULL, no_head, NULL, NULL), PAWL_OK);
    CHECK_INT(v->waits(s, "r", NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->due(s, 0, NULL, 10, NULL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(v->prune(s, "r", f, 0, bytes(base("r", "")), NULL), PAWL_INVALID);
    CHECK_INT(v->prune(s, "r", f, 1, (pawl_bytes){0}, NULL), PAWL_INVALID);
    CHECK_INT(v->version(s), version);
    CHECK_INT(head(s, "r").fence, f);
    pawl_store_free(s);
}

/* Nobody's text is taken for anything but text. */
PAWL_TEST(test_X3_names_may_have_any_character_and_have_a_length)
{
    static const char odd[] = "o'wner\"; DROP TABLE runs; -- %s %n \\ \t\xe2\x82\xac";
    pawl_store *s = fresh();
    pawl_waiting w = { .id = odd, .spec = bytes("{\"prompt\":\"%s\"}") };
    pawl_append a = { .run = "r", .moves = true, .status = 1, .parked = odd, .waits = &w, .nwaits = 1 };
    pawl_mark mark = { .run = "r", .id = odd };
    char longer[1100];
    pawl_head h;

    memset(longer, 'x', sizeof longer);
    longer[1025] = '\0';
    CHECK_INT(s->verbs->create(s, bytes("{\"context\":\"it's\",\"format\":1,\"id\":\"r\",\"labels\":[\"'\",\"%\"],\"life\":\"00000000000000ab\","
                                        "\"machine\":{\"name\":\"m'\"}}"), NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", longer, LONG_MS, &h, NULL), PAWL_INVALID);
    CHECK_INT(claim_one(s, "r", odd, LONG_MS, &h, NULL), PAWL_OK);
    a.fence = mark.fence = h.fence;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", odd, PAWL_DELIVER_SIGNAL, odd, NULL), PAWL_OK);
    CHECK_INT(deliver(s, "r", longer, PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_INVALID);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, longer, NULL), PAWL_INVALID);
    s = again(s);
    h = head(s, "r");
    CHECK_STR(h.owner, odd);
    CHECK_STR(h.parked, odd);
    CHECK_STR(h.machine, "m'");
    CHECK_STR(waits(s, NULL), text("r %s ", odd));
    CHECK_STR(deliveries(s, "r"), text("%s ", odd));
    CHECK_STR(marks(s, "r"), text("%s=1 ", odd));
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "m'", .context = "it's", .label = "%" }), "r ");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "'" }), "r ");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "' OR 1 --" }), "");
    CHECK_STR(listed(s, &(pawl_filter){ .machine = "%" }), "");
    longer[1024] = '\0';
    CHECK_INT(deliver(s, "r", longer, PAWL_DELIVER_CANCEL, NULL, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_a_store_is_checked_and_has_a_name)
{
    pawl_store *s = fresh();

    CHECK(s->verbs->name != NULL && *s->verbs->name != '\0');
    entries(s, "r", begun(s, "r", ""), 1, 3);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_STR(ranged(s, "r", 1, 0), "2 []\n3 []\n");
    entries(s, "r", head(s, "r").fence, 4, 5);
    CHECK_STR(ranged(s, "r", 3, 0), "4 []\n5 []\n");
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}
