/* effect.c - declares effects of a flow's machine: class, retry, timeouts (E5). Called before the machine is used, on one thread. */
#include "flow/flow.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <math.h>
#include <string.h>

/* Extends the machine's hash by the new declaration; `limits` NULL: the declaration is not an effect. */
static bool hash_more(pawl_machine *m, const char *what, const char *name, const pawl_limits *limits)
{
    bool good;
    buf b;

    buf_init(&b, &m->alloc);
    buf_put(&b, m->hash_hex, HASH_HEX);
    buf_text(&b, ",[");
    buf_text(&b, what);
    canon_string(&b, name, strlen(name));
    if (limits != NULL) {
        buf_char(&b, ',');
        limits_code(&b, limits);
    }
    buf_char(&b, ']');
    good = !b.failed;
    if (good) {
        hash_of(b.data, b.size, &m->hash);
        hash_hex(&m->hash, m->hash_hex);
    }
    buf_free(&b);
    return good;
}

pawl_code pawl_flow_effect(pawl_machine *m, const char *effect, const pawl_limits *limits, pawl_err *err)
{
    effect_decl *all;

    if (m == NULL || limits == NULL || !name_valid(effect))
        return fail(err, PAWL_INVALID, "\"%.64s\": an effect has a name and limits", effect != NULL ? effect : "");
    if (machine_limits(m, effect) != NULL)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\" is declared already", m->name, effect);
    if ((int)limits->cls < 0 || limits->cls > PAWL_CLASS_ONCE || !isfinite(limits->retry.factor) || limits->retry.factor < 0)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\": a class, and for its retry a factor from 0 on", m->name, effect);
    if (limits_error(limits) != NULL)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\": %s", m->name, effect, limits_error(limits));
    if (!m->declares)
        arena_init(&m->declared, &m->alloc, 256);
    m->declares = true;
    m->declared.failed = false;
    all = arena_get(&m->declared, (m->neffects + 1) * sizeof *all);
    if (all != NULL) {
        if (m->neffects > 0)
            memcpy(all, m->effects, m->neffects * sizeof *all);
        all[m->neffects] = (effect_decl){ .name = arena_text(&m->declared, effect), .limits = *limits };
        all[m->neffects].limits.inverse = arena_text(&m->declared, limits->inverse);
        all[m->neffects].limits.on_unknown = arena_text(&m->declared, limits->on_unknown);
    }
    if (m->declared.failed || !hash_more(m, "", all[m->neffects].name, &all[m->neffects].limits))
        return fail(err, PAWL_NOMEM, "%s: no memory for effect \"%s\"", m->name, effect);
    m->effects = all;
    m->neffects++;
    return PAWL_OK;
}

pawl_code pawl_flow_output(pawl_machine *m, const char *name, pawl_err *err)
{
    const machine_channel *mc = m != NULL && name != NULL ? machine_channel_find(m, "", name) : NULL;

    if (mc == NULL || m->output != NULL)
        return fail(err, PAWL_INVALID, "%s: \"%.64s\": its output is one of its channels, and is said once", m != NULL ? m->name : "no machine",
                    name != NULL ? name : "");
    m->output = mc->c.name;
    return hash_more(m, "\"output\",", name, NULL) ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory for its output", m->name);
}

pawl_code pawl_flow_interrupt(pawl_machine *m, const char *signal, pawl_err *err)
{
    if (m == NULL || !name_valid(signal) || m->interrupt != NULL)
        return fail(err, PAWL_INVALID, "%s: \"%.64s\": the signal that interrupts it has a name, and is said once", m != NULL ? m->name : "no machine",
                    signal != NULL ? signal : "");
    if (!m->declares)
        arena_init(&m->declared, &m->alloc, 256);
    m->declares = true;
    m->declared.failed = false;
    m->interrupt = arena_text(&m->declared, signal);
    return m->interrupt != NULL && hash_more(m, "\"interrupt\",", signal, NULL) ? PAWL_OK : fail(err, PAWL_NOMEM, "%s: no memory for a name", m->name);
}
