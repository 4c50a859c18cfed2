/* lifecycle_hooks.c - hooks at moments in the life of an agent: start, input, answer, stop, compaction, end (P4, P5).
 *
 * Hooks are asked one after another, each by a command. The moment is stored in @life and the answers in @heard; the process runs again from its
 * start with all answers, as the gate does. When the hooks change meanwhile, it starts without answers. An agent without hooks of a moment never
 * enters PHASE_LIFECYCLE, and its journal has nothing of it. */
#include "agent/agent.h"
#include "kernel/machine.h"
#include "kernel/state.h"
#include "kernel/step.h"

/* ---- which hooks there are --------------------------------------------------------------------------- */

static const pawl_value *hook_rules(turn *t)
{
    return pawl_value_get(rules_now(t), "hooks");
}

static const char *hooks_digest(turn *t)
{
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, &t->mem->alloc);
    if (hook_rules(t) != NULL)
        canon(&b, hook_rules(t));
    hash_of(b.data != NULL ? b.data : "", b.size, &h);
    t->mem->failed = t->mem->failed || b.failed;
    buf_free(&b);
    hash_hex(&h, hex);
    return arena_strdup(t->mem, hex, HASH_HEX);
}

static pawl_code hooks_now(turn *t, hook_list *hooks, pawl_err *err)
{
    *hooks = (hook_list){0};
    return pawl_value_size(hook_rules(t)) == 0 ? PAWL_OK : gate_hooks(t->mem, rules_now(t), hooks, err);
}

static moment_gate gate_of(turn *t, const hook_list *hooks, hook_point point, const pawl_value *about)
{
    return (moment_gate){ .mem = t->mem, .hooks = hooks, .point = point, .about = about, .run = t->s->st->run, .cwd = pawl_get_string(t->s, "@cwd"),
                          .mode = mode_now(t), .unasked = pawl_value_bool(pawl_value_get(rules_now(t), "unasked")) };
}

static bool is_sub_agent(turn *t)
{
    return pawl_get_int(t->s, "@depth") > 0;
}

/* Hooks inside a sub-agent get its id and type (CC-H3). */
static const pawl_value *with_agent(turn *t, const pawl_value *about)
{
    const char *run = t->s->st->run, *type = t->s->m->name;

    if (!is_sub_agent(t))
        return about;
    about = value_with(t->mem, about, "agent_id", value_string(t->mem, run, strlen(run)));
    return value_with(t->mem, about, "agent_type", value_string(t->mem, type, strlen(type)));
}

void report_hook_text(turn *t, hook_point point, const char *text)
{
    if (text != NULL)
        pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s,s:s}", "hook", hook_point_name(point), "message", text_cut(t, text, 2000)));
}

/* ---- asked ------------------------------------------------------------------------------------------------- */

typedef struct lifecycle_world { turn *t; size_t next; } lifecycle_world;

static pawl_code lifecycle_call(void *ctx, const char *effect, const pawl_value *args, const pawl_value **receipt)
{
    lifecycle_world *a = ctx;
    const pawl_value *one = pawl_value_at(a->t->life.answers, a->next);
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

static void lifecycle_done(turn *t, const moment_gate *g);

static void lifecycle_continue(turn *t)
{
    lifecycle_world a = { .t = t };
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};
    pawl_code rc = hooks_now(t, &hooks, &err);

    t->life.hooks_key = hooks_digest(t);
    g = gate_of(t, &hooks, t->life.point, t->life.about);
    g.world = (gate_world){ .call = lifecycle_call, .ctx = &a };
    if (rc == PAWL_OK)
        rc = gate_moment(&g, &err);
    if (rc == PAWL_PENDING)
        return;
    if (rc == PAWL_NOMEM || t->mem->failed) {
        t->rc = PAWL_NOMEM;
        return;
    }
    if (rc != PAWL_OK)          /* unreadable hooks deny an input (fail closed); at other moments nothing depends on them */
        g.said = (verdict){ .behavior = t->life.point == HOOK_PROMPT ? PAWL_BEHAVIOR_DENY : PAWL_BEHAVIOR_OPEN, .reason = err.text, .message = err.text };
    lifecycle_done(t, &g);
}

/* False: no hook is interested in this moment, and the caller continues. */
static bool lifecycle_begin(turn *t, lifecycle what)
{
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};

    if (pawl_value_size(hook_rules(t)) == 0)
        return false;
    what.about = with_agent(t, what.about);
    g = gate_of(t, &hooks, what.point, what.about);
    if (hooks_now(t, &hooks, &err) == PAWL_OK && !moment_wanted(&g))
        return false;
    t->life = what;
    t->life.is_new = true;
    phase_move(t, PHASE_LIFECYCLE);
    lifecycle_continue(t);
    return true;
}

void on_lifecycle_hook(turn *t)
{
    const pawl_value *v = t->h->value != NULL ? t->h->value : value_null(t->mem);
    const bool good = t->h->kind != PAWL_EV_RECEIPT || t->h->outcome == PAWL_OUTCOME_DONE;

    t->life.new_answer = value_pack(t->mem, NULL, "{s:v}", good ? "v" : "e", v);
    t->life.answers = value_push(t->mem, t->life.answers != NULL ? t->life.answers : value_pack(t->mem, NULL, "[]"), t->life.new_answer);
    lifecycle_continue(t);
}

void on_lifecycle_update(turn *t)
{
    const char *now;

    rights_changed(t);
    now = hooks_digest(t);      /* the parent may have sent other rules with this event */
    if (now == NULL || t->life.hooks_key == NULL || strcmp(now, t->life.hooks_key) == 0)
        return;
    pawl_flow_drop(t->s, "life");
    t->life.answers = NULL;
    t->life.is_new = true;
    lifecycle_continue(t);
}

bool lifecycle_drop(turn *t)
{
    const bool ending = t->life.point == HOOK_SESSION_END;

    if (t->life.point != HOOK_NOWHERE)
        pawl_flow_drop(t->s, "life");
    t->life = (lifecycle){0};
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

/* The text of a message. */
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

/* The message with the prompt that hooks rewrote, and with the context that they added. */
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

bool lifecycle_prompt(turn *t, const pawl_value *message)
{
    if (is_sub_agent(t) || pawl_value_size(hook_rules(t)) == 0)
        return false;
    return lifecycle_begin(t, (lifecycle){ .point = HOOK_PROMPT, .message = message, .about = pawl_pack(t->s, "{s:v}", "prompt", prompt_in(t, message)) });
}

static void prompt_over(turn *t, const pawl_value *message, const moment_gate *g)
{
    const char *why = g->said.reason != NULL ? g->said.reason : "a hook says no";

    if (g->said.behavior != PAWL_BEHAVIOR_DENY) {
        next_open(t, message_made(t, message, g->changed ? pawl_value_get(g->about, "prompt") : NULL, g->said.context));
        return;
    }
    t->note = pawl_format(t->s, "Prompt blocked: %s", why);
    pawl_emit(t->s, "error", pawl_pack(t->s, "{s:s}", "message", t->note));
    next_end(t, g->said.stops ? "stop_hook" : "prompt_blocked", NULL);
}

/* ---- an answer, and the end of a turn --------------------------------------------------------------------------- */

static const pawl_value *last_message(turn *t)
{
    const pawl_value *v = t->output != NULL ? t->output : pawl_get(t->s, "output");

    return pawl_value_type(v) == PAWL_TYPE_STRING ? v : value_string(t->mem, "", 0);
}

bool lifecycle_answer(turn *t)
{
    return pawl_value_size(hook_rules(t)) > 0 &&
           lifecycle_begin(t, (lifecycle){ .point = HOOK_ANSWER, .about = pawl_pack(t->s, "{s:v}", "last_assistant_message", last_message(t)) });
}

bool lifecycle_stop(turn *t)
{
    if (pawl_value_size(hook_rules(t)) == 0)
        return false;
    return lifecycle_begin(t, (lifecycle){ .point = is_sub_agent(t) ? HOOK_SUBAGENT_STOP : HOOK_STOP,
                                .about = pawl_pack(t->s, "{s:v,s:b}", "last_assistant_message", last_message(t), "stop_hook_active", t->stops > 0) });
}

static void stopped_by_hook(turn *t, const moment_gate *g)
{
    t->note = g->said.reason != NULL ? arena_strdup(t->mem, g->said.reason, strlen(g->said.reason)) : NULL;
    calls_abort(t, "Interrupted");
    next_end(t, "stop_hook", NULL);
}

static void stop_over(turn *t, hook_point point, const moment_gate *g)
{
    const char *why = g->said.reason != NULL && *g->said.reason != '\0' ? g->said.reason : "a hook says no";

    if (g->said.behavior == PAWL_BEHAVIOR_DENY && !g->said.stops && t->stops < STOPS_MAX) {
        t->stops++;
        next_continue(t, why);
        return;
    }
    if (g->said.behavior == PAWL_BEHAVIOR_DENY && !g->said.stops)
        report_hook_text(t, point, pawl_format(t->s, "it stops all the same: hooks have kept it from that %d times in this turn (STOPS_MAX)", STOPS_MAX));
    if (g->said.stops)
        stopped_by_hook(t, g);
    else
        next_end(t, "answer", NULL);
}

/* ---- summed up ------------------------------------------------------------------------------------------------------ */

bool lifecycle_compact(turn *t, bool heavy)
{
    if (pawl_value_size(hook_rules(t)) == 0)
        return false;
    return lifecycle_begin(t, (lifecycle){ .point = HOOK_PRE_COMPACT, .overflow = heavy,
                                .about = pawl_pack(t->s, "{s:s,s:s}", "custom_instructions", "", "trigger", "auto") });
}

static void compact_over(turn *t, bool heavy, const moment_gate *g)
{
    const char *why = g->said.reason != NULL ? g->said.reason : "it says no";

    if (g->said.stops)
        stopped_by_hook(t, g);
    else if (g->said.behavior != PAWL_BEHAVIOR_DENY)
        next_step(t, STEP_COMPACT);
    else if (heavy)
        next_end(t, "error", pawl_format(t->s, "The conversation is too long for the model, and a hook keeps it from being summed up: %s",
                                         text_cut(t, why, 500)));
    else
        next_step(t, STEP_REQUEST);
}

/* ---- its beginning and its end --------------------------------------------------------------------------------------- */

bool lifecycle_start(turn *t, const char *source, const pawl_value *message)
{
    const pawl_value *model = pawl_value_get(pawl_get(t->s, "@config"), "model");

    if (is_sub_agent(t) || pawl_value_size(hook_rules(t)) == 0)
        return false;
    return lifecycle_begin(t, (lifecycle){ .point = HOOK_SESSION_START, .message = message,
                                .about = pawl_pack(t->s, "{s:v,s:s}", "model", model != NULL ? model : value_null(t->mem), "source", source) });
}

/* Context from hooks at the start is pinned, so that no summary replaces it; the context of an earlier start is removed. */
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

/* A start is a first start, a resume, or the continuation after a compaction; then a turn is open. */
static void start_over(turn *t, const lifecycle *was, const moment_gate *g)
{
    const pawl_value *message = was->message;

    if (g->said.context != NULL)
        place_pinned(t, g->said.context);
    if (lifecycle_in_turn(was)) {
        next_step(t, STEP_COMPACTED);
        return;
    }
    message = message != NULL ? message : queue_take(t);
    if (message != NULL)
        next_begin(t, message);
    else
        next_step(t, STEP_WAIT);
}

bool lifecycle_in_turn(const lifecycle *l)
{
    const char *source = pawl_value_string(pawl_value_get(l->about, "source"));

    if (l->point == HOOK_SESSION_START)
        return source != NULL && strcmp(source, "compact") == 0;
    return l->point != HOOK_SESSION_END;
}

bool lifecycle_end(turn *t)
{
    return !is_sub_agent(t) && pawl_value_size(hook_rules(t)) > 0 &&
           lifecycle_begin(t, (lifecycle){ .point = HOOK_SESSION_END, .about = pawl_pack(t->s, "{s:s}", "reason", "other") });
}

static void lifecycle_done(turn *t, const moment_gate *g)
{
    const lifecycle was = t->life;

    t->life = (lifecycle){0};
    report_hook_text(t, was.point, g->said.message);
    if (g->said.open)
        report_hook_text(t, was.point, pawl_format(t->s, "it failed, and was let through: %s", g->said.reason != NULL ? g->said.reason : ""));
    switch (was.point) {
    case HOOK_PROMPT: prompt_over(t, was.message, g); return;
    case HOOK_STOP:
    case HOOK_SUBAGENT_STOP: stop_over(t, was.point, g); return;
    case HOOK_PRE_COMPACT: compact_over(t, was.overflow, g); return;
    case HOOK_SESSION_START: start_over(t, &was, g); return;
    case HOOK_SESSION_END: next_step(t, STEP_CLOSE); return;
    case HOOK_ANSWER:
        if (g->said.stops)
            stopped_by_hook(t, g);
        else
            next_step(t, STEP_USE_ANSWER);
        return;
    default: return;
    }
}

/* ---- notes: nobody waits for them --------------------------------------------------------------------------------------- */

void notify_hooks(turn *t, const char *type, const char *message)
{
    hook_list hooks;
    moment_gate g;
    pawl_err err = {0};

    if (pawl_value_size(hook_rules(t)) == 0 || hooks_now(t, &hooks, &err) != PAWL_OK)
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
            report_hook_text(t, HOOK_NOTICE, "the budget has no room for it");
        else if (rc != PAWL_OK)
            t->rc = rc;
    }
}

void on_notification(turn *t)
{
    const pawl_value *v = t->h->value != NULL ? t->h->value : value_null(t->mem);
    const hook_profile profile = strcmp(t->h->tag, "note") == 0 ? HOOK_STRICT : HOOK_CLAUDE;
    const char *code = pawl_value_string(pawl_value_get(v, "code")), *text = pawl_value_string(pawl_value_get(v, "text"));
    pawl_err err = {0};
    verdict said = {0};
    pawl_code rc;

    if (t->h->outcome != PAWL_OUTCOME_DONE)
        v = pawl_pack(t->s, "{s:s,s:s}", "failed", code != NULL ? code : "effect", "text", text != NULL ? text : "it failed");
    if (v == NULL || (rc = hook_verdict(t->mem, profile, hook_point_name(HOOK_NOTICE), v, &said, &err)) == PAWL_NOMEM) {
        t->rc = PAWL_NOMEM;
        return;
    }
    report_hook_text(t, HOOK_NOTICE, said.message);
    if (rc != PAWL_OK || said.behavior == PAWL_BEHAVIOR_DENY || said.open)
        report_hook_text(t, HOOK_NOTICE, rc != PAWL_OK ? err.text : said.reason);
}
