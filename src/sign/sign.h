/* sign.h - Ed25519, and the signed answers of waits that name approvers (P11).
 *
 * One place for all: the kernel checks an answer and a journal by it, stores check a delivery, the engine a command before it leaves. Pure; memory comes
 * from the caller's arena. */
#ifndef SIGN_SIGN_H
#define SIGN_SIGN_H

#include "json/json.h"
#include "pawl/sign.h"

enum { KEY_BYTES = 32, SIGNATURE_ROOM = 89 };   /* 88 characters of base64, and the NUL */

/* ---- key.c ------------------------------------------------------------------------------------------- */

bool key_read(const char *text, uint8_t out[KEY_BYTES]);        /* of "ed25519:BASE64" */
/* `key`: the public one of the seed, made on the way. */
pawl_code key_sign(const uint8_t seed[PAWL_SEED_BYTES], const void *bytes, size_t size, char key[PAWL_KEY_ROOM], char out[SIGNATURE_ROOM], pawl_err *err);
/* Whether `signature` (base64) is of `bytes` by `key`. */
bool key_signed(const char *key, const void *bytes, size_t size, const char *signature);

/* ---- approvers.c: who has to sign --------------------------------------------------------------------- */

/* {"keys":[{"key":"ed25519:..","name":"alice"}...],"need":2}, as it stands in the SPEC of a wait: 1 to PAWL_APPROVERS_MAX keys, each name and each key
 * once, need from 1 to their number. PAWL_INVALID. */
pawl_code approvers_check(const pawl_value *approvers, pawl_err *err);
const char *approvers_key(const pawl_value *approvers, const char *name);       /* of that name; NULL: none */
uint64_t approvers_need(const pawl_value *approvers);
void approvers_phrase(buf *b, const pawl_value *approvers);       /* "alice and bob", "2 of alice, bob and carol" */

/* ---- approval.c: a signed answer ------------------------------------------------------------------------ */

/* What a signature is bound to, besides the answer. `asked`: the SPEC of the wait, or an object with its about, approvers, options, prompt and schema. */
typedef struct approval_question { const char *wait; const pawl_value *asked; } approval_question;
/* An answer: {"approve":BOOL}, with "input" and "note" where the schema allows them; `update` NULL: none. */
typedef struct approval_reply { const pawl_value *answer, *update; } approval_reply;

bool answer_is_no(const pawl_value *answer);    /* false, or an object with "approve" false */
/* true, false or an object with "approve" -> {"approve":..}. NULL: it is neither yes nor no, or no memory. */
const pawl_value *reply_whole(arena *mem, const pawl_value *answer);
/* The value of an event that answers the wait: {"answer","key","name","signature","time"}. NULL: see err. */
const pawl_value *approval_sign(arena *mem, const approval_question *q, const approval_reply *r, const char *note, const char *name,
                                const uint8_t seed[PAWL_SEED_BYTES],
                                int64_t time_ms, pawl_err *err);

typedef struct approval {       /* a signed answer that was checked */
    bool yes;
    const char *name, *key;
    const pawl_value *answer;   /* as reply_whole() */
} approval;
/* Whether `value` is a signed answer to the question by one of its approvers. PAWL_INVALID: it is not signed, or no answer that the schema takes.
 * PAWL_DENIED: by somebody else, or the signature is of something else. err says what to do. */
pawl_code approval_check(arena *mem, const approval_question *q, const pawl_value *value, const pawl_value *update, const char *note, approval *out,
                         pawl_err *err);

/* The answer that `signed_by` (an array of values as of approval_sign, each with "note" where it has one) came to, as it stands in the journal and as the
 * machine gets it: the answer with one member more, "signed", its proof. NULL: no memory. */
const pawl_value *approval_answer(arena *mem, const approval_question *q, const pawl_value *signed_by, const pawl_value *update);
/* Whether `value` is such an answer to the question, and every signature of it good. PAWL_DENIED. */
pawl_code approval_answer_check(arena *mem, const approval_question *q, const pawl_value *value, const pawl_value *update, pawl_err *err);
/* The last one of its signatures as the value of an event; NULL: it has none. */
const pawl_value *approval_last(arena *mem, const pawl_value *value);
/* Whether the signatures of a proof ("signed" of an answer) are good, and a yes of as many approvers as it needs. PAWL_DENIED: they are not. */
pawl_code proof_check(arena *mem, const pawl_value *proof, pawl_err *err);

#endif
