/* plugin.c - loads shared objects that add node kinds and effects, or are a whole agent.
 *
 * Called when a session opens, on its thread. The list of plug-ins belongs to the session. */
#include "app/plugin.h"

#include <dlfcn.h>

#include "file/reader.h"

static bool name_good(const char *name)
{
    size_t n = name != NULL ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") : 0;

    return n > 0 && n <= 48 && name[n] == '\0' && *name != '-';
}

static pawl_code handler_add(pawl_plugin *p, bool kind, const char *name, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err)
{
    plugin_handler *h;

    if (!name_good(name) || fn == NULL || (int)cls < 0 || cls > PAWL_CLASS_ONCE)
        return fail(err, PAWL_INVALID, "%s: \"%.64s\" is no name, or has no function or class", p->path, name != NULL ? name : "");
    if ((h = arena_zero(p->mem, sizeof *h)) == NULL || (h->name = arena_text(p->mem, name)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", p->path);
    h->fn = fn;
    h->arg = arg;
    h->cls = cls;
    h->kind = kind;
    h->next = p->handlers;
    p->handlers = h;
    return PAWL_OK;
}

pawl_code pawl_plugin_kind(pawl_plugin *p, const char *kind, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err)
{
    if (p == NULL)
        return fail(err, PAWL_INVALID, "no plug-in");
    for (size_t i = 0; kind != NULL && i < node_key_count; i++)
        if (strcmp(kind, node_key_names[i]) == 0)
            return fail(err, PAWL_CONFLICT, "%s: `%s` is a key of every node, and no kind of a plug-in", p->path, kind);
    if (kind != NULL && (strcmp(kind, "jq") == 0 || strcmp(kind, "undo") == 0))
        return fail(err, PAWL_CONFLICT, "%s: `%s` is an effect of Pawl's own", p->path, kind);
    if (kind != NULL && (plugin_kind(*p->all, kind) != NULL || plugin_kind(p, kind) != NULL))
        return fail(err, PAWL_CONFLICT, "%s: another plug-in has the kind `%s`", p->path, kind);
    return handler_add(p, true, kind, fn, arg, cls, err);
}

pawl_code pawl_plugin_effect(pawl_plugin *p, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err)
{
    return p != NULL ? handler_add(p, false, effect, fn, arg, cls, err) : fail(err, PAWL_INVALID, "no plug-in");
}

pawl_code pawl_plugin_machine(pawl_plugin *p, pawl_machine *m, pawl_err *err)
{
    if (m == NULL)
        return err != NULL && err->code < 0 ? err->code : fail(err, PAWL_INVALID, "no machine");
    if (p == NULL || p->machine != NULL) {
        pawl_machine_free(m);
        return fail(err, PAWL_CONFLICT, "%s: a plug-in gives one machine", p != NULL ? p->path : "no plug-in");
    }
    p->machine = m;
    return PAWL_OK;
}

const plugin_handler *plugin_kind(const pawl_plugin *all, const char *kind)
{
    for (const pawl_plugin *p = all; p != NULL; p = p->next)
        for (const plugin_handler *h = p->handlers; h != NULL; h = h->next)
            if (h->kind && strcmp(h->name, kind) == 0)
                return h;
    return NULL;
}

pawl_code plugin_load(pawl_plugin **all, arena *mem, const char *path, pawl_err *err)
{
    pawl_code (*open)(pawl_plugin *p, pawl_err *err);
    pawl_plugin *p, **at = all;
    pawl_err why = {0};
    pawl_code rc;
    void *entry;

    for (; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->path, path) == 0)
            return PAWL_OK;
    if ((p = arena_zero(mem, sizeof *p)) == NULL || (p->path = arena_text(mem, path)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory", path);
    p->mem = mem;
    p->all = all;
    if ((p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL)
        return fail(err, PAWL_IO, "plug-in: %s", dlerror());
    if ((entry = dlsym(p->handle, "pawl_plugin_open")) == NULL) {
        dlclose(p->handle);
        return fail(err, PAWL_INVALID, "%s: it has no function pawl_plugin_open (pawl/plugin.h), and is no plug-in", path);
    }
    memcpy(&open, &entry, sizeof open);
    rc = open(p, &why);
    if (rc != PAWL_OK) {
        pawl_machine_free(p->machine);
        dlclose(p->handle);
        return fail(err, rc < 0 ? rc : PAWL_INVALID, "%s: %s", path, *why.text != '\0' ? why.text : "it does not say why it refuses");
    }
    *at = p;
    return PAWL_OK;
}

void plugins_close(pawl_plugin *all)
{
    for (pawl_plugin *p = all; p != NULL; p = p->next) {
        pawl_machine_free(p->machine);
        dlclose(p->handle);
    }
}
