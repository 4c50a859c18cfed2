/* import.c - creates a run from the lines of an export (export.c).
 *
 * Called by the program and by tests, on the thread of the store's handle. All lines are read and folded before anything is written; while it is written
 * the run is parked with the reason UNDER_WAY and its lease is held, so nobody drives an incomplete run. An interrupted import can be repeated. */
#include "base/base64.h"
#include "engine/engine.h"
#include "history/history.h"
#include "engine/run/owner.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/journal/replay.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <stdlib.h>

enum { MARKS_MAX = 1000000, MARKS_AT_ONCE = 256, LEASE_MS = 60000 };

typedef struct line_at { size_t at, size, no; } line_at;        /* offsets in the journal; number of the line in the export */
typedef struct attempts_of { const char *id; uint32_t count; int64_t first_ms, again_ms; } attempts_of;
typedef struct sent_answer { const char *id; size_t order; pawl_bytes value; } sent_answer;

typedef struct importing {
    pawl_store *s;
    const pawl_machine *m;
    arena mem;                  /* for what is kept */
    size_t no;                  /* of the current line */
    const char *id, *life, *parked;
    uint64_t seq;
    int64_t wake_ms;
    int status;
    bool work;
    bool ended;
    size_t changed;             /* the line whose digest does not match those before it; 0: none */
    buf journal;
    line_at *lines;             /* the first is the base */
    size_t nlines, lines_cap;
    blob_list blobs;
    attempts_of *marks;
    size_t nmarks, marks_cap;
    uint64_t attempts;
    pawl_delivery *deliveries;
    size_t ndeliveries, deliveries_cap;
    /* the folded state */
    pawl_state *st;
    uint64_t base_seq;
    wait_list waits;            /* all waits of the journal */
    sent_answer *answers;
    size_t nanswers, answers_cap;
} importing;

/* ---- lines ---------------------------------------------------------------------------------------- */

static pawl_code damaged(const importing *i, pawl_err *err, const char *what)
{
    return fail(err, PAWL_CORRUPT, "line %zu: %s", i->no, what);
}

static pawl_code no_memory(const importing *i, pawl_err *err)
{
    return fail(err, PAWL_NOMEM, "line %zu: no memory to import it", i->no);
}

/* A copy of a text without NUL; NULL: there is none, or *bad. */
static const char *text_kept(importing *i, const pawl_value *object, const char *name, bool *bad)
{
    const pawl_value *v = pawl_value_get(object, name);
    const char *text = pawl_value_string(v);

    if (v != NULL && (text == NULL || strlen(text) != pawl_value_size(v)))
        *bad = true;
    return text == NULL || *bad ? NULL : arena_strdup(&i->mem, text, pawl_value_size(v));
}

static pawl_bytes bytes_kept(importing *i, const pawl_value *object, const char *name, bool *bad)
{
    const char *text = text_kept(i, object, name, bad);

    return (pawl_bytes){ text, text == NULL ? 0 : strlen(text) };
}

static int name_at(const char *const *names, int n, const char *name)
{
    while (n > 0 && (name == NULL || strcmp(names[n - 1], name) != 0))
        n--;
    return n - 1;
}

static pawl_code header_read(importing *i, const pawl_value *v, pawl_err *err)
{
    const char *what = pawl_value_string(pawl_value_get(v, "pawl"));
    uint64_t format = pawl_value_uint(pawl_value_get(v, "format"));
    const pawl_value *seq = pawl_value_get(v, "seq");
    bool bad = false;

    if (what == NULL || strcmp(what, "export") != 0 || format == 0)
        return fail(err, PAWL_INVALID, "line %zu: this is no export of a run: it begins with {\"format\":1,...,\"pawl\":\"export\",...}", i->no);
    if (format > EXPORT_FORMAT)
        return fail(err, PAWL_INVALID, "line %zu: the export is of format %llu, and this version knows %d: take a newer one", i->no,
                    (unsigned long long)format, EXPORT_FORMAT);
    i->id = text_kept(i, v, "id", &bad);
    i->life = text_kept(i, v, "life", &bad);
    i->parked = text_kept(i, v, "parked", &bad);
    i->seq = pawl_value_uint(seq);
    i->wake_ms = pawl_value_int(pawl_value_get(v, "wake_ms"));
    i->status = name_at(status_names, 7, pawl_value_string(pawl_value_get(v, "status")));
    i->work = pawl_value_bool(pawl_value_get(v, "work"));
    if (i->mem.failed)
        return no_memory(i, err);
    if (bad || i->id == NULL || i->life == NULL || i->status < 0 || (i->parked != NULL && strcmp(i->parked, UNDER_WAY) == 0) ||
        pawl_value_type(seq) != PAWL_TYPE_INT || i->wake_ms < 0)
        return damaged(i, err, "id, life, parked, seq, status or wake_ms of the export is malformed");
    return PAWL_OK;
}

static pawl_code journal_read(importing *i, const pawl_value *text, unsigned kind, pawl_err *err)
{
    const char *data = pawl_value_string(text);
    size_t n = pawl_value_size(text);
    bool first = i->nlines == 0;

    if (data == NULL || n == 0 || memchr(data, '\n', n) != NULL || (data[0] == '[') != (kind == PAWL_LINE_RECORD))
        return damaged(i, err, "it holds no line of a journal");
    if (first != (kind == PAWL_LINE_BASE))
        return damaged(i, err, first ? "the base comes first" : "a second base");
    if (i->blobs.n > 0 || i->nmarks > 0 || i->ndeliveries > 0)
        return damaged(i, err, "the journal comes before what stands beside it");
    if (!arena_room(&i->mem, (void **)&i->lines, &i->lines_cap, i->nlines, sizeof *i->lines))
        return no_memory(i, err);
    i->lines[i->nlines++] = (line_at){ i->journal.size, n, i->no };
    buf_put(&i->journal, data, n);
    buf_char(&i->journal, '\n');
    return i->journal.failed ? no_memory(i, err) : PAWL_OK;
}

static pawl_code blob_read(importing *i, const pawl_value *v, pawl_err *err)
{
    const pawl_value *text = pawl_value_get(v, "text"), *coded = pawl_value_get(v, "base64"), *one = text != NULL ? text : coded;
    size_t n = pawl_value_size(one);
    char *data = pawl_value_string(one) == NULL ? NULL : arena_strdup(&i->mem, pawl_value_string(one), n);
    char hex[HASH_HEX + 1];
    bool bad = (text == NULL) == (coded == NULL) || pawl_value_string(one) == NULL;
    const char *digest = text_kept(i, v, "digest", &bad);
    hash h;

    if (i->mem.failed || !arena_room(&i->mem, (void **)&i->blobs.all, &i->blobs.cap, i->blobs.n, sizeof *i->blobs.all))
        return no_memory(i, err);
    if (bad || digest == NULL || (coded != NULL && !base64_read(data, n, data, &n)))
        return damaged(i, err, "a blob has a digest, and a text or base64");
    hash_of(data, n, &h);
    hash_hex(&h, hex);
    if (strcmp(hex, digest) != 0)
        return damaged(i, err, "the bytes of this blob are other ones");
    i->blobs.all[i->blobs.n++] = (pawl_blob){ digest, { data, n } };
    return PAWL_OK;
}

static pawl_code mark_read(importing *i, const pawl_value *v, pawl_err *err)
{
    uint64_t count = pawl_value_uint(pawl_value_get(v, "attempts"));
    int64_t first = pawl_value_int(pawl_value_get(v, "first_ms")), again = pawl_value_int(pawl_value_get(v, "again_ms"));
    bool bad = false;
    const char *id = text_kept(i, v, "id", &bad);

    if (i->mem.failed || !arena_room(&i->mem, (void **)&i->marks, &i->marks_cap, i->nmarks, sizeof *i->marks))
        return no_memory(i, err);
    if (bad || !store_id_valid(id) || count == 0 || first < 0 || again < 0)
        return damaged(i, err, "a mark has the id of a command, and its attempts");
    if (count > MARKS_MAX || (i->attempts += count) > MARKS_MAX)
        return fail(err, PAWL_LIMIT, "line %zu: more than %d attempts are counted (MARKS_MAX)", i->no, MARKS_MAX);
    i->marks[i->nmarks++] = (attempts_of){ id, (uint32_t)count, first, again };
    return PAWL_OK;
}

static pawl_code delivery_read(importing *i, const pawl_value *v, pawl_err *err)
{
    const pawl_value *outcome = pawl_value_get(v, "outcome");
    int kind = name_at(delivery_names, DELIVERY_KINDS + 1, pawl_value_string(pawl_value_get(v, "kind")));
    int which = outcome == NULL ? 0 : name_at(outcome_names, 5, pawl_value_string(outcome));
    pawl_err why = { PAWL_OK, "" };
    pawl_delivery *d;
    bool bad = kind < 1 || which < 0;

    if (!arena_room(&i->mem, (void **)&i->deliveries, &i->deliveries_cap, i->ndeliveries, sizeof *d))
        return no_memory(i, err);
    d = &i->deliveries[i->ndeliveries++];
    *d = (pawl_delivery){ .kind = (pawl_delivery_kind)kind, .outcome = which };
    d->id = text_kept(i, v, "id", &bad);
    d->name = text_kept(i, v, "name", &bad);
    d->by = text_kept(i, v, "by", &bad);
    d->note = text_kept(i, v, "note", &bad);
    d->trace = text_kept(i, v, "trace", &bad);
    d->value = bytes_kept(i, v, "value", &bad);
    d->update = bytes_kept(i, v, "update", &bad);
    if (i->mem.failed)
        return no_memory(i, err);
    if (bad)
        return damaged(i, err, "a delivery has an id and a kind, and texts");
    if (store_delivery_check(NULL, i->id, d, &why) == PAWL_NOMEM)
        return no_memory(i, err);
    return why.code == PAWL_OK ? PAWL_OK : damaged(i, err, why.text);
}

/* Checks the digest of all lines, since no chain covers some of them. If it differs, the chain may tell which line was changed. */
static pawl_code end_read(importing *i, const pawl_value *v, pawl_bytes before, pawl_err *err)
{
    const char *digest = pawl_value_string(pawl_value_get(v, "sha256"));
    char hex[HASH_HEX + 1];
    hash h;

    hash_of(before.data, before.size, &h);
    hash_hex(&h, hex);
    i->ended = true;
    if (digest == NULL || pawl_value_uint(pawl_value_get(v, "lines")) != i->no - 1)
        return damaged(i, err, "the end of the export counts other lines than there are");
    i->changed = strcmp(hex, digest) == 0 ? 0 : i->no;
    return PAWL_OK;
}

static pawl_code line_read(importing *i, arena *a, pawl_bytes line, pawl_bytes before, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    const pawl_value *v = value_parse(a, line.data, line.size, "its text", &why), *key = NULL, *in;
    pawl_iter it = pawl_iter_of(v);
    const char *kind;

    if (v == NULL && i->no == 1 && why.code == PAWL_INVALID)
        return fail(err, PAWL_INVALID, "line 1: this is no export of a run: %s", why.text);
    if (v == NULL)
        return why.code == PAWL_INVALID ? damaged(i, err, why.text) : fail(err, why.code, "line %zu: %s", i->no, why.text);
    if (i->no == 1)
        return header_read(i, v, err);
    in = pawl_iter_next(&it, &key);
    kind = pawl_value_string(key);
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT || kind == NULL || pawl_value_size(v) != 1)
        return damaged(i, err, "a line is an object with one member, which says what it is");
    if (i->ended)
        return damaged(i, err, "something stands after the end of the export");
    if (strcmp(kind, "base") == 0)
        return journal_read(i, in, PAWL_LINE_BASE, err);
    if (strcmp(kind, "entry") == 0)
        return journal_read(i, in, PAWL_LINE_ENTRY, err);
    if (strcmp(kind, "record") == 0)
        return journal_read(i, in, PAWL_LINE_RECORD, err);
    if (strcmp(kind, "blob") == 0)
        return blob_read(i, in, err);
    if (strcmp(kind, "mark") == 0)
        return mark_read(i, in, err);
    if (strcmp(kind, "delivery") == 0)
        return delivery_read(i, in, err);
    if (strcmp(kind, "end") == 0)
        return end_read(i, in, before, err);
    return fail(err, PAWL_INVALID, "line %zu: \"%.32s\" is nothing that this version knows", i->no, kind);
}

static pawl_code lines_read(importing *i, pawl_bytes all, pawl_err *err)
{
    const char *at = all.size > 0 ? all.data : "", *end = at + all.size;
    pawl_code rc = PAWL_OK;
    arena mem;

    if (all.size > EXPORT_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "an export of %zu bytes is over the limit of %zu (EXPORT_BYTES_MAX)", all.size, EXPORT_BYTES_MAX);
    arena_init(&mem, NULL, 4096);
    while (rc == PAWL_OK && at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        pawl_bytes line = { at, nl == NULL ? (size_t)(end - at) : (size_t)(nl - at) };

        pawl_err why = { PAWL_OK, "" };

        i->no++;
        arena_reset(&mem);
        rc = line_read(i, &mem, line, (pawl_bytes){ all.data, (size_t)(at - all.data) }, &why);
        if (rc == PAWL_CORRUPT && nl == NULL && !i->ended)
            damaged(i, err, "the export was cut in the middle of this line");
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
        at = nl == NULL ? end : nl + 1;
    }
    arena_free(&mem);
    i->no++;
    if (rc == PAWL_OK && i->no == 1)
        return fail(err, PAWL_INVALID, "line 1: this is no export of a run: it is empty");
    return rc == PAWL_OK && !i->ended ? damaged(i, err, "the export was cut before this line: it has no end") : rc;
}

/* ---- the fold ------------------------------------------------------------------------------------------ */

static pawl_code blob_find(void *ctx, const char *digest, pawl_bytes *bytes, pawl_err *err)
{
    const importing *i = ctx;

    for (size_t k = 0; k < i->blobs.n; k++)
        if (strcmp(i->blobs.all[k].digest, digest) == 0) {
            *bytes = i->blobs.all[k].bytes;
            return PAWL_OK;
        }
    return fail(err, PAWL_CORRUPT, "blob %.64s is not in the export", digest);
}

static const char *id_kept(importing *i, const item *it)
{
    const char *id;
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "%s~%s/", i->id, i->life);
    id_code(&b, it);
    id = b.failed ? NULL : arena_strdup(&i->mem, b.data, b.size);
    buf_free(&b);
    return id;
}

/* Notes waits and answers as the store got them when they happened (W3). */
static bool waits_note(importing *i, const pawl_entry *e)
{
    wait_list *w = &i->waits;
    buf b;

    for (const item *it = e->items; it != NULL; it = it->next) {
        if (it->kind == ITEM_ASK || it->kind == ITEM_DOUBT) {
            if (!arena_room(&i->mem, (void **)&w->all, &w->cap, w->n, sizeof *w->all))
                return false;
            w->all[w->n] = (pawl_waiting){ .id = id_kept(i, it), .asked_ms = it->at };
            w->all[w->n].spec = (pawl_bytes){ arena_strdup(&i->mem, it->spec, it->spec_size), it->spec_size };
            if (w->all[w->n].id == NULL || w->all[w->n++].spec.data == NULL)
                return false;
        } else if (it->kind == ITEM_ANSWER) {
            if (!arena_room(&i->mem, (void **)&i->answers, &i->answers_cap, i->nanswers, sizeof *i->answers))
                return false;
            buf_init(&b, NULL);
            if (it->value != NULL)
                canon(&b, it->value);
            else
                buf_text(&b, "null");
            i->answers[i->nanswers] = (sent_answer){ .id = id_kept(i, it), .order = i->nanswers };
            i->answers[i->nanswers].value = (pawl_bytes){ b.failed ? NULL : arena_strdup(&i->mem, b.data, b.size), b.size };
            buf_free(&b);
            if (i->answers[i->nanswers].id == NULL || i->answers[i->nanswers++].value.data == NULL)
                return false;
        }
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const pawl_waiting *)a)->id, ((const pawl_waiting *)b)->id);
}

static int by_answered(const void *a, const void *b)
{
    const sent_answer *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    return order != 0 ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* The last answer: a question about an outcome may be asked repeatedly. */
static const sent_answer *answer_last(const importing *i, const char *id)
{
    size_t low = 0, high = i->nanswers;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(i->answers[mid].id, id) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && strcmp(i->answers[low - 1].id, id) == 0 ? &i->answers[low - 1] : NULL;
}

/* Waits that are not open any more are closed with their answers. */
static bool waits_settle(importing *i)
{
    wait_list open = { .n = 0 };

    if (waits_open(i->st, &i->mem, &open) != PAWL_OK)
        return false;
    if (open.n > 0)
        qsort(open.all, open.n, sizeof *open.all, by_id);
    if (i->nanswers > 0)
        qsort(i->answers, i->nanswers, sizeof *i->answers, by_answered);
    for (size_t k = 0; k < i->waits.n; k++) {
        pawl_waiting *w = &i->waits.all[k];
        const sent_answer *a;

        if (open.n > 0 && bsearch(w, open.all, open.n, sizeof *open.all, by_id) != NULL)
            continue;
        w->over = true;
        a = answer_last(i, w->id);
        w->answer = a != NULL ? a->value : (pawl_bytes){0};
    }
    return true;
}

static pawl_code fold_line(importing *i, const line_at *line, pawl_step *step, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_entry *e;
    pawl_code rc = pawl_entry_read((pawl_bytes){ i->journal.data + line->at, line->size }, step, &e, &why);

    i->no = line->no;
    if (rc == PAWL_OK && (rc = pawl_apply(i->st, e, &why)) == PAWL_OK && !waits_note(i, e))
        return no_memory(i, err);
    return rc == PAWL_OK ? rc : fail(err, rc == PAWL_INVALID ? PAWL_CORRUPT : rc, "line %zu: %s", line->no, why.text);
}

static pawl_code lines_fold(importing *i, pawl_step *step, pawl_err *err)
{
    const pawl_loader loader = { .blob = blob_find, .ctx = i };
    const pawl_bytes base = { i->journal.data, i->nlines > 0 ? i->lines[0].size : 0 };
    pawl_err why = { PAWL_OK, "" };
    store_base read;
    char life[17];
    pawl_code rc;

    if (i->nlines == 0)
        return damaged(i, err, "the export has no base");
    i->no = i->lines[0].no;
    if ((rc = store_base_read(&i->mem, base, &read, &why)) == PAWL_OK)
        rc = pawl_state_load(base, (pawl_bytes){0}, &loader, NULL, &i->st, &why);
    if (rc != PAWL_OK)
        return fail(err, rc, "line %zu: %s", i->no, why.text);
    i->base_seq = i->st->base_seq;
    for (int k = 0; k < 16; k++)
        life[k] = "0123456789abcdef"[i->st->life >> (60 - 4 * k) & 15];
    life[16] = '\0';
    if (strcmp(i->id, i->st->run) != 0 || strcmp(i->life, life) != 0)
        return damaged(i, err, "the base is another run's than the export: an id cannot be changed, every hash of the chain has it");
    if (waits_open(i->st, &i->mem, &i->waits) != PAWL_OK)
        return no_memory(i, err);
    for (size_t k = 1; k < i->nlines && rc == PAWL_OK; k++)
        rc = fold_line(i, &i->lines[k], step, err);
    if (rc == PAWL_OK && i->st->seq != i->seq)
        rc = fail(err, PAWL_CORRUPT, "line %zu: the journal ends with entry %llu, and the export says %llu", i->no,
                  (unsigned long long)i->st->seq, (unsigned long long)i->seq);
    if (rc == PAWL_OK && i->status != PAWL_STATUS_SUBMITTED && i->status != (int)pawl_state_status(i->st))
        rc = fail(err, PAWL_CORRUPT, "line %zu: the journal ends %s, and the export says %s", i->no,
                  pawl_status_name(pawl_state_status(i->st)), pawl_status_name((pawl_status)i->status));
    if (rc == PAWL_OK && i->changed != 0)
        rc = fail(err, PAWL_CORRUPT, "line %zu: a line before this one was changed: their digest is another one", i->changed);
    return rc == PAWL_OK && !waits_settle(i) ? no_memory(i, err) : rc;
}

static pawl_code fold(importing *i, pawl_err *err)
{
    const pawl_loader loader = { .blob = blob_find, .ctx = i };
    journal_check c = { .m = i->m, .loader = &loader };
    pawl_step *step = pawl_step_new(NULL);
    pawl_code rc = step == NULL ? no_memory(i, err) : lines_fold(i, step, err);

    pawl_step_free(step);
    if (rc != PAWL_OK || i->m == NULL)
        return rc;
    rc = journal_verify(&c, (pawl_bytes){ i->journal.data, i->journal.size }, NULL, err);
    buf_free(&c.says);
    return rc;
}

/* ---- into the store ---------------------------------------------------------------------------------------- */

static pawl_code append_one(importing *i, pawl_append *a, pawl_err *err)
{
    pawl_code rc = i->s->verbs->append(i->s, a, 1, err);

    return rc != PAWL_OK || a->rc == PAWL_OK ? rc : fail(err, a->rc, "%s: another process works on it", i->id);
}

/* Writes what the run has beside its lines first, while nobody can drive it: a command that was started must not look as if it had not been. */
static pawl_code prepare(importing *i, uint64_t fence, pawl_err *err)
{
    pawl_append a = { .run = i->id, .fence = fence, .seq = i->base_seq, .moves = true, .parked = UNDER_WAY, .waits = i->waits.all,
                      .nwaits = i->waits.n, .blobs = i->blobs.all, .nblobs = i->blobs.n };

    return append_one(i, &a, err);
}

static bool see_mark(void *ctx, const pawl_mark *m)
{
    importing *i = ctx;

    for (size_t k = 0; k < i->nmarks; k++)
        if (strcmp(i->marks[k].id, m->id) == 0)
            i->marks[k].count -= m->attempts < i->marks[k].count ? m->attempts : i->marks[k].count;
    return true;
}

static pawl_code marks_put(importing *i, pawl_mark *some, size_t *n, pawl_err *err)
{
    pawl_code rc = *n == 0 ? PAWL_OK : i->s->verbs->mark(i->s, some, *n, err);

    for (size_t k = 0; k < *n && rc == PAWL_OK; k++)
        if (some[k].rc != PAWL_OK)
            rc = fail(err, some[k].rc, "%s: another process works on it", i->id);
    *n = 0;
    return rc;
}

static pawl_code marks_write(importing *i, uint64_t fence, pawl_err *err)
{
    pawl_mark some[MARKS_AT_ONCE];
    size_t n = 0;
    pawl_code rc = i->nmarks == 0 ? PAWL_OK : i->s->verbs->marks(i->s, i->id, see_mark, i, err);     /* by an earlier, interrupted import */

    for (size_t k = 0; k < i->nmarks && rc == PAWL_OK; k++) {
        const attempts_of *m = &i->marks[k];
        uint32_t last = m->again_ms > 0;        /* a count for `again_ms` is not an attempt */

        for (uint32_t left = m->count + last; left > 0 && rc == PAWL_OK; left--) {
            some[n++] = (pawl_mark){ .run = i->id, .fence = fence, .id = m->id, .first_ms = m->first_ms, .again_ms = left == 1 ? m->again_ms : 0 };
            if (n == MARKS_AT_ONCE)
                rc = marks_put(i, some, &n, err);
        }
    }
    return rc == PAWL_OK ? marks_put(i, some, &n, err) : rc;
}

static pawl_code finish(importing *i, uint64_t fence, pawl_err *err)
{
    pawl_append a = { .run = i->id, .fence = fence, .seq = i->base_seq, .nlines = i->nlines - 1, .moves = true, .status = (uint8_t)i->status,
                      .over = pawl_status_terminal((pawl_status)i->status), .work = i->work, .wake_ms = i->wake_ms, .parked = i->parked,
                      .release = true };
    pawl_bytes *lines = arena_get(&i->mem, i->nlines * sizeof *lines);

    if (lines == NULL)
        return no_memory(i, err);
    for (size_t k = 1; k < i->nlines; k++)
        lines[k - 1] = (pawl_bytes){ i->journal.data + i->lines[k].at, i->lines[k].size };
    a.lines = lines;
    return append_one(i, &a, err);
}

static pawl_code run_is_there(const importing *i, pawl_err *err)
{
    return fail(err, PAWL_CONFLICT, "%s: there is such a run, and an import cannot have another id, since every hash of its chain has this one: "
                                    "remove the run, or import into another store", i->id);
}

static bool see_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    (void)seq, (void)line;
    *(bool *)ctx = kind != PAWL_LINE_BASE;
    return !*(bool *)ctx;
}

/* It has this very base and nothing after it: left by an interrupted import, or by a start that did not get further. */
static bool is_unfinished(const importing *i, const pawl_head *head)
{
    return head->seq == i->base_seq && (head->parked == NULL || strcmp(head->parked, UNDER_WAY) == 0);
}

static void run_release(const importing *i, uint64_t fence)
{
    pawl_hold one = { .run = i->id, .fence = fence };

    (void)i->s->verbs->release(i->s, &one, 1, NULL);
}

static pawl_code run_claim(importing *i, pawl_head *head, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_claim one = { .run = i->id };
    uint64_t drawn[2];
    char owner[OWNER_BYTES];
    pawl_code rc;

    if (!chance(NULL, drawn))
        return fail(err, PAWL_IO, "%s: the system gives no random numbers", i->id);
    owner_name(owner, sizeof owner, drawn[0]);
    rc = i->s->verbs->claim(i->s, owner, LEASE_MS, &one, 1, &why);
    if (rc == PAWL_OK && one.rc == PAWL_HELD && owner_dead(one.head.owner)) {
        pawl_hold dead = { .run = i->id, .fence = one.head.fence, .died = true };

        (void)i->s->verbs->release(i->s, &dead, 1, NULL);
        why = (pawl_err){ PAWL_OK, "" };
        rc = i->s->verbs->claim(i->s, owner, LEASE_MS, &one, 1, &why);
    }
    rc = rc == PAWL_OK ? one.rc : rc;
    *head = one.head;
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
}

static pawl_code write_all(importing *i, pawl_err *err)
{
    const pawl_store_verbs *v = i->s->verbs;
    const pawl_bytes base = { i->journal.data, i->lines[0].size };
    pawl_err why = { PAWL_OK, "" };
    pawl_head head;
    bool old, begun = false;
    pawl_code rc = v->head(i->s, i->id, &head, &why);

    if (rc != PAWL_OK && rc != PAWL_GONE)
        return fail(err, rc, "%s", why.text);
    old = rc == PAWL_OK;
    why = (pawl_err){ PAWL_OK, "" };
    if (old && !is_unfinished(i, &head))
        return run_is_there(i, err);
    if ((rc = v->create(i->s, base, NULL, &why)) != PAWL_OK)
        return rc == PAWL_CONFLICT ? run_is_there(i, err) : fail(err, rc, "%s", why.text);
    if ((rc = run_claim(i, &head, err)) != PAWL_OK)
        return rc;
    rc = v->read(i->s, i->id, i->base_seq, 0, see_line, &begun, err);
    if (rc == PAWL_OK && (begun || !is_unfinished(i, &head)))
        rc = run_is_there(i, err);
    if (rc == PAWL_OK)
        rc = prepare(i, head.fence, err);
    if (rc == PAWL_OK)
        rc = marks_write(i, head.fence, err);
    for (size_t k = 0; k < i->ndeliveries && rc == PAWL_OK; k++)
        rc = v->deliver(i->s, i->id, &i->deliveries[k], err);
    if (rc == PAWL_OK)
        rc = finish(i, head.fence, err);
    if (rc != PAWL_OK && !old && !begun)
        (void)v->remove(i->s, i->id, head.fence, NULL);
    else if (rc != PAWL_OK)
        run_release(i, head.fence);
    return rc;
}

pawl_code pawl_history_import(pawl_store *s, pawl_bytes lines, const pawl_machine *m, pawl_err *err)
{
    importing i = { .s = s, .m = m };
    pawl_code rc;

    if (s == NULL || (lines.data == NULL && lines.size > 0))
        return fail(err, PAWL_INVALID, "an import needs a store and an export");
    arena_init(&i.mem, NULL, 4096);
    buf_init(&i.journal, NULL);
    rc = lines_read(&i, lines, err);
    if (rc == PAWL_OK)
        rc = fold(&i, err);
    if (rc == PAWL_OK)
        rc = write_all(&i, err);
    pawl_state_free(i.st);
    buf_free(&i.journal);
    arena_free(&i.mem);
    return rc;
}

pawl_code pawl_history_import_from(pawl_store *s, pawl_source_fn *source, void *ctx, const pawl_machine *m, pawl_err *err)
{
    pawl_bytes piece;
    pawl_code rc = PAWL_OK;
    buf all;

    if (source == NULL)
        return fail(err, PAWL_INVALID, "an import needs a store and an export");
    buf_init(&all, NULL);
    do {
        piece = (pawl_bytes){0};
        if (!source(ctx, &piece))
            rc = fail(err, PAWL_IO, "the export cannot be read");
        else if (piece.size > EXPORT_BYTES_MAX - all.size)
            rc = fail(err, PAWL_LIMIT, "an export of more than %zu bytes is over the limit (EXPORT_BYTES_MAX)", EXPORT_BYTES_MAX);
        else
            buf_put(&all, piece.data, piece.size);
        if (rc == PAWL_OK && all.failed)
            rc = fail(err, PAWL_NOMEM, "no memory for an export");
    } while (rc == PAWL_OK && piece.size > 0);
    if (rc == PAWL_OK)
        rc = pawl_history_import(s, (pawl_bytes){ all.data, all.size }, m, err);
    buf_free(&all);
    return rc;
}
