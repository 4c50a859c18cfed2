/* draw.c - pawl_agent_draw(): draws the tables of the agent. Pure; the result is in the caller's step. */
#include "agent/agent.h"
#include "graph/graph.h"
#include "kernel/step.h"

static const char *at_of(const core_row *r)
{
    return r->at == 0 ? "any" : core_at_name((core_at)r->at);
}

static void label(buf *b, const core_row *r, const char *between)
{
    const char *when = core_when_name(r->when);

    buf_text(b, core_event_name((core_event)r->event));
    if (*when != '\0')
        buf_fmt(b, "%s[%s]", r->event != 0 ? " " : "", when);
    if (r->action != 0)
        buf_fmt(b, "%s%s", between, core_action_name((core_action)r->action));
}

static void core_text(buf *b)
{
    buf_text(b, "core\n\n");
    for (size_t i = 0; i < core_row_count; i++) {
        const core_row *r = &core_rows[i];

        buf_fmt(b, "    %-21s  %-22s  %-14s  -> %-21s  %s\n", at_of(r), core_event_name((core_event)r->event), core_when_name(r->when),
                core_at_name((core_at)r->next), core_action_name((core_action)r->action));
    }
}

static void core_mermaid(buf *b)
{
    buf_text(b, "---\ntitle: \"core\"\n---\nstateDiagram-v2\n    [*] --> WaitingForUserInput\n");
    for (size_t i = 0; i < core_row_count; i++)
        for (int at = 1; at < CORE_STATES; at++) {
            if (core_rows[i].at != 0 && core_rows[i].at != at)
                continue;
            buf_fmt(b, "    %s --> %s: ", core_at_name((core_at)at), core_at_name((core_at)core_rows[i].next));
            label(b, &core_rows[i], " / ");
            buf_char(b, '\n');
        }
}

static void core_dot(buf *b)
{
    buf_text(b, "digraph \"core\" {\n    label=\"\\G\"\n");
    buf_text(b, draw_dot_head);
    for (int at = 1; at < CORE_STATES; at++)
        buf_fmt(b, "    s%d [label=\"%s\"%s]\n", at, core_at_name((core_at)at), at == CORE_SHUTTING_DOWN ? " peripheries=2" : "");
    for (size_t i = 0; i < core_row_count; i++)
        for (int at = 1; at < CORE_STATES; at++) {
            if (core_rows[i].at != 0 && core_rows[i].at != at)
                continue;
            buf_fmt(b, "    s%d -> s%d [label=\"", at, (int)core_rows[i].next);
            label(b, &core_rows[i], "\\n");
            buf_text(b, "\"]\n");
        }
    buf_text(b, "}\n");
}

const char *pawl_agent_draw(size_t index, pawl_picture format, pawl_step *step, pawl_err *err)
{
    static const sm_table *const tables[] = { NULL, &phase_table, &stage_table, &shown_table };
    buf *b;

    if (index >= sizeof tables / sizeof *tables || !draw_may(format, step, err))
        return NULL;
    if (index > 0)
        return draw_sm(tables[index], format, step, err);
    step_reset(step);
    b = step_text(step);
    if (format == PAWL_PICTURE_TEXT)
        core_text(b);
    else
        (format == PAWL_PICTURE_DOT ? core_dot : core_mermaid)(b);
    return draw_done(step, b, "core", err);
}
