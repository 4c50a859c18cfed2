/* stream.h - inside the streams: the reader of one run (reader.c), what it asks the store (run_store.c), places as events (stream_events.c).
 *
 * A reader knows its own place in the journal: the line that comes next. It goes through its engine's ring (engine/run/stream_ring.h): a line
 * of the ring that is the next one is taken, one that is behind is passed over, and before one that lies ahead the store is read. So it does not
 * matter what the ring has dropped. A pawl_stream belongs to one thread at a time; the ring's lock covers what lies in `join`. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "stream/entry_page.h"
#include "stream/walk.h"

struct pawl_stream {
    line_walk w;
    pawl_alloc alloc;
    char *run;
    unsigned kinds;
    pawl_engine *e;             /* NULL: it reads what is stored, and no more */
    pawl_store *store;
    bool lent;                  /* the store is; else it is the engine's, under its lock */
    /* lines to come, from the store or the ring */
    buf lines;
    size_t lines_at;
    bool look;                  /* the store is to be read, whatever its version */
    uint64_t heard;             /* its version then */
    int64_t looked_ms, poll_ms; /* when; and how soon again, if nobody says that there is something */
    entry_page past;            /* what its state asks for */
    buf blob;
    /* on an engine */
    ring_reader join;           /* under the ring's lock; without an engine only `woken` is used, with `gate` */
    ring_run *in_ring;
    uint64_t slot, open_slot;   /* the last one of the ring that it has passed; the first that came after it was opened */
    uint64_t live;              /* the number of the live event before */
    uint64_t lost, lost_last;   /* live events, to be told; the number of the last of them */
    char lost_from[CURSOR_BYTES];
    ring_entry take;            /* a live event at hand; block NULL: none */
    pawl_delta said;            /* of the live event that was given last; its texts are in w.mem */
    pthread_mutex_t gate;       /* without an engine */
    atomic_bool stopped;
    bool pruned;                /* the gap before the base is to be told */
};

/* reader.c, for items_reader.c. PAWL_OK: a live event or a gap is in *ev, or, its kind 0, a place is at hand; line_next() passes it. Without `json` a
 * typed delta gets none: live_json() makes it. */
pawl_code stream_step(pawl_stream *r, bool json, pawl_stream_event *ev, pawl_err *err);
const char *live_json(pawl_stream *r, const pawl_stream_event *ev, pawl_err *err);      /* of that event, until the next one; NULL: no memory */
void stream_rest(pawl_stream *r, int64_t until);        /* until there may be something, or that time (steady_ms) */
typedef pawl_code place_fn(void *ctx, line_walk *w, pawl_err *err);
pawl_code stream_seek(pawl_stream *r, bool now, uint64_t seq, uint64_t index, place_fn *fn, void *ctx, pawl_err *err);
pawl_code stream_beyond(const pawl_stream *r, const char *from, pawl_err *err);
bool cursor_read(const char *text, uint64_t *seq, uint64_t *index);     /* "SEQ.INDEX" */

/* stream_events.c: the place at hand as an event; its JSON apart, for it costs most. NOMEM and damage: see err. */
pawl_code line_event(line_walk *w, pawl_stream_event *ev, pawl_err *err);
pawl_code line_head(line_walk *w, pawl_stream_event *ev, pawl_err *err);    /* all but the JSON, which is ""; w->mem grows */
pawl_code line_json(line_walk *w, const char **json, pawl_err *err);        /* after line_head() of the same place */
const char *node_of(line_walk *w, const char *path);    /* in w->mem; NULL: no memory */
const char *cursor_text(const line_walk *w, char out[CURSOR_BYTES]);

/* run_store.c: the store, as this reader has it */
void store_lock(pawl_stream *r);        /* of the engine, when the store is not lent */
void store_unlock(pawl_stream *r);
pawl_code stream_read(pawl_stream *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
extern const walk_source store_source;  /* its ctx is the pawl_stream */
/* What the state of a reader asks for, through its store. */
pawl_loader stream_loader(pawl_stream *r);

#endif
