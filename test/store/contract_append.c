/* contract_append.c - the contract: what a holder writes, and how it is read again. */
#include "store/contract_inner.h"

/* SHA-256 of "abc" and of nothing; below, of many bytes */
static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/* ---- lines ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_a_journal_is_its_base_and_its_lines)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");

    CHECK_INT(put(s, "r", f, 0, entry(1, "[1]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 1, "[[\"visit\"]]", "[[\"call\"]]", NULL), PAWL_OK);
    CHECK_INT(head(s, "r").seq, 1);
    CHECK_INT(put(s, "r", f, 1, "[[\"receipt\"]]", entry(2, "[2]"), entry(3, "[3]"), "[[\"ask\"]]", NULL), PAWL_OK);
    CHECK_INT(head(s, "r").seq, 3);
    CHECK_INT(put(s, "r", f, 3, NULL), PAWL_OK);
    check_journal(s, "r", text("%s\n%s\n[[\"visit\"]]\n[[\"call\"]]\n[[\"receipt\"]]\n%s\n%s\n[[\"ask\"]]\n", base("r", ""),
                               entry(1, "[1]"), entry(2, "[2]"), entry(3, "[3]")));
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\n1 [1]\nrecord [[\"visit\"]]\nrecord [[\"call\"]]\nrecord [[\"receipt\"]]\n"
                                 "2 [2]\n3 [3]\nrecord [[\"ask\"]]\n");
    pawl_store_free(s);
}

PAWL_TEST(test_S3_each_append_answers_for_itself)
{
    pawl_store *s = fresh();
    uint64_t f[6];
    pawl_bytes first = bytes(entry(1, "[1]")), second = bytes(entry(2, "[2]")), bad = bytes("no line"), record = bytes("[[9]]");
    pawl_append all[8];

    for (int i = 0; i < 6; i++)
        f[i] = begun(s, text("r%d", i), "");
    CHECK_INT(put(s, "r2", f[2], 0, entry(1, "[0]"), NULL), PAWL_OK);
    all[0] = (pawl_append){ .run = "r0", .fence = f[0], .lines = &first, .nlines = 1 };
    all[1] = (pawl_append){ .run = "r1", .fence = f[1] + 99, .lines = &first, .nlines = 1 };
    all[2] = (pawl_append){ .run = "r2", .fence = f[2], .lines = &first, .nlines = 1 };
    all[3] = (pawl_append){ .run = "none", .fence = f[3], .lines = &first, .nlines = 1 };
    all[4] = (pawl_append){ .run = "r4", .fence = f[4], .lines = &bad, .nlines = 1 };
    all[5] = (pawl_append){ .run = "r5", .fence = f[5], .lines = &record, .nlines = 1, .moves = true, .status = 1 };
    all[6] = (pawl_append){ .run = "r0", .fence = f[0], .seq = 1, .lines = &second, .nlines = 1 };
    all[7] = (pawl_append){ .run = NULL };
    CHECK_INT(s->verbs->append(s, all, 8, NULL), PAWL_OK);
    CHECK_INT(all[0].rc, PAWL_OK);
    CHECK_INT(all[1].rc, PAWL_FENCED);
    CHECK_INT(all[2].rc, PAWL_CONFLICT);
    CHECK_INT(all[3].rc, PAWL_GONE);
    CHECK_INT(all[4].rc, PAWL_INVALID);
    CHECK_INT(all[5].rc, PAWL_OK);
    CHECK_INT(all[6].rc, PAWL_OK);
    CHECK_INT(all[7].rc, PAWL_INVALID);
    s = again(s);
    CHECK_STR(ranged(s, "r0", 0, 0), "base 0 {\"at\":10\n1 [1]\n2 [2]\n");
    CHECK_STR(ranged(s, "r1", 0, 0), "base 0 {\"at\":10\n");
    CHECK_STR(ranged(s, "r2", 0, 0), "base 0 {\"at\":10\n1 [0]\n");
    CHECK_STR(ranged(s, "r4", 0, 0), "base 0 {\"at\":10\n");
    CHECK_STR(ranged(s, "r5", 0, 0), "base 0 {\"at\":10\nrecord [[9]]\n");
    CHECK_INT(head(s, "r5").status, 1);
    CHECK_STR(listed(s, NULL), "r5 r4 r3 r2 r1 r0 ");
    pawl_store_free(s);
}

PAWL_TEST(test_the_newest_entry_again_is_success_and_other_bytes_a_conflict)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    const char *before;

    CHECK_INT(put(s, "r", f, 0, entry(1, "[1]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[1]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[0]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[1,2]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 1, "[[1]]", "[[2]]", entry(2, "[2]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 1, "[[1]]", "[[2]]", entry(2, "[2]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 1, "[[1]]", "[[3]]", entry(2, "[2]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[1]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 2, entry(3, "[3]"), entry(4, "[4]"), "[[5]]", NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 2, entry(3, "[3]"), entry(4, "[4]"), "[[5]]", NULL), PAWL_OK);
    before = ranged(s, "r", 0, 0);
    CHECK_STR(before, "base 0 {\"at\":10\n1 [1]\nrecord [[1]]\nrecord [[2]]\n2 [2]\n3 [3]\n4 [4]\nrecord [[5]]\n");
    s = again(s);
    CHECK_INT(put(s, "r", f, 2, entry(3, "[3]"), entry(4, "[4]"), "[[5]]", NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f + 1, 2, entry(3, "[3]"), entry(4, "[4]"), "[[5]]", NULL), PAWL_FENCED);
    CHECK_STR(ranged(s, "r", 0, 0), before);
    CHECK_INT(head(s, "r").seq, 4);
    pawl_store_free(s);
}

/* A reply that was lost: whoever repeats the append repeats all of it. */
PAWL_TEST(test_an_append_repeated_does_nothing_twice)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), no;
    pawl_bytes line = bytes(entry(1, "[1]"));
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };
    pawl_waiting w = { .id = "w", .spec = bytes("{\"kind\":\"signal\"}") };
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .moves = true, .status = 1, .waits = &w, .nwaits = 1,
                      .taken = &no, .ntaken = 1, .snapshot = bytes("{\"at\":1}") };

    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    no = d.no;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(put_one(s, &a), PAWL_OK);
        CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\nsnapshot 1 {\"at\":1}\n");
        CHECK_STR(waits(s, "r"), "r w ");
        CHECK_STR(deliveries(s, "r"), "");
        CHECK_INT(head(s, "r").waits, 1);
        CHECK_INT(head(s, "r").seq, 1);
    }
    pawl_store_free(s);
}

PAWL_TEST(test_a_seq_that_is_not_the_newest_is_a_conflict)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");

    entries(s, "r", f, 1, 3);
    CHECK_INT(put(s, "r", f, 2, entry(3, "[0]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 1, entry(2, "[]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 4, entry(5, "[]"), NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 2, "[[1]]", NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 4, "[[1]]", NULL), PAWL_CONFLICT);
    CHECK_INT(put(s, "r", f, 4, NULL), PAWL_CONFLICT);
    CHECK_STR(ranged(s, "r", 1, 0), "2 []\n3 []\n");
    CHECK_INT(put(s, "r", f, 3, entry(4, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_X3_lines_that_are_none_are_refused_whole)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(1, "[]")), record = bytes("[[1]]"), newline = { "[[1]\n]", 6 }, empty = { "", 0 };
    pawl_waiting w = { .id = "w" };
    pawl_blob short_name = { "abc", bytes("abc") }, no_name = { NULL, bytes("abc") };
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1 };

    CHECK_INT(put(s, "r", f, 0, "[[1]]", "x", NULL), PAWL_INVALID);
    CHECK_INT(put(s, "r", f, 0, "[[1]]", entry(2, "[]"), NULL), PAWL_INVALID);
    CHECK_INT(put(s, "r", f, 0, entry(1, "[]"), entry(1, "[]"), NULL), PAWL_INVALID);
    a.lines = &newline;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.lines = &empty;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.lines = NULL;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.lines = &record;
    a.snapshot = bytes("{}"); /* of no entry */
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.snapshot = (pawl_bytes){0};
    a.lines = &line;
    a.waits = &w; /* without its SPEC */
    a.nwaits = 1;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    w = (pawl_waiting){ .spec = bytes("{}") };
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.waits = NULL;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.nwaits = 0;
    a.blobs = &short_name;
    a.nblobs = 1;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    a.blobs = &no_name;
    CHECK_INT(put_one(s, &a), PAWL_INVALID);
    CHECK_STR(ranged(s, "r", 0, 0), "base 0 {\"at\":10\n");
    CHECK_STR(waits(s, "r"), "");
    a.nblobs = 0;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    pawl_store_free(s);
}

/* ---- what holds from then on ----------------------------------------------------------------------------------- */

PAWL_TEST(test_a_move_says_what_holds_and_without_one_all_stays)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes("[[1]]");
    pawl_append a = { .run = "r", .fence = f, .lines = &line, .nlines = 1, .moves = true, .status = 1, .wake_ms = 500,
                      .parked = "no machine \"essay\" 2" };
    int64_t changed;
    pawl_head h;

    CHECK_INT(put_one(s, &a), PAWL_OK);
    changed = head(s, "r").changed_ms;
    pass(s, 3);
    entries(s, "r", f, 1, 1);
    h = head(s, "r");
    CHECK(h.changed_ms > changed);
    CHECK_INT(h.status, 1);
    CHECK_INT(h.wake_ms, 500);
    CHECK_STR(h.parked, "no machine \"essay\" 2");
    CHECK(!h.over);
    a = (pawl_append){ .run = "r", .fence = f, .seq = 1, .moves = true, .status = 3, .over = true }; /* and no line */
    CHECK_INT(put_one(s, &a), PAWL_OK);
    h = head(s, "r");
    CHECK_INT(h.status, 3);
    CHECK_INT(h.wake_ms, 0);
    CHECK(h.parked == NULL);
    CHECK(h.over);
    a.fence++; /* refused: it stays */
    a.over = false;
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    CHECK(head(s, "r").over);
    pawl_store_free(s);
}

PAWL_TEST(test_K6_snapshot_and_tail_load_a_run)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes lines[3] = { bytes(entry(3, "[3]")), bytes("[[4]]"), bytes(entry(4, "[4]")) };
    pawl_append a = { .run = "r", .fence = f, .seq = 2, .lines = lines, .nlines = 1, .snapshot = bytes("{\"of\":3}") };

    entries(s, "r", f, 1, 2);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\nsnapshot 3 {\"of\":3}\n");
    CHECK_INT(put(s, "r", f, 3, "[[3.5]]", NULL), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\nsnapshot 3 {\"of\":3}\nrecord [[3.5]]\n");
    a = (pawl_append){ .run = "r", .fence = f, .seq = 3, .lines = lines + 1, .nlines = 2, .snapshot = bytes("{\"of\":4}") };
    CHECK_INT(put_one(s, &a), PAWL_OK);
    entries(s, "r", f, 5, 6);
    s = again(s);
    CHECK_STR(loaded(s, "r", 0), "base 0 {\"at\":10\nsnapshot 4 {\"of\":4}\n5 []\n6 []\n");
    CHECK_STR(loaded(s, "r", 2), "base 0 {\"at\":10\nsnapshot 4 {\"of\":4}\n");
    CHECK_STR(ranged(s, "r", 0, 0), "base 0 {\"at\":10\n1 []\n2 []\n3 [3]\nrecord [[3.5]]\nrecord [[4]]\n4 [4]\n5 []\n6 []\n");
    pawl_store_free(s);
}

PAWL_TEST(test_G11_a_journal_is_read_from_one_entry_to_another)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");

    CHECK_INT(put(s, "r", f, 0, entry(1, "[1]"), "[[2]]", "[[2.5]]", NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 1, entry(2, "[2]"), entry(3, "[3]"), "[[4]]", NULL), PAWL_OK);
    CHECK_STR(ranged(s, "r", 0, 1), "base 0 {\"at\":10\n1 [1]\n");
    CHECK_STR(ranged(s, "r", 0, 2), "base 0 {\"at\":10\n1 [1]\nrecord [[2]]\nrecord [[2.5]]\n2 [2]\n");
    CHECK_STR(ranged(s, "r", 1, 2), "record [[2]]\nrecord [[2.5]]\n2 [2]\n");
    CHECK_STR(ranged(s, "r", 2, 2), "");
    CHECK_STR(ranged(s, "r", 2, 1), "");
    CHECK_STR(ranged(s, "r", 2, 0), "3 [3]\nrecord [[4]]\n");
    CHECK_STR(ranged(s, "r", 2, 99), "3 [3]\nrecord [[4]]\n");
    CHECK_STR(ranged(s, "r", 3, 0), "record [[4]]\n");
    CHECK_STR(ranged(s, "r", 4, 0), "");
    CHECK_STR(ranged(s, "r", UINT64_MAX, 0), "");
    CHECK_STR(ranged(s, "none", 0, 0), "gone");
    pawl_store_free(s);
}

/* ---- blobs ------------------------------------------------------------------------------------------------------ */

typedef struct found {
    size_t calls, size;
    char first[8];
    bool same;
} found;

static const char big[1 << 20] = "with NULs behind";
static const char of_big[] = "c5ac12534cef99df91d0aefff807bb7e41f2154fd7db75157c02758301f5373c";

static bool find(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    found *f = ctx;

    CHECK_INT(kind, 0);
    (void)seq;
    f->calls++;
    f->size = line.size;
    f->same = line.size == sizeof big && memcmp(line.data, big, sizeof big) == 0;
    if (line.size > 0)
        memcpy(f->first, line.data, line.size < 7 ? line.size : 7);
    return false;
}

PAWL_TEST(test_S5_a_blob_is_kept_once_by_its_content)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ""), g = begun(s, "other", "");
    pawl_bytes line = bytes(entry(1, "[1]"));
    pawl_blob blobs[3] = { { abc, bytes("abc") }, { nothing, bytes("") }, { of_big, { big, sizeof big } } };
    pawl_append a = { .run = "r", .fence = f + 1000, .lines = &line, .nlines = 1, .blobs = blobs, .nblobs = 3 };
    found is = { 0 };

    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    CHECK_INT(s->verbs->blob(s, "r", abc, find, &is, NULL), PAWL_GONE);
    a.fence = f;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    a = (pawl_append){ .run = "r", .fence = f, .seq = 1, .blobs = blobs, .nblobs = 2 };
    CHECK_INT(put_one(s, &a), PAWL_OK);
    s = again(s);
    CHECK_INT(is.calls, 0);
    CHECK_INT(s->verbs->blob(s, "r", abc, find, &is, NULL), PAWL_OK);
    CHECK_STR(is.first, "abc");
    CHECK_INT(is.calls, 1);
    CHECK_INT(s->verbs->blob(s, "r", nothing, find, &is, NULL), PAWL_OK);
    CHECK_INT(is.size, 0);
    CHECK_INT(s->verbs->blob(s, "r", of_big, find, &is, NULL), PAWL_OK);
    CHECK(is.same);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    CHECK_INT(s->verbs->blob(s, "other", abc, find, &is, NULL), PAWL_GONE);
    CHECK_INT(s->verbs->blob(s, "r", "abc", find, &is, NULL), PAWL_GONE);
    CHECK_INT(is.calls, 3);
    CHECK_INT(s->verbs->remove(s, "r", f, NULL), PAWL_OK);
    f = begun(s, "r", "");
    CHECK_INT(s->verbs->blob(s, "r", abc, find, &is, NULL), PAWL_GONE);
    CHECK_INT(put(s, "other", g, 0, entry(1, "[]"), NULL), PAWL_OK);
    pawl_store_free(s);
}

/* ---- pruning -------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_K10_a_pruned_journal_begins_with_its_new_base)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", ",\"labels\":[\"x\"]");
    pawl_bytes line = bytes(entry(3, "[3]"));
    pawl_append a = { .run = "r", .fence = f, .seq = 2, .lines = &line, .nlines = 1, .snapshot = bytes("{\"of\":3}") };
    const char *cut = base("r", ",\"seq\":4");
    uint64_t no = head(s, "r").no;

    entries(s, "r", f, 1, 2);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(put(s, "r", f, 3, "[[4]]", entry(4, "[4]"), "[[5]]", entry(5, "[5]"), "[[6]]", NULL), PAWL_OK);
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(base("r", ",\"seq\":3")), NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(base("q", ",\"seq\":4")), NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->prune(s, "r", f, 6, bytes(base("r", ",\"seq\":6")), NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes("{\"format\":1,\"id\":\"r\",\"life\":\"00000000000000ac\",\"machine\":{\"name\":\"essay\"},"
                                                  "\"seq\":4}"), NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->prune(s, "r", f + 1, 4, bytes(cut), NULL), PAWL_FENCED);
    CHECK_STR(ranged(s, "r", 0, 1), "base 0 {\"at\":10\n1 []\n");
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(cut), NULL), PAWL_OK);
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(cut), NULL), PAWL_OK);
    s = again(s);
    CHECK_STR(ranged(s, "r", 0, 0), "gone");
    CHECK_STR(ranged(s, "r", 3, 0), "gone");
    CHECK_STR(ranged(s, "r", 4, 2), "");
    CHECK_STR(ranged(s, "r", 4, 0), "record [[5]]\n5 [5]\nrecord [[6]]\n");
    CHECK_STR(loaded(s, "r", 0), "base 4 {\"at\":10\nrecord [[5]]\n5 [5]\nrecord [[6]]\n");
    check_journal(s, "r", text("%s\n[[5]]\n%s\n[[6]]\n", cut, entry(5, "[5]")));
    CHECK_INT(s->verbs->prune(s, "r", f, 3, bytes(base("r", ",\"seq\":3")), NULL), PAWL_GONE);
    CHECK_INT(put(s, "r", f, 5, entry(6, "[6]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "r", f, 5, entry(6, "[6]"), NULL), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_STR(ranged(s, "r", 5, 0), "record [[6]]\n6 [6]\n");
    CHECK_INT(head(s, "r").seq, 6);
    CHECK_INT(head(s, "r").no, no);
    CHECK_STR(listed(s, &(pawl_filter){ .label = "x" }), "r ");
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

/* One that names entries which are gone is no help (K7). */
PAWL_TEST(test_K7_K10_a_snapshot_with_segments_before_the_cut_goes)
{
    for (int after = 0; after < 4; after++) {
        pawl_store *s = fresh();
        uint64_t f = begun(s, "r", "");
        pawl_bytes line = bytes(entry(4, "[4]"));
        const char *snapshot = text("{\"fold\":{\"segments\":{\"a\":{\"after\":3,\"count\":1,\"upto\":4},\"b\":{\"after\":%d,\"count\":1,\"upto\":4}}},"
                                    "\"seq\":4}", after);
        pawl_append a = { .run = "r", .fence = f, .seq = 3, .lines = &line, .nlines = 1, .snapshot = bytes(snapshot) };

        entries(s, "r", f, 1, 3);
        CHECK_INT(put_one(s, &a), PAWL_OK);
        entries(s, "r", f, 5, 5);
        CHECK_INT(s->verbs->prune(s, "r", f, 2, bytes(base("r", ",\"seq\":2")), NULL), PAWL_OK);
        s = again(s);
        if (after >= 2)
            CHECK_STR(loaded(s, "r", 0), text("base 2 {\"at\":10\nsnapshot 4 %s\n5 []\n", snapshot));
        else
            CHECK_STR(loaded(s, "r", 0), "base 2 {\"at\":10\n3 []\n4 [4]\n5 []\n");
        CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
        pawl_store_free(s);
    }
}

PAWL_TEST(test_K10_a_snapshot_of_the_cut_itself_goes)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(2, "[2]"));
    pawl_append a = { .run = "r", .fence = f, .seq = 1, .lines = &line, .nlines = 1, .snapshot = bytes("{\"of\":2}") };

    entries(s, "r", f, 1, 1);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    entries(s, "r", f, 3, 3);
    CHECK_INT(s->verbs->prune(s, "r", f, 2, bytes(base("r", ",\"seq\":2")), NULL), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 2 {\"at\":10\n3 []\n");
    pawl_store_free(s);
}

PAWL_TEST(test_K10_a_snapshot_after_the_cut_stays)
{
    pawl_store *s = fresh();
    uint64_t f = begun(s, "r", "");
    pawl_bytes line = bytes(entry(3, "[3]"));
    pawl_append a = { .run = "r", .fence = f, .seq = 2, .lines = &line, .nlines = 1, .snapshot = bytes("{\"of\":3}") };

    entries(s, "r", f, 1, 2);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    entries(s, "r", f, 4, 4);
    CHECK_INT(s->verbs->prune(s, "r", f, 2, bytes(base("r", ",\"seq\":2")), NULL), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 2 {\"at\":10\nsnapshot 3 {\"of\":3}\n4 []\n");
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(base("r", ",\"seq\":4")), NULL), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 4 {\"at\":10\n");
    CHECK_INT(put(s, "r", f, 3, entry(4, "[]"), NULL), PAWL_CONFLICT); /* nothing is left to compare it with */
    CHECK_INT(put(s, "r", f, 4, "[[5]]", entry(5, "[5]"), NULL), PAWL_OK);
    CHECK_STR(loaded(s, "r", 0), "base 4 {\"at\":10\nrecord [[5]]\n5 [5]\n");
    pawl_store_free(s);
}

/* ---- size ------------------------------------------------------------------------------------------------------------ */

enum { LARGE = 2000000 };

typedef struct sizes {
    size_t base, snapshot, record, entry, delivery, spec;
} sizes;

static bool measure(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    sizes *z = ctx;
    size_t *of[] = { NULL, &z->base, &z->snapshot, &z->record, &z->entry };

    (void)seq;
    *of[kind] = line.size;
    CHECK(line.data[line.size / 2] == 'x');
    return true;
}
static bool measure_delivery(void *ctx, const pawl_delivery *d) { ((sizes *)ctx)->delivery = d->value.size; return true; }
static bool measure_wait(void *ctx, const char *run, const pawl_waiting *w) { (void)run; ((sizes *)ctx)->spec = w->spec.size; return true; }

/* `before`, so many x, `after`. */
static pawl_bytes large(char *to, const char *before, const char *after)
{
    size_t n = strlen(before), m = strlen(after);

    memset(to, 'x', LARGE);
    memcpy(to, before, n);
    memcpy(to + LARGE - m, after, m);
    return (pawl_bytes){ to, LARGE };
}

PAWL_TEST(test_K8_what_is_large_comes_back_whole)
{
    static char room[6][LARGE];
    pawl_store *s = fresh();
    char *of_run = check_copy(base("r", ",\"by\":\""), strlen(base("r", ",\"by\":\"")) - 1); /* without its brace */
    pawl_bytes begin = large(room[0], of_run, "\"}"), lines[2] = { large(room[1], "[[\"", "\"]]"), large(room[2], entry(1, "[[\""), "\"]]") };
    pawl_waiting w = { .id = "w", .spec = large(room[3], "{\"prompt\":\"", "\"}") };
    pawl_append a = { .run = "r", .lines = lines, .nlines = 2, .waits = &w, .nwaits = 1, .snapshot = large(room[4], "{\"fold\":\"", "\"}") };
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_INPUT, .value = large(room[5], "{\"text\":\"", "\"}") };
    sizes z = { 0 };

    free(of_run);
    CHECK_INT(s->verbs->create(s, begin, NULL, NULL), PAWL_OK);
    a.fence = claimed(s, "r", "me");
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    s = again(s);
    CHECK_INT(s->verbs->read(s, "r", 0, 0, measure, &z, NULL), PAWL_OK);
    CHECK_INT(s->verbs->load(s, "r", measure, &z, NULL), PAWL_OK);
    CHECK_INT(s->verbs->deliveries(s, "r", measure_delivery, &z, NULL), PAWL_OK);
    CHECK_INT(s->verbs->waits(s, "r", measure_wait, &z, NULL), PAWL_OK);
    CHECK_INT(z.base, LARGE);
    CHECK_INT(z.snapshot, LARGE);
    CHECK_INT(z.record, LARGE);
    CHECK_INT(z.entry, LARGE);
    CHECK_INT(z.delivery, LARGE);
    CHECK_INT(z.spec, LARGE);
    CHECK_INT(s->verbs->create(s, begin, NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, "r", &d, NULL), PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

/* ---- letting go with it ------------------------------------------------------------------------------------- */

PAWL_TEST(test_S2_a_run_is_let_go_of_with_the_append_that_says_so)
{
    pawl_store *s = fresh();
    pawl_bytes lines[2] = { bytes(entry(1, "[]")), bytes(entry(1, "[1]")) };
    uint64_t f = begun(s, "r", ""), g = begun(s, "held", ""), p = begun(s, "parked", "");
    pawl_append all[3] = {
        { .run = "r", .fence = f, .lines = lines, .nlines = 1, .moves = true, .status = 3, .over = true, .release = true },
        { .run = "held", .fence = g + 1000, .lines = lines, .nlines = 1, .release = true },
        { .run = "parked", .fence = p, .moves = true, .status = 1, .parked = "no machine" },
    };
    pawl_head h;

    CHECK_INT(s->verbs->append(s, all, 3, NULL), PAWL_OK);
    CHECK_INT(all[0].rc, PAWL_OK);
    CHECK_INT(all[1].rc, PAWL_FENCED);
    h = head(s, "r");
    CHECK(h.owner == NULL && h.over);
    CHECK_INT(h.lease_ms, 0);
    CHECK_INT(h.seq, 1);
    CHECK_INT(h.status, 3);
    CHECK_STR(head(s, "held").owner, "me"); /* refused: nothing of it was done */
    CHECK_STR(head(s, "parked").owner, "me");
    CHECK_INT(renew_one(s, "r", f, LONG_MS, NULL), PAWL_FENCED);
    CHECK_INT(release_one(s, "r", f, NULL), PAWL_OK);
    CHECK_INT(put_one(s, &all[0]), PAWL_OK); /* again */
    CHECK_INT(head(s, "r").seq, 1);
    all[2] = (pawl_append){ .run = "parked", .fence = p, .lines = lines, .nlines = 1, .release = true };
    CHECK_INT(put_one(s, &all[2]), PAWL_OK); /* it says nothing else: the rest stays */
    s = again(s);
    h = head(s, "parked");
    CHECK(h.owner == NULL);
    CHECK_STR(h.parked, "no machine");
    CHECK_INT(h.status, 1);
    CHECK_INT(h.seq, 1);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &h, NULL), PAWL_OK);
    CHECK_INT(h.seq, 1);
    CHECK_INT(put_one(s, &all[0]), PAWL_FENCED);
    CHECK_STR(head(s, "r").owner, "you");
    pawl_store_free(s);
}

/* It was stored and the answer got lost, of an append that did not say yet that the run is let go of. */
PAWL_TEST(test_S2_an_append_made_again_lets_go_too)
{
    pawl_store *s = fresh();
    pawl_bytes line = bytes(entry(1, "[]"));
    pawl_append a = { .run = "r", .fence = begun(s, "r", ""), .lines = &line, .nlines = 1 };

    CHECK_INT(put_one(s, &a), PAWL_OK);
    a.release = true;
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK(head(s, "r").owner == NULL);
    CHECK_INT(head(s, "r").seq, 1);
    a = (pawl_append){ .run = "r", .fence = a.fence, .seq = 1, .release = true };
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(claim_one(s, "r", "you", LONG_MS, &(pawl_head){0}, NULL), PAWL_OK);
    CHECK_INT(put_one(s, &a), PAWL_FENCED);
    pawl_store_free(s);
}
