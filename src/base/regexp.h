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
} re_program;

/* False: *why, a static text, says what it cannot read. */
bool re_compile(re_program *p, const char *pattern, bool characters, const char **why);
/* Whether it matches any part of the text, which ends in a NUL that is not counted. */
bool re_found(const re_program *p, const char *text, size_t size);

#endif
