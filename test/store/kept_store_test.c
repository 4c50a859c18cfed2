/* kept_store_test.c - a store file as this version wrote it is opened for ever: its journals, waits and deliveries are there.
 *
 *     kept_store_test --write         writes it again: only before the version is out */
#include "lib/scenes.h"
#include "store/one.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT PAWL_SOURCE_DIR "/test/journals/0.1/store.db"

static const char *const scenes_kept[] = { "letter", "gate", "fan", "nest", "talk", "race" };
enum { SCENES = sizeof scenes_kept / sizeof *scenes_kept };

static void file_copy(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[8192];
    size_t n;

    if (in == NULL || out == NULL)
        CHECK_FAIL("%s cannot be copied", from);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        CHECK(fwrite(bytes, 1, n, out) == n);
    fclose(in);
    CHECK_INT(fclose(out), 0);
}

static void file_gone(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char side[200];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(side, sizeof side, "%s%s", path, ends[i]);
        remove(side);
    }
}

/* Half way through the scene, or at its end. */
static void scene_journal(world *w, size_t i)
{
    play p;

    scene_play(w, &p, scene_named(scenes_kept[i]), i % 2 == 0 ? SIZE_MAX : 3);
}

/* All scenes are "run-1": in the store each has a namespace of its own. */
static pawl_store *store_open(const char *path, size_t i)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .space = scenes_kept[i] }, &err);

    if (s == NULL)
        CHECK_FAIL("%s: %s", scenes_kept[i], err.text);
    return s;
}

static void scene_store(const char *path, size_t i)
{
    pawl_delivery d = { .id = "d-1", .kind = PAWL_DELIVER_SIGNAL, .name = "bell", .value = { "true", 4 }, .by = "ada" };
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes lines[200];
    pawl_append a = { .run = "run-1", .lines = lines, .moves = true };
    pawl_store *s = store_open(path, i);
    const char *at, *nl, *end;
    pawl_head head;
    world w;

    scene_journal(&w, i);
    at = w.journal.data;
    end = at + w.journal.size;
    nl = memchr(at, '\n', w.journal.size);
    CHECK_INT(s->verbs->create(s, (pawl_bytes){ at, (size_t)(nl - at) }, NULL, &err), PAWL_OK);
    for (at = nl + 1; at < end && a.nlines < 200; at = nl + 1) {
        nl = memchr(at, '\n', (size_t)(end - at));
        lines[a.nlines++] = (pawl_bytes){ at, (size_t)(nl - at) };
    }
    CHECK_INT(claim_one(s, "run-1", "test", 1000, &head, &err), PAWL_OK);
    a.fence = head.fence;
    a.status = (uint8_t)pawl_state_status(w.st);
    a.over = pawl_status_terminal(pawl_state_status(w.st));
    if (s->verbs->append(s, &a, 1, &err) != PAWL_OK || a.rc != PAWL_OK)
        CHECK_FAIL("%s: %s %s", scenes_kept[i], pawl_code_name(a.rc), err.text);
    CHECK_INT(s->verbs->deliver(s, "run-1", &d, &err), PAWL_OK);
    CHECK_INT(release_one(s, "run-1", head.fence, &err), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, &err), PAWL_OK);
    pawl_store_free(s);
    world_drop(&w);
}

static void write_it(void)
{
    file_gone(KEPT);
    for (size_t i = 0; i < SCENES; i++)
        scene_store(KEPT, i);
    remove(KEPT "-lock");
}

static bool see_bell(void *ctx, const pawl_delivery *d)
{
    CHECK_STR(d->name, "bell");
    CHECK_STR(d->by, "ada");
    CHECK_BYTES(d->value.data, d->value.size, "true", 4);
    ++*(int *)ctx;
    return true;
}

static bool see_mark(void *ctx, const pawl_mark *one)
{
    CHECK_STR(one->id, "1.a.1.0");
    CHECK_INT(one->attempts, 1);
    CHECK_INT(one->first_ms, 500);
    CHECK_INT(one->again_ms, 900);
    ++*(int *)ctx;
    return true;
}

/* What its tables had not is there when it is opened, and again when that is done by two at once. */
static void marks_are_kept(pawl_store *s, const char *path, size_t i, uint64_t fence)
{
    pawl_mark one = { .run = "run-1", .fence = fence, .id = "1.a.1.0", .first_ms = 500 };
    pawl_err err = { PAWL_OK, "" };
    pawl_store *t = store_open(path, i);
    int marks = 0;

    CHECK_INT(s->verbs->mark(s, &one, 1, &err), PAWL_OK);
    CHECK_INT(one.rc, PAWL_OK);
    one.again_ms = 900;
    CHECK_INT(s->verbs->mark(s, &one, 1, &err), PAWL_OK);
    CHECK_INT(t->verbs->marks(t, "run-1", see_mark, &marks, &err), PAWL_OK);
    CHECK_INT(marks, 1);
    pawl_store_free(t);
}

PAWL_TEST(test_a_store_of_0_1_is_opened_and_its_journals_are_those_that_are_written_now)
{
    const char *const path = "kept-store.db";

    file_gone(path);
    file_copy(KEPT, path);
    for (size_t i = 0; i < SCENES; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_store *s = store_open(path, i);
        pawl_bytes journal = pawl_store_journal(s, "run-1", &err);
        pawl_head head;
        int bells = 0;
        world w;

        scene_journal(&w, i);
        CHECK_BYTES(journal.data, journal.size, w.journal.data, w.journal.size);
        CHECK_INT(s->verbs->deliveries(s, "run-1", see_bell, &bells, &err), PAWL_OK);
        CHECK_INT(bells, 1);
        CHECK_INT(claim_one(s, "run-1", "test", 1000, &head, &err), PAWL_OK);
        CHECK_INT(head.status, pawl_state_status(w.st));
        CHECK_INT(head.seq, pawl_state_seq(w.st));
        CHECK(head.work == (head.status == PAWL_STATUS_WORKING)); /* 0.1 did not say; whoever looks puts it right */
        marks_are_kept(s, path, i, head.fence);
        CHECK_INT(s->verbs->check(s, &err), PAWL_OK);
        free((char *)journal.data);
        pawl_store_free(s);
        world_drop(&w);
    }
    file_gone(path);
}

static int64_t number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int64_t n = -1;

    if (sqlite3_open(path, &db) == SQLITE_OK && sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

static bool count_head(void *ctx, const pawl_head *head)
{
    (void)head;
    ++*(int *)ctx;
    return true;
}

/* The tables are those that a new file has, whichever way they came to be; and a run with work to do is found. */
PAWL_TEST(test_S4_the_tables_of_0_1_become_those_of_now_when_it_is_opened)
{
    static const char columns[] = "SELECT count(*) FROM pragma_table_xinfo('heads')", indexes[] = "SELECT count(*) FROM pragma_index_list('heads')";
    const char *const path = "kept-raised.db", *const made = "kept-new.db";
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;
    pawl_head head;
    int n = 0;

    file_gone(path);
    file_gone(made);
    file_copy(KEPT, path);
    CHECK_INT(number(path, "PRAGMA user_version"), 1);
    for (int i = 0; i < 2; i++)
        pawl_store_free(store_open(path, 3));
    pawl_store_free(store_open(made, 3));
    CHECK_INT(number(path, "PRAGMA user_version"), number(made, "PRAGMA user_version"));
    CHECK_INT(number(path, columns), number(made, columns));
    CHECK_INT(number(path, indexes), number(made, indexes));
    CHECK_INT(number(path, "PRAGMA foreign_key_check"), -1);
    CHECK_INT(number(path, "SELECT count(*) FROM heads WHERE look_ms IS NOT NULL"), SCENES);
    s = store_open(path, 3);
    CHECK_INT(claim_one(s, "run-1", "test", 1000, &head, &err), PAWL_OK);
    CHECK_INT(release_one(s, "run-1", head.fence, &err), PAWL_OK);
    CHECK_INT(s->verbs->due(s, 0, NULL, 10, count_head, &n, &err), PAWL_OK);
    CHECK_INT(n, 1);
    CHECK_INT(s->verbs->check(s, &err), PAWL_OK);
    pawl_store_free(s);
    file_gone(path);
    file_gone(made);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0)
        return check_alone("write_it", write_it);
    return check_main(argc, argv);
}
