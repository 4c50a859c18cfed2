/* order.c - two heaps of runs, by the time when they are due and by their first timer, and the verbs due and next_due.
 *
 * Owns the heaps of a namespace; one thread at a time. order_set is called after every change of a head, lease, mailbox or timer. */
#include "store/memory/memory.h"

#define NEVER INT64_MAX

static bool sooner(const run *a, const run *b, int by)
{
    if (BROKEN(BROKEN_DUE_ORDER))
        return a->key[by] > b->key[by];
    return a->key[by] != b->key[by] ? a->key[by] < b->key[by] : a->head.no < b->head.no;
}

static void place(heap_of_runs *h, int by, size_t i, run *r)
{
    h->items[i] = r;
    r->pos[by] = i + 1;
}

static void sift_up(heap_of_runs *h, int by, size_t i, run *r)
{
    for (; i > 0 && sooner(r, h->items[(i - 1) / 2], by); i = (i - 1) / 2)
        place(h, by, i, h->items[(i - 1) / 2]);
    place(h, by, i, r);
}

static void sift_down(heap_of_runs *h, int by, size_t i, run *r)
{
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && sooner(h->items[child + 1], h->items[child], by))
            child++;
        if (!sooner(h->items[child], r, by))
            break;
        place(h, by, i, h->items[child]);
    }
    place(h, by, i, r);
}

static void heap_take(heap_of_runs *h, int by, run *r)
{
    size_t i = r->pos[by];
    run *last;

    if (i-- == 0)
        return;
    r->pos[by] = 0;
    last = h->items[--h->count];
    if (last == r)
        return;
    if (i > 0 && sooner(last, h->items[(i - 1) / 2], by))
        sift_up(h, by, i, last);
    else
        sift_down(h, by, i, last);
}

static void heap_set(heap_of_runs *h, int by, run *r, int64_t key)
{
    if (key == r->key[by] && (r->pos[by] != 0) == (key != NEVER))
        return;
    heap_take(h, by, r);
    r->key[by] = key;
    if (key != NEVER)
        sift_up(h, by, h->count++, r);
}

bool order_room(memory *m)
{
    for (int by = 0; by < ORDERS; by++)
        if (!mem_room(&m->alloc, (void **)&m->heaps[by].items, &m->heaps[by].cap, m->runs.count, sizeof(run *)))
            return false;
    return mem_room(&m->alloc, (void **)&m->order, &m->order_cap, m->runs.count, sizeof(run *));
}

void order_set(memory *m, run *r)
{
    int64_t look = store_look_ms(&r->head, r->first == NULL ? 0 : r->first->d.at_ms);

    r->head.mail = r->ndeliveries;
    r->head.look_ms = look == NEVER ? 0 : look;
    heap_set(&m->heaps[BY_LOOK], BY_LOOK, r, look);
    heap_set(&m->heaps[BY_WAKE], BY_WAKE, r, r->head.wake_ms == 0 ? NEVER : r->head.wake_ms);
}

void order_take(memory *m, run *r)
{
    for (int by = 0; by < ORDERS; by++)
        heap_take(&m->heaps[by], by, r);
}

static bool is_after(const run *r, const pawl_due *after)
{
    return after == NULL || r->head.look_ms > after->look_ms || (r->head.look_ms == after->look_ms && r->head.no > after->no);
}

/* Those that were seen stand behind the heap's end until all are, and are then put back. */
pawl_code memory_due(pawl_store *s, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx, pawl_err *err)
{
    memory *m = memory_of(s);
    heap_of_runs *h = &m->heaps[BY_LOOK];
    int64_t now = memory_now(s), until = now_ms > now ? now_ms : now;
    size_t count = h->count, told = 0;
    bool more = true;

    if (fn == NULL)
        return fail(err, PAWL_INVALID, "what is due is told to nobody");
    while (more && told < limit && h->count > 0 && h->items[0]->key[BY_LOOK] <= until) {
        run *r = h->items[0];

        heap_take(h, BY_LOOK, r);
        h->items[h->count] = r;
        if (is_after(r, after) && store_is_due(&r->head, now_ms, now)) {
            told++;
            more = fn(ctx, &r->head);
        }
    }
    while (h->count < count) {
        run *r = h->items[h->count];

        sift_up(h, BY_LOOK, h->count++, r);
    }
    return PAWL_OK;
}

int64_t memory_next_due(pawl_store *s)
{
    const heap_of_runs *h = &memory_of(s)->heaps[BY_WAKE];

    return h->count == 0 ? 0 : h->items[0]->key[BY_WAKE];
}
