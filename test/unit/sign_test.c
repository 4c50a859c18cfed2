/* sign_test.c - Ed25519 keys as text, and the signed answers of waits that name approvers (P11). */
#include "sign/sign.h"
#include "lib/check.h"

#include <string.h>

/* ---- keys ------------------------------------------------------------------------------------------ */

/* An amalgamation has no Ed25519 of its own. */
static void needs_ed25519(void)
{
    const uint8_t seed[PAWL_SEED_BYTES] = { 1 };
    char key[PAWL_KEY_ROOM];

    if (pawl_key_of_seed(seed, key, NULL) != PAWL_OK)
        check_skip("this build has no Ed25519");
}

static void seed_of(const char *hex, uint8_t seed[PAWL_SEED_BYTES])
{
    hash h;

    CHECK(hash_unhex(hex, strlen(hex), &h));
    memcpy(seed, h.b, PAWL_SEED_BYTES);
}

/* The test vectors 1 and 2 of RFC 8032. */
PAWL_TEST(test_P11_keys_and_signatures_are_those_of_the_standard)
{
    static const struct { const char *seed, *key, *text, *signature; } rows[] = {
        { "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "",
          "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw==" },
        { "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "ed25519:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=", "r",
          "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA==" },
    };
    uint8_t seed[PAWL_SEED_BYTES];
    char key[PAWL_KEY_ROOM], signature[SIGNATURE_ROOM];

    needs_ed25519();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seed_of(rows[i].seed, seed);
        CHECK_INT(pawl_key_of_seed(seed, key, NULL), PAWL_OK);
        CHECK_STR(key, rows[i].key);
        CHECK_INT(key_sign(seed, rows[i].text, strlen(rows[i].text), key, signature, NULL), PAWL_OK);
        CHECK_STR(key, rows[i].key);
        CHECK_STR(signature, rows[i].signature);
        CHECK(key_signed(key, rows[i].text, strlen(rows[i].text), signature));
    }
}

PAWL_TEST(test_P11_a_key_has_one_text)
{
    static const char good[] = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    static const char *const bad[] = {
        "", "ed25519:", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp=", "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHUR==",
        "ed25519:=1qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        "ed25519: 1qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "ED25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    };
    char fingerprint[PAWL_FINGERPRINT_ROOM];

    CHECK(pawl_key_valid(good) && !pawl_key_valid(NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (pawl_key_valid(bad[i]) || pawl_key_fingerprint(bad[i], fingerprint))
            CHECK_FAIL("%s is taken for a key", bad[i]);
    CHECK(pawl_key_fingerprint(good, fingerprint));
    CHECK_INT(strlen(fingerprint), 16);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

typedef struct desk {
    arena mem;
    uint8_t seeds[4][PAWL_SEED_BYTES];
    char keys[4][PAWL_KEY_ROOM];
    const pawl_value *asked;
    approval_question q;
} desk;

static const char *const names[4] = { "alice", "bob", "carol", "mallory" };
static const char wait_id[] = "deploy-1~00000000000000aa/2.go.1.0";

static const pawl_value *json(desk *d, const char *text)
{
    pawl_err err = { PAWL_OK, "" };
    const pawl_value *v = value_parse(&d->mem, text, strlen(text), "a test", &err);

    if (v == NULL)
        CHECK_FAIL("%s", err.text);
    return v;
}

static const pawl_value *approvers(desk *d, int need)
{
    const pawl_value *keys = value_pack(&d->mem, NULL, "[]");

    for (size_t i = 0; i < 3; i++)
        keys = value_push(&d->mem, keys, value_pack(&d->mem, NULL, "{s:s,s:s}", "key", d->keys[i], "name", names[i]));
    return value_pack(&d->mem, NULL, "{s:v,s:i}", "keys", keys, "need", (int64_t)need);
}

static void desk_open(desk *d, int need)
{
    needs_ed25519();
    arena_init(&d->mem, NULL, 4096);
    for (size_t i = 0; i < 4; i++) {
        memset(d->seeds[i], (int)i + 1, PAWL_SEED_BYTES);
        CHECK_INT(pawl_key_of_seed(d->seeds[i], d->keys[i], NULL), PAWL_OK);
    }
    d->asked = value_with(&d->mem, json(d, "{\"about\":{\"digest\":\"aa\",\"policy\":\"bb\",\"tool\":\"Bash\"}"
                                    ",\"prompt\":\"Deploy?\",\"schema\":{\"type\":[\"boolean\",\"object\"]}}"),
                          "approvers", approvers(d, need));
    d->q = (approval_question){ wait_id, d->asked };
}

static const pawl_value *by(desk *d, size_t who, const char *answer, const char *update, const char *note)
{
    const approval_reply r = { json(d, answer), update != NULL ? json(d, update) : NULL };
    const pawl_value *v = approval_sign(&d->mem, &d->q, &r, note, names[who], d->seeds[who], 1000, NULL);

    CHECK(v != NULL);
    return v;
}

static pawl_code check(desk *d, const approval_question *q, const pawl_value *v, const char *update, const char *note)
{
    approval out;

    return approval_check(&d->mem, q, v, update != NULL ? json(d, update) : NULL, note, &out, NULL);
}

PAWL_TEST(test_P11_a_signature_is_of_one_answer_to_one_question)
{
    static const char *const waits[] = {
        "deploy-2~00000000000000aa/2.go.1.0", "deploy-1~00000000000000ab/2.go.1.0", "deploy-1~00000000000000aa/3.go.1.0", "deploy-1~00000000000000aa/2.go.2.0",
        "deploy-1~00000000000000aa/2.go.1.1",
    };
    static const struct { const char *member, *value; } others[] = {
        { "about", "{\"digest\":\"ab\",\"policy\":\"bb\",\"tool\":\"Bash\"}" }, { "about", "{\"digest\":\"aa\",\"policy\":\"bc\",\"tool\":\"Bash\"}" },
        { "about", "{\"digest\":\"aa\",\"policy\":\"bb\",\"tool\":\"Edit\"}" }, { "prompt", "\"Test?\"" }, { "schema", "{\"type\":\"boolean\"}" },
        { "options", "[true]" },
    };
    const pawl_value *v;
    approval out;
    desk d;

    desk_open(&d, 1);
    v = by(&d, 0, "true", "{\"a\":1}", "it is fine");
    CHECK_INT(approval_check(&d.mem, &d.q, v, json(&d, "{\"a\":1}"), "it is fine", &out, NULL), PAWL_OK);
    CHECK_STR(out.name, "alice");
    CHECK(out.yes);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const approval_question q = { waits[i], d.asked };

        if (check(&d, &q, v, "{\"a\":1}", "it is fine") != PAWL_DENIED)
            CHECK_FAIL("the signature counts for %s", waits[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const approval_question q = { wait_id, value_with(&d.mem, d.asked, others[i].member, json(&d, others[i].value)) };

        if (check(&d, &q, v, "{\"a\":1}", "it is fine") != PAWL_DENIED)
            CHECK_FAIL("the signature counts with another %s", others[i].member);
    }
    const approval_question fewer = { wait_id, value_with(&d.mem, d.asked, "approvers", approvers(&d, 2)) };

    CHECK_INT(check(&d, &fewer, v, "{\"a\":1}", "it is fine"), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, v, "{\"a\":2}", "it is fine"), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, v, NULL, "it is fine"), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, v, "{\"a\":1}", "it is not"), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, v, "{\"a\":1}", NULL), PAWL_DENIED);
    arena_free(&d.mem);
}

PAWL_TEST(test_P11_each_member_of_a_signed_answer_is_signed)
{
    const pawl_value *v;
    desk d;

    desk_open(&d, 1);
    v = by(&d, 0, "true", NULL, NULL);
    CHECK_INT(check(&d, &d.q, v, NULL, NULL), PAWL_OK);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "answer", json(&d, "{\"approve\":false}")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "answer", json(&d, "{\"approve\":true,\"input\":{}}")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "time", value_int(&d.mem, 1001)), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "name", json(&d, "\"bob\"")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "name", json(&d, "\"mallory\"")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "key", value_string(&d.mem, d.keys[3], strlen(d.keys[3]))), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "signature", json(&d, "\"AAAA\"")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, by(&d, 3, "true", NULL, NULL), NULL, NULL), PAWL_DENIED);         /* none of them */
    CHECK_INT(check(&d, &d.q, json(&d, "true"), NULL, NULL), PAWL_DENIED);                      /* not signed */
    CHECK_INT(check(&d, &d.q, json(&d, "{\"approve\":true}"), NULL, NULL), PAWL_DENIED);
    CHECK_INT(check(&d, &d.q, value_with(&d.mem, v, "more", json(&d, "1")), NULL, NULL), PAWL_DENIED);
    arena_free(&d.mem);
}

static const pawl_value *answer_of(desk *d, const pawl_value *a, const pawl_value *b)
{
    const pawl_value *list = value_push(&d->mem, value_pack(&d->mem, NULL, "[]"), a);

    return approval_answer(&d->mem, &d->q, b != NULL ? value_push(&d->mem, list, b) : list, NULL);
}

PAWL_TEST(test_P11_an_answer_carries_as_many_signatures_as_it_needs)
{
    const pawl_value *v, *alice, *bob;
    desk d;

    desk_open(&d, 2);
    alice = by(&d, 0, "true", NULL, NULL);
    bob = by(&d, 1, "true", NULL, NULL);
    v = answer_of(&d, alice, bob);
    CHECK(pawl_value_bool(pawl_value_get(v, "approve")));
    CHECK_INT(approval_answer_check(&d.mem, &d.q, v, NULL, NULL), PAWL_OK);
    CHECK_INT(proof_check(&d.mem, pawl_value_get(v, "signed"), NULL), PAWL_OK);
    CHECK(pawl_value_equal(approval_last(&d.mem, v), bob));
    CHECK_INT(approval_answer_check(&d.mem, &d.q, answer_of(&d, alice, NULL), NULL, NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, answer_of(&d, alice, alice), NULL, NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, answer_of(&d, alice, by(&d, 3, "true", NULL, NULL)), NULL, NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, answer_of(&d, alice, by(&d, 1, "false", NULL, NULL)), NULL, NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, answer_of(&d, by(&d, 1, "false", NULL, NULL), NULL), NULL, NULL), PAWL_OK);    /* one no is a no */
    CHECK_INT(approval_answer_check(&d.mem, &d.q, v, json(&d, "{\"a\":1}"), NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, value_with(&d.mem, v, "approve", json(&d, "false")), NULL, NULL), PAWL_DENIED);
    CHECK_INT(approval_answer_check(&d.mem, &d.q, json(&d, "true"), NULL, NULL), PAWL_DENIED);
    arena_free(&d.mem);
}
PAWL_TEST(test_P11_approvers_are_1_to_16_keys_and_each_is_there_once)
{
    static const char key[] = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    static const char *const bad[] = {
        "[]", "{}", "{\"keys\":[],\"need\":1}", "{\"keys\":[{\"key\":\"%s\",\"name\":\"a\"}],\"need\":0}", "{\"keys\":[{\"key\":\"%s\",\"name\":\"a\"}],\"need\":2}",
        "{\"keys\":[{\"key\":\"%s\",\"name\":\"a\"},{\"key\":\"%s\",\"name\":\"b\"}],\"need\":1}", "{\"keys\":[{\"key\":\"x\",\"name\":\"a\"}],\"need\":1}",
        "{\"keys\":[{\"key\":\"%s\",\"name\":\"-\"}],\"need\":1}", "{\"keys\":[{\"key\":\"%s\"}],\"need\":1}", "{\"keys\":[{\"key\":\"%s\",\"name\":\"a\"}],\"need\":1,\"x\":1}",
    };
    static const char good[] = "{\"keys\":[{\"key\":\"%s\",\"name\":\"a\"}],\"need\":1}";
    arena mem;
    buf b;

    arena_init(&mem, NULL, 4096);
    buf_init(&b, NULL);
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        const char *const form = i == 0 ? good : bad[i - 1];

        buf_reset(&b);
        for (const char *at = form; *at != '\0'; at++)
            if (strncmp(at, "%s", 2) == 0)
                buf_text(&b, key), at++;
            else
                buf_char(&b, *at);
        if ((approvers_check(value_parse(&mem, b.data, b.size, "a test", NULL), NULL) == PAWL_OK) != (i == 0))
            CHECK_FAIL("%s", form);
    }
    buf_free(&b);
    arena_free(&mem);
}
