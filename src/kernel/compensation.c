/* compensation.c - the folds of unknown outcomes and of inverses (E5).
 *
 * An unknown outcome turns an open command into a wait of the same id: the answer becomes the receipt, or lets the command be performed
 * again. A receipt of a command with an inverse adds a note to st->undo; so does a dropped command with an inverse, since it may have been
 * performed. Called by fold.c inside a transaction, and by the code that writes or reads a stored state; doubt.c and run_end.c make the items. */
#include "kernel/compensation.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/names.h"

#include <string.h>

/* ---- doubt ------------------------------------------------------------------------------------- */

bool doubt_answer_read(const pawl_value *answer, arena *a, pawl_outcome *outcome, const pawl_value **value)
{
    const pawl_value *done = pawl_value_get(answer, "done");
    const char *text = pawl_value_string(pawl_value_get(answer, "failed"));

    *value = done;
    *outcome = done != NULL ? PAWL_OUTCOME_DONE : PAWL_OUTCOME_ERROR;
    if (done != NULL || text == NULL)
        return done != NULL;
    *value = value_pack(a, NULL, "{s:s,s:s}", "code", "effect", "text", text);
    return true;
}

uint32_t doubt_attempts_cleared(arena *a, const call *c)
{
    const pawl_value *spec;
    uint64_t attempts;

    if (c->kind == CALL_ASK || c->doubt == NULL || c->at == CALL_IN_DOUBT)
        return 0;
    spec = value_read(a, c->doubt, strlen(c->doubt), "a spec", NULL);
    attempts = pawl_value_uint(pawl_value_get(pawl_value_get(pawl_value_get(spec, "prompt"), "known"), "attempts"));
    return attempts == 0 || attempts > UINT32_MAX ? 1 : (uint32_t)attempts;
}

pawl_code fold_doubt(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, &tk);

    if (c == NULL || c->at != CALL_OPEN || c->kind == CALL_ASK || c->kind == CALL_SLEEP)
        return fail(err, PAWL_CORRUPT, "item \"doubt\" of %s: no command of that id is open", it->task);
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    if (it->at > st->record_ms)
        st->record_ms = it->at;
    if (c->doubt != NULL)
        st_free(st, c->doubt, strlen(c->doubt) + 1);
    if ((c->doubt = st_text(st, it->spec, it->spec_size)) == NULL)
        return PAWL_NOMEM;
    c->wait = PAWL_WAIT_QUESTION;
    c->time_ms = it->at;
    call_state_move(st, tk, c, CALL_IN_DOUBT);
    return PAWL_OK;
}

/* ---- what may have to be undone ------------------------------------------------------------------ */

/* A key whose bytes sort in task order: superstep, place and visit of each level of the path, then the command's number. */
static const char *undo_key(pawl_state *st, const item *it)
{
    const frame *f = &st->root;
    const char *path = it->task;
    const char *key;
    buf b;

    buf_init(&b, &st->alloc);
    buf_fmt(&b, "%016llx", (unsigned long long)it->superstep);
    while (f != NULL && *path != '@') {
        size_t n = strcspn(path, "/");
        const task *tk = task_named(f, path, n);

        if (tk == NULL)
            break;
        buf_fmt(&b, "%08lx%08lx", (unsigned long)(tk - f->tasks), (unsigned long)tk->visit);
        if (path[n] == '\0' || tk->child == NULL)
            break;
        f = tk->child;
        buf_fmt(&b, "%016llx", (unsigned long long)f->superstep);
        for (int slashes = 0; slashes < 3 && *path != '\0'; path++)     /* skip the visit and the superstep */
            slashes += *path == '/';
    }
    buf_fmt(&b, "%08lx", (unsigned long)it->n);
    key = b.failed ? NULL : arena_strdup(st->t->mem, b.data, b.size);
    buf_free(&b);
    return key;
}

static const char *local_id(pawl_state *st, const item *it)
{
    const char *id;
    buf b;

    buf_init(&b, &st->alloc);
    id_code(&b, it);
    id = b.failed ? NULL : arena_strdup(st->t->mem, b.data, b.size);
    buf_free(&b);
    return id;
}

static bool has_member(const char *spec, size_t size, const char *member)
{
    size_t n = strlen(member);

    for (const char *at = spec, *end = spec + size; (at = memchr(at, *member, (size_t)(end - at))) != NULL && (size_t)(end - at) >= n; at++)
        if (memcmp(at, member, n) == 0)
            return true;
    return false;
}

static const char *inverse_of(const call *c, const pawl_value *spec)
{
    return c->kind == CALL_CALL && !call_is_inverse(c) ? pawl_value_string(pawl_value_get(spec, "inverse")) : NULL;
}

bool call_undoable(arena *a, const call *c)
{
    return c->kind == CALL_CALL && has_member(c->spec, c->spec_size, ",\"inverse\":\"") &&
           inverse_of(c, value_read(a, c->spec, c->spec_size, "a spec", NULL)) != NULL;
}

pawl_code undo_note(pawl_state *st, const item *it, const call *c, const pawl_value *receipt, pawl_err *err)
{
    const pawl_value *spec, *less, *note, *stand;
    const char *inverse, *key, *id;
    arena *mem = st->t->mem;

    if (st->only || !has_member(c->spec, c->spec_size, ",\"inverse\":\""))     /* fast path: most commands have no inverse */
        return PAWL_OK;
    spec = value_read(mem, c->spec, c->spec_size, "a spec", err);
    if ((inverse = inverse_of(c, spec)) == NULL)
        return spec != NULL ? PAWL_OK : PAWL_NOMEM;
    less = value_pack(mem, err, "{s:s}", "effect", inverse);
    if (pawl_value_get(spec, "args") != NULL)
        less = value_with(mem, less, "args", pawl_value_get(spec, "args"));
    if ((stand = pawl_value_get(spec, "refs")) != NULL)
        less = value_with(mem, less, "refs", stand);
    key = undo_key(st, it);
    id = local_id(st, it);
    if (less == NULL || key == NULL || id == NULL)
        return PAWL_NOMEM;
    note = value_pack(mem, err, "[s,s,v,v]", key, id, less, receipt != NULL && !BROKEN(BROKEN_UNDO_RECEIPT) ? receipt : value_null(mem));
    undo_order_free(st);
    if (note != NULL && st->undo == NULL) {
        list *l = list_new(st);

        if (l == NULL || !TOUCH(st, &st->undo))
            return PAWL_NOMEM;
        st->undo = l;
    }
    return note != NULL && list_push(st, st->undo, note) ? PAWL_OK : PAWL_NOMEM;
}

/* ---- the order of undoing ------------------------------------------------------------------------ */

/* The notes in task order. Made when the first inverse is due, since most often there are no more notes then. Invariant: it is of the first `count`
 * notes as they are; a new note drops it, and a transaction that takes notes back leaves it with too many, so that it is made again. */
typedef struct undo_order {
    size_t count, bytes;
    uint32_t at[];              /* index in the nodes of the list */
} undo_order;

void undo_order_free(pawl_state *st)
{
    if (st->undo_order != NULL)
        mem_free(&st->alloc, st->undo_order, st->undo_order->bytes);
    st->undo_order = NULL;
}

static const char *key_at(const list *l, uint32_t at) { return pawl_value_string(pawl_value_at(of_val(l->nodes + at), 0)); }

/* Bottom-up merge sort; `spare` has room for n. Returns the one of the two that has the result. */
static uint32_t *notes_sort(const list *l, uint32_t *all, uint32_t *spare, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        uint32_t *swap = all;

        for (size_t from = 0; from < n; from += 2 * run) {
            size_t mid = n - from < run ? n : from + run, end = n - from < 2 * run ? n : from + 2 * run, a = from, b = mid;

            for (size_t to = from; to < end; to++)
                spare[to] = a < mid && (b == end || strcmp(key_at(l, all[a]), key_at(l, all[b])) <= 0) ? all[a++] : all[b++];
        }
        all = spare;
        spare = swap;
    }
    return all;
}

static bool undo_order_make(pawl_state *st, arena *mem)
{
    const list *l = st->undo;
    const size_t n = l->count, bytes = sizeof(undo_order) + n * sizeof(uint32_t);
    uint32_t *all = arena_get(mem, 2 * n * sizeof *all);
    undo_order *o = all == NULL ? NULL : mem_new(&st->alloc, bytes);
    bool ordered = true;
    size_t at = 1;

    if (o == NULL)
        return false;
    for (size_t i = 0; i < n; i++, at += value_nodes(of_val(l->nodes + at))) {
        all[i] = (uint32_t)at;
        ordered = ordered && (i == 0 || strcmp(key_at(l, all[i - 1]), key_at(l, all[i])) <= 0);
    }
    PAWL_ASSERT(at == l->used && at <= UINT32_MAX, "E5: each note is in the order");
    if (!ordered)               /* mostly the notes are in order already */
        all = notes_sort(l, all, all + n, n);
    o->count = n;
    o->bytes = bytes;
    memcpy(o->at, all, n * sizeof *all);
    st->undo_order = o;
    return true;
}

const pawl_value *undo_next(pawl_state *st, arena *mem)
{
    const undo_order *o;
    size_t left;

    if (st->undo_order != NULL && st->undo_order->count != undo_count(st))
        undo_order_free(st);
    PAWL_ASSERT(st->undone < undo_count(st), "E5: an inverse is of a note that no inverse was issued for");
    if (st->undo_order == NULL && !undo_order_make(st, mem))
        return NULL;
    o = st->undo_order;
    left = o->count - st->undone;
    return of_val(st->undo->nodes + o->at[BROKEN(BROKEN_UNDO_ORDER) ? o->count - left : left - 1]);
}

typedef struct given_up { pawl_state *st; pawl_code rc; pawl_err *err; } given_up;

static bool see_given_up(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    given_up *g = ctx;
    const item it = { .superstep = c->superstep, .task = path, .visit = tk != NULL ? tk->visit : c->visit, .n = n };

    (void)f;
    g->rc = undo_note(g->st, &it, c, NULL, g->err);
    return g->rc == PAWL_OK;
}

pawl_code undo_note_dropped(pawl_state *st, const frame *f, const task *tk, const char *path, pawl_err *err)
{
    given_up g = { .st = st, .err = err };

    if (st->only || (st->commands == 0 && st->waits == 0))     /* fast path: nothing is open */
        return PAWL_OK;
    task_each_call(f, tk, path, see_given_up, &g);
    return g.rc;
}

/* ---- undoing -------------------------------------------------------------------------------------------- */

pawl_code fold_unwind(pawl_state *st, const item *it, pawl_err *err)
{
    const pawl_value *reason = it->spec == NULL ? NULL : value_read(st->t->mem, it->spec, it->spec_size, "a reason", err);

    if (st->unwind != 0 || it->outcome < PAWL_STATUS_FAILED || it->outcome > PAWL_STATUS_REJECTED)
        return fail(err, PAWL_CORRUPT, "item \"unwind\": it is under way, or comes to no end");
    if ((reason == NULL && it->spec != NULL) || !TOUCH(st, &st->unwind) || !TOUCH(st, &st->ending) || !TOUCH(st, &st->reason) ||
        !TOUCH(st, &st->reason_bytes))
        return PAWL_NOMEM;
    st->unwind = it->outcome;
    ending_move(st, ENDING_WAIT);
    if (reason == NULL)
        return PAWL_OK;
    st_free(st, st->reason, st->reason_bytes);
    st->reason = st_value(st, reason, &st->reason_bytes);
    return st->reason == NULL ? PAWL_NOMEM : PAWL_OK;
}

pawl_code fold_inverse(pawl_state *st, pawl_err *err)
{
    if (st->only)
        return PAWL_OK;
    if (!sm_may(&ending_table, st->ending, ENDING_COMPENSATE))
        return fail(err, PAWL_CORRUPT, "an inverse runs, and the run is not to be compensated");
    if (!TOUCH(st, &st->undone) || !TOUCH(st, &st->ending))
        return PAWL_NOMEM;
    PAWL_ASSERT(st->unwind != 0, "N1: inverses run on the way to a status");
    st->undone++;
    ending_move(st, ENDING_COMPENSATE);     /* from here on open commands are inverses, and are performed */
    return PAWL_OK;
}

/* ---- written down, and read ---------------------------------------------------------------------------------- */

void unwind_code(pawl_state *st, buf *b, blob_set *apart, buf *beside)
{
    if (undo_count(st) > BROKEN(BROKEN_UNDO_NOTE)) {
        buf_text(b, ",\"undo\":");
        part_code(b, apart, beside, "", "undo", list_value(st->undo));
    }
    if (st->undone > 0)
        buf_fmt(b, ",\"undone\":%lu", (unsigned long)st->undone);
    if (st->unwind != 0)
        buf_fmt(b, ",\"unwind\":\"%s\"", status_names[st->unwind]);
}

static bool note_good(const pawl_value *v)
{
    const pawl_value *less = pawl_value_at(v, 2), *ref;
    pawl_iter it = pawl_iter_of(pawl_value_get(less, "refs"));

    if (pawl_value_string(pawl_value_at(v, 0)) == NULL || pawl_value_string(pawl_value_at(v, 1)) == NULL || pawl_value_at(v, 3) == NULL ||
        !name_valid(pawl_value_string(pawl_value_get(less, "effect"))))
        return false;
    while ((ref = pawl_iter_next(&it, NULL)) != NULL)
        for (size_t i = 0; i < 3; i++)
            if (pawl_value_string(pawl_value_at(ref, i)) == NULL)
                return false;
    return true;
}

pawl_code ending_read(pawl_state *st, const pawl_value *fold, pawl_err *err)
{
    const bool waits = pawl_value_bool(pawl_value_get(fold, "canceling"));
    const char *status = pawl_value_string(pawl_value_get(fold, "unwind"));
    int to = name_index(status_names, 7, status);

    if (status != NULL && to < PAWL_STATUS_FAILED)
        return fail(err, PAWL_CORRUPT, "a folded state: unwind is the status of a run that is over");
    st->unwind = (uint8_t)(to < 0 ? 0 : to);
    sm_begin(&ending_table, &st->ending, st->unwind == 0 ? waits ? ENDING_CANCEL : ENDING_NONE : waits ? ENDING_WAIT : ENDING_COMPENSATE, st);
    return PAWL_OK;
}

pawl_code undo_read(pawl_state *st, const pawl_value *fold, pawl_err *err)
{
    const pawl_value *notes = pawl_value_get(fold, "undo"), *v;
    uint64_t undone = pawl_value_uint(pawl_value_get(fold, "undone"));
    pawl_iter it = pawl_iter_of(notes);

    if ((notes != NULL && pawl_value_type(notes) != PAWL_TYPE_ARRAY) || undone > pawl_value_size(notes))
        return fail(err, PAWL_CORRUPT, "a folded state: undo is an array of notes, and no more is undone");
    st->undone = (uint32_t)undone;
    if (notes != NULL) {
        undo_order_free(st);
        st_list_free(st, st->undo);     /* the folds of open calls made these notes; the stored list contains them already */
        if ((st->undo = list_new(st)) == NULL)
            return PAWL_NOMEM;
    }
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        if (!note_good(v))
            return fail(err, PAWL_CORRUPT, "a folded state: a note in undo is [key,id,{\"effect\"},receipt]");
        if (!list_push(st, st->undo, v))
            return PAWL_NOMEM;
    }
    return PAWL_OK;
}
