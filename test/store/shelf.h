/* shelf.h - each story on a store in memory, and on one in a file. */
#ifndef TEST_STORE_SHELF_H
#define TEST_STORE_SHELF_H

#include "lib/machines.h"
#include "lib/engine_fixture.h"
#include "pawl/history.h"
#include "store/one.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char shelf_folder[200], shelf_path[256];
static int shelf_number;
static bool shelf_files;

static inline void shelf_clear(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char path[300];

    for (int i = 0; i < shelf_number; i++)
        for (size_t k = 0; k < 4; k++) {
            snprintf(path, sizeof path, "%s/%d.db%s", shelf_folder, i, ends[k]);
            remove(path);
        }
    if (shelf_number > 0)
        remove(shelf_folder);
    shelf_number = 0;
}

/* A new one; `shelf_path` is its file, where it has one. */
static inline pawl_store *shelf_store(void)
{
    const char *temp = getenv("TMPDIR");
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;

    if (shelf_number == 0) {
        snprintf(shelf_folder, sizeof shelf_folder, "%.150s/pawl-shelf-XXXXXX", temp != NULL ? temp : "/tmp");
        CHECK(mkdtemp(shelf_folder) != NULL);
    }
    snprintf(shelf_path, sizeof shelf_path, "%s/%d.db", shelf_folder, shelf_number++);
    s = shelf_files ? pawl_store_sqlite(shelf_path, &(pawl_sqlite){ .normal = true }, &err) : pawl_store_memory(&err);
    if (s == NULL)
        CHECK_FAIL("no store: %s", err.text);
    return s;
}

static inline void on_both(void (*story)(void))
{
    for (int i = 0; i < 2; i++) {
        shelf_files = i == 1;
        story();
        shelf_clear();
    }
}

/* ---- one machine, and what may be other in it ------------------------------------------------------- */

/* draft by "llm", a question, two workers side by side, then one command of class once. */
static inline pawl_machine *shelf_machine(uint32_t version, const char *publish)
{
    static const pawl_channel channels[] = { { .name = "log", .rule = PAWL_RULE_APPEND }, { .name = "n", .rule = PAWL_RULE_SUM }, { .name = "verdict" },
                                             { .name = "request" }, { 0 } };
    const part parts[] = {
        { "draft", NULL, "call llm {\"about\":\"sky\"} -> log | n=1 | emit progress \"drafted\"" },
        { "review", "draft", "ask \"good?\" -> verdict | n=2" },
        { "left", "review", "call llm {\"side\":\"left\"} -> log" },
        { "right", "review", "call llm {\"side\":\"right\"} -> log" },
        { "publish", "left right", publish != NULL ? publish : "call post {\"to\":\"all\"} -> log | n=4" },
        { 0 },
    };
    pawl_graph *g = script_graph("shelf", version, channels, parts);

    pawl_graph_effect(g, "post", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    return script_compile(g);
}

static inline void shelf_town(town *t, pawl_store *s)
{
    town_begin(t, shelf_machine(1, NULL), s);
    town_acts(t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    town_acts(t, "post", PAWL_CLASS_ONCE);
    t->replies[0] = "\"said\"";
}

static inline pawl_code shelf_answer(town *t, const char *run, const char *answer)
{
    t->err = (pawl_err){ PAWL_OK, "" };
    return pawl_answer(t->e, run, NULL, answer, &t->err);
}

/* Everything that a state says, as text to be freed. */
static inline char *shelf_state(pawl_store *s, const char *run, uint64_t seq)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_step *step = pawl_step_new(NULL);
    pawl_state *st = NULL;
    const char *json;
    char *copy;

    if (pawl_history_state(s, run, seq, &st, &err) != PAWL_OK)
        CHECK_FAIL("%s at %llu: %s", run, (unsigned long long)seq, err.text);
    json = pawl_state_json(st, step, &err);
    CHECK(json != NULL);
    copy = check_copy(json, strlen(json));
    pawl_state_free(st);
    pawl_step_free(step);
    return copy;
}

/* Its journal begins at entry `seq` from now on. */
static inline void shelf_prune(pawl_store *s, const char *run, uint64_t seq)
{
    pawl_step *step = pawl_step_new(NULL);
    pawl_state *st = NULL;
    pawl_bytes base;
    pawl_head head;

    CHECK_INT(pawl_history_state(s, run, seq, &st, NULL), PAWL_OK);
    CHECK_INT(pawl_state_prune(st, step, &base, NULL), PAWL_OK);
    CHECK_INT(claim_one(s, run, "pruner", 1000, &head, NULL), PAWL_OK);
    CHECK_INT(s->verbs->prune(s, run, head.fence, seq, base, NULL), PAWL_OK);
    CHECK_INT(release_one(s, run, head.fence, NULL), PAWL_OK);
    pawl_state_free(st);
    pawl_step_free(step);
}

#endif
