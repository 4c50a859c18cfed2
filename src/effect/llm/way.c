/* way.c - the ways in which a server like OpenAI's is asked for a typed value, and which of them each model takes.
 *
 * Called by llm.c and openai.c on any thread. Owns a small table of the process, under one lock. Invariants: only a way that was answered is kept;
 * nothing of it is in a journal, so a process that does not know the way finds it by the same refusals. */
#include "effect/llm/llm.h"

#include <pthread.h>

enum { WAYS_MAX = 64 };        /* models; the oldest is forgotten */

typedef struct way_entry { hash of; llm_way way; } way_entry;

static pthread_mutex_t ways_lock = PTHREAD_MUTEX_INITIALIZER;
static way_entry ways_known[WAYS_MAX];
static size_t ways_made;        /* entries that were ever made */

static void way_key(const char *base, const char *model, hash *out)
{
    const pawl_bytes parts[] = { { base, strlen(base) + 1 }, { model, strlen(model) } };

    hash_parts(parts, 2, out);
}

/* With the lock. NULL: not known. */
static way_entry *way_find(const hash *of)
{
    for (size_t i = 0; i < ways_made && i < WAYS_MAX; i++)
        if (hash_equal(&ways_known[i].of, of))
            return &ways_known[i];
    return NULL;
}

llm_way llm_way_known(const char *base, const char *model)
{
    const way_entry *k;
    llm_way way;
    hash of;

    way_key(base, model, &of);
    pthread_mutex_lock(&ways_lock);
    k = way_find(&of);
    way = k != NULL ? k->way : LLM_BY_FORMAT;
    pthread_mutex_unlock(&ways_lock);
    return way;
}

void llm_way_keep(const char *base, const char *model, llm_way way)
{
    way_entry *k;
    hash of;

    way_key(base, model, &of);
    pthread_mutex_lock(&ways_lock);
    if ((k = way_find(&of)) == NULL)
        k = &ways_known[ways_made++ % WAYS_MAX];
    *k = (way_entry){ of, way };
    pthread_mutex_unlock(&ways_lock);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

const char *llm_way_name(llm_way way)
{
    static const char *const names[] = {
        [LLM_BY_FORMAT] = "response_format", [LLM_BY_TOOL] = "a forced tool", [LLM_BY_JSON] = "JSON mode", [LLM_BY_PROMPT] = "the prompt",
    };

    return names[way];
}

bool llm_way_refused(llm_way way, const llm_error *e)
{
    static const char *const formats[] = { "response_format", "response format", "json_schema", "json schema", "json_object", "json mode", "output format",
                                           "output_format", "structured output", NULL };
    static const char *const tools[] = { "tool", "function", NULL };
    static const char *const *const named[] = { [LLM_BY_FORMAT] = formats, [LLM_BY_TOOL] = tools, [LLM_BY_JSON] = formats, [LLM_BY_PROMPT] = NULL };
    static const char *const refusals[] = { "support", "unavailable", "not available", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed",
                                            "not enabled", "not implemented", "must be", "forbidden", NULL };

    if (named[way] == NULL || (e->status != 400 && e->status != 404 && e->status != 422))
        return false;
    return llm_error_has(e, named[way]) && llm_error_has(e, refusals);
}
