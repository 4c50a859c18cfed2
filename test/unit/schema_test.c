/* schema_test.c - JSON Schema: every keyword both ways, and what a refusal says (X3). */
#include "json/json.h"
#include "lib/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static arena mem;

static const pawl_value *parsed(const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(&mem, text, strlen(text), "text", &err);

    if (v == NULL)
        CHECK_FAIL("%s: %s", text, err.text);
    return v;
}

static const char *checked(const pawl_value *schema, const pawl_value *v, pawl_code *code)
{
    static char text[300];
    pawl_err err = { PAWL_OK, "" };

    *code = schema_check(schema, v, "it", &err);
    CHECK_INT(*code, err.code);
    CHECK_INT(*code, schema_check(schema, v, "it", NULL));
    CHECK(utf8_valid(err.text, strlen(err.text)));
    snprintf(text, sizeof text, "%s", err.text);
    return text;
}

typedef struct row {
    const char *schema, *value;
    const char *says; /* NULL: the value fits */
} row;

static void check_rows(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pawl_code code;
        const char *says = checked(parsed(rows[i].schema), parsed(rows[i].value), &code);
        if (code == PAWL_OK && rows[i].says == NULL)
            continue;
        if (rows[i].says == NULL || code != PAWL_INVALID || strcmp(says, rows[i].says) != 0)
            CHECK_FAIL("%s on %s: \"%s\", not \"%s\"", rows[i].schema, rows[i].value, says,
                       rows[i].says != NULL ? rows[i].says : "");
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

/* ---- accept and refuse ---------------------------------------------------------------------- */

PAWL_TEST(test_types)
{
    static const row rows[] = {
        { "true", "[1]", NULL },
        { "{}", "null", NULL },
        { "false", "1", "it: nothing is allowed here" },
        { "{\"type\":\"null\"}", "null", NULL },
        { "{\"type\":\"null\"}", "false", "it: null is due, not a boolean" },
        { "{\"type\":\"boolean\"}", "false", NULL },
        { "{\"type\":\"boolean\"}", "0", "it: a boolean is due, not a number" },
        { "{\"type\":\"integer\"}", "-3", NULL },
        { "{\"type\":\"integer\"}", "1.0", NULL },
        { "{\"type\":\"integer\"}", "1e300", NULL },
        { "{\"type\":\"integer\"}", "18446744073709551615", NULL },
        { "{\"type\":\"integer\"}", "1.5", "it: an integer is due, not a number" },
        { "{\"type\":\"integer\"}", "-0.5", "it: an integer is due, not a number" },
        { "{\"type\":\"integer\"}", "\"1\"", "it: an integer is due, not a string" },
        { "{\"type\":\"number\"}", "1", NULL },
        { "{\"type\":\"number\"}", "1.5", NULL },
        { "{\"type\":\"number\"}", "null", "it: a number is due, not null" },
        { "{\"type\":\"string\"}", "\"\"", NULL },
        { "{\"type\":\"string\"}", "[]", "it: a string is due, not an array" },
        { "{\"type\":\"array\"}", "[]", NULL },
        { "{\"type\":\"array\"}", "{}", "it: an array is due, not an object" },
        { "{\"type\":\"object\"}", "{}", NULL },
        { "{\"type\":\"object\"}", "\"\"", "it: an object is due, not a string" },
        { "{\"type\":[\"string\",\"null\"]}", "null", NULL },
        { "{\"type\":[\"string\",\"integer\"]}", "2.0", NULL },
        { "{\"type\":[\"string\",\"null\"]}", "1", "it: one of [\"string\",\"null\"] is due, not a number" },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_values)
{
    static const row rows[] = {
        { "{\"enum\":[\"a\",2,null]}", "\"a\"", NULL },
        { "{\"enum\":[\"a\",2,null]}", "2.0", NULL },
        { "{\"enum\":[\"a\",2,null]}", "null", NULL },
        { "{\"enum\":[\"a\",2,null]}", "\"b\"", "it: one of [\"a\",2,null] is due" },
        { "{\"enum\":[]}", "1", "it: one of [] is due" },
        { "{\"enum\":[[false]]}", "[0]", "it: one of [[false]] is due" },
        { "{\"const\":1}", "1.0", NULL },
        { "{\"const\":true}", "true", NULL },
        { "{\"const\":true}", "1", "it: true is due" },
        { "{\"const\":null}", "0", "it: null is due" },
        { "{\"const\":\"a\\u0000b\"}", "\"a\\u0000b\"", NULL },
        { "{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\"", "it: \"a\\u0000b\" is due" },
        { "{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[2.0],\"a\":1}", NULL },
        { "{\"const\":{\"a\":1,\"b\":[2]}}", "{\"b\":[3],\"a\":1}", "it: {\"a\":1,\"b\":[2]} is due" },
        { "{\"const\":{\"a\":1}}", "{\"b\":1}", "it: {\"a\":1} is due" },
        { "{\"const\":[1,2]}", "[2,1]", "it: [1,2] is due" },
        { "{\"const\":[1]}", "[]", "it: [1] is due" },
        { "{\"const\":9007199254740993}", "9007199254740992.0", "it: 9007199254740993 is due" },
        { "{\"const\":18446744073709551615}", "18446744073709551616.0", "it: 18446744073709551615 is due" },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_numbers)
{
    static const row rows[] = {
        { "{\"minimum\":3}", "3", NULL },
        { "{\"minimum\":3}", "3.0", NULL },
        { "{\"minimum\":3}", "\"a\"", NULL },
        { "{\"minimum\":3}", "2.9", "it: at least 3 is due, not 2.9" },
        { "{\"minimum\":-2}", "-3", "it: at least -2 is due, not -3" },
        { "{\"minimum\":-1.5}", "-1", NULL },
        { "{\"minimum\":-1.5}", "-1.6", "it: at least -1.5 is due, not -1.6" },
        { "{\"minimum\":9007199254740993}", "9007199254740992",
          "it: at least 9007199254740993 is due, not 9007199254740992" },
        { "{\"minimum\":9223372036854775808}", "9223372036854775807",
          "it: at least 9223372036854775808 is due, not 9223372036854775807" },
        { "{\"minimum\":-9223372036854775808}", "-9223372036854775808", NULL },
        { "{\"maximum\":18446744073709551615}", "18446744073709551616.0",
          "it: at most 18446744073709551615 is due, not 18446744073709552000.0" },
        { "{\"maximum\":1e300}", "18446744073709551615", NULL },
        { "{\"maximum\":0}", "0.0", NULL },
        { "{\"maximum\":3}", "4", "it: at most 3 is due, not 4" },
        { "{\"exclusiveMinimum\":3}", "3.5", NULL },
        { "{\"exclusiveMinimum\":3}", "3", "it: more than 3 is due, not 3" },
        { "{\"exclusiveMaximum\":3}", "2", NULL },
        { "{\"exclusiveMaximum\":3}", "3.0", "it: less than 3 is due, not 3.0" },
        { "{\"multipleOf\":3}", "-9", NULL },
        { "{\"multipleOf\":3}", "0", NULL },
        { "{\"multipleOf\":3}", "7", "it: a multiple of 3 is due, not 7" },
        { "{\"multipleOf\":0.1}", "0.3", NULL },
        { "{\"multipleOf\":0.0001}", "0.0075", NULL },
        { "{\"multipleOf\":0.0001}", "0.00751", "it: a multiple of 0.0001 is due, not 0.00751" },
        { "{\"multipleOf\":0.5}", "1e300", NULL },
        { "{\"multipleOf\":1e300}", "1", "it: a multiple of 1e300 is due, not 1" },
        { "{\"multipleOf\":7}", "1e21", "it: a multiple of 7 is due, not 1e21" },
        { "{\"multipleOf\":1e-7}", "12.3456789", NULL },
        { "{\"multipleOf\":18446744073709551557}", "1e30",
          "it: a multiple of 18446744073709551557 is due, not 1e30" },
        { "{\"multipleOf\":5e-324}", "1.7976931348623157e308", NULL },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_strings_and_arrays)
{
    static const row rows[] = {
        { "{\"minLength\":2}", "\"\xC3\xA9\xF0\x9F\x98\x80\"", NULL },
        { "{\"minLength\":3}", "\"\xC3\xA9\xF0\x9F\x98\x80\"", "it: characters: at least 3 are due, not 2" },
        { "{\"minLength\":3}", "[]", NULL },
        { "{\"maxLength\":2.0}", "\"ab\"", NULL },
        { "{\"maxLength\":1}", "\"ab\"", "it: characters: at most 1 are due, not 2" },
        { "{\"maxLength\":1e300}", "\"ab\"", NULL },
        { "{\"minItems\":1}", "[0]", NULL },
        { "{\"minItems\":1}", "[]", "it: items: at least 1 are due, not 0" },
        { "{\"minItems\":1}", "{}", NULL },
        { "{\"maxItems\":1}", "[0]", NULL },
        { "{\"maxItems\":0}", "[0]", "it: items: at most 0 are due, not 1" },
        { "{\"items\":{\"type\":\"string\"}}", "[\"a\",\"b\"]", NULL },
        { "{\"items\":{\"type\":\"string\"}}", "{\"a\":1}", NULL },
        { "{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "it: /1: a string is due, not a number" },
        { "{\"items\":false}", "[]", NULL },
        { "{\"items\":false}", "[1]", "it: /0: nothing is allowed here" },
        { "{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1},null,0,false]", NULL },
        { "{\"uniqueItems\":true}", "[1,2,1.0]", "it: items 0 and 2 are the same" },
        { "{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]",
          "it: items 0 and 1 are the same" },
        { "{\"uniqueItems\":false}", "[1,1]", NULL },
        { "{\"uniqueItems\":true}", "\"aa\"", NULL },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_X3_a_pattern_matches_a_part_of_a_string)
{
    static const row rows[] = {
        { "{\"pattern\":\"b+\"}", "\"abbc\"", NULL },
        { "{\"pattern\":\"^[A-Z]{2}-[0-9]{1,4}$\"}", "\"AB-1234\"", NULL },
        { "{\"pattern\":\"^[A-Z]{2}-[0-9]{1,4}$\"}", "\"AB-12345\"", "it: a match of the pattern \"^[A-Z]{2}-[0-9]{1,4}$\" is due" },
        { "{\"pattern\":\"^a\"}", "7", NULL },
        { "{\"pattern\":\"^$\"}", "\"\"", NULL },
        { "{\"pattern\":\"a\"}", "\"\"", "it: a match of the pattern \"a\" is due" },
        { "{\"pattern\":\"^.{3}$\"}", "\"\u00e4\u20ac\U0001f600\"", NULL },
        { "{\"pattern\":\"^.{3}$\"}", "\"\u00e4\u20ac\"", "it: a match of the pattern \"^.{3}$\" is due" },
        { "{\"pattern\":\"^[^a]{2}$\"}", "\"\u00e4\u20ac\"", NULL },
        { "{\"pattern\":\"^\\\\W$\"}", "\"\u20ac\"", NULL },
        { "{\"pattern\":\"^(\u00e4|b)+$\"}", "\"\u00e4b\u00e4\"", NULL },
        { "{\"pattern\":\"^a.b$\"}", "\"a\\u0000b\"", NULL },
        { "{\"pattern\":\"^a$\"}", "\"a\\u0000\"", "it: a match of the pattern \"^a$\" is due" },
        { "{\"not\":{\"pattern\":\"x\"}}", "\"axb\"", "it: this is what is not allowed" },
        /* of a schema from outside: what is not read here is passed on */
        { "{\"pattern\":\"(?=a)b\"}", "\"c\"", NULL },
    };

    CHECK_ROWS(rows);
    CHECK_INT(schema_check_loose(parsed("{\"pattern\":\"a\"}"), parsed("\"b\""), "it", NULL), PAWL_OK);
}

/* The match is linear in the text: what takes other machines for ever is decided, and what is too much is refused before it is tried. */
PAWL_TEST(test_X2_a_hostile_pattern_ends)
{
    static const char *const patterns[] = { "^(a+)+$", "^(a|a)*$", "(a|b)*a(a|b){40}[cd]", "^(.*)*$", "(x+x+)+y", "^(([ab]{1,3}){1,9}){1,9}$" };
    char *text = malloc(70003);

    CHECK(text != NULL);
    memset(text, 'a', 70002);
    text[0] = '"', text[70000] = '!', text[70001] = '"', text[70002] = '\0';
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char schema[100];
        pawl_code code;

        snprintf(schema, sizeof schema, "{\"pattern\":\"%s\"}", patterns[i]);
        checked(parsed(schema), parsed(text), &code);
        CHECK(code == (strcmp(patterns[i], "^(.*)*$") == 0 ? PAWL_OK : PAWL_INVALID));
    }
    free(text);
}

PAWL_TEST(test_X2_a_pattern_that_costs_too_much_is_refused_before_it_is_tried)
{
    const size_t size = 1 << 20;
    char *text = malloc(size + 3);
    pawl_code code;

    CHECK(text != NULL);
    memset(text, 'a', size + 2);
    text[0] = text[size + 1] = '"', text[size + 2] = '\0';
    CHECK_STR(checked(parsed("{\"pattern\":\"^a{20}$\"}"), parsed(text), &code), "it: a match of the pattern \"^a{20}$\" is due");
    CHECK_INT(code, PAWL_INVALID);
    CHECK_STR(checked(parsed("{\"pattern\":\"^.{0,300}$\"}"), parsed(text), &code), "it: the schema takes more than 16777216 steps");
    CHECK_INT(code, PAWL_LIMIT);
    free(text);
}

PAWL_TEST(test_objects)
{
    static const row rows[] = {
        { "{\"required\":[\"a\"]}", "{\"a\":null}", NULL },
        { "{\"required\":[\"a\"]}", "[]", NULL },
        { "{\"required\":[\"a\",\"b\"]}", "{\"a\":1}", "it: \"b\" is missing" },
        { "{\"required\":[]}", "{}", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":\"x\",\"b\":1}", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{}", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "[1]", NULL },
        { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1}",
          "it: /a: a string is due, not a number" },
        { "{\"properties\":{\"a\":false}}", "{\"a\":1}", "it: /a: nothing is allowed here" },
        { "{\"additionalProperties\":false}", "{}", NULL },
        { "{\"additionalProperties\":false}", "{\"a\":1}", "it: \"a\" is none of its properties" },
        { "{\"additionalProperties\":true}", "{\"a\":1}", NULL },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1}", NULL },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"a\":1,\"b\":2}",
          "it: \"b\" is none of its properties" },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":{\"type\":\"null\"}}",
          "{\"a\":1,\"b\":null}", NULL },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":{\"type\":\"null\"}}", "{\"a\":1,\"b\":2}",
          "it: /b: null is due, not a number" },
        { "{\"patternProperties\":7,\"dependentRequired\":[]}", "{\"a\":1}", NULL },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_combinations)
{
    static const row rows[] = {
        { "{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2", NULL },
        { "{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4", "it: at most 3 is due, not 4" },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":1}]}", "2", NULL },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":1}]}", "null", NULL },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":1}]}", "0", "it: none of 2 schemas fits" },
        { "{\"oneOf\":[{\"minimum\":3},{\"maximum\":1}]}", "1", NULL },
        { "{\"oneOf\":[{\"minimum\":3},{\"maximum\":1}]}", "2", "it: none of 2 schemas fits" },
        { "{\"oneOf\":[false,{\"minimum\":1},{\"maximum\":3},true]}", "2",
          "it: schemas 1 and 2 fit, and one is due" },
        { "{\"not\":{\"type\":\"null\"}}", "1", NULL },
        { "{\"not\":{\"type\":\"null\"}}", "null", "it: this is what is not allowed" },
        { "{\"not\":{\"not\":{\"type\":\"null\"}}}", "null", NULL },
        { "{\"not\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]}}", "\"\"",
          "it: this is what is not allowed" },
    };
    CHECK_ROWS(rows);
}

/* ---- places ---------------------------------------------------------------------------------- */

PAWL_TEST(test_a_refusal_names_the_place)
{
    static const row rows[] = {
        { "{\"properties\":{\"items\":{\"items\":{\"type\":\"string\"}}}}", "{\"items\":[\"a\",\"b\",3]}",
          "it: /items/2: a string is due, not a number" },
        { "{\"properties\":{\"a/b\":{\"properties\":{\"~\":false}}}}", "{\"a/b\":{\"~\":1}}",
          "it: /a~1b/~0: nothing is allowed here" },
        { "{\"allOf\":[{\"items\":{\"allOf\":[{\"required\":[\"x\"]}]}}]}", "[{}]",
          "it: /0: \"x\" is missing" },
        { "{\"properties\":{\"\":{\"type\":\"null\"}}}", "{\"\":1}", "it: /: null is due, not a number" },
        { "{\"properties\":{\"a\\nb\":false}}", "{\"a\\nb\":1}", "it: /a?b: nothing is allowed here" },
        { "{\"additionalProperties\":{\"items\":false}}",
          "{\"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3"
          "\xA9"
          "01234567890123456789012345678901234567890123456789012345678901234567890123456789\":[1]}",
          "it: /...: nothing is allowed here" },
        { "{\"const\":\"01234567890123456789012345678901234567890123456789"
          "01234567890123456789012345678901234567890123456789\"}",
          "1", "it: ... is due" },
    };
    CHECK_ROWS(rows);
}

/* ---- $ref -------------------------------------------------------------------------------------- */

#define TREE                                                                                                 \
    "{\"$ref\":\"#/$defs/tree\",\"$defs\":{\"tree\":{\"properties\":{\"of\":{\"items\":"                     \
    "{\"$ref\":\"#/$defs/tree\"}}},\"required\":[\"name\"]}}}"

PAWL_TEST(test_refs)
{
    static const row rows[] = {
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "null", NULL },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1",
          "it: null is due, not a number" },
        { "{\"$ref\":\"#/definitions/a~1b/items\",\"definitions\":{\"a/b\":{\"items\":false}}}", "1",
          "it: nothing is allowed here" },
        { "{\"$ref\":\"#/$defs/a\",\"minimum\":3,\"$defs\":{\"a\":{\"type\":\"number\"}}}", "1",
          "it: at least 3 is due, not 1" },
        { TREE, "{\"name\":1,\"of\":[{\"name\":2,\"of\":[]}]}", NULL },
        { TREE, "{\"name\":1,\"of\":[{\"name\":2,\"of\":[{}]}]}", "it: /of/0/of/0: \"name\" is missing" },
        { "{\"$ref\":\"#/$defs/b\",\"$defs\":{}}", "1",
          "it: the schema's $ref \"#/$defs/b\" leads to no schema" },
        { "{\"$ref\":\"#/$defs/a/const\",\"$defs\":{\"a\":{\"const\":3}}}", "1",
          "it: the schema's $ref \"#/$defs/a/const\" leads to no schema" },
        { "{\"$ref\":\"https://example.org/s\"}", "1",
          "it: the schema's $ref \"https://example.org/s\" is not into #/$defs" },
        { "{\"$ref\":\"#\"}", "1", "it: the schema's $ref \"#\" is not into #/$defs" },
        { "{\"$ref\":3}", "1", "it: the schema's \"$ref\": a string is due" },
        { "{\"not\":{\"$ref\":\"#/$defs/b\"}}", "1",
          "it: the schema's $ref \"#/$defs/b\" leads to no schema" },
    };
    CHECK_ROWS(rows);
}

PAWL_TEST(test_refs_that_go_round_are_refused)
{
    static const row rows[] = {
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}", "1",
          "it: the schema's $refs go round" },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/"
          "a\"}}}",
          "1", "it: the schema's $refs go round" },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/a\"}]}}}", "1",
          "it: the schema's $refs go round" },
        { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"not\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}]}}}}", "1",
          "it: the schema's $refs go round" },
        { "{\"items\":{\"$ref\":\"#/$defs/a\"},\"$defs\":{\"a\":{\"oneOf\":[true,{\"$ref\":\"#/$defs/"
          "a\"}]}}}",
          "[1]", "it: /0: the schema's $refs go round" },
    };
    CHECK_ROWS(rows);
}

/* ---- malformed, and limits --------------------------------------------------------------------- */

PAWL_TEST(test_a_malformed_schema_refuses_everything)
{
    static const row rows[] = {
        { "3", "1", "it: the schema is a number" },
        { "{\"type\":\"strng\"}", "1", "it: the schema's \"type\": a type or an array of types is due" },
        { "{\"type\":[]}", "1", "it: the schema's \"type\": a type or an array of types is due" },
        { "{\"type\":[\"null\",3]}", "null",
          "it: the schema's \"type\": a type or an array of types is due" },
        { "{\"enum\":3}", "1", "it: the schema's \"enum\": an array is due" },
        { "{\"minimum\":\"3\"}", "1", "it: the schema's \"minimum\": a number is due" },
        { "{\"exclusiveMinimum\":true}", "1", "it: the schema's \"exclusiveMinimum\": a number is due" },
        { "{\"multipleOf\":0}", "1", "it: the schema's \"multipleOf\": a number above 0 is due" },
        { "{\"minLength\":-1}", "1", "it: the schema's \"minLength\": an integer from 0 on is due" },
        { "{\"maxItems\":1.5}", "1", "it: the schema's \"maxItems\": an integer from 0 on is due" },
        { "{\"required\":\"a\"}", "1", "it: the schema's \"required\": an array of names is due" },
        { "{\"required\":[\"a\\u0000\"]}", "1", "it: the schema's \"required\": an array of names is due" },
        { "{\"properties\":[]}", "1", "it: the schema's \"properties\": an object of schemas is due" },
        { "{\"properties\":{\"a\":3}}", "{\"a\":1}", "it: /a: the schema is a number" },
        { "{\"items\":[true]}", "1", "it: the schema's \"items\": a schema is due" },
        { "{\"uniqueItems\":1}", "1", "it: the schema's \"uniqueItems\": a boolean is due" },
        { "{\"anyOf\":[]}", "1", "it: the schema's \"anyOf\": an array of schemas is due" },
        { "{\"not\":{\"type\":3}}", "1", "it: the schema's \"type\": a type or an array of types is due" },
        { "{\"anyOf\":[{\"type\":3},true]}", "1",
          "it: the schema's \"type\": a type or an array of types is due" },
    };
    pawl_code code;

    CHECK_ROWS(rows);
    CHECK_STR(checked(NULL, parsed("1"), &code), "it: the schema is nothing");
    CHECK_STR(checked(parsed("true"), NULL, &code), "it: nothing was given");
}

/* `head`, then `n` times `one`, then `tail`. */
static const pawl_value *repeated(const char *head, const char *one, size_t n, const char *tail)
{
    const pawl_value *v;
    buf b;

    buf_init(&b, NULL);
    buf_text(&b, head);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&b, one, i, i + 1, i + 1);
    buf_text(&b, tail);
    buf_char(&b, '\0');
    v = parsed(b.data);
    buf_free(&b);
    return v;
}

PAWL_TEST(test_X2_limits_are_named)
{
    const pawl_value *unique = parsed("{\"uniqueItems\":true}"), *schema;
    pawl_err err = { PAWL_OK, "" };
    pawl_code code;

    checked(unique, repeated("[", "%zu,", 999, "999]"), &code);
    CHECK_INT(code, PAWL_OK);
    CHECK_STR(checked(unique, repeated("[", "%zu,", 1000, "1000]"), &code),
              "it: more than 1000 items to compare");
    CHECK_INT(code, PAWL_LIMIT);
    checked(parsed("{\"not\":{\"uniqueItems\":true}}"), repeated("[", "%zu,", 1000, "1000]"), &code);
    CHECK_INT(code, PAWL_LIMIT);

    /* two ways at each of 40 levels, and none of them fits */
    schema = repeated("{\"$ref\":\"#/$defs/0\",\"$defs\":{",
                      "\"%zu\":{\"anyOf\":[{\"$ref\":\"#/$defs/%zu\"},{\"$ref\":\"#/$defs/%zu\"}]},", 40,
                      "\"40\":false}}");
    CHECK_STR(checked(schema, parsed("1"), &code), "it: the schema takes more than 16777216 steps");
    CHECK_INT(code, PAWL_LIMIT);

    /* far down, by one chain of levels that is no cycle */
    schema = repeated("{\"$ref\":\"#/$defs/0\",\"$defs\":{",
                      "\"%zu\":{\"allOf\":[{\"$ref\":\"#/$defs/%zu\"}]},", 200, "\"200\":true}}");
    CHECK_STR(checked(schema, parsed("1"), &code), "it: more than 128 levels of schemas");
    CHECK_INT(code, PAWL_LIMIT);
    schema = repeated("{\"$ref\":\"#/$defs/0\",\"$defs\":{", "\"%zu\":{\"$ref\":\"#/$defs/%zu\"},", 100,
                      "\"100\":true}}");
    checked(schema, parsed("1"), &code);
    CHECK_INT(code, PAWL_OK);
    CHECK_INT(schema_known(schema, "it", &err), PAWL_OK);
}

PAWL_TEST(test_the_deepest_value_has_a_schema)
{
    const pawl_value *deepest = repeated("", "[", DEPTH_MAX,
                                         ""
                                         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
                                         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    pawl_code code;

    checked(parsed("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/"
                   "$defs/a\"}}}}"),
            deepest, &code);
    CHECK_INT(code, PAWL_OK);
    checked(
        parsed(
            "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/a\"}}}}"),
        deepest, &code);
    CHECK_INT(code, PAWL_INVALID);
}

/* ---- schema_known ------------------------------------------------------------------------------ */

typedef struct known_row {
    const char *schema, *says;
} known_row;

PAWL_TEST(test_our_own_schemas_have_no_unknown_keyword)
{
    static const known_row rows[] = {
        { "true", NULL },
        { "{}", NULL },
        { "{\"title\":\"t\",\"description\":\"d\",\"default\":3,\"examples\":[1],\"$schema\":\"s\",\"$id\":"
          "\"i\","
          "\"$comment\":\"c\",\"format\":\"date\",\"$defs\":{\"a\":true},\"definitions\":{\"b\":{}}}",
          NULL },
        { "{\"type\":[\"object\",\"array\"],\"enum\":[1],\"const\":2,\"properties\":{\"type\":{}},"
          "\"required\":[\"a\"],"
          "\"additionalProperties\":{},\"items\":{},\"minimum\":0,\"maximum\":1,\"exclusiveMinimum\":0,"
          "\"exclusiveMaximum\":1,\"multipleOf\":0.5,\"minLength\":1,\"maxLength\":2,\"minItems\":1,"
          "\"maxItems\":2,"
          "\"uniqueItems\":true,\"anyOf\":[{}],\"oneOf\":[{}],\"allOf\":[{}],\"not\":{}}",
          NULL },
        { TREE, NULL },
        { "{\"const\":{\"patern\":1},\"default\":{\"x\":1},\"enum\":[{\"y\":1}]}", NULL },
        { "{\"patern\":\"a\"}", "it: no keyword \"patern\" (did you mean \"pattern\"?)" },
        { "{\"minimun\":1}", "it: no keyword \"minimun\" (did you mean \"minimum\"?)" },
        { "{\"properties\":{\"a\":{\"items\":{\"pattern\":\"^[a-z]{2,3}$\"}}}}", NULL },
        { "{\"properties\":{\"a\":{\"items\":{\"patterns\":\"x\"}}}}",
          "it: /properties/a/items: no keyword \"patterns\" (did you mean \"pattern\"?)" },
        { "{\"pattern\":1}", "it: /pattern: a string is due, not 1" },
        { "{\"pattern\":\"(a\"}", "it: /pattern: \"(a\" is no pattern that is read here: a ( has no )" },
        { "{\"pattern\":\"(?=a)\"}",
          "it: /pattern: \"(?=a)\" is no pattern that is read here: (?...) is not read here, but for (?:...)" },
        { "{\"pattern\":\"(a)\\\\1\"}",
          "it: /pattern: \"(a)\\\\1\" is no pattern that is read here: it has an escape that is not read here" },
        { "{\"$defs\":{\"a\":{\"x\":1}}}", "it: /$defs/a: no keyword \"x\"" },
        { "{\"anyOf\":[true,{\"x\":1}]}", "it: /anyOf/1: no keyword \"x\"" },
        { "{\"additionalProperties\":{\"x\":1}}", "it: /additionalProperties: no keyword \"x\"" },
        { "{\"not\":{\"x\":1}}", "it: /not: no keyword \"x\"" },
        { "3", "it: a schema is due, not a number" },
        { "{\"allOf\":[true,3]}", "it: /allOf/1: a schema is due, not a number" },
        { "{\"type\":\"strng\"}", "it: /type: a type or an array of types is due, not \"strng\"" },
        { "{\"minLength\":-1}", "it: /minLength: an integer from 0 on is due, not -1" },
        { "{\"title\":1}", "it: /title: a string is due, not 1" },
        { "{\"examples\":1}", "it: /examples: an array is due, not 1" },
        { "{\"$ref\":\"#/$defs/a\"}", "it: /$ref: the schema's $ref \"#/$defs/a\" leads to no schema" },
        { "{\"$ref\":\"other.json\"}", "it: /$ref: the schema's $ref \"other.json\" is not into #/$defs" },
        { "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
          "it: /$defs/a/$ref: the schema's $refs go round" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pawl_err err = { PAWL_OK, "" };
        pawl_code code = schema_known(parsed(rows[i].schema), "it", &err);
        if (rows[i].says == NULL && code != PAWL_OK)
            CHECK_FAIL("%s: %s", rows[i].schema, err.text);
        if (rows[i].says != NULL) {
            CHECK_STR(err.text, rows[i].says);
            CHECK_INT(code, PAWL_INVALID);
        }
    }
    CHECK_INT(schema_known(NULL, "it", NULL), PAWL_INVALID);
}

int main(int argc, char **argv)
{
    int rc;

    arena_init(&mem, NULL, 65536);
    rc = check_main(argc, argv);
    arena_free(&mem);
    return rc;
}
