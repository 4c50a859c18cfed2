/* stream_sim_test.c - random graphs, killed, disturbed and read along from anywhere: whoever reads sees what is stored, each event once.
 *
 * What a reader is told, put together over all its lives, must be the part behind its cursor, of its kinds, of the list that the
 * finished store gives to one who comes last. */
#include "kernel/step.h"
#include "lib/item_list.h"
#include "pawl/engine.h"
#include "pawl/stream.h"
#include "sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a test is a program of one file */
#include "sim/generate.c"
#include "sim/machine.c"
#include "sim/print.c"

enum { ROUNDS = 40, ROUNDS_ALL = 2000, ACTIONS_MAX = 400, READERS = 6, ALL = PAWL_STREAM_GAP * 2 - 1 };

typedef struct heard { uint64_t seq, index; unsigned kind; size_t at; } heard;     /* its text, in `text` */
typedef struct list_of { heard *all; size_t n, cap; buf text; } list_of;

typedef struct along {          /* a reader, and all that it was ever told */
    pawl_stream *r;
    bool attached;
    unsigned kinds;
    char from[48];              /* where its first life began */
    list_of told;
    uint64_t live;              /* the last live number of this life */
} along;

typedef struct scene {
    sim_graph *g;
    pawl_store *store, *other;  /* the engine's; another handle on it, where there can be one */
    const pawl_store_verbs *real;
    pawl_store_verbs verbs;
    char path[160];
    pawl_engine *e;
    pawl_step *look;
    along readers[READERS];
    int64_t now;
    bool begun, handlers, failing;
} scene;

static scene *here;             /* what the store's append belongs to */

/* ---- what was told --------------------------------------------------------------------------------- */

static bool heard_add(list_of *l, const pawl_stream_event *ev)
{
    const pawl_alloc mem = mem_or_default(NULL);

    if (!mem_room(&mem, (void **)&l->all, &l->cap, l->n, sizeof *l->all))
        return false;
    l->all[l->n++] = (heard){ ev->seq, ev->index, ev->kind, l->text.size };
    buf_fmt(&l->text, "%s %d %s %s %s %s %lld %s", ev->cursor, (int)ev->kind, ev->name, ev->path, ev->node, ev->id != NULL ? ev->id : "-",
            (long long)ev->time_ms, ev->json);
    buf_char(&l->text, '\0');
    return !l->text.failed;
}

static void heard_free(list_of *l)
{
    const pawl_alloc mem = mem_or_default(NULL);

    mem_free(&mem, l->all, l->cap * sizeof *l->all);
    buf_free(&l->text);
    *l = (list_of){0};
}

static void heard_begin(list_of *l)
{
    *l = (list_of){0};
    buf_init(&l->text, NULL);
}

/* ---- readers ------------------------------------------------------------------------------------------ */

static void reader_opens(scene *s, along *a, const char *from)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *store = a->attached ? (check_rand_below(2) == 0 ? s->other : NULL) : s->other != NULL ? s->other : s->store;

    a->r = pawl_stream_open(a->attached ? s->e : NULL, store, "r", &(pawl_stream_options){ .from = from, .kinds = a->kinds }, &err);
    if (a->r == NULL)
        CHECK_FAIL("from %s: %s", from != NULL ? from : "the beginning", err.text);
    a->live = 0;
}

/* From the beginning, from now, or from any event that somebody has seen. */
static void reader_comes(scene *s, along *a)
{
    const along *seen = &s->readers[check_rand_below(READERS)];
    const char *from = NULL;

    heard_begin(&a->told);
    a->attached = check_rand_below(2) == 0;
    a->kinds = check_rand_below(3) == 0 ? ALL : (unsigned)check_rand_below(PAWL_STREAM_GAP - 1) + 1;
    snprintf(a->from, sizeof a->from, "1.0");
    if (check_rand_below(4) == 0) {
        from = "now";
    } else if (seen != a && seen->told.n > 0 && check_rand_below(2) == 0) {
        const heard *h = &seen->told.all[check_rand_below(seen->told.n)];

        snprintf(a->from, sizeof a->from, "%llu.%llu", (unsigned long long)h->seq, (unsigned long long)h->index);
        from = a->from;
    }
    reader_opens(s, a, from);
    if (from != NULL && from != a->from)
        snprintf(a->from, sizeof a->from, "%s", pawl_stream_cursor(a->r));
}

static void reader_leaves(along *a)
{
    pawl_stream_close(a->r);
    a->r = NULL;
}

static void reader_gone(along *a)
{
    reader_leaves(a);
    heard_free(&a->told);
}

/* Goes on where it was: at the last event it was told, or at what is behind it. */
static void reader_returns(scene *s, along *a)
{
    const heard *last = a->told.n > 0 ? &a->told.all[a->told.n - 1] : NULL;
    char from[48];

    snprintf(from, sizeof from, "%s", a->from);
    if (last != NULL)
        snprintf(from, sizeof from, "%llu.%llu", (unsigned long long)last->seq, (unsigned long long)last->index);
    if (a->r != NULL && check_rand_below(2) == 0)
        snprintf(from, sizeof from, "%s", pawl_stream_cursor(a->r));
    reader_leaves(a);
    reader_opens(s, a, from);
}

static pawl_code reader_reads(along *a, uint64_t most)
{
    pawl_stream_event ev;
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    for (uint64_t i = 0; i < most && (rc = pawl_stream_next(a->r, &ev, &err)) == PAWL_OK; i++) {
        if (ev.kind == PAWL_STREAM_GAP)
            continue;           /* of live events: the ring is small */
        if (ev.live == 0)
            CHECK(heard_add(&a->told, &ev));
        else if (ev.live <= a->live)
            CHECK_FAIL("live event %llu after %llu", (unsigned long long)ev.live, (unsigned long long)a->live);
        else
            a->live = ev.live;
    }
    if (rc < 0)
        CHECK_FAIL("next: %s", err.text);
    return rc;
}

/* All that is left. On an engine what that did not tell, since it was told that an append had failed, is looked for now and then. */
static void reader_ends(scene *s, along *a)
{
    if (a->attached || check_rand_below(2) == 0)
        reader_returns(s, a);
    (void)reader_reads(a, UINT64_MAX);
}

static void someone_reads(scene *s)
{
    along *a = &s->readers[check_rand_below(READERS)];
    uint64_t what = check_rand_below(10);

    if (a->r == NULL)
        reader_comes(s, a);
    else if (what == 0)
        reader_returns(s, a);
    else
        (void)reader_reads(a, 1 + check_rand_below(12));
}

/* ---- the world --------------------------------------------------------------------------------------------- */

static int64_t scene_now(void *ctx) { return ((scene *)ctx)->now; }

static void scene_sleep(void *ctx, int64_t time_ms)
{
    scene *s = ctx;

    s->now = time_ms > s->now ? time_ms : s->now + 1;
}

/* An append that fails: nothing was stored, or all was, and nobody said so. */
static pawl_code append_fails(pawl_store *store, pawl_append *all, size_t n, pawl_err *err)
{
    uint64_t what = here->failing ? check_rand_below(24) : 2;
    pawl_code rc = what == 0 ? PAWL_OK : here->real->append(store, all, n, err);

    if (what > 1)
        return rc;
    if (err != NULL)
        *err = (pawl_err){ PAWL_IO, "the disk is gone" };
    return PAWL_IO;
}

static void close_not(pawl_store *store) { (void)store; }

static pawl_code answers(const pawl_job *job, pawl_reply *reply, void *arg)
{
    sim_reply r = sim_effect(*(const sim_kind *)arg, "[]");

    for (int i = 0; i < 3; i++)
        CHECK_INT(job->say(job, i == 0 ? "message" : "moved", "{\"n\":1}"), PAWL_OK);
    if (r.error)
        return pawl_reply_fail(reply, PAWL_INVALID, "no");
    return r.list ? pawl_reply_json(reply, "[1,2,3,4,5]") : pawl_reply_int(reply, r.items[0]);
}

static void watched(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    scene *s = ctx;

    (void)st, (void)entry;
    while (check_rand_below(3) == 0)
        someone_reads(s);
}

static void engine_comes(scene *s)
{
    static const sim_kind kinds[] = { SIM_CALL, SIM_LISTING, SIM_ROUGH };
    static const char *const names[] = { "num", "list", "rough" };
    const pawl_clock clock = { scene_now, scene_sleep, s };
    pawl_err err = { PAWL_OK, "" };
    union { const sim_kind *in; void *out; } arg;

    s->e = pawl_engine_new(sim_machine(s->g), s->store, &err);
    CHECK(s->e != NULL);
    pawl_engine_clock(s->e, &clock);
    pawl_engine_lease(s->e, "scene", 0);
    pawl_engine_watch(s->e, watched, s);
    pawl_engine_durability(s->e, check_rand_below(2) == 0 ? PAWL_DURABLE_SYNC : check_rand_below(2) == 0 ? PAWL_DURABLE_ASYNC : PAWL_DURABLE_EXIT);
    if (check_rand_below(2) == 0)
        CHECK_INT(pawl_engine_live(s->e, 1 + check_rand_below(20), 100 + check_rand_below(4000), &err), PAWL_OK);
    for (size_t i = 0; i < 3 && s->handlers; i++) {
        arg.in = &kinds[i];
        CHECK_INT(pawl_engine_effect(s->e, names[i], answers, arg.out, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    }
}

static pawl_store *file_opened(const scene *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *store = pawl_store_sqlite(s->path, &(pawl_sqlite){ .normal = true }, &err);

    if (store == NULL)
        CHECK_FAIL("%s", err.text);
    return store;
}

/* The engine goes, and whoever reads on it; the store is opened again where it is a file. */
static void killed(scene *s)
{
    for (int i = 0; i < READERS; i++)
        if (s->readers[i].r != NULL && s->readers[i].attached)
            reader_leaves(&s->readers[i]);
    pawl_engine_watch(s->e, NULL, NULL);
    pawl_engine_free(s->e);
    if (s->other != NULL) {
        s->store->verbs = s->real;
        pawl_store_free(s->store);
        s->store = file_opened(s);
        s->store->verbs = &s->verbs;
    }
    engine_comes(s);
    for (int i = 0; i < READERS; i++)
        if (s->readers[i].r == NULL && s->readers[i].told.text.alloc.resize != NULL)
            reader_returns(s, &s->readers[i]);
}

static void scene_begin(scene *s, uint64_t seed, bool file)
{
    *s = (scene){ .g = sim_generate(seed), .now = 1000, .look = pawl_step_new(NULL), .handlers = check_rand_below(2) == 0 };
    if (file) {
        snprintf(s->path, sizeof s->path, "%.120s/stream-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
        CHECK(mkdtemp(s->path) != NULL);
        snprintf(s->path + strlen(s->path), 3, "/a");
    }
    here = s;
    s->store = file ? file_opened(s) : pawl_store_memory(NULL);
    s->other = file ? file_opened(s) : NULL;
    s->real = s->store->verbs;
    s->verbs = *s->real;
    s->verbs.close = close_not;
    s->verbs.append = append_fails;
    s->store->verbs = &s->verbs;
    engine_comes(s);
}

static void scene_end(scene *s)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char side[180];

    for (int i = 0; i < READERS; i++)
        reader_gone(&s->readers[i]);
    pawl_engine_watch(s->e, NULL, NULL);
    pawl_engine_free(s->e);
    s->store->verbs = s->real;
    pawl_store_free(s->store);
    pawl_store_free(s->other);
    pawl_step_free(s->look);
    sim_free(s->g);
    for (size_t i = 0; i < 4 && *s->path != '\0'; i++) {
        snprintf(side, sizeof side, "%s%s", s->path, ends[i]);
        remove(side);
    }
    if (*s->path != '\0') {
        *strrchr(s->path, '/') = '\0';
        remove(s->path);
    }
}

/* ---- a round ------------------------------------------------------------------------------------------------- */

static bool there(scene *s)
{
    pawl_head head;

    return s->store->verbs->head(s->store, "r", &head, NULL) == PAWL_OK;
}

/* Something is told to the run; whatever it says to that. */
static void someone_acts(scene *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st = s->begun ? pawl_run_state(s->e, "r", &err) : NULL;
    size_t n = st == NULL ? 0 : pawl_state_commands(st) + pawl_state_waits(st);
    uint64_t what = check_rand_below(40);
    char input[SIM_INPUT_BYTES];
    sim_answer a;

    s->now += (int64_t)check_rand_below(5);
    if (st == NULL) {
        (void)(pawl_run(s->e, "r", sim_input(s->g, input), &err) == PAWL_OK);
        s->begun = there(s);
    } else if (what == 0) {
        (void)(pawl_event_send(s->e, "r", &(pawl_event){ .kind = PAWL_EV_CANCEL }, &err) == PAWL_OK);
    } else if (what == 1) {
        (void)(pawl_event_send(s->e, "r", &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"c0\":5}" }, &err) == PAWL_OK);
    } else if (what < 5 || n == 0) {
        (void)(pawl_run(s->e, "r", NULL, &err) == PAWL_OK);
    } else if (sim_open(st, s->look, check_rand_below(n), &a)) {
        (void)(pawl_event_send(s->e, "r", &a.ev, &err) == PAWL_OK);
    }
    if (st != NULL && (st = pawl_run_state(s->e, "r", &err)) != NULL && pawl_state_status(st) == PAWL_STATUS_FAILED && check_rand_below(2) == 0)
        (void)(pawl_event_send(s->e, "r", &(pawl_event){ .kind = PAWL_EV_REOPEN }, &err) == PAWL_OK);
}

static bool behind(const heard *h, uint64_t seq, uint64_t index)
{
    return h->seq < seq || (h->seq == seq && h->index <= index);
}

static void compare(const along *a, const list_of *whole, uint64_t seed)
{
    unsigned long long seq = 0, index = 0;
    size_t k = 0;

    CHECK_INT(sscanf(a->from, "%llu.%llu", &seq, &index), 2);
    for (size_t i = 0; i < whole->n; i++) {
        const heard *h = &whole->all[i];

        if (behind(h, seq, index) || (h->kind & a->kinds) == 0)
            continue;
        if (k == a->told.n)
            CHECK_FAIL("graph %llu, from %s: never told %s", (unsigned long long)seed, a->from, whole->text.data + h->at);
        if (strcmp(whole->text.data + h->at, a->told.text.data + a->told.all[k].at) != 0)
            CHECK_FAIL("graph %llu, from %s: told %s where there is %s", (unsigned long long)seed, a->from, a->told.text.data + a->told.all[k].at,
                       whole->text.data + h->at);
        k++;
    }
    if (k != a->told.n)
        CHECK_FAIL("graph %llu, from %s: told once more %s", (unsigned long long)seed, a->from, a->told.text.data + a->told.all[k].at);
}

/* Every place is there, in order; each told by the journal alone. */
static void whole_read(scene *s, list_of *whole, uint64_t seed)
{
    along a = { .kinds = ALL };

    heard_begin(&a.told);
    reader_opens(s, &a, NULL);
    (void)reader_reads(&a, UINT64_MAX);
    for (size_t i = 0; i < a.told.n; i++) {
        const heard *h = &a.told.all[i];
        bool next = i == 0 ? h->seq == 1 && h->index == 1 : h->seq == h[-1].seq ? h->index == h[-1].index + 1 : h->seq == h[-1].seq + 1 && h->index == 1;

        if (!next)
            CHECK_FAIL("graph %llu: a place is left out before %s", (unsigned long long)seed, a.told.text.data + h->at);
    }
    reader_leaves(&a);
    *whole = a.told;
}

/* The same run as items: from any cursor the same, and each thing of it ends once. */
static void items_read(scene *s, uint64_t seed)
{
    pawl_store *store = s->other != NULL ? s->other : s->store;
    item_list whole = item_list_read(NULL, store, "r", NULL, ALL_ITEMS);
    char what[48];

    snprintf(what, sizeof what, "graph %llu", (unsigned long long)seed);
    item_list_check(&whole, what);
    item_list_from_any(store, "r", &whole, 3, what);
    item_list_free(&whole);
}

static size_t round_of(uint64_t seed, bool file)
{
    scene s;
    list_of whole;
    size_t n;

    scene_begin(&s, seed, file);
    while (!s.begun)
        someone_acts(&s);
    s.failing = check_rand_below(2) == 0;
    for (int i = 0; i < ACTIONS_MAX; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_state *st = pawl_run_state(s.e, "r", &err);

        if (st != NULL && pawl_status_terminal(pawl_state_status(st)) && check_rand_below(4) == 0)
            break;
        if (check_rand_below(12) == 0)
            killed(&s);
        else if (check_rand_below(2) == 0)
            someone_reads(&s);
        else
            someone_acts(&s);
    }
    whole_read(&s, &whole, seed);
    for (int i = 0; i < READERS; i++) {
        if (s.readers[i].r == NULL)
            continue;
        reader_ends(&s, &s.readers[i]);
        compare(&s.readers[i], &whole, seed);
    }
    items_read(&s, seed);
    n = whole.n;
    heard_free(&whole);
    scene_end(&s);
    return n;
}

PAWL_TEST(test_G11_whoever_reads_along_from_anywhere_sees_each_event_that_is_stored_once)
{
    int rounds = check_run_all() ? ROUNDS_ALL : ROUNDS;
    size_t n = 0;

    for (int i = 0; i < rounds; i++)
        n += round_of(check_seed() * 100000 + (uint64_t)i, i % 4 == 3);
    printf("%zu events of %d graphs\n", n, rounds);
}
