/* json.h - JSON values: read, written as canonical text, built, changed and checked against a schema.
 *
 * Pure: memory comes from the caller's arena. Values are yyjson's nodes; nothing above this layer includes yyjson itself. */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/base.h"

#include <yyjson.h>

/* ---- number.c: a double as the shortest text that reads back ------------------------------- */

enum { REAL_TEXT_MAX = 32 };
/* Write canonical text of a finite `x` to out, return its length: -0 is "0.0"; always has
 * '.' or 'e', so that it never reads back as an integer. Exact arithmetic, no locale. */
size_t real_text(double x, char out[REAL_TEXT_MAX]);

/* ---- value.c, canonical.c, pack.c: JSON -------------------------------------------------------- */
/* A pawl_value is a yyjson_val: 16-byte nodes side by side, a container's members after it;
 * strings elsewhere, each ending in NUL. So copying a value is one memcpy of its nodes. */

static inline const yyjson_val *val_of(const pawl_value *v) { return (const yyjson_val *)(const void *)v; }
static inline const pawl_value *of_val(const yyjson_val *v) { return (const pawl_value *)(const void *)v; }

/* equal for equal values; for tables in memory, never stored */
uint32_t value_hash(const pawl_value *v);
size_t value_nodes(const pawl_value *v);    /* of the subtree, including itself */
/* Check what yyjson does not: depth, duplicate keys. `what` is named in the error. */
/* Parse strict JSON into the arena. Refused: NaN, bad UTF-8, duplicate keys, more than
 * DEPTH_MAX levels, more than TEXT_BYTES_MAX bytes, anything after the value, NUL in a key. The error
 * names `what` and the byte. NULL: see err (PAWL_INVALID, PAWL_LIMIT or PAWL_NOMEM). */
const pawl_value *value_parse(arena *a, const char *text, size_t size, const char *what, pawl_err *err);
/* The same for text that Pawl writes, with READ_DEPTH_MAX levels. */
const pawl_value *value_read(arena *a, const char *text, size_t size, const char *what, pawl_err *err);
/* Whether `v` has more than `most` levels; `most` is READ_DEPTH_MAX at most. */
bool value_deeper(const pawl_value *v, size_t most);
/* Whether the members of all its objects are in canonical order. */
bool value_ordered(const pawl_value *v);
/* Copy nodes and strings into the arena. NULL in, or no memory: NULL out. */
const pawl_value *value_copy(arena *a, const pawl_value *v);
/* The bytes value_copy_to needs for `v`, and the copy itself: one block, freed as one. */
size_t value_block_bytes(const pawl_value *v);
const pawl_value *value_copy_to(void *block, const pawl_value *v);

/* `v` with the part at the JSON pointer `path` replaced. NULL: there is no such part, no memory, or NULL in. */
const pawl_value *value_splice(arena *a, const pawl_value *v, const char *path, const pawl_value *sub);
/* A node of a value and its replacement; `put`: where the copy is. */
typedef struct value_place { const pawl_value *at, *sub, *put; } value_place;
/* `v` with all of these replaced; they are in node order, and not inside each other. NULL: no memory. */
const pawl_value *value_fill(arena *a, const pawl_value *v, value_place *places, size_t n);
/* `object` with a member set (in its place, or at the end); `array` with one more element. Strings are shared; NULL in, NULL out. */
const pawl_value *value_with(arena *a, const pawl_value *object, const char *key, const pawl_value *v);
const pawl_value *value_with_all(arena *a, const pawl_value *object, const pawl_value *members);        /* members NULL: the object */
const pawl_value *value_push(arena *a, const pawl_value *array, const pawl_value *v);
/* The value of an option: the "value" of an object that has one, or the option itself. NULL in, NULL out. */
const pawl_value *value_option(const pawl_value *option);
/* Whether `v` is the value of one of `options`. */
bool value_one_of(const pawl_value *options, const pawl_value *v);
bool value_among(const pawl_value *list, const pawl_value *v);      /* whether an element of the array equals `v` */

/* One-node values, in the arena. */
const pawl_value *value_null(arena *a);
const pawl_value *value_bool(arena *a, bool b);
const pawl_value *value_int(arena *a, int64_t n);
const pawl_value *value_uint(arena *a, uint64_t n);
const pawl_value *value_real(arena *a, double x);   /* NaN and infinities: NULL */
/* The text is copied; bad UTF-8 or NULL text: NULL. */
const pawl_value *value_string(arena *a, const char *text, size_t size);

/* Append canonical JSON (semantics K2): keys by bytes, no spaces, minimal escapes (quote, backslash, and
 * control characters: \b \t \n \f \r, else \u00xx in lower case), integers as digits,
 * reals by real_text. Never fails but for memory (b->failed). */
void canon(buf *b, const pawl_value *v);
void canon_string(buf *b, const char *text, size_t size);

/* A part that is stored elsewhere (K3): `node` is its place in the tree. */
typedef struct value_ref {
    const pawl_value *node;     /* by address */
    const char *form;           /* "event", "channel", "blob", "secret" */
    const char *target;         /* its meaning depends on the form; content of a JSON string */
    const char *digest;         /* hex; NULL: none */
} value_ref;
typedef struct value_refs {
    value_ref *list;
    size_t count;
    size_t next;                /* where the next look-up begins: refs are usually in the order of the text */
} value_refs;
/* Like canon, with null at each node of `refs`; for each of these an element `[path,form,target]` or `[path,form,target,digest]` is appended to `list`
 * (comma separated, without outer brackets, in text order). Only nodes with NODE_REF in their tag are looked up. */
void canon_refs(buf *b, const pawl_value *v, value_refs *refs, buf *list);
/* The same with `prefix` before each path; it must need no escape. */
void canon_refs_below(buf *b, const pawl_value *v, value_refs *refs, buf *list, const char *prefix);
enum { NODE_REF = 0x80 };       /* a bit of the tag that yyjson does not use; only on strings, containers, null */

/* Build a value in the arena from a format: { } [ ] with ',' and ':' and blanks as in JSON, and
 *   s  const char * (NULL: the whole is NULL)   i  int64_t     u  uint64_t    f  double
 *   b  int (a truth)    n  null     v  const pawl_value * (copied nodes; NULL: the whole is NULL)
 *   j  const char *, JSON text
 * Keys are s. A bad format or bad UTF-8 is an error, reported once in `err`. Refs on nodes copied by `v` are told
 * to `on_copy` (may be NULL): (ctx, source root, copied root). */
typedef void pack_copied_fn(void *ctx, const pawl_value *from, const pawl_value *to);
const pawl_value *value_packv(arena *a, pack_copied_fn *on_copy, void *ctx, pawl_err *err, const char *fmt, va_list args);
const pawl_value *value_pack(arena *a, pawl_err *err, const char *fmt, ...);

/* ---- scan.c: canonical text, read where it stands ---------------------------------------------- */
/* A scan stops at the first text that canon() would not write: `at` moves to the end, where there is a NUL, so all further reads fail. So it is enough
 * to check `wrong` once, at the end. */

typedef struct scan {
    arena *a;
    char *at;                   /* position in a copy of the text */
    char *from, *end;           /* the copy: its beginning, and its end, where there is a NUL */
    const char *text;           /* the original text */
    size_t size, depth;
    yyjson_val *nodes;          /* room for values; the current one began at `start` */
    size_t start, used, cap;
    const char *wrong;          /* where it failed; NULL: nowhere */
} scan;
typedef struct scan_text { const char *text; size_t size; bool plain; } scan_text; /* plain: without escapes */

bool scan_begin(scan *s, arena *a, const char *text, size_t size);  /* false: no memory, and nothing else may be called */
bool scan_wrong(scan *s);       /* the text here is wrong; returns false */
/* Sets err as value_read() of the whole text would: PAWL_CORRUPT or PAWL_NOMEM. */
pawl_code scan_fails(const scan *s, const char *what, pawl_err *err);
bool scan_string(scan *s, scan_text *out);
bool scan_int(scan *s, bool *below, uint64_t *n);   /* n, or -n when it is below 0 */
const pawl_value *scan_value(scan *s);          /* NULL: wrong */
/* The canonical digits of a number at p; returns what follows. NULL: not a number below 2^64. */
const char *digits_many(const char *p, uint64_t *n);
static inline const char *digits_read(const char *p, uint64_t *n)       /* most numbers have one digit */
{
    const unsigned first = (unsigned)(unsigned char)p[0] - '0';

    if (first > 9 || (unsigned)(unsigned char)p[1] - '0' <= 9)
        return digits_many(p, n);
    *n = first;
    return p + 1;
}
static inline bool scan_open(scan *s, char bracket)
{
    if (*s->at != bracket || s->depth == READ_DEPTH_MAX)
        return scan_wrong(s);
    s->depth++;
    s->at++;
    return true;
}
static inline bool scan_close(scan *s, char bracket)
{
    if (*s->at != bracket)
        return scan_wrong(s);
    s->depth--;
    s->at++;
    return true;
}
static inline bool scan_due(scan *s, char c)
{
    if (*s->at != c)
        return scan_wrong(s);
    s->at++;
    return true;
}
/* Whether the open array or object has a further element; moves to it. */
static inline bool scan_left(const scan *s) { return *s->at != ']' && *s->at != '}' && *s->at != '\0'; }
static inline bool scan_next(scan *s) { return s->at[-1] == '[' || s->at[-1] == '{' || scan_due(s, ','); }

/* ---- schema.c: JSON Schema, the keywords of X3 ------------------------------------------------ */

/* PAWL_OK, or PAWL_INVALID with `what`, the place in it and what is expected. Keywords: type, enum, const, properties, required, additionalProperties,
 * items, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, minItems, maxItems, uniqueItems, anyOf, oneOf, allOf,
 * not, $ref into #/$defs or #/definitions; other keywords are ignored here. `schema` true accepts everything, false nothing. */
pawl_code schema_check(const pawl_value *schema, const pawl_value *v, const char *what, pawl_err *err);
/* The same without `pattern`: for what old journals took although a pattern does not match (K5). */
pawl_code schema_check_loose(const pawl_value *schema, const pawl_value *v, const char *what, pawl_err *err);
/* Whether every keyword is one of these (or an annotation: title, description, default, examples, $schema, $id, $comment, format, $defs, definitions)
 * and well formed: for our own files. */
pawl_code schema_known(const pawl_value *schema, const char *what, pawl_err *err);

#endif
