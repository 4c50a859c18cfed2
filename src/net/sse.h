/* sse.h - server-sent events, read from bytes as they come. Pure.
 *
 *     pawl_bytes in = { data, size };
 *     while ((rc = sse_next(&s, &in, &ev, &err)) == PAWL_OK)
 *         take(&ev);
 *     if (rc != PAWL_PENDING) ...                 it is refused; else all of `in` is taken
 */
#ifndef NET_SSE_H
#define NET_SSE_H

#include "json/json.h"

#define SSE_EVENT_BYTES_MAX ((size_t)4 << 20)   /* of one event, names and comments of its lines with it */

/* Lent until the next call. */
typedef struct sse_event {
    const char *name;           /* "" when it has none */
    pawl_bytes data;            /* lines joined by LF; a NUL behind it. Not looked at: it may be no UTF-8 */
    const char *id;             /* the last that was told, of any event so far; "" */
    int64_t retry_ms;           /* the same; -1: none was */
} sse_event;

typedef struct sse {
    buf line;                   /* the one that is being read, as far as it came */
    buf name, data, id;
    size_t bytes;               /* of this event so far */
    int64_t retry_ms;
    bool some;                  /* there is a line of data */
    bool cr;                    /* the last byte was one: an LF now belongs to it */
    bool begun;                 /* the first line is behind it, so that there is no byte order mark */
    bool told;                  /* an event was handed out: what is of it is to go */
    pawl_code rc;               /* it was refused: for good */
} sse;

void sse_init(sse *s, const pawl_alloc *alloc);
void sse_free(sse *s);
/* Take bytes of `in`, up to the end of an event. PAWL_OK: *ev is one, and `in` is what follows it. PAWL_PENDING: all is taken.
 * PAWL_LIMIT, PAWL_NOMEM: no more can be read, then or later. Lines end in LF, CR or CRLF, and may be cut anywhere. */
pawl_code sse_next(sse *s, pawl_bytes *in, sse_event *ev, pawl_err *err);
/* The bytes are over. Whether an event was under way: then *ev is what there is of it. (The standard drops it; some send none
 * of the last newlines.) */
bool sse_end(sse *s, sse_event *ev);

#endif
