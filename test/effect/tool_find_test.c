/* tool_find_test.c - glob and grep, and the patterns that they are given. */
#define _XOPEN_SOURCE 700
#include "effect/tooling.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <sys/time.h>

/* ---- patterns ------------------------------------------------------------------------------------------ */

PAWL_TEST(test_A5_patterns_are_those_of_gitignore)
{
    static const struct { const char *pattern, *fits, *not; } rows[] = {
        { "*.c", "a.c src/a.c .c", "a.h a.c/b ac" },
        { "/*.c", "a.c", "src/a.c" },
        { "src/*.c", "src/a.c", "src/x/a.c lib/src/a.c" },
        { "**/*.c", "a.c src/a.c src/x/a.c", "a.h" },
        { "src/**", "src/a src/x/y", "src lib/src/a" },
        { "src/**/a.c", "src/a.c src/x/a.c src/x/y/a.c", "a.c src/b.c srcx/a.c" },
        { "**/x/**/y", "x/y a/x/y a/x/b/c/y", "x a/y xx/y" },
        { "docs/", "docs/a x/docs/a docs/x/y", "docs" },
        { "?.c", "a.c x/\xc3\xa9.c", "ab.c .c" },
        { "a?b", "a\xe2\x82\xac" "b", "ab a/b" },
        { "[a-c]x", "ax cx", "dx -x" },
        { "[!a-c]x", "dx -x", "ax" },
        { "[]x]y", "]y xy", "ay" },
        { "[a\\]]y", "]y ay", "\\y" },
        { "[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", "e \xc3\xb0" },
        { "*.{c,h}", "a.c x/a.h", "a.o a.{c,h}" },
        { "{src,test}/**/*.{c,{h,s}}", "src/a.c test/x/b.s", "doc/a.c src/a.o" },
        { "a{,b}", "a ab", "b a{" },
        { "\\*", "*", "a" },
        { "[", "[", "a" },
        { "*a*b*c", "abc xaxbxc aabbcc", "acb ab" },
        { "./x.c", "x.c y/x.c", "y.c" },
        { "**", "a a/b", "" },
    };
    arena mem;

    arena_init(&mem, NULL, 4096);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pattern p;

        CHECK_STR(pattern_make(&mem, rows[i].pattern, &p), NULL);
        for (int want = 1; want >= 0; want--) {
            char *list = check_copy(want ? rows[i].fits : rows[i].not, strlen(want ? rows[i].fits : rows[i].not)), *rest = list, *path;

            while ((path = strtok_r(rest, " ", &rest)) != NULL)
                if (pattern_fits(&p, path) != want)
                    CHECK_FAIL("%s %s %s", rows[i].pattern, want ? "does not fit" : "fits", path);
            free(list);
        }
    }
    arena_free(&mem);
}

PAWL_TEST(test_X3_patterns_have_limits)
{
    char text[PATTERN_BYTES_MAX + 2], path[4000];
    pattern p;
    arena mem;

    arena_init(&mem, NULL, 4096);
    CHECK_STR(pattern_make(&mem, "", &p), "it is empty");
    CHECK_STR(pattern_make(&mem, "a{b", &p), "a { is not closed");
    CHECK_STR(pattern_make(&mem, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &p), "it has too many alternatives");
    CHECK_STR(pattern_make(&mem, "{{{{{{{{{{{{a}}}}}}}}}}}}", &p), "it has too many braces");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_STR(pattern_make(&mem, text, &p), "it is too long");
    /* what would take for ever, were every star gone back to */
    for (size_t i = 0; i + 2 < PATTERN_BYTES_MAX; i += 2)
        memcpy(text + i, "*a", 2);
    text[PATTERN_BYTES_MAX - 2] = 'b';
    text[PATTERN_BYTES_MAX - 1] = '\0';
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    CHECK_STR(pattern_make(&mem, text, &p), NULL);
    CHECK(!pattern_fits(&p, path));
    arena_free(&mem);
}

/* ---- regular expressions ------------------------------------------------------------------------------------ */

static bool line_fits(const char *text, const char *line)
{
    bool icase = false, fits;
    size_t size = 0;
    const char *wrong;
    regex_t re;
    buf b;

    buf_init(&b, NULL);
    wrong = regex_make(text, &b, &icase, &size);
    buf_char(&b, '\0');
    if (wrong != NULL || regcomp(&re, b.data, REG_EXTENDED | REG_NOSUB | (icase ? REG_ICASE : 0)) != 0)
        CHECK_FAIL("%s became %s: %s", text, b.data, wrong != NULL ? wrong : "cannot be compiled");
    fits = regexec(&re, line, 0, NULL, 0) == 0;
    regfree(&re);
    buf_free(&b);
    return fits;
}

PAWL_TEST(test_A5_regular_expressions_as_they_are_written)
{
    static const struct { const char *pattern, *fits, *not; } rows[] = {
        { "a+b", "xaab", "b" }, { "\\d{2,3}x", "a12x", "1x" }, { "^\\w+$", "a_9", "a b" }, { "\\bfoo\\b", "a foo b", "food" },
        { "a\\.b", "a.b", "axb" }, { "[\\w.-]+@x", "a.b-c@x", "@x" }, { "[\\d]", "5", "a" }, { "[^\\s]x", "ax", " x" },
        { "[\\]a]b", "]b", "xb" }, { "[a\\-z]q", "-q", "mq" }, { "[\\^a]", "^", "b" }, { "[^a]b", "xb", "ab" }, { "[\\^]", "^", "a" },
        { "[\\\\]", "\\", "a" }, { "[\\^-]x", "-x", "ax" }, { "(?:ab)+c", "ababc", "ac" }, { "a.*?b", "axxb", "b" }, { "^a+?$", "aa", "" },
        { "(?i)hello", "HeLLo", "hell" }, { "func main() {", "func main {", "main" }, { "interface{}", "interface{}", "interface" },
        { "${x}", "", "y" }, { "a{2}", "aa", "a" }, { "\\{", "{", "a" }, { "a|b", "b", "c" }, { "x\\ty", "x\ty", "xty" },
        { "[[:digit:]]+", "5", "a" }, { "\\S+\\s\\S+", "a b", "ab" }, { "\\$\\(", "$(", "$" }, { "\\/", "/", "a" }, { "\xc3\xa9+", "\xc3\xa9", "e" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].fits[0] != '\0' && !line_fits(rows[i].pattern, rows[i].fits))
            CHECK_FAIL("%s does not fit %s", rows[i].pattern, rows[i].fits);
        if (line_fits(rows[i].pattern, rows[i].not))
            CHECK_FAIL("%s fits %s", rows[i].pattern, rows[i].not);
    }
}

PAWL_TEST(test_X3_what_would_take_too_long_to_compile_is_refused)
{
    static const struct { const char *pattern, *wrong; } rows[] = {
        { "((a{255}){255}){255}", "it is too large with all its repetitions" }, { "a{256}", "a repetition is over 255 times" },
        { "a{99999999999999999999}", "a repetition is over 255 times" },
        { "(a)\\1", "what a group has found cannot be referred to" }, { "(?=a)", "(?...) is known only as (?:...), and as (?i) at the beginning" },
        { "(a", "a ( is not closed" }, { "a)", "a ) closes nothing" }, { "[a", "a [ is not closed" }, { "*a", "a repetition has nothing to repeat" },
        { "a***", "a repetition is repeated" }, { "a\\", "it ends in a backslash" }, { "\\q", "a backslash stands before a letter that means nothing here" },
        { "", "it is empty" }, { "(?i)", "it is empty" }, { "[\\D]", "\\D, \\W and \\S do not stand in [...]" }, { "[[:alpha", "a [ is not closed" },
        { "((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))", "its groups are too deep" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool icase = false;
        size_t size = 0;
        buf b;

        buf_init(&b, NULL);
        CHECK_STR(regex_make(rows[i].pattern, &b, &icase, &size), rows[i].wrong);
        buf_free(&b);
    }
}

static void random_pattern(char *out, size_t size)
{
    static const char *const pieces[] = { "a", "b", "ab", "c", ".", "*", "?", "+", "{2}", "{0,1}", "(", ")", "(?:", "[ab]", "[^a]", "[]x]", "[[:alpha:]c]", "\\d", "\\.",
                                          "\\b", "^", "$", "{", "}", "b c", " ", "\xc3\xa9", "\\(", "\\w", "-", "(?i)" };
    size_t n = 0;

    out[0] = '\0';
    for (uint64_t left = 1 + check_rand() % 7; left > 0; left--) {
        const char *piece = pieces[check_rand() % (sizeof pieces / sizeof *pieces)];

        if (n + strlen(piece) < size) {
            memcpy(out + n, piece, strlen(piece) + 1);
            n += strlen(piece);
        }
    }
}

/* grep looks for the literal in a file before it looks at lines. */
PAWL_TEST(test_A5_each_line_that_fits_has_the_literal)
{
    static const char letters[] = "aaabbbcc.5 (-{}x";
    size_t tried = 0, known = 0;

    for (int i = 0; i < 20000; i++) {
        char expr[64], literal[REGEX_LITERAL_BYTES], line[24];
        bool icase = false;
        size_t size = 0, n;
        regex_t re;
        buf b;

        random_pattern(expr, sizeof expr);
        buf_init(&b, NULL);
        if (regex_make(expr, &b, &icase, &size) == NULL && !icase && (buf_char(&b, '\0'), regcomp(&re, b.data, REG_EXTENDED | REG_NOSUB)) == 0) {
            n = regex_literal(expr, literal);
            known += n > 0;
            for (int j = 0; j < 30; j++, tried++) {
                size_t used = check_rand() % (sizeof line - 3);

                for (size_t at = 0; at < used; at++)
                    line[at] = letters[check_rand() % (sizeof letters - 1)];
                line[used] = '\0';
                if (n > 0 && regexec(&re, line, 0, NULL, 0) == 0) {
                    bool has = false;

                    for (size_t at = 0; at + n <= used; at++)
                        has = has || memcmp(line + at, literal, n) == 0;
                    if (!has)
                        CHECK_FAIL("--seed %llu: %s fits \"%s\", which has no %.*s", (unsigned long long)check_seed(), expr, line, (int)n, literal);
                }
            }
            regfree(&re);
        }
        buf_free(&b);
    }
    CHECK(tried > 10000 && known > 1000);
}

/* ---- glob --------------------------------------------------------------------------------------------------------- */

static void aged(const kit *k, const char *name, long seconds)
{
    struct timeval times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
    char path[512];

    put(k, name, "x\n");
    path_in(k, name, path);
    CHECK_INT(utimes(path, times), 0);
}

PAWL_TEST(test_A5_glob_gives_the_newest_first)
{
    char text[600];
    kit k;

    kit_open(&k);
    folder_in(&k, "sub");
    folder_in(&k, ".git");
    aged(&k, "b.c", 1000);
    aged(&k, "sub/a.c", 3000);
    aged(&k, "c.c", 2000);
    aged(&k, "d.c", 2000);
    aged(&k, "e.h", 9000);
    aged(&k, ".git/f.c", 9000);
    link_in(&k, "/etc", "out");
    link_in(&k, ".", "round");
    GIVES(&k, "glob", "{\"pattern\":\"*.c\"}", "sub/a.c\nc.c\nd.c\nb.c\n");
    GIVES(&k, "glob", "{\"pattern\":\"**/*.c\",\"sort\":\"name\"}", "b.c\nc.c\nd.c\nsub/a.c\n");
    GIVES(&k, "glob", "{\"pattern\":\"a.c\",\"path\":\"sub\"}", "sub/a.c\n");
    GIVES(&k, "glob", "{\"pattern\":\"passwd\"}", "(no file fits)\n");
    snprintf(text, sizeof text, "{\"pattern\":\"%s/*.h\"}", k.work);
    GIVES(&k, "glob", text, "e.h\n");
    REFUSES(&k, "glob", "{\"pattern\":\"*\",\"path\":\"out\"}", "Path outside workspace: out");
    REFUSES(&k, "glob", "{\"pattern\":\"*\",\"path\":\"e.h\"}", "Invalid arguments: e.h: it is no folder");
    REFUSES(&k, "glob", "{\"pattern\":\"a{\"}", "Invalid arguments: pattern: a { is not closed");
    kit_close(&k);
}

PAWL_TEST(test_X2_glob_shows_1000_and_goes_64_folders_deep)
{
    char name[600] = "";
    kit k;

    kit_open(&k);
    for (int i = 0; i < 1005; i++) {
        snprintf(name, sizeof name, "f%04d", i);
        put(&k, name, "");
    }
    CHECK_INT(use(&k, "glob", "{\"pattern\":\"f*\",\"sort\":\"name\"}"), PAWL_OK);
    CHECK(strstr(content(&k), "f0999\n[truncated: 1000 of 1005 files are shown]\n") != NULL);
    name[0] = '\0';
    for (int i = 0; i < 66; i++) {
        memcpy(name + strlen(name), i > 0 ? "/d" : "d", i > 0 ? 3 : 2);
        folder_in(&k, name);
    }
    CHECK_INT(use(&k, "glob", "{\"pattern\":\"g\"}"), PAWL_OK);
    CHECK(!is_error(&k));
    CHECK_STR(content(&k), "(no file fits)\n[not all was looked at: there are folders that are too deep; give a narrower path]\n");
    put(&k, "g", "");           /* behind them */
    CHECK_INT(use(&k, "glob", "{\"pattern\":\"g\"}"), PAWL_OK);
    CHECK_STR(content(&k), "g\n[not all was looked at: there are folders that are too deep; give a narrower path]\n");
    kit_close(&k);
}

/* ---- grep --------------------------------------------------------------------------------------------------------------- */

PAWL_TEST(test_A5_grep_gives_lines_files_or_counts)
{
    kit k;

    kit_open(&k);
    folder_in(&k, "sub");
    folder_in(&k, ".git");
    put(&k, "a.c", "one\nTwo\nthree\nfour two\n");
    put(&k, "sub/b.h", "two\r\nx\ntwo");
    put(&k, ".git/c", "two\n");
    put_bytes(&k, "bin", "two\0two\n", 8);
    link_in(&k, "sub", "again");
    GIVES(&k, "grep", "{\"pattern\":\"two\"}", "a.c:4:four two\nsub/b.h:1:two\nsub/b.h:3:two\n");
    GIVES(&k, "grep", "{\"pattern\":\"^T\\\\w+$\",\"ignore_case\":true,\"glob\":\"*.c\"}", "a.c:2:Two\na.c:3:three\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"output_mode\":\"files\"}", "a.c\nsub/b.h\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"output_mode\":\"count\"}", "a.c:1\nsub/b.h:2\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"path\":\"sub/b.h\",\"output_mode\":\"count\"}", "sub/b.h:2\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"path\":\"sub\",\"max_matches\":1}", "sub/b.h:1:two\n[truncated: 1 lines are shown, and there are more]\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"output_mode\":\"files\",\"max_matches\":1}", "a.c\n[truncated: 1 files are shown, and there are more]\n");
    GIVES(&k, "grep", "{\"pattern\":\"none\"}", "(no line fits)\n");
    GIVES(&k, "grep", "{\"pattern\":\"r t\",\"fixed\":true}", "a.c:4:four two\n");
    GIVES(&k, "grep", "{\"pattern\":\"R T\",\"fixed\":true,\"ignore_case\":true}", "a.c:4:four two\n");
    GIVES(&k, "grep", "{\"pattern\":\".\",\"fixed\":true}", "(no line fits)\n");
    REFUSES(&k, "grep", "{\"pattern\":\"(\"}", "Invalid arguments: pattern: a ( is not closed");
    REFUSES(&k, "grep", "{\"pattern\":\"x\",\"glob\":\"{\"}", "Invalid arguments: glob: a { is not closed");
    REFUSES(&k, "grep", "{\"pattern\":\"x\",\"path\":\"bi\"}", "File not found: bi");
    kit_close(&k);
}

PAWL_TEST(test_A5_grep_shows_what_is_around)
{
    kit k;

    kit_open(&k);
    put(&k, "a", "1\n2\n3 x\n4\n5\n6\n7\n8 x\n9 x\n10\n11\n");
    GIVES(&k, "grep", "{\"pattern\":\"x\",\"context\":1}", "a-2-2\na:3:3 x\na-4-4\n--\na-7-7\na:8:8 x\na:9:9 x\na-10-10\n");
    GIVES(&k, "grep", "{\"pattern\":\"x\",\"before\":20}", "a-1-1\na-2-2\na:3:3 x\na-4-4\na-5-5\na-6-6\na-7-7\na:8:8 x\na:9:9 x\n");
    GIVES(&k, "grep", "{\"pattern\":\"x\",\"after\":2,\"max_matches\":1}", "a:3:3 x\na-4-4\na-5-5\n[truncated: 1 lines are shown, and there are more]\n");
    kit_close(&k);
}

PAWL_TEST(test_A5_grep_takes_the_arguments_that_models_know)
{
    kit k;

    kit_open(&k);
    put(&k, "a.py", "One\ntwo\none\n");
    put(&k, "b.c", "one\n");
    put(&k, "c.c", "none\n");
    GIVES(&k, "grep", "{\"pattern\":\"^ONE\",\"-i\":true,\"output_mode\":\"files_with_matches\"}", "a.py\nb.c\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"-A\":1,\"-B\":1,\"-n\":false}", "a.py-One\na.py:two\na.py-one\n");
    GIVES(&k, "grep", "{\"pattern\":\"two\",\"-C\":1,\"-n\":true}", "a.py-1-One\na.py:2:two\na.py-3-one\n");
    GIVES(&k, "grep", "{\"pattern\":\"one\",\"head_limit\":1,\"offset\":1}", "b.c:1:one\n[truncated: 1 lines are shown, and there are more]\n");
    GIVES(&k, "grep", "{\"pattern\":\"one\",\"head_limit\":0,\"output_mode\":\"count\",\"offset\":1}", "b.c:1\nc.c:1\n");
    GIVES(&k, "grep", "{\"pattern\":\"one\",\"type\":\"py\"}", "a.py:3:one\n");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"one\",\"type\":\"pyt\"}"), PAWL_OK);
    CHECK(is_error(&k) && strncmp(content(&k), "Invalid arguments: type: \"pyt\" is none of c cmake ", 50) == 0);
    /* both names: which one is meant is not known */
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"one\",\"-i\":true,\"ignore_case\":false}"), PAWL_OK);
    CHECK(is_error(&k) && strstr(content(&k), "-i") != NULL);
    kit_close(&k);
}

PAWL_TEST(test_A5_what_only_decorates_is_told_and_ignored)
{
    kit k;

    kit_open(&k);
    put(&k, "a", "one\n");
    GIVES(&k, "grep", "{\"pattern\":\"one\",\"explanation\":\"to see\",\"title\":\"x\"}",
          "a:1:one\n[ignored: \"explanation\", \"title\" is no argument of grep]\n");
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"one\",\"invert\":true}"), PAWL_OK);
    CHECK(is_error(&k) && strstr(content(&k), "invert") != NULL);
    CHECK_INT(use(&k, "bash", "{\"command\":\"true\",\"run_in_background\":true}"), PAWL_OK);
    CHECK(is_error(&k) && strstr(content(&k), "run_in_background") != NULL);
    kit_close(&k);
}

PAWL_TEST(test_A5_grep_of_several_lines)
{
    kit k;

    kit_open(&k);
    put(&k, "a.c", "struct a {\n    int one;\n};\nint x;\nstruct b {\n    int two;\n};\n");
    put(&k, "b.c", "one\r\ntwo\r\nlast");
    GIVES(&k, "grep", "{\"pattern\":\"struct \\\\w+ \\\\{\\n *int two\",\"multiline\":true}", "a.c:5:struct b {\na.c:6:    int two;\n");
    GIVES(&k, "grep", "{\"pattern\":\"struct .*?;\",\"multiline\":true,\"-n\":false}",
          "a.c:struct a {\na.c:    int one;\na.c:struct b {\na.c:    int two;\n");
    GIVES(&k, "grep", "{\"pattern\":\"INT X;.STRUCT\",\"multiline\":true,\"-i\":true,\"-A\":1,\"-B\":1}",
          "a.c-3-};\na.c:4:int x;\na.c:5:struct b {\na.c-6-    int two;\n");
    GIVES(&k, "grep", "{\"pattern\":\"(?s)\\\\{.*\\\\}\",\"multiline\":true,\"head_limit\":2,\"offset\":1}",
          "a.c:2:    int one;\na.c:3:};\n[truncated: 2 lines are shown, and there are more]\n");
    GIVES(&k, "grep", "{\"pattern\":\"struct[^;]*;\",\"multiline\":true,\"output_mode\":\"count\"}", "a.c:2\n");
    GIVES(&k, "grep", "{\"pattern\":\"one[^a]*t\",\"multiline\":true,\"output_mode\":\"files_with_matches\"}", "a.c\nb.c\n");
    GIVES(&k, "grep", "{\"pattern\":\"};\\nint\",\"fixed\":true,\"multiline\":true}", "a.c:3:};\na.c:4:int x;\n");
    GIVES(&k, "grep", "{\"pattern\":\"^one$\\\\s^two$\",\"multiline\":true}", "(no line fits)\n");
    GIVES(&k, "grep", "{\"pattern\":\"^one$\\\\s+^two$\\\\s+^last$\",\"multiline\":true}", "b.c:1:one\nb.c:2:two\nb.c:3:last\n");
    GIVES(&k, "grep", "{\"pattern\":\"two.last\",\"multiline\":false}", "(no line fits)\n");
    REFUSES(&k, "grep", "{\"pattern\":\"[[:alpha:]]\",\"multiline\":true}",
            "Invalid arguments: pattern: [:name:] is not read with multiline; write \\d, \\w or \\s");
    REFUSES(&k, "grep", "{\"pattern\":\"(\",\"multiline\":true}", "Invalid arguments: pattern: a ( has no )");
    kit_close(&k);
}

PAWL_TEST(test_X2_grep_of_long_lines_and_many)
{
    char *text = malloc(10 << 20);
    kit k;

    kit_open(&k);
    CHECK(text != NULL);
    memset(text, 'a', 10 << 20);
    memcpy(text + 1000, "needle", 6);
    text[(10 << 20) - 2] = '\n';
    text[(10 << 20) - 1] = 'z';
    put_bytes(&k, "long", text, 10 << 20);
    CHECK_INT(use(&k, "grep", "{\"pattern\":\"needle\"}"), PAWL_OK);
    CHECK(!is_error(&k) && strncmp(content(&k), "long:1:aaa", 10) == 0 && strlen(content(&k)) == 508);
    GIVES(&k, "grep", "{\"pattern\":\"^z$\"}", "long:2:z\n");
    /* what has a state for each of its ends: 2^40 of them */
    memset(text, 'b', 10 << 20);
    for (size_t i = 0; i < 10 << 20; i += 3 + i % 7)
        text[i] = 'a';
    for (size_t i = 1000; i < 10 << 20; i += 1000)
        text[i] = '\n';
    put_bytes(&k, "long", text, 1 << 20);
    GIVES(&k, "grep", "{\"pattern\":\"(a|b)*a(a|b){40}c\"}", "(no line fits)\n");
    free(text);
    kit_close(&k);
}

/* ---- stopped ------------------------------------------------------------------------------------------------------------- */

static atomic_uint looked;

static bool canceled_soon(const pawl_job *job)
{
    (void)job;
    return atomic_fetch_add(&looked, 1) >= 5;
}

PAWL_TEST(test_E10_grep_and_glob_stop_when_they_are_canceled)
{
    static const char *const calls[][2] = { { "grep", "{\"pattern\":\"x\"}" }, { "glob", "{\"pattern\":\"*\"}" }, { "list_files", "{}" } };
    char name[32];
    kit k;

    kit_open(&k);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "f%d", i);
        put(&k, name, "x\n");
    }
    k.h.job.canceled = canceled_soon;
    for (size_t i = 0; i < 3; i++) {
        atomic_store(&looked, 0);
        CHECK_INT(use(&k, calls[i][0], calls[i][1]), PAWL_CANCELED);
        CHECK(atomic_load(&looked) < 20);
    }
    k.h.job.canceled = NULL;
    k.h.job.deadline_ms = 1;        /* long ago */
    for (size_t i = 0; i < 3; i++) {
        CHECK_INT(use(&k, calls[i][0], calls[i][1]), PAWL_TIMEOUT);
        CHECK(strncmp(reply_why(&k.h.reply), "Tool execution timed out", 24) == 0);
    }
    kit_close(&k);
}
