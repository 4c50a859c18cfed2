/* simple.c - what a durable step costs on a store of three methods: in a folder of files beside a file of an entry's bytes that is replaced in the same
 * way, and in memory beside the store in memory. */
#include "bench.h"

#include <stdlib.h>

#define main store_folder_main
#include "../examples/store_folder.c"
#undef main

enum { WARM = 200, BLOCK = 25, BLOCKS = 20, MEMORY_STEPS = 4000, MEMORY_RECORDS = 1000 };

/* ---- in a folder ----------------------------------------------------------------------------------- */

typedef struct folder_laps {
    folder f;
    pawl_engine *e;
    int at;
    double from, ns, raw_ns;
    bool bad;
} folder_laps;

static void raw_files(folder_laps *l, int n)
{
    static const char body[ENTRY_BYTES] = "an entry";
    const double from = bench_ns();

    for (int i = 0; i < n; i++)
        l->bad = l->bad || !replaced(&l->f, "raw", 1, (pawl_bytes){ body, sizeof body });
    l->raw_ns += bench_ns() - from;
}

static void folder_lap(void *ctx, int64_t who)
{
    folder_laps *l = ctx;
    const int turn = ++l->at - WARM;

    (void)who;
    if (turn < 0 || turn % BLOCK != 0)
        return;
    if (turn > 0) {
        l->ns += bench_ns() - l->from;
        raw_files(l, BLOCK);
    }
    if (l->bad || turn == BLOCK * BLOCKS)
        pawl_engine_stop(l->e);
    l->from = bench_ns();
}

static bool folder_step(reading *out)
{
    disk d;
    folder_laps l = { .bad = false };
    turns t = { folder_lap, &l };
    pawl_err err = {0};
    bool good = disk_begin(&d, false) && folder_open(d.folder, &l.f);

    l.e = good ? pawl_engine_new(loop_machine(&t), pawl_store_simple(&folder_methods, &l.f, NULL, &err), &err) : NULL;
    good = l.e != NULL && pawl_run(l.e, "r", NULL, &err) >= 0 && !l.bad;
    *out = (reading){ good ? l.ns / l.raw_ns : 0, 1 };
    pawl_engine_free(l.e);
    close(l.f.lock);
    close(l.f.dir);
    disk_end(&d);
    return good || bench_wrong("a run on a folder", &err);
}

/* ---- in memory --------------------------------------------------------------------------------------- */

typedef struct shelf_record { char key[PAWL_KEY_BYTES_MAX + 1]; uint64_t version; char *data; size_t size, cap; } shelf_record;
typedef struct shelf { shelf_record all[MEMORY_RECORDS]; size_t n; } shelf;

static shelf_record *shelf_find(shelf *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->all[i].key, key) == 0)
            return &s->all[i];
    return NULL;
}

static pawl_code shelf_put(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    shelf *s = ctx;
    shelf_record *r = shelf_find(s, key);

    (void)err;
    if ((r != NULL ? r->version : 0) != before)
        return PAWL_CONFLICT;
    if (r == NULL) {
        if (s->n == MEMORY_RECORDS)
            return PAWL_LIMIT;
        r = &s->all[s->n++];
        snprintf(r->key, sizeof r->key, "%s", key);
    }
    if (value.size > r->cap) {
        char *grown = realloc(r->data, 2 * value.size);

        if (grown == NULL)
            return PAWL_NOMEM;
        r->data = grown;
        r->cap = 2 * value.size;
    }
    if (value.size > 0)
        memcpy(r->data, value.data, value.size);
    r->size = value.size;
    r->version = version;
    return PAWL_OK;
}

static pawl_code shelf_get(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    const shelf_record *r = shelf_find(ctx, key);
    void *to;

    (void)err;
    if (r == NULL || r->version == 0)
        return PAWL_GONE;
    if ((to = pawl_out_size(out, r->size)) == NULL)
        return PAWL_NOMEM;
    memcpy(to, r->data, r->size);
    *version = r->version;
    return PAWL_OK;
}

static pawl_code shelf_list(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    shelf *s = ctx;

    (void)err;
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].version != 0 && strncmp(s->all[i].key, prefix, strlen(prefix)) == 0 && !fn(fn_ctx, s->all[i].key, s->all[i].version))
            break;
    return PAWL_OK;
}

typedef struct memory_laps { pawl_engine *e; int at; double from, ns; } memory_laps;

static void memory_lap(void *ctx, int64_t who)
{
    memory_laps *l = ctx;

    (void)who;
    if (++l->at == WARM)
        l->from = bench_ns();
    if (l->at < WARM + MEMORY_STEPS)
        return;
    l->ns = bench_ns() - l->from;
    pawl_engine_stop(l->e);
}

/* Takes the store. */
static bool memory_us(pawl_store *s, double *us)
{
    memory_laps l = { .at = 0 };
    turns t = { memory_lap, &l };
    pawl_err err = {0};
    bool good;

    l.e = pawl_engine_new(loop_machine(&t), s, &err);
    good = l.e != NULL && pawl_run(l.e, "r", NULL, &err) >= 0;
    *us = l.ns / MEMORY_STEPS / 1000;
    pawl_engine_free(l.e);
    return good || bench_wrong("a run in memory", &err);
}

static bool memory_step(reading *out)
{
    static const pawl_simple_methods methods = { .name = "shelf", .put = shelf_put, .get = shelf_get, .list = shelf_list };
    shelf *s = calloc(1, sizeof *s);
    bool good = s != NULL && memory_us(pawl_store_simple(&methods, s, NULL, NULL), &out->value) && memory_us(pawl_store_memory(NULL), &out->base);

    for (size_t i = 0; s != NULL && i < s->n; i++)
        free(s->all[i].data);
    free(s);
    return good;
}

const figure simple_figures[] = {
    { "store.simple_step", "x", "a file replaced and synced, 300 bytes", 1.5, false, 5, folder_step },
    { "store.simple_memory", "us/step", "the store in memory", 0, false, 5, memory_step },
    { 0 },
};
