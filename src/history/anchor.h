/* anchor.h - the lines of an anchor file (P12): what anchor_line.c writes and reads, and anchor_check.c compares. Inside this folder, and for tests. */
#ifndef HISTORY_ANCHOR_H
#define HISTORY_ANCHOR_H

#include "json/json.h"
#include "pawl/history.h"

enum { ANCHOR_FORMAT = 1 };

typedef struct anchor_line {
    const char *store, *run;    /* lent by the arena */
    uint64_t life, seq, records;
    int64_t at_ms;
    int64_t gone_ms;            /* from then on its retention may have removed the run; INT64_MAX: never */
    hash head, open;
    bool removed;
} anchor_line;

/* Reads one line, without its newline. PAWL_INVALID: it is none, and err says why. */
pawl_code anchor_read(arena *mem, const char *text, size_t size, anchor_line *out, pawl_err *err);
/* The offset of a line that follows the torn beginning of another one without a newline; 0: there is none. */
size_t anchor_after_torn(const char *text, size_t size);

#endif
