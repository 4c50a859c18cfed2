/* asker.c - whether somebody who asks a server may see a run (N4).
 *
 * Called by the server's loop and by the verbs that it performs, each with a store handle of its own. A run that does not fit is as if it were not there:
 * both take the same reads. */
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

pawl_code asker_sees(const asker *who, pawl_store *store, const char *run, bool *sees, pawl_err *err)
{
    base_look l = { .who = who };
    top_look top = { .who = who };
    pawl_head head = { 0 };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc, read;

    *sees = false;
    if (strlen(run) >= sizeof top.run || strchr(run, '~') != NULL)      /* the id of no run */
        return PAWL_OK;
    snprintf(top.run, sizeof top.run, "%s", run);
    if (!asker_limited(who)) {
        rc = store->verbs->head(store, run, &head, &why);
        *sees = rc == PAWL_OK;
    } else {
        rc = asks_climb(store, run, see_top, &top, &why);
        read = store->verbs->load(store, top.run, see_base, &l, &why);
        *sees = rc == PAWL_OK && top.machine && l.fits && read == PAWL_OK;
        rc = rc == PAWL_OK ? read : rc;
    }
    if (rc == PAWL_OK || rc == PAWL_GONE || rc == PAWL_INVALID)
        return PAWL_OK;
    return fail(err, rc, "%s", why.text);
}
