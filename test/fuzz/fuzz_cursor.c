/* fuzz_cursor.c - any text as a cursor, as a segment of a path and as kinds of items: what is taken is of its run, and nothing else is (N3, N4). */
#include "serve/serve_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void cursor(const char *text)
{
    static const uint64_t life = 0x1e3fba211d5006e7;
    char out[ITEM_CURSOR_MAX];
    pawl_err err = { PAWL_OK, "" };
    const size_t size = strcspn(text, " ");
    buf b;

    if (!item_cursor_read(text, size, "one", life, out, &err))
        return;
    must(strncmp(out, "one:", 4) == 0 && strlen(out) <= size && strchr(out, ' ') == NULL);
    must(err.code == PAWL_OK || (err.code == PAWL_GONE && text[3] == '~'));
    if (err.code != PAWL_OK)
        return;
    buf_init(&b, NULL);         /* what the server makes of it is read as the same */
    item_cursor_put(&b, out, "one", life);
    buf_char(&b, '\0');
    if (!b.failed && b.size <= ITEM_CURSOR_MAX) {
        char again[ITEM_CURSOR_MAX];

        must(item_cursor_read(b.data, b.size - 1, "one", life, again, &err) && err.code == PAWL_OK && strcmp(again, out) == 0);
    }
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    const char *segment;
    arena mem;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    cursor(text);
    must(items_kinds(text) < 2 * (unsigned)PAWL_ITEM_USAGE);
    arena_init(&mem, NULL, 1024);
    segment = segment_decode(&mem, text, strlen(text));
    must(segment == NULL || (*segment != '\0' && strchr(segment, '/') == NULL && utf8_valid(segment, strlen(segment))));
    arena_free(&mem);
    free(text);
    return 0;
}
