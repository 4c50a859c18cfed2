/* simple_list_test.c - lists of the store of three methods: a run at rest is left out by its hint, and no hint that is late, lost or left behind hides a
 * run. */
#include "store/contract_inner.h"
#include "store/three.h"

enum { FINISHED = 1000, DUE = 10, READS_MAX = 30, RUNS = 8, MOVES = 1500, LATE_MAX = 16 };

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };

static pawl_store *shelf_open(const pawl_simple_methods *methods)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_simple(methods, &shelf, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static void release(pawl_store *s, const char *run, uint64_t f, int status, bool over, bool work, int64_t wake_ms)
{
    CHECK_INT(put_one(s, &(pawl_append){ .run = run, .fence = f, .moves = true, .status = (uint8_t)status, .over = over, .work = work, .wake_ms = wake_ms,
                                         .release = true }), PAWL_OK);
}

static void wait_open(pawl_store *s, const char *run, uint64_t f)
{
    pawl_waiting w = { .id = "w", .spec = bytes("{\"kind\":\"question\"}") };

    CHECK_INT(put_one(s, &(pawl_append){ .run = run, .fence = f, .waits = &w, .nwaits = 1 }), PAWL_OK);
}

/* Old ones that are due, finished ones, and ten of each that wait for a person or sleep. */
static void shelf_fill(void)
{
    pawl_store *s;

    three_clear(&shelf);
    s = shelf_open(&three_methods);
    for (int i = 0; i < DUE; i++)
        release(s, text("due-%d", i), begun(s, text("due-%d", i), ""), 1, false, true, 0);
    for (int i = 0; i < FINISHED; i++)
        release(s, text("done-%d", i), begun(s, text("done-%d", i), ",\"context\":\"c\""), i == 500 ? 4 : 3, true, false, 0);
    for (int i = 0; i < DUE; i++) {
        const char *asks = text("asks-%d", i), *sleeps = text("sleeps-%d", i);
        uint64_t f = begun(s, asks, "");

        wait_open(s, asks, f);
        release(s, asks, f, 2, false, false, 0);
        release(s, sleeps, begun(s, sleeps, ""), 1, false, false, INT64_MAX - 10 + i);
    }
    pawl_store_free(s);
}

typedef const char *list_fn(pawl_store *s);

static const char *list_due(pawl_store *s) { return due(s, 1, DUE); }
static const char *list_ten(pawl_store *s) { return listed(s, &(pawl_filter){ .limit = DUE }); }
static const char *list_older(pawl_store *s) { return listed(s, &(pawl_filter){ .limit = DUE, .before = 500 }); }
static const char *list_waits(pawl_store *s) { return waits(s, NULL); }
static const char *list_waiting(pawl_store *s) { return listed(s, &(pawl_filter){ .waiting = true }); }
static const char *list_failed(pawl_store *s) { return listed(s, &(pawl_filter){ .status = 5 }); }
static const char *list_parked(pawl_store *s) { return listed(s, &(pawl_filter){ .parked = true }); }
static const char *list_of_none(pawl_store *s) { return listed(s, &(pawl_filter){ .context = "d" }); }
static const char *list_prefix(pawl_store *s) { return listed(s, &(pawl_filter){ .begins = "asks-" }); }

/* By a handle that has read nothing before; beside it one that reads every head. */
static uint64_t reads_of(list_fn *fn, const char *expected)
{
    pawl_store *s = shelf_open(&three_methods);
    const uint64_t gets = shelf.gets;
    const char *is = fn(s);
    const uint64_t reads = shelf.gets - gets;

    pawl_store_free(s);
    if (expected != NULL)
        CHECK_STR(is, expected);
    shelf.knows_versions = false;
    s = shelf_open(&three_methods);
    CHECK_STR(is, fn(s));
    pawl_store_free(s);
    shelf.knows_versions = true;
    return reads;
}

static void check_reads(list_fn *fn, const char *expected)
{
    const uint64_t reads = reads_of(fn, expected);

    if (reads > READS_MAX)
        CHECK_FAIL("a list of ten read %llu records", (unsigned long long)reads);
}

static int64_t next_of(void)
{
    pawl_store *s = shelf_open(&three_methods);
    int64_t at = s->verbs->next_due(s);

    pawl_store_free(s);
    return at;
}

PAWL_TEST(test_S6_a_list_reads_what_it_gives)
{
    uint64_t gets;

    shelf_fill();
    check_reads(list_due, "due-0 due-1 due-2 due-3 due-4 due-5 due-6 due-7 due-8 due-9 ");
    check_reads(list_ten, NULL);
    check_reads(list_older, NULL);
    check_reads(list_waits, "asks-0 w asks-1 w asks-2 w asks-3 w asks-4 w asks-5 w asks-6 w asks-7 w asks-8 w asks-9 w ");
    check_reads(list_waiting, NULL);
    check_reads(list_failed, "done-500 ");
    check_reads(list_parked, "");
    check_reads(list_of_none, "");
    check_reads(list_prefix, NULL);
    gets = shelf.gets;
    CHECK_INT(next_of(), INT64_MAX - 10);
    CHECK(shelf.gets - gets <= READS_MAX);
    three_clear(&shelf);
}

/* As an older build left it: heads alone. */
static void hints_drop(void)
{
    for (size_t i = 0; i < shelf.n;)
        if (strncmp(shelf.all[i].key, "m~", 2) == 0)
            three_drop(&shelf, &shelf.all[i]);
        else
            i++;
}

PAWL_TEST(test_S6_a_store_without_hints_gets_them_by_its_first_list)
{
    shelf_fill();
    hints_drop();
    CHECK(reads_of(list_due, NULL) >= FINISHED);
    check_reads(list_due, NULL);
    hints_drop();
    shelf.fault = THREE_NONE;
    {
        pawl_store *s = shelf_open(&three_methods);

        CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
        pawl_store_free(s);
    }
    check_reads(list_failed, "done-500 ");
    three_clear(&shelf);
}

/* ---- hints that come late, or never, or stay ------------------------------------------------------------- */

typedef struct late_put { char key[PAWL_KEY_BYTES_MAX + 1]; uint64_t before, version; char value[64]; size_t size; bool removes; } late_put;
static late_put late[LATE_MAX];
static size_t nlate;

static void late_comes(size_t i)
{
    const late_put *p = &late[i];
    pawl_err err = { PAWL_OK, "" };

    (void)three_put(&shelf, p->key, p->before, p->version, p->removes ? (pawl_bytes){0} : (pawl_bytes){ p->value, p->size }, &err);
    late[i] = late[--nlate];
}

static int64_t still(void *ctx) { (void)ctx; return 1000000; }        /* so that two lists are of one moment */

static pawl_code odd_put(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    const uint64_t how = check_rand_below(4);

    if (strncmp(key, "m~", 2) != 0 || how == 0 || value.size > sizeof late[0].value)
        return three_put(ctx, key, before, version, value, err);
    if (how == 1)
        return three_failed(err);
    if (how == 2 || nlate == LATE_MAX)
        return PAWL_OK;                 /* the process dies before it */
    late[nlate] = (late_put){ .before = before, .version = version, .size = value.size, .removes = value.data == NULL };
    memcpy(late[nlate].key, key, strlen(key) + 1);
    if (value.data != NULL)
        memcpy(late[nlate].value, value.data, value.size);
    nlate++;
    return PAWL_OK;
}

static const pawl_simple_methods odd_methods = { .name = "odd", .put = odd_put, .get = three_get, .list = three_list, .now = still };
static const pawl_simple_methods all_methods = { .name = "all", .put = three_put, .get = three_get, .list = three_list, .now = still };

static void move_any(pawl_store *s, const char *run)
{
    pawl_head h = { .fence = 0 };
    pawl_delivery d = { .id = text("d%llu", (unsigned long long)check_rand_below(40)), .kind = PAWL_DELIVER_SIGNAL, .name = "bell" };
    pawl_waiting w = { .id = "w", .spec = bytes("{\"kind\":\"question\"}"), .over = check_rand_below(2) == 0 };
    pawl_code rc = s->verbs->create(s, bytes(base(run, "")), NULL, NULL);

    CHECK_INT(rc, PAWL_OK);
    if (check_rand_below(4) == 0) {
        CHECK_INT(s->verbs->deliver(s, run, &d, NULL), PAWL_OK);
        return;
    }
    CHECK_INT(claim_one(s, run, "me", LONG_MS, &h, NULL), PAWL_OK);
    if (check_rand_below(5) == 0)
        CHECK_INT(put_one(s, &(pawl_append){ .run = run, .fence = h.fence, .seq = h.seq, .waits = &w, .nwaits = 1 }), PAWL_OK);
    if (check_rand_below(12) == 0)
        CHECK_INT(s->verbs->remove(s, run, h.fence, NULL), PAWL_OK);
    else if (check_rand_below(4) != 0)
        CHECK_INT(put_one(s, &(pawl_append){ .run = run, .fence = h.fence, .seq = h.seq, .moves = true, .status = (uint8_t)check_rand_below(4),
                                             .over = check_rand_below(2) == 0, .work = check_rand_below(3) == 0, .wake_ms = (int64_t)check_rand_below(3) * 500,
                                             .parked = check_rand_below(5) == 0 ? "why" : NULL, .release = check_rand_below(3) != 0 }), PAWL_OK);
}

static const char *list_due_all(pawl_store *s) { return due(s, INT64_MAX, 100); }
static const char *list_due_some(pawl_store *s) { return due(s, 600, 100); }
static const char *list_all(pawl_store *s) { return listed(s, NULL); }
static const char *list_held(pawl_store *s) { return listed(s, &(pawl_filter){ .held = true }); }

static void check_lists(pawl_store *s)
{
    static list_fn *const lists[] = { list_due_all, list_due_some, list_all, list_held, list_waits, list_waiting, list_parked, list_prefix };
    list_fn *const fn = lists[check_rand_below(sizeof lists / sizeof *lists)];
    const char *given = fn(s);
    char *is = check_copy(given, strlen(given) + 1);
    pawl_store *reads_all;
    int64_t next = s->verbs->next_due(s);

    shelf.knows_versions = false;
    reads_all = shelf_open(&all_methods);
    CHECK_STR(is, fn(reads_all));
    CHECK_INT(next, reads_all->verbs->next_due(reads_all));
    pawl_store_free(reads_all);
    shelf.knows_versions = true;
    free(is);
}

PAWL_TEST(test_S6_no_hint_hides_a_run)
{
    pawl_store *all[2];

    three_clear(&shelf);
    nlate = 0;
    for (int i = 0; i < 2; i++)
        all[i] = shelf_open(&odd_methods);
    for (int i = 0; i < MOVES; i++) {
        move_any(all[check_rand_below(2)], text("asks-%d", (int)check_rand_below(RUNS)));
        if (nlate > 0 && check_rand_below(2) == 0)
            late_comes((size_t)check_rand_below(nlate));
        check_lists(all[check_rand_below(2)]);
        if (check_rand_below(100) == 0)
            CHECK_INT(all[0]->verbs->vacuum(all[0], NULL), PAWL_OK);
    }
    for (int i = 0; i < 2; i++)
        pawl_store_free(all[i]);
    three_clear(&shelf);
}

PAWL_TEST(test_a_sweep_leaves_one_hint_for_each_run_at_rest)
{
    pawl_store *s;
    size_t hints = 0;

    three_clear(&shelf);
    s = shelf_open(&three_methods);
    for (int i = 0; i < 3; i++) {
        uint64_t f = begun(s, text("r%d", i), "");

        release(s, text("r%d", i), f, 3, true, false, 0);
        three_write(&shelf, text("m~~r%d~0.1.3.000000000000000000000000", i), 0, 3, bytes("x"));
        if (i == 2)
            CHECK_INT(s->verbs->remove(s, "r2", f, NULL), PAWL_OK);
    }
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    for (size_t i = 0; i < shelf.n; i++)
        hints += strncmp(shelf.all[i].key, "m~", 2) == 0;
    CHECK_INT(hints, 2);
    CHECK_INT(shelf.n, 5);
    pawl_store_free(s);
}

int main(int argc, char **argv)
{
    const int code = check_main(argc, argv);

    three_clear(&shelf);
    return code;
}
