/* timer_index.c - the timers of a run as a heap by their times. See timer_index.h.
 *
 * Called by wait_index.c and timers.c on the driving thread, without a lock. The cached run owns the heap. Invariant: each open call that has a timer is in
 * the heap. A call that is over may be in it, too: the heap drops it when it comes to the front, or when the heap is full. */
#include "engine/run/run.h"

#include "kernel/events.h"
#include "kernel/state.h"

#include <string.h>

#if defined __GNUC__
#define CACHE_NEAR(at) __builtin_prefetch(at)   /* to be looked at soon; where that is no address, nothing happens */
#else
#define CACHE_NEAR(at) ((void)(at))
#endif

static bool timer_before(const timer_place *a, const timer_place *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->of->made < b->of->made;
}

enum { BRANCHES = 4 };          /* half as deep as with two, and the four are beside each other */

static void timer_up(timer_index *x, size_t i, timer_place t)
{
    for (; i > 0 && timer_before(&t, &x->heap[(i - 1) / BRANCHES]); i = (i - 1) / BRANCHES)
        x->heap[i] = x->heap[(i - 1) / BRANCHES];
    x->heap[i] = t;
}

static void timer_down(timer_index *x, size_t i, timer_place t)
{
    for (size_t below; (below = BRANCHES * i + 1) < x->count; i = below) {
        const size_t end = x->count - below < BRANCHES ? x->count : below + BRANCHES;

        for (size_t k = below + 1; k < end; k++)
            below = timer_before(&x->heap[k], &x->heap[below]) ? k : below;
        if (!timer_before(&x->heap[below], &t))
            break;
        x->heap[i] = x->heap[below];
    }
    x->heap[i] = t;
}

/* Of a task of the run's frame; UINT32_MAX: of another one, or none. */
static uint32_t task_place(const frame *f, const task *tk)
{
    const uintptr_t from = (uintptr_t)f->tasks, at = (uintptr_t)tk;

    return tk != NULL && at >= from && (at - from) / sizeof *tk < f->ntasks ? (uint32_t)((at - from) / sizeof *tk) : UINT32_MAX;
}

/* Timers come in the order of their times, and memory is in the order in which they were made. Of very many, each is far from the cache when its turn comes:
 * the task of the first is looked up next, and one of the four behind it is the first of the next event. */
static void timers_near(const timer_index *x, const frame *f)
{
    for (size_t i = 0; i < x->count && i <= BRANCHES; i++) {
        const timer_place *t = &x->heap[i];

        if (i > 0)
            CACHE_NEAR(t->of);
        if (t->task >= f->ntasks)
            continue;
        CACHE_NEAR(&f->tasks[t->task].leave);
        if (i > 0) {
            CACHE_NEAR(&f->tasks[t->task]);
            continue;
        }
        CACHE_NEAR(f->tasks[t->task].name);
        CACHE_NEAR(f->tasks[t->task].calls);
    }
}

static void timer_free(pawl_engine *e, timer *t)
{
    mem_free(&e->alloc, t, sizeof *t + strlen(t->id) + 1);
}

/* Timers of calls that are over go. */
static void timers_sweep(pawl_engine *e, cached_run *r)
{
    timer_index *x = &r->timers;
    size_t kept = 0;

    for (size_t i = 0; i < x->count; i++)
        if (call_open(r->st, x->heap[i].of->id))
            x->heap[kept++] = x->heap[i];
        else
            timer_free(e, x->heap[i].of);
    x->count = kept;
    for (size_t i = kept / BRANCHES + 1; i > 0 && kept > 0; i--)
        timer_down(x, i - 1, x->heap[i - 1]);
}

pawl_code timer_at(const pawl_engine *e, const call *c, int64_t *at_ms)
{
    const pawl_value *spec;
    arena mem;

    *at_ms = c->kind == CALL_SLEEP ? c->time_ms : 0;
    if (c->kind != CALL_ASK)
        return PAWL_OK;
    arena_init(&mem, &e->alloc, 1024);
    spec = value_read(&mem, c->spec, c->spec_size, "a wait", NULL);
    if (pawl_value_get(spec, "otherwise") != NULL)
        *at_ms = pawl_value_int(pawl_value_get(spec, "expires"));
    arena_free(&mem);
    return spec != NULL ? PAWL_OK : PAWL_NOMEM;
}

pawl_code timer_add(pawl_engine *e, cached_run *r, const task *tk, const call *c, const char *id)
{
    timer_index *x = &r->timers;
    const size_t size = strlen(id) + 1;
    int64_t at;
    timer *t;

    if (timer_at(e, c, &at) != PAWL_OK)
        return PAWL_NOMEM;
    if (at == 0)
        return PAWL_OK;
    if (x->count == x->cap) {
        timers_sweep(e, r);
        if (x->count >= x->cap / 2 && !mem_room(&e->alloc, (void **)&x->heap, &x->cap, x->cap, sizeof *x->heap))
            return PAWL_NOMEM;
    }
    if ((t = mem_new(&e->alloc, sizeof *t + size)) == NULL)
        return PAWL_NOMEM;
    *t = (timer){ .at_ms = at, .made = x->made++, .sleeps = c->kind == CALL_SLEEP };
    memcpy(t->id, id, size);
    timer_up(x, x->count++, (timer_place){ at, t, task_place(&r->st->root, tk) });
    return PAWL_OK;
}

const timer *timer_first(pawl_engine *e, cached_run *r)
{
    timer_index *x = &r->timers;

    while (x->count > 0 && !call_open(r->st, x->heap[0].of->id)) {
        timer_free(e, x->heap[0].of);
        if (--x->count > 0)
            timer_down(x, 0, x->heap[x->count]);
        timers_near(x, &r->st->root);
    }
    return x->count > 0 ? x->heap[0].of : NULL;
}

int64_t timer_wake_ms(pawl_engine *e, cached_run *r)
{
    const timer *t = timer_first(e, r);

    for (size_t i = 0; BROKEN(BROKEN_WAKE_LAST) && i < r->timers.count; i++)
        t = call_open(r->st, r->timers.heap[i].of->id) && r->timers.heap[i].of->made > t->made ? r->timers.heap[i].of : t;
    return t != NULL && (t->sleeps || !BROKEN(BROKEN_DEADLINE_WAKE)) ? t->at_ms : 0;
}

void timers_free(pawl_engine *e, cached_run *r)
{
    timer_index *x = &r->timers;

    while (x->count > 0)
        timer_free(e, x->heap[--x->count].of);
    mem_free(&e->alloc, x->heap, x->cap * sizeof *x->heap);
    *x = (timer_index){0};
}
