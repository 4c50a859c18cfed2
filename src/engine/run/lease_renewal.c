/* lease_renewal.c - the lease thread: renews the leases, and reads the mailbox while the driving thread is in a handler.
 *
 * Owns the thread, its condition and `leases_until_ms`. The thread reads and writes members of the engine under the engine's lock, except atomics.
 * Invariant: `leases_until_ms` is never later than the end of a lease that this engine has (S2). */
#include "engine/command/outbox.h"
#include "engine/run/run.h"
#include "kernel/machine.h"

enum { LOOK_MS = 20, AWAKE_MS = 1000 };         /* for AWAKE_MS after a handler the thread need not be woken for the next one */

struct lease_renewal {
    pawl_engine *e;
    pthread_t thread;
    pthread_cond_t wake;
    bool over, dozing;
    outbox_entry *here;               /* the entry whose handler runs on the driving thread */
    int64_t here_ms;            /* start of that handler by the steady clock; without a handler, of the last one */
    int64_t beat_ms;
    unsigned long beats;
    uint64_t heard;             /* version of the store when the mailbox was read */
};

/* ---- leases ---------------------------------------------------------------------------------------- */

enum { RENEW_AT_ONCE = 64 };

/* Renews some leases. PAWL_FENCED: one was lost; another error: the store does not answer. */
static pawl_code renew_some(pawl_engine *e, cached_run **runs, pawl_hold *holds, size_t n, int64_t now)
{
    pawl_code rc = n == 0 ? PAWL_OK : e->store->verbs->renew(e->store, e->ttl_ms, holds, n, NULL);
    bool lost = false;

    for (size_t i = 0; i < n; i++)
        if (rc == PAWL_OK && holds[i].rc == PAWL_OK)
            runs[i]->lease_ms = now + e->ttl_ms;
        else if (rc == PAWL_OK || runs[i]->lease_ms <= now)     /* after an error of the store, try again while the lease lasts */
            runs[i]->lease_lost = lost = true;  /* the driving thread checks the flag before commands leave */
    return lost ? PAWL_FENCED : rc;
}

/* Renews all leases; under e->lock. Afterwards each lease has two thirds of its time left. When one was lost, no handler starts until leases_check()
 * has stopped the attempts that wait for a thread under that lease; renewing the other leases does not change that. The time is read before the
 * call of the store, so the duration of the call shortens the lease on this side. */
static void renew_all(pawl_engine *e)
{
    const int64_t began = steady_of(e);
    int64_t now = e->store->verbs->now(e->store);
    pawl_code first = PAWL_OK, rc;
    pawl_hold holds[RENEW_AT_ONCE];
    cached_run *runs[RENEW_AT_ONCE];
    size_t n = 0;

    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i]; r != NULL; r = r->next) {
            if (r->fence == 0 || r->lease_lost || r->lease_ms - now > e->ttl_ms * 2 / 3)
                continue;
            holds[n] = (pawl_hold){ .run = r->id, .fence = r->fence };
            runs[n++] = r;
            if (n < RENEW_AT_ONCE)
                continue;
            rc = renew_some(e, runs, holds, n, now);
            first = first == PAWL_OK || rc == PAWL_FENCED ? rc : first;
            n = 0;
        }
    rc = renew_some(e, runs, holds, n, now);
    first = first == PAWL_OK || rc == PAWL_FENCED ? rc : first;
    e->lease_loss = e->lease_loss || first == PAWL_FENCED;
    if (first == PAWL_OK && !e->lease_loss)
        e->leases_until_ms = began + e->ttl_ms - e->ttl_ms / 3;
    else if (first == PAWL_FENCED)
        e->leases_until_ms = 0; /* another error: the leases stay valid as long as before */
}

bool leases_valid(const pawl_engine *e)
{
    return steady_of(e) < e->leases_until_ms;
}

void leases_check(pawl_engine *e)
{
    if (leases_valid(e))
        return;
    pthread_mutex_lock(&e->lock);
    e->lease_loss = false;      /* cleared first, so that a loss from here on is seen by the next check */
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < e->run_slots; i++)
        for (cached_run *r = e->runs[i]; r != NULL; r = r->next)
            if (r->fence != 0 && r->lease_lost)
                outbox_lease_lost(r);
    pthread_mutex_lock(&e->lock);
    renew_all(e);
    pthread_mutex_unlock(&e->lock);
}

/* ---- listening ------------------------------------------------------------------------------------- */

typedef struct calling { const char *interrupt; bool off; } calling;

static bool see_cancel(void *ctx, const pawl_delivery *d)
{
    calling *c = ctx;

    c->off = d->kind == PAWL_DELIVER_CANCEL ||
             (d->kind == PAWL_DELIVER_SIGNAL && c->interrupt != NULL && d->name != NULL && strcmp(d->name, c->interrupt) == 0);
    return !c->off;
}

static bool silent(lease_renewal *k, const outbox_entry *entry, int64_t now)
{
    if (entry_beats(entry) != k->beats) {
        k->beats = entry_beats(entry);
        k->beat_ms = now;
    }
    return entry_limits(entry)->heartbeat_ms > 0 && now - k->beat_ms > entry_limits(entry)->heartbeat_ms;
}

/* Stops a handler on the driving thread when a cancel, an interrupt or a lost lease requires so: only this thread can (E10, S2). */
static void listen_here(lease_renewal *k, int64_t now)
{
    outbox_entry *entry = k->here;
    const cached_run *r;
    const pawl_store_verbs *v = k->e->store->verbs;
    uint64_t version;
    calling c = { .off = false };

    if (entry == NULL || (r = entry_run(entry)) == NULL || entry_is_stopping(entry) || now - k->here_ms < LOOK_MS)
        return;
    if (r->lease_lost) {
        entry_stop_here(entry, NULL, true);
        return;
    }
    if (silent(k, entry, now)) {
        entry_stop_here(entry, "heartbeat_ms", false);
        return;
    }
    version = v->version(k->e->store);
    if (version != 0 && version == k->heard)
        return;
    c.interrupt = r->m != NULL ? r->m->interrupt : NULL;
    if (v->deliveries(k->e->store, r->id, see_cancel, &c, NULL) == PAWL_OK)
        k->heard = version;
    if (c.off)
        entry_stop_here(entry, NULL, false);    /* the driving thread folds its receipt after the cancel or the interrupt */
}

static void *keep(void *arg)
{
    lease_renewal *k = arg;
    pawl_engine *e = k->e;
    int64_t now = steady_ms(), renewed = now;

    pthread_mutex_lock(&e->lock);
    while (!k->over) {
        int64_t renew = renewed + e->ttl_ms / 3;

        k->dozing = k->here == NULL && now - k->here_ms > AWAKE_MS;
        (void)cond_wait(&k->wake, &e->lock, k->dozing || renew < now + LOOK_MS ? renew : now + LOOK_MS);
        now = steady_ms();
        if (!k->over && now >= renewed + e->ttl_ms / 3) {
            renew_all(e);
            renewed = now;
        }
        if (!k->over)
            listen_here(k, now);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

void renewal_watch(pawl_engine *e, outbox_entry *entry)
{
    lease_renewal *k = e->lease_renewal;

    if (k == NULL)
        return;
    pthread_mutex_lock(&e->lock);
    k->here = entry;
    if (entry != NULL) {
        k->here_ms = k->beat_ms = steady_ms();
        k->beats = entry_beats(entry);
        k->heard = 0;
        if (k->dozing)
            pthread_cond_signal(&k->wake);
    }
    pthread_mutex_unlock(&e->lock);
}

/* ---- begun with the first handler that is called: until then the driving thread renews by appending -------- */

void renewal_begin(pawl_engine *e)
{
    lease_renewal *k = e->lease_renewal != NULL || e->drawn != NULL ? NULL : mem_new(&e->alloc, sizeof *k);

    if (e->drawn != NULL) {     /* a simulation has no thread: leases_check() renews due leases before a handler is called */
        pthread_mutex_lock(&e->lock);
        renew_all(e);
        pthread_mutex_unlock(&e->lock);
    }
    if (k == NULL)
        return;                 /* without the thread a lease may run out during a long effect; the fence then refuses the write */
    k->e = e;
    cond_begin(&k->wake);
    if (pthread_create(&k->thread, NULL, keep, k) == 0) {
        e->lease_renewal = k;
        return;
    }
    pthread_cond_destroy(&k->wake);
    mem_free(&e->alloc, k, sizeof *k);
}

void renewal_end(pawl_engine *e)
{
    lease_renewal *k = e->lease_renewal;

    if (k == NULL)
        return;
    pthread_mutex_lock(&e->lock);
    k->over = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&e->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->wake);
    mem_free(&e->alloc, k, sizeof *k);
    e->lease_renewal = NULL;
}
