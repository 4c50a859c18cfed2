/* The engine and what is too large for a journal's line: stored once by content beside it, read back, copied into forks (S5, K7, K10); and
 * replies that are too large for anything (E13, X2). */
#include "json/json.h"
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "pawl/stream.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY_BYTES = 300000, NOTE_BYTES = 7000, ROUNDS = 80 };

/* ---- the store, with an eye on what is handed to it ------------------------------------------------ */

typedef enum mood { WELL, REFUSES, TELLS_NOTHING, DEAD } mood;     /* TELLS_NOTHING: it is done, and nobody hears of it */

static struct spy {
    const pawl_store_verbs *real;
    pawl_store_verbs mine;
    size_t appends, snapshots, blobs, blob_bytes, bytes, longest;
    size_t bad_at;              /* the append that goes wrong; the first is 1, 0 none */
    mood how, now;
} spy;

static pawl_code away(pawl_err *err) { return fail(err, PAWL_IO, "the store is away"); }

static void seen(const pawl_append *a)
{
    spy.snapshots += a->snapshot.size > 0;
    spy.bytes += a->snapshot.size;
    spy.longest = a->snapshot.size > spy.longest ? a->snapshot.size : spy.longest;
    for (size_t i = 0; i < a->nlines; i++) {
        spy.bytes += a->lines[i].size;
        spy.longest = a->lines[i].size > spy.longest ? a->lines[i].size : spy.longest;
    }
    spy.blobs += a->nblobs;
    for (size_t i = 0; i < a->nblobs; i++)
        spy.blob_bytes += a->blobs[i].bytes.size;
}

static pawl_code spy_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    pawl_code rc;

    if (++spy.appends == spy.bad_at)
        spy.now = spy.how;
    if (spy.now == REFUSES || spy.now == DEAD) {
        spy.now = spy.now == DEAD ? DEAD : WELL;
        return away(err);
    }
    for (size_t i = 0; i < n; i++)
        seen(&all[i]);
    rc = spy.real->append(s, all, n, err);
    if (spy.now != TELLS_NOTHING)
        return rc;
    spy.now = WELL;
    return away(err);
}

/* The first lines of a run come with its base. */
static pawl_code spy_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    pawl_code rc;

    if (with == NULL || with->first == NULL)
        return spy.real->create(s, base, with, err);
    if (++spy.appends == spy.bad_at)
        spy.now = spy.how;
    if (spy.now == REFUSES || spy.now == DEAD) {
        spy.now = spy.now == DEAD ? DEAD : WELL;
        return away(err);
    }
    seen(with->first);
    rc = spy.real->create(s, base, with, err);
    if (spy.now != TELLS_NOTHING)
        return rc;
    spy.now = WELL;
    return away(err);
}

static pawl_code spy_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err)
{
    return spy.now == DEAD ? away(err) : spy.real->remove(s, run, fence, err);
}

static pawl_code spy_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    return spy.now == DEAD ? away(err) : spy.real->release(s, all, n, err);
}

static void stays(pawl_store *s) { (void)s; }

static pawl_store *spied(pawl_store *s, bool outlives)
{
    spy = (struct spy){ .real = s->verbs, .mine = *s->verbs };
    spy.mine.append = spy_append;
    spy.mine.create = spy_create;
    spy.mine.remove = spy_remove;
    spy.mine.release = spy_release;
    if (outlives)
        spy.mine.close = stays;
    s->verbs = &spy.mine;
    return s;
}

static void unspied(pawl_store *s)
{
    s->verbs = spy.real;
    pawl_store_free(s);
}

/* ---- a run that fetches a page, and makes notes ------------------------------------------------------- */

static char page[BODY_BYTES + 64];
static size_t calls;

static pawl_code fetch(pawl_step *s, void *arg)
{
    const pawl_value *got;
    pawl_code rc = pawl_call(s, "get", NULL, &got);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "page", pawl_value_get(got, "body"));
    return pawl_follow(s);
}

static pawl_code note(pawl_step *s, void *arg)
{
    const pawl_value *got;
    pawl_code rc = pawl_call(s, "note", pawl_ref(s, "n"), &got);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "last", got);
    pawl_set_int(s, "n", 1);
    return pawl_follow(s);
}

static bool goes_on(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "n") < ROUNDS;
}

static pawl_machine *notes(const pawl_retry *retry)
{
    const pawl_limits get = { .retry = retry != NULL ? *retry : (pawl_retry){0} };
    pawl_graph *g = pawl_graph_new("notes", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_effect(g, "get", &get);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "page", .keep = true });
    pawl_graph_channel(g, "last", PAWL_RULE_LAST);
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "n", .rule = PAWL_RULE_SUM, .first = "0" });
    pawl_graph_node(g, "fetch", fetch, NULL);
    pawl_graph_node(g, "note", note, NULL);
    pawl_graph_chain(g, PAWL_START, "fetch", "note", NULL);
    pawl_graph_when(g, "note", goes_on, NULL, "note");
    pawl_graph_when(g, "note", NULL, NULL, PAWL_END);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("graph: %s", err.text);
    return m;
}

static pawl_code brings(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    calls++;
    return pawl_reply_json(reply, page);
}

static pawl_code makes_note(const pawl_job *job, pawl_reply *reply, void *arg)
{
    char text[NOTE_BYTES + 1];

    (void)arg;
    memset(text, 'a' + (int)(pawl_value_int(job->args) % 26), NOTE_BYTES);
    text[NOTE_BYTES] = '\0';
    return pawl_reply_string(reply, text);
}

static void page_make(void)
{
    static const char head[] = "{\"status\":200,\"body\":\"";
    size_t n = sizeof head - 1;

    memcpy(page, head, n);
    for (size_t i = 0; i < BODY_BYTES; i++)
        page[n + i] = "0123456789 abcdefghijklmnopqrstuvwxyz"[i * i % 37];
    memcpy(page + n + BODY_BYTES, "\"}", 3);
    calls = 0;
}

static pawl_engine *engine_on(pawl_store *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(notes(NULL), s, &err);

    if (e == NULL)
        CHECK_FAIL("engine: %s", err.text);
    CHECK_INT(pawl_engine_effect(e, "get", brings, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "note", makes_note, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
    return e;
}

static void check_page(pawl_engine *e, const char *run)
{
    const char *text = pawl_run_get(e, run, "page");

    CHECK_INT(strlen(text), BODY_BYTES);
    CHECK(strncmp(text, page + strlen("{\"status\":200,\"body\":\""), BODY_BYTES) == 0);
}

static void check_verified(pawl_engine *e, const char *run)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes journal = pawl_store_journal(pawl_engine_store(e), run, &err);
    union { const char *in; void *out; } text = { .in = journal.data };
    pawl_loader loader;
    pawl_verdict v;

    CHECK_INT(pawl_run_loader(e, run, &loader, &err), PAWL_OK);
    if (pawl_verify_with(pawl_engine_machine(e), journal, &loader, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("verify: %s", err.text);
    CHECK(strstr(journal.data, "\"blob\"") != NULL);
    free(text.out);
}

/* ---- both stores ------------------------------------------------------------------------------------------ */

static char folder[200];

static const char *file_name(void)
{
    static char name[256];

    snprintf(name, sizeof name, "%s/a.pawl", folder);
    return name;
}

static void folder_empty(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        char name[600];

        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(name);
    }
    if (d != NULL)
        closedir(d);
}

static pawl_store *file_open(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(file_name(), &(pawl_sqlite){ .normal = true }, &err);

    if (s == NULL)
        CHECK_FAIL("store: %s", err.text);
    return s;
}

static size_t file_bytes(void)
{
    struct stat st;

    return stat(file_name(), &st) == 0 ? (size_t)st.st_size : 0;
}

/* ---- once --------------------------------------------------------------------------------------------------- */

static void check_once(void)
{
    CHECK_INT(spy.blobs, 1);
    CHECK_INT(spy.blob_bytes, BODY_BYTES + 2);
    CHECK(spy.snapshots >= 2);
    CHECK(spy.longest < 2 * NOTE_BYTES);
}

PAWL_TEST(test_S5_K7_what_a_receipt_brought_is_stored_once_and_snapshots_name_it)
{
    pawl_store *s = spied(pawl_store_memory(NULL), true);
    pawl_engine *e;

    page_make();
    e = engine_on(s);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    check_once();
    check_page(e, "r");
    check_verified(e, "r");
    pawl_engine_free(e);
    e = engine_on(s);           /* read back: snapshot, tail and blob */
    check_page(e, "r");
    check_verified(e, "r");
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    pawl_engine_free(e);
    unspied(s);
}

static size_t file_of_one(size_t limit, bool forked)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    folder_empty();
    e = engine_on(spied(file_open(), false));
    pawl_engine_blobs(e, limit);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    if (limit > 0)
        check_once();
    if (forked && pawl_run_fork(e, "r", 20, "f", &err) != PAWL_OK)
        CHECK_FAIL("fork: %s", err.text);
    pawl_engine_free(e);
    return file_bytes();
}

PAWL_TEST(test_S5_K10_a_file_grows_by_the_value_once_and_by_a_copy_for_each_fork)
{
    const size_t lines = ROUNDS * NOTE_BYTES, slack = 150000;    /* what is left of pages, and a snapshot with a note */
    size_t whole, forked, empty;
    pawl_engine *e;

    page_make();
    folder_empty();
    pawl_store_free(file_open());
    empty = file_bytes();
    whole = file_of_one(65536, false);
    CHECK(whole - empty > BODY_BYTES + lines);
    CHECK(whole - empty < BODY_BYTES + lines + slack);
    forked = file_of_one(65536, true);
    CHECK(forked > whole + BODY_BYTES - slack / 3 && forked < whole + BODY_BYTES + slack / 3);
    CHECK(file_of_one(0, false) > whole + BODY_BYTES / 2);      /* a snapshot has it again */
    forked = file_of_one(65536, true);
    e = engine_on(spied(file_open(), false));
    check_page(e, "r");
    check_page(e, "f");
    CHECK_INT(pawl_run(e, "f", NULL, NULL), PAWL_HALTED);
    CHECK_INT(spy.blobs, 0);    /* its own snapshots name what its base brought */
    check_page(e, "f");
    check_verified(e, "f");
    CHECK_INT(pawl_engine_store(e)->verbs->check(pawl_engine_store(e), NULL), PAWL_OK);
    pawl_engine_free(e);
    folder_empty();
}

/* ---- killed --------------------------------------------------------------------------------------------------- */

/* At every commit: it is lost, or done and nobody hears of it; then others go on. */
static void march(pawl_store *s, mood how, size_t stride)
{
    size_t total = SIZE_MAX, again = 0;
    char run[32];

    for (size_t n = 1; n <= total; n += stride + n / 3, again++) {
        pawl_engine *e = engine_on(s);
        pawl_code rc;

        snprintf(run, sizeof run, "r%zu-%d", n, (int)how);
        spy.appends = 0;
        spy.bad_at = n;
        spy.how = how;
        rc = pawl_run(e, run, NULL, NULL);
        if (rc == PAWL_HALTED)
            total = spy.appends;
        else
            CHECK_INT(rc, PAWL_IO);
        pawl_engine_free(e);
        spy.bad_at = 0;
        e = engine_on(s);
        CHECK_INT(pawl_run(e, run, NULL, NULL), PAWL_HALTED);
        CHECK_STR(pawl_run_get(e, run, "n"), "80");
        check_page(e, run);
        check_verified(e, run);
        pawl_engine_free(e);
    }
    CHECK(again > 3);
}

PAWL_TEST(test_K8_S5_a_run_with_blobs_survives_a_kill_at_every_commit)
{
    pawl_store *s = spied(pawl_store_memory(NULL), true);

    page_make();
    march(s, REFUSES, 1);
    march(s, TELLS_NOTHING, 1);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    unspied(s);
    folder_empty();
    s = spied(file_open(), true);
    march(s, REFUSES, 2);
    march(s, TELLS_NOTHING, 3);
    CHECK_INT(s->verbs->check(s, NULL), PAWL_OK);
    unspied(s);
    folder_empty();
}

PAWL_TEST(test_K10_a_fork_that_was_killed_before_its_blobs_came_is_made_whole_by_the_same_call)
{
    pawl_store *s = spied(pawl_store_memory(NULL), true);
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;

    page_make();
    e = engine_on(s);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    pawl_engine_lease(e, NULL, 1);
    spy.bad_at = spy.appends + 1;
    spy.how = DEAD;
    CHECK_INT(pawl_run_fork(e, "r", 20, "f", &err), PAWL_IO);
    CHECK_STR(err.text, "the store is away");
    pawl_engine_free(e);
    spy.now = WELL;
    spy.bad_at = 0;
    e = engine_on(s);
    CHECK_STR(pawl_run_get(e, "f", "page"), "");        /* its base names what is not there */
    CHECK_INT(pawl_run_fork(e, "r", 21, "f", NULL), PAWL_CONFLICT);     /* another fork */
    for (int i = 0; i < 100000 && pawl_run_fork(e, "r", 20, "f", &err) == PAWL_HELD; i++)
        ;                       /* as long as the lease of the dead one */
    CHECK_INT(pawl_run_fork(e, "r", 20, "f", NULL), PAWL_CONFLICT);     /* it is whole */
    check_page(e, "f");
    CHECK_INT(pawl_run(e, "f", NULL, NULL), PAWL_HALTED);
    check_verified(e, "f");
    pawl_engine_free(e);
    unspied(s);
}

PAWL_TEST(test_K10_G13_a_large_value_that_a_context_keeps_is_there_in_its_next_run)
{
    const pawl_run_info a = { .id = "a", .context = "c" }, b = { .id = "b", .context = "c" };
    pawl_store *s = spied(pawl_store_memory(NULL), true);
    pawl_engine *e;

    page_make();
    e = engine_on(s);
    CHECK_INT(pawl_run_with(e, &a, NULL, NULL), PAWL_HALTED);
    pawl_engine_free(e);
    e = pawl_engine_new(notes(NULL), s, NULL);  /* it has no handlers */
    CHECK_INT(pawl_run_with(e, &b, NULL, NULL), PAWL_PENDING);
    check_page(e, "b");
    pawl_engine_free(e);
    e = engine_on(s);
    check_page(e, "b");
    CHECK_INT(pawl_run(e, "b", NULL, NULL), PAWL_HALTED);
    check_verified(e, "b");
    pawl_engine_free(e);
    unspied(s);
}

/* ---- what comes in, and what is told ------------------------------------------------------------------------------ */

static void watch(void *ctx, const pawl_state *st, const pawl_entry *entry)
{
    const char *name;
    const pawl_value *v;

    (void)st;
    for (size_t i = 0; (v = pawl_entry_emission(entry, i, &name, NULL)) != NULL; i++)
        *(size_t *)ctx += pawl_value_size(v);
}

static pawl_code tells(pawl_step *s, void *arg)
{
    (void)arg;
    pawl_emit(s, "all", pawl_get(s, "page"));
    pawl_set_int(s, "n", 1);
    return pawl_follow(s);
}

PAWL_TEST(test_S5_an_input_that_is_large_stands_apart_is_told_whole_and_known_again)
{
    pawl_graph *g = pawl_graph_new("tells", 1);
    pawl_store *s = spied(pawl_store_memory(NULL), true);
    char *input = calloc(1, BODY_BYTES + 64), *other;
    size_t told = 0;
    pawl_engine *e;

    page_make();
    pawl_graph_channel(g, "page", PAWL_RULE_LAST);
    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_node(g, "tell", tells, NULL);
    pawl_graph_chain(g, PAWL_START, "tell", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, NULL), s, NULL);
    pawl_engine_watch(e, watch, &told);
    memcpy(input, "{\"page\":", 8);
    memcpy(input + 8, page + 21, BODY_BYTES + 3);
    CHECK_INT(pawl_run(e, "r", input, NULL), PAWL_HALTED);
    CHECK_INT(told, BODY_BYTES);
    CHECK_INT(spy.blobs, 1);    /* in the start and in the emission */
    CHECK_INT(pawl_run(e, "r", input, NULL), PAWL_HALTED);
    other = strdup(input);
    other[BODY_BYTES / 2] = '!';
    CHECK_INT(pawl_run(e, "r", other, NULL), PAWL_CONFLICT);
    pawl_engine_free(e);
    unspied(s);
    free(input);
    free(other);
}

/* What a reader is told of the run, some time after it: each event with the page in it counts. */
static size_t told_whole(pawl_engine *e, const char *run, unsigned kinds)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_stream *r = pawl_stream_open(e, NULL, run, &(pawl_stream_options){ .kinds = kinds }, &err);
    pawl_stream_event ev;
    size_t found = 0;
    pawl_code rc;
    char piece[200];

    if (r == NULL)
        CHECK_FAIL("stream: %s", err.text);
    memcpy(piece, page + BODY_BYTES - 300, sizeof piece - 1);
    piece[sizeof piece - 1] = '\0';
    while ((rc = pawl_stream_next(r, &ev, &err)) == PAWL_OK)
        found += strstr(ev.json, piece) != NULL;
    if (rc < 0)
        CHECK_FAIL("stream: %s", err.text);
    pawl_stream_close(r);
    return found;
}

PAWL_TEST(test_S5_G11_streams_tell_what_stands_apart_in_its_place)
{
    pawl_store *s = spied(pawl_store_memory(NULL), true);
    pawl_engine *e;

    page_make();
    e = engine_on(s);
    CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
    CHECK_INT(told_whole(e, "r", PAWL_STREAM_TASKS), 1);        /* the receipt */
    CHECK_INT(told_whole(e, "r", PAWL_STREAM_UPDATES), 1);      /* the write that refers to it */
    CHECK(told_whole(e, "r", PAWL_STREAM_VALUES) > 1);
    pawl_engine_free(e);
    unspied(s);
}

/* ---- replies that are too large ------------------------------------------------------------------------------------- */

static pawl_code says_much(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job;
    calls++;
    if (*(const bool *)arg) {
        pawl_reply_detail(reply, page);
        return pawl_reply_fail(reply, PAWL_TRANSIENT, "later");
    }
    return pawl_reply_json(reply, page);
}

PAWL_TEST(test_E13_X2_a_reply_over_the_limit_is_final_and_names_the_command_and_the_bytes)
{
    const pawl_retry often = { .max_attempts = 5 };
    const pawl_value *why;
    const char *text;
    char bytes[32];

    for (int failing = 0; failing < 2; failing++) {
        bool fails = failing == 1;
        pawl_engine *e = pawl_engine_new(notes(&often), pawl_store_memory(NULL), NULL);

        page_make();
        snprintf(bytes, sizeof bytes, " %zu bytes", strlen(page));
        CHECK_INT(pawl_engine_effect(e, "get", says_much, &fails, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
        pawl_engine_reply_max(e, strlen(page) - 1);
        CHECK_INT(pawl_run(e, "r", NULL, NULL), PAWL_HALTED);
        CHECK_INT(calls, 1);
        why = pawl_value_get(pawl_state_reason(pawl_run_state(e, "r", NULL)), "receipt");
        CHECK_STR(pawl_value_string(pawl_value_get(why, "code")), "limit");
        text = pawl_value_string(pawl_value_get(why, "text"));
        CHECK(strstr(text, bytes) != NULL && strstr(text, "/1.fetch.1.0: get: ") != NULL && strstr(text, "reply_bytes_max") != NULL);
        pawl_engine_reply_max(e, strlen(page));
        calls = 0;
        CHECK_INT(pawl_engine_effect(e, "note", makes_note, NULL, PAWL_CLASS_AT_LEAST_ONCE, NULL), PAWL_OK);
        CHECK_INT(pawl_run(e, "r2", NULL, NULL), PAWL_HALTED);
        CHECK_INT(calls, fails ? 5 : 1);
        CHECK_INT(*pawl_run_reason(e, "r2") == '\0', !fails);
        pawl_engine_free(e);
    }
}

int main(int argc, char **argv)
{
    const char *temp = getenv("TMPDIR");
    int rc;

    snprintf(folder, sizeof folder, "%.150s/pawl-blob-XXXXXX", temp != NULL ? temp : "/tmp");
    if (mkdtemp(folder) == NULL)
        return 2;
    rc = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return rc;
}
