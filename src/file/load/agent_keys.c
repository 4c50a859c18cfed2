/* agent_keys.c - the key `agent` of an agent file: an agent as in pawl/agent.h.
 *
 * Called by load.c, on one thread. */
#include "file/load/load.h"
#include "file/read.h"

enum { RETRY_TOTAL_MS = 600000 };
enum { TOKENS_MOST = 10000000, TIMES_MOST = 1000, TEMPERATURE_MOST = 2 };

const char *const agent_key_names[] = {
    "name", "version", "description", "model", "system", "tools", "mode", "permissions", "hooks", "budget", "prices", "max_tokens", "temperature",
    "thinking", "timeout", "max_retries", "retry", "max_iterations", "compact", "denied", "post_tools", "agents", "mcp",
};
const size_t agent_key_count = sizeof agent_key_names / sizeof *agent_key_names;

static pawl_agent *agent_of(loader *l) { return &l->a->agent->a; }

/* ---- what it is called, and how it begins ---------------------------------------------------------------- */

static void read_name(loader *l, const doc *d)
{
    named_place name;

    if (key_name(l, d, "name", &name))
        l->a->name = name.name;
}

static void read_version(loader *l, const doc *d)
{
    key_count(l, d, "version", 1, UINT32_MAX, &l->a->version);
}

static void read_description(loader *l, const doc *d)
{
    key_text(l, d, "description", &l->a->description);
}

static void read_model(loader *l, const doc *d)
{
    if (key_plain(l, d, "model", &agent_of(l)->model))
        l->a->agent->model_at = d->at;
}

/* Not a template: braces are text. */
static void read_system(loader *l, const doc *d)
{
    key_text(l, d, "system", &agent_of(l)->system);
}

static void read_mode(loader *l, const doc *d)
{
    static const char *const names[] = { "plan", "default", "acceptEdits" };
    const char *word;

    if (!key_text(l, d, "mode", &word))
        return;
    l->a->agent->mode = pawl_mode_named(word);
    if (l->a->agent->mode == PAWL_MODE_BYPASS)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "mode", "`mode`: bypassPermissions is given by the person who starts it, each time, with --mode, and not by a file");
    else if (l->a->agent->mode == PAWL_MODE_NONE)
        fault_hint(l, d->at, "mode", "`mode` is one of plan, default, acceptEdits, and not", word, names, 3);
}

/* ---- what it asks for, and how often ------------------------------------------------------------------------ */

static void option_put(loader *l, const char *key, const pawl_value *v)
{
    pawl_agent *a = agent_of(l);
    const pawl_value *all = a->options != NULL ? value_parse(l->mem, a->options, strlen(a->options), "options", NULL) : value_pack(l->mem, NULL, "{}");
    buf b;

    buf_init(&b, &l->mem->alloc);
    if ((all = value_with(l->mem, all, key, v)) != NULL)
        canon(&b, all);
    if (all == NULL || b.failed)
        l->mem->failed = true;
    else
        a->options = arena_strdup(l->mem, b.data, b.size);
    buf_free(&b);
}

static void read_max_tokens(loader *l, const doc *d)
{
    key_count(l, d, "max_tokens", 1, TOKENS_MOST, &agent_of(l)->max_tokens);
}

static void read_temperature(loader *l, const doc *d)
{
    const pawl_type t = doc_type(d);
    const pawl_value *v = t == PAWL_TYPE_INT || t == PAWL_TYPE_REAL ? doc_value(d, l->mem, l->f) : NULL;

    if (v != NULL && pawl_value_real(v) >= 0 && pawl_value_real(v) <= TEMPERATURE_MOST)
        option_put(l, "temperature", v);
    else
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "range", "`temperature` is a number from 0 to %d, and this is %s", TEMPERATURE_MOST, doc_what(l, d));
}

static void read_thinking(loader *l, const doc *d)
{
    static const char *const names[] = { "budget_tokens" };
    const doc *one = d->kind == DOC_MAP ? doc_get(d, "budget_tokens") : d;
    uint32_t n = 0;

    if (d->kind == DOC_MAP)
        keys_known(l, d, "`thinking`", names, 1);
    if (one == NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`thinking` is how many tokens it may think: {budget_tokens: 4096}");
    else if (key_count(l, one, "budget_tokens", 1, TOKENS_MOST, &n))
        option_put(l, "thinking", value_pack(l->mem, NULL, "{s:i}", "budget_tokens", (int64_t)n));
}

static void read_timeout(loader *l, const doc *d)
{
    key_duration(l, d, "timeout", 1, &agent_of(l)->llm_timeout_ms);
}

static void read_max_retries(loader *l, const doc *d)
{
    /* 0 means one request, like 1; in the struct 0 is the default */
    if (key_count(l, d, "max_retries", 0, TIMES_MOST, &agent_of(l)->max_retries) && agent_of(l)->max_retries == 0)
        agent_of(l)->max_retries = 1;
}

/* The attempts of a request to its model. `total` is known only where runs carry it: see file_reader.retries. */
static void read_retry(loader *l, const doc *d)
{
    static const char *const names[] = { "max_attempts", "initial", "max", "total" };
    pawl_agent *a = agent_of(l);
    const doc *one;

    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`retry` is a map such as {max_attempts: 10, total: 10m}, and this is %s", doc_what(l, d));
        return;
    }
    keys_known(l, d, "`retry`", names, sizeof names / sizeof *names);
    if ((one = doc_get(d, "max_attempts")) != NULL && a->max_retries > 0)
        fault_at(l->f, one->at, PAWL_SEVERITY_FAULT, "twice", "`max_attempts` is what `max_retries` says, too: once will do");
    else if (one != NULL)
        key_count(l, one, "max_attempts", 1, TIMES_MOST, &a->max_retries);
    if ((one = doc_get(d, "initial")) != NULL)
        key_duration(l, one, "initial", 1, &a->retry_initial_ms);
    if ((one = doc_get(d, "max")) != NULL)
        key_duration(l, one, "max", 1, &a->retry_max_ms);
    if ((one = doc_get(d, "total")) != NULL)
        key_duration(l, one, "total", 1, &a->retry_total_ms);
}

static void read_max_iterations(loader *l, const doc *d)
{
    key_count(l, d, "max_iterations", 1, TIMES_MOST * 10, &agent_of(l)->max_iterations);
}

static void read_compact(loader *l, const doc *d)
{
    static const char *const names[] = { "tokens", "method" };
    const doc *tokens = d->kind == DOC_MAP ? doc_get(d, "tokens") : d, *method = doc_get(d, "method");
    const char *word = NULL;
    uint32_t n = 0;

    if (d->kind == DOC_MAP)
        keys_known(l, d, "`compact`", names, 2);
    if (tokens == NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing",
                 "`compact` says from how many tokens on the conversation is made shorter: {tokens: 100000, method: summary}");
    else if (key_count(l, tokens, "tokens", 1, UINT32_MAX, &n))
        agent_of(l)->compact_tokens = n;
    if (method == NULL || !key_text(l, method, "method", &word))
        return;
    agent_of(l)->compact_drops = strcmp(word, "drop") == 0;
    if (!agent_of(l)->compact_drops && strcmp(word, "summary") != 0)
        fault_at(l->f, method->at, PAWL_SEVERITY_FAULT, "compact", "`method` is summary (by the model) or drop (results of tools), and not \"%.40s\"", word);
}

static void read_denied(loader *l, const doc *d)
{
    const char *word;

    if (!key_text(l, d, "denied", &word))
        return;
    if (strcmp(word, "end") == 0)
        agent_of(l)->denied = PAWL_DENIED_ENDS;
    else if (strcmp(word, "tell") == 0)
        agent_of(l)->denied = PAWL_DENIED_TELLS;
    else
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "denied", "`denied` is end (a denial ends the turn) or tell (the model is told), and not \"%.40s\"", word);
}

/* Either may be NULL. */
static bool same_words(const char **a, const char **b)
{
    size_t i = 0;

    if (a == NULL || b == NULL)
        return a == b;
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0)
        i++;
    return a[i] == b[i];
}

/* A command, or {run, env}. */
static void read_post_tools(loader *l, const doc *d)
{
    static const char *const names[] = { "run", "env" };
    const char **words = NULL, **env = NULL;
    const bool plain = d->kind != DOC_MAP;
    agent_file *root = l->a->root;
    const doc *run, *one;

    if (!plain)
        keys_known(l, d, "`post_tools`", names, sizeof names / sizeof *names);
    run = plain ? d : doc_get(d, "run");
    if (run == NULL) {
        if (!key_there(d, "run"))
            fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`post_tools` has no `run`, the program that is run after tools that changed something");
        return;
    }
    if (!(agent_of(l)->post_tools = key_words(l, run, plain ? "post_tools" : "run", &words)))
        return;
    if (!plain && (one = doc_get(d, "env")) != NULL && !key_env(l, one, "`post_tools`", &env))
        return;
    if (root->post_tools != NULL && (!same_words(root->post_tools, words) || !same_words(root->post_tools_env, env))) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "twice", "`post_tools` of agents that call each other is one command, and another one says something else");
        return;
    }
    root->post_tools = words;
    root->post_tools_env = env;
}

/* ---- agents that it may call ----------------------------------------------------------------------------------- */

static void read_agents(loader *l, const doc *d)
{
    file_agent *f = l->a->agent;
    const char *file;

    if (d->kind != DOC_MAP || d->size == 0) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`agents` is a map of agent files by name, such as {searcher: searcher.yaml}, and this is %s",
                 doc_what(l, d));
        return;
    }
    if ((f->helpers = arena_zero(l->mem, d->size * sizeof *f->helpers)) == NULL)
        return;
    for (size_t i = 0; i < d->size; i++) {
        file_helper *h;

        if (!name_declare(l, d->keys[i], "agent", NODE_NAME_MAX) || !key_plain(l, d->items[i], "agents", &file))
            continue;
        if ((h = l->helper(l, d->keys[i]->text, file, d->items[i]->at)) != NULL)
            f->helpers[f->a.nhelpers++] = h;
    }
}

static void read_mcp(loader *l, const doc *d)
{
    fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "not-yet",
             "`mcp` is not in this version: a tool of your own is {name: NAME, description: TEXT, schema: {...}, run: [PROGRAM, ...]} in `tools`");
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

typedef struct agent_row { const char *key; void (*read)(loader *l, const doc *d); } agent_row;
static const agent_row rows[] = {   /* the order matters: calls are read after the agent's name, and models after prices */
    { "name", read_name }, { "version", read_version }, { "description", read_description }, { "mode", read_mode }, { "model", read_model },
    { "system", read_system }, { "max_tokens", read_max_tokens }, { "temperature", read_temperature }, { "thinking", read_thinking },
    { "timeout", read_timeout }, { "max_retries", read_max_retries }, { "retry", read_retry },
    { "max_iterations", read_max_iterations }, { "compact", read_compact },
    { "denied", read_denied }, { "post_tools", read_post_tools }, { "mcp", read_mcp }, { "tools", read_tools }, { "agents", read_agents },
};
enum { ROWS = sizeof rows / sizeof *rows, GUARDS = 4 };
_Static_assert(sizeof agent_key_names / sizeof *agent_key_names == ROWS + GUARDS, "a key has no row, or no name");

/* `permissions` and similar keys may be inside `agent` or beside it, not both. */
static void keys_twice(loader *l, const doc *d)
{
    static const char *const names[] = { "name", "version", "description", "permissions", "hooks", "budget", "prices" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (doc_get(d, names[i]) != NULL && doc_get(l->a->d, names[i]) != NULL)
            fault_at(l->f, doc_get(d, names[i])->at, PAWL_SEVERITY_FAULT, "twice", "`%s` stands in `agent`, and beside it, too: once will do", names[i]);
}

void read_agent(loader *l, const doc *d)
{
    const doc *one;

    if ((l->a->agent = arena_zero(l->mem, sizeof *l->a->agent)) == NULL)
        return;
    l->a->agent->at = d->at;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`agent` is a map such as {model: anthropic/NAME, system: TEXT, tools: [read_file]}, and this is %s",
                 doc_what(l, d));
        return;
    }
    keys_known(l, d, "`agent`", agent_key_names, agent_key_count);
    keys_twice(l, d);
    read_guards(l, d);
    for (size_t i = 0; i < ROWS; i++)
        if ((one = doc_get(d, rows[i].key)) != NULL)
            rows[i].read(l, one);
    if (l->reader->retries && agent_of(l)->retry_total_ms == 0)
        agent_of(l)->retry_total_ms = RETRY_TOTAL_MS;
    if (!key_there(d, "model"))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing",
                 "an agent needs a `model`: PROVIDER/NAME, such as anthropic/NAME or ollama/NAME, or script:FILE with the answers");
}
