/* run.c - `pawl run`: starts a new run of an agent file, or continues an existing one.
 *
 * Called by main.c on the main thread. Owns its session, which it frees; the engine is driven by run_driver.c. */
#include "app/tokens.h"
#include "app/ways.h"
#include "cli/begun.h"
#include "cli/run_driver.h"
#include "cli/prove.h"
#include "cli/verbs.h"

#include <errno.h>

/* ---- input -------------------------------------------------------------------------------------------- */

enum { INPUT_BYTES_MAX = 64 << 20 };

static bool input_bytes(const char *given, buf *out, pawl_err *err)
{
    FILE *f = strcmp(given, "-") == 0 ? stdin : *given == '@' ? fopen(given + 1, "rb") : NULL;
    char part[16384];
    size_t n;

    if (f == NULL && *given == '@') {
        fail(err, PAWL_INVALID, "--input %s: %s", given, strerror(errno));
        return false;
    }
    if (f == NULL) {
        buf_text(out, given);
        return !out->failed;
    }
    while (out->size <= INPUT_BYTES_MAX && (n = fread(part, 1, sizeof part, f)) > 0)
        buf_put(out, part, n);
    if (ferror(f))
        fail(err, PAWL_INVALID, "--input %s: %s", given, strerror(errno));
    else if (out->size > INPUT_BYTES_MAX)
        fail(err, PAWL_LIMIT, "--input: more than 64 MiB (INPUT_BYTES_MAX)");
    if (f != stdin)
        fclose(f);
    return err->code == PAWL_OK && !out->failed;
}

bool channels_known(const session *s, const pawl_value *values, const char *what, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(values);
    const pawl_value *key;

    while (s->file != NULL && pawl_iter_next(&it, &key) != NULL) {
        const char *name = pawl_value_string(key), *names[256];
        char hint[120] = "";
        size_t n = 0;
        const file_channel *ch = file_channel_find(s->file, name);

        if (ch != NULL && ch->c.secret == NULL)
            continue;
        for (size_t i = 0; i < s->file->nchannels && n < 256; i++)
            names[n++] = s->file->channels[i].c.name;
        if (ch != NULL)
            fail(err, PAWL_INVALID, "%s: channel \"%s\" is a secret, which is never given as input", what, name);
        else
            fail(err, PAWL_INVALID, "%s: the agent has no channel \"%s\"%s", what, name, did_you_mean(hint, sizeof hint, name, names, n));
        return false;
    }
    return true;
}

/* Checks the input by the schema of the file and by its channels. */
static bool input_fits(const session *s, const pawl_value *v, pawl_err *err)
{
    return channels_known(s, v, "input", err) && (s->file == NULL || s->file->input == NULL || schema_check(s->file->input, v, "input", err) == PAWL_OK);
}

/* NULL: see err; or no input was given and none is needed (err.code PAWL_OK). */
static const pawl_value *input_of(session *s, pawl_err *err)
{
    const char *given = cli_given(s->c, "input");
    const pawl_value *v = NULL;
    bool read;
    buf b;

    buf_init(&b, NULL);
    if (given == NULL)
        v = value_pack(&s->mem, err, "{}");
    else if (input_bytes(given, &b, err))
        v = value_parse(&s->mem, b.data != NULL ? b.data : "", b.size, "--input", err);
    read = b.size > 0;
    buf_free(&b);
    if ((v != NULL && pawl_value_type(v) != PAWL_TYPE_OBJECT) || (v == NULL && read && given[0] != '{' && given[0] != '@' && given[0] != '-')) {
        *err = (pawl_err){0};
        fail(err, PAWL_INVALID, "--input is an object of channels in JSON, such as '%s'; @FILE and - read it", session_is_agent(s) ? "{\"input\":\"TEXT\"}" : "{\"dir\":\".\"}");
        return NULL;
    }
    return v != NULL && input_fits(s, v, err) ? v : NULL;
}

/* ---- a new one -------------------------------------------------------------------------------------------- */

static pawl_code begin(session *s, void *ctx, pawl_err *err)
{
    return session_begin(s, ctx, err);
}

/* *seq: its newest entry; 0: its start was not stored, since the process that created it died. */
static bool exists_at(pawl_store *store, const char *run, uint64_t *seq, pawl_err *err)
{
    pawl_err why = {0};
    pawl_head head = { .seq = 0 };
    pawl_code rc = store->verbs->head(store, run, &head, &why);

    if (rc == PAWL_INVALID)
        fail(err, rc, "--id %.64s: an id is of letters, digits, \".\", \"_\" and \"-\", and begins with a letter or a digit", run);
    else if (rc != PAWL_OK && rc != PAWL_GONE)
        fail(err, rc, "%s", why.text);
    *seq = head.seq;
    return rc == PAWL_OK;
}

static bool exists(pawl_store *store, const char *run, pawl_err *err)
{
    uint64_t seq;

    return exists_at(store, run, &seq, err);
}

/* --no-run: durable, and driven by whoever drives the runs of the store. The request that began it may come again (E16). */
static int run_left(session *s, beginning *b)
{
    cli_call *c = s->c;
    pawl_err err = {0};
    pawl_code rc = PAWL_OK;
    uint64_t seq;
    buf line;

    b->info.dedupe_key = c->delivery;
    pawl_engine_drain(s->engine);       /* its start is stored, with the file that it keeps, and no command leaves */
    if (c->delivery == NULL || !exists_at(session_store(s), s->run, &seq, &err) || seq == 0)
        rc = err.code == PAWL_OK ? session_begin(s, b, &err) : err.code;
    else
        rc = begun_same(s, b, &err);
    if (rc < 0)
        return cli_fail(c, rc, &err);
    cli_note(c, "%s is begun, and not driven; go on: pawl resume %s", s->run, s->run);
    if (c->json)
        return cli_json(c, value_pack(&c->mem, NULL, "{s:s}", "run", s->run)) ? EXIT_DONE : EXIT_FAILED;
    buf_init(&line, NULL);
    buf_fmt(&line, "%s\n", s->run);
    cli_put(c, &line);
    buf_free(&line);
    return EXIT_DONE;
}

/* The labels that are given, and those of whoever asks a server, so that it sees the run. EXIT_DONE, or the usage error was printed. */
static int labels_give(session *s, beginning *b)
{
    const asker *who = s->c->who;
    size_t labels = b->info.labels[0] != NULL;

    for (size_t i = 0; who != NULL && i < who->nlabels && labels < sizeof b->info.labels / sizeof *b->info.labels; i++)
        b->info.labels[labels++] = who->labels[i];
    for (size_t i = 0; cli_given_at(s->c, "label", i) != NULL; i++) {
        if (labels == sizeof b->info.labels / sizeof *b->info.labels || *cli_given_at(s->c, "label", i) == '\0')
            return cli_usage(s->c, labels == sizeof b->info.labels / sizeof *b->info.labels ? "a run has 16 labels at most"
                             : "a label is a text of at least one character");
        b->info.labels[labels++] = cli_given_at(s->c, "label", i);
    }
    return EXIT_DONE;
}

static int run_new(session *s, beginning *b)
{
    pawl_err err = {0};
    int code;

    if ((b->input = input_of(s, &err)) == NULL)
        return cli_fail(s->c, err.code, &err);
    b->info.id = s->run;
    b->info.context = cli_given(s->c, "context");
    b->info.created_by = cli_by(s->c);
    b->info.trace = s->c->trace;
    if ((code = labels_give(s, b)) != EXIT_DONE)
        return code;
    if (cli_given(s->c, "no-run") != NULL)
        return run_left(s, b);
    cli_note(s->c, "%s begins", s->run);
    return drive_run(s, begin, b);
}

/* ---- one that is there ---------------------------------------------------------------------------------------- */

static int run_again(session *s)
{
    pawl_err err = {0};
    pawl_state *st;
    const pawl_value *input = cli_given(s->c, "input") != NULL ? input_of(s, &err) : NULL;

    if (err.code != PAWL_OK)
        return cli_fail(s->c, err.code, &err);
    if (input != NULL && !pawl_value_equal(input, begun_with(s))) {
        fail(&err, PAWL_INVALID, "%s was begun with another input: leave --input out to go on with it, or take another --id", s->run);
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    if ((st = pawl_run_state(s->engine, s->run, &err)) == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (pawl_state_next(st) == PAWL_HALTED)
        cli_note(s->c, "%s is there already, and is over; another --id begins a new run", s->run);
    else
        cli_note(s->c, "%s is there already, and goes on", s->run);
    return resume_session(s);
}

/* A refusal is an error of the file, not of a run. */
static pawl_code proven(session *s, pawl_mode mode, const pawl_value *policy, const pawl_value *grants, pawl_err *err)
{
    const pawl_code rc = prove_admits(s, mode != PAWL_MODE_NONE ? mode : PAWL_MODE_DEFAULT, policy, grants, err);

    if (rc == PAWL_DENIED)
        err->code = PAWL_INVALID;
    return rc;
}

/* The rules that the run has, or gets by `update` or by an update that is stored. */
static const pawl_value *about_to_have(pawl_state *st, const pawl_value *update, const char *name)
{
    const pawl_value *v = pawl_value_get(update, name);

    if (v == NULL)
        v = pawl_state_coming(st, name);
    return v != NULL ? v : pawl_state_get(st, name);
}

/* Before anything drives it, as --upgrade does. `s`: of FILE. */
static pawl_code proven_again(session *s, pawl_store *store, const char *run, pawl_err *err)
{
    const app_caller nobody = { .note = NULL };         /* the notes come when it goes on */
    const pawl_value *update = NULL;
    pawl_state *st = NULL;
    pawl_code rc = pawl_history_state(store, run, 0, &st, err);

    if (rc == PAWL_OK)
        rc = session_go_on(s, st, &(going_on){ .mode = pawl_mode_named(cli_given(s->c, "mode")), .drives = pawl_state_next(st) != PAWL_HALTED,
                                               .told = &nobody }, &update, err);
    if (rc == PAWL_OK)
        rc = proven(s, pawl_mode_named(pawl_value_string(about_to_have(st, update, "@mode"))), about_to_have(st, update, "@policy"),
                    about_to_have(st, NULL, "@grants"), err);
    pawl_state_free(st);
    return rc;
}

/* The run exists already: the settings are those for a run that continues. */
static int run_there(session *s, pawl_store *store, const char *id)
{
    session *there;
    pawl_err err = {0};
    int code = EXIT_DONE;

    if (cli_given(s->c, "proven") != NULL && proven_again(s, store, id, &err) != PAWL_OK) {
        pawl_store_free(store);
        return cli_fail(s->c, err.code, &err);
    }
    if ((there = session_of_run_in(s->c, store, id, s->c->args[0], &code)) != NULL)
        code = run_again(there);
    session_free(there);
    return code;
}

/* ---- which of both ---------------------------------------------------------------------------------------------- */

/* Of a call for a server: no run begins above the mode that whoever asks may give. */
static void mode_lower(session *s, beginning *b)
{
    if (s->c->who == NULL || b->mode <= s->c->who->most)
        return;
    b->mode = s->c->who->most;
    b->info.mode = pawl_mode_name(b->mode);
}

/* No store is made before the settings are known to be good. `store`: NULL, or the one that is there. */
static int run_here(session *s, pawl_store *store, beginning *b)
{
    const char *id = cli_given(s->c, "id");
    const bool asked = store != NULL;
    pawl_err err = {0};

    if (session_settle(s, b, &err) == PAWL_OK && cli_given(s->c, "proven") != NULL)
        (void)!proven(s, b->mode, s->policy, NULL, &err);
    if (err.code == PAWL_OK && store == NULL)
        store = cli_store(s->c, true, &err);
    if (err.code == PAWL_OK && !asked && id != NULL && exists(store, id, &err))      /* another process has made the store meanwhile */
        return run_there(s, store, id);
    if (err.code == PAWL_OK)
        mode_lower(s, b);
    if (err.code == PAWL_OK && s->c->delivery != NULL)
        (void)!pawl_dedupe_run(s->c->delivery, s->run);
    else if (err.code == PAWL_OK && id != NULL)
        snprintf(s->run, sizeof s->run, "%s", id);
    else if (err.code == PAWL_OK)
        (void)!cli_new_id(store, pawl_machine_name(s->machine), s->run, &err);
    if (err.code != PAWL_OK) {
        pawl_store_free(store);
        return cli_fail(s->c, err.code, &err);
    }
    return session_open(s, store, &err) == PAWL_OK ? run_new(s, b) : cli_fail(s->c, err.code, &err);
}

static int run_in(session *s, beginning *b)
{
    const char *id = cli_given(s->c, "id");
    pawl_err none = {0}, err = {0};
    pawl_store *store = id != NULL ? cli_store(s->c, false, &none) : NULL;       /* what is wrong with it is said when it is needed */
    const bool there = store != NULL && exists(store, id, &err);

    if (there && cli_given(s->c, "no-run") == NULL)
        return run_there(s, store, id);
    if (there)
        fail(&err, PAWL_CONFLICT, "there is a run %s already; take another --id, or `pawl resume %s`", id, id);
    if (err.code == PAWL_OK)
        return run_here(s, store, b);
    pawl_store_free(store);
    return cli_fail(s->c, err.code, &err);
}

/* Of a call for a server: the file is the one that the server works on, and its machine is one of those of whoever asks. */
static bool begins_here(session *s)
{
    const asker *who = s->c->who;
    const char *name = pawl_machine_name(s->machine);
    pawl_err err = {0};
    bool may = who == NULL || who->nmachines == 0;

    for (size_t i = 0; who != NULL && i < who->nmachines && !may; i++)
        may = strcmp(who->machines[i], name) == 0;
    if (!may)
        fail(&err, PAWL_GONE, "%s: no such machine", name);
    else if (s->c->machine != NULL && strcmp(pawl_machine_hash(s->machine), s->c->machine) != 0)
        fail(&err, PAWL_CONFLICT, "%s: its file has changed since the server began; start the server again", name);
    if (err.code != PAWL_OK)
        cli_fail(s->c, err.code, &err);
    return err.code == PAWL_OK;
}

static int run_run(cli_call *c)
{
    beginning b = { .mode = pawl_mode_named(cli_given(c, "mode")) };
    session *s;
    int code;

    if (!mode_given(c, &code))
        return code;
    if (cli_given(c, "yes") != NULL && cli_given(c, "no") != NULL)
        return cli_usage(c, "--yes or --no, not both");
    if (cli_given(c, "id") != NULL && c->delivery != NULL)
        return cli_usage(c, "id: not with an Idempotency-Key, from which the id follows");
    if (cli_given(c, "id") != NULL && strlen(cli_given(c, "id")) >= RUN_ID_BYTES)
        return cli_usage(c, "an id has 128 characters at most");
    if ((s = session_of_file(c, c->args[0], &code)) == NULL)
        return code;
    code = begins_here(s) ? run_in(s, &b) : EXIT_FAILED;
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "id", "RUN", "the id of the run; an existing run continues with FILE" },
    { "input", "JSON|@FILE|-", "the first values of its channels, an object" },
    { "context", "TEXT", "the context of the run: channels with `keep: context` carry their values over" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "what nodes may do without approval" },
    { "yes", NULL, "approve at every gate; questions are still asked" },
    { "no", NULL, "deny at every gate" },
    { "label", "TEXT...", "a label of the run; up to 16" },
    { "no-run", NULL, "only begin it, durably, and print its id; `pawl worker` drives it" },
    { "upgrade", NULL, "with --id: continue with FILE although it differs from the file of the run" },
    RECORD_OPTIONS,
    OPTION_ANCHOR,
    { "proven", NULL, "only if it is proved, for the mode, that no node acts without a person's approval" },
    OPTION_RESULT_JSON,
    { NULL, NULL, NULL },
};

const cli_verb verb_run = {
    .name = "run", .form = "FILE", .what = "run an agent file", .options = options, .least = 1, .most = 1,
    .extra = "an input is given by --input JSON", .store = true, .acts = true, .run = run_run,
    .about = "Checks the whole FILE, starts a run and drives it until it ends or waits for a\n"
             "person. On a terminal it shows the progress, asks open questions and continues.\n"
             "Without a terminal it prints the open questions and exits with 3. You can kill\n"
             "it at any time: `pawl resume` continues. On Ctrl-C running commands end first; a\n"
             "second Ctrl-C stops at once.\n"
             "\n"
             "stdout has only the `output:` of the file; without one, or with --json, the\n"
             "final state; for an agent that takes turns, after each turn. FILE may be a\n"
             "plug-in (.so) that is a whole agent.\n"
             "\n"
             "--json of a run that waits:\n"
             "{\"run\",\"status\",\"waits\":[{\"id\",\"kind\",\"node\",\"prompt\",...}]},\n"
             "and \"idle\":true of an agent that waits for its next message.\n"
             "Of a run that failed, was rejected or canceled: {\"reason\",\"run\",\"status\"}.",
    .example = "pawl run survey.yaml\npawl run survey.yaml --input '{\"dir\":\"src\"}' --id tonight\npawl run survey.yaml --yes --json | jq .",
};
