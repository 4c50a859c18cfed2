/* read.h - inside the readers: documents (doc.c, doc_read.c, json.c, yaml.c, yaml_errors.c), and texts of expressions and templates (jq_lint.c,
 * jq_reads.c, path.c, template.c). */
#ifndef FILE_READ_H
#define FILE_READ_H

#include "file/file.h"

/* ---- documents ------------------------------------------------------------------------------------ */

/* A text and a position in it. A line ends in LF, CR or both. */
typedef struct doc_reading {
    arena *mem;
    faults *f;
    const char *file;
    const char *text, *end;     /* without a byte order mark; valid UTF-8 without NUL */
    const char *at;             /* the position */
    size_t index;               /* its index in characters, from 0 */
    uint32_t line, column;      /* its line and column, from 1 */
} doc_reading;

void reading_begin(doc_reading *r);
void reading_to(doc_reading *r, const char *at);            /* moves forward */
void reading_to_index(doc_reading *r, size_t index);        /* moves to that character; starts at the beginning if it is behind */
static inline source_place reading_place(const doc_reading *r) { return (source_place){ r->file, r->line, r->column }; }
/* The beginning of a line, counted from 1; the end of the text if there is no such line. */
const char *reading_line(const doc_reading *r, uint32_t line);

doc *json_read(doc_reading *r);     /* NULL: reported, or no memory */
doc *yaml_read(doc_reading *r);
/* Report libyaml's error in our words; `parser` is its yaml_parser_t. */
void yaml_complain(doc_reading *r, const void *parser);

/* A node without contents. NULL: no memory. */
doc *doc_new(arena *mem, doc_kind kind, source_place at);
bool doc_text_set(doc *d, arena *mem, const char *text, size_t size, bool plain);
/* Append an item, with its key if `map` is a map. `cap`: capacity of its vectors. */
bool doc_add(doc *map, arena *mem, size_t *cap, doc *key, doc *item);
/* Report duplicate keys. False: no memory. */
bool doc_keys_check(const doc *map, arena *mem, faults *f);
/* The number of bytes of `text` that a message shows: at most 40 characters of one line. */
int shown(const char *text, size_t size);

/* ---- expressions ------------------------------------------------------------------------------------- */

enum { LINT_DEPTH_MAX = 200 };  /* nested brackets, strings and `if` */

/* A jq text and what was found in it. */
typedef struct jq_lint_state {
    const char *text;
    size_t size, at;            /* at: checked so far */
    bool empty;                 /* blanks and comments only */
    bool comment;               /* it ends in a comment */
    size_t wrong_at;            /* place of the error */
    char wrong[240];            /* the error */
    size_t depth;
    struct lint_frame { char open; bool key; size_t at; } frames[LINT_DEPTH_MAX];
} jq_lint_state;

/* Check up to the end or, if `braces`, as in a template, up to the `}}` that closes it. False: `wrong` has the error. */
bool lint_scan(jq_lint_state *l, const char *text, size_t size, bool braces);

/* Which members of its input an expression reads (jq_reads.c): `read` is called for each, perhaps repeatedly. False: it may read all, or `read` returned
 * false. */
typedef bool jq_read_fn(void *ctx, const char *name, size_t size);
bool jq_reads(const char *text, jq_read_fn *read, void *ctx);

/* Move `at`, the place where `text` begins, to `offset`. False: there is a line end between, and it is unchanged. */
bool place_move(source_place *at, const char *text, size_t offset);
/* As expression_read() and template_read(). Not `exact`: errors are reported at `at` itself. */
bool expression_parse(expression *e, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f);
bool template_parse(template *t, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f);

#endif
