/* tamper_test.c - every byte of every table of a small store is changed, and bytes at random in a larger one: verify finds it, or nothing that is shown or
 * done depends on it; and found or not, nothing is performed that the unchanged store would not have performed (K11). */
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

    pawl_graph_effect(g, "work", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_channel(g, "got", PAWL_RULE_APPEND);
    pawl_graph_channel(g, "answers", PAWL_RULE_APPEND);
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

    pawl_graph_channel(g, "answers", PAWL_RULE_APPEND);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_chain(g, PAWL_START, "ask", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

/* Long enough for a snapshot and a stone; then somebody is asked, and what is done depends on what the snapshot holds. */
enum { TURNS = 70 };

static pawl_code turns(pawl_step *s, void *arg)
{
    static const char filler[] = "words that make the tail of a journal outgrow its snapshot, so that there is one, and a few more of them";

    (void)arg;
    if (pawl_get_int(s, "n") == 0)
        pawl_set_string(s, "target", "the near garden");
    pawl_set(s, "said", pawl_pack(s, "{s:i,s:s}", "at", pawl_get_int(s, "n"), "text", filler));
    pawl_set_int(s, "n", 1);
    return pawl_follow(s);
}

static bool turns_on(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_get_int(s, "n") < TURNS;
}

static pawl_code works_there(pawl_step *s, void *arg)
{
    const pawl_value *out;
    const pawl_code rc = pawl_call(s, "work", pawl_get(s, "target"), &out);

    (void)arg;
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_machine *turner(void)
{
    pawl_graph *g = pawl_graph_new("turner", 1);

    pawl_graph_effect(g, "work", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_channel_with(g, &(pawl_channel){ .name = "n", .rule = PAWL_RULE_SUM, .first = "0" });
    pawl_graph_channel(g, "target", PAWL_RULE_LAST);
    pawl_graph_channel(g, "said", PAWL_RULE_LAST);
    pawl_graph_channel(g, "answers", PAWL_RULE_APPEND);
    pawl_graph_node(g, "turn", turns, NULL);
    pawl_graph_node(g, "ask", asks, NULL);
    pawl_graph_node(g, "work", works_there, NULL);
    pawl_graph_chain(g, PAWL_START, "turn", NULL);
    pawl_graph_when(g, "turn", turns_on, NULL, "turn");
    pawl_graph_when(g, "turn", NULL, NULL, "ask");
    pawl_graph_chain(g, "ask", "work", PAWL_END, NULL);
    return pawl_graph_compile(g, NULL);
}

static buf done;        /* what was performed, and by whom it was answered */
static buf acts;        /* what was performed: "ID ARGS;" each */

static pawl_code works(const pawl_job *job, pawl_reply *reply, void *arg)
{
    static char text[900];
    const char *what = pawl_value_string(job->args);

    (void)arg;
    buf_fmt(&done, "%s %s %u;", job->id, what != NULL ? what : "?", (unsigned)job->attempt);
    buf_fmt(&acts, "%s %s;", job->id, what != NULL ? what : "?");
    memset(text, 'y', sizeof text - 1);
    return pawl_reply_string(reply, text);
}

static pawl_store *store_open(void)
{
    pawl_err err = { PAWL_OK, "" };

    return pawl_store_sqlite(path, &(pawl_sqlite){ .normal = true }, &err);      /* NULL: it cannot be opened */
}

static pawl_engine *engine_of(pawl_machine *m, pawl_store *s)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e = pawl_engine_new(m, s, &err);

    CHECK(e != NULL);
    CHECK_INT(pawl_engine_effect(e, "work", works, NULL, PAWL_CLASS_ONCE, &err), PAWL_OK);
    pawl_engine_blobs(e, 256);
    e->tail_bytes_least = 1;
    return e;
}

static pawl_engine *engine_on(pawl_store *s)
{
    pawl_engine *e = engine_of(boss(), s);

    CHECK_INT(pawl_engine_add(e, kid(), NULL), PAWL_OK);
    CHECK_INT(pawl_engine_add(e, turner(), NULL), PAWL_OK);
    return e;
}

typedef struct one_wait { char id[200]; } one_wait;

static bool last_wait(void *ctx, const char *run, const pawl_waiting *w)
{
    (void)run;
    snprintf(((one_wait *)ctx)->id, sizeof ((one_wait *)ctx)->id, "%s", w->id);
    return true;
}

typedef enum run_kind { RUN_A, RUN_B, RUN_C, RUN_KID } run_kind;
enum { RUNS_MAX = 32 };
static struct { char id[64]; run_kind kind; } runs[RUNS_MAX];
static size_t nruns;

static const char *run_new(run_kind kind, const char *id)
{
    CHECK(nruns < RUNS_MAX);
    runs[nruns].kind = kind;
    snprintf(runs[nruns].id, sizeof runs[nruns].id, "%s", id);
    return runs[nruns++].id;
}

static bool find_child(void *ctx, const pawl_head *h)
{
    (void)ctx;
    if (h->parent != NULL)
        run_new(RUN_KID, h->run);
    return true;
}

/* "a" waits for the second of two answers; "b" for its child, which waits; both have a signal in the mailbox that nobody takes. "c" waits for one answer. */
static void runs_make(size_t set)
{
    pawl_engine *e = engine_on(store_open());
    pawl_store *s = pawl_engine_store(e);
    pawl_delivery d = { .id = "d1", .kind = PAWL_DELIVER_SIGNAL, .name = "later", .value = { "\"x\"", 3 }, .by = "ada", .note = "soon" };
    pawl_err err = { PAWL_OK, "" };
    char names[3][8];
    const char *a, *b;
    one_wait w;

    for (size_t i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], set == 0 ? "%c" : "%c%zu", "abc"[i], set);
    a = run_new(RUN_A, names[0]);
    b = run_new(RUN_B, names[1]);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = a, .context = "desk", .labels = { "team=rake" } }, "{}", &err), PAWL_INTERRUPTED);
    CHECK_INT(s->verbs->waits(s, a, last_wait, &w, &err), PAWL_OK);
    CHECK_INT(pawl_event_send(e, a, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "\"yes\"", .by = "ada" }, &err), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = b }, "{}", &err), PAWL_INTERRUPTED);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(s->verbs->waits(s, b, last_wait, &w, &err), PAWL_OK);
        CHECK(pawl_event_send(e, b, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "true", .by = "bo" }, &err) >= 0);
    }
    CHECK_INT(s->verbs->deliver(s, a, &d, &err), PAWL_OK);
    pawl_engine_free(e);
    e = engine_of(turner(), store_open());
    CHECK_INT(pawl_run_with(e, &(pawl_run_info){ .id = run_new(RUN_C, names[2]) }, "{}", &err), PAWL_INTERRUPTED);
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

/* Heads, waits, mail and states, as list, inbox and show give them; a code where they are refused. */
static void shown(pawl_store *s, buf *out)
{
    pawl_step *step = pawl_step_new(NULL);

    buf_reset(out);
    buf_fmt(out, "%d;", (int)s->verbs->list(s, &(pawl_filter){ .limit = RUNS_MAX }, see_run, out, NULL));
    buf_fmt(out, "%d;", (int)waits_checked(s, NULL, see_wait, out, NULL));
    for (size_t i = 0; i < nruns; i++) {
        current_state now;
        pawl_code rc = current_state_load(&now, s, runs[i].id, NULL);

        buf_fmt(out, "%d %s;", (int)rc, rc == PAWL_OK ? pawl_state_json(now.st, step, NULL) : "");
        current_state_free(&now);
        buf_fmt(out, "%d;", (int)s->verbs->deliveries(s, runs[i].id, see_mail, out, NULL));
    }
    pawl_step_free(step);
}

static pawl_machine *verifiers[RUN_KID + 1];     /* while there is a store */

/* PAWL_OK: nothing is found. */
static pawl_code verified(pawl_store *s)
{
    pawl_verdict v;
    pawl_code rc = s->verbs->check(s, NULL);

    for (size_t i = 0; i < nruns && rc == PAWL_OK; i++)
        rc = pawl_history_verify(s, verifiers[runs[i].kind == RUN_B ? RUN_A : runs[i].kind], runs[i].id, &v, NULL);
    return rc;
}

/* ---- changes ------------------------------------------------------------------------------------------------------------------------- */

typedef struct change { const char *table, *column; int byte; } change;

static sqlite3 *db;
static size_t tried, found, same, missed, refused;

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

/* A run of kind B waits for its child. */
static void answers_one(pawl_engine *e, const char *run)
{
    pawl_store *s = pawl_engine_store(e);
    one_wait w = { "" };
    char of[200];

    buf_fmt(&done, "%d ", (int)s->verbs->waits(s, run, last_wait, &w, NULL));
    if (w.id[0] == '\0')
        return;
    snprintf(of, sizeof of, "%.*s", (int)strcspn(w.id, "~"), w.id);
    buf_fmt(&done, "%d ", (int)pawl_event_send(e, of, &(pawl_event){ .kind = PAWL_EV_ANSWER, .id = w.id, .value = "1" }, NULL));
}

/* Answers all that waits, in a copy of the store: what is performed, and how the runs end. */
static void resume(buf *out)
{
    char mine[sizeof path];
    pawl_err err = { PAWL_OK, "" };
    pawl_engine *e;
    pawl_store *s;
    pawl_head head;

    memcpy(mine, path, sizeof mine);
    snprintf(path, sizeof path, "%.60s-copy", mine);
    copy_file("", mine, path);
    copy_file("-wal", mine, path);
    buf_reset(&done);
    buf_reset(&acts);
    e = (s = store_open()) != NULL ? engine_on(s) : NULL;
    for (size_t i = 0; e != NULL && i < nruns; i++)
        for (int k = 0; k < 2; k++) {
            answers_one(e, runs[i].kind == RUN_B ? NULL : runs[i].id);
            if (s->verbs->head(s, runs[i].id, &head, NULL) == PAWL_OK)      /* pawl_run would begin a run that is not there */
                buf_fmt(&done, "%d;", (int)pawl_run(e, runs[i].id, NULL, &err));
        }
    for (size_t i = 0; e != NULL && i < nruns; i++) {
        const pawl_state *st = pawl_run_state(e, runs[i].id, NULL);

        buf_fmt(&done, "%s;", st != NULL ? pawl_status_name(pawl_state_status(st)) : "");
    }
    pawl_engine_free(e);
    buf_reset(out);
    buf_put(out, done.data, done.size);
    path_gone();
    memcpy(path, mine, sizeof mine);
}

static buf right, is, right_end, end, right_acts;

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

/* How often `list` has that item, "ID ARGS;". */
static size_t times(const buf *list, const char *item, size_t size)
{
    size_t n = 0;

    for (size_t at = 0; at < list->size;) {
        const char *end_of = memchr(list->data + at, ';', list->size - at);
        const size_t long_is = (size_t)(end_of - list->data) + 1 - at;

        n += long_is == size && memcmp(list->data + at, item, size) == 0;
        at += long_is;
    }
    return n;
}

/* Nothing is performed but what the unchanged store would have performed, and not more often. */
static void acts_compare(const change *c)
{
    for (size_t at = 0, size; at < acts.size; at += size) {
        const char *item = acts.data + at;

        size = (size_t)((const char *)memchr(item, ';', acts.size - at) - item) + 1;
        if (times(&acts, item, size) <= times(&right_acts, item, size))
            continue;
        if (missed++ < 60)
            printf("%s.%s, byte %d: it performs %.*s\n", c->table, c->column, c->byte, (int)size, item);
    }
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
    resume(&end);
    acts_compare(c);
    if (rc == PAWL_OK && !equal(&end, &right_end))
        miss(c, "done", &end, &right_end);
}

/* A row, as it was read. */
enum { COLUMNS_MAX = 32 };
static sqlite3_value *row[COLUMNS_MAX];

static const char *const tables[] = { "meta", "spaces", "runs", "labels", "heads", "entries", "stones", "snapshots", "blobs", "waits", "deliveries", "marks" };
enum { TABLES = sizeof tables / sizeof *tables };

/* The statements of a table: `get` gives row ?1; `put` of a column sets it to ?1 in the row that is as ?2 and so on. */
static struct { sqlite3_stmt *get, *put[COLUMNS_MAX]; int columns; } of[TABLES];

/* A value of the store, and how many bytes all values up to this one have. */
typedef struct place_of { size_t table; int column; sqlite3_int64 row; size_t upto; } place_of;
static place_of *places;
static size_t nplaces;

static void statements_make(size_t table)
{
    char text[1200], where[1000] = "";
    sqlite3_stmt *names = NULL;

    snprintf(text, sizeof text, "SELECT group_concat(name) FROM pragma_table_info('%s')", tables[table]);     /* without computed columns */
    CHECK_INT(sqlite3_prepare_v2(db, text, -1, &names, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(names), SQLITE_ROW);
    snprintf(text, sizeof text, "SELECT %s FROM %s LIMIT 1 OFFSET ?1", (const char *)sqlite3_column_text(names, 0), tables[table]);
    sqlite3_finalize(names);
    CHECK_INT(sqlite3_prepare_v2(db, text, -1, &of[table].get, NULL), SQLITE_OK);
    of[table].columns = sqlite3_column_count(of[table].get);
    CHECK(of[table].columns <= COLUMNS_MAX);
    for (int i = 0; i < of[table].columns; i++)
        snprintf(where + strlen(where), sizeof where - strlen(where), "%s%s IS ?%d", i > 0 ? " AND " : "", sqlite3_column_name(of[table].get, i), i + 2);
    for (int i = 0; i < of[table].columns; i++) {
        snprintf(text, sizeof text, "UPDATE %s SET %s=?1 WHERE %s", tables[table], sqlite3_column_name(of[table].get, i), where);
        CHECK_INT(sqlite3_prepare_v2(db, text, -1, &of[table].put[i], NULL), SQLITE_OK);
    }
}

/* The row is copied and the statement at its end: a reader would keep the log of the store from being written into its file, and each copy had all of it. */
static bool row_read(size_t table, sqlite3_int64 number)
{
    sqlite3_stmt *get = of[table].get;
    bool there;

    sqlite3_bind_int64(get, 1, number);
    there = sqlite3_step(get) == SQLITE_ROW;
    for (int i = 0; there && i < of[table].columns; i++) {
        sqlite3_value_free(row[i]);
        row[i] = sqlite3_value_dup(sqlite3_column_value(get, i));
    }
    sqlite3_reset(get);
    return there;
}

static void places_find(void)
{
    size_t upto = 0;

    nplaces = 0;
    for (size_t table = 0; table < TABLES; table++) {
        statements_make(table);
        for (sqlite3_int64 n = 0; row_read(table, n); n++)
            for (int i = 0; i < of[table].columns; i++) {
                const int type = sqlite3_value_type(row[i]);

                upto += type == SQLITE_NULL ? 0 : type == SQLITE_INTEGER ? 8 : (size_t)sqlite3_value_bytes(row[i]);
                if (nplaces % 1024 == 0)
                    CHECK((places = realloc(places, (nplaces + 1024) * sizeof *places)) != NULL);
                places[nplaces++] = (place_of){ table, i, n, upto };
            }
    }
}

static size_t bytes_in_all(void) { return places[nplaces - 1].upto; }

/* The value that has byte `at` of all bytes; *byte: which of its own it is. */
static const place_of *place_at(size_t at, int *byte)
{
    size_t low = 0, high = nplaces - 1;

    while (low < high) {
        const size_t mid = (low + high) / 2;

        if (places[mid].upto > at)
            high = mid;
        else
            low = mid + 1;
    }
    *byte = (int)(at - (low > 0 ? places[low - 1].upto : 0));
    return &places[low];
}

static void bind_changed(sqlite3_stmt *put, int place, sqlite3_value *value, int byte, unsigned bit)
{
    static char bytes[1 << 16];
    const int type = sqlite3_value_type(value), size = sqlite3_value_bytes(value);

    if (type == SQLITE_INTEGER) {
        sqlite3_bind_int64(put, place, (sqlite3_int64)((uint64_t)sqlite3_value_int64(value) ^ (uint64_t)1 << (8u * (unsigned)byte + bit)));
        return;
    }
    CHECK(byte < size && size <= (int)sizeof bytes);
    memcpy(bytes, sqlite3_value_blob(value), (size_t)size);
    bytes[byte] = (char)(bytes[byte] ^ (1 << bit));
    if (type == SQLITE_TEXT)
        sqlite3_bind_text(put, place, bytes, size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(put, place, bytes, size, SQLITE_TRANSIENT);
}

/* A bit of byte `at` of all bytes is changed, and put back after the look. */
static void byte_try(size_t at)
{
    const unsigned bit = (unsigned)check_rand_below(8);
    int byte;
    const place_of *p = place_at(at, &byte);
    sqlite3_stmt *put = of[p->table].put[p->column];
    const change c = { tables[p->table], sqlite3_column_name(of[p->table].get, p->column), byte };

    CHECK(row_read(p->table, p->row));
    for (int back = 0; back < 2; back++) {
        int rc;

        if (back)
            sqlite3_bind_value(put, 1, row[p->column]);
        else
            bind_changed(put, 1, row[p->column], byte, bit);
        for (int i = 0; i < of[p->table].columns; i++)
            if (back && i == p->column)
                bind_changed(put, 2 + i, row[i], byte, bit);
            else
                sqlite3_bind_value(put, 2 + i, row[i]);
        rc = sqlite3_step(put);
        sqlite3_reset(put);
        if (!back && rc != SQLITE_DONE) {
            refused++;          /* by the table */
            return;
        }
        CHECK_INT(rc, SQLITE_DONE);
        CHECK_INT(sqlite3_changes(db), 1);
        if (!back)
            look(&c);
    }
}

static void make(size_t sets)
{
    buf *const all[] = { &right, &is, &right_end, &end, &right_acts, &done, &acts };
    pawl_store *s;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], NULL);
    tried = found = same = missed = refused = nruns = 0;
    path_new("tamper");
    for (size_t i = 0; i < sets; i++)
        runs_make(i);
    verifiers[RUN_A] = boss();
    verifiers[RUN_C] = turner();
    verifiers[RUN_KID] = kid();
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    sql("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=1");
    s = store_open();
    CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = RUNS_MAX }, find_child, NULL, NULL), PAWL_OK);
    CHECK_INT(nruns, sets * 4);
    CHECK_INT(verified(s), PAWL_OK);
    shown(s, &right);
    pawl_store_free(s);
    resume(&right_end);
    buf_put(&right_acts, acts.data, acts.size);
    CHECK(right_acts.size > 0);
    places_find();
}

static void unmake(void)
{
    buf *const all[] = { &right, &is, &right_end, &end, &right_acts, &done, &acts };

    printf("seed %llu: %zu changed, %zu found, %zu without meaning, %zu refused by the table\n", (unsigned long long)check_seed(), tried, found, same, refused);
    CHECK(found > 0 && tried == found + same && missed == 0);
    for (size_t i = 0; i < TABLES; i++) {
        sqlite3_finalize(of[i].get);
        for (int k = 0; k < of[i].columns; k++)
            sqlite3_finalize(of[i].put[k]);
    }
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        sqlite3_value_free(row[i]);
        row[i] = NULL;
    }
    for (size_t i = 0; i < sizeof verifiers / sizeof *verifiers; i++)
        pawl_machine_free(verifiers[i]);
    CHECK_INT(sqlite3_close(db), SQLITE_OK);
    free(places);
    places = NULL;
    path_gone();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
}

/* A case is a byte; without --all one of so many. */
PAWL_TEST(test_K11_each_byte_of_each_table_is_found_or_means_nothing)
{
    size_t last;

    make(1);
    last = check_from() + check_count(bytes_in_all(), bytes_in_all());
    for (size_t at = check_from(); at < last && at < bytes_in_all(); at++) {
        int byte;
        const bool entry = strcmp(tables[place_at(at, &byte)->table], "entries") == 0;

        check_case_at(at);
        if (check_run_all() || check_rand_below(entry ? 131 : 19) == 0)
            byte_try(at);
    }
    printf("%zu bytes in all; ", bytes_in_all());
    unmake();
}

/* A row of another run, or of an older state, in the place of one. */
typedef struct forgery { const char *what, *text; bool means_nothing; } forgery;

#define NO(id) "(SELECT no FROM runs WHERE id='" id "')"
#define KID(of) "(SELECT no FROM runs WHERE parent LIKE '" of "~%')"
#define OF(x) "WHERE run=" NO(x)
#define SWAP(table, column, x, y)                                                                                                                    \
    "CREATE TEMP TABLE held AS SELECT run," column " AS one FROM " table ";UPDATE " table " SET " column "=(SELECT one FROM held " OF(y) ") " OF(x)     \
    ";UPDATE " table " SET " column "=(SELECT one FROM held " OF(x) ") " OF(y)

/* What was taken from the mailbox is remembered so that it counts once when it is sent again; what it led to stands in the journal. */
static const forgery forgeries[] = {
    { "a start that was taken is another run's", "UPDATE deliveries SET run=" KID("b1") ",id='x' WHERE run=" KID("b"), true },
    { "an answer that was taken is another run's", "UPDATE deliveries SET run=" NO("c1") " " OF("c"), true },
    { "an answer that was taken is another wait's", "UPDATE deliveries SET name=(SELECT id FROM waits " OF("c1") ") " OF("c"), true },
    { "an answer that was taken is another person's", "UPDATE deliveries SET by='eve' " OF("c"), true },
    { "an answer that was taken is another value", "UPDATE deliveries SET value=CAST('\"no\"' AS BLOB) " OF("c"), true },
    { "a wait has the slot of another", "UPDATE waits SET spec=(SELECT spec FROM waits " OF("c1") ") " OF("a") " AND over=0", false },
    { "a wait asks something else", "UPDATE waits SET spec=CAST(replace(CAST(spec AS TEXT),'Rake','Burn') AS BLOB) " OF("a") " AND over=0", false },
    { "a wait is another run's", "UPDATE waits SET run=" NO("c1") " " OF("a") " AND over=0", false },
    { "a wait has no number", "UPDATE waits SET no=0 " OF("a") " AND over=0", false },
    { "two waits change their places", "UPDATE waits SET over=1-over " OF("a"), false },
    { "records of an open superstep are another run's",
      "UPDATE entries SET run=" NO("c1") ",prev=(SELECT max(lsn) FROM entries " OF("c1") ") " OF("a") " AND seq IS NULL", false },
    { "a record is another task's", "UPDATE entries SET body=CAST(replace(CAST(body AS TEXT),'ask:1','ask:0') AS BLOB) WHERE lsn=(SELECT max(lsn) FROM entries "
      OF("a") ")", false },
    { "a record is an older one", "UPDATE entries SET body=(SELECT e.body FROM entries e WHERE e.run=" NO("a") " AND e.seq IS NULL ORDER BY e.lsn LIMIT 1) WHERE lsn="
      "(SELECT max(lsn) FROM entries " OF("a") ")", false },
    { "records are gone", "DELETE FROM entries " OF("a") " AND seq IS NULL", false },
    { "a head is older than its journal", "UPDATE heads SET seq=seq-1 WHERE no=" NO("a"), false },
    { "a head has the status and the waits of another", "UPDATE heads SET status=1,waits=0,work=1 WHERE no=" NO("c1"), false },
    { "a snapshot is another run's", SWAP("snapshots", "body", "c", "c1"), false },
    { "a snapshot and its digest are another run's", SWAP("snapshots", "body", "c", "c1") ";DROP TABLE held;" SWAP("snapshots", "digest", "c", "c1"), false },
    { "a base is another run's", "UPDATE runs SET base=(SELECT base FROM runs WHERE id='a1') WHERE id='a'", false },
    { "a journal is another run's", "UPDATE entries SET run=-1 " OF("c") ";UPDATE entries SET run=" NO("c") " " OF("c1") ";UPDATE entries SET run=" NO("c1")
      " WHERE run=-1", false },
    { "an entry is another run's", "UPDATE entries SET body=(SELECT e.body FROM entries e WHERE e.run=" NO("c1") " AND e.seq=1) " OF("c") " AND seq=1", false },
    { "a lease was lost that nobody ever had", "INSERT INTO losses(run,fence,at_ms,died,owner) VALUES(" NO("a") ",99999,1,1,'eve')", false },
    { "a run was taken before it was lost",
      "INSERT INTO losses(run,fence,at_ms,died,owner,taker_fence,taken_ms,taker) VALUES(" NO("a") ",1,5,1,'eve',1,4,'me')", false },
    { "a child has another parent", "UPDATE runs SET parent=(SELECT r.parent FROM runs r WHERE r.no=" KID("b1") ") WHERE no=" KID("b"), false },
};

/* An answer that comes by the mailbox, and is taken. */
static void answered_by_mail(void)
{
    pawl_engine *e = engine_on(store_open());
    pawl_store *s = pawl_engine_store(e);
    pawl_delivery d = { .id = "d9", .kind = PAWL_DELIVER_ANSWER, .value = { "\"yes\"", 5 }, .by = "ada" };
    one_wait w = { "" };
    pawl_err err = { PAWL_OK, "" };

    CHECK_INT(s->verbs->waits(s, "c", last_wait, &w, &err), PAWL_OK);
    d.name = w.id;
    CHECK_INT(s->verbs->deliver(s, "c", &d, &err), PAWL_OK);
    CHECK_INT(pawl_run(e, "c", NULL, &err), PAWL_HALTED);
    pawl_engine_free(e);
    s = store_open();
    CHECK_INT(verified(s), PAWL_OK);
    shown(s, &right);
    pawl_store_free(s);
    resume(&right_end);
    buf_reset(&right_acts);
    buf_put(&right_acts, acts.data, acts.size);
}

/* Whole rows, and not a bit of one. */
PAWL_TEST(test_K11_rows_of_another_run_or_time_are_found_and_never_acted_on)
{
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const forgery *f = &forgeries[i];
        const change c = { f->what, "row", 0 };
        int before;

        make(2);
        answered_by_mail();
        before = sqlite3_total_changes(db);
        sql(f->text);
        if (sqlite3_total_changes(db) == before)
            CHECK_FAIL("%s: nothing was changed", f->what);
        look(&c);
        if ((found == 0) != f->means_nothing || missed > 0)
            CHECK_FAIL("%s: %s", f->what, missed > 0 ? "it is acted on" : found == 0 ? "verify finds nothing" : "it means nothing, and is found");
        found = tried;
        same = 0;
        unmake();
    }
}

/* The parent was driven without end, since each look took such a child for one that nobody had tried. */
PAWL_TEST(test_K5_K11_a_child_that_cannot_be_loaded_holds_up_nobody)
{
    static const char *const damages[] = { "'\"format\":1','\"format\":9'", "'\"format\":9','\"format\":x'" };

    make(1);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char text[200];
        pawl_engine *e;

        snprintf(text, sizeof text, "UPDATE runs SET base=CAST(replace(CAST(base AS TEXT),%s) AS BLOB) WHERE id='%s'", damages[i], runs[3].id);
        sql(text);
        CHECK_INT(sqlite3_changes(db), 1);
        buf_reset(&acts);
        e = engine_on(store_open());
        CHECK(pawl_run(e, "b", NULL, NULL) != PAWL_HALTED);
        CHECK_INT(acts.size, 0);
        pawl_engine_free(e);
        found++;
        tried++;
    }
    unmake();
}

/* The parent was driven without end, since its child, which could not leave its end there, counted as one that had moved. */
PAWL_TEST(test_K5_K11_a_mailbox_that_counts_as_full_holds_up_nobody)
{
    pawl_engine *e;

    make(1);
    sql("UPDATE heads SET mail=mail+8796093022208 WHERE no=" NO("b"));
    CHECK_INT(sqlite3_changes(db), 1);
    buf_reset(&acts);
    e = engine_on(store_open());
    answers_one(e, runs[3].id);
    CHECK(pawl_run(e, "b", NULL, NULL) != PAWL_HALTED);
    CHECK_INT(acts.size, 0);
    pawl_engine_free(e);
    found = tried = 1;
    unmake();
}

/* A case is a bit of a byte; with --all 100,000 of them. */
PAWL_TEST(test_K11_bits_at_random_are_found_or_mean_nothing)
{
    const size_t last = check_from() + check_count(200, 100000);

    make(2);                    /* so that there is another run of each kind */
    for (size_t i = check_from(); i < last; i++) {
        check_case_at(i);
        byte_try(check_rand_below(bytes_in_all()));
    }
    unmake();
}

/* In memory where there is such a folder: each change copies the store. */
int main(int argc, char **argv)
{
    char folder[] = "/dev/shm/pawl-tamper-XXXXXX";
    const bool there = mkdtemp(folder) != NULL && chdir(folder) == 0;
    const int status = check_main(argc, argv);
    return there && rmdir(folder) != 0 ? 1 : status;
}
