/* load_test.c - an agent file loaded: what it is called, what its machine's hash covers, and what happens when there is no memory. */
#include "file/filing.h"

static const char everything[] =
    "name: all\nversion: 3\ndescription: all that there is\nstart: [a, s]\nplugins: [./good.so]\nmax_steps: 50\nmax_concurrency: 4\ngate: deny\nretention: keep:7d\n"
    "interrupt_before: [h]\ninterrupt_after: i\ndefaults: {retry: {max_attempts: 2}, timeout: {attempt: 1m, total: 1h}, model: script:s.yaml}\n"
    "input: {type: object, properties: {dir: {type: string}}}\n"
    "state:\n  dir: {default: \".\"}\n  files:\n  facts: {merge: append, default: [], keep: context}\n  token: {secret: {env: TOKEN}}\n  n: {merge: sum, default: 0}\n  q: {merge: topic, accumulate: true}\n"
    "nodes:\n"
    "  a: {run: [find, \"{{.dir}}\", \"{{.files | length}}\"], env: {T: \"{{.token}}\"}, stdin: {x: [\"{{.files}}\", 1]}, cwd: sub, output_bytes: 100, lines: files, status: n,\n"
    "      effect: compensable, undo: {run: [rm], cwd: x}, retry: {max_attempts: 3, factor: 1.5}, each: {of: .files, node: b, as: path}, next: [{when: '.n > 3', to: c}, {else: d}]}\n"
    "  b: {shell: 'wc \"$1\"', args: [\"{{.path}}\"], text: facts, effect: pure, on_error: e, next: d}\n"
    "  c: {set: {n: 1, facts: {__extend__: [\"{{.n}}\"]}, dir: '.dir + \"x\"'}, artifact: x, next: d}\n"
    "  d: {ask: \"Which of {{.facts}}?\", to: dir, options: [x, y], timeout: 1h, default: x, of: ada, next: g}\n"
    "  e: {http: {url: \"https://h/{{.error.code}}\", headers: {A: \"{{.token}}\"}, body: {e: \"{{.error}}\"}}, json: files, next: d}\n"
    "  g: {graph: inner.yaml, in: {w: dir}, out: {dir: w}, ask: Sure?, on_no: end, next: h}\n"
    "  h: {prompt: \"Hello {{.dir}}\", system: x, text: dir, requires: acceptEdits, ask: Sure?, on_no: i, next: i}\n"
    "  i: {wait: {signal: go}, to: dir, timeout: 1m, next: j}\n"
    "  j: {greet: {a: \"{{.dir}}\"}, json: files, heartbeat: 1s, next: k}\n"
    "  s: {wait: 1s, next: k}\n"
    "  k: {join: {of: [j, s], need: 1, rest: cancel}, wait: {until: \"03:00\"}, defer: true, next: end}\n"
    "output: .facts | length\n";

static const filing_text all[] = {
    { "dir/all.yaml", everything },
    { "dir/inner.yaml", "start: x\nstate: {w: {}}\nnodes:\n  x: {set: {w: '.w | length'}, next: end}\n" },
    { "dir/s.yaml", "[]" }, { NULL, NULL },
};

static agent_file *load_from(bench *b, filing *from, const filing_text *texts)
{
    file_reader reader;

    *from = (filing){ .texts = texts };
    reader = filing_reader(from);
    return file_load(&b->mem, texts[0].name, &reader, &b->f);
}

static void need_tells(const char *nodes, const char *expected)
{
    char text[1000];
    const filing_text texts[] = { { "need.yaml", text }, { NULL, NULL } };
    bench *b = bench_new();
    filing from;

    snprintf(text, sizeof text, "start: a\nstate: {n: {merge: sum}}\nnodes:\n%s", nodes);
    CHECK(load_from(b, &from, texts) != NULL);
    CHECK_STR(told(b), expected);
    bench_free(b);
}

PAWL_TEST(test_G3_a_join_with_need_that_may_not_do_what_it_says_is_told)
{
    need_tells("  a: {set: {n: 1}, next: [b, c]}\n"
               "  b: {set: {n: 1}, next: j}\n"
               "  c: {set: {n: 1}, next: d}\n"
               "  d: {set: {n: 1}, next: j}\n"
               "  j: {join: {of: [b, d], need: 1}, next: k}\n"
               "  k: {set: {n: 1}, next: [{when: .n, to: a}, {else: end}]}\n", "");
    need_tells("  a: {set: {n: 1}, next: [b, r]}\n"
               "  b: {set: {n: 1}, next: j}\n"
               "  r: {set: {n: 1}, next: [{when: .n, to: d}, {else: end}]}\n"
               "  d: {set: {n: 1}, next: j}\n"
               "  j: {join: {of: [b, d], need: 1}, next: k}\n"
               "  k: {set: {n: 1}, next: [{when: .n, to: a}, {else: end}]}\n",
               "8:13 warning need: \"j\" has `need` in a loop, and a round may leave out \"d\": the next round then runs \"j\" only when nothing else is left to run; "
               "let one node lead to all sources in every round\n");
    need_tells("  a: {set: {n: 1}, next: j}\n"
               "  j: {join: {of: [a, k], need: 1}, next: k}\n"
               "  k: {set: {n: 1}, next: j}\n",
               "5:22 warning need: \"k\" runs only after \"j\", which joins it: it never counts for `need`; take it out of `of`\n");
    need_tells("  a: {set: {n: 1}, next: [b, c, r]}\n"
               "  b: {set: {n: 1}, next: j}\n"
               "  c: {set: {n: 1}, next: j}\n"
               "  r: {set: {n: 1}, next: [{when: .n, to: j}, {else: end}]}\n"
               "  j: {join: {of: [b, c], need: 1}, next: end}\n",
               "8:13 warning need: \"j\" has `need`, and \"r\" leads to it past its sources: it runs once more for that way; join all of its sources, or lead "
               "elsewhere\n");
}

/* What is followed for each such join grows with the file. */
PAWL_TEST(test_X2_the_work_for_joins_with_need_is_bounded)
{
    enum { JOINS = 1200 };
    filing_text texts[] = { { "need.yaml", NULL }, { NULL, NULL } };
    bench *b = bench_new();
    filing from;
    buf text;

    buf_init(&text, NULL);
    buf_fmt(&text, "start: a\nstate: {n: {merge: sum}}\nnodes:\n  a: {set: {n: 1}, next: [x0, y0]}\n");
    for (int i = 0; i < JOINS; i++) {
        buf_fmt(&text, "  x%d: {set: {n: 1}, next: j%d}\n  y%d: {set: {n: 1}, next: j%d}\n", i, i, i, i);
        buf_fmt(&text, "  j%d: {join: {of: [x%d, y%d], need: 1}, next: k%d}\n", i, i, i, i);
        if (i < JOINS - 1)
            buf_fmt(&text, "  k%d: {set: {n: 1}, next: [x%d, y%d]}\n", i, i + 1, i + 1);
        else
            buf_fmt(&text, "  k%d: {set: {n: 1}, next: [{when: .n, to: a}, {else: end}]}\n", i);
    }
    buf_char(&text, '\0');
    texts[0].text = text.data;
    CHECK(load_from(b, &from, texts) != NULL);
    CHECK(strstr(told(b), "were not checked for rounds that leave out a source: the file has too many edges") != NULL);
    bench_free(b);
    buf_free(&text);
}

PAWL_TEST(test_all_that_there_is)
{
    bench *b = bench_new();
    filing from;
    agent_file *a = load_from(b, &from, all);
    pawl_err err = {0};
    pawl_machine *m;
    char *first;

    CHECK(a != NULL);
    CHECK_STR(told(b), "27:7 warning effect: \"e\" has no `effect`: after a crash it may run twice. Say `pure` (it changes nothing), `idempotent` (it uses "
                       "PAWL_INVOCATION_ID) or `once` (it must not, a person is asked)\n");
    CHECK_STR(a->name, "all");
    CHECK(a->version == 3 && a->nnodes == 11 && a->njq == 5 && a->gate_deny && strcmp(a->retention, "keep:7d") == 0);
    CHECK((m = file_machine(a, "jq-1", &b->f, &err)) != NULL);
    first = check_copy(pawl_machine_hash(m), 64);
    pawl_machine_free(m);
    CHECK((m = file_machine(a, "jq-1", &b->f, &err)) != NULL);
    CHECK_STR(pawl_machine_hash(m), first);          /* the same again */
    pawl_machine_free(m);
    CHECK((m = file_machine(a, "jq-2", &b->f, &err)) != NULL);
    CHECK(strcmp(pawl_machine_hash(m), first) != 0); /* F5: what evaluates is part of it */
    pawl_machine_free(m);
    free(first);
    bench_free(b);
}

PAWL_TEST(test_F5_the_hash_covers_every_file_that_one_leads_to)
{
    filing_text texts[4];
    char hashes[4][65];

    memcpy(texts, all, sizeof texts);
    for (int i = 0; i < 4; i++) {
        bench *b = bench_new();
        filing from;
        agent_file *a;
        pawl_machine *m;

        if (i == 1)
            texts[1].text = "start: x\nstate: {w: {}}\nnodes:\n  x: {set: {w: '.w | length '}, next: end}\n";
        if (i == 2)
            texts[1] = all[1], texts[2].text = "[ ]";
        if (i == 3)
            texts[2] = all[2];
        CHECK((a = load_from(b, &from, texts)) != NULL && (m = file_machine(a, "jq-1", &b->f, NULL)) != NULL);
        memcpy(hashes[i], pawl_machine_hash(m), 65);
        pawl_machine_free(m);
        bench_free(b);
    }
    CHECK(strcmp(hashes[0], hashes[1]) != 0 && strcmp(hashes[0], hashes[2]) != 0 && strcmp(hashes[1], hashes[2]) != 0);
    CHECK_STR(hashes[3], hashes[0]);
}

PAWL_TEST(test_a_file_without_a_name_is_called_after_its_own)
{
    static const struct { const char *path, *name; } rows[] = {
        { "survey.yaml", "survey" }, { "a/b.c/my survey.yml", "my-survey" }, { "x.tar.json", "x-tar" }, { ".hidden", "xhidden" }, { "-x.yaml", "agent" },
        { "\xC3\xA9t\xC3\xA9.yaml", "x-t--" }, { "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn.yaml",
                                                 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const filing_text texts[] = { { rows[i].path, "start: a\nnodes: {a: {set: {c: 1}, next: end}}\nstate: {c: {}}\n" }, { NULL, NULL } };
        bench *b = bench_new();
        filing from;
        agent_file *a = load_from(b, &from, texts);
        pawl_machine *m;

        CHECK(a != NULL && b->f.count == 0);
        CHECK_STR(a->name, rows[i].name);
        CHECK((m = file_machine(a, "", &b->f, NULL)) != NULL);
        pawl_machine_free(m);
        bench_free(b);
    }
}

PAWL_TEST(test_large_files_take_their_time_and_no_more)
{
    static const char *const nodes[] = {
        "  n%d: {run: [ls], effect: pure, next: n%d}\n", "  n%d: {run: [ls], effect: pure, next: m%d}\n",
        "  n%d: {run: [ls], effect: pure, on_error: n%d, next: end}\n", "  n%d: {run: [ls], effect: pure, join: [n%d], next: end}\n",
    };

    for (size_t k = 0; k < 4; k++) {
        filing_text texts[2] = {{0}};
        bench *b = bench_new();
        filing from;
        buf t;

        buf_init(&t, NULL);
        buf_text(&t, k == 1 ? "start: n9999\nnodes:\n" : "start: n1\nnodes:\n");
        for (int i = 0; i < 5000; i++)
            buf_fmt(&t, nodes[k], i, i + 1);
        buf_text(&t, "  n5000: {run: [ls], effect: pure, next: end}\n");
        buf_char(&t, '\0');
        texts[0] = (filing_text){ "a.yaml", t.data };
        CHECK(load_from(b, &from, texts) != NULL);
        CHECK(!b->mem.failed);
        buf_free(&t);
        bench_free(b);
    }
}

static const filing_text agents[] = {
    { "boss.yaml", "name: boss\nversion: 2\ndescription: It leads.\nretention: keep:7d\nbudget: {money: 5}\nprices: prices.yaml\n"
      "agent:\n  model: anthropic/x\n  system: \"Say {{.x}}.\"\n  mode: acceptEdits\n  max_tokens: 99\n  temperature: 0.5\n  thinking: {budget_tokens: 2000}\n  timeout: 9s\n"
      "  max_retries: 4\n  max_iterations: 7\n  compact: {tokens: 50000, method: drop}\n  denied: tell\n  post_tools: [git, add, -A]\n"
      "  permissions: {deny: [Bash]}\n  agents: {helper: helper.yaml, boss: boss.yaml}\n"
      "  tools: [read_file, {name: own, description: Own., run: [wc, -c, 5], class: read, schema: {type: object, properties: {a: {type: string}}}, timeout: 2s}, "
      "{name: other, run: [x], effect: idempotent, beside: true, mutates: true, deferred: true, hint: words, rule: Other}]\n" },
    { "helper.yaml", "agent: {description: It helps., model: openai/y, agents: {boss: boss.yaml, helper: helper.yaml}}\n" },
    { "prices.yaml", "anthropic/x: {input: 3.00, output: 15.00}\nopenai/y: {input: 1, output: 2}\n" }, { NULL, NULL },
};

PAWL_TEST(test_an_agent_has_what_its_file_says)
{
    bench *b = bench_new();
    filing from;
    agent_file *file = load_from(b, &from, agents);
    const pawl_agent *a;
    const pawl_agent_tool *own, *other;
    pawl_machine *m;
    pawl_err err = {0};

    CHECK(file != NULL && file->agent != NULL);
    CHECK_STR(told(b), "");
    a = &file->agent->a;
    CHECK_STR(a->name, "boss");
    CHECK_STR(a->model, "anthropic/x");
    CHECK_STR(a->system, "Say {{.x}}.");
    CHECK_STR(a->options, "{\"temperature\":0.5,\"thinking\":{\"budget_tokens\":2000}}");
    CHECK(a->version == 2 && file->agent->mode == PAWL_MODE_ACCEPT_EDITS && a->max_tokens == 99 && a->llm_timeout_ms == 9000 && a->max_retries == 4);
    CHECK(a->max_iterations == 7 && a->compact_tokens == 50000 && a->compact_drops && a->denied == PAWL_DENIED_TELLS && a->post_tools);
    CHECK(a->price_input == 3000000 && a->price_output == 15000000 && file->caps.micros == 5000000 && file->permissions != NULL);
    CHECK(file->post_tools != NULL && strcmp(file->post_tools[2], "-A") == 0 && file->post_tools[3] == NULL);
    CHECK_INT(a->ntools, 4);            /* spawn_agent came along with `agents` */
    own = &a->tools[1], other = &a->tools[2];
    CHECK(own->cls == PAWL_PERMISSION_READ && own->effect == PAWL_CLASS_AT_LEAST_ONCE && !own->alone && own->timeout_ms == 2000 && !own->mutates &&
        !own->deferred);
    CHECK_STR(own->schema, "{\"properties\":{\"a\":{\"type\":\"string\"}},\"type\":\"object\"}");
    CHECK(other->cls == PAWL_PERMISSION_OTHER && other->effect == PAWL_CLASS_IDEMPOTENT && other->beside && !other->alone && other->mutates && other->deferred);
    CHECK_STR(other->rule, "Other");
    CHECK_STR(a->tools[3].name, "spawn_agent");
    CHECK_STR(a->tools[3].description, "Call another agent. Agents: helper (It helps.); boss (It leads.)");
    CHECK(a->nhelpers == 2 && file->helpers != NULL && file->helpers->next != NULL && file->helpers->next->next == NULL);
    CHECK_STR(file->tools->run[2], file->tools->run[1] != NULL ? "5" : "");
    CHECK((m = file_machine(file, "", &b->f, &err)) != NULL);
    CHECK_STR(pawl_machine_name(m), "boss");
    pawl_machine_free(m);
    bench_free(b);
}

PAWL_TEST(test_agents_that_call_each_other_have_one_post_tools)
{
    static const char twice[] = "1:38 twice: `post_tools` of agents that call each other is one command, and another one says something else\n";
    static const struct { const char *boss, *helper, *said; } rows[] = {
        { "{run: [a, b], env: [A_API_KEY]}", "{env: [A_API_KEY], run: [a, b]}", "" }, { "[a, b]", "{run: [a, b]}", "" }, { "[a, b]", "[a, b, c]", twice },
        { "{run: [a, b], env: [A_API_KEY]}", "[a, b]", twice }, { "[a, b]", "{run: [a, b], env: [A_API_KEY]}", twice },
        { "{run: [a], env: [A_API_KEY]}", "{run: [a], env: [B_API_KEY]}", twice },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char boss[200], helper[200];
        const filing_text texts[] = { { "boss.yaml", boss }, { "helper.yaml", helper }, { NULL, NULL } };
        bench *b = bench_new();
        agent_file *file;
        filing from;

        snprintf(boss, sizeof boss, "agent: {model: anthropic/x, agents: {helper: helper.yaml}, post_tools: %s}\n", rows[i].boss);
        snprintf(helper, sizeof helper, "agent: {model: openai/y, post_tools: %s}\n", rows[i].helper);
        file = load_from(b, &from, texts);
        CHECK_STR(told(b), rows[i].said);
        if (rows[i].said[0] == '\0' && file->post_tools_env != NULL) {
            CHECK_STR(file->post_tools_env[0], "A_API_KEY");
            CHECK(file->post_tools_env[1] == NULL);
        }
        CHECK(rows[i].said[0] != '\0' || (file->post_tools_env != NULL) == (strstr(rows[i].boss, "env") != NULL));
        bench_free(b);
    }
}

/* The n-th allocation fails: no machine, nothing leaks, and it is said that memory was missing. */
static void marched(const filing_text *texts)
{
    const size_t stride = check_run_all() ? 1 : 7;
    bool fired = true;

    for (size_t n = 0; fired; n += stride) {
        bench *b = bench_new();
        filing from;
        pawl_err err = {0};
        pawl_machine *m = NULL;
        agent_file *a;

        b->mem.chunk_bytes = 256;
        heap_fail_at(&b->h, n);
        a = load_from(b, &from, texts);
        if (a != NULL && b->f.count == 0 && !b->mem.failed)
            m = file_machine(a, "jq-1", &b->f, &err);
        if (m != NULL && !b->h.fired)
            file_search(a, m, &b->f);
        fired = b->h.fired;
        CHECK(fired ? m == NULL || b->mem.failed : m != NULL);
        CHECK(!fired || b->mem.failed || err.code == PAWL_NOMEM);
        pawl_machine_free(m);
        bench_free(b);
    }
}

PAWL_TEST(test_every_allocation_may_fail) { marched(all); }
PAWL_TEST(test_every_allocation_of_an_agent_may_fail) { marched(agents); }
