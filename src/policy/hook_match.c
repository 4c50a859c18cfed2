/* hook_match.c - whether a matcher fits a name (CC-H2): a list of names, or a regular expression (base/regexp.h).
 *
 * Owns nothing; pure, any thread. Called by hook.c, hook_read.c and gate.c. */
#include "base/regexp.h"
#include "policy/hook.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_list(const char *matcher)
{
    for (; *matcher != '\0'; matcher++)
        if (!is_word(*matcher) && strchr(" ,|-", *matcher) == NULL)
            return false;
    return true;
}

static bool matcher_names(const char *words, const char *name)
{
    const size_t size = strlen(name);

    for (const char *at = words;; at++) {
        const char *end;

        at += strspn(at, " ,|");
        if (*at == '\0')
            return false;
        end = at + strcspn(at, ",|");
        while (end > at && end[-1] == ' ')
            end--;
        if ((size_t)(end - at) == size && memcmp(at, name, size) == 0)
            return true;
        at = end + strcspn(end, ",|");
        if (*at == '\0')
            return false;
    }
}

bool hook_matcher_reads(const char *matcher, const char **why)
{
    re_program p;

    if (matcher == NULL || *matcher == '\0' || strcmp(matcher, "*") == 0)
        return true;
    if (is_list(matcher) && matcher[strspn(matcher, " ,|")] != '\0' && strlen(matcher) <= HOOK_MATCHER_BYTES)
        return true;
    if (is_list(matcher)) {
        *why = strlen(matcher) > HOOK_MATCHER_BYTES ? "it has more than 512 bytes (HOOK_MATCHER_BYTES)" : "it names nothing";
        return false;
    }
    if (strlen(matcher) > HOOK_MATCHER_BYTES) {
        *why = "it has more than 512 bytes (HOOK_MATCHER_BYTES)";
        return false;
    }
    return re_compile(&p, matcher, false, why);
}

bool hook_fits(const char *matcher, const char *tool)
{
    re_program p;
    const char *why;

    if (matcher == NULL || *matcher == '\0' || strcmp(matcher, "*") == 0)
        return true;
    if (is_list(matcher))
        return !hook_matcher_reads(matcher, &why) || matcher_names(matcher, tool != NULL ? tool : "");
    if (strlen(matcher) > HOOK_MATCHER_BYTES || !re_compile(&p, matcher, false, &why))
        return true;
    return re_found(&p, tool != NULL ? tool : "", tool != NULL ? strlen(tool) : 0);
}
