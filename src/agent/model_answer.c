/* model_answer.c - repairs the answer of a model for the conversation: drops invalid blocks, and completes tool calls without an id, a name or an object as
 * input. Otherwise the provider would refuse the next request, and every later one. Called by turn.c; pure. */
#include "agent/agent.h"
#include "kernel/visit.h"

static bool has_text(const pawl_value *block, const char *key)
{
    return pawl_value_type(pawl_value_get(block, key)) == PAWL_TYPE_STRING;
}

/* Blocks of an assistant message. Unknown types belong to the provider and are kept. */
static bool is_block(const pawl_value *block)
{
    static const struct { const char *type, *text; bool not_here; } kinds[] = {
        { "text", "text", false }, { "thinking", "thinking", false }, { "redacted_thinking", "data", false }, { "image", NULL, true },
        { "tool_result", NULL, true },
    };
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    if (pawl_value_type(block) != PAWL_TYPE_OBJECT || type == NULL || *type == '\0')
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0)
            return !kinds[i].not_here && has_text(block, kinds[i].text);
    return true;
}

static bool is_use(const pawl_value *block)
{
    const char *type = pawl_value_string(pawl_value_get(block, "type"));

    return type != NULL && strcmp(type, "tool_use") == 0;
}

static bool is_named(const pawl_value *block, const char *key)
{
    const char *text = pawl_value_string(pawl_value_get(block, key));

    return text != NULL && *text != '\0' && strlen(text) == pawl_value_size(pawl_value_get(block, key));
}

static bool is_whole_use(const pawl_value *block)
{
    return is_named(block, "id") && is_named(block, "name") && pawl_value_type(pawl_value_get(block, "input")) == PAWL_TYPE_OBJECT;
}

static const pawl_value *use_mended(turn *t, const pawl_value *block, uint32_t k)
{
    const pawl_value *input = pawl_value_get(block, "input");
    const char *id;

    if (!is_named(block, "id")) {
        id = pawl_format(t->s, "call_%u_%u", (unsigned)t->round + 1, (unsigned)k);
        block = id == NULL ? NULL : value_with(t->mem, block, "id", value_string(t->mem, id, strlen(id)));
    }
    if (!is_named(block, "name"))
        block = value_with(t->mem, block, "name", value_string(t->mem, "unnamed", 7));
    if (pawl_value_type(input) == PAWL_TYPE_OBJECT)
        return block;
    if (!has_text(block, "invalid"))
        block = value_with(t->mem, block, "invalid", pawl_pack(t->s, "s", pawl_text(t->s, input != NULL ? input : value_null(t->mem))));
    return value_with(t->mem, block, "input", value_pack(t->mem, NULL, "{}"));
}

static const pawl_value *blocks_mended(turn *t, const pawl_value *blocks)
{
    const pawl_value *all = value_pack(t->mem, NULL, "[]"), *one;
    pawl_iter it = pawl_iter_of(blocks);
    bool whole = true;

    for (uint32_t k = 0; (one = pawl_iter_next(&it, NULL)) != NULL; k++) {
        const bool use = is_use(one);

        whole = whole && is_block(one) && (!use || is_whole_use(one));
        if (is_block(one))
            all = value_push(t->mem, all, use && !is_whole_use(one) ? use_mended(t, one, k) : one);
    }
    return whole ? blocks : all;
}

const pawl_value *message_of_answer(turn *t, const pawl_value *message, const char **wrong)
{
    const pawl_value *content = pawl_value_get(message, "content"), *mended = content;
    const char *role = pawl_value_string(pawl_value_get(message, "role"));
    const pawl_type type = pawl_value_type(content);

    *wrong = NULL;
    if (pawl_value_type(message) != PAWL_TYPE_OBJECT)
        *wrong = "Invalid response: there is no message in it";
    else if (content != NULL && type != PAWL_TYPE_STRING && type != PAWL_TYPE_ARRAY && type != PAWL_TYPE_NULL)
        *wrong = "Invalid response: its content is no text, and no list of blocks";
    if (*wrong != NULL)
        return NULL;
    if (type == PAWL_TYPE_ARRAY)
        mended = blocks_mended(t, content);
    else if (type != PAWL_TYPE_STRING)
        mended = value_pack(t->mem, NULL, "[]");
    if (mended != content)
        message = value_with(t->mem, message, "content", mended);
    if (role == NULL || strcmp(role, "assistant") != 0)
        message = value_with(t->mem, message, "role", value_string(t->mem, "assistant", 9));
    return message;
}
