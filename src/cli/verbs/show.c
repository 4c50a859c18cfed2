/* show.c - `pawl show`: the record of a run, its graph with its position, its state, its waits.
 *
 * Called by main.c on the main thread. Owns its session, which it frees; it drives no run. */
#include "cli/failed_tasks.h"
#include "cli/missing_secret.h"
#include "cli/run_driver.h"
#include "cli/ui/format.h"
#include "cli/verbs.h"
#include "engine/run/owner.h"
#include "kernel/state.h"
#include "net/net.h"

static void put_row(buf *b, const char *name, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    buf_fmt(b, "%-10s ", name);
    cli_clean(b, text, strlen(text));
    buf_char(b, '\n');
}

static void put_again(buf *b, const pawl_agent_view *view)
{
    buf text;

    buf_init(&text, NULL);
    words_again(&text, view, epoch_ms(), true);
    buf_char(&text, '\0');
    if (!text.failed)
        put_row(b, "again", text.data);
    buf_free(&text);
}

static void put_why(session *s, pawl_state *st, const pawl_value *reason, buf *b)
{
    const char *why = pawl_value_string(pawl_value_get(reason, "text"));
    buf text;

    buf_init(&text, NULL);
    buf_text(&text, why != NULL ? why : "");
    if (pawl_state_status(st) == PAWL_STATUS_REJECTED)
        put_refusal(s, &text);
    buf_char(&text, '\0');
    put_row(b, "why", why == NULL || text.failed ? why : text.data);
    buf_free(&text);
}

static void put_record(session *s, pawl_state *st, const pawl_head *head, const asks *all, buf *b)
{
    pawl_step *step = pawl_engine_step(s->engine);
    pawl_run_info info = {0};
    pawl_agent_view view;
    char when[32], text[160], hex[HASH_HEX + 1];
    const pawl_value *reason = pawl_state_reason(st);
    const char *mode = pawl_value_string(pawl_state_get(st, "@mode"));

    if (pawl_state_info(st, step, &info, NULL) != PAWL_OK)
        info = (pawl_run_info){0};
    put_row(b, "run", s->run);
    snprintf(text, sizeof text, "%s%s%s", pawl_agent_idle(st) ? "idle" : pawl_status_name(asks_status(all, pawl_state_status(st))), head->parked != NULL ? ", parked: " : "",
             head->parked != NULL ? head->parked : "");
    put_row(b, "status", text);
    if (pawl_agent_display(st, &view, NULL) == PAWL_OK && view.state != PAWL_SHOWN_NOTHING) {
        for (size_t i = 0; i < all->n; i++)
            if (!ask_is_childs(&all->all[i], s->run) && doubt_is(&all->all[i].w))
                view.state = PAWL_SHOWN_WAITING_FOR_USER_INPUT;
        if (pawl_agent_idle(st) && strcmp(agent_end(st), "interrupt") == 0)     /* in its journal it is done (A3), and takes the next message */
            snprintf(text, sizeof text, "Interrupted (idle)");
        else
            snprintf(text, sizeof text, "%s (%s)%s%s", pawl_shown_badge(view.state).text, pawl_shown_name(view.state),
                     view.tool_name != NULL ? ": " : "", view.tool_name != NULL ? view.tool_name : "");
        put_row(b, "agent", text);
        put_row(b, "error", view.message);
        put_again(b, &view);
    }
    put_why(s, st, reason, b);
    put_row(b, "waits for", missing_secret(&s->mem, st));
    if (pawl_state_status(st) == PAWL_STATUS_FAILED)
        failed_tasks_put(b, failed_tasks(&s->mem, st), "           ");
    put_row(b, "machine", pawl_state_machine(st, NULL));
    put_row(b, "file", s->path);
    put_row(b, "mode", mode != NULL && strcmp(mode, "default") != 0 ? mode : NULL);
    put_row(b, "context", info.context);
    put_row(b, "begun by", info.created_by);
    for (size_t i = 0; i < sizeof info.labels / sizeof *info.labels; i++)
        put_row(b, "label", info.labels[i]);
    cli_time(when, head->created_ms);
    put_row(b, "begun", when);
    cli_time(when, head->changed_ms);
    put_row(b, "changed", when);
    snprintf(text, sizeof text, "%llu %s, %llu %s", (unsigned long long)pawl_state_seq(st), pawl_state_seq(st) == 1 ? "entry" : "entries",
             (unsigned long long)pawl_state_steps(st), pawl_state_steps(st) == 1 ? "superstep" : "supersteps");
    put_row(b, "journal", text);
    hash_hex(&st->head, hex);
    put_row(b, "head", hex);
    put_row(b, "held by", owner_dead(head->owner) ? "a process that has died: `pawl resume` goes on" : head->owner);
    put_row(b, "store", cli_store_name(s->c));
}

static void put_state(session *s, pawl_state *st, buf *b, int columns)
{
    pawl_err err = {0};
    const char *json = pawl_state_json(st, pawl_engine_step(s->engine), &err);
    const pawl_value *all = json != NULL ? value_parse(&s->mem, json, strlen(json), "state", &err) : NULL, *key, *v;
    pawl_iter it = pawl_iter_of(all);

    if (pawl_value_size(all) > 0)
        buf_text(b, "\nstate\n");
    while ((v = pawl_iter_next(&it, &key)) != NULL) {
        buf_fmt(b, "  %-14s ", pawl_value_string(key));
        cli_short(b, v, columns > 30 ? (size_t)columns - 18 : 12);
        buf_char(b, '\n');
    }
}

static void put_graph(session *s, pawl_state *st, buf *b)
{
    pawl_err err = {0};
    const char *text = pawl_draw(s->machine, pawl_state_under(st, s->machine) ? st : NULL, PAWL_PICTURE_TEXT, pawl_engine_step(s->engine), &err);

    if (text == NULL)
        return;
    buf_char(b, '\n');
    buf_text(b, text);
    if (b->size > 0 && b->data[b->size - 1] != '\n')
        buf_char(b, '\n');
}

static void put_machines(session *s, buf *b)
{
    const char *text;

    for (size_t i = 0; (text = pawl_draw_own(i, PAWL_PICTURE_TEXT, pawl_engine_step(s->engine), NULL)) != NULL; i++)
        buf_fmt(b, "\n%s", text);
}

/* The displayed states of an agent, with their times. */
static void put_shown(session *s, buf *b)
{
    pawl_items *r = pawl_items_open(NULL, session_store(s), s->run, &(pawl_items_options){ .kinds = PAWL_ITEM_ARTIFACT }, NULL);
    pawl_item_change ch;
    char when[32];

    buf_text(b, "\nshown\n");
    while (r != NULL && pawl_items_next(r, &ch, NULL) == PAWL_OK) {
        const char *json = strcmp(ch.name, "state") == 0 ? pawl_items_json(r, NULL) : NULL;
        const pawl_value *v = json != NULL ? value_parse(&s->mem, json, strlen(json), "state", NULL) : NULL, *more;
        const char *state = pawl_value_string(pawl_value_get(v, "state"));

        if (state == NULL)
            continue;
        more = pawl_value_get(v, "tool_name") != NULL ? pawl_value_get(v, "tool_name")
               : pawl_value_get(v, "session_id") != NULL ? pawl_value_get(v, "session_id")
               : pawl_value_get(v, "message");
        cli_time(when, ch.time_ms);
        buf_fmt(b, "  %s  %s%s", when, state, more != NULL ? "  " : "");
        if (more != NULL)
            cli_short(b, more, 100);
        buf_char(b, '\n');
    }
    pawl_items_close(r);
}

static const pawl_value *as_json(session *s, pawl_state *st, const pawl_head *head, const asks *all)
{
    arena *mem = &s->mem;
    pawl_step *step = pawl_engine_step(s->engine);
    pawl_err err = {0};
    const char *json = pawl_state_json(st, step, &err);
    const pawl_value *state = json != NULL ? value_parse(mem, json, strlen(json), "state", &err) : NULL, *v;
    const pawl_value *tasks = value_pack(mem, NULL, "[]");
    const char *name, *at, *why;
    pawl_agent_view view;
    char hex[HASH_HEX + 1];

    for (size_t i = 0; (name = pawl_state_task(st, i, &at)) != NULL; i++)
        tasks = value_push(mem, tasks, value_pack(mem, NULL, "{s:s,s:s}", "at", at, "task", name));
    v = value_pack(mem, NULL, "{s:i,s:i,s:s,s:s,s:u,s:v,s:s,s:u,s:v,s:v}", "changed_ms", head->changed_ms, "created_ms", head->created_ms, "machine",
                   pawl_state_machine(st, NULL), "run", s->run, "seq", pawl_state_seq(st), "state", state, "status",
                   pawl_status_name(asks_status(all, pawl_state_status(st))), "steps", pawl_state_steps(st), "tasks", tasks, "waits", asks_json(mem, all));
    if (pawl_state_reason(st) != NULL)
        v = value_with(mem, v, "reason", pawl_state_reason(st));
    hash_hex(&st->head, hex);
    v = value_with(mem, v, "head", value_string(mem, hex, strlen(hex)));
    if ((why = missing_secret(mem, st)) != NULL)
        v = value_with(mem, v, "waits_for", value_string(mem, why, strlen(why)));
    if (pawl_state_status(st) == PAWL_STATUS_FAILED && pawl_value_size(failed_tasks(mem, st)) > 0)
        v = value_with(mem, v, "failed", failed_tasks(mem, st));
    if (pawl_agent_idle(st))
        v = value_with(mem, v, "idle", value_bool(mem, true));
    if (pawl_agent_display(st, &view, NULL) == PAWL_OK && view.again_ms > 0)
        v = value_with(mem, v, "again", again_json(mem, &view));
    if (head->parked != NULL)
        v = value_with(mem, v, "parked", value_string(mem, head->parked, strlen(head->parked)));
    return v;
}

static int show(session *s, pawl_state *st, const asks *all)
{
    pawl_store *store = session_store(s);
    pawl_head head;
    pawl_err err = {0};
    pawl_code rc = store->verbs->head(store, s->run, &head, &err);
    char owner[160] = "", parked[256] = "";
    buf b;

    if (rc != PAWL_OK)
        return cli_fail(s->c, rc, &err);
    if (head.owner != NULL)     /* its texts are lent until the next call on the store */
        snprintf(owner, sizeof owner, "%s", head.owner), head.owner = owner;
    if (head.parked != NULL)
        snprintf(parked, sizeof parked, "%s", head.parked), head.parked = parked;
    if (s->c->json)
        return cli_json(s->c, as_json(s, st, &head, all)) ? EXIT_DONE : EXIT_FAILED;
    buf_init(&b, NULL);
    put_record(s, st, &head, all, &b);
    put_graph(s, st, &b);
    put_state(s, st, &b, cli_columns(1));
    if (cli_given(s->c, "states") != NULL && session_is_agent(s))
        put_shown(s, &b);
    else if (cli_given(s->c, "states") != NULL)
        put_machines(s, &b);
    cli_put(s->c, &b);
    buf_free(&b);
    print_asks(s, all);
    return EXIT_DONE;
}

/* --output: what the run gives at its end, as JSON; nothing, if it is not completed, or gives nothing. */
static int show_output(session *s, pawl_state *st)
{
    pawl_err err = {0};
    const pawl_value *out = pawl_state_status(st) == PAWL_STATUS_COMPLETED ? session_output(s, st, &err) : NULL;

    if (err.code != PAWL_OK)
        return cli_fail(s->c, PAWL_EFFECT, &err);
    return out == NULL || cli_json(s->c, out) ? EXIT_DONE : EXIT_FAILED;
}

static int show_run(cli_call *c)
{
    uint64_t seq = 0;
    pawl_err err = {0};
    pawl_state *st = NULL, *old = NULL;
    pawl_code rc;
    asks all = { .works = true };
    session *s;
    int code;

    if (!cli_number(c, "at", 1, UINT64_MAX, 0, &seq))
        return EXIT_USAGE;
    if ((s = session_of_run(c, c->args[0], &code)) == NULL)
        return code;
    if (seq > 0) {
        rc = pawl_history_state(session_store(s), s->run, seq, &old, &err);
        st = old;
    } else {
        st = pawl_run_state(s->engine, s->run, &err);
        rc = st != NULL ? PAWL_OK : err.code < 0 ? err.code : PAWL_IO;
    }
    if (rc == PAWL_OK && seq == 0)
        (void)session_asks(s, s->run, &all);
    else if (rc == PAWL_OK)
        (void)asks_own(&s->mem, st, &all);
    if (rc != PAWL_OK)
        code = cli_fail(c, rc, &err);
    else
        code = cli_given(c, "output") != NULL ? show_output(s, st) : show(s, st, &all);
    pawl_state_free(old);
    session_free(s);
    return code;
}

static const cli_option options[] = {
    { "at", "SEQ", "the run after this entry; `pawl log` prints the numbers" },
    { "states", NULL, "of an agent the states that it went through, with times; of a graph the tables of Pawl's state machines for runs and tasks" },
    { "output", NULL, "only the output of a completed run, as JSON; nothing if it gives none" },
    { "json", NULL, "one JSON object: {\"run\",\"status\",\"state\",\"tasks\",\"waits\",...}" },
    { NULL, NULL, NULL },
};

const cli_verb verb_show = {
    .name = "show", .form = "RUN", .what = "show the graph, position, state and waits of a run", .options = options, .least = 1, .most = 1,
    .store = true, .looks = true, .run = show_run, .example = "pawl show @\npawl show survey-7k2m --at 3\npawl show @ --json | jq .state",
};
