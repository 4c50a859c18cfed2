/* memory_test.c - the contract on journals in memory, and what only they promise: each write whole or not at all, also without memory. */
#include "store/contract.h"

#include "lib/heap.h"
#include "store/one.h"
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char base_a[] = "{\"format\":1,\"id\":\"a\",\"labels\":[\"x\"],\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}";
static const char base_b[] = "{\"format\":1,\"id\":\"b\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}";
static const char base_cut[] = "{\"format\":1,\"id\":\"a\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"},\"seq\":1}";

static int64_t now_ms;

static int64_t now(void *ctx)
{
    (void)ctx;
    return now_ms;
}

static pawl_store *keeper;      /* the handle that keeps what is there while a test closes its own */

static void memory_fresh(void)
{
    now_ms = 1000000;
    pawl_store_free(keeper);
    keeper = NULL;
}

static pawl_store *memory_open(const char *space, pawl_err *err)
{
    if (keeper == NULL && (keeper = store_memory_in(NULL, err)) != NULL) {
        store_memory_clock(keeper, now, NULL);
        store_memory_signals(keeper, 20);
    }
    return pawl_store_memory_again(keeper, space, err);
}

static void memory_pass(pawl_store *s, int64_t ms)
{
    (void)s;
    now_ms += ms;
}

static const contract_maker maker = { .fresh = memory_fresh, .open = memory_open, .pass = memory_pass, .shared = true, .spaces = true,
                                       .signals_max = 20 };

/* ---- the clock ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_time_is_what_the_clock_says_and_never_goes_back)
{
    pawl_store *s = memory_open("", NULL);

    memory_fresh();
    CHECK_INT(s->verbs->now(s), 1000000);
    now_ms = 5;
    CHECK_INT(s->verbs->now(s), 1000000);
    now_ms = 1000001;
    CHECK_INT(s->verbs->now(s), 1000001);
    store_memory_clock(s, NULL, NULL);
    CHECK(s->verbs->now(s) > INT64_C(1600000000000));
    pawl_store_free(s);
}

PAWL_TEST(test_it_has_no_backup)
{
    pawl_store *s = memory_open("", NULL);

    CHECK_INT(s->verbs->backup(s, "copy", NULL), PAWL_INVALID);
    pawl_store_free(s);
}

PAWL_TEST(test_check_finds_a_blob_of_other_bytes)
{
    pawl_store *s = memory_open("", NULL);
    pawl_blob blob = { "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", { "abd", 3 } };
    pawl_append a = { .run = "a", .blobs = &blob, .nblobs = 1 };
    pawl_head h;

    CHECK_INT(s->verbs->create(s, (pawl_bytes){ base_a, sizeof base_a - 1 }, NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "a", "me", 1000, &h, NULL), PAWL_OK);
    a.fence = h.fence;
    CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_CORRUPT);
    pawl_store_free(s);
}

/* ---- without memory: each write whole or not at all (S3) ---------------------------------------------------- */

typedef struct dump {
    char text[1 << 16];
    size_t size;
} dump;

static void note(dump *d, const char *fmt, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
static void note(dump *d, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(d->text + d->size, sizeof d->text - d->size, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof d->text - d->size)
        abort();
    d->size += (size_t)n;
}

static bool note_head(void *ctx, const pawl_head *h)
{
    note(ctx, "%s no %llu seq %llu fence %llu by %s until %lld, %s, wake %lld, waits %lu, status %d\n", h->run,
         (unsigned long long)h->no, (unsigned long long)h->seq, (unsigned long long)h->fence, h->owner ? h->owner : "nobody",
         (long long)h->lease_ms, h->parked ? h->parked : "", (long long)h->wake_ms, (unsigned long)h->waits, h->status);
    return true;
}
static bool note_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    note(ctx, "%d %llu %.*s\n", (int)kind, (unsigned long long)seq, (int)line.size, line.data);
    return true;
}
static bool note_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    note(ctx, "%s waits for %s %.*s\n", run, w->id, (int)w->spec.size, w->spec.data);
    return true;
}
static bool note_delivery(void *ctx, const pawl_delivery *d)
{
    note(ctx, "%llu %s %d %s %.*s\n", (unsigned long long)d->no, d->id, (int)d->kind, d->name ? d->name : "", (int)d->value.size,
         d->value.data ? d->value.data : "");
    return true;
}
static bool note_mark(void *ctx, const pawl_mark *mark)
{
    note(ctx, "%s tried %lu, first %lld, again %lld\n", mark->id, (unsigned long)mark->attempts, (long long)mark->first_ms, (long long)mark->again_ms);
    return true;
}

static const char digest_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void dump_all(pawl_store *s, dump *d)
{
    static const char *const runs[] = { "a", "b" };

    d->size = 0;
    s->verbs->list(s, NULL, note_head, d, NULL);
    for (size_t i = 0; i < 2; i++) {
        note(d, "%s: load %d\n", runs[i], s->verbs->load(s, runs[i], note_line, d, NULL));
        note(d, "read %d\n", s->verbs->read(s, runs[i], 1, 0, note_line, d, NULL));
        s->verbs->deliveries(s, runs[i], note_delivery, d, NULL);
        s->verbs->marks(s, runs[i], note_mark, d, NULL);
        note(d, "blob %d\n", s->verbs->blob(s, runs[i], digest_abc, note_line, d, NULL));
    }
    s->verbs->waits(s, NULL, note_wait, d, NULL);
    note(d, "due at %lld\n", (long long)s->verbs->next_due(s));
    s->verbs->due(s, now_ms, NULL, 10, note_head, d, NULL);
}

static uint64_t fences[2];

static pawl_code do_claim(pawl_store *s, int run, pawl_err *err)
{
    pawl_head h = { .fence = 0 };
    pawl_code rc = claim_one(s, run == 0 ? "a" : "b", run == 0 ? "me" : "you", 1000, &h, err);

    if (rc == PAWL_OK)
        fences[run] = h.fence;
    return rc;
}

#define ENTRY(seq, body) "0000000000000000000000000000000000000000000000000000000000000000 [" #seq ",1,\"tick\",\"working\",1] " body
#define TEXT(text) { text, sizeof text - 1 }

static pawl_code do_append(pawl_store *s, pawl_err *err)
{
    static char large[3000];
    static const pawl_bytes first[3] = { TEXT("[[1]]"), TEXT(ENTRY(1, "[]")), TEXT(ENTRY(2, "[]")) };
    const pawl_bytes second[2] = { TEXT(ENTRY(1, "[1]")), { large, sizeof large } };
    static const pawl_waiting waits[3] = {
        { .id = "w", .spec = TEXT("{\"kind\":\"question\"}") }, { .id = "v", .spec = TEXT("{\"kind\":\"question\"}") }, { .id = "v", .over = true },
    };
    static const pawl_blob blob = { digest_abc, TEXT("abc") };
    static const pawl_bytes more[9] = { /* of a run that stands there twice */
        { large, sizeof large }, TEXT(ENTRY(3, "[]")), TEXT(ENTRY(4, "[]")), TEXT(ENTRY(5, "[]")), TEXT(ENTRY(6, "[]")),
        TEXT(ENTRY(7, "[]")), TEXT(ENTRY(8, "[]")), TEXT(ENTRY(9, "[]")), TEXT(ENTRY(10, "[]")),
    };
    pawl_append all[5] = {
        { .run = "a", .fence = fences[0], .lines = first, .nlines = 3, .moves = true, .status = 1, .wake_ms = 77, .parked = "no machine",
          .waits = waits, .nwaits = 3, .snapshot = TEXT("{\"of\":2}"), .blobs = &blob, .nblobs = 1 },
        { .run = "none", .fence = 1 },
        { .run = "b", .fence = fences[1], .lines = second, .nlines = 2, .moves = true, .status = 1, .wake_ms = 78 },
        { .run = "a", .fence = fences[0], .seq = 2, .lines = more, .nlines = 9, .waits = waits, .nwaits = 1 },
        { .run = "b", .fence = fences[1], .seq = 1, .lines = second + 1, .nlines = 1 },
    };
    pawl_code rc;

    memset(large, 'x', sizeof large);
    memcpy(large, "[[", 2);
    rc = s->verbs->append(s, all, 5, err);
    for (int i = 0; i < 5; i++)
        CHECK_INT(all[i].rc, rc != PAWL_OK ? rc : i == 1 ? PAWL_GONE : PAWL_OK);
    return rc;
}

static pawl_code do_mark(pawl_store *s, pawl_err *err)
{
    pawl_mark all[3] = { { .run = "a", .fence = fences[0], .id = "1.a.1.0", .first_ms = 7 }, { .run = "b", .fence = fences[1], .id = "1.a.1.0" },
                         { .run = "a", .fence = fences[0], .id = "1.a.1.0", .again_ms = 9 } };

    return s->verbs->mark(s, all, 3, err);
}

static pawl_code do_deliver(pawl_store *s, const char *id, pawl_delivery_kind kind, const char *name, pawl_err *err)
{
    pawl_delivery d = { .id = id, .kind = kind, .name = name, .value = TEXT("{\"long\":[1,2,3]}"), .by = "ada", .note = "n", .trace = "t" };

    return s->verbs->deliver(s, "a", &d, err);
}

/* The i-th step of the story. */
static pawl_code step(pawl_store *s, int i, pawl_err *err)
{
    switch (i) {
    case 0: return s->verbs->create(s, (pawl_bytes)TEXT(base_a), NULL, err);
    case 1: return s->verbs->create(s, (pawl_bytes)TEXT(base_b), NULL, err);
    case 2: return do_claim(s, 0, err);
    case 3: return do_claim(s, 1, err);
    case 4: return do_append(s, err);
    case 5: return do_mark(s, err);
    case 6: return do_deliver(s, "d1", PAWL_DELIVER_SIGNAL, "bell", err);
    case 7: return do_deliver(s, "d2", PAWL_DELIVER_ANSWER, "w", err);
    case 8: return s->verbs->prune(s, "a", fences[0], 1, (pawl_bytes)TEXT(base_cut), err);
    case 9: return do_claim(s, 0, err);
    case 10: return s->verbs->vacuum(s, err);
    case 11: return s->verbs->remove(s, "b", fences[1], err);
    default: return PAWL_IGNORED;
    }
}

/* Steps 0 to i-1 were done; step i is done with its n-th allocation refused, and then again. False: none was refused. */
static bool march(int i, size_t n)
{
    static dump before, after, expected;
    pawl_err err = { PAWL_OK, "" };
    pawl_alloc alloc;
    pawl_store *s;
    bool fired;
    heap h;

    heap_init(&h);
    alloc = heap_alloc(&h);
    memory_fresh();
    CHECK((s = store_memory_in(&alloc, NULL)) != NULL);
    store_memory_clock(s, now, NULL);
    for (int k = 0; k < i; k++)
        CHECK_INT(step(s, k, NULL), PAWL_OK);
    dump_all(s, &before);
    heap_fail_at(&h, n);
    pawl_code rc = step(s, i, &err);
    fired = h.fired;
    heap_fail_never(&h);
    if (rc != PAWL_OK) {
        CHECK(fired);
        CHECK_INT(rc, PAWL_NOMEM);
        CHECK_INT(err.code, PAWL_NOMEM);
        dump_all(s, &after);
        CHECK_STR(after.text, before.text);
        CHECK_INT(step(s, i, NULL), PAWL_OK);
    }
    dump_all(s, &after);
    if (n == 0) /* whichever way it went, it ends where every other way ends */
        expected = after;
    CHECK_STR(after.text, expected.text);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
    heap_check(&h);
    return fired;
}

PAWL_TEST(test_S3_without_memory_a_write_is_whole_or_not_at_all)
{
    for (int i = 0; i < 12; i++)
        for (size_t n = 0; march(i, n); n++)
            if (n > 1000)
                CHECK_FAIL("step %d asks for memory without end", i);
}

/* Room that was made for one append is not kept for all that follow, and what is there already is not kept twice. */
PAWL_TEST(test_memory_grows_with_what_is_kept)
{
    static const pawl_blob blob = { digest_abc, TEXT("abc") };
    pawl_alloc alloc;
    pawl_store *s;
    size_t bytes;
    heap h;

    heap_init(&h);
    alloc = heap_alloc(&h);
    CHECK((s = store_memory_in(&alloc, NULL)) != NULL);
    CHECK_INT(step(s, 0, NULL), PAWL_OK);
    CHECK_INT(do_claim(s, 0, NULL), PAWL_OK);
    for (int i = 0; i < 1000; i++) {
        pawl_bytes record = TEXT("[[\"a record of some forty bytes, or so\"]]");
        pawl_append a = { .run = "a", .fence = fences[0], .lines = &record, .nlines = 1, .blobs = &blob, .nblobs = 1 };
        pawl_mark mark = { .run = "a", .fence = fences[0], .id = "1.a.1.0" };

        CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
        CHECK_INT(s->verbs->mark(s, &mark, 1, NULL), PAWL_OK);
    }
    bytes = h.bytes;
    if (bytes > 1000 * 44 * 2 + 16384)
        CHECK_FAIL("%zu bytes for a thousand records of 44", bytes);
    pawl_store_free(s);
    heap_check(&h);
}

PAWL_TEST(test_S3_a_handle_without_memory_is_none_and_the_others_go_on)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_alloc alloc;
    pawl_store *s, *t;
    size_t n = 0;
    heap h;

    heap_init(&h);
    alloc = heap_alloc(&h);
    CHECK((s = store_memory_in(&alloc, NULL)) != NULL);
    do {
        heap_fail_at(&h, n++);
        t = pawl_store_memory_again(s, "other", &err);
        CHECK_INT(t == NULL, h.fired);
        heap_fail_never(&h);
    } while (t == NULL);
    CHECK(n > 2);
    CHECK_INT(err.code, PAWL_NOMEM);
    pawl_store_free(s);
    CHECK_INT(t->verbs->create(t, (pawl_bytes)TEXT(base_a), NULL, NULL), PAWL_OK);
    pawl_store_free(t);
    heap_check(&h);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK(pawl_store_memory_again(NULL, "", &err) == NULL);
    CHECK_STR(err.text, "another handle needs a store in memory, not none");
}

PAWL_TEST(test_a_store_without_memory_is_none)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_alloc alloc;
    heap h;

    heap_init(&h);
    alloc = heap_alloc(&h);
    heap_fail_from(&h, 0);
    CHECK(store_memory_in(&alloc, &err) == NULL);
    CHECK_INT(err.code, PAWL_NOMEM);
    heap_check(&h);
}

/* ---- a store of somebody else's, without the verb look ----------------------------------------------------------- */

static bool add_seq(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    char *at = ctx;

    (void)line;
    snprintf(at + strlen(at), 100 - strlen(at), "%d.%llu ", (int)kind, (unsigned long long)seq);
    return true;
}

static void check_same_look(pawl_store *s, const char *run, pawl_look asked)
{
    const pawl_store_verbs *whole = s->verbs;
    pawl_store_verbs without = *whole;
    pawl_look is = asked, due = asked;
    char lines[2][100] = { "", "" };
    pawl_code rc;

    is.fn = due.fn = add_seq;
    is.ctx = lines[0];
    due.ctx = lines[1];
    without.look = NULL;
    rc = store_look(s, run, &due, NULL);
    s->verbs = &without;
    CHECK_INT(store_look(s, run, &is, NULL), rc);
    s->verbs = whole;
    CHECK_STR(lines[0], lines[1]);
    CHECK_STR(is.head.run, due.head.run);
    CHECK_INT(is.head.seq, due.head.seq);
    CHECK(rc != PAWL_OK || is.version == due.version);
}

PAWL_TEST(test_S6_a_look_at_a_store_without_the_verb_is_the_same)
{
    pawl_store *s = store_memory_in(NULL, NULL);
    pawl_head h;

    CHECK_INT(s->verbs->create(s, (pawl_bytes){ base_a, sizeof base_a - 1 }, NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, "a", "me", 1000, &h, NULL), PAWL_OK);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        char line[100];
        pawl_bytes one = { line, (size_t)snprintf(line, sizeof line, "%064d [%d,1,\"tick\",\"working\",1] []", 0, (int)seq) };
        pawl_append a = { .run = "a", .fence = h.fence, .seq = seq - 1, .lines = &one, .nlines = 1 };

        CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
        CHECK_INT(a.rc, PAWL_OK);
    }
    for (int pruned = 0; pruned < 2; pruned++) {
        if (pruned)
            CHECK_INT(s->verbs->prune(s, "a", h.fence, 1, (pawl_bytes){ base_cut, sizeof base_cut - 1 }, NULL), PAWL_OK);
        check_same_look(s, "a", (pawl_look){ .load = true });
        for (uint64_t after = 0; after < 5; after++)
            check_same_look(s, "a", (pawl_look){ .after = after });
        check_same_look(s, "nobody", (pawl_look){ .after = 0 });
        check_same_look(s, "", (pawl_look){ .after = 0 });
    }
    pawl_store_free(s);
}

/* ---- order: the heaps against every run looked at --------------------------------------------------------------- */

enum { RUNS = 60, STEPS = 3000 };

typedef struct looked {
    char runs[RUNS][8];
    size_t n;
} looked;

static bool add_run(void *ctx, const pawl_head *h)
{
    looked *l = ctx;

    snprintf(l->runs[l->n++], sizeof l->runs[0], "%s", h->run);
    return true;
}

typedef struct naive {
    pawl_store *s;
    int64_t due[RUNS];
    char runs[RUNS][8];
    int64_t first;
    size_t n;
} naive;

static int mail[RUNS];          /* when the oldest delivery came; 0: none */

static bool judge(void *ctx, const pawl_head *h)
{
    naive *v = ctx;
    int64_t at = h->lease_ms > now_ms ? INT64_MAX : store_due_ms(h, mail[strtol(h->run + 1, NULL, 10)]);
    size_t i;

    if (h->wake_ms != 0 && (v->first == 0 || h->wake_ms < v->first))
        v->first = h->wake_ms;
    if (at > now_ms)
        return true;
    for (i = v->n++; i > 0 && v->due[i - 1] >= at; i--) { /* newest first comes in: equals stand before */
        v->due[i] = v->due[i - 1];
        memcpy(v->runs[i], v->runs[i - 1], sizeof v->runs[0]);
    }
    v->due[i] = at;
    snprintf(v->runs[i], sizeof v->runs[0], "%s", h->run);
    return true;
}

static void order_check(pawl_store *s)
{
    naive v = { .s = s };
    looked l = { .n = 0 };

    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = RUNS }, judge, &v, NULL), PAWL_OK);
    CHECK_INT(s->verbs->due(s, now_ms, NULL, RUNS, add_run, &l, NULL), PAWL_OK);
    CHECK_INT(l.n, v.n);
    for (size_t i = 0; i < l.n; i++)
        CHECK_STR(l.runs[i], v.runs[i]);
    CHECK_INT(s->verbs->next_due(s), v.first);
}

static void order_step(pawl_store *s, int i, const char *run)
{
    pawl_head h;
    pawl_append a = { .run = run, .moves = true, .status = (uint8_t)check_rand_below(5) };
    pawl_delivery d = { .kind = PAWL_DELIVER_CANCEL };
    char id[32], text[128];

    if (s->verbs->head(s, run, &h, NULL) != PAWL_OK) {
        snprintf(text, sizeof text, "{\"format\":1,\"id\":\"%s\",\"life\":\"00000000000000ab\",\"machine\":{\"name\":\"m\"}}", run);
        CHECK_INT(s->verbs->create(s, (pawl_bytes){ text, strlen(text) }, NULL, NULL), PAWL_OK);
        return;
    }
    a.fence = h.fence;
    a.over = a.status >= 3;
    a.work = check_rand_below(2) == 0;
    a.release = check_rand_below(4) == 0;
    a.parked = check_rand_below(10) == 0 ? "parked" : NULL;
    a.wake_ms = check_rand_below(2) == 0 ? now_ms + (int64_t)check_rand_below(30) : 0;
    switch (check_rand_below(6)) {
    case 0:
        CHECK_INT(claim_one(s, run, "me", 1 + (int64_t)check_rand_below(20), &h, NULL), PAWL_OK);
        break;
    case 1:
        release_one(s, run, h.fence, NULL);
        break;
    case 2:
        snprintf(id, sizeof id, "d%llu", (unsigned long long)check_rand());
        d.id = id;
        if (mail[i] == 0 && s->verbs->deliver(s, run, &d, NULL) == PAWL_OK)
            mail[i] = (int)d.at_ms;
        break;
    case 3:
        if (check_rand_below(4) == 0 && s->verbs->remove(s, run, h.fence, NULL) == PAWL_OK)
            mail[i] = 0;
        break;
    default:
        CHECK_INT(s->verbs->append(s, &a, 1, NULL), PAWL_OK);
    }
}

PAWL_TEST(test_E9_what_is_due_is_what_looking_at_every_run_finds)
{
    pawl_store *s;

    memory_fresh();
    s = memory_open("", NULL);
    memset(mail, 0, sizeof mail);
    for (int n = 0; n < STEPS; n++) {
        int i = (int)check_rand_below(RUNS);
        char run[8];

        snprintf(run, sizeof run, "r%d", i);
        order_step(s, i, run);
        now_ms += (int64_t)check_rand_below(3);
        order_check(s);
    }
    pawl_store_free(s);
}

int main(int argc, char **argv)
{
    int code = contract_main(argc, argv, &maker);

    memory_fresh();
    return code;
}
