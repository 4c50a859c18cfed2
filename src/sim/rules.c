/* rules.c - checks of agents besides those of any machine: messages, permissions, budget.
 *
 * Called by agents.c, on the thread of pawl_sim. */
#include "sim/agents.h"

#include <string.h>

static const char *text_of(const pawl_value *v, const char *key)
{
    const char *text = pawl_value_string(pawl_value_get(v, key));

    return text != NULL ? text : "";
}

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static bool broken(const char **oracle, const char *name)
{
    *oracle = name;
    return false;
}

static bool PAWL_PRINTF(2, 3) wrong(pawl_err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    failv(err, PAWL_CORRUPT, fmt, args);
    va_end(args);
    return false;
}

/* ---- messages (A4) ------------------------------------------------------------------------------------------- */

typedef struct last_answer {      /* the calls of the last answer, and how many have a result */
    const pawl_value *answer;
    size_t given;
    size_t at;
} last_answer;

/* The n-th call of `answer`; NULL: there are fewer. */
static const pawl_value *call_numbered(const pawl_value *answer, size_t number)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(answer, "content"));
    const pawl_value *block;

    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (is(text_of(block, "type"), "tool_use") && number-- == 0)
            return block;
    return NULL;
}

static bool blocks_well(const pawl_value *m, const char *role, pawl_err *err)
{
    const pawl_value *content = pawl_value_get(m, "content"), *block;
    pawl_iter it = pawl_iter_of(content);

    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        return true;
    if (pawl_value_type(content) != PAWL_TYPE_ARRAY || pawl_value_size(content) == 0)
        return wrong(err, "a message of role %s has no content", role);
    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        const char *type = text_of(block, "type");

        if (*type == '\0' || (!is(role, "assistant") && (is(type, "tool_use") || is(type, "thinking"))))
            return wrong(err, "a message of role %s has a block of type \"%s\"", role, type);
        if (is(type, "tool_use") && (*text_of(block, "id") == '\0' || pawl_value_type(pawl_value_get(block, "input")) != PAWL_TYPE_OBJECT))
            return wrong(err, "call \"%s\" of tool \"%s\" has an input that is no object, or no id", text_of(block, "id"), text_of(block, "name"));
    }
    return true;
}

/* Checks one more message; providers refuse a message before all calls have results. */
static bool message_well(last_answer *k, const pawl_value *m, pawl_err *err)
{
    const char *role = text_of(m, "role");
    const pawl_value *due = call_numbered(k->answer, k->given);

    if (is(role, "tool")) {
        if (due == NULL)
            return wrong(err, "message %zu is the result \"%s\" of no call", k->at, text_of(m, "tool_call_id"));
        if (!is(text_of(m, "tool_call_id"), text_of(due, "id")))
            return wrong(err, "message %zu is the result of \"%s\", and \"%s\" was due", k->at, text_of(m, "tool_call_id"), text_of(due, "id"));
        k->given++;
        return blocks_well(m, role, err);
    }
    if (due != NULL)
        return wrong(err, "message %zu, of role %s, comes before the result of call \"%s\"", k->at, role, text_of(due, "id"));
    if (!is(role, "user") && !is(role, "assistant"))
        return wrong(err, "message %zu has the role \"%s\"", k->at, role);
    if (k->at == 0 && !is(role, "user"))
        return wrong(err, "the first message is not the user's");
    k->answer = is(role, "assistant") ? m : NULL;
    k->given = 0;
    return blocks_well(m, role, err);
}

/* `whole`: no call may be open. */
static bool messages_well(const pawl_value *messages, bool whole, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(messages);
    const pawl_value *m, *due;
    last_answer k = {0};

    for (; (m = pawl_iter_next(&it, NULL)) != NULL; k.at++)
        if (!message_well(&k, m, err))
            return false;
    due = whole ? call_numbered(k.answer, k.given) : NULL;
    return due == NULL || wrong(err, "call \"%s\" has no result", text_of(due, "id"));
}

/* ---- permissions (P2) ------------------------------------------------------------------------------------------- */

static pawl_mode mode_in(pawl_state *st, pawl_mode most)
{
    const pawl_mode own = pawl_mode_named(pawl_value_string(pawl_state_get(st, "@mode"))),
        told = pawl_mode_named(pawl_value_string(pawl_state_get(st, "@rights")));
    pawl_mode m = own != PAWL_MODE_NONE ? own : PAWL_MODE_DEFAULT;

    m = most != PAWL_MODE_NONE && most < m ? most : m;
    return told != PAWL_MODE_NONE && told < m ? told : m;
}

/* By rules and mode only: hooks may deny more, but never undo a deny. */
static bool call_allowed(agents *a, pawl_state *st, const pawl_agent_tool *tool, const pawl_value *args, pawl_err *err)
{
    const pawl_value *why = pawl_value_get(args, "decision"), *digest = pawl_value_get(why, "digest");
    const pawl_value *rules = gate_rules(&a->mem, pawl_state_get(st, "@policy"), pawl_state_get(st, "@grants"));
    pawl_policy *policy = rules != NULL ? gate_policy(&a->alloc, rules, err) : NULL;
    const pawl_mode most = pawl_mode_named(text_of(pawl_state_get(st, "@agent"), "most"));
    const bool hooks = pawl_value_size(pawl_value_get(rules, "hooks")) > 0;
    pawl_request q = { .tool = tool->rule, .args = pawl_value_get(args, "input"), .cls = tool->cls, .mode = mode_in(st, most),
                       .read_only = tool->cls == PAWL_PERMISSION_READ || (tool->cls == PAWL_PERMISSION_EXEC && is(tool->rule, "Bash")),
                           .time_ms = pawl_state_time_ms(st) };
    const char *id = text_of(args, "call");
    pawl_decision d;
    bool yes;

    pawl_decide(policy, &q, &d);
    pawl_policy_free(policy);
    yes = digest != NULL && (mark_is(&a->yes, mark_of("yes", "", digest)) || mark_is(&a->yes, mark_of("edit", id, NULL)));
    if (why == NULL)
        return wrong(err, "tool \"%s\" is used by \"%s\", and nothing let it in", tool->name, id);
    if (d.behavior == PAWL_BEHAVIOR_DENY)
        return wrong(err, "tool \"%s\" is used by \"%s\", and that is denied: %.160s", tool->name, id, d.reason);
    if (digest != NULL && !yes)
        return wrong(err, "tool \"%s\" is used by \"%s\" with a yes that nobody gave", tool->name, id);
    if (d.behavior == PAWL_BEHAVIOR_ASK && digest == NULL && !hooks)
        return wrong(err, "tool \"%s\" is used by \"%s\" without a person's yes: %.160s", tool->name, id, d.reason);
    return true;
}

/* Each call when it starts, since rules and mode may change later. */
static bool calls_allowed(agents *a, pawl_state *st, const pawl_agent *of, pawl_err *err)
{
    const size_t n = pawl_state_commands(st);
    const pawl_agent_tool *tool;
    pawl_command cmd;

    for (size_t i = 0; i < n; i++) {
        if (pawl_state_command(st, i, a->step, &cmd, NULL, err) != PAWL_OK)
            return false;
        if (cmd.effect == NULL || strncmp(cmd.effect, "tool-", 5) != 0 || (tool = agent_tool(of, cmd.effect + 5)) == NULL ||
            mark_is(&a->seen, mark_of("command", cmd.id, NULL)))
            continue;
        mark_set(a, &a->seen, mark_of("command", cmd.id, NULL));
        arena_reset(&a->mem);
        if (!call_allowed(a, st, tool, cmd.args, err))
            return false;
    }
    return true;
}

/* ---- budgets (A8) ---------------------------------------------------------------------------------------------------- */

static bool within(const char *what, int64_t cap, int64_t used, int64_t reserved, pawl_err *err)
{
    return cap == 0 || used + reserved <= cap ||
           wrong(err, "%lld %s are used and %lld set aside, and %lld is the cap", (long long)used, what, (long long)reserved, (long long)cap);
}

static bool caps_hold(const pawl_state *st, pawl_err *err)
{
    pawl_spent s;

    if (!pawl_state_spent(st, &s) || s.overdraft)
        return true;
    return within("calls", s.caps.calls, s.used.calls, s.reserved.calls, err) && within("tokens", s.caps.tokens, s.used.tokens, s.reserved.tokens, err) &&
           within("millionths", s.caps.micros, s.used.micros, s.reserved.micros, err);
}

/* Counts the requests that were really sent, of a run with all its children. */
static bool requests_counted(agents *a, const pawl_job *job, pawl_err *err)
{
    const uint64_t one = mark_of("request", job->id, NULL);
    uint64_t run = 0;

    if (job->id[0] != 'r' || digits_read(job->id + 1, &run) == NULL || run >= SIM_RUNS_MAX || mark_is(&a->asked, one))
        return true;
    mark_set(a, &a->asked, one);
    a->requests[run]++;
    return a->budget.calls == 0 || a->requests[run] <= (uint64_t)a->budget.calls ||
           wrong(err, "%llu requests leave under a budget of %lld calls", (unsigned long long)a->requests[run], (long long)a->budget.calls);
}

/* ---- both ---------------------------------------------------------------------------------------------------------------- */

bool agents_performed(void *ctx, const pawl_job *job, const char **oracle, pawl_err *err)
{
    agents *a = ctx;

    if (strcmp(job->effect, "llm") != 0)
        return true;
    if (!messages_well(pawl_value_get(job->args, "messages"), true, err))
        return broken(oracle, "A4");
    return requests_counted(a, job, err) || broken(oracle, "A8");
}

bool agents_stored(void *ctx, pawl_state *st, const pawl_entry *entry, const char **oracle, pawl_err *err)
{
    agents *a = ctx;
    const pawl_agent *of = agent_named(a, pawl_state_machine(st, NULL));
    const char *now;

    if (entry == NULL)
        return true;            /* its base: nothing has happened yet */
    if (!caps_hold(st, err))
        return broken(oracle, "A8");
    if (of == NULL)
        return true;
    now = text_of(pawl_state_get(st, "@agent"), "phase");
    if (!messages_well(pawl_state_get(st, "messages"), is(now, "idle") || is(now, "over"), err))
        return broken(oracle, "A4");
    return calls_allowed(a, st, of, err) || broken(oracle, "P2");
}
