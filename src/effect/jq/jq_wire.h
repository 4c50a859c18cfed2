/* jq_wire.h - what the two sides of an evaluation say to each other: frames, over a socket between a program and itself.
 *
 * Each frame to the child has an answer before the next one is sent; who ends without an answer is named by the question. */
#ifndef CLI_JQ_WIRE_H
#define CLI_JQ_WIRE_H

#include "json/json.h"

enum {
    JQ_FD = 0,                  /* of the child: its end of the socket */
    JQ_ENDS_FULL = 3            /* the child's exit code when it has no memory left */
};

#define JQ_EXACT_MAX (UINT64_C(1) << 53)        /* a double holds all integers up to it */

typedef enum jq_verb {
    JQ_BEGIN = 1,               /* a jq_begin. JQ_HELLO: what evaluates; "": no libjq */
    JQ_COMPILE = 2,             /* texts, a NUL behind each. JQ_DONE; JQ_WRONG: why, or "" when there are several */
    JQ_RUN = 3,                 /* a count, 1 if integers beyond JQ_EXACT_MAX stand in the JSON, as many numbers of texts, JSON. For each
                                 * number JQ_VALUE; the first JQ_WRONG or JQ_TOUCHED ends it */
    JQ_HELLO = 4,
    JQ_DONE = 5,
    JQ_VALUE = 6,               /* JSON */
    JQ_WRONG = 7,               /* words */
    JQ_TOUCHED = 8              /* more was done with one of those integers than to pass it on */
} jq_verb;

typedef struct jq_head { uint32_t verb, size; } jq_head;        /* then `size` bytes */
typedef struct jq_begin { uint64_t bytes, output_bytes, evaluate_ms; } jq_begin;

static inline void jq_frame_begin(buf *b, jq_verb verb)
{
    const jq_head head = { (uint32_t)verb, 0 };

    buf_reset(b);
    buf_put(b, &head, sizeof head);
}
/* False: no memory. */
static inline bool jq_frame_end(buf *b)
{
    if (b->failed || b->size - sizeof(jq_head) > UINT32_MAX)
        return false;
    uint32_t size = (uint32_t)(b->size - sizeof(jq_head));
    memcpy(b->data + offsetof(jq_head, size), &size, sizeof size);
    return true;
}

#endif
