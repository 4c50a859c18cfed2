/* kept.c - what the agent keeps between two events: how it stands, and the messages, calls, results and inputs that it works with.
 *
 * An event writes what it changes, and no more (K7): what can grow with a turn is added to, and never written again as a whole. */
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

/* {"call", ...} of @edited or @told; NULL: of none at hand. */
static agent_call *call_in(turn *t, const pawl_value *one)
{
    const uint64_t k = pawl_value_uint(pawl_value_get(one, "call"));

    return k < t->ncalls ? &t->calls[k] : NULL;
}

static void said_add(turn *t, agent_call *c, const pawl_value *v, bool failed)
{
    if (v != NULL && arena_room(t->mem, (void **)&c->told, &c->told_cap, c->ntold, sizeof *c->told))
        c->told[c->ntold++] = (gate_said){ v, failed };
}

static void uses_load(turn *t)
{
    pawl_iter it = pawl_iter_of(pawl_get(t->s, "@uses"));
    const pawl_value *one, *key;
    const char *rest;
    uint64_t k;

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if ((rest = digits_read(pawl_value_string(key), &k)) != NULL && *rest == '\0' && k < t->ncalls)
            t->calls[k].kept = one;
}

/* After how they stand is known: what was edited and told before that is over. */
static void added_load(turn *t)
{
    pawl_iter edited = pawl_iter_of(pawl_get(t->s, "@edited")), told = pawl_iter_of(pawl_get(t->s, "@told"));
    const pawl_value *one, *e;
    agent_call *c;

    while ((one = pawl_iter_next(&edited, NULL)) != NULL)
        if ((c = call_in(t, one)) != NULL)
            c->edited = pawl_value_get(one, "input");
    for (uint32_t i = 0; (one = pawl_iter_next(&told, NULL)) != NULL; i++)
        if ((c = call_in(t, one)) != NULL && i >= c->told_from && (c->at == STAGE_SETTLING || c->at == STAGE_READY || c->at == STAGE_AFTER)) {
            e = pawl_value_get(one, "e");
            said_add(t, c, e != NULL ? e : pawl_value_get(one, "v"), e != NULL);
        }
}

static void calls_load(turn *t, uint32_t n)
{
    pawl_iter said = pawl_iter_of(pawl_get(t->s, "@calls"));

    t->calls = arena_zero(t->mem, (n + 1) * sizeof *t->calls);
    if (t->calls == NULL)
        return;
    t->ncalls = n;
    uses_load(t);
    for (uint32_t i = 0; i < n; i++) {
        agent_call *c = &t->calls[i];
        const pawl_value *block = pawl_iter_next(&said, NULL), *one = c->kept;

        c->id = text_in(block, "id", "");
        c->name = text_in(block, "name", "");
        c->at = (call_stage)row_named(stage_rows, STAGES, text_in(one, "at", NULL));
        if ((c->tool = tool_of(t->def, c->name)) == NULL && c->at != STAGE_NEW)
            c->tool = &tool_gone;       /* the machine that let it in had it */
        c->said = pawl_value_get(block, "input");
        c->changed = pawl_value_bool(pawl_value_get(one, "edited"));
        c->invalid = text_in(block, "invalid", NULL);
        c->told_from = (uint32_t)pawl_value_uint(pawl_value_get(one, "told_from"));
        c->under = text_in(one, "under", NULL);
        c->why = pawl_value_get(one, "why");
        c->asked = pawl_value_bool(pawl_value_get(one, "asked"));
        c->refused = pawl_value_bool(pawl_value_get(one, "refused"));
        c->failed = pawl_value_bool(pawl_value_get(one, "failed"));
        c->child = text_in(one, "child", NULL);
        c->rights = mode_in(one, "rights");
    }
    added_load(t);
    for (uint32_t i = 0; i < n; i++)
        t->calls[i].input = t->calls[i].changed ? t->calls[i].edited : t->calls[i].said;
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
    calls_load(t, (uint32_t)pawl_value_uint(pawl_value_get(v, "calls")));
    t->given = (uint32_t)pawl_value_uint(pawl_value_get(v, "given"));
    t->round = (uint32_t)pawl_value_uint(pawl_value_get(v, "round"));
    t->loops = (uint32_t)pawl_value_uint(pawl_value_get(v, "loops"));
    t->begun = (uint32_t)pawl_value_uint(pawl_value_get(v, "begun"));
    t->tokens = pawl_value_int(pawl_value_get(v, "tokens"));
    t->seen = (uint32_t)pawl_value_uint(pawl_value_get(v, "seen"));
    t->overflowed = pawl_value_bool(pawl_value_get(v, "overflowed"));
    t->least = pawl_value_int(pawl_value_get(v, "least"));
    t->upto = (uint32_t)pawl_value_uint(pawl_value_get(v, "upto"));
    t->sums = pawl_value_bool(pawl_value_get(v, "sums"));
    t->shown = text_in(v, "shown", "");
    t->shown_id = text_in(v, "shown_id", "");
    t->end = text_in(v, "end", "");
    t->error = text_in(v, "error", NULL);
    t->law = pawl_value_uint(pawl_value_get(v, "law"));
    t->note = text_in(v, "note", NULL);
    t->stops = (uint32_t)pawl_value_uint(pawl_value_get(v, "stops"));
    life_load(t);
    t->most = mode_in(v, "most");
    t->most = mode_most(t);
    t->nmessages = (uint32_t)pawl_value_size(pawl_get(s, "messages"));
    t->results = (uint32_t)pawl_value_size(pawl_get(s, "@results"));
    t->told = (uint32_t)pawl_value_size(pawl_get(s, "@told"));
    t->taken = (uint32_t)pawl_value_uint(pawl_value_get(v, "taken"));
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

/* Why it may, and under what, is of use until it begins; and while hooks after it are asked. */
static const pawl_value *use_kept(turn *t, const agent_call *c)
{
    const pawl_value *v = value_pack(t->mem, NULL, "{s:s}", "at", stage_rows[c->at].name);
    const bool settles = c->at == STAGE_SETTLING || c->at == STAGE_READY;

    v = with_true(t, v, "edited", c->changed);
    v = with_int(t, v, "told_from", settles || c->at == STAGE_AFTER ? c->told_from : 0);
    v = c->why != NULL && settles ? value_with(t->mem, v, "why", c->why) : v;
    v = with_text(t, v, "under", settles || c->at == STAGE_AFTER ? c->under : NULL);
    v = with_true(t, v, "asked", c->asked);
    v = with_true(t, v, "refused", c->refused && settles);
    v = with_true(t, v, "failed", c->failed);
    v = with_text(t, v, "child", c->child != NULL && strcmp(c->child, c->id) != 0 ? c->child : NULL);
    return with_text(t, v, "rights", c->rights == PAWL_BYPASS ? NULL : pawl_mode_name(c->rights));
}

/* Those that moved on. */
static void uses_keep(turn *t)
{
    const pawl_value *some = NULL, *v;

    for (uint32_t k = 0; k < t->ncalls; k++) {
        agent_call *c = &t->calls[k];

        if (c->changed && (c->edited == NULL || !pawl_value_equal(c->edited, c->input)))
            pawl_set(t->s, "@edited", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, "input", c->input));
        if (c->at == STAGE_NEW || (v = use_kept(t, c)) == NULL || (c->kept != NULL && pawl_value_equal(c->kept, v)))
            continue;
        some = value_with(t->mem, some != NULL ? some : value_pack(t->mem, NULL, "{}"), pawl_format(t->s, "%u", (unsigned)k), v);
    }
    if (some != NULL)
        pawl_set(t->s, "@uses", some);
}

/* When more of them became turns than are left, these are written anew: so none is more than twice. */
static void queue_keep(turn *t, uint32_t was)
{
    const pawl_value *q = pawl_get(t->s, "@queue"), *one;
    pawl_iter it = pawl_iter_of(q);

    if (t->taken == was || t->taken < pawl_value_size(q) - t->taken)
        return;
    pawl_overwrite(t->s, "@queue", value_pack(t->mem, NULL, "[]"));
    for (uint32_t i = 0; (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        if (i >= t->taken)
            pawl_set(t->s, "@queue", one);
    t->taken = 0;
}

void turn_keep(turn *t)
{
    const pawl_value *c = value_pack(t->mem, NULL, "{s:s}", "at", core_at_name(t->c.at)), *v;

    uses_keep(t);
    queue_keep(t, (uint32_t)pawl_value_uint(pawl_value_get(pawl_get(t->s, "@agent"), "taken")));
    c = with_int(t, c, "retries", t->c.retries);
    c = with_int(t, c, "open", t->c.open);
    c = with_true(t, c, "mutated", t->c.mutated);
    v = value_pack(t->mem, NULL, "{s:s,s:v,s:s}", "phase", phase_rows[t->at].name, "core", c, "shown", t->shown);
    v = with_int(t, v, "calls", t->ncalls);
    v = with_int(t, v, "given", t->given);
    v = with_int(t, v, "round", t->round);
    v = with_int(t, v, "loops", t->loops);
    v = with_int(t, v, "begun", t->begun);
    v = with_int(t, v, "tokens", t->tokens);
    v = with_int(t, v, "seen", t->seen);
    v = with_int(t, v, "taken", t->taken);
    v = with_true(t, v, "overflowed", t->overflowed);
    v = with_int(t, v, "least", t->least);
    v = with_int(t, v, "upto", t->upto);
    v = with_true(t, v, "sums", t->sums);
    v = with_int(t, v, "law", (int64_t)t->law);
    v = with_text(t, v, "shown_id", t->shown_id);
    v = with_text(t, v, "end", t->end);
    v = with_text(t, v, "error", t->error);
    v = with_text(t, v, "note", t->note);
    v = with_int(t, v, "stops", t->stops);
    v = with_text(t, v, "most", t->most == PAWL_BYPASS ? NULL : pawl_mode_name(t->most));
    pawl_set(t->s, "@agent", v);
    life_keep(t);
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

/* No event both puts one there and takes one. */
void queue_put(turn *t, const pawl_value *message)
{
    if (pawl_value_size(pawl_get(t->s, "@queue")) - t->taken >= QUEUE_MAX) {
        readers_told(t, "error", pawl_pack(t->s, "{s:s}", "message", pawl_format(t->s, "input is not taken: %d inputs wait (QUEUE_MAX)", QUEUE_MAX)));
        return;
    }
    pawl_set(t->s, "@queue", message);
}

const pawl_value *queue_take(turn *t)
{
    const pawl_value *first = pawl_value_at(pawl_get(t->s, "@queue"), t->taken);

    t->taken += first != NULL;
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

/* ---- what gates are told --------------------------------------------------------------------------------------- */

void gate_hears(turn *t, uint32_t k, const pawl_value *v, bool failed)
{
    v = v != NULL ? v : value_null(t->mem);
    said_add(t, &t->calls[k], v, failed);
    pawl_set(t->s, "@told", pawl_pack(t->s, "{s:i,s:v}", "call", (int64_t)k, failed ? "e" : "v", v));
    t->told++;
}

void gate_forgets(turn *t, uint32_t k)
{
    t->calls[k].ntold = 0;
    t->calls[k].told_from = t->told;
}

/* ---- the calls at hand -------------------------------------------------------------------------------------------- */

static bool is_call(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL && strcmp(type, "tool_use") == 0;
}

/* Of those before, nothing. */
static void calls_drop(turn *t)
{
    static const char *const lists[] = { "@calls", "@edited", "@told" };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (pawl_value_size(pawl_get(t->s, lists[i])) > 0)
            pawl_overwrite(t->s, lists[i], value_pack(t->mem, NULL, "[]"));
    if (pawl_value_size(pawl_get(t->s, "@uses")) > 0)
        pawl_overwrite(t->s, "@uses", value_pack(t->mem, NULL, "{}"));
    t->told = 0;
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
