/* base.h - the tools below the kernel: errors, arenas, buffers, hashes, values.
 *
 * Nothing here knows what a run is. Needs libc, yyjson, and SHA-256 from nettle. */
#ifndef BASE_H
#define BASE_H

#include "base/broken.h"
#include "pawl/base.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <yyjson.h>

/* ---- limits (X2): name, value ------------------------------------------------------ */

enum {
    DEPTH_MAX = 128,            /* levels of arrays and objects in one value */
    READ_DEPTH_MAX = DEPTH_MAX + 16,    /* in what Pawl writes: values stand some levels deep in it */
    ALIGN = 16                  /* of every piece of an arena */
};
#define TEXT_BYTES_MAX ((size_t)1 << 30) /* of one JSON text */

#if defined __GNUC__
#define APART __attribute__((noinline))     /* seldom called: kept out of those that often are */
#else
#define APART
#endif

/* ---- err.c --------------------------------------------------------------------------- */

/* Tell `err` (may be NULL) the first failure; returns `code`. One line, the object first. */
pawl_code fail(pawl_err *err, pawl_code code, const char *fmt, ...) PAWL_PRINTF(3, 4);
static inline void err_begin(pawl_err *err) /* as {0}, but the text is not cleared to its end */
{
    err->code = PAWL_OK;
    err->text[0] = '\0';
}
pawl_code failv(pawl_err *err, pawl_code code, const char *fmt, va_list args) PAWL_PRINTF(3, 0);
/* Append the name in `names` (n of them) nearest to `name`, as ` (did you mean "x"?)`, to
 * `out` of `size` bytes; an empty text when none is near. Returns `out`. */
const char *did_you_mean(char *out, size_t size, const char *name, const char *const *names, size_t n);

/* ---- mem.c: the caller's allocator, or malloc ------------------------------------------ */

pawl_alloc mem_or_default(const pawl_alloc *alloc);     /* NULL: realloc and free */
void *mem_new(const pawl_alloc *alloc, size_t size);    /* zeroed; NULL: no memory, or size 0 */
void *mem_grow(const pawl_alloc *alloc, void *ptr, size_t old_size, size_t size);
void mem_free(const pawl_alloc *alloc, void *ptr, size_t size); /* ptr may be NULL */
/* memset to 0 and memcpy, called and not unfolded: of a piece whose size gcc knows it makes `rep stos`, which
 * takes longer than the call. For pieces of 64 bytes to some hundred, where time counts. */
void mem_zero(void *to, size_t size);
void mem_copy(void *to, const void *from, size_t size);
/* Make room for one more in a vector: `*cap` items of `item` bytes. False: no memory. */
bool mem_room(const pawl_alloc *alloc, void **items, size_t *cap, size_t count, size_t item);

/* ---- arena.c: bump allocation, given back all at once ---------------------------------- */

typedef struct arena_chunk arena_chunk;
typedef struct arena {
    pawl_alloc alloc;
    arena_chunk *first;     /* kept by arena_reset */
    arena_chunk *last;      /* the one being filled */
    char *at, *end;         /* the free part of `last` */
    size_t chunk_bytes;     /* of the next chunk; doubles up to 1 MiB */
    bool failed;            /* an allocation failed since the last reset */
} arena;

void arena_init(arena *a, const pawl_alloc *alloc, size_t first_bytes); /* allocates nothing yet */
/* Its first bytes are lent: room that is there already, aligned for any type. For what is short and freed soon. */
void arena_init_in(arena *a, const pawl_alloc *alloc, void *room, size_t bytes);
void arena_reset(arena *a);         /* keeps the first chunk, forgets what is in it */
void arena_free(arena *a);
void *arena_slow(arena *a, size_t size);
bool arena_owns(const arena *a, const void *ptr);
char *arena_strdup(arena *a, const char *text, size_t size); /* NUL appended */
bool arena_widen(arena *a, void **items, size_t *cap, size_t count, size_t item);

/* Room for one more in a vector that lives in the arena; the old one is left behind. False: no memory. */
static inline bool arena_room(arena *a, void **items, size_t *cap, size_t count, size_t item)
{
    return count < *cap || arena_widen(a, items, cap, count, item);
}

/* `size` bytes aligned to ALIGN, not zeroed; NULL when there is no memory (and a->failed). */
static inline void *arena_get(arena *a, size_t size)
{
    if (size - 1 >= (size_t)(a->end - a->at)) /* 0 goes there too; both ends are aligned */
        return arena_slow(a, size);
    void *p = a->at;
    a->at += (size + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
    return p;
}
static inline void *arena_zero(arena *a, size_t size)
{
    void *p = arena_get(a, size);

    if (p != NULL)
        mem_zero(p, size);
    return p;
}

/* ---- buf.c: bytes that grow -------------------------------------------------------------- */

typedef struct buf {
    pawl_alloc alloc;
    char *data;
    size_t size, cap;
    bool failed;            /* sticky: what was written since is lost; check once, at the end */
} buf;

void buf_init(buf *b, const pawl_alloc *alloc);
void buf_free(buf *b);
bool buf_room(buf *b, size_t more);             /* make room for `more`; false: failed is set */
void buf_put(buf *b, const void *data, size_t size);
void buf_text(buf *b, const char *text);
void buf_int(buf *b, int64_t n);
void buf_digits(buf *b, uint64_t n);
void buf_fmt(buf *b, const char *fmt, ...) PAWL_PRINTF(2, 3); /* no floating point in `fmt` */
void buf_fmtv(buf *b, const char *fmt, va_list args) PAWL_PRINTF(2, 0);
static inline void buf_reset(buf *b) { b->size = 0; b->failed = false; }
static inline void buf_char(buf *b, char c)
{
    if (b->size < b->cap || buf_room(b, 1))
        b->data[b->size++] = c;
}
/* memcpy for the short pieces that names and words are: no call, no loop. */
static inline void text_copy(char *to, const char *from, size_t n)
{
    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        char tail[8];
        memcpy(tail, from + n - 8, 8);
        memcpy(to, from, 8);
        memcpy(to + n - 8, tail, 8);
    } else if (n >= 4) {
        char tail[4];
        memcpy(tail, from + n - 4, 4);
        memcpy(to, from, 4);
        memcpy(to + n - 4, tail, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

enum { UINT_TEXT_MAX = 20 };
size_t uint_text(uint64_t n, char out[UINT_TEXT_MAX]); /* no NUL */

/* A word of the program's own, whose size the compiler knows. */
static inline void buf_word(buf *b, const char *word)
{
    const size_t n = strlen(word);

    if (n > b->cap - b->size && !buf_room(b, n))
        return;
    memcpy(b->data + b->size, word, n);
    b->size += n;
}
static inline void buf_uint(buf *b, uint64_t n)
{
    if (n < 10)
        buf_char(b, (char)('0' + n));
    else
        buf_digits(b, n);
}

/* A pen, for many short pieces in a row: room is made once, each piece returns where the next one begins, and the buffer is
 * told at the end. (Bytes written through a buffer may be its own, for all the compiler knows; it reads it anew each time.) */
static inline char *pen_begin(buf *b, size_t room)      /* NULL: no memory */
{
    return room <= b->cap - b->size || buf_room(b, room) ? b->data + b->size : NULL;
}
static inline void pen_end(buf *b, const char *pen) { b->size = (size_t)(pen - b->data); }
static inline char *pen_word(char *pen, const char *word)
{
    const size_t n = strlen(word);

    memcpy(pen, word, n);
    return pen + n;
}
static inline char *pen_uint(char *pen, uint64_t n)
{
    if (n >= 10)
        return pen + uint_text(n, pen);
    *pen = (char)('0' + n);
    return pen + 1;
}
static inline char *pen_int(char *pen, int64_t n)
{
    if (n < 0)
        *pen++ = '-';
    return pen_uint(pen, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}
static inline char *pen_name(char *pen, const char *name, size_t size) /* in quotes; it needs no escape */
{
    *pen++ = '"';
    text_copy(pen, name, size);
    pen[size] = '"';
    return pen + size + 1;
}

/* ---- hash.c: SHA-256 ----------------------------------------------------------------------- */

enum { HASH_BYTES = 32, HASH_HEX = 64 };
typedef struct hash { uint8_t b[HASH_BYTES]; } hash;

void hash_parts(const pawl_bytes *parts, size_t n, hash *out); /* of the parts, one after another */
void hash_of(const void *data, size_t size, hash *out);
void hash_hex(const hash *h, char out[HASH_HEX + 1]);
bool hash_unhex(const char *text, size_t size, hash *out);  /* false: not 64 lower-case digits */
static inline uint64_t hash_word(const hash *h, size_t i)
{
    uint64_t word;

    memcpy(&word, h->b + i * sizeof word, sizeof word);
    return word;
}
static inline bool hash_equal(const hash *a, const hash *b)
{
    return ((hash_word(a, 0) ^ hash_word(b, 0)) | (hash_word(a, 1) ^ hash_word(b, 1)) |
            (hash_word(a, 2) ^ hash_word(b, 2)) | (hash_word(a, 3) ^ hash_word(b, 3))) == 0;
}

/* ---- number.c: a double as the shortest text that reads back ------------------------------- */

enum { REAL_TEXT_MAX = 32 };
/* Write canonical text of a finite `x` to out, return its length: -0 is "0.0"; always has
 * '.' or 'e', so that it never reads back as an integer. Exact arithmetic, no locale. */
size_t real_text(double x, char out[REAL_TEXT_MAX]);

/* ---- value.c, canon.c, pack.c: JSON -------------------------------------------------------- */
/* A pawl_value is a yyjson_val: 16-byte nodes side by side, a container's members after it;
 * strings elsewhere, each ending in NUL. So copying a value is one memcpy of its nodes. */

static inline const yyjson_val *val_of(const pawl_value *v) { return (const yyjson_val *)(const void *)v; }
static inline const pawl_value *of_val(const yyjson_val *v) { return (const pawl_value *)(const void *)v; }

size_t value_nodes(const pawl_value *v);    /* nodes of the subtree, itself included */
/* Check what yyjson does not: depth, duplicate keys. `what` is named in the error. */
/* Parse strict JSON into the arena. Refused: NaN, bad UTF-8, duplicate keys, more than
 * DEPTH_MAX levels, more than TEXT_BYTES_MAX bytes, anything after the value, NUL in a key. The error
 * names `what` and the byte. NULL: see err (PAWL_INVALID, PAWL_LIMIT or PAWL_NOMEM). */
const pawl_value *value_parse(arena *a, const char *text, size_t size, const char *what, pawl_err *err);
/* The same for what Pawl writes itself, with READ_DEPTH_MAX levels. */
const pawl_value *value_read(arena *a, const char *text, size_t size, const char *what, pawl_err *err);
/* Whether `v` has more than `most` levels; `most` is READ_DEPTH_MAX at most. */
bool value_deeper(const pawl_value *v, size_t most);
/* Whether the members of every object in it stand in the order of canonical JSON. */
bool value_ordered(const pawl_value *v);
/* Copy nodes and strings into the arena. NULL in, or no memory: NULL out. */
const pawl_value *value_copy(arena *a, const pawl_value *v);
/* The bytes value_copy_to needs for `v`, and the copy itself: one block, freed as one. */
size_t value_block_bytes(const pawl_value *v);
const pawl_value *value_copy_to(void *block, const pawl_value *v);

/* `v` with what lies at the JSON pointer `path` replaced. NULL: nothing lies there, no memory, or NULL in. */
const pawl_value *value_splice(arena *a, const pawl_value *v, const char *path, const pawl_value *sub);
/* A node of a value, and what takes its place; `put`: where that came to lie. */
typedef struct value_place { const pawl_value *at, *sub, *put; } value_place;
/* `v` with all of these replaced: they stand in the order of their nodes, none inside another. NULL: no memory. */
const pawl_value *value_fill(arena *a, const pawl_value *v, value_place *places, size_t n);
/* `object` with a member set (in its place, or at the end); `array` with one element more. Shares strings; NULL flows. */
const pawl_value *value_with(arena *a, const pawl_value *object, const char *key, const pawl_value *v);
const pawl_value *value_push(arena *a, const pawl_value *array, const pawl_value *v);
/* What an option of a question stands for: the "value" of an object that has one, or itself. NULL in, NULL out. */
const pawl_value *value_option(const pawl_value *option);
/* Whether `v` is what one of `options` stands for. */
bool value_one_of(const pawl_value *options, const pawl_value *v);

/* One-node values, in the arena. */
const pawl_value *value_null(arena *a);
const pawl_value *value_bool(arena *a, bool b);
const pawl_value *value_int(arena *a, int64_t n);
const pawl_value *value_uint(arena *a, uint64_t n);
const pawl_value *value_real(arena *a, double x);   /* NaN and infinities: NULL */
/* The text is copied; bad UTF-8 or NULL text: NULL. */
const pawl_value *value_string(arena *a, const char *text, size_t size);
bool utf8_valid(const char *text, size_t size);

/* Append canonical JSON (semantics K2): keys by bytes, no spaces, minimal escapes (quote, backslash, and
 * control characters: \b \t \n \f \r, else \u00xx in lower case), integers as digits,
 * reals by real_text. Never fails but for memory (b->failed). */
void canon(buf *b, const pawl_value *v);
void canon_string(buf *b, const char *text, size_t size);

/* What is not inline in a value: `node` of the tree stands for something kept elsewhere (K3). */
typedef struct value_ref {
    const pawl_value *node;     /* by address */
    const char *form;           /* "event", "channel", "blob", "secret" */
    const char *target;         /* what the form means by it; JSON string content */
    const char *digest;         /* hex, or NULL: none is stored */
} value_ref;
/* As canon, with null where a node of `refs` stands; for each of those one element
 * `[path,form,target]` or `[path,form,target,digest]` is appended to `list` (comma separated, no brackets
 * around all, in order of the written text). Only nodes with NODE_REF set in their tag are looked up. */
void canon_refs(buf *b, const pawl_value *v, const value_ref *refs, size_t n, buf *list);
/* The same with paths that begin with `prefix`, which needs no escape. */
void canon_refs_below(buf *b, const pawl_value *v, const value_ref *refs, size_t n, buf *list, const char *prefix);
enum { NODE_REF = 0x80 };       /* a bit of the tag that yyjson leaves alone; only on strings, containers, null */

/* Build a value in the arena from a format: { } [ ] with ',' and ':' and blanks as in JSON, and
 *   s  const char * (NULL: the whole is NULL)   i  int64_t     u  uint64_t    f  double
 *   b  int (a truth)    n  null     v  const pawl_value * (copied nodes; NULL: the whole is NULL)
 *   j  const char *, JSON text
 * Keys are s. A bad format or bad UTF-8 is an error, told once in `err`. Refs on nodes copied by `v` are told
 * to `on_copy` (may be NULL): (ctx, source root, copied root). */
typedef void pack_copied_fn(void *ctx, const pawl_value *from, const pawl_value *to);
const pawl_value *value_packv(arena *a, pack_copied_fn *on_copy, void *ctx, pawl_err *err, const char *fmt, va_list args);
const pawl_value *value_pack(arena *a, pawl_err *err, const char *fmt, ...);

/* ---- scan.c: canonical text, read where it stands ---------------------------------------------- */
/* The first thing that is not as canon() writes it ends the scan: `at` stands at the end, where there is a NUL, and
 * whatever is asked for next is not there. So it is enough to look at `wrong` once, at the end. */

typedef struct scan {
    arena *a;
    char *at;                   /* in a copy of the text, */
    char *from, *end;           /* which begins here and ends in NUL there */
    const char *text;           /* the text itself, which stays as it is */
    size_t size, depth;
    yyjson_val *nodes;          /* room for values; the one that is read began at `start` */
    size_t start, used, cap;
    const char *wrong;          /* where it ended too soon, or memory did; NULL: nowhere */
} scan;
typedef struct scan_text { const char *text; size_t size; bool plain; } scan_text; /* plain: without an escape */

bool scan_begin(scan *s, arena *a, const char *text, size_t size);  /* false: no memory, and nothing else may be called */
bool scan_wrong(scan *s);       /* what stands here should not; false */
/* Tells what was wrong, as value_read() of the whole text would: PAWL_CORRUPT or PAWL_NOMEM. */
pawl_code scan_fails(const scan *s, const char *what, pawl_err *err);
bool scan_open(scan *s, char bracket);
bool scan_close(scan *s, char bracket);
bool scan_string(scan *s, scan_text *out);
bool scan_int(scan *s, bool *below, uint64_t *n);   /* n, or -n when it is below 0 */
const pawl_value *scan_value(scan *s);          /* NULL: wrong */
/* The digits of a number at p, as they should be; text that goes on with something else. NULL: no number below 2^64. */
const char *digits_read(const char *p, uint64_t *n);
static inline bool scan_due(scan *s, char c)
{
    if (*s->at != c)
        return scan_wrong(s);
    s->at++;
    return true;
}
/* Whether the array or object that is open has an element more; and the way to it. */
static inline bool scan_left(const scan *s) { return *s->at != ']' && *s->at != '}' && *s->at != '\0'; }
static inline bool scan_next(scan *s) { return s->at[-1] == '[' || s->at[-1] == '{' || scan_due(s, ','); }

/* ---- schema.c: JSON Schema, the keywords of X3 ------------------------------------------------ */

/* PAWL_OK, or PAWL_INVALID naming `what`, the place in it and what is due there. Keywords: type, enum, const,
 * properties, required, additionalProperties, items, minimum, maximum, exclusiveMinimum, exclusiveMaximum,
 * multipleOf, minLength, maxLength, minItems, maxItems, uniqueItems, anyOf, oneOf, allOf, not, $ref into #/$defs or
 * #/definitions; other keywords are not looked at here. `schema` true accepts all, false nothing. */
pawl_code schema_check(const pawl_value *schema, const pawl_value *v, const char *what, pawl_err *err);
/* Whether every keyword is one of those (and annotations: title, description, default, examples, $schema, $id,
 * $comment, format, $defs, definitions), and well formed: for our own files. */
pawl_code schema_known(const pawl_value *schema, const char *what, pawl_err *err);

/* ---- sm.c: a state machine is a table ------------------------------------------------------- */

typedef struct sm_row {
    const char *name;
    uint64_t to;                /* a bit for each state that may come next */
    unsigned flags;             /* SM_FIRST, SM_LAST */
} sm_row;
enum { SM_FIRST = 1, SM_LAST = 2 };
#define SM_TO(state) (UINT64_C(1) << (state))
typedef struct sm_table {
    const char *name;
    const sm_row *rows;
    size_t count;
} sm_table;
bool sm_may(const sm_table *t, unsigned from, unsigned to);

#endif
