/* hooking.h - a verdict in one line, for the tests of hooks. */
#ifndef TEST_POLICY_HOOKING_H
#define TEST_POLICY_HOOKING_H

#include "lib/check.h"
#include "policy/hook.h"

static inline void told_value(buf *b, const char *name, const pawl_value *v)
{
    if (v == NULL)
        return;
    buf_fmt(b, " %s=", name);
    canon(b, v);
}

static inline void told_text(buf *b, const char *name, const char *text)
{
    if (text != NULL)
        buf_fmt(b, " %s<%s>", name, text);
}

/* "deny: why", "allow input={...}", "open! why": the ! for what failed and was let through. */
static inline void verdict_tell(const verdict *v, buf *b)
{
    static const char *const names[] = { "open", "allow", "ask", "deny" };

    buf_text(b, v->stops ? "stop" : v->defers ? "defer" : names[v->behavior]);
    if (v->open)
        buf_char(b, '!');
    if (v->defers)
        buf_fmt(b, "(%s)", v->defer_name);
    if (v->reason != NULL)
        buf_fmt(b, ": %s", v->reason);
    told_value(b, "input", v->input);
    told_value(b, "result", v->result);
    told_value(b, "go", v->go);
    told_value(b, "prompt", v->prompt);
    told_value(b, "options", v->options);
    told_text(b, "context", v->context);
    told_text(b, "message", v->message);
}

static inline const pawl_value *json_of(arena *mem, const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(mem, text, strlen(text), "test", &err);

    if (v == NULL)
        CHECK_FAIL("%s: %s", err.text, text);
    return v;
}

/* The receipt of a command that exits with `status`. */
static inline const pawl_value *exited(arena *mem, int status, const char *out, const char *complaint)
{
    return value_pack(mem, NULL, "{s:i,s:s,s:s}", "status", (int64_t)status, "stdout", out, "stderr", complaint);
}

#endif
