/* tool.h - inside the tools: a call, its workspace, patterns, and texts for the model. */
#ifndef EFFECT_TOOL_TOOL_H
#define EFFECT_TOOL_TOOL_H

#include "effect/effect.h"
#include "effect/hard_links.h"
#include "effect/reach.h"
#include "effect/tool/ignore.h"
#include "pawl/tool.h"

#include <sys/stat.h>

/* ---- limits (X2) ---------------------------------------------------------------------------------- */

enum {
    ROOTS_MAX = 64,             /* the workspace and its further folders */
    NAME_BYTES = 256,           /* of a name in it */
    LINKS_MAX = 40,             /* in one path */
    WHOLE_BYTES_MAX = 1 << 20,  /* of "whole" */
    FILE_BYTES_MAX = 16 << 20,  /* of a file that is edited */
    PROBE_BYTES = 8192,         /* read to tell text from other files */
    SEEN_BYTES = 80             /* of the version of a content */
};

/* ---- call.c: a call, and what it came to -------------------------------------------------------------- */

typedef struct tool_call tool_call;
typedef pawl_code tool_fn(tool_call *c);

struct tool_call {
    const pawl_job *job;
    pawl_reply *r;
    const pawl_tool *tool;
    const pawl_value *input;    /* checked by the schema */
    const char *const *run;     /* words of a tool that is a program */
    const pawl_sandbox *sandbox;        /* of the model's commands */
    const tools_beside *beside;
    struct bg_shells *bg;       /* of its set (bg_shell.h) */
    const char *cwd;            /* absolute path of a folder */
    const reach_list *reach;         /* what no tool opens; of roots_open() */
    const denied_files *denied; /* of opened.c; NULL: not looked for yet */
    const denied_ways *ways;    /* the same */
    size_t hidden;              /* files and folders that a search left out, since a rule denies them */
    arena mem;
    buf out;                    /* the content that is being made */
    uint64_t lost;              /* bytes that a command wrote beyond those of `out` */
    char note[512];             /* for people; "": none */
    char ignored[200];          /* names of arguments that only decorate; "": none */
    bool guarded;               /* its run keeps which contents of files it has seen (seen.c): */
    const char *seen;           /* the version of its file; NULL: none */
    const char *seen_path;      /* for the reply: what it has read or written; NULL: nothing */
    char seen_version[SEEN_BYTES];
    const char *limit;          /* name of the limit behind until_ms */
    int64_t until_ms;           /* end of the job, by clock_ms */
    int64_t beat_ms;
    unsigned looks;
};

/* A tool of the set: the `arg` of its handler. */
typedef struct tool_entry {
    pawl_tool tool;             /* the public view of it */
    const pawl_value *schema;
    pawl_handler_fn *fn;        /* handler of the program that embeds Pawl, or */
    void *arg;
    tool_fn *own;               /* one of ours */
    const char *const *run;     /* words of a program */
    const pawl_sandbox *sandbox;        /* of its set */
    const tools_beside *beside;
    struct bg_shells *bg;       /* of its set */
    bool any_mode;              /* it checks the mode itself, because it runs the model's commands */
} tool_entry;

pawl_handler_fn tool_perform;   /* `arg`: a tool_entry */
/* {"content":TEXT,"is_error":true}; PAWL_OK or PAWL_NOMEM. */
pawl_code tool_error(tool_call *c, const char *format, ...) PAWL_PRINTF(2, 3);
typedef enum cut_where { CUT_END, CUT_MIDDLE } cut_where;
/* Replies with c->out as the content: made valid UTF-8, and cut if it is too long. */
pawl_code tool_text(tool_call *c, cut_where where, bool is_error);
/* The same with c->out as the JSON of a list of blocks. */
pawl_code tool_blocks(tool_call *c);
/* PAWL_OK: continue; PAWL_CANCELED, PAWL_TIMEOUT: the reply has the error. Cheap, to be called often. */
pawl_code tool_stop(tool_call *c);
pawl_code tool_nomem(tool_call *c);
pawl_code tool_denied(tool_call *c);    /* denied by plan mode (P1) */
bool tool_in_plan(const pawl_job *job);
/* A member of its input: NULL, or `otherwise`, if it is missing. */
const char *input_text(const tool_call *c, const char *name);
int64_t input_count(const tool_call *c, const char *name, int64_t otherwise);
bool input_flag(const tool_call *c, const char *name);

/* ---- text_limit.c: text for models: pure ------------------------------------------------------------------- */

/* Append `data` as UTF-8: invalid bytes and NUL become U+FFFD. */
void plain_put(buf *b, const char *data, size_t size);
/* Cut `text` to about `most` bytes, between characters, with a note of what is left out; false: it is short enough. `lost`: bytes that were lost in its
 * middle, which the note counts, too. */
bool plain_cut(buf *out, const char *text, size_t size, size_t most, cut_where where, uint64_t lost);
bool plain_binary(const char *data, size_t size);   /* its first PROBE_BYTES contain NUL */

/* ---- workspace_fs.c: files of the workspace, only -------------------------------------------- */

typedef struct root { int fd; bool read_only; const char *real, *said; } root;     /* read_only: no command may write in it */
typedef struct roots { root all[ROOTS_MAX]; size_t n; } roots;

/* Where a path leads: a name in a folder of the workspace, not a link. */
typedef struct file_place {
    const root *root;
    int dir;                    /* closed by place_free() */
    char name[NAME_BYTES];      /* "." for the root itself */
    char path[TOOL_PATH_BYTES]; /* absolute, without links */
    bool there;                 /* it exists; then: */
    struct stat st;
} file_place;

typedef enum if_missing { MISSING_IS_ERROR, MISSING_IS_FINE, MISSING_FOLDERS_ARE_MADE } if_missing;

/* Opens the workspace of the call, in its arena. NULL: the reply has the error, *rc is the code to return, nothing needs closing. */
roots *roots_open(tool_call *c, pawl_code *rc);
void roots_close(roots *r);
/* Find `path` (relative to the first root), resolving each link within the roots. False: the reply has the error: outside, missing, too long. */
bool place_seek(tool_call *c, const roots *r, const char *path, if_missing missing, file_place *p, pawl_code *rc);
void place_free(file_place *p);
/* Whether the rules allow to use it, opened as `fd` (-1: it is about to be written). False: the reply has the error. */
bool place_allowed(tool_call *c, const file_place *p, const char *path, int fd, const struct stat *st, pawl_code *rc);
/* Open the file at a place for reading; -1: the reply has the error. A regular file only, so it never blocks on a writer. */
int place_read(tool_call *c, const file_place *p, const char *path, struct stat *st, pawl_code *rc);
/* Replace its content by `data`, completely or not at all, and never through a link. An existing file keeps its mode. */
bool place_write(tool_call *c, const file_place *p, const char *path, const char *data, size_t size, pawl_code *rc);
/* Read a regular file of at most `most` bytes into *out. */
bool place_load(tool_call *c, const file_place *p, const char *path, size_t most, buf *out, struct stat *st, pawl_code *rc);

/* Append the path of `more` below a place (NULL: of the place itself) as the tools accept it: relative to the workspace, or absolute. */
void place_put(buf *out, const roots *r, const file_place *p, const char *more);

/* ---- opened.c: the rules about what was opened (P8) ---------------------------------------------------------- */

typedef struct opened_file {         /* opened, or about to be written */
    const root *root;
    const char *path;           /* absolute, without links */
    const char *asked;          /* as it is written in the call */
    int dir, fd;                /* the folder that contains it, and itself; -1: not open */
    const char *name;           /* in `dir` */
    const struct stat *st;      /* NULL: it does not exist */
} opened_file;
/* Whether the tool may use it. False: the reply has the error. */
bool opened_allowed(tool_call *c, const opened_file *o, pawl_code *rc);
/* Whether a search leaves out what it found at this absolute path, and counts it. `fd`: -1 as long as it is not opened; `dir`: then its folder. */
bool opened_hides(tool_call *c, const char *path, int dir, int fd, const struct stat *st);
void opened_hidden_put(tool_call *c);   /* appends how many were left out, if any */

/* ---- seen.c: read before write --------------------------------------------------------------------------------- */

/* The reply tells that the run has seen this content of the file, by its bytes or as it is open. */
void seen_bytes(tool_call *c, const file_place *p, const char *data, size_t size);
void seen_open(tool_call *c, const file_place *p, int fd, const struct stat *st);
void seen_still(tool_call *c, int fd, const struct stat *st);   /* after it was read: nothing is reported if it has changed meanwhile */
/* Whether the call may change the file, which has this content. False: the reply has the error. */
bool seen_allows(tool_call *c, const file_place *p, const char *path, const char *data, size_t size, pawl_code *rc);
/* The same of a file that is not loaded. */
bool seen_allows_file(tool_call *c, const file_place *p, const char *path, pawl_code *rc);

/* ---- open_beneath.c: the kernel finds a path ---------------------------------------------------------------- */

/* Finds what exists at `path` below a root, with links followed within it. False: not found by it, which says nothing. */
bool beneath_seek(const root *top, const char *path, file_place *p);
extern bool seek_by_walk_only;  /* as on a kernel without openat2; set by tests alone, before any call */

/* ---- git_rules.c: what git leaves out ------------------------------------------------------------------------ */

/* The rules that count in the folder `dir` if it is the top of a worktree, those of its own .gitignore excepted; NULL: it is none. `base`: bytes of its
 * absolute path, with the slash. In `mem`, as all of these. */
const ignore_list *git_rules_top(tool_call *c, arena *mem, int dir, size_t base);
/* `up`, and before it the rules of the .gitignore in the folder `dir`, whose path has `size` bytes. */
const ignore_list *git_rules_in(tool_call *c, arena *mem, const ignore_list *up, int dir, const char *path, size_t size);
/* The rules that count in the folder at this absolute path without links, those of its own .gitignore excepted. NULL: it lies in no worktree, or git
 * leaves it out itself. */
const ignore_list *git_rules_above(tool_call *c, arena *mem, const char *path, size_t size);

/* ---- walk.c: all files below a folder --------------------------------------------------------------------- */

typedef struct walked {
    int dir;                    /* the folder that contains it */
    const char *name, *path;    /* `path` relative to the start of the walk, without "./" */
    const char *whole;          /* absolute */
    const struct stat *st;      /* never of a link; NULL: not looked at, see walk.opens */
} walked;
/* Called for regular files, folder by folder in the order of names; .git and links are not entered, nor is what git leaves out. False: stop. */
typedef bool walk_fn(void *ctx, const walked *w);
typedef bool walk_name_fn(void *ctx, const char *path);
typedef struct walk {
    tool_call *c;
    walk_fn *fn;
    walk_name_fn *wants;        /* whether fn is called for a file, by its path alone; NULL: for all */
    void *ctx;
    bool opens;                 /* fn opens each file, and asks reach_forbids() about what it has opened */
    int64_t until_ms;           /* the walk is cut short then */
    bool all;                   /* also what git leaves out */
    size_t seen, ignored;       /* names; those of them that git leaves out, with folders as one */
    bool done;                  /* fn has returned false: stop */
    bool deep;                  /* some folders are nested too deeply and were skipped; the rest was searched */
    const char *cut;            /* why the walk is incomplete: too deep, too many, too late; NULL: it is complete */
} walk;
/* PAWL_OK, also if cut short; or the code of tool_stop. `asked`: the folder as it is written; *replied: the reply has an error already. */
pawl_code walk_below(walk *w, const file_place *from, const char *asked, bool *replied);
void walk_ignored_put(const walk *w);   /* appends how many names git leaves out, if any */

/* ---- pattern.c: globs: pure --------------------------------------------------------------------------------- */

enum { PATTERN_BYTES_MAX = 1024, PATTERN_ALTS_MAX = 64 };
typedef struct pattern { const char *alts[PATTERN_ALTS_MAX]; size_t n; } pattern;
/* * ? [a-z] [!a] {a,b} \x and **, as in .gitignore: without a slash (except at its end) it matches a name at any depth, else the whole path. NULL:
 * valid; else the error. Its texts live in the arena. */
const char *pattern_make(arena *mem, const char *text, pattern *out);
bool pattern_fits(const pattern *p, const char *path);

/* ---- regex.c: pure --------------------------------------------------------------------------------------------- */

enum { REGEX_BYTES_MAX = 1024 };
/* Converts a common regular expression to a POSIX extended one: \d \w \s \b, (?:...), x*? and a lone { are supported. NULL: valid; else the error.
 * *icase: it begins with (?i); *size: its elements, with all repetitions written out. Expressions that are too expensive are refused. */
const char *regex_make(const char *text, buf *out, bool *icase, size_t *size);
enum { REGEX_LITERAL_BYTES = 64 };
/* A text that each match of such an expression contains: its size; 0: none is known. It has no blank, for which a NUL may stand in a file. */
size_t regex_literal(const char *text, char out[REGEX_LITERAL_BYTES]);

/* ---- git_guard.c: commands do not lead git away ------------------------------------------------------------------- */

/* The repository of a folder as it is before a command, which may put another folder, or a link, in its place. -1: there is none, or its configuration is
 * elsewhere. */
int git_guard_open(const char *folder);
bool git_guard_close(int git);          /* after it; true: a file was removed that would have led git away */
#define GIT_GUARD_NOTE "its .git/commondir was removed: it would lead git to another configuration"

/* ---- html.c: pure ------------------------------------------------------------------------------------------------- */

/* The text of a page: tags, scripts and styles are dropped, a link is `text (url)`. The output has at most about twice the size of the input. */
void html_text(const char *data, size_t size, buf *out);

/* ---- the tools ---------------------------------------------------------------------------------------------------- */

tool_fn tool_read, tool_list, tool_edit, tool_write, tool_glob, tool_grep, tool_bash, tool_bash_output, tool_kill_shell, tool_fetch, tool_command;
typedef struct builtin { pawl_tool tool; tool_fn *own; unsigned since; } builtin;       /* since: the first set that has it */
extern const builtin builtins[];
extern const size_t builtins_count;
/* builtin_were.c: what has changed, as it was up to the set `until`; of one name in the order of sets. */
typedef struct builtin_was { const char *name; unsigned until; const char *schema, *description; } builtin_was;
extern const builtin_was builtins_were[];
extern const size_t builtins_were_count;

#endif
