/* path_test.c - expressions: which are paths, what paths lead to, and what is refused of jq's. */
#include "file/read.h"
#include "file/reading.h"

#include <stdio.h>

/* ---- paths ------------------------------------------------------------------------------------------------ */

/* The steps that `text` is taken apart into, or "jq". */
static void is_path(const char *text, const char *expected)
{
    bench *b = bench_new();
    expression e;
    bool good = expression_read(&e, &b->mem, text, (source_place){ "f", 3, 7 }, &b->f);

    CHECK_STR(told(b), "");
    CHECK(good);
    buf_reset(&b->out);
    for (size_t i = 0; i < e.nsteps; i++)
        if (e.steps[i].key != NULL)
            buf_fmt(&b->out, "/%s", e.steps[i].key);
        else
            buf_fmt(&b->out, "[%lld]", (long long)e.steps[i].index);
    if (!e.path)
        buf_text(&b->out, "jq");
    buf_char(&b->out, '\0');
    CHECK_STR(b->out.data, expected);
    CHECK(e.path || e.nsteps == 0);
    bench_free(b);
}

PAWL_TEST(test_plain_paths_are_taken_apart)
{
    is_path(".", "");
    is_path(".a", "/a");
    is_path(".a.b_2.C", "/a/b_2/C");
    is_path(".a[\"odd key\"]", "/a/odd key");
    is_path(".[\"x\"].y", "/x/y");
    is_path(".[\"\\u00e9\\\"]\"]", "/\xC3\xA9\"]");
    is_path(".[0]", "[0]");
    is_path(".a[0][-1].b", "/a[0][-1]/b");
    is_path(" \t.a[ 007 ]\n", "/a[7]");
    is_path(".if.end.now.env", "/if/end/now/env");
    is_path(".[\"\"]", "/");
}

PAWL_TEST(test_all_else_is_jq)
{
    static const char *const texts[] = { ".a.\"b\"", ".a | length", "..", ".a?", ".[]", ".a[]", ".a.[0]", ".a [0]", ". a", ".a-1", "a", "1", "\"x\"",
                                         ".a[1.5]", ".a[1e3]", ".a[- 1]", ".[99999999999999999999.0]", ".[\"a\\u0000b\"]", ".[\"\\(.x)\"]", ".a.",
                                         ".a[0:2]", ".\xC3\xA9", ".a # why", ".[\"a\nb\"]", ".a[.b]", "[.a]", "$x", "reduce .[] as $x (0; . + $x)" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        is_path(texts[i], "jq");
}

static void leads(const char *text, const char *root, const char *expected)
{
    bench *b = bench_new();
    pawl_err err = { PAWL_OK, "" };
    expression e;
    const pawl_value *v;

    CHECK(expression_read(&e, &b->mem, text, (source_place){ "f", 1, 1 }, &b->f) && e.path);
    v = path_follow(&e, value_parse(&b->mem, root, strlen(root), "root", NULL), &err);
    CHECK(v != NULL || err.code == PAWL_INVALID);
    buf_reset(&b->out);
    if (v != NULL)
        canon(&b->out, v);
    buf_text(&b->out, err.text);
    buf_char(&b->out, '\0');
    CHECK_STR(b->out.data, expected);
    bench_free(b);
}

PAWL_TEST(test_paths_lead_where_jq_says)
{
    static const char *const root = "{\"a\":{\"b\":[10,20,[30]],\"s\":\"text\",\"t\":true,\"n\":null},\"odd key\":9007199254740993}";

    leads(".", "[1]", "[1]");
    leads(".a.b[0]", root, "10");
    leads(".a.b[-1][0]", root, "30");
    leads(".[\"odd key\"]", root, "9007199254740993");
    leads(".x", root, "null");
    leads(".x.y[3].z", root, "null");
    leads(".a.n.x", root, "null");
    leads(".a.b[3]", root, "null");
    leads(".a.b[-4]", root, "null");
    leads(".a.b[-3]", root, "10");
    leads(".a", "null", "null");
    leads(".[0]", "null", "null");
    leads(".a.s.b", root, "`.a.s`: its value is a string and has no member \"b\"");
    leads(".a.b.c", root, "`.a.b`: its value is a list and has no member \"c\"");
    leads(".a[0]", root, "`.a`: its value is an object and has no element 0");
    leads(".a.b[1][-1]", root, "`.a.b[1]`: its value is a number and has no element -1");
    leads(".a.t[\"x y\"]", root, "`.a.t`: its value is a boolean and has no member \"x y\"");
    leads(".[\"odd key\"].b.c", root, "`.[\"odd key\"]`: its value is a number and has no member \"b\"");
    leads(".[0]", "\"x\"", "`.`: its value is a string and has no element 0");
    leads(".[0].a", "[1]", "`.[0]`: its value is a number and has no member \"a\"");
}

PAWL_TEST(test_what_is_not_given_leads_nowhere)
{
    bench *b = bench_new();
    expression e;

    CHECK(expression_read(&e, &b->mem, ".a", (source_place){ "f", 1, 1 }, &b->f));
    CHECK(path_follow(&e, NULL, NULL) == NULL);
    bench_free(b);
}

/* ---- jq's, looked over ------------------------------------------------------------------------------------------- */

static void wrong(const char *text, const char *expected)
{
    bench *b = bench_new();
    expression e;

    CHECK(!expression_read(&e, &b->mem, text, (source_place){ "f", 3, 7 }, &b->f));
    CHECK_STR(told(b), expected);
    bench_free(b);
}

static void fine(const char *text)
{
    is_path(text, "jq");
}

PAWL_TEST(test_what_names_the_world_is_refused)
{
    static const char *const texts[] = { "now", "localtime", "strflocaltime", "env", "$ENV", "input", "inputs", "input_filename", "input_line_number",
                                         "$__prog_args", "$__loc__", "debug", "stderr", "halt", "halt_error", "import", "include", "modulemeta",
                                         "get_search_list", "get_prog_origin", "get_jq_origin" };
    char head[128];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bench *b = bench_new();
        expression e;

        buf_fmt(&b->out, "1 | %s(.a)%c", texts[i], '\0');
        CHECK(!expression_read(&e, &b->mem, b->out.data, (source_place){ "f", 3, 7 }, &b->f));
        CHECK_STR(b->f.first->kind, "expression");
        CHECK_INT(b->f.first->at.column, 11);
        snprintf(head, sizeof head, "`%s` is refused, for an expression depends on the state alone: ", texts[i]);
        CHECK(strncmp(b->f.first->text, head, strlen(head)) == 0);
        bench_free(b);
    }
    wrong("[.a, now]", "3:12 expression: `now` is refused, for an expression depends on the state alone: a node tells the time, such as "
                       "`run: [date, +%s]`\n");
}

static void refuses(const char *text, const char *name, uint32_t column)
{
    bench *b = bench_new();
    expression e;
    char head[64];

    snprintf(head, sizeof head, "`%s` is refused", name);
    CHECK(!expression_read(&e, &b->mem, text, (source_place){ "f", 1, 1 }, &b->f));
    CHECK(b->f.first != NULL && b->f.first->next == NULL);
    if (strncmp(b->f.first->text, head, strlen(head)) != 0 || b->f.first->at.column != column)
        CHECK_FAIL("%s: column %u: %s", text, (unsigned)b->f.first->at.column, b->f.first->text);
    bench_free(b);
}

PAWL_TEST(test_integers_that_jq_would_change_are_refused)
{
    static const char *const fines[] = { ".n == 9007199254740992", "[0009007199254740992, 1]", "9007199254740993.0 | .", "1e17 | .",
                                         ". + .00000000000000000001",
                                         "\"9007199254740993\" | .", "[.a9007199254740993]", "{b: .x12345678901234567890}", "1.12345678901234567890 | .",
                                         "1 # 9007199254740993" };
    static const char rest[] = ": an integer beyond 2^53, which jq would change: write it as a text, or as a real number such as 1e17\n";
    char due[256];

    for (size_t i = 0; i < sizeof fines / sizeof *fines; i++)
        fine(fines[i]);
    snprintf(due, sizeof due, "3:14 expression%s", rest);
    wrong("[.n == 9007199254740993]", due);
    snprintf(due, sizeof due, "3:12 expression%s", rest);
    wrong(".a[- 99999999999999999999]", due);
    wrong("[1 - 000010000000000000000]", due);
    wrong("\"a \\(9007199254740993)\"", due);
}

PAWL_TEST(test_they_are_refused_wherever_jq_would_call_them)
{
    refuses("{(now): 1}", "now", 3);
    refuses("{a: 1, b: now, c}", "now", 11);
    refuses("{\"a\": now}", "now", 7);
    refuses("{a: if . then 1, now, 2 else 3 end}", "now", 18);
    refuses("\"a\\(now)\"", "now", 5);
    refuses("\"a\\(\"b\\(\"}\" | env)\")\"", "env", 15);
    refuses("$ ENV", "$ENV", 1);
    refuses("{$ENV}", "$ENV", 2);
    refuses("{a: 1 | input}", "input", 9);
    refuses("1.now", "now", 3);
    refuses("..now", "now", 3);
    refuses("1e3|now", "now", 5);
    refuses("def f: now; f", "now", 8);
    refuses(". as {a: $x} | now", "now", 16);
    refuses("@base64 \"\\(now)\"", "now", 12);
    refuses("\xC3\xA9 | now", "now", 5);
}

PAWL_TEST(test_names_that_are_no_calls_are_fine)
{
    fine(".a | .now");
    fine("{now: 1, env: .input, input, debug}");
    fine("{now : 1}");
    fine("{now}");
    fine("$now | .");
    fine("\"now\" + \"\\\\(now)\"");
    fine(". as {now: $x} | $x");
    fine("{if: 1, end: 2}.end");
    fine("nowhere + snow + now_2");
    fine("# now\n.a");
    fine("{a: 1.5e3, b: .5}");
    fine("m::now");
}

PAWL_TEST(test_brackets_and_quotes_close)
{
    fine("if .a then {b: [1, (2)]} else \"\\(if .c then \"}\" else \"]\" end)\" end");
    fine("\"a\\\"(\" | test(\"[\")");
    wrong("(", "3:7 expression: `(` has no `)` that closes it\n");
    wrong(".a | [1, (2]", "3:18 expression: `]` stands where the `)` that closes the last `(` is due\n");
    wrong("1) | (2", "3:8 expression: `)` closes nothing\n");
    wrong("{a: 1}}", "3:13 expression: `}` closes nothing\n");
    wrong("\"abc", "3:7 expression: `\"` has no `\"` that closes it\n");
    wrong("\"a\\(1\"", "3:12 expression: `\"` has no `\"` that closes it\n");
    wrong("\"a\\(1]\"", "3:12 expression: `]` stands where the `)` that closes the last `(` is due\n");
    wrong("if . then 1", "3:7 expression: `if` has no `end` that closes it\n");
    wrong("(if . then 1)", "3:19 expression: `)` stands where the `end` that closes the last `if` is due\n");
    wrong("1 end", "3:9 expression: `end` closes nothing\n");
    wrong("\"\\", "3:7 expression: `\"` has no `\"` that closes it\n");
}

PAWL_TEST(test_a_comment_ends_before_what_comes_behind)
{
    bench *b = bench_new();
    expression e;

    CHECK(expression_read(&e, &b->mem, " .a|1 # )) now \" \n ", (source_place){ "f", 3, 7 }, &b->f));
    CHECK_STR(e.text, ".a|1 # )) now \"\n");
    CHECK_INT(e.at.column, 8);
    CHECK(expression_read(&e, &b->mem, "# a\n.a|1", (source_place){ "f", 3, 7 }, &b->f));
    CHECK_STR(e.text, "# a\n.a|1");
    bench_free(b);
    /* what versions of jq disagree on */
    wrong(".a # x\\\n| now", "3:13 expression: a comment that ends in a backslash: remove it\n");
    wrong(".a # x\r| now", "3:13 expression: a CR in a comment: end its line with a newline alone\n");
    wrong(".a |\r 1", "3:11 expression: a control character (0x0D) stands here: remove it\n");
}

PAWL_TEST(test_an_expression_says_something)
{
    const char *expected = "3:7 expression: an expression is missing here: `.` is the whole state, `.name` one channel of it\n";

    wrong("", expected);
    wrong("# nothing", expected);
    wrong("\n", expected);
}

/* In the first line the place is exact, further down it is where the expression begins. */
PAWL_TEST(test_the_place_is_as_exact_as_is_known)
{
    bench *b = bench_new();
    const char *text = "a: .x | now\nb: '.x | now'\nc: \"\\u002Ex | now\"\nd: |\n  .x |\n  now\n";
    const doc *d = read_text(b, text, strlen(text));
    expression e;

    CHECK(d != NULL);
    for (size_t i = 0; i < d->size; i++)
        CHECK(!expression_of(&e, &b->mem, d->items[i], &b->f));
    CHECK_INT(b->f.count, 4);
    CHECK_INT(b->f.first->at.column, 9);
    CHECK_INT(b->f.first->next->at.column, 10);
    CHECK_INT(b->f.first->next->next->at.column, 4);
    CHECK_INT(b->f.first->next->next->next->at.line, 4);
    CHECK_INT(b->f.first->next->next->next->at.column, 4);
    bench_free(b);
}

PAWL_TEST(test_brackets_in_one_another_have_a_limit)
{
    char text[402];

    memset(text, '[', 201);
    memset(text + 201, ']', 200);
    text[401] = '\0';
    fine(text + 1);
    wrong(text, "3:207 expression: more than 200 brackets in one another\n");
}

PAWL_TEST(test_every_allocation_may_fail)
{
    static const char *const texts[] = { " .a.b[0].c.d[\"x\\n\"].e.f", ".a | length # x", "1)", "now" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool fired = true;

        for (size_t n = 0; fired; n++) {
            bench *b = bench_new();
            expression e;
            bool good;

            b->mem.chunk_bytes = 16;
            heap_fail_at(&b->h, n);
            good = expression_read(&e, &b->mem, texts[i], (source_place){ "f", 1, 1 }, &b->f);
            fired = b->h.fired;
            CHECK(!fired || (!good && b->mem.failed));
            CHECK(fired || good == (i < 2));
            bench_free(b);
        }
    }
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

static bool add_name(void *ctx, const char *name, size_t size)
{
    buf *out = ctx;

    buf_char(out, ' ');
    buf_put(out, name, size);
    return true;
}

PAWL_TEST(test_an_expression_is_sent_what_it_reads)
{
    static const struct { const char *text, *reads; } all[] = {
        { ".a + 1", " a" }, { ".a.b.c", " a" }, { ".a .b", " a" }, { ".a[.b].c[1:.d]", " a b d" }, { ".a | .b, length", " a" }, { ".a, .b | .c", " a b" },
        { "(.a | .b) + .c", " a c" }, { "[.a[] | select(.b > 1) | . + 1] | length", " a" }, { "{a, b: .c | .d, e: 1, \"f\": .g}", " a c g" },
        { "\"x\\(.a | .b)\\(.c)\"", " a c" }, { "if .a | not then .b | .c elif .d then 1 else \"\\(.e)\" end", " a b d e" },
        { ".a // .b?", " a b" }, { ".a == 1 and .b >= 2 or .c != .d", " a b c d" }, { "[range(.a; .b)] | first(.[])", " a b" },
        { "try error(.a) catch .b", " a b" }, { "1.5 + .5", "" }, { "\"\\\"(.a)\"", "" }, { ".a | reduce .[] as $x (0; . + $x)", " a" },
        { ".a | .b |= 1 | to_entries | ..", " a" }, { "[.a | if . then .b else .c end, .d]", " a" }, { ".end.now", " end" },
        /* may be all of it */
        { ".", NULL }, { "..", NULL }, { ".[\"a\"]", NULL }, { ".[]", NULL }, { ".a |= 1", NULL }, { ".a = 1", NULL }, { ".a += 1", NULL },
        { ".a //= 1", NULL },
        { "length", NULL }, { "keys", NULL }, { ".a as $x | .b", NULL }, { "def f: .b; f", NULL }, { "reduce .a[] as $x (0; . + $x)", NULL },
        { "{a, (keys[0]): 1}", NULL }, { "{\"a\"}", NULL }, { "@json", NULL }, { "\"\\(.)\"", NULL }, { ".a + (. | length)", NULL }, { "first", NULL },
        { "if .a then . else .b end", NULL }, { ".a # why", NULL }, { "[.a | .b] | del(.c), $__loc__", " a" }, { "(.a | .b); .", NULL },
    };
    bench *b = bench_new();

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        buf_reset(&b->out);
        if (jq_reads(all[i].text, add_name, &b->out) != (all[i].reads != NULL))
            CHECK_FAIL("%s", all[i].text);
        buf_char(&b->out, '\0');
        if (all[i].reads != NULL)
            CHECK_STR(b->out.data, all[i].reads);
    }
    bench_free(b);
}
