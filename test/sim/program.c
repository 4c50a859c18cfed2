/* program.c - values, and the small programs that nodes are: one operation after another. */
#include "sim/reference_inner.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory and text ------------------------------------------------------------------------ */

void *ref_pool(ref_run *r, size_t size)
{
    void *at = calloc(1, size + 1);

    if (r->pooled == r->pool_cap) {
        r->pool_cap = r->pool_cap * 2 + 64;
        r->pool = realloc(r->pool, r->pool_cap * sizeof *r->pool);
    }
    if (at == NULL || r->pool == NULL)
        abort();
    return r->pool[r->pooled++] = at;
}

void ref_put(ref_text *t, const char *format, ...)
{
    va_list args;
    int n;

    if (t->cap - t->size < 256) {
        char *grown = ref_pool(t->r, t->cap = t->cap * 2 + 512);

        if (t->size > 0)
            memcpy(grown, t->at, t->size);
        t->at = grown;
    }
    va_start(args, format);
    n = vsnprintf(t->at + t->size, t->cap - t->size, format, args);
    va_end(args);
    t->size += (size_t)n;
}

/* ---- values ------------------------------------------------------------------------------------ */

ref_value ref_number(ref_run *r, int n)
{
    int *one = ref_pool(r, sizeof *one);

    *one = n;
    return (ref_value){ .set = true, .n = 1, .items = one };
}

ref_value ref_list(ref_run *r, const int *items, int n)
{
    int *all = ref_pool(r, (size_t)n * sizeof *all);

    if (n > 0)
        memcpy(all, items, (size_t)n * sizeof *all);
    return (ref_value){ .set = true, .is_list = true, .n = n, .items = all };
}

ref_value ref_pushed(ref_run *r, ref_value many, int one)
{
    int *all = ref_pool(r, ((size_t)many.n + 1) * sizeof *all);

    if (many.n > 0)
        memcpy(all, many.items, (size_t)many.n * sizeof *all);
    all[many.n] = one;
    return (ref_value){ .set = true, .is_list = true, .n = many.n + 1, .items = all };
}

int ref_as_number(ref_value v)
{
    int n = 0;

    if (!v.is_list)
        return v.set ? v.items[0] : 0;
    for (int i = 0; i < v.n; i++)
        n += v.items[i] + 7;
    return n;
}

void ref_put_value(ref_text *t, ref_value v)
{
    if (!v.set)
        ref_put(t, "null");
    else if (!v.is_list)
        ref_put(t, "%d", v.items[0]);
    for (int i = 0; v.is_list && i < v.n; i++)
        ref_put(t, "%s%d", i == 0 ? "[" : ",", v.items[i]);
    if (v.is_list)
        ref_put(t, v.n == 0 ? "[]" : "]");
}

void ref_put_channels(ref_text *t, const ref_value *channels, int n)
{
    bool any = false;

    ref_put(t, "{");
    for (int i = 0; i < n; i++) {
        if (!channels[i].set)
            continue;
        ref_put(t, "%s\"c%d\":", any ? "," : "", i);
        ref_put_value(t, channels[i]);
        any = true;
    }
    ref_put(t, "}");
}

/* ---- programs ------------------------------------------------------------------------------------------ */

int ref_figure(const ref_pass *p, const sim_number *n)
{
    int base = 0;

    if (n->from == SIM_READ)
        base = ref_as_number(p->sees[n->channel]);
    else if (n->from == SIM_ARGS && p->tk != NULL)
        base = ref_as_number(p->tk->args);
    else if (n->from == SIM_GOT)
        base = p->got;
    else if (n->from == SIM_VISIT)
        base = p->visit;
    return (base + n->plus) % SIM_BELOW;
}

void ref_write(ref_pass *p, int to, ref_how op, ref_value v)
{
    if (p->out->nwrites == WRITES_MAX)
        abort();
    p->out->writes[p->out->nwrites++] = (ref_wrote){ to, op, v };
}

/* Adds to `sum` what was answered; false: it came to an error. */
static bool ask_one(ref_pass *p, const sim_asked *a, int *sum, ref_value *many)
{
    ref_text t = { .r = p->c->r };
    int about = ref_figure(p, &a->about);
    sim_reply reply;

    if (a->kind == SIM_SLEEP)
        return true;
    if (a->kind == SIM_ASK) {
        ref_put(&t, "[%d,%d,%d,%d]", about, a->update, a->value, p->out->nasked++);
        *sum += sim_person(t.at);
        if (a->update != SIM_NONE)
            p->out->updates[p->out->nupdates++] = (ref_update){ { a->update, MERGE, ref_number(p->c->r, a->value) }, p->out->nasked - 1 };
        return true;
    }
    ref_put(&t, "{\"n\":%d", about);
    if (a->ref != SIM_NONE) {
        ref_put(&t, ",\"r\":");
        ref_put_value(&t, p->sees[a->ref]);
    }
    ref_put(&t, "}");
    reply = sim_effect(a->kind, t.at);
    if (reply.list)
        *many = ref_list(p->c->r, reply.items, reply.n);
    else
        *sum += reply.items[0];
    return !reply.error;
}

/* All go out at once: none of them sees what another was answered. */
static bool ask_all(ref_pass *p, const sim_op *op)
{
    ref_value many = p->many;
    bool good = true;
    int sum = 0;

    for (int i = 0; i < op->nasked; i++)
        good = ask_one(p, &op->asked[i], &sum, &many) && good;
    p->got = sum;
    p->many = many;
    return good;
}

static void copy_three(ref_pass *p, const sim_op *op)
{
    ref_value from = p->sees[op->other];

    if (from.set && from.n > 0)
        ref_write(p, op->channel, EXTEND, ref_list(p->c->r, from.items, from.n < 3 ? from.n : 3));
}

static void send_one(ref_pass *p, const sim_op *op)
{
    ref_value v = { .set = false };

    if (op->form == 1)
        v = ref_number(p->c->r, ref_figure(p, &op->value));
    else if (op->form == 2)
        v = p->many;
    else if (op->form == 3)
        v = p->sees[op->other];
    p->out->sends[p->out->nsends++] = (ref_sent){ op->node, v };
}

static void hold_one(ref_pass *p, int to, int n)
{
    ref_text t = { .r = p->c->r };

    ref_put(&t, "[%d,%d,%d]", n, SIM_NONE, 0);
    p->out->hold = true;
    p->out->hold_channel = to;
    p->out->hold_value = sim_person(t.at);
}

/* One operation. The text: the node fails with it. */
static const char *run_op(ref_pass *p, const sim_op *op)
{
    int n = ref_figure(p, &op->value), two[2] = { n, (n + 1) % SIM_BELOW };

    switch (op->kind) {
    case SIM_SET:
        ref_write(p, op->channel, MERGE, ref_number(p->c->r, n));
        break;
    case SIM_EXTEND:
        ref_write(p, op->channel, EXTEND, ref_list(p->c->r, two, 2));
        break;
    case SIM_COPY:
        copy_three(p, op);
        break;
    case SIM_MOVE:
        if (p->sees[op->other].set)
            ref_write(p, op->channel, MERGE, p->sees[op->other]);
        break;
    case SIM_OVERWRITE:
        ref_write(p, op->channel, OVERWRITE, ref_number(p->c->r, n));
        break;
    case SIM_KEEP:
        ref_write(p, op->channel, MERGE, p->many.set ? p->many : ref_number(p->c->r, n));
        break;
    case SIM_WORLD:
        return ask_all(p, op) || op->catches ? NULL : "effect";
    case SIM_SEND:
        send_one(p, op);
        break;
    case SIM_GOTO:
        p->out->gotos[p->out->ngotos++] = op->node;
        break;
    case SIM_HALT:
        p->out->halt = true;
        break;
    case SIM_TRY:
        return p->visit <= op->visits ? "transient" : NULL;
    case SIM_FAIL:
        return "invalid";
    case SIM_HOLD:
        hold_one(p, op->channel, n);
        break;
    case SIM_SKIP:
    case SIM_OPS:
        break;
    }
    return NULL;
}

const char *ref_program(ref_pass *p, const sim_node *n)
{
    const char *code;

    for (int i = 0; i < n->nops; i++) {
        const sim_op *op = &n->ops[i];

        if (op->kind == SIM_SKIP && ref_figure(p, &op->value) % op->mod == op->rest)
            i += op->skip;
        else if ((code = run_op(p, op)) != NULL)
            return code;
    }
    return NULL;
}

/* A work node tells the world its arguments and the state; what comes back is its one write. */
const char *ref_work(ref_pass *p, const sim_node *n)
{
    ref_text t = { .r = p->c->r };

    ref_put(&t, "{\"args\":");
    ref_put_value(&t, p->tk->args);
    ref_put(&t, ",\"state\":");
    ref_put_channels(&t, p->sees, p->c->g->nchannels);
    ref_put(&t, "}");
    ref_write(p, n->work, MERGE, ref_number(p->c->r, sim_effect(SIM_CALL, t.at).items[0]));
    return NULL;
}

