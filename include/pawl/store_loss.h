/* store_loss.h - a lease that its holder did not release, as a store remembers it (S2): who crashed, and who took the run.
 *
 * The store stores a loss in the write that finds it: the claim of a run whose owner let his lease expire, or the release of the lease of a process that
 * has ended, which another process does with pawl_hold.died. The next claim is that of its taker. The newest are kept, with the run and in backups; an
 * export, an import and a fork do not have them, since they name processes of one store. No hash covers them: they are shown, and nothing is ever decided
 * by them. */
#ifndef PAWL_STORE_LOSS_H
#define PAWL_STORE_LOSS_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PAWL_LOSSES_MAX = 16 };  /* of a run */

typedef struct pawl_loss {
    uint64_t fence;             /* of the lease that was lost */
    const char *owner;          /* who had it */
    int64_t at_ms;              /* when another process found it */
    bool died;                  /* the process had ended; false: the lease had expired */
    const char *taker;          /* who claimed the run next; NULL: nobody yet */
    uint64_t taker_fence;
    int64_t taken_ms;
} pawl_loss;

typedef bool pawl_loss_fn(void *ctx, const pawl_loss *loss);    /* its texts are lent for the call; false: stop */

#ifdef __cplusplus
}
#endif
#endif
