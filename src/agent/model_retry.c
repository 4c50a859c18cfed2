/* model_retry.c - failed requests to a model: the reason, and whether the request is sent again (A2). Called by turn.c and compact.c; pure. */
#include "agent/agent.h"

bool reply_too_long(const turn *t)
{
    static const char begins[] = "Context exceeded";
    const pawl_value *v = t->h->value;
    const char *stop = pawl_value_string(pawl_value_get(v, "stop")), *code = pawl_value_string(pawl_value_get(v, "code"));
    const char *text = pawl_value_string(pawl_value_get(v, "text"));

    if (t->h->outcome == PAWL_OUTCOME_DONE)
        return stop != NULL && strcmp(stop, "context_exceeded") == 0;
    return t->h->outcome == PAWL_OUTCOME_ERROR && code != NULL && pawl_code_named(code) == PAWL_LIMIT && text != NULL &&
           strncmp(text, begins, sizeof begins - 1) == 0;
}

/* Only transient errors are retried (A2). */
static bool permanent(const turn *t, const pawl_value *v)
{
    const char *code = pawl_value_string(pawl_value_get(v, "code"));
    const pawl_code rc = pawl_code_named(code);

    return code != NULL && t->h->outcome == PAWL_OUTCOME_ERROR && rc != PAWL_TRANSIENT && rc != PAWL_TIMEOUT && rc != PAWL_IO;
}

const char *reply_error(turn *t)
{
    const char *text = pawl_value_string(pawl_value_get(t->h->value, "text"));

    return t->h->outcome == PAWL_OUTCOME_TIMEOUT ? "Request timed out" : text != NULL ? text_cut(t, text, 1000) : "it failed";
}

/* Before the next attempt, when `failed` of them have failed. A longer Retry-After counts. */
static int64_t delay_before(turn *t, uint32_t failed)
{
    const int64_t after = pawl_value_int(pawl_value_get(t->h->value, "retry_after_ms"));
    int64_t delay = t->def->a.retry_initial_ms;

    for (uint32_t i = 1; i < failed && delay < t->def->a.retry_max_ms; i++)
        delay *= 2;
    if (delay > t->def->a.retry_max_ms)
        delay = t->def->a.retry_max_ms;
    if (t->def->a.retry_total_ms > 0)       /* so that many runs do not come back at once */
        delay = delay / 2 + (int64_t)(pawl_random(t->s) % (uint64_t)(delay - delay / 2 + 1));
    return after > delay ? after : delay;
}

static void retry_show(turn *t, const char *why, int64_t delay)
{
    const pawl_value *status = pawl_value_get(t->h->value, "status"), *v;

    v = pawl_pack(t->s, "{s:i,s:s,s:i}", "again_in_ms", delay, "error", why, "retries", (int64_t)t->c.retries);
    if (t->def->a.retry_total_ms > 0)
        v = value_with(t->mem, v, "max_attempts", value_int(t->mem, t->c.max_retries));
    if (t->def->a.retry_total_ms > 0 && pawl_value_int(status) > 0)
        v = value_with(t->mem, v, "status", status);
    pawl_emit(t->s, "status", v);
}

bool retry_later(turn *t, const char **why, core_action *then)
{
    const pawl_value *v = t->h->value;
    const uint32_t made = t->c.retries + 1;
    const int64_t delay = delay_before(t, made), total = t->def->a.retry_total_ms, now = pawl_now(t->s);
    bool late;

    if (made == 1)
        t->failed_ms = total > 0 ? now : 0;
    late = total > 0 && delay > total - (now - t->failed_ms);
    *then = core_feed(&t->c, &(core_input){ .event = CORE_LLM_ERROR, .permanent = permanent(t, v) || late }, NULL);
    if (t->c.at == CORE_ERROR) {
        retry_show(t, *why, delay);
        pawl_flow_sleep(t->s, "retry", delay);
        t->again_ms = total > 0 ? now + delay : 0;
        t->again_why = total > 0 ? *why : NULL;
        t->retry_summary = t->at == PHASE_COMPACT;
        phase_move(t, PHASE_RETRY);
        return true;
    }
    if (late && !permanent(t, v) && made < t->c.max_retries)
        *why = pawl_format(t->s, "%s (attempts: %u; the next would begin later than %lld s after the first failure, `retry.total`)", *why, (unsigned)made,
                           (long long)(total / 1000));
    else if (total > 0 && made > 1)
        *why = pawl_format(t->s, "%s (attempts: %u)", *why, (unsigned)made);
    return false;
}
