/* hook_foreign.c - converts the `hooks` of Claude Code's settings to the form that hooks_read_in reads, and reports what is left out (P14).
 *
 * Owns nothing; pure, any thread. Called when settings are loaded.
 * Invariant: what could deny something and is not here is refused by its name, unless the person has said that it is ignored. */
#include "policy/hook.h"

enum { PROMPT_TIMEOUT_S = 30 };         /* of a hook at UserPromptSubmit that says none; any other has HOOK_TIMEOUT_S_MAX */

typedef struct foreign_reading {
    arena *mem;
    const hook_foreign *f;
    pawl_err *err;
    const char *event, *where;
    hook_point point;
    bool failed;                /* err says why */
} foreign_reading;

/* ---- what is left out ----------------------------------------------------------------------------------- */

static void foreign_report(foreign_reading *r, const char *what)
{
    const char *text = hook_words(r->mem, "%s: %s", r->where, what);

    if (text != NULL)
        r->f->told(r->f->ctx, text);
}

static bool is_ignored(const foreign_reading *r)
{
    pawl_iter it = pawl_iter_of(r->f->ignored);
    const char *name;

    while ((name = pawl_value_string(pawl_iter_next(&it, NULL))) != NULL)
        if (strncmp(name, "hooks.", 6) == 0 && strcmp(name + 6, r->event) == 0)
            return true;
    return false;
}

/* The hook or the event that is read cannot be honoured. `denies`: it might have denied something. NULL, for the caller to return. */
static const pawl_value *left_out(foreign_reading *r, bool denies, const char *what)
{
    if (!denies || is_ignored(r)) {
        foreign_report(r, what);
        return NULL;
    }
    r->failed = true;
    fail(r->err, PAWL_INVALID, "%s: %s, and it may deny something: mend the file, or go on without it by {\"claude\": {\"ignore\": [\"hooks.%.40s\"]}} in your "
         "own settings.json of Pawl", r->where, what, r->event);
    return NULL;
}

static const pawl_value *no_room(foreign_reading *r)
{
    r->failed = true;
    fail(r->err, PAWL_NOMEM, "%s: no memory for its hooks", r->f->from);
    return NULL;
}

/* ---- a hook ------------------------------------------------------------------------------------------------ */

/* The text with the path of the project in place of ${CLAUDE_PROJECT_DIR}; NULL: no memory. */
static const pawl_value *placed(foreign_reading *r, const pawl_value *text)
{
    static const char name[] = "${CLAUDE_PROJECT_DIR}";
    const char *at = pawl_value_string(text), *next;
    const pawl_value *out = NULL;
    buf b;

    buf_init(&b, NULL);
    for (; (next = strstr(at, name)) != NULL; at = next + sizeof name - 1) {
        buf_put(&b, at, (size_t)(next - at));
        buf_put(&b, r->f->project, strlen(r->f->project));
    }
    buf_put(&b, at, strlen(at));
    if (!b.failed)
        out = value_string(r->mem, b.data != NULL ? b.data : "", b.size);
    buf_free(&b);
    return out;
}

/* The exec form: a program and its arguments, without a shell. */
static const pawl_value *words_of(foreign_reading *r, const pawl_value *command, const pawl_value *args)
{
    const pawl_value *run = value_pack(r->mem, NULL, "[v]", placed(r, command)), *one;
    pawl_iter it = pawl_iter_of(args);

    if (pawl_value_type(args) != PAWL_TYPE_ARRAY)
        return left_out(r, hook_point_may_deny(r->point), "\"args\" is a list of texts");
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        if (pawl_value_type(one) != PAWL_TYPE_STRING)
            return left_out(r, hook_point_may_deny(r->point), "\"args\" is a list of texts");
        run = value_push(r->mem, run, placed(r, one));
    }
    return run != NULL ? run : no_room(r);
}

/* Adds what the hook runs to `out`. NULL: the hook is left out. */
static const pawl_value *doing_of(foreign_reading *r, const pawl_value *v, const pawl_value *out)
{
    const pawl_value *type = pawl_value_get(v, "type"), *command = pawl_value_get(v, "command"), *args = pawl_value_get(v, "args"), *run;
    const char *word = pawl_value_string(type), *program = pawl_value_string(pawl_value_get(v, "shell"));
    const bool denies = hook_point_may_deny(r->point);

    if (word == NULL || (strcmp(word, "command") != 0 && strcmp(word, "http") != 0))
        return left_out(r, denies, hook_words(r->mem, "hooks of type \"%.40s\" are not here: \"command\" and \"http\" are", word != NULL ? word : ""));
    out = value_with(r->mem, out, "type", type);
    if (strcmp(word, "http") == 0) {
        if (pawl_value_size(pawl_value_get(v, "allowedEnvVars")) > 0)
            return left_out(r, denies, "\"allowedEnvVars\": no variable is put into headers here");
        if (pawl_value_get(v, "headers") != NULL)
            out = value_with(r->mem, out, "headers", pawl_value_get(v, "headers"));
        return value_with(r->mem, out, "url", pawl_value_get(v, "url") != NULL ? pawl_value_get(v, "url") : value_null(r->mem));
    }
    if (pawl_value_type(command) != PAWL_TYPE_STRING)
        return left_out(r, denies, "a hook of type \"command\" has a \"command\", which is a text");
    if (args != NULL)
        return (run = words_of(r, command, args)) == NULL ? NULL : value_with(r->mem, out, "run", run);
    if (program != NULL && strcmp(program, "bash") != 0)
        return left_out(r, denies, hook_words(r->mem, "\"shell\": \"%.40s\" is not here: \"bash\" is", program));
    if (program != NULL)
        return value_with(r->mem, out, "run", value_pack(r->mem, NULL, "[s,s,v]", "bash", "-c", command));
    return value_with(r->mem, out, "command", command);
}

static bool timeout_fits(const pawl_value *v)
{
    const pawl_type type = pawl_value_type(v);

    return v == NULL || (type == PAWL_TYPE_INT && pawl_value_int(v) > 0) || (type == PAWL_TYPE_REAL && pawl_value_real(v) > 0);
}

/* Seconds: those of the hook, within what is possible here, or those of the event. */
static int64_t timeout_of(foreign_reading *r, const pawl_value *v)
{
    const pawl_value *timeout = pawl_value_get(v, "timeout");
    const double given = pawl_value_type(timeout) == PAWL_TYPE_INT ? (double)pawl_value_int(timeout) : pawl_value_real(timeout);

    if (timeout == NULL)
        return r->point == HOOK_PROMPT ? PROMPT_TIMEOUT_S : r->point == HOOK_SESSION_END ? HOOK_TIMEOUT_S : HOOK_TIMEOUT_S_MAX;
    if (given > HOOK_TIMEOUT_S_MAX)
        foreign_report(r, hook_words(r->mem, "its timeout counts as %d seconds, the most that is possible", HOOK_TIMEOUT_S_MAX));
    return given > HOOK_TIMEOUT_S_MAX ? HOOK_TIMEOUT_S_MAX : given < 1 ? 1 : (int64_t)given;
}

/* NULL: it is left out. `once` is of hooks in skills, and does nothing in settings there either. */
static const pawl_value *hook_of(foreign_reading *r, const pawl_value *v)
{
    static const char *const known[] = { "type", "command", "args", "shell", "async", "asyncRewake", "url", "headers", "allowedEnvVars", "timeout", "if",
                                         "statusMessage", "once", "model", "prompt", "server", "tool", "input", "continueOnBlock" };
    const pawl_value *out = value_pack(r->mem, NULL, "{s:s}", "profile", "claude"), *key;
    pawl_iter it = pawl_iter_of(v);

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return left_out(r, hook_point_may_deny(r->point), "a hook is an object");
    while (pawl_iter_next(&it, &key) != NULL) {
        size_t i = 0;

        while (i < sizeof known / sizeof *known && strcmp(known[i], pawl_value_string(key)) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            return left_out(r, hook_point_may_deny(r->point), hook_words(r->mem, "\"%.60s\" is not known here", pawl_value_string(key)));
    }
    if (!timeout_fits(pawl_value_get(v, "timeout")))
        return left_out(r, hook_point_may_deny(r->point), "\"timeout\" is a number of seconds above 0");
    if (pawl_value_get(v, "if") != NULL && r->point > HOOK_POST_FAILURE)
        return left_out(r, false, "a hook with \"if\" is about calls, and never runs at this event");
    if (pawl_value_get(v, "if") != NULL)
        out = value_with(r->mem, out, "if", pawl_value_get(v, "if"));
    if (pawl_value_bool(pawl_value_get(v, "async")) && !pawl_value_bool(pawl_value_get(v, "asyncRewake"))) {
        foreign_report(r, "\"async\": it runs in its turn here, and its answer counts for nothing");
        out = value_with(r->mem, out, "async", value_bool(r->mem, true));
    }
    if ((out = doing_of(r, v, out)) == NULL)
        return NULL;
    out = value_with(r->mem, out, "timeout", value_int(r->mem, timeout_of(r, v)));
    return out != NULL ? out : no_room(r);
}

/* ---- events ------------------------------------------------------------------------------------------------- */

/* NULL: nothing is left of it. A matcher where nothing is matched is ignored there, too. */
static const pawl_value *group_of(foreign_reading *r, const pawl_value *group, size_t index)
{
    const pawl_value *hooks = pawl_value_get(group, "hooks"), *matcher = pawl_value_get(group, "matcher"), *kept = value_pack(r->mem, NULL, "[]"), *one;
    const char *where = hook_words(r->mem, "%s: %s[%zu]", r->f->from, r->event, index);

    r->where = where;
    if (pawl_value_type(hooks) != PAWL_TYPE_ARRAY)
        return left_out(r, hook_point_may_deny(r->point), "it is an object with \"hooks\", a list");
    for (size_t i = 0; i < pawl_value_size(hooks) && !r->failed; i++) {
        r->where = hook_words(r->mem, "%s.hooks[%zu]", where, i);
        if ((one = hook_of(r, pawl_value_at(hooks, i))) != NULL)
            kept = value_push(r->mem, kept, one);
    }
    if (r->failed || pawl_value_size(kept) == 0)
        return NULL;
    kept = value_pack(r->mem, NULL, "{s:v}", "hooks", kept);
    return matcher != NULL && hook_point_matches(r->point) != NULL ? value_with(r->mem, kept, "matcher", matcher) : kept;
}

/* PostToolBatch ends the loop before the next request; any other event that is missing here adds, or is about what is not here. */
static const pawl_value *event_hooks(foreign_reading *r, const pawl_value *groups)
{
    const pawl_value *kept = value_pack(r->mem, NULL, "[]"), *one;

    r->where = hook_words(r->mem, "%s: %s", r->f->from, r->event);
    r->point = hook_point_named(r->event);
    if (hook_event_elsewhere(r->event))
        return left_out(r, strcmp(r->event, "PostToolBatch") == 0, "there is no such event here, so its hooks never run");
    if (r->point == HOOK_NOWHERE || strcmp(r->event, "before") == 0 || strcmp(r->event, "after") == 0)
        return left_out(r, true, "this event is not known here");
    if (pawl_value_type(groups) != PAWL_TYPE_ARRAY)
        return left_out(r, hook_point_may_deny(r->point), "it is a list of {\"matcher\", \"hooks\"}");
    for (size_t i = 0; i < pawl_value_size(groups) && !r->failed; i++)
        if ((one = group_of(r, pawl_value_at(groups, i), i)) != NULL)
            kept = value_push(r->mem, kept, one);
    return r->failed || pawl_value_size(kept) == 0 ? NULL : kept;
}

const pawl_value *hooks_of_claude(arena *mem, const pawl_value *hooks, const hook_foreign *f, pawl_err *err)
{
    foreign_reading r = { .mem = mem, .f = f, .err = err };
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *groups, *one;
    pawl_iter it = pawl_iter_of(hooks);

    if (pawl_value_type(hooks) != PAWL_TYPE_OBJECT) {
        fail(err, PAWL_INVALID, "%s: the hooks are an object of events", f->from);
        return NULL;
    }
    while (!r.failed && (groups = pawl_iter_next(&it, &key)) != NULL) {
        if ((r.event = arena_strdup(mem, pawl_value_string(key), pawl_value_size(key))) == NULL)
            return no_room(&r);
        if ((one = event_hooks(&r, groups)) != NULL)
            out = value_with(mem, out, r.event, one);
    }
    if (r.failed)
        return NULL;
    return out != NULL && !mem->failed ? out : no_room(&r);
}
