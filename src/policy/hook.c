/* hook.c - makes a verdict of the receipt of a hook, merges the verdicts of several, and writes the input of a hook (P5).
 *
 * Owns nothing; pure, any thread. Called by gate.c.
 * Invariant: every way in which a hook fails ends in hook_failed(): it denies under HOOK_STRICT, and is let through and marked under HOOK_CLAUDE. */
#include "policy/hook.h"

/* ---- output --------------------------------------------------------------------------------------- */

typedef enum printed { PRINTED_NOTHING, PRINTED_TEXT, PRINTED_JSON, PRINTED_BROKEN } printed;

typedef struct hook_output {
    arena *mem;
    hook_profile profile;
    hook_point point;
    const pawl_value *receipt;
    printed kind;
    verdict said;           /* of PRINTED_JSON; of PRINTED_TEXT the context for the model */
    const char *wrong;      /* PRINTED_BROKEN */
} hook_output;

static bool broken(hook_output *r, const char *why)
{
    r->kind = PRINTED_BROKEN;
    r->wrong = why;
    return why != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether a whole JSON object ends before `end`, and another begins behind it. */
static bool answers_twice(const char *at, const char *end)
{
    size_t depth = 0;
    bool quoted = false;

    for (; at < end; at++) {
        if (quoted) {
            at += *at == '\\';
            quoted = at >= end || *at != '"';
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '{') {
            depth++;
        } else if (*at == '}' && --depth == 0) {
            break;
        }
    }
    if (at >= end)
        return false;
    for (at++; at < end && is_blank(*at); at++)
        ;
    return at < end && *at == '{';
}

/* Whether a JSON answer is somewhere in output that is not JSON as a whole: it would be lost. */
static bool hides_answer(const char *text, const char *end)
{
    static const char *const words[] = { "\"permissionDecision\"", "\"decision\"", "\"verdict\"", "\"continue\"" };
    const char *brace = memchr(text, '{', (size_t)(end - text));

    for (size_t i = 0; brace != NULL && i < sizeof words / sizeof *words; i++)
        if (strstr(brace, words[i]) != NULL)
            return true;
    return false;
}

static bool json_read(hook_output *r, const pawl_value *json)
{
    const char *wrong = NULL;

    r->said = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN };
    if (hook_answer(r->mem, r->profile, r->point, json, &r->said, &wrong) != PAWL_OK)
        return false;
    if (wrong != NULL)
        return broken(r, wrong);
    r->kind = PRINTED_JSON;
    return true;
}

static bool text_read(hook_output *r, const char *text, size_t size)
{
    const char *end = text + size;
    const pawl_value *json;
    pawl_err err = { PAWL_OK, "" };

    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    while (text < end && is_blank(*text))
        text++;
    r->kind = text == end ? PRINTED_NOTHING : PRINTED_TEXT;
    if (text == end)
        return true;
    if (*text != '{' && r->profile == HOOK_CLAUDE && (r->point == HOOK_PROMPT || r->point == HOOK_SESSION_START)) {
        r->said = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN, .context = hook_text(r->mem, text, (size_t)(end - text), 0) };
        return r->said.context != NULL;
    }
    if (*text != '{')
        return r->profile != HOOK_STRICT || !hides_answer(text, end) || broken(r, "its answer in JSON stands behind other text");
    if ((json = value_parse(r->mem, text, (size_t)(end - text), "its JSON", &err)) != NULL)
        return json_read(r, json);
    if (err.code == PAWL_NOMEM)
        return false;
    return broken(r, answers_twice(text, end) ? "it answers twice" : hook_words(r->mem, "%s", err.text));
}

/* The member `name`, or `name`_base64 decoded. False: no memory. */
static bool printed_read(hook_output *r, const char *name, const char *torn)
{
    const pawl_value *text = pawl_value_get(r->receipt, name), *json = pawl_value_get(r->receipt, "body_json");
    const pawl_value *cut = pawl_value_get(r->receipt, "cut");
    bool good = true;

    r->kind = PRINTED_NOTHING;
    if (pawl_value_type(json) == PAWL_TYPE_OBJECT)
        good = json_read(r, json);
    else if (json != NULL)
        good = broken(r, "its JSON is no object");
    else if (pawl_value_type(text) == PAWL_TYPE_STRING)
        good = text_read(r, pawl_value_string(text), pawl_value_size(text));
    else if (pawl_value_get(r->receipt, torn) != NULL)
        good = broken(r, "its output is no UTF-8");
    if (good && cut != NULL && (pawl_value_type(cut) != PAWL_TYPE_BOOL || pawl_value_bool(cut)) &&
        (r->profile == HOOK_STRICT || r->kind != PRINTED_JSON))
        return broken(r, "its output is cut short");
    return good;
}

/* ---- the verdict of one hook ------------------------------------------------------------------------------------------ */

/* It failed. False: no memory, for why is NULL. */
static bool hook_failed(const hook_output *r, verdict *out, const char *why)
{
    *out = (verdict){ .behavior = r->profile == HOOK_CLAUDE ? PAWL_BEHAVIOR_OPEN : PAWL_BEHAVIOR_DENY, .open = r->profile == HOOK_CLAUDE, .reason = why };
    return why != NULL;
}

static bool hook_denied(verdict *out, const char *why)
{
    *out = (verdict){ .behavior = PAWL_BEHAVIOR_DENY, .reason = why };
    return why != NULL;
}

static const char *joined(arena *mem, const char *a, const char *b)
{
    char *out;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if ((out = arena_get(mem, strlen(a) + strlen(b) + 2)) == NULL)
        return NULL;
    memcpy(out, a, strlen(a));
    out[strlen(a)] = '\n';
    memcpy(out + strlen(a) + 1, b, strlen(b) + 1);
    return out;
}

/* The beginning of stderr; NULL: there is none. *good false: no memory. */
static const char *complaint(const hook_output *r, size_t lines, bool *good)
{
    const pawl_value *v = pawl_value_get(r->receipt, "stderr");
    const char *text = pawl_value_string(v), *out;
    size_t size = pawl_value_size(v);

    while (size > 0 && is_blank(text[size - 1]))
        size--;
    if (text == NULL || size == 0 || strlen(text) == 0)
        return NULL;
    out = hook_text(r->mem, text, size, lines);
    *good = *good && out != NULL;
    return out;
}

static bool exited_2(const hook_output *r, verdict *out)
{
    bool good = true;
    const char *why = complaint(r, HOOK_REASON_LINES, &good);
    const bool heard = r->profile == HOOK_CLAUDE && r->kind == PRINTED_JSON;

    if (!good)
        return false;
    if (r->profile == HOOK_STRICT || (hook_point_may_deny(r->point) && r->point != HOOK_POST && r->point != HOOK_POST_FAILURE)) {
        if (why == NULL && heard && r->said.behavior == PAWL_BEHAVIOR_DENY)
            why = r->said.reason;
        hook_denied(out, why != NULL ? why : "exit 2, and nothing on stderr");
        if (heard) {
            out->stops = r->said.stops;
            out->message = r->said.message;
            out->context = r->said.context;
        }
        return true;
    }
    *out = heard ? r->said : (verdict){ .behavior = PAWL_BEHAVIOR_OPEN };
    if (why != NULL && !hook_point_may_deny(r->point))      /* too late to prevent anything: the person gets the text as a message */
        return (out->message = joined(r->mem, out->message, why)) != NULL;
    return why == NULL || (out->context = joined(r->mem, out->context, why)) != NULL;   /* the tool has run: the model is */
}

static bool decides(const verdict *v)
{
    return v->behavior != PAWL_BEHAVIOR_OPEN || v->input != NULL || v->result != NULL;
}

static bool command_read(hook_output *r, int64_t status, verdict *out)
{
    const pawl_value *killed = pawl_value_get(r->receipt, "signal");
    bool good = true;
    const char *why;

    if (!printed_read(r, "stdout", "stdout_base64"))
        return false;
    if (killed == NULL && status == 2)
        return exited_2(r, out);
    if (killed == NULL && status == 0 && r->kind != PRINTED_BROKEN) {
        *out = r->said;
        return true;
    }
    if (killed == NULL && status == 0)
        return hook_failed(r, out, r->wrong);
    if (r->profile == HOOK_CLAUDE && r->kind == PRINTED_JSON && decides(&r->said)) {
        *out = r->said;
        return true;
    }
    why = complaint(r, 1, &good);
    if (!good)
        return false;
    why = hook_words(r->mem, "%s %lld%s%s", killed != NULL ? "it was killed by signal" : "exit",
                     (long long)(killed != NULL ? pawl_value_int(killed) : status), why != NULL ? ": " : "", why != NULL ? why : "");
    if (r->kind != PRINTED_JSON || r->profile == HOOK_STRICT)
        return hook_failed(r, out, why);
    *out = r->said;         /* its context and message still count */
    out->open = true;
    out->reason = why;
    return why != NULL;
}

static bool http_read(hook_output *r, int64_t status, verdict *out)
{
    if (status < 200 || status > 299)
        return hook_failed(r, out, hook_words(r->mem, "HTTP status %lld", (long long)status));
    if (!printed_read(r, "body", "body_base64"))
        return false;
    if (r->kind == PRINTED_BROKEN)
        return hook_failed(r, out, r->wrong);
    *out = r->said;
    return true;
}

static bool failed_read(hook_output *r, verdict *out)
{
    const pawl_value *failed = pawl_value_get(r->receipt, "failed");
    const char *code = pawl_value_string(failed), *text = pawl_value_string(pawl_value_get(r->receipt, "text"));

    if (pawl_value_type(failed) == PAWL_TYPE_INT && pawl_value_int(failed) >= PAWL_HELD && pawl_value_int(failed) < PAWL_OK)
        code = pawl_code_name((pawl_code)pawl_value_int(failed));
    return hook_failed(r, out, hook_words(r->mem, "it failed%s%s%s%s", code != NULL ? " with " : "", code != NULL ? code : "",
                                    text != NULL ? ": " : "", text != NULL ? text : ""));
}

static bool has(const pawl_value *receipt, const char *name)
{
    return pawl_value_get(receipt, name) != NULL;
}

static bool receipt_read(hook_output *r, verdict *out)
{
    const pawl_value *receipt = r->receipt, *v = pawl_value_get(receipt, "status");
    const int64_t status = pawl_value_int(v);
    const bool counted = pawl_value_type(v) == PAWL_TYPE_INT;
    const char *wrong = NULL;

    if (has(receipt, "verdict")) {
        if (hook_own_verdict(r->mem, r->point, receipt, out, &wrong) != PAWL_OK)
            return false;
        return wrong == NULL || hook_denied(out, wrong);
    }
    if (has(receipt, "failed"))
        return failed_read(r, out);
    if (counted && (has(receipt, "stdout") || has(receipt, "stdout_base64")))
        return command_read(r, status, out);
    if (counted && (has(receipt, "body") || has(receipt, "body_json") || has(receipt, "body_base64")))
        return http_read(r, status, out);
    return hook_denied(out, "it gave no verdict");   /* not the receipt of a hook: denied under each profile */
}

pawl_code hook_verdict(arena *mem, hook_profile profile, const char *point, const pawl_value *receipt, verdict *out, pawl_err *err)
{
    hook_output r = { .mem = mem, .profile = profile, .point = hook_point_named(point), .receipt = receipt };
    verdict said = { .behavior = PAWL_BEHAVIOR_OPEN };

    if (r.point == HOOK_NOWHERE)
        return fail(err, PAWL_INVALID, "hook: no event \"%.60s\" here", point != NULL ? point : "");
    if (profile != HOOK_STRICT && profile != HOOK_CLAUDE)
        return fail(err, PAWL_INVALID, "hook: %d is no profile", (int)profile);
    if (!receipt_read(&r, &said))
        return fail(err, PAWL_NOMEM, "hook: no memory for its verdict");
    *out = said;
    return PAWL_OK;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static int weight(const verdict *v)
{
    return v->stops ? 4 * PAWL_BEHAVIOR_DENY : 2 * (int)v->behavior + v->defers;
}

pawl_code hook_merge(arena *mem, verdict *all, const verdict *one)
{
    const bool wins = weight(one) > weight(all), same = one->behavior == all->behavior;
    verdict m = wins ? *one : *all;

    m.context = joined(mem, all->context, one->context);
    m.message = joined(mem, all->message, one->message);
    if ((m.context == NULL && (all->context != NULL || one->context != NULL)) ||
        (m.message == NULL && (all->message != NULL || one->message != NULL)))
        return PAWL_NOMEM;
    if (same && m.reason == NULL)
        m.reason = wins ? all->reason : one->reason;
    m.stops = all->stops || one->stops;
    m.open = all->open || one->open;
    m.behavior = m.stops ? PAWL_BEHAVIOR_DENY : m.behavior;
    m.input = one->input != NULL ? one->input : all->input;
    m.result = one->result != NULL ? one->result : all->result;
    m.go = one->go != NULL ? one->go : all->go;
    if (m.behavior == PAWL_BEHAVIOR_DENY) {
        m.input = m.result = m.go = m.prompt = m.options = NULL;
        m.defers = false;
        m.defer_name = NULL;
    }
    *all = m;
    return PAWL_OK;
}

/* ---- the input of a hook ------------------------------------------------------------------------------------------------ */

static const pawl_value *hook_member_put(arena *mem, const pawl_value *object, const char *key, const char *text)
{
    return text == NULL ? object : value_with(mem, object, key, value_string(mem, text, strlen(text)));
}

const pawl_value *hook_input(arena *mem, const hook_call *c)
{
    const pawl_value *v = value_pack(mem, NULL, "{}");

    if (c->point == HOOK_NOWHERE)
        return NULL;
    v = hook_member_put(mem, v, "session_id", c->run);
    v = hook_member_put(mem, v, "cwd", c->cwd);
    v = hook_member_put(mem, v, "permission_mode", c->mode);
    v = hook_member_put(mem, v, "hook_event_name", hook_point_name(c->point));
    if (c->moment != NULL) {
        const pawl_value *key, *one;
        pawl_iter it = pawl_iter_of(c->moment);

        while ((one = pawl_iter_next(&it, &key)) != NULL)
            v = value_with(mem, v, pawl_value_string(key), one);
        return hook_member_put(mem, v, "run", c->run);
    }
    v = hook_member_put(mem, v, "tool_name", c->tool);
    v = value_with(mem, v, "tool_input", c->input != NULL ? c->input : value_pack(mem, NULL, "{}"));
    v = hook_member_put(mem, v, "tool_use_id", c->tool_use_id);
    if (c->point != HOOK_PRE && c->response != NULL)
        v = value_with(mem, v, "tool_response", c->response);
    if (c->point == HOOK_POST_FAILURE)
        v = hook_member_put(mem, v, "error", c->error);
    if (c->point != HOOK_PRE && c->duration_ms >= 0)
        v = value_with(mem, v, "duration_ms", value_int(mem, c->duration_ms));
    v = hook_member_put(mem, v, "node", c->node);
    return hook_member_put(mem, v, "run", c->run);
}
