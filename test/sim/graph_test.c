/* graph_test.c - random graphs: the kernel and the reference come to the same, superstep by superstep (G2, G3, E2).
 *
 * In the kernel's run answers arrive in any order, some of them twice; it crashes between any two events, and is loaded from
 * the base or from a snapshot. None of that may show. `--seed N` plays the graph of seed N alone, and prints it if it fails.
 * Every FULLY_CHECKED-th graph has all invariants of the test world checked after every step (K2, K6). */
#include "kernel/frame.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "sim/machine.h"
#include "sim/reference.h"

#include <stdlib.h>
#include <string.h>

/* a test is a program of one file */
#include "sim/generate.c"
#include "sim/machine.c"
#include "sim/print.c"
#include "sim/program.c"
#include "sim/reference.c"

enum { FIRST_SEED = 1000, SEEDS = 2000, SEEDS_ALL = 100000, FULLY_CHECKED = 50, EVENTS_MAX = 20000 };

enum { TOLD_MAX = 16, LATE_MAX = 512 };

typedef struct simulation {
    world w;
    sim_graph *g;
    uint64_t random;
    uint64_t superstep;         /* of the run, that was looked at last */
    buf note, keys, notes;      /* keys: "\nKEY\n" each; notes: KEY, NUL, text, NUL each */
    size_t keys_then, notes_then;   /* when this superstep stood ready */
    sim_told told[TOLD_MAX + LATE_MAX];     /* what the run was told from outside, for the reference to know */
    size_t ntold, nlate;
    int reopened, forks;
} simulation;

/* The graph that is being played: still there when its test was left by a failed check. */
static const sim_graph *playing;

static void tell_failed(void)
{
    if (playing == NULL)
        return;
    sim_print(playing, stderr);
    fprintf(stderr, "    again: --seed %llu\n", (unsigned long long)playing->seed);
    playing = NULL;
}

/* ---- looking at every superstep --------------------------------------------------------------------- */

static bool is_new(simulation *s, const char *key)
{
    char line[PATH_BYTES_MAX + 64];

    snprintf(line, sizeof line, "\n%s\n", key);
    if (s->keys.size > 0 && strstr(s->keys.data, line) != NULL)
        return false;
    if (s->keys.size > 0)
        s->keys.size--;
    buf_text(&s->keys, line);
    buf_char(&s->keys, '\0');
    return true;
}

static void note_frame(simulation *s, const frame *f, const char *key)
{
    if (!is_new(s, key))
        return;
    sim_note(s->w.st, f, &s->note);
    buf_put(&s->notes, key, strlen(key) + 1);
    buf_put(&s->notes, s->note.data, strlen(s->note.data) + 1);
}

/* The subgraphs that are open in the tasks of `f`; `prefix` leads to their names. */
static void note_inside(simulation *s, const frame *f, const char *prefix)
{
    char path[PATH_BYTES_MAX], key[PATH_BYTES_MAX + 32];

    for (uint32_t i = 0; i < f->ntasks; i++) {
        const task *tk = &f->tasks[i];

        if (tk->child == NULL)
            continue;
        snprintf(path, sizeof path, "%s%s/%u/%llu/", prefix, tk->name, (unsigned)tk->visit, (unsigned long long)tk->child->superstep);
        snprintf(key, sizeof key, "%llu:%.*s", (unsigned long long)s->w.st->root.superstep, (int)strlen(path) - 1, path);
        if (tk->child->superstep > 0)       /* 0: it could not begin */
            note_frame(s, tk->child, key);
        note_inside(s, tk->child, path);
    }
}

static void note_now(simulation *s)
{
    const frame *f = &s->w.st->root;
    char key[32];

    if (f->superstep != s->superstep) {
        CHECK_INT(f->superstep, s->superstep + 1);      /* none is passed unseen */
        s->superstep = f->superstep;
        snprintf(key, sizeof key, "%llu", (unsigned long long)s->superstep);
        note_frame(s, f, key);
        s->keys_then = s->keys.size;
        s->notes_then = s->notes.size;
    }
    note_inside(s, f, "");
}

static void check_all(simulation *s)
{
    const char *code = pawl_value_string(pawl_value_get(pawl_state_reason(s->w.st), "code")), *text;
    ref_run *r = ref_play(s->g, s->told, s->ntold);

    for (const char *key = s->notes.data, *end = s->notes.size > 0 ? key + s->notes.size : key; key < end; key = text + strlen(text) + 1) {
        const char *note = ref_note_of(r, key);

        text = key + strlen(key) + 1;
        if (note == NULL)
            CHECK_FAIL("superstep %s: the reference has none such\n  is   %s", key, text);
        if (strcmp(text, note) != 0)
            CHECK_FAIL("superstep %s\n  is   %s\n  not  %s", key, text, note);
    }
    CHECK_STR(world_status(&s->w), r->status);
    CHECK_STR(code != NULL ? code : "", r->code);
    CHECK_STR(world_all(&s->w), r->channels);
    CHECK_INT(s->superstep, r->supersteps);
    ref_free(r);
}

/* ---- a run ---------------------------------------------------------------------------------------------- */

static void feed(simulation *s, const pawl_event *ev)
{
    pawl_code rc = world_feed(&s->w, ev);

    if (rc < 0 || rc == PAWL_IGNORED)
        CHECK_FAIL("event %s %s: %s", pawl_event_kind_name(ev->kind), ev->id != NULL ? ev->id : "", rc < 0 ? s->w.err.text : "ignored");
    note_now(s);
}

static void feed_in_vain(simulation *s, const pawl_event *ev)
{
    CHECK_INT(world_feed(&s->w, ev), PAWL_IGNORED);
}

static void begin(simulation *s)
{
    const pawl_run_info info = { .id = "run-1", .life = 1, .seed = 7, .created_ms = 1000 };
    char input[SIM_INPUT_BYTES];
    world *w = &s->w;
    pawl_err err = { PAWL_OK, "" };

    *w = (world){ .m = sim_machine(s->g), .now = 1000, .alloc = mem_or_default(NULL) };
    w->quiet = s->g->seed / SIM_FAMILIES % FULLY_CHECKED != 0;
    buf_init(&w->journal, &w->alloc);
    buf_init(&w->trace, &w->alloc);
    buf_init(&w->snapshot, &w->alloc);
    buf_init(&s->note, &w->alloc);
    buf_init(&s->keys, &w->alloc);
    buf_init(&s->notes, &w->alloc);
    w->s = pawl_step_new(NULL);
    w->look = pawl_step_new(NULL);
    if (pawl_state_new(w->m, &info, 0, NULL, &w->st, &err) != PAWL_OK)
        CHECK_FAIL("new: %s", err.text);
    world_base(w, pawl_state_base(w->st));
    feed(s, &(pawl_event){ .kind = PAWL_EV_START, .value = sim_input(s->g, input) });
}

/* ---- what may happen to a run at any time, and changes nothing ----------------------------------------------- */

/* Thrown away and loaded again, it is the same (K6). */
static void crash(simulation *s)
{
    char *before = strdup(world_fold(s->w.st, s->w.look));

    world_crash(&s->w);
    CHECK_STR(world_fold(s->w.st, s->w.look), before);
    free(before);
}

/* The run goes on as a fork of itself (K10): what is open is asked anew, so the visits of a superstep begin again. */
static void fork_off(simulation *s)
{
    char id[32];
    const pawl_run_info info = { .id = id, .life = (uint64_t)s->forks + 2, .seed = 7, .created_ms = s->w.now };

    if (s->w.st->nmarks > 0 || s->w.st->pending != NULL || s->reopened > 0)
        return;
    snprintf(id, sizeof id, "fork-%d", ++s->forks);
    world_fork(&s->w, &info);
    s->notes.size = s->notes_then;      /* what was seen inside comes again, perhaps otherwise */
    s->keys.size = s->keys_then;
    s->keys.data[s->keys.size - 1] = '\0';
}

static void prune(simulation *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes base;

    if (s->w.st->nmarks > 0)
        return;
    if (pawl_state_prune(s->w.st, s->w.look, &base, &err) != PAWL_OK)
        CHECK_FAIL("prune: %s", err.text);
    world_base(&s->w, base);
    world_crash(&s->w);
}

static void disturb(simulation *s)
{
    int what = sim_below(&s->random, 100);

    if (what < 6)
        crash(s);
    else if (what < 12 && s->w.st->nmarks == 0)
        world_snapshot(&s->w);
    else if (what < 16 && pawl_state_next(s->w.st) != PAWL_OK)
        feed_in_vain(s, &(pawl_event){ .kind = PAWL_EV_TICK });
    else if (what < 20)
        s->w.now += sim_below(&s->random, 100);
    else if (what < 22)
        fork_off(s);
    else if (what < 24)
        prune(s);
}

/* ---- what happens to it ------------------------------------------------------------------------------------------ */

/* An answer to a question of the run's own frame that brings an update after others came is noted for the reference. */
static void note_late(simulation *s, const sim_answer *a)
{
    const char *at = strchr(a->id, '/'), *dot = at != NULL ? strchr(at, '.') : NULL, *end = dot != NULL ? strchr(dot + 1, '.') : NULL;
    sim_told *t = &s->told[s->ntold];
    int after = 0;

    for (size_t i = 0; i < s->ntold; i++)
        after += s->told[i].when == SIM_AT_OPEN && s->told[i].at == s->w.st->root.superstep;
    if (a->ev.update == NULL || after == 0 || strchr(at + 1, '/') != NULL)
        return;
    CHECK(end != NULL && (size_t)(end - dot) < sizeof t->task && s->nlate < LATE_MAX);
    *t = (sim_told){ .when = SIM_LATE, .at = s->w.st->root.superstep, .visit = (int)strtol(end + 1, NULL, 10), .number = a->number, .after = after };
    memcpy(t->task, dot + 1, (size_t)(end - dot - 1));
    s->ntold++;
    s->nlate++;
}

static void answer_any(simulation *s)
{
    size_t open = pawl_state_commands(s->w.st) + pawl_state_waits(s->w.st);
    sim_answer a = { .ev = { .kind = PAWL_EV_TICK } };

    if (open == 0)
        CHECK_FAIL("nothing is open, and the run is not over");
    (void)sim_open(s->w.st, s->w.look, (size_t)sim_below(&s->random, (int)open), &a);
    if (a.ev.kind == PAWL_EV_TIMER && a.ev.time_ms < s->w.now)
        a.ev.time_ms = s->w.now;
    note_late(s, &a);
    feed(s, &a.ev);
    if (a.ev.kind == PAWL_EV_RECEIPT && sim_below(&s->random, 12) == 0)
        feed_in_vain(s, &a.ev);         /* E6: once more changes nothing */
}

/* One more thing told; the text of its object. */
static const char *say(simulation *s, sim_when when, unsigned long at, char *out, size_t size)
{
    sim_told *t = &s->told[s->ntold++];

    *t = (sim_told){ .when = when, .at = at, .reopened = s->reopened, .channel = sim_below(&s->random, s->g->nchannels) };
    t->value = sim_below(&s->random, SIM_BELOW);
    snprintf(out, size, "{\"c%d\":%d}", t->channel, t->value);
    return out;
}

static void update(simulation *s)
{
    const frame *f = &s->w.st->root;
    char text[32];

    if (s->ntold - s->nlate == TOLD_MAX || f->ntasks == 0 || pawl_state_next(s->w.st) == PAWL_HALTED)
        return;
    feed(s, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = say(s, f->open ? SIM_AT_OPEN : SIM_AT_READY, f->superstep, text, sizeof text) });
}

static bool reopen(simulation *s)
{
    pawl_event ev = { .kind = PAWL_EV_REOPEN };
    char text[32];

    if (pawl_state_status(s->w.st) != PAWL_STATUS_FAILED || s->reopened == s->g->reopens)
        return false;
    if (s->ntold - s->nlate < TOLD_MAX && sim_below(&s->random, 3) == 0)
        ev.update = say(s, SIM_AT_REOPEN, (unsigned long)s->reopened, text, sizeof text);
    s->reopened++;
    feed(s, &ev);
    return true;
}

static void play_on(simulation *s)
{
    for (int i = 0; pawl_state_next(s->w.st) != PAWL_HALTED || reopen(s); i++) {
        if (i == EVENTS_MAX)
            CHECK_FAIL("it does not end");
        disturb(s);
        if (s->g->updates && sim_below(&s->random, 100) < 8)
            update(s);
        if (pawl_state_next(s->w.st) == PAWL_OK)
            feed(s, &(pawl_event){ .kind = PAWL_EV_TICK });
        else if (pawl_state_next(s->w.st) != PAWL_HALTED)
            answer_any(s);
    }
}

static void play_seed(uint64_t seed)
{
    simulation s = { .g = sim_generate(seed), .random = seed };

    playing = s.g;
    begin(&s);
    play_on(&s);
    check_all(&s);
    crash(&s);
    buf_free(&s.note);
    buf_free(&s.keys);
    buf_free(&s.notes);
    world_end(&s.w);
    playing = NULL;
    sim_free(s.g);
}

static void play_family(sim_family family)
{
    uint64_t count = (uint64_t)(check_run_all() ? SEEDS_ALL : SEEDS) / SIM_FAMILIES;

    tell_failed();
    if (check_seed() != 1 && sim_family_of(check_seed()) != family)
        check_skip("the seed is of another family");
    if (check_seed() != 1)
        play_seed(check_seed());
    for (uint64_t i = 0; i < count && check_seed() == 1; i++)
        play_seed(FIRST_SEED + SIM_FAMILIES * i + (uint64_t)family);
}

PAWL_TEST(test_G2_G3_plain_graphs_come_to_what_the_reference_says) { play_family(SIM_PLAIN); }
PAWL_TEST(test_G5_W4_pauses_come_to_what_the_reference_says) { play_family(SIM_PAUSES); }
PAWL_TEST(test_G4_E7_failures_come_to_what_the_reference_says) { play_family(SIM_FAILURES); }
PAWL_TEST(test_G6_subgraphs_come_to_what_the_reference_says) { play_family(SIM_SUBGRAPHS); }

int main(int argc, char **argv)
{
    int rc = check_main(argc, argv);

    tell_failed();
    return rc;
}
