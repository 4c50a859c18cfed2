/* simple_race_test.c - the store of three methods when others write in the middle of a call, and when a put says that it failed, or a client library makes it
 * twice: nobody takes the record of another for its own, and nothing goes that a head names. */
#include "base/base.h"
#include "store/contract_inner.h"
#include "store/three.h"

enum { BIG = 20000 };

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };
static pawl_store *mine, *other;

/* ---- methods with something in between --------------------------------------------------------------- */

static bool twice;              /* each put is made twice, as a client library does whose reply was lost: the second answer counts */
static const char *after_key;   /* after a put of it comes `after`, once */
static void (*after)(void);

static pawl_code race_put(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    pawl_code rc = three_put(ctx, key, before, version, value, err);
    void (*const comes)(void) = after;

    if (rc == PAWL_OK && comes != NULL && strcmp(key, after_key) == 0) {
        after = NULL;
        comes();
    }
    return rc == PAWL_OK && twice ? three_put(ctx, key, before, version, value, err) : rc;
}

static const pawl_simple_methods race_methods = { .name = "race", .put = race_put, .get = three_get, .list = three_list };

static pawl_store *race_open(const pawl_simple_methods *methods)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_simple(methods, &shelf, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static void race_begin(void)
{
    three_clear(&shelf);
    shelf.knows_versions = true;
    twice = false;
    mine = race_open(&race_methods);
    other = race_open(&three_methods);
}

static void race_end(void)
{
    pawl_err err = { PAWL_OK, "" };

    if (mine->verbs->check(mine, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    pawl_store_free(mine);
    pawl_store_free(other);
}

static pawl_bytes big_entry(uint64_t seq)
{
    static char line[BIG + 200];

    snprintf(line, sizeof line, "%s", entry(seq, "[\""));
    memset(line + strlen(line), 'z', BIG);
    return (pawl_bytes){ line, BIG };
}

static pawl_code big_append(pawl_store *s, uint64_t fence, uint64_t seq)
{
    pawl_bytes line = big_entry(seq);

    return put_one(s, &(pawl_append){ .run = "r", .fence = fence, .seq = seq - 1, .lines = &line, .nlines = 1, .snapshot = big_entry(seq) });
}

/* ---- the put of another is not one's own ----------------------------------------------------------------- */

static void mine_fails(void)
{
    shelf.fault = THREE_BEFORE;
    shelf.struck = false;
    shelf.left = 1;
}

static uint64_t other_fence;

static void claim_between(void *ctx)
{
    pawl_head h;

    (void)ctx;
    CHECK_INT(claim_one(other, "r", "me", LONG_MS, &h, NULL), PAWL_OK);
    other_fence = h.fence;
    mine_fails();
}

PAWL_TEST(test_S2_a_claim_that_failed_does_not_have_the_fence_of_another)
{
    pawl_head h;

    race_begin();
    CHECK_INT(mine->verbs->create(mine, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    shelf.before_put = claim_between;
    CHECK_INT(claim_one(mine, "r", "me", LONG_MS, &h, NULL), PAWL_IO);
    CHECK(shelf.struck);
    CHECK_INT(claim_one(mine, "r", "me", LONG_MS, &h, NULL), PAWL_OK);
    CHECK(h.fence > other_fence);
    race_end();
}

static void deliver_between(void *ctx)
{
    (void)ctx;
    CHECK_INT(deliver(other, "r", "theirs", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    mine_fails();
}

PAWL_TEST(test_E16_a_delivery_that_failed_is_not_taken_for_that_of_another)
{
    race_begin();
    CHECK_INT(mine->verbs->create(mine, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    shelf.before_put = deliver_between;
    CHECK_INT(deliver(mine, "r", "mine", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_IO);
    CHECK_INT(deliver(mine, "r", "mine", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(deliveries(mine, "r"), "theirs mine ");
    race_end();
}

static void create_between(void *ctx)
{
    (void)ctx;
    CHECK_INT(other->verbs->create(other, bytes(base("theirs", "")), NULL, NULL), PAWL_OK);
    mine_fails();
}

PAWL_TEST(test_S2_no_number_of_a_run_is_drawn_twice)
{
    race_begin();
    CHECK_INT(mine->verbs->create(mine, bytes(base("first", "")), NULL, NULL), PAWL_OK);
    shelf.before_put = create_between;          /* the put of the counter */
    CHECK_INT(mine->verbs->create(mine, bytes(base("mine", "")), NULL, NULL), PAWL_IO);
    CHECK_INT(mine->verbs->create(mine, bytes(base("mine", "")), NULL, NULL), PAWL_OK);
    CHECK(head(mine, "mine").no != head(mine, "theirs").no);
    race_end();
}

/* ---- a conflict with one's own put ------------------------------------------------------------------------ */

PAWL_TEST(test_S3_a_put_that_is_made_twice_is_one)
{
    uint64_t f;

    race_begin();
    twice = true;
    f = begun(mine, "r", "");
    for (uint64_t seq = 1; seq <= 5; seq++)
        CHECK_INT(big_append(mine, f, seq), PAWL_OK);
    CHECK_INT(deliver(mine, "r", "d", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
    CHECK_STR(deliveries(mine, "r"), "d ");
    CHECK_INT(mine->verbs->check(mine, NULL), PAWL_OK);
    CHECK_INT(head(other, "r").seq, 5);
    CHECK_INT(head(other, "r").fence, f);       /* claimed once */
    CHECK_INT(mine->verbs->remove(mine, "r", f, NULL), PAWL_OK);
    CHECK_INT(shelf.n, 1);
    race_end();
}

static void deliver_after(void)
{
    CHECK_INT(deliver(other, "r", "theirs", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
}

/* The head that is there is of another, and names the parts of the one before it. */
PAWL_TEST(test_S3_a_put_that_is_made_twice_with_another_between_keeps_its_parts)
{
    uint64_t f;

    race_begin();
    f = begun(mine, "r", "");
    twice = true;
    after_key = "h~~r";
    after = deliver_after;
    CHECK_INT(big_append(mine, f, 1), PAWL_OK);
    CHECK(after == NULL);
    CHECK_STR(deliveries(mine, "r"), "theirs ");
    CHECK_INT(head(other, "r").seq, 1);
    race_end();
}

/* ---- sweeps ----------------------------------------------------------------------------------------------- */

static uint64_t fence;

/* Another sweep takes what was left behind, and a writer stores a part under the id that is free now. */
static void sweep_and_append(void)
{
    CHECK_INT(other->verbs->vacuum(other, NULL), PAWL_OK);
    CHECK_INT(big_append(other, fence, 1), PAWL_OK);
}

PAWL_TEST(test_S3_a_sweep_without_versions_takes_no_part_that_was_written_since)
{
    pawl_bytes line = big_entry(1);
    pawl_append a = { .run = "r", .lines = &line, .nlines = 1, .snapshot = line };

    race_begin();
    shelf.knows_versions = false;
    a.fence = fence = begun(mine, "r", "");
    shelf.fault = THREE_DEAD;
    shelf.left = 3;             /* two parts, and not the head */
    CHECK_INT(mine->verbs->append(mine, &a, 1, NULL), PAWL_IO);
    shelf.fault = THREE_NONE;
    CHECK_INT(shelf.n, 4);
    after_key = "h~~r";
    after = sweep_and_append;
    CHECK_INT(mine->verbs->vacuum(mine, NULL), PAWL_OK);
    CHECK(after == NULL);
    CHECK_INT(head(mine, "r").seq, 1);
    race_end();
}

/* Runs 1 and 0x10 of the same id: the first is removed, and before its parts are the second begins. */
static void number_16(void)
{
    pawl_head h;

    CHECK_INT(other->verbs->create(other, bytes(base("r", "")), NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(other, "r", "me", LONG_MS, &h, NULL), PAWL_OK);
    CHECK_INT(h.no, 16);
    CHECK_INT(big_append(other, h.fence, 1), PAWL_OK);
}

PAWL_TEST(test_S3_removing_run_1_leaves_run_16_whole)
{
    uint64_t f;

    race_begin();
    f = begun(mine, "r", "");
    CHECK_INT(head(mine, "r").no, 1);
    CHECK_INT(big_append(mine, f, 1), PAWL_OK);
    for (int i = 2; i <= 15; i++)
        CHECK_INT(mine->verbs->create(mine, bytes(base(text("other%d", i), "")), NULL, NULL), PAWL_OK);
    after_key = "h~~r";
    after = number_16;
    CHECK_INT(mine->verbs->remove(mine, "r", f, NULL), PAWL_OK);
    CHECK(after == NULL);
    CHECK_INT(head(mine, "r").no, 16);
    race_end();
}

/* ---- stores of older builds --------------------------------------------------------------------------------- */

/* The form before records had a nonce: "p1", the checksum over key and body, the body. */
PAWL_TEST(test_S3_records_without_a_nonce_are_read_and_written_on)
{
    uint64_t f;

    race_begin();
    f = begun(mine, "r", "");
    CHECK_INT(big_append(mine, f, 1), PAWL_OK);
    for (size_t i = 0; i < shelf.n; i++) {
        three_record *r = &shelf.all[i];
        hash sum;

        r->size -= 16;
        memmove(r->data + 18, r->data + 34, r->size - 18);
        hash_parts((const pawl_bytes[]){ { r->key, strlen(r->key) + 1 }, { r->data + 18, r->size - 18 } }, 2, &sum);
        memcpy(r->data, "p1", 2);
        memcpy(r->data + 2, sum.b, 16);
    }
    pawl_store_free(mine);
    mine = race_open(&race_methods);
    CHECK_INT(head(mine, "r").seq, 1);
    CHECK_INT(big_append(mine, f, 2), PAWL_OK);
    CHECK_INT(big_append(mine, f, 3), PAWL_OK);
    CHECK_INT(head(other, "r").seq, 3);
    race_end();
}

int main(int argc, char **argv)
{
    const int code = check_main(argc, argv);

    three_clear(&shelf);
    return code;
}
