/* reducer.c - a machine that is one function from state and event to a step (F1).
 *
 * A reducer has no supersteps: each event is an entry, its commands are named by the entry's number, and the function runs once for each event. Called by
 * the kernel's step loop, inside the step's transaction. */
#include "flow/flow.h"
#include "kernel/budget_ask.h"
#include "kernel/channel.h"
#include "kernel/compensation.h"
#include "kernel/cost.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/references.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/txn.h"
#include "kernel/visit.h"

#include <string.h>

bool in_reducer(const pawl_step *s)
{
    return s != NULL && s->v != NULL && s->v->task == NULL && s->m != NULL && s->m->ops == &reducer_ops;
}

/* ---- what it says -------------------------------------------------------------------------------- */

/* A call whose spec is written after the event's writes are folded, so that a reference to a channel means the new value. */
typedef struct flow_call {
    item it;                    /* item.value has the arguments */
    const char *effect, *tag, *owner;
    pawl_limits limits;         /* with a cost of its own */
    bool limited;
} flow_call;

static void flow_add(pawl_step *s, item *it)
{
    visit *v = s->v;

    if (v->cursor >= v->max_calls) {
        visit_wrong(s, PAWL_LIMIT, "more than %u commands for one event (PAWL_FLOW_COMMANDS_MAX)", (unsigned)v->max_calls);
        return;
    }
    it->task = "@";
    it->visit = 1;
    it->n = v->cursor++;
    if (v->commands_last == NULL)
        v->commands = it;
    else
        v->commands_last->next = it;
    v->commands_last = it;
}

static void flow_command(pawl_step *s, unsigned kind, int64_t time_ms, unsigned wait, const char *spec, size_t size)
{
    item *it = spec == NULL ? NULL : step_item(s, kind);

    if (it == NULL)
        return;
    it->superstep = s->st->seq + 1;
    it->at = time_ms;
    it->wait = (uint8_t)wait;
    it->spec = spec;
    it->spec_size = size;
    flow_add(s, it);
}

static void not_reducer(pawl_step *s, const char *what)
{
    if (s != NULL && s->v != NULL)
        visit_wrong(s, PAWL_INVALID, "pawl_flow_%s is for reducers; a node has pawl_%s", what, what);
}

void pawl_flow_call(pawl_step *s, const char *tag, const char *effect, const pawl_value *args)
{
    if (pawl_flow_call_with(s, tag, effect, args, NULL) == PAWL_LIMIT && s->v->refusal != NULL)
        visit_wrong(s, PAWL_LIMIT, "%s", s->v->refusal);
}

/* The amounts that the call reserves, and whether the budget has room for them. */
static pawl_code flow_wants(pawl_step *s, flow_call *c, const char *effect, const pawl_cost *cost)
{
    const pawl_limits *limits = machine_limits(s->m, effect);
    amounts due;
    pawl_code rc;

    if (cost != NULL) {
        c->limited = true;
        c->limits = limits != NULL ? *limits : (pawl_limits){0};
        c->limits.cost = *cost;
        limits = &c->limits;
    }
    if (cost != NULL && cost_error(cost) != NULL)
        return visit_wrong(s, PAWL_INVALID, "%s", cost_error(cost));
    due = cost_due(limits);
    if ((rc = budget_check_command(s, &due, &s->v->refusal)) != PAWL_LIMIT)
        s->v->refusal = NULL;
    return rc;
}

pawl_code pawl_flow_call_with(pawl_step *s, const char *tag, const char *effect, const pawl_value *args, const pawl_cost *cost)
{
    flow_call *c;
    pawl_code rc;

    if (!in_reducer(s)) {
        not_reducer(s, "call");
        return PAWL_INVALID;
    }
    if (!name_valid(effect))
        return visit_wrong(s, PAWL_INVALID, "\"%.64s\" is no name of an effect", effect != NULL ? effect : "");
    if ((c = arena_zero(&s->mem, sizeof *c)) == NULL)
        return PAWL_NOMEM;
    if ((rc = flow_wants(s, c, effect, cost)) != PAWL_OK)
        return rc;
    c->it.kind = ITEM_CALL;
    c->it.superstep = s->st->seq + 1;
    c->it.value = args == NULL || arena_owns(&s->mem, args) ? args : value_copy(&s->mem, args);
    c->effect = arena_text(&s->mem, effect);
    c->tag = arena_text(&s->mem, tag);
    c->owner = s->v->owner;
    flow_add(s, &c->it);
    return s->v->err.code;
}

static pawl_code calls_settle(pawl_step *s, const visit *v, pawl_err *err)
{
    char digest[HASH_HEX + 32];
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < s->refs.count && v->nwrites > 0 && rc == PAWL_OK; i++) {
        if (strcmp(s->refs.list[i].form, "channel") != 0 || s->refs.list[i].digest == NULL)
            continue;
        rc = channel_digest(s->st, channel_find(&s->st->root, s->refs.list[i].target), digest, sizeof digest, err);
        if (rc == PAWL_OK && (s->refs.list[i].digest = arena_text(&s->mem, digest)) == NULL)
            rc = PAWL_NOMEM;
    }
    for (item *it = v->commands; it != NULL && rc == PAWL_OK; it = it->next) {
        flow_call *c = (flow_call *)(void *)it;

        if (it->kind == ITEM_CALL && (it->spec = spec_call(s, c->effect, it->value, c->limited ? &c->limits : machine_limits(s->m, c->effect),
                                                           c->tag, &it->spec_size)) == NULL)
            rc = PAWL_NOMEM;
    }
    return rc;
}

pawl_code pawl_flow_spawn(pawl_step *s, const char *tag, const char *machine, const pawl_value *input, const pawl_flow_child *child)
{
    const pawl_flow_child none = {0}, *c = child != NULL ? child : &none;
    const spawn_more more = { c->name, tag };
    pawl_caps given;
    amounts due;
    const char *spec;
    size_t size = 0;
    pawl_code rc;

    if (!in_reducer(s)) {
        not_reducer(s, "spawn");
        return PAWL_INVALID;
    }
    if (!name_valid(machine))
        return visit_wrong(s, PAWL_INVALID, "\"%.64s\" is no name of a machine", machine != NULL ? machine : "");
    if ((rc = budget_share(s, c->share, &given)) != PAWL_OK)
        return rc;
    due = share_due(&given);
    if ((rc = budget_check_command(s, &due, &s->v->refusal)) != PAWL_OK)
        return rc;
    s->v->refusal = NULL;
    spec = spec_spawn(s, machine, input, &given, &more, &size);
    flow_command(s, ITEM_SPAWN, 0, 0, spec, size);
    return s->v->err.code;
}

void pawl_flow_drop(pawl_step *s, const char *tag)
{
    visit *v = s != NULL ? s->v : NULL;

    if (!in_reducer(s)) {
        not_reducer(s, "drop");
        return;
    }
    if (tag != NULL && arena_room(&s->mem, (void **)&v->drops, &v->drops_cap, v->ndrops, sizeof *v->drops))
        v->drops[v->ndrops++] = arena_text(&s->mem, tag);
}

static bool is_under(const char *of, const char *tag) { return of != NULL && strcmp(of, tag) == 0; }

static bool made_under(pawl_step *s, const item *it, const char *tag)
{
    const call c = { .kind = CALL_ASK, .spec = it->spec, .spec_size = (uint32_t)it->spec_size };
    const flow_call *made = it->kind == ITEM_CALL ? (const flow_call *)(const void *)it : NULL;

    if (made != NULL)
        return is_under(made->tag, tag) || is_under(made->owner, tag);
    return is_under(pawl_value_string(spec_get(s, &c, "tag")), tag);
}

void flow_owner(pawl_step *s, const char *tag)
{
    if (in_reducer(s))
        s->v->owner = tag;
}

bool flow_made(pawl_step *s, const char *tag)
{
    for (const item *it = in_reducer(s) && tag != NULL ? s->v->commands : NULL; it != NULL; it = it->next)
        if (made_under(s, it, tag))
            return true;
    return false;
}

void flow_withdraw(pawl_step *s, const char *tag)
{
    visit *v = s != NULL ? s->v : NULL;
    size_t kept = 0;

    if (!in_reducer(s) || tag == NULL)
        return;
    v->commands_last = NULL;
    v->cursor = 0;
    for (item **at = &v->commands, *it; (it = *at) != NULL;)
        if (made_under(s, it, tag)) {
            *at = it->next;
        } else {
            it->n = v->cursor++;        /* numbers have no gaps */
            v->commands_last = it;
            at = &it->next;
        }
    for (size_t i = 0; i < v->nemits; i++)
        if (!is_under(v->emits[i].owner, tag))
            v->emits[kept++] = v->emits[i];
    v->nemits = kept;
}

void pawl_flow_sleep(pawl_step *s, const char *tag, int64_t ms)
{
    const char *spec;
    size_t size;
    buf *b;

    if (!in_reducer(s)) {
        not_reducer(s, "sleep");
        return;
    }
    if (ms < 0)
        ms = 0;
    b = step_text(s);
    buf_text(b, "{\"ms\":");
    buf_int(b, ms);
    if (tag != NULL) {
        buf_text(b, ",\"tag\":");
        canon_string(b, tag, strlen(tag));
    }
    buf_char(b, '}');
    spec = step_copy(s, b, &size);
    flow_command(s, ITEM_SLEEP, s->now > INT64_MAX - ms ? INT64_MAX : s->now + ms, 0, spec, size);
}

typedef struct slot_search { pawl_step *s; const char *slot; bool taken, made; } slot_search;

static bool see_slot(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    slot_search *w = ctx;
    const char *slot = c->kind != CALL_ASK ? NULL : pawl_value_string(spec_get(w->s, c, "slot"));
    const char *tag = slot == NULL ? NULL : pawl_value_string(spec_get(w->s, c, "tag"));

    (void)f, (void)tk, (void)path, (void)n;
    for (size_t i = 0; tag != NULL && !w->made && i < w->s->v->ndrops; i++)
        if (strcmp(tag, w->s->v->drops[i]) == 0)
            return true;        /* this event drops the call */
    w->taken = slot != NULL && strcmp(slot, w->slot) == 0;
    return !w->taken;
}

/* A slot that is unique among the open waits (W1): a slot that is taken gets a number, "rate.2". */
static const char *slot_free(pawl_step *s, const char *slot)
{
    slot_search w = { .s = s, .slot = slot };

    for (unsigned i = 1; !s->mem.failed; i++) {
        w.slot = i == 1 ? slot : pawl_format(s, "%s.%u", slot, i);
        if (w.slot == NULL)
            return NULL;
        w.taken = w.made = false;
        state_each_call(s->st, see_slot, &w);
        w.made = true;
        for (const item *it = s->v->commands; it != NULL && !w.taken; it = it->next) {
            const call c = { .kind = CALL_ASK, .spec = it->spec, .spec_size = (uint32_t)it->spec_size };

            if (it->kind == ITEM_ASK)
                see_slot(&w, NULL, NULL, "", &c, 0);
        }
        if (!w.taken)
            return w.slot;
    }
    return NULL;
}

void pawl_flow_ask(pawl_step *s, const char *tag, const pawl_question *q)
{
    const char *spec, *slot, *name;
    size_t size = 0;

    if (!in_reducer(s)) {
        not_reducer(s, "ask");
        return;
    }
    if (q == NULL || (q->kind == PAWL_WAIT_APPROVAL && q->otherwise != NULL && !is_no(q->otherwise))) {
        visit_wrong(s, PAWL_INVALID, q == NULL ? "a question is needed to ask" : "an approval's only default is no");    /* W5 */
        return;
    }
    name = q->slot != NULL ? q->slot : tag != NULL ? tag : "answer";
    if ((slot = slot_free(s, name)) == NULL)
        return;
    spec = spec_ask(s, q, slot, s->now, q->kind == PAWL_WAIT_SIGNAL ? name : NULL, NULL, tag, false, &size);
    flow_command(s, ITEM_ASK, s->now, q->kind != 0 ? q->kind : PAWL_WAIT_QUESTION, spec, size);
}

pawl_code pawl_flow_complete(pawl_step *s)
{
    if (!in_reducer(s))
        return pawl_halt(s);
    s->v->halt = true;
    return PAWL_OK;
}

pawl_code pawl_flow_reject(pawl_step *s, const char *reason)
{
    return pawl_fail(s, PAWL_DENIED, "%s", reason != NULL ? reason : "rejected");
}

/* ---- what it receives ---------------------------------------------------------------------------------- */

static void input_event_of(pawl_step *s, pawl_input_event *h)
{
    const pawl_event *ev = s->ev;

    *h = (pawl_input_event){ .kind = ev->kind, .tag = ev->kind == PAWL_EV_SIGNAL ? ev->name : NULL, .outcome = ev->outcome,
                           .value = s->in != NULL ? s->in->value : s->value, .time_ms = s->now };
    if ((ev->kind == PAWL_EV_INPUT || ev->kind == PAWL_EV_SIGNAL) && s->answered != NULL)
        h->kind = PAWL_EV_ANSWER;
    if (ev->kind == PAWL_EV_SIGNAL && h->value == NULL)
        h->value = value_null(&s->mem);     /* the same value that the journal has */
    if (ev->kind == PAWL_EV_INPUT && s->answered == NULL) {     /* no wait took the input */
        h->kind = PAWL_EV_SIGNAL;
        h->tag = "input";
    }
    if (s->answered != NULL)
        h->tag = pawl_value_string(spec_get(s, s->answered, "tag"));
    if (s->answered != NULL && s->answered->at == CALL_IN_DOUBT && ev->kind == PAWL_EV_ANSWER) {     /* the answer is the outcome of a command in doubt */
        h->kind = PAWL_EV_RECEIPT;
        (void)doubt_answer_read(s->in->value, &s->mem, &h->outcome, &h->value);
    }
}

/* ---- what becomes of it -------------------------------------------------------------------------------- */

/* Adds the merged results of channels with a user's function. */
static pawl_code custom_writes(pawl_step *s, visit *v, pawl_err *err)
{
    for (size_t i = 0; i < v->nwrites; i++) {
        item_write *w = &v->writes[i];
        const machine_channel *mc = machine_channel_find(s->m, "", w->channel);
        const pawl_value *old;

        if (mc == NULL || mc->c.rule != PAWL_RULE_CUSTOM || w->op == OP_OVERWRITE)
            continue;
        old = channel_value(s->st, channel_find(&s->st->root, w->channel));
        for (size_t j = 0; j < i; j++)
            if (strcmp(v->writes[j].channel, w->channel) == 0)
                old = v->writes[j].value;
        if (old != NULL && (w->value = mc->c.merge(s, old, w->value, mc->c.merge_arg)) == NULL)
            return fail(err, PAWL_INVALID, "channel \"%s\": its function refuses the update", w->channel);
        w->op = OP_OVERWRITE;
        w->event = NULL;
    }
    return PAWL_OK;
}

static pawl_code put_item(pawl_step *s, visit *v, pawl_err *err)
{
    item *put = v->nwrites == 0 ? NULL : step_item(s, ITEM_PUT);
    pawl_code rc = custom_writes(s, v, err);

    if (rc != PAWL_OK || v->nwrites == 0)
        return rc;
    if (put == NULL)
        return PAWL_NOMEM;
    put->writes = v->writes;
    put->nwrites = (uint32_t)v->nwrites;
    return step_add(s, put, err);
}

static pawl_code emit_items(pawl_step *s, const visit *v, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < v->nemits && rc == PAWL_OK; i++) {
        item *it = step_item(s, ITEM_EMIT);

        if (it == NULL)
            return PAWL_NOMEM;
        it->task = v->emits[i].name;
        it->value = v->emits[i].value;
        rc = step_add(s, it, err);
    }
    return rc;
}

static pawl_code reducer_fails(pawl_step *s, pawl_code code, const char *text, pawl_err *err)
{
    size_t size = 0;
    const char *reason = reason_code(s, code, text, NULL, &size);

    if (reason == NULL)
        return PAWL_NOMEM;
    return step_end(s, code == PAWL_DENIED ? PAWL_STATUS_REJECTED : PAWL_STATUS_FAILED, reason, size, err);
}

static pawl_code drop_items(pawl_step *s, const visit *v, pawl_err *err)
{
    pawl_code rc = PAWL_OK;

    for (size_t i = 0; i < v->ndrops && rc == PAWL_OK; i++)
        rc = step_drop_tagged(s, v->drops[i], err);
    return rc;
}

static bool may_ignore(const pawl_step *s)
{
    return s->answered == NULL && s->ev->kind != PAWL_EV_START && s->ev->kind != PAWL_EV_REOPEN;
}

static pawl_code reducer_result(pawl_step *s, visit *v, pawl_code rc, pawl_err *err)
{
    undo *before = txn_mark(s->st);
    item *last = s->entry.last;
    uint32_t count = s->entry.count;
    pawl_err why = {0};

    if (v->err.code == PAWL_OK) {
        rc = put_item(s, v, &why);
        if (rc == PAWL_OK)
            rc = emit_items(s, v, &why);
        if (rc == PAWL_OK)
            rc = drop_items(s, v, &why);
        if (rc == PAWL_OK)
            rc = calls_settle(s, v, &why);
        if (rc == PAWL_OK)
            rc = visit_commands(s, v, &why);
        if (rc == PAWL_OK)
            rc = v->halt ? step_drop(s, true, &why) : PAWL_OK;      /* the run ends, so open calls are dropped */
        if (rc == PAWL_OK)
            return v->halt ? step_end(s, PAWL_STATUS_COMPLETED, NULL, 0, err) : PAWL_OK;
        txn_rollback(s->st, before);
        step_cut(s, last, count);
        if (rc != PAWL_INVALID && rc != PAWL_LIMIT)
            return fail(err, rc, "%s", why.text);
        v->err = why;
    }
    return reducer_fails(s, v->err.code, v->err.text, err);
}

static pawl_code reducer_drive(const pawl_machine *m, pawl_step *s, pawl_err *err)
{
    const reducer_machine *r = (const reducer_machine *)(const void *)m;
    pawl_input_event h;
    visit v;
    pawl_code rc;

    if (s->ev->kind == PAWL_EV_ADOPT || s->ev->kind == PAWL_EV_TICK)
        return s->ev->kind == PAWL_EV_ADOPT ? PAWL_OK : PAWL_IGNORED;
    if (s->ev->kind == PAWL_EV_UPDATE && s->ev->name != NULL)
        return fail(err, PAWL_INVALID, "%s: no node \"%.64s\" to update as", s->st->run, s->ev->name);
    input_event_of(s, &h);
    visit_begin(s, &v, &s->st->root, NULL, "@", "");
    v.now = s->now;
    v.max_calls = PAWL_FLOW_COMMANDS_MAX;
    rc = r->fn(s, &h, r->arg);
    if (s->mem.failed)
        return PAWL_NOMEM;
    if (v.err.code == PAWL_OK && rc == PAWL_IGNORED && may_ignore(s))
        return PAWL_IGNORED;
    if (v.err.code == PAWL_OK && rc < 0)
        visit_wrong(s, rc, "%s%s", v.refusal != NULL && rc == PAWL_LIMIT ? "" : "the reducer fails: ",
                    v.refusal != NULL && rc == PAWL_LIMIT ? v.refusal : pawl_code_name(rc));
    if (rc == PAWL_IGNORED)
        v.nwrites = v.nemits = v.ndrops = 0, v.commands = NULL, v.halt = false;
    rc = reducer_result(s, &v, rc, err);
    s->v = NULL;
    return rc;
}

/* ---- made ------------------------------------------------------------------------------------------------ */

static void reducer_free(pawl_machine *m)
{
    reducer_machine *r = (reducer_machine *)(void *)m;
    pawl_alloc alloc = m->alloc;

    arena_free(&r->mem);
    mem_free(&alloc, r, sizeof *r);
}

const machine_ops reducer_ops = { reducer_drive, reducer_free, "reducer" };

static const char *channel_text(reducer_machine *r, const char *text)
{
    return arena_text(&r->mem, text);
}

static pawl_code channel_check(reducer_machine *r, const pawl_channel *c, pawl_err *err)
{
    const pawl_value *first = NULL;
    const char *due;

    if ((int)c->rule < 0 || c->rule > PAWL_RULE_CUSTOM || (c->rule == PAWL_RULE_CUSTOM) != (c->merge != NULL))
        return fail(err, PAWL_INVALID, "%s: channel \"%s\": a rule, and a function exactly with PAWL_RULE_CUSTOM", r->m.name, c->name);
    if (c->secret != NULL && (c->first != NULL || c->rule != PAWL_RULE_LAST))
        return fail(err, PAWL_INVALID, "%s: channel \"%s\": a secret has the rule last, and no first value", r->m.name, c->name);
    if (c->secret != NULL && !secret_valid(c->secret))
        return fail(err, PAWL_INVALID, "%s: channel \"%s\": a secret is \"env:NAME\" of one variable, \"file:PATH\" or \"given:NAME\"", r->m.name, c->name);
    if (c->first != NULL && (first = value_parse(&r->mem, c->first, strlen(c->first), "its first value", err)) == NULL)
        return r->mem.failed ? PAWL_NOMEM : PAWL_INVALID;
    if (first != NULL && (due = first_due(c->rule, pawl_value_type(first))) != NULL)
        return fail(err, PAWL_INVALID, "%s: channel \"%s\": its first value is %s, by the rule %s", r->m.name, c->name, due,
                    pawl_rule_name(c->rule));
    return PAWL_OK;
}

static pawl_code reducer_channels(reducer_machine *r, const pawl_channel *channels, size_t n, pawl_err *err)
{
    machine_channel *mc = arena_zero(&r->mem, (n + 1) * sizeof *mc);
    pawl_code rc;

    for (size_t i = 0; mc != NULL && i < n; i++) {
        if (!channel_name_valid(channels[i].name))
            return fail(err, PAWL_INVALID, "%s: \"%.64s\" is no name of a channel", r->m.name, channels[i].name != NULL ? channels[i].name : "");
        for (size_t j = 0; j < i; j++)
            if (strcmp(channels[j].name, channels[i].name) == 0)
                return fail(err, PAWL_INVALID, "%s: channel \"%s\" stands there twice", r->m.name, channels[i].name);
        mc[i].c = channels[i];
        mc[i].where = "";
        if (mc[i].c.rule == 0)
            mc[i].c.rule = PAWL_RULE_LAST;
        if ((rc = channel_check(r, &mc[i].c, err)) != PAWL_OK)
            return rc;
        mc[i].c.name = channel_text(r, channels[i].name);
        mc[i].c.first = channel_text(r, channels[i].first);
        mc[i].c.secret = channel_text(r, channels[i].secret);
        if (r->mem.failed)
            return PAWL_NOMEM;
    }
    r->m.channels = mc;
    r->m.nchannels = (uint32_t)n;
    r->m.channel_json = mc == NULL ? NULL : channels_code(&r->mem, mc, n, err);
    return r->m.channel_json != NULL ? PAWL_OK : r->mem.failed ? PAWL_NOMEM : PAWL_INVALID;
}

pawl_machine *pawl_flow_reducer(const char *name, uint32_t version, const pawl_channel *channels, size_t n, pawl_reducer_fn *fn,
                                void *arg, const pawl_alloc *alloc, pawl_err *err)
{
    pawl_alloc mem = mem_or_default(alloc);
    reducer_machine *r;
    pawl_code rc;
    buf b;

    if (!name_valid(name) || fn == NULL) {
        fail(err, PAWL_INVALID, "a reducer needs a name and a function");
        return NULL;
    }
    if ((r = mem_new(&mem, sizeof *r)) == NULL) {
        fail(err, PAWL_NOMEM, "%s: no memory for a machine", name);
        return NULL;
    }
    arena_init(&r->mem, &mem, 1024);
    r->m = (pawl_machine){ .ops = &reducer_ops, .alloc = mem, .version = version, .hears = true,
                           .name = arena_text(&r->mem, name) };
    r->fn = fn;
    r->arg = arg;
    rc = r->m.name == NULL ? PAWL_NOMEM : reducer_channels(r, channels, n, err);
    buf_init(&b, &mem);
    buf_fmt(&b, "{\"channels\":%s,\"kind\":\"reducer\",\"name\":\"%s\",\"version\":%u}", rc == PAWL_OK ? r->m.channel_json : "", name, (unsigned)version);
    hash_of(b.data, b.size, &r->m.hash);
    hash_hex(&r->m.hash, r->m.hash_hex);
    if (b.failed)
        rc = PAWL_NOMEM;
    buf_free(&b);
    if (rc == PAWL_OK)
        return &r->m;
    if (rc == PAWL_NOMEM)
        fail(err, rc, "%s: no memory for a machine", name);
    reducer_free(&r->m);
    return NULL;
}
