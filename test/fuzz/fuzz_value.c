/* fuzz_value.c - any bytes: refused with words, or one canonical text (K2, X3).
 *
 * What parses must print, and what is printed must parse to an equal value and print
 * to the same bytes again. */
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void round_trip(arena *a, const pawl_value *v)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *again, *copy = value_copy(a, v);
    buf first, second;

    buf_init(&first, NULL);
    buf_init(&second, NULL);
    canon(&first, v);
    must(!first.failed);
    again = value_parse(a, first.data, first.size, "again", &err);
    must(again != NULL && pawl_value_equal(v, again) && pawl_value_equal(copy, v));
    canon(&second, again);
    must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    buf_reset(&second);
    canon(&second, copy);
    must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    buf_free(&first);
    buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v;
    arena a;

    arena_init(&a, NULL, 1024);
    v = value_parse(&a, (const char *)data, size, "fuzz", &err);
    must((v == NULL) == (err.code < 0) && (v != NULL || strncmp(err.text, "fuzz: ", 6) == 0));
    must(utf8_valid(err.text, strlen(err.text)) && strchr(err.text, '\n') == NULL);
    if (v != NULL)
        round_trip(&a, v);
    arena_free(&a);
    return 0;
}
