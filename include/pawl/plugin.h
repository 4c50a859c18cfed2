/* plugin.h - shared objects for the program `pawl`: they add kinds of nodes to agent files, or are a whole agent.
 *
 *     static pawl_code greet(const pawl_job *job, pawl_reply *reply, void *arg)
 *     {
 *         const char *who = pawl_value_string(pawl_value_get(job->args, "with"));
 *         return pawl_reply_string(reply, who != NULL ? who : "nobody");
 *     }
 *     pawl_code pawl_plugin_open(pawl_plugin *p, pawl_err *err)
 *     {
 *         return pawl_plugin_kind(p, "greet", greet, NULL, PAWL_CLASS_PURE, err);
 *     }
 *
 * Build it with `cc -shared -fPIC greet.c -o greet.so`; the functions of the library are those of the program that loads it. An agent file loads it with
 * `plugins: [./greet.so]`, and uses the kind like `run:`, as `greet: "{{.name}}"`; the reply of the handler goes to `text:` or `json:`. A plug-in that has a
 * machine is run without an agent file: `pawl run agent.so`. A plug-in is code that runs with all rights of the program: load only what you trust.
 *
 *   threads  pawl_plugin_open and the functions below are called on one thread, before anything runs; handlers on any thread, several at once (effect.h)
 *   lifetime the object stays loaded until the program ends; `arg` must be valid as long; names are copied */
#ifndef PAWL_PLUGIN_H
#define PAWL_PLUGIN_H

#include "pawl/effect.h"
#include "pawl/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_plugin pawl_plugin;

/* To be defined by the plug-in: it declares what it adds. Called once when the file is loaded, before its nodes are read. Any other result than PAWL_OK: the
 * file is refused, with the text in err. */
PAWL_API pawl_code pawl_plugin_open(pawl_plugin *p, pawl_err *err);

/* Adds a kind of node. Its handler gets the arguments {"with": the value behind the kind in the file}. `cls` is the class of nodes without `effect:`.
 * PAWL_INVALID: `kind` is not [A-Za-z0-9_-]{1,48}, or begins with '-', or `fn` or `cls` is missing; PAWL_CONFLICT: it is a key of agent files, an effect of
 * Pawl, or a kind of a plug-in already; PAWL_NOMEM. */
PAWL_API pawl_code pawl_plugin_kind(pawl_plugin *p, const char *kind, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* Adds a handler for an effect that the plug-in's machine calls, as pawl_engine_effect does. PAWL_INVALID and PAWL_NOMEM as above. */
PAWL_API pawl_code pawl_plugin_effect(pawl_plugin *p, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err);
/* Sets the machine that `pawl run agent.so` runs. Takes ownership of `m`, also on failure. PAWL_CONFLICT: the plug-in has set one. With `m` NULL it returns
 * the code that err has, or PAWL_INVALID: pass on what a constructor returned. */
PAWL_API pawl_code pawl_plugin_machine(pawl_plugin *p, pawl_machine *m, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
