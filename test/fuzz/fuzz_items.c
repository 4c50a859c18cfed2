/* fuzz_items.c - any bytes as the lines of a journal, projected as items: what can be read as lines gives changes in which each item begins before it
 * changes and ends once, and nothing else happens, whatever the lines say (pawl/items.h). Lines are not folded, so they may contradict each other. */
#include "fuzz/fuzz_run.h"
#include "stream/projection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct open_ids { char *all[512]; size_t n; bool full; } open_ids;

static void ids_free(open_ids *o)
{
    while (o->n > 0)
        free(o->all[--o->n]);
}

static void follow(open_ids *o, const change *c)
{
    size_t at = 0;
    size_t bytes = strlen(c->id) + 1;

    if (o->full || c->kind == kind_number(PAWL_ITEM_LINE) || (c->what & PAWL_ITEM_GAP) != 0)
        return;
    while (at < o->n && strcmp(o->all[at], c->id) != 0)
        at++;
    if (at == o->n && (o->full = o->n == sizeof o->all / sizeof *o->all))
        return;
    must((at == o->n) == ((c->what & PAWL_ITEM_ADDED) != 0));
    if (at == o->n && (o->all[o->n++] = malloc(bytes)) != NULL)
        memcpy(o->all[at], c->id, bytes);
    must(o->all[at] != NULL && c->name != NULL && c->part != NULL && c->parent != NULL);
    if ((c->what & PAWL_ITEM_ENDED) != 0 && c->kind != kind_number(PAWL_ITEM_RUN)) {
        must(c->state >= PAWL_ITEM_DONE);
        free(o->all[at]);
        o->all[at] = o->all[--o->n];
    }
}

static void follow_all(open_ids *o, const projection *p)
{
    for (size_t i = 0; i < p->nchanges; i++)
        follow(o, &p->changes[i]);
}

/* The base may be any object: what it says is open is added first. */
static bool begin(projection *p, const pawl_alloc *alloc, pawl_bytes line, arena *mem)
{
    const pawl_value *base = line.size > 0 && *line.data == '{' ? value_read(mem, line.data, line.size, "a base", NULL) : NULL;
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc = projection_begin(p, alloc, "run-1", 1, base, &err);

    must_tell(rc, &err);
    return rc == PAWL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    const char *at = (const char *)data, *end = at + size, *nl;
    static open_ids ids;
    projection p;
    line_walk w;
    arena mem;

    arena_init(&mem, NULL, 4096);
    walk_init(&w, &alloc, "run-1");
    must(walk_ready(&w));
    w.life = 1;
    w.at.seq = 1;
    w.receipts_whole = true;
    nl = size == 0 ? NULL : memchr(at, '\n', size);
    ids = (open_ids){ .n = 0 };
    if (begin(&p, &alloc, (pawl_bytes){ at, nl != NULL ? (size_t)(nl - at) : size }, &mem)) {
        follow_all(&ids, &p);
        for (; at < end; at = nl + 1) {
            pawl_err err = { PAWL_OK, "" };
            pawl_code rc;

            if ((nl = memchr(at, '\n', (size_t)(end - at))) == NULL)
                nl = end;
            rc = line_begin(&w, (pawl_bytes){ at, (size_t)(nl - at) }, &err);
            must_tell(rc, &err);
            while (rc == PAWL_OK && w.entry != NULL) {
                arena_reset(&w.mem);
                rc = project_place(&p, &w, &err);
                must_tell(rc, &err);
                follow_all(&ids, &p);
                line_next(&w);
            }
        }
    }
    ids_free(&ids);
    projection_free(&p);
    walk_free(&w);
    arena_free(&mem);
    return 0;
}
