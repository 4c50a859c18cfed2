/* walk.h - journal lines as places, one after another: the pure half of a reader (walk.c), the receipts that it keeps and the values that are
 * made whole from them (receipts.c).
 *
 * A line_walk is part of a reader and belongs to that reader's thread. It reads no store and no clock: what it does not have it asks its source for. */
#ifndef STREAM_WALK_H
#define STREAM_WALK_H

#include "engine/run/stream_ring.h"
#include "pawl/stream.h"

enum { CURSOR_BYTES = 48 };

typedef struct kept_receipt { char *task; uint32_t visit, n; uint8_t kind; size_t at, size; } kept_receipt;  /* its item stands in `texts` */

typedef enum part { PART_LINE, PART_ITEM, PART_UPDATE, PART_EMIT, PART_VALUES } part;

/* What a walk asks its owner for. Both append to `out`. */
typedef struct walk_source {
    pawl_code (*blob)(void *ctx, const char *digest, buf *out, pawl_err *err);
    /* The lines behind entry `after` up to and with entry `upto`, each with its newline; the base before them when `after` is the base's seq. */
    pawl_code (*lines)(void *ctx, uint64_t after, uint64_t upto, buf *out, pawl_err *err);
} walk_source;

typedef struct line_walk {
    pawl_alloc alloc;
    const char *run;            /* the owner's */
    uint64_t life, base_seq;
    const walk_source *source;  /* NULL: what is not in the lines cannot be had */
    void *source_ctx;
    bool keeps;                 /* receipts are kept: values will be asked for */
    /* where it is: the next line, and the places of that seq which are behind */
    place at;
    uint64_t index;
    bool over;                  /* the newest entry that is behind says so */
    /* the line at hand; entry NULL: none */
    pawl_step *step, *shown;
    pawl_entry *entry;
    item *it;                   /* the one at hand; part PART_VALUES: none */
    uint32_t sub;               /* its emission */
    part part;
    int64_t latest_ms;          /* the latest time that an item of this seq has */
    arena mem;                  /* of one event */
    buf json, id;
    char cursor[CURSOR_BYTES];
    /* receipts of the open superstep, which writes refer to */
    kept_receipt *kept;
    size_t nreceipts, receipts_cap;
    buf texts;
    bool receipts_whole;        /* since the superstep began */
    pawl_state *st;             /* with values: folded up to the line at hand */
} line_walk;

void walk_init(line_walk *w, const pawl_alloc *alloc, const char *run);
bool walk_ready(const line_walk *w);    /* false: there was no memory for it */
void walk_free(line_walk *w);
pawl_code line_begin(line_walk *w, pawl_bytes line, pawl_err *err);   /* nothing has changed when it fails */
void line_next(line_walk *w);           /* past the place at hand, or the line */
unsigned line_kind(const line_walk *w); /* of the place at hand, as streams have them; 0: it has nothing to show */
int64_t item_time(const item *it);      /* 0: no time is stored with it */

/* receipts.c */
bool receipts_keep(line_walk *w, const pawl_entry *e);  /* false: no memory */
void receipts_cut(line_walk *w, size_t count);          /* keep the first `count` */
void receipts_free(line_walk *w);
/* The VALUE of an item, of which nothing but blobs stands apart. NULL: see err. */
const pawl_value *item_value(line_walk *w, const item *it, pawl_err *err);
/* `v` of an item with what its references `stand` for. NULL: see err. */
const pawl_value *value_whole(line_walk *w, const item *it, const pawl_value *v, const pawl_value *stand, pawl_err *err);

#endif
