/* asker.c - whether somebody who asks a server may see a run (N4).
 *
 * Called by the server's loop and by the verbs that it performs, each with a store handle of its own. A run that does not fit is as if it were not there.
 * Each head is read once, and of a journal the base alone. */
#include "app/tokens.h"
#include "host/open_questions.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

bool asker_limited(const asker *who) { return who->nmachines > 0 || who->nlabels > 0; }

static bool among(const char *const *all, size_t n, const char *one)
{
    bool found = false;

    for (size_t i = 0; i < n && !found; i++)
        found = one != NULL && strcmp(all[i], one) == 0;
    return found;
}

typedef struct base_look { const asker *who; bool fits; } base_look;

static bool see_base(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line)
{
    base_look *l = ctx;
    store_base base;
    arena mem;

    (void)seq;
    if (kind != PAWL_LINE_BASE)
        return false;
    arena_init(&mem, NULL, 1024);
    l->fits = store_base_read(&mem, line, &base, NULL) == PAWL_OK;
    for (size_t i = 0; i < l->who->nlabels && l->fits; i++)
        l->fits = among(base.labels, base.nlabels, l->who->labels[i]);
    arena_free(&mem);
    return false;
}

/* Of the last run that was seen on the way up. */
typedef struct top_look { const asker *who; char run[ASKS_RUN_BYTES]; bool machine; } top_look;

static bool see_top(void *ctx, const pawl_head *head)
{
    top_look *t = ctx;

    snprintf(t->run, sizeof t->run, "%s", head->run);
    t->machine = t->who->nmachines == 0 || among(t->who->machines, t->who->nmachines, head->machine);
    return true;
}

/* By the topmost run that was seen. Its base is read only if a label can decide. */
static pawl_code top_fits(const top_look *t, pawl_store *store, bool *sees, pawl_err *err)
{
    base_look l = { .who = t->who, .fits = t->machine };
    pawl_code rc = PAWL_OK;

    if (t->machine && t->who->nlabels > 0)
        rc = store->verbs->load(store, t->run, see_base, &l, err);
    *sees = rc == PAWL_OK && l.fits;
    return rc;
}

static pawl_code seen_or_not(pawl_code rc, const pawl_err *why, pawl_err *err)
{
    return rc == PAWL_OK || rc == PAWL_GONE || rc == PAWL_INVALID ? PAWL_OK : fail(err, rc, "%s", why->text);
}

pawl_code asker_sees(const asker *who, pawl_store *store, const char *run, bool *sees, pawl_err *err)
{
    pawl_head head = { 0 };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc;

    *sees = false;
    if (strlen(run) >= ASKS_RUN_BYTES || strchr(run, '~') != NULL)      /* the id of no run */
        return PAWL_OK;
    rc = store->verbs->head(store, run, &head, &why);
    return rc == PAWL_OK ? asker_sees_head(who, store, &head, sees, err) : seen_or_not(rc, &why, err);
}

pawl_code asker_sees_head(const asker *who, pawl_store *store, const pawl_head *head, bool *sees, pawl_err *err)
{
    top_look top = { .who = who };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK;

    *sees = !asker_limited(who);
    if (*sees)
        return PAWL_OK;
    (void)see_top(&top, head);
    if (head->parent != NULL)
        rc = asks_climb(store, head->parent, see_top, &top, &why);
    if (rc == PAWL_OK)
        rc = top_fits(&top, store, sees, &why);
    return seen_or_not(rc, &why, err);
}
