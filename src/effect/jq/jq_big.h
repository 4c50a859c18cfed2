/* jq_big.h - integers that a double cannot hold, on their way through libjq.
 *
 * jq's numbers are doubles. Such an integer is replaced by a signaling NaN: jq moves it like any number and returns the same NaN, which is replaced by
 * its digits. Anything else (arithmetic, order, equality, conversion to text) is a floating-point operation, and raises the flag "invalid" (IEEE 754).
 * No expression can lower the flag. So either a value passed through unchanged, or the flag is up and no value is returned. The sign is that of the NaN:
 * jq may remove and turn it without looking at the rest, which is correct. */
#ifndef EFFECT_JQ_BIG_H
#define EFFECT_JQ_BIG_H

#include "json/json.h"

#include <jq.h>

/* The functions of libjq that are used, resolved when the child starts. */
typedef struct jq_api {
    jq_state *(*init)(void);
    void (*teardown)(jq_state **jq);
    void (*set_error_cb)(jq_state *jq, jq_msg_cb fn, void *ctx);
    int (*compile)(jq_state *jq, const char *text);
    void (*start)(jq_state *jq, jv input, int flags);
    jv (*next)(jq_state *jq);
    void (*set_nomem_handler)(jq_state *jq, jv_nomem_handler_f fn, void *ctx);
    void (*nomem_handler)(jv_nomem_handler_f fn, void *ctx);
    jv (*copy)(jv v);
    void (*free)(jv v);
    jv_kind (*kind)(jv v);
    int (*has_msg)(jv v);
    jv (*get_msg)(jv v);
    jv (*parse)(const char *text, int size);
    jv (*dump)(jv v, int flags);
    const char *(*string)(jv v);
    int (*string_bytes)(jv v);
    jv (*null)(void);
    jv (*new_string)(const char *text);
    jv (*number)(double x);
    jv (*array)(void);
    jv (*append)(jv array, jv v);
    jv (*at)(jv array, int i);
    int (*length)(jv array);
    jv (*sized_string)(const char *text, int size);
    jv (*truth)(int x);
    jv (*object)(void);
    jv (*set)(jv object, jv key, jv v);
    int (*iter)(jv object);
    int (*iter_next)(jv object, int at);
    int (*iter_valid)(jv object, int at);
    jv (*iter_key)(jv object, int at);
    jv (*iter_value)(jv object, int at);
    double (*number_value)(jv v);
} jq_api;

typedef struct jq_bigs {
    uint64_t *of;               /* their absolute values, each once, sorted */
    size_t n;                   /* 0: none, and the flag is not checked */
    size_t cap;
} jq_bigs;

typedef enum jq_text {
    JQ_TEXT_WHOLE,
    JQ_TEXT_CHANGED,            /* a NaN that stands for an integer was changed */
    JQ_TEXT_DEEP                /* more than DEPTH_MAX levels */
} jq_text;

/* Collects those of `v`, replacing the earlier ones. False: no memory. */
bool jq_bigs_of(jq_bigs *b, const pawl_value *v);
/* `v` for jq, with NaNs for the integers in `b`. */
jv jq_bigs_value(const jq_bigs *b, const jq_api *api, const pawl_value *v);
/* Lowers the flag; whether it was raised since. */
void jq_bigs_watch(void);
bool jq_bigs_touched(const jq_bigs *b);
/* Append `v`, which it takes, as JSON text. */
jq_text jq_bigs_text(const jq_bigs *b, const jq_api *api, jv v, buf *out);

#endif
