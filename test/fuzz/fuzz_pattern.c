/* fuzz_pattern.c - any bytes as a glob and a path, and as a regular expression: refused with words, or taken; what is taken keeps a few laws. */
#include "effect/tool/tool.h"

#include <regex.h>
#include <stdlib.h>

enum { FUZZ_BYTES_MAX = 600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void globbed(arena *mem, const char *text, const char *path)
{
    pattern p, all;
    const char *wrong = pattern_make(mem, text, &p);

    must(!mem->failed && (wrong != NULL || (p.n > 0 && p.n <= PATTERN_ALTS_MAX)));
    if (wrong == NULL)
        (void)pattern_fits(&p, path);
    must(pattern_make(mem, "**", &all) == NULL && pattern_fits(&all, path) == (path[0] != '\0'));
    /* a path without anything special is a pattern that fits it, and what it is in */
    if (path[0] != '\0' && path[strcspn(path, "*?[]{}\\")] == '\0' && path[0] != '/' && path[0] != '.' && path[strlen(path) - 1] != '/' &&
        strlen(path) < PATTERN_BYTES_MAX && strstr(path, "//") == NULL)
        must(pattern_make(mem, path, &p) == NULL && pattern_fits(&p, path));
}

static void expressed(const char *text, const char *line)
{
    bool icase = false;
    size_t elements = 0;
    regex_t re;
    buf b;

    buf_init(&b, NULL);
    if (regex_make(text, &b, &icase, &elements) == NULL) {
        buf_char(&b, '\0');
        must(!b.failed && strlen(b.data) + 1 == b.size && b.size <= 20 * strlen(text) + 2);
        if (regcomp(&re, b.data, REG_EXTENDED | REG_NOSUB) == 0) {
            (void)regexec(&re, line, 0, NULL, 0);
            regfree(&re);
        }
    }
    buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[FUZZ_BYTES_MAX + 1], *path;
    arena mem;

    if (size == 0 || size > FUZZ_BYTES_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    path = strchr(text, '\n');
    if (path != NULL)
        *path++ = '\0';
    arena_init(&mem, NULL, 4096);
    globbed(&mem, text, path != NULL ? path : text);
    arena_free(&mem);
    expressed(text, path != NULL ? path : text);
    return 0;
}
