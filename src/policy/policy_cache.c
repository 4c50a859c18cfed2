/* policy_cache.c - see policy_cache.h. Entries are replaced in a ring.
 *
 * Owns the compiled policies and the copies of their rules. Called by the agent and the loader of agent files, on the thread that owns the cache.
 * Invariant: an entry is filled completely, or is empty. */
#include "policy/policy_cache.h"
#include "policy/gate.h"

typedef struct cache_entry {
    arena mem;                  /* holds the copies, and the hooks */
    const pawl_value *rules, *grants;
    pawl_policy *policy;
    hook_list hooks;
    bool filled;
} cache_entry;

struct policy_cache {
    pawl_alloc alloc;
    cache_entry entries[POLICY_CACHE_ENTRIES];
    size_t next;                /* the entry to be replaced next */
    uint64_t compiled;
};

policy_cache *policy_cache_new(const pawl_alloc *alloc)
{
    const pawl_alloc mem = mem_or_default(alloc);
    policy_cache *cache = mem_new(&mem, sizeof *cache);

    if (cache == NULL)
        return NULL;
    cache->alloc = mem;
    for (size_t i = 0; i < POLICY_CACHE_ENTRIES; i++)
        arena_init(&cache->entries[i].mem, &cache->alloc, 1024);
    return cache;
}

static void entry_clear(cache_entry *e)
{
    pawl_policy_free(e->policy);
    arena_free(&e->mem);
}

void policy_cache_free(void *arg)
{
    policy_cache *cache = arg;

    if (cache == NULL)
        return;
    const pawl_alloc mem = cache->alloc;

    for (size_t i = 0; i < POLICY_CACHE_ENTRIES; i++)
        entry_clear(&cache->entries[i]);
    mem_free(&mem, cache, sizeof *cache);
}

static bool same_value(const pawl_value *a, const pawl_value *b)
{
    return a == NULL || b == NULL ? a == b : pawl_value_equal(a, b);
}

static bool copy_value(arena *mem, const pawl_value *v, const pawl_value **copy)
{
    *copy = v != NULL ? value_copy(mem, v) : NULL;
    return v == NULL || *copy != NULL;
}

static pawl_code entry_fill(policy_cache *cache, cache_entry *e, const pawl_value *rules, const pawl_value *grants, pawl_err *err)
{
    const pawl_value *all;
    pawl_code rc;

    if (!copy_value(&e->mem, rules, &e->rules) || !copy_value(&e->mem, grants, &e->grants))
        return fail(err, PAWL_NOMEM, "no memory for the rules");
    if ((all = gate_rules(&e->mem, e->rules, e->grants)) == NULL)
        return e->mem.failed ? fail(err, PAWL_NOMEM, "no memory for the rules") : PAWL_OK;
    cache->compiled++;
    if ((e->policy = gate_policy(&cache->alloc, all, err)) == NULL)
        return err->code;
    rc = gate_hooks(&e->mem, all, &e->hooks, err);
    return rc == PAWL_OK && e->mem.failed ? fail(err, PAWL_NOMEM, "no memory for the rules") : rc;
}

pawl_code policy_cache_get(policy_cache *cache, const pawl_value *rules, const pawl_value *grants, compiled_policy *out, pawl_err *err)
{
    static const hook_list none;
    cache_entry *e = NULL;
    pawl_err why = {0};
    pawl_code rc = PAWL_OK;

    *out = (compiled_policy){ NULL, &none };
    for (size_t i = 0; i < POLICY_CACHE_ENTRIES && e == NULL; i++)
        if (cache->entries[i].filled && same_value(cache->entries[i].rules, rules) && same_value(cache->entries[i].grants, grants))
            e = &cache->entries[i];
    if (e == NULL) {
        e = &cache->entries[cache->next];
        cache->next = (cache->next + 1) % POLICY_CACHE_ENTRIES;
        entry_clear(e);
        *e = (cache_entry){0};
        arena_init(&e->mem, &cache->alloc, 1024);
        rc = entry_fill(cache, e, rules, grants, &why);
        e->filled = rc == PAWL_OK;
    }
    if (rc != PAWL_OK)
        return fail(err, rc, "%s", why.text);
    *out = (compiled_policy){ e->policy, &e->hooks };
    return PAWL_OK;
}

uint64_t policy_cache_compiled(const policy_cache *cache)
{
    return cache->compiled;
}
