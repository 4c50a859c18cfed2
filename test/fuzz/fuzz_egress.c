/* fuzz_egress.c - what a client of the proxy says first: a head is read within its bytes, and what the server gets names the same host.
 *
 * The input: a head, or the first bytes in a tunnel. */
#include "effect/egress.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + (size == 0));        /* its own block, so that a read beyond it is seen */
    egress_head h;
    size_t n;
    buf b;

    must(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    (void)egress_first_read(text, size, "a.example");
    (void)egress_first_read(text, size, "127.0.0.1");
    if ((n = egress_head_size(text, size)) > 0 && egress_head_read(text, n, &h)) {
        must(n <= size && h.host[0] != '\0' && strlen(h.host) < EGRESS_HOST_BYTES && h.port > 0 && h.method_size < n);
        buf_init(&b, NULL);
        if (!h.connect) {
            must(h.path >= text && h.path + h.path_size <= text + n);
            egress_head_put(&b, text, n, &h);
            must(b.failed || (b.size >= 4 && egress_head_size(b.data, b.size) == b.size));
            must(b.failed || egress_first_read(b.data, b.size, h.host) != EGRESS_PENDING);
        }
        buf_free(&b);
    }
    free(text);
    return 0;
}
