/* journals_test.c - journals as a version wrote them are read, folded and verified for ever, byte for byte.
 *
 *     journals_test --write DIR       writes them again: only before the version is out */
#include "kernel/state.h"
#include "lib/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how each came about --------------------------------------------------------------------- */

typedef struct kept {
    const char *name;
    const char *scene;
    void (*turns)(world *w, play *p);   /* what is done to it half way; NULL: nothing */
    size_t at;                          /* after so many moves */
    machine_fn *machine;                /* that verifies it; NULL: the scene's */
    bool before_W8;                     /* updates had the last word over answers; the same events write another journal now */
} kept;

/* The journal begins anew with this base, and the run is loaded from it. */
static void base_again(world *w, pawl_bytes base)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st;

    buf_reset(&w->journal);
    buf_reset(&w->snapshot);
    buf_put(&w->journal, base.data, base.size);
    if (pawl_state_load(base, (pawl_bytes){ NULL, 0 }, NULL, NULL, &st, &err) != PAWL_OK)
        CHECK_FAIL("load: %s", err.text);
    buf_char(&w->journal, '\n');
    pawl_state_free(w->st);
    w->st = st;
}

static void is_pruned(world *w, play *p)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_bytes base;

    (void)p;
    if (pawl_state_prune(w->st, s, &base, &w->err) != PAWL_OK)
        CHECK_FAIL("prune: %s", w->err.text);
    base_again(w, base);
    pawl_step_free(s);
}

static void is_forked(world *w, play *p)
{
    const pawl_run_info info = { .id = "run-2", .life = UINT64_C(0xfedcba9876543210), .seed = 99, .created_ms = 5000, .created_by = "ada",
                                 .context = "a talk", .labels = { "fork" } };
    pawl_step *s = pawl_step_new(NULL);
    pawl_state *fork = NULL;
    char *base;

    CHECK_INT(pawl_state_fork(w->st, &info, s, &fork, &w->err), PAWL_OK);
    base = check_copy(pawl_state_base(fork).data, pawl_state_base(fork).size);
    base_again(w, (pawl_bytes){ base, strlen(base) });
    free(base);
    pawl_state_free(fork);
    pawl_step_free(s);
    p->move = 0;                /* its commands are issued anew */
}

static void is_adopted(world *w, play *p)
{
    pawl_err err = { PAWL_OK, "" };

    pawl_machine_free(w->m);
    w->m = machine_talk_2(NULL, &err);
    if (world_feed(w, &(pawl_event){ .kind = PAWL_EV_ADOPT, .time_ms = 1000 + p->now++ }) < 0)
        CHECK_FAIL("adopt: %s", w->err.text);
}

static const kept all[] = {
    { .name = "letter", .scene = "letter" }, { .name = "desk", .scene = "desk" }, { .name = "survey", .scene = "survey" },
    { .name = "fan", .scene = "fan" }, { .name = "gate", .scene = "gate", .before_W8 = true }, { .name = "nest", .scene = "nest" },
    { .name = "joins", .scene = "joins" }, { .name = "repair", .scene = "repair" }, { .name = "talk", .scene = "talk" },
    { .name = "vault", .scene = "vault" }, { .name = "hooks", .scene = "hooks" }, { .name = "race", .scene = "race" },
    { .name = "rules", .scene = "rules" }, { .name = "pruned", .scene = "talk", .turns = is_pruned, .at = 1 },
    { .name = "forked", .scene = "fan", .turns = is_forked },
    { .name = "adopted", .scene = "talk", .turns = is_adopted, .at = 1, .machine = machine_talk_2 }, { .name = "trip", .scene = "trip" },
    { .name = "gate_late", .scene = "gate" },
};
enum { KEPT = sizeof all / sizeof *all };

static void make(world *w, const kept *k)
{
    play p;

    scene_play(w, &p, scene_named(k->scene), k->turns != NULL ? k->at : SIZE_MAX);
    if (k->turns != NULL) {
        k->turns(w, &p);
        scene_go_on(w, &p, SIZE_MAX);
    }
}

static pawl_machine *machine_of(const kept *k)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = (k->machine != NULL ? k->machine : scene_named(k->scene)->machine)(NULL, &err);

    if (m == NULL)
        CHECK_FAIL("%s: %s", k->name, err.text);
    return m;
}

/* ---- files ---------------------------------------------------------------------------------------- */

static char *file_read(const char *name, const char *end, size_t *size)
{
    char path[1024], *text;
    FILE *f;
    long n;

    snprintf(path, sizeof path, "%s/test/journals/0.1/%s.%s", PAWL_SOURCE_DIR, name, end);
    if ((f = fopen(path, "rb")) == NULL)
        CHECK_FAIL("%s.%s is not there", name, end);
    fseek(f, 0, SEEK_END);
    n = ftell(f);
    rewind(f);
    CHECK(n > 0 && (text = calloc(1, (size_t)n + 1)) != NULL);
    CHECK_INT(fread(text, 1, (size_t)n, f), n);
    fclose(f);
    *size = (size_t)n;
    return text;
}

static int file_write(const char *dir, const char *name, const char *end, const char *text, size_t size)
{
    char path[1024];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.%s", dir, name, end);
    if ((f = fopen(path, "wb")) == NULL || fwrite(text, 1, size, f) != size || fclose(f) != 0) {
        fprintf(stderr, "%s cannot be written\n", path);
        return 1;
    }
    return 0;
}

static char *json_of(pawl_state *st)
{
    pawl_step *s = pawl_step_new(NULL);
    pawl_err err = { PAWL_OK, "" };
    const char *text = pawl_state_json(st, s, &err);
    char *copy;

    if (text == NULL)
        CHECK_FAIL("%s", err.text);
    copy = calloc(1, strlen(text) + 2);
    snprintf(copy, strlen(text) + 2, "%s\n", text);
    pawl_step_free(s);
    return copy;
}

static const char *written_to;

static void write_all(void)
{
    int failed = 0;

    for (size_t i = 0; i < KEPT; i++) {
        world w;
        char *json;

        make(&w, &all[i]);
        json = json_of(w.st);
        failed |= file_write(written_to, all[i].name, "journal", w.journal.data, w.journal.size);
        failed |= file_write(written_to, all[i].name, "json", json, strlen(json));
        free(json);
        world_end(&w);
    }
    CHECK_INT(failed, 0);
}

/* ---- what they must give --------------------------------------------------------------------------- */

PAWL_TEST(test_K6_journals_of_0_1_fold_to_the_states_that_were_kept)
{
    for (size_t i = 0; i < KEPT; i++) {
        size_t size, json_size;
        char *journal = file_read(all[i].name, "journal", &size), *json = file_read(all[i].name, "json", &json_size), *now;
        pawl_err err = { PAWL_OK, "" };
        pawl_state *st;

        if (pawl_replay((pawl_bytes){ journal, size }, 0, NULL, &st, &err) != PAWL_OK)
            CHECK_FAIL("%s: %s", all[i].name, err.text);
        now = json_of(st);
        CHECK_STR(now, json);
        free(now);
        free(json);
        free(journal);
        pawl_state_free(st);
    }
}

PAWL_TEST(test_K5_journals_of_0_1_verify_byte_for_byte)
{
    for (size_t i = 0; i < KEPT; i++) {
        size_t size;
        char *journal = file_read(all[i].name, "journal", &size);
        pawl_machine *m = machine_of(&all[i]);
        pawl_err err = { PAWL_OK, "" };
        pawl_verdict v;

        if (pawl_verify(m, (pawl_bytes){ journal, size }, NULL, &v, &err) != PAWL_OK)
            CHECK_FAIL("%s: entry %llu: %s", all[i].name, (unsigned long long)v.seq, err.text);
        CHECK(v.entries > 0);
        CHECK((v.folded > 0) == (all[i].machine != NULL));
        pawl_machine_free(m);
        free(journal);
    }
}

PAWL_TEST(test_K2_the_same_events_write_the_journals_of_0_1_again)
{
    for (size_t i = 0; i < KEPT; i++) {
        size_t size;
        char *journal = file_read(all[i].name, "journal", &size);
        world w;

        if (all[i].before_W8) {
            free(journal);
            continue;
        }
        make(&w, &all[i]);
        CHECK_BYTES(w.journal.data, w.journal.size, journal, size);
        free(journal);
        world_end(&w);
    }
}

PAWL_TEST(test_G8_a_journal_of_0_1_is_read_at_every_entry)
{
    for (size_t i = 0; i < KEPT; i++) {
        size_t size;
        char *text = file_read(all[i].name, "journal", &size);
        pawl_err err = { PAWL_OK, "" };
        pawl_state *end, *st;

        CHECK_INT(pawl_replay((pawl_bytes){ text, size }, 0, NULL, &end, &err), PAWL_OK);
        for (uint64_t seq = end->base_seq + 1; seq <= pawl_state_seq(end); seq++) {
            CHECK_INT(pawl_replay((pawl_bytes){ text, size }, seq, NULL, &st, &err), PAWL_OK);
            CHECK_INT(pawl_state_seq(st), seq);
            pawl_state_free(st);
        }
        CHECK_INT(pawl_replay((pawl_bytes){ text, size }, pawl_state_seq(end) + 1, NULL, &st, &err), PAWL_GONE);
        pawl_state_free(end);
        free(text);
    }
}

/* ---- the scenes themselves: a crash anywhere ---------------------------------------------------------- */

static void crash_scene(const scene *sc, bool snapshots)
{
    play p;
    world w;
    pawl_event ev;
    char *json, *alone;

    scene_play(&w, &p, sc, SIZE_MAX);
    alone = strdup(world_all(&w));
    world_end(&w);
    scene_play(&w, &p, sc, 0);
    for (bool more = true; more;) {
        if (snapshots && w.st->nmarks == 0)
            world_snapshot(&w);
        world_crash(&w);
        if ((more = play_next(&p, w.st, w.look, &ev)) && (world_feed(&w, &ev) < 0 || w.rc == PAWL_IGNORED))
            CHECK_FAIL("%s: move %zu: %s", sc->name, p.move, w.err.text);
    }
    json = strdup(world_all(&w));
    CHECK_STR(json, alone);
    free(json);
    free(alone);
    world_end(&w);
}

PAWL_TEST(test_K6_every_scene_goes_on_after_a_crash_at_every_step)
{
    for (size_t i = 0; i < scene_count; i++) {
        crash_scene(&scenes[i], false);
        crash_scene(&scenes[i], true);
    }
}

/* The state is loaded from base and snapshot, and must be what it was. */
static void crash_again(world *w)
{
    char *before;

    world_snapshot(w);
    before = strdup(world_fold(w->st, w->look));
    world_crash(w);
    CHECK_STR(world_fold(w->st, w->look), before);
    free(before);
}

PAWL_TEST(test_K10_a_snapshot_takes_the_place_of_what_a_pruned_base_holds)
{
    play p;
    world w;

    scene_play(&w, &p, scene_named("talk"), 1);     /* channels that came with a machine stand in both, once */
    is_adopted(&w, &p);
    is_pruned(&w, &p);
    crash_again(&w);
    is_pruned(&w, &p);
    crash_again(&w);
    scene_go_on(&w, &p, SIZE_MAX);
    crash_again(&w);
    CHECK_STR(world_get(&w, "mood"), "\"calm\"");
    buf_char(&w.snapshot, '\0');
    CHECK(strstr(strstr(w.snapshot.data, "\"mood\":{") + 1, "\"mood\":{") == NULL);
    world_end(&w);
    scene_play(&w, &p, scene_named("repair"), 4);   /* the reason of a failure stands in the base, and is over after it */
    CHECK_STR(world_status(&w), "failed");
    is_pruned(&w, &p);
    crash_again(&w);
    CHECK(strcmp(world_reason(&w), "") != 0);
    scene_go_on(&w, &p, SIZE_MAX);
    CHECK_STR(world_status(&w), "completed");
    crash_again(&w);
    CHECK_STR(world_reason(&w), "");
    world_end(&w);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        written_to = argv[2];
        return check_alone("write_all", write_all);
    }
    return check_main(argc, argv);
}
