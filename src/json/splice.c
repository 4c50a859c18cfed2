/* splice.c - a value with one or several parts replaced.
 *
 * Pure; the result is in the caller's arena. */
#include "json/json.h"

#include <string.h>

typedef struct splice {
    yyjson_val *out;
    size_t used;
    const pawl_value *sub;
    bool put;
} splice;

/* The next token of a JSON pointer, with ~0 and ~1 decoded; false: too long. */
static bool pointer_step(const char **path, char *out, size_t size)
{
    size_t n = 0;

    for ((*path)++; **path != '\0' && **path != '/'; (*path)++) {
        char c = **path;

        if (c == '~' && ((*path)[1] == '0' || (*path)[1] == '1'))
            c = *++*path == '0' ? '~' : '/';
        if (n + 1 >= size)
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

static void copy_nodes(splice *s, const pawl_value *v)
{
    size_t n = value_nodes(v);

    memcpy(s->out + s->used, val_of(v), n * sizeof *s->out);
    s->used += n;
}

static bool index_is(const char *text, size_t index)
{
    size_t n = 0;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || n > index)
            return false;
        n = n * 10 + (size_t)(*p - '0');
    }
    return *text != '\0' && n == index;
}

/* `v` has at most DEPTH_MAX levels, so recursion is limited. */
static void splice_into(splice *s, const pawl_value *v, const char *path)
{
    pawl_iter it = pawl_iter_of(v);
    bool keyed = pawl_value_type(v) == PAWL_TYPE_OBJECT;
    const pawl_value *key, *member;
    char name[256];
    size_t head = s->used, index = 0;

    if (*path == '\0') {
        copy_nodes(s, s->sub);
        s->put = true;
        return;
    }
    if (*path != '/' || !pointer_step(&path, name, sizeof name) || (!keyed && pawl_value_type(v) != PAWL_TYPE_ARRAY)) {
        copy_nodes(s, v);
        return;
    }
    s->out[s->used++] = *val_of(v);
    for (; (member = pawl_iter_next(&it, &key)) != NULL; index++) {
        bool here = keyed ? strcmp(pawl_value_string(key), name) == 0
                          : index_is(name, index);

        if (keyed)
            s->out[s->used++] = *val_of(key);
        if (here)
            splice_into(s, member, path);
        else
            copy_nodes(s, member);
    }
    s->out[head].uni.ofs = (s->used - head) * sizeof *s->out;
}

const pawl_value *value_splice(arena *a, const pawl_value *v, const char *path, const pawl_value *sub)
{
    splice s = { .sub = sub };

    if (v == NULL || sub == NULL)
        return NULL;
    if (*path == '\0')
        return sub;
    s.out = arena_get(a, (value_nodes(v) + value_nodes(sub)) * sizeof *s.out);
    if (s.out == NULL)
        return NULL;
    splice_into(&s, v, path);
    return s.put ? of_val(s.out) : NULL;
}

/* ---- many parts at once ------------------------------------------------------------------------ */

typedef struct fill_open { const yyjson_val *end; yyjson_val *head; } fill_open;   /* a container whose members are under way */

const pawl_value *value_fill(arena *a, const pawl_value *v, value_place *places, size_t n)
{
    fill_open open[READ_DEPTH_MAX];
    size_t nodes = value_nodes(v), used = 0, depth = 0, next = 0;
    const yyjson_val *at = val_of(v), *end = at + nodes;
    yyjson_val *out;

    for (size_t i = 0; i < n; i++)
        nodes = nodes - value_nodes(places[i].at) + value_nodes(places[i].sub);
    if ((out = arena_get(a, nodes * sizeof *out)) == NULL)
        return NULL;
    while (at < end) {
        for (; depth > 0 && at >= open[depth - 1].end; depth--)
            open[depth - 1].head->uni.ofs = (size_t)(out + used - open[depth - 1].head) * sizeof *out;
        if (next < n && at == val_of(places[next].at)) {
            size_t size = value_nodes(places[next].sub);

            memcpy(out + used, val_of(places[next].sub), size * sizeof *out);
            places[next].put = of_val(out + used);
            used += size;
            at += value_nodes(places[next++].at);
            continue;
        }
        if (pawl_value_type(of_val(at)) >= PAWL_TYPE_ARRAY && depth < READ_DEPTH_MAX)
            open[depth++] = (fill_open){ at + value_nodes(of_val(at)), out + used };
        out[used++] = *at++;
    }
    for (; depth > 0; depth--)
        open[depth - 1].head->uni.ofs = (size_t)(out + used - open[depth - 1].head) * sizeof *out;
    return of_val(out);
}
