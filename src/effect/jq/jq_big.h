/* jq_big.h - integers that a double does not hold, on their way through libjq.
 *
 * jq's numbers are doubles. Such an integer goes in as a signaling NaN that stands for it: jq carries it about as any number, and comes
 * out with the same one, which is put back to digits. Whatever else is done to it (arithmetic, an order, equality, making a text of it)
 * takes a floating-point operation, and each of those raises the flag "invalid", as IEEE 754 has it. No expression can lower the flag.
 * So a value either passed through or the flag is up, and then nothing is given. Its sign is the NaN's: jq takes it off and turns it
 * round without looking at the rest, and that is right. */
#ifndef CLI_JQ_BIG_H
#define CLI_JQ_BIG_H

#include "json/json.h"

#include <jq.h>

/* What of libjq is used; it is opened when the child begins. */
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
    uint64_t *of;               /* what they are without their signs, each once, in order */
    size_t n;                   /* 0: none, and nothing is watched */
    size_t cap;
} jq_bigs;

typedef enum jq_text {
    JQ_TEXT_WHOLE,
    JQ_TEXT_CHANGED,            /* a NaN that stands for an integer was made another */
    JQ_TEXT_DEEP                /* more than DEPTH_MAX levels */
} jq_text;

/* Those of `v`, in place of what it has. False: no memory. */
bool jq_bigs_of(jq_bigs *b, const pawl_value *v);
/* `v` as jq has it, NaNs in it for those of `b`. */
jv jq_bigs_value(const jq_bigs *b, const jq_api *api, const pawl_value *v);
/* Lower the flag; was it raised since? */
void jq_bigs_watch(void);
bool jq_bigs_touched(const jq_bigs *b);
/* Append `v`, which it takes, as JSON text. */
jq_text jq_bigs_text(const jq_bigs *b, const jq_api *api, jv v, buf *out);

#endif
