/* fail.c - what an error of a model's API means, and whether it may be retried.
 *
 * Called by llm.c and the two APIs. Pure. */
#include "effect/llm/llm.h"

#include <strings.h>

/* ---- shapes: {"error":{...}}, {"error":"..."}, [{"error":...}], {"object":"error","message":"...",...}, {"message":"..."}, {"detail":"..."} ------ */

static const pawl_value *unwrapped(const pawl_value *body)
{
    return pawl_value_type(body) == PAWL_TYPE_ARRAY ? pawl_value_at(body, 0) : body;
}

static bool is_flat(const pawl_value *body)
{
    return strcmp(llm_text(body, "object"), "error") == 0;
}

bool llm_error_is(const pawl_value *body)
{
    const pawl_type type = pawl_value_type(pawl_value_get(unwrapped(body), "error"));

    return is_flat(unwrapped(body)) || type == PAWL_TYPE_OBJECT || type == PAWL_TYPE_STRING;
}

/* `code` may be a word or a status number. */
static void code_read(const pawl_value *code, llm_error *out)
{
    const int64_t n = pawl_value_int(code);
    const char *word = pawl_value_string(code);

    if (word != NULL)
        out->code = word;
    else if (out->status == 0 && n >= 400 && n < 600)
        out->status = (long)n;
}

void llm_error_read(const pawl_value *body, llm_error *out)
{
    static const char *const texts[] = { "error", "message", "detail" };
    const pawl_value *error;

    body = unwrapped(body);
    error = is_flat(body) ? body : pawl_value_get(body, "error");
    if (pawl_value_type(error) != PAWL_TYPE_OBJECT) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts && *out->text == '\0'; i++)
            out->text = llm_text(body, texts[i]);
        return;
    }
    out->type = llm_text(error, "type");
    out->text = llm_text(error, "message");
    code_read(pawl_value_get(error, "code"), out);
    if (*out->code == '\0')
        out->code = llm_text(pawl_value_get(error, "details"), "error_code");
}

/* ---- meanings ---------------------------------------------------------------------------------------------------- */

typedef enum error_meaning { AGAIN, LATER, DENIED, WRONG, LONG, OPEN } error_meaning;

static bool ends(const char *text, const char *with)
{
    const size_t n = strlen(text), m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

/* Words for a permanent 429: money and quotas. */
static bool stays(const char *word)
{
    static const char *const words[] = { "enforced_spend_limit_reached", "insufficient_quota", "credit_balance_exhausted",
                                         "organization_usage_limit_exceeded", "billing_hard_limit_reached", "billing_not_active",
                                         "exceeded_current_quota_error" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return ends(word, "_spend_limit_exceeded");
}

/* Contains `words`, ignoring case. */
static bool text_has(const char *text, const char *words)
{
    const size_t n = strlen(words);

    for (; *text != '\0'; text++)
        if (strncasecmp(text, words, n) == 0)
            return true;
    return false;
}

bool llm_error_has(const llm_error *e, const char *const *words)
{
    for (; *words != NULL; words++)
        if (text_has(e->text, *words) || text_has(e->code, *words) || text_has(e->type, *words))
            return true;
    return false;
}

/* The request does not fit the model's context. Some APIs have a code for that, all have a text: the list has those of the makers and of compatible
 * servers. */
static bool is_long(const llm_error *e)
{
    static const char *const types[] = { "context_length_exceeded", "exceed_context_size_error", "request_too_large" };
    static const char *const texts[] = { "prompt is too long", "prompt too long", "input is too long", "exceed context limit", "context length",
                                         "maximum prompt length", "context size", "context window", "model token limit", "reduce the length of the messages",
                                         "input token count" };

    if (e->status == 413)
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(e->code, types[i]) == 0 || strcmp(e->type, types[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (text_has(e->text, texts[i]))
            return true;
    return false;
}

/* By its type, if there is no status. */
static error_meaning by_type(const char *type)
{
    static const struct { const char *type; error_meaning is; } types[] = {
        { "rate_limit_error", LATER }, { "rate_limit_exceeded", LATER }, { "slow_down", LATER },
        { "authentication_error", DENIED }, { "billing_error", DENIED }, { "permission_error", DENIED }, { "invalid_api_key", DENIED },
        { "invalid_request_error", WRONG }, { "not_found_error", WRONG }, { "request_too_large", WRONG },
        { "context_length_exceeded", WRONG }, { "exceed_context_size_error", WRONG }, { "model_not_found", WRONG },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].type) == 0)
            return types[i].is;
    return OPEN;
}

static error_meaning by_status(long status)
{
    if (status == 429)
        return LATER;
    if (status == 408 || status == 409 || status >= 500)
        return AGAIN;
    return status == 401 || status == 402 || status == 403 ? DENIED : WRONG;
}

static error_meaning meaning(const llm_error *e)
{
    error_meaning v;

    if (e->status != 0) {
        v = by_status(e->status);
        if (v == LATER && (stays(e->code) || stays(e->type)))
            v = DENIED;
    } else if (stays(e->code) || stays(e->type)) {
        v = DENIED;
    } else {
        v = by_type(e->code) != OPEN ? by_type(e->code) : by_type(e->type) != OPEN ? by_type(e->type) : AGAIN;
    }
    if (v == WRONG && strcmp(e->code, "tool_use_failed") == 0)      /* not a wrong request, but a wrong answer of the model */
        v = AGAIN;
    if (e->should_retry && v != LATER)
        v = AGAIN;
    else if (e->should_not && v == LATER)
        v = DENIED;
    else if (e->should_not && v == AGAIN)
        v = WRONG;
    return (v == WRONG || (v == AGAIN && e->status == 0 && !e->should_retry)) && is_long(e) ? LONG : v;
}

/* The word with a blank before it, or nothing. */
static void word(buf *b, const char *text, const char *before)
{
    if (*text != '\0') {
        buf_text(b, before);
        buf_text(b, text);
    }
}

pawl_code llm_error_fail(const llm_error *e, const char *key, pawl_err *err)
{
    const error_meaning v = meaning(e);
    const pawl_code rc = v == DENIED ? PAWL_DENIED : v == WRONG ? PAWL_INVALID : v == LONG ? PAWL_LIMIT : PAWL_TRANSIENT;
    buf b;

    buf_init(&b, NULL);
    if (e->status != 0)
        buf_fmt(&b, " %ld", e->status);
    word(&b, *e->type != '\0' ? e->type : e->code, " ");
    if (*e->type != '\0' && *e->code != '\0' && strcmp(e->type, e->code) != 0)
        word(&b, e->code, " ");
    word(&b, e->text, b.size > 0 ? ": " : " ");
    if (b.size == 0)
        buf_text(&b, " no reason was told");
    buf_char(&b, '\0');
    if (!b.failed) {
        (void)text_star(b.data, b.size - 1, key);
        text_ascii(b.data, b.size - 1);
    }
    fail(err, rc, "%s%.220s", v == LATER ? "Rate limited:" : v == LONG ? "Context exceeded:" : "API error:", b.failed ? " no memory for its words" : b.data);
    buf_free(&b);
    return rc;
}
