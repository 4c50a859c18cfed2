/* compact.c - a conversation that has become too long is made shorter: summed up by the model, or what old tools gave is left out.
 *
 * What is settled is, and no more: turns that are over, and in the turn at hand the rounds of tools before the last one, a call always with what
 * came of it. What is pinned, and what the user said in this turn, stay to the letter; rules, mode, plan, todo and budget stand in channels of
 * their own, and are not touched. Where the model says itself that it is too much, and none of that is left to do, what is longest is cut (cut.c). */
#include "agent/agent.h"

enum { DROPS_BYTES = 200 };     /* of a result; a smaller one is worth no line that says it is gone */

static const char instruction[] =
    "Summarise the conversation above for yourself, since it will be replaced by your summary. Keep: what the user asked for, in their words; decisions "
    "and their reasons; files and names that matter; what was done and what failed; what is still to be done. Answer with the summary alone.";

/* ---- what can be left out ------------------------------------------------------------------------------------ */

typedef struct span {           /* all messages, with those of this event */
    const pawl_value **all;
    uint32_t n;
    uint32_t cut;               /* of these, so many are settled */
} span;

static bool is_role(const pawl_value *message, const char *role)
{
    const char *own = pawl_value_string(pawl_value_get(message, "role"));

    return own != NULL && strcmp(own, role) == 0;
}

static bool is_summary(const pawl_value *message)
{
    return pawl_value_bool(pawl_value_get(message, "summary"));
}

static bool is_pinned(const pawl_value *message)
{
    return pawl_value_bool(pawl_value_get(message, "pinned"));
}

/* The last answer of this turn, with what it came to, is not settled, nor what the user said since the one before. */
static uint32_t settled_to(const turn *t, const span *s)
{
    uint32_t i = s->n;

    while (i > t->begun && !is_role(s->all[i - 1], "assistant"))
        i--;
    while (i > t->begun && is_role(s->all[i - 1], "assistant"))
        i--;                    /* what was said in several parts goes on, and is one */
    while (i > t->begun && is_role(s->all[i - 1], "user"))
        i--;
    return i;
}

static span span_of(turn *t)
{
    const pawl_value *messages = pawl_get(t->s, "messages"), *one;
    pawl_iter it = pawl_iter_of(messages);
    span s = { .all = arena_get(t->mem, (pawl_value_size(messages) + t->nadded + 1) * sizeof *s.all) };

    while (s.all != NULL && (one = pawl_iter_next(&it, NULL)) != NULL)
        s.all[s.n++] = one;
    for (size_t i = 0; s.all != NULL && i < t->nadded; i++)
        s.all[s.n++] = t->added[i];
    s.cut = settled_to(t, &s);
    return s;
}

/* A summary does not take its place. */
static bool stays(const turn *t, const span *s, uint32_t i)
{
    return i >= s->cut || (is_role(s->all[i], "user") && (is_pinned(s->all[i]) || (i >= t->begun && !is_summary(s->all[i]))));
}

/* What is a summary already is not worth one. */
static bool sums_up(const turn *t, const span *s)
{
    for (uint32_t i = 0; i < s->cut; i++)
        if (!stays(t, s, i) && !is_summary(s->all[i]))
            return true;
    return false;
}

/* The bytes that it has for nothing; 0: it is no result, or stays. */
static size_t result_bytes(turn *t, const span *s, uint32_t i)
{
    size_t size = 0;
    buf b;

    if (i >= s->cut || is_pinned(s->all[i]) || !is_role(s->all[i], "tool"))
        return 0;
    buf_init(&b, &t->mem->alloc);
    canon(&b, pawl_value_get(s->all[i], "content"));
    t->mem->failed = t->mem->failed || b.failed;
    size = b.size;
    buf_free(&b);
    return size < DROPS_BYTES ? 0 : size;
}

static bool drops(turn *t, const span *s)
{
    for (uint32_t i = 0; i < s->cut; i++)
        if (result_bytes(t, s, i) > 0)
            return true;
    return false;
}

typedef enum shorter { SHORTER_NONE, SHORTER_DROP, SHORTER_SUM, SHORTER_CUT } shorter;

/* As it was declared. Where nothing was, it costs nothing if that will do. Only what does not fit the model (`heavy`) is cut. */
static shorter shorter_of(turn *t, const span *s, bool heavy)
{
    const bool declared = t->def->a.compact_tokens > 0;

    if ((t->def->a.compact_drops || !declared) && drops(t, s))
        return SHORTER_DROP;
    if (!(declared && t->def->a.compact_drops) && sums_up(t, s))
        return SHORTER_SUM;
    return heavy && cut_can(t, s->all, s->n) ? SHORTER_CUT : SHORTER_NONE;
}

bool compact_can(turn *t, bool heavy)
{
    const span s = span_of(t);

    return shorter_of(t, &s, heavy) != SHORTER_NONE;
}

/* Once it was made shorter, not before it has grown by a quarter of the bound since: what stays may be over that by itself. */
bool compact_due(turn *t)
{
    const int64_t bound = t->def->a.compact_tokens;

    if (bound <= 0 || t->tokens < bound || t->at == PHASE_COMPACT || t->least < 0)
        return false;
    return (t->least == 0 || t->tokens - t->least >= (bound + 3) / 4) && compact_can(t, false);
}

/* ---- made shorter --------------------------------------------------------------------------------------------- */

static void replaced(turn *t, const span *s, const pawl_value *all, const char *method)
{
    pawl_overwrite(t->s, "messages", all);
    t->all = all;
    t->nmessages = (uint32_t)pawl_value_size(all);
    t->nadded = 0;
    t->seen = 0;
    t->tokens = 0;
    t->least = -1;
    readers_told(t, "compact", pawl_pack(t->s, "{s:i,s:s,s:i}", "from", (int64_t)s->n, "method", method, "to", (int64_t)t->nmessages));
    readers_told(t, "cache_break", pawl_pack(t->s, "{s:s}", "cause", "compaction"));
}

/* It is another one than before. */
void compact_goes_on(turn *t)
{
    if (t->at != PHASE_COMPACT)
        turn_phase(t, PHASE_COMPACT);
    t->c.at = CORE_CALLING_LLM;
    t->c.retries = 0;
    t->loops -= t->loops > 0;
    turn_act(t, CORE_SEND_LLM_REQUEST, NULL);
}

/* False: there is nothing to drop. */
static bool results_dropped(turn *t)
{
    const span s = span_of(t);
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *one;
    bool some = false;

    for (uint32_t i = 0; i < s.n; i++) {
        const size_t size = result_bytes(t, &s, i);

        one = size == 0 ? s.all[i] : value_with(t->mem, s.all[i], "content", pawl_pack(t->s, "s", pawl_format(t->s, "[%zu bytes, dropped]", size)));
        all = value_push(t->mem, all, one);
        some = some || size > 0;
    }
    if (some)
        replaced(t, &s, all, "drop");
    return some;
}

/* False: there is nothing to cut. */
static bool longest_cut(turn *t)
{
    const span s = span_of(t);
    const pawl_value *all = cut_longest(t, s.all, s.n);

    if (all != NULL)
        replaced(t, &s, all, "cut");
    return all != NULL;
}

const char *compact_sizes(turn *t)
{
    const span s = span_of(t);

    return cut_sizes(t, s.all, s.n);
}

/* By itself. `why` it is not by the model, which readers are told; NULL: it was not to be. */
static void shorten(turn *t, const char *why)
{
    const bool dropped = results_dropped(t), some = dropped || (t->overflowed && longest_cut(t));

    if (!some && t->overflowed) {
        turn_end(t, "error", pawl_format(t->s, "LLM error: the conversation is too long for the model, and could not be made shorter: %s: %s",
                                         why != NULL ? why : "there is nothing to leave out", compact_sizes(t)));
        return;
    }
    if (why != NULL)
        readers_told(t, "status", pawl_pack(t->s, "{s:s}", "note", pawl_format(t->s, "The conversation could not be summed up, %s: %s",
                                            dropped ? "and results of tools were left out" :
                                            some ? "and what is longest was cut" : "and goes on as it is", why)));
    if (!some)
        t->least = t->tokens;   /* not for every request that follows */
    compact_goes_on(t);
}

void compact_again(turn *t)
{
    const pawl_code rc = request_call(t, "compact", request_make(t, pawl_pack(t->s, "s", instruction)));

    if (rc == PAWL_LIMIT) {
        shorten(t, "the budget has no room for it");
        return;
    }
    if (rc != PAWL_OK)
        t->rc = rc;
    readers_told(t, "status", pawl_pack(t->s, "{s:b}", "compacting", 1));
    turn_phase(t, PHASE_COMPACT);
}

void compact_begin(turn *t)
{
    const span s = span_of(t);

    if (shorter_of(t, &s, t->overflowed) != SHORTER_SUM) {
        shorten(t, NULL);
        return;
    }
    t->upto = s.cut;
    t->c.retries = 0;
    compact_again(t);
}

/* ---- summed up -------------------------------------------------------------------------------------------------- */

/* Its texts; NULL: it has none. */
static const char *summary_of(turn *t, const pawl_value *v)
{
    const pawl_value *content = pawl_value_get(pawl_value_get(v, "message"), "content"), *block;
    pawl_iter it = pawl_iter_of(content);
    const char *all = pawl_value_type(content) == PAWL_TYPE_STRING ? pawl_value_string(content) : "", *text;

    while (pawl_value_type(content) == PAWL_TYPE_ARRAY && (block = pawl_iter_next(&it, NULL)) != NULL)
        if ((text = pawl_value_string(pawl_value_get(block, "text"))) != NULL && *text != '\0' && all != NULL)
            all = pawl_format(t->s, "%s%s%s", all, *all != '\0' ? "\n\n" : "", text);
    return all == NULL || *all == '\0' ? NULL : all;
}

/* The summary, what is pinned and what the user says in this turn, and what is not settled. */
static void sum_up(turn *t, const char *summary)
{
    span s = span_of(t);
    const char *text = pawl_format(t->s, "Summary of the conversation so far:\n\n%s", summary);
    const pawl_value *all = pawl_pack(t->s, "[{s:s,s:s,s:b}]", "content", text, "role", "user", "summary", 1);
    uint32_t begun = 1;

    s.cut = t->upto < s.n ? t->upto : s.n;
    for (uint32_t i = 0; i < s.n; i++) {
        if (!stays(t, &s, i))
            continue;
        all = value_push(t->mem, all, s.all[i]);
        begun += i < t->begun;
    }
    t->begun = begun;
    replaced(t, &s, all, "summary");
}

void compact_told(turn *t)
{
    const bool fits = !told_too_long(t);
    const char *summary = t->h->outcome == PAWL_DONE && fits ? summary_of(t, t->h->value) : NULL;
    const char *why = t->h->outcome == PAWL_DONE && fits ? "there is no summary in the answer" : !fits ? "it is too long for that, too" : told_why(t);
    core_action then;

    if (summary == NULL) {
        if (!fits || !asked_later(t, pawl_format(t->s, "LLM error: %s", why), &then))
            shorten(t, why);
        return;
    }
    sum_up(t, summary);
    if (!life_start(t, "compact", NULL))
        compact_goes_on(t);
}
