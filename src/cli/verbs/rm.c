/* rm.c - `pawl rm`: removes runs with all that is stored of them.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. A run is held by its lease while it is removed. */
#include "app/anchor.h"
#include "app/transcript.h"
#include "cli/status_word.h"
#include "cli/verbs.h"

/* Whether the parent of the run exists and has not ended: then it waits for this run. */
static bool parent_waits(pawl_store *s, const char *parent)
{
    char run[RUN_ID_BYTES] = "";
    size_t n = strcspn(parent, "~");
    pawl_head head;

    if (n >= sizeof run)
        return false;
    memcpy(run, parent, n);
    return s->verbs->head(s, run, &head, NULL) == PAWL_OK && !head.over;
}

static pawl_code may_go(pawl_store *s, const char *run, const pawl_head *head, pawl_err *err)
{
    char parent[2 * RUN_ID_BYTES];

    if (!head->over)
        return fail(err, PAWL_CONFLICT, "%.128s is %s and not over; `pawl cancel` ends it, --force removes it as it is", run,
                    run_word(s, head));
    if (head->parent == NULL)
        return PAWL_OK;
    snprintf(parent, sizeof parent, "%s", head->parent);
    return !parent_waits(s, parent) ? PAWL_OK
           : fail(err, PAWL_CONFLICT, "%.128s: its parent run, %.60s, is not over; --force removes it anyway", run, parent);
}

static pawl_code remove_one(cli_call *c, pawl_store *s, app_anchor *anchor, const char *given, pawl_err *err)
{
    char run[RUN_ID_BYTES];
    pawl_head head;
    uint64_t fence;
    pawl_code rc = cli_run_id(c, s, given, run, err);

    if (rc != PAWL_OK || (rc = hold_run(s, run, &head, err)) != PAWL_OK)
        return rc;
    fence = head.fence;
    if (cli_given(c, "force") == NULL)
        rc = may_go(s, run, &head, err);
    if (rc == PAWL_OK)
        rc = anchor_removed(anchor, s, run, err);
    if (rc == PAWL_OK)
        rc = s->verbs->remove(s, run, fence, err);
    if (rc != PAWL_OK)
        hold_drop(s, run, fence);
    else
        cli_note(c, "%s is removed", run);
    if (rc == PAWL_OK)
        transcript_forget(c->app.store, run);
    return rc;
}

/* A run that cannot be removed does not stop the others. */
static int rm_run(cli_call *c)
{
    int code = EXIT_DONE, one;
    pawl_store *s = cli_store_of(c, NULL, NULL, &code);
    app_anchor *anchor = NULL;
    pawl_err why = { PAWL_OK, "" };

    if (s == NULL)
        return code;
    if (anchor_open(&c->app, &anchor, &why) != PAWL_OK) {
        pawl_store_free(s);
        return cli_fail(c, why.code, &why);
    }
    for (size_t i = 0; i < c->nargs; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_code rc = remove_one(c, s, anchor, c->args[i], &err);

        one = rc == PAWL_OK ? EXIT_DONE : cli_fail(c, rc, &err);
        code = code == EXIT_DONE ? one : code;
    }
    anchor_close(anchor);
    pawl_store_free(s);
    return code;
}

static const cli_option options[] = {
    { "force", NULL, "also a run that is not over; its effects are not undone" },
    { "anchor", "FILE", "record in FILE, or by a command ('|CMD'), that they are removed; else PAWL_ANCHOR" },
    { NULL, NULL, NULL },
};

const cli_verb verb_rm = {
    .name = "rm", .form = "RUN...", .what = "remove finished runs", .options = options,
    .least = 1, .most = UINT8_MAX, .store = true, .acts = true, .run = rm_run,
    .about = "Removes everything that is stored of a run; its id is free afterwards. A run\n"
             "that a process holds is not removed (exit 6), nor a run that is not over. Child\n"
             "runs are separate runs, and stay. `pawl prune` makes the file smaller.",
    .example = "pawl rm survey-7k2m\npawl export survey-7k2m --out survey.jsonl && pawl rm survey-7k2m",
};
