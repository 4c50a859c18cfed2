/* anthropic.c - Anthropic's Messages API: requests written, and its stream of events read.
 *
 * Called by llm.c through a const table, on the thread that drives the call. Keeps nothing between calls. */
#include "effect/llm/llm.h"

/* ---- requests: the same bytes for the same arguments, since what has been cached is found by its bytes ------------ */

/* A mark makes the API cache all of the request up to it. */
enum { MARKED_MESSAGES = 2 };           /* with those on tools and system prompt, the four that the API allows */
enum { USAGE_CACHE_READ = 4, USAGE_CACHE_WRITE = 8 };   /* bits of llm_answer.counted, beside USAGE_IN and USAGE_OUT */
static const char blanks[] = " \t\r\n\f\v";
static const char mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

typedef struct writing {
    arena *mem;
    const llm_request *q;
    buf *out;
    size_t marks[MARKED_MESSAGES];      /* offsets in `out` where the newest messages can be marked, the older one first; 0: nowhere */
    bool first;                         /* the next block needs no comma */
} writing;

/* The API refuses blank texts, although its models produce them. */
static bool is_blank(const pawl_value *text)
{
    const char *s = pawl_value_string(text);

    return s == NULL || strspn(s, blanks) == pawl_value_size(text);
}

/* Whether a block is sent at all. */
static bool sends(const pawl_value *block, bool assistant)
{
    if (llm_is(block, "text"))
        return !is_blank(pawl_value_get(block, "text"));
    if (llm_is(block, "thinking"))      /* from another API: without a signature */
        return assistant && *llm_text(block, "signature") != '\0';
    return true;
}

/* The id of a call, perhaps from another API, in the characters that this API allows: letters, digits, _ and -. */
static void id_write(buf *b, const char *name, const pawl_value *id)
{
    const char *s = pawl_value_string(id);

    buf_text(b, name);
    buf_char(b, '"');
    for (size_t i = 0; i < pawl_value_size(id); i++) {
        const bool fine = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || s[i] == '-';

        buf_char(b, fine ? s[i] : '_');
    }
    buf_char(b, '"');
}

static void image_write(const pawl_value *block, buf *b)
{
    llm_put_value(b, "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":", pawl_value_get(block, "media_type"));
    llm_put_value(b, ",\"data\":", pawl_value_get(block, "data"));
    buf_char(b, '}');
}

/* Without the closing brace, so that a mark can be added. False: this block cannot have a mark. */
static bool block_open(const pawl_value *block, buf *b)
{
    if (llm_is(block, "text")) {
        llm_put_value(b, "{\"type\":\"text\",\"text\":", pawl_value_get(block, "text"));
        if (pawl_value_get(block, "citations") != NULL)
            llm_put_value(b, ",\"citations\":", pawl_value_get(block, "citations"));
        return true;
    }
    if (llm_is(block, "image")) {
        image_write(block, b);
        return true;
    }
    if (llm_is(block, "tool_use")) {
        id_write(b, "{\"type\":\"tool_use\",\"id\":", pawl_value_get(block, "id"));
        llm_put_value(b, ",\"name\":", pawl_value_get(block, "name"));
        llm_put_value(b, ",\"input\":", pawl_value_get(block, "input"));
        return true;
    }
    canon(b, block);                    /* unchanged: the signature covers its bytes */
    b->size -= b->failed ? 0 : 1;
    return false;
}

static void comma(writing *w)
{
    if (!w->first)
        buf_char(w->out, ',');
    w->first = false;
}

static void blocks_write(writing *w, const pawl_value *blocks, bool assistant)
{
    const pawl_value *block;
    pawl_iter it = pawl_iter_of(blocks);

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (!sends(block, assistant))
            continue;
        comma(w);
        if (block_open(block, w->out))
            w->marks[1] = w->out->size;
        buf_char(w->out, '}');
    }
}

static void result_write(writing *w, const pawl_value *m)
{
    const pawl_value *content = pawl_value_get(m, "content");
    const size_t outer = w->marks[1];

    comma(w);
    id_write(w->out, "{\"type\":\"tool_result\",\"tool_use_id\":", pawl_value_get(m, "tool_call_id"));
    buf_text(w->out, ",\"content\":");
    if (pawl_value_type(content) == PAWL_TYPE_STRING) {
        canon(w->out, content);
    } else {
        buf_char(w->out, '[');
        w->first = true;
        blocks_write(w, content, false);
        w->first = false;
        buf_char(w->out, ']');
        w->marks[1] = outer;
    }
    if (pawl_value_bool(pawl_value_get(m, "is_error")))
        buf_text(w->out, ",\"is_error\":true");
    w->marks[1] = w->out->size;
    buf_char(w->out, '}');
}

/* Results of tools come first in the message. */
static void turn_write(writing *w, const llm_turn *t)
{
    buf_text(w->out, t->assistant ? "{\"role\":\"assistant\",\"content\":[" : "{\"role\":\"user\",\"content\":[");
    w->first = true;
    w->marks[0] = w->marks[1];
    w->marks[1] = 0;
    for (size_t i = 0; i < t->n; i++)
        if (*llm_text(t->messages[i], "role") == 't')
            result_write(w, t->messages[i]);
    for (size_t i = 0; i < t->n; i++)
        if (*llm_text(t->messages[i], "role") != 't')
            blocks_write(w, llm_blocks(w->mem, t->messages[i]), t->assistant);
    buf_text(w->out, "]}");
}

static void insert(buf *b, size_t at, const char *text)
{
    const size_t n = strlen(text);

    if (at == 0 || b->failed || !buf_room(b, n))
        return;
    memmove(b->data + at + n, b->data + at, b->size - at);
    memcpy(b->data + at, text, n);
    b->size += n;
}

static void messages_write(writing *w)
{
    llm_turn *turns;
    size_t n;

    buf_text(w->out, ",\"messages\":[");
    if (!llm_turns(w->mem, w->q, sends, &turns, &n)) {
        w->out->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(w->out, ',');
        turn_write(w, &turns[i]);
    }
    for (size_t i = MARKED_MESSAGES; w->q->cache && i > 0; i--)
        insert(w->out, w->marks[i - 1], mark);
    buf_char(w->out, ']');
}

/* The tool `output`, whose input is the value. */
static void output_write(const llm_request *q, buf *b)
{
    buf_text(b, "{\"name\":\"" LLM_OUTPUT "\",\"description\":\"" LLM_OUTPUT_TOLD "\",\"input_schema\":");
    llm_put_schema(b, q->schema);
}

/* The brace of a tool is closed when the next one begins, that of the last one after its mark. */
static void tools_write(writing *w)
{
    const pawl_value *tool;
    pawl_iter it = pawl_iter_of(w->q->tools);
    buf *b = w->out;

    buf_text(b, ",\"tools\":[");
    w->first = true;
    while ((tool = pawl_iter_next(&it, NULL)) != NULL) {
        if (!w->first)
            buf_char(b, '}');
        comma(w);
        llm_put_value(b, "{\"name\":", pawl_value_get(tool, "name"));
        if (*llm_text(tool, "description") != '\0')
            llm_put_value(b, ",\"description\":", pawl_value_get(tool, "description"));
        llm_put_value(b, ",\"input_schema\":", pawl_value_get(tool, "input_schema"));
    }
    if (w->q->schema != NULL) {
        if (!w->first)
            buf_char(b, '}');
        comma(w);
        output_write(w->q, b);
    }
    buf_text(b, w->q->cache ? mark : "");
    buf_text(b, "}]");
}

static void choice_write(const llm_request *q, buf *b)
{
    const char *choice = q->tool_choice;

    /* A tool cannot be forced while the model thinks. */
    if (q->schema != NULL && q->budget_tokens > 0)
        buf_text(b, ",\"tool_choice\":{\"type\":\"auto\"}");
    else if (q->schema != NULL && (q->tools == NULL || (choice != NULL && strcmp(choice, "none") == 0)))
        buf_text(b, ",\"tool_choice\":{\"type\":\"tool\",\"name\":\"" LLM_OUTPUT "\"}");
    else if (q->schema != NULL && (choice == NULL || strcmp(choice, "auto") == 0))
        buf_text(b, ",\"tool_choice\":{\"type\":\"any\"}");
    else if (choice == NULL || q->tools == NULL)
        return;
    else if (strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0 || strcmp(choice, "any") == 0)
        buf_fmt(b, ",\"tool_choice\":{\"type\":\"%s\"}", choice);
    else {
        llm_put_text(b, ",\"tool_choice\":{\"type\":\"tool\",\"name\":", choice);
        buf_char(b, '}');
    }
}

static void body(arena *mem, const llm_request *q, buf *out)
{
    writing w = { .mem = mem, .q = q, .out = out };

    llm_put_text(out, "{\"model\":", q->model);
    buf_text(out, ",\"max_tokens\":");
    buf_int(out, q->max_tokens > 0 ? q->max_tokens : LLM_TOKENS + q->budget_tokens);
    if (q->tools != NULL || q->schema != NULL) {
        tools_write(&w);
        choice_write(q, out);
    }
    if (q->system != NULL && q->system[strspn(q->system, blanks)] != '\0') {
        llm_put_text(out, ",\"system\":[{\"type\":\"text\",\"text\":", q->system);
        buf_text(out, q->cache ? mark : "");
        buf_text(out, "}]");
    }
    messages_write(&w);
    if (q->budget_tokens > 0)
        buf_fmt(out, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}", (long long)q->budget_tokens);
    if (q->temperature != NULL)
        llm_put_value(out, ",\"temperature\":", q->temperature);
    if (q->stop != NULL)
        llm_put_value(out, ",\"stop_sequences\":", q->stop);
    buf_text(out, ",\"stream\":true}");
    out->failed = out->failed || mem->failed;
}

/* ---- the stream ------------------------------------------------------------------------------------------------------ */

/* Counts are cumulative: a new one replaces the old one. */
static void usage_read(llm_answer *a, const pawl_value *usage)
{
    llm_count_member(a, usage, "/input_tokens", USAGE_IN, &a->usage.input);
    llm_count_member(a, usage, "/output_tokens", USAGE_OUT, &a->usage.output);
    llm_count_member(a, usage, "/cache_read_input_tokens", USAGE_CACHE_READ, &a->usage.cache_read);
    llm_count_member(a, usage, "/cache_creation_input_tokens", USAGE_CACHE_WRITE, &a->usage.cache_write);
}

static pawl_code on_message_start(llm_answer *a, const pawl_value *ev)
{
    const pawl_value *message = pawl_value_get(ev, "message");

    if (a->begun)
        return llm_invalid(a, "a second message_start");
    a->begun = true;
    usage_read(a, pawl_value_get(message, "usage"));
    if (*llm_text(message, "model") != '\0')
        a->model = llm_keep(a, llm_text(message, "model"));
    return a->rc;
}

static pawl_code on_block_start(llm_answer *a, const pawl_value *ev)
{
    /* `text`: the member with the beginning of the text. Blocks of other types are kept as they are (LLM_RAW). */
    static const struct { const char *type; llm_kind kind; const char *text; } kinds[] = {
        { "text", LLM_TEXT, "text" }, { "thinking", LLM_THINKING, "thinking" }, { "tool_use", LLM_TOOL, NULL },
    };
    const pawl_value *block = pawl_value_get(ev, "content_block"), *signature = pawl_value_get(block, "signature"), *text;
    size_t i = 0;
    llm_part *p;

    if (*llm_text(block, "type") == '\0' || pawl_value_type(pawl_value_get(ev, "index")) != PAWL_TYPE_INT)
        return llm_invalid(a, "a block begins without type or index");
    while (i < 3 && !llm_is(block, kinds[i].type))
        i++;
    if ((p = llm_part_new(a, i < 3 ? kinds[i].kind : LLM_RAW, pawl_value_int(pawl_value_get(ev, "index")))) == NULL)
        return a->rc;
    if ((p->raw = value_copy(a->mem, block)) == NULL)
        return llm_nomem(a);
    if (p->kind == LLM_TOOL) {
        p->id = llm_text(p->raw, "id");
        p->name = llm_text(p->raw, "name");
        if (*p->id == '\0' || *p->name == '\0')
            return llm_invalid(a, "a tool is called without id or name");
        llm_emit_tool(a->job, a->nparts - 1, p->id, p->name, "", 0);
    } else if (i < 3 && (text = pawl_value_get(block, kinds[i].text)) != NULL && pawl_value_string(text) != NULL) {
        llm_part_text(a, p, pawl_value_string(text), pawl_value_size(text));
    }
    if (p->kind == LLM_THINKING && pawl_value_string(signature) != NULL)
        buf_put(&p->more, pawl_value_string(signature), pawl_value_size(signature));
    return a->rc;
}

static llm_part *part_of(llm_answer *a, const pawl_value *ev)
{
    const int64_t index = pawl_value_int(pawl_value_get(ev, "index"));

    for (size_t i = a->nparts; i > 0; i--)
        if (a->parts[i - 1].index == index)
            return &a->parts[i - 1];
    return NULL;
}

static void citation_read(llm_part *p, const pawl_value *citation)
{
    if (citation == NULL)
        return;
    if (p->more.size > 0)
        buf_char(&p->more, ',');
    canon(&p->more, citation);
}

/* Deltas of unknown types are ignored. */
static pawl_code on_block_delta(llm_answer *a, const pawl_value *ev)
{
    /* `text`: the member with the piece; `of`: the kinds of blocks that it may belong to, by bit. */
    static const struct { const char *type, *text; unsigned of; } deltas[] = {
        { "text_delta", "text", 1u << LLM_TEXT }, { "thinking_delta", "thinking", 1u << LLM_THINKING },
        { "input_json_delta", "partial_json", 1u << LLM_TOOL | 1u << LLM_RAW },
    };
    const pawl_value *delta = pawl_value_get(ev, "delta"), *text;
    llm_part *p = part_of(a, ev);

    if (p == NULL || p->closed)
        return llm_invalid(a, "more of a block that is not open");
    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
        if (!llm_is(delta, deltas[i].type))
            continue;
        text = pawl_value_get(delta, deltas[i].text);
        if ((deltas[i].of & 1u << p->kind) == 0 || pawl_value_type(text) != PAWL_TYPE_STRING)
            return llm_invalid(a, "a %s that does not fit its block", deltas[i].type);
        llm_part_text(a, p, pawl_value_string(text), pawl_value_size(text));
        return a->rc;
    }
    if (llm_is(delta, "signature_delta") && p->kind == LLM_THINKING) {
        text = pawl_value_get(delta, "signature");
        buf_put(&p->more, llm_text(delta, "signature"), pawl_value_type(text) == PAWL_TYPE_STRING ? pawl_value_size(text) : 0);
    } else if (llm_is(delta, "citations_delta") && p->kind == LLM_TEXT) {
        citation_read(p, pawl_value_get(delta, "citation"));
    }
    return p->more.failed ? llm_nomem(a) : a->rc;
}

static pawl_code on_block_stop(llm_answer *a, const pawl_value *ev)
{
    llm_part *p = part_of(a, ev);
    const pawl_value *input;

    if (p == NULL || p->closed)
        return llm_invalid(a, "the end of a block that is not open");
    p->closed = true;
    input = pawl_value_get(p->raw, "input");
    if (p->kind == LLM_TOOL && p->text.size == 0 && pawl_value_size(input) > 0)    /* the whole input came with the start of the block */
        canon(&p->text, input);
    return p->text.failed ? llm_nomem(a) : a->rc;
}

static pawl_code on_message_delta(llm_answer *a, const pawl_value *ev)
{
    static const struct { const char *name; llm_stop stop; } stops[] = {
        { "end_turn", LLM_END_TURN }, { "tool_use", LLM_TOOL_USE }, { "max_tokens", LLM_MAX_TOKENS },
        { "stop_sequence", LLM_STOP_SEQUENCE }, { "refusal", LLM_REFUSAL }, { "pause_turn", LLM_PAUSE_TURN },
        { "model_context_window_exceeded", LLM_CONTEXT_EXCEEDED },
    };
    const char *why = llm_text(pawl_value_get(ev, "delta"), "stop_reason");

    usage_read(a, pawl_value_get(ev, "usage"));
    if (*why == '\0')
        return a->rc;
    a->stopped = true;
    a->stop = LLM_END_TURN;             /* an unknown reason */
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (strcmp(why, stops[i].name) == 0)
            a->stop = stops[i].stop;
    return a->rc;
}

static pawl_code on_message_stop(llm_answer *a, const pawl_value *ev)
{
    (void)ev;
    for (size_t i = 0; i < a->nparts; i++)
        if (!a->parts[i].closed)
            return llm_invalid(a, "its end, and block %zu has none", i);
    if (!a->stopped)
        return llm_invalid(a, "its end, and no reason for it");
    a->whole = true;
    return a->rc;
}

static pawl_code on_error(llm_answer *a, const pawl_value *ev)
{
    llm_error e = { .type = "", .code = "", .text = "" };

    llm_error_read(ev, &e);
    a->rc = llm_error_fail(&e, a->key, &a->err);
    return a->rc;
}

static pawl_code event(llm_answer *a, const sse_event *ev, arena *scratch)
{
    /* `early`: may come before message_start. */
    static const struct { const char *type; pawl_code (*on)(llm_answer *a, const pawl_value *ev); bool early; } events[] = {
        { "error", on_error, true }, { "message_start", on_message_start, true }, { "content_block_start", on_block_start, false },
        { "content_block_delta", on_block_delta, false }, { "content_block_stop", on_block_stop, false },
        { "message_delta", on_message_delta, false }, { "message_stop", on_message_stop, false },
    };
    const pawl_value *v = value_parse(scratch, ev->data.data, ev->data.size, "an event", NULL);
    const char *type = *llm_text(v, "type") != '\0' ? llm_text(v, "type") : ev->name;

    if (a->rc != PAWL_OK || a->whole)
        return a->rc;
    if (v == NULL)
        return scratch->failed ? llm_nomem(a) : llm_invalid(a, "an event that is no JSON, or cut off");
    if (llm_error_is(v))
        type = "error";
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(type, events[i].type) != 0)
            continue;
        if (!events[i].early && !a->begun)
            return llm_invalid(a, "%s before message_start", type);
        return events[i].on(a, v);
    }
    return PAWL_OK;                     /* ping, and unknown types */
}

static pawl_code end(llm_answer *a)
{
    if (a->rc == PAWL_OK && !a->whole)
        return llm_invalid(a, "it ended before message_stop");
    return a->rc;
}

const llm_api llm_anthropic = { .path = "/messages", .request_id = "request-id", .body = body, .event = event, .end = end };
