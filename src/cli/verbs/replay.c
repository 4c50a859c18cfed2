/* replay.c - `pawl replay`: folds a journal, verifies it with the machine of its run, or compares it with another file (K5, F5).
 *
 * Called by main.c on the main thread. No effect is performed and nothing is written. */
#include "app/signers.h"
#include "cli/open_session.h"
#include "cli/signatures.h"
#include "cli/status_word.h"
#include "cli/verbs.h"
#include "history/current_state.h"

static int fold(session *s)
{
    pawl_state *st = NULL;
    pawl_err err = {0};
    pawl_code rc = pawl_history_state(session_store(s), s->run, 0, &st, &err);
    const char *json;
    buf b;

    if (rc != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    json = pawl_state_json(st, pawl_engine_step(s->engine), &err);
    buf_init(&b, NULL);
    buf_fmt(&b, "%s\n", json != NULL ? json : "{}");
    cli_note(s->c, "%s: %llu entries folded, %s", s->run, (unsigned long long)pawl_state_seq(st), state_word(st));
    cli_put(s->c, &b);
    buf_free(&b);
    pawl_state_free(st);
    return EXIT_DONE;
}

/* `m` NULL: the journal is so damaged that its machine is unknown, and it is only folded. A finding exits with 1, a store that cannot be read with 5. */
static int verify(cli_call *c, pawl_store *store, const pawl_machine *m, const char *run)
{
    pawl_verdict v = {0};
    pawl_err err = {0}, why = {0};
    const pawl_value *known = signers_known(&c->mem, &err);
    pawl_code rc = known == NULL ? err.code : pawl_history_verify(store, m, run, &v, &err);

    if (known == NULL)
        return cli_fail(c, rc, &err);
    if (rc == PAWL_OK && (rc = signatures_trusted(known, store, run, &v.seq, &err)) == PAWL_DENIED)
        cli_note(c, "%s: every byte is the same, but a signature does not count here", run);
    if (c->json)
        cli_json(c, value_pack(&c->mem, NULL, "{s:u,s:u,s:b,s:u,s:s,s:u,s:s}", "entries", v.entries, "folded", v.folded, "good", rc == PAWL_OK, "records",
                               v.records, "run", run, "seq", v.seq, "text", err.text));
    if (rc == PAWL_OK && !c->json)
        cli_note(c, "%s is good: entries %llu, task records %llu; replayed, and every byte is the same%s", run, (unsigned long long)v.entries,
                 (unsigned long long)v.records, v.folded > 0 ? "; entries of an earlier file were only folded" : "");
    if (rc == PAWL_OK)
        return EXIT_DONE;
    if (rc != PAWL_GONE && rc != PAWL_CONFLICT) {
        if (v.seq > 0 && strncmp(err.text, run, strlen(run)) != 0)
            fail(&why, rc, "%s: entry %llu: %s", run, (unsigned long long)v.seq, err.text);
        return cli_fail(c, rc, *why.text != '\0' ? &why : &err);
    }
    cli_note(c, "%s: %s", run, err.text);
    return rc == PAWL_GONE ? EXIT_DONE : EXIT_FAILED;
}

/* A journal that cannot be loaded is a finding of --verify, not an error of the verb. */
static int replay_verify(cli_call *c, const char *given)
{
    char run[RUN_ID_BYTES];
    current_state now;
    int code;
    pawl_store *store = cli_store_of(c, given, run, &code);
    pawl_code rc;
    session *s;

    if (store == NULL)
        return code;
    rc = current_state_load(&now, store, run, NULL);
    current_state_free(&now);
    if (rc == PAWL_CORRUPT) {
        code = verify(c, store, NULL, run);
        pawl_store_free(store);
        return code;
    }
    if ((s = session_of_run_in(c, store, run, NULL, &code)) == NULL)
        return code;
    code = verify(c, session_store(s), s->machine, s->run);
    session_free(s);
    return code;
}

typedef struct replay_comparison { cli_call *c; const pawl_value *all; } replay_comparison;

static bool diverged(void *ctx, const pawl_divergence *d)
{
    replay_comparison *k = ctx;

    if (k->c->json)
        k->all = value_push(&k->c->mem, k->all, value_pack(&k->c->mem, NULL, "{s:s,s:u,s:s}", "run", d->run, "seq", d->seq, "text", d->text));
    else
        cli_note(k->c, "%s", d->text);
    return true;
}

static int against(session *s, pawl_store *store, const char *run)
{
    replay_comparison k = { .c = s->c, .all = value_pack(&s->c->mem, NULL, "[]") };
    pawl_against sum = {0};
    pawl_err err = {0};
    pawl_code rc = pawl_history_against(store, s->machine, run, NULL, diverged, &k, &sum, &err);

    if (rc != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    if (s->c->json)
        cli_json(s->c, value_pack(&s->c->mem, NULL, "{s:v,s:u,s:u,s:u}", "diverged", k.all, "runs", (uint64_t)sum.runs, "same", (uint64_t)sum.same, "unread",
                                  (uint64_t)sum.unread));
    else
        cli_note(s->c, "runs %zu: the same %zu, different %zu%s", sum.runs, sum.same, sum.diverged, sum.unread > 0 ? ", and some could not be read" : "");
    return sum.diverged + sum.unread > 0 ? EXIT_FAILED : EXIT_DONE;
}

/* `run` NULL: all unfinished runs of the file's name. */
static int replay_against(cli_call *c, const char *given, const char *file)
{
    char run[RUN_ID_BYTES];
    pawl_store *store;
    session *s;
    int code;

    if ((s = session_of_file(c, file, &code)) == NULL)
        return code;
    store = cli_store_of(c, given, run, &code);
    if (store != NULL) {
        session_anew(s);
        code = against(s, store, given != NULL ? run : NULL);
        pawl_store_free(store);
    }
    session_free(s);
    return code;
}

static int replay_run(cli_call *c)
{
    const char *file = cli_given(c, "against");
    bool all = cli_given(c, "all") != NULL;
    session *s;
    int code;

    if (all ? file == NULL || c->nargs > 0 : c->nargs == 0)
        return cli_usage(c, all ? "--all needs --against FILE, and no RUN" : "RUN is missing: @ is the most recent one; --all --against FILE compares all");
    if (file != NULL)
        return replay_against(c, all ? NULL : c->args[0], file);
    if (cli_given(c, "verify") != NULL)
        return replay_verify(c, c->args[0]);
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    code = fold(s);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "verify", NULL, "feed every event to the machine again, and compare every byte" },
    { "against", "FILE", "report where this file would behave differently; expressions are evaluated again" },
    { "all", NULL, "with --against: all unfinished runs of that agent" },
    { "json", NULL, "as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_replay = {
    .name = "replay", .form = "[RUN]", .what = "replay, verify or compare the journal of a run", .options = options, .most = 1, .store = true,
    .looks = true, .run = replay_run,
    .about = "No effect is performed. Without options it prints the state that results from\n"
             "the journal. --verify exits with 1 if a byte was changed, or if the machine now\n"
             "gives another result. --against exits with 1 if a run would behave differently\n"
             "with that file: use it before you deploy a new file.",
    .example = "pawl replay @ --verify\npawl replay --all --against survey.yaml",
};
