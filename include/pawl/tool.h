/* tool.h - tools: what a model may ask for, with the schema of it, who may do it, and its limits (A5).
 *
 * A tool is performed as an effect of the name "tool-NAME". Its handler gets
 *   {"input": what the model asked for, "cwd": the workspace, "tool": its name, "call": the id of the call,
 *    "directories"?: folders that belong to the workspace, "read_only"?: those of them to which no command may write,
 *    "sandbox"?: "off": no sandbox but that of plan mode,
 *    "private"?: true: the network of this machine may be reached}
 * and replies
 *   {"content": text, or a list of blocks, "is_error"?: true: the tool failed, and the model is to know,
 *    "cut"?: true and "whole": what `content` is a part of, "note"?: for people}
 * What the model got wrong is such an error; it never fails the run. Codes below 0 are for what no tool can say: PAWL_CANCELED,
 * PAWL_TIMEOUT, PAWL_NOMEM, PAWL_DENIED (plan mode), PAWL_UNKNOWN. */
#ifndef PAWL_TOOL_H
#define PAWL_TOOL_H

#include "pawl/effect.h"
#include "pawl/kernel.h"
#include "pawl/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PAWL_TOOL_OUTPUT_BYTES = 30000,     /* of `content`, where a tool says nothing else */
    PAWL_TOOL_TIMEOUT_MS = 30000,
    PAWL_TOOLS_MAX = 1024               /* in one registry */
};

typedef struct pawl_tool {
    const char *name;           /* "read_file": [A-Za-z0-9_-], 1 to 56 of them */
    const char *rule;           /* what rules and hooks call it: "Read"; NULL: its name */
    const char *description;    /* for the model; NULL: none */
    const char *schema;         /* of its input: JSON text, an object */
    pawl_permission cls;        /* PAWL_READ ... PAWL_OTHER */
    pawl_class effect;          /* E5: PAWL_ONCE where it writes */
    uint32_t timeout_ms;        /* of one call; 0: PAWL_TOOL_TIMEOUT_MS */
    size_t output_bytes;        /* of `content`; 0: PAWL_TOOL_OUTPUT_BYTES */
    bool beside;                /* it may run beside others, as those of class read do anyhow, */
    bool alone;                 /* and this one never */
    bool mutates;               /* after its success the hook of what follows tools is due */
    bool deferred;              /* not shown to the model before it was searched for */
    const char *hint;           /* words it is found by; NULL: none */
    pawl_handler_fn *fn;        /* NULL: whoever runs the agent does it */
    void *arg;                  /* lent to fn */
    const char *const *env;     /* of a program: keys that it gets from the environment, all the same (ANTHROPIC_API_KEY); ends in NULL; NULL: none */
} pawl_tool;

/* ---- a set of tools ---------------------------------------------------------------------------------- */

/* Filled by one thread, then asked and performed by any. */
typedef struct pawl_tools pawl_tools;

/* `alloc` may be NULL, and is used until the set is freed. NULL: PAWL_NOMEM. */
PAWL_API pawl_tools *pawl_tools_new(const pawl_alloc *alloc, pawl_err *err);
PAWL_API void pawl_tools_free(pawl_tools *t);                      /* may be NULL; no tool of it may be running */

/* Add one; its texts are copied, `arg` is lent. The `fn` that is handed out for it checks the input against the schema, denies in plan mode what is not
 * of class read, and only then calls `tool->fn` with the same job; what that replies is passed on. PAWL_CONFLICT: the name is taken. PAWL_INVALID names
 * what is wrong: name, class, a schema that is no JSON or no object. PAWL_LIMIT: PAWL_TOOLS_MAX. PAWL_NOMEM. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_add(pawl_tools *t, const pawl_tool *tool, pawl_err *err);
/* Add one that is a program: `run` (ends in NULL) is never a shell, the input goes to its stdin as JSON, and nowhere else; its stdout is the content. A status
 * other than 0 is an error of the tool, with the end of its stderr. It runs in the workspace with the environment, but for keys of models and
 * secrets of runs (NAME_API_KEY, PAWL_SECRET_NAME) that `tool->env` does not name; in plan mode only one of class read, in the sandbox that can only read.
 * `tool->fn` is not looked at. Errors as of pawl_tools_add. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tool_command(pawl_tools *t, const pawl_tool *tool, const char *const *run, pawl_err *err);
/* Add those that come with the library (docs/TOOLS.md): the one of that name, or with NULL all. All or none of them are added. PAWL_INVALID: there is none of
 * that name; PAWL_CONFLICT: one is there already. */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_add_builtin(pawl_tools *t, const char *name, pawl_err *err);

/* In the order in which they were added; they live as long as the set. NULL: there is none such. */
PAWL_API size_t pawl_tools_count(const pawl_tools *t);
PAWL_API const pawl_tool *pawl_tools_at(const pawl_tools *t, size_t index);
PAWL_API const pawl_tool *pawl_tools_find(const pawl_tools *t, const char *name);
/* Those that fit `words` (their letters, in any case), deferred or not, into `out`, at most `most` of them: who has more of the words stands before who has
 * fewer, a word of the name weighs more than one of the hint, that more than one of the description; equal ones in their order. How many there are in `out`. */
PAWL_API size_t pawl_tools_search(const pawl_tools *t, const char *words, const pawl_tool **out, size_t most);
/* Whether `input` is what the tool's schema asks for: PAWL_OK, or PAWL_INVALID with the text that the model is to get ("Invalid arguments: ..."). */
PAWL_API PAWL_MUST_USE pawl_code pawl_tools_check(const pawl_tools *t, const char *name, const pawl_value *input, pawl_err *err);

#ifdef __cplusplus
}
#endif
#endif
