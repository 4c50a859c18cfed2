/* fork.c - `pawl fork`: makes a new run from an entry of another one (G8).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; it drives no run. */
#include "app/tokens.h"
#include "app/ways.h"
#include "cli/begun.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"

typedef struct mail { arena *mem; pawl_mode mode; } mail;

static bool see_mode(void *ctx, const pawl_delivery *d)
{
    mail *m = ctx;
    const pawl_value *v = d->kind == PAWL_DELIVER_UPDATE ? value_parse(m->mem, d->value.data, d->value.size, "an update", NULL) : NULL;
    const pawl_mode mode = pawl_mode_named(pawl_value_string(pawl_value_get(v, "@mode")));

    m->mode = mode != PAWL_MODE_NONE ? mode : m->mode;
    return true;
}

/* The mode of the run now, which may still be in its mailbox. */
static pawl_code mode_now(session *s, pawl_state *st, pawl_mode *mode, pawl_err *err)
{
    pawl_store *store = session_store(s);
    mail m = { .mem = &s->mem, .mode = pawl_mode_named(run_mode_of(st)) };
    const pawl_code rc = store->verbs->deliveries(store, s->run, see_mode, &m, err);

    *mode = m.mode;
    return rc;
}

/* A fork goes on by the current settings. Its mode is that of its entry, unless one is given or the old run was lowered since: a fork is no way around
 * plan mode (P1), nor above the mode of a token (N4). It is not driven here, so bypass must be given by the process that drives it. */
static pawl_code settle(session *s, uint64_t seq, const pawl_value **set, pawl_err *err)
{
    going_on g = { .mode = pawl_mode_named(cli_given(s->c, "mode")) };
    const pawl_value *update = NULL;
    const asker *who = s->c->who;
    pawl_mode then, now = PAWL_MODE_NONE;
    pawl_state *st = pawl_run_state(s->engine, s->run, err);
    bool above;
    pawl_code rc;

    if (st == NULL)
        return err->code < 0 ? err->code : PAWL_IO;
    if ((rc = mode_now(s, st, &now, err)) != PAWL_OK || (rc = pawl_history_state(session_store(s), s->run, seq, &st, err)) != PAWL_OK)
        return rc;
    then = pawl_mode_named(run_mode_of(st));
    if (g.mode == PAWL_MODE_NONE && now < then)
        g.mode = now;
    above = who != NULL && (g.mode != PAWL_MODE_NONE ? g.mode : then) > who->most;
    if (above)
        g.mode = who->most;
    if (pawl_state_status(st) != PAWL_STATUS_SUBMITTED && pawl_state_next(st) != PAWL_HALTED)
        rc = session_go_on(s, st, &g, &update, err);
    else if (above)             /* no update can lower it there */
        rc = fail(err, PAWL_DENIED, "%s: its mode at this entry is %s, above that of the token; fork another entry", s->run, pawl_mode_name(then));
    *set = value_with_all(&s->mem, *set, update);
    pawl_state_free(st);
    return rc == PAWL_OK && *set == NULL ? fail(err, PAWL_NOMEM, "%s: no memory for a fork", s->run) : rc;
}

pawl_code fork_make(session *s, uint64_t seq, const pawl_value *set, const char *id, char fork[RUN_ID_BYTES], pawl_err *err)
{
    pawl_event change = { .kind = PAWL_EV_UPDATE, .by = cli_by(s->c) };
    pawl_code rc = PAWL_OK;
    buf text;

    if (id != NULL)
        snprintf(fork, RUN_ID_BYTES, "%s", id);
    else
        rc = cli_new_id(session_store(s), pawl_machine_name(s->machine), fork, err);
    if (rc == PAWL_OK)
        rc = settle(s, seq, &set, err);
    buf_init(&text, NULL);
    canon(&text, set);
    buf_char(&text, '\0');
    change.value = text.data;
    if (rc == PAWL_OK && text.failed)
        rc = PAWL_NOMEM;
    if (rc == PAWL_OK)          /* a fork with a key has a first entry always */
        rc = pawl_value_size(set) > 0 || s->c->delivery != NULL ? pawl_run_fork_with(s->engine, s->run, seq, fork, &change, err)
                                                                        : pawl_run_fork(s->engine, s->run, seq, fork, err);
    buf_free(&text);
    return rc;
}

/* The request may come again (E16): the id follows from its key, and its first entry says what it asked for. One that has none was left by a process that
 * died: it is completed. */
static pawl_code fork_once(session *s, uint64_t seq, const pawl_value *set, char fork[RUN_ID_BYTES], pawl_err *err)
{
    char id[PAWL_DEDUPE_RUN_BYTES];
    pawl_err none = {0};
    pawl_head head = {0};
    pawl_code rc = pawl_dedupe_run(s->c->delivery, id);

    if (rc != PAWL_OK)
        return fail(err, rc, "%s: this key names no fork", s->run);
    snprintf(fork, RUN_ID_BYTES, "%s", id);
    if (session_store(s)->verbs->head(session_store(s), id, &head, &none) != PAWL_OK)
        return fork_make(s, seq, set, id, fork, err);
    if (head.seq > 0)
        return forked_same(s, id, seq, set, pawl_mode_named(cli_given(s->c, "mode")), err);
    return fork_make(s, seq > 0 ? seq : forked_at(s, id), set, id, fork, err);
}

static int fork_from(session *s, uint64_t seq, const pawl_value *set)
{
    char fork[RUN_ID_BYTES];
    pawl_err err = {0};
    pawl_code rc = s->c->delivery != NULL ? fork_once(s, seq, set, fork, &err) : fork_make(s, seq, set, cli_given(s->c, "id"), fork, &err);
    buf line;

    if (rc < 0)
        return cli_fail(s->c, rc, &err);
    if (seq > 0)
        cli_note(s->c, "%s is a fork of %s at entry %llu; go on: pawl resume %s", fork, s->run, (unsigned long long)seq, fork);
    else
        cli_note(s->c, "%s is a fork of %s; go on: pawl resume %s", fork, s->run, fork);
    if (s->c->json)
        return cli_json(s->c, value_pack(&s->c->mem, NULL, "{s:s}", "run", fork)) ? EXIT_DONE : EXIT_FAILED;
    buf_init(&line, NULL);
    buf_fmt(&line, "%s\n", fork);
    cli_put(s->c, &line);
    buf_free(&line);
    return EXIT_DONE;
}

static int fork_run(cli_call *c)
{
    const pawl_value *set;
    uint64_t seq = 0;
    session *s;
    int code = EXIT_DONE;

    if (!cli_number(c, "at", 1, UINT64_MAX, 0, &seq))
        return EXIT_USAGE;
    if (cli_given(c, "id") != NULL && c->delivery != NULL)
        return cli_usage(c, "id: not with an Idempotency-Key, from which the id follows");
    if (cli_given(c, "id") != NULL && strlen(cli_given(c, "id")) >= RUN_ID_BYTES)
        return cli_usage(c, "an id has 128 characters at most");
    if (!mode_given(c, &code))
        return code;
    if ((set = set_values(c, &code)) == NULL || (s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    if (set_fits(s, set, &code))
        code = fork_from(s, seq, set);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "at", "SEQ", "the last entry to copy; the default is the newest" },
    { "set", "CHANNEL=JSON...", "change a channel of the new run" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "what nodes of the new run may do without approval" },
    { "id", "RUN", "the id of the new run" },
    { "json", NULL, "{\"run\"}: the id, as JSON" },
    { NULL, NULL, NULL },
};

const cli_verb verb_fork = {
    .name = "fork", .form = "RUN", .what = "start a new run from an entry of another run", .options = options, .least = 1, .most = 1,
    .store = true, .looks = true, .acts = true, .run = fork_run,
    .about = "Prints the id of the new run, which is not driven yet. The old run does not\n"
             "change. Open commands are issued again, those of class once only after a person\n"
             "has approved; waits are asked again; answers are not copied.",
    .example = "pawl fork survey-7k2m --at 3 --set 'dir=\"src\"'\npawl resume $(pawl fork @ --at 3) && pawl diff survey-7k2m @",
};
