/* schema_parts.h - numbers and patterns of JSON Schema, for schema.c. */
#ifndef JSON_SCHEMA_PARTS_H
#define JSON_SCHEMA_PARTS_H

#include "json/json.h"

enum { SCHEMA_LESS = 1, SCHEMA_SAME = 2, SCHEMA_MORE = 4 }; /* results of comparing with a bound */

typedef struct schema_number { /* sign * (whole + rest); from 2^64 on all of it is in `rest` */
    int sign;
    uint64_t whole;
    double rest;
} schema_number;

typedef struct schema_decimal { /* digits * 10^power */
    uint64_t digits;
    int power;
} schema_decimal;

bool schema_is_number(const pawl_value *v);
schema_number schema_number_of(const pawl_value *v);
unsigned schema_order(schema_number a, schema_number b);
bool schema_is_whole(const pawl_value *v);
schema_decimal schema_decimal_of(const pawl_value *v);
bool schema_is_multiple(schema_decimal a, schema_decimal of);

/* What is wrong with it, a static text; NULL: it is read. */
const char *schema_pattern_error(const pawl_value *pattern);
/* Whether it matches a part of the string; true also for a pattern that is not read here. *steps: what that takes; above `most` it is not tried. */
bool schema_pattern_found(const pawl_value *pattern, const pawl_value *v, size_t most, size_t *steps);

#endif
