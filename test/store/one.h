/* one.h - the verbs that take many runs, for one: what comes back is its rc, or that of the whole. */
#ifndef TEST_STORE_ONE_H
#define TEST_STORE_ONE_H

#include "pawl/store.h"

static inline pawl_code claim_one(pawl_store *s, const char *run, const char *owner, int64_t ttl_ms, pawl_head *head, pawl_err *err)
{
    pawl_claim c = { .run = run };
    pawl_code rc = s->verbs->claim(s, owner, ttl_ms, &c, 1, err);

    *head = c.head;
    return rc == PAWL_OK ? c.rc : rc;
}

static inline pawl_code renew_one(pawl_store *s, const char *run, uint64_t fence, int64_t ttl_ms, pawl_err *err)
{
    pawl_hold h = { .run = run, .fence = fence };
    pawl_code rc = s->verbs->renew(s, ttl_ms, &h, 1, err);

    return rc == PAWL_OK ? h.rc : rc;
}

static inline pawl_code release_one(pawl_store *s, const char *run, uint64_t fence, pawl_err *err)
{
    pawl_hold h = { .run = run, .fence = fence };
    pawl_code rc = s->verbs->release(s, &h, 1, err);

    return rc == PAWL_OK ? h.rc : rc;
}

#endif
