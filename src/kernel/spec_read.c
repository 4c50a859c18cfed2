/* spec_read.c - reads the SPEC of a command or a wait. See spec.h. Any caller that has a call. */
#include "kernel/names.h"
#include "kernel/spec.h"

#include <string.h>

void spec_limits(const pawl_value *spec, pawl_limits *out)
{
    const pawl_value *retry = pawl_value_get(spec, "retry"), *t = pawl_value_get(spec, "timeouts"), *cost = pawl_value_get(spec, "cost");
    int cls = name_index(class_names, 5, pawl_value_string(pawl_value_get(spec, "class")));

    *out = (pawl_limits){ .cls = (pawl_class)(cls < 0 ? 0 : cls) };
    out->retry.max_attempts = (uint32_t)pawl_value_uint(pawl_value_get(retry, "max_attempts"));
    out->retry.initial_ms = (uint32_t)pawl_value_uint(pawl_value_get(retry, "initial_ms"));
    out->retry.max_ms = (uint32_t)pawl_value_uint(pawl_value_get(retry, "max_ms"));
    out->retry.factor = pawl_value_real(pawl_value_get(retry, "factor"));
    out->retry.jitter = pawl_value_bool(pawl_value_get(retry, "jitter"));
    out->attempt_timeout_ms = (uint32_t)pawl_value_uint(pawl_value_get(t, "attempt_ms"));
    out->heartbeat_ms = (uint32_t)pawl_value_uint(pawl_value_get(t, "heartbeat_ms"));
    out->total_timeout_ms = (uint32_t)pawl_value_uint(pawl_value_get(t, "total_ms"));
    out->inverse = pawl_value_string(pawl_value_get(spec, "inverse"));
    out->on_unknown = pawl_value_string(pawl_value_get(spec, "on_unknown"));
    if (cost != NULL && usage_error(cost) == NULL)
        out->cost = (pawl_cost){ .tokens = pawl_value_int(pawl_value_get(cost, "tokens")), .micros = pawl_value_int(pawl_value_get(cost, "micros")),
                                 .calls = pawl_value_int(pawl_value_get(cost, "calls")) };
}

const pawl_value *spec_get(pawl_step *s, const call *c, const char *member)
{
    return pawl_value_get(c->at == CALL_IN_DOUBT ? value_read(&s->mem, c->doubt, strlen(c->doubt), "a spec", NULL)
                                   : value_read(&s->mem, c->spec, c->spec_size, "a spec", NULL), member);
}
