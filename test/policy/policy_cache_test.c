/* policy_cache_test.c - a policy is compiled once for its rules, and a cache never returns that of other rules (P2). */
#include "policy/hooking.h"
#include "policy/policy_cache.h"
#include "lib/heap.h"

static const char rules_text[] = "{\"allow\":[\"Bash(ls:*)\"],\"deny\":[\"Read(//etc/**)\"],\"hooks\":[{\"from\":\"person\",\"hooks\":"
                                 "{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}}]}";

static pawl_behavior decides(const pawl_policy *p, arena *mem, const char *command)
{
    const pawl_request q = { .tool = "Bash", .cls = PAWL_PERMISSION_EXEC, .mode = PAWL_MODE_DEFAULT, .args = value_pack(mem, NULL, "{s:s}", "command",
        command) };
    pawl_decision d;

    pawl_decide(p, &q, &d);
    return d.behavior;
}

PAWL_TEST(test_P2_a_policy_is_compiled_once_for_its_rules)
{
    policy_cache *cache = policy_cache_new(NULL);
    compiled_policy one, two;
    pawl_err err = {0};
    arena mem, other;

    arena_init(&mem, NULL, 4096);
    arena_init(&other, NULL, 4096);
    CHECK(policy_cache_get(cache, json_of(&mem, rules_text), NULL, &one, &err) == PAWL_OK);
    CHECK(one.policy != NULL && one.hooks->count == 1);
    CHECK(decides(one.policy, &mem, "ls src") == PAWL_BEHAVIOR_ALLOW);
    for (int i = 0; i < 20; i++) {      /* equal rules in other memory */
        arena_reset(&other);
        CHECK(policy_cache_get(cache, json_of(&other, rules_text), NULL, &two, &err) == PAWL_OK);
        CHECK(two.policy == one.policy && two.hooks == one.hooks);
    }
    CHECK_INT(policy_cache_compiled(cache), 1);
    CHECK(policy_cache_get(cache, json_of(&mem, rules_text), json_of(&mem, "[[\"Bash(make:*)\"]]"), &two, &err) == PAWL_OK);
    CHECK(two.policy != one.policy);
    CHECK(decides(two.policy, &mem, "make all") == PAWL_BEHAVIOR_ALLOW && decides(one.policy, &mem, "make all") == PAWL_BEHAVIOR_ASK);
    CHECK_INT(policy_cache_compiled(cache), 2);
    arena_free(&other);
    arena_free(&mem);
    policy_cache_free(cache);
}

PAWL_TEST(test_P2_no_rules_and_rules_that_cannot_be_read)
{
    policy_cache *cache = policy_cache_new(NULL);
    compiled_policy c;
    arena mem;

    arena_init(&mem, NULL, 4096);
    CHECK(policy_cache_get(cache, NULL, NULL, &c, NULL) == PAWL_OK && c.policy == NULL && c.hooks->count == 0);
    CHECK_INT(policy_cache_compiled(cache), 0);
    for (int i = 0; i < 3; i++) {       /* a failure is no entry: each call says what is wrong */
        pawl_err err = {0};

        CHECK(policy_cache_get(cache, json_of(&mem, "{\"allow\":[\"Bash(\"]}"), NULL, &c, &err) == PAWL_INVALID);
        CHECK(*err.text != '\0' && c.policy == NULL && c.hooks->count == 0);
    }
    CHECK_INT(policy_cache_compiled(cache), 3);
    arena_free(&mem);
    policy_cache_free(cache);
}

PAWL_TEST(test_P2_the_oldest_of_too_many_policies_is_replaced)
{
    policy_cache *cache = policy_cache_new(NULL);
    compiled_policy c;
    arena mem;

    arena_init(&mem, NULL, 4096);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i <= POLICY_CACHE_ENTRIES; i++) {
            char command[32], rule[64];

            snprintf(command, sizeof command, "tool%d x", i);
            snprintf(rule, sizeof rule, "{\"allow\":[\"Bash(tool%d:*)\"]}", i);
            CHECK(policy_cache_get(cache, json_of(&mem, rule), NULL, &c, NULL) == PAWL_OK);
            CHECK(decides(c.policy, &mem, command) == PAWL_BEHAVIOR_ALLOW && decides(c.policy, &mem, "other x") == PAWL_BEHAVIOR_ASK);
        }
    CHECK_INT(policy_cache_compiled(cache), 2 * (POLICY_CACHE_ENTRIES + 1));
    arena_free(&mem);
    policy_cache_free(cache);
}

PAWL_TEST(test_P2_the_cache_without_memory)
{
    arena fixed;
    const pawl_value *rules, *grants;
    pawl_alloc alloc;
    heap h;

    arena_init(&fixed, NULL, 4096);
    rules = json_of(&fixed, rules_text);
    grants = json_of(&fixed, "[[\"Bash(make:*)\"]]");
    heap_init(&h);
    alloc = heap_alloc(&h);
    for (size_t n = 0;; n++) {
        policy_cache *cache;
        compiled_policy c;
        pawl_code rc = PAWL_NOMEM;

        heap_fail_at(&h, n);
        cache = policy_cache_new(&alloc);
        if (cache != NULL)
            rc = policy_cache_get(cache, rules, grants, &c, NULL);
        CHECK(h.fired ? rc == PAWL_NOMEM : rc == PAWL_OK && c.policy != NULL && c.hooks->count == 1);
        if (h.fired && cache != NULL) { /* and then there is memory again */
            CHECK(policy_cache_get(cache, rules, grants, &c, NULL) == PAWL_OK);
            CHECK(decides(c.policy, &fixed, "make x") == PAWL_BEHAVIOR_ALLOW);
        }
        policy_cache_free(cache);
        heap_check(&h);
        if (!h.fired)
            break;
    }
    arena_free(&fixed);
}
