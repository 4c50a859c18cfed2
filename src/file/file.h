/* file.h - inside agent files: text becomes a document, a document a model, a model a graph.
 *
 * Nothing here touches the world: bytes come from whoever asks (`file_source`), expressions that are more than a path are
 * calls of the effect "jq", whose values stand in the journal. Everything of a file lives in one arena. */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include "json/json.h"
#include "pawl/graph.h"

enum {
    FILE_BYTES_MAX = 1 << 20,   /* of one agent file */
    FILE_DEPTH_MAX = 32,        /* levels of lists and maps in it */
    FILE_FAULTS_MAX = 100       /* told of one file */
};

/* ---- faults ------------------------------------------------------------------------------------ */

typedef struct source_place { const char *file; uint32_t line, column; } source_place;    /* from 1; columns count characters */

typedef struct file_fault {
    struct file_fault *next;
    source_place at;
    pawl_severity severity;
    const char *kind;           /* "syntax", "unknown-key", ...; see docs/ERRORS.md */
    const char *text;           /* one line: what is wrong, and what would be right */
} file_fault;

typedef struct faults {         /* in order of file and place; those of one place in the order told */
    arena *mem;
    file_fault *first;
    size_t count, warnings;     /* count: of PAWL_FAULT */
    size_t calls;               /* also of those told before */
} faults;

void faults_init(faults *f, arena *mem);
/* Told once for one place and kind; past FILE_FAULTS_MAX only counted. */
void fault_at(faults *f, source_place at, pawl_severity severity, const char *kind, const char *fmt, ...) PAWL_PRINTF(5, 6);

/* ---- doc.c: YAML or JSON as a tree with places --------------------------------------------------- */

typedef enum doc_kind { DOC_SCALAR = 1, DOC_LIST = 2, DOC_MAP = 3 } doc_kind;
typedef struct doc {
    doc_kind kind;
    source_place at;                   /* of its first character, quotes included */
    source_place text_at;              /* of a scalar's text, where that stands in one line as it is; else its line is 0 */
    bool plain;                 /* a scalar without quotes: its text decides its type */
    const char *text;           /* a scalar's, as written; ends in NUL, has no other NUL */
    size_t size;                /* of the text, or items, or members */
    struct doc **items;         /* of a list; of a map the values */
    struct doc **keys;          /* of a map: scalars, no two with the same text */
} doc;

/* Read one document. Anchors, aliases, tags, several documents, duplicate keys, keys that are no text, NUL, bad UTF-8, too deep, too
 * large: faults. A text whose first character is `{` or `[` is JSON, and must be all of it. NULL: `f` says why. */
doc *doc_read(arena *mem, const char *file, pawl_bytes text, faults *f);
const doc *doc_get(const doc *map, const char *key);        /* or NULL; NULL for what is no map */
pawl_type doc_type(const doc *d);                           /* of a scalar by the core schema of YAML 1.2 */
/* As a JSON value: `yes` and `on` are strings, 0x10 and 0o17 integers; .inf, .nan and integers beyond 64 bits are strings no more
 * than numbers: a fault. NULL: told to `f`, or no memory. */
const pawl_value *doc_value(const doc *d, arena *mem, faults *f);

/* ---- path.c, text.c: expressions and templates ------------------------------------------------------ */

typedef struct path_step { const char *key; int64_t index; } path_step;     /* key NULL: an index, below 0 from the end */
typedef struct expression {
    const char *text;
    source_place at;
    bool path;                  /* a plain path: Pawl's own */
    path_step *steps;
    size_t nsteps;
    uint32_t number;            /* of one that is jq's: its place among those of the file */
    const char *label;          /* the same by name, "total/set/report": it stands in journals */
} expression;

/* Parse `text`; a plain path is taken apart, anything else only looked over: quotes and brackets close, nothing impure is named.
 * So what is no path may stand between parentheses and stays there: `e->text` is `text` without the blanks around it, and with a
 * newline behind it when it ends in a comment. False: a fault of kind "expression", or no memory.
 * `at` is where the text begins; what is wrong further on in its first line is told at that character, else at `at`. */
bool expression_read(expression *e, arena *mem, const char *text, source_place at, faults *f);
/* The same of a scalar: exact where its text stands in the file as it is, else everything is told where the scalar begins. */
bool expression_of(expression *e, arena *mem, const doc *scalar, faults *f);
/* Follow a plain path from `root`; what is not there is null, as in jq; a member of what is no object (null has all), an index of
 * what is no array are faults. NULL: `err` says which step. */
const pawl_value *path_follow(const expression *e, const pawl_value *root, pawl_err *err);

typedef struct piece { const char *text; size_t size; expression *e; } piece;   /* either text or an expression */
typedef struct template { piece *pieces; size_t npieces; source_place at; } template;
/* Cut "a {{EXPR}} b" into pieces. Quotes and brackets inside an expression are respected, so `{{"}}"}}` is one. `at` is as above.
 * False: a fault of kind "template", or "expression" for what is wrong inside the braces; or no memory. */
bool template_read(template *t, arena *mem, const char *text, size_t size, source_place at, faults *f);
bool template_of(template *t, arena *mem, const doc *scalar, faults *f);
/* The one expression that it is, with nothing around it; else NULL. */
expression *template_whole(const template *t);

#endif
