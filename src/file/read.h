/* read.h - documents while they are read (doc.c, doc_read.c, json.c, yaml.c, yaml_errors.c), and the texts of expressions and templates (jq_lint.c,
 * jq_reads.c, path.c, template.c). */
#ifndef FILE_READ_H
#define FILE_READ_H

#include "file/file.h"

/* ---- documents ------------------------------------------------------------------------------------ */

/* A text and how far it was looked at. A line ends in LF, CR or both. */
typedef struct doc_reading {
    arena *mem;
    faults *f;
    const char *file;
    const char *text, *end;     /* without a byte order mark; valid UTF-8 without NUL */
    const char *at;             /* here, */
    size_t index;               /* which is that character, counted from 0, */
    uint32_t line, column;      /* and stands there, counted from 1 */
} doc_reading;

void reading_begin(doc_reading *r);
void reading_to(doc_reading *r, const char *at);            /* forward */
void reading_to_index(doc_reading *r, size_t index);        /* by characters; from the beginning when it lies behind */
static inline source_place reading_place(const doc_reading *r) { return (source_place){ r->file, r->line, r->column }; }
/* Where the line begins, from 1 on; the end of the text when there is none. */
const char *reading_line(const doc_reading *r, uint32_t line);

doc *json_read(doc_reading *r);     /* NULL: told, or no memory */
doc *yaml_read(doc_reading *r);
/* Tell in our words what libyaml has against a text; `parser` is its yaml_parser_t. */
void yaml_complain(doc_reading *r, const void *parser);

/* A node without what is in it. NULL: no memory. */
doc *doc_new(arena *mem, doc_kind kind, source_place at);
bool doc_text_set(doc *d, arena *mem, const char *text, size_t size, bool plain);
/* One item more, with its key if `map` is a map. `cap` is the room of its vectors. */
bool doc_add(doc *map, arena *mem, size_t *cap, doc *key, doc *item);
/* Tell of keys that stand there twice. False: no memory. */
bool doc_keys_check(const doc *map, arena *mem, faults *f);
/* How much of `text` a message shows: at most 40 characters, and one line. */
int shown(const char *text, size_t size);

/* ---- expressions ------------------------------------------------------------------------------------- */

enum { LOOK_DEPTH_MAX = 200 };  /* brackets, strings and `if` in one another */

/* A text of jq, looked over: what does it do, as far as one sees without understanding it? */
typedef struct jq_lint_state {
    const char *text;
    size_t size, at;            /* looked over so far */
    bool empty;                 /* blanks and comments only */
    bool comment;               /* it ends in a comment */
    size_t wrong_at;            /* where the fault is; */
    char wrong[240];            /* its text */
    size_t depth;
    struct look_frame { char open; bool key; size_t at; } frames[LOOK_DEPTH_MAX];
} jq_lint_state;

/* Look to the end or, if `braces`, as in a template, to `}}` that closes nothing. False: `wrong` says why. */
bool look_over(jq_lint_state *l, const char *text, size_t size, bool braces);

/* Which members of its input an expression reads (jq_reads.c): `read` is called for each, perhaps more than once. False: it may read all, or `read` said so. */
typedef bool jq_read_fn(void *ctx, const char *name, size_t size);
bool jq_reads(const char *text, jq_read_fn *read, void *ctx);

/* Move `at`, where `text` begins, by the characters before `offset`. False: they do not stand in one line, and it stays. */
bool place_move(source_place *at, const char *text, size_t offset);
/* As expression_read() and template_read(). Not `exact`: faults are told at `at` itself, which is not the place of the text. */
bool expression_parse(expression *e, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f);
bool template_parse(template *t, arena *mem, const char *text, size_t size, source_place at, bool exact, faults *f);

#endif
