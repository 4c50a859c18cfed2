/* settings.c - makes the policy of a run from settings.json of the person and of the project, and from the settings of Claude Code.
 *
 * Called by the verbs, on their thread. A project's deny and ask rules always apply. Its allow rules and hooks would give its author power over this
 * machine, so they apply only after the person has trusted the folder. Settings that cannot be read are an error, and no run starts: a lost deny rule
 * would allow what it should stop. */
#define _XOPEN_SOURCE 700       /* S_ISDIR */
#include "app/claude_settings.h"
#include "app/signers.h"
#include "policy/gate.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------- */

const char *settings_of_project(arena *mem, const char *project)
{
    const char *folder = settings_in(mem, project, ".pawl");

    return folder == NULL ? NULL : settings_in(mem, folder, "settings.json");
}

/* The nearest folder, from `folder` upward, in which `name` is there, and a folder if it must be; NULL: none. */
static const char *nearest_with(arena *mem, const char *folder, const char *name, bool is_folder)
{
    char at[SETTINGS_PATH_MAX], *slash;
    struct stat st;

    if (snprintf(at, sizeof at, "%s", strcmp(folder, "/") == 0 ? "" : folder) >= (int)sizeof at)
        return NULL;
    for (;;) {
        const char *here = settings_in(mem, *at == '\0' ? "/" : at, name);

        if (here != NULL && stat(here, &st) == 0 && (!is_folder || S_ISDIR(st.st_mode)))
            return arena_strdup(mem, *at == '\0' ? "/" : at, *at == '\0' ? 1 : strlen(at));
        if ((slash = strrchr(at, '/')) == NULL || *at == '\0')
            return NULL;
        *slash = '\0';
    }
}

/* A .pawl without settings hides none above it: anybody who may make a folder could take the rules away by it. */
const char *settings_project(arena *mem, const char *folder)
{
    const char *at = nearest_with(mem, folder, ".pawl/settings.json", false);

    if (at == NULL)
        at = nearest_with(mem, folder, ".pawl", true);
    return at != NULL ? at : folder;
}

/* The next folder above a project that has settings; NULL: none. */
static const char *project_above(arena *mem, const char *project)
{
    const char *slash = strrchr(project, '/'), *parent;

    if (slash == NULL || project[1] == '\0')
        return NULL;
    parent = slash == project ? "/" : arena_strdup(mem, project, (size_t)(slash - project));
    return parent != NULL ? nearest_with(mem, parent, ".pawl/settings.json", false) : NULL;
}

static unsigned sources_of(const app_caller *caller)
{
    return caller != NULL ? caller->without_sources : 0;
}

/* ---- what they say ----------------------------------------------------------------------------------------------- */

typedef struct gathered {
    arena *mem;
    const pawl_value *lists[3];     /* allow, ask, deny */
    const pawl_value *directories, *hooks;
    const pawl_value *approvers, *signers;      /* NULL: none */
    int64_t expires_ms;
    bool unasked, no_bypass;    /* of Claude Code's settings */
    bool keeps;                     /* they are those of the run for its whole life */
    bool any;
    unsigned without;               /* as in app_caller */
} gathered;

static const char *const behaviors[] = { "allow", "ask", "deny" };

/* "RULE", or {"rule","until_ms","by"} as this program writes them. */
static pawl_code rules_gather(gathered *g, size_t which, const pawl_value *list, const char *from, const char *base, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    if (list != NULL && pawl_value_type(list) != PAWL_TYPE_ARRAY)
        return fail(err, PAWL_INVALID, "%s: permissions.%s is a list of rules, such as [\"Bash(git diff:*)\"]", from, behaviors[which]);
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *rule = pawl_value_type(one) == PAWL_TYPE_OBJECT ? pawl_value_get(one, "rule") : one;
        const pawl_value *until = pawl_value_get(one, "until_ms"), *made;

        if (pawl_value_type(rule) != PAWL_TYPE_STRING)
            return fail(err, PAWL_INVALID, "%s: permissions.%s has something that is no rule", from, behaviors[which]);
        made = value_pack(g->mem, NULL, "{s:s,s:s,s:v}", "base", base, "from", from, "rule", rule);
        if (until != NULL)
            made = value_with(g->mem, made, "until", until);
        g->lists[which] = value_push(g->mem, g->lists[which], made);
        g->any = true;
    }
    return g->mem->failed ? fail(err, PAWL_NOMEM, "%s: no memory", from) : PAWL_OK;
}

/* `project`: they are in the manner of Claude Code; NULL: in Pawl's own. `pinned`: they have the digests of their scripts. */
static void hooks_gather(gathered *g, const pawl_value *hooks, const char *from, const char *project, bool pinned)
{
    const pawl_value *one = value_pack(g->mem, NULL, "{s:s,s:v}", "from", from, "hooks", hooks);

    if (pawl_value_size(hooks) == 0)
        return;
    if (project != NULL)
        one = value_with(g->mem, one, "project", value_string(g->mem, project, strlen(project)));
    if (pinned)
        one = value_with(g->mem, one, "pinned", value_bool(g->mem, true));
    g->hooks = value_push(g->mem, g->hooks, one);
    g->any = true;
}

/* The hooks of a project whose files have changed stay with a run that has them: they run nothing but what was trusted, else they deny (P9). */
static void hooks_hold(gathered *g, const pawl_value *was, const char *from)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(was, "hooks"));
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_value_string(pawl_value_get(one, "from"));

        if (!pawl_value_bool(pawl_value_get(one, "pinned")) || path == NULL || strcmp(path, from) != 0)
            continue;
        g->hooks = value_push(g->mem, g->hooks, one);
        g->any = true;
    }
}

static void directories_gather(gathered *g, const pawl_value *list, const char *base)
{
    pawl_iter it = pawl_iter_of(list);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *name = pawl_value_string(one), *whole = name == NULL ? NULL : path_beside(g->mem, settings_in(g->mem, base, "."), name);

        if (whole != NULL)
            g->directories = value_push(g->mem, g->directories, value_string(g->mem, whole, strlen(whole)));
    }
}

/* `ask`: of a project's file, with `scripts`, the digests that its hooks are pinned to; NULL: of the person, or of one who only looks. */
static pawl_code settings_gather(gathered *g, const pawl_value *v, const char *from, const char *base, bool trusted, const trust_ask *ask,
                                 const pawl_value *scripts, pawl_err *err)
{
    static const char *const whole[] = { "$schema", "permissions", "hooks", "sandbox", "anchor", "claude", "notify", NULL };
    static const char *const known[] = { "allow", "ask", "deny", "additionalDirectories", "defaultMode", NULL };
    const pawl_value *p = pawl_value_get(v, "permissions");
    const char *other = settings_unknown(v, whole);
    pawl_code rc = PAWL_OK;
    hook_list checked = {0};

    if (other != NULL)
        return fail(err, PAWL_INVALID, "%s: unknown member \"%.40s\": known are permissions, hooks, sandbox, anchor, claude and notify", from, other);
    if (p != NULL && pawl_value_type(p) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "%s: \"permissions\" is an object with allow, ask and deny", from);
    if ((other = settings_unknown(p, known)) != NULL)
        return fail(err, PAWL_INVALID, "%s: unknown member permissions.%.40s: known are allow, ask, deny, additionalDirectories and defaultMode", from, other);
    for (size_t i = trusted ? 0 : 1; i < 3 && rc == PAWL_OK; i++)
        rc = rules_gather(g, i, pawl_value_get(p, behaviors[i]), from, base, err);
    if (rc != PAWL_OK || !trusted)
        return rc;
    if ((g->without & (ask != NULL ? 2U : 1U)) == 0)
        directories_gather(g, pawl_value_get(p, "additionalDirectories"), base);
    if (pawl_value_get(v, "hooks") != NULL && (rc = hooks_read(g->mem, pawl_value_get(v, "hooks"), from, &checked, err)) == PAWL_OK)
        hooks_gather(g, ask != NULL ? trust_pinned(g->mem, pawl_value_get(v, "hooks"), ask, scripts) : pawl_value_get(v, "hooks"), from, NULL, ask != NULL);
    return rc;
}

static pawl_code file_gather(gathered *g, const agent_file *file, const char *folder, pawl_err *err)
{
    const pawl_value *p = file != NULL ? file->permissions : NULL;
    pawl_code rc = PAWL_OK;

    if (file == NULL)
        return PAWL_OK;
    for (size_t i = 0; i < 3 && rc == PAWL_OK; i++)
        rc = rules_gather(g, i, pawl_value_get(p, behaviors[i]), file->path, folder, err);
    directories_gather(g, pawl_value_get(p, "directories"), folder);
    hooks_gather(g, file->hooks, file->path, NULL, false);
    g->expires_ms = pawl_value_int(pawl_value_get(p, "expires_ms"));
    g->any = g->any || p != NULL;
    return rc;
}

/* The working folder, and the "@policy" of the run so far; NULL: it begins. */
typedef struct settings_place { const char *folder; const pawl_value *was; const struct claude_files *found; } settings_place;

/* Pawl's own settings of a project, and whether they are trusted. NULL with err->code PAWL_OK: there are none. */
static const pawl_value *own_read(arena *mem, const char *project, const char *folder, trust_ask *ask, trust_said *said, pawl_err *err)
{
    char *digest = arena_get(mem, SCRIPT_DIGEST_BYTES);
    const char *path = settings_of_project(mem, project);
    const bool fine = settings_no_link(mem, project, ".pawl", err) == PAWL_OK;
    const pawl_value *v = digest != NULL && fine ? settings_read_digest(mem, path, digest, err) : NULL;

    *said = (trust_said){ .state = TRUST_NONE };
    *ask = (trust_ask){ .project = project, .kind = TRUST_OWN, .path = path, .digest = digest, .hooks = pawl_value_get(v, "hooks"), .cwd = folder };
    if (digest == NULL)
        fail(err, PAWL_NOMEM, "no memory for the settings");
    return v != NULL && trust_read(mem, ask, said, err) == PAWL_OK ? v : NULL;
}

/* Whether an untrusted project has allow rules or hooks. */
static bool wants_more(const pawl_value *v)
{
    return pawl_value_size(pawl_value_get(pawl_value_get(v, "permissions"), "allow")) > 0 || pawl_value_size(pawl_value_get(v, "hooks")) > 0;
}

/* `outer`: the settings of a folder above the project, of which only what denies and asks applies. */
static pawl_code settings_at_gather(gathered *g, const app_caller *caller, const char *project, bool outer, const settings_place *at, pawl_err *err)
{
    static const char *const own[] = { "anchor", "sandbox", "claude", "notify" };
    const char *path = settings_of_project(g->mem, project), *person = settings_of_person(g->mem);
    trust_said said;
    const pawl_value *v;
    trust_ask ask;

    if (path == NULL || (person != NULL && strcmp(path, person) == 0))
        return PAWL_OK;
    if ((v = own_read(g->mem, project, at->folder, &ask, &said, err)) == NULL)
        return err->code;
    if (outer)
        return settings_gather(g, v, path, project, false, NULL, NULL, err);
    if (said.state != TRUST_HOLDS && said.state != TRUST_NONE && wants_more(v))
        trust_report(caller, &said, path, project, "allow rules, hooks");
    if (said.state == TRUST_CHANGED)
        hooks_hold(g, at->was, path);
    if (said.state == TRUST_NONE && wants_more(v))
        app_note(caller, "%s: its allow rules and hooks apply once you trust the folder: pawl policy trust %s", path, project);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (pawl_value_get(v, own[i]) != NULL)
            app_note(caller, "%s: its \"%s\" is ignored: it is read from your own settings only", path, own[i]);
    return settings_gather(g, v, path, project, said.state == TRUST_HOLDS, &ask, said.scripts, err);
}

static pawl_code project_gather(gathered *g, const app_caller *caller, const settings_place *at, pawl_err *err)
{
    const char *project = settings_project(g->mem, at->folder);
    pawl_code rc = settings_at_gather(g, caller, project, false, at, err);

    while (rc == PAWL_OK && (project = project_above(g->mem, project)) != NULL)
        rc = settings_at_gather(g, caller, project, true, at, err);
    return rc;
}

/* ---- the settings of Claude Code ---------------------------------------------------------------------------------- */

static bool has_agents(const agent_file *file)
{
    return file != NULL && (file->agent != NULL || file->helpers != NULL);
}

/* They are about agents: the nodes of a graph are programs of its author. NULL: an agent without a file, or a query about the folder. */
static bool reads_claude(const agent_file *file)
{
    return file == NULL || has_agents(file);
}

/* What is left out is reported when the run begins. */
static pawl_code claude_gather(gathered *g, const app_caller *caller, const settings_place *at, pawl_err *err)
{
    const app_caller *told = at->was == NULL ? caller : NULL;
    const claude_files *files = at->found != NULL ? at->found : claude_look(g->mem, at->folder, sources_of(caller), err);
    claude_word word;
    pawl_code rc;

    if (files == NULL)
        return err->code;
    if ((rc = claude_decided(NULL, files, &word, err)) != PAWL_OK)
        return rc;
    for (size_t i = 0; i < files->count && rc == PAWL_OK; i++) {
        const claude_file *f = &files->all[i];
        const pawl_value *v = claude_said(caller, told, g->mem, files, f, err), *p = pawl_value_get(v, "permissions"), *one;
        pawl_iter it = pawl_iter_of(pawl_value_get(p, "additionalDirectories"));

        if (v == NULL)
            return err->code;
        for (size_t k = f->trusted ? 0 : 1; k < 3 && rc == PAWL_OK; k++)
            rc = rules_gather(g, k, pawl_value_get(p, behaviors[k]), f->path, f->base, err);
        while ((one = pawl_iter_next(&it, NULL)) != NULL)
            g->directories = value_push(g->mem, g->directories, one);
        if (!word.no_hooks || f->scope == CLAUDE_MANAGED)
            hooks_gather(g, pawl_value_get(v, "hooks"), f->path, f->project, f->trust.state == TRUST_HOLDS);
        if (!word.no_hooks && f->trust.state == TRUST_CHANGED)
            hooks_hold(g, at->was, f->path);
    }
    g->unasked = word.unasked;
    g->no_bypass = word.no_bypass != NULL;
    g->any = g->any || g->unasked || g->no_bypass;
    return rc;
}

const char *settings_project_claude(arena *mem, const char *folder, pawl_err *err)
{
    const claude_files *files = claude_look(mem, folder, 0, err);

    return files != NULL ? files->project : NULL;
}

const struct claude_files *settings_claude(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, pawl_err *err)
{
    return reads_claude(file) ? claude_look(mem, folder, sources_of(caller), err) : NULL;
}

pawl_code settings_bypass(arena *mem, const agent_file *file, const char *folder, const struct claude_files *found, pawl_err *err)
{
    claude_word word;
    pawl_code rc;

    if (!reads_claude(file))
        return PAWL_OK;
    if (found == NULL && (found = claude_look(mem, folder, 0, err)) == NULL)
        return err->code;
    if ((rc = claude_decided(NULL, found, &word, err)) != PAWL_OK)
        return rc;
    return word.no_bypass == NULL ? PAWL_OK
               : fail(err, PAWL_DENIED, "%s forbids bypassPermissions (permissions.disableBypassPermissionsMode): give another --mode", word.no_bypass);
}

const pawl_value *settings_changed(arena *mem, const char *folder, pawl_err *err)
{
    const char *projects[2] = { settings_project(mem, folder), settings_project_claude(mem, folder, err) };
    const pawl_value *out = value_pack(mem, NULL, "[]"), *all, *one;
    pawl_iter it;

    for (size_t i = 0; i < 2 && err->code == PAWL_OK; i++) {
        const bool again = i == 1 && projects[0] != NULL && projects[1] != NULL && strcmp(projects[0], projects[1]) == 0;

        if (projects[i] == NULL || again || (!trust_named(mem, projects[i], TRUST_OWN, err) && !trust_named(mem, projects[i], TRUST_CLAUDE, err)))
            continue;
        all = trust_list(mem, projects[i], folder, err);
        for (it = pawl_iter_of(all); (one = pawl_iter_next(&it, NULL)) != NULL;) {
            const char *was = pawl_value_string(pawl_value_get(one, "was"));

            if (strcmp(was, "trusted") != 0)
                out = value_push(mem, out, value_pack(mem, NULL, "{s:s,s:s,s:v,s:s}", "command", hook_words(mem, "pawl policy trust %s", projects[i]),
                                                      "folder", projects[i], "path", pawl_value_get(one, "path"), "was", was));
        }
    }
    return err->code == PAWL_OK ? out : NULL;
}

/* `own`: of the agent's file. */
static pawl_mode mode_of_claude(const app_caller *caller, arena *mem, const settings_place *at, pawl_mode own, pawl_err *err)
{
    const claude_files *files = at->found != NULL ? at->found : claude_look(mem, at->folder, sources_of(caller), err);
    pawl_mode mode;
    claude_word word;

    if (files == NULL || claude_decided(caller, files, &word, err) != PAWL_OK)
        return PAWL_MODE_NONE;
    mode = word.mode != PAWL_MODE_NONE ? word.mode : own;
    return word.most != PAWL_MODE_NONE && (mode == PAWL_MODE_NONE || mode > word.most) ? word.most : mode;
}

/* ---- all of it, as a policy ------------------------------------------------------------------------------------------ */

/* All of bash is allowed: then also what cannot be read (only where it is said, since an older run would decide otherwise). */
static bool allows_bash(const gathered *g)
{
    pawl_iter it = pawl_iter_of(g->lists[0]);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const char *text = pawl_value_string(pawl_value_type(one) == PAWL_TYPE_OBJECT ? pawl_value_get(one, "rule") : one);

        if (text != NULL && strcmp(text, "Bash") == 0)
            return true;
    }
    return false;
}

static const pawl_value *policy_made(const gathered *g, const char *folder)
{
    const char *home = getenv("HOME");
    const pawl_value *v = value_pack(g->mem, NULL, "{s:s}", "cwd", folder);

    for (size_t i = 0; i < 3; i++)
        if (pawl_value_size(g->lists[i]) > 0)
            v = value_with(g->mem, v, behaviors[i], g->lists[i]);
    if (home != NULL && *home == '/')
        v = value_with(g->mem, v, "home", value_string(g->mem, home, strlen(home)));
    if (pawl_value_size(g->directories) > 0)
        v = value_with(g->mem, v, "directories", g->directories);
    if (pawl_value_size(g->hooks) > 0)
        v = value_with(g->mem, v, "hooks", g->hooks);
    if (g->approvers != NULL)
        v = value_with(g->mem, v, "approvers", g->approvers);
    if (allows_bash(g))
        v = value_with(g->mem, v, "whole", value_bool(g->mem, true));
    if (g->signers != NULL)
        v = value_with(g->mem, v, "signers", g->signers);
    if (g->unasked)
        v = value_with_all(g->mem, v, value_pack(g->mem, NULL, "{s:b,s:b}", "unasked", 1, "unasked_always", 1));
    if (g->no_bypass)
        v = value_with(g->mem, v, "no_bypass", value_bool(g->mem, true));
    if (g->signers != NULL && g->keeps)
        v = value_with(g->mem, v, "keeps_signers", value_bool(g->mem, true));
    return g->expires_ms > 0 ? value_with(g->mem, v, "expires_ms", value_int(g->mem, g->expires_ms)) : v;
}

/* The files that an agent is made of, and the instructions of its project: to edit them is asked in every mode but bypassPermissions, for the agent would
 * change what it may do, or its instructions, from its next run on. */
static const pawl_value *with_protected(arena *mem, const pawl_value *v, const agent_file *file, const char *folder)
{
    static const char *const instructions[] = { "AGENTS.md", "CLAUDE.md" };
    const pawl_value *all = value_pack(mem, NULL, "[]");
    const char *path;

    for (const file_source *s = file->sources; s != NULL; s = s->next)
        if ((path = *s->path == '/' ? s->path : settings_in(mem, folder, s->path)) != NULL)
            all = value_push(mem, all, value_string(mem, path, strlen(path)));
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
        if ((path = settings_in(mem, folder, instructions[i])) != NULL)
            all = value_push(mem, all, value_string(mem, path, strlen(path)));
    return v == NULL || pawl_value_size(all) > POLICY_PROTECTED_MAX ? v : value_with(mem, v, "protected", all);
}

/* Parses the rules as a decision will: an invalid rule stops the run before it starts. */
static pawl_code policy_check(const pawl_value *v, pawl_err *err)
{
    pawl_policy *p = gate_policy(NULL, v, err);

    pawl_policy_free(p);
    return p != NULL ? PAWL_OK : err->code;
}

static pawl_code signer_gather(gathered *g, const file_signer *one, const pawl_value *had, const pawl_value **out, pawl_err *err)
{
    const char *kept = pawl_value_string(pawl_value_get(had, one->name)), *key = one->key != NULL ? one->key : kept;
    pawl_err why = {0};

    if (key == NULL && signers_of_name(g->mem, one->name, &key, &why) != PAWL_OK)
        return fail(err, why.code, "%s:%u: %s", one->at.file, (unsigned)one->at.line, why.text);
    if (g->keeps && kept != NULL && strcmp(kept, key) != 0)
        return fail(err, PAWL_INVALID, "%s:%u: the run has another key of %s, and a run keeps its approvers: begin another run for this file", one->at.file,
                    (unsigned)one->at.line, one->name);
    *out = value_with(g->mem, *out, one->name, value_string(g->mem, key, strlen(key)));
    return PAWL_OK;
}

/* The key of each approver that the file names, as they stand in "@policy". `was`: the rules of the run, which keeps its approvers; those of older runs do
 * not say that they do, and are left so, since questions that wait are about the rules as they are. */
static pawl_code signers_gather(gathered *g, const agent_file *file, const pawl_value *was, pawl_err *err)
{
    const pawl_value *had = pawl_value_get(was, "signers"), *approvers = pawl_value_get(was, "approvers"), *out;
    const pawl_value *now = file != NULL ? pawl_value_get(file->permissions, "approvers") : NULL;
    pawl_code rc = PAWL_OK;

    g->keeps = had == NULL || pawl_value_bool(pawl_value_get(was, "keeps_signers"));
    out = g->keeps && had != NULL ? had : value_pack(g->mem, NULL, "{}");
    if (g->keeps && approvers != NULL && (now == NULL || !pawl_value_equal(approvers, now)))
        return fail(err, PAWL_INVALID,
                    "%s: its `permissions` have other approvers than the run, and a run keeps its approvers: begin another run for this file",
                    file != NULL ? file->path : "its file");
    for (const file_signer *one = file != NULL ? file->signers : NULL; one != NULL && rc == PAWL_OK; one = one->next)
        rc = signer_gather(g, one, had, &out, err);
    if (rc != PAWL_OK || out == NULL)
        return rc != PAWL_OK ? rc : fail(err, PAWL_NOMEM, "no memory for the approvers");
    if (pawl_value_size(out) == 0)
        return PAWL_OK;
    g->signers = out;
    g->approvers = now;
    g->any = true;
    return PAWL_OK;
}

static const pawl_value *policy_of(const app_caller *caller, arena *mem, const agent_file *file, const settings_place *at, pawl_err *err)
{
    const pawl_value *none = value_pack(mem, NULL, "[]"), *v = NULL, *person;
    gathered g = { .mem = mem, .lists = { none, none, none }, .directories = none, .hooks = none, .without = sources_of(caller) };
    const char *path = settings_of_person(mem), *base = settings_folder(mem), *folder = at->folder;
    pawl_code rc = file_gather(&g, file, folder, err);

    if (rc == PAWL_OK && (person = settings_read(mem, path, err)) != NULL)
        rc = settings_gather(&g, person, path, base, true, NULL, NULL, err);
    else
        rc = err->code;
    if (rc == PAWL_OK)
        rc = project_gather(&g, caller, at, err);
    if (rc == PAWL_OK && reads_claude(file))
        rc = claude_gather(&g, caller, at, err);
    if (rc == PAWL_OK)
        rc = signers_gather(&g, file, at->was, err);
    if (rc != PAWL_OK || (!g.any && !has_agents(file)))     /* tools depend on the workspace's folders, even without rules */
        return NULL;
    v = policy_made(&g, folder);
    if (has_agents(file))
        v = with_protected(mem, v, file, folder);
    if (v == NULL)
        fail(err, PAWL_NOMEM, "no memory for the rules");
    if (v != NULL && pawl_value_equal(v, at->was))  /* a worker asks for each run that it claims, and most have the current rules: they were compiled before */
        return v;
    return v != NULL && policy_check(v, err) == PAWL_OK ? v : NULL;
}

const pawl_value *settings_policy(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, const struct claude_files *found,
                                  pawl_err *err)
{
    return policy_of(caller, mem, file, &(settings_place){ folder, NULL, found }, err);
}

const pawl_value *settings_policy_again(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, const pawl_value *was, pawl_err *err)
{
    return policy_of(caller, mem, file, &(settings_place){ folder, was, NULL }, err);
}

const pawl_value *settings_of_file(arena *mem, const char *path, const char *folder, pawl_err *err)
{
    const pawl_value *none = value_pack(mem, NULL, "[]"), *v = settings_read(mem, path, err), *made;
    gathered g = { .mem = mem, .lists = { none, none, none }, .directories = none, .hooks = none };

    if (v == NULL && err->code == PAWL_OK)
        fail(err, PAWL_GONE, "%s: there is no such file", path);
    if (v == NULL || settings_gather(&g, v, path, folder, true, NULL, NULL, err) != PAWL_OK)
        return NULL;
    if ((made = policy_made(&g, folder)) == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory", path);
    return made != NULL && policy_check(made, err) == PAWL_OK ? made : NULL;
}

const pawl_value *settings_of_value(const app_caller *caller, arena *mem, const pawl_value *v, const char *from, const char *folder, pawl_mode *mode,
                                    pawl_err *err)
{
    const pawl_value *none = value_pack(mem, NULL, "[]"), *said, *p, *made;
    gathered g = { .mem = mem, .lists = { none, none, none }, .directories = none, .hooks = none };
    claude_files *files = arena_zero(mem, sizeof *files);
    claude_word word;
    pawl_code rc = PAWL_OK;

    if (files == NULL || pawl_value_type(v) != PAWL_TYPE_OBJECT) {
        fail(err, files == NULL ? PAWL_NOMEM : PAWL_INVALID, "%s: settings are an object", from);
        return NULL;
    }
    files->all[0] = (claude_file){ .scope = CLAUDE_USER, .path = from, .base = folder, .project = folder, .trusted = true, .v = v };
    files->count = 1;
    if ((said = claude_said(caller, caller, mem, files, &files->all[0], err)) == NULL || claude_decided(caller, files, &word, err) != PAWL_OK)
        return NULL;
    p = pawl_value_get(said, "permissions");
    for (size_t i = 0; i < 3 && rc == PAWL_OK; i++)
        rc = rules_gather(&g, i, pawl_value_get(p, behaviors[i]), from, folder, err);
    if (pawl_value_get(p, "additionalDirectories") != NULL)
        g.directories = pawl_value_get(p, "additionalDirectories");
    hooks_gather(&g, pawl_value_get(said, "hooks"), from, folder, false);
    *mode = word.mode;
    g.unasked = word.unasked;
    g.no_bypass = word.no_bypass != NULL;
    if (rc == PAWL_OK && (made = policy_made(&g, folder)) != NULL && policy_check(made, err) == PAWL_OK)
        return made;
    if (err->code == PAWL_OK)
        fail(err, PAWL_NOMEM, "%s: no memory", from);
    return NULL;
}

pawl_mode settings_mode(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, pawl_mode own, const struct claude_files *found,
                        pawl_err *err)
{
    const char *project = settings_project(mem, folder), *paths[2] = { settings_of_project(mem, project), settings_of_person(mem) };
    trust_said said;
    trust_ask ask;

    for (size_t i = 0; i < 2; i++) {
        const pawl_value *v = i > 0 ? settings_read(mem, paths[i], err) : own_read(mem, project, folder, &ask, &said, err);
        const bool trusted = i > 0 || said.state == TRUST_HOLDS;
        const char *word = pawl_value_string(pawl_value_get(pawl_value_get(v, "permissions"), "defaultMode"));

        if (err->code != PAWL_OK)
            return PAWL_MODE_NONE;
        if (word == NULL || (!trusted && pawl_mode_named(word) != PAWL_MODE_PLAN))       /* plan mode only restricts */
            continue;
        if (pawl_mode_named(word) == PAWL_MODE_NONE || pawl_mode_named(word) == PAWL_MODE_BYPASS) {
            fail(err, PAWL_INVALID, "%s: permissions.defaultMode is plan, default or acceptEdits, and not \"%.40s\"%s", paths[i], word,
                 pawl_mode_named(word) == PAWL_MODE_BYPASS ? ": that is given with --mode, each time" : "");
            return PAWL_MODE_NONE;
        }
        return pawl_mode_named(word);
    }
    return reads_claude(file) ? mode_of_claude(caller, mem, &(settings_place){ folder, NULL, found }, own, err) : own;
}

pawl_code settings_allow(arena *mem, const char *project, const char *rule, int64_t until_ms, const char *by, pawl_err *err)
{
    const char *path = settings_of_project(mem, project);
    const pawl_value *v, *p, *list, *one;
    trust_said said;
    trust_ask ask;
    pawl_code rc;

    v = own_read(mem, project, project, &ask, &said, err);
    if (path == NULL || err->code != PAWL_OK)
        return err->code != PAWL_OK ? err->code : fail(err, PAWL_NOMEM, "%s: its path is too long", project);
    if (v == NULL)
        v = value_pack(mem, NULL, "{}");
    p = pawl_value_get(v, "permissions") != NULL ? pawl_value_get(v, "permissions") : value_pack(mem, NULL, "{}");
    list = pawl_value_get(p, "allow") != NULL ? pawl_value_get(p, "allow") : value_pack(mem, NULL, "[]");
    one = until_ms == 0 ? value_string(mem, rule, strlen(rule)) : value_pack(mem, NULL, "{s:s,s:s,s:i}", "by", by, "rule", rule, "until_ms", until_ms);
    rc = settings_write(mem, path, value_with(mem, v, "permissions", value_with(mem, p, "allow", value_push(mem, list, one))), err);
    return rc == PAWL_OK && said.state == TRUST_HOLDS ? trust_again(mem, project, path, err) : rc;
}
