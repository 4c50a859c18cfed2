/* lame.h - a store that goes lame: after so many writes nothing can be written any more, as if the process had been killed there.
 * What was written before it is in the store inside. */
#ifndef TEST_STORE_LAME_H
#define TEST_STORE_LAME_H

#include "json/json.h"
#include "pawl/store.h"

typedef struct lame {
    pawl_store store;
    pawl_store *in;             /* not taken: it outlives the lame one */
    pawl_store_verbs verbs;
    size_t left;                /* writes that still work */
    size_t writes;
    uint64_t boasts;            /* entries that a head counts too many */
} lame;

static inline lame *lame_of(pawl_store *s) { return (lame *)(void *)s; }

static inline bool lame_now(pawl_store *s)
{
    lame *l = lame_of(s);

    l->writes++;
    if (l->left == 0)
        return true;
    l->left--;
    return false;
}
#define LAME_RETURN(s, err) do { if (lame_now(s)) return fail((err), PAWL_IO, "it went lame"); } while (0)
#define LAME_IN(s, verb) lame_of(s)->in->verbs->verb

static void lame_close(pawl_store *s) { (void)s; }
static int64_t lame_time(pawl_store *s) { return LAME_IN(s, now)(lame_of(s)->in); }
static uint64_t lame_version(pawl_store *s) { return LAME_IN(s, version)(lame_of(s)->in); }
static pawl_code lame_create(pawl_store *s, pawl_bytes base, pawl_beginning *with, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, create)(lame_of(s)->in, base, with, err);
}
static pawl_code lame_claim(pawl_store *s, const char *owner, int64_t ttl_ms, pawl_claim *all, size_t n, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, claim)(lame_of(s)->in, owner, ttl_ms, all, n, err);
}
static pawl_code lame_release(pawl_store *s, pawl_hold *all, size_t n, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, release)(lame_of(s)->in, all, n, err);
}
static pawl_code lame_append(pawl_store *s, pawl_append *all, size_t n, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, append)(lame_of(s)->in, all, n, err);
}
static pawl_code lame_mark(pawl_store *s, pawl_mark *all, size_t n, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, mark)(lame_of(s)->in, all, n, err);
}
static pawl_code lame_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, marks)(lame_of(s)->in, run, fn, ctx, err);
}
static pawl_code lame_deliver(pawl_store *s, const char *run, pawl_delivery *d, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, deliver)(lame_of(s)->in, run, d, err);
}
static pawl_code lame_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, deliveries)(lame_of(s)->in, run, fn, ctx, err);
}
static pawl_code lame_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, load)(lame_of(s)->in, run, fn, ctx, err);
}
static pawl_code lame_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, snapshot)(lame_of(s)->in, run, fn, ctx, err);
}
static pawl_code lame_read(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, read)(lame_of(s)->in, run, after, upto, fn, ctx, err);
}
static pawl_code lame_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    return LAME_IN(s, blob)(lame_of(s)->in, run, digest, fn, ctx, err);
}
static pawl_code lame_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    pawl_code rc = LAME_IN(s, head)(lame_of(s)->in, run, head, err);

    if (rc == PAWL_OK)
        head->seq += lame_of(s)->boasts;
    return rc;
}
static pawl_code lame_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    pawl_code rc = LAME_IN(s, look)(lame_of(s)->in, run, look, err);

    if (look->head.run != NULL)
        look->head.seq += lame_of(s)->boasts;
    return rc;
}
static pawl_code lame_remove(pawl_store *s, const char *run, uint64_t fence, pawl_err *err)
{
    LAME_RETURN(s, err);
    return LAME_IN(s, remove)(lame_of(s)->in, run, fence, err);
}

/* The verbs that an import and a look back use. `in` stays the caller's. */
static inline pawl_store *lame_begin(lame *l, pawl_store *in, size_t left)
{
    *l = (lame){ .in = in, .left = left, .verbs = { .name = "lame", .close = lame_close, .now = lame_time, .version = lame_version,
        .create = lame_create, .claim = lame_claim, .release = lame_release, .append = lame_append, .mark = lame_mark, .marks = lame_marks,
        .deliver = lame_deliver, .deliveries = lame_deliveries, .load = lame_load, .snapshot = lame_snapshot, .read = lame_read,
        .blob = lame_blob, .head = lame_head,
        .remove = lame_remove, .look = lame_look } };
    l->store.verbs = &l->verbs;
    return &l->store;
}

#endif
