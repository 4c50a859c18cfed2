/* given.c - rules and folders of a command line, and hooks of a connected client, in addition to the settings.
 *
 * Called when a run begins and each time it goes on, on the thread that drives the session. Owns nothing.
 * Invariant: what only widens holds as long as the call that gave it. What restricts stays: a later call keeps the ask and deny rules and the hooks that it
 * finds in the "@policy" of the run, and a hook whose client is gone denies (P5). */
#include "app/session.h"
#include "app/settings.h"
#include "policy/gate.h"

#include <stdlib.h>
#include <string.h>

static bool is_given(const pawl_value *one)
{
    const char *from = pawl_value_string(pawl_value_get(one, "from"));

    return from != NULL && (strncmp(from, "--", 2) == 0 || strcmp(from, HOOKS_OF_CLIENT) == 0);
}

/* The elements of `more` behind those of policy.NAME; `kept`: only those that an earlier call gave. */
static const pawl_value *list_add(arena *mem, const pawl_value *policy, const char *name, const pawl_value *more, bool kept)
{
    const pawl_value *list = pawl_value_get(policy, name), *one;
    pawl_iter it = pawl_iter_of(more);
    bool any = false;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        if ((kept && !is_given(one)) || value_among(list, one))
            continue;
        list = value_push(mem, list != NULL ? list : value_pack(mem, NULL, "[]"), one);
        any = true;
    }
    return any ? value_with(mem, policy, name, list) : policy;
}

/* ---- hooks of clients --------------------------------------------------------------------------------- */

static const char *matcher_of(const pawl_value *group)
{
    const char *text = pawl_value_string(pawl_value_get(group, "matcher"));

    return text != NULL ? text : "";
}

/* Whether the client here has a hook for that event and that matcher, too. */
static bool is_replaced(const pawl_value *given, const char *event, const pawl_value *group)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(given, "hooks")), at;
    const pawl_value *one, *other;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        at = pawl_iter_of(pawl_value_get(pawl_value_get(one, "hooks"), event));
        while ((other = pawl_iter_next(&at, NULL)) != NULL)
            if (is_given(one) && strcmp(matcher_of(other), matcher_of(group)) == 0)
                return true;
    }
    return false;
}

/* The group without the ids of its callbacks, which a later client uses for hooks of its own. */
static const pawl_value *group_left(arena *mem, const pawl_value *group)
{
    const pawl_value *hooks = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(pawl_value_get(group, "hooks"));

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        hooks = value_push(mem, hooks, value_with(mem, one, "callback", value_string(mem, "", 0)));
    return value_with(mem, group, "hooks", hooks);
}

/* The hooks of an earlier client that the one here does not have. */
static const pawl_value *events_left(const session *s, arena *mem, const pawl_value *events)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *groups, *event, *group;
    pawl_iter it = pawl_iter_of(events), at;

    while ((groups = pawl_iter_next(&it, &event)) != NULL) {
        const pawl_value *left = value_pack(mem, NULL, "[]");

        at = pawl_iter_of(groups);
        while ((group = pawl_iter_next(&at, NULL)) != NULL)
            if (!is_replaced(s->given, pawl_value_string(event), group))
                left = value_push(mem, left, group_left(mem, group));
        if (pawl_value_size(left) > 0)
            out = value_with(mem, out, pawl_value_string(event), left);
    }
    return out;
}

/* Without a client that is connected they stay as they are: their client may come again, and be asked once more what it was asked. */
static const pawl_value *hooks_keep(const session *s, arena *mem, const pawl_value *policy, const pawl_value *was)
{
    const pawl_value *list = pawl_value_get(policy, "hooks"), *one, *left;
    pawl_iter it = pawl_iter_of(pawl_value_get(was, "hooks"));
    bool any = false;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *from = pawl_value_string(pawl_value_get(one, "from"));
        const bool client = from != NULL && strcmp(from, HOOKS_OF_CLIENT) == 0;

        if (!is_given(one) || value_among(list, one) || (client && s->gives_up_hooks))
            continue;
        if (client && s->client != NULL) {
            left = events_left(s, mem, pawl_value_get(one, "hooks"));
            if (pawl_value_size(left) == 0)
                continue;
            one = value_with(mem, one, "hooks", left);
        }
        list = value_push(mem, list != NULL ? list : value_pack(mem, NULL, "[]"), one);
        any = true;
    }
    return any ? value_with(mem, policy, "hooks", list) : policy;
}

/* ---- sources ------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Whether the rule is of settings that the call does not name. */
static bool is_left_out(const session *s, const char *person, const char *from)
{
    const bool local = from != NULL && ends_with(from, "/settings.local.json");
    const char *home = getenv("HOME");
    const bool mine = from != NULL && ((person != NULL && strcmp(from, person) == 0) ||
                                       (home != NULL && strncmp(from, home, strlen(home)) == 0 && strcmp(from + strlen(home), "/.claude/settings.json") == 0));

    if (from == NULL || *from != '/' || (!local && !ends_with(from, "/settings.json")))
        return false;
    return (s->without_sources & (mine ? 1U : local ? 4U : 2U)) != 0;
}

static const pawl_value *sources_leave(const session *s, arena *mem, const pawl_value *policy)
{
    const pawl_value *list = pawl_value_get(policy, "allow"), *left = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(list);
    const char *person = settings_of_person(mem);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (!is_left_out(s, person, pawl_value_string(pawl_value_get(one, "from"))))
            left = value_push(mem, left, one);
    return pawl_value_size(left) == pawl_value_size(list) ? policy : value_with(mem, policy, "allow", left);
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static bool allows_bash(const pawl_value *allow)
{
    pawl_iter it = pawl_iter_of(allow);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(pawl_value_get(one, "rule")) != NULL && strcmp(pawl_value_string(pawl_value_get(one, "rule")), "Bash") == 0)
            return true;
    return false;
}

pawl_code given_add(const session *s, arena *mem, const pawl_value *was, const pawl_value **policy, pawl_err *err)
{
    static const char *const restricts[] = { "ask", "deny" }, *const all[] = { "allow", "ask", "deny", "directories" };
    static const char *const marks[] = { "unasked", "unasked_always", "no_bypass" };
    const pawl_value *v = *policy;
    pawl_policy *p;

    if (v == NULL)
        return s->given == NULL ? PAWL_OK : fail(err, PAWL_INVALID, "%s takes no rules and no hooks", s->path);
    if (s->without_sources != 0)
        v = sources_leave(s, mem, v);
    for (size_t i = 0; i < sizeof restricts / sizeof *restricts; i++)
        v = list_add(mem, v, restricts[i], pawl_value_get(was, restricts[i]), true);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        v = list_add(mem, v, all[i], pawl_value_get(s->given, all[i]), false);
    v = list_add(mem, v, "hooks", pawl_value_get(s->given, "hooks"), false);
    v = hooks_keep(s, mem, v, was);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (pawl_value_bool(pawl_value_get(s->given, marks[i])))
            v = value_with(mem, v, marks[i], value_bool(mem, true));
    if (allows_bash(pawl_value_get(s->given, "allow")))
        v = value_with(mem, v, "whole", value_bool(mem, true));
    if (v == NULL || mem->failed)
        return fail(err, PAWL_NOMEM, "no memory for the rules of this call");
    if (v == *policy)
        return PAWL_OK;
    if ((p = gate_policy(NULL, v, err)) == NULL)
        return err->code < 0 ? err->code : PAWL_NOMEM;
    pawl_policy_free(p);
    *policy = v;
    return PAWL_OK;
}

bool given_rule(session *s, const char *list, const char *rule, size_t size, const char *from)
{
    const pawl_value *all = pawl_value_get(s->given, list);
    const pawl_value *one = value_pack(&s->mem, NULL, "{s:s,s:s,s:v}", "base", s->folder, "from", from, "rule", value_string(&s->mem, rule, size));

    if (s->given == NULL)
        s->given = value_pack(&s->mem, NULL, "{}");
    s->given = value_with(&s->mem, s->given, list, value_push(&s->mem, all != NULL ? all : value_pack(&s->mem, NULL, "[]"), one));
    return !s->mem.failed;
}
