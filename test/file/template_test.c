/* template_test.c - texts with expressions in them, cut into pieces. */
#include "file/reading.h"

#include <stdlib.h>

/* Pieces: text in quotes, paths and jq in brackets with their place. */
static void cuts(const char *text, const char *expected)
{
    bench *b = bench_new();
    template t;
    bool good = template_read(&t, &b->mem, text, strlen(text), (source_place){ "f", 3, 7 }, &b->f);

    CHECK_STR(told(b), "");
    CHECK(good);
    buf_reset(&b->out);
    for (size_t i = 0; i < t.npieces; i++)
        if (t.pieces[i].e == NULL)
            buf_fmt(&b->out, "'%s'", t.pieces[i].text);
        else
            buf_fmt(&b->out, "%s<%s>%u:%u", t.pieces[i].e->path ? "path" : "jq", t.pieces[i].e->text, (unsigned)t.pieces[i].e->at.line,
                    (unsigned)t.pieces[i].e->at.column);
    buf_char(&b->out, '\0');
    CHECK_STR(b->out.data, expected);
    bench_free(b);
}

static void wrong(const char *text, const char *expected)
{
    bench *b = bench_new();
    template t;

    CHECK(!template_read(&t, &b->mem, text, strlen(text), (source_place){ "f", 3, 7 }, &b->f));
    CHECK_STR(told(b), expected);
    bench_free(b);
}

PAWL_TEST(test_texts_are_cut_at_double_braces)
{
    cuts("", "");
    cuts("plain", "'plain'");
    cuts("{{.a}}", "path<.a>3:9");
    cuts("a {{ .b }} c", "'a 'path<.b>3:12' c'");
    cuts("{{.a}}{{.b | length}}", "path<.a>3:9jq<.b | length>3:15");
    cuts("\xC3\xA9 {{.a}}", "'\xC3\xA9 'path<.a>3:11");
    cuts("a\n{{.b}}", "'a\n'path<.b>3:7");
    cuts("}} {a} { {b} } }}", "'}} {a} { {b} } }}'");
    cuts(" \t\r\n{{.}}\n", "' \t\r\n'path<.>3:7'\n'");
}

PAWL_TEST(test_braces_and_quotes_inside_an_expression_are_its_own)
{
    cuts("{{\"}}\"}}", "jq<\"}}\">3:9");
    cuts("{{\"{{\"}}x", "jq<\"{{\">3:9'x'");
    cuts("{{ {a: {b: 1}} }}", "jq<{a: {b: 1}}>3:10");
    cuts("{{{a:{b:1}}}}", "jq<{a:{b:1}}>3:9");
    cuts("{{\"\\(\"}}\")\"}}", "jq<\"\\(\"}}\")\">3:9");
    cuts("{{.a # }}\n}}x", "jq<.a # }}\n>3:9'x'");
    cuts("{{.a}}}", "path<.a>3:9'}'");
}

PAWL_TEST(test_mistakes_are_told_with_their_place)
{
    wrong("x {{ y", "3:9 template: `{{` has no `}}` behind it; for the braces themselves write {{\"{{\"}}\n");
    wrong("x {{ y's ) end \"", "3:9 template: `{{` has no `}}` behind it; for the braces themselves write {{\"{{\"}}\n");
    wrong("{{.a}} {{.b }", "3:14 template: `{{` has no `}}` behind it; for the braces themselves write {{\"{{\"}}\n");
    wrong("{{.a # b}}", "3:7 template: `{{` has no `}}` behind it: a comment (`#`) goes on to the end of its line\n");
    wrong("a {{}}", "3:9 template: `{{}}` has no expression in it; for the braces themselves write {{\"{{\"}}\n");
    wrong("a {{ # b\n }}", "3:9 template: `{{}}` has no expression in it; for the braces themselves write {{\"{{\"}}\n");
    wrong("a {{ .b[ }}", "3:16 expression: `}` stands where the `]` that closes the last `[` is due\n");
    wrong("{{.a}} {{ env }}", "3:17 expression: `env` is refused, for an expression depends on the state alone: the run's input brings in what it needs\n");
    wrong("a\n {{ env }}", "3:7 expression: `env` is refused, for an expression depends on the state alone: the run's input brings in what it needs\n");
}

PAWL_TEST(test_a_NUL_is_text_and_no_expression)
{
    bench *b = bench_new();
    template t;

    CHECK(template_read(&t, &b->mem, "a\0b{{.c}}", 9, (source_place){ "f", 1, 1 }, &b->f) && t.pieces[0].size == 3);
    CHECK_BYTES(t.pieces[0].text, t.pieces[0].size, "a\0b", 3);
    CHECK(!template_read(&t, &b->mem, "{{\"a\0\"}}", 8, (source_place){ "f", 1, 1 }, &b->f));
    CHECK_STR(told(b), "1:3 expression: a NUL character in an expression: remove it\n");
    bench_free(b);
}

PAWL_TEST(test_one_expression_alone_is_the_whole)
{
    bench *b = bench_new();
    const source_place at = { "f", 1, 1 };
    template t;

    CHECK(template_read(&t, &b->mem, "{{.a}}", 6, at, &b->f) && template_whole(&t) != NULL && template_whole(&t)->path);
    CHECK(template_read(&t, &b->mem, "{{.a}} ", 7, at, &b->f) && template_whole(&t) == NULL);
    CHECK(template_read(&t, &b->mem, "{{.a}}{{.b}}", 12, at, &b->f) && template_whole(&t) == NULL);
    CHECK(template_read(&t, &b->mem, "a", 1, at, &b->f) && template_whole(&t) == NULL);
    CHECK(template_read(&t, &b->mem, NULL, 0, at, &b->f) && t.npieces == 0 && template_whole(&t) == NULL);
    bench_free(b);
}

PAWL_TEST(test_the_place_in_a_file_is_as_exact_as_is_known)
{
    bench *b = bench_new();
    const char *text = "- x {{ now }}\n- \"x {{ now }}\"\n- \"\\x78 {{ now }}\"\n- |\n  x {{ now }}\n";
    const doc *d = read_text(b, text, strlen(text));
    static const uint32_t columns[] = { 8, 9, 3, 3 };
    const file_fault *f;
    template t;

    CHECK(d != NULL);
    for (size_t i = 0; i < d->size; i++)
        CHECK(!template_of(&t, &b->mem, d->items[i], &b->f));
    f = b->f.first;
    for (uint32_t i = 0; i < 4; i++, f = f->next) {
        CHECK(f != NULL);
        CHECK_INT(f->at.line, i + 1);
        CHECK_INT(f->at.column, columns[i]);
    }
    bench_free(b);
}

PAWL_TEST(test_many_expressions_take_little)
{
    const size_t n = (1 << 20) / 5;
    char *text = malloc(n * 5);
    bench *b = bench_new();
    template t;

    CHECK(text != NULL);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * 5, "{{.}}", 5);
    CHECK(template_read(&t, &b->mem, text, n * 5, (source_place){ "f", 1, 1 }, &b->f));
    CHECK_INT(t.npieces, n);
    CHECK_INT(t.pieces[n - 1].e->at.column, n * 5 - 2);
    memset(text, '{', n * 5);
    CHECK(!template_read(&t, &b->mem, text, n * 5, (source_place){ "f", 1, 1 }, &b->f));
    free(text);
    bench_free(b);
}

PAWL_TEST(test_every_allocation_may_fail)
{
    static const char *const texts[] = { "a {{.b}} c {{.d | length}} e {{\"}}\"}} f {{.g}}", "a {{ now }}", "{{" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool fired = true;

        for (size_t n = 0; fired; n++) {
            bench *b = bench_new();
            template t;
            bool good;

            b->mem.chunk_bytes = 16;
            heap_fail_at(&b->h, n);
            good = template_read(&t, &b->mem, texts[i], strlen(texts[i]), (source_place){ "f", 1, 1 }, &b->f);
            fired = b->h.fired;
            CHECK(!fired || (!good && b->mem.failed));
            CHECK(fired || good == (i == 0));
            bench_free(b);
        }
    }
}
