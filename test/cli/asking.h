/* asking.h - for the tests of expressions: a jq, asked, and what it said. The program is its child as well. */
#ifndef TEST_CLI_ASKING_H
#define TEST_CLI_ASKING_H

#include "effect/jq/jq.h"
#include "lib/check.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static jq *asked;
static char said[4096];         /* what came last: values, or "CODE: words" */

static inline void opened(const char *const *texts, size_t n)
{
    jq_close(asked);
    asked = jq_open(texts, n);
    CHECK(asked != NULL);
}

static inline const char *several(const uint32_t *which, size_t n, const char *input)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_code rc;
    buf out;

    buf_init(&out, NULL);
    buf_text(&out, "as it was");
    rc = jq_evaluate(asked, which, n, (pawl_bytes){ input, strlen(input) }, &out, &err);
    CHECK_INT(rc, err.code);
    CHECK(rc == PAWL_OK || out.size == strlen("as it was"));
    if (rc == PAWL_OK)
        snprintf(said, sizeof said, "%.*s", (int)out.size - 9, out.data + 9);
    else
        snprintf(said, sizeof said, "%s: %s", pawl_code_name(rc), err.text);
    buf_free(&out);
    return said;
}

static inline const char *one(uint32_t which, const char *input)
{
    return several(&which, 1, input);
}

/* Of one expression, opened for it. */
static inline const char *gives(const char *text, const char *input)
{
    opened(&text, 1);
    return one(0, input);
}

static inline void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        CHECK_FAIL("no \"%s\" in \"%s\"", part, text);
}

typedef struct row { const char *text, *input, *gives; } row;

static inline void rows(const row *r, size_t n)
{
    const char **texts = calloc(n, sizeof *texts);

    CHECK(texts != NULL);
    for (size_t i = 0; i < n; i++)
        texts[i] = r[i].text;
    opened(texts, n);
    free(texts);
    for (size_t i = 0; i < n; i++) {
        one((uint32_t)i, r[i].input);
        if (strcmp(said, r[i].gives) != 0)
            CHECK_FAIL("%s of %s gives %s, and should give %s", r[i].text, r[i].input, said, r[i].gives);
    }
}

#endif
