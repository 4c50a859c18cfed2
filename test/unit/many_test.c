/* many_test.c - frames with so many tasks, and channels with so many members, that they are found by an index: everything comes out as it does
 * without. The world checks after each event that feeding changed nothing, and that a state loaded again is the same. */
#include "base/id_index.h"
#include "kernel/frame.h"
#include "kernel/step.h"
#include "lib/world.h"

#include "kernel/task_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = TASKS_MANY + 3 * BLOCK_TASKS + 7, ROUNDS = 60 };

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

/* ---- many tasks --------------------------------------------------------------------------- */

static pawl_code node_plan(pawl_step *s, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < MANY; i++)
        pawl_send(s, i % 5 == 4 ? "inner" : "work", i % 5 == 4 ? pawl_pack(s, "{s:i}", "n", i) : pawl_pack(s, "i", i));
    return pawl_goto(s, PAWL_END);
}

/* By its number: nothing, one call, two at once, a question, two calls of which one is enough. */
static pawl_code node_work(pawl_step *s, void *arg)
{
    const int64_t n = pawl_value_int(pawl_args(s));
    const pawl_value *one, *two;
    uint32_t winner;
    pawl_code rc = PAWL_OK, other = PAWL_OK;

    (void)arg;
    if (n % 5 == 1)
        rc = pawl_call(s, "slow", pawl_pack(s, "i", n), &one);
    if (n % 5 == 3 && n % 2 == 0)
        rc = pawl_ask(s, pawl_pack(s, "s", "Well?"), &one);
    if (n % 5 == 2 || (n % 5 == 3 && n % 2 != 0)) {
        rc = pawl_call(s, "slow", pawl_pack(s, "i", n), &one);
        other = pawl_call(s, "slow", pawl_pack(s, "i", n + 1), &two);
    }
    if (n % 5 == 3 && n % 2 != 0)
        rc = other = pawl_select(s, &winner);
    if (rc != PAWL_OK || other != PAWL_OK)
        return rc != PAWL_OK ? rc : other;
    pawl_set(s, "seen", pawl_args(s));
    return PAWL_OK;
}

static pawl_code node_inner(pawl_step *s, void *arg)
{
    const pawl_value *result;
    const int64_t n = pawl_get_int(s, "n");
    pawl_code rc = n % 2 == 0 ? pawl_call(s, "slow", pawl_pack(s, "i", n), &result) : PAWL_OK;

    (void)arg;
    return rc;
}

static pawl_code node_twice(pawl_step *s, void *arg)
{
    const pawl_value *result;

    (void)arg;
    return pawl_call(s, "late", NULL, &result);
}

static pawl_machine *many_machine(void)
{
    pawl_graph *g = pawl_graph_new("many", 1), *inner = pawl_graph_new("inner", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(inner, "n", PAWL_RULE_LAST);
    pawl_graph_node(inner, "first", node_inner, NULL);
    pawl_graph_node(inner, "second", node_twice, NULL);
    pawl_graph_chain(inner, PAWL_START, "first", "second", PAWL_END, NULL);
    pawl_graph_channel(g, "seen", PAWL_RULE_UNION);
    pawl_graph_node(g, "plan", node_plan, NULL);
    pawl_graph_node(g, "work", node_work, NULL);
    pawl_graph_sub(g, "inner", inner);
    pawl_graph_goto(g, "plan", "work", "inner", NULL);
    pawl_graph_edge(g, PAWL_START, "plan");
    pawl_graph_edge(g, "work", PAWL_END);
    pawl_graph_edge(g, "inner", PAWL_END);
    m = pawl_graph_compile(g, &err);
    CHECK(m != NULL);
    return m;
}

/* The n-th is what a walk past all of them finds. */
typedef struct walk { world *w; size_t commands, waits; bool same; } walk;

static bool see_one(void *ctx, const frame *f, const task *tk, const char *path, const call *c, uint32_t n)
{
    walk *k = ctx;
    pawl_command cmd;
    pawl_wait wait;
    char end[300];
    const char *id = NULL;

    (void)f;
    snprintf(end, sizeof end, "/%llu.%s.%u.%u", (unsigned long long)c->superstep, path, tk != NULL ? (unsigned)tk->visit : 1u, (unsigned)n);
    if (call_asks(c) && pawl_state_wait(k->w->st, k->waits++, k->w->look, &wait, NULL) == PAWL_OK)
        id = wait.id;
    else if (!call_asks(c) && pawl_state_command(k->w->st, k->commands++, k->w->look, &cmd, NULL, NULL) == PAWL_OK)
        id = cmd.id;
    k->same = k->same && id != NULL && strlen(id) > strlen(end) && strcmp(id + strlen(id) - strlen(end), end) == 0;
    return true;
}

PAWL_TEST(test_many_tasks_are_answered_in_any_order)
{
    for (unsigned seed = 1; seed <= 3; seed++) {
        world w;
        unsigned r = seed;

        world_begin(&w, many_machine(), NULL);
        w.quiet = seed > 1;     /* the world's own checks take their time */
        world_go(&w);
        for (int i = 0; i < 4 * MANY && pawl_state_commands(w.st) + pawl_state_waits(w.st) > 0; i++) {
            walk k = { .w = &w, .same = true };
            size_t n, waits = pawl_state_waits(w.st);
            pawl_command cmd;
            pawl_wait wait;
            char id[300] = "";

            state_each_call(w.st, see_one, &k);
            CHECK(k.same);
            CHECK_INT(k.commands, pawl_state_commands(w.st));
            CHECK_INT(k.waits, waits);
            n = next_number(&r) % (k.commands + k.waits);
            if (n < waits && pawl_state_wait(w.st, n, w.look, &wait, NULL) == PAWL_OK)
                snprintf(id, sizeof id, "%s", wait.id);
            else if (n >= waits && pawl_state_command(w.st, n - waits, w.look, &cmd, NULL, NULL) == PAWL_OK)
                snprintf(id, sizeof id, "%s", cmd.id);
            const pawl_event ev = { .kind = n < waits ? PAWL_EV_ANSWER : PAWL_EV_RECEIPT, .outcome = PAWL_OUTCOME_DONE, .id = id, .value = "7",
                                    .time_ms = w.now };
            CHECK(world_feed(&w, &ev) >= 0);
            if (pawl_state_next(w.st) == PAWL_OK)
                world_go(&w);
        }
        CHECK_INT(pawl_state_status(w.st), PAWL_STATUS_COMPLETED);
        w.quiet = false;
        world_end(&w);
    }
}

/* ---- many members ---------------------------------------------------------------------------- */

static unsigned the_seed;

/* What the turn of that number writes: some members, of which some are there already; of one node or several, texts among them. */
static const pawl_value *members_of(arena *a, int64_t turn)
{
    unsigned r = the_seed * 1000 + (unsigned)turn;
    const pawl_value *v = value_pack(a, NULL, "{}");
    char key[32], text[64];

    for (unsigned i = next_number(&r) % 9; i > 0; i--) {
        const unsigned kind = next_number(&r) % 8;

        snprintf(key, sizeof key, "member-%u", next_number(&r) % 90);
        snprintf(text, sizeof text, kind == 0 ? "[%u,{\"a\":1}]" : kind <= 3 ? "\"text %u\"" : "%u", next_number(&r));
        v = value_with(a, v, key, value_parse(a, text, strlen(text), "a value", NULL));
    }
    return v;
}

static pawl_code node_members(pawl_step *s, void *arg)
{
    const int64_t turn = pawl_get_int(s, "turn");

    (void)arg;
    pawl_set(s, "all", members_of(&s->mem, turn));
    pawl_set(s, "names", members_of(&s->mem, turn % 40));
    pawl_set_int(s, "turn", turn + 1);
    return turn + 1 < ROUNDS ? pawl_follow(s) : pawl_goto(s, PAWL_END);
}

static pawl_machine *members_machine(void)
{
    pawl_graph *g = pawl_graph_new("members", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "all", PAWL_RULE_MERGE);
    pawl_graph_channel(g, "names", PAWL_RULE_UNION);
    pawl_graph_channel(g, "turn", PAWL_RULE_LAST);
    pawl_graph_node(g, "turn", node_members, NULL);
    pawl_graph_goto(g, "turn", "@end", NULL);
    pawl_graph_edge(g, PAWL_START, "turn");
    pawl_graph_edge(g, "turn", "turn");
    m = pawl_graph_compile(g, &err);
    CHECK(m != NULL);
    return m;
}

PAWL_TEST(test_many_members_merge_as_few_do)
{
    for (the_seed = 1; the_seed <= 10; the_seed++) {
        const pawl_alloc alloc = mem_or_default(NULL);
        const pawl_value *all, *names, *key, *v;
        world w;
        arena mem;
        buf b;

        arena_init(&mem, &alloc, 4096);
        buf_init(&b, &alloc);
        all = value_pack(&mem, NULL, "{}");
        names = value_pack(&mem, NULL, "[]");
        for (int64_t turn = 0; turn < ROUNDS; turn++) {
            const pawl_value *members = members_of(&mem, turn), *name = members_of(&mem, turn % 40);
            pawl_iter it = pawl_iter_of(members);

            while ((v = pawl_iter_next(&it, &key)) != NULL)
                all = value_with(&mem, all, pawl_value_string(key), v);
            if (!value_one_of(names, name))
                names = value_push(&mem, names, name);
        }
        world_begin(&w, members_machine(), NULL);
        world_go(&w);
        CHECK_STR(world_status(&w), "completed");
        canon(&b, all);
        buf_char(&b, '\0');
        CHECK_STR(world_get(&w, "all"), b.data);
        buf_reset(&b);
        canon(&b, names);
        buf_char(&b, '\0');
        CHECK_STR(world_get(&w, "names"), b.data);
        buf_free(&b);
        arena_free(&mem);
        world_end(&w);
    }
}

/* ---- the index itself ------------------------------------------------------------------------- */

PAWL_TEST(test_what_is_taken_out_of_an_index_is_gone_and_the_rest_stays)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    hash_index x = { NULL, 0, 0 };
    bool in[300] = { false };
    unsigned r = 5;

    for (int i = 0; i < 20000; i++) {
        const uint32_t n = next_number(&r) % 300, h = n % 37 * 0x10001u;    /* many of one hash */

        if (in[n])
            hash_index_remove(&x, h, n);
        else
            CHECK(hash_index_add(&x, &alloc, h, n));
        in[n] = !in[n];
        if (i % 500 != 0)
            continue;
        for (uint32_t k = 0; k < 300; k++) {
            uint32_t at = hash_index_first(&x, k % 37 * 0x10001u), found, times = 0;

            while ((found = hash_index_next(&x, k % 37 * 0x10001u, &at)) != UINT32_MAX)
                times += found == k;
            CHECK_INT(times, in[k]);
        }
    }
    hash_index_free(&x, &alloc);
}

PAWL_TEST(test_what_is_taken_out_of_an_index_by_id_is_gone_and_the_rest_stays)
{
    const pawl_alloc alloc = mem_or_default(NULL);
    id_index x = { NULL, 0, 0 };
    bool in[300] = { false };
    char things[300];
    unsigned r = 5;

    CHECK(id_hash("r~0000000000000001/2.work:1.1.0") != id_hash("r~0000000000000001/2.work:2.1.0"));
    for (int i = 0; i < 20000; i++) {
        const uint32_t n = next_number(&r) % 300, h = n % 37 * 0x10001u;

        if (in[n])
            id_index_remove(&x, h, &things[n]);
        else
            CHECK(id_index_add(&x, &alloc, h, &things[n]));
        in[n] = !in[n];
        if (i % 500 != 0)
            continue;
        for (uint32_t k = 0; k < 300; k++) {
            size_t at = id_index_first(&x, k % 37 * 0x10001u);
            uint32_t times = 0;

            for (const void *found; (found = id_index_next(&x, k % 37 * 0x10001u, &at)) != NULL;)
                times += found == &things[k];
            CHECK_INT(times, in[k]);
        }
    }
    id_index_free(&x, &alloc);
}

static void *no_more(void *ctx, void *ptr, size_t old_size, size_t size)
{
    const pawl_alloc real = mem_or_default(NULL);

    return size == 0 || *(bool *)ctx ? real.resize(real.ctx, ptr, old_size, size) : NULL;
}

/* Without memory it fills its slots, and only then says no. */
PAWL_TEST(test_an_index_by_id_without_memory_uses_the_slots_that_it_has)
{
    bool more = true;
    const pawl_alloc alloc = { no_more, &more };
    id_index x = { NULL, 0, 0 };
    char things[64];
    uint32_t n = 0;

    CHECK(id_index_room(&x, &alloc, 4));
    more = false;
    while (n < 64 && id_index_add(&x, &alloc, n, &things[n]))
        n++;
    CHECK_INT(n, x.size - 1);
    for (uint32_t k = 0; k < n; k++) {
        size_t at = id_index_first(&x, k);

        CHECK(id_index_next(&x, k, &at) == &things[k]);
    }
    CHECK(!id_index_room(&x, &alloc, 1));
    id_index_free(&x, &alloc);
}
