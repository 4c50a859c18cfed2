/* view_test.c - the picture of a run as text: what stands there while it is at work, what stays, and how wide and high it gets. */
#include "cli/ui/view.h"
#include "lib/engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- a run that is looked at ----------------------------------------------------------------------------- */

/* Time in the lines is the test's own: changes come at `now`. */
typedef struct look { town t; pawl_items *r; view *v; int64_t now; buf out, drawn; int columns; bool colour; int calls; } look;

static void look_begin(look *l, pawl_machine *m, int columns, bool colour)
{
    town_begin(&l->t, m, NULL);
    CHECK_INT(pawl_begin(l->t.e, "r", "{}", &l->t.err), PAWL_OK);
    l->r = pawl_items_open(l->t.e, NULL, "r", &(pawl_items_options){ .kinds = VIEW_KINDS }, &l->t.err);
    l->v = view_new(colour);
    l->now = 1000;
    l->columns = columns;
    l->calls = 0;
    buf_init(&l->out, NULL);
    buf_init(&l->drawn, NULL);
    CHECK(l->r != NULL && l->v != NULL);
}

static void look_on(look *l, bool all)
{
    pawl_item_change c;

    while (pawl_items_next(l->r, &c, &l->t.err) == PAWL_OK) {
        const char *json = view_reads(&c) ? pawl_items_json(l->r, &l->t.err) : "null";

        c.time_ms = l->now;
        if (strcmp(c.part, "started") == 0 && strcmp(json, "{\"attempt\":2}") == 0)
            view_draw(l->v, l->t.now - 2500, l->columns, 20, &l->drawn);
        CHECK(view_feed(l->v, &c, json));
    }
    view_past(l->v, l->columns, all, &l->out);
}

static void look_end(look *l)
{
    pawl_items_close(l->r);
    view_free(l->v);
    town_end(&l->t);
    buf_free(&l->out);
    buf_free(&l->drawn);
}

static void is_text(buf *b, const char *text)
{
    buf_char(b, '\0');
    CHECK_STR(b->data, text);
    buf_reset(b);
}

static void drawn_is(look *l, int rows, const char *text)
{
    view_draw(l->v, l->now, l->columns, rows, &l->drawn);
    is_text(&l->drawn, text);
}

/* ---- an essay: a call, a gate ---------------------------------------------------------------------------------- */

static pawl_code writes(const pawl_job *job, pawl_reply *reply, void *arg)
{
    look *l = arg;

    (void)job;
    l->now += 300;
    look_on(l, false);
    view_draw(l->v, l->now + 200, l->columns, 20, &l->drawn);
    l->now += 2700;
    return pawl_reply_string(reply, "first");
}

static void essay(int columns, bool colour, const char *draws, const char *past, const char *waits, const char *end)
{
    look l;

    look_begin(&l, town_essay(NULL), columns, colour);
    CHECK_INT(pawl_engine_effect(l.t.e, "llm", writes, &l, PAWL_CLASS_AT_LEAST_ONCE, &l.t.err), PAWL_OK);
    CHECK_INT(town_run(&l.t, "r", NULL), PAWL_INTERRUPTED);
    is_text(&l.drawn, draws);
    look_on(&l, false);
    is_text(&l.out, past);
    l.now += 60000;
    drawn_is(&l, 20, waits);
    CHECK_INT(pawl_answer(l.t.e, "r", "publish", "true", &l.t.err), PAWL_HALTED);
    l.now += 3600000;
    look_on(&l, false);
    is_text(&l.out, end);
    drawn_is(&l, 20, "");
    look_end(&l);
}

PAWL_TEST(test_a_node_at_work_has_a_line_and_another_when_it_is_done)
{
    essay(80, false, "  \\      draft  llm  0.2 s\n", "  done   draft  2.7 s\n", "  waits  publish  publish it?  1 min 0 s\n",
          "  done   publish  0.0 s\n");
    essay(40, false, "  \\      draft  llm  0.2 s\n", "  done   draft  2.7 s\n", "  waits  publish  publish it?  1 min 0 s\n",
          "  done   publish  0.0 s\n");
    essay(200, false, "  \\      draft  llm  0.2 s\n", "  done   draft  2.7 s\n", "  waits  publish  publish it?  1 min 0 s\n",
          "  done   publish  0.0 s\n");
    essay(80, true, "  \x1b[36m\\\x1b[0m      draft  llm  0.2 s\n", "  \x1b[32m""done\x1b[0m   draft  2.7 s\n",
          "  \x1b[33mwaits\x1b[0m  publish  publish it?  1 min 0 s\n", "  \x1b[32m""done\x1b[0m   publish  0.0 s\n");
}

PAWL_TEST(test_in_a_pipe_waits_and_answers_are_shown_too)
{
    look l;

    look_begin(&l, town_essay(NULL), 80, false);
    town_acts(&l.t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    l.t.replies[0] = "\"first\"";
    CHECK_INT(town_run(&l.t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_event_send(l.t.e, "r", &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = "true", .by = "bob", .note = "fine" }, &l.t.err),
              PAWL_HALTED);
    look_on(&l, true);
    is_text(&l.out, "  done   draft  0.0 s\n  waits  publish  publish it?\n  answer publish  true, by bob: fine\n  done   publish  0.0 s\n");
    look_end(&l);
}

/* ---- a fan-out --------------------------------------------------------------------------------------------------- */

enum { PARTS = 20 };

static pawl_code plans(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < PARTS; i++)
        pawl_send(s, "measure", pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

static pawl_code measures(pawl_step *s, void *arg)
{
    const pawl_value *text;
    pawl_code rc = pawl_call(s, "run-1a2b3c4d", pawl_pack(s, "{s:[s,s,v]}", "run", "wc", "-l", pawl_args(s)), &text);

    (void)arg;
    return rc == PAWL_PENDING ? rc : pawl_follow(s);
}

static pawl_code counts(const pawl_job *job, pawl_reply *reply, void *arg)
{
    look *l = arg;
    int64_t part = pawl_value_int(pawl_value_find(job->args, "/run/2"));

    l->now = l->t.now + 500;
    look_on(l, true);
    if (part == 7)
        return pawl_reply_fail(reply, PAWL_EFFECT, "status 1: no\nsuch file \x1b[2J");
    return part == 3 && job->attempt == 1 ? pawl_reply_fail(reply, PAWL_TRANSIENT, "busy") : pawl_reply_string(reply, "12");
}

static pawl_machine *fan_out(uint32_t at_once)
{
    pawl_graph *g = pawl_graph_new("survey", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_node(g, "list", plans, NULL);
    pawl_graph_node(g, "measure", measures, NULL);
    pawl_graph_effect(g, "run-1a2b3c4d", &(pawl_limits){ .retry = { .max_attempts = 2, .initial_ms = 3000 } });
    pawl_graph_max_concurrency(g, at_once);
    pawl_graph_edge(g, PAWL_START, "list");
    pawl_graph_goto(g, "list", "measure", PAWL_END, NULL);
    pawl_graph_edge(g, "measure", PAWL_END);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static void fan_out_at(int columns, uint32_t at_once, const char *draws, const char *past)
{
    look l;

    look_begin(&l, fan_out(at_once), columns, false);
    CHECK_INT(pawl_engine_effect(l.t.e, "run-1a2b3c4d", counts, &l, PAWL_CLASS_AT_LEAST_ONCE, &l.t.err), PAWL_OK);
    CHECK_INT(town_run(&l.t, "r", NULL), PAWL_HALTED);
    look_on(&l, true);
    is_text(&l.drawn, draws);
    is_text(&l.out, past);
    look_end(&l);
}

PAWL_TEST(test_a_fan_out_is_one_line_that_counts)
{
    static const char form[] =
        "  done   list  0.0 s\n"
        "  ...    measure  2/20  3.0 s\n  ...    measure  4/20  3.0 s\n  ...    measure  6/20  3.0 s\n"
        "  failed measure:7  status 1: no?such%s\n"
        "  ...    measure  7/20, 1 failed  3.0 s\n  ...    measure  9/20, 1 failed  3.0 s\n  ...    measure  11/20, 1 failed  3.0 s\n"
        "  ...    measure  13/20, 1 failed  3.0 s\n  ...    measure  15/20, 1 failed  3.0 s\n  ...    measure  17/20, 1 failed  3.0 s\n"
        "  failed measure  19/20, 1 failed  3.0 s\n";
    char past[sizeof form + 16];

    snprintf(past, sizeof past, form, " file ?[2J");
    fan_out_at(80, 0, "  \\      measure  18/20, 1 failed, 1 retrying in 3 s  0.0 s\n", past);
    fan_out_at(200, 0, "  \\      measure  18/20, 1 failed, 1 retrying in 3 s  0.0 s\n", past);
    snprintf(past, sizeof past, form, "...");
    fan_out_at(40, 0, "  \\      measure  18/20, 1 failed, 1 ...\n", past);
}

PAWL_TEST(test_a_fan_out_knows_how_many_there_will_be_before_they_begin)
{
    static const char past[] =
        "  done   list  0.0 s\n"
        "  ...    measure  2/20  0.0 s\n  ...    measure  4/20  3.0 s\n  ...    measure  6/20  3.0 s\n";
    look l;

    look_begin(&l, fan_out(1), 80, false);
    CHECK_INT(pawl_engine_effect(l.t.e, "run-1a2b3c4d", counts, &l, PAWL_CLASS_AT_LEAST_ONCE, &l.t.err), PAWL_OK);
    CHECK_INT(town_run(&l.t, "r", NULL), PAWL_HALTED);
    look_on(&l, true);
    buf_char(&l.out, '\0');
    CHECK(strncmp(l.out.data, past, sizeof past - 1) == 0);
    is_text(&l.drawn, "  \\      measure  3/20, 1 retrying in 3 s  0.0 s\n");
    look_end(&l);
}

/* ---- subgraphs ---------------------------------------------------------------------------------------------------- */

static pawl_code passes(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_follow(s);
}

static pawl_code sends_to_desks(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 3; i++)
        pawl_send(s, "desk", pawl_pack(s, "{s:i}", "x", i));
    return pawl_goto(s, PAWL_END);
}

PAWL_TEST(test_a_node_of_a_subgraph_has_its_path)
{
    for (int many = 0; many < 2; many++) {
        pawl_graph *g = pawl_graph_new("office", 1), *desk = pawl_graph_new("desk", 1);
        look l;

        pawl_graph_channel(desk, "x", PAWL_RULE_LAST);
        pawl_graph_node(desk, "check", passes, NULL);
        pawl_graph_chain(desk, PAWL_START, "check", PAWL_END, NULL);
        pawl_graph_node(g, "in", many ? sends_to_desks : passes, NULL);
        pawl_graph_sub(g, "desk", desk);
        pawl_graph_chain(g, PAWL_START, "in", NULL);
        pawl_graph_edge(g, "desk", PAWL_END);
        if (many)
            pawl_graph_goto(g, "in", "desk", PAWL_END, NULL);
        else
            pawl_graph_edge(g, "in", "desk");
        look_begin(&l, pawl_graph_compile(g, NULL), 80, false);
        CHECK_INT(town_run(&l.t, "r", NULL), PAWL_HALTED);
        look_on(&l, true);
        is_text(&l.out, many ? "  done   in  0.0 s\n  done   desk  3/3  0.0 s\n  done   desk/check  3/3  0.0 s\n"
                             : "  done   in  0.0 s\n  done   desk/check  0.0 s\n  done   desk  0.0 s\n");
        look_end(&l);
    }
}

/* ---- changes as they come --------------------------------------------------------------------------------------------- */

/* The kind of item that has a part of that name, and the name of such an item where the view goes by it. */
static const struct { const char *part; pawl_item_kind kind; } kinds[] = {
    { "again", PAWL_ITEM_TOOL_CALL }, { "answer", PAWL_ITEM_WAIT }, { "ask", PAWL_ITEM_WAIT }, { "call", PAWL_ITEM_TOOL_CALL }, { "doubt", PAWL_ITEM_WAIT },
    { "drop", PAWL_ITEM_TOOL_CALL }, { "entry", PAWL_ITEM_LINE }, { "fail", PAWL_ITEM_TASK }, { "frame", PAWL_ITEM_TASK }, { "leave", PAWL_ITEM_TASK },
    { "receipt", PAWL_ITEM_TOOL_CALL }, { "sleep", PAWL_ITEM_WAIT }, { "spawn", PAWL_ITEM_CHILD }, { "started", PAWL_ITEM_TOOL_CALL },
    { "visit", PAWL_ITEM_TASK },
};

static void fed(view *v, int64_t at, const char *part, const char *path, const char *json)
{
    pawl_item_change c = { .kind = PAWL_ITEM_RUN, .state = PAWL_ITEM_RUNNING, .what = PAWL_ITEM_UPDATED, .id = "r~1/x", .parent = "r~1", .name = "",
                           .part = part, .path = path, .node = path, .run = "r", .cursor = "r:1.1", .seq = 1, .index = 1, .time_ms = at };
    char name[40] = "";

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].part, part) == 0)
            c.kind = kinds[i].kind;
    if (strcmp(part, "status") == 0 || strcmp(part, "end") == 0)
        c.state = PAWL_ITEM_DROPPED;
    if (strcmp(part, "receipt") == 0)
        c.state = strstr(json, "done") != NULL ? PAWL_ITEM_DONE : PAWL_ITEM_FAILED;
    if (strstr(json, "\"kind\":\"signal\"") != NULL)
        c.name = "signal";
    if (strcmp(part, "answer") == 0)
        c.name = "approval";
    if (strstr(json, "\"effect\":\"") != NULL) {
        sscanf(strstr(json, "\"effect\":\"") + 10, "%39[^\"]", name);
        c.name = name;
    }
    CHECK(view_feed(v, &c, view_reads(&c) ? json : "null"));
}

PAWL_TEST(test_what_a_node_waits_for_is_said)
{
    view *v = view_new(false);
    buf out;

    buf_init(&out, NULL);
    fed(v, 1000, "close", "", "{\"next\":[\"nap\",\"hear\",\"flaky\",\"nap--next\",\"idle\"]}");
    fed(v, 1000, "sleep", "nap", "{\"due\":5000}");
    fed(v, 1000, "ask", "hear", "{\"kind\":\"signal\",\"name\":\"go\",\"slot\":\"hear\"}");
    fed(v, 1000, "call", "flaky", "{\"args\":{\"run\":[\"sh\",\"-c\",\"exit 1\",null]},\"effect\":\"shell-0123abcd\"}");
    fed(v, 1000, "call", "nap--next", "{\"args\":{},\"effect\":\"jq\"}");
    view_draw(v, 1100, 80, 10, &out);
    is_text(&out, "  waits  nap  goes on in 4 s  0.1 s\n  waits  hear  for the signal go  0.1 s\n"
                  "  \\      flaky  shell sh -c 'exit 1' (secret)  0.1 s\n  \\      idle  0.1 s\n");
    fed(v, 1200, "again", "flaky", "{\"at\":9200,\"attempt\":1,\"error\":{\"code\":\"transient\",\"text\":\"busy\"}}");
    view_draw(v, 6300, 80, 3, &out);
    is_text(&out, "  waits  nap  goes on  5.3 s\n  waits  hear  for the signal go  5.3 s\n  ... and 2 more nodes\n");
    view_draw(v, 6300, 80, 4, &out);
    is_text(&out, "  waits  nap  goes on  5.3 s\n  waits  hear  for the signal go  5.3 s\n"
                  "  again  flaky  retrying in 3 s: busy  5.3 s\n  \\      idle  5.3 s\n");
    view_past(v, 80, true, &out);
    is_text(&out, "  waits  nap  for 4.0 s\n  waits  hear  for the signal go\n  again  flaky  in 8.0 s: busy\n");
    view_past(v, 80, true, &out);
    is_text(&out, "");
    view_free(v);
    buf_free(&out);
}

PAWL_TEST(test_a_failure_and_a_no_that_a_node_handles_are_shown_and_the_end_of_a_run)
{
    view *v = view_new(false);
    buf out;

    buf_init(&out, NULL);
    fed(v, 1000, "close", "", "{\"next\":[\"a\",\"b\"]}");
    fed(v, 1000, "receipt", "a", "{\"outcome\":\"error\",\"value\":{\"code\":\"effect\",\"text\":\"no such host\"}}");
    fed(v, 3000, "leave", "a", "{\"visit\":1}");
    fed(v, 2000, "ask", "c", "{\"kind\":\"approval\",\"prompt\":\"Write it?\"}");
    fed(v, 2000, "answer", "c", "{\"by\":\"bob\",\"value\":false}");
    fed(v, 3000, "leave", "c", "{\"visit\":1}");
    fed(v, 3000, "ask", "d", "{\"kind\":\"approval\",\"prompt\":\"Or that?\"}");
    fed(v, 3000, "answer", "d", "{\"by\":\"bob\",\"value\":false}");
    fed(v, 3000, "call", "d", "{\"args\":{},\"effect\":\"run-1a2b3c4d\"}");
    fed(v, 3000, "receipt", "d", "{\"outcome\":\"done\",\"value\":1}");
    fed(v, 3000, "leave", "d", "{\"visit\":1}");
    fed(v, 3000, "started", "d", "{\"attempt\":2}");
    fed(v, 3000, "again", "d", "{\"at\":5,\"error\":{\"text\":\"e\"}}");
    fed(v, 3000, "fail", "b", "{\"code\":\"denied\",\"text\":\"Write it?: no\"}");
    fed(v, 3000, "fail", "desk/1/1/e:2", "{\"code\":\"effect\",\"text\":\"e: sh: ended with status 3\"}");
    fed(v, 3000, "cancel", "", "{\"by\":\"bob\",\"note\":\"enough\"}");
    fed(v, 3000, "unwind", "", "{\"reason\":null,\"status\":\"canceled\"}");
    fed(v, 3000, "status", "", "null");
    view_draw(v, 3000, 80, 10, &out);
    is_text(&out, "");
    view_past(v, 80, false, &out);
    is_text(&out, "  failed a  no such host  2.0 s\n  denied c  by bob  0.0 s\n  done   d  0.0 s\n  denied b  Write it?: no  2.0 s\n  failed desk/e  sh: ended with status 3  0.0 s\n  cancel the run is canceled  by bob: enough\n  undo   the completed steps, last one first\n");
    view_free(v);
    buf_free(&out);
}

PAWL_TEST(test_the_time_in_which_a_run_lay_still_is_no_work)
{
    view *v = view_new(false);
    buf out;

    buf_init(&out, NULL);
    fed(v, 1000, "close", "", "{\"next\":[\"a\",\"b\"]}");
    fed(v, 1000, "call", "a", "{\"args\":{},\"effect\":\"run-1a2b3c4d\"}");
    fed(v, 1000, "ask", "b", "{\"kind\":\"approval\",\"prompt\":\"Write it?\"}");
    view_past(v, 80, false, NULL);
    view_resume(v, 61000);      /* its process was killed, and another one goes on a minute later */
    fed(v, 62500, "receipt", "a", "{\"outcome\":\"done\",\"value\":1}");
    fed(v, 62500, "leave", "a", "{\"visit\":1}");
    fed(v, 63000, "answer", "b", "{\"by\":\"bob\",\"value\":true}");
    fed(v, 64000, "leave", "b", "{\"visit\":1}");
    view_past(v, 80, false, &out);
    is_text(&out, "  done   a  1.5 s\n  done   b  1.0 s\n");
    view_free(v);
    buf_free(&out);
}

/* ---- an agent: requests to its model, and tool calls ------------------------------------------------------------------------ */

static void agent_fed(view *v, int64_t at, pawl_item_kind kind, pawl_item_state state, unsigned what, const char *name, const char *part, const char *json)
{
    const bool model = kind == PAWL_ITEM_MESSAGE;
    const pawl_item_change c = { .kind = kind, .state = state, .what = what, .id = model ? "r~1/1.@.1.0" : name, .parent = "r~1", .name = name, .part = part,
                                 .path = model ? "@" : "", .node = "", .run = "r", .cursor = "r:1.1", .seq = 1, .index = 1, .time_ms = at };

    CHECK(view_feed(v, &c, view_reads(&c) ? json : "null"));
}

PAWL_TEST(test_an_agents_model_and_tool_calls_have_lines)
{
    view *v = view_new(false);
    buf out;

    buf_init(&out, NULL);
    agent_fed(v, 1000, PAWL_ITEM_MESSAGE, PAWL_ITEM_DONE, PAWL_ITEM_ADDED | PAWL_ITEM_ENDED, "user", "message", "{}");
    agent_fed(v, 1000, PAWL_ITEM_MESSAGE, PAWL_ITEM_RUNNING, PAWL_ITEM_ADDED, "llm", "call", "{}");
    view_draw(v, 1200, 80, 10, &out);
    is_text(&out, "  |      llm  0.2 s\n");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_PROPOSED, PAWL_ITEM_ADDED, "read_file", "", "null");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_PROPOSED, PAWL_ITEM_UPDATED, "read_file", "proposed", "{\"input\":{\"file_path\":\"a.c\"}}");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_PROPOSED, PAWL_ITEM_ADDED, "bash", "", "null");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_PROPOSED, PAWL_ITEM_UPDATED, "bash", "proposed", "{\"input\":{\"command\":\"make\"}}");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_RUNNING, PAWL_ITEM_UPDATED, "read_file", "tool_start", "{\"input\":{\"file_path\":\"a.c\"}}");
    agent_fed(v, 2000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_WAITING, PAWL_ITEM_UPDATED, "bash", "permission_request", "{}");
    agent_fed(v, 2000, PAWL_ITEM_MESSAGE, PAWL_ITEM_DONE, PAWL_ITEM_ENDED, "llm", "", "null");
    view_draw(v, 2200, 80, 10, &out);
    is_text(&out, "  -      read_file  a.c  0.2 s\n  waits  bash  make  0.2 s\n");
    agent_fed(v, 3000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_DONE, PAWL_ITEM_ENDED, "read_file", "tool_end", "{\"is_error\":false,\"result\":\"int a;\"}");
    agent_fed(v, 3500, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_RUNNING, PAWL_ITEM_UPDATED, "bash", "tool_start", "{\"input\":{\"command\":\"make\"}}");
    agent_fed(v, 4000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_FAILED, PAWL_ITEM_ENDED, "bash", "tool_end", "{\"is_error\":true,\"result\":\"status 2\"}");
    view_draw(v, 4000, 80, 10, &out);
    is_text(&out, "");
    view_past(v, 80, false, &out);
    is_text(&out, "  done   read_file  a.c  1.0 s\n  failed bash  make: status 2  0.5 s\n");
    agent_fed(v, 5000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_RUNNING, PAWL_ITEM_ADDED, "undo", "call", "{}");
    agent_fed(v, 5000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_PROPOSED, PAWL_ITEM_ADDED, "grep", "", "null");
    agent_fed(v, 5000, PAWL_ITEM_TOOL_CALL, PAWL_ITEM_DROPPED, PAWL_ITEM_ENDED, "grep", "", "null");
    view_draw(v, 5000, 80, 10, &out);
    view_past(v, 80, true, &out);
    is_text(&out, "");
    view_free(v);
    buf_free(&out);
}

/* Texts of all kinds, in every width: no line is too long, and none is torn. */
PAWL_TEST(test_no_line_is_wider_and_no_picture_higher_than_the_terminal)
{
    static const char *const words[] = { "a", "\xe6\xbc\xa2\xe5\xad\x97", "e\xcc\x81", "\x1b[31m", "\xff", "\n", "a-rather-long-word", "\xf0\x9f\x99\x82" };
    char name[80], json[700], text[500];
    buf out;

    buf_init(&out, NULL);
    for (int round = 0; round < 300; round++) {
        view *v = view_new(check_rand_below(2) == 0);
        int columns = 10 + (int)check_rand_below(120), rows = 1 + (int)check_rand_below(12), lines = 0;

        for (int i = 0; i < 12; i++) {
            snprintf(name, sizeof name, "node-%.*s%d", (int)check_rand_below(50), "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz", i);
            *text = '\0';
            for (uint64_t n = check_rand_below(20), at = 0; n > 0; n--, at = strlen(text))
                snprintf(text + at, sizeof text - at, "%s ", words[check_rand_below(4) == 0 ? 6 : check_rand_below(3)]);
            snprintf(json, sizeof json, "{\"kind\":\"question\",\"prompt\":\"%s\",\"slot\":\"x\"}", text);
            fed(v, 1000, "ask", name, json);
        }
        view_past(v, columns, true, &out);
        view_draw(v, 5000, columns, rows, &out);
        for (size_t at = 0, n; at < out.size; at += n + 1, lines++) {
            buf plain;

            n = (size_t)((char *)memchr(out.data + at, '\n', out.size - at) - (out.data + at));
            buf_init(&plain, NULL);
            for (size_t i = at; i < at + n; i++) {
                if (out.data[i] == '\x1b')
                    i = (size_t)((char *)memchr(out.data + i, 'm', out.size - i) - out.data);
                else
                    buf_char(&plain, out.data[i]);
            }
            CHECK(utf8_valid(plain.data, plain.size));
            if (cli_width(plain.data, plain.size) > (size_t)(columns < 23 ? 23 : columns))
                CHECK_FAIL("%.*s: more than %d columns", (int)plain.size, plain.data, columns);
            buf_free(&plain);
        }
        CHECK(lines <= 12 + rows);
        buf_reset(&out);
        view_free(v);
    }
    buf_free(&out);
}

/* A reader may begin anywhere, and machines are of all kinds: whatever comes after whatever, there is a picture. */
PAWL_TEST(test_any_change_may_follow_any_other)
{
    static const char *const names[] = { "answer", "ask", "again", "call", "cancel", "close", "doubt", "drop", "fail", "frame", "leave",
                                         "receipt", "sleep", "spawn", "started", "unwind", "visit", "turn", "end" };
    static const char *const paths[] = { "", "a", "b", "w:0", "w:1", "w:2", "desk", "desk/1/1/x", "desk/1/2/w:0", "d:0", "d:0/1/1/x",
                                         "d:1/1/1/s/1/1/y", "@", "@undo", "a/1/1/@z" };
    static const char *const texts[] = {
        "null", "{}", "[]", "3", "{\"next\":[\"a\",\"b\",\"@q\"]}", "{\"outcome\":\"error\",\"value\":{\"text\":\"t\"}}",
        "{\"outcome\":\"canceled\",\"value\":null}", "{\"at\":5,\"error\":{\"text\":\"e\"}}", "{\"due\":99}",
        "{\"hold\":true,\"kind\":\"question\",\"prompt\":{\"x\":1}}", "{\"kind\":\"signal\",\"name\":\"go\"}",
        "{\"by\":\"@timer\",\"note\":\"n\",\"value\":1}", "{\"code\":\"denied\",\"text\":\"\"}" };
    static const char *const agents[] = { "llm", "bash", "a" }, *const parts[] = { "", "call", "proposed", "tool_start", "tool_end" };
    static const char *const lines[] = {
        "{\"body\":[[\"leave\",\"a\",1,[],{\"send\":[[\"w\",0],[\"w\",1]]}],[\"close\",[],{\"send\":[[0,\"x\",1]]}]],"
        "\"envelope\":[1,2,\"tick\",\"working\",1]}",
        "{\"body\":[[\"end\",null]],\"envelope\":[1,2,\"tick\",\"failed\",1]}" };
    buf out;

    buf_init(&out, NULL);
    for (int round = 0; round < 1000; round++) {
        view *v = view_new(false);

        for (int i = 0; i < 60; i++) {
            fed(v, (int64_t)check_rand_below(100), names[check_rand_below(sizeof names / sizeof *names)],
                 paths[check_rand_below(sizeof paths / sizeof *paths)], texts[check_rand_below(sizeof texts / sizeof *texts)]);
            if (check_rand_below(6) == 0)
                fed(v, 50, "entry", "", lines[check_rand_below(2)]);
            if (check_rand_below(4) == 0)
                agent_fed(v, 50, check_rand_below(3) == 0 ? PAWL_ITEM_MESSAGE : PAWL_ITEM_TOOL_CALL, (pawl_item_state)check_rand_below(7),
                          1 + (unsigned)check_rand_below(4), agents[check_rand_below(3)], parts[check_rand_below(5)], texts[check_rand_below(13)]);
            view_draw(v, 50, 40, (int)check_rand_below(5), &out);
            view_past(v, 40, true, check_rand_below(2) == 0 ? &out : NULL);
            buf_reset(&out);
        }
        view_free(v);
    }
    buf_free(&out);
}

/* ---- beside a run that is driven ------------------------------------------------------------------------------------------ */

typedef struct pipe_end { int was, fd; char path[32]; } pipe_end;

static void stderr_begin(pipe_end *p)
{
    memcpy(p->path, "/tmp/pawl-view-XXXXXX", sizeof "/tmp/pawl-view-XXXXXX");
    fflush(stderr);
    p->was = dup(2);
    p->fd = mkstemp(p->path);
    dup2(p->fd, 2);
}

static void stderr_is(pipe_end *p, char *text, size_t size)
{
    ssize_t n;

    fflush(stderr);
    dup2(p->was, 2);
    n = pread(p->fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(p->was);
    close(p->fd);
    unlink(p->path);
}

/* The times are the clock's: they are left out. */
static void no_times(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0'; at++)
        if (at[0] == ' ' && at[1] == ' ' && strspn(at + 2, "0123456789.") > 2 && strncmp(at + 2 + strspn(at + 2, "0123456789."), " s\n", 3) == 0)
            at += 1 + 2 + strspn(at + 2, "0123456789.");
        else
            *to++ = *at;
    *to = '\0';
}

static void viewed(bool tty, const char *term, const char *first, const char *second)
{
    cli_call c = { .err_tty = tty };
    char text[4096];
    viewing *w;
    pipe_end p;
    town t;

    setenv("TERM", term, 1);
    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    stderr_begin(&p);
    w = view_begin(&c, t.e, "r");
    CHECK_INT(town_run(&t, "r", "{}"), PAWL_INTERRUPTED);
    view_end(w);
    stderr_is(&p, text, sizeof text);
    no_times(text);
    CHECK_STR(text, first);
    stderr_begin(&p);
    w = view_begin(&c, t.e, "r");
    CHECK_INT(pawl_answer(t.e, "r", "publish", "true", &t.err), PAWL_HALTED);
    view_end(w);
    stderr_is(&p, text, sizeof text);
    no_times(text);
    CHECK_STR(text, second);
    town_end(&t);
}

PAWL_TEST(test_what_happens_while_it_is_looked_at_is_shown_once_and_nothing_before)
{
    for (int i = 0; i < 20; i++) {
        viewed(false, "xterm", "  done   draft\n  waits  publish  publish it?\n", "  answer publish  true\n  done   publish\n");
        viewed(true, "dumb", "  done   draft\n  waits  publish  publish it?\n", "  answer publish  true\n  done   publish\n");
    }
}

PAWL_TEST(test_on_a_terminal_the_cursor_is_there_again_after_each_write)
{
    cli_call c = { .err_tty = true };
    char text[4096];
    viewing *w;
    pipe_end p;
    town t;

    setenv("TERM", "xterm", 1);
    town_begin(&t, town_essay(NULL), NULL);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"first\"";
    stderr_begin(&p);
    w = view_begin(&c, t.e, "r");
    CHECK_INT(town_run(&t, "r", "{}"), PAWL_INTERRUPTED);
    view_end(w);
    view_end(NULL);
    stderr_is(&p, text, sizeof text);
    CHECK(strstr(text, "  done   draft") != NULL);
    CHECK(strncmp(text, "\x1b[?25l", 6) == 0);
    CHECK_STR(text + strlen(text) - 6, "\x1b[?25h");
    town_end(&t);
}

/* A run that is never begun, and one that fails before it is. */
PAWL_TEST(test_a_run_that_never_comes_is_no_trouble)
{
    cli_call c = { .err_tty = false };
    char text[256];
    viewing *w;
    pipe_end p;
    town t;

    town_begin(&t, town_essay(NULL), NULL);
    stderr_begin(&p);
    w = view_begin(&c, t.e, "never");
    view_end(w);
    stderr_is(&p, text, sizeof text);
    CHECK_STR(text, "");
    CHECK(!view_stopping());
    stderr_begin(&p);
    w = view_begin(&c, t.e, "never");
    CHECK(view_stopping());
    view_end(w);
    stderr_is(&p, text, sizeof text);
    CHECK_STR(text, "  stop   running commands end first  Ctrl-C again stops at once\n");
    town_end(&t);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
