/* doubt.c - turns a command with an unknown outcome into a question to a person (E5). See doubt.h; compensation.c has the fold. */
#include "kernel/compensation.h"
#include "kernel/doubt.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/spec.h"

#include <string.h>

static pawl_class class_of(const pawl_value *spec)
{
    int cls = name_index(class_names, 5, pawl_value_string(pawl_value_get(spec, "class")));

    return (pawl_class)(cls < 0 ? 0 : cls);
}

/* The engine must not guess the outcome of a command that must not happen twice, or that has an inverse. An inverse whose attempts have all failed
 * also needs a person. */
bool doubt_due(const pawl_step *s, const call *c, pawl_outcome outcome)
{
    const pawl_value *spec;
    pawl_class cls;

    if (call_is_inverse(c))
        return outcome != PAWL_OUTCOME_DONE;
    if (outcome != PAWL_OUTCOME_UNKNOWN || state_canceling(s->st) || c->kind != CALL_CALL)
        return false;
    spec = value_read(s->entry.mem, c->spec, c->spec_size, "a spec", NULL);
    cls = class_of(spec);
    return cls == PAWL_CLASS_ONCE || cls == PAWL_CLASS_COMPENSABLE;
}

static const char doubt_schema[] =
    "{\"anyOf\":[{\"const\":\"again\"},"
    "{\"additionalProperties\":false,\"properties\":{\"done\":{}},\"required\":[\"done\"],\"type\":\"object\"},"
    "{\"additionalProperties\":false,\"properties\":{\"failed\":{\"type\":\"string\"}},\"required\":[\"failed\"],\"type\":\"object\"}]}";

pawl_code doubt_add(pawl_step *s, item *it, const call *c, pawl_err *err)
{
    const pawl_value *spec = value_read(&s->mem, c->spec, c->spec_size, "a spec", err);
    const char *effect = pawl_value_string(pawl_value_get(spec, "effect")), *slot;
    const pawl_value *known = s->value != NULL ? s->value : value_null(&s->mem);
    pawl_question q = { .kind = PAWL_WAIT_QUESTION };
    const char *text;
    buf *b = step_text(s);

    id_code(b, it);
    slot = step_copy(s, b, NULL);
    b = step_text(s);
    if (call_is_inverse(c))
        buf_fmt(b, "%s, which was to undo something, did not come to its end", effect != NULL ? effect : "");
    else
        buf_fmt(b, "%s was begun, and what came of it is not known", effect != NULL ? effect : "");
    buf_text(b, ": find out, and answer {\"done\":RESULT}, {\"failed\":TEXT}, or \"again\" to have it performed again");
    text = step_copy(s, b, NULL);
    if (effect == NULL || slot == NULL || text == NULL)
        return s->mem.failed ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "%s: a command without an effect", s->st->run);
    q.prompt = value_pack(&s->mem, err, "{s:s,s:v,s:s,s:s}", "effect", effect, "known", known, "outcome", outcome_names[s->ev->outcome], "text", text);
    q.schema = value_parse(&s->mem, doubt_schema, sizeof doubt_schema - 1, "a schema", err);
    if (q.prompt == NULL || q.schema == NULL)
        return PAWL_NOMEM;
    it->spec = spec_ask(s, &q, slot, s->now, NULL, NULL, pawl_value_string(pawl_value_get(spec, "tag")), false, &it->spec_size);
    it->wait = PAWL_WAIT_QUESTION;
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}
