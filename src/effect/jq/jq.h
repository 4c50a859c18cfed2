/* jq.h - expressions other than plain paths, evaluated by libjq in a child process with limits.
 *
 * The child is this program again (`/proc/self/exe`, argv[1] "@jq"); only the child opens libjq. It is started when it is first needed, and again after
 * it was killed. Any thread may call; one request is answered at a time. */
#ifndef EFFECT_JQ_H
#define EFFECT_JQ_H

#include "json/json.h"

enum {
    JQ_EVALUATE_MS = 5000,              /* of one evaluation, and of compiling */
    JQ_BYTES_MAX = 512 << 20,           /* memory of the child */
    JQ_OUTPUT_BYTES_MAX = 16 << 20      /* result of one evaluation */
};

typedef struct jq jq;

/* For all expressions of a file (copied). Starts nothing. NULL: no memory. */
jq *jq_open(const char *const *texts, size_t n);
void jq_close(jq *q);           /* NULL: nothing */
/* The program that is the child, in place of /proc/self/exe: for tests. Lent. */
void jq_program(jq *q, const char *path);
/* Replace JQ_EVALUATE_MS and JQ_BYTES_MAX, before the first request: for tests. */
void jq_limits(jq *q, int64_t evaluate_ms, uint64_t bytes);

/* Compile them as one program; if that is refused, by halves, and `tell` (which must not use `q`) is called for each wrong one, in order. PAWL_OK;
 * PAWL_INVALID: some are wrong, err has the first; PAWL_IO: there is no libjq (err says how to get it), or no child. */
typedef void jq_warn_fn(void *ctx, size_t index, const char *text);
pawl_code jq_check(jq *q, jq_warn_fn *tell, void *ctx, pawl_err *err);
/* Evaluate expressions `which` with `input`, JSON text, as `.`; appends an array of their values to `out`, as JSON text. An integer of the
 * input beyond 2^53 that an expression passes on comes out as it was. PAWL_EFFECT: err names the expression: it failed, gave not exactly
 * one value, a value too large, did more with such an integer than to pass it on (err has the path of the first in the input), or the child
 * was killed for time or memory. PAWL_IO as above. */
pawl_code jq_evaluate(jq *q, const uint32_t *which, size_t n, pawl_bytes input, buf *out, pawl_err *err);
/* The evaluator's name for the machine's hash: "jq-1.6"; "" if there is none. Lives as long as `q`. */
const char *jq_engine(jq *q, pawl_err *err);

/* The child's main: called by the program when argv[1] is "@jq". */
int jq_child(void);

#endif
