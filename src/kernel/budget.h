/* budget.h - what a run may spend, has spent, and has set aside for what is open (A8).
 *
 * The ledger is a part of the state, changed by nothing but items: a command reserves as it is folded, its receipt settles, an
 * update of the channel @budget moves the caps. So it stands in no item of its own. Reserved is what open commands may
 * cost, and what those cost of which nobody will ever know. A run without a budget has no ledger. */
#ifndef KERNEL_BUDGET_H
#define KERNEL_BUDGET_H

#include "kernel/cost.h"
#include "pawl/kernel.h"

struct call;
struct item;
struct txn;

#define BUDGET_CHANNEL "@budget"

typedef struct ledger {
    amounts cap;                /* 0: none */
    int64_t cap_ms;             /* 0: none */
    amounts used, reserved;
    int64_t since_ms;           /* 0: it has not begun */
    bool over;                  /* a bill was above what was reserved for it */
    bool share;                 /* of its parent's: it is not raised here */
} ledger;

/* After a command that nobody could be told of was reserved: PAWL_LIMIT, and it may not stay so. */
pawl_code budget_holds(const pawl_state *st, pawl_err *err);

/* The folds; none is asked without a ledger, but for the update. */
pawl_code budget_reserve(pawl_state *st, const struct item *it, pawl_err *err);
pawl_code budget_settle(pawl_state *st, const struct call *c, pawl_outcome outcome, const pawl_value *more, pawl_err *err);
/* *v: what of it is for channels. Those that said nothing of a budget stay as they are. */
pawl_code budget_update(pawl_state *st, const pawl_value **v, pawl_err *err);
pawl_code budget_starts(pawl_state *st, int64_t time_ms);
/* What a receipt says of its cost: {"overdraft","usage"}; NULL: no memory. */
const pawl_value *budget_bill(pawl_step *s, const struct call *c, pawl_outcome outcome, const pawl_value *usage);

/* Made with a run, in a transaction; `share`: by its parent. All 0: none is made. */
pawl_code budget_begin(pawl_state *st, const pawl_caps *caps, bool share);
void budget_code(buf *b, const ledger *l, bool fork);   /* of a fold: what is reserved does not cross a fork (K10) */
/* *whole: it says what is reserved; else that is what is open. `since`: when it counts from, where it does not say. */
pawl_code budget_read(pawl_state *st, const pawl_value *v, int64_t since_ms, bool *whole, pawl_err *err);

#endif
