/* claude_settings.h - the settings files of Claude Code, in the form of Pawl's own settings (P14). */
#ifndef APP_CLAUDE_SETTINGS_H
#define APP_CLAUDE_SETTINGS_H

#include "app/trust.h"

enum { CLAUDE_FILES_MAX = 64 };     /* of one folder, with those above it */

typedef enum claude_scope { CLAUDE_MANAGED, CLAUDE_LOCAL, CLAUDE_PROJECT, CLAUDE_USER } claude_scope;

typedef struct claude_file {
    claude_scope scope;
    const char *path;
    const char *base;           /* where a rule that begins with / begins */
    const char *project;        /* the folder with its .claude; of the person's and managed files the nearest such folder, or the working folder */
    bool trusted;               /* what widens counts */
    bool outer;                 /* of a folder above the project: only what restricts counts */
    bool left;                  /* the call does not name its source: only what restricts counts */
    bool guards;                /* one of these, and trusted: its hooks run, too, for they may deny */
    trust_said trust;           /* of a project's file, or of one above */
    const pawl_value *v;
} claude_file;

typedef struct claude_files {
    claude_file all[CLAUDE_FILES_MAX];      /* the one that wins first: managed, local, project, user; then those of folders above */
    size_t count;
    const char *folder;         /* the working folder */
    const char *project;        /* NULL: no folder from the working folder upward has a .claude with settings */
    const pawl_value *ignored;  /* what the person leaves out although it may restrict; NULL: nothing */
} claude_files;

/* All of them for `folder`; `without`: as in app_caller. None are there, or the person has said "claude": false: count is 0. */
PAWL_MUST_USE pawl_code claude_find(arena *mem, const char *folder, unsigned without, claude_files *out, pawl_err *err);
const claude_files *claude_look(arena *mem, const char *folder, unsigned without, pawl_err *err);      /* the same in `mem`; NULL: see err */

/* What one file says, as settings of Pawl do: {"permissions": {"allow","ask","deny","additionalDirectories"}, "hooks"}. A member that may restrict and is
 * not here is refused by its name. `caller` gets notes about what waits for trust, `told` about what is left out (NULL: reported before). NULL: see err. */
const pawl_value *claude_said(const app_caller *caller, const app_caller *told, arena *mem, const claude_files *of, const claude_file *f, pawl_err *err);

/* What those files decide together. */
typedef struct claude_word {
    pawl_mode mode;             /* defaultMode; PAWL_MODE_NONE: none */
    pawl_mode most;             /* what files that may only restrict let be at most; PAWL_MODE_NONE: all */
    bool unasked;               /* dontAsk: what would be asked is denied */
    const char *no_bypass;      /* the file that takes bypassPermissions away; NULL: none */
    bool no_hooks;              /* disableAllHooks, of all but managed files */
} claude_word;
PAWL_MUST_USE pawl_code claude_decided(const app_caller *told, const claude_files *of, claude_word *out, pawl_err *err);

/* {NAME: TEXT} of `env` of the files that are trusted; those for commands of a model: no key, no password. Any thread. NULL: see err. */
const pawl_value *claude_env(arena *mem, const claude_files *files, bool for_model, pawl_err *err);
/* The first of the files that requires a sandbox (sandbox.enabled); "": none. NULL: see err. */
const char *claude_boxed(arena *mem, const char *folder, pawl_err *err);

#endif
