/* export.c - writes a run as JSON lines that contain its journal byte for byte (docs/INTERFACES.md, An export).
 *
 * Called by the program and by tests, on the thread of the store's handle; no lock. The store is read several times while the run may continue: if its
 * newest entry changed between the first and the last read, everything is read again, at most TRIES times. */
#include "base/base64.h"
#include "effect/effect.h"
#include "history/history.h"
#include "kernel/journal/replay.h"

enum { TRIES = 16 };

const char *const delivery_names[DELIVERY_KINDS + 1] = {
    "", "start", "input", "answer", "signal", "cancel", "update", "receipt", "reopen",
};

typedef struct exporting {
    pawl_store *s;
    const char *run;
    buf *out;
    size_t lines;
    buf journal;                /* as it is folded */
    const char *bad;            /* a part that JSON cannot express */
} exporting;

/* ---- lines -------------------------------------------------------------------------------------- */

static void line_end(exporting *x)
{
    buf_text(x->out, "}\n");
    x->lines++;
}

static void put_text(exporting *x, const char *before, const char *text, size_t size)
{
    buf_text(x->out, before);
    if (!utf8_valid(text, size))
        x->bad = "bytes that are no UTF-8";
    else
        canon_string(x->out, text, size);
}

/* A member with a text, if there is one. */
static void put_member(exporting *x, const char *before, const char *text)
{
    if (text != NULL)
        put_text(x, before, text, strlen(text));
}

static bool put_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    exporting *x = ctx;

    (void)seq;
    if (kind == PAWL_LINE_SNAPSHOT)
        return true;
    put_text(x, kind == PAWL_LINE_BASE ? "{\"base\":" : kind == PAWL_LINE_RECORD ? "{\"record\":" : "{\"entry\":", line.data, line.size);
    line_end(x);
    buf_put(&x->journal, line.data, line.size);
    buf_char(&x->journal, '\n');
    return !x->out->failed && !x->journal.failed && x->out->size <= EXPORT_BYTES_MAX;
}

typedef struct base_line { exporting *x; uint64_t seq; } base_line;

static bool put_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    base_line *b = ctx;

    b->seq = seq;
    put_line(b->x, kind, seq, line);
    return false;
}

static bool put_rest(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    return kind == PAWL_LINE_BASE || put_line(ctx, kind, seq, line);
}

static bool put_mark(void *ctx, const pawl_mark *m)
{
    exporting *x = ctx;

    buf_text(x->out, "{\"mark\":{");
    if (m->again_ms > 0)
        buf_fmt(x->out, "\"again_ms\":%lld,", (long long)m->again_ms);
    buf_fmt(x->out, "\"attempts\":%u", (unsigned)m->attempts);
    if (m->first_ms > 0)
        buf_fmt(x->out, ",\"first_ms\":%lld", (long long)m->first_ms);
    put_text(x, ",\"id\":", m->id, strlen(m->id));
    buf_char(x->out, '}');
    line_end(x);
    return !x->out->failed;
}

static bool put_delivery(void *ctx, const pawl_delivery *d)
{
    exporting *x = ctx;

    buf_text(x->out, "{\"delivery\":{");
    if (d->by != NULL) {
        put_text(x, "\"by\":", d->by, strlen(d->by));
        buf_char(x->out, ',');
    }
    put_text(x, "\"id\":", d->id, strlen(d->id));
    buf_fmt(x->out, ",\"kind\":\"%s\"", d->kind >= 1 && d->kind <= (int)DELIVERY_KINDS ? delivery_names[d->kind] : "");
    put_member(x, ",\"name\":", d->name);
    put_member(x, ",\"note\":", d->note);
    if (d->outcome != 0)
        buf_fmt(x->out, ",\"outcome\":\"%s\"", pawl_outcome_name((pawl_outcome)d->outcome));
    put_member(x, ",\"trace\":", d->trace);
    if (d->update.size > 0)
        put_text(x, ",\"update\":", d->update.data, d->update.size);
    if (d->value.size > 0)
        put_text(x, ",\"value\":", d->value.data, d->value.size);
    buf_char(x->out, '}');
    line_end(x);
    return !x->out->failed;
}

static void put_blob(exporting *x, const pawl_blob *b)
{
    bool text = utf8_valid(b->bytes.data, b->bytes.size);

    buf_text(x->out, "{\"blob\":{");
    if (!text) {
        buf_text(x->out, "\"base64\":\"");
        base64_put(x->out, b->bytes.data, b->bytes.size);
        buf_text(x->out, "\",");
    }
    buf_fmt(x->out, "\"digest\":\"%s\"", b->digest);
    if (text)
        put_text(x, ",\"text\":", b->bytes.data, b->bytes.size);
    buf_char(x->out, '}');
    line_end(x);
}

static pawl_code put_head(exporting *x, pawl_err *err)
{
    pawl_head head;
    pawl_code rc = x->s->verbs->head(x->s, x->run, &head, err);

    if (rc != PAWL_OK)
        return rc;
    if (head.parked != NULL && strcmp(head.parked, UNDER_WAY) == 0)
        return fail(err, PAWL_CONFLICT, "%s: %s", x->run, UNDER_WAY);
    buf_fmt(x->out, "{\"format\":%d,\"id\":\"%s\",\"life\":\"%016llx\"", EXPORT_FORMAT, head.run, (unsigned long long)head.life);
    put_member(x, ",\"machine\":", head.machine);
    put_member(x, ",\"parked\":", head.parked);
    buf_fmt(x->out, ",\"pawl\":\"export\",\"seq\":%llu,\"status\":\"%s\"", (unsigned long long)head.seq, pawl_status_name((pawl_status)head.status));
    if (head.wake_ms != 0)
        buf_fmt(x->out, ",\"wake_ms\":%lld", (long long)head.wake_ms);
    buf_text(x->out, head.work ? ",\"work\":true" : "");
    line_end(x);
    return PAWL_OK;
}

static void put_end(exporting *x)
{
    char hex[HASH_HEX + 1];
    hash digest;

    hash_of(x->out->data, x->out->size, &digest);
    hash_hex(&digest, hex);
    buf_fmt(x->out, "{\"end\":{\"lines\":%zu,\"sha256\":\"%s\"}", x->lines, hex);
    line_end(x);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static pawl_code blobs_put(exporting *x, pawl_err *err)
{
    blob_list blobs = { .n = 0 };
    arena mem;
    pawl_code rc;

    arena_init(&mem, NULL, 512);
    rc = blobs_gather(x->s, x->run, (pawl_bytes){ x->journal.data, x->journal.size }, &mem, &blobs, err);
    for (size_t i = 0; i < blobs.n && rc == PAWL_OK; i++)
        put_blob(x, &blobs.all[i]);
    arena_free(&mem);
    return rc;
}

static pawl_code gather(exporting *x, pawl_err *err)
{
    const pawl_store_verbs *v = x->s->verbs;
    base_line base = { .x = x };
    pawl_code rc;

    buf_reset(x->out);
    buf_reset(&x->journal);
    x->lines = 0;
    x->bad = NULL;
    if ((rc = put_head(x, err)) != PAWL_OK || (rc = v->load(x->s, x->run, put_base, &base, err)) != PAWL_OK ||
        (rc = v->read(x->s, x->run, base.seq, 0, put_rest, x, err)) != PAWL_OK || (rc = blobs_put(x, err)) != PAWL_OK ||
        (rc = v->marks(x->s, x->run, put_mark, x, err)) != PAWL_OK || (rc = v->deliveries(x->s, x->run, put_delivery, x, err)) != PAWL_OK)
        return rc;
    put_end(x);
    if (x->out->failed || x->journal.failed)
        return fail(err, PAWL_NOMEM, "%s: no memory to export it", x->run);
    if (x->out->size > EXPORT_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "%s: its export has more than %zu bytes (EXPORT_BYTES_MAX)", x->run, EXPORT_BYTES_MAX);
    return x->bad != NULL ? fail(err, PAWL_CORRUPT, "%s: the store has %s of it: verify it", x->run, x->bad) : PAWL_OK;
}

/* Several reads belong to one moment if the store did not change meanwhile, or if a second reading gives the same: a run never returns to an earlier
 * state. */
static pawl_code gather_steady(exporting *x, pawl_err *err)
{
    uint64_t before = x->s->verbs->version(x->s);
    pawl_code rc = gather(x, err);
    buf last;

    buf_init(&last, NULL);
    for (int i = 0; rc == PAWL_OK && (before == 0 || before != x->s->verbs->version(x->s)); i++) {
        const buf now = *x->out;

        if (last.size == now.size && memcmp(last.data, now.data, now.size) == 0)
            break;
        if (i == TRIES) {
            rc = fail(err, PAWL_TRANSIENT, "%s: it moves on faster than it can be read: export it when its worker rests", x->run);
            break;
        }
        *x->out = last;
        last = now;
        before = x->s->verbs->version(x->s);
        rc = gather(x, err);
    }
    buf_free(&last);
    return rc;
}

static pawl_code journal_good(exporting *x, pawl_err *err)
{
    pawl_state *st = NULL;
    blobs_of blobs;
    pawl_code rc;

    blobs_begin(&blobs, x->s, x->run);
    rc = journal_fold((pawl_bytes){ x->journal.data, x->journal.size }, 0, &blobs.loader, NULL, &st, err);
    pawl_state_free(st);
    blobs_end(&blobs);
    return rc;
}

pawl_code pawl_history_export(pawl_store *s, const char *run, pawl_sink_fn *sink, void *ctx, pawl_err *err)
{
    exporting x = { .s = s, .run = run };
    buf out;
    pawl_code rc;

    if (s == NULL || run == NULL || sink == NULL)
        return fail(err, PAWL_INVALID, "an export needs a store, a run, and where to write it");
    buf_init(&out, NULL);
    buf_init(&x.journal, NULL);
    x.out = &out;
    rc = gather_steady(&x, err);
    if (rc == PAWL_OK)
        rc = journal_good(&x, err);
    for (size_t at = 0, n; rc == PAWL_OK && at < out.size; at += n) {
        n = (size_t)((const char *)memchr(out.data + at, '\n', out.size - at) - (out.data + at)) + 1;
        if (!sink(ctx, (pawl_bytes){ out.data + at, n }))
            rc = fail(err, PAWL_IO, "%s: its export could not be written", run);
    }
    buf_free(&x.journal);
    buf_free(&out);
    return rc;
}
