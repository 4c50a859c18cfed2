/* anchor_check.c - compares the runs of a store with the heads that were anchored outside of it (P12).
 *
 * Owns nothing between two calls. Called by the program and by embedders, on the thread of the store's handle; nothing is written. All lines are read
 * first, and sorted by run and entry; then each journal is read once, and the hash of each entry is computed along the chain, since what stands in a row
 * of the store proves nothing. */
#include "base/hash_index.h"
#include "history/anchor.h"
#include "history/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 256, ANCHORS_MAX = INT32_MAX };

typedef enum anchor_verdict { BORNE_OUT, UNTIED, CUT, REWRITTEN, ABSENT } anchor_verdict;     /* of an anchor; UNTIED: the journal begins after it */

typedef struct anchor {
    hash head, open;
    uint64_t seq, records, line;
    int64_t at_ms, gone_ms;
    uint32_t owner;             /* index of its run */
    uint8_t verdict;
    bool removed, again;        /* again: an earlier line has the same head */
} anchor;

typedef struct owner {          /* a run by id and life */
    const char *run;
    uint64_t life;
    uint64_t newest;            /* its newest anchored entry */
    bool removed;               /* the last line says that it is gone, or when it may be */
    int64_t gone_ms;
} owner;

typedef struct anchor_checking {
    pawl_store *s;
    const char *id, *only;
    pawl_alloc alloc;
    arena mem, line_mem;
    anchor *anchors;
    owner *owners;
    size_t n, cap, nowners, owners_cap;
    hash_index index;
    uint64_t line;              /* number of the line that is read */
    pawl_anchor_finding_fn *fn;
    void *fn_ctx;
    pawl_anchored sum;
    int64_t now_ms;
} anchor_checking;

const char *pawl_anchor_fault_name(pawl_anchor_fault fault)
{
    switch (fault) {
    case PAWL_ANCHOR_CUT: return "cut";
    case PAWL_ANCHOR_REWRITTEN: return "rewritten";
    case PAWL_ANCHOR_MISSING: return "missing";
    case PAWL_ANCHOR_PRUNED: return "pruned";
    case PAWL_ANCHOR_DAMAGED: return "damaged";
    case PAWL_ANCHOR_NONSENSE: return "nonsense";
    case PAWL_ANCHOR_FOREIGN: return "foreign";
    }
    return "";
}

static void finding_report(anchor_checking *k, pawl_anchor_finding f, const char *fmt, ...) PAWL_PRINTF(3, 4);
static void finding_report(anchor_checking *k, pawl_anchor_finding f, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    f.text = text;
    k->sum.findings++;
    if (k->fn != NULL)
        k->fn(k->fn_ctx, &f);
}

/* ---- the lines ------------------------------------------------------------------------------------------- */

static uint32_t owner_hash(const char *run, uint64_t life)
{
    uint32_t h = 2166136261u;

    for (; *run != '\0'; run++)
        h = (h ^ (unsigned char)*run) * 16777619u;
    return (h ^ (uint32_t)life ^ (uint32_t)(life >> 32)) * 16777619u;
}

/* SIZE_MAX: there is none. */
static size_t owner_find(const anchor_checking *k, const char *run, uint64_t life)
{
    const uint32_t h = owner_hash(run, life);
    uint32_t at = hash_index_first(&k->index, h), i;

    while ((i = hash_index_next(&k->index, h, &at)) != UINT32_MAX)
        if (k->owners[i].life == life && strcmp(k->owners[i].run, run) == 0)
            return i;
    return SIZE_MAX;
}

static size_t owner_of(anchor_checking *k, const anchor_line *l)
{
    size_t i = owner_find(k, l->run, l->life);

    if (i != SIZE_MAX)
        return i;
    if (!arena_room(&k->mem, (void **)&k->owners, &k->owners_cap, k->nowners, sizeof *k->owners) ||
        !hash_index_add(&k->index, &k->alloc, owner_hash(l->run, l->life), (uint32_t)k->nowners))
        return SIZE_MAX;
    k->owners[k->nowners] = (owner){ .run = arena_text(&k->mem, l->run), .life = l->life };
    return k->owners[k->nowners].run == NULL ? SIZE_MAX : k->nowners++;
}

static pawl_code anchor_keep(anchor_checking *k, const anchor_line *l, pawl_err *err)
{
    owner *o;
    size_t i;

    if (strcmp(l->store, k->id) != 0) {
        k->sum.others++;
        return PAWL_OK;
    }
    k->sum.lines++;
    if (k->only != NULL && strcmp(l->run, k->only) != 0)
        return PAWL_OK;
    if (k->n == ANCHORS_MAX)
        return fail(err, PAWL_LIMIT, "line %" PRIu64 ": more than %d anchors", k->line, (int)ANCHORS_MAX);
    if ((i = owner_of(k, l)) == SIZE_MAX || !arena_room(&k->mem, (void **)&k->anchors, &k->cap, k->n, sizeof *k->anchors))
        return fail(err, PAWL_NOMEM, "line %" PRIu64 ": no memory for so many anchors", k->line);
    o = &k->owners[i];
    o->removed = l->removed;
    o->gone_ms = l->gone_ms;
    o->newest = l->seq > o->newest ? l->seq : o->newest;
    k->anchors[k->n++] = (anchor){ .head = l->head, .open = l->open, .seq = l->seq, .records = l->records, .line = k->line, .at_ms = l->at_ms,
                                   .gone_ms = l->gone_ms, .owner = (uint32_t)i, .removed = l->removed };
    return PAWL_OK;
}

static pawl_code line_take(anchor_checking *k, const char *text, size_t size, bool last, pawl_err *err)
{
    const bool whole = size < PAWL_ANCHOR_LINE_BYTES;
    pawl_err why = { PAWL_OK, "" };
    anchor_line l;
    pawl_code rc;
    size_t at;

    k->line++;
    while (whole && size > 0 && (text[size - 1] == '\r' || text[size - 1] == ' '))
        size--;
    if (size == 0)
        return PAWL_OK;
    arena_reset(&k->line_mem);
    rc = whole ? anchor_read(&k->line_mem, text, size, &l, &why) : fail(&why, PAWL_INVALID, "it is too long");
    if (rc == PAWL_INVALID && (at = anchor_after_torn(text, size)) > 0 && anchor_read(&k->line_mem, text + at, size - at, &l, NULL) == PAWL_OK) {
        k->sum.torn++;          /* a crash cut a line off, and the next writer went on in the same line */
        rc = PAWL_OK;
    }
    if (rc == PAWL_OK)
        return anchor_keep(k, &l, err);
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "line %" PRIu64 ": no memory", k->line);
    if (last)
        k->sum.torn++;
    else
        finding_report(k, (pawl_anchor_finding){ .fault = PAWL_ANCHOR_NONSENSE, .line = k->line }, "line %" PRIu64 " is no anchor: %s", k->line, why.text);
    return PAWL_OK;
}

/* A line that is longer than any anchor is kept up to that length, and so refused as one. */
static pawl_code lines_take(anchor_checking *k, pawl_source_fn *source, void *ctx, buf *line, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    pawl_bytes piece;

    for (;;) {
        if (!source(ctx, &piece))
            return fail(err, PAWL_IO, "the anchors cannot be read to their end");
        if (piece.size == 0)
            break;
        for (const char *at = piece.data, *end = at + piece.size, *nl; at < end && rc == PAWL_OK; at = nl + 1) {
            const size_t left = (size_t)(end - at);
            size_t n;

            nl = memchr(at, '\n', left);
            n = nl != NULL ? (size_t)(nl - at) : left;
            buf_put(line, at, line->size + n <= PAWL_ANCHOR_LINE_BYTES ? n : PAWL_ANCHOR_LINE_BYTES - line->size);
            if (nl == NULL)
                break;
            rc = line_take(k, line->size > 0 ? line->data : "", line->size, false, err);
            line->size = 0;
        }
        if (rc != PAWL_OK || line->failed)
            return rc != PAWL_OK ? rc : fail(err, PAWL_NOMEM, "no memory for the anchors");
    }
    return line->size > 0 ? line_take(k, line->data, line->size, true, err) : PAWL_OK;
}

static int by_entry(const void *a, const void *b)
{
    const anchor *x = a, *y = b;

    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_line(const void *a, const void *b)
{
    const anchor *x = a, *y = b;

    return x->line < y->line ? -1 : x->line > y->line;
}

/* ---- one journal ------------------------------------------------------------------------------------------ */

typedef struct chain_walk {
    anchor *at, *end;           /* of the run, by entry */
    const char *text, *stop;    /* what is left of the journal */
    uint64_t seq;
    hash prev;
    bool broken;
} chain_walk;

/* The next line without its newline; false: there is none. */
static bool next_line(chain_walk *w, pawl_bytes *line)
{
    const char *nl = w->text < w->stop ? memchr(w->text, '\n', (size_t)(w->stop - w->text)) : NULL;

    if (nl == NULL)
        return false;
    *line = (pawl_bytes){ w->text, (size_t)(nl - w->text) };
    w->text = nl + 1;
    return true;
}

/* The first `n` task records from here on, as store_records() has them; false: there are fewer. */
static bool records_here(const chain_walk *w, uint64_t n, hash *out)
{
    chain_walk k = *w;
    pawl_bytes line;

    while (n-- > 0)
        if (!next_line(&k, &line) || line.size == 0 || line.data[0] != '[')
            return false;
    hash_of(w->text, (size_t)(k.text - w->text), out);
    return true;
}

/* The anchors of the entry that the walk stands after. */
static void compare(chain_walk *w)
{
    for (; w->at < w->end && w->at->seq == w->seq; w->at++) {
        hash open;

        if (!hash_equal(&w->at->head, &w->prev))
            w->at->verdict = REWRITTEN;
        else if (w->at->records > 0 && !records_here(w, w->at->records, &open))
            w->at->verdict = CUT;
        else if (w->at->records > 0 && !hash_equal(&w->at->open, &open))
            w->at->verdict = REWRITTEN;
    }
}

static bool body_digest(pawl_bytes body, hash *out)
{
    if (body.size == HASH_HEX + 2 && body.data[0] == '"')       /* erased: it leaves its digest */
        return hash_unhex(body.data + 1, HASH_HEX, out);
    hash_of(body.data, body.size, out);
    return true;
}

/* The hash of an entry, which must be the one that stands in it. */
static bool chain_goes_on(chain_walk *w, pawl_bytes line)
{
    const char *envelope = line.data + HASH_HEX + 1, *end = line.data + line.size, *space;
    hash body, stands, is;

    if (line.size <= HASH_HEX + 1 || !hash_unhex(line.data, HASH_HEX, &stands) || (space = memchr(envelope, ' ', (size_t)(end - envelope))) == NULL ||
        !body_digest((pawl_bytes){ space + 1, (size_t)(end - space - 1) }, &body))
        return false;
    hash_parts((pawl_bytes[]){ { (const char *)w->prev.b, HASH_BYTES }, { envelope, (size_t)(space - envelope) }, { (const char *)body.b, HASH_BYTES } }, 3,
               &is);
    w->prev = is;
    return hash_equal(&is, &stands);
}

/* The hash before the first entry: that of the base, or of the entry that a pruned one stands for. */
static bool base_hash(anchor_checking *k, pawl_bytes base, hash *out)
{
    const char *prev;

    arena_reset(&k->line_mem);
    prev = pawl_value_string(pawl_value_get(value_parse(&k->line_mem, base.data, base.size, "a base", NULL), "prev"));
    if (prev != NULL)
        return hash_unhex(prev, strlen(prev), out);
    hash_of(base.data, base.size, out);
    return !k->line_mem.failed;
}

/* The chain is broken here: the lines after this one are not the anchored ones. */
static void walk_breaks(chain_walk *w)
{
    w->broken = true;
    for (anchor *a = w->at; a < w->end; a++)
        a->verdict = REWRITTEN;
}

static void journal_walk(anchor_checking *k, chain_walk *w, uint64_t base_seq)
{
    pawl_bytes line;

    w->seq = base_seq;
    if (!next_line(w, &line) || !base_hash(k, line, &w->prev)) {
        walk_breaks(w);
        return;
    }
    for (; w->at < w->end && w->at->seq < base_seq; w->at++)
        w->at->verdict = UNTIED;
    compare(w);
    while (next_line(w, &line)) {
        if (line.size > 0 && line.data[0] == '[')
            continue;
        if (!chain_goes_on(w, line)) {
            walk_breaks(w);
            return;
        }
        w->seq++;
        compare(w);
    }
    for (; w->at < w->end; w->at++)
        w->at->verdict = CUT;
}

/* ---- one run ---------------------------------------------------------------------------------------------- */

static pawl_anchor_fault fault_of(unsigned v)
{
    return v == REWRITTEN ? PAWL_ANCHOR_REWRITTEN : v == CUT ? PAWL_ANCHOR_CUT : v == ABSENT ? PAWL_ANCHOR_MISSING : PAWL_ANCHOR_PRUNED;
}

static void run_report(anchor_checking *k, const owner *o, const anchor *first, uint64_t lines, uint64_t newest)
{
    const pawl_anchor_fault fault = fault_of(first->verdict);
    const pawl_anchor_finding f = { fault, o->run, first->line, lines, first->seq, newest, first->at_ms, NULL };
    const unsigned long long seq = first->seq, is = newest;

    switch (fault) {
    case PAWL_ANCHOR_CUT:
        if (first->seq <= newest)
            finding_report(k, f, "%s: task records after entry %llu that were anchored are gone", o->run, seq);
        else
            finding_report(k, f, "%s: its journal ends after entry %llu, and entry %llu was anchored", o->run, is, seq);
        break;
    case PAWL_ANCHOR_REWRITTEN: finding_report(k, f, "%s: entry %llu, or what follows it, is not the one that was anchored", o->run, seq); break;
    case PAWL_ANCHOR_MISSING:
        finding_report(k, f, newest > 0 ? "%s: another run has its id now, and nothing says that the anchored one was removed"
                              : "%s: the run is not in the store, and nothing says that it was removed", o->run);
        break;
    default: finding_report(k, f, "%s: its journal begins after entry %llu, its newest anchored one: nothing ties them", o->run, seq); break;
    }
}

/* Tells the first anchor of the run that is not borne out. */
static void run_judge(anchor_checking *k, const owner *o, anchor *from, const anchor *end, const chain_walk *w)
{
    const anchor *first = NULL;
    uint64_t lines = 0;
    bool tied = false;

    for (const anchor *a = from; a < end; a++) {
        tied = tied || a->verdict == BORNE_OUT;
        lines += a->verdict != BORNE_OUT && a->verdict != UNTIED;
        if (first == NULL && a->verdict != BORNE_OUT && a->verdict != UNTIED)
            first = a;
    }
    if (w->broken)
        finding_report(k, (pawl_anchor_finding){ .fault = PAWL_ANCHOR_DAMAGED, .run = o->run, .seq = w->seq + 1, .line = from->line, .at_ms = from->at_ms },
             "%s: its chain of hashes is broken at entry %llu", o->run, (unsigned long long)w->seq + 1);
    else if (first != NULL)
        run_report(k, o, first, lines, w->seq);
    else if (!tied)
        run_report(k, o, end - 1, (uint64_t)(end - from), w->seq);
    else {
        k->sum.good++;
        k->sum.ahead += w->seq > o->newest;
    }
}

static void run_absent(anchor_checking *k, const owner *o, anchor *from, const anchor *end, uint64_t newest)
{
    if (o->removed || o->gone_ms <= k->now_ms) {
        k->sum.removed++;
        return;
    }
    for (anchor *a = from; a < end; a++)
        a->verdict = ABSENT;
    run_report(k, o, from, (uint64_t)(end - from), newest);
}

static pawl_code run_check(anchor_checking *k, const owner *o, anchor *from, anchor *end, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    uint64_t base_seq = 0;
    pawl_head head;
    chain_walk w = { .at = from, .end = end };
    pawl_code rc = k->s->verbs->head(k->s, o->run, &head, &why);
    buf text;

    k->sum.runs++;
    if (rc == PAWL_GONE || (rc == PAWL_OK && head.life != o->life)) {
        run_absent(k, o, from, end, rc == PAWL_OK ? head.seq : 0);
        return PAWL_OK;
    }
    buf_init(&text, NULL);
    if (rc == PAWL_OK)
        rc = store_journal(k->s, o->run, 0, &text, &base_seq, &why);
    w.text = text.data;
    w.stop = text.size > 0 ? text.data + text.size : text.data;
    if (rc == PAWL_OK)
        journal_walk(k, &w, base_seq);
    if (rc == PAWL_CORRUPT)
        walk_breaks(&w);
    if (rc == PAWL_OK || rc == PAWL_CORRUPT)
        run_judge(k, o, from, end, &w);
    buf_free(&text);
    return rc == PAWL_OK || rc == PAWL_CORRUPT ? PAWL_OK : fail(err, rc, "%s", why.text);
}

/* ---- the store -------------------------------------------------------------------------------------------- */

typedef struct unanchored_page { anchor_checking *k; uint64_t last; size_t n; } unanchored_page;

static bool see_run(void *ctx, const pawl_head *h)
{
    unanchored_page *p = ctx;

    p->n++;
    p->last = h->no;
    p->k->sum.unanchored += owner_find(p->k, h->run, h->life) == SIZE_MAX;
    return true;
}

static pawl_code unanchored_count(anchor_checking *k, pawl_err *err)
{
    unanchored_page p = { .k = k };
    pawl_code rc;

    do {
        const pawl_filter f = { .before = p.last, .limit = PAGE };

        p.n = 0;
        rc = k->s->verbs->list(k->s, &f, see_run, &p, err);
    } while (rc == PAWL_OK && p.n == PAGE);
    return rc;
}

/* Whether an older copy of the store would look like this: up to some line all is there, and after it nothing that had not been there before. */
static void age_judge(anchor_checking *k)
{
    const anchor *first = NULL;

    for (size_t i = 1; i < k->n; i++)
        k->anchors[i].again = k->anchors[i].owner == k->anchors[i - 1].owner && k->anchors[i].seq == k->anchors[i - 1].seq &&
                              k->anchors[i].records == k->anchors[i - 1].records;
    qsort(k->anchors, k->n, sizeof *k->anchors, by_line);
    for (size_t i = 0; i < k->n; i++) {
        const anchor *a = &k->anchors[i];

        if (a->verdict == REWRITTEN || a->verdict == UNTIED || (first != NULL && a->verdict == BORNE_OUT && !a->again))
            return;
        if (first == NULL && (a->verdict == CUT || a->verdict == ABSENT))
            first = a;
    }
    if (first == NULL)
        return;
    k->sum.rolled_back = true;
    k->sum.since = first->line;
    k->sum.since_ms = first->at_ms;
}

static pawl_code all_check(anchor_checking *k, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (k->n > 1)
        qsort(k->anchors, k->n, sizeof *k->anchors, by_entry);
    for (size_t from = 0, end; from < k->n && rc == PAWL_OK; from = end) {
        for (end = from + 1; end < k->n && k->anchors[end].owner == k->anchors[from].owner;)
            end++;
        rc = run_check(k, &k->owners[k->anchors[from].owner], k->anchors + from, k->anchors + end, err);
    }
    if (rc == PAWL_OK && k->only == NULL)
        rc = unanchored_count(k, err);
    if (rc == PAWL_OK && k->n > 0)
        age_judge(k);
    if (rc == PAWL_OK && k->sum.lines == 0 && k->sum.others > 0 && k->sum.unanchored > 0)
        finding_report(k, (pawl_anchor_finding){ .fault = PAWL_ANCHOR_FOREIGN }, "none of the %" PRIu64 " anchors is of this store, %s, which has %zu runs",
             k->sum.others, k->id, k->sum.unanchored);
    return rc;
}

pawl_code pawl_history_anchored(pawl_store *s, const char *run, pawl_source_fn *source, void *ctx, pawl_anchor_finding_fn *fn, void *fn_ctx,
                                pawl_anchored *sum, pawl_err *err)
{
    anchor_checking k = { .alloc = mem_or_default(NULL), .s = s, .id = "-", .only = run, .fn = fn, .fn_ctx = fn_ctx };
    pawl_code rc;
    buf line;

    if (s == NULL || source == NULL || sum == NULL)
        return fail(err, PAWL_INVALID, "anchors need a store, a source and room for a sum");
    *sum = (pawl_anchored){0};
    if (s->verbs->id != NULL && (k.id = s->verbs->id(s, err)) == NULL)
        return err != NULL && err->code < 0 ? err->code : PAWL_IO;
    k.now_ms = s->verbs->now(s);
    arena_init(&k.mem, NULL, 65536);
    arena_init(&k.line_mem, NULL, 16384);
    buf_init(&line, NULL);
    rc = lines_take(&k, source, ctx, &line, err);
    if (rc == PAWL_OK)
        rc = all_check(&k, err);
    *sum = k.sum;
    buf_free(&line);
    hash_index_free(&k.index, &k.alloc);
    arena_free(&k.mem);
    arena_free(&k.line_mem);
    return rc;
}
