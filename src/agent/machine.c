/* machine.c - makes a machine from the description of an agent: its channels, its effects, and its hash.
 *
 * Called once for an agent, by its author or by the loader of agent files; pure. reduce.c has the behavior of the machine. */
#include "agent/agent.h"
#include "kernel/machine.h"
#include "kernel/names.h"

/* ---- made ---------------------------------------------------------------------------------------------------------- */

const pawl_agent *agent_of(const pawl_machine *m)
{
    const reducer_machine *r = (const reducer_machine *)(const void *)m;

    return m == NULL || m->ops != &reducer_ops || r->fn != agent_reduce ? NULL : &((const agent_def *)r->arg)->a;
}

static void defaults(pawl_agent *a)
{
    a->max_tokens = a->max_tokens != 0 ? a->max_tokens : 4096;
    a->max_retries = a->max_retries != 0 ? a->max_retries : a->retry_total_ms != 0 ? 10 : 3;
    a->max_iterations = a->max_iterations != 0 ? a->max_iterations : 100;
    a->max_depth = a->max_depth != 0 ? a->max_depth : DEPTH_DEFAULT;
    a->llm_timeout_ms = a->llm_timeout_ms != 0 ? a->llm_timeout_ms : 120000;
    a->retry_initial_ms = a->retry_initial_ms != 0 ? a->retry_initial_ms : a->retry_total_ms != 0 ? 1000 : 200;
    a->retry_max_ms = a->retry_max_ms != 0 ? a->retry_max_ms : a->retry_total_ms != 0 ? 60000 : 5000;
}

static bool def_copy(agent_def *d, const pawl_agent *a, arena *mem)
{
    pawl_agent_tool *tools = arena_zero(mem, (a->ntools + 1) * sizeof *tools);
    pawl_agent_helper *helpers = arena_zero(mem, (a->nhelpers + 1) * sizeof *helpers);

    d->schemas = arena_zero(mem, (a->ntools + 1) * sizeof *d->schemas);
    d->a = *a;
    defaults(&d->a);
    d->a.model = arena_text(mem, a->model);
    d->a.options = d->a.system = d->a.name = NULL;      /* options and system are channels */
    for (size_t i = 0; i < a->ntools && tools != NULL && d->schemas != NULL; i++) {
        tools[i] = a->tools[i];
        tools[i].beside = !a->tools[i].alone && (a->tools[i].beside || (a->tools[i].cls == PAWL_PERMISSION_READ && a->tools[i].own == PAWL_OWN_NOT));
        tools[i].name = arena_text(mem, a->tools[i].name);
        tools[i].rule = arena_text(mem, a->tools[i].rule != NULL ? a->tools[i].rule : a->tools[i].name);
        tools[i].description = arena_text(mem, a->tools[i].description);
        tools[i].schema = arena_text(mem, a->tools[i].schema);
        d->schemas[i] = tools[i].schema == NULL ? NULL : value_parse(mem, tools[i].schema, strlen(tools[i].schema), "its schema", NULL);
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
    if ((int)tool->cls < PAWL_PERMISSION_READ || tool->cls > PAWL_PERMISSION_OTHER || tool->schema == NULL)
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

/* The channel @config: the parts of every request besides the conversation. People may change it while the agent runs. */
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

/* The members of a tool that are part of the hash. @tools has the descriptions, except those of deferred tools. */
static const pawl_value *tool_nature(const pawl_agent_tool *tool, arena *mem)
{
    const pawl_value *v = value_pack(mem, NULL, "[s,s,i,i,i,b,b,b]", tool->name, tool->rule, (int64_t)tool->cls, (int64_t)tool->effect, (int64_t)tool->own,
                                     tool->beside, tool->mutates, tool->deferred);

    if (tool->usual_args)
        v = value_push(mem, v, value_string(mem, "usual", 5));
    if (tool->seen)
        v = value_push(mem, v, value_string(mem, "seen", 4));
    if (!tool->deferred)
        return v;
    return value_push(mem, v, value_pack(mem, NULL, "[s,s,s]", tool->description != NULL ? tool->description : "",
                                         tool->hint != NULL ? tool->hint : "", tool->schema));
}

/* The parts of the machine's hash besides its channels: a change of any of them could make a replay differ. */
static const pawl_value *nature_of(const agent_def *d, arena *mem)
{
    const pawl_agent *a = &d->a;
    const pawl_value *tools = value_pack(mem, NULL, "[]"), *helpers = value_pack(mem, NULL, "[]"), *v;

    for (size_t i = 0; i < a->ntools; i++)
        tools = value_push(mem, tools, tool_nature(&a->tools[i], mem));
    for (size_t i = 0; i < a->nhelpers; i++)
        helpers = value_push(mem, helpers, value_pack(mem, NULL, "s", a->helpers[i].name));
    v = value_pack(mem, NULL, "{s:v,s:[i,i,i,i,i],s:[i,b],s:[b,i],s:v,s:[i,i]}", "helpers", helpers, "limits", (int64_t)a->max_retries,
                      (int64_t)a->max_iterations, (int64_t)a->max_depth, (int64_t)a->retry_initial_ms, (int64_t)a->retry_max_ms, "compact",
                      a->compact_tokens, a->compact_drops, "ends", a->post_tools, (int64_t)a->denied, "tools", tools, "prices", a->price_input,
                      a->price_output);
    return a->retry_total_ms == 0 ? v : value_with(mem, v, "retry_total_ms", value_int(mem, a->retry_total_ms));
}

/* A machine without such a tool has no channel for it, so that those of older runs stay what they were. */
static bool any_sees(const pawl_agent *a)
{
    for (size_t i = 0; i < a->ntools; i++)
        if (a->tools[i].seen)
            return true;
    return false;
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
        { .name = "messages", .rule = PAWL_RULE_APPEND, .keep = true }, { .name = "input" }, { .name = "output" }, { .name = "todo" }, { .name = "plan" },
        { .name = "@agent" }, { .name = "@calls", .rule = PAWL_RULE_APPEND }, { .name = "@results", .rule = PAWL_RULE_APPEND }, { .name = "@queue",
            .rule = PAWL_RULE_APPEND },
        { .name = "@system" }, { .name = "@pinned" }, { .name = "@tools", .rule = PAWL_RULE_APPEND }, { .name = "@config" }, { .name = "@nature" },
        { .name = "@once" }, { .name = "@depth" }, { .name = "@unasked" }, { .name = "@life" }, { .name = "@heard", .rule = PAWL_RULE_APPEND },
        { .name = "@resumed" }, { .name = "@place" },
        { .name = "@children", .rule = PAWL_RULE_MERGE },
        { .name = "@cwd" }, { .name = "@mode" }, { .name = "@rights" }, { .name = "@law" }, { .name = "@policy" }, { .name = "@grants",
            .rule = PAWL_RULE_APPEND },
        { .name = "@file" },
        { .name = "@sent" },
        { .name = "@uses", .rule = PAWL_RULE_MERGE }, { .name = "@edited", .rule = PAWL_RULE_APPEND }, { .name = "@told", .rule = PAWL_RULE_APPEND },
        { .name = "@seen", .rule = PAWL_RULE_MERGE },
    };
    const size_t n = sizeof channels / sizeof *channels - !any_sees(a);

    for (size_t i = 0; i < a->ntools; i++)
        if (tool_code(a, i, mem, &tools, err) != PAWL_OK)
            return NULL;
    if ((config = config_of(d, a->options, mem, err)) == NULL)
        return NULL;

    const struct { const char *name; const pawl_value *value; } firsts[] = {
        { "@system", value_string(mem, system, strlen(system)) }, { "@tools", tools }, { "@config", config }, { "@nature", nature_of(d, mem) },
    };

    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        if (!channel_first(channels, n, firsts[i].name, text_json(mem, firsts[i].value))) {
            fail(err, PAWL_NOMEM, "%s: no memory for an agent", a->name);
            return NULL;
        }
    return pawl_flow_reducer(a->name, a->version, channels, n, agent_reduce, NULL, alloc, err);
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
