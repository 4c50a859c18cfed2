/* ways_test.c - where nodes of agent files lead (G3): next, when and else, each, joins, and graphs as nodes (G6). */
#include "file/driven.h"
#include "kernel/machine.h"

/* ---- next ------------------------------------------------------------------------------------------------- */

static void leads(const char *next, const char *input, const char *status, const char *where)
{
    char text[600];
    driven d;

    snprintf(text, sizeof text,
             "start: [x, k]\nstate: {n: {}, o: {default: {a: [1, 2]}}, log: {merge: append}, m: {}}\nnodes:\n  x: {set: {n: .n}, next: %s}\n"
             "  k: {set: {m: 1}, next: [{when: .m, to: end}, {else: u}]}\n"
             "  y: {set: {log: '\"y\"'}, next: end}\n  z: {set: {log: '\"z\"'}, next: end}\n  u: {run: [x], next: [y, z]}\n", next);
    drive(&d, text, input);
    stands(&d, status, "log", where);
    drive_end(&d);
}

PAWL_TEST(test_G3_the_first_way_that_holds_is_taken)
{
    static const char ways[] = "[{when: .n, to: y}, {when: '.o.a[0]', to: z}, {else: u}]",
        jq[] = "[{when: '.n > 3', to: y}, {when: '.n == 2', to: z}, {else: u}]";

    leads(ways, "{\"n\":true}", "completed", "[\"y\"]");
    leads(ways, "{\"n\":0}", "completed", "[\"y\"]");           /* as in jq: only null and false do not hold */
    leads(ways, "{\"n\":false}", "completed", "[\"z\"]");
    leads(ways, "{\"n\":null}", "completed", "[\"z\"]");
    leads(ways, "{\"n\":null,\"o\":{}}", "working", "");
    leads(jq, "{\"n\":4}", "completed", "[\"y\"]");
    leads(jq, "{\"n\":2}", "completed", "[\"z\"]");
    leads(jq, "{\"n\":1}", "working", "");
    leads("[{when: '.n > 3', to: u}, {when: '.o', to: end}, {else: z}]", "{\"n\":1}", "completed", "");
}

PAWL_TEST(test_G3_all_of_a_list_follow)
{
    leads("[y, z]", "{\"n\":1}", "completed", "[\"y\",\"z\"]");
    leads("[y, end]", "{\"n\":1}", "completed", "[\"y\"]");
}

PAWL_TEST(test_G3_no_way_is_an_error_that_says_so)
{
    driven d;

    drive(&d, "start: x\nstate: {n: {}}\nnodes:\n  x: {set: {n: 1}, next: [{when: .n.a, to: end}, {else: x}]}\n", NULL);
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"x: `.n`: its value is a number and has no member \\\"a\\\"\"}");
    drive_end(&d);
    drive(&d, "start: x\nstate: {n: {}}\nnodes:\n  x: {set: {n: false}, next: [{when: .n, to: x}]}\n", NULL);
    stands(&d, "failed", NULL, NULL);
    CHECK(strstr(world_reason(&d.w), "no route") != NULL);
    drive_end(&d);
    drive(&d, "start: x\nstate: {n: {}}\nnodes:\n  x: {set: {n: 1}, next: [{when: '.n == 2', to: x}]}\n", NULL);
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"x: none of its ways holds, and there is no `else`\"}");
    drive_end(&d);
}

PAWL_TEST(test_G3_a_way_that_jq_decides_stands_in_a_node_of_its_own)
{
    driven d;

    drive(&d, "start: x\nstate: {n: {default: 1}}\nnodes:\n  x: {set: {n: '.n + 1'}, next: [{when: '.n == 5', to: end}, {else: x}]}\n", NULL);
    stands(&d, "completed", "n", "5");
    buf_char(&d.w.trace, '\0');
    CHECK(strstr(d.w.trace.data, "call 8.x--next.1.0 ") != NULL);
    drive_end(&d);
}

/* ---- each ------------------------------------------------------------------------------------------------- */

static const char fans[] =
    "start: [a, k]\nstate: {l: {}, out: {merge: append}, n: {merge: sum, default: 0}}\nnodes:\n"
    "  k: {set: {n: 0}, next: [{when: .l, to: end}, {else: d}]}\n"
    "  a: {set: {n: 0}, each: {of: %s, node: w, as: one}, next: %s}\n"
    "  w: {run: [x, \"{{.one}}\"], effect: pure, text: out, next: b}\n"
    "  b: {set: {n: 1}, next: end}\n"
    "  c: {set: {n: 10}, next: end}\n  d: {run: [d], next: [b, c]}\n";

PAWL_TEST(test_G3_each_sends_one_task_an_element_and_they_are_joined)
{
    static const char *const ofs[] = { ".l", "'(.l)'" };
    char text[700];
    driven d;

    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, fans, ofs[i], "c");
        drive(&d, text, "{\"l\":[\"p\",\"q\",\"a text that is longer than what stands in the journal twice, so that it is referred to\"]}");
        CHECK_INT(pawl_state_commands(d.w.st), 3);
        wrote(&d, "w:1", "Q\n");            /* in any order: */
        wrote(&d, "w:2", "R\n");
        wrote(&d, "w:0", "P\n");
        stands(&d, "completed", "out", "[\"P\",\"Q\",\"R\"]");
        CHECK_STR(world_get(&d.w, "n"), "1");       /* `b` ran once */
        drive_end(&d);
    }
}

PAWL_TEST(test_G3_an_empty_list_goes_to_next)
{
    static const struct { const char *of, *next, *n; } rows[] = {
        { ".l", "c", "10" }, { ".l", "end", "0" }, { ".l", "[b, c]", "11" }, { ".l", "[{when: .out, to: b}, {else: c}]", "10" },
        { "'(.l)'", "c", "10" }, { ".l", "[{when: '.n == 0', to: b}, {else: c}]", "1" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[700];
        driven d;

        snprintf(text, sizeof text, fans, rows[i].of, rows[i].next);
        drive(&d, text, "{\"l\":[]}");
        stands(&d, "completed", "n", rows[i].n);
        drive_end(&d);
    }
}

PAWL_TEST(test_G3_each_of_what_is_no_list_says_what_it_is)
{
    static const struct { const char *input, *why; } rows[] = {
        { NULL, "a: `each`: `.l` is null, and no list" }, { "{\"l\":\"x\"}", "a: `each`: `.l` is a text, and no list" },
        { "{\"l\":{}}", "a: `each`: `.l` is a map, and no list" },
    };

    for (size_t i = 0; i < 3; i++) {
        char text[700], reason[200];
        driven d;

        snprintf(text, sizeof text, fans, ".l", "c");
        drive(&d, text, rows[i].input);
        snprintf(reason, sizeof reason, "{\"code\":\"invalid\",\"text\":\"%s\"}", rows[i].why);
        stands(&d, "failed", NULL, NULL);
        CHECK_STR(world_reason(&d.w), reason);
        drive_end(&d);
    }
}

PAWL_TEST(test_G3_each_by_jq_and_what_a_task_was_sent_in_its_ways)
{
    driven d;

    drive(&d,
          "start: a\nstate: {o: {default: {l: [1, 2, 3]}}, odd: {merge: append}, even: {merge: append}}\nnodes:\n"
          "  a: {set: {o: .o}, each: {of: '.o.l', node: w, as: one}, next: end}\n"
          "  w: {set: {odd: {__extend__: []}}, next: [{when: '.one == 2', to: even}, {else: odd}]}\n"
          "  even: {set: {even: '\"even\"'}, next: end}\n"
          "  odd: {set: {odd: '\"odd\"'}, next: end}\n", NULL);
    stands(&d, "completed", "even", "[\"even\"]");
    CHECK_STR(world_get(&d.w, "odd"), "[\"odd\"]");         /* two tasks lead there in one superstep: it runs once */
    drive_end(&d);
    drive(&d,
          "start: a\nstate: {l: {default: [[1, 2], [3]]}, s: {merge: append}}\nnodes:\n"
          "  a: {set: {l: .l}, each: {of: .l, node: w, as: row}, next: end}\n"
          "  w: {set: {s: '.row | length'}, each: {of: .row, node: v, as: x}, next: end}\n  v: {set: {s: .x}, next: end}\n", NULL);
    stands(&d, "completed", "s", "[2,1,1,2,3]");
    drive_end(&d);
}

PAWL_TEST(test_G3_a_fan_out_of_2000)
{
    char text[700];
    const filing_text files[] = { { "a.yaml", text }, { NULL, NULL } };
    driven d;
    buf b;

    snprintf(text, sizeof text, fans, ".l", "c");
    buf_init(&b, NULL);
    buf_text(&b, "{\"l\":[");
    for (int i = 0; i < 2000; i++)
        buf_fmt(&b, "%s\"an element that is long enough to be worth a reference, number %d\"", i > 0 ? "," : "", i);
    buf_text(&b, "]}");
    buf_char(&b, '\0');
    drive_with(&d, files, b.data, DRIVE_LARGE);
    CHECK_INT(pawl_state_commands(d.w.st), 2000);
    for (int i = 1999; i >= 0; i--) {
        char id[64];

        snprintf(id, sizeof id, "2.w:%d.1.0", i);
        CHECK(world_feed(&d.w, &(pawl_event){ .kind = PAWL_EV_RECEIPT, .id = id, .value = "{\"status\":0,\"stderr\":\"\",\"stdout\":\"x\\n\"}" }) >= 0);
    }
    drive_on(&d);
    CHECK(world_go(&d.w) == PAWL_HALTED);
    stands(&d, "completed", "n", "1");
    CHECK_INT(pawl_value_size(pawl_state_get(d.w.st, "out")), 2000);
    drive_end(&d);
    buf_free(&b);
}

/* ---- joins ------------------------------------------------------------------------------------------------- */

static const char joining[] =
    "start: [a, b, c]\nstate: {n: {merge: sum, default: 0}}\nnodes:\n"
    "  a: {run: [a], effect: pure, next: j}\n  b: {run: [b], effect: pure, next: b2}\n  b2: {run: [b2], effect: pure, next: j}\n  c: {run: [c], effect: pure, next: j}\n"
    "  j: {join: %s, set: {n: 1}, next: end}\n";

PAWL_TEST(test_G3_a_join_runs_once_when_all_are_done)
{
    char text[700];
    driven d;

    snprintf(text, sizeof text, joining, "[a, b2, c]");
    drive(&d, text, NULL);
    wrote(&d, "a", "");
    wrote(&d, "c", "");
    wrote(&d, "b", "");
    stands(&d, "working", "n", "0");
    wrote(&d, "b2", "");
    stands(&d, "completed", "n", "1");
    drive_end(&d);
}

PAWL_TEST(test_G3_a_join_of_some_ignores_or_cancels_the_rest)
{
    static const char *const forms[] = { "{of: [a, b2, c], need: 1}", "{of: [a, b2, c], need: 2, rest: ignore}", "{of: [a, b2, c], need: 2, rest: cancel}" };

    for (size_t i = 0; i < 3; i++) {
        char text[700];
        driven d;

        snprintf(text, sizeof text, joining, forms[i]);
        drive(&d, text, NULL);
        wrote(&d, "a", "");
        wrote(&d, "b", "");
        wrote(&d, "c", "");         /* the superstep closes: two of three are done */
        CHECK_STR(world_get(&d.w, "n"), i == 2 ? "1" : "0");
        if (i < 2) {
            CHECK_INT(pawl_state_commands(d.w.st), 1);
            wrote(&d, "b2", "");
        }
        stands(&d, "completed", "n", "1");
        drive_end(&d);
    }
}

/* ---- joins of branches that were not taken ---------------------------------------------------------------- */

/* `list` sends to `size` or leads past it; `clock` takes two supersteps. */
static const char untaken[] =
    "start: [list, clock]\nstate: {names: {}, log: {merge: append}}\nnodes:\n"
    "  list: {append: {log: 1}, each: {of: .names, node: size, as: name}, next: %s}\n"
    "  size: {append: {log: \"{{.name}}\"}, next: report}\n  clock: {append: {log: 2}, next: late}\n  late: {append: {log: 3}, next: report}\n"
    "  report: {join: [size, late], append: {log: 8}, next: end}\n";

static void joined(const char *past, const char *names, const char *log)
{
    char text[700];
    driven d;

    snprintf(text, sizeof text, untaken, past);
    drive(&d, text, names);
    stands(&d, "completed", "log", log);
    drive_end(&d);
}

PAWL_TEST(test_G3_a_join_counts_a_branch_that_was_not_taken_as_done)
{
    static const char some[] = "{\"names\":[7]}", none[] = "{\"names\":[]}";

    joined("report", some, "[1,2,3,7,8]");
    joined("report", none, "[1,2,3,8]");         /* once, and after the branch that was taken */
    joined("end", some, "[1,2,3,7,8]");
    joined("end", none, "[1,2,3,8]");
}

PAWL_TEST(test_G3_of_two_ways_to_a_join_one_is_enough)
{
    driven d;

    drive(&d, "start: a\nstate: {x: {}, n: {merge: sum, default: 0}}\nnodes:\n  a: {next: [{when: .x, to: b}, {else: c}]}\n"
              "  b: {set: {n: 1}, next: d}\n  c: {set: {n: 10}, next: d}\n  d: {join: [b, c], set: {n: 100}, next: end}\n", NULL);
    stands(&d, "completed", "n", "110");
    drive_end(&d);
}

/* The second join waits for the first, which begins only when nothing else is left. */
PAWL_TEST(test_G3_joins_that_settle_run_in_their_order)
{
    driven d;

    drive(&d, "start: [a, x]\nstate: {no: {default: []}, log: {merge: append}}\nnodes:\n"
              "  last: {join: [mid, x], append: {log: 4}, next: end}\n"
              "  a: {append: {log: 1}, each: {of: .no, node: s, as: i}, next: b}\n  s: {append: {log: 9}, next: mid}\n  b: {append: {log: 2}, next: mid}\n"
              "  x: {append: {log: 0}, next: last}\n  mid: {join: [s, b], append: {log: 3}, next: last}\n", NULL);
    stands(&d, "completed", "log", "[1,0,2,3,4]");
    drive_end(&d);
}

PAWL_TEST(test_G3_a_join_that_settled_joins_again_in_the_next_round)
{
    driven d;

    drive(&d, "start: go\nstate: {none: {default: []}, n: {merge: sum, default: 0}}\nnodes:\n"
              "  go: {next: [a, b]}\n  a: {set: {n: 1}, each: {of: .none, node: s, as: i}, next: end}\n  s: {set: {n: 1000}, next: j}\n"
              "  b: {set: {n: 1}, next: j}\n  j: {join: [s, b], set: {n: 10}, next: [{when: '.n > 30', to: end}, {else: go}]}\n", NULL);
    stands(&d, "completed", "n", "36");
    drive_end(&d);
}

/* Forks and joins in a chain, declared from its end: a search that tries all nodes again for each node that it finds takes hours. */
PAWL_TEST(test_G3_a_file_of_many_joins_is_loaded_in_one_search_for_each)
{
    enum { FORKS = 1000 };
    driven d;
    filing_text files[] = { { "agent.yaml", NULL }, { NULL, NULL } };
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "start: f1\nstate: {n: {merge: sum, default: 0}}\nnodes:\n");
    for (int i = FORKS; i > 0; i--) {
        buf_fmt(&b, "  j%d: {join: [a%d, b%d], set: {n: 1}, next: ", i, i, i);
        if (i < FORKS)
            buf_fmt(&b, "f%d}\n", i + 1);
        else
            buf_text(&b, "end}\n");
        buf_fmt(&b, "  b%d: {set: {n: 1}, next: j%d}\n  a%d: {set: {n: 1}, next: j%d}\n  f%d: {next: [a%d, b%d]}\n", i, i, i, i, i, i, i);
    }
    buf_char(&b, '\0');
    CHECK(!b.failed);
    files[0].text = b.data;
    drive_with(&d, files, NULL, DRIVE_LARGE);
    drive_end(&d);
    buf_free(&b);
}

PAWL_TEST(test_K5_a_run_that_was_begun_before_joins_settled_ends_as_it_did)
{
    static const char text[] = "start: [list, clock]\nstate: {names: {default: []}, n: {merge: sum, default: 0}}\nnodes:\n"
                               "  list: {each: {of: .names, node: size, as: name}, next: report}\n  size: {set: {n: 1}, next: report}\n"
                               "  clock: {set: {n: 10}, next: report}\n  report: {join: [size, clock], set: {n: 100}, next: end}\n";
    const filing_text files[] = { { "agent.yaml", text }, { NULL, NULL } };
    driven d = { .b = bench_new(), .from = { .texts = files } };
    file_reader reader = filing_reader(&d.from);
    pawl_err err = {0};
    pawl_machine *m;

    d.a = file_load(&d.b->mem, "agent.yaml", &reader, &d.b->f);
    m = file_machine(d.a, "test", &d.b->f, &err);
    CHECK(m != NULL && m->settles);
    m->settles = false;         /* its base has no mark */
    world_begin(&d.w, m, NULL);
    m->settles = true;
    drive_on(&d);
    stands(&d, "failed", "n", "110");
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"agent: the join into \\\"report\\\" waits for \\\"size\\\", and nothing is left to run\"}");
    drive_end(&d);
}

/* The first round of the loop leaves c out, and so does the second. */
PAWL_TEST(test_G3_a_join_with_need_runs_in_each_round_of_a_loop)
{
    static const char text[] = "start: fork\nstate: {n: {merge: sum, default: 0}, log: {merge: append}}\nnodes:\n"
                               "  fork: {set: {log: '\"fork\"'}, next: [a, b, c1]}\n  a: {set: {log: '\"a\"'}, next: j}\n  b: {set: {log: '\"b\"'}, next: j}\n"
                               "  c1: {set: {log: '\"c1\"'}, next: [{when: '.n > 5', to: c}, {else: end}]}\n  c: {set: {log: '\"c\"'}, next: j}\n"
                               "  j: {join: {of: [a, b, c], need: 2}, set: {log: '\"j\"', n: 1}, next: [{when: '.n > 1', to: end}, {else: fork}]}\n";
    driven d;

    drive(&d, text, NULL);
    stands(&d, "completed", "log", "[\"fork\",\"a\",\"b\",\"c1\",\"j\",\"fork\",\"a\",\"b\",\"c1\",\"j\"]");
    drive_end(&d);
}

/* The rule of its beginning holds also for a join that only an upgrade brings. */
PAWL_TEST(test_G3_a_join_that_an_upgrade_brings_settles)
{
    static const filing_text joins[] = { { "agent.yaml", "start: ready\nstate: {names: {default: []}, n: {merge: sum, default: 0}}\nnodes:\n"
        "  ready: {ask: Go?, next: [list, clock]}\n  list: {each: {of: .names, node: size, as: name}, next: end}\n"
        "  size: {set: {n: 1}, next: report}\n  clock: {set: {n: 10}, next: report}\n  report: {join: [size, clock], set: {n: 100}, next: end}\n" },
        { NULL, NULL } };
    driven d;
    filing from = { .texts = joins };
    file_reader reader = filing_reader(&from);
    pawl_machine *old;
    pawl_err err = {0};

    drive(&d, "start: ready\nstate: {names: {default: []}, n: {merge: sum, default: 0}}\nnodes:\n  ready: {ask: Go?, next: end}\n", NULL);
    old = d.w.m;
    d.a = file_load(&d.b->mem, "agent.yaml", &reader, &d.b->f);
    d.w.m = file_machine(d.a, "test", &d.b->f, &err);
    if (d.w.m == NULL)
        CHECK_FAIL("%s", told(d.b));
    d.w.no_verify = true;
    CHECK_INT(world_feed(&d.w, &(pawl_event){ .kind = PAWL_EV_ADOPT }), PAWL_INTERRUPTED);
    answer(&d, NULL, "true");
    stands(&d, "completed", "n", "110");
    pawl_machine_free(old);
    drive_end(&d);
}

/* ---- graphs ------------------------------------------------------------------------------------------------- */

static void graphs(driven *d, const char *outer, const char *inner, const char *input)
{
    static filing_text files[3];

    files[0] = (filing_text){ "a.yaml", outer };
    files[1] = (filing_text){ "b.yaml", inner };
    drive_with(d, files, input, 0);
}

PAWL_TEST(test_G6_channels_of_one_name_are_shared)
{
    driven d;

    graphs(&d, "start: g\nstate: {n: {default: 1}, log: {merge: append, default: [a]}, own: {}}\nnodes:\n  g: {graph: b.yaml, next: end}\n",
           "start: x\nstate: {n: {}, log: {merge: append}, mine: {default: 7}}\nnodes:\n  x: {set: {n: '.n + 1', log: .mine}, next: end}\n", NULL);
    stands(&d, "completed", "n", "2");
    CHECK_STR(world_get(&d.w, "log"), "[\"a\",7]");
    CHECK_STR(world_all(&d.w), "{\"log\":[\"a\",7],\"n\":2}");
    drive_end(&d);
}

PAWL_TEST(test_G6_in_and_out_say_what_is_handed_on)
{
    driven d;

    graphs(&d, "start: g\nstate: {n: {default: 1}, total: {}, x: {default: outside}}\nnodes:\n  g: {graph: b.yaml, in: {count: n}, out: {total: count}, next: end}\n",
           "start: x\nstate: {count: {}, x: {}, n: {}}\nnodes:\n  x: {set: {count: '.count + 41', x: '\"inside\"', n: 9}, next: end}\n", NULL);
    stands(&d, "completed", "total", "42");
    CHECK_STR(world_all(&d.w), "{\"n\":1,\"total\":42,\"x\":\"outside\"}");
    drive_end(&d);
}

PAWL_TEST(test_G6_each_into_a_graph)
{
    driven d;

    graphs(&d, "start: a\nstate: {l: {default: [p, q]}, out: {merge: append}}\nnodes:\n"
           "  a: {set: {l: .l}, each: {of: .l, node: g, as: word}, next: end}\n  g: {graph: b.yaml, next: end}\n",
           "start: x\nstate: {word: {}, out: {merge: append}}\nnodes:\n  x: {run: [x, \"{{.word}}\", '{{.word | length}}'], effect: pure, text: out, next: end}\n", NULL);
    calls(&d, "2.g:0/1/1/x.1.1", "{\"check\":true,\"run\":[\"x\",\"p\",\"1\"]}");
    wrote(&d, "2.g:1/1/1/x.1.1", "Q");
    wrote(&d, "2.g:0/1/1/x.1.1", "P");
    stands(&d, "completed", "out", "[\"P\",\"Q\"]");
    drive_end(&d);
}

PAWL_TEST(test_G6_pauses_surface_and_a_gate_lets_a_graph_in)
{
    driven d;

    graphs(&d, "start: g\nstate: {c: {}}\nnodes:\n  g: {graph: b.yaml, ask: Go in?, on_no: n, next: end}\n  n: {set: {c: '\"no\"'}, next: end}\n",
           "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: Inside?, to: c, next: end}\n", NULL);
    CHECK_STR(waits_for(&d), "approval \"Go in?\"");
    answer(&d, NULL, "true");
    CHECK_STR(waits_for(&d), "question \"Inside?\"");
    answer(&d, NULL, "5");
    stands(&d, "completed", "c", "5");
    drive_end(&d);
    graphs(&d, "start: g\nstate: {c: {}}\nnodes:\n  g: {graph: b.yaml, ask: Go in?, on_no: n, next: end}\n  n: {set: {c: '\"no\"'}, next: end}\n",
           "start: x\nstate: {c: {}}\nnodes:\n  x: {ask: Inside?, to: c, next: end}\n", NULL);
    answer(&d, NULL, "false");
    stands(&d, "completed", "c", "\"no\"");
    drive_end(&d);
}

/* Two files have nodes and expressions of one name: each is asked for its own. */
PAWL_TEST(test_an_expression_is_known_by_its_file)
{
    driven d;

    graphs(&d, "start: x\nstate: {n: {default: 1}}\nnodes:\n  x: {set: {n: '.n + 1'}, next: g}\n  g: {graph: b.yaml, next: h}\n  h: {graph: b.yaml, next: end}\n",
           "start: x\nstate: {n: {}}\nnodes:\n  x: {set: {n: '.n + 10'}, next: end}\n", NULL);
    stands(&d, "completed", "n", "22");
    for (size_t i = 0; i < d.a->njq; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(d.a->jq[i]->label, d.a->jq[k]->label) != 0);
    drive_end(&d);
}

/* Expressions in one node stand under labels of their own, wherever they are. */
PAWL_TEST(test_every_expression_of_a_node_has_its_own_label)
{
    driven d;

    drive(&d,
          "start: x\nstate: {n: {default: 1}}\nnodes:\n"
          "  x: {http: {url: 'https://h/{{.n + 1}}', headers: {A: '{{.n + 2}}', B: '{{.n + 3}}'}, body: {a: '{{.n + 4}}', b: ['{{.n + 5}} {{.n + 6}}']}}, next: y}\n"
          "  y: {run: ['{{.n + 7}}'], stdin: '{{.n + 8}}', env: {A: '{{.n + 9}}'}, cwd: '{{.n + 10}}', effect: compensable,\n"
          "      undo: {run: ['{{.n + 11}}'], stdin: '{{.n + 12}}', env: {A: '{{.n + 13}}'}, cwd: '{{.n + 14}}'}, next: end}\n", "{\"@cwd\":\"/w\"}");
    calls(&d, "x", "{\"body\":{\"a\":5,\"b\":[\"6 7\"]},\"headers\":{\"A\":\"3\",\"B\":\"4\"},\"url\":\"https://h/2\"}");
    reply(&d, "x", "{\"status\":200,\"body\":\"\"}");
    calls(&d, "y", "{\"check\":true,\"cwd\":\"/w/11\",\"env\":{\"A\":\"10\"},\"run\":[\"8\"],\"stdin\":9,"
                   "\"undo\":{\"cwd\":\"/w/15\",\"env\":{\"A\":\"14\"},\"run\":[\"12\"],\"stdin\":13}}");
    CHECK_INT(d.a->njq, 14);
    for (size_t i = 0; i < d.a->njq; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(d.a->jq[i]->label, d.a->jq[k]->label) != 0);
    drive_end(&d);
}

/* ---- nodes that only lead on, and nodes that fail ------------------------------------------------------------- */

PAWL_TEST(test_G3_a_node_with_each_alone_fans_out)
{
    driven d;

    drive(&d, "start: a\nstate: {l: {default: [1, 2]}, out: {merge: append}}\nnodes:\n"
              "  a: {each: {of: .l, node: w, as: one}, next: end}\n"
              "  w: {append: {out: [\"{{.one}}\"]}, extend: {out: [\"{{.one}}\", 9]}, next: r}\n"
              "  r: {next: [{when: '.out | length', to: b}, {else: end}]}\n"
              "  b: {extend: {out: .l}, next: end}\n", NULL);
    stands(&d, "completed", "out", "[[1],1,9,[2],2,9,1,2]");
    drive_end(&d);
    drive(&d, "start: [a, b]\nstate: {out: {merge: append}}\nnodes:\n  a: {append: {out: 1}, next: j}\n  b: {append: {out: 2}, next: j}\n"
              "  j: {join: [a, b], next: [c, d]}\n  c: {append: {out: 3}, next: end}\n  d: {append: {out: 4}, next: end}\n", NULL);
    stands(&d, "completed", "out", "[1,2,3,4]");
    drive_end(&d);
}

PAWL_TEST(test_G3_what_extends_a_list_in_a_run_is_a_list)
{
    driven d;

    drive(&d, "start: a\nstate: {out: {merge: append}, n: {default: 1}}\nnodes:\n  a: {extend: {out: .n}, next: end}\n", NULL);
    stands(&d, "failed", "out", "");
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"a: what extends \\\"out\\\" is no list\"}");
    drive_end(&d);
}

PAWL_TEST(test_G3_a_fail_node_fails_the_run_for_the_reason_that_it_gives)
{
    driven d;

    drive(&d, "start: a\nstate: {n: {default: 7}, m: {}}\nnodes:\n  a: {run: [x], effect: pure, text: n, next: [{when: .m, to: end}, {else: f}]}\n"
              "  f: {fail: \"There are {{.n}}, which are too many.\"}\n", NULL);
    wrote(&d, "a", "8\n");
    stands(&d, "failed", "n", "\"8\"");
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"f: There are 8, which are too many.\"}");
    drive_end(&d);
    drive(&d, "start: a\nnodes:\n  a: {run: [x], effect: pure, on_error: f, next: end}\n  f: {fail: \"{{.error}}!\"}\n", NULL);
    fails(&d, "a", "\"no\"");
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"f: no!\"}");
    drive_end(&d);
}
