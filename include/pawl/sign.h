/* sign.h - approvers by key (P11): Ed25519 keys, and the signature of an answer.
 *
 * A wait that names approvers (pawl_question, kernel/node.h) takes signed answers alone. The signature is over the run, its life, the wait, the digest of
 * the call and of the policy, the question, the approvers, the answer with its update and note, the time and the name; it stands in the journal with the
 * answer. Pure: any thread. */
#ifndef PAWL_SIGN_H
#define PAWL_SIGN_H

#include "pawl/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PAWL_SEED_BYTES = 32,       /* the secret of a key */
    PAWL_SIGNATURE_BYTES = 64,
    PAWL_KEY_ROOM = 53,         /* "ed25519:" and 44 characters of base64, and the NUL */
    PAWL_FINGERPRINT_ROOM = 17, /* 16 hex digits, and the NUL */
    PAWL_APPROVERS_MAX = 16     /* of one wait */
};

/* The public key of a seed, "ed25519:BASE64". PAWL_INVALID: this build has no Ed25519 (an amalgamation whose program gives none). */
PAWL_API PAWL_MUST_USE pawl_code pawl_key_of_seed(const uint8_t seed[PAWL_SEED_BYTES], char key[PAWL_KEY_ROOM], pawl_err *err);
PAWL_API bool pawl_key_valid(const char *key);          /* "ed25519:" and the base64 of 32 bytes. NULL: false */
/* The first 16 hex digits of the SHA-256 of its 32 bytes, for people who compare keys. False: not a key. */
PAWL_API bool pawl_key_fingerprint(const char *key, char out[PAWL_FINGERPRINT_ROOM]);
PAWL_API bool pawl_approver_name_valid(const char *name);       /* [A-Za-z0-9][A-Za-z0-9._-]{0,63} */

#ifdef __cplusplus
}
#endif
#endif
