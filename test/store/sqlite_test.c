/* sqlite_test.c - what only the SQLite store promises: how the file is laid out, which files it refuses, what several handles see,
 * and that a damaged file is told of. */
#include "store/sqlite_file.h"

#include <sys/stat.h>

/* ---- the file as others see it --------------------------------------------------------------- */

/* The first column of the first row, or "". */
static const char *raw(const char *name, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    const char *said = "";

    if (sqlite3_open_v2(in_folder(name), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL)
        said = text("%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return said;
}

static const char *refused(const char *name, pawl_code code)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file_open(name, 0, &err);

    CHECK(s == NULL);
    CHECK_INT(err.code, code);
    return text("%s", err.text);
}

static bool says(const char *said, const char *part)
{
    if (strstr(said, part) == NULL)
        CHECK_FAIL("\"%s\" does not say \"%s\"", said, part);
    return true;
}

PAWL_TEST(test_S2_the_layout_is_what_was_measured)
{
    pawl_store *s = file_fresh();

    entries(s, "r", begun(s, "r", ""), 1, 3);
    CHECK_STR(raw("a.pawl", "PRAGMA journal_mode"), "wal");
    CHECK_STR(raw("a.pawl", "PRAGMA page_size"), "4096");
    CHECK_STR(raw("a.pawl", "PRAGMA application_id"), "1348564844");
    CHECK_STR(raw("a.pawl", "PRAGMA user_version"), "6");
    CHECK_STR(raw("a.pawl", "SELECT count(*) FROM sqlite_schema WHERE type='index' AND tbl_name='entries'"), "0");
    CHECK_STR(raw("a.pawl", "SELECT group_concat(prev) FROM entries"), "0,1,2");
    pawl_store_free(s);
    CHECK_INT(access(in_folder("a.pawl-wal"), F_OK), -1);
    CHECK_INT(access(in_folder("a.pawl-lock"), F_OK), 0);
}

/* Heads say where a run ends when it is let go of, when the file is closed, and every so many rows; else the rows do. */
PAWL_TEST(test_Q3_the_end_of_a_run_is_found_wherever_its_head_is)
{
    enum { RUNS = 3, ROUNDS = 3000 };
    pawl_store *s = file_fresh(), *t;
    uint64_t f[RUNS];
    pawl_head h;

    for (int r = 0; r < RUNS; r++)
        f[r] = begun(s, text("r%d", r), "");
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        pawl_bytes lines[RUNS];
        pawl_append all[RUNS];

        for (int r = 0; r < RUNS; r++) {
            lines[r] = bytes(entry(i, "[]"));
            all[r] = (pawl_append){ .run = text("r%d", r), .fence = f[r], .seq = i - 1, .lines = &lines[r], .nlines = 1 };
        }
        CHECK_INT(s->verbs->append(s, all, i == ROUNDS ? 2 : RUNS, NULL), PAWL_OK);
        CHECK_INT(all[0].rc, PAWL_OK);
    }
    CHECK(strcmp(raw("a.pawl", "SELECT value FROM meta WHERE name='watermark'"), "0") != 0);
    CHECK(strcmp(raw("a.pawl", "SELECT min(seq) FROM heads"), raw("a.pawl", "SELECT max(seq) FROM entries")) != 0);
    t = file_opened("a.pawl");
    CHECK_INT(head(t, "r0").seq, ROUNDS);
    CHECK_INT(claim_one(t, "r2", "me", LONG_MS, &h, NULL), PAWL_OK);
    CHECK_INT(h.seq, ROUNDS - 1);
    CHECK_INT(t->verbs->check(t, NULL), PAWL_OK);
    CHECK_STR(ranged(t, "r1", ROUNDS - 2, ROUNDS - 1), text("%d []\n", ROUNDS - 1));
    CHECK_STR(ranged(t, "r1", 70, 71), "71 []\n");
    CHECK_INT(put(t, "r2", h.fence, ROUNDS - 1, entry(ROUNDS, "[]"), NULL), PAWL_OK);
    CHECK_INT(release_one(s, "r0", f[0], NULL), PAWL_OK);
    pawl_store_free(t);
    pawl_store_free(s);
    CHECK_STR(raw("a.pawl", "SELECT min(seq) FROM heads"), text("%d", ROUNDS));
    s = file_opened("a.pawl");
    CHECK_INT(head(s, "r2").seq, ROUNDS);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_E3_leases_of_many_runs_are_one_transaction)
{
    enum { RUNS = 40 };
    pawl_store *s = file_fresh();
    pawl_claim claims[RUNS];
    pawl_hold holds[RUNS];
    uint64_t version;

    for (int i = 0; i < RUNS; i++) {
        claims[i] = (pawl_claim){ .run = text("r%d", i) };
        CHECK_INT(s->verbs->create(s, bytes(base(claims[i].run, "")), NULL, NULL), PAWL_OK);
    }
    version = s->verbs->version(s);
    CHECK_INT(s->verbs->claim(s, "me", LONG_MS, claims, RUNS, NULL), PAWL_OK);
    CHECK_INT(s->verbs->version(s), ++version);
    for (int i = 0; i < RUNS; i++)
        holds[i] = (pawl_hold){ .run = claims[i].run, .fence = claims[i].head.fence };
    CHECK_INT(s->verbs->renew(s, 2 * (int64_t)LONG_MS, holds, RUNS, NULL), PAWL_OK);
    CHECK_INT(s->verbs->version(s), ++version);
    CHECK_INT(s->verbs->release(s, holds, RUNS, NULL), PAWL_OK);
    CHECK_INT(s->verbs->version(s), ++version);
    CHECK_STR(raw("a.pawl", "SELECT count(*) FROM heads WHERE owner IS NULL"), text("%d", RUNS));
    pawl_store_free(s);
}

/* The last row goes, and its number is not given again: a handle that saw it sees what comes after. */
PAWL_TEST(test_Q2_what_another_handle_removes_misleads_nobody)
{
    pawl_store *s = file_fresh(), *t = file_opened("a.pawl");
    uint64_t f = begun(s, "r", ""), g = begun(s, "other", ""), no = head(s, "other").no;

    entries(s, "r", f, 1, 4);
    CHECK_INT(head(t, "r").seq, 4);
    CHECK_INT(s->verbs->prune(s, "r", f, 4, bytes(base("r", ",\"seq\":4")), NULL), PAWL_OK);
    CHECK_INT(head(t, "r").seq, 4);
    CHECK_STR(ranged(t, "r", 4, 0), "");
    entries(s, "other", g, 1, 1);
    CHECK_INT(head(t, "other").seq, 1);
    CHECK_INT(s->verbs->remove(s, "other", g, NULL), PAWL_OK);
    entries(s, "r", f, 5, 5);
    CHECK_INT(head(t, "r").seq, 5);
    g = begun(t, "other", "");
    CHECK(head(t, "other").no > no);
    entries(t, "other", g, 1, 2);
    entries(s, "r", f, 6, 7);
    CHECK_STR(ranged(t, "r", 4, 0), "5 []\n6 []\n7 []\n");
    CHECK_INT(t->verbs->check(t, NULL), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_STR(ranged(t, "other", 0, 0), text("base 0 {\"at\":10\n1 []\n2 []\n"));
    entries(t, "other", g, 3, 3);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(t);
    pawl_store_free(s);
}

PAWL_TEST(test_a_backup_is_whole_and_never_overwrites)
{
    pawl_store *s = file_fresh(), *t;
    uint64_t f = begun(s, "r", "");
    pawl_err err = { PAWL_OK, "" };

    entries(s, "r", f, 1, 5);
    CHECK_INT(s->verbs->backup(s, in_folder("b.pawl"), NULL), PAWL_OK);
    CHECK_INT(s->verbs->backup(s, in_folder("b.pawl"), &err), PAWL_INVALID);
    says(err.text, "b.pawl exists already");
    CHECK_INT(s->verbs->backup(s, in_folder("none/b.pawl"), NULL), PAWL_IO);
    entries(s, "r", f, 6, 6);
    t = file_opened("b.pawl");
    CHECK_INT(head(t, "r").seq, 5);
    CHECK_INT(t->verbs->check(t, NULL), PAWL_OK);
    entries(t, "r", f, 6, 7);
    CHECK_INT(head(s, "r").seq, 6);
    pawl_store_free(t);
    pawl_store_free(s);
}

/* ---- files that are refused (S4) ------------------------------------------------------------- */

PAWL_TEST(test_S4_a_file_of_a_newer_version_is_refused_by_both_numbers)
{
    pawl_store *s = file_fresh();
    const char *said;

    pawl_store_free(s);
    raw("a.pawl", "PRAGMA user_version=7");
    said = refused("a.pawl", PAWL_INVALID);
    says(said, "a.pawl was written by a newer Pawl");
    says(said, "version 7");
    says(said, "up to 6");
    raw("a.pawl", "PRAGMA user_version=6");
    pawl_store_free(file_opened("a.pawl"));
}

/* SQLite would write on into a file that has no name any more. */
PAWL_TEST(test_S4_a_file_that_is_deleted_or_replaced_under_a_handle_takes_nothing_more)
{
    for (int replaced = 0; replaced < 2; replaced++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_store *s = file_fresh();
        uint64_t f = begun(s, "r", "");
        pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_CANCEL };
        pawl_bytes line = bytes(entry(2, "[]"));
        pawl_append a;

        entries(s, "r", f, 1, 1);
        if (replaced)
            rename(in_folder("a.pawl"), in_folder("b.pawl"));
        else
            unlink(in_folder("a.pawl"));
        if (replaced)
            pawl_store_free(file_opened("a.pawl"));
        a = (pawl_append){ .run = "r", .fence = f, .seq = 1, .lines = &line, .nlines = 1, .moves = true, .status = 3, .over = true };
        CHECK_INT(s->verbs->append(s, &a, 1, &err), PAWL_IO);
        says(err.text, "deleted or replaced");
        CHECK_INT(entry_put(s, "r", f, 2, "[]", &err), PAWL_IO);
        CHECK_INT(s->verbs->create(s, bytes(base("q", "")), NULL, &err), PAWL_IO);
        CHECK_INT(s->verbs->deliver(s, "r", &d, &err), PAWL_IO);
        pawl_store_free(s);
    }
}

PAWL_TEST(test_S4_what_is_no_store_is_refused_and_left_alone)
{
    FILE *f;

    folder_empty();
    raw("other.db", "CREATE TABLE t(x)");
    says(refused("other.db", PAWL_INVALID), "another program's database");
    CHECK_STR(raw("other.db", "PRAGMA journal_mode"), "delete");
    CHECK((f = fopen(in_folder("text"), "w")) != NULL);
    fputs("Dear diary, today nothing happened, and that is how it should be.\n", f);
    fclose(f);
    refused("text", PAWL_CORRUPT);
    refused("none/a.pawl", PAWL_IO);
    refused("", PAWL_IO);
    CHECK(pawl_store_sqlite(NULL, NULL, NULL) == NULL);
    CHECK(pawl_store_sqlite("", NULL, NULL) == NULL);
    CHECK(pawl_store_sqlite(":memory:", NULL, NULL) == NULL);
}

/* ---- files that are cut short (K8) ----------------------------------------------------------- */

static char *slurp(const char *name, size_t *size)
{
    FILE *f = fopen(in_folder(name), "rb");
    struct stat st;
    char *data = NULL;

    *size = 0;
    if (f != NULL && fstat(fileno(f), &st) == 0 && (data = malloc((size_t)st.st_size + 1)) != NULL)
        *size = fread(data, 1, (size_t)st.st_size, f);
    if (f != NULL)
        fclose(f);
    return data;
}

static void spill(const char *name, const char *data, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");

    CHECK(f != NULL);
    CHECK_INT(fwrite(data, 1, size, f), size);
    fclose(f);
}

static const char *const whole_runs[] = { "a", "b" };

static const char *whole_line(uint64_t seq)
{
    return entry(seq, text("[[\"put\",[[\"x\",%llu]],\"@\"]]", (unsigned long long)seq));
}

/* Two runs side by side, and a snapshot. */
static void whole_make(pawl_store *s, uint64_t upto)
{
    uint64_t f[2] = { begun(s, "a", ""), begun(s, "b", "") };

    for (uint64_t i = 1; i <= upto; i++)
        for (int r = 0; r < 2; r++) {
            pawl_bytes line = bytes(whole_line(i));
            pawl_append a = { .run = whole_runs[r], .fence = f[r], .seq = i - 1, .lines = &line, .nlines = 1 };

            if (i == upto / 2)
                a.snapshot = bytes("{\"fold\":{}}");
            CHECK_INT(put_one(s, &a), PAWL_OK);
        }
}

/* The journal of a run is the beginning of what was written: *n entries of it. */
static void check_prefix(const char *run, pawl_bytes journal, uint64_t *n, size_t cut)
{
    const char *at = journal.data, *end = at + journal.size, *line = base(run, "");

    for (*n = 0; at < end; line = whole_line(*n)) {
        size_t size = strlen(line);

        if ((size_t)(end - at) < size + 1 || memcmp(at, line, size) != 0 || at[size] != '\n')
            CHECK_FAIL("cut at %zu: run %s is not what was written after entry %llu", cut, run, (unsigned long long)*n);
        at += size + 1;
        ++*n;
    }
}

/* A clear error, or a prefix; *entries of both runs together. False: an error. */
static bool opens_whole(size_t cut, uint64_t *entries_found)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file_open("cut.pawl", 0, &err);
    bool opened_it = s != NULL;

    *entries_found = 0;
    for (size_t r = 0; s != NULL && r < 2; r++) {
        pawl_bytes journal;
        uint64_t n;

        err = (pawl_err){ PAWL_OK, "" };
        journal = pawl_store_journal(s, whole_runs[r], &err);
        if (journal.data == NULL && err.code == PAWL_GONE)
            continue;
        opened_it = opened_it && journal.data != NULL;
        if (journal.data == NULL)
            break;
        check_prefix(whole_runs[r], journal, &n, cut);
        *entries_found += n;
        free((char *)(uintptr_t)journal.data);
    }
    if (err.code != PAWL_OK && err.code != PAWL_GONE && err.code != PAWL_CORRUPT && err.code != PAWL_IO)
        CHECK_FAIL("cut at %zu: %s: %s", cut, pawl_code_name(err.code), err.text);
    if (!opened_it && err.text[0] == '\0')
        CHECK_FAIL("cut at %zu: nobody says what is wrong", cut);
    pawl_store_free(s);
    return opened_it;
}

PAWL_TEST(test_K8_a_file_cut_short_anywhere_is_told_of)
{
    pawl_store *s = file_fresh();
    size_t size, step = check_run_all() ? 512 : 512 * 7, opened_cuts = 0;
    uint64_t n;
    char *data;

    whole_make(s, 60);
    pawl_store_free(s);
    data = slurp("a.pawl", &size);
    CHECK(data != NULL && size > 20 * 4096);
    for (size_t cut = 0; cut < size; cut += step) {
        folder_empty();
        spill("cut.pawl", data, cut);
        opened_cuts += opens_whole(cut, &n) && n > 0;
    }
    CHECK_INT(opened_cuts, 0);
    folder_empty();
    spill("cut.pawl", data, size);
    CHECK(opens_whole(size, &n));
    CHECK_INT(n, 122);
    free(data);
}

/* What is in the WAL alone is cut at a commit: more bytes, never fewer entries. */
PAWL_TEST(test_K8_a_wal_cut_short_anywhere_is_a_beginning)
{
    pawl_store *s = file_fresh();
    size_t size, wal_size, step = check_run_all() ? 512 : 512 * 7;
    uint64_t n = 0, last = 0;
    char *data, *wal;

    pawl_store_free(s);
    s = file_opened("a.pawl");
    whole_make(s, 20);
    data = slurp("a.pawl", &size);
    wal = slurp("a.pawl-wal", &wal_size);
    CHECK(data != NULL && wal != NULL && wal_size > 40 * 4096);
    pawl_store_free(s);
    for (size_t cut = 0;; cut = cut + step < wal_size || cut == wal_size ? cut + step : wal_size) {
        folder_empty();
        spill("cut.pawl", data, size);
        spill("cut.pawl-wal", wal, cut);
        CHECK(opens_whole(cut, &n));
        if (n < last)
            CHECK_FAIL("cut at %zu: %llu entries, and %llu with less", cut, (unsigned long long)n, (unsigned long long)last);
        last = n;
        if (cut >= wal_size)
            break;
    }
    CHECK_INT(last, 42);
    free(data);
    free(wal);
}

/* Bytes that are other ones: check finds them, or they are nowhere that matters. */
PAWL_TEST(test_K8_damage_is_found_and_never_a_crash)
{
    pawl_store *s = file_fresh();
    size_t size;
    int found = 0;
    char *data;

    whole_make(s, 60);
    pawl_store_free(s);
    data = slurp("a.pawl", &size);
    CHECK(data != NULL);
    for (int i = 0; i < (check_run_all() ? 400 : 60); i++) {
        size_t at = 100 + (size_t)check_rand_below(size - 164);
        pawl_err err = { PAWL_OK, "" };
        char was[64];

        memcpy(was, data + at, sizeof was);
        for (size_t k = 0; k < sizeof was; k++)
            data[at + k] = (char)check_rand();
        folder_empty();
        spill("cut.pawl", data, size);
        memcpy(data + at, was, sizeof was);
        if ((s = file_open("cut.pawl", 0, &err)) != NULL) {
            free((char *)(uintptr_t)pawl_store_journal(s, "a", NULL).data);
            s->verbs->check(s, &err);
        }
        found += err.code == PAWL_CORRUPT;
        pawl_store_free(s);
    }
    CHECK(found > 0);
    free(data);
}

int main(int argc, char **argv)
{
    int code;

    if (!folder_make()) {
        perror(folder);
        return 1;
    }
    code = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return code;
}
