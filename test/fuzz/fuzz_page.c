/* fuzz_page.c - any bytes as a page: its text is UTF-8 where the page was, not much longer than it, and the same every time. */
#include "effect/tool/tool.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    buf clean, text, again;

    buf_init(&clean, NULL);
    buf_init(&text, NULL);
    buf_init(&again, NULL);
    html_text((const char *)data, size, &text);     /* as it is */
    must(text.size <= 2 * size + 100);
    buf_reset(&text);
    plain_put(&clean, (const char *)data, size);
    must(clean.size == 0 || (utf8_valid(clean.data, clean.size) && memchr(clean.data, '\0', clean.size) == NULL));
    must(clean.size <= 3 * size);
    html_text(clean.data, clean.size, &text);
    must(text.size <= 2 * clean.size + 100);
    must(text.size == 0 || utf8_valid(text.data, text.size));
    html_text(clean.data, clean.size, &again);
    must(again.size == text.size && (text.size == 0 || memcmp(again.data, text.data, text.size) == 0));
    for (size_t most = 0; most < 40 && text.size > 0; most += 7) {
        buf_reset(&again);
        must(plain_cut(&again, text.data, text.size, most, most % 2 == 0 ? CUT_END : CUT_MIDDLE, 0) == (text.size > most));
        must(again.size == 0 || utf8_valid(again.data, again.size));
    }
    buf_free(&again);
    buf_free(&text);
    buf_free(&clean);
    return 0;
}
