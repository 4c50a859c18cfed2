/* entry.c - one line of a journal: read, queried, and applied to a state with pawl_apply() (K6).
 *
 * Called by the owner of the state, on its thread. One apply is one transaction: an error leaves the state unchanged. */
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/step.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------------------------- */

static bool char_due(const char **at, char c)
{
    return *(*at)++ == c;
}

static bool uint_due(const char **at, uint64_t *n)
{
    const char *end = digits_read(*at, n);

    *at = end != NULL ? end : *at;
    return end != NULL;
}

static bool time_due(const char **at, int64_t *ms)
{
    bool below = **at == '-';
    uint64_t n;

    *at += below;
    if (!uint_due(at, &n) || n > (uint64_t)INT64_MAX + below || (below && n == 0))
        return false;
    *ms = (int64_t)(below ? 0 - n : n);
    return true;
}

/* Reads one of the names and the quote after it. */
static bool name_due(const char **at, const char *const *names, size_t n, uint8_t *index)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = names[i], *p = *at;

        while (*name != '\0' && *name == *p)
            name++, p++;
        if (*name == '\0' && *p == '"' && p > *at) {
            *index = (uint8_t)i;
            *at = p + 1;
            return true;
        }
    }
    return false;
}

/* The error text for a bad envelope. */
static pawl_code envelope_fails(pawl_entry *e, const char *text, size_t size, pawl_err *err)
{
    const pawl_value *v = value_read(e->mem, text, size, "an envelope", err);
    int kind = name_index(kind_names, 12, pawl_value_string(pawl_value_at(v, 2)));
    int status = name_index(status_names, 7, pawl_value_string(pawl_value_at(v, 3)));

    if (v == NULL)
        return e->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    if (kind < 0 || status < 0 || pawl_value_size(v) != 5)
        return fail(err, PAWL_CORRUPT, "an envelope is [seq,time,kind,status,turn] of names that this version knows");
    return fail(err, PAWL_CORRUPT, "an envelope is not in its canonical form");
}

/* Reads `[SEQ,TIME_MS,"KIND","STATUS",TURN]` exactly as envelope_code() writes it. A space follows, so a scan past the end stops there. */
static pawl_code envelope_parse(pawl_entry *e, const char *text, size_t size, pawl_err *err)
{
    const char *at = text;
    bool good = char_due(&at, '[') && uint_due(&at, &e->seq) && char_due(&at, ',') && time_due(&at, &e->time_ms) &&
                char_due(&at, ',') && char_due(&at, '"') && name_due(&at, kind_names, 12, &e->kind) && char_due(&at, ',') &&
                char_due(&at, '"') && name_due(&at, status_names, 7, &e->status) && char_due(&at, ',') &&
                uint_due(&at, &e->turn) && char_due(&at, ']') && at == text + size;

    return good ? PAWL_OK : envelope_fails(e, text, size, err);
}

pawl_code entry_parse(pawl_entry *e, pawl_bytes line, pawl_err *err)
{
    const char *envelope = line.data + HASH_HEX + 1, *body;
    pawl_code rc;
    size_t size;

    e->bytes = line;
    e->read = e->coded = e->hashed = true;
    if (line.size > 0 && line.data[0] == '[') {
        e->record = true;
        return items_parse(e, line.data, line.size, err);
    }
    if (line.size < HASH_HEX + 4 || !hash_unhex(line.data, HASH_HEX, &e->self) || line.data[HASH_HEX] != ' ')
        return fail(err, PAWL_CORRUPT, "an entry is HASH ENVELOPE BODY, a task record an array of items");
    body = memchr(envelope, ' ', line.size - HASH_HEX - 1);
    if (body == NULL || body + 1 == line.data + line.size)
        return fail(err, PAWL_CORRUPT, "an entry without a body");
    if ((rc = envelope_parse(e, envelope, (size_t)(body - envelope), err)) != PAWL_OK)
        return rc;
    e->items_text = ++body;
    size = line.size - (size_t)(body - line.data);
    if (*body == '"') {
        e->erased = true;
        return body[size - 1] == '"' && hash_unhex(body + 1, size - 2, &e->digest)
                   ? PAWL_OK : fail(err, PAWL_CORRUPT, "an erased body is its digest in quotes");
    }
    hash_of(body, size, &e->digest);
    return items_parse(e, body, size, err);
}

pawl_code pawl_entry_read(pawl_bytes bytes, pawl_step *s, pawl_entry **entry, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *entry = NULL;
    step_reset(s);
    if (bytes.size > TEXT_BYTES_MAX)
        return fail(err, PAWL_LIMIT, "an entry of %zu bytes is over the limit of %zu (TEXT_BYTES_MAX)", bytes.size, TEXT_BYTES_MAX);
    if (bytes.data == NULL || bytes.size == 0)
        return fail(err, PAWL_CORRUPT, "an empty line is no entry");
    s->entry = (pawl_entry){ .mem = &s->mem };
    bytes.data = arena_strdup(&s->mem, bytes.data, bytes.size);
    if (bytes.data == NULL)
        return fail(err, PAWL_NOMEM, "no memory to read an entry");
    if ((rc = entry_parse(&s->entry, bytes, &why)) != PAWL_OK)
        return rc == PAWL_NOMEM || s->mem.failed ? fail(err, PAWL_NOMEM, "no memory to read an entry") : fail(err, rc, "%s", why.text);
    s->has_entry = true;
    *entry = &s->entry;
    return PAWL_OK;
}

/* ---- looking ---------------------------------------------------------------------------------- */

pawl_bytes pawl_entry_bytes(const pawl_entry *e) { return e->bytes; }
bool pawl_entry_is_record(const pawl_entry *e) { return e->record; }
uint64_t pawl_entry_seq(const pawl_entry *e) { return e->seq; }
int64_t pawl_entry_time_ms(const pawl_entry *e) { return e->time_ms; }
pawl_event_kind pawl_entry_kind(const pawl_entry *e) { return (pawl_event_kind)e->kind; }
pawl_status pawl_entry_status(const pawl_entry *e) { return (pawl_status)e->status; }

const char *pawl_entry_hash(const pawl_entry *e)
{
    char *hex;

    if (e->record || !e->hashed)
        return "";
    hex = arena_get(e->mem, HASH_HEX + 1);
    if (hex == NULL)
        return "";
    hash_hex(&e->self, hex);
    return hex;
}

/* Resolves the reference of an emission. Its target is in this entry: the receipt of the visit's only command, or the event. */
static const pawl_value *emission_value(const pawl_entry *e, const item *it, const named *n)
{
    const char *target = pawl_value_string(pawl_value_at(pawl_value_at(n->refs.list, 0), 2));
    const pawl_value *ref, *v = n->value, *whole = NULL;
    pawl_iter refs_it = pawl_iter_of(n->refs.list);

    for (const item *i = e->items; target != NULL && i != NULL && whole == NULL; i = i->next)
        if ((i->kind == ITEM_RECEIPT || i->kind == ITEM_ANSWER) && strcmp(i->task, it->task) == 0 && i->visit == it->visit)
            whole = i->value;
    while (whole != NULL && (ref = pawl_iter_next(&refs_it, NULL)) != NULL) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        if (form == NULL || strcmp(form, "event") != 0)
            continue;               /* pawl_entry_load() resolves blobs */
        target = pawl_value_string(pawl_value_at(ref, 2));
        v = value_splice(e->mem, v, pawl_value_string(pawl_value_at(ref, 0)),
                         pawl_value_find(whole, target != NULL ? target + strcspn(target, "/") : ""));
    }
    return v;
}

const pawl_value *pawl_entry_emission(const pawl_entry *e, size_t index, const char **name, const char **node)
{
    for (const item *it = e->items; it != NULL; it = it->next) {
        size_t n = it->kind == ITEM_LEAVE ? it->leave->nemits : it->kind == ITEM_EMIT;

        if (index >= n) {
            index -= n;
            continue;
        }
        if (name != NULL)
            *name = it->kind == ITEM_EMIT ? it->task : it->leave->emits[index].name;
        if (node != NULL)
            *node = it->kind == ITEM_EMIT ? "" : it->task;
        return it->kind == ITEM_EMIT ? it->value : emission_value(e, it, &it->leave->emits[index]);
    }
    return NULL;
}

/* ---- folding -------------------------------------------------------------------------------------- */

static bool hash_fits(const pawl_state *st, const pawl_entry *e)
{
    const char *envelope = e->bytes.data + HASH_HEX + 1;
    const pawl_bytes parts[3] = {
        { (const char *)st->head.b, HASH_BYTES },
        { envelope, (size_t)(e->items_text - 1 - envelope) },
        { (const char *)e->digest.b, HASH_BYTES },
    };
    hash now;

    hash_parts(parts, 3, &now);
    return hash_equal(&now, &e->self);
}

pawl_code entry_follows(const pawl_state *st, const pawl_entry *e, pawl_err *err)
{
    if (e->record)
        return pawl_status_terminal((pawl_status)st->status)
                   ? fail(err, PAWL_CORRUPT, "%s: a task record after the run was over", st->run) : PAWL_OK;
    if (e->seq != st->seq + 1)
        return fail(err, PAWL_CORRUPT, "%s: entry %llu after entry %llu", st->run, (unsigned long long)e->seq,
                    (unsigned long long)st->seq);
    if (e->time_ms < st->time_ms)
        return fail(err, PAWL_CORRUPT, "%s: the time of entry %llu goes back", st->run, (unsigned long long)e->seq);
    if (e->read && !hash_fits(st, e))
        return fail(err, PAWL_CORRUPT, "%s: entry %llu does not follow from what stands before it (hash)", st->run,
                    (unsigned long long)e->seq);
    if (e->erased)
        return fail(err, PAWL_GONE, "%s: the body of entry %llu is erased", st->run, (unsigned long long)e->seq);
    return PAWL_OK;
}

static pawl_code fold_items(pawl_state *st, pawl_entry *e, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (item *it = e->items; it != NULL && rc == PAWL_OK; it = it->next) {
        rc = item_fold(st, e, it, err);
        if (rc == PAWL_OK && e->record && e->hashed)
            rc = mark_add(st, it, e->items_text + it->text_at);
    }
    return rc;
}

void head_advance(pawl_state *st, const pawl_entry *e)
{
    st->tail_bytes += e->bytes.size + e->apart;
    status_move(st, e->record ? (unsigned)status_now(st) : e->status);
    if (e->record)
        return;
    PAWL_ASSERT(e->seq == st->seq + 1, "K5: entries follow one another without a gap");
    PAWL_ASSERT(e->time_ms >= st->time_ms, "K2: the time of a run never goes back");
    st->seq = e->seq;
    st->time_ms = e->time_ms;
    st->head = e->self;
    if (st->record_ms < e->time_ms)
        st->record_ms = e->time_ms;
}

/* Checks the envelope against the state after the folds: status and turn must agree. */
static pawl_code head_matches(const pawl_state *st, const pawl_entry *e, uint8_t before, pawl_err *err)
{
    if (e->record)
        return PAWL_OK;
    if (!sm_may(&run_table, before, e->status))
        return fail(err, PAWL_CORRUPT, "%s: entry %llu says %s, which does not follow %s", st->run, (unsigned long long)e->seq,
                    status_names[e->status], status_names[before]);
    if (!pawl_status_terminal((pawl_status)e->status) && e->status != (uint8_t)status_now(st))
        return fail(err, PAWL_CORRUPT, "%s: entry %llu says %s, and its items say %s", st->run, (unsigned long long)e->seq,
                    status_names[e->status], status_names[status_now(st)]);
    if (e->turn != st->turn)
        return fail(err, PAWL_CORRUPT, "%s: entry %llu is of another turn", st->run, (unsigned long long)e->seq);
    return PAWL_OK;
}

pawl_code pawl_apply(pawl_state *st, pawl_entry *e, pawl_err *err)
{
    uint8_t before;
    txn t;
    pawl_err why;
    pawl_code rc;

    if (st == NULL || e == NULL)
        return fail(err, PAWL_INVALID, "apply: no state or no entry");
    if (!st->no_journal && !e->hashed)
        return fail(err, PAWL_INVALID, "%s: it keeps a journal, and this entry has no bytes", st->run);
    if ((rc = entry_follows(st, e, err)) != PAWL_OK)
        return rc;
    before = st->status;
    why.code = PAWL_OK;
    why.text[0] = '\0';
    st->load_failed = PAWL_OK;
    txn_begin(st, &t, e->mem, TXN_APPLY);
    if ((rc = fold_items(st, e, &why)) == PAWL_OK && (rc = head_matches(st, e, before, &why)) == PAWL_OK)
        head_advance(st, e);
    if (e->mem->failed || st->load_failed != PAWL_OK)
        rc = e->mem->failed ? PAWL_NOMEM : st->load_failed;
    txn_end(st, rc == PAWL_OK);
    if (rc == PAWL_NOMEM)
        return fail(err, rc, "%s: no memory to apply an entry", st->run);
    if (rc == PAWL_INVALID || rc == PAWL_LIMIT)     /* no machine writes an item that a fold refuses, so the journal is corrupt */
        rc = PAWL_CORRUPT;
    return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.code != PAWL_OK ? why.text : pawl_code_name(rc));
}
