/* plugin.h - loaded plug-ins and their handlers. */
#ifndef APP_PLUGIN_H
#define APP_PLUGIN_H

#include "json/json.h"
#include "pawl/plugin.h"

typedef struct plugin_handler {
    struct plugin_handler *next;
    const char *name;
    pawl_handler_fn *fn;
    void *arg;
    pawl_class cls;
    bool kind;                  /* a node kind; else an effect of its machine */
} plugin_handler;

struct pawl_plugin {
    pawl_plugin *next;
    arena *mem;
    void *handle;
    const char *path;
    plugin_handler *handlers;
    pawl_machine *machine;      /* NULL: it has none, or it was taken */
    pawl_plugin **all;
};

/* Open the shared object at `path` (absolute), once for each path, and call its pawl_plugin_open. The list keeps the order. */
pawl_code plugin_load(pawl_plugin **all, arena *mem, const char *path, pawl_err *err);
const plugin_handler *plugin_kind(const pawl_plugin *all, const char *kind);    /* NULL: none has it */
void plugins_close(pawl_plugin *all);   /* after every engine that uses their handlers */

#endif
