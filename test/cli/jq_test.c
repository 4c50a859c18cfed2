/* jq_test.c - expressions by libjq: what they give, what is wrong with them, and what they cannot do to us. This program is the
 * child as well. */
#include "asking.h"
#include "file/read.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- what they give --------------------------------------------------------------------------------- */

PAWL_TEST(test_values_of_every_type)
{
    static const row all[] = {
        { ".", "null", "[null]" },
        { ".|not", "true", "[false]" },
        { ".a + 1", "{\"a\":2}", "[3]" },
        { ". + 0", "3.0", "[3]" },
        { ". / 2", "3", "[1.5]" },
        { "0.1 + 0.2", "0", "[0.30000000000000004]" },
        { "1e1000", "0", "[1.7976931348623157e+308]" },
        { "[nan]", "0", "[[null]]" },
        { ".", "9007199254740992", "[9007199254740992]" },
        { ".", "-9007199254740992", "[-9007199254740992]" },
        { ".a", "{\"a\":\"\\u0000\\u00e9\\\"\\\\\"}", "[\"\\u0000\xC3\xA9\\\"\\\\\"]" },
        { "[.[] | . * 2]", "[1,2]", "[[2,4]]" },
        { "{b: 1, a: .x}", "{\"x\":{}}", "[{\"b\":1,\"a\":{}}]" },
        { ".facts | map(split(\" \")[0] | tonumber) | add", "{\"facts\":[\"3 a.c\",\"4 b.c\"]}", "[7]" },
        { "\"x\\(.n)\\(\"y\\(.n)\")\"", "{\"n\":1}", "[\"x1y1\"]" },
        { "@sh \"echo \\(.)\"", "\"it's\"", "[\"echo 'it'\\\\''s'\"]" },
        { "@sh", "\"a b\"", "[\"'a b'\"]" },
        { "[limit(3; repeat(1))]", "0", "[[1,1,1]]" },
        { "label $f | 1, break $f", "0", "[1]" },
        { "getpath([\"a\"])", "{\"a\":5}", "[5]" },
        { "ltrimstr(\"a\")", "\"abc\"", "[\"bc\"]" },
        { "[splits(\", *\")]", "\"a, b,c\"", "[[\"a\",\"b\",\"c\"]]" },
        { "def f(x): x + 1; f(.)", "1", "[2]" },
        { "def now: 7; now", "0", "[7]" },
        { "{now: 1, env: 2} | .now + .env", "0", "[3]" },
        { "reduce .[] as $x (0; . + $x)", "[1,2,3]", "[6]" },
        { "try error(\"x\") catch .", "0", "[\"x\"]" },
        { "[paths]", "{\"a\":[1]}", "[[[\"a\"],[\"a\",0]]]" },
        { "path(.a[0])", "null", "[[\"a\",0]]" },
        { ".a |= . + 1", "{\"a\":1}", "[{\"a\":2}]" },
        { ".x # a comment ) ] \" that ends nothing", "{\"x\":1}", "[1]" },
        { "[1 # \\\n]", "0", "[[1]]" },
        { "\"# none\" # one", "0", "[\"# none\"]" },
        { "\"a\\(1 # )\n)b\"", "0", "[\"a1b\"]" },
        { "if . then 1 else 2 end", "false", "[2]" },
        { "\"1970-01-01T00:00:00Z\" | fromdate", "0", "[0]" },
        { "0 | strftime(\"%Y %Z\")", "0", "[\"1970 UTC\"]" },
    };

    rows(all, COUNT(all));
}

PAWL_TEST(test_several_share_an_input_and_a_program)
{
    static const char *const texts[] = { ".a", ".a + 1", "[.a, .a]", "error(\"no\")", "empty" };
    static const uint32_t three[] = { 2, 0, 1 }, again[] = { 0, 0 }, stops[] = { 0, 3, 4 };

    opened(texts, COUNT(texts));
    CHECK_STR(several(three, 3, "{\"a\":1}"), "[[1,1],1,2]");
    CHECK_STR(several(again, 2, "{\"a\":1}"), "[1,1]");
    CHECK_STR(several(NULL, 0, "{}"), "[]");
    CHECK_STR(several(stops, 3, "{\"a\":1}"), "effect: expression \"error(\"no\")\": no");
    CHECK_STR(one(1, "{\"a\":1}"), "[2]");
    CHECK_STR(one(5, "0"), "invalid: there is no expression 5");
    CHECK_STR(one(0, "{\"a\":1"), "invalid: the input of an expression: byte 6: unexpected end of data");
}

PAWL_TEST(test_five_hundred_are_one_program)
{
    enum { MANY = 500 };
    static char room[MANY][32];
    static const char *texts[MANY];

    for (int i = 0; i < MANY; i++) {
        snprintf(room[i], sizeof room[i], ". + %d # %d", i, i);
        texts[i] = room[i];
    }
    opened(texts, MANY);
    CHECK_INT(jq_check(asked, NULL, NULL, NULL), PAWL_OK);
    for (uint32_t i = 0; i < MANY; i += 83) {
        char due[16];

        snprintf(due, sizeof due, "[%u]", i + 1);
        CHECK_STR(one(i, "1"), due);
    }
}

typedef struct picking { const pawl_value *whole, *out; arena mem; } picking;

static bool pick(void *ctx, const char *name, size_t size)
{
    picking *p = ctx;
    const char *key = arena_strdup(&p->mem, name, size);

    if (pawl_value_get(p->whole, key) != NULL)
        p->out = value_with(&p->mem, p->out, key, pawl_value_get(p->whole, key));
    return true;
}

PAWL_TEST(test_a_value_is_the_same_with_what_the_expression_reads_alone)
{
    static const char whole[] = "{\"a\":{\"b\":[3,1,2],\"k\":\"b\"},\"b\":\"text\",\"c\":[{\"d\":1,\"e\":\"x\"},{\"d\":2,\"e\":\"y\"}],\"d\":2,\"e\":null,\"k\":\"d\"}";
    static const char *const texts[] = {
        ".d + 1", ".a[.b | \"k\"]", ".a.b[.d]", ".c[.d - 1].e // .k", "{d, n: .c | length, e, \"s\": .a.k | ascii_upcase, b: .b}", "[.c[] | {d, e}] | .[0]",
        "[.c[] | select(.d > 1)] + [.d]", "if .e then .a | .b else .d | . + 1 end", "if .d == 2 then .a | .k elif .b then 1 else 2 end | length",
        "\"\\(.a | .k) and \\(.d) \\(\"in \\(.k)\")\"", "[.a | .b, .k]", "[.d, (.a | .k), .b]", ".a | to_entries | map(.key)", "[.a | .. | numbers] | add + 0",
        ".c | map({(.e): .d}) | add", "[.e, .d] | any", ".a | .k as $x | .[$x]", ".c | reduce .[] as $x (0; . + $x.d)", "[limit(.d; .a.b[])] | . == .", "first(.c[] | .e)",
        "[range(.d)] + .a.b", "try error(.b) catch length", ".a | del(.k) | keys", ".a | .b |= sort | .b", "[.d] | . as [$y] | $y", "isempty(.c[])", ".a.k | @json", "-.d",
        ".e == null and .d >= 2 or (.b | length) != 4", ".[.k] // 1", "[.[] | type]", ". as $in | $in.d + .d", "def f: .d; f", "{\"k\"} | .k", ".d as $n | .a.b[$n]", "keys",
    };
    enum { TEXTS = sizeof texts / sizeof *texts };

    opened(texts, TEXTS);
    for (uint32_t i = 0; i < TEXTS; i++) {
        char due[sizeof said];
        picking p = { 0 };
        buf input;

        arena_init(&p.mem, NULL, 4096);
        buf_init(&input, NULL);
        p.whole = value_parse(&p.mem, whole, sizeof whole - 1, "the input", NULL);
        p.out = value_pack(&p.mem, NULL, "{}");
        memcpy(due, one(i, whole), sizeof due);
        CHECK(due[0] == '[');
        canon(&input, jq_reads(texts[i], pick, &p) ? p.out : p.whole);
        buf_char(&input, '\0');
        if (strcmp(one(i, input.data), due) != 0)
            CHECK_FAIL("%s gives %s, and %s of %s alone", texts[i], due, said, input.data);
        buf_free(&input);
        arena_free(&p.mem);
    }
}

PAWL_TEST(test_what_evaluates_has_a_name_that_stays)
{
    static const char *const texts[] = { "1 +" };
    pawl_err err = { PAWL_OK, "" };
    const char *name;

    opened(texts, 1);
    name = jq_engine(asked, &err);
    CHECK_INT(err.code, PAWL_OK);
    CHECK(strncmp(name, "jq-1.", 5) == 0);
    CHECK(jq_engine(asked, NULL) == name);
    opened(NULL, 0);
    CHECK_INT(jq_check(asked, NULL, NULL, &err), PAWL_OK);
}

/* ---- what they fail with --------------------------------------------------------------------------------- */

PAWL_TEST(test_failures_name_their_expression)
{
    static const row all[] = {
        { "empty", "0", "effect: expression \"empty\": gave nothing" },
        { "1,2", "0", "effect: expression \"1,2\": gave 2 values or more: put [ ] round it" },
        { "1, error(\"x\")", "0", "effect: expression \"1, error(\"x\")\": x" },
        { "repeat(1)", "0", "effect: expression \"repeat(1)\": gave 2 values or more: put [ ] round it" },
        { "error(null)", "0", "effect: expression \"error(null)\": gave nothing" },
        { "error({a: 1})", "0", "effect: expression \"error({a: 1})\": {\"a\":1}" },
        { "error(\"\")", "0", "effect: expression \"error(\"\")\": error(\"\")" },
        { ".a + . | length", "{\"a\":1}", "effect: expression \".a + . | length\": number (1) and object ({\"a\":1}) cannot be added" },
        { "tonumber\n\n  | .", "[]", "effect: expression \"tonumber | .\": array ([]) cannot be parsed as a number" },
        { "{(\"\\u0000\"): 1}", "0",
          "effect: expression \"{(\"\\u0000\"): 1}\": its value: byte 1: key \"\" holds a NUL" },
        { "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xC3\xA9\" | error", "0",
          "effect: expression \"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\": "
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xC3\xA9" },
    };

    rows(all, COUNT(all));
}

PAWL_TEST(test_what_would_not_be_the_same_again_is_refused)
{
    static const char *const names[] = { "now", "env", "input", "inputs", "_input", "debug", "stderr", "halt", "halt_error", "input_filename",
                                         "input_line_number", "localtime", "get_search_list", "get_jq_origin", "get_prog_origin",
                                         "modulemeta" };
    static const row more[] = {
        { "halt_error(1)", "0", "effect: expression \"halt_error(1)\": halt_error is refused: an expression gives the same value every time" },
        { "strflocaltime(\"%Y\")", "0",
          "effect: expression \"strflocaltime(\"%Y\")\": strflocaltime is refused: an expression gives the same value every time" },
    };
    char due[256];

    opened(names, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(due, sizeof due, "effect: expression \"%s\": %s is refused: an expression gives the same value every time", names[i], names[i]);
        CHECK_STR(one((uint32_t)i, "0"), due);
    }
    rows(more, COUNT(more));
}

/* ---- wrong ones ---------------------------------------------------------------------------------------------- */

static buf told;

static void tell(void *ctx, size_t index, const char *text)
{
    CHECK(ctx == &told);
    buf_fmt(&told, "%zu: %s\n", index, text);
}

/* All that check tells, one a line. */
static const char *checked(const char *const *texts, size_t n, pawl_code due)
{
    pawl_err err = { PAWL_OK, "" };

    opened(texts, n);
    buf_free(&told);
    buf_init(&told, NULL);
    CHECK_INT(jq_check(asked, tell, &told, &err), due);
    CHECK_INT(err.code, due);
    buf_char(&told, '\0');
    return told.data;
}

PAWL_TEST(test_wrong_ones_are_told_by_their_index)
{
    static const char *const texts[] = { ".a|length", "1 foo", ".b|length", "1 + ", "{}", "flor", ".", "[1", "2" };
    static const char due[] = "1: syntax error at a name, where the end is due\n"
                              "3: syntax error at the end\n"
                              "5: flor/0 is not defined (did you mean \"floor\"?)\n"
                              "7: `[` is not closed\n";

    CHECK_STR(checked(texts, COUNT(texts), PAWL_INVALID), due);
    CHECK_STR(one(0, "{}"), "effect: expression \"1 foo\": syntax error at a name, where the end is due");
}

PAWL_TEST(test_each_wrong_one_is_told_in_words)
{
    static const char *const all[][2] = {
        { "1) | (2", "`)` closes nothing" },
        { "[1)", "`)` stands where `]` is due" },
        { "(1", "`(` is not closed" },
        { "\"abc", "a string is not closed: its last \" is missing" },
        { "\"a\\(1", "`\\(` is not closed" },
        { "\"a\\(\"", "a string is not closed: its last \" is missing" },
        { "1 # )\n) | (2", "`)` closes nothing" },
        { "# \\\n) | (2", "`)` closes nothing" },
        { "1 end | if . then 2", "syntax error at end, where the end is due" },
        { "1 else 2", "syntax error at else, where the end is due" },
        { "", "it is empty" },
        { "  # nothing", "it is empty" },
        { "def f: 1;", "it defines, and gives no value" },
        { "import \"a\" as a; 1", "`import` is refused: an expression has no modules" },
        { " include \"a\"; 1", "`include` is refused: an expression has no modules" },
        { "module {}; 1", "`module` is refused: an expression has no modules" },
        { "1 | import \"a\" as a; 1", "syntax error at import" },
        { "$ENV.PATH", "`$ENV` is refused: an expression sees its input alone" },
        { "{$ENV}", "`$ENV` is refused: an expression sees its input alone" },
        { "\"\\($ #\n__loc__)\"", "`$__loc__` is refused: names that begin so are jq's own" },
        { "$__pawl", "`$__pawl` is refused: names that begin so are jq's own" },
        { "$__prog_args", "`$__prog_args` is refused: names that begin so are jq's own" },
        { "\"\\ud800\"", NULL },
        { "sub(\"a\", \"b\")", "sub/1 is not defined (there is sub/2, sub/3; arguments stand apart by `;`)" },
        { ".\n| lenght", "lenght/0 is not defined (did you mean \"length\"?) (line 2 of it)" },
        { "zzzz(1;2)", "zzzz/2 is not defined" },
        { "$x", "$x is not defined" },
        { "break $out", "`break $out` has no `label $out` round it" },
        { "a & b", "syntax error at a character that means nothing to jq, where the end is due" },
        { "if 1 then 2", "Possibly unterminated 'if' statement" },
    };

    for (size_t i = 0; i < COUNT(all); i++) {
        const char *words = checked(&all[i][0], 1, PAWL_INVALID);
        char due[256];

        snprintf(due, sizeof due, "0: %s\n", all[i][1] != NULL ? all[i][1] : "");
        if (all[i][1] == NULL)
            CHECK(strncmp(words, "0: ", 3) == 0 && strchr(words, '\n')[1] == '\0');
        else
            CHECK_STR(words, due);
    }
}

PAWL_TEST(test_brackets_without_end_are_refused)
{
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 2);
    const char *texts[2] = { ".", text };

    CHECK(text != NULL);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = '\0';
    CHECK_STR(checked(texts, 2, PAWL_INVALID), "1: its brackets stand more than 256 levels deep\n");
    memset(text, '-', 2 * DEEP);        /* deep without a bracket */
    has(checked(texts, 2, PAWL_INVALID), "1: ");
    free(text);
    opened(texts, 1);
    CHECK_STR(one(0, "1"), "[1]");
}

/* ---- what they cannot do --------------------------------------------------------------------------------- */

enum { SHORT_MS = 1000, LITTLE_BYTES = 256 << 20 };

PAWL_TEST(test_what_takes_too_much_is_stopped)
{
    static const char *const texts[] = { ". + .", "def f: f; f", "reduce range(40) as $i (\"xxxxxxxxxxxxxxxx\"; . + .)",
                                         "[limit(1e10; repeat(1))]", "[range(1e10)]", "def f: [f]; f", "def f: 1 + f; f",
                                         "\"x\" * 1e9 | length", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\" | test(\"^(a+)+$\")" };
    enum { MANY = COUNT(texts) };

    opened(texts, MANY);
    jq_limits(asked, 60000, LITTLE_BYTES);
    CHECK_STR(one(2, "0"), "effect: expression \"reduce range(40) as $i (\"xxxxxxxxxxxxxxxx\"; . + .)\": more than 256 MiB of memory "
                           "(JQ_BYTES_MAX); it was stopped");
    jq_limits(asked, SHORT_MS, LITTLE_BYTES);
    CHECK_STR(one(1, "0"), "effect: expression \"def f: f; f\": more than 1000 ms (JQ_EVALUATE_MS); it was stopped");
    for (uint32_t i = 3; i < MANY; i++) {
        char due[256];

        snprintf(due, sizeof due, "effect: expression \"%s\": ", texts[i]);
        one(i, "0");            /* a later jq may be quick enough with one, or know better */
        if (said[0] != '[')
            has(said, due);
        CHECK_STR(one(0, "1"), "[2]");
    }
}

PAWL_TEST(test_the_one_that_is_stopped_is_named)
{
    static const char *const texts[] = { "1 + 1", "def f: f; f", "2 + 2" };
    static const uint32_t all[] = { 0, 2, 1, 2 };

    opened(texts, COUNT(texts));
    jq_limits(asked, SHORT_MS, LITTLE_BYTES);
    CHECK_STR(several(all, 4, "0"), "effect: expression \"def f: f; f\": more than 1000 ms (JQ_EVALUATE_MS); it was stopped");
    CHECK_STR(several(all, 2, "0"), "[2,4]");
}

PAWL_TEST(test_values_have_limits)
{
    static const char *const texts[] = { "reduce range(127) as $i (1; [.])",    "reduce range(128) as $i (1; [.])",    "reduce range(129) as $i (1; [.])",
                                         "reduce range(1000000) as $i (1; [.])", "reduce range(21) as $i (\"0123456789\"; . + .)", "[55296] | implode",
                                         "[range(100000)] | length" };
    static const uint32_t two[] = { 2, 6 };

    opened(texts, COUNT(texts));
    has(one(0, "0"), "[[[[");
    has(one(1, "0"), "[[[[");
    has(one(2, "0"), "its value");
    has(one(2, "0"), "128 levels");
    has(several(two, 2, "0"), "128 levels");
    has(one(3, "0"), "effect: expression \"reduce range(1000000) as $i (1; [.])\": ");
    CHECK_STR(one(6, "0"), "[100000]");
    CHECK_STR(one(4, "0"), "effect: expression \"reduce range(21) as $i (\"0123456789\"; . + .)\": its value is more than 16 MiB (JQ_OUTPUT_BYTES_MAX)");
    CHECK_STR(one(5, "0"), "[\"\xEF\xBF\xBD\"]");
}

/* ---- the child --------------------------------------------------------------------------------------------- */

/* Children of a process; the last one's state and number. */
static int children_of(pid_t of, char *state, pid_t *pid)
{
    DIR *d = opendir("/proc");
    int n = 0;

    if (d == NULL)
        return -1;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char name[300], text[512], *close;
        FILE *f;
        long parent;
        char is;

        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(name, sizeof name, "/proc/%s/stat", e->d_name);
        if ((f = fopen(name, "r")) == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        if ((close = strrchr(text, ')')) == NULL || sscanf(close, ") %c %ld", &is, &parent) != 2 || parent != (long)of)
            continue;
        n++;
        *state = is;
        *pid = (pid_t)strtol(e->d_name, NULL, 10);
    }
    closedir(d);
    return n;
}

static int children(char *state, pid_t *pid)
{
    return children_of(getpid(), state, pid);
}

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    CHECK(d != NULL);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

PAWL_TEST(test_a_child_that_was_killed_is_started_again)
{
    static const char *const texts[] = { ". + 1", "def f: f; f" };
    char state;
    pid_t pid, next;

    opened(texts, COUNT(texts));
    CHECK_INT(children(&state, &pid), 0);       /* none before it is needed */
    CHECK_STR(one(0, "1"), "[2]");
    CHECK_INT(children(&state, &pid), 1);
    CHECK_STR(one(0, "2"), "[3]");
    CHECK_INT(children(&state, &next), 1);
    CHECK(next == pid);
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_STR(one(0, "3"), "[4]");
    CHECK_INT(children(&state, &next), 1);
    CHECK(next != pid && state != 'Z');
}

static void *kill_soon(void *ctx)
{
    char state;
    pid_t pid;

    (void)ctx;
    while (children(&state, &pid) < 1)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    kill(pid, SIGKILL);
    return NULL;
}

PAWL_TEST(test_one_that_was_killed_at_work_is_evaluated_again)
{
    static const char *const texts[] = { "last(range(3e5)) | . + 1" };
    pthread_t killer;

    opened(texts, 1);
    CHECK_INT(pthread_create(&killer, NULL, kill_soon, NULL), 0);
    for (int i = 0; i < 5; i++)
        CHECK_STR(one(0, "1"), "[300000]");
    pthread_join(killer, NULL);
}

PAWL_TEST(test_nothing_is_left_behind)
{
    static const char *const texts[] = { ". + 1", "def f: [f]; f" };
    char state;
    pid_t pid;
    int before;

    jq_close(asked);
    asked = NULL;
    before = descriptors();
    for (int i = 0; i < 3; i++) {
        opened(texts, COUNT(texts));
        jq_limits(asked, SHORT_MS, LITTLE_BYTES);
        CHECK_STR(one(0, "1"), "[2]");
        has(one(1, "1"), "def f: [f]; f");
        CHECK_INT(children(&state, &pid), 0);
        CHECK_INT(descriptors(), before);
        CHECK_STR(one(0, "1"), "[2]");
        CHECK_INT(children(&state, &pid), 1);
    }
    jq_close(asked);
    asked = NULL;
    CHECK_INT(children(&state, &pid), 0);
    CHECK_INT(descriptors(), before);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

/* Its environment is empty, its descriptors are its own, nothing can be opened, and Ctrl-C is not meant for it. */
PAWL_TEST(test_the_child_has_nothing)
{
    char name[64], text[4096], state;
    int ours[2];
    pid_t pid;
    FILE *f;
    DIR *d;
    size_t n = 0;

    CHECK_INT(pipe(ours), 0);           /* which every child has that does not close it */
    CHECK_STR(gives(". + 1", "1"), "[2]");
    CHECK_INT(children(&state, &pid), 1);
    CHECK(getpgid(pid) == pid);
    snprintf(name, sizeof name, "/proc/%ld/fd", (long)pid);
    CHECK((d = opendir(name)) != NULL);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    CHECK_INT(n, 3 + 2);
    snprintf(name, sizeof name, "/proc/%ld/environ", (long)pid);
    CHECK((f = fopen(name, "r")) != NULL);
    CHECK_INT(fread(text, 1, sizeof text, f), 0);
    fclose(f);
    snprintf(name, sizeof name, "/proc/%ld/limits", (long)pid);
    CHECK((f = fopen(name, "r")) != NULL);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    has(text, "Max open files            0                    0");
    has(text, "Max file size             0                    0");
    has(text, "Max core file size        0                    0");
    close(ours[0]);
    close(ours[1]);
}

PAWL_TEST(test_a_child_that_is_none_is_told)
{
    static const char *const texts[] = { ". + 1" };

    opened(texts, 1);
    jq_program(asked, "/nowhere/pawl");
    CHECK_STR(one(0, "1"), "io: the child for expressions: /nowhere/pawl cannot be started (errno 2)");
    jq_program(asked, "/bin/true");
    CHECK_STR(one(0, "1"), "io: the child for expressions: jq broke off (exit code 0)");
    CHECK_STR(jq_engine(asked, NULL), "");
}

static bool lives(pid_t pid)
{
    char name[64], text[512], *close;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%ld/stat", (long)pid);
    if ((f = fopen(name, "r")) == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return (close = strrchr(text, ')')) != NULL && close[2] != 'Z' && close[2] != 'X';
}

/* Idle, or at work without end. */
PAWL_TEST(test_a_child_does_not_outlive_its_parent)
{
    static const char *const texts[] = { "1", "def f: f; f" };

    for (uint32_t which = 0; which < 2; which++) {
        pid_t parent, child = 0;
        char state;

        opened(texts, COUNT(texts));
        jq_limits(asked, SHORT_MS, LITTLE_BYTES);
        CHECK((parent = fork()) >= 0);
        if (parent == 0) {
            one(which, "0");
            pause();
            _exit(0);
        }
        while (children_of(parent, &state, &child) < 1)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
        CHECK_INT(kill(parent, SIGKILL), 0);
        CHECK_INT(waitpid(parent, NULL, 0), parent);
        for (int i = 0; lives(child); i++) {
            CHECK(i < 12000);
            nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        }
    }
}

/* A child of our own making: it says `frames` whatever it hears. */
static const char *lied(const char *frames)
{
    static const char *const texts[] = { ". + 1" };
    char name[] = "/tmp/pawl-jq-XXXXXX";
    int fd = mkstemp(name);

    CHECK(fd >= 0);
    dprintf(fd, "#!/bin/sh\nprintf '%s' >&0\nexec cat > /dev/null\n", frames);
    fchmod(fd, 0700);
    close(fd);
    opened(texts, 1);
    jq_limits(asked, SHORT_MS, LITTLE_BYTES);
    jq_program(asked, name);
    one(0, "1");
    unlink(name);
    return said;
}

#define FRAME(verb, size) "\\00" verb "\\000\\000\\000\\00" size "\\000\\000\\000"
#define HELLO             FRAME("4", "6") "jq-1.6"

PAWL_TEST(test_what_a_child_says_is_not_believed)
{
    CHECK_STR(lied(FRAME("4", "0")), "io: expressions need libjq: apt-get install libjq1 (plain paths such as .a.b do without)");
    CHECK_STR(lied(HELLO FRAME("5", "0") FRAME("6", "1") "2"), "[2]");
    CHECK_STR(lied(HELLO FRAME("5", "0") FRAME("6", "1") "{"), "effect: expression \". + 1\": its value: byte 1: unexpected end of data");
    CHECK_STR(lied(HELLO FRAME("5", "0") FRAME("7", "3") "no!"), "effect: expression \". + 1\": no!");
    CHECK_STR(lied(HELLO FRAME("5", "0") FRAME("8", "0")), "effect: expression \". + 1\": its answer makes no sense; it was stopped");
    CHECK_STR(lied(HELLO FRAME("5", "0") FRAME("5", "0")), "effect: expression \". + 1\": its answer makes no sense; it was stopped");
    has(lied(HELLO FRAME("6", "1") "2"), "effect: expression \". + 1\": its answer makes no sense");
    has(lied(HELLO FRAME("5", "0") "\\006\\000\\000\\000\\377\\377\\377\\377"), "\": its answer makes no sense");
    has(lied(HELLO FRAME("5", "0") FRAME("1", "0")), "\": its answer makes no sense");
    has(lied("HTTP/1.1 200 OK"), "io: the child for expressions: its answer makes no sense");
    has(lied(FRAME("4", "7") FRAME("4", "7")), "io: the child for expressions: its answer makes no sense");
    has(lied(""), "io: the child for expressions: more than 1000 ms (JQ_EVALUATE_MS); it was stopped");
}

static void *ask_many(void *ctx)
{
    const uint32_t which = *(const uint32_t *)ctx;
    char input[16], due[16];

    for (int i = 0; i < 100; i++) {
        bool right;
        buf out;

        buf_init(&out, NULL);
        snprintf(input, sizeof input, "%d", i);
        snprintf(due, sizeof due, "[%d]", i * (int)(which + 2));
        right = jq_evaluate(asked, &which, 1, (pawl_bytes){ input, strlen(input) }, &out, NULL) == PAWL_OK && out.size == strlen(due) &&
                memcmp(out.data, due, out.size) == 0;
        buf_free(&out);
        if (!right)
            return NULL;        /* a check leaves its test, and this is no thread of one */
    }
    return ctx;
}

PAWL_TEST(test_any_thread_may_ask)
{
    static const char *const texts[] = { ". * 2", ". * 3" };
    uint32_t which[2] = { 0, 1 };
    pthread_t threads[2];
    void *end;

    opened(texts, COUNT(texts));
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, ask_many, &which[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &end);
        CHECK(end == &which[i]);
    }
}

int main(int argc, char **argv)
{
    int rc;

    if (argc > 1 && strcmp(argv[1], "@jq") == 0)
        return jq_child();
    buf_init(&told, NULL);
    rc = check_main(argc, argv);
    jq_close(asked);
    buf_free(&told);
    return rc;
}
