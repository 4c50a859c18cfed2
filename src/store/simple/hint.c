/* hint.c - hints: what a list needs to know of a run at rest, in the key of an empty record beside its head, so that the list need not read the head.
 *
 * A run is at rest when nobody holds it, its mailbox is empty, and it has no work. Called by run.c after a head was put, by list.c, and by sweep.c.
 * Invariants: the version of a hint is that of the head that it describes, and the hint is put after that head. A hint counts only while the head has that
 * version, and no version of a head comes twice: so one that is late, missing, or left behind by a crash hides nothing, and the head is read. */
#include "store/simple/simple.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_at_rest(const simple_run *r)
{
    const pawl_head *d = &r->head;

    return r->begun && d->owner == NULL && d->mail == 0 && (!d->work || d->over) && d->wake_ms >= 0 && d->changed_ms >= 0 && d->status <= 9;
}

static uint32_t text_digest(const char *text)
{
    return text == NULL ? 0 : simple_hash(text);
}

/* The end of the key, after the run. docs/INTERFACES.md has it. */
static void facts_write(const pawl_head *d, char *to, size_t size)
{
    snprintf(to, size, "%llx.%llx.%u%s%s.%08x%08x%08x", (unsigned long long)d->wake_ms, (unsigned long long)d->changed_ms, (unsigned)d->status,
             d->waits > 0 ? "w" : "", d->parked != NULL ? "p" : "", (unsigned)text_digest(d->machine), (unsigned)text_digest(d->context),
             (unsigned)text_digest(d->parent));
}

const char *hint_key(simple_run *r)
{
    char key[PAWL_KEY_BYTES_MAX + 1];
    int n;

    if (!is_at_rest(r))
        return NULL;
    n = snprintf(key, sizeof key, "m~%s~%s~", r->h->space, r->head.run);
    facts_write(&r->head, key + n, sizeof key - (size_t)n);
    return arena_text(&r->h->work, key);        /* without memory: no hint */
}

/* A number in hexadecimal digits, and the character after it. */
static bool number_read(const char **at, char end, int64_t *n)
{
    char *after;
    unsigned long long wide = strtoull(*at, &after, 16);

    if (after == *at || *after != end || wide > INT64_MAX || **at == '-')
        return false;
    *n = (int64_t)wide;
    *at = after + 1;
    return true;
}

bool hint_read(const char *facts, simple_hint *out)
{
    const char *at = facts;

    *out = (simple_hint){ .wake_ms = 0 };
    if (!number_read(&at, '.', &out->wake_ms) || !number_read(&at, '.', &out->changed_ms) || *at < '0' || *at > '9')
        return false;
    out->status = (uint8_t)(*at++ - '0');
    out->waits = *at == 'w';
    at += out->waits;
    out->parked = *at == 'p';
    at += out->parked;
    return *at == '.' && sscanf(at + 1, "%8x%8x%8x", &out->machine, &out->context, &out->parent) == 3 && strlen(at + 1) == 24;
}

static bool text_may_match(const char *asked, uint32_t digest)
{
    return asked == NULL || simple_hash(asked) == digest;
}

bool hint_may_fit(const simple_hint *t, const pawl_filter *f)
{
    return text_may_match(f->machine, t->machine) && text_may_match(f->context, t->context) && text_may_match(f->parent, t->parent) &&
           (f->status == 0 || f->status == 1 + t->status) && (!f->waiting || t->waits) && (!f->parked || t->parked) && !f->held &&
           t->changed_ms >= f->changed_since_ms;
}

/* `before`: the version that is replaced, mostly. Nobody waits for a hint: what fails is left out. */
static bool hint_store(simple_handle *h, const char *key, uint64_t before, uint64_t version)
{
    pawl_err why = { PAWL_OK, "" };
    uint64_t is = 0;
    pawl_bytes body;
    pawl_code rc;

    record_begin(&h->hint);
    rc = record_put(h, key, before, version, &h->hint, &why);
    if (rc != PAWL_CONFLICT || record_get(h, key, &body, &is, NULL) != PAWL_OK || is >= version)
        return rc == PAWL_OK || rc == PAWL_CONFLICT;
    record_begin(&h->hint);
    return record_put(h, key, is, version, &h->hint, NULL) == PAWL_OK;
}

void hint_moved(simple_run *r, const char *before_key, uint64_t before)
{
    const char *key = r->h->blind ? NULL : hint_key(r);
    const bool same = key != NULL && before_key != NULL && strcmp(key, before_key) == 0;

    if (before_key != NULL && !same)
        (void)record_remove(r->h, before_key, before, NULL);
    if (key != NULL)
        (void)hint_store(r->h, key, same ? before : 0, r->version);
}

bool hint_add(simple_run *r)
{
    const char *key = hint_key(r);

    return key == NULL || hint_store(r->h, key, 0, r->version);
}
