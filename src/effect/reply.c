/* reply.c - the reply of a handler: a value, or a code with its text, detail, cost and delay.
 *
 * A reply belongs to one job; only the thread that works on that job writes to it. */
#include "effect/effect.h"

#define COST_MAX (INT64_C(1) << 53)     /* beyond it, a number from JSON may not be the one that was written */

void reply_init(pawl_reply *r, const pawl_alloc *alloc)
{
    *r = (pawl_reply){ .alloc = mem_or_default(alloc) };
    buf_init(&r->text, &r->alloc);
    buf_init(&r->detail, &r->alloc);
}

static char no_memory[] = "no memory for what went wrong";

static void why_drop(pawl_reply *r)
{
    if (r->why != NULL && r->why != no_memory)
        mem_free(&r->alloc, r->why, strlen(r->why) + 1);
    r->why = NULL;
}

void reply_reset(pawl_reply *r)
{
    buf_reset(&r->text);
    buf_reset(&r->detail);
    why_drop(r);
    r->retry_after_ms = 0;
    r->status = 0;
    r->untouched = r->costs = false;
    r->tokens = r->micros = 0;
}

void reply_free(pawl_reply *r)
{
    buf_free(&r->text);
    buf_free(&r->detail);
    why_drop(r);
}

void reply_status(pawl_reply *r, long status) { r->status = status; }
const char *reply_why(const pawl_reply *r) { return r->why != NULL ? r->why : ""; }

void reply_failure(const pawl_reply *r, pawl_code code, uint32_t attempts, buf *out)
{
    buf_text(out, "{");
    if (attempts > 0)
        buf_fmt(out, "\"attempts\":%lu,", (unsigned long)attempts);
    buf_text(out, "\"code\":\"");
    buf_text(out, pawl_code_name(code));
    buf_char(out, '"');
    if (r->retry_after_ms > 0)
        buf_fmt(out, ",\"retry_after_ms\":%lld", (long long)r->retry_after_ms);
    if (r->status > 0)
        buf_fmt(out, ",\"status\":%ld", r->status);
    buf_text(out, ",\"text\":");
    canon_string(out, reply_why(r), strlen(reply_why(r)));
    if (r->detail.size > 0 && !r->detail.failed) {
        buf_text(out, ",\"detail\":");
        canon_string(out, r->detail.data, r->detail.size);
    }
    buf_char(out, '}');
}

/* ---- in public ----------------------------------------------------------------------------------- */

pawl_code pawl_reply_json(pawl_reply *r, const char *text)
{
    buf_reset(&r->text);
    buf_text(&r->text, text != NULL ? text : "(NULL)");     /* not JSON: it will be reported */
    return PAWL_OK;
}

pawl_code pawl_reply_string(pawl_reply *r, const char *text)
{
    buf_reset(&r->text);
    if (text == NULL)
        buf_text(&r->text, "null");
    else
        canon_string(&r->text, text, strlen(text));
    return PAWL_OK;
}

pawl_code pawl_reply_int(pawl_reply *r, int64_t n)
{
    buf_reset(&r->text);
    buf_int(&r->text, n);
    return PAWL_OK;
}

pawl_code pawl_reply_fail(pawl_reply *r, pawl_code code, const char *format, ...)
{
    pawl_err err = { PAWL_OK, "" };
    va_list args;

    va_start(args, format);
    failv(&err, code < 0 ? code : PAWL_EFFECT, format, args);
    va_end(args);
    why_drop(r);                /* only now: it may be a part of the new one */
    if ((r->why = mem_text(&r->alloc, err.text)) == NULL)
        r->why = no_memory;
    return err.code;
}

void pawl_reply_detail(pawl_reply *r, const char *text)
{
    buf_reset(&r->detail);
    if (text != NULL && utf8_valid(text, strlen(text)))
        buf_text(&r->detail, text);
}

void pawl_reply_retry_after(pawl_reply *r, int64_t ms)
{
    r->retry_after_ms = ms > 0 ? ms : 0;
}

void pawl_reply_cost(pawl_reply *r, int64_t tokens, int64_t micros)
{
    r->costs = tokens >= 0 && tokens <= COST_MAX && micros >= 0 && micros <= COST_MAX;
    r->tokens = r->costs ? tokens : 0;
    r->micros = r->costs ? micros : 0;
}

void pawl_reply_untouched(pawl_reply *r)
{
    r->untouched = true;
}
