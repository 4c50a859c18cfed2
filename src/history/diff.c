/* diff.c - finds the first difference of two runs.
 *
 * A journal is compared as facts: its items without what differs between equal runs - times, numbers, digests of records. The facts of a superstep (of a
 * reducer: of an entry) are compared as a set, so the order of answers, and whether one is in an entry or in an earlier task record, makes no
 * difference. A fork has the facts of its origin up to its entry. Called by the program and by tests, on the thread of the store's handle; no lock,
 * nothing is written. */
#include "history/history.h"
#include "kernel/channel.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { FORKS_MAX = 64 };        /* forks of forks that are followed */

typedef struct fact {
    const char *text;
    const char *of;             /* the run that has the fact: this one, or one that it was forked from */
    const char *id;             /* of a command or a wait: its id without the superstep; else NULL */
    uint64_t seq;
    size_t closes, entry;       /* number of closes and entries before it */
    size_t order;
    uint8_t kind;
    bool hold;                  /* a question between two supersteps */
    bool again;                 /* of a visit that a fork starts again */
    bool alone;                 /* the other run does not have it */
} fact;

typedef struct story {
    const char *run;
    char root[HASH_HEX + 1];    /* the origin of its history: "", or the hash of an ancestor that cannot be read any more */
    const char *lost;           /* the ancestor that cannot be read */
    fact *facts;
    size_t n, cap;
    size_t closes, entries;
} story;

typedef struct parting {        /* two runs that are compared, or one of them */
    pawl_store *s;
    arena mem;
    pawl_step *step;
    buf b;
} parting;

/* ---- facts ---------------------------------------------------------------------------------------- */

/* A reducer numbers its commands by entries, and a fork numbers them again. */
static const char *event_id(parting *p, const item *it)
{
    buf_reset(&p->b);
    buf_text(&p->b, it->task);
    if (strcmp(it->task, "@") != 0)
        buf_fmt(&p->b, ".%u.%u", (unsigned)it->visit, (unsigned)it->n);
    return p->b.failed ? NULL : arena_strdup(&p->mem, p->b.data, p->b.size);
}

static void spec_put(buf *b, const pawl_value *spec)
{
    const pawl_value *key, *v;
    pawl_iter it = pawl_iter_of(spec);
    char before = '{';

    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        if (strcmp(pawl_value_string(key), "expires") == 0)
            continue;
        buf_char(b, before);
        canon(b, key);
        buf_char(b, ':');
        canon(b, v);
        before = ',';
    }
    buf_text(b, before == '{' ? "{}" : "}");
}

/* The elements of an item that are compared, as bits; 0 is the name. Element 1, the id, is handled apart. */
static unsigned elements_compared(unsigned kind)
{
    switch ((item_kind)kind) {
    case ITEM_RECORDS: return 0;
    case ITEM_SLEEP:
    case ITEM_DOUBT:
    case ITEM_ASK:     return 1 | 1 << 3;       /* without the times */
    case ITEM_RECEIPT: return 1 | 1 << 3 | 1 << 4;
    case ITEM_SIGN:
    case ITEM_ANSWER:  return 1 | 1 << 3 | 1 << 4;
    case ITEM_CALL:
    case ITEM_SPAWN:   return 1 | 1 << 2;
    case ITEM_REFUSAL:  return 1 | 1 << 3 | 1 << 4 | 1 << 5;
    case ITEM_DROP:    return 1;
    case ITEM_VISIT:   return 1 | 1 << 1 | 1 << 2;
    case ITEM_START: case ITEM_INPUT: case ITEM_UPDATE: case ITEM_SIGNAL: case ITEM_CANCEL: case ITEM_REOPEN: case ITEM_ADOPT: case ITEM_FRAME:
    case ITEM_SELECT: case ITEM_LEAVE: case ITEM_FAIL: case ITEM_CLOSE: case ITEM_PUT: case ITEM_EMIT: case ITEM_TURN: case ITEM_END:
    case ITEM_UNWIND: case ITEM_KINDS: return ~0u;
    }
    return ~0u;
}

/* For `{...,"text":"RUN: why"}`: removes the run's name. */
static void name_cut(buf *b, const char *run)
{
    const char *member = "\"text\":\"";
    size_t n = strlen(run), m = strlen(member);

    for (size_t at = 0; at + m + n + 2 < b->size; at++)
        if (memcmp(b->data + at, member, m) == 0 && memcmp(b->data + at + m, run, n) == 0 && memcmp(b->data + at + m + n, ": ", 2) == 0) {
            at += m;
            memmove(b->data + at, b->data + at + n + 2, b->size - at - n - 2);
            b->size -= n + 2;
            return;
        }
}

static const char *fact_text(parting *p, const story *st, const item *it, const pawl_value *v, const char *id)
{
    unsigned told = elements_compared(it->kind);

    buf_reset(&p->b);
    for (size_t i = 0; i < pawl_value_size(v); i++) {
        bool spec = (it->kind == ITEM_ASK || it->kind == ITEM_SLEEP) && i == 3;

        if (i == 1 && id != NULL) {
            buf_char(&p->b, ',');
            canon_string(&p->b, id, strlen(id));
        }
        if (i > 31 || (told >> i & 1) == 0)
            continue;
        buf_char(&p->b, i == 0 ? '[' : ',');
        if (spec)
            spec_put(&p->b, pawl_value_at(v, i));
        else
            canon(&p->b, pawl_value_at(v, i));
    }
    buf_char(&p->b, ']');
    if (it->kind == ITEM_FAIL || it->kind == ITEM_END || it->kind == ITEM_UNWIND)
        name_cut(&p->b, st->run);
    return p->b.failed ? NULL : arena_strdup(&p->mem, p->b.data, p->b.size);
}

static pawl_code fact_add(parting *p, story *st, const pawl_entry *e, const item *it, uint64_t seq)
{
    arena mem;
    const pawl_value *v;
    fact f = { .of = st->run, .seq = seq, .closes = st->closes, .entry = st->entries, .order = st->n, .kind = it->kind, .hold = it->hold };

    if (elements_compared(it->kind) == 0 || (it->kind == ITEM_VISIT && it->visit == 1))     /* the first visit says only when */
        return PAWL_OK;
    if (!arena_room(&p->mem, (void **)&st->facts, &st->cap, st->n, sizeof *st->facts))
        return PAWL_NOMEM;
    arena_init(&mem, NULL, it->text_size);
    v = value_read(&mem, e->items_text + it->text_at, it->text_size, "an item", NULL);
    f.id = item_has_id(it->kind) ? event_id(p, it) : NULL;
    f.text = v == NULL || (item_has_id(it->kind) && f.id == NULL) ? NULL : fact_text(p, st, it, v, f.id);
    arena_free(&mem);
    if (f.text == NULL)
        return PAWL_NOMEM;
    st->facts[st->n++] = f;
    if (it->kind == ITEM_CLOSE && *it->task == '\0')
        st->closes++;
    return PAWL_OK;
}

static pawl_code lines_read(parting *p, story *st, pawl_bytes lines, uint64_t seq, pawl_err *err)
{
    const char *at = lines.data, *end = at + lines.size;
    pawl_code rc = PAWL_OK;

    for (const char *nl; rc == PAWL_OK && at < end; at = nl + 1) {
        pawl_entry *e;

        nl = memchr(at, '\n', (size_t)(end - at));
        rc = pawl_entry_read((pawl_bytes){ at, (size_t)(nl - at) }, p->step, &e, err);
        if (rc == PAWL_OK && e->erased)
            rc = fail(err, PAWL_GONE, "%s: the body of entry %llu is erased", st->run, (unsigned long long)e->seq);
        if (rc == PAWL_OK && entry_names_snapshot(e)) {     /* when a snapshot was made is no part of what happened */
            seq++;
            continue;
        }
        for (const item *it = rc == PAWL_OK ? e->items : NULL; it != NULL && rc == PAWL_OK; it = it->next)
            if ((rc = fact_add(p, st, e, it, seq + 1)) != PAWL_OK)
                fail(err, rc, "%s: no memory for its history", st->run);
        if (rc == PAWL_OK && !e->record) {
            seq++;
            st->entries++;
        }
    }
    return rc;
}

/* ---- a run with those that it was forked from ------------------------------------------------------- */

static bool hold_kept(const story *st, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (st->facts[i].hold && st->facts[i].id != NULL && strcmp(st->facts[i].id, id) == 0)
            return true;
    return false;
}

static bool is_visits(const fact *f)
{
    return f->kind == ITEM_VISIT || f->kind == ITEM_FRAME || f->kind == ITEM_SELECT || f->kind == ITEM_LEAVE || f->kind == ITEM_FAIL ||
           f->kind == ITEM_CLOSE || (f->id != NULL && strcmp(f->id, "@") != 0 && !f->hold);
}

/* Drops facts of the superstep in which the fork was made: its visits start again in the fork and state them again. Until then the fork is where its
 * origin was. */
static void visits_forget(story *st)
{
    size_t n = st->n;

    while (n > 0 && st->facts[n - 1].closes == st->closes)
        n--;
    for (size_t i = n; i < st->n; i++) {
        fact *f = &st->facts[i];

        f->again = is_visits(f) && (f->id == NULL || !hold_kept(st, i, f->id));
    }
}

/* `from`: the first fact of the fork itself. */
static void visits_settle(story *st, size_t from)
{
    bool begun = false;
    size_t n = 0;

    for (size_t i = from; i < st->n && !begun && st->facts[i].closes == st->facts[from].closes; i++)
        begun = is_visits(&st->facts[i]);
    for (size_t i = 0; i < st->n; i++) {
        if (begun && st->facts[i].again)
            continue;
        st->facts[n] = st->facts[i];
        st->facts[n++].again = false;
    }
    st->n = n;
}

static pawl_code story_read(parting *p, story *st, const char *run, uint64_t upto, size_t depth, pawl_err *err);

/* False: the ancestor was removed or replaced. */
static bool ancestor_is_there(parting *p, const char *run, const char *life, uint64_t seq)
{
    pawl_head head;
    char hex[17];

    if (run == NULL || life == NULL || p->s->verbs->head(p->s, run, &head, NULL) != PAWL_OK)
        return false;
    for (int k = 0; k < 16; k++)
        hex[k] = "0123456789abcdef"[head.life >> (60 - 4 * k) & 15];
    hex[16] = '\0';
    return strcmp(hex, life) == 0 && head.seq >= seq;
}

static pawl_code ancestors_read(parting *p, story *st, const pawl_value *base, size_t depth, pawl_err *err)
{
    const pawl_value *lineage = pawl_value_get(base, "lineage");
    const char *prev = pawl_value_string(pawl_value_get(base, "prev")), *from = pawl_value_string(pawl_value_get(lineage, "run"));
    const char *hex = pawl_value_string(pawl_value_get(lineage, "hash")), *run = st->run;
    uint64_t seq = pawl_value_uint(pawl_value_get(lineage, "seq"));
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    if (prev == NULL && lineage == NULL)
        return PAWL_OK;
    if (depth == FORKS_MAX)
        return fail(err, PAWL_LIMIT, "%s: it is a fork of forks, more than %d deep (FORKS_MAX)", run, FORKS_MAX);
    if (prev == NULL && ancestor_is_there(p, from, pawl_value_string(pawl_value_get(lineage, "life")), seq)) {
        if (seq == 0)           /* a fork from before its first entry */
            return PAWL_OK;
        from = arena_text(&p->mem, from);
        rc = from == NULL ? fail(&why, PAWL_NOMEM, "%s: no memory for its history", run) : story_read(p, st, from, seq, depth + 1, &why);
        st->run = run;
        if (rc == PAWL_OK)
            visits_forget(st);
        if (rc != PAWL_GONE)
            return rc == PAWL_OK ? rc : fail(err, rc, "%s", why.text);
        from = pawl_value_string(pawl_value_get(lineage, "run"));
        st->n = st->closes = st->entries = 0;
    }
    snprintf(st->root, sizeof st->root, "%s", prev != NULL ? prev : hex != NULL ? hex : "?");
    st->lost = prev != NULL ? run : arena_strdup(&p->mem, from != NULL ? from : "?", from != NULL ? strlen(from) : 1);
    return PAWL_OK;
}

static pawl_code story_read(parting *p, story *st, const char *run, uint64_t upto, size_t depth, pawl_err *err)
{
    uint64_t base_seq = 0;
    const char *nl;
    size_t from;
    arena mem;
    buf text;
    pawl_code rc;

    buf_init(&text, NULL);
    st->run = run;
    rc = store_journal(p->s, run, upto, &text, &base_seq, err);
    if (rc == PAWL_OK) {
        nl = memchr(text.data, '\n', text.size);
        arena_init(&mem, NULL, (size_t)(nl - text.data));
        rc = ancestors_read(p, st, value_read(&mem, text.data, (size_t)(nl - text.data), "a base", NULL), depth, err);
        arena_free(&mem);
        from = st->n;
        if (rc == PAWL_OK)
            rc = lines_read(p, st, (pawl_bytes){ nl + 1, text.size - (size_t)(nl + 1 - text.data) }, base_seq, err);
        visits_settle(st, from);
    }
    buf_free(&text);
    return rc;
}

/* ---- two of them -------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const fact *x = *(const fact *const *)a, *y = *(const fact *const *)b;
    int order = strcmp(x->text, y->text);

    return order != 0 ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* The facts of one unit, sorted by text; advances *at past them. */
static fact **unit_of(parting *p, story *st, size_t *at, size_t unit, bool by_entry, size_t *n)
{
    size_t from = *at;
    fact **some;

    while (*at < st->n && (by_entry ? st->facts[*at].entry : st->facts[*at].closes) <= unit)
        ++*at;
    *n = *at - from;
    if ((some = arena_get(&p->mem, (*n + 1) * sizeof *some)) == NULL)
        return NULL;
    for (size_t i = 0; i < *n; i++)
        some[i] = &st->facts[from + i];
    if (*n > 1)
        qsort(some, *n, sizeof *some, by_text);
    return some;
}

/* Marks the facts that only one of them has. True: there are some. */
static bool units_differ(fact **a, size_t na, fact **b, size_t nb)
{
    size_t i = 0, j = 0;
    bool differ = false;

    while (i < na || j < nb) {
        int order = i == na ? 1 : j == nb ? -1 : strcmp(a[i]->text, b[j]->text);

        if (order == 0) {
            i++, j++;
            continue;
        }
        differ = true;
        if (order < 0)
            a[i++]->alone = true;
        else
            b[j++]->alone = true;
    }
    return differ;
}

/* Reports the first fact that the other run does not have; if there is none but this run went further, its last fact. */
static void side_fill(const story *st, size_t from, size_t at, pawl_diff_side *out)
{
    const fact *first = NULL;

    for (size_t i = from; i < at && first == NULL; i++)
        if (st->facts[i].alone)
            first = &st->facts[i];
    if (first == NULL && (at == from || (at == st->n && st->facts[at - 1].kind != ITEM_CLOSE)))
        return;                 /* this run has no more */
    out->seq = (first != NULL ? first : &st->facts[at - 1])->seq;
    snprintf(out->of, sizeof out->of, "%s", (first != NULL ? first : &st->facts[at - 1])->of);
    if (first != NULL) {
        size_t n = strlen(first->text), most = sizeof out->fact - 1;

        for (n = n > most ? most : n; n > 0 && n == most && ((unsigned char)first->text[n] & 0xC0) == 0x80;)
            n = --most;
        memcpy(out->fact, first->text, n);
        out->fact[n] = '\0';
    }
}

static pawl_code stories_compare(parting *p, story *a, story *b, pawl_diff *out, pawl_err *err)
{
    bool by_entry = a->closes == 0 && b->closes == 0;
    size_t i = 0, j = 0;

    for (size_t unit = 0; i < a->n || j < b->n; unit++) {
        size_t from_a = i, from_b = j, na, nb;
        fact **some_a = unit_of(p, a, &i, unit, by_entry, &na), **some_b = unit_of(p, b, &j, unit, by_entry, &nb);

        if (some_a == NULL || some_b == NULL)
            return fail(err, PAWL_NOMEM, "%s and %s: no memory to compare them", a->run, b->run);
        if (units_differ(some_a, na, some_b, nb)) {
            side_fill(a, from_a, i, &out->a);
            side_fill(b, from_b, j, &out->b);
            out->same = false;
            return PAWL_OK;
        }
    }
    return PAWL_OK;
}

static pawl_code histories_compare(parting *p, const char *a, const char *b, pawl_diff *out, pawl_err *err)
{
    story one = { .n = 0 }, other = { .n = 0 };
    pawl_code rc = story_read(p, &one, a, 0, 0, err);

    if (rc == PAWL_OK)
        rc = story_read(p, &other, b, 0, 0, err);
    if (rc == PAWL_OK && strcmp(one.root, other.root) != 0)
        return fail(err, PAWL_GONE, "%s and %s: %s was pruned or removed, so nothing says where they were before", a, b,
                    one.lost != NULL ? one.lost : other.lost);
    return rc == PAWL_OK ? stories_compare(p, &one, &other, out, err) : rc;
}

/* ---- channels ------------------------------------------------------------------------------------------- */

static bool channel_compare(pawl_state *a, pawl_state *b, const char *name, pawl_diff *out, pawl_channel_diff_fn *fn, void *ctx)
{
    const pawl_value *x = pawl_state_get(a, name), *y = pawl_state_get(b, name);

    if (x == y || pawl_value_equal(x, y))
        return true;
    out->channels++;
    return fn == NULL || fn(ctx, name, x, y);
}

static void channels_compare(pawl_state *a, pawl_state *b, pawl_diff *out, pawl_channel_diff_fn *fn, void *ctx)
{
    bool more = true;

    for (uint32_t i = 0; i < a->root.nchannels && more; i++)
        more = channel_compare(a, b, a->root.channels[i].d->name, out, fn, ctx);
    for (uint32_t i = 0; i < b->root.nchannels && more; i++)
        if (channel_find(&a->root, b->root.channels[i].d->name) == NULL)
            more = channel_compare(a, b, b->root.channels[i].d->name, out, fn, ctx);
}

/* The newest state with its head; with --at-parting the state at the first difference. */
static pawl_code side_state(pawl_store *s, const char *run, pawl_diff_at at, pawl_diff_side *side, pawl_state **st, pawl_err *err)
{
    pawl_code rc = pawl_history_state(s, run, 0, st, err);

    if (rc != PAWL_OK)
        return rc;
    side->newest = pawl_state_seq(*st);
    side->status = pawl_state_status(*st);
    if (at == PAWL_DIFF_AT_END || side->seq == 0 || side->seq > side->newest)
        return PAWL_OK;
    pawl_state_free(*st);
    *st = NULL;
    return pawl_history_state(s, side->of, side->seq, st, err);
}

pawl_code pawl_history_diff(pawl_store *s, const char *a, const char *b, pawl_diff_at at, pawl_channel_diff_fn *fn, void *ctx,
                            pawl_diff *out, pawl_err *err)
{
    pawl_state *one = NULL, *other = NULL;
    parting p = { .s = s };
    pawl_diff room;
    pawl_code rc;

    if (s == NULL || a == NULL || b == NULL)
        return fail(err, PAWL_INVALID, "a diff needs a store and two runs");
    out = out != NULL ? out : &room;
    *out = (pawl_diff){ .same = true };
    arena_init(&p.mem, NULL, 4096);
    buf_init(&p.b, NULL);
    p.step = pawl_step_new(NULL);
    rc = p.step == NULL ? fail(err, PAWL_NOMEM, "no memory for a diff") : histories_compare(&p, a, b, out, err);
    if (rc == PAWL_OK)
        rc = side_state(s, a, at, &out->a, &one, err);
    if (rc == PAWL_OK)
        rc = side_state(s, b, at, &out->b, &other, err);
    if (rc == PAWL_OK)
        channels_compare(one, other, out, fn, ctx);
    pawl_state_free(one);
    pawl_state_free(other);
    pawl_step_free(p.step);
    buf_free(&p.b);
    arena_free(&p.mem);
    return rc;
}
