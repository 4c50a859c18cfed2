/* history.h - what those who look back share: a journal as text, and the blobs beside it. */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include "kernel/kernel.h"
#include "pawl/history.h"
#include "store/store.h"

/* The base and the lines after it up to entry `upto` (0: all), each with its newline, appended to `out`. `base_seq` may be NULL. */
pawl_code history_journal(pawl_store *s, const char *run, uint64_t upto, buf *out, uint64_t *base_seq, pawl_err *err);

typedef struct blobs_of {       /* a loader of one run's blobs */
    pawl_store *s;
    const char *run;
    buf bytes;
    pawl_loader loader;
} blobs_of;
void blobs_begin(blobs_of *b, pawl_store *s, const char *run);
void blobs_end(blobs_of *b);

#endif
