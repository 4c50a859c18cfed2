/* sandbox.h - keeps a command from the rest of the machine: bubblewrap, and a program of ours inside it (src/inside/). */
#ifndef EFFECT_SANDBOX_H
#define EFFECT_SANDBOX_H

#include "effect/cgroup.h"
#include "effect/effect.h"
#include "effect/egress.h"
#include "pawl/tool.h"

enum { SANDBOX_SAID_BYTES = 4096, SANDBOX_KINDS = 2 };

/* In both: no network, no socket or pipe that leads out, no new namespaces, keyrings, io_uring and ptrace; the contents of /run and /tmp are hidden. */
typedef enum sandbox_kind {
    SANDBOX_READ_ONLY,          /* nothing can be written: for plan mode, and for commands that only read */
    SANDBOX_WORKSPACE           /* its folders, a private /tmp and a private home can be written */
} sandbox_kind;
typedef enum sandbox_is { SANDBOX_WORKS, SANDBOX_MISSING, SANDBOX_REFUSED } sandbox_is;

/* Tested once in a process for each kind, with a command that does nothing; any thread. `said`: the reason if it is refused; may be NULL. */
sandbox_is sandbox_try(sandbox_kind kind, char said[SANDBOX_SAID_BYTES]);
/* The error of a command in plan mode if there is no sandbox. */
pawl_code sandbox_refuses(pawl_reply *r, sandbox_is is, const char *said);

typedef struct sandbox_folder { const char *path; bool read_only; } sandbox_folder;      /* absolute */
typedef struct sandbox_ask {
    sandbox_kind kind;
    const sandbox_folder *folders;  /* visible, and in a workspace writable unless read_only, except Pawl's own .pawl in them; the first is the working
                                     * folder; they may contain each other in any order */
    size_t n;
    const char *const *covered;     /* files and folders in them that a rule denies to read, without links: they are there, and empty */
    size_t ncovered;
    const pawl_sandbox *hidden;     /* only system folders, `folders` and what this lists are visible, and its limits hold; NULL: everything can be
                                     * read, and there are no limits: for nodes, which are the author's own commands */
    const char *const *keep;        /* no command writes them, wherever they lie; ends in NULL; NULL: none */
    const pawl_policy *policy;      /* its rules Network(host:port) open a way to these hosts; NULL: none */
} sandbox_ask;
typedef struct sandbox {
    const char **words;         /* placed before the command, from bwrap to "--"; ends in NULL */
    size_t n;                   /* their number, without the NULL */
    int inside, channel;        /* for the program's `third` and `fourth`. Owned by this */
    egress *way;                /* the proxy to the network; NULL: none */
    cgroup group;               /* its processes together, where one may be made */
} sandbox;
/* The words exist as long as `mem`. PAWL_NOMEM, PAWL_TRANSIENT: the reply has the error. */
pawl_code sandbox_open(arena *mem, const sandbox_ask *ask, sandbox *out, pawl_err *err);
void sandbox_close(sandbox *s);

/* pawl_effect_command in plan mode, with other codes: in a read-only sandbox that includes its folder. PAWL_DENIED: no sandbox can be made here. */
pawl_code sandbox_command(const pawl_job *job, pawl_reply *r, effect_codes as);

static inline uint64_t sandbox_limit(uint64_t given, uint64_t otherwise) { return given > 0 ? given : otherwise; }

/* Tries each wall of the sandbox for agents on this machine: `fn` gets its name ("loopback"), and whether it held. PAWL_OK; else err: it cannot be tried. */
typedef void sandbox_wall_fn(void *ctx, const char *name, bool held);
pawl_code sandbox_walls(const pawl_sandbox *limits, sandbox_wall_fn *fn, void *ctx, pawl_err *err);

/* ---- sandbox_view.c: what can be seen and written inside -------------------------------------------------------- */

typedef struct sandbox_words { arena *mem; const char **all; size_t n, room; bool failed; } sandbox_words;
void words_put(sandbox_words *w, const char *word);             /* lent; NULL: no memory for it */
void words_pair(sandbox_words *w, const char *option, const char *path);        /* OPTION PATH PATH */
/* The folders of `ask` without links, an outer one before those inside it; *cwd: the first of `ask`. NULL: no memory. The functions below want these. */
const sandbox_folder *folders_real(arena *mem, const sandbox_ask *ask, const char **cwd);
void view_put(sandbox_words *w, const sandbox_ask *ask);        /* the words of bwrap that mount what `ask` lists */
bool apart_from(const sandbox_ask *ask, const char *own);       /* no folder of `ask` is, contains, or lies in `own` */
/* The options and folders of `inside`, up to the "--". */
void inside_put(sandbox_words *w, const sandbox_ask *ask);

/* ---- sandbox_env.c: the environment of the model's commands -------------------------------------------------------- */

char *env_entry(arena *mem, const char *name, const char *value);        /* "NAME=VALUE"; NULL: no memory */
/* The variables of this process that are in the list of harmless ones, or named by `s` (may be NULL), and those of `more` ({NAME: TEXT}; NULL: none) in
 * their place or beside them; ends in NULL. NULL: no memory. */
char **env_allowed(arena *mem, const pawl_sandbox *s, const pawl_value *more);
/* The same for a command that only reads: nothing in it makes a program run another one (shell_reading_env). */
char **env_reading(arena *mem, const pawl_sandbox *s, const pawl_value *more);

#endif
