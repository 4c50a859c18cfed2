/* scan_test.c - the reader of entries takes the text that canon() writes, and no other text of the same value (K2, K5). */
#include "lib/check.h"

#include "json/json.h"

#include <string.h>

static const char *const taken[] = {
    "null", "true", "false", "0", "-1", "18446744073709551615", "-9223372036854775808", "0.0", "-2.5", "1e21", "1e-7",
    "\"\"", "\"seven b\"", "\"eight by\"", "\"longer than sixteen bytes\"", "\"h\xC3\xA9 \xF0\x9F\x98\x80\"", "\"\\b\\t\\n\\f\\r\\\"\\\\/\"",
    "\"\\u0000\\u001f\"", "\"sixteen bytes, then \\n and \xC3\xA9\"", "[]", "[[],[[]],{}]", "{}", "{\"\":0}", "{\"a\":{\"b\":[1,{\"c\":null}]},\"aa\":2}",
    "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,\"more nodes than the first guess\"]",
};

static const struct { const char *text; size_t at; } refused[] = {
    { "", 0 }, { " 1", 0 }, { "1 ", 1 }, { "01", 0 }, { "-0", 0 }, { "-", 0 }, { "1.", 0 }, { "1.50", 0 }, { "1e5", 0 }, { "1E21", 1 }, { "-0.0", 0 },
    { "18446744073709551616", 0 }, { "-9223372036854775809", 0 }, { "nul", 0 }, { "nullx", 4 }, { "NaN", 0 },
    { "\"", 1 }, { "\"a\nb\"", 2 }, { "\"\\/\"", 1 }, { "\"\\u0041\"", 1 }, { "\"\\u001F\"", 1 }, { "\"\\u000a\"", 1 }, { "\"\\", 1 },
    { "\"\xC3\"", 2 }, { "\"\xED\xA0\x80\"", 4 }, { "[1,]", 3 }, { "[,1]", 1 }, { "[1 ,2]", 2 }, { "[1}", 2 }, { "[1", 2 },
    { "{\"b\":1,\"a\":2}", 10 }, { "{\"a\":1,\"a\":2}", 10 }, { "{\"a\" :1}", 4 }, { "{\"a\":1,}", 7 }, { "{a:1}", 1 }, { "{\"\\u0000\":1}", 9 },
};

static const pawl_value *scanned(arena *a, scan *s, const char *text, size_t size)
{
    const pawl_value *v;

    CHECK(scan_begin(s, a, text, size));
    v = scan_value(s);
    if (v != NULL && s->at != s->end)
        (void)scan_wrong(s);
    return s->wrong == NULL ? v : NULL;
}

PAWL_TEST(test_K2_canonical_text_is_scanned_as_it_is_parsed)
{
    arena a;
    scan s;
    buf b;

    arena_init(&a, NULL, 256);
    buf_init(&b, NULL);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        size_t size = strlen(taken[i]);
        const pawl_value *v = scanned(&a, &s, taken[i], size);

        CHECK(pawl_value_equal(v, value_read(&a, taken[i], size, "it", NULL)));
        buf_reset(&b);
        canon(&b, v);
        buf_char(&b, '\0');
        CHECK_STR(b.data, taken[i]);
    }
    buf_free(&b);
    arena_free(&a);
}

PAWL_TEST(test_K2_no_other_text_is_scanned_and_the_byte_is_known)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pawl_err err = { PAWL_OK, "" };
        arena a;
        scan s;

        arena_init(&a, NULL, 256);
        if (scanned(&a, &s, refused[i].text, strlen(refused[i].text)) != NULL)
            CHECK_FAIL("%s is taken", refused[i].text);
        else if ((size_t)(s.wrong - s.from) != refused[i].at)
            CHECK_FAIL("%s: byte %zu, not %zu", refused[i].text, (size_t)(s.wrong - s.from), refused[i].at);
        CHECK_INT(scan_fails(&s, "it", &err), PAWL_CORRUPT);
        CHECK(strncmp(err.text, "it: byte ", 9) == 0);
        arena_free(&a);
    }
}

/* Any change of a byte: what is still taken is canonical text of what parses. */
PAWL_TEST(test_K5_a_changed_byte_is_canonical_or_refused)
{
    static const char bytes[] = "\"\\[]{},:0159-.eEntu \n/a\xC3";
    buf b;

    buf_init(&b, NULL);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        for (size_t at = 0; at < strlen(taken[i]); at++)
            for (size_t k = 0; k + 1 < sizeof bytes; k++) {
                char text[128];
                size_t size = strlen(taken[i]);
                const pawl_value *v, *parsed;
                arena a;
                scan s;

                arena_init(&a, NULL, 256);
                memcpy(text, taken[i], size);
                text[at] = bytes[k];
                v = scanned(&a, &s, text, size);
                parsed = value_read(&a, text, size, "it", NULL);
                buf_reset(&b);
                canon(&b, parsed);
                CHECK((v != NULL) == (parsed != NULL && b.size == size && memcmp(b.data, text, size) == 0));
                CHECK(v == NULL || pawl_value_equal(v, parsed));
                arena_free(&a);
            }
    buf_free(&b);
}

/* A string is read eight bytes at a time: each byte, at each place among them. */
PAWL_TEST(test_K2_each_byte_of_a_string_is_seen)
{
    buf b;

    buf_init(&b, NULL);
    for (size_t at = 1; at < 18; at++)
        for (int c = 0; c < 256; c++) {
            char text[] = "\"0123456789abcdef.\"";
            const size_t size = sizeof text - 1;
            const pawl_value *v, *parsed;
            arena a;
            scan s;

            arena_init(&a, NULL, 256);
            text[at] = (char)c;
            v = scanned(&a, &s, text, size);
            parsed = value_read(&a, text, size, "it", NULL);
            buf_reset(&b);
            canon(&b, parsed);
            CHECK((v != NULL) == (parsed != NULL && b.size == size && memcmp(b.data, text, size) == 0));
            CHECK(v == NULL || pawl_value_equal(v, parsed));
            arena_free(&a);
        }
    buf_free(&b);
}
