/* sqlite_codec_test.c - what is written through a codec: nothing of it is in the file in clear, and each key finds its own. */
#include "lib/engine_fixture.h"
#include "store/seal.h"
#include "store/sqlite_file.h"

#define PLANTED "Xanthippe-0815"        /* in everything that has to do with state */

static seal old_key = { .key = 1 }, new_key = { .key = 2 }, third_key = { .key = 3 };
static const pawl_codec keys[] = {
    { "seal/new", seal_encode, seal_decode, &new_key },
    { "seal/old", seal_encode, seal_decode, &old_key },
    { "squeeze", squeeze_encode, squeeze_decode, NULL },
};
static const pawl_codec reader = { "seal/new", NULL, seal_decode, &new_key };

static pawl_store *coded(const pawl_codec *codecs, size_t n)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(in_folder("a.pawl"), &(pawl_sqlite){ .normal = true, .codecs = codecs, .ncodecs = n }, &err);

    if (s == NULL)
        CHECK_FAIL("no store: %s", err.text);
    return s;
}

/* Whether these bytes are anywhere in the folder: file, WAL, copies. */
static bool on_disk(const char *what)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    bool found = false;

    while (d != NULL && (e = readdir(d)) != NULL && !found) {
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(in_folder(e->d_name), "rb");
        size_t n = strlen(what), size = 0;
        char *all = f == NULL ? NULL : malloc(16 << 20);

        if (all != NULL)
            size = fread(all, 1, 16 << 20, f);
        for (size_t i = 0; i + n <= size && !found; i++)
            found = memcmp(all + i, what, n) == 0;
        free(all);
        if (f != NULL)
            fclose(f);
    }
    closedir(d);
    return found;
}

/* ---- nothing in clear ---------------------------------------------------------------------------------- */

/* Every verb that takes something of state is given it. */
static void everything(pawl_store *s, const char *run)
{
    const char *id = text("%s~00000000000000ab/1.a.1.0", run), *spec = "{\"kind\":\"question\",\"prompt\":\"" PLANTED "\"}";
    pawl_waiting w = { .id = id, .spec = bytes(spec), .asked_ms = 5 };
    pawl_waiting over = { .id = text("%s~00000000000000ab/1.b.1.0", run), .answer = bytes("\"" PLANTED "\""), .over = true };
    pawl_waiting both[2] = { w, over };
    pawl_blob blob = { .bytes = bytes("\"" PLANTED "\"") };
    pawl_bytes lines[2];
    uint64_t fence = begun(s, run, text(",\"fold\":{\"values\":{\"a\":\"%s\"}}", PLANTED));
    pawl_delivery d = { .id = "d1", .kind = PAWL_DELIVER_ANSWER, .name = id, .value = bytes("\"" PLANTED "\""),
                        .update = bytes("{\"a\":\"" PLANTED "\"}"), .by = PLANTED, .note = "said " PLANTED };
    pawl_append a = { .run = run, .fence = fence, .lines = lines, .nlines = 2, .waits = both, .nwaits = 2, .blobs = &blob, .nblobs = 1, .moves = true,
                      .parked = "it said " PLANTED, .status = 1 };
    char hex[HASH_HEX + 1];
    hash h;

    hash_of(blob.bytes.data, blob.bytes.size, &h);
    hash_hex(&h, hex);
    hex[HASH_HEX] = '\0';
    blob.digest = hex;
    lines[0] = bytes("[\"note\",\"" PLANTED "\"]");
    lines[1] = bytes(entry(1, "[\"" PLANTED "\"]"));
    a.snapshot = bytes("{\"fold\":{\"values\":{\"a\":\"" PLANTED "\"}},\"seq\":1}");
    CHECK_INT(put_one(s, &a), PAWL_OK);
    CHECK_INT(s->verbs->deliver(s, run, &d, NULL), PAWL_OK);
    entries(s, run, fence, 2, 3);
}

static bool see_note(void *ctx, const pawl_delivery *d)
{
    (void)ctx;
    CHECK_STR(d->note, "said " PLANTED);
    CHECK_STR(d->by, PLANTED);
    CHECK_BYTES(d->update.data, d->update.size, "{\"a\":\"" PLANTED "\"}", strlen(PLANTED) + 8);
    return true;
}

static bool see_blob(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)kind, (void)seq;
    CHECK_BYTES(line.data, line.size, "\"" PLANTED "\"", strlen(PLANTED) + 2);
    *(bool *)ctx = true;
    return true;
}

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    char *all = check_copy(line.data, line.size);

    (void)ctx, (void)seq;
    CHECK_INT(kind, PAWL_LINE_BASE);
    CHECK(strstr(all, "\"values\":{\"a\":\"" PLANTED) != NULL);
    free(all);
    return false;
}

static bool see_parked(void *ctx, const pawl_head *h)
{
    if (ctx == NULL || strcmp(h->run, ctx) == 0)
        CHECK_STR(h->parked, "it said " PLANTED);
    return true;
}

/* `pruned`: at entry 1. */
static void check_there(pawl_store *s, const char *run, bool pruned)
{
    char hex[HASH_HEX + 1];
    bool found = false;
    hash h;

    hash_of("\"" PLANTED "\"", strlen(PLANTED) + 2, &h);
    hash_hex(&h, hex);
    hex[HASH_HEX] = '\0';
    if (!pruned)
        CHECK(strstr(loaded(s, run, 0), "snapshot 1 {\"fold\":{\"values\":{\"a\":\"" PLANTED "\"}}") != NULL);
    if (pruned)
        CHECK_STR(ranged(s, run, 0, 0), "gone");
    else
        CHECK(strstr(ranged(s, run, 0, 0), PLANTED "\"]") != NULL);
    CHECK_INT(s->verbs->load(s, run, see_base, NULL, NULL), PAWL_OK);
    CHECK_STR(deliveries(s, run), "d1 ");
    CHECK_INT(s->verbs->deliveries(s, run, see_note, NULL, NULL), PAWL_OK);
    CHECK_INT(s->verbs->blob(s, run, hex, see_blob, &found, NULL), PAWL_OK);
    CHECK(found);
    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .parked = true }, see_parked, text("%s", run), NULL), PAWL_OK);
    CHECK_INT(deliver(s, run, "late", PAWL_DELIVER_ANSWER, text("%s~00000000000000ab/1.a.1.0", run), "2"), PAWL_CONFLICT);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
}

PAWL_TEST(test_K5_nothing_of_the_state_stands_in_the_file)
{
    pawl_store *s;

    folder_empty();
    s = coded(keys, 2);
    everything(s, "a");
    check_there(s, "a", false);
    CHECK(!on_disk(PLANTED));           /* the WAL has it all */
    CHECK(on_disk("essay"));            /* a machine's name is no state */
    pawl_store_free(s);
    CHECK(!on_disk(PLANTED));
    s = coded(keys, 2);
    CHECK_INT(s->verbs->prune(s, "a", claimed(s, "a", "me"), 1, bytes(base("a", ",\"fold\":{\"values\":{\"a\":\"" PLANTED "\"}},\"seq\":1")), NULL), PAWL_OK);
    CHECK_INT(s->verbs->vacuum(s, NULL), PAWL_OK);
    CHECK_INT(s->verbs->backup(s, in_folder("copy"), NULL), PAWL_OK);
    CHECK(!on_disk(PLANTED));
    check_there(s, "a", true);
    pawl_store_free(s);
    s = file_opened("b.pawl");          /* and this is what would stand there */
    everything(s, "a");
    CHECK(on_disk(PLANTED));
    pawl_store_free(s);
}

PAWL_TEST(test_K5_K8_a_run_under_a_codec_is_the_same_run)
{
    static const char *const plain = "plain.pawl";
    char *journals[2] = { NULL, NULL };

    folder_empty();
    for (int coding = 0; coding < 2; coding++) {
        town t;

        town_begin(&t, town_essay(NULL), coding ? coded(keys, 2) : file_opened(plain));
        town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
        t.replies[0] = "\"" PLANTED "\"";
        CHECK_INT(town_run(&t, "run", "{\"request\":1}"), PAWL_INTERRUPTED);
        CHECK_INT(pawl_answer(t.e, "run", "publish", "true", &t.err), PAWL_HALTED);
        CHECK_STR(pawl_run_get(t.e, "run", "draft"), PLANTED);
        town_verify(&t, "run");
        CHECK_INT(on_disk(PLANTED), !coding);
        journals[coding] = check_copy(t.journal.data, t.journal.size);
        town_end(&t);
        if (!coding)
            folder_empty();
    }
    CHECK_INT((int64_t)strlen(journals[0]), (int64_t)strlen(journals[1]));
    free(journals[0]);
    free(journals[1]);
}

/* ---- keys ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_K5_a_new_key_is_for_new_rows_and_old_ones_stay_readable)
{
    pawl_store *s;
    size_t before;

    folder_empty();
    s = coded(NULL, 0);
    everything(s, "clear");
    pawl_store_free(s);
    s = coded(&keys[1], 1);
    everything(s, "old");
    pawl_store_free(s);
    s = coded(keys, 2);
    everything(s, "new");
    before = old_key.encoded;
    CHECK_INT(put(s, "old", claimed(s, "old", "me"), 3, entry(4, "[4]"), NULL), PAWL_OK);
    CHECK_INT(put(s, "clear", claimed(s, "clear", "me"), 3, entry(4, "[4]"), NULL), PAWL_OK);
    CHECK_INT((int64_t)old_key.encoded, (int64_t)before);
    pawl_store_free(s);
    s = coded((const pawl_codec[]){ keys[2], reader, keys[1] }, 3);
    check_there(s, "clear", false);
    check_there(s, "old", false);
    check_there(s, "new", false);
    everything(s, "short");             /* another kind beside them */
    check_there(s, "short", false);
    pawl_store_free(s);
    s = coded(&reader, 1);              /* it writes in clear */
    CHECK_INT(put(s, "new", claimed(s, "new", "me"), 3, entry(4, "[\"visible\"]"), NULL), PAWL_OK);
    CHECK(strstr(ranged(s, "new", 0, 0), PLANTED "\"]") != NULL);
    CHECK(strstr(ranged(s, "new", 0, 0), "4 [\"visible\"]") != NULL);
    CHECK_STR(deliveries(s, "new"), "d1 ");
    CHECK(on_disk("visible"));
    pawl_store_free(s);
}

PAWL_TEST(test_K5_a_codec_that_is_not_there_is_named_with_the_run)
{
    pawl_err err = { PAWL_OK, "" };
    char *whole;
    pawl_store *s;

    folder_empty();
    s = coded(&keys[1], 1);
    everything(s, "a");
    whole = check_copy(ranged(s, "a", 0, 0), strlen(ranged(s, "a", 0, 0)));
    pawl_store_free(s);
    s = coded(&reader, 1);
    CHECK_INT(s->verbs->load(s, "a", see_blob, NULL, &err), PAWL_INVALID);
    if (strstr(err.text, "run a is written with codec \"seal/old\", which this handle does not have; open the store with it") == NULL)
        CHECK_FAIL("%s", err.text);
    CHECK_INT(s->verbs->read(s, "a", 1, 0, see_blob, NULL, NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->deliveries(s, "a", see_note, NULL, NULL), PAWL_INVALID);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_INVALID);
    CHECK(claimed(s, "a", "me") > 0);
    CHECK_STR(head(s, "a").parked, "the reason is written with a codec that this handle does not have");
    entries(s, "other", begun(s, "other", ""), 1, 2);   /* its neighbours are not concerned */
    pawl_store_free(s);
    s = coded(&keys[1], 1);
    CHECK_STR(ranged(s, "a", 0, 0), whole);
    free(whole);
    pawl_store_free(s);
}

PAWL_TEST(test_K5_what_does_not_decode_is_corrupt)
{
    pawl_codec wrong = { "seal/old", seal_encode, seal_decode, &third_key };
    pawl_err err = { PAWL_OK, "" };
    sqlite3 *db = NULL;
    pawl_store *s;

    folder_empty();
    s = coded(&keys[1], 1);
    entries(s, "a", begun(s, "a", ""), 1, 3);
    pawl_store_free(s);
    s = coded(&wrong, 1);
    CHECK_INT(s->verbs->load(s, "a", see_blob, NULL, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "run a has a value that codec \"seal/old\" cannot decode: it was touched") != NULL);
    pawl_store_free(s);
    CHECK_INT(sqlite3_open(in_folder("a.pawl"), &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "UPDATE entries SET body=x'0161' WHERE seq=2; UPDATE entries SET codec=7 WHERE seq=3", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    s = coded(&keys[1], 1);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->read(s, "a", 1, 0, see_blob, NULL, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "neither plain nor of any codec") != NULL);
    err = (pawl_err){ PAWL_OK, "" };
    CHECK_INT(s->verbs->read(s, "a", 2, 0, see_blob, NULL, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "lines of kind 7") != NULL);
    pawl_store_free(s);
}

PAWL_TEST(test_S4_what_cannot_be_encoded_is_not_written)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;
    uint64_t fence;

    folder_empty();
    s = coded(&keys[1], 1);
    fence = begun(s, "a", "");
    for (int fails = 1; fails < 4; fails++) {
        pawl_bytes line = bytes(entry(1, "[1]"));
        pawl_append a = { .run = "a", .fence = fence, .lines = &line, .nlines = 1 };

        old_key.fails = 1;
        err = (pawl_err){ PAWL_OK, "" };
        CHECK_INT(s->verbs->append(s, &a, 1, &err), PAWL_TRANSIENT);
        CHECK_STR(err.text, "codec \"seal/old\" could not encode: the key is locked away");
        CHECK_INT((int64_t)head(s, "a").seq, 0);
    }
    old_key.fails = 1;
    CHECK_INT(deliver(s, "a", "d", PAWL_DELIVER_SIGNAL, "bell", "1"), PAWL_TRANSIENT);
    CHECK_STR(deliveries(s, "a"), "");
    entries(s, "a", fence, 1, 3);
    CHECK_INT(deliver(s, "a", "d", PAWL_DELIVER_SIGNAL, "bell", "1"), PAWL_OK);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_store_free(s);
}

PAWL_TEST(test_K5_a_blob_may_begin_like_what_is_coded)
{
    static const char bytes_of[] = "\1seal/old\0 not at all";
    const pawl_codec *sets[] = { NULL, keys };

    for (size_t i = 0; i < 2; i++) {
        pawl_blob blob = { .bytes = { bytes_of, sizeof bytes_of - 1 } };
        char hex[HASH_HEX + 1];
        pawl_append a;
        pawl_store *s;
        hash h;

        folder_empty();
        s = coded(sets[i], 2 * i);
        hash_of(blob.bytes.data, blob.bytes.size, &h);
        hash_hex(&h, hex);
        hex[HASH_HEX] = '\0';
        blob.digest = hex;
        a = (pawl_append){ .run = "a", .fence = begun(s, "a", ""), .blobs = &blob, .nblobs = 1 };
        CHECK_INT(put_one(s, &a), PAWL_OK);
        CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
        pawl_store_free(s);
    }
}

PAWL_TEST(test_X1_codecs_that_cannot_be_are_refused)
{
    static const struct { pawl_codec all[2]; size_t n; pawl_code rc; } tries[] = {
        { { { NULL, seal_encode, seal_decode, NULL } }, 1, PAWL_INVALID }, { { { "", seal_encode, seal_decode, NULL } }, 1, PAWL_INVALID },
        { { { "a b", seal_encode, seal_decode, NULL } }, 1, PAWL_INVALID }, { { { "a", seal_encode, NULL, NULL } }, 1, PAWL_INVALID },
        { { { "a", NULL, seal_decode, NULL }, { "a", NULL, seal_decode, NULL } }, 2, PAWL_INVALID }, { { { "a", NULL, seal_decode, NULL } }, 65, PAWL_LIMIT },
        { { { "0123456789012345678901234567890123456789012345678901234567890123x", NULL, seal_decode, NULL } }, 1, PAWL_INVALID },
    };

    folder_empty();
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        pawl_err err = { PAWL_OK, "" };

        CHECK(pawl_store_sqlite(in_folder("a.pawl"), &(pawl_sqlite){ .codecs = tries[i].all, .ncodecs = tries[i].n }, &err) == NULL);
        CHECK_INT(err.code, tries[i].rc);
    }
    CHECK(pawl_store_sqlite(in_folder("a.pawl"), &(pawl_sqlite){ .ncodecs = 1 }, NULL) == NULL);
}

int main(int argc, char **argv)
{
    int code;

    if (!folder_make())
        return 1;
    code = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return code;
}
