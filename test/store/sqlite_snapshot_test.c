/* sqlite_snapshot_test.c - a snapshot that is damaged is not used: the state is folded from the journal, and verify and check say so (K11). */
#include "history/current_state.h"
#include "json/json.h"
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "pawl/history.h"
#include "pawl/stream.h"
#include "store/place.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdlib.h>

enum { ROUNDS = 40, NOTE_BYTES = 4000, ENDS_AT = 60 };

/* ---- a run with a snapshot ----------------------------------------------------------------------------- */

static char note[NOTE_BYTES + 1];

static pawl_code make_note(pawl_step *s, void *arg)
{
    (void)arg;
    memset(note, 'a' + (int)(pawl_get_int(s, "n") % 26), NOTE_BYTES);
    pawl_set(s, "notes", pawl_pack(s, "{s:i,s:s}", "at", pawl_get_int(s, "n"), "text", note));
    pawl_set_int(s, "n", 1);
    return pawl_follow(s);
}

static pawl_code gate(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "on?"), &answer);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_follow(s);
}

static bool more(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "n") % ROUNDS != 0 && pawl_get_int(s, "n") < ENDS_AT;
}

static bool asks(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "n") < ENDS_AT;
}

static pawl_machine *notes(void)
{
    pawl_graph *g = pawl_graph_new("notes", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "notes", PAWL_RULE_APPEND);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "n", .rule = PAWL_RULE_SUM, .first = "0" });
    pawl_graph_node(g, "note", make_note, NULL);
    pawl_graph_node(g, "gate", gate, NULL);
    pawl_graph_chain(g, PAWL_START, "note", NULL);
    pawl_graph_when(g, "note", more, NULL, "note");
    pawl_graph_when(g, "note", asks, NULL, "gate");
    pawl_graph_when(g, "note", NULL, NULL, PAWL_END);
    pawl_graph_chain(g, "gate", "note", NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("graph: %s", err.text);
    return m;
}

static pawl_store *store_open(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("open: %s", err.text);
    return s;
}

static pawl_engine *engine_open(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(notes(), store_open(), &err);

    if (e == NULL)
        CHECK_FAIL("engine: %s", err.text);
    return e;
}

/* As an engine of its own loads it; free() it. */
static char *state_json(void)
{
    pawl_engine *e = engine_open();
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st = pawl_run_state(e, "r", &err);
    const char *json = st == NULL ? NULL : pawl_state_json(st, pawl_engine_step(e), &err);
    char *out = json == NULL ? NULL : malloc(strlen(json) + 1);

    if (out == NULL)
        CHECK_FAIL("state: %s", err.text);
    memcpy(out, json, strlen(json) + 1);
    pawl_engine_free(e);
    return out;
}

static char *right;

/* ---- the row ---------------------------------------------------------------------------------------------- */

typedef struct row { sqlite3_int64 seq, lsn; char *body, digest[HASH_BYTES]; int size; } row;

static sqlite3 *raw_open(void)
{
    sqlite3 *db = NULL;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static row row_read(void)
{
    sqlite3 *db = raw_open();
    sqlite3_stmt *q = NULL;
    row r = {0};

    CHECK_INT(sqlite3_prepare_v2(db, "SELECT seq,lsn,body,digest FROM snapshots", -1, &q, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(q), SQLITE_ROW);
    r.seq = sqlite3_column_int64(q, 0);
    r.lsn = sqlite3_column_int64(q, 1);
    r.size = sqlite3_column_bytes(q, 2);
    CHECK((r.body = calloc(1, (size_t)r.size + 1)) != NULL);
    memcpy(r.body, sqlite3_column_blob(q, 2), (size_t)r.size);
    CHECK_INT(sqlite3_column_bytes(q, 3), HASH_BYTES);
    memcpy(r.digest, sqlite3_column_blob(q, 3), HASH_BYTES);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return r;
}

static void row_write(const row *r, int digest_bytes)
{
    sqlite3 *db = raw_open();
    sqlite3_stmt *q = NULL;

    CHECK_INT(sqlite3_prepare_v2(db, "UPDATE snapshots SET seq=?1,lsn=?2,body=?3,digest=?4", -1, &q, NULL), SQLITE_OK);
    sqlite3_bind_int64(q, 1, r->seq);
    sqlite3_bind_int64(q, 2, r->lsn);
    sqlite3_bind_blob(q, 3, r->body, r->size, SQLITE_STATIC);
    if (digest_bytes > 0)
        sqlite3_bind_blob(q, 4, r->digest, digest_bytes, SQLITE_STATIC);
    CHECK_INT(sqlite3_step(q), SQLITE_DONE);
    sqlite3_finalize(q);
    sqlite3_close(db);
}

/* The digest that fits whatever `body` is now. */
static void row_seal(row *r)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = store_open();
    pawl_bytes journal = pawl_store_journal(s, "r", &err);
    const char *at = journal.data;
    union { const char *in; void *out; } text = { .in = journal.data };
    hash entry, digest;

    for (sqlite3_int64 n = 0; n < r->seq; n++) {
        do
            at = strchr(at, '\n') + 1;
        while (*at == '[');
    }
    CHECK(store_entry_hash((pawl_bytes){ at, strlen(at) }, &entry));
    store_snapshot_digest(&entry, (pawl_bytes){ r->body, (size_t)r->size }, &digest);
    memcpy(r->digest, digest.b, HASH_BYTES);
    free(text.out);
    pawl_store_free(s);
}

/* ---- what becomes of it --------------------------------------------------------------------------------------- */

static pawl_code checked(char *text, size_t size)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = store_open();
    pawl_code rc = s->verbs->check(s, &err);

    snprintf(text, size, "%s", err.text);
    pawl_store_free(s);
    return rc;
}

static pawl_code verified(char *text, size_t size)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = notes();
    pawl_store *s = store_open();
    pawl_verdict v;
    pawl_code rc = pawl_history_verify(s, m, "r", &v, &err);

    snprintf(text, size, "%s", err.text);
    pawl_machine_free(m);
    pawl_store_free(s);
    return rc;
}

static void damage_is_seen(const row *r, int digest_bytes, const char *what)
{
    char text[256], *is;

    row_write(r, digest_bytes);
    is = state_json();
    if (strcmp(is, right) != 0)
        CHECK_FAIL("%s: the state is another one", what);
    free(is);
    if (verified(text, sizeof text) != PAWL_CORRUPT || strstr(text, "snapshot") == NULL)
        CHECK_FAIL("%s: verify says \"%s\"", what, text);
    if (checked(text, sizeof text) != PAWL_CORRUPT || strstr(text, "snapshot") == NULL)
        CHECK_FAIL("%s: check says \"%s\"", what, text);
}

/* 40 notes, a snapshot among them, and a gate. */
static row begun(void)
{
    pawl_engine *e;
    char text[256];

    path_new("snapshot");
    e = engine_open();
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_INTERRUPTED);
    pawl_engine_free(e);
    right = state_json();
    CHECK_INT(verified(text, sizeof text), PAWL_OK);
    CHECK_INT(checked(text, sizeof text), PAWL_OK);
    return row_read();
}

static void over(row *r)
{
    free(r->body);
    free(right);
    path_gone();
}

PAWL_TEST(test_K11_a_flipped_bit_of_a_snapshot_changes_no_state_and_is_told)
{
    row good = begun();
    char what[64];

    for (int i = 0; i < 24; i++) {
        int at = (int)((int64_t)good.size * i / 24);
        char was = good.body[at];

        good.body[at] = (char)(was ^ 1 << i % 8);
        snprintf(what, sizeof what, "bit %d of byte %d", i % 8, at);
        damage_is_seen(&good, HASH_BYTES, what);
        good.body[at] = was;
    }
    for (int bit = 0; bit < 8; bit++) {
        good.digest[bit * 4] = (char)(good.digest[bit * 4] ^ 1 << bit);
        damage_is_seen(&good, HASH_BYTES, "its digest");
        good.digest[bit * 4] = (char)(good.digest[bit * 4] ^ 1 << bit);
    }
    damage_is_seen(&good, HASH_BYTES - 1, "a short digest");
    over(&good);
}

PAWL_TEST(test_K11_a_snapshot_of_another_entry_or_cut_off_is_not_used)
{
    row good = begun(), bad = good;

    for (int i = -2; i <= 2; i++) {
        bad.seq = good.seq + i;
        if (i != 0)
            damage_is_seen(&bad, HASH_BYTES, "another entry's number");
        bad.seq = good.seq;
        bad.lsn = good.lsn + i;
        if (i != 0)
            damage_is_seen(&bad, HASH_BYTES, "another entry's row");
        bad.lsn = good.lsn;
    }
    bad.size = good.size / 2;
    damage_is_seen(&bad, HASH_BYTES, "half of it");
    bad.size = 0;
    damage_is_seen(&bad, HASH_BYTES, "nothing of it");
    over(&good);
}

/* As one stands there that was written before there were digests: a cache that nobody trusts. */
PAWL_TEST(test_K11_a_snapshot_without_a_digest_is_not_used_and_no_damage)
{
    row r = begun();
    char text[256], *is, *at;

    CHECK((at = strstr(r.body, "\"n\":40")) != NULL || (at = strstr(r.body, "\"n\":")) != NULL);
    at[4] = at[4] == '9' ? '8' : '9';
    row_write(&r, 0);
    is = state_json();
    CHECK_STR(is, right);
    free(is);
    CHECK_INT(verified(text, sizeof text), PAWL_OK);
    CHECK_INT(checked(text, sizeof text), PAWL_OK);
    over(&r);
}

/* ---- forged: whoever writes the store can make a digest that fits ------------------------------------------------------ */

static char noticed[256];
static size_t notices;
static pawl_code noticed_code;

static void notice(void *ctx, const char *run, pawl_code code, const char *text)
{
    (void)ctx;
    notices++;
    noticed_code = code;
    snprintf(noticed, sizeof noticed, "%s: %s", run, text);
}

/* Another count of notes, so that the run would end at another place; with the digest of the store. */
static void forge(row *r)
{
    char *at = strstr(r->body, "\"n\":");

    CHECK(at != NULL);
    at[4] = at[4] == '9' ? '8' : '9';
    row_seal(r);
    row_write(r, HASH_BYTES);
}

PAWL_TEST(test_K11_a_forged_snapshot_is_not_acted_on_and_verify_names_run_entry_and_channel)
{
    row r = begun();
    char text[256], due[256], *is;
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    forge(&r);
    CHECK_INT(checked(text, sizeof text), PAWL_OK);     /* its digest is that of the store */
    CHECK_INT(verified(text, sizeof text), PAWL_CORRUPT);
    snprintf(due, sizeof due, "r: its snapshot of entry %lld is another state than the journal gives: fold/values/n differs", (long long)r.seq);
    CHECK_STR(text, due);
    notices = 0;
    e = engine_open();
    pawl_engine_notice(e, notice, NULL);
    if (pawl_answer(e, "r", "gate", "true", &err) != PAWL_HALTED)
        CHECK_FAIL("answer: %s", err.text);
    CHECK_STR(pawl_run_get(e, "r", "n"), "60");
    CHECK_INT(notices, 1);
    CHECK_INT(pawl_engine_refolds(e), 1);
    CHECK_INT(noticed_code, PAWL_CORRUPT);
    snprintf(due, sizeof due, "r: its snapshot is not the one that entry %lld names", (long long)r.seq + 1);
    CHECK(strncmp(noticed, due, strlen(due)) == 0);
    pawl_engine_free(e);
    is = state_json();
    CHECK(strstr(is, "\"n\":60") != NULL);
    free(is);
    CHECK_INT(verified(text, sizeof text), PAWL_OK);
    over(&r);
}

/* The values that a reader of the stream gets from the last entry on. */
static void values_read(char *out, size_t size, sqlite3_int64 from)
{
    char cursor[32];
    pawl_stream *stream;
    pawl_stream_event ev;
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = store_open();

    snprintf(cursor, sizeof cursor, "%lld.0", (long long)from);
    stream = pawl_stream_open(NULL, s, "r", &(pawl_stream_options){ .kinds = PAWL_STREAM_VALUES, .from = cursor }, &err);
    if (stream == NULL || pawl_stream_next(stream, &ev, &err) != PAWL_OK)
        CHECK_FAIL("stream: %s", err.text);
    snprintf(out, size, "%.*s", 200, strstr(ev.json, "\"n\":") != NULL ? strstr(ev.json, "\"n\":") : "");
    pawl_stream_close(stream);
    pawl_store_free(s);
}

PAWL_TEST(test_K11_no_reader_shows_a_forged_snapshot)
{
    row r = begun();
    char before[256], after[256];
    pawl_store *s;
    current_state now;

    values_read(before, sizeof before, r.seq + 2);
    forge(&r);
    values_read(after, sizeof after, r.seq + 2);
    CHECK_STR(after, before);
    s = store_open();
    CHECK_INT(current_state_load(&now, s, "r", NULL), PAWL_OK);
    CHECK_INT(now.unfit.code, PAWL_CORRUPT);
    CHECK_INT(pawl_value_int(pawl_state_get(now.st, "n")), 40);
    current_state_free(&now);
    pawl_store_free(s);
    over(&r);
}

/* Whoever writes no entry cannot have one written that names what he forged. */
PAWL_TEST(test_K11_nobody_outside_names_a_snapshot)
{
    row r = begun();
    const char *name = "{\"@snapshot\":{\"digest\":\"0000000000000000000000000000000000000000000000000000000000000001\",\"seq\":40}}";
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_open();
    char text[256];

    CHECK_INT(pawl_event_send(e, "r", &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = name, .by = "@engine" }, &err), PAWL_INVALID);
    CHECK(strstr(err.text, "@snapshot") != NULL);
    pawl_engine_free(e);
    CHECK_INT(verified(text, sizeof text), PAWL_OK);
    over(&r);
}

/* Whoever writes the store can make a digest; what he wrote is held against the journal. */
PAWL_TEST(test_K6_verify_compares_a_snapshot_with_the_journal)
{
    row r = begun();
    char text[256], *is;

    forge(&r);
    CHECK_INT(verified(text, sizeof text), PAWL_CORRUPT);
    CHECK(strstr(text, "another state than the journal") != NULL);
    r.body[0] = '?';            /* nobody can read it, with a digest that fits */
    row_seal(&r);
    row_write(&r, HASH_BYTES);
    is = state_json();
    CHECK_STR(is, right);
    free(is);
    CHECK_INT(verified(text, sizeof text), PAWL_CORRUPT);
    CHECK(strstr(text, "cannot be read") != NULL);
    over(&r);
}

PAWL_TEST(test_K11_a_run_with_a_damaged_snapshot_goes_on_and_takes_a_new_one)
{
    pawl_err err = { PAWL_OK, "" };
    row r = begun(), next;
    char text[256], *is;
    pawl_engine *e;

    r.body[r.size / 2] ^= 4;
    row_write(&r, HASH_BYTES);
    e = engine_open();
    if (pawl_answer(e, "r", "gate", "true", &err) != PAWL_HALTED)
        CHECK_FAIL("answer: %s", err.text);
    pawl_engine_free(e);
    CHECK_INT(verified(text, sizeof text), PAWL_OK);
    CHECK_INT(checked(text, sizeof text), PAWL_OK);
    next = row_read();
    CHECK(next.seq > r.seq);
    free(next.body);
    is = state_json();
    CHECK(strstr(is, "\"n\":60") != NULL);
    free(is);
    over(&r);
}
