/* journal_test.c - what a journal promises: its chain (K5), its folds (K6), and that nothing is lost or half seen (K8). */
#include "kernel/state.h"
#include "lib/machines.h"
#include "lib/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pawl_channel channels[] = { { .name = "x", .rule = PAWL_RULE_APPEND }, { .name = "n", .rule = PAWL_RULE_SUM }, { 0 } };

/* Two calls side by side, a question, a node after it: entries and task records. */
static const part story[] = {
    { "a", NULL, "call llm \"a\" -> x" }, { "b", NULL, "call llm \"b\" -> x" }, { "c", "a b", "ask \"ok?\" -> x" }, { "d", "c", "n=1 | emit e 2" }, { 0 }
};

static void begin_story(world *w)
{
    world_begin(w, script_machine("story", 1, channels, story), "{\"n\":1}");
    world_receipt(w, "b", "\"second, and long enough to be named by reference to its receipt\"");
    world_receipt(w, "a", "[1]");
    world_answer(w, NULL, "{\"yes\":true}");
    CHECK_STR(world_status(w), "completed");
}

static pawl_code verify(const pawl_machine *m, const char *text, size_t size, pawl_verdict *v, pawl_err *err)
{
    *err = (pawl_err){ 0 };
    return pawl_verify(m, (pawl_bytes){ text, size }, NULL, v, err);
}

/* The entry that the byte at `at` belongs to: that of its line, or that which covers its record; 0: the base. */
static uint64_t entry_at(const char *text, size_t at)
{
    uint64_t seq = 0;
    bool base = true;

    for (const char *p = text, *nl; p < text + at; p = nl + 1) {
        nl = strchr(p, '\n');
        if (nl >= text + at)
            return base ? 0 : seq + 1;
        if (!base)
            seq += *p != '[';
        base = false;
    }
    return base ? 0 : seq + 1;
}

/* ---- K5: the chain ---------------------------------------------------------------------------- */

PAWL_TEST(test_K5_any_changed_byte_is_reported_at_the_first_entry_where_it_shows)
{
    world w;
    pawl_verdict v;
    pawl_err err;
    size_t size;
    char *text;

    begin_story(&w);
    size = w.journal.size;
    text = strdup(journal_of(&w));
    CHECK_INT(verify(w.m, text, size, &v, &err), PAWL_OK);
    CHECK_INT(v.entries, 4);
    CHECK_INT(v.records, 2);
    for (size_t i = 0; i + 1 < size; i++) {
        for (int bit = 0; bit < 8; bit += check_run_all() ? 1 : 3) {
            uint64_t seq = entry_at(text, i);

            text[i] = (char)(text[i] ^ 1 << bit);
            if (verify(w.m, text, size, &v, &err) != PAWL_CORRUPT)
                CHECK_FAIL("byte %zu, bit %d of entry %llu: not found (%s)", i, bit, (unsigned long long)seq, err.text);
            if (v.seq != seq && !(seq == 0 && v.seq == 1))      /* of the base: or by the hash of what follows it */
                CHECK_FAIL("byte %zu, bit %d of entry %llu: found at %llu (%s)", i, bit, (unsigned long long)seq, (unsigned long long)v.seq, err.text);
            CHECK(err.code == PAWL_CORRUPT && err.text[0] != '\0');
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    }
    CHECK_INT(verify(w.m, text, size, &v, &err), PAWL_OK);
    free(text);
    world_end(&w);
}

PAWL_TEST(test_K5_a_machine_that_now_answers_differently_is_reported_where_it_shows)
{
    const part other[] = { story[0], story[1], story[2], { "d", "c", "n=2 | emit e 2" }, { 0 } };
    const part third[] = { story[0], { "b", NULL, "call llm \"B\" -> x" }, story[2], story[3], { 0 } };
    pawl_machine *late = script_machine("story", 1, channels, other), *soon = script_machine("story", 1, channels, third);
    pawl_machine *newer = script_machine("story", 2, channels, story);
    pawl_verdict v;
    pawl_err err;
    world w;

    begin_story(&w);
    CHECK_STR(pawl_machine_hash(late), pawl_machine_hash(w.m));     /* the hash knows the graph, not the code */
    CHECK_INT(verify(late, w.journal.data, w.journal.size, &v, &err), PAWL_CORRUPT);
    CHECK_INT(v.seq, 4);
    CHECK_INT(v.entries, 3);
    CHECK_STR(err.text, "run-1: after entry 3 the machine says ...ve\",\"d\",1,[[\"n\",2]],{\"emit\":[[\"e\",2]]}],[\"close\",[]]] where the journal has "
                        "...ve\",\"d\",1,[[\"n\",1]],{\"emit\":[[\"e\",2]]}],[\"close\",[]]]");
    CHECK_INT(verify(soon, w.journal.data, w.journal.size, &v, &err), PAWL_CORRUPT);
    CHECK_INT(v.seq, 1);
    CHECK_INT(verify(newer, w.journal.data, w.journal.size, &v, &err), PAWL_CONFLICT);      /* all of it another machine's: folded, not fed */
    CHECK_INT(v.folded, 6);
    pawl_machine_free(late);
    pawl_machine_free(soon);
    pawl_machine_free(newer);
    world_end(&w);
}

PAWL_TEST(test_K5_the_hash_covers_the_task_records_in_task_order)
{
    const char *first, *second;
    pawl_verdict v;
    pawl_err err;
    world w;
    char *text;
    size_t n, m;

    begin_story(&w);
    text = strdup(journal_of(&w));
    first = strstr(text, "\n[") + 1;
    n = (size_t)(strchr(first, '\n') - first) + 1;
    second = first + n;
    m = (size_t)(strchr(second, '\n') - second) + 1;
    CHECK(*second == '[');
    memmove(text + (first - text), journal_of(&w) + (second - text), m);        /* as if they had come the other way round */
    memcpy(text + (first - text) + m, journal_of(&w) + (first - text), n);
    CHECK_INT(verify(w.m, text, w.journal.size, &v, &err), PAWL_OK);
    memmove(text + (first - text), text + (first - text) + m, w.journal.size - (size_t)(first - text) - m);
    CHECK_INT(verify(w.m, text, w.journal.size - m, &v, &err), PAWL_CORRUPT);       /* one is missing */
    CHECK_INT(v.seq, 2);
    free(text);
    world_end(&w);
}

/* The journal with the body of entry `seq` erased. */
static char *erased(world *w, uint64_t seq)
{
    const char *text = journal_of(w), *body;
    size_t at = 0, n, size = w->journal.size + 80;
    char *out = malloc(size), hex[HASH_HEX + 1];
    hash digest;

    while (entry_at(text, at + 1) != seq || text[at] == '[')
        at += strcspn(text + at, "\n") + 1;
    body = strchr(strchr(text + at, ' ') + 1, ' ') + 1;
    n = strcspn(body, "\n");
    hash_of(body, n, &digest);
    hash_hex(&digest, hex);
    if (out == NULL || snprintf(out, size, "%.*s\"%s\"%s", (int)(body - text), text, hex, body + n) < 0)
        CHECK_FAIL("no memory");
    return out;
}

/* A body may be erased, not changed: every byte of every entry still counts. */
static void changed_is_found(world *w, char *text)
{
    size_t size = strlen(text), line = 0;
    pawl_verdict v;
    pawl_err err;

    for (size_t i = 0; i + 1 < size; i++) {
        line = i > 0 && text[i - 1] == '\n' ? i : line;
        if (text[line] == '[')
            continue;               /* a task record: the body that covers it may be gone */
        text[i] ^= 1;
        if (verify(w->m, text, size, &v, &err) != PAWL_CORRUPT || v.seq > entry_at(text, i) + (line == 0))
            CHECK_FAIL("byte %zu: %s at %llu", i, err.text, (unsigned long long)v.seq);
        text[i] ^= 1;
    }
}

PAWL_TEST(test_K5_an_erased_body_leaves_its_digest_and_the_chain_holds)
{
    pawl_state *st;
    pawl_verdict v;
    pawl_err err;
    world w;

    begin_story(&w);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        char *text = erased(&w, seq), says[100];
        size_t size = strlen(text);

        CHECK_INT(verify(w.m, text, size, &v, &err), PAWL_GONE);
        CHECK_INT(v.seq, seq);
        CHECK_INT(v.entries, seq - 1);
        snprintf(says, sizeof says, "run-1: the body of entry %llu is erased; the chain holds up to entry 4", (unsigned long long)seq);
        CHECK_STR(err.text, says);
        CHECK_INT(pawl_replay((pawl_bytes){ text, size }, 0, NULL, &st, NULL), PAWL_GONE);
        CHECK_INT(pawl_replay((pawl_bytes){ text, size }, seq - 1 > 0 ? seq - 1 : 1, NULL, &st, NULL), seq > 1 ? PAWL_OK : PAWL_GONE);
        if (seq > 1)
            pawl_state_free(st);
        changed_is_found(&w, text);
        free(text);
    }
    world_end(&w);
}

/* A line of the world's next entry, with this envelope and body, rightly hashed. */
static pawl_bytes forged(world *w, char *out, size_t size, const char *envelope, const char *body)
{
    hash digest, self;
    char hex[HASH_HEX + 1];

    hash_of(body, strlen(body), &digest);
    const pawl_bytes parts[3] = { { (const char *)w->st->head.b, HASH_BYTES }, { envelope, strlen(envelope) }, { (const char *)digest.b, HASH_BYTES } };
    hash_parts(parts, 3, &self);
    hash_hex(&self, hex);
    return (pawl_bytes){ out, (size_t)snprintf(out, size, "%s %s %s", hex, envelope, body) };
}

/* Read and applied: what it came to, and why. */
static const char *taken(world *w, const char *envelope, const char *body)
{
    static pawl_err err;
    char line[2048], *before = strdup(world_fold(w->st, w->look));
    pawl_entry *e;
    pawl_code rc;

    err = (pawl_err){ 0 };
    rc = pawl_entry_read(forged(w, line, sizeof line, envelope, body), w->s, &e, &err);
    if (rc == PAWL_OK)
        rc = pawl_apply(w->st, e, &err);
    CHECK_INT(rc, PAWL_CORRUPT);
    CHECK_INT(err.code, rc);
    CHECK_STR(world_fold(w->st, w->look), before);
    free(before);
    return err.text;
}

static const struct { const char *body, *says; } strange[] = {
    { "[[\"zap\",1]]", "\"zap\" is no kind of item that this version knows" },
    { "[[]]", "\"\" is no kind of item that this version knows" },
    { "[1]", "\"\" is no kind of item that this version knows" },
    { "{}", "an entry's body is an array of items" },
    { "[[\"tick\"]]", "\"tick\" is no kind of item that this version knows" },
    { "[[\"update\",{\"x\":1}]]", "item \"update\", element 3: an element is missing" },
    { "[[\"update\",[1],{}]]", "item \"update\", element 3: an object is due" },
    { "[[\"receipt\",\"1.a.1.0\",1001,\"zapped\",1]]", "item \"receipt\", element 5: an unknown outcome" },
    { "[[\"receipt\",\"1.a.1.0\",1001,\"done\",1]]", "item \"receipt\" of a: a command ends in a receipt, a wait in an answer" },
    { "[[\"answer\",\"1.b.1.0\",1001,1]]", "item \"answer\" of b: nothing of that id is open" },
    { "[[\"answer\",\"no id\",1001,1]]", "item \"answer\", element 4: an id is SUPERSTEP.TASK.VISIT.N" },
    { "[[\"answer\",\"1.a.1.0\",\"late\",1]]", "item \"answer\", element 4: a whole number is due" },
    { "[[\"leave\",\"a\",1,[[\"x\",1,\"zap\"]]]]", "item \"leave\", element 4: an unknown op" },
    { "[[\"leave\",\"a\",1,[],{\"zap\":1}]]", "item \"leave\", element 5: an unknown member of leave" },
    { "[[\"leave\",\"a\",2,[]]]", "item \"leave\" of a: that visit is over" },
    { "[[\"leave\",\"b\",1,[]]]", "item \"leave\" of b: there is no such task" },
    { "[[\"leave\",\"a\",1,[[\"nowhere\",1]]],[\"close\",[]]]", "there is no channel \"nowhere\"" },
    { "[[\"leave\",\"a\",1,[[\"x\",null,\"merge\",[[\"\",\"zap\",\"0\"]]]]],[\"close\",[]]]",
      "\"zap\" is no form of reference that this version knows" },
    { "[[\"leave\",\"a\",1,[[\"x\",null,\"merge\",[[\"\",\"event\",\"7\"]]]]],[\"close\",[]]]",
      "a reference to \"7\", which no command of the visit gave" },
    { "[[\"leave\",\"a\",1,[[\"x\",1,\"merge\",[[\"/a\",\"channel\",\"x\"]]]]],[\"close\",[]]]",
      "a reference at \"/a\", where there is nothing" },
    { "[[\"close\",[]]]", "superstep 1 is closed while task \"a\" is not done" },
    { "[[\"close\",[\"b\"],{\"zap\":[]}]]", "item \"close\", element 3: an unknown member of close" },
    { "[[\"records\",1,\"0000000000000000000000000000000000000000000000000000000000000000\"]]",
      "item \"records\": covers another number of records" },
    { "[[\"start\",{}]]", "item \"start\": the run has begun already" },
    { "[[\"reopen\",{}]]", "item \"reopen\": only a failed run is opened again" },
    { "[[\"drop\",\"1.b.1.0\"]]", "item \"drop\" of b: nothing of that id is open" },
    { "[[\"turn\"]]", "run-1: entry 2 is of another turn" },
    { "[[\"adopt\",{\"name\":\"x\"}]]", "item \"adopt\": no hash of a machine" },
    { "[[\"select\",\"a\",1,1,0]]", "item \"select\" of a: races are won one by one, by a command of the visit" },
    { "[[\"frame\",\"z\",1,[]]]", "item \"frame\" of z: there is no such task" },
    { "[[\"visit\",\"a\",3,1001]]", "item \"visit\" of a: visits come one by one" },
    { "[[\"visit\",\"a\",1,1001]]", "item \"visit\" of a: that visit has begun already" },
    { "[[\"put\",[[\"nowhere\",1]]]]", "item \"put\": a channel that is not there" },
    { "[[\"put\",[[\"x\",1]],\"z/1/1/y\"]]", "item \"put\" of z/1/1/y: there is no such subgraph" },
    { "[[\"ask\",\"1.a.1.5\",1001,{}]]", "item \"ask\" of a: commands come one by one while their visit lasts" },
    { "[[\"ask\",\"1.a.1.1\",1001,{\"kind\":\"zap\"}]]", "item \"ask\", element 4: an unknown kind of wait" },
    { "[[\"call\",\"9.a.1.1\",{\"effect\":\"llm\"}]]", "item \"call\" of a: commands come one by one while their visit lasts" },
};

PAWL_TEST(test_K5_unknown_kinds_are_refused_never_skipped)
{
    const part parts[] = { { "a", NULL, "ask \"ok?\" -> x" }, { 0 } };
    world w;

    world_begin(&w, script_machine("kinds", 1, channels, parts), NULL);
    CHECK_STR(taken(&w, "[2,1001,\"zap\",\"working\",1]", "[]"), "an envelope is [seq,time,kind,status,turn] of names that this version knows");
    CHECK_STR(taken(&w, "[2,1001,\"tick\",\"zapped\",1]", "[]"), "an envelope is [seq,time,kind,status,turn] of names that this version knows");
    CHECK_STR(taken(&w, "[2,1001,\"tick\",\"working\",1,2]", "[]"), "an envelope is [seq,time,kind,status,turn] of names that this version knows");
    CHECK_STR(taken(&w, "[2,1001,\"tick\",\"working\",01]", "[]"), "an envelope: byte 25: number with leading zero is not allowed");
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        CHECK_STR(taken(&w, "[2,1001,\"tick\",\"input-required\",1]", strange[i].body), strange[i].says);
    world_drop(&w);
}

PAWL_TEST(test_K5_an_entry_fits_in_one_place_only)
{
    const part parts[] = { { "a", NULL, "n=1" }, { "b", "a", "n=1" }, { "c", "b", "ask \"ok?\"" }, { 0 } };
    pawl_machine *m = script_machine("order", 1, channels, parts);
    const pawl_run_info info = { .id = "run-2", .life = 1, .seed = 7, .created_ms = 1000 };
    pawl_err err = { 0 };
    pawl_state *st;
    pawl_entry *e;
    world w;

    world_begin(&w, script_machine("order", 1, channels, parts), NULL);
    CHECK_INT(pawl_state_new(m, &info, 0, NULL, &st, &err), PAWL_OK);
    for (size_t i = 1; i <= 3; i++) {
        const char *line = line_of(&w, i);
        char says[64];

        CHECK_INT(pawl_entry_read((pawl_bytes){ line, strlen(line) }, w.s, &e, &err), PAWL_OK);
        CHECK_INT(pawl_entry_seq(e), i);
        err = (pawl_err){ 0 };
        CHECK_INT(pawl_apply(w.st, e, &err), PAWL_CORRUPT);         /* taken already */
        snprintf(says, sizeof says, "run-1: entry %zu after entry 3", i);
        CHECK_STR(err.text, says);
        err = (pawl_err){ 0 };
        CHECK_INT(pawl_apply(st, e, &err), PAWL_CORRUPT);           /* another run's */
        CHECK_STR(err.text, i == 1 ? "run-2: entry 1 does not follow from what stands before it (hash)"
                            : i == 2 ? "run-2: entry 2 after entry 0" : "run-2: entry 3 after entry 0");
        CHECK_INT(pawl_state_status(st), PAWL_STATUS_SUBMITTED);
    }
    CHECK_STR(taken(&w, "[4,999,\"tick\",\"input-required\",1]", "[]"), "run-1: the time of entry 4 goes back");
    CHECK_STR(taken(&w, "[4,1003,\"tick\",\"working\",1]", "[]"), "run-1: entry 4 says working, and its items say input-required");
    pawl_state_free(st);
    pawl_machine_free(m);
    world_end(&w);
}

static char *with(const char *text, const char *old, const char *now)
{
    const char *at = strstr(text, old);
    size_t size = strlen(text) + strlen(now) + 1;
    char *out = malloc(size);

    if (at == NULL || out == NULL)
        CHECK_FAIL("no %s in %s", old, text);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, now, at + strlen(old));
    return out;
}

PAWL_TEST(test_K5_a_higher_format_is_left_alone)
{
    pawl_err err = { 0 };
    pawl_verdict v;
    pawl_state *st;
    char *base, *text, *snapshot;
    world w;

    begin_story(&w);
    base = strdup(line_of(&w, 0));
    text = with(base, "\"format\":1", "\"format\":2");
    CHECK_INT(pawl_state_load((pawl_bytes){ text, strlen(text) }, (pawl_bytes){ 0 }, NULL, NULL, &st, &err), PAWL_CORRUPT);
    CHECK_STR(err.text, "the base is of format 2, and this version knows 1: take a newer one");
    CHECK(st == NULL);
    free(text);
    text = with(journal_of(&w), "\"format\":1", "\"format\":2");
    CHECK_INT(verify(w.m, text, strlen(text), &v, &err), PAWL_CORRUPT);
    CHECK_STR(err.text, "the base is of format 2, and this version knows 1: take a newer one");
    CHECK_INT(v.seq, 0);
    world_snapshot(&w);
    buf_char(&w.snapshot, '\0');
    snapshot = with(w.snapshot.data, "\"format\":1", "\"format\":2");
    err = (pawl_err){ 0 };
    CHECK_INT(pawl_state_load((pawl_bytes){ base, strlen(base) }, (pawl_bytes){ snapshot, strlen(snapshot) }, NULL, NULL, &st, &err), PAWL_CORRUPT);
    CHECK_STR(err.text, "the snapshot is of a format that this version does not know");
    free(base);
    free(text);
    free(snapshot);
    world_end(&w);
}

PAWL_TEST(test_K6_a_snapshot_of_another_run_or_life_is_refused)
{
    static const char *const other[][3] = {
        { "\"id\":\"run-1\"", "\"id\":\"run-9\"", "run-1: the snapshot is of another run" },
        { "\"life\":\"0000000000000001\"", "\"life\":\"0000000000000002\"", "run-1: the snapshot is of another run" },
        { "\"hash\":\"", "\"hash\":\"x", "the snapshot names no hash" },
        { "\"status\":\"completed\"", "\"status\":\"zapped\"", "a folded state without a status or a machine" },
        { "{\"n\":2", "{\"m\":2", "a folded state has channel \"m\", which is not declared" },
        { "\"fold\"", "\"fald\"", "a folded state without a status or a machine" },
    };
    pawl_state *st;
    char *base;
    world w;

    begin_story(&w);
    base = strdup(line_of(&w, 0));
    world_snapshot(&w);
    buf_char(&w.snapshot, '\0');
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char *text = with(w.snapshot.data, other[i][0], other[i][1]);
        pawl_err err = { 0 };

        if (strncmp(other[i][0], "\"hash", 5) == 0) {       /* the snapshot's own, which stands last */
            free(text);
            text = with(w.snapshot.data, ",\"format\":1,\"hash\":\"", ",\"format\":1,\"hash\":\"x");
        }
        CHECK_INT(pawl_state_load((pawl_bytes){ base, strlen(base) }, (pawl_bytes){ text, strlen(text) }, NULL, NULL, &st, &err), PAWL_CORRUPT);
        CHECK_STR(err.text, other[i][2]);
        CHECK(st == NULL);
        free(text);
    }
    free(base);
    world_end(&w);
}

/* ---- K6: every fold is the same --------------------------------------------------------------------- */

typedef enum crash { CRASH_NEVER, CRASH_ALWAYS, CRASH_SNAPPED, CRASH_SOMETIMES } crash;

static void maybe_crash(world *w, crash how)
{
    bool snapshot = how == CRASH_SNAPPED || (how == CRASH_SOMETIMES && check_rand_below(3) == 0);

    if (snapshot && w->st->nmarks == 0)
        world_snapshot(w);
    if (how == CRASH_ALWAYS || how == CRASH_SNAPPED || (how == CRASH_SOMETIMES && check_rand_below(2) == 0))
        world_crash(w);
}

/* The journal of a scene in which the process dies after any step, and goes on from what is stored. */
static char *scene_journal(const scene *sc, crash how)
{
    world w;
    play p;
    char *text;
    pawl_event ev;

    scene_play(&w, &p, sc, 0);
    maybe_crash(&w, how);
    while (play_next(&p, w.st, w.look, &ev)) {
        w.unchecked = how != CRASH_NEVER;
        if (world_feed(&w, &ev) < 0 || w.rc == PAWL_IGNORED)
            CHECK_FAIL("%s, move %zu: %s", sc->name, p.move, w.err.text);
        maybe_crash(&w, how);
    }
    text = strdup(journal_of(&w));
    world_end(&w);
    return text;
}

PAWL_TEST(test_K6_K8_a_crash_after_any_step_of_any_story_loses_nothing)
{
    for (size_t i = 0; i < scene_count; i++) {
        char *whole = scene_journal(&scenes[i], CRASH_NEVER);

        for (crash how = CRASH_ALWAYS; how <= CRASH_SOMETIMES; how++) {
            char *text = scene_journal(&scenes[i], how);

            if (strcmp(text, whole) != 0)
                printf("%s, crash %d\n", scenes[i].name, (int)how);
            CHECK_STR(text, whole);
            free(text);
        }
        free(whole);
    }
}

PAWL_TEST(test_K6_K8_what_was_not_stored_never_was)
{
    for (size_t i = 0; i < scene_count; i++) {
        char *whole = scene_journal(&scenes[i], CRASH_NEVER);
        pawl_err err = { 0 };
        pawl_event ev;
        world w;
        play p;

        scene_play(&w, &p, &scenes[i], 0);
        for (;;) {
            play before = p;

            if (!play_next(&p, w.st, w.look, &ev))
                break;
            CHECK(pawl_feed(w.m, w.st, &ev, w.s, &err) >= 0);       /* fed, and dead before it was stored */
            world_crash(&w);
            p = before;
            CHECK(play_next(&p, w.st, w.look, &ev));
            w.unchecked = true;
            CHECK(world_feed(&w, &ev) >= 0);
        }
        CHECK_STR(journal_of(&w), whole);
        free(whole);
        world_end(&w);
    }
}

PAWL_TEST(test_K6_G8_replay_gives_the_state_at_every_entry)
{
    for (size_t i = 0; i < scene_count; i++) {
        char *folds[100] = { 0 };
        pawl_err err = { 0 };
        uint64_t last;
        pawl_event ev;
        pawl_state *st;
        world w;
        play p;

        scene_play(&w, &p, &scenes[i], 0);
        w.unchecked = true;
        while (play_next(&p, w.st, w.look, &ev)) {
            CHECK(world_feed(&w, &ev) >= 0);
            last = pawl_state_seq(w.st);
            if (last < 100 && folds[last] == NULL && w.st->nmarks == 0)
                folds[last] = strdup(world_fold(w.st, w.look));
        }
        for (uint64_t seq = 1; seq < 100; seq++) {
            if (folds[seq] == NULL)
                continue;
            CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, seq, NULL, &st, &err), PAWL_OK);
            CHECK_INT(pawl_state_seq(st), seq);
            CHECK_STR(world_fold(st, w.look), folds[seq]);
            pawl_state_free(st);
            free(folds[seq]);
        }
        CHECK_INT(pawl_replay((pawl_bytes){ w.journal.data, w.journal.size }, pawl_state_seq(w.st) + 1, NULL, &st, &err), PAWL_GONE);
        CHECK(st == NULL);
        world_end(&w);
    }
}

/* ---- K8: torn ends -------------------------------------------------------------------------------------- */

PAWL_TEST(test_K8_a_torn_last_line_is_dropped_wherever_it_is_cut)
{
    world w;
    size_t base;

    begin_story(&w);
    base = strcspn(journal_of(&w), "\n") + 1;
    for (size_t cut = 0; cut <= w.journal.size; cut++) {
        pawl_bytes torn = { w.journal.data, cut };
        pawl_verdict v;
        pawl_err err = { 0 };
        pawl_state *st;
        pawl_code rc = pawl_replay(torn, 0, NULL, &st, &err);
        uint64_t entries = 0, records = 0;

        for (size_t i = base; i < cut; i++)
            if (w.journal.data[i] == '\n' && i > base)
                entries += 1;
        for (size_t i = base - 1; i + 1 < cut; i++)
            if (w.journal.data[i] == '\n' && w.journal.data[i + 1] == '[' && memchr(w.journal.data + i + 1, '\n', cut - i - 1) != NULL)
                records++;
        CHECK_INT(rc, cut < base ? PAWL_CORRUPT : PAWL_OK);
        CHECK_INT(verify(w.m, torn.data, torn.size, &v, &err), rc);
        if (rc != PAWL_OK)
            continue;
        CHECK_INT(pawl_state_seq(st), entries - records);
        CHECK_INT(v.entries, entries - records);
        CHECK_INT(v.records, records);
        pawl_state_free(st);
    }
    world_end(&w);
}

PAWL_TEST(test_K8_a_run_goes_on_from_a_torn_journal)
{
    for (size_t lost = 1; lost < 60; lost++) {
        world w;
        char *whole;

        begin_story(&w);
        whole = strdup(journal_of(&w));
        w.journal.size -= lost;
        while (w.journal.data[w.journal.size - 1] != '\n')      /* what a store does with a torn line */
            w.journal.size--;
        world_crash(&w);
        w.now--;
        CHECK_INT(world_go(&w), PAWL_HALTED);
        CHECK_STR(journal_of(&w), whole);
        free(whole);
        world_end(&w);
    }
}
