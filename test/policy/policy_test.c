/* policy_test.c - modes as a table, rules that cannot be read, memory that ends, and policies looked at. */
#include "lib/heap.h"
#include "policy/policing.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>

static const char all_kinds[] =
    "{\"cwd\":\"/w\",\"home\":\"/home/ann\",\"directories\":[\"/data/shared\",\"/x/../y\"],"
    "\"deny\":[\"Bash(rm *)\",{\"rule\":\"Read(/secrets/)\",\"from\":\"project\",\"base\":\"/w\",\"until\":99},\"mcp__*__delete\"],"
    "\"ask\":[\"WebFetch(domain:*.example.com)\",\"Deploy(target:prod)\"],"
    "\"allow\":[\"Bash(npm run build)\",\"Edit(~/notes/**)\",\"Agent(Explore)\",\"mcp__server__*\",\"Read\"]}";

static pawl_policy *policy_of(const char *json)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_policy *p = pawl_policy_read(NULL, json, strlen(json), &err);

    if (p == NULL)
        CHECK_FAIL("%s: %s", json, err.text);
    return p;
}

/* ---- modes --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P1_a_mode_permits_itself_and_those_before_it)
{
    int yes = 0;

    for (unsigned now = PAWL_MODE_PLAN; now <= PAWL_MODE_BYPASS; now++)
        for (unsigned due = PAWL_MODE_PLAN; due <= PAWL_MODE_BYPASS; due++) {
            CHECK(pawl_mode_permits((pawl_mode)now, (pawl_mode)due) == (due <= now));
            yes += pawl_mode_permits((pawl_mode)now, (pawl_mode)due);
        }
    CHECK_INT(yes, 10);
    CHECK(!pawl_mode_permits(PAWL_MODE_NONE, PAWL_MODE_PLAN) && !pawl_mode_permits(PAWL_MODE_BYPASS, PAWL_MODE_NONE));
}

PAWL_TEST(test_P1_what_modes_say_of_classes)
{
    buf b;

    buf_init(&b, NULL);
    for (unsigned m = PAWL_MODE_PLAN; m <= PAWL_MODE_BYPASS; m++) {
        buf_fmt(&b, "%s:", pawl_mode_name((pawl_mode)m));
        for (unsigned c = PAWL_PERMISSION_READ; c <= PAWL_PERMISSION_OTHER; c++)
            buf_fmt(&b, " %s %s/%s", pawl_permission_name((pawl_permission)c),
                    pawl_behavior_name(pawl_mode_decision((pawl_mode)m, (pawl_permission)c, true)),
                    pawl_behavior_name(pawl_mode_decision((pawl_mode)m, (pawl_permission)c, false)));
        buf_char(&b, '\n');
    }
    buf_char(&b, '\0');
    CHECK_STR(b.data, "plan: read allow/allow edit deny/deny exec deny/deny net deny/deny other deny/deny\n"
                      "default: read allow/allow edit open/open exec open/open net open/open other open/open\n"
                      "acceptEdits: read allow/allow edit allow/open exec open/open net open/open other open/open\n"
                      "bypassPermissions: read allow/allow edit allow/allow exec allow/allow net allow/allow other allow/allow\n");
    buf_free(&b);
    CHECK(pawl_mode_decision(PAWL_MODE_PLAN, (pawl_permission)0, true) == PAWL_BEHAVIOR_DENY && pawl_mode_decision(PAWL_MODE_PLAN, (pawl_permission)77,
        true) == PAWL_BEHAVIOR_DENY);
}

PAWL_TEST(test_P1_names)
{
    for (unsigned m = PAWL_MODE_PLAN; m <= PAWL_MODE_BYPASS; m++)
        CHECK_INT(pawl_mode_named(pawl_mode_name((pawl_mode)m)), m);
    CHECK_INT(pawl_mode_named(NULL), PAWL_MODE_NONE);
    CHECK_INT(pawl_mode_named(""), PAWL_MODE_NONE);
    CHECK_INT(pawl_mode_named("Plan"), PAWL_MODE_NONE);
    CHECK_STR(pawl_mode_name(PAWL_MODE_NONE), "");
    CHECK_STR(pawl_mode_name((pawl_mode)9), "");
    CHECK_STR(pawl_permission_name((pawl_permission)9), "");
    CHECK_STR(pawl_ground_name(PAWL_GROUND_DENY_RULE), "deny rule");
    CHECK_STR(pawl_ground_name(PAWL_GROUND_SYNTAX), "syntax");
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P3_rules_in_their_order)
{
    pawl_policy *p = policy_of(all_kinds), *q;

    CHECK_INT(pawl_policy_count(p), 10);
    CHECK_STR(pawl_policy_rule(p, 0).text, "Bash(rm *)");
    CHECK_STR(pawl_policy_rule(p, 1).from, "project");
    CHECK_INT(pawl_policy_rule(p, 1).until_ms, 99);
    CHECK_INT(pawl_policy_rule(p, 3).behavior, PAWL_BEHAVIOR_ASK);
    CHECK_STR(pawl_policy_rule(p, 9).text, "Read");
    CHECK_INT(pawl_policy_rule(p, 10).behavior, PAWL_BEHAVIOR_OPEN);
    CHECK_INT(strlen(pawl_policy_digest(p)), 64);
    q = policy_of("{ \"ask\" : [\"A\"] , \"allow\":[] }");
    CHECK(strcmp(pawl_policy_digest(p), pawl_policy_digest(q)) != 0);
    pawl_policy_free(p);
    p = policy_of("{\"allow\":[],\"ask\":[\"A\"]}");
    CHECK_STR(pawl_policy_digest(p), pawl_policy_digest(q));
    pawl_policy_free(p);
    pawl_policy_free(q);
}

PAWL_TEST(test_P3_a_rule_that_cannot_be_read_is_told)
{
    static const struct { const char *rule, *told; } bad[] = {
        { "", "it is empty" }, { "(x)", "not begin with the name of a tool" }, { "Bash (x)", "not begin with the name of a tool" },
        { "Bash(x", "does not end with )" },
        { "Bash(x) y", "does not end with )" }, { "Bash()", "its name alone" }, { "Bash(:*)", "names no command" }, { "Bash( )", "names no command" },
        { "bash(ls)", "did you mean \"Bash\"" }, { "read(x)", "did you mean \"Read\"" }, { "Bash(a), Read(b)", "two rules" },
        { "Read(!x)", "negated" }, { "Read(a/../b)", "without . and .." }, { "Read(a//b)", "// within" }, { "Read([a)", "has no ]" },
        { "WebFetch(example.com)", "domain:example.com" }, { "WebFetch(domain:https://x)", "domain:example.com" }, { "WebFetch(domain:)", "domain:" },
        { "Deploy(x)", "name:value" }, { "Deploy(x:y)", "not allowed" }, { "mcp__*", "deny or ask" }, { "*", "deny or ask" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pawl_err err = { PAWL_OK, "" };
        char json[256];

        snprintf(json, sizeof json, "{\"cwd\":\"/w\",\"allow\":[\"%s\"]}", bad[i].rule);
        CHECK(pawl_policy_read(NULL, json, strlen(json), &err) == NULL);
        CHECK_INT(err.code, PAWL_INVALID);
        if (strstr(err.text, bad[i].told) == NULL || strstr(err.text, bad[i].rule) == NULL)
            CHECK_FAIL("of %s: %s", bad[i].rule, err.text);
    }
}

PAWL_TEST(test_P3_a_policy_that_cannot_be_read_is_told)
{
    static const struct { const char *json, *told; } bad[] = {
        { "[]", "object" }, { "{", "policy" }, { "{\"alow\":[]}", "did you mean \"allow\"" }, { "{\"allow\":{}}", "list of rules" },
        { "{\"allow\":[7]}", "must be a text" }, { "{\"cwd\":\"w\"}", "absolute" }, { "{\"cwd\":7}", "must be a text" },
        { "{\"directories\":\"/x\"}", "list" }, { "{\"home\":\"\"}", "absolute" }, { "{\"deny\":[{\"rule\":\"A\",\"til\":1}]}", "\"til\"" },
        { "{\"deny\":[{\"rule\":\"A\",\"until\":0}]}", "until" }, { "{\"deny\":[{\"rule\":\"A\",\"until\":\"x\"}]}", "until" },
        { "{\"deny\":[{\"from\":\"x\"}]}", "must be a text" }, { "{\"deny\":[\"Read(x)\"]}", "\"cwd\"" },
        { "{\"deny\":[\"Read(~/x)\"]}", "\"home\"" },
        { "{\"deny\":[\"Read(/x)\"]}", "\"base\"" }, { "{\"deny\":[\"A\\u0000\"]}", "must be a text" }, { "{\"deny\":[\"A\"],\"deny\":[]}", "deny" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pawl_err err = { PAWL_OK, "" };

        CHECK(pawl_policy_read(NULL, bad[i].json, strlen(bad[i].json), &err) == NULL);
        if (err.code != PAWL_INVALID || strstr(err.text, bad[i].told) == NULL)
            CHECK_FAIL("of %s: %s %s", bad[i].json, pawl_code_name(err.code), err.text);
    }
}

PAWL_TEST(test_P3_a_policy_has_limits)
{
    pawl_err err = { PAWL_OK, "" };
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"deny\":[\"");
    for (int i = 0; i < PAWL_RULE_BYTES; i++)
        buf_char(&b, 'a');
    buf_text(&b, "\"]}");
    CHECK(pawl_policy_read(NULL, b.data, b.size, &err) == NULL && err.code == PAWL_LIMIT);
    buf_reset(&b);
    buf_text(&b, "{\"deny\":[\"A\"");
    for (int i = 0; i < POLICY_RULES_MAX; i++)
        buf_text(&b, ",\"A\"");
    buf_text(&b, "]}");
    err = (pawl_err){ PAWL_OK, "" };
    CHECK(pawl_policy_read(NULL, b.data, b.size, &err) == NULL && err.code == PAWL_LIMIT);
    buf_free(&b);
}

PAWL_TEST(test_a_policy_without_memory_is_none)
{
    bool fired;
    size_t n = 0;

    do {
        heap h;
        pawl_alloc a;
        pawl_err err = { PAWL_OK, "" };
        pawl_policy *p;

        heap_init(&h);
        a = heap_alloc(&h);
        heap_fail_at(&h, n++);
        p = pawl_policy_read(&a, all_kinds, strlen(all_kinds), &err);
        fired = h.fired;
        CHECK((p == NULL) == fired);
        CHECK_INT(err.code, fired ? PAWL_NOMEM : PAWL_OK);
        pawl_policy_free(p);
        heap_check(&h);
    } while (fired);
    CHECK(n > 3);
}

/* ---- looked at ----------------------------------------------------------------------------------------------------- */

static bool note_fit(void *ctx, size_t rule, const char *part, bool decides)
{
    buf_fmt(ctx, "%zu%s[%s] ", rule, decides ? "!" : "", part);
    return true;
}

PAWL_TEST(test_P2_why_names_those_that_lost)
{
    pawl_policy *p = policy_of("{\"cwd\":\"/w\",\"deny\":[\"Bash(nothing)\"],\"ask\":[\"Bash(git push *)\",\"Bash(git *)\"],\"allow\":[\"Bash\"]}");
    pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC };
    pawl_decision d;
    arena a;
    buf b;

    arena_init(&a, NULL, 1024);
    buf_init(&b, NULL);
    q.args = police_args(&a, "Bash", "ls && git push x");
    pawl_policy_why(p, &q, &d, note_fit, &b);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "1![git push x] 2[git push x] 3[ls] ");
    CHECK_STR(d.part, "git push x");
    CHECK_INT(d.rule, 1);
    CHECK_STR(d.reason, "asked by the rule Bash(git push *): git push x");
    buf_free(&b);
    arena_free(&a);
    pawl_policy_free(p);
}

/* A reason stands in the journal, in the question that asks for an approval: a run that waits under these words goes on only under the same. */
PAWL_TEST(test_K5_reasons_that_were_journaled_keep_their_words)
{
    static const struct { const char *rules, *tool, *what, *reason; } kept[] = {
        { "{\"cwd\":\"/w\"}", "Bash", "make", "asked, for no rule allows it: make" },
        { "{\"cwd\":\"/w\"}", "Bash", "rm -rf /", "asked in every mode, for it removes what all else stands on: rm -rf /" },
        { "{\"cwd\":\"/w\"}", "Bash", "rm -rf $X", "asked in every mode, for it is not known what it removes: rm -rf $X" },
        { "{\"cwd\":\"/w\"}", "Bash", "eval x", "not read for sure: it evaluates a text: eval x" },
        { "{\"cwd\":\"/w\"}", "Write", "/w/.git/hooks/x", "asked, for it edits a protected place: /w/.git/hooks/x" },
        { "{\"cwd\":\"/w\"}", "Read", "/w/a", "allowed by the mode: /w/a" },
        { "{\"cwd\":\"/w\",\"ask\":[\"Bash(git push *)\"]}", "Bash", "git push x", "asked by the rule Bash(git push *): git push x" },
        { "{\"cwd\":\"/w\",\"deny\":[\"Bash(rm *)\"]}", "Bash", "rm x", "denied by the rule Bash(rm *): rm x" },
    };
    arena a;

    arena_init(&a, NULL, 1024);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        pawl_policy *p = policy_of(kept[i].rules);
        pawl_request q = { .tool = kept[i].tool, .cls = police_class(kept[i].tool), .args = police_args(&a, kept[i].tool, kept[i].what) };
        pawl_decision d;

        pawl_policy_why(p, &q, &d, NULL, NULL);
        CHECK_STR(d.reason, kept[i].reason);
        pawl_policy_free(p);
    }
    arena_free(&a);
}

static bool note_shadow(void *ctx, size_t rule, size_t by)
{
    buf_fmt(ctx, "%zu<%zu ", rule, by);
    return true;
}

PAWL_TEST(test_P3_rules_that_never_decide)
{
    pawl_policy *p = policy_of("{\"cwd\":\"/w\",\"deny\":[\"Bash(git *)\",\"Bash(git push:*)\",\"Read(secrets/**)\"],"
                               "\"ask\":[\"Grep(secrets/a)\",\"Bash(gitk)\"],"
                               "\"allow\":[\"Bash(git log)\",\"Write(a)\",\"Edit(a)\",\"Write(a)\",\"mcp__s\",\"mcp__s__t\","
                               "{\"rule\":\"WebFetch(domain:a.org)\",\"until\":5},\"WebFetch(domain:a.org)\"]}");
    buf b;

    buf_init(&b, NULL);
    pawl_policy_shadowed(p, note_shadow, &b);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "1<0 3<2 5<0 8<6 10<9 ");
    buf_free(&b);
    pawl_policy_free(p);
}

static bool note_difference(void *ctx, const char *tool, const char *spec, const pawl_decision *a, const pawl_decision *b)
{
    buf_fmt(ctx, "%s(%s) %s %s\n", tool, spec, pawl_behavior_name(a->behavior), pawl_behavior_name(b->behavior));
    return true;
}

PAWL_TEST(test_P3_nodes_by_their_names_are_looked_at_too)
{
    pawl_policy *p = policy_of("{\"allow\":[\"Node(a*)\",\"Node(name:ab)\",\"Node(b)\"]}"), *q = policy_of("{\"ask\":[\"Node(name:ab)\"],\"allow\":[\"Node(name:b)\"]}");
    buf b;

    buf_init(&b, NULL);
    pawl_policy_shadowed(p, note_shadow, &b);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "1<0 ");
    buf_reset(&b);
    CHECK_INT(pawl_policy_diff(p, q, PAWL_MODE_DEFAULT, note_difference, &b), PAWL_OK);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "Node(ax) allow ask\nNode(ab) allow ask\n");
    buf_free(&b);
    pawl_policy_free(p);
    pawl_policy_free(q);
}

PAWL_TEST(test_P3_what_two_policies_tell_apart)
{
    pawl_policy *p = policy_of("{\"cwd\":\"/w\",\"allow\":[\"Bash(npm *)\",\"Edit(src/**)\",\"mcp__s\"]}");
    pawl_policy *q = policy_of("{\"cwd\":\"/w\",\"allow\":[\"Bash(npm *)\",\"WebFetch(domain:*.a.org)\"],\"deny\":[\"Bash(npm x)\"]}");
    buf b;

    buf_init(&b, NULL);
    CHECK_INT(pawl_policy_diff(p, q, PAWL_MODE_DEFAULT, note_difference, &b), PAWL_OK);
    buf_char(&b, '\0');
    CHECK_STR(b.data, "Bash(npm x) allow deny\nEdit(/w/src/deep/x) allow ask\nEdit(/w/src/deep/x/x) allow ask\nmcp__s__x() allow ask\n"
                      "Bash(npm x) allow deny\nWebFetch(https://x.a.org/) ask allow\n");
    buf_reset(&b);
    CHECK_INT(pawl_policy_diff(p, p, PAWL_MODE_DEFAULT, note_difference, &b), PAWL_OK);
    CHECK_INT(b.size, 0);
    buf_free(&b);
    pawl_policy_free(p);
    pawl_policy_free(q);
}

/* What is offered for "always" allows the call, and no other rules are needed. */
static void always(const char *tool, const char *what, const char *due)
{
    pawl_policy *p = policy_of("{\"cwd\":\"/w\",\"home\":\"/home/ann\"}"), *after;
    pawl_request q = { .tool = tool, .cls = police_class(tool) };
    char rules[PAWL_ALWAYS_MAX][PAWL_RULE_BYTES];
    pawl_decision d;
    size_t n;
    arena a;
    buf b;

    arena_init(&a, NULL, 1024);
    buf_init(&b, NULL);
    q.args = police_args(&a, tool, what);
    n = pawl_policy_always(p, &q, rules);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&b, "%s%s", i > 0 ? " + " : "", rules[i]);
    buf_char(&b, '\0');
    CHECK_STR(b.data, due);
    buf_reset(&b);
    buf_text(&b, "{\"cwd\":\"/w\",\"home\":\"/home/ann\",\"allow\":[");
    for (size_t i = 0; i < n; i++) {
        buf_text(&b, i > 0 ? "," : "");
        canon_string(&b, rules[i], strlen(rules[i]));
    }
    buf_text(&b, "]}");
    buf_char(&b, '\0');
    after = policy_of(b.data);
    pawl_decide(after, &q, &d);
    if (n > 0 && d.behavior != PAWL_BEHAVIOR_ALLOW)
        CHECK_FAIL("%s(%s) by %s: %s", tool, what, b.data, d.reason);
    buf_free(&b);
    arena_free(&a);
    pawl_policy_free(p);
    pawl_policy_free(after);
}

PAWL_TEST(test_P3_always_is_offered_whole_or_not)
{
    always("Bash", "npm run build", "Bash(npm run build)");
    always("Bash", "npm run build && make -j2 | tail -3", "Bash(npm run build) + Bash(make -j2)");
    always("Bash", "git commit -m 'a b'", "Bash(git commit -m 'a b')");
    always("Bash", "make 'a*'", "Bash(make a\\*)");
    always("Bash", "make a; make a", "Bash(make a)");
    always("Bash", "make > out", "Bash(make) + Edit(//w/out)");
    always("Bash", "make > 'a[1]*'", "Bash(make) + Edit(//w/a\\[1]\\*)");
    always("Bash", "make $(x)", "");
    always("Bash", "a; b; c; d; e; f", "");
    always("Bash", "rm -rf /", "");
    always("Bash", "ls", "");
    always("Bash", "ls | xargs make", "");
    always("Bash", "cd sub && npm test", "Bash(cd sub) + Bash(npm test)");
    always("Bash", "cd sub && git status", "Bash(cd sub) + Bash(git status)");
    always("Bash", "cd sub && ls && make", "Bash(cd sub) + Bash(make)");
    always("Bash", "sudo make", "");
    always("Bash", "make && nice sudo ls", "");
    always("Bash", "CI=1 make", "Bash(make)");
    always("Bash", "CI=1 ls", "Bash(ls)");
    always("Bash", "timeout 5 git status", "Bash(git status)");
    always("Bash", "CI=1; make", "");
    always("Edit", "/etc/hosts", "Edit(//etc/hosts)");
    always("Edit", ".git/config", "");
    always("WebFetch", "https://Example.com:8/x", "WebFetch(domain:example.com)");
    always("WebFetch", "https://a@b@c/", "");
    always("Agent", "Explore", "Agent(Explore)");
    always("mcp__s__t", "{}", "mcp__s__t");
}

/* ---- which paths a decision looks at ------------------------------------------------------------------------- */

typedef struct told_paths { char text[256]; size_t n; } told_paths;

static bool told_path(void *ctx, const char *name)
{
    told_paths *t = ctx;

    t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "<%.60s>", name);
    return t->n < sizeof t->text;
}

/* What stood on the stack before is nobody's path. */
static void __attribute__((noinline)) leave_letters(void)
{
    volatile char room[1 << 17];

    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 'A';
}

PAWL_TEST(test_P3_paths_are_told_as_they_stand_in_the_call)
{
    static const char policy[] = "{\"cwd\":\"/w\",\"deny\":[\"Read(/etc/**)\",\"Edit(/etc/**)\"]}";
    static const struct { const char *tool, *what, *told; } cases[] = {
        { "Read", "a.txt", "</w/a.txt>" }, { "Read", "{\"file_path\":7}", "<>" }, { "Edit", "{\"file_path\":[\"/etc/x\"]}", "<>" },
        { "Bash", "cat a.txt", "<a.txt>" }, { "Bash", "cat a.txt; cd", "<a.txt>" }, { "Bash", "cd", "" }, { "Bash", "cd -", "" },
        { "Bash", "cd b; cat c", "<b><c><c>" }, { "Bash", "xargs cat", "" }, { "Bash", "cat x | xargs rm", "<x>" },
    };
    pawl_policy *p = pawl_policy_read(NULL, policy, sizeof policy - 1, NULL);
    arena mem;

    CHECK(p != NULL);
    arena_init(&mem, NULL, 1024);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pawl_request q = { .tool = cases[i].tool, .args = police_args(&mem, cases[i].tool, cases[i].what), .cls = police_class(cases[i].tool) };
        told_paths t = {0};

        leave_letters();
        pawl_policy_paths(p, &q, told_path, &t);
        if (strcmp(t.text, cases[i].told) != 0)
            CHECK_FAIL("%s %s: %s and not %s", cases[i].tool, cases[i].what, t.text, cases[i].told);
    }
    {
        char *long_path = malloc(20000);
        told_paths t = {0};
        pawl_request q = { .tool = "Read", .cls = PAWL_PERMISSION_READ };

        memset(long_path, 'b', 19999);
        long_path[19999] = '\0';
        memcpy(long_path, "/c/", 3);
        q.args = police_args(&mem, "Read", long_path);
        leave_letters();
        pawl_policy_paths(p, &q, told_path, &t);
        CHECK_STR(t.text, "<>");
        free(long_path);
    }
    arena_free(&mem);
    pawl_policy_free(p);
}
