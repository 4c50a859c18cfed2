/* contract_begin.c - the contract: a run begins with its first lines, its lease and what waits for it, or not at all. */
#include "store/contract_inner.h"

static pawl_delivery start_of(const char *value)
{
    return (pawl_delivery){ .id = "start", .kind = PAWL_DELIVER_START, .value = bytes(value) };
}

PAWL_TEST(test_E2_a_run_begins_with_its_first_entry_and_its_lease)
{
    pawl_store *s = fresh();
    pawl_waiting w = { .id = "w", .spec = bytes("{\"prompt\":1}") };
    pawl_bytes lines[2] = { bytes("[[1]]"), bytes(entry(1, "[]")) };
    pawl_append a = { .lines = lines, .nlines = 2, .moves = true, .status = 1, .work = true, .waits = &w, .nwaits = 1 };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &a };
    pawl_head h;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), &with, NULL), PAWL_OK);
    CHECK_INT(a.rc, PAWL_OK);
    CHECK(a.quiet);
    CHECK_STR(with.head.run, "r");
    CHECK_STR(with.head.owner, "me");
    CHECK_INT(with.head.fence_before, 0);
    CHECK(with.head.fence > 0 && with.head.seq == 0);
    h = head(s, "r");
    CHECK_INT(h.seq, 1);
    CHECK_INT(h.fence, with.head.fence);
    CHECK_INT(h.waits, 1);
    CHECK_INT(h.status, 1);
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\nrecord [[1]]\n1 []\n");
    CHECK_INT(claim_one(s, "r", "you", 1000, &h, NULL), PAWL_HELD);
    entries(s, "r", with.head.fence, 2, 3);     /* and is written on by him */
    s = again(s);
    CHECK_INT(head(s, "r").seq, 3);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_E2_a_run_may_be_released_with_its_first_entry)
{
    pawl_store *s = fresh();
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .lines = &line, .nlines = 1, .moves = true, .status = 3, .over = true, .release = true };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &a };
    pawl_head h;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), &with, NULL), PAWL_OK);
    CHECK_STR(with.head.owner, "me");       /* as the claim gave it */
    h = head(s, "r");
    CHECK(h.owner == NULL && h.over);
    CHECK_INT(claim_one(s, "r", "you", 1000, &h, NULL), PAWL_OK);
    CHECK(h.fence > with.head.fence);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

static bool see_start(void *ctx, const pawl_delivery *d)
{
    CHECK_STR(d->id, "start");
    CHECK_BYTES(d->value.data, d->value.size, "{\"n\":1}", 7);
    ++*(int *)ctx;
    return true;
}

static bool see_due(void *ctx, const pawl_head *h)
{
    CHECK_STR(h->run, "r");
    ++*(int *)ctx;
    return true;
}

PAWL_TEST(test_E16_a_run_begins_with_the_start_that_waits_for_it)
{
    pawl_store *s = fresh();
    pawl_delivery d = start_of("{\"n\":1}");
    pawl_beginning with = { .left = &d };
    int n = 0, due = 0;

    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), &with, NULL), PAWL_OK);
    CHECK(d.no > 0 && d.at_ms > 0);
    s = again(s);
    CHECK_INT(head(s, "r").mail, 1);
    CHECK(head(s, "r").owner == NULL);
    CHECK_INT(s->verbs->deliveries(s, "r", see_start, &n, NULL), PAWL_OK);
    CHECK_INT(n, 1);
    CHECK_INT(s->verbs->due(s, s->verbs->now(s), NULL, 10, see_due, &due, NULL), PAWL_OK);
    CHECK_INT(due, 1);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

static void nothing_began(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_code due)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_head h;

    CHECK_INT(s->verbs->create(s, base, with, &err), due);
    CHECK_INT(err.code, due);
    CHECK(err.text[0] != '\0');
    CHECK_INT(s->verbs->head(s, "r", &h, NULL), PAWL_GONE);
}

PAWL_TEST(test_S3_what_is_refused_begins_nothing)
{
    pawl_store *s = fresh();
    const pawl_bytes b = bytes(base("r", ""));
    const uint64_t taken = 7;
    pawl_bytes line = bytes(entry(2, "[]"));
    pawl_delivery d = start_of("{"), good = start_of("1");
    pawl_within within = { .limit_ms = 1 };
    pawl_append a = { .lines = &line, .nlines = 1 };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &a };

    nothing_began(s, b, &with, PAWL_INVALID);           /* its first entry is not its first */
    line = bytes(entry(1, "[]"));
    a.seq = 1;
    nothing_began(s, b, &with, PAWL_INVALID);
    a.seq = 0;
    a.taken = &taken;
    a.ntaken = 1;
    nothing_began(s, b, &with, PAWL_CONFLICT);          /* nothing was delivered */
    a.ntaken = 0;
    a.within = &within;
    nothing_began(s, b, &with, PAWL_INVALID);
    a.within = NULL;
    with.left = &d;
    nothing_began(s, b, &with, PAWL_INVALID);           /* no JSON */
    with.left = &good;
    good.kind = PAWL_DELIVER_ANSWER;
    good.name = "w";
    nothing_began(s, b, &with, PAWL_INVALID);           /* nobody asked */
    with.left = NULL;
    with.ttl_ms = 0;
    nothing_began(s, b, &with, PAWL_INVALID);
    with.ttl_ms = LONG_MS;
    with.owner = NULL;
    nothing_began(s, b, &with, PAWL_INVALID);           /* lines of nobody */
    with.owner = "me";
    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_OK);
    CHECK_INT(head(s, "r").seq, 1);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

/* Its answer got lost: all of it again is success, and whoever has it meanwhile keeps it. */
PAWL_TEST(test_a_beginning_again_is_success_unless_somebody_has_the_run)
{
    pawl_store *s = fresh();
    const pawl_bytes b = bytes(base("r", ""));
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_delivery d = start_of("1");
    pawl_append a = { .lines = &line, .nlines = 1 };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &a, .left = &d };
    uint64_t fence;
    pawl_head h;

    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_OK);
    fence = with.head.fence;
    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_OK);
    CHECK_INT(a.rc, PAWL_OK);
    CHECK_INT(with.head.fence_before, fence);
    CHECK(with.head.fence > fence);
    CHECK_INT(head(s, "r").seq, 1);
    CHECK_INT(head(s, "r").mail, 1);
    CHECK_INT(release_one(s, "r", with.head.fence, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &h, NULL), PAWL_OK);
    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_HELD);
    CHECK_INT(s->verbs->create(s, bytes(base("r", ",\"by\":\"ada\"")), &with, NULL), PAWL_CONFLICT);
    CHECK_INT(head(s, "r").fence, h.fence);
    entries(s, "r", h.fence, 2, 2);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

/* Whoever has looked at a run that nobody holds claims it with what he writes, unless somebody has had it since. */
PAWL_TEST(test_S2_a_run_is_claimed_with_its_next_lines_under_the_fence_that_was_seen)
{
    pawl_store *s = fresh();
    const pawl_bytes b = bytes(base("r", ""));
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .lines = &line, .nlines = 1, .release = true };
    pawl_beginning with = { .owner = "me", .ttl_ms = LONG_MS, .first = &a };
    uint64_t seen;

    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_OK);
    seen = with.fence = head(s, "r").fence;
    a.seq = 1;
    line = bytes(entry(2, "[]"));
    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_OK);
    CHECK_INT(with.head.fence_before, seen);
    CHECK_INT(with.head.seq, 1);        /* as it was claimed */
    CHECK(with.head.fence > seen && a.fence == with.head.fence);
    CHECK_INT(head(s, "r").seq, 2);
    CHECK(head(s, "r").owner == NULL);
    a.seq = 2;
    line = bytes(entry(3, "[]"));
    CHECK_INT(s->verbs->create(s, b, &with, NULL), PAWL_FENCED);
    CHECK_INT(head(s, "r").seq, 2);     /* neither claimed nor written to */
    CHECK(head(s, "r").owner == NULL);
    CHECK_INT(head(s, "r").fence, a.fence);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}
