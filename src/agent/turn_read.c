/* turn_read.c - reads a turn for the other files of this folder: tools, mode, rules, names and texts. Pure.
 *
 * Each function returns the value of a channel with the changes of this event. */
#include "agent/agent.h"
#include "kernel/names.h"
#include "kernel/state.h"
#include "kernel/step.h"

/* ---- tools and texts ------------------------------------------------------------------------------------- */

const pawl_agent_tool tool_gone = { .name = "", .rule = "", .schema = "{}", .cls = PAWL_PERMISSION_OTHER, .effect = PAWL_CLASS_ONCE };

const pawl_agent_tool *tool_of(const agent_def *d, const char *name)
{
    for (size_t i = 0; i < d->a.ntools; i++)
        if (strcmp(d->a.tools[i].name, name) == 0)
            return &d->a.tools[i];
    return NULL;
}

const char *tag_of(turn *t, const char *what, uint32_t k)
{
    return pawl_format(t->s, "%s:%u.%u", what, (unsigned)t->round, (unsigned)k);
}

const pawl_value *content_text(turn *t, const char *text)
{
    return text == NULL ? NULL : value_pack(t->mem, NULL, "{s:s}", "content", text);
}

const char *text_cut(turn *t, const char *text, size_t most)
{
    size_t n = text != NULL ? strlen(text) : 0;

    if (n <= most)
        return text != NULL ? text : "";
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        continue;
    text = arena_strdup(t->mem, text, n);
    return text != NULL ? text : "";
}

/* ---- channels, with the changes of this event ---------------------------------------------------------------- */

const pawl_value *rules_now(turn *t)
{
    return t->rules != NULL ? t->rules : pawl_get(t->s, "@policy");
}

bool end_may_retry(const char *end, bool error)
{
    return error || (end != NULL && (strcmp(end, "budget") == 0 || strcmp(end, "max_iterations") == 0));
}

bool turn_may_retry(const turn *t)
{
    return end_may_retry(t->end, t->error != NULL) && t->nmessages > t->first_message;
}

const pawl_value *tools_now(turn *t)
{
    return t->tools != NULL ? t->tools : pawl_get(t->s, "@tools");
}

const pawl_value *pinned_now(turn *t)
{
    return t->pinned != NULL ? t->pinned : pawl_get(t->s, "@pinned");
}

pawl_mode mode_in_channel(turn *t, const char *where, pawl_mode otherwise)
{
    const pawl_mode m = pawl_mode_named(pawl_get_string(t->s, where));

    return m != PAWL_MODE_NONE ? m : otherwise;
}

pawl_mode mode_cap_now(turn *t)
{
    const pawl_mode sent = mode_in_channel(t, "@rights", PAWL_MODE_BYPASS);

    return sent < t->mode_cap ? sent : t->mode_cap;
}

pawl_mode mode_now(turn *t)
{
    const pawl_mode own = t->mode_set != PAWL_MODE_NONE ? t->mode_set : mode_in_channel(t, "@mode", PAWL_MODE_DEFAULT), most = t->mode_cap;
    const pawl_mode now = own < most ? own : most;

    return now == PAWL_MODE_BYPASS && pawl_value_bool(pawl_value_get(rules_now(t), "no_bypass")) ? PAWL_MODE_DEFAULT : now;
}

/* The rules of older runs say it of the default mode alone. */
bool unasked_now(turn *t)
{
    const pawl_value *rules = rules_now(t);

    return pawl_get_bool(t->s, "@unasked") ||
           (pawl_value_bool(pawl_value_get(rules, "unasked")) &&
            (mode_now(t) == PAWL_MODE_DEFAULT || pawl_value_bool(pawl_value_get(rules, "unasked_always"))));
}

/* ---- sub-agents --------------------------------------------------------------------------------------------- */

const char *child_run_of(turn *t, uint32_t k)
{
    const agent_call *c = &t->calls[k];

    return child_run_name(t->mem, t->s->st->run, strlen(t->s->st->run), c->child != NULL ? c->child : c->id);
}
