/* spans_test.c - N5: a run as spans. The same journal gives the same spans with the same ids, each once, whatever the place at which a reader began again. */
#include "base/trace_id.h"
#include "json/json.h"
#include "lib/check.h"
#include "pawl/history.h"
#include "pawl/pawl.h"
#include "store/one.h"
#include "telemetry/metrics.h"
#include "telemetry/otlp.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPANS_MOST = 4000 };

/* ---- journals as they were kept ------------------------------------------------------------------------------- */

static const char *const kept_names[] = { "letter", "desk", "survey", "fan", "gate", "nest", "joins", "repair", "talk", "vault", "hooks", "race", "rules",
                                          "pruned", "forked", "adopted", "trip" };
enum { KEPT_BYTES = 1 << 20, KEPT_NAMES = sizeof kept_names / sizeof *kept_names };

typedef struct kept_run { char *text; size_t size; pawl_store *store; char run[64], id[96]; } kept_run;

static void kept_begin(kept_run *k, const char *name)
{
    char path[1024];
    pawl_err err = { PAWL_OK, "" };
    pawl_bytes lines[400];
    pawl_append a = { .run = k->run, .lines = lines };
    const pawl_value *base;
    pawl_head head;
    const char *nl;
    arena mem;
    FILE *f;

    snprintf(path, sizeof path, "%s/test/journals/0.1/%s.journal", PAWL_SOURCE_DIR, name);
    CHECK((f = fopen(path, "rb")) != NULL && (k->text = calloc(1, KEPT_BYTES)) != NULL);
    k->size = fread(k->text, 1, KEPT_BYTES - 1, f);
    fclose(f);
    CHECK((k->store = pawl_store_memory(&err)) != NULL && (nl = memchr(k->text, '\n', k->size)) != NULL);
    arena_init(&mem, NULL, 4096);
    base = value_read(&mem, k->text, (size_t)(nl - k->text), "a base", &err);
    snprintf(k->run, sizeof k->run, "%s", pawl_value_string(pawl_value_get(base, "id")));
    snprintf(k->id, sizeof k->id, "%s~%s", k->run, pawl_value_string(pawl_value_get(base, "life")));
    arena_free(&mem);
    CHECK_INT(k->store->verbs->create(k->store, (pawl_bytes){ k->text, (size_t)(nl - k->text) }, NULL, &err), PAWL_OK);
    for (const char *at = nl + 1; at < k->text + k->size && a.nlines < 400; at = nl + 1) {
        CHECK((nl = memchr(at, '\n', (size_t)(k->text + k->size - at))) != NULL);
        lines[a.nlines++] = (pawl_bytes){ at, (size_t)(nl - at) };
    }
    CHECK_INT(claim_one(k->store, k->run, "test", 1000, &head, &err), PAWL_OK);
    a.fence = head.fence;
    a.seq = head.seq;
    CHECK(k->store->verbs->append(k->store, &a, 1, &err) == PAWL_OK && a.rc == PAWL_OK);
}

static void kept_end(kept_run *k)
{
    pawl_store_free(k->store);
    free(k->text);
}

/* ---- spans as text ----------------------------------------------------------------------------------------------- */

typedef struct told { char *text; span_id id, parent; span_kind kind; uint64_t seq, index, stretch; bool cut; } told;
typedef struct told_list { told all[SPANS_MOST]; size_t n; uint64_t after_seq, after_index; } told_list;

static void told_add(void *ctx, const run_span *s)
{
    told_list *l = ctx;
    char id[2 * SPAN_ID_BYTES + 1], parent[2 * SPAN_ID_BYTES + 1], trace[2 * TRACE_ID_BYTES + 1];
    buf b;

    if (s->seq < l->after_seq || (s->seq == l->after_seq && s->index <= l->after_index))
        return;
    CHECK(l->n < SPANS_MOST);
    hex_write(s->id.b, sizeof s->id.b, id);
    hex_write(s->parent.b, sizeof s->parent.b, parent);
    hex_write(s->trace.b, sizeof s->trace.b, trace);
    buf_init(&b, NULL);
    buf_fmt(&b, "%d %d %s %s %s %lld-%lld %llu.%llu #%llu %s %s %s %s %s %s %zu", (int)s->kind, (int)s->state, trace, id, parent, (long long)s->begin_ms,
            (long long)s->end_ms, (unsigned long long)s->seq, (unsigned long long)s->index, (unsigned long long)s->stretch, s->item, s->name, s->effect,
            s->outcome, s->error, s->child, s->nlinks);
    buf_char(&b, '\0');
    l->all[l->n++] = (told){ check_copy(b.data, b.size), s->id, s->parent, s->kind, s->seq, s->index, s->stretch, s->state < PAWL_ITEM_DONE };
    buf_free(&b);
}

static void told_free(told_list *l)
{
    while (l->n > 0)
        free(l->all[--l->n].text);
}

/* Reads the first `lines` lines (SIZE_MAX: all) as a reader does. The place after them; false: there are no more. */
static bool told_read(told_list *l, const kept_run *k, size_t lines, uint64_t *seq, uint64_t *index)
{
    const span_run of = { .run = k->run, .id = k->id, .machine = "m" };
    pawl_err err = { PAWL_OK, "" };
    pawl_items *r = pawl_items_open(NULL, k->store, k->run, &(pawl_items_options){ .kinds = PAWL_ITEM_LINE * 2 - 1 }, &err);
    span_maker *m = span_maker_new(&of, told_add, l);
    pawl_item_change c;
    pawl_code rc;
    size_t n = 0;

    CHECK(r != NULL && m != NULL);
    while ((rc = pawl_items_next(r, &c, &err)) == PAWL_OK) {
        if (span_line_begins(&c)) {
            CHECK(span_maker_line(m));
            if (n++ == lines)
                break;
        }
        CHECK(span_maker_takes(m, &c, span_maker_needs(&c) ? pawl_items_json(r, &err) : NULL));
    }
    CHECK(rc >= PAWL_OK);
    if (rc != PAWL_OK)
        CHECK(span_maker_line(m));
    span_maker_place(m, seq, index);
    span_maker_free(m);
    pawl_items_close(r);
    return rc == PAWL_OK;
}

static const told *told_find(const told_list *l, const span_id *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->all[i].kind != SPAN_BEGUN && memcmp(&l->all[i].id, id, sizeof *id) == 0)
            return &l->all[i];
    return NULL;
}

PAWL_TEST(test_N5_a_reader_that_begins_again_tells_each_span_once)
{
    static told_list whole, parts;

    for (size_t i = 0; i < KEPT_NAMES; i++) {
        uint64_t seq, index;
        size_t lines = 0;
        kept_run k;

        kept_begin(&k, kept_names[i]);
        whole.after_seq = whole.after_index = 0;
        (void)told_read(&whole, &k, SIZE_MAX, &seq, &index);
        CHECK(whole.n > 0);
        for (bool more = true; more; lines++) {
            parts.after_seq = parts.after_index = 0;
            more = told_read(&parts, &k, lines, &seq, &index);
            parts.after_seq = seq;
            parts.after_index = index;
            (void)told_read(&parts, &k, SIZE_MAX, &seq, &index);
            CHECK_INT(parts.n, whole.n);
            for (size_t n = 0; n < whole.n; n++)
                CHECK_STR(parts.all[n].text, whole.all[n].text);
            told_free(&parts);
        }
        CHECK(lines > 2);
        told_free(&whole);
        kept_end(&k);
    }
}

PAWL_TEST(test_N5_ids_differ_and_each_parent_is_told)
{
    static told_list l;

    for (size_t i = 0; i < KEPT_NAMES; i++) {
        uint64_t seq, index, stretches = 0;
        bool rested = false;
        kept_run k;

        kept_begin(&k, kept_names[i]);
        (void)told_read(&l, &k, SIZE_MAX, &seq, &index);
        for (size_t n = 0; n < l.n; n++)
            rested = rested || (l.all[n].kind == SPAN_STRETCH && n + 1 == l.n);
        for (size_t n = 0; n < l.n; n++) {
            const told *t = &l.all[n], *up;

            if (t->kind == SPAN_BEGUN)
                continue;
            if (told_find(&l, &t->id) != t)
                CHECK_FAIL("%s: one id for %s and %s", kept_names[i], told_find(&l, &t->id)->text, t->text);
            if (t->kind == SPAN_STRETCH) {
                CHECK_INT(t->stretch, ++stretches);
                CHECK(span_id_none(&t->parent));
                continue;
            }
            up = told_find(&l, &t->parent);
            if (up == NULL && !rested)
                continue;       /* this journal ends in the middle of a stretch, whose root is told when it ends */
            if (up == NULL)
                CHECK_FAIL("%s: no parent of %s", kept_names[i], t->text);
            CHECK(up->kind == SPAN_STRETCH || up->kind == SPAN_TASK);
            CHECK(t->kind != SPAN_TASK || up->kind == SPAN_STRETCH);
        }
        told_free(&l);
        kept_end(&k);
    }
}

typedef struct links { span_link all[8]; size_t n; trace_id trace; span_id parent; } links;

static void links_add(void *ctx, const run_span *s)
{
    links *l = ctx;

    if (s->kind != SPAN_STRETCH || s->stretch != 1)
        return;
    l->trace = s->trace;
    l->parent = s->parent;
    for (size_t i = 0; i < s->nlinks; i++)
        l->all[l->n++] = s->links[i];
}

PAWL_TEST(test_N5_a_run_has_the_trace_of_its_caller_and_a_link_to_its_parent)
{
    static const char caller[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", up[] = "essay~0000000000000007/2.dig.1.0";
    const span_run of[] = { { .run = "r", .id = "r~1", .machine = "m", .trace = caller, .parent = up },
                            { .run = "r", .id = "r~1", .machine = "m", .trace = "malformed", .parent = up, .parent_trace = caller } };
    const trace_id own = trace_id_of_run("r~1"), parents = trace_id_of_run(up);
    const span_id spawn = span_id_of(up, 0, 0);
    const pawl_item_change began = { .kind = PAWL_ITEM_RUN, .what = PAWL_ITEM_ADDED, .id = "r~1", .parent = "r~1", .name = "r", .part = "", .path = "",
                                     .node = "", .run = "r", .cursor = "", .seq = 1, .index = 1, .time_ms = 5 };
    pawl_item_change over = began;

    over.what = PAWL_ITEM_ENDED;
    over.state = PAWL_ITEM_DONE;
    for (size_t i = 0; i < 2; i++) {
        links l = { .n = 0 };
        trace_id trace;
        span_id span;
        span_maker *m = span_maker_new(&of[i], links_add, &l);

        CHECK(m != NULL && span_maker_takes(m, &began, NULL) && span_maker_takes(m, &over, NULL) && span_maker_line(m));
        CHECK(traceparent_read(caller, &trace, &span));
        CHECK(memcmp(&l.trace, i == 0 ? &trace : &own, sizeof trace) == 0);
        CHECK(i == 0 ? memcmp(&l.parent, &span, sizeof span) == 0 : span_id_none(&l.parent));
        CHECK_INT(l.n, 1);
        CHECK(memcmp(&l.all[0].trace, i == 0 ? &parents : &trace, sizeof trace) == 0 && memcmp(&l.all[0].span, &spawn, sizeof spawn) == 0);
        span_maker_free(m);
    }
}

/* ---- OTLP ------------------------------------------------------------------------------------------------------------- */

static void otlp_add(void *ctx, const run_span *s) { otlp_span(ctx, s); }

static void body_of(const kept_run *k, otlp_batch *b)
{
    const span_run of = { .run = k->run, .id = k->id, .machine = "m\"\n" };
    const otlp_attribute resource[] = { { "service.name", "pawl" } };
    pawl_err err = { PAWL_OK, "" };
    pawl_items *r = pawl_items_open(NULL, k->store, k->run, &(pawl_items_options){ .kinds = PAWL_ITEM_LINE * 2 - 1 }, &err);
    span_maker *m = span_maker_new(&of, otlp_add, b);
    pawl_item_change c;

    CHECK(r != NULL && m != NULL);
    otlp_begin(b, semconv_of(NULL), resource, 1);
    while (pawl_items_next(r, &c, &err) == PAWL_OK)
        CHECK((!span_line_begins(&c) || span_maker_line(m)) && span_maker_takes(m, &c, span_maker_needs(&c) ? pawl_items_json(r, &err) : NULL));
    CHECK(span_maker_line(m));
    otlp_end(b);
    span_maker_free(m);
    pawl_items_close(r);
}

PAWL_TEST(test_N5_a_batch_is_JSON_and_always_the_same)
{
    for (size_t i = 0; i < KEPT_NAMES; i++) {
        const pawl_value *v, *all;
        pawl_err err = { PAWL_OK, "" };
        otlp_batch a, b;
        kept_run k;
        arena mem;

        kept_begin(&k, kept_names[i]);
        body_of(&k, &a);
        body_of(&k, &b);
        CHECK_BYTES(a.body.data, a.body.size, b.body.data, b.body.size);
        arena_init(&mem, NULL, 4096);
        if ((v = value_parse(&mem, a.body.data, a.body.size, "a batch", &err)) == NULL)
            CHECK_FAIL("%s: %s", kept_names[i], err.text);
        all = pawl_value_find(v, "/resourceSpans/0/scopeSpans/0/spans");
        CHECK_INT(pawl_value_size(all), a.spans);
        for (size_t n = 0; n < a.spans; n++) {
            const pawl_value *s = pawl_value_at(all, n);

            CHECK_INT(pawl_value_size(pawl_value_get(s, "traceId")), 32);
            CHECK_INT(pawl_value_size(pawl_value_get(s, "spanId")), 16);
            CHECK(pawl_value_size(pawl_value_get(s, "name")) > 0);
            CHECK(pawl_value_string(pawl_value_get(s, "startTimeUnixNano")) != NULL);
        }
        arena_free(&mem);
        buf_free(&a.body);
        buf_free(&b.body);
        kept_end(&k);
    }
}

PAWL_TEST(test_names_by_version)
{
    CHECK(semconv_of(NULL) == &semconv_tables[0] && semconv_of("0.1") != NULL && semconv_of("none") == NULL);
}

/* ---- ids ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_traceparent)
{
    static const char *const wrong[] = { "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x" };
    static const char good[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    char out[TRACEPARENT_BYTES];
    trace_id trace;
    span_id span;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (traceparent_read(wrong[i], &trace, &span))
            CHECK_FAIL("%s is taken", wrong[i]);
    CHECK(!traceparent_read(NULL, &trace, &span));
    CHECK(traceparent_read("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", &trace, &span));
    CHECK(traceparent_read(good, &trace, &span));
    traceparent_write(&trace, &span, out);
    CHECK_STR(out, good);
    trace = trace_id_of_run("essay-1~00000000000004d2/2.review.1.0");
    CHECK(memcmp(&trace, &(trace_id){ .b = { 0 } }, sizeof trace) != 0);
    CHECK(memcmp(trace.b, trace_id_of_run("essay-1~00000000000004d2").b, sizeof trace.b) == 0);
    CHECK(memcmp(span_id_of("a", 0, 0).b, span_id_of("a", 1, 0).b, SPAN_ID_BYTES) != 0);
    /* Ids are in collectors, and in the logs of those that were asked: they never change. */
    hex_write(trace.b, 4, out);
    CHECK_STR(out, "1f92089f");
    hex_write(span_id_of("essay-1~00000000000004d2/2.review.1.0", 0, 0).b, 4, out);
    CHECK_STR(out, "6eb9a55f");
}

/* ---- numbers ----------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_numbers_as_text)
{
    static const int64_t bounds[] = { 5, 1000, 0 };
    const metric_family f = { "h_seconds", "Help.", METRIC_HISTOGRAM, true, bounds }, g = { "g", "Gauge.", METRIC_GAUGE, false, NULL };
    metric_text t = { .out = NULL };
    char labels[METRIC_LABELS_BYTES] = "", many[2000];
    buf b;

    buf_init(&b, NULL);
    t.out = &b;
    metric_label(labels, "a", "x\"y\\z\nw");
    metric_put(&t, &f, labels, 1, 2);
    metric_put(&t, &f, labels, 2, 1);
    metric_put(&t, &f, labels, 3, 1234);
    metric_put(&t, &f, "", 3, 7);
    metric_put(&t, &g, "", 0, -3);
    metric_end(&t);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "# HELP h_seconds Help.\n# TYPE h_seconds histogram\n"
                      "h_seconds_bucket{a=\"x\\\"y\\\\z\\nw\",le=\"0.005\"} 0\nh_seconds_bucket{a=\"x\\\"y\\\\z\\nw\",le=\"1\"} 2\n"
                      "h_seconds_bucket{a=\"x\\\"y\\\\z\\nw\",le=\"+Inf\"} 3\nh_seconds_sum{a=\"x\\\"y\\\\z\\nw\"} 1.234\nh_seconds_count{a=\"x\\\"y\\\\z\\nw\"} 3\n"
                      "h_seconds_bucket{le=\"0.005\"} 0\nh_seconds_bucket{le=\"1\"} 0\nh_seconds_bucket{le=\"+Inf\"} 0\nh_seconds_sum 0.007\n"
                      "h_seconds_count 0\n# HELP g Gauge.\n# TYPE g gauge\ng -3\n");
    buf_free(&b);
    /* A label that is too long is cut between two characters. */
    for (size_t i = 0; i + 2 < sizeof many; i += 2)
        memcpy(many + i, "\xc3\xa9", 3);
    labels[0] = '\0';
    metric_label(labels, "m", many);
    CHECK(strlen(labels) < METRIC_LABELS_BYTES && labels[strlen(labels) - 1] == '"' && utf8_valid(labels, strlen(labels)));
}
