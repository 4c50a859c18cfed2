/* snapshot.c - writes a state as text: snapshots, and the bases of forks and pruned journals (K7, K10).
 *
 * Called by the owner of the state, on its thread; changes nothing of the state but lists that it loads. */
#include "kernel/compensation.h"
#include "kernel/journal/apart.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/pending.h"
#include "kernel/references.h"
#include "kernel/signed.h"
#include "kernel/step.h"

#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer {
    pawl_state *st;
    buf *b;
    bool first;
    blob_set *apart;               /* NULL: large values stay in the text */
    buf list;                   /* references to the blobs of the text */
    size_t refs_at;             /* offset in the text where the references belong */
} writer;

static void put_key(writer *w, const char *name)
{
    buf_text(w->b, w->first ? "{\"" : ",\"");
    buf_text(w->b, name);
    buf_text(w->b, "\":");
    w->first = false;
}

/* Inserts the member "refs" at its place in the order of names; its value is complete only after the last member. */
static void refs_insert(writer *w)
{
    static const char head[] = ",\"refs\":[";
    const size_t n = sizeof head - 1, more = n + w->list.size + 1;
    char *at;

    w->b->failed = w->b->failed || w->list.failed;
    if (w->list.size == 0 || !buf_room(w->b, more))
        return;
    at = w->b->data + w->refs_at;
    memmove(at + more, at, w->b->size - w->refs_at);
    memcpy(at, head, n);
    memcpy(at + n, w->list.data, w->list.size);
    at[more - 1] = ']';
    w->b->size += more;
}

static pawl_code segments_code(writer *w, const frame *f, pawl_err *err)
{
    uint32_t *order = channels_sorted(w->st, f);
    char digest[HASH_HEX + 32];
    bool any = false;
    pawl_code rc = order == NULL ? PAWL_NOMEM : PAWL_OK;

    for (uint32_t i = 0; rc == PAWL_OK && i < f->nchannels; i++) {
        channel *c = &f->channels[order[i]];
        const list *l;

        if (!channel_by_entries(c) || (rc = channel_digest(w->st, c, digest, sizeof digest, err)) != PAWL_OK)
            continue;
        if (!any)
            put_key(w, "segments");
        buf_char(w->b, any ? ',' : '{');
        any = true;
        l = c->list.of;
        canon_string(w->b, c->d->name, strlen(c->d->name));
        buf_fmt(w->b, ":{\"after\":%llu,\"count\":%zu,\"digest\":\"%s\",\"upto\":%llu}",
                (unsigned long long)(l->segment > 0 ? l->after : c->list.born), l->segment + l->count,
                strchr(digest, ':') + 1, (unsigned long long)w->st->seq);
    }
    if (any)
        buf_char(w->b, '}');
    mem_free(&w->st->alloc, order, channels_order_bytes(f));
    return rc;
}

static void tasks_code(writer *w, const frame *f)
{
    put_key(w, "next");
    buf_char(w->b, '[');
    for (uint32_t i = 0; i < f->nedges; i++) {
        if (i > 0)
            buf_char(w->b, ',');
        canon_string(w->b, f->tasks[i].name, strlen(f->tasks[i].name));
    }
    buf_char(w->b, ']');
}

static void sends_code(writer *w, const frame *f)
{
    char place[UINT_TEXT_MAX + 3];

    if (f->ntasks == f->nedges)
        return;
    put_key(w, "sends");
    buf_char(w->b, '[');
    for (uint32_t i = f->nedges; i < f->ntasks; i++) {
        buf_text(w->b, i > f->nedges ? ",[" : "[");
        canon_string(w->b, f->tasks[i].name, f->tasks[i].node_size);
        buf_char(w->b, ',');
        memcpy(place + uint_text(i - f->nedges, place), "/1", 3);
        if (f->tasks[i].args != NULL && !BROKEN(BROKEN_SENDS))
            part_code(w->b, w->apart, &w->list, "/sends", place, f->tasks[i].args);
        else
            buf_text(w->b, "null");
        buf_char(w->b, ']');
    }
    buf_char(w->b, ']');
}

/* Writes the items that make the open tasks and calls again. For a fork only detached calls; `n` is their new number. */
typedef struct opener { pawl_state *st; buf *b; blob_set *apart; bool any, fork; uint32_t n, commands, people; } opener;

static void open_item(opener *o, const item *it)
{
    buf none;

    buf_init(&none, &o->st->alloc);
    if (o->any)
        buf_char(o->b, ',');
    o->any = true;
    item_code(o->b, it, NULL, o->apart, &none);
    o->b->failed = o->b->failed || none.failed;
    buf_free(&none);
}

/* The question about an unknown outcome, with the answer "again" when the command is performed again. */
static void open_doubt(opener *o, item it, const call *c)
{
    yyjson_val again = { .tag = (uint64_t)5 << YYJSON_TAG_BIT | YYJSON_TYPE_STR, .uni = { .str = "again" } };

    it.kind = ITEM_DOUBT;
    it.spec = c->doubt;
    it.spec_size = strlen(c->doubt);
    open_item(o, &it);
    it.kind = ITEM_ANSWER;
    it.value = of_val(&again);
    if (c->at == CALL_OPEN)
        open_item(o, &it);
}

/* Who has signed a wait so far, one after the other. */
static void open_signs(opener *o, item it, const call *c)
{
    const pawl_value *all, *one;
    pawl_iter each;
    arena mem;

    arena_init(&mem, &o->st->alloc, 1024);
    it.kind = ITEM_SIGN;
    if ((all = signed_so_far(&mem, c)) == NULL)
        o->b->failed = true;
    each = pawl_iter_of(all);
    while ((one = pawl_iter_next(&each, NULL)) != NULL) {
        it.value = pawl_value_get(one, "value");
        it.more = pawl_value_size(pawl_value_get(one, "more")) > 0 ? pawl_value_get(one, "more") : NULL;
        open_item(o, &it);
    }
    arena_free(&mem);
}

static const pawl_value *answer_more(arena *a, const call *c)
{
    const pawl_value *more = value_with(a, value_pack(a, NULL, "{}"), "update", c->update);

    return c->after > 0 ? value_with(a, more, AFTER_MEMBER, value_uint(a, c->after)) : more;
}

static void open_call(opener *o, const char *path, const call *c, uint32_t visit_no, uint32_t n)
{
    static const uint8_t kinds[] = { [CALL_CALL] = ITEM_CALL, [CALL_SLEEP] = ITEM_SLEEP, [CALL_SPAWN] = ITEM_SPAWN,
                                     [CALL_ASK] = ITEM_ASK };
    item it = { .kind = kinds[c->kind], .superstep = c->superstep, .task = path, .visit = visit_no, .n = n, .at = c->time_ms,
                .spec = c->spec, .spec_size = c->spec_size };
    arena mem;

    if (c->at == CALL_REFUSED) {
        it.kind = ITEM_REFUSAL;
        it.wait = c->kind;
        it.value = c->value;
    }
    open_item(o, &it);
    if (c->at == CALL_REFUSED)
        return;
    if (c->kind == CALL_ASK && call_is_open(c) && c->signs != NULL)
        open_signs(o, it, c);
    else if (c->kind != CALL_ASK && call_is_open(c) && c->doubt != NULL && !BROKEN(BROKEN_DOUBT))
        open_doubt(o, it, c);
    if (call_is_open(c))
        return;
    arena_init(&mem, &o->st->alloc, 256);
    it.kind = c->at == CALL_DROPPED ? ITEM_DROP : c->kind == CALL_ASK ? ITEM_ANSWER : ITEM_RECEIPT;
    it.outcome = c->outcome;
    it.value = c->value;
    if (c->lap != NULL && c->lap->done && (it.more = progress_more(&mem, c->lap)) == NULL)
        o->b->failed = true;
    if (c->update != NULL && (it.more = answer_more(&mem, c)) == NULL)
        o->b->failed = true;
    open_item(o, &it);
    arena_free(&mem);
}

static void open_frame(opener *o, frame *f, const char *prefix);
static void fold_code(writer *w, const frame *f);

static void open_child(opener *o, const char *path, task *tk)
{
    buf text;
    char prefix[PATH_BYTES_MAX + 64];
    buf p = { .data = prefix, .cap = sizeof prefix };
    writer w = { .st = o->st, .b = o->b, .first = true, .apart = o->apart };

    buf_init(&text, &o->st->alloc);
    buf_init(&w.list, &o->st->alloc);
    if (o->any)
        buf_char(o->b, ',');
    o->any = true;
    buf_text(o->b, "[\"frame\",");
    canon_string(o->b, path, strlen(path));
    buf_fmt(o->b, ",%u,[],", (unsigned)tk->visit);
    fold_code(&w, tk->child);
    buf_free(&w.list);
    buf_char(o->b, ']');
    buf_text(&p, path);
    buf_fmt(&text, "/%u/%llu/", (unsigned)tk->visit, (unsigned long long)tk->child->superstep);
    if (p.size + text.size + 1 < sizeof prefix) {
        buf_put(&p, text.data, text.size);
        prefix[p.size] = '\0';
        open_frame(o, tk->child, prefix);
    }
    o->b->failed = o->b->failed || text.failed;
    buf_free(&text);
}

static void open_task(opener *o, task *tk, const char *prefix)
{
    char path[PATH_BYTES_MAX + 64];
    item it = { .kind = ITEM_VISIT, .visit = tk->visit, .at = tk->visit_ms, .task = path };
    size_t n = strlen(prefix), m = strlen(tk->name);

    if (n + m + 1 > sizeof path || (tk->at == TASK_READY && tk->visit == 1 && !tk->timed))
        return;
    memcpy(path, prefix, n);
    memcpy(path + n, tk->name, m + 1);
    for (it.visit = 1; it.visit < tk->visit; it.visit++) {  /* the fold accepts visits one by one only */
        item failed = { .kind = ITEM_FAIL, .visit = it.visit, .task = path, .spec = "{}", .spec_size = 2 };

        if (it.visit > 1)
            open_item(o, &it);
        if (it.visit == tk->since)
            open_item(o, &failed);
    }
    it.visit = tk->visit;
    open_item(o, &it);
    for (uint32_t i = 0; i < tk->ncalls; i++)
        open_call(o, path, &tk->calls[i], tk->visit, i);
    it.kind = ITEM_SELECT;
    for (it.k = 0; it.k < tk->nwins; it.k++) {
        it.n = tk->wins[it.k];
        open_item(o, &it);
    }
    it.n = UINT32_MAX;
    if (tk->racing)
        open_item(o, &it);
    if (tk->child != NULL)
        open_child(o, path, tk);
    if (tk->left != NULL) {
        buf_char(o->b, ',');
        buf_put(o->b, tk->left, tk->left_size);
    }
    it.kind = ITEM_FAIL;
    it.spec = tk->fault;
    it.spec_size = tk->fault_size;
    if (tk->fault != NULL)
        open_item(o, &it);
}

static void open_frame(opener *o, frame *f, const char *prefix)
{
    const call *c;

    for (uint32_t at = 0; (c = detached_next(f, &at)) != NULL;)
        open_call(o, c->task, c, c->visit, c->n);
    for (uint32_t i = 0; i < f->ntasks; i++)
        open_task(o, &f->tasks[i], prefix);
}

/* Writes a frame with its channels and tasks. The members are sorted bytewise. */
static void fold_code(writer *w, const frame *f)
{
    if (f->defer != NULL) {
        put_key(w, "defer");
        canon(w->b, f->defer);
    }
    if (f->joins != NULL && !BROKEN(BROKEN_JOINS_BELOW)) {
        put_key(w, "joins");
        canon(w->b, f->joins);
    }
    tasks_code(w, f);
    w->refs_at = w->b->size;
    sends_code(w, f);
    put_key(w, "steps");
    buf_uint(w->b, f->steps);
    put_key(w, "superstep");
    buf_uint(w->b, f->superstep);
    put_key(w, "time");
    buf_int(w->b, f->now_ms);
    put_key(w, "values");
    values_apart(w->st, f, w->b, true, false, true, w->apart, &w->list);
    buf_char(w->b, '}');
    refs_insert(w);
}

/* ---- what a fork takes over (K10) ------------------------------------------------------------------ */

/* Whether a person must agree before the fork issues this command: it must not happen twice. */
static bool asked_again(opener *o, const call *c)
{
    const char *cls;
    arena mem;
    bool yes;

    if ((c->kind != CALL_CALL && c->kind != CALL_SPAWN) || c->at == CALL_DROPPED || c->at == CALL_REFUSED)
        return false;
    arena_init(&mem, &o->st->alloc, 512);
    cls = pawl_value_string(pawl_value_get(value_read(&mem, c->spec, c->spec_size, "a spec", NULL), "class"));
    yes = cls != NULL && (strcmp(cls, "once") == 0 || strcmp(cls, "compensable") == 0);
    o->b->failed = o->b->failed || mem.failed;
    arena_free(&mem);
    return yes;
}

static void again_item(opener *o, const call *c)
{
    item it = { .kind = ITEM_ASK, .task = "@", .visit = 1, .n = o->n, .at = o->st->time_ms };
    buf spec;

    buf_init(&spec, &o->st->alloc);
    buf_fmt(&spec, "{\"command\":[\"%s\",", item_name(c->kind == CALL_SPAWN ? ITEM_SPAWN : ITEM_CALL));
    buf_put(&spec, c->spec, c->spec_size);
    buf_fmt(&spec, "],\"hold\":true,\"kind\":\"approval\",\"options\":[true,false],\"prompt\":"
                   "\"%s has issued this command: shall its fork issue it too?\",\"slot\":\"again.%u\"}", o->st->run, (unsigned)o->n);
    it.spec = spec.data;
    it.spec_size = spec.size;
    if (spec.failed)
        o->b->failed = true;
    else
        open_item(o, &it);
    buf_free(&spec);
    o->people++;
    o->n++;
}

static void fork_tasks(opener *o, const frame *f)
{
    for (uint32_t i = 0; i < f->ntasks; i++) {
        const task *tk = &f->tasks[i];

        for (uint32_t j = 0; j < tk->ncalls; j++)
            if (asked_again(o, &tk->calls[j]))
                again_item(o, &tk->calls[j]);
        if (tk->child != NULL)
            fork_tasks(o, tk->child);
    }
}

/* Detached calls stay open in the fork. Calls of "@" get new numbers, since the fork numbers its own entries. */
static void fork_open(opener *o, const frame *f)
{
    const call *detached;

    for (uint32_t at = 0; (detached = detached_next(f, &at)) != NULL;) {
        call c = *detached;

        if (strcmp(c.task, UNDO_TASK) == 0)
            continue;           /* an inverse undoes an effect of the original run */
        if (strcmp(c.task, "@") == 0 && asked_again(o, &c)) {
            again_item(o, &c);
            continue;
        }
        if (strcmp(c.task, "@") == 0) {
            c.superstep = 0;
            c.n = o->n++;
        }
        c.doubt = NULL;
        sm_begin(&call_table, &c.at, CALL_OPEN, &c);
        o->commands += c.kind != CALL_ASK;
        o->people += c.kind == CALL_ASK && c.wait != PAWL_WAIT_SIGNAL;
        open_call(o, c.task, &c, c.visit, c.n);
    }
    fork_tasks(o, f);
}

static pawl_status fork_status(const opener *o)
{
    const pawl_state *st = o->st;
    bool runs = !o->any && (st->root.ntasks > 0 || st->root.superstep > 0);

    if (st->status == PAWL_STATUS_SUBMITTED)
        return PAWL_STATUS_SUBMITTED;
    return o->people > 0 && o->commands == 0 && !runs ? PAWL_STATUS_INPUT_REQUIRED : PAWL_STATUS_WORKING;
}

static void machine_code(writer *w)
{
    char hex[HASH_HEX + 1];

    hash_hex(&w->st->machine_hash, hex);
    put_key(w, "machine");
    buf_fmt(w->b, "{\"hash\":\"%s\",\"version\":%u}", hex, (unsigned)w->st->version);
}

static void rest_put(writer *w, bool fork)
{
    const pawl_state *st = w->st;

    if (st->pending != NULL && !fork) {
        put_key(w, "pending");
        part_code(w->b, w->apart, &w->list, "", "pending", list_value(st->pending));
    }
    if (progress_any(st, fork)) {
        put_key(w, "progress");
        progress_code(st, w->b, fork);
    }
    if (st->reason != NULL && !fork) {
        put_key(w, "reason");
        part_code(w->b, w->apart, &w->list, "", "reason", st->reason);
    }
}

/* mode: 's' a snapshot, with lists as ranges of entries; 'p' the base of a pruned journal; 'f' the base of a fork. */
static pawl_code state_code(pawl_state *st, buf *b, char mode, blob_set *apart, pawl_err *err)
{
    writer w = { .st = st, .b = b, .first = true, .apart = apart };
    opener o = { .st = st, .b = b, .apart = apart, .fork = mode == 'f' };
    pawl_code rc = PAWL_OK;

    buf_init(&w.list, &st->alloc);
    st->load_failed = PAWL_OK;
    if (st->budget != NULL) {
        put_key(&w, "budget");
        budget_code(b, st->budget, o.fork);
    }
    if (state_canceling(st) && mode != 'f') {
        put_key(&w, "canceling");
        buf_text(b, "true");
    }
    if (st->ndecls > st->base_decls) {
        put_key(&w, "channels");
        decls_code(b, st->decls + st->base_decls, st->ndecls - st->base_decls);
    }
    if (st->root.defer != NULL) {
        put_key(&w, "defer");
        canon(b, st->root.defer);
    }
    if (st->root.joins != NULL && !BROKEN(BROKEN_JOINS)) {
        put_key(&w, "joins");
        canon(b, st->root.joins);
    }
    machine_code(&w);
    tasks_code(&w, &st->root);
    put_key(&w, "open");
    buf_char(b, '[');
    if (o.fork)
        fork_open(&o, &st->root);
    else
        open_frame(&o, &st->root, "");
    buf_char(b, ']');
    rest_put(&w, o.fork);
    w.refs_at = b->size;
    if (mode == 's')
        rc = segments_code(&w, &st->root, err);
    sends_code(&w, &st->root);
    put_key(&w, "status");
    buf_fmt(b, "\"%s\"", status_names[o.fork ? fork_status(&o) : (pawl_status)st->status]);
    put_key(&w, "steps");
    buf_uint(b, st->root.steps);
    put_key(&w, "superstep");
    buf_uint(b, st->root.superstep);
    put_key(&w, "time");
    buf_int(b, st->record_ms > st->time_ms ? st->record_ms : st->time_ms);
    put_key(&w, "turn");
    buf_uint(b, st->turn);
    if (mode != 'f')
        unwind_code(st, b, apart, &w.list);
    put_key(&w, "values");
    values_apart(st, &st->root, b, mode != 's', false, true, apart, &w.list);
    buf_char(b, '}');
    refs_insert(&w);
    buf_free(&w.list);
    if (rc == PAWL_OK && st->load_failed != PAWL_OK)
        rc = fail(err, st->load_failed, "%s: what is committed could not be read", st->run);
    return rc == PAWL_NOMEM || (rc == PAWL_OK && b->failed) ? fail(err, PAWL_NOMEM, "%s: no memory for its state", st->run) : rc;
}

static pawl_code at_entry(const pawl_state *st, const char *what, pawl_err *err)
{
    if (st->nmarks > 0)
        return fail(err, PAWL_INVALID, "%s: %s is taken at an entry, and task records stand open after this one", st->run, what);
    if (st->no_journal)
        return fail(err, PAWL_INVALID, "%s: it keeps no journal, so there is no %s", st->run, what);
    return PAWL_OK;
}

static const char *named_digest(const pawl_entry *line)
{
    const item *it = line->record ? NULL : line->items;

    return it == NULL || it->kind != ITEM_UPDATE ? NULL : pawl_value_string(pawl_value_get(pawl_value_get(it->value, SNAPSHOT_MEMBER), "digest"));
}

pawl_code snapshot_fits(pawl_bytes lines, pawl_bytes snapshot, pawl_step *s, pawl_err *err)
{
    const char *nl = lines.size > 0 ? memchr(lines.data, '\n', lines.size) : NULL, *digest = NULL;
    pawl_code rc = PAWL_OK;
    char hex[HASH_HEX + 1];
    pawl_entry *e;
    hash h;

    if (snapshot.size == 0)
        return PAWL_OK;
    if (nl != NULL && (rc = pawl_entry_read((pawl_bytes){ lines.data, (size_t)(nl - lines.data) }, s, &e, err)) == PAWL_OK)
        digest = named_digest(e);
    if (rc != PAWL_OK)
        return rc;
    if (digest == NULL)
        return fail(err, PAWL_GONE, "no entry names its snapshot: an older version stored it, or it is forged");
    hash_of(snapshot.data, snapshot.size, &h);
    hash_hex(&h, hex);
    if (strcmp(digest, hex) != 0)
        return fail(err, PAWL_CORRUPT, "its snapshot is not the one that entry %llu names: the digest is %.12s, not %.12s", (unsigned long long)e->seq, hex,
                    digest);
    return PAWL_OK;
}

static bool snapshot_note(pawl_state *st, const hash *h)
{
    if (st->snapshot == NULL && (st->snapshot = mem_grow(&st->alloc, NULL, 0, sizeof *st->snapshot)) == NULL)
        return false;
    *st->snapshot = *h;
    return true;
}

bool snapshot_is_made(const pawl_state *st, const char *digest)
{
    char hex[HASH_HEX + 1];

    if (digest == NULL || st->snapshot == NULL)
        return false;
    hash_hex(st->snapshot, hex);
    return strcmp(digest, hex) == 0;
}

void snapshot_naming(buf *out, const pawl_state *st)
{
    char hex[HASH_HEX + 1] = "";

    if (st->snapshot != NULL)
        hash_hex(st->snapshot, hex);
    buf_fmt(out, "{\"" SNAPSHOT_MEMBER "\":{\"digest\":\"%s\",\"seq\":%llu}}", hex, (unsigned long long)st->seq);
}

bool snapshot_as_named(pawl_state *st, const pawl_entry *line)
{
    const char *digest = named_digest(line);
    hash h;

    return digest == NULL || !hash_unhex(digest, strlen(digest), &h) || snapshot_note(st, &h);
}

pawl_code pawl_state_snapshot(pawl_state *st, pawl_step *s, pawl_bytes *bytes, pawl_err *err)
{
    char hex[HASH_HEX + 1];
    pawl_code rc = at_entry(st, "a snapshot", err);
    hash h;
    buf *b;

    *bytes = (pawl_bytes){0};
    if (rc != PAWL_OK)
        return rc;
    step_reset(s);
    b = &s->out;
    buf_reset(b);
    buf_text(b, "{\"fold\":");
    if ((rc = state_code(st, b, 's', &s->blobs, err)) != PAWL_OK) {
        blobs_reset(&s->blobs);
        return rc;
    }
    hash_hex(&st->head, hex);
    buf_fmt(b, ",\"format\":%d,\"hash\":\"%s\",\"id\":\"%s\",\"life\":\"%016llx\",\"seq\":%llu}", FORMAT, hex, st->run,
            (unsigned long long)st->life, (unsigned long long)st->seq);
    hash_of(b->data, b->size, &h);
    if (b->failed || !snapshot_note(st, &h))
        return fail(err, PAWL_NOMEM, "%s: no memory for a snapshot", st->run);
    *bytes = (pawl_bytes){ b->data, b->size };
    st->snapshot_bytes = b->size + s->blobs.bytes;
    st->tail_bytes = 0;
    return PAWL_OK;
}

/* ---- forks and prunes ------------------------------------------------------------------------------ */

static const char *channel_decls(pawl_step *s, const pawl_value *base)
{
    buf *b = step_text(s);

    canon(b, pawl_value_get(base, "channels"));
    return step_copy(s, b, NULL);
}

static pawl_code base_again(pawl_state *st, const pawl_run_info *info, pawl_step *s, char mode, buf *out, pawl_err *err)
{
    char hex[HASH_HEX + 1], machine_hex[HASH_HEX + 1];
    const pawl_value *base = value_read(&s->mem, st->base.data, st->base.size, "the base", err);
    base_parts p = { .machine = st->machine, .machine_hash = machine_hex, .version = st->version,
                     .no_progress = st->no_progress, .progress_nodes = st->progress_nodes, .shows_undo = st->shows_undo,
                     .settles = st->settles, .rounds = st->rounds };
    buf *lineage;
    pawl_code rc;

    if (base == NULL || (p.channels = channel_decls(s, base)) == NULL)
        return PAWL_NOMEM;
    hash_hex(&st->machine_hash, machine_hex);
    hash_hex(&st->head, hex);
    buf_reset(&s->out);
    if ((rc = state_code(st, &s->out, mode, &s->blobs, err)) != PAWL_OK)
        return rc;
    p.fold = (pawl_bytes){ s->out.data, s->out.size };
    lineage = step_text(s);
    if (mode == 'f') {
        buf_fmt(lineage, "{\"hash\":\"%s\",\"life\":\"%016llx\",\"run\":\"%s\",\"seq\":%llu}", hex, (unsigned long long)st->life,
                st->run, (unsigned long long)st->seq);
    } else if (pawl_value_get(base, "lineage") != NULL) {
        canon(lineage, pawl_value_get(base, "lineage"));
    }
    if (lineage->size > 0 && (p.lineage = step_copy(s, lineage, NULL)) == NULL)
        return PAWL_NOMEM;
    if (mode == 'p') {
        p.prev = hex;
        p.seq = st->seq;
    }
    base_code(out, info, &p);
    return out->failed ? fail(err, PAWL_NOMEM, "%s: no memory for a base", st->run) : PAWL_OK;
}

/* Makes a state from a new base, whose blobs only the step has so far. */
static pawl_code base_load(pawl_step *s, const buf *b, const pawl_alloc *alloc, pawl_state **state, pawl_err *err)
{
    const pawl_loader loader = step_loader(s);
    pawl_code rc = pawl_state_load((pawl_bytes){ b->data, b->size }, (pawl_bytes){0}, &loader, alloc, state, err);

    if (rc == PAWL_OK)
        pawl_state_loader(*state, NULL);
    return rc;
}

pawl_code pawl_state_fork(pawl_state *st, const pawl_run_info *info, pawl_step *s, pawl_state **fork, pawl_err *err)
{
    buf b;
    pawl_code rc = st->no_journal ? at_entry(st, "a fork", err) : PAWL_OK;

    *fork = NULL;
    if (rc != PAWL_OK)
        return rc;
    if (info == NULL || !run_id_valid(info->id) || info->life == 0)
        return fail(err, PAWL_INVALID, "%s: a fork needs an id and a life of its own", st->run);
    step_reset(s);
    buf_init(&b, &s->alloc);
    rc = base_again(st, info, s, 'f', &b, err);
    if (rc == PAWL_OK)
        rc = base_load(s, &b, &st->alloc, fork, err);
    buf_free(&b);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for a fork", st->run) : rc;
}

pawl_code pawl_state_carry(pawl_state *from, const pawl_machine *m, const pawl_run_info *info, pawl_step *s, pawl_state **state,
                           pawl_err *err)
{
    pawl_state *fresh = NULL;
    pawl_code rc = at_entry(from, "a base", err);
    arena mem;
    txn t;
    buf b;

    *state = NULL;
    if (rc != PAWL_OK || (rc = pawl_state_new(m, info, 0, &from->alloc, &fresh, err)) != PAWL_OK)
        return rc;
    step_reset(s);
    from->load_failed = PAWL_OK;
    arena_init(&mem, &from->alloc, 1024);
    txn_begin(fresh, &t, &mem, TXN_APPLY);
    for (uint32_t i = 0; i < fresh->root.nchannels && rc == PAWL_OK; i++) {
        channel *to = &fresh->root.channels[i], *c = channel_find(&from->root, to->d->name);
        const pawl_value *v = c == NULL || !to->d->keep ? NULL : channel_value(from, c);

        if (v != NULL && !rule_is_list(to->d->rule))
            rc = channel_takes(to, OP_MERGE, v, err);
        if (v != NULL && rc == PAWL_OK)
            rc = channel_write(fresh, to, OP_OVERWRITE, v, err);
    }
    if (rc == PAWL_OK && (from->load_failed != PAWL_OK || mem.failed))
        rc = from->load_failed != PAWL_OK ? from->load_failed : PAWL_NOMEM;
    txn_end(fresh, rc == PAWL_OK);
    arena_free(&mem);
    buf_init(&b, &s->alloc);
    if (rc == PAWL_OK)
        rc = base_again(fresh, info, s, 'c', &b, err);
    if (rc == PAWL_OK)
        rc = base_load(s, &b, &from->alloc, state, err);
    buf_free(&b);
    pawl_state_free(fresh);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for a run", info->id) : rc;
}

static void info_read(const pawl_value *base, pawl_run_info *info, const pawl_state *st)
{
    const pawl_value *labels = pawl_value_get(base, "labels");

    *info = (pawl_run_info){
        .id = st->run, .life = st->life, .seed = st->seed,
        .created_ms = pawl_value_int(pawl_value_get(base, "at")),
        .created_by = pawl_value_string(pawl_value_get(base, "by")),
        .context = pawl_value_string(pawl_value_get(base, "context")),
        .parent = pawl_value_string(pawl_value_get(base, "parent")),
        .mode = pawl_value_string(pawl_value_get(base, "mode")),
        .rights = pawl_value_string(pawl_value_get(base, "rights")),
        .dedupe_key = pawl_value_string(pawl_value_get(base, "dedupe")),
        .retention = pawl_value_string(pawl_value_get(base, "retention")),
        .trace = pawl_value_string(pawl_value_get(base, "trace")),
        .deadline_ms = pawl_value_int(pawl_value_get(base, "deadline")),
        .priority = (int32_t)pawl_value_int(pawl_value_get(base, "priority")),
    };
    for (size_t i = 0; i < sizeof info->labels / sizeof *info->labels; i++)
        info->labels[i] = pawl_value_string(pawl_value_at(labels, i));
    (void)share_of(base, &info->budget);
}

pawl_code pawl_state_info(const pawl_state *st, pawl_step *s, pawl_run_info *info, pawl_err *err)
{
    const pawl_value *base;

    *info = (pawl_run_info){ .id = NULL };
    step_reset(s);
    if (st->no_journal)
        return fail(err, PAWL_INVALID, "%s: it keeps no journal, and so no record", st->run);
    if ((base = value_read(&s->mem, st->base.data, st->base.size, "the base", err)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory to read its record", st->run);
    info_read(base, info, st);
    return PAWL_OK;
}

pawl_code pawl_state_prune(pawl_state *st, pawl_step *s, pawl_bytes *base, pawl_err *err)
{
    pawl_run_info info;
    const pawl_value *old;
    pawl_code rc = at_entry(st, "a base", err);
    buf b;

    *base = (pawl_bytes){0};
    if (rc != PAWL_OK)
        return rc;
    step_reset(s);
    if ((old = value_read(&s->mem, st->base.data, st->base.size, "the base", err)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a base", st->run);
    info_read(old, &info, st);
    buf_init(&b, &s->alloc);
    rc = base_again(st, &info, s, 'p', &b, err);
    if (rc == PAWL_OK) {
        base->data = arena_strdup(&s->mem, b.data, b.size);
        base->size = b.size;
        rc = base->data == NULL ? PAWL_NOMEM : PAWL_OK;
    }
    buf_free(&b);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for a base", st->run) : rc;
}
