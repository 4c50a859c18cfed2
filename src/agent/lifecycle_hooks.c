/* life.c - hooks in the life of an agent: when an input comes, when it has answered, would stop or be summed up, when it begins and ends (P4, P5).
 *
 * They are asked one after another, each by an effect. The moment stands in @life and what they have said in @heard, and the process is run anew with
 * that, as the gate is; where other hooks come meanwhile it begins from the start. Where no hook is of such a moment, nothing of this happens. */
#include "agent/agent.h"

/* ---- which hooks there are --------------------------------------------------------------------------- */

static const pawl_value *hooks_said(turn *t)
{
    return pawl_value_get(rules_now(t), "hooks");
}

static const char *hooks_digest(turn *t)
{
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, &t->mem->alloc);
    if (hooks_said(t) != NULL)
        canon(&b, hooks_said(t));
    hash_of(b.data != NULL ? b.data : "", b.size, &h);
    t->mem->failed = t->mem->failed || b.failed;
    buf_free(&b);
    hash_hex(&h, hex);
    return arena_strdup(t->mem, hex, HASH_HEX);
}

static pawl_code hooks_now(turn *t, hook_list *hooks, pawl_err *err)
{
    *hooks = (hook_list){0};
    return pawl_value_size(hooks_said(t)) == 0 ? PAWL_OK : gate_hooks(t->mem, rules_now(t), hooks, err);
}

static moment_gate gate_of(turn *t, const hook_list *hooks, hook_point point, const pawl_value *about)
{
    return (moment_gate){ .mem = t->mem, .hooks = hooks, .point = point, .about = about, .run = t->s->st->run, .cwd = pawl_get_string(t->s, "@cwd"),
                          .mode = mode_now(t) };
}

static bool is_sub_agent(turn *t)
{
    return pawl_get_int(t->s, "@depth") > 0;
}

/* Inside a sub-agent each hook is told which (CC-H3). */
static const pawl_value *with_agent(turn *t, const pawl_value *about)
{
    const char *run = t->s->st->run, *type = t->s->m->name;

    if (!is_sub_agent(t))
        return about;
    about = value_with(t->mem, about, "agent_id", value_string(t->mem, run, strlen(run)));
    return value_with(t->mem, about, "agent_type", value_string(t->mem, type, strlen(type)));
}

static void told_of(turn *t, hook_point point, const char *text)
{
    if (text != NULL)
        readers_told(t, "status", pawl_pack(t->s, "{s:s,s:s}", "hook", hook_point_name(point), "message", text_cut(t, text, 2000)));
}

/* ---- kept ---------------------------------------------------------------------------------------------------- */

void life_load(turn *t)
{
    const pawl_value *v = t->at == PHASE_ASKED ? pawl_get(t->s, "@life") : NULL;

    t->life = (life){ .point = hook_point_named(pawl_value_string(pawl_value_get(v, "point"))), .about = pawl_value_get(v, "about"),
                      .message = pawl_value_get(v, "message"), .under = pawl_value_string(pawl_value_get(v, "under")),
                      .heavy = pawl_value_bool(pawl_value_get(v, "heavy")), .told = v != NULL ? pawl_get(t->s, "@heard") : NULL };
}

/* The moment once, and what each hook said of it behind what those before it said (K7). */
void life_keep(turn *t)
{
    const life *l = &t->life;
    const bool asks = t->at == PHASE_ASKED;
    const pawl_value *v;

    if ((!asks || l->fresh) && pawl_value_size(pawl_get(t->s, "@heard")) > 0)
        pawl_overwrite(t->s, "@heard", value_pack(t->mem, NULL, "[]"));
    if (asks && l->fresh) {
        v = pawl_pack(t->s, "{s:v,s:s,s:s}", "about", l->about, "point", hook_point_name(l->point), "under", l->under);
        v = l->heavy ? value_with(t->mem, v, "heavy", value_bool(t->mem, true)) : v;
        pawl_set(t->s, "@life", l->message != NULL ? value_with(t->mem, v, "message", l->message) : v);
    } else if (asks && l->heard != NULL) {
        pawl_set(t->s, "@heard", l->heard);
    }
}

/* ---- asked ------------------------------------------------------------------------------------------------- */

typedef struct life_asking { turn *t; size_t next; } life_asking;

static pawl_code life_world_call(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    life_asking *a = ctx;
    const pawl_value *one = pawl_value_at(a->t->life.told, a->next);
    pawl_code rc;

    if (one != NULL) {
        const bool failed = pawl_value_get(one, "e") != NULL;

        a->next++;
        *receipt = pawl_value_get(one, failed ? "e" : "v");
        return failed ? PAWL_EFFECT : PAWL_OK;
    }
    rc = pawl_flow_call_with(a->t->s, "life", effect, args, NULL);
    if (rc == PAWL_LIMIT) {
        *receipt = pawl_pack(a->t->s, "{s:s,s:s}", "code", "limit", "text", "the budget has no room for it");
        return PAWL_EFFECT;
    }
    return rc == PAWL_OK ? PAWL_PENDING : rc;
}

static void life_over(turn *t, const moment_gate *g);

static void life_go(turn *t)
{
    life_asking a = { .t = t };
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};
    pawl_code rc = hooks_now(t, &hooks, &err);

    t->life.under = hooks_digest(t);
    g = gate_of(t, &hooks, t->life.point, t->life.about);
    g.world = (gate_world){ .call = life_world_call, .ctx = &a };
    if (rc == PAWL_OK)
        rc = gate_moment(&g, &err);
    if (rc == PAWL_PENDING)
        return;
    if (rc == PAWL_NOMEM || t->mem->failed) {
        t->rc = PAWL_NOMEM;
        return;
    }
    if (rc != PAWL_OK)          /* hooks that cannot be read keep an input from the model; nothing else waits for them */
        g.said = (verdict){ .behavior = t->life.point == HOOK_PROMPT ? PAWL_DENY : PAWL_OPEN, .reason = err.text, .message = err.text };
    life_over(t, &g);
}

/* False: no hook is of that, and whoever asks goes on. */
static bool life_asks(turn *t, life what)
{
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};

    if (pawl_value_size(hooks_said(t)) == 0)
        return false;
    what.about = with_agent(t, what.about);
    g = gate_of(t, &hooks, what.point, what.about);
    if (hooks_now(t, &hooks, &err) == PAWL_OK && !moment_wanted(&g))
        return false;
    t->life = what;
    t->life.fresh = true;
    turn_phase(t, PHASE_ASKED);
    life_go(t);
    return true;
}

void life_told(turn *t)
{
    const pawl_value *v = t->h->value != NULL ? t->h->value : value_null(t->mem);
    const bool good = t->h->kind != PAWL_EV_RECEIPT || t->h->outcome == PAWL_DONE;

    t->life.heard = value_pack(t->mem, NULL, "{s:v}", good ? "v" : "e", v);
    t->life.told = value_push(t->mem, t->life.told != NULL ? t->life.told : value_pack(t->mem, NULL, "[]"), t->life.heard);
    life_go(t);
}

void life_changed(turn *t)
{
    const char *now;

    rights_changed(t);
    now = hooks_digest(t);      /* its parent may have told it others just now */
    if (now == NULL || t->life.under == NULL || strcmp(now, t->life.under) == 0)
        return;
    pawl_flow_drop(t->s, "life");
    t->life.told = NULL;
    t->life.fresh = true;
    life_go(t);
}

bool life_drop(turn *t)
{
    const bool ending = t->life.point == HOOK_SESSION_END;

    if (t->life.point != HOOK_NOWHERE)
        pawl_flow_drop(t->s, "life");
    t->life = (life){0};
    t->note = NULL;
    return ending;
}

/* ---- an input ------------------------------------------------------------------------------------------------ */

static const char *type_in(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL ? type : "";
}

static const pawl_value *text_block(turn *t, const char *text)
{
    return pawl_pack(t->s, "{s:s,s:s}", "text", text, "type", "text");
}

/* What of a message is text. */
static const pawl_value *prompt_in(turn *t, const pawl_value *message)
{
    const pawl_value *content = pawl_value_get(message, "content"), *block;
    pawl_iter it = pawl_iter_of(content);
    const char *all = "", *text;

    if (pawl_value_type(content) == PAWL_TYPE_STRING)
        return content;
    while ((block = pawl_iter_next(&it, NULL)) != NULL)
        if (strcmp(type_in(block), "text") == 0 && (text = pawl_value_string(pawl_value_get(block, "text"))) != NULL)
            all = pawl_format(t->s, "%s%s%s", all, *all != '\0' ? "\n\n" : "", text);
    return pawl_pack(t->s, "s", all);
}

/* With another prompt in place of its texts, and what hooks have to say besides. */
static const pawl_value *message_made(turn *t, const pawl_value *message, const pawl_value *prompt, const char *context)
{
    const pawl_value *content = pawl_value_get(message, "content"), *blocks = value_pack(t->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(content);
    const bool plain = pawl_value_type(content) == PAWL_TYPE_STRING;

    if (plain && context == NULL)
        return prompt == NULL ? message : value_with(t->mem, message, "content", prompt);
    if (plain || prompt != NULL)
        blocks = value_push(t->mem, blocks, text_block(t, pawl_value_string(prompt != NULL ? prompt : content)));
    while (!plain && (one = pawl_iter_next(&it, NULL)) != NULL)
        if (prompt == NULL || strcmp(type_in(one), "text") != 0)
            blocks = value_push(t->mem, blocks, one);
    if (context != NULL)
        blocks = value_push(t->mem, blocks, text_block(t, context));
    return value_with(t->mem, message, "content", blocks);
}

bool life_prompt(turn *t, const pawl_value *message)
{
    if (is_sub_agent(t) || pawl_value_size(hooks_said(t)) == 0)
        return false;
    return life_asks(t, (life){ .point = HOOK_PROMPT, .message = message, .about = pawl_pack(t->s, "{s:v}", "prompt", prompt_in(t, message)) });
}

static void prompt_over(turn *t, const pawl_value *message, const moment_gate *g)
{
    const char *why = g->said.reason != NULL ? g->said.reason : "a hook says no";

    if (g->said.behavior != PAWL_DENY) {
        turn_opens(t, message_made(t, message, g->changed ? pawl_value_get(g->about, "prompt") : NULL, g->said.context));
        return;
    }
    t->note = pawl_format(t->s, "Prompt blocked: %s", why);
    readers_told(t, "error", pawl_pack(t->s, "{s:s}", "message", t->note));
    turn_end(t, g->said.stops ? "stop_hook" : "prompt_blocked", NULL);
}

/* ---- an answer, and the end of a turn --------------------------------------------------------------------------- */

static const pawl_value *last_said(turn *t)
{
    const pawl_value *v = t->output != NULL ? t->output : pawl_get(t->s, "output");

    return pawl_value_type(v) == PAWL_TYPE_STRING ? v : value_string(t->mem, "", 0);
}

bool life_answer(turn *t)
{
    return pawl_value_size(hooks_said(t)) > 0 &&
           life_asks(t, (life){ .point = HOOK_ANSWER, .about = pawl_pack(t->s, "{s:v}", "last_assistant_message", last_said(t)) });
}

bool life_stop(turn *t)
{
    if (pawl_value_size(hooks_said(t)) == 0)
        return false;
    return life_asks(t, (life){ .point = is_sub_agent(t) ? HOOK_SUBAGENT_STOP : HOOK_STOP,
                                .about = pawl_pack(t->s, "{s:v,s:b}", "last_assistant_message", last_said(t), "stop_hook_active", t->stops > 0) });
}

static void stopped_by_hook(turn *t, const moment_gate *g)
{
    t->note = g->said.reason != NULL ? arena_strdup(t->mem, g->said.reason, strlen(g->said.reason)) : NULL;
    calls_cut(t, "Interrupted");
    turn_end(t, "stop_hook", NULL);
}

static void stop_over(turn *t, hook_point point, const moment_gate *g)
{
    const char *why = g->said.reason != NULL && *g->said.reason != '\0' ? g->said.reason : "a hook says no";

    if (g->said.behavior == PAWL_DENY && !g->said.stops && t->stops < STOPS_MAX) {
        t->stops++;
        turn_goes_on(t, why);
        return;
    }
    if (g->said.behavior == PAWL_DENY && !g->said.stops)
        told_of(t, point, pawl_format(t->s, "it stops all the same: hooks have kept it from that %d times in this turn (STOPS_MAX)", STOPS_MAX));
    if (g->said.stops)
        stopped_by_hook(t, g);
    else
        turn_end(t, "answer", NULL);
}

/* ---- summed up ------------------------------------------------------------------------------------------------------ */

bool life_compact(turn *t, bool heavy)
{
    if (pawl_value_size(hooks_said(t)) == 0)
        return false;
    return life_asks(t, (life){ .point = HOOK_PRE_COMPACT, .heavy = heavy,
                                .about = pawl_pack(t->s, "{s:s,s:s}", "custom_instructions", "", "trigger", "auto") });
}

static void compact_over(turn *t, bool heavy, const moment_gate *g)
{
    const char *why = g->said.reason != NULL ? g->said.reason : "it says no";

    if (g->said.stops)
        stopped_by_hook(t, g);
    else if (g->said.behavior != PAWL_DENY)
        compact_begin(t);
    else if (heavy)
        turn_end(t, "error", pawl_format(t->s, "The conversation is too long for the model, and a hook keeps it from being summed up: %s",
                                         text_cut(t, why, 500)));
    else
        turn_request(t);
}

/* ---- its beginning and its end --------------------------------------------------------------------------------------- */

bool life_start(turn *t, const char *source, const pawl_value *message)
{
    const pawl_value *model = pawl_value_get(pawl_get(t->s, "@config"), "model");

    if (is_sub_agent(t) || pawl_value_size(hooks_said(t)) == 0)
        return false;
    return life_asks(t, (life){ .point = HOOK_SESSION_START, .message = message,
                                .about = pawl_pack(t->s, "{s:v,s:s}", "model", model != NULL ? model : value_null(t->mem), "source", source) });
}

/* What hooks know of the place stands beside what is pinned, so that it is never summed up; what they said of it before goes. */
static void place_pinned(turn *t, const char *context)
{
    const char *before = pawl_get_string(t->s, "@place"), *pinned = pawl_get_string(t->s, "@pinned");
    size_t size = pinned != NULL ? strlen(pinned) : 0;
    const size_t n = before != NULL ? strlen(before) : 0;
    const char *rest;

    if (before != NULL && strcmp(before, context) == 0)
        return;
    if (n > 0 && size >= n && strcmp(pinned + size - n, before) == 0) {
        size -= n;
        size -= size >= 2 && memcmp(pinned + size - 2, "\n\n", 2) == 0 ? 2 : 0;
    }
    rest = size > 0 ? arena_strdup(t->mem, pinned, size) : "";
    t->pinned = pawl_pack(t->s, "s", pawl_format(t->s, "%s%s%s", rest != NULL ? rest : "", size > 0 ? "\n\n" : "", context));
    pawl_set(t->s, "@pinned", t->pinned);
    pawl_set_string(t->s, "@place", context);
}

/* It begins, goes on after a while, or goes on with a summary, and then a turn is under way. */
static void start_over(turn *t, const life *was, const moment_gate *g)
{
    const pawl_value *message = was->message;

    if (g->said.context != NULL)
        place_pinned(t, g->said.context);
    if (life_in_turn(was)) {
        compact_goes_on(t);
        return;
    }
    message = message != NULL ? message : queue_take(t);
    if (message != NULL)
        turn_begin(t, message);
    else
        turn_rests(t);
}

bool life_in_turn(const life *l)
{
    const char *source = pawl_value_string(pawl_value_get(l->about, "source"));

    if (l->point == HOOK_SESSION_START)
        return source != NULL && strcmp(source, "compact") == 0;
    return l->point != HOOK_SESSION_END;
}

bool life_end(turn *t)
{
    return !is_sub_agent(t) && pawl_value_size(hooks_said(t)) > 0 &&
           life_asks(t, (life){ .point = HOOK_SESSION_END, .about = pawl_pack(t->s, "{s:s}", "reason", "other") });
}

static void life_over(turn *t, const moment_gate *g)
{
    const life was = t->life;

    t->life = (life){0};
    told_of(t, was.point, g->said.message);
    if (g->said.open)
        told_of(t, was.point, pawl_format(t->s, "it failed, and was let through: %s", g->said.reason != NULL ? g->said.reason : ""));
    switch (was.point) {
    case HOOK_PROMPT: prompt_over(t, was.message, g); return;
    case HOOK_STOP:
    case HOOK_SUBAGENT_STOP: stop_over(t, was.point, g); return;
    case HOOK_PRE_COMPACT: compact_over(t, was.heavy, g); return;
    case HOOK_SESSION_START: start_over(t, &was, g); return;
    case HOOK_SESSION_END: run_closes(t); return;
    case HOOK_ANSWER:
        if (g->said.stops)
            stopped_by_hook(t, g);
        else
            turn_answered(t);
        return;
    default: return;
    }
}

/* ---- notes: nobody waits for them --------------------------------------------------------------------------------------- */

void life_note(turn *t, const char *type, const char *message)
{
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};

    if (pawl_value_size(hooks_said(t)) == 0 || hooks_now(t, &hooks, &err) != PAWL_OK)
        return;
    g = gate_of(t, &hooks, HOOK_NOTICE, with_agent(t, pawl_pack(t->s, "{s:s,s:s}", "message", message, "notification_type", type)));
    for (size_t i = 0; i < hooks.count && t->rc == PAWL_OK; i++) {
        const hook_entry *h = &hooks.items[i];
        const pawl_value *args;
        pawl_code rc;

        if (!hook_wanted_at(h, HOOK_NOTICE, type))
            continue;
        if ((args = moment_order(&g, h)) == NULL) {
            t->rc = PAWL_NOMEM;
            return;
        }
        rc = pawl_flow_call_with(t->s, h->profile == HOOK_CLAUDE ? "note:claude" : "note", "hook", args, NULL);
        if (rc == PAWL_LIMIT)
            told_of(t, HOOK_NOTICE, "the budget has no room for it");
        else if (rc != PAWL_OK)
            t->rc = rc;
    }
}

void note_told(turn *t)
{
    const pawl_value *v = t->h->value != NULL ? t->h->value : value_null(t->mem);
    const hook_profile profile = strcmp(t->h->tag, "note") == 0 ? HOOK_STRICT : HOOK_CLAUDE;
    const char *code = pawl_value_string(pawl_value_get(v, "code")), *text = pawl_value_string(pawl_value_get(v, "text"));
    pawl_err err = {0};
    verdict said = {0};
    pawl_code rc;

    if (t->h->outcome != PAWL_DONE)
        v = pawl_pack(t->s, "{s:s,s:s}", "failed", code != NULL ? code : "effect", "text", text != NULL ? text : "it failed");
    if (v == NULL || (rc = hook_verdict(t->mem, profile, hook_point_name(HOOK_NOTICE), v, &said, &err)) == PAWL_NOMEM) {
        t->rc = PAWL_NOMEM;
        return;
    }
    told_of(t, HOOK_NOTICE, said.message);
    if (rc != PAWL_OK || said.behavior == PAWL_DENY || said.open)
        told_of(t, HOOK_NOTICE, rc != PAWL_OK ? err.text : said.reason);
}
