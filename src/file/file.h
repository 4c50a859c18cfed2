/* file.h - inside agent files: text becomes a document, a document a model, a model a graph.
 *
 * Pure: bytes come from the caller (`file_source`); expressions other than plain paths are calls of the effect "jq", whose results are in the journal.
 * Everything of a file is in one arena. */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include "json/json.h"
#include "pawl/graph.h"

enum {
    FILE_BYTES_MAX = 1 << 20,   /* of one agent file */
    FILE_DEPTH_MAX = 32,        /* nested lists and maps */
    FILE_FAULTS_MAX = 100       /* reported for one file */
};

/* ---- faults ------------------------------------------------------------------------------------ */

typedef struct source_place { const char *file; uint32_t line, column; } source_place;    /* from 1; columns count characters */

typedef struct file_fault {
    struct file_fault *next;
    source_place at;
    pawl_severity severity;
    const char *kind;           /* "syntax", "unknown-key", ...: docs/ERRORS.md */
    const char *text;           /* one line: the error and a suggested fix */
} file_fault;

typedef struct faults {         /* sorted by file and place; at one place in the order in which they were found */
    arena *mem;
    file_fault *first;
    size_t count, warnings;     /* count: of PAWL_SEVERITY_FAULT */
    size_t calls;               /* including repeated ones */
} faults;

void faults_init(faults *f, arena *mem);
/* Add a fault, once for each place and kind; beyond FILE_FAULTS_MAX it is only counted. */
void fault_at(faults *f, source_place at, pawl_severity severity, const char *kind, const char *fmt, ...) PAWL_PRINTF(5, 6);

/* ---- doc.c: YAML or JSON as a tree with places --------------------------------------------------- */

typedef enum doc_kind { DOC_SCALAR = 1, DOC_LIST = 2, DOC_MAP = 3 } doc_kind;
typedef struct doc {
    doc_kind kind;
    source_place at;                   /* of its first character, including quotes */
    source_place text_at;              /* of a scalar's text if it is in the file unchanged, in one line; else line is 0 */
    bool plain;                 /* a scalar without quotes, whose text decides its type */
    const char *text;           /* of a scalar, as written; ends in NUL and contains no other */
    size_t size;                /* of the text; or number of items or members */
    struct doc **items;         /* of a list; the values of a map */
    struct doc **keys;          /* of a map: scalars with distinct texts */
} doc;

/* Read one document. Faults are: anchors, aliases, tags, several documents, duplicate keys, keys that are not scalars, NUL, invalid UTF-8, too many
 * levels, too many bytes. A text that begins with `{` or `[` must be JSON completely. NULL: see `f`. */
doc *doc_read(arena *mem, const char *file, pawl_bytes text, faults *f);
const doc *doc_get(const doc *map, const char *key);        /* NULL: missing, or not a map */
pawl_type doc_type(const doc *d);                           /* of a scalar, by the core schema of YAML 1.2 */
/* As a JSON value: `yes` and `on` are strings, 0x10 and 0o17 integers; .inf, .nan and integers beyond 64 bits are faults. NULL: see `f`, or no memory. */
const pawl_value *doc_value(const doc *d, arena *mem, faults *f);

/* ---- path.c, text.c: expressions and templates ------------------------------------------------------ */

typedef struct path_step { const char *key; int64_t index; } path_step;     /* key NULL: an index, from the end if below 0 */
typedef struct expression {
    const char *text;
    source_place at;
    bool path;                  /* a plain path, which Pawl follows itself */
    path_step *steps;
    size_t nsteps;
    uint32_t number;            /* of a jq expression: its number in the file */
    const char *label;          /* its name in journals: "total/set/report" */
} expression;

/* Parse `text`: a plain path is parsed, any other text is only checked: quotes and brackets close, and nothing impure is named, so that it can be put in
 * parentheses. `e->text` is `text` without surrounding blanks, and with a newline at its end if it ends in a comment. False: a fault of kind
 * "expression", or no memory. `at`: where the text begins; errors in its first line are reported at their character, others at `at`. */
bool expression_read(expression *e, arena *mem, const char *text, source_place at, faults *f);
/* The same for a scalar. Errors are reported at their character if the text is in the file unchanged, else at the beginning of the scalar. */
bool expression_of(expression *e, arena *mem, const doc *scalar, faults *f);
/* Follow a plain path from `root`. A missing member is null, as in jq; a member of a value that is not an object or null, and an index into a value that
 * is not an array, are errors. NULL: `err` names the step. */
const pawl_value *path_follow(const expression *e, const pawl_value *root, pawl_err *err);

typedef struct piece { const char *text; size_t size; expression *e; } piece;   /* a text or an expression */
typedef struct template { piece *pieces; size_t npieces; source_place at; } template;
/* Cut "a {{EXPR}} b" into pieces. Quotes and brackets in an expression are respected: `{{"}}"}}` is one expression. `at` as above. False: a fault of
 * kind "template", or of kind "expression" for an error between the braces; or no memory. */
bool template_read(template *t, arena *mem, const char *text, size_t size, source_place at, faults *f);
bool template_of(template *t, arena *mem, const doc *scalar, faults *f);
/* The expression if the template consists of one expression alone; else NULL. */
expression *template_whole(const template *t);

#endif
