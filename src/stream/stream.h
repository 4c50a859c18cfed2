/* stream.h - inside the streams: readers (reader.c) and journal lines as events (stream_events.c).
 *
 * A reader knows its own place in the journal: the line that comes next. It goes through its engine's ring (engine/run/stream_ring.h): a line
 * of the ring that is the next one is taken, one that is behind is passed over, and before one that lies ahead the store is read. So it does not
 * matter what the ring has dropped. A pawl_stream belongs to one thread at a time; the ring's lock covers what lies in `join`. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "engine/engine.h"
#include "engine/run/stream_ring.h"
#include "pawl/stream.h"

enum { CURSOR_BYTES = 48 };

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
    ring_reader join;           /* under the ring's lock; without an engine only `woken` is used, with `gate` */
    ring_run *in_ring;
    uint64_t slot, open_slot;   /* the last one of the ring that it has passed; the first that came after it was opened */
    uint64_t live;              /* the number of the live event before */
    uint64_t lost, lost_last;   /* live events, to be told; the number of the last of them */
    char lost_from[CURSOR_BYTES];
    ring_entry take;            /* a live event at hand; block NULL: none */
    pthread_mutex_t gate;       /* without an engine */
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
