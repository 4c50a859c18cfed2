/* stream.h - inside the streams: the reader of one run (reader.c), its access to the store (run_store.c), places as events (stream_events.c).
 *
 * A reader knows its position in the journal: the next line. It goes through its engine's ring (engine/run/stream_ring.h): a line of the ring that is
 * the next one is taken, one that was read before is skipped, and if a line is ahead the store is read first. So it does not matter what the ring has
 * dropped. A pawl_stream belongs to one thread at a time; the ring's lock protects `join`. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "stream/entry_page.h"
#include "stream/walk.h"

struct pawl_stream {
    line_walk w;
    pawl_alloc alloc;
    char *run;
    unsigned kinds;
    pawl_engine *e;             /* NULL: it only reads what is stored */
    pawl_store *store;
    bool lent;                  /* the store was lent; else it is the engine's, under its lock */
    /* further lines, from the store or the ring */
    buf lines;
    size_t lines_at;
    bool look;                  /* the store must be read, whatever its version */
    uint64_t heard;             /* version of the store at the last read */
    int64_t looked_ms, poll_ms; /* time of the last read, and interval to the next one */
    entry_page past;            /* for the loader of its state */
    buf blob;
    /* with an engine */
    ring_reader join;           /* under the ring's lock; without an engine only `woken` is used, under `gate` */
    ring_run *in_ring;
    uint64_t slot, open_slot;   /* the last slot of the ring that was passed; the first after the stream was opened */
    uint64_t live;              /* number of the previous live event */
    uint64_t lost, lost_last;   /* live events to report as lost; number of the last of them */
    char lost_from[CURSOR_BYTES];
    ring_entry take;            /* the current live event; block NULL: none */
    pawl_delta said;            /* of the live event that was returned last; its texts are in w.mem */
    pthread_mutex_t gate;       /* without an engine */
    atomic_bool stopped;
    buf *base;                  /* while it is opened: gets the base; NULL: nobody needs it */
    bool pruned;                /* the gap before the base must be reported */
};

/* reader.c, for items_reader.c. As pawl_stream_open(); `base` (NULL: not needed) gets the base, of the same moment. */
pawl_stream *stream_open(pawl_engine *e, pawl_store *store, const char *run, const pawl_stream_options *options, buf *base, pawl_err *err);
/* PAWL_OK: *ev has a live event or a gap; or its kind is 0, and there is a current place, which line_next() passes.
 * Without `json` a typed delta has none: live_json() makes it. */
pawl_code stream_step(pawl_stream *r, bool json, pawl_stream_event *ev, pawl_err *err);
const char *live_json(pawl_stream *r, const pawl_stream_event *ev, pawl_err *err);      /* of that event, until the next one; NULL: no memory */
void stream_rest(pawl_stream *r, int64_t until);        /* waits until something may have been added, or until that time (steady_ms) */
typedef pawl_code place_fn(void *ctx, line_walk *w, pawl_err *err);
pawl_code stream_seek(pawl_stream *r, bool now, uint64_t seq, uint64_t index, unsigned *reads, place_fn *fn, void *ctx, pawl_err *err);
pawl_code stream_beyond(const pawl_stream *r, const char *from, pawl_err *err);
bool cursor_read(const char *text, uint64_t *seq, uint64_t *index);     /* "SEQ.INDEX" */

/* stream_events.c: the current place as an event. The JSON is separate, because it costs most. NOMEM and damage: see err. */
pawl_code line_event(line_walk *w, pawl_stream_event *ev, pawl_err *err);
pawl_code line_head(line_walk *w, pawl_stream_event *ev, pawl_err *err);    /* all but the JSON, which is ""; uses w->mem */
pawl_code line_json(line_walk *w, const char **json, pawl_err *err);        /* after line_head() of the same place */
const char *node_of(line_walk *w, const char *path);    /* in w->mem; NULL: no memory */
const char *cursor_text(const line_walk *w, char out[CURSOR_BYTES]);

/* run_store.c: the reader's store */
void store_lock(pawl_stream *r);        /* takes the engine's lock if the store is not lent */
void store_unlock(pawl_stream *r);
pawl_code stream_read(pawl_stream *r, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *ctx, pawl_err *err);
extern const walk_source store_source;  /* its ctx is the pawl_stream */
/* The loader of the state of a reader with values. */
pawl_loader stream_loader(pawl_stream *r);

#endif
