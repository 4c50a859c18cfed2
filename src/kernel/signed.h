/* signed.h - waits that name approvers (P11): their signed answers, one by one, until as many have signed as the wait needs.
 *
 * The signatures are checked by src/sign: when an answer is fed, and again when a stored entry is applied. */
#ifndef KERNEL_SIGNED_H
#define KERNEL_SIGNED_H

#include "kernel/item.h"
#include "kernel/step.h"
#include "sign/sign.h"

#include <string.h>

/* Notes at a new call, whose SPEC it has, whether it is a wait that names approvers. PAWL_NOMEM; PAWL_CORRUPT: its SPEC is no JSON. */
pawl_code approvers_note(pawl_state *st, call *c);
/* The id of an item's wait: RUN~LIFE/SUPERSTEP.TASK.VISIT.N. NULL: no memory. */
const char *wait_id_of(arena *a, const pawl_state *st, const item *it);

/* The event's value is a signed answer to `c`, whose item would be `it`. *whole: enough have signed, or it is a no, and *value is what the machine gets;
 * else *value is the signed answer to keep. PAWL_DENIED, PAWL_INVALID; PAWL_CONFLICT: this approver has signed already, or others another answer. */
pawl_code signed_take(pawl_step *s, const call *c, const item *it, bool *whole, const pawl_value **value, pawl_err *err);
/* The item "sign": one more has signed, and the wait stays open. */
pawl_code fold_sign(pawl_state *st, const item *it, pawl_err *err);
/* Whether the item "answer" of a wait that names approvers carries their signatures, or is the default after the deadline. */
pawl_code signed_fold_check(pawl_state *st, const call *c, const item *it, pawl_err *err);
/* *proofs: an array of the proofs with which the open command of that id was approved in its visit; NULL: nobody had to sign. PAWL_DENIED: a signature is
 * not of the wait that it stands at. PAWL_NOMEM. */
pawl_code signed_of_command(pawl_state *st, const char *id, arena *a, const pawl_value **proofs, pawl_err *err);
/* [{"more":{"by","note"?,"update"?},"value":SIGNED ANSWER}...]: who has signed so far; NULL: nobody, or no memory. */
static inline const pawl_value *signed_so_far(arena *a, const call *c)
{
    return c->kind != CALL_ASK || c->signs == NULL ? NULL : value_read(a, c->signs, strlen(c->signs), "signatures", NULL);
}

#endif
