/* fuzz_llm.c - whatever a model's stream says: a reply that is JSON and has no more than was said, or a refusal in words.
 *
 * The input: a byte for the API and for the schema, then the stream. */
#include "effect/llm/llm.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_be_refused(const llm_answer *a)
{
    must(a->rc < 0 && a->rc != PAWL_NOMEM && a->err.code == a->rc && a->err.text[0] != '\0');
    must(utf8_valid(a->err.text, strlen(a->err.text)) && strchr(a->err.text, '\n') == NULL);
}

static void must_be_well(arena *mem, const pawl_reply *r, bool schema)
{
    const pawl_value *v = value_parse(mem, r->text.data, r->text.size, "the reply", NULL), *block;
    pawl_iter it = pawl_iter_of(pawl_value_find(v, "/message/content"));
    llm_stop stop;

    must(v != NULL && !value_deeper(v, DEPTH_MAX - 1) && llm_stop_named(llm_text(v, "stop"), &stop));
    must(strcmp(llm_text(pawl_value_get(v, "message"), "role"), "assistant") == 0);
    must(schema || pawl_value_get(v, "output") == NULL);
    while ((block = pawl_iter_next(&it, NULL)) != NULL) {
        must(*llm_text(block, "type") != '\0');
        must(!llm_is(block, "tool_use") ||
             (*llm_text(block, "id") != '\0' && *llm_text(block, "name") != '\0' && pawl_value_type(pawl_value_get(block, "input")) == PAWL_TYPE_OBJECT));
    }
}

static void read_all(const llm_api *api, llm_answer *a, const char *data, size_t size)
{
    pawl_bytes in = { data, size };
    arena scratch;
    sse_event ev;
    sse s;

    arena_init(&scratch, NULL, 4096);
    sse_init(&s, NULL);
    while (a->rc == PAWL_OK && sse_next(&s, &in, &ev, NULL) == PAWL_OK) {
        arena_reset(&scratch);
        (void)api->event(a, &ev, &scratch);
    }
    if (a->rc == PAWL_OK && !a->whole && sse_end(&s, &ev))
        (void)api->event(a, &ev, &scratch);
    (void)api->end(a);
    sse_free(&s);
    arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char json[] = "{\"type\":\"object\",\"required\":[\"n\"]}";
    const pawl_job job = { .effect = "llm" };
    llm_request q = { .provider = "p", .model = "m", .turn = 1 };
    pawl_reply r;
    llm_answer a;
    arena mem;

    if (size == 0)
        return 0;
    arena_init(&mem, NULL, 4096);
    reply_init(&r, NULL);
    if ((data[0] & 2) != 0)
        q.schema = value_parse(&mem, json, sizeof json - 1, "schema", NULL);
    llm_answer_init(&a, &mem, &job, &q);
    read_all((data[0] & 1) != 0 ? &llm_anthropic : &llm_openai, &a, (const char *)data + 1, size - 1);
    must(a.rc != PAWL_OK || a.whole);
    must(a.usage.input >= 0 && a.usage.output >= 0 && a.usage.cache_read >= 0 && a.usage.cache_write >= 0);
    if (a.rc == PAWL_OK && llm_reply(&a, &r) == PAWL_OK)
        must_be_well(&mem, &r, q.schema != NULL);
    else
        must_be_refused(&a);
    llm_answer_free(&a);
    reply_free(&r);
    arena_free(&mem);
    return 0;
}
