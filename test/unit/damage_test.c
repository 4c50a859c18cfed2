/* damage_test.c - single bytes of what is stored are changed, one after another: what is loaded is the same, or it is
 * refused in words. Journals are torn at every byte. Never a crash, never another state (K5, K8). */
#include "kernel/state.h"
#include "kernel/step.h"
#include "lib/scenes.h"

#include <stdlib.h>
#include <string.h>

/* ---- a run that is over, and what it stored --------------------------------------------------- */

typedef struct stored {
    world w;
    char *fold;                 /* of its end */
    char *copy;                 /* of the journal, to be damaged */
    size_t size;
} stored;

static const char *const names[] = { "fan", "gate", "nest", "repair", "talk", "race", "rules", "desk" };
enum { NAMES = sizeof names / sizeof *names };

static void stored_begin(stored *d, const char *name)
{
    play p;

    scene_play(&d->w, &p, scene_named(name), SIZE_MAX);
    d->size = d->w.journal.size;
    d->copy = malloc(d->size + 1);
    memcpy(d->copy, d->w.journal.data, d->size);
    d->copy[d->size] = '\0';
    d->fold = strdup(world_fold(d->w.st, d->w.look));
}

static void stored_end(stored *d)
{
    free(d->fold);
    free(d->copy);
    world_end(&d->w);
}

/* Refused, and told why in one line. */
static void check_told(const char *what, size_t at, pawl_code rc, const pawl_err *err)
{
    if (rc != err->code || err->text[0] == '\0' || strchr(err->text, '\n') != NULL || !utf8_valid(err->text, strlen(err->text)))
        CHECK_FAIL("%s, byte %zu: it returns %s, and says %s: %s", what, at, pawl_code_name(rc), pawl_code_name(err->code), err->text);
    if (rc != PAWL_CORRUPT && rc != PAWL_LIMIT && rc != PAWL_GONE)
        CHECK_FAIL("%s, byte %zu: %s is no word for damage: %s", what, at, pawl_code_name(rc), err->text);
}

static size_t stride(void)
{
    return check_run_all() ? 1 : 1 + (size_t)check_rand_below(9);
}

/* Another byte than `c`: a neighbour, another case, a digit, or what JSON is made of. */
static char other_byte(char c, unsigned way)
{
    static const char json[] = "\"[]{},:0 \\n";
    char to = way == 0 ? (char)(c ^ 1) : way == 1 ? (char)(c ^ 0x20) : way == 2 ? (char)(c ^ 0x80) : json[check_rand_below(sizeof json - 1)];

    return to != c ? to : (char)(c + 1);
}

/* ---- journals ------------------------------------------------------------------------------------ */

static void journal_damaged(stored *d, const char *name, size_t at, char to)
{
    const pawl_bytes journal = { d->copy, d->size };
    pawl_err err = { PAWL_OK, "" }, why = { PAWL_OK, "" };
    char from = d->copy[at];
    pawl_state *st = NULL;
    pawl_verdict v;
    pawl_code rc;

    d->copy[at] = to;
    rc = pawl_replay(journal, 0, NULL, &st, &err);
    if (rc != PAWL_OK)
        check_told(name, at, rc, &err);
    else if (strcmp(world_fold(st, d->w.look), d->fold) != 0)
        CHECK_FAIL("%s, byte %zu, '%c' for '%c': another state\n  is   %s\n  not  %s", name, at, to, from, d->w.look->out.data, d->fold);
    pawl_state_free(st);
    rc = pawl_verify(d->w.m, journal, NULL, &v, &why);
    if (rc == PAWL_OK)
        CHECK_FAIL("%s, byte %zu, '%c' for '%c': it verifies", name, at, to, from);
    check_told(name, at, rc, &why);
    d->copy[at] = from;
}

PAWL_TEST(test_K5_any_changed_byte_of_a_journal_is_noticed)
{
    for (size_t i = 0; i < NAMES; i++) {
        stored d;

        stored_begin(&d, names[i]);
        for (size_t at = 0; at + 1 < d.size; at += stride())    /* without its last newline the last line is torn */
            for (unsigned way = 0; way < 4; way++)
                journal_damaged(&d, names[i], at, other_byte(d.copy[at], way));
        stored_end(&d);
    }
}

/* What is torn is as if it had never been stored: the state is that of the last whole line. */
PAWL_TEST(test_K8_a_journal_torn_at_any_byte_is_that_of_its_whole_lines)
{
    for (size_t i = 0; i < NAMES; i++) {
        size_t whole = 0;
        char *fold = NULL;
        stored d;

        stored_begin(&d, names[i]);
        for (size_t n = 0; n <= d.size; n++) {
            pawl_err err = { PAWL_OK, "" };
            pawl_state *st = NULL;
            bool line = n > 0 && d.copy[n - 1] == '\n';
            pawl_code rc;

            if (line)
                whole = n;
            if (!line && n % 7 != 0 && !check_run_all())
                continue;
            rc = pawl_replay((pawl_bytes){ d.copy, n }, 0, NULL, &st, &err);
            if (whole == 0)
                check_told(names[i], n, rc, &err);
            else
                CHECK_INT(rc, PAWL_OK);
            if (line) {
                free(fold);
                fold = strdup(world_fold(st, d.w.look));
            }
            if (whole > 0)
                CHECK_STR(world_fold(st, d.w.look), fold);
            pawl_state_free(st);
        }
        free(fold);
        stored_end(&d);
    }
}

/* Lines left out, doubled or exchanged. */
static void lines_moved(stored *d, const char *name, const size_t *starts, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++) {
        const pawl_bytes parts[3] = { { d->copy, starts[i] }, { d->copy + starts[i], starts[i + 1] - starts[i] },
                                      { d->copy + starts[i + 1], d->size - starts[i + 1] } };

        for (int way = 0; way < 2; way++) {     /* left out, doubled */
            pawl_err err = { PAWL_OK, "" };
            pawl_state *st = NULL;
            pawl_code rc;
            buf b;

            buf_init(&b, NULL);
            buf_put(&b, parts[0].data, parts[0].size);
            for (int k = 0; k < 2 * way; k++)
                buf_put(&b, parts[1].data, parts[1].size);
            buf_put(&b, parts[2].data, parts[2].size);
            rc = pawl_replay((pawl_bytes){ b.data, b.size }, 0, NULL, &st, &err);
            if (way == 0 && i + 2 == n) {
                CHECK_INT(rc, PAWL_OK);         /* the last one: nothing shows that it was there */
                pawl_state_free(st);
            } else {
                check_told(name, i, rc, &err);
            }
            buf_free(&b);
        }
    }
}

PAWL_TEST(test_K5_a_line_left_out_or_doubled_is_noticed)
{
    for (size_t i = 0; i < NAMES; i++) {
        size_t starts[128], n = 1;
        stored d;

        stored_begin(&d, names[i]);
        starts[0] = 0;
        for (size_t at = 0; at < d.size && n < 128; at++)
            if (d.copy[at] == '\n')
                starts[n++] = at + 1;
        lines_moved(&d, names[i], starts, n);
        stored_end(&d);
    }
}

/* ---- bases and snapshots ------------------------------------------------------------------------------ */

/* Nothing covers these but themselves: a base is known to its first entry, a snapshot is a cache. So what is loaded may
 * differ; but it is refused in words or can be asked anything. */
static void ask_anything(stored *d, pawl_state *st)
{
    const pawl_run_info other = { .id = "other", .life = 9 };
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *fork = NULL;
    pawl_bytes bytes;
    pawl_command cmd;
    pawl_wait q;
    pawl_err err = { PAWL_OK, "" };
    pawl_event ev = { .kind = PAWL_EV_TICK, .time_ms = 99999 };
    pawl_code rc = pawl_feed(d->w.m, st, &ev, s, &err);

    if (rc >= 0 && rc != PAWL_IGNORED)
        rc = pawl_apply(st, pawl_step_entry(s), &err);
    CHECK(rc >= 0 || rc == err.code);
    (void)pawl_state_json(st, s, NULL);
    for (size_t i = 0; i < pawl_state_commands(st); i++)
        (void)(pawl_state_command(st, i, s, &cmd, NULL, NULL) == PAWL_OK);
    for (size_t i = 0; i < pawl_state_waits(st); i++)
        (void)(pawl_state_wait(st, i, s, &q, NULL) == PAWL_OK);
    (void)(pawl_state_prune(st, s, &bytes, NULL) == PAWL_OK);
    if (pawl_state_fork(st, &other, s, &fork, NULL) == PAWL_OK)
        pawl_state_free(fork);
    pawl_step_free(s);
}

static void load_damaged(stored *d, const char *name, pawl_bytes base, pawl_bytes snapshot, size_t at)
{
    journal_text j = { d->w.journal.data, d->w.journal.size };
    pawl_loader loader = journal_loader(&j);
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st = NULL;
    pawl_code rc = pawl_state_load(base, snapshot, &loader, NULL, &st, &err);

    if (rc != PAWL_OK)
        check_told(name, at, rc, &err);
    else
        ask_anything(d, st);
    pawl_state_free(st);
}

/* Every byte of `text`, changed in each of the ways. */
static void each_damage(stored *d, const char *name, char *text, pawl_bytes base, pawl_bytes snapshot)
{
    size_t size = snapshot.size > 0 ? snapshot.size : base.size;

    for (size_t at = 0; at < size; at += stride())
        for (unsigned way = 0; way < 4; way++) {
            char from = text[at];

            text[at] = other_byte(from, way);
            load_damaged(d, name, base, snapshot, at);
            text[at] = from;
        }
}

static void damaged_at(const char *name, size_t moves)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes bytes;
    stored d = { .fold = NULL };
    play p;
    char *text;

    scene_play(&d.w, &p, scene_named(name), moves);
    text = check_copy(pawl_state_base(d.w.st).data, pawl_state_base(d.w.st).size);
    each_damage(&d, name, text, (pawl_bytes){ text, strlen(text) }, (pawl_bytes){ NULL, 0 });
    free(text);
    if (d.w.st->nmarks == 0) {
        CHECK_INT(pawl_state_snapshot(d.w.st, s, &bytes, &err), PAWL_OK);
        text = check_copy(bytes.data, bytes.size);
        each_damage(&d, name, text, pawl_state_base(d.w.st), (pawl_bytes){ text, strlen(text) });
        free(text);
        CHECK_INT(pawl_state_prune(d.w.st, s, &bytes, &err), PAWL_OK);
        text = check_copy(bytes.data, bytes.size);
        each_damage(&d, name, text, (pawl_bytes){ text, strlen(text) }, (pawl_bytes){ NULL, 0 });
        free(text);
    }
    pawl_step_free(s);
    world_end(&d.w);
}

PAWL_TEST(test_K6_a_damaged_base_or_snapshot_is_refused_or_whole)
{
    for (size_t i = 0; i < NAMES; i++)
        for (size_t moves = 0; scene_named(names[i])->moves[moves].kind != 0; moves++)
            damaged_at(names[i], moves);
}

/* A base that goes on to entries is known by them: a changed one leads nowhere. */
PAWL_TEST(test_K10_a_pruned_journal_with_a_changed_hash_leads_nowhere)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    stored d = { .fold = NULL };
    pawl_state *st;
    pawl_bytes base;
    char *prev;
    play p;
    buf b;

    scene_play(&d.w, &p, scene_named("talk"), 1);
    CHECK_INT(pawl_state_prune(d.w.st, s, &base, &err), PAWL_OK);
    buf_init(&b, NULL);
    buf_put(&b, base.data, base.size);
    buf_char(&b, '\n');
    d.size = d.w.journal.size;
    scene_go_on(&d.w, &p, 2);
    buf_put(&b, d.w.journal.data + d.size, d.w.journal.size - d.size);
    CHECK_INT(pawl_replay((pawl_bytes){ b.data, b.size }, 0, NULL, &st, &err), PAWL_OK);
    pawl_state_free(st);
    buf_char(&b, '\0');
    CHECK((prev = strstr(b.data, "\"prev\":\"")) != NULL);
    prev[10] = prev[10] == '0' ? '1' : '0';
    CHECK_INT(pawl_replay((pawl_bytes){ b.data, b.size - 1 }, 0, NULL, &st, &err), PAWL_CORRUPT);
    check_told("talk", 0, PAWL_CORRUPT, &err);
    buf_free(&b);
    pawl_step_free(s);
    world_end(&d.w);
}
