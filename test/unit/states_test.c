/* states_test.c - the life cycles of the kernel: what its README shows are the tables that the code moves along. */
#include "lib/check.h"
#include "pawl/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES_MAX = 1 << 20 };

static char *page_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(PAGE_BYTES_MAX);
    size_t n = f != NULL && text != NULL ? fread(text, 1, PAGE_BYTES_MAX - 1, f) : 0;

    if (f != NULL)
        fclose(f);
    CHECK(n > 0);
    text[n] = '\0';
    return text;
}

PAWL_TEST(test_the_readme_of_the_kernel_shows_its_tables)
{
    char *page = page_read(PAWL_SOURCE_DIR "/src/kernel/README.md");
    pawl_step *s = pawl_step_new(NULL);
    const char *table;
    char fenced[4096];
    size_t shown = 0, pictures = 0;

    for (; (table = pawl_draw_own(shown, PAWL_PICTURE_TEXT, s, NULL)) != NULL; shown++) {
        CHECK(snprintf(fenced, sizeof fenced, "```\n%s```\n", table) < (int)sizeof fenced);
        if (strstr(page, fenced) == NULL)
            CHECK_FAIL("src/kernel/README.md does not show this:\n%s", table);
    }
    for (const char *at = page; (at = strstr(at, "    from      ")) != NULL; at++)
        pictures++;
    CHECK_INT(pictures, shown);         /* and no table that is none */
    CHECK(shown > 0);
    pawl_step_free(s);
    free(page);
}
