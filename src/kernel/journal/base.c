/* base.c - makes a state: from a machine, with the base as its first record, or from a stored base and snapshot.
 *
 * Called by the owner of a run, through pawl_state_new() and pawl_state_load(), and by forks and carries; the caller owns the state. */
#include "kernel/budget.h"
#include "kernel/journal/base.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/txn.h"

#include <string.h>

static pawl_code info_check(const pawl_run_info *info, pawl_err *err)
{
    if (info == NULL || !run_id_valid(info->id))
        return fail(err, PAWL_INVALID, "\"%.60s\" is no id of a run: [A-Za-z0-9][A-Za-z0-9._-]{0,127}",
                    info != NULL && info->id != NULL ? info->id : "");
    if (info->life == 0)
        return fail(err, PAWL_INVALID, "%s: a life is drawn for each start; 0 is none", info->id);
    if (info->budget.calls < 0 || info->budget.micros < 0 || info->budget.tokens < 0 || info->budget.ms < 0)
        return fail(err, PAWL_INVALID, "%s: a budget is not below 0; 0 is no bound", info->id);
    return PAWL_OK;
}

static void base_member(buf *b, const char *name)
{
    buf_text(b, b->size == 1 ? "\"" : ",\"");
    buf_text(b, name);
    buf_text(b, "\":");
}

static void base_text(buf *b, const char *name, const char *text)
{
    if (text == NULL)
        return;
    base_member(b, name);
    canon_string(b, text, strlen(text));
}

static void base_int(buf *b, const char *name, int64_t n)
{
    if (n == 0)
        return;
    base_member(b, name);
    buf_int(b, n);
}

static void labels_code(buf *b, const pawl_run_info *info)
{
    bool any = false;

    for (size_t i = 0; i < sizeof info->labels / sizeof *info->labels; i++) {
        if (info->labels[i] == NULL)
            continue;
        if (!any)
            base_member(b, "labels");
        buf_char(b, any ? ',' : '[');
        canon_string(b, info->labels[i], strlen(info->labels[i]));
        any = true;
    }
    if (any)
        buf_char(b, ']');
}

void base_code(buf *b, const pawl_run_info *info, const base_parts *p)
{
    char hex[17];

    buf_char(b, '{');
    base_int(b, "at", info->created_ms);
    if (!caps_none(&info->budget)) {
        base_member(b, "budget");
        share_code(b, &info->budget);
    }
    base_text(b, "by", info->created_by);
    base_member(b, "channels");
    buf_text(b, p->channels);
    base_text(b, "context", info->context);
    base_int(b, "deadline", info->deadline_ms);
    base_text(b, "dedupe", info->dedupe_key);
    if (p->fold.size > 0) {
        base_member(b, "fold");
        buf_put(b, p->fold.data, p->fold.size);
    }
    base_int(b, "format", FORMAT);
    base_text(b, "id", info->id);
    labels_code(b, info);
    hex64(info->life, hex);
    base_text(b, "life", hex);
    if (p->lineage != NULL) {
        base_member(b, "lineage");
        buf_text(b, p->lineage);
    }
    base_member(b, "machine");
    buf_text(b, "{\"hash\":\"");
    buf_text(b, p->machine_hash);
    buf_text(b, "\",\"name\":");
    canon_string(b, p->machine, strlen(p->machine));
    buf_fmt(b, ",\"version\":%u}", (unsigned)p->version);
    base_text(b, "mode", info->mode);
    base_text(b, "parent", info->parent);
    base_text(b, "prev", p->prev);
    base_int(b, "priority", info->priority);
    base_int(b, "progress", p->no_progress);
    base_int(b, "progress_nodes", p->no_progress > 0 ? p->progress_nodes : 0);
    base_text(b, "retention", info->retention);
    base_text(b, "rights", info->rights);
    base_int(b, "rounds", p->rounds);
    hex64(info->seed, hex);
    base_text(b, "seed", hex);
    base_int(b, "seq", (int64_t)p->seq);
    base_int(b, "settles", p->settles);
    base_int(b, "shows_undo", p->shows_undo);
    base_text(b, "trace", info->trace);
    buf_char(b, '}');
}

/* A run without a journal has no base text: its declarations come from the machine directly. */
static pawl_code state_from_machine(pawl_state *st, const pawl_machine *m, const pawl_run_info *info, pawl_err *err)
{
    decl *d = arena_get(&st->fixed, (m->nchannels + 1) * sizeof *d);

    st->run = arena_strdup(&st->fixed, info->id, strlen(info->id));
    st->machine = arena_strdup(&st->fixed, m->name, strlen(m->name));
    st->life = info->life;
    st->seed = info->seed;
    st->deadline_ms = info->deadline_ms;
    st->retention = info->retention == NULL ? NULL : arena_strdup(&st->fixed, info->retention, strlen(info->retention));
    st->version = m->version;
    st->no_progress = m->no_progress;
    st->progress_nodes = m->no_progress > 0 ? 1 : 0;
    st->settles = m->settles;
    st->rounds = m->rounds;
    st->shows_undo = m->shows_undo;
    st->machine_hash = m->hash;
    st->decls = d;
    if (d == NULL || st->run == NULL || st->machine == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a run", info->id);
    for (uint32_t i = 0; i < m->nchannels; i++) {
        const machine_channel *mc = &m->channels[i];

        d[i] = (decl){ .where = *mc->where == '\0' ? "" : arena_strdup(&st->fixed, mc->where, strlen(mc->where)),
                       .name = arena_strdup(&st->fixed, mc->c.name, strlen(mc->c.name)), .hash = name_hash(mc->c.name),
                       .rule = (uint8_t)mc->c.rule, .accumulate = mc->c.accumulate, .keep = mc->c.keep };
        if (mc->c.first != NULL &&
            (d[i].first = value_parse(&st->fixed, mc->c.first, strlen(mc->c.first), "a first value", err)) == NULL)
            return st->fixed.failed ? PAWL_NOMEM : PAWL_INVALID;
        if (mc->c.secret != NULL)
            d[i].secret = arena_strdup(&st->fixed, mc->c.secret, strlen(mc->c.secret));
    }
    st->ndecls = m->nchannels;
    return st->fixed.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a run", info->id) : PAWL_OK;
}

pawl_code pawl_state_new(const pawl_machine *m, const pawl_run_info *info, unsigned flags, const pawl_alloc *alloc,
                         pawl_state **state, pawl_err *err)
{
    pawl_state *st;
    pawl_code rc;
    buf b;

    *state = NULL;
    if (m == NULL)
        return fail(err, PAWL_INVALID, "a run needs a machine");
    if ((rc = info_check(info, err)) != PAWL_OK)
        return rc;
    if ((flags & PAWL_STATE_NO_JOURNAL) == 0) {
        const base_parts p = { .channels = m->channel_json, .machine = m->name, .machine_hash = m->hash_hex, .version = m->version,
                               .no_progress = m->no_progress, .progress_nodes = 1, .shows_undo = m->shows_undo, .settles = m->settles,
                               .rounds = m->rounds };
        pawl_alloc mem = mem_or_default(alloc);

        buf_init(&b, &mem);
        base_code(&b, info, &p);
        rc = b.failed ? fail(err, PAWL_NOMEM, "%s: no memory for a run", info->id)
                      : pawl_state_load((pawl_bytes){ b.data, b.size }, (pawl_bytes){0}, NULL, alloc, state, err);
        buf_free(&b);
        return rc;
    }
    if ((st = state_empty(alloc, STATE_FIXED_FIRST + m->nchannels * (sizeof(decl) + ALIGN))) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for a run", info->id);
    st->no_journal = true;
    if ((rc = state_from_machine(st, m, info, err)) == PAWL_OK)
        rc = state_begin(st, &info->budget, err);
    if (rc != PAWL_OK) {
        pawl_state_free(st);
        return rc;
    }
    *state = st;
    return PAWL_OK;
}

pawl_code pawl_state_load(pawl_bytes base, pawl_bytes snapshot, const pawl_loader *loader, const pawl_alloc *alloc,
                          pawl_state **state, pawl_err *err)
{
    pawl_state *st = state_empty(alloc, 0);
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *state = NULL;
    if (st == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a run");
    pawl_state_loader(st, loader);
    if ((rc = base_read(st, base, &why)) == PAWL_OK)
        rc = snapshot_read(st, snapshot, &why);
    if (rc != PAWL_OK) {
        if (st->fixed.failed)
            rc = PAWL_NOMEM;
        pawl_state_free(st);
        return fail(err, rc, "%s", rc == PAWL_NOMEM ? "no memory for a run" : why.code != PAWL_OK ? why.text : pawl_code_name(rc));
    }
    *state = st;
    return PAWL_OK;
}
