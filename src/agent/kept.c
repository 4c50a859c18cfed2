/* kept.c - what the agent keeps between two events: how it stands, and the messages, calls, results and inputs that it works with. */
#include "agent/agent.h"

/* ---- how it stands ------------------------------------------------------------------------------------- */

static const char *text_in(const pawl_value *v, const char *key, const char *otherwise)
{
    const char *text = pawl_value_string(pawl_value_get(v, key));

    return text != NULL ? text : otherwise;
}

static unsigned row_named(const sm_row *rows, size_t n, const char *name)
{
    for (unsigned i = 0; name != NULL && i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return 0;
}

static pawl_mode mode_in(const pawl_value *v, const char *key)
{
    const pawl_mode m = pawl_mode_named(pawl_value_string(pawl_value_get(v, key)));

    return m != PAWL_MODE_NONE ? m : PAWL_BYPASS;
}

static void calls_load(turn *t, const pawl_value *all)
{
    const pawl_value *blocks = pawl_get(t->s, "@calls"), *one, *block;
    pawl_iter it = pawl_iter_of(all), said = pawl_iter_of(blocks);

    t->ncalls = (uint32_t)pawl_value_size(all);
    t->calls = arena_zero(t->mem, (t->ncalls + 1) * sizeof *t->calls);
    for (uint32_t i = 0; t->calls != NULL && (one = pawl_iter_next(&it, NULL)) != NULL; i++) {
        agent_call *c = &t->calls[i];

        block = pawl_iter_next(&said, NULL);
        c->id = text_in(block, "id", "");
        c->name = text_in(block, "name", "");
        c->at = (call_stage)row_named(stage_rows, STAGES, text_in(one, "at", NULL));
        if ((c->tool = tool_of(t->def, c->name)) == NULL && c->at != STAGE_NEW)
            c->tool = &tool_gone;       /* the machine that let it in had it */
        c->changed = pawl_value_get(one, "input") != NULL;
        c->said = pawl_value_get(block, "input");
        c->input = c->changed ? pawl_value_get(one, "input") : c->said;
        c->invalid = text_in(block, "invalid", NULL);
        c->told = pawl_value_get(one, "told");
        c->under = text_in(one, "under", NULL);
        c->why = pawl_value_get(one, "why");
        c->asked = pawl_value_bool(pawl_value_get(one, "asked"));
        c->failed = pawl_value_bool(pawl_value_get(one, "failed"));
        c->rights = mode_in(one, "rights");
    }
}

static void core_load(turn *t, const pawl_value *v)
{
    core_begin(&t->c, t->def->a.max_retries);
    if (v == NULL)
        return;
    t->c.at = core_at_named(text_in(v, "at", NULL));
    t->c.retries = (uint32_t)pawl_value_uint(pawl_value_get(v, "retries"));
    t->c.open = (uint32_t)pawl_value_uint(pawl_value_get(v, "open"));
    t->c.mutated = pawl_value_bool(pawl_value_get(v, "mutated"));
}

pawl_code turn_load(turn *t, pawl_step *s, const agent_def *d, const pawl_happening *h)
{
    const pawl_value *v = pawl_get(s, "@agent");

    *t = (turn){ .s = s, .def = d, .h = h, .mem = &s->mem, .k = -1 };
    t->at = (phase)row_named(phase_rows, PHASES, text_in(v, "phase", NULL));
    core_load(t, pawl_value_get(v, "core"));
    calls_load(t, pawl_value_get(v, "calls"));
    t->given = (uint32_t)pawl_value_uint(pawl_value_get(v, "given"));
    t->round = (uint32_t)pawl_value_uint(pawl_value_get(v, "round"));
    t->loops = (uint32_t)pawl_value_uint(pawl_value_get(v, "loops"));
    t->begun = (uint32_t)pawl_value_uint(pawl_value_get(v, "begun"));
    t->tokens = pawl_value_int(pawl_value_get(v, "tokens"));
    t->seen = (uint32_t)pawl_value_uint(pawl_value_get(v, "seen"));
    t->overflowed = pawl_value_bool(pawl_value_get(v, "overflowed"));
    t->shown = text_in(v, "shown", "");
    t->shown_id = text_in(v, "shown_id", "");
    t->end = text_in(v, "end", "");
    t->error = text_in(v, "error", NULL);
    t->most = mode_in(v, "most");
    t->most = mode_most(t);
    t->nmessages = (uint32_t)pawl_value_size(pawl_get(s, "messages"));
    t->results = (uint32_t)pawl_value_size(pawl_get(s, "@results"));
    return s->mem.failed || s->st->load_failed != PAWL_OK ? PAWL_NOMEM : PAWL_OK;
}

static const pawl_value *with_text(turn *t, const pawl_value *v, const char *key, const char *text)
{
    return text == NULL || *text == '\0' ? v : value_with(t->mem, v, key, value_string(t->mem, text, strlen(text)));
}

static const pawl_value *with_int(turn *t, const pawl_value *v, const char *key, int64_t n)
{
    return n == 0 ? v : value_with(t->mem, v, key, value_int(t->mem, n));
}

static const pawl_value *with_true(turn *t, const pawl_value *v, const char *key, bool yes)
{
    return yes ? value_with(t->mem, v, key, value_bool(t->mem, true)) : v;
}

static const pawl_value *calls_kept(turn *t)
{
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *v;

    for (uint32_t i = 0; i < t->ncalls; i++) {
        const agent_call *c = &t->calls[i];

        v = value_pack(t->mem, NULL, "{s:s}", "at", stage_rows[c->at].name);
        v = c->changed ? value_with(t->mem, v, "input", c->input) : v;
        v = c->told != NULL ? value_with(t->mem, v, "told", c->told) : v;
        v = c->why != NULL ? value_with(t->mem, v, "why", c->why) : v;
        v = with_text(t, v, "under", c->at == STAGE_DONE ? NULL : c->under);
        v = with_true(t, v, "asked", c->asked);
        v = with_true(t, v, "failed", c->failed);
        v = with_text(t, v, "rights", c->rights == PAWL_BYPASS ? NULL : pawl_mode_name(c->rights));
        all = value_push(t->mem, all, v);
    }
    return all;
}

void turn_keep(turn *t)
{
    const pawl_value *c = value_pack(t->mem, NULL, "{s:s}", "at", core_at_name(t->c.at)), *v;

    c = with_int(t, c, "retries", t->c.retries);
    c = with_int(t, c, "open", t->c.open);
    c = with_true(t, c, "mutated", t->c.mutated);
    v = value_pack(t->mem, NULL, "{s:s,s:v,s:s}", "phase", phase_rows[t->at].name, "core", c, "shown", t->shown);
    if (t->ncalls > 0)
        v = value_with(t->mem, v, "calls", calls_kept(t));
    v = with_int(t, v, "given", t->given);
    v = with_int(t, v, "round", t->round);
    v = with_int(t, v, "loops", t->loops);
    v = with_int(t, v, "begun", t->begun);
    v = with_int(t, v, "tokens", t->tokens);
    v = with_int(t, v, "seen", t->seen);
    v = with_true(t, v, "overflowed", t->overflowed);
    v = with_text(t, v, "shown_id", t->shown_id);
    v = with_text(t, v, "end", t->end);
    v = with_text(t, v, "error", t->error);
    v = with_text(t, v, "most", t->most == PAWL_BYPASS ? NULL : pawl_mode_name(t->most));
    pawl_set(t->s, "@agent", v);
}

/* ---- messages -------------------------------------------------------------------------------------------- */

void message_add(turn *t, const pawl_value *message)
{
    pawl_set(t->s, "messages", message);
    t->nmessages++;
    if (arena_room(t->mem, (void **)&t->added, &t->added_cap, t->nadded, sizeof *t->added))
        t->added[t->nadded++] = message;
}

/* A text, {"input"}, {"content"}, or a message with its role; blocks are taken as they are. */
const pawl_value *message_of_input(turn *t, const pawl_value *v)
{
    const pawl_value *content = v, *pinned = NULL;
    const char *role = pawl_value_string(pawl_value_get(v, "role"));

    if (pawl_value_type(v) == PAWL_TYPE_OBJECT) {
        content = pawl_value_get(v, "input");
        content = content != NULL ? content : pawl_value_get(v, "content");
        pinned = pawl_value_get(v, "pinned");
    }
    if (pawl_value_type(content) == PAWL_TYPE_OBJECT)       /* a message inside {"input"} */
        return message_of_input(t, content);
    if (role != NULL && strcmp(role, "user") != 0)
        return NULL;
    if (pawl_value_type(content) != PAWL_TYPE_STRING && pawl_value_type(content) != PAWL_TYPE_ARRAY)
        return NULL;
    if (pawl_value_bool(pinned))
        return pawl_pack(t->s, "{s:v,s:b,s:s}", "content", content, "pinned", 1, "role", "user");
    return pawl_pack(t->s, "{s:v,s:s}", "content", content, "role", "user");
}

/* ---- inputs that wait for the turn to end ------------------------------------------------------------------ */

static const pawl_value *queue_now(turn *t)
{
    const pawl_value *q = t->own != NULL ? t->own : pawl_get(t->s, "@queue");

    return q != NULL ? q : value_pack(t->mem, NULL, "[]");
}

static void queue_is(turn *t, const pawl_value *q)
{
    t->own = q;
    pawl_set(t->s, "@queue", q);
}

void queue_put(turn *t, const pawl_value *message)
{
    const pawl_value *q = queue_now(t);

    if (pawl_value_size(q) >= QUEUE_MAX) {
        readers_told(t, "error", pawl_pack(t->s, "{s:s}", "message", "input is not taken: more than 1000 inputs wait (QUEUE_MAX)"));
        return;
    }
    queue_is(t, value_push(t->mem, q, message));
}

const pawl_value *queue_take(turn *t)
{
    const pawl_value *q = queue_now(t), *rest = value_pack(t->mem, NULL, "[]"), *first = pawl_value_at(q, 0);

    if (first == NULL)
        return NULL;
    for (size_t i = 1; i < pawl_value_size(q); i++)
        rest = value_push(t->mem, rest, pawl_value_at(q, i));
    queue_is(t, rest);
    return first;
}

/* ---- what came of calls ---------------------------------------------------------------------------------------- */

/* Messages stand in the order of the calls: what comes too early waits in @results. */
void result_put(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    t->calls[k].failed = failed;
    t->calls[k].result = result;
    t->k = (int)k;
    if (k == t->given && t->calls[k].at == STAGE_DONE)
        return;                 /* its message is made at once */
    pawl_set(t->s, "@results", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, "result", result));
    t->results++;
}

const pawl_value *result_of(turn *t, uint32_t k)
{
    pawl_iter it = pawl_iter_of(pawl_get(t->s, "@results"));
    const pawl_value *one, *found = NULL;

    if (t->calls[k].result != NULL)     /* of this event, and not among those of before */
        return t->calls[k].result;
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_int(pawl_value_get(one, "call")) == (int64_t)k)
            found = pawl_value_get(one, "result");
    return found;
}

void results_drop(turn *t)
{
    if (t->results > 0)
        pawl_overwrite(t->s, "@results", value_pack(t->mem, NULL, "[]"));
    t->results = 0;
}

/* ---- the calls at hand -------------------------------------------------------------------------------------------- */

static bool is_call(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL && strcmp(type, "tool_use") == 0;
}

void turn_calls(turn *t, const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *block;
    uint32_t n = 0;

    if (pawl_value_size(pawl_get(t->s, "@calls")) > 0)
        pawl_overwrite(t->s, "@calls", value_pack(t->mem, NULL, "[]"));

    t->calls = arena_zero(t->mem, (pawl_value_size(blocks) + 1) * sizeof *t->calls);
    while (t->calls != NULL && (block = pawl_iter_next(&it, NULL)) != NULL)
        if (is_call(block)) {
            agent_call *c = &t->calls[n++];

            *c = (agent_call){ .id = text_in(block, "id", ""), .name = text_in(block, "name", ""), .said = pawl_value_get(block, "input"),
                               .invalid = text_in(block, "invalid", NULL), .rights = PAWL_BYPASS };
            c->input = c->said;
            c->tool = tool_of(t->def, c->name);
            pawl_set(t->s, "@calls", block);
        }
    t->ncalls = n;
    t->given = 0;
    t->round += n > 0;
}
