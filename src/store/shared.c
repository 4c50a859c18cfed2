/* shared.c - the rules that every store keeps: what may be appended, delivered, answered and created; when a run is due; the digest of a snapshot.
 *
 * Pure functions over the bytes that a caller gives; the only clock is store_system_ms. Called by the stores in memory and in SQLite. */
#include "store/store.h"

#include <stdio.h>
#include <time.h>

enum { KINDS = PAWL_DELIVER_REOPEN, OUTCOMES = 5, TOLD_BYTES_MAX = 80, RETENTION_MAX = 1000000000 };

/* ---- over the verbs -------------------------------------------------------------------------------- */

void pawl_store_free(pawl_store *s)
{
    if (s != NULL)
        s->verbs->close(s);
}

typedef struct journal_take {
    buf text;
    uint64_t base_seq;
} journal_take;

static bool take_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    journal_take *t = ctx;

    (void)kind;
    (void)seq;
    buf_put(&t->text, line.data, line.size);
    buf_char(&t->text, '\n');
    return !t->text.failed;
}

static bool take_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    journal_take *t = ctx;

    t->base_seq = seq;
    take_line(ctx, kind, seq, line);
    return false;
}

/* A pruned one has no entry 1, so read does not begin at its base. */
pawl_bytes pawl_store_journal(pawl_store *s, const char *run, pawl_err *err)
{
    journal_take t = { .base_seq = 0 };
    pawl_code rc;

    if (s == NULL) {
        fail(err, PAWL_INVALID, "a journal is asked of no store");
        return (pawl_bytes){0};
    }
    buf_init(&t.text, NULL);
    rc = s->verbs->load(s, run, take_base, &t, err);
    if (rc == PAWL_OK && t.base_seq == 0)
        buf_reset(&t.text);
    if (rc == PAWL_OK)
        rc = s->verbs->read(s, run, t.base_seq, 0, take_line, &t, err);
    if (rc == PAWL_OK && t.text.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for its journal", run);
    if (rc != PAWL_OK)
        buf_free(&t.text);
    return (pawl_bytes){ t.text.data, t.text.size };
}

/* ---- names ------------------------------------------------------------------------------------------- */

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

/* ---- a base --------------------------------------------------------------------------------------------- */

static bool life_read(const char *text, uint64_t *life)
{
    uint64_t n = 0;

    if (text == NULL || strlen(text) != 16)
        return false;
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9')
            n = n << 4 | (uint64_t)(*text - '0');
        else if (*text >= 'a' && *text <= 'f')
            n = n << 4 | (uint64_t)(*text - 'a' + 10);
        else
            return false;
    }
    *life = n;
    return n != 0;
}

/* A text of `v`, or NULL where there is none; false: something else stands there, or a text with a NUL in it. */
static bool text_of(const pawl_value *v, const char *name, const char **out)
{
    const pawl_value *text = pawl_value_get(v, name);

    *out = pawl_value_string(text);
    return text == NULL || (*out != NULL && strlen(*out) == pawl_value_size(text));
}

static bool labels_of(const pawl_value *v, store_base *out)
{
    const pawl_value *labels = pawl_value_get(v, "labels");

    if (labels == NULL)
        return true;
    out->nlabels = pawl_value_size(labels);
    if (pawl_value_type(labels) != PAWL_TYPE_ARRAY || out->nlabels > STORE_LABELS_MAX)
        return false;
    for (size_t i = 0; i < out->nlabels; i++) {
        const pawl_value *label = pawl_value_at(labels, i);

        out->labels[i] = pawl_value_string(label);
        if (out->labels[i] == NULL || strlen(out->labels[i]) != pawl_value_size(label))
            return false;
    }
    return true;
}

static bool numbers_of(const pawl_value *v, store_base *out)
{
    const pawl_value *seq = pawl_value_get(v, "seq"), *at = pawl_value_get(v, "at"), *priority = pawl_value_get(v, "priority");
    int64_t wide = pawl_value_int(priority);

    out->seq = pawl_value_uint(seq);
    out->created_ms = pawl_value_int(at);
    out->priority = (int32_t)wide;
    return (seq == NULL || (out->seq > 0 && out->seq <= INT64_MAX)) && (at == NULL || pawl_value_type(at) == PAWL_TYPE_INT) &&
           (priority == NULL || (pawl_value_type(priority) == PAWL_TYPE_INT && wide == out->priority));
}

pawl_code store_base_read(arena *a, pawl_bytes base, store_base *out, pawl_err *err)
{
    const pawl_value *v = NULL;
    uint64_t format;

    *out = (store_base){ .run = NULL };
    if (base.data == NULL || base.size == 0)
        return fail(err, PAWL_INVALID, "a run needs a base");
    if (memchr(base.data, '\n', base.size) != NULL)
        return fail(err, PAWL_INVALID, "a base is one line, and this one has a newline");
    if ((v = value_read(a, base.data, base.size, "the base", err)) == NULL)
        return a->failed ? fail(err, PAWL_NOMEM, "no memory to read a base") : PAWL_INVALID;
    format = pawl_value_uint(pawl_value_get(v, "format"));
    if (format == 0)
        return fail(err, PAWL_INVALID, "the base names no format");
    if (format > STORE_FORMAT)
        return fail(err, PAWL_INVALID, "the base is of format %llu, and this version knows %d: take a newer one",
                    (unsigned long long)format, STORE_FORMAT);
    if (!text_of(v, "id", &out->run) || !store_run_valid(out->run))
        return fail(err, PAWL_INVALID, "the base has no run's id");
    if (!life_read(pawl_value_string(pawl_value_get(v, "life")), &out->life))
        return fail(err, PAWL_INVALID, "%s: the base has no life", out->run);
    if (!text_of(pawl_value_get(v, "machine"), "name", &out->machine) || out->machine == NULL)
        return fail(err, PAWL_INVALID, "%s: the base names no machine", out->run);
    if (!text_of(v, "context", &out->context) || !text_of(v, "parent", &out->parent) || !labels_of(v, out) || !numbers_of(v, out))
        return fail(err, PAWL_INVALID, "%s: context, parent, labels, priority, at or seq of the base is malformed", out->run);
    return PAWL_OK;
}

/* ---- a snapshot ----------------------------------------------------------------------------------------------- */

pawl_code store_snapshot_stands(const pawl_alloc *alloc, pawl_bytes snapshot, uint64_t of, uint64_t seq, bool *stands)
{
    const pawl_value *v, *segment;
    pawl_iter it;
    arena mem;
    bool failed;

    *stands = snapshot.size > 0 && of > seq;    /* of `seq` itself: the base has the same state */
    if (!*stands)
        return PAWL_OK;
    arena_init(&mem, alloc, snapshot.size);
    v = value_read(&mem, snapshot.data, snapshot.size, "a snapshot", NULL);
    *stands = v != NULL;
    it = pawl_iter_of(pawl_value_find(v, "/fold/segments"));
    while (*stands && (segment = pawl_iter_next(&it, NULL)) != NULL)
        *stands = pawl_value_uint(pawl_value_get(segment, "after")) >= seq;
    failed = mem.failed;
    arena_free(&mem);
    return failed ? PAWL_NOMEM : PAWL_OK;
}

bool store_entry_hash(pawl_bytes line, hash *out)
{
    return line.size > HASH_HEX && hash_unhex(line.data, HASH_HEX, out);
}

void store_snapshot_digest(const hash *entry, pawl_bytes snapshot, hash *out)
{
    hash body;

    hash_of(snapshot.data, snapshot.size, &body);
    hash_parts((const pawl_bytes[]){ { (const char *)entry->b, HASH_BYTES }, { (const char *)body.b, HASH_BYTES } }, 2, out);
}

/* ---- an append ----------------------------------------------------------------------------------------------- */

static bool is_hex(const char *text, size_t n)
{
    unsigned bad = 0;

    for (size_t i = 0; i < n; i++)      /* of every entry: no branch */
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
    bool entry = false;

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
    }
    if (a->snapshot.size > 0 && (!entry || a->snapshot.data == NULL || memchr(a->snapshot.data, '\n', a->snapshot.size) != NULL))
        return fail(err, PAWL_INVALID, "%s: a snapshot is one line, and comes with lines of which the last is an entry", a->run);
    return PAWL_OK;
}

pawl_code store_append_check(const pawl_append *a, uint64_t *entries, pawl_err *err)
{
    *entries = 0;
    if (!store_run_valid(a->run))
        return fail(err, PAWL_INVALID, "an append names no run");
    if ((a->lines == NULL && a->nlines > 0) || (a->waits == NULL && a->nwaits > 0) || (a->taken == NULL && a->ntaken > 0) ||
        (a->blobs == NULL && a->nblobs > 0) || (a->marks == NULL && a->nmarks > 0))
        return fail(err, PAWL_INVALID, "%s: an append counts what it has not", a->run);
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
        rc = fail(err, PAWL_INVALID, "%s: whoever writes its first lines claims it with them", run);
    if (rc == PAWL_OK && with->first != NULL && with->first->within != NULL)
        rc = fail(err, PAWL_INVALID, "%s: a run does not begin with SQL of its own", run);
    if (rc == PAWL_OK && with->left != NULL)
        rc = store_delivery_check(alloc, run, with->left, err);
    return rc;
}

pawl_code store_holds_check(const pawl_hold *all, size_t n, pawl_err *err)
{
    return all == NULL && n > 0 ? fail(err, PAWL_INVALID, "leases of no runs") : PAWL_OK;
}

/* ---- a delivery --------------------------------------------------------------------------------------------------- */

static pawl_code json_check(arena *mem, const char *run, const char *id, const char *what, pawl_bytes text, pawl_err *err)
{
    pawl_err why = {0};
    char named[256];

    if (text.size == 0)
        return PAWL_OK;
    snprintf(named, sizeof named, "%s: %s of delivery %.64s", run, what, id);
    if (text.data != NULL && value_parse(mem, text.data, text.size, named, &why) != NULL)
        return PAWL_OK;
    if (mem->failed)
        return fail(err, PAWL_NOMEM, "%s: no memory to read a delivery", run);
    return why.code == PAWL_OK ? fail(err, PAWL_INVALID, "%s has no bytes", named) : fail(err, PAWL_INVALID, "%s", why.text);
}

static pawl_code delivery_form(const char *run, const pawl_delivery *d, pawl_err *err)
{
    bool named = d->kind == PAWL_DELIVER_ANSWER || d->kind == PAWL_DELIVER_SIGNAL || d->kind == PAWL_DELIVER_RECEIPT;

    if (!store_id_valid(d->id))
        return fail(err, PAWL_INVALID, "%s: a delivery needs an id of 1 to %d bytes", run, STORE_ID_BYTES_MAX);
    if ((int)d->kind < 1 || (int)d->kind > KINDS)
        return fail(err, PAWL_INVALID, "%s: delivery %.64s is of no kind (%d)", run, d->id, (int)d->kind);
    if (named ? !store_id_valid(d->name) : d->name != NULL && !text_valid(d->name, 0))
        return fail(err, PAWL_INVALID, "%s: delivery %.64s names nothing", run, d->id);
    if (d->outcome < 0 || d->outcome >= OUTCOMES || (d->outcome != 0 && d->kind != PAWL_DELIVER_RECEIPT))
        return fail(err, PAWL_INVALID, "%s: delivery %.64s has no outcome %d", run, d->id, d->outcome);
    if ((d->by != NULL && !text_valid(d->by, 0)) || (d->trace != NULL && !text_valid(d->trace, 0)) ||
        (d->note != NULL && !utf8_valid(d->note, strlen(d->note))))
        return fail(err, PAWL_INVALID, "%s: by, note or trace of delivery %.64s is too long, or not UTF-8", run, d->id);
    if (d->kind == PAWL_DELIVER_ANSWER && d->value.size == 0)
        return fail(err, PAWL_INVALID, "%s: an answer needs a value (null is one)", run);
    return PAWL_OK;
}

pawl_code store_delivery_check(const pawl_alloc *alloc, const char *run, const pawl_delivery *d, pawl_err *err)
{
    pawl_code rc;
    arena mem;

    if (!store_run_valid(run) || d == NULL)
        return fail(err, PAWL_INVALID, "a delivery names no run");
    if ((rc = delivery_form(run, d, err)) != PAWL_OK)
        return rc;
    arena_init(&mem, alloc, d->value.size + d->update.size);
    rc = json_check(&mem, run, d->id, "the value", d->value, err);
    if (rc == PAWL_OK)
        rc = json_check(&mem, run, d->id, "the update", d->update, err);
    arena_free(&mem);
    return rc;
}

/* Each part with its length before it, so that no two deliveries have the same text. */
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

pawl_code store_answer_check(const pawl_alloc *alloc, const char *run, const char *id, pawl_bytes spec, pawl_bytes value,
                             pawl_err *err)
{
    const pawl_value *asked, *v = NULL, *schema, *options;
    pawl_err why = {0};
    pawl_code rc = PAWL_OK;
    char what[256];
    arena mem;

    arena_init(&mem, alloc, spec.size + value.size);
    snprintf(what, sizeof what, "%.128s: the answer to %.100s", run, id);
    asked = value_read(&mem, spec.data, spec.size, "the SPEC of a wait", NULL);
    if (asked != NULL)
        v = value_parse(&mem, value.data, value.size, what, &why);
    schema = pawl_value_get(asked, "schema");
    options = pawl_value_get(asked, "options");
    if (mem.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory to read an answer", run);
    else if (asked == NULL)
        rc = fail(err, PAWL_CORRUPT, "%s: the SPEC of wait %s is no JSON", run, id);
    else if (v == NULL)
        rc = fail(err, PAWL_INVALID, "%s", why.text);
    else if (schema != NULL && schema_check(schema, v, what, err) != PAWL_OK)
        rc = PAWL_INVALID;
    else if (options != NULL && !value_one_of(options, v))
        rc = fail(err, PAWL_INVALID, "%s is none of the options", what);
    arena_free(&mem);
    return rc;
}

pawl_code store_answer_late(const char *run, const char *id, pawl_bytes answer, const char *by, pawl_err *err)
{
    int n = answer.size > TOLD_BYTES_MAX ? TOLD_BYTES_MAX : (int)answer.size;

    if (answer.size == 0)
        return fail(err, PAWL_CONFLICT, "%s: wait %s is over", run, id);
    while (n > 0 && (size_t)n < answer.size && ((unsigned char)answer.data[n] & 0xC0) == 0x80)
        n--;
    return fail(err, PAWL_CONFLICT, "%s: wait %s was answered before, with %.*s%s%.48s", run, id, n, answer.data, by != NULL ? ", by " : "",
                by != NULL ? by : "");
}

/* ---- retention ------------------------------------------------------------------------------------------------------------ */

bool store_retention_read(const char *text, int64_t *ms)
{
    static const struct { const char *name; int64_t ms; } units[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
    };
    int64_t n = 0;

    *ms = INT64_MAX;
    if (text == NULL || strcmp(text, "keep") == 0)
        return true;
    if (strcmp(text, "delete") == 0) {
        *ms = 0;
        return true;
    }
    if (strncmp(text, "keep:", 5) != 0 || text[5] < '1' || text[5] > '9')
        return false;
    for (text += 5; *text >= '0' && *text <= '9' && n < RETENTION_MAX; text++)
        n = n * 10 + (*text - '0');
    for (size_t i = 0; i < sizeof units / sizeof *units && n < RETENTION_MAX; i++)
        if (strcmp(text, units[i].name) == 0) {
            *ms = n * units[i].ms;
            return true;
        }
    return false;
}

/* ---- rules -------------------------------------------------------------------------------------------------------------- */

static int64_t first_of(int64_t a, int64_t b)
{
    return b != 0 && b < a ? b : a;
}

int64_t store_look_ms(const pawl_head *h, int64_t delivered_ms)
{
    int64_t at = INT64_MAX;

    if (h->parked != NULL)
        return at;
    if (h->owner != NULL)
        return h->over && delivered_ms == 0 && h->wake_ms == 0 ? at : h->lease_ms;
    at = first_of(at, delivered_ms);
    at = first_of(at, h->wake_ms);
    return h->work && !h->over ? first_of(at, h->changed_ms) : at;
}

bool store_is_due(const pawl_head *h, int64_t asked_ms, int64_t now_ms)
{
    if (h->owner != NULL)
        return !store_held(h, now_ms);
    return h->mail > 0 || (h->work && !h->over) || (h->wake_ms != 0 && h->wake_ms <= asked_ms);
}

int64_t store_until(int64_t now_ms, int64_t ttl_ms)
{
    return ttl_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + ttl_ms;
}

int64_t store_system_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

pawl_code store_no_run(const char *run, pawl_err *err)
{
    return fail(err, PAWL_GONE, "%s: there is no such run", run);
}

pawl_code store_fenced(const char *run, uint64_t fence, uint64_t newest, pawl_err *err)
{
    return fail(err, PAWL_FENCED, "%s: fence %llu is not the newest, %llu: the run is somebody else's now", run,
                (unsigned long long)fence, (unsigned long long)newest);
}
