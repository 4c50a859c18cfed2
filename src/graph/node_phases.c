/* node_phases.c - one pass of a task: the phases before, body and after; and the calls with which a node leaves.
 *
 * Called by frame_run.c and drive.c inside the step's transaction. Hooks, gates and the body number their commands with one counter, so a later pass
 * meets every answer at the same number. The verdict of a hook is a receipt: a replay does not ask the hook again. */
#include "graph/graph.h"
#include "kernel/channel.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/names.h"
#include "kernel/node_api.h"
#include "kernel/spec.h"
#include "kernel/state.h"
#include "kernel/step.h"
#include "kernel/txn.h"
#include "kernel/visit.h"

#include <string.h>

/* ---- leaving ---------------------------------------------------------------------------------- */

static const pawl_graph *here(const pawl_step *s)
{
    return s->v == NULL ? NULL : graph_at(s->m, s->v->frame->where);
}

/* The name that the node declares: a target of pawl_graph_goto, or of one of its routes. The machine owns it. NULL: neither. */
static const char *target_named(const gnode *n, const char *to)
{
    for (uint32_t i = 0; i < n->ngotos; i++)
        if (strcmp(n->gotos[i], to) == 0)
            return n->gotos[i];
    for (const way *w = n->ways; w != NULL; w = w->next) {
        for (uint32_t i = 0; i < w->ntargets; i++)
            if (strcmp(w->targets[i], to) == 0)
                return w->targets[i];
        if (w->otherwise != NULL && strcmp(w->otherwise, to) == 0)
            return w->otherwise;
    }
    return NULL;
}

/* The target's name that the machine owns; NULL: not declared, the visit has the error. */
static const char *declared(pawl_step *s, const char *to)
{
    const pawl_graph *g = here(s);
    const gnode *n = g == NULL ? NULL : s->v->task != NULL ? node_of_task(g, s->v->task) : node_find(g, s->v->node);
    const char *own = n != NULL && to != NULL ? target_named(n, to) : NULL;

    if (g == NULL) {
        visit_wrong(s, PAWL_INVALID, "a reducer has no nodes to go to; pawl_flow_complete ends its run");
        return NULL;
    }
    if (own != NULL)
        return own;
    if (n != NULL && to != NULL && strcmp(to, PAWL_END) == 0)
        return PAWL_END;
    visit_wrong(s, PAWL_INVALID, "\"%.64s\" is no declared target: say pawl_graph_goto(g, \"%s\", \"%.64s\", NULL)", to != NULL ? to : "", s->v->node,
                to != NULL ? to : "");
    return NULL;
}

pawl_code pawl_follow(pawl_step *s)
{
    return s != NULL && s->v != NULL ? PAWL_OK : PAWL_INVALID;
}

pawl_code pawl_goto(pawl_step *s, const char *node)
{
    const char *to;

    if (s == NULL || s->v == NULL || s->v->reading)
        return PAWL_INVALID;
    if ((to = declared(s, node)) == NULL)
        return PAWL_INVALID;
    node_goto(s, to);
    return PAWL_OK;
}

pawl_code pawl_halt(pawl_step *s)
{
    if (s == NULL || s->v == NULL || s->v->reading)
        return PAWL_INVALID;
    s->v->halt = true;
    return PAWL_OK;
}

void pawl_send(pawl_step *s, const char *node, const pawl_value *args)
{
    const char *to;
    size_t n;

    if (s == NULL || s->v == NULL || (to = declared(s, node)) == NULL)
        return;
    if (strcmp(to, PAWL_END) == 0) {
        visit_wrong(s, PAWL_INVALID, "nothing is sent to the end");
        return;
    }
    n = s->v->nsends;
    node_send(s, to, args);
    if (s->v->nsends > n)
        s->v->sends[n].hint = n > 0 && s->v->sends[n - 1].name == to ? s->v->sends[n - 1].hint : (uint32_t)node_index(here(s), to);
}

pawl_code pawl_interrupt(pawl_step *s, const pawl_value *prompt, const char *to)
{
    const pawl_question q = { .prompt = prompt };
    const char *spec;
    size_t size = 0;

    if (s == NULL || s->v == NULL || s->v->task == NULL || s->v->reading)
        return PAWL_INVALID;
    if (to != NULL && channel_find(s->v->frame, to) == NULL)
        return visit_wrong(s, PAWL_INVALID, "there is no channel \"%s\"", to);
    if (to != NULL && channel_find(s->v->frame, to)->d->secret != NULL)
        return visit_wrong(s, PAWL_INVALID, "channel \"%s\" is a secret, and is never written", to);
    spec = spec_ask(s, &q, s->v->path, s->v->now, NULL, to, NULL, true, &size);
    s->v->hold = spec == NULL ? NULL : value_read(&s->mem, spec, size, "a wait", &s->v->err);
    return s->v->hold == NULL ? PAWL_NOMEM : PAWL_OK;
}

/* ---- gates and interrupts ------------------------------------------------------------------------- */

static const pawl_value *text_value(pawl_step *s, const char *text)
{
    return text == NULL ? NULL : value_string(&s->mem, text, strlen(text));
}

static pawl_code interrupt_before(pawl_step *s, const gnode *n)
{
    pawl_question q = { .kind = PAWL_WAIT_QUESTION };

    if (!n->before)
        return PAWL_OK;
    q.prompt = text_value(s, pawl_format(s, "before %s", n->name));
    return pawl_ask_with(s, &q, NULL);
}

/* Asks for the approval of a gate. No leads to `gate_no`, is asked again, or rejects the run (W9). */
static pawl_code gate(pawl_step *s, const gnode *n, bool *leaves)
{
    const pawl_value *answer, *schema;
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL };
    pawl_code rc;

    q.prompt = text_value(s, n->gate);
    q.schema = schema = value_pack(&s->mem, NULL, "{s:s}", "type", "boolean");
    if (q.prompt == NULL || schema == NULL)
        return PAWL_NOMEM;
    do
        rc = pawl_ask_with(s, &q, &answer);
    while (rc == PAWL_OK && n->gate_waits && !pawl_value_bool(answer));
    if (rc != PAWL_OK || pawl_value_bool(answer))
        return rc;
    *leaves = true;
    if (n->gate_no == NULL)
        return visit_wrong(s, PAWL_DENIED, "%s: no", n->gate);
    if (strcmp(n->gate_no, PAWL_END) != 0)
        node_goto(s, n->gate_no);
    else
        node_goto(s, PAWL_END);
    return PAWL_OK;
}

/* Of a graph with modes: what the node requires, against the mode of the superstep, which is the same in every pass. A gate of the node is the question. */
static pawl_code mode_gate(pawl_step *s, const pawl_graph *g, const gnode *n)
{
    const mode_rank now = run_mode(s->st, false), requires = (mode_rank)n->requires;
    const char *names[2] = { mode_text(requires), mode_text(now) };
    const pawl_value *answer;
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL };
    pawl_code rc;

    if (requires <= now)
        return PAWL_OK;
    if (now == RANK_PLAN || g->mode_denies)
        return visit_mode_denies(s, requires, now);
    if (n->gate != NULL)
        return PAWL_OK;
    q.prompt = text_value(s, pawl_format(s, "%s requires %s, and the mode is %s: let it run?", n->name, names[0], names[1]));
    q.schema = value_pack(&s->mem, NULL, "{s:s}", "type", "boolean");
    q.about = value_pack(&s->mem, NULL, "{s:s,s:s,s:s}", "mode", names[1], "node", n->name, "requires", names[0]);
    if (q.prompt == NULL || q.schema == NULL || q.about == NULL)
        return PAWL_NOMEM;
    if ((rc = pawl_ask_with(s, &q, &answer)) != PAWL_OK)
        return rc;
    return pawl_value_bool(answer) ? PAWL_OK : visit_wrong(s, PAWL_DENIED, "%s requires %s: no", n->name, names[0]);
}

/* ---- hooks ---------------------------------------------------------------------------------------------- */

typedef enum ruling { VERDICT_PROCEED, VERDICT_MODIFY, VERDICT_REPLACE, VERDICT_DENY, VERDICT_ASK, VERDICT_DEFER, VERDICTS } ruling;

static ruling ruling_of(const pawl_value *receipt)
{
    static const char *const names[VERDICTS] = { "proceed", "modify", "replace", "deny", "ask", "defer" };
    int i = name_index(names, VERDICTS, pawl_value_string(pawl_value_get(receipt, "verdict")));

    return i < 0 ? VERDICTS : (ruling)i;
}

static pawl_code hook_denies(pawl_step *s, const hook *h, const char *reason)
{
    return visit_wrong(s, PAWL_DENIED, "hook \"%s\": %.120s", h->effect, reason != NULL ? reason : "denied");
}

static const pawl_value *writes_value(pawl_step *s)
{
    const pawl_value *out = value_pack(&s->mem, NULL, "{}");

    for (size_t i = 0; out != NULL && i < s->v->nwrites; i++) {     /* the hook gets the last write of each channel */
        buf *b = step_text(s);
        const char *path;
        const pawl_value *whole;

        buf_char(b, '/');
        buf_text(b, s->v->writes[i].channel);
        path = step_copy(s, b, NULL);
        whole = path != NULL && pawl_value_find(out, path) != NULL ? value_splice(&s->mem, out, path, s->v->writes[i].value) : NULL;
        if (whole == NULL)
            whole = value_with(&s->mem, out, s->v->writes[i].channel, s->v->writes[i].value);
        out = whole;
    }
    return out;
}

static void writes_replace(pawl_step *s, const pawl_value *object)
{
    pawl_iter it = pawl_iter_of(object);
    const pawl_value *key, *v;

    s->v->nwrites = 0;
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        pawl_set(s, pawl_value_string(key), v);
}

static pawl_code gotos_replace(pawl_step *s, const pawl_value *gotos)
{
    pawl_iter it = pawl_iter_of(gotos);
    const pawl_value *v;

    if (gotos == NULL)
        return PAWL_OK;
    s->v->ngotos = 0;
    if (pawl_value_type(gotos) == PAWL_TYPE_STRING)
        return pawl_goto(s, pawl_value_string(gotos));
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_goto(s, pawl_value_string(v)) != PAWL_OK)
            return PAWL_INVALID;
    return PAWL_OK;
}

static pawl_code hook_asks(pawl_step *s, const hook *h, const pawl_value *receipt)
{
    const pawl_value *answer, *prompt = pawl_value_get(receipt, "prompt"), *reason = pawl_value_get(receipt, "reason");
    pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = prompt != NULL ? prompt : reason,
                        .options = pawl_value_get(receipt, "options") };
    pawl_code rc;

    if (q.options == NULL)
        q.schema = value_pack(&s->mem, NULL, "{s:s}", "type", "boolean");
    if ((rc = pawl_ask_with(s, &q, &answer)) != PAWL_OK)
        return rc;
    if (pawl_value_bool(answer) || (q.options != NULL && pawl_value_equal(answer, value_option(pawl_value_at(q.options, 0)))))  /* the first option means yes */
        return PAWL_OK;
    return hook_denies(s, h, "a person said no");
}

/* Runs one hook. *done: the hook gave the result, so the node's body does not run. */
static pawl_code hook_apply(pawl_step *s, const gnode *n, const hook *h, const pawl_value *receipt, bool *done)
{
    const pawl_value *v, *name;
    pawl_code rc;

    switch (ruling_of(receipt)) {
    case VERDICT_PROCEED:
        return PAWL_OK;
    case VERDICT_MODIFY:
        if (h->phase == PAWL_PHASE_AFTER)
            return gotos_replace(s, pawl_value_get(receipt, "goto"));
        if ((v = pawl_value_get(receipt, "args")) != NULL)
            s->v->args = v;
        return PAWL_OK;
    case VERDICT_REPLACE:
        writes_replace(s, pawl_value_get(receipt, "writes"));
        *done = true;
        return h->phase == PAWL_PHASE_AFTER ? gotos_replace(s, pawl_value_get(receipt, "goto")) : PAWL_OK;
    case VERDICT_DENY:
        return hook_denies(s, h, pawl_value_string(pawl_value_get(receipt, "reason")));
    case VERDICT_ASK:
        return hook_asks(s, h, receipt);
    case VERDICT_DEFER:
        name = pawl_value_get(receipt, "name");
        rc = pawl_await_signal(s, pawl_value_string(name) != NULL ? pawl_value_string(name) : "verdict", &v);
        if (rc == PAWL_INTERRUPTED || rc == PAWL_PENDING)
            return rc;
        return ruling_of(v) == VERDICT_DEFER ? hook_denies(s, h, "it defers again") : hook_apply(s, n, h, v, done);
    case VERDICTS:
        break;
    }
    return hook_denies(s, h, "gave no verdict");
}

static pawl_code state_ref(pawl_step *s, const pawl_value **out)
{
    yyjson_val *node = arena_get(&s->mem, sizeof *node);

    if (node == NULL)
        return PAWL_NOMEM;
    node->tag = YYJSON_TYPE_NULL | NODE_REF;
    node->uni.u64 = 0;
    *out = of_val(node);
    return step_ref(s, *out, "channel", "*", NULL);
}

/* The arguments of a hook. One that sees the state gets all members, null where there is none. NULL: see the visit, or no memory. */
static const pawl_value *node_hook_args(pawl_step *s, const gnode *n, const hook *h)
{
    static const char *const names[2] = { "before", "after" };
    const pawl_value *none = value_null(&s->mem), *given = s->v->args != NULL ? s->v->args : none, *writes = none, *mode = none, *state, *out;

    if (h->phase == PAWL_PHASE_AFTER)
        writes = writes_value(s);
    if (h->state) {
        if (s->m->modes)
            mode = text_value(s, mode_text(run_mode(s->st, false)));
        return state_ref(s, &state) != PAWL_OK ? NULL : pawl_pack(s, "{s:v,s:v,s:s,s:s,s:v,s:v}", "args", given, "mode", mode, "node", n->name, "phase",
                                                                  names[h->phase - 1], "state", state, "writes", writes);
    }
    out = value_pack(&s->mem, NULL, "{s:v,s:s,s:s}", "args", given, "node", n->name, "phase", names[h->phase - 1]);
    return h->phase == PAWL_PHASE_AFTER ? value_with(&s->mem, out, "writes", writes) : out;
}

static pawl_code hooks_run(pawl_step *s, const gnode *n, pawl_phase phase, bool *done)
{
    const pawl_value *args, *receipt;
    pawl_code rc;

    for (const hook *h = n->hooks; h != NULL; h = h->next) {
        if (h->phase != phase)
            continue;
        if ((args = node_hook_args(s, n, h)) == NULL && h->state)
            return PAWL_NOMEM;
        rc = pawl_call(s, h->effect, args, &receipt);
        if (rc == PAWL_EFFECT)
            return hook_denies(s, h, "failed");
        if (rc != PAWL_OK || (rc = hook_apply(s, n, h, receipt, done)) != PAWL_OK)
            return rc;
    }
    return PAWL_OK;
}

/* ---- bodies -------------------------------------------------------------------------------------------------- */

/* The body of a work node: a command with its arguments and, by reference, the state of this entry. */
static pawl_code work_body(pawl_step *s, const gnode *n)
{
    const pawl_value *state = NULL, *args, *receipt, *key, *v;
    pawl_iter it;
    pawl_code rc;

    if (state_ref(s, &state) != PAWL_OK)
        return PAWL_NOMEM;
    args = pawl_pack(s, "{s:v,s:v}", "args", s->v->args != NULL ? s->v->args : value_null(&s->mem), "state", state);
    if (args == NULL)
        return PAWL_NOMEM;
    s->v->limits = &n->limits;
    rc = pawl_call(s, n->effect, args, &receipt);
    s->v->limits = NULL;
    if (rc != PAWL_OK || receipt == NULL || pawl_value_type(receipt) == PAWL_TYPE_NULL)
        return rc;
    if (pawl_value_type(receipt) != PAWL_TYPE_OBJECT)
        return visit_wrong(s, PAWL_INVALID, "its result is an object of channels, or null");
    it = pawl_iter_of(receipt);
    while ((v = pawl_iter_next(&it, &key)) != NULL)
        pawl_set(s, pawl_value_string(key), v);
    return PAWL_OK;
}

static uint64_t retry_delay(pawl_step *s, const pawl_retry *r, uint32_t failed)
{
    double ms = r->initial_ms, factor = r->factor > 0 ? r->factor : 2, most = r->max_ms > 0 ? r->max_ms : 86400000.0;

    for (uint32_t i = 1; i < failed && ms < most; i++)
        ms *= factor;
    if (ms > most)
        ms = most;
    uint64_t delay = (uint64_t)ms;
    return r->jitter && delay > 0 ? pawl_random(s) % (delay + 1) : delay;
}

/* A visit that is a retry of the node starts with a sleep, the back-off (E7). */
static pawl_code back_off(pawl_step *s, const gnode *n)
{
    uint32_t visit_no = s->v->task->visit - s->v->task->since;
    uint64_t delay;

    if (!n->has_retry || visit_no < 2 || n->kind == GNODE_WORK)
        return PAWL_OK;
    delay = retry_delay(s, &n->retry, visit_no - 1);
    return delay == 0 ? PAWL_OK : pawl_sleep(s, (int64_t)delay);
}

/* Its own function, command or subgraph. */
static pawl_code body(pawl_step *s, const pawl_graph *g, const gnode *n)
{
    pawl_code rc;

    s->v->plan = g->modes && n->requires != RANK_PLAN && run_mode(s->st, true) == RANK_PLAN;
    rc = n->kind == GNODE_WORK ? work_body(s, n) : n->kind == GNODE_SUB ? PAWL_OK : n->fn(s, n->arg);
    s->v->plan = false;
    return rc;
}

static pawl_code phases(pawl_step *s, const pawl_graph *g, const gnode *n, bool *enter)
{
    bool done = false, leaves = false;
    pawl_code rc = n->has_retry ? back_off(s, n) : PAWL_OK;

    if (rc == PAWL_OK && n->before)
        rc = interrupt_before(s, n);
    if (rc == PAWL_OK && n->hooks != NULL)
        rc = hooks_run(s, n, PAWL_PHASE_BEFORE, &done);
    if (rc == PAWL_OK && !done && n->requires != RANK_NONE)
        rc = mode_gate(s, g, n);
    if (rc == PAWL_OK && !done && n->gate != NULL)
        rc = gate(s, n, &leaves);
    if (rc != PAWL_OK)
        return rc;
    if (!done && !leaves) {
        if (n->kind == GNODE_SUB && s->v->task->child == NULL) {
            *enter = true;
            return PAWL_OK;
        }
        rc = body(s, g, n);
        if (n->kind == GNODE_SUB)
            sub_outputs(s, n, s->v->task->child);
    }
    if (rc == PAWL_OK && !leaves && n->hooks != NULL)
        rc = hooks_run(s, n, PAWL_PHASE_AFTER, &done);
    return rc;
}

/* ---- the end of a pass ------------------------------------------------------------------------------------------ */

static bool may_retry(const gnode *n, const task *tk, pawl_code code)
{
    if (!n->has_retry || n->kind == GNODE_WORK || tk->visit - tk->since >= n->retry.max_attempts)
        return false;
    return code == PAWL_TRANSIENT || code == PAWL_TIMEOUT || code == PAWL_IO;
}

static pawl_code visit_again(pawl_step *s, const visit *v, pawl_err *err)
{
    item *it = step_item(s, ITEM_VISIT);

    if (it == NULL)
        return PAWL_NOMEM;
    it->task = v->path;
    it->visit = v->task->visit + 1;
    it->at = v->at;
    return step_add(s, it, err);
}

static const pawl_value *failed_receipt(const task *tk)
{
    for (uint32_t i = tk->ncalls; i-- > 0; )
        if (tk->calls[i].at == CALL_ANSWERED && tk->calls[i].outcome != PAWL_OUTCOME_DONE)
            return tk->calls[i].value;
    return NULL;
}

static pawl_code visit_fails(pawl_step *s, const gnode *n, visit *v, pawl_code code, pawl_err *err)
{
    const char *text = v->err.code != PAWL_OK ? v->err.text : NULL;
    item *it;

    if (v->err.code != PAWL_OK)
        code = v->err.code;
    if (code == PAWL_CORRUPT || code == PAWL_NOMEM)     /* an error of the machine or of memory, not of the run: the feed fails */
        return fail(err, code, "%s: %s", s->st->run, text != NULL ? text : pawl_code_name(code));
    if (may_retry(n, v->task, code))
        return visit_again(s, v, err);
    if (text == NULL && code == PAWL_LIMIT && v->refusal != NULL)
        text = pawl_format(s, "node \"%s\": %s", n->name, v->refusal);
    if (text == NULL)
        text = pawl_format(s, code == PAWL_EFFECT ? "node \"%s\": an effect failed for good" : "node \"%s\": %s", n->name, pawl_code_name(code));
    if ((it = step_item(s, ITEM_FAIL)) == NULL || text == NULL)
        return PAWL_NOMEM;
    it->task = v->path;
    it->visit = v->task->visit;
    it->spec = reason_code(s, code, text, code == PAWL_EFFECT ? failed_receipt(v->task) : NULL, &it->spec_size);
    return it->spec == NULL ? PAWL_NOMEM : step_add(s, it, err);
}

static inline pawl_code pass_ends(pawl_step *s, const gnode *n, visit *v, pawl_code rc, pawl_err *err)
{
    bool waits = rc == PAWL_PENDING || rc == PAWL_INTERRUPTED;
    pawl_code done = v->nwon > 0 ? visit_races(s, v, err) : PAWL_OK;

    if (done != PAWL_OK)
        return done;
    if (s->mem.failed)
        return PAWL_NOMEM;
    if (v->err.code != PAWL_OK || rc < 0)
        return visit_fails(s, n, v, rc, err);
    if (rc == PAWL_OK && !v->unanswered && v->commands == NULL)
        return visit_leave(s, v, err);
    if (waits && !v->unanswered)
        visit_wrong(s, PAWL_INVALID, "it says %s, and asks for nothing", pawl_code_name(rc));
    else if (!waits && rc != PAWL_OK)
        visit_wrong(s, PAWL_INVALID, "it returns %d, which is no way to leave", (int)rc);
    else if (!waits && ((v->unanswered && !v->raced) || v->issued))
        visit_wrong(s, PAWL_INVALID, "it leaves with a command unanswered");
    if (v->err.code != PAWL_OK)
        return visit_fails(s, n, v, v->err.code, err);
    if (!waits)
        v->racing = false;
    if ((waits || v->commands != NULL) && (done = visit_commands(s, v, err)) != PAWL_OK)    /* a pass that leaves may still have refused commands */
        return done;
    return waits ? PAWL_OK : visit_leave(s, v, err);
}

static inline void pass_begins(pawl_step *s, const pawl_graph *g, const gnode *n, visit *v, frame *f, task *tk, const char *path)
{
    PAWL_ASSERT(tk->at == TASK_READY || tk->at == TASK_OPEN, "G2: a task that left or failed makes no further pass");
    visit_begin(s, v, f, tk, path, n->name);
    v->max_calls = g->max_calls;
    if (f->parent != NULL && g->max_concurrency == 0)   /* with a limit, the task may have waited for a place, so its start is another time */
        visit_follows(s, v);
}

pawl_code bare_pass(pawl_step *s, const pawl_graph *g, const gnode *n, frame *f, task *tk, const char *path, pawl_err *err)
{
    visit v;
    pawl_code rc;

    pass_begins(s, g, n, &v, f, tk, path);
    rc = n->fn(s, n->arg);
    rc = pass_ends(s, n, &v, rc, err);
    s->v = NULL;
    return rc;
}

pawl_code bare_try(pawl_step *s, const pawl_graph *g, const gnode *n, frame *f, reach *how, pawl_err *err)
{
    visit v;
    pawl_code rc;

    pass_begins(s, g, n, &v, f, f->tasks, f->tasks->name);
    rc = n->fn(s, n->arg);
    *how = REACH_DONE;
    if (rc != PAWL_OK || v.err.code != PAWL_OK || v.unanswered || v.commands != NULL || s->mem.failed) {
        (void)txn_mark(s->st);
        rc = pass_ends(s, n, &v, rc, err);
        *how = reach_of(f->tasks);
    }
    s->v = NULL;
    return rc;
}

pawl_code task_pass(pawl_step *s, const pawl_graph *g, frame *f, task *tk, const char *path, pawl_err *err)
{
    const gnode *n = node_of_task(g, tk);
    bool enter = false;
    visit v;
    pawl_code rc;

    if (n == NULL)
        return fail(err, PAWL_CORRUPT, "%s: the machine has no node for task \"%s\", where the run stands", s->st->run, tk->name);
    if (n->bare)
        return bare_pass(s, g, n, f, tk, path, err);
    pass_begins(s, g, n, &v, f, tk, path);
    v.node_limits = n->kind == GNODE_PURE && n->has_limits ? &n->limits : NULL;
    rc = phases(s, g, n, &enter);
    if (enter && v.err.code == PAWL_OK)
        rc = sub_enter(s, n, tk, path, err);
    else
        rc = pass_ends(s, n, &v, rc, err);
    s->v = NULL;
    return rc;
}
