/* opened.c - the rules about paths, applied to what a tool has opened (P8).
 *
 * Called by the tools, on the thread of the job, after a file or folder was opened and before it is used. The call was decided by the path as it is
 * written, and by where its links led then; a link may have been changed since. So the path is taken from the descriptor, deny rules are asked about it,
 * and where it is another than the one decided on, the decision is made again. Where /proc is missing, the path of the walk counts, which followed no link
 * unseen, and the name must still lead to the file. */
#define _GNU_SOURCE             /* syscall */
#include "effect/resolve_links.h"
#include "effect/tool/tool.h"
#include "net/net.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static file_use use_of(const tool_call *c)
{
    return (file_use){ .tool = c->tool->rule, .cls = c->tool->cls, .time_ms = epoch_ms() };
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- paths --------------------------------------------------------------------------------------------------- */

bool fd_path(int fd, char out[TOOL_PATH_BYTES])
{
    char name[64];
    ssize_t n;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, out, TOOL_PATH_BYTES - 1);
    if (n <= 0 || out[0] != '/')
        return false;
    out[n] = '\0';
    return true;
}

/* The true path of what was opened: of `fd`, else of the name in its folder. False: not to be had. */
static bool true_path(const opened_file *o, char out[TOOL_PATH_BYTES])
{
    size_t n;

    if (o->fd >= 0)
        return fd_path(o->fd, out);
    if (o->dir < 0 || !fd_path(o->dir, out))
        return false;
    n = strcmp(out, "/") == 0 ? 0 : strlen(out);
    if (strcmp(o->name, ".") == 0)
        return true;
    return snprintf(out + n, TOOL_PATH_BYTES - n, "/%s", o->name) < (int)(TOOL_PATH_BYTES - n);
}

/* Waits for a change of the folder that is under way. A name that is being removed is first taken from the count of names of its file, and only then from
 * the folder; the kernel reads a folder under the lock under which it does both. After this, a file that was counted without its name is seen to be
 * deleted. */
static void settle(int dir)
{
    const int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char entries[512];

    if (fd < 0)
        return;
    (void)syscall(SYS_getdents64, fd, entries, sizeof entries);
    close(fd);
}

/* Whether the file still has the name by which it was opened. */
static bool still_named(const opened_file *o)
{
    struct stat st;

    return o->st == NULL || o->dir < 0 || (fstatat(o->dir, o->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && same_inode(&st, o->st));
}

/* Whether a path leads to the file, or where there is none to its folder: a file system may have several names for it, as one that knows no case does. */
static bool leads_there(const opened_file *o, const char *path)
{
    char folder[TOOL_PATH_BYTES];
    struct stat there, dir;

    if (o->st != NULL)
        return stat(path, &there) == 0 && same_inode(&there, o->st);
    snprintf(folder, sizeof folder, "%.*s/", (int)(strrchr(path, '/') - path), path);
    return o->dir >= 0 && fstat(o->dir, &dir) == 0 && stat(folder, &there) == 0 && same_inode(&there, &dir);
}

/* The same path below the name by which the root was given. False: too long. */
static bool shown_path(const opened_file *o, char out[TOOL_PATH_BYTES])
{
    const size_t n = strcmp(o->root->real, "/") == 0 ? 0 : strlen(o->root->real);
    char whole[TOOL_PATH_BYTES];

    if (snprintf(whole, sizeof whole, "%s/%s", o->root->said, o->path + n) >= (int)sizeof whole)
        return false;
    path_plainly(whole, out);
    return true;
}

/* The path as it is written, made absolute by its text alone. False: too long. */
static bool asked_path(const tool_call *c, const char *asked, char out[TOOL_PATH_BYTES])
{
    char whole[TOOL_PATH_BYTES];

    if (snprintf(whole, sizeof whole, "%s%s%s", *asked == '/' ? "" : c->cwd, *asked == '/' ? "" : "/", asked) >= (int)sizeof whole)
        return false;
    path_plainly(whole, out);
    return true;
}

/* ---- deny rules ------------------------------------------------------------------------------------------------ */

static bool search_stops(void *ctx)
{
    tool_call *c = ctx;

    return job_canceled(c->job) || clock_ms() >= c->until_ms;
}

/* The files that a deny rule fits: looked for once in a call. NULL: no memory. */
static const denied_files *denied_of(tool_call *c)
{
    const file_use u = use_of(c);

    if (c->denied == NULL)
        c->denied = denied_files_find(&c->mem, c->job->policy, &u, search_stops, c);
    return c->denied;
}

typedef enum link_verdict { LINKS_FINE, LINKS_DENIED, LINKS_UNKNOWN } link_verdict;

static link_verdict links_check(tool_call *c, const struct stat *st, const char **twin)
{
    const denied_files *d;

    *twin = NULL;
    if (st == NULL || !S_ISREG(st->st_mode) || st->st_nlink < 2)
        return LINKS_FINE;
    if ((d = denied_of(c)) == NULL)
        return LINKS_UNKNOWN;
    *twin = denied_files_twin(d, st);
    return *twin != NULL ? LINKS_DENIED : denied_files_cut(d) ? LINKS_UNKNOWN : LINKS_FINE;
}

static bool names_allowed(tool_call *c, const opened_file *o, pawl_code *rc)
{
    const file_use u = use_of(c);
    const char *twin, *rule;

    switch (links_check(c, o->st, &twin)) {
    case LINKS_FINE:
        return true;
    case LINKS_DENIED:
        rule = file_rule_denies(c->job->policy, &u, twin);
        *rc = tool_error(c, "Permission denied: %s has %lu names, and one of them is %s, which the rule %s denies", o->asked,
                         (unsigned long)o->st->st_nlink, twin, rule != NULL ? rule : "");
        return false;
    case LINKS_UNKNOWN:
        *rc = tool_error(c, "Permission denied: %s has %lu names, and it is not known whether a rule denies one of them, for there are too many names below "
                            "the places of the rules (DENIED_SEEN_MAX, %d): copy the file, or deny narrower paths", o->asked, (unsigned long)o->st->st_nlink,
                         DENIED_SEEN_MAX);
        return false;
    }
    return false;
}

/* The name of the file at a true path by which a deny rule fits it; NULL: none does. */
static const char *denied_name(tool_call *c, const char *at)
{
    const file_use u = use_of(c);

    if (file_rule_denies(c->job->policy, &u, at) != NULL)
        return at;
    if (c->ways == NULL)
        c->ways = denied_ways_find(&c->mem, c->job->policy, &u);
    return c->ways != NULL ? denied_ways_name(c->ways, &c->mem, at) : NULL;
}

static bool path_allowed(tool_call *c, const opened_file *o, const char *path, const char *written, pawl_code *rc)
{
    const file_use u = use_of(c);
    const char *at = denied_name(c, path), *rule = at != NULL ? file_rule_denies(c->job->policy, &u, at) : NULL;

    if (c->mem.failed) {
        *rc = tool_nomem(c);
        return false;
    }
    if (rule == NULL)
        return true;
    if (strcmp(at, written) == 0)
        *rc = tool_error(c, "Permission denied: %s is denied by the rule %s", o->asked, rule);
    else
        *rc = tool_error(c, "Permission denied: %s leads to %s, which the rule %s denies", o->asked, at, rule);
    return false;
}

/* ---- decided again ----------------------------------------------------------------------------------------------- */

/* A node is allowed when nothing decides on it, a tool of an agent is asked: by that the decision tells which it was. */
static bool was_a_node(const pawl_value *decision)
{
    const char *behavior = pawl_value_string(pawl_value_get(decision, "behavior")), *ground = pawl_value_string(pawl_value_get(decision, "ground"));

    return behavior != NULL && ground != NULL && strcmp(behavior, pawl_behavior_name(PAWL_BEHAVIOR_ALLOW)) == 0 &&
           strcmp(ground, pawl_ground_name(PAWL_GROUND_DEFAULT)) == 0;
}

static bool allowed_there(tool_call *c, const opened_file *o, const char *written)
{
    const pawl_value *links = value_pack(&c->mem, NULL, "{}");
    pawl_request q = { .tool = c->tool->rule, .cls = c->tool->cls, .mode = pawl_mode_named(c->job->mode), .time_ms = epoch_ms(),
                       .args = value_pack(&c->mem, NULL, "{s:s}", "file_path", written),
                       .node = was_a_node(pawl_value_get(c->job->args, "decision")), .read_only = c->tool->cls == PAWL_PERMISSION_READ };
    pawl_decision d;

    q.links = value_with(&c->mem, links, written, value_pack(&c->mem, NULL, "{s:s}", "to", o->path));
    if (q.links == NULL || q.args == NULL)
        return false;
    pawl_decide(c->job->policy, &q, &d);
    return d.behavior == PAWL_BEHAVIOR_ALLOW;
}

/* Whether it is the path that was decided on, or that one may be used like it. */
static bool decided(tool_call *c, const opened_file *o, const char *written, const char *said, pawl_code *rc)
{
    const pawl_value *decision = pawl_value_get(c->job->args, "decision");
    const char *led = pawl_value_string(pawl_value_get(decision, "leads_to"));

    if (pawl_value_type(decision) != PAWL_TYPE_OBJECT)
        return true;            /* nobody decided: it was not called by an agent, or without rules */
    if (strcmp(written, said) == 0 || strcmp(written, o->path) == 0 || (led != NULL && (strcmp(led, o->path) == 0 || strcmp(led, said) == 0)))
        return true;
    if (allowed_there(c, o, written))
        return true;
    *rc = c->mem.failed ? tool_nomem(c)
                        : tool_error(c, "Permission denied: %s leads to %s, which was not decided on: name that path itself", o->asked, o->path);
    return false;
}

static bool changed(tool_call *c, const opened_file *o, pawl_code *rc)
{
    *rc = tool_error(c, "IO error: %s: it was changed while it was looked at", o->asked);
    return false;
}

bool opened_allowed(tool_call *c, const opened_file *o, pawl_code *rc)
{
    char real[TOOL_PATH_BYTES], said[TOOL_PATH_BYTES], written[TOOL_PATH_BYTES];
    bool moved;

    if (c->job->policy == NULL && pawl_value_get(c->job->args, "decision") == NULL)
        return true;
    if (!shown_path(o, said) || !asked_path(c, o->asked, written)) {
        *rc = tool_error(c, "Invalid arguments: %s: the path is too long", o->asked);
        return false;
    }
    if (!names_allowed(c, o, rc))       /* before the path is taken: a name that was removed since is then noticed */
        return false;
    if (o->fd >= 0 && o->st != NULL && S_ISREG(o->st->st_mode))
        settle(o->dir);
    moved = true_path(o, real) && strcmp(real, o->path) != 0;
    if (!still_named(o) || (moved && !(leads_there(o, real) && leads_there(o, o->path))))
        return changed(c, o, rc);
    return path_allowed(c, o, o->path, written, rc) && path_allowed(c, o, said, written, rc) && (!moved || path_allowed(c, o, real, written, rc)) &&
           decided(c, o, written, said, rc);
}

/* ---- what a search finds ------------------------------------------------------------------------------------------- */

bool opened_hides(tool_call *c, const char *path, int dir, int fd, const struct stat *st)
{
    const opened_file o = { .dir = -1, .fd = fd, .path = path, .st = st };
    char real[TOOL_PATH_BYTES];
    const char *twin;
    bool hides;

    if (c->job->policy == NULL)
        return false;
    hides = denied_name(c, path) != NULL || c->mem.failed || (fd >= 0 && links_check(c, st, &twin) != LINKS_FINE);
    if (!hides && fd >= 0)
        settle(dir);
    if (!hides && fd >= 0 && fd_path(fd, real) && strcmp(real, path) != 0)
        hides = !leads_there(&o, real) || !leads_there(&o, path) || denied_name(c, real) != NULL;
    c->hidden += hides;
    return hides;
}

void opened_hidden_put(tool_call *c)
{
    if (c->hidden > 0)
        buf_fmt(&c->out, "[%zu left out: a rule denies to read them]\n", c->hidden);
}
