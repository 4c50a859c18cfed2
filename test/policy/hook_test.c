/* hook_test.c - what hooks come to: every way to answer and every way to fail, under both profiles (P4, P5, CC-H2 to CC-H8). */
#include "policy/hooking.h"
#include "lib/heap.h"

static verdict verdict_at(arena *mem, hook_profile profile, const char *point, const pawl_value *receipt)
{
    pawl_err err = { PAWL_OK, "" };
    verdict v = { .behavior = PAWL_BEHAVIOR_OPEN };

    CHECK(receipt != NULL);
    CHECK_INT(hook_verdict(mem, profile, point, receipt, &v, &err), PAWL_OK);
    CHECK_STR(err.text, "");
    return v;
}

static void comes(hook_profile profile, const char *point, const char *receipt, const char *expected)
{
    verdict v;
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    v = verdict_at(&mem, profile, point, json_of(&mem, receipt));
    verdict_tell(&v, &b);
    buf_char(&b, '\0');
    if (strcmp(b.data, expected) != 0)
        CHECK_FAIL("%s, %s\n     of %s\n    got %s\n    not %s", profile == HOOK_STRICT ? "strict" : "claude", point, receipt, b.data, expected);
    buf_free(&b);
    arena_free(&mem);
}

/* A command at PreToolUse that prints `out` and exits: strict, claude. */
typedef struct exit_row { int status; const char *out, *complaint, *strict, *claude; } exit_row;

static void exits(const char *point, const exit_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        arena mem;
        buf b;

        arena_init(&mem, NULL, 4096);
        buf_init(&b, NULL);
        canon(&b, exited(&mem, rows[i].status, rows[i].out, rows[i].complaint));
        buf_char(&b, '\0');
        comes(HOOK_STRICT, point, b.data, rows[i].strict);
        comes(HOOK_CLAUDE, point, b.data, rows[i].claude);
        buf_free(&b);
        arena_free(&mem);
    }
}

#define ROWS(rows) (rows), sizeof(rows) / sizeof *(rows)
#define OUT(inner) "{\"hookSpecificOutput\":{" inner "}}"
#define SAYS(word) OUT("\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"" word "\",\"permissionDecisionReason\":\"why\"")

/* ---- exits and what is printed ------------------------------------------------------------------------------- */

PAWL_TEST(test_P5_exit_0_without_an_answer_proceeds)
{
    const exit_row rows[] = {
        { 0, "", "", "open", "open" },
        { 0, " \n", "noise", "open", "open" },
        { 0, "looks fine\n", "", "open", "open" },
        { 0, "[1,2]", "", "open", "open" },
        { 0, "null", "", "open", "open" },
        { 0, "{}", "", "open", "open" },
        { 0, "checked {3} files", "", "open", "open" },
    };

    exits("PreToolUse", ROWS(rows));
    exits("before", ROWS(rows));
    exits("PostToolUse", ROWS(rows));
    exits("after", ROWS(rows));
    exits("PostToolUseFailure", ROWS(rows));
}

PAWL_TEST(test_P5_the_JSON_of_exit_0_decides)
{
    const exit_row rows[] = {
        { 0, SAYS("allow"), "", "allow: why", "allow: why" },
        { 0, SAYS("deny"), "", "deny: why", "deny: why" },
        { 0, SAYS("ask"), "", "ask: why", "ask: why" },
        { 0, SAYS("defer"), "", "defer(verdict): why", "defer(verdict): why" },
        { 0, "\xEF\xBB\xBF \n" SAYS("deny") "\r\n", "", "deny: why", "deny: why" },
        { 0, OUT("\"updatedInput\":{\"command\":\"ls\"}"), "", "open input={\"command\":\"ls\"}", "open input={\"command\":\"ls\"}" },
        { 0, OUT("\"permissionDecision\":\"allow\",\"updatedInput\":{}"), "", "allow input={}", "allow input={}" },
        { 0, OUT("\"permissionDecision\":\"defer\",\"updatedInput\":{}"), "", "defer(verdict)", "defer(verdict)" },
        { 0, OUT("\"permissionDecision\":\"deny\",\"updatedInput\":{}"), "", "deny: it says no", "deny: it says no" },
        { 0, OUT("\"additionalContext\":\"mind the gap\""), "", "open context<mind the gap>", "open context<mind the gap>" },
        { 0, "{\"systemMessage\":\"hello\",\"suppressOutput\":true}", "", "open message<hello>", "open message<hello>" },
        { 0, "{\"decision\":\"block\",\"reason\":\"why\"}", "", "deny: why", "deny: why" },
        { 0, "{\"decision\":\"approve\"}", "", "allow", "allow" },
        { 0, "{\"continue\":false,\"stopReason\":\"enough\"}", "", "stop: enough", "stop: enough" },
        { 0, "{\"continue\":false}", "", "stop: it ends everything", "stop: it ends everything" },
        { 0, "{\"continue\":true}", "", "open", "open" },
        { 0, "{\"continue\":false,\"hookSpecificOutput\":{\"permissionDecision\":\"allow\",\"updatedInput\":{}}}", "", "stop: it ends everything",
          "stop: it ends everything" },
    };

    exits("PreToolUse", ROWS(rows));
    exits("before", ROWS(rows));
}

PAWL_TEST(test_P5_after_the_tool_its_output_may_be_another)
{
    const exit_row rows[] = {
        { 0, OUT("\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":[1]"), "", "open result=[1]", "open result=[1]" },
        { 0, OUT("\"updatedToolOutput\":null"), "", "open result=null", "open result=null" },
        { 0, OUT("\"additionalContext\":\"c\""), "", "open context<c>", "open context<c>" },
        { 0, "{\"decision\":\"block\",\"reason\":\"why\"}", "", "deny: why", "open: why context<why>" },
        { 0, "{\"decision\":\"block\",\"reason\":\"why\",\"hookSpecificOutput\":{\"additionalContext\":\"c\"}}", "", "deny: why context<c>",
          "open: why context<c\nwhy>" },
        { 0, "{\"continue\":false,\"stopReason\":\"enough\"}", "", "stop: enough", "stop: enough" },
        { 2, "", "not like this\n", "deny: not like this", "open context<not like this>" },
        { 0, "{\"decision\":\"approve\"}", "", "deny: its \"decision\" is \"approve\", which does nothing at PostToolUse", "open" },
        { 0, OUT("\"permissionDecision\":\"deny\""), "", "deny: its \"permissionDecision\" does nothing at PostToolUse", "open" },
    };
    const exit_row failure[] = {
        { 0, OUT("\"hookEventName\":\"PostToolUseFailure\",\"additionalContext\":\"c\""), "", "open context<c>", "open context<c>" },
        { 0, OUT("\"updatedToolOutput\":1"), "", "deny: its \"updatedToolOutput\" does nothing at PostToolUseFailure", "open" },
    };

    exits("PostToolUse", ROWS(rows));
    exits("after", ROWS(rows));
    exits("PostToolUseFailure", ROWS(failure));
}

PAWL_TEST(test_P5_exit_2_denies_whatever_the_JSON_says)
{
    const exit_row rows[] = {
        { 2, "", "no\n", "deny: no", "deny: no" },
        { 2, "", "", "deny: exit 2, and nothing on stderr", "deny: exit 2, and nothing on stderr" },
        { 2, SAYS("allow"), "no", "deny: no", "deny: no" },
        { 2, SAYS("allow"), "", "deny: exit 2, and nothing on stderr", "deny: exit 2, and nothing on stderr" },
        { 2, SAYS("deny"), "", "deny: exit 2, and nothing on stderr", "deny: why" },
        { 2, "{\"continue\":false,\"stopReason\":\"enough\"}", "", "deny: exit 2, and nothing on stderr", "stop: enough" },
        { 2, OUT("\"updatedInput\":{}"), "no", "deny: no", "deny: no" },
        { 2, "{broken", "no", "deny: no", "deny: no" },
    };

    exits("PreToolUse", ROWS(rows));
    exits("before", ROWS(rows));
}

PAWL_TEST(test_P5_another_exit_denies_or_is_marked_open)
{
    const exit_row rows[] = {
        { 1, "", "", "deny: exit 1", "open!: exit 1" },
        { 1, "", "Traceback\nmore", "deny: exit 1: Traceback", "open!: exit 1: Traceback" },
        { 127, "", "sh: check: not found", "deny: exit 127: sh: check: not found", "open!: exit 127: sh: check: not found" },
        { 1, SAYS("allow"), "", "deny: exit 1", "allow: why" },
        { 1, SAYS("deny"), "", "deny: exit 1", "deny: why" },
        { 1, SAYS("ask"), "", "deny: exit 1", "ask: why" },
        { 3, OUT("\"updatedInput\":{}"), "", "deny: exit 3", "open input={}" },
        { 1, "{}", "", "deny: exit 1", "open!: exit 1" },
        { 1, "{\"systemMessage\":\"hm\"}", "", "deny: exit 1", "open!: exit 1 message<hm>" },
        { 1, "{\"continue\":false}", "", "deny: exit 1", "stop: it ends everything" },
        { 1, "{broken", "", "deny: exit 1", "open!: exit 1" },
        { -1, "", "", "deny: exit -1", "open!: exit -1" },
    };

    exits("PreToolUse", ROWS(rows));
}

PAWL_TEST(test_P5_garbage_denies_or_is_marked_open)
{
    const exit_row rows[] = {
        { 0, "{broken", "", "deny: its JSON: byte 1: unexpected character, expected a string for object key",
          "open!: its JSON: byte 1: unexpected character, expected a string for object key" },
        { 0, SAYS("deny") " and so on", "", "deny: its JSON: byte 115: unexpected content after document",
          "open!: its JSON: byte 115: unexpected content after document" },
        { 0, SAYS("allow") "\n" SAYS("deny"), "", "deny: it answers twice", "open!: it answers twice" },
        { 0, "{\"a\":\"}{\"}{}", "", "deny: it answers twice", "open!: it answers twice" },
        { 0, SAYS("alow"), "", "deny: its \"permissionDecision\" is \"alow\"", "open!: its \"permissionDecision\" is \"alow\"" },
        { 0, "{\"decision\":\"deny\"}", "", "deny: its \"decision\" is \"deny\"", "open!: its \"decision\" is \"deny\"" },
        { 0, "{\"decision\":true}", "", "deny: its \"decision\" is not a text", "open!: its \"decision\" is not a text" },
        { 0, "{\"continue\":\"false\"}", "", "deny: its \"continue\" is not true or false", "open!: its \"continue\" is not true or false" },
        { 0, OUT("\"updatedInput\":\"ls\""), "", "deny: its \"updatedInput\" is not an object", "open!: its \"updatedInput\" is not an object" },
        { 0, "{\"hookSpecificOutput\":null}", "", "deny: its \"hookSpecificOutput\" is not an object",
          "open!: its \"hookSpecificOutput\" is not an object" },
        { 0, OUT("\"hookEventName\":\"Stop\""), "", "deny: its \"hookEventName\" is \"Stop\", and this is PreToolUse",
          "open!: its \"hookEventName\" is \"Stop\", and this is PreToolUse" },
        { 0, "{\"descision\":\"block\"}", "", "deny: its JSON has a \"descision\" (did you mean \"decision\"?)", "open" },
        { 0, "{\"level\":\"info\"}", "", "deny: its JSON has a \"level\"", "open" },
        { 0, OUT("\"permission\":\"deny\""), "", "deny: its JSON has a \"permission\"", "open" },
        { 0, OUT("\"updatedToolOutput\":1"), "", "deny: its \"updatedToolOutput\" does nothing at PreToolUse", "open" },
        { 0, "welcome\n" SAYS("deny"), "", "deny: its answer in JSON stands behind other text", "open" },
        { 0, "\f" SAYS("deny"), "", "deny: its answer in JSON stands behind other text", "open" },
    };

    exits("PreToolUse", ROWS(rows));
}

PAWL_TEST(test_P5_an_answer_that_contradicts_itself_denies)
{
    const exit_row rows[] = {
        { 0, "{\"decision\":\"block\",\"reason\":\"a\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}", "",
          "deny: it answers twice: \"block\" and \"allow\"", "deny: a" },
        { 0, "{\"decision\":\"approve\",\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"b\"}}", "",
          "deny: it answers twice: \"approve\" and \"deny\"", "deny: b" },
        { 0, "{\"decision\":\"approve\",\"hookSpecificOutput\":{\"permissionDecision\":\"defer\"}}", "",
          "deny: it answers twice: \"approve\" and \"defer\"", "defer(verdict)" },
        { 0, "{\"decision\":\"approve\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}", "", "allow", "allow" },
        { 0, "{\"verdict\":\"proceed\",\"decision\":\"block\"}", "", "deny: it answers twice: \"verdict\" and \"decision\"",
          "open!: it answers twice: \"verdict\" and \"decision\"" },
        { 0, "{\"decision\":\"approve\",\"decision\":\"block\"}", "", "deny: its JSON: byte 22: key \"decision\" stands there twice",
          "open!: its JSON: byte 22: key \"decision\" stands there twice" },
    };

    exits("PreToolUse", ROWS(rows));
}

/* ---- what never got so far --------------------------------------------------------------------------------------- */

typedef struct receipt_row { const char *receipt, *strict, *claude; } receipt_row;

static void receipts(const receipt_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        comes(HOOK_STRICT, "PreToolUse", rows[i].receipt, rows[i].strict);
        comes(HOOK_CLAUDE, "PreToolUse", rows[i].receipt, rows[i].claude);
    }
}

PAWL_TEST(test_P5_hanging_missing_killed_and_cut)
{
    const receipt_row rows[] = {
        { "{\"failed\":\"timeout\",\"text\":\"check: ran longer than 5 s\"}", "deny: it failed with timeout: check: ran longer than 5 s",
          "open!: it failed with timeout: check: ran longer than 5 s" },
        { "{\"failed\":-2,\"text\":\"check: there is no such program\"}", "deny: it failed with invalid: check: there is no such program",
          "open!: it failed with invalid: check: there is no such program" },
        { "{\"failed\":true}", "deny: it failed", "open!: it failed" },
        { "{\"status\":0,\"signal\":9,\"stdout\":\"\",\"stderr\":\"\"}", "deny: it was killed by signal 9", "open!: it was killed by signal 9" },
        { "{\"status\":2,\"signal\":11,\"stdout\":\"\",\"stderr\":\"x\"}", "deny: it was killed by signal 11: x",
          "open!: it was killed by signal 11: x" },
        { "{\"status\":0,\"stdout\":\"fine\",\"stderr\":\"\",\"cut\":true}", "deny: its output is cut short", "open!: its output is cut short" },
        { "{\"status\":0,\"stdout\":\"\",\"stderr\":\"\",\"cut\":false}", "open", "open" },
        { "{\"status\":2,\"stdout\":\"\",\"stderr\":\"no\",\"cut\":true}", "deny: no", "deny: no" },
        { "{\"status\":0,\"stdout\":\"{\\\"decision\\\":\\\"approve\\\"}\",\"stderr\":\"\",\"cut\":true}", "deny: its output is cut short", "allow" },
        { "{\"status\":0,\"stdout_base64\":\"/w==\",\"stderr\":\"\"}", "deny: its output is no UTF-8", "open!: its output is no UTF-8" },
        { "{\"status\":1,\"stdout_base64\":\"/w==\",\"stderr_base64\":\"/w==\"}", "deny: exit 1", "open!: exit 1" },
    };

    receipts(ROWS(rows));
}

PAWL_TEST(test_P5_http_hooks)
{
    const receipt_row rows[] = {
        { "{\"status\":200,\"body\":\"\"}", "open", "open" },
        { "{\"status\":204,\"headers\":{},\"body\":\"\"}", "open", "open" },
        { "{\"status\":200,\"body\":\"thanks\"}", "open", "open" },
        { "{\"status\":200,\"body_json\":{\"decision\":\"block\",\"reason\":\"why\"}}", "deny: why", "deny: why" },
        { "{\"status\":200,\"body\":\"{\\\"decision\\\":\\\"block\\\"}\"}", "deny: it says no", "deny: it says no" },
        { "{\"status\":200,\"body_json\":[1]}", "deny: its JSON is no object", "open!: its JSON is no object" },
        { "{\"status\":200,\"body_json\":false}", "deny: its JSON is no object", "open!: its JSON is no object" },
        { "{\"status\":200,\"body\":\"{broken\"}", "deny: its JSON: byte 1: unexpected character, expected a string for object key",
          "open!: its JSON: byte 1: unexpected character, expected a string for object key" },
        { "{\"status\":200,\"body_json\":{\"decision\":1}}", "deny: its \"decision\" is not a text", "open!: its \"decision\" is not a text" },
        { "{\"status\":500,\"body_json\":{\"decision\":\"approve\"}}", "deny: HTTP status 500", "open!: HTTP status 500" },
        { "{\"status\":403,\"body\":\"\"}", "deny: HTTP status 403", "open!: HTTP status 403" },
        { "{\"status\":302,\"body\":\"\"}", "deny: HTTP status 302", "open!: HTTP status 302" },
        { "{\"status\":200,\"body_base64\":\"/w==\"}", "deny: its output is no UTF-8", "open!: its output is no UTF-8" },
        { "{\"status\":200,\"body\":\"x\",\"cut\":true}", "deny: its output is cut short", "open!: its output is cut short" },
        { "{\"failed\":\"io\",\"text\":\"http://h: refused\"}", "deny: it failed with io: http://h: refused",
          "open!: it failed with io: http://h: refused" },
    };

    receipts(ROWS(rows));
}

PAWL_TEST(test_P5_what_is_no_receipt_denies_under_both_profiles)
{
    static const char *const texts[] = { "null", "{}", "[]", "\"x\"", "{\"status\":0}", "{\"status\":\"0\",\"stdout\":\"\"}", "{\"stdout\":\"\"}",
                                         "{\"status\":1.0,\"body\":\"\"}", "{\"body\":\"\"}", "{\"status\":null,\"body\":\"\"}" };
    verdict v = { .reason = "as it was" };
    pawl_err err = { PAWL_OK, "" };
    arena mem;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        comes(HOOK_STRICT, "PreToolUse", texts[i], "deny: it gave no verdict");
        comes(HOOK_CLAUDE, "PostToolUse", texts[i], "deny: it gave no verdict");
    }
    arena_init(&mem, NULL, 1024);
    CHECK_INT(hook_verdict(&mem, HOOK_STRICT, "Setup", value_null(&mem), &v, &err), PAWL_INVALID);
    CHECK_STR(err.text, "hook: no event \"Setup\" here");
    CHECK_INT(hook_verdict(&mem, (hook_profile)3, "before", value_null(&mem), &v, NULL), PAWL_INVALID);
    CHECK_INT(hook_verdict(&mem, HOOK_STRICT, NULL, value_null(&mem), &v, NULL), PAWL_INVALID);
    CHECK_STR(v.reason, "as it was");
    CHECK_INT(hook_verdict(&mem, HOOK_STRICT, "before", NULL, &v, NULL), PAWL_OK);
    CHECK_INT(v.behavior, PAWL_BEHAVIOR_DENY);
    arena_free(&mem);
}

PAWL_TEST(test_P4_our_own_verdicts)
{
    const struct { const char *json, *before, *after; } rows[] = {
        { "{\"verdict\":\"proceed\"}", "open", "open" },
        { "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "open input={\"k\":1}", "deny: it modifies, and has no \"goto\"" },
        { "{\"verdict\":\"modify\",\"goto\":\"b\"}", "deny: it modifies, and has no \"args\"", "open go=[\"b\"]" },
        { "{\"verdict\":\"modify\",\"goto\":[\"b\",\"c\"]}", "deny: it modifies, and has no \"args\"", "open go=[\"b\",\"c\"]" },
        { "{\"verdict\":\"modify\",\"goto\":[\"b\",1]}", "deny: it modifies, and has no \"args\"",
          "deny: its \"goto\" is not a name, and no list of names" },
        { "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}", "open result={\"x\":1}", "open result={\"x\":1}" },
        { "{\"verdict\":\"replace\",\"writes\":{},\"goto\":\"b\"}", "open result={}", "open result={} go=[\"b\"]" },
        { "{\"verdict\":\"replace\"}", "deny: it replaces, and has neither a \"result\" nor \"writes\" that are an object",
          "deny: it replaces, and has neither a \"result\" nor \"writes\" that are an object" },
        { "{\"verdict\":\"deny\",\"reason\":\"why\"}", "deny: why", "deny: why" },
        { "{\"verdict\":\"deny\"}", "deny: it says no", "deny: it says no" },
        { "{\"verdict\":\"ask\",\"prompt\":\"may it?\",\"options\":[\"y\",\"n\"]}", "ask prompt=\"may it?\" options=[\"y\",\"n\"]",
          "ask prompt=\"may it?\" options=[\"y\",\"n\"]" },
        { "{\"verdict\":\"ask\",\"reason\":\"why\"}", "ask: why prompt=\"why\"", "ask: why prompt=\"why\"" },
        { "{\"verdict\":\"ask\",\"options\":[]}", "deny: its \"options\" are no list", "deny: its \"options\" are no list" },
        { "{\"verdict\":\"defer\"}", "defer(verdict)", "defer(verdict)" },
        { "{\"verdict\":\"defer\",\"name\":\"boss\"}", "defer(boss)", "defer(boss)" },
        { "{\"verdict\":\"defer\",\"name\":1}", "deny: its \"name\" is not a name", "deny: its \"name\" is not a name" },
        { "{\"verdict\":\"Proceed\"}", "deny: it gave no verdict", "deny: it gave no verdict" },
        { "{\"verdict\":null}", "deny: it gave no verdict", "deny: it gave no verdict" },
        { "{\"verdict\":\"deny\\u0000\"}", "deny: it gave no verdict", "deny: it gave no verdict" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int p = HOOK_STRICT; p <= HOOK_CLAUDE; p++) {
            comes((hook_profile)p, "before", rows[i].json, rows[i].before);
            comes((hook_profile)p, "after", rows[i].json, rows[i].after);
        }
    }
}

PAWL_TEST(test_P5_reasons_are_the_first_20_lines_and_10000_bytes)
{
    char text[30000] = "";
    size_t n = 0;
    arena mem;
    verdict v;

    arena_init(&mem, NULL, 4096);
    for (int i = 0; i < 30; i++) {
        text[n++] = (char)('a' + i % 26);
        text[n++] = '\n';
    }
    v = verdict_at(&mem, HOOK_STRICT, "before", exited(&mem, 2, "", text));
    CHECK_STR(v.reason, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt");
    memset(text, 'x', sizeof text - 1);
    text[HOOK_TEXT_BYTES - 1] = '\xC3';
    text[HOOK_TEXT_BYTES] = '\xA9';
    v = verdict_at(&mem, HOOK_STRICT, "before", exited(&mem, 2, "", text));
    CHECK_INT(strlen(v.reason), HOOK_TEXT_BYTES - 1);
    v = verdict_at(&mem, HOOK_STRICT, "before", exited(&mem, 1, "", text));
    CHECK(strlen(v.reason) < 252 && utf8_valid(v.reason, strlen(v.reason)));
    v = verdict_at(&mem, HOOK_STRICT, "before", value_pack(&mem, NULL, "{s:s,s:s}", "verdict", "deny", "reason", text));
    CHECK_INT(strlen(v.reason), HOOK_TEXT_BYTES - 1);
    arena_free(&mem);
}

/* ---- several ------------------------------------------------------------------------------------------------------- */

/* Merge the answers of `n` hooks at PreToolUse. */
static void merges(const char *const *answers, size_t n, const char *expected)
{
    verdict all = { .behavior = PAWL_BEHAVIOR_OPEN };
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    for (size_t i = 0; i < n; i++) {
        const pawl_value *receipt = answers[i][0] == '{' ? json_of(&mem, answers[i]) : exited(&mem, 1, "", answers[i]);
        const verdict one = verdict_at(&mem, HOOK_CLAUDE, "PreToolUse", receipt);

        CHECK_INT(hook_merge(&mem, &all, &one), PAWL_OK);
    }
    verdict_tell(&all, &b);
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
    arena_free(&mem);
}

#define MERGES(expected, ...) merges((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), expected)
#define HTTP(json) "{\"status\":200,\"body_json\":" json "}"
#define HTTP_SAYS(word, why) HTTP("{\"hookSpecificOutput\":{\"permissionDecision\":\"" word "\",\"permissionDecisionReason\":\"" why "\"}}")

PAWL_TEST(test_P5_deny_over_ask_over_allow_over_open)
{
    MERGES("allow: a", HTTP("{}"), HTTP_SAYS("allow", "a"), HTTP("{}"));
    MERGES("ask: b", HTTP_SAYS("allow", "a"), HTTP_SAYS("ask", "b"), HTTP_SAYS("allow", "c"), HTTP_SAYS("ask", "d"));
    MERGES("deny: c", HTTP_SAYS("ask", "b"), HTTP_SAYS("deny", "c"), HTTP_SAYS("deny", "d"), HTTP_SAYS("defer", "e"));
    MERGES("defer(verdict): e", HTTP_SAYS("ask", "b"), HTTP_SAYS("defer", "e"), HTTP_SAYS("ask", "f"));
    MERGES("stop: enough", HTTP_SAYS("deny", "c"), HTTP("{\"continue\":false,\"stopReason\":\"enough\"}"), HTTP_SAYS("deny", "d"));
    MERGES("allow!: a", "gone", HTTP_SAYS("allow", "a"));
    MERGES("open!: exit 1: gone", HTTP("{}"), "gone", "away");
    MERGES("ask: why prompt=\"why\"", "{\"verdict\":\"proceed\"}", "{\"verdict\":\"ask\",\"reason\":\"why\"}",
           "{\"verdict\":\"ask\",\"prompt\":\"other\"}");
    MERGES("allow: a context<c\nd> message<m>", HTTP("{\"hookSpecificOutput\":{\"additionalContext\":\"c\"}}"), HTTP_SAYS("allow", "a"),
           HTTP("{\"systemMessage\":\"m\",\"hookSpecificOutput\":{\"additionalContext\":\"d\"}}"));
}

PAWL_TEST(test_P4_the_last_rewrite_stands_and_a_deny_beats_it)
{
    MERGES("open input={\"k\":2}", "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "{\"verdict\":\"modify\",\"args\":{\"k\":2}}", HTTP("{}"));
    MERGES("open result={\"x\":2}", "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}", "{\"verdict\":\"replace\",\"writes\":{\"x\":2}}");
    MERGES("deny: no", "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}",
           "{\"verdict\":\"deny\",\"reason\":\"no\"}");
    MERGES("deny: no", "{\"verdict\":\"deny\",\"reason\":\"no\"}", "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "{\"verdict\":\"defer\"}",
           "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}");
    MERGES("ask: why input={\"k\":1} prompt=\"why\"", "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "{\"verdict\":\"ask\",\"reason\":\"why\"}");
}

/* One of everything that a hook can come to. */
static const char *const all_sorts[] = {
    "{\"verdict\":\"proceed\"}", "{\"verdict\":\"modify\",\"args\":{\"k\":1}}", "{\"verdict\":\"replace\",\"writes\":{\"x\":1}}",
    "{\"verdict\":\"deny\",\"reason\":\"r\"}", "{\"verdict\":\"ask\",\"reason\":\"s\"}", "{\"verdict\":\"defer\"}", HTTP_SAYS("allow", "t"),
    HTTP("{\"continue\":false}"), HTTP("{\"hookSpecificOutput\":{\"additionalContext\":\"c\"}}"), "{\"failed\":\"timeout\",\"text\":\"t\"}",
    "{\"status\":500,\"body\":\"\"}", HTTP_SAYS("ask", "u"),
};
enum { SORTS = sizeof all_sorts / sizeof *all_sorts };

static void merge_all(arena *mem, const verdict *some, const size_t *order, size_t n, verdict *all)
{
    *all = (verdict){ .behavior = PAWL_BEHAVIOR_OPEN };
    for (size_t i = 0; i < n; i++) {
        const verdict before = *all;

        CHECK_INT(hook_merge(mem, all, &some[order[i]]), PAWL_OK);
        CHECK(all->behavior >= before.behavior && all->behavior >= some[order[i]].behavior);
        CHECK(all->behavior == before.behavior || all->behavior == some[order[i]].behavior || all->stops);
        CHECK(all->stops >= before.stops && all->open >= before.open && (!all->stops || all->behavior == PAWL_BEHAVIOR_DENY));
        CHECK(before.behavior != PAWL_BEHAVIOR_DENY || (all->behavior == PAWL_BEHAVIOR_DENY && all->input == NULL && all->result == NULL && all->go == NULL));
    }
}

PAWL_TEST(test_P5_deny_is_monotone_and_the_order_changes_no_decision)
{
    verdict some[2 * SORTS], first, other;
    size_t order[8];
    arena mem;

    for (int round = 0; round < 4000; round++) {
        const size_t n = 1 + (size_t)check_rand_below(8);

        arena_init(&mem, NULL, 8192);
        for (size_t i = 0; i < 2 * SORTS; i++)
            some[i] = verdict_at(&mem, i < SORTS ? HOOK_STRICT : HOOK_CLAUDE, "before", json_of(&mem, all_sorts[i % SORTS]));
        for (size_t i = 0; i < n; i++)
            order[i] = (size_t)check_rand_below(2 * SORTS);
        merge_all(&mem, some, order, n, &first);
        for (size_t i = n; i > 1; i--) {
            const size_t j = (size_t)check_rand_below(i), o = order[i - 1];

            order[i - 1] = order[j];
            order[j] = o;
        }
        merge_all(&mem, some, order, n, &other);
        if (first.behavior != other.behavior || first.defers != other.defers || first.stops != other.stops || first.open != other.open ||
            (first.input == NULL) != (other.input == NULL) || (first.result == NULL) != (other.result == NULL) ||
            (first.reason == NULL) != (other.reason == NULL) || (first.context == NULL) != (other.context == NULL))
            CHECK_FAIL("--seed %llu: the order counts", (unsigned long long)check_seed());
        arena_free(&mem);
    }
}

PAWL_TEST(test_P5_a_rewrite_to_something_denied_is_denied_by_whoever_sees_it)
{
    verdict all = { .behavior = PAWL_BEHAVIOR_OPEN }, one;
    const pawl_value *input;
    arena mem;

    /* the first rewrites; the second is told the new input, and denies it: the rewrite is gone with it */
    arena_init(&mem, NULL, 4096);
    input = json_of(&mem, "{\"command\":\"ls\"}");
    for (int i = 0; i < 2; i++) {
        const hook_call c = { .point = HOOK_PRE, .tool = "Bash", .input = all.input != NULL ? all.input : input, .duration_ms = -1 };
        const pawl_value *told = hook_input(&mem, &c);
        const bool bad = pawl_value_equal(pawl_value_find(told, "/tool_input/command"), json_of(&mem, "\"rm -rf /\""));

        CHECK_INT(bad, i);
        one = verdict_at(&mem, HOOK_STRICT, "before",
                         bad ? exited(&mem, 2, "", "not that") : exited(&mem, 0, OUT("\"updatedInput\":{\"command\":\"rm -rf /\"}"), ""));
        CHECK_INT(hook_merge(&mem, &all, &one), PAWL_OK);
    }
    CHECK_INT(all.behavior, PAWL_BEHAVIOR_DENY);
    CHECK_STR(all.reason, "not that");
    CHECK(all.input == NULL);
    arena_free(&mem);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_P5_without_memory_there_is_no_verdict)
{
    static const char *const answers[] = {
        "{\"status\":0,\"stdout\":\"{\\\"decision\\\":\\\"block\\\",\\\"reason\\\":\\\"why\\\",\\\"systemMessage\\\":\\\"m\\\"}\",\"stderr\":\"\"}",
        "{\"status\":1,\"stdout\":\"{\\\"systemMessage\\\":\\\"m\\\"}\",\"stderr\":\"long enough\"}",
        "{\"status\":2,\"stdout\":\"\",\"stderr\":\"x\"}",
        "{\"failed\":\"timeout\",\"text\":\"t\"}", "{\"verdict\":\"modify\",\"goto\":\"b\"}", "{\"status\":0,\"stdout\":\"{x\",\"stderr\":\"\"}",
        "{\"status\":200,\"body_json\":{\"hookSpecificOutput\":{\"additionalContext\":\"c\",\"x\":1}}}", "{\"verdict\":\"defer\",\"name\":\"n\"}",
    };
    arena fixed;

    arena_init(&fixed, NULL, 4096);
    for (size_t i = 0; i < 2 * sizeof answers / sizeof *answers; i++) {
        const pawl_value *receipt = json_of(&fixed, answers[i / 2]);
        const hook_profile profile = i % 2 == 0 ? HOOK_STRICT : HOOK_CLAUDE;
        const pawl_value *none = NULL;
        heap h;
        pawl_alloc alloc;

        heap_init(&h);
        alloc = heap_alloc(&h);
        for (size_t n = 0;; n++) {
            verdict v = { .reason = "as it was" }, all = { .context = "c" }, one = { .context = "d" };
            pawl_code rc, merged;
            arena mem;

            arena_init(&mem, &alloc, 64);
            heap_fail_at(&h, n);
            rc = hook_verdict(&mem, profile, "after", receipt, &v, NULL);
            merged = hook_merge(&mem, &all, &one);
            none = hook_input(&mem, &(hook_call){ .point = HOOK_POST, .run = "r", .tool = "Bash", .response = receipt, .duration_ms = 7 });
            CHECK(rc == PAWL_OK || (rc == PAWL_NOMEM && h.fired));
            CHECK((rc == PAWL_NOMEM) == (v.reason != NULL && strcmp(v.reason, "as it was") == 0));
            CHECK_STR(all.context, merged == PAWL_OK ? "c\nd" : "c");
            CHECK(none != NULL || h.fired);
            arena_free(&mem);
            heap_check(&h);
            if (!h.fired)
                break;
        }
    }
    arena_free(&fixed);
}

/* ---- what a hook is told ----------------------------------------------------------------------------------------------- */

static void told(const hook_call *c, const char *expected)
{
    arena mem;
    buf b;

    arena_init(&mem, NULL, 1024);
    buf_init(&b, NULL);
    canon(&b, hook_input(&mem, c));
    buf_char(&b, '\0');
    CHECK_STR(b.data, expected);
    buf_free(&b);
    arena_free(&mem);
}

/* ---- in the life of an agent --------------------------------------------------------------------------------- */

PAWL_TEST(test_P5_exits_at_moments_of_an_agents_life)
{
    static const char *const deny[] = { "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact" };
    static const char *const tell[] = { "SessionStart", "SessionEnd", "PostAssistantResponse", "Notification" };
    const exit_row both[] = {
        { 0, "", "", "open", "open" }, { 1, "", "why", "deny: exit 1: why", "open!: exit 1: why" },
        { 0, "{", "", "deny: its JSON: byte 1: unexpected end of data",
          "open!: its JSON: byte 1: unexpected end of data" },
        { 0, "{\"systemMessage\":\"hm\",\"suppressOutput\":true}", "", "open message<hm>", "open message<hm>" },
    };
    const exit_row denies[] = {
        { 2, "", "why", "deny: why", "deny: why" }, { 2, "", "", "deny: exit 2, and nothing on stderr", "deny: exit 2, and nothing on stderr" },
        { 0, "{\"decision\":\"block\",\"reason\":\"why\"}", "", "deny: why", "deny: why" },
        { 0, "{\"verdict\":\"deny\",\"reason\":\"why\"}", "", "deny: why", "deny: why" },
        { 0, "{\"continue\":false,\"stopReason\":\"why\"}", "", "stop: why", "stop: why" },
    };
    const exit_row tells[] = { { 2, "", "why", "deny: why", "open message<why>" } };

    for (size_t i = 0; i < 4; i++) {
        exits(deny[i], ROWS(both));
        exits(deny[i], ROWS(denies));
        exits(tell[i], ROWS(both));
        exits(tell[i], ROWS(tells));
    }
}

/* What would do nothing is not let pass by the strict profile, and is left out by the other. */
PAWL_TEST(test_P5_what_does_nothing_at_a_moment_is_told)
{
    const struct { const char *point, *out, *strict, *claude; } rows[] = {
        { "SessionStart", "{\"decision\":\"block\"}", "deny: its \"decision\" does nothing at SessionStart", "open" },
        { "Notification", "{\"continue\":false}", "deny: its \"continue\" does nothing at Notification", "open" },
        { "PostAssistantResponse", "{\"continue\":false,\"stopReason\":\"why\"}", "stop: why", "stop: why" },
        { "Stop", OUT("\"hookEventName\":\"Stop\",\"permissionDecision\":\"allow\""), "deny: its \"permissionDecision\" does nothing at Stop", "open" },
        { "Stop", OUT("\"hookEventName\":\"PreToolUse\""), "deny: its \"hookEventName\" is \"PreToolUse\", and this is Stop",
          "open!: its \"hookEventName\" is \"PreToolUse\", and this is Stop" },
        { "Stop", "{\"decision\":\"approve\"}", "deny: its \"decision\" is \"approve\", which does nothing at Stop", "open" },
        { "Stop", "{\"verdict\":\"ask\"}", "deny: its \"verdict\" is \"ask\", which does nothing at Stop",
          "open!: its \"verdict\" is \"ask\", which does nothing at Stop" },
        { "SessionEnd", "{\"verdict\":\"deny\"}", "deny: its \"verdict\" is \"deny\", which does nothing at SessionEnd",
          "open!: its \"verdict\" is \"deny\", which does nothing at SessionEnd" },
        { "UserPromptSubmit", "{\"verdict\":\"modify\",\"args\":{\"prompt\":\"two\"}}", "open input={\"prompt\":\"two\"}", "open input={\"prompt\":\"two\"}" },
        { "UserPromptSubmit", "{\"verdict\":\"modify\",\"args\":{\"prompt\":\"\"}}",
          "deny: it modifies, and its \"args\" have no \"prompt\", which is a text, not empty",
          "open!: it modifies, and its \"args\" have no \"prompt\", which is a text, not empty" },
        { "Stop", "{\"verdict\":\"modify\",\"args\":{\"prompt\":\"two\"}}", "deny: its \"verdict\" is \"modify\", which does nothing at Stop",
          "open!: its \"verdict\" is \"modify\", which does nothing at Stop" },
        { "UserPromptSubmit", OUT("\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"it rains\""), "open context<it rains>",
          "open context<it rains>" },
        { "Stop", OUT("\"hookEventName\":\"Stop\",\"additionalContext\":\"it rains\""), "deny: its \"additionalContext\" does nothing at Stop", "open" },
        { "UserPromptSubmit", "it rains", "open", "open context<it rains>" }, { "SessionStart", " it rains", "open", "open context<it rains>" },
        { "Stop", "it rains", "open", "open" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        exits(rows[i].point, &(exit_row){ 0, rows[i].out, "", rows[i].strict, rows[i].claude }, 1);
}

PAWL_TEST(test_P4_what_hooks_are_told)
{
    hook_call c = { .point = HOOK_PRE, .run = "essay-1", .node = "draft", .cwd = "/work", .mode = "acceptEdits", .tool = "Bash", .tool_use_id = "t1",
                    .error = "why", .duration_ms = 12 };
    arena mem;

    arena_init(&mem, NULL, 1024);
    c.input = json_of(&mem, "{\"command\":\"ls\"}");
    c.response = json_of(&mem, "\"a b\"");
    told(&c, "{\"cwd\":\"/work\",\"hook_event_name\":\"PreToolUse\",\"node\":\"draft\",\"permission_mode\":\"acceptEdits\",\"run\":\"essay-1\","
             "\"session_id\":\"essay-1\",\"tool_input\":{\"command\":\"ls\"},\"tool_name\":\"Bash\",\"tool_use_id\":\"t1\"}");
    c.point = HOOK_POST;
    told(&c, "{\"cwd\":\"/work\",\"duration_ms\":12,\"hook_event_name\":\"PostToolUse\",\"node\":\"draft\",\"permission_mode\":\"acceptEdits\","
             "\"run\":\"essay-1\",\"session_id\":\"essay-1\",\"tool_input\":{\"command\":\"ls\"},\"tool_name\":\"Bash\",\"tool_response\":\"a b\","
             "\"tool_use_id\":\"t1\"}");
    told(&(hook_call){ .point = HOOK_POST_FAILURE, .run = "r", .error = "why", .duration_ms = -1 },
         "{\"error\":\"why\",\"hook_event_name\":\"PostToolUseFailure\",\"run\":\"r\",\"session_id\":\"r\",\"tool_input\":{}}");
    told(&(hook_call){ .point = HOOK_STOP, .run = "r", .mode = "plan", .moment = json_of(&mem, "{\"stop_hook_active\":false}"), .duration_ms = -1 },
         "{\"hook_event_name\":\"Stop\",\"permission_mode\":\"plan\",\"run\":\"r\",\"session_id\":\"r\",\"stop_hook_active\":false}");
    CHECK(hook_input(&mem, &(hook_call){ .run = "r" }) == NULL);
    CHECK(hook_input(&mem, &(hook_call){ .point = HOOK_PRE, .run = "\xFF" }) == NULL);
    arena_free(&mem);
}
