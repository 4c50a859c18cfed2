/* settings.h - rules and hooks from outside an agent file: of the person, and of the project. */
#ifndef APP_SETTINGS_H
#define APP_SETTINGS_H

#include "app/session.h"

enum { SETTINGS_PATH_MAX = 4096 };
struct claude_files;            /* claude_settings.h */

/* The settings files of Claude Code for a run of `file` that begins, read once: what is decided by them, and what is used of them, are the same bytes. It is
 * `found` of the functions below; NULL there: they are read by each. NULL here with err->code PAWL_OK: they do not apply. */
const struct claude_files *settings_claude(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, pawl_err *err);
/* What a run of `file` (NULL: none) in `folder` is decided by, as it stands in "@policy": the rules and hooks of the file, of the person's
 * settings and of the project's, and where there are agents those of Claude Code's settings. NULL with err->code PAWL_OK: there are none. Allow
 * rules and hooks of a project that nobody trusts are left out, which is noted to `caller` (may be NULL). */
const pawl_value *settings_policy(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, const struct claude_files *found,
                                  pawl_err *err);
/* The same for a run that goes on: `was`, its "@policy" so far, has the keys of its approvers, which stay (P11); NULL: it begins, and they are those that
 * the person trusts. PAWL_GONE: there is no key of one, and err says how to trust it. */
const pawl_value *settings_policy_again(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, const pawl_value *was, pawl_err *err);
/* The mode where none is given: what settings say, else `own`, that of the agent; what a project that nobody trusts says only lowers it. PAWL_MODE_NONE:
 * none. `file` as in settings_policy. */
pawl_mode settings_mode(const app_caller *caller, arena *mem, const agent_file *file, const char *folder, pawl_mode own, const struct claude_files *found,
                        pawl_err *err);
/* PAWL_DENIED: settings take bypassPermissions away from runs of `file`, and err names their file. */
PAWL_MUST_USE pawl_code settings_bypass(arena *mem, const agent_file *file, const char *folder, const struct claude_files *found, pawl_err *err);

/* The rules of one settings file alone, as if it were trusted. NULL: see err. */
const pawl_value *settings_of_file(arena *mem, const char *path, const char *folder, pawl_err *err);

/* The same of a value in the form of Claude Code's settings, which `from` gave; *mode: what it says, or PAWL_MODE_NONE. */
const pawl_value *settings_of_value(const app_caller *caller, arena *mem, const pawl_value *v, const char *from, const char *folder, pawl_mode *mode,
                                    pawl_err *err);

/* The project that `folder` lies in: where .pawl is, or the folder itself. */
const char *settings_project(arena *mem, const char *folder);
/* The nearest folder from there upward with settings of Claude Code; NULL: none, or see err. */
const char *settings_project_claude(arena *mem, const char *folder, pawl_err *err);
const char *settings_of_person(arena *mem);                     /* path of the file; NULL: no HOME */
const char *settings_of_project(arena *mem, const char *project);
/* The files that changed in trusted projects of this folder: [{"command","folder","path","was"}]. NULL: see err. */
const pawl_value *settings_changed(arena *mem, const char *folder, pawl_err *err);
/* Adds an allow rule to the project's settings, valid until that time (0: for ever); trusted settings stay trusted. */
pawl_code settings_allow(arena *mem, const char *project, const char *rule, int64_t until_ms, const char *by, pawl_err *err);

/* All or nothing: a new file is renamed over the old one; folders that are missing are made. */
pawl_code settings_write(arena *mem, const char *path, const pawl_value *v, pawl_err *err);
/* The whole of one settings file; NULL with err->code PAWL_OK: there is no such file. `path` may be NULL. */
const pawl_value *settings_read(arena *mem, const char *path, pawl_err *err);
/* The same with the digest of what was read, SCRIPT_DIGEST_BYTES of effect/script_digest.h. */
const pawl_value *settings_read_digest(arena *mem, const char *path, char *digest, pawl_err *err);

/* PAWL_INVALID: PROJECT/NAME, a folder of settings, is a symbolic link: a person who may make one could use the settings of another place here. */
PAWL_MUST_USE pawl_code settings_no_link(arena *mem, const char *project, const char *name, pawl_err *err);
/* A member of the object that is none of these, up to a NULL: it may restrict, so it is refused by name and not left out (P14). NULL: all are. */
const char *settings_unknown(const pawl_value *object, const char *const *known);
/* A path of the settings with the person's home in place of a leading ~; NULL: no memory. */
const char *settings_path(arena *mem, const char *path);
const char *settings_in(arena *mem, const char *folder, const char *name);      /* FOLDER/NAME; NULL: it is too long, or no memory */
const char *settings_folder(arena *mem);                        /* of the person's settings; NULL: no HOME */
/* sandbox_settings.c: what the person allows the sandbox of agents; lists in `mem`. *from: the file or the variable that said so. */
pawl_code sandbox_settings(arena *mem, pawl_sandbox *out, const char **from, pawl_err *err);

#endif
