/* jq_wire.h - the frames between the two sides of an evaluation, over a socket between the program and its child.
 *
 * Each frame to the child is answered before the next one is sent; if the child ends without an answer, the open request is to blame. */
#ifndef EFFECT_JQ_WIRE_H
#define EFFECT_JQ_WIRE_H

#include "json/json.h"

enum {
    JQ_FD = 0,                  /* of the child: its end of the socket */
    JQ_ENDS_FULL = 3            /* exit code of the child when it has no memory left */
};

#define JQ_EXACT_MAX (UINT64_C(1) << 53)        /* a double holds all integers up to this one */

typedef enum jq_verb {
    JQ_BEGIN = 1,               /* a jq_begin. Answer JQ_HELLO: the evaluator; "": no libjq */
    JQ_COMPILE = 2,             /* texts, each followed by a NUL. Answer JQ_DONE; JQ_WRONG: the reason, or "" if there are several texts */
    JQ_RUN = 3,                 /* a count, 1 if the JSON has integers beyond JQ_EXACT_MAX, indices of texts, JSON. Answer: see JQ_VALUE */
    JQ_HELLO = 4,
    JQ_DONE = 5,
    JQ_VALUE = 6,               /* JSON, one for each index; the first JQ_WRONG or JQ_TOUCHED ends the answer */
    JQ_WRONG = 7,               /* a text */
    JQ_TOUCHED = 8              /* the expression did more with one of those integers than to pass it on */
} jq_verb;

typedef struct jq_head { uint32_t verb, size; } jq_head;        /* followed by `size` bytes */
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
