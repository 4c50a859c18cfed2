/* machine.c - nodes that run a random program, the graph around them, and a world that answers. */
#include "kernel/channel.h"
#include "kernel/frame.h"
#include "sim/machine.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const node_names[] = { "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9" };
static const char *const channel_names[] = { "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7" };
static const char *const put_names[] = { "put0", "put1", "put2", "put3", "put4", "put5", "put6", "put7" };
static const char *const gate_names[] = { "", "gate 1", "gate 2", "gate 3" };
static const char *const effect_names[] = { "num", "list", "rough", "child" };

static const char *name_of(int node)
{
    return node == SIM_END ? PAWL_END : node == SIM_NONE ? NULL : node_names[node];
}

/* ---- programs ---------------------------------------------------------------------------------- */

typedef struct running { pawl_step *s; int64_t got, asked; const pawl_value *list; } running;     /* asked: questions so far in this visit */

static int64_t as_int(const pawl_value *v)
{
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *one;
    int64_t n = 0;

    if (pawl_value_type(v) != PAWL_TYPE_ARRAY)
        return pawl_value_int(v);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        n += pawl_value_int(one) + 7;
    return n;
}

static int64_t reckon(const running *r, const sim_number *n)
{
    int64_t base = 0;

    switch (n->from) {
    case SIM_CONST:
        break;
    case SIM_READ:
        base = as_int(pawl_get(r->s, channel_names[n->channel]));
        break;
    case SIM_ARGS:
        base = as_int(pawl_args(r->s));
        break;
    case SIM_GOT:
        base = r->got;
        break;
    case SIM_VISIT:
        base = pawl_visit(r->s);
        break;
    }
    return (base + n->plus) % SIM_BELOW;
}

static pawl_code tell_world(running *r, const sim_asked *a, const pawl_value **v)
{
    int64_t about = reckon(r, &a->about);
    const pawl_value *args;

    if (a->kind == SIM_SLEEP)
        return pawl_sleep(r->s, about);
    if (a->kind == SIM_ASK)
        return pawl_ask(r->s, pawl_pack(r->s, "[i,i,i,i]", about, (int64_t)a->update, (int64_t)a->value, r->asked++), v);
    if (a->ref != SIM_NONE)
        args = pawl_pack(r->s, "{s:i,s:v}", "n", about, "r", pawl_ref(r->s, channel_names[a->ref]));
    else
        args = pawl_pack(r->s, "{s:i}", "n", about);
    if (a->kind == SIM_SPAWN)
        return pawl_spawn(r->s, "child", args, v);
    return pawl_call(r->s, effect_names[a->kind], args, v);
}

static pawl_code tell_all(running *r, const sim_op *op)
{
    const pawl_value *listed = r->list;
    pawl_code open = PAWL_OK, failed = PAWL_OK;
    int64_t sum = 0;

    for (int i = 0; i < op->nasked; i++) {
        const pawl_value *v = NULL;
        pawl_code rc = tell_world(r, &op->asked[i], &v);

        if (rc < 0 && rc != PAWL_EFFECT)
            return rc;
        if (rc > 0 && open == PAWL_OK)
            open = rc;
        if (rc == PAWL_EFFECT)
            failed = rc;
        if (op->asked[i].kind == SIM_LISTING && rc == PAWL_OK)
            listed = v;
        else if (v != NULL && op->asked[i].kind != SIM_SLEEP)
            sum += pawl_value_int(v);
    }
    r->got = sum;
    r->list = listed;
    return open != PAWL_OK ? open : op->catches ? PAWL_OK : failed;
}

static void copy_some(running *r, const sim_op *op)
{
    const pawl_value *from = pawl_get(r->s, channel_names[op->other]), *three = NULL;

    if (pawl_value_size(from) == 1)
        three = pawl_pack(r->s, "[v]", pawl_value_at(from, 0));
    else if (pawl_value_size(from) == 2)
        three = pawl_pack(r->s, "[v,v]", pawl_value_at(from, 0), pawl_value_at(from, 1));
    else if (pawl_value_size(from) > 2)
        three = pawl_pack(r->s, "[v,v,v]", pawl_value_at(from, 0), pawl_value_at(from, 1), pawl_value_at(from, 2));
    if (three != NULL)
        pawl_extend(r->s, channel_names[op->channel], three);
}

static void run_write(running *r, const sim_op *op, bool is_list)
{
    const char *to = channel_names[op->channel];
    int64_t n = reckon(r, &op->value);

    if (op->kind == SIM_SET)
        pawl_set_int(r->s, to, n);
    else if (op->kind == SIM_EXTEND)
        pawl_extend(r->s, to, pawl_pack(r->s, "[i,i]", n, (n + 1) % SIM_BELOW));
    else if (op->kind == SIM_COPY)
        copy_some(r, op);
    else if (op->kind == SIM_MOVE && pawl_get(r->s, channel_names[op->other]) != NULL)
        pawl_set(r->s, to, pawl_get(r->s, channel_names[op->other]));
    else if (op->kind == SIM_MOVE)
        return;
    else if (op->kind == SIM_OVERWRITE)
        pawl_overwrite(r->s, to, pawl_pack(r->s, is_list ? "[i]" : "i", n));
    else if (r->list != NULL)
        pawl_set(r->s, to, r->list);
    else
        pawl_set_int(r->s, to, n);
}

static pawl_code leave_op(running *r, const sim_op *op)
{
    const pawl_value *sent = NULL;

    if (op->kind == SIM_GOTO)
        return pawl_goto(r->s, name_of(op->node));
    if (op->kind == SIM_HALT)
        return pawl_halt(r->s);
    if (op->kind == SIM_HOLD)
        return pawl_interrupt(r->s, pawl_pack(r->s, "[i,i,i]", reckon(r, &op->value), (int64_t)SIM_NONE, (int64_t)0),
                              op->channel == SIM_NONE ? NULL : channel_names[op->channel]);
    if (op->form == 1)
        sent = pawl_pack(r->s, "i", reckon(r, &op->value));
    else if (op->form == 2)
        sent = r->list;
    else if (op->form == 3)
        sent = pawl_get(r->s, channel_names[op->other]);
    pawl_send(r->s, name_of(op->node), sent);
    return PAWL_OK;
}

static pawl_code run_one(running *r, const sim_graph *g, const sim_op *op)
{
    switch (op->kind) {
    case SIM_SET:
    case SIM_EXTEND:
    case SIM_COPY:
    case SIM_MOVE:
    case SIM_OVERWRITE:
    case SIM_KEEP:
        run_write(r, op, sim_is_list(g->channels[op->channel].rule));
        return PAWL_OK;
    case SIM_WORLD:
        return tell_all(r, op);
    case SIM_SEND:
    case SIM_GOTO:
    case SIM_HALT:
    case SIM_HOLD:
        return leave_op(r, op);
    case SIM_TRY:
        return pawl_visit(r->s) <= (uint32_t)op->visits ? pawl_fail(r->s, PAWL_TRANSIENT, "not yet") : PAWL_OK;
    case SIM_FAIL:
        return pawl_fail(r->s, PAWL_INVALID, "for good");
    case SIM_SKIP:
    case SIM_OPS:
        break;
    }
    return PAWL_OK;
}

static pawl_code node_body(pawl_step *s, void *arg)
{
    const sim_node *n = arg;
    running r = { .s = s };
    pawl_code rc;

    for (int i = 0; i < n->nops; i++) {
        const sim_op *op = &n->ops[i];

        if (op->kind == SIM_SKIP && reckon(&r, &op->value) % op->mod == op->rest)
            i += op->skip;
        else if ((rc = run_one(&r, n->of, op)) != PAWL_OK)
            return rc;
    }
    return pawl_follow(s);
}

/* ---- ways on -------------------------------------------------------------------------------------- */

static const char *route_fn(pawl_step *s, void *arg)
{
    const sim_way *w = arg;
    running r = { .s = s };
    int64_t about = reckon(&r, &w->about), at = about % (w->ntargets + 1);

    if (w->send != SIM_NONE)
        pawl_send(s, name_of(w->send), pawl_pack(s, "i", about));
    return at < w->ntargets ? name_of(w->targets[at]) : NULL;
}

static bool when_fn(pawl_step *s, void *arg)
{
    const sim_way *w = arg;
    running r = { .s = s };
    int64_t about = reckon(&r, &w->about);

    return w->mod == 0 ? about < w->rest : about % w->mod == w->rest;
}

/* ---- a graph ------------------------------------------------------------------------------------------ */

static void add_ways(pawl_graph *pg, const char *from, sim_node *n)
{
    for (int i = 0; i < n->nways; i++) {
        sim_way *w = &n->ways[i];
        const char *t[SIM_TARGETS_MAX] = { NULL };

        if (w->kind == SIM_EDGE)
            pawl_graph_edge(pg, from, name_of(w->to));
        else if (w->kind == SIM_WHEN)
            pawl_graph_when(pg, from, w->mod < 0 ? NULL : when_fn, w, name_of(w->to));
        if (w->kind != SIM_ROUTE)
            continue;
        for (int k = 0; k < w->ntargets; k++)
            t[k] = name_of(w->targets[k]);
        pawl_graph_route(pg, from, route_fn, w, name_of(w->otherwise), t[0], t[1], t[2], NULL);
    }
    for (int to = SIM_END; to < SIM_NODES_MAX; to++)
        if (sim_declares(n, to))
            pawl_graph_goto(pg, from, name_of(to), NULL);
}

static void add_channels(pawl_graph *pg, const sim_graph *g)
{
    static const pawl_rule rules[SIM_RULES] = { PAWL_RULE_LAST, PAWL_RULE_APPEND, PAWL_RULE_SUM, PAWL_RULE_MIN, PAWL_RULE_MAX, PAWL_RULE_UNION,
        PAWL_RULE_TOPIC, PAWL_RULE_TOPIC,
                                                PAWL_RULE_EPHEMERAL, PAWL_RULE_SINGLE };

    for (int i = 0; i < g->nchannels; i++) {
        const sim_channel *c = &g->channels[i];
        char first[32];

        snprintf(first, sizeof first, sim_is_list(c->rule) ? "[%d]" : "%d", c->first);
        pawl_graph_channel_with(pg, &(pawl_channel){ .name = channel_names[i], .rule = rules[c->rule], .accumulate = c->rule == SIM_HEAP,
                                                     .first = c->has_first ? first : NULL });
    }
}

static pawl_graph *make_inside(sim_graph *g);

static void add_node(pawl_graph *pg, sim_graph *g, int at)
{
    sim_node *n = &g->nodes[at];
    const char *name = node_names[at];

    if (n->sub != NULL)
        pawl_graph_sub(pg, name, make_inside(n->sub));
    else if (n->work != SIM_NONE)
        pawl_graph_work(pg, name, put_names[n->work]);
    else
        pawl_graph_node(pg, name, node_body, n);
    for (int i = 0; i < n->nmaps; i++)
        pawl_graph_map(pg, name, channel_names[n->maps[i].outer], channel_names[n->maps[i].inner], n->maps[i].in, n->maps[i].out);
    if (n->before)
        pawl_graph_interrupt_before(pg, name);
    if (n->after)
        pawl_graph_interrupt_after(pg, name);
    if (n->defer)
        pawl_graph_defer(pg, name);
    if (n->gate != SIM_OPEN)
        pawl_graph_gate(pg, name, gate_names[n->gate]);
    if (n->gate != SIM_OPEN && n->gate_no != SIM_NONE)
        pawl_graph_gate_no(pg, name, name_of(n->gate_no));
    if (n->attempts > 0)
        pawl_graph_retry(pg, name, &(pawl_retry){ .max_attempts = (uint32_t)n->attempts, .initial_ms = (uint32_t)n->backoff });
}

static pawl_graph *make_inside(sim_graph *g)
{
    pawl_graph *pg = pawl_graph_new("sim", 1);

    add_channels(pg, g);
    for (int i = 0; i < g->nnodes; i++)
        add_node(pg, g, i);
    add_ways(pg, PAWL_START, &g->start);
    for (int i = 0; i < g->nnodes; i++)
        add_ways(pg, node_names[i], &g->nodes[i]);
    for (int i = 0; i < g->njoins; i++) {
        const sim_join *j = &g->joins[i];
        const char *from[SIM_SOURCES_MAX];

        for (int s = 0; s < j->nfrom; s++)
            from[s] = node_names[j->from[s]];
        pawl_graph_join_of(pg, node_names[j->to], from, (size_t)j->nfrom, (size_t)j->k, j->cancel ? PAWL_JOIN_CANCELS_REST : PAWL_JOIN_IGNORES_REST);
    }
    pawl_graph_max_steps(pg, (uint32_t)g->max_steps);
    pawl_graph_max_tasks(pg, (uint32_t)g->max_tasks);
    pawl_graph_max_concurrency(pg, (uint32_t)g->max_concurrency);
    return pg;
}

pawl_machine *sim_machine(sim_graph *g)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m = pawl_graph_compile(make_inside(g), &err);

    if (m == NULL)
        CHECK_FAIL("compile: %s", err.text);
    return m;
}

const char *sim_input(const sim_graph *g, char *out)
{
    size_t n = 1;

    out[0] = '{';
    for (int i = 0; i < g->nchannels; i++)
        if (g->channels[i].has_input)
            n += (size_t)snprintf(out + n, SIM_INPUT_BYTES - n, "%s\"c%d\":%d", n > 1 ? "," : "", i, g->channels[i].input);
    snprintf(out + n, SIM_INPUT_BYTES - n, "}");
    return out;
}

/* ---- the world's side ------------------------------------------------------------------------------------ */

static int index_in(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    CHECK_FAIL("nobody knows \"%s\"", name);
    return -1;
}

static void answer_command(const pawl_command *cmd, pawl_step *look, sim_answer *out)
{
    const char *args = cmd->args == NULL ? "null" : pawl_text(look, cmd->args);
    sim_reply r;

    out->ev = (pawl_event){ .kind = cmd->kind == PAWL_COMMAND_SLEEP ? PAWL_EV_TIMER : PAWL_EV_RECEIPT, .id = out->id };
    if (cmd->kind == PAWL_COMMAND_SLEEP) {
        out->ev.time_ms = cmd->due_ms;
        return;
    }
    out->ev.value = out->value;
    if (strncmp(cmd->effect, "put", 3) == 0) {
        r = sim_effect(SIM_CALL, args);
        snprintf(out->value, sizeof out->value, "{\"c%s\":%d}", cmd->effect + 3, r.items[0]);
        return;
    }
    r = sim_effect((sim_kind)index_in(effect_names, 4, cmd->effect), args);
    out->ev.outcome = r.error ? PAWL_OUTCOME_ERROR : PAWL_OUTCOME_DONE;
    if (r.list)
        snprintf(out->value, sizeof out->value, "[%d,%d,%d,%d,%d]", r.items[0], r.items[1], r.items[2], r.items[3], r.items[4]);
    else
        snprintf(out->value, sizeof out->value, "%d", r.items[0]);
}

static void answer_wait(const pawl_wait *q, pawl_step *look, sim_answer *out)
{
    const char *prompt = q->prompt == NULL ? "null" : pawl_text(look, q->prompt);
    int64_t update = pawl_value_int(pawl_value_at(q->prompt, 1));

    out->ev = (pawl_event){ .kind = PAWL_EV_ANSWER, .id = out->id, .value = out->value };
    if (q->kind == PAWL_WAIT_APPROVAL) {
        sim_gate gate = (sim_gate)index_in(gate_names, 4, pawl_value_string(q->prompt));

        snprintf(out->value, sizeof out->value, sim_lets_in(gate, strtoul(strchr(out->id, '/') + 1, NULL, 10)) ? "true" : "false");
        return;
    }
    snprintf(out->value, sizeof out->value, "%d", sim_person(prompt));
    if (pawl_value_type(q->prompt) != PAWL_TYPE_ARRAY || update < 0)
        return;
    snprintf(out->update, sizeof out->update, "{\"c%d\":%d}", (int)update, (int)pawl_value_int(pawl_value_at(q->prompt, 2)));
    out->ev.update = out->update;
    out->number = (int)pawl_value_int(pawl_value_at(q->prompt, 3));
}

bool sim_open(pawl_state *st, pawl_step *look, size_t index, sim_answer *out)
{
    size_t commands = pawl_state_commands(st);
    pawl_err err = { PAWL_OK, "" };
    pawl_command cmd;
    pawl_wait q;

    if (index >= commands + pawl_state_waits(st))
        return false;
    if (index < commands) {
        if (pawl_state_command(st, index, look, &cmd, NULL, &err) != PAWL_OK)
            CHECK_FAIL("command %zu: %s", index, err.text);
        snprintf(out->id, sizeof out->id, "%s", cmd.id);
        answer_command(&cmd, look, out);
        return true;
    }
    if (pawl_state_wait(st, index - commands, look, &q, &err) != PAWL_OK)
        CHECK_FAIL("wait %zu: %s", index - commands, err.text);
    snprintf(out->id, sizeof out->id, "%s", q.id);
    answer_wait(&q, look, out);
    return true;
}

/* ---- looking ------------------------------------------------------------------------------------------------ */

void sim_note(pawl_state *st, const frame *f, buf *out)
{
    bool any = false;

    buf_reset(out);
    for (uint32_t i = 0; i < f->ntasks; i++) {
        buf_text(out, f->tasks[i].name);
        if (i >= f->nedges) {
            buf_char(out, '=');
            if (f->tasks[i].args != NULL)
                canon(out, f->tasks[i].args);
            else
                buf_text(out, "null");
        }
        buf_char(out, ' ');
    }
    buf_char(out, '{');
    for (uint32_t i = 0; i < f->nchannels; i++) {
        const pawl_value *v = channel_value(st, &f->channels[i]);

        if (v == NULL)
            continue;
        buf_fmt(out, "%s\"%s\":", any ? "," : "", f->channels[i].d->name);
        canon(out, v);
        any = true;
    }
    buf_text(out, "}");
    buf_char(out, '\0');
}
