/* stream_ring.h - the ring: journal lines that were just stored and live events, of all runs of an engine, kept for its stream readers.
 *
 * Owns the entries of the ring, one record per run that somebody reads, and one per attempt that is running. src/engine writes to it, src/stream
 * reads from it. `lock` covers all of it; the engine's lock is never taken under it.
 *
 * Entries are numbered from 1 and never reused: number n stands at ring[n % cap] while first <= n < next. A reader remembers the number of the
 * last entry that it has passed. What the ring no longer holds is read from the store (lines) or reported as lost (live events). */
#ifndef ENGINE_STREAM_RING_H
#define ENGINE_STREAM_RING_H

#include "engine/engine.h"

enum { RING_EVENTS = 4096, RING_BYTES = 4 << 20, RING_SLOTS = 256 };      /* events and bytes held, unless pawl_engine_live says otherwise */

/* A place between two lines of a journal: before it stand `line` task records of those that entry `seq` covers. seq 0: not known. */
typedef struct place { uint64_t seq, line; } place;

static inline bool place_before(place a, place b)
{
    return a.seq < b.seq || (a.seq == b.seq && a.line < b.line);
}

typedef struct ring_reader {    /* what the ring knows of a reader; embedded in it */
    struct ring_reader *next;
    pthread_cond_t woken;       /* with the ring's lock */
    void (*wake)(void *ctx);    /* NULL: only `woken` is signalled */
    void *wake_ctx;
} ring_reader;

typedef struct ring_run {
    struct ring_run *next;      /* in its slot */
    ring_reader *readers;
    size_t refs;                /* readers, entries of the ring, running attempts */
    uint64_t live;              /* live events so far */
    place end;                  /* of what this engine knows to be stored */
    uint64_t first, last;       /* its oldest and newest entry; first 0: none */
    char id[];
} ring_run;

typedef enum ring_kind {
    RING_LINE = 1,              /* a journal line */
    RING_STARTED,               /* an attempt of a command has started; the value is {"attempt"} */
    RING_RETRY,                 /* an attempt failed and there will be another: {"at","attempt","error"} */
    RING_SAID                   /* a handler reported progress, under a name of its own */
} ring_kind;

typedef struct ring_entry {
    ring_run *run;
    uint64_t next;              /* the run's next entry; 0: none yet */
    place at;                   /* of a line: where it stands; of a live event: what was stored before it */
    uint64_t live;              /* the live event's number in its run; 0: a line */
    int64_t time_ms;
    ring_kind kind;
    char *block;                /* of a live event ID NUL NAME NUL CALL NUL BYTES NUL (ring_delta); else the line */
    size_t size;
    pawl_delta_kind delta;      /* of a live event: what its bytes are */
    uint64_t number;            /* that of its delta */
} ring_entry;

typedef struct ring_attempt { struct ring_attempt *next; ring_run *run; uint64_t from; char id[]; } ring_attempt;   /* from: its first number */

typedef struct stream_ring {
    pawl_engine *e;
    pawl_alloc alloc;
    pthread_mutex_t lock;
    ring_entry *ring;
    size_t cap, bytes, bytes_max;
    uint64_t first, next;       /* numbers: the oldest entry, and the one that comes next */
    ring_attempt *attempts[RING_SLOTS];
    ring_run *runs[RING_SLOTS];
} stream_ring;

/* ---- for readers ---------------------------------------------------------------------------------- */

static inline stream_ring *ring_here(pawl_engine *e) { return atomic_load_explicit(&e->ring, memory_order_acquire); }     /* NULL: nobody has read yet */
stream_ring *ring_of(pawl_engine *e, pawl_err *err);    /* made when there is none; NULL: no memory */
/* PAWL_CONFLICT: there is one already. 0: the default. */
pawl_code ring_begin(pawl_engine *e, size_t events, size_t bytes);
ring_run *ring_run_of(stream_ring *h, const char *run); /* under the lock; found or made, and counted; NULL: no memory */
void ring_run_release(stream_ring *h, ring_run *r);     /* under the lock */
/* Whether live event `number` is of an attempt that still runs: what an attempt that ended has said is settled in the journal. Under the lock. */
bool ring_is_running(const stream_ring *h, const ring_run *r, const char *id, uint64_t number);
/* The run's entry after number `n`, or its oldest when `n` is gone; 0: none. Under the lock. */
static inline uint64_t ring_after(const stream_ring *h, const ring_run *r, uint64_t n)
{
    return n < h->first ? r->first : h->ring[n % h->cap].next;
}

/* What a live event says, of its block or of a copy of that. */
void ring_delta(const ring_entry *t, const char *block, pawl_delta *out);

/* ---- for the engine ------------------------------------------------------------------------------- */

/* On the driving thread, after r->lines were stored behind entry `seq` and its `records`. */
void ring_stored(stream_ring *h, const cached_run *r, uint64_t seq, uint64_t records);
void ring_attempt_started(stream_ring *h, const cached_run *r, const outbox_entry *entry);
void ring_attempt_failed(stream_ring *h, const outbox_entry *entry);     /* there will be another */
void ring_command_over(stream_ring *h, const outbox_entry *entry);
/* On any thread; copied. Of a custom one the bytes are canonical JSON. PAWL_LIMIT: it is larger than the ring. */
pawl_code ring_say(stream_ring *h, const outbox_entry *entry, const pawl_delta *said);
void ring_end(pawl_engine *e);

#endif
