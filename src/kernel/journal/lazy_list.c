/* lazy_list.c - loads list elements that a snapshot left in the journal, on first use (K7).
 *
 * Called through st->segment_load, on the thread that owns the state. Folds the entries that appended the elements again, in a side state with
 * this one channel only (state.only), so the same merge code gives the same elements. */
#include "kernel/channel.h"
#include "kernel/fold.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"

#include <string.h>

/* The side state: one declaration of the first state, the same loader, no journal. */
static void side_begin(pawl_state *side, const pawl_state *st, const channel *c, txn *t, arena *mem)
{
    *side = (pawl_state){ .alloc = st->alloc, .decls = c->d, .ndecls = 1, .loader = st->loader,
                          .has_loader = st->has_loader, .only = true, .run = st->run, .life = st->life };
    side->root.where = "";
    arena_init(mem, &st->alloc, 1024);
    txn_begin(side, t, mem, TXN_FEED);
}

/* Folds only the next tasks of a close: of the entry before the first appending entry only these matter. */
static pawl_code edges_only(pawl_state *side, pawl_entry *e, item *it, pawl_err *err)
{
    closing next = { .next = it->closing->next, .nnext = it->closing->nnext };
    const closing *was = it->closing;
    pawl_code rc;

    it->closing = &next;
    rc = item_fold(side, e, it, err);
    it->closing = was;
    return rc;
}

static pawl_code fold_lines(pawl_state *side, arena *mem, pawl_bytes lines, bool after_close, pawl_err *err)
{
    const char *at = lines.data, *end = lines.size > 0 ? lines.data + lines.size : at;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        size_t n = nl != NULL ? (size_t)(nl - at) : (size_t)(end - at);
        pawl_entry e = { .mem = mem };
        bool skip = after_close;

        rc = entry_parse(&e, (pawl_bytes){ at, n }, err);
        for (item *it = e.items; rc == PAWL_OK && it != NULL; it = it->next) {
            bool close = it->kind == ITEM_CLOSE && *it->task == '\0';

            if (strchr(it->task, '/') != NULL || it->kind == ITEM_FRAME || (it->kind == ITEM_CLOSE && !close)) {
                side->root.open = true; /* so that an update waits for the close, as in the run */
                continue;               /* inside a subgraph: its result is in the leave of its task */
            }
            if (it->superstep > 0)
                side->root.superstep = it->superstep;
            if (it->kind == ITEM_REOPEN)
                status_move(side, PAWL_STATUS_FAILED);

            if (skip && close) {
                rc = edges_only(side, &e, it, err);
                skip = false;
            } else if (!skip && it->kind != ITEM_RECORDS && it->kind != ITEM_END && it->kind != ITEM_ADOPT) {
                rc = item_fold(side, &e, it, err);
            }
        }
        at += n + 1;
    }
    return rc;
}

/* Finds the close that made the tasks of the first superstep. Entries of answers or updates may be in between. Without a close, the base has
 * the tasks. */
static pawl_code last_close(const pawl_state *st, arena *mem, uint64_t *seq, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (; *seq > st->base_seq; (*seq)--) {
        pawl_bytes entry = {0}, records = {0};
        pawl_entry e = { .mem = mem };

        if ((rc = st->loader.entry(st->loader.ctx, *seq, &entry, &records, err)) != PAWL_OK || (rc = entry_parse(&e, entry, err)) != PAWL_OK ||
            e.closes)
            break;
    }
    return rc;
}

static pawl_code base_tasks(pawl_state *side, const pawl_state *st, arena *mem, pawl_err *err)
{
    const pawl_value *base = value_read(mem, st->base.data, st->base.size, "the base", err), *fold = pawl_value_get(base, "fold");
    const pawl_value *next = pawl_value_get(fold, "next"), *v;
    const char **names = arena_zero(mem, (pawl_value_size(next) + 1) * sizeof *names);
    closing cl = { .next = names };
    item close = { .kind = ITEM_CLOSE, .task = "", .closing = &cl };
    pawl_entry e = { .mem = mem, .record = true };
    pawl_iter it = pawl_iter_of(next);
    pawl_code rc = PAWL_OK;

    if (names == NULL || base == NULL)
        return mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (fold == NULL)
        return PAWL_OK;
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        names[cl.nnext++] = pawl_value_string(v);
    rc = item_fold(side, &e, &close, err);
    side->root.superstep = pawl_value_uint(pawl_value_get(fold, "superstep"));
    it = pawl_iter_of(pawl_value_get(fold, "open"));
    while (rc == PAWL_OK && (v = pawl_iter_next(&it, NULL)) != NULL) {
        item *open = item_of_value(mem, v, &e.items_text, err);

        if (open == NULL)
            rc = PAWL_CORRUPT;
        else if (strchr(open->task, '/') == NULL && open->kind != ITEM_FRAME)
            rc = item_fold(side, &e, open, err);
    }
    return rc;
}

static pawl_code fold_range(pawl_state *side, arena *mem, const pawl_state *st, uint64_t after, uint64_t upto, pawl_err *err)
{
    uint64_t from = after;
    pawl_code rc = last_close(st, mem, &from, err);

    if (rc == PAWL_OK && from == st->base_seq)
        rc = base_tasks(side, st, mem, err);
    for (uint64_t seq = from; rc == PAWL_OK && seq <= upto; seq++) {
        pawl_bytes entry = {0}, records = {0};

        if (seq == st->base_seq)
            continue;           /* the base is not an entry: base_value() has read its values */
        rc = st->loader.entry(st->loader.ctx, seq, &entry, &records, err);
        if (rc == PAWL_OK && seq > from)
            rc = fold_lines(side, mem, records, false, err);
        if (rc == PAWL_OK)
            rc = fold_lines(side, mem, entry, seq == from, err);
        side->seq = seq;
    }
    return rc;
}

/* Puts the loaded elements before the elements that were appended since. */
static pawl_code list_join(list *l, const list *old)
{
    size_t more = old->used - 1, used = l->used == 0 ? 1 : l->used, cap = used + more + 1;
    yyjson_val *nodes = mem_grow(&l->strings.alloc, NULL, 0, cap * sizeof *nodes);

    if (nodes == NULL)
        return PAWL_NOMEM;
    memcpy(nodes + 1, old->nodes + 1, more * sizeof *nodes);
    for (size_t i = 1; i <= more; i++) {
        if ((nodes[i].tag & YYJSON_TYPE_MASK) != YYJSON_TYPE_STR)
            continue;
        nodes[i].uni.str = arena_strdup(&l->strings, nodes[i].uni.str, nodes[i].tag >> YYJSON_TAG_BIT);
        if (nodes[i].uni.str == NULL) {
            mem_free(&l->strings.alloc, nodes, cap * sizeof *nodes);
            return PAWL_NOMEM;
        }
    }
    if (used > 1)
        memcpy(nodes + 1 + more, l->nodes + 1, (used - 1) * sizeof *nodes);
    mem_free(&l->strings.alloc, l->nodes, l->cap * sizeof *nodes);
    l->nodes = nodes;
    l->cap = cap;
    l->used = used + more;
    l->count += old->count;
    l->segment = 0;
    l->digested_nodes = 0;
    list_forget_index(l);
    return PAWL_OK;
}

/* Sets the value of the channel in the base, when the list starts there. */
static pawl_code base_value(pawl_state *side, const pawl_state *st, arena *mem, pawl_err *err)
{
    channel *c = side->root.channels;
    const pawl_value *base, *fold, *v;
    char under[NAME_BYTES_MAX + 16];
    size_t apart = 0;
    pawl_code rc;

    if ((base = value_read(mem, st->base.data, st->base.size, "the base", err)) == NULL)
        return PAWL_CORRUPT;
    if ((fold = pawl_value_get(base, "fold")) == NULL)
        return PAWL_OK;
    if (pawl_value_get(pawl_value_get(base, "channels"), c->d->name) == NULL &&
        pawl_value_get(pawl_value_get(fold, "channels"), c->d->name) == NULL)
        return PAWL_OK;         /* a machine that was adopted after the base declared this channel */
    if ((rc = channel_clear(side, c)) != PAWL_OK)   /* the value in the base replaces the declared first value */
        return rc;
    memcpy(under, "/values/", 8);
    memcpy(under + 8, c->d->name, strlen(c->d->name) + 1);
    if ((rc = blobs_fill(side, mem, &fold, pawl_value_get(fold, "refs"), under, &apart, err)) != PAWL_OK)
        return rc;
    v = pawl_value_get(pawl_value_get(fold, "values"), c->d->name);
    return v == NULL ? PAWL_OK : channel_write(side, c, OP_OVERWRITE, v, err);
}

pawl_code segment_load(pawl_state *st, channel *c, pawl_err *err)
{
    pawl_state side;
    pawl_code rc;
    channel *read;
    list *l = c->list.of, *whole;
    arena mem;
    txn t;

    if (!st->has_loader || st->loader.entry == NULL)
        return st->load_failed = fail(err, PAWL_IO, "channel \"%s\": %zu elements are in the journal, and the state has no loader",
                                      c->d->name, l->segment);
    side_begin(&side, st, c, &t, &mem);
    rc = channels_init(&side, &side.root);
    side.seq = st->base_seq;
    if (rc == PAWL_OK && l->after == st->base_seq)
        rc = base_value(&side, st, &mem, err);
    if (rc == PAWL_OK)
        rc = fold_range(&side, &mem, st, l->after, l->upto, err);
    read = side.root.channels;
    whole = rc == PAWL_OK ? channel_list(read) : NULL;
    if (rc == PAWL_OK && (whole == NULL || whole->count != l->segment))
        rc = fail(err, PAWL_CORRUPT, "channel \"%s\": entries %llu to %llu do not hold the %zu elements that the snapshot counts",
                  c->d->name, (unsigned long long)l->after, (unsigned long long)l->upto, l->segment);
    if (rc == PAWL_OK)
        rc = list_join(l, whole);
    if (rc != PAWL_OK && (mem.failed || side.load_failed != PAWL_OK))
        rc = mem.failed ? PAWL_NOMEM : side.load_failed;
    txn_end(&side, false);
    arena_free(&mem);
    if (rc != PAWL_OK)
        st->load_failed = rc;
    return rc;
}
