/* compact.c - shortens a conversation that has become too long: the model summarises it, or the results of old tool calls are dropped.
 *
 * Only closed parts are shortened: earlier turns, and in the current turn the tool rounds before the last one, always a call together with its
 * result. Pinned text and what the user said in this turn stay word for word; rules, mode, plan, todo and budget are channels of their own and are
 * not touched. When the model still refuses the length and nothing of that is left, the longest messages are truncated (truncate.c). */
#include "agent/agent.h"

enum { DROPS_BYTES = 200 };     /* smaller results are kept: the line that replaces them would be as long */

static const char instruction[] =
    "Summarise the conversation above for yourself, since it will be replaced by your summary. Keep: what the user asked for, in their words; decisions "
    "and their reasons; files and names that matter; what was done and what failed; what is still to be done. Answer with the summary alone.";

/* ---- closed parts -------------------------------------------------------------------------------------------- */

typedef struct span {           /* all messages, those of this event included */
    const pawl_value **all;
    uint32_t n;
    uint32_t cut;               /* the first so many are closed */
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

/* Open are the last answer of this turn with its results, and the user's messages since the answer before it. */
static uint32_t settled_to(const turn *t, const span *s)
{
    uint32_t i = s->n;

    while (i > t->first_message && !is_role(s->all[i - 1], "assistant"))
        i--;
    while (i > t->first_message && is_role(s->all[i - 1], "assistant"))
        i--;                    /* an answer in several parts counts as one */
    while (i > t->first_message && is_role(s->all[i - 1], "user"))
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

/* Messages that a summary never replaces. */
static bool stays(const turn *t, const span *s, uint32_t i)
{
    return i >= s->cut || (is_role(s->all[i], "user") && (is_pinned(s->all[i]) || (i >= t->first_message && !is_summary(s->all[i]))));
}

/* A summary is not summarised again. */
static bool sums_up(const turn *t, const span *s)
{
    for (uint32_t i = 0; i < s->cut; i++)
        if (!stays(t, s, i) && !is_summary(s->all[i]))
            return true;
    return false;
}

/* The bytes that dropping this result would save; 0: it is no result, or it stays. */
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

/* The declared method; without one, dropping results if that is enough, because it costs nothing. Truncation only when the model refuses the length. */
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

/* After a compaction the next one waits until the conversation has grown by a quarter of the limit: what remains may exceed the limit by itself. */
bool compact_due(turn *t)
{
    const int64_t bound = t->def->a.compact_tokens;

    if (bound <= 0 || t->tokens < bound || t->at == PHASE_COMPACT || t->least_tokens < 0)
        return false;
    return (t->least_tokens == 0 || t->tokens - t->least_tokens >= (bound + 3) / 4) && compact_can(t, false);
}

/* ---- made shorter --------------------------------------------------------------------------------------------- */

/* The conversation changed as a whole: report it to readers. */
static void replaced(turn *t, const span *s, const pawl_value *all, const char *method)
{
    pawl_overwrite(t->s, "messages", all);
    t->messages_now = all;
    t->nmessages = (uint32_t)pawl_value_size(all);
    t->nadded = 0;
    t->messages_seen = 0;
    t->tokens = 0;
    t->least_tokens = -1;
    pawl_emit(t->s, "compact", pawl_pack(t->s, "{s:i,s:s,s:i}", "from", (int64_t)s->n, "method", method, "to", (int64_t)t->nmessages));
    pawl_emit(t->s, "cache_break", pawl_pack(t->s, "{s:s}", "cause", "compaction"));
}

void compact_continue(turn *t)
{
    if (t->at != PHASE_COMPACT)
        phase_move(t, PHASE_COMPACT);
    core_resend(&t->c);
    t->c.retries = 0;
    t->requests -= t->requests > 0;
    next_step(t, STEP_SEND);
}

/* False: no result can be dropped. */
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

/* False: no message can be truncated. */
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

/* Compaction without the model. `why`: the reason why the model does not summarise, for readers; NULL: it was not supposed to. */
static void shorten(turn *t, const char *why)
{
    const bool dropped = results_dropped(t), some = dropped || (t->overflowed && longest_cut(t));

    if (!some && t->overflowed) {
        next_end(t, "error", pawl_format(t->s, "LLM error: the conversation is too long for the model, and could not be made shorter: %s: %s",
                                         why != NULL ? why : "there is nothing to leave out", compact_sizes(t)));
        return;
    }
    if (why != NULL)
        pawl_emit(t->s, "status", pawl_pack(t->s, "{s:s}", "note", pawl_format(t->s, "The conversation could not be summed up, %s: %s",
                                            dropped ? "and results of tools were left out" :
                                            some ? "and what is longest was cut" : "and goes on as it is", why)));
    if (!some)
        t->least_tokens = t->tokens;   /* else every following request would try again */
    compact_continue(t);
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
    pawl_emit(t->s, "status", pawl_pack(t->s, "{s:b}", "compacting", 1));
    phase_move(t, PHASE_COMPACT);
}

void compact_begin(turn *t)
{
    const span s = span_of(t);

    if (shorter_of(t, &s, t->overflowed) != SHORTER_SUM) {
        shorten(t, NULL);
        return;
    }
    t->summary_upto = s.cut;
    t->c.retries = 0;
    compact_again(t);
}

/* ---- summed up -------------------------------------------------------------------------------------------------- */

/* The texts of a message; NULL: none. */
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

/* The new conversation: the summary, pinned messages, what the user said in this turn, and the open part. */
static void sum_up(turn *t, const char *summary)
{
    span s = span_of(t);
    const char *text = pawl_format(t->s, "Summary of the conversation so far:\n\n%s", summary);
    const pawl_value *all = pawl_pack(t->s, "[{s:s,s:s,s:b}]", "content", text, "role", "user", "summary", 1);
    uint32_t begun = 1;

    s.cut = t->summary_upto < s.n ? t->summary_upto : s.n;
    for (uint32_t i = 0; i < s.n; i++) {
        if (!stays(t, &s, i))
            continue;
        all = value_push(t->mem, all, s.all[i]);
        begun += i < t->first_message;
    }
    t->first_message = begun;
    replaced(t, &s, all, "summary");
}

void on_summary(turn *t)
{
    const bool fits = !reply_too_long(t);
    const char *summary = t->h->outcome == PAWL_OUTCOME_DONE && fits ? summary_of(t, t->h->value) : NULL;
    const char *failure, *why = t->h->outcome == PAWL_OUTCOME_DONE && fits ? "there is no summary in the answer" : !fits ? "it is too long for that, too"
        : reply_error(t);
    core_action then;

    if (summary == NULL) {
        failure = pawl_format(t->s, "LLM error: %s", why);
        if (!fits || !retry_later(t, &failure, &then))
            shorten(t, why);
        return;
    }
    sum_up(t, summary);
    if (!lifecycle_start(t, "compact", NULL))
        compact_continue(t);
}
