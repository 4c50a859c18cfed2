/* changed_nodes.c - the nodes in which two texts of an agent file differ. See changed_nodes.h. Called on the main thread. */
#include "cli/changed_nodes.h"
#include "file/file.h"

enum { NAMES_MAX = 10 };

typedef struct names { buf b; size_t n; } names;

static void name_add(names *s, const char *how, const char *name)
{
    if (s->n++ < NAMES_MAX)
        buf_fmt(&s->b, "%s%s%s", s->n > 1 ? ", " : "", name, how);
}

static bool same_node(arena *mem, faults *f, const doc *a, const doc *b)
{
    const pawl_value *va = doc_value(a, mem, f), *vb = doc_value(b, mem, f);

    return va != NULL && vb != NULL && pawl_value_equal(va, vb);
}

const char *changed_nodes(arena *mem, const doc *now, const char *kept, size_t size)
{
    const doc *was, *a, *b;
    names s = { .n = 0 };
    const char *out;
    faults f;

    faults_init(&f, mem);
    was = doc_read(mem, "kept", (pawl_bytes){ kept, size }, &f);
    a = doc_get(was, "nodes");
    b = doc_get(now, "nodes");
    if (a == NULL || b == NULL || a->kind != DOC_MAP || b->kind != DOC_MAP)
        return NULL;
    buf_init(&s.b, NULL);
    for (size_t i = 0; i < b->size; i++) {
        const doc *old = doc_get(a, b->keys[i]->text);

        if (old == NULL)
            name_add(&s, " (new)", b->keys[i]->text);
        else if (!same_node(mem, &f, old, b->items[i]))
            name_add(&s, "", b->keys[i]->text);
    }
    for (size_t i = 0; i < a->size; i++)
        if (doc_get(b, a->keys[i]->text) == NULL)
            name_add(&s, " (gone)", a->keys[i]->text);
    if (s.n > NAMES_MAX)
        buf_fmt(&s.b, " and %zu more", s.n - NAMES_MAX);
    out = s.n == 0 || s.b.failed ? NULL : arena_strdup(mem, s.b.data, s.b.size);
    buf_free(&s.b);
    return out;
}
