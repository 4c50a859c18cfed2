/* command_rules.c - see command_rules.h.
 *
 * Called by the handlers of commands, on any thread, just before the program starts. The decision in the journal was made on the links that were there
 * then; the folder of a node was known by its text alone. What the program itself opens, nobody sees here: that is for its sandbox. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "effect/command_rules.h"
#include "effect/hard_links.h"
#include "effect/resolve_links.h"
#include "net/net.h"
#include "policy/file_rules.h"

#include <limits.h>
#include <stdlib.h>

enum { PATHS_MAX = 4096 };      /* more than that is denied */

typedef struct path_list { arena *mem; const pawl_value *all; size_t n; } path_list;

static bool see_path(void *ctx, const char *path)
{
    path_list *l = ctx;

    if (l->n++ == PATHS_MAX)
        return false;
    l->all = value_push(l->mem, l->all, value_string(l->mem, path, strlen(path)));
    return l->all != NULL;
}

static bool stops(void *ctx)
{
    return job_canceled(ctx);
}

static bool why_set(char why[COMMAND_WHY_BYTES], const char *text)
{
    snprintf(why, COMMAND_WHY_BYTES, "%s", text);
    return true;
}

/* ---- folders that are read with all below them: for nodes, which no sandbox keeps from it ----------------------------- */

typedef struct tree_check {
    arena *mem;
    const pawl_job *job;
    const denied_top *tops;     /* of the folder under way */
    size_t n;
    bool cut, found;
    char *why;
} tree_check;

/* Below the folder; `hidden`: also where a name begins with a dot. */
static bool is_read_there(const char *path, const char *folder, bool hidden)
{
    const size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/' && (hidden || strstr(path + n, "/.") == NULL);
}

static bool see_tree(void *ctx, const char *folder, bool hidden)
{
    const file_use u = { .tool = "Read", .cls = PAWL_PERMISSION_READ, .time_ms = epoch_ms() };
    tree_check *t = ctx;
    char real[PATH_MAX];
    const char *const one = real;

    if (realpath(folder, real) == NULL)
        return true;
    if ((t->tops = denied_tops_find(t->mem, t->job->policy, &u, &(denied_shown){ &one, 1 }, stops, (void *)(uintptr_t)t->job, &t->n, &t->cut)) == NULL)
        t->found = why_set(t->why, "no memory to decide on it");
    for (size_t i = 0; t->tops != NULL && i < t->n && !t->found; i++)
        if (is_read_there(t->tops[i].path, real, hidden)) {
            snprintf(t->why, COMMAND_WHY_BYTES, "it reads all below %.120s, and a rule denies to read %.120s", folder, t->tops[i].path);
            t->found = true;
        }
    if (!t->found && t->cut)
        t->found = why_set(t->why, "it reads all below a folder, and the rules deny more files than are looked for (DENIED_TOPS_MAX): deny their folders");
    return !t->found;
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static bool denied(const pawl_job *job, const pawl_value *command, const char *cwd, bool node, arena *mem, char why[COMMAND_WHY_BYTES])
{
    const char *behavior = pawl_value_string(pawl_value_get(pawl_value_get(job->args, "decision"), "behavior"));
    const link_rules rules = { .policy = job->policy, .time_ms = epoch_ms(), .stop = stops, .ctx = (void *)(uintptr_t)job };
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = pawl_mode_named(job->mode), .node = node, .cwd = cwd, .time_ms = epoch_ms() };
    path_list l = { .mem = mem, .all = value_pack(mem, NULL, "[]") };
    tree_check t = { .mem = mem, .job = job, .why = why };
    pawl_err err = {0};
    pawl_decision d;

    if ((q.args = value_pack(mem, NULL, "{s:v}", "command", command)) == NULL || l.all == NULL)
        return why_set(why, "no memory to decide on it");
    call_paths(job->policy, &q, see_path, &l);
    if (l.all == NULL || l.n > PATHS_MAX)
        return why_set(why, "it names more paths than are looked up");
    if (l.n > 0 && (q.links = links_of(mem, cwd, l.all, &rules, &err)) == NULL)
        return why_set(why, err.text);
    pawl_decide_first(job->policy, &q, &d);
    if (d.behavior == PAWL_BEHAVIOR_DENY)
        return why_set(why, d.reason);
    if (node)
        call_trees(job->policy, &q, see_tree, &t);
    if (t.found)
        return true;
    if (behavior == NULL || strcmp(behavior, pawl_behavior_name(PAWL_BEHAVIOR_ALLOW)) != 0)
        return false;
    pawl_decide(job->policy, &q, &d);
    return d.behavior == PAWL_BEHAVIOR_ASK && (d.ground == PAWL_GROUND_ASK_RULE || d.ground == PAWL_GROUND_MODE) && why_set(why, d.reason);
}

bool command_denied(const pawl_job *job, const pawl_value *command, const char *cwd, bool node, char why[COMMAND_WHY_BYTES])
{
    bool is;
    arena mem;

    if (job->policy == NULL)
        return false;
    arena_init(&mem, NULL, 4096);
    is = denied(job, command, cwd, node, &mem, why);
    arena_free(&mem);
    return is;
}
