/* failed_tasks.c - the failed tasks of a run. See failed_tasks.h.
 *
 * Called on the main thread for a state that nobody changes meanwhile. The journal names a task by its number, "count:2"; a person knows the element. */
#include "cli/failed_tasks.h"
#include "cli/ui/format.h"
#include "kernel/frame.h"
#include "kernel/state.h"

enum { FAILURES_MAX = 100, LINES_MAX = 10 };

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

const pawl_value *failed_tasks(arena *mem, const pawl_state *st)
{
    return of_frame(mem, &st->root, value_pack(mem, NULL, "[]"));
}

/* Without the name of the node, which stands before it already. */
static const char *reason_of(const pawl_value *one)
{
    const char *node = pawl_value_string(pawl_value_get(one, "node")), *text = pawl_value_string(pawl_value_get(one, "text"));
    const size_t n = strlen(node);

    return strncmp(text, node, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

static void say(buf *out, const pawl_value *one, const char *indent)
{
    buf_fmt(out, "%s%s ", indent, pawl_value_string(pawl_value_get(one, "node")));
    words_element(out, pawl_value_get(one, "element"));
    buf_text(out, ": ");
    cli_clean(out, reason_of(one), strlen(reason_of(one)));
    buf_char(out, '\n');
}

void failed_tasks_say(buf *out, const pawl_value *failed, const char *indent)
{
    pawl_iter it = pawl_iter_of(failed);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_get(one, "element") != NULL && n++ < LINES_MAX)
            say(out, one, indent);
    if (n > LINES_MAX)
        buf_fmt(out, "%sand %zu more\n", indent, n - LINES_MAX);
}
