/* fuzz_a2a.c - any bytes as a body of JSON-RPC, or as the parameters of a method: what is taken becomes an input or a fault with one line, and whatever is
 * replied is JSON. The first byte says which method, the second which machine. */
#include "a2a/a2a.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void is_json(arena *mem, buf *b)
{
    must(b->failed || value_parse(mem, b->data, b->size, "a reply", NULL) != NULL);
    buf_free(b);
}

static void refused(arena *mem, const a2a_fault *f)
{
    buf b;

    must(f->error != A2A_FINE && strchr(f->text, '\n') == NULL);
    buf_init(&b, NULL);
    a2a_error_put(&b, f, A2A_1_0);
    is_json(mem, &b);
    buf_init(&b, NULL);
    a2a_rest_error_put(&b, f);
    is_json(mem, &b);
}

static void taken(arena *mem, const a2a_request *q, unsigned machine)
{
    const a2a_taker takers[] = { { .name = "g", .text = "t" }, { .name = "w", .whole = true }, { .name = "a", .agent = true }, { .name = "n" } };
    a2a_fault f = { A2A_FINE, "", "" };
    char digest[HASH_HEX + 1];
    const char *input;

    must(q->id != NULL);
    if (q->method != A2A_SEND && q->method != A2A_STREAM)
        return;
    must(q->message.nparts > 0 && q->message.id != NULL);
    (void)a2a_message_digest(&q->message, digest);
    input = a2a_input(mem, &takers[machine % 4], &q->message, &f);
    must((input != NULL) == (f.error == A2A_FINE));
    if (input != NULL)
        must(value_parse(mem, input, strlen(input), "an input", NULL) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    a2a_request q = { .method = A2A_SEND, .version = A2A_1_0, .id = "null" };
    a2a_fault f = { A2A_FINE, "", "" };
    const pawl_value *v;
    arena mem;

    if (size < 2)
        return 0;
    arena_init(&mem, NULL, 4096);
    if (data[0] >= A2A_METHODS) {
        if (a2a_rpc_read(&mem, (pawl_bytes){ (const char *)data + 2, size - 2 }, data[0] % 2 == 0 ? NULL : "1.0", &q, &f))
            taken(&mem, &q, data[1]);
        else
            refused(&mem, &f);
    } else if ((v = value_parse(&mem, (const char *)data + 2, size - 2, "the parameters", NULL)) != NULL) {
        q.method = (a2a_method)data[0];
        if (a2a_params_read(&mem, v, &q, &f))
            taken(&mem, &q, data[1]);
        else
            refused(&mem, &f);
    }
    arena_free(&mem);
    return 0;
}
