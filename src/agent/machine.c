/* machine.c - the agent as a machine: its channels and effects, and the table of what it does for each input in each phase.
 *
 * agent_reduce() is the only door. It loads the turn, looks up the transition for (phase, input), runs it, checks the invariants below
 * and saves what changed. An input without a transition is ignored (K1). */
#include "agent/agent.h"

/* ---- the wrapper's states -------------------------------------------------------------------------------- */

#define TO(p) SM_TO(PHASE_##p)
const sm_row phase_rows[PHASES] = {
    [PHASE_IDLE] = { "idle", TO(IDLE) | TO(COMPACT) | TO(MODEL) | TO(LIFECYCLE) | TO(OVER), SM_FIRST },
    [PHASE_COMPACT] = { "compacting", TO(MODEL) | TO(RETRY) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_MODEL] = { "asking the model", TO(MODEL) | TO(COMPACT) | TO(RETRY) | TO(AUTHORIZE) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_RETRY] = { "waiting to ask again", TO(MODEL) | TO(COMPACT) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_AUTHORIZE] = { "settling permissions", TO(TOOLS) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_TOOLS] = { "using tools", TO(AFTER_TOOLS) | TO(MODEL) | TO(COMPACT) | TO(STOPPING) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_AFTER_TOOLS] = { "after tools", TO(MODEL) | TO(COMPACT) | TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_STOPPING] = { "stopping", TO(IDLE) | TO(LIFECYCLE) | TO(OVER), 0 },
    [PHASE_LIFECYCLE] = { "asking hooks", TO(LIFECYCLE) | TO(MODEL) | TO(COMPACT) | TO(AUTHORIZE) | TO(IDLE) | TO(OVER), 0 },
    [PHASE_OVER] = { "over", 0, SM_LAST },
};
#undef TO
const sm_table phase_table = { "agent", phase_rows, PHASES, NULL };

#define TO(p) SM_TO(STAGE_##p)
const sm_row stage_rows[STAGES] = {
    [STAGE_PROPOSED] = { "new", TO(CHECKING) | TO(APPROVED) | TO(DONE), SM_FIRST },
    [STAGE_CHECKING] = { "settling", TO(APPROVED) | TO(DONE), 0 },
    [STAGE_APPROVED] = { "ready", TO(RUNNING) | TO(CHECKING) | TO(DONE), 0 },
    [STAGE_RUNNING] = { "running", TO(AFTER_HOOKS) | TO(DONE), 0 },
    [STAGE_AFTER_HOOKS] = { "after", TO(DONE), 0 },
    [STAGE_DONE] = { "done", 0, SM_LAST },
};
#undef TO
const sm_table stage_table = { "tool call", stage_rows, STAGES, NULL };

/* ---- invariants ---------------------------------------------------------------------------------------------- */

/* A-1 While there are calls: the results of the first `delivered` of them are messages, and those calls are done.
 * A-2 Calls are decided and run only while there are calls.
 * A-3 A call runs, or waits for the hooks after it, only in PHASE_TOOLS and PHASE_STOPPING.
 * A-4 An approval is open only for a call that is being checked.
 * NULL: all hold; else the number of the one that does not. */
static const char *turn_wrong(const turn *t)
{
    if (t->ncalls > 0 && t->delivered > t->ncalls)
        return "A-1";
    if ((t->at == PHASE_AUTHORIZE || t->at == PHASE_TOOLS || t->at == PHASE_STOPPING) && t->ncalls == 0)
        return "A-2";
    for (uint32_t k = 0; k < t->ncalls; k++) {
        const agent_call *c = &t->calls[k];

        if (k < t->delivered && c->at != STAGE_DONE)
            return "A-1";
        if ((c->at == STAGE_RUNNING || c->at == STAGE_AFTER_HOOKS) && t->at != PHASE_TOOLS && t->at != PHASE_STOPPING)
            return "A-3";
        if (c->asked && c->at != STAGE_CHECKING)
            return "A-4";
    }
    return NULL;
}

/* ---- the only movers ------------------------------------------------------------------------------------------ */

static void illegal_move(turn *t, const char *what, const char *from, const char *to)
{
    if (t->rc == PAWL_OK)
        t->rc = pawl_fail(t->s, PAWL_CORRUPT, "%s: from %s to %s there is no way", what, from, to);
}

void phase_move(turn *t, phase to)
{
    if (!sm_may(&phase_table, t->at, to))
        illegal_move(t, phase_table.name, phase_rows[t->at].name, phase_rows[to].name);
    t->at = to;
}

void call_move(turn *t, uint32_t k, call_stage to)
{
    if (!sm_may(&stage_table, t->calls[k].at, to))
        illegal_move(t, stage_table.name, stage_rows[t->calls[k].at].name, stage_rows[to].name);
    t->calls[k].at = to;
}

/* ---- the inputs ---------------------------------------------------------------------------------------- */

const char *tag_of(turn *t, const char *what, uint32_t k)
{
    return pawl_format(t->s, "%s:%u.%u", what, (unsigned)t->round, (unsigned)k);
}

/* "tool:7.2": the call that a tag names; false: it is no call of the current answer. */
static bool of_call(turn *t, const char *tag, const char *what)
{
    const size_t n = strlen(what);
    const char *rest;
    uint64_t round, k;

    if (strncmp(tag, what, n) != 0 || (rest = digits_read(tag + n, &round)) == NULL || round != t->round || *rest != '.' ||
        digits_read(rest + 1, &k) == NULL || k >= t->ncalls)
        return false;
    t->k = (int)k;
    return true;
}

static agent_input input_of_tag(turn *t, const char *tag)
{
    static const struct { const char *tag; agent_input kind; } plain[] = {
        { "llm", INPUT_MODEL_REPLY }, { "compact", INPUT_SUMMARY }, { "retry", INPUT_RETRY_TIMER }, { "post-tools", INPUT_POST_TOOLS },
        { "input", INPUT_MESSAGE }, { "life", INPUT_LIFECYCLE_HOOK }, { "note", INPUT_NOTIFICATION }, { "note:claude", INPUT_NOTIFICATION },
    };
    static const struct { const char *tag; agent_input kind; } calls[] = {
        { "gate:", INPUT_GATE_ANSWER }, { "tool:", INPUT_TOOL_RESULT }, { "after:", INPUT_AFTER_HOOK },
    };

    for (size_t i = 0; tag != NULL && i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].tag, tag) == 0)
            return plain[i].kind;
    for (size_t i = 0; tag != NULL && i < sizeof calls / sizeof *calls; i++)
        if (of_call(t, tag, calls[i].tag))
            return calls[i].kind;
    return INPUT_NONE;
}

static agent_input input_of(turn *t)
{
    static const struct { const char *name; agent_input kind; } signals[] = { { "input", INPUT_MESSAGE }, { "interrupt", INPUT_INTERRUPT },
                                                                            { "shutdown", INPUT_SHUTDOWN } };

    switch (t->h->kind) {
    case PAWL_EV_START:  return INPUT_START;
    case PAWL_EV_UPDATE: return INPUT_UPDATE;
    case PAWL_EV_REOPEN: return INPUT_REOPEN;
    case PAWL_EV_SIGNAL:
        for (size_t i = 0; t->h->tag != NULL && i < sizeof signals / sizeof *signals; i++)
            if (strcmp(signals[i].name, t->h->tag) == 0)
                return signals[i].kind;
        return INPUT_NONE;
    default: return input_of_tag(t, t->h->tag);
    }
}

/* ---- and does ------------------------------------------------------------------------------------------------- */

static void report_bad_input(turn *t, const pawl_value *v)
{
    const char *once = pawl_get_string(t->s, "@once");
    pawl_err err = {0};

    if (pawl_agent_input(v, &err) == PAWL_OK)
        return;
    emit_event(t, "error", pawl_pack(t->s, "{s:s}", "message", err.text));
    if (once != NULL && strcmp(once, "run") == 0 && t->h->kind == PAWL_EV_START)
        t->rc = pawl_fail(t->s, PAWL_INVALID, "%s", err.text);      /* a one-shot gets no other input */
}

static void wait_for_input(turn *t)
{
    pawl_flow_ask(t->s, "input", &(pawl_question){ .kind = PAWL_WAIT_INPUT, .slot = "input" });
}

static void on_idle_message(turn *t)
{
    const pawl_value *m = message_of_input(t, t->h->value);

    if (m == NULL) {
        report_bad_input(t, t->h->value);
        if (t->h->kind == PAWL_EV_ANSWER)
            wait_for_input(t);
        return;
    }
    if (t->h->kind == PAWL_EV_SIGNAL)
        pawl_flow_drop(t->s, "input");
    turn_begin(t, m);
}

static void on_busy_message(turn *t)
{
    const pawl_value *m = message_of_input(t, t->h->value);

    if (m == NULL)
        report_bad_input(t, t->h->value);
    else
        queue_put(t, m);
}

static void on_start(turn *t)
{
    const pawl_value *input = pawl_value_get(t->h->value, "input"), *m = input != NULL ? message_of_input(t, input) : NULL;

    if (input != NULL && pawl_value_type(input) != PAWL_TYPE_NULL && m == NULL)
        report_bad_input(t, input);
    if (lifecycle_start(t, "startup", m))
        return;
    if (m != NULL)
        turn_begin(t, m);
    else
        wait_for_input(t);
}

static void on_nothing(turn *t) { (void)t; }

/* A run that failed continues where it can take input. */
static void on_reopen(turn *t)
{
    const pawl_value *next = t->life.message;

    (void)lifecycle_drop(t);
    calls_abort(t, "Interrupted");
    t->at = PHASE_IDLE;
    core_begin(&t->c, t->def->a.max_retries);
    t->ncalls = 0;
    results_drop(t);
    if (next != NULL || (next = queue_take(t)) != NULL)
        turn_begin(t, next);
    else
        wait_for_input(t);
}

#define ALWAYS [INPUT_REOPEN] = on_reopen, [INPUT_NOTIFICATION] = on_notification
#define OPEN ALWAYS, [INPUT_MESSAGE] = on_busy_message, [INPUT_INTERRUPT] = on_interrupt, [INPUT_SHUTDOWN] = on_shutdown
typedef void transition(turn *t);
static transition *const transitions[PHASES][AGENT_INPUTS] = {      /* NULL: the input is ignored */
    [PHASE_IDLE] = { ALWAYS, [INPUT_UPDATE] = rights_changed, [INPUT_START] = on_start, [INPUT_MESSAGE] = on_idle_message, [INPUT_INTERRUPT] = on_nothing,
                     [INPUT_SHUTDOWN] = on_shutdown },
    [PHASE_COMPACT] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_SUMMARY] = on_summary },
    [PHASE_MODEL] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_MODEL_REPLY] = on_model_reply },
    [PHASE_RETRY] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_RETRY_TIMER] = on_retry_timer },
    [PHASE_AUTHORIZE] = { OPEN, [INPUT_UPDATE] = on_update_authorizing, [INPUT_GATE_ANSWER] = on_gate_answer },
    [PHASE_TOOLS] = { OPEN, [INPUT_UPDATE] = on_update_using_tools, [INPUT_GATE_ANSWER] = on_gate_answer_using_tools, [INPUT_TOOL_RESULT] = on_tool_result,
                      [INPUT_AFTER_HOOK] = on_after_hook },
    [PHASE_AFTER_TOOLS] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_POST_TOOLS] = on_post_tools },
    [PHASE_STOPPING] = { OPEN, [INPUT_UPDATE] = rights_changed, [INPUT_TOOL_RESULT] = on_tool_result, [INPUT_AFTER_HOOK] = on_after_hook },
    [PHASE_LIFECYCLE] = { OPEN, [INPUT_UPDATE] = on_lifecycle_update, [INPUT_LIFECYCLE_HOOK] = on_lifecycle_hook },
    [PHASE_OVER] = { ALWAYS, [INPUT_UPDATE] = on_nothing },
};
#undef OPEN
#undef ALWAYS

static pawl_code agent_reduce(pawl_step *s, const pawl_happening *h, void *arg)
{
    turn t;
    pawl_code rc = turn_load(&t, s, arg, h);
    agent_input input;
    const char *before, *after;

    if (rc != PAWL_OK)
        return rc;
    input = input_of(&t);
    if (transitions[t.at][input] == NULL)
        return PAWL_IGNORED;
    before = turn_wrong(&t);    /* not NULL: somebody wrote the agent's channels with an update, and the agent makes the best of it (K1) */
    transitions[t.at][input](&t);
    if (t.rc >= 0 && before == NULL && (after = turn_wrong(&t)) != NULL)
        t.rc = pawl_fail(s, PAWL_CORRUPT, "invariant %s of the agent does not hold after an event in phase \"%s\"", after, phase_rows[t.at].name);
    display_update(&t);
    turn_save(&t);
    if (t.rc < 0)
        return t.rc;
    return t.over ? pawl_flow_complete(s) : PAWL_OK;
}

/* ---- made ---------------------------------------------------------------------------------------------------------- */

const pawl_agent_tool tool_gone = { .name = "", .rule = "", .schema = "{}", .cls = PAWL_OTHER, .effect = PAWL_ONCE };

const pawl_agent *agent_of(const pawl_machine *m)
{
    const reducer_machine *r = (const reducer_machine *)(const void *)m;

    return m == NULL || m->ops != &reducer_ops || r->fn != agent_reduce ? NULL : &((const agent_def *)r->arg)->a;
}

const pawl_agent_tool *tool_of(const agent_def *d, const char *name)
{
    for (size_t i = 0; i < d->a.ntools; i++)
        if (strcmp(d->a.tools[i].name, name) == 0)
            return &d->a.tools[i];
    return NULL;
}

static void defaults(pawl_agent *a)
{
    a->max_tokens = a->max_tokens != 0 ? a->max_tokens : 4096;
    a->max_retries = a->max_retries != 0 ? a->max_retries : 3;
    a->max_iterations = a->max_iterations != 0 ? a->max_iterations : 100;
    a->max_depth = a->max_depth != 0 ? a->max_depth : DEPTH_DEFAULT;
    a->llm_timeout_ms = a->llm_timeout_ms != 0 ? a->llm_timeout_ms : 120000;
    a->retry_initial_ms = a->retry_initial_ms != 0 ? a->retry_initial_ms : 200;
    a->retry_max_ms = a->retry_max_ms != 0 ? a->retry_max_ms : 5000;
}

static bool def_copy(agent_def *d, const pawl_agent *a, arena *mem)
{
    pawl_agent_tool *tools = arena_zero(mem, (a->ntools + 1) * sizeof *tools);
    pawl_agent_helper *helpers = arena_zero(mem, (a->nhelpers + 1) * sizeof *helpers);

    d->a = *a;
    defaults(&d->a);
    d->a.model = arena_text(mem, a->model);
    d->a.options = d->a.system = d->a.name = NULL;      /* options and system are channels */
    for (size_t i = 0; i < a->ntools && tools != NULL; i++) {
        tools[i] = a->tools[i];
        tools[i].beside = !a->tools[i].alone && (a->tools[i].beside || (a->tools[i].cls == PAWL_READ && a->tools[i].own == PAWL_OWN_NOT));
        tools[i].name = arena_text(mem, a->tools[i].name);
        tools[i].rule = arena_text(mem, a->tools[i].rule != NULL ? a->tools[i].rule : a->tools[i].name);
        tools[i].description = arena_text(mem, a->tools[i].description);
        tools[i].schema = arena_text(mem, a->tools[i].schema);
        tools[i].hint = arena_text(mem, a->tools[i].hint);
    }
    for (size_t i = 0; i < a->nhelpers && helpers != NULL; i++)
        helpers[i] = (pawl_agent_helper){ arena_text(mem, a->helpers[i].name), arena_text(mem, a->helpers[i].description) };
    d->a.tools = tools;
    d->a.helpers = helpers;
    return !mem->failed;
}

static bool tool_name_valid(const char *name)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

    return name != NULL && *name != '\0' && *name != '-' && strlen(name) <= 56 && name[strspn(name, good)] == '\0';
}

/* Checks a tool and appends what models see of it; a deferred tool is hidden until a search finds it. */
static pawl_code tool_code(const pawl_agent *a, size_t i, arena *mem, const pawl_value **all, pawl_err *err)
{
    const pawl_agent_tool *tool = &a->tools[i];
    const pawl_value *schema;

    if (!tool_name_valid(tool->name))
        return fail(err, PAWL_INVALID, "%s: \"%.64s\" is no name of a tool: [A-Za-z0-9_-]{1,56}, and no dash first",
                    a->name, tool->name != NULL ? tool->name : "");
    for (size_t j = 0; j < i; j++)
        if (strcmp(a->tools[j].name, tool->name) == 0)
            return fail(err, PAWL_INVALID, "%s: tool \"%s\" stands there twice", a->name, tool->name);
    if ((int)tool->cls < PAWL_READ || tool->cls > PAWL_OTHER || tool->schema == NULL)
        return fail(err, PAWL_INVALID, "%s: tool \"%s\": a class and a schema are needed", a->name, tool->name);
    if ((int)tool->own < PAWL_OWN_NOT || tool->own > PAWL_OWN_TOOL_SEARCH)
        return fail(err, PAWL_INVALID, "%s: tool \"%s\": there is no such pawl_own_tool", a->name, tool->name);
    if ((schema = value_parse(mem, tool->schema, strlen(tool->schema), "its schema", err)) == NULL)
        return mem->failed ? PAWL_NOMEM : PAWL_INVALID;
    if (pawl_value_type(schema) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "%s: tool \"%s\": its schema is an object", a->name, tool->name);
    if (!tool->deferred)
        *all = value_push(mem, *all, value_pack(mem, err, "{s:s,s:v,s:s}", "description", tool->description != NULL ? tool->description : "", "input_schema",
                                                  schema, "name", tool->name));
    return mem->failed ? PAWL_NOMEM : PAWL_OK;
}

static const char *text_json(arena *mem, const pawl_value *v)
{
    const char *out = NULL;
    buf b;

    buf_init(&b, &mem->alloc);
    if (v != NULL)
        canon(&b, v);
    if (v != NULL && !b.failed)
        out = arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

/* The channel @config: what every request has beside the conversation. People may change it while the agent runs. */
static const pawl_value *config_of(const agent_def *d, const char *options, arena *mem, pawl_err *err)
{
    const pawl_value *v = options == NULL ? value_pack(mem, err, "{}") : value_parse(mem, options, strlen(options), "its options", err);

    if (v != NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fail(err, PAWL_INVALID, "its options are an object");
        return NULL;
    }
    v = value_with(mem, v, "max_tokens", value_int(mem, d->a.max_tokens));
    return value_with(mem, v, "model", value_string(mem, d->a.model, strlen(d->a.model)));
}

static pawl_code effects_declare(pawl_machine *m, const agent_def *d, pawl_err *err)
{
    const pawl_limits llm = { .attempt_timeout_ms = d->a.llm_timeout_ms };
    const pawl_limits tell = { .retry = { .max_attempts = 10, .initial_ms = 50, .max_ms = 5000 } };
    pawl_code rc = pawl_flow_effect(m, "llm", &llm, err);

    if (rc == PAWL_OK)
        rc = pawl_flow_effect(m, "tell", &tell, err);

    for (size_t i = 0; i < d->a.ntools && rc == PAWL_OK; i++) {
        const pawl_agent_tool *tool = &d->a.tools[i];
        const pawl_limits limits = { .cls = tool->effect, .attempt_timeout_ms = tool->timeout_ms };
        char name[64] = "tool-";

        if (tool->own != PAWL_OWN_NOT)
            continue;
        memcpy(name + 5, tool->name, strlen(tool->name) + 1);
        rc = pawl_flow_effect(m, name, &limits, err);
    }
    return rc;
}

/* What of a tool goes into the hash. The description of other tools is in @tools; that of a deferred tool is not. */
static const pawl_value *tool_nature(const pawl_agent_tool *tool, arena *mem)
{
    const pawl_value *v = value_pack(mem, NULL, "[s,s,i,i,i,b,b,b]", tool->name, tool->rule, (int64_t)tool->cls, (int64_t)tool->effect, (int64_t)tool->own,
                                     tool->beside, tool->mutates, tool->deferred);

    if (!tool->deferred)
        return v;
    return value_push(mem, v, value_pack(mem, NULL, "[s,s,s]", tool->description != NULL ? tool->description : "",
                                         tool->hint != NULL ? tool->hint : "", tool->schema));
}

/* What belongs to the hash of the machine beside its channels: a change of it could make a replay differ. */
static const pawl_value *nature_of(const agent_def *d, arena *mem)
{
    const pawl_agent *a = &d->a;
    const pawl_value *tools = value_pack(mem, NULL, "[]"), *helpers = value_pack(mem, NULL, "[]");

    for (size_t i = 0; i < a->ntools; i++)
        tools = value_push(mem, tools, tool_nature(&a->tools[i], mem));
    for (size_t i = 0; i < a->nhelpers; i++)
        helpers = value_push(mem, helpers, value_pack(mem, NULL, "s", a->helpers[i].name));
    return value_pack(mem, NULL, "{s:v,s:[i,i,i,i,i],s:[i,b],s:[b,i],s:v,s:[i,i]}", "helpers", helpers, "limits", (int64_t)a->max_retries,
                      (int64_t)a->max_iterations, (int64_t)a->max_depth, (int64_t)a->retry_initial_ms, (int64_t)a->retry_max_ms, "compact",
                      a->compact_tokens, a->compact_drops, "ends", a->post_tools, (int64_t)a->denied, "tools", tools, "prices", a->price_input,
                      a->price_output);
}

/* Give the channel its first value; false: `text` is NULL. */
static bool channel_first(pawl_channel *channels, size_t n, const char *name, const char *text)
{
    size_t i = 0;

    while (i < n && strcmp(channels[i].name, name) != 0)
        i++;
    PAWL_ASSERT(i < n, "a channel of the agent that machine_made() declares");
    channels[i].first = text;
    return text != NULL;
}

static pawl_machine *machine_made(const pawl_agent *a, const agent_def *d, arena *mem, const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_value *tools = value_pack(mem, err, "[]"), *config;
    const char *system = a->system != NULL ? a->system : "";
    pawl_channel channels[] = {
        { .name = "messages", .rule = PAWL_APPEND, .keep = true }, { .name = "input" }, { .name = "output" }, { .name = "todo" }, { .name = "plan" },
        { .name = "@agent" }, { .name = "@calls", .rule = PAWL_APPEND }, { .name = "@results", .rule = PAWL_APPEND }, { .name = "@queue", .rule = PAWL_APPEND },
        { .name = "@system" }, { .name = "@pinned" }, { .name = "@tools", .rule = PAWL_APPEND }, { .name = "@config" }, { .name = "@nature" },
        { .name = "@once" }, { .name = "@depth" }, { .name = "@unasked" }, { .name = "@life" }, { .name = "@heard", .rule = PAWL_APPEND },
        { .name = "@resumed" }, { .name = "@place" },
        { .name = "@children", .rule = PAWL_MERGE },
        { .name = "@cwd" }, { .name = "@mode" }, { .name = "@rights" }, { .name = "@law" }, { .name = "@policy" }, { .name = "@grants", .rule = PAWL_APPEND },
        { .name = "@file" },
        { .name = "@sent" },
        { .name = "@uses", .rule = PAWL_MERGE }, { .name = "@edited", .rule = PAWL_APPEND }, { .name = "@told", .rule = PAWL_APPEND },
    };

    for (size_t i = 0; i < a->ntools; i++)
        if (tool_code(a, i, mem, &tools, err) != PAWL_OK)
            return NULL;
    if ((config = config_of(d, a->options, mem, err)) == NULL)
        return NULL;

    const struct { const char *name; const pawl_value *value; } firsts[] = {
        { "@system", value_string(mem, system, strlen(system)) }, { "@tools", tools }, { "@config", config }, { "@nature", nature_of(d, mem) },
    };

    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (!channel_first(channels, sizeof channels / sizeof *channels, firsts[i].name, text_json(mem, firsts[i].value))) {
            fail(err, PAWL_NOMEM, "%s: no memory for an agent", a->name);
            return NULL;
        }
    return pawl_flow_reducer(a->name, a->version, channels, sizeof channels / sizeof *channels, agent_reduce, NULL, alloc, err);
}

static pawl_code agent_check(const pawl_agent *a, pawl_err *err)
{
    if (a == NULL || !name_valid(a->name) || a->model == NULL || *a->model == '\0')
        return fail(err, PAWL_INVALID, "an agent needs a name and a model");
    if ((a->ntools > 0 && a->tools == NULL) || (a->nhelpers > 0 && a->helpers == NULL))
        return fail(err, PAWL_INVALID, "%s: it has tools or helpers, and none are given", a->name);
    if (a->price_input < 0 || a->price_output < 0)
        return fail(err, PAWL_INVALID, "%s: a price is not below 0", a->name);
    for (size_t i = 0; i < a->nhelpers; i++)
        if (!name_valid(a->helpers[i].name))
            return fail(err, PAWL_INVALID, "%s: \"%.64s\" is no name of a machine that it may spawn",
                        a->name, a->helpers[i].name != NULL ? a->helpers[i].name : "");
    return PAWL_OK;
}

pawl_machine *pawl_agent_machine(const pawl_agent *a, const pawl_alloc *alloc, pawl_err *err)
{
    const pawl_alloc memory = mem_or_default(alloc);
    pawl_machine *m = NULL;
    agent_def early = {0}, *d = NULL;
    pawl_err mine = {0};
    arena mem;

    err = err != NULL ? err : &mine;
    if (agent_check(a, err) != PAWL_OK)
        return NULL;
    arena_init(&mem, &memory, 8192);
    if (!def_copy(&early, a, &mem))
        fail(err, PAWL_NOMEM, "%s: no memory for an agent", a->name);
    else
        m = machine_made(a, &early, &mem, alloc, err);
    if (m != NULL && (effects_declare(m, &early, err) != PAWL_OK || pawl_flow_output(m, "output", err) != PAWL_OK ||
                      pawl_flow_interrupt(m, "interrupt", err) != PAWL_OK)) {
        pawl_machine_free(m);
        m = NULL;
    }
    if (m != NULL && ((d = arena_zero(&m->declared, sizeof *d)) == NULL || !def_copy(d, a, &m->declared))) {
        fail(err, PAWL_NOMEM, "%s: no memory for an agent", a->name);
        pawl_machine_free(m);
        m = NULL;
    }
    if (m != NULL) {
        d->hash = m->hash_hex;
        ((reducer_machine *)(void *)m)->arg = d;
    }
    arena_free(&mem);
    return m;
}
