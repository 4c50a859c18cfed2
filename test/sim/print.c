/* print.c - a random graph as text: what a person needs to see why a seed fails. */
#include "sim/generate.h"

static const char *const rule_text[SIM_RULES] = { "last", "append", "sum", "min", "max", "union", "topic", "heap", "ephemeral",
                                                  "single" };

static void print_node(FILE *out, int node)
{
    if (node == SIM_END)
        fputs("@end", out);
    else if (node == SIM_NONE)
        fputs("-", out);
    else
        fprintf(out, "n%d", node);
}

static void print_number(FILE *out, const sim_number *n)
{
    static const char *const names[] = { "", "", "args", "got", "visit" };

    if (n->from == SIM_CONST) {
        fprintf(out, "%d", n->plus);
        return;
    }
    if (n->from == SIM_READ)
        fprintf(out, "c%d+%d", n->channel, n->plus);
    else
        fprintf(out, "%s+%d", names[n->from], n->plus);
}

static void print_asked(FILE *out, const sim_op *op)
{
    static const char *const kinds[] = { "call", "list", "rough", "spawn", "ask", "sleep" };

    fputs(op->catches ? "world, catching:" : "world:", out);
    for (int i = 0; i < op->nasked; i++) {
        const sim_asked *a = &op->asked[i];

        fprintf(out, " %s(", kinds[a->kind]);
        print_number(out, &a->about);
        if (a->ref != SIM_NONE)
            fprintf(out, ", ref c%d", a->ref);
        if (a->update != SIM_NONE)
            fprintf(out, ", update c%d=%d", a->update, a->value);
        fputc(')', out);
    }
}

static void print_op(FILE *out, const sim_op *op)
{
    static const char *const names[SIM_OPS] = { "set", "extend", "copy", "move", "overwrite", "keep", "world", "skip", "send", "goto",
                                                "halt", "try", "fail", "hold" };

    if (op->kind == SIM_WORLD) {
        print_asked(out, op);
        return;
    }
    fputs(names[op->kind], out);
    if (op->kind == SIM_SEND || op->kind == SIM_GOTO) {
        fputc(' ', out);
        print_node(out, op->node);
        fputs(op->kind == SIM_GOTO || op->form == 0 ? "" : op->form == 1 ? " " : op->form == 2 ? " the list" : " all of ", out);
        if (op->kind == SIM_SEND && op->form == 1)
            print_number(out, &op->value);
        if (op->kind == SIM_SEND && op->form == 3)
            fprintf(out, "c%d", op->other);
    } else if (op->kind == SIM_SKIP) {
        fprintf(out, " %d when ", op->skip);
        print_number(out, &op->value);
        fprintf(out, " %% %d == %d", op->mod, op->rest);
    } else if (op->kind == SIM_TRY) {
        fprintf(out, " fails %d visits", op->visits);
    } else if (op->kind == SIM_COPY || op->kind == SIM_MOVE) {
        fprintf(out, " c%d from c%d", op->channel, op->other);
    } else if (op->kind == SIM_KEEP) {
        fprintf(out, " c%d", op->channel);
    } else if (op->kind != SIM_HALT && op->kind != SIM_FAIL) {
        fprintf(out, op->channel == SIM_NONE ? " nowhere " : " c%d ", op->channel);
        print_number(out, &op->value);
    }
}

static void print_way(FILE *out, const sim_way *w)
{
    if (w->kind == SIM_EDGE) {
        fputs(" -> ", out);
        print_node(out, w->to);
        return;
    }
    if (w->kind == SIM_WHEN) {
        fputs(w->mod < 0 ? " else -> " : " when ", out);
        if (w->mod >= 0) {
            print_number(out, &w->about);
            fprintf(out, w->mod == 0 ? " < %d -> " : " %% %d == %d -> ", w->mod == 0 ? w->rest : w->mod, w->rest);
        }
        print_node(out, w->to);
        return;
    }
    fputs(" route ", out);
    print_number(out, &w->about);
    for (int i = 0; i < w->ntargets; i++) {
        fputc(i == 0 ? ':' : ',', out);
        print_node(out, w->targets[i]);
    }
    fputs(" else ", out);
    print_node(out, w->otherwise);
    if (w->send != SIM_NONE)
        fprintf(out, " sends n%d", w->send);
}

static void print_inside(const sim_graph *g, FILE *out, int deep);

static void print_one(const sim_graph *g, int at, FILE *out, int deep)
{
    static const char *const gates[] = { "", " gate:yes", " gate:odd-no", " gate:no" };
    const sim_node *n = &g->nodes[at];

    fprintf(out, "%*sn%d", deep, "", at);
    fprintf(out, "%s%s%s%s", n->before ? " before" : "", n->after ? " after" : "", n->defer ? " deferred" : "", gates[n->gate]);
    if (n->gate != SIM_OPEN) {
        fputs(" no:", out);
        print_node(out, n->gate_no);
    }
    if (n->attempts > 0)
        fprintf(out, " attempts:%d(%d ms)", n->attempts, n->backoff);
    if (n->work != SIM_NONE)
        fprintf(out, " work -> c%d", n->work);
    for (int i = 0; i < n->nops; i++) {
        fputs(i == 0 ? " { " : "; ", out);
        print_op(out, &n->ops[i]);
    }
    fputs(n->nops > 0 ? " }" : "", out);
    for (int i = 0; i < n->nways; i++)
        print_way(out, &n->ways[i]);
    fputc('\n', out);
    if (n->sub == NULL)
        return;
    for (int i = 0; i < n->nmaps; i++)
        fprintf(out, "%*smap c%d %s%s c%d\n", deep + 4, "", n->maps[i].outer, n->maps[i].out ? "<" : "", n->maps[i].in ? ">" : "",
                n->maps[i].inner);
    print_inside(n->sub, out, deep + 4);
}

static void print_inside(const sim_graph *g, FILE *out, int deep)
{
    for (int i = 0; i < g->nchannels; i++) {
        const sim_channel *c = &g->channels[i];

        fprintf(out, "%*sc%d %s", deep, "", i, rule_text[c->rule]);
        if (c->has_first)
            fprintf(out, " first %d", c->first);
        if (c->has_input)
            fprintf(out, " input %d", c->input);
        fputc('\n', out);
    }
    fprintf(out, "%*s@start", deep, "");
    for (int i = 0; i < g->start.nways; i++)
        print_way(out, &g->start.ways[i]);
    fputc('\n', out);
    for (int i = 0; i < g->nnodes; i++)
        print_one(g, i, out, deep);
    for (int i = 0; i < g->njoins; i++) {
        const sim_join *j = &g->joins[i];

        fprintf(out, "%*sjoin n%d when %d of", deep, "", j->to, j->k);
        for (int s = 0; s < j->nfrom; s++)
            fprintf(out, " n%d", j->from[s]);
        fputs(j->cancel ? ", cancel the rest\n" : "\n", out);
    }
    fprintf(out, "%*smax: %d steps, %d tasks, %d at once\n", deep, "", g->max_steps, g->max_tasks, g->max_concurrency);
}

void sim_print(const sim_graph *g, FILE *out)
{
    fprintf(out, "graph of seed %llu\n", (unsigned long long)g->seed);
    print_inside(g, out, 4);
}
