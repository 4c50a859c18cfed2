/* hook_read_test.c - which hooks there are, and whom they fit: the `hooks` of settings, and matchers (P4, CC-H1, CC-H2). */
#include "policy/hooking.h"
#include "lib/heap.h"

#include <stdlib.h>

/* ---- matchers -------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P4_a_matcher_of_names_is_exact)
{
    const struct { const char *matcher, *tool; bool fits; } rows[] = {
        { "", "Bash", true }, { "*", "Bash", true }, { NULL, "Bash", true }, { "Bash", "Bash", true }, { "Bash", "BashOutput", false },
        { "Bash", "bash", false }, { "Edit|Write", "NotebookEdit", false }, { "Edit|Write", "Write", true }, { "Edit, Write", "Write", true },
        { " Edit , Write ", "Edit", true }, { "Edit||Write", "Write", true }, { "Edit|", "", false }, { "Edit|Write", "Edit|Write", false },
        { "mcp__a-b__c", "mcp__a-b__c", true }, { "Two Words", "Two Words", true }, { "Two Words", "Two", false }, { "Bash", "", false },
        { "Bash", NULL, false }, { "", NULL, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hook_fits(rows[i].matcher, rows[i].tool) != rows[i].fits)
            CHECK_FAIL("\"%s\" of \"%s\"", rows[i].matcher != NULL ? rows[i].matcher : "NULL", rows[i].tool != NULL ? rows[i].tool : "NULL");
}

PAWL_TEST(test_P4_any_other_matcher_is_an_unanchored_expression)
{
    const struct { const char *matcher, *fits, *not; } rows[] = {
        { "Edit.*", "NotebookEdit", "Write" }, { "Edit.*", "Edit", "Edi" }, { "^Edit$", "Edit", "NotebookEdit" }, { "^Edit", "EditX", "XEdit" },
        { "mcp__.*", "mcp__memory__read", "mcp_" }, { "mcp__.*__write.*", "mcp__fs__write_file", "mcp__fs__read" },
        { "^(Edit|Write)$", "Write", "Writer" }, { "^(?:Edit|MultiEdit|)$", "", "E" }, { "^a?b$", "b", "aab" }, { "^a+$", "aaa", "" },
        { "^a*$", "", "ab" }, { "^a{2}$", "aa", "a" }, { "^a{2,}$", "aaaa", "a" }, { "^a{1,3}$", "aaa", "aaaa" }, { "^a{0,2}b$", "b", "aaab" },
        { "^(ab){2}$", "abab", "ab" }, { "^(a|b)*c$", "abbac", "abd" }, { "^[A-C]+$", "ABC", "ABD" }, { "^[^A-C]$", "D", "B" },
        { "^[a\\-z]$", "-", "b" }, { "^[]$|^x$", "x", "]" }, { "^[-a]$", "-", "b" }, { "\\d\\d", "x12", "x1y2" }, { "^\\w+$", "a_1", "a-1" },
        { "^\\W$", "-", "a" }, { "^\\S+\\s\\S+$", "a b", "ab" }, { "\\bEdit\\b", "x-Edit", "NotebookEdit" }, { "\\BEdit", "NotebookEdit", "x-Edit" },
        { "^a\\.b$", "a.b", "axb" }, { "a.b", "axb", "ab" }, { "a.*?b", "a12b", "a12" }, { "^\xC3\xA9{2}$", "\xC3\xA9\xC3\xA9", "\xC3\xA9" },
        { "^x{y}$", "x{y}", "xy" }, { "(((a+)+)+)+b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaac" },
        { "^(a?){30}a{30}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
        { "(^|_)x", "a_x", "ax" }, { "^(|a)+$", "aaa", "b" }, { "a|b.", "b1", "b" },
        { "^(?:(?:ab?)*c)?$", "abaac", "abb" }, { "[\\d.]{3}", "1.2", "1a2" }, { "[^\\s]$", "a", "a " },
    };
    const char *why;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!hook_matcher_reads(rows[i].matcher, &why))
            CHECK_FAIL("\"%s\": %s", rows[i].matcher, why);
        if (!hook_fits(rows[i].matcher, rows[i].fits))
            CHECK_FAIL("\"%s\" does not fit \"%s\"", rows[i].matcher, rows[i].fits);
        if (hook_fits(rows[i].matcher, rows[i].not))
            CHECK_FAIL("\"%s\" fits \"%s\"", rows[i].matcher, rows[i].not);
    }
}

PAWL_TEST(test_P4_a_matcher_that_cannot_be_read_fits_all)
{
    static const char *const bad[] = { "(", ")", "a)", "(a", "[", "[a", "[b-a]", "*a", "+", "a**", "a{2,1}", "a{0}", "a{1001}", "a{2}{3}", "\\",
                                       "\\q",
                                       "(?!a)", "(?=a)", "(?<n>a)", "\\1", "[\\q]", "[\xC3\xA9]", "|", ",", " , ", "(a{40}){40}", "x{1000}y{1000}",
                                       "((((((((((((((((((((((((((a))))))))))))))))))))))))))" };
    char *longest = malloc(HOOK_MATCHER_BYTES + 2);
    const char *why = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (hook_matcher_reads(bad[i], &why))
            CHECK_FAIL("\"%s\" is read", bad[i]);
        if (!hook_fits(bad[i], "Bash"))
            CHECK_FAIL("\"%s\" does not fit", bad[i]);
    }
    CHECK(longest != NULL);
    memset(longest, 'a', HOOK_MATCHER_BYTES + 1);
    longest[HOOK_MATCHER_BYTES + 1] = '\0';
    CHECK(!hook_matcher_reads(longest, &why) && hook_fits(longest, "Bash"));
    longest[0] = '^';
    CHECK(!hook_matcher_reads(longest, &why) && hook_fits(longest, "Bash"));
    longest[HOOK_MATCHER_BYTES] = '\0';
    CHECK(hook_matcher_reads(longest, &why) && !hook_fits(longest, "Bash"));
    free(longest);
}

/* Against the plainest of all ways to match: try everything. Of literals, dots, stars and question marks. */
static bool plainly(const char *p, const char *t)
{
    const bool more = p[0] != '\0' && (p[1] == '*' || p[1] == '?');

    if (*p == '\0')
        return true;
    if (more && plainly(p + 2, t))
        return true;
    if (*t == '\0' || (*p != '.' && *p != *t))
        return false;
    return more ? plainly(p[1] == '*' ? p : p + 2, t + 1) : plainly(p + 1, t + 1);
}

PAWL_TEST(test_P4_expressions_are_as_trying_everything_says)
{
    for (int round = 0; round < 20000; round++) {
        char pattern[24], text[10];
        size_t n = 0, m = (size_t)check_rand_below(sizeof text);
        bool found = false;

        for (size_t i = 1 + (size_t)check_rand_below(6); i > 0; i--) {
            pattern[n++] = "ab."[check_rand_below(3)];
            if (check_rand_below(2) == 0)
                pattern[n++] = "*?"[check_rand_below(2)];
        }
        pattern[n] = '\0';
        for (size_t i = 0; i < m; i++)
            text[i] = "abc"[check_rand_below(3)];
        text[m] = '\0';
        if (strpbrk(pattern, ".*?") == NULL || strcmp(pattern, "*") == 0)
            continue;
        for (size_t i = 0; i <= m; i++)
            found = found || plainly(pattern, text + i);
        if (hook_fits(pattern, text) != found)
            CHECK_FAIL("--seed %llu: \"%s\" of \"%s\"", (unsigned long long)check_seed(), pattern, text);
    }
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void hook_tell(const hook_entry *h, buf *b)
{
    buf_fmt(b, "%s = %s%s [%s]", h->name, hook_point_name(h->point), h->nodes ? " of nodes" : "", h->matcher);
    if (h->rule != NULL)
        buf_fmt(b, " if %s", h->rule);
    buf_fmt(b, " %s %s %us", h->type == HOOK_HTTP ? "http" : "command", h->profile == HOOK_CLAUDE ? "claude" : "strict", (unsigned)h->timeout_s);
    if (h->command != NULL)
        buf_fmt(b, " sh: %s", h->command);
    if (h->url != NULL)
        buf_fmt(b, " %s", h->url);
    if (h->run != NULL) {
        buf_char(b, ' ');
        canon(b, h->run);
    }
    if (h->headers != NULL) {
        buf_char(b, ' ');
        canon(b, h->headers);
    }
    if (h->env != NULL) {
        buf_text(b, " env ");
        canon(b, h->env);
    }
    buf_char(b, '\n');
}

static void reads(const char *json, const char *expected)
{
    hook_list list = { .count = 0 };
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    rc = hooks_read(&mem, json_of(&mem, json), "s.json", &list, &err);
    CHECK_INT(rc, err.code);
    CHECK(rc == PAWL_OK || list.count == 0);
    for (size_t i = 0; i < list.count; i++)
        hook_tell(&list.items[i], &b);
    buf_text(&b, err.text);
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
    arena_free(&mem);
}

/* One hook of one group. */
static void hook_is(const char *hook, const char *expected)
{
    buf b;

    buf_init(&b, NULL);
    buf_fmt(&b, "{\"PreToolUse\":[{\"hooks\":[%s]}]}", hook);
    buf_char(&b, '\0');
    reads(b.data, expected);
    buf_free(&b);
}

PAWL_TEST(test_P4_hooks_are_read_in_their_order)
{
    reads("{\"PreToolUse\":[{\"matcher\":\"Bash|Edit\",\"hooks\":[{\"type\":\"command\",\"command\":\"check\",\"timeout\":5},"
          "{\"type\":\"http\",\"url\":\"https://h/x\",\"headers\":{\"a\":\"b\"},\"profile\":\"claude\",\"if\":\"Bash(git:*)\"}]},"
          "{\"hooks\":[{\"type\":\"command\",\"run\":[\"check\",\"-v\"],\"profile\":\"strict\",\"env\":[\"A_API_KEY\",\"B\"],\"statusMessage\":\"...\"}]}],"
          "\"before\":[{\"matcher\":\"^draft\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"timeout\":600}]}],"
          "\"after\":[{\"matcher\":\"*\",\"hooks\":[{\"type\":\"command\",\"command\":\"y\"}]}],\"PostToolUseFailure\":[]}",
          "s.json: PreToolUse[0].hooks[0] = PreToolUse [Bash|Edit] command strict 5s sh: check\n"
          "s.json: PreToolUse[0].hooks[1] = PreToolUse [Bash|Edit] if Bash(git:*) http claude 60s https://h/x {\"a\":\"b\"}\n"
          "s.json: PreToolUse[1].hooks[0] = PreToolUse [] command strict 60s [\"check\",\"-v\"] env [\"A_API_KEY\",\"B\"]\n"
          "s.json: before[0].hooks[0] = PreToolUse of nodes [^draft] command strict 600s sh: x\n"
          "s.json: after[0].hooks[0] = PostToolUse of nodes [*] command strict 60s sh: y\n");
    reads("{}", "");
}

PAWL_TEST(test_P4_no_hook_is_dropped_silently)
{
    reads("[]", "s.json: the hooks are an object of events");
    reads("{\"PreToolUse\":{}}", "s.json: PreToolUse: it is a list of {\"matcher\", \"hooks\"}");
    reads("{\"PreToolUse\":[{}]}", "s.json: PreToolUse[0]: it is an object with \"hooks\", a list that is not empty");
    reads("{\"PreToolUse\":[{\"hooks\":[]}]}", "s.json: PreToolUse[0]: it is an object with \"hooks\", a list that is not empty");
    reads("{\"PreToolUse\":[{\"mather\":\"x\",\"hooks\":[1]}]}", "s.json: PreToolUse[0]: there is no \"mather\" (did you mean \"matcher\"?)");
    reads("{\"PreToolUse\":[{\"matcher\":[],\"hooks\":[1]}]}", "s.json: PreToolUse[0]: \"matcher\" is a text");
    reads("{\"PreToolUse\":[{\"matcher\":\"Edit(\",\"hooks\":[1]}]}", "s.json: PreToolUse[0]: matcher \"Edit(\": a ( has no )");
    reads("{\"PostToolBatch\":[]}", "s.json: event \"PostToolBatch\" exists in Claude Code, and not here: docs/POLICY.md has those that do");
    reads("{\"PreTolUse\":[]}", "s.json: there is no event \"PreTolUse\" (did you mean \"PreToolUse\"?): docs/POLICY.md has them all");
    reads("{\"Sleep\":[]}", "s.json: there is no event \"Sleep\": docs/POLICY.md has them all");
    reads("{\"Stop\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}",
          "s.json: Stop[0]: matcher \"Bash\": at Stop there is nothing that it could fit; leave it out");
    reads("{\"Notification\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"if\":\"Bash(ls)\"}]}]}",
          "s.json: Notification[0].hooks[0]: \"if\" is of calls, and at Notification there is none; leave it out");
    hook_is("1", "s.json: PreToolUse[0].hooks[0]: a hook is an object");
    hook_is("{}", "s.json: PreToolUse[0].hooks[0]: \"type\" is \"command\" or \"http\"");
    hook_is("{\"type\":\"prompt\"}",
            "s.json: PreToolUse[0].hooks[0]: type \"prompt\" exists in Claude Code, and not here: there are \"command\" and \"http\"");
    hook_is("{\"type\":\"shell\"}", "s.json: PreToolUse[0].hooks[0]: there is no type \"shell\": there are \"command\" and \"http\"");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"async\":true}",
            "s.json: PreToolUse[0].hooks[0]: \"async\" exists in Claude Code, and not here; leave it out");
    hook_is("{\"type\":\"command\",\"comand\":\"x\"}", "s.json: PreToolUse[0].hooks[0]: there is no \"comand\" (did you mean \"command\"?)");
    hook_is("{\"type\":\"command\"}",
            "s.json: PreToolUse[0].hooks[0]: a command has \"command\", a line for the shell, or \"run\", a list of words");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"run\":[\"x\"]}",
            "s.json: PreToolUse[0].hooks[0]: a command has \"command\", a line for the shell, or \"run\", a list of words, and not both");
    hook_is("{\"type\":\"command\",\"command\":\"\"}", "s.json: PreToolUse[0].hooks[0]: \"command\" is a text, not empty");
    hook_is("{\"type\":\"command\",\"command\":\"a\\u0000b\"}", "s.json: PreToolUse[0].hooks[0]: \"command\" is a text, not empty");
    hook_is("{\"type\":\"command\",\"run\":[]}", "s.json: PreToolUse[0].hooks[0]: \"run\" is a list of words, not empty");
    hook_is("{\"type\":\"command\",\"run\":[\"\"]}", "s.json: PreToolUse[0].hooks[0]: \"run\" names no program");
    hook_is("{\"type\":\"command\",\"run\":[\"a\",1]}", "s.json: PreToolUse[0].hooks[0]: \"run\" is a list of words, not empty");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"env\":{\"A\":\"b\"}}", "s.json: PreToolUse[0].hooks[0]: \"env\" is a list of words, not empty");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"env\":[]}", "s.json: PreToolUse[0].hooks[0]: \"env\" is a list of words, not empty");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"env\":[\"\"]}",
            "s.json: PreToolUse[0].hooks[0]: \"env\": \"\" is no name of one variable: its value comes from the environment, and there is no pattern for several");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"env\":[\"A_API_KEY\",\"B=c\"]}",
            "s.json: PreToolUse[0].hooks[0]: \"env\": \"B=c\" is no name of one variable: its value comes from the environment, and there is no pattern for several");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"evn\":[\"A\"]}", "s.json: PreToolUse[0].hooks[0]: there is no \"evn\" (did you mean \"env\"?)");
    hook_is("{\"type\":\"http\",\"url\":\"http://h\",\"env\":[\"A\"]}", "s.json: PreToolUse[0].hooks[0]: \"env\" is of a hook of type \"command\"");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"url\":\"http://h\"}", "s.json: PreToolUse[0].hooks[0]: \"url\" is of a hook of type \"http\"");
    hook_is("{\"type\":\"http\",\"command\":\"x\"}", "s.json: PreToolUse[0].hooks[0]: \"command\" is of a hook of type \"command\"");
    hook_is("{\"type\":\"http\",\"url\":\"file:///x\"}", "s.json: PreToolUse[0].hooks[0]: \"url\" begins with https:// or http://");
    hook_is("{\"type\":\"http\",\"url\":\"http://h\",\"headers\":{\"a\":1}}", "s.json: PreToolUse[0].hooks[0]: \"headers\" is an object of texts");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"profile\":\"open\"}",
            "s.json: PreToolUse[0].hooks[0]: \"profile\" is \"strict\" or \"claude\"");
    hook_is("{\"type\":\"command\",\"command\":\"x\",\"profile\":null}", "s.json: PreToolUse[0].hooks[0]: \"profile\" is \"strict\" or \"claude\"");
    for (int i = 0; i < 5; i++) {
        static const char *const times[] = { "0", "601", "1.5", "\"5\"", "-1" };
        buf b;

        buf_init(&b, NULL);
        buf_fmt(&b, "{\"type\":\"command\",\"command\":\"x\",\"timeout\":%s}", times[i]);
        buf_char(&b, '\0');
        hook_is(b.data, "s.json: PreToolUse[0].hooks[0]: \"timeout\" is a whole number of seconds, from 1 to 600");
        buf_free(&b);
    }
}

PAWL_TEST(test_P4_hooks_of_moments_fit_by_what_each_is_about)
{
    const struct { const char *point, *matcher, *of; bool fits; } rows[] = {
        { "UserPromptSubmit", "", NULL, true }, { "Stop", "*", NULL, true }, { "PostAssistantResponse", "", NULL, true },
        { "SubagentStop", "searcher", "searcher", true }, { "SubagentStop", "searcher", "writer", false }, { "PreCompact", "auto", "auto", true },
        { "PreCompact", "manual", "auto", false }, { "SessionStart", "startup|resume", "startup", true }, { "SessionStart", "resume", "startup", false },
        { "SessionEnd", "other", "other", true }, { "Notification", "permission_prompt", "permission_prompt", true },
        { "Notification", "permission_prompt", "idle_prompt", false }, { "Notification", ".*_prompt", "idle_prompt", true },
    };
    char json[200];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hook_list list = { .count = 0 };
        pawl_err err = { PAWL_OK, "" };
        arena mem;

        arena_init(&mem, NULL, 4096);
        snprintf(json, sizeof json, "{\"%s\":[{\"matcher\":\"%s\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}", rows[i].point, rows[i].matcher);
        if (hooks_read(&mem, json_of(&mem, json), "s", &list, &err) != PAWL_OK)
            CHECK_FAIL("%s", err.text);
        if (hook_wanted_at(&list.items[0], hook_point_named(rows[i].point), rows[i].of) != rows[i].fits)
            CHECK_FAIL("%s, \"%s\" of %s", rows[i].point, rows[i].matcher, rows[i].of != NULL ? rows[i].of : "nothing");
        CHECK(!hook_wanted_at(&list.items[0], HOOK_PRE, rows[i].of) && !hook_wanted(&list.items[0], HOOK_PRE, NULL, rows[i].of));
        arena_free(&mem);
    }
}

/* A callback elsewhere would be a hook that nobody performs. */
PAWL_TEST(test_P5_a_callback_is_of_a_client_alone)
{
    static const char *const froms[] = { "settings.json", "", "--settings", "Client", HOOKS_OF_CLIENT };
    static const char json[] = "{\"PreToolUse\":[{\"hooks\":[{\"type\":\"callback\",\"callback\":\"hook_0\",\"timeout\":7}]}]}";
    static const char both[] = "{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\",\"callback\":\"hook_0\"}]}]}";
    arena mem;

    arena_init(&mem, NULL, 4096);
    for (size_t i = 0; i < sizeof froms / sizeof *froms; i++) {
        const bool client = strcmp(froms[i], HOOKS_OF_CLIENT) == 0;
        hook_list all = {0};
        pawl_err err = {0};

        CHECK((hooks_read(&mem, value_parse(&mem, json, sizeof json - 1, "hooks", &err), froms[i], &all, &err) == PAWL_OK) == client);
        CHECK(all.count == (client ? 1u : 0u));
        CHECK(!client || (strcmp(all.items[0].callback, "hook_0") == 0 && all.items[0].profile == HOOK_CLAUDE && all.items[0].timeout_s == 7));
        CHECK(hooks_read(&mem, value_parse(&mem, both, sizeof both - 1, "hooks", &err), froms[i], &all, &err) == PAWL_INVALID);
    }
    arena_free(&mem);
}

PAWL_TEST(test_P4_limits_of_hooks_are_told_and_nothing_is_added_by_half)
{
    static const char *const one = "{\"type\":\"command\",\"command\":\"x\"}";
    hook_list list = { .count = 0 };
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *after, *before;
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    after = json_of(&mem, "{\"after\":[{\"matcher\":\"a\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}");
    before = json_of(&mem, "{\"before\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"y\"}]}]}");
    CHECK_INT(hooks_read(&mem, after, "u", &list, NULL), PAWL_OK);
    CHECK_INT(list.count, 1);
    CHECK(hook_wanted(&list.items[0], HOOK_POST, "a", "b") && !hook_wanted(&list.items[0], HOOK_POST, NULL, "a"));
    CHECK(!hook_wanted(&list.items[0], HOOK_PRE, "a", "a") && !hook_wanted(&list.items[0], HOOK_POST, "b", "a"));
    buf_text(&b, "{\"PreToolUse\":[{\"hooks\":[");
    for (int i = 0; i < HOOKS_MAX; i++)
        buf_fmt(&b, "%s%s", i > 0 ? "," : "", one);
    buf_text(&b, "]}]}");
    buf_char(&b, '\0');
    CHECK_INT(hooks_read(&mem, json_of(&mem, b.data), "p", &list, &err), PAWL_LIMIT);
    CHECK_STR(err.text, "p: PreToolUse[0].hooks[255]: more than 256 hooks (HOOKS_MAX)");
    CHECK_INT(list.count, 1);
    CHECK_INT(hooks_read(&mem, before, "p", &list, NULL), PAWL_OK);
    CHECK_INT(list.count, 2);
    CHECK_STR(list.items[0].name, "u: after[0].hooks[0]");
    CHECK_STR(list.items[1].command, "y");
    buf_free(&b);
    arena_free(&mem);
}

PAWL_TEST(test_P4_settings_without_memory)
{
    const pawl_value *hooks;
    arena fixed;
    heap h;
    pawl_alloc alloc;

    arena_init(&fixed, NULL, 4096);
    hooks = json_of(&fixed, "{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"run\":[\"a\"],\"if\":\"x\"},"
                            "{\"type\":\"http\",\"url\":\"http://h\",\"headers\":{\"a\":\"b\"}}]}]}");
    heap_init(&h);
    alloc = heap_alloc(&h);
    for (size_t n = 0;; n++) {
        hook_list list = { .count = 0 };
        pawl_code rc;
        arena mem;

        arena_init(&mem, &alloc, 64);
        heap_fail_at(&h, n);
        rc = hooks_read(&mem, hooks, "s", &list, NULL);
        CHECK(h.fired ? rc == PAWL_NOMEM && list.count == 0 : rc == PAWL_OK && list.count == 2);
        arena_free(&mem);
        heap_check(&h);
        if (!h.fired)
            break;
    }
    arena_free(&fixed);
}

/* ---- scripts --------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P9_the_scripts_of_a_hook_are_where_programs_stand)
{
    static const struct { const char *hook, *scripts; } rows[] = {
        { "{\"command\":\"./check\"}", "[\"/p/sub/check\"]" },
        { "{\"command\":\"check a.sh\"}", "[]" },
        { "{\"command\":\"\\\"$CLAUDE_PROJECT_DIR\\\"/.claude/a.sh x.txt\"}", "[\"/p/.claude/a.sh\"]" },
        { "{\"command\":\"${CLAUDE_PROJECT_DIR}/a\"}", "[\"/p/a\"]" },
        { "{\"command\":\"$CLAUDE_PROJECT_DIRS/a\"}", "[]" },
        { "{\"command\":\"bash -e x.sh y.sh\"}", "[\"/p/sub/x.sh\"]" },
        { "{\"command\":\"/usr/bin/env python3.11 -u $CLAUDE_PROJECT_DIR/g.py in.json\"}", "[\"/p/g.py\"]" },
        { "{\"command\":\"/usr/bin/python3 ../g.py\"}", "[\"/p/g.py\"]" },
        { "{\"command\":\"node --require ./r.js m.js\"}", "[\"/p/sub/r.js\",\"/p/sub/m.js\"]" },
        { "{\"command\":\"deno run t.ts\"}", "[\"/p/sub/run\",\"/p/sub/t.ts\"]" },
        { "{\"command\":\"timeout 5 ./a; X=1 ./b | ./c && cat d.sh\"}", "[\"/p/sub/a\",\"/p/sub/b\",\"/p/sub/c\"]" },
        { "{\"command\":\"cd $CLAUDE_PROJECT_DIR/x && ./a\"}", "[\"/p/sub/a\",\"/p/x/a\"]" },
        { "{\"command\":\"sh -c './a b.sh'\"}", "[\"/p/sub/a\"]" },
        { "{\"command\":\". ./lib.sh\"}", "[\"/p/sub/lib.sh\"]" },
        { "{\"command\":\"/usr/bin/jq . ../../q.sh; /q/a; ~/b\"}", "[]" },
        { "{\"run\":[\"./a b\",\"c.sh\"]}", "[\"/p/sub/a b\"]" },
        { "{\"command\":\"python3\",\"args\":[\"${CLAUDE_PROJECT_DIR}/a.py\"]}", "[\"/p/a.py\"]" },
        { "{\"type\":\"http\",\"url\":\"http://h\"}", "[]" },
    };
    arena mem;

    arena_init(&mem, NULL, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pawl_value *all = hook_scripts(&mem, json_of(&mem, rows[i].hook), "/p", "/p/sub");
        buf b;

        buf_init(&b, NULL);
        if (all != NULL)
            canon(&b, all);
        buf_char(&b, '\0');
        if (strcmp(b.data, rows[i].scripts) != 0)
            CHECK_FAIL("%s: %s, and %s is due", rows[i].hook, b.data, rows[i].scripts);
        buf_free(&b);
    }
    arena_free(&mem);
}
