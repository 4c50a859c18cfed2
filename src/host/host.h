/* host.h - inside the host: a thread that drives an engine, and handles that never touch it.
 *
 * The engine belongs to that thread. Handles read and leave deliveries through a store handle only: one of the host's own, or the engine's under the
 * engine's lock. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "engine/engine.h"
#include "pawl/history.h"
#include "pawl/host.h"

struct pawl_host {
    pawl_alloc alloc;
    pawl_engine *e;
    pawl_store *own;            /* NULL: the engine's */
    pthread_mutex_t lock;       /* protects `own`, and the last error of the thread */
    pthread_mutex_t ending;     /* protects joining the thread, which happens once */
    pthread_t thread;
    bool runs;                  /* it was not joined yet */
    atomic_bool ends;
    pawl_err trouble;
};

struct pawl_handle {
    pawl_host *h;
    uint64_t life;              /* of the run that the handle is for */
    char by[256];               /* "": nobody */
    char id[];
};

/* ---- host.c ------------------------------------------------------------------------------------- */

pawl_store *host_hold(pawl_host *h);    /* the store handle, until it is released; at most once at a time in a thread */
void host_let(pawl_host *h);
bool host_drives(pawl_host *h);         /* its engine looks at the store all the time */
/* bind.c: the effects of the run's open commands that have no handler here, as a quoted list appended to `out`. False: there is none. */
bool missing_handlers(pawl_handle *a, buf *out);
pawl_handle *host_handle(pawl_host *h, const char *id, uint64_t life, pawl_err *err);
/* While the handle is held; its texts are lent. PAWL_GONE: there is no such run, or it has another life. */
pawl_code handle_head(const pawl_handle *a, pawl_store *s, pawl_head *head, pawl_err *err);

#endif
