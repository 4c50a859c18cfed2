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

/* The index of the root task of an item's path; UINT32_MAX: none. *below: the rest of the path. */
static uint32_t root_of(pawl_state *st, const item *it, const char **below)
{
    const char *path = it->task != NULL ? it->task : "";
    char first[NAME_BYTES_MAX + 16];
    size_t n;
    frame *in;
    task *tk = NULL;

    *below = "";
    if (it->place < st->root.ntasks && st->root.tasks[it->place].name == it->task)
        return it->place;
    if ((n = strcspn(path, "/")) > 0 && n < sizeof first) {
        memcpy(first, path, n);
        first[n] = '\0';
        tk = task_find(st, first, &in);
    }
    *below = tk != NULL ? path + n : path;
    return tk != NULL ? (uint32_t)(tk - st->root.tasks) : UINT32_MAX;
}

enum { MARKS_FIRST = 4, MARKS_MOST = 512 };

static mark *mark_room(pawl_state *st)
{
    mark_block *at = st->marks;

    if (!TOUCH(st, &st->nmarks))
        return NULL;
    if (at == NULL || st->nmarks == at->from + at->cap) {
        const uint32_t cap = at == NULL ? MARKS_FIRST : at->cap < MARKS_MOST ? at->cap * 2 : MARKS_MOST;

        if ((at = st_alloc(st, sizeof *at + cap * sizeof *at->of)) == NULL || !TOUCH(st, &st->marks))
            return NULL;
        at->older = st->marks;
        at->from = st->nmarks;
        at->cap = cap;
        st->marks = at;
    }
    return &at->of[st->nmarks++ - at->from];
}

pawl_code mark_add(pawl_state *st, const item *it, const char *text)
{
    mark m = { .visit = it->visit, .n = it->n, .rank = it->kind }, *room;
    const char *below;

    m.root = root_of(st, it, &below);
    if (it->kind == ITEM_LEAVE || it->kind == ITEM_FAIL || it->kind == ITEM_CLOSE || it->kind == ITEM_UPDATE)
        m.n = UINT32_MAX;       /* sorts after every command of the visit */
    hash_of(text, it->text_size, &m.digest);
    m.path = "";
    if ((*below != '\0' && (m.path = st_text(st, below, strlen(below))) == NULL) || (room = mark_room(st)) == NULL)
        return PAWL_NOMEM;
    *room = m;
    return PAWL_OK;
}

/* A mark to be sorted: first by its key, the index of its root task above its own number, and then those of one root task. */
typedef union sort_key { uint64_t key; mark *of; } sort_key;

static bool by_key(sort_key a, sort_key b) { return a.key <= b.key; }
static bool by_mark(sort_key a, sort_key b) { return mark_order(a.of, b.of) <= 0; }

/* Stable bottom-up merge sort; `room` has n places. Only repeated updates make equal marks, and their order matters. Mostly all is in order already. */
static void sort_keys(sort_key *v, sort_key *room, uint32_t n, bool (*order)(sort_key, sort_key))
{
    sort_key *from = v, *to = room;
    bool ordered = true;

    for (uint32_t i = 1; i < n && ordered; i++)
        ordered = order(v[i - 1], v[i]);
    for (uint32_t width = 1; width < n && !ordered; width = width > n / 2 ? n : width * 2) {
        for (uint32_t low = 0; low < n; low += n - low < 2 * width ? n - low : 2 * width) {
            uint32_t mid = n - low < width ? n : low + width, high = n - mid < width ? n : mid + width, i = low, j = mid;

            for (uint32_t k = low; k < high; k++)
                to[k] = j >= high || (i < mid && order(from[i], from[j])) ? from[i++] : from[j++];
        }
        sort_key *sorted = to;

        to = from;
        from = sorted;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
}

void marks_digest(pawl_state *st, hash *out)
{
    const uint32_t n = st->nmarks;
    mark **order = arena_get(st->t->mem, ((size_t)n + 1) * sizeof *order);
    sort_key *v = arena_get(st->t->mem, 2 * ((size_t)n + 1) * sizeof *v);
    uint8_t *all = arena_get(st->t->mem, ((size_t)n + 1) * sizeof(hash));

    memset(out, 0, sizeof *out);
    if (order == NULL || v == NULL || all == NULL)
        return;                 /* the arena has failed, so the transaction is rolled back */
    for (mark_block *b = st->marks; b != NULL; b = b->older)
        for (uint32_t i = b->from; i < n && i < b->from + b->cap; i++) {
            order[i] = &b->of[i - b->from];
            v[i].key = (uint64_t)order[i]->root << 32 | i;
        }
    sort_keys(v, v + n + 1, n, by_key);         /* without a look at the marks, which are far apart */
    for (uint32_t i = 0; i < n; i++)
        v[i].of = order[(uint32_t)v[i].key];
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && v[to].of->root == v[from].of->root;)
            to++;
        sort_keys(v + from, v + n + 1, to - from, by_mark);
    }
    for (uint32_t i = 0; i < n; i++)
        memcpy(all + i * sizeof(hash), &v[i].of->digest, sizeof(hash));
    hash_of(all, n * sizeof(hash), out);
}

void marks_free(pawl_state *st)
{
    for (mark_block *b = st->marks, *older; b != NULL; b = older) {
        older = b->older;
        for (uint32_t i = b->from; i < st->nmarks && i < b->from + b->cap; i++)
            if (*b->of[i - b->from].path != '\0')
                st_free(st, b->of[i - b->from].path, strlen(b->of[i - b->from].path) + 1);
        st_free(st, b, sizeof *b + b->cap * sizeof *b->of);
    }
}

pawl_code marks_drop(pawl_state *st)
{
    if (!TOUCH(st, &st->nmarks) || !TOUCH(st, &st->marks))
        return PAWL_NOMEM;
    marks_free(st);
    st->marks = NULL;
    st->nmarks = 0;
    return PAWL_OK;
}
