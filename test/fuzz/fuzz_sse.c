/* fuzz_sse.c - a stream of events, however it is cut, is the same events; and none is over the limit.
 *
 * The input: a byte that says how it is cut, then the stream. */
#include "net/sse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void tell(buf *b, const sse_event *ev)
{
    must(ev->data.data != NULL && ev->data.data[ev->data.size] == '\0' && ev->data.size <= SSE_EVENT_BYTES_MAX);
    must(ev->name != NULL && ev->id != NULL && ev->retry_ms >= -1);
    must(strchr(ev->name, '\n') == NULL && strchr(ev->name, '\r') == NULL);
    must(memchr(ev->data.data, '\r', ev->data.size) == NULL);
    buf_text(b, ev->name);
    buf_char(b, '\0');
    buf_put(b, ev->data.data, ev->data.size);
    buf_char(b, '\0');
    buf_text(b, ev->id);
    buf_fmt(b, " %lld\n", (long long)ev->retry_ms);
}

/* In pieces of `most` bytes and less; 0: in one. */
static void read_all(const char *data, size_t size, size_t most, buf *told)
{
    pawl_err err = { PAWL_OK, "" };
    sse_event ev;
    sse s;

    sse_init(&s, NULL);
    for (size_t at = 0; at < size;) {
        size_t n = most == 0 || most > size - at ? size - at : most;
        pawl_bytes in = { data + at, n };
        pawl_code rc;

        while ((rc = sse_next(&s, &in, &ev, &err)) == PAWL_OK)
            tell(told, &ev);
        must(rc == PAWL_PENDING && in.size == 0 && err.code == PAWL_OK);
        at += n;
    }
    if (sse_end(&s, &ev))
        tell(told, &ev);
    sse_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buf whole, cut;

    if (size == 0)
        return 0;
    buf_init(&whole, NULL);
    buf_init(&cut, NULL);
    read_all((const char *)data + 1, size - 1, 0, &whole);
    read_all((const char *)data + 1, size - 1, (size_t)(data[0] % 7) + 1, &cut);
    must(!whole.failed && whole.size == cut.size && (whole.size == 0 || memcmp(whole.data, cut.data, cut.size) == 0));
    buf_free(&whole);
    buf_free(&cut);
    return 0;
}
