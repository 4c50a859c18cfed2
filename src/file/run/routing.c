/* routing.c - where a node of an agent file leads, on the merged state.
 *
 * Called by the graph, in a step; pure. Conditions that are plain paths are the graph's own route. jq needs a command, and a route can make none, so
 * such a node leads to a node of Pawl, "review--next", which evaluates and routes. */
#include "file/expr/scope.h"
#include "file/read.h"

static const char *target(const char *name)
{
    return strcmp(name, "end") == 0 ? PAWL_END : name;
}

static const char *type_text(const pawl_value *v)
{
    static const char *const texts[] = { "nothing", "null", "a boolean", "a number", "a number", "a text", "a list", "a map" };

    return texts[pawl_value_type(v)];
}

/* Sends one task for each element. False: it has failed. */
static bool send_each(scope *sc, const file_node *n, bool *any)
{
    const pawl_value *all = scope_value(sc, n->each_of), *one;
    pawl_iter it = pawl_iter_of(all);

    *any = pawl_value_size(all) > 0;
    if (all == NULL)
        return false;
    if (pawl_value_type(all) != PAWL_TYPE_ARRAY) {
        scope_fail(sc, PAWL_INVALID, pawl_format(sc->s, "`each`: `%.*s` is %s, and no list", shown(n->each_of->text, strlen(n->each_of->text)),
                                                 n->each_of->text,
                                               type_text(all)));
        return false;
    }
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        pawl_send(sc->s, n->each_node, pawl_pack(sc->s, "{s:v}", n->each_as, one));
    return true;
}

/* The target of the first true condition; NULL: none, or it has failed. */
static const char *way_of(scope *sc, const file_node *n)
{
    for (size_t i = 0; i < n->nways && sc->failed == PAWL_OK; i++)
        if (n->ways[i].when == NULL || value_true(scope_value(sc, n->ways[i].when)))
            return sc->failed != PAWL_OK ? NULL : target(n->ways[i].to);
    return NULL;
}

const char *node_route(pawl_step *s, void *arg)
{
    const file_node *n = arg;
    scope sc = { .s = s, .n = n };
    const pawl_value *args = pawl_args(s);
    const char *to = NULL;
    bool any = false;

    if (n->chooses) {
        const char *choice = pawl_format(s, "%s" CHOICE_SUFFIX, n->name);

        if (args == NULL)
            return choice;
        pawl_send(s, choice, args);
        return NULL;
    }
    if (n->each_of != NULL)
        (void)send_each(&sc, n, &any);
    if (!any && sc.failed == PAWL_OK)
        to = n->nways > 0 ? way_of(&sc, n) : n->next.n > 0 ? target(n->next.names[0].name) : NULL;
    if (sc.failed != PAWL_OK)
        pawl_fail(s, sc.failed, "%s: %s", n->name, sc.why != NULL ? sc.why : "no memory");
    return to;
}

static pawl_code choose(scope *sc)
{
    const file_node *n = sc->n;
    const char *to;
    bool any = false;
    pawl_code rc;

    if (n->each_of != NULL) {
        if (!send_each(sc, n, &any))
            return sc->failed;
        if (any)
            return pawl_goto(sc->s, PAWL_END);
    }
    for (size_t i = 0; i < n->next.n; i++)
        if ((rc = pawl_goto(sc->s, target(n->next.names[i].name))) != PAWL_OK)
            return rc;
    if (n->nways == 0)
        return PAWL_OK;
    if ((to = way_of(sc, n)) != NULL)
        return pawl_goto(sc->s, to);
    return scope_fail(sc, PAWL_INVALID, "none of its ways holds, and there is no `else`");
}

pawl_code choice_visit(pawl_step *s, void *arg)
{
    const file_node *n = arg;
    scope sc;
    pawl_code rc = scope_begin(&sc, s, n);

    if (rc == PAWL_OK)
        rc = choose(&sc);
    return sc.failed == PAWL_OK ? rc : pawl_fail(s, sc.failed, "%s: %s", n->choice_of->name, sc.why != NULL ? sc.why : "no memory");
}
