/* node_keys.c - the keys of a node: each is a row with the kinds that it is for, and a function that reads it.
 *
 * Called by load.c, on one thread; reaches other files through the functions of its loader. */
#include "file/load/load.h"

typedef struct key_row {
    const char *name;
    unsigned kinds;             /* that have the key */
    void (*read)(loader *l, file_node *n, const doc *d, const char *label);
} key_row;

static const char *const class_words[] = { "at-least-once", "pure", "idempotent", "compensable", "once" };

/* ---- what it does ------------------------------------------------------------------------------------ */

static bool only_reads(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

bool file_request_writes(const pawl_value *args)
{
    const pawl_value *method = pawl_value_get(args, "method");

    return pawl_value_get(args, "body") != NULL || (method != NULL && (pawl_value_string(method) == NULL || !only_reads(pawl_value_string(method))));
}

static void put_call(loader *l, file_node *n, const char *key, form *f)
{
    if (n->call == NULL)
        n->call = form_map(l, n->at);
    form_put(l, n->call, key, f);
}

static void check_program(loader *l, const doc *d)
{
    if (d->kind == DOC_LIST && d->size > 0 && d->items[0]->kind == DOC_SCALAR && !d->items[0]->plain && d->items[0]->size == 0)
        fault_at(l->f, d->items[0]->at, PAWL_SEVERITY_FAULT, "empty", "the first of `run` is the program, and this is an empty text");
}

static void read_run(loader *l, file_node *n, const doc *d, const char *label)
{
    check_program(l, d);
    put_call(l, n, "run", form_words(l, d, "run", label));
}

/* `sh -c TEXT sh ARG...`: the author's text is shell code, values are arguments. */
static void read_shell(loader *l, file_node *n, const doc *d, const char *label)
{
    const doc *args = doc_get(n->d, "args");
    form *list = args == NULL || (args->kind == DOC_LIST && args->size == 0) ? form_map(l, d->at) : form_words(l, args, "args", label), *one;
    const char *text;

    if (!key_text(l, d, "shell", &text))
        return;
    if (strstr(text, "{{") != NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "pasted", "values are passed to a shell, never pasted into its text: give them with `args: [\"{{...}}\"]` and write "
                 "\"$1\", or with `env: {NAME: \"{{...}}\"}` and write \"$NAME\"");
        return;
    }
    if (list == NULL || (one = arena_zero(l->mem, sizeof *one)) == NULL)
        return;
    *one = (form){ .kind = FORM_LIST, .at = d->at, .n = list->n + 4 };
    if ((one->items = arena_zero(l->mem, one->n * sizeof *one->items)) == NULL)
        return;
    one->items[0] = form_literal(l, value_string(l->mem, "sh", 2), d->at);
    one->items[1] = form_literal(l, value_string(l->mem, "-c", 2), d->at);
    one->items[2] = form_literal(l, value_string(l->mem, text, strlen(text)), d->at);
    one->items[3] = one->items[0];
    if (list->n > 0)
        memcpy(one->items + 4, list->items, list->n * sizeof *list->items);
    if (one->items[0] != NULL && one->items[1] != NULL && one->items[2] != NULL)
        put_call(l, n, "run", one);
}

static void read_args(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)l, (void)n, (void)d, (void)label;     /* read together with `shell` */
}

static void read_stdin(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "stdin", form_any(l, d, label));
}

static form *variables(loader *l, const doc *d, const char *label)
{
    for (size_t i = 0; d->kind == DOC_MAP && i < d->size; i++) {
        const char *name = d->keys[i]->text;

        if (*name == '\0' || strchr(name, '=') != NULL)
            fault_at(l->f, d->keys[i]->at, PAWL_SEVERITY_FAULT, "bad-name", "\"%.40s\" is no name of a variable", name);
        else if (strcmp(name, "PAWL_INVOCATION_ID") == 0 || strcmp(name, "PAWL_FENCE") == 0)
            fault_at(l->f, d->keys[i]->at, PAWL_SEVERITY_FAULT, "bad-name", "variable %s is set by Pawl itself: remove it", name);
    }
    return form_table(l, d, "env", label);
}

static void read_env(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "env", variables(l, d, label));
}

static void read_cwd(loader *l, file_node *n, const doc *d, const char *label)
{
    n->cwd = form_text(l, d, FORM_TEXT, "cwd", label);
}

static void read_output_bytes(loader *l, file_node *n, const doc *d, const char *label)
{
    uint32_t bytes = 0;

    (void)label;
    if (key_count(l, d, "output_bytes", 1, UINT32_C(1) << 28, &bytes))
        put_call(l, n, "output_bytes", form_literal(l, value_int(l->mem, bytes), d->at));
}

static void read_fail(loader *l, file_node *n, const doc *d, const char *label)
{
    if (d->kind == DOC_SCALAR && d->size == 0)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty", "`fail` is an empty text: why does the run fail?");
    else
        n->fail = form_text(l, d, FORM_TEXT, "fail", label);
}

static void read_ask(loader *l, file_node *n, const doc *d, const char *label)
{
    if (d->kind == DOC_SCALAR && d->size == 0)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "empty", "`ask` is an empty text: what is the person asked?");
    else
        n->ask = form_text(l, d, FORM_TEXT, "ask", label);
}

/* Splits "POST https://..." into the method and the URL. */
static const doc *method_before(loader *l, const doc *d, const char **verb)
{
    size_t n = d->kind == DOC_SCALAR ? strspn(d->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    doc *rest;

    if (n == 0 || d->text[n] != ' ' || (rest = arena_get(l->mem, sizeof *rest)) == NULL)
        return d;
    *verb = arena_strdup(l->mem, d->text, n);
    *rest = *d;
    rest->text += n + 1;
    rest->size -= n + 1;
    rest->text_at.column += (uint32_t)n + 1;
    return rest;
}

static void check_url(loader *l, const doc *url)
{
    const char *text = url->text;

    if (url->kind == DOC_SCALAR && strncmp(text, "{{", 2) != 0 && strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        fault_at(l->f, url->at, PAWL_SEVERITY_FAULT, "url", "\"%.40s\" is no URL: it begins with http:// or https://", text);
}

static void check_headers(loader *l, const doc *d)
{
    for (size_t i = 0; d->kind == DOC_MAP && i < d->size; i++) {
        const char *name = d->keys[i]->text;

        if (*name == '\0' || name[strcspn(name, " \t\r\n()<>@,;:\\\"/[]?={}")] != '\0')
            fault_at(l->f, d->keys[i]->at, PAWL_SEVERITY_FAULT, "bad-name", "\"%.40s\" is no name of a header", name);
    }
}

static void check_method(loader *l, source_place at, const char *verb)
{
    static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(verb, names[i]) == 0)
            return;
    fault_hint(l, at, "method", "`method` is one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, and not", verb, names, sizeof names / sizeof *names);
}

static void read_http_counts(loader *l, file_node *n, const doc *d)
{
    static const struct { const char *name; uint32_t least, most; } rows[] = {
        { "timeout_ms", 1, UINT32_C(2592000000) }, { "response_bytes", 1, UINT32_C(1) << 28 }, { "redirects", 0, 50 },
    };
    const doc *one;
    uint32_t count = 0;

    for (size_t i = 0; i < 3; i++)
        if ((one = doc_get(d, rows[i].name)) != NULL && key_count(l, one, rows[i].name, rows[i].least, rows[i].most, &count))
            put_call(l, n, rows[i].name, form_literal(l, value_int(l->mem, count), one->at));
}

static void read_http(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "url", "method", "headers", "body", "timeout_ms", "response_bytes", "redirects", "ca" };
    const char *verb = NULL;
    const doc *url, *one;

    keys_known(l, d, "`http`", names, sizeof names / sizeof *names);
    url = d->kind == DOC_MAP ? doc_get(d, "url") : method_before(l, d, &verb);
    if (d->kind == DOC_LIST || url == NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`http` is a URL, or a map that has one: {url: \"https://...\", method: POST, body: ...}");
        return;
    }
    check_url(l, url);
    put_call(l, n, "url", form_text(l, url, FORM_TEXT, "url", load_fmt(l, "%s/url", label)));
    if ((one = doc_get(d, "method")) != NULL && !key_plain(l, one, "method", &verb))
        verb = NULL;
    if (verb != NULL) {
        check_method(l, one != NULL ? one->at : d->at, verb);
        put_call(l, n, "method", form_literal(l, value_string(l->mem, verb, strlen(verb)), d->at));
    }
    if ((one = doc_get(d, "headers")) != NULL) {
        check_headers(l, one);
        put_call(l, n, "headers", form_table(l, one, "headers", load_fmt(l, "%s/headers", label)));
    }
    if ((one = doc_get(d, "body")) != NULL)
        put_call(l, n, "body", form_any(l, one, load_fmt(l, "%s/body", label)));
    n->reads_only = one == NULL && (verb == NULL || only_reads(verb));
    if ((one = doc_get(d, "ca")) != NULL)
        put_call(l, n, "ca", form_text(l, one, FORM_TEXT, "ca", load_fmt(l, "%s/ca", label)));
    read_http_counts(l, n, d);
}

static void read_graph(loader *l, file_node *n, const doc *d, const char *label)
{
    const char *name;

    (void)label;
    if (!key_plain(l, d, "graph", &name) || (n->inner = l->graph(l, n->name, name, d->at)) == NULL)
        return;
    if (n->inner->turns != NULL)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "graph", "%s takes `turns`, which only a run of its own can: take them out, or run it by itself",
            n->inner->path);
}

static void read_maps(loader *l, file_node *n, const doc *d, bool in)
{
    mapping *grown;

    n->maps_given = true;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`%s` is a map of channels, %s, and this is %s", in ? "in" : "out",
                 in ? "{inner: outer}" : "{outer: inner}", doc_what(l, d));
        return;
    }
    if ((grown = arena_zero(l->mem, (n->nmaps + d->size + 1) * sizeof *grown)) == NULL)
        return;
    if (n->nmaps > 0)
        memcpy(grown, n->maps, n->nmaps * sizeof *grown);
    n->maps = grown;
    for (size_t i = 0; i < d->size; i++) {
        const source_place key = d->keys[i]->at, value = d->items[i]->at;
        const char *to;

        if (key_text(l, d->items[i], d->keys[i]->text, &to))
            n->maps[n->nmaps++] = (mapping){ .outer = in ? to : d->keys[i]->text, .inner = in ? d->keys[i]->text : to, .outer_at = in ? value : key,
                                             .inner_at = in ? key : value, .in = in, .out = !in };
    }
}

static void read_in(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    read_maps(l, n, d, true);
}

static void read_out(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    read_maps(l, n, d, false);
}

/* Class, effect class and timeout are those of the tool. */
static void read_tool_node(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    l->a->root->uses_tools = true;
    if (n->call == NULL)
        n->call = form_map(l, d->at);
    if ((n->tool = key_tool(l, d)) == NULL)
        return;
    n->limits.cls = n->tool->effect;
    n->limits.attempt_timeout_ms = n->tool->timeout_ms;
    if (n->tool->own != PAWL_OWN_NOT)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "tool", "\"%s\" is what an agent does of its own, and no node", n->tool->name);
}

static void read_with(loader *l, file_node *n, const doc *d, const char *label)
{
    if (d->kind != DOC_MAP)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`with` is a map of what the tool is given, such as {file_path: notes.txt}, and this is %s",
                 doc_what(l, d));
    else
        n->call = form_any(l, d, label);
}

/* The name of its machine is the one in its file, or that of the file. */
static void read_agent_node(loader *l, file_node *n, const doc *d, const char *label)
{
    const char *file;

    (void)label;
    if (key_plain(l, d, "agent", &file))
        n->helper = l->helper(l, NULL, file, d->at);
    if (!key_there(n->d, "input"))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "an agent needs `input`, the text that it is asked: {agent: FILE, input: TEXT}");
}

static void read_input(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "input", form_text(l, d, FORM_TEXT, "input", label));
}

static void read_prompt(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "prompt", form_text(l, d, FORM_TEXT, "prompt", label));
}

static void read_system(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "system", form_text(l, d, FORM_TEXT, "system", label));
}

static void read_model(loader *l, file_node *n, const doc *d, const char *label)
{
    const char *model;

    (void)label;
    if (key_plain(l, d, "model", &model))
        put_call(l, n, "model", form_literal(l, value_string(l->mem, model, strlen(model)), d->at));
    n->model_told = true;
}

static void read_max_tokens(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    if (key_count(l, d, "max_tokens", 1, 10000000, &n->max_tokens))
        put_call(l, n, "max_tokens", form_literal(l, value_int(l->mem, n->max_tokens), d->at));
}

static void read_until(loader *l, file_node *n, const doc *d, const char *label)
{
    int64_t when;

    n->until = form_text(l, d, FORM_KEEP, "until", label);
    if (n->until != NULL && strstr(d->text, "{{") == NULL && !moment_read(d->text, 0, &when))
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "moment", "`until`: \"%.40s\" is neither a time of day in UTC such as \"03:00\" nor a moment such as "
                 "2026-11-21T03:00:00Z", d->text);
}

static void read_wait(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "for", "until", "signal" };
    const doc *span, *until, *signal;
    uint32_t ms = 0;

    keys_known(l, d, "`wait`", names, 3);
    span = d->kind == DOC_MAP ? doc_get(d, "for") : d;
    until = doc_get(d, "until");
    signal = doc_get(d, "signal");
    n->waits_for_signal = signal != NULL;
    if (d->kind == DOC_MAP && d->size > 0 && span == NULL && until == NULL && signal == NULL)
        return;                 /* its keys were reported */
    if (d->kind == DOC_LIST || (span != NULL) + (until != NULL) + (signal != NULL) != 1) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`wait` is a duration such as 10m, or one of {for: 10m}, {until: \"03:00\"}, {signal: NAME}");
        return;
    }
    if (span != NULL && key_duration(l, span, "wait", 0, &ms))
        n->wait_ms = ms;
    if (until != NULL)
        read_until(l, n, until, label);
    if (signal != NULL)
        key_plain(l, signal, "signal", &n->signal);
}

/* All members of a plug-in's kind, and of a job, are its argument. */
static void read_plugin(loader *l, file_node *n, const doc *d, const char *label)
{
    put_call(l, n, "with", form_any(l, d, label));
}

/* ---- what it keeps, and what is asked --------------------------------------------------------------------- */

static void read_channel(loader *l, const doc *d, const char *key, named_place *out)
{
    key_name(l, d, key, out);
}

static void read_to(loader *l, file_node *n, const doc *d, const char *label) { (void)label; read_channel(l, d, "to", &n->to); }
static void read_text(loader *l, file_node *n, const doc *d, const char *label) { (void)label; read_channel(l, d, "text", &n->text); }
static void read_lines(loader *l, file_node *n, const doc *d, const char *label) { (void)label; read_channel(l, d, "lines", &n->lines); }
static void read_json(loader *l, file_node *n, const doc *d, const char *label) { (void)label; read_channel(l, d, "json", &n->json); }
static void read_status(loader *l, file_node *n, const doc *d, const char *label) { (void)label; read_channel(l, d, "status", &n->status); }

static void read_artifact(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_plain(l, d, "artifact", &n->artifact);
}

static void read_schema(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    if (key_schema(l, d, "schema", &n->schema) && n->kind == KIND_PROMPT)
        put_call(l, n, "schema", form_literal(l, n->schema, d->at));
}

static void read_options(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    if (d->kind != DOC_LIST || d->size == 0)
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "type", "`options` is a list of the answers that are possible, and this is %s",
                 doc_what(l, d));
    else
        n->options = doc_value(d, l->mem, l->f);
}

static void read_default(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    n->otherwise = doc_value(d, l->mem, l->f);
}

static void read_of(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_plain(l, d, "of", &n->asked_of);
}

/* ---- how it is performed ------------------------------------------------------------------------------------- */

static void read_effect(loader *l, file_node *n, const doc *d, const char *label)
{
    const char *word;

    (void)label;
    if (!key_text(l, d, "effect", &word))
        return;
    n->effect_at = d->at;
    for (unsigned i = 0; i < sizeof class_words / sizeof *class_words; i++)
        if (strcmp(word, class_words[i]) == 0) {
            n->limits.cls = (pawl_class)i;
            n->class_given = true;
            return;
        }
    fault_hint(l, d->at, "effect", "`effect` is one of pure, idempotent, at-least-once, compensable, once, and not", word, class_words,
               sizeof class_words / sizeof *class_words);
}

static void read_undo(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "run", "stdin", "env", "cwd" };
    form *undo = form_map(l, d->at);
    const doc *run, *one;

    n->undo_effect = "undo";
    keys_known(l, d, "`undo`", names, 4);
    if ((run = doc_get(d, "run")) == NULL) {
        fault_at(l->f, d->at, PAWL_SEVERITY_FAULT, "missing", "`undo` names the command that undoes this one: {run: [program, argument, ...]}");
        return;
    }
    form_put(l, undo, "run", form_words(l, run, "run", load_fmt(l, "%s/run", label)));
    if ((one = doc_get(d, "stdin")) != NULL)
        form_put(l, undo, "stdin", form_any(l, one, load_fmt(l, "%s/stdin", label)));
    if ((one = doc_get(d, "env")) != NULL)
        form_put(l, undo, "env", variables(l, one, load_fmt(l, "%s/env", label)));
    if ((one = doc_get(d, "cwd")) != NULL)
        n->undo_cwd = form_text(l, one, FORM_TEXT, "cwd", load_fmt(l, "%s/cwd", label));
    put_call(l, n, "undo", undo);
}

static void read_retry(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    n->retry_given = key_retry(l, d, &n->limits.retry);
}

static void read_timeout(loader *l, file_node *n, const doc *d, const char *label)
{
    uint32_t attempt = 0, total = 0;

    (void)label;
    if (!key_timeout(l, d, &attempt, &total))
        return;
    n->timeout_given = true;
    n->limits.attempt_timeout_ms = attempt;
    n->limits.total_timeout_ms = total;
    n->ask_ms = attempt > 0 ? attempt : total;
}

static void read_heartbeat(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_duration(l, d, "heartbeat", 1, &n->limits.heartbeat_ms);
}

static void read_requires(loader *l, file_node *n, const doc *d, const char *label)
{
    static const char *const names[] = { "plan", "default", "acceptEdits", "bypassPermissions" };
    const char *word;

    (void)label;
    if (key_text(l, d, "requires", &word) && (n->requires = pawl_mode_named(word)) == PAWL_MODE_NONE)
        fault_hint(l, d->at, "mode", "`requires` is one of plan, default, acceptEdits, bypassPermissions, and not", word, names, 4);
}

static void read_approvers(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    n->approvers = read_approver_list(l, d);
}

static void read_before(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_bool(l, d, "interrupt_before", &n->before);
}

static void read_after(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_bool(l, d, "interrupt_after", &n->after);
}

static void read_defer(loader *l, file_node *n, const doc *d, const char *label)
{
    (void)label;
    key_bool(l, d, "defer", &n->defer);
}

static void read_description(loader *l, file_node *n, const doc *d, const char *label)
{
    const char *text;

    (void)n, (void)label;
    key_text(l, d, "description", &text);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

enum { KINDS_NODE = KINDS_ALL & ~KIND_GRAPH & ~KIND_FAIL & ~KIND_ROUTE, KINDS_FAIL = KINDS_KEEP | KIND_SET | KIND_WAIT, KINDS_LEAD = KINDS_ALL & ~KIND_FAIL };
static const key_row rows[] = {
    { "run", KIND_RUN, read_run }, { "shell", KIND_SHELL, read_shell }, { "set", KIND_SET, read_set }, { "ask", KINDS_ALL, read_ask },
    { "http", KIND_HTTP, read_http }, { "graph", KIND_GRAPH, read_graph }, { "prompt", KIND_PROMPT, read_prompt },
    { "wait", KIND_WAIT, read_wait }, { "tool", KIND_TOOL, read_tool_node }, { "with", KIND_TOOL, read_with }, { "agent", KIND_AGENT, read_agent_node },
    { "input", KIND_AGENT, read_input }, { "a2a", 0, NULL }, { "append", KIND_SET, read_append }, { "extend", KIND_SET, read_extend },
    { "fail", KIND_FAIL, read_fail },
    { "args", KIND_SHELL, read_args }, { "stdin", KINDS_PROCESS, read_stdin }, { "env", KINDS_PROCESS, read_env },
    { "cwd", KINDS_PROCESS, read_cwd }, { "output_bytes", KINDS_PROCESS, read_output_bytes },
    { "in", KIND_GRAPH, read_in }, { "out", KIND_GRAPH, read_out }, { "system", KIND_PROMPT, read_system }, { "model", KIND_PROMPT, read_model },
    { "max_tokens", KIND_PROMPT, read_max_tokens },
    { "to", KIND_ASK | KIND_WAIT, read_to }, { "schema", KIND_ASK | KIND_PROMPT, read_schema }, { "options", KIND_ASK, read_options },
    { "default", KIND_ASK, read_default }, { "of", KIND_ASK, read_of },
    { "text", KINDS_KEEP, read_text }, { "lines", KINDS_PROCESS, read_lines }, { "json", KINDS_KEEP, read_json },
    { "status", KINDS_PROCESS | KIND_HTTP, read_status }, { "artifact", KINDS_KEEP | KIND_SET, read_artifact },
    { "effect", KINDS_CALL, read_effect }, { "undo", KINDS_CALL, read_undo }, { "retry", KINDS_CALL | KIND_GRAPH, read_retry },
    { "timeout", KINDS_CALL | KIND_ASK | KIND_WAIT, read_timeout }, { "heartbeat", KIND_PLUGIN, read_heartbeat },
    { "requires", KINDS_NODE, read_requires }, { "approvers", KINDS_ALL, read_approvers },
    { "interrupt_before", KINDS_ALL, read_before }, { "interrupt_after", KINDS_ALL, read_after },
    { "defer", KINDS_ALL, read_defer }, { "description", KINDS_ALL, read_description },
    { "next", KINDS_LEAD, read_next }, { "each", KINDS_LEAD, read_each }, { "join", KINDS_ALL, read_join }, { "on_no", KINDS_ALL, read_on_no },
    { "on_error", KINDS_FAIL, read_on_error },
};
enum { ROWS = sizeof rows / sizeof *rows };
const char *const node_key_names[] = {
    "run", "shell", "set", "ask", "http", "graph", "prompt", "wait", "tool", "with", "agent", "input", "a2a", "args", "stdin", "env", "cwd", "output_bytes",
    "in", "out", "system", "model", "max_tokens", "to", "schema", "options", "default", "of", "text", "lines", "json", "status", "artifact", "effect", "undo",
    "retry", "timeout", "heartbeat", "requires", "interrupt_before", "interrupt_after", "defer", "description", "next", "each", "join",
    "on_no", "on_error", "approvers", "append", "extend", "fail",
};
const size_t node_key_count = sizeof node_key_names / sizeof *node_key_names;
_Static_assert(sizeof node_key_names / sizeof *node_key_names == ROWS, "a key has no row, or no name");

static const struct { const char *name; node_kind kind; } kinds[] = {
    { "run", KIND_RUN }, { "shell", KIND_SHELL }, { "set", KIND_SET }, { "http", KIND_HTTP }, { "graph", KIND_GRAPH },
    { "prompt", KIND_PROMPT }, { "agent", KIND_AGENT }, { "tool", KIND_TOOL }, { "wait", KIND_WAIT }, { "fail", KIND_FAIL },
    { "ask", KIND_ASK },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const key_row *row_of(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* ---- its kind --------------------------------------------------------------------------------------------------------- */

static bool of_plugin(loader *l, const char *key, pawl_class *cls)
{
    return row_of(key) == NULL && l->reader->kind != NULL && l->reader->kind(l->reader->ctx, key, cls);
}

static bool is_job(const loader *l, const char *key) { return row_of(key) == NULL && name_list_has(&l->a->jobs, key); }

static void kind_found(loader *l, file_node *n, node_kind kind, const doc *key)
{
    n->kinds |= kind;
    if (n->kind != 0) {
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "kind", "node \"%s\" is `%s` already, and cannot be `%s` too: make two nodes of it", n->name,
            n->word, key->text);
        return;
    }
    n->kind = kind;
    n->word = key->text;
    n->kind_at = key->at;
}

static bool is_one_of(const char *key, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(key, words[i]) == 0)
            return true;
    return false;
}

/* What a node without a kind of its own is: `append` and `extend` write as `set` does, `ask` alone is a question, and `each`, `join` or a list in `next`
 * lead on. */
static void kind_implied(loader *l, file_node *n, const doc *d)
{
    static const char *const writes[] = { "append", "extend" }, *const leads[] = { "each", "join", "next" };
    const doc *write = NULL, *ask = NULL, *lead = NULL;

    for (size_t i = 0; i < d->size; i++) {
        const char *key = d->keys[i]->text;

        if (write == NULL && is_one_of(key, writes, 2))
            write = d->keys[i];
        if (strcmp(key, "ask") == 0)
            ask = d->keys[i];
        if (lead == NULL && is_one_of(key, leads, 3) && (strcmp(key, "next") != 0 || d->items[i]->kind == DOC_LIST))
            lead = d->keys[i];
    }
    if (write != NULL)
        kind_found(l, n, KIND_SET, write);
    else if (ask != NULL)
        kind_found(l, n, KIND_ASK, ask);
    else if (lead != NULL)
        kind_found(l, n, KIND_ROUTE, lead);
}

/* Exactly one kind; `ask` alone is a kind, beside another it is that node's gate. */
static void kind_find(loader *l, file_node *n, const doc *d)
{
    for (size_t i = 0; i < d->size; i++) {
        const char *key = d->keys[i]->text;
        const key_row *row = row_of(key);

        for (size_t k = 0; k < KINDS; k++)
            if (strcmp(key, kinds[k].name) == 0 && kinds[k].kind != KIND_ASK)
                kind_found(l, n, kinds[k].kind, d->keys[i]);
        n->job = n->job || is_job(l, key);
        if (is_job(l, key) || of_plugin(l, key, &n->limits.cls))
            kind_found(l, n, KIND_PLUGIN, d->keys[i]);
        if (row != NULL && row->read == NULL) {
            n->unclear = true;
            fault_at(l->f, d->keys[i]->at, PAWL_SEVERITY_FAULT, "not-yet",
                     "`%s` nodes are not in this version: run, shell, set, ask, http, graph, prompt, agent, tool, wait and fail are", key);
        }
    }
    if (n->kind == 0 && !n->unclear)
        kind_implied(l, n, d);
    if (n->kind == 0 && !n->unclear) {
        n->unclear = true;
        fault_at(l->f, n->at, PAWL_SEVERITY_FAULT, "kind", "node \"%s\" does nothing: give it one of run, shell, set, ask, http, graph, prompt, agent, tool, wait, fail",
                 n->name);
    }
}

/* ---- its keys --------------------------------------------------------------------------------------------------------- */

/* "`lines` is for run and shell, and "total" is a set node" */
static void misplaced(loader *l, const file_node *n, const doc *key, unsigned good)
{
    const char *between = "", *list = "";

    for (size_t k = 0; k < KINDS && list != NULL; k++)
        if ((good & kinds[k].kind) != 0) {
            list = load_fmt(l, "%s%s%s", list, between, kinds[k].name);
            between = ", ";
        }
    if (list != NULL)
        fault_at(l->f, key->at, PAWL_SEVERITY_FAULT, "misplaced", "`%s` is for nodes of %s, and \"%s\" is `%s`: remove it", key->text,
                 *list != '\0' ? list : "a plug-in's kinds and jobs", n->name, n->word);
}

static void read_key(loader *l, file_node *n, const doc *key, const doc *value)
{
    const key_row *row = row_of(key->text);
    const char *label = load_fmt(l, "%s/%s", n->name, key->text);

    if (label == NULL)
        return;
    if (row == NULL) {          /* else it was reported */
        if (n->kind == KIND_PLUGIN && strcmp(key->text, n->word) == 0)
            read_plugin(l, n, value, n->name);
        return;
    }
    if (row->read == NULL)
        return;
    if (!n->unclear && (row->kinds & n->kinds) == 0)
        misplaced(l, n, key, row->kinds);
    else
        row->read(l, n, value, label);
}

void node_read(loader *l, file_node *n, const doc *d)
{
    const char *what = load_fmt(l, "node \"%s\" has no key", n->name);

    n->d = d;
    n->wait_ms = -1;
    if (d->kind != DOC_MAP) {
        fault_at(l->f, d->kind == DOC_SCALAR && d->size == 0 ? n->at : d->at, PAWL_SEVERITY_FAULT, "type",
                 "node \"%s\" is a map such as {run: [wc, -l, file], next: end}, "
                 "and this is %s", n->name, doc_what(l, d));
        l->a->bad_target = true;
        return;
    }
    for (size_t i = 0; what != NULL && i < d->size; i++) {
        pawl_class cls;

        if (row_of(d->keys[i]->text) != NULL || is_job(l, d->keys[i]->text) || of_plugin(l, d->keys[i]->text, &cls))
            continue;
        key_unknown(l, (doc *)(uintptr_t)d, i, what, node_key_names, node_key_count);
        n->unclear = n->unclear || row_of(d->keys[i]->text) == NULL;    /* it may be a misspelt kind */
    }
    kind_find(l, n, d);
    n->unclear = n->unclear && n->kind == 0;
    for (size_t i = 0; i < d->size; i++)
        read_key(l, n, d->keys[i], d->items[i]);
}
