/* delta.c - pieces of an output that are said while it comes: bytes with a kind, and the JSON that a reader may ask for (A7).
 *
 * Called by handlers on any thread, by the engine and by readers of streams. Owns nothing. The forms are those of docs/MODELS.md; members stand in
 * canonical order. */
#include "effect/effect.h"

#include <string.h>

static const struct { const char *name, *type, *member; } forms[] = {
    [PAWL_DELTA_BEGIN] = { "message", "begin", "attempt" },
    [PAWL_DELTA_TEXT] = { "message", "text_delta", "text" },
    [PAWL_DELTA_THINKING] = { "message", "thinking_delta", "thinking" },
    [PAWL_DELTA_TOOL_INPUT] = { "message", "tool_delta", "input" },
    [PAWL_DELTA_TOOL_OUTPUT] = { "tool_progress", NULL, "output" },
};

enum { FORMS = sizeof forms / sizeof *forms };

const char *delta_name(const pawl_delta *d)
{
    return d->kind == PAWL_DELTA_CUSTOM ? d->name : forms[d->kind].name;
}

bool delta_valid(const pawl_delta *d)
{
    return d->kind > PAWL_DELTA_CUSTOM && (int)d->kind < FORMS && (d->size == 0 || (d->bytes != NULL && utf8_valid(d->bytes, d->size)));
}

static void member(buf *b, const char *name, const char *text, size_t size)
{
    buf_fmt(b, "\"%s\":", name);
    canon_string(b, size > 0 ? text : "", size);
    buf_char(b, ',');
}

void delta_json(buf *out, const pawl_delta *d)
{
    const bool begins = d->kind == PAWL_DELTA_TOOL_INPUT && d->id != NULL;

    if (d->kind == PAWL_DELTA_CUSTOM) {
        buf_put(out, d->bytes, d->size);
        return;
    }
    buf_char(out, '{');
    if (begins)
        member(out, "id", d->id, strlen(d->id));
    if (d->kind == PAWL_DELTA_TOOL_INPUT)
        buf_fmt(out, "\"index\":%llu,", (unsigned long long)d->number);
    if (d->kind == PAWL_DELTA_BEGIN)
        buf_fmt(out, "\"attempt\":%llu,", (unsigned long long)d->number);
    else
        member(out, forms[d->kind].member, d->bytes, d->size);
    if (begins)
        member(out, "name", d->name != NULL ? d->name : "", d->name != NULL ? strlen(d->name) : 0);
    if (d->kind == PAWL_DELTA_TOOL_OUTPUT) {
        buf_text(out, "\"tool_use_id\":");
        canon_string(out, d->id != NULL ? d->id : "", d->id != NULL ? strlen(d->id) : 0);
        buf_char(out, '}');
    } else {
        buf_fmt(out, "\"type\":\"%s\"}", forms[d->kind].type);
    }
}

bool delta_of_value(const pawl_value *v, pawl_delta *out)
{
    const char *type = pawl_value_string(pawl_value_get(v, "type"));
    int kind = PAWL_DELTA_BEGIN;
    const pawl_value *said;

    while (kind < FORMS && (type == NULL || forms[kind].type == NULL || strcmp(forms[kind].type, type) != 0))
        kind++;
    if (kind == FORMS)
        return false;
    said = pawl_value_get(v, forms[kind].member);
    *out = (pawl_delta){ .kind = (pawl_delta_kind)kind, .bytes = pawl_value_string(said), .size = pawl_value_size(said) };
    if (kind == PAWL_DELTA_BEGIN)
        out->number = pawl_value_uint(said);
    if (kind == PAWL_DELTA_TOOL_INPUT) {
        out->number = pawl_value_uint(pawl_value_get(v, "index"));
        out->id = pawl_value_string(pawl_value_get(v, "id"));
        out->name = pawl_value_string(pawl_value_get(v, "name"));
    }
    return pawl_value_type(said) == (kind == PAWL_DELTA_BEGIN ? PAWL_TYPE_INT : PAWL_TYPE_STRING);
}

pawl_code pawl_job_say(const pawl_job *job, const pawl_delta *delta)
{
    pawl_code rc;
    buf b;

    if (!delta_valid(delta))
        return PAWL_INVALID;
    if (job->say == NULL)
        return PAWL_OK;
    if (job->delta != NULL && (rc = job->delta(job, delta)) != PAWL_PENDING)
        return rc;
    buf_init(&b, NULL);
    delta_json(&b, delta);
    buf_char(&b, '\0');
    rc = b.failed ? PAWL_NOMEM : job->say(job, delta_name(delta), b.data);
    buf_free(&b);
    return rc;
}
