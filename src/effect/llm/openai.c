/* openai.c - OpenAI's Chat Completions API and compatible ones: writes requests and reads chunks.
 *
 * Called by llm.c through a const table, on the thread that drives the call. Keeps nothing between calls. */
#include "effect/llm/llm.h"

#include <strings.h>

enum { EXTRA_DEPTH_MAX = 16 };

/* ---- requests --------------------------------------------------------------------------------------------- */

/* Blocks of other APIs are not sent. Thinking is sent with the answer, but only to the provider that it came from and that requires it. */
static bool sends(const pawl_value *block, bool assistant)
{
    if (llm_is(block, "text"))
        return pawl_value_size(pawl_value_get(block, "text")) > 0;
    return llm_is(block, assistant ? "tool_use" : "image");
}

/* Texts of blocks as one string, joined by newlines; false: there are none. */
static bool text_join(const pawl_value *blocks, buf *out)
{
    const pawl_value *block, *text;
    pawl_iter it = pawl_iter_of(blocks);
    bool some = false;

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (!llm_is(block, "text") || !sends(block, false))
            continue;
        text = pawl_value_get(block, "text");
        if (some || out->size > 0)
            buf_char(out, '\n');
        buf_put(out, pawl_value_string(text), pawl_value_size(text));
        some = true;
    }
    return some;
}

static void text_write(buf *b, const buf *text)
{
    canon_string(b, text->size > 0 ? text->data : "", text->size);
    b->failed = b->failed || text->failed;
}

static void image_write(const pawl_value *block, buf *b)
{
    buf url;

    buf_init(&url, &b->alloc);
    buf_text(&url, "data:");
    buf_text(&url, llm_text(block, "media_type"));
    buf_text(&url, ";base64,");
    buf_text(&url, llm_text(block, "data"));
    buf_text(b, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    text_write(b, &url);
    buf_text(b, "}}");
    buf_free(&url);
}

static bool has_image(const pawl_value *content)
{
    const pawl_value *block;
    pawl_iter it = pawl_iter_of(content);

    while (pawl_value_type(content) == PAWL_TYPE_ARRAY && (block = pawl_iter_next(&it, NULL)) != NULL)
        if (llm_is(block, "image"))
            return true;
    return false;
}

static void parts_write(const pawl_value *blocks, bool texts, buf *b, bool *first)
{
    const pawl_value *block;
    pawl_iter it = pawl_iter_of(blocks);

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (!sends(block, false) || (!texts && !llm_is(block, "image")))
            continue;
        buf_text(b, *first ? "" : ",");
        *first = false;
        if (llm_is(block, "image")) {
            image_write(block, b);
        } else {
            llm_put_value(b, "{\"type\":\"text\",\"text\":", pawl_value_get(block, "text"));
            buf_char(b, '}');
        }
    }
}

/* The block came from this provider, which requires it back. */
static bool wants(const llm_request *q, const pawl_value *block)
{
    return strcmp(llm_text(block, "via"), q->provider) == 0;
}

static void thoughts_join(const llm_request *q, const pawl_value *blocks, buf *out)
{
    const pawl_value *block, *text;
    pawl_iter it = pawl_iter_of(blocks);

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        text = llm_is(block, "thinking") && wants(q, block) ? pawl_value_get(block, "thinking") : NULL;
        if (pawl_value_size(text) > 0 && out->size > 0)
            buf_char(out, '\n');
        if (pawl_value_size(text) > 0)
            buf_put(out, pawl_value_string(text), pawl_value_size(text));
    }
}

static void calls_write(const llm_request *q, const pawl_value *blocks, buf *calls)
{
    const pawl_value *block;
    pawl_iter it = pawl_iter_of(blocks);
    buf input;

    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        if (!llm_is(block, "tool_use"))
            continue;
        buf_init(&input, &calls->alloc);
        canon(&input, pawl_value_get(block, "input"));
        llm_put_value(calls, calls->size > 0 ? ",{\"id\":" : "{\"id\":", pawl_value_get(block, "id"));
        llm_put_value(calls, ",\"type\":\"function\",\"function\":{\"name\":", pawl_value_get(block, "name"));
        buf_text(calls, ",\"arguments\":");
        text_write(calls, &input);
        buf_char(calls, '}');
        if (wants(q, block) && pawl_value_get(block, "extra_content") != NULL)
            llm_put_value(calls, ",\"extra_content\":", pawl_value_get(block, "extra_content"));
        buf_char(calls, '}');
        buf_free(&input);
    }
}

static void assistant_write(arena *mem, const llm_request *q, const llm_turn *t, buf *b)
{
    buf text, calls, thoughts;
    bool some = false;

    buf_init(&text, &b->alloc);
    buf_init(&calls, &b->alloc);
    buf_init(&thoughts, &b->alloc);
    for (size_t i = 0; i < t->n; i++) {
        const pawl_value *blocks = llm_blocks(mem, t->messages[i]);

        some = text_join(blocks, &text) || some;
        calls_write(q, blocks, &calls);
        thoughts_join(q, blocks, &thoughts);
    }
    buf_text(b, ",{\"role\":\"assistant\",\"content\":");
    if (some)
        text_write(b, &text);
    else
        buf_text(b, "null");
    if (thoughts.size > 0) {
        buf_text(b, ",\"reasoning_content\":");
        text_write(b, &thoughts);
    }
    if (calls.size > 0) {
        buf_text(b, ",\"tool_calls\":[");
        buf_put(b, calls.data, calls.size);
        buf_char(b, ']');
    }
    buf_char(b, '}');
    b->failed = b->failed || calls.failed || thoughts.failed;
    buf_free(&text);
    buf_free(&calls);
    buf_free(&thoughts);
}

/* A result of a tool is text; its images follow in a message of the user. */
static void tool_write(arena *mem, const pawl_value *m, buf *b)
{
    buf text;

    buf_init(&text, &b->alloc);
    text_join(llm_blocks(mem, m), &text);
    llm_put_value(b, ",{\"role\":\"tool\",\"tool_call_id\":", pawl_value_get(m, "tool_call_id"));
    buf_text(b, ",\"content\":");
    text_write(b, &text);
    buf_char(b, '}');
    buf_free(&text);
}

/* A list of parts if there is an image, else one text. */
static void user_write(arena *mem, const llm_turn *t, buf *b)
{
    bool images = false, users = false, first = true;
    buf text;

    buf_init(&text, &b->alloc);
    for (size_t i = 0; i < t->n; i++) {
        const pawl_value *m = t->messages[i];
        const bool tool = *llm_text(m, "role") == 't';

        if (tool)
            tool_write(mem, m, b);
        else
            text_join(llm_blocks(mem, m), &text);
        images = images || has_image(pawl_value_get(m, "content"));
        users = users || !tool;
    }
    if (images) {
        buf_text(b, ",{\"role\":\"user\",\"content\":[");
        for (size_t i = 0; i < t->n; i++) {
            const bool tool = *llm_text(t->messages[i], "role") == 't';

            parts_write(llm_blocks(mem, t->messages[i]), !tool, b, &first);
        }
        buf_text(b, "]}");
    } else if (users) {
        buf_text(b, ",{\"role\":\"user\",\"content\":");
        text_write(b, &text);
        buf_char(b, '}');
    }
    buf_free(&text);
}

/* The system prompt; it names the schema if nothing else of the request does. */
static void system_write(const llm_request *q, buf *b)
{
    buf text;

    buf_init(&text, &b->alloc);
    buf_text(&text, q->system != NULL ? q->system : "");
    if (q->schema != NULL && q->way >= LLM_BY_JSON) {
        buf_text(&text, text.size > 0 ? "\n\n" : "");
        buf_text(&text, "Your answer is one JSON value that matches this JSON Schema, and no other text:\n");
        llm_put_schema(&text, q->schema);
    }
    if (text.size > 0 || text.failed) {
        buf_text(b, ",{\"role\":\"system\",\"content\":");
        text_write(b, &text);
        buf_char(b, '}');
    }
    buf_free(&text);
}

static void messages_write(arena *mem, const llm_request *q, buf *b)
{
    llm_turn *turns;
    const size_t begin = b->size + strlen(",\"messages\":[");
    size_t n;

    buf_text(b, ",\"messages\":[");
    system_write(q, b);
    if (!llm_turns(mem, q, sends, &turns, &n)) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (turns[i].assistant)
            assistant_write(mem, q, &turns[i], b);
        else
            user_write(mem, &turns[i], b);
    }
    if (!b->failed && b->size > begin) {        /* omits the first comma */
        memmove(b->data + begin, b->data + begin + 1, b->size - begin - 1);
        b->size--;
    }
    buf_char(b, ']');
}

/* A choice among the tools that leaves the answer open has the answer among them; without other tools it is the answer. */
static const char *choice_of(const llm_request *q, bool output)
{
    const char *choice = q->tool_choice;

    if (!output)
        return choice;
    if (q->tools == NULL || (choice != NULL && strcmp(choice, "none") == 0))
        return LLM_OUTPUT;
    return choice == NULL || strcmp(choice, "auto") == 0 ? "any" : choice;
}

static void tools_write(const llm_request *q, bool output, buf *b)
{
    const char *choice = choice_of(q, output), *comma = "";
    const pawl_value *tool;
    pawl_iter it = pawl_iter_of(q->tools);

    buf_text(b, ",\"tools\":[");
    while ((tool = pawl_iter_next(&it, NULL)) != NULL) {
        buf_text(b, comma);
        llm_put_value(b, "{\"type\":\"function\",\"function\":{\"name\":", pawl_value_get(tool, "name"));
        if (*llm_text(tool, "description") != '\0')
            llm_put_value(b, ",\"description\":", pawl_value_get(tool, "description"));
        llm_put_value(b, ",\"parameters\":", pawl_value_get(tool, "input_schema"));
        buf_text(b, "}}");
        comma = ",";
    }
    if (output) {
        buf_text(b, comma);
        buf_text(b, "{\"type\":\"function\",\"function\":{\"name\":\"" LLM_OUTPUT "\",\"description\":\"" LLM_OUTPUT_TOLD "\",\"parameters\":");
        llm_put_schema(b, q->schema);
        buf_text(b, "}}");
    }
    buf_char(b, ']');
    if (choice == NULL)
        return;
    if (strcmp(choice, "any") == 0) {
        buf_text(b, ",\"tool_choice\":\"required\"");
    } else if (strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0) {
        llm_put_text(b, ",\"tool_choice\":", choice);
    } else {
        llm_put_text(b, ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":", choice);
        buf_text(b, "}}");
    }
}

static void body(arena *mem, const llm_request *q, buf *out)
{
    const bool output = q->schema != NULL && q->way == LLM_BY_TOOL;

    llm_put_text(out, "{\"model\":", q->model);
    if (q->max_tokens > 0) {            /* the newer name is known only to OpenAI's own models, some of which require it */
        buf_text(out, strcmp(q->provider, "openai") == 0 ? ",\"max_completion_tokens\":" : ",\"max_tokens\":");
        buf_int(out, q->max_tokens);
    }
    if (q->tools != NULL || output)
        tools_write(q, output, out);
    messages_write(mem, q, out);
    if (q->schema != NULL && q->way == LLM_BY_JSON)
        buf_text(out, ",\"response_format\":{\"type\":\"json_object\"}");
    if (q->schema != NULL && q->way == LLM_BY_FORMAT) {
        llm_put_value(out, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"" LLM_OUTPUT "\",\"schema\":", q->schema);
        buf_text(out, "}}");
    }
    if (q->temperature != NULL)
        llm_put_value(out, ",\"temperature\":", q->temperature);
    if (q->stop != NULL)
        llm_put_value(out, ",\"stop\":", q->stop);
    buf_text(out, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    out->failed = out->failed || mem->failed;
}

/* ---- the stream ------------------------------------------------------------------------------------------------ */

static llm_part *only(llm_answer *a, llm_kind kind)
{
    for (size_t i = 0; i < a->nparts; i++)
        if (a->parts[i].kind == kind)
            return &a->parts[i];
    return llm_part_new(a, kind, -1);
}

/* A string, or a list of blocks with texts. */
static void content_parts(llm_answer *a, llm_kind kind, const pawl_value *content)
{
    const pawl_value *block, *text;
    pawl_iter it = pawl_iter_of(content);
    llm_part *p;

    if (pawl_value_type(content) == PAWL_TYPE_STRING && pawl_value_size(content) > 0 && (p = only(a, kind)) != NULL)
        llm_part_text(a, p, pawl_value_string(content), pawl_value_size(content));
    while (pawl_value_type(content) == PAWL_TYPE_ARRAY && (block = pawl_iter_next(&it, NULL)) != NULL)
        if ((text = pawl_value_get(block, "text")) != NULL && pawl_value_type(text) == PAWL_TYPE_STRING && (p = only(a, kind)) != NULL)
            llm_part_text(a, p, pawl_value_string(text), pawl_value_size(text));
}

static size_t tools_of(const llm_answer *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->nparts; i++)
        n += a->parts[i].kind == LLM_TOOL ? 1 : 0;
    return n;
}

/* Whether the arguments of a call are complete JSON. */
static bool is_whole(const llm_answer *a, const llm_part *p)
{
    return p->text.size > 0 && p->text.data[p->text.size - 1] == '}' &&
           pawl_value_type(value_parse(a->mem, p->text.data, p->text.size, "a call", NULL)) == PAWL_TYPE_OBJECT;
}

/* Finds the call that a delta continues: by index; without indices, or if all are the same, by id; without ids by name and completeness. An id without a
 * name starts no new call, because some servers send another id with each piece. NULL: a new call. */
static llm_part *call_of(const llm_answer *a, const pawl_value *call, const char *id, const char *name)
{
    const pawl_value *index = pawl_value_get(call, "index");
    const bool indexed = pawl_value_type(index) == PAWL_TYPE_INT;
    llm_part *last = NULL;

    for (size_t i = a->nparts; i > 0; i--) {
        llm_part *p = &a->parts[i - 1];

        if (p->kind != LLM_TOOL || (indexed && p->index != pawl_value_int(index)))
            continue;
        if (*id != '\0' && strcmp(id, p->id) == 0)
            return p;
        last = last != NULL ? last : p;
    }
    if (*name == '\0' || last == NULL)
        return last;
    return *id != '\0' || !indexed || strcmp(name, last->name) != 0 || is_whole(a, last) ? NULL : last;
}

/* Some servers give several calls one id: their results could not be distinguished. */
static bool id_taken(const llm_answer *a, const llm_part *but, const char *id)
{
    for (size_t i = 0; i < a->nparts; i++)
        if (&a->parts[i] != but && a->parts[i].kind == LLM_TOOL && strcmp(a->parts[i].id, id) == 0)
            return true;
    return false;
}

static void call_begin(llm_answer *a, llm_part *p, const char *id, const char *name)
{
    char made[64];
    buf b;

    buf_init(&b, &a->mem->alloc);
    if (*id == '\0' || id_taken(a, p, id)) {    /* an id is needed to return the result */
        buf_fmt(&b, "call_%llu_%llu", (unsigned long long)a->q->turn, (unsigned long long)tools_of(a));
        if (!b.failed && b.size < sizeof made) {
            memcpy(made, b.data, b.size);
            made[b.size] = '\0';
            id = made;
        }
        if (b.failed)
            llm_nomem(a);
    }
    buf_free(&b);
    p->id = llm_keep(a, id);
    p->name = llm_keep(a, name);
    if (a->rc == PAWL_OK)
        llm_emit_tool(a->job, (size_t)(p - a->parts), p->id, p->name, "", 0);
}

/* Data that the call must be sent back with. */
static void extra_read(llm_answer *a, llm_part *p, const pawl_value *extra)
{
    if (pawl_value_type(extra) != PAWL_TYPE_OBJECT || value_deeper(extra, EXTRA_DEPTH_MAX))
        return;
    if ((p->extra = value_copy(a->mem, extra)) == NULL)
        llm_nomem(a);
    p->wanted = true;
}

static void call_read(llm_answer *a, const pawl_value *call)
{
    const pawl_value *function = pawl_value_get(call, "function"), *input = pawl_value_get(function, "arguments");
    const pawl_value *index = pawl_value_get(call, "index");
    const char *id = llm_text(call, "id"), *name = llm_text(function, "name");
    llm_part *p = call_of(a, call, id, name);
    buf b;

    if (p == NULL) {
        if (*name == '\0') {
            llm_invalid(a, "a tool is called without a name");
            return;
        }
        if ((p = llm_part_new(a, LLM_TOOL, pawl_value_type(index) == PAWL_TYPE_INT ? pawl_value_int(index) : -1)) == NULL)
            return;
        call_begin(a, p, id, name);
    }
    extra_read(a, p, pawl_value_get(call, "extra_content"));
    if (a->rc != PAWL_OK || input == NULL || pawl_value_type(input) == PAWL_TYPE_NULL)
        return;
    if (pawl_value_type(input) == PAWL_TYPE_STRING) {
        if (p->text.size > 0 || strcmp(pawl_value_string(input), "null") != 0)      /* some servers send null for "no arguments" */
            llm_part_text(a, p, pawl_value_string(input), pawl_value_size(input));
        return;
    }
    buf_init(&b, &a->mem->alloc);       /* all of it, as one value */
    canon(&b, input);
    if (b.failed)
        llm_nomem(a);
    else
        llm_part_text(a, p, b.data, b.size);
    buf_free(&b);
}

static void delta_read(llm_answer *a, const pawl_value *delta)
{
    const pawl_value *call, *thought = pawl_value_get(delta, "reasoning_content"), *refusal = pawl_value_get(delta, "refusal");
    const pawl_value *calls = pawl_value_get(delta, "tool_calls"), *function = pawl_value_get(delta, "function_call");
    pawl_iter it = pawl_iter_of(calls);
    llm_part *p;

    if (pawl_value_type(thought) == PAWL_TYPE_STRING && pawl_value_size(thought) > 0 && (p = only(a, LLM_THINKING)) != NULL)
        p->wanted = true;       /* a server that uses this name may refuse a conversation without it */
    content_parts(a, LLM_THINKING, pawl_value_type(thought) == PAWL_TYPE_STRING && pawl_value_size(thought) > 0 ? thought : pawl_value_get(delta, "reasoning"));
    content_parts(a, LLM_TEXT, pawl_value_get(delta, "content"));
    if (pawl_value_type(refusal) == PAWL_TYPE_STRING && pawl_value_size(refusal) > 0) {
        content_parts(a, LLM_TEXT, refusal);
        a->refused = true;
    }
    while (pawl_value_type(calls) == PAWL_TYPE_ARRAY && (call = pawl_iter_next(&it, NULL)) != NULL)
        call_read(a, call);
    if (pawl_value_type(function) == PAWL_TYPE_OBJECT && (*llm_text(function, "name") != '\0' || tools_of(a) > 0))
        call_read(a, value_pack(a->mem, NULL, "{s:i,s:v}", "index", (int64_t)0, "function", function));
}

/* An unknown reason counts as a normal end, unless it says that the server has cut the answer off. */
static void finish_read(llm_answer *a, const char *why)
{
    static const struct { const char *name; llm_stop stop; } stops[] = {
        { "stop", LLM_END_TURN }, { "length", LLM_MAX_TOKENS }, { "max_tokens", LLM_MAX_TOKENS }, { "model_length", LLM_MAX_TOKENS },
        { "tool_calls", LLM_TOOL_USE }, { "tool_use", LLM_TOOL_USE }, { "function_call", LLM_TOOL_USE }, { "content_filter", LLM_REFUSAL },
        { "refusal", LLM_REFUSAL }, { "safety", LLM_REFUSAL }, { "sensitive", LLM_REFUSAL }, { "model_context_window_exceeded", LLM_CONTEXT_EXCEEDED },
    };
    static const char *const cuts[] = { "error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource", "malformed_function_call" };

    a->stopped = true;
    a->stop = LLM_END_TURN;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (strcasecmp(why, stops[i].name) == 0)
            a->stop = stops[i].stop;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        if (strcasecmp(why, cuts[i]) == 0)
            a->broken = cuts[i];
    if (a->stop == LLM_TOOL_USE && tools_of(a) == 0)
        a->stop = LLM_END_TURN;
}

/* Counts are cumulative; if each chunk has one, the last is right. Some servers put it in another place. */
static void usage_read(llm_answer *a, const pawl_value *usage)
{
    int64_t all = 0, cached = 0;

    if (pawl_value_type(usage) != PAWL_TYPE_OBJECT)
        return;
    a->counted = 0;
    llm_count_member(a, usage, "/prompt_tokens", USAGE_IN, &all);
    llm_count_member(a, usage, "/completion_tokens", USAGE_OUT, &a->usage.output);
    llm_count_member(a, usage, "/prompt_tokens_details/cached_tokens", 4, &cached);
    a->usage.cache_read = cached < all ? cached : all;
    a->usage.input = all - a->usage.cache_read;
}

static pawl_code chunk_read(llm_answer *a, const pawl_value *chunk)
{
    const pawl_value *choice, *choices = pawl_value_get(chunk, "choices");
    pawl_iter it = pawl_iter_of(choices);

    a->begun = true;
    if (a->model == NULL && *llm_text(chunk, "model") != '\0')
        a->model = llm_keep(a, llm_text(chunk, "model"));
    usage_read(a, pawl_value_find(chunk, "/x_groq/usage"));
    usage_read(a, pawl_value_get(chunk, "usage"));
    while (pawl_value_type(choices) == PAWL_TYPE_ARRAY && (choice = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *delta = pawl_value_get(choice, "delta"), *why = pawl_value_get(choice, "finish_reason");

        if (pawl_value_int(pawl_value_get(choice, "index")) != 0)
            continue;
        usage_read(a, pawl_value_get(choice, "usage"));
        delta_read(a, pawl_value_type(delta) == PAWL_TYPE_OBJECT ? delta : pawl_value_get(choice, "message"));
        if (pawl_value_type(why) == PAWL_TYPE_STRING && pawl_value_size(why) > 0)
            finish_read(a, pawl_value_string(why));
    }
    return a->rc;
}

static pawl_code event(llm_answer *a, const sse_event *ev, arena *scratch)
{
    llm_error e = { .type = "", .code = "", .text = "" };
    const pawl_value *v;

    if (a->rc != PAWL_OK || a->whole)
        return a->rc;
    if (ev->data.size == 0)
        return PAWL_OK;
    if (strncmp(ev->data.data, "[DONE]", 6) == 0 && strspn(ev->data.data + 6, " \t") == ev->data.size - 6) {
        if (!a->stopped)
            return llm_invalid(a, "[DONE], and no finish_reason");
        a->whole = true;
        return PAWL_OK;
    }
    if ((v = value_parse(scratch, ev->data.data, ev->data.size, "a chunk", NULL)) == NULL)
        return scratch->failed ? llm_nomem(a) : llm_invalid(a, "a chunk that is no JSON, or cut off");
    if (llm_error_is(v) || strcmp(ev->name, "error") == 0) {
        llm_error_read(v, &e);
        a->rc = llm_error_fail(&e, a->key, &a->err);
        return a->rc;
    }
    return chunk_read(a, v);
}

/* Some servers send no [DONE]. */
static pawl_code end(llm_answer *a)
{
    if (a->rc != PAWL_OK)
        return a->rc;
    if (!a->stopped)
        return llm_invalid(a, "it ended before a finish_reason");
    if (a->broken != NULL)              /* reported after its usage was counted */
        return a->rc = fail(&a->err, PAWL_TRANSIENT, "API error: it was cut off: finish_reason %s", a->broken);
    a->whole = true;
    if (a->refused)
        a->stop = LLM_REFUSAL;
    return PAWL_OK;
}

const llm_api llm_openai = { .path = "/chat/completions", .request_id = "x-request-id", .body = body, .event = event, .end = end };
