/* fuzz_schema.c - any schema on any value: an answer with words, and never more (X3).
 *
 * The input is the schema's text, a NUL, the value's text. */
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_tell(pawl_code code, const pawl_err *err)
{
    must(code == err->code && (code == PAWL_OK || code == PAWL_INVALID || code == PAWL_LIMIT));
    must(code == PAWL_OK || strncmp(err->text, "fuzz: ", 6) == 0);
    must(utf8_valid(err->text, strlen(err->text)) && strchr(err->text, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    pawl_err told = { PAWL_OK, "" }, known = { PAWL_OK, "" };
    const pawl_value *schema, *v;
    pawl_code code;
    arena a;

    if (nul == NULL)
        return 0;
    arena_init(&a, NULL, 1024);
    schema = value_parse(&a, (const char *)data, (size_t)(nul - data), "schema", NULL);
    v = value_parse(&a, (const char *)nul + 1, size - (size_t)(nul - data) - 1, "value", NULL);
    if (schema != NULL && v != NULL) {
        code = schema_check(schema, v, "fuzz", &told);
        must_tell(code, &told);
        must(schema_check(value_copy(&a, schema), value_copy(&a, v), "fuzz", NULL) == code);
        must_tell(schema_known(schema, "fuzz", &known), &known);
    }
    arena_free(&a);
    return 0;
}
