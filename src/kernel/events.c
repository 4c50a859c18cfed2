/* events.c - turns an event into an item, or ignores or refuses the event, before any machine sees it (K1, E6, W3). Called by the step loop,
 * inside the step's transaction. */
#include "kernel/channel.h"
#include "kernel/doubt.h"
#include "kernel/events.h"
#include "kernel/journal/codec.h"
#include "kernel/machine.h"
#include "kernel/pending.h"
#include "kernel/rights.h"
#include "kernel/signed.h"
#include "kernel/visit.h"

#include <string.h>

static pawl_code refuse(pawl_step *s, pawl_err *err, const char *what)
{
    return fail(err, PAWL_INVALID, "%s: %s: %s", s->st->run, kind_names[s->ev->kind], what);
}

/* Members that the event does not have are left out. */
const pawl_value *event_members(pawl_step *s, const char *by, bool as)
{
    const pawl_event *ev = s->ev;
    buf *b = step_text(s);
    const char *sep = "{";
    const char *names[3] = { "as", "by", "note" }, *texts[3] = { as ? ev->name : NULL, by, ev->note };

    for (int i = 0; i < 3; i++) {
        if (texts[i] == NULL)
            continue;
        buf_text(b, sep);
        canon_string(b, names[i], strlen(names[i]));
        buf_char(b, ':');
        canon_string(b, texts[i], strlen(texts[i]));
        sep = ",";
    }
    if (s->update != NULL) {
        buf_text(b, sep);
        buf_text(b, "\"update\":");
        canon(b, s->update);
        sep = ",";
    }
    if (*sep == '{')
        buf_char(b, '{');
    buf_char(b, '}');
    if (b->failed)
        s->mem.failed = true;
    return b->failed ? NULL : value_read(&s->mem, b->data, b->size, "what was said", NULL);
}

static pawl_code add_value(pawl_step *s, unsigned kind, const pawl_value *v, pawl_err *err)
{
    item *it = step_item(s, kind);

    if (it != NULL)
        it->value = v;
    s->in = it;
    return v == NULL && s->mem.failed ? PAWL_NOMEM : step_add(s, it, err);
}

/* The event's value is an object of channels; NULL counts as an empty object. */
static pawl_code take_object(pawl_step *s, unsigned kind, pawl_err *err)
{
    static const yyjson_val none = { .tag = YYJSON_TYPE_OBJ, .uni = { .ofs = sizeof(yyjson_val) } };
    pawl_code rc;

    if (s->value == NULL)
        s->value = of_val(&none);
    if (pawl_value_type(s->value) != PAWL_TYPE_OBJECT)
        return refuse(s, err, "its value is an object of channels");
    s->whole = true;
    if ((rc = add_value(s, kind, s->value, err)) != PAWL_OK)
        return rc;
    return step_custom(s, "", s->value, err);
}

/* ---- ids -------------------------------------------------------------------------------------- */

typedef struct named_call { char path[PATH_BYTES_MAX + 1]; uint64_t superstep; uint32_t visit, n; call *c; frame *f; } named_call;

/* Whether a command of that id may have existed: the id is of an earlier superstep, here or in the subgraph, or of an earlier visit. The state
 * keeps no list of closed commands. */
static bool was_once(pawl_state *st, const named_call *c)
{
    char path[PATH_BYTES_MAX + 1];
    uint64_t visit_no, superstep;
    frame *in;

    if (strcmp(c->path, "@") == 0)
        return c->superstep <= st->seq;
    if (c->superstep != st->root.superstep)
        return c->superstep < st->root.superstep;
    for (const char *at = c->path;;) {
        size_t n = (size_t)(at - c->path) + strcspn(at, "/");
        task *tk;

        memcpy(path, c->path, n);
        path[n] = '\0';
        if ((tk = task_find(st, path, &in)) == NULL)
            return false;
        if (c->path[n] == '\0')
            return c->visit < tk->visit;
        at = c->path + n + 1;
        visit_no = number_in(&at);
        at += *at == '/';
        superstep = number_in(&at);
        at += *at == '/';
        if (visit_no != tk->visit || tk->child == NULL)
            return visit_no < tk->visit || (visit_no == tk->visit && tk->at == TASK_LEFT);
        if (superstep != tk->child->superstep)
            return superstep < tk->child->superstep;
    }
}

/* The open command or wait of that id. PAWL_IGNORED: it existed once and is closed; an error: it never existed. */
static pawl_code call_by_id(pawl_step *s, const char *id, named_call *out, pawl_err *err)
{
    pawl_state *st = s->st;

    if (id == NULL || !state_id_parse(st, id, out->path, &out->superstep, &out->visit, &out->n))
        return fail(err, PAWL_INVALID, "%s: \"%s\" is no id of this run", st->run, id != NULL ? id : "");
    out->c = call_find(st, out->superstep, out->path, out->visit, out->n, &out->f, NULL);
    if (out->c != NULL)
        return call_is_open(out->c) ? PAWL_OK : PAWL_IGNORED;
    if (was_once(st, out))
        return PAWL_IGNORED;
    return fail(err, PAWL_INVALID, "%s: \"%s\" is no command or wait that was ever made", st->run, id);
}

bool call_open(pawl_state *st, const char *id)
{
    named_call c;

    if (!state_id_parse(st, id, c.path, &c.superstep, &c.visit, &c.n))
        return false;
    c.c = call_find(st, c.superstep, c.path, c.visit, c.n, &c.f, NULL);
    return c.c != NULL && call_is_open(c.c);
}

static item *item_for(pawl_step *s, unsigned kind, const named_call *c)
{
    item *it = step_item(s, kind);

    if (it == NULL)
        return NULL;
    PAWL_ASSERT(call_is_open(c->c), "E6, W3: a receipt and an answer are for what is open");
    it->superstep = c->superstep;
    it->visit = c->visit;
    it->n = c->n;
    it->task = arena_strdup(&s->mem, c->path, strlen(c->path));
    it->at = s->ev->time_ms > s->st->time_ms ? s->ev->time_ms : s->st->time_ms;
    s->in = it;
    return it->task == NULL ? NULL : it;
}

static pawl_code take_doubt(pawl_step *s, const named_call *c, pawl_err *err)
{
    item *it;

    if (c->c->at == CALL_IN_DOUBT)
        return PAWL_IGNORED;        /* the receipt brings nothing new */
    s->skips_machine = true;
    s->whole = s->st->unwind != 0;
    it = item_for(s, ITEM_DOUBT, c);
    return it == NULL ? PAWL_NOMEM : doubt_add(s, it, c->c, err);
}

static pawl_code take_receipt(pawl_step *s, pawl_err *err)
{
    named_call c;
    pawl_code rc = call_by_id(s, s->ev->id, &c, err);
    item *it;

    if (rc != PAWL_OK)
        return rc;
    if (c.c->kind == CALL_ASK)
        return refuse(s, err, "that id is a wait: it takes an answer");
    if ((unsigned)s->ev->outcome > PAWL_OUTCOME_UNKNOWN)
        return refuse(s, err, "its outcome is none");
    if (c.c->kind == CALL_SLEEP && s->ev->outcome == PAWL_OUTCOME_DONE)
        return refuse(s, err, "that id is a sleep: its timer ends it, or it is called off");
    if (s->update != NULL && receipt_usage_error(s->update) != NULL)
        return refuse(s, err, receipt_usage_error(s->update));
    if (doubt_due(s, c.c, s->ev->outcome))
        return take_doubt(s, &c, err);
    s->answered = arena_get(&s->mem, sizeof *s->answered);
    if ((it = item_for(s, ITEM_RECEIPT, &c)) == NULL || s->answered == NULL)
        return PAWL_NOMEM;
    *s->answered = *c.c;
    it->outcome = (uint8_t)s->ev->outcome;
    it->value = s->value != NULL ? s->value : value_null(&s->mem);     /* the same node that a reader of the journal gets */
    if (s->update != NULL && (it->more = budget_bill(s, c.c, s->ev->outcome, s->update)) == NULL)
        return PAWL_NOMEM;
    return it->value == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

/* ---- waits --------------------------------------------------------------------------------------- */

typedef struct wait_search {
    pawl_step *s;
    const char *want;       /* the local part of an id, a slot or a node's name; NULL: any wait */
    unsigned kind;          /* pawl_wait_kind; 0: any kind except signals */
    uint32_t found;
    bool by_slot;           /* a wait with exactly this slot was found, which excludes waits that match by the node's name */
    named_call at;
} wait_search;

/* The slot "worker:3.budget" also matches "budget", the name that its node chose. */
static bool ends_with(const char *slot, const char *chosen)
{
    size_t n = strlen(slot), m = strlen(chosen);

    return n > m && slot[n - m - 1] == '.' && strcmp(slot + n - m, chosen) == 0;
}

static bool wait_is(wait_search *w, const task *tk, const call *c)
{
    const char *slot;

    if (w->kind != 0 ? c->wait != w->kind : c->wait == PAWL_WAIT_SIGNAL)
        return false;
    if (w->want == NULL)
        return true;
    slot = pawl_value_string(spec_get(w->s, c, c->wait == PAWL_WAIT_SIGNAL ? "name" : "slot"));
    if (w->kind == 0 && slot != NULL && ends_with(slot, w->want) && !w->by_slot)
        return true;
    if (slot != NULL && strcmp(slot, w->want) == 0) {
        if (w->kind == 0 && !w->by_slot)
            w->found = 0;
        w->by_slot = w->kind == 0;
        return true;
    }
    return w->kind == 0 && !w->by_slot && tk != NULL && strlen(w->want) == tk->node_size &&
           strncmp(tk->name, w->want, tk->node_size) == 0;
}

static bool see_wait(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    wait_search *w = ctx;

    (void)f;
    if (!call_asks(c) || !wait_is(w, tk, c))
        return true;
    if (w->found++ == 0) {
        size_t size = strlen(path);

        memcpy(w->at.path, path, size + 1);
        w->at.superstep = c->superstep;
        w->at.visit = c->visit;
        w->at.n = n;
    }
    return w->kind != PAWL_WAIT_SIGNAL;     /* the first matching wait takes a signal; an answer must match exactly one wait */
}

static pawl_code wait_named(pawl_step *s, const char *want, unsigned kind, named_call *out, pawl_err *err)
{
    wait_search w = { .s = s, .want = want, .kind = kind };

    state_each_call(s->st, see_wait, &w);
    if (w.found == 1) {
        *out = w.at;
        out->c = call_find(s->st, out->superstep, out->path, out->visit, out->n, &out->f, NULL);
        return out->c != NULL ? PAWL_OK : fail(err, PAWL_CORRUPT, "%s: a wait cannot be found again", s->st->run);
    }
    if (kind != 0)
        return PAWL_IGNORED;
    if (w.found == 0)
        return fail(err, PAWL_INVALID, want == NULL ? "%s: nothing is asked%s" : "%s: no open wait \"%s\"", s->st->run, want != NULL ? want : "");
    return fail(err, PAWL_INVALID, "%s: %u waits are open%s%s: name one by its id", s->st->run, w.found, want != NULL ? " for " : "",
                want != NULL ? want : "");
}

static pawl_code wait_find(pawl_step *s, named_call *out, pawl_err *err)
{
    const char *id = s->ev->id;
    pawl_code rc;
    buf *b;

    if (id == NULL || !state_id_parse(s->st, id, out->path, &out->superstep, &out->visit, &out->n))
        return wait_named(s, id, 0, out, err);
    rc = call_by_id(s, id, out, err);
    if (rc == PAWL_OK && !call_asks(out->c))
        return refuse(s, err, "that id is a command: it takes a receipt");
    if (rc != PAWL_IGNORED)
        return rc;
    if (out->c == NULL || out->c->value == NULL)
        return fail(err, PAWL_CONFLICT, "%s: wait %s is over", s->st->run, id);
    b = step_text(s);
    canon(b, out->c->value);
    return fail(err, PAWL_CONFLICT, "%s: wait %s was answered before, with %.*s", s->st->run, id,
                b->size > 80 ? 80 : (int)b->size, b->data);
}

static pawl_code answer_check(pawl_step *s, const call *c, const pawl_value *v, pawl_err *err)
{
    const pawl_value *schema = spec_get(s, c, "schema"), *options = spec_get(s, c, "options");
    pawl_err why = { PAWL_OK, "" };

    if (v == NULL)
        return refuse(s, err, "an answer needs a value (null is one)");
    if (schema != NULL && (s->m->patterns ? schema_check : schema_check_loose)(schema, v, "the answer", &why) != PAWL_OK)
        return fail(err, why.code, "%s", why.text);
    if (options != NULL && !value_one_of(options, v))
        return refuse(s, err, "the answer is none of the options");
    return PAWL_OK;
}

/* Merges the answer to a wait outside a visit at once, and its update too. */
static pawl_code detached_custom(pawl_step *s, const char *path, const pawl_value *v, pawl_err *err)
{
    const char *to = pawl_value_string(spec_get(s, s->answered, "to"));
    pawl_code rc = PAWL_OK;

    path = arena_strdup(&s->mem, path, strlen(path));
    if (path != NULL && to != NULL)
        rc = step_custom(s, path, value_with(&s->mem, value_pack(&s->mem, NULL, "{}"), to, v), err);
    if (path != NULL && rc == PAWL_OK && s->update != NULL)
        rc = step_custom(s, path, s->update, err);
    return path == NULL ? PAWL_NOMEM : rc;
}

/* An update that comes after others is merged after them, as its person's last word (W8). */
static const pawl_value *answer_members(pawl_step *s, const named_call *c, const char *by)
{
    const uint32_t after = s->update != NULL && !s->early_update ? pending_before(s->st, c->f, c->c) : 0;
    const pawl_value *more = event_members(s, by, false);

    return after > 0 ? value_with(&s->mem, more, AFTER_MEMBER, value_uint(&s->mem, after)) : more;
}

static pawl_code add_answer(pawl_step *s, const named_call *c, const pawl_value *v, const char *by, pawl_err *err)
{
    item *it = item_for(s, ITEM_ANSWER, c);
    pawl_code rc;

    s->answered = arena_get(&s->mem, sizeof *s->answered);
    if (it == NULL || s->answered == NULL)
        return PAWL_NOMEM;
    *s->answered = *c->c;
    s->skips_machine = c->c->at == CALL_IN_DOUBT && pawl_value_string(v) != NULL;      /* "again" */
    s->whole = s->whole || s->st->unwind != 0;
    if (s->skips_machine && s->update != NULL)
        return refuse(s, err, "an update goes with what a command came to, not with \"again\"");
    it->value = v;
    it->more = answer_members(s, c, by);
    if (pawl_value_size(it->more) == 0)
        it->more = NULL;
    if ((rc = step_add(s, it, err)) != PAWL_OK || s->answered->task == NULL)
        return rc;
    return detached_custom(s, c->path, v, err);
}

/* Input for a machine between turns: drops the wait for input and merges the object. */
static pawl_code take_turn(pawl_step *s, const named_call *c, pawl_err *err)
{
    item *drop = item_for(s, ITEM_DROP, c);
    pawl_code rc;

    if (drop == NULL)
        return PAWL_NOMEM;
    if ((rc = step_add(s, drop, err)) != PAWL_OK)
        return rc;
    if ((rc = add_value(s, ITEM_TURN, NULL, err)) != PAWL_OK)
        return rc;
    return take_object(s, ITEM_INPUT, err);
}

/* One of several approvers has signed: the wait stays open, and the machine gets no event. */
static pawl_code add_sign(pawl_step *s, const named_call *c, const pawl_value *v, pawl_err *err)
{
    item *it = item_for(s, ITEM_SIGN, c);

    if (it == NULL)
        return PAWL_NOMEM;
    s->skips_machine = true;
    s->whole = s->whole || s->st->unwind != 0;
    it->value = v;
    it->more = event_members(s, s->ev->by, false);
    if (pawl_value_size(it->more) == 0)
        it->more = NULL;
    return step_add(s, it, err);
}

static pawl_code take_signed(pawl_step *s, const named_call *c, pawl_err *err)
{
    const item of = { .superstep = c->superstep, .task = c->path, .visit = c->visit, .n = c->n };
    const pawl_value *v = NULL;
    bool whole = false;
    pawl_code rc = signed_take(s, c->c, &of, &whole, &v, err);

    if (rc != PAWL_OK)
        return rc;
    return whole ? add_answer(s, c, v, s->ev->by, err) : add_sign(s, c, v, err);
}

static pawl_code take_answer(pawl_step *s, pawl_err *err)
{
    named_call c;
    pawl_code rc = wait_find(s, &c, err);

    if (rc != PAWL_OK)
        return rc;
    if (c.c->names_approvers)
        return take_signed(s, &c, err);
    if ((rc = answer_check(s, c.c, s->value, err)) != PAWL_OK)
        return rc;
    if (c.c->wait == PAWL_WAIT_INPUT && c.c->task != NULL && s->m->turns)
        return take_turn(s, &c, err);
    return add_answer(s, &c, s->value, s->ev->by, err);
}

/* A signal that no wait takes, for a machine that declares that it handles such signals. */
static pawl_code take_unawaited(pawl_step *s, const char *name, pawl_err *err)
{
    item *it = step_item(s, ITEM_SIGNAL);

    if (it == NULL || (it->task = arena_strdup(&s->mem, name, strlen(name))) == NULL)
        return PAWL_NOMEM;
    it->value = s->value != NULL ? s->value : value_null(&s->mem);     /* the same node that a reader of the journal gets */
    s->in = it;
    return it->value == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

static pawl_code take_input(pawl_step *s, pawl_err *err)
{
    named_call c;
    pawl_code rc = wait_named(s, NULL, PAWL_WAIT_INPUT, &c, err);

    if (rc == PAWL_IGNORED && s->m->interrupt != NULL)
        return take_unawaited(s, "input", err);

    if (rc == PAWL_OK && c.c->task != NULL && s->m->turns)
        return take_turn(s, &c, err);
    if (rc == PAWL_OK && (rc = answer_check(s, c.c, s->value, err)) != PAWL_OK)
        return rc;
    return rc == PAWL_OK ? add_answer(s, &c, s->value, s->ev->by, err) : rc;
}

static pawl_code take_timer(pawl_step *s, pawl_err *err)
{
    named_call c;
    pawl_code rc = call_by_id(s, s->ev->id, &c, err);
    const pawl_value *otherwise;
    item *it;

    if (rc != PAWL_OK)
        return rc;
    if (c.c->kind == CALL_SLEEP) {
        if (s->ev->time_ms + (BROKEN(BROKEN_SLEEP_EARLY) ? 1000 : 0) < c.c->time_ms && !state_canceling(s->st))
            return PAWL_IGNORED;        /* not due yet; a canceled run ends its sleeps at once */
        s->answered = arena_get(&s->mem, sizeof *s->answered);
        if ((it = item_for(s, ITEM_RECEIPT, &c)) == NULL || s->answered == NULL)
            return PAWL_NOMEM;
        *s->answered = *c.c;
        it->value = value_null(&s->mem);        /* the same node that a reader of the journal gets */
        return it->value == NULL ? PAWL_NOMEM : step_add(s, it, err);
    }
    otherwise = c.c->kind == CALL_ASK ? spec_get(s, c.c, "otherwise") : NULL;
    if (otherwise == NULL || s->ev->time_ms < pawl_value_int(spec_get(s, c.c, "expires")))
        return PAWL_IGNORED;            /* W5: a wait without a default never expires */
    return add_answer(s, &c, otherwise, "@timer", err);
}

static pawl_code take_signal(pawl_step *s, pawl_err *err)
{
    named_call c;
    pawl_code rc;

    if (s->ev->name == NULL)
        return refuse(s, err, "it has a name");
    rc = wait_named(s, s->ev->name, PAWL_WAIT_SIGNAL, &c, err);
    if (rc == PAWL_OK)
        return add_answer(s, &c, s->value != NULL ? s->value : value_null(&s->mem), s->ev->by, err);
    return rc == PAWL_IGNORED && s->m->hears ? take_unawaited(s, s->ev->name, err) : rc;
}

/* ---- the rest ----------------------------------------------------------------------------------------- */

/* The machine is not called: nothing has happened to it. Only the snapshot that this state has made is named, so nobody outside can name one (K11). */
static pawl_code take_naming(pawl_step *s, pawl_err *err)
{
    const char *digest = pawl_value_string(pawl_value_get(pawl_value_get(s->value, SNAPSHOT_MEMBER), "digest"));
    item *it;

    if (!snapshot_is_made(s->st, digest) || s->ev->name != NULL)
        return refuse(s, err, "\"" SNAPSHOT_MEMBER "\" names the snapshot that the engine has just made, and is no channel");
    if ((it = step_item(s, ITEM_UPDATE)) == NULL)
        return PAWL_NOMEM;
    it->value = s->value;
    it->more = event_members(s, s->ev->by, true);
    s->whole = s->skips_machine = true;     /* an entry also in an open superstep: a task record is in the chain only when that is closed */
    return it->more == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

static pawl_code take_update(pawl_step *s, pawl_err *err)
{
    item *it;
    pawl_code rc;

    if (pawl_value_type(s->value) != PAWL_TYPE_OBJECT)
        return refuse(s, err, "its value is an object of channels");
    if (pawl_value_get(s->value, SNAPSHOT_MEMBER) != NULL)
        return take_naming(s, err);
    if (s->ev->name != NULL)
        return PAWL_OK;             /* an update in the name of a node: the graph handles it */
    if ((it = step_item(s, ITEM_UPDATE)) == NULL)
        return PAWL_NOMEM;
    it->value = s->value;
    it->more = event_members(s, s->ev->by, true);
    s->in = it;
    s->whole = !s->st->root.open;
    if ((rc = step_add(s, it, err)) != PAWL_OK)
        return rc;
    return s->st->root.open ? PAWL_OK : step_custom(s, "", s->value, err);      /* in an open superstep the close merges the update */
}

static const decl *decl_of(const pawl_state *st, const machine_channel *mc)
{
    for (uint32_t i = 0; i < st->ndecls; i++)
        if (strcmp(st->decls[i].name, mc->c.name) == 0 && strcmp(st->decls[i].where, mc->where) == 0)
            return &st->decls[i];
    return NULL;
}

/* A channel keeps its rule for the whole run, since folded values depend on the rule (K6). */
static pawl_code channels_fit(const pawl_step *s, pawl_err *err)
{
    for (uint32_t i = 0; i < s->m->nchannels; i++) {
        const pawl_channel *c = &s->m->channels[i].c;
        const decl *d = decl_of(s->st, &s->m->channels[i]);

        if (d == NULL || (d->rule == c->rule && d->accumulate == c->accumulate && (d->secret == NULL) == (c->secret == NULL) &&
                          (d->secret == NULL || strcmp(d->secret, c->secret) == 0)))
            continue;
        return fail(err, PAWL_INVALID, "%s: adopt: channel \"%s\" is %s in this run, and %s in %s %u: give it another name", s->st->run, c->name,
                    d->secret != NULL ? d->secret : d->accumulate ? "accumulating" : rule_names[d->rule],
                    c->secret != NULL ? c->secret : c->accumulate ? "accumulating" : rule_names[c->rule], s->m->name, (unsigned)s->m->version);
    }
    return PAWL_OK;
}

/* The channels that the adopted machine declares and the run lacks; they start with their first values, without a migration (K9). */
static const pawl_value *channels_new(pawl_step *s)
{
    const pawl_state *st = s->st;
    machine_channel *mc = arena_get(&s->mem, (s->m->nchannels + 1) * sizeof *mc);
    const char *text;
    uint32_t n = 0;

    for (uint32_t i = 0; mc != NULL && i < s->m->nchannels; i++)
        if (decl_of(st, &s->m->channels[i]) == NULL)
            mc[n++] = s->m->channels[i];
    text = mc == NULL ? NULL : channels_code(&s->mem, mc, n, NULL);
    return text == NULL ? NULL : value_read(&s->mem, text, strlen(text), "channels", NULL);
}

static pawl_code take_adopt(pawl_step *s, pawl_err *err)
{
    const pawl_value *v = value_pack(&s->mem, err, "{s:s,s:s,s:u}", "hash", s->m->hash_hex, "name", s->m->name, "version",
                                     (uint64_t)s->m->version);

    const pawl_value *more = channels_new(s);

    s->whole = true;
    if (pawl_value_size(more) > 0)
        v = value_with(&s->mem, v, "channels", more);
    if (v == NULL || more == NULL)
        return PAWL_NOMEM;
    if (hash_equal(&s->m->hash, &s->st->machine_hash) && s->m->version == s->st->version)
        return PAWL_IGNORED;
    if (channels_fit(s, err) != PAWL_OK)
        return PAWL_INVALID;
    if (status_is_terminal(s->st->status))
        s->final = s->st->status;       /* an adoption does not change the status of a run that ended */
    return add_value(s, ITEM_ADOPT, v, err);
}

pawl_code state_under(const pawl_machine *m, pawl_state *st, pawl_step *s, pawl_err *err)
{
    const pawl_value *more;
    pawl_code rc;

    step_reset(s);
    s->m = m;
    s->st = st;
    if (channels_fit(s, err) != PAWL_OK)
        return PAWL_INVALID;
    if ((more = channels_new(s)) == NULL)
        return fail(err, PAWL_NOMEM, "%s: no memory for the channels of %s", st->run, m->name);
    txn_begin(st, &s->t, &s->mem, TXN_APPLY);
    rc = pawl_value_size(more) > 0 ? decls_add(st, more, err) : PAWL_OK;
    if (rc == PAWL_OK && s->mem.failed)
        rc = fail(err, PAWL_NOMEM, "%s: no memory for the channels of %s", st->run, m->name);
    txn_end(st, rc == PAWL_OK);
    if (rc != PAWL_OK)
        return rc;
    st->machine_hash = m->hash;
    st->version = m->version;
    return PAWL_OK;
}

pawl_code take_event(pawl_step *s, pawl_err *err)
{
    const pawl_state *st = s->st;
    bool over = status_is_terminal(st->status), reopens = s->ev->kind == PAWL_EV_REOPEN;
    pawl_code rc;

    if (st->status == PAWL_STATUS_SUBMITTED ? s->ev->kind != PAWL_EV_START && s->ev->kind != PAWL_EV_CANCEL : s->ev->kind == PAWL_EV_START)
        return PAWL_IGNORED;
    if (over ? st->status != PAWL_STATUS_FAILED || !(reopens || s->ev->kind == PAWL_EV_ADOPT) : reopens)
        return PAWL_IGNORED;        /* a failed run can be adopted, and then reopened under the corrected machine */
    if ((state_canceling(st) || (st->unwind != 0 && !over)) && (s->ev->kind == PAWL_EV_SIGNAL || s->ev->kind == PAWL_EV_UPDATE))
        return PAWL_IGNORED;        /* a run that is being canceled or compensated starts nothing new */
    if (reopens && st->undone > 0)
        return refuse(s, err, "what it did was undone: begin another run, or a fork of it");
    if (!rights_keep_signers(s->st, s->ev->kind == PAWL_EV_UPDATE || s->ev->kind == PAWL_EV_INPUT ? s->value : s->update))
        return refuse(s, err, SIGNERS_OTHER);
    if (s->ev->kind == PAWL_EV_CANCEL && st->unwind != 0 && !state_canceling(st))
        return PAWL_IGNORED;        /* the run ends when its inverses have run, with or without a cancel */
    switch (s->ev->kind) {
    case PAWL_EV_START:   return take_object(s, ITEM_START, err);
    case PAWL_EV_INPUT:   return take_input(s, err);
    case PAWL_EV_RECEIPT: return take_receipt(s, err);
    case PAWL_EV_TIMER:   return take_timer(s, err);
    case PAWL_EV_SIGNAL:  return take_signal(s, err);
    case PAWL_EV_ANSWER:  return take_answer(s, err);
    case PAWL_EV_UPDATE:  return take_update(s, err);
    case PAWL_EV_ADOPT:   return take_adopt(s, err);
    case PAWL_EV_CANCEL:
        s->whole = true;
        return add_value(s, ITEM_CANCEL, event_members(s, s->ev->by, false), err);
    case PAWL_EV_REOPEN:
        s->whole = true;
        if ((rc = add_value(s, ITEM_REOPEN, event_members(s, s->ev->by, false), err)) != PAWL_OK || s->update == NULL)
            return rc;
        return step_custom(s, "", s->update, err);
    case PAWL_EV_TICK:          /* handled by take_tick() in step.c */
        break;
    }
    return PAWL_IGNORED;
}
