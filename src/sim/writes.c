/* writes.c - keeps every write to the store of a world that a power cut may still undo, and simulates power cuts.
 *
 * Owns the records. Called by store.c for each verb that writes, and by points.c for a power cut; on the thread of pawl_sim. The same verbs with the
 * same arguments at the same times have the same results, so the store is rebuilt from the records that are kept. */
#include "pawl/store.h"
#include "sim/db_file.h"
#include "sim/sim.h"

#include <string.h>

/* ---- what was written, where it may be forgotten --------------------------------------------------- */

static void *copied(arena *a, const void *from, size_t n, size_t size)
{
    void *to = arena_get(a, (n + 1) * size);

    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

static void append_copied(arena *a, pawl_append *to)
{
    pawl_bytes *lines = copied(a, to->lines, to->nlines, sizeof *lines);
    pawl_waiting *waits = copied(a, to->waits, to->nwaits, sizeof *waits);
    pawl_blob *blobs = copied(a, to->blobs, to->nblobs, sizeof *blobs);

    for (size_t i = 0; i < to->nlines && lines != NULL; i++)
        lines[i] = arena_bytes(a, lines[i]);
    for (size_t i = 0; i < to->nwaits && waits != NULL; i++) {
        waits[i].id = arena_text(a, waits[i].id);
        waits[i].spec = arena_bytes(a, waits[i].spec);
        waits[i].answer = arena_bytes(a, waits[i].answer);
    }
    for (size_t i = 0; i < to->nblobs && blobs != NULL; i++)
        blobs[i] = (pawl_blob){ arena_text(a, blobs[i].digest), arena_bytes(a, blobs[i].bytes) };
    to->run = arena_text(a, to->run);
    to->parked = arena_text(a, to->parked);
    to->taken = copied(a, to->taken, to->ntaken, sizeof *to->taken);
    to->snapshot = arena_bytes(a, to->snapshot);
    to->lines = lines;
    to->waits = waits;
    to->blobs = blobs;
}

static void all_copied(arena *a, write_record *to)
{
    to->run = arena_text(a, to->run);
    to->owner = arena_text(a, to->owner);
    to->base = arena_bytes(a, to->base);
    to->all = copied(a, to->all, to->all != NULL ? to->n : 0, sizeof *to->all);
    to->claims = copied(a, to->claims, to->claims != NULL ? to->n : 0, sizeof *to->claims);
    to->holds = copied(a, to->holds, to->holds != NULL ? to->n : 0, sizeof *to->holds);
    to->marks = copied(a, to->marks, to->marks != NULL ? to->n : 0, sizeof *to->marks);
    to->d.id = arena_text(a, to->d.id);
    to->d.name = arena_text(a, to->d.name);
    to->d.by = arena_text(a, to->d.by);
    to->d.note = arena_text(a, to->d.note);
    to->d.trace = arena_text(a, to->d.trace);
    to->d.value = arena_bytes(a, to->d.value);
    to->d.update = arena_bytes(a, to->d.update);
    for (size_t i = 0; i < to->n && !a->failed; i++) {
        if (to->kind == WRITE_APPEND || to->kind == WRITE_CREATE)
            append_copied(a, &to->all[i]);
        if (to->kind == WRITE_CLAIM)
            to->claims[i].run = arena_text(a, to->claims[i].run);
        if (to->kind == WRITE_RENEW || to->kind == WRITE_RELEASE)
            to->holds[i].run = arena_text(a, to->holds[i].run);
        if (to->kind == WRITE_MARK) {
            to->marks[i].run = arena_text(a, to->marks[i].run);
            to->marks[i].id = arena_text(a, to->marks[i].id);
        }
    }
}

/* Kept only if a power cut may undo it. Now and then everything reaches the disk. */
void write_log(world *w, write_record what)
{
    write_record *one;

    if (!w->t.normal || w->plain)
        return;
    if ((one = mem_new(&w->alloc, sizeof *one)) == NULL) {
        sim_nomem(w);
        return;
    }
    *one = what;
    one->now_ms = w->now;
    arena_init(&one->mem, &w->alloc, 1024);
    all_copied(&one->mem, one);
    if (one->mem.failed)
        sim_nomem(w);
    if (w->last != NULL)
        w->last->next = one;
    else
        w->first = one;
    w->last = one;
    w->nwrites++;
    if (sim_happens(w, 100))
        w->nsafe = w->nwrites;
}

static void writes_drop(world *w, write_record *from)
{
    for (write_record *next; from != NULL; from = next) {
        next = from->next;
        arena_free(&from->mem);
        mem_free(&w->alloc, from, sizeof *from);
    }
}

void writes_free(world *w)
{
    writes_drop(w, w->first);
    w->first = w->last = NULL;
}

/* Repeated verbs have the same results, including refusals. */
static void do_again(pawl_store *s, write_record *one)
{
    const pawl_store_verbs *v = s->verbs;

    switch (one->kind) {
    case WRITE_CREATE:
        (void)v->create(s, one->base, &(pawl_beginning){ .owner = one->owner, .ttl_ms = one->ttl_ms, .fence = one->fence, .first = one->n > 0 ? one->all : NULL,
                                                         .left = one->d.id != NULL ? &one->d : NULL }, NULL);
        break;
    case WRITE_CLAIM:   (void)v->claim(s, one->owner, one->ttl_ms, one->claims, one->n, NULL); break;
    case WRITE_RENEW:   (void)v->renew(s, one->ttl_ms, one->holds, one->n, NULL); break;
    case WRITE_RELEASE: (void)v->release(s, one->holds, one->n, NULL); break;
    case WRITE_APPEND:  (void)v->append(s, one->all, one->n, NULL); break;
    case WRITE_MARK:    (void)v->mark(s, one->marks, one->n, NULL); break;
    case WRITE_DELIVER: (void)v->deliver(s, one->run, &one->d, NULL); break;
    case WRITE_PRUNE:   (void)v->prune(s, one->run, one->fence, one->seq, one->base, NULL); break;
    case WRITE_REMOVE:  (void)v->remove(s, one->run, one->fence, NULL); break;
    }
}

static int64_t now_ms(void *ctx) { return ((const world *)ctx)->now; }

/* ---- the store itself ------------------------------------------------------------------------------ */

enum { SQLITE_ONE_IN = 6 };

pawl_store *store_connect(world *w)
{
    const pawl_sqlite how = { .normal = true };     /* there is no disk below it that could lose writes */
    pawl_store *s = *w->path == '\0' ? pawl_store_memory(&w->err) : pawl_store_sqlite(w->path, &how, &w->err);

    if (s != NULL && *w->path == '\0')
        store_memory_clock(s, now_ms, w);
    else if (s != NULL)
        store_sqlite_clock(s, now_ms, w);
    return s;
}

bool store_begin(world *w, uint64_t seed)
{
    rng c = { seed ^ UINT64_C(0x5417E) };

    if (!w->plain && rng_below(&c, SQLITE_ONE_IN) == 0) {
        db_file_name(w->path, sizeof w->path, w, ++w->generation);
        w->report->sqlite = 1;
    }
    w->store = store_connect(w);
    return w->store != NULL;
}

void store_end(world *w)
{
    pawl_store_free(w->store);
    w->store = NULL;
    db_file_remove(w->path);
}

/* What had not reached the disk is lost: some of the last writes, and none before them. */
static void lose_writes(world *w)
{
    size_t kept = w->nsafe + (size_t)sim_below(w, w->nwrites - w->nsafe + 1), n = 0;
    const int64_t now = w->now;
    pawl_store *before = w->store;
    char path[SIM_PATH_BYTES];
    write_record **at = &w->first;

    if (kept == w->nwrites)
        return;
    w->lost_writes = true;
    w->report->forgotten += (uint32_t)(w->nwrites - kept);
    memcpy(path, w->path, sizeof path);
    if (*w->path != '\0')
        db_file_name(w->path, sizeof w->path, w, ++w->generation);
    if ((w->store = store_connect(w)) == NULL) {
        w->store = before;
        sim_nomem(w);
        return;
    }
    for (w->last = NULL; n < kept; n++, at = &(*at)->next) {
        w->now = (*at)->now_ms;
        do_again(w->store, *at);
        w->last = *at;
    }
    w->now = now;
    writes_drop(w, *at);
    *at = NULL;
    w->nwrites = kept;
    pawl_store_free(before);
    db_file_remove(path);
    for (unsigned i = 0; i < w->nruns; i++)
        sim_run_refold(w, &w->runs[i]);
}

void power_cut(world *w)
{
    size_t before = w->nwrites;

    w->report->power_cuts++;
    for (unsigned i = 0; i < w->nworkers; i++)
        w->workers[i].dead = true;
    if (w->t.normal)
        lose_writes(w);
    trace_line(w, NULL, "power cut, %zu writes are gone", before - w->nwrites);
}
