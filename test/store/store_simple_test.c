/* store_simple_test.c - the store of three methods: what is special about it. Its contract: simple_contract_test.c; its faults: simple_fault_test.c. */
#include "store/contract_inner.h"
#include "store/three.h"

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };

static pawl_store *shelf_open(const char *space)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_simple(&three_methods, &shelf, &(pawl_simple){ .space = space, .signals_max = 5000 }, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static pawl_store *shelf_fresh(void)
{
    three_clear(&shelf);
    return shelf_open("");
}

static void check_good(pawl_store *s)
{
    pawl_err err = { PAWL_OK, "" };

    if (s->verbs->check(s, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

/* ---- the keys that are promised ------------------------------------------------------------------- */

PAWL_TEST(test_every_key_can_be_the_name_of_a_file)
{
    static const char digest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    static char room[20000];
    char run[129];
    pawl_store *s;
    uint64_t f;
    pawl_bytes line;
    pawl_blob blob = { digest, bytes("abc") };

    memset(run, 'R', 128);
    run[128] = '\0';
    three_clear(&shelf);
    s = shelf_open("a-space.of_20-bytes_");
    f = begun(s, run, "");
    snprintf(room, sizeof room, "%s", entry(1, "[\""));
    memset(room + strlen(room), 'z', 18000);
    line = (pawl_bytes){ room, 18000 };
    CHECK_INT(put_one(s, &(pawl_append){ .run = run, .fence = f, .lines = &line, .nlines = 1, .blobs = &blob, .nblobs = 1 }), PAWL_OK);
    CHECK_INT(shelf.n, 4);
    for (size_t i = 0; i < shelf.n; i++) {
        const char *key = shelf.all[i].key;

        CHECK(strlen(key) <= PAWL_KEY_BYTES_MAX);
        CHECK(strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~") == strlen(key));
        CHECK(*key >= 'a' && *key <= 'z');
    }
    check_good(s);
    pawl_store_free(s);
}

/* ---- one put a step --------------------------------------------------------------------------------- */

PAWL_TEST(test_a_small_step_is_one_put_and_no_get)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", ""), puts = shelf.puts, gets = shelf.gets;

    entries(s, "r", f, 1, 20);
    CHECK_INT(shelf.puts - puts, 20);
    CHECK_INT(shelf.gets - gets, 0);
    pawl_store_free(s);
}

/* ---- long journals ------------------------------------------------------------------------------------ */

enum { LONG = 3000, LONG_BYTES = 800 };

static void same_range(pawl_store *s, pawl_store *m, uint64_t after, uint64_t upto)
{
    const char *is = ranged(s, "r", after, upto), *due = ranged(m, "r", after, upto);

    if (strcmp(is, due) != 0)
        CHECK_FAIL("after %llu up to %llu", (unsigned long long)after, (unsigned long long)upto);
}

/* Beyond what one head names: in segments, and these in indexes. */
PAWL_TEST(test_K8_K10_a_long_journal_is_read_and_pruned_as_in_memory)
{
    static char items[LONG_BYTES];
    pawl_store *both[2] = { shelf_fresh(), pawl_store_memory(NULL) };
    uint64_t f[2] = { begun(both[0], "r", ""), begun(both[1], "r", "") };
    size_t most;

    memset(items, 'i', sizeof items - 1);
    for (uint64_t seq = 1; seq <= LONG; seq++)
        for (int i = 0; i < 2; i++)
            CHECK_INT(put(both[i], "r", f[i], seq - 1, seq % 3 == 0 ? "[[\"record\"]]" : entry(seq, items), seq % 3 == 0 ? entry(seq, "[]") : NULL,
                          NULL), PAWL_OK);
    most = shelf.n;
    CHECK(most > 100 && most < 200);
    for (int i = 0; i < 100; i++) {
        uint64_t after = check_rand_below(LONG + 2);

        same_range(both[0], both[1], after, after + check_rand_below(60));
    }
    for (uint64_t cut = 700; cut <= LONG; cut += 766) {
        const char *b = base("r", text(",\"seq\":%llu", (unsigned long long)cut));

        for (int i = 0; i < 2; i++)
            CHECK_INT(both[i]->verbs->prune(both[i], "r", f[i], cut, bytes(b), NULL), PAWL_OK);
        check_good(both[0]);
        CHECK(shelf.n < most);
        most = shelf.n;
        CHECK_INT(both[0]->verbs->vacuum(both[0], NULL), PAWL_OK);
        CHECK_INT(shelf.n, most);       /* what was pruned is gone already */
        for (int i = 0; i < 30; i++) {
            uint64_t after = cut + check_rand_below(LONG - cut + 1);

            same_range(both[0], both[1], after, after + check_rand_below(60));
        }
    }
    CHECK_INT(both[0]->verbs->remove(both[0], "r", f[0], NULL), PAWL_OK);
    CHECK_INT(shelf.n, 1);              /* the counter */
    pawl_store_free(both[0]);
    pawl_store_free(both[1]);
}

/* ---- what a head does not keep ------------------------------------------------------------------------- */

enum { MANY = 100 };

static void take(pawl_store *s, uint64_t f, uint64_t no)
{
    CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .seq = head(s, "r").seq, .taken = &no, .ntaken = 1 }), PAWL_OK);
}

PAWL_TEST(test_E16_a_delivery_that_was_taken_long_ago_is_still_recognized)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", ""), no[MANY];

    for (int i = 0; i < MANY; i++) {
        pawl_delivery d = { .id = text("d%d", i), .kind = PAWL_DELIVER_SIGNAL, .name = "bell", .value = bytes("1") };

        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        take(s, f, no[i] = d.no);
    }
    pawl_store_free(s);
    s = shelf_open("");
    for (int i = 0; i < MANY; i++) {
        pawl_delivery d = { .id = text("d%d", i), .kind = PAWL_DELIVER_SIGNAL, .name = "bell", .value = bytes("1") };

        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
        CHECK_INT(d.no, no[i]);
        d.value = bytes("2");
        CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_CONFLICT);
    }
    CHECK_STR(deliveries(s, "r"), "");
    CHECK(three_find(&shelf, "h~~r")->size < 6000);
    pawl_store_free(s);
}

static void wait_move(pawl_store *s, uint64_t f, const char *id, const char *answer)
{
    pawl_waiting w = { .id = id, .spec = bytes("{\"kind\":\"question\"}"), .over = answer != NULL, .answer = bytes(answer) };

    CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .seq = head(s, "r").seq, .waits = &w, .nwaits = 1 }), PAWL_OK);
}

PAWL_TEST(test_W3_the_last_answer_of_a_wait_is_told_however_long_ago)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            wait_move(s, f, text("w%d", i), NULL);
            wait_move(s, f, text("w%d", i), text("\"%d of %d\"", round, i));
        }
    for (int i = 0; i < MANY; i++) {
        pawl_delivery d = { .id = "late", .kind = PAWL_DELIVER_ANSWER, .name = text("w%d", i), .value = bytes("1") };
        pawl_err err = { PAWL_OK, "" };

        CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_CONFLICT);
        CHECK(strstr(err.text, text("with \"1 of %d\"", i)) != NULL);
    }
    CHECK(three_find(&shelf, "h~~r")->size < 6000);
    pawl_store_free(s);
}

PAWL_TEST(test_E13_many_counts_come_to_what_they_are_in_memory)
{
    pawl_store *both[2] = { shelf_fresh(), pawl_store_memory(NULL) };
    uint64_t f[2] = { begun(both[0], "r", ""), begun(both[1], "r", "") };

    for (int i = 0; i < 3000; i++) {
        pawl_mark m = { .run = "r", .id = text("1.node-%d.1.0", (int)check_rand_below(300)), .first_ms = (int64_t)check_rand_below(3),
                        .again_ms = (int64_t)check_rand_below(2), .unbegun = check_rand_below(3) == 0 };

        for (int k = 0; k < 2; k++) {
            m.fence = f[k];
            CHECK_INT(both[k]->verbs->mark(both[k], &m, 1, NULL), PAWL_OK);
            CHECK_INT(m.rc, PAWL_OK);
        }
    }
    for (int i = 0; i < 300; i += 10) { /* `marks` shows sixteen */
        for (int k = 0; k < 2; k++)
            for (int n = 0; n < 300; n++) {
                pawl_mark m = { .run = "r", .fence = f[k], .id = text("1.node-%d.1.0", n), .unbegun = true };

                for (int times = 0; (n < i || n >= i + 10) && times < 12; times++)
                    CHECK_INT(both[k]->verbs->mark(both[k], &m, 1, NULL), PAWL_OK);
            }
        CHECK_STR(marks(both[0], "r"), marks(both[1], "r"));
        if (!check_run_all())
            break;
    }
    check_good(both[0]);
    pawl_store_free(both[0]);
    pawl_store_free(both[1]);
}

/* ---- others write in between ----------------------------------------------------------------------------- */

static pawl_store *other;

static void deliver_between(void *ctx)
{
    (void)ctx;
    CHECK_INT(deliver(other, "r", "between", PAWL_DELIVER_SIGNAL, "bell", NULL), PAWL_OK);
}

PAWL_TEST(test_S3_a_write_that_comes_in_between_loses_nothing)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .quiet = true };

    other = shelf_open("");
    shelf.before_put = deliver_between;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK(!a.quiet);
    CHECK_STR(deliveries(s, "r"), "between ");
    CHECK_INT(head(s, "r").seq, 1);
    pawl_store_free(other);
    pawl_store_free(s);
}

static void claim_between(void *ctx)
{
    pawl_head h;

    (void)ctx;
    CHECK_INT(claim_one(other, "r", "me", LONG_MS, &h, NULL), PAWL_OK);
}

PAWL_TEST(test_S2_whoever_was_fenced_in_between_has_written_nothing)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");

    other = shelf_open("");
    shelf.before_put = claim_between;
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), NULL), PAWL_FENCED);
    CHECK_INT(head(s, "r").seq, 0);
    pawl_store_free(other);
    pawl_store_free(s);
}

static void vacuum_between(void *ctx)
{
    int *left = ctx;

    if (--*left > 0) {          /* the part first, then the head */
        shelf.before_put = vacuum_between;
        return;
    }
    CHECK_INT(other->verbs->vacuum(other, NULL), PAWL_OK);
}

/* The part is stored, the head that names it is not yet: a sweep takes the part, and the append makes another. */
PAWL_TEST(test_a_sweep_takes_no_part_that_a_head_comes_to_name)
{
    static char room[20000];

    for (int at = 1; at <= 4; at++) {
        pawl_store *s = shelf_fresh();
        uint64_t f = begun(s, "r", "");
        pawl_bytes line;
        int left = at;

        snprintf(room, sizeof room, "%s", entry(1, "[\""));
        memset(room + strlen(room), 'z', 18000);
        line = (pawl_bytes){ room, 18000 };
        other = shelf_open("");
        shelf.before_ctx = &left;
        shelf.before_put = vacuum_between;
        CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .lines = &line, .nlines = 1 }), PAWL_OK);
        shelf.before_put = NULL;
        check_good(s);
        CHECK_INT(other->verbs->vacuum(other, NULL), PAWL_OK);
        check_good(s);
        CHECK_INT(shelf.n, 3);
        pawl_store_free(other);
        pawl_store_free(s);
    }
}

static const char *between_base;

static void create_between(void *ctx)
{
    int *left = ctx;

    if (--*left > 0)
        shelf.before_put = create_between;
    else
        CHECK_INT(other->verbs->create(other, bytes(between_base), NULL, NULL), PAWL_OK);
}

/* The counter, the head, its hint, and with a large base a head before it and a part. */
PAWL_TEST(test_of_two_who_create_a_run_at_once_one_is_first)
{
    char big[6000];

    snprintf(big, sizeof big, ",\"by\":\"");
    memset(big + strlen(big), 'x', 5000);
    memcpy(big + 5000, "\"", 2);
    for (int same = 0; same < 2; same++)
        for (int at = 1; at <= 4; at++) {
            pawl_store *s = shelf_fresh();
            char *given = check_copy(base("r", ""), strlen(base("r", "")) - 1);
            char whole[7000], journal[7010];
            int left = at;
            pawl_code rc;

            snprintf(whole, sizeof whole, "%s%s}", given, big);
            free(given);
            other = shelf_open("");
            between_base = same ? whole : base("r", ",\"by\":\"ada\"");
            shelf.before_ctx = &left;
            shelf.before_put = create_between;
            rc = s->verbs->create(s, bytes(whole), NULL, NULL);
            CHECK_INT(left, 0);
            CHECK_INT(rc, same ? PAWL_OK : PAWL_CONFLICT);
            snprintf(journal, sizeof journal, "%s\n", between_base);
            check_journal(s, "r", journal);
            CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
            check_good(s);
            CHECK_INT(shelf.n, same ? 4 : 3);
            pawl_store_free(other);
            pawl_store_free(s);
        }
}

/* ---- threads ----------------------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 60 };

static void *deliver_many(void *arg)
{
    const int thread = *(int *)arg;
    pawl_store *s = pawl_store_simple(&three_methods, &shelf, &(pawl_simple){ .signals_max = 5000 }, NULL);
    intptr_t failed = s == NULL;

    for (int i = 0; i < EACH && failed == 0; i++) {
        char id[40];
        pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };

        snprintf(id, sizeof id, "%d.%d", thread, i);
        failed += s->verbs->deliver(s, "r", &d, NULL) != PAWL_OK;
        failed += s->verbs->deliver(s, "r", &d, NULL) != PAWL_OK;
    }
    pawl_store_free(s);
    return (void *)failed;
}

static bool take_first(void *ctx, const pawl_delivery *d) { *(uint64_t *)ctx = d->no; return false; }

PAWL_TEST(test_E16_deliveries_of_many_threads_are_each_taken_once)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", ""), last = 0, seq = 0;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    void *failed;

    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_INT(pthread_create(&threads[i], NULL, deliver_many, &numbers[i]), 0);
    }
    while (seq < (uint64_t)THREADS * EACH) {
        uint64_t no = 0;

        CHECK_INT(s->verbs->deliveries(s, "r", take_first, &no, NULL), PAWL_OK);
        if (no != 0) {
            pawl_bytes line = bytes(entry(seq + 1, "[]"));

            CHECK(no > last);
            last = no;
            CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .seq = seq, .lines = &line, .nlines = 1, .taken = &no, .ntaken = 1 }), PAWL_OK);
            seq++;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(threads[i], &failed), 0);
        CHECK(failed == NULL);
    }
    CHECK_INT(last, THREADS * EACH);
    CHECK_STR(deliveries(s, "r"), "");
    check_good(s);
    pawl_store_free(s);
}

/* ---- what is damaged ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_Q6_a_record_that_is_damaged_is_told_by_its_key)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");
    three_record *r;
    pawl_head h;

    entries(s, "r", f, 1, 3);
    r = three_find(&shelf, "h~~r");
    for (size_t i = 0; i < r->size; i += 1 + check_rand_below(7)) {
        pawl_err err = { PAWL_OK, "" };

        r->data[i] ^= 0x10;
        CHECK_INT(s->verbs->head(s, "r", &h, &err), PAWL_CORRUPT);
        CHECK(strstr(err.text, "h~~r") != NULL);
        CHECK_INT(s->verbs->check(s, NULL), PAWL_CORRUPT);
        r->data[i] ^= 0x10;
    }
    for (size_t n = 0; n < r->size; n += 1 + check_rand_below(30)) {    /* torn */
        size_t size = r->size;

        r->size = n;
        CHECK_INT(s->verbs->head(s, "r", &h, NULL), PAWL_CORRUPT);
        r->size = size;
    }
    CHECK_INT(s->verbs->head(s, "r", &h, NULL), PAWL_OK);
    pawl_store_free(s);
}

static bool snapshot_none(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line) { (void)ctx, (void)kind, (void)seq, (void)line; return false; }

PAWL_TEST(test_Q6_a_damaged_snapshot_is_left_out_and_a_missing_part_is_told)
{
    static char room[5000];
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_err err = { PAWL_OK, "" };
    three_record *part = NULL;

    memset(room, 'x', sizeof room);
    CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .lines = &line, .nlines = 1, .snapshot = { room, sizeof room } }), PAWL_OK);
    for (size_t i = 0; i < shelf.n; i++)
        part = strncmp(shelf.all[i].key, "p~", 2) == 0 ? &shelf.all[i] : part;
    CHECK(part != NULL);
    part->data[100] ^= 1;
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\n1 []\n");
    CHECK_INT(s->verbs->snapshot(s, "r", snapshot_none, NULL, NULL), PAWL_CORRUPT);
    three_drop(&shelf, part);
    CHECK_INT(s->verbs->check(s, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "r: ") == err.text && strstr(err.text, "missing") != NULL);
    pawl_store_free(s);
}

/* ---- methods that break their word --------------------------------------------------------------------------- */

static pawl_code put_pending(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    (void)ctx, (void)key, (void)before, (void)version, (void)value, (void)err;
    return PAWL_PENDING;
}

static pawl_code list_stray(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    (void)ctx, (void)prefix, (void)err;
    fn(fn_ctx, "another", 1);
    return PAWL_OK;
}

PAWL_TEST(test_X3_methods_that_break_their_word_are_named)
{
    pawl_simple_methods odd = three_methods;
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;

    three_clear(&shelf);
    CHECK(pawl_store_simple(NULL, NULL, NULL, &err) == NULL);
    CHECK_INT(err.code, PAWL_INVALID);
    odd.get = NULL;
    CHECK(pawl_store_simple(&odd, NULL, NULL, NULL) == NULL);
    odd = three_methods;
    odd.name = NULL;
    CHECK(pawl_store_simple(&odd, NULL, NULL, NULL) == NULL);
    CHECK(pawl_store_simple(&three_methods, &shelf, &(pawl_simple){ .space = "a~b" }, NULL) == NULL);
    CHECK(pawl_store_simple(&three_methods, &shelf, &(pawl_simple){ .space = "twenty-one-bytes-long" }, NULL) == NULL);
    odd = three_methods;
    odd.put = put_pending;
    odd.list = list_stray;
    s = pawl_store_simple(&odd, &shelf, NULL, NULL);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->create(s, bytes(base("r", "")), NULL, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "put") != NULL && strstr(err.text, "pending") != NULL);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->check(s, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "list") != NULL);
    pawl_store_free(s);
}

/* ---- fences --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_S2_fences_go_on_when_their_block_is_used_up)
{
    uint64_t last = 0, first = 0;
    pawl_store *s;
    pawl_head h;

    if (!check_run_all())
        check_skip("a million claims: --all");
    s = shelf_fresh();
    CHECK_INT(s->verbs->create(s, bytes(base("a", "")), NULL, NULL), PAWL_OK);
    for (int i = 0; i < (1 << 20) + 10; i++) {
        CHECK_INT(claim_one(s, "a", "me", LONG_MS, &h, NULL), PAWL_OK);
        CHECK(h.fence > last);
        last = h.fence;
    }
    first = begun(s, "b", "");
    CHECK(first > last);
    pawl_store_free(s);
}

PAWL_TEST(test_a_list_without_versions_sees_every_change)
{
    pawl_store *s = shelf_fresh();
    uint64_t f = begun(s, "r", "");

    shelf.knows_versions = false;
    CHECK_STR(listed(s, &(pawl_filter){ .status = 2 }), "");
    CHECK_INT(put_one(s, &(pawl_append){ .run = "r", .fence = f, .moves = true, .status = 1 }), PAWL_OK);
    CHECK_STR(listed(s, &(pawl_filter){ .status = 2 }), "r ");
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_OK);
    CHECK_STR(listed(s, NULL), "");
    CHECK_INT(shelf.n, 1);
    shelf.knows_versions = true;
    pawl_store_free(s);
}

int main(int argc, char **argv)
{
    const int code = check_main(argc, argv);

    three_clear(&shelf);
    return code;
}
