/* march_make_test.c - the fault march through what is made and unmade: machines, reports, runs, loading, replay and verify. Each
 * allocation fails once: there is the whole, or nothing, and nothing is left behind. */
#include "graph/graph.h"
#include "kernel/state.h"
#include "lib/scene_machines.h"
#include "lib/story.h"

#include <stdlib.h>
#include <string.h>

static const pawl_run_info other = { .id = "run-2", .life = 2, .seed = 8, .created_ms = 2000, .labels = { "x", "y" } };

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

    pawl_graph_channel(g, "x", PAWL_RULE_LAST);
    pawl_graph_channel(g, "x", PAWL_RULE_SUM);
    pawl_graph_channel(g, "custom", PAWL_RULE_CUSTOM);
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
        k.after = PAWL_STATE_NO_JOURNAL;
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

/* The run that the signatures of "pact" are for. */
static const pawl_run_info signed_for = { .id = "run-1", .life = 1, .seed = 8, .created_ms = 2000 };

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
    CHECK_INT(pawl_state_new(m, &signed_for, PAWL_STATE_NO_JOURNAL, &a.alloc, &a.st, &a.err), PAWL_OK);
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
