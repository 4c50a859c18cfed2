/* seen.c - which content of which file the run has seen, so that no call changes another one: a model that writes over what it has not read loses it.
 *
 * Called by tool_runs.c. The channel @seen has the version that a handler reported last, by the path that the call named, and by the path without links. The
 * handler of a tool gets that of its file and compares it with what it has opened: here is only what the journal says. */
#include "agent/agent.h"

static const char *file_of(turn *t, uint32_t k)
{
    return gate_path(t->mem, pawl_value_get(t->calls[k].input, "file_path"), pawl_get_string(t->s, "@cwd"));
}

const pawl_value *with_seen(turn *t, uint32_t k, const pawl_value *args)
{
    const char *file = t->calls[k].tool->seen ? file_of(t, k) : NULL;
    const pawl_value *version = file != NULL ? pawl_value_get(t->seen, file) : NULL;

    if (version == NULL && file != NULL)
        version = pawl_value_get(pawl_get(t->s, "@seen"), file);
    return t->calls[k].tool->seen ? value_with(t->mem, args, "seen", version != NULL ? version : value_null(t->mem)) : args;
}

void seen_keep(turn *t, uint32_t k, const pawl_value *result)
{
    const char *file = t->calls[k].tool->seen ? file_of(t, k) : NULL;
    const pawl_value *seen = pawl_value_get(result, "seen"), *version = pawl_value_get(seen, "version"), *now;
    const char *real = pawl_value_string(pawl_value_get(seen, "path"));

    if (file == NULL || real == NULL || pawl_value_type(version) != PAWL_TYPE_STRING)
        return;
    now = value_with(t->mem, value_pack(t->mem, NULL, "{}"), file, version);
    t->seen = strcmp(real, file) == 0 ? now : value_with(t->mem, now, real, version);       /* an event brings one result */
    pawl_set(t->s, "@seen", t->seen);
}
