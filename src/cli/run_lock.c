/* run_lock.c - takes the lease of a run for a verb, as a worker does.
 *
 * Called by the verbs prune and rm, on the main thread. The lease belongs to the verb, which gives it back. */
#include "cli/verbs.h"

#include "engine/run/owner.h"

enum { HOLD_MS = 60000 };

void hold_drop(pawl_store *s, const char *run, uint64_t fence)
{
    pawl_hold h = { .run = run, .fence = fence };

    (void)s->verbs->release(s, &h, 1, NULL);
}

static pawl_code claim(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    char owner[OWNER_BYTES];
    pawl_claim c = { .run = run };
    pawl_code rc;

    owner_name(owner, sizeof owner, 0);
    rc = s->verbs->claim(s, owner, HOLD_MS, &c, 1, err);
    *head = c.head;
    return rc == PAWL_OK ? c.rc : rc;
}

/* The lease of a process that died a moment ago has not expired yet: it is taken over. */
pawl_code hold_run(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    char until[32];
    pawl_code rc = claim(s, run, head, &why);

    if (rc == PAWL_HELD && owner_dead(head->owner)) {
        pawl_hold h = { .run = run, .fence = head->fence, .died = true };

        (void)s->verbs->release(s, &h, 1, NULL);
        why = (pawl_err){ PAWL_OK, "" };
        rc = claim(s, run, head, &why);
    }
    if (rc == PAWL_HELD) {
        cli_time(until, head->lease_ms);
        return fail(err, rc, "%.120s: %.60s holds it until %s; try again later", run,
                    head->owner == NULL ? "somebody" : head->owner, until);
    }
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text[0] != '\0' ? why.text : pawl_code_name(rc));
}
