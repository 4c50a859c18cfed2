/* signers.h - the person's own keys, and the keys of others that the person trusts as approvers (P11).
 *
 * In the person's settings folder, which no tool and no sandbox reaches (P9): keys/NAME.key has an own key, approvers.json what is trusted. */
#ifndef APP_SIGNERS_H
#define APP_SIGNERS_H

#include "app/app.h"
#include "pawl/engine.h"
#include "pawl/sign.h"

typedef struct own_key {
    const char *name;
    char key[PAWL_KEY_ROOM];
    uint8_t seed[PAWL_SEED_BYTES];
    const char *why;            /* its file cannot be used, and this is why; NULL: it can */
} own_key;

/* A new key, which only this user can read; the seed comes from the system. PAWL_CONFLICT: there is one of that name. */
pawl_code signers_new(arena *mem, const char *name, own_key *out, pawl_err *err);
/* PAWL_GONE: there is none; PAWL_DENIED: others can read it; PAWL_CORRUPT. */
pawl_code signers_load(arena *mem, const char *name, own_key *out, pawl_err *err);
/* All own keys, in the order of their names, also those whose files cannot be used. */
pawl_code signers_own(arena *mem, own_key **all, size_t *n, pawl_err *err);

/* {"distrusted":{KEY:NAME..},"trusted":{NAME:KEY..}}; without a file both are empty. NULL: see err. */
const pawl_value *signers_known(arena *mem, pawl_err *err);
/* PAWL_CONFLICT: the name has another key, here or among the own ones. */
pawl_code signers_trust(arena *mem, const char *name, const char *key, pawl_err *err);
/* `which`: a name or a key. Its answers no longer count on this machine, wherever it is named. PAWL_GONE: it is not known here. */
pawl_code signers_distrust(arena *mem, const char *which, pawl_err *err);
/* The key of a name: that of an approver who is trusted, else an own one. PAWL_GONE: err says how to trust it. */
pawl_code signers_of_name(arena *mem, const char *name, const char **key, pawl_err *err);
/* PAWL_DENIED: this key of `name` is distrusted here, or the name is trusted with another key. */
pawl_code signers_count(const pawl_value *known, const char *name, const char *key, pawl_err *err);

/* ---- answers ---------------------------------------------------------------------------------------------- */

/* *out: `answer` (JSON) as it is for a wait without approvers; else signed, with the update of channels that goes with it (NULL: none), by the own key `key`,
 * or (NULL) by the one that the wait lists. PAWL_DENIED: the person has none of these keys; PAWL_CONFLICT: it has signed already; PAWL_INVALID: several
 * keys fit, or the wait takes no signature. */
pawl_code signers_sign(arena *mem, const pawl_wait *w, const char *answer, const char *update, const char *note, const char *key, const char **out,
                       pawl_err *err);
bool signers_can_sign(arena *mem, const pawl_wait *w);          /* also true of a wait without approvers */
bool signers_has_signed(const pawl_wait *w, const char *name);
pawl_approver_fn signers_asked;         /* for pawl_engine_approvers: what is distrusted on this machine does not count */

#endif
