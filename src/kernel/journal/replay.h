/* replay.h - folds a whole journal, or feeds its events to a machine again: pawl_replay and pawl_verify, with a loader for blobs. Pure; the
 * caller owns the results. */
#ifndef KERNEL_JOURNAL_REPLAY_H
#define KERNEL_JOURNAL_REPLAY_H

#include "json/json.h"
#include "pawl/kernel.h"

pawl_code journal_fold(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc, pawl_state **state,
                       pawl_err *err);
typedef struct journal_check {
    const pawl_machine *m;      /* NULL: fold only, feed no machine */
    const pawl_loader *loader;
    bool against;               /* feed `m` all events after the last adoption, whichever machine wrote them (pawl verify --against) */
    pawl_verdict v;             /* this member and the rest are results; the caller frees `says` */
    bool differs;               /* the error is a difference: the machine gives another line than the journal has */
    pawl_bytes stored;          /* the line of the journal; {0}: the machine cannot be adopted at all */
    buf says;                   /* the line of the machine; empty: the machine refused or ignored the event */
} journal_check;
pawl_code journal_verify(journal_check *c, pawl_bytes journal, const pawl_alloc *alloc, pawl_err *err);

#endif
