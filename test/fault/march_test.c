/* march_test.c - the fault march: every allocation of every scene fails once. What failed for want of memory says so,
 * has changed nothing and lost nothing; said again with memory, it gives the same bytes. */
#include "graph/graph.h"
#include "lib/scene_machines.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps and states with memory that can be refused ---------------------------------------- */

/* Memory of one attempt. `fine`: each piece of an arena is an allocation of its own, so that every place
 * which asks for memory is refused; else chunks are taken as in a program. */
typedef struct attempt {
    heap h;
    pawl_alloc alloc;
    pawl_state *st;
    pawl_step *s;
    pawl_err err;
} attempt;

static void attempt_begin(attempt *a)
{
    *a = (attempt){ .st = NULL };
    heap_init(&a->h);
    a->alloc = heap_alloc(&a->h);
}

static pawl_step *step_of(const pawl_alloc *alloc, bool fine)
{
    pawl_step *s = pawl_step_new(alloc);

    if (s != NULL && fine)
        s->mem.chunk_bytes = 0;
    return s;
}

/* A state folded from the journal so far, in memory of its own, which is there. */
static void attempt_state(attempt *a, const journal_text *j, bool fine)
{
    if (pawl_replay((pawl_bytes){ j->data, j->size }, 0, &a->alloc, &a->st, &a->err) != PAWL_OK)
        CHECK_FAIL("replay: %s", a->err.text);
    CHECK((a->s = step_of(&a->alloc, fine)) != NULL);
}

static void attempt_end(attempt *a)
{
    pawl_state_free(a->st);
    pawl_step_free(a->s);
    heap_check(&a->h);
}

/* What it said, when memory was refused. */
static void check_refused(const attempt *a, const char *what, size_t n, pawl_code rc)
{
    if (rc != PAWL_NOMEM || a->err.code != PAWL_NOMEM || a->err.text[0] == '\0')
        CHECK_FAIL("%s: allocation %zu refused: %s, and the error says %s: %s", what, n, pawl_code_name(rc),
                   pawl_code_name(a->err.code), a->err.text);
}

/* ---- the story that is marched through ------------------------------------------------------------ */

typedef struct story {
    const scene *sc;
    pawl_machine *m;
    pawl_state *st;             /* as it should be */
    pawl_step *s, *look;
    buf journal;
    play p;
    uint32_t marks;             /* task records that stand open before it */
    pawl_event ev;              /* the next one */
    pawl_code rc;               /* what feeding it returns */
    char *bytes, *before, *after;
} story;

static char *fold_text(story *y, pawl_state *st)
{
    return strdup(world_fold(st, y->look));
}

static journal_text text_of(const story *y)
{
    return (journal_text){ y->journal.data, y->journal.size };
}

static void story_begin(story *y, const scene *sc)
{
    static const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7, .created_ms = 1000 };
    pawl_err err = { PAWL_OK, "" };

    *y = (story){ .sc = sc, .p = { .sc = sc } };
    y->m = sc->machine(NULL, &err);
    y->s = pawl_step_new(NULL);
    y->look = pawl_step_new(NULL);
    if (y->m == NULL || pawl_state_new(y->m, &info, 0, NULL, &y->st, &err) != PAWL_OK)
        CHECK_FAIL("%s: %s", sc->name, err.text);
    buf_init(&y->journal, NULL);
    buf_put(&y->journal, pawl_state_base(y->st).data, pawl_state_base(y->st).size);
    buf_char(&y->journal, '\n');
}

static void texts_free(story *y)
{
    free(y->bytes);
    free(y->before);
    free(y->after);
    y->bytes = y->before = y->after = NULL;
}

static void story_end(story *y)
{
    texts_free(y);
    pawl_state_free(y->st);
    pawl_step_free(y->s);
    pawl_step_free(y->look);
    pawl_machine_free(y->m);
    buf_free(&y->journal);
}

/* The next event, and what should come of it. The state stands after it, the journal before. */
static bool story_next(story *y)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes bytes;

    texts_free(y);
    if (!play_next(&y->p, y->st, y->look, &y->ev))
        return false;
    y->before = fold_text(y, y->st);
    y->marks = y->st->nmarks;
    y->rc = pawl_feed(y->m, y->st, &y->ev, y->s, &err);
    if (y->rc < 0 || y->rc == PAWL_IGNORED)
        CHECK_FAIL("%s: move %zu: %s %s", y->sc->name, y->p.move, pawl_code_name(y->rc), err.text);
    bytes = pawl_step_bytes(y->s);
    y->bytes = calloc(1, bytes.size + 1);
    memcpy(y->bytes, bytes.data, bytes.size);
    if (pawl_apply(y->st, pawl_step_entry(y->s), &err) != PAWL_OK)
        CHECK_FAIL("%s: move %zu: %s", y->sc->name, y->p.move, err.text);
    y->after = fold_text(y, y->st);
    return true;
}

static void story_stored(story *y)
{
    buf_text(&y->journal, y->bytes);
    buf_char(&y->journal, '\n');
}

/* ---- feed ---------------------------------------------------------------------------------------------- */

static void check_same(story *y, attempt *a, const char *expected, const char *what, size_t n)
{
    char *now = fold_text(y, a->st);

    if (strcmp(now, expected) != 0)
        CHECK_FAIL("%s: %s after allocation %zu was refused\n  is   %s\n  not  %s", y->sc->name, what, n, now, expected);
    free(now);
}

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
    journal_text j = text_of(y);
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, &j, fine);
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
    journal_text j = text_of(y);
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, &j, fine);
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

static bool read_refused(story *y, size_t n, bool fine, bool on)
{
    const pawl_bytes bytes = { y->bytes, strlen(y->bytes) };
    journal_text j = text_of(y);
    pawl_entry *e = NULL;
    attempt a;
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, &j, fine);
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
    journal_text j = text_of(y);
    attempt a;
    buf out;
    asked k = { y, &a, &out, index };
    pawl_code rc;
    bool fired;

    attempt_begin(&a);
    attempt_state(&a, &j, true);
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

/* ---- machines -------------------------------------------------------------------------------------------------------- */

/* Makes something with memory that may be refused, and frees it again. */
typedef pawl_code make_fn(const void *what, attempt *a);

static void make_march(make_fn *make, const void *what, const char *name)
{
    bool on = false, fired;

    do {
        size_t n = 0;

        do {
            attempt a;
            pawl_code rc;

            attempt_begin(&a);
            (on ? heap_fail_from : heap_fail_at)(&a.h, n);
            rc = make(what, &a);
            if ((fired = a.h.fired))
                check_refused(&a, name, n, rc);
            else if (rc != PAWL_OK)
                CHECK_FAIL("%s: %s %s", name, pawl_code_name(rc), a.err.text);
            heap_check(&a.h);
            n += on ? 1 + n / 4 : 1;
        } while (fired);
        on = !on;
    } while (on);
}

static pawl_code make_machine(const void *what, attempt *a)
{
    const scene *sc = what;
    pawl_machine *m = sc->machine(&a->alloc, &a->err);

    pawl_machine_free(m);
    return m != NULL ? PAWL_OK : a->err.code;
}

PAWL_TEST(test_a_machine_without_memory_is_none)
{
    for (size_t i = 0; i < scene_count; i++)
        make_march(make_machine, &scenes[i], scenes[i].name);
}

static pawl_code make_check(const void *what, attempt *a)
{
    const scene *sc = what;
    size_t calls = a->h.calls, at = a->h.fail_at;
    bool on = a->h.fail_on;
    pawl_machine *m;
    pawl_report *r = NULL;
    bool graph;

    heap_fail_never(&a->h);
    CHECK((m = sc->machine(&a->alloc, &a->err)) != NULL);
    (on ? heap_fail_from : heap_fail_at)(&a->h, at - calls);
    if ((graph = graph_of(m) != NULL))
        r = pawl_graph_check(m, 0, &a->err);
    pawl_report_free(r);
    pawl_machine_free(m);
    return r != NULL || !graph ? PAWL_OK : a->err.code;
}

PAWL_TEST(test_G1_a_check_without_memory_is_none)
{
    for (size_t i = 0; i < scene_count; i++)
        make_march(make_check, &scenes[i], scenes[i].name);
}

/* A graph with every kind of fault: what is told is whole, or memory. */
static pawl_code faulty(const void *what, attempt *a)
{
    size_t *const *const counted = what, *all = *counted;
    pawl_graph *g = scene_graph("faulty", 1, &a->alloc);
    pawl_report *r = NULL;
    pawl_machine *m;
    size_t found;

    pawl_graph_channel(g, "x", PAWL_LAST);
    pawl_graph_channel(g, "x", PAWL_SUM);
    pawl_graph_channel(g, "custom", PAWL_CUSTOM);
    pawl_graph_work(g, "a", "effect");
    pawl_graph_work(g, "a", "effect");
    pawl_graph_work(g, "lonely", "effect");
    pawl_graph_work(g, "-bad-", "effect");
    pawl_graph_edge(g, "a", "nowhere");
    pawl_graph_join(g, "a", "lonely", "missing", NULL);
    pawl_graph_route(g, "a", NULL, NULL, NULL, "somewhere", NULL);
    m = pawl_graph_compile_report(g, &r, &a->err);
    CHECK(m == NULL);
    found = pawl_report_count(r);
    pawl_report_free(r);
    if (a->err.code == PAWL_INVALID && *all == 0)
        *all = found;
    if (a->err.code == PAWL_INVALID)
        CHECK_INT(found, *all);
    return a->err.code == PAWL_INVALID && found > 5 ? PAWL_OK : a->err.code;
}

PAWL_TEST(test_G1_faults_without_memory_are_not_told_in_part)
{
    size_t all = 0, *counted = &all;
    attempt a;

    attempt_begin(&a);
    CHECK_INT(faulty(&counted, &a), PAWL_OK);
    heap_check(&a.h);
    make_march(faulty, &counted, "faulty");
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

typedef struct stored { const scene *sc; const pawl_machine *m; journal_text j; pawl_bytes base, snapshot; size_t after; } stored;

static pawl_code make_state(const void *what, attempt *a)
{
    const stored *k = what;
    pawl_state *st = NULL;
    pawl_code rc = pawl_state_new(k->m, &other, (unsigned)k->after, &a->alloc, &st, &a->err);

    pawl_state_free(st);
    return rc;
}

static pawl_code make_replay(const void *what, attempt *a)
{
    const stored *k = what;
    pawl_state *st = NULL;
    pawl_code rc = pawl_replay((pawl_bytes){ k->j.data, k->j.size }, 0, &a->alloc, &st, &a->err);

    CHECK((st != NULL) == (rc == PAWL_OK));
    pawl_state_free(st);
    return rc;
}

static pawl_code make_verdict(const void *what, attempt *a)
{
    const stored *k = what;
    pawl_verdict v;

    return pawl_verify(k->m, (pawl_bytes){ k->j.data, k->j.size }, &a->alloc, &v, &a->err);
}

/* From the snapshot, then the tail, then everything that was left in the journal. */
static pawl_code make_loaded(const void *what, attempt *a)
{
    const stored *k = what;
    journal_text j = k->j;
    pawl_loader loader = journal_loader(&j);
    pawl_state *st = NULL;
    pawl_step *s = pawl_step_new(&a->alloc);
    pawl_code rc = s == NULL ? fail(&a->err, PAWL_NOMEM, "no step") : pawl_state_load(k->base, k->snapshot, &loader, &a->alloc, &st, &a->err);
    size_t at = k->after;
    pawl_bytes line;
    pawl_entry *e;

    while (rc == PAWL_OK && journal_line(&j, &at, &line))
        if ((rc = pawl_entry_read(line, s, &e, &a->err)) == PAWL_OK)
            rc = pawl_apply(st, e, &a->err);
    if (rc == PAWL_OK && pawl_state_json(st, s, &a->err) == NULL)
        rc = a->err.code;
    pawl_state_free(st);
    pawl_step_free(s);
    return rc;
}

static void journal_march(const scene *sc)
{
    stored k = { .sc = sc };
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    story y;

    for (story_begin(&y, sc); story_next(&y); story_stored(&y)) {
        if (y.marks > 0 || k.after > 0 || y.st->seq < 3 || y.st->nmarks > 0)
            continue;           /* a snapshot in the middle */
        CHECK_INT(pawl_state_snapshot(y.st, s, &k.snapshot, &err), PAWL_OK);
        k.after = y.journal.size + strlen(y.bytes) + 1;
    }
    buf_char(&y.journal, '\0');
    y.journal.size--;
    k.m = y.m;
    k.j = text_of(&y);
    k.base = (pawl_bytes){ k.j.data, strcspn(k.j.data, "\n") };
    if (k.after == 0)
        k.after = k.base.size + 1;
    make_march(make_replay, &k, sc->name);
    make_march(make_verdict, &k, sc->name);
    make_march(make_loaded, &k, sc->name);
    pawl_step_free(s);
    story_end(&y);
}

PAWL_TEST(test_K6_loading_without_memory_is_refused)
{
    for (size_t i = 0; i < scene_count; i++)
        journal_march(&scenes[i]);
}

PAWL_TEST(test_a_run_without_memory_is_none)
{
    for (size_t i = 0; i < scene_count; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_machine *m = scenes[i].machine(NULL, &err);
        stored k = { .m = m };

        make_march(make_state, &k, scenes[i].name);
        k.after = PAWL_NO_JOURNAL;
        make_march(make_state, &k, scenes[i].name);
        pawl_machine_free(m);
    }
}

/* ---- runs that keep no journal -------------------------------------------------------------------------------------------- */

/* Looking at what is open asks for memory too, and is not what is marched through here. */
static bool next_in_peace(play *p, attempt *a, pawl_step *look, pawl_event *ev)
{
    heap armed = a->h;
    bool more;

    heap_fail_never(&a->h);
    more = play_next(p, a->st, look, ev);
    a->h.calls = armed.calls;
    a->h.fail_at = armed.fail_at;
    a->h.fired = armed.fired;
    return more;
}

/* The same story without bytes: whatever allocation of it all is refused, the next try goes on from where it stood. */
static void unjournaled(const scene *sc, pawl_machine *m, size_t n, char **told_last, bool *fired)
{
    pawl_event ev;
    play p = { .sc = sc };
    pawl_step *look = pawl_step_new(NULL);
    const char *text;
    attempt a;

    attempt_begin(&a);
    CHECK((a.s = step_of(&a.alloc, true)) != NULL);
    CHECK_INT(pawl_state_new(m, &other, PAWL_NO_JOURNAL, &a.alloc, &a.st, &a.err), PAWL_OK);
    heap_fail_at(&a.h, n);
    while (next_in_peace(&p, &a, look, &ev)) {
        pawl_code rc = pawl_feed(m, a.st, &ev, a.s, &a.err);

        if (rc == PAWL_NOMEM)
            rc = pawl_feed(m, a.st, &ev, a.s, &a.err);
        if (rc < 0)
            CHECK_FAIL("%s: allocation %zu refused: %s", sc->name, n, a.err.text);
        if ((rc = pawl_apply(a.st, pawl_step_entry(a.s), &a.err)) == PAWL_NOMEM)
            rc = pawl_apply(a.st, pawl_step_entry(a.s), &a.err);
        CHECK_INT(rc, PAWL_OK);
    }
    *fired = a.h.fired;
    heap_fail_never(&a.h);
    CHECK((text = pawl_state_json(a.st, look, &a.err)) != NULL);
    if (*told_last == NULL)
        *told_last = strdup(text);
    CHECK_STR(text, *told_last);
    attempt_end(&a);
    pawl_step_free(look);
}

PAWL_TEST(test_a_run_without_a_journal_goes_on_after_any_refusal)
{
    for (size_t i = 0; i < scene_count; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_machine *m = scenes[i].machine(NULL, &err);
        char *text = NULL;
        bool fired = true;

        for (size_t n = 0; fired; n++)
            unjournaled(&scenes[i], m, n, &text, &fired);
        free(text);
        pawl_machine_free(m);
    }
}

int main(int argc, char **argv)
{
    static const check_case cases[] = {
        CASE(test_feed_without_memory_leaves_the_state_as_it_was),
        CASE(test_apply_without_memory_is_whole_or_not_at_all),
        CASE(test_an_entry_that_is_read_without_memory_changes_nothing),
        CASE(test_K7_a_snapshot_without_memory_is_none),
        CASE(test_K10_bases_without_memory_are_none),
        CASE(test_what_is_open_is_asked_without_memory),
        CASE(test_G12_a_picture_without_memory_is_none),
        CASE(test_a_machine_without_memory_is_none),
        CASE(test_G1_a_check_without_memory_is_none),
        CASE(test_G1_faults_without_memory_are_not_told_in_part),
        CASE(test_K6_loading_without_memory_is_refused),
        CASE(test_a_run_without_memory_is_none),
        CASE(test_a_run_without_a_journal_goes_on_after_any_refusal),
    };

    return check_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
