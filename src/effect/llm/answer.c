/* answer.c - the answer of a model: its parts, reported as they arrive, and the reply that is made when it is complete.
 *
 * Called by the two APIs, scripts and records on the thread that drives the call. Owns the parts of one answer. Invariant: a reply is made from a
 * complete answer or not at all. */
#include "effect/llm/llm.h"

enum { INPUT_DEPTH_MAX = DEPTH_MAX - 8 };       /* its input is some levels deep in a reply, and then in a state */

/* ---- reasons to stop ------------------------------------------------------------------------------------- */

static const char *const stops[] = {
    [LLM_END_TURN] = "end_turn", [LLM_TOOL_USE] = "tool_use", [LLM_MAX_TOKENS] = "max_tokens", [LLM_STOP_SEQUENCE] = "stop_sequence",
    [LLM_REFUSAL] = "refusal", [LLM_PAUSE_TURN] = "pause_turn", [LLM_CONTEXT_EXCEEDED] = "context_exceeded",
};

const char *llm_stop_name(llm_stop stop)
{
    return stops[stop];
}

bool llm_stop_named(const char *name, llm_stop *out)
{
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (strcmp(name, stops[i]) == 0) {
            *out = (llm_stop)i;
            return true;
        }
    return false;
}

/* ---- telling ------------------------------------------------------------------------------------------------ */

/* A reader that is too slow misses some, so the result of a call that tells them is ignored. */
void llm_emit_begin(const pawl_job *job)
{
    (void)pawl_job_say(job, &(pawl_delta){ .kind = PAWL_DELTA_BEGIN, .number = job->attempt });
}

void llm_emit_text(const pawl_job *job, llm_kind kind, const char *text, size_t size)
{
    if (size > 0)
        (void)pawl_job_say(job, &(pawl_delta){ .kind = kind == LLM_THINKING ? PAWL_DELTA_THINKING : PAWL_DELTA_TEXT, .bytes = text, .size = size });
}

void llm_emit_tool(const pawl_job *job, size_t index, const char *id, const char *name, const char *input, size_t size)
{
    if (size > 0 || name != NULL)
        (void)pawl_job_say(job, &(pawl_delta){ .kind = PAWL_DELTA_TOOL_INPUT, .bytes = input, .size = size, .number = index, .id = id, .name = name });
}

void llm_emit_message(const pawl_job *job, const pawl_value *message)
{
    const pawl_value *content = pawl_value_get(message, "content"), *block;
    pawl_iter it = pawl_iter_of(content);
    buf b;

    llm_emit_begin(job);
    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        llm_emit_text(job, LLM_TEXT, pawl_value_string(content), pawl_value_size(content));
    for (size_t i = 0; (block = pawl_iter_next(&it, NULL)) != NULL; i++) {
        const pawl_value *text = pawl_value_get(block, "text"), *thinking = pawl_value_get(block, "thinking");

        if (llm_is(block, "text"))
            llm_emit_text(job, LLM_TEXT, llm_text(block, "text"), pawl_value_size(text));
        else if (llm_is(block, "thinking"))
            llm_emit_text(job, LLM_THINKING, llm_text(block, "thinking"), pawl_value_size(thinking));
        if (!llm_is(block, "tool_use"))
            continue;
        buf_init(&b, NULL);
        canon(&b, pawl_value_get(block, "input"));
        if (!b.failed)
            llm_emit_tool(job, i, llm_text(block, "id"), llm_text(block, "name"), b.data, b.size);
        buf_free(&b);
    }
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

void llm_answer_init(llm_answer *a, arena *mem, const pawl_job *job, const llm_request *q)
{
    *a = (llm_answer){ .job = job, .q = q, .mem = mem };
}

void llm_answer_free(llm_answer *a)
{
    for (size_t i = 0; i < a->nparts; i++) {
        buf_free(&a->parts[i].text);
        buf_free(&a->parts[i].more);
    }
    mem_free(&a->mem->alloc, a->parts, a->cap * sizeof *a->parts);
    a->parts = NULL;
    a->nparts = a->cap = 0;
}

pawl_code llm_invalid(llm_answer *a, const char *fmt, ...)
{
    pawl_err why = { 0 };
    va_list args;

    if (a->rc != PAWL_OK)
        return a->rc;
    va_start(args, fmt);
    failv(&why, PAWL_TRANSIENT, fmt, args);
    va_end(args);
    a->rc = PAWL_TRANSIENT;
    return fail(&a->err, PAWL_TRANSIENT, "Invalid response: %.230s", why.text);
}

pawl_code llm_nomem(llm_answer *a)
{
    if (a->rc == PAWL_OK)
        a->rc = fail(&a->err, PAWL_NOMEM, "no memory for its answer");
    return a->rc;
}

llm_part *llm_part_new(llm_answer *a, llm_kind kind, int64_t index)
{
    void *parts = a->parts;
    llm_part *p;

    if (a->nparts == LLM_PARTS_MAX) {
        if (a->rc == PAWL_OK)
            a->rc = fail(&a->err, PAWL_LIMIT, "Invalid response: more than %d blocks (LLM_PARTS_MAX)", LLM_PARTS_MAX);
        return NULL;
    }
    if (!mem_room(&a->mem->alloc, &parts, &a->cap, a->nparts, sizeof *p)) {
        llm_nomem(a);
        return NULL;
    }
    a->parts = parts;
    p = &a->parts[a->nparts++];
    *p = (llm_part){ .kind = kind, .index = index, .id = "", .name = "" };
    buf_init(&p->text, &a->mem->alloc);
    buf_init(&p->more, &a->mem->alloc);
    return p;
}

const char *llm_keep(llm_answer *a, const char *text)
{
    const char *kept = arena_text(a->mem, text);

    if (kept == NULL)
        llm_nomem(a);
    return kept;
}

llm_number llm_count(const pawl_value *usage, const char *path, int64_t *to)
{
    const pawl_value *v = pawl_value_find(usage, path);
    const uint64_t n = pawl_value_uint(v);

    if (v == NULL || pawl_value_type(v) == PAWL_TYPE_NULL)
        return LLM_NO_NUMBER;
    if (pawl_value_type(v) != PAWL_TYPE_INT || pawl_value_int(v) < 0 || n > UINT64_C(1) << 53)
        return LLM_UNREADABLE;
    *to = (int64_t)n;
    return LLM_NUMBER;
}

void llm_count_member(llm_answer *a, const pawl_value *usage, const char *path, unsigned bit, int64_t *to)
{
    const llm_number n = llm_count(usage, path, to);

    a->counted |= n == LLM_NUMBER ? bit : 0;
    a->unreadable = n == LLM_NUMBER ? a->unreadable & ~bit : n == LLM_UNREADABLE ? a->unreadable | bit : a->unreadable;
}

bool llm_is_counted(const llm_answer *a)
{
    const unsigned both = USAGE_IN | USAGE_OUT;

    return a->unreadable == 0 && (a->whole ? (a->counted & both) == both : a->counted != 0);
}

void llm_part_text(llm_answer *a, llm_part *p, const char *text, size_t size)
{
    buf_put(&p->text, text, size);
    if (p->text.failed)
        llm_nomem(a);
    else if (p->kind == LLM_TOOL)
        llm_emit_tool(a->job, (size_t)(p - a->parts), NULL, NULL, text, size);
    else if (p->kind != LLM_RAW)
        llm_emit_text(a->job, p->kind, text, size);
}

/* ---- a typed value -------------------------------------------------------------------------------------------------- */

static bool is_output(const llm_answer *a, const llm_part *p)
{
    return a->q->schema != NULL && p->kind == LLM_TOOL && strcmp(p->name, LLM_OUTPUT) == 0;
}

static const pawl_value *parse(const llm_answer *a, const buf *text, pawl_err *err)
{
    const pawl_value *v;

    if (text->size == 0)
        return value_pack(a->mem, NULL, "{}");
    v = value_parse(a->mem, text->data, text->size, "the value", err);
    if (v != NULL && value_deeper(v, INPUT_DEPTH_MAX)) {
        fail(err, PAWL_LIMIT, "the value has more than %d levels", INPUT_DEPTH_MAX);
        return NULL;
    }
    return v;
}

/* A model that is asked in words only may put its JSON between fences. */
static buf unfenced(const llm_answer *a, const buf *text)
{
    const char *begin, *end;
    buf in = *text;

    if (a->q->way < LLM_BY_JSON || text->size < 6 || strncmp(text->data, "```", 3) != 0 || (begin = memchr(text->data, '\n', text->size)) == NULL)
        return in;
    for (end = text->data + text->size; end > begin && strchr(" \r\n\t", end[-1]) != NULL; end--)
        ;
    if (end - begin < 4 || strncmp(end - 3, "```", 3) != 0)
        return in;
    in.data = text->data + (begin + 1 - text->data);
    in.size = (size_t)(end - 3 - begin - 1);
    return in;
}

/* The value for `schema`, checked. *out NULL and PAWL_OK: there is none, because tools are called first, or the model refuses. */
static pawl_code typed(llm_answer *a, const pawl_value **out)
{
    const llm_part *from = NULL, *text = NULL;
    const pawl_value *v;
    pawl_err why = { 0 };
    buf in;

    *out = NULL;
    if (a->q->schema == NULL || a->stop == LLM_REFUSAL || a->stop == LLM_PAUSE_TURN)
        return PAWL_OK;
    if (a->stop == LLM_MAX_TOKENS || a->stop == LLM_CONTEXT_EXCEEDED)
        return llm_invalid(a, "the value was cut off, at %s", llm_stop_name(a->stop));
    for (size_t i = 0; i < a->nparts; i++) {
        if (is_output(a, &a->parts[i]))
            from = &a->parts[i];
        else if (a->parts[i].kind == LLM_TOOL)
            return PAWL_OK;
        else if (a->parts[i].kind == LLM_TEXT)
            text = &a->parts[i];
    }
    if (from == NULL && text == NULL)
        return llm_invalid(a, "no value, and a schema was asked for");
    in = from != NULL ? from->text : unfenced(a, &text->text);
    v = parse(a, &in, &why);
    if (v == NULL)
        return a->mem->failed ? llm_nomem(a) : llm_invalid(a, "no value by the schema: %.180s", why.text);
    if ((from != NULL || a->q->way >= LLM_BY_JSON) && llm_schema_wraps(a->q->schema) && (v = pawl_value_get(v, "value")) == NULL)
        return llm_invalid(a, "no value by the schema: \"value\" is not there");
    if (schema_check(a->q->schema, v, LLM_OUTPUT, &why) != PAWL_OK)
        return llm_invalid(a, "%.200s", why.text);
    *out = v;
    return PAWL_OK;
}

/* ---- the reply --------------------------------------------------------------------------------------------------------- */

static void member(buf *b, const char *name, const char *data, size_t size)
{
    buf_text(b, name);
    canon_string(b, size > 0 ? data : "", size);
}

/* The input of a tool call. If it is not an object, or the call may have been cut off before its input arrived, it is kept as text, so that the model
 * can be told. */
static void input_write(const llm_answer *a, const llm_part *p, buf *b)
{
    const bool cut = p->text.size == 0 && a->stop == LLM_MAX_TOKENS && p == &a->parts[a->nparts - 1];
    const pawl_value *v = cut ? NULL : parse(a, &p->text, NULL);

    buf_text(b, ",\"input\":");
    if (pawl_value_type(v) == PAWL_TYPE_OBJECT) {
        canon(b, v);
        return;
    }
    buf_text(b, "{}");
    member(b, ",\"invalid\":", p->text.data, p->text.size);
}

static void raw_write(const llm_answer *a, const llm_part *p, buf *b)
{
    const pawl_value *input = p->text.size > 0 ? parse(a, &p->text, NULL) : NULL;

    canon(b, input != NULL ? value_with(a->mem, p->raw, "input", input) : p->raw);
}

static void via_write(const llm_answer *a, const llm_part *p, buf *b)
{
    if (p->wanted)
        member(b, ",\"via\":", a->q->provider, strlen(a->q->provider));
}

static void part_write(const llm_answer *a, const llm_part *p, const pawl_value *output, buf *b)
{
    const bool thinking = p->kind == LLM_THINKING;

    if (is_output(a, p) && output != NULL) {
        buf text;

        buf_init(&text, &b->alloc);
        canon(&text, output);
        member(b, "{\"type\":\"text\",\"text\":", text.data, text.size);
        buf_char(b, '}');
        b->failed = b->failed || text.failed;
        buf_free(&text);
    } else if (p->kind == LLM_RAW) {
        raw_write(a, p, b);
    } else if (p->kind == LLM_TOOL) {
        member(b, "{\"type\":\"tool_use\",\"id\":", p->id, strlen(p->id));
        member(b, ",\"name\":", p->name, strlen(p->name));
        input_write(a, p, b);
        if (p->extra != NULL)
            llm_put_value(b, ",\"extra_content\":", p->extra);
        via_write(a, p, b);
        buf_char(b, '}');
    } else {
        member(b, thinking ? "{\"type\":\"thinking\",\"thinking\":" : "{\"type\":\"text\",\"text\":", p->text.data, p->text.size);
        if (thinking && p->more.size > 0)
            member(b, ",\"signature\":", p->more.data, p->more.size);
        via_write(a, p, b);
        if (!thinking && p->more.size > 0) {
            buf_text(b, ",\"citations\":[");
            buf_put(b, p->more.data, p->more.size);
            buf_char(b, ']');
        }
        buf_char(b, '}');
    }
}

static llm_stop stop_of(const llm_answer *a, const pawl_value *output)
{
    if (output != NULL && a->stop == LLM_TOOL_USE)
        return LLM_END_TURN;
    for (size_t i = 0; i < a->nparts; i++)
        if (a->stop == LLM_END_TURN && a->parts[i].kind == LLM_TOOL && output == NULL)
            return LLM_TOOL_USE;        /* some APIs call it so */
    return a->stop;
}

static void reply_write(const llm_answer *a, const pawl_value *output, buf *b)
{
    const char *comma = "";

    buf_text(b, "{\"message\":{\"role\":\"assistant\",\"content\":[");
    for (size_t i = 0; i < a->nparts; i++) {
        const llm_part *p = &a->parts[i];

        if ((p->kind == LLM_TEXT && p->text.size == 0) || (is_output(a, p) && output == NULL))
            continue;
        buf_text(b, comma);
        part_write(a, p, output, b);
        comma = ",";
    }
    buf_fmt(b, "]},\"stop\":\"%s\",\"usage\":{\"input_tokens\":%lld,\"output_tokens\":%lld,\"cache_read_tokens\":%lld,\"cache_write_tokens\":%lld}",
            llm_stop_name(stop_of(a, output)), (long long)a->usage.input, (long long)a->usage.output, (long long)a->usage.cache_read,
            (long long)a->usage.cache_write);
    member(b, ",\"model\":", a->model != NULL ? a->model : a->q->model, strlen(a->model != NULL ? a->model : a->q->model));
    if (a->request_id != NULL)
        member(b, ",\"request_id\":", a->request_id, strlen(a->request_id));
    if (output != NULL) {
        buf_text(b, ",\"output\":");
        canon(b, output);
    }
    buf_char(b, '}');
}

pawl_code llm_reply(llm_answer *a, pawl_reply *r)
{
    const pawl_value *output = NULL;

    if (a->rc == PAWL_OK && typed(a, &output) == PAWL_OK) {
        reply_write(a, output, &r->text);
        if (r->text.failed || a->mem->failed)
            llm_nomem(a);
    }
    return a->rc;
}

void llm_cost(pawl_reply *r, const pawl_llm_usage *u, int64_t micros)
{
    pawl_reply_cost(r, u->input + u->output + u->cache_read + u->cache_write, micros > 0 ? micros : 0);
}
