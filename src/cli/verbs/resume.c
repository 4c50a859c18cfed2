/* resume.c - `pawl resume`: continues a run from its last entry, in this process.
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "cli/missing_secret.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"
#include "engine/run/owner.h"

/* ---- commands that a crash cut off --------------------------------------------------------------------------------- */

/* A command. `work`: not an expression, so that people count it; `attempts`: counted attempts, 0: none. */
typedef struct made { const char *id; uint64_t seq; bool work; uint32_t attempts; } made;
typedef struct all_made { made *all; size_t n, cap; bool crashed; } all_made;

/* The newest loss. */
static bool see_loss(void *ctx, const pawl_loss *l)
{
    pawl_loss *last = ctx;

    *last = *l;
    last->owner = NULL;         /* lent for the call */
    return true;
}

/* The holder before this process did not release the run. */
static bool has_crashed(pawl_store *s, const char *run)
{
    pawl_head head = { .run = NULL };
    pawl_loss last = { .fence = 0 };

    if (s->verbs->head(s, run, &head, NULL) != PAWL_OK)
        return false;
    if (head.owner != NULL && !owner_is_own(head.owner))
        return true;
    return s->verbs->losses != NULL && s->verbs->losses(s, run, see_loss, &last, NULL) == PAWL_OK && last.fence != 0 &&
           (last.taker == NULL || last.taker_fence == head.fence);
}

static bool made_read(session *s, all_made *m)
{
    const pawl_stream_options from = { .kinds = PAWL_STREAM_TASKS };
    pawl_stream *r = pawl_stream_open(NULL, session_store(s), s->run, &from, NULL);
    pawl_stream_event ev;

    while (r != NULL && !s->mem.failed && pawl_stream_next(r, &ev, NULL) == PAWL_OK)
        if (strcmp(ev.name, "call") == 0 && ev.id != NULL && arena_room(&s->mem, (void **)&m->all, &m->cap, m->n, sizeof *m->all))
            m->all[m->n++] = (made){ arena_strdup(&s->mem, ev.id, strlen(ev.id)), ev.seq, strstr(ev.json, "\"effect\":\"jq\"") == NULL, 0 };
    pawl_stream_close(r);
    return r != NULL && !s->mem.failed;
}

/* Searched from the end: it is among the newest. */
static made *made_find(const all_made *m, const char *id)
{
    for (size_t i = m->n; i > 0; i--)
        if (strcmp(m->all[i - 1].id, id) == 0)
            return &m->all[i - 1];
    return NULL;
}

static bool see_mark(void *ctx, const pawl_mark *mark)
{
    made *one = mark->attempts > 0 && mark->again_ms == 0 ? made_find(ctx, mark->id) : NULL;

    if (one != NULL)
        one->attempts = mark->attempts;
    return true;
}

/* The engine stores a count before each attempt of such a command: without one it never began. */
static bool is_counted(const pawl_command *cmd)
{
    return cmd->limits.cls == PAWL_CLASS_ONCE || cmd->limits.cls == PAWL_CLASS_COMPENSABLE || cmd->limits.retry.max_attempts > 1;
}

/* Number of attempts that may have started. A command that waited for a thread was counted when it started (E13). Of the others the first of an entry, as
 * many as there are threads, did not wait; one with a secret may have waited for that, unless its process crashed. */
static uint32_t attempts_of(const all_made *m, const made *one, const pawl_command *cmd, bool secret)
{
    size_t before = 0;

    if (is_counted(cmd) || (secret && !m->crashed))
        return one->attempts;
    for (const made *at = one; at > m->all && at[-1].seq == one->seq && before < session_threads(); at--)
        before++;
    return one->attempts > 0 ? one->attempts : before < session_threads() ? 1 : 0;
}

/* The rule of the engine: such a command is not performed again, its outcome is asked for (E5, E7). */
static bool is_unknown(const pawl_command *cmd, uint32_t attempts)
{
    const uint32_t most = cmd->limits.retry.max_attempts;

    return attempts > cmd->cleared && (cmd->limits.cls == PAWL_CLASS_ONCE || (most > 1 && attempts - cmd->cleared >= most));
}

/* A program of a node, which has no sandbox outside of plan mode: it died with its process, what it had started itself may not have (E18). */
static bool is_program(const pawl_command *cmd)
{
    return cmd->effect != NULL && (strncmp(cmd->effect, "run-", 4) == 0 || strncmp(cmd->effect, "shell-", 6) == 0);
}

/* "61 kept, 2 begun again": finished commands are kept; those that were running are performed again, or their outcome is asked for. */
static void print_kept(session *s, pawl_state *st)
{
    pawl_step *step = pawl_engine_step(s->engine);
    pawl_store *store = session_store(s);
    size_t n = pawl_state_commands(st), kept = 0, again = 0, unknown = 0, programs = 0;
    all_made m = { .crashed = has_crashed(store, s->run) };

    if (!made_read(s, &m) || store->verbs->marks(store, s->run, see_mark, &m, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < m.n; i++)
        kept += m.all[i].work;
    for (size_t i = 0; i < n; i++) {
        const pawl_value *secrets = NULL;
        pawl_command cmd;
        const made *one;
        const bool missing = missing_secret_at(&s->mem, st, step, i) != NULL;   /* first: it uses the step */
        uint32_t attempts;

        if (pawl_state_command(st, i, step, &cmd, &secrets, NULL) != PAWL_OK || (one = made_find(&m, cmd.id)) == NULL || !one->work)
            continue;
        kept--;
        if (missing)            /* it never began */
            continue;
        attempts = attempts_of(&m, one, &cmd, pawl_value_size(secrets) > 0);
        unknown += is_unknown(&cmd, attempts);
        programs += attempts > cmd.cleared && is_program(&cmd);
        again += attempts > cmd.cleared && !is_unknown(&cmd, attempts);
    }
    if (unknown > 0)
        cli_note(s->c, "%s goes on: %zu kept, %zu begun again, %zu with an unknown outcome", s->run, kept, again, unknown);
    else if (kept > 0 || again > 0)
        cli_note(s->c, "%s goes on: %zu kept, %zu begun again", s->run, kept, again);
    if (programs > 0)
        cli_note(s->c, "%s: programs cut off: %zu; processes that they had started themselves may still be at work", s->run, programs);
}

/* ---- on ---------------------------------------------------------------------------------------------------- */

int resume_session(session *s)
{
    pawl_err err = {0};
    pawl_state *st = pawl_run_state(s->engine, s->run, &err);
    bool elsewhere;
    int code;

    if (st == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (pawl_state_next(st) == PAWL_HALTED)
        return drive_run(s, drive_continue, NULL);
    elsewhere = driven_elsewhere(s, NULL);
    if ((code = mode_deliver(s, st, !elsewhere)) != EXIT_DONE)
        return code;
    if (elsewhere)
        return drive_run(s, drive_continue, NULL);
    if (pawl_state_next(st) == PAWL_PENDING)
        print_kept(s, st);
    return drive_run(s, drive_continue, NULL);
}

static int resume_run(cli_call *c)
{
    session *s;
    int code;

    if (cli_given(c, "yes") != NULL && cli_given(c, "no") != NULL)
        return cli_usage(c, "--yes or --no, not both");
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    code = resume_session(s);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    OPTION_FILE,
    OPTION_UPGRADE,
    OPTION_MODE,
    { "yes", NULL, "approve at every gate; questions are still asked" },
    { "no", NULL, "deny at every gate" },
    OPTION_ANCHOR,
    RECORD_OPTIONS,
    OPTION_RESULT_JSON,
    { NULL, NULL, NULL },
};

const cli_verb verb_resume = {
    .name = "resume", .form = "RUN", .what = "continue a run, from any folder", .options = options, .least = 1, .most = 1, .store = true,
    .acts = true, .run = resume_run,
    .about = "Completed steps are never repeated. Commands that were running when a process\n"
             "died start again as their `effect:` says, with the same PAWL_INVOCATION_ID. For\n"
             "a run that is over it prints the result again. RUN may be a unique prefix of an\n"
             "id; @ is the most recent run.\n"
             "\n"
             "With --file and a file that differs from the one of the run: prints the first\n"
             "difference in behaviour and exits with 1; --upgrade continues with the new file.",
    .example = "pawl resume @\npawl resume survey-7k2m --file survey.yaml --upgrade",
};
