/* stream.h - inside the streams: what an engine keeps for its readers (hub.c), lines as events (telling.c), readers (stream.c).
 *
 * The hub is a ring of lines that were just stored and of live events, of all runs, numbered on. A reader goes through it, and
 * knows its own place in the journal: the line that comes next. A line of the ring that is the next one is taken, one that is
 * behind is passed over, and before one that lies ahead the store is read. So it does not matter what the ring has lost. */
#ifndef ENGINE_STREAM_H
#define ENGINE_STREAM_H

#include "engine/engine.h"
#include "pawl/stream.h"

enum { LIVE_EVENTS = 4096, LIVE_BYTES = 4 << 20, CURSOR_BYTES = 48 };     /* the ring holds so much, unless it is told */

/* ---- hub.c ------------------------------------------------------------------------------------- */

/* A place between two lines: `line` lines of those that entry `seq` closes, or will, are before it. seq 0: not known. */
typedef struct place { uint64_t seq, line; } place;

static inline bool place_before(place a, place b)
{
    return a.seq < b.seq || (a.seq == b.seq && a.line < b.line);
}

typedef struct hub_run {
    struct hub_run *next;       /* in its slot */
    struct pawl_stream *readers;
    size_t refs;                /* readers, entries of the ring, attempts that are out */
    uint64_t live;              /* live events so far */
    place end;                  /* of what this engine knows to be stored */
    uint64_t first, last;       /* of its own in the ring, the oldest and the newest; first 0: none */
    char id[];
} hub_run;

typedef struct told {           /* an entry of the ring */
    hub_run *run;
    uint64_t next;              /* of the same run; 0: none yet */
    place at;                   /* of a line: where it stands; of a live event: what was stored before it */
    uint64_t live;              /* 0: a line */
    int64_t time_ms;
    unsigned kind;
    char *block;                /* of a live event ID NUL NAME NUL JSON NUL; else the line */
    size_t size;
} told;

typedef struct attempt { struct attempt *next; hub_run *run; uint64_t from; char id[]; } attempt;    /* from: its number in the ring */

enum { HUB_SLOTS = 256 };
typedef struct hub {
    pawl_engine *e;
    pawl_alloc alloc;
    pthread_mutex_t lock;       /* of all of this; the engine's own is never taken under it */
    told *ring;
    size_t cap, bytes, bytes_max;
    uint64_t first, next;       /* numbers: what is in the ring, and what comes next */
    attempt *out[HUB_SLOTS];
    hub_run *runs[HUB_SLOTS];
} hub;

/* The one of that run after `slot`, or the oldest when that is forgotten; 0: none. Under the lock. */
static inline uint64_t slot_after(const hub *h, const hub_run *r, uint64_t slot)
{
    return slot < h->first ? r->first : h->ring[slot % h->cap].next;
}

hub *hub_of(pawl_engine *e, pawl_err *err);     /* made when it is not there; NULL: no memory */
hub_run *hub_run_of(hub *h, const char *run);   /* under the lock; found or made, and counted; NULL: no memory */
void hub_run_let(hub *h, hub_run *r);
bool hub_is_out(const hub *h, const hub_run *r, const char *id, uint64_t number);       /* said by an attempt that is not over */

/* ---- telling.c: a line as events ------------------------------------------------------------------ */

typedef struct receipt_at { char *task; uint32_t visit, n; uint8_t kind; size_t at, size; } receipt_at;  /* an item, in `receipts` */

typedef enum part { PART_LINE, PART_ITEM, PART_UPDATE, PART_EMIT, PART_VALUES } part;

struct pawl_stream {
    pawl_alloc alloc;
    char *run;
    uint64_t life;
    unsigned kinds;
    pawl_engine *e;             /* NULL: it reads what is stored, and no more */
    pawl_store *store;
    bool lent;                  /* the store is; else it is the engine's, under its lock */
    /* where it is: the next line, and the places of that seq which are behind */
    place at;
    uint64_t index;
    uint64_t base_seq;          /* of the base, when it was opened */
    bool over;                  /* the newest entry that is behind says so */
    /* lines to come, from the store or the ring */
    buf lines;
    size_t lines_at;
    bool look;                  /* the store is to be read, whatever its version */
    uint64_t heard;             /* its version then */
    int64_t looked_ms, poll_ms; /* when; and how soon again, if nobody says that there is something */
    /* the line at hand; entry NULL: none */
    pawl_step *step, *shown;
    pawl_entry *entry;
    item *it;                   /* the one at hand; part PART_VALUES: none */
    uint32_t sub;               /* its emission */
    part part;
    int64_t told_ms;            /* the latest time that an item of this seq has */
    arena mem;                  /* of one event */
    buf json, id;
    char cursor[CURSOR_BYTES];
    /* receipts of the open superstep, which writes refer to */
    receipt_at *told;
    size_t ntold, told_cap;
    buf receipts;
    bool told_all;              /* since the superstep began */
    pawl_state *st;             /* with values: folded up to the line at hand */
    buf past, blob;             /* what it asks for: entries from past_next on, at past_at */
    uint64_t past_next;
    size_t past_at;
    /* on an engine */
    struct pawl_stream *next_reader;   /* under the hub's lock */
    hub_run *hub;
    uint64_t slot, open_slot;   /* the last one of the ring that it has passed; the first that came after it was opened */
    uint64_t live;              /* the number of the live event before */
    uint64_t lost, lost_last;   /* live events, to be told; the number of the last of them */
    char lost_from[CURSOR_BYTES];
    told take;                  /* a live event at hand; block NULL: none */
    void (*wake)(void *ctx);
    void *wake_ctx;
    pthread_mutex_t gate;       /* without an engine */
    pthread_cond_t woken;
    atomic_bool stopped;
    bool pruned;                /* the gap before the base is to be told */
};

pawl_code line_begin(pawl_stream *r, pawl_bytes line, pawl_err *err);   /* nothing has changed when it fails */
void line_next(pawl_stream *r);         /* past the place at hand, or the line */
unsigned line_kind(const pawl_stream *r);       /* of the place at hand; 0: it has nothing to show */
pawl_code line_event(pawl_stream *r, pawl_stream_event *ev, pawl_err *err);
const char *node_of(pawl_stream *r, const char *path);  /* in r->mem; NULL: no memory */
void told_free(pawl_stream *r);
const char *cursor_text(pawl_stream *r, char out[CURSOR_BYTES]);

/* stream.c: the store, as this reader has it */
pawl_code stream_read(pawl_stream *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
pawl_code stream_base(pawl_stream *r, pawl_line_fn *fn, void *ctx, pawl_err *err);   /* fn stops after the first line */
pawl_code stream_blob(pawl_stream *r, const char *digest, buf *out, pawl_err *err);

#endif
