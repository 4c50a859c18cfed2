/* journals.h - reads the journals of all runs of a store, each from where it was read to, and makes spans of them (N5).
 *
 * It reads the store alone, so no run waits for it. A look goes over the runs that have changed since the last pass, within a transaction of the cursor
 * file: what it gives out and how far it has read become durable together. A run that had ended before the file was made is left out. One thread. */
#ifndef OBSERVE_JOURNALS_H
#define OBSERVE_JOURNALS_H

#include "observe/cursor_file.h"
#include "pawl/store.h"
#include "telemetry/spans.h"

typedef struct journals journals;

typedef struct journals_sink {
    span_fn *span;              /* each span once */
    void (*steps)(void *ctx, const char *machine, uint64_t n);  /* entries that were read; may be NULL */
    bool (*full)(void *ctx);    /* nothing more now: asked at the end of each line */
    void *ctx;
} journals_sink;

journals *journals_new(pawl_store *store, const journals_sink *sink, pawl_err *err);    /* the store is lent. NULL: no memory */
void journals_free(journals *j);                /* NULL: nothing */
/* Within a transaction of `f`. *more: the sink was full before the end of the pass; look again. After an error, or when the transaction is not committed,
 * call journals_forget(). A journal that cannot be read is left out, and counted. */
pawl_code journals_look(journals *j, cursor_file *f, bool *more, pawl_err *err);
void journals_forget(journals *j);
uint64_t journals_unread(const journals *j);    /* times that a journal could not be read */

/* A handle on the same store that only reads, and counts its calls. Owns `inner`. NULL: no memory; `inner` is closed. */
pawl_store *counted_store(pawl_store *inner, pawl_err *err);
/* name NULL: behind the last. */
typedef struct counted_call { const char *name; uint64_t n; } counted_call;
counted_call counted_at(const pawl_store *s, size_t i);         /* any thread */

#endif
