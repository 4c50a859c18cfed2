/* hook_point.c - the points at which hooks are called: the table of their stored names.
 *
 * Read by the other files of this folder, the agent and the loader of agent files. Constant, so any thread may read it.
 * Invariant: a name is stored in journals and settings and never changes. */
#include "policy/hook.h"

static const struct { const char *name, *matches; bool denies; } points[HOOK_POINTS] = {
    [HOOK_NOWHERE] = { "", NULL, false },
    [HOOK_PRE] = { "PreToolUse", "tools", true },
    [HOOK_POST] = { "PostToolUse", "tools", true },
    [HOOK_POST_FAILURE] = { "PostToolUseFailure", "tools", true },
    [HOOK_PROMPT] = { "UserPromptSubmit", NULL, true },
    [HOOK_STOP] = { "Stop", NULL, true },
    [HOOK_SUBAGENT_STOP] = { "SubagentStop", "agents", true },
    [HOOK_PRE_COMPACT] = { "PreCompact", "a trigger", true },
    [HOOK_SESSION_START] = { "SessionStart", "a source", false },
    [HOOK_SESSION_END] = { "SessionEnd", "a reason", false },
    [HOOK_ANSWER] = { "PostAssistantResponse", NULL, false },
    [HOOK_NOTICE] = { "Notification", "a type", false },
};

const char *hook_point_name(hook_point p) { return points[p].name; }
bool hook_point_may_deny(hook_point p) { return points[p].denies; }
const char *hook_point_matches(hook_point p) { return points[p].matches; }

hook_point hook_point_named(const char *name)
{
    if (name == NULL || *name == '\0')
        return HOOK_NOWHERE;
    if (strcmp(name, "before") == 0)
        return HOOK_PRE;
    if (strcmp(name, "after") == 0)
        return HOOK_POST;
    for (int p = HOOK_PRE; p < HOOK_POINTS; p++)
        if (strcmp(points[p].name, name) == 0)
            return (hook_point)p;
    return HOOK_NOWHERE;
}

/* ---- tools that Claude Code calls otherwise ------------------------------------------------------------- */

static const struct { const char *here, *there; } renamed[] = {
    { "Todo", "TodoWrite" }, { "AskUser", "AskUserQuestion" }, { "EnterPlan", "EnterPlanMode" }, { "ExitPlan", "ExitPlanMode" },
};

const char *hook_tool_elsewhere(const char *tool)
{
    for (size_t i = 0; tool != NULL && i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].here, tool) == 0)
            return renamed[i].there;
    return tool;
}

const char *hook_tool_here(const char *tool, size_t size)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strlen(renamed[i].there) == size && memcmp(renamed[i].there, tool, size) == 0)
            return renamed[i].here;
    return NULL;
}
