/* fuzz_spans.c - any changes of items, in any order, as spans: each span has a parent in its stretch and ends after it began, and a reader that begins again
 * at any line tells what was left (N5). The changes may contradict each other, as those of a damaged journal. */
#include "fuzz/fuzz_run.h"
#include "telemetry/metrics.h"
#include "telemetry/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGE_BYTES = 6, STEPS_MOST = 400, SPANS_TOLD = 4096 };

typedef struct telling { otlp_batch batch; span_id all[SPANS_TOLD]; size_t n; uint64_t seq, index; } telling;

static void number(void *ctx, const metric_family *f, const char *labels, unsigned part, int64_t value)
{
    (void)ctx, (void)part;
    must(f != NULL && utf8_valid(labels, strlen(labels)) && value >= 0);
}

static void comes(void *ctx, const run_span *s)
{
    telling *t = ctx;

    metrics_of_span(s, number, NULL);
    if (s->seq < t->seq || (s->seq == t->seq && s->index <= t->index))
        return;
    otlp_span(&t->batch, s);
    if (s->kind == SPAN_BEGUN)
        return;
    must(s->begin_ms <= s->end_ms);
    must(s->kind == SPAN_STRETCH || !span_id_none(&s->parent));
    if (t->n < SPANS_TOLD)
        t->all[t->n++] = s->id;
}

/* The `i`-th change that the bytes say. */
static pawl_item_change change_of(const uint8_t *b, size_t i)
{
    static const pawl_item_kind kinds[] = { PAWL_ITEM_RUN, PAWL_ITEM_MESSAGE, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_NODE, PAWL_ITEM_TASK, PAWL_ITEM_WAIT,
                                            PAWL_ITEM_CHILD, PAWL_ITEM_ARTIFACT, PAWL_ITEM_ERROR, PAWL_ITEM_USAGE, PAWL_ITEM_LINE };
    static const char *const ids[] = { "r~1", "r~1/task:1.a", "r~1/task:1.b", "r~1/1.a.1.0", "r~1/1.b.1.0", "r~1/tool:2.x", "r~1/tool:2.y", "r~1/1.a.1.1" };
    static const char *const parts[] = { "", "call", "spawn", "receipt", "refusal", "fail", "state", "leave" };

    return (pawl_item_change){ .kind = kinds[b[0] % 11], .state = (pawl_item_state)(b[1] % (PAWL_ITEM_REFUSED + 1)), .what = b[2] % 8, .id = ids[b[3] % 8],
                               .parent = ids[b[3] / 8 % 8], .name = ids[b[4] % 8], .part = parts[b[4] / 8 % 8], .call = b[5] % 4 == 0 ? NULL : ids[b[3] % 8],
                               .child = b[5] % 4 == 1 ? "child" : NULL, .path = "a", .node = "a", .run = "r", .cursor = "", .seq = i / 3 + 1, .index = i % 3,
                               .time_ms = b[5] / 4 * 10 };
}

static const char *content_of(const uint8_t *b)
{
    static const char *const all[] = { "null", "{}", "{\"class\":\"pure\",\"effect\":\"run-00112233\"}",
        "{\"outcome\":\"done\",\"value\":{\"model\":\"a/b\",\"stop\":\"end\"}}", "{\"model\":{\"input_tokens\":3,\"output_tokens\":-1},\"micros\":5}",
        "{\"outcome\":\"error\",\"value\":{\"code\":\"denied\"}}", "[", "{\"code\":7}" };

    return all[b[2] / 8 % 8];
}

/* Reads `n` changes; spans up to (seq, index) were told. */
static void told(telling *t, const uint8_t *data, size_t n, uint64_t seq, uint64_t index, uint64_t *at_seq, uint64_t *at_index)
{
    const span_run of = { .run = "r", .id = "r~1", .machine = "m", .parent = "p~1/1.a.1.0" };
    span_maker *m = span_maker_new(&of, comes, t);

    t->seq = seq;
    t->index = index;
    for (size_t i = 0; m != NULL && i < n; i++) {
        const pawl_item_change c = change_of(data + i * CHANGE_BYTES, i);

        if (span_line_begins(&c))
            must(span_maker_line(m));
        must(span_maker_takes(m, &c, span_maker_needs(&c) ? content_of(data + i * CHANGE_BYTES) : NULL));
    }
    if (m != NULL) {
        must(span_maker_line(m));
        span_maker_place(m, at_seq, at_index);
    }
    span_maker_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t n = size / CHANGE_BYTES < STEPS_MOST ? size / CHANGE_BYTES : STEPS_MOST;
    static telling whole, parts;
    size_t cut = n / 2;
    const pawl_value *v;
    pawl_err err = { PAWL_OK, "" };
    uint64_t seq, index;
    arena mem;

    whole.n = 0;
    otlp_begin(&whole.batch, semconv_of(NULL), NULL, 0);
    told(&whole, data, n, 0, 0, &seq, &index);
    otlp_end(&whole.batch);
    arena_init(&mem, NULL, 4096);
    v = value_parse(&mem, whole.batch.body.data, whole.batch.body.size, "a batch", &err);
    must(v != NULL);
    arena_free(&mem);
    buf_free(&whole.batch.body);
    while (cut < n && data[cut * CHANGE_BYTES] % 11 != 10)
        cut++;                  /* the next line begins there */
    parts.n = 0;
    otlp_begin(&parts.batch, semconv_of(NULL), NULL, 0);
    seq = index = 0;
    told(&parts, data, cut, 0, 0, &seq, &index);
    told(&parts, data, n, seq, index, &seq, &index);
    buf_free(&parts.batch.body);
    must(parts.n == whole.n && memcmp(parts.all, whole.all, whole.n * sizeof *whole.all) == 0);
    return 0;
}
