/* trust.h - which projects' settings the person trusts, with the digests of the files and of the scripts that their hooks run (P9). */
#ifndef APP_TRUST_H
#define APP_TRUST_H

#include "app/settings.h"
#include "effect/script_digest.h"

/* Which settings of a project are trusted: its own of Pawl, those of Claude Code. */
typedef enum settings_kind { TRUST_OWN, TRUST_CLAUDE } settings_kind;

/* TRUST_BARE: the folder was trusted by its name, before what it had was recorded. Only TRUST_HOLDS lets a file widen anything. */
typedef enum trust_state { TRUST_NONE, TRUST_BARE, TRUST_CHANGED, TRUST_HOLDS } trust_state;

typedef struct trust_ask {
    const char *project;
    settings_kind kind;
    const char *path, *digest;      /* a settings file, and the digest of what was read of it */
    const pawl_value *hooks;        /* of that file; NULL: none */
    const char *cwd;                /* where hooks run */
} trust_ask;

typedef struct trust_said {
    trust_state state;
    const char *what;               /* TRUST_CHANGED: the file or script, and what became of it: "has changed", "is new", "is gone" */
    const char *how;
    const char *again;              /* TRUST_CHANGED: the folder in which it is to be trusted again */
    const pawl_value *scripts;      /* TRUST_HOLDS: {PATH: DIGEST} of what its hooks run */
} trust_said;

/* Whether the person named the folder, whatever it has now. */
bool trust_named(arena *mem, const char *project, settings_kind kind, pawl_err *err);
PAWL_MUST_USE pawl_code trust_read(arena *mem, const trust_ask *ask, trust_said *out, pawl_err *err);
/* For TRUST_BARE and TRUST_CHANGED: one line with the file, the members that do not apply (`widens`), and the command. */
void trust_report(const app_caller *caller, const trust_said *said, const char *path, const char *project, const char *widens);
/* The hooks, each with those of `scripts` that it runs: any other content is not run. NULL: no memory. */
const pawl_value *trust_pinned(arena *mem, const pawl_value *hooks, const trust_ask *ask, const pawl_value *scripts);

/* The settings folders of all projects that the person trusts, which no command of a model may write; ends in NULL. NULL: see err. */
const char *const *trust_folders(arena *mem, pawl_err *err);
bool trust_there(arena *mem, const char *project);              /* it has settings of one of the kinds */
/* Each settings file and script of the project, of now or of the record: [{"path","was"}], `was`: "trusted", "changed", "new", "gone". A relative script is
 * looked for in the project and in `cwd`, the folder in which its runs work. NULL: see err. */
const pawl_value *trust_list(arena *mem, const char *project, const char *cwd, pawl_err *err);
/* Records trust, or its end, for the kinds of settings that exist, with their present content; `cwd` as above. */
PAWL_MUST_USE pawl_code trust_set(arena *mem, const char *project, const char *cwd, bool trusted, pawl_err *err);
/* Pawl itself wrote this file of a project, which was trusted before. */
PAWL_MUST_USE pawl_code trust_again(arena *mem, const char *project, const char *path, pawl_err *err);

#endif
