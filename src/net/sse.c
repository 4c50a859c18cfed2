/* sse.c - a parser of server-sent events, from pieces of any size.
 *
 * Pure; called by llm.c on the thread that drives the call. Owns the incomplete line. */
#include "net/sse.h"

enum { RETRY_DIGITS_MAX = 15, WINDOW_BYTES = 256 };

void sse_init(sse *s, const pawl_alloc *alloc)
{
    *s = (sse){ .retry_ms = -1 };
    buf_init(&s->line, alloc);
    buf_init(&s->name, alloc);
    buf_init(&s->data, alloc);
    buf_init(&s->id, alloc);
}

void sse_free(sse *s)
{
    buf_free(&s->line);
    buf_free(&s->name);
    buf_free(&s->data);
    buf_free(&s->id);
}

static bool is(const char *field, size_t n, const char *name)
{
    return n == strlen(name) && memcmp(field, name, n) == 0;
}

/* Ignored unless it consists of digits. */
static void retry_read(sse *s, const char *value, size_t n)
{
    int64_t ms = 0;

    if (n == 0 || n > RETRY_DIGITS_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        ms = ms * 10 + (value[i] - '0');
    }
    s->retry_ms = ms;
}

static void field_read(sse *s, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n), *value = colon != NULL ? colon + 1 : line + n;
    size_t name = colon != NULL ? (size_t)(colon - line) : n, size = (size_t)(line + n - value);

    if (size > 0 && *value == ' ') {
        value++;
        size--;
    }
    if (is(line, name, "data")) {
        if (s->some)
            buf_char(&s->data, '\n');
        s->some = true;
        buf_put(&s->data, value, size);
    } else if (is(line, name, "event")) {
        s->name.size = 0;
        if (memchr(value, '\0', size) == NULL)
            buf_put(&s->name, value, size);
    } else if (is(line, name, "id") && memchr(value, '\0', size) == NULL) {
        s->id.size = 0;
        buf_put(&s->id, value, size);
    } else if (is(line, name, "retry")) {
        retry_read(s, value, size);
    }
}

static void begin(sse *s)
{
    s->name.size = s->data.size = s->bytes = 0;
    s->some = s->told = false;
}

/* Handles a complete line. True: it completes an event. */
static bool line_read(sse *s, const char *line, size_t n)
{
    const bool mark = !s->begun && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0;

    s->begun = true;
    if (mark) {
        line += 3;
        n -= 3;
    }
    if (n > 0) {
        if (*line != ':')
            field_read(s, line, n);
        return false;
    }
    if (!s->some)
        begin(s);
    return s->some;
}

static const char *text_of(buf *b)
{
    buf_char(b, '\0');
    if (b->failed)
        return "";
    b->size--;
    return b->data;
}

static void hand_out(sse *s, sse_event *ev)
{
    *ev = (sse_event){ .name = text_of(&s->name), .id = text_of(&s->id), .retry_ms = s->retry_ms };
    ev->data = (pawl_bytes){ text_of(&s->data), s->data.size };
    s->told = true;
}

static bool failed(const sse *s)
{
    return s->line.failed || s->name.failed || s->data.failed || s->id.failed;
}

static pawl_code refuse(sse *s, pawl_err *err)
{
    if (s->rc == PAWL_LIMIT)
        return fail(err, PAWL_LIMIT, "an event of the stream is over %zu bytes (SSE_EVENT_BYTES_MAX)", SSE_EVENT_BYTES_MAX);
    return fail(err, s->rc, "no memory for an event of the stream");
}

/* The number of bytes before the first LF or CR, or all. Searched in windows, because the other kind may be far away. */
static size_t line_bytes(const char *text, size_t size)
{
    for (size_t from = 0; from < size; from += WINDOW_BYTES) {
        const size_t n = size - from < WINDOW_BYTES ? size - from : WINDOW_BYTES;
        const char *lf = memchr(text + from, '\n', n), *cr = memchr(text + from, '\r', lf != NULL ? (size_t)(lf - text) - from : n);

        if (cr != NULL || lf != NULL)
            return (size_t)((cr != NULL ? cr : lf) - text);
    }
    return size;
}

/* Adds `n` bytes to the line; a line that came in one piece is read in place. */
static bool line_more(sse *s, const char *text, size_t n, bool ended)
{
    bool whole;

    if (ended && s->line.size == 0)
        return line_read(s, text, n);
    buf_put(&s->line, text, n);
    whole = ended && line_read(s, s->line.data, s->line.size);
    if (ended)
        s->line.size = 0;
    return whole;
}

pawl_code sse_next(sse *s, pawl_bytes *in, sse_event *ev, pawl_err *err)
{
    if (s->told)
        begin(s);
    while (s->rc == PAWL_OK && in->size > 0) {
        const char *line = in->data;
        size_t n;
        bool ended, whole;

        if (s->cr && in->data[0] == '\n') {
            s->cr = false;
            in->data++;
            in->size--;
            continue;
        }
        n = line_bytes(line, in->size);
        ended = n < in->size;
        if (n > SSE_EVENT_BYTES_MAX - s->bytes) {
            s->rc = PAWL_LIMIT;
            break;
        }
        s->bytes += n;
        s->cr = ended && line[n] == '\r';
        in->data += n + (ended ? 1 : 0);
        in->size -= n + (ended ? 1 : 0);
        whole = line_more(s, line, n, ended);
        if (whole)
            hand_out(s, ev);
        if (failed(s))
            s->rc = PAWL_NOMEM;
        else if (whole)
            return PAWL_OK;
    }
    return s->rc == PAWL_OK ? PAWL_PENDING : refuse(s, err);
}

bool sse_end(sse *s, sse_event *ev)
{
    if (s->told)
        begin(s);
    if (s->line.size > 0)
        (void)line_more(s, "", 0, true);
    if (!s->some || s->rc != PAWL_OK)
        return false;
    hand_out(s, ev);
    return !failed(s);
}
