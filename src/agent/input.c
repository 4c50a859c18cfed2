/* input.c - the inputs that an agent accepts: a text, {"input"}, {"content"}, or a message with its role, with blocks that a request may have from a user.
 *
 * Called by reduce.c, and by hosts before they send an input; pure, any thread. An input without any text or block is refused, since providers refuse
 * an empty text. */
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

static size_t blank_blocks(const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *one;
    size_t n = 0;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        n += is_blank_block(one);
    return n;
}

/* The content of an input, and whether it is pinned; NULL: no valid input. */
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
    if (pawl_value_type(content) == PAWL_TYPE_OBJECT)       /* {"input": message} */
        return content_in(content, pinned);
    if (role != NULL && strcmp(role, "user") != 0)
        return NULL;
    return pawl_value_type(content) == PAWL_TYPE_STRING || pawl_value_type(content) == PAWL_TYPE_ARRAY ? content : NULL;
}

/* ---- blocks ----------------------------------------------------------------------------------------------- */

static bool is_named_text(const pawl_value *block, const char *key)
{
    return pawl_value_type(pawl_value_get(block, key)) == PAWL_TYPE_STRING && pawl_value_size(pawl_value_get(block, key)) > 0;
}

static bool is_base64(const pawl_value *v)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *text = pawl_value_string(v);
    const size_t size = pawl_value_size(v), n = text != NULL ? strspn(text, digits) : 0;

    return text != NULL && n > 0 && size % 4 == 0 && size - n <= 2 && strspn(text + n, "=") == size - n;
}

/* Refuses a block that would make this request fail, and every later one, since the conversation keeps it. Blocks of an unknown type are left to the
 * provider. */
static pawl_code block_check(const pawl_value *block, size_t i, pawl_err *err)
{
    static const char *const others[] = { "thinking", "redacted_thinking", "tool_use", "tool_result" };
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    if (type == NULL || *type == '\0')
        return fail(err, PAWL_INVALID, "input: block %zu is no object with a \"type\"", i);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(type, others[k]) == 0)
            return fail(err, PAWL_INVALID, "input: block %zu is of type \"%s\", which no message of the user's has: text and image are", i, type);
    if (strcmp(type, "text") == 0 && pawl_value_type(pawl_value_get(block, "text")) != PAWL_TYPE_STRING)
        return fail(err, PAWL_INVALID, "input: block %zu of type \"text\" has no \"text\"", i);
    if (strcmp(type, "image") == 0 && (!is_named_text(block, "media_type") || !is_base64(pawl_value_get(block, "data"))))
        return fail(err, PAWL_INVALID, "input: block %zu of type \"image\" has \"media_type\", such as image/png, and \"data\" in base64", i);
    return PAWL_OK;
}

pawl_code blocks_check(const pawl_value *blocks, pawl_err *err)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *one;
    pawl_code rc = PAWL_OK;

    for (size_t i = 1; rc == PAWL_OK && (one = pawl_iter_next(&it, NULL)) != NULL; i++)
        rc = block_check(one, i, err);
    return rc;
}

static bool is_empty(const pawl_value *content)
{
    return pawl_value_type(content) == PAWL_TYPE_STRING ? is_blank_text(content) : blank_blocks(content) == pawl_value_size(content);
}

static bool are_typed(const pawl_value *blocks)
{
    pawl_iter it = pawl_iter_of(blocks);
    const pawl_value *one;

    while ((one = pawl_iter_next(&it, NULL)) != NULL)
        if (pawl_value_type(pawl_value_get(one, "type")) != PAWL_TYPE_STRING)
            return false;
    return true;
}

pawl_code input_check(const pawl_value *input, pawl_err *err)
{
    bool pinned;
    const pawl_value *content = content_in(input, &pinned);

    if (content == NULL || (pawl_value_type(content) == PAWL_TYPE_ARRAY && !are_typed(content)))
        return PAWL_OK;
    return pawl_agent_input(input, err);
}

pawl_code pawl_agent_input(const pawl_value *input, pawl_err *err)
{
    bool pinned;
    const pawl_value *content = content_in(input, &pinned);
    pawl_code rc;

    if (content == NULL)
        return fail(err, PAWL_INVALID, "input is a text, {\"input\": TEXT or BLOCKS}, or a message of the user's");
    if (pawl_value_type(content) == PAWL_TYPE_ARRAY && (rc = blocks_check(content, err)) != PAWL_OK)
        return rc;
    if (is_empty(content))
        return fail(err, PAWL_INVALID, "input is empty: there is no word in it");
    return PAWL_OK;
}

/* Empty text blocks are left out: providers refuse them. */
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
