/* frame_read.c - reads the channels and tasks of one frame from a stored state.
 *
 * Called when a state is loaded, and by the fold of an item that contains a subgraph; inside a transaction. */
#include "kernel/channel.h"
#include "kernel/fold.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"

#include <string.h>

pawl_code values_read(pawl_state *st, frame *f, const pawl_value *values, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(values);
    const pawl_value *key, *v;
    pawl_code rc = PAWL_OK;

    if (values != NULL && pawl_value_type(values) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_CORRUPT, "a folded state: values is no object");
    for (uint32_t i = 0; i < f->nchannels && rc == PAWL_OK; i++)    /* the first value of a channel may have been cleared before the state was stored */
        rc = channel_clear(st, &f->channels[i]);
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL) {
        channel *c = channel_find(f, pawl_value_string(key));

        if (c == NULL)
            return fail(err, PAWL_CORRUPT, "a folded state has channel \"%s\", which is not declared", pawl_value_string(key));
        rc = channel_write(st, c, OP_OVERWRITE, v, err);
    }
    return rc == PAWL_INVALID ? PAWL_CORRUPT : rc;
}

/* Makes the tasks by folding a close item, as the original close did. */
pawl_code tasks_read(pawl_state *st, pawl_entry *e, const char *path, const pawl_value *fold, pawl_err *err)
{
    static const char *const none[1] = { "" };
    const pawl_value *next = pawl_value_get(fold, "next"), *sends = pawl_value_get(fold, "sends"), *v;
    pawl_iter it = pawl_iter_of(next);
    const char **names = arena_zero(e->mem, (pawl_value_size(next) + 1) * sizeof *names);
    named *list_of = arena_zero(e->mem, (pawl_value_size(sends) + 1) * sizeof *list_of);
    closing cl = { .next = names != NULL ? names : none, .sends = list_of, .joins = pawl_value_get(fold, "joins"),
                   .defer = pawl_value_get(fold, "defer") };
    item close = { .kind = ITEM_CLOSE, .task = path, .closing = &cl };

    if (names == NULL || list_of == NULL)
        return PAWL_NOMEM;
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if ((names[cl.nnext++] = pawl_value_string(v)) == NULL)
            return fail(err, PAWL_CORRUPT, "a folded state: next holds what is no name");
    it = pawl_iter_of(sends);
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        named *n = &list_of[cl.nsends++];

        n->name = pawl_value_string(pawl_value_at(v, 0));
        n->value = pawl_value_at(v, 1);
        if (pawl_value_type(n->value) == PAWL_TYPE_NULL)
            n->value = NULL;
        if (n->name == NULL)
            return fail(err, PAWL_CORRUPT, "a folded state: sends holds what is no [node,value]");
    }
    if ((cl.joins != NULL && !joins_valid(cl.joins)) || (cl.defer != NULL && !names_valid(cl.defer)))
        return fail(err, PAWL_CORRUPT, "a folded state: joins is an object of arrays of names, defer such an array");
    return fold_close(st, &close, err);
}

pawl_code frame_restore(pawl_state *st, pawl_entry *e, frame *f, const char *path, const pawl_value *fold, pawl_err *err)
{
    uint64_t superstep = pawl_value_uint(pawl_value_get(fold, "superstep"));
    size_t apart = 0;
    pawl_code rc = blobs_fill(st, e->mem, &fold, pawl_value_get(fold, "refs"), "", &apart, err);

    if (rc == PAWL_OK)
        rc = values_read(st, f, pawl_value_get(fold, "values"), err);
    if (rc == PAWL_OK)
        rc = tasks_read(st, e, path, fold, err);
    f->superstep = superstep;
    f->steps = pawl_value_uint(pawl_value_get(fold, "steps"));
    f->now_ms = pawl_value_int(pawl_value_get(fold, "time"));
    return rc;
}
