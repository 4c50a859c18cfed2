/* usual_args.c - replaces usual names of arguments by those of a tool's schema, before the schema, a rule or a person sees them.
 *
 * Called by src/agent for what a model says, and by src/effect/tool for all calls; pure. */
#include "policy/usual_args.h"

typedef struct usual_arg {
    const char *tool, *name, *own;
    int64_t most;               /* of a number; 0: no limit */
    bool none_is_all;           /* 0 means as many as there may be */
} usual_arg;

static const usual_arg usual[] = {
    { "grep", "-i", "ignore_case", 0, false }, { "grep", "-n", "line_numbers", 0, false },
    { "grep", "-A", "after", 0, false }, { "grep", "-B", "before", 0, false }, { "grep", "-C", "context", 0, false },
    { "grep", "head_limit", "max_matches", 2000, true },
    { "bash", "timeout", "timeout_ms", 600000, false },
    { "spawn_agent", "subagent_type", "agent", 0, false },
};

/* Members that change nothing. What restricts a call, or changes what it does, is none of these. */
static const char *const decorations[] = { "description", "explanation", "reason", "thought", "title", "summary", "activeForm" };

static bool args_key_is(const pawl_value *key, const char *name)
{
    return strcmp(pawl_value_string(key), name) == 0;
}

static const pawl_value *args_limited(arena *mem, const usual_arg *u, const pawl_value *v)
{
    if (u->most > 0 && pawl_value_type(v) == PAWL_TYPE_INT && (pawl_value_int(v) > u->most || (u->none_is_all && pawl_value_int(v) == 0)))
        return value_int(mem, u->most);
    return v;
}

static const pawl_value *args_renamed(arena *mem, const usual_arg *u, const pawl_value *input)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *v;
    pawl_iter it = pawl_iter_of(input);

    while (out != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        out = args_key_is(key, u->name) ? value_with(mem, out, u->own, args_limited(mem, u, v)) : value_with(mem, out, pawl_value_string(key), v);
    return out;
}

const pawl_value *args_usual(arena *mem, const char *tool, const pawl_value *input)
{
    const char *mode;

    if (pawl_value_type(input) != PAWL_TYPE_OBJECT)
        return input;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && input != NULL; i++)
        if (strcmp(usual[i].tool, tool) == 0 && pawl_value_get(input, usual[i].name) != NULL && pawl_value_get(input, usual[i].own) == NULL)
            input = args_renamed(mem, &usual[i], input);
    mode = input != NULL && strcmp(tool, "grep") == 0 ? pawl_value_string(pawl_value_get(input, "output_mode")) : NULL;
    return mode != NULL && strcmp(mode, "files_with_matches") == 0 ? value_with(mem, input, "output_mode", value_string(mem, "files", 5)) : input;
}

static bool args_decorate(const pawl_value *schema, const char *name)
{
    for (size_t i = 0; i < sizeof decorations / sizeof *decorations; i++)
        if (strcmp(decorations[i], name) == 0)
            return pawl_value_get(pawl_value_get(schema, "properties"), name) == NULL;
    return false;
}

const pawl_value *args_needed(arena *mem, const pawl_value *schema, const pawl_value *input)
{
    const pawl_value *out, *key, *v;
    pawl_iter it = pawl_iter_of(input);
    bool any = false;

    if (pawl_value_type(input) != PAWL_TYPE_OBJECT)
        return input;
    while (!any && pawl_iter_next(&it, &key) != NULL)
        any = args_decorate(schema, pawl_value_string(key));
    if (!any)
        return input;
    out = value_pack(mem, NULL, "{}");
    it = pawl_iter_of(input);
    while (out != NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        if (!args_decorate(schema, pawl_value_string(key)))
            out = value_with(mem, out, pawl_value_string(key), v);
    return out;
}
