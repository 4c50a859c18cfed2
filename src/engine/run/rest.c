/* rest.c - looks at the store while nobody drives and something was left running (outlive.c), as a worker does while it works (A10, P1).
 *
 * Called by programs that wait for a person, on the driving thread, without a lock. Owns nothing. */
#include "engine/engine.h"
#include "kernel/names.h"

pawl_code engine_rest_check(pawl_engine *e, const char *run, pawl_err *err)
{
    char due[RUN_BYTES_MAX + 1];
    pawl_code rc;

    left_check_leases(e);
    if (!left_has_mail(e, run, due))
        return PAWL_OK;
    rc = pawl_run(e, due, NULL, err);
    return rc == PAWL_HELD ? PAWL_OK : rc;      /* another engine was first */
}
