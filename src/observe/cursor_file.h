/* cursor_file.h - how far a reader of all journals of a store has read, what it made of them so far, and what it has not yet handed on (N5).
 *
 * A SQLite file beside the store, with mode 0600. It is not a table of the store: a store has many readers, each with its own place; they may be removed and
 * begin anew, and a reader must never hold the lock that the runs need. What is read and what was made of it change in one transaction, so a crash neither
 * repeats nor loses anything. One handle belongs to one thread at a time. */
#ifndef OBSERVE_CURSOR_FILE_H
#define OBSERVE_CURSOR_FILE_H

#include "base/base.h"

typedef struct cursor_file cursor_file;

typedef struct cursor_run {     /* a run, by its number in the store */
    uint64_t no, life;
    uint64_t seq, index;        /* the place up to which it was read, at the end of a line; 0: nothing */
    uint64_t head_seq;          /* of its head, as it was before it was read */
    int64_t changed_ms;
    bool over;                  /* it had ended, and was read to its end */
    const char *id;             /* only for cursor_runs_after() */
} cursor_run;

typedef enum cursor_time { CURSOR_SINCE, CURSOR_SEEN, CURSOR_TIMES } cursor_time;       /* the reader's beginning; what changed before was read */

/* `alone`: no other process may have it open meanwhile: PAWL_HELD. NULL: see err; PAWL_IO, PAWL_INVALID: another program's, or of a newer Pawl. */
cursor_file *cursor_file_open(const char *path, bool alone, int64_t now_ms, pawl_err *err);
void cursor_file_close(cursor_file *f);         /* NULL: nothing */

/* A transaction excludes other processes. Without one, each call is one. */
pawl_code cursor_begin(cursor_file *f, pawl_err *err);          /* PAWL_HELD: another one has it; try again */
pawl_code cursor_commit(cursor_file *f, pawl_err *err);
void cursor_rollback(cursor_file *f);

int64_t cursor_time_of(cursor_file *f, cursor_time which);
pawl_code cursor_time_set(cursor_file *f, cursor_time which, int64_t ms, pawl_err *err);
/* PAWL_GONE: not known. */
pawl_code cursor_run_get(cursor_file *f, uint64_t no, cursor_run *out, pawl_err *err);
pawl_code cursor_run_put(cursor_file *f, const cursor_run *r, pawl_err *err);
pawl_code cursor_run_remove(cursor_file *f, uint64_t no, pawl_err *err);
/* Runs with a greater number, at most `limit`; ids are in `mem`. */
pawl_code cursor_runs_after(cursor_file *f, uint64_t no, arena *mem, cursor_run *out, size_t limit, size_t *n, pawl_err *err);

/* Adds to a number; labels that would be the one too many of their family become `other`. */
pawl_code cursor_add(cursor_file *f, const char *family, const char *labels, unsigned part, int64_t value, size_t most, const char *other, pawl_err *err);
/* In the order of family, labels and part. */
typedef void cursor_number_fn(void *ctx, const char *family, const char *labels, unsigned part, int64_t value);
pawl_code cursor_numbers(cursor_file *f, cursor_number_fn *fn, void *ctx, pawl_err *err);

/* The batch that is to be handed on: at most one, of a name of the caller. */
pawl_code cursor_batch_put(cursor_file *f, const char *name, pawl_bytes bytes, pawl_err *err);
/* PAWL_GONE: there is none. Appends to `out`. */
pawl_code cursor_batch_get(cursor_file *f, const char *name, buf *out, pawl_err *err);
pawl_code cursor_batch_drop(cursor_file *f, const char *name, pawl_err *err);

#endif
