/* regexp_test.c - where a match is (base/regexp.h): leftmost, and by the order of alternatives and repetitions. */
#include "base/regexp.h"
#include "lib/check.h"

#include <stdlib.h>
#include <string.h>

PAWL_TEST(test_a_match_is_the_leftmost_and_the_preferred_one)
{
    static const struct { const char *pattern, *text; unsigned flags; int begin, end; } rows[] = {
        { "b", "abc", 0, 1, 2 }, { "x", "abc", 0, -1, -1 }, { "", "abc", 0, 0, 0 }, { "a*", "baa", 0, 0, 0 }, { "a+", "baa", 0, 1, 3 },
        { "a+?", "baa", 0, 1, 2 }, { "a.*c", "xabcabc", 0, 1, 7 }, { "a.*?c", "xabcabc", 0, 1, 4 }, { "ab|abc", "abc", 0, 0, 2 }, { "abc|ab", "abc", 0, 0, 3 },
        { "a{1,3}", "aaaa", 0, 0, 3 }, { "a{1,3}?", "aaaa", 0, 0, 1 }, { "a??b", "ab", 0, 0, 2 },
        { "(a|b)*?c", "abac", 0, 0, 4 }, { "(a*)*b", "aab", 0, 0, 3 },
        { "bcd|c", "abcx", 0, 2, 3 }, { "a.b", "a\nb", 0, -1, -1 }, { "a.b", "a\nb", RE_AS_LINES, 0, 3 }, { "^b$", "a\nb\nc", 0, -1, -1 },
        { "^b$", "a\nb\nc", RE_AS_LINES, 2, 3 }, { "^b$", "a\r\nb\r\nc", RE_AS_LINES, 3, 4 }, { "AB", "xab", RE_AS_ICASE, 1, 3 },
        { "[^a]", "Ab", RE_AS_ICASE, 1, 2 },
        { "[X-Z]+", "wxyz", RE_AS_ICASE, 1, 4 }, { ".", "\xc3\xa9", RE_AS_CHARACTERS, 0, 2 }, { "\\bb", "ab b", 0, 3, 4 }, { "c$", "cc", 0, 1, 2 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *why;
        re_program *p = malloc(sizeof *p);
        re_span m = { 0, 0 };
        const bool good = re_compile_as(p, rows[i].pattern, rows[i].flags, &why);
        const bool found = good && re_find(p, rows[i].text, strlen(rows[i].text), 0, NULL, NULL, &m);

        if (!good || found != (rows[i].begin >= 0) || (found && ((int)m.begin != rows[i].begin || (int)m.end != rows[i].end)) ||
            found != re_found(p, rows[i].text, strlen(rows[i].text)))
            CHECK_FAIL("%s in \"%s\": %d %zu %zu", rows[i].pattern, rows[i].text, found, m.begin, m.end);
        free(p);
    }
}

static bool stop_now(void *ctx)
{
    ++*(int *)ctx;
    return true;
}

PAWL_TEST(test_X2_a_search_can_be_stopped)
{
    static char text[100001];
    const char *why;
    re_program *p = malloc(sizeof *p);
    re_span m;
    int asked = 0;

    memset(text, 'a', sizeof text - 1);
    CHECK(re_compile_as(p, "a.*b", 0, &why));
    CHECK(!re_find(p, text, sizeof text - 1, 0, stop_now, &asked, &m));
    CHECK_INT(asked, 1);
    CHECK(re_find(p, "abab", 4, 1, NULL, NULL, &m));
    CHECK_INT(m.begin, 2);
    free(p);
}
