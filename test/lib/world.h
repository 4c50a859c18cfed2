/* world.h - a run in a test: one machine, its state, its journal and a trace of what happened.
 *
 *     world w;
 *     world_begin(&w, machine, "{\"request\":\"sky\"}");
 *     world_go(&w);                                   ticks until it waits
 *     world_receipt(&w, "draft", "\"d1\"");           the receipt of the first open command of that node
 *     world_expect(&w, "1 start working | draft calls llm {..}\n...");
 *     world_end(&w);                                  verifies the whole journal, frees all
 *
 * After every step the world checks the invariants K2, K5, K6 and K8: feeding left the state as it was,
 * feeding again gives the same bytes, a state loaded from the base or from a snapshot and the tail is
 * the same as the live one. */
#ifndef TEST_LIB_WORLD_H
#define TEST_LIB_WORLD_H

#include "base/base.h"
#include "blob_fixture.h"
#include "check.h"
#include "heap.h"
#include "pawl/flow.h"
#include "pawl/graph.h"

typedef struct world {
    pawl_machine *m;            /* freed by world_end, unless `lent` */
    pawl_state *st;
    pawl_step *s, *look;
    pawl_alloc alloc;
    buf journal, trace;
    int64_t now;                /* of the next event; the world adds 1 after each */
    pawl_code rc;               /* of the last feed */
    pawl_err err;               /* of the last feed */
    bool lent, quiet;           /* quiet: no trace, no checks after each step */
    bool unchecked;             /* no checks after each step */
    bool no_verify;             /* world_end does not verify: part of the journal is of another machine */
    bag apart;                  /* blobs of its steps */
    size_t snapshot_at;         /* in the journal: where the tail after `snapshot` begins */
    buf snapshot;
} world;

/* Sets the blob limit of worlds that begin after this call; 0, the default: no blobs. */
void world_apart(size_t limit);

/* Sets the budget of worlds that begin after this call; all 0, the default: none. */
void world_budget(pawl_caps caps);
/* Creates the run "run-1" with life 1; takes ownership of `m`. Fails the test if that is not possible. */
void world_begin(world *w, pawl_machine *m, const char *input);
/* The same with the given memory and without checks, for tests of failing memory: PAWL_NOMEM does not fail the test. */
pawl_code world_try_begin(world *w, pawl_machine *m, const char *input, const pawl_alloc *alloc);
void world_end(world *w);
void world_drop(world *w);      /* frees all, verifies nothing */

/* Feeds, stores, applies, traces and checks. Returns what pawl_feed returned; below 0 nothing changed: see w->err. */
pawl_code world_feed(world *w, const pawl_event *ev);
pawl_code world_tick(world *w);
/* Ticks while a step is due, at most 100,000 times; returns the last result. */
pawl_code world_go(world *w);
/* These feed an event and then tick. `node`: the first open command of that node or task path, or an id. */
pawl_code world_receipt(world *w, const char *node, const char *value);
pawl_code world_error(world *w, const char *node, const char *value);
pawl_code world_outcome(world *w, const char *node, pawl_outcome outcome, const char *value);
pawl_code world_timer(world *w, const char *node);             /* at the time that it is due */
pawl_code world_answer(world *w, const char *slot, const char *value);  /* slot NULL: the only one */
pawl_code world_signal(world *w, const char *name, const char *value);
pawl_code world_update(world *w, const char *as, const char *value);
pawl_code world_cancel(world *w);
pawl_code world_reopen(world *w, const char *update);

/* Answers every open command and wait by `say` (JSON text; NULL: leave it open) until nothing changes. */
typedef const char *world_say_fn(void *ctx, const char *node, const char *effect, const char *args);
pawl_code world_run(world *w, world_say_fn *say, void *ctx);

/* The id of the first open command (or wait) of `node`; "" when there is none. Lives until the next call. */
const char *world_open(world *w, const char *node, bool wait);
const char *world_get(world *w, const char *channel);   /* canonical text; "" when never set */
const char *world_all(world *w);                        /* all channels as one object */
const char *world_status(const world *w);
const char *world_reason(const world *w);               /* canonical text; "" */
const char *world_tasks(world *w);                      /* "draft worker:0 worker:1" */

/* The trace since the beginning, or since the last world_expect. One line a step:
 *     SEQ KIND STATUS | item; item        of an entry
 *     . item; item                        of a task record */
void world_expect(world *w, const char *trace);

/* A crash: drops the live state and loads the stored one. */
void world_crash(world *w);
/* Takes a snapshot now; later crashes load from it. */
void world_snapshot(world *w);
/* Replaces the journal by this base, without a snapshot; the live state stays. */
void world_base(world *w, pawl_bytes base);
/* From now on the world is a fork of its run, with a journal of its own (K10). */
void world_fork(world *w, const pawl_run_info *info);
/* The whole fold of a state as canonical text: two states are the same when these are. Lives until the next call for `look`. */
const char *world_fold(pawl_state *st, pawl_step *look);

#endif
