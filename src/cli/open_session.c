/* open_session.c - opens a session for a verb, and prints the errors of its file or its run on stderr.
 *
 * Called by the verbs, on the main thread. The session is the verb's: session_free. */
#include "effect/effect.h"
#include "cli/open_session.h"
#include "cli/changed_nodes.h"
#include "cli/run_driver.h"
#include "history/current_state.h"
#include "host/open_questions.h"

#include <string.h>

/* ---- of a file ---------------------------------------------------------------------------------------- */

void session_print_faults(const cli_call *c, const faults *f, bool all, FILE *to)
{
    const bool colour = to == cli_out(c) ? c->colour : c->err_colour;
    const char *red = colour ? "\033[31m" : "", *yellow = colour ? "\033[33m" : "", *plain = colour ? "\033[0m" : "";
    size_t shown = 0;

    for (const file_fault *one = f->first; one != NULL; one = one->next) {
        bool fault = one->severity == PAWL_SEVERITY_FAULT;
        buf line;

        if (!fault && !all)
            continue;
        shown += fault;
        buf_init(&line, NULL);
        cli_clean(&line, one->at.file, strlen(one->at.file));
        buf_fmt(&line, ":%u:%u: %s%s", (unsigned)one->at.line, (unsigned)one->at.column, fault ? red : yellow, fault ? "" : "note: ");
        cli_clean(&line, one->text, strlen(one->text));
        buf_fmt(&line, "%s\n", plain);
        if (!line.failed)
            fwrite(line.data, 1, line.size, to);
        buf_free(&line);
    }
    if (f->count > shown)
        cli_note(c, "and %zu more", f->count - shown);
}

static session *new_session(cli_call *c)
{
    session *s = session_new(&c->app);

    if (s != NULL)
        s->c = c;
    return s;
}

/* Loads the file and prints its errors. */
static int load(session *s, const char *path)
{
    pawl_err err = {0};
    pawl_code rc = session_load(s, path, &err);

    session_print_faults(s->c, &s->faults, false, cli_err(s->c));
    if (rc == PAWL_OK)
        return EXIT_DONE;
    if (s->faults.count == 0)
        cli_fail(s->c, rc, &err);
    else if (s->faults.first != NULL)
        snprintf(s->c->said, CLI_SAID_BYTES, "%s", s->faults.first->text);
    return EXIT_USAGE;
}

static session *loaded(session *s, int *code)
{
    if (*code == EXIT_DONE)
        return s;
    session_free(s);
    return NULL;
}

session *session_of_file(cli_call *c, const char *path, int *code)
{
    session *s = new_session(c);

    *code = s != NULL ? load(s, path) : EXIT_FAILED;
    return loaded(s, code);
}

session *session_of_text(cli_call *c, const char *path, pawl_bytes text, int *code)
{
    session *s = new_session(c);

    *code = s != NULL && session_text(s, text) ? load(s, path) : EXIT_FAILED;
    return loaded(s, code);
}

session *session_load_quietly(cli_call *c, const char *path, pawl_err *err)
{
    session *s = new_session(c);

    if (s == NULL)
        fail(err, PAWL_NOMEM, "%s: no memory", path);
    else
        (void)session_load(s, path, err);
    return s;
}

/* ---- of a run ------------------------------------------------------------------------------------------ */

static bool shown_first(void *ctx, const pawl_divergence *d)
{
    const session *s = ctx;

    cli_note(s->c, "%s", d->text);
    return false;
}

/* Prints the first difference in behaviour, for the decision about --upgrade. */
static int print_divergence(session *s, pawl_state *st)
{
    const pawl_value *file = pawl_state_get(st, "@file"), *text;
    const char *main = pawl_value_string(pawl_value_get(file, "main")), *nodes;
    pawl_against sum = {0};
    pawl_err err = {0};
    pawl_code rc = pawl_history_against(session_store(s), s->machine, s->run, NULL, shown_first, s, &sum, &err);

    if (rc != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    if (sum.diverged == 0)
        cli_note(s->c, "%s: with this file it would have behaved the same so far", s->run);
    text = main != NULL ? pawl_value_get(pawl_value_get(file, "files"), main) : NULL;
    if (s->file != NULL && pawl_value_string(text) != NULL &&
        (nodes = changed_nodes(&s->mem, s->file->d, pawl_value_string(text), pawl_value_size(text))) != NULL)
        cli_note(s->c, "changed nodes: %s", nodes);
    cli_note(s->c, "%s was started with another version of its file: --upgrade continues with this one", s->run);
    return EXIT_FAILED;
}

/* `st`: the state of the run; `other`: the file to continue with, or NULL. */
static int take_run(session *s, pawl_store *store, pawl_state *st, const char *other)
{
    const char *path = NULL, *name;
    pawl_err err = {0};
    pawl_code rc = session_run_file(s, st, other, &path, &err);
    int code = EXIT_DONE;

    if (cli_given(s->c, "upgrade") != NULL) {
        s->toolset = TOOLSET_NOW;
        s->retries = true;
    }
    if (rc != PAWL_OK || (code = load(s, path)) != EXIT_DONE) {
        pawl_store_free(store);
        return rc != PAWL_OK ? cli_fail(s->c, rc, &err) : code;
    }
    name = pawl_state_machine(st, NULL);
    if (strcmp(pawl_machine_name(s->machine), name) != 0 && !session_of_agent(s, name)) {
        pawl_store_free(store);
        fail(&err, PAWL_CONFLICT, "%s is a run of \"%s\", and %s is \"%s\"", s->run, name, path, pawl_machine_name(s->machine));
        return cli_fail(s->c, PAWL_INVALID, &err);
    }
    if ((rc = session_open(s, store, &err)) != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    if (pawl_state_under(st, s->machine))
        return EXIT_DONE;
    if (other == NULL)
        cli_note(s->c, "%s: it ran under another machine than its file makes now: another version of Pawl, of jq, or of a plug-in", s->run);
    if (cli_given(s->c, "upgrade") == NULL)
        return s->only_look ? EXIT_DONE : print_divergence(s, st);
    if (pawl_state_next(st) != PAWL_HALTED && (code = mode_deliver(s, st, true)) != EXIT_DONE)      /* before it: an adoption drives the run */
        return code;
    rc = session_upgrade(s, &err);
    return rc == PAWL_OK ? EXIT_DONE : cli_fail(s->c, rc, &err);
}

/* The run, or with `top` what asks_top() finds: only a run that was spawned, or that cannot be loaded, may have another. */
static pawl_code state_of(session *s, pawl_store *store, const char *run, bool top, current_state *now, run_seen *seen, pawl_err *err)
{
    pawl_code rc;

    snprintf(s->run, sizeof s->run, "%s", run);
    rc = current_state_seen(now, store, s->run, seen, err);
    if (!top || (rc == PAWL_OK && !current_state_spawned(now)))
        return rc;
    asks_top(store, run, s->run);
    if (strcmp(run, s->run) == 0)
        return rc;
    current_state_free(now);
    run_seen_free(seen);
    *err = (pawl_err){0};
    return current_state_seen(now, store, s->run, seen, err);
}

static session *session_in(cli_call *c, pawl_store *store, const char *run, bool top, const char *file, int *code)
{
    session *s = new_session(c);
    current_state now;
    run_seen seen;
    pawl_err err = {0}, why = {0};
    pawl_code rc;

    if (s == NULL) {
        pawl_store_free(store);
        *code = EXIT_FAILED;
        return NULL;
    }
    s->only_look = c->verb->looks;
    rc = state_of(s, store, run, top, &now, &seen, &err);
    run = s->run;
    if (rc == PAWL_OK) {
        *code = take_run(s, store, now.st, file);
        if (*code == EXIT_DONE && now.unfit.code != PAWL_OK)
            session_notice(s, s->run, now.unfit.code, now.unfit.text);
        if (*code == EXIT_DONE && top)          /* else its state may not be needed */
            run_load_seen(s->engine, s->run, &seen);
    } else if (rc == PAWL_CORRUPT) {    /* the store is damaged, not the file */
        fail(&why, PAWL_IO, "%s: its journal is damaged (%.120s); `pawl replay %s --verify` names the entry", run, err.text, run);
        *code = cli_fail(c, PAWL_IO, &why);
    } else {
        *code = cli_fail(c, rc, &err);
    }
    if (rc != PAWL_OK)
        pawl_store_free(store);
    current_state_free(&now);
    run_seen_free(&seen);
    return loaded(s, code);
}

session *session_of_run_in(cli_call *c, pawl_store *store, const char *run, const char *file, int *code)
{
    return session_in(c, store, run, false, file, code);
}

session *session_of_top_in(cli_call *c, pawl_store *store, const char *run, int *code)
{
    return session_in(c, store, run, true, NULL, code);
}

session *session_of_run(cli_call *c, const char *given, int *code)
{
    char run[RUN_ID_BYTES];
    pawl_store *store = cli_store_of(c, given, run, code);

    return store != NULL ? session_of_run_in(c, store, run, cli_given(c, "file"), code) : NULL;
}

/* ---- how it ended -------------------------------------------------------------------------------------- */

bool agent_failed(const session *s, pawl_state *st)
{
    const char *end = agent_end(st), *why = pawl_value_string(pawl_value_get(pawl_state_get(st, "@agent"), "note"));
    pawl_agent_view v;

    if (pawl_agent_display(st, &v, NULL) != PAWL_OK || (v.state != PAWL_SHOWN_ERROR && v.state != PAWL_SHOWN_DONE))
        return false;
    if (v.state == PAWL_SHOWN_ERROR)
        cli_note(s->c, "%s: %s", s->run, v.message != NULL ? v.message : "it failed");
    else if (strcmp(end, "budget") == 0)
        cli_note(s->c, "%s: its budget has no room for more; pawl budget %s shows it", s->run, s->run);
    else if (strcmp(end, "max_iterations") == 0)
        cli_note(s->c, "%s: its turn made as many requests to the model as `max_iterations` allows", s->run);
    else if (why != NULL)
        cli_note(s->c, "%s: %s", s->run, why);
    else if (*end != '\0')
        cli_note(s->c, "%s: its turn ended by %s", s->run, strcmp(end, "denial") == 0 ? "a denial" : strcmp(end, "interrupt") == 0 ? "an interrupt" : end);
    if (pawl_agent_can_retry(st) && strcmp(end, "budget") == 0)
        cli_note(s->c, "    raise it, and try the turn again: pawl retry %s --budget calls=N (or tokens, money, time)", s->run);
    else if (pawl_agent_can_retry(st))
        cli_note(s->c, "    try the turn again: pawl retry %s", s->run);
    return v.state == PAWL_SHOWN_ERROR || strcmp(end, "budget") == 0 || strcmp(end, "max_iterations") == 0;
}
