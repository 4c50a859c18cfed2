/* execute.c - one visit of a node of an agent file after it was permitted: its command, and what it keeps of the result.
 *
 * Called by the graph, in a step. Pure: everything from outside is in receipts. Invariant: all results are computed before any of them is written. */
#include "file/run/permission.h"
#include "kernel/step.h"
#include "kernel/visit.h"

enum { MAX_TOKENS = 4096 };     /* of an answer, if the node has no max_tokens */

/* ---- what it keeps: all of it is made before any of it is written ---------------------------------------- */

typedef struct keeping { const pawl_value *text, *lines, *json, *status, *artifact; } keeping;

static bool adds(const file_node *n, const char *to)
{
    const file_channel *c = file_channel_find(n->file, to);

    return c != NULL && (c->c.rule == PAWL_RULE_APPEND || c->c.rule == PAWL_RULE_UNION || c->c.rule == PAWL_RULE_TOPIC);
}

static const pawl_value *lines_of(pawl_step *s, const char *text, size_t size)
{
    buf *b = step_text(s);
    bool first = true;

    buf_char(b, '[');
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t length = end != NULL ? (size_t)(end - text) : size;

        if (!first)
            buf_char(b, ',');
        first = false;
        canon_string(b, text, length);
        size -= end != NULL ? length + 1 : length;
        text += end != NULL ? length + 1 : length;
    }
    buf_char(b, ']');
    buf_char(b, '\0');
    return b->failed ? NULL : pawl_json(s, b->data);
}

/* `whole`: the complete output. */
static pawl_code keep_text(scope *sc, const pawl_value *whole, bool strip, keeping *k)
{
    const file_node *n = sc->n;
    const char *text = pawl_value_string(whole);
    const size_t size = pawl_value_size(whole);
    pawl_err err = {0};

    k->artifact = whole;
    if (strip && size > 0 && text[size - 1] == '\n' && (n->text.name != NULL || n->artifact != NULL))
        k->artifact = value_string(&sc->s->mem, text, size - 1);
    k->text = k->artifact;
    if (n->lines.name != NULL && (k->lines = lines_of(sc->s, text, size)) == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    if (n->json.name == NULL)
        return k->text != NULL ? PAWL_OK : scope_fail(sc, PAWL_NOMEM, NULL);
    if ((k->json = value_parse(&sc->s->mem, text, size, "its output is no JSON", &err)) == NULL)
        return scope_fail(sc, err.code, pawl_format(sc->s, "%s", err.text));
    k->artifact = k->json;
    return PAWL_OK;
}

static bool keeps_any(const file_node *n)
{
    return n->text.name != NULL || n->lines.name != NULL || n->json.name != NULL || n->artifact != NULL;
}

static pawl_code keep_output(scope *sc, const pawl_value *receipt, keeping *k)
{
    const pawl_value *out = pawl_value_get(receipt, "stdout");

    k->status = pawl_value_get(receipt, "status");
    if (!keeps_any(sc->n))
        return PAWL_OK;
    if (pawl_value_type(out) != PAWL_TYPE_STRING)
        return scope_fail(sc, PAWL_INVALID, "its output is no UTF-8, and cannot be kept as a text");
    if (pawl_value_bool(pawl_value_get(receipt, "cut")))
        return scope_fail(sc, PAWL_LIMIT, "it wrote more than is kept (`output_bytes`, 1 MiB where nothing is said)");
    return keep_text(sc, out, true, k);
}

static const pawl_value *as_text(pawl_step *s, const pawl_value *v)
{
    return pawl_value_type(v) == PAWL_TYPE_STRING ? v : pawl_pack(s, "s", pawl_text(s, v));
}

static pawl_code keep_response(scope *sc, const pawl_value *receipt, keeping *k)
{
    const file_node *n = sc->n;
    const pawl_value *body = pawl_value_get(receipt, "body"), *json = pawl_value_get(receipt, "body_json");
    const int64_t status = pawl_value_int(k->status = pawl_value_get(receipt, "status"));

    if (n->status.name == NULL && status >= 400)
        return scope_fail(sc, PAWL_EFFECT, pawl_format(sc->s, "the answer has status %d: say `status: CHANNEL` to look at it, or `on_error: NODE`",
                                                       (int)status));
    if (!keeps_any(n))
        return PAWL_OK;
    if (pawl_value_bool(pawl_value_get(receipt, "cut")))
        return scope_fail(sc, PAWL_LIMIT, "the answer is larger than is kept (`response_bytes`, 8 MiB where nothing is said)");
    if (n->json.name != NULL && json != NULL) {
        k->json = k->artifact = json;
        k->text = n->text.name == NULL ? json : as_text(sc->s, body != NULL ? body : json);
        return k->text != NULL ? PAWL_OK : scope_fail(sc, PAWL_NOMEM, NULL);
    }
    if (body == NULL && json != NULL && (body = as_text(sc->s, json)) == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    if (pawl_value_type(body) != PAWL_TYPE_STRING)
        return scope_fail(sc, PAWL_INVALID, "the answer is no UTF-8, and cannot be kept as a text");
    return keep_text(sc, body, false, k);
}

/* The text of a model's answer: of a script, or the texts of a message. */
static const pawl_value *answer_text(scope *sc, const pawl_value *receipt)
{
    const pawl_value *message = pawl_value_get(receipt, "message"), *block;
    pawl_iter it = pawl_iter_of(pawl_value_get(message, "content"));
    const char *out = "";

    if (message == NULL)
        return pawl_value_get(receipt, "text");
    while (out != NULL && (block = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(pawl_value_get(block, "text")) != NULL)
            out = pawl_format(sc->s, "%s%s%s", out, *out != '\0' ? "\n\n" : "", pawl_value_string(pawl_value_get(block, "text")));
    return pawl_pack(sc->s, "s", out);
}

/* The value for its `schema`. */
static pawl_code keep_typed(scope *sc, const pawl_value *receipt, const pawl_value *text, keeping *k)
{
    pawl_err err = {0};

    k->json = pawl_value_get(receipt, "output");
    if (k->json == NULL && pawl_value_type(text) == PAWL_TYPE_STRING)
        k->json = value_parse(&sc->s->mem, pawl_value_string(text), pawl_value_size(text), "its answer is no JSON", &err);
    if (k->json == NULL)
        return scope_fail(sc, err.code < 0 ? err.code : PAWL_INVALID, err.code < 0 ? pawl_format(sc->s, "%s", err.text) : "its answer has no value");
    if (schema_check(sc->n->schema, k->json, "its answer", &err) != PAWL_OK)
        return scope_fail(sc, PAWL_INVALID, pawl_format(sc->s, "%s", err.text));
    k->artifact = k->json;
    k->text = text != NULL ? text : as_text(sc->s, k->json);
    return k->text != NULL ? PAWL_OK : scope_fail(sc, PAWL_NOMEM, NULL);
}

static pawl_code keep_answer(scope *sc, const pawl_value *receipt, keeping *k)
{
    const char *stop = pawl_value_string(pawl_value_get(receipt, "stop"));
    const pawl_value *text = answer_text(sc, receipt);

    if (stop != NULL && (strcmp(stop, "max_tokens") == 0 || strcmp(stop, "context_exceeded") == 0))
        return scope_fail(sc, PAWL_LIMIT, strcmp(stop, "max_tokens") == 0 ? "its answer is longer than `max_tokens` allows"
                          : "the prompt is too long for the model");
    if (stop != NULL && strcmp(stop, "refusal") == 0)
        return scope_fail(sc, PAWL_EFFECT, "the model refused to answer");
    if (sc->n->schema != NULL)
        return keep_typed(sc, receipt, text, k);
    if (pawl_value_type(text) == PAWL_TYPE_STRING)
        return keep_text(sc, text, false, k);
    k->json = k->artifact = receipt;
    k->text = as_text(sc->s, receipt);
    return k->text != NULL ? PAWL_OK : scope_fail(sc, PAWL_NOMEM, NULL);
}

static pawl_code keep_reply(scope *sc, const pawl_value *receipt, keeping *k)
{
    const pawl_value *text = sc->n->kind == KIND_TOOL ? pawl_value_get(receipt, "content") : receipt;

    if (sc->n->kind == KIND_TOOL && text != NULL)
        receipt = text;
    if (sc->n->kind == KIND_PROMPT)
        return keep_answer(sc, receipt, k);
    if (pawl_value_type(text) == PAWL_TYPE_STRING)
        return keep_text(sc, text, false, k);
    k->json = k->artifact = receipt;
    k->text = as_text(sc->s, receipt);
    return k->text != NULL ? PAWL_OK : scope_fail(sc, PAWL_NOMEM, NULL);
}

static void artifact(pawl_step *s, const file_node *n, const pawl_value *v)
{
    if (n->artifact != NULL)
        pawl_emit(s, "artifact", pawl_pack(s, "{s:s,s:v}", "name", n->artifact, "value", v));
}

static void keep(pawl_step *s, const file_node *n, const keeping *k)
{
    if (n->status.name != NULL)
        pawl_set(s, n->status.name, k->status);
    if (n->text.name != NULL)
        pawl_set(s, n->text.name, k->text);
    if (n->lines.name != NULL && adds(n, n->lines.name))
        pawl_extend(s, n->lines.name, k->lines);
    else if (n->lines.name != NULL)
        pawl_set(s, n->lines.name, k->lines);
    if (n->json.name != NULL)
        pawl_set(s, n->json.name, k->json);
    artifact(s, n, k->artifact);
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

/* It failed finally: continue at its `on_error` node. */
static pawl_code lead_on(pawl_step *s, const file_node *n, const pawl_value *error)
{
    const pawl_value *args = pawl_args(s);

    if (strcmp(n->on_error.name, "end") == 0)
        return pawl_goto(s, PAWL_END);
    args = pawl_value_type(args) == PAWL_TYPE_OBJECT ? value_with(&s->mem, args, "error", error) : pawl_pack(s, "{s:v}", "error", error);
    pawl_send(s, n->on_error.name, args);
    return pawl_goto(s, PAWL_END);
}

/* The folder, relative to the run's working folder, made absolute, so that it is the same wherever the run is continued. NULL: not given, or failed. */
static const pawl_value *folder(scope *sc, const form *own)
{
    const char *base = pawl_get_string(sc->s, "@cwd");
    const pawl_value *v = own != NULL ? form_render(sc, own) : NULL;
    const char *text = pawl_value_string(v);

    if (text == NULL || base == NULL || *text == '/' || strlen(text) != pawl_value_size(v))    /* a NUL is reported by the handler */
        return text != NULL ? v : own == NULL && base != NULL ? pawl_pack(sc->s, "s", base) : NULL;
    return pawl_pack(sc->s, "s", pawl_format(sc->s, "%s/%s", base, text));
}

static const pawl_value *call_args(scope *sc, guard *g)
{
    const file_node *n = sc->n;
    pawl_step *s = sc->s;
    const pawl_value *more = pawl_pack(s, "{}"), *cwd;

    if (n->kind == KIND_RUN || n->kind == KIND_SHELL) {
        if ((cwd = folder(sc, n->cwd)) != NULL)
            more = value_with(&s->mem, more, "cwd", cwd);
        if (n->status.name == NULL)
            more = value_with(&s->mem, more, "check", value_bool(&s->mem, true));
        if (g->gate.mode == PAWL_MODE_PLAN)
            more = value_with(&s->mem, more, "sandbox", value_bool(&s->mem, true));
    }
    if (n->undo_cwd != NULL && (cwd = folder(sc, n->undo_cwd)) != NULL)
        more = value_with(&s->mem, more, "undo", pawl_pack(s, "{s:v}", "cwd", cwd));
    if (n->kind == KIND_PROMPT)
        more = value_with(&s->mem, more, "node", value_string(&s->mem, n->name, strlen(n->name)));
    return sc->failed != PAWL_OK || more == NULL ? NULL : guard_args(g, more);
}

/* A hook's result in the form of the command's receipt. */
static const pawl_value *as_receipt(scope *sc, const pawl_value *result)
{
    const pawl_type t = pawl_value_type(result);

    if (t == PAWL_TYPE_OBJECT)
        return result;
    result = t == PAWL_TYPE_STRING ? result : pawl_pack(sc->s, "s", pawl_text(sc->s, result));
    switch (sc->n->kind) {
    case KIND_RUN: case KIND_SHELL: return pawl_pack(sc->s, "{s:i,s:s,s:v}", "status", (int64_t)0, "stderr", "", "stdout", result);
    case KIND_HTTP: return pawl_pack(sc->s, "{s:v,s:i}", "body", result, "status", (int64_t)200);
    case KIND_PROMPT: return pawl_pack(sc->s, "{s:v}", "text", result);
    case KIND_TOOL: return pawl_pack(sc->s, "{s:v}", "content", result);
    default: return result;
    }
}

static pawl_code keep_receipt(scope *sc, const pawl_value *receipt)
{
    keeping k = {0};
    pawl_code rc;

    if (sc->n->kind == KIND_RUN || sc->n->kind == KIND_SHELL)
        rc = keep_output(sc, receipt, &k);
    else
        rc = sc->n->kind == KIND_HTTP ? keep_response(sc, receipt, &k) : keep_reply(sc, receipt, &k);
    if (rc == PAWL_OK)
        keep(sc->s, sc->n, &k);
    return rc;
}

/* The maximum cost of a model call: at most one token for each byte, and max_tokens (A8). Only with a budget. */
static pawl_code prompted(scope *sc, const pawl_value *args, const pawl_value **receipt)
{
    const file_node *n = sc->n;
    const model_price *price = price_of(n->file, pawl_value_string(pawl_value_get(args, "model")));
    const int64_t in = (int64_t)(pawl_value_size(pawl_value_get(args, "prompt")) + pawl_value_size(pawl_value_get(args, "system")));
    const int64_t out = n->max_tokens > 0 ? n->max_tokens : MAX_TOKENS;
    pawl_spent spent;
    pawl_cost cost = { .calls = n->limits.retry.max_attempts > 0 ? n->limits.retry.max_attempts : 1, .tokens = in + out };

    if (!pawl_state_spent(sc->s->st, &spent))
        return pawl_call(sc->s, n->effect, args, receipt);
    if (price != NULL)
        cost.micros = price_micros(in, price->input) + price_micros(out, price->output);
    return pawl_call_with(sc->s, n->effect, args, &cost, receipt);
}

/* An agent as a child run for one turn, under the rules and the mode of this run. */
static pawl_code spawned(scope *sc, const pawl_value *args, const pawl_value **receipt)
{
    static const char *const names[] = { "@cwd", "@mode", "@policy", "@grants", "@file" };
    pawl_step *s = sc->s;
    const pawl_value *input = pawl_pack(s, "{s:s,s:v}", "@once", "run", "input", pawl_value_get(args, "input")), *one;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((one = pawl_get(s, names[i])) != NULL)
            input = value_with(&s->mem, input, names[i], one);
    return input != NULL ? pawl_spawn(s, sc->n->helper->name, input, receipt) : scope_fail(sc, PAWL_NOMEM, NULL);
}

/* The input is the one that the rules allowed. */
static pawl_code tool_used(scope *sc, const pawl_value *args, const pawl_value **receipt)
{
    pawl_step *s = sc->s;
    const char *cwd = pawl_get_string(s, "@cwd");
    const pawl_value *input = pawl_pack(s, "{}"), *decision = pawl_value_get(args, "decision"), *key, *v, *one;
    pawl_iter it = pawl_iter_of(args), folders = pawl_iter_of(sc->folders);

    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (v != decision)
            input = value_with(&s->mem, input, pawl_value_string(key), v);
    v = pawl_pack(s, "{s:s,s:s,s:v,s:s}", "call", sc->n->name, "cwd", cwd != NULL ? cwd : "", "input", input, "tool", sc->n->tool->name);
    if (decision != NULL)
        v = value_with(&s->mem, v, "decision", decision);
    while ((one = pawl_iter_next(&folders, &key)) != NULL)
        v = value_with(&s->mem, v, pawl_value_string(key), one);
    return v != NULL ? pawl_call(s, sc->n->effect, v, receipt) : scope_fail(sc, PAWL_NOMEM, NULL);
}

static pawl_code called(scope *sc, const pawl_value *args, const pawl_value **receipt)
{
    switch (sc->n->kind) {
    case KIND_PROMPT: return prompted(sc, args, receipt);
    case KIND_AGENT: return spawned(sc, args, receipt);
    case KIND_TOOL: return tool_used(sc, args, receipt);
    default: return pawl_call(sc->s, sc->n->effect, args, receipt);
    }
}

/* The tool's own error text. */
static pawl_code tool_failed(scope *sc, const pawl_value *receipt)
{
    const pawl_value *content = pawl_value_get(receipt, "content");
    const char *text = pawl_value_string(content);

    if (sc->n->on_error.name != NULL)
        return lead_on(sc->s, sc->n, pawl_pack(sc->s, "{s:s,s:v}", "code", "effect", "text", content));
    return scope_fail(sc, PAWL_EFFECT, pawl_format(sc->s, "%.1000s", text != NULL ? text : "the tool failed"));
}

/* The command, or the result that a hook gave instead. */
static pawl_code perform(scope *sc, guard *g)
{
    const file_node *n = sc->n;
    const pawl_value *args, *receipt = g->gate.result != NULL ? as_receipt(sc, g->gate.result) : NULL, *was;
    bool left = false;
    const char *why;
    pawl_code rc = PAWL_OK;

    if (g->gate.result == NULL) {
        if ((args = call_args(sc, g)) == NULL)
            return scope_fail(sc, PAWL_NOMEM, NULL);
        rc = called(sc, args, &receipt);
    }
    if (rc == PAWL_LIMIT && (why = pawl_value_string(pawl_value_get(receipt, "text"))) != NULL)
        return pawl_fail(sc->s, PAWL_LIMIT, "%s: %s", n->name, why);
    if (rc == PAWL_EFFECT && n->on_error.name != NULL)
        return lead_on(sc->s, n, receipt);
    if (rc == PAWL_EFFECT && (why = pawl_value_string(pawl_value_get(receipt, "text"))) != NULL)
        return pawl_fail(sc->s, PAWL_EFFECT, "%s: %s", n->name, why);
    was = receipt;
    if (rc != PAWL_OK || (rc = guard_leave(g, &receipt, &left)) != PAWL_OK)
        return rc;
    if (receipt != was && (receipt = as_receipt(sc, receipt)) == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    return n->kind == KIND_TOOL && pawl_value_bool(pawl_value_get(receipt, "is_error")) ? tool_failed(sc, receipt) : keep_receipt(sc, receipt);
}

/* ---- the other kinds -------------------------------------------------------------------------------------------- */

static pawl_code set(scope *sc)
{
    const file_node *n = sc->n;
    const pawl_value **values = arena_get(&sc->s->mem, (n->nsets + 1) * sizeof *values);

    for (size_t i = 0; values != NULL && i < n->nsets; i++) {
        if ((values[i] = form_render(sc, n->sets[i].f)) == NULL)
            return scope_fail(sc, PAWL_NOMEM, NULL);
        if (n->sets[i].extend && pawl_value_type(values[i]) != PAWL_TYPE_ARRAY)
            return scope_fail(sc, PAWL_INVALID, pawl_format(sc->s, "what extends \"%s\" is no list", n->sets[i].channel));
    }
    if (values == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    for (size_t i = 0; i < n->nsets; i++) {
        if (n->sets[i].overwrite)
            pawl_overwrite(sc->s, n->sets[i].channel, values[i]);
        else if (n->sets[i].extend)
            pawl_extend(sc->s, n->sets[i].channel, values[i]);
        else
            pawl_set(sc->s, n->sets[i].channel, values[i]);
    }
    artifact(sc->s, n, values[0]);
    return PAWL_OK;
}

static pawl_code ask(scope *sc)
{
    const file_node *n = sc->n;
    pawl_question q = { .kind = PAWL_WAIT_QUESTION, .asked_of = n->asked_of, .prompt = form_render(sc, n->ask), .schema = n->schema,
                        .options = n->options, .otherwise = n->otherwise, .timeout_ms = n->ask_ms };
    const pawl_value *answer;
    pawl_code rc;

    if (q.prompt == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    rc = pawl_ask_with(sc->s, &q, &answer);
    if (rc == PAWL_OK && n->to.name != NULL)
        pawl_set(sc->s, n->to.name, answer);
    return rc;
}

static pawl_code await(scope *sc)
{
    const file_node *n = sc->n;
    pawl_step *s = sc->s;
    const pawl_value *v = NULL;
    const uint32_t first = s->v->cursor;        /* expressions and the gate have taken numbers before it */
    uint32_t winner = first;
    pawl_code rc = pawl_await_signal(s, n->signal, &v);

    if (rc != PAWL_OK && rc != PAWL_INTERRUPTED && rc != PAWL_PENDING)
        return rc;
    if (n->ask_ms > 0) {
        pawl_code slept = pawl_sleep(s, n->ask_ms);

        if (slept < 0)
            return slept;
        do      /* an earlier command was answered earlier: it wins first */
            rc = pawl_select(s, &winner);
        while (rc == PAWL_OK && winner < first);
    }
    if (rc != PAWL_OK)
        return rc;
    if (winner != first)
        return scope_fail(sc, PAWL_TIMEOUT, pawl_format(s, "no signal \"%s\" came in time", n->signal));
    if (n->to.name != NULL)
        pawl_set(s, n->to.name, v != NULL ? v : value_null(&s->mem));
    return PAWL_OK;
}

static pawl_code wait_for(scope *sc)
{
    const file_node *n = sc->n;
    const int64_t now = pawl_now(sc->s);
    const pawl_value *v;
    int64_t until = 0;

    if (n->signal != NULL)
        return await(sc);
    if (n->until == NULL)
        return pawl_sleep(sc->s, n->wait_ms);
    if ((v = form_render(sc, n->until)) == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    if (pawl_value_type(v) == PAWL_TYPE_INT)
        until = pawl_value_int(v);
    else if (pawl_value_type(v) != PAWL_TYPE_STRING || !moment_read(pawl_value_string(v), now, &until))
        return scope_fail(sc, PAWL_INVALID, "`until` is a time of day in UTC such as 03:00, a moment such as 2026-11-21T03:00:00Z, or milliseconds since 1970");
    return pawl_sleep(sc->s, until > now ? until - now : 0);
}

/* The run fails for the reason that the author gave. */
static pawl_code fails(scope *sc)
{
    const pawl_value *why = form_render(sc, sc->n->fail);

    if (why == NULL)
        return scope_fail(sc, PAWL_NOMEM, NULL);
    return pawl_fail(sc->s, PAWL_INVALID, "%s: %s", sc->n->name, pawl_value_string(why));
}

/* A node without a command has its hooks here. */
static pawl_code after(guard *g, pawl_code rc)
{
    const pawl_value *nothing = NULL;
    bool left;

    return rc != PAWL_OK || g->gate.tool != NULL ? rc : guard_leave(g, &nothing, &left);
}

static pawl_code body(scope *sc, guard *g)
{
    switch (sc->n->kind) {
    case KIND_SET: return set(sc);
    case KIND_ASK: return ask(sc);
    case KIND_WAIT: return wait_for(sc);
    case KIND_FAIL: return fails(sc);
    case KIND_ROUTE: return PAWL_OK;
    case KIND_RUN: case KIND_SHELL: case KIND_HTTP: case KIND_PROMPT: case KIND_PLUGIN: case KIND_AGENT: case KIND_TOOL: return perform(sc, g);
    case KIND_GRAPH: break;     /* a graph is not run as a function */
    }
    return PAWL_INVALID;
}

pawl_code node_visit(pawl_step *s, void *arg)
{
    const file_node *n = arg;
    bool left = false;
    const char *why;
    guard g;
    scope sc;
    pawl_code rc = guard_begin(&g, s);

    if (rc != PAWL_OK)
        return rc;
    if ((rc = scope_begin(&sc, s, n)) == PAWL_OK && (rc = guard_enter(&g, &sc, &left)) == PAWL_OK && !left)
        rc = after(&g, body(&sc, &g));
    if (sc.failed == PAWL_OK || sc.failed == PAWL_NOMEM)
        return sc.failed == PAWL_OK ? rc : PAWL_NOMEM;
    why = pawl_format(s, "%s: %s", n->name, sc.why);
    if (n->on_error.name == NULL || sc.failed == PAWL_CORRUPT)
        return pawl_fail(s, sc.failed, "%s", why != NULL ? why : n->name);
    return lead_on(s, n, pawl_pack(s, "{s:s,s:s}", "code", pawl_code_name(sc.failed), "text", why));
}
