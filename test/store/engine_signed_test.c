/* engine_signed_test.c - an approval by key in an engine (P11): which answers count, kills in between, forged rows, and what is checked before a command
 * leaves. */
#include "lib/engine_fixture.h"
#include "pawl/history.h"
#include "sign/sign.h"
#include "store/place.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { ALICE, BOB, CAROL, MALLORY, PEOPLE };

static const char *const names[PEOPLE] = { "alice", "bob", "carol", "mallory" };
static uint8_t seeds[PEOPLE][PAWL_SEED_BYTES];
static char keys[PEOPLE][PAWL_KEY_ROOM];
static int need;                /* of the first three */

static void people(int how_many)
{
    need = how_many;
    for (size_t i = 0; i < PEOPLE; i++) {
        memset(seeds[i], (int)i + 1, PAWL_SEED_BYTES);
        CHECK_INT(pawl_key_of_seed(seeds[i], keys[i], NULL), PAWL_OK);
    }
}

static pawl_code gate(pawl_step *s, void *arg)
{
    const pawl_value *list = pawl_pack(s, "[{s:s,s:s},{s:s,s:s},{s:s,s:s}]", "key", keys[0], "name", names[0], "key", keys[1], "name", names[1], "key", keys[2],
                                       "name", names[2]), *answer;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Deploy?"),
                              .about = pawl_pack(s, "{s:s,s:s}", "digest", "aa", "policy", "bb"),
                              .approvers = pawl_pack(s, "{s:v,s:i}", "keys", list, "need", (int64_t)need) };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    if (rc != PAWL_OK)
        return rc;
    if (!pawl_value_bool(pawl_value_get(answer, "approve")))
        return pawl_fail(s, PAWL_DENIED, "it was denied");
    return pawl_call(s, "deploy", pawl_pack(s, "{s:s}", "to", "production"), NULL);
}

static pawl_machine *machine(void)
{
    pawl_graph *g = pawl_graph_new("gated", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "note", PAWL_RULE_LAST);
    pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "go", gate, NULL);
    pawl_graph_chain(g, PAWL_START, "go", PAWL_END, NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

typedef struct office { town t; pawl_step *step; char text[2048], wait[256]; int how_many; } office;

static pawl_store *file_store(void)
{
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s = pawl_store_sqlite(path, NULL, &err);

    if (s == NULL)
        CHECK_FAIL("%s", err.text);
    return s;
}

static void office_open(office *o)
{
    *o = (office){ .step = pawl_step_new(NULL) };
    town_begin(&o->t, machine(), file_store());
    town_acts(&o->t, "deploy", PAWL_CLASS_ONCE);
    o->t.replies[0] = "true";
}

static void office_close(office *o)
{
    town_end(&o->t);
    pawl_step_free(o->step);
}

/* As after a kill: another engine, with nothing but the file. */
static void office_again(office *o)
{
    office_close(o);
    office_open(o);
}

static void office_begin(office *o, int how_many)
{
    people(how_many);
    path_new("signed");
    office_open(o);
    CHECK_INT(town_run(&o->t, "deploy-1", NULL), PAWL_INTERRUPTED);
}

static void office_end(office *o)
{
    office_close(o);
    path_gone();
}

static pawl_wait the_wait(office *o, const char *run)
{
    pawl_state *st = pawl_run_state(o->t.e, run, &o->t.err);
    pawl_wait w;

    if (st == NULL || pawl_state_waits(st) != 1)
        CHECK_FAIL("%s: no wait: %s", run, o->t.err.text);
    CHECK_INT(pawl_state_wait(st, 0, pawl_engine_step(o->t.e), &w, &o->t.err), PAWL_OK);
    snprintf(o->wait, sizeof o->wait, "%s", w.id);
    return w;
}

/* An answer to the wait of that run. */
static const char *by(office *o, const char *run, int who, const char *answer, const char *update)
{
    const pawl_wait w = the_wait(o, run);
    const char *text = pawl_wait_sign(&w, answer, update, NULL, names[who], seeds[who], 1000, o->step, &o->t.err);

    if (text == NULL)
        CHECK_FAIL("%s", o->t.err.text);
    snprintf(o->text, sizeof o->text, "%s", text);
    return o->text;
}

static pawl_code give(office *o, const char *run, const char *value, const char *update)
{
    const pawl_event ev = { .kind = PAWL_EV_ANSWER, .by = "someone", .value = value, .update = update };

    o->t.err = (pawl_err){ PAWL_OK, "" };
    return pawl_event_send(o->t.e, run, &ev, &o->t.err);
}

static size_t signed_so_far_by(office *o)
{
    return pawl_value_size(the_wait(o, "deploy-1").signed_by);
}

static void verified(office *o)
{
    pawl_verdict v;
    pawl_err err = { PAWL_OK, "" };

    if (pawl_history_verify(pawl_engine_store(o->t.e), pawl_engine_machine(o->t.e), "deploy-1", &v, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
}

static void approved(office *o)
{
    CHECK_INT(pawl_state_status(pawl_run_state(o->t.e, "deploy-1", &o->t.err)), PAWL_STATUS_COMPLETED);
    town_log(&o->t, "1.go.1.1 {\"to\":\"production\"}; ");
    verified(o);
}

/* ---- which answers count ------------------------------------------------------------------------------ */

PAWL_TEST(test_P11_only_a_signed_answer_counts)
{
    static const char *const unsigned_[] = { "true", "false", "{\"approve\":true}", "null", "{\"answer\":true}" };
    office o;

    office_begin(&o, 1);
    for (size_t i = 0; i < sizeof unsigned_ / sizeof *unsigned_; i++) {
        CHECK_INT(give(&o, "deploy-1", unsigned_[i], NULL), PAWL_DENIED);
        CHECK(strstr(o.t.err.text, "alice, bob or carol") != NULL && strstr(o.t.err.text, "--key NAME") != NULL);
        CHECK_INT(signed_so_far_by(&o), 0);
    }
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", MALLORY, "true", NULL), NULL), PAWL_DENIED);
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), "{\"note\":1}"), PAWL_DENIED);     /* not what she signed */
    town_log(&o.t, "");
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", BOB, "true", "{\"note\":\"fine\"}"), "{\"note\":\"fine\"}"), PAWL_HALTED);
    CHECK_STR(pawl_run_get(o.t.e, "deploy-1", "note"), "fine");
    CHECK(town_stored(&o.t, "deploy-1", "\"signature\":"));
    approved(&o);
    office_end(&o);
}

/* What a person is asked about may look like the approvers of a wait. */
static pawl_code gate_of_all(pawl_step *s, void *arg)
{
    const pawl_value *answer;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Put \"approvers\":{ into it?"),
                              .about = pawl_json(s, "{\"input\":{\"approvers\":{\"a\\\\\":[{\"approvers\":{}}]}},\"with\":[\"\\\",{\\\"approvers\\\":{\"]}") };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_call(s, "deploy", pawl_pack(s, "{s:s}", "to", "production"), NULL);
}

PAWL_TEST(test_P11_what_is_asked_about_names_no_approvers)
{
    pawl_graph *g = pawl_graph_new("asked", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;
    town t;

    pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "go", gate_of_all, NULL);
    pawl_graph_chain(g, PAWL_START, "go", PAWL_END, NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    town_begin(&t, m, pawl_store_memory(NULL));
    town_acts(&t, "deploy", PAWL_CLASS_ONCE);
    t.replies[0] = "true";
    CHECK_INT(town_run(&t, "asked-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(pawl_answer(t.e, "asked-1", NULL, "true", &t.err), PAWL_HALTED);
    CHECK_INT(t.calls, 1);
    town_end(&t);
}

PAWL_TEST(test_P11_a_signature_is_not_replayed)
{
    char old[2048];
    town other;
    office o;

    office_begin(&o, 1);
    CHECK_INT(town_run(&o.t, "deploy-2", NULL), PAWL_INTERRUPTED);
    snprintf(old, sizeof old, "%s", by(&o, "deploy-2", ALICE, "true", NULL));
    CHECK_INT(give(&o, "deploy-1", old, NULL), PAWL_DENIED);                /* of another run */
    CHECK_INT(give(&o, "deploy-2", old, NULL), PAWL_HALTED);
    CHECK_INT(give(&o, "deploy-2", old, NULL), PAWL_IGNORED);               /* nothing is asked any more */
    town_begin(&other, machine(), NULL);
    CHECK_INT(town_run(&other, "deploy-2", NULL), PAWL_INTERRUPTED);        /* the same id, in another life */
    CHECK_INT(pawl_event_send(other.e, "deploy-2", &(pawl_event){ .kind = PAWL_EV_ANSWER, .value = old }, &other.err), PAWL_DENIED);
    town_end(&other);
    office_end(&o);
}

PAWL_TEST(test_P11_as_many_sign_as_the_gate_needs_in_any_order)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

    for (int n = 2; n <= 3; n++)
        for (size_t i = 0; i < 6; i++) {
            office o;

            office_begin(&o, n);
            for (int k = 0; k < n; k++) {
                CHECK_INT(signed_so_far_by(&o), k);
                CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", orders[i][k], "true", NULL), NULL), k == n - 1 ? PAWL_HALTED : PAWL_INTERRUPTED);
                if (k < n - 1) {
                    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", orders[i][k], "true", NULL), NULL), PAWL_CONFLICT);      /* once */
                    CHECK(strstr(o.t.err.text, "has signed it already") != NULL);
                    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", orders[i][n - 1], "true", "{\"note\":1}"), "{\"note\":1}"), PAWL_CONFLICT);
                    town_log(&o.t, "");
                }
            }
            approved(&o);
            office_end(&o);
        }
}

PAWL_TEST(test_P11_one_signed_no_is_a_no)
{
    office o;

    office_begin(&o, 3);
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_INTERRUPTED);
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", BOB, "false", NULL), NULL), PAWL_HALTED);
    CHECK_INT(pawl_state_status(pawl_run_state(o.t.e, "deploy-1", &o.t.err)), PAWL_STATUS_REJECTED);
    town_log(&o.t, "");
    verified(&o);
    office_end(&o);
}

/* ---- kills, races, forged rows --------------------------------------------------------------------------------- */

PAWL_TEST(test_P11_signatures_survive_each_kill)
{
    office o;

    office_begin(&o, 3);
    for (int k = 0; k < 3; k++) {
        office_again(&o);
        CHECK_INT(signed_so_far_by(&o), k);
        verified(&o);
        CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", k, "true", NULL), NULL), k == 2 ? PAWL_HALTED : PAWL_INTERRUPTED);
    }
    approved(&o);
    office_end(&o);
}

static pawl_code deliver(pawl_store *s, const char *id, const char *wait, const char *value)
{
    pawl_delivery d = { .id = id, .kind = PAWL_DELIVER_ANSWER, .name = wait, .by = "someone", .value = { value, strlen(value) } };
    pawl_err err = { PAWL_OK, "" };

    return s->verbs->deliver(s, "deploy-1", &d, &err);
}

/* Both are in the mailbox before the holder reads it; in memory and in a file. */
PAWL_TEST(test_P11_two_who_sign_at_the_same_time_both_count)
{
    char first[2048], second[2048], third[2048];
    pawl_store *s;
    office o;

    office_begin(&o, 2);
    snprintf(first, sizeof first, "%s", by(&o, "deploy-1", ALICE, "true", NULL));
    snprintf(second, sizeof second, "%s", by(&o, "deploy-1", BOB, "true", NULL));
    snprintf(third, sizeof third, "%s", by(&o, "deploy-1", CAROL, "true", NULL));
    s = file_store();
    CHECK_INT(deliver(s, "d1", o.wait, "true"), PAWL_DENIED);           /* refused before it is stored */
    CHECK_INT(deliver(s, "d1", o.wait, first), PAWL_OK);
    CHECK_INT(deliver(s, "d2", o.wait, second), PAWL_OK);
    CHECK_INT(deliver(s, "d3", o.wait, third), PAWL_OK);                /* one too many */
    CHECK_INT(deliver(s, "d4", o.wait, first), PAWL_OK);                /* and one twice */
    pawl_store_free(s);
    CHECK_INT(town_run(&o.t, "deploy-1", NULL), PAWL_HALTED);
    approved(&o);
    office_end(&o);
}

static void sql(const char *text)
{
    sqlite3 *db;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        CHECK_FAIL("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* Who can write the file puts rows into the mailbox without asking anybody. */
PAWL_TEST(test_P11_a_forged_row_of_the_mailbox_never_counts)
{
    static const char *const forged[] = { "true", "{\"approve\":true}", "" };
    char text[4096], signed_by_mallory[2048], hex[HASH_HEX + 1];
    hash digest;
    office o;

    office_begin(&o, 1);
    snprintf(signed_by_mallory, sizeof signed_by_mallory, "%s", by(&o, "deploy-1", MALLORY, "true", NULL));
    office_close(&o);
    for (size_t i = 0; i < 3; i++) {
        const char *value = *forged[i] != '\0' ? forged[i] : signed_by_mallory;

        store_delivery_hash(&(pawl_delivery){ .kind = PAWL_DELIVER_ANSWER, .name = o.wait, .by = "alice", .value = { value, strlen(value) } }, &digest);
        hash_hex(&digest, hex);
        snprintf(text, sizeof text, "INSERT INTO deliveries(run,id,kind,name,outcome,value,by,at_ms,digest) SELECT no,'forged%zu',3,'%s',0,CAST('%s' AS BLOB),"
                 "'alice',1000,X'%s' FROM runs; UPDATE heads SET mail=mail+1", i, o.wait, value, hex);
        sql(text);
    }
    office_open(&o);
    CHECK_INT(town_run(&o.t, "deploy-1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(signed_so_far_by(&o), 0);
    town_log(&o.t, "");
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_HALTED);       /* it is still open */
    approved(&o);
    office_end(&o);
}

/* ---- the journal ---------------------------------------------------------------------------------------------------- */

static char *swapped(pawl_bytes journal, const char *from, const char *to)
{
    char *text = malloc(journal.size + 1), *at;

    memcpy(text, journal.data, journal.size);
    text[journal.size] = '\0';
    if ((at = strstr(text, from)) == NULL || strlen(from) != strlen(to))
        CHECK_FAIL("the journal has no %s", from);
    memcpy(at, to, strlen(to));
    return text;
}

/* Up to the record with the signature, whose digest is in no entry yet: nothing but the signature bears it out. */
static void cut_behind(char *text, const char *word)
{
    char *at = strstr(text, word), *end = at != NULL ? strchr(at, '\n') : NULL;

    if (end == NULL || *(strrchr(text, '\n') + 1) != '\0')
        CHECK_FAIL("the journal has no line with %s", word);
    end[1] = '\0';
}

static pawl_code verdict_of(const char *text, pawl_err *err)
{
    pawl_machine *m = machine();
    pawl_verdict v;
    pawl_code rc = pawl_verify(m, (pawl_bytes){ text, strlen(text) }, NULL, &v, err);

    pawl_machine_free(m);
    return rc;
}

PAWL_TEST(test_P11_a_forged_entry_is_found_by_verify_and_by_each_fold)
{
    static const char *const changes[][2] = {
        { "\"name\":\"alice\",\"signature\"", "\"name\":\"carol\",\"signature\"" }, { "\"time\":1000", "\"time\":1001" }, { "\"approve\":true", "\"approve\":null" },
        { "\"call\":\"aa\"", "\"call\":\"ab\"" }, { "\"policy\":\"bb\",\"question\"", "\"policy\":\"bc\",\"question\"" },
    };
    char *whole, *text;
    pawl_err err = { PAWL_OK, "" };
    pawl_state *st;
    office o;

    office_begin(&o, 1);
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_HALTED);
    whole = swapped(town_journal(&o.t, "deploy-1"), "alice", "alice");
    cut_behind(whole, "\"signature\":");
    if (verdict_of(whole, &err) != PAWL_OK || pawl_replay((pawl_bytes){ whole, strlen(whole) }, 0, NULL, &st, &err) != PAWL_OK)
        CHECK_FAIL("%s", err.text);
    pawl_state_free(st);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        text = swapped((pawl_bytes){ whole, strlen(whole) }, changes[i][0], changes[i][1]);
        if (verdict_of(text, &err) != PAWL_CORRUPT)
            CHECK_FAIL("verify takes %s", changes[i][1]);
        if (pawl_replay((pawl_bytes){ text, strlen(text) }, 0, NULL, &st, &err) != PAWL_CORRUPT)
            CHECK_FAIL("a fold takes %s", changes[i][1]);
        free(text);
    }
    free(whole);
    office_end(&o);
}

/* ---- the approvers of a run ------------------------------------------------------------------------------------------ */

/* As the gate of a file: the key is that of the rules. */
static pawl_code gate_of_rules(pawl_step *s, void *arg)
{
    const pawl_value *key = pawl_value_get(pawl_value_get(pawl_get(s, "@policy"), "signers"), "alice"), *answer;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Deploy?"), .about = pawl_pack(s, "{s:s,s:s}", "digest", "aa", "policy", "bb"),
                              .approvers = pawl_pack(s, "{s:[{s:v,s:s}],s:i}", "keys", "key", key, "name", "alice", "need", (int64_t)1) };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_call(s, "deploy", pawl_pack(s, "{s:s}", "to", "production"), NULL);
}

static pawl_code ready(pawl_step *s, void *arg)
{
    const pawl_value *answer;

    (void)arg;
    return pawl_ask_with(s, &(pawl_question){ .kind = PAWL_WAIT_QUESTION, .prompt = pawl_pack(s, "s", "Ready?") }, &answer);
}

static pawl_machine *ruled(void)
{
    pawl_graph *g = pawl_graph_new("ruled", 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_channel(g, "@policy", PAWL_RULE_LAST);
    pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "ready", ready, NULL);
    pawl_graph_node(g, "go", gate_of_rules, NULL);
    pawl_graph_chain(g, PAWL_START, "ready", "go", PAWL_END, NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

static void ruled_open(office *o)
{
    *o = (office){ .step = pawl_step_new(NULL) };
    town_begin(&o->t, ruled(), file_store());
    town_acts(&o->t, "deploy", PAWL_CLASS_ONCE);
    o->t.replies[0] = "true";
}

/* Its value is lent until the next call. */
static const char *rules(const char *signers, const char *more)
{
    static char text[1024];

    snprintf(text, sizeof text, "{\"@policy\":{\"keeps_signers\":true,\"signers\":{%s}%s}}", signers, more);
    return text;
}

static pawl_code update(office *o, const char *value)
{
    o->t.err = (pawl_err){ PAWL_OK, "" };
    return pawl_event_send(o->t.e, "deploy-1", &(pawl_event){ .kind = PAWL_EV_UPDATE, .by = "someone", .value = value }, &o->t.err);
}

static void ruled_begin(office *o, char alice[100])
{
    people(1);
    path_new("signers");
    ruled_open(o);
    snprintf(alice, 100, "\"alice\":\"%s\"", keys[ALICE]);
    CHECK_INT(town_run(&o->t, "deploy-1", rules(alice, ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]}")), PAWL_INTERRUPTED);
}

PAWL_TEST(test_P11_a_run_keeps_the_approvers_that_it_began_with)
{
    char alice[100], other[100], both[200];
    office o;

    ruled_begin(&o, alice);
    snprintf(other, sizeof other, "\"alice\":\"%s\"", keys[MALLORY]);
    snprintf(both, sizeof both, "%s,\"bob\":\"%s\"", alice, keys[BOB]);
    CHECK_INT(update(&o, rules(other, ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]}")), PAWL_INVALID);
    CHECK(strstr(o.t.err.text, "deploy-1") != NULL && strstr(o.t.err.text, "other approvers") != NULL);
    CHECK_INT(update(&o, rules("", ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]}")), PAWL_INVALID);
    CHECK_INT(update(&o, rules(alice, "")), PAWL_INVALID);
    CHECK_INT(update(&o, rules(both, ",\"approvers\":{\"need\":1,\"of\":[\"bob\"]}")), PAWL_INVALID);
    CHECK_INT(update(&o, "{\"@policy\":{}}"), PAWL_INVALID);
    CHECK_INT(update(&o, "{\"@policy\":null}"), PAWL_INVALID);
    CHECK(update(&o, rules(both, ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]},\"deny\":[]")) >= 0);
    CHECK_INT(give(&o, "deploy-1", "1", rules(alice, "")), PAWL_INVALID);       /* with an answer */
    CHECK_INT(give(&o, "deploy-1", "1", NULL), PAWL_INTERRUPTED);
    CHECK_INT(update(&o, rules(alice, ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]}")), PAWL_INVALID);       /* bob is one now */
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", MALLORY, "true", NULL), NULL), PAWL_DENIED);
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_HALTED);
    town_log(&o.t, "2.go.1.1 {\"to\":\"production\"}; ");
    verified(&o);
    office_end(&o);
}

/* Who can write the store has the next gate ask for another key: no entry has the digest of this record yet. */
PAWL_TEST(test_P11_rules_that_name_other_keys_are_found_and_nothing_is_done_by_them)
{
    char alice[100], text[400];
    pawl_verdict v;
    pawl_err err = { PAWL_OK, "" };
    office o;

    ruled_begin(&o, alice);
    CHECK(update(&o, rules(alice, ",\"approvers\":{\"need\":1,\"of\":[\"alice\"]},\"deny\":[]")) >= 0);
    office_close(&o);
    snprintf(text, sizeof text, "UPDATE entries SET body=CAST(replace(CAST(body AS TEXT),'%s','%s') AS BLOB) WHERE seq IS NULL", keys[ALICE], keys[MALLORY]);
    sql(text);
    ruled_open(&o);
    CHECK_INT(give(&o, "deploy-1", "1", NULL), PAWL_CORRUPT);
    CHECK(strstr(o.t.err.text, "deploy-1: entry 2") != NULL && strstr(o.t.err.text, "other approvers") != NULL);
    CHECK_INT(pawl_history_verify(pawl_engine_store(o.t.e), pawl_engine_machine(o.t.e), "deploy-1", &v, &err), PAWL_CORRUPT);
    CHECK(v.seq == 2 && strstr(err.text, "other approvers") != NULL);
    CHECK_INT(pawl_work(o.t.e, 0, &o.t.err), PAWL_OK);
    town_log(&o.t, "");
    office_end(&o);
}

/* ---- before a command leaves ---------------------------------------------------------------------------------------- */

static const char *distrusted;

static pawl_code trusts(void *ctx, const char *name, const char *key, pawl_err *err)
{
    (void)ctx, (void)key;
    return distrusted != NULL && strcmp(distrusted, name) == 0 ? fail(err, PAWL_DENIED, "%s is distrusted", name) : PAWL_OK;
}

PAWL_TEST(test_P11_a_distrusted_key_counts_neither_at_the_answer_nor_at_dispatch)
{
    office o;

    office_begin(&o, 2);
    pawl_engine_approvers(o.t.e, trusts, NULL);
    distrusted = "alice";
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_DENIED);
    CHECK_INT(signed_so_far_by(&o), 0);
    distrusted = NULL;
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_INTERRUPTED);
    distrusted = "alice";                       /* after she has signed */
    CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", BOB, "true", NULL), NULL), PAWL_HALTED);
    town_log(&o.t, "");                         /* it never left */
    CHECK_INT(pawl_state_status(pawl_run_state(o.t.e, "deploy-1", &o.t.err)), PAWL_STATUS_FAILED);
    CHECK(town_stored(&o.t, "deploy-1", "\"text\":\"alice is distrusted\""));
    verified(&o);
    office_end(&o);
}

static pawl_code gate_of_child(pawl_step *s, void *arg)
{
    const pawl_value *list = pawl_pack(s, "[{s:s,s:s},{s:s,s:s}]", "key", keys[0], "name", names[0], "key", keys[1], "name", names[1]), *answer;
    const pawl_question q = { .kind = PAWL_WAIT_APPROVAL, .prompt = pawl_pack(s, "s", "Deploy?"),
                              .about = pawl_pack(s, "{s:s,s:s}", "digest", "aa", "policy", "bb"),
                              .approvers = pawl_pack(s, "{s:v,s:i}", "keys", list, "need", (int64_t)2) };
    pawl_code rc = pawl_ask_with(s, &q, &answer);

    (void)arg;
    return rc != PAWL_OK ? rc : pawl_spawn(s, "kid", pawl_pack(s, "{}"), NULL);
}

static pawl_code kid(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_call(s, "deploy", pawl_pack(s, "{s:s}", "to", "production"), NULL);
}

static pawl_machine *one_node(const char *name, pawl_node_fn *fn)
{
    pawl_graph *g = pawl_graph_new(name, 1);
    pawl_err err = { PAWL_OK, "" };
    pawl_machine *m;

    pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
    pawl_graph_node(g, "go", fn, NULL);
    pawl_graph_chain(g, PAWL_START, "go", PAWL_END, NULL);
    if ((m = pawl_graph_compile(g, &err)) == NULL)
        CHECK_FAIL("%s", err.text);
    return m;
}

/* The command is the start of a run. */
PAWL_TEST(test_P11_a_distrusted_key_begins_no_child_run)
{
    for (int before = 0; before < 2; before++) {
        office o = { .step = pawl_step_new(NULL) };

        people(2);
        path_new("child");
        town_begin(&o.t, one_node("parent", gate_of_child), file_store());
        CHECK_INT(pawl_engine_add(o.t.e, one_node("kid", kid), &o.t.err), PAWL_OK);
        town_acts(&o.t, "deploy", PAWL_CLASS_ONCE);
        o.t.replies[0] = "true";
        pawl_engine_approvers(o.t.e, trusts, NULL);
        distrusted = NULL;
        CHECK_INT(town_run(&o.t, "deploy-1", NULL), PAWL_INTERRUPTED);
        CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", ALICE, "true", NULL), NULL), PAWL_INTERRUPTED);
        distrusted = before == 0 ? "alice" : NULL;
        CHECK_INT(give(&o, "deploy-1", by(&o, "deploy-1", BOB, "true", NULL), NULL), PAWL_HALTED);
        if (before == 0) {
            town_log(&o.t, "");
            town_runs(&o.t, "deploy-1");
            CHECK_INT(pawl_state_status(pawl_run_state(o.t.e, "deploy-1", &o.t.err)), PAWL_STATUS_FAILED);
            CHECK(town_stored(&o.t, "deploy-1", "\"text\":\"alice is distrusted\""));
        } else {
            CHECK_INT(pawl_state_status(pawl_run_state(o.t.e, "deploy-1", &o.t.err)), PAWL_STATUS_COMPLETED);
        }
        office_end(&o);
    }
    distrusted = NULL;
}

/* A member's name may be written with escapes, which every reader of JSON takes for the same. */
PAWL_TEST(test_P11_a_distrusted_key_counts_however_its_answer_is_spelled)
{
    char text[2600];
    const char *plain, *at;
    office o;

    office_begin(&o, 2);
    pawl_engine_approvers(o.t.e, trusts, NULL);
    distrusted = "alice";
    plain = by(&o, "deploy-1", ALICE, "true", NULL);
    at = strstr(plain, "\"signature\"");
    CHECK(at != NULL);
    snprintf(text, sizeof text, "%.*s\"\\u0073ignature\"%s", (int)(at - plain), plain, at + strlen("\"signature\""));
    CHECK_INT(give(&o, "deploy-1", text, NULL), PAWL_DENIED);
    CHECK_INT(signed_so_far_by(&o), 0);
    distrusted = NULL;
    CHECK_INT(give(&o, "deploy-1", text, NULL), PAWL_INTERRUPTED);
    office_end(&o);
}

/* An argument of that name is no proof. */
static pawl_code audits(pawl_step *s, void *arg)
{
    return pawl_call(s, "deploy", pawl_json(s, arg), NULL);
}

PAWL_TEST(test_P11_an_argument_that_is_no_proof_is_an_argument)
{
    static const char *const all[] = { "{\"decision\":{\"signed\":true}}",
                                       "{\"decision\":{\"signed\":{\"approve\":false,\"by\":[],\"wait\":\"x~1/1.a.1.0\"}}}" };

    for (size_t i = 0; i < 2; i++) {
        pawl_graph *g = pawl_graph_new("audit", 1);
        town t;

        pawl_graph_effect(g, "deploy", &(pawl_limits){ .cls = PAWL_CLASS_ONCE });
        pawl_graph_node(g, "go", audits, (void *)(uintptr_t)all[i]);
        pawl_graph_chain(g, PAWL_START, "go", PAWL_END, NULL);
        town_begin(&t, pawl_graph_compile(g, NULL), pawl_store_memory(NULL));
        town_acts(&t, "deploy", PAWL_CLASS_ONCE);
        t.replies[0] = "true";
        CHECK_INT(town_run(&t, "audit-1", NULL), PAWL_HALTED);
        CHECK_INT(t.calls, 1);
        town_end(&t);
    }
}
