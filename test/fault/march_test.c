/* march_test.c - the fault march: every allocation of every step of every scene fails once, and every load. What failed for
 * want of memory says so, has changed nothing and lost nothing; said again with memory, it gives the same bytes. */
#include "graph/graph.h"
#include "lib/story.h"

#include <string.h>

/* ---- feed ---------------------------------------------------------------------------------------------- */

static void check_fed(story *y, attempt *a, size_t n)
{
    a->err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(pawl_feed(y->m, a->st, &y->ev, a->s, &a->err), y->rc);
    if (pawl_step_bytes(a->s).size != strlen(y->bytes) || memcmp(pawl_step_bytes(a->s).data, y->bytes, strlen(y->bytes)) != 0)
        CHECK_FAIL("%s: other bytes after allocation %zu was refused\n  is   %s\n  not  %s", y->sc->name, n,
                   pawl_step_bytes(a->s).data, y->bytes);
}

static bool feed_refused(story *y, size_t n, bool fine, bool on)
{
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, fine);
    (on ? heap_fail_from : heap_fail_at)(&a.h, n);
    rc = pawl_feed(y->m, a.st, &y->ev, a.s, &a.err);
    fired = a.h.fired;
    heap_fail_never(&a.h);
    if (fired) {
        check_refused(&a, y->sc->name, n, rc);
        CHECK(pawl_step_entry(a.s) == NULL && pawl_step_bytes(a.s).size == 0);
    }
    check_same(y, &a, y->before, "the state", n);
    check_fed(y, &a, n);
    check_same(y, &a, y->before, "the state, fed again,", n);
    CHECK_INT(pawl_apply(a.st, pawl_step_entry(a.s), &a.err), PAWL_OK);
    check_same(y, &a, y->after, "the state, applied,", n);
    attempt_end(&a);
    return fired;
}

/* ---- apply -------------------------------------------------------------------------------------------------- */

static bool apply_refused(story *y, size_t n, bool fine, bool on)
{
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, fine);
    check_fed(y, &a, n);
    (on ? heap_fail_from : heap_fail_at)(&a.h, n);
    rc = pawl_apply(a.st, pawl_step_entry(a.s), &a.err);
    fired = a.h.fired;
    heap_fail_never(&a.h);
    if (fired) {
        check_refused(&a, y->sc->name, n, rc);
        check_same(y, &a, y->before, "the state", n);
        a.err = (pawl_err){ PAWL_OK, "" };
        CHECK_INT(pawl_apply(a.st, pawl_step_entry(a.s), &a.err), PAWL_OK);
    } else {
        CHECK_INT(rc, PAWL_OK);
    }
    check_same(y, &a, y->after, "the state, applied again,", n);
    attempt_end(&a);
    return fired;
}

/* Fed and folded at once: the same, whole or not at all. */
static bool advance_refused(story *y, size_t n, bool fine, bool on)
{
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, fine);
    (on ? heap_fail_from : heap_fail_at)(&a.h, n);
    rc = pawl_advance(y->m, a.st, &y->ev, a.s, &a.err);
    fired = a.h.fired;
    heap_fail_never(&a.h);
    if (fired) {
        check_refused(&a, y->sc->name, n, rc);
        check_same(y, &a, y->before, "the state", n);
        a.err = (pawl_err){ PAWL_OK, "" };
        rc = pawl_advance(y->m, a.st, &y->ev, a.s, &a.err);
    }
    CHECK_INT(rc, y->rc);
    CHECK_BYTES(pawl_step_bytes(a.s).data, pawl_step_bytes(a.s).size, y->bytes, strlen(y->bytes));
    check_same(y, &a, y->after, "the state, moved on,", n);
    attempt_end(&a);
    return fired;
}

static bool read_refused(story *y, size_t n, bool fine, bool on)
{
    const pawl_bytes bytes = { y->bytes, strlen(y->bytes) };
    pawl_entry *e = NULL;
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, fine);
    (on ? heap_fail_from : heap_fail_at)(&a.h, n);
    rc = pawl_entry_read(bytes, a.s, &e, &a.err);
    if (rc == PAWL_OK)
        rc = pawl_apply(a.st, e, &a.err);
    fired = a.h.fired;
    heap_fail_never(&a.h);
    if (fired) {
        check_refused(&a, y->sc->name, n, rc);
        check_same(y, &a, y->before, "the state", n);
        a.err = (pawl_err){ PAWL_OK, "" };
        CHECK_INT(pawl_entry_read(bytes, a.s, &e, &a.err), PAWL_OK);
        CHECK_INT(pawl_apply(a.st, e, &a.err), PAWL_OK);
    } else {
        CHECK_INT(rc, PAWL_OK);
    }
    check_same(y, &a, y->after, "the state, read again,", n);
    attempt_end(&a);
    return fired;
}

/* ---- what is asked of a state ------------------------------------------------------------------------------------ */

typedef struct asked {          /* one attempt to ask; what came of it is left as text, to be compared */
    story *y;
    attempt *a;
    buf *out;
    size_t index;
} asked;

typedef pawl_code ask_fn(asked *k);

static const pawl_run_info other = { .id = "run-2", .life = 2, .seed = 8, .created_ms = 2000, .labels = { "x", "y" } };

static pawl_code told(asked *k, pawl_code rc, const char *data, size_t size)
{
    if (rc == PAWL_OK && data != NULL)
        buf_put(k->out, data, size);
    return rc;
}

static pawl_code ask_snapshot(asked *k)
{
    pawl_bytes b = { NULL, 0 };
    pawl_code rc = pawl_state_snapshot(k->a->st, k->a->s, &b, &k->a->err);

    return told(k, rc, b.data, b.size);
}

static pawl_code ask_prune(asked *k)
{
    pawl_bytes b = { NULL, 0 };
    pawl_code rc = pawl_state_prune(k->a->st, k->a->s, &b, &k->a->err);

    return told(k, rc, b.data, b.size);
}

static pawl_code ask_fork(asked *k)
{
    pawl_state *fork = NULL;
    pawl_code rc = pawl_state_fork(k->a->st, &other, k->a->s, &fork, &k->a->err);

    if (rc == PAWL_OK)
        rc = told(k, rc, pawl_state_base(fork).data, pawl_state_base(fork).size);
    pawl_state_free(fork);
    return rc;
}

static pawl_code ask_carry(asked *k)
{
    pawl_state *next = NULL;
    pawl_code rc = pawl_state_carry(k->a->st, k->y->m, &other, k->a->s, &next, &k->a->err);

    if (rc == PAWL_OK)
        rc = told(k, rc, pawl_state_base(next).data, pawl_state_base(next).size);
    pawl_state_free(next);
    return rc;
}

static pawl_code ask_json(asked *k)
{
    const char *text = pawl_state_json(k->a->st, k->a->s, &k->a->err);

    return text == NULL ? k->a->err.code : told(k, PAWL_OK, text, strlen(text));
}

static pawl_code ask_draw(asked *k)
{
    const char *text = graph_of(k->y->m) != NULL ? pawl_draw(k->y->m, k->a->st, (pawl_picture)(1 + k->index % 3), k->a->s, &k->a->err) : "";

    return text == NULL ? k->a->err.code : told(k, PAWL_OK, text, strlen(text));
}

static pawl_code ask_commands(asked *k)
{
    pawl_code rc = PAWL_OK;
    pawl_command cmd;
    pawl_wait q;

    for (size_t i = 0; rc == PAWL_OK && i < pawl_state_commands(k->a->st); i++) {
        const pawl_value *secrets = NULL;

        rc = pawl_state_command(k->a->st, i, k->a->s, &cmd, &secrets, &k->a->err);
        if (rc == PAWL_OK) {
            buf_text(k->out, cmd.id);
            canon(k->out, cmd.args != NULL ? cmd.args : of_val(&(yyjson_val){ .tag = YYJSON_TYPE_NULL }));
        }
    }
    for (size_t i = 0; rc == PAWL_OK && i < pawl_state_waits(k->a->st); i++)
        if ((rc = pawl_state_wait(k->a->st, i, k->a->s, &q, &k->a->err)) == PAWL_OK)
            buf_fmt(k->out, "%s %s %s", q.id, q.slot, q.node);
    return rc;
}

static bool ask_refused(story *y, ask_fn *ask, size_t index, size_t n, bool on, buf *expected)
{
    attempt a;
    buf out;
    asked k = { y, &a, &out, index };
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, true);
    buf_init(&out, NULL);
    (on ? heap_fail_from : heap_fail_at)(&a.h, n);
    rc = ask(&k);
    fired = a.h.fired;
    heap_fail_never(&a.h);
    if (fired) {
        check_refused(&a, y->sc->name, n, rc);
        check_same(y, &a, y->before, "the state, asked,", n);
        a.err = (pawl_err){ PAWL_OK, "" };
        buf_reset(&out);
        rc = ask(&k);
    }
    if (rc != PAWL_OK)
        CHECK_FAIL("%s: ask %zu: %s %s", y->sc->name, index, pawl_code_name(rc), a.err.text);
    if (expected->size == 0)
        buf_put(expected, out.data, out.size);
    CHECK_BYTES(out.data, out.size, expected->data, expected->size);
    check_same(y, &a, y->before, "the state, asked again,", n);
    buf_free(&out);
    attempt_end(&a);
    return fired;
}

static void ask_march(story *y, ask_fn *ask, size_t index)
{
    buf expected;

    buf_init(&expected, NULL);
    for (size_t n = 0; ask_refused(y, ask, index, n, false, &expected); n++)
        continue;
    for (size_t n = 0; ask_refused(y, ask, index, n, true, &expected); n += 1 + n / 2)
        continue;
    y->lazy = true;
    for (size_t n = 0; ask_refused(y, ask, index, n, false, &expected); n++)
        continue;
    y->lazy = false;
    buf_free(&expected);
}

/* ---- the marches ------------------------------------------------------------------------------------------------ */

typedef bool refused_fn(story *y, size_t n, bool fine, bool on);

/* Every allocation in chunks; every piece; and from one on all. */
static void step_march(story *y, refused_fn *refused)
{
    for (size_t n = 0; refused(y, n, false, false); n++)
        continue;
    for (size_t n = 0; refused(y, n, true, false); n++)
        continue;
    for (size_t n = 0; refused(y, n, false, true); n++)
        continue;
    y->lazy = true;
    for (size_t n = 0; refused(y, n, true, false); n++)
        continue;
    y->lazy = false;
}

static void scene_march(const scene *sc, refused_fn *refused)
{
    story y;

    for (story_begin(&y, sc); story_next(&y); story_stored(&y))
        step_march(&y, refused);
    story_end(&y);
}

static void scenes_march(refused_fn *refused)
{
    for (size_t i = 0; i < scene_count; i++)
        scene_march(&scenes[i], refused);
}

PAWL_TEST(test_feed_without_memory_leaves_the_state_as_it_was)
{
    scenes_march(feed_refused);
}

PAWL_TEST(test_apply_without_memory_is_whole_or_not_at_all)
{
    scenes_march(apply_refused);
}

PAWL_TEST(test_an_advance_without_memory_is_whole_or_not_at_all)
{
    scenes_march(advance_refused);
}

PAWL_TEST(test_an_entry_that_is_read_without_memory_changes_nothing)
{
    scenes_march(read_refused);
}

static void scenes_asked(ask_fn *ask, bool at_entries)
{
    for (size_t i = 0; i < scene_count; i++) {
        story y;
        size_t index = 0;

        for (story_begin(&y, &scenes[i]); story_next(&y); story_stored(&y), index++) {
            if (!at_entries || y.marks == 0)
                ask_march(&y, ask, index);
        }
        story_end(&y);
    }
}

PAWL_TEST(test_K7_a_snapshot_without_memory_is_none)
{
    scenes_asked(ask_snapshot, true);
}

PAWL_TEST(test_K10_bases_without_memory_are_none)
{
    scenes_asked(ask_prune, true);
    scenes_asked(ask_fork, true);
    scenes_asked(ask_carry, true);
}

PAWL_TEST(test_what_is_open_is_asked_without_memory)
{
    scenes_asked(ask_commands, false);
    scenes_asked(ask_json, false);
}

PAWL_TEST(test_G12_a_picture_without_memory_is_none)
{
    scenes_asked(ask_draw, false);
}

/* ---- a loader that fails ----------------------------------------------------------------------------------------- */

/* The n-th entry that is read cannot be: nothing happens, it is told, and the next time it goes on. */
static bool load_failed(story *y, size_t n)
{
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, false);
    a.load_fails_at = a.loads + n;
    rc = pawl_feed(y->m, a.st, &y->ev, a.s, &a.err);
    if (rc >= 0)
        rc = pawl_apply(a.st, pawl_step_entry(a.s), &a.err);
    fired = a.loads > a.load_fails_at;
    a.load_fails_at = SIZE_MAX;
    CHECK_INT(rc, fired ? PAWL_IO : PAWL_OK);
    if (fired) {
        CHECK_INT(a.err.code, PAWL_IO);
        check_same(y, &a, y->before, "the state, that could not be loaded,", n);
        check_fed(y, &a, n);
        CHECK_INT(pawl_apply(a.st, pawl_step_entry(a.s), &a.err), PAWL_OK);
    }
    check_same(y, &a, y->after, "the state, loaded after all,", n);
    attempt_end(&a);
    return fired;
}

static bool ask_failed(story *y, ask_fn *ask, size_t n)
{
    attempt a;
    buf out;
    asked k = { y, &a, &out, n };
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, false);
    buf_init(&out, NULL);
    a.load_fails_at = a.loads + n;
    if (ask(&k) != PAWL_OK)
        CHECK_INT(a.err.code, PAWL_IO);
    fired = a.loads > a.load_fails_at;
    CHECK((a.err.code == PAWL_IO) == fired);
    a.load_fails_at = SIZE_MAX;
    CHECK_INT(ask(&k), PAWL_OK);
    check_same(y, &a, y->before, "the state, asked after all,", n);
    buf_free(&out);
    attempt_end(&a);
    return fired;
}

/* An entry that was read names a blob that cannot be: the same. */
static bool read_failed(story *y, size_t n)
{
    const pawl_bytes bytes = { y->bytes, strlen(y->bytes) };
    pawl_entry *e = NULL;
    attempt a;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, y, false);
    a.load_fails_at = a.loads + n;
    CHECK_INT(pawl_entry_read(bytes, a.s, &e, &a.err), PAWL_OK);
    if (pawl_apply(a.st, e, &a.err) != PAWL_OK)
        CHECK_INT(a.err.code, PAWL_IO);
    fired = a.loads > a.load_fails_at;
    CHECK((a.err.code == PAWL_IO) == fired);
    a.load_fails_at = SIZE_MAX;
    if (fired) {
        check_same(y, &a, y->before, "the state, whose blob could not be loaded,", n);
        CHECK_INT(pawl_apply(a.st, e, &a.err), PAWL_OK);
    }
    check_same(y, &a, y->after, "the state, its blob loaded after all,", n);
    attempt_end(&a);
    return fired;
}

PAWL_TEST(test_S5_a_blob_that_cannot_be_loaded_is_told_and_loaded_the_next_time)
{
    ask_fn *const asks[] = { ask_json, ask_commands, ask_fork };
    size_t failed = 0;

    story_apart(2);
    for (size_t i = 0; i < scene_count; i++) {
        story y;

        for (story_begin(&y, &scenes[i]); story_next(&y); story_stored(&y)) {
            for (size_t n = 0; read_failed(&y, n); n++)
                failed++;
            y.lazy = true;
            for (size_t n = 0; load_failed(&y, n); n++)
                failed++;
            for (size_t k = 0; k < sizeof asks / sizeof *asks; k++)
                for (size_t n = 0; ask_failed(&y, asks[k], n); n++)
                    failed++;
            y.lazy = false;
        }
        story_end(&y);
    }
    story_apart(0);
    CHECK(failed > 100);
}

/* Two scenes, one with a subgraph, with nearly every value apart. */
PAWL_TEST(test_S5_what_stands_apart_without_memory_is_whole_or_not_at_all)
{
    refused_fn *const tries[] = { feed_refused, apply_refused, advance_refused, read_refused };
    ask_fn *const asks[] = { ask_prune, ask_fork, ask_carry, ask_snapshot };
    const char *const names[] = { "letter", "nest" };

    story_apart(2);
    for (size_t i = 0; i < 2; i++) {
        story y;

        for (size_t k = 0; k < sizeof tries / sizeof *tries; k++)
            scene_march(scene_named(names[i]), tries[k]);
        for (story_begin(&y, scene_named(names[i])); story_next(&y); story_stored(&y))
            for (size_t k = 0; y.marks == 0 && k < sizeof asks / sizeof *asks; k++)
                ask_march(&y, asks[k], k);
        story_end(&y);
    }
    story_apart(0);
}

PAWL_TEST(test_K7_what_cannot_be_loaded_is_told_and_loaded_the_next_time)
{
    ask_fn *const asks[] = { ask_json, ask_commands, ask_fork };
    size_t failed = 0;

    for (size_t i = 0; i < scene_count; i++) {
        story y;

        for (story_begin(&y, &scenes[i]); story_next(&y); story_stored(&y)) {
            y.lazy = true;
            for (size_t n = 0; load_failed(&y, n); n++)
                failed++;
            for (size_t k = 0; k < sizeof asks / sizeof *asks; k++)
                for (size_t n = 0; ask_failed(&y, asks[k], n); n++)
                    failed++;
        }
        story_end(&y);
    }
    CHECK(failed > 50);
}
