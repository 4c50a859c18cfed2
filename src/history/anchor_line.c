/* anchor_line.c - the lines of an anchor file: one canonical JSON object for each head of a run (P12).
 *
 * Owns nothing. Called by src/app and src/history on any thread, and by anchor_check.c. The lines may be written by other programs: every member is
 * checked. */
#include "history/anchor.h"
#include "history/history.h"
#include "kernel/names.h"
#include "kernel/state.h"

#include <inttypes.h>
#include <stdio.h>

enum { LATE_MS = 60000 };      /* a run may have ended so long before the line was written: its retention counts from the end */
#define BEGIN "{\"at\":"         /* of every line: its members are sorted */

/* ---- written ----------------------------------------------------------------------------------------------- */

pawl_code pawl_anchor_of(pawl_store *s, const char *run, pawl_anchor *out, pawl_err *err)
{
    pawl_state *st = NULL;
    pawl_head head;
    uint64_t n = 0;
    pawl_code rc;
    hash open;

    if (s == NULL || run == NULL || out == NULL)
        return fail(err, PAWL_INVALID, "a head needs a store, a run and a place");
    if ((rc = s->verbs->head(s, run, &head, err)) != PAWL_OK || (rc = pawl_history_state(s, run, 0, &st, err)) != PAWL_OK)
        return rc;
    *out = (pawl_anchor){ .run = run, .life = st->life, .seq = st->seq, .status = pawl_state_status(st) };
    hash_hex(&st->head, out->head);
    rc = store_records(s, run, st->seq, UINT64_MAX, &n, &open, err);
    out->records = n;
    if (n > 0)
        hash_hex(&open, out->open);
    pawl_state_free(st);
    return rc;
}

static void put_text(buf *b, const char *name, const char *text)
{
    buf_fmt(b, ",\"%s\":", name);
    canon_string(b, text, strlen(text));
}

pawl_code pawl_anchor_line(const char *store, const pawl_anchor *a, int64_t at_ms, char out[PAWL_ANCHOR_LINE_BYTES], pawl_err *err)
{
    hash head, open;
    pawl_code rc = PAWL_OK;
    buf b;

    if (store == NULL || *store == '\0' || a == NULL || !store_run_valid(a->run) || at_ms < 0 || !hash_unhex(a->head, strlen(a->head), &head) ||
        (a->records > 0 && !hash_unhex(a->open, strlen(a->open), &open)))
        return fail(err, PAWL_INVALID, "an anchor needs a store, a run, a time and the hash of its head");
    buf_init(&b, NULL);
    buf_fmt(&b, BEGIN "%" PRId64 ",\"head\":\"sha256:%s\",\"life\":\"%016" PRIx64 "\"", at_ms, a->head, a->life);
    if (a->records > 0)
        buf_fmt(&b, ",\"open\":\"sha256:%s\",\"records\":%" PRIu64, a->open, a->records);
    if (a->removed)
        buf_text(&b, ",\"removed\":true");
    if (a->retention != NULL)
        put_text(&b, "retention", a->retention);
    put_text(&b, "run", a->run);
    buf_fmt(&b, ",\"seq\":%" PRIu64 ",\"status\":\"%s\"", a->seq, pawl_status_name(a->status));
    put_text(&b, "store", store);
    buf_fmt(&b, ",\"v\":%d}\n", (int)ANCHOR_FORMAT);
    if (b.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for the line of its head", a->run);
    else if (b.size >= PAWL_ANCHOR_LINE_BYTES)
        rc = fail(err, PAWL_LIMIT, "%s: the line of its head has %zu bytes, and at most %d are taken", a->run, b.size, (int)PAWL_ANCHOR_LINE_BYTES - 1);
    if (rc == PAWL_OK) {
        memcpy(out, b.data, b.size);
        out[b.size] = '\0';
    }
    buf_free(&b);
    return rc;
}

/* ---- read ---------------------------------------------------------------------------------------------------- */

size_t anchor_after_torn(const char *text, size_t size)
{
    const size_t n = sizeof BEGIN - 1;

    for (size_t at = size > n ? size - n : 0; at > 0; at--)
        if (memcmp(text + at, BEGIN, n) == 0)
            return at;
    return 0;
}

static bool read_hash(const pawl_value *v, hash *out)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strncmp(text, "sha256:", 7) == 0 && hash_unhex(text + 7, strlen(text + 7), out);
}

static bool read_number(const pawl_value *v, uint64_t most, uint64_t *out)
{
    const bool is = pawl_value_type(v) == PAWL_TYPE_INT && pawl_value_int(v) >= 0;

    *out = is ? pawl_value_uint(v) : 0;
    return is && *out <= most;
}

static bool read_gone(const pawl_value *v, int64_t at_ms, int64_t *out)
{
    const char *text = pawl_value_string(v);
    int64_t ms = INT64_MAX;

    *out = INT64_MAX;
    if (v == NULL)
        return true;
    if (text == NULL || !store_retention_read(text, &ms))
        return false;
    ms = ms == INT64_MAX || ms > LATE_MS ? ms : LATE_MS;
    if (ms < INT64_MAX - at_ms)
        *out = at_ms + ms - LATE_MS;
    return true;
}

pawl_code anchor_read(arena *mem, const char *text, size_t size, anchor_line *out, pawl_err *err)
{
    const pawl_value *v = value_parse(mem, text, size, "an anchor", err), *open = pawl_value_get(v, "open"), *removed = pawl_value_get(v, "removed");
    const char *wrong = NULL;
    uint64_t at = 0, format = 0;

    *out = (anchor_line){ .store = pawl_value_string(pawl_value_get(v, "store")), .run = pawl_value_string(pawl_value_get(v, "run")) };
    if (v == NULL)
        return mem->failed ? fail(err, PAWL_NOMEM, "no memory for an anchor") : PAWL_INVALID;
    if (pawl_value_type(v) != PAWL_TYPE_OBJECT)
        return fail(err, PAWL_INVALID, "an anchor is an object");
    if (!read_number(pawl_value_get(v, "v"), UINT64_MAX, &format) || format != ANCHOR_FORMAT)
        return fail(err, PAWL_INVALID, format > ANCHOR_FORMAT ? "it was written by a newer Pawl: update Pawl" : "`v` is not 1");
    if (out->store == NULL || *out->store == '\0')
        wrong = "store";
    else if (!store_run_valid(out->run))
        wrong = "run";
    else if (!unhex64(pawl_value_string(pawl_value_get(v, "life")), &out->life))
        wrong = "life";
    else if (!read_number(pawl_value_get(v, "seq"), INT64_MAX, &out->seq))
        wrong = "seq";
    else if (!read_hash(pawl_value_get(v, "head"), &out->head))
        wrong = "head";
    else if (!read_number(pawl_value_get(v, "at"), INT64_MAX, &at))
        wrong = "at";
    else if (pawl_value_get(v, "records") != NULL && !read_number(pawl_value_get(v, "records"), INT64_MAX, &out->records))
        wrong = "records";
    else if ((open != NULL) != (out->records > 0) || (open != NULL && !read_hash(open, &out->open)))
        wrong = "open";
    else if (!read_gone(pawl_value_get(v, "retention"), (int64_t)at, &out->gone_ms))
        wrong = "retention";
    else if (removed != NULL && pawl_value_type(removed) != PAWL_TYPE_BOOL)
        wrong = "removed";
    out->at_ms = (int64_t)at;
    out->removed = pawl_value_bool(removed);
    return wrong == NULL ? PAWL_OK : fail(err, PAWL_INVALID, "`%s` is missing, or no %s of an anchor", wrong, wrong);
}
