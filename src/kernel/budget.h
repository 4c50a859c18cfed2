/* budget.h - the ledger of a run: caps, used amounts, and amounts reserved for open commands (A8).
 *
 * The ledger is part of the state and changes only by folds, inside a transaction: the fold of a command reserves, the fold of its receipt
 * settles, an update of the channel @budget sets caps. The ledger needs no item of its own. `reserved` covers open commands, and commands whose
 * real cost will never be known. A run without a budget has no ledger. Invariants: reserved >= 0; a receipt releases no more than its
 * command reserved. */
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
    int64_t since_ms;           /* start of the run, from which cap_ms counts; 0: the run has not started */
    bool over;                  /* a receipt cost more than its command reserved: no further command is issued until @budget is updated */
    bool share;                 /* the caps are a share of the parent run's budget, so an update of this run cannot raise them */
} ledger;

/* PAWL_LIMIT when the reservations exceed a cap. Asked after the fold of a command that was issued outside a visit, where no node can
 * receive a refusal; the caller then rolls the event back. */
pawl_code budget_check_caps(const pawl_state *st, pawl_err *err);

/* The folds. The caller checks st->budget first, except for budget_update(), which can create the ledger. */
pawl_code budget_reserve(pawl_state *st, const struct item *it, pawl_err *err);
pawl_code budget_settle(pawl_state *st, const struct call *c, pawl_outcome outcome, const pawl_value *more, pawl_err *err);
/* Removes the member @budget from the update *v; the remaining members go to channels. Caps that the member does not name stay unchanged. */
pawl_code budget_update(pawl_state *st, const pawl_value **v, pawl_err *err);
pawl_code budget_starts(pawl_state *st, int64_t time_ms);
/* The cost members of a receipt item, {"overdraft","usage"}; NULL: no memory. */
const pawl_value *budget_bill(pawl_step *s, const struct call *c, pawl_outcome outcome, const pawl_value *usage);

/* Creates the ledger of a new run, in a transaction; `share`: the caps come from the parent run. All caps 0: no ledger. */
pawl_code budget_begin(pawl_state *st, const pawl_caps *caps, bool share);
void budget_code(buf *b, const ledger *l, bool fork);   /* the ledger as a member of a stored state; a fork gets no reservations (K10) */
/* Reads a stored ledger. *whole: the text has the reserved amounts; else the caller reserves for the open commands. `since_ms`: the start
 * time, when the text has none. */
pawl_code budget_read(pawl_state *st, const pawl_value *v, int64_t since_ms, bool *whole, pawl_err *err);

#endif
