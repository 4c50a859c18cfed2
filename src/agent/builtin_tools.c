/* builtin_tools.c - tools that the machine performs itself: todo list, plan mode, questions, tool search, sub-agents.
 *
 * They have no handler: each writes a channel, asks a person, or spawns a child run. Called by authorize.c and tool_runs.c; pure. */
#include "agent/agent.h"

/* ---- todo, and the plan ---------------------------------------------------------------------------------------- */

static void todo(turn *t, uint32_t k)
{
    pawl_set(t->s, "todo", pawl_value_get(t->calls[k].input, "todos"));
    call_done(t, k, content_text(t, "The list is kept."), false);
}

static void mode_switch(turn *t, const char *mode)
{
    pawl_set_string(t->s, "@mode", mode);
    t->mode_set = pawl_mode_named(mode);
    t->reauthorize = true;        /* calls that were approved in the old mode are decided again */
    calls_reauthorize(t);
    rights_changed(t);          /* sub-agents get the new mode */
    pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s}", "mode", mode));
}

static void plan_enter(turn *t, uint32_t k)
{
    const char *mode = pawl_mode_name(mode_now(t));

    if (mode_now(t) == PAWL_MODE_PLAN) {
        call_done(t, k, content_text(t, "Plan mode is on already."), false);
        return;
    }
    pawl_set(t->s, "plan", pawl_pack(t->s, "{s:s}", "from", mode));
    mode_switch(t, "plan");
    call_done(t, k, content_text(t, "Plan mode is on: look, change nothing, and leave it by plan_exit with a plan, which a person approves."), false);
}

/* Allowed only by an approval of exactly this plan. */
static void plan_exit(turn *t, uint32_t k)
{
    const char *from = pawl_value_string(pawl_value_get(pawl_get(t->s, "plan"), "from"));

    if (mode_now(t) != PAWL_MODE_PLAN || pawl_value_get(t->calls[k].decision, "digest") == NULL) {
        call_fail(t, k, mode_now(t) != PAWL_MODE_PLAN ? "Plan mode is not on." : "Nobody has approved this plan.");
        return;
    }
    if (from == NULL || pawl_mode_named(from) == PAWL_MODE_NONE || pawl_mode_named(from) == PAWL_MODE_PLAN)
        from = "default";
    from = pawl_mode_name(pawl_mode_named(from) < t->mode_cap ? pawl_mode_named(from) : t->mode_cap);
    pawl_set(t->s, "plan", pawl_pack(t->s, "{s:v}", "approved", pawl_value_get(t->calls[k].input, "plan")));
    mode_switch(t, from);
    call_done(t, k, content_text(t, "The plan is approved. Carry it out."), false);
}

/* ---- tools that are looked for ------------------------------------------------------------------------------------ */

/* In @tools, or added by this event. */
static bool shown_already(turn *t, size_t i)
{
    const char *name = t->def->a.tools[i].name;
    pawl_iter it = pawl_iter_of(tools_now(t));
    const pawl_value *one;
    const char *own;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if ((own = pawl_value_string(pawl_value_get(one, "name"))) != NULL && strcmp(own, name) == 0)
            return true;        /* tools of the provider may have no name */
    return false;
}

static void tool_offer(turn *t, size_t i)
{
    const pawl_agent_tool *tool = &t->def->a.tools[i];

    const pawl_value *one = pawl_pack(t->s, "{s:s,s:v,s:s}", "description", tool->description != NULL ? tool->description : "", "input_schema",
                                      pawl_json(t->s, tool->schema), "name", tool->name);

    pawl_set(t->s, "@tools", one);
    t->tools = value_push(t->mem, tools_now(t), one);
}

static char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool found_in(const char *text, const char *word, size_t n)
{
    for (; text != NULL && *text != '\0'; text++) {
        size_t i = 0;

        while (i < n && ascii_lower(text[i]) == ascii_lower(word[i]))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* A tool matches when its name, hint or description contains any word of the query. */
static bool tool_matches(const pawl_agent_tool *tool, const char *query)
{
    while (*query != '\0') {
        const size_t n = strcspn(query, " ,");

        if (n > 0 && (found_in(tool->name, query, n) || found_in(tool->hint, query, n) || found_in(tool->description, query, n)))
            return true;
        query += n + (query[n] != '\0');
    }
    return false;
}

static void tool_search(turn *t, uint32_t k)
{
    const char *query = pawl_value_string(pawl_value_get(t->calls[k].input, "query"));
    const char *names = "";

    for (size_t i = 0; i < t->def->a.ntools && query != NULL; i++) {
        const pawl_agent_tool *tool = &t->def->a.tools[i];

        if (!tool->deferred || !tool_matches(tool, query))
            continue;
        names = pawl_format(t->s, "%s%s%s", names, *names != '\0' ? ", " : "", tool->name);
        if (!shown_already(t, i))
            tool_offer(t, i);
    }
    call_done(t, k, content_text(t, names != NULL && *names != '\0' ? pawl_format(t->s, "These are there now: %s", names) : "No tool fits."), false);
}

/* ---- questions to a person ------------------------------------------------------------------------------------------- */

static size_t characters(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static const pawl_value *label_of(const pawl_value *option)      /* NULL: no label */
{
    const pawl_value *v = pawl_value_type(option) == PAWL_TYPE_OBJECT ? pawl_value_get(option, "label") : option;

    return pawl_value_type(v) == PAWL_TYPE_STRING ? v : NULL;
}

/* A non-empty string without NUL, usable as a key; else NULL. */
static const char *name_in(const pawl_value *v, const char *key)
{
    const pawl_value *text = pawl_value_get(v, key);
    const char *name = pawl_value_string(text);

    return name != NULL && *name != '\0' && strlen(name) == pawl_value_size(text) ? name : NULL;
}

/* Headers must be unique: answers are keyed by them. */
static bool header_twice(const pawl_value *questions, const char *header, int upto)
{
    for (int i = 0; i < upto; i++) {
        const char *other = pawl_value_string(pawl_value_get(pawl_value_at(questions, (size_t)i), "header"));

        if (other != NULL && strcmp(other, header) == 0)
            return true;
    }
    return false;
}

static const char *questions_wrong(turn *t, const pawl_value *questions)
{
    pawl_iter it = pawl_iter_of(questions);
    const pawl_value *one;

    if (pawl_value_type(questions) != PAWL_TYPE_ARRAY || pawl_value_size(questions) == 0)
        return "At least one question is required";
    if (pawl_value_size(questions) > 4)
        return "Maximum of 4 questions allowed";
    for (int i = 1; (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        const char *header = name_in(one, "header");
        const pawl_value *options = pawl_value_get(one, "options");
        const size_t n = pawl_value_type(options) == PAWL_TYPE_ARRAY ? pawl_value_size(options) : 0;

        if (header == NULL || characters(header) > 12)
            return pawl_format(t->s, "Question %d must have a header of at most 12 characters", i);
        if (header_twice(questions, header, i - 1))
            return pawl_format(t->s, "Question %d ('%s') has the header of another: answers are told apart by it", i, header);
        if (n < 2 || n > 4)
            return pawl_format(t->s, "Question %d ('%s') %s", i, header, n < 2 ? "must have at least 2 options" : "can have at most 4 options");
        for (size_t k = 0; k < n; k++)
            if (label_of(pawl_value_at(options, k)) == NULL)
                return pawl_format(t->s, "Question %d ('%s') has an option without a label", i, header);
    }
    return NULL;
}

static const pawl_value *labels_of(turn *t, const pawl_value *question)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(question, "options"));
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        all = value_push(t->mem, all, label_of(one));
    return all;
}

static const pawl_value *one_schema(turn *t, const pawl_value *question)
{
    const pawl_value *one = value_pack(t->mem, NULL, "{s:v}", "enum", labels_of(t, question));

    if (!pawl_value_bool(pawl_value_get(question, "multi_select")))
        return one;
    return value_pack(t->mem, NULL, "{s:v,s:i,s:s,s:b}", "items", one, "minItems", (int64_t)1, "type", "array", "uniqueItems", 1);
}

/* An answer is an object keyed by header; a single question also takes its bare answer. */
const pawl_value *questions_schema(turn *t, const pawl_value *questions)
{
    const pawl_value *properties = value_pack(t->mem, NULL, "{}"), *required = value_pack(t->mem, NULL, "[]"), *one, *all;
    pawl_iter it = pawl_iter_of(questions);

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *header = pawl_value_get(one, "header");

        properties = value_with(t->mem, properties, pawl_value_string(header), one_schema(t, one));
        required = value_push(t->mem, required, header);
    }
    all = value_pack(t->mem, NULL, "{s:b,s:v,s:v,s:s}", "additionalProperties", 0, "properties", properties, "required", required, "type", "object");
    if (pawl_value_size(questions) != 1)
        return all;
    return value_pack(t->mem, NULL, "{s:[v,v]}", "anyOf", one_schema(t, pawl_value_at(questions, 0)), all);
}

static void ask_user(turn *t, uint32_t k)
{
    const pawl_value *questions = pawl_value_get(t->calls[k].input, "questions"), *one = pawl_value_at(questions, 0);
    const char *wrong = questions_wrong(t, questions), *text = pawl_value_string(pawl_value_get(one, "question"));
    pawl_question q = { .kind = PAWL_WAIT_QUESTION, .slot = t->calls[k].id };

    if (wrong == NULL && unasked_now(t))
        wrong = "Nobody is there to be asked";
    if (wrong != NULL) {
        call_fail(t, k, wrong);
        return;
    }
    text = text != NULL ? text : "";
    q.prompt = pawl_pack(t->s, "s", pawl_value_size(questions) == 1 ? text : pawl_format(t->s, "%s (and %zu more)", text, pawl_value_size(questions) - 1));
    q.schema = questions_schema(t, questions);
    q.about = pawl_pack(t->s, "{s:v}", "questions", questions);
    pawl_flow_ask(t->s, tag_of(t, "tool", k), &q);
    notify_hooks(t, "agent_needs_input", text);
    pawl_emit(t->s, "ask_user_question", pawl_pack(t->s, "{s:v,s:s}", "questions", questions, "request_id", t->calls[k].id));
}

/* Close questions that were asked while a person was available. */
void questions_unasked(turn *t)
{
    for (uint32_t k = 0; k < t->ncalls && unasked_now(t); k++)
        if (t->calls[k].at == STAGE_RUNNING && t->calls[k].tool->own == PAWL_OWN_ASK_USER) {
            pawl_flow_drop(t->s, tag_of(t, "tool", k));
            call_fail(t, k, "Nobody is there to be asked");
        }
}

/* The result for the model is keyed by header; several labels are joined by ", ". */
static void questions_answered(turn *t, uint32_t k)
{
    const pawl_value *questions = pawl_value_get(t->calls[k].input, "questions"), *v = t->h->value, *one;
    const pawl_value *out = value_pack(t->mem, NULL, "{}");
    pawl_iter it = pawl_iter_of(questions);

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *header = pawl_value_string(pawl_value_get(one, "header")), *all = "";
        const pawl_value *said = pawl_value_type(v) == PAWL_TYPE_OBJECT ? pawl_value_get(v, header) : v;

        for (size_t i = 0; pawl_value_type(said) == PAWL_TYPE_ARRAY && i < pawl_value_size(said); i++)
            all = pawl_format(t->s, "%s%s%s", all, i > 0 ? ", " : "", pawl_value_string(pawl_value_at(said, i)));
        out = value_with(t->mem, out, header, pawl_value_type(said) == PAWL_TYPE_ARRAY ? pawl_pack(t->s, "s", all) : said);
    }
    call_done(t, k, pawl_pack(t->s, "{s:s}", "content", pawl_text(t->s, out)), false);
}

/* ---- sub-agents ------------------------------------------------------------------------------------------------------- */

static const pawl_agent_helper *helper_of(turn *t, const char *name)
{
    for (size_t i = 0; i < t->def->a.nhelpers; i++)
        if (name != NULL && strcmp(t->def->a.helpers[i].name, name) == 0)
            return &t->def->a.helpers[i];
    return name == NULL && t->def->a.nhelpers > 0 ? &t->def->a.helpers[0] : NULL;
}

/* The input of a sub-agent, with the rights that its parent has now (E11). */
static const pawl_value *child_input(turn *t, const pawl_value *prompt)
{
    static const char *const names[] = { "@cwd", "@grants", "@pinned", "@file" };
    const char *mode = pawl_mode_name(mode_now(t));
    const pawl_value *v = prompt == NULL ? NULL : pawl_pack(t->s, "{s:i,s:s,s:s,s:s,s:v}", "@depth", pawl_get_int(t->s, "@depth") + 1, "@mode", mode, "@once",
                                                            "run", "@rights", mode, "input", prompt), *one;

    if (v == NULL)
        return NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((one = pawl_get(t->s, names[i])) != NULL)
            v = value_with(t->mem, v, names[i], one);
    if ((one = rules_now(t)) != NULL)
        v = value_with(t->mem, v, "@policy", one);
    return pawl_get_bool(t->s, "@unasked") ? value_with(t->mem, v, "@unasked", value_bool(t->mem, true)) : v;
}

static void spawn_agent(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];
    const pawl_agent_helper *helper = helper_of(t, pawl_value_string(pawl_value_get(c->input, "agent")));
    const pawl_value *input = child_input(t, pawl_value_get(c->input, "prompt"));
    pawl_code rc;

    if (input == NULL || pawl_agent_input(pawl_value_get(c->input, "prompt"), NULL) != PAWL_OK) {      /* a sub-agent never starts without its rights */
        call_fail(t, k, "Invalid arguments: a prompt is needed");
        return;
    }
    if (helper == NULL) {
        call_fail(t, k, "There is no such agent");
        return;
    }
    if (pawl_get_int(t->s, "@depth") >= t->def->a.max_depth) {
        call_fail(t, k, pawl_format(t->s, "An agent may not go deeper than %u", (unsigned)t->def->a.max_depth));
        return;
    }
    if (!child_assign_name(t, k)) {
        call_fail(t, k, pawl_format(t->s, "A sub-agent of the id %s is at work", text_cut(t, c->id, 100)));
        return;
    }
    if (t->rc != PAWL_OK)
        return;
    rc = pawl_flow_spawn(t->s, tag_of(t, "tool", k), helper->name, input, &(pawl_flow_child){ .name = c->child });
    if (rc == PAWL_LIMIT)
        call_fail(t, k, "The budget has no room for it");
    else if (rc != PAWL_OK)
        t->rc = rc;
    else
        t->calls[k].rights = mode_now(t), pawl_emit(t->s, "sub_agent_spawned", pawl_pack(t->s, "{s:s,s:s,s:s}", "agent_type", helper->name, "session_id",
                                                                                         child_run_of(t, k), "tool_use_id", c->id));
}

/* What the model gets from a sub-agent that has ended. */
static const pawl_value *child_result(turn *t, uint32_t k, bool good)
{
    const char *text = pawl_value_string(pawl_value_get(t->h->value, "text"));
    const pawl_value *result = t->h->value != NULL ? t->h->value : value_null(t->mem);

    if (!good)
        result = pawl_pack(t->s, "s", pawl_format(t->s, "The sub-agent failed: %s", text != NULL ? text_cut(t, text, 1000) : pawl_outcome_name(t->h->outcome)));
    pawl_emit(t->s, "sub_agent_complete", pawl_pack(t->s, "{s:v,s:s,s:b,s:s}", "result", result, "session_id", child_run_of(t, k), "succeeded", good,
                                                    "tool_use_id", t->calls[k].id));
    return pawl_pack(t->s, "{s:v}", "content", result);
}

/* ---- what they cannot do without ---------------------------------------------------------------------------------------- */

const char *builtin_input_error(const pawl_agent_tool *tool, const pawl_value *input)
{
    if (tool->own == PAWL_OWN_TODO && pawl_value_get(input, "todos") == NULL)
        return "Invalid arguments: todos are needed";
    if (tool->own == PAWL_OWN_PLAN_EXIT && pawl_value_type(pawl_value_get(input, "plan")) != PAWL_TYPE_STRING)
        return "Invalid arguments: a plan is needed";
    return NULL;
}

/* ---- begin and result ------------------------------------------------------------------------------------------------------ */

void builtin_begin(turn *t, uint32_t k)
{
    static void (*const begins[])(turn *, uint32_t) = { [PAWL_OWN_TODO] = todo, [PAWL_OWN_ASK_USER] = ask_user, [PAWL_OWN_SPAWN_AGENT] = spawn_agent,
                                                        [PAWL_OWN_PLAN_ENTER] = plan_enter, [PAWL_OWN_PLAN_EXIT] = plan_exit,
                                                        [PAWL_OWN_TOOL_SEARCH] = tool_search };

    const char *wrong = builtin_input_error(t->calls[k].tool, t->calls[k].input);

    if (wrong != NULL)          /* hooks or people may have changed the input */
        call_fail(t, k, wrong);
    else
        begins[t->calls[k].tool->own](t, k);
}

bool builtin_result(turn *t, uint32_t k, const pawl_value **result, bool *failed)
{
    if (t->calls[k].tool->own == PAWL_OWN_ASK_USER)
        questions_answered(t, k);
    if (t->calls[k].tool->own != PAWL_OWN_SPAWN_AGENT)
        return false;
    *failed = t->h->outcome != PAWL_OUTCOME_DONE;
    *result = child_result(t, k, !*failed);
    return true;
}
