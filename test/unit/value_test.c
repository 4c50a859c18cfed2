/* value_test.c - values, and of canonical JSON every promise (K2, K3, X2, X3). */
#include "json/json.h"
#include "lib/check.h"
#include "lib/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers: values live in one arena for the whole program ------------------------------ */

static arena mem;
static buf out;

static const pawl_value *parsed(const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(&mem, text, strlen(text), "text", &err);

    if (v == NULL)
        CHECK_FAIL("%s: %s", text, err.text);
    CHECK_INT(err.code, PAWL_OK);
    return v;
}

static const char *printed(const pawl_value *v)
{
    buf_reset(&out);
    canon(&out, v);
    buf_char(&out, '\0');
    CHECK(!out.failed);
    return out.data;
}

#define CHECK_CANON(text, expected) CHECK_STR(printed(parsed(text)), expected)

static pawl_err refusal(const char *text, size_t size)
{
    pawl_err err = { PAWL_OK, "" };

    CHECK(value_parse(&mem, text, size, "input", &err) == NULL);
    return err;
}

#define CHECK_REFUSED(json, words) CHECK_STR(refusal(json, sizeof(json) - 1).text, words)

static double bits_real(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- canonical text ------------------------------------------------------------------------------ */

PAWL_TEST(test_K2_numbers_keep_their_kind)
{
    CHECK_CANON("9223372036854775807", "9223372036854775807");
    CHECK_CANON("18446744073709551615", "18446744073709551615");
    CHECK_CANON("-9223372036854775808", "-9223372036854775808");
    CHECK_CANON("18446744073709551616", "18446744073709552000.0");
    CHECK_CANON("-9223372036854775809", "-9223372036854776000.0");
    CHECK_CANON("[1,1.0,1e0,-1,0,-0,-0.0,0.0]", "[1,1.0,1.0,-1,0,0,0.0,0.0]");
    CHECK_CANON("[0.1,5e-324,1.7976931348623157e308,129.95,1e21]",
                "[0.1,5e-324,1.7976931348623157e308,129.95,1e21]");
    CHECK_CANON("[123456789012345680000.0,9007199254740993.0]",
                "[123456789012345680000.0,9007199254740992.0]");
}

PAWL_TEST(test_K2_keys_are_sorted_by_bytes)
{
    CHECK_CANON("{\"b\":1,\"a\":2,\"\":3,\"ab\":4,\"B\":5}", "{\"\":3,\"B\":5,\"a\":2,\"ab\":4,\"b\":1}");
    /* U+FFFF is below U+10000 in UTF-8, above it in UTF-16 */
    CHECK_CANON("{\"\\ud800\\udc00\":1,\"\\uffff\":2,\"\\u00e9\":3,\"z\":4}",
                "{\"z\":4,\"\xC3\xA9\":3,\"\xEF\xBF\xBF\":2,\"\xF0\x90\x80\x80\":1}");
    CHECK_CANON(" { \"y\" : { \"d\" : [ ] , \"c\" : { } } , \"x\" : [ null , true , false ] } ",
                "{\"x\":[null,true,false],\"y\":{\"c\":{},\"d\":[]}}");
}

PAWL_TEST(test_K2_escapes_are_few)
{
    CHECK_CANON("\"\\u0022\\\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\\u007f\\u20ac\"",
                "\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\x7F\xE2\x82\xAC\"");
    CHECK_CANON("\"0123456789abcdef\\n0123456789abcdef\\n\"", "\"0123456789abcdef\\n0123456789abcdef\\n\"");
    for (size_t at = 0; at < 40; at++) { /* wherever it stands among plain bytes */
        char text[64], want[64];
        memset(text, 'x', 40);
        text[at] = '"';
        snprintf(want, sizeof want, "\"%.*s\\\"%.*s\"", (int)at, text, (int)(39 - at), text + at + 1);
        buf_reset(&out);
        canon_string(&out, text, 40);
        CHECK_BYTES(out.data, out.size, want, strlen(want));
        CHECK_STR(printed(value_string(&mem, text, 40)), want);
    }
}

PAWL_TEST(test_K2_canonical_text_parses_to_itself)
{
    static const char text[] = "{\"a\":[1,2.5,\"x\\u0000y\",{\"k\":null}],\"b\":{\"c\":true}}";
    const pawl_value *s = pawl_value_find(parsed(text), "/a/2");

    CHECK_CANON(text, text);
    CHECK_INT(pawl_value_size(s), 3);
    CHECK_BYTES(pawl_value_string(s), 4, "x\0y", 4);
}

/* An object with n members, all but sorted the wrong way round. */
static void hostile(buf *b, size_t n, size_t twin)
{
    buf_reset(b);
    buf_char(b, '{');
    for (size_t i = n; i-- > 0;)
        buf_fmt(b, "\"key%08zu\":%zu%s", i == twin ? i + 1 : i, i, i > 0 ? "," : "");
    buf_char(b, '}');
}

PAWL_TEST(test_X3_a_large_object_costs_no_more_than_sorting_it)
{
    const size_t n = 100000;
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v, *w;
    buf b, text;

    buf_init(&b, NULL);
    buf_init(&text, NULL);
    hostile(&b, n, n);
    v = value_parse(&mem, b.data, b.size, "hostile", &err);
    CHECK(v != NULL && pawl_value_size(v) == n);
    canon(&text, v);
    CHECK_BYTES(text.data, 40, "{\"key00000000\":0,\"key00000001\":1,\"key000", 40);
    w = value_parse(&mem, text.data, text.size, "sorted", &err);
    CHECK(pawl_value_equal(v, w));
    hostile(&b, n, 4711);
    CHECK(value_parse(&mem, b.data, b.size, "hostile", &err) == NULL);
    CHECK(strstr(err.text, "key \"key00004712\" stands there twice") != NULL);
    buf_free(&b);
    buf_free(&text);
}

/* ---- what is refused ------------------------------------------------------------------------------- */

PAWL_TEST(test_X3_duplicate_keys_are_refused)
{
    CHECK_REFUSED("{\"a\":1,\"b\":2,\"a\":3}", "input: byte 13: key \"a\" stands there twice");
    CHECK_REFUSED("[{\"x\":{\"\":1,\"\":2}}]", "input: byte 12: key \"\" stands there twice");
    CHECK_REFUSED("{\"a\\u0062\":1,\"ab\":2}", "input: byte 13: key \"ab\" stands there twice");
    CHECK_REFUSED("{\"a\\u0000b\":1}", "input: byte 1: key \"a\" holds a NUL");
    CHECK(parsed("[{\"a\":1},{\"a\":1,\"A\":{\"a\":1}}]") != NULL);
}

PAWL_TEST(test_X2_depth_has_a_limit_that_is_named)
{
    char text[600];
    size_t n = 0;

    memset(text, '[', DEPTH_MAX);
    memset(text + DEPTH_MAX, ']', DEPTH_MAX);
    text[2 * DEPTH_MAX] = '\0';
    CHECK_CANON(text, text);
    n = (size_t)snprintf(text, sizeof text, "{\"[\\\"[\":[[]],\"b\":");
    memset(text + n, '[', DEPTH_MAX);
    memset(text + n + DEPTH_MAX, ']', DEPTH_MAX);
    text[n + 2 * DEPTH_MAX] = '}';
    CHECK_STR(refusal(text, n + 2 * DEPTH_MAX + 1).text, "input: byte 144: more than 128 levels (DEPTH_MAX)");
    CHECK_INT(refusal(text, n + 2 * DEPTH_MAX + 1).code, PAWL_LIMIT);
    CHECK_INT(refusal("1", TEXT_BYTES_MAX + 1).code, PAWL_LIMIT);
}

PAWL_TEST(test_X3_what_is_not_strict_JSON_is_refused)
{
    static const char *const texts[] = {
        "",
        " ",
        "nul",
        "NaN",
        "Infinity",
        "1e400",
        "-1e400",
        "01",
        "+1",
        ".5",
        "1.",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "[1] x",
        "1 2",
        "\"\n\"",
        "\"\\x41\"",
        "\"\\ud800\"",
        "\"\\udc00x\"",
        "\"a",
        "/**/1",
        "\xEF\xBB\xBF\x31",
        "\"\xFF\"",
        "\"\xC0\x80\"",
        "\"\xED\xA0\x80\"",
        "\"\xF4\x90\x80\x80\"",
        "\"\xE2\x82\"",
        "{\"a\"}",
        "[",
        "]",
        "{\"\\ud800\":1}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pawl_err err = refusal(texts[i], strlen(texts[i]));
        CHECK_INT(err.code, PAWL_INVALID);
        CHECK(strncmp(err.text, "input: byte ", 12) == 0);
    }
    CHECK_INT(refusal("[1]\0", 4).code, PAWL_INVALID);
    CHECK_INT(refusal(NULL, 0).code, PAWL_INVALID);
    CHECK(strncmp(refusal("[1] x", 5).text, "input: byte 4: ", 15) == 0);
    CHECK(strncmp(refusal("[\"abc\xFF\"]", 8).text, "input: byte 5: ", 15) == 0);
}

PAWL_TEST(test_X3_a_refused_text_leaves_nothing_in_the_arena)
{
    arena a;
    const char *at;

    arena_init(&a, NULL, 65536);
    CHECK(arena_get(&a, 16) != NULL);
    at = a.at;
    CHECK(value_parse(&a, "[1,2,3,{\"a\":1,\"a\":2}]", 22, "x", NULL) == NULL);
    CHECK(value_parse(&a, "[1,2,3,", 7, "x", NULL) == NULL);
    CHECK(a.at == at);
    CHECK(value_parse(&a, "[1,2,3]", 7, "x", NULL) != NULL);
    CHECK((size_t)(a.at - at) <= 16 * (4 + 5) + 64); /* nodes, yyjson's head, the text */
    arena_free(&a);
}

PAWL_TEST(test_utf8_is_checked_byte_by_byte)
{
    CHECK(utf8_valid("", 0) && utf8_valid("a\0b", 3));
    CHECK(utf8_valid("\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
                     21));
    CHECK(utf8_valid("0123456789abcde\xC3\xA9"
                     "0123456789",
                     27));
    CHECK(!utf8_valid("\x80", 1) && !utf8_valid("\xC1\xBF", 2) && !utf8_valid("\xE0\x9F\xBF", 3));
    CHECK(!utf8_valid("\xED\xA0\x80", 3) && !utf8_valid("\xF0\x8F\xBF\xBF", 4) &&
          !utf8_valid("\xF5\x80\x80\x80", 4));
    CHECK(!utf8_valid("\xC3", 1) && !utf8_valid("\xE2\x82", 2) && !utf8_valid("\xF0\x90\x80", 3));
    CHECK(!utf8_valid("\xC3"
                      "a",
                      2) &&
          !utf8_valid("\xE2\x82"
                      "a",
                      3));
}

/* ---- values ------------------------------------------------------------------------------ */

PAWL_TEST(test_getters_answer_for_their_own_type_alone)
{
    const pawl_value *v = parsed("[null,true,-5,18446744073709551615,2.5,\"abc\",[1],{\"k\":2}]");
    static const pawl_type types[] = { PAWL_TYPE_NULL, PAWL_TYPE_BOOL,   PAWL_TYPE_INT,   PAWL_TYPE_INT,
                                       PAWL_TYPE_REAL, PAWL_TYPE_STRING, PAWL_TYPE_ARRAY, PAWL_TYPE_OBJECT };

    for (size_t i = 0; i < 8; i++) {
        const pawl_value *e = pawl_value_at(v, i);
        CHECK_INT(pawl_value_type(e), types[i]);
        CHECK_INT(pawl_value_bool(e), i == 1);
        CHECK_INT(pawl_value_int(e), i == 2 ? -5 : 0);
        CHECK(pawl_value_uint(e) == (i == 3 ? UINT64_MAX : 0));
        CHECK((pawl_value_string(e) != NULL) == (i == 5));
    }
    CHECK(pawl_value_at(v, 8) == NULL && pawl_value_size(v) == 8);
    CHECK(pawl_value_real(pawl_value_at(v, 4)) == 2.5 && pawl_value_real(pawl_value_at(v, 2)) == -5);
    CHECK(pawl_value_real(pawl_value_at(v, 3)) == 18446744073709551615.0 && pawl_value_real(v) == 0);
    CHECK_INT(pawl_value_type(NULL), PAWL_TYPE_NONE);
    CHECK_INT(pawl_value_int(NULL) + (int64_t)pawl_value_size(NULL) + pawl_value_bool(NULL), 0);
    CHECK(pawl_value_at(NULL, 0) == NULL && pawl_value_get(NULL, "a") == NULL &&
          pawl_value_get(v, "a") == NULL);
    CHECK(pawl_value_find(NULL, "") == NULL && pawl_value_string(NULL) == NULL && pawl_value_real(NULL) == 0);
    CHECK(pawl_value_equal(NULL, NULL) && !pawl_value_equal(NULL, v) && !pawl_value_equal(v, NULL));
    CHECK_INT(pawl_value_size(pawl_value_at(v, 5)), 3);
    CHECK_INT(pawl_value_int(parsed("9223372036854775808")), 0);
}

PAWL_TEST(test_pointers_follow_RFC_6901)
{
    const pawl_value *v =
        parsed("{\"foo\":[\"bar\",[7]],\"\":0,\"a/b\":1,\"m~n\":8,\"~1\":9,\"k\":{\"k\":3}}");

    CHECK(pawl_value_find(v, "") == v);
    CHECK_STR(pawl_value_string(pawl_value_find(v, "/foo/0")), "bar");
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/foo/1/0")), 7);
    CHECK(pawl_value_type(pawl_value_find(v, "/")) == PAWL_TYPE_INT);
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/a~1b")), 1);
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/m~0n")), 8);
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/~01")), 9);
    CHECK_INT(pawl_value_int(pawl_value_find(v, "/k/k")), 3);
    static const char *const none[] = { "foo",      "/foo/2",
                                        "/foo/-",   "/foo/00",
                                        "/foo/01",  "/foo/",
                                        "/m~n",     "/m~2n",
                                        "/~",       "/k/k/k",
                                        "/fo",      "/foo/99999999999999999999",
                                        "/foo/1e0", "/foo/999999999999999999" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (pawl_value_find(v, none[i]) != NULL)
            CHECK_FAIL("%s leads somewhere", none[i]);
}

PAWL_TEST(test_iterators_keep_the_order_of_the_value)
{
    const pawl_value *v = parsed("{\"b\":[1,[2],3],\"a\":{}}"), *key, *item;
    pawl_iter it = pawl_iter_of(v);

    item = pawl_iter_next(&it, &key);
    CHECK_STR(pawl_value_string(key), "b");
    CHECK_INT(pawl_value_size(item), 3);
    item = pawl_iter_next(&it, &key);
    CHECK_STR(pawl_value_string(key), "a");
    CHECK(pawl_value_type(item) == PAWL_TYPE_OBJECT);
    CHECK(pawl_iter_next(&it, &key) == NULL && key == NULL && pawl_iter_next(&it, NULL) == NULL);
    it = pawl_iter_of(pawl_value_get(v, "b"));
    CHECK(pawl_value_int(pawl_iter_next(&it, &key)) == 1 && key == NULL);
    CHECK(pawl_value_size(pawl_iter_next(&it, NULL)) == 1 && pawl_value_int(pawl_iter_next(&it, NULL)) == 3);
    it = pawl_iter_of(NULL);
    CHECK(pawl_iter_next(&it, NULL) == NULL);
    it = pawl_iter_of(parsed("\"abc\""));
    CHECK(pawl_iter_next(&it, NULL) == NULL);
}

static void check_equal(const char *a, const char *b, bool equal)
{
    if (pawl_value_equal(parsed(a), parsed(b)) != equal || pawl_value_equal(parsed(b), parsed(a)) != equal)
        CHECK_FAIL("%s and %s", a, b);
}

PAWL_TEST(test_K2_equal_values_are_those_of_equal_text)
{
    check_equal("[1,2,\"\\u0061\"]", "[1,2,\"a\"]", true);
    check_equal("1", "1.0", false);
    check_equal("0", "-0", true);
    check_equal("0.0", "-0.0", true);
    check_equal("-1", "18446744073709551615", false);
    check_equal("1", "true", false);
    check_equal("true", "false", false);
    check_equal("[]", "{}", false);
    check_equal("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}", "{\"b\":{\"d\":3,\"c\":2},\"a\":1}", true);
    check_equal("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false);
    check_equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false);
    check_equal("{\"a\":1}", "{\"a\":1,\"b\":2}", false);
    check_equal("{\"a\":[1,[2]],\"b\":3}", "{\"b\":[1,[2]],\"a\":3}", false);
    CHECK(pawl_value_equal(value_int(&mem, 5), parsed("5")) &&
          pawl_value_equal(value_uint(&mem, 5), parsed("5")));
    CHECK(pawl_value_equal(value_int(&mem, -5), parsed("-5")));
    CHECK(pawl_value_equal(value_real(&mem, -0.0), parsed("0.0")));
    CHECK(pawl_value_equal(value_string(&mem, "a\"b", 3), parsed("\"a\\u0022b\"")));
    CHECK(pawl_value_equal(value_null(&mem), parsed("null")) &&
          pawl_value_equal(value_bool(&mem, true), parsed("true")));
    CHECK(value_real(&mem, bits_real(UINT64_C(0x7FF) << 52)) == NULL &&
          value_string(&mem, "\xFF", 1) == NULL);
    CHECK(value_real(&mem, bits_real(UINT64_C(0xFFF8) << 48)) == NULL && value_string(&mem, NULL, 0) == NULL);
}

/* Members in the other order on every level, deep enough to use up any pool. */
PAWL_TEST(test_K2_equality_does_not_mind_order_at_any_depth)
{
    const pawl_value *a = parsed("[1]"), *b = parsed("[1]"), *c = parsed("[2]");

    for (int64_t i = 0; i < DEPTH_MAX - 1; i++) {
        a = value_pack(&mem, NULL, "{s:i,s:v,s:i}", "x", i, "y", a, "z", i);
        b = value_pack(&mem, NULL, "{s:i,s:v,s:i}", "z", i, "y", b, "x", i);
        c = value_pack(&mem, NULL, "{s:i,s:v,s:i}", "z", i, "y", c, "x", i);
        CHECK(a != NULL && b != NULL && c != NULL);
    }
    CHECK(pawl_value_equal(a, b) && !pawl_value_equal(a, c));
    CHECK(value_pack(&mem, NULL, "[v]", a) == NULL);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static yyjson_val *node(const pawl_value *v)
{
    return (yyjson_val *)(uintptr_t)v;
}

PAWL_TEST(test_a_copy_stands_alone_and_is_one_block)
{
    static const char text[] = "{\"a\":[1,\"x\\u0000y\",\"\"],\"long\":\"0123456789abcdef0123456789\"}";
    arena a;
    char *block;
    const pawl_value *v, *copy;
    size_t bytes;

    arena_init(&a, NULL, 0);
    v = value_parse(&a, text, sizeof text - 1, "x", NULL);
    CHECK_INT(value_nodes(v), 8);
    CHECK_INT(value_nodes(NULL), 0);
    bytes = value_block_bytes(v);
    block = malloc(bytes);
    copy = value_copy_to(block, v);
    CHECK(pawl_value_equal(v, copy) && (const void *)copy == block);
    arena_free(&a);
    CHECK_STR(printed(copy), text);
    CHECK(pawl_value_string(pawl_value_get(copy, "long")) > block);
    CHECK(pawl_value_string(pawl_value_get(copy, "long")) + 27 == block + bytes);
    free(block);
    CHECK(value_copy(&mem, NULL) == NULL);
}

PAWL_TEST(test_K3_refs_are_null_in_the_text_and_named_beside_it)
{
    const pawl_value *v = parsed("{\"b\":[\"in\",{\"deep\":1}],\"a/~\\n\":\"gone\",\"c\":null}");
    value_ref refs[3] = {
        { pawl_value_find(v, "/b/1"), "blob", "sha:1\"", "00ff" },
        { pawl_value_find(v, "/a~1~0\n"), "event", "3", NULL },
        { pawl_value_get(v, "c"), "secret", "key", NULL },
    };
    value_refs all = { refs, 3, 0 };
    buf text, list;

    buf_init(&text, NULL);
    buf_init(&list, NULL);
    for (size_t i = 0; i < 3; i++)
        node(refs[i].node)->tag |= NODE_REF;
    canon_refs(&text, v, &all, &list);
    CHECK_BYTES(text.data, text.size, "{\"a/~\\n\":null,\"b\":[\"in\",null],\"c\":null}", 39);
    buf_char(&list, '\0');
    CHECK_STR(list.data, "[\"/a~1~0\\n\",\"event\",\"3\"],[\"/b/1\",\"blob\",\"sha:1\\\"\",\"00ff\"],[\"/"
                         "c\",\"secret\",\"key\"]");
    buf_reset(&list);
    buf_reset(&text);
    canon_refs(&text, refs[0].node, &all, &list);
    CHECK_BYTES(text.data, text.size, "null", 4);
    CHECK_BYTES(list.data, list.size, "[\"\",\"blob\",\"sha:1\\\"\",\"00ff\"]", 28);
    CHECK_STR(printed(v), "{\"a/~\\n\":\"gone\",\"b\":[\"in\",{\"deep\":1}],\"c\":null}");
    buf_free(&text);
    buf_free(&list);
}

static void note_copy(void *ctx, const pawl_value *from, const pawl_value *to)
{
    const pawl_value **seen = ctx;

    seen[0] = from;
    seen[1] = to;
}

static const pawl_value *pack_noting(const pawl_value **seen, const char *fmt, ...)
{
    const pawl_value *v;
    va_list args;

    va_start(args, fmt);
    v = value_packv(&mem, note_copy, seen, NULL, fmt, args);
    va_end(args);
    return v;
}

PAWL_TEST(test_K3_a_ref_survives_copies_and_disturbs_no_getter)
{
    const pawl_value *v = parsed("[null,\"s\",[1],{\"k\":[2,\"x\"]}]"), *seen[2], *w;

    for (size_t i = 0; i < 4; i++)
        node(pawl_value_at(v, i))->tag |= NODE_REF;
    CHECK_STR(printed(v), "[null,\"s\",[1],{\"k\":[2,\"x\"]}]");
    CHECK(pawl_value_equal(v, parsed("[null,\"s\",[1],{\"k\":[2,\"x\"]}]")));
    w = pack_noting(seen, "{s:[n,v]}", "in", value_copy(&mem, v));
    CHECK(pawl_value_equal(v, pawl_value_find(w, "/in/1")));
    CHECK(seen[1] == pawl_value_find(w, "/in/1"));
    for (size_t i = 0; i < 4; i++)
        CHECK((node(pawl_value_at(seen[1], i))->tag & NODE_REF) != 0);
    CHECK_INT(pawl_value_type(pawl_value_at(seen[1], 0)), PAWL_TYPE_NULL);
    CHECK_STR(pawl_value_string(pawl_value_at(seen[1], 1)), "s");
    CHECK_STR(pawl_value_string(pawl_value_find(w, "/in/1/3/k/1")), "x");
}

/* ---- pack ------------------------------------------------------------------------------------- */

static const char *pack_error(const char *fmt, ...)
{
    static pawl_err err;
    va_list args;

    err = (pawl_err){ PAWL_OK, "" };
    va_start(args, fmt);
    CHECK(value_packv(&mem, NULL, NULL, &err, fmt, args) == NULL);
    va_end(args);
    return err.text;
}

PAWL_TEST(test_pack_builds_what_its_format_says)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v =
        value_pack(&mem, &err, " {s:i, s:[u,f,b,b,n], s:v, s:j, s:{}, s:[]} ", "z", INT64_MIN, "a",
                   UINT64_MAX, -0.0, 1, 0, "v", parsed("[1,{\"x\":\"y\"}]"), "j", "{\"q\":[true]}", "o", "r");

    CHECK_STR(err.text, "");
    CHECK_STR(printed(v),
              "{\"a\":[18446744073709551615,0.0,true,false,null],\"j\":{\"q\":[true]},\"o\":{},\"r\":[],"
              "\"v\":[1,{\"x\":\"y\"}],\"z\":-9223372036854775808}");
    CHECK(pawl_value_equal(v, parsed(printed(v))));
    CHECK_STR(printed(value_pack(&mem, NULL, "s", "caf\xC3\xA9 \"x\"")), "\"caf\xC3\xA9 \\\"x\\\"\"");
    CHECK_STR(printed(value_pack(&mem, NULL, "j", "[[],[],{\"\":1},[1,2,3]]")), "[[],[],{\"\":1},[1,2,3]]");
}

PAWL_TEST(test_pack_lets_NULL_flow_on)
{
    CHECK_STR(pack_error("{s:v}", "a", (const pawl_value *)NULL), "");
    CHECK_STR(pack_error("[s]", (const char *)NULL), "");
    CHECK_STR(pack_error("{s:i}", (const char *)NULL, INT64_C(1)), "");
    CHECK_STR(pack_error("j", (const char *)NULL), "");
}

PAWL_TEST(test_X3_pack_refuses_with_words)
{
    CHECK_STR(pack_error(""), "format : byte 0: no value begins like this");
    CHECK_STR(pack_error("{s:x}", "a"), "format {s:x}: byte 3: no value begins like this");
    CHECK_STR(pack_error("{s i}", "a", INT64_C(1)), "format {s i}: byte 3: ':' is missing");
    CHECK_STR(pack_error("{i:i}", INT64_C(1), INT64_C(1)), "format {i:i}: byte 1: a key is an s");
    CHECK_STR(pack_error("[i", INT64_C(1)), "format [i: byte 2: ',' or ']' is missing");
    CHECK_STR(pack_error("{s:n", "a"), "format {s:n: byte 4: ',' or '}' is missing");
    CHECK_STR(pack_error("[n]]"), "format [n]]: byte 3: something follows the value");
    CHECK_STR(pack_error("[s]", "\xFF"), "format [s]: byte 2: the string is not UTF-8");
    CHECK_STR(pack_error("f", bits_real(UINT64_C(0x7FF) << 52)),
              "format f: byte 1: the number is not finite");
    CHECK_STR(pack_error("{s:n,s:n}", "k", "k"), "format {s:n,s:n}: byte 9: key \"k\" stands there twice");
    CHECK_STR(pack_error("j", "[1,"), "format j: byte 3: unexpected end of data");
}

/* ---- the march: every allocation fails once (X6) ------------------------------------------------ */

static bool scenario(const pawl_alloc *alloc, pawl_err *err)
{
    static const char text[] = "{\"b\":[1,2.5,\"x\\n\"],\"a\":{\"k\":null}}";
    const pawl_value *v, *w;
    arena a;
    buf b, big;
    bool done = false;

    arena_init(&a, alloc, 0);
    buf_init(&b, alloc);
    buf_init(&big, NULL);
    hostile(&big, 60, 60);
    v = value_parse(&a, text, sizeof text - 1, "text", err);
    w = v != NULL ? value_parse(&a, big.data, big.size, "big", err) : NULL;
    v = value_pack(&a, err, "[v,v,{s:i},j]", v, w, "n", INT64_C(7), "[1,2]");
    v = value_copy(&a, v);
    canon(&b, v);
    if (v != NULL && !b.failed) {
        CHECK_BYTES(b.data, 50, "[{\"a\":{\"k\":null},\"b\":[1,2.5,\"x\\n\"]},{\"key00000000\"", 50);
        done = true;
    }
    CHECK(done || a.failed || b.failed || err->code == PAWL_NOMEM);
    CHECK(err->code == PAWL_OK || err->code == PAWL_NOMEM);
    buf_free(&b);
    buf_free(&big);
    arena_free(&a);
    return done;
}

static void march(bool and_all_later)
{
    heap h;
    pawl_alloc alloc;
    size_t n;

    heap_init(&h);
    alloc = heap_alloc(&h);
    for (n = 0;; n++) {
        pawl_err err = { PAWL_OK, "" };
        bool done;
        if (and_all_later)
            heap_fail_from(&h, n);
        else
            heap_fail_at(&h, n);
        done = scenario(&alloc, &err);
        heap_check(&h);
        CHECK(done == !h.fired);
        if (!h.fired)
            break;
    }
    CHECK(n > 5);
}

PAWL_TEST(test_every_allocation_may_fail)
{
    march(false);
    march(true);
}

int main(int argc, char **argv)
{
    int rc;

    arena_init(&mem, NULL, 65536);
    buf_init(&out, NULL);
    rc = check_main(argc, argv);
    arena_free(&mem);
    buf_free(&out);
    return rc;
}
