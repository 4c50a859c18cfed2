/* items_agent.c - the projection of an agent: messages of the channel "messages", tool calls of "@calls", and emissions; artifacts of all runs.
 *
 * Called by items.c for the puts and emissions of a reducer, and at the end of each entry; on the reader's thread, without a lock. The names of
 * channels, members and emissions are those that src/agent stores (persist.c, display_state.c): they never change. Any other emission is an artifact. */
#include "kernel/item.h"
#include "stream/projection.h"

static const char *text_in(const pawl_value *v, const char *key)
{
    return pawl_value_string(pawl_value_get(v, key));
}

/* ---- answers of models ------------------------------------------------------------------------------------------ */

/* Its text is emitted after the receipt, so the message ends with its entry. */
void message_answered(projection *p, open_item *it, unsigned state)
{
    it->outcome = (uint8_t)state;
    it->settled_next = p->settled;
    p->settled = it;
}

void agent_entry_ends(projection *p)
{
    open_item *next;

    for (open_item *it = p->settled; it != NULL; it = next) {
        next = it->settled_next;
        item_end(p, it, it->outcome, "", JSON_NONE);
    }
    p->settled = NULL;
    if (p->turn_over)
        for (open_item *it = p->run->first; it != NULL; it = it->after)
            it->stale = true;
    if (p->round_over || p->turn_over)
        items_end(p, p->run, true);
    p->round_over = p->turn_over = false;
}

/* ---- channels ------------------------------------------------------------------------------------------------------ */

/* A complete message, or the model's answer that came in this entry. */
static void message_adds(projection *p, const pawl_value *v, bool answer, const item_write *from)
{
    const char *role = text_in(v, "role"), *use = text_in(v, "tool_call_id");
    const open_item *tool = use != NULL ? item_find(p, KEY_TOOL, use) : NULL;
    change *c;

    if ((answer || (role != NULL && strcmp(role, "assistant") == 0)) && p->settled != NULL)
        c = item_changes(p, p->settled, PAWL_ITEM_UPDATED, "message", JSON_WRITE);
    else
        c = item_at_once(p, PAWL_ITEM_MESSAGE, PAWL_ITEM_DONE, NULL, tool != NULL ? tool->id : NULL, text_kept(p, role != NULL ? role : "assistant"), "message",
                         JSON_WRITE);
    if (c == NULL)
        return;
    c->json = from != NULL ? JSON_WRITE : JSON_VALUE;
    c->from = from != NULL ? (const void *)from : v;
}

static void messages_written(projection *p, line_walk *w, const item_write *one)
{
    const pawl_value *v = one->value, *each;
    const char *form = pawl_value_string(pawl_value_at(pawl_value_at(one->refs.list, 0), 1));
    const bool answer = pawl_value_type(v) == PAWL_TYPE_NULL && form != NULL && strcmp(form, "event") == 0;
    pawl_iter it;

    if (one->op == OP_OVERWRITE)        /* the conversation after it was compacted */
        return;
    if (one->op == OP_MERGE) {
        if (pawl_value_type(v) == PAWL_TYPE_NULL && !answer)    /* its text is a blob */
            v = value_whole(w, w->it, v, one->refs.list, NULL);
        message_adds(p, v, answer, one);
        return;
    }
    v = one->refs.list != NULL ? value_whole(w, w->it, v, one->refs.list, NULL) : v;
    for (it = pawl_iter_of(v); (each = pawl_iter_next(&it, NULL)) != NULL;)
        message_adds(p, each, false, NULL);
}

static open_item *tool_due(projection *p, const char *id, const char *name, unsigned state)
{
    open_item *it = item_find(p, KEY_TOOL, id);

    return it != NULL ? it : item_open(p, KEY_TOOL, PAWL_ITEM_TOOL_CALL, state, p->run, &(item_words){ .key = id, .name = name != NULL ? name : "" });
}

static void calls_written(projection *p, line_walk *w, const item_write *one)
{
    const pawl_value *v;
    open_item *it;
    change *c;

    if (one->op == OP_OVERWRITE) {
        for (it = p->run->first; it != NULL; it = it->after)
            it->stale = true;
        p->round_over = true;
        return;
    }
    if ((v = value_whole(w, w->it, one->value, one->refs.list, NULL)) == NULL || text_in(v, "id") == NULL)
        return;
    if ((it = item_find(p, KEY_TOOL, text_in(v, "id"))) != NULL)    /* a provider reuses an id */
        item_end(p, it, PAWL_ITEM_DROPPED, "", JSON_NONE);
    if ((it = tool_due(p, text_in(v, "id"), text_in(v, "name"), PAWL_ITEM_PROPOSED)) != NULL &&
        (c = item_changes(p, it, PAWL_ITEM_UPDATED, "proposed", JSON_WRITE)) != NULL)
        c->from = one;
}

void agent_writes(projection *p, line_walk *w, const item_write *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(all[i].channel, "messages") == 0)
            messages_written(p, w, &all[i]);
        else if (strcmp(all[i].channel, "@calls") == 0)
            calls_written(p, w, &all[i]);
}

/* ---- emissions ---------------------------------------------------------------------------------------------------------- */

void artifact_add(projection *p, line_walk *w, const open_item *parent, const char *name)
{
    const unsigned kind = strcmp(name, "message") == 0 ? PAWL_ITEM_MESSAGE : strcmp(name, "error") == 0 ? PAWL_ITEM_ERROR : PAWL_ITEM_ARTIFACT;

    (void)w;
    (void)item_at_once(p, kind, PAWL_ITEM_DONE, NULL, parent != NULL ? parent->id : NULL, name, name, JSON_PLACE);
}

/* Emissions about tool calls: the member with the id, and the state that follows. */
static const struct { const char *name, *member; uint8_t state; } tool_news[] = {
    { "permission_request", "tool_use_id", PAWL_ITEM_WAITING }, { "ask_user_question", "request_id", PAWL_ITEM_WAITING },
    { "tool_start", "tool_use_id", PAWL_ITEM_RUNNING }, { "tool_end", "tool_use_id", PAWL_ITEM_DONE },
    { "sub_agent_spawned", "tool_use_id", PAWL_ITEM_RUNNING }, { "sub_agent_complete", "tool_use_id", PAWL_ITEM_RUNNING },
};

static void tool_changes(projection *p, size_t row, const char *id, const pawl_value *v)
{
    const char *name = text_in(v, "name") != NULL ? text_in(v, "name") : text_in(v, "tool_name");
    const bool ends = tool_news[row].state == PAWL_ITEM_DONE;
    open_item *it = tool_due(p, id, name, ends ? PAWL_ITEM_RUNNING : tool_news[row].state);

    if (it == NULL)
        return;
    if (ends) {
        item_end(p, it, pawl_value_bool(pawl_value_get(v, "is_error")) ? PAWL_ITEM_FAILED : PAWL_ITEM_DONE, tool_news[row].name, JSON_PLACE);
        return;
    }
    item_move(it, tool_news[row].state);
    if (strcmp(tool_news[row].name, "sub_agent_spawned") == 0)
        item_child(p, it, text_in(v, "session_id"));
    else if (strcmp(tool_news[row].name, "sub_agent_complete") == 0)
        item_child(p, it, NULL);
    (void)item_changes(p, it, PAWL_ITEM_UPDATED, tool_news[row].name, JSON_PLACE);
}

void agent_emits(projection *p, line_walk *w, const char *name)
{
    const pawl_value *v = w->it->value;
    const char *id;

    if (strcmp(name, "done") == 0)
        p->turn_over = true;
    if (p->settled != NULL && (strcmp(name, "text_complete") == 0 || strcmp(name, "thinking_complete") == 0)) {
        (void)item_changes(p, p->settled, PAWL_ITEM_UPDATED, name, JSON_PLACE);
        return;
    }
    for (size_t i = 0; i < sizeof tool_news / sizeof *tool_news; i++)
        if (strcmp(tool_news[i].name, name) == 0) {
            if (pawl_value_type(v) == PAWL_TYPE_NULL && w->it->refs.list != NULL)
                v = item_value(w, w->it, NULL);
            if ((id = text_in(v, tool_news[i].member)) == NULL)
                break;
            tool_changes(p, i, id, v);
            return;
        }
    artifact_add(p, w, NULL, name);
}
