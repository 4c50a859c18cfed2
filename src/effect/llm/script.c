/* script.c - a model that answers by a list: the first entry that fits the conversation or the prompt.
 *
 * Called by handlers on any thread. A script is immutable. */
#include "effect/llm/llm.h"
#include "net/net.h"

#include <poll.h>
#include <stdio.h>

enum { ENTRIES_MAX = 10000, DELTAS_MAX = 10000, CALL_ID_BYTES = 64 };
#define DELAY_MS_MAX INT64_C(86400000)
#define STATUS_MAX INT64_C(599)

typedef struct entry {
    const char *match, *node, *after_tool;      /* NULL: any */
    int64_t turn, times;                        /* 0: any */
    const pawl_value *reply, *tools, *usage;    /* NULL: none */
    const char *thinking, *error;
    pawl_code error_code;
    int64_t deltas, delay_ms, retry_after_ms, error_status;
    bool stops;
    llm_stop stop;
} entry;

struct pawl_llm_script {
    arena mem;
    entry *entries;
    size_t n;
    pawl_llm_price_fn *price;
    void *price_ctx;
};

/* ---- reading --------------------------------------------------------------------------------------------- */

static const char *const keys[] = { "match", "node", "after_tool", "turn", "reply", "tools", "thinking", "deltas", "delay_ms", "stop", "error",
                                    "error_code", "error_status", "retry_after_ms", "times", "usage" };

static bool keys_known(const pawl_value *v, const char *what, size_t at, pawl_err *err)
{
    const pawl_value *key;
    pawl_iter it = pawl_iter_of(v);
    char hint[96];

    while (pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key);
        size_t i = 0;

        while (i < sizeof keys / sizeof *keys && strcmp(keys[i], name) != 0)
            i++;
        if (i == sizeof keys / sizeof *keys) {
            fail(err, PAWL_INVALID, "%s: answer %zu has no key \"%s\"%s", what, at, name,
                 did_you_mean(hint, sizeof hint, name, keys, sizeof keys / sizeof *keys));
            return false;
        }
    }
    return true;
}

static bool text_key(const pawl_value *v, const char *key, const char **out)
{
    const pawl_value *text = pawl_value_get(v, key);

    *out = pawl_value_string(text);
    return text == NULL || text_whole(text);
}

static bool count_key(const pawl_value *v, const char *key, int64_t most, int64_t *out)
{
    const pawl_value *n = pawl_value_get(v, key);

    *out = pawl_value_int(n);
    return n == NULL || (pawl_value_type(n) == PAWL_TYPE_INT && *out >= 0 && *out <= most);
}

/* "input" is an object, or the text that a model gives instead of one. */
static bool tools_well(const pawl_value *tools)
{
    const pawl_value *tool;
    pawl_iter it = pawl_iter_of(tools);

    if (tools != NULL && pawl_value_type(tools) != PAWL_TYPE_ARRAY)
        return false;
    while ((tool = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_type input = pawl_value_type(pawl_value_get(tool, "input"));

        if (*llm_text(tool, "name") == '\0' || (input != PAWL_TYPE_NONE && input != PAWL_TYPE_OBJECT && input != PAWL_TYPE_STRING) ||
            (pawl_value_get(tool, "id") != NULL && *llm_text(tool, "id") == '\0'))
            return false;
    }
    return true;
}

static pawl_code error_code(const pawl_value *v)
{
    const pawl_value *word = pawl_value_get(v, "error_code");
    const pawl_code code = pawl_code_named(pawl_value_string(word));

    if (word == NULL)
        return PAWL_TRANSIENT;
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_DENIED || code == PAWL_LIMIT ? code
           : strcmp(llm_text(v, "error_code"), "invalid") == 0                   ? PAWL_INVALID : PAWL_OK;
}

static bool usage_well(const pawl_value *usage)
{
    static const char *const names[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens" };
    const pawl_value *key, *n;
    pawl_iter it = pawl_iter_of(usage);

    if (usage != NULL && pawl_value_type(usage) != PAWL_TYPE_OBJECT)
        return false;
    while ((n = pawl_iter_next(&it, &key)) != NULL) {
        size_t i = 0;

        while (i < 4 && strcmp(names[i], pawl_value_string(key)) != 0)
            i++;
        if (i == 4 || pawl_value_type(n) != PAWL_TYPE_INT || pawl_value_int(n) < 0 || pawl_value_uint(n) > UINT64_C(1) << 53)
            return false;
    }
    return true;
}

/* The error, or NULL. */
static const char *entry_read(const pawl_value *v, entry *e)
{
    const char *stop = NULL;

    *e = (entry){ .reply = pawl_value_get(v, "reply"), .tools = pawl_value_get(v, "tools"), .usage = pawl_value_get(v, "usage"), .error_code = error_code(v) };
    if (!text_key(v, "match", &e->match) || !text_key(v, "node", &e->node) || !text_key(v, "after_tool", &e->after_tool) ||
        !text_key(v, "thinking", &e->thinking) || !text_key(v, "error", &e->error) || !text_key(v, "stop", &stop))
        return "`match`, `node`, `after_tool`, `thinking`, `error` and `stop` are texts";
    if (!count_key(v, "turn", INT64_MAX, &e->turn) || !count_key(v, "times", UINT32_MAX, &e->times) || !count_key(v, "deltas", DELTAS_MAX, &e->deltas) ||
        !count_key(v, "delay_ms", DELAY_MS_MAX, &e->delay_ms) || !count_key(v, "retry_after_ms", DELAY_MS_MAX, &e->retry_after_ms) ||
        !count_key(v, "error_status", STATUS_MAX, &e->error_status))
        return "`turn`, `times`, `deltas`, `delay_ms`, `retry_after_ms` and `error_status` are whole numbers, and not too large";
    if (e->reply == NULL && e->tools == NULL && e->error == NULL)
        return "it has `reply`, `tools` or `error`";
    if (!tools_well(e->tools))
        return "`tools` is a list of {name, input?, id?}";
    if (e->error_code == PAWL_OK)
        return "`error_code` is transient, timeout, denied, limit or invalid";
    if (!usage_well(e->usage))
        return "`usage` is {input_tokens?, output_tokens?, cache_read_tokens?, cache_write_tokens?}";
    e->stops = stop != NULL;
    if (stop != NULL && !llm_stop_named(stop, &e->stop))
        return "`stop` is end_turn, tool_use, max_tokens, stop_sequence, refusal, pause_turn or context_exceeded";
    return NULL;
}

static pawl_code list_read(pawl_llm_script *s, const pawl_value *list, const char *what, pawl_err *err)
{
    const pawl_value *copy, *v;
    const char *wrong;
    pawl_iter it;

    if (pawl_value_type(list) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_INVALID, "%s: a script is a list of answers: [{match: TEXT, reply: TEXT}]", what);
    if (pawl_value_size(list) > ENTRIES_MAX)
        return fail(err, PAWL_LIMIT, "%s: a script of more than %d answers", what, ENTRIES_MAX);
    copy = value_copy(&s->mem, list);
    s->entries = arena_zero(&s->mem, (pawl_value_size(list) + 1) * sizeof *s->entries);
    if (copy == NULL || s->entries == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for it", what);
    it = pawl_iter_of(copy);
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
            return fail(err, PAWL_INVALID, "%s: answer %zu is no map: {match: TEXT, reply: TEXT}", what, s->n + 1);
        if (!keys_known(v, what, s->n + 1, err))
            return PAWL_INVALID;
        if ((wrong = entry_read(v, &s->entries[s->n])) != NULL)
            return fail(err, PAWL_INVALID, "%s: answer %zu: %s", what, s->n + 1, wrong);
        s->n++;
    }
    return PAWL_OK;
}

pawl_llm_script *pawl_llm_script_new(const pawl_value *list, const char *what, pawl_llm_price_fn *price, void *price_ctx, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    pawl_llm_script *s = mem_new(&alloc, sizeof *s);

    if (s == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for it", what);
        return NULL;
    }
    arena_init(&s->mem, &alloc, 4096);
    s->price = price;
    s->price_ctx = price_ctx;
    if (list_read(s, list, what, err) == PAWL_OK)
        return s;
    pawl_llm_script_free(s);
    return NULL;
}

void pawl_llm_script_free(pawl_llm_script *s)
{
    const pawl_alloc alloc = mem_or_default(NULL);

    if (s == NULL)
        return;
    arena_free(&s->mem);
    mem_free(&alloc, s, sizeof *s);
}

/* ---- which one fits ---------------------------------------------------------------------------------------------- */

/* Whether one of the tool results at the end is of that tool. */
static bool after(const pawl_value *messages, const char *tool)
{
    const pawl_value *m;
    pawl_iter it = pawl_iter_of(messages);
    bool found = false;

    while ((m = pawl_iter_next(&it, NULL)) != NULL)
        found = *llm_text(m, "role") == 't' && (found || strcmp(llm_text(m, "name"), tool) == 0);
    return found;
}

static const entry *entry_for(const pawl_llm_script *s, const pawl_job *job, const llm_request *q, const char *text)
{
    const char *node = llm_text(job->args, "node");
    const uint64_t tries = job->attempt + pawl_value_uint(pawl_value_get(job->args, "retry"));

    for (const entry *e = s->entries; e < s->entries + s->n; e++)
        if ((e->match == NULL || strstr(text, e->match) != NULL) && (e->node == NULL || strcmp(e->node, node) == 0) &&
            (e->after_tool == NULL || after(q->messages, e->after_tool)) && (e->turn == 0 || (uint64_t)e->turn == q->turn) &&
            (e->times == 0 || tries <= (uint64_t)e->times))
            return e;
    return NULL;
}

/* ---- the answer ----------------------------------------------------------------------------------------------------- */

static pawl_code nap(const pawl_job *job, pawl_reply *r, int64_t ms)
{
    const char *limit;
    const int64_t until = job_until(job, 0, &limit), end = clock_ms() + ms;
    struct pollfd stop = { .fd = job->cancel_fd > 0 ? job->cancel_fd : -1, .events = POLLIN };

    for (;;) {
        const int64_t now = clock_ms();
        int64_t left = (end < until ? end : until) - now;

        if (stop.revents != 0 || job_canceled(job))
            return pawl_reply_fail(r, PAWL_CANCELED, "%s: canceled", job->effect);
        if (now >= end)
            return PAWL_OK;
        if (now >= until)
            return pawl_reply_fail(r, PAWL_TIMEOUT, "Request timed out: script: no whole answer");
        if (stop.fd < 0 && left > CANCEL_POLL_MS)
            left = CANCEL_POLL_MS;
        if (job->heartbeat != NULL)
            job->heartbeat(job);
        poll(&stop, 1, left < HEARTBEAT_MS ? (int)left : HEARTBEAT_MS);
    }
}

static bool reply_text(const entry *e, buf *out)
{
    if (pawl_value_type(e->reply) == PAWL_TYPE_STRING)
        buf_put(out, pawl_value_string(e->reply), pawl_value_size(e->reply));
    else if (e->reply != NULL)
        canon(out, e->reply);
    return !out->failed;
}

/* In as many parts as the entry says, each after its delay. */
static pawl_code text_part(llm_answer *a, pawl_reply *r, const entry *e, const buf *text)
{
    const size_t n = e->deltas > 0 ? (size_t)e->deltas : 1;
    llm_part *p = llm_part_new(a, LLM_TEXT, -1);
    size_t from = 0;
    pawl_code rc;

    if (p == NULL)
        return a->rc;
    for (size_t i = 1; i <= n; i++) {
        const size_t to = i == n ? text->size : cut_end(text->data, text->size * i / n);

        if (e->delay_ms > 0 && (rc = nap(a->job, r, e->delay_ms)) != PAWL_OK)
            return rc;
        if (to > from)
            llm_part_text(a, p, text->data + from, to - from);
        from = to > from ? to : from;
    }
    return a->rc;
}

static void tool_part(llm_answer *a, const pawl_value *tool, size_t k)
{
    const pawl_value *input = pawl_value_get(tool, "input");
    char id[CALL_ID_BYTES];
    llm_part *p = llm_part_new(a, LLM_TOOL, -1);

    if (p == NULL)
        return;
    snprintf(id, sizeof id, "call_%zu_%zu", a->q->turn, k);
    p->id = *llm_text(tool, "id") != '\0' ? llm_text(tool, "id") : llm_keep(a, id);
    p->name = llm_text(tool, "name");
    if (pawl_value_type(input) == PAWL_TYPE_STRING)
        buf_put(&p->text, pawl_value_string(input), pawl_value_size(input));
    else if (input != NULL)
        canon(&p->text, input);
    if (p->text.failed)
        llm_nomem(a);
    if (a->rc == PAWL_OK)
        llm_emit_tool(a->job, a->nparts - 1, p->id, p->name, p->text.size > 0 ? p->text.data : "{}", p->text.size > 0 ? p->text.size : 2);
}

static void bill(const pawl_llm_script *s, const pawl_job *job, const entry *e, llm_answer *a, pawl_reply *r)
{
    pawl_llm_usage *u = &a->usage;

    if (e->usage == NULL)
        return;                 /* without usage a budget counts the reservation */
    (void)llm_count(e->usage, "/input_tokens", &u->input);     /* usage_well() checked all of them */
    (void)llm_count(e->usage, "/output_tokens", &u->output);
    (void)llm_count(e->usage, "/cache_read_tokens", &u->cache_read);
    (void)llm_count(e->usage, "/cache_write_tokens", &u->cache_write);
    llm_cost(r, u, s->price != NULL ? s->price(s->price_ctx, llm_text(job->args, "model"), u) : 0);
}

static pawl_code prompt_reply(pawl_reply *r, const buf *text)
{
    buf_text(&r->text, "{\"text\":");
    canon_string(&r->text, text->size > 0 ? text->data : "", text->size);
    buf_char(&r->text, '}');
    return r->text.failed ? pawl_reply_fail(r, PAWL_NOMEM, "no memory for the answer") : PAWL_OK;
}

static pawl_code answer(const pawl_llm_script *s, const pawl_job *job, pawl_reply *r, const entry *e, llm_answer *a, const buf *text, bool prompt)
{
    const pawl_value *tool;
    pawl_iter it = pawl_iter_of(e->tools);
    llm_part *p;
    pawl_code rc;

    if (e->thinking != NULL && (p = llm_part_new(a, LLM_THINKING, -1)) != NULL)
        llm_part_text(a, p, e->thinking, strlen(e->thinking));
    if ((rc = text_part(a, r, e, text)) != PAWL_OK && a->rc == PAWL_OK)
        return rc;              /* stopped meanwhile */
    bill(s, job, e, a, r);
    if (e->error != NULL) {
        pawl_reply_retry_after(r, e->retry_after_ms);
        reply_status(r, (long)e->error_status);
        return prompt ? pawl_reply_fail(r, e->error_code, "the script says: %.160s", e->error) : pawl_reply_fail(r, e->error_code, "%s", e->error);
    }
    if (prompt)
        return prompt_reply(r, text);
    for (size_t k = 1; (tool = pawl_iter_next(&it, NULL)) != NULL; k++)
        tool_part(a, tool, k);
    a->stop = e->stops ? e->stop : pawl_value_size(e->tools) > 0 ? LLM_TOOL_USE : LLM_END_TURN;
    return llm_reply(a, r) == PAWL_OK ? PAWL_OK : pawl_reply_fail(r, a->rc, "%s", a->err.text);
}

static pawl_code play(const pawl_llm_script *s, const pawl_job *job, pawl_reply *r, arena *mem, const llm_request *q, const char *last, bool prompt)
{
    const entry *e = entry_for(s, job, q, last);
    pawl_job quiet = *job;
    llm_answer a;
    pawl_code rc;
    buf text;

    if (e == NULL) {
        pawl_reply_untouched(r);
        return prompt ? pawl_reply_fail(r, PAWL_EFFECT, "%s: no answer fits the prompt of \"%s\", which begins \"%.60s\"", q->model,
                                        llm_text(job->args, "node"), last)
                      : pawl_reply_fail(r, PAWL_EFFECT, "%s: no answer fits turn %zu, whose last words of a user begin \"%.60s\"", q->model, q->turn, last);
    }
    if (prompt && e->deltas == 0)
        quiet.say = NULL;
    llm_answer_init(&a, mem, &quiet, q);
    a.model = q->model;
    buf_init(&text, &mem->alloc);
    llm_emit_begin(&quiet);
    rc = reply_text(e, &text) ? answer(s, job, r, e, &a, &text, prompt) : pawl_reply_fail(r, PAWL_NOMEM, "no memory for the answer");
    buf_free(&text);
    llm_answer_free(&a);
    return rc;
}

pawl_code pawl_effect_script(const pawl_job *job, pawl_reply *r, void *arg)
{
    const pawl_llm_script *s = arg;
    const pawl_value *prompt = pawl_value_get(job->args, "prompt");
    llm_request q = { .model = llm_text(job->args, "model"), .turn = 1 };
    const char *last = pawl_value_string(prompt);
    pawl_job flat = *job;
    pawl_code rc = PAWL_OK;
    arena mem;

    arena_init(&mem, &r->alloc, 4096);
    if ((flat.args = llm_args_flat(&mem, job->args)) == NULL)
        rc = pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory", job->effect);
    else if (prompt != NULL && last == NULL)
        rc = pawl_reply_fail(r, PAWL_INVALID, "%s: \"prompt\" is no string", job->effect);
    else if (prompt == NULL && (rc = llm_request_read(&flat, r, &mem, &q)) == PAWL_OK && (last = llm_last_text(&mem, q.messages)) == NULL)
        rc = pawl_reply_fail(r, PAWL_NOMEM, "%s: no memory", job->effect);
    if (rc != PAWL_OK)
        pawl_reply_untouched(r);
    else
        rc = play(s, &flat, r, &mem, &q, last, prompt != NULL);
    arena_free(&mem);
    return rc;
}
