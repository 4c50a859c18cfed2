/* prompt_cache.c - the beginning of requests: model, tools, system and thinking.
 *
 * A provider caches it as long as it does not change. When it changed since the last request, an event names the part. */
#include "agent/agent.h"

enum { DIGEST_CHARS = 16 };

static const pawl_value *prefix_digest(turn *t, const pawl_value *one, const pawl_value *more)
{
    const pawl_value *out;
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    buf_init(&b, &t->mem->alloc);
    if (one != NULL)
        canon(&b, one);
    buf_char(&b, '\n');
    if (more != NULL)
        canon(&b, more);
    t->mem->failed = t->mem->failed || b.failed;
    hash_of(b.failed ? "" : b.data, b.failed ? 0 : b.size, &h);
    hash_hex(&h, hex);
    out = value_string(t->mem, hex, DIGEST_CHARS);
    buf_free(&b);
    return out;
}

static const pawl_value *value_or_null(turn *t, const pawl_value *v)
{
    return v != NULL ? v : value_null(t->mem);
}

static const pawl_value *prefix_now(turn *t)
{
    const pawl_value *config = pawl_get(t->s, "@config");

    return value_pack(t->mem, NULL, "{s:v,s:v,s:v,s:v}", "model", value_or_null(t, pawl_value_get(config, "model")), "system",
                      prefix_digest(t, pawl_get(t->s, "@system"), pinned_now(t)), "thinking", value_or_null(t, pawl_value_get(config, "thinking")), "tools",
                      prefix_digest(t, tools_now(t), NULL));
}

bool prefix_changed(turn *t)
{
    return !pawl_value_equal(pawl_get(t->s, "@sent"), prefix_now(t));
}

void prefix_check(turn *t)
{
    static const char *const parts[] = { "model", "tools", "system", "thinking" };     /* in the order in which providers compare */
    const pawl_value *was = pawl_get(t->s, "@sent"), *now = prefix_now(t);

    if (was != NULL && pawl_value_equal(was, now))
        return;
    pawl_set(t->s, "@sent", now);
    for (size_t i = 0; was != NULL && i < sizeof parts / sizeof *parts; i++)
        if (!pawl_value_equal(pawl_value_get(was, parts[i]), pawl_value_get(now, parts[i])))
            pawl_emit(t->s, "cache_break", pawl_pack(t->s, "{s:s}", "cause", parts[i]));
}
