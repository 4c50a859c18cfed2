/* engine.h - inside the engine. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/base.h"
#include "pawl/engine.h"
#include "store/store.h"

typedef struct handler {
    struct handler *next;
    pawl_effect_fn *fn;
    void *arg;
    pawl_class cls;
    char name[];
} handler;

typedef struct live {           /* a run that is loaded, or has a receipt that could not be stored */
    struct live *next;
    pawl_state *st;             /* NULL: to be loaded again */
    char *command;              /* the id of the command that was performed last, until its receipt is stored */
    size_t command_bytes;
    buf receipt;                /* what came of it */
    pawl_outcome outcome;
    bool performed;             /* and it is not performed again */
    char id[];
} live;

struct pawl_reply {
    pawl_alloc alloc;
    buf text;
    pawl_err err;
    bool failed;
};

struct pawl_engine {
    pawl_alloc alloc;
    pawl_machine *m;
    pawl_store *store;
    pawl_step *step, *look;     /* of feeding; of looking at what is open */
    handler *handlers;
    live *runs;
    pawl_clock clock;
    pawl_secret_fn *secret;
    void *secret_ctx;
    pawl_watch_fn *watch;
    void *watch_ctx;
    pawl_reply reply;
};

/* clock.c: the only file here that knows the time and chance */
pawl_clock clock_system(void);
bool chance(uint64_t out[2]);

/* perform.c: one open command, if any can be performed now (*done): then `ev` is its receipt; the id lies in `id`. */
pawl_code perform(pawl_engine *e, live *r, bool *done, pawl_event *ev, char *id, size_t size, pawl_err *err);
void receipt_forget(pawl_engine *e, live *r);   /* it is stored */

#endif
