/* input.c - what may be said to an agent: a text, {"input"}, {"content"}, or a message with its role; blocks are taken as they are. What says
 * nothing is none: providers refuse a text without a word in it. */
#include "agent/agent.h"

static bool is_blank_text(const pawl_value *v)
{
    const char *text = pawl_value_string(v);

    return text != NULL && strspn(text, " \t\r\n") == pawl_value_size(v);
}

static bool is_blank_block(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL && strcmp(type, "text") == 0 && is_blank_text(pawl_value_get(block, "text"));
}

static bool are_objects(const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(one) != PAWL_TYPE_OBJECT)
            return false;
    return true;
}

static size_t blank_blocks(const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        n += is_blank_block(one);
    return n;
}

/* Its content, and whether it is pinned; NULL: it is no input. */
static const pawl_value *content_in(const pawl_value *v, bool *pinned)
{
    const char *role = pawl_value_string(pawl_value_get(v, "role"));
    const pawl_value *content = v;

    *pinned = false;
    if (pawl_value_type(v) == PAWL_TYPE_OBJECT) {
        content = pawl_value_get(v, "input");
        content = content != NULL ? content : pawl_value_get(v, "content");
        *pinned = pawl_value_bool(pawl_value_get(v, "pinned"));
    }
    if (pawl_value_type(content) == PAWL_TYPE_OBJECT)       /* a message inside {"input"} */
        return content_in(content, pinned);
    if (role != NULL && strcmp(role, "user") != 0)
        return NULL;
    return pawl_value_type(content) == PAWL_TYPE_STRING || (pawl_value_type(content) == PAWL_TYPE_ARRAY && are_objects(content)) ? content : NULL;
}

bool input_is_empty(const pawl_value *input)
{
    bool pinned;
    const pawl_value *content = content_in(input, &pinned);

    return content != NULL && (pawl_value_type(content) == PAWL_TYPE_STRING ? is_blank_text(content) : blank_blocks(content) == pawl_value_size(content));
}

pawl_code pawl_agent_input(const pawl_value *input, pawl_err *err)
{
    bool pinned;

    if (content_in(input, &pinned) == NULL)
        return fail(err, PAWL_INVALID, "input is a text, {\"input\": TEXT or BLOCKS}, or a message of the user's");
    if (input_is_empty(input))
        return fail(err, PAWL_INVALID, "input is empty: there is no word in it");
    return PAWL_OK;
}

/* Blocks of text that say nothing are left out. */
static const pawl_value *without_blanks(turn *t, const pawl_value *blocks)
{
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(blocks);

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (!is_blank_block(one))
            all = value_push(t->mem, all, one);
    return all;
}

const pawl_value *message_of_input(turn *t, const pawl_value *v)
{
    bool pinned;
    const pawl_value *content = content_in(v, &pinned);

    if (pawl_agent_input(v, NULL) != PAWL_OK)
        return NULL;
    if (pawl_value_type(content) == PAWL_TYPE_ARRAY && blank_blocks(content) > 0)
        content = without_blanks(t, content);
    if (pinned)
        return pawl_pack(t->s, "{s:v,s:b,s:s}", "content", content, "pinned", 1, "role", "user");
    return pawl_pack(t->s, "{s:v,s:s}", "content", content, "role", "user");
}
