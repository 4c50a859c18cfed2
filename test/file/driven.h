/* driven.h - an agent file driven in a test: its text, a run of it on the kernel alone, and somebody who says what its effects come to.
 *
 *     driven d;
 *     drive(&d, "start: a\nnodes:\n  a: {run: [ls], next: end}\n", NULL);       waits, or is over
 *     reply(&d, "a", "run", "{\"status\":0,\"stdout\":\"x\\n\",\"stderr\":\"\"}");
 *     CHECK_STR(world_status(&d.w), "completed");
 *     drive_end(&d);                                                      verifies the journal
 *
 * The effect "jq" is answered by a jq of the test's own, which knows `PATH | length`, `PATH + N`, `PATH == LITERAL`, `PATH > N`, `(PATH)`
 * and literals. */
#ifndef TEST_FILE_DRIVEN_H
#define TEST_FILE_DRIVEN_H

#include "file/filing.h"
#include "lib/world.h"

typedef struct driven {
    bench *b;
    filing from;
    agent_file *a;
    world w;
} driven;

/* ---- jq, as far as tests go ---------------------------------------------------------------------------------- */

static inline const pawl_value *jq_path(arena *mem, const char *text, size_t size, const pawl_value *state)
{
    const char *copy = arena_strdup(mem, text, size);
    expression e;
    pawl_err err = {0};
    faults f;
    const pawl_value *v;

    faults_init(&f, mem);
    if (!expression_read(&e, mem, copy, (source_place){ "jq", 1, 1 }, &f) || !e.path)
        CHECK_FAIL("the jq of the tests knows no `%s`", copy);
    v = path_follow(&e, state, &err);
    if (v == NULL)
        CHECK_FAIL("%s", err.text);
    return v;
}

static inline const pawl_value *jq_literal(arena *mem, const char *text)
{
    const pawl_value *v = value_parse(mem, text, strlen(text), "literal", NULL);

    if (v == NULL)
        CHECK_FAIL("the jq of the tests knows no `%s`", text);
    return v;
}

static inline const pawl_value *jq_value(arena *mem, const char *text, const pawl_value *state)
{
    static const char *const ops[] = { " | length", " + ", " == ", " > " };

    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(text, ops[i]);
        const pawl_value *v, *by;

        if (at == NULL)
            continue;
        v = jq_path(mem, text, (size_t)(at - text), state);
        if (i == 0)
            return value_uint(mem, pawl_value_type(v) == PAWL_TYPE_NULL ? 0 : pawl_value_size(v));
        by = jq_literal(mem, at + strlen(ops[i]));
        if (i == 1)
            return value_int(mem, pawl_value_int(v) + pawl_value_int(by));
        return value_bool(mem, i == 2 ? pawl_value_equal(v, by) : pawl_value_int(v) > pawl_value_int(by));
    }
    if (*text == '(')
        return jq_path(mem, text + 1, strlen(text) - 2, state);
    return *text == '.' ? jq_path(mem, text, strlen(text), state) : jq_literal(mem, text);
}

static inline const char *jq_text(const agent_file *a, const char *label)
{
    for (size_t i = 0; i < a->njq; i++)
        if (strcmp(a->jq[i]->label, label) == 0)
            return a->jq[i]->text;
    CHECK_FAIL("there is no expression \"%s\"", label);
}

/* The receipt of a call of "jq" with these arguments. */
static inline const char *jq_answers(driven *d, arena *mem, const char *args)
{
    const pawl_value *v = value_parse(mem, args, strlen(args), "arguments", NULL), *out = value_pack(mem, NULL, "[]"), *key, *one;
    const pawl_value *state = pawl_value_get(v, "state"), *labels = pawl_value_get(v, "jq");
    pawl_iter it = pawl_iter_of(pawl_value_get(v, "args"));
    buf b;

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        state = value_with(mem, state, pawl_value_string(key), one);
    for (size_t i = 0; i < pawl_value_size(labels); i++)
        out = value_push(mem, out, jq_value(mem, jq_text(d->a, pawl_value_string(pawl_value_at(labels, i))), state));
    buf_init(&b, NULL);
    canon(&b, out);
    CHECK(!b.failed);
    key = value_string(mem, b.data, b.size);
    buf_free(&b);
    return pawl_value_string(key);
}

/* ---- a run -------------------------------------------------------------------------------------------------------- */

static inline const char *drive_say(void *ctx, const char *node, const char *effect, const char *args)
{
    static arena mem;

    (void)node;
    if (strcmp(effect, "jq") != 0)
        return NULL;
    arena_free(&mem);
    arena_init(&mem, NULL, 4096);
    return jq_answers(ctx, &mem, args);
}

/* As far as it goes by itself. */
static inline void drive_on(driven *d)
{
    size_t before;

    do {
        before = d->w.journal.size;
        for (size_t i = 0; i < pawl_state_commands(d->w.st); i++) {
            pawl_command c;
            const char *value;
            char *id;

            if (pawl_state_command(d->w.st, i, d->w.look, &c, NULL, NULL) != PAWL_OK || c.effect == NULL || strcmp(c.effect, "jq") != 0)
                continue;
            value = drive_say(d, "", "jq", pawl_text(d->w.look, c.args));
            id = strdup(c.id);
            world_receipt(&d->w, id, value);
            free(id);
            break;
        }
    } while (d->w.journal.size != before);
}

enum { DRIVE_LARGE = 1, DRIVE_ALONE = 2 };  /* nothing is checked after each step; nobody answers for jq */

static inline void drive_with(driven *d, const filing_text *texts, const char *input, unsigned how)
{
    file_reader reader;
    pawl_machine *m;
    pawl_err err = {0};

    *d = (driven){ .b = bench_new(), .from = { .texts = texts } };
    reader = filing_reader(&d->from);
    d->a = file_load(&d->b->mem, texts[0].name, &reader, &d->b->f);
    if (d->a == NULL || d->b->f.count > 0)
        CHECK_FAIL("%s", told(d->b));
    m = file_machine(d->a, "test", &d->b->f, &err);
    if (m == NULL)
        CHECK_FAIL("%s", told(d->b));
    if ((how & DRIVE_LARGE) != 0)   /* nothing is checked after each step: for what is large */
        CHECK(world_try_begin(&d->w, m, input, &d->b->alloc) >= 0);
    else
        world_begin(&d->w, m, input);
    if ((how & DRIVE_ALONE) == 0)
        drive_on(d);
}

static inline void drive(driven *d, const char *text, const char *input)
{
    static filing_text one[2];

    one[0] = (filing_text){ "agent.yaml", text };
    drive_with(d, one, input, 0);
}

static inline void drive_end(driven *d)
{
    world_end(&d->w);
    bench_free(d->b);
}

/* ---- what is asked for, and what it comes to ---------------------------------------------------------------------- */

/* The first open command of `node`: its effect's word, and its arguments as text. "" when there is none. */
static inline const char *asked_for(driven *d, const char *node, const char **effect)
{
    const char *id = world_open(&d->w, node, false);
    char copy[512];
    pawl_command c;

    *effect = "";
    snprintf(copy, sizeof copy, "%s", id);
    for (size_t i = 0; *copy != '\0' && i < pawl_state_commands(d->w.st); i++)
        if (pawl_state_command(d->w.st, i, d->w.look, &c, NULL, NULL) == PAWL_OK && strcmp(c.id, copy) == 0) {
            *effect = c.effect != NULL ? c.effect : "sleep";
            return c.args != NULL ? pawl_text(d->w.look, c.args) : "";
        }
    return "";
}

static inline void calls(driven *d, const char *node, const char *args)
{
    const char *effect;

    CHECK_STR(asked_for(d, node, &effect), args);
}

static inline pawl_limits limits_of(driven *d, const char *node)
{
    char id[512];
    pawl_command c;

    snprintf(id, sizeof id, "%s", world_open(&d->w, node, false));
    for (size_t i = 0; i < pawl_state_commands(d->w.st); i++)
        if (pawl_state_command(d->w.st, i, d->w.look, &c, NULL, NULL) == PAWL_OK && strcmp(c.id, id) == 0)
            return c.limits;
    CHECK_FAIL("nothing of \"%s\" is open", node);
}

static inline void reply(driven *d, const char *node, const char *value)
{
    CHECK(world_receipt(&d->w, node, value) >= 0);
    drive_on(d);
}

static inline void fails(driven *d, const char *node, const char *value)
{
    CHECK(world_error(&d->w, node, value) >= 0);
    drive_on(d);
}

static inline void answer(driven *d, const char *slot, const char *value)
{
    CHECK(world_answer(&d->w, slot, value) >= 0);
    drive_on(d);
}

/* What a command that wrote `text` comes to. */
static inline void wrote(driven *d, const char *node, const char *text)
{
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "{\"status\":0,\"stderr\":\"\",\"stdout\":");
    canon_string(&b, text, strlen(text));
    buf_text(&b, "}");
    buf_char(&b, '\0');
    reply(d, node, b.data);
    buf_free(&b);
}

/* The only wait: its kind and its prompt. */
static inline const char *waits_for(driven *d)
{
    static char text[512];
    pawl_wait q;

    CHECK_INT(pawl_state_waits(d->w.st), 1);
    CHECK(pawl_state_wait(d->w.st, 0, d->w.look, &q, NULL) == PAWL_OK);
    snprintf(text, sizeof text, "%s %s", pawl_wait_kind_name(q.kind), q.prompt != NULL ? pawl_text(d->w.look, q.prompt) : "");
    return text;
}

/* How often `text` stands in the journal. */
static inline size_t in_journal(const driven *d, const char *text)
{
    size_t n = strlen(text), count = 0;

    for (size_t i = 0; i + n <= d->w.journal.size; i++)
        count += memcmp(d->w.journal.data + i, text, n) == 0;
    return count;
}

static inline void stands(driven *d, const char *status, const char *where, const char *value)
{
    if (strcmp(world_status(&d->w), status) != 0)
        printf("%s\n", world_reason(&d->w));
    CHECK_STR(world_status(&d->w), status);
    if (where != NULL)
        CHECK_STR(world_get(&d->w, where), value);
}

#endif
