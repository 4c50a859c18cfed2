/* policing.h - what the tests of policies share: a request from its text. */
#ifndef TEST_POLICY_POLICING_H
#define TEST_POLICY_POLICING_H

#include "json/json.h"
#include "lib/check.h"
#include "pawl/policy.h"

static inline pawl_permission police_class(const char *tool)
{
    static const struct { const char *tool; pawl_permission cls; } known[] = {
        { "Bash", PAWL_PERMISSION_EXEC }, { "Read", PAWL_PERMISSION_READ }, { "Glob", PAWL_PERMISSION_READ }, { "Grep", PAWL_PERMISSION_READ },
            { "LS", PAWL_PERMISSION_READ },
        { "Edit", PAWL_PERMISSION_EDIT }, { "Write", PAWL_PERMISSION_EDIT }, { "MultiEdit", PAWL_PERMISSION_EDIT }, { "NotebookEdit", PAWL_PERMISSION_EDIT },
        { "WebFetch", PAWL_PERMISSION_NET }, { "WebSearch", PAWL_PERMISSION_NET }, { "mcp__fs__write", PAWL_PERMISSION_EDIT }, { "mcp__fs__read",
            PAWL_PERMISSION_READ },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].tool, tool) == 0)
            return known[i].cls;
    return PAWL_PERMISSION_OTHER;
}

/* The arguments of a call of `tool` whose one text is `what`; JSON when it begins with {" or is {}. */
static inline const pawl_value *police_args(arena *a, const char *tool, const char *what)
{
    const char *key = strcmp(tool, "Bash") == 0 ? "command" : strcmp(tool, "WebFetch") == 0 ? "url" :
                      strcmp(tool, "NotebookEdit") == 0 ? "notebook_path" :
                      strcmp(tool, "Glob") == 0 || strcmp(tool, "Grep") == 0 || strcmp(tool, "LS") == 0 ? "path" :
                      strcmp(tool, "Agent") == 0 || strcmp(tool, "Task") == 0 ? "subagent_type" :
                      strcmp(tool, "Node") == 0 ? "name" : "file_path";

    if (strncmp(what, "{\"", 2) == 0 || strcmp(what, "{}") == 0)
        return value_parse(a, what, strlen(what), "arguments", NULL);
    if (*what == '\0')
        return value_pack(a, NULL, "{}");
    return value_pack(a, NULL, "{s:s}", key, what);
}

#endif
