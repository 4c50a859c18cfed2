/* tool_calls.c - the end of a tool call: its result becomes a message, in request order; and what is done to all calls of an answer. */
#include "agent/agent.h"

/* ---- the end of one ---------------------------------------------------------------------------------------- */

/* The content of a result message: text and valid blocks as they are, anything else as JSON text. Providers would refuse a list with an invalid block. */
static const pawl_value *content_of(turn *t, const pawl_value *result, bool failed)
{
    const pawl_value *v = pawl_value_get(result, "content");
    const char *text;

    v = v != NULL ? v : result != NULL ? result : value_null(t->mem);
    if (pawl_value_type(v) == PAWL_TYPE_ARRAY && pawl_value_get(result, "content") != NULL && blocks_check(v, NULL) == PAWL_OK)
        return v;
    text = pawl_value_string(v);
    if (text != NULL && (!failed || strcmp(text, "Interrupted") == 0))
        return v;
    text = text != NULL ? text : pawl_text(t->s, v);
    return pawl_pack(t->s, "s", failed && text != NULL ? pawl_format(t->s, "Error: %s", text) : text);
}

static void result_message_add(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const pawl_value *content = content_of(t, result_of(t, k), c->failed);

    if (c->failed)
        message_add(t, pawl_pack(t->s, "{s:v,s:b,s:s,s:s,s:s}", "content", content, "is_error", 1, "name", c->name, "role", "tool", "tool_call_id", c->id));
    else
        message_add(t, pawl_pack(t->s, "{s:v,s:s,s:s,s:s}", "content", content, "name", c->name, "role", "tool", "tool_call_id", c->id));
}

const pawl_value *result_fed(turn *t, const pawl_value *result, const char *text)
{
    const pawl_value *v = pawl_value_get(result, "content"), *block = pawl_pack(t->s, "{s:s,s:s}", "text", text, "type", "text");
    const bool blocks = pawl_value_type(v) == PAWL_TYPE_ARRAY && blocks_check(v, NULL) == PAWL_OK;

    if (v == NULL)
        result = pawl_pack(t->s, "{s:v}", "content", v = result != NULL ? result : value_null(t->mem));
    if (blocks)
        v = value_push(t->mem, v, block);
    else
        v = pawl_pack(t->s, "s", pawl_format(t->s, "%s\n\n%s", pawl_value_string(v) != NULL ? pawl_value_string(v) : pawl_text(t->s, v), text));
    return value_with(t->mem, result, "content", v);
}

void call_done(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    agent_call *c = &t->calls[k];
    const pawl_value *note = pawl_value_get(result, "note");

    c->asked = false;
    call_move(t, k, STAGE_DONE);
    result_put(t, k, result, failed);
    if (note != NULL)
        pawl_emit(t->s, "status", pawl_pack(t->s, "{s:v,s:s}", "note", note, "tool_use_id", c->id));
    pawl_emit(t->s, "tool_end", pawl_pack(t->s, "{s:b,s:s,s:v,s:s}", "is_error", failed, "name", c->name, "result", content_of(t, result, failed),
                                          "tool_use_id", c->id));
    while (t->delivered < t->ncalls && t->calls[t->delivered].at == STAGE_DONE)
        result_message_add(t, t->delivered++);
}

void call_fail(turn *t, uint32_t k, const char *text)
{
    call_done(t, k, content_text(t, text), true);
}

/* pawl_flow_drop() leaves alone what this event has made. That is enough: an event gives up calls before it begins any. */
void call_drop_commands(turn *t, uint32_t k)
{
    static const char *const tags[] = { "gate", "tool", "after" };

    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        const char *tag = tag_of(t, tags[i], k);

        PAWL_ASSERT_SLOW(!flow_made(t->s, tag), "no event gives up a call for which it has made a command");
        pawl_flow_drop(t->s, tag);
    }
}

/* ---- all calls of an answer ------------------------------------------------------------------------------- */

void calls_abort(turn *t, const char *text)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at != STAGE_DONE) {
            call_drop_commands(t, k);
            call_fail(t, k, text);
        }
}

void calls_reauthorize(turn *t)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at == STAGE_APPROVED)
            call_move(t, k, STAGE_CHECKING);        /* it was approved under another policy */
}

bool calls_all_done(const turn *t)
{
    for (uint32_t k = 0; k < t->ncalls; k++)
        if (t->calls[k].at != STAGE_DONE)
            return false;
    return true;
}
