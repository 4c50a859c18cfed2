/* entry_page.h - the entries that a state asks its loader for one by one, read many at once (pawl_loader.entry). */
#ifndef STREAM_ENTRY_PAGE_H
#define STREAM_ENTRY_PAGE_H

#include "store/store.h"

/* Calls `fn` for each line after entry `after`, up to and including entry `upto`. */
typedef pawl_code entry_read_fn(void *ctx, uint64_t after, uint64_t upto, pawl_line_fn *fn, void *fn_ctx, pawl_err *err);

typedef struct entry_page {
    buf text;                   /* entries from `next` on; `at`: the position of that one */
    uint64_t next;
    size_t at;
} entry_page;

void entry_page_init(entry_page *p, const pawl_alloc *alloc);
void entry_page_free(entry_page *p);
/* Entry `seq` and the task records that it closes; valid until the next call. PAWL_GONE: there is none. */
pawl_code entry_page_get(entry_page *p, const char *run, uint64_t seq, entry_read_fn *read, void *ctx, pawl_bytes *entry, pawl_bytes *records, pawl_err *err);

#endif
