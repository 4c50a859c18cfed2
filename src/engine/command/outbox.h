/* outbox.h - what the files that carry out commands share of their errands. */
#ifndef ENGINE_ERRAND_H
#define ENGINE_ERRAND_H

#include "engine/child/child.h"
#include "engine/run/run.h"
#include "engine/run/stream_ring.h"

/* errands.c */
errand *errand_find(const live *r, const char *id);
const handler *handler_of(const pawl_engine *e, const char *effect);    /* NULL: none */
errand *errand_copy(pawl_engine *e, const errand *er);  /* ready, of the same command, not in any list; NULL: no memory */
void told_to_stop(errand *er);  /* by whom does not matter: from now on it is waited for no longer than the grace allows */
void errand_free(pawl_engine *e, errand *er);
void errand_gone(pawl_engine *e, live *r, errand *er);  /* out of its run's list, and freed */
void handlers_look(const pawl_engine *e, live *r);      /* for those that found none before */
bool any_out(const live *r);

/* borrow.c */
pawl_code args_take(pawl_engine *e, errand *er, pawl_err *err);         /* into its own memory; it may leave for another thread */
pawl_code args_take_all(pawl_engine *e, live *r, pawl_err *err);        /* before the state moves */
pawl_code args_lend(pawl_engine *e, errand *er, pawl_err *err);         /* for an attempt on this thread; and then: */
void args_return(errand *er);
pawl_code args_own(errand *er);         /* lent ones, copied: its handler keeps its job. PAWL_NOMEM */
/* Of a command that refers to channels which have moved on since: as they were, in `mem`. PAWL_CORRUPT: nothing says that any more. */
pawl_code args_then(pawl_engine *e, live *r, const char *id, arena *mem, pawl_command *cmd, const pawl_value **secrets, pawl_err *err);

/* secrets.c */
/* Each secret in its place; the command waits when one is missing, and `why` says which. */
pawl_code secrets_put(pawl_engine *e, arena *mem, pawl_command *cmd, const pawl_value *secrets, bool *missing, pawl_err *why,
                      pawl_err *err);

/* attempts.c */
pawl_code marks_read(pawl_engine *e, live *r, pawl_err *err);   /* after another engine had it: attempts that were counted stay counted */
/* Its last attempt was begun by somebody who is gone, and it must not be begun again: it is of class once, or that was the last (E5, E7). */
bool is_unknown(const errand *er);
bool is_over(const errand *er, int64_t now);    /* between two attempts its total_timeout_ms ran out */
pawl_code counted_store(pawl_engine *e, live *r, int64_t now, pawl_err *err);  /* before any of them is counted: what was only folded */
pawl_code rests_mark(pawl_engine *e, live *r, pawl_err *err);   /* back-offs, so that whoever comes next goes on with them (E7); and what never began */
pawl_code riding_marks(pawl_engine *e, live *r, pawl_append *a, arena *mem);   /* of those that leave once it is stored; and then: */
void riding_stored(live *r, const pawl_append *a);
void unbegun_look(live *r);     /* nothing leaves any more: those that were counted and are here still are to be taken back */
bool has_limit(const pawl_limits *l);
pawl_code leaving_mark(pawl_engine *e, live *r, int64_t now, pawl_err *err);    /* the attempts that leave now are counted, together (E13) */
pawl_code lone_mark(pawl_engine *e, live *r, errand *er, int64_t now, pawl_err *err);  /* and of one that leaves alone */
void errand_begin(pawl_engine *e, errand *er, int64_t now);     /* it is out */
/* With what its handler returned; false: it answers later, and may be anybody's by now. */
bool attempt_returned(pawl_engine *e, errand *er, pawl_code rc);
pawl_code attempt_code(errand *er, pawl_code rc);       /* a code above 0 is no result */
void errand_limits(pawl_engine *e, errand *er, int64_t now);    /* what took too long counts for nothing, though it may have happened (E8) */
void errands_watch(pawl_engine *e, live *r, int64_t now);       /* those that are out and over a limit are told to stop */
/* The limit that an attempt meets first, and what is left of it; NULL: none, and 0. */
const char *limit_least(const pawl_limits *l, int64_t gone, int64_t *left);
bool tried_again(pawl_code code);
bool errand_again(const pawl_engine *e, errand *er, int64_t now);     /* true: it is ready for another attempt, at its time */

/* completions.c: answers that come later (E17) */
pawl_code job_later(const pawl_job *job, pawl_stop_fn *stop, void *ctx);
void job_finish(const pawl_job *job, pawl_code code);
void later_stop(errand *er);    /* whoever holds its job is told, once */
bool later_drop(errand *er);    /* true: it was pending, nobody holds its job, and its errand may be freed */
void later_unlist(errand *er);  /* its id is the next attempt's */

/* settle.c */
bool settle_begin(pawl_engine *e, errand *er);  /* true: it is ready to find out what came of it; false: it has nobody to ask */
bool settle_end(pawl_engine *e, errand *er);    /* true: what came of it is known, or never will be; false: it is ready to be performed again */
const char *settle_was(const errand *er, pawl_limits *limits, uint32_t *attempt);   /* the effect of its command, and more of it */

/* budget.c */
bool budget_enter(pawl_engine *e, errand *er);  /* it waits for a place, if its effect has a budget; false: no memory */
void budget_begun(pawl_engine *e, errand *er);  /* with its place, if it has one */
void budget_leave(pawl_engine *e, errand *er);  /* what it had, or waited for, is another's */
int64_t budget_guess(const errand *er, int64_t now);    /* when one that waits may have its turn */

/* cost.c */
void cost_add(errand *er);      /* of the attempt that came back */
void cost_take_back(errand *er);        /* it never happened */
void cost_say(errand *er);      /* with its receipt */
void cost_say_none(errand *er); /* of a child that could not begin */
void cost_of_run(const live *r, buf *out);      /* of a child that is over; nothing when it has no budget */

/* said.c */
void said_add(errand *er, const char *json);    /* of one that is listened to: a message of its handler's */
void said_begin(errand *er);    /* an attempt of it begins */
bool said_due(const live *r, const pawl_event *ev);     /* it interrupts the run */
pawl_code said_with(live *r, const pawl_event *ev, buf *out, pawl_err *err);    /* its value, with what was said; empty: none */

/* receipts.c */
void reply_check(pawl_engine *e, errand *er);   /* what is no JSON is an error of the handler's */
void reply_limit(const pawl_engine *e, errand *er);    /* one that is too large is an error */
void receipt_make(pawl_engine *e, errand *er);
/* Nothing new begins; what is out ends in its own receipt, and a child, unless it is not waited for, in its own end (E10). */
void errands_call_off(pawl_engine *e, live *r, bool wait);
pawl_code receipt_feed(pawl_engine *e, live *r, errand *er, pawl_err *err);     /* PAWL_IGNORED, PAWL_INVALID: nobody waits for it */
bool errands_give_up(pawl_engine *e, live *r, int64_t grace_ms);    /* those that were told to stop so long ago; true: some are gone, or back */
pawl_code receipts_feed(pawl_engine *e, live *r, bool *did, pawl_err *err);

#endif
