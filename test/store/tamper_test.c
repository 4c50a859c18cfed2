/* tamper_test.c - every byte of every table of a small store is changed: verify finds it, or nothing that is shown or done depends on it (K11). */
#include "engine/engine.h"
#include "history/current_state.h"
#include "history/index_check.h"
#include "lib/check.h"
#include "pawl/engine.h"
#include "pawl/graph.h"
#include "pawl/history.h"
#include "store/place.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- runs with all that a store keeps: records, waits, deliveries, a snapshot, blobs, counts, a child, labels ------------------------- */

static pawl_code plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 2; i++)
        pawl_send(s, "ask", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code work(pawl_step *s, void *arg)
{
    const pawl_value *out;
    const pawl_code rc = pawl_call(s, "work", pawl_pack(s, "s", "rake leaves"), &out);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "got", out);
    return pawl_follow(s);
}

static pawl_code asks(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    const pawl_code rc = pawl_ask(s, pawl_pack(s, "s", "Rake the leaves?"), &answer);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    pawl_set(s, "answers", answer);
    return pawl_follow(s);
}

static pawl_code hires(pawl_step *s, void *arg)
{
    const pawl_value *out;
    const pawl_code rc = pawl_spawn(s, "kid", NULL, &out);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *boss(void)
{
    pawl_graph *g = pawl_graph_new("boss", 1);

    pawl_graph_effect(g, "work", &(pawl_limits){ .cls = PAWL_ONCE });
    pawl_graph_channel(g, "got", PAWL_APPEND);
    pawl_graph_channel(g, "answers", PAWL_APPEND);
    pawl_graph_node(g, "work", work, NULL);
    pawl_graph_node(g, "hire", hires, NULL);
    pawl_graph_node(g, "plan", plan, NULL);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_goto(g, "plan", "ask", PAWL_END, NULL);
    pawl_graph_chain(g, PAWL_START, "work", "plan", NULL);
    pawl_graph_chain(g, "ask", "hire", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static pawl_machine *kid(void)
{
    pawl_graph *g = pawl_graph_new("kid", 1);

    pawl_graph_channel(g, "answers", PAWL_APPEND);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_chain(g, PAWL_START, "ask", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static buf done;        /* what was performed, and by whom it was answered */

static pawl_code works(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static char text[900];

    (void)arg;
    buf_fmt(&done, "%s %s %u;", job->id, pawl_value_string(job->args), (unsigned)job->attempt);
    memset(text, 'y', sizeof text - 1);
    return pawl_reply_string(reply, text);
}

static pawl_store *store_open(void)
{
    pawl_err err = { PAWL_OK, "" };

    return pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);      /* NULL: it cannot be opened */
}

static pawl_engine *engine_on(pawl_store *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(boss(), s, &err);

    CHECK(e != NULL);
    CHECK_INT(pawl_engine_add(e, kid(), &err), PAWL_OK);
    CHECK_INT(pawl_engine_effect(e, "work", works, NULL, PAWL_ONCE, &err), PAWL_OK);
    pawl_engine_blobs(e, 256);
    e->tail_bytes_least = 1;
    return e;
}

typedef struct one_wait { char id[200]; } one_wait;

static bool last_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    (void)run;
    snprintf(((one_wait *)ctx)->id, sizeof ((one_wait *)ctx)->id, "%s", w->id);
    return true;
}

/* "a" waits for the second of two answers; "b" for its child, which waits; both have a signal in the mailbox that nobody takes. */
static void store_make(void)
{
    pawl_engine *e = engine_on(store_open());
    pawl_store *s = pawl_engine_store(e);
    pawl_delivery d = { .id = "d1", .kind = PAWL_DELIVER_SIGNAL, .name = "later", .value = { "\"x\"", 3 }, .by = "ada", .note = "soon" };
    pawl_err err = { PAWL_OK, "" };
    one_wait w;

    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "a", .context = "desk", .labels = { "team=rake" } }, "{}", &err), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->waits(s, "a", last_wait, &w, &err), PAWL_OK);
    CHECK_INT(pawl_event_send(e, "a", &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "\"yes\"", .by = "ada" }, &err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = "b" }, "{}", &err), PAWL_INTERRUPTED);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(s->verbs->waits(s, "b", last_wait, &w, &err), PAWL_OK);
        CHECK(pawl_event_send(e, "b", &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "true", .by = "bo" }, &err) >= 0);
    }
    CHECK_INT(s->verbs->deliver(s, "a", &d, &err), PAWL_OK);
    pawl_engine_free(e);
}

/* ---- what is shown, and what is done ------------------------------------------------------------------------------------------------- */

static bool see_run(void *ctx, const pawl_head *h)
{
    buf_fmt(ctx, "%s %s %s %u %d;", h->run, h->machine, h->parent != NULL ? h->parent : "", (unsigned)h->waits, (int)h->status);
    return true;
}

static bool see_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    buf_fmt(ctx, "%s %s %lld %.*s %d;", run, w->id, (long long)w->asked_ms, (int)w->spec.size, w->spec.data, w->answered);
    return true;
}

static bool see_mail(void *ctx, const pawl_delivery *d)
{
    buf_fmt(ctx, "%d %s %d %.*s %s %s;", (int)d->kind, d->name != NULL ? d->name : "", d->outcome, (int)d->value.size, d->value.data,
            d->by != NULL ? d->by : "", d->note != NULL ? d->note : "");
    return true;
}

static char ids[3][64] = { "a", "b" };      /* and the child of "b" */

static bool find_child(void *ctx, const pawl_head *h)
{
    (void)ctx;
    if (h->parent != NULL)
        snprintf(ids[2], sizeof ids[2], "%s", h->run);
    return true;
}

/* Heads, waits, mail and states, as list, inbox and show give them; a code where they are refused. */
static void shown(pawl_store *s, buf *out)
{
    pawl_step *step = pawl_step_new(NULL);

    buf_reset(out);
    buf_fmt(out, "%d;", (int)s->verbs->list(s, &(pawl_filter){ .limit = 10 }, see_run, out, NULL));
    buf_fmt(out, "%d;", (int)waits_checked(s, NULL, see_wait, out, NULL));
    for (size_t i = 0; i < 3; i++) {
        current_state now;
        pawl_code rc = current_state_load(&now, s, ids[i], NULL);

        buf_fmt(out, "%d %s;", (int)rc, rc == PAWL_OK ? pawl_state_json(now.st, step, NULL) : "");
        current_state_free(&now);
        buf_fmt(out, "%d;", (int)s->verbs->deliveries(s, ids[i], see_mail, out, NULL));
    }
    pawl_step_free(step);
}

/* PAWL_OK: nothing is found. */
static pawl_code verified(pawl_store *s)
{
    pawl_machine *m = boss(), *k = kid();
    pawl_verdict v;
    pawl_code rc = s->verbs->check(s, NULL);

    for (size_t i = 0; i < 3 && rc == PAWL_OK; i++)
        rc = pawl_history_verify(s, i < 2 ? m : k, ids[i], &v, NULL);
    pawl_machine_free(m);
    pawl_machine_free(k);
    return rc;
}

/* ---- changes ------------------------------------------------------------------------------------------------------------------------- */

typedef struct change { const char *table, *column; int byte; } change;

static sqlite3 *db;
static uint64_t drawn = 88172645463325252u;
static size_t tried, found, same, missed;

static uint64_t draw(uint64_t below)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return drawn % below;
}

static void sql(const char *text)
{
    char *why = NULL;

    if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
        CHECK_FAIL("%s: %s", text, why);
}

/* A file, or its log that was not written into it yet. */
static void copy_file(const char *suffix, const char *of, const char *as)
{
    static char bytes[1 << 16];
    char from[128], to[128];
    FILE *in, *out;

    snprintf(from, sizeof from, "%s%s", of, suffix);
    snprintf(to, sizeof to, "%s%s", as, suffix);
    CHECK((in = fopen(from, "rb")) != NULL && (out = fopen(to, "wb")) != NULL);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        CHECK(fwrite(bytes, 1, n, out) == n);
    fclose(in);
    CHECK_INT(fclose(out), 0);
}

/* Answers all that waits, in a copy of the store: what is performed, and how the runs end. */
static void resume(buf *out)
{
    char mine[sizeof path];
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    pawl_store *s;
    one_wait w;

    memcpy(mine, path, sizeof mine);
    snprintf(path, sizeof path, "%.60s-copy", mine);
    copy_file("", mine, path);
    copy_file("-wal", mine, path);
    buf_reset(&done);
    if ((s = store_open()) == NULL)
        CHECK_FAIL("the copy cannot be opened");
    e = engine_on(s);
    for (size_t i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            w.id[0] = '\0';
            buf_fmt(&done, "%d ", (int)s->verbs->waits(s, i == 0 ? "a" : NULL, last_wait, &w, NULL));
            if (w.id[0] != '\0') {
                char run[200];

                snprintf(run, sizeof run, "%.*s", (int)strcspn(w.id, "~"), w.id);
                buf_fmt(&done, "%d ", (int)pawl_event_send(e, run, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "1" }, &err));
            }
            buf_fmt(&done, "%d;", (int)pawl_run(e, ids[i], NULL, &err));
        }
    for (size_t i = 0; i < 2; i++)
        buf_fmt(&done, "%s;", pawl_run_state(e, ids[i], NULL) != NULL ? pawl_status_name(pawl_state_status(pawl_run_state(e, ids[i], NULL))) : "");
    pawl_engine_free(e);
    buf_reset(out);
    buf_put(out, done.data, done.size);
    path_gone();
    memcpy(path, mine, sizeof mine);
}

static buf right, is, right_end, end;

static bool equal(const buf *a, const buf *b) { return a->size == b->size && memcmp(a->data, b->data, a->size) == 0; }

static void miss(const change *c, const char *what, const buf *now, const buf *before)
{
    size_t at = 0;

    while (at < now->size && at < before->size && now->data[at] == before->data[at])
        at++;
    if (missed++ < 60)
        printf("%s.%s, byte %d: verify finds nothing, and another thing is %s: \"%.*s\" for \"%.*s\"\n", c->table, c->column, c->byte, what,
               (int)(now->size - at < 60 ? now->size - at : 60), now->data + at, (int)(before->size - at < 60 ? before->size - at : 60), before->data + at);
}

/* The row was changed. */
static void look(const change *c)
{
    pawl_store *s = store_open();
    pawl_code rc = PAWL_CORRUPT;

    tried++;
    if (s != NULL && (rc = verified(s)) == PAWL_OK) {
        shown(s, &is);
        if (!equal(&is, &right))
            miss(c, "shown", &is, &right);
    }
    pawl_store_free(s);
    found += rc != PAWL_OK;
    same += rc == PAWL_OK;
    if (rc != PAWL_OK)
        return;
    resume(&end);
    if (!equal(&end, &right_end))
        miss(c, "done", &end, &right_end);
}

/* One row, as it is read; the value of column `at` is changed and put back. */
static void bind(sqlite3_stmt *put, int place, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: sqlite3_bind_int64(put, place, sqlite3_column_int64(row, column)); break;
    case SQLITE_TEXT: sqlite3_bind_text(put, place, (const char *)sqlite3_column_text(row, column), sqlite3_column_bytes(row, column), SQLITE_STATIC); break;
    case SQLITE_BLOB: sqlite3_bind_blob(put, place, sqlite3_column_blob(row, column), sqlite3_column_bytes(row, column), SQLITE_STATIC); break;
    default: sqlite3_bind_null(put, place); break;
    }
}

static void bind_changed(sqlite3_stmt *put, int place, sqlite3_stmt *row, const change *c, int at, unsigned bit)
{
    static char bytes[1 << 16];
    const int type = sqlite3_column_type(row, at), size = sqlite3_column_bytes(row, at);

    if (type == SQLITE_INTEGER) {
        sqlite3_bind_int64(put, place, (sqlite3_int64)((uint64_t)sqlite3_column_int64(row, at) ^ (uint64_t)1 << (8u * (unsigned)c->byte + bit)));
        return;
    }
    CHECK(size <= (int)sizeof bytes);
    memcpy(bytes, sqlite3_column_blob(row, at), (size_t)size);
    bytes[c->byte] = (char)(bytes[c->byte] ^ (1 << bit));
    if (type == SQLITE_TEXT)
        sqlite3_bind_text(put, place, bytes, size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(put, place, bytes, size, SQLITE_TRANSIENT);
}

static void try_byte(sqlite3_stmt *put, sqlite3_stmt *row, const change *c, int at)
{
    const unsigned bit = (unsigned)draw(8);
    const int columns = sqlite3_column_count(row);

    for (int back = 0; back < 2; back++) {
        int rc;

        sqlite3_reset(put);
        if (back)
            bind(put, 1, row, at);
        else
            bind_changed(put, 1, row, c, at, bit);
        for (int i = 0; i < columns; i++)
            if (back && i == at)
                bind_changed(put, 2 + i, row, c, at, bit);
            else
                bind(put, 2 + i, row, i);
        rc = sqlite3_step(put);
        sqlite3_reset(put);
        if (!back && rc != SQLITE_DONE)
            return;             /* the table refuses it */
        CHECK_INT(rc, SQLITE_DONE);
        CHECK_INT(sqlite3_changes(db), 1);
        if (!back)
            look(c);
    }
}

static const char *const tables[] = { "meta", "spaces", "runs", "labels", "heads", "entries", "stones", "snapshots", "blobs", "waits", "deliveries", "marks" };

/* Every `every`th byte of a table, beginning anywhere; 1: all. */
static void table_try(const char *table, uint64_t every)
{
    char text[1200], where[1000] = "";
    sqlite3_stmt *row = NULL, *put = NULL;
    uint64_t next = draw(every);

    snprintf(text, sizeof text, "SELECT group_concat(name) FROM pragma_table_info('%s')", table);     /* without computed columns */
    CHECK_INT(sqlite3_prepare_v2(db, text, -1, &row, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(row), SQLITE_ROW);
    snprintf(text, sizeof text, "SELECT %s FROM %s", (const char *)sqlite3_column_text(row, 0), table);
    sqlite3_finalize(row);
    CHECK_INT(sqlite3_prepare_v2(db, text, -1, &row, NULL), SQLITE_OK);
    for (int i = 0; i < sqlite3_column_count(row); i++)
        snprintf(where + strlen(where), sizeof where - strlen(where), "%s%s IS ?%d", i > 0 ? " AND " : "", sqlite3_column_name(row, i), i + 2);
    for (int at = 0; at < sqlite3_column_count(row); at++) {
        const char *column = sqlite3_column_name(row, at);
        sqlite3_int64 rows = 0;

        snprintf(text, sizeof text, "UPDATE %s SET %s=?1 WHERE %s", table, column, where);
        CHECK_INT(sqlite3_prepare_v2(db, text, -1, &put, NULL), SQLITE_OK);
        sqlite3_reset(row);
        for (sqlite3_int64 n = 0; sqlite3_step(row) == SQLITE_ROW; n++, rows++) {
            const int type = sqlite3_column_type(row, at), size = type == SQLITE_INTEGER ? 8 : sqlite3_column_bytes(row, at);

            for (change c = { table, column, 0 }; type != SQLITE_NULL && c.byte < size; c.byte++)
                if (next-- == 0) {
                    sqlite3_int64 k = 0;

                    next = every - 1;
                    sqlite3_reset(row);
                    while (k++ <= n)
                        CHECK_INT(sqlite3_step(row), SQLITE_ROW);
                    try_byte(put, row, &c, at);
                    sqlite3_reset(row);
                    for (k = 0; k <= n; k++)
                        CHECK_INT(sqlite3_step(row), SQLITE_ROW);
                }
        }
        sqlite3_finalize(put);
    }
    sqlite3_finalize(row);
}

PAWL_TEST(test_K11_each_byte_of_each_table_is_found_or_means_nothing)
{
    const uint64_t every = check_run_all() ? 1 : 29;
    pawl_store *s;

    buf *const all[] = { &right, &is, &right_end, &end, &done };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], NULL);
    path_new("tamper");
    store_make();
    drawn ^= check_seed() * 0x9e3779b97f4a7c15u;
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    sql("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF");
    s = store_open();
    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 10 }, find_child, NULL, NULL), PAWL_OK);
    CHECK(ids[2][0] != '\0');
    CHECK_INT(verified(s), PAWL_OK);
    shown(s, &right);
    pawl_store_free(s);
    resume(&right_end);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const size_t before[3] = { tried, found, same };

        table_try(tables[i], every);
        printf("%s: %zu changed, %zu found, %zu without meaning\n", tables[i], tried - before[0], found - before[1], same - before[2]);
    }
    printf("%zu changed, %zu found, %zu without meaning\n", tried, found, same);
    CHECK(found > 0 && tried == found + same && missed == 0);
    sqlite3_close(db);
    path_gone();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
