/* hook_claude.c - answers of hooks in JSON: in the shape of Claude Code's hooks (CC-H4, CC-H5), or our own {"verdict"}.
 *
 * Owns nothing; pure, any thread. Called by hook.c.
 * Invariant: HOOK_STRICT refuses each unknown member and value, and each one that has no effect at this point; HOOK_CLAUDE ignores them. */
#include "policy/hook.h"

const char *hook_text(arena *mem, const char *text, size_t size, size_t lines)
{
    size_t n = 0;

    for (; n < size && text[n] != '\0'; n++)
        if (text[n] == '\n' && lines > 0 && --lines == 0)
            break;
    if (n > HOOK_TEXT_BYTES)
        for (n = HOOK_TEXT_BYTES; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80; n--)
            ;
    return arena_strdup(mem, text, n);
}

const char *hook_words(arena *mem, const char *fmt, ...)
{
    pawl_err e = { PAWL_OK, "" };
    va_list args;

    va_start(args, fmt);
    failv(&e, PAWL_DENIED, fmt, args);
    va_end(args);
    return arena_text(mem, e.text);
}

static pawl_code wrongly(const char **wrong, const char *why)
{
    *wrong = why;
    return why != NULL ? PAWL_OK : PAWL_NOMEM;
}

/* NULL in: NULL out. */
static const char *answer_words(arena *mem, const pawl_value *v)
{
    return v != NULL ? hook_text(mem, pawl_value_string(v), pawl_value_size(v), 0) : NULL;
}

static int word_index(const pawl_value *v, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (pawl_value_type(v) == PAWL_TYPE_STRING && pawl_value_size(v) == strlen(words[i]) && strcmp(pawl_value_string(v), words[i]) == 0)
            return i;
    return -1;
}

/* ---- Claude's members -------------------------------------------------------------------------------------------- */

#define AT(point) (1U << (point))
enum {
    CALLS = AT(HOOK_PRE) | AT(HOOK_POST) | AT(HOOK_POST_FAILURE),
    DECIDING = CALLS | AT(HOOK_PROMPT) | AT(HOOK_STOP) | AT(HOOK_SUBAGENT_STOP) | AT(HOOK_PRE_COMPACT),
    ENDING = DECIDING | AT(HOOK_ANSWER),
    ANYWHERE = AT(HOOK_POINTS) - AT(HOOK_PRE)
};

typedef struct hook_member {
    const char *name;
    pawl_type type;         /* PAWL_TYPE_NONE: any */
    unsigned points;        /* where it does something */
} hook_member;

enum { M_CONTINUE, M_STOP_REASON, M_DECISION, M_REASON, M_MESSAGE, M_SUPPRESS, M_OUTPUT, TOP_MEMBERS };
static const hook_member top_members[TOP_MEMBERS] = {
    [M_CONTINUE] = { "continue", PAWL_TYPE_BOOL, ENDING },
    [M_STOP_REASON] = { "stopReason", PAWL_TYPE_STRING, ENDING },
    [M_DECISION] = { "decision", PAWL_TYPE_STRING, DECIDING },
    [M_REASON] = { "reason", PAWL_TYPE_STRING, DECIDING },
    [M_MESSAGE] = { "systemMessage", PAWL_TYPE_STRING, ANYWHERE },
    [M_SUPPRESS] = { "suppressOutput", PAWL_TYPE_BOOL, ANYWHERE },
    [M_OUTPUT] = { "hookSpecificOutput", PAWL_TYPE_OBJECT, ANYWHERE },
};
enum { S_EVENT, S_DECISION, S_REASON, S_INPUT, S_CONTEXT, S_RESULT, OWN_MEMBERS };
static const hook_member own_members[OWN_MEMBERS] = {
    [S_EVENT] = { "hookEventName", PAWL_TYPE_STRING, ANYWHERE },
    [S_DECISION] = { "permissionDecision", PAWL_TYPE_STRING, AT(HOOK_PRE) },
    [S_REASON] = { "permissionDecisionReason", PAWL_TYPE_STRING, AT(HOOK_PRE) },
    [S_INPUT] = { "updatedInput", PAWL_TYPE_OBJECT, AT(HOOK_PRE) },
    [S_CONTEXT] = { "additionalContext", PAWL_TYPE_STRING, CALLS | AT(HOOK_PROMPT) | AT(HOOK_SESSION_START) },
    [S_RESULT] = { "updatedToolOutput", PAWL_TYPE_NONE, AT(HOOK_POST) },
};

typedef struct claude_answer {
    arena *mem;
    hook_profile profile;
    hook_point point;
    const pawl_value *top[TOP_MEMBERS], *own[OWN_MEMBERS];      /* NULL: not present, or not allowed at this point */
    const char *why;
} claude_answer;

static const char *type_word(pawl_type type)
{
    return type == PAWL_TYPE_BOOL ? "true or false" : type == PAWL_TYPE_STRING ? "a text" : "an object";
}

/* True: the member is one of `values`, or missing. False: why is set, or no memory. */
static bool member_take(claude_answer *a, const hook_member *m, const pawl_value *v, const pawl_value **to)
{
    if (m->type != PAWL_TYPE_NONE && pawl_value_type(v) != m->type)
        a->why = hook_words(a->mem, "its \"%s\" is not %s", m->name, type_word(m->type));
    else if ((m->points & AT(a->point)) != 0)
        *to = v;
    else if (a->profile == HOOK_STRICT)
        a->why = hook_words(a->mem, "its \"%s\" does nothing at %s", m->name, hook_point_name(a->point));
    else
        return true;
    return *to == v;
}

static bool members_take(claude_answer *a, const pawl_value *object, const hook_member *members, size_t n, const pawl_value **values)
{
    const pawl_value *key, *v;
    pawl_iter it = pawl_iter_of(object);
    const char *names[8];
    char near[100];

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        size_t i = 0;

        while (i < n && strcmp(members[i].name, pawl_value_string(key)) != 0)
            i++;
        if (i < n && !member_take(a, &members[i], v, &values[i]))
            return false;
        if (i < n || a->profile != HOOK_STRICT)
            continue;
        for (size_t j = 0; j < n; j++)
            names[j] = members[j].name;
        a->why = hook_words(a->mem, "its JSON has a \"%.60s\"%s", pawl_value_string(key),
                            did_you_mean(near, sizeof near, pawl_value_string(key), names, n));
        return false;
    }
    return true;
}

/* What `decision` and `permissionDecision` say, the stricter of the two. False: why is set, or there is no memory. */
static bool decisions_take(claude_answer *a, verdict *said)
{
    static const char *const tops[] = { "approve", "block" }, *const own[] = { "allow", "ask", "deny", "defer" };
    static const pawl_behavior means[] = { PAWL_BEHAVIOR_ALLOW, PAWL_BEHAVIOR_ASK, PAWL_BEHAVIOR_DENY, PAWL_BEHAVIOR_ASK };
    const pawl_value *top = a->top[M_DECISION], *mine = a->own[S_DECISION];
    const int t = word_index(top, tops, 2), o = word_index(mine, own, 4);
    pawl_behavior first = PAWL_BEHAVIOR_OPEN;

    if ((top != NULL && t < 0) || (mine != NULL && o < 0)) {
        a->why = hook_words(a->mem, "its \"%s\" is \"%s\"", t < 0 && top != NULL ? "decision" : "permissionDecision",
                            pawl_value_string(t < 0 && top != NULL ? top : mine));
        return false;
    }
    if (top != NULL && a->profile == HOOK_STRICT && a->point != HOOK_PRE && t == 0) {
        a->why = hook_words(a->mem, "its \"decision\" is \"approve\", which does nothing at %s", hook_point_name(a->point));
        return false;
    }
    if (top != NULL)
        first = t == 1 ? PAWL_BEHAVIOR_DENY : a->point == HOOK_PRE ? PAWL_BEHAVIOR_ALLOW : PAWL_BEHAVIOR_OPEN;
    if (mine != NULL)
        said->behavior = means[o];
    if (top != NULL && mine != NULL && a->profile == HOOK_STRICT && (first != said->behavior || o == 3)) {
        a->why = hook_words(a->mem, "it answers twice: \"%s\" and \"%s\"", tops[t], own[o]);
        return false;
    }
    if (first > said->behavior)
        said->behavior = first;
    said->defers = o == 3 && said->behavior == PAWL_BEHAVIOR_ASK;
    said->defer_name = said->defers ? "verdict" : NULL;
    return true;
}

static bool event_fits(claude_answer *a)
{
    const pawl_value *name = a->own[S_EVENT];

    if (name == NULL || hook_point_named(pawl_value_string(name)) == a->point)
        return true;
    a->why = hook_words(a->mem, "its \"hookEventName\" is \"%.60s\", and this is %s", pawl_value_string(name), hook_point_name(a->point));
    return false;
}

/* Once it is known to be right: the texts, and what goes with the decision. False: no memory. */
static bool verdict_fill(claude_answer *a, verdict *said)
{
    const bool blocks = said->behavior == PAWL_BEHAVIOR_DENY;
    const pawl_value *why = a->own[S_REASON] != NULL ? a->own[S_REASON] : a->top[M_REASON];

    if (a->top[M_DECISION] != NULL && a->top[M_REASON] != NULL && blocks)
        why = a->top[M_REASON];
    said->context = answer_words(a->mem, a->own[S_CONTEXT]);
    said->message = answer_words(a->mem, a->top[M_MESSAGE]);
    said->reason = answer_words(a->mem, why);
    if (a->profile == HOOK_CLAUDE && blocks && (a->point == HOOK_POST || a->point == HOOK_POST_FAILURE)) {  /* the tool has run: the model gets it */
        const char *told = said->reason != NULL ? said->reason : "", *more = said->context != NULL ? said->context : "";
        char *both = arena_get(a->mem, strlen(told) + strlen(more) + 2);

        if (both == NULL)
            return false;
        memcpy(both, more, strlen(more));
        both[strlen(more)] = '\n';
        memcpy(both + strlen(more) + (*more != '\0'), told, strlen(told) + 1);
        said->context = both;
        said->behavior = PAWL_BEHAVIOR_OPEN;
    }
    if (a->top[M_CONTINUE] != NULL && !pawl_value_bool(a->top[M_CONTINUE])) {
        *said = (verdict){ .behavior = PAWL_BEHAVIOR_DENY, .stops = true, .context = said->context, .message = said->message };
        said->reason = a->top[M_STOP_REASON] != NULL ? answer_words(a->mem, a->top[M_STOP_REASON]) : "it ends everything";
    }
    if (said->behavior != PAWL_BEHAVIOR_DENY) {
        said->result = a->own[S_RESULT];
        said->input = said->defers ? NULL : a->own[S_INPUT];
    }
    if (said->behavior == PAWL_BEHAVIOR_DENY && said->reason == NULL)
        said->reason = "it says no";
    return !a->mem->failed;
}

pawl_code hook_answer(arena *mem, hook_profile profile, hook_point point, const pawl_value *json, verdict *out, const char **wrong)
{
    claude_answer a = { .mem = mem, .profile = profile, .point = point };
    verdict said = { .behavior = PAWL_BEHAVIOR_OPEN };

    *wrong = NULL;
    if (pawl_value_get(json, "verdict") != NULL) {
        for (size_t i = 0; i < TOP_MEMBERS; i++)
            if (i != M_REASON && pawl_value_get(json, top_members[i].name) != NULL)
                return wrongly(wrong, hook_words(mem, "it answers twice: \"verdict\" and \"%s\"", top_members[i].name));
        return hook_own_verdict(mem, point, json, out, wrong);
    }
    if (!members_take(&a, json, top_members, TOP_MEMBERS, a.top) ||
        !members_take(&a, a.top[M_OUTPUT], own_members, OWN_MEMBERS, a.own) || !event_fits(&a) || !decisions_take(&a, &said))
        return wrongly(wrong, a.why);
    if (!verdict_fill(&a, &said))
        return PAWL_NOMEM;
    *out = said;
    return PAWL_OK;
}

/* ---- our own ------------------------------------------------------------------------------------------------------ */

enum { V_PROCEED, V_MODIFY, V_REPLACE, V_DENY, V_ASK, V_DEFER, VERDICT_WORDS };

/* `goto`: a name or names; *go a list of them. False: it is neither, or there is no memory and *good is false. */
static bool names_take(arena *mem, const pawl_value *v, const pawl_value **go, bool *good)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *name;

    *go = v;
    if (pawl_value_type(v) == PAWL_TYPE_STRING) {
        *go = value_pack(mem, NULL, "[v]", v);
        *good = *go != NULL;
        return *good && pawl_value_size(v) > 0;
    }
    if (pawl_value_type(v) != PAWL_TYPE_ARRAY || pawl_value_size(v) == 0)
        return false;
    while ((name = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(name) != PAWL_TYPE_STRING || pawl_value_size(name) == 0)
            return false;
    return true;
}

static const char *modify_take(arena *mem, hook_point point, const pawl_value *json, verdict *said, bool *good)
{
    if (point == HOOK_PROMPT) {
        said->input = pawl_value_get(json, "args");
        return pawl_value_size(pawl_value_get(said->input, "prompt")) > 0 && pawl_value_type(pawl_value_get(said->input, "prompt")) == PAWL_TYPE_STRING
                   ? NULL : "it modifies, and its \"args\" have no \"prompt\", which is a text, not empty";
    }
    if (point == HOOK_PRE)
        said->input = pawl_value_get(json, "args");
    else if (pawl_value_get(json, "goto") != NULL && !names_take(mem, pawl_value_get(json, "goto"), &said->go, good))
        return "its \"goto\" is not a name, and no list of names";
    if (point == HOOK_PRE && said->input == NULL)
        return "it modifies, and has no \"args\"";
    return point != HOOK_PRE && said->go == NULL ? "it modifies, and has no \"goto\"" : NULL;
}

static const char *replace_take(arena *mem, hook_point point, const pawl_value *json, verdict *said, bool *good)
{
    const pawl_value *go = point != HOOK_PRE ? pawl_value_get(json, "goto") : NULL;
    const pawl_value *writes = pawl_value_get(json, "writes"), *result = pawl_value_get(json, "result");

    said->result = result != NULL ? result : writes;
    if (result == NULL && pawl_value_type(writes) != PAWL_TYPE_OBJECT)
        return "it replaces, and has neither a \"result\" nor \"writes\" that are an object";
    return go != NULL && !names_take(mem, go, &said->go, good) ? "its \"goto\" is not a name, and no list of names" : NULL;
}

static const char *ask_take(const pawl_value *json, verdict *said)
{
    said->behavior = PAWL_BEHAVIOR_ASK;
    said->prompt = pawl_value_get(json, "prompt");
    said->options = pawl_value_get(json, "options");
    if (said->prompt == NULL)
        said->prompt = pawl_value_get(json, "reason");
    return said->options != NULL && (pawl_value_type(said->options) != PAWL_TYPE_ARRAY || pawl_value_size(said->options) == 0)
               ? "its \"options\" are no list" : NULL;
}

static const char *defer_take(arena *mem, const pawl_value *json, verdict *said, bool *good)
{
    const pawl_value *name = pawl_value_get(json, "name");

    if (name != NULL && (pawl_value_type(name) != PAWL_TYPE_STRING || pawl_value_size(name) == 0))
        return "its \"name\" is not a name";
    said->behavior = PAWL_BEHAVIOR_ASK;
    said->defers = true;
    said->defer_name = name != NULL ? answer_words(mem, name) : "verdict";
    *good = said->defer_name != NULL;
    return NULL;
}

pawl_code hook_own_verdict(arena *mem, hook_point point, const pawl_value *json, verdict *out, const char **wrong)
{
    static const char *const words[VERDICT_WORDS] = { "proceed", "modify", "replace", "deny", "ask", "defer" };
    const pawl_value *reason = pawl_value_get(json, "reason");
    const int word = word_index(pawl_value_get(json, "verdict"), words, VERDICT_WORDS);
    verdict said = { .behavior = PAWL_BEHAVIOR_OPEN };
    bool good = true;

    *wrong = NULL;
    if (pawl_value_type(reason) == PAWL_TYPE_STRING && (said.reason = answer_words(mem, reason)) == NULL)
        return PAWL_NOMEM;
    if (point > HOOK_POST_FAILURE && word > V_PROCEED && (word != V_DENY || !hook_point_may_deny(point)) && (word != V_MODIFY || point != HOOK_PROMPT))
        return wrongly(wrong, hook_words(mem, "its \"verdict\" is \"%s\", which does nothing at %s", words[word], hook_point_name(point)));
    switch (word) {
    case V_PROCEED: break;
    case V_MODIFY: *wrong = modify_take(mem, point, json, &said, &good); break;
    case V_REPLACE: *wrong = replace_take(mem, point, json, &said, &good); break;
    case V_DENY:
        said.behavior = PAWL_BEHAVIOR_DENY;
        said.reason = said.reason != NULL ? said.reason : "it says no";
        break;
    case V_ASK: *wrong = ask_take(json, &said); break;
    case V_DEFER: *wrong = defer_take(mem, json, &said, &good); break;
    default: *wrong = "it gave no verdict";
    }
    if (!good || mem->failed)
        return PAWL_NOMEM;
    if (*wrong == NULL)
        *out = said;
    return PAWL_OK;
}
