/* history_test.c - runs are looked back at: at every entry, against another machine, beside another run. */
#include "store/lame.h"
#include "store/shelf.h"

#define ERR (pawl_err){ PAWL_OK, "" }

/* ---- the state at an entry ------------------------------------------------------------------------- */

typedef struct seen { char *at[64]; uint64_t n; pawl_step *step; } seen;

static void watch(void *ctx, const pawl_state *st, const pawl_entry *e)
{
    seen *w = ctx;
    const char *json;

    if (pawl_entry_is_record(e))
        return;
    json = pawl_state_json((pawl_state *)(uintptr_t)st, w->step, NULL);
    w->at[pawl_entry_seq(e)] = check_copy(json, strlen(json));
    w->n = pawl_entry_seq(e);
}

static void state_at_every_entry(void)
{
    seen w = { .step = pawl_step_new(NULL) };
    pawl_store *s = shelf_store();
    pawl_head before, after;
    pawl_state *st = NULL;
    pawl_err err = ERR;
    town t;

    shelf_town(&t, s);
    pawl_engine_watch(t.e, watch, &w);
    CHECK_INT(town_run(&t, "r", "{\"request\":1}"), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    CHECK(w.n >= 5);
    CHECK_INT(s->verbs->head(s, "r", &before, NULL), PAWL_OK);
    for (uint64_t seq = 1; seq <= w.n; seq++) {
        char *then = shelf_state(s, "r", seq);

        CHECK_STR(then, w.at[seq]);
        free(then);
    }
    CHECK(strcmp(w.at[1], w.at[w.n]) != 0);
    char *now = shelf_state(s, "r", 0);
    CHECK_STR(now, w.at[w.n]);
    free(now);
    CHECK_INT(s->verbs->head(s, "r", &after, NULL), PAWL_OK);
    CHECK(after.fence == before.fence && after.changed_ms == before.changed_ms);     /* nothing was held or written for it */
    CHECK_INT(pawl_history_state(s, "r", w.n + 1, &st, &err), PAWL_GONE);
    CHECK(st == NULL && strstr(err.text, "r: there is no entry") != NULL);
    err = ERR;
    CHECK_INT(pawl_history_state(s, "nobody", 0, &st, &err), PAWL_GONE);
    CHECK_INT(pawl_history_state(s, NULL, 0, &st, NULL), PAWL_INVALID);
    for (uint64_t seq = 1; seq <= w.n; seq++)
        free(w.at[seq]);
    pawl_step_free(w.step);
    town_end(&t);
}

PAWL_TEST(test_G8_the_state_of_a_run_at_every_entry) { on_both(state_at_every_entry); }

typedef struct walked { char text[4096]; size_t lines, records; uint64_t last; size_t most; } walked;

static bool walk(void *ctx, uint64_t seq, const pawl_entry *e)
{
    walked *w = ctx;
    const char *name = NULL, *node = NULL;
    size_t n = strlen(w->text);

    CHECK(seq >= w->last);
    w->last = seq;
    w->lines++;
    if (pawl_entry_is_record(e)) {
        w->records++;
        return w->lines != w->most;
    }
    CHECK_INT(pawl_entry_seq(e), seq);
    n += (size_t)snprintf(w->text + n, sizeof w->text - n, "%llu %s %s", (unsigned long long)seq, pawl_event_kind_name(pawl_entry_kind(e)),
                          pawl_status_name(pawl_entry_status(e)));
    if (pawl_entry_emission(e, 0, &name, &node) != NULL)
        n += (size_t)snprintf(w->text + n, sizeof w->text - n, " %s of %s", name, node);
    snprintf(w->text + n, sizeof w->text - n, "; ");
    return w->lines != w->most;
}

static void entries_are_walked(void)
{
    static const char *const all = "1 start working; 2 receipt input-required progress of draft; 3 answer working; 4 tick working; 5 tick completed; ";
    pawl_store *s = shelf_store();
    walked w = { .last = 0 };
    pawl_err err = ERR;
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    CHECK_INT(pawl_history_walk(s, "r", 0, 0, walk, &w, &err), PAWL_OK);
    CHECK(strncmp(w.text, all, 60) == 0);
    CHECK(w.records > 0 && strstr(w.text, "completed; ") != NULL);
    w = (walked){ .most = 2 };
    CHECK_INT(pawl_history_walk(s, "r", 0, 0, walk, &w, &err), PAWL_OK);
    CHECK_INT(w.lines, 2);
    w = (walked){ .most = 0 };
    CHECK_INT(pawl_history_walk(s, "r", 1, 3, walk, &w, &err), PAWL_OK);
    CHECK_STR(w.text, "2 receipt input-required progress of draft; 3 answer working; ");
    shelf_prune(s, "r", 2);
    w = (walked){ .most = 0 };
    CHECK_INT(pawl_history_walk(s, "r", 0, 3, walk, &w, &err), PAWL_OK);      /* from where it begins */
    CHECK_STR(w.text, "3 answer working; ");
    CHECK_INT(pawl_history_walk(s, "r", 1, 0, walk, &w, &err), PAWL_GONE);
    err = ERR;
    CHECK_INT(pawl_history_state(s, "r", 1, &(pawl_state *){ NULL }, &err), PAWL_GONE);
    char *then = shelf_state(s, "r", 2);
    CHECK(strstr(then, "\"n\":1") != NULL);
    free(then);
    err = ERR;
    CHECK_INT(pawl_run_fork(t.e, "r", 1, "f", &err), PAWL_GONE);
    err = ERR;
    CHECK_INT(pawl_run_fork(t.e, "r", 2, "f", &err), PAWL_OK);      /* from where it begins */
    CHECK_INT(town_run(&t, "f", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_history_walk(s, "r", 0, 0, NULL, NULL, NULL), PAWL_INVALID);
    town_end(&t);
}

PAWL_TEST(test_G8_the_entries_of_a_run_are_walked) { on_both(entries_are_walked); }

/* ---- forks with another state -------------------------------------------------------------------------- */

static size_t waits_in(pawl_store *s, const char *run)
{
    pawl_head head;

    CHECK_INT(s->verbs->head(s, run, &head, NULL), PAWL_OK);
    return head.waits;
}

static void fork_with_changed_state(void)
{
    const pawl_event change = { .kind = PAWL_EV_UPDATE, .value = "{\"verdict\":\"mine\",\"n\":40}", .by = "ada" };
    pawl_store *s = shelf_store();
    pawl_err err = ERR;
    walked w = { .last = 0 };
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_fork_with(t.e, "r", 2, "f", &change, &err), PAWL_OK);
    CHECK_INT(t.calls, 1);                      /* nothing ran */
    CHECK_INT(pawl_history_walk(s, "f", 0, 0, walk, &w, &err), PAWL_OK);
    CHECK(strncmp(w.text, "1 update ", 9) == 0 && w.lines == 1);
    CHECK(town_stored(&t, "f", "[\"update\",{\"n\":40,\"verdict\":\"mine\"},{\"by\":\"ada\"}]"));
    CHECK_STR(pawl_run_get(t.e, "f", "n"), "41");
    CHECK_STR(pawl_run_get(t.e, "r", "n"), "1");        /* the other one is as it was */
    CHECK_INT(town_run(&t, "f", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "f", "\"theirs\""), PAWL_HALTED);
    CHECK_STR(pawl_run_get(t.e, "f", "n"), "47");
    town_verify(&t, "f");
    CHECK_INT(pawl_run_fork_with(t.e, "r", 2, "f", &change, &err), PAWL_CONFLICT);
    town_end(&t);
    if (!shelf_files)
        return;                 /* the store went with its engine */
    for (int i = 0; i < 2; i++) {       /* whose first machine is another one */
        town_begin(&t, town_essay(NULL), pawl_store_sqlite(shelf_path, NULL, NULL));
        if (i == 1)
            CHECK_INT(pawl_engine_add(t.e, shelf_machine(1, NULL), &err), PAWL_OK);
        err = ERR;
        CHECK_INT(pawl_run_fork_with(t.e, "r", 2, "g", &change, &err), i == 0 ? PAWL_CONFLICT : PAWL_OK);
        town_end(&t);
    }
}

PAWL_TEST(test_G8_a_fork_may_begin_with_another_state) { on_both(fork_with_changed_state); }

static void refused_change_leaves_nothing(void)
{
    static const struct { pawl_event ev; uint64_t seq; } wrong[] = {
        { { .kind = PAWL_EV_UPDATE, .value = "{\"nothing\":1}" }, 2 }, { { .kind = PAWL_EV_UPDATE, .value = "{\"n\":\"text\"}" }, 2 },
        { { .kind = PAWL_EV_UPDATE, .value = "[1]" }, 2 }, { { .kind = PAWL_EV_UPDATE, .value = "{" }, 2 }, { { .kind = PAWL_EV_UPDATE }, 2 },
        { { .kind = PAWL_EV_CANCEL }, 2 }, { { .kind = PAWL_EV_UPDATE, .value = "{\"n\":1}" }, 9 },
    };
    pawl_store *s = shelf_store();
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pawl_err err = ERR;
        pawl_code rc = pawl_run_fork_with(t.e, "r", wrong[i].seq, "f", &wrong[i].ev, &err);

        if (rc >= 0 || err.code != rc || err.text[0] == '\0')
            CHECK_FAIL("%zu: %s, %s", i, pawl_code_name(rc), err.text);
        town_runs(&t, "r");
    }
    town_end(&t);
}

PAWL_TEST(test_G8_a_change_that_is_refused_leaves_no_fork) { on_both(refused_change_leaves_nothing); }

/* Killed after each of the writes of a fork: the same call again completes it, and nothing has run in between. */
static void broken_off_fork_is_completed(void)
{
    const pawl_event change = { .kind = PAWL_EV_UPDATE, .value = "{\"n\":40}" };
    size_t refused = 0;

    for (size_t left = 0; left < 8; left++) {
        pawl_store *s = shelf_store();
        pawl_err err = ERR;
        pawl_code rc;
        lame l;
        town t, again;

        shelf_town(&t, lame_begin(&l, s, 1000));
        CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
        l.left = left;
        rc = pawl_run_fork_with(t.e, "r", 2, "f", &change, &err);
        refused += rc != PAWL_OK;
        town_end(&t);
        shelf_town(&again, s);
        pawl_engine_lease(again.e, "another", 0);
        if (rc != PAWL_OK) {
            pawl_head head;
            pawl_code there = s->verbs->head(s, "f", &head, NULL);

            err = ERR;
            CHECK(there == PAWL_GONE || head.seq == 0);
            if (there == PAWL_OK && head.owner != NULL)
                CHECK_INT(release_one(s, "f", head.fence, NULL), PAWL_OK);      /* whoever held it is dead */
            if (pawl_run_fork_with(again.e, "r", 2, "f", &change, &err) != PAWL_OK)
                CHECK_FAIL("after %zu writes: %s", left, err.text);
        }
        CHECK_STR(pawl_run_get(again.e, "f", "n"), "41");
        CHECK_INT(town_run(&again, "f", NULL), PAWL_INTERRUPTED);
        CHECK_INT(pawl_run_fork_with(again.e, "r", 2, "f", &change, &err), PAWL_CONFLICT);
        town_end(&again);
    }
    CHECK(refused >= 3 && refused < 8);
}

PAWL_TEST(test_G8_a_fork_that_was_broken_off_is_completed) { on_both(broken_off_fork_is_completed); }

/* A wait that the fork begins with is known to the store: who does not hold the fork may answer it. */
static void waits_of_a_fork(void)
{
    pawl_store *s = shelf_store();
    pawl_machine *m;
    pawl_err err = ERR;
    pawl_graph *g = script_graph("once", 1, NULL, (const part[]){ { "a", NULL, "call post {} | ask \"then?\"" }, { 0 } });
    town t;

    pawl_graph_effect(g, "post", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    m = script_compile(g);
    town_begin(&t, m, s);
    town_acts(&t, "post", PAWL_CLASS_ONCE);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_run_fork(t.e, "r", 1, "f", &err), PAWL_OK);
    CHECK_INT(waits_in(s, "f"), 1);
    CHECK_INT(town_run(&t, "f", NULL), PAWL_INTERRUPTED);
    CHECK_INT(t.calls, 1);                      /* asked first: it must not happen twice */
    CHECK_INT(shelf_answer(&t, "f", "true"), PAWL_INTERRUPTED);
    CHECK_INT(t.calls, 2);
    town_verify(&t, "f");
    town_end(&t);
}

PAWL_TEST(test_K10_the_store_knows_the_waits_that_a_fork_begins_with) { on_both(waits_of_a_fork); }

/* ---- is it right? -------------------------------------------------------------------------------------------- */

/* The run again in a store of its own, with `old` in its journal made `new`, which is as long. */
static pawl_store *damaged(pawl_store *s, const char *run, const char *old, const char *new)
{
    pawl_bytes journal = pawl_store_journal(s, run, NULL);
    char *text = check_copy(journal.data, journal.size), *at = strstr(text, old), *nl = strchr(text, '\n');
    pawl_store *other = pawl_store_memory(NULL);
    pawl_bytes lines[64];
    pawl_append a = { .run = run, .lines = lines };
    pawl_head head;

    CHECK(at != NULL && strlen(old) == strlen(new));
    memcpy(at, new, strlen(new));
    CHECK_INT(other->verbs->create(other, (pawl_bytes){ text, (size_t)(nl - text) }, NULL, NULL), PAWL_OK);
    CHECK_INT(claim_one(other, run, "me", 1000, &head, NULL), PAWL_OK);
    a.fence = head.fence;
    for (char *line = nl + 1; *line != '\0'; line = nl + 1) {
        nl = strchr(line, '\n');
        lines[a.nlines++] = (pawl_bytes){ line, (size_t)(nl - line) };
    }
    CHECK_INT(other->verbs->append(other, &a, 1, NULL), PAWL_OK);
    CHECK_INT(a.rc, PAWL_OK);
    free(text);
    union { const char *in; void *out; } data = { journal.data };
    free(data.out);
    return other;
}

static void stored_run_is_verified(void)
{
    pawl_store *s = shelf_store(), *bad;
    pawl_machine *m = shelf_machine(2, NULL);
    pawl_err err = ERR;
    pawl_verdict v;
    lame l;
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_history_verify(s, pawl_engine_machine(t.e), "r", &v, &err), PAWL_OK);
    CHECK_INT(v.entries, 2);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    CHECK_INT(pawl_history_verify(s, pawl_engine_machine(t.e), "r", &v, &err), PAWL_OK);
    CHECK(v.entries > 4 && v.records > 0 && v.folded == 0);
    CHECK_INT(pawl_history_verify(s, NULL, "r", &v, &err), PAWL_OK);
    CHECK_INT(v.folded, v.entries + v.records);
    CHECK_INT(pawl_history_verify(s, m, "r", &v, &err), PAWL_CONFLICT);
    err = ERR;
    CHECK_INT(pawl_history_verify(s, m, "nobody", &v, &err), PAWL_GONE);
    err = ERR;
    bad = damaged(s, "r", "\"side\":\"left\"", "\"side\":\"lost\"");
    CHECK_INT(pawl_history_verify(bad, pawl_engine_machine(t.e), "r", &v, &err), PAWL_CORRUPT);
    CHECK(v.seq >= 3 && strstr(err.text, "r: ") == err.text);
    pawl_store_free(bad);
    err = ERR;
    lame_begin(&l, s, 0)->verbs = &l.verbs;
    l.boasts = 2;
    CHECK_INT(pawl_history_verify(&l.store, pawl_engine_machine(t.e), "r", &v, &err), PAWL_CORRUPT);
    CHECK(strstr(err.text, "r: its journal ends after entry ") == err.text);
    pawl_machine_free(m);
    town_end(&t);
}

PAWL_TEST(test_K5_a_run_in_the_store_is_verified) { on_both(stored_run_is_verified); }

/* ---- against another machine ------------------------------------------------------------------------------------ */

typedef struct told { char runs[128]; uint64_t seq; pawl_code code; char text[256], says[512], journaled[512]; } told;

static bool see_divergence(void *ctx, const pawl_divergence *d)
{
    told *w = ctx;
    size_t n = strlen(w->runs);

    snprintf(w->runs + n, sizeof w->runs - n, "%s@%llu ", d->run, (unsigned long long)d->seq);
    w->seq = d->seq;
    w->code = d->code;
    snprintf(w->text, sizeof w->text, "%s", d->text);
    snprintf(w->says, sizeof w->says, "%.*s", (int)d->says.size, d->says.size > 0 ? d->says.data : "");
    snprintf(w->journaled, sizeof w->journaled, "%.*s", (int)d->journaled.size, d->journaled.size > 0 ? d->journaled.data : "");
    return true;
}

static void against_another_machine(void)
{
    pawl_store *s = shelf_store();
    pawl_machine *same = shelf_machine(2, NULL), *other = shelf_machine(2, "call post {\"to\":\"some\"} -> log | n=4");
    pawl_machine *stranger = town_essay(NULL);
    pawl_against sum;
    pawl_err err = ERR;
    pawl_head before, after;
    told w = { "", 0, PAWL_OK, "", "", "" };
    town t;

    shelf_town(&t, s);
    CHECK_INT(town_run(&t, "asked", NULL), PAWL_INTERRUPTED);
    CHECK_INT(town_run(&t, "over", NULL), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "over", "true"), PAWL_HALTED);
    CHECK_INT(s->verbs->head(s, "over", &before, NULL), PAWL_OK);
    CHECK_INT(pawl_history_against(s, same, NULL, &(pawl_filter){0}, see_divergence, &w, &sum, &err), PAWL_OK);
    CHECK(sum.runs == 2 && sum.same == 2 && sum.diverged == 0 && sum.unread == 0);
    CHECK_STR(w.runs, "");
    CHECK_INT(pawl_history_against(s, other, NULL, &(pawl_filter){0}, see_divergence, &w, &sum, &err), PAWL_OK);
    CHECK(sum.runs == 2 && sum.same == 1 && sum.diverged == 1);
    CHECK(strncmp(w.runs, "over@", 5) == 0 && strchr(w.runs + 5, '@') == NULL);
    CHECK_INT(w.code, PAWL_CORRUPT);
    CHECK(strstr(w.journaled, "\"to\":\"all\"") != NULL && strstr(w.says, "\"to\":\"some\"") != NULL && strstr(w.says, "\"to\":\"all\"") == NULL);
    CHECK(strstr(w.text, "over: ") == w.text);
    CHECK_INT(pawl_history_against(s, other, NULL, NULL, NULL, NULL, &sum, &err), PAWL_OK);     /* those that will go on */
    CHECK(sum.runs == 1 && sum.same == 1);
    CHECK_INT(pawl_history_against(s, other, "over", NULL, NULL, NULL, &sum, &err), PAWL_OK);
    CHECK(sum.runs == 1 && sum.diverged == 1);
    CHECK_INT(pawl_history_against(s, stranger, NULL, NULL, NULL, NULL, &sum, &err), PAWL_OK);
    CHECK_INT(sum.runs, 0);
    CHECK_INT(pawl_history_against(s, stranger, "over", NULL, NULL, NULL, &sum, &err), PAWL_CONFLICT);
    err = ERR;
    CHECK_INT(pawl_history_against(s, same, "nobody", NULL, NULL, NULL, &sum, &err), PAWL_GONE);
    CHECK_INT(s->verbs->head(s, "over", &after, NULL), PAWL_OK);
    CHECK(before.fence == after.fence && before.seq == after.seq && after.parked == NULL);
    pawl_machine_free(same);
    pawl_machine_free(other);
    pawl_machine_free(stranger);
    town_end(&t);
}

PAWL_TEST(test_F5_a_deployment_is_tried_against_the_runs_that_are_there) { on_both(against_another_machine); }

/* What was adopted once is asked for what came after it; and what cannot be adopted says so. */
static void against_after_an_adoption(void)
{
    static const pawl_channel rules[] = { { .name = "log", .rule = PAWL_RULE_APPEND }, { .name = "n", .rule = PAWL_RULE_MAX }, { 0 } };
    pawl_store *s = shelf_store();
    pawl_machine *other = shelf_machine(1, NULL), *never;
    const part one[] = { { "draft", NULL, "n=1" }, { 0 } };
    pawl_against sum;
    pawl_err err = ERR;
    told w = { "", 0, PAWL_OK, "", "", "" };
    town t;

    town_begin(&t, shelf_machine(7, "call post {\"to\":\"none\"} -> log | n=5"), s);
    town_acts(&t, "llm", PAWL_CLASS_AT_LEAST_ONCE);
    t.replies[0] = "\"said\"";
    CHECK_INT(town_run(&t, "r", NULL), PAWL_INTERRUPTED);
    town_end(&t);
    if (!shelf_files) {         /* a store in memory goes with its engine */
        pawl_machine_free(other);
        return;
    }
    s = pawl_store_sqlite(shelf_path, NULL, &err);
    shelf_town(&t, s);
    CHECK_INT(pawl_event_send(t.e, "r", &(pawl_event){ .kind = PAWL_EV_ADOPT }, &t.err), PAWL_INTERRUPTED);
    CHECK_INT(shelf_answer(&t, "r", "true"), PAWL_HALTED);
    CHECK_INT(pawl_history_against(s, other, "r", NULL, see_divergence, &w, &sum, &err), PAWL_OK);
    CHECK_STR(w.runs, "");
    CHECK_INT(sum.same, 1);
    never = script_machine("shelf", 9, rules, one);
    CHECK_INT(pawl_history_against(s, never, "r", NULL, see_divergence, &w, &sum, &err), PAWL_OK);
    CHECK(sum.diverged == 1 && w.code == PAWL_INVALID && strstr(w.text, "channel \"n\"") != NULL);
    pawl_machine_free(never);
    pawl_machine_free(other);
    town_end(&t);
}

PAWL_TEST(test_F5_what_was_adopted_is_asked_for_what_came_after) { on_both(against_after_an_adoption); }
