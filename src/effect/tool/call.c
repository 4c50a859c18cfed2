/* call.c - one call of a tool: checks before it, and the reply after it.
 *
 * tool_perform() is the handler of every tool, on any thread. A tool_call belongs to that call. */
#include "effect/tool/tool.h"
#include "net/net.h"
#include "policy/usual_args.h"

#include <stdio.h>

enum { ERROR_BYTES = 1000, LOOK_EVERY = 16 };

/* ---- replies ------------------------------------------------------------------------------------------ */

pawl_code tool_nomem(tool_call *c)
{
    return pawl_reply_fail(c->r, PAWL_NOMEM, "%s: no memory", c->job->effect);
}

/* The end of a reply, after its "content". */
static pawl_code reply_end(tool_call *c, bool is_error, bool cut)
{
    buf *b = &c->r->text;

    if (cut)
        buf_text(b, ",\"cut\":true");
    if (is_error)
        buf_text(b, ",\"is_error\":true");
    if (c->note[0] != '\0') {
        buf_text(b, ",\"note\":");
        canon_string(b, c->note, strlen(c->note));
    }
    if (c->seen_path != NULL && !is_error) {
        buf_text(b, ",\"seen\":{\"path\":");
        canon_string(b, c->seen_path, strlen(c->seen_path));
        buf_fmt(b, ",\"version\":\"%s\"}", c->seen_version);
    }
    if (cut) {
        size_t n = c->out.size < WHOLE_BYTES_MAX ? c->out.size : cut_end(c->out.data, WHOLE_BYTES_MAX);

        buf_text(b, ",\"whole\":");
        canon_string(b, c->out.data, n);
    }
    buf_char(b, '}');
    return b->failed || c->out.failed || c->mem.failed ? tool_nomem(c) : PAWL_OK;
}

pawl_code tool_error(tool_call *c, const char *format, ...)
{
    va_list args;
    buf text, plain;
    pawl_code rc;

    buf_init(&text, &c->r->alloc);
    buf_init(&plain, &c->r->alloc);
    va_start(args, format);
    buf_fmtv(&text, format, args);
    va_end(args);
    plain_put(&plain, text.data, text.failed ? 0 : text.size < ERROR_BYTES ? text.size : cut_end(text.data, ERROR_BYTES));
    buf_reset(&c->r->text);
    buf_text(&c->r->text, "{\"content\":");
    canon_string(&c->r->text, plain.size > 0 ? plain.data : "", plain.size);
    rc = text.failed || plain.failed ? tool_nomem(c) : reply_end(c, true, false);
    buf_free(&plain);
    buf_free(&text);
    return rc;
}

pawl_code tool_text(tool_call *c, cut_where where, bool is_error)
{
    buf whole, part;
    pawl_code rc;
    bool cut;

    if (c->out.failed)
        return tool_nomem(c);
    buf_init(&whole, &c->r->alloc);
    buf_init(&part, &c->r->alloc);
    plain_put(&whole, c->out.data, c->out.size);
    cut = plain_cut(&part, whole.data, whole.size, c->tool->output_bytes, where, c->lost);
    buf_reset(&c->r->text);
    buf_text(&c->r->text, "{\"content\":");
    if (c->ignored[0] != '\0')
        buf_fmt(cut ? &part : &whole, "[ignored: %s is no argument of %s]\n", c->ignored, c->tool->name);
    if (cut)
        canon_string(&c->r->text, part.size > 0 ? part.data : "", part.size);
    else
        canon_string(&c->r->text, whole.size > 0 ? whole.data : "", whole.size);
    if (whole.failed || part.failed) {
        rc = tool_nomem(c);
    } else {
        buf was = c->out;

        c->out = whole;
        rc = reply_end(c, is_error, cut);
        c->out = was;
    }
    buf_free(&part);
    buf_free(&whole);
    return rc;
}

pawl_code tool_blocks(tool_call *c)
{
    buf_reset(&c->r->text);
    buf_text(&c->r->text, "{\"content\":");
    buf_put(&c->r->text, c->out.data, c->out.size);
    return reply_end(c, false, false);
}

pawl_code tool_stop(tool_call *c)
{
    if (job_canceled(c->job))
        return pawl_reply_fail(c->r, PAWL_CANCELED, "%s: canceled", c->job->effect);
    if (c->looks++ % LOOK_EVERY != 0)
        return PAWL_OK;
    job_moved(c->job, &c->beat_ms);
    if (clock_ms() >= c->until_ms)
        return pawl_reply_fail(c->r, PAWL_TIMEOUT, "Tool execution timed out: %s: not done within %s", c->job->effect, c->limit);
    return PAWL_OK;
}

/* ---- modes (P1) ------------------------------------------------------------------------------------------ */

bool tool_in_plan(const pawl_job *job)
{
    return pawl_mode_named(job->mode) == PAWL_MODE_PLAN;
}

pawl_code tool_denied(tool_call *c)
{
    pawl_reply_untouched(c->r);
    return pawl_reply_fail(c->r, PAWL_DENIED, "%s requires Default mode; current mode is Plan.", c->tool->name);
}

/* ---- arguments --------------------------------------------------------------------------------------------- */

const char *input_text(const tool_call *c, const char *name)
{
    return pawl_value_string(pawl_value_get(c->input, name));
}

int64_t input_count(const tool_call *c, const char *name, int64_t otherwise)
{
    const pawl_value *v = pawl_value_get(c->input, name);

    return pawl_value_type(v) == PAWL_TYPE_INT ? pawl_value_int(v) : otherwise;
}

bool input_flag(const tool_call *c, const char *name)
{
    return pawl_value_bool(pawl_value_get(c->input, name));
}

/* The name of an input string that contains NUL: strings become C paths, patterns and commands. NULL: none does. */
static const char *with_nul(const pawl_value *input)
{
    pawl_iter it = pawl_iter_of(input);
    const pawl_value *key, *v;

    while ((v = pawl_iter_next(&it, &key)) != NULL)
        if (pawl_value_type(v) == PAWL_TYPE_STRING && !text_whole(v))
            return pawl_value_string(key);
    return NULL;
}

/* Drops arguments that only decorate, and remembers their names for the reply. False: no memory. */
static bool decorations_drop(tool_call *c, const pawl_value *schema)
{
    const pawl_value *needed = args_needed(&c->mem, schema, c->input), *key;
    pawl_iter it = pawl_iter_of(c->input);
    size_t n = 0;

    while (needed != NULL && needed != c->input && pawl_iter_next(&it, &key) != NULL)
        if (pawl_value_get(needed, pawl_value_string(key)) == NULL && n < sizeof c->ignored)
            n += (size_t)snprintf(c->ignored + n, sizeof c->ignored - n, "%s\"%.40s\"", n > 0 ? ", " : "", pawl_value_string(key));
    c->input = needed;
    return needed != NULL;
}

/* Checks the arguments. PAWL_OK with *replied: the reply has the error already. */
static pawl_code asked(tool_call *c, const tool_entry *e, bool *replied)
{
    const pawl_value *cwd = pawl_value_get(c->job->args, "cwd");
    pawl_err why = {0};
    const char *name;

    *replied = true;
    c->input = pawl_value_get(c->job->args, "input");
    c->cwd = pawl_value_string(cwd);
    c->guarded = pawl_value_get(c->job->args, "seen") != NULL;
    c->seen = pawl_value_string(pawl_value_get(c->job->args, "seen"));
    if (e->tool.usual_args && ((c->input = args_usual(&c->mem, e->tool.name, c->input)) == NULL || !decorations_drop(c, e->schema)))
        return tool_nomem(c);
    if (schema_check(e->schema, c->input, "input", &why) != PAWL_OK)
        return why.code == PAWL_NOMEM ? tool_nomem(c) : tool_error(c, "Invalid arguments: %s", why.text);
    if (e->own != NULL && e->run == NULL && (name = with_nul(c->input)) != NULL)
        return tool_error(c, "Invalid arguments: input: \"%s\" holds NUL", name);
    if (!text_whole(cwd) || c->cwd[0] != '/' || strlen(c->cwd) >= TOOL_PATH_BYTES)
        return tool_error(c, "Invalid arguments: \"cwd\" is no absolute path");
    *replied = false;
    return PAWL_OK;
}

pawl_code tool_perform(const pawl_job *job, pawl_reply *reply, void *arg)
{
    const tool_entry *e = arg;
    tool_call c = { .job = job, .r = reply, .tool = &e->tool, .run = e->run, .sandbox = e->sandbox, .beside = e->beside, .bg = e->bg };
    bool replied = false;
    pawl_code rc;

    arena_init(&c.mem, &reply->alloc, 4096);
    buf_init(&c.out, &reply->alloc);
    c.until_ms = job_until(job, 0, &c.limit);
    if ((tool_in_plan(job) || job_planned(job)) && e->tool.cls != PAWL_PERMISSION_READ && !e->any_mode)
        rc = tool_denied(&c);
    else if ((rc = asked(&c, e, &replied)) == PAWL_OK && !replied && (rc = tool_stop(&c)) == PAWL_OK)
        rc = e->own != NULL ? e->own(&c) : e->fn(job, reply, e->arg);
    buf_free(&c.out);
    arena_free(&c.mem);
    return rc;
}
