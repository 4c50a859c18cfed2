/* build.c - makes a graph from the model of a file, and a machine from the graph.
 *
 * Called by the reader of src/app, once for a file without faults, on one thread. The machine points into the file: free the machine first. */
#include "file/load/load.h"
#include "graph/graph.h"

static const char *target(const char *name)
{
    return strcmp(name, "end") == 0 ? PAWL_END : name;
}

static bool joined(const agent_file *a, const file_node *from, const char *to)
{
    const file_node *n = file_node_find(a, to);

    return n != NULL && name_list_has(&n->join, from->name);
}

/* ---- edges and routes --------------------------------------------------------------------------------------------- */

static void declare_targets(pawl_graph *g, const char *name, const file_node *n)
{
    for (size_t i = 0; i < n->nways; i++)
        pawl_graph_goto(g, name, target(n->ways[i].to), NULL);
    for (size_t i = 0; i < n->next.n; i++)
        pawl_graph_goto(g, name, target(n->next.names[i].name), NULL);
    if (n->each_node != NULL)
        pawl_graph_goto(g, name, n->each_node, NULL);
}

static const char *choice_name(const file_node *n)
{
    size_t size = strlen(n->name);
    char *out = arena_get(n->file->mem, size + sizeof CHOICE_SUFFIX);

    if (out == NULL)
        return NULL;
    memcpy(out, n->name, size);
    memcpy(out + size, CHOICE_SUFFIX, sizeof CHOICE_SUFFIX);
    return out;
}

/* Makes the node that evaluates where `n` leads. */
static file_node *choice_make(file_node *n)
{
    arena *mem = n->file->mem;
    file_node *c = arena_zero(mem, sizeof *c);

    if (c == NULL || (c->body = arena_get(mem, (n->nways + 1) * sizeof *c->body)) == NULL || (c->name = choice_name(n)) == NULL)
        return NULL;
    c->file = n->file;
    c->choice_of = n;
    c->ways = n->ways;
    c->nways = n->nways;
    c->next = n->next;
    c->each_of = n->each_of;
    c->each_node = n->each_node;
    c->each_as = n->each_as;
    if (n->each_of != NULL && !n->each_of->path)
        c->body[c->nbody++] = n->each_of;
    for (size_t i = 0; i < n->nways; i++)
        if (n->ways[i].when != NULL && !n->ways[i].when->path)
            c->body[c->nbody++] = n->ways[i].when;
    return c;
}

static void build_choice(pawl_graph *g, file_node *n)
{
    file_node *c = choice_make(n);

    if (c == NULL)
        return;
    pawl_graph_node(g, c->name, choice_visit, c);
    pawl_graph_note(g, c->name, "choice");
    declare_targets(g, c->name, n);
    pawl_graph_route(g, n->name, node_route, n, NULL, c->name, NULL);
    pawl_graph_goto(g, n->name, c->name, NULL);
}

/* The route of a node whose conditions are plain paths. */
static void build_route(pawl_graph *g, file_node *n)
{
    const char **to = arena_get(n->file->mem, (n->nways + n->next.n + 1) * sizeof *to);
    size_t count = 0;

    for (size_t i = 0; to != NULL && i < n->nways; i++)
        to[count++] = target(n->ways[i].to);
    for (size_t i = 0; to != NULL && i < n->next.n; i++)
        to[count++] = target(n->next.names[i].name);
    if (to != NULL)
        pawl_graph_route_of(g, n->name, node_route, n, NULL, to, count);
    if (n->each_node != NULL)
        pawl_graph_goto(g, n->name, n->each_node, NULL);
}

/* The targets that a hook may choose: those of the node itself. */
static void build_reroutes(pawl_graph *g, const file_node *n)
{
    for (size_t i = 0; i < n->next.n; i++)
        pawl_graph_goto(g, n->name, target(n->next.names[i].name), NULL);
    for (size_t i = 0; i < n->nways; i++)
        pawl_graph_goto(g, n->name, target(n->ways[i].to), NULL);
}

static void build_ways(pawl_graph *g, file_node *n)
{
    if (n->kind == KIND_FAIL) {
        pawl_graph_edge(g, n->name, PAWL_END);      /* never taken: the run is over before */
    } else if (n->chooses) {
        build_choice(g, n);
    } else if (n->each_of != NULL || n->nways > 0) {
        build_route(g, n);
    } else {
        for (size_t i = 0; i < n->next.n; i++)
            if (!joined(n->file, n, n->next.names[i].name))
                pawl_graph_edge(g, n->name, target(n->next.names[i].name));
    }
    if (n->file->root->reroutes)
        build_reroutes(g, n);
    if (n->on_no.name != NULL && n->kind != KIND_GRAPH)
        graph_goto_after(g, n->name, true, target(n->on_no.name));
    if (n->on_error.name != NULL)
        graph_goto_after(g, n->name, false, target(n->on_error.name));
}

/* ---- nodes --------------------------------------------------------------------------------------------------- */

static pawl_graph *build_graph(agent_file *a);

static void build_sub(pawl_graph *g, file_node *n)
{
    pawl_graph_sub(g, n->name, build_graph(n->inner));
    for (size_t i = 0; i < n->nmaps; i++)
        pawl_graph_map(g, n->name, n->maps[i].outer, n->maps[i].inner, n->maps[i].in, n->maps[i].out);
    pawl_graph_map(g, n->name, "@mode", "@mode", true, false);
    pawl_graph_map(g, n->name, "@cwd", "@cwd", true, false);
    pawl_graph_map(g, n->name, "@policy", "@policy", true, false);
    pawl_graph_map(g, n->name, "@grants", "@grants", true, false);
    if (n->ask != NULL)
        pawl_graph_gate(g, n->name, n->ask->text.pieces[0].text);
    if (n->ask != NULL && n->on_no.name != NULL)
        pawl_graph_gate_no(g, n->name, target(n->on_no.name));
    if (n->ask != NULL && n->no_waits)
        pawl_graph_gate_waits(g, n->name);
    if (n->retry_given)
        pawl_graph_retry(g, n->name, &n->limits.retry);
}

static void build_writes(pawl_graph *g, const file_node *n)
{
    const char *const names[] = { n->to.name, n->text.name, n->lines.name, n->json.name, n->status.name };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] != NULL)
            pawl_graph_writes(g, n->name, names[i], NULL);
    for (size_t i = 0; i < n->nsets; i++)
        pawl_graph_writes(g, n->name, n->sets[i].channel, NULL);
    for (size_t i = 0; i < n->nmaps; i++)
        if (n->maps[i].out)
            pawl_graph_writes(g, n->name, n->maps[i].outer, NULL);
}

static void build_node(pawl_graph *g, file_node *n)
{
    char note[96];

    if (n->kind == KIND_GRAPH) {
        build_sub(g, n);
    } else {
        pawl_graph_node(g, n->name, node_visit, n);
        snprintf(note, sizeof note, "%s%s", n->kind != KIND_ASK && n->ask != NULL ? "gate, " : "", n->word);
        pawl_graph_note(g, n->name, note);
    }
    build_writes(g, n);
    if (n->before)
        pawl_graph_interrupt_before(g, n->name);
    if (n->after)
        pawl_graph_interrupt_after(g, n->name);
    if (n->defer)
        pawl_graph_defer(g, n->name);
}

static void build_join(pawl_graph *g, const file_node *n)
{
    const char **from = arena_get(n->file->mem, (n->join.n + 1) * sizeof *from);

    for (size_t i = 0; from != NULL && i < n->join.n; i++)
        from[i] = n->join.names[i].name;
    if (from != NULL)
        pawl_graph_join_of(g, n->name, from, n->join.n, n->join_need, n->join_cancel ? PAWL_JOIN_CANCELS_REST : PAWL_JOIN_IGNORES_REST);
}

static void build_channels(pawl_graph *g, const agent_file *a)
{
    static const char *const own[] = { "@cwd", "@mode", "@policy", "@file" };

    for (size_t i = 0; i < (a->above == NULL ? 4u : 3u); i++)
        pawl_graph_channel(g, own[i], PAWL_RULE_LAST);
    pawl_graph_channel(g, "@grants", PAWL_RULE_APPEND);
    for (size_t i = 0; i < a->nchannels; i++)
        pawl_graph_channel_with(g, &a->channels[i].c);
}

static pawl_graph *build_graph(agent_file *a)
{
    pawl_graph *g = a != NULL ? pawl_graph_new_in(a->name, a->version, &a->mem->alloc) : NULL;

    if (g == NULL) {
        if (a != NULL)
            a->mem->failed = true;
        return NULL;
    }
    build_channels(g, a);
    for (size_t i = 0; i < a->nnodes; i++)
        build_node(g, &a->nodes[i]);
    for (size_t i = 0; i < a->start.n; i++)
        pawl_graph_edge(g, PAWL_START, a->start.names[i].name);
    for (size_t i = 0; i < a->nnodes; i++) {
        build_ways(g, &a->nodes[i]);
        if (a->nodes[i].join.n > 0)
            build_join(g, &a->nodes[i]);
    }
    if (a->max_steps > 0)
        pawl_graph_max_steps(g, a->max_steps);
    if (a->max_concurrency > 0)
        pawl_graph_max_concurrency(g, a->max_concurrency);
    pawl_graph_no_progress(g, a->no_progress);
    graph_shows_undo(g);
    graph_patterns(g);
    graph_settles(g);
    return g;
}

/* ---- the machine ------------------------------------------------------------------------------------------------ */

static bool build_source(pawl_graph *g, const agent_file *a, const char *engine)
{
    buf b;
    bool good;

    buf_init(&b, &a->mem->alloc);
    for (const file_source *s = a->sources; s != NULL; s = s->next) {
        buf_fmt(&b, "%zu ", s->text.size);
        buf_put(&b, s->text.data, s->text.size);
    }
    if (a->njq > 0)
        buf_text(&b, engine);
    good = !b.failed;
    if (good)
        pawl_graph_source(g, (pawl_bytes){ b.data, b.size });
    buf_free(&b);
    return good;
}

/* Messages of the graph compiler begin with the graph's name, "survey" or "survey/sub", and then a channel or node: finds the file to report them in. */
static const agent_file *file_of_message(const agent_file *a, const char **text)
{
    size_t n = strlen(a->name);

    if (strncmp(*text, a->name, n) != 0)
        return a;
    for (*text += n; **text == '/'; *text += n) {
        const file_node *sub = NULL;

        n = strcspn(++*text, "/:");
        for (size_t i = 0; i < a->nnodes && sub == NULL; i++)
            if (strlen(a->nodes[i].name) == n && strncmp(a->nodes[i].name, *text, n) == 0)
                sub = &a->nodes[i];
        if (sub == NULL || sub->inner == NULL)
            return a;
        a = sub->inner;
    }
    return a;
}

/* The first quoted name in `text`; of a join, "a+b:c", the node that joins. */
static bool quoted(const char *text, char *out, size_t size)
{
    const char *from = strchr(text, '"'), *to = from != NULL ? strchr(from + 1, '"') : NULL, *colon;
    size_t n, m = strlen(CHOICE_SUFFIX);

    if (to == NULL)
        return false;
    from++;
    if ((colon = memchr(from, ':', (size_t)(to - from))) != NULL)
        from = colon + 1;
    n = (size_t)(to - from);
    if (n > m && strncmp(to - m, CHOICE_SUFFIX, m) == 0)
        n -= m;
    if (n >= size)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

static source_place place_of(const agent_file *a, const char *text)
{
    char name[NODE_NAME_MAX + 16];
    const file_channel *c;
    const file_node *n;

    if (!quoted(text, name, sizeof name))
        return a->at;
    if (strncmp(text, "channel ", 8) == 0 && (c = file_channel_find(a, name)) != NULL)
        return c->at;
    return (n = file_node_find(a, name)) != NULL ? n->at : a->at;
}

/* A finding that repeats another one about a stuck join or an endless loop, or that concerns C code only. */
static bool is_echo(const pawl_report *r, const pawl_finding *one)
{
    static const char *const echoes[] = { "never-runs", "pause-stuck", "no-way-out" };
    bool echo = false, root = false;

    for (size_t i = 0; i < 3; i++)
        echo = echo || strcmp(one->kind, echoes[i]) == 0;
    for (size_t i = 0; i < pawl_report_count(r); i++)
        root = root || strcmp(pawl_report_at(r, i)->kind, "join-stuck") == 0 || strcmp(pawl_report_at(r, i)->kind, "endless-loop") == 0;
    return echo && root;
}

/* The findings of compile or check as faults of the file, at their positions. */
static void findings_add(const agent_file *root, const pawl_report *r, faults *f)
{
    for (size_t i = 0; i < pawl_report_count(r); i++) {
        const pawl_finding *one = pawl_report_at(r, i);
        const char *text = one->text, *colon = NULL;
        const agent_file *a = file_of_message(root, &text);
        source_place at;

        if (is_echo(r, one))
            continue;
        text += strncmp(text, ": ", 2) == 0 ? 2 : 0;
        at = place_of(a, text);
        if (strncmp(text, "join \"", 6) == 0 && (colon = strchr(text, ':')) != NULL)
            text = colon + 1;
        fault_at(f, at, one->severity, one->kind, "%s%s%s%s%s", colon != NULL ? "the join of \"" : "", text, *one->path != '\0' ? " (" : "", one->path,
                 *one->path != '\0' ? ")" : "");
    }
}

pawl_machine *file_machine(agent_file *a, const char *engine, faults *f, pawl_err *err)
{
    pawl_graph *g = a->agent == NULL ? build_graph(a) : NULL;
    pawl_report *report = NULL;
    pawl_machine *m;

    if (a->agent != NULL)
        return pawl_agent_machine(&a->agent->a, &a->mem->alloc, err);
    if (g != NULL) {
        for (const file_effect *e = a->effects; e != NULL; e = e->next)
            pawl_graph_effect(g, e->name, &e->limits);
        if (a->njq > 0)
            pawl_graph_effect(g, "jq", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
        pawl_graph_effect(g, "mode", &(pawl_limits){ .cls = PAWL_CLASS_PURE });
        if (a->turns != NULL)
            pawl_graph_turns(g, a->turns);
    }
    if (g == NULL || !build_source(g, a, engine) || a->mem->failed) {
        pawl_graph_free(g);
        fail(err, PAWL_NOMEM, "%s: no memory for its graph", a->path);
        return NULL;
    }
    m = pawl_graph_compile_report(g, &report, err);
    findings_add(a, report, f);
    pawl_report_free(report);
    return m;
}

void file_search(const agent_file *a, const pawl_machine *m, faults *f)
{
    pawl_report *r;

    if (a->agent != NULL)       /* a model decides what an agent does: there is nothing to search */
        return;
    r = pawl_graph_check(m, 0, NULL);

    a->mem->failed = a->mem->failed || r == NULL;
    findings_add(a, r, f);
    pawl_report_free(r);
}
