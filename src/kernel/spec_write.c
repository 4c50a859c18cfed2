/* spec_write.c - writes the SPEC of a command or a wait when a node or a reducer makes it. See spec.h.
 *
 * Called inside a visit (visit.h) or for an inverse, on the thread that owns the step. The bytes are canonical, because a later pass of
 * the node must give the same bytes. */
#include "kernel/machine.h"
#include "kernel/references.h"
#include "kernel/spec.h"
#include "kernel/visit.h"
#include "sign/sign.h"

#include <string.h>

static void spec_member(buf *b, const char *name)
{
    buf_char(b, b->size == 0 ? '{' : ',');
    buf_char(b, '"');
    buf_text(b, name);
    buf_text(b, "\":");
}

static void spec_text(buf *b, const char *name, const char *text)
{
    if (text == NULL)
        return;
    spec_member(b, name);
    canon_string(b, text, strlen(text));
}

static void spec_number(buf *b, const char *name, uint64_t n)
{
    if (n == 0)
        return;
    spec_member(b, name);
    buf_uint(b, n);
}

static void spec_value(buf *b, const char *name, const pawl_value *v)
{
    if (v == NULL)
        return;
    spec_member(b, name);
    canon(b, v);
}

/* Writes {"factor","initial_ms","jitter","max_attempts","max_ms"}. */
static void spec_retry(buf *b, const pawl_retry *r)
{
    char text[REAL_TEXT_MAX];
    size_t at;

    if (r->max_attempts <= 1)
        return;
    spec_member(b, "retry");
    at = b->size;
    buf_text(b, "{");
    if (r->factor > 0) {
        buf_text(b, "\"factor\":");
        buf_put(b, text, real_text(r->factor, text));
    }
    if (r->initial_ms > 0)
        buf_fmt(b, "%s\"initial_ms\":%u", b->size > at + 1 ? "," : "", (unsigned)r->initial_ms);
    if (r->jitter)
        buf_fmt(b, "%s\"jitter\":true", b->size > at + 1 ? "," : "");
    buf_fmt(b, "%s\"max_attempts\":%u", b->size > at + 1 ? "," : "", (unsigned)r->max_attempts);
    if (r->max_ms > 0)
        buf_fmt(b, ",\"max_ms\":%u", (unsigned)r->max_ms);
    buf_char(b, '}');
}

static void spec_timeouts(buf *b, const pawl_limits *l)
{
    const char *names[3] = { "attempt_ms", "heartbeat_ms", "total_ms" };
    uint32_t values[3] = { l->attempt_timeout_ms, l->heartbeat_ms, l->total_timeout_ms };
    const char *sep = "{";

    if (values[0] == 0 && values[1] == 0 && values[2] == 0)
        return;
    spec_member(b, "timeouts");
    for (int i = 0; i < 3; i++) {
        if (values[i] == 0)
            continue;
        buf_fmt(b, "%s\"%s\":%u", sep, names[i], (unsigned)values[i]);
        sep = ",";
    }
    buf_char(b, '}');
}

/* Writes the value, and its references to their own buffer with paths below `prefix`. */
static void spec_args(pawl_step *s, buf *b, const pawl_value *args, buf *beside)
{
    buf_reset(beside);
    if (args == NULL)
        return;
    spec_member(b, "args");
    canon_refs(b, args, &s->refs, beside);
    if (beside->failed)
        b->failed = true;
}

/* Resolves every reference except secrets, because an inverse runs after the channels have changed. False: the visit has the error. */
static bool spec_args_whole(pawl_step *s, buf *b, const pawl_value *args, buf *beside)
{
    const pawl_value *whole, *stand, *secrets = NULL, *one;
    pawl_err why = { PAWL_OK, "" };
    pawl_iter it;
    buf text;

    if (args == NULL || s->refs.count == 0) {
        spec_args(s, b, args, beside);
        return true;
    }
    buf_reset(beside);
    buf_init(&text, &s->alloc);
    canon_refs(&text, args, &s->refs, beside);
    whole = text.failed ? NULL : value_read(&s->mem, text.data, text.size, "arguments", &why);
    buf_reset(&text);
    buf_char(&text, '[');
    buf_put(&text, beside->data, beside->size);
    buf_char(&text, ']');
    stand = text.failed || beside->failed ? NULL : value_read(&s->mem, text.data, text.size, "references", &why);
    buf_free(&text);
    if (whole != NULL && stand != NULL)
        whole = refs_resolve(s->st, &s->mem, s->v->task, s->in != NULL ? s->in->value : NULL, whole, stand, &secrets, &why);
    if (whole == NULL || stand == NULL) {
        s->mem.failed = s->mem.failed || (s->st->load_failed == PAWL_OK && (why.code == PAWL_OK || why.code == PAWL_NOMEM));
        visit_wrong(s, why.code != PAWL_OK ? why.code : PAWL_IO, "%s", why.code != PAWL_OK ? why.text : "what is committed could not be read");
        return false;
    }
    spec_member(b, "args");
    canon(b, whole);
    buf_reset(beside);
    for (it = pawl_iter_of(secrets); (one = pawl_iter_next(&it, NULL)) != NULL;) {
        buf_text(beside, beside->size > 0 ? ",[" : "[");
        canon(beside, pawl_value_at(one, 0));
        buf_text(beside, ",\"secret\",");
        canon(beside, pawl_value_at(one, 1));
        buf_char(beside, ']');
    }
    b->failed = b->failed || beside->failed;
    return true;
}

static void spec_refs(const pawl_step *s, buf *b)
{
    if (s->scratch.size == 0)
        return;
    spec_member(b, "refs");
    buf_char(b, '[');
    buf_put(b, s->scratch.data, s->scratch.size);
    buf_char(b, ']');
}

static const char *spec_done(pawl_step *s, buf *b, size_t *size)
{
    if (b->size == 0)
        buf_char(b, '{');
    buf_char(b, '}');
    return step_copy(s, b, size);
}

static void spec_cost(buf *b, const pawl_cost *c)
{
    const pawl_caps caps = { .tokens = c->tokens, .micros = c->micros, .calls = c->calls };

    if (caps_none(&caps))
        return;
    spec_member(b, "cost");
    share_code(b, &caps);
}

const char *spec_spawn(pawl_step *s, const char *machine, const pawl_value *input, const pawl_caps *share, const spawn_more *more, size_t *size)
{
    buf *b = step_text(s);

    spec_args(s, b, input, &s->scratch);
    if (!caps_none(share)) {
        spec_member(b, "budget");
        share_code(b, share);
    }
    spec_text(b, "effect", machine);
    if (more != NULL)
        spec_text(b, "name", more->name);
    spec_refs(s, b);
    if (more != NULL)
        spec_text(b, "tag", more->tag);
    return spec_done(s, b, size);
}

const char *spec_call(pawl_step *s, const char *effect, const pawl_value *args, const pawl_limits *limits, const char *tag, size_t *size)
{
    buf *b = step_text(s);

    if (limits == NULL || limits->inverse == NULL || s->v == NULL)
        spec_args(s, b, args, &s->scratch);
    else if (!spec_args_whole(s, b, args, &s->scratch))
        return NULL;
    if (limits != NULL && limits->cls != PAWL_CLASS_AT_LEAST_ONCE)
        spec_text(b, "class", class_names[limits->cls]);
    if (limits != NULL)
        spec_cost(b, &limits->cost);
    spec_text(b, "effect", effect);
    if (limits != NULL)
        spec_text(b, "inverse", limits->inverse);
    if (limits != NULL)
        spec_text(b, "on_unknown", limits->on_unknown);
    spec_refs(s, b);
    if (limits != NULL)
        spec_retry(b, &limits->retry);
    spec_text(b, "tag", tag);
    if (limits != NULL)
        spec_timeouts(b, limits);
    return spec_done(s, b, size);
}

bool refs_none(pawl_step *s, const pawl_value *v)
{
    const size_t nodes = v != NULL && s->refs.count > 0 ? value_nodes(v) : 0;

    for (size_t i = 0; i < nodes; i++) {
        const value_ref *r = (val_of(v)[i].tag & NODE_REF) != 0 ? step_ref_of(s, of_val(val_of(v) + i)) : NULL;

        if (r == NULL || strcmp(r->form, "event") == 0)
            continue;
        visit_wrong(s, PAWL_INVALID, "what pawl_ref gives stands in the arguments of a command, and nowhere else");
        return false;
    }
    return true;
}

bool is_no(const pawl_value *answer)
{
    const char *text = pawl_value_string(answer);

    return text != NULL ? strcmp(text, "no") == 0 : pawl_value_type(answer) == PAWL_TYPE_BOOL && !pawl_value_bool(answer);
}

/* The default of a wait is an answer, so the schema must accept it. */
static bool default_fits(pawl_step *s, const pawl_question *q)
{
    pawl_err why = { PAWL_OK, "" };

    if (s->v == NULL || q->otherwise == NULL)
        return true;
    if (q->schema != NULL && (s->m->patterns ? schema_check : schema_check_loose)(q->schema, q->otherwise, "the default", &why) != PAWL_OK)
        visit_wrong(s, why.code, "%s", why.text);
    else if (q->options != NULL && !value_one_of(q->options, q->otherwise))
        visit_wrong(s, PAWL_INVALID, "the default is none of the options");
    else
        return true;
    return false;
}

/* Only a yes or a no is signed. */
static bool approvers_fit(pawl_step *s, const pawl_question *q)
{
    pawl_err why = { PAWL_OK, "" };

    if (s->v == NULL || q->approvers == NULL)
        return true;
    if (q->kind != PAWL_WAIT_APPROVAL)
        visit_wrong(s, PAWL_INVALID, "only an approval has approvers");
    else if (approvers_check(q->approvers, &why) != PAWL_OK)
        visit_wrong(s, why.code, "%s", why.text);
    else
        return refs_none(s, q->approvers);
    return false;
}

const char *spec_ask(pawl_step *s, const pawl_question *q, const char *slot, int64_t now, const char *name,
                     const char *to, const char *tag, bool hold, size_t *size)
{
    buf *b = step_text(s);

    if (s->v != NULL && !(refs_none(s, q->about) && refs_none(s, q->prompt) && refs_none(s, q->schema) && refs_none(s, q->options) &&
                          refs_none(s, q->otherwise)))
        return NULL;
    if (!default_fits(s, q) || !approvers_fit(s, q))
        return NULL;
    spec_value(b, "about", q->about);
    spec_value(b, "approvers", q->approvers);
    spec_number(b, "expires", q->timeout_ms > 0 ? (uint64_t)(now + q->timeout_ms) : 0);
    if (hold)
        spec_value(b, "hold", value_bool(&s->mem, true));
    spec_text(b, "kind", wait_names[q->kind != 0 ? q->kind : PAWL_WAIT_QUESTION]);
    spec_text(b, "name", name);
    spec_text(b, "of", q->asked_of);
    spec_value(b, "options", q->options);
    spec_value(b, "otherwise", q->otherwise);
    spec_value(b, "prompt", q->prompt);
    spec_value(b, "schema", q->schema);
    spec_text(b, "slot", slot);
    spec_text(b, "tag", tag);
    spec_text(b, "to", to);
    return spec_done(s, b, size);
}
