/* cost.h - costs and caps as numbers: read, checked and written as JSON.
 *
 * Pure functions of values: any caller, any thread. */
#ifndef KERNEL_COST_H
#define KERNEL_COST_H

#include "json/json.h"
#include "pawl/kernel.h"

enum { COST_CALLS, COST_MICROS, COST_TOKENS, COSTS };   /* in the order of their names */

typedef struct amounts { int64_t n[COSTS]; } amounts;

extern const char *const cost_names[COSTS];

static inline int64_t cost_plus(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }   /* saturating; both are >= 0 */
static inline int64_t cost_times(int64_t n, int64_t a) { return a > 0 && n > INT64_MAX / a ? INT64_MAX : n * a; }
/* The amounts that a call with these limits reserves; NULL: no limits are declared. */
amounts cost_due(const pawl_limits *l);
amounts share_due(const pawl_caps *share);              /* the amounts that a child with that share reserves */
const char *cost_error(const pawl_cost *c);            /* the error text; NULL: valid */
const char *usage_error(const pawl_value *usage);
const char *receipt_usage_error(const pawl_value *usage);       /* the same for the usage of a receipt, which may also have `unseen` */
const char *caps_error(const pawl_value *caps);
bool caps_none(const pawl_caps *caps);
void caps_read(const pawl_value *v, pawl_caps *caps);
/* Writes the amounts as a JSON object, without those that are 0. */
void amounts_code(buf *b, const amounts *a, int64_t ms);
void share_code(buf *b, const pawl_caps *share);
bool share_of(const pawl_value *spec, pawl_caps *share);        /* false: the spec has no budget */

#endif
