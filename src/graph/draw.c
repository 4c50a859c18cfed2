/* draw.c - draws a graph, the position of a run in it, and Pawl's own tables (G12).
 *
 * Of a run a picture shows only what its state has: the next tasks and the open calls, not the nodes that ran before. Text, Mermaid and DOT are
 * written from the same levels: a graph, its nodes in order, the edges of each, and the run's tasks there. Pure; the result is in the step. */
#include "graph/graph.h"
#include "kernel/rights.h"
#include "kernel/frame.h"
#include "kernel/machine.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/step.h"

#include <string.h>

enum { DRAW_COLUMNS = 80, DRAW_PROMPT_BYTES = 48 };    /* columns of a text line; bytes of a gate's prompt */

typedef enum draw_at { DRAW_AWAY, DRAW_DONE, DRAW_READY, DRAW_OPEN, DRAW_WAITING, DRAW_FAILED, DRAW_ATS } draw_at;

static const struct { char mark; const char *name, *fill, *line; } draw_ats[DRAW_ATS] = {
    [DRAW_AWAY]    = { ' ', "",        "#ffffff", "#555555" },
    [DRAW_DONE]    = { '+', "done",    "#d9ead3", "#38761d" },
    [DRAW_READY]   = { '*', "ready",   "#d0e2f3", "#1f5a96" },
    [DRAW_OPEN]    = { '>', "open",    "#fff2cc", "#bf9000" },
    [DRAW_WAITING] = { '?', "waiting", "#fce5cd", "#c55a11" },
    [DRAW_FAILED]  = { 'x', "failed",  "#f4cccc", "#a61c00" },
};

typedef struct draw_place {     /* the tasks and waits of the run at one node */
    uint32_t tasks[TASK_STATES];
    uint32_t waits;             /* number of open waits, of tasks or after them */
    bool later;                 /* a deferred node that is due */
} draw_place;

typedef enum draw_style { DRAW_EDGE, DRAW_JOIN, DRAW_IF, DRAW_ELSE, DRAW_NO, DRAW_GOTO, DRAW_ERROR } draw_style;

typedef struct draw_link {      /* an edge, a route's target or a condition */
    draw_style style;
    bool first;                 /* the first link of a group */
    bool back;                  /* leads back, closing a loop */
    uint32_t number;            /* number of the join */
    const join *j;
    const char *to;
} draw_link;

typedef struct draw_level {     /* the machine's graph, or a subgraph */
    const pawl_graph *g;
    const char *id;             /* prefix of the ids of its nodes: "n", "n3_" */
    unsigned depth;
    draw_link *links;           /* the links of node i are links[from[i]] up to links[from[i + 1]] */
    uint32_t *from, nlinks;
    uint32_t *order;            /* its nodes in drawing order */
    draw_place *places;         /* by node */
    join_index joins;
    uint32_t *joined;           /* by join: number of its sources that are done */
    uint32_t *half;             /* by node: the number of the first join to it that has sources which are done, + 1; 0: none */
} draw_level;

enum { DRAW_NAME, DRAW_PLACE, DRAW_WHAT, DRAW_TO, DRAW_CELLS };

typedef struct draw_row {       /* a line of the text before folding */
    struct draw_row *next;
    char mark;
    const char *cells[DRAW_CELLS];
} draw_row;

typedef struct drawing {
    pawl_step *s;
    const pawl_graph *g;
    const pawl_state *st;       /* NULL: draw the graph only */
    bool text, dot;             /* both false: Mermaid */
    buf *out;
    draw_row *rows, **end;
} drawing;

/* ---- ways on ------------------------------------------------------------------------------------------ */

static void draw_link_add(arena *a, draw_level *l, draw_link k)
{
    uint32_t n = l->nlinks;
    draw_link *grown = l->links;

    if ((n & (n - 1)) == 0 && (grown = arena_get(a, (2 * (size_t)n + 1) * sizeof *grown)) == NULL)
        return;
    if (grown != l->links && n > 0)
        memcpy(grown, l->links, n * sizeof *grown);
    grown[l->nlinks++] = k;
    l->links = grown;
}

/* Of a goto. A node that is also sent to, or to which both a no and a failure lead, is named once for each; what leads there last is named last. */
static draw_style goto_style(const gnode *n, uint32_t at)
{
    const char *to = n->gotos[at];
    const bool no = n->no_to != NULL && strcmp(to, n->no_to) == 0, error = n->error_to != NULL && strcmp(to, n->error_to) == 0;
    unsigned later = 0;

    for (uint32_t i = at + 1; i < n->ngotos; i++)
        later += strcmp(n->gotos[i], to) == 0;
    if (later == 0 && (no || error))
        return error ? DRAW_ERROR : DRAW_NO;
    return later == 1 && no && error ? DRAW_NO : DRAW_GOTO;
}

static void draw_links(arena *a, draw_level *l, uint32_t at)
{
    const gnode *n = l->g->nodes[at];
    uint32_t begin = l->nlinks;

    for (const way *w = n->ways; w != NULL; w = w->next)
        if (w->kind == WAY_EDGE)
            draw_link_add(a, l, (draw_link){ .style = DRAW_EDGE, .first = begin == l->nlinks, .to = w->to });
    for (uint32_t i = l->joins.first[at]; i < l->joins.first[at + 1]; i++) {
        const uint32_t number = l->joins.numbers[i];
        const join *j = l->joins.joins[number];

        draw_link_add(a, l, (draw_link){ .style = DRAW_JOIN, .first = true, .number = number, .j = j, .to = j->to });
    }
    begin = l->nlinks;
    for (const way *w = n->ways; w != NULL; w = w->next)
        if (w->kind == WAY_WHEN)
            draw_link_add(a, l, (draw_link){ .style = w->when != NULL ? DRAW_IF : DRAW_ELSE, .first = begin == l->nlinks, .to = w->to });
    for (const way *w = n->ways; w != NULL; w = w->next) {
        begin = l->nlinks;
        for (uint32_t i = 0; i < w->ntargets; i++)
            draw_link_add(a, l, (draw_link){ .style = DRAW_IF, .first = i == 0, .to = w->targets[i] });
        if (w->otherwise != NULL)
            draw_link_add(a, l, (draw_link){ .style = DRAW_ELSE, .first = begin == l->nlinks, .to = w->otherwise });
    }
    if (n->gate_no != NULL)
        draw_link_add(a, l, (draw_link){ .style = DRAW_NO, .first = true, .to = n->gate_no });
    begin = l->nlinks;
    for (uint32_t i = 0; i < n->ngotos; i++)
        if (goto_style(n, i) == DRAW_GOTO)
            draw_link_add(a, l, (draw_link){ .style = DRAW_GOTO, .first = begin == l->nlinks, .to = n->gotos[i] });
    for (uint32_t i = 0; i < n->ngotos; i++)
        if (goto_style(n, i) != DRAW_GOTO)
            draw_link_add(a, l, (draw_link){ .style = goto_style(n, i), .first = true, .to = n->gotos[i] });
}

/* Depth first, filling `order` from its end. The first pass goes in the order of declaration and finds the links that lead back. The second pass leaves
 * these out and goes backwards, so the order is topological, and nodes that were declared first come first. */
static uint32_t draw_walk(draw_level *l, bool again, uint32_t *stack, uint32_t *walked, uint8_t *at)
{
    enum { NEW, BELOW, DONE };
    uint32_t left = (uint32_t)l->g->nnodes, depth = 1;

    memset(walked, 0, left * sizeof *walked);
    memset(at, NEW, left);
    at[stack[0] = START_INDEX] = BELOW;
    while (depth > 0) {
        uint32_t n = stack[depth - 1], i = walked[n]++;
        draw_link *k;
        int to;

        if (l->from[n] + i == l->from[n + 1]) {
            at[l->order[--left] = n] = DONE;
            depth--;
            continue;
        }
        k = &l->links[again ? l->from[n + 1] - 1 - i : l->from[n] + i];
        if ((to = node_index(l->g, k->to)) >= 0 && at[to] == NEW && !k->back)
            at[stack[depth++] = (uint32_t)to] = BELOW;
        else if (to >= 0 && !again)
            k->back = at[to] == BELOW;
    }
    return left;
}

/* Unreachable nodes come at the end. */
static void draw_order(arena *a, draw_level *l)
{
    uint32_t count = (uint32_t)l->g->nnodes, left, last;
    uint32_t *stack = arena_get(a, 2 * count * sizeof *stack);
    uint8_t *at = arena_get(a, count);

    l->order = arena_get(a, count * sizeof *l->order);
    if (a->failed)
        return;
    draw_walk(l, false, stack, stack + count, at);
    left = draw_walk(l, true, stack, stack + count, at);
    last = count - left;
    memmove(l->order, l->order + left, last * sizeof *l->order);
    for (uint32_t i = 0; i < count; i++)
        if (at[i] == 0)
            l->order[last++] = i;
}

/* ---- where the run is --------------------------------------------------------------------------------- */

/* The place of the last node in a task's path; NULL: this graph has no node of that name. */
static draw_place *draw_place_at(const draw_level *l, const char *path)
{
    char name[NAME_BYTES_MAX + 1];
    const char *slash = strrchr(path, '/'), *from = slash != NULL ? slash + 1 : path;
    size_t size = strcspn(from, ":");
    int i;

    if (strcmp(from, "@") == 0)     /* a wait of the machine itself, for the next turn */
        return &l->places[START_INDEX];
    if (size > NAME_BYTES_MAX)
        return NULL;
    memcpy(name, from, size);
    name[size] = '\0';
    i = node_index(l->g, name);
    return i < 0 ? NULL : &l->places[i];
}

/* Visits every frame of this graph: the run's own, or those in the tasks of a subgraph's node. */
static void draw_tally(draw_level *l, const frame *f)
{
    pawl_iter it = pawl_iter_of(f->defer);
    const pawl_value *v;
    draw_place *p;
    uint32_t number = 0;
    const call *detached;

    for (uint32_t i = 0; i < f->ntasks; i++)
        if (f->tasks[i].child != NULL)
            draw_tally(l, f->tasks[i].child);
    if (strcmp(f->where, l->g->where) != 0)
        return;
    for (uint32_t i = 0; i < f->ntasks; i++)
        if ((p = draw_place_at(l, f->tasks[i].name)) != NULL) {
            const task *tk = &f->tasks[i];
            bool asks = false;

            for (uint32_t c = 0; c < tk->ncalls && !asks; c++)
                asks = call_asks(&tk->calls[c]) && call_is_open(&tk->calls[c]);
            p->tasks[tk->at]++;
            p->waits += asks;
        }
    for (uint32_t at = 0; (detached = detached_next(f, &at)) != NULL;)
        if (detached->kind == CALL_ASK && (p = draw_place_at(l, detached->task)) != NULL)
            p->waits++;
    while ((v = pawl_iter_next(&it, NULL)) != NULL)
        if ((p = draw_place_at(l, pawl_value_string(v))) != NULL)
            p->later = true;
    for (const join *j = l->g->joins; j != NULL; j = j->next, number++) {
        uint32_t count = 0;
        const pawl_value *seen = pawl_value_get(f->joins, j->name);

        it = pawl_iter_of(seen);
        while ((v = pawl_iter_next(&it, NULL)) != NULL)
            count += node_index(l->g, pawl_value_string(v)) > 0;
        if (join_has(seen, JOIN_FIRED))
            count = join_again(seen);
        if (count <= l->joined[number])
            continue;
        l->joined[number] = count;
        if (l->half[j->to_at] == 0 || number < l->half[j->to_at] - 1)
            l->half[j->to_at] = number + 1;
    }
}

/* Makes the level of a graph: node number `n` of `outer`, or with `outer` NULL the machine's own graph. NULL: no memory. */
static draw_level *draw_level_new(const drawing *d, const draw_level *outer, uint32_t n)
{
    arena *a = &d->s->mem;
    draw_level *l = arena_zero(a, sizeof *l);

    if (l == NULL)
        return NULL;
    l->g = outer == NULL ? d->g : outer->g->nodes[n]->sub;
    l->depth = outer == NULL ? 0 : outer->depth + 1;
    buf_reset(&d->s->scratch);
    buf_fmt(&d->s->scratch, outer == NULL ? "n" : "%s%u_", outer == NULL ? "" : outer->id, (unsigned)n);
    l->id = step_copy(d->s, &d->s->scratch, NULL);
    if (!join_index_make(&l->joins, a, l->g, NULL))
        return NULL;
    l->places = arena_zero(a, l->g->nnodes * sizeof *l->places);
    l->joined = arena_zero(a, (l->joins.njoins + 1) * sizeof *l->joined);
    l->from = arena_zero(a, (l->g->nnodes + 1) * sizeof *l->from);
    l->half = arena_zero(a, l->g->nnodes * sizeof *l->half);
    for (size_t i = 0; i < l->g->nnodes && !a->failed; i++) {
        draw_links(a, l, (uint32_t)i);
        l->from[i + 1] = l->nlinks;
    }
    draw_order(a, l);
    if (a->failed)
        return NULL;
    if (d->st != NULL)
        draw_tally(l, &d->st->root);
    return l;
}

static draw_at draw_place_is(const draw_place *p)
{
    return p->tasks[TASK_FAILED] > 0  ? DRAW_FAILED
           : p->waits > 0             ? DRAW_WAITING
           : p->tasks[TASK_OPEN] > 0  ? DRAW_OPEN
           : p->tasks[TASK_READY] > 0 ? DRAW_READY
           : p->tasks[TASK_LEFT] > 0  ? DRAW_DONE
                                      : DRAW_AWAY;
}

/* ---- words, the same in every format ------------------------------------------------------------------ */

/* "waiting", or for many tasks "37/120 done, 2 failed". */
static void draw_place_text(buf *b, const draw_place *p)
{
    uint32_t total = 0;

    for (unsigned i = 0; i < TASK_STATES; i++)
        total += p->tasks[i];
    if (total < 2) {
        buf_text(b, total + p->waits == 0 && p->later ? "due later" : draw_ats[draw_place_is(p)].name);
        return;
    }
    buf_fmt(b, "%u/%u done", (unsigned)p->tasks[TASK_LEFT], (unsigned)total);
    if (p->tasks[TASK_FAILED] > 0)
        buf_fmt(b, ", %u failed", (unsigned)p->tasks[TASK_FAILED]);
    if (p->waits > 0)
        buf_fmt(b, ", %u waiting", (unsigned)p->waits);
}

/* "essay-7, superstep 3: input-required"; NULL: no memory. */
static const char *draw_status(const drawing *d)
{
    buf *b = &d->s->scratch;

    buf_reset(b);
    if (d->st != NULL) {
        buf_text(b, d->st->run);
        if (d->st->root.ntasks > 0)
            buf_fmt(b, ", superstep %llu", (unsigned long long)d->st->root.superstep);
        buf_fmt(b, ": %s", pawl_status_name((pawl_status)d->st->status));
    }
    return step_copy(d->s, b, NULL);
}

static void draw_join_text(buf *b, const join *j)
{
    if (j->k == j->nfrom || j->k == 1)
        buf_text(b, j->k == j->nfrom ? "all" : "any");
    else
        buf_fmt(b, "%u of %u", (unsigned)j->k, (unsigned)j->nfrom);
    if (j->rest == PAWL_JOIN_CANCELS_REST)
        buf_text(b, " cancels rest");
}

/* Shortens a text to one line without control characters. */
static void draw_prompt(buf *b, const char *text)
{
    size_t size = strlen(text), n = size < DRAW_PROMPT_BYTES ? size : DRAW_PROMPT_BYTES;
    bool utf8 = utf8_valid(text, size);

    while (utf8 && n < size && n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--;
    buf_text(b, size > 0 ? " \"" : "");
    for (const char *c = text; c < text + n; c++)
        buf_char(b, (unsigned char)*c < ' ' || *c == 127 ? ' ' : (unsigned char)*c > 127 && !utf8 ? '?' : *c);
    buf_text(b, n < size ? "...\"" : size > 0 ? "\"" : "");
}

/* The properties of a node, each followed by a separator. Hooks of all nodes are shown at @start. */
static void draw_what(const drawing *d, buf *b, const pawl_graph *g, const gnode *n)
{
    const char *end = d->text ? ", " : "\n";
    bool start = n->kind == GNODE_START;
    const hook *h = start ? g->hooks : n->hooks;

    if (n->note != NULL || (n->kind == GNODE_PURE && d->text))
        buf_fmt(b, "%s%s", n->note != NULL ? n->note : "pure", end);
    if (n->kind == GNODE_WORK)
        buf_fmt(b, "work %s%s", n->effect, end);
    if (n->kind == GNODE_SUB)
        buf_fmt(b, "graph %s%s", n->sub->name, end);
    if (start && g->turns != NULL)
        buf_fmt(b, "takes turns%s", end);
    if (n->defer)
        buf_fmt(b, "deferred%s", end);
    if (n->before)
        buf_fmt(b, "pause before%s", end);
    if (n->requires != RANK_NONE)
        buf_fmt(b, "requires %s%s", mode_text((mode_rank)n->requires), end);
    if (n->gate != NULL) {
        buf_text(b, "gate");
        draw_prompt(b, d->text ? "" : n->gate);
        buf_text(b, end);
    }
    if (n->after)
        buf_fmt(b, "pause after%s", end);
    for (const hook *all = g->hooks; all != NULL && h != NULL && !start; all = all->next)
        h = h->next;        /* skips the graph's hooks, which compile put first */
    for (; h != NULL; h = h->next)
        buf_fmt(b, "hook %s %s%s%s", h->effect, h->phase == PAWL_PHASE_BEFORE ? "before" : "after", start ? " each" : "", end);
}

/* ---- text: rows of cells ------------------------------------------------------------------------------ */

#define DRAW_GLUE '\x1f'        /* a blank where a line must not break */
#define DRAW_FOLD '\x1e'        /* a blank where a line may break; the next line is indented */
enum { DRAW_MARGIN = 4, DRAW_GAP = 2, DRAW_FOLD_BY = 3 };

static const size_t draw_widths[DRAW_CELLS] = { 24, 16, 24, DRAW_COLUMNS };     /* largest widths */

/* A line may end after a comma. */
static void draw_glue(buf *b, size_t from)
{
    for (size_t i = from; i < b->size; i++)
        if (b->data[i] == ' ' && (i == 0 || b->data[i - 1] != ','))
            b->data[i] = DRAW_GLUE;
}

static void draw_blanks(buf *b, size_t n)
{
    buf_fmt(b, "%*s", (int)n, "");
}

static void draw_link_text(buf *b, const draw_link *k)
{
    static const char *const lead[] = { "-> ", "-> <", "-> if ", "-> else ", "no -> ", "~> ", "error -> " };
    static const char *const more[] = { ",", "", "| ", "| else ", "", ",", "" };
    bool listed = k->style == DRAW_EDGE || k->style == DRAW_GOTO;
    size_t from;

    if (k->first)
        buf_text(b, b->size > 0 ? "  " : "");
    else if (!listed)
        buf_char(b, DRAW_FOLD);
    from = b->size;
    buf_text(b, k->first ? lead[k->style] : more[k->style]);
    if (k->style == DRAW_JOIN) {
        draw_join_text(b, k->j);
        buf_text(b, "> ");
    }
    draw_glue(b, from);
    if (!k->first && listed)
        buf_char(b, DRAW_FOLD);
    buf_text(b, k->to);
}

static const char *draw_cell(const drawing *d, const draw_level *l, uint32_t n, unsigned cell)
{
    const gnode *node = l->g->nodes[n];
    buf *b = &d->s->scratch;

    buf_reset(b);
    if (cell == DRAW_NAME) {
        buf_fmt(b, "%*s%s", 2 * (int)l->depth, "", node->name);
    } else if (cell == DRAW_PLACE) {
        draw_place_text(b, &l->places[n]);
        if (b->size == 0 && l->half[n] > 0)
            buf_fmt(b, "%u/%u joined", (unsigned)l->joined[l->half[n] - 1], (unsigned)l->joins.joins[l->half[n] - 1]->k);
    } else if (cell == DRAW_WHAT) {
        draw_what(d, b, l->g, node);
        b->size -= b->size >= 2 ? 2 : 0;
    }
    draw_glue(b, 0);
    for (uint32_t i = l->from[n]; i < l->from[n + 1] && cell == DRAW_TO; i++)
        draw_link_text(b, &l->links[i]);
    return step_copy(d->s, b, NULL);
}

static void draw_rows(drawing *d, const draw_level *l)
{
    for (size_t i = 0; l != NULL && i < l->g->nnodes; i++) {
        uint32_t n = l->order[i];
        draw_row *r = arena_zero(&d->s->mem, sizeof *r);

        for (unsigned c = 0; r != NULL && c < DRAW_CELLS; c++)
            r->cells[c] = draw_cell(d, l, n, c);
        if (d->s->mem.failed)
            return;
        r->mark = draw_ats[draw_place_is(&l->places[n])].mark;
        *d->end = r;
        d->end = &r->next;
        if (l->g->nodes[n]->kind == GNODE_SUB)
            draw_rows(d, draw_level_new(d, l, n));
    }
}

/* Moves as many words of *at to `b` as fit, at least one, and advances *at. */
static size_t draw_piece(buf *b, const char **at, size_t room)
{
    const char *p = *at + (**at == DRAW_FOLD), *end = p;
    size_t in = p > *at ? DRAW_FOLD_BY : 0;

    for (const char *q = p; end == p || (size_t)(q - p) + in <= room; q++) {
        if (q > p && (*q == DRAW_FOLD || *q == '\0' || (*q == ' ' && q[-1] != ' ')))
            end = q;
        if (*q == '\0')
            break;
    }
    draw_blanks(b, in);
    for (const char *q = p; q < end; q++)
        buf_char(b, *q == DRAW_GLUE || *q == DRAW_FOLD ? ' ' : *q);
    for (*at = end; **at == ' '; ++*at)
        ;
    return (size_t)(end - p) + in;
}

/* Folds each cell in its column. A cell that is too wide ends the line; the other cells continue below. */
static void draw_row_text(buf *b, const draw_row *r, const size_t *widths)
{
    const char *at[DRAW_CELLS];
    size_t blanks = r->mark == ' ' ? DRAW_MARGIN : 1, n = 0;

    memcpy(at, r->cells, sizeof at);
    if (r->mark != ' ')
        buf_fmt(b, "  %c", r->mark);
    while (*at[DRAW_NAME] != '\0' || *at[DRAW_PLACE] != '\0' || *at[DRAW_WHAT] != '\0' || *at[DRAW_TO] != '\0') {
        for (unsigned c = 0; c < DRAW_CELLS && (c == 0 || n <= widths[c - 1]); c++) {
            n = 0;
            if (*at[c] != '\0') {
                draw_blanks(b, blanks);
                blanks = 0;
                n = draw_piece(b, &at[c], widths[c]);
            }
            if (n <= widths[c] && widths[c] > 0)
                blanks += widths[c] - n + DRAW_GAP;
        }
        buf_char(b, '\n');
        blanks = DRAW_MARGIN;
    }
}

/* Computes the widths of the columns; returns the width of a whole line. */
static size_t draw_measure(const drawing *d, size_t *widths)
{
    size_t line = DRAW_MARGIN, n;

    buf_reset(&d->s->scratch);
    for (unsigned c = 0; c < DRAW_CELLS; c++) {
        size_t most = c == DRAW_TO ? DRAW_COLUMNS - line : draw_widths[c];

        widths[c] = 0;
        for (const draw_row *r = d->rows; r != NULL; r = r->next)
            for (const char *at = r->cells[c]; *at != '\0'; buf_reset(&d->s->scratch))
                if ((n = draw_piece(&d->s->scratch, &at, most)) <= most && n > widths[c])
                    widths[c] = n;
        line += widths[c] > 0 ? widths[c] + DRAW_GAP : 0;
    }
    return line - DRAW_GAP;
}

static void draw_text(drawing *d, const draw_level *l)
{
    const char *status = draw_status(d);
    size_t widths[DRAW_CELLS], line, used;

    draw_rows(d, l);
    if (d->s->mem.failed)
        return;
    line = draw_measure(d, widths);
    buf_fmt(d->out, "%s %u", d->g->name, (unsigned)d->g->version);
    used = d->out->size + strlen(status);
    if (*status != '\0')
        draw_blanks(d->out, used + DRAW_GAP < line ? line - used : DRAW_GAP);
    buf_fmt(d->out, "%s\n\n", status);
    for (const draw_row *r = d->rows; r != NULL; r = r->next)
        draw_row_text(d->out, r, widths);
}

/* ---- Mermaid and DOT: blocks of nodes and arrows ------------------------------------------------------ */

/* Writes the scratch buffer in quotes. Mermaid has no escapes except entities. */
static void draw_quoted(const drawing *d)
{
    const buf *from = &d->s->scratch;
    buf *b = d->out;

    b->failed = b->failed || from->failed;
    buf_char(b, '"');
    for (size_t i = 0; i < from->size; i++) {
        char c = from->data[i];

        if (c == '\n')
            buf_text(b, d->dot ? "\\n" : "<br>");
        else if (d->dot && (c == '"' || c == '\\'))
            buf_fmt(b, "\\%c", c);
        else if (d->dot ? c == '&' : strchr("\"#&<>`\\:;", c) != NULL)
            buf_fmt(b, d->dot ? "&#%d;" : "#%d;", c);
        else
            buf_char(b, c);
    }
    buf_char(b, '"');
}

static void draw_indent(const drawing *d, const draw_level *l)
{
    draw_blanks(d->out, 4 * (size_t)l->depth + 4);
}

/* Writes the id of a node, or of the entry or exit of a subgraph; -1 is @end. */
static void draw_id(buf *b, const draw_level *l, const char *name, bool leaves)
{
    int n = node_index(l->g, name);

    buf_text(b, l->id);
    if (n >= 0 && l->g->nodes[n]->kind == GNODE_SUB) {
        buf_fmt(b, "%d_", n);
        n = leaves ? -1 : START_INDEX;
    }
    if (n >= 0)
        buf_int(b, n);
    else
        buf_char(b, 'e');
}

/* Writes name, kind and the run's tasks of a node into the scratch buffer. */
static void draw_label(const drawing *d, const draw_level *l, uint32_t n)
{
    buf *b = &d->s->scratch;

    buf_reset(b);
    buf_fmt(b, "%s\n", l->g->nodes[n]->name);
    draw_what(d, b, l->g, l->g->nodes[n]);
    draw_place_text(b, &l->places[n]);
    b->size -= b->size > 0 && b->data[b->size - 1] == '\n';
}

static void draw_node(const drawing *d, const draw_level *l, uint32_t n)
{
    static const char *const open[] = { "([", "[", "[[" }, *const close[] = { "])", "]", "]]" };
    static const char *const dot[] = { " shape=oval", "", " peripheries=2" };
    draw_at at = draw_place_is(&l->places[n]);
    unsigned kind = l->g->nodes[n]->kind;

    draw_label(d, l, n);
    draw_indent(d, l);
    buf_fmt(d->out, "%s%u%s", l->id, (unsigned)n, d->dot ? " [label=" : open[kind]);
    draw_quoted(d);
    buf_text(d->out, d->dot ? dot[kind] : close[kind]);
    if (at != DRAW_AWAY && d->dot)
        buf_fmt(d->out, " fillcolor=\"%s\" color=\"%s\"", draw_ats[at].fill, draw_ats[at].line);
    else if (at != DRAW_AWAY)
        buf_fmt(d->out, ":::%s", draw_ats[at].name);
    buf_text(d->out, d->dot ? "]\n" : "\n");
}

static void draw_arrow(const drawing *d, const draw_level *l, const gnode *n, const draw_link *k)
{
    static const char *const dot[] = {
        "", " [arrowhead=none]", " [style=dashed]", " [style=dashed label=\"else\"]", " [style=dashed label=\"no\"]", " [style=dotted]",
        " [style=dashed label=\"error\"]",
    };
    static const char *const mermaid[] = { "-->", "---", "-.->|if|", "-.->|else|", "-.->|no|", "-.->|goto|", "-.->|error|" };

    draw_indent(d, l);
    draw_id(d->out, l, n->name, true);
    buf_fmt(d->out, " %s ", d->dot ? "->" : mermaid[k->style]);
    if (k->style == DRAW_JOIN)
        buf_fmt(d->out, "%sj%u", l->id, (unsigned)k->number);
    else
        draw_id(d->out, l, k->to, false);
    buf_fmt(d->out, "%s\n", d->dot ? dot[k->style] : "");
}

/* Draws a join as a small diamond between its sources and its target. */
static void draw_join(const drawing *d, const draw_level *l, const join *j, uint32_t number)
{
    buf *b = &d->s->scratch;

    buf_reset(b);
    draw_join_text(b, j);
    if (l->joined[number] > 0)
        buf_fmt(b, "\n%u/%u", (unsigned)l->joined[number], (unsigned)j->k);
    draw_indent(d, l);
    buf_fmt(d->out, "%sj%u%s", l->id, (unsigned)number, d->dot ? " [label=" : "{");
    draw_quoted(d);
    buf_text(d->out, d->dot ? " shape=diamond style=filled fontsize=9 margin=0 width=0.4 height=0.4]\n" : "}\n");
    draw_indent(d, l);
    buf_fmt(d->out, "%sj%u %s ", l->id, (unsigned)number, d->dot ? "->" : "-->");
    draw_id(d->out, l, j->to, false);
    buf_char(d->out, '\n');
}

static void draw_sub(const drawing *d, const draw_level *l, uint32_t n);

static void draw_block(const drawing *d, const draw_level *l)
{
    uint32_t number = 0;

    for (size_t i = 0; i < l->g->nnodes; i++)
        (l->g->nodes[l->order[i]]->kind == GNODE_SUB ? draw_sub : draw_node)(d, l, l->order[i]);
    draw_indent(d, l);
    buf_fmt(d->out, d->dot ? "%se [label=\"@end\" shape=oval]\n" : "%se([\"@end\"])\n", l->id);
    for (const join *j = l->g->joins; j != NULL; j = j->next)
        draw_join(d, l, j, number++);
    for (size_t i = 0; i < l->g->nnodes; i++)
        for (uint32_t n = l->order[i], k = l->from[n]; k < l->from[n + 1]; k++)
            draw_arrow(d, l, l->g->nodes[n], &l->links[k]);
}

static void draw_sub(const drawing *d, const draw_level *l, uint32_t n)
{
    draw_at at = draw_place_is(&l->places[n]);
    const draw_level *inner = draw_level_new(d, l, n);

    if (inner == NULL)
        return;
    draw_label(d, l, n);
    draw_indent(d, l);
    buf_fmt(d->out, d->dot ? "subgraph cluster_%s%u {\n" : "subgraph %s%u[", l->id, (unsigned)n);
    if (d->dot) {
        draw_indent(d, inner);
        buf_fmt(d->out, "fontsize=11 style=\"rounded,filled\" fillcolor=\"%s\" color=\"%s\" label=",
                at == DRAW_AWAY ? "#f6f6f6" : draw_ats[at].fill, draw_ats[at].line);
    }
    draw_quoted(d);
    buf_text(d->out, d->dot ? "\n" : "]\n");
    draw_block(d, inner);
    draw_indent(d, l);
    buf_text(d->out, d->dot ? "}\n" : "end\n");
    if (!d->dot && at != DRAW_AWAY) {
        draw_indent(d, l);
        buf_fmt(d->out, "class %s%u %s\n", l->id, (unsigned)n, draw_ats[at].name);
    }
}

static void draw_graph(drawing *d, const draw_level *l)
{
    const char *status = draw_status(d);

    if (status == NULL)
        return;
    buf_fmt(d->out, d->dot ? "digraph \"%s\" {\n    label=" : "---\ntitle: ", d->g->name);
    buf_fmt(d->out, "\"%s %u%s%s\"\n", d->g->name, (unsigned)d->g->version, *status != '\0' ? " - " : "", status);
    buf_text(d->out, d->dot ? draw_dot_head : "---\nflowchart TD\n");
    draw_block(d, l);
    for (unsigned i = DRAW_DONE; !d->dot && d->st != NULL && i < DRAW_ATS; i++)
        buf_fmt(d->out, "    classDef %s fill:%s,stroke:%s,color:#000000\n", draw_ats[i].name, draw_ats[i].fill, draw_ats[i].line);
    buf_text(d->out, d->dot ? "}\n" : "");
}

/* ---- the doors ---------------------------------------------------------------------------------------- */

const char *pawl_draw(const pawl_machine *m, pawl_state *st, pawl_picture format, pawl_step *step, pawl_err *err)
{
    drawing d = { .s = step, .g = graph_of(m), .st = st, .text = format == PAWL_PICTURE_TEXT, .dot = format == PAWL_PICTURE_DOT };
    const draw_level *l;

    if (!draw_may(format, step, err))
        return NULL;
    if (d.g == NULL) {
        fail(err, PAWL_INVALID, "%s: it is no graph, and only a graph can be drawn", m != NULL ? m->name : "draw");
        return NULL;
    }
    if (st != NULL && (strcmp(st->machine, m->name) != 0 || st->version != m->version || !hash_equal(&st->machine_hash, &m->hash))) {
        fail(err, PAWL_CONFLICT, "%s: it runs under machine %s %u, and this is another %s %u", st->run, st->machine,
             (unsigned)st->version, m->name, (unsigned)m->version);
        return NULL;
    }
    step_reset(step);
    d.out = step_text(step);
    d.end = &d.rows;
    if ((l = draw_level_new(&d, NULL, 0)) != NULL)
        (d.text ? draw_text : draw_graph)(&d, l);
    return draw_done(step, d.out, m->name, err);
}
