/* chat.c - `pawl chat -p`: sends one prompt to an agent, or a conversation in frames, from a script or a program.
 *
 * Called by main.c on the main thread, which drives the run; chat_in.c and chat_out.c have a thread each. Owns the struct chat. */
#include "cli/chat/chat.h"
#include "cli/run_driver.h"
#include "app/settings.h"
#include "app/ways.h"
#include "cli/verbs.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROMPT_BYTES_MAX = 8 << 20, LABEL_BYTES = 4096, MAX_TURNS = 100000, MAX_THINKING = 1000000, MAX_ATTEMPTS = 1000 };

/* ---- what it begins with ------------------------------------------------------------------------------- */

/* The settings of requests, changed by the options of this call. NULL: nothing was given, or see err. */
static const pawl_value *config_given(chat *k, const pawl_value *was, pawl_err *err)
{
    session *s = k->s;
    chat_request_settings set = { .model = chat_model(k, &s->mem, cli_given(s->c, "model")) };

    (void)cli_number(s->c, "max-turns", 1, MAX_TURNS, 0, &set.turns);
    (void)cli_number(s->c, "max-thinking-tokens", 1024, MAX_THINKING, 0, &set.thinking);
    return set.model == NULL && set.turns == 0 && set.thinking == 0 ? NULL : chat_config(k, &s->mem, was, &set, err);
}

/* Without settings of the person only what restricts is taken of their mode. */
static pawl_mode mode_of(const chat *k, pawl_err *err)
{
    const pawl_mode given = pawl_mode_named(cli_given(k->c, "mode")), now = given != PAWL_MODE_NONE ? given : k->settings_mode;

    if (now != PAWL_MODE_NONE || k->s->without_sources == 0)
        return now;
    return settings_mode(k->s->caller, &k->s->mem, k->s->file, k->s->folder, PAWL_MODE_NONE, NULL, err) == PAWL_MODE_PLAN ? PAWL_MODE_PLAN : PAWL_MODE_DEFAULT;
}

/* ---- the prompt ------------------------------------------------------------------------------------------------ */

static bool is_piped(void)
{
    struct stat st;

    return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode));
}

static bool has_words(const buf *b, pawl_err *err)
{
    size_t n = 0;

    while (n < b->size && strchr(" \t\r\n", b->data[n]) != NULL && b->data[n] != '\0')
        n++;
    if (n == b->size)
        fail(err, PAWL_INVALID, "the prompt is empty");
    return n < b->size;
}

/* The prompt that was given, with piped input appended; "-": only the piped input. */
static bool prompt_of(chat *k, buf *out, pawl_err *err)
{
    const char *given = cli_given(k->c, "print");
    const bool only = strcmp(given, "-") == 0;
    char part[16384];
    buf in;
    size_t n;

    if (!utf8_valid(given, strlen(given))) {
        fail(err, PAWL_INVALID, "the prompt is no UTF-8");
        return false;
    }
    if (!only)
        buf_text(out, given);
    if (k->frames_in)
        return !out->failed;
    if (!only && !is_piped())
        return !out->failed && has_words(out, err);
    buf_init(&in, NULL);
    while (in.size <= PROMPT_BYTES_MAX && (n = fread(part, 1, sizeof part, stdin)) > 0)
        buf_put(&in, part, n);
    if (in.size > PROMPT_BYTES_MAX)
        fail(err, PAWL_LIMIT, "the prompt has more than 8 MiB (PROMPT_BYTES_MAX)");
    else if (!utf8_valid(in.data != NULL ? in.data : "", in.size))
        fail(err, PAWL_INVALID, "the prompt on stdin is no UTF-8");
    while (in.size > 0 && in.data[in.size - 1] == '\n')
        in.size--;
    if (in.size > 0)
        buf_text(out, out->size > 0 ? "\n\n" : "");
    buf_put(out, in.data != NULL ? in.data : "", in.size);
    buf_free(&in);
    return err->code == PAWL_OK && !out->failed && has_words(out, err);
}

/* ---- begun --------------------------------------------------------------------------------------------------------- */

/* `b`: of a new run; `ev`: of one that is there; neither: it goes on by itself. */
typedef struct chat_begin { beginning *b; const pawl_event *ev; } chat_begin;

static pawl_code begins(session *s, const chat_begin *b, pawl_err *err)
{
    if (b->ev != NULL)
        return pawl_event_send(s->engine, s->run, b->ev, err);
    return b->b != NULL ? session_begin(s, b->b, err) : pawl_run(s->engine, s->run, NULL, err);
}

static void label_of(const session *s, char out[LABEL_BYTES])
{
    snprintf(out, LABEL_BYTES, "chat:%s", s->folder);
}

static const char *model_of(const session *s, const pawl_value *config)
{
    const char *model = pawl_value_string(pawl_value_get(config, "model"));

    return model != NULL ? model : s->of->agent->a.model;
}

/* For the listener, which changes single settings. */
static void config_keep(chat *k, const pawl_value *config)
{
    if (config != NULL && pawl_value_type(config) == PAWL_TYPE_OBJECT)
        canon(&k->config, config);
}

/* ---- how it stands at the end ------------------------------------------------------------------------------------------ */

/* The open questions of the run and of its children; that the agent waits for its next input is not listed. */
static const pawl_value *waits_of(chat *k, asks *all)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        if (all->all[i].w.kind != PAWL_WAIT_INPUT)
            all->all[n++] = all->all[i];
    all->n = n;
    return n > 0 ? asks_json(&k->s->mem, all) : NULL;
}

static int print_waits(chat *k, const asks *all, const pawl_value *waits)
{
    const pawl_value *result = chat_result(k, &k->s->mem, "", waits);

    if (k->format != CHAT_TEXT)
        chat_write(k, result);
    print_asks(k->s, all);
    return EXIT_WAITS;
}

/* Warns that the answer was cut or refused: it looks like a complete one. */
static void print_stop(chat *k)
{
    static const char *const whys[][2] = { { "refusal", "the model refuses" },
                                           { "max_tokens", "the answer is cut: it has as many tokens as `max_tokens` allows" },
                                           { "context_exceeded", "the answer is cut: the conversation has no room for more" } };
    const char *stop = pawl_value_string(pawl_value_get(k->result, "stop_reason"));

    for (size_t i = 0; stop != NULL && i < sizeof whys / sizeof *whys; i++)
        if (strcmp(stop, whys[i][0]) == 0)
            cli_note(k->c, "%s: %s", k->s->run, whys[i][1]);
}

static int print_result(chat *k, pawl_state *st)
{
    const char *text = pawl_value_string(pawl_value_get(k->result, "result")), *end = agent_end(st);

    if (k->format == CHAT_JSON)
        chat_write(k, k->result);
    if (k->format == CHAT_TEXT && text != NULL && *text != '\0')
        printf("%s\n", text);
    if (k->format == CHAT_TEXT)
        print_stop(k);
    if (pawl_state_next(st) == PAWL_HALTED)
        return cli_exit_of(pawl_state_status(st), false);
    (void)agent_failed(k->s, st);
    if (k->c->bare && k->frames_in)         /* a client reads the result: a denial is no failure */
        return pawl_value_bool(pawl_value_get(k->result, "is_error")) ? EXIT_FAILED : EXIT_DONE;
    return strcmp(end, "answer") == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* Another process drives the run, and the message waits there for the end of its turn. */
static int print_busy(chat *k, const char *who)
{
    const char *run = k->s->run;
    char text[DRIVER_NAME_BYTES + 2 * RUN_ID_BYTES + 200];

    snprintf(text, sizeof text, "%s is busy: %s drives it, and takes this as its next turn; `pawl log %s --follow` shows the answer", run, who, run);
    cli_note(k->c, "%s", text);
    if (k->format != CHAT_TEXT)
        chat_write(k, chat_error_result(&k->c->mem, run, text));
    return EXIT_WAITS;
}

static int ended(chat *k, pawl_code rc, const pawl_err *err)
{
    char who[DRIVER_NAME_BYTES];
    const pawl_value *waits;
    pawl_err why = {0};
    pawl_state *st;
    asks all;

    if (signals_stopped() != 0) {
        cli_note(k->c, "%s is stopped, and nothing is lost; go on: pawl chat --resume %s -p TEXT", k->s->run, k->s->run);
        return signals_stopped();
    }
    if (rc < 0)
        return cli_fail(k->c, rc, err);
    if (rc == PAWL_PENDING && k->result == NULL && driven_elsewhere(k->s, who))
        return print_busy(k, who);
    if ((st = pawl_run_state(k->s->engine, k->s->run, &why)) == NULL)
        return cli_fail(k->c, why.code < 0 ? why.code : PAWL_IO, &why);
    if (session_asks(k->s, k->s->run, &all) && (waits = waits_of(k, &all)) != NULL)
        return print_waits(k, &all, waits);
    if (*err->text != '\0') {
        cli_note(k->c, "%s", err->text);
        return EXIT_WAITS;
    }
    if (k->result != NULL && signals_interrupted() && strcmp(agent_end(st), "interrupt") == 0) {
        (void)print_result(k, st);
        cli_note(k->c, "%s: nothing is lost; go on: pawl chat --resume %s -p TEXT", k->s->run, k->s->run);
        return EXIT_STOPPED;
    }
    if (k->result != NULL)
        return print_result(k, st);
    return !k->frames_in ? EXIT_WAITS : k->refused ? EXIT_USAGE : EXIT_DONE;
}

/* ---- driven -------------------------------------------------------------------------------------------------------------- */

/* While frames arrive on stdin the run is driven again with the deliveries that they became, until there are no more. */
static pawl_code converse(chat *k, pawl_code rc, pawl_err *err)
{
    unsigned heard = 0;
    bool more = true;

    while (rc >= 0 && rc != PAWL_HALTED && signals_stopped() == 0 && more) {
        more = chat_listener_wait(k, heard);
        heard = chat_heard(k);
        if (signals_stopped() != 0)
            break;
        if (!more && !k->waits)
            more = chat_refuse_all(k);
        if (more)
            rc = pawl_run(k->s->engine, k->s->run, NULL, err);
    }
    return rc;
}

/* The run exists: the client is notified, and then of how it begins. */
static void greets(chat *k)
{
    arena *mem = &k->c->mem;

    if (k->hello_id != NULL)
        chat_write(k, value_pack(mem, NULL, "{s:{s:s,s:v,s:s},s:s}", "response", "request_id", k->hello_id, "response", chat_greeting(k, mem), "subtype",
                                 "success", "type", "control_response"));
    k->hello_id = NULL;
    if (k->first != NULL)
        chat_write(k, k->first);
    k->told = k->first != NULL;
    chat_state(k, "running");
}

static int drive(chat *k, chat_begin *b)
{
    pawl_err err = {0};
    pawl_code rc;
    bool hears = false;
    int code;

    signals_catch(k->s->engine);
    /* Live events reach only readers that are open, and frames go into a run that is there, so it is created before it is driven. */
    if ((k->partial || k->frames_in) && b->b != NULL) {
        b->b->only = true;
        if ((rc = session_begin(k->s, b->b, &err)) < 0)
            return cli_fail(k->c, rc, &err);
        b->b = NULL;
    }
    chat_stop_begin(k);
    if (!chat_reader_begin(k))
        return cli_fail(k->c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no thread for the output" });
    greets(k);
    if (k->frames_in && !(hears = chat_listener_begin(k)))      /* before it is driven: a hook of a run that goes on may wait for the client */
        rc = fail(&err, PAWL_INVALID, "frames on stdin need a store in a file: --store sqlite:PATH");
    else
        rc = begins(k->s, b, &err);
    if (hears) {
        rc = converse(k, rc, &err);
        chat_listener_end(k);
    }
    chat_reader_end(k);
    chat_stop_end(k);
    code = ended(k, rc, &err);
    signals_catch(NULL);
    return code;
}

/* ---- a new one --------------------------------------------------------------------------------------------------------------- */

static int begin_new(chat *k, pawl_store *store, const pawl_value *prompt)
{
    session *s = k->s;
    char label[LABEL_BYTES];
    pawl_err err = {0};
    const pawl_value *config = NULL, *input = value_pack(&s->mem, NULL, "{}");
    beginning b = { .info = { .id = s->run, .created_by = caller_name() }, .mode = mode_of(k, &err) };

    label_of(s, label);
    if (err.code == PAWL_OK && session_settle(s, &b, &err) == PAWL_OK)
        config = config_given(k, NULL, &err);
    b.info.labels[0] = label;
    if (err.code == PAWL_OK && cli_given(s->c, "session-id") != NULL)
        snprintf(s->run, sizeof s->run, "%s", cli_given(s->c, "session-id"));
    else if (err.code == PAWL_OK && cli_new_id(store, pawl_machine_name(s->machine), s->run, &err) != PAWL_OK && err.code == PAWL_OK)
        fail(&err, PAWL_IO, "no random number for an id");
    if (err.code != PAWL_OK) {
        pawl_store_free(store);
        return cli_fail(k->c, err.code, &err);
    }
    if (session_open(s, store, &err) != PAWL_OK)
        return cli_fail(k->c, err.code, &err);
    s->own = value_pack(&s->mem, NULL, "{s:b}", "@unasked", (int)(!k->waits && !k->answers));
    if (config != NULL)
        s->own = value_with(&s->mem, s->own, "@config", config);
    if (prompt != NULL)
        input = value_with(&s->mem, input, "input", prompt);
    b.input = input;
    config_keep(k, config);
    chat_init_frame(k, b.mode, model_of(s, config));
    return drive(k, &(chat_begin){ .b = &b });
}

/* ---- one that is there ---------------------------------------------------------------------------------------------------------- */

static bool see_first(void *ctx, const pawl_head *head)
{
    snprintf(ctx, RUN_ID_BYTES, "%s", head->run);
    return false;
}

/* The latest chat that was started in this folder. */
static int latest(cli_call *c, char run[RUN_ID_BYTES])
{
    char here[4000], label[LABEL_BYTES];
    pawl_filter f = { .label = label };
    pawl_err err = {0};
    pawl_store *store = cli_store(c, false, &err);

    *run = '\0';
    if (store == NULL)
        return cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (getcwd(here, sizeof here) == NULL)
        fail(&err, PAWL_IO, "the current folder was removed");
    snprintf(label, sizeof label, "chat:%s", here);
    if (err.code == PAWL_OK)
        (void)store->verbs->list(store, &f, see_first, run, &err);
    pawl_store_free(store);
    if (err.code != PAWL_OK)
        return cli_fail(c, err.code, &err);
    if (*run != '\0')
        return EXIT_DONE;
    fail(&err, PAWL_GONE, "there is no chat in this folder: leave --continue out to start one");
    return cli_fail(c, PAWL_GONE, &err);
}

/* Applies mode and rules to the children that still work, as to the run itself. */
static pawl_code settle_children(chat *k, bool unasked, pawl_err *err)
{
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = caller_name(), .value = unasked ? "{\"@unasked\":true}" : "{\"@unasked\":false}" };
    asks all;
    pawl_code rc = asks_read(session_store(k->s), &k->s->mem, k->s->run, &all, err);

    for (size_t i = 0; i < all.nchildren && rc == PAWL_OK; i++)
        rc = session_deliver_to(k->s, all.children[i].run, &ev, err);
    return rc == PAWL_CONFLICT || rc == PAWL_GONE ? PAWL_OK : rc;       /* that child has ended by now */
}

/* A SessionStart hook is notified that the conversation is continued. */
static bool resume_journaled(pawl_state *st)
{
    const pawl_value *all = pawl_value_get(pawl_state_get(st, "@policy"), "hooks"), *one;
    pawl_iter it = pawl_iter_of(all);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_get(pawl_value_get(one, "hooks"), "SessionStart") != NULL)
            return true;
    return false;
}

/* The mode, rules and request settings of the run itself, from now on. */
static pawl_code settle_own(chat *k, pawl_state *st, pawl_err *err)
{
    session *s = k->s;
    const pawl_value *config = config_given(k, pawl_state_get(st, "@config"), err), *system;
    const bool unasked = !k->waits && !k->answers;
    const pawl_value *v = value_pack(&s->mem, NULL, "{}");
    pawl_event ev = { .kind = PAWL_EV_UPDATE, .by = caller_name() };
    pawl_code rc = PAWL_OK;
    buf b;

    if (err->code != PAWL_OK)
        return err->code;
    if (config != NULL)
        v = value_with(&s->mem, v, "@config", config);
    if ((system = chat_system_again(k, pawl_state_get(st, "@system"), err)) != NULL)
        v = value_with(&s->mem, v, "@system", system);
    else if (err->code != PAWL_OK)
        return err->code;
    if (pawl_value_bool(pawl_state_get(st, "@unasked")) != unasked)
        v = value_with(&s->mem, v, "@unasked", value_bool(&s->mem, unasked));
    if (resume_journaled(st))
        v = value_with(&s->mem, v, "@resumed", value_bool(&s->mem, true));
    if (pawl_value_size(v) == 0)
        return PAWL_OK;
    buf_init(&b, NULL);
    canon(&b, v);
    buf_char(&b, '\0');
    ev.value = b.data;
    rc = b.failed ? fail(err, PAWL_NOMEM, "no memory") : session_deliver(s, &ev, err);
    buf_free(&b);
    return rc != PAWL_OK || pawl_value_get(v, "@unasked") == NULL ? rc : settle_children(k, unasked, err);
}

static void from_now(chat *k)
{
    pawl_stream *r = pawl_stream_open(k->s->engine, NULL, k->s->run, &(pawl_stream_options){ .from = "now", .kinds = PAWL_STREAM_UPDATES }, NULL);

    if (r != NULL)
        snprintf(k->from, sizeof k->from, "%s", pawl_stream_cursor(r));
    pawl_stream_close(r);
}

/* The input of the run, in `json`. */
static pawl_event event_of(session *s, const pawl_value *prompt, buf *json)
{
    if (chat_is_retry(prompt))
        return (pawl_event){ .kind = PAWL_EV_SIGNAL, .name = "retry_turn", .by = caller_name() };
    canon(json, value_pack(&s->mem, NULL, "{s:v}", "input", prompt));
    buf_char(json, '\0');
    return (pawl_event){ .kind = PAWL_EV_INPUT, .by = caller_name(), .value = json->data };
}

static int go_on_with(chat *k, const pawl_value *prompt)
{
    session *s = k->s;
    pawl_event ev;
    chat_begin b = {0};
    pawl_err err = {0};
    pawl_state *st = pawl_run_state(s->engine, s->run, &err);
    int code;
    buf json;

    if (st == NULL)
        return cli_fail(k->c, err.code < 0 ? err.code : PAWL_IO, &err);
    if (chat_is_retry(prompt) && !chat_may_retry(s->run, st, &err))
        return cli_fail(k->c, err.code, &err);
    if ((code = event_allowed(s, PAWL_EV_INPUT)) != EXIT_DONE)
        return code;
    st = pawl_run_state(s->engine, s->run, &err);
    if (st == NULL || settle_own(k, st, &err) != PAWL_OK)
        return cli_fail(k->c, err.code < 0 ? err.code : PAWL_IO, &err);
    from_now(k);
    st = pawl_run_state(s->engine, s->run, &err);
    chat_calls_keep(k, st != NULL ? pawl_state_get(st, "messages") : NULL);
    config_keep(k, st != NULL ? pawl_state_get(st, "@config") : NULL);
    chat_init_frame(k, st != NULL && pawl_mode_named(run_mode_of(st)) != PAWL_MODE_NONE ? pawl_mode_named(run_mode_of(st)) : PAWL_MODE_DEFAULT,
                    model_of(s, st != NULL ? pawl_state_get(st, "@config") : NULL));
    buf_init(&json, NULL);
    if (prompt != NULL) {
        ev = event_of(s, prompt, &json);
        b.ev = &ev;
    }
    code = json.failed ? EXIT_FAILED : drive(k, &b);
    buf_free(&json);
    return code;
}

/* ---- the verb ------------------------------------------------------------------------------------------------------------------------ */

static bool formats_read(chat *k)
{
    cli_call *c = k->c;
    const char *out = cli_given(c, "output-format"), *in = cli_given(c, "input-format");

    if (out != NULL && strcmp(out, "text") != 0 && strcmp(out, "json") != 0 && strcmp(out, "stream-json") != 0)
        cli_usage(c, "--output-format is text, json or stream-json, and not \"%s\"", out);
    else if (in != NULL && strcmp(in, "text") != 0 && strcmp(in, "stream-json") != 0)
        cli_usage(c, "--input-format is text or stream-json, and not \"%s\"", in);
    else if (in != NULL && strcmp(in, "stream-json") == 0 && (out == NULL || strcmp(out, "stream-json") != 0))
        cli_usage(c, "--input-format stream-json needs --output-format stream-json");
    else if (in != NULL && strcmp(in, "stream-json") == 0 && strcmp(cli_given(c, "print"), "-") != 0)
        cli_usage(c, "with --input-format stream-json the prompt comes in frames: -p -");
    else {
        k->format = out == NULL || strcmp(out, "text") == 0 ? CHAT_TEXT : strcmp(out, "json") == 0 ? CHAT_JSON : CHAT_STREAM;
        k->frames_in = in != NULL && strcmp(in, "stream-json") == 0;
        return true;
    }
    return false;
}

/* False: the usage error was printed. */
static bool conversation_read(cli_call *c)
{
    const bool again = cli_given(c, "continue") != NULL || cli_given(c, "resume") != NULL;
    const char *id = cli_given(c, "session-id");

    if (cli_given(c, "continue") != NULL && cli_given(c, "resume") != NULL)
        cli_usage(c, "--continue or --resume, not both");
    else if (again && c->nargs > 0)
        cli_usage(c, "a conversation continues with the file that it keeps: leave %s out", c->args[0]);
    else if ((c->nargs > 0 || again) && cli_given(c, "max-attempts") != NULL)
        cli_usage(c, "--max-attempts is of a new conversation with the built-in agent: an agent file says it as `retry: {max_attempts: N}`");
    else if (c->nargs > 0 && (cli_given(c, "tools") != NULL || cli_given(c, "system-prompt") != NULL || cli_given(c, "system-prompt-file") != NULL ||
                              cli_given(c, "append-system-prompt") != NULL))
        cli_usage(c, "%s says its tools and its system prompt: leave --tools, --system-prompt and --append-system-prompt out", c->args[0]);
    else if (cli_given(c, "fork-session") != NULL && !again)
        cli_usage(c, "--fork-session is of a conversation that goes on: --resume RUN, or --continue");
    else if (id != NULL && again && cli_given(c, "fork-session") == NULL)
        cli_usage(c, "--session-id is of a new conversation: with --resume or --continue it needs --fork-session");
    else if (id != NULL && strlen(id) >= RUN_ID_BYTES)
        cli_usage(c, "an id has 128 characters at most");
    else
        return true;
    return false;
}

/* In a call without a verb: the number of retries of a request, as SDKs set it. False: the usage error was printed. */
static bool retries_read(chat *k)
{
    const char *text = k->c->bare && k->attempts == 0 ? getenv("CLAUDE_CODE_MAX_RETRIES") : NULL;
    const char *rest;
    uint64_t n;

    if (text == NULL || *text == '\0')
        return true;
    if ((rest = digits_read(text, &n)) == NULL || *rest != '\0' || n >= MAX_ATTEMPTS) {
        cli_usage(k->c, "CLAUDE_CODE_MAX_RETRIES is a number from 0 to %d, and not \"%s\"", MAX_ATTEMPTS - 1, text);
        return false;
    }
    k->attempts = (uint32_t)n + 1;
    return true;
}

/* False: the usage error was printed. */
static bool words_read(chat *k)
{
    cli_call *c = k->c;
    const char *absent = cli_given(c, "ask"), *mode = cli_given(c, "mode"), *tool = cli_given(c, "permission-prompt-tool");
    const char *thinking = cli_given(c, "thinking");
    uint64_t turns, tokens, attempts;
    int code;

    if (!formats_read(k) || !conversation_read(c))
        return false;
    if (mode != NULL && strcmp(mode, "dontAsk") == 0) {        /* Claude Code's word: what would be asked is denied */
        k->dont_ask = true;
        cli_give(c, "mode", mode = "default");
    }
    if (!mode_given(c, &code))
        return false;
    if (absent != NULL && strcmp(absent, "deny") != 0 && strcmp(absent, "wait") != 0)
        cli_usage(c, "--ask is deny or wait, and not \"%s\"", absent);
    else if (tool != NULL && (strcmp(tool, "stdio") != 0 || !k->frames_in))
        cli_usage(c, "--permission-prompt-tool is stdio, with frames on stdin, and not \"%s\"", tool);
    else if (thinking != NULL && strcmp(thinking, "disabled") != 0)
        cli_usage(c, "--thinking is disabled, and not \"%s\": --max-thinking-tokens N gives it a budget", thinking);
    else if (cli_number(c, "max-turns", 1, MAX_TURNS, 0, &turns) && cli_number(c, "max-thinking-tokens", 1024, MAX_THINKING, 0, &tokens) &&
             cli_number(c, "max-attempts", 1, MAX_ATTEMPTS, 0, &attempts)) {
        k->attempts = (uint32_t)attempts;
        k->waits = absent != NULL && strcmp(absent, "wait") == 0;
        k->answers = k->frames_in && (!c->bare || tool != NULL);
        k->bypass = cli_given(c, "allow-dangerously-skip-permissions") != NULL || (mode != NULL && pawl_mode_named(mode) == PAWL_MODE_BYPASS);
        k->partial = cli_given(c, "include-partial-messages") != NULL;
        k->verbose = cli_given(c, "verbose") != NULL;
        return retries_read(k);
    }
    return false;
}

/* A conversation that goes on in a new run, which has its own end. */
static int fork_again(chat *k, int code)
{
    const pawl_value *set = value_pack(&k->s->mem, NULL, "{}");
    const char *id = cli_given(k->c, "session-id");
    char fork[RUN_ID_BYTES];
    pawl_err err = {0};
    pawl_code rc;

    if (code != EXIT_DONE || cli_given(k->c, "fork-session") == NULL)
        return code;
    if ((rc = fork_make(k->s, 0, set, id, fork, &err)) < 0)
        return cli_fail(k->c, rc, &err);
    snprintf(k->s->run, sizeof k->s->run, "%s", fork);
    return EXIT_DONE;
}

static session *chat_open(chat *k, const char *again, int *code)
{
    cli_call *c = k->c;
    session *s;

    if (again != NULL)
        s = session_of_run(c, again, code);
    else
        s = c->nargs > 0 ? session_of_file(c, c->args[0], code) : chat_session(k, code);
    if (s != NULL && !session_is_agent(s)) {
        *code = cli_usage(c, again != NULL ? "%s is a run of a graph, and no conversation" : "%s is a graph, and no agent: `pawl run` runs it",
                          again != NULL ? again : c->args[0]);
        session_free(s);
        s = NULL;
    }
    return s;
}

static int chat_with(chat *k, const pawl_value *prompt)
{
    cli_call *c = k->c;
    char run[RUN_ID_BYTES];
    const char *again = cli_given(c, "resume");
    pawl_err err = {0};
    pawl_store *store;
    int code = EXIT_DONE;

    if (chat_sources(k, &err) != PAWL_OK || chat_hello_check(k->hello, &err) != PAWL_OK)
        return cli_fail(c, err.code, &err);
    if (chat_is_retry(prompt) && again == NULL && cli_given(c, "continue") == NULL)
        return cli_usage(c, "/retry tries the last turn of a conversation again: --continue, or --resume RUN");
    if (cli_given(c, "continue") != NULL) {
        if ((code = latest(c, run)) != EXIT_DONE)
            return code;
        again = run;
    }
    if ((k->s = chat_open(k, again, &code)) == NULL)
        return code;
    if (chat_given(k, &err) != PAWL_OK || (again != NULL && chat_tools_again(k, &err) != PAWL_OK))
        code = cli_fail(c, err.code, &err);
    else if (again != NULL)
        code = (code = fork_again(k, code)) == EXIT_DONE ? go_on_with(k, prompt) : code;
    else if ((store = cli_store(c, true, &err)) == NULL)
        code = cli_fail(c, err.code < 0 ? err.code : PAWL_IO, &err);
    else
        code = begin_new(k, store, prompt);
    session_free(k->s);
    return code;
}

static int chat_call(chat *k)
{
    const pawl_value *prompt = NULL;
    pawl_err err = {0};
    int code = EXIT_USAGE;
    buf text;

    buf_init(&text, NULL);
    if (words_read(k)) {
        if (!prompt_of(k, &text, &err))
            code = cli_fail(k->c, err.code < 0 ? err.code : PAWL_NOMEM, &err);
        else if ((!k->frames_in && (prompt = value_string(&k->c->mem, text.data, text.size)) == NULL) || (k->c->bare && k->frames_in && !chat_hello(k)))
            code = cli_fail(k->c, PAWL_NOMEM, &err);
        else
            code = chat_with(k, prompt);
    }
    buf_free(&text);
    return code;
}

static int chat_run(cli_call *c)
{
    const char *reads = getenv("CLAUDE_CODE_SDK_READS_SESSION_STATE");
    chat *k;
    int code;

    if (c->bare && cli_given(c, "print") == NULL && cli_given(c, "input-format") != NULL)
        cli_give(c, "print", "-");
    if (cli_given(c, "print") == NULL)
        return cli_usage(c, "the interactive screen is not in this version: -p PROMPT asks once, --continue goes on");
    if ((k = calloc(1, sizeof *k)) == NULL)
        return cli_fail(c, PAWL_NOMEM, &(pawl_err){ PAWL_NOMEM, "no memory" });
    k->c = c;
    k->begun_ms = epoch_ms();
    k->states = c->bare && cli_given(c, "input-format") != NULL && reads != NULL && strcmp(reads, "1") == 0;
    arena_init(&k->mem, NULL, 4096);
    arena_init(&k->scratch, NULL, 16384);
    buf_init(&k->ahead, NULL);
    buf_init(&k->config, NULL);
    pthread_mutex_init(&k->asking, NULL);
    pthread_mutex_init(&k->writing, NULL);
    code = chat_call(k);
    if (c->bare && code != EXIT_DONE && !k->told && k->format == CHAT_STREAM)
        chat_print_refusal(k);
    arena_free(&k->mem);
    arena_free(&k->scratch);
    buf_free(&k->ahead);
    buf_free(&k->config);
    free(k);
    return code;
}

static const cli_option options[] = {
    { "print", "PROMPT", "send one prompt, and print the answer (-p); \"-\": read it from stdin; piped input is appended to it" },
    { "model", "PROVIDER/NAME", "the model if FILE names none; else PAWL_MODEL" },
    { "mode", "plan|default|acceptEdits|bypassPermissions", "what it may do without approval" },
    { "ask", "deny|wait", "what happens to a call that needs approval: deny it, or wait (exit 3); deny" },
    { "continue", NULL, "continue the latest chat of this folder" },
    { "resume", "RUN", "continue that chat" },
    { "max-turns", "N", "maximum number of requests to the model for one prompt" },
    { "max-attempts", "N", "attempts of a request of the built-in agent that fails for a passing reason; 10, within 10 minutes" },
    { "output-format", "text|json|stream-json", "the answer; one object with its cost; one frame a line during the turn" },
    { "input-format", "text|stream-json", "the format of stdin: text, or frames with -p -" },
    { "include-partial-messages", NULL, "with stream-json: also partial answers of the model" },
    { "system-prompt", "TEXT", "the system prompt of the built-in agent" },
    { "system-prompt-file", "PATH", "the same, from a file" },
    { "append-system-prompt", "TEXT", "added to the system prompt of the built-in agent" },
    { "tools", "default|NAMES", "the tools of the built-in agent, separated by commas; empty: none" },
    { "allowedTools", "RULES", "allow rules for this call, separated by commas: Read,Bash(git diff:*)" },
    { "disallowedTools", "RULES", "deny rules, which the run keeps" },
    { "add-dir", "DIR...", "a further folder of the workspace" },
    { "settings", "JSON|FILE", "more rules and hooks, in the form of settings.json" },
    { "setting-sources", "LIST", "user,project,local: settings that are not named allow nothing; they may still deny" },
    { "mcp-config", "JSON|FILE", "accepted for clients that pass it; servers in it are refused" },
    { "strict-mcp-config", NULL, "accepted for clients that pass it; there are no MCP servers" },
    { "max-thinking-tokens", "N", "a budget for the thinking of the model" },
    { "thinking", "disabled", "accepted for clients that pass it; no thinking is requested" },
    { "permission-prompt-tool", "stdio", "without a verb: the client answers questions, which are denied otherwise" },
    { "allow-dangerously-skip-permissions", NULL, "with frames: bypassPermissions may be set later" },
    { "fork-session", NULL, "with --continue or --resume: go on in a new run, and leave the old one" },
    { "session-id", "RUN", "the id of the new run" },
    { "without-client-hooks", NULL, "with --resume: give up hooks of an earlier client that this one does not have" },
    OPTION_ANCHOR,
    RECORD_OPTIONS,
    { "verbose", NULL, "print on stderr which tools are used" },
    { NULL, NULL, NULL },
};

const cli_verb verb_chat = {
    .name = "chat", .form = "[FILE]", .what = "send a prompt to an agent", .options = options, .most = 1, .extra = "a prompt is given by -p TEXT",
    .store = true, .acts = true, .run = chat_run,
    .refused = chat_refused,
    .about = "The agent is FILE, or a built-in agent with all tools. It works in this folder,\n"
             "and AGENTS.md, else CLAUDE.md, is added to its system prompt. The conversation\n"
             "is a run: it is stored, every verb works on it, and it can be killed at any\n"
             "time.\n"
             "\n"
             "Ctrl-C interrupts the turn, and prints the answer so far; a second one stops the\n"
             "program.\n"
             "\n"
             "Exit codes: 0 answered; 1 the turn failed, or was denied; 3 the run waits, and\n"
             "the waits are listed; 130 interrupted. docs/CHAT.md describes the frames of\n"
             "stream-json.",
    .example = "pawl chat -p 'what is in this folder?' --model anthropic/NAME\ngit diff | pawl chat -p 'review this' reviewer.yaml\n"
               "pawl chat --continue -p 'and the tests?'",
};
