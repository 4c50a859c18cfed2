/* stream_ring.h - the ring: newly stored journal lines and live events of all runs of an engine, for its stream readers.
 *
 * Owns the entries of the ring, a record for each run that has readers, and one for each running attempt. src/engine writes to the ring, src/stream
 * reads from it. `lock` guards everything; the engine's lock is never taken under it.
 *
 * Entries are numbered from 1, and a number is never reused: entry n is at ring[n % cap] while first <= n < next. A reader remembers the number of
 * the last entry that it has passed. Entries that the ring has dropped are read from the store (lines) or reported as lost (live events). */
#ifndef ENGINE_STREAM_RING_H
#define ENGINE_STREAM_RING_H

#include "engine/engine.h"

enum { RING_EVENTS = 4096, RING_BYTES = 4 << 20, RING_SLOTS = 256 };      /* default capacity; pawl_engine_live() sets another one */
enum { RING_LOOK_MS = 64 };    /* readers are woken at most that often when the store has changed */

/* A place between two lines of a journal: after the first `line` task records of those that entry `seq` covers. seq 0: unknown. */
typedef struct place { uint64_t seq, line; } place;

static inline bool place_before(place a, place b)
{
    return a.seq < b.seq || (a.seq == b.seq && a.line < b.line);
}

typedef struct ring_reader {    /* the ring's part of a reader, embedded in the reader */
    struct ring_reader *next;
    pthread_cond_t woken;       /* with the ring's lock */
    void (*wake)(void *ctx);    /* NULL: signal `woken` only */
    void *wake_ctx;
} ring_reader;

typedef struct ring_run {
    struct ring_run *next;      /* in its slot */
    ring_reader *readers;
    size_t refs;                /* number of readers, entries of the ring and running attempts that refer to it */
    uint64_t live;              /* number of live events so far */
    place end;                  /* the end of the stored lines that this engine knows */
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
    place at;                   /* of a line: its place; of a live event: the end of the stored lines then */
    uint64_t live;              /* the live event's number in its run; 0: a line */
    int64_t time_ms;
    ring_kind kind;
    char *block;                /* of a live event ID NUL NAME NUL CALL NUL BYTES NUL (ring_delta); else the line */
    size_t size;
    pawl_delta_kind delta;      /* of a live event: the kind of its bytes */
    uint64_t number;            /* number of the delta */
} ring_entry;

typedef struct ring_attempt { struct ring_attempt *next; ring_run *run; uint64_t from; char id[]; } ring_attempt;   /* from: number of its first live event */

typedef struct stream_ring {
    pawl_engine *e;
    pawl_alloc alloc;
    pthread_mutex_t lock;
    ring_entry *ring;
    size_t cap, bytes, bytes_max;
    uint64_t first, next;       /* numbers of the oldest and of the next entry */
    ring_attempt *attempts[RING_SLOTS];
    ring_run *runs[RING_SLOTS];
    bool look_due;              /* on the driving thread, as the next: readers are to look at the store */
    int64_t looked_ms;          /* when they were woken last, by the steady clock */
} stream_ring;

/* ---- for readers ---------------------------------------------------------------------------------- */

static inline stream_ring *ring_here(pawl_engine *e) { return atomic_load_explicit(&e->ring, memory_order_acquire); }     /* NULL: no reader so far */
stream_ring *ring_of(pawl_engine *e, pawl_err *err);    /* makes the ring on first use; NULL: no memory */
/* Makes the ring with this capacity; 0: the default. PAWL_CONFLICT: the ring exists already. */
pawl_code ring_begin(pawl_engine *e, size_t events, size_t bytes);
ring_run *ring_run_of(stream_ring *h, const char *run); /* under the lock; finds or makes the record and adds a reference; NULL: no memory */
void ring_run_release(stream_ring *h, ring_run *r);     /* under the lock */
/* Whether live event `number` is of an attempt that still runs; the output of an ended attempt is in the journal. Under the lock. */
bool ring_is_running(const stream_ring *h, const ring_run *r, const char *id, uint64_t number);
/* The run's entry after number `n`, or its oldest entry when `n` was dropped; 0: none. Under the lock. */
static inline uint64_t ring_after(const stream_ring *h, const ring_run *r, uint64_t n)
{
    return n < h->first ? r->first : h->ring[n % h->cap].next;
}

/* Reads a live event from its block or from a copy of the block. */
void ring_delta(const ring_entry *t, const char *block, pawl_delta *out);

/* ---- for the engine ------------------------------------------------------------------------------- */

/* On the driving thread, after r->lines were stored after entry `seq` and `records` task records. */
void ring_stored(stream_ring *h, const cached_run *r, uint64_t seq, uint64_t records);
/* On the driving thread, each time that it looks for due runs. `changed`: another handle may have written to the store. Readers that asked to be called are
 * woken to look there, so that they need not poll it. */
void ring_check(stream_ring *h, bool changed);
void ring_attempt_started(stream_ring *h, const cached_run *r, const outbox_entry *entry);
void ring_attempt_failed(stream_ring *h, const outbox_entry *entry);     /* another attempt will follow */
void ring_command_over(stream_ring *h, const outbox_entry *entry);
/* Any thread; copies `said`. The bytes of a custom delta are canonical JSON. PAWL_LIMIT: larger than the ring. */
pawl_code ring_publish(stream_ring *h, const outbox_entry *entry, const pawl_delta *said);
void ring_end(pawl_engine *e);

#endif
