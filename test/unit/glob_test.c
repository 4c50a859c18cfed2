/* glob_test.c - the one matcher of patterns (base/glob.h), under each of its rules: tables, against trying everything, and its cost. */
#include "base/glob.h"
#include "lib/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool name_fits(const char *pattern, const char *text, unsigned rules)
{
    return glob_fits(pattern, pattern + strlen(pattern), text, text + strlen(text), rules);
}

static bool path_fits(const char *pattern, const char *path, unsigned rules)
{
    return glob_path_fits(pattern, pattern + strlen(pattern), path, path + strlen(path), rules);
}

PAWL_TEST(test_a_name_fits_stars_marks_and_classes)
{
    static const struct { const char *pattern, *text; unsigned rules; bool fits; } rows[] = {
        { "", "", 0, true }, { "", "a", 0, false }, { "a", "", 0, false }, { "*", "", 0, true }, { "*", "abc", 0, true }, { "a*", "a", 0, true },
        { "*a", "ba", 0, true }, { "*a", "ab", 0, false }, { "a**b", "axxb", 0, true }, { "?", "", 0, false }, { "?", "a", 0, true },
        { "?", "\xc3\xa9", 0, true }, { "?", "\xc3\xa9", GLOB_BYTES, false }, { "??", "\xc3\xa9", GLOB_BYTES, true }, { "??", "\xc3\xa9", 0, false },
        { "?", "\xff", 0, true }, { "\xc3\xa9", "\xc3\xa9", 0, true }, { "*\xa9", "\xc3\xa9", 0, false }, { "*\xa9", "\xc3\xa9", GLOB_BYTES, true },
        { "[abc]", "b", 0, true }, { "[abc]", "d", 0, false }, { "[a-c]", "b", 0, true }, { "[!a-c]", "b", 0, false }, { "[^a-c]", "d", 0, true },
        { "[!a]", "", 0, false }, { "[]]", "]", 0, true }, { "[!]]", "]", 0, false }, { "[]-a]", "_", 0, true }, { "[a-]", "-", 0, true },
        { "[-a]", "-", 0, true }, { "[c-a]", "b", 0, false }, { "[\\]]", "]", 0, true }, { "[a\\-c]", "b", 0, false }, { "[a\\-c]", "-", 0, true },
        { "[+-\\]]", "A", 0, true }, { "[", "[", 0, true }, { "[a", "[a", 0, true }, { "[!", "[!", 0, true }, { "[]", "[]", 0, true },
        { "[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", 0, true }, { "[\xc3\xa0-\xc3\xaf]", "e", 0, false }, { "[!a]", "\xc3\xa9", 0, true },
        { "[!a]", "\xc3\xa9", GLOB_BYTES, false }, { "\\*", "*", 0, true }, { "\\*", "a", 0, false }, { "\\?", "?", 0, true }, { "\\[a]", "[a]", 0, true },
        { "\\a", "a", 0, true }, { "\\", "\\", 0, true }, { "A", "a", 0, false }, { "a/b", "a/b", 0, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (name_fits(rows[i].pattern, rows[i].text, rows[i].rules) != rows[i].fits)
            CHECK_FAIL("\"%s\" of \"%s\" by %u", rows[i].pattern, rows[i].text, rows[i].rules);
}

PAWL_TEST(test_a_text_has_only_stars)
{
    enum { LOOSE = GLOB_STARS | GLOB_BLANKS, WORDS = GLOB_STARS | GLOB_MORE_WORDS };
    static const struct { const char *pattern, *text; unsigned rules; bool fits; } rows[] = {
        { "?", "a", GLOB_STARS, false }, { "?", "?", GLOB_STARS, true }, { "[a]", "a", GLOB_STARS, false }, { "[a]", "[a]", GLOB_STARS, true },
        { "git *", "git push", GLOB_STARS, true }, { "git *", "git", GLOB_STARS, false }, { "\\*", "*", GLOB_STARS, true },
        { "\\*", "a", GLOB_STARS, false }, { "\\\\", "\\", GLOB_STARS, true }, { "\\a", "\\a", GLOB_STARS, true }, { "\\a", "a", GLOB_STARS, false },
        { "a/*", "a/b/c", GLOB_STARS, true }, { "a b", "a\x1f" "b", GLOB_STARS, false }, { "a b", "a\x1f" "b", LOOSE, true },
        { "a\x1f" "b", "a b", LOOSE, false }, { "git", "git push", GLOB_STARS, false }, { "git", "git push", WORDS, true }, { "git", "git", WORDS, true },
        { "git", "gitk", WORDS, false }, { "git*x", "git a x b", WORDS, true }, { "git*x", "git a xb", WORDS, false }, { "a*", "ab", WORDS, true },
        { "git", "git\x1fpush", WORDS, false }, { "git", "git\x1fpush", WORDS | GLOB_BLANKS, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (name_fits(rows[i].pattern, rows[i].text, rows[i].rules) != rows[i].fits)
            CHECK_FAIL("\"%s\" of \"%s\" by %u", rows[i].pattern, rows[i].text, rows[i].rules);
}

PAWL_TEST(test_a_path_fits_segment_by_segment)
{
    static const struct { const char *pattern, *path; bool fits; } rows[] = {
        { "a/*", "a/b", true }, { "a/*", "a/b/c", false }, { "a/**", "a/b/c", true }, { "a/**", "a", false }, { "**", "a/b", true }, { "**", "", false },
        { "**/b", "b", true }, { "**/b", "a/a/b", true }, { "**/b", "a/b/c", false }, { "a/**/b", "a/b", true }, { "a/**/b", "a/x/y/b", true },
        { "a/**/b", "ab", false }, { "**/a/**/b", "x/a/y/a/z/b", true }, { "a**/b", "ax/b", true }, { "a**/b", "a/x/b", false }, { "***", "a", true },
        { "***", "a/b", false }, { "a/[b/]", "a/b", false }, { "", "", true }, { "a", "a/b", false }, { "a/b", "a", false }, { "*/*", "a", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (path_fits(rows[i].pattern, rows[i].path, 0) != rows[i].fits || path_fits(rows[i].pattern, rows[i].path, GLOB_BYTES) != rows[i].fits)
            CHECK_FAIL("\"%s\" of \"%s\"", rows[i].pattern, rows[i].path);
}

/* The plainest of all ways: every star takes every length. Of literals, ? and *; ** between slashes takes whole segments. */
static bool plainly(const char *p, const char *t, bool path, bool start)
{
    if (path && start && p[0] == '*' && p[1] == '*' && (p[2] == '/' || p[2] == '\0')) {
        if (p[2] == '\0')
            return *t != '\0';
        for (;; t++) {
            if (plainly(p + 3, t, true, true))
                return true;
            if ((t = strchr(t, '/')) == NULL)
                return false;
        }
    }
    if (*p == '\0')
        return *t == '\0';
    if (*p == '*')
        return plainly(p + 1, t, path, false) || (*t != '\0' && !(path && *t == '/') && plainly(p, t + 1, path, false));
    if (*t == '\0' || (*p == '?' ? path && *t == '/' : *p != *t))
        return false;
    return plainly(p + 1, t + 1, path, *p == '/');
}

/* Segments of random letters: none is empty. */
static void segments(char *out, const char *letters, size_t most)
{
    size_t n = 0;

    for (uint64_t k = 1 + check_rand_below(3); k > 0; k--) {
        for (uint64_t m = 1 + check_rand_below(most); m > 0; m--)
            out[n++] = letters[check_rand_below(strlen(letters))];
        out[n++] = '/';
    }
    out[n - 1] = '\0';
}

PAWL_TEST(test_all_is_as_trying_everything_says)
{
    for (int round = 0; round < 40000; round++) {
        char pattern[32], text[32];

        segments(pattern, "ab?**", 4);
        segments(text, "ab", 4);
        if (path_fits(pattern, text, 0) != plainly(pattern, text, true, true))
            CHECK_FAIL("--seed %llu: \"%s\" of the path \"%s\"", (unsigned long long)check_seed(), pattern, text);
        if (name_fits(pattern, text, GLOB_BYTES) != plainly(pattern, text, false, false))
            CHECK_FAIL("--seed %llu: \"%s\" of the name \"%s\"", (unsigned long long)check_seed(), pattern, text);
    }
}

/* With 500 stars, or 300 times two, trying everything would not end: that this returns is the test. */
PAWL_TEST(test_many_stars_cost_the_product_of_the_lengths)
{
    char *pattern = malloc(4096), *text = malloc(65536);

    CHECK(pattern != NULL && text != NULL);
    for (size_t i = 0; i < 500; i++)
        memcpy(pattern + 2 * i, "*a", 2);
    memcpy(pattern + 1000, "b", 2);
    memset(text, 'a', 60000);
    text[60000] = '\0';
    CHECK(!name_fits(pattern, text, 0));
    CHECK(!name_fits(pattern, text, GLOB_STARS | GLOB_MORE_WORDS));
    for (size_t i = 0; i < 300; i++)
        memcpy(pattern + 5 * i, "**/a/", 5);
    memcpy(pattern + 1500, "b", 2);
    for (size_t i = 1; i < 60000; i += 2)
        text[i] = '/';
    text[59999] = '\0';
    CHECK(!path_fits(pattern, text, 0));
    free(text);
    free(pattern);
}

PAWL_TEST(test_a_class_ends_before_a_slash)
{
    static const struct { const char *text; int end; } rows[] = {
        { "[a]", 3 }, { "[a]b", 3 }, { "[]a]", 4 }, { "[!]]", 4 }, { "[^a]", 4 }, { "[\\]]", 4 }, { "[a", -1 }, { "[]", -1 }, { "[a/b]", -1 }, { "[", -1 },
        { "[!", -1 }, { "[\\", -1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *p = rows[i].text, *end = glob_class_end(p, p + strlen(p));

        CHECK_INT(end == NULL ? -1 : end - p, rows[i].end);
    }
}
