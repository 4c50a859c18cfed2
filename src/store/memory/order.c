/* order.c - two heaps of runs: by the time when they are due, and by their first timer.
 *
 * Owns the heaps of a namespace. Called by the other files of the folder; one thread at a time.
 * Invariant: order_update was called after every change of a lease, timer, mailbox or status, so head.mail and head.look_ms are current. */
#include "store/memory/memory.h"

#define NEVER INT64_MAX

static bool sooner(const stored_run *a, const stored_run *b, int by)
{
    if (BROKEN(BROKEN_DUE_ORDER))
        return a->key[by] > b->key[by];
    return a->key[by] != b->key[by] ? a->key[by] < b->key[by] : a->head.no < b->head.no;
}

static void place(heap_of_runs *h, int by, size_t i, stored_run *r)
{
    h->items[i] = r;
    r->pos[by] = i + 1;
}

static void sift_up(heap_of_runs *h, int by, size_t i, stored_run *r)
{
    for (; i > 0 && sooner(r, h->items[(i - 1) / 2], by); i = (i - 1) / 2)
        place(h, by, i, h->items[(i - 1) / 2]);
    place(h, by, i, r);
}

static void sift_down(heap_of_runs *h, int by, size_t i, stored_run *r)
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

static void heap_remove(heap_of_runs *h, int by, stored_run *r)
{
    size_t i = r->pos[by];
    stored_run *last;

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

static void heap_set(heap_of_runs *h, int by, stored_run *r, int64_t key)
{
    if (key == r->key[by] && (r->pos[by] != 0) == (key != NEVER))
        return;
    heap_remove(h, by, r);
    r->key[by] = key;
    if (key != NEVER)
        sift_up(h, by, h->count++, r);
}

bool order_room(memory_space *m)
{
    for (int by = 0; by < ORDERS; by++)
        if (!mem_room(&m->alloc, (void **)&m->heaps[by].items, &m->heaps[by].cap, m->runs.count, sizeof(stored_run *)))
            return false;
    return mem_room(&m->alloc, (void **)&m->order, &m->order_cap, m->runs.count, sizeof(stored_run *));
}

void order_update(memory_space *m, stored_run *r)
{
    int64_t due = store_due_ms(&r->head, r->mail_first == NULL ? 0 : r->mail_first->d.at_ms);

    r->head.mail = r->mail_count;
    r->head.look_ms = due == NEVER ? 0 : due;
    heap_set(&m->heaps[BY_DUE], BY_DUE, r, due);
    heap_set(&m->heaps[BY_WAKE], BY_WAKE, r, r->head.wake_ms == 0 ? NEVER : r->head.wake_ms);
}

void order_remove(memory_space *m, stored_run *r)
{
    for (int by = 0; by < ORDERS; by++)
        heap_remove(&m->heaps[by], by, r);
}

static bool is_after(const stored_run *r, const pawl_due *after)
{
    return after == NULL || r->head.look_ms > after->look_ms || (r->head.look_ms == after->look_ms && r->head.no > after->no);
}

/* Visited runs are moved behind the end of the heap, which keeps the heap valid while the callback runs, and are put back at the end. */
void order_walk(memory_space *m, int64_t asked_ms, int64_t now_ms, const pawl_due *after, size_t limit, pawl_head_fn *fn, void *ctx)
{
    heap_of_runs *h = &m->heaps[BY_DUE];
    int64_t until = asked_ms > now_ms ? asked_ms : now_ms;
    size_t count = h->count, emitted = 0;
    bool more = true;

    while (more && emitted < limit && h->count > 0 && h->items[0]->key[BY_DUE] <= until) {
        stored_run *r = h->items[0];

        heap_remove(h, BY_DUE, r);
        h->items[h->count] = r;
        if (is_after(r, after) && store_is_due(&r->head, asked_ms, now_ms)) {
            emitted++;
            more = fn(ctx, &r->head);
        }
    }
    while (h->count < count) {
        stored_run *r = h->items[h->count];

        sift_up(h, BY_DUE, h->count++, r);
    }
}
