/* prune.c - `pawl prune`: removes old runs, or the beginning of a journal, and shrinks the file.
 *
 * Called by main.c on the main thread. Owns nothing that outlives the call. A run is held by its lease while it is pruned. */
#include "app/anchor.h"
#include "app/transcript.h"
#include "cli/verbs.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SWEEP_RUNS = 1000, PAGE_RUNS = 256 };

typedef struct pruning {
    cli_call *c;
    app_anchor *anchor;         /* NULL: heads are not anchored */
    pawl_store *s;
    int64_t before_ms;          /* --older-than: runs that changed last before this */
    bool dry;
    uint64_t last;              /* the number of the run seen last */
    size_t seen, n, kept;       /* of a page: runs seen; in all: runs removed, and old runs that were kept */
    size_t nold;
    char old[PAGE_RUNS][RUN_ID_BYTES];
} pruning;

/* ---- old ones ------------------------------------------------------------------------------------- */

static bool see(void *ctx, const pawl_head *h)
{
    pruning *p = ctx;

    p->seen++;
    p->last = h->no;
    if (h->over && h->parent == NULL && h->changed_ms < p->before_ms)
        snprintf(p->old[p->nold++], RUN_ID_BYTES, "%s", h->run);
    return true;
}

/* Checked again under its lease: somebody may have retried it meanwhile. */
static pawl_code remove_old(pruning *p, const char *run, pawl_err *err)
{
    pawl_head head;
    uint64_t fence;
    pawl_code rc = hold_run(p->s, run, &head, err);

    if (rc != PAWL_OK)
        return rc;
    fence = head.fence;
    rc = head.over && head.changed_ms < p->before_ms ? anchor_removed(p->anchor, p->s, run, err) : PAWL_IGNORED;
    if (rc == PAWL_OK)
        rc = p->s->verbs->remove(p->s, run, fence, err);
    if (rc != PAWL_OK)
        hold_drop(p->s, run, fence);
    else
        transcript_forget(p->c->app.store, run);
    return rc;
}

static pawl_code old_go(pruning *p, pawl_err *err)
{
    pawl_code rc = PAWL_OK, one;

    do {
        const pawl_filter f = { .before = p->last, .limit = PAGE_RUNS };

        p->seen = p->nold = 0;
        rc = p->s->verbs->list(p->s, &f, see, p, err);
        for (size_t i = 0; rc == PAWL_OK && i < p->nold; i++) {
            pawl_err why = { PAWL_OK, "" };

            if (p->dry)
                printf("%s\n", p->old[i]);
            one = p->dry ? PAWL_OK : remove_old(p, p->old[i], &why);
            p->n += one == PAWL_OK;
            p->kept += one == PAWL_HELD;
            if (one < 0 && one != PAWL_HELD && one != PAWL_GONE && one != PAWL_FENCED)
                rc = fail(err, one, "%s", why.text);
        }
    } while (rc == PAWL_OK && p->seen == PAGE_RUNS);
    return rc;
}

/* Where the store cannot say, the run counts as there. */
static bool is_there(void *ctx, const char *run)
{
    const pruning *p = ctx;
    pawl_err why = {0};
    pawl_head head;

    return p->s->verbs->head(p->s, run, &head, &why) != PAWL_GONE;
}

static pawl_code swept(pruning *p, pawl_err *err)
{
    size_t n = 0;
    pawl_code rc;

    do {
        rc = pawl_store_sweep(p->s, SWEEP_RUNS, &n, err);
        p->n += n;
    } while (rc == PAWL_OK && n == SWEEP_RUNS);
    transcript_sweep(p->c->app.store, is_there, p);
    return rc;
}

/* ---- one journal -------------------------------------------------------------------------------------- */

static pawl_code journal_from(pawl_store *s, const char *run, uint64_t fence, uint64_t seq, pawl_err *err)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_bytes base;
    pawl_code rc = step == NULL ? fail(err, PAWL_NOMEM, "no memory to prune %.128s", run) : pawl_history_state(s, run, seq, &st, err);

    if (rc == PAWL_OK && (rc = pawl_state_prune(st, step, &base, err)) == PAWL_OK)
        rc = s->verbs->prune(s, run, fence, seq, base, err);
    pawl_state_free(st);
    pawl_step_free(step);
    return rc;
}

/* History that is erased does not come back: a person says yes, here or by --yes. */
static bool sure(const cli_call *c, const char *run, uint64_t seq, pawl_err *err)
{
    char line[16] = "";

    if (cli_given(c, "yes") != NULL)
        return true;
    if (!c->err_tty || !isatty(STDIN_FILENO)) {
        fail(err, PAWL_INVALID, "%.128s: its journal before entry %llu would be erased permanently: add --yes", run, (unsigned long long)seq);
        return false;
    }
    fprintf(stderr, "Erase the journal of %s before entry %llu? No log, fork or replay reaches back behind it then. [y]es, [n]o: ", run,
            (unsigned long long)seq);
    if (fgets(line, sizeof line, stdin) != NULL && (*line == 'y' || *line == 'Y'))
        return true;
    fail(err, PAWL_INVALID, "%.128s: nothing is erased", run);
    return false;
}

static pawl_code one_journal(pruning *p, const char *given, uint64_t seq, pawl_err *err)
{
    char run[RUN_ID_BYTES];
    pawl_head head;
    uint64_t fence;
    pawl_code rc = cli_run_id(p->c, p->s, given, run, err);

    if (rc != PAWL_OK || (rc = hold_run(p->s, run, &head, err)) != PAWL_OK)
        return rc;
    fence = head.fence;
    seq = seq == 0 ? head.seq : seq;
    if (!sure(p->c, run, seq, err)) {
        hold_drop(p->s, run, fence);
        return PAWL_INVALID;
    }
    rc = seq == 0 ? fail(err, PAWL_INVALID, "%.128s has no entry yet: there is nothing to prune", run) : anchor_pruned(p->anchor, p->s, run, err);
    if (rc == PAWL_OK)
        rc = journal_from(p->s, run, fence, seq, err);
    hold_drop(p->s, run, fence);
    if (rc == PAWL_OK && !p->c->json)
        cli_note(p->c, "%s now begins at entry %llu", run, (unsigned long long)seq);
    return rc;
}

/* ---- the verb ------------------------------------------------------------------------------------------- */

static int64_t file_bytes(const cli_call *c)
{
    const char *name = cli_store_name(c);
    struct stat st;

    return strncmp(name, "sqlite:", 7) == 0 && stat(name + 7, &st) == 0 ? (int64_t)st.st_size : 0;
}

static pawl_code prune_all(pruning *p, uint64_t seq, pawl_err *err)
{
    pawl_code rc;

    if (p->c->nargs > 0)
        rc = one_journal(p, p->c->args[0], seq, err);
    else if ((rc = p->dry ? PAWL_OK : swept(p, err)) == PAWL_OK && p->before_ms > 0)
        rc = old_go(p, err);
    if (rc == PAWL_OK && !p->dry && cli_given(p->c, "no-vacuum") == NULL)
        rc = p->s->verbs->vacuum(p->s, err);
    return rc;
}

static bool prune_print(const pruning *p, int64_t was, int64_t is)
{
    cli_call *c = p->c;

    if (c->json)
        return cli_json(c, value_pack(&c->mem, NULL, "{s:i,s:i,s:u,s:u}", "bytes_after", is, "bytes_before", was, "kept", (uint64_t)p->kept,
                                      "removed", (uint64_t)p->n));
    if (c->nargs == 0)
        cli_note(c, p->dry ? "%zu runs would be removed" : "%zu runs are removed", p->n);
    if (p->kept > 0)
        cli_note(c, "%zu are kept: a process holds them", p->kept);
    if (!p->dry)
        cli_note(c, "%s has %lld KiB (before: %lld)", cli_store_name(c), (long long)(is + 1023) / 1024, (long long)(was + 1023) / 1024);
    return true;
}

static int usage_of(const cli_call *c, uint64_t *seq, int64_t *older_ms)
{
    const char *older = cli_given(c, "older-than");

    *older_ms = -1;
    if (older != NULL && !cli_duration(older, older_ms))
        return cli_usage(c, "--older-than %s: not a time such as 12h or 30d", older);
    if (c->nargs > 0 && older != NULL)
        return cli_usage(c, "--older-than applies to all runs: leave \"%s\" out", c->args[0]);
    if (c->nargs == 0 && cli_given(c, "at") != NULL)
        return cli_usage(c, "--at needs a RUN");
    if (cli_given(c, "dry-run") != NULL && (older == NULL || c->json))
        return cli_usage(c, "--dry-run needs --older-than");
    return cli_number(c, "at", 1, INT64_MAX, 0, seq) ? EXIT_DONE : EXIT_USAGE;
}

static int prune_run(cli_call *c)
{
    pawl_err err = { PAWL_OK, "" };
    pruning *p = arena_zero(&c->mem, sizeof *p);
    uint64_t seq;
    int64_t older_ms, was;
    int code = usage_of(c, &seq, &older_ms);
    pawl_code rc;

    if (code != EXIT_DONE)
        return code;
    if (p == NULL)
        return cli_fail(c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no memory to prune" });
    *p = (pruning){ .c = c, .dry = cli_given(c, "dry-run") != NULL };
    if ((p->s = cli_store_of(c, NULL, NULL, &code)) == NULL)
        return code;
    if (older_ms >= 0)
        p->before_ms = p->s->verbs->now(p->s) - older_ms;
    was = file_bytes(c);
    if ((rc = anchor_open(&c->app, &p->anchor, &err)) == PAWL_OK)
        rc = prune_all(p, seq, &err);
    anchor_close(p->anchor);
    pawl_store_free(p->s);
    if (rc != PAWL_OK)
        return cli_fail(c, rc, &err);
    return prune_print(p, was, file_bytes(c)) ? EXIT_DONE : EXIT_FAILED;
}

static const cli_option options[] = {
    { "at", "SEQ", "with RUN: the entry at which its journal begins from now on; the newest" },
    { "older-than", "DURATION", "also finished runs that did not change within this time: 12h, 30d" },
    { "dry-run", NULL, "with --older-than: only list the runs that would be removed" },
    { "anchor", "FILE", "record in FILE, or by a command ('|CMD'), what is removed; else PAWL_ANCHOR" },
    { "yes", NULL, "with RUN: do not ask first; required without a terminal" },
    { "no-vacuum", NULL, "do not shrink the file; the space is reused" },
    { "json", NULL, "one JSON object" },
    { NULL, NULL, NULL },
};

const cli_verb verb_prune = {
    .name = "prune", .form = "[RUN]", .what = "remove old runs or entries, and shrink the file", .options = options, .most = 1,
    .store = true, .acts = true, .run = prune_run,
    .about = "Without RUN: removes finished runs whose `retention` has passed; with\n"
             "--older-than all finished runs of that age, whatever their retention says,\n"
             "except children of other runs. With RUN: removes the journal before an entry.\n"
             "The run continues normally; log, fork and replay reach back to that entry only.\n"
             "On a terminal it asks first; without one it needs --yes. A run that a process\n"
             "holds is kept.\n"
             "\n"
             "--json: {\"bytes_after\",\"bytes_before\",\"kept\",\"removed\"}: sizes of the file, the\n"
             "number of runs that were kept because a process holds them, and the number of\n"
             "removed runs.",
    .example = "pawl prune --older-than 30d --dry-run\npawl prune --older-than 30d\npawl prune survey-7k2m --yes",
};
