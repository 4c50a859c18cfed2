/* persist.c - loads and stores an agent between two events: its state, messages, calls, results and queued inputs.
 *
 * An event writes what it changed and nothing else (K7): whatever can grow during a turn is appended to, never written again as a whole. The keys
 * and names that are written here are stored in journals: never change them. */
#include "agent/agent.h"
#include "policy/usual_args.h"
#include "kernel/state.h"
#include "kernel/step.h"

/* ---- how it stands ------------------------------------------------------------------------------------- */

/* The input that the model gives to a call, in the words of the tool's schema. */
static const pawl_value *proposed_input(turn *t, const pawl_agent_tool *tool, const pawl_value *block)
{
    const pawl_value *input = pawl_value_get(block, "input");

    return tool != NULL && tool->usual_args ? args_usual(t->mem, tool->name, input) : input;
}

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

    return m != PAWL_MODE_NONE ? m : PAWL_MODE_BYPASS;
}

/* The call that a record of @edited or @told is about; NULL: no current call. */
static agent_call *call_in(turn *t, const pawl_value *one)
{
    const uint64_t k = pawl_value_uint(pawl_value_get(one, "call"));

    return k < t->ncalls ? &t->calls[k] : NULL;
}

static void answer_add(turn *t, agent_call *c, const pawl_value *v, bool failed)
{
    if (v != NULL && arena_room(t->mem, (void **)&c->answers, &c->answers_cap, c->nanswers, sizeof *c->answers))
        c->answers[c->nanswers++] = (gate_answer){ v, failed };
}

static void stored_calls_load(turn *t)
{
    pawl_iter it = pawl_iter_of(pawl_get(t->s, "@uses"));
    const pawl_value *one, *key;
    const char *rest;
    uint64_t k;

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if ((rest = digits_read(pawl_value_string(key), &k)) != NULL && *rest == '\0' && k < t->ncalls)
            t->calls[k].stored = one;
}

/* After the records of the calls are loaded: answers before answers_from belong to a gate that was restarted. */
static void answers_load(turn *t)
{
    pawl_iter edited = pawl_iter_of(pawl_get(t->s, "@edited")), told = pawl_iter_of(pawl_get(t->s, "@told"));
    const pawl_value *one, *e;
    agent_call *c;

    while ((one = pawl_iter_next(&edited, NULL)) != NULL)
        if ((c = call_in(t, one)) != NULL)
            c->edited = pawl_value_get(one, "input");
    for (uint32_t i = 0; (one = pawl_iter_next(&told, NULL)) != NULL; i++)
        if ((c = call_in(t, one)) != NULL && i >= c->answers_from && (c->at == STAGE_CHECKING || c->at == STAGE_APPROVED || c->at == STAGE_AFTER_HOOKS)) {
            e = pawl_value_get(one, "e");
            answer_add(t, c, e != NULL ? e : pawl_value_get(one, "v"), e != NULL);
        }
}

static void calls_load(turn *t, uint32_t n)
{
    pawl_iter said = pawl_iter_of(pawl_get(t->s, "@calls"));

    t->calls = arena_zero(t->mem, (n + 1) * sizeof *t->calls);
    if (t->calls == NULL)
        return;
    t->ncalls = n;
    stored_calls_load(t);
    for (uint32_t i = 0; i < n; i++) {
        agent_call *c = &t->calls[i];
        const pawl_value *block = pawl_iter_next(&said, NULL), *one = c->stored;

        c->id = text_in(block, "id", "");
        c->name = text_in(block, "name", "");
        c->at = (call_stage)row_named(stage_rows, STAGES, text_in(one, "at", NULL));
        if ((c->tool = tool_of(t->def, c->name)) == NULL && c->at != STAGE_PROPOSED)
            c->tool = &tool_gone;       /* an earlier version of the machine had this tool */
        c->proposed = proposed_input(t, c->tool, block);
        c->changed = pawl_value_bool(pawl_value_get(one, "edited"));
        c->invalid = text_in(block, "invalid", NULL);
        c->answers_from = (uint32_t)pawl_value_uint(pawl_value_get(one, "told_from"));
        c->policy_key = text_in(one, "under", NULL);
        c->decision = pawl_value_get(one, "why");
        c->fed = text_in(one, "fed", NULL);
        c->asked = pawl_value_bool(pawl_value_get(one, "asked"));
        c->refused = pawl_value_bool(pawl_value_get(one, "refused"));
        c->failed = pawl_value_bool(pawl_value_get(one, "failed"));
        c->child = text_in(one, "child", NULL);
        c->rights = mode_in(one, "rights");
    }
    answers_load(t);
    for (uint32_t i = 0; i < n; i++)
        t->calls[i].input = t->calls[i].changed ? t->calls[i].edited : t->calls[i].proposed;
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

static void lifecycle_load(turn *t)
{
    const pawl_value *v = t->at == PHASE_LIFECYCLE ? pawl_get(t->s, "@life") : NULL;

    t->life = (lifecycle){ .point = hook_point_named(pawl_value_string(pawl_value_get(v, "point"))), .about = pawl_value_get(v, "about"),
                      .message = pawl_value_get(v, "message"), .hooks_key = pawl_value_string(pawl_value_get(v, "under")),
                      .overflow = pawl_value_bool(pawl_value_get(v, "heavy")), .answers = v != NULL ? pawl_get(t->s, "@heard") : NULL };
}

pawl_code turn_load(turn *t, pawl_step *s, const agent_def *d, const pawl_input_event *h)
{
    const pawl_value *v = pawl_get(s, "@agent");

    *t = (turn){ .s = s, .def = d, .h = h, .mem = &s->mem, .k = -1 };
    t->at = (phase)row_named(phase_rows, PHASES, text_in(v, "phase", NULL));
    core_load(t, pawl_value_get(v, "core"));
    calls_load(t, (uint32_t)pawl_value_uint(pawl_value_get(v, "calls")));
    t->delivered = (uint32_t)pawl_value_uint(pawl_value_get(v, "given"));
    t->round = (uint32_t)pawl_value_uint(pawl_value_get(v, "round"));
    t->requests = (uint32_t)pawl_value_uint(pawl_value_get(v, "loops"));
    t->first_message = (uint32_t)pawl_value_uint(pawl_value_get(v, "begun"));
    t->tokens = pawl_value_int(pawl_value_get(v, "tokens"));
    t->messages_seen = (uint32_t)pawl_value_uint(pawl_value_get(v, "seen"));
    t->overflowed = pawl_value_bool(pawl_value_get(v, "overflowed"));
    t->least_tokens = pawl_value_int(pawl_value_get(v, "least"));
    t->summary_upto = (uint32_t)pawl_value_uint(pawl_value_get(v, "upto"));
    t->retry_summary = pawl_value_bool(pawl_value_get(v, "sums"));
    t->failed_ms = pawl_value_int(pawl_value_get(v, "failed_ms"));
    t->again_ms = pawl_value_int(pawl_value_get(v, "again_ms"));
    t->again_why = text_in(v, "again_why", NULL);
    t->shown = text_in(v, "shown", "");
    t->shown_id = text_in(v, "shown_id", "");
    t->end = text_in(v, "end", "");
    t->error = text_in(v, "error", NULL);
    t->parent_entry = pawl_value_uint(pawl_value_get(v, "law"));
    t->note = text_in(v, "note", NULL);
    t->stops = (uint32_t)pawl_value_uint(pawl_value_get(v, "stops"));
    lifecycle_load(t);
    t->mode_cap = mode_in(v, "most");
    t->mode_cap = mode_cap_now(t);
    t->nmessages = (uint32_t)pawl_value_size(pawl_get(s, "messages"));
    t->nresults = (uint32_t)pawl_value_size(pawl_get(s, "@results"));
    t->nanswers = (uint32_t)pawl_value_size(pawl_get(s, "@told"));
    t->queue_taken = (uint32_t)pawl_value_uint(pawl_value_get(v, "taken"));
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

/* The record of a call in @uses. Decision and policy key are needed until the call starts, and while hooks after it are asked. */
static const pawl_value *call_record(turn *t, const agent_call *c)
{
    const pawl_value *v = value_pack(t->mem, NULL, "{s:s}", "at", stage_rows[c->at].name);
    const bool settles = c->at == STAGE_CHECKING || c->at == STAGE_APPROVED;

    v = with_true(t, v, "edited", c->changed);
    v = with_int(t, v, "told_from", settles || c->at == STAGE_AFTER_HOOKS ? c->answers_from : 0);
    v = c->decision != NULL && settles ? value_with(t->mem, v, "why", c->decision) : v;
    v = with_text(t, v, "fed", c->at != STAGE_DONE ? c->fed : NULL);
    v = with_text(t, v, "under", settles || c->at == STAGE_AFTER_HOOKS ? c->policy_key : NULL);
    v = with_true(t, v, "asked", c->asked);
    v = with_true(t, v, "refused", c->refused && settles);
    v = with_true(t, v, "failed", c->failed);
    v = with_text(t, v, "child", c->child != NULL && strcmp(c->child, c->id) != 0 ? c->child : NULL);
    return with_text(t, v, "rights", c->rights == PAWL_MODE_BYPASS ? NULL : pawl_mode_name(c->rights));
}

/* Write the records of the calls that changed in this event. */
static void calls_save(turn *t)
{
    const pawl_value *some = NULL, *v;

    for (uint32_t k = 0; k < t->ncalls; k++) {
        agent_call *c = &t->calls[k];

        if (c->changed && (c->edited == NULL || !pawl_value_equal(c->edited, c->input)))
            pawl_set(t->s, "@edited", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, "input", c->input));
        if (c->at == STAGE_PROPOSED || (v = call_record(t, c)) == NULL || (c->stored != NULL && pawl_value_equal(c->stored, v)))
            continue;
        some = value_with(t->mem, some != NULL ? some : value_pack(t->mem, NULL, "{}"), pawl_format(t->s, "%u", (unsigned)k), v);
    }
    if (some != NULL)
        pawl_set(t->s, "@uses", some);
}

/* Once more inputs were taken than are left, the rest is written again: so each input is written at most twice. */
static void queue_save(turn *t, uint32_t was)
{
    const pawl_value *q = pawl_get(t->s, "@queue"), *one;
    pawl_iter it = pawl_iter_of(q);

    if (t->queue_taken == was || t->queue_taken < pawl_value_size(q) - t->queue_taken)
        return;
    pawl_overwrite(t->s, "@queue", value_pack(t->mem, NULL, "[]"));
    for (uint32_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        if (i >= t->queue_taken)
            pawl_set(t->s, "@queue", one);
    t->queue_taken = 0;
}

/* The moment is written once; each answer is appended (K7). */
static void lifecycle_save(turn *t)
{
    const lifecycle *l = &t->life;
    const bool asks = t->at == PHASE_LIFECYCLE;
    const pawl_value *v;

    if ((!asks || l->is_new) && pawl_value_size(pawl_get(t->s, "@heard")) > 0)
        pawl_overwrite(t->s, "@heard", value_pack(t->mem, NULL, "[]"));
    if (asks && l->is_new) {
        v = pawl_pack(t->s, "{s:v,s:s,s:s}", "about", l->about, "point", hook_point_name(l->point), "under", l->hooks_key);
        v = l->overflow ? value_with(t->mem, v, "heavy", value_bool(t->mem, true)) : v;
        pawl_set(t->s, "@life", l->message != NULL ? value_with(t->mem, v, "message", l->message) : v);
    } else if (asks && l->new_answer != NULL) {
        pawl_set(t->s, "@heard", l->new_answer);
    }
}

void turn_save(turn *t)
{
    const pawl_value *c = value_pack(t->mem, NULL, "{s:s}", "at", core_at_name(t->c.at)), *v;

    calls_save(t);
    queue_save(t, (uint32_t)pawl_value_uint(pawl_value_get(pawl_get(t->s, "@agent"), "taken")));
    c = with_int(t, c, "retries", t->c.retries);
    c = with_int(t, c, "open", t->c.open);
    c = with_true(t, c, "mutated", t->c.mutated);
    v = value_pack(t->mem, NULL, "{s:s,s:v,s:s}", "phase", phase_rows[t->at].name, "core", c, "shown", t->shown);
    v = with_int(t, v, "calls", t->ncalls);
    v = with_int(t, v, "given", t->delivered);
    v = with_int(t, v, "round", t->round);
    v = with_int(t, v, "loops", t->requests);
    v = with_int(t, v, "begun", t->first_message);
    v = with_int(t, v, "tokens", t->tokens);
    v = with_int(t, v, "seen", t->messages_seen);
    v = with_int(t, v, "taken", t->queue_taken);
    v = with_true(t, v, "overflowed", t->overflowed);
    v = with_int(t, v, "least", t->least_tokens);
    v = with_int(t, v, "upto", t->summary_upto);
    v = with_true(t, v, "sums", t->retry_summary);
    v = with_int(t, v, "failed_ms", t->c.retries > 0 ? t->failed_ms : 0);
    v = with_int(t, v, "again_ms", t->at == PHASE_RETRY ? t->again_ms : 0);
    v = with_int(t, v, "again_of", t->at == PHASE_RETRY && t->again_ms > 0 ? t->c.max_retries : 0);
    v = with_text(t, v, "again_why", t->at == PHASE_RETRY ? t->again_why : NULL);
    v = with_int(t, v, "law", (int64_t)t->parent_entry);
    v = with_text(t, v, "shown_id", t->shown_id);
    v = with_text(t, v, "end", t->end);
    v = with_text(t, v, "error", t->error);
    v = with_text(t, v, "note", t->note);
    v = with_int(t, v, "stops", t->stops);
    v = with_text(t, v, "most", t->mode_cap == PAWL_MODE_BYPASS ? NULL : pawl_mode_name(t->mode_cap));
    pawl_set(t->s, "@agent", v);
    lifecycle_save(t);
}

/* ---- messages -------------------------------------------------------------------------------------------- */

void message_add(turn *t, const pawl_value *message)
{
    pawl_set(t->s, "messages", message);
    t->nmessages++;
    if (arena_room(t->mem, (void **)&t->added, &t->added_cap, t->nadded, sizeof *t->added))
        t->added[t->nadded++] = message;
}

/* ---- inputs that wait for the turn to end ------------------------------------------------------------------ */

/* No event both adds an input and takes one. */
void queue_put(turn *t, const pawl_value *message)
{
    if (pawl_value_size(pawl_get(t->s, "@queue")) - t->queue_taken >= QUEUE_MAX) {
        pawl_emit(t->s, "error", pawl_pack(t->s, "{s:s}", "message", pawl_format(t->s, "input is not taken: %d inputs wait (QUEUE_MAX)", QUEUE_MAX)));
        return;
    }
    pawl_set(t->s, "@queue", message);
}

const pawl_value *queue_take(turn *t)
{
    const pawl_value *first = pawl_value_at(pawl_get(t->s, "@queue"), t->queue_taken);

    t->queue_taken += first != NULL;
    return first;
}

/* ---- what came of calls ---------------------------------------------------------------------------------------- */

/* Result messages are in request order: a result that comes too early waits in @results. */
void result_put(turn *t, uint32_t k, const pawl_value *result, bool failed)
{
    t->calls[k].failed = failed;
    t->calls[k].result = result;
    t->k = (int)k;
    if (k == t->delivered && t->calls[k].at == STAGE_DONE)
        return;                 /* its message is added at once */
    pawl_set(t->s, "@results", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, "result", result));
    t->nresults++;
}

const pawl_value *result_of(turn *t, uint32_t k)
{
    pawl_iter it = pawl_iter_of(pawl_get(t->s, "@results"));
    const pawl_value *one, *found = NULL;

    if (t->calls[k].result != NULL)     /* it came with this event and is not in @results yet */
        return t->calls[k].result;
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_int(pawl_value_get(one, "call")) == (int64_t)k)
            found = pawl_value_get(one, "result");
    return found;
}

void results_drop(turn *t)
{
    if (t->nresults > 0)
        pawl_overwrite(t->s, "@results", value_pack(t->mem, NULL, "[]"));
    t->nresults = 0;
}

/* ---- answers of gates --------------------------------------------------------------------------------------- */

void gate_answer_add(turn *t, uint32_t k, const pawl_value *v, bool failed)
{
    v = v != NULL ? v : value_null(t->mem);
    answer_add(t, &t->calls[k], v, failed);
    pawl_set(t->s, "@told", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, failed ? "e" : "v", v));
    t->nanswers++;
}

void gate_answers_clear(turn *t, uint32_t k)
{
    t->calls[k].nanswers = 0;
    t->calls[k].answers_from = t->nanswers;
}

/* ---- the calls at hand -------------------------------------------------------------------------------------------- */

static bool is_call(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL && strcmp(type, "tool_use") == 0;
}

/* Remove everything about the calls of the previous answer. */
static void calls_drop(turn *t)
{
    static const char *const lists[] = { "@calls", "@edited", "@told" };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (pawl_value_size(pawl_get(t->s, lists[i])) > 0)
            pawl_overwrite(t->s, lists[i], value_pack(t->mem, NULL, "[]"));
    if (pawl_value_size(pawl_get(t->s, "@uses")) > 0)
        pawl_overwrite(t->s, "@uses", value_pack(t->mem, NULL, "{}"));
    t->nanswers = 0;
}

void turn_calls(turn *t, const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *block;
    uint32_t n = 0;

    calls_drop(t);
    t->calls = arena_zero(t->mem, (pawl_value_size(blocks) + 1) * sizeof *t->calls);
    while (t->calls != NULL && (block = pawl_iter_next(&it, NULL)) != NULL)
        if (is_call(block)) {
            agent_call *c = &t->calls[n++];

            *c = (agent_call){ .id = text_in(block, "id", ""), .name = text_in(block, "name", ""), .invalid = text_in(block, "invalid", NULL),
                               .rights = PAWL_MODE_BYPASS };
            c->tool = tool_of(t->def, c->name);
            c->input = c->proposed = proposed_input(t, c->tool, block);
            pawl_set(t->s, "@calls", block);
        }
    t->ncalls = n;
    t->delivered = 0;
    t->round += n > 0;
}
