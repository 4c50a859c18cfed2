/* binding.c - the machines and handlers that were added to an engine, by name and by effect.
 *
 * Owns the lists of both; an effect has the class that the machines declare for it. Called on the driving thread, without a lock: machines and
 * handlers are added before the engine drives runs, or between two calls that drive them.
 *
 * Invariants: no two machines of an engine have one name; each handler has the class that every machine declares which declares its effect. */
#include "engine/command/handler.h"
#include "engine/scheduler/scheduler.h"
#include "kernel/machine.h"
#include "kernel/names.h"

#include <string.h>

/* ---- machines ---------------------------------------------------------------------------------------------------- */

/* A machine that declares another class for the effect (default: at-least-once); NULL: all agree. */
static const pawl_machine *class_differs(const pawl_engine *e, const char *effect, pawl_class cls, pawl_class *declared)
{
    bool said = false;

    for (size_t i = 0; i <= e->nmore; i++) {
        const pawl_machine *m = i == 0 ? e->m : e->more[i - 1];

        if (!pawl_machine_effect(m, effect, declared))
            continue;
        if (*declared != cls)
            return m;
        said = true;
    }
    *declared = PAWL_CLASS_AT_LEAST_ONCE;
    return said || cls == PAWL_CLASS_AT_LEAST_ONCE ? NULL : e->m;
}

const pawl_machine *machine_named(const pawl_engine *e, const char *name)
{
    if (name != NULL && strcmp(e->m->name, name) == 0)
        return e->m;
    for (size_t i = 0; name != NULL && i < e->nmore; i++)
        if (strcmp(e->more[i]->name, name) == 0)
            return e->more[i];
    return NULL;
}

pawl_code pawl_engine_add(pawl_engine *e, pawl_machine *m, pawl_err *err)
{
    pawl_code rc = PAWL_OK;
    pawl_class declared;

    if (e == NULL || m == NULL) {
        pawl_machine_free(m);
        return code_before(err);
    }
    if (machine_named(e, m->name) != NULL)
        rc = fail(err, PAWL_CONFLICT, "%s: the engine has a machine of that name", m->name);
    for (const handler *h = e->handlers; h != NULL && rc == PAWL_OK; h = h->next)
        if (pawl_machine_effect(m, h->name, &declared) && declared != h->cls)
            rc = fail(err, PAWL_INVALID, "%s: effect \"%s\" is declared %s, and its handler is %s", m->name, h->name, pawl_class_name(declared),
                      pawl_class_name(h->cls));
    if (rc == PAWL_OK && !mem_room(&e->alloc, (void **)&e->more, &e->more_cap, e->nmore, sizeof *e->more))
        rc = fail(err, PAWL_NOMEM, "%s: no memory for another machine", m->name);
    if (rc == PAWL_OK)
        e->more[e->nmore++] = m, backlog_clear(e);
    else
        pawl_machine_free(m);
    return rc;
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

const handler *handler_of(const pawl_engine *e, const char *effect)
{
    for (const handler *h = e->handlers; h != NULL && effect != NULL; h = h->next)
        if (strcmp(h->name, effect) == 0)
            return h;
    return NULL;
}

pawl_code pawl_engine_effect(pawl_engine *e, const char *effect, pawl_handler_fn *fn, void *arg, pawl_class cls, pawl_err *err)
{
    size_t n = effect == NULL ? 0 : strlen(effect) + 1;
    const pawl_machine *wrong;
    pawl_class declared;
    handler *h;

    if (e == NULL)
        return PAWL_INVALID;
    if (!name_valid(effect) || fn == NULL || (int)cls < 0 || cls > PAWL_CLASS_ONCE)
        return fail(err, PAWL_INVALID, "\"%.64s\": a handler needs the name of its effect, a function, and a class", n > 0 ? effect : "");
    if ((wrong = class_differs(e, effect, cls, &declared)) != NULL)
        return fail(err, PAWL_INVALID, "%s: effect \"%s\" is declared %s, and its handler is %s", pawl_machine_name(wrong), effect,
                    pawl_class_name(declared), pawl_class_name(cls));
    if ((h = mem_new(&e->alloc, sizeof *h + n)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory for a handler");
    h->fn = fn;
    h->arg = arg;
    h->cls = cls;
    memcpy(h->name, effect, n);
    h->next = e->handlers;
    e->handlers = h;
    backlog_clear(e);
    return PAWL_OK;
}
