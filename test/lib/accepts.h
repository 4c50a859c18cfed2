/* accepts.h - checks that the body of a request is one that Anthropic's or OpenAI's API accepts, beyond its JSON types: roles alternate, each tool call
 * has exactly one result in the next message, and empty texts are not sent. Included by the tests of the agent and of models. */
#ifndef TEST_LIB_ACCEPTS_H
#define TEST_LIB_ACCEPTS_H

#include "json/json.h"
#include "lib/check.h"

#include <stdio.h>
#include <string.h>

static inline void members_are(const pawl_value *v, const char *what, const char *names)
{
    const pawl_value *key;
    pawl_iter it = pawl_iter_of(v);
    char word[64];

    CHECK_INT(pawl_value_type(v), PAWL_TYPE_OBJECT);
    while (pawl_iter_next(&it, &key) != NULL) {
        snprintf(word, sizeof word, " %s ", pawl_value_string(key));
        if (strstr(names, word) == NULL)
            CHECK_FAIL("%s has no member %s", what, word);
    }
}

static inline const char *str(const pawl_value *v, const char *name)
{
    const char *text = pawl_value_string(pawl_value_get(v, name));

    return text != NULL ? text : "";
}

typedef struct api_check {
    unsigned marks;
    const pawl_value *calls[64];        /* tool calls that the next message must answer */
    size_t ncalls, answered;
} api_check;

static inline void answers(api_check *c, const char *id)
{
    for (size_t i = 0; i < c->ncalls; i++)
        if (strcmp(str(c->calls[i], "id"), id) == 0) {
            c->answered++;
            return;
        }
    CHECK_FAIL("nothing was called with the id %s", id);
}

static inline void anthropic_block(api_check *c, const pawl_value *b, bool assistant, size_t at, size_t results)
{
    const char *type = str(b, "type");

    c->marks += pawl_value_get(b, "cache_control") != NULL ? 1 : 0;
    if (strcmp(type, "text") == 0) {
        members_are(b, type, " type text cache_control citations ");
        CHECK(*str(b, "text") != '\0');
    } else if (strcmp(type, "image") == 0) {
        members_are(b, type, " type source cache_control ");
        members_are(pawl_value_get(b, "source"), "source", " type media_type data ");
        CHECK(!assistant);
    } else if (strcmp(type, "thinking") == 0) {
        members_are(b, type, " type thinking signature ");
        CHECK(assistant && *str(b, "signature") != '\0');
    } else if (strcmp(type, "tool_use") == 0) {
        members_are(b, type, " type id name input cache_control ");
        CHECK(assistant && *str(b, "id") != '\0' && pawl_value_type(pawl_value_get(b, "input")) == PAWL_TYPE_OBJECT);
        CHECK(c->ncalls < 64);
        c->calls[c->ncalls++] = b;
    } else if (strcmp(type, "tool_result") == 0) {
        members_are(b, type, " type tool_use_id content is_error cache_control ");
        CHECK(!assistant && at == results);     /* first in its message */
        answers(c, str(b, "tool_use_id"));
    } else {
        CHECK(*type != '\0');
    }
}

static inline void anthropic_accepts(const pawl_value *body)
{
    static const char all[] = " model max_tokens tools tool_choice system messages thinking temperature stop_sequences stream ";
    pawl_iter it = pawl_iter_of(pawl_value_get(body, "messages")), blocks;
    const pawl_value *m, *b;
    const char *before = "assistant";
    api_check c = { 0 };

    members_are(body, "the body", all);
    CHECK(*str(body, "model") != '\0' && pawl_value_int(pawl_value_get(body, "max_tokens")) > 0);
    CHECK(pawl_value_bool(pawl_value_get(body, "stream")));
    CHECK(pawl_value_size(pawl_value_get(body, "messages")) > 0);
    CHECK(pawl_value_get(body, "tool_choice") == NULL || pawl_value_size(pawl_value_get(body, "tools")) > 0);
    for (blocks = pawl_iter_of(pawl_value_get(body, "tools")); (b = pawl_iter_next(&blocks, NULL)) != NULL;) {
        members_are(b, "a tool", " name description input_schema cache_control ");
        CHECK_STR(pawl_value_string(pawl_value_find(b, "/input_schema/type")), "object");
        c.marks += pawl_value_get(b, "cache_control") != NULL ? 1 : 0;
    }
    for (blocks = pawl_iter_of(pawl_value_get(body, "system")); (b = pawl_iter_next(&blocks, NULL)) != NULL;)
        anthropic_block(&c, b, false, 0, 0);
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        const bool assistant = strcmp(str(m, "role"), "assistant") == 0;
        const size_t due = c.ncalls;
        size_t at = 0, results = 0;

        members_are(m, "a message", " role content ");
        CHECK(strcmp(str(m, "role"), before) != 0);     /* roles alternate, beginning with the user */
        before = str(m, "role");
        CHECK(pawl_value_size(pawl_value_get(m, "content")) > 0);
        if (assistant)
            c.ncalls = c.answered = 0;
        for (blocks = pawl_iter_of(pawl_value_get(m, "content")); (b = pawl_iter_next(&blocks, NULL)) != NULL; at++) {
            anthropic_block(&c, b, assistant, at, results);
            results += strcmp(str(b, "type"), "tool_result") == 0 ? 1 : 0;
        }
        if (!assistant)
            CHECK_INT(results, due);
        if (!assistant)
            c.ncalls = 0;
    }
    CHECK(c.marks <= 4);
}

static inline void openai_message(api_check *c, const pawl_value *m, const char *before)
{
    const char *role = str(m, "role");
    const pawl_value *content = pawl_value_get(m, "content"), *calls = pawl_value_get(m, "tool_calls"), *one;
    pawl_iter it = pawl_iter_of(calls);

    if (strcmp(role, "tool") == 0) {
        members_are(m, role, " role tool_call_id content ");
        CHECK(strcmp(before, "tool") == 0 || strcmp(before, "assistant") == 0);
        CHECK_INT(pawl_value_type(content), PAWL_TYPE_STRING);
        answers(c, str(m, "tool_call_id"));
        return;
    }
    CHECK_INT(c->answered, c->ncalls);
    CHECK(strcmp(role, before) != 0);
    if (strcmp(role, "assistant") != 0) {
        members_are(m, role, " role content ");
        CHECK(pawl_value_size(content) > 0 && (strcmp(role, "user") == 0 || strcmp(role, "system") == 0));
        return;
    }
    members_are(m, role, " role content reasoning_content tool_calls ");
    CHECK(pawl_value_size(content) > 0 || pawl_value_size(calls) > 0);
    c->ncalls = c->answered = 0;
    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        members_are(one, "a call", " id type function extra_content ");
        members_are(pawl_value_get(one, "function"), "a function", " name arguments ");
        CHECK_INT(pawl_value_type(pawl_value_find(one, "/function/arguments")), PAWL_TYPE_STRING);
        CHECK(c->ncalls < 64);
        c->calls[c->ncalls++] = one;
    }
}

static inline void openai_accepts(const pawl_value *body)
{
    pawl_iter it = pawl_iter_of(pawl_value_get(body, "messages"));
    const pawl_value *m;
    const char *before = "";
    api_check c = { 0 };

    members_are(body, "the body", " model max_tokens max_completion_tokens tools tool_choice messages response_format temperature stop stream "
                                  "stream_options ");
    members_are(pawl_value_get(body, "stream_options"), "stream_options", " include_usage ");
    CHECK(pawl_value_size(pawl_value_get(body, "messages")) > 0);
    while ((m = pawl_iter_next(&it, NULL)) != NULL) {
        openai_message(&c, m, before);
        before = str(m, "role");
    }
    CHECK_INT(c.answered, c.ncalls);
}

#endif
