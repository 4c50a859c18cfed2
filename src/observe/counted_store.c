/* counted_store.c - a store that only reads, and counts its calls by verb: each verb is that of the handle that it owns.
 *
 * A verb that writes is NULL. The counts are atomic: they are read on other threads. */
#include "observe/journals.h"

#include <stdatomic.h>

enum counted_verb { CALL_LOAD, CALL_SNAPSHOT, CALL_READ, CALL_BLOB, CALL_HEAD, CALL_LIST, CALL_WAITS, CALL_DUE, CALL_LOOK, CALL_MAILBOX, CALL_MARKS, CALLS };
static const char *const call_names[CALLS] = { "load", "snapshot", "read", "blob", "head", "list", "waits", "due", "look", "deliveries", "marks" };

typedef struct counting {
    pawl_store store;           /* first */
    pawl_store_verbs verbs;
    pawl_store *inner;
    atomic_uint_least64_t n[CALLS];
} counting;

static pawl_store *count_call(pawl_store *s, enum counted_verb which)
{
    counting *c = (counting *)(void *)s;

    atomic_fetch_add_explicit(&c->n[which], 1, memory_order_relaxed);
    return c->inner;
}

static pawl_store *inner_of(pawl_store *s) { return ((counting *)(void *)s)->inner; }

static void count_close(pawl_store *s)
{
    const pawl_alloc alloc = mem_or_default(NULL);

    pawl_store_free(inner_of(s));
    mem_free(&alloc, s, sizeof(counting));
}

static int64_t count_now(pawl_store *s) { return inner_of(s)->verbs->now(inner_of(s)); }
static uint64_t count_version(pawl_store *s) { return inner_of(s)->verbs->version(inner_of(s)); }
static const char *count_file(pawl_store *s) { return inner_of(s)->verbs->file(inner_of(s)); }
static const char *count_id(pawl_store *s, pawl_err *err) { return inner_of(s)->verbs->id(inner_of(s), err); }

static pawl_code count_load(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_LOAD);

    return in->verbs->load(in, run, fn, ctx, err);
}

static pawl_code count_snapshot(pawl_store *s, const char *run, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_SNAPSHOT);

    return in->verbs->snapshot(in, run, fn, ctx, err);
}

static pawl_code count_read(pawl_store *s, const char *run, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_READ);

    return in->verbs->read(in, run, after, upto, fn, ctx, err);
}

static pawl_code count_blob(pawl_store *s, const char *run, const char *digest, pawl_line_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_BLOB);

    return in->verbs->blob(in, run, digest, fn, ctx, err);
}

static pawl_code count_head(pawl_store *s, const char *run, pawl_head *head, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_HEAD);

    return in->verbs->head(in, run, head, err);
}

static pawl_code count_list(pawl_store *s, const pawl_filter *f, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_LIST);

    return in->verbs->list(in, f, fn, ctx, err);
}

static pawl_code count_waits(pawl_store *s, const char *run, pawl_waiting_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_WAITS);

    return in->verbs->waits(in, run, fn, ctx, err);
}

static pawl_code count_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_DUE);

    return in->verbs->due(in, now_ms, after, limit, fn, ctx, err);
}

static pawl_code count_look(pawl_store *s, const char *run, pawl_look *look, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_LOOK);

    return in->verbs->look(in, run, look, err);
}

static pawl_code count_deliveries(pawl_store *s, const char *run, pawl_delivery_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_MAILBOX);

    return in->verbs->deliveries(in, run, fn, ctx, err);
}

static pawl_code count_marks(pawl_store *s, const char *run, pawl_mark_fn *fn, void *ctx, pawl_err *err)
{
    pawl_store *in = count_call(s, CALL_MARKS);

    return in->verbs->marks(in, run, fn, ctx, err);
}

pawl_store *counted_store(pawl_store *inner, pawl_err *err)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    counting *c = mem_new(&alloc, sizeof *c);

    if (c == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a handle of the store");
        pawl_store_free(inner);
        return NULL;
    }
    c->inner = inner;
    c->verbs = (pawl_store_verbs){ .name = inner->verbs->name, .close = count_close, .now = count_now, .version = count_version, .load = count_load,
                                   .snapshot = count_snapshot, .read = count_read, .blob = count_blob, .head = count_head, .list = count_list,
                                   .waits = count_waits, .due = count_due, .deliveries = count_deliveries, .marks = count_marks,
                                   .look = inner->verbs->look != NULL ? count_look : NULL, .file = inner->verbs->file != NULL ? count_file : NULL,
                                   .id = inner->verbs->id != NULL ? count_id : NULL };
    c->store.verbs = &c->verbs;
    return &c->store;
}

counted_call counted_at(const pawl_store *s, size_t i)
{
    const counting *c = (const counting *)(const void *)s;

    return i < CALLS ? (counted_call){ call_names[i], atomic_load_explicit(&c->n[i], memory_order_relaxed) } : (counted_call){ NULL, 0 };
}
