/* tool.h - inside the tools: a call, its workspace, patterns, and what is said to the model. */
#ifndef EFFECT_TOOL_TOOL_H
#define EFFECT_TOOL_TOOL_H

#include "effect/effect.h"
#include "pawl/tool.h"

#include <sys/stat.h>

/* ---- limits (X2) ---------------------------------------------------------------------------------- */

enum {
    ROOTS_MAX = 64,             /* the workspace and the folders that belong to it */
    TOOL_PATH_BYTES = 4096,     /* of a path */
    NAME_BYTES = 256,           /* of a name in it */
    LINKS_MAX = 40,             /* in one path */
    WHOLE_BYTES_MAX = 1 << 20,  /* of "whole" */
    FILE_BYTES_MAX = 16 << 20,  /* of a file that is edited */
    PROBE_BYTES = 8192          /* looked at to tell text from other files */
};

/* ---- call.c: a call, and what it came to -------------------------------------------------------------- */

typedef struct tool_call tool_call;
typedef pawl_code tool_fn(tool_call *c);

struct tool_call {
    const pawl_job *job;
    pawl_reply *r;
    const pawl_tool *tool;
    const pawl_value *input;    /* checked */
    const char *const *run;     /* of a command: its words */
    const char *cwd;            /* absolute, and a folder */
    arena mem;
    buf out;                    /* the content, while it is made */
    char note[512];             /* for people; "": none */
    const char *limit;          /* what until_ms is called */
    int64_t until_ms;           /* by clock_ms: the job's end */
    int64_t beat_ms;
    unsigned looks;
};

/* One tool of the set: what is handed out as its `arg`. */
typedef struct tool_entry {
    pawl_tool tool;             /* as it is handed out */
    const pawl_value *schema;
    pawl_handler_fn *fn;        /* of somebody else's, or */
    void *arg;
    tool_fn *own;               /* of ours */
    const char *const *run;     /* of a command */
    bool any_mode;              /* it looks at the mode itself: what runs programs of a model */
} tool_entry;

pawl_handler_fn tool_perform;   /* `arg`: a tool_entry */
/* {"content":TEXT,"is_error":true}; PAWL_OK or PAWL_NOMEM. */
pawl_code tool_error(tool_call *c, const char *format, ...) PAWL_PRINTF(2, 3);
typedef enum cut_where { CUT_END, CUT_MIDDLE } cut_where;
/* c->out as the content: made UTF-8, cut when it is too long. */
pawl_code tool_text(tool_call *c, cut_where where, bool is_error);
/* The same of a list of blocks: c->out is its JSON. */
pawl_code tool_blocks(tool_call *c);
/* PAWL_OK: go on; PAWL_CANCELED, PAWL_TIMEOUT: told. Cheap, to be asked often. */
pawl_code tool_stop(tool_call *c);
pawl_code tool_nomem(tool_call *c);
pawl_code tool_denied(tool_call *c);    /* by plan mode, in its sentence (P1) */
bool tool_in_plan(const pawl_job *job);
/* Of its input: NULL, or `otherwise`, where there is none. */
const char *input_text(const tool_call *c, const char *name);
int64_t input_count(const tool_call *c, const char *name, int64_t otherwise);
bool input_flag(const tool_call *c, const char *name);

/* ---- plain.c: text for models: pure ------------------------------------------------------------------- */

/* Append `data` as UTF-8: what is none, and NUL, becomes U+FFFD. */
void plain_put(buf *b, const char *data, size_t size);
/* Cut `text` to about `most` bytes, between characters, with a note of what is left out; false: it is short enough. */
bool plain_cut(buf *out, const char *text, size_t size, size_t most, cut_where where);
bool plain_binary(const char *data, size_t size);   /* it holds NUL, in the first PROBE_BYTES */

/* ---- beneath.c: files of the workspace, and of nowhere else -------------------------------------------- */

typedef struct root { int fd; bool read_only; const char *real, *said; } root;     /* read_only: no command may write to it */
typedef struct roots { root all[ROOTS_MAX]; size_t n; } roots;

/* Where a path leads: a name in a folder of the workspace, which is no link. */
typedef struct file_place {
    int dir;                    /* place_free() closes it */
    char name[NAME_BYTES];      /* "." of the root itself */
    char path[TOOL_PATH_BYTES]; /* absolute, without links */
    bool there;                 /* and then: */
    struct stat st;
} file_place;

typedef enum if_missing { MISSING_IS_ERROR, MISSING_IS_FINE, MISSING_FOLDERS_ARE_MADE } if_missing;

/* The workspace of the call, opened, in its arena. NULL: the reply has the error, *rc is what to return, and nothing is to be closed. */
roots *roots_open(tool_call *c, pawl_code *rc);
void roots_close(roots *r);
/* Find `path` (relative: to the first root), every link in it resolved within the roots. On false the error is told: outside, not there, too long. */
bool place_seek(tool_call *c, const roots *r, const char *path, if_missing missing, file_place *p, pawl_code *rc);
void place_free(file_place *p);
/* The file at a place, for reading; -1: told. It is a regular one, and no wait for a writer. */
int place_read(tool_call *c, const file_place *p, const char *path, struct stat *st, pawl_code *rc);
/* Make it hold `data`: whole or not at all, and never through a link. The mode of what is there stays. */
bool place_write(tool_call *c, const file_place *p, const char *path, const char *data, size_t size, pawl_code *rc);
/* All of a regular file, of `most` bytes at most, into *out. */
bool place_load(tool_call *c, const file_place *p, const char *path, size_t most, buf *out, struct stat *st, pawl_code *rc);

/* The text of `more` below a place (NULL: of the place itself) as the tools take it: from the workspace on, or in full. */
void place_put(buf *out, const roots *r, const file_place *p, const char *more);

/* ---- walk.c: all files below a folder --------------------------------------------------------------------- */

typedef struct walked {
    int dir;                    /* that holds it */
    const char *name, *path;    /* `path` from where the walk began, without "./" */
    const struct stat *st;      /* no link */
} walked;
/* Regular files, folder by folder in the order of names; neither .git nor links are gone into. False: enough. */
typedef bool walk_fn(void *ctx, const walked *w);
typedef struct walk {
    tool_call *c;
    walk_fn *fn;
    void *ctx;
    int64_t until_ms;           /* then it is cut short */
    size_t seen;
    bool done;                  /* fn has had enough */
    bool deep;                  /* there are folders that were not gone into: the rest was looked at all the same */
    const char *cut;            /* why something was not looked at: too deep, too many, too late; NULL: all was */
} walk;
/* PAWL_OK, also cut short; or what tool_stop said. */
pawl_code walk_below(walk *w, const file_place *from);

/* ---- pattern.c: globs: pure --------------------------------------------------------------------------------- */

enum { PATTERN_BYTES_MAX = 1024, PATTERN_ALTS_MAX = 64 };
typedef struct pattern { const char *alts[PATTERN_ALTS_MAX]; size_t n; } pattern;
/* * ? [a-z] [!a] {a,b} \x and **, as .gitignore has them: without a slash (but the last) it fits a name at any depth, with one
 * the whole path. NULL: fine; else what is wrong with it. Its texts live in the arena. */
const char *pattern_make(arena *mem, const char *text, pattern *out);
bool pattern_fits(const pattern *p, const char *path);

/* ---- regex.c: pure --------------------------------------------------------------------------------------------- */

enum { REGEX_BYTES_MAX = 1024 };
/* A pattern as programmers write it, as an extended one of POSIX: \d \w \s \b, (?:...), x*? and a lone { are known. NULL: fine; else what is wrong.
 * *icase: it begins with (?i); *size: of how many elements it is, all repetitions written out. What would take too long or too much
 * to compile is refused. */
const char *regex_make(const char *text, buf *out, bool *icase, size_t *size);

/* ---- html.c: pure ------------------------------------------------------------------------------------------------- */

/* The text of a page: tags, scripts and styles are dropped, a link is `text (url)`. At most about twice the size of what came in. */
void html_text(const char *data, size_t size, buf *out);

/* ---- the tools ---------------------------------------------------------------------------------------------------- */

tool_fn tool_read, tool_list, tool_edit, tool_write, tool_glob, tool_grep, tool_bash, tool_fetch, tool_command;
typedef struct builtin { pawl_tool tool; tool_fn *own; } builtin;
extern const builtin builtins[];
extern const size_t builtins_count;

#endif
