/* walk.h - journal lines as a sequence of places: the pure part of a reader (walk.c), the receipts that it keeps, and values with their references
 * filled in (receipts.c).
 *
 * A line_walk is part of a reader and belongs to its thread. It uses no store and no clock: it asks its source. */
#ifndef STREAM_WALK_H
#define STREAM_WALK_H

#include "engine/run/stream_ring.h"
#include "kernel/item.h"
#include "pawl/stream.h"

enum { CURSOR_BYTES = 48 };

typedef struct kept_receipt { char *task; uint32_t visit, n; uint8_t kind; size_t at, size; } kept_receipt;  /* its item is in `texts` */

typedef enum part { PART_LINE, PART_ITEM, PART_UPDATE, PART_EMIT, PART_VALUES } part;

/* What a walk asks its owner for. Both functions append to `out`. */
typedef struct walk_source {
    pawl_code (*blob)(void *ctx, const char *digest, buf *out, pawl_err *err);
    /* The lines after entry `after`, up to and including entry `upto`, each with its newline; also the base if `after` is its seq. */
    pawl_code (*lines)(void *ctx, uint64_t after, uint64_t upto, buf *out, pawl_err *err);
} walk_source;

typedef struct line_walk {
    pawl_alloc alloc;
    const char *run;            /* lent by the owner */
    uint64_t life, base_seq;
    const walk_source *source;  /* NULL: only the lines themselves are available */
    void *source_ctx;
    bool keeps;                 /* receipts are kept, because values will be wanted */
    /* the next line, and the number of places of that seq that were passed */
    place at;
    uint64_t index;
    bool over;                  /* the newest entry that was passed ended the run */
    /* the current line; entry NULL: none */
    pawl_step *step, *shown;
    pawl_entry *entry;
    item *it;                   /* the current item; PART_VALUES: none */
    uint32_t sub;               /* index of its current emission */
    part part;
    int64_t latest_ms;          /* the latest time of an item of this seq */
    arena mem;                  /* of one event */
    buf json, id;
    char cursor[CURSOR_BYTES];
    /* receipts of the open superstep, for references of writes */
    kept_receipt *kept;
    size_t nreceipts, receipts_cap;
    buf texts;
    bool receipts_whole;        /* complete since the superstep began */
    pawl_state *st;             /* with values: the state folded up to the current line */
} line_walk;

void walk_init(line_walk *w, const pawl_alloc *alloc, const char *run);
bool walk_ready(const line_walk *w);    /* false: no memory */
void walk_free(line_walk *w);
pawl_code line_begin(line_walk *w, pawl_bytes line, pawl_err *err);   /* on failure nothing has changed */
void line_next(line_walk *w);           /* passes the current place, or the line */
unsigned line_kind(const line_walk *w); /* stream kind of the current place; 0: nothing to show */
int64_t item_time(const item *it);      /* 0: it has no time of its own */

/* receipts.c */
bool receipts_keep(line_walk *w, const pawl_entry *e);  /* false: no memory */
void receipts_cut(line_walk *w, size_t count);          /* keeps the first `count` */
void receipts_free(line_walk *w);
/* The VALUE of an item that has no references except blobs. NULL: see err. */
const pawl_value *item_value(line_walk *w, const item *it, pawl_err *err);
/* `v` of an item with the references `stand` filled in. NULL: see err. */
const pawl_value *value_whole(line_walk *w, const item *it, const pawl_value *v, const pawl_value *stand, pawl_err *err);

#endif
