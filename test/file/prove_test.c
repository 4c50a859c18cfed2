/* prove_test.c - holes that were planted: each is found, by the shortest way, and the real machine goes it. */
#include "file/driven.h"
#include "file/proved.h"

static const char plain[] = "{}";

/* A file of one text; `top` stands before its nodes. */
static void search_in(proved *p, const char *nodes, const char *rules, prove_ask q)
{
    static char text[2000];
    static filing_text files[2];

    snprintf(text, sizeof text, "state: {x: {}, l: {}}\n%s", nodes);
    files[0] = (filing_text){ "a.yaml", text };
    proved_load(p, files, rules, true);
    proved_search(p, q);
}

static void finds_with(const char *nodes, const char *rules, prove_ask q, const char *path)
{
    proved p;

    search_in(&p, nodes, rules, q);
    CHECK_STR(proved_path(&p), path);
    CHECK_INT(p.r.verdict, PROVE_BROKEN);
    CHECK_STR(proved_replay(&p), "");
    proved_end(&p);
}

static void finds(const char *nodes, const char *path)
{
    finds_with(nodes, NULL, (prove_ask){0}, path);
}

static void proves_with(const char *nodes, const char *rules, prove_ask q)
{
    proved p;

    search_in(&p, nodes, rules, q);
    CHECK_STR(proved_path(&p), "");
    CHECK_INT(p.r.verdict, PROVE_PROVED);
    CHECK(p.r.states > 0 && p.r.transitions >= p.r.states);
    proved_end(&p);
}

static void proves(const char *nodes)
{
    proves_with(nodes, NULL, (prove_ask){0});
}

#define HOOK_OF(profile) "{\"hooks\":[{\"from\":\"here\",\"hooks\":{\"before\":[{\"matcher\":\"w\",\"hooks\":[{\"type\":\"command\",\"command\":\"look\"," \
                         "\"profile\":\"" profile "\"}]}]}}]}"

/* ---- nothing asks ------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_node_that_nothing_asks_of_is_found)
{
    finds("start: w\nnodes:\n  w: {run: [rm, a], next: end}\n",
          "begins in default\nw runs (run rm a) without approval: no gate, no requires, no ask rule\n");
    finds("start: w\nnodes:\n  w: {shell: rm a, effect: once, next: end}\n",
          "begins in default\nw runs (shell rm a) without approval: no gate, no requires, no ask rule\n");
    finds("start: w\nnodes:\n  w: {http: {url: 'https://h/', method: POST}, next: end}\n",
          "begins in default\nw runs (http https://h/) without approval: no gate, no requires, no ask rule\n");
    finds("plugins: [./good.so]\nstart: w\nnodes:\n  w: {greet: {}, next: end}\n",
          "begins in default\nw runs (greet) without approval: no gate, no requires, no ask rule\n");
}

PAWL_TEST(test_P1_what_only_reads_is_fine_in_every_mode)
{
    static const unsigned modes[] = { 0, 1u << PAWL_MODE_PLAN, 1u << PAWL_MODE_DEFAULT, 1u << PAWL_MODE_BYPASS };

    for (size_t i = 0; i < 4; i++) {
        proves_with("start: w\nnodes:\n  w: {run: [ls], effect: pure, next: end}\n", NULL, (prove_ask){ .modes = modes[i] });
        proves_with("start: w\nnodes:\n  w: {http: 'https://h/', next: end}\n", NULL, (prove_ask){ .modes = modes[i] });
        proves_with("start: w\nnodes:\n  w: {set: {x: 1}, next: v}\n  v: {ask: 'q?', to: x, next: u}\n  u: {wait: 1s, next: end}\n", NULL,
                    (prove_ask){ .modes = modes[i] });
    }
}

PAWL_TEST(test_P1_plan_lets_nothing_act)
{
    proves_with("start: w\nnodes:\n  w: {run: [rm, a], next: end}\n", NULL, (prove_ask){ .modes = 1u << PAWL_MODE_PLAN });
}

PAWL_TEST(test_W6_a_gate_is_a_proof)
{
    proves("start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], next: end}\n");
    proves("start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], effect: once, on_no: end, next: w}\n");
    proves_with("start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], next: end}\n", NULL, (prove_ask){ .modes = 1u << PAWL_MODE_BYPASS });
}

/* ---- requires, and the modes --------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_what_a_mode_permits_is_not_asked)
{
    static const char file[] = "start: w\nnodes:\n  w: {run: [rm, a], requires: acceptEdits, next: end}\n";

    finds(file, "begins in acceptEdits\nw runs (run rm a) without approval: it requires acceptEdits, which the mode acceptEdits permits\n");
    proves_with(file, NULL, (prove_ask){ .modes = 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_PLAN });
    proves("start: w\nnodes:\n  w: {run: [rm, a], requires: bypassPermissions, next: end}\n");
}

PAWL_TEST(test_P1_bypass_lets_through_what_requires_it)
{
    finds_with("start: w\nnodes:\n  w: {run: [rm, a], requires: bypassPermissions, next: end}\n", NULL,
               (prove_ask){ .modes = 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_BYPASS },
               "begins in bypassPermissions\nw runs (run rm a) without approval: it requires bypassPermissions,"
               " which the mode bypassPermissions permits\n");
}

PAWL_TEST(test_P1_a_mode_may_be_switched_on_the_way)
{
    /* only who is asked can say no, and that leads to what is then not asked */
    finds("start: a\nnodes:\n  a: {run: [ls], effect: pure, requires: acceptEdits, on_no: w, next: end}\n"
          "  w: {run: [rm, a], requires: acceptEdits, next: end}\n",
          "begins in default\na: a person says no, on to w\nits mode is switched to acceptEdits\n"
          "w runs (run rm a) without approval: it requires acceptEdits, which the mode acceptEdits permits\n");
    /* and back: bypass is given again after it was lost */
    finds_with("start: a\nnodes:\n  a: {run: [ls], effect: pure, requires: bypassPermissions, on_no: b, next: end}\n"
               "  b: {wait: 1s, next: w}\n  w: {run: [rm, a], requires: bypassPermissions, next: end}\n",
               NULL, (prove_ask){ .modes = 1u << PAWL_MODE_DEFAULT | 1u << PAWL_MODE_BYPASS },
               "begins in default\na: a person says no, on to b\nits mode is switched to bypassPermissions\nb is done (wait), on to w\n"
               "w runs (run rm a) without approval: it requires bypassPermissions, which the mode bypassPermissions permits\n");
}

PAWL_TEST(test_P1_a_gate_that_denies_asks_nobody)
{
    proves_with("gate: deny\nstart: w\nnodes:\n  w: {run: [rm, a], requires: acceptEdits, on_no: v, next: end}\n  v: {run: [rm, b], next: end}\n",
                NULL,
                (prove_ask){ .modes = 1u << PAWL_MODE_DEFAULT });
}

/* ---- ways around ------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_no_that_leads_around_its_gate_is_found)
{
    finds("start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], on_no: v, next: end}\n  v: {run: [rm, b], next: end}\n",
          "begins in default\nw: a person says no, on to v\nv runs (run rm b) without approval: no gate, no requires,"
          " no ask rule\n");
}

PAWL_TEST(test_P1_a_failure_that_leads_around_is_found)
{
    finds("start: w\nnodes:\n  w: {run: [ls], effect: pure, on_error: v, next: end}\n  v: {run: [rm, b], next: end}\n",
          "begins in default\nw fails, on to v\nv runs (run rm b) without approval: no gate, no requires, no ask rule\n");
}

PAWL_TEST(test_P1_an_element_that_is_sent_around_is_found)
{
    finds("start: w\nnodes:\n  w: {set: {x: 1}, each: {of: '.l | sort', node: v, as: e}, next: end}\n  v: {run: [rm, '{{.e}}'], next: end}\n",
          "begins in default\nw is done (set)\nw leads to v\nv runs (run rm ...) without approval: no gate, no requires, no "
          "ask rule\n");
    finds("start: w\nnodes:\n  w: {set: {x: 1}, each: {of: .l, node: v, as: e}, next: end}\n  v: {run: [rm, '{{.e}}'], next: end}\n",
          "begins in default\nw is done (set), on to v\nv runs (run rm ...) without approval: no gate, no requires,"
          " no ask rule\n");
}

PAWL_TEST(test_P1_any_way_may_be_taken)
{
    finds("start: w\nnodes:\n  w: {set: {x: 1}, next: [{when: '.x == 2', to: u}, {when: '.x == 1', to: v}, {else: end}]}\n"
          "  u: {set: {x: 2}, next: end}\n"
          "  v: {run: [rm, b], next: end}\n",
          "begins in default\nw is done (set)\nw leads to v\nv runs (run rm b) without approval: no gate, no requires, no ask "
          "rule\n");
    finds("start: w\nnodes:\n  w: {wait: 1s, next: [{when: .x, to: u}, {else: v}]}\n  u: {set: {x: 2}, next: end}\n  v: {run: [rm, b], next: end}\n",
          "begins in default\nw is done (wait), on to v\nv runs (run rm b) without approval: no gate, no requires,"
          " no ask rule\n");
}

PAWL_TEST(test_P1_what_waits_for_a_join_is_found)
{
    finds("start: [a, b]\nnodes:\n  a: {set: {x: 1}, next: w}\n  b: {set: {l: 1}, next: c}\n  c: {wait: 1s, next: w}\n"
          "  w: {join: [a, c], run: [rm, b], next: end}\n",
          "begins in default\na is done (set), on to the end\nb is done (set), on to c\nc is done (wait), on to the end\n"
          "w runs (run rm b) without approval: no gate, no requires, no ask rule\n");
    finds("start: [a, w]\nnodes:\n  a: {wait: 1s, next: end}\n  w: {defer: true, run: [rm, b], next: end}\n",
          "begins in default\na is done (wait), on to the end\nw runs (run rm b) without approval: no gate, no requires, no "
          "ask rule\n");
}

/* A branch that was not taken counts as done: what joins it acts, and after its approval. */
PAWL_TEST(test_P1_what_a_join_runs_without_a_branch_is_found)
{
    finds("start: [a, c]\nnodes:\n  a: {each: {of: .l, node: b, as: i}, next: w}\n  b: {wait: 1s, next: w}\n"
          "  c: {ask: Sure?, to: x, next: w}\n  w: {join: [b, c], run: [rm, b], next: end}\n",
          "begins in default\na is done (each), on to w\nc asks, and is answered, on to the end\n"
          "w runs (run rm b) without approval: no gate, no requires, no ask rule\n");
    proves("start: [a, c]\nnodes:\n  a: {each: {of: .l, node: b, as: i}, next: w}\n  b: {wait: 1s, next: w}\n"
          "  c: {set: {l: 1}, next: w}\n  w: {join: [b, c], ask: Sure?, run: [rm, b], next: end}\n");
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

static void graph_search(proved *p, const char *outer, const char *inner, prove_ask q)
{
    static filing_text files[3];

    files[0] = (filing_text){ "a.yaml", outer };
    files[1] = (filing_text){ "b.yaml", inner };
    proved_load(p, files, NULL, true);
    proved_search(p, q);
}

PAWL_TEST(test_P1_a_graph_with_an_open_node_is_found_behind_its_gate)
{
    proved p;

    graph_search(&p, "start: s\nnodes:\n  s: {graph: b.yaml, ask: 'in?', next: end}\n",
                 "start: l\nnodes:\n  l: {run: [ls], effect: pure, next: w}\n  w: {run: [rm, a], next: end}\n", (prove_ask){0});
    CHECK_STR(proved_path(&p), "begins in default\ns begins its graph, its gate being passed\ns/l runs (run ls), pure, on to w\n"
                               "s/w runs (run rm a) without approval: no gate, no requires, no ask rule\n");
    CHECK_STR(proved_replay(&p), "");
    proved_end(&p);
}

PAWL_TEST(test_P1_behind_a_graph_it_goes_on_when_that_can_be_done)
{
    static const char outer[] = "start: s\nnodes:\n  s: {graph: b.yaml, next: w}\n  w: {run: [rm, a], next: end}\n";
    proved p;

    graph_search(&p, outer, "start: l\nnodes:\n  l: {run: [ls], effect: pure, next: end}\n", (prove_ask){0});
    CHECK_STR(proved_path(&p),
              "begins in default\ns: its graph is done, on to w\nw runs (run rm a) without approval: no gate, no requires, no "
              "ask rule\n");
    CHECK_STR(proved_replay(&p), "");
    proved_end(&p);
    graph_search(&p, outer, "gate: ask\nstart: l\nnodes:\n  l: {run: [rm, b], next: end}\n", (prove_ask){ .modes = 1u << PAWL_MODE_PLAN });
    CHECK_INT(p.r.verdict, PROVE_PROVED);
    proved_end(&p);
}

/* ---- rules ------------------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_P2_an_allow_rule_that_skips_a_requires_is_found)
{
    static const char file[] = "start: w\nnodes:\n  w: {run: [touch, a], requires: bypassPermissions, next: end}\n";

    finds_with(file, "{\"allow\":[\"Bash(touch:*)\"]}", (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: the rule Bash(touch:*) allows it\n");
    finds_with(file, "{\"allow\":[\"Node\"]}", (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: the rule Node allows it\n");
    finds_with(file, "{\"allow\":[\"Node(w)\"]}", (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: the rule Node(w) allows it\n");
    finds_with(file, "{\"allow\":[\"Node(name:w*)\"]}", (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: the rule Node(name:w*) allows it\n");
    proves_with(file, "{\"allow\":[\"Node(v)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Node(w)\"],\"ask\":[\"Bash(touch:*)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Node(w)\"],\"deny\":[\"Bash(touch:*)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Node(w)\"],\"ask\":[\"Node(name:w)\"]}", (prove_ask){0});
    proves_with("start: w\nnodes:\n  w: {ask: 'sure?', run: [touch, a], next: end}\n", "{\"allow\":[\"Node(w)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Bash(touch:*)\"],\"ask\":[\"Node(name:w)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Bash(mkdir:*)\"]}", (prove_ask){0});
    proves_with(file, "{\"allow\":[\"Bash(touch:*)\"],\"ask\":[\"Bash(touch a:*)\"]}", (prove_ask){0});
    proves_with("start: w\nnodes:\n  w: {ask: 'sure?', run: [touch, a], next: end}\n", "{\"allow\":[\"Bash(touch:*)\"]}", (prove_ask){0});
}

PAWL_TEST(test_P2_a_rule_that_ends_is_not_relied_on)
{
    finds_with("start: w\nnodes:\n  w: {run: [touch, a], next: end}\n", "{\"ask\":[{\"rule\":\"Bash(touch:*)\",\"until\":1}]}", (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: no gate, no requires, no ask rule\n");
    proves_with("start: w\nnodes:\n  w: {run: [touch, a], next: end}\n", "{\"ask\":[\"Bash(touch:*)\"]}", (prove_ask){0});
    proves_with("start: w\nnodes:\n  w: {run: [touch, a], next: end}\n", "{\"deny\":[\"Bash(touch:*)\"]}", (prove_ask){0});
}

PAWL_TEST(test_P3_an_ask_rule_need_not_fit_a_text_that_is_not_known)
{
    finds_with("start: w\nnodes:\n  w: {run: [git, '{{.x}}'], next: end}\n", "{\"ask\":[\"Bash(git push:*)\"]}", (prove_ask){0},
               "begins in default\nw runs (run git ...) without approval: its text is not known,"
               " and the rule Bash(git push:*) need not fit it\n");
    finds_with("start: w\nnodes:\n  w: {run: [git, '{{.x + 1}}'], next: end}\n", "{\"ask\":[\"Bash(git push:*)\"]}", (prove_ask){0},
               "begins in default\nw runs (run git ...) without approval: its text is not known,"
               " and the rule Bash(git push:*) need not fit it\n");
    proves_with("start: w\nnodes:\n  w: {run: [git, push, '{{.x}}'], next: end}\n", "{\"ask\":[\"Bash(git push:*)\"]}", (prove_ask){0});
}

PAWL_TEST(test_P3_an_allow_rule_may_fit_a_text_that_is_not_known)
{
    static const char found[] = "begins in default\nw runs (run touch ...) without approval: its text is not known,"
                                " and with \"touch made\" the rule "
                                "Bash(touch made:*) allows it\n";

    finds_with("start: w\nnodes:\n  w: {run: [touch, '{{.x}}'], requires: bypassPermissions, next: end}\n", "{\"allow\":[\"Bash(touch made:*)\"]}",
               (prove_ask){0}, found);
    finds_with("start: w\nnodes:\n  w: {run: [touch, '{{.x + 1}}'], requires: bypassPermissions, next: end}\n",
               "{\"allow\":[\"Bash(touch made:*)\"]}", (prove_ask){0}, found);
}

PAWL_TEST(test_P2_what_was_granted_to_a_run_counts)
{
    static const char grants[] = "[[{\"from\":\"an approval\",\"rule\":\"Bash(touch:*)\",\"until\":9000000000000}]]";
    proved p;
    pawl_err err = {0};

    search_in(&p, "start: w\nnodes:\n  w: {run: [touch, a], requires: bypassPermissions, next: end}\n", NULL, (prove_ask){0});
    CHECK_INT(p.r.verdict, PROVE_PROVED);
    proved_search(&p, (prove_ask){ .grants = value_parse(&p.b->mem, grants, sizeof grants - 1, "grants", &err) });
    CHECK_STR(proved_path(&p), "begins in default\nw runs (run touch a) without approval: the rule Bash(touch:*) allows it\n");
    proved_end(&p);
}

/* ---- hooks --------------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P5_a_hook_that_fails_open_is_found_and_one_that_fails_closed_is_not)
{
    static const char file[] = "start: w\nnodes:\n  w: {run: [touch, a], next: end}\n";

    finds_with(file, HOOK_OF("claude"), (prove_ask){ .hooks_ask = true },
               "begins in default\nw runs (run touch a) without approval: the hook here: before[0].hooks[0] times out,"
               " and its profile lets that through\n");
    proves_with(file, HOOK_OF("strict"), (prove_ask){ .hooks_ask = true });
}

PAWL_TEST(test_P2_a_hook_may_allow_what_a_mode_would_ask)
{
    finds_with("start: w\nnodes:\n  w: {run: [touch, a], requires: bypassPermissions, next: end}\n", HOOK_OF("strict"), (prove_ask){0},
               "begins in default\nw runs (run touch a) without approval: the hook here: before[0].hooks[0] allows it\n");
    proves_with("start: w\nnodes:\n  w: {ask: 'sure?', run: [touch, a], next: end}\n", HOOK_OF("claude"), (prove_ask){0});
    proves_with("start: w\nnodes:\n  w: {run: [touch, a], requires: bypassPermissions, next: end}\n",
                "{\"ask\":[\"Bash(touch:*)\"],\"hooks\":[{\"from\":\"here\",\"hooks\":{\"before\":[{\"matcher\":\"v\","
                "\"hooks\":[{\"type\":\"command\",\"command\":\"look\"}]}]}}]}",
                (prove_ask){0});
}

PAWL_TEST(test_P4_a_hook_may_rewrite_a_call_and_allow_it)
{
    finds_with("start: w\nnodes:\n  w: {run: [git, push], requires: bypassPermissions, next: end}\n",
               "{\"ask\":[\"Bash(git push:*)\"],\"hooks\":[{\"from\":\"here\",\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\","
               "\"command\":\"look\"}]}]}}]}",
               (prove_ask){0}, "begins in default\nw runs (run git push) without approval: the hook here: PreToolUse[0].hooks[0] rewrites "
                               "it and allows it\n");
}

PAWL_TEST(test_P4_a_hook_may_rewrite_a_call_past_an_ask_rule)
{
    proved p;

    search_in(&p, "start: w\nnodes:\n  w: {run: [git, push], next: end}\n",
              "{\"ask\":[\"Bash(git push:*)\"],\"hooks\":[{\"from\":\"here\",\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\","
              "\"command\":\"look\"}]}]}}]}", (prove_ask){0});
    CHECK_STR(proved_path(&p),
              "begins in default\nw runs (run git push) without approval: the hook here: PreToolUse[0].hooks[0] rewrites it\n");
    CHECK_STR(proved_replay(&p), "");
    proved_end(&p);
}

PAWL_TEST(test_P4_a_hook_behind_a_node_may_lead_to_another)
{
    static const char outer[] = "state: {x: {}}\nstart: a\nhooks: {after: [{matcher: a, hooks: [{type: command, command: look}]}]}\nnodes:\n"
                                "  a: {set: {x: 1}, on_error: w, next: end}\n  w: {run: [rm, a], next: end}\n";
    static const filing_text files[] = { { "a.yaml", outer }, { NULL, NULL } };
    proved p;

    proved_load(&p, files,
                "{\"hooks\":[{\"from\":\"here\",\"hooks\":{\"after\":[{\"matcher\":\"a\",\"hooks\":[{\"type\":\"command\","
                "\"command\":\"look\"}]}]}}]}", true);
    proved_search(&p, (prove_ask){0});
    CHECK_STR(proved_path(&p), "begins in default\na is done (set), and a hook leads on to w\n"
                               "w runs (run rm a) without approval: no gate, no requires, no ask rule\n");
    CHECK_STR(proved_replay(&p), "");
    proved_end(&p);
}

/* ---- what a proof takes as given of the kernel ------------------------------------------------------------------ */

#define GATED "start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], effect: idempotent, next: end}\n"

PAWL_TEST(test_W6_a_yes_survives_a_crash_for_its_own_visit)
{
    char id[256];
    driven d;

    drive(&d, GATED, NULL);
    answer(&d, NULL, "true");
    snprintf(id, sizeof id, "%s", world_open(&d.w, "w", false));
    CHECK(*id != '\0');
    world_crash(&d.w);
    CHECK_STR(world_open(&d.w, "w", false), id);    /* begun again, and nobody is asked */
    CHECK_INT(pawl_state_waits(d.w.st), 0);
    drive_end(&d);
}

PAWL_TEST(test_W6_a_new_visit_is_asked_anew)
{
    driven d;

    drive(&d, GATED, NULL);
    answer(&d, NULL, "true");
    fails(&d, "w", "{\"code\":\"effect\",\"text\":\"no\"}");
    CHECK_STR(world_status(&d.w), "failed");
    CHECK(world_reopen(&d.w, NULL) >= 0);
    CHECK_STR(waits_for(&d), "approval \"sure?\"");
    CHECK_INT(pawl_state_commands(d.w.st), 0);
    drive_end(&d);
}

PAWL_TEST(test_K10_a_yes_does_not_cross_a_fork)
{
    driven d;

    drive(&d, GATED, NULL);
    answer(&d, NULL, "true");
    CHECK_INT(pawl_state_commands(d.w.st), 1);
    world_fork(&d.w, &(pawl_run_info){ .id = "run-2", .life = 2, .seed = 8, .created_ms = 2000 });
    CHECK(world_go(&d.w) >= 0);
    CHECK_STR(waits_for(&d), "approval \"sure?\"");
    CHECK_INT(pawl_state_commands(d.w.st), 0);
    drive_end(&d);
}

PAWL_TEST(test_P1_a_mode_holds_from_the_next_superstep_on)
{
    driven d;

    drive(&d, "start: [a, w]\nnodes:\n  a: {ask: 'q?', next: v}\n  w: {run: [rm, a], requires: acceptEdits, next: end}\n"
              "  v: {run: [rm, b], requires: acceptEdits, next: end}\n", NULL);
    CHECK(world_update(&d.w, NULL, "{\"@mode\":\"acceptEdits\"}") >= 0);
    CHECK_INT(pawl_state_waits(d.w.st), 2);         /* w is still asked */
    answer(&d, "w", "true");
    reply(&d, "w", "{\"status\":0,\"stderr\":\"\",\"stdout\":\"\"}");
    answer(&d, "a", "\"x\"");
    CHECK_INT(pawl_state_waits(d.w.st), 0);
    CHECK(*world_open(&d.w, "v", false) != '\0');
    drive_end(&d);
}

/* ---- what is said of it -------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_certificate_says_what_it_is_of)
{
    static const char *const except[] = { "v" };
    proved p;
    buf b;

    search_in(&p, "start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], next: v}\n  v: {run: [rm, b], next: end}\n", plain,
              (prove_ask){ .except = except, .nexcept = 1, .modes = 1u << PAWL_MODE_DEFAULT });
    CHECK_INT(p.r.verdict, PROVE_PROVED);
    buf_init(&b, NULL);
    canon(&b, p.r.json);
    buf_char(&b, '\0');
    CHECK(strstr(b.data, "\"destructive\":[\"w\",\"v\"],\"except\":[\"v\"],\"graph\":\"") != NULL);
    CHECK(strstr(b.data, "\"hooks\":\"any\",\"modes\":[\"default\"],\"policy\":\"") != NULL);
    CHECK(strstr(b.data, "\"proved\":true") != NULL);
    CHECK(strstr(b.data, pawl_machine_hash(p.m)) != NULL);
    buf_free(&b);
    proved_end(&p);
}

PAWL_TEST(test_X2_more_states_than_are_searched_is_no_proof)
{
    proved p;

    search_in(&p, "start: w\nnodes:\n  w: {ask: 'sure?', run: [rm, a], on_no: v, next: end}\n  v: {set: {x: 1}, next: w}\n", NULL,
              (prove_ask){ .states_max = 4 });
    CHECK_INT(p.r.verdict, PROVE_UNDECIDED);
    CHECK_STR(p.r.why, "more states than are searched (PROVE_STATES_MAX)");
    CHECK(pawl_value_bool(pawl_value_get(p.r.json, "proved")) == false);
    proved_end(&p);
}

PAWL_TEST(test_X1_a_node_that_is_not_there_is_told)
{
    static const char *const except[] = { "nobody" };
    static const filing_text files[] = { { "a.yaml", "start: w\nnodes:\n  w: {run: [rm, a], next: end}\n" }, { NULL, NULL } };
    pawl_err err = {0};
    proved p;

    proved_load(&p, files, NULL, true);
    CHECK(file_prove(p.a, p.m, &(prove_ask){ .except = except, .nexcept = 1 }, &p.b->mem, &p.r, &err) == PAWL_INVALID);
    CHECK_STR(err.text, "there is no node \"nobody\" to be left out: of an inner graph it is NODE/NODE");
    proved_end(&p);
}

/* ---- conditions that are the same in every run ---------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_way_that_no_run_takes_is_no_alarm)
{
    static const char *const never[] = { "false", "null", "1 == 2", ".x and false", "true | not", "\"a\" == \"b\"" };
    static const char *const open[] = { ".x", ".x == 1", "false, true", "false // true", "(.x, false)", "\"\\(.x)\" == \"\"", "[.x] == []", "false or .x",
                                        "false | not | not | not", "1.0 == 1.00", "[.x | false] == []",
                                        "false as $x | true", "if false then 1 else 2 end", "(false).x", "null[0:1] | not", "false, .x | not" };
    static const char on[] = "start: a\nnodes:\n  a: {set: {x: 1}, next: [{when: '%s', to: w}, {else: end}]}\n  w: {run: [rm, a], next: end}\n";
    char text[300];

    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        snprintf(text, sizeof text, on, never[i]);
        proves(text);
    }
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        proved p;

        snprintf(text, sizeof text, on, open[i]);
        search_in(&p, text, NULL, (prove_ask){0});
        if (p.r.verdict != PROVE_BROKEN)
            CHECK_FAIL("`%s` may hold", open[i]);
        proved_end(&p);
    }
    proves("start: a\nnodes:\n  a: {set: {x: 1}, next: [{when: 'true', to: end}, {else: w}]}\n  w: {run: [rm, a], next: end}\n");
    proves("start: a\nnodes:\n  a: {set: {x: 1}, each: {of: '[]', node: w, as: e}, next: end}\n  w: {run: [rm, '{{.e}}'], next: end}\n");
    finds("start: a\nnodes:\n  a: {set: {x: 1}, each: {of: '[1]', node: v, as: e}, next: w}\n  v: {run: [rm, b], next: end}\n  w: {run: [rm, a], next: end}\n",
          "begins in default\na is done (set)\na leads to v\nv runs (run rm b) without approval: no gate, no requires, no ask rule\n");
}

PAWL_TEST(test_P1_a_hook_may_choose_a_way_that_no_condition_takes)
{
    proved p;

    search_in(&p, "start: a\nhooks: {after: [{matcher: a, hooks: [{type: command, command: look}]}]}\nnodes:\n"
              "  a: {run: [ls], effect: pure, next: [{when: 'false', to: w}, {else: end}]}\n  w: {run: [rm, a], next: end}\n",
              "{\"hooks\":[{\"from\":\"here\",\"hooks\":{\"after\":[{\"matcher\":\"a\",\"hooks\":[{\"type\":\"command\",\"command\":\"look\"}]}]}}]}",
              (prove_ask){0});
    CHECK_INT(p.r.verdict, PROVE_BROKEN);
    CHECK_STR(proved_replay(&p), "");
    CHECK_STR(proved_path(&p), "begins in default\na runs (run ls), pure, and a hook leads on to w\n"
                               "w runs (run rm a) without approval: no gate, no requires, no ask rule\n");
    proved_end(&p);
}
