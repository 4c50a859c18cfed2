/* tick.c - `pawl tick`: one event is fed, its commands are performed or handed out, and the program exits, for queues and function services (F4).
 *
 * Called by main.c on the main thread. Owns its session, which it frees; it feeds one event, or what is due, itself. */
#include "app/ways.h"
#include "cli/run_driver.h"
#include "cli/verbs.h"

static char *json_of(arena *mem, const pawl_value *v)
{
    char *out = NULL;
    buf b;

    if (v == NULL)
        return NULL;
    buf_init(&b, NULL);
    canon(&b, v);
    if (!b.failed)
        out = arena_strdup(mem, b.data, b.size);
    buf_free(&b);
    return out;
}

static bool event_of(cli_call *c, const pawl_value *v, pawl_event *ev, pawl_err *err)
{
    static const char *const names[] = { "kind", "id", "name", "note", "value", "update", "outcome", "time_ms" };
    const char *kind = pawl_value_string(pawl_value_get(v, "kind")), *outcome = pawl_value_string(pawl_value_get(v, "outcome"));
    pawl_iter it = pawl_iter_of(v);
    const pawl_value *key;

    while (pawl_iter_next(&it, &key) != NULL) {
        size_t i = 0;

        while (key != NULL && i < sizeof names / sizeof *names && strcmp(names[i], pawl_value_string(key)) != 0)
            i++;
        if (i == sizeof names / sizeof *names)
            fail(err, PAWL_INVALID, strcmp(key != NULL ? pawl_value_string(key) : "", "by") == 0
                     ? "--event: leave out \"%s\": the journal has the user that the system knows; a server says it through the library"
                     : "--event: unknown member \"%s\"", key != NULL ? pawl_value_string(key) : "");
    }
    *ev = (pawl_event){ .id = pawl_value_string(pawl_value_get(v, "id")), .name = pawl_value_string(pawl_value_get(v, "name")),
                        .by = cli_by(c), .note = pawl_value_string(pawl_value_get(v, "note")),
                        .value = json_of(&c->mem, pawl_value_get(v, "value")), .update = json_of(&c->mem, pawl_value_get(v, "update")),
                        .time_ms = pawl_value_int(pawl_value_get(v, "time_ms")) };
    for (int k = PAWL_EV_START; kind != NULL && k <= PAWL_EV_REOPEN; k++)
        if (strcmp(kind, pawl_event_kind_name((pawl_event_kind)k)) == 0)
            ev->kind = (pawl_event_kind)k;
    for (int o = PAWL_OUTCOME_DONE; outcome != NULL && o <= PAWL_OUTCOME_UNKNOWN; o++)
        if (strcmp(outcome, pawl_outcome_name((pawl_outcome)o)) == 0)
            ev->outcome = (pawl_outcome)o;
    if (ev->kind == 0 || pawl_value_type(v) != PAWL_TYPE_OBJECT)
        fail(err, PAWL_INVALID, "--event is {\"kind\": ...}: start, input, tick, receipt, timer, signal, answer, update, cancel, adopt or reopen");
    return err->code == PAWL_OK;
}

/* The commands to perform elsewhere, and the open waits. */
static bool hand_out(session *s, pawl_state *st)
{
    arena *mem = &s->c->mem;
    pawl_step *step = pawl_engine_step(s->engine);
    const pawl_value *commands = value_pack(mem, NULL, "[]"), *waits = value_pack(mem, NULL, "[]"), *secrets, *v;

    for (size_t i = 0; i < pawl_state_commands(st); i++) {
        pawl_command cmd;

        if (pawl_state_command(st, i, step, &cmd, &secrets, NULL) != PAWL_OK)
            continue;
        v = value_pack(mem, NULL, "{s:s,s:s}", "class", pawl_class_name(cmd.limits.cls), "id", cmd.id);
        if (cmd.kind == PAWL_COMMAND_SLEEP)
            v = value_with(mem, v, "due_ms", value_int(mem, cmd.due_ms));
        if (cmd.effect != NULL)
            v = value_with(mem, v, "effect", value_string(mem, cmd.effect, strlen(cmd.effect)));
        if (cmd.args != NULL)
            v = value_with(mem, v, "args", value_copy(mem, cmd.args));
        if (secrets != NULL)
            v = value_with(mem, v, "secrets", value_copy(mem, secrets));
        commands = value_push(mem, commands, v);
    }
    for (size_t i = 0; i < pawl_state_waits(st); i++) {
        pawl_wait w;

        if (pawl_state_wait(st, i, step, &w, NULL) == PAWL_OK)
            waits = value_push(mem, waits, value_copy(mem, wait_json(mem, &w)));     /* the next one takes the memory of the step */
    }
    v = value_pack(mem, NULL, "{s:v,s:s,s:s,s:v}", "commands", commands, "run", s->run, "status", pawl_status_name(pawl_state_status(st)), "waits", waits);
    return cli_json(s->c, pawl_agent_idle(st) ? value_with(mem, v, "idle", value_bool(mem, true)) : v);
}

/* Goes on with a run that is there, after it has taken the mode that is given and the current settings. */
static pawl_code feed_on(session *s, const pawl_event *ev, pawl_err *err)
{
    pawl_state *st = pawl_run_state(s->engine, s->run, err);

    if (st == NULL)
        return err->code < 0 ? err->code : PAWL_IO;
    if (pawl_state_next(st) != PAWL_HALTED && ev->kind != PAWL_EV_CANCEL && mode_deliver_quietly(s, st, true, err) != PAWL_OK)
        return err->code;
    return ev->kind == PAWL_EV_START || ev->kind == PAWL_EV_TICK ? pawl_run(s->engine, s->run, NULL, err) : pawl_event_send(s->engine, s->run, ev, err);
}

/* A start event creates the run if it does not exist. */
static pawl_code feed(session *s, const pawl_event *ev, pawl_err *err)
{
    beginning b = { .info = { .id = s->run, .created_by = cli_by(s->c) }, .mode = pawl_mode_named(cli_given(s->c, "mode")) };
    pawl_store *store = session_store(s);
    pawl_head head;

    if (store->verbs->head(store, s->run, &head, NULL) != PAWL_GONE)
        return feed_on(s, ev, err);
    if (ev->kind != PAWL_EV_START)
        return fail(err, PAWL_GONE, "%s: no such run; {\"kind\":\"start\",\"value\":{...}} starts one", s->run);
    if (ev->value != NULL && (b.input = value_parse(&s->mem, ev->value, strlen(ev->value), "value", err)) == NULL)
        return err->code;
    return session_begin(s, &b, err);
}

/* The caller comes back when the timer is due, so this never sleeps. */
static void no_sleep(void *ctx, int64_t time_ms)
{
    (void)time_ms;
    pawl_engine_drain(ctx);
}

static int tick(session *s, const pawl_event *ev)
{
    const pawl_clock clock = { .sleep_until = no_sleep, .ctx = s->engine };
    pawl_err err = {0};
    pawl_code rc;
    pawl_state *st;

    pawl_engine_clock(s->engine, &clock);
    signals_catch(s->engine);
    rc = feed(s, ev, &err);
    signals_catch(NULL);
    if (rc < 0)
        return cli_fail(s->c, rc, &err);
    if ((st = pawl_run_state(s->engine, s->run, &err)) == NULL)
        return cli_fail(s->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (!hand_out(s, st))
        return EXIT_FAILED;
    if (rc == PAWL_IGNORED)
        cli_note(s->c, "%s: the event does not apply to the present state, and is ignored", s->run);
    return signals_stopped() != 0 ? signals_stopped() : pawl_state_next(st) == PAWL_HALTED ? cli_exit_of(pawl_state_status(st), false) : EXIT_WAITS;
}

static int tick_run(cli_call *c)
{
    const char *given = cli_given(c, "event"), *id = cli_given(c, "id");
    const pawl_value *v;
    pawl_store *store;
    pawl_err err = {0};
    pawl_event ev;
    pawl_code rc;
    session *s;
    int code;

    if (id == NULL || strlen(id) >= RUN_ID_BYTES)
        return cli_usage(c, "--id RUN is needed");
    if (!mode_given(c, &code))
        return code;
    v = given == NULL ? value_pack(&c->mem, &err, "{s:s}", "kind", "tick") : value_parse(&c->mem, given, strlen(given), "--event", &err);
    if (v == NULL || !event_of(c, v, &ev, &err))
        return cli_fail(c, PAWL_INVALID, &err);
    if ((s = session_of_file(c, c->args[0], &code)) == NULL)
        return code;
    snprintf(s->run, sizeof s->run, "%s", id);
    s->hands_out = cli_given(c, "hand-out") != NULL;
    store = cli_store(c, true, &err);
    rc = store != NULL ? session_open(s, store, &err) : err.code;
    code = rc == PAWL_OK ? tick(s, &ev) : cli_fail(c, rc, &err);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "id", "RUN", "the run; the event `start` starts it" },
    { "event", "JSON", "{\"kind\",\"id\",\"name\",\"value\",\"outcome\",\"by\",\"note\"}; without it: everything that is due" },
    OPTION_MODE,
    RECORD_OPTIONS,
    OPTION_ANCHOR,
    { "hand-out", NULL, "perform only expressions: the caller performs the other commands and returns a receipt" },
    { NULL, NULL, NULL },
};

const cli_verb verb_tick = {
    .name = "tick", .form = "FILE", .what = "feed one event to a run, process it, and exit", .options = options, .least = 1, .most = 1, .store = true,
    .acts = true, .run = tick_run,
    .about = "For a queue or a serverless function: load, apply, commit, perform or hand out,\n"
             "exit. Prints what is open: {\"commands\",\"run\",\"status\",\"waits\"}; an agent that\n"
             "waits for its next message has \"idle\":true. Exits with 3 while\n"
             "the run is not over.",
    .example = "pawl tick essay.yaml --id e1 --event '{\"kind\":\"start\"}' --hand-out\n"
               "pawl tick essay.yaml --id e1 --hand-out --event '{\"kind\":\"receipt\",\n"
               "    \"id\":\"e1~.../1.draft.1.0\",\"outcome\":\"done\",\"value\":{\"text\":\"...\"}}'",
};
