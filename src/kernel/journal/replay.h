/* replay.h - a whole journal is folded, or fed again to its machine; as pawl_replay and pawl_verify, with what stands beside the journal. */
#ifndef KERNEL_JOURNAL_REPLAY_H
#define KERNEL_JOURNAL_REPLAY_H

#include "json/json.h"
#include "pawl/kernel.h"

pawl_code journal_fold(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc, pawl_state **state,
                       pawl_err *err);
typedef struct journal_check {
    const pawl_machine *m;      /* NULL: it is folded only */
    const pawl_loader *loader;
    bool against;               /* `m` is asked for the last stretch, whosever that was */
    pawl_verdict v;             /* out, so the rest; `says` is to be freed */
    bool differs;               /* what went wrong is that the machine says something else, */
    pawl_bytes stored;          /* where this stands in the journal; {0}: it cannot take the run over at all */
    buf says;                   /* empty: it refused, or had nothing to say */
} journal_check;
pawl_code journal_verify(journal_check *c, pawl_bytes journal, const pawl_alloc *alloc, pawl_err *err);

#endif
