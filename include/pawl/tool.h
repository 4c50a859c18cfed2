/* tool.h - tools that a model may call: name, schema, class, limits, and the handler (A5).
 *
 * A tool is performed as an effect of the name "tool-NAME". Its handler gets
 *   {"input": the input that the model gives, "cwd": the workspace, "tool": its name, "call": the id of the call,
 *    "directories"?: folders that belong to the workspace, "read_only"?: those of them that no command may write to,
 *    "private"?: true: private addresses may be reached,
 *    "seen"?: of a tool with `seen`: which content of its file the run has seen, null: none}
 * and replies
 *   {"content": text, or a list of blocks, "is_error"?: true: the tool failed, and the model is told,
 *    "cut"?: true and "whole": the text of which `content` is a part, "note"?: for people,
 *    "seen"?: {"path","version"}: of the file that it has read or written, where the call had "seen"}
 * A mistake of the model is such an error, and never fails the run. Codes below 0 are for the rest: PAWL_CANCELED,
 * PAWL_TIMEOUT, PAWL_NOMEM, PAWL_DENIED (plan mode), PAWL_UNKNOWN. */
#ifndef PAWL_TOOL_H
#define PAWL_TOOL_H

#include "pawl/effect.h"
#include "pawl/kernel.h"
#include "pawl/policy.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PAWL_TOOL_OUTPUT_BYTES = 30000,     /* of `content`, by default */
    PAWL_TOOL_TIMEOUT_MS = 30000,
    PAWL_TOOLS_MAX = 1024               /* in one registry */
};

typedef struct pawl_tool {
    const char *name;           /* "read_file": [A-Za-z0-9_-], 1 to 56 of them, and no dash first */
    const char *rule;           /* its name in rules and hooks: "Read"; NULL: `name` */
    const char *description;    /* for the model; NULL: none */
    const char *schema;         /* of its input: JSON text, an object */
    pawl_permission cls;        /* PAWL_PERMISSION_READ ... PAWL_PERMISSION_OTHER */
    pawl_class effect;          /* E5; PAWL_CLASS_ONCE for a tool that writes */
    uint32_t timeout_ms;        /* of one call; 0: PAWL_TOOL_TIMEOUT_MS */
    size_t output_bytes;        /* of `content`; 0: PAWL_TOOL_OUTPUT_BYTES */
    bool beside;                /* may run in parallel with others; tools of class read may anyway */
    bool alone;                 /* never runs in parallel */
    bool mutates;               /* its success triggers the effect `post-tools` */
    bool deferred;              /* shown to the model only once it was searched for */
    const char *hint;           /* search words; NULL: none */
    pawl_handler_fn *fn;        /* NULL: the host has a handler of its own */
    void *arg;                  /* lent to fn */
    const char *const *env;     /* secret variables that a program gets (ANTHROPIC_API_KEY); ends in NULL; NULL: none */
    bool seen;                  /* of a built-in tool on a file: it gets which content of that file the run has seen, and changes no other (docs/TOOLS.md) */
    bool usual_args;            /* of a built-in tool: arguments by usual names are taken, and those that only decorate are ignored (docs/TOOLS.md) */
} pawl_tool;

/* ---- a set of tools ---------------------------------------------------------------------------------- */

/* Filled by one thread; then constant, for any thread. */
typedef struct pawl_tools pawl_tools;

/* `alloc` may be NULL, and is used until the set is freed. NULL: PAWL_NOMEM. */
PAWL_API pawl_tools *pawl_tools_new(const pawl_alloc *alloc, pawl_err *err);
PAWL_API void pawl_tools_free(pawl_tools *t);                      /* may be NULL; no tool of it may be running */

/* Adds a tool; texts are copied, `arg` is lent. The `fn` of the registered tool checks the input against the schema, denies in plan mode unless the class
 * is read, and then calls `tool->fn` with the same job. PAWL_CONFLICT: the name is taken. PAWL_INVALID: a member is wrong or too
 * large, and err says which. PAWL_LIMIT: PAWL_TOOLS_MAX. PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_add(pawl_tools *t, const pawl_tool *tool, pawl_err *err);
/* Adds a program as a tool: `run` ends in NULL and is never passed to a shell; the input goes to stdin as JSON, stdout is the content, and a status other
 * than 0 is an error of the tool with the end of stderr. It runs in the workspace with the environment without secrets (NAME_API_KEY,
 * PAWL_SECRET_NAME) that `tool->env` does not name. If its class is read it runs in a read-only sandbox without network (P7; pawl_tools_sandbox); in plan
 * mode no other class runs. `tool->fn` is ignored. Errors as of pawl_tools_add. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tool_command(pawl_tools *t, const pawl_tool *tool, const char *const *run, pawl_err *err);
/* Adds built-in tools (docs/TOOLS.md): the one of that name; NULL: all. All of them are added, or none. PAWL_INVALID: no such tool; PAWL_CONFLICT: a name
 * is taken. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_add_builtin(pawl_tools *t, const char *name, pawl_err *err);

/* ---- the sandbox of the model's commands (P13) ----------------------------------------------------- */

typedef enum pawl_sandbox_need {
    PAWL_SANDBOX_REQUIRED = 0,  /* a command runs in it or not at all */
    PAWL_SANDBOX_PREFERRED = 1, /* where none can be made it runs without one, and the reply says so */
    PAWL_SANDBOX_OFF = 2        /* only in plan mode, and for commands that only read */
} pawl_sandbox_need;
enum { PAWL_SANDBOX_PROCESSES = 512, PAWL_SANDBOX_FILES = 4096 };       /* limits by default */
#define PAWL_SANDBOX_MEMORY_BYTES  (UINT64_C(8) << 30)
#define PAWL_SANDBOX_FILE_BYTES    (UINT64_C(4) << 30)
#define PAWL_SANDBOX_SCRATCH_BYTES (UINT64_C(2) << 30)

/* What the built-in tool `bash` may reach. Always: system folders to read, the workspace to write, a home that is empty but for tools installed there
 * and git's configuration, no network, an environment of harmless variables. Lists end in NULL; NULL: nothing more. */
typedef struct pawl_sandbox {
    pawl_sandbox_need need;
    const char *const *read, *const *write;     /* further absolute paths; those that do not exist are left out */
    const char *const *env;     /* further variables: "NAME", or "PREFIX*" */
    bool unix_sockets;          /* sockets with a path may be made: programs of the host can be reached by those in the workspace */
    uint32_t processes, files;  /* limits; 0: the default. `processes`: of the user in the sandbox; `files`: open ones of a process */
    uint64_t memory_bytes;      /* data of a process */
    uint64_t file_bytes;        /* of a file that is written */
    uint64_t scratch_bytes;     /* in each of the private /tmp, /var/tmp and home */
} pawl_sandbox;
/* Sets it for the tools of the set, added before or after; `s` is copied. PAWL_INVALID: a path is not absolute, or a name is empty; PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_sandbox(pawl_tools *t, const pawl_sandbox *s, pawl_err *err);

/* In the order of addition; lent as long as the set. NULL: no such tool. */
PAWL_API size_t pawl_tools_count(const pawl_tools *t);
PAWL_API const pawl_tool *pawl_tools_at(const pawl_tools *t, size_t index);
PAWL_API const pawl_tool *pawl_tools_find(const pawl_tools *t, const char *name);
/* Searches names, hints and descriptions for `words`, ignoring case: up to `most` tools into `out`, the best first (more words; then name before hint
 * before description; then order of addition). Returns how many. */
PAWL_API size_t pawl_tools_search(const pawl_tools *t, const char *words, const pawl_tool **out, size_t most);
/* Checks `input` against the schema of the tool: PAWL_OK, or PAWL_INVALID with the text for the model ("Invalid arguments: ..."). */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_check(const pawl_tools *t, const char *name, const pawl_value *input, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
