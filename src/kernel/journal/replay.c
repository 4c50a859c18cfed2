/* replay.c - folds a whole journal again, or feeds its events to a machine again and compares every byte (K5, K6). See replay.h. */
#include "kernel/events.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/codec.h"
#include "kernel/journal/replay.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/pending.h"
#include "kernel/signed.h"

#include <string.h>

typedef struct journal_lines { const char *at, *end; } journal_lines;

/* The next line without its newline. A last line without a newline was torn by a crash, and is dropped (K8). */
static bool line_next(journal_lines *l, pawl_bytes *out)
{
    const char *nl = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;

    if (nl == NULL)
        return false;
    *out = (pawl_bytes){ l->at, (size_t)(nl - l->at) };
    l->at = nl + 1;
    return true;
}

/* The loader of a replay. Only blobs are loaded: a state that is folded from the base has every list element in memory. */
static pawl_code begin(pawl_bytes journal, const pawl_loader *loader, const pawl_alloc *alloc, journal_lines *l, pawl_step **s,
                       pawl_state **st, pawl_err *err)
{
    pawl_bytes base;
    pawl_code rc;

    *l = (journal_lines){ journal.data, journal.data + journal.size };
    *st = NULL;
    if ((*s = pawl_step_new(alloc)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a replay");
    if (journal.data == NULL || !line_next(l, &base))
        return fail(err, PAWL_CORRUPT, "a journal without a base");
    rc = pawl_state_load(base, (pawl_bytes){0}, loader, alloc, st, err);
    return rc;
}

pawl_code pawl_replay(pawl_bytes journal, uint64_t upto, const pawl_alloc *alloc, pawl_state **state, pawl_err *err)
{
    return journal_fold(journal, upto, NULL, alloc, state, err);
}

pawl_code pawl_replay_with(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc, pawl_state **state,
                           pawl_err *err)
{
    return journal_fold(journal, upto, loader, alloc, state, err);
}

pawl_code journal_fold(pawl_bytes journal, uint64_t upto, const pawl_loader *loader, const pawl_alloc *alloc, pawl_state **state,
                       pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    pawl_step *s;
    pawl_state *st;
    pawl_entry *e;
    pawl_bytes line;
    journal_lines l;
    pawl_code rc = begin(journal, loader, alloc, &l, &s, &st, err);

    *state = NULL;
    while (rc == PAWL_OK && (upto == 0 || st->seq < upto) && line_next(&l, &line)) {
        step_reset(s);
        s->entry.mem = &s->mem;     /* parsed in place: the journal is valid longer than the step */
        rc = entry_parse(&s->entry, line, &why);
        e = &s->entry;
        if (rc != PAWL_OK && s->mem.failed)
            rc = PAWL_NOMEM;
        rc = rc == PAWL_OK ? pawl_apply(st, e, err) : fail(err, rc, "%s", rc == PAWL_NOMEM ? "no memory for a replay" : why.text);
    }
    if (rc == PAWL_OK && upto > st->seq)
        rc = fail(err, PAWL_GONE, "%s: there is no entry %llu", st->run, (unsigned long long)upto);
    if (rc == PAWL_OK && upto > 0 && upto < st->base_seq)
        rc = fail(err, PAWL_GONE, "%s: entry %llu is before the base", st->run, (unsigned long long)upto);
    pawl_step_free(s);
    if (rc == PAWL_OK)
        *state = st;
    else
        pawl_state_free(st);
    return rc;
}

/* ---- the event that an entry came from ------------------------------------------------------------- */

typedef struct event_source { pawl_event ev; buf value, update, id; } event_source;

static const char *text_of(buf *b, const pawl_value *v)
{
    if (v == NULL)
        return NULL;
    buf_reset(b);
    canon(b, v);
    buf_char(b, '\0');
    return b->failed ? NULL : b->data;
}

static const char *id_of_item(event_source *src, const item *it)
{
    buf_reset(&src->id);
    id_code(&src->id, it);
    buf_char(&src->id, '\0');
    return src->id.failed ? NULL : src->id.data;
}

static void source_more(event_source *src, const pawl_value *more)
{
    src->ev.by = pawl_value_string(pawl_value_get(more, "by"));
    src->ev.note = pawl_value_string(pawl_value_get(more, "note"));
    src->ev.update = text_of(&src->update, pawl_value_get(more, "update"));
}

static void source_item(event_source *src, const pawl_entry *e, const item *it)
{
    pawl_event *ev = &src->ev;
    const pawl_value *prompt, *last;

    switch ((item_kind)it->kind) {
    case ITEM_START:   ev->kind = PAWL_EV_START; break;
    case ITEM_DROP:
    case ITEM_TURN:
    case ITEM_INPUT:   ev->kind = e->record ? PAWL_EV_ANSWER : (pawl_event_kind)e->kind; break;
    case ITEM_UPDATE:  ev->kind = PAWL_EV_UPDATE; ev->name = pawl_value_string(pawl_value_get(it->more, "as")); source_more(src, it->more); break;
    case ITEM_SIGNAL:  ev->kind = PAWL_EV_SIGNAL; ev->name = it->task; break;
    case ITEM_CANCEL:  ev->kind = PAWL_EV_CANCEL; source_more(src, it->value); return;
    case ITEM_REOPEN:  ev->kind = PAWL_EV_REOPEN; source_more(src, it->value); return;
    case ITEM_ADOPT:   ev->kind = PAWL_EV_ADOPT; return;
    case ITEM_RECEIPT:
        ev->kind = PAWL_EV_RECEIPT;
        ev->id = id_of_item(src, it);
        ev->outcome = (pawl_outcome)it->outcome;
        ev->time_ms = it->at;
        ev->update = text_of(&src->update, pawl_value_get(it->more, "usage"));
        break;
    case ITEM_DOUBT:
        ev->kind = PAWL_EV_RECEIPT;
        ev->id = id_of_item(src, it);
        prompt = pawl_value_get(value_read(e->mem, it->spec, it->spec_size, "a spec", NULL), "prompt");
        ev->outcome = (pawl_outcome)name_index(outcome_names, 5, pawl_value_string(pawl_value_get(prompt, "outcome")));
        ev->time_ms = it->at;
        ev->value = text_of(&src->value, pawl_value_get(prompt, "known"));
        return;
    case ITEM_ANSWER:
    case ITEM_SIGN:
        ev->kind = PAWL_EV_ANSWER;
        ev->id = id_of_item(src, it);
        ev->time_ms = it->at;
        source_more(src, it->more);
        if (ev->by != NULL && strcmp(ev->by, "@timer") == 0)
            ev->kind = PAWL_EV_TIMER;
        if (it->kind == ITEM_ANSWER && pawl_value_get(it->value, "signed") != NULL && (last = approval_last(e->mem, it->value)) != NULL) {
            ev->value = text_of(&src->value, last);     /* it came as the last signed answer */
            return;
        }
        break;
    default:
        ev->kind = PAWL_EV_TICK;
        for (; it != NULL && it->kind != ITEM_VISIT; it = it->next)     /* the item of a task that left at once may come first */
            ;
        if (it != NULL)
            ev->time_ms = it->at;
        return;
    }
    ev->value = text_of(&src->value, it->value);
}

/* Input for the next turn: the drop of the wait, then ["turn"], then ["input",VALUE]. */
static const item *source_first(const pawl_entry *e)
{
    const item *it = e->items;

    if (it != NULL && it->kind == ITEM_RECORDS)
        it = it->next;
    if (it != NULL && it->kind == ITEM_DROP && it->next != NULL && it->next->kind == ITEM_TURN)
        it = it->next->next;
    return it;
}

static void source_of(event_source *src, pawl_state *st, const pawl_entry *e)
{
    const item *it = source_first(e);
    frame *f;

    src->ev = (pawl_event){ .kind = PAWL_EV_TICK, .time_ms = e->record ? st->time_ms : e->time_ms };
    if (it != NULL)
        source_item(src, e, it);
    if (!e->record)
        src->ev.time_ms = it != NULL && (it->kind == ITEM_RECEIPT || it->kind == ITEM_ANSWER || it->kind == ITEM_DOUBT || it->kind == ITEM_SIGN)
                              ? it->at : e->time_ms;
    if (it != NULL && it->kind == ITEM_RECEIPT) {   /* the end of a sleep is a timer event */
        call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, NULL);

        if (c != NULL && c->kind == CALL_SLEEP && it->outcome == PAWL_OUTCOME_DONE)
            src->ev.kind = PAWL_EV_TIMER;
    }
    if (!e->record && e->kind != (uint8_t)src->ev.kind && (e->kind == PAWL_EV_SIGNAL || e->kind == PAWL_EV_INPUT || e->kind == PAWL_EV_UPDATE))
        src->ev.kind = (pawl_event_kind)e->kind;
    if (src->ev.kind == PAWL_EV_SIGNAL && src->ev.name == NULL && it != NULL) {     /* a wait took the signal; the wait's spec has the name */
        call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, NULL);

        src->ev.name = c == NULL ? NULL : pawl_value_string(pawl_value_get(value_read(e->mem, c->spec, c->spec_size, "a wait", NULL), "name"));
    }
}

/* Whether an older version stored this answer, which let updates that came before an answer have the last word. */
static bool merged_early(const item *it)
{
    return it != NULL && it->kind == ITEM_ANSWER && pawl_value_get(it->more, AFTER_MEMBER) == NULL;
}

/* ---- verify -------------------------------------------------------------------------------------------- */

static bool inside_character(pawl_bytes b, size_t at)
{
    return at < b.size && ((uint8_t)b.data[at] & 0xC0) == 0x80;
}

static int shown(pawl_bytes b, size_t from)
{
    size_t n = from >= b.size ? 0 : b.size - from > 60 ? 60 : b.size - from;

    while (n > 0 && inside_character(b, from + n))
        n--;
    return (int)n;
}

static pawl_code differs(pawl_err *err, const pawl_state *st, pawl_bytes stored, pawl_bytes now)
{
    size_t i = 0, from;

    while (i < stored.size && i < now.size && stored.data[i] == now.data[i])
        i++;
    if (i < HASH_HEX && stored.size > HASH_HEX && now.size > HASH_HEX && stored.data[0] != '[')
        for (i = HASH_HEX + 1; i < stored.size && i < now.size && stored.data[i] == now.data[i]; )
            i++;
    from = i > 16 ? i - 16 : 0;
    while (inside_character(now, from))     /* both texts are equal up to `i` */
        from++;
    return fail(err, PAWL_CORRUPT, "%s: after entry %llu the machine says ...%.*s where the journal has ...%.*s", st->run,
                (unsigned long long)st->seq, shown(now, from), from < now.size ? now.data + from : "", shown(stored, from),
                from < stored.size ? stored.data + from : "");
}

/* The state of one pass over a journal. */
typedef struct checking {
    journal_check *c;
    pawl_state *st;
    pawl_step *read, *fed;
    event_source src;
    journal_lines l;
    const char *from;           /* `against`: lines before this address are folded only */
    bool under;                 /* `against`: the state is under the machine, as after an adoption */
} checking;

static pawl_code differs_from(checking *k, pawl_bytes line, pawl_bytes now)
{
    k->c->stored = line;
    k->c->differs = true;
    buf_put(&k->c->says, now.data, now.size);
    return k->c->says.failed ? PAWL_NOMEM : PAWL_CORRUPT;
}

/* *others: another machine made this line, so the line is folded only. With `against`, puts the state under the machine at the right line. */
static pawl_code is_others(checking *k, pawl_bytes line, bool *others, pawl_err *err)
{
    const pawl_machine *m = k->c->m;
    pawl_code rc = PAWL_OK;

    *others = m == NULL || (k->src.ev.kind != PAWL_EV_ADOPT && !(hash_equal(&m->hash, &k->st->machine_hash) && m->version == k->st->version));
    if (!k->c->against)
        return PAWL_OK;
    *others = line.data < k->from;
    if (!*others && !k->under) {
        k->under = true;
        if ((rc = state_under(m, k->st, k->fed, err)) == PAWL_INVALID)
            k->c->differs = true;
    }
    return rc;
}

static pawl_code verify_one(checking *k, pawl_bytes line, pawl_err *err)
{
    pawl_err why = { PAWL_OK, "" };
    bool others;
    pawl_entry *e;
    pawl_bytes now;
    pawl_code rc = pawl_entry_read(line, k->read, &e, err);

    if (rc != PAWL_OK)
        return rc;
    if ((rc = entry_follows(k->st, e, err)) != PAWL_OK)
        return rc;              /* erased or changed: feeding the machine would be pointless */
    if (!blobs_like(&k->fed->blobs, &k->read->mem, e))
        return fail(err, PAWL_NOMEM, "no memory to verify");
    if (k->fed->blobs.nlike > 0 && (rc = pawl_entry_load(k->st, e, err)) != PAWL_OK)
        return rc;
    source_of(&k->src, k->st, e);
    if (k->src.value.failed || k->src.update.failed || k->src.id.failed || k->read->mem.failed)
        return fail(err, PAWL_NOMEM, "no memory to verify");
    if ((rc = is_others(k, line, &others, err)) != PAWL_OK)
        return rc;
    if (others) {
        k->c->v.folded++;       /* a line that another machine made (F5) */
        return pawl_apply(k->st, e, err);
    }
    if (!snapshot_as_named(k->st, e))
        return fail(err, PAWL_NOMEM, "no memory to verify");
    k->fed->early_update = merged_early(source_first(e));
    rc = pawl_feed(k->c->m, k->st, &k->src.ev, k->fed, &why);
    if (rc == PAWL_NOMEM || rc == PAWL_IO)
        return fail(err, rc, "%s", why.text);
    if (rc < 0)
        return fail(err, differs_from(k, line, (pawl_bytes){0}), "%s", why.text);
    now = pawl_step_bytes(k->fed);
    if (now.size != line.size || memcmp(now.data, line.data, line.size) != 0) {
        rc = differs_from(k, line, now);
        return rc == PAWL_NOMEM ? fail(err, rc, "no memory to verify") : differs(err, k->st, line, now);
    }
    return pawl_apply(k->st, e, err);
}

/* Lines after an erased body cannot be folded, but their hash chain can be checked. */
static pawl_code chain_holds(pawl_state *st, pawl_step *read, pawl_bytes line, journal_lines *l, pawl_err *err)
{
    uint64_t first = st->seq + 1;
    bool erased = false;
    pawl_err why = { PAWL_OK, "" };
    pawl_entry *e;
    pawl_code rc;

    do {
        rc = pawl_entry_read(line, read, &e, &why);
        erased = erased || (rc == PAWL_OK && e->erased && e->seq == first);
        if (rc == PAWL_OK && !e->record && (rc = entry_follows(st, e, &why)) == PAWL_GONE)
            rc = PAWL_OK;
        if (rc == PAWL_OK && !e->record) {
            st->seq = e->seq;
            st->time_ms = e->time_ms;
            st->head = e->self;
        }
    } while (rc == PAWL_OK && line_next(l, &line));
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    return fail(err, PAWL_GONE, "%s: %s of entry %llu is %s; the chain holds up to entry %llu", st->run, erased ? "the body" : "a blob",
                (unsigned long long)first, erased ? "erased" : "gone", (unsigned long long)st->seq);
}

/* The error when no line of the journal is of this machine: only the hash chain was checked. */
static pawl_code other_machine(const pawl_machine *m, const pawl_state *st, pawl_err *err)
{
    char hex[HASH_HEX + 1];

    hash_hex(&st->machine_hash, hex);
    return fail(err, PAWL_CONFLICT, "%s: its machine is %s %u (%.12s), and this one is %s %u (%.12s): verify it with its own", st->run,
                st->machine, (unsigned)st->version, hex, m->name, (unsigned)m->version, m->hash_hex);
}

/* The address of the first line after the last adoption, or after the base. */
static const char *last_stretch(pawl_bytes journal)
{
    journal_lines l = { journal.data, journal.data + journal.size };
    const char *from = NULL;
    pawl_bytes line;

    while (line_next(&l, &line)) {
        const char *at = line.data + HASH_HEX + 1, *end = line.data + line.size;

        if (from == NULL)
            from = l.at;
        if (*line.data == '[' || line.size < HASH_HEX + 2)
            continue;
        for (end = memchr(at, ' ', (size_t)(end - at)); end != NULL && at + 8 < end; at++)
            if (memcmp(at, "\"adopt\"", 7) == 0)
                from = l.at;
    }
    return from;
}

static pawl_code check_lines(checking *k, pawl_err *err)
{
    pawl_verdict *v = &k->c->v;
    pawl_bytes line;
    bool others;
    pawl_code rc = PAWL_OK;

    while (rc == PAWL_OK && line_next(&k->l, &line)) {
        pawl_err why = { PAWL_OK, "" };

        rc = verify_one(k, line, &why);
        if (rc == PAWL_GONE)
            rc = chain_holds(k->st, k->read, line, &k->l, err);
        else if (rc != PAWL_OK)
            fail(err, rc, "%s", why.text);
        if (rc != PAWL_OK)
            break;
        if (line.data[0] == '[')
            v->records++;
        else
            v->entries++;
    }
    if (rc == PAWL_OK && k->c->against)         /* no line was left to compare: check at least that the machine can be adopted */
        return is_others(k, (pawl_bytes){ k->from, 0 }, &others, err);
    if (rc == PAWL_OK && k->c->m != NULL && v->folded > 0 && v->folded == v->entries + v->records)
        rc = other_machine(k->c->m, k->st, err);        /* every line was folded only */
    return rc;
}

pawl_code journal_verify(journal_check *c, pawl_bytes journal, const pawl_alloc *alloc, pawl_err *err)
{
    pawl_alloc mem = mem_or_default(alloc);
    checking k = { .c = c };
    pawl_code rc;

    c->v = (pawl_verdict){0};
    c->stored = (pawl_bytes){0};
    c->differs = false;
    buf_init(&c->says, &mem);
    k.fed = pawl_step_new(alloc);
    rc = begin(journal, c->loader, alloc, &k.l, &k.read, &k.st, err);
    buf_init(&k.src.value, &mem);
    buf_init(&k.src.update, &mem);
    buf_init(&k.src.id, &mem);
    if (rc == PAWL_OK && k.fed == NULL)
        rc = fail(err, PAWL_NOMEM, "no memory to verify");
    if (rc == PAWL_OK && c->against) {
        k.from = last_stretch(journal);
        if (strcmp(c->m->name, k.st->machine) != 0)
            rc = fail(err, PAWL_CONFLICT, "%s: it is a run of machine %s, and this is %s", k.st->run, k.st->machine, c->m->name);
    }
    if (rc == PAWL_OK)
        rc = check_lines(&k, err);
    if (rc == PAWL_GONE && k.st != NULL)
        c->v.seq = k.st->base_seq + c->v.entries + 1;
    else if (rc != PAWL_OK)
        c->v.seq = k.st != NULL ? k.st->seq + 1 : 0;
    buf_free(&k.src.value);
    buf_free(&k.src.update);
    buf_free(&k.src.id);
    pawl_state_free(k.st);
    pawl_step_free(k.read);
    pawl_step_free(k.fed);
    return rc;
}

pawl_code pawl_verify(const pawl_machine *m, pawl_bytes journal, const pawl_alloc *alloc, pawl_verdict *v, pawl_err *err)
{
    return pawl_verify_with(m, journal, NULL, alloc, v, err);
}

pawl_code pawl_verify_with(const pawl_machine *m, pawl_bytes journal, const pawl_loader *loader, const pawl_alloc *alloc, pawl_verdict *v,
                           pawl_err *err)
{
    journal_check c = { .m = m, .loader = loader };
    pawl_code rc;

    if (m == NULL || v == NULL)
        return fail(err, PAWL_INVALID, "verify: a machine and room for a verdict are needed");
    rc = journal_verify(&c, journal, alloc, err);
    buf_free(&c.says);
    *v = c.v;
    return rc;
}
