/* asker.c - whether somebody who asks a server may see a run (N4).
 *
 * Called by the server's loop and by the verbs that it performs, each with a store handle of its own. A run that does not fit is as if it were not there:
 * both take the same reads. */
#include "app/tokens.h"
#include "host/open_questions.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
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

/* The topmost parent of `run`, into `top`. False: one of them is gone, or is another run with its id; then nobody with limits sees it. */
static bool top_of(pawl_store *store, char top[ASKS_RUN_BYTES], pawl_head *head, pawl_code *rc, pawl_err *err)
{
    for (int i = 0; i < ASKS_DEPTH_MAX; i++) {
        uint64_t life;
        const char *at;

        if ((*rc = store->verbs->head(store, top, head, err)) != PAWL_OK)
            return false;
        if (head->parent == NULL)
            return true;
        at = strchr(head->parent, '~');
        life = at != NULL ? strtoull(at + 1, NULL, 16) : 0;
        asks_run_of(head->parent, top);
        if ((*rc = store->verbs->head(store, top, head, err)) != PAWL_OK || head->life != life)
            return false;
    }
    return false;
}

pawl_code asker_sees(const asker *who, pawl_store *store, const char *run, bool *sees, pawl_err *err)
{
    base_look l = { .who = who };
    char top[ASKS_RUN_BYTES];
    pawl_head head = { 0 };
    pawl_err why = { PAWL_OK, "" };
    pawl_code rc = PAWL_OK, read = PAWL_OK;
    bool found, machine;

    *sees = false;
    if (strlen(run) >= sizeof top)
        return PAWL_OK;
    snprintf(top, sizeof top, "%s", run);
    if (!asker_limited(who)) {
        rc = store->verbs->head(store, run, &head, &why);
        *sees = rc == PAWL_OK;
    } else {
        found = top_of(store, top, &head, &rc, &why);
        machine = found && (who->nmachines == 0 || among(who->machines, who->nmachines, head.machine));
        read = store->verbs->load(store, top, see_base, &l, &why);
        *sees = found && machine && l.fits && read == PAWL_OK;
        rc = rc == PAWL_OK ? read : rc;
    }
    if (rc == PAWL_OK || rc == PAWL_GONE || rc == PAWL_INVALID)
        return PAWL_OK;
    return fail(err, rc, "%s", why.text);
}
