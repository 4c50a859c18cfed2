/* state.c - a run as it stands: made, asked, freed. */
#include "kernel/compensation.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/references.h"
#include "kernel/task_index.h"
#include "kernel/visit.h"

#include <string.h>

enum { STATE_FIXED_FIRST = 256, TAIL_BYTES_LEAST = 4096 };

/* ---- made ----------------------------------------------------------------------------------- */

/* With room for `fixed` bytes of what never changes, in the same block. */
static pawl_state *state_empty(const pawl_alloc *alloc, size_t fixed)
{
    pawl_alloc mem = mem_or_default(alloc);
    pawl_state *st = mem_grow(&mem, NULL, 0, sizeof *st + fixed);

    if (st == NULL)
        return NULL;
    mem_zero(st, sizeof *st);
    st->bytes = sizeof *st + fixed;
    st->alloc = mem;
    st->turn = 1;
    st->root.where = "";
    if (fixed > 0)
        arena_init_in(&st->fixed, &mem, st + 1, fixed);
    else
        arena_init(&st->fixed, &mem, STATE_FIXED_FIRST);
    return st;
}

void pawl_state_free(pawl_state *st)
{
    txn t;

    if (st == NULL)
        return;
    txn_begin_drop(st, &t);
    state_drop(st);
    mem_free(&st->alloc, st->spare, SPARE_BYTES);
    arena_free(&st->fixed);
    pawl_alloc alloc = st->alloc;
    mem_free(&alloc, st, st->bytes);
}

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

static void hex64(uint64_t n, char out[17])
{
    for (int i = 0; i < 16; i++)
        out[i] = "0123456789abcdef"[n >> (60 - 4 * i) & 15];
    out[16] = '\0';
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
    hex64(info->seed, hex);
    base_text(b, "seed", hex);
    base_int(b, "seq", (int64_t)p->seq);
    base_text(b, "trace", info->trace);
    buf_char(b, '}');
}

/* Without a journal nobody reads the base: the declarations come straight from the machine. */
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

pawl_code state_begin(pawl_state *st, const pawl_caps *caps, pawl_err *err)
{
    txn t;
    arena mem;
    char room[1024];
    pawl_code rc;

    arena_init_in(&mem, &st->alloc, room, sizeof room);
    txn_begin(st, &t, &mem, true);
    rc = channels_init(st, &st->root);
    if (rc == PAWL_OK)
        rc = budget_begin(st, caps, st->parent != NULL);
    if (rc == PAWL_OK && mem.failed)
        rc = PAWL_NOMEM;
    txn_end(st, rc == PAWL_OK);
    if (rc != PAWL_OK) {
        st->root.channels = NULL;
        st->root.nchannels = 0;
        st->budget = NULL;
    }
    arena_free(&mem);
    return rc == PAWL_NOMEM ? fail(err, rc, "%s: no memory for a run", st->run) : rc;
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
    if ((flags & PAWL_NO_JOURNAL) == 0) {
        const base_parts p = { .channels = m->channel_json, .machine = m->name, .machine_hash = m->hash_hex, .version = m->version,
                               .no_progress = m->no_progress, .progress_nodes = 1 };
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

void pawl_state_loader(pawl_state *st, const pawl_loader *loader)
{
    st->has_loader = loader != NULL;
    if (loader != NULL)
        st->loader = *loader;
}

/* ---- asked --------------------------------------------------------------------------------------- */

pawl_bytes pawl_state_base(const pawl_state *st) { return st->base; }
const char *pawl_state_run(const pawl_state *st) { return st->run; }
uint64_t pawl_state_life(const pawl_state *st) { return st->life; }
bool pawl_state_under(const pawl_state *st, const pawl_machine *m)
{
    return m != NULL && strcmp(m->name, st->machine) == 0 && m->version == st->version && hash_equal(&m->hash, &st->machine_hash);
}

uint64_t pawl_state_seq(const pawl_state *st) { return st->seq; }
int64_t pawl_state_time_ms(const pawl_state *st) { return st->time_ms; }
uint64_t pawl_state_turn(const pawl_state *st) { return st->turn; }
uint64_t pawl_state_steps(const pawl_state *st) { return st->root.steps; }
uint64_t pawl_state_ignored(const pawl_state *st) { return st->ignored; }
pawl_status pawl_state_status(const pawl_state *st) { return (pawl_status)st->status; }
size_t pawl_state_commands(const pawl_state *st) { return st->commands; }
size_t pawl_state_waits(const pawl_state *st) { return st->waits; }
const pawl_value *pawl_state_reason(const pawl_state *st) { return st->reason; }

const char *pawl_state_machine(const pawl_state *st, uint32_t *version)
{
    if (version != NULL)
        *version = st->version;
    return st->machine;
}

pawl_code pawl_state_next(const pawl_state *st)
{
    return next_of_state(st, st->status);
}

const pawl_value *pawl_state_get(pawl_state *st, const char *name)
{
    channel *c = name == NULL ? NULL : channel_find(&st->root, name);

    return c == NULL ? NULL : channel_value(st, c);
}

const pawl_value *pawl_state_coming(pawl_state *st, const char *name)
{
    const pawl_value *v = NULL, *all, *one;
    pawl_iter it = pawl_iter_of(name == NULL || st->pending == NULL ? NULL : list_value(st->pending));

    while ((all = pawl_iter_next(&it, NULL)) != NULL)
        v = (one = pawl_value_get(all, name)) != NULL ? one : v;
    return v;
}

const char *pawl_state_json(pawl_state *st, pawl_step *s, pawl_err *err)
{
    buf *b;
    const char *out;

    step_reset(s);
    st->load_failed = PAWL_OK;
    b = step_text(s);
    values_code(st, &st->root, b, true, true);
    if (st->load_failed != PAWL_OK) {
        fail(err, st->load_failed, "%s: what is committed could not be read", st->run);
        return NULL;
    }
    if ((out = step_copy(s, b, NULL)) == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory for its channels", st->run);
    return out;
}

const char *pawl_state_task(const pawl_state *st, size_t index, const char **at)
{
    if (index >= st->root.ntasks)
        return NULL;
    if (at != NULL)
        *at = task_rows[st->root.tasks[index].at].name;
    return st->root.tasks[index].name;
}

bool pawl_state_snapshot_due(const pawl_state *st)
{
    return st->nmarks == 0 && st->tail_bytes >= TAIL_BYTES_LEAST && st->tail_bytes > st->snapshot_bytes;
}

/* ---- what is open ------------------------------------------------------------------------------------- */

typedef struct nth_call { size_t left; bool waits; const task *tk; const call *c; uint32_t n; char path[PATH_BYTES_MAX + 64]; } nth_call;

static bool see_nth(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    nth_call *want = ctx;

    (void)f;
    if (call_asks(c) != want->waits || want->left-- > 0)
        return true;
    want->tk = tk;
    want->c = c;
    want->n = n;
    memcpy(want->path, path, strlen(path) + 1);
    return false;
}

/* Of many tasks those before it are passed by how much is open of them, which needs no path. */
static bool nth_passes(const task *tk, nth_call *want)
{
    size_t n = want->waits ? tk->waits : tk->commands;

    if (BROKEN(BROKEN_RECEIPT))
        n = want->left + 1;
    if (tk->child != NULL || n > want->left)
        return false;
    want->left -= n;
    return true;
}

/* The same of a whole block of tasks. */
static bool nth_passes_block(const frame *f, uint32_t i, nth_call *want)
{
    size_t n;

    if (f->index == NULL || i % BLOCK_TASKS != 0 || BROKEN(BROKEN_RECEIPT))
        return false;
    n = want->waits ? f->index->blocks[i / BLOCK_TASKS].waits : f->index->blocks[i / BLOCK_TASKS].commands;
    if (n > want->left)
        return false;
    want->left -= n;
    return true;
}

/* In a task of the run without a subgraph, from where the last one was found: the commands of a visit may be many. */
static bool nth_in_task(pawl_state *st, const task *tk, nth_call *want)
{
    const size_t nth = want->left;
    const bool on = st->nth_hint.calls == tk->calls && st->nth_hint.waits == want->waits && st->nth_hint.nth <= nth;
    size_t left = on ? nth - st->nth_hint.nth : nth;

    for (uint32_t i = on ? st->nth_hint.call : 0; i < tk->ncalls; i++) {
        const call *c = &tk->calls[i];

        if (c->at != CALL_OPEN || call_asks(c) != want->waits || left-- > 0)
            continue;
        want->tk = tk;
        want->c = c;
        want->n = i;
        memcpy(want->path, tk->name, strlen(tk->name) + 1);
        if (st->t == NULL)
            st->nth_hint.calls = tk->calls, st->nth_hint.call = i, st->nth_hint.nth = nth, st->nth_hint.waits = want->waits;
        return true;
    }
    return false;
}

static bool nth_find(pawl_state *st, nth_call *want)
{
    const frame *f = &st->root;

    for (uint32_t i = 0; i < f->nloose; i++)
        if (!see_nth(want, f, NULL, f->loose[i].task, &f->loose[i], f->loose[i].n))
            return true;
    for (uint32_t i = 0; i < f->ntasks; i++)
        if (nth_passes_block(f, i, want))
            i += BLOCK_TASKS - 1;
        else if (nth_passes(&f->tasks[i], want))
            continue;
        else if (f->tasks[i].child == NULL && !BROKEN(BROKEN_RECEIPT))
            return nth_in_task(st, &f->tasks[i], want);
        else if (!task_each_call(f, &f->tasks[i], f->tasks[i].name, see_nth, want))
            return true;
    return false;
}

static const char *full_id(pawl_step *s, const pawl_state *st, const nth_call *w)
{
    const item it = { .superstep = w->c->superstep, .task = w->path, .visit = w->tk != NULL ? w->tk->visit : w->c->visit, .n = w->n };
    buf *b = step_text(s);
    char hex[17];

    hex64(st->life, hex);
    buf_text(b, st->run);
    buf_char(b, '~');
    buf_text(b, hex);
    buf_char(b, '/');
    id_code(b, &it);
    return step_copy(s, b, NULL);
}

static pawl_code nth(pawl_state *st, size_t index, bool waits, pawl_step *s, nth_call *w, const pawl_value **spec,
                     const char **id, pawl_err *err)
{
    step_reset(s);
    *w = (nth_call){ .left = index, .waits = waits };
    if (!nth_find(st, w))
        return fail(err, PAWL_INVALID, "%s: there is no open %s number %zu", st->run, waits ? "wait" : "command", index);
    *spec = w->c->asked ? value_read(&s->mem, w->c->doubt, strlen(w->c->doubt), "a spec", err)
                        : value_read(&s->mem, w->c->spec, w->c->spec_size, "a spec", err);
    *id = full_id(s, st, w);
    return *spec == NULL || *id == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}

/* All but its arguments. */
static pawl_code command_but_args(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, nth_call *w, const pawl_value **spec, pawl_err *err)
{
    pawl_code rc;

    memset(out, 0, sizeof *out);
    if ((rc = nth(st, index, false, s, w, spec, &out->id, err)) != PAWL_OK)
        return rc;
    out->kind = (pawl_command_kind)w->c->kind;
    out->effect = pawl_value_string(pawl_value_get(*spec, "effect"));
    out->due_ms = w->c->time_ms;
    spec_limits(*spec, &out->limits);
    (void)share_of(*spec, &out->share);
    out->child = pawl_value_string(pawl_value_get(*spec, "name"));
    out->cleared = doubt_cleared(&s->mem, w->c);
    return s->mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}

pawl_code state_command_bare(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, bool *refers, pawl_err *err)
{
    const pawl_value *spec, *stand, *ref;
    nth_call w;
    pawl_code rc = command_but_args(st, index, s, out, &w, &spec, err);

    *refers = false;
    if (rc != PAWL_OK)
        return rc;
    stand = pawl_value_get(spec, "refs");
    for (pawl_iter it = pawl_iter_of(stand); (ref = pawl_iter_next(&it, NULL)) != NULL;) {
        const char *form = pawl_value_string(pawl_value_at(ref, 1));

        *refers = form != NULL && strcmp(form, "secret") != 0;
        if (!*refers)
            break;
    }
    if (stand == NULL)
        out->args = pawl_value_get(spec, "args");
    return PAWL_OK;
}

pawl_code pawl_state_command(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, const pawl_value **secrets, pawl_err *err)
{
    const pawl_value *spec, *args, *stand, *unseen = NULL;
    pawl_err why = { PAWL_OK, "" };
    nth_call w;
    pawl_code rc = command_but_args(st, index, s, out, &w, &spec, err);

    if (secrets != NULL)
        *secrets = NULL;
    if (rc != PAWL_OK)
        return rc;
    args = pawl_value_get(spec, "args");
    stand = pawl_value_get(spec, "refs");
    st->load_failed = PAWL_OK;
    out->args = stand == NULL ? args : refs_resolve(st, &s->mem, w.tk, NULL, args, stand, secrets != NULL ? secrets : &unseen, &why);
    if (out->args != NULL || args == NULL)
        return PAWL_OK;
    if (s->mem.failed || why.code == PAWL_NOMEM)
        return fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run);
    rc = st->load_failed != PAWL_OK ? st->load_failed : why.code != PAWL_OK ? why.code : PAWL_CORRUPT;
    return fail(err, rc, "%s", why.code != PAWL_OK ? why.text : "what is committed could not be read");
}

pawl_code pawl_state_wait(pawl_state *st, size_t index, pawl_step *s, pawl_wait *out, pawl_err *err)
{
    const pawl_value *spec;
    nth_call w;
    size_t n;
    pawl_code rc;

    memset(out, 0, sizeof *out);
    if ((rc = nth(st, index, true, s, &w, &spec, &out->id, err)) != PAWL_OK)
        return rc;
    out->slot = pawl_value_string(pawl_value_get(spec, "slot"));
    n = w.tk != NULL ? w.tk->node_size : strcspn(w.path, ":");
    out->node = *w.path == '@' ? "" : arena_strdup(&s->mem, w.tk != NULL ? w.tk->name : w.path, n);
    out->kind = (pawl_wait_kind)w.c->wait;
    out->prompt = pawl_value_get(spec, "prompt");
    out->schema = pawl_value_get(spec, "schema");
    out->options = pawl_value_get(spec, "options");
    out->asked_of = pawl_value_string(pawl_value_get(spec, "of"));
    out->asked_ms = w.c->time_ms;
    out->expires_ms = pawl_value_int(pawl_value_get(spec, "expires"));
    out->otherwise = pawl_value_get(spec, "otherwise");
    out->about = pawl_value_get(spec, "about");
    return out->node == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}
