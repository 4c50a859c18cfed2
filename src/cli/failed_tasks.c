/* failed_tasks.c - the failed tasks of a run. See failed_tasks.h.
 *
 * Called on the main thread for a state that nobody changes meanwhile. The journal names a task by its number, "count:2"; a person knows the element. */
#include "cli/failed_tasks.h"
#include "cli/ui/format.h"
#include "kernel/frame.h"
#include "kernel/item.h"
#include "kernel/journal/codec.h"
#include "kernel/state.h"

enum { FAILURES_MAX = 100, LINES_MAX = 10, VALUE_COLUMNS = 40 };

static const pawl_value *failure_of(arena *mem, const task *tk)
{
    const pawl_value *why = tk->fault != NULL ? value_read(mem, tk->fault, tk->fault_size, "a fault", NULL) : NULL;
    const char *code = pawl_value_string(pawl_value_get(why, "code")), *text = pawl_value_string(pawl_value_get(why, "text"));
    const pawl_value *v = value_pack(mem, NULL, "{s:s,s:v,s:s,s:s}", "code", code != NULL ? code : "", "node", value_string(mem, tk->name, tk->node_size),
                                     "task", tk->name, "text", text != NULL ? text : "");

    return pawl_value_size(tk->args) > 0 ? value_with(mem, v, "element", tk->args) : v;
}

static const pawl_value *of_frame(arena *mem, const frame *f, const pawl_value *all)
{
    for (uint32_t i = 0; i < f->ntasks && pawl_value_size(all) < FAILURES_MAX; i++) {
        const task *tk = &f->tasks[i];
        const size_t before = pawl_value_size(all);

        if (tk->child != NULL)
            all = of_frame(mem, tk->child, all);
        if (tk->at == TASK_FAILED && (pawl_value_size(all) == before || pawl_value_size(tk->args) > 0))
            all = value_push(mem, all, failure_of(mem, tk));
    }
    return all;
}

/* ---- a channel that could not take what was written ------------------------------------------------------------------- */

/* The channel in the text of such an error; NULL: the run failed otherwise. */
static const char *channel_of(arena *mem, const pawl_value *reason)
{
    const char *text = pawl_value_string(pawl_value_get(reason, "text")), *from = text != NULL ? strstr(text, "channel \"") : NULL, *end;

    if (from == NULL || (from != text && from[-1] != ' '))
        return NULL;
    from += sizeof "channel \"" - 1;
    end = strchr(from, '"');
    return end != NULL ? arena_strdup(mem, from, (size_t)(end - from)) : NULL;
}

static const pawl_value *writer(arena *mem, const task *tk, const item_write *w, const pawl_value *code)
{
    const pawl_value *v;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "wrote ");
    if (w->value != NULL && w->refs.list == NULL) {
        cli_short(&b, w->value, VALUE_COLUMNS);
        buf_char(&b, ' ');
    }
    buf_fmt(&b, "to %s", w->channel);
    v = b.failed ? NULL : value_pack(mem, NULL, "{s:s,s:v,s:v,s:s,s:v}", "channel", w->channel, "code", code, "node",
                                     value_string(mem, tk->name, tk->node_size), "task", tk->name, "text", value_string(mem, b.data, b.size));
    buf_free(&b);
    return v != NULL && pawl_value_size(tk->args) > 0 ? value_with(mem, v, "element", tk->args) : v;
}

/* The tasks of the superstep that could not close; a subgraph is closed before the graph around it. */
static const pawl_value *writers(arena *mem, const frame *f, const char *channel, const pawl_value *code, const pawl_value *all)
{
    for (uint32_t i = 0; i < f->ntasks && pawl_value_size(all) < FAILURES_MAX; i++) {
        const task *tk = &f->tasks[i];
        const leave *l = tk->at != TASK_LEFT ? NULL : tk->leave != NULL ? tk->leave : leave_parse(mem, tk->left, tk->left_size, NULL);

        if (tk->child != NULL)
            all = writers(mem, tk->child, channel, code, all);
        for (uint32_t k = 0; l != NULL && k < l->nwrites; k++)
            if (strcmp(l->writes[k].channel, channel) == 0)
                all = value_push(mem, all, writer(mem, tk, &l->writes[k], code));
    }
    return all;
}

const pawl_value *failed_tasks(arena *mem, const pawl_state *st)
{
    const pawl_value *all = of_frame(mem, &st->root, value_pack(mem, NULL, "[]")), *reason = pawl_state_reason(st);
    const char *channel = pawl_value_size(all) == 0 ? channel_of(mem, reason) : NULL;

    return channel != NULL ? writers(mem, &st->root, channel, pawl_value_get(reason, "code"), all) : all;
}

/* Without the name of the node, which stands before it already. */
static const char *reason_of(const pawl_value *one)
{
    const char *node = pawl_value_string(pawl_value_get(one, "node")), *text = pawl_value_string(pawl_value_get(one, "text"));
    const size_t n = strlen(node);

    return strncmp(text, node, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

static void task_put(buf *out, const pawl_value *one, const char *indent)
{
    const pawl_value *element = pawl_value_get(one, "element");

    buf_fmt(out, "%s%s%s", indent, pawl_value_string(pawl_value_get(one, "node")), element != NULL ? " " : "");
    if (element != NULL)
        words_element(out, element);
    buf_text(out, ": ");
    cli_clean(out, reason_of(one), strlen(reason_of(one)));
    buf_char(out, '\n');
}

void failed_tasks_put(buf *out, const pawl_value *failed, const char *indent)
{
    pawl_iter it = pawl_iter_of(failed);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if ((pawl_value_get(one, "element") != NULL || pawl_value_get(one, "channel") != NULL) && n++ < LINES_MAX)
            task_put(out, one, indent);
    if (n > LINES_MAX)
        buf_fmt(out, "%sand %zu more\n", indent, n - LINES_MAX);
}
