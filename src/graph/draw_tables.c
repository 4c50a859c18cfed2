/* draw_tables.c - draws Pawl's own state machines from their tables; helpers of all drawings. Pure. */
#include "graph/graph.h"
#include "kernel/frame.h"
#include "kernel/step.h"

const char draw_dot_head[] =
    "    labelloc=t fontname=\"Helvetica\" rankdir=TB\n"
    "    node [shape=box style=\"rounded,filled\" fillcolor=\"#ffffff\" color=\"#555555\" fontname=\"Helvetica\" fontsize=11]\n"
    "    edge [color=\"#555555\" fontname=\"Helvetica\" fontsize=9]\n";

bool draw_may(pawl_picture format, const pawl_step *s, pawl_err *err)
{
    if (s != NULL && (format == PAWL_PICTURE_TEXT || format == PAWL_PICTURE_MERMAID || format == PAWL_PICTURE_DOT))
        return true;
    fail(err, PAWL_INVALID, s == NULL ? "draw: a step is needed" : "draw: picture format %d is none", (int)format);
    return false;
}

const char *draw_done(pawl_step *s, buf *b, const char *name, pawl_err *err)
{
    buf_char(b, '\0');
    if (!b->failed && !s->mem.failed)
        return b->data;
    fail(err, PAWL_NOMEM, "%s: no memory for its picture", name);
    return NULL;
}

/* ---- a table --------------------------------------------------------------------------------------------- */

/* One row for each state, and one column for each state by number. */
static void draw_table_text(buf *b, const sm_table *t)
{
    size_t width = 14;

    for (unsigned i = 0; i < t->count; i++)
        width = strlen(t->rows[i].name) > width ? strlen(t->rows[i].name) : width;
    buf_fmt(b, "%s\n\n    %-*s  to", t->name, (int)width + 3, "from");
    for (unsigned i = 0; i < t->count; i++)
        buf_fmt(b, "%3u", i);
    buf_char(b, '\n');
    for (unsigned i = 0; i < t->count; i++) {
        const sm_row *r = &t->rows[i];

        buf_fmt(b, "    %2u %-*s    ", i, (int)width, r->name);
        for (unsigned to = 0; to < t->count; to++)
            buf_text(b, sm_may(t, i, to) ? "  x" : "  .");
        buf_text(b, (r->flags & SM_FIRST) != 0 ? "  first" : "");
        buf_text(b, (r->flags & SM_LAST) != 0 ? "  last\n" : "\n");
    }
}

static void draw_table(buf *b, const sm_table *t, bool dot)
{
    const char *arrow = dot ? "->" : "-->";

    buf_fmt(b, dot ? "digraph \"%s\" {\n    label=\"\\G\"\n" : "---\ntitle: \"%s\"\n---\nstateDiagram-v2\n", t->name);
    buf_text(b, dot ? draw_dot_head : "");
    buf_text(b, dot ? "    first [label=\"\" shape=point width=0.15 fillcolor=\"#555555\"]\n" : "");
    for (unsigned i = 0; i < t->count; i++)
        buf_fmt(b, dot ? "    s%u [label=\"%s\"%s]\n" : "    s%u: %s\n", i, t->rows[i].name,
                (t->rows[i].flags & SM_LAST) != 0 ? " peripheries=2" : "");
    for (unsigned i = 0; i < t->count; i++) {
        if ((t->rows[i].flags & SM_FIRST) != 0)
            buf_fmt(b, "    %s %s s%u\n", dot ? "first" : "[*]", arrow, i);
        for (unsigned to = 0; to < t->count; to++)
            if (sm_may(t, i, to))
                buf_fmt(b, "    s%u %s s%u\n", i, arrow, to);
        if ((t->rows[i].flags & SM_LAST) != 0 && !dot)
            buf_fmt(b, "    s%u --> [*]\n", i);
    }
    buf_text(b, dot ? "}\n" : "");
}

const char *draw_sm(const sm_table *t, pawl_picture format, pawl_step *step, pawl_err *err)
{
    buf *b;

    if (!draw_may(format, step, err))
        return NULL;
    step_reset(step);
    b = step_text(step);
    if (format == PAWL_PICTURE_TEXT)
        draw_table_text(b, t);
    else
        draw_table(b, t, format == PAWL_PICTURE_DOT);
    return draw_done(step, b, t->name, err);
}

const char *pawl_draw_own(size_t index, pawl_picture format, pawl_step *step, pawl_err *err)
{
    static const sm_table *const tables[] = { &run_table, &task_table, &call_table, &ending_table };
    if (index >= sizeof tables / sizeof *tables || !draw_may(format, step, err))
        return NULL;
    return draw_sm(tables[index], format, step, err);
}
