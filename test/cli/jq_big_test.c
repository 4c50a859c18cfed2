/* jq_big_test.c - integers beyond 2^53 in expressions: passed on to the digit, or refused. */
#include "asking.h"

#define BIGS "{\"n\":9007199254740993,\"m\":-9007199254740995,\"most\":18446744073709551615,\"least\":-9223372036854775808,\"a\":2," \
             "\"rows\":[{\"id\":9007199254740993,\"x\":\"b\"},{\"id\":9007199254740997,\"x\":\"a\"}]}"

PAWL_TEST(test_a_large_integer_is_passed_on_to_the_digit)
{
    static const row all[] = {
        { ".", "18446744073709551615", "[18446744073709551615]" },
        { ".", "[-9223372036854775808,9007199254740993.0,\"9007199254740993\"]",
          "[[-9223372036854775808,9007199254740992,\"9007199254740993\"]]" },
        { "{n, \"k\\u0000\\u00e9\": [.m, 1.5, null, true, \"a\\\"b\"]} | [.n, to_entries[1].value]", BIGS,
          "[[9007199254740993,[-9007199254740995,1.5,null,true,\"a\\\"b\"]]]" },
        { "{\"9007199254740993\": 0}", "{\"9007199254740993\":9007199254740993}", "[{\"9007199254740993\":0}]" },
        { ".a + 1", BIGS, "[3]" },
        { "[.a * 3, (.rows | length), 1 / 2]", BIGS, "[[6,2,0.5]]" },
        { ".rows | map(.id)", BIGS, "[[9007199254740993,9007199254740997]]" },
        { ".rows | sort_by(.x) | map(.id)", BIGS, "[[9007199254740997,9007199254740993]]" },
        { ".rows[] | select(.x == \"a\") | .id", BIGS, "[9007199254740997]" },
        { ".rows | map({(.x): .id}) | add | [.a, .b]", BIGS, "[[9007199254740997,9007199254740993]]" },
        { "reduce .rows[] as $r ([]; [$r.id] + .)", BIGS, "[[9007199254740997,9007199254740993]]" },
        { "[.n, .m, .a | type]", BIGS, "[[\"number\",\"number\",\"number\"]]" },
        { "[.. | strings]", BIGS, "[[\"b\",\"a\"]]" },
        { "[.n, .m, \"t\"] | map(numbers)", BIGS, "[[9007199254740993,-9007199254740995]]" },
        { "if .n then 1 else 2 end", BIGS, "[1]" },
        { "[.n == null, .n == \"9007199254740993\", .n < \"\", .n > true]", BIGS, "[[false,false,true,true]]" },
        { ".gone // .n", BIGS, "[9007199254740993]" },
        { "try error({n}) catch .n", BIGS, "[9007199254740993]" },
        { "[.m, .least | length]", BIGS, "[[9007199254740995,9223372036854775808]]" },
    };
    static const char *const error[] = { "error({n})" };

    rows(all, COUNT(all));
    opened(error, 1);
    CHECK_STR(one(0, "{\"n\":9007199254740993}"), "effect: expression \"error({n})\": {\"n\":9007199254740993}");
}

/* Whatever looks at it is an error, and none that `try` or `?` would hide. */
PAWL_TEST(test_whoever_works_with_a_large_integer_is_refused)
{
    static const char *const texts[] = {
        ".n + 1", "1 - .n", ".n * 0", ".n / 2", ".n % 2", "-.n * 1", ".n == 1", ".n != .n", ".n < 5", ".n >= .a", ".n == .rows[0].id",
        "[.n, .m] | sort", "[.n, 2] | max", "[.n, .m] | unique", "[.n, .m] | group_by(.)", ".rows | unique", ".rows | sort_by(.id)", "[.n] | contains([1])",
        "[.n] | index(1)", ".n | tostring", "\"\\(.n)\"", ".n | tojson", ".n | @text", ".n | @json", "[.n] | @csv", "[.n, \"a\"] | join(\",\")", ".n | @base64",
        "tojson | length", ".n | floor", ".n | sqrt", "pow(.n; 0)", "pow(1; .n)", ".n | isnan", ".n | isinfinite", ".n | isnormal", "fmin(.n; 1)",
        "fma(1; .n; 1)",
        ".n | nearbyint", "[.n | frexp] | length", ".n | trunc", ".n | round", ".n | logb", ".n | significand", "drem(.n; 2)", "ldexp(1; .n)", "scalb(.n; 2)",
        "nexttoward(.n; 1)", "(.n + 1)? // 0", "try (.n | tostring) catch 0", "(.n | if type == \"number\" then . % 2 else 0 end)",
        "[.n | tostring | endswith(\"3\")] | length", ".rows[.n]", "getpath([\"rows\", .n])", "[limit(.n; 1, 2)]", "any(.rows[]; .id == 1)", "[.n, 1] | add",
        "\"x\" * .n", "infinite - infinite", "error(.n + 1)", ".most | fabs | . + 1", "-.most",
    };

    opened(texts, COUNT(texts));
    for (uint32_t i = 0; i < COUNT(texts); i++) {
        one(i, BIGS);
        if (strncmp(said, "effect: ", 8) != 0 || strstr(said, "with an integer beyond 2^53 (/n is 9007199254740993, with 5 more)") == NULL)
            CHECK_FAIL("%s gives %s", texts[i], said);
    }
}

PAWL_TEST(test_an_error_tells_where_a_large_integer_is)
{
    static const char tail[] = "), which jq can only pass on: take it by a plain path, or keep it as a text";
    static const struct { const char *text, *input, *at; } all[] = {
        { ".big[0] + 1", "{\"big\":[9007199254740993]}", "/big/0 is 9007199254740993" },
        { ".[\"a/b\"][\"~\"][2][0] + 1", "{\"a/b\":{\"~\":[1,2,[-9007199254740993]]}}", "/a~1b/~0/2/0 is -9007199254740993" },
        { ". + 1", "18446744073709551615", "the input is 18446744073709551615" },
        { ".[1] + 1", "[{\"n\":9007199254740992},-9223372036854775808]", "/1 is -9223372036854775808" },
        { ".[1] + 1", "[9007199254740993,9007199254740994,[9007199254740993]]", "/0 is 9007199254740993, with 2 more" },
    };
    char due[512];

    for (size_t i = 0; i < COUNT(all); i++) {
        snprintf(due, sizeof due, "effect: expression \"%s\": it works with an integer beyond 2^53 (%s%s", all[i].text, all[i].at, tail);
        CHECK_STR(gives(all[i].text, all[i].input), due);
    }
    CHECK_STR(gives(".n + .r", "{\"n\":9007199254740992,\"r\":1e300}"), "[1e+300]");
}

/* One evaluation that is refused leaves nothing behind for those beside it and after it. */
PAWL_TEST(test_a_refusal_is_of_one_expression)
{
    static const char *const texts[] = { ".n + 1", ".n", "[.n, .a + 1]", "[.n, reduce range(130) as $i (1; [.])]" };
    static const uint32_t good[] = { 1, 2 };

    opened(texts, COUNT(texts));
    for (int i = 0; i < 2; i++) {
        has(one(0, BIGS), "it works with an integer beyond 2^53");
        CHECK_STR(several(good, 2, BIGS), "[9007199254740993,[9007199254740993,3]]");
        CHECK_STR(one(0, "{\"n\":1}"), "[2]");
        has(one(3, BIGS), "its value is nested more than 128 levels deep");
    }
}

int main(int argc, char **argv)
{
    int rc;

    if (argc > 1 && strcmp(argv[1], "@jq") == 0)
        return jq_child();
    rc = check_main(argc, argv);
    jq_close(asked);
    return rc;
}
