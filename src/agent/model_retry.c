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

    return t->h->outcome == PAWL_TIMED_OUT ? "Request timed out" : text != NULL ? text_cut(t, text, 1000) : "it failed";
}

bool retry_later(turn *t, const char *why, core_action *then)
{
    const pawl_value *v = t->h->value;
    int64_t delay = t->def->a.retry_initial_ms;

    *then = core_feed(&t->c, &(core_input){ .event = CORE_LLM_ERROR, .permanent = permanent(t, v) }, NULL);
    if (t->c.at != CORE_ERROR)
        return false;
    for (uint32_t i = 1; i < t->c.retries && delay < t->def->a.retry_max_ms; i++)
        delay *= 2;
    if (delay > t->def->a.retry_max_ms)
        delay = t->def->a.retry_max_ms;
    if (pawl_value_int(pawl_value_get(v, "retry_after_ms")) > delay)
        delay = pawl_value_int(pawl_value_get(v, "retry_after_ms"));
    pawl_emit(t->s, "status", pawl_pack(t->s, "{s:i,s:s,s:i}", "again_in_ms", delay, "error", why, "retries", (int64_t)t->c.retries));
    pawl_flow_sleep(t->s, "retry", delay);
    t->retry_summary = t->at == PHASE_COMPACT;
    phase_move(t, PHASE_RETRY);
    return true;
}
