/* stream_process_test.c - readers beside the engine: on another thread, in another process, over a writer that is killed. */
#include "json/json.h"
#include "lib/check.h"
#include "pawl/graph.h"
#include "pawl/stream.h"
#include "store/sqlite_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 40, FAN = 4, ALL = PAWL_STREAM_GAP - 1 };

/* ---- a run that goes round, with commands side by side ------------------------------------------------- */

static pawl_code plan(pawl_step *s, void *arg)
{
    int64_t n = pawl_get_int(s, "round");

    (void)arg;
    pawl_emit(s, "round", pawl_pack(s, "i", n));
    pawl_emit(s, "message", pawl_pack(s, "s", "another round"));
    pawl_set_int(s, "round", 1);
    for (int64_t i = 0; i < FAN; i++)
        pawl_send(s, "work", pawl_pack(s, "i", n * FAN + i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code work(pawl_step *s, void *arg)
{
    const pawl_value *v;
    pawl_code rc = pawl_call(s, "job", pawl_args(s), &v);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "log", v);
    return pawl_goto(s, pawl_get_int(s, "round") < ROUNDS ? "plan" : PAWL_END);
}

static pawl_machine *rounds(void)
{
    pawl_graph *g = pawl_graph_new("rounds", 1);

    pawl_graph_channel(g, "round", PAWL_RULE_SUM);
    pawl_graph_channel(g, "log", PAWL_RULE_APPEND);
    pawl_graph_node(g, "plan", plan, NULL);
    pawl_graph_node(g, "work", work, NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_goto(g, "plan", "work", PAWL_END, NULL);
    pawl_graph_goto(g, "work", "plan", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_code job(const pawl_job *j, pawl_reply *reply, void *arg)
{
    char text[96];

    (void)arg;
    for (int i = 0; i < 3; i++)
        if (j->say(j, i == 0 ? "message" : "moved", "{\"n\":1}") != PAWL_OK)
            return pawl_reply_fail(reply, PAWL_INVALID, "nobody listens");
    snprintf(text, sizeof text, "the result of job number %lld, long enough to be named", (long long)pawl_value_int(j->args));
    return pawl_reply_string(reply, text);
}

static pawl_engine *engine_on(pawl_store *s, unsigned threads, pawl_err *err)
{
    pawl_engine *e = pawl_engine_new(rounds(), s, err);

    (void)pawl_engine_effect(e, "job", job, NULL, PAWL_CLASS_AT_LEAST_ONCE, err);
    pawl_engine_threads(e, threads);
    return e;
}

/* ---- what was told, as a digest --------------------------------------------------------------------------- */

typedef struct digest { hash h; uint64_t count, live, gaps; } digest;

static void digest_add(digest *d, const pawl_stream_event *ev)
{
    char head[96];
    int n = snprintf(head, sizeof head, "%s %d %s", ev->cursor, (int)ev->kind, ev->name);
    const pawl_bytes parts[] = { { (const char *)d->h.b, HASH_BYTES }, { head, (size_t)n }, { ev->path, strlen(ev->path) }, { ev->json, strlen(ev->json) } };

    if (ev->kind == PAWL_STREAM_GAP) {
        d->gaps++;
    } else if (ev->live > 0) {
        d->live++;
    } else {
        d->count++;
        hash_parts(parts, 4, &d->h);
    }
}

/* From the beginning to the end of the run; NULL, or what went wrong. */
static const char *read_on(pawl_engine *e, pawl_store *s, digest *d)
{
    static _Thread_local pawl_err err;
    pawl_stream_event ev;
    pawl_stream *r;
    pawl_code rc;

    err = (pawl_err){ PAWL_OK, "" };
    *d = (digest){ .count = 0 };
    if ((r = pawl_stream_open(e, s, "r", &(pawl_stream_options){ .kinds = ALL }, &err)) == NULL)
        return err.text;
    while ((rc = pawl_stream_wait(r, -1, &ev, &err)) == PAWL_OK)
        digest_add(d, &ev);
    pawl_stream_close(r);
    return rc == PAWL_HALTED ? NULL : rc < 0 ? err.text : "it ended too soon";
}

static void same_digest(const digest *a, const digest *b)
{
    CHECK_INT(a->count, b->count);
    CHECK(hash_equal(&a->h, &b->h));
    CHECK(a->count > (uint64_t)ROUNDS * FAN * 4);
}

/* ---- another thread --------------------------------------------------------------------------------------------- */

typedef struct listener { pthread_t thread; pawl_engine *e; pawl_store *own; digest d; const char *wrong; char text[256]; } listener;

static void *listen_all(void *arg)
{
    listener *l = arg;
    const char *wrong = read_on(l->e, l->own, &l->d);

    if (wrong != NULL)
        snprintf(l->text, sizeof l->text, "%s", wrong);
    l->wrong = wrong != NULL ? l->text : NULL;
    return NULL;
}

static void threads_listen(bool file)
{
    listener all[4] = { { .d = { .count = 0 } } };
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file ? file_fresh() : pawl_store_memory(&err);
    pawl_engine *e = engine_on(s, 3, &err);
    digest whole;

    CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
    for (int i = 0; i < 4; i++) {
        all[i].e = e;
        if (file && i % 2 == 1)
            all[i].own = file_opened("a.pawl");
        CHECK_INT(pthread_create(&all[i].thread, NULL, listen_all, &all[i]), 0);
    }
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i].thread, NULL);
    CHECK_STR(read_on(NULL, pawl_engine_store(e), &whole), NULL);
    for (int i = 0; i < 4; i++) {
        CHECK_STR(all[i].wrong, NULL);
        same_digest(&all[i].d, &whole);
        pawl_store_free(all[i].own);
    }
    pawl_engine_free(e);
}

PAWL_TEST(test_G11_readers_on_other_threads_see_each_event_once_in_memory)
{
    threads_listen(false);
}

PAWL_TEST(test_G11_readers_on_other_threads_see_each_event_once_in_a_file)
{
    threads_listen(true);
}

typedef struct stopper { pthread_t thread; pawl_stream *r; pawl_code rc; } stopper;

static void *wait_long(void *arg)
{
    stopper *s = arg;
    pawl_stream_event ev;

    s->rc = pawl_stream_wait(s->r, -1, &ev, NULL);
    return NULL;
}

PAWL_TEST(test_G11_a_reader_that_waits_is_stopped_from_another_thread)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_on(pawl_store_memory(&err), 0, &err);

    CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
    for (int i = 0; i < 2; i++) {
        stopper s = { .r = pawl_stream_open(i == 0 ? e : NULL, i == 0 ? NULL : pawl_engine_store(e), "r", NULL, &err) };

        CHECK(s.r != NULL);
        CHECK_INT(pthread_create(&s.thread, NULL, wait_long, &s), 0);
        pawl_stream_stop(s.r);
        pthread_join(s.thread, NULL);
        CHECK_INT(s.rc, PAWL_CANCELED);
        pawl_stream_close(s.r);
    }
    pawl_engine_free(e);
}

static pawl_code says_all_the_time(const pawl_job *j, pawl_reply *reply, void *arg)
{
    const struct timespec t = { .tv_nsec = 1000000 };
    char text[300];

    memset(text, '1', sizeof text);
    text[sizeof text - 1] = '\0';
    *(pawl_code *)arg = j->say(j, "long", text);
    while (!j->canceled(j)) {
        (void)j->say(j, "moved", "1");
        nanosleep(&t, NULL);
    }
    return pawl_reply_fail(reply, PAWL_CANCELED, "stopped");
}

PAWL_TEST(test_E8_X2_what_a_handler_says_is_a_heartbeat_and_has_a_limit)
{
    const pawl_limits limits = { .attempt_timeout_ms = 600, .heartbeat_ms = 400 };
    pawl_err err = { PAWL_OK, "" };
    pawl_graph *g = pawl_graph_new("says", 1);
    pawl_code said = PAWL_OK;
    pawl_stream_event ev;
    pawl_stream *r;
    pawl_engine *e;

    pawl_graph_effect(g, "job", &limits);
    pawl_graph_work(g, "one", "job");
    pawl_graph_chain(g, PAWL_START, "one", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_memory(&err), &err);
    CHECK_INT(pawl_engine_effect(e, "job", says_all_the_time, &said, PAWL_CLASS_AT_LEAST_ONCE, &err), PAWL_OK);
    CHECK_INT(pawl_engine_live(e, 0, 250, &err), PAWL_OK);
    pawl_engine_threads(e, 1);
    CHECK_INT(pawl_run(e, "r", NULL, &err), PAWL_HALTED);
    CHECK_INT(said, PAWL_LIMIT);
    r = pawl_stream_open(e, NULL, "r", &(pawl_stream_options){ .kinds = PAWL_STREAM_TASKS }, &err);
    do
        CHECK_INT(pawl_stream_next(r, &ev, &err), PAWL_OK);
    while (strcmp(ev.name, "receipt") != 0);
    CHECK(strstr(ev.json, "longer than its attempt_timeout_ms allows") != NULL);
    pawl_stream_close(r);
    pawl_engine_free(e);
}

/* ---- another process ------------------------------------------------------------------------------------------------ */

static const char *child_reads(int number)
{
    static char said[256];
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = file_open("a.pawl", 0, &err);
    const char *wrong;
    digest d;

    (void)number;
    wrong = s == NULL ? err.text : read_on(NULL, s, &d);
    if (wrong != NULL) {
        snprintf(said, sizeof said, "%s", wrong);
    } else {
        int n = snprintf(said, sizeof said, "%llu ", (unsigned long long)d.count);

        hash_hex(&d.h, said + n);
    }
    pawl_store_free(s);
    return said;
}

static const char *child_writes(int number)
{
    static char said[256];
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_on(file_open("a.pawl", 0, &err), (unsigned)number, &err);
    pawl_code rc = pawl_run(e, "r", NULL, &err);

    if (rc != PAWL_HALTED)
        snprintf(said, sizeof said, "%s: %s", pawl_code_name(rc), err.text);
    pawl_engine_free(e);
    return rc == PAWL_HALTED ? NULL : said;
}

static void as_the_file_says(const char *said)
{
    char text[128], hex[HASH_HEX + 1];
    pawl_store *s = file_opened("a.pawl");
    digest whole;

    CHECK_STR(read_on(NULL, s, &whole), NULL);
    hash_hex(&whole.h, hex);
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)whole.count, hex);
    pawl_store_free(s);
    CHECK_STR(said, text);
}

static void run_begun(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = engine_on(file_fresh(), 0, &err);

    CHECK_INT(pawl_begin(e, "r", NULL, &err), PAWL_OK);
    pawl_engine_free(e);
}

PAWL_TEST(test_G11_a_reader_in_another_process_sees_all_that_a_writer_stores)
{
    child reader, writer;
    char said[512];

    run_begun();
    reader = child_begin(child_reads, 0);
    writer = child_begin(child_writes, 2);
    CHECK_STR(child_end(writer), "");
    snprintf(said, sizeof said, "%s", child_end(reader));
    as_the_file_says(said);
}

/* Killed until it is over: what runs again adds nothing twice. */
PAWL_TEST(test_G11_E4_a_reader_of_a_writer_that_is_killed_again_and_again_sees_each_event_once)
{
    child reader, writer;
    char said[512] = "";
    int kills = 0;
    bool over = false;

    run_begun();
    reader = child_begin(child_reads, 0);
    while (!over && kills < 400) {
        struct timespec t = { .tv_nsec = (long)check_rand_below(20000000 + 1000000 * (uint64_t)kills) };
        int status = 0;

        writer = child_begin(child_writes, (int)check_rand_below(3));
        nanosleep(&t, NULL);
        kill(writer.pid, SIGKILL);
        waitpid(writer.pid, &status, 0);
        over = WIFEXITED(status);
        if (over && read(writer.fd, said, sizeof said - 1) > 0)
            kill(reader.pid, SIGKILL);          /* it would wait for ever */
        close(writer.fd);
        kills++;
    }
    CHECK_STR(said, "");
    CHECK(over);
    snprintf(said, sizeof said, "%s", child_end(reader));
    as_the_file_says(said);
    printf("%d kills\n", kills - 1);
}

int main(int argc, char **argv)
{
    int failed;

    if (!folder_make())
        return 1;
    failed = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return failed;
}
