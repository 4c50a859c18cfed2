/* ways_test.c - whatever call of the library begins a run or goes on with one, the mode, the rights, the budget and the retention of its record hold.
 *
 * Each call that has an engine, a host or a handle stands in a row of one of the tables below, or among those that begin and drive nothing. The headers are
 * read: a call that stands nowhere is a failure, so a new one says here what it does. */
#include "hosting.h"
#include "json/json.h"
#include "pawl/flow.h"

#include <ctype.h>

/* ---- what is run ------------------------------------------------------------------------------------------- */

static int acted;

static pawl_code acts(const pawl_job *job, pawl_reply *reply, void *arg)
{
    (void)job, (void)arg;
    acted++;
    return pawl_reply_json(reply, "{\"n\":1}");
}

static pawl_code asks(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_ask(s, pawl_pack(s, "s", "go?"), NULL);
}

static pawl_machine *made(pawl_graph *g)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_graph_compile(g, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* Asks, and then acts, which needs acceptEdits and ten tokens. */
static pawl_machine *acting(void)
{
    const pawl_limits limits = { .cost = { .tokens = 10 } };
    pawl_graph *g = pawl_graph_new("acting", 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_modes(g, PAWL_GATE_DENIES);
    pawl_graph_node(g, "wait", asks, NULL);
    pawl_graph_effect(g, "act", &limits);
    pawl_graph_work(g, "act", "act");
    pawl_graph_requires(g, "act", "acceptEdits");
    pawl_graph_chain(g, PAWL_START, "wait", "act", PAWL_END, NULL);
    return made(g);
}

static pawl_code spawns(pawl_step *s, void *arg)
{
    const pawl_value *out;

    return arg == NULL ? pawl_spawn(s, "acting", NULL, &out) : pawl_spawn_with(s, "acting", NULL, NULL, &out);
}

static pawl_machine *parent(const char *name, void *arg)
{
    pawl_graph *g = pawl_graph_new(name, 1);

    pawl_graph_channel(g, "n", PAWL_RULE_SUM);
    pawl_graph_modes(g, PAWL_GATE_DENIES);
    pawl_graph_node(g, "child", spawns, arg);
    pawl_graph_chain(g, PAWL_START, "child", PAWL_END, NULL);
    return made(g);
}

/* A reducer has no modes of its own: its child has those of the record. */
static pawl_code reduces(pawl_step *s, const pawl_input_event *h, void *arg)
{
    (void)arg;
    if (h->kind == PAWL_EV_START)
        return pawl_flow_spawn(s, "child", "acting", NULL, NULL);
    return h->kind == PAWL_EV_RECEIPT ? pawl_flow_complete(s) : PAWL_IGNORED;
}

static pawl_machine *reducer(void)
{
    pawl_err err = {0};
    pawl_machine *m = pawl_flow_reducer("reducer", 1, NULL, 0, reduces, NULL, NULL, &err);

    if (m == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* An engine on the file, whose first machine is `first`. */
static pawl_engine *engine_of(pawl_machine *first)
{
    const bool acts_itself = strcmp(pawl_machine_name(first), "acting") == 0;
    pawl_err err = {0};
    pawl_engine *e = pawl_engine_new(first, file_store(), &err);

    if (e == NULL || (!acts_itself && pawl_engine_add(e, acting(), &err) != PAWL_OK) ||
        pawl_engine_effect(e, "act", acts, NULL, PAWL_CLASS_AT_LEAST_ONCE, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    return e;
}

/* ---- the calls that begin -------------------------------------------------------------------------------------- */

static pawl_code spawned_with(const pawl_run_info *info, const char *input, bool record)
{
    pawl_err err = {0};
    pawl_host *h = pawl_host_new(engine_of(acting()), file_store(), &err);
    pawl_code rc;

    if (h == NULL)
        CHECK_FAIL("%s", err.text);
    rc = record ? pawl_host_spawn_with(h, NULL, info, NULL, NULL, &err) : pawl_host_spawn(h, NULL, info->id, input, NULL, &err);
    pawl_host_drain(h);
    pawl_host_free(h);
    return rc;
}

static pawl_code on_engine(pawl_machine *first, const pawl_run_info *info)
{
    pawl_engine *e = engine_of(first);
    const pawl_code rc = pawl_run_with(e, info, NULL, NULL);

    pawl_engine_free(e);
    return rc;
}

static pawl_code by_run(const pawl_run_info *info, const char *input)
{
    pawl_engine *e = engine_of(acting());
    const pawl_code rc = pawl_run(e, info->id, input, NULL);

    pawl_engine_free(e);
    return rc;
}

static pawl_code by_begin(const pawl_run_info *info, const char *input)
{
    pawl_engine *e = engine_of(acting());
    const pawl_code rc = pawl_begin(e, info->id, input, NULL);

    pawl_engine_free(e);
    return rc;
}

static pawl_code by_begin_with(const pawl_run_info *info, const char *input)
{
    pawl_engine *e = engine_of(acting());
    const pawl_code rc = pawl_begin_with(e, info, NULL, NULL);

    (void)input;
    pawl_engine_free(e);
    return rc;
}

static pawl_code by_run_with(const pawl_run_info *info, const char *input) { return (void)input, on_engine(acting(), info); }
static pawl_code by_host_spawn(const pawl_run_info *info, const char *input) { return spawned_with(info, input, false); }
static pawl_code by_host_spawn_with(const pawl_run_info *info, const char *input) { return spawned_with(info, input, true); }
static pawl_code by_spawn(const pawl_run_info *info, const char *input) { return (void)input, on_engine(parent("parent", NULL), info); }
static pawl_code by_flow_spawn(const pawl_run_info *info, const char *input) { return (void)input, on_engine(reducer(), info); }

static pawl_code by_spawn_with(const pawl_run_info *info, const char *input)
{
    static int with;

    (void)input;
    return on_engine(parent("parent_with", &with), info);
}

static pawl_code forked(const pawl_run_info *info, const pawl_event *change)
{
    pawl_engine *e = engine_of(acting());
    pawl_code rc = pawl_run_with(e, info, NULL, NULL);

    if (rc >= 0)
        rc = change == NULL ? pawl_run_fork(e, "r", 0, "f", NULL) : pawl_run_fork_with(e, "r", 0, "f", change, NULL);
    pawl_engine_free(e);
    return rc;
}

static pawl_code by_fork(const pawl_run_info *info, const char *input) { return (void)input, forked(info, NULL); }

static pawl_code by_fork_with(const pawl_run_info *info, const char *input)
{
    (void)input;
    return forked(info, &(pawl_event){ .kind = PAWL_EV_UPDATE, .value = "{\"n\":1}" });
}

static bool line_kept(void *ctx, pawl_bytes line)
{
    buf *b = ctx;

    buf_put(b, line.data, line.size);
    return !b->failed;
}

static bool all_at_once(void *ctx, pawl_bytes *piece)
{
    pawl_bytes *rest = ctx;

    *piece = *rest;
    *rest = (pawl_bytes){0};
    return true;
}

/* Out of one store, and into another. */
static pawl_code imported(const pawl_run_info *info, bool pieces)
{
    pawl_code rc = on_engine(acting(), info);
    pawl_store *s = file_store();
    pawl_err err = {0};
    pawl_bytes all;
    buf lines;

    buf_init(&lines, NULL);
    said(pawl_history_export(s, "r", line_kept, &lines, &err), &err);
    pawl_store_free(s);
    path_gone();
    s = file_store();
    all = (pawl_bytes){ lines.data, lines.size };
    if (rc >= 0)
        rc = pieces ? pawl_history_import_from(s, all_at_once, &all, NULL, &err) : pawl_history_import(s, all, NULL, &err);
    said(rc, &err);
    pawl_store_free(s);
    buf_free(&lines);
    return rc;
}

static pawl_code by_import(const pawl_run_info *info, const char *input) { return (void)input, imported(info, false); }
static pawl_code by_import_from(const pawl_run_info *info, const char *input) { return (void)input, imported(info, true); }

typedef struct begins {
    const char *call;
    pawl_code (*fn)(const pawl_run_info *info, const char *input);
    const char *run;            /* the one that asks; NULL: a child of "r" */
    bool plain;                 /* the call has no record: mode and rights are input, and it has neither budget nor retention */
} begins;

static const begins begin_table[] = {
    { "pawl_run", by_run, "r", true }, { "pawl_begin", by_begin, "r", true }, { "pawl_host_spawn", by_host_spawn, "r", true },
    { "pawl_run_with", by_run_with, "r", false }, { "pawl_begin_with", by_begin_with, "r", false },
    { "pawl_host_spawn_with", by_host_spawn_with, "r", false },
    { "pawl_spawn", by_spawn, NULL, false }, { "pawl_spawn_with", by_spawn_with, NULL, false }, { "pawl_flow_spawn", by_flow_spawn, NULL, false },
    { "pawl_run_fork", by_fork, "f", false }, { "pawl_run_fork_with", by_fork_with, "f", false },
    { "pawl_history_import", by_import, "r", false }, { "pawl_history_import_from", by_import_from, "r", false },
};
enum { BEGINS = sizeof begin_table / sizeof *begin_table };

/* ---- the calls that go on ---------------------------------------------------------------------------------------- */

/* Each gives the answer to the run, which then acts if it may, and leaves no engine open. */

static void answer_left(const char *run)
{
    pawl_store *s = file_store();
    pawl_delivery d = { .id = "a", .kind = PAWL_DELIVER_ANSWER, .value = { "true", 4 } };
    pawl_engine *e = engine_of(acting());
    pawl_state *st = pawl_run_state(e, run, NULL);
    pawl_wait w;

    CHECK_INT(pawl_state_wait(st, 0, pawl_engine_step(e), &w, NULL), PAWL_OK);
    d.name = w.id;
    CHECK_INT(s->verbs->deliver(s, run, &d, NULL), PAWL_OK);
    pawl_engine_free(e);
    pawl_store_free(s);
}

static void on_by_answer(const char *run)
{
    pawl_engine *e = engine_of(acting());

    CHECK(pawl_answer(e, run, NULL, "true", NULL) >= 0);
    pawl_engine_free(e);
}

static void on_by_event(const char *run)
{
    pawl_engine *e = engine_of(acting());
    pawl_event ev = { .kind = PAWL_EV_ANSWER, .value = "true" };
    pawl_state *st = pawl_run_state(e, run, NULL);
    pawl_wait w;
    char id[300];

    CHECK_INT(pawl_state_wait(st, 0, pawl_engine_step(e), &w, NULL), PAWL_OK);
    snprintf(id, sizeof id, "%s", w.id);
    ev.id = id;
    CHECK(pawl_event_send(e, run, &ev, NULL) >= 0);
    pawl_engine_free(e);
}

static void on_by_run(const char *run)
{
    pawl_engine *e = engine_of(acting());

    answer_left(run);
    CHECK(pawl_run(e, run, NULL, NULL) >= 0);
    pawl_engine_free(e);
}

static void on_by_run_with(const char *run)
{
    pawl_engine *e = engine_of(acting());

    answer_left(run);
    CHECK(pawl_run_with(e, &(pawl_run_info){ .id = run }, NULL, NULL) >= 0);
    pawl_engine_free(e);
}

static void on_by_work(const char *run)
{
    pawl_engine *e = engine_of(acting());

    answer_left(run);
    CHECK_INT(pawl_work(e, 0, NULL), PAWL_OK);
    pawl_engine_free(e);
}

static bool is_over(const char *run)
{
    pawl_store *s = file_store();
    pawl_head head;
    const bool over = s->verbs->head(s, run, &head, NULL) == PAWL_OK && head.over;

    pawl_store_free(s);
    return over;
}

static void on_by_host(const char *run)
{
    pawl_err err = {0};
    pawl_host *h;
    int tries = 0;

    answer_left(run);
    if ((h = pawl_host_new(engine_of(acting()), file_store(), &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    while (!is_over(run))
        again(&tries);
    pawl_host_free(h);
}

static void on_by_handle(const char *run)
{
    pawl_err err = {0};
    pawl_host *h = pawl_host_new(engine_of(acting()), file_store(), &err);
    pawl_handle *a = pawl_host_get(h, run, &err);
    int tries = 0;

    said(pawl_handle_answer(a, NULL, "true", &err), &err);
    while (!is_over(run))
        again(&tries);
    pawl_handle_free(a);
    pawl_host_free(h);
}

typedef struct goes_on { const char *call; void (*fn)(const char *run); } goes_on;

static const goes_on on_table[] = {
    { "pawl_answer", on_by_answer }, { "pawl_event_send", on_by_event }, { "pawl_run", on_by_run }, { "pawl_run_with", on_by_run_with },
    { "pawl_work", on_by_work }, { "pawl_host_new", on_by_host }, { "pawl_handle_answer", on_by_handle },
};
enum { GOES_ON = sizeof on_table / sizeof *on_table };

/* Calls that leave a message in the way of pawl_handle_answer, or do nothing to a run. */
static const char other_calls[] =
    " pawl_engine_abandon pawl_engine_add pawl_engine_admit pawl_engine_anchor pawl_engine_approvers pawl_engine_blobs pawl_engine_budget"
    " pawl_engine_clock pawl_engine_drain pawl_engine_durability pawl_engine_effect pawl_engine_fd pawl_engine_free pawl_engine_grace"
    " pawl_engine_late pawl_engine_lease pawl_engine_live pawl_engine_machine pawl_engine_notice pawl_engine_refolds pawl_engine_reply"
    " pawl_engine_reply_max pawl_engine_secret pawl_engine_settings pawl_engine_sql pawl_engine_step pawl_engine_stop pawl_engine_store"
    " pawl_engine_add_tell pawl_engine_threads pawl_engine_wake pawl_engine_watch pawl_handle_allow pawl_handle_asks pawl_handle_by pawl_handle_channel"
    " pawl_handle_chunks pawl_handle_free pawl_handle_mode pawl_handle_update"
    " pawl_handle_interrupt pawl_handle_is_done pawl_handle_is_error pawl_handle_is_idle pawl_handle_is_processing pawl_handle_permit"
    " pawl_handle_retry pawl_handle_run pawl_handle_send pawl_handle_shutdown pawl_handle_state pawl_handle_states pawl_handle_subscribe pawl_handle_wait"
    " pawl_host_bind pawl_host_drain pawl_host_free pawl_host_get pawl_host_list pawl_host_trouble pawl_items_open pawl_run_get pawl_run_loader"
    " pawl_run_reason pawl_run_state pawl_stream_open ";

/* ---- the headers ----------------------------------------------------------------------------------------------------- */

static bool is_row(const char *call)
{
    char word[90];

    for (size_t i = 0; i < BEGINS; i++)
        if (strcmp(begin_table[i].call, call) == 0)
            return true;
    for (size_t i = 0; i < GOES_ON; i++)
        if (strcmp(on_table[i].call, call) == 0)
            return true;
    snprintf(word, sizeof word, " %s ", call);
    return strstr(other_calls, word) != NULL;
}

/* Whether the declaration is of a call that could begin or drive a run. */
static bool could_drive(const char *declaration)
{
    static const char *const signs[] = { "pawl_engine *e", "pawl_host *h", "pawl_handle *a", "spawn", "import" };

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(declaration, signs[i]) != NULL)
            return true;
    return false;
}

/* The name before the first parenthesis that follows a name of ours. */
static void name_of(const char *declaration, char out[80])
{
    const char *end = strchr(declaration, '('), *from;

    while (end != NULL && strncmp(end, "((", 2) == 0)
        end = strchr(end + 2, '(');
    from = end;
    while (from != NULL && from > declaration && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    snprintf(out, 80, "%.*s", from != NULL ? (int)(end - from) : 0, from != NULL ? from : "");
}

static size_t header_read(const char *name)
{
    static char text[1 << 17];
    char file[400], call[80];
    size_t n, seen = 0;
    FILE *f;

    snprintf(file, sizeof file, "%s/include/pawl/%s", PAWL_SOURCE_DIR, name);
    if ((f = fopen(file, "r")) == NULL)
        CHECK_FAIL("%s cannot be read", file);
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    for (char *at = text, *end; (at = strstr(at, "PAWL_API ")) != NULL; at = end + 1) {
        if ((end = strchr(at, ';')) == NULL)
            break;
        *end = '\0';
        if (!could_drive(at))
            continue;
        seen++;
        name_of(at, call);
        if (!is_row(call))
            CHECK_FAIL("%s: %s stands in no table of test/host/ways_test.c: does it begin a run, go on with one, or neither?", name, call);
    }
    return seen;
}

PAWL_TEST(test_P1_each_call_that_could_drive_a_run_stands_in_a_table)
{
    static const char *const headers[] = { "engine.h", "host.h", "history.h", "flow.h", "kernel/node.h", "stream.h", "items.h" };
    size_t seen = 0;

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        seen += header_read(headers[i]);
    CHECK(seen >= BEGINS + GOES_ON);
}

/* ---- what holds ---------------------------------------------------------------------------------------------------------- */

static bool see_child(void *ctx, const pawl_head *head)
{
    if (head->parent != NULL)
        snprintf(ctx, 200, "%s", head->run);
    return head->parent == NULL;
}

/* Begins a run by that call; *run: what waits for the answer. False: it was refused. */
static bool begun(const begins *b, pawl_run_info *info, char run[200])
{
    char input[100];
    pawl_code rc;

    acted = 0;
    path_new("ways");
    if (info->rights != NULL)
        snprintf(input, sizeof input, "{\"@mode\":\"%s\",\"@rights\":\"%s\"}", info->mode, info->rights);
    else
        snprintf(input, sizeof input, "{\"@mode\":\"%s\"}", info->mode);
    info->id = "r";
    info->retention = "keep:7d";
    rc = b->fn(info, input);
    snprintf(run, 200, "%s", b->run != NULL ? b->run : "");
    if (rc < 0)
        return false;
    pawl_engine *e = engine_of(b->run != NULL ? acting() : strcmp(b->call, "pawl_flow_spawn") == 0 ? reducer()
                               : parent(strcmp(b->call, "pawl_spawn") == 0 ? "parent" : "parent_with", strcmp(b->call, "pawl_spawn") == 0 ? NULL : run));
    pawl_store *s = pawl_engine_store(e);

    if (b->run != NULL)
        CHECK(pawl_run(e, run, NULL, NULL) >= 0);
    else
        CHECK_INT(s->verbs->list(s, &(pawl_filter){ .limit = 10 }, see_child, run, NULL), PAWL_OK);
    pawl_engine_free(e);
    return true;
}

static void updated(const char *run, const char *value)
{
    pawl_engine *e = engine_of(acting());

    CHECK(pawl_event_send(e, run, &(pawl_event){ .kind = PAWL_EV_UPDATE, .by = "ann", .value = value }, NULL) >= 0);
    pawl_engine_free(e);
}

static void does_not_act(const begins *b, pawl_run_info info, const char *update)
{
    char run[200];

    if (begun(b, &info, run)) {
        if (update != NULL)
            updated(run, update);
        on_by_answer(run);
        CHECK(is_over(run));
    }
    if (acted != 0)
        CHECK_FAIL("%s: mode %s, rights %s: it acted", b->call, info.mode, info.rights != NULL ? info.rights : "none");
    path_gone();
}

PAWL_TEST(test_P1_whatever_call_begins_a_run_its_mode_and_its_rights_hold)
{
    char run[200];

    for (size_t i = 0; i < BEGINS; i++) {
        const begins *b = &begin_table[i];

        CHECK(begun(b, &(pawl_run_info){ .mode = "acceptEdits" }, run));
        on_by_answer(run);
        if (acted != 1)
            CHECK_FAIL("%s: it did not act, so the rest proves nothing", b->call);
        path_gone();
        does_not_act(b, (pawl_run_info){ .mode = "plan" }, NULL);
        does_not_act(b, (pawl_run_info){ .mode = "default" }, NULL);
        does_not_act(b, (pawl_run_info){ .mode = "bypassPermissions", .rights = "default" }, NULL);
        does_not_act(b, (pawl_run_info){ .mode = "default", .rights = "default" }, "{\"@mode\":\"bypassPermissions\"}");
    }
}

PAWL_TEST(test_A9_G10_whatever_call_begins_a_run_its_budget_and_its_retention_hold)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_run_info its;
    char run[200];

    for (size_t i = 0; i < BEGINS; i++) {
        const begins *b = &begin_table[i];
        pawl_engine *e;

        if (b->plain)
            continue;
        CHECK(begun(b, &(pawl_run_info){ .mode = "acceptEdits", .budget = { .tokens = 5 } }, run));
        on_by_answer(run);
        if (acted != 0)
            CHECK_FAIL("%s: it acted, beyond its budget", b->call);
        e = engine_of(acting());
        CHECK_INT(pawl_state_info(pawl_run_state(e, run, NULL), step, &its, NULL), PAWL_OK);
        CHECK_STR(its.retention, "keep:7d");
        pawl_engine_free(e);
        path_gone();
    }
    pawl_step_free(step);
}

PAWL_TEST(test_P1_whatever_call_goes_on_with_a_run_its_mode_and_its_rights_hold)
{
    static const pawl_run_info low[] = { { .mode = "plan" }, { .mode = "default" }, { .mode = "acceptEdits", .rights = "plan" } };
    char run[200];

    for (size_t i = 0; i < GOES_ON; i++) {
        pawl_run_info info = { .mode = "acceptEdits" };

        CHECK(begun(&begin_table[3], &info, run));
        on_table[i].fn(run);
        if (acted != 1)
            CHECK_FAIL("%s: it did not act, so the rest proves nothing", on_table[i].call);
        path_gone();
        for (size_t k = 0; k < sizeof low / sizeof *low; k++) {
            info = low[k];
            CHECK(begun(&begin_table[3], &info, run));
            on_table[i].fn(run);
            if (acted != 0)
                CHECK_FAIL("%s: mode %s, rights %s: it acted", on_table[i].call, low[k].mode, low[k].rights != NULL ? low[k].rights : "none");
            path_gone();
        }
    }
}

/* ---- agents --------------------------------------------------------------------------------------------------------------- */

static pawl_handle *agent_with(stage *g, pawl_run_info info, const char *input)
{
    pawl_handle *a = NULL;
    pawl_err err = {0};

    host_begin(g, true, 0);
    info.id = "r";
    said(pawl_host_spawn_with(g->h, NULL, &info, input, &a, &err), &err);
    return a;
}

PAWL_TEST(test_P1_an_agent_begun_in_plan_mode_denies_an_edit_and_asks_nobody)
{
    stage g;
    pawl_handle *a = agent_with(&g, (pawl_run_info){ .mode = "plan" }, "{\"input\":\"use edit_file e1 {\\\"file_path\\\":\\\"a\\\"}\"}");

    CHECK_STR(rests(a), "idle");        /* the model was told */
    CHECK_STR(g.log, "");
    pawl_handle_free(a);
    host_end(&g);
}

PAWL_TEST(test_P1_an_agent_never_gets_above_its_rights)
{
    pawl_delivery up = { .id = "up", .kind = PAWL_DELIVER_UPDATE, .by = "ann", .value = { "{\"@mode\":\"bypassPermissions\"}", 29 } };
    stage g;
    pawl_handle *a = agent_with(&g, (pawl_run_info){ .rights = "default" }, "{\"@mode\":\"bypassPermissions\",\"input\":\"ask 1\"}");
    pawl_store *s = file_store();

    CHECK_STR(rests(a), "waiting_for_permission");
    CHECK_INT(s->verbs->deliver(s, "r", &up, NULL), PAWL_OK);
    said(pawl_handle_permit(a, NULL, false, NULL, NULL, NULL), &(pawl_err){0});
    CHECK_STR(comes_to(a, PAWL_UNTIL_DONE), "done");
    sends(a, "ask 2");
    CHECK_STR(comes_to(a, PAWL_UNTIL_ASKS), "waiting_for_permission");
    CHECK_STR(g.log, "");
    pawl_store_free(s);
    pawl_handle_free(a);
    host_end(&g);
}
