/* regexp.h - regular expressions that one pass decides: JavaScript's syntax without lookaround and back references.
 *
 * All alternatives are followed side by side, so the time is the length of the text times the size of the expression, whatever both are. Pure, any thread. */
#ifndef BASE_REGEXP_H
#define BASE_REGEXP_H

#include "base/base.h"

enum { RE_INSTS = 1000, RE_SETS = 48 };

typedef struct re_inst { uint8_t op, c; uint16_t x, y; } re_inst;
typedef struct re_set { uint8_t bits[32]; } re_set;
typedef struct re_program {
    re_inst insts[RE_INSTS];
    re_set sets[RE_SETS];
    size_t n, nsets;
    const char *at, *why;       /* what is read; what is wrong with it */
    int depth;
    bool characters;            /* `.` and [^a] match a character of UTF-8, not a byte */
    bool icase;                 /* ASCII letters match in both cases */
    bool lines;                 /* `.` matches line ends, too; ^ and $ match at each line */
} re_program;

enum { RE_AS_CHARACTERS = 1, RE_AS_ICASE = 2, RE_AS_LINES = 4 };       /* the members of these names */

/* False: *why, a static text, says what it cannot read. */
bool re_compile(re_program *p, const char *pattern, bool characters, const char **why);
bool re_compile_as(re_program *p, const char *pattern, unsigned flags, const char **why);
/* Whether it matches any part of the text, which ends in a NUL that is not counted. */
bool re_found(const re_program *p, const char *text, size_t size);

typedef struct re_span { size_t begin, end; } re_span;
typedef bool re_stop_fn(void *ctx);     /* asked now and then; true: give up */
/* The first match that begins at `from` or behind it: of those the leftmost, and by the order of alternatives and of greedy and lazy repetitions the one that
 * a backtracking matcher finds. False: none, or `stop` (may be NULL) said so. */
bool re_find(const re_program *p, const char *text, size_t size, size_t from, re_stop_fn *stop, void *ctx, re_span *out);

#endif
