/* frame.c - bytes to write: frames that streams share, the queue of a connection, the head of a reply. Loop thread; no socket. */
#include "net/http/http_inner.h"

#include <stdio.h>
#include <time.h>

/* ---- frames --------------------------------------------------------------------------------------------------- */

static http_frame *frame_of(const pawl_alloc *alloc, size_t payload, size_t bytes)
{
    const pawl_alloc used = mem_or_default(alloc);
    http_frame *f = used.resize(used.ctx, NULL, 0, sizeof *f + bytes);

    if (f != NULL)
        *f = (http_frame){ .alloc = used, .refs = 1, .payload = payload, .bytes = bytes };
    return f;
}

http_frame *http_frame_new(const pawl_alloc *alloc, const void *data, size_t size)
{
    char line[24];
    const size_t lead = (size_t)snprintf(line, sizeof line, "%zx\r\n", size);
    http_frame *f = size == 0 ? NULL : frame_of(alloc, size, lead + size + 2);

    if (f == NULL)
        return NULL;
    f->lead = (unsigned)lead;
    memcpy(f->data, line, lead);
    memcpy(f->data + lead, data, size);
    memcpy(f->data + lead + size, "\r\n", 2);
    return f;
}

http_frame *frame_plain(const pawl_alloc *alloc, const void *head, size_t head_size, const void *body, size_t body_size)
{
    http_frame *f = frame_of(alloc, head_size + body_size, head_size + body_size);

    if (f == NULL)
        return NULL;
    memcpy(f->data, head, head_size);
    if (body_size > 0)
        memcpy(f->data + head_size, body, body_size);
    return f;
}

http_frame *http_frame_keep(http_frame *f)
{
    PAWL_ASSERT(f->refs > 0, "a frame that somebody holds");
    f->refs++;
    return f;
}

void http_frame_drop(http_frame *f)
{
    if (f == NULL)
        return;
    PAWL_ASSERT(f->refs > 0, "a frame that somebody holds");
    if (--f->refs == 0) {
        const pawl_alloc alloc = f->alloc;

        mem_free(&alloc, f, sizeof *f + f->bytes);
    }
}

/* ---- the queue of a connection ---------------------------------------------------------------------------------- */

/* The bytes of a frame that a reader gets: HTTP/1.0 knows no chunks. */
static pawl_bytes frame_bytes(const http_frame *f, bool chunked)
{
    if (chunked)
        return (pawl_bytes){ f->data, f->bytes };
    return (pawl_bytes){ f->data + f->lead, f->payload };
}

static http_frame *out_at(const out_queue *q, size_t at) { return q->frames[(q->first + at) % q->cap]; }

bool out_add(out_queue *q, const pawl_alloc *alloc, http_frame *f, bool chunked)
{
    if (q->count == q->cap) {
        const size_t cap = q->cap == 0 ? 4 : 2 * q->cap;
        http_frame **frames = mem_new(alloc, cap * sizeof(http_frame *));

        if (frames == NULL)
            return false;
        for (size_t i = 0; i < q->count; i++)
            frames[i] = out_at(q, i);
        mem_free(alloc, q->frames, q->cap * sizeof(http_frame *));
        q->frames = frames;
        q->cap = cap;
        q->first = 0;
    }
    q->frames[(q->first + q->count++) % q->cap] = http_frame_keep(f);
    q->bytes += frame_bytes(f, chunked).size;
    return true;
}

size_t out_parts(const out_queue *q, bool chunked, uv_buf_t parts[OUT_BATCH])
{
    size_t n = 0;

    for (; n < q->count && n < OUT_BATCH; n++) {
        const pawl_bytes b = frame_bytes(out_at(q, n), chunked);
        const size_t skip = n == 0 ? q->written : 0;

        parts[n].base = (char *)(uintptr_t)b.data + skip;   /* libuv takes no const, and does not write to it */
        parts[n].len = b.size - skip;
    }
    return n;
}

void out_wrote(out_queue *q, bool chunked, size_t bytes)
{
    PAWL_ASSERT(bytes <= q->bytes, "only what waits is written");
    q->bytes -= bytes;
    q->written += bytes;
    while (q->count > 0) {
        http_frame *f = out_at(q, 0);
        const size_t size = frame_bytes(f, chunked).size;

        if (q->written < size)
            break;
        q->written -= size;
        q->first = (q->first + 1) % q->cap;
        q->count--;
        http_frame_drop(f);
    }
    PAWL_ASSERT((q->count == 0) == (q->bytes == 0), "every frame that waits has bytes");
}

void out_clear(out_queue *q, const pawl_alloc *alloc)
{
    for (size_t i = 0; i < q->count; i++)
        http_frame_drop(out_at(q, i));
    mem_free(alloc, q->frames, q->cap * sizeof(http_frame *));
    q->frames = NULL;
    q->cap = q->first = q->count = q->written = q->bytes = 0;
}

/* ---- the head of a reply ------------------------------------------------------------------------------------------ */

const char *http_status_text(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } rows[] = {
        { 100, "Continue" }, { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" }, { 204, "No Content" }, { 206, "Partial Content" },
        { 301, "Moved Permanently" }, { 303, "See Other" }, { 304, "Not Modified" }, { 307, "Temporary Redirect" },
        { 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
        { 406, "Not Acceptable" }, { 408, "Request Timeout" }, { 409, "Conflict" }, { 410, "Gone" }, { 411, "Length Required" },
        { 412, "Precondition Failed" }, { 413, "Content Too Large" }, { 414, "URI Too Long" }, { 415, "Unsupported Media Type" },
        { 416, "Range Not Satisfiable" }, { 417, "Expectation Failed" }, { 421, "Misdirected Request" }, { 422, "Unprocessable Content" },
        { 428, "Precondition Required" }, { 429, "Too Many Requests" }, { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" }, { 501, "Not Implemented" }, { 502, "Bad Gateway" }, { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" }, { 507, "Insufficient Storage" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            return rows[i].text;
    return "Status";
}

bool status_has_body(unsigned status) { return status >= 200 && status != 204 && status != 304; }

/* A date in the form of HTTP, independent of the locale. */
static void date_write(buf *out, int64_t now_ms)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    const time_t t = (time_t)(now_ms / 1000);
    struct tm tm;

    if (now_ms <= 0 || gmtime_r(&t, &tm) == NULL)
        return;
    buf_fmt(out, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour,
        tm.tm_min, tm.tm_sec);
}

static void field_write(buf *out, const http_field *f)
{
    buf_text(out, f->name);
    buf_word(out, ": ");
    for (const char *p = f->value; *p != '\0'; p++)
        buf_char(out, (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p);        /* a line break would begin a header that nobody set */
    buf_word(out, "\r\n");
}

void head_write(buf *out, const reply_head *h)
{
    buf_fmt(out, "HTTP/1.1 %u %s\r\n", h->status, http_status_text(h->status));
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].value != NULL)
            field_write(out, &h->fields[i]);
    date_write(out, h->now_ms);
    if (h->size >= 0 && status_has_body(h->status))
        buf_fmt(out, "Content-Length: %lld\r\n", (long long)h->size);
    else if (h->chunked && status_has_body(h->status))
        buf_word(out, "Transfer-Encoding: chunked\r\n");
    buf_text(out, h->keep ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}
