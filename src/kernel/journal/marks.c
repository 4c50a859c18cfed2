/* marks.c - the digests of task records: one mark for each item; the entry that covers the records stores the digest of all marks (E2).
 *
 * Called by folds and by the step loop, inside a transaction. The marks are sorted by task, visit and number before hashing, so the order of
 * arrival has no influence. */
#include "kernel/fold.h"
#include "kernel/names.h"
#include "kernel/txn.h"

#include <string.h>

static int by_bytes(const char *a, const char *b)
{
    int d = strcmp(a, b);

    return (d > 0) - (d < 0);
}

static int mark_order(const mark *a, const mark *b)
{
    int d = (a->root > b->root) - (a->root < b->root);

    if (d == 0)
        d = by_bytes(a->path, b->path);
    if (d == 0)
        d = (a->visit > b->visit) - (a->visit < b->visit);
    if (d == 0)
        d = (a->n > b->n) - (a->n < b->n);
    return d != 0 ? d : (a->rank > b->rank) - (a->rank < b->rank);
}

pawl_code mark_add(pawl_state *st, const item *it, const char *text)
{
    mark m = { .root = UINT32_MAX, .visit = it->visit, .n = it->n, .rank = it->kind };
    const char *path = it->task != NULL ? it->task : "";
    char first[NAME_BYTES_MAX + 16];
    size_t n = strcspn(path, "/");
    frame *in;
    task *tk = NULL;

    if (n > 0 && n < sizeof first) {
        memcpy(first, path, n);
        first[n] = '\0';
        tk = task_find(st, first, &in);
    }
    if (tk != NULL)
        m.root = (uint32_t)(tk - st->root.tasks);
    if (it->kind == ITEM_LEAVE || it->kind == ITEM_FAIL || it->kind == ITEM_CLOSE || it->kind == ITEM_UPDATE)
        m.n = UINT32_MAX;       /* sorts after every command of the visit */
    hash_of(text, it->text_size, &m.digest);
    if (!TOUCH(st, &st->marks) || !TOUCH(st, &st->nmarks) || !TOUCH(st, &st->marks_cap))
        return PAWL_NOMEM;
    if (st->nmarks == st->marks_cap) {
        uint32_t cap = st->marks_cap == 0 ? 4 : st->marks_cap * 2;
        mark *grown = st_alloc(st, cap * sizeof *grown);

        if (grown == NULL)
            return PAWL_NOMEM;
        if (st->nmarks > 0)
            memcpy(grown, st->marks, st->nmarks * sizeof *grown);
        st_free(st, st->marks, st->marks_cap * sizeof *grown);
        st->marks = grown;
        st->marks_cap = cap;
    }
    if ((m.path = st_text(st, path, strlen(path))) == NULL)
        return PAWL_NOMEM;
    st->marks[st->nmarks++] = m;
    return PAWL_OK;
}

/* Stable bottom-up merge sort; `room` has n places. Only repeated updates make equal marks, and their order matters. Returns the one of the two
 * that has the result. */
static mark **marks_sort(mark **v, mark **room, uint32_t n)
{
    for (uint32_t width = 1; width < n; width = width > n / 2 ? n : width * 2) {
        for (uint32_t low = 0; low < n; low += n - low < 2 * width ? n - low : 2 * width) {
            uint32_t mid = n - low < width ? n : low + width, high = n - mid < width ? n : mid + width, i = low, j = mid;

            for (uint32_t k = low; k < high; k++)
                room[k] = j >= high || (i < mid && mark_order(v[i], v[j]) <= 0) ? v[i++] : v[j++];
        }
        mark **sorted = room;

        room = v;
        v = sorted;
    }
    return v;
}

void marks_digest(pawl_state *st, hash *out)
{
    mark **order = arena_get(st->t->mem, 2 * ((size_t)st->nmarks + 1) * sizeof *order);
    uint8_t *all = arena_get(st->t->mem, (st->nmarks + 1) * sizeof(hash));

    memset(out, 0, sizeof *out);
    if (order == NULL || all == NULL)
        return;                 /* the arena has failed, so the transaction is rolled back */
    for (uint32_t i = 0; i < st->nmarks; i++)
        order[i] = &st->marks[i];
    order = marks_sort(order, order + st->nmarks + 1, st->nmarks);
    for (uint32_t i = 0; i < st->nmarks; i++)
        memcpy(all + i * sizeof(hash), &order[i]->digest, sizeof(hash));
    hash_of(all, st->nmarks * sizeof(hash), out);
}

pawl_code marks_drop(pawl_state *st)
{
    if (!TOUCH(st, st))
        return PAWL_NOMEM;
    for (uint32_t i = 0; i < st->nmarks; i++)
        st_free(st, st->marks[i].path, strlen(st->marks[i].path) + 1);
    st_free(st, st->marks, st->marks_cap * sizeof *st->marks);
    st->marks = NULL;
    st->nmarks = st->marks_cap = 0;
    return PAWL_OK;
}
