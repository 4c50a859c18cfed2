/* keep_test.c - what nodes of agent files keep of what came out: texts, lines, JSON, numbers to the last digit (K2, K3), artifacts, what
 * carries over (G13); and what never stands in a journal (K4). */
#include "file/driven.h"

/* A node `x` whose command came to `receipt`: what channel c is then. */
static void keeps(const char *node, const char *channels, const char *receipt, const char *value)
{
    char text[700];
    driven d;

    snprintf(text, sizeof text, "start: x\nplugins: [./good.so]\nstate: {%s}\nnodes:\n  x: {%s, next: end}\n", channels, node);
    drive(&d, text, NULL);
    reply(&d, "x", receipt);
    stands(&d, "completed", "c", value);
    drive_end(&d);
}

static void refuses(const char *node, const char *receipt, const char *why)
{
    char text[700], reason[400];
    driven d;

    snprintf(text, sizeof text, "start: x\nstate: {c: {default: before}, s: {}}\nnodes:\n  x: {%s, next: end}\n", node);
    snprintf(reason, sizeof reason, "{\"code\":%s}", why);
    drive(&d, text, NULL);
    reply(&d, "x", receipt);
    CHECK_STR(world_reason(&d.w), reason);
    stands(&d, "failed", "c", "\"before\"");
    drive_end(&d);
}

#define OUT(text) "{\"status\":0,\"stderr\":\"e\",\"stdout\":" text "}"

PAWL_TEST(test_text_is_the_output_without_its_last_newline)
{
    keeps("run: [x], text: c", "c: {}", OUT("\"a\\nb\\n\""), "\"a\\nb\"");
    keeps("run: [x], text: c", "c: {}", OUT("\"a\\n\\n\""), "\"a\\n\"");
    keeps("run: [x], text: c", "c: {}", OUT("\"\""), "\"\"");
    keeps("run: [x], text: c", "c: {}", OUT("\"\\n\""), "\"\"");
    keeps("run: [x], text: c", "c: {}", OUT("\"a\""), "\"a\"");
    keeps("shell: x, text: c", "c: {}", OUT("\"\\u00e9\\r\\n\""), "\"\xC3\xA9\\r\"");
}

PAWL_TEST(test_lines_are_one_element_each)
{
    keeps("run: [x], lines: c", "c: {}", OUT("\"a\\nb\\n\""), "[\"a\",\"b\"]");
    keeps("run: [x], lines: c", "c: {}", OUT("\"a\\n\\nb\""), "[\"a\",\"\",\"b\"]");
    keeps("run: [x], lines: c", "c: {}", OUT("\"\""), "[]");
    keeps("run: [x], lines: c", "c: {}", OUT("\"\\n\""), "[\"\"]");
    keeps("run: [x], lines: c", "c: {}", OUT("\"\\\"q\\\\\\t\""), "[\"\\\"q\\\\\\t\"]");
}

PAWL_TEST(test_K3_what_is_kept_goes_by_the_channels_rule)
{
    keeps("run: [x], lines: c", "c: {merge: append, default: [z]}", OUT("\"a\\nb\\n\""), "[\"z\",\"a\",\"b\"]");
    keeps("run: [x], lines: c", "c: {merge: union, default: [a]}", OUT("\"a\\nb\\nb\\n\""), "[\"a\",\"b\"]");
    keeps("run: [x], lines: c", "c: {merge: topic, accumulate: true}", OUT("\"a\\nb\\n\""), "[\"a\",\"b\"]");
    keeps("run: [x], text: c", "c: {merge: append, default: [z]}", OUT("\"a\\nb\\n\""), "[\"z\",\"a\\nb\"]");
    keeps("run: [x], text: c", "c: {merge: union, default: [a]}", OUT("\"a\\n\""), "[\"a\"]");
    keeps("run: [x], json: c", "c: {merge: append}", OUT("\"[1,2]\""), "[[1,2]]");
    keeps("run: [x], json: c", "c: {merge: sum, default: 9007199254740993}", OUT("\"2\""), "9007199254740995");
    keeps("run: [x], json: c", "c: {merge: merge, default: {a: 1}}", OUT("\"{\\\"b\\\":null}\""), "{\"a\":1,\"b\":null}");
    keeps("run: [x], json: c", "c: {merge: max, default: 3}", OUT("\"2\""), "3");
    keeps("run: [x], status: c", "c: {}", "{\"status\":3,\"stderr\":\"\",\"stdout\":\"\"}", "3");
}

PAWL_TEST(test_K3_set_writes_literals_templates_and_past_the_rule)
{
    driven d;

    drive(&d,
          "start: x\nstate: {n: {default: 7}, l: {merge: append, default: [1]}, t: {}, m: {}, o: {merge: append, default: [1]}, u: {merge: union, default: [1]}}\nnodes:\n"
          "  x:\n    set:\n      l: {__extend__: .l}\n      t: \"{{.n}} of {{.m}}\"\n      o: {__overwrite__: [\"{{.n}}\", 0x10, yes, true, ~, 1.50]}\n"
          "      u: {__extend__: [2, \"{{.n}}\", 1]}\n      n: .m\n    next: end\n",
          "{\"m\":{\"b\":[1,2.50],\"a\":\"\\u0001\"}}");
    stands(&d, "completed", NULL, NULL);
    CHECK_STR(world_all(&d.w), "{\"l\":[1,1],\"m\":{\"a\":\"\\u0001\",\"b\":[1,2.5]},\"n\":{\"a\":\"\\u0001\",\"b\":[1,2.5]},\"o\":[7,16,\"yes\",true,null,1.5],"
                               "\"t\":\"7 of {\\\"a\\\":\\\"\\\\u0001\\\",\\\"b\\\":[1,2.5]}\",\"u\":[1,2,7]}");
    drive_end(&d);
    drive(&d, "start: x\nstate: {l: {merge: append}, n: {default: 3}}\nnodes:\n  x: {set: {l: {__extend__: .n}}, next: end}\n", NULL);
    stands(&d, "failed", NULL, NULL);
    CHECK_STR(world_reason(&d.w), "{\"code\":\"invalid\",\"text\":\"x: what extends \\\"l\\\" is no list\"}");
    drive_end(&d);
}

PAWL_TEST(test_what_cannot_be_kept_is_told)
{
    refuses("run: [x], json: c", OUT("\"\""), "\"invalid\",\"text\":\"x: its output is no JSON: byte 0: no JSON there\"");
    refuses("run: [x], json: c, text: s", OUT("\"{}{\""), "\"invalid\",\"text\":\"x: its output is no JSON: byte 2: unexpected content after document\"");
    refuses("run: [x], lines: c", OUT("null"), "\"invalid\",\"text\":\"x: its output is no UTF-8, and cannot be kept as a text\"");
    refuses("run: [x], text: c", "{\"status\":0,\"stderr\":\"\",\"stdout_base64\":\"/w==\"}",
            "\"invalid\",\"text\":\"x: its output is no UTF-8, and cannot be kept as a text\"");
    refuses("run: [x], text: c", "{\"status\":0,\"stderr\":\"\",\"stdout\":\"a\",\"cut\":true}",
            "\"limit\",\"text\":\"x: it wrote more than is kept (`output_bytes`, 1 MiB where nothing is said)\"");
    refuses("http: https://h/, text: c", "{\"status\":200,\"body\":\"a\",\"cut\":true}",
            "\"limit\",\"text\":\"x: the answer is larger than is kept (`response_bytes`, 8 MiB where nothing is said)\"");
    refuses("http: https://h/, text: c", "{\"status\":200,\"body_base64\":\"/w==\"}",
            "\"invalid\",\"text\":\"x: the answer is no UTF-8, and cannot be kept as a text\"");
    refuses("http: https://h/, text: c", "{\"status\":500,\"body\":\"a\"}",
            "\"effect\",\"text\":\"x: the answer has status 500: say `status: CHANNEL` to look at it, or `on_error: NODE`\"");
    keeps("run: [x]", "c: {default: 1}", "{\"status\":0,\"stderr\":\"\",\"stdout\":\"a\",\"cut\":true}", "1");  /* which nobody wants */
    keeps("run: [x], output_bytes: 10", "c: {default: 1}", "{\"status\":0,\"stderr\":\"\",\"stdout_base64\":\"/w==\"}", "1");
}

PAWL_TEST(test_a_command_that_fails_is_looked_at_when_its_status_is_kept)
{
    driven d;

    drive(&d, "start: x\nstate: {c: {}}\nnodes:\n  x: {run: [x], status: c, next: end}\n", NULL);
    calls(&d, "x", "{\"run\":[\"x\"]}");            /* without "check" */
    reply(&d, "x", "{\"status\":2,\"stderr\":\"\",\"stdout\":\"\"}");
    stands(&d, "completed", "c", "2");
    drive_end(&d);
}

PAWL_TEST(test_responses_are_kept_as_text_or_JSON)
{
    keeps("http: https://h/, text: c", "c: {}", "{\"status\":200,\"body\":\"a\\n\"}", "\"a\\n\"");
    keeps("http: https://h/, json: c", "c: {}", "{\"status\":200,\"body_json\":{\"b\":9007199254740993}}", "{\"b\":9007199254740993}");
    keeps("http: https://h/, json: c", "c: {}", "{\"status\":200,\"body\":\"[1]\"}", "[1]");
    keeps("http: https://h/, text: c", "c: {}", "{\"status\":200,\"body_json\":[1,\"x\"]}", "\"[1,\\\"x\\\"]\"");
    keeps("http: https://h/, text: c, json: s", "c: {}, s: {}", "{\"status\":200,\"body_json\":[1,\"x\"]}", "\"[1,\\\"x\\\"]\"");
    keeps("http: https://h/, status: c, json: s", "c: {}, s: {}", "{\"status\":404,\"body_json\":{}}", "404");
}

PAWL_TEST(test_what_a_plugin_or_a_model_said_is_kept)
{
    static const filing_text files[] = {
        { "a.yaml", "start: x\ndefaults: {model: script:s.yaml}\nstate: {c: {}, j: {}}\nnodes:\n  x: {prompt: 'Hello, {{.j}}', system: Be kind, text: c, next: y}\n"
                    "  y: {prompt: again, json: j, artifact: reply, next: end}\n" },
        { "s.yaml", "[]" }, { NULL, NULL },
    };
    driven d;

    keeps("greet: {a: 1}, text: c", "c: {}", "\"hi\\n\"", "\"hi\\n\"");
    keeps("greet: {a: 1}, text: c", "c: {}", "{\"b\":1}", "\"{\\\"b\\\":1}\"");
    keeps("greet: {a: 1}, json: c", "c: {}", "{\"b\":1}", "{\"b\":1}");
    keeps("greet: {a: 1}, json: c", "c: {}", "\"{\\\"b\\\":1}\"", "{\"b\":1}");
    drive_with(&d, files, "{\"j\":5}", 0);
    calls(&d, "x", "{\"model\":\"script:s.yaml\",\"node\":\"x\",\"prompt\":\"Hello, 5\",\"system\":\"Be kind\"}");
    reply(&d, "x", "{\"text\":\"hi\"}");
    CHECK_STR(world_get(&d.w, "c"), "\"hi\"");
    reply(&d, "y", "{\"text\":\"{\\\"b\\\":1}\"}");
    stands(&d, "completed", "j", "{\"b\":1}");
    CHECK_INT(in_journal(&d, "{\"name\":\"reply\",\"value\":{\"b\":1}}"), 1);
    drive_end(&d);
}

PAWL_TEST(test_an_artifact_is_what_came_out)
{
    static const struct { const char *node, *receipt, *emitted; } rows[] = {
        { "run: [x], artifact: r.txt", OUT("\"a\\n\""), "{\"name\":\"r.txt\",\"value\":\"a\"}" },
        { "run: [x], json: c, artifact: r", OUT("\"{\\\"b\\\":1}\""), "{\"name\":\"r\",\"value\":{\"b\":1}}" },
        { "run: [x], lines: c, artifact: r", OUT("\"a\\nb\\n\""), "{\"name\":\"r\",\"value\":\"a\\nb\"}" },
        { "set: {c: [1, 2]}, artifact: r", NULL, "{\"name\":\"r\",\"value\":[1,2]}" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        driven d;

        snprintf(text, sizeof text, "start: x\nstate: {c: {}}\nnodes:\n  x: {%s, next: end}\n", rows[i].node);
        drive(&d, text, NULL);
        if (rows[i].receipt != NULL)
            reply(&d, "x", rows[i].receipt);
        buf_char(&d.w.trace, '\0');
        CHECK(strstr(d.w.trace.data, "emit artifact ") != NULL);
        if (strstr(d.w.trace.data, rows[i].emitted) == NULL)
            CHECK_FAIL("no %s in\n%s", rows[i].emitted, d.w.trace.data);
        drive_end(&d);
    }
}

PAWL_TEST(test_K2_integers_are_exact_on_plain_paths)
{
    driven d;

    drive(&d,
          "start: x\nstate: {n: {}, m: {}, t: {}, l: {default: [18446744073709551615, -9223372036854775808, 1.0]}}\nnodes:\n"
          "  x: {set: {m: .n.big, t: '{{.n.big}} {{.l[0]}} {{.l[-1]}}'}, next: y}\n"
          "  y: {run: [\"{{.l[0]}}\", \"{{.l[1]}}\", \"{{.l[2]}}\"], stdin: \"{{.l}}\", effect: pure, next: end}\n",
          "{\"n\":{\"big\":9007199254740993}}");
    calls(&d, "y", "{\"check\":true,\"run\":[\"18446744073709551615\",\"-9223372036854775808\",\"1.0\"],\"stdin\":[18446744073709551615,-9223372036854775808,1.0]}");
    wrote(&d, "y", "");
    stands(&d, "completed", "m", "9007199254740993");
    CHECK_STR(world_get(&d.w, "t"), "\"9007199254740993 18446744073709551615 1.0\"");
    drive_end(&d);
}

/* K7: a channel that is taken whole stands in the command by reference. */
PAWL_TEST(test_K7_a_command_does_not_repeat_the_state)
{
    char text[200] = "{\"big\":\"";
    const char *effect;
    driven d;

    memset(text + 8, 'q', 120);
    memcpy(text + 128, "\"}", 3);
    drive(&d, "start: x\nstate: {big: {}}\nnodes:\n  x: {run: [cat], stdin: \"{{.big}}\", next: y}\n  y: {http: {url: 'https://h/', body: {a: [\"{{.big}}\"]}}, next: end}\n", text);
    wrote(&d, "x", "");
    CHECK(strstr(asked_for(&d, "y", &effect), "\"body\":{\"a\":[\"qqqq") != NULL);
    CHECK_INT(in_journal(&d, ":\"qqqqqqqqqqqqqqqq"), 1);
    reply(&d, "y", "{\"status\":200,\"body\":\"\"}");
    stands(&d, "completed", NULL, NULL);
    drive_end(&d);
}

/* ---- secrets --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_K4_a_secret_stands_by_its_name_and_never_by_its_value)
{
    const pawl_value *secrets;
    pawl_command c;
    driven d;

    drive(&d,
          "start: x\nplugins: [./good.so]\nstate: {token: {secret: {env: TOKEN}}, key: {secret: {file: /run/key}}, pass: {secret: {given: pass}}, n: {default: 1}}\nnodes:\n"
          "  x: {run: [curl, \"{{.token}}\", \"{{.n}}\"], env: {K: \"{{.key}}\"}, stdin: \"{{.pass}}\", effect: compensable,\n"
          "      undo: {run: [undo, \"{{.token}}\"], env: {T: \"{{.key}}\"}}, next: y}\n"
          "  y: {http: {url: 'https://h/', headers: {A~C: \"{{.token}}\"}, body: '{{. | length}}'}, next: z}\n"
          "  z: {greet: {deep: [{a/b: \"{{.token}}\"}]}, next: f}\n"
          "  f: {run: [f], effect: once, next: end}\n", NULL);
    CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, &secrets, NULL) == PAWL_OK);
    CHECK_STR(pawl_text(d.w.look, secrets), "[[\"/env/K\",\"file:/run/key\"],[\"/run/1\",\"env:TOKEN\"],[\"/stdin\",\"given:pass\"],[\"/undo/env/T\",\"file:/run/key\"],"
                                            "[\"/undo/run/1\",\"env:TOKEN\"]]");
    wrote(&d, "x", "");
    CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, &secrets, NULL) == PAWL_OK);
    CHECK_STR(pawl_text(d.w.look, secrets), "[[\"/headers/A~0C\",\"env:TOKEN\"]]");
    CHECK_STR(pawl_text(d.w.look, pawl_value_get(c.args, "body")), "1");       /* jq sees no secret: only n */
    reply(&d, "y", "{\"status\":200,\"body\":\"\"}");
    CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, &secrets, NULL) == PAWL_OK);
    CHECK_STR(pawl_text(d.w.look, secrets), "[[\"/with/deep/0/a~1b\",\"env:TOKEN\"]]");
    reply(&d, "z", "null");
    fails(&d, "f", "null");
    CHECK_INT(pawl_state_commands(d.w.st), 1);      /* what takes it back is given them, too */
    CHECK(pawl_state_command(d.w.st, 0, d.w.look, &c, &secrets, NULL) == PAWL_OK);
    CHECK(strncmp(c.effect, "undo", 4) == 0);
    CHECK_STR(pawl_text(d.w.look, secrets), "[[\"/args/env/K\",\"file:/run/key\"],[\"/args/run/1\",\"env:TOKEN\"],[\"/args/stdin\",\"given:pass\"],"
                                            "[\"/args/undo/env/T\",\"file:/run/key\"],[\"/args/undo/run/1\",\"env:TOKEN\"]]");
    drive_end(&d);
}

PAWL_TEST(test_K4_no_expression_sees_a_secret_or_what_is_Pawls_own)
{
    driven d;

    drive(&d, "start: x\nstate: {token: {secret: {env: TOKEN}}, all: {}, n: {default: 1}}\nnodes:\n  x: {set: {all: .}, next: end}\n",
          "{\"@cwd\":\"/w\",\"@mode\":\"default\"}");
    stands(&d, "completed", "all", "{\"n\":1}");
    drive_end(&d);
}

/* ---- what carries over -------------------------------------------------------------------------------------------- */

PAWL_TEST(test_G13_channels_that_are_kept_begin_with_what_they_were)
{
    static const char text[] = "start: x\nstate: {seen: {merge: append, keep: context}, n: {merge: sum, default: 0}, q: {}}\nnodes:\n  x: {set: {seen: .q, n: 1}, next: end}\n";
    const pawl_run_info info = { .id = "run-2", .life = 2, .seed = 7, .created_ms = 5000 };
    pawl_event start = { .kind = PAWL_EV_START, .time_ms = 5000, .value = "{\"q\":\"b\"}" };
    pawl_state *next = NULL;
    pawl_step *s = pawl_step_new(NULL);
    driven d;

    drive(&d, text, "{\"q\":\"a\"}");
    stands(&d, "completed", "seen", "[\"a\"]");
    CHECK(pawl_state_carry(d.w.st, d.w.m, &info, d.w.look, &next, NULL) == PAWL_OK);
    for (pawl_code rc = pawl_advance(d.w.m, next, &start, s, NULL); rc == PAWL_OK;)
        rc = pawl_advance(d.w.m, next, &(pawl_event){ .kind = PAWL_EV_TICK, .time_ms = 5001 }, s, NULL);
    CHECK_STR(pawl_state_json(next, d.w.look, NULL), "{\"n\":1,\"q\":\"b\",\"seen\":[\"a\",\"b\"]}");
    pawl_state_free(next);
    pawl_step_free(s);
    drive_end(&d);
}
