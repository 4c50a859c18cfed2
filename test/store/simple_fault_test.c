/* simple_fault_test.c - every call of every method fails once, in turn: before it did anything, and after it did all of it; and the process dies at each of
 * them. Nothing that was acknowledged is lost, nothing comes twice, and a sweep leaves nothing behind. */
#include "store/contract_inner.h"
#include "store/counting.h"
#include "store/three.h"

enum { ENTRIES = 6, BIG = 20000, STEPS = ENTRIES + 11 };

static three shelf = { .lock = PTHREAD_MUTEX_INITIALIZER, .knows_versions = true };
static uint64_t fence;

static pawl_store *shelf_open(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_simple(&three_methods, &shelf, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

/* ---- one run with everything in it --------------------------------------------------------------- */

static char big_line[BIG + 200], big_text[BIG + 1];

static pawl_bytes big_json(const char *name)
{
    memset(big_text, 'x', BIG);
    memcpy(big_text, "{\"", 2);
    memcpy(big_text + 2, name, strlen(name));
    memcpy(big_text + 2 + strlen(name), "\":\"", 3);
    memcpy(big_text + BIG - 2, "\"}", 2);
    return (pawl_bytes){ big_text, BIG };
}

static pawl_code begin(pawl_store *s, pawl_err *err)
{
    char b[BIG + 400];
    const char *plain = base("r", ",\"labels\":[\"x\"],\"by\":\"");

    snprintf(b, sizeof b, "%.*s%s\"}", (int)strlen(plain) - 1, plain, big_json("n").data);     /* quotes of the text end the member */
    for (char *at = b + strlen(plain) - 1; at < b + strlen(b) - 2; at++)
        if (*at == '"' || *at == '{' || *at == '}')
            *at = 'y';
    return s->verbs->create(s, bytes(b), NULL, err);
}

static pawl_code append(pawl_store *s, pawl_append *a, pawl_err *err)
{
    pawl_code rc;

    a->run = "r";
    a->fence = fence;
    rc = s->verbs->append(s, a, 1, err);
    return rc != PAWL_OK ? rc : a->rc;
}

static pawl_code entry_add(pawl_store *s, uint64_t seq, pawl_err *err)
{
    pawl_bytes line = bytes(entry(seq, "[]"));

    if (seq % 2 == 0) {         /* too long for the head */
        snprintf(big_line, sizeof big_line, "%s", entry(seq, "[\""));
        memset(big_line + strlen(big_line), 'z', BIG);
        line = (pawl_bytes){ big_line, BIG };
    }
    return append(s, &(pawl_append){ .seq = seq - 1, .lines = &line, .nlines = 1 }, err);
}

static pawl_code wait_add(pawl_store *s, pawl_err *err)
{
    pawl_bytes lines[2] = { bytes("[[\"ask\"]]"), bytes(entry(ENTRIES + 1, "[1]")) };
    pawl_waiting w = { .id = "w", .spec = big_json("prompt"), .asked_ms = 1 };
    pawl_blob blob = { "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", bytes("abc") };
    pawl_mark mark = { .id = "1.a.1.0", .first_ms = 5 };

    return append(s, &(pawl_append){ .seq = ENTRIES, .lines = lines, .nlines = 2, .moves = true, .status = 2, .wake_ms = 9, .waits = &w, .nwaits = 1,
                                     .snapshot = big_json("fold"), .blobs = &blob, .nblobs = 1, .marks = &mark, .nmarks = 1 }, err);
}

static pawl_code wait_close(pawl_store *s, uint64_t no, pawl_err *err)
{
    pawl_bytes line = bytes(entry(ENTRIES + 2, "[2]"));
    pawl_waiting w = { .id = "w", .over = true, .answer = bytes("{\"yes\":1}") };

    return append(s, &(pawl_append){ .seq = ENTRIES + 1, .lines = &line, .nlines = 1, .waits = &w, .nwaits = 1, .taken = &no, .ntaken = 1 }, err);
}

static bool any_head(void *ctx, const pawl_head *h) { (void)h; ++*(int *)ctx; return true; }
static bool any_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line) { (void)kind, (void)seq, (void)line; ++*(int *)ctx; return true; }

static pawl_code step(pawl_store *s, int i, pawl_err *err)
{
    static uint64_t no;
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_ANSWER, .name = "w", .value = big_json("yes") };
    pawl_head h = { .fence = 0 };
    int n = 0;
    pawl_code rc;

    switch (i) {
    case 0: return begin(s, err);
    case 1:
        rc = claim_one(s, "r", "me", LONG_MS, &h, err);
        fence = rc == PAWL_OK ? h.fence : fence;
        return rc;
    case ENTRIES + 2: return wait_add(s, err);
    case ENTRIES + 3:
        rc = s->verbs->deliver(s, "r", &d, err);
        no = d.no;
        return rc;
    case ENTRIES + 4: return s->verbs->list(s, NULL, any_head, &n, err);
    case ENTRIES + 5: return s->verbs->load(s, "r", any_line, &n, err);
    case ENTRIES + 6: return wait_close(s, no, err);
    case ENTRIES + 7: return s->verbs->prune(s, "r", fence, 3, bytes(base("r", ",\"seq\":3")), err);
    case ENTRIES + 8: return s->verbs->check(s, err);
    case ENTRIES + 9: return release_one(s, "r", fence, err);
    case ENTRIES + 10: return s->verbs->vacuum(s, err);
    default: return entry_add(s, (uint64_t)i - 1, err);
    }
}

static size_t snapshot_size;

static bool snapshot_seen(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    if (kind == PAWL_LINE_SNAPSHOT)
        snapshot_size = line.size;
    if (kind == PAWL_LINE_ENTRY)
        *(uint64_t *)ctx = seq;
    return true;
}

/* Records that a run without a fault leaves: the counter, the head, its hint, a snapshot, a blob, and the segments of entries 4 and 6. */
static void check_end(pawl_store *s, const char *when, uint64_t n)
{
    pawl_err err = { PAWL_OK, "" };
    uint64_t last = 0;

    if (s->verbs->check(s, &err) != PAWL_OK)
        CHECK_FAIL("%s, call %llu: %s", when, (unsigned long long)n, err.text);
    CHECK_INT(s->verbs->load(s, "r", snapshot_seen, &last, NULL), PAWL_OK);
    CHECK_INT(last, ENTRIES + 2);
    CHECK_INT(snapshot_size, BIG);
    CHECK_STR(ranged(s, "r", ENTRIES, 0), text("record [[\"ask\"]]\n%d [1]\n%d [2]\n", ENTRIES + 1, ENTRIES + 2));
    CHECK_STR(ranged(s, "r", 2, 0), "gone");
    CHECK_STR(listed(s, &(pawl_filter){ .label = "x", .status = 3 }), "r ");
    CHECK_STR(deliveries(s, "r"), "");
    CHECK_STR(waits(s, "r"), "");
    CHECK_STR(marks(s, "r"), "1.a.1.0=1(5,0) ");
    CHECK_INT(head(s, "r").wake_ms, 9);
    CHECK_INT(deliver(s, "r", "d", PAWL_DELIVER_SIGNAL, "w", "2"), PAWL_CONFLICT);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    if (shelf.n != 7)
        CHECK_FAIL("%s, call %llu: %zu records are left", when, (unsigned long long)n, shelf.n);
}

/* Whether the call was made, and failed. */
static bool played(three_fault kind, uint64_t n)
{
    const char *when = kind == THREE_BEFORE ? "fails" : kind == THREE_AFTER ? "says that it failed" : "dies";
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;
    bool struck;

    three_clear(&shelf);
    shelf.fault = kind;
    shelf.left = n;
    s = shelf_open();
    for (int i = 0; i < STEPS; i++) {
        pawl_code rc;

        err = (pawl_err){ PAWL_OK, "" };
        if ((rc = step(s, i, &err)) == PAWL_OK)
            continue;
        if (rc != PAWL_IO || err.code != rc || !shelf.struck || strstr(err.text, "three: ") != err.text || strstr(err.text, "fell down") == NULL)
            CHECK_FAIL("%s, call %llu, step %d: %s: %s", when, (unsigned long long)n, i, pawl_code_name(rc), err.text);
        if (kind == THREE_DEAD) {       /* another process goes on */
            pawl_store_free(s);
            shelf.fault = THREE_NONE;
            s = shelf_open();
        }
        if ((rc = step(s, i, &err)) != PAWL_OK)
            CHECK_FAIL("%s, call %llu, step %d again: %s: %s", when, (unsigned long long)n, i, pawl_code_name(rc), err.text);
    }
    struck = shelf.struck;
    shelf.fault = THREE_NONE;
    check_end(s, when, n);
    pawl_store_free(s);
    return struck;
}

static void march(three_fault kind)
{
    uint64_t n = 1;

    while (played(kind, n))
        n++;
    CHECK(n > 40);
}

PAWL_TEST(test_S3_S4_every_call_of_a_method_fails_once_and_nothing_is_lost) { march(THREE_BEFORE); }
PAWL_TEST(test_S3_S4_every_call_says_once_that_it_failed_though_it_did_not) { march(THREE_AFTER); }
PAWL_TEST(test_S3_S4_a_process_that_dies_between_two_calls_leaves_a_whole_store) { march(THREE_DEAD); }

/* ---- a run (S4) --------------------------------------------------------------------------------------- */

static bool run_played(three_fault kind, uint64_t n)
{
    pawl_err err = { PAWL_OK, "" };
    int counts[CALLS] = { 0 };
    pawl_verdict v;
    pawl_bytes journal;
    pawl_engine *e;
    pawl_code rc;
    bool struck;

    three_clear(&shelf);
    e = pawl_engine_new(counting(), shelf_open(), &err);
    CHECK_INT(pawl_engine_effect(e, "count", count_it, counts, PAWL_CLASS_ONCE, &err), PAWL_OK);
    shelf.fault = kind;
    shelf.left = n;
    for (int tries = 0; (rc = pawl_run(e, "r", NULL, &err)) != PAWL_HALTED; tries++) {
        if (rc != PAWL_IO || err.code != rc || !shelf.struck || tries > 3)
            CHECK_FAIL("fault %d, call %llu: %s: %s", (int)kind, (unsigned long long)n, pawl_code_name(rc), err.text);
        err = (pawl_err){ PAWL_OK, "" };
    }
    struck = shelf.struck;
    shelf.fault = THREE_NONE;
    for (int i = 0; i < CALLS; i++)
        CHECK_INT(counts[i], 1);
    CHECK_STR(pawl_run_get(e, "r", "done"), "true");
    journal = pawl_store_journal(pawl_engine_store(e), "r", NULL);
    if (pawl_verify(pawl_engine_machine(e), journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("fault %d, call %llu: %s", (int)kind, (unsigned long long)n, err.text);
    free((void *)(uintptr_t)journal.data);
    pawl_engine_free(e);
    return struck;
}

PAWL_TEST(test_S4_a_run_on_three_methods_goes_on_when_the_cause_is_gone)
{
    for (uint64_t n = 1; run_played(THREE_BEFORE, n);)
        n++;
    for (uint64_t n = 1; run_played(THREE_AFTER, n);)
        n++;
}

int main(int argc, char **argv)
{
    const int code = check_main(argc, argv);

    three_clear(&shelf);
    return code;
}
