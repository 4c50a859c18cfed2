/* approval.c - the signed answers of a wait that names approvers: signed, checked, put together (P11).
 *
 * Pure; any thread. What is signed is one line, the domain with its version, and canonical JSON:
 *     pawl approval 1
 *     {"answer","approve","approvers","call","life","name","note","policy","question","run","time","update","wait"}
 * Digests are SHA-256 of canonical JSON. "call" and "policy" are what the wait is bound to (W6), null where it names none; "question" is over all that a
 * person is shown. So a signature counts for one wait of one life of one run, for one call under one policy, for one answer. */
#include "base/broken.h"
#include "sign/sign.h"

#include <string.h>

/* What is signed, besides name, note and time; a "signed" member of an answer has all of it, so that it can be checked by itself. */
static const char *const proof_members[] = { "answer", "approve", "approvers", "call", "policy", "question", "update", "wait" };
enum { BOUND = sizeof proof_members / sizeof *proof_members };

static const pawl_value *value_digest(arena *mem, const pawl_value *v)
{
    const pawl_value *out = NULL;
    char hex[HASH_HEX + 1];
    hash h;
    buf b;

    if (v == NULL)
        return value_null(mem);
    buf_init(&b, &mem->alloc);
    canon(&b, v);
    if (!b.failed) {
        hash_of(b.data, b.size, &h);
        hash_hex(&h, hex);
        out = value_string(mem, hex, HASH_HEX);
    } else {
        mem->failed = true;
    }
    buf_free(&b);
    return out;
}

static const pawl_value *or_null(arena *mem, const pawl_value *v) { return v != NULL ? v : value_null(mem); }

static const pawl_value *question_digest(arena *mem, const pawl_value *asked)
{
    static const char *const members[] = { "about", "options", "prompt", "schema" };
    const pawl_value *all = value_pack(mem, NULL, "{}"), *one;

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if ((one = pawl_value_get(asked, members[i])) != NULL)
            all = value_with(mem, all, members[i], one);
    return value_digest(mem, all);
}

bool answer_is_no(const pawl_value *answer)
{
    const pawl_value *yes = pawl_value_type(answer) == PAWL_TYPE_OBJECT ? pawl_value_get(answer, "approve") : answer;

    return pawl_value_type(yes) == PAWL_TYPE_BOOL && !pawl_value_bool(yes);
}

const pawl_value *reply_whole(arena *mem, const pawl_value *answer)
{
    const pawl_value *yes = pawl_value_type(answer) == PAWL_TYPE_OBJECT ? pawl_value_get(answer, "approve") : answer;

    if (pawl_value_type(yes) != PAWL_TYPE_BOOL || pawl_value_get(answer, "signed") != NULL)
        return NULL;
    return yes == answer ? value_pack(mem, NULL, "{s:v}", "approve", yes) : answer;
}

static bool reply_yes(const pawl_value *whole) { return pawl_value_bool(pawl_value_get(whole, "approve")); }

/* All that is bound, with these signatures (NULL: none yet); in canonical order. NULL: no memory. */
static const pawl_value *proof_of(arena *mem, const approval_question *q, const pawl_value *whole, const pawl_value *update, const pawl_value *by)
{
    const pawl_value *about = pawl_value_get(q->asked, "about");
    const pawl_value *v = value_pack(mem, NULL, "{s:v,s:b,s:v}", "answer", value_digest(mem, whole), "approve", (int)reply_yes(whole), "approvers",
                                     pawl_value_get(q->asked, "approvers"));

    if (by != NULL)
        v = value_with(mem, v, "by", by);
    v = value_with(mem, v, "call", or_null(mem, pawl_value_get(about, "digest")));
    v = value_with(mem, v, "policy", or_null(mem, pawl_value_get(about, "policy")));
    v = value_with(mem, v, "question", question_digest(mem, q->asked));
    v = value_with(mem, v, "update", value_digest(mem, update));
    return value_with(mem, v, "wait", value_string(mem, q->wait, strlen(q->wait)));
}

/* The bytes that are signed. False: no memory, or a wait that is no id. */
static bool signed_bytes(arena *mem, const pawl_value *proof, const char *name, const char *note, int64_t time_ms, buf *out)
{
    const char *wait = pawl_value_string(pawl_value_get(proof, "wait")), *life = wait != NULL ? strchr(wait, '~') : NULL;
    const char *rest = life != NULL ? strchr(life, '/') : NULL;
    const pawl_value *all = value_pack(mem, NULL, "{}"), *said;

    if (rest == NULL || name == NULL)
        return false;
    for (size_t i = 0; i < BOUND; i++)
        if (strcmp(proof_members[i], "approvers") == 0)
            all = value_with(mem, all, proof_members[i], value_digest(mem, pawl_value_get(proof, proof_members[i])));
        else
            all = value_with(mem, all, proof_members[i], or_null(mem, pawl_value_get(proof, proof_members[i])));
    said = note != NULL ? value_digest(mem, value_string(mem, note, strlen(note))) : value_null(mem);
    all = value_with(mem, all, "life", value_string(mem, life + 1, (size_t)(rest - life) - 1));
    all = value_with(mem, all, "name", value_string(mem, name, strlen(name)));
    all = value_with(mem, all, "note", said);
    all = value_with(mem, all, "run", value_string(mem, wait, (size_t)(life - wait)));
    all = value_with(mem, all, "time", value_int(mem, time_ms));
    buf_text(out, "pawl approval 1\n");
    if (all != NULL)
        canon(out, all);
    return all != NULL && !out->failed && !mem->failed;
}

static bool signature_good(arena *mem, const pawl_value *proof, const char *name, const char *key, const char *note, int64_t time_ms, const char *signature)
{
    bool good;
    buf b;

    buf_init(&b, &mem->alloc);
    good = signed_bytes(mem, proof, name, note, time_ms, &b) && (BROKEN(BROKEN_SIGNATURE) || key_signed(key, b.data, b.size, signature));
    mem->failed = mem->failed || b.failed;
    buf_free(&b);
    return good;
}

/* ---- signing --------------------------------------------------------------------------------------------- */

const pawl_value *approval_sign(arena *mem, const approval_question *q, const approval_reply *r, const char *note, const char *name,
                                const uint8_t seed[PAWL_SEED_BYTES],
                                int64_t time_ms, pawl_err *err)
{
    const pawl_value *whole = reply_whole(mem, r->answer), *proof = whole == NULL ? NULL : proof_of(mem, q, whole, r->update, NULL), *out = NULL;
    char key[PAWL_KEY_ROOM], signature[SIGNATURE_ROOM];
    buf b;

    if (whole == NULL && !mem->failed) {
        fail(err, PAWL_INVALID, "%.100s: an answer that is signed is true, false, or an object with \"approve\"", q->wait);
        return NULL;
    }
    buf_init(&b, &mem->alloc);
    if (proof == NULL || !signed_bytes(mem, proof, name, note, time_ms, &b))
        fail(err, mem->failed || b.failed ? PAWL_NOMEM : PAWL_INVALID, "%.100s: nothing can be signed for it", q->wait);
    else if (key_sign(seed, b.data, b.size, key, signature, err) == PAWL_OK)
        out = value_pack(mem, err, "{s:v,s:s,s:s,s:s,s:i}", "answer", whole, "key", key, "name", name, "signature", signature, "time", time_ms);
    buf_free(&b);
    return out;
}

/* ---- one signed answer ------------------------------------------------------------------------------------- */

static bool shape_good(const pawl_value *value)
{
    return pawl_value_type(value) == PAWL_TYPE_OBJECT && pawl_value_size(value) == 5 && pawl_value_get(value, "answer") != NULL &&
           pawl_value_string(pawl_value_get(value, "key")) != NULL && pawl_value_string(pawl_value_get(value, "name")) != NULL &&
           pawl_value_string(pawl_value_get(value, "signature")) != NULL && pawl_value_type(pawl_value_get(value, "time")) == PAWL_TYPE_INT;
}

/* A plain yes or no fits where the schema takes true and false, and where it takes the object. */
static pawl_code answer_fits(const pawl_value *asked, const pawl_value *whole, pawl_err *err)
{
    const pawl_value *schema = pawl_value_get(asked, "schema");

    if (schema == NULL || (pawl_value_size(whole) == 1 && schema_check(schema, pawl_value_get(whole, "approve"), "the answer", NULL) == PAWL_OK))
        return PAWL_OK;
    return schema_check(schema, whole, "the answer", err);
}

static pawl_code unsigned_refused(const approval_question *q, pawl_err *err)
{
    pawl_code rc;
    buf b;

    buf_init(&b, NULL);
    approvers_phrase(&b, pawl_value_get(q->asked, "approvers"));
    buf_char(&b, '\0');
    rc = fail(err, PAWL_DENIED, "wait %.160s takes only answers that are signed by %.120s: pawl approve RUN --key NAME, or pawl deny", q->wait,
              b.failed ? "its approvers" : b.data);
    buf_free(&b);
    return rc;
}

pawl_code approval_check(arena *mem, const approval_question *q, const pawl_value *value, const pawl_value *update, const char *note, approval *out,
                         pawl_err *err)
{
    const pawl_value *approvers = pawl_value_get(q->asked, "approvers"), *proof;
    const char *listed;

    *out = (approval){ .yes = false };
    if (!shape_good(value))
        return unsigned_refused(q, err);
    out->name = pawl_value_string(pawl_value_get(value, "name"));
    out->key = pawl_value_string(pawl_value_get(value, "key"));
    if ((listed = approvers_key(approvers, out->name)) == NULL)
        return fail(err, PAWL_DENIED, "wait %.160s: \"%.64s\" is none of its approvers", q->wait, out->name);
    if (strcmp(listed, out->key) != 0)
        return fail(err, PAWL_DENIED, "wait %.160s: it was signed with another key than that of %s, which is %s", q->wait, out->name, listed);
    if ((out->answer = reply_whole(mem, pawl_value_get(value, "answer"))) == NULL)
        return mem->failed ? PAWL_NOMEM : fail(err, PAWL_INVALID, "wait %.160s: a signed answer is true, false, or an object with \"approve\"", q->wait);
    if (answer_fits(q->asked, out->answer, err) != PAWL_OK)
        return PAWL_INVALID;
    out->yes = reply_yes(out->answer);
    proof = proof_of(mem, q, out->answer, update, NULL);
    if (proof != NULL && signature_good(mem, proof, out->name, listed, note, pawl_value_int(pawl_value_get(value, "time")),
                                        pawl_value_string(pawl_value_get(value, "signature"))))
        return PAWL_OK;
    return mem->failed ? fail(err, PAWL_NOMEM, "no memory to check a signature")
                       : fail(err, PAWL_DENIED, "wait %.160s: the signature of %s is not of this answer to this wait: sign it anew", q->wait, out->name);
}

/* ---- what they come to -------------------------------------------------------------------------------------- */

const pawl_value *approval_answer(arena *mem, const approval_question *q, const pawl_value *signed_by, const pawl_value *update)
{
    const pawl_value *by = value_pack(mem, NULL, "[]"), *whole = reply_whole(mem, pawl_value_get(pawl_value_at(signed_by, 0), "answer")), *proof, *one;
    pawl_iter it = pawl_iter_of(signed_by);

    while ((one = pawl_iter_next(&it, NULL)) != NULL) {
        const pawl_value *v = value_pack(mem, NULL, "{s:v,s:v}", "key", pawl_value_get(one, "key"), "name", pawl_value_get(one, "name"));

        if (pawl_value_get(one, "note") != NULL)
            v = value_with(mem, v, "note", pawl_value_get(one, "note"));
        v = value_with(mem, v, "signature", pawl_value_get(one, "signature"));
        by = value_push(mem, by, value_with(mem, v, "time", pawl_value_get(one, "time")));
    }
    proof = whole == NULL ? NULL : proof_of(mem, q, whole, update, by);
    return value_with(mem, whole, "signed", proof);
}

/* The answer without its proof. */
static const pawl_value *answer_bare(arena *mem, const pawl_value *value)
{
    const pawl_value *out = value_pack(mem, NULL, "{}"), *key, *one;
    pawl_iter it = pawl_iter_of(value);

    while ((one = pawl_iter_next(&it, &key)) != NULL)
        if (strcmp(pawl_value_string(key), "signed") != 0)
            out = value_with(mem, out, pawl_value_string(key), one);
    return out;
}

const pawl_value *approval_last(arena *mem, const pawl_value *value)
{
    const pawl_value *by = pawl_value_get(pawl_value_get(value, "signed"), "by"), *last = pawl_value_at(by,
                                                                                                        pawl_value_size(by) > 0 ? pawl_value_size(by) - 1 : 0);

    if (last == NULL)
        return NULL;
    return value_pack(mem, NULL, "{s:v,s:v,s:v,s:v,s:v}", "answer", answer_bare(mem, value), "key", or_null(mem, pawl_value_get(last, "key")), "name",
                      or_null(mem, pawl_value_get(last, "name")), "signature", or_null(mem, pawl_value_get(last, "signature")), "time",
                      or_null(mem, pawl_value_get(last, "time")));
}

static pawl_code proof_refused(const pawl_value *proof, const char *what, pawl_err *err)
{
    const char *wait = pawl_value_string(pawl_value_get(proof, "wait"));

    return fail(err, PAWL_DENIED, "the approval of wait %.160s: %s", wait != NULL ? wait : "?", what);
}

pawl_code proof_check(arena *mem, const pawl_value *proof, pawl_err *err)
{
    const pawl_value *approvers = pawl_value_get(proof, "approvers"), *by = pawl_value_get(proof, "by");
    const bool yes = pawl_value_bool(pawl_value_get(proof, "approve"));
    const size_t n = pawl_value_size(by);

    if (approvers_check(approvers, NULL) != PAWL_OK)
        return proof_refused(proof, "it names no approvers", err);
    if (n != (yes ? approvers_need(approvers) : 1))
        return proof_refused(proof, "another number of signatures than it needs", err);
    for (size_t i = 0; i < n; i++) {
        const pawl_value *one = pawl_value_at(by, i);
        const char *name = pawl_value_string(pawl_value_get(one, "name")), *key = pawl_value_string(pawl_value_get(one, "key"));
        const char *listed = approvers_key(approvers, name);

        if (listed == NULL || key == NULL || strcmp(listed, key) != 0)
            return proof_refused(proof, "it is signed by somebody who is none of the approvers", err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(pawl_value_string(pawl_value_get(pawl_value_at(by, k), "name")), name) == 0)
                return proof_refused(proof, "one approver is counted twice", err);
        if (signature_good(mem, proof, name, listed, pawl_value_string(pawl_value_get(one, "note")), pawl_value_int(pawl_value_get(one, "time")),
                           pawl_value_string(pawl_value_get(one, "signature"))))
            continue;
        if (mem->failed)
            return fail(err, PAWL_NOMEM, "no memory to check a signature");
        return fail(err, PAWL_DENIED, "the approval of wait %.160s: the signature of %s is not of this answer to this wait",
                    pawl_value_string(pawl_value_get(proof, "wait")), name);
    }
    return PAWL_OK;
}

pawl_code approval_answer_check(arena *mem, const approval_question *q, const pawl_value *value, const pawl_value *update, pawl_err *err)
{
    const pawl_value *proof = pawl_value_get(value, "signed"), *whole = reply_whole(mem, answer_bare(mem, value)), *due;

    if (proof == NULL || whole == NULL)
        return mem->failed ? PAWL_NOMEM : unsigned_refused(q, err);
    if ((due = proof_of(mem, q, whole, update, NULL)) == NULL)
        return fail(err, PAWL_NOMEM, "no memory to check a signature");
    for (size_t i = 0; i < BOUND; i++)
        if (!pawl_value_equal(pawl_value_get(due, proof_members[i]), pawl_value_get(proof, proof_members[i])))
            return fail(err, PAWL_DENIED, "wait %.160s: its signatures are for another \"%s\"", q->wait, proof_members[i]);
    return proof_check(mem, proof, err);
}
