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
    st->marks->paths = st->marks->paths || *below != '\0';
    return PAWL_OK;
}

/* Stable bottom-up merge sort; `room` has n places. Only repeated updates make equal marks, and their order matters. Mostly all is in order already. */
static void marks_sort(mark **v, mark **room, uint32_t n)
{
    mark **from = v, **to = room;
    bool ordered = true;

    for (uint32_t i = 1; i < n && ordered; i++)
        ordered = mark_order(v[i - 1], v[i]) <= 0;
    for (uint32_t width = 1; width < n && !ordered; width = width > n / 2 ? n : width * 2) {
        for (uint32_t low = 0; low < n; low += n - low < 2 * width ? n - low : 2 * width) {
            uint32_t mid = n - low < width ? n : low + width, high = n - mid < width ? n : mid + width, i = low, j = mid;

            for (uint32_t k = low; k < high; k++)
                to[k] = j >= high || (i < mid && mark_order(from[i], from[j]) <= 0) ? from[i++] : from[j++];
        }
        mark **sorted = to;

        to = from;
        from = sorted;
    }
    if (from != v)
        memcpy(v, from, n * sizeof(mark *));
}

/* The marks of a superstep, in groups by their root task. Marks of no task are the last group. */
typedef struct mark_groups {
    mark **of;
    uint32_t *end;              /* of each group in `of`; before the marks have their places, where the next one of the group goes */
    uint32_t n;                 /* of groups */
    mark **came;                /* in the order in which they came; room for a sort when all have their places */
} mark_groups;

/* Counts the marks of each group, and then puts each in its place: comparing marks, which are far apart, would grow faster than their number. */
static bool mark_groups_make(pawl_state *st, mark_groups *g)
{
    const uint32_t n = st->nmarks;
    uint32_t *root = arena_get(st->t->mem, ((size_t)n + 1) * sizeof *root), top = 0;

    g->of = arena_get(st->t->mem, ((size_t)n + 1) * sizeof(mark *));
    g->came = arena_get(st->t->mem, ((size_t)n + 1) * sizeof(mark *));
    if (root == NULL || g->of == NULL || g->came == NULL)
        return false;
    for (mark_block *b = st->marks; b != NULL; b = b->older)
        for (uint32_t i = b->from; i < n && i < b->from + b->cap; i++) {
            g->came[i] = &b->of[i - b->from];
            root[i] = g->came[i]->root;
            top = root[i] != UINT32_MAX && root[i] >= top ? root[i] + 1 : top;
        }
    g->n = top + 1;
    if ((g->end = arena_zero(st->t->mem, ((size_t)g->n + 1) * sizeof *g->end)) == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        g->end[(root[i] < top ? root[i] : top) + 1]++;
    for (uint32_t k = 1; k < g->n; k++)
        g->end[k] += g->end[k - 1];
    for (uint32_t i = 0; i < n; i++)
        g->of[g->end[root[i] < top ? root[i] : top]++] = g->came[i];
    return true;
}

void marks_digest(pawl_state *st, hash *out)
{
    uint8_t *all = arena_get(st->t->mem, ((size_t)st->nmarks + 1) * sizeof(hash));
    mark_groups g = {0};

    memset(out, 0, sizeof *out);
    if (all == NULL || !mark_groups_make(st, &g))
        return;                 /* the arena has failed, so the transaction is rolled back */
    for (uint32_t k = 0, from = 0; k < g.n; from = g.end[k++]) {
        marks_sort(g.of + from, g.came, g.end[k] - from);
        for (uint32_t i = from; i < g.end[k]; i++)
            memcpy(all + i * sizeof(hash), &g.of[i]->digest, sizeof(hash));
    }
    hash_of(all, st->nmarks * sizeof(hash), out);
}

void marks_free(pawl_state *st)
{
    for (mark_block *b = st->marks, *older; b != NULL; b = older) {
        older = b->older;
        for (uint32_t i = b->from; b->paths && i < st->nmarks && i < b->from + b->cap; i++)
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
