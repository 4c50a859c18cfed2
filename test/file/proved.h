/* proved.h - an agent file proved in a test, and the way that is found driven by the real machine. */
#ifndef TEST_FILE_PROVED_H
#define TEST_FILE_PROVED_H

#include "file/filing.h"
#include "proof/prove.h"

typedef struct proved {
    bench *b;
    filing from;
    agent_file *a;
    pawl_machine *m;
    const pawl_value *policy;
    prove_result r;
} proved;

/* `rules`: as in "@policy"; NULL: none. False: the file is not good, which is a fault of the test unless `strict` is false. */
static inline bool proved_load(proved *p, const filing_text *texts, const char *rules, bool strict)
{
    file_reader reader;
    pawl_err err = {0};

    *p = (proved){ .b = bench_new(), .from = { .texts = texts } };
    reader = filing_reader(&p->from);
    p->a = file_load(&p->b->mem, texts[0].name, &reader, &p->b->f);
    if (p->a != NULL && p->b->f.count == 0)
        p->m = file_machine(p->a, "test", &p->b->f, &err);
    if (p->m == NULL && strict)
        CHECK_FAIL("%s", told(p->b));
    if (p->m == NULL)
        return false;
    if (rules != NULL && (p->policy = value_parse(&p->b->mem, rules, strlen(rules), "rules", &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return true;
}

static inline void proved_search(proved *p, prove_ask q)
{
    pawl_err err = {0};

    q.policy = p->policy;
    if (file_prove(p->a, p->m, &q, &p->b->mem, &p->r, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

static inline void proved_end(proved *p)
{
    pawl_machine_free(p->m);
    bench_free(p->b);
}

/* The lines of the way, each with a newline; "" when there is none. */
static inline const char *proved_path(proved *p)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(p->r.json, "path"));
    const pawl_value *one;

    buf_reset(&p->b->out);
    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_string(pawl_value_get(one, "text")) != NULL)
            buf_fmt(&p->b->out, "%s\n", pawl_value_string(pawl_value_get(one, "text")));
    buf_char(&p->b->out, '\0');
    CHECK(!p->b->out.failed);
    return p->b->out.data;
}

/* "": the command left; else why it did not. */
static inline const char *proved_replay(proved *p)
{
    const char *why = NULL;
    pawl_err err = {0};
    bool left = false;

    if (prove_replay(p->a, p->m, p->policy, pawl_value_get(p->r.json, "path"), &p->b->mem, &left, &why, &err) != PAWL_OK)
        return arena_strdup(&p->b->mem, err.text, strlen(err.text));
    return left ? "" : why != NULL ? why : "?";
}

#endif
