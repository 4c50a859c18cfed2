/* compensation.c - what came of a command is in doubt, and somebody is asked; what was done is undone when a run fails (E5).
 *
 * A doubt turns an open command into a wait of the same id: its answer is the receipt, or lets it be performed again. What was
 * done by commands that have an inverse is noted as it comes, and so is what was given up of theirs: it may have been done. When
 * the run is to end otherwise than completed, `unwind` says how it will, what is in flight is waited for, and then the inverses
 * go out one by one, each in an entry of its own. */
#include "kernel/compensation.h"
#include "kernel/journal/base.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/visit.h"

#include <string.h>

/* ---- doubt ------------------------------------------------------------------------------------- */

static pawl_class class_of(const pawl_value *spec)
{
    int cls = name_index(class_names, 5, pawl_value_string(pawl_value_get(spec, "class")));

    return (pawl_class)(cls < 0 ? 0 : cls);
}

static bool is_inverse(const call *c)
{
    return c->task != NULL && strcmp(c->task, UNDO_TASK) == 0;
}

/* Nobody may guess: it must not happen twice, or must be known to be undone. An inverse that fails for good is as bad. */
bool doubt_due(const pawl_step *s, const call *c, pawl_outcome outcome)
{
    const pawl_value *spec;
    pawl_class cls;

    if (is_inverse(c))
        return outcome != PAWL_DONE;
    if (outcome != PAWL_OUTCOME_UNKNOWN || s->st->canceling || c->kind != CALL_CALL)
        return false;
    spec = value_read(s->entry.mem, c->spec, c->spec_size, "a spec", NULL);
    cls = class_of(spec);
    return cls == PAWL_ONCE || cls == PAWL_COMPENSABLE;
}

static const char doubt_schema[] =
    "{\"anyOf\":[{\"const\":\"again\"},"
    "{\"additionalProperties\":false,\"properties\":{\"done\":{}},\"required\":[\"done\"],\"type\":\"object\"},"
    "{\"additionalProperties\":false,\"properties\":{\"failed\":{\"type\":\"string\"}},\"required\":[\"failed\"],\"type\":\"object\"}]}";

pawl_code doubt_add(pawl_step *s, item *it, const call *c, pawl_err *err)
{
    const pawl_value *spec = value_read(&s->mem, c->spec, c->spec_size, "a spec", err);
    const char *effect = pawl_value_string(pawl_value_get(spec, "effect")), *slot;
    const pawl_value *known = s->value != NULL ? s->value : value_null(&s->mem);
    pawl_question q = { .kind = PAWL_WAIT_QUESTION };
    const char *text;
    buf *b = step_text(s);

    id_code(b, it);
    slot = step_copy(s, b, NULL);
    b = step_text(s);
    if (is_inverse(c))
        buf_fmt(b, "%s, which was to undo something, did not come to its end", effect != NULL ? effect : "");
    else
        buf_fmt(b, "%s was begun, and what came of it is not known", effect != NULL ? effect : "");
    buf_text(b, ": find out, and answer {\"done\":RESULT}, {\"failed\":TEXT}, or \"again\" to have it performed again");
    text = step_copy(s, b, NULL);
    if (effect == NULL || slot == NULL || text == NULL)
        return s->mem.failed ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "%s: a command without an effect", s->st->run);
    q.prompt = value_pack(&s->mem, err, "{s:s,s:v,s:s,s:s}", "effect", effect, "known", known, "outcome", outcome_names[s->ev->outcome], "text", text);
    q.schema = value_parse(&s->mem, doubt_schema, sizeof doubt_schema - 1, "a schema", err);
    if (q.prompt == NULL || q.schema == NULL)
        return PAWL_NOMEM;
    it->spec = spec_ask(s, &q, slot, s->now, NULL, NULL, pawl_value_string(pawl_value_get(spec, "tag")), false, &it->spec_size);
    it->wait = PAWL_WAIT_QUESTION;
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

bool doubt_told(const pawl_value *answer, arena *a, pawl_outcome *outcome, const pawl_value **value)
{
    const pawl_value *done = pawl_value_get(answer, "done");
    const char *text = pawl_value_string(pawl_value_get(answer, "failed"));

    *value = done;
    *outcome = done != NULL ? PAWL_DONE : PAWL_ERROR;
    if (done != NULL || text == NULL)
        return done != NULL;
    *value = value_pack(a, NULL, "{s:s,s:s}", "code", "effect", "text", text);
    return true;
}

uint32_t doubt_cleared(arena *a, const call *c)
{
    const pawl_value *spec;
    uint64_t attempts;

    if (c->doubt == NULL || c->asked)
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

    if (c == NULL || c->at != CALL_OPEN || call_asks(c) || c->kind == CALL_SLEEP)
        return fail(err, PAWL_CORRUPT, "item \"doubt\" of %s: no command of that id is open", it->task);
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    if (it->at > st->record_ms)
        st->record_ms = it->at;
    call_count(st, tk, c, -1);
    if (c->doubt != NULL)
        st_free(st, c->doubt, strlen(c->doubt) + 1);
    c->doubt = st_text(st, it->spec, it->spec_size);
    c->asked = true;
    c->wait = PAWL_WAIT_QUESTION;
    c->time_ms = it->at;
    call_count(st, tk, c, 1);
    return c->doubt == NULL ? PAWL_NOMEM : PAWL_OK;
}

/* ---- what may have to be undone ------------------------------------------------------------------ */

/* So that the bytes of keys are in task order: superstep, place and visit of each level of the path, then the command's number. */
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
        uint32_t i = 0;
        const task *tk;

        while (i < f->ntasks && (strncmp(f->tasks[i].name, path, n) != 0 || f->tasks[i].name[n] != '\0'))
            i++;
        tk = i < f->ntasks ? &f->tasks[i] : NULL;
        if (tk == NULL)
            break;
        buf_fmt(&b, "%08lx%08lx", (unsigned long)i, (unsigned long)tk->visit);
        if (path[n] == '\0' || tk->child == NULL)
            break;
        f = tk->child;
        buf_fmt(&b, "%016llx", (unsigned long long)f->superstep);
        for (int slashes = 0; slashes < 3 && *path != '\0'; path++)     /* past the visit and the superstep */
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
    return c->kind == CALL_CALL && !is_inverse(c) ? pawl_value_string(pawl_value_get(spec, "inverse")) : NULL;
}

pawl_code undo_note(pawl_state *st, const item *it, const call *c, const pawl_value *receipt, pawl_err *err)
{
    const pawl_value *spec, *less, *note, *stand;
    const char *inverse, *key, *id;
    arena *mem = st->t->mem;

    if (st->only || !has_member(c->spec, c->spec_size, ",\"inverse\":\""))     /* mostly */
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
    if (note != NULL && st->undo == NULL) {
        list *l = list_new(st);

        if (l == NULL || !TOUCH(st, &st->undo))
            return PAWL_NOMEM;
        st->undo = l;
    }
    return note != NULL && list_push(st, st->undo, note) ? PAWL_OK : PAWL_NOMEM;
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

pawl_code undo_given_up(pawl_state *st, const frame *f, const task *tk, const char *path, pawl_err *err)
{
    given_up g = { .st = st, .err = err };

    if (st->only || (st->commands == 0 && st->waits == 0))     /* mostly */
        return PAWL_OK;
    task_each_call(f, tk, path, see_given_up, &g);
    return g.rc;
}

typedef struct undo_search { pawl_step *s; bool found; } undo_search;

static bool see_undoable(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    undo_search *u = ctx;

    (void)f, (void)tk, (void)path, (void)n;
    u->found = c->kind == CALL_CALL && has_member(c->spec, c->spec_size, ",\"inverse\":\"") &&
               inverse_of(c, value_read(&u->s->mem, c->spec, c->spec_size, "a spec", NULL)) != NULL;
    return !u->found;
}

bool undo_due(pawl_step *s)
{
    undo_search u = { .s = s };

    if (s->st->unwind != 0)
        return false;
    if (undo_count(s->st) > 0)
        return true;
    if (s->st->commands > 0 || s->st->waits > 0)     /* a doubt is a wait */
        state_each_call(s->st, see_undoable, &u);
    return u.found;
}

/* ---- undoing -------------------------------------------------------------------------------------------- */

pawl_code unwind_begin(pawl_step *s, pawl_status status, const char *reason, size_t size, pawl_err *err)
{
    item *it = step_item(s, ITEM_UNWIND);
    pawl_code rc;

    if (it == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a step");
    s->whole = true;
    it->outcome = (uint8_t)status;
    it->spec = reason;
    it->spec_size = size;
    if ((rc = step_add(s, it, err)) != PAWL_OK || (rc = step_drop(s, false, err)) != PAWL_OK)
        return rc;
    return unwind_next(s, err);
}

/* By merging, `spare` being as large; the first n are in order when it returns them. */
static const char **notes_sort(const char **keys, const char **spare, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        const char **swap = keys;

        for (size_t from = 0; from < n; from += 2 * run) {
            size_t mid = n - from < run ? n : from + run, end = n - from < 2 * run ? n : from + 2 * run, a = from, b = mid;

            for (size_t to = from; to < end; to++)
                spare[to] = a < mid && (b == end || strcmp(keys[a], keys[b]) <= 0) ? keys[a++] : keys[b++];
        }
        keys = spare;
        spare = swap;
    }
    return keys;
}

/* The note whose turn it is: from the last in task order to the first. */
static const pawl_value *note_next(pawl_step *s)
{
    const pawl_value *all = list_value(s->st->undo), *v, *found = NULL;
    size_t n = pawl_value_size(all), left = n - s->st->undone;
    const char **keys = arena_get(&s->mem, 2 * (n + 1) * sizeof *keys);
    pawl_iter it = pawl_iter_of(all);
    bool ordered = true;
    size_t count = 0;

    if (keys == NULL)
        return NULL;
    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        keys[count] = pawl_value_string(pawl_value_at(v, 0));
        ordered = ordered && (count == 0 || strcmp(keys[count - 1], keys[count]) <= 0);
        count++;
    }
    if (!ordered)               /* mostly they come as they were issued */
        keys = notes_sort(keys, keys + n + 1, n);
    it = pawl_iter_of(all);
    while (found == NULL && (v = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(pawl_value_at(v, 0)) == keys[BROKEN(BROKEN_UNDO_ORDER) ? n - left : left - 1])
            found = v;
    return found;
}

/* References of the command it undoes, which now lie in its "args". Only secrets are left of them. */
static pawl_code refs_move(pawl_step *s, const pawl_value *args, const pawl_value *stand)
{
    pawl_iter it = pawl_iter_of(stand);
    const pawl_value *ref;

    while ((ref = pawl_iter_next(&it, NULL)) != NULL) {
        const char *path = pawl_format(s, "/args%s", pawl_value_string(pawl_value_at(ref, 0)));
        union { const pawl_value *in; yyjson_val *out; } node;

        if (path == NULL)
            return PAWL_NOMEM;
        if ((node.in = pawl_value_find(args, path)) == NULL)
            return PAWL_CORRUPT;
        node.out->tag |= NODE_REF;
        if (step_ref(s, node.in, pawl_value_string(pawl_value_at(ref, 1)), pawl_value_string(pawl_value_at(ref, 2)), NULL) != PAWL_OK)
            return PAWL_NOMEM;
    }
    return PAWL_OK;
}

static pawl_code inverse_issue(pawl_step *s, pawl_err *err)
{
    const pawl_value *note = note_next(s), *less = pawl_value_at(note, 2), *args = pawl_value_get(less, "args"), *given;
    const char *effect = pawl_value_string(pawl_value_get(less, "effect"));
    item *it = step_item(s, ITEM_CALL);
    pawl_code rc;

    if (note == NULL || it == NULL)
        return PAWL_NOMEM;
    given = value_pack(&s->mem, err, "{s:v,s:s,s:v}", "args", args != NULL ? args : value_null(&s->mem), "id", pawl_value_string(pawl_value_at(note, 1)),
                       "receipt", pawl_value_at(note, 3));
    if (given == NULL)
        return PAWL_NOMEM;
    if ((rc = refs_move(s, given, pawl_value_get(less, "refs"))) != PAWL_OK)
        return rc == PAWL_NOMEM ? rc : fail(err, rc, "%s: a secret at a place where there is nothing", s->st->run);
    it->task = UNDO_TASK;
    it->visit = 1;
    it->superstep = s->st->seq + 1;
    it->spec = spec_call(s, effect, given, machine_limits(s->m, effect), NULL, &it->spec_size);
    s->whole = true;
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

pawl_code unwind_next(pawl_step *s, pawl_err *err)
{
    const pawl_state *st = s->st;

    if ((st->commands > 0 || st->waits > 0) && !BROKEN(BROKEN_UNWIND_EARLY))
        return PAWL_OK;
    s->whole = true;
    if (st->undone < undo_count(st))
        return inverse_issue(s, err);
    s->final = st->unwind;
    return PAWL_OK;
}

pawl_code fold_unwind(pawl_state *st, const item *it, pawl_err *err)
{
    const pawl_value *reason = it->spec == NULL ? NULL : value_read(st->t->mem, it->spec, it->spec_size, "a reason", err);

    if (st->unwind != 0 || it->outcome < PAWL_FAILED || it->outcome > PAWL_REJECTED)
        return fail(err, PAWL_CORRUPT, "item \"unwind\": it is under way, or comes to no end");
    if ((reason == NULL && it->spec != NULL) || !TOUCH(st, &st->unwind) || !TOUCH(st, &st->canceling) || !TOUCH(st, &st->reason) ||
        !TOUCH(st, &st->reason_bytes))
        return PAWL_NOMEM;
    st->unwind = it->outcome;
    st->canceling = true;       /* what is in flight is waited for */
    if (reason == NULL)
        return PAWL_OK;
    st_free(st, st->reason, st->reason_bytes);
    st->reason = st_value(st, reason, &st->reason_bytes);
    return st->reason == NULL ? PAWL_NOMEM : PAWL_OK;
}

pawl_code fold_inverse(pawl_state *st)
{
    if (!TOUCH(st, &st->undone) || !TOUCH(st, &st->canceling))
        return PAWL_NOMEM;
    st->undone++;
    st->canceling = false;      /* from here on what is open is performed */
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

pawl_code unwind_read(pawl_state *st, const pawl_value *fold, pawl_err *err)
{
    const pawl_value *notes = pawl_value_get(fold, "undo"), *v;
    const char *status = pawl_value_string(pawl_value_get(fold, "unwind"));
    uint64_t undone = pawl_value_uint(pawl_value_get(fold, "undone"));
    int to = name_index(status_names, 7, status);
    pawl_iter it = pawl_iter_of(notes);

    if ((notes != NULL && pawl_value_type(notes) != PAWL_TYPE_ARRAY) || (status != NULL && to < PAWL_FAILED) || undone > pawl_value_size(notes))
        return fail(err, PAWL_CORRUPT, "a folded state: undo is an array of notes, unwind the status of a run that is over, and no more is undone");
    st->unwind = (uint8_t)(to < 0 ? 0 : to);
    st->undone = (uint32_t)undone;
    if (notes != NULL) {
        st_list_dies(st, st->undo);     /* made by the receipts of open calls, which the notes have, too */
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
