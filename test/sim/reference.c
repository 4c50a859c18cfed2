/* reference.c - supersteps, one after another: run the tasks, merge what they wrote, see what is next. */
#include "sim/reference_inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- notes -------------------------------------------------------------------------------------- */

static void note_down(ref_course *c)
{
    ref_run *r = c->r;
    ref_text key = { .r = r }, t = { .r = r };
    int sends = 0;

    if (*c->path == '\0')
        ref_put(&key, "%lu", c->superstep);
    else
        ref_put(&key, "%lu:%s%lu", c->root, c->path, c->superstep);
    for (int i = 0; i < c->ntasks; i++) {
        ref_put(&t, "n%d", c->tasks[i].node);
        if (c->tasks[i].by_send)
            ref_put(&t, ":%d=", sends++);
        if (c->tasks[i].by_send)
            ref_put_value(&t, c->tasks[i].args);
        ref_put(&t, " ");
    }
    ref_put_channels(&t, c->channels, c->g->nchannels);
    if (r->count == r->cap) {
        ref_note *grown = ref_pool(r, (r->cap = r->cap * 2 + 16) * sizeof *grown);

        if (r->count > 0)
            memcpy(grown, r->notes, r->count * sizeof *grown);
        r->notes = grown;
    }
    r->notes[r->count++] = (ref_note){ key.at, t.at };
}

/* ---- merging: the rules, one by one ------------------------------------------------------------------- */

static ref_value list_with(ref_run *r, sim_rule rule, ref_value old, int one)
{
    for (int i = 0; rule == SIM_UNION && i < old.n; i++)
        if (old.items[i] == one)
            return old;
    return ref_pushed(r, old, one);
}

static ref_value merged(ref_run *r, sim_rule rule, ref_value old, ref_how op, ref_value v)
{
    if (sim_is_list(rule)) {
        ref_value many = op == OVERWRITE || !old.set ? ref_list(r, NULL, 0) : old;

        for (int i = 0; i < v.n; i++)
            many = list_with(r, rule, many, v.items[i]);
        return many;
    }
    if (op == OVERWRITE || !old.set)
        return v;
    if (rule == SIM_SUM)
        return ref_number(r, old.items[0] + v.items[0]);
    if (rule == SIM_MIN)
        return v.items[0] < old.items[0] ? v : old;
    if (rule == SIM_MAX)
        return v.items[0] > old.items[0] ? v : old;
    return v;
}

static void write_to(ref_course *c, ref_value *channels, const ref_wrote *w)
{
    channels[w->channel] = merged(c->r, c->g->channels[w->channel].rule, channels[w->channel], w->op, w->v);
}

static bool merge_writes(ref_course *c, ref_value *channels, int *writer, int task_index, const ref_wrote *w, int n)
{
    for (int i = 0; i < n; i++) {
        int at = w[i].channel;

        if (c->g->channels[at].rule == SIM_SINGLE && writer[at] >= 0 && writer[at] != task_index)
            return false;
        writer[at] = task_index;
        write_to(c, channels, &w[i]);
    }
    return true;
}

/* Behind how many updates of the open superstep this update of an answer is merged; 0: it is not late. */
static int late_after(const ref_course *c, int task_index, const ref_update *u)
{
    const ref_task *tk = &c->tasks[task_index];
    char name[24];

    if (tk->by_send)
        snprintf(name, sizeof name, "n%d:%d", tk->node, tk->sends);
    else
        snprintf(name, sizeof name, "n%d", tk->node);
    for (size_t i = 0; i < c->ntold; i++)
        if (c->told[i].when == SIM_LATE && c->told[i].at == c->superstep && c->told[i].visit == tk->visit && c->told[i].number == u->number &&
            strcmp(c->told[i].task, name) == 0)
            return c->told[i].after;
    return 0;
}

static bool merge_updates(ref_course *c, ref_value *channels, int *writer, int task_index, const ref_outcome *o)
{
    bool good = true;

    for (int i = 0; i < o->nupdates && good; i++)
        if (late_after(c, task_index, &o->updates[i]) == 0)
            good = merge_writes(c, channels, writer, task_index, &o->updates[i].w, 1);
    return good;
}

/* Task by task into `channels`; false: two wrote what takes one writer. */
static bool merge_all(ref_course *c, ref_value *channels)
{
    int writer[SIM_CHANNELS_MAX];
    bool good = true;

    for (int i = 0; i < c->g->nchannels; i++) {
        sim_rule rule = c->g->channels[i].rule;

        writer[i] = -1;
        if (rule == SIM_EPHEMERAL || rule == SIM_TOPIC)
            channels[i] = (ref_value){ .set = false };
    }
    for (int i = 0; i < c->ntasks && good; i++) {
        const ref_outcome *o = c->tasks[i].out;

        good = merge_updates(c, channels, writer, i, o) &&
               merge_writes(c, channels, writer, i, o->writes, o->nwrites);
    }
    return good;
}

/* ---- a graph as a node -------------------------------------------------------------------------------------- */

static void play(ref_course *c);

static const char *path_of(const ref_course *c, const ref_task *tk)
{
    ref_text t = { .r = c->r };

    if (*c->path != '\0')
        ref_put(&t, "%s%lu/", c->path, c->superstep);
    ref_put(&t, "n%d", tk->node);
    if (tk->by_send)
        ref_put(&t, ":%d", tk->sends);
    ref_put(&t, "/%d/", tk->visit);
    return t.at;
}

static ref_course *enter(ref_pass *p, const sim_node *n, const ref_task *tk)
{
    ref_course *in = ref_pool(p->c->r, sizeof *in);

    in->r = p->c->r;
    in->g = n->sub;
    in->root = p->c->root;
    in->path = path_of(p->c, tk);
    for (int i = 0; i < n->sub->nchannels; i++)
        if (n->sub->channels[i].has_first)
            write_to(in, in->channels, &(ref_wrote){ i, MERGE, ref_number(in->r, n->sub->channels[i].first) });
    for (int i = 0; i < n->nmaps; i++)
        if (n->maps[i].in && p->sees[n->maps[i].outer].set)
            in->channels[n->maps[i].inner] = p->sees[n->maps[i].outer];
    return in;
}

static const char *run_sub(ref_pass *p, const sim_node *n, ref_task *tk)
{
    ref_course *in = tk->in;

    play(in);
    for (int i = 0; in->code == NULL && i < n->nmaps; i++) {
        const sim_map *m = &n->maps[i];
        ref_value v = in->channels[m->inner], before = m->in ? p->sees[m->outer] : (ref_value){ .set = false };
        sim_rule rule = p->c->g->channels[m->outer].rule;

        if (!m->out || !v.set)
            continue;
        if (!sim_is_list(rule))         /* of a sum, what was added */
            ref_write(p, m->outer, MERGE, rule == SIM_SUM ? ref_number(in->r, ref_as_number(v) - ref_as_number(before)) : v);
        else if (v.n > before.n)        /* of a list, what came to it */
            ref_write(p, m->outer, EXTEND, ref_list(in->r, v.items + before.n, v.n - before.n));
    }
    return in->code;
}

/* ---- a task ----------------------------------------------------------------------------------------------------- */

static const char *run_visit(ref_course *c, ref_task *tk)
{
    const sim_node *n = &c->g->nodes[tk->node];
    ref_pass p = { .c = c, .tk = tk, .out = tk->out, .sees = c->channels, .visit = tk->visit };

    memset(tk->out, 0, sizeof *tk->out);        /* what an old visit was told and wrote is forgotten */
    if (n->gate != SIM_OPEN && !sim_lets_in(n->gate, c->root)) {
        tk->out->gotos[tk->out->ngotos++] = n->gate_no;
        return n->gate_no == SIM_NONE ? "denied" : NULL;
    }
    if (n->sub == NULL)
        return n->work != SIM_NONE ? ref_work(&p, n) : ref_program(&p, n);
    if (tk->in == NULL)
        tk->in = enter(&p, n, tk);
    return run_sub(&p, n, tk);
}

/* A task that failed, or has not run: new visits, and new attempts. A graph in which a task failed goes on where it is. */
static void run_task(ref_course *c, ref_task *tk)
{
    const sim_node *n = &c->g->nodes[tk->node];
    int most = n->attempts > 0 ? n->attempts : 1;

    if (tk->out == NULL)
        tk->out = ref_pool(c->r, sizeof *tk->out);
    if (tk->in != NULL && !tk->in->own_fault) {
        tk->in->code = NULL;
        tk->out->code = run_visit(c, tk);
        return;
    }
    for (int i = 0; i < most; i++) {
        tk->visit++;
        tk->in = NULL;
        tk->out->code = run_visit(c, tk);
        if (tk->out->code == NULL || strcmp(tk->out->code, "transient") != 0)
            return;
    }
}

/* ---- where it leads -------------------------------------------------------------------------------------------- */

typedef struct ref_next { bool hit[SIM_NODES_MAX]; ref_sent sends[TASKS_MAX]; int nsends; bool halt; } ref_next;

static void hit(ref_next *x, int to)
{
    if (to >= 0)
        x->hit[to] = true;
}

static bool condition_holds(const ref_pass *p, const sim_way *w)
{
    int about = ref_figure(p, &w->about);

    return w->mod < 0 || (w->mod == 0 ? about < w->rest : about % w->mod == w->rest);
}

/* False: there is no route. */
static bool route_leads(const ref_pass *p, const sim_way *w, ref_next *x)
{
    int about = ref_figure(p, &w->about), at = about % (w->ntargets + 1);

    if (w->send != SIM_NONE)
        x->sends[x->nsends++] = (ref_sent){ w->send, ref_number(p->c->r, about) };
    if (at < w->ntargets)
        hit(x, w->targets[at]);
    else if (w->otherwise != SIM_NONE)
        hit(x, w->otherwise);
    else
        return w->send != SIM_NONE;
    return true;
}

static bool ways_lead(const ref_pass *p, const sim_node *n, ref_next *x)
{
    bool whens = false, taken = false;

    for (int i = 0; i < n->nways; i++) {
        const sim_way *w = &n->ways[i];

        if (w->kind == SIM_EDGE)
            hit(x, w->to);
        else if (w->kind == SIM_ROUTE && !route_leads(p, w, x))
            return false;
        if (w->kind != SIM_WHEN)
            continue;
        whens = true;
        if (!taken && condition_holds(p, w)) {
            taken = true;
            hit(x, w->to);
        }
    }
    return !whens || taken;
}

/* Every task's way on over the merged state, in task order. False: one has none. */
static bool tasks_lead(ref_course *c, const ref_value *channels, ref_next *x)
{
    for (int i = 0; i < c->ntasks; i++) {
        const ref_outcome *o = c->tasks[i].out;
        ref_pass p = { .c = c, .tk = &c->tasks[i], .sees = channels };

        for (int j = 0; j < o->nsends; j++)
            x->sends[x->nsends++] = o->sends[j];
        for (int j = 0; j < o->ngotos; j++)
            hit(x, o->gotos[j]);
        x->halt = x->halt || o->halt;
        if (o->ngotos == 0 && !o->halt && !ways_lead(&p, &c->g->nodes[c->tasks[i].node], x))
            return false;
    }
    return true;
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

static bool ends_there(const sim_node *n)
{
    bool on = n->nways > 0;

    for (int t = SIM_END; t < SIM_NODES_MAX && !on; t++)
        on = sim_declares(n, t);
    return !on;
}

/* Whether a task of `node` can only go on to a source that is no longer needed: it finds no way round them. */
static bool is_captive(const sim_graph *g, const sim_join *j, const bool *seen, int node)
{
    bool been[SIM_NODES_MAX] = { false };
    int todo[SIM_NODES_MAX], count = 1;

    todo[0] = node;
    been[node] = true;
    for (int i = 0; i < count; i++) {
        int at = todo[i];
        bool source = false;

        for (int s = 0; s < j->nfrom; s++)
            source = source || j->from[s] == at;
        if (source && !seen[at])
            continue;           /* not needed: no way through */
        if (source || ends_there(&g->nodes[at]))
            return false;
        for (int to = SIM_END; to < g->nnodes; to++) {
            if (!sim_leads(&g->nodes[at], to))
                continue;
            if (to == SIM_END || to == j->to)
                return false;
            if (!been[to])
                todo[count++] = to;
            been[to] = true;
        }
    }
    return true;
}

static void cancel_rest(const ref_course *c, const sim_join *j, const bool *seen, bool *gone)
{
    for (int i = 0; i < c->g->nnodes; i++)
        if (i != j->to && is_captive(c->g, j, seen, i))
            gone[i] = true;
}

static bool source_is(const sim_join *j, int node)
{
    for (int s = 0; s < j->nfrom; s++)
        if (j->from[s] == node)
            return true;
    return false;
}

/* Whether a join that does not need all of its sources leads back to this one. */
static bool leads_back(const sim_graph *g, const sim_join *j, int source)
{
    bool been[SIM_NODES_MAX] = { false };
    bool more = true;

    been[j->to] = j->k < j->nfrom;
    while (more) {
        more = false;
        for (int to = 0; to < g->nnodes; to++) {
            bool led = been[to];

            for (int at = 0; at < g->nnodes && !led; at++)
                led = been[at] && sim_leads(&g->nodes[at], to);
            for (int i = 0; i < g->njoins && !led; i++)
                for (int at = 0; at < g->nnodes && !led; at++)
                    led = been[at] && g->joins[i].to == to && source_is(&g->joins[i], at);
            more = more || led != been[to];
            been[to] = led;
        }
    }
    return been[source];
}

/* The round is over; the next one has what came again, which is returned. */
static int next_round(ref_course *c, int i)
{
    int count = 0;

    for (int n = 0; n < c->g->nnodes; n++) {
        c->seen[i][n] = c->again[i][n];
        count += c->seen[i][n];
        c->again[i][n] = false;
    }
    c->fired[i] = false;
    return count;
}

/* What left in this superstep comes to the join; the number of its sources that came in this round. */
static int sources_come(ref_course *c, int i)
{
    const sim_join *j = &c->g->joins[i];
    int count = 0;

    for (int s = 0; s < j->nfrom; s++) {
        const int node = j->from[s];
        bool came = false;

        for (int t = 0; t < c->ntasks; t++)
            came = came || c->tasks[t].node == node;
        if (came && c->fired[i] && c->seen[i][node] && leads_back(c->g, j, node))
            c->again[i][node] = true;
        c->seen[i][node] = c->seen[i][node] || came;
        count += c->seen[i][node];
    }
    return count;
}

/* `gone`: nodes whose tasks a join called off. */
static void step_joins(ref_course *c, ref_next *x, bool *gone)
{
    for (int i = 0; i < c->g->njoins; i++) {
        const sim_join *j = &c->g->joins[i];
        bool over = false;
        int count = sources_come(c, i);

        if (count == j->nfrom && c->fired[i])
            count = next_round(c, i);
        if (count >= j->k && !c->fired[i]) {
            hit(x, j->to);
            c->fired[i] = true;
            over = j->cancel;
            if (j->cancel && count < j->nfrom)
                cancel_rest(c, j, c->seen[i], gone);
        }
        if (over || count == j->nfrom)          /* armed again */
            next_round(c, i);
    }
}

/* A join that has begun to wait, and did not fire. */
static bool join_waits(const ref_course *c)
{
    for (int i = 0; i < c->g->njoins; i++)
        for (int n = 0; n < c->g->nnodes; n++)
            if ((c->seen[i][n] && !c->fired[i]) || c->again[i][n])
                return true;
    return false;
}

/* ---- the next superstep --------------------------------------------------------------------------------------------- */

/* What is reached becomes tasks. False: too many. */
static bool tasks_next(ref_course *c, ref_next *x, const bool *gone)
{
    int count = 0, sends = 0;
    bool busy = false;

    for (int i = 0; i < x->nsends; i++)
        if (!gone[x->sends[i].node])
            x->sends[sends++] = x->sends[i];
    x->nsends = sends;
    busy = sends > 0;
    for (int i = 0; i < c->g->nnodes; i++) {
        x->hit[i] = x->hit[i] && !gone[i];
        c->deferred[i] = c->deferred[i] && !gone[i];
        if (x->hit[i] && c->g->nodes[i].defer)
            c->deferred[i] = true, x->hit[i] = false;
        busy = busy || x->hit[i];
    }
    for (int i = 0; i < c->g->nnodes && !busy; i++) {
        x->hit[i] = c->deferred[i];
        c->deferred[i] = false;
    }
    for (int i = 0; i < c->g->nnodes; i++)
        count += x->hit[i];
    if (count + sends > c->g->max_tasks)
        return false;
    c->ntasks = 0;
    for (int i = 0; i < c->g->nnodes; i++)
        if (x->hit[i])
            c->tasks[c->ntasks++] = (ref_task){ .node = i };
    for (int i = 0; i < sends; i++)
        c->tasks[c->ntasks++] = (ref_task){ .node = x->sends[i].node, .by_send = true, .sends = i, .args = x->sends[i].v };
    return true;
}

static void tell(ref_course *c, ref_value *channels, sim_when when, unsigned long at)
{
    for (size_t i = 0; i < c->ntold; i++)
        if (c->told[i].when == when && c->told[i].at == at && c->told[i].reopened == c->reopened)
            write_to(c, channels, &(ref_wrote){ c->told[i].channel, MERGE, ref_number(c->r, c->told[i].value) });
}

static void tell_late(ref_course *c, ref_value *channels, int after)
{
    for (int i = 0; i < c->ntasks; i++)
        for (int k = 0; k < c->tasks[i].out->nupdates; k++)
            if (late_after(c, i, &c->tasks[i].out->updates[k]) == after)
                write_to(c, channels, &c->tasks[i].out->updates[k].w);
}

/* What came while this superstep was open: each update, and behind it the answers that came after it, in task order. */
static void tell_open(ref_course *c, ref_value *channels)
{
    int nth = 0;

    for (size_t i = 0; i < c->ntold; i++)
        if (c->told[i].when == SIM_AT_OPEN && c->told[i].at == c->superstep) {
            write_to(c, channels, &(ref_wrote){ c->told[i].channel, MERGE, ref_number(c->r, c->told[i].value) });
            tell_late(c, channels, ++nth);
        }
}

/* What comes of this superstep, in `c`, which is thrown away when it comes to a fault. */
static const char *plan(ref_course *c)
{
    bool gone[SIM_NODES_MAX] = { false };
    ref_next *x = ref_pool(c->r, sizeof *x);

    if (!merge_all(c, c->channels))
        return "invalid";
    tell_open(c, c->channels);
    if (!tasks_lead(c, c->channels, x))
        return "invalid";
    c->halted = x->halt;
    if (!x->halt)
        step_joins(c, x, gone);
    if (!x->halt && !tasks_next(c, x, gone))
        return "limit";
    if (x->halt)
        c->ntasks = 0;
    return NULL;
}

/* The answers to holds come after the superstep was noted. */
static void close_superstep(ref_course *c)
{
    ref_course *before = ref_pool(c->r, sizeof *before);

    *before = *c;
    if ((c->code = plan(c)) != NULL) {
        before->code = c->code;
        before->own_fault = true;
        *c = *before;
        return;
    }
    c->superstep++;
    c->steps++;
    c->listened = false;
    note_down(c);
    for (int i = 0; i < before->ntasks && !c->halted; i++) {
        const ref_outcome *o = before->tasks[i].out;

        if (o->hold && o->hold_channel != SIM_NONE)
            write_to(c, c->channels, &(ref_wrote){ o->hold_channel, MERGE, ref_number(c->r, o->hold_value) });
    }
}

static void run_superstep(ref_course *c)
{
    if (*c->path == '\0')
        c->root = c->superstep;
    for (int i = 0; i < c->ntasks; i++) {
        ref_task *tk = &c->tasks[i];

        if (tk->out == NULL || tk->out->code != NULL)
            run_task(c, tk);
        if (c->code == NULL)
            c->code = tk->out->code;    /* the first; its siblings run to their end */
    }
    if (c->code == NULL)
        close_superstep(c);
}

static const char *start(ref_course *c)
{
    const bool gone[SIM_NODES_MAX] = { false };
    ref_pass p = { .c = c, .sees = c->channels };
    ref_next *x = ref_pool(c->r, sizeof *x);

    if (!ways_lead(&p, &c->g->start, x))
        return "invalid";
    if (!tasks_next(c, x, gone))
        return "limit";
    c->superstep = 1;
    note_down(c);
    return NULL;
}

/* On from where it is; c->code says how it came out. */
static void play(ref_course *c)
{
    c->own_fault = false;
    if (c->superstep == 0 && (c->code = start(c)) != NULL)
        c->own_fault = true;
    while (c->ntasks > 0 && c->code == NULL) {
        if (!c->listened)
            tell(c, c->channels, SIM_AT_READY, c->superstep);
        c->listened = true;
        if (c->steps < c->g->max_steps)
            run_superstep(c);
        else
            c->code = "limit", c->own_fault = true;
    }
    if (c->code == NULL && !c->halted && join_waits(c))
        c->code = "invalid", c->own_fault = true;
}

ref_run *ref_play(const sim_graph *g, const sim_told *told, size_t n)
{
    ref_run *r = calloc(1, sizeof *r);
    ref_course *c = r == NULL ? NULL : ref_pool(r, sizeof *c);
    ref_text t = { .r = r };

    if (r == NULL)
        abort();
    c->r = r;
    c->g = g;
    c->path = "";
    c->told = told;
    c->ntold = n;
    for (int i = 0; i < g->nchannels; i++)
        if (g->channels[i].has_first)
            write_to(c, c->channels, &(ref_wrote){ i, MERGE, ref_number(r, g->channels[i].first) });
    for (int i = 0; i < g->nchannels; i++)
        if (g->channels[i].has_input)
            write_to(c, c->channels, &(ref_wrote){ i, MERGE, ref_number(r, g->channels[i].input) });
    play(c);
    for (int i = 0; i < g->reopens && c->code != NULL && strcmp(c->code, "denied") != 0; i++) {
        c->code = NULL;
        c->reopened = i;
        tell(c, c->channels, SIM_AT_REOPEN, (unsigned long)i);
        c->reopened = i + 1;
        c->listened = false;
        play(c);
    }
    r->code = c->code == NULL ? "" : c->code;
    r->status = c->code == NULL ? "completed" : strcmp(c->code, "denied") == 0 ? "rejected" : "failed";
    r->supersteps = c->superstep;
    ref_put_channels(&t, c->channels, g->nchannels);
    r->channels = t.at;
    return r;
}

const char *ref_note_of(const ref_run *r, const char *key)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->notes[i].key, key) == 0)
            return r->notes[i].text;
    return NULL;
}

void ref_free(ref_run *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->pooled; i++)
        free(r->pool[i]);
    free(r->pool);
    free(r);
}
