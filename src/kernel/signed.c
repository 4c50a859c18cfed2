/* signed.c - waits that name approvers (P11): takes their signed answers, and folds them.
 *
 * A yes of fewer than the wait needs is an item "sign", and the wait goes from open to signed; the last one, or a no of any, is its answer. Called inside a
 * transaction. A feed has checked a signature before it makes the item, so the folds check it where stored entries are read. */
#include "kernel/journal/codec.h"
#include "kernel/names.h"
#include "kernel/signed.h"

#include <string.h>

pawl_code approvers_note(pawl_state *st, call *c)
{
    const pawl_value *spec;

    /* What a person is asked about may have a member of that name within: the text only says that it is worth while to read it. */
    if (c->kind != CALL_ASK || c->wait != PAWL_WAIT_APPROVAL || strstr(c->spec, "\"approvers\":{") == NULL)
        return PAWL_OK;
    if ((spec = value_read(st->t->mem, c->spec, c->spec_size, "a wait", NULL)) == NULL)
        return st->t->mem->failed ? PAWL_NOMEM : PAWL_CORRUPT;
    c->names_approvers = pawl_value_type(pawl_value_get(spec, "approvers")) == PAWL_TYPE_OBJECT;
    st->has_signed = st->has_signed || c->names_approvers;
    return PAWL_OK;
}

const char *wait_id_of(arena *a, const pawl_state *st, const item *it)
{
    char hex[17];
    const char *id;
    buf b;

    hex64(st->life, hex);
    buf_init(&b, &a->alloc);
    buf_fmt(&b, "%s~%s/", st->run, hex);
    id_code(&b, it);
    id = b.failed ? NULL : arena_strdup(a, b.data, b.size);
    buf_free(&b);
    return id;
}

/* False: no memory, or (*names false) its SPEC has no approvers after all. */
static bool signed_question(arena *a, const pawl_state *st, const call *c, const item *it, approval_question *q, bool *names)
{
    q->asked = value_read(a, c->spec, c->spec_size, "a wait", NULL);
    q->wait = wait_id_of(a, st, it);
    *names = q->asked == NULL || pawl_value_get(q->asked, "approvers") != NULL;
    return q->asked != NULL && q->wait != NULL && *names;
}

/* Whether one more signature goes with those before it. */
static pawl_code sign_fits(const pawl_value *before, const approval *one, const pawl_value *update, const char *wait, pawl_err *err)
{
    const pawl_value *first = pawl_value_get(pawl_value_at(before, 0), "value"), *v;
    pawl_iter it = pawl_iter_of(before);

    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(pawl_value_string(pawl_value_get(pawl_value_get(v, "value"), "name")), one->name) == 0)
            return fail(err, PAWL_CONFLICT, "wait %s: %s has signed it already", wait, one->name);
    if (!one->yes || before == NULL)
        return PAWL_OK;
    if (pawl_value_equal(pawl_value_get(first, "answer"), one->answer) &&
        pawl_value_equal(pawl_value_get(pawl_value_get(pawl_value_at(before, 0), "more"), "update"), update))
        return PAWL_OK;
    return fail(err, PAWL_CONFLICT, "wait %s: %s signed another answer: all sign the same, or one says no", wait,
                pawl_value_string(pawl_value_get(first, "name")));
}

/* One list of signed answers, each with its note. */
static const pawl_value *signed_list(arena *a, const pawl_value *before, const pawl_value *last, const char *note, bool yes)
{
    const pawl_value *all = value_pack(a, NULL, "[]"), *v;
    pawl_iter it = pawl_iter_of(yes ? before : NULL);       /* a no stands alone */

    while ((v = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *said = pawl_value_get(pawl_value_get(v, "more"), "note"), *one = pawl_value_get(v, "value");

        all = value_push(a, all, said != NULL ? value_with(a, one, "note", said) : one);
    }
    return value_push(a, all, note != NULL ? value_with(a, last, "note", value_string(a, note, strlen(note))) : last);
}

/* In the order of the journal, so that node code sees the same at every replay (K2). */
static const pawl_value *ordered(arena *a, const pawl_value *v)
{
    const pawl_value *out = v;
    buf b;

    if (v == NULL || value_ordered(v))
        return v;
    buf_init(&b, &a->alloc);
    canon(&b, v);
    out = b.failed ? NULL : value_read(a, b.data, b.size, "a signed answer", NULL);
    buf_free(&b);
    return out;
}

pawl_code signed_take(pawl_step *s, const call *c, const item *it, bool *whole, const pawl_value **value, pawl_err *err)
{
    const pawl_value *before = signed_so_far(&s->mem, c);
    approval_question q;
    approval one;
    bool names;
    pawl_code rc;

    if (!signed_question(&s->mem, s->st, c, it, &q, &names))
        return names ? PAWL_NOMEM : fail(err, PAWL_CORRUPT, "a wait names approvers, and has none");
    if (s->value == NULL)
        return fail(err, PAWL_INVALID, "%s: an answer needs a value", q.wait);
    if ((rc = approval_check(&s->mem, &q, s->value, s->update, s->ev->note, &one, err)) != PAWL_OK ||
        (rc = sign_fits(before, &one, s->update, q.wait, err)) != PAWL_OK)
        return rc;
    *whole = !one.yes || pawl_value_size(before) + 1 >= approvers_need(pawl_value_get(q.asked, "approvers"));
    *value = value_with(&s->mem, s->value, "answer", one.answer);
    if (*whole)
        *value = approval_answer(&s->mem, &q, signed_list(&s->mem, before, *value, s->ev->note, one.yes), s->update);
    *value = ordered(&s->mem, *value);
    return *value == NULL ? PAWL_NOMEM : PAWL_OK;
}

static pawl_code corrupt_sign(const item *it, const char *what, pawl_err *err)
{
    return fail(err, PAWL_CORRUPT, "item \"%s\" of %s: %s", item_name(it->kind), it->task, what);
}

static bool read_again(const pawl_state *st) { return st->t->mode == TXN_APPLY; }

/* Whether a stored "sign" is one that signed_take() would have made. */
static pawl_code sign_check(pawl_state *st, const call *c, const item *it, const pawl_value *before, pawl_err *err)
{
    const pawl_value *update = pawl_value_get(it->more, "update");
    arena *a = st->t->mem;
    pawl_err why = { PAWL_OK, "" };
    approval_question q;
    approval one;
    bool names;
    pawl_code rc;

    if (!signed_question(a, st, c, it, &q, &names))
        return names ? PAWL_NOMEM : corrupt_sign(it, "that wait takes no signatures", err);
    rc = approval_check(a, &q, it->value, update, pawl_value_string(pawl_value_get(it->more, "note")), &one, &why);
    if (rc == PAWL_OK)
        rc = sign_fits(before, &one, update, q.wait, &why);
    if (rc == PAWL_OK && (!one.yes || pawl_value_size(before) + 1 >= approvers_need(pawl_value_get(q.asked, "approvers"))))
        return corrupt_sign(it, "that signature is the last one, and the answer", err);
    return rc == PAWL_OK || rc == PAWL_NOMEM ? rc : corrupt_sign(it, why.text, err);
}

pawl_code fold_sign(pawl_state *st, const item *it, pawl_err *err)
{
    frame *f;
    task *tk;
    call *c = call_find(st, it->superstep, it->task, it->visit, it->n, &f, &tk);
    arena *a = st->t->mem;
    const pawl_value *before, *more = it->more != NULL ? it->more : value_pack(a, NULL, "{}");
    pawl_code rc;
    buf b;

    if (c == NULL || !call_is_open(c) || !c->names_approvers)
        return corrupt_sign(it, "no wait of that id is open and takes signatures", err);
    before = c->signs != NULL ? signed_so_far(a, c) : value_pack(a, NULL, "[]");
    if (before == NULL)
        return PAWL_NOMEM;
    if (read_again(st) && (rc = sign_check(st, c, it, pawl_value_size(before) > 0 ? before : NULL, err)) != PAWL_OK)
        return rc;
    if (it->at > st->record_ms)
        st->record_ms = it->at;
    if (!TOUCH(st, c) || !call_touch(st, tk))
        return PAWL_NOMEM;
    buf_init(&b, &a->alloc);
    canon(&b, value_push(a, before, value_pack(a, NULL, "{s:v,s:v}", "more", more, "value", it->value)));
    if (c->signs != NULL)
        st_free(st, c->signs, strlen(c->signs) + 1);
    c->signs = b.failed || a->failed ? NULL : st_text(st, b.data, b.size);
    buf_free(&b);
    if (c->signs == NULL)
        return PAWL_NOMEM;
    call_state_move(st, tk, c, CALL_SIGNED);
    return PAWL_OK;
}

pawl_code signed_fold_check(pawl_state *st, const call *c, const item *it, pawl_err *err)
{
    arena *a = st->t->mem;
    const pawl_value *otherwise;
    pawl_err why = { PAWL_OK, "" };
    approval_question q;
    bool names;
    pawl_code rc;

    if (!read_again(st) || !c->names_approvers)
        return PAWL_OK;
    if (!signed_question(a, st, c, it, &q, &names))
        return names ? PAWL_NOMEM : PAWL_OK;
    otherwise = pawl_value_get(q.asked, "otherwise");
    if (otherwise != NULL && pawl_value_equal(otherwise, it->value) && it->at >= pawl_value_int(pawl_value_get(q.asked, "expires")))
        return PAWL_OK;             /* its deadline has passed: a no, which nobody signs */
    rc = approval_answer_check(a, &q, it->value, pawl_value_get(it->more, "update"), &why);
    return rc == PAWL_OK || rc == PAWL_NOMEM ? rc : corrupt_sign(it, why.text, err);
}

/* ---- before a command leaves ----------------------------------------------------------------------------------- */

static pawl_code proof_add(pawl_state *st, const call *asked, item *it, arena *a, const pawl_value **proofs, pawl_err *err)
{
    const pawl_value *answer = asked->at == CALL_ANSWERED ? asked->value : NULL;
    approval_question q;
    bool names;
    pawl_code rc;

    /* A no needs no proof: nothing leaves by it, and a default after its deadline has none. */
    if (answer == NULL || !asked->names_approvers || answer_is_no(answer))
        return PAWL_OK;
    if (!signed_question(a, st, asked, it, &q, &names))
        return names ? PAWL_NOMEM : PAWL_OK;
    if ((rc = approval_answer_check(a, &q, answer, asked->update, err)) != PAWL_OK)
        return rc;
    if (*proofs == NULL)
        *proofs = value_pack(a, NULL, "[]");
    *proofs = value_push(a, *proofs, pawl_value_get(answer, "signed"));
    return *proofs != NULL ? PAWL_OK : PAWL_NOMEM;
}

pawl_code signed_of_command(pawl_state *st, const char *id, arena *a, const pawl_value **proofs, pawl_err *err)
{
    char path[PATH_BYTES_MAX + 1];
    item it = { .kind = ITEM_ASK, .task = path };
    task *tk = NULL;
    frame *in;
    uint32_t n;
    const call *c;
    pawl_code rc = PAWL_OK;

    *proofs = NULL;
    if (!st->has_signed)            /* fast path: else each command looks at all before it in its visit */
        return PAWL_OK;
    if (!state_id_parse(st, id, path, &it.superstep, &it.visit, &n) || (c = call_find(st, it.superstep, path, it.visit, n, &in, &tk)) == NULL || tk == NULL)
        return PAWL_OK;             /* it is of no visit: its approval stands in its arguments */
    for (it.n = 0; it.n < n && it.n < tk->ncalls && rc == PAWL_OK; it.n++)
        rc = proof_add(st, &tk->calls[it.n], &it, a, proofs, err);
    return rc;
}

/* ---- signing ------------------------------------------------------------------------------------------------- */

static const pawl_value *asked_of_wait(arena *a, const pawl_wait *w)
{
    const pawl_value *v = value_pack(a, NULL, "{s:v}", "approvers", w->approvers);

    v = w->about != NULL ? value_with(a, v, "about", w->about) : v;
    v = w->options != NULL ? value_with(a, v, "options", w->options) : v;
    v = w->prompt != NULL ? value_with(a, v, "prompt", w->prompt) : v;
    return w->schema != NULL ? value_with(a, v, "schema", w->schema) : v;
}

const char *pawl_wait_sign(const pawl_wait *w, const char *answer, const char *update, const char *note, const char *name,
                           const uint8_t seed[PAWL_SEED_BYTES], int64_t time_ms, pawl_step *step, pawl_err *err)
{
    approval_question q = { .wait = w != NULL ? w->id : NULL };
    approval_reply r = { NULL, NULL };
    const pawl_value *v = NULL;
    buf *b;

    if (w == NULL || w->approvers == NULL || answer == NULL || name == NULL || seed == NULL || step == NULL) {
        fail(err, PAWL_INVALID, "%s", w != NULL && w->approvers == NULL ? "that wait names no approvers: its answer is not signed" : "nothing to sign");
        return NULL;
    }
    step_reset(step);
    if ((r.answer = value_parse(&step->mem, answer, strlen(answer), "the answer", err)) == NULL ||
        (update != NULL && (r.update = value_parse(&step->mem, update, strlen(update), "the update", err)) == NULL))
        return NULL;
    q.asked = asked_of_wait(&step->mem, w);
    if (q.asked == NULL || (v = approval_sign(&step->mem, &q, &r, note, name, seed, time_ms, err)) == NULL) {
        if (step->mem.failed)
            fail(err, PAWL_NOMEM, "no memory to sign an answer");
        return NULL;
    }
    b = step_text(step);
    canon(b, v);
    return step_copy(step, b, NULL);
}
