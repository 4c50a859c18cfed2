/* validate.c - checks appends, claims, creations, deliveries and answers before a store changes anything.
 *
 * Owns nothing: pure functions over the bytes that the caller gives, on any thread. Called by the stores in memory and in SQLite, so that both
 * refuse the same input with the same text. What depends on the state of a run (fence, seq, open waits) is checked by each store. */
#include "sign/sign.h"
#include "store/store.h"

#include <stdio.h>

enum { KINDS = PAWL_DELIVER_REOPEN, OUTCOMES = 5, ANSWER_SHOWN_BYTES_MAX = 80 };

/* ---- ids ------------------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool store_run_valid(const char *run)
{
    size_t n = 0;

    if (run == NULL || !is_letter(*run))
        return false;
    while (n <= STORE_RUN_BYTES_MAX && (is_letter(run[n]) || run[n] == '.' || run[n] == '_' || run[n] == '-'))
        n++;
    return n <= STORE_RUN_BYTES_MAX && run[n] == '\0';
}

static bool text_valid(const char *text, size_t least)
{
    size_t n = text == NULL ? 0 : strnlen(text, STORE_ID_BYTES_MAX + 1);

    return text != NULL && n >= least && n <= STORE_ID_BYTES_MAX && utf8_valid(text, n);
}

bool store_id_valid(const char *id)
{
    return text_valid(id, 1);
}

/* ---- an append ----------------------------------------------------------------------------------------------- */

static bool is_hex(const char *text, size_t n)
{
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++)      /* for each entry, so without a branch */
        bad |= ((uint8_t)(text[i] - '0') > 9) & ((uint8_t)(text[i] - 'a') > 5);
    return bad == 0;
}

/* HASH [SEQ,... */
static bool entry_is(pawl_bytes line, uint64_t seq)
{
    size_t digits = 1, at;

    for (uint64_t n = seq; n >= 10; n /= 10)
        digits++;
    at = HASH_HEX + 2 + digits;
    if (line.size <= at || !is_hex(line.data, HASH_HEX) || memcmp(line.data + HASH_HEX, " [", 2) != 0 || line.data[at] != ',')
        return false;
    for (; digits > 0; digits--, seq /= 10)
        if (line.data[--at] != (char)('0' + seq % 10))
            return false;
    return true;
}

static pawl_code lines_check(const pawl_append *a, uint64_t *entries, pawl_err *err)
{
    bool entry = false, whole = false;

    *entries = 0;
    for (size_t i = 0; i < a->nlines; i++) {
        pawl_bytes line = a->lines[i];

        if (line.data == NULL || line.size == 0 || line.size > TEXT_BYTES_MAX)
            return fail(err, PAWL_INVALID, "%s: line %zu is empty, or has more than 1 GiB", a->run, i);
        if (memchr(line.data, '\n', line.size) != NULL)
            return fail(err, PAWL_INVALID, "%s: line %zu has a newline", a->run, i);
        entry = !store_line_is_record(line);
        if (entry && !entry_is(line, a->seq + ++*entries))
            return fail(err, PAWL_INVALID, "%s: line %zu is neither a record nor entry %llu", a->run, i,
                        (unsigned long long)(a->seq + *entries));
        whole = i + 1 + a->nafter == a->nlines ? entry : whole;
    }
    if (a->snapshot.size > 0 && (!whole || a->snapshot.data == NULL || memchr(a->snapshot.data, '\n', a->snapshot.size) != NULL))
        return fail(err, PAWL_INVALID, "%s: a snapshot is one line, and comes with the entry that it is of", a->run);
    return PAWL_OK;
}

pawl_code store_append_check(const pawl_append *a, uint64_t *entries, pawl_err *err)
{
    *entries = 0;
    if (!store_run_valid(a->run))
        return fail(err, PAWL_INVALID, "an append needs the id of a run");
    if ((a->lines == NULL && a->nlines > 0) || (a->waits == NULL && a->nwaits > 0) || (a->taken == NULL && a->ntaken > 0) ||
        (a->blobs == NULL && a->nblobs > 0) || (a->marks == NULL && a->nmarks > 0))
        return fail(err, PAWL_INVALID, "%s: an append has a count without an array", a->run);
    if (a->seq > INT64_MAX - a->nlines)
        return fail(err, PAWL_INVALID, "%s: no entry has a number like %llu", a->run, (unsigned long long)a->seq);
    if (a->moves && a->wake_ms < 0)
        return fail(err, PAWL_INVALID, "%s: its timer is before 1970", a->run);
    for (size_t i = 0; i < a->nwaits; i++)
        if (!store_id_valid(a->waits[i].id) || (!a->waits[i].over && (a->waits[i].spec.data == NULL || a->waits[i].spec.size == 0)))
            return fail(err, PAWL_INVALID, "%s: wait %zu of the append has no id, or is asked without its SPEC", a->run, i);
    for (size_t i = 0; i < a->nblobs; i++)
        if (a->blobs[i].digest == NULL || strnlen(a->blobs[i].digest, HASH_HEX + 1) != HASH_HEX ||
            !is_hex(a->blobs[i].digest, HASH_HEX) || (a->blobs[i].bytes.data == NULL && a->blobs[i].bytes.size > 0))
            return fail(err, PAWL_INVALID, "%s: blob %zu of the append has no digest of 64 hex digits, or no bytes", a->run, i);
    for (size_t i = 0; i < a->nmarks; i++)
        if (!store_id_valid(a->marks[i].id) || a->marks[i].first_ms < 0)
            return fail(err, PAWL_INVALID, "%s: mark %zu of the append has no id, or began before 1970", a->run, i);
    return lines_check(a, entries, err);
}

/* ---- leases ---------------------------------------------------------------------------------------------------- */

pawl_code store_claim_check(const char *owner, int64_t ttl_ms, const pawl_claim *all, size_t n, pawl_err *err)
{
    if (!store_id_valid(owner) || ttl_ms <= 0 || (all == NULL && n > 0))
        return fail(err, PAWL_INVALID, "a claim needs an owner of 1 to %d bytes, a time above 0, and runs", STORE_ID_BYTES_MAX);
    return PAWL_OK;
}

pawl_code store_beginning_check(const pawl_alloc *alloc, const char *run, const pawl_beginning *with, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    if (with == NULL)
        return PAWL_OK;
    if (with->owner != NULL)
        rc = store_claim_check(with->owner, with->ttl_ms, NULL, 0, err);
    else if (with->first != NULL)
        rc = fail(err, PAWL_INVALID, "%s: its first lines need an owner: they are written under a lease", run);
    if (rc == PAWL_OK && with->first != NULL && with->first->within != NULL)
        rc = fail(err, PAWL_INVALID, "%s: a run does not begin with SQL of its own", run);
    if (rc == PAWL_OK && with->left != NULL)
        rc = store_delivery_check(alloc, run, with->left, err);
    return rc;
}

pawl_code store_leases_check(const pawl_hold *all, size_t n, pawl_err *err)
{
    return all == NULL && n > 0 ? fail(err, PAWL_INVALID, "a count of leases without an array") : PAWL_OK;
}

/* ---- a delivery --------------------------------------------------------------------------------------------------- */

static pawl_code json_check(arena *mem, const char *run, const char *id, const char *member, pawl_bytes text, pawl_err *err)
{
    pawl_err why = {0};
    char what[256];

    if (text.size == 0)
        return PAWL_OK;
    snprintf(what, sizeof what, "%s: %s of delivery %.64s", run, member, id);
    if (text.data != NULL && value_parse(mem, text.data, text.size, what, &why) != NULL)
        return PAWL_OK;
    if (mem->failed)
        return fail(err, PAWL_NOMEM, "%s: no memory to read a delivery", run);
    return why.code == PAWL_OK ? fail(err, PAWL_INVALID, "%s has no bytes", what) : fail(err, PAWL_INVALID, "%s", why.text);
}

pawl_code store_by_check(const char *run, const char *by, pawl_err *err)
{
    const size_t n = by == NULL ? 0 : strnlen(by, STORE_BY_BYTES_MAX + 1);

    if (n > STORE_BY_BYTES_MAX)
        return fail(err, PAWL_INVALID, "%s: by, the name of who speaks, has more than %d bytes (STORE_BY_BYTES_MAX)", run, STORE_BY_BYTES_MAX);
    return n == 0 || utf8_valid(by, n) ? PAWL_OK : fail(err, PAWL_INVALID, "%s: by, the name of who speaks, is not UTF-8", run);
}

static pawl_code delivery_members_check(const char *run, const pawl_delivery *d, pawl_err *err)
{
    bool named = d->kind == PAWL_DELIVER_ANSWER || d->kind == PAWL_DELIVER_SIGNAL || d->kind == PAWL_DELIVER_RECEIPT;

    if (!store_id_valid(d->id))
        return fail(err, PAWL_INVALID, "%s: a delivery needs an id of 1 to %d bytes", run, STORE_ID_BYTES_MAX);
    if ((int)d->kind < 1 || (int)d->kind > KINDS)
        return fail(err, PAWL_INVALID, "%s: delivery %.64s has an unknown kind (%d)", run, d->id, (int)d->kind);
    if (named ? !store_id_valid(d->name) : d->name != NULL && !text_valid(d->name, 0))
        return fail(err, PAWL_INVALID, "%s: delivery %.64s has a wrong name, or none", run, d->id);
    if (d->outcome < 0 || d->outcome >= OUTCOMES || (d->outcome != 0 && d->kind != PAWL_DELIVER_RECEIPT))
        return fail(err, PAWL_INVALID, "%s: delivery %.64s may not have outcome %d", run, d->id, d->outcome);
    if ((d->trace != NULL && !text_valid(d->trace, 0)) || (d->note != NULL && !utf8_valid(d->note, strlen(d->note))))
        return fail(err, PAWL_INVALID, "%s: note or trace of delivery %.64s is too long, or not UTF-8", run, d->id);
    if (store_by_check(run, d->by, err) != PAWL_OK)
        return PAWL_INVALID;
    if (d->kind == PAWL_DELIVER_ANSWER && d->value.size == 0)
        return fail(err, PAWL_INVALID, "%s: an answer needs a value (null is one)", run);
    return PAWL_OK;
}

pawl_code store_delivery_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_err *err)
{
    pawl_code rc;
    arena mem;

    if (!store_run_valid(run) || d == NULL)
        return fail(err, PAWL_INVALID, "a delivery needs the id of a run");
    if ((rc = delivery_members_check(run, d, err)) != PAWL_OK)
        return rc;
    arena_init(&mem, alloc, d->value.size + d->update.size);
    rc = json_check(&mem, run, d->id, "the value", d->value, err);
    if (rc == PAWL_OK)
        rc = json_check(&mem, run, d->id, "the update", d->update, err);
    arena_free(&mem);
    return rc;
}

/* The lengths come first, so that two different deliveries never hash the same bytes. */
void store_delivery_hash(const pawl_delivery *d, hash *out)
{
    const char *texts[3] = { d->name, d->by, d->note };
    pawl_bytes parts[6] = { { NULL, 0 }, d->value, d->update };
    char head[128];
    int n = snprintf(head, sizeof head, "%d %d %zu %zu", (int)d->kind, d->outcome, d->value.size, d->update.size);

    for (size_t i = 0; i < 3; i++) {
        parts[3 + i] = (pawl_bytes){ texts[i], texts[i] == NULL ? 0 : strlen(texts[i]) };
        n += snprintf(head + n, sizeof head - (size_t)n, texts[i] == NULL ? " -" : " %zu", parts[3 + i].size);
    }
    parts[0] = (pawl_bytes){ head, (size_t)n };
    hash_parts(parts, 6, out);
}

/* ---- an answer -------------------------------------------------------------------------------------------------------- */

/* A signature is checked before it is stored; the kernel checks it again when the answer is taken. */
static pawl_code signed_check(arena *mem, const char *run, const pawl_delivery *d, const pawl_value *asked, const pawl_value *v, pawl_err *err)
{
    const approval_question q = { d->name, asked };
    const pawl_value *update = d->update.size > 0 ? value_parse(mem, d->update.data, d->update.size, "an update", NULL) : NULL;
    pawl_err why = {0};
    approval one;
    pawl_code rc;

    if (d->update.size > 0 && update == NULL)
        return fail(err, PAWL_INVALID, "%s: the update of an answer is no JSON", run);
    rc = approval_check(mem, &q, v, update, d->note, &one, &why);
    return rc == PAWL_OK ? rc : fail(err, rc, "%s: %s", run, why.text);
}

pawl_code store_answer_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_bytes spec, bool *more, pawl_err *err)
{
    const pawl_value *asked, *v = NULL, *schema, *options;
    pawl_err why = {0};
    pawl_code rc = PAWL_OK;
    char what[256];
    arena mem;

    arena_init(&mem, alloc, spec.size + d->value.size);
    snprintf(what, sizeof what, "%.128s: the answer to %.100s", run, d->name);
    asked = value_read(&mem, spec.data, spec.size, "the SPEC of a wait", NULL);
    if (asked != NULL)
        v = value_parse(&mem, d->value.data, d->value.size, what, &why);
    schema = pawl_value_get(asked, "schema");
    options = pawl_value_get(asked, "options");
    *more = pawl_value_get(asked, "approvers") != NULL;
    if (mem.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory to read an answer", run);
    else if (asked == NULL)
        rc = fail(err, PAWL_CORRUPT, "%s: the SPEC of wait %s is no JSON", run, d->name);
    else if (v == NULL)
        rc = fail(err, PAWL_INVALID, "%s", why.text);
    else if (*more)
        rc = signed_check(&mem, run, d, asked, v, err);
    else if (schema != NULL && schema_check(schema, v, what, err) != PAWL_OK)
        rc = PAWL_INVALID;
    else if (options != NULL && !value_one_of(options, v))
        rc = fail(err, PAWL_INVALID, "%s is none of the options", what);
    arena_free(&mem);
    return rc;
}

pawl_code store_answer_conflict(const char *run, const char *id, pawl_bytes answer, const char *by, pawl_err *err)
{
    int n = answer.size > ANSWER_SHOWN_BYTES_MAX ? ANSWER_SHOWN_BYTES_MAX : (int)answer.size;

    if (answer.size == 0)
        return fail(err, PAWL_CONFLICT, "%s: wait %s is closed", run, id);
    while (n > 0 && (size_t)n < answer.size && ((unsigned char)answer.data[n] & 0xC0) == 0x80)
        n--;
    return fail(err, PAWL_CONFLICT, "%s: wait %s was answered before, with %.*s%s%.48s", run, id, n, answer.data, by != NULL ? ", by " : "",
                by != NULL ? by : "");
}
