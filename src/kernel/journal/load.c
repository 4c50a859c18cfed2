/* load.c - reads a state from its stored base and snapshot. Called by base.c for the owner of the new state, on one thread. */
#include "kernel/compensation.h"
#include "kernel/fold.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"

#include <string.h>

static pawl_code damaged(pawl_err *err, const char *what)
{
    return fail(err, PAWL_CORRUPT, "%s", what);
}

/* ---- a folded state ---------------------------------------------------------------------------------- */

static pawl_code segment_read(pawl_state *st, frame *f, const char *name, const pawl_value *v, pawl_err *err)
{
    channel *c = channel_find(f, name);
    const char *digest = pawl_value_string(pawl_value_get(v, "digest"));
    size_t count = (size_t)pawl_value_uint(pawl_value_get(v, "count"));
    uint64_t after = pawl_value_uint(pawl_value_get(v, "after")), upto = pawl_value_uint(pawl_value_get(v, "upto"));
    list *l;
    pawl_code rc;

    if (c == NULL || c->d->rule != PAWL_RULE_APPEND || count == 0 || after > upto)
        return fail(err, PAWL_CORRUPT, "a snapshot's segment \"%s\" is none of an append channel", name);
    if ((rc = channel_write(st, c, OP_OVERWRITE, of_val(&(yyjson_val){ .tag = YYJSON_TYPE_ARR, .uni = { .ofs = 16 } }), err)) != PAWL_OK)
        return rc;
    st->segment_load = segment_load;
    l = c->list.of;
    l->segment = count;
    l->after = c->list.born = after;
    l->upto = upto;
    if (digest != NULL && hash_unhex(digest, strlen(digest), &l->digest))
        l->digested = count;
    return PAWL_OK;
}

static pawl_code segments_read(pawl_state *st, const pawl_value *segments, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(segments);
    const pawl_value *key, *v;
    pawl_code rc = PAWL_OK;

    if (segments != NULL && pawl_value_type(segments) != PAWL_TYPE_OBJECT)
        return damaged(err, "a folded state: segments is no object");
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, &key)) != NULL)
        rc = segment_read(st, &st->root, pawl_value_string(key), v, err);
    return rc;
}

static pawl_code open_read(pawl_state *st, pawl_entry *e, const pawl_value *fold, pawl_err *err)
{
    const pawl_value *budget = pawl_value_get(fold, "budget"), *v;
    pawl_iter it = pawl_iter_of(pawl_value_get(fold, "open"));
    const int64_t since = st->at_ms > 0 ? st->at_ms : st->time_ms;
    bool whole = false;
    pawl_code rc = budget == NULL ? PAWL_OK : budget_read(st, budget, since, &whole, err);
    ledger *told = st->budget;

    if (whole)
        st->budget = NULL;      /* the stored ledger has the reservations already, so the folds of the open calls must not reserve again */
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL) {
        item *i = item_of_value(e->mem, v, &e->items_text, err);

        if (i == NULL)
            rc = e->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
        else
            rc = item_fold(st, e, i, err);
    }
    st->budget = told;
    if (rc == PAWL_OK)
        rc = progress_read(st, pawl_value_get(fold, "progress"), err);
    return rc == PAWL_INVALID ? PAWL_CORRUPT : rc;
}

static pawl_code pending_read(pawl_state *st, const pawl_value *pending, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(pending);
    const pawl_value *v;

    if (pending == NULL)
        return PAWL_OK;
    if (pawl_value_type(pending) != PAWL_TYPE_ARRAY)
        return damaged(err, "a folded state: pending is no array");
    if ((st->pending = list_new(st)) == NULL)
        return PAWL_NOMEM;
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
            return damaged(err, "a folded state: pending holds what is no object");
        if (!list_push(st, st->pending, v))
            return PAWL_NOMEM;
    }
    return PAWL_OK;
}

static pawl_code head_read(pawl_state *st, const pawl_value *fold, pawl_err *err)
{
    const pawl_value *machine = pawl_value_get(fold, "machine"), *reason = pawl_value_get(fold, "reason");
    const char *hex = pawl_value_string(pawl_value_get(machine, "hash"));
    int status = name_index(status_names, 7, pawl_value_string(pawl_value_get(fold, "status")));

    if (status < 0 || hex == NULL || !hash_unhex(hex, strlen(hex), &st->machine_hash))
        return damaged(err, "a folded state without a status or a machine");
    st->status = (uint8_t)status;       /* no move: the life cycle continues at the stored status */
    st->version = (uint32_t)pawl_value_uint(pawl_value_get(machine, "version"));
    st->turn = pawl_value_uint(pawl_value_get(fold, "turn"));
    st->time_ms = st->record_ms = pawl_value_int(pawl_value_get(fold, "time"));
    if (reason != NULL && (st->reason = st_value(st, reason, &st->reason_bytes)) == NULL)
        return PAWL_NOMEM;
    return PAWL_OK;
}

/* Reads the stored state in one transaction, so that on an error the rollback frees everything. */
static pawl_code fold_read(pawl_state *st, const pawl_value *fold, arena *mem, size_t *apart, pawl_err *err)
{
    pawl_entry e = { .mem = mem, .record = true };
    uint64_t superstep = pawl_value_uint(pawl_value_get(fold, "superstep"));
    txn t;
    pawl_code rc;

    txn_begin(st, &t, mem, TXN_APPLY);
    rc = TOUCH(st, st) ? blobs_fill(st, mem, &fold, pawl_value_get(fold, "refs"), "", apart, err) : PAWL_NOMEM;
    if (rc == PAWL_OK)
        rc = head_read(st, fold, err);
    if (rc == PAWL_OK)
        rc = ending_read(st, fold, err);
    if (rc == PAWL_OK)
        rc = decls_add(st, pawl_value_get(fold, "channels"), err);
    if (rc == PAWL_OK)
        rc = values_read(st, &st->root, pawl_value_get(fold, "values"), err);
    if (rc == PAWL_OK)
        rc = segments_read(st, pawl_value_get(fold, "segments"), err);
    if (rc == PAWL_OK)
        rc = tasks_read(st, &e, "", fold, err);
    st->root.superstep = superstep;
    st->root.steps = pawl_value_uint(pawl_value_get(fold, "steps"));
    t.closed = false;
    if (rc == PAWL_OK)
        rc = open_read(st, &e, fold, err);
    if (rc == PAWL_OK)
        rc = pending_read(st, pawl_value_get(fold, "pending"), err);
    if (rc == PAWL_OK)
        rc = undo_read(st, fold, err);
    *apart += e.apart;
    if (rc == PAWL_OK && mem->failed)
        rc = PAWL_NOMEM;
    txn_end(st, rc == PAWL_OK);
    st->record_ms = st->time_ms;
    return rc != PAWL_OK && st->load_failed != PAWL_OK ? st->load_failed : rc;
}

/* ---- base and snapshot ------------------------------------------------------------------------------------- */

static pawl_code base_fields(pawl_state *st, const pawl_value *v, pawl_err *err)
{
    const pawl_value *machine = pawl_value_get(v, "machine");
    const char *id = pawl_value_string(pawl_value_get(v, "id")), *hex = pawl_value_string(pawl_value_get(machine, "hash"));
    const char *prev = pawl_value_string(pawl_value_get(v, "prev"));

    if (pawl_value_type(v) != PAWL_TYPE_OBJECT || pawl_value_uint(pawl_value_get(v, "format")) == 0)
        return damaged(err, "the base names no format");
    if (pawl_value_uint(pawl_value_get(v, "format")) > FORMAT)
        return fail(err, PAWL_CORRUPT, "the base is of format %llu, and this version knows %d: take a newer one",
                    (unsigned long long)pawl_value_uint(pawl_value_get(v, "format")), FORMAT);
    if (!run_id_valid(id) || strlen(id) != pawl_value_size(pawl_value_get(v, "id")) || !unhex64(pawl_value_string(pawl_value_get(v, "life")), &st->life) ||
        !unhex64(pawl_value_string(pawl_value_get(v, "seed")), &st->seed))
        return damaged(err, "the base has no id, life or seed");
    if (hex == NULL || !hash_unhex(hex, strlen(hex), &st->machine_hash) || pawl_value_string(pawl_value_get(machine, "name")) == NULL)
        return damaged(err, "the base names no machine");
    if (pawl_value_uint(pawl_value_get(v, "progress")) > NO_PROGRESS_MAX)
        return damaged(err, "the base says progress, and no number that may be");
    st->run = arena_strdup(&st->fixed, id, strlen(id));
    st->machine = fixed_text(st, pawl_value_get(machine, "name"));
    st->version = (uint32_t)pawl_value_uint(pawl_value_get(machine, "version"));
    st->at_ms = pawl_value_int(pawl_value_get(v, "at"));
    st->no_progress = (uint32_t)pawl_value_uint(pawl_value_get(v, "progress"));
    st->progress_nodes = pawl_value_uint(pawl_value_get(v, "progress_nodes")) > 0 ? 1 : 0;
    st->settles = pawl_value_uint(pawl_value_get(v, "settles")) > 0;
    st->rounds = pawl_value_uint(pawl_value_get(v, "rounds")) > 0;
    st->shows_undo = pawl_value_uint(pawl_value_get(v, "shows_undo")) > 0;
    st->deadline_ms = pawl_value_int(pawl_value_get(v, "deadline"));
    st->retention = fixed_text(st, pawl_value_get(v, "retention"));
    st->parent = fixed_text(st, pawl_value_get(v, "parent"));
    st->seq = st->base_seq = pawl_value_uint(pawl_value_get(v, "seq"));
    if (prev != NULL && !hash_unhex(prev, strlen(prev), &st->head))
        return damaged(err, "the base names no hash before it");
    if (prev == NULL)
        hash_of(st->base.data, st->base.size, &st->head);
    return st->run == NULL || st->machine == NULL ? PAWL_NOMEM : PAWL_OK;
}

/* The exact size of the fixed data of most runs, as the size of the arena's chunk: with a hundred thousand runs, unused room counts. */
static size_t fixed_bytes(size_t base, const pawl_value *channels)
{
    size_t bytes = base + 4 * ALIGN + sizeof(decl);
    pawl_iter it = pawl_iter_of(channels);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL)
        bytes += sizeof(decl) + pawl_value_size(key) + ALIGN;
    return bytes;
}

pawl_code base_read(pawl_state *st, pawl_bytes base, pawl_err *err)
{
    const pawl_value *v, *fold;
    pawl_caps caps;
    char room[4096];
    size_t apart = 0;
    arena mem;
    pawl_code rc;

    arena_init_in(&mem, &st->alloc, room, sizeof room);
    v = value_read(&mem, base.data != NULL ? base.data : "", base.size, "the base", err);
    st->fixed.chunk_bytes = fixed_bytes(base.size, pawl_value_get(v, "channels"));
    st->base = (pawl_bytes){ v == NULL ? NULL : arena_strdup(&st->fixed, base.data, base.size), base.size };
    if (st->base.data == NULL)
        v = NULL;
    rc = v != NULL ? base_fields(st, v, err) : mem.failed || st->fixed.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (rc == PAWL_OK)
        rc = decls_read(st, pawl_value_get(v, "channels"), err);
    st->base_decls = st->ndecls;
    (void)share_of(v, &caps);
    if (rc == PAWL_OK)
        rc = state_begin(st, &caps, err);
    fold = pawl_value_get(v, "fold");
    if (rc == PAWL_OK && fold != NULL)
        rc = fold_read(st, fold, &mem, &apart, err);
    arena_free(&mem);
    return rc == PAWL_NOMEM ? fail(err, rc, "no memory to read a base") : rc == PAWL_INVALID ? PAWL_CORRUPT : rc;
}

pawl_code snapshot_read(pawl_state *st, pawl_bytes bytes, pawl_err *err)
{
    const pawl_value *v;
    const char *hex, *id;
    uint64_t life = 0;
    size_t apart = 0;
    arena mem;
    pawl_code rc = PAWL_OK;

    if (bytes.data == NULL || bytes.size == 0)
        return PAWL_OK;
    arena_init(&mem, &st->alloc, 4096);
    v = value_read(&mem, bytes.data, bytes.size, "the snapshot", err);
    hex = pawl_value_string(pawl_value_get(v, "hash"));
    id = pawl_value_string(pawl_value_get(v, "id"));
    if (v == NULL)
        rc = mem.failed ? PAWL_NOMEM : PAWL_CORRUPT;
    else if (pawl_value_uint(pawl_value_get(v, "format")) != FORMAT)
        rc = fail(err, PAWL_CORRUPT, "the snapshot is of a format that this version does not know");
    else if (id == NULL || strcmp(id, st->run) != 0 || !unhex64(pawl_value_string(pawl_value_get(v, "life")), &life) || life != st->life)
        rc = fail(err, PAWL_CORRUPT, "%s: the snapshot is of another run", st->run);
    else if (hex == NULL || pawl_value_uint(pawl_value_get(v, "seq")) < st->base_seq)
        rc = fail(err, PAWL_CORRUPT, "%s: the snapshot is before the base", st->run);
    if (rc == PAWL_OK) {
        txn t;

        txn_begin(st, &t, &mem, TXN_DROP);
        frame_clear(st, &st->root);
        st_free(st, st->reason, st->reason_bytes);
        st->reason = NULL;
        st->reason_bytes = 0;
        st_list_free(st, st->pending);
        undo_order_free(st);
        st_list_free(st, st->undo);
        st->pending = st->undo = NULL;
        txn_end(st, true);
        rc = fold_read(st, pawl_value_get(v, "fold"), &mem, &apart, err);
        st->seq = pawl_value_uint(pawl_value_get(v, "seq"));
        if (rc == PAWL_OK && !hash_unhex(hex, strlen(hex), &st->head))
            rc = damaged(err, "the snapshot names no hash");
        st->snapshot_bytes = bytes.size + apart;
    }
    arena_free(&mem);
    return rc == PAWL_NOMEM ? fail(err, rc, "no memory to read a snapshot") : rc;
}
