/* journals.c - one reader of all journals: a pass over the runs that have changed, and a reader of items for each of them.
 *
 * Called by the thread that owns the cursor file. Owns the readers of runs that have not ended, at most READERS_MOST; the one that was not used for longest
 * makes room, and its run is read from the beginning when it goes on. Spans up to the stored place of a run are not given out again. Invariant: a place is
 * stored only at the end of a line, when all spans up to it were given out. */
#include "observe/journals.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { READERS_MOST = 256, PAGE_RUNS = 500, GONE_RUNS = 20, RUN_ID_BYTES = 160 };
/* A write of before may become visible so much later; two writes of one run in one millisecond are told apart by looking again for so long. */
enum { PASS_MARGIN_MS = 10000, SAME_MS = 2000 };

typedef struct followed_run {        /* a run that is being read */
    uint64_t no, life, used;
    pawl_items *items;
    span_maker *maker;
} followed_run;

struct journals {
    pawl_store *store;
    journals_sink sink;
    followed_run all[READERS_MOST];
    size_t n;
    uint64_t uses, unread;
    cursor_run at;              /* of the run that is being read */
    bool full;
    uint64_t before;            /* where the pass goes on; 0: a new one */
    int64_t pass_ms;            /* when it began */
    uint64_t gone_after;        /* up to which number it was looked whether runs are still there */
    arena mem;                  /* of one page */
    pawl_head *heads;
    size_t nheads;
};

static void reading_close(journals *j, size_t i)
{
    pawl_items_close(j->all[i].items);
    span_maker_free(j->all[i].maker);
    j->all[i] = j->all[--j->n];
}

void journals_forget(journals *j)
{
    while (j->n > 0)
        reading_close(j, j->n - 1);
    j->before = 0;
}

journals *journals_new(pawl_store *store, const journals_sink *sink, pawl_err *err)
{
    journals *j = calloc(1, sizeof *j);

    if (j == NULL) {
        fail(err, PAWL_NOMEM, "no memory for a reader of journals");
        return NULL;
    }
    j->store = store;
    j->sink = *sink;
    arena_init(&j->mem, NULL, 65536);
    return j;
}

void journals_free(journals *j)
{
    if (j == NULL)
        return;
    journals_forget(j);
    arena_free(&j->mem);
    free(j);
}

uint64_t journals_unread(const journals *j) { return j->unread; }

/* ---- a run --------------------------------------------------------------------------------------------------------- */

/* The span is new, unless it was given out before the reader was opened. */
static void span_comes(void *ctx, const run_span *s)
{
    journals *j = ctx;

    if (s->seq > j->at.seq || (s->seq == j->at.seq && s->index > j->at.index))
        j->sink.span(j->sink.ctx, s);
}

typedef struct base_told { char id[RUN_ID_BYTES], trace[TRACEPARENT_BYTES + 8]; bool read; } base_told;

static bool see_told(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    base_told *b = ctx;
    const pawl_value *v;
    const char *id, *life, *trace;
    arena mem;

    (void)seq;
    arena_init(&mem, NULL, 4096);
    v = kind == PAWL_LINE_BASE ? value_read(&mem, line.data, line.size, "a base", NULL) : NULL;
    id = pawl_value_string(pawl_value_get(v, "id"));
    life = pawl_value_string(pawl_value_get(v, "life"));
    trace = pawl_value_string(pawl_value_get(v, "trace"));
    b->read = id != NULL && life != NULL && snprintf(b->id, sizeof b->id, "%s~%s", id, life) < (int)sizeof b->id;
    if (trace != NULL)
        snprintf(b->trace, sizeof b->trace, "%.60s", trace);
    arena_free(&mem);
    return false;
}

/* False: there is no such run, or it cannot be read. */
static bool base_read(pawl_store *s, const char *run, base_told *out, pawl_err *err)
{
    *out = (base_told){ .read = false };
    return s->verbs->read(s, run, 0, 1, see_told, out, err) == PAWL_OK && out->read;
}

/* A parent that is gone, or another one with its id, had no trace that is known. */
static void parent_read(pawl_store *s, const char *parent, base_told *out)
{
    char run[RUN_ID_BYTES];
    const size_t n = strcspn(parent, "~"), whole = strcspn(parent, "/");

    *out = (base_told){ .read = false };
    if (n >= sizeof run)
        return;
    memcpy(run, parent, n);
    run[n] = '\0';
    if (!base_read(s, run, out, NULL) || strlen(out->id) != whole || strncmp(out->id, parent, whole) != 0)
        out->trace[0] = '\0';
}

static followed_run *reading_open(journals *j, const pawl_head *h, pawl_err *err)
{
    const pawl_items_options all = { .kinds = PAWL_ITEM_LINE * 2 - 1 };
    base_told own, parent = { .read = false };
    followed_run r = { .no = h->no, .life = h->life };

    if (!base_read(j->store, h->run, &own, err)) {
        fail(err, PAWL_GONE, "%s: its base cannot be read", h->run);
        return NULL;
    }
    if (h->parent != NULL)
        parent_read(j->store, h->parent, &parent);
    const span_run of = { .run = h->run, .id = own.id, .machine = h->machine != NULL ? h->machine : "", .context = h->context, .parent = h->parent,
                          .trace = own.trace[0] != '\0' ? own.trace : NULL, .parent_trace = parent.trace[0] != '\0' ? parent.trace : NULL };

    r.items = pawl_items_open(NULL, j->store, h->run, &all, err);
    r.maker = r.items != NULL ? span_maker_new(&of, span_comes, j) : NULL;
    if (r.maker == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for its spans", h->run);
        pawl_items_close(r.items);
        return NULL;
    }
    if (j->n == READERS_MOST) {
        size_t oldest = 0;

        for (size_t i = 1; i < j->n; i++)
            if (j->all[i].used < j->all[oldest].used)
                oldest = i;
        reading_close(j, oldest);
    }
    j->all[j->n] = r;
    return &j->all[j->n++];
}

static followed_run *reading_of(journals *j, const pawl_head *h, pawl_err *err)
{
    followed_run *r = NULL;

    for (size_t i = 0; i < j->n && r == NULL; i++)
        if (j->all[i].no == h->no && j->all[i].life == h->life)
            r = &j->all[i];
    if (r == NULL)
        r = reading_open(j, h, err);
    if (r != NULL)
        r->used = ++j->uses;
    return r;
}

/* Up to the newest line, or until the sink is full. PAWL_PENDING, PAWL_HALTED: all was read; PAWL_OK: the sink is full. */
static pawl_code lines_read(journals *j, followed_run *r, pawl_err *err)
{
    pawl_item_change c;
    pawl_code rc;

    while ((rc = pawl_items_next(r->items, &c, err)) == PAWL_OK) {
        const char *json = NULL;

        if (span_line_begins(&c)) {
            if (!span_maker_line(r->maker))
                return fail(err, PAWL_NOMEM, "%s: no memory for its spans", c.run);
            if ((j->full = j->sink.full(j->sink.ctx)))
                return PAWL_OK;
        }
        if (span_maker_needs(&c) && (json = pawl_items_json(r->items, err)) == NULL)
            return err->code < 0 ? err->code : PAWL_CORRUPT;
        if (!span_maker_takes(r->maker, &c, json))
            return fail(err, PAWL_NOMEM, "%s: no memory for its spans", c.run);
    }
    if (rc < PAWL_OK)
        return rc;
    return span_maker_line(r->maker) ? rc : fail(err, PAWL_NOMEM, "no memory for spans");
}

/* Its journal cannot be read: what was given out counts, and it is tried again when it has changed. */
static pawl_code run_unread(journals *j, cursor_file *f, const pawl_head *h, pawl_err *err)
{
    j->unread++;
    for (size_t i = j->n; i-- > 0;)
        if (j->all[i].no == h->no)
            reading_close(j, i);
    j->at.head_seq = h->seq;
    j->at.changed_ms = h->changed_ms;
    return cursor_run_put(f, &j->at, err);
}

static pawl_code run_read(journals *j, cursor_file *f, const pawl_head *h, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    followed_run *r = reading_of(j, h, &why);
    pawl_code rc = r != NULL ? lines_read(j, r, &why) : why.code;
    uint64_t seq, index;

    j->at.id = h->run;
    if (rc < PAWL_OK) {
        if (rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_HELD)
            return fail(err, rc, "%s", why.text);
        return run_unread(j, f, h, err);
    }
    span_maker_place(r->maker, &seq, &index);
    if (seq > j->at.seq || (seq == j->at.seq && index > j->at.index)) {
        j->at.seq = seq;
        j->at.index = index;
    }
    if (rc != PAWL_OK) {
        if (j->sink.steps != NULL && h->seq > j->at.head_seq)
            j->sink.steps(j->sink.ctx, h->machine != NULL ? h->machine : "", h->seq - j->at.head_seq);
        j->at.head_seq = h->seq;
        j->at.changed_ms = h->changed_ms;
        j->at.over = h->over && rc == PAWL_HALTED;
        if (j->at.over)
            reading_close(j, (size_t)(r - j->all));
    }
    return cursor_run_put(f, &j->at, err);
}

/* Whether there may be something new in it. */
static pawl_code run_look(journals *j, cursor_file *f, const pawl_head *h, pawl_err *err)
{
    const pawl_code rc = cursor_run_get(f, h->no, &j->at, err);
    const bool known = rc == PAWL_OK && j->at.life == h->life;      /* a store that was put back from a backup numbers its runs anew */

    if (rc != PAWL_OK && rc != PAWL_GONE)
        return rc;
    if (!known)
        j->at = (cursor_run){ .no = h->no, .life = h->life };
    if (!known && h->over && h->changed_ms < cursor_time_of(f, CURSOR_SINCE))
        return PAWL_OK;
    if (known && h->seq == j->at.head_seq && (j->at.over || (h->changed_ms == j->at.changed_ms && h->changed_ms + SAME_MS < j->pass_ms)))
        return PAWL_OK;
    return run_read(j, f, h, err);
}

/* ---- a pass ----------------------------------------------------------------------------------------------------------- */

static bool head_comes(void *ctx, const pawl_head *h)
{
    journals *j = ctx;
    pawl_head *to = &j->heads[j->nheads++];

    *to = *h;
    to->run = arena_text(&j->mem, h->run);
    to->machine = arena_text(&j->mem, h->machine);
    to->context = arena_text(&j->mem, h->context);
    to->parent = arena_text(&j->mem, h->parent);
    return j->nheads < PAGE_RUNS && !j->mem.failed;
}

/* Rows of runs that were removed, a few at a time. */
static pawl_code gone_look(journals *j, cursor_file *f, pawl_err *err)
{
    cursor_run rows[GONE_RUNS];
    pawl_head head;
    size_t n = 0;
    pawl_code rc;

    arena_reset(&j->mem);
    rc = cursor_runs_after(f, j->gone_after, &j->mem, rows, GONE_RUNS, &n, err);
    for (size_t i = 0; i < n && rc == PAWL_OK; i++) {
        const pawl_code there = j->store->verbs->head(j->store, rows[i].id, &head, NULL);

        if (there == PAWL_GONE || (there == PAWL_OK && head.no != rows[i].no))
            rc = cursor_run_remove(f, rows[i].no, err);
    }
    j->gone_after = n < GONE_RUNS ? 0 : rows[n - 1].no;
    return rc;
}

static pawl_code page_look(journals *j, cursor_file *f, bool *last, pawl_err *err)
{
    const pawl_filter changed = { .changed_since_ms = cursor_time_of(f, CURSOR_SEEN) - PASS_MARGIN_MS, .before = j->before, .limit = PAGE_RUNS };
    pawl_code rc;

    arena_reset(&j->mem);
    j->nheads = 0;
    if ((j->heads = arena_get(&j->mem, PAGE_RUNS * sizeof *j->heads)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for the runs of a page");
    if ((rc = j->store->verbs->list(j->store, &changed, head_comes, j, err)) != PAWL_OK)
        return rc;
    if (j->mem.failed)
        return fail(err, PAWL_NOMEM, "no memory for the runs of a page");
    *last = j->nheads < PAGE_RUNS;
    for (size_t i = 0; i < j->nheads && !j->full && rc == PAWL_OK; i++) {
        rc = run_look(j, f, &j->heads[i], err);
        if (!j->full)
            j->before = j->heads[i].no;
    }
    return rc;
}

pawl_code journals_look(journals *j, cursor_file *f, bool *more, pawl_err *err)
{
    bool last = false;
    pawl_code rc = PAWL_OK;

    *more = true;
    if (j->before == 0)
        j->pass_ms = j->store->verbs->now(j->store);
    for (j->full = j->sink.full(j->sink.ctx); rc == PAWL_OK && !last && !j->full;)
        rc = page_look(j, f, &last, err);
    if (rc != PAWL_OK || j->full)
        return rc;
    *more = false;
    j->before = 0;
    rc = cursor_time_set(f, CURSOR_SEEN, j->pass_ms, err);
    return rc == PAWL_OK ? gone_look(j, f, err) : rc;
}
