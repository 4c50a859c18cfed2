/* snapshot_check.c - checks that the snapshot of a run agrees with its journal (K6, K11).
 *
 * Owns nothing between calls. Called by pawl_history_verify, on the thread that uses the store's handle. The snapshot is loaded as an engine loads it,
 * the journal is folded up to the same entry, and both states are written out completely: the bytes must be equal. */
#include "history/history.h"
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

/* Both states in the form of a pruned journal's base: complete, in one order. */
static pawl_code states_same(pawl_state *a, pawl_state *b, bool *same, pawl_err *err)
{
    pawl_step *one = pawl_step_new(NULL), *other = pawl_step_new(NULL);
    pawl_bytes is = {0}, due = {0};
    pawl_code rc = one == NULL || other == NULL ? fail(err, PAWL_NOMEM, "no memory for a snapshot") : PAWL_OK;

    if (rc == PAWL_OK && (rc = pawl_state_prune(a, one, &is, err)) == PAWL_OK)
        rc = pawl_state_prune(b, other, &due, err);
    *same = rc == PAWL_OK && is.size == due.size && memcmp(is.data, due.data, is.size) == 0;
    pawl_step_free(one);
    pawl_step_free(other);
    return rc;
}

static bool of_the_machine(pawl_code rc) { return rc == PAWL_NOMEM || rc == PAWL_IO || rc == PAWL_TRANSIENT; }

static pawl_code snapshot_compare(entry_finder *f, const char *run, const read_snapshot *r, pawl_err *err)
{
    const pawl_loader loader = { .entry = entry_find, .blob = blob_find, .ctx = f };
    const pawl_bytes base = { f->journal.data, f->first - 1 };
    pawl_state *loaded = NULL, *folded = NULL;
    pawl_err why = { PAWL_OK, "" };
    bool same = false;
    pawl_code rc = journal_fold(f->journal, r->seq, &f->blobs->loader, NULL, &folded, &why);

    if (rc == PAWL_OK)
        rc = pawl_state_load(base, (pawl_bytes){ r->bytes.data, r->bytes.size }, &loader, NULL, &loaded, &why);
    if (rc == PAWL_OK)
        rc = states_same(loaded, folded, &same, &why);
    pawl_state_free(loaded);
    pawl_state_free(folded);
    if (of_the_machine(rc))
        return fail(err, rc, "%s", why.text);
    if (rc != PAWL_OK)
        return fail(err, PAWL_CORRUPT, "%s: its snapshot of entry %llu cannot be read: %s", run, (unsigned long long)r->seq, why.text);
    return same ? PAWL_OK : fail(err, PAWL_CORRUPT, "%s: its snapshot of entry %llu is another state than the journal gives", run, (unsigned long long)r->seq);
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
