/* trust.c - see trust.h. The record is trusted.json of the person's settings folder: {"folders": [PROJECT..], "claude": [PROJECT..],
 * "digests": {PROJECT: {FILE: DIGEST}}}; a record without "digests" is of an older version.
 *
 * Called by settings.c, claude_settings.c, instructions.c and the verb `policy`, on the thread of a verb. Owns nothing. */
#define _XOPEN_SOURCE 700       /* realpath */
#include "app/trust.h"
#include "policy/hook.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const lists[] = { [TRUST_OWN] = "folders", [TRUST_CLAUDE] = "claude" };
static const char *const files[][3] = { [TRUST_OWN] = { ".pawl/settings.json" }, [TRUST_CLAUDE] = { ".claude/settings.json", ".claude/settings.local.json" } };

static const char *record_path(arena *mem)
{
    const char *folder = settings_folder(mem);

    return folder == NULL ? NULL : settings_in(mem, folder, "trusted.json");
}

/* Links are resolved: a link to a trusted folder is that folder, and nothing more. */
static const char *real_folder(arena *mem, const char *project)
{
    char *real = realpath(project, NULL);
    const char *out = real == NULL ? project : arena_text(mem, real);

    free(real);
    return out;
}

static const pawl_value *text_of(arena *mem, const char *text)
{
    return text == NULL ? NULL : value_string(mem, text, strlen(text));
}

static bool record_names(arena *mem, const pawl_value *record, settings_kind kind, const char *real)
{
    return value_among(pawl_value_get(record, lists[kind]), text_of(mem, real));
}

bool trust_named(arena *mem, const char *project, settings_kind kind, pawl_err *err)
{
    const pawl_value *record = settings_read(mem, record_path(mem), err);

    return record != NULL && record_names(mem, record, kind, real_folder(mem, project));
}

const char *const *trust_folders(arena *mem, pawl_err *err)
{
    const pawl_value *record = settings_read(mem, record_path(mem), err), *one;
    size_t n = 0, room = 2 * (pawl_value_size(pawl_value_get(record, lists[0])) + pawl_value_size(pawl_value_get(record, lists[1])));
    const char **out = arena_zero(mem, (room + 1) * sizeof *out);

    if (out == NULL)
        fail(err, PAWL_NOMEM, "no memory for the folders that are trusted");
    for (int kind = TRUST_OWN; kind <= TRUST_CLAUDE && out != NULL; kind++) {
        pawl_iter it = pawl_iter_of(pawl_value_get(record, lists[kind]));

        while ((one = pawl_iter_next(&it, NULL)) != NULL) {
            const char *folder = pawl_value_string(one);
            const char *path = folder != NULL && *folder == '/' ? settings_in(mem, folder, kind == TRUST_OWN ? ".pawl" : ".claude") : NULL;

            if (path != NULL)
                out[n++] = path;
        }
    }
    return err->code == PAWL_OK ? (const char *const *)out : NULL;
}

/* ---- scripts ------------------------------------------------------------------------------------------------ */

/* "FILE" of "PROJECT/FILE". */
static const char *name_in(const char *project, const char *path)
{
    const size_t n = strcmp(project, "/") == 0 ? 0 : strlen(project);

    return strncmp(path, project, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

/* A hook of one event, one group after the other. */
typedef struct hook_walk { pawl_iter events, groups, hooks; } hook_walk;

static hook_walk walk_of(const pawl_value *hooks)
{
    return (hook_walk){ .events = pawl_iter_of(hooks), .groups = pawl_iter_of(NULL), .hooks = pawl_iter_of(NULL) };
}

static const pawl_value *walk_next(hook_walk *w)
{
    const pawl_value *one;

    for (;;) {
        if ((one = pawl_iter_next(&w->hooks, NULL)) != NULL)
            return one;
        if ((one = pawl_iter_next(&w->groups, NULL)) != NULL)
            w->hooks = pawl_iter_of(pawl_value_get(one, "hooks"));
        else if ((one = pawl_iter_next(&w->events, NULL)) != NULL)
            w->groups = pawl_iter_of(one);
        else
            return NULL;
    }
}

/* {PATH: DIGEST} of all that these hooks run, as it is now. */
static const pawl_value *scripts_now(arena *mem, const pawl_value *hooks, const char *project, const char *cwd)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *hook, *path;
    hook_walk w = walk_of(hooks);
    char digest[SCRIPT_DIGEST_BYTES];

    while (out != NULL && (hook = walk_next(&w)) != NULL) {
        const pawl_value *paths = hook_scripts(mem, hook, project, cwd);
        pawl_iter it = pawl_iter_of(paths);

        if (paths == NULL)
            return NULL;
        while (out != NULL && (path = pawl_iter_next(&it, NULL)) != NULL) {
            script_digest(pawl_value_string(path), digest);
            out = value_with(mem, out, pawl_value_string(path), text_of(mem, digest));
        }
    }
    return out;
}

/* What became of a file whose digest was `had` (NULL: it was unknown); NULL: nothing. */
static const char *difference(const char *had, const char *now)
{
    if (had == NULL || strcmp(had, SCRIPT_MISSING) == 0)
        return strcmp(now, SCRIPT_MISSING) == 0 ? NULL : "is new";
    if (strcmp(now, "unreadable") == 0)
        return "cannot be read";
    return strcmp(had, now) == 0 ? NULL : strcmp(now, SCRIPT_MISSING) == 0 ? "is gone" : "has changed";
}

pawl_code trust_read(arena *mem, const trust_ask *ask, trust_said *out, pawl_err *err)
{
    const pawl_value *record = settings_read(mem, record_path(mem), err), *all, *key, *v;
    const char *real = real_folder(mem, ask->project), *how;
    pawl_iter it;

    *out = (trust_said){ .state = TRUST_NONE };
    if (record == NULL || !record_names(mem, record, ask->kind, real))
        return err->code;
    *out = (trust_said){ .state = TRUST_BARE, .what = ask->path };
    if ((all = pawl_value_get(pawl_value_get(record, "digests"), real)) == NULL)
        return PAWL_OK;
    *out = (trust_said){ .state = TRUST_CHANGED, .what = ask->path, .again = ask->project };
    if ((out->how = difference(pawl_value_string(pawl_value_get(all, name_in(ask->project, ask->path))), ask->digest)) != NULL)
        return PAWL_OK;
    if ((out->scripts = scripts_now(mem, ask->hooks, ask->project, ask->cwd)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for its hooks", ask->path);
    for (it = pawl_iter_of(out->scripts); (v = pawl_iter_next(&it, &key)) != NULL;) {
        const char *path = pawl_value_string(key);

        if ((how = difference(pawl_value_string(pawl_value_get(all, name_in(ask->project, path))), pawl_value_string(v))) != NULL) {
            *out = (trust_said){ .state = TRUST_CHANGED, .what = path, .how = how, .again = ask->cwd };     /* a relative script is that of this folder */
            return PAWL_OK;
        }
    }
    out->state = TRUST_HOLDS;
    return PAWL_OK;
}

void trust_report(const app_caller *caller, const trust_said *said, const char *path, const char *project, const char *widens)
{
    const bool itself = said->what != NULL && strcmp(said->what, path) == 0;

    if (said->state == TRUST_BARE)
        app_note(caller, "%s: the folder was trusted by an older version, which recorded no digests, so what it allows (%s) does not apply: look at it, then pawl policy "
                 "trust %s", path, widens, project);
    if (said->state == TRUST_CHANGED)
        app_note(caller, "%s: %s %s since the folder was trusted, so what the file allows (%s) does not apply: look at it, then pawl policy trust %s", path,
                 itself ? "it" : said->what, said->how, widens, said->again);
}

/* The hook with the digests of what it runs. */
static const pawl_value *hook_pinned(arena *mem, const pawl_value *hook, const trust_ask *ask, const pawl_value *scripts)
{
    const pawl_value *paths = hook_scripts(mem, hook, ask->project, ask->cwd), *own = value_pack(mem, NULL, "{}"), *path;
    pawl_iter it = pawl_iter_of(paths);

    while ((path = pawl_iter_next(&it, NULL)) != NULL)
        own = value_with(mem, own, pawl_value_string(path), pawl_value_get(scripts, pawl_value_string(path)));
    if (paths == NULL || own == NULL)
        return NULL;
    return pawl_value_size(own) > 0 ? value_with(mem, hook, "scripts", own) : hook;
}

static const pawl_value *group_pinned(arena *mem, const pawl_value *group, const trust_ask *ask, const pawl_value *scripts)
{
    const pawl_value *out = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(pawl_value_get(group, "hooks"));

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        out = value_push(mem, out, hook_pinned(mem, one, ask, scripts));
    return value_with(mem, group, "hooks", out);
}

const pawl_value *trust_pinned(arena *mem, const pawl_value *hooks, const trust_ask *ask, const pawl_value *scripts)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *groups, *event, *group;
    pawl_iter it = pawl_iter_of(hooks), at;

    while ((groups = pawl_iter_next(&it, &event)) != NULL) {
        const pawl_value *all = value_pack(mem, NULL, "[]");

        at = pawl_iter_of(groups);
        while ((group = pawl_iter_next(&at, NULL)) != NULL)
            all = value_push(mem, all, group_pinned(mem, group, ask, scripts));
        out = value_with(mem, out, pawl_value_string(event), all);
    }
    return mem->failed ? NULL : out;
}

/* ---- all of a project ----------------------------------------------------------------------------------------- */

/* Whether the project has settings of that kind. */
static bool has_kind(arena *mem, const char *project, settings_kind kind)
{
    for (size_t i = 0; i < 3 && files[kind][i] != NULL; i++) {
        const char *path = settings_in(mem, project, files[kind][i]);

        if (path != NULL && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

bool trust_there(arena *mem, const char *project)
{
    return has_kind(mem, project, TRUST_OWN) || has_kind(mem, project, TRUST_CLAUDE);
}

/* Adds {FILE: DIGEST} of what these hooks run when they work in `cwd`. */
static bool scripts_add(arena *mem, const pawl_value *hooks, const char *project, const char *cwd, const pawl_value **all)
{
    const pawl_value *scripts = scripts_now(mem, hooks, project, cwd), *key, *one;
    pawl_iter it = pawl_iter_of(scripts);

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        *all = value_with(mem, *all, name_in(project, pawl_value_string(key)), one);
    return scripts != NULL && *all != NULL;
}

/* The same of one settings file and its hooks. */
static pawl_code file_now(arena *mem, const char *project, const char *cwd, const char *name, const pawl_value **all, pawl_err *err)
{
    const char *path = settings_in(mem, project, name);
    char digest[SCRIPT_DIGEST_BYTES];
    const pawl_value *v = NULL, *hooks;

    if (settings_no_link(mem, project, *name == '.' && name[1] == 'p' ? ".pawl" : ".claude", err) == PAWL_OK)
        v = settings_read_digest(mem, path, digest, err);
    if (v == NULL)
        return path == NULL ? fail(err, PAWL_NOMEM, "%s: its path is too long", project) : err->code;
    *all = value_with(mem, *all, name, text_of(mem, digest));
    hooks = pawl_value_get(v, "hooks");
    if (scripts_add(mem, hooks, project, project, all) && (strcmp(cwd, project) == 0 || scripts_add(mem, hooks, project, cwd, all)))
        return PAWL_OK;
    return fail(err, PAWL_NOMEM, "%s: no memory for what is trusted of it", path);
}

/* {FILE: DIGEST} of all that the project has now. */
static const pawl_value *project_now(arena *mem, const char *project, const char *cwd, pawl_err *err)
{
    const pawl_value *all = value_pack(mem, NULL, "{}");

    for (int kind = TRUST_OWN; kind <= TRUST_CLAUDE; kind++)
        for (size_t i = 0; i < 3 && files[kind][i] != NULL; i++)
            if (file_now(mem, project, cwd, files[kind][i], &all, err) != PAWL_OK)
                return NULL;
    return all != NULL ? all : (fail(err, PAWL_NOMEM, "%s: no memory for what it has", project), NULL);
}

static const pawl_value *listed(arena *mem, const pawl_value *list, const char *path, const char *was)
{
    return value_push(mem, list, value_pack(mem, NULL, "{s:s,s:s}", "path", path, "was", was));
}

const pawl_value *trust_list(arena *mem, const char *project, const char *cwd, pawl_err *err)
{
    const pawl_value *record = settings_read(mem, record_path(mem), err), *now = err->code == PAWL_OK ? project_now(mem, project, cwd, err) : NULL, *key, *v;
    const pawl_value *had = pawl_value_get(pawl_value_get(record, "digests"), real_folder(mem, project)), *out = value_pack(mem, NULL, "[]");
    pawl_iter it = pawl_iter_of(now);

    if (now == NULL)
        return NULL;
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        const char *name = pawl_value_string(key), *how = difference(pawl_value_string(pawl_value_get(had, name)), pawl_value_string(v));

        if (how != NULL || pawl_value_get(had, name) != NULL)
            out = listed(mem, out, name, how == NULL ? "trusted" : strcmp(how, "is new") == 0 ? "new" : strcmp(how, "is gone") == 0 ? "gone" : "changed");
    }
    for (it = pawl_iter_of(had); pawl_iter_next(&it, &key) != NULL;)
        if (pawl_value_get(now, pawl_value_string(key)) == NULL)
            out = listed(mem, out, pawl_value_string(key), "gone");
    return out != NULL ? out : (fail(err, PAWL_NOMEM, "%s: no memory for what it has", project), NULL);
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* The list with the folder, or without it. */
static const pawl_value *list_settled(arena *mem, const pawl_value *list, const char *real, bool with)
{
    const pawl_value *kept = value_pack(mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(list);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL && strcmp(pawl_value_string(one), real) != 0)
            kept = value_push(mem, kept, one);
    return with ? value_push(mem, kept, text_of(mem, real)) : kept;
}

/* "digests" with these of the project, or without any of it. */
static const pawl_value *digests_settled(arena *mem, const pawl_value *digests, const char *real, const pawl_value *own)
{
    const pawl_value *kept = value_pack(mem, NULL, "{}"), *key, *one;
    pawl_iter it = pawl_iter_of(digests);

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), real) != 0)
            kept = value_with(mem, kept, pawl_value_string(key), one);
    return own != NULL ? value_with(mem, kept, real, own) : kept;
}

/* Settings of a kind that is not there are not trusted: a command of an agent might make them later. */
pawl_code trust_set(arena *mem, const char *project, const char *cwd, bool trusted, pawl_err *err)
{
    const char *path = record_path(mem), *real = real_folder(mem, project);
    const pawl_value *v, *now = NULL;

    if (path == NULL)
        return fail(err, PAWL_INVALID, "there is no HOME, and nowhere to keep which folders are trusted");
    v = settings_read(mem, path, err);
    if ((v == NULL && err->code != PAWL_OK) || (trusted && (now = project_now(mem, project, cwd, err)) == NULL))
        return err->code;
    v = v != NULL ? v : value_pack(mem, NULL, "{}");
    for (int kind = TRUST_OWN; kind <= TRUST_CLAUDE; kind++) {
        const pawl_value *list = pawl_value_get(v, lists[kind]);
        const bool with = trusted && has_kind(mem, project, (settings_kind)kind);

        if (with || list != NULL)
            v = value_with(mem, v, lists[kind], list_settled(mem, list, real, with));
    }
    if (now != NULL || pawl_value_get(v, "digests") != NULL)
        v = value_with(mem, v, "digests", digests_settled(mem, pawl_value_get(v, "digests"), real, now));
    return settings_write(mem, path, v, err);
}

pawl_code trust_again(arena *mem, const char *project, const char *path, pawl_err *err)
{
    const char *real = real_folder(mem, project);
    const pawl_value *v = settings_read(mem, record_path(mem), err), *digests = pawl_value_get(v, "digests"), *own = pawl_value_get(digests, real);
    char digest[SCRIPT_DIGEST_BYTES];

    if (own == NULL)
        return err->code;
    script_digest(path, digest);
    own = value_with(mem, own, name_in(project, path), text_of(mem, digest));
    return settings_write(mem, record_path(mem), value_with(mem, v, "digests", digests_settled(mem, digests, real, own)), err);
}
