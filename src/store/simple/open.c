/* open.c - opens a store of three methods, and has the table of its verbs. */
#include "store/simple/simple.h"

#include <stdio.h>
#include <sys/random.h>

static void simple_free(simple_handle *h)
{
    pawl_alloc alloc = h->alloc;

    for (size_t i = 0; h->cached != NULL && i < SIMPLE_CACHED_RUNS; i++)
        buf_free(&h->cached[i].bytes);
    mem_free(&alloc, h->cached, SIMPLE_CACHED_RUNS * sizeof *h->cached);
    briefs_free(h);
    buf_free(&h->in.b);
    buf_free(&h->out);
    buf_free(&h->hint);
    arena_free(&h->lent);
    arena_free(&h->work);
    mem_free(&alloc, h, sizeof *h);
}

static void simple_close(pawl_store *s)
{
    simple_handle *h = simple_of(s);
    void (*close)(void *ctx) = h->methods.close;
    void *ctx = h->ctx;

    simple_free(h);
    if (close != NULL)
        close(ctx);
}

static uint64_t simple_version(pawl_store *s)
{
    (void)s;
    return 0;
}

static pawl_code simple_backup(pawl_store *s, const char *path, pawl_err *err)
{
    (void)path;
    return fail(err, PAWL_INVALID, "%s: a store of three methods makes no backup: copy its records", s->verbs->name);
}

static const char *simple_id(pawl_store *s, pawl_err *err)
{
    simple_handle *h = simple_of(s);
    char id[17];

    if (h->id[0] == '\0') {
        simple_begin(h);
        if (counter_id(h, id, err) != PAWL_OK)
            return NULL;
        snprintf(h->id, sizeof h->id, "%s%s%s", id, h->space[0] != '\0' ? "/" : "", h->space);
    }
    return h->id;
}

static const pawl_store_verbs verbs = {
    .name = "simple", .close = simple_close, .now = simple_now, .version = simple_version,
    .create = simple_create, .claim = simple_claim, .renew = simple_renew, .release = simple_release,
    .append = simple_append, .mark = simple_set_marks, .marks = simple_marks,
    .deliver = simple_deliver, .deliveries = simple_deliveries,
    .load = simple_load, .snapshot = simple_snapshot, .read = simple_read, .blob = simple_blob, .head = simple_head, .list = simple_list,
    .waits = simple_waits, .due = simple_due, .next_due = simple_next_due,
    .prune = simple_prune, .remove = simple_remove, .check = simple_check,
    .backup = simple_backup, .vacuum = simple_vacuum, .look = simple_look, .id = simple_id,
    .losses = simple_losses,
};

static bool space_valid(const char *space)
{
    const size_t n = strnlen(space, SIMPLE_SPACE_BYTES_MAX + 1);

    return n == 0 || (n <= SIMPLE_SPACE_BYTES_MAX && store_run_valid(space));
}

pawl_store *pawl_store_simple(const pawl_simple_methods *methods, void *ctx, const pawl_simple *options, pawl_err *err)
{
    static const pawl_simple none;
    const pawl_simple *o = options != NULL ? options : &none;
    const char *space = o->space != NULL ? o->space : "";
    pawl_alloc alloc = mem_or_default(NULL);
    simple_handle *h;

    if (methods == NULL || methods->name == NULL || methods->put == NULL || methods->get == NULL || methods->list == NULL) {
        fail(err, PAWL_INVALID, "a store of three methods needs a name, put, get and list");
        return NULL;
    }
    if (!space_valid(space)) {
        fail(err, PAWL_INVALID, "%s: a namespace has at most %d of A-Z a-z 0-9 . _ - and begins with a letter or digit", methods->name,
             (int)SIMPLE_SPACE_BYTES_MAX);
        return NULL;
    }
    if ((h = mem_new(&alloc, sizeof *h)) == NULL || (h->cached = mem_new(&alloc, SIMPLE_CACHED_RUNS * sizeof *h->cached)) == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a store");
        mem_free(&alloc, h, sizeof *h);
        return NULL;
    }
    if (getrandom(h->life, sizeof h->life, 0) != (ssize_t)sizeof h->life) {
        fail(err, PAWL_IO, "%s: the system gives no random numbers", methods->name);
        mem_free(&alloc, h->cached, SIMPLE_CACHED_RUNS * sizeof *h->cached);
        mem_free(&alloc, h, sizeof *h);
        return NULL;
    }
    h->store.verbs = &verbs;
    h->alloc = alloc;
    h->methods = *methods;
    h->ctx = ctx;
    memcpy(h->space, space, strlen(space));
    h->signals_max = o->signals_max != 0 ? o->signals_max : SIMPLE_SIGNALS_MAX;
    arena_init(&h->lent, &alloc, 0);
    arena_init(&h->work, &alloc, 0);
    buf_init(&h->in.b, &alloc);
    buf_init(&h->out, &alloc);
    buf_init(&h->hint, &alloc);
    for (size_t i = 0; i < SIMPLE_CACHED_RUNS; i++)
        buf_init(&h->cached[i].bytes, &alloc);
    return &h->store;
}
