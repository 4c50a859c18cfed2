/* begun.h - what a run was begun with, for a request that comes again under its key (E16): the same one changes nothing, another one is told what differs. */
#ifndef CLI_BEGUN_H
#define CLI_BEGUN_H

#include "app/ways.h"
#include "cli/run_driver.h"

/* The input at the start of s->run, without Pawl's own channels; NULL: it was pruned, or there is no start. */
const pawl_value *begun_with(session *s);
/* Whether s->run was begun with what `b` says, by the machine of `s`. PAWL_CONFLICT names all that differs. */
pawl_code begun_same(session *s, const beginning *b, pawl_err *err);

/* Whether `fork`, of this call's key, was made from s->run by what the call says. Without an entry or a mode these are not compared: what the newest was is
 * gone. PAWL_CONFLICT as above. */
pawl_code forked_same(session *s, const char *fork, uint64_t seq, const pawl_value *set, pawl_mode mode, pawl_err *err);
/* The entry of s->run that `fork` was made from; 0: none. */
uint64_t forked_at(session *s, const char *fork);

#endif
