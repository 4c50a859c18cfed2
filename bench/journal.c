/* journal.c - the bytes of a journal, and how fast it is folded again. */
#include "bench.h"

#include "history/current_state.h"
#include "json/json.h"
#include "stream/projection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 2000, REPLY_BYTES = 1000, ENTRIES = 20000 };

/* ---- a conversation of model calls ------------------------------------------------------------ */

static pawl_code node_ask(pawl_step *s, void *arg)
{
    const pawl_value *reply;
    pawl_code rc = pawl_call(s, "llm", pawl_pack(s, "{s:v}", "messages", pawl_ref(s, "messages")), &reply);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "messages", reply);
    return pawl_follow(s);
}

pawl_machine *talk_machine(void)
{
    pawl_graph *g = pawl_graph_new("talk", 1);

    pawl_graph_channel(g, "messages", PAWL_RULE_APPEND);
    pawl_graph_node(g, "ask", node_ask, NULL);
    pawl_graph_edge(g, PAWL_START, "ask");
    pawl_graph_edge(g, "ask", "ask");
    pawl_graph_max_steps(g, 1000000);
    return bench_compile(g);
}

/* Replies of 1,000 bytes; every call is given all that came before. */
static bool calls2000_bytes(reading *out)
{
    pawl_machine *m = talk_machine();
    pawl_step *step = pawl_step_new(NULL);
    char reply[REPLY_BYTES + 3], id[64];
    double payload = 0;
    run r = { .keep = true };
    bool good = m != NULL && run_begin(&r, m, 0, step, NULL);

    for (int i = 1; i <= CALLS && good; i++) {
        int n = snprintf(reply, sizeof reply, "\"%d ", i);
        pawl_event ev = { .kind = PAWL_EV_RECEIPT, .time_ms = 1700000000000 + i, .id = id, .value = reply };

        memset(reply + n, 'r', (size_t)(REPLY_BYTES + 1 - n));
        memcpy(reply + REPLY_BYTES + 1, "\"", 2);
        snprintf(id, sizeof id, "%d.ask.1.0", i);
        good = run_take(&r, &ev);
        payload += REPLY_BYTES;
    }
    good = good && (pawl_value_size(pawl_state_get(r.st, "messages")) == CALLS || bench_wrong("replies are missing", NULL));
    out->value = (double)r.journal_size / payload;
    out->base = 1;
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- an integer ------------------------------------------------------------------------------------ */

/* The longest entry of a run of a hundred supersteps, each of which adds 1 to a channel; its newline is counted. */
static bool entry_bytes(reading *out)
{
    pawl_machine *m = bench_chain(100);
    pawl_step *step = pawl_step_new(NULL);
    run r = {0};
    bool good = m != NULL && run_begin(&r, m, 0, step, NULL);

    out->value = 0;
    for (int i = 0; i < 100 && good; i++) {
        good = run_tick(&r);
        if ((double)pawl_step_bytes(step).size + 1 > out->value)
            out->value = (double)pawl_step_bytes(step).size + 1;
    }
    out->base = (double)strlen("{\"count\":100}\n");
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- replay ------------------------------------------------------------------------------------------- */

/* The same lines parsed and hashed, and nothing else done with them. */
static bool lines_read(pawl_bytes journal, double *ns, arena *a)
{
    const char *at = journal.data, *end = at + journal.size;
    double from = bench_ns();
    hash h = {{0}}, digest;

    at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at)), *envelope = at + HASH_HEX + 1;
        const char *body = (const char *)memchr(envelope, ' ', (size_t)(nl - envelope)) + 1;
        pawl_bytes parts[3] = { { (const char *)h.b, HASH_BYTES }, { envelope, (size_t)(body - 1 - envelope) },
                                { (const char *)digest.b, HASH_BYTES } };
        hash next;

        arena_reset(a);
        if (value_parse(a, body, (size_t)(nl - body), "a body", NULL) == NULL)
            return bench_wrong("a body is no JSON", NULL);
        hash_of(body, (size_t)(nl - body), &digest);
        hash_parts(parts, 3, &next);
        h = next;
        at = nl + 1;
    }
    *ns = bench_ns() - from;
    return true;
}

static bool replay_entries(reading *out)
{
    static run r = { .keep = true };
    pawl_machine *m = bench_chain(ENTRIES);
    pawl_step *step = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_err err = {0};
    arena a;
    double from, ns, plain = 0;
    bool good = m != NULL && run_begin(&r, m, 0, step, NULL) && run_to_end(&r);
    pawl_bytes journal = { r.journal, r.journal_size };

    arena_init(&a, NULL, 8192);
    from = bench_ns();
    if (good && pawl_replay(journal, 0, NULL, &st, &err) != PAWL_OK)
        good = bench_wrong("replay", &err);
    ns = bench_ns() - from;
    good = good && (pawl_state_seq(st) == pawl_state_seq(r.st) || bench_wrong("entries are missing", NULL));
    good = good && lines_read(journal, &plain, &a);
    out->value = good ? (double)pawl_state_seq(st) / ns * 1e9 : 0;
    out->base = good ? (double)pawl_state_seq(st) / plain * 1e9 : 0;
    pawl_state_free(st);
    arena_free(&a);
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- items ---------------------------------------------------------------------------------------------- */

/* All lines behind the base; *changes grows by what they change. */
static bool lines_projected(pawl_bytes journal, bool project, size_t *lines, size_t *changes)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    const char *at = (const char *)memchr(journal.data, '\n', journal.size) + 1, *end = journal.data + journal.size;
    pawl_err err = {0};
    projection p;
    line_walk w;
    bool good = projection_begin(&p, &alloc, "bench", 1, NULL, &err) == PAWL_OK;

    walk_init(&w, &alloc, "bench");
    w.at.seq = 1;
    for (; good && at < end; (*lines)++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));

        good = line_begin(&w, (pawl_bytes){ at, (size_t)(nl - at) }, &err) == PAWL_OK || bench_wrong("a line", &err);
        while (good && w.entry != NULL) {
            if (project) {
                arena_reset(&w.mem);
                good = project_place(&p, &w, &err) == PAWL_OK || bench_wrong("a place", &err);
                *changes += p.nchanges;
            }
            line_next(&w);
        }
        at = nl + 1;
    }
    projection_free(&p);
    walk_free(&w);
    return good;
}

/* Three nodes that go round. */
static pawl_machine *round_machine(void)
{
    pawl_graph *g = pawl_graph_new("round", 1);
    static const char *const names[] = { "plan", "work", "check" };

    pawl_graph_channel(g, "count", PAWL_RULE_SUM);
    for (size_t i = 0; i < 3; i++)
        pawl_graph_node(g, names[i], node_count, NULL);
    pawl_graph_edge(g, PAWL_START, names[0]);
    for (size_t i = 0; i < 3; i++)
        pawl_graph_edge(g, names[i], names[(i + 1) % 3]);
    pawl_graph_max_steps(g, 1000000);
    return bench_compile(g);
}

/* CPU time since then: other programs do not count. */
static double cpu_ns(clock_t from)
{
    return (double)(clock() - from) * (1e9 / (double)CLOCKS_PER_SEC);
}

static bool items_per_s(reading *out)
{
    static run r = { .keep = true };
    pawl_machine *m = round_machine();
    pawl_step *step = pawl_step_new(NULL);
    size_t lines = 0, changes = 0, none = 0;
    double ns, plain;
    clock_t from;
    bool good = m != NULL && run_begin(&r, m, 0, step, NULL);
    pawl_bytes journal;

    for (int i = 0; i < ENTRIES && good; i++)
        good = run_tick(&r);
    journal = (pawl_bytes){ r.journal, r.journal_size };
    from = clock();
    good = good && lines_projected(journal, true, &lines, &changes);
    ns = cpu_ns(from);
    good = good && (changes > 4 * lines || bench_wrong("changes are missing", NULL));
    from = clock();
    good = good && lines_projected(journal, false, &none, &changes);
    plain = cpu_ns(from);
    out->value = good ? (double)lines / ns * 1e9 : 0;
    out->base = good ? (double)lines / plain * 1e9 : 0;
    run_end(&r);
    pawl_step_free(step);
    pawl_machine_free(m);
    return good;
}

/* ---- a long run is shown ------------------------------------------------------------------------------ */

enum { SHOWN_FEW = 1000, SHOWN_MANY = 20000 };

typedef struct countdown { pawl_engine *e; int left; } countdown;

static void count_down(void *ctx, int64_t who)
{
    countdown *c = ctx;

    (void)who;
    if (--c->left == 0)
        pawl_engine_stop(c->e);
}

/* One look at the run "long" as the program does it; `nth` makes names. */
typedef bool look_fn(pawl_engine *e, pawl_step *step, int nth, pawl_err *err);

/* Loads the run as it is now, and writes its state. */
static bool look_shows(pawl_engine *e, pawl_step *step, int nth, pawl_err *err)
{
    current_state now;
    bool good = current_state_load(&now, pawl_engine_store(e), "long", err) == PAWL_OK && pawl_state_json(now.st, step, err) != NULL;

    (void)nth;
    current_state_free(&now);
    return good;
}

static bool look_draws(pawl_engine *e, pawl_step *step, int nth, pawl_err *err)
{
    pawl_machine *m = loop_machine(&(turns){ NULL, NULL });
    current_state now;
    bool good = m != NULL && current_state_load(&now, pawl_engine_store(e), "long", err) == PAWL_OK &&
                pawl_draw(m, now.st, PAWL_PICTURE_TEXT, step, err) != NULL;

    (void)nth;
    current_state_free(&now);
    pawl_machine_free(m);
    return good;
}

/* A fork near the start of the run: what comes after that entry is not read. */
static bool look_forks(pawl_engine *e, pawl_step *step, int nth, pawl_err *err)
{
    char id[32];

    (void)step;
    snprintf(id, sizeof id, "fork-%d", nth);
    return pawl_run_fork(e, "long", 5, id, err) == PAWL_OK;
}

/* CPU time of a look at a run of so many entries: the least of some. */
static bool look_ns(look_fn *look, int entries, double *least)
{
    disk d;
    countdown c = { .left = entries };
    turns t = { count_down, &c };
    pawl_step *step = pawl_step_new(NULL);
    pawl_err err = {0};
    bool good = disk_begin(&d, true) && (c.e = disk_engine(&d, loop_machine(&t))) != NULL &&
                (pawl_run(c.e, "long", NULL, &err) >= 0 || bench_wrong("a run", &err));

    for (int i = 0; i < 9 && good; i++) {
        clock_t from = clock();
        double ns;

        good = look(c.e, step, i, &err);
        ns = cpu_ns(from);
        *least = i == 0 || ns < *least ? ns : *least;
    }
    pawl_engine_free(c.e);
    pawl_step_free(step);
    disk_end(&d);
    return good || bench_wrong("a long run", &err);
}

static bool look_growth(look_fn *look, reading *out)
{
    double few = 0, many = 0;
    bool good = look_ns(look, SHOWN_FEW, &few) && look_ns(look, SHOWN_MANY, &many);

    *out = (reading){ good ? log(many / few) / log((double)SHOWN_MANY / SHOWN_FEW) : 0, 1 };
    return good;
}

static bool show_growth(reading *out) { return look_growth(look_shows, out); }
static bool draw_growth(reading *out) { return look_growth(look_draws, out); }
static bool fork_growth(reading *out) { return look_growth(look_forks, out); }

/* ---- a list of what changed --------------------------------------------------------------------------- */

static bool no_head(void *ctx, const pawl_head *head)
{
    (void)head;
    *(bool *)ctx = false;
    return false;
}

/* CPU time of a list of what changed since a time, among so many runs of which none has: the least of some. */
static bool since_ns(uint64_t runs, double *least)
{
    const pawl_filter f = { .changed_since_ms = INT64_MAX / 2 };
    disk d;
    pawl_store *s = NULL;
    pawl_err err = {0};
    bool good = disk_begin(&d, true) && disk_runs(&d, runs, 0) && (s = pawl_store_sqlite(d.store, NULL, &err)) != NULL;

    for (int i = 0; i < 99 && good; i++) {
        clock_t from = clock();
        double ns;

        good = s->verbs->list(s, &f, no_head, &good, &err) == PAWL_OK && good;
        ns = cpu_ns(from);
        *least = i == 0 || ns < *least ? ns : *least;
    }
    pawl_store_free(s);
    disk_end(&d);
    return good || bench_wrong("a list", &err);
}

static bool since_growth(reading *out)
{
    double few = 0, many = 0;
    bool good = since_ns(SHOWN_FEW, &few) && since_ns(SHOWN_MANY, &many);

    *out = (reading){ good ? log(many / few) / log((double)SHOWN_MANY / SHOWN_FEW) : 0, 1 };
    return good;
}

const figure journal_figures[] = {
    { "journal.calls2000_bytes", "x", "the payload", 1.7, false, 1, calls2000_bytes },
    { "journal.entry_bytes", "bytes", "the change as JSON", 160, false, 1, entry_bytes },
    { "replay.entries_per_s", "entries/s", "the same lines parsed and hashed", 3e6, true, 9, replay_entries },
    { "items.per_s", "lines/s", "the same lines read, and not projected", 1e6, true, 9, items_per_s },
    { "growth.show", "exponent", "linear growth", 1.1, false, 1, show_growth },
    { "growth.draw", "exponent", "linear growth", 1.1, false, 1, draw_growth },
    { "growth.fork_at", "exponent", "linear growth", 1.1, false, 1, fork_growth },
    { "growth.ls_since", "exponent", "linear growth", 1.1, false, 1, since_growth },
    { 0 },
};
