/* mode.c - the modes, and what each says of each class of tools (P1).
 *
 * A constant table: any thread. Called by decide.c, the agent and the loader of agent files.
 * Invariant: the order of the modes is that of their rights; names are stored in journals and settings and never change. */
#include "policy/policy.h"

enum { MODES = 5, CLASSES = 6, INSIDE = 4 };    /* INSIDE: allowed inside the workspace, else open */

static const char *const mode_names[MODES] = { "", "plan", "default", "acceptEdits", "bypassPermissions" };
static const char *const permission_names[CLASSES] = { "", "read", "edit", "exec", "net", "other" };

static const unsigned char mode_table[MODES][CLASSES] = {
    /*                       none         read         edit         exec         net          other      */
    [PAWL_MODE_NONE]    = { PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN  },
    [PAWL_MODE_PLAN]         = { PAWL_BEHAVIOR_DENY,   PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_DENY,   PAWL_BEHAVIOR_DENY,   PAWL_BEHAVIOR_DENY,
        PAWL_BEHAVIOR_DENY  },
    [PAWL_MODE_DEFAULT]      = { PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,
        PAWL_BEHAVIOR_OPEN  },
    [PAWL_MODE_ACCEPT_EDITS] = { PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_ALLOW,  INSIDE,      PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN,   PAWL_BEHAVIOR_OPEN  },
    [PAWL_MODE_BYPASS]       = { PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_ALLOW,  PAWL_BEHAVIOR_ALLOW,
        PAWL_BEHAVIOR_ALLOW },
};

const char *pawl_mode_name(pawl_mode m)
{
    return (unsigned)m < MODES ? mode_names[m] : "";
}

pawl_mode pawl_mode_named(const char *name)
{
    for (unsigned m = PAWL_MODE_PLAN; name != NULL && m < MODES; m++)
        if (strcmp(name, mode_names[m]) == 0)
            return (pawl_mode)m;
    return PAWL_MODE_NONE;
}

const char *pawl_permission_name(pawl_permission cls)
{
    return (unsigned)cls < CLASSES ? permission_names[cls] : "";
}

const char *pawl_behavior_name(pawl_behavior b)
{
    static const char *const names[] = { "open", "allow", "ask", "deny" };

    return (unsigned)b < sizeof names / sizeof *names ? names[b] : "";
}

const char *pawl_ground_name(pawl_ground g)
{
    static const char *const names[] = { "", "default", "allow rule", "hook", "mode", "ask rule", "deny rule", "syntax" };

    return (unsigned)g < sizeof names / sizeof *names ? names[g] : "";
}

bool pawl_mode_permits(pawl_mode now, pawl_mode required)
{
    return now >= PAWL_MODE_PLAN && now <= PAWL_MODE_BYPASS && required >= PAWL_MODE_PLAN && required <= now;
}

pawl_behavior pawl_mode_decision(pawl_mode m, pawl_permission cls, bool inside)
{
    unsigned cell = (unsigned)m < MODES ? mode_table[m][(unsigned)cls < CLASSES ? cls : 0] : PAWL_BEHAVIOR_OPEN;

    if (cell == INSIDE)
        return inside ? PAWL_BEHAVIOR_ALLOW : PAWL_BEHAVIOR_OPEN;
    return (pawl_behavior)cell;
}
