/* timer_index.h - the timers of a run, the first that is due in front: its sleeps, and the questions that have a default. */
#ifndef ENGINE_TIMER_INDEX_H
#define ENGINE_TIMER_INDEX_H

#include "engine/engine.h"
#include "kernel/frame.h"

typedef struct timer {
    int64_t at_ms;              /* due then */
    uint64_t made;              /* of two that are due at the same time, the one that was made first comes first */
    bool sleeps;                /* else it is a question */
    char id[];                  /* without the run: "2.work:3.1.0" */
} timer;

typedef struct timer_place {    /* with the time: a comparison needs no look at the timer, which is elsewhere */
    int64_t at_ms;
    timer *of;
    uint32_t task;              /* the probable place of its task in the run's frame: for the cache alone */
} timer_place;

typedef struct timer_index {
    timer_place *heap;          /* no timer is due before the one at a quarter of its place */
    size_t count, cap;
    uint64_t made;
} timer_index;

/* A call of that task (NULL: of none) that was opened, of that id. One that has no timer is passed by. */
pawl_code timer_add(pawl_engine *e, cached_run *r, const task *tk, const call *c, const char *id);
/* The first of the open timers, lent until the next call of this file; NULL: there is none. */
const timer *timer_first(pawl_engine *e, cached_run *r);
int64_t timer_wake_ms(pawl_engine *e, cached_run *r);   /* when that one is due; 0: there is none */
/* When a call is due; 0: it has no timer. */
pawl_code timer_at(const pawl_engine *e, const call *c, int64_t *at_ms);
void timers_free(pawl_engine *e, cached_run *r);

#endif
