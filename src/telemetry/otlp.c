/* otlp.c - writes spans as JSON of OTLP. Pure; any thread. */
#include "telemetry/otlp.h"
#include "json/json.h"
#include "telemetry/metrics.h"

enum { OTLP_INTERNAL = 1, OTLP_CLIENT = 3, OTLP_ERROR = 2 };

/* ---- attributes ------------------------------------------------------------------------------------------------------ */

static void text_put(buf *b, const char *text) { canon_string(b, text, strlen(text)); }

static void key_put(buf *b, const char *key)
{
    if (b->size > 0 && b->data[b->size - 1] != '[')
        buf_char(b, ',');
    buf_word(b, "{\"key\":");
    text_put(b, key);
    buf_word(b, ",\"value\":{");
}

/* "" is none. */
static void text_attribute(buf *b, const char *key, const char *value)
{
    if (*value == '\0')
        return;
    key_put(b, key);
    buf_word(b, "\"stringValue\":");
    text_put(b, value);
    buf_word(b, "}}");
}

static void number_attribute(buf *b, const char *key, int64_t value)
{
    if (value < 0)
        return;
    key_put(b, key);
    buf_fmt(b, "\"intValue\":\"%lld\"}}", (long long)value);
}

static void list_attribute(buf *b, const char *key, const char *only)
{
    if (*only == '\0')
        return;
    key_put(b, key);
    buf_word(b, "\"arrayValue\":{\"values\":[{\"stringValue\":");
    text_put(b, only);
    buf_word(b, "}]}}}");
}

/* ---- what each kind of span says ----------------------------------------------------------------------------------------- */

/* "anthropic/NAME" has a provider; "script:folder/file.yaml" has none. NULL: none. */
static const char *provider_end(const char *model)
{
    const size_t n = strcspn(model, "/:");

    return model[n] == '/' ? model + n : NULL;
}

static void model_attributes(buf *b, const semconv *n, const run_span *s)
{
    const char *slash = provider_end(s->model);
    char provider[64];

    text_attribute(b, n->operation, n->chat);
    if (slash != NULL && (size_t)(slash - s->model) < sizeof provider) {
        memcpy(provider, s->model, (size_t)(slash - s->model));
        provider[slash - s->model] = '\0';
        text_attribute(b, n->provider, provider);
    }
    text_attribute(b, n->response_model, slash != NULL ? slash + 1 : s->model);
    list_attribute(b, n->finish_reasons, s->stop);
    number_attribute(b, n->input_tokens, s->usage.input);
    number_attribute(b, n->output_tokens, s->usage.output);
    number_attribute(b, n->cache_read_tokens, s->usage.cache_read);
    number_attribute(b, n->cache_write_tokens, s->usage.cache_write);
}

/* RUN~LIFE/tool:SEQ.ID */
static void tool_attributes(buf *b, const semconv *n, const run_span *s)
{
    const char *slash = strchr(s->item, '/'), *dot = slash != NULL ? strchr(slash, '.') : NULL;

    text_attribute(b, n->operation, n->execute_tool);
    text_attribute(b, n->tool, s->name);
    text_attribute(b, n->tool_call, dot != NULL ? dot + 1 : "");
}

static bool is_failed(const run_span *s) { return s->state == PAWL_ITEM_FAILED || s->state == PAWL_ITEM_REFUSED; }

static void span_attributes(buf *b, const semconv *n, const run_span *s)
{
    static const char *const kinds[SPAN_KINDS] = { "", "stretch", "task", "model", "tool", "effect", "wait", "child" };
    const unsigned item = s->kind == SPAN_STRETCH ? PAWL_ITEM_RUN : s->kind == SPAN_MODEL ? PAWL_ITEM_MESSAGE : PAWL_ITEM_TASK;
    char effect[SPAN_TEXT_BYTES];

    if (s->kind == SPAN_STRETCH)
        text_attribute(b, n->operation, n->invoke_agent);
    else if (s->kind == SPAN_MODEL)
        model_attributes(b, n, s);
    else if (s->kind == SPAN_TOOL)
        tool_attributes(b, n, s);
    text_attribute(b, n->agent, s->kind == SPAN_CHILD ? s->name : s->of->machine);
    text_attribute(b, n->conversation, s->of->context != NULL ? s->of->context : s->of->run);
    text_attribute(b, n->error, !is_failed(s) ? "" : *s->error != '\0' ? s->error : *s->outcome != '\0' && strcmp(s->outcome, "done") != 0 ? s->outcome
                                                   : "error");
    text_attribute(b, "pawl.kind", kinds[s->kind]);
    text_attribute(b, "pawl.run", s->of->run);
    text_attribute(b, "pawl.item", s->item);
    text_attribute(b, "pawl.state", s->kind == SPAN_WAIT && s->state == PAWL_ITEM_DONE ? "answered"
                                    : s->state == PAWL_ITEM_REFUSED && s->kind != SPAN_STRETCH ? "refused" : pawl_item_state_name(item, s->state));
    number_attribute(b, "pawl.stretch", (int64_t)s->stretch);
    text_attribute(b, "pawl.node", s->node);
    if (s->kind == SPAN_WAIT)
        text_attribute(b, "pawl.wait", s->name);
    if (s->kind == SPAN_MODEL || s->kind == SPAN_TOOL || s->kind == SPAN_EFFECT) {
        effect_said(s, effect);
        text_attribute(b, "pawl.effect", effect);
        text_attribute(b, "pawl.class", s->effect_class);
        text_attribute(b, "pawl.outcome", s->outcome);
    }
    number_attribute(b, "pawl.cost.micros", s->usage.micros);
    text_attribute(b, "pawl.child", s->child);
}

static void name_put(buf *b, const semconv *n, const run_span *s)
{
    char effect[SPAN_TEXT_BYTES];
    const char *first = "", *then = s->name;
    const char *slash = provider_end(s->model);
    buf text;

    effect_said(s, effect);
    switch (s->kind) {
    case SPAN_STRETCH: first = n->invoke_agent; break;
    case SPAN_MODEL:   first = n->chat; then = *s->model == '\0' ? effect : slash != NULL ? slash + 1 : s->model; break;
    case SPAN_TOOL:    first = n->execute_tool; break;
    case SPAN_TASK:    first = "task"; break;
    case SPAN_WAIT:    first = "wait"; break;
    case SPAN_CHILD:   first = "run"; break;
    case SPAN_EFFECT:  first = "effect"; then = effect; break;
    case SPAN_BEGUN:
    case SPAN_KINDS:   break;
    }
    buf_init(&text, &b->alloc);
    buf_text(&text, first);
    if (*then != '\0')
        buf_char(&text, ' ');
    buf_text(&text, then);
    canon_string(b, text.failed ? first : text.data, text.failed ? strlen(first) : text.size);
    b->failed = b->failed || text.failed;
    buf_free(&text);
}

/* ---- a span ------------------------------------------------------------------------------------------------------------------ */

static void id_put(buf *b, const char *before, const uint8_t *bytes, size_t n)
{
    char hex[2 * TRACE_ID_BYTES + 1];

    hex_write(bytes, n, hex);
    buf_fmt(b, "%s\"%s\"", before, hex);
}

static void links_put(buf *b, const run_span *s)
{
    buf_word(b, ",\"links\":[");
    for (size_t i = 0; i < s->nlinks; i++) {
        const bool before = memcmp(s->links[i].trace.b, s->trace.b, sizeof s->trace.b) == 0 && (i > 0 || s->stretch > 1);

        id_put(b, i > 0 ? ",{\"traceId\":" : "{\"traceId\":", s->links[i].trace.b, TRACE_ID_BYTES);
        id_put(b, ",\"spanId\":", s->links[i].span.b, SPAN_ID_BYTES);
        buf_word(b, ",\"attributes\":[");
        text_attribute(b, "pawl.link", before ? "before" : "parent");
        buf_word(b, "]}");
    }
    buf_char(b, ']');
}

void otlp_span(otlp_batch *batch, const run_span *s)
{
    buf *b = &batch->body;

    if (s->kind == SPAN_BEGUN)
        return;
    if (batch->spans++ > 0)
        buf_char(b, ',');
    id_put(b, "{\"traceId\":", s->trace.b, TRACE_ID_BYTES);
    id_put(b, ",\"spanId\":", s->id.b, SPAN_ID_BYTES);
    if (!span_id_none(&s->parent))
        id_put(b, ",\"parentSpanId\":", s->parent.b, SPAN_ID_BYTES);
    buf_word(b, ",\"name\":");
    name_put(b, batch->names, s);
    buf_fmt(b, ",\"kind\":%d,\"startTimeUnixNano\":\"%lld000000\",\"endTimeUnixNano\":\"%lld000000\",\"attributes\":[",
            s->kind == SPAN_MODEL ? OTLP_CLIENT : OTLP_INTERNAL, (long long)s->begin_ms, (long long)s->end_ms);
    span_attributes(b, batch->names, s);
    buf_char(b, ']');
    if (s->nlinks > 0)
        links_put(b, s);
    if (is_failed(s))
        buf_fmt(b, ",\"status\":{\"code\":%d}", OTLP_ERROR);
    buf_char(b, '}');
}

void otlp_begin(otlp_batch *batch, const semconv *names, const otlp_attribute *resource, size_t n)
{
    buf *b = &batch->body;

    *batch = (otlp_batch){ .names = names };
    buf_init(b, NULL);
    buf_word(b, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    for (size_t i = 0; i < n; i++)
        text_attribute(b, resource[i].key, resource[i].value);
    buf_fmt(b, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"pawl\",\"version\":\"%d.%d.%d\",\"attributes\":[", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR,
            PAWL_VERSION_PATCH);
    text_attribute(b, "pawl.semconv.gen_ai", names->version);
    buf_word(b, "]},\"spans\":[");
}

void otlp_end(otlp_batch *batch) { buf_word(&batch->body, "]}]}]}"); }
