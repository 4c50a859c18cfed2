/* attempt.h - the functions of this folder for one entry: its attempts, their limits and counts, its receipt.
 *
 * Private to src/engine/command. Called on the driving thread, without a lock, unless a comment says otherwise. */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include "engine/command/entry.h"

/* ---- limits.c ---------------------------------------------------------------------------------------------------- */

bool entry_is_in_doubt(const outbox_entry *entry);      /* its outcome is unknown, and it must not start again: class once, or the last attempt (E5, E7) */
bool entry_has_expired(const outbox_entry *entry, int64_t now);         /* its total_timeout_ms has passed between two attempts */
const char *limit_over(const outbox_entry *entry, int64_t now);         /* the limit that its attempt has exceeded; NULL: none */
/* The limit that an attempt reaches first, and the time left; NULL and 0: none. */
const char *nearest_limit(const pawl_limits *l, int64_t gone, int64_t *left);
bool is_retryable(pawl_code code);

/* ---- attempt_count.c: what the store knows of the number of attempts (E13) ----------------------------------- */

bool attempt_is_counted(const outbox_entry *entry);     /* the store counts each attempt of this entry */
pawl_code counts_read(pawl_engine *e, cached_run *r, pawl_err *err);    /* after another engine had the lease */
bool counts_wait_for_lines(const pawl_engine *e, const cached_run *r);  /* an entry must be counted, but the lines with its command are not stored yet */
pawl_code counts_store(pawl_engine *e, cached_run *r, int64_t now, pawl_err *err);      /* of all entries in ENTRY_LEAVING, in one transaction */
pawl_code backoffs_store(pawl_engine *e, cached_run *r, pawl_err *err); /* back-offs, and counts that are taken back */

/* ---- retry.c: attempts over a limit, and the next attempt -------------------------------------------------------- */

/* fails an attempt that has exceeded a limit; its effect may have happened (E8) */
void attempt_limits_check(pawl_engine *e, outbox_entry *entry, int64_t now);
void outbox_watch(pawl_engine *e, cached_run *r, int64_t now);  /* stops attempts that have exceeded a limit */
bool entry_retry(const pawl_engine *e, outbox_entry *entry, int64_t now);       /* true: the entry waits for another attempt */
bool entry_goes_on(const pawl_engine *e, outbox_entry *entry, int64_t now);     /* the same, for a further attempt that its handler asked for */

/* ---- run_rules.c ------------------------------------------------------------------------------------------------- */

pawl_code entry_rules_set(pawl_engine *e, outbox_entry *entry, pawl_err *err);         /* sets the job's policy to the current rules of its run. PAWL_NOMEM */
void entry_rules_drop(pawl_engine *e, outbox_entry *entry);

/* ---- approvals.c ------------------------------------------------------------------------------------------------- */

/* Reads the signatures again with which it was approved (P11); its arguments are there. True: they do not count any more, and it has ended with its receipt.
 * *rc: PAWL_NOMEM */
bool approval_ends(pawl_engine *e, outbox_entry *entry, pawl_code *rc, pawl_err *err);

/* ---- attempt.c --------------------------------------------------------------------------------------------------- */

void attempt_start(pawl_engine *e, outbox_entry *entry, int64_t now);   /* ENTRY_LEAVING to ENTRY_RUNNING */
pawl_code attempt_run(outbox_entry *entry);     /* any thread: calls the handler and returns its result */

/* ---- completions.c: answers that come later (E17) -------------------------------------------------------------- */

pawl_code job_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx);
pawl_code job_say(const pawl_job *job, const char *name, const char *text);      /* output.c: this and the next on the handler's thread */
pawl_code job_delta(const pawl_job *job, const pawl_delta *delta);
void job_finish(const pawl_job *job, pawl_code code);
pawl_code attempt_code(outbox_entry *entry, pawl_code rc);      /* a code above 0 is not a valid result */
/* After the handler returned. False: it answers later, so another thread may own the entry already. */
bool attempt_returned(pawl_engine *e, outbox_entry *entry, pawl_code rc);
void later_stop(outbox_entry *entry);           /* calls the stop function of its job, once */
bool later_unheld(outbox_entry *entry);         /* it is pending without a stop function: no handler can be told to stop */
bool later_drop(outbox_entry *entry);           /* true: it was pending without a stop function, and may be freed */
void later_unlist(outbox_entry *entry);         /* the id now belongs to the next attempt */

/* ---- outlive.c: on the handler's thread ------------------------------------------------------------------------- */

pawl_code job_outlive(const pawl_job *job, pawl_end_fn *end, void *ctx);

/* ---- further.c: attempts that a handler asks for itself ------------------------------------------------------------ */

pawl_code job_again(const pawl_job *job, void *kept, pawl_drop_fn *drop);       /* on the handler's thread */
bool further_begin(outbox_entry *entry, int64_t now);   /* true: its attempt asked for a further one, and it waits for that */
void further_drop(outbox_entry *entry);                 /* frees what its handler has kept */

/* ---- resolve_unknown.c ------------------------------------------------------------------------------------------ */

bool resolve_begin(pawl_engine *e, outbox_entry *entry);        /* true: it will perform `on_unknown`; false: it has no such effect */
bool resolve_end(pawl_engine *e, outbox_entry *entry);          /* true: its outcome is settled; false: it waits for another attempt */
const char *resolve_origin(const outbox_entry *entry, pawl_limits *limits, uint32_t *attempt);  /* the effect of its command */

/* ---- rate_limit.c ----------------------------------------------------------------------------------------------- */

pawl_code budget_enter(pawl_engine *e, outbox_entry *entry);    /* ENTRY_READY to ENTRY_QUEUED, or to ENTRY_GRANTED without a budget. PAWL_NOMEM */
void budget_started(pawl_engine *e, outbox_entry *entry);       /* its attempt starts, with its place if it has one */
void budget_leave(pawl_engine *e, outbox_entry *entry);         /* releases its place, or leaves the queue */
int64_t budget_guess(const outbox_entry *entry, int64_t now);   /* estimated time of the turn of a queued entry */
bool had_to_wait(const outbox_entry *entry);

/* ---- charge.c: the budget of the run before an attempt leaves (A9) ------------------------------------------------ */

/* True: no further attempt has room in the budget; entry->rc and its reply say why. Notes whether its attempts are charged. */
bool charge_is_refused(outbox_entry *entry, int64_t now);
void charge_unbilled(const outbox_entry *entry);        /* it ends without a cost in a receipt: what it cost beyond its reservation is kept for the next */
uint32_t attempts_unseen(const outbox_entry *entry);    /* attempts of an earlier holder, or given up: their cost is not known here */

/* ---- cost.c ----------------------------------------------------------------------------------------------------- */

void cost_add(outbox_entry *entry);             /* adds the cost of the attempt that returned */
void cost_take_back(outbox_entry *entry);       /* the attempt never happened */
void cost_report(outbox_entry *entry);          /* puts the cost into its receipt */
void cost_report_none(outbox_entry *entry);     /* of a child that could not start */
void cost_report_unbegun(outbox_entry *entry);  /* of a call of which no attempt was begun */

/* ---- receipts.c ------------------------------------------------------------------------------------------------- */

void reply_check(pawl_engine *e, outbox_entry *entry);          /* a reply that is not JSON is an error of the handler */
void reply_limit(const pawl_engine *e, outbox_entry *entry);    /* a reply that is too large is an error */
void receipt_make(pawl_engine *e, outbox_entry *entry);         /* to ENTRY_DONE, unless its outcome can be found out */

/* ---- collect.c -------------------------------------------------------------------------------------------------- */

void entry_returned(pawl_engine *e, outbox_entry *entry);       /* its attempt returned: to ENTRY_DONE, or to wait for the next attempt */

/* ---- receipt_feed.c --------------------------------------------------------------------------------------------- */

pawl_code receipts_feed(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);
/* to ENTRY_FED. PAWL_IGNORED, PAWL_INVALID: its command is not open */
pawl_code receipt_feed(pawl_engine *e, cached_run *r, outbox_entry *entry, pawl_err *err);

/* ---- cancel.c --------------------------------------------------------------------------------------------------- */

/* No further attempt starts; a running one ends in its own receipt, and a child in its own end, unless `wait` is false (E10). */
void outbox_cancel(pawl_engine *e, cached_run *r, bool wait);
/* gives up attempts that were stopped at least grace_ms ago; true: an attempt was given up, or returned */
bool outbox_give_up(pawl_engine *e, cached_run *r, int64_t grace_ms);

#endif
