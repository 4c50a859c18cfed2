/* visit_test.c - what nodes of agent files do: may they (P1), what is asked first, what they call and with what limits, what a failure
 * leads to, what is asked of a person, and for how long they wait. */
#include "file/driven.h"

#define OK_OUT "{\"status\":0,\"stderr\":\"\",\"stdout\":\"x\\n\"}"

/* ---- P1: modes ---------------------------------------------------------------------------------------------- */

static const char *with_mode(const char *mode)
{
    static char input[80];

    snprintf(input, sizeof input, "{\"@cwd\":\"/here\",\"@mode\":\"%s\"}", mode);
    return input;
}

/* A file with one node `x`, in `mode`: how it stands at once. */
static void in_mode(driven *d, const char *node, const char *top, const char *mode)
{
    static char text[800];

    snprintf(text, sizeof text, "start: x\n%sstate: {c: {}}\nnodes:\n  x: {%s, next: end}\n", top, node);
    drive(d, text, with_mode(mode));
}

static void denied(const char *node, const char *top, const char *mode, const char *why)
{
    driven d;
    char reason[400];

    in_mode(&d, node, top, mode);
    snprintf(reason, sizeof reason, "{\"code\":\"denied\",\"text\":\"%s\"}", why);
    CHECK_STR(world_reason(&d.w), reason);
    stands(&d, "rejected", NULL, NULL);
    CHECK_INT(pawl_state_commands(d.w.st) + pawl_state_waits(d.w.st), 0);
    drive_end(&d);
}

static void performed(const char *node, const char *top, const char *mode, const char *args)
{
    driven d;

    in_mode(&d, node, top, mode);
    CHECK_INT(pawl_state_waits(d.w.st), 0);
    calls(&d, "x", args);
    drive_end(&d);
}

static void approved(const char *node, const char *top, const char *mode, const char *prompt)
{
    driven d;

    in_mode(&d, node, top, mode);
    CHECK_STR(waits_for(&d), prompt);
    CHECK_INT(pawl_state_commands(d.w.st), 0);
    answer(&d, NULL, "true");
    CHECK_INT(pawl_state_waits(d.w.st), 0);         /* nobody is asked twice */
    CHECK_INT(pawl_state_commands(d.w.st), 1);
    drive_end(&d);
}

PAWL_TEST(test_P1_plan_denies_what_acts_with_the_sources_sentence)
{
    static const char *const acting[] = {
        "run: [rm, x]", "shell: rm x", "run: [rm, x], effect: idempotent", "run: [rm, x], requires: plan", "http: {url: 'https://h/', method: POST}",
        "http: {url: 'https://h/', body: x}", "http: DELETE https://h/", "run: [rm, x], requires: default", "greet: {}", "ask: Sure?, run: [rm, x]",
        "run: [rm, x], effect: once",
    };

    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        denied(acting[i], "plugins: [./good.so]\n", "plan", "Node 'x' requires Default mode; current mode is Plan.");
    denied("run: [rm, x], requires: acceptEdits", "", "plan", "Node 'x' requires AcceptEdits mode; current mode is Plan.");
    denied("run: [ls], effect: pure, requires: bypassPermissions", "", "plan", "Node 'x' requires BypassPermissions mode; current mode is Plan.");
    denied("set: {c: 1}, requires: default", "", "plan", "Node 'x' requires Default mode; current mode is Plan.");
}

PAWL_TEST(test_P1_plan_lets_pure_nodes_in_and_commands_only_into_a_sandbox)
{
    driven d;

    performed("run: [ls], effect: pure", "", "plan", "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"ls\"],\"sandbox\":true}");
    performed("shell: ls, effect: pure, requires: plan", "", "plan",
              "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"sh\",\"-c\",\"ls\",\"sh\"],\"sandbox\":true}");
    performed("http: https://h/", "", "plan", "{\"url\":\"https://h/\"}");
    performed("http: {url: 'https://h/', method: HEAD}", "", "plan", "{\"method\":\"HEAD\",\"url\":\"https://h/\"}");
    performed("http: {url: 'https://h/', method: POST}, effect: pure", "", "plan", "{\"method\":\"POST\",\"url\":\"https://h/\"}");
    performed("greet: {a: 1}, effect: pure", "plugins: [./good.so]\n", "plan", "{\"with\":{\"a\":1}}");
    in_mode(&d, "set: {c: 1}", "", "plan");
    stands(&d, "completed", "c", "1");
    drive_end(&d);
    in_mode(&d, "ask: What?, to: c", "", "plan");
    CHECK_STR(waits_for(&d), "question \"What?\"");
    drive_end(&d);
}

PAWL_TEST(test_P1_what_declares_nothing_runs_in_every_other_mode)
{
    static const char *const modes[] = { "default", "acceptEdits", "bypassPermissions" };

    for (size_t i = 0; i < 3; i++) {
        performed("run: [rm, x]", "", modes[i], "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"rm\",\"x\"]}");
        performed("run: [rm, x], requires: default", "gate: deny\n", modes[i], "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"rm\",\"x\"]}");
    }
}

PAWL_TEST(test_P1_a_mode_that_is_too_low_asks)
{
    approved("run: [rm, x], requires: acceptEdits", "", "default", "approval \"x requires acceptEdits, and the mode is default: let it run?\"");
    approved("run: [rm, x], requires: bypassPermissions", "gate: ask\n", "acceptEdits",
             "approval \"x requires bypassPermissions, and the mode is acceptEdits: let it run?\"");
    performed("run: [rm, x], requires: acceptEdits", "", "acceptEdits", "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"rm\",\"x\"]}");
    performed("run: [rm, x], requires: acceptEdits", "", "bypassPermissions", "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"rm\",\"x\"]}");
}

PAWL_TEST(test_P1_a_gate_may_deny_instead)
{
    denied("run: [rm, x], requires: acceptEdits", "gate: deny\n", "default", "Node 'x' requires AcceptEdits mode; current mode is Default.");
    denied("ask: Sure?, run: [rm, x], requires: bypassPermissions", "gate: deny\n", "acceptEdits",
           "Node 'x' requires BypassPermissions mode; current mode is AcceptEdits.");
}

PAWL_TEST(test_P1_an_ask_gate_is_that_approval)
{
    approved("ask: Sure?, run: [rm, x], requires: acceptEdits", "", "default", "approval \"Sure?\"");
    approved("ask: Sure?, run: [rm, x]", "", "bypassPermissions", "approval \"Sure?\"");
}

PAWL_TEST(test_P1_a_run_without_a_mode_has_the_default_one)
{
    driven d;

    drive(&d, "start: x\nnodes:\n  x: {run: [rm], requires: acceptEdits, next: end}\n", NULL);
    CHECK_STR(waits_for(&d), "approval \"x requires acceptEdits, and the mode is default: let it run?\"");
    drive_end(&d);
}

PAWL_TEST(test_P1_the_mode_holds_in_graphs)
{
    static const filing_text files[] = {
        { "a.yaml", "start: x\nnodes:\n  x: {graph: b.yaml, next: end}\n" }, { "b.yaml", "start: y\nnodes:\n  y: {run: [rm], next: end}\n" }, { NULL, NULL },
    };
    driven d;

    drive_with(&d, files, with_mode("plan"), 0);
    stands(&d, "rejected", NULL, NULL);
    CHECK(strstr(world_reason(&d.w), "Node 'y' requires Default mode; current mode is Plan.") != NULL);
    drive_end(&d);
    drive_with(&d, files, with_mode("default"), 0);
    calls(&d, "y", "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"rm\"]}");
    drive_end(&d);
}

PAWL_TEST(test_W5_no_leads_to_on_no_or_rejects_the_run)
{
    static const char no[] = "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: 'Remove {{.c}}?', run: [rm, \"{{.c}}\"], on_no: y, next: end}\n  y: {set: {c: '\"kept\"'}, next: end}\n";
    driven d;

    drive(&d, no, "{\"c\":\"f\"}");
    CHECK_STR(waits_for(&d), "approval \"Remove f?\"");
    CHECK_INT(world_answer(&d.w, NULL, "\"maybe\""), PAWL_INVALID);     /* W3: nothing changes */
    answer(&d, NULL, "false");
    drive_on(&d);
    stands(&d, "completed", "c", "\"kept\"");
    drive_end(&d);
    drive(&d, "start: x\nnodes:\n  x: {ask: Sure?, run: [rm], next: end}\n", NULL);
    answer(&d, NULL, "false");
    stands(&d, "rejected", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"denied\",\"text\":\"Sure?: no\"}");
    drive_end(&d);
    drive(&d, "start: x\nnodes:\n  x: {run: [rm], requires: acceptEdits, on_no: end, next: x}\n", NULL);
    answer(&d, NULL, "false");
    stands(&d, "completed", NULL, NULL);
    drive_end(&d);
}

/* ---- W6: rules that come while a gate waits ------------------------------------------------------------------- */

#define DENY_RM "{\"deny\":[{\"base\":\"/here\",\"rule\":\"Bash(rm:*)\"}]}"
#define DENY_MV "{\"deny\":[{\"base\":\"/here\",\"rule\":\"Bash(mv:*)\"}]}"
#define ASKS "{\"ask\":[{\"base\":\"/here\",\"rule\":\"Bash(rm:*)\"}]}"
#define ALLOWS "{\"allow\":[{\"base\":\"/here\",\"rule\":\"Bash(rm:*)\"}]}"

/* One node that asks by its rules, and waits. */
static void gated(driven *d, const char *rules)
{
    static char input[400];

    snprintf(input, sizeof input, "{\"@cwd\":\"/here\",\"@policy\":%s}", rules);
    drive(d, "start: x\nnodes:\n  x: {run: [rm, y], requires: acceptEdits, next: end}\n", input);
    CHECK_INT(pawl_state_waits(d->w.st), 1);
    CHECK_INT(pawl_state_commands(d->w.st), 0);
}

static void rules_come(driven *d, const char *rules)
{
    char update[300];

    snprintf(update, sizeof update, "{\"@policy\":%s}", rules);
    CHECK(world_update(&d->w, NULL, update) >= 0);
}

/* Its call that fixes the rules is open, and answered as the program does. */
static void rules_fixed(driven *d, const char *node, const char *rules)
{
    const char *effect;
    char args[400], due[400];

    snprintf(args, sizeof args, "%s", asked_for(d, node, &effect));
    snprintf(due, sizeof due, "{\"policy\":%s}", rules);
    CHECK_STR(effect, "mode");
    CHECK_STR(args, due);
    reply(d, node, args);
}

static void runs(driven *d, const char *behavior)
{
    const char *effect, *args = asked_for(d, "x", &effect);
    char decided[80];

    CHECK_STR(effect, "run");
    snprintf(decided, sizeof decided, "\"decision\":{\"behavior\":\"%s\"", behavior);
    CHECK(strstr(args, decided) != NULL);
    reply(d, "x", OK_OUT);
    stands(d, "completed", NULL, NULL);
}

PAWL_TEST(test_W6_what_the_rules_of_now_deny_does_not_run_for_a_yes)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, DENY_RM);
    answer(&d, NULL, "true");
    rules_fixed(&d, "x", DENY_RM);
    stands(&d, "rejected", NULL, NULL);
    CHECK(strstr(world_reason(&d.w), "Bash(rm:*)") != NULL);
    CHECK_INT(in_journal(&d, "\"effect\":\"run\""), 0);
    drive_end(&d);
}

PAWL_TEST(test_W6_a_yes_under_other_rules_is_asked_for_anew)
{
    static const char *const before[] = { ASKS, DENY_MV, "null" };

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        driven d;

        gated(&d, before[i]);
        rules_come(&d, i == 0 ? DENY_MV : ASKS);
        answer(&d, NULL, "true");
        rules_fixed(&d, "x", i == 0 ? DENY_MV : ASKS);
        CHECK_INT(pawl_state_waits(d.w.st), 1);
        CHECK_INT(pawl_state_commands(d.w.st), 0);
        CHECK_INT(in_journal(&d, "\"again\":true"), 1);
        answer(&d, NULL, "true");
        runs(&d, "approved");
        drive_end(&d);
    }
}

PAWL_TEST(test_W6_without_rules_any_more_it_is_asked_for_anew_by_the_mode)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, "null");
    answer(&d, NULL, "true");
    rules_fixed(&d, "x", "null");
    CHECK_STR(waits_for(&d), "approval \"x requires acceptEdits, and the mode is default: let it run?\"");
    answer(&d, NULL, "true");
    runs(&d, "approved");
    drive_end(&d);
}

PAWL_TEST(test_W6_what_the_rules_of_now_allow_runs_by_them)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, ALLOWS);
    answer(&d, NULL, "true");
    rules_fixed(&d, "x", ALLOWS);
    runs(&d, "allow");
    drive_end(&d);
}

PAWL_TEST(test_W6_the_same_rules_leave_a_yes_as_it_is)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, DENY_RM);
    rules_come(&d, ASKS);
    answer(&d, NULL, "true");
    CHECK_INT(in_journal(&d, "\"effect\":\"mode\""), 0);
    runs(&d, "approved");
    drive_end(&d);
}

PAWL_TEST(test_W6_what_was_fixed_holds_after_a_crash_and_what_comes_before_the_command_counts)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, DENY_MV);
    answer(&d, NULL, "true");
    world_crash(&d.w);
    rules_come(&d, ALLOWS);
    rules_fixed(&d, "x", DENY_MV);
    world_crash(&d.w);
    rules_fixed(&d, "x", ALLOWS);       /* they have come since */
    world_crash(&d.w);
    rules_come(&d, DENY_RM);            /* too late: the command was let in */
    runs(&d, "allow");
    drive_end(&d);
}

PAWL_TEST(test_W6_what_a_person_edited_is_decided_by_the_rules_of_now)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, DENY_MV);
    answer(&d, NULL, "{\"approve\":true,\"input\":{\"command\":\"mv y z\"}}");
    rules_fixed(&d, "x", DENY_MV);
    stands(&d, "rejected", NULL, NULL);
    drive_end(&d);
    gated(&d, ASKS);
    rules_come(&d, DENY_MV);
    answer(&d, NULL, "{\"approve\":true,\"input\":{\"command\":\"ls\"}}");
    rules_fixed(&d, "x", DENY_MV);
    CHECK_INT(pawl_state_waits(d.w.st), 1);
    answer(&d, NULL, "true");
    CHECK_INT(in_journal(&d, "\"run\":[\"sh\",\"-c\",\"ls\"]"), 1);
    runs(&d, "approved");
    drive_end(&d);
}

PAWL_TEST(test_W6_a_no_is_a_no_under_all_rules)
{
    driven d;

    gated(&d, ASKS);
    rules_come(&d, ALLOWS);
    answer(&d, NULL, "false");
    stands(&d, "rejected", NULL, NULL);
    CHECK_INT(in_journal(&d, "\"effect\":\"mode\""), 0);
    drive_end(&d);
}

PAWL_TEST(test_W6_what_begins_in_a_graph_has_the_rules_of_its_beginning)
{
    static const filing_text files[] = {
        { "a.yaml", "start: s\nnodes:\n  s: {graph: b.yaml, next: end}\n" },
        { "b.yaml", "start: q\nnodes:\n  q: {ask: Go?, next: x}\n  x: {run: [rm, y], next: end}\n" }, { NULL, NULL },
    };
    driven d;

    drive_with(&d, files, "{\"@cwd\":\"/here\"}", 0);
    CHECK_STR(waits_for(&d), "question \"Go?\"");
    rules_come(&d, DENY_RM);
    answer(&d, NULL, "\"yes\"");
    rules_fixed(&d, "x", DENY_RM);
    stands(&d, "rejected", NULL, NULL);
    CHECK(strstr(world_reason(&d.w), "Bash(rm:*)") != NULL);
    drive_end(&d);
}

/* ---- E5, E7, E8: classes and limits ------------------------------------------------------------------------------ */

PAWL_TEST(test_E5_a_nodes_class_stands_in_its_command)
{
    static const char *const words[] = { "at-least-once", "pure", "idempotent", "compensable", "once" };

    for (int i = 0; i < 5; i++) {
        char node[120];
        driven d;

        snprintf(node, sizeof node, "run: [x], effect: %s%s", words[i], i == PAWL_CLASS_COMPENSABLE ? ", undo: {run: [y]}" : "");
        in_mode(&d, node, "", "default");
        CHECK_INT(limits_of(&d, "x").cls, i);
        drive_end(&d);
    }
    driven d;

    in_mode(&d, "greet: {}", "plugins: [./good.so]\n", "default");
    CHECK_INT(limits_of(&d, "x").cls, PAWL_CLASS_IDEMPOTENT);     /* the plug-in's */
    drive_end(&d);
}

PAWL_TEST(test_E7_E8_retry_and_timeouts_reach_the_command)
{
    pawl_limits p;
    driven d;

    in_mode(&d, "run: [x], retry: {max_attempts: 5, initial: 250ms, max: 2m, factor: 1.5, jitter: true}, timeout: {attempt: 10s, total: 1h}", "", "default");
    p = limits_of(&d, "x");
    CHECK(p.retry.max_attempts == 5 && p.retry.initial_ms == 250 && p.retry.max_ms == 120000 && p.retry.factor == 1.5 && p.retry.jitter);
    CHECK(p.attempt_timeout_ms == 10000 && p.total_timeout_ms == 3600000);
    drive_end(&d);
    in_mode(&d, "run: [x], timeout: 1.5s", "defaults: {retry: {max_attempts: 3}, timeout: 1m}\n", "default");
    p = limits_of(&d, "x");
    CHECK(p.retry.max_attempts == 3 && p.retry.initial_ms == 1000 && p.retry.max_ms == 60000 && p.retry.factor == 2 && !p.retry.jitter);
    CHECK(p.attempt_timeout_ms == 1500 && p.total_timeout_ms == 0);
    drive_end(&d);
    in_mode(&d, "run: [x], retry: {max_attempts: 2, initial: 5s, max: 1s}", "defaults: {retry: {max_attempts: 3, jitter: true}, timeout: {total: 1m}}\n",
            "default");
    p = limits_of(&d, "x");     /* a node's own replaces the defaults whole; and the delay is the smaller of the two */
    CHECK(p.retry.max_attempts == 2 && p.retry.initial_ms == 5000 && p.retry.max_ms == 1000 && !p.retry.jitter);
    CHECK(p.attempt_timeout_ms == 0 && p.total_timeout_ms == 60000);
    drive_end(&d);
    in_mode(&d, "run: [x], retry: {max_attempts: 2, initial: 5m}", "", "default");
    CHECK_INT(limits_of(&d, "x").retry.max_ms, 300000);
    drive_end(&d);
    in_mode(&d, "greet: {}, heartbeat: 30s", "plugins: [./good.so]\n", "default");
    CHECK_INT(limits_of(&d, "x").heartbeat_ms, 30000);
    drive_end(&d);
}

PAWL_TEST(test_E5_what_was_done_is_undone_when_the_run_fails)
{
    pawl_command c;
    driven d;

    drive(&d,
          "start: make\nstate: {name: {}}\nnodes:\n"
          "  make: {run: [mkdir, \"{{.name}}\"], effect: compensable, undo: {run: [rmdir, \"{{.name}}\"], cwd: sub, env: {A: \"{{.name}}\"}}, next: fill}\n"
          "  fill: {run: [touch, \"{{.name}}/x\"], effect: once, next: end}\n",
          "{\"@cwd\":\"/here\",\"name\":\"d\"}");
    calls(&d, "make", "{\"check\":true,\"cwd\":\"/here\",\"run\":[\"mkdir\",\"d\"],\"undo\":{\"cwd\":\"/here/sub\",\"env\":{\"A\":\"d\"},\"run\":[\"rmdir\",\"d\"]}}");
    wrote(&d, "make", "");
    fails(&d, "fill", "{\"code\":\"effect\",\"text\":\"no\"}");
    CHECK_INT(pawl_state_commands(d.w.st), 1);
    CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, NULL, NULL) == PAWL_OK);
    CHECK_STR(pawl_text(d.w.look, c.args), "{\"args\":{\"check\":true,\"cwd\":\"/here\",\"run\":[\"mkdir\",\"d\"],\"undo\":{\"cwd\":\"/here/sub\",\"env\":{\"A\":\"d\"},"
              "\"run\":[\"rmdir\",\"d\"]}},\"id\":\"1.make.1.0\",\"receipt\":{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}}");
    CHECK(strncmp(c.effect, "undo", 4) == 0);
    reply(&d, NULL, "null");
    stands(&d, "failed", NULL, NULL);
    drive_end(&d);
}

PAWL_TEST(test_a_command_runs_in_the_runs_folder_or_beside_it)
{
    static const struct { const char *node, *cwd; } rows[] = {
        { "run: [x]", "/here" }, { "run: [x], cwd: sub", "/here/sub" }, { "run: [x], cwd: /tmp", "/tmp" }, { "run: [x], cwd: \"{{.c}}/y\"", "/here/s/y" },
        { "shell: x, cwd: \"{{.c | length}}\"", "/here/1" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300], due[80];
        const char *effect;
        driven d;

        snprintf(text, sizeof text, "start: x\nstate: {c: {}}\nnodes:\n  x: {%s, next: end}\n", rows[i].node);
        drive(&d, text, "{\"@cwd\":\"/here\",\"c\":\"s\"}");
        snprintf(due, sizeof due, "\"cwd\":\"%s\",", rows[i].cwd);
        CHECK(strstr(asked_for(&d, "x", &effect), due) != NULL);
        CHECK_STR(effect, "run");
        drive_end(&d);
    }
}

/* ---- what a failure leads to --------------------------------------------------------------------------------------- */

static const char mends[] =
    "start: x\nstate: {c: {default: 1}, why: {}}\nnodes:\n  x: {%s, on_error: mend, next: end}\n  mend: {set: {why: .error}, next: end}\n";

static void mended(const char *node, const char *receipt, bool error, const char *why)
{
    char text[600];
    driven d;

    snprintf(text, sizeof text, mends, node);
    drive(&d, text, NULL);
    if (receipt != NULL && error)
        fails(&d, "x", receipt);
    else if (receipt != NULL)
        reply(&d, "x", receipt);
    stands(&d, "completed", "why", why);
    CHECK_STR(world_get(&d.w, "c"), "1");           /* nothing was written before */
    drive_end(&d);
}

PAWL_TEST(test_on_error_sees_whatever_a_node_fails_with)
{
    mended("run: [x], text: c", "{\"code\":\"effect\",\"text\":\"no\",\"detail\":\"d\"}", true, "{\"code\":\"effect\",\"detail\":\"d\",\"text\":\"no\"}");
    mended("run: [x], text: c, json: c", "{\"status\":0,\"stderr\":\"\",\"stdout\":\"{\"}", false,
           "{\"code\":\"invalid\",\"text\":\"x: its output is no JSON: byte 1: unexpected end of data\"}");
    mended("run: [x], status: c, json: c", "{\"status\":3,\"stderr\":\"\",\"stdout\":null}", false,
           "{\"code\":\"invalid\",\"text\":\"x: its output is no UTF-8, and cannot be kept as a text\"}");
    mended("run: [x], text: c", "{\"status\":0,\"stderr\":\"\",\"stdout\":\"x\",\"cut\":true}", false,
           "{\"code\":\"limit\",\"text\":\"x: it wrote more than is kept (`output_bytes`, 1 MiB where nothing is said)\"}");
    mended("http: https://h/, text: c", "{\"status\":404,\"body\":\"gone\"}", false,
           "{\"code\":\"effect\",\"text\":\"x: the answer has status 404: say `status: CHANNEL` to look at it, or `on_error: NODE`\"}");
    mended("run: [\"a {{.why}}\"], text: c", NULL, false, "{\"code\":\"invalid\",\"text\":\"x: {{.why}} is null, and nothing stands for that in a text\"}");
    mended("set: {c: 2, why: .c.d}", NULL, false, "{\"code\":\"invalid\",\"text\":\"x: `.c`: its value is a number and has no member \\\"d\\\"\"}");
}

PAWL_TEST(test_on_error_of_an_expression_that_jq_gives_up)
{
    char text[600];
    const filing_text files[] = { { "a.yaml", text }, { NULL, NULL } };
    driven d;

    snprintf(text, sizeof text, mends, "set: {c: '.c | tonumber'}");
    drive_with(&d, files, NULL, DRIVE_ALONE);
    CHECK(world_error(&d.w, "x", "{\"code\":\"effect\",\"text\":\"`.c | tonumber`: no number\"}") >= 0);
    stands(&d, "completed", "why", "{\"code\":\"effect\",\"text\":\"x: `.c | tonumber`: no number\"}");
    drive_end(&d);
}

PAWL_TEST(test_without_on_error_the_run_fails_and_says_why)
{
    driven d;

    drive(&d, "start: x\nstate: {c: {}}\nnodes:\n  x: {set: {c: 'a {{.c}}'}, next: end}\n", NULL);
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"x: {{.c}} is null, and nothing stands for that in a text\"}");
    drive_end(&d);
    drive(&d, "start: x\nnodes:\n  x: {run: [x], next: end}\n", NULL);
    fails(&d, "x", "{\"code\":\"timeout\",\"text\":\"slow\"}");
    stands(&d, "failed", NULL, NULL);
    CHECK(strstr(world_reason(&d.w), "\"receipt\":{\"code\":\"timeout\",\"text\":\"slow\"}") != NULL);
    drive_end(&d);
    drive(&d, "start: x\nnodes:\n  x: {run: [x], on_error: end, next: x}\n", NULL);
    fails(&d, "x", "{\"code\":\"timeout\",\"text\":\"slow\"}");
    stands(&d, "completed", NULL, NULL);
    drive_end(&d);
}

PAWL_TEST(test_what_failed_in_a_fan_out_goes_on_with_what_it_was_sent)
{
    driven d;

    drive(&d,
          "start: a\nstate: {l: {default: [p, q]}, bad: {merge: append}}\nnodes:\n"
          "  a: {set: {l: .l}, each: {of: .l, node: w, as: one}, next: end}\n"
          "  w: {run: [x, \"{{.one}}\"], on_error: mend, next: end}\n"
          "  mend: {set: {bad: [\"{{.one}}\", \"{{.error.text}}\"]}, next: end}\n",
          NULL);
    calls(&d, "w:1", "{\"check\":true,\"run\":[\"x\",\"q\"]}");
    fails(&d, "w:1", "{\"code\":\"effect\",\"text\":\"no\"}");
    wrote(&d, "w:0", "");
    stands(&d, "completed", "bad", "[[\"q\",\"no\"]]");
    drive_end(&d);
}

/* ---- W: questions and waits --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_W3_an_answer_fits_the_schema_and_the_options)
{
    driven d;
    pawl_wait q;

    drive(&d, "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: 'How many, {{.c}}?', to: c, schema: {type: integer, minimum: 1}, of: ada, next: end}\n",
          "{\"c\":\"b\"}");
    CHECK_STR(waits_for(&d), "question \"How many, b?\"");
    CHECK(pawl_state_wait(d.w.st, 0, d.w.look, &q, NULL) == PAWL_OK);
    CHECK_STR(q.asked_of, "ada");
    CHECK_INT(world_answer(&d.w, NULL, "0"), PAWL_INVALID);
    answer(&d, NULL, "9007199254740993");
    stands(&d, "completed", "c", "9007199254740993");
    drive_end(&d);
    drive(&d, "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: Which?, to: c, options: [red, blue], next: end}\n", NULL);
    CHECK_INT(world_answer(&d.w, NULL, "\"green\""), PAWL_INVALID);
    answer(&d, NULL, "\"blue\"");
    stands(&d, "completed", "c", "\"blue\"");
    drive_end(&d);
    drive(&d, "start: x\nnodes:\n  x: {ask: Go on?, next: end}\n", NULL);
    answer(&d, NULL, "{\"any\":1}");
    stands(&d, "completed", NULL, NULL);
    drive_end(&d);
}

PAWL_TEST(test_W5_a_default_answers_when_its_time_has_passed_and_not_before)
{
    driven d;
    pawl_wait q;
    char id[300];

    drive(&d, "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: Which?, to: c, options: [red, blue], timeout: {total: 2h}, default: red, next: end}\n", NULL);
    CHECK(pawl_state_wait(d.w.st, 0, d.w.look, &q, NULL) == PAWL_OK);
    CHECK_INT(q.expires_ms - q.asked_ms, 7200000);
    snprintf(id, sizeof id, "%s", q.id);
    CHECK(world_feed(&d.w, &(pawl_event){ .kind = PAWL_EV_TIMER, .id = id, .time_ms = q.expires_ms }) >= 0);
    world_go(&d.w);
    stands(&d, "completed", "c", "\"red\"");
    drive_end(&d);
}

PAWL_TEST(test_E9_a_wait_is_for_a_time_or_until_one)
{
    static const struct { const char *wait; int64_t ms; } rows[] = {
        { "1h", 3600000 }, { "{for: 250ms}", 250 }, { "{until: 1970-01-02T00:00:00Z}", 86400000 - 1000 }, { "{until: \"00:01\"}", 60000 - 1000 },
        { "{until: \"{{.c}}\"}", 5000 - 1000 }, { "{until: 1970-01-01T00:00:00Z}", 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300], id[300];
        pawl_command c;
        driven d;

        snprintf(text, sizeof text, "start: x\nstate: {c: {}}\nnodes:\n  x: {wait: %s, next: end}\n", rows[i].wait);
        drive(&d, text, "{\"c\":5000}");
        if (rows[i].ms > 0 || pawl_state_commands(d.w.st) > 0) {
            CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, NULL, NULL) == PAWL_OK && c.kind == PAWL_COMMAND_SLEEP);
            CHECK_INT(c.due_ms, 1000 + rows[i].ms);
            snprintf(id, sizeof id, "%s", c.id);
            world_timer(&d.w, id);
        }
        stands(&d, "completed", NULL, NULL);
        drive_end(&d);
    }
}

PAWL_TEST(test_a_signal_brings_its_value_or_comes_too_late)
{
    static const char *const heads[] = { "", "ask: Now?, ", "interrupt_before: true, ", "ask: 'Now {{.n + 1}}?', " };

    for (size_t i = 0; i < 4; i++)
        for (int late = 0; late < 2; late++) {
            char text[400];
            driven d;

            snprintf(text, sizeof text,
                     "start: x\nstate: {c: {}, n: {default: 1}, why: {}}\nnodes:\n  x: {%swait: {signal: go}, to: c, timeout: 1m, on_error: y, next: end}\n"
                     "  y: {set: {why: .error.code}, next: end}\n", heads[i]);
            drive(&d, text, NULL);
            if (i > 0)
                answer(&d, NULL, "true");
            if (late)
                world_timer(&d.w, "x");
            else
                world_signal(&d.w, "go", "{\"v\":[1,2]}");
            stands(&d, "completed", late ? "why" : "c", late ? "\"timeout\"" : "{\"v\":[1,2]}");
            drive_end(&d);
        }
    driven d;

    drive(&d, "start: x\nnodes:\n  x: {wait: {signal: go}, timeout: 1m, next: end}\n", NULL);
    world_timer(&d.w, "x");
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"timeout\",\"text\":\"x: no signal \\\"go\\\" came in time\"}");
    drive_end(&d);
}

PAWL_TEST(test_G5_a_run_stops_before_and_after_a_node)
{
    static const char *const forms[] = {
        "start: x\ninterrupt_before: [x]\ninterrupt_after: x\nstate: {c: {}}\nnodes:\n  x: {set: {c: 1}, next: end}\n",
        "start: x\nstate: {c: {}}\nnodes:\n  x: {set: {c: 1}, interrupt_before: true, interrupt_after: true, next: end}\n",
    };

    for (size_t i = 0; i < 2; i++) {
        driven d;

        drive(&d, forms[i], NULL);
        stands(&d, "input-required", "c", "");
        answer(&d, NULL, "null");
        stands(&d, "input-required", "c", "1");
        answer(&d, NULL, "null");
        stands(&d, "completed", "c", "1");
        drive_end(&d);
    }
}

PAWL_TEST(test_G7_G13_max_steps_and_turns)
{
    driven d;

    drive(&d, "start: x\nmax_steps: 3\nstate: {n: {merge: sum}}\nnodes:\n  x: {set: {n: 1}, next: x}\n", NULL);
    stands(&d, "failed", "n", "3");
    CHECK(strstr(world_reason(&d.w), "max_steps 3 is reached") != NULL);
    drive_end(&d);
    drive(&d, "start: x\nturns: More?\nstate: {q: {}, log: {merge: append}}\nnodes:\n  x: {set: {log: .q}, next: end}\n", "{\"q\":\"a\"}");
    CHECK_STR(waits_for(&d), "input \"More?\"");
    answer(&d, NULL, "{\"q\":\"b\"}");
    stands(&d, "input-required", "log", "[\"a\",\"b\"]");
    drive_end(&d);
}
