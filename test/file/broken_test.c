/* broken_test.c - agent files with faults, and every word that is said of them: corpus/NAME.yaml or .json, and corpus/NAME.out with a line
 * for each fault, `LINE:COLUMN: fault KIND: TEXT`, or `note`; one in a file that NAME leads to begins with that file. */
#include "file/filing.h"

#include <dirent.h>

#define CORPUS PAWL_SOURCE_DIR "/test/file/corpus"
enum { CASES_MAX = 1000, CASES_LEAST = 130, KINDS_MAX = 100 };

typedef struct corpus { char *names[CASES_MAX]; size_t n; } corpus;

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);

    return n > m && strcmp(text + n - m, with) == 0;
}

static corpus corpus_open(void)
{
    corpus c = {0};
    DIR *d = opendir(CORPUS);
    const struct dirent *e;

    CHECK(d != NULL);
    while ((e = readdir(d)) != NULL)
        if (c.n < CASES_MAX && (ends(e->d_name, ".yaml") || ends(e->d_name, ".json")))
            c.names[c.n++] = strdup(e->d_name);
    closedir(d);
    qsort(c.names, c.n, sizeof *c.names, by_name);
    return c;
}

static void corpus_close(corpus *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->names[i]);
}

/* To be freed; "" when there is no such file. */
static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, (1 << 17) + 1);

    CHECK(text != NULL);
    if (f != NULL) {
        text[fread(text, 1, 1 << 17, f)] = '\0';
        fclose(f);
    }
    return text;
}

/* All that `pawl check` would find. */
static const char *found(bench *b, const char *name)
{
    filing from = { .folder = CORPUS };
    const file_reader reader = filing_reader(&from);
    agent_file *a = file_load(&b->mem, name, &reader, &b->f);
    pawl_machine *m = NULL;
    pawl_err err = {0};

    if (a != NULL && b->f.count == 0) {
        m = file_machine(a, "none", &b->f, &err);
        if (m != NULL)
            file_search(a, m, &b->f);
        CHECK(m != NULL || b->f.count > 0);
        pawl_machine_free(m);
    }
    CHECK(!b->mem.failed);
    buf_reset(&b->out);
    for (const file_fault *f = b->f.first; f != NULL; f = f->next) {
        if (strcmp(f->at.file, name) != 0)
            buf_fmt(&b->out, "%s:", f->at.file);
        buf_fmt(&b->out, "%u:%u: %s %s: %s\n", (unsigned)f->at.line, (unsigned)f->at.column, f->severity == PAWL_SEVERITY_FAULT ? "fault" : "note",
            f->kind, f->text);
        CHECK(f->text[0] != '\0' && strstr(f->text, "failed to") == NULL && strchr(f->text, '\n') == NULL && utf8_valid(f->text, strlen(f->text)));
    }
    buf_char(&b->out, '\0');
    return b->out.data;
}

PAWL_TEST(test_every_fault_is_told_at_once_in_its_place)
{
    corpus c = corpus_open();

    for (size_t i = 0; i < c.n; i++) {
        char path[1024], *expected;
        const char *text;
        bench *b = bench_new();

        snprintf(path, sizeof path, CORPUS "/%.*s.out", (int)(strrchr(c.names[i], '.') - c.names[i]), c.names[i]);
        expected = slurp(path);
        text = found(b, c.names[i]);
        if (strcmp(text, expected) != 0)
            printf("%s:\n", c.names[i]);
        CHECK_STR(text, expected);
        CHECK(*expected != '\0');
        free(expected);
        bench_free(b);
    }
    CHECK(c.n >= CASES_LEAST);
    corpus_close(&c);
}

/* ---- kinds: every kind that is found is in docs/ERRORS.md, and every kind that is there is found ----------------------- */

typedef struct kinds { char *names[KINDS_MAX]; size_t n; } kinds;

static bool kinds_have(const kinds *k, const char *name, size_t size)
{
    for (size_t i = 0; i < k->n; i++)
        if (strlen(k->names[i]) == size && strncmp(k->names[i], name, size) == 0)
            return true;
    return false;
}

static void kinds_add(kinds *k, const char *name, size_t size)
{
    if (kinds_have(k, name, size))
        return;
    CHECK(k->n < KINDS_MAX);
    k->names[k->n++] = check_copy(name, size);
}

static void kinds_free(kinds *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->names[i]);
}

static void kinds_of_outputs(kinds *k)
{
    corpus c = corpus_open();

    for (size_t i = 0; i < c.n; i++) {
        char path[1024];
        char *text;

        snprintf(path, sizeof path, CORPUS "/%.*s.out", (int)(strrchr(c.names[i], '.') - c.names[i]), c.names[i]);
        text = slurp(path);
        for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
            const char *fault = strstr(line, ": fault "), *note = strstr(line, ": note "), *kind;

            if (note != NULL && (fault == NULL || note < fault))
                kind = note + 7;
            else
                kind = fault + 8;
            CHECK(fault != NULL || note != NULL);
            kinds_add(k, kind, strcspn(kind, ":"));
        }
        free(text);
    }
    corpus_close(&c);
}

/* In every table of the section, what its first column has in backquotes. */
static void kinds_of_manual(kinds *k)
{
    char *text = slurp(PAWL_SOURCE_DIR "/docs/ERRORS.md"), *from = strstr(text, "\n## Faults of an agent file\n"), *to;

    CHECK(from != NULL);
    if ((to = strstr(from + 4, "\n## ")) != NULL)
        *to = '\0';
    for (char *line = from; (line = strstr(line, "\n| `")) != NULL; line++)
        for (char *p = line + 3, *end = strchr(p, '|'); end != NULL && (p = strchr(p, '`')) != NULL && p < end; p = strchr(p + 1, '`') + 1)
            kinds_add(k, p + 1, strcspn(p + 1, "`"));
    free(text);
}

PAWL_TEST(test_every_kind_of_fault_is_here_and_in_the_manual)
{
    static const char *const elsewhere[] = { "too-large", "limit" };     /* below */
    kinds here = {0}, manual = {0};

    kinds_of_outputs(&here);
    kinds_of_manual(&manual);
    for (size_t i = 0; i < 2; i++)
        kinds_add(&here, elsewhere[i], strlen(elsewhere[i]));
    for (size_t i = 0; i < here.n; i++)
        if (!kinds_have(&manual, here.names[i], strlen(here.names[i])))
            CHECK_FAIL("docs/ERRORS.md has no fault `%s`", here.names[i]);
    for (size_t i = 0; i < manual.n; i++)
        if (!kinds_have(&here, manual.names[i], strlen(manual.names[i])))
            CHECK_FAIL("no file of the corpus has a fault `%s`", manual.names[i]);
    kinds_free(&here);
    kinds_free(&manual);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static void tells(const filing_text *texts, const char *expected)
{
    bench *b = bench_new();
    filing from = { .texts = texts };
    const file_reader reader = filing_reader(&from);

    (void)file_load(&b->mem, texts[0].name, &reader, &b->f);
    CHECK_STR(told(b), expected);
    bench_free(b);
}

PAWL_TEST(test_X2_a_file_has_its_limits)
{
    char *large = malloc((1 << 20) + 2);

    CHECK(large != NULL);
    memset(large, ' ', (1 << 20) + 1);
    large[(1 << 20) + 1] = '\0';
    tells((const filing_text[]){ { "a.yaml", large }, { NULL, NULL } },
          "1:1 too-large: 1048577 bytes are more than an agent file may have, 1048576 (FILE_BYTES_MAX): keep data in files of their own\n");
    free(large);
}

PAWL_TEST(test_X2_graphs_inside_each_other_have_their_limit)
{
    static const char link[] = "start: a\nnodes:\n  a: {graph: %c.yaml, next: end}\n";
    char texts[10][80], names[10][8];
    filing_text all[11] = {{0}};

    for (int i = 0; i < 10; i++) {
        snprintf(names[i], sizeof names[i], "%c.yaml", 'a' + i);
        snprintf(texts[i], sizeof texts[i], link, 'a' + i + 1);
        all[i] = (filing_text){ names[i], texts[i] };
    }
    tells(all, "3:14 limit: more than 8 graphs inside each other (FILE_GRAPH_DEPTH_MAX), or 64 in all (FILE_GRAPHS_MAX)\n");
}

PAWL_TEST(test_X2_expressions_have_their_limit)
{
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, "start: a\nstate: {x: {}}\nnodes:\n  a:\n    next: end\n    effect: pure\n    run:\n");
    for (int i = 0; i < EXPRESSIONS_MAX + 1; i++)
        buf_text(&b, "      - \"{{.x + 1}}\"\n");
    buf_char(&b, '\0');
    tells((const filing_text[]){ { "a.yaml", b.data }, { NULL, NULL } },
          "1008:12 limit: more than 1000 expressions that are no plain path (EXPRESSIONS_MAX)\n");
    buf_free(&b);
}

PAWL_TEST(test_X2_faults_are_counted_and_notes_never_hide_them)
{
    bench *b = bench_new();
    filing_text texts[2] = {{0}};
    filing from = { .texts = texts };
    const file_reader reader = filing_reader(&from);
    size_t told_faults = 0, notes = 0;
    buf t;

    buf_init(&t, NULL);
    buf_text(&t, "start: n0\nnodes:\n");
    for (int i = 0; i < 150; i++)
        buf_fmt(&t, "  n%d: {run: [ls], next: n%d}\n", i, i + 1);
    for (int i = 150; i < 300; i++)
        buf_fmt(&t, "  n%d: {run: [], next: n%d}\n", i, i + 1);
    buf_text(&t, "  n300: {set: {}, next: end}\n");
    buf_char(&t, '\0');
    texts[0] = (filing_text){ "a.yaml", t.data };
    (void)file_load(&b->mem, "a.yaml", &reader, &b->f);
    for (const file_fault *f = b->f.first; f != NULL; f = f->next) {
        told_faults += f->severity == PAWL_SEVERITY_FAULT;
        notes += f->severity == PAWL_SEVERITY_WARNING;
    }
    CHECK_INT(b->f.count, 151);
    CHECK_INT(told_faults, FILE_FAULTS_MAX);
    CHECK_INT(notes, FILE_FAULTS_MAX);
    buf_free(&t);
    bench_free(b);
}
