/* state.c - the state of a run: made, queried and freed. See state.h. Called by the owner of the state, on its thread. Queries change nothing but
 * lists that they load, and their results live in the step that the caller passes. */
#include "kernel/compensation.h"
#include "kernel/fold.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/pending.h"
#include "kernel/references.h"
#include "kernel/signed.h"
#include "kernel/task_index.h"
#include "kernel/visit.h"

#include <string.h>

enum { TAIL_BYTES_LEAST = 4096 };

/* ---- made ----------------------------------------------------------------------------------- */

pawl_state *state_empty(const pawl_alloc *alloc, size_t fixed)
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

void state_drop(pawl_state *st)
{
    frame_drop(st, &st->root);
    marks_free(st);
    st_free(st, st->reason, st->reason_bytes);
    st_list_free(st, st->pending);
    undo_order_free(st);
    st_list_free(st, st->undo);
    st_free(st, st->budget, sizeof *st->budget);
}

void pawl_state_free(pawl_state *st)
{
    txn t;

    if (st == NULL)
        return;
    txn_begin_drop(st, &t);
    state_drop(st);
    mem_free(&st->alloc, st->spare, SPARE_BYTES);
    mem_free(&st->alloc, st->snapshot, sizeof *st->snapshot);
    arena_free(&st->fixed);
    pawl_alloc alloc = st->alloc;
    mem_free(&alloc, st, st->bytes);
}

pawl_code state_begin(pawl_state *st, const pawl_caps *caps, pawl_err *err)
{
    txn t;
    arena mem;
    char room[1024];
    pawl_code rc;

    arena_init_in(&mem, &st->alloc, room, sizeof room);
    txn_begin(st, &t, &mem, TXN_APPLY);
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
    return name != NULL ? pending_newest(st, name) : NULL;
}

/* Begins a look at the state with the updates that wait for the close of the superstep; shown_end() takes them back. An update that cannot be merged
 * is left out with all others, and the close will say why. */
static pawl_code shown_begin(pawl_state *st, pawl_step *s)
{
    pawl_code rc;

    step_reset(s);
    st->load_failed = PAWL_OK;
    if (!pending_any(st))
        return PAWL_OK;
    txn_begin(st, &s->t, &s->mem, TXN_FEED);
    if ((rc = pending_show(st, NULL)) == PAWL_OK)
        return PAWL_OK;
    txn_end(st, false);
    return rc == PAWL_NOMEM || s->mem.failed ? PAWL_NOMEM : PAWL_OK;
}

static void shown_end(pawl_state *st)
{
    if (st->t != NULL)
        txn_end(st, false);
}

const pawl_value *pawl_state_shown(pawl_state *st, pawl_step *s, const char *name)
{
    const pawl_value *v = NULL;
    channel *c;

    if (name == NULL || shown_begin(st, s) != PAWL_OK)
        return NULL;
    if ((c = channel_find(&st->root, name)) != NULL && (v = channel_value(st, c)) != NULL)
        v = value_copy(&s->mem, v);
    shown_end(st);
    return v;
}

const char *pawl_state_json(pawl_state *st, pawl_step *s, pawl_err *err)
{
    const pawl_code rc = shown_begin(st, s);
    buf *b = step_text(s);
    const char *out;

    if (rc == PAWL_OK)
        values_code(st, &st->root, b, true, true);
    shown_end(st);
    if (st->load_failed != PAWL_OK) {
        fail(err, st->load_failed, "%s: what is committed could not be read", st->run);
        return NULL;
    }
    if (rc != PAWL_OK || (out = step_copy(s, b, NULL)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for its channels", st->run);
        return NULL;
    }
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

/* ---- ids ----------------------------------------------------------------------------------------------- */

bool state_id_parse(const pawl_state *st, const char *id, char *path, uint64_t *superstep, uint32_t *visit_no, uint32_t *n)
{
    const char *tilde = strchr(id, '~');
    size_t run = strlen(st->run);

    if (tilde != NULL) {
        char life[17];

        for (int i = 0; i < 16; i++)
            life[i] = "0123456789abcdef"[st->life >> (60 - 4 * i) & 15];
        if ((size_t)(tilde - id) != run || strncmp(id, st->run, run) != 0 || (strncmp(tilde + 1, life, 16) != 0 && !BROKEN(BROKEN_LIFE)) || tilde[17] != '/')
            return false;
        id = tilde + 18;
    }
    return id_parse(id, path, superstep, visit_no, n);
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

/* Skips a task by the number of its open calls, without building its path. */
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

static bool nth_passes_sums(const task_sums *sums, nth_call *want)
{
    const size_t n = want->waits ? sums->waits : sums->commands;

    if (n > want->left)
        return false;
    want->left -= n;
    return true;
}

/* Skips a whole group or block of tasks. Returns the number of skipped tasks. */
static uint32_t nth_passes_many(const frame *f, uint32_t i, nth_call *want)
{
    if (f->index == NULL || i % BLOCK_TASKS != 0 || BROKEN(BROKEN_RECEIPT))
        return 0;
    if (i % GROUP_TASKS == 0 && nth_passes_sums(&f->index->groups[i / GROUP_TASKS], want))
        return GROUP_TASKS;
    return nth_passes_sums(&f->index->blocks[i / BLOCK_TASKS], want) ? BLOCK_TASKS : 0;
}

/* Searches the calls of one task of the run without a subgraph, or the detached calls of the run (`tk` is NULL). Starts where the last search
 * ended, since the calls may be many. False: the wanted call is not among them, and want->left is lowered by their number. */
static bool nth_among(pawl_state *st, const call *calls, uint32_t ncalls, const task *tk, nth_call *want)
{
    const size_t nth = want->left;
    const bool on = ncalls > 0 && st->nth_hint.calls == calls && st->nth_hint_waits == want->waits && st->nth_hint.nth <= nth;

    if (on)
        want->left -= st->nth_hint.nth;
    for (uint32_t i = on ? st->nth_hint.call : 0; i < ncalls; i++) {
        const call *c = &calls[i];
        const char *path = tk != NULL ? tk->name : c->task;

        if (path == NULL || !call_is_open(c) || call_asks(c) != want->waits || want->left-- > 0)
            continue;
        want->tk = tk;
        want->c = c;
        want->n = tk != NULL ? i : c->n;
        memcpy(want->path, path, strlen(path) + 1);
        if (st->t == NULL)
            st->nth_hint.calls = calls, st->nth_hint.call = i, st->nth_hint.nth = (uint32_t)nth, st->nth_hint_waits = want->waits;
        return true;
    }
    return false;
}

static bool nth_find(pawl_state *st, nth_call *want)
{
    const frame *f = &st->root;

    if (nth_among(st, f->detached, f->detached_used, NULL, want))
        return true;
    for (uint32_t i = 0, passed; i < f->ntasks; i++)
        if ((passed = nth_passes_many(f, i, want)) > 0)
            i += passed - 1;
        else if (nth_passes(&f->tasks[i], want))
            continue;
        else if (f->tasks[i].child == NULL && !BROKEN(BROKEN_RECEIPT))
            return nth_among(st, f->tasks[i].calls, f->tasks[i].ncalls, &f->tasks[i], want);
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

static pawl_code open_spec(const pawl_state *st, pawl_step *s, const nth_call *w, const pawl_value **spec, const char **id, pawl_err *err)
{
    *spec = w->c->at == CALL_IN_DOUBT ? value_read(&s->mem, w->c->doubt, strlen(w->c->doubt), "a spec", err)
                        : value_read(&s->mem, w->c->spec, w->c->spec_size, "a spec", err);
    *id = full_id(s, st, w);
    return *spec == NULL || *id == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}

static pawl_code nth(pawl_state *st, size_t index, bool waits, pawl_step *s, nth_call *w, pawl_err *err)
{
    step_reset(s);
    w->left = index;            /* the rest is set when the call is found: its path has room for the longest */
    w->waits = waits;
    if (!nth_find(st, w))
        return fail(err, PAWL_INVALID, "%s: there is no open %s number %zu", st->run, waits ? "wait" : "command", index);
    return PAWL_OK;
}

/* Fills `out` except for the arguments. */
static pawl_code command_but_args(pawl_state *st, pawl_step *s, const nth_call *w, pawl_command *out, const pawl_value **spec, pawl_err *err)
{
    pawl_code rc = open_spec(st, s, w, spec, &out->id, err);

    if (rc != PAWL_OK)
        return rc;
    out->kind = (pawl_command_kind)w->c->kind;
    out->effect = pawl_value_string(pawl_value_get(*spec, "effect"));
    out->due_ms = w->c->time_ms;
    spec_limits(*spec, &out->limits);
    (void)share_of(*spec, &out->share);
    out->child = pawl_value_string(pawl_value_get(*spec, "name"));
    out->cleared = doubt_attempts_cleared(&s->mem, w->c);
    return s->mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}

static pawl_code command_bare(pawl_state *st, pawl_step *s, const nth_call *w, pawl_command *out, bool *refers, pawl_err *err)
{
    const pawl_value *spec, *stand, *ref;
    pawl_code rc = command_but_args(st, s, w, out, &spec, err);

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

/* The open command of that id. */
static bool named_find(pawl_state *st, const char *id, nth_call *w)
{
    uint64_t superstep;
    uint32_t visit_no;
    frame *in;
    task *tk;

    if (!state_id_parse(st, id, w->path, &superstep, &visit_no, &w->n) ||
        (w->c = call_find(st, superstep, w->path, visit_no, w->n, &in, &tk)) == NULL || !call_is_open(w->c) || call_asks(w->c))
        return false;
    w->tk = tk;
    return true;
}

pawl_code state_command_bare(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, bool *refers, pawl_err *err)
{
    nth_call w;
    pawl_code rc = nth(st, index, false, s, &w, err);

    memset(out, 0, sizeof *out);
    *refers = false;
    return rc == PAWL_OK ? command_bare(st, s, &w, out, refers, err) : rc;
}

pawl_code state_command_bare_named(pawl_state *st, const char *id, pawl_step *s, pawl_command *out, bool *refers, bool *open, pawl_err *err)
{
    nth_call w;

    memset(out, 0, sizeof *out);
    *refers = false;
    if (!(*open = named_find(st, id, &w)))
        return PAWL_OK;
    step_reset(s);
    return command_bare(st, s, &w, out, refers, err);
}

static pawl_code command_whole(pawl_state *st, pawl_step *s, const nth_call *w, pawl_command *out, const pawl_value **secrets, pawl_err *err)
{
    const pawl_value *spec, *args, *stand, *unseen = NULL;
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = command_but_args(st, s, w, out, &spec, err);

    if (rc != PAWL_OK)
        return rc;
    args = pawl_value_get(spec, "args");
    stand = pawl_value_get(spec, "refs");
    st->load_failed = PAWL_OK;
    out->args = stand == NULL ? args : refs_resolve(st, &s->mem, w->tk, NULL, args, stand, secrets != NULL ? secrets : &unseen, &why);
    if (out->args != NULL || args == NULL)
        return PAWL_OK;
    if (s->mem.failed || why.code == PAWL_NOMEM)
        return fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run);
    rc = st->load_failed != PAWL_OK ? st->load_failed : why.code != PAWL_OK ? why.code : PAWL_CORRUPT;
    return fail(err, rc, "%s", why.code != PAWL_OK ? why.text : "what is committed could not be read");
}

pawl_code pawl_state_command(pawl_state *st, size_t index, pawl_step *s, pawl_command *out, const pawl_value **secrets, pawl_err *err)
{
    nth_call w;
    pawl_code rc = nth(st, index, false, s, &w, err);

    memset(out, 0, sizeof *out);
    if (secrets != NULL)
        *secrets = NULL;
    return rc == PAWL_OK ? command_whole(st, s, &w, out, secrets, err) : rc;
}

pawl_code state_command_named(pawl_state *st, const char *id, pawl_step *s, pawl_command *out, const pawl_value **secrets, bool *open, pawl_err *err)
{
    nth_call w;

    memset(out, 0, sizeof *out);
    if (secrets != NULL)
        *secrets = NULL;
    if (!(*open = named_find(st, id, &w)))
        return PAWL_OK;
    step_reset(s);              /* only now: the step may own the text of `id` */
    return command_whole(st, s, &w, out, secrets, err);
}

pawl_code pawl_state_wait(pawl_state *st, size_t index, pawl_step *s, pawl_wait *out, pawl_err *err)
{
    const pawl_value *spec;
    nth_call w;
    size_t n;
    pawl_code rc;

    memset(out, 0, sizeof *out);
    if ((rc = nth(st, index, true, s, &w, err)) != PAWL_OK || (rc = open_spec(st, s, &w, &spec, &out->id, err)) != PAWL_OK)
        return rc;
    out->slot = pawl_value_string(pawl_value_get(spec, "slot"));
    n = w.tk != NULL ? w.tk->node_size : strcspn(w.path, ":");
    out->node = *w.path == '@' ? "" : arena_strdup(&s->mem, w.tk != NULL ? w.tk->name : w.path, n);
    out->element = w.tk != NULL && pawl_value_size(w.tk->args) > 0 ? value_copy(&s->mem, w.tk->args) : NULL;
    out->kind = (pawl_wait_kind)w.c->wait;
    out->prompt = pawl_value_get(spec, "prompt");
    out->schema = pawl_value_get(spec, "schema");
    out->options = pawl_value_get(spec, "options");
    out->asked_of = pawl_value_string(pawl_value_get(spec, "of"));
    out->asked_ms = w.c->time_ms;
    out->expires_ms = pawl_value_int(pawl_value_get(spec, "expires"));
    out->otherwise = pawl_value_get(spec, "otherwise");
    out->about = pawl_value_get(spec, "about");
    out->approvers = pawl_value_get(spec, "approvers");
    out->signed_by = signed_so_far(&s->mem, w.c);
    return out->node == NULL || s->mem.failed ? fail(err, PAWL_NOMEM, "%s: no memory for what is open", st->run) : PAWL_OK;
}
