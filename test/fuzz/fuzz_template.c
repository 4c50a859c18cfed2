/* fuzz_template.c - any text as a template: refused with words, or cut into pieces that put together are the text; an expression
 * that was taken stays between parentheses, and a path leads somewhere or says why not. */
#include "file/file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void path_holds(const expression *e, arena *mem)
{
    static const char *const roots[] = { "null", "{\"a\":[{\"b\":1},\"x\"],\"b\":{\"a\":[]}}", "[[1,2],{\"a\":3}]", "\"text\"" };

    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        pawl_err err = { PAWL_OK, "" };
        const pawl_value *v = path_follow(e, value_parse(mem, roots[i], strlen(roots[i]), "root", NULL), &err);

        must((v == NULL) == (err.code < 0) && (v != NULL || (*err.text == '`' && utf8_valid(err.text, strlen(err.text)))));
    }
}

static void expression_holds(const expression *e, arena *mem)
{
    expression again;
    faults f;
    buf b;

    faults_init(&f, mem);
    must(expression_read(&again, mem, e->text, e->at, &f));
    must(again.path == e->path && again.nsteps == e->nsteps);
    if (e->path) {
        path_holds(e, mem);
        return;
    }
    buf_init(&b, NULL);     /* what closes a bracket that is not its own would close this one */
    buf_fmt(&b, "(%s)", e->text);
    buf_char(&b, '\0');
    must(expression_read(&again, mem, b.data, e->at, &f));
    buf_reset(&b);
    buf_fmt(&b, "(%s", e->text);
    buf_char(&b, '\0');
    must(!expression_read(&again, mem, b.data, e->at, &f));
    buf_free(&b);
}

/* Every piece of text stands in the whole, after the one before it. */
static void pieces_hold(const template *t, const char *text, size_t size, arena *mem)
{
    const char *p = text, *end = text + size;

    for (size_t i = 0; i < t->npieces; i++) {
        const piece *x = &t->pieces[i];

        if (x->e == NULL) {
            must(x->size > 0 && x->size <= (size_t)(end - p) && memcmp(p, x->text, x->size) == 0);
            p += x->size;
            must(p == end || (i + 1 < t->npieces && t->pieces[i + 1].e != NULL));
            continue;
        }
        size_t inside = strlen(x->e->text);
        must(inside > 0 && end - p >= 4 && p[0] == '{' && p[1] == '{');
        for (p += 2; *p == ' ' || *p == '\t' || *p == '\n'; p++)
            ;
        if (x->e->text[inside - 1] == '\n')
            inside--;       /* put behind a comment */
        must(inside <= (size_t)(end - p) && memcmp(p, x->e->text, inside) == 0);
        for (p += inside; *p == ' ' || *p == '\t' || *p == '\n'; p++)
            ;
        must(p[0] == '}' && p[1] == '}');
        p += 2;
        expression_holds(x->e, mem);
    }
    must(p == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const source_place at = { "fuzz", 1, 1 };
    char *text = malloc(size + 1);
    template t;
    expression e;
    arena mem;
    faults f;
    bool good;

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    arena_init(&mem, NULL, 4096);
    faults_init(&f, &mem);
    good = template_read(&t, &mem, text, size, at, &f);
    must(good == (f.count == 0) && !mem.failed);
    if (good && utf8_valid(text, size))
        pieces_hold(&t, text, size, &mem);
    faults_init(&f, &mem);
    if (strlen(text) == size && utf8_valid(text, size)) {
        good = expression_read(&e, &mem, text, at, &f);
        must(good == (f.count == 0) && !mem.failed);
        if (good)
            expression_holds(&e, &mem);
    }
    for (const file_fault *x = f.first; x != NULL; x = x->next)
        must(*x->text != '\0' && utf8_valid(x->text, strlen(x->text)) && strchr(x->text, '\n') == NULL);
    arena_free(&mem);
    free(text);
    return 0;
}
