/* attempt.h - what the files of this folder do with an entry: its attempts, their limits and number, and what they came to.
 *
 * All of it is called on the driving thread, without a lock, unless said. */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include "engine/command/entry.h"

/* ---- limits.c ---------------------------------------------------------------------------------------------------- */

bool entry_is_in_doubt(const outbox_entry *entry);      /* and it must not be begun again: of class once, or that was the last attempt (E5, E7) */
bool entry_has_expired(const outbox_entry *entry, int64_t now);         /* between two attempts its total_timeout_ms ran out */
const char *limit_over(const outbox_entry *entry, int64_t now);         /* the limit that its attempt is over; NULL: none */
/* The limit that an attempt meets first, and what is left of it; NULL: none, and 0. */
const char *nearest_limit(const pawl_limits *l, int64_t gone, int64_t *left);
bool is_retryable(pawl_code code);

/* ---- attempt_count.c: what the store knows of the number of attempts (E13) ----------------------------------- */

bool attempt_is_counted(const outbox_entry *entry);     /* the store is to know of each attempt of it */
pawl_code counts_read(pawl_engine *e, cached_run *r, pawl_err *err);    /* after another engine held the run */
bool counts_wait_for_lines(const pawl_engine *e, const cached_run *r);  /* one is to be counted, and the lines that hold its command are only folded */
pawl_code counts_store(pawl_engine *e, cached_run *r, int64_t now, pawl_err *err);      /* of all in ENTRY_LEAVING, together */
pawl_code backoffs_store(pawl_engine *e, cached_run *r, pawl_err *err); /* and counts that are taken back */

/* ---- retry.c: attempts over a limit, and the next attempt -------------------------------------------------------- */

/* an attempt over a limit has failed, though its effect may have happened (E8) */
void attempt_limits_check(pawl_engine *e, outbox_entry *entry, int64_t now);
void outbox_watch(pawl_engine *e, cached_run *r, int64_t now);  /* attempts over a limit are stopped */
bool entry_retry(const pawl_engine *e, outbox_entry *entry, int64_t now);       /* true: it waits for another attempt */

/* ---- attempt.c --------------------------------------------------------------------------------------------------- */

void attempt_start(pawl_engine *e, outbox_entry *entry, int64_t now);   /* ENTRY_LEAVING to ENTRY_RUNNING */
pawl_code attempt_run(outbox_entry *entry);     /* on any thread: what its handler returned */

/* ---- completions.c: answers that come later (E17) -------------------------------------------------------------- */

pawl_code job_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx);
pawl_code job_say(const pawl_job *job, const char *name, const char *text);      /* say.c: both on the thread of its handler */
pawl_code job_delta(const pawl_job *job, const pawl_delta *delta);
void job_finish(const pawl_job *job, pawl_code code);
pawl_code attempt_code(outbox_entry *entry, pawl_code rc);      /* a code above 0 is no result */
/* With what its handler returned; false: it answers later, and may be anybody's by now. */
bool attempt_returned(pawl_engine *e, outbox_entry *entry, pawl_code rc);
void later_stop(outbox_entry *entry);           /* calls the stop function of its job, once */
bool later_drop(outbox_entry *entry);           /* true: it was pending, its job is held nowhere, and it may be freed */
void later_unlist(outbox_entry *entry);         /* its id is the next attempt's */

/* ---- resolve_unknown.c ------------------------------------------------------------------------------------------ */

bool resolve_begin(pawl_engine *e, outbox_entry *entry);        /* true: it waits to perform `on_unknown`; false: it has no such effect */
bool resolve_end(pawl_engine *e, outbox_entry *entry);          /* true: its outcome is settled; false: it waits for another attempt */
const char *resolve_origin(const outbox_entry *entry, pawl_limits *limits, uint32_t *attempt);  /* the effect of its command */

/* ---- rate_limit.c ----------------------------------------------------------------------------------------------- */

pawl_code budget_enter(pawl_engine *e, outbox_entry *entry);    /* ENTRY_READY to ENTRY_QUEUED, or to ENTRY_GRANTED without a budget. PAWL_NOMEM */
void budget_started(pawl_engine *e, outbox_entry *entry);       /* its attempt begins, with its place if it has one */
void budget_leave(pawl_engine *e, outbox_entry *entry);         /* it gives up its place, or its turn in the queue */
int64_t budget_guess(const outbox_entry *entry, int64_t now);   /* when one that is queued may have its turn */
bool had_to_wait(const outbox_entry *entry);

/* ---- cost.c ----------------------------------------------------------------------------------------------------- */

void cost_add(outbox_entry *entry);             /* adds the cost of the attempt that came back */
void cost_take_back(outbox_entry *entry);       /* the attempt never happened */
void cost_report(outbox_entry *entry);          /* puts the cost into its receipt */
void cost_report_none(outbox_entry *entry);     /* of a child that could not begin */

/* ---- receipts.c ------------------------------------------------------------------------------------------------- */

void reply_check(pawl_engine *e, outbox_entry *entry);          /* what is no JSON is an error of the handler's */
void reply_limit(const pawl_engine *e, outbox_entry *entry);    /* one that is too large is an error */
void receipt_make(pawl_engine *e, outbox_entry *entry);         /* to ENTRY_DONE, unless its outcome can be found out */

/* ---- collect.c -------------------------------------------------------------------------------------------------- */

void entry_returned(pawl_engine *e, outbox_entry *entry);       /* its attempt came back: to ENTRY_DONE, or to wait for the next one */

/* ---- receipt_feed.c --------------------------------------------------------------------------------------------- */

pawl_code receipts_feed(pawl_engine *e, cached_run *r, bool *did, pawl_err *err);
/* to ENTRY_FED. PAWL_IGNORED, PAWL_INVALID: its command is not open */
pawl_code receipt_feed(pawl_engine *e, cached_run *r, outbox_entry *entry, pawl_err *err);

/* ---- cancel.c --------------------------------------------------------------------------------------------------- */

/* No attempt begins; a running one ends in its own receipt, and a child in its own end, unless `wait` is false (E10). */
void outbox_cancel(pawl_engine *e, cached_run *r, bool wait);
/* gives up the attempts that were told to stop so long ago; true: some were given up, or came back */
bool outbox_give_up(pawl_engine *e, cached_run *r, int64_t grace_ms);

#endif
