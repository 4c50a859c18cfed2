/* doc_test.c - YAML and JSON as a tree: what is read, and what is told of what is not. */
#include "file/reading.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- faults ---------------------------------------------------------------------------------------------- */

static source_place at(const char *file, uint32_t line, uint32_t column)
{
    return (source_place){ file, line, column };
}

PAWL_TEST(test_faults_stand_in_order_and_once)
{
    bench *b = bench_new();

    fault_at(&b->f, at("b", 1, 1), PAWL_SEVERITY_FAULT, "x", "file b");
    fault_at(&b->f, at("a", 2, 9), PAWL_SEVERITY_FAULT, "x", "second");
    fault_at(&b->f, at("a", 10, 1), PAWL_SEVERITY_WARNING, "x", "third %d", 3);
    fault_at(&b->f, at("a", 2, 3), PAWL_SEVERITY_FAULT, "x", "first");
    fault_at(&b->f, at("a", 2, 9), PAWL_SEVERITY_FAULT, "x", "again, of the same place and kind");
    fault_at(&b->f, at("a", 2, 9), PAWL_SEVERITY_FAULT, "y", "another\nkind");
    CHECK_STR(told(b), "2:3 x: first\n2:9 x: second\n2:9 y: another?kind\n10:1 warning x: third 3\n1:1 x: file b\n");
    CHECK_INT(b->f.count, 4);
    CHECK_INT(b->f.warnings, 1);
    bench_free(b);
}

PAWL_TEST(test_faults_past_the_limit_are_counted)
{
    bench *b = bench_new();
    size_t n = 0;

    for (uint32_t i = 0; i < FILE_FAULTS_MAX + 50; i++)
        fault_at(&b->f, at("a", i + 1, 1), PAWL_SEVERITY_FAULT, "x", "here");
    for (const file_fault *f = b->f.first; f != NULL; f = f->next)
        n++;
    CHECK_INT(n, FILE_FAULTS_MAX);
    CHECK_INT(b->f.count, FILE_FAULTS_MAX + 50);
    bench_free(b);
}

PAWL_TEST(test_a_long_fault_is_cut_between_characters)
{
    char longer[1500];

    for (size_t lead = 0; lead < 3; lead++) {
        bench *b = bench_new();
        size_t size;

        memset(longer, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof longer; i += 3)
            memcpy(longer + i, "\xE2\x82\xAC", 4);
        fault_at(&b->f, at("a", 1, 1), PAWL_SEVERITY_FAULT, "x", "%s", longer);
        size = strlen(b->f.first->text);
        CHECK(size <= 500 && size > 490 && utf8_valid(b->f.first->text, size));
        bench_free(b);
    }
}

/* ---- what is read -------------------------------------------------------------------------------------------- */

/* A tree: `LINE:COLUMN` before each node; of a scalar also where its text stands, or `-`. */
static void tree(buf *b, const doc *d)
{
    buf_fmt(b, "%u:%u", (unsigned)d->at.line, (unsigned)d->at.column);
    if (d->kind == DOC_SCALAR) {
        buf_fmt(b, d->text_at.line == 0 ? "/-" : "/%u:%u", (unsigned)d->text_at.line, (unsigned)d->text_at.column);
        buf_fmt(b, d->plain ? " %s" : " '%s'", d->text);
        return;
    }
    buf_text(b, d->kind == DOC_LIST ? " [" : " {");
    for (size_t i = 0; i < d->size; i++) {
        buf_text(b, i > 0 ? ", " : "");
        if (d->kind == DOC_MAP) {
            tree(b, d->keys[i]);
            buf_text(b, " = ");
        }
        tree(b, d->items[i]);
    }
    buf_char(b, d->kind == DOC_LIST ? ']' : '}');
}

static void reads(const char *text, const char *expected)
{
    bench *b = bench_new();
    const doc *d = read_text(b, text, strlen(text));

    CHECK_STR(told(b), "");
    CHECK(d != NULL);
    buf_reset(&b->out);
    tree(&b->out, d);
    buf_char(&b->out, '\0');
    CHECK_STR(b->out.data, expected);
    bench_free(b);
}

PAWL_TEST(test_yaml_is_a_tree_with_places)
{
    reads("a", "1:1/1:1 a");
    reads("name: survey\nnodes:\n  list: {run: [find, \"{{.dir}}\"]}\n",
          "1:1 {1:1/1:1 name = 1:7/1:7 survey, 2:1/2:1 nodes = 3:3 {3:3/3:3 list = 3:9 {3:10/3:10 run = 3:15 [3:16/3:16 find, 3:22/3:23 '{{.dir}}']}}}");
    reads("- a\n- - b\n  - c\n", "1:1 [1:3/1:3 a, 2:3 [2:5/2:5 b, 3:5/3:5 c]]");
    reads("a:\nb: ~\n", "1:1 {1:1/1:1 a = 1:3/- , 2:1/2:1 b = 2:4/2:4 ~}");
    reads("? a\n: b\n", "1:1 {1:3/1:3 a = 2:3/2:3 b}");
    reads("%YAML 1.2\n---\na: b\n...\n", "3:1 {3:1/3:1 a = 3:4/3:4 b}");
    reads("a: {}\nb: []\n", "1:1 {1:1/1:1 a = 1:4 {}, 2:1/2:1 b = 2:4 []}");
}

PAWL_TEST(test_columns_count_characters_and_lines_end_in_any_way)
{
    reads("\xEF\xBB\xBF\xC3\xA9: [\xE2\x82\xAC, \"\xF0\x9F\x98\x80\", x]",
          "1:1 {1:1/1:1 \xC3\xA9 = 1:4 [1:5/1:5 \xE2\x82\xAC, 1:8/1:9 '\xF0\x9F\x98\x80', 1:13/1:13 x]}");
    reads("a: b\r\nc:\r\n  d: e\r\n", "1:1 {1:1/1:1 a = 1:4/1:4 b, 2:1/2:1 c = 3:3 {3:3/3:3 d = 3:6/3:6 e}}");
    reads("a: b\rc: d\r", "1:1 {1:1/1:1 a = 1:4/1:4 b, 2:1/2:1 c = 2:4/2:4 d}");
    reads("{\r\n \"\xC3\xA9\": 1, \"b\" :\r\n2}", "1:1 {2:2/2:3 '\xC3\xA9' = 2:7/2:7 1, 2:10/2:11 'b' = 3:1/3:1 2}");
}

/* Only then has a column inside the text a place in the file. */
PAWL_TEST(test_it_is_known_whether_a_text_stands_there_as_it_is)
{
    reads("a: 'b c' # d\n", "1:1 {1:1/1:1 a = 1:4/1:5 'b c'}");
    reads("a: 'it''s'\n", "1:1 {1:1/1:1 a = 1:4/- 'it's'}");
    reads("a: \"b\\tc\"\n", "1:1 {1:1/1:1 a = 1:4/- 'b\tc'}");
    reads("a: b\n  c\n", "1:1 {1:1/1:1 a = 1:4/- b c}");
    reads("a: |\n  b\n", "1:1 {1:1/1:1 a = 1:4/- 'b\n'}");
    reads("[\"a\\/b\", \"c\"]", "1:1 [1:2/- 'a/b', 1:10/1:11 'c']");
}

PAWL_TEST(test_json_is_read_as_json)
{
    reads(" \n[1, -2.50, true, null, {\"a\": []}]\n", "2:1 [2:2/2:2 1, 2:5/2:5 -2.50, 2:12/2:12 true, 2:18/2:18 null, 2:24 {2:25/2:26 'a' = 2:30 []}]");
    reads("{\"a\\u0062\":\"\\ud83d\\ude00\\/\\\\\\\"\"}", "1:1 {1:2/- 'ab' = 1:12/- '\xF0\x9F\x98\x80/\\\"'}");
    reads("{}", "1:1 {}");
    reads("[\t]", "1:1 []");
}

/* ---- types and values --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_types_are_those_of_the_core_schema)
{
    static const struct { const char *text; pawl_type type; } rows[] = {
        { "", PAWL_TYPE_NULL }, { "~", PAWL_TYPE_NULL }, { "null", PAWL_TYPE_NULL }, { "Null", PAWL_TYPE_NULL }, { "nULL", PAWL_TYPE_STRING },
        { "true", PAWL_TYPE_BOOL }, { "FALSE", PAWL_TYPE_BOOL }, { "tRue", PAWL_TYPE_STRING }, { "yes", PAWL_TYPE_STRING }, { "no", PAWL_TYPE_STRING },
        { "on", PAWL_TYPE_STRING }, { "off", PAWL_TYPE_STRING }, { "y", PAWL_TYPE_STRING }, { "0", PAWL_TYPE_INT }, { "-12", PAWL_TYPE_INT },
        { "+12", PAWL_TYPE_INT }, { "007", PAWL_TYPE_INT }, { "0o17", PAWL_TYPE_INT }, { "0o18", PAWL_TYPE_STRING }, { "0o", PAWL_TYPE_STRING },
        { "0x1F", PAWL_TYPE_INT }, { "-0x1F", PAWL_TYPE_STRING }, { "0x", PAWL_TYPE_STRING }, { "0b1", PAWL_TYPE_STRING }, { "1_000", PAWL_TYPE_STRING },
        { "1.", PAWL_TYPE_REAL }, { ".5", PAWL_TYPE_REAL }, { "-1.5e+3", PAWL_TYPE_REAL }, { "1e3", PAWL_TYPE_REAL }, { "1e", PAWL_TYPE_STRING },
        { ".", PAWL_TYPE_STRING }, { "-", PAWL_TYPE_STRING }, { "+", PAWL_TYPE_STRING }, { ".e3", PAWL_TYPE_STRING }, { "1.2.3", PAWL_TYPE_STRING },
        { "190:20:30", PAWL_TYPE_STRING }, { ".inf", PAWL_TYPE_REAL }, { "-.INF", PAWL_TYPE_REAL }, { ".NaN", PAWL_TYPE_REAL },
        { "-.nan", PAWL_TYPE_STRING }, { "2001-01-01", PAWL_TYPE_STRING }, { "=", PAWL_TYPE_STRING },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        doc d = { .kind = DOC_SCALAR, .plain = true, .text = rows[i].text, .size = strlen(rows[i].text) };

        if (doc_type(&d) != rows[i].type)
            CHECK_FAIL("%s has type %d and not %d", rows[i].text, (int)doc_type(&d), (int)rows[i].type);
        d.plain = false;
        CHECK_INT(doc_type(&d), PAWL_TYPE_STRING);
    }
    CHECK_INT(doc_type(NULL), PAWL_TYPE_NONE);
    CHECK_INT(doc_type(&(doc){ .kind = DOC_MAP }), PAWL_TYPE_OBJECT);
    CHECK_INT(doc_type(&(doc){ .kind = DOC_LIST }), PAWL_TYPE_ARRAY);
}

static void values(const char *text, const char *expected)
{
    bench *b = bench_new();
    const doc *d = read_text(b, text, strlen(text));
    const pawl_value *v = d == NULL ? NULL : doc_value(d, &b->mem, &b->f);

    CHECK_STR(told(b), "");
    CHECK(v != NULL);
    buf_reset(&b->out);
    canon(&b->out, v);
    buf_char(&b->out, '\0');
    CHECK_STR(b->out.data, expected);
    bench_free(b);
}

PAWL_TEST(test_values_are_exact)
{
    values("[]", "[]");
    values("- 18446744073709551615\n- -9223372036854775808\n- 0xFFFFFFFFFFFFFFFF\n- 0o1777777777777777777777\n- -0\n- 010\n- +5\n",
           "[18446744073709551615,-9223372036854775808,18446744073709551615,18446744073709551615,0,10,5]");
    values("- 0.10\n- .5\n- 1.\n- +00.5e-1\n- -1.5E3\n- -0.0\n- 000.0\n", "[0.1,0.5,1.0,0.05,-1500.0,0.0,0.0]");
    values("- yes\n- 'true'\n- True\n- ~\n-\n- \"\"\n", "[\"yes\",\"true\",true,null,null,\"\"]");
    values("b: {1: x, true: y}\na: \"q\\\"\\n\"\n", "{\"a\":\"q\\\"\\n\",\"b\":{\"1\":\"x\",\"true\":\"y\"}}");
    values("{\"a\": \"1\", \"b\": 1E2}", "{\"a\":\"1\",\"b\":100.0}");
}

PAWL_TEST(test_numbers_that_no_value_holds_are_told)
{
    static const char *const texts[] = { ".inf", "-.INF", ".nan", "18446744073709551616", "-9223372036854775809", "0x10000000000000000", "1e400",
                                         "99999999999999999999999999" };
    char expected[300];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bench *b = bench_new();
        char text[64];
        size_t size = (size_t)snprintf(text, sizeof text, "a: [1, %s]", texts[i]);
        const doc *d = read_text(b, text, size);

        CHECK(d != NULL && doc_value(d, &b->mem, &b->f) == NULL);
        snprintf(expected, sizeof expected,
                 "1:8 number: %s is no number that a value can hold (integers have 64 bits, reals are finite): put it in quotes to keep it as text\n",
                 texts[i]);
        CHECK_STR(told(b), expected);
        bench_free(b);
    }
}

PAWL_TEST(test_members_are_found_by_name)
{
    bench *b = bench_new();
    const doc *d = read_text(b, "a: 1\nb: {c: 0.10}\n", 18);

    CHECK_STR(doc_get(doc_get(d, "b"), "c")->text, "0.10");
    CHECK(doc_get(d, "c") == NULL && doc_get(NULL, "a") == NULL && doc_get(doc_get(d, "a"), "a") == NULL);
    bench_free(b);
}

/* ---- what is not read ------------------------------------------------------------------------------------------------ */

PAWL_TEST(test_what_yaml_has_and_a_file_has_not_is_told_all_at_once)
{
    refused("a: [&x b, *x, !!str c, !t &q d]\n<<: {b: 1}\n",
            "1:5 alias: anchor `&x`: an agent file has no anchors, write out what is meant (or put a text that begins with `&` in quotes)\n"
            "1:11 alias: alias `*x`: an agent file has no aliases, write out what is meant (or put a text that begins with `*` in quotes)\n"
            "1:15 tag: tag `!!str`: an agent file has no tags, quotes alone make a text (also one that begins with `!`)\n"
            "1:24 tag: tag `!t`: an agent file has no tags, quotes alone make a text (also one that begins with `!`)\n"
            "1:27 alias: anchor `&q`: an agent file has no anchors, write out what is meant (or put a text that begins with `&` in quotes)\n"
            "2:1 alias: merge key `<<`: an agent file has none, write out the members that are meant\n");
    reads("'<<': 1\n", "1:1 {1:1/1:2 '<<' = 1:7/1:7 1}");
    refused("a: 1\n---\nb: 2\n", "2:1 documents: a second document begins here: an agent file has one, put the other in a file of its own\n");
    refused("# c\n%YAML 1.2\n%TAG ! x\n---\na: 1\n", "3:1 directive: directive `%TAG`: an agent file has no tags, remove it\n");
    refused("%YAML 1.3\n---\na: 1\n", "1:1 syntax: an agent file is YAML 1.2 (or 1.1): write `%YAML 1.2`, or nothing\n");
    refused("%FOO\n---\na: 1\n", "1:5 syntax: the only directive is `%YAML 1.2`\n");
}

PAWL_TEST(test_keys_are_texts_and_stand_once)
{
    refused("a: 1\nb: {c: 1, 'c': 2}\na: 3\n\"a\": 4\n",
            "2:11 duplicate-key: key \"c\" is already in line 2 of this map: keep one of them\n"
            "3:1 duplicate-key: key \"a\" is already in line 1 of this map: keep one of them\n"
            "4:1 duplicate-key: key \"a\" is already in line 1 of this map: keep one of them\n");
    refused("{\"a\": 1,\n \"b\": {\"x\": 1, \"\\u0078\": 2}, \"a\": 3}",
            "2:16 duplicate-key: key \"x\" is already in line 2 of this map: keep one of them\n"
            "2:30 duplicate-key: key \"a\" is already in line 1 of this map: keep one of them\n");
    refused("a: 1\n? [x]\n: 2\n", "2:3 key: a list stands where a key is due: a key is a text\n");
    refused("a: {? {x: 1} : 2}\n", "1:7 key: a map stands where a key is due: a key is a text\n");
    refused("a: {? : 2}\n", "1:7 key: a key is missing before the `:`\n");
}

PAWL_TEST(test_braces_without_quotes_are_told)
{
    refused("a: {{.x}}\n", "1:4 syntax: a value that begins with `{{` stands in quotes: \"{{...}}\"\n");
    refused("{{.x}}\n", "1:1 syntax: a value that begins with `{{` stands in quotes: \"{{...}}\"\n");
    refused("run: [ls, x{{.x | split(\"a\")}}]\n", "1:12 syntax: `{{` without quotes around it: put the whole text in quotes, \"...{{...}}...\"\n");
    refused("a: is {{.x}}: y\n", "1:7 syntax: `{{` without quotes around it: put the whole text in quotes, \"...{{...}}...\"\n");
    reads("a: is {{.x}}, y\n", "1:1 {1:1/1:1 a = 1:4/1:4 is {{.x}}, y}");
}

PAWL_TEST(test_mistakes_of_yaml_are_told_in_words)
{
    refused("nodes:\n\ta: 1\n", "2:1 syntax: a tab indents this line: YAML wants spaces\n");
    refused("nodes:\n  a: 1\n \tb: 2\n", "3:2 syntax: a tab indents this line: YAML wants spaces\n");
    refused("name:x\nstart: a\n", "1:6 syntax: a space is missing after the `:` of this key\n");
    refused("a: 1\nname:x\nstart: a\n", "2:6 syntax: a space is missing after the `:` of this key\n");
    refused("a: 1\nname\nb: 2\n",
            "2:1 syntax: a key and its `: ` are due here: is the colon missing, or is this line indented otherwise than the ones that it belongs to?\n");
    refused("a: b: c\n", "1:5 syntax: a second `: ` in one line: put the value in quotes, or the map that it begins on lines of its own\n");
    refused("a: 1\n b: 2\n", "2:3 syntax: a `: ` cannot stand here: the line before it is the beginning of the same value. Is its colon missing, or is "
                             "this line indented too far?\n");
    refused("a: \"x {{.y}}\" z\n", "1:15 syntax: text after the closing quote: the quotes go around all of the value\n");
    refused("a:\n   b: 1\n  c: 2\n", "3:3 syntax: this belongs to nothing: the map that begins in line 1 has its keys in column 1\n");
    refused("a:\n  - b\n  c: 2\n", "3:3 syntax: a `- ` is due here\n");
    refused("a: - b\n", "1:4 syntax: a list of `-` begins on a line of its own, below its key\n");
    refused("a: \"b\nc: d\n", "3:1 syntax: the file ends inside quotes that are not closed (opened in line 1, column 4)\n");
    refused("a: [b, c\n  d: e\n", "2:4 syntax: a `,` or the closing `]` of a list is due here (opened in line 1, column 4)\n");
    refused("a: {b: c\n", "2:1 syntax: a `,` or the closing `}` of a map is due here (opened in line 1, column 4)\n");
    refused("a: [\n", "2:1 syntax: the file ends inside a bracket that is not closed\n");
    refused("a: *.c\n", "1:5 syntax: a text that begins with `*` stands in quotes\n");
    refused("a: @b\n", "1:4 syntax: `@` cannot begin a value: put the value in quotes\n");
    refused("a: !x!y z\n", "1:4 syntax: an agent file has no tags: a text that begins with `!` stands in quotes\n");
    refused("a: \"\\q\"\n", "1:5 syntax: an escape that YAML does not have: write `\\\\` for a backslash, or use single quotes\n");
    refused("a: \"\\ud83d\\ude00\"\n",
            "1:7 syntax: an escape of no character: one above U+FFFF is one `\\U` with 8 digits, or stands as it is\n");
    refused("a: | b\n  c\n", "1:6 syntax: after `|` or `>` the line ends: the text begins on the next one\n");
    refused("\"a\" b\n", "1:5 syntax: this belongs to nothing: what stands before it is a whole document already\n");
    refused("", "1:1 syntax: this file is empty: `pawl init` writes an example\n");
    refused("# nothing\n", "1:1 syntax: this file is empty: `pawl init` writes an example\n");
}

PAWL_TEST(test_mistakes_of_json_are_told_with_their_place)
{
    refused("{\"a\": 1,\n \"b\": [1, 2,]}",
            "2:12 syntax: not JSON: trailing comma is not allowed (a file that begins with a bracket is read as JSON; for YAML, begin it with a key)\n");
    refused("[1] x", "1:5 syntax: not JSON: unexpected content after document (a file that begins with a bracket is read as JSON; for YAML, begin it "
                     "with a key)\n");
    refused("[\"\\u0000\"]", "1:2 encoding: a text with a NUL character (\\u0000): no argument and no name can hold it, remove it\n");
}

PAWL_TEST(test_bytes_that_are_no_text_are_told)
{
    refused("a: b\nc: \xFF\n", "2:4 encoding: byte 0xFF is not UTF-8: save the file as UTF-8\n");
    refused("a: \xC3\xA9\xE2\x82", "1:5 encoding: byte 0xE2 is not UTF-8: save the file as UTF-8\n");
    refused("\xFF\xFE" "a", "1:1 encoding: byte 0xFF is not UTF-8: save the file as UTF-8\n");
    refused("[\"\xED\xA0\x80\"]", "1:3 encoding: byte 0xED is not UTF-8: save the file as UTF-8\n");
    refused("a: \x1B[0m\n", "1:4 encoding: character U+001B cannot stand in YAML as it is: write it as \"\\u001b\", in double quotes\n");
    refused("a: b\xE2\x80\xA8" "c\n", "1:5 encoding: character U+2028 cannot stand in YAML as it is: write it as \"\\u2028\", in double quotes\n");
    refused("a: \"\\0\"\n", "1:4 encoding: a text with a NUL character (\\0): no argument and no name can hold it, remove it\n");
    for (int json = 0; json < 2; json++) {
        bench *b = bench_new();

        CHECK(read_text(b, json ? "[\"\0\"]" : "ab\0c", json ? 5 : 4) == NULL);
        CHECK_STR(told(b), "1:3 encoding: a NUL character: an agent file is text, save it as UTF-8\n");
        bench_free(b);
    }
}

/* ---- the hostile ---------------------------------------------------------------------------------------------------------- */

static char *repeated(const char *head, const char *text, size_t n, const char *tail)
{
    size_t size = strlen(text), from = strlen(head);
    char *out = malloc(from + size * n + strlen(tail) + 1);

    CHECK(out != NULL);
    memcpy(out, head, from);
    for (size_t i = 0; i < n; i++)
        memcpy(out + from + i * size, text, size);
    memcpy(out + from + n * size, tail, strlen(tail) + 1);
    return out;
}

static void refused_many(const char *head, const char *text, size_t n, const char *tail, const char *expected)
{
    char *all = repeated(head, text, n, tail);

    refused(all, expected);
    free(all);
}

PAWL_TEST(test_too_deep_is_told_where_it_is)
{
    const char *deep = "1:33 too-deep: more than 32 lists and maps in one another (FILE_DEPTH_MAX)\n";
    char *all;

    for (int json = 0; json < 2; json++) {
        bench *b = bench_new();
        const doc *d;

        all = repeated(json ? "" : "a: ", "[", json ? 32 : 31, json ? "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]" : "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
        d = read_text(b, all, strlen(all));
        CHECK(d != NULL && doc_value(d, &b->mem, &b->f) != NULL);
        free(all);
        bench_free(b);
    }
    all = repeated("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "]", 33, "");
    refused(all, deep);
    free(all);
    refused_many("", "- ", 100000, "", "1:65 too-deep: more than 32 lists and maps in one another (FILE_DEPTH_MAX)\n");
    refused_many("a: ", "[", 100000, "", "1:35 too-deep: more than 32 lists and maps in one another (FILE_DEPTH_MAX)\n");
    refused_many("a: ", "{b: ", 100000, "", "1:128 too-deep: more than 32 lists and maps in one another (FILE_DEPTH_MAX)\n");
}

PAWL_TEST(test_much_of_anything_takes_little)
{
    char *all = repeated("a: ", "x", FILE_BYTES_MAX - 3, "");
    bench *b = bench_new();
    const doc *d = read_text(b, all, FILE_BYTES_MAX);

    CHECK(d != NULL && doc_get(d, "a")->size == FILE_BYTES_MAX - 3);
    free(all);
    bench_free(b);
    refused_many("", "x", FILE_BYTES_MAX + 1, "",
                 "1:1 too-large: 1048577 bytes are more than an agent file may have, 1048576 (FILE_BYTES_MAX): keep data in files of their own\n");
    refused_many("a:", "\n", 900000, " b: c: d\n",
                 "900001:6 syntax: a second `: ` in one line: put the value in quotes, or the map that it begins on lines of its own\n");
    all = repeated("a: [", "!t &a x,", 100000, "]");
    b = bench_new();
    CHECK(read_text(b, all, strlen(all)) == NULL);
    CHECK_INT(b->f.count, 200000);
    CHECK(b->h.bytes < 100u << 20);
    free(all);
    bench_free(b);
}

/* Anchors are not followed, so nothing grows. */
PAWL_TEST(test_nothing_laughs)
{
    bench *b = bench_new();
    buf text;

    buf_init(&text, NULL);
    buf_text(&text, "a0: &a0 [x, x]\n");
    for (int i = 1; i < 20; i++)
        buf_fmt(&text, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1);
    CHECK(read_text(b, text.data, text.size) == NULL);
    CHECK_INT(b->f.count, 20 + 19 * 3);
    CHECK(b->h.bytes_most < 1u << 20);
    buf_free(&text);
    bench_free(b);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static void march(const char *text)
{
    for (size_t n = 0;; n++) {
        bench *b = bench_new();
        const doc *d;
        const pawl_value *v;

        b->mem.chunk_bytes = 16;
        heap_fail_at(&b->h, n);
        d = read_text(b, text, strlen(text));
        v = d == NULL ? NULL : doc_value(d, &b->mem, &b->f);
        CHECK(v != NULL || b->mem.failed || b->f.count > 0);
        CHECK(!b->h.fired || b->mem.failed);
        if (!b->h.fired)
            n = SIZE_MAX - 1;
        bench_free(b);
        if (n == SIZE_MAX - 1)
            break;
    }
}

PAWL_TEST(test_every_allocation_may_fail)
{
    march("name: survey\nstate: {a: {}, b: [1, 2.5, x, \"y\\n\"], c: |\n  text\n  more\n  }\n");
    march("name: survey\nstate:\n  a: [1, 2.5, x, \"y\\n\", 0x10]\n  b: {c: d, e: f, g: h, i: j, k: l}\n  c: |\n    text\n    more\n");
    march("{\"a\": [1, 2, 3, \"\\u00e9\", {\"b\": 1.5, \"c\": [true, null]}], \"d\": \"text\", \"e\": {}, \"f\": 1}");
    march("a: &x 1\nb: *x\na: !t 2\nc: 99999999999999999999\n");
    march("{\"a\": 1,]");
}
