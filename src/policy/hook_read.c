/* hook_read.c - reads the `hooks` of settings: for each point a list of groups of a matcher and its hooks.
 *
 * Owns nothing: what it reads is in the caller's arena. Called when settings are loaded and when a policy is compiled; pure, any thread.
 * Invariant: anything not understood is an error that names it. A hook that was silently dropped would be a check that is never made. */
#include "policy/hook.h"

/* Names that Claude Code has and Pawl does not, so that the error can say so. */
static const char *const events_elsewhere[] = {
    "Setup", "UserPromptExpansion", "PostToolBatch", "PermissionRequest", "PermissionDenied", "SubagentStart", "TeammateIdle", "TaskCreated",
    "TaskCompleted", "StopFailure", "PostCompact", "InstructionsLoaded", "ConfigChange", "CwdChanged", "DirectoryAdded", "FileChanged",
    "WorktreeCreate", "WorktreeRemove", "MessageDisplay", "Elicitation", "ElicitationResult",
};
static const char *const types_elsewhere[] = { "mcp_tool", "prompt", "agent" };
static const char *const keys_elsewhere[] = { "async", "asyncRewake", "once", "shell", "args", "allowedEnvVars", "model", "prompt", "server",
                                              "tool", "input" };
static const char *const events_here[] = { "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact",
                                           "SessionStart", "SessionEnd", "PostAssistantResponse", "Notification", "before", "after" };
static const char *const group_keys[] = { "matcher", "hooks" };
static const char *const hook_keys[] = { "type", "command", "run", "url", "headers", "env", "timeout", "profile", "if", "statusMessage", "callback",
                                         "scripts" };
static const char *const foreign_keys[] = { "type", "command", "run", "url", "headers", "timeout", "profile", "if", "statusMessage", "async", "callback",
                                            "scripts" };

#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct settings_reading {
    arena *mem;
    hook_list *out;
    pawl_err *err;
    const char *from, *event;
    const char *project;    /* of hooks in the manner of Claude Code; NULL: in Pawl's own */
    bool pinned;            /* they may have `scripts`, which nobody writes in a file */
    const char *where;      /* the group or hook that is read, in words */
    hook_point point;
    const char *matcher;
} settings_reading;

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static pawl_code members_known(const settings_reading *r, const pawl_value *object, const char *const *keys, size_t n)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key;
    char near[100];

    while (pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key);

        if (is_one_of(name, keys, n))
            continue;
        if (is_one_of(name, keys_elsewhere, COUNT(keys_elsewhere)))
            return fail(r->err, PAWL_INVALID, "%s: \"%s\" exists in Claude Code, and not here; leave it out", r->where, name);
        return fail(r->err, PAWL_INVALID, "%s: there is no \"%.60s\"%s", r->where, name, did_you_mean(near, sizeof near, name, keys, n));
    }
    return PAWL_OK;
}

/* A text of 1 to `most` bytes, copied; *out stays as it is when there is none. */
static pawl_code take_text(const settings_reading *r, const pawl_value *object, const char *key, size_t least, size_t most, const char **out)
{
    const pawl_value *v = pawl_value_get(object, key);
    const char *text = pawl_value_string(v);

    if (v == NULL)
        return PAWL_OK;
    if (text == NULL || strlen(text) != pawl_value_size(v) || pawl_value_size(v) < least)
        return fail(r->err, PAWL_INVALID, "%s: \"%s\" is a text%s", r->where, key, least > 0 ? ", not empty" : "");
    if (pawl_value_size(v) > most)
        return fail(r->err, PAWL_LIMIT, "%s: \"%s\" has %zu bytes, and may have %zu", r->where, key, pawl_value_size(v), most);
    if ((*out = arena_strdup(r->mem, text, pawl_value_size(v))) == NULL)
        return fail(r->err, PAWL_NOMEM, "%s: no memory for \"%s\"", r->where, key);
    return PAWL_OK;
}

/* A list or an object of texts, copied. */
static pawl_code take_texts(const settings_reading *r, const pawl_value *object, const char *key, pawl_type type, size_t most,
                            const pawl_value **out)
{
    const pawl_value *v = pawl_value_get(object, key), *one;
    const char *what = type == PAWL_TYPE_ARRAY ? "a list of words, not empty" : "an object of texts";
    pawl_iter it = pawl_iter_of(v);

    if (v == NULL)
        return PAWL_OK;
    if (pawl_value_type(v) != type || (type == PAWL_TYPE_ARRAY && pawl_value_size(v) == 0))
        return fail(r->err, PAWL_INVALID, "%s: \"%s\" is %s", r->where, key, what);
    if (pawl_value_size(v) > most)
        return fail(r->err, PAWL_LIMIT, "%s: \"%s\" has %zu elements, and may have %zu", r->where, key, pawl_value_size(v), most);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text = pawl_value_string(one);

        if (text == NULL || strlen(text) != pawl_value_size(one) || pawl_value_size(one) > HOOK_COMMAND_BYTES)
            return fail(r->err, PAWL_INVALID, "%s: \"%s\" is %s", r->where, key, what);
    }
    if (strcmp(key, "run") == 0 && pawl_value_size(pawl_value_at(v, 0)) == 0)
        return fail(r->err, PAWL_INVALID, "%s: \"%s\" names no program", r->where, key);
    return (*out = value_copy(r->mem, v)) != NULL ? PAWL_OK : fail(r->err, PAWL_NOMEM, "%s: no memory for \"%s\"", r->where, key);
}

/* ---- a hook --------------------------------------------------------------------------------------------------------- */

static pawl_code type_take(const settings_reading *r, const pawl_value *v, hook_entry *h)
{
    const char *type = pawl_value_string(pawl_value_get(v, "type"));

    if (type == NULL)
        return fail(r->err, PAWL_INVALID, "%s: \"type\" is \"command\" or \"http\"", r->where);
    if (is_one_of(type, types_elsewhere, COUNT(types_elsewhere)))
        return fail(r->err, PAWL_INVALID, "%s: type \"%s\" exists in Claude Code, and not here: there are \"command\" and \"http\"", r->where,
                    type);
    if (strcmp(type, "callback") == 0 && strcmp(r->from, HOOKS_OF_CLIENT) == 0)
        h->type = HOOK_CALLBACK;
    else if (strcmp(type, "command") == 0)
        h->type = HOOK_COMMAND;
    else if (strcmp(type, "http") == 0)
        h->type = HOOK_HTTP;
    else
        return fail(r->err, PAWL_INVALID, "%s: there is no type \"%.60s\": there are \"command\" and \"http\"", r->where, type);
    return PAWL_OK;
}

static pawl_code profile_take(const settings_reading *r, const pawl_value *v, hook_entry *h)
{
    const pawl_value *profile = pawl_value_get(v, "profile"), *timeout = pawl_value_get(v, "timeout");
    const char *name = pawl_value_string(profile);

    h->profile = h->type == HOOK_CALLBACK ? HOOK_CLAUDE : HOOK_STRICT;
    if (name != NULL && strcmp(name, "claude") == 0)
        h->profile = HOOK_CLAUDE;
    else if (profile != NULL && (name == NULL || strcmp(name, "strict") != 0))
        return fail(r->err, PAWL_INVALID, "%s: \"profile\" is \"strict\" or \"claude\"", r->where);
    h->timeout_s = HOOK_TIMEOUT_S;
    if (timeout == NULL)
        return PAWL_OK;
    if (pawl_value_type(timeout) != PAWL_TYPE_INT || pawl_value_uint(timeout) == 0 || pawl_value_uint(timeout) > HOOK_TIMEOUT_S_MAX)
        return fail(r->err, PAWL_INVALID, "%s: \"timeout\" is a whole number of seconds, from 1 to %d", r->where, HOOK_TIMEOUT_S_MAX);
    h->timeout_s = (uint32_t)pawl_value_uint(timeout);
    return PAWL_OK;
}

/* Keys that it gets from the environment although they are some. */
static pawl_code env_take(const settings_reading *r, const pawl_value *v, hook_entry *h)
{
    const pawl_code rc = take_texts(r, v, "env", PAWL_TYPE_ARRAY, HOOK_ENV_NAMES, &h->env);
    pawl_iter it = pawl_iter_of(h->env);
    const char *name;

    while (rc == PAWL_OK && (name = pawl_value_string(pawl_iter_next(&it, NULL))) != NULL)
        if (*name == '\0' || strchr(name, '=') != NULL || (!r->pinned && !variable_name_valid(name)))    /* what a run has is read as it is */
            return fail(r->err, PAWL_INVALID, "%s: \"env\": \"%.60s\" is no name of one variable: its value comes from the environment, and there is no "
                        "pattern for several", r->where, name);
    return rc;
}

/* A hook of Claude Code that runs in the background there: its answer decides nothing. */
static pawl_code async_take(const settings_reading *r, const pawl_value *v, hook_entry *h)
{
    const pawl_value *async = pawl_value_get(v, "async");

    h->async = pawl_value_bool(async);
    return async == NULL || pawl_value_type(async) == PAWL_TYPE_BOOL ? PAWL_OK
               : fail(r->err, PAWL_INVALID, "%s: \"async\" is true or false", r->where);
}

/* The digests of the files that it may run. */
static pawl_code scripts_take(const settings_reading *r, const pawl_value *v, hook_entry *h)
{
    const pawl_value *scripts = pawl_value_get(v, "scripts");

    if (scripts == NULL)
        return PAWL_OK;
    if (pawl_value_type(scripts) != PAWL_TYPE_OBJECT)
        return fail(r->err, PAWL_INVALID, "%s: \"scripts\" is an object", r->where);
    return (h->scripts = value_copy(r->mem, scripts)) != NULL ? PAWL_OK : fail(r->err, PAWL_NOMEM, "%s: no memory for it", r->where);
}

/* Checks that the hook has the member that its type needs: a command, words or a URL. */
static pawl_code doing_check(const settings_reading *r, const hook_entry *h)
{
    const bool command = h->command != NULL, run = h->run != NULL;

    if (h->rule != NULL && h->point > HOOK_POST_FAILURE)
        return fail(r->err, PAWL_INVALID, "%s: \"if\" is of calls, and at %s there is none; leave it out", r->where, r->event);
    if ((h->type == HOOK_CALLBACK) != (h->callback != NULL) ||
        (h->callback != NULL && (command || run || h->url != NULL || h->headers != NULL || h->env != NULL)))
        return fail(r->err, PAWL_INVALID, "%s: \"callback\" is of a hook of type \"callback\", which has nothing else to do", r->where);
    if (h->type == HOOK_COMMAND && (h->url != NULL || h->headers != NULL))
        return fail(r->err, PAWL_INVALID, "%s: \"%s\" is of a hook of type \"http\"", r->where, h->url != NULL ? "url" : "headers");
    if (h->type == HOOK_COMMAND && command == run)
        return fail(r->err, PAWL_INVALID, "%s: a command has \"command\", a line for the shell, or \"run\", a list of words%s", r->where,
                    command ? ", and not both" : "");
    if (h->type == HOOK_HTTP && (command || run || h->env != NULL))
        return fail(r->err, PAWL_INVALID, "%s: \"%s\" is of a hook of type \"command\"", r->where, command ? "command" : run ? "run" : "env");
    if (h->type == HOOK_HTTP && (h->url == NULL || (strncmp(h->url, "https://", 8) != 0 && strncmp(h->url, "http://", 7) != 0)))
        return fail(r->err, PAWL_INVALID, "%s: \"url\" begins with https:// or http://", r->where);
    return PAWL_OK;
}

static pawl_code hook_take(const settings_reading *r, const pawl_value *v)
{
    const bool own = r->project == NULL;
    const size_t later = r->pinned ? 0 : 1;
    hook_entry h = { .name = r->where, .from = r->from, .point = r->point, .matcher = r->matcher, .project = r->project,
                     .nodes = strcmp(r->event, "before") == 0 || strcmp(r->event, "after") == 0 };
    const char *status = NULL;
    pawl_code rc;

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return fail(r->err, PAWL_INVALID, "%s: a hook is an object", r->where);
    if ((rc = own ? members_known(r, v, hook_keys, COUNT(hook_keys) - later) : members_known(r, v, foreign_keys, COUNT(foreign_keys) - later)) != PAWL_OK ||
        (rc = type_take(r, v, &h)) != PAWL_OK || (rc = profile_take(r, v, &h)) != PAWL_OK || (rc = async_take(r, v, &h)) != PAWL_OK ||
        (rc = take_text(r, v, "command", 1, HOOK_COMMAND_BYTES, &h.command)) != PAWL_OK ||
        (rc = take_text(r, v, "url", 1, HOOK_URL_BYTES, &h.url)) != PAWL_OK ||
        (rc = take_text(r, v, "callback", 0, HOOK_RULE_BYTES, &h.callback)) != PAWL_OK ||
        (rc = take_text(r, v, "if", 1, HOOK_RULE_BYTES, &h.rule)) != PAWL_OK ||
        (rc = take_text(r, v, "statusMessage", 0, HOOK_TEXT_BYTES, &status)) != PAWL_OK ||
        (rc = take_texts(r, v, "run", PAWL_TYPE_ARRAY, HOOK_RUN_WORDS, &h.run)) != PAWL_OK ||
        (rc = take_texts(r, v, "headers", PAWL_TYPE_OBJECT, HOOK_HEADERS, &h.headers)) != PAWL_OK ||
        (rc = env_take(r, v, &h)) != PAWL_OK || (rc = scripts_take(r, v, &h)) != PAWL_OK || (rc = doing_check(r, &h)) != PAWL_OK)
        return rc;
    if (r->out->count == HOOKS_MAX)
        return fail(r->err, PAWL_LIMIT, "%s: more than %d hooks (HOOKS_MAX)", r->where, HOOKS_MAX);
    if (!arena_room(r->mem, (void **)&r->out->items, &r->out->cap, r->out->count, sizeof *r->out->items))
        return fail(r->err, PAWL_NOMEM, "%s: no memory for it", r->where);
    r->out->items[r->out->count++] = h;
    return PAWL_OK;
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

static pawl_code group_read(settings_reading *r, const pawl_value *group, size_t index)
{
    const pawl_value *hooks = pawl_value_get(group, "hooks");
    const char *why = NULL, *where = hook_words(r->mem, "%s: %s[%zu]", r->from, r->event, index);
    pawl_code rc;

    if (where == NULL)
        return fail(r->err, PAWL_NOMEM, "%s: no memory for its hooks", r->from);
    r->where = where;
    r->matcher = "";
    if (pawl_value_type(group) != PAWL_TYPE_OBJECT || pawl_value_type(hooks) != PAWL_TYPE_ARRAY || pawl_value_size(hooks) == 0)
        return fail(r->err, PAWL_INVALID, "%s: it is an object with \"hooks\", a list that is not empty", where);
    if ((rc = members_known(r, group, group_keys, COUNT(group_keys))) != PAWL_OK ||
        (rc = take_text(r, group, "matcher", 0, HOOK_MATCHER_BYTES, &r->matcher)) != PAWL_OK)
        return rc;
    if (!hook_matcher_reads(r->matcher, &why))
        return fail(r->err, PAWL_INVALID, "%s: matcher \"%.80s\": %s", where, r->matcher, why);
    if (hook_point_matches(r->point) == NULL && *r->matcher != '\0' && strcmp(r->matcher, "*") != 0)
        return fail(r->err, PAWL_INVALID, "%s: matcher \"%.80s\": at %s there is nothing that it could fit; leave it out", where, r->matcher, r->event);
    for (size_t i = 0; i < pawl_value_size(hooks); i++) {
        if ((r->where = hook_words(r->mem, "%s.hooks[%zu]", where, i)) == NULL)
            return fail(r->err, PAWL_NOMEM, "%s: no memory for its hooks", r->from);
        if ((rc = hook_take(r, pawl_value_at(hooks, i))) != PAWL_OK)
            return rc;
    }
    return PAWL_OK;
}

static pawl_code event_read(settings_reading *r, const pawl_value *groups)
{
    char near[100];
    pawl_code rc = PAWL_OK;

    r->point = hook_point_named(r->event);
    if (is_one_of(r->event, events_elsewhere, COUNT(events_elsewhere)))
        return fail(r->err, PAWL_INVALID, "%s: event \"%s\" exists in Claude Code, and not here: docs/POLICY.md has those that do", r->from,
                    r->event);
    if (r->point == HOOK_NOWHERE)
        return fail(r->err, PAWL_INVALID, "%s: there is no event \"%.60s\"%s: docs/POLICY.md has them all", r->from, r->event,
                    did_you_mean(near, sizeof near, r->event, events_here, COUNT(events_here)));
    if (pawl_value_type(groups) != PAWL_TYPE_ARRAY)
        return fail(r->err, PAWL_INVALID, "%s: %s: it is a list of {\"matcher\", \"hooks\"}", r->from, r->event);
    for (size_t i = 0; i < pawl_value_size(groups) && rc == PAWL_OK; i++)
        rc = group_read(r, pawl_value_at(groups, i), i);
    return rc;
}

bool hook_event_elsewhere(const char *name)
{
    return is_one_of(name, events_elsewhere, COUNT(events_elsewhere));
}

static pawl_code all_read(settings_reading r, const pawl_value *hooks, const char *from)
{
    arena *mem = r.mem;
    hook_list *out = r.out;
    pawl_err *err = r.err;
    const size_t before = out->count;
    pawl_iter it = pawl_iter_of(hooks);
    const pawl_value *key, *groups;
    pawl_code rc = PAWL_OK;

    if ((r.from = hook_words(mem, "%s", from != NULL && *from != '\0' ? from : "hooks")) == NULL)
        return fail(err, PAWL_NOMEM, "hooks: no memory for them");
    if (pawl_value_type(hooks) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "%s: the hooks are an object of events", r.from);
    while (rc == PAWL_OK && (groups = pawl_iter_next(&it, &key)) != NULL) {
        if ((r.event = arena_strdup(mem, pawl_value_string(key), pawl_value_size(key))) == NULL)
            rc = fail(err, PAWL_NOMEM, "%s: no memory for its hooks", r.from);
        else
            rc = event_read(&r, groups);
    }
    if (rc != PAWL_OK)
        out->count = before;
    return rc;
}

pawl_code hooks_read(arena *mem, const pawl_value *hooks, const char *from, hook_list *out, pawl_err *err)
{
    return all_read((settings_reading){ .mem = mem, .out = out, .err = err }, hooks, from);
}

pawl_code hooks_read_in(arena *mem, const pawl_value *hooks, const char *from, const char *project, hook_list *out, pawl_err *err)
{
    return all_read((settings_reading){ .mem = mem, .out = out, .err = err, .project = project, .pinned = true }, hooks, from);
}

bool hook_wanted(const hook_entry *h, hook_point p, const char *node, const char *tool)
{
    const char *name = h->nodes ? node : tool, *there = h->project != NULL ? hook_tool_elsewhere(name) : name;

    if (name == NULL || h->point != p)
        return false;
    if (h->project != NULL && strcmp(name, "Agent") == 0 && hook_fits(h->matcher, "Task"))     /* its older name there */
        return true;
    return hook_fits(h->matcher, name) || (there != name && hook_fits(h->matcher, there));
}

bool hook_wanted_at(const hook_entry *h, hook_point p, const char *of)
{
    return h->point == p && (hook_point_matches(p) == NULL || hook_fits(h->matcher, of));
}
