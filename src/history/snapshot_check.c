/* snapshot_check.c - checks that the snapshot of a run agrees with its journal (K6, K11).
 *
 * Owns nothing between calls. Called by pawl_history_verify, on the thread that uses the store's handle. The snapshot is loaded as an engine loads it,
 * the journal is folded up to the same entry, and both states are written out completely: the bytes must be equal. An entry that names a snapshot must name
 * this one. */
#include "history/history.h"
#include "kernel/journal/codec.h"
#include "kernel/journal/replay.h"

typedef struct entry_finder {       /* finds entries in the text of a journal; they are usually requested in order */
    pawl_bytes journal;
    uint64_t base_seq, next;        /* `next`: the entry whose lines begin at `at` */
    size_t first, at;               /* where the lines after the base begin */
    blobs_of *blobs;
} entry_finder;

static pawl_code entry_find(void *ctx, uint64_t seq, pawl_bytes *entry, pawl_bytes *records, pawl_err *err)
{
    entry_finder *f = ctx;
    const char *data = f->journal.data, *end = data + f->journal.size;
    size_t begin;

    if (seq < f->next) {
        f->next = f->base_seq + 1;
        f->at = f->first;
    }
    begin = f->at;
    while (f->at < f->journal.size) {
        const char *line = data + f->at, *nl = memchr(line, '\n', (size_t)(end - line));

        if (nl == NULL)
            break;
        f->at = (size_t)(nl - data) + 1;
        if (*line == '[')
            continue;
        if (f->next++ == seq) {
            *entry = (pawl_bytes){ line, (size_t)(nl - line) };
            *records = (pawl_bytes){ data + begin, (size_t)(line - data) - begin };
            return PAWL_OK;
        }
        begin = f->at;
    }
    return fail(err, PAWL_GONE, "there is no entry %llu", (unsigned long long)seq);
}

static pawl_code blob_find(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    blobs_of *b = ((entry_finder *)ctx)->blobs;

    return b->loader.blob(b, digest, bytes, err);
}

typedef struct read_snapshot { buf bytes; uint64_t seq; } read_snapshot;

static bool keep_snapshot(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    read_snapshot *r = ctx;

    (void)kind;
    r->seq = seq;
    buf_put(&r->bytes, line.data, line.size);
    return false;
}

/* Finds the first member that is not the same in both. An object is looked into down to the values of single channels. */
static void difference_find(const pawl_value *is, const pawl_value *due, int depth, buf *path)
{
    pawl_iter it = pawl_iter_of(due);
    const pawl_value *key, *v, *other;
    const char *name = NULL;

    if (depth == 0 || pawl_value_type(is) != PAWL_TYPE_OBJECT || pawl_value_type(due) != PAWL_TYPE_OBJECT)
        return;
    while (name == NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        if (!pawl_value_equal(v, pawl_value_get(is, pawl_value_string(key))))
            name = pawl_value_string(key);
    it = pawl_iter_of(is);
    while (name == NULL && (v = pawl_iter_next(&it, &key)) != NULL)
        if (pawl_value_get(due, pawl_value_string(key)) == NULL)
            name = pawl_value_string(key);
    if (name == NULL)
        return;
    v = pawl_value_get(due, name);
    other = pawl_value_get(is, name);
    buf_fmt(path, "%s%.64s", path->size > 0 ? "/" : "", name);
    if (v != NULL && other != NULL)
        difference_find(other, v, depth - 1, path);
}

/* "fold/values/target": where the states differ; no value, which may be anything. */
static void difference_name(pawl_bytes is, pawl_bytes due, buf *path)
{
    arena mem;

    arena_init(&mem, NULL, due.size);
    difference_find(value_read(&mem, is.data, is.size, "a state", NULL), value_read(&mem, due.data, due.size, "a state", NULL), 3, path);
    arena_free(&mem);
    buf_char(path, '\0');
}

/* Both states in the form of a pruned journal's base: complete, in one order. */
static pawl_code states_compare(const char *run, uint64_t seq, pawl_state *a, pawl_state *b, pawl_err *err)
{
    pawl_step *one = pawl_step_new(NULL), *other = pawl_step_new(NULL);
    pawl_bytes is = {0}, due = {0};
    pawl_code rc = one == NULL || other == NULL ? fail(err, PAWL_NOMEM, "no memory for a snapshot") : PAWL_OK;
    buf where;

    buf_init(&where, NULL);
    if (rc == PAWL_OK && (rc = pawl_state_prune(a, one, &is, err)) == PAWL_OK)
        rc = pawl_state_prune(b, other, &due, err);
    if (rc == PAWL_OK && (is.size != due.size || memcmp(is.data, due.data, is.size) != 0)) {
        difference_name(is, due, &where);
        rc = fail(err, PAWL_CORRUPT, "%s: its snapshot of entry %llu is another state than the journal gives: %s differs", run, (unsigned long long)seq,
                  where.size > 1 && !where.failed ? where.data : "a byte");
    }
    buf_free(&where);
    pawl_step_free(one);
    pawl_step_free(other);
    return rc;
}

/* Whether the entry after it names it. One without a name is never used, and so does no harm. */
static pawl_code name_check(entry_finder *f, const char *run, const read_snapshot *r, pawl_err *err)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_bytes entry = {0}, records = {0};
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = step == NULL ? fail(&why, PAWL_NOMEM, "no memory for a snapshot") : PAWL_OK;

    if (rc == PAWL_OK && entry_find(f, r->seq + 1, &entry, &records, NULL) == PAWL_OK)      /* both end with a newline there */
        rc = snapshot_fits(records.size > 0 ? records : (pawl_bytes){ entry.data, entry.size + 1 }, (pawl_bytes){ r->bytes.data, r->bytes.size }, step, &why);
    pawl_step_free(step);
    return rc == PAWL_OK || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s: entry %llu: %s", run, (unsigned long long)r->seq, why.text);
}

static bool of_the_machine(pawl_code rc) { return rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_TRANSIENT; }

static pawl_code snapshot_compare(entry_finder *f, const char *run, const read_snapshot *r, pawl_err *err)
{
    const pawl_loader loader = { .entry = entry_find, .blob = blob_find, .ctx = f };
    const pawl_bytes base = { f->journal.data, f->first - 1 };
    pawl_state *loaded = NULL, *folded = NULL;
    pawl_err why = { PAWL_OK, "" };
    bool loads;
    pawl_code rc = journal_fold(f->journal, r->seq, &f->blobs->loader, NULL, &folded, &why);

    if (rc == PAWL_OK)
        rc = pawl_state_load(base, (pawl_bytes){ r->bytes.data, r->bytes.size }, &loader, NULL, &loaded, &why);
    loads = rc == PAWL_OK;
    if (loads)
        rc = states_compare(run, r->seq, loaded, folded, &why);
    if (rc == PAWL_OK)
        rc = name_check(f, run, r, &why);
    pawl_state_free(loaded);
    pawl_state_free(folded);
    if (rc == PAWL_OK || loads || of_the_machine(rc))
        return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
    return fail(err, PAWL_CORRUPT, "%s: its snapshot of entry %llu cannot be read: %s", run, (unsigned long long)r->seq, why.text);
}

pawl_code snapshot_check(pawl_store *s, const char *run, pawl_bytes journal, uint64_t base_seq, uint64_t *seq, pawl_err *err)
{
    const char *nl = journal.size > 0 ? memchr(journal.data, '\n', journal.size) : NULL;
    pawl_err why = { PAWL_OK, "" };
    read_snapshot r = { .seq = 0 };
    blobs_of blobs;
    entry_finder f;
    pawl_code rc;

    buf_init(&r.bytes, NULL);
    rc = s->verbs->snapshot(s, run, keep_snapshot, &r, &why);
    if (rc == PAWL_OK && r.bytes.failed)
        rc = fail(&why, PAWL_NOMEM, "%s: no memory for its snapshot", run);
    if (rc == PAWL_OK && nl != NULL) {
        blobs_begin(&blobs, s, run);
        f = (entry_finder){ .journal = journal, .base_seq = base_seq, .next = base_seq + 1, .blobs = &blobs };
        f.first = f.at = (size_t)(nl - journal.data) + 1;
        rc = snapshot_compare(&f, run, &r, &why);
        blobs_end(&blobs);
    }
    buf_free(&r.bytes);
    *seq = r.seq;
    return rc == PAWL_OK || rc == PAWL_GONE ? PAWL_OK : fail(err, rc, "%s", why.text);
}
