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

#define SSE_EVENT_BYTES_MAX ((size_t)4 << 20)   /* of one event, including the names and comments of its lines */

/* Lent until the next call. */
typedef struct sse_event {
    const char *name;           /* "" if it has none */
    pawl_bytes data;            /* lines joined by LF, followed by a NUL; not checked, may be invalid UTF-8 */
    const char *id;             /* the last one given by any event so far; "" */
    int64_t retry_ms;           /* likewise; -1: none */
} sse_event;

typedef struct sse {
    buf line;                   /* the incomplete line */
    buf name, data, id;
    size_t bytes;               /* of the current event */
    int64_t retry_ms;
    bool some;                  /* it has a line of data */
    bool cr;                    /* the last byte was a CR: a following LF belongs to it */
    bool begun;                 /* the first line was read, so there is no byte order mark any more */
    bool told;                  /* an event was returned: it is dropped at the next call */
    pawl_code rc;               /* it was refused finally */
} sse;

void sse_init(sse *s, const pawl_alloc *alloc);
void sse_free(sse *s);
/* Take bytes of `in`, up to the end of an event. PAWL_OK: *ev is an event, and `in` the rest. PAWL_PENDING: everything was taken. PAWL_LIMIT,
 * PAWL_NOMEM: nothing more can be read, now or later. Lines end in LF, CR or CRLF, and may be cut anywhere. */
pawl_code sse_next(sse *s, pawl_bytes *in, sse_event *ev, pawl_err *err);
/* The stream has ended. True: *ev is an incomplete event. (The standard drops it; some servers omit the last newlines.) */
bool sse_end(sse *s, sse_event *ev);

#endif
