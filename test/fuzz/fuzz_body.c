/* fuzz_body.c - any bytes as the query or the body of a request: what is taken becomes words that no option can be smuggled into. The first byte says which
 * route. */
#include "serve/serve_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void query(const char *text)
{
    params p;

    if (params_read(&p, text))
        for (size_t i = 0; i < p.n; i++)
            must(utf8_valid(p.names[i], strlen(p.names[i])) && utf8_valid(p.values[i], strlen(p.values[i])));
    params_free(&p);
}

static void body(const route *row, pawl_bytes bytes)
{
    const asker who = { .by = "token:fuzz", .scopes = SCOPE_ANSWER, .most = PAWL_MODE_PLAN };
    body_words words;
    pawl_err err = { PAWL_OK, "" };
    arena mem;

    arena_init(&mem, NULL, 1024);
    if (body_read(&mem, bytes, row->members, &who, &words, &err) == PAWL_OK) {
        for (size_t i = 0; i < words.noptions; i++) {
            const char *name = words.options[i] + 2;
            const parameter *m = row->members;

            must(strncmp(words.options[i], "--", 2) == 0);
            while (m->name != NULL && (strncmp(m->name, name, strlen(m->name)) != 0 || (name[strlen(m->name)] != '=' && name[strlen(m->name)] != '\0')))
                m++;
            must(m->name != NULL && (m->scope & who.scopes) == m->scope);
        }
        for (size_t i = 0; i < words.nargs; i++)
            must(words.args[i] != NULL);
    } else {
        must(err.code != PAWL_OK && err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    }
    arena_free(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const route *row = route_table;
    char *text = malloc(size + 1);

    if (size == 0 || text == NULL) {
        free(text);
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (unsigned i = data[0]; row->method != NULL && (row->members == NULL || i-- > 0);)
        row++;
    if (row->method == NULL)
        query(text);
    else
        body(row, (pawl_bytes){ text, size - 1 });
    free(text);
    return 0;
}
