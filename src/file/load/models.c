/* models.c - the models that an agent file names: a script, or one of a provider.
 *
 * Called while a file is read, on one thread. */
#include "file/load/load.h"

static const char script[] = "script:";

static bool script_put(loader *l, const char *model)
{
    agent_file *root = l->a->root;

    for (size_t i = 0; i < root->nscripts; i++)
        if (strcmp(root->scripts[i], model) == 0)
            return true;
    if (!arena_room(l->mem, (void **)&root->scripts, &root->scripts_cap, root->nscripts, sizeof *root->scripts))
        return false;
    root->scripts[root->nscripts++] = model;
    return true;
}

/* "anthropic/NAME"; the name may contain more slashes. */
static bool provider_named(const char *model)
{
    const size_t n = strspn(model, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return n > 0 && n <= 64 && model[n] == '/' && model[n + 1] != '\0' && strlen(model) <= 256;
}

/* The name of a scripted model is the path of its script. */
bool model_read(loader *l, const char *model, source_place at, const char **out)
{
    const char *path;
    pawl_bytes text;

    if (strncmp(model, script, sizeof script - 1) == 0) {
        if (!load_source(l, model + sizeof script - 1, at, &path, &text) || (model = load_fmt(l, "%s%s", script, path)) == NULL || !script_put(l, model))
            return false;
    } else if (!provider_named(model)) {
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "model", "\"%.64s\" is no model: PROVIDER/NAME, such as anthropic/NAME, openai/NAME or ollama/NAME, or script:FILE",
                 model);
        return false;
    }
    if (l->a->root->caps.micros > 0 && price_of(l->a, model) == NULL)
        fault_at(l->f, at, PAWL_SEVERITY_FAULT, "price", "a budget of money needs the price of %.80s: say it in the file of `prices`, {\"%.80s\": {input: 3.00, output: 15.00}}",
                 model, model);
    *out = model;
    return true;
}

/* ---- of a node ------------------------------------------------------------------------------------------------ */

static form *call_part(const file_node *n, const char *key, size_t *at)
{
    for (*at = 0; *at < n->call->n; (*at)++)
        if (strcmp(n->call->keys[*at], key) == 0)
            return n->call->items[*at];
    return NULL;
}

void check_model(loader *l, file_node *n)
{
    const char *model;
    source_place at;
    size_t which;
    form *f, *own;

    if (n->kind != KIND_PROMPT || n->call == NULL)
        return;
    f = call_part(n, "model", &which);
    if (f == NULL && n->model_told)
        return;
    model = f != NULL ? pawl_value_string(f->value) : l->a->model;
    at = f != NULL ? f->at : l->a->model_at;
    if (model == NULL && doc_get(doc_get(l->a->d, "defaults"), "model") == NULL)
        fault_at(l->f, n->kind_at, PAWL_SEVERITY_FAULT, "model", "\"%s\" has no `model`: say it here or in `defaults`, such as anthropic/NAME or script:answers.yaml",
                 n->name);
    if (model == NULL || !model_read(l, model, at, &model) || (own = form_literal(l, value_string(l->mem, model, strlen(model)), at)) == NULL)
        return;
    if (f == NULL)
        form_put(l, n->call, "model", own);
    else
        n->call->items[which] = own;
}
