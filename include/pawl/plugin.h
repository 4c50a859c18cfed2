/* plugin.h - what a shared object adds to the program `pawl`: kinds of nodes for agent files, or a whole agent.
 *
 *     static pawl_code greet(const pawl_job *job, pawl_reply *reply, void *arg)
 *     {
 *         const char *who = pawl_value_string(pawl_value_get(job->args, "with"));
 *         return pawl_reply_string(reply, who != NULL ? who : "nobody");
 *     }
 *     pawl_code pawl_plugin_open(pawl_plugin *p, pawl_err *err)
 *     {
 *         return pawl_plugin_kind(p, "greet", greet, NULL, PAWL_PURE, err);
 *     }
 *
 * Built by `cc -shared -fPIC greet.c -o greet.so`: the program itself has all names of the library. An agent file names it,
 * `plugins: [./greet.so]`, and writes `greet: "{{.name}}"` as it writes `run:`; what the handler replies goes to `text:` or `json:`. One
 * that gives a machine is run by itself, `pawl run agent.so`. Whoever names a plug-in runs its code. */
#ifndef PAWL_PLUGIN_H
#define PAWL_PLUGIN_H

#include "pawl/effect.h"
#include "pawl/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_plugin pawl_plugin;

/* The one entry point: called once, before the file's nodes are read. Not PAWL_OK: err says why, and the file is refused. */
PAWL_API pawl_code pawl_plugin_open(pawl_plugin *p, pawl_err *err);

/* A kind of node: {"with": what the file says behind it} are the arguments of its handler. `cls` is its class where the node says no
 * `effect:`. PAWL_INVALID: no name; PAWL_CONFLICT: a key or another plug-in's kind has it. */
PAWL_API pawl_code pawl_plugin_kind(pawl_plugin *p, const char *kind, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* A handler for an effect of a machine of its own, as pawl_engine_effect. */
PAWL_API pawl_code pawl_plugin_effect(pawl_plugin *p, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* The whole agent. Takes `m`, also on failure: PAWL_CONFLICT: it has given one; NULL `m`: PAWL_INVALID, err as it is. */
PAWL_API pawl_code pawl_plugin_machine(pawl_plugin *p, pawl_machine *m, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
