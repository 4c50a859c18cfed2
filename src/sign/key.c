/* key.c - Ed25519 by nettle, and keys as text.
 *
 * Pure; any thread. A text is taken in one form only: what is not the base64 that is written here for the same bytes is refused. */
#include "base/base64.h"
#include "sign/sign.h"

#include <string.h>

static const char key_prefix[] = "ed25519:";
enum { BASE64_BYTES_MAX = SIGNATURE_ROOM / 4 * 3 };

#ifdef PAWL_HOST_SHA256
#ifdef PAWL_HOST_ED25519
/* The amalgamation has no library: the surrounding program provides the check; it signs by its own means. */
extern bool pawl_host_ed25519(const uint8_t key[32], const void *bytes, size_t size, const uint8_t signature[64]);

static bool ed25519_good(const uint8_t key[KEY_BYTES], const void *bytes, size_t size, const uint8_t signature[PAWL_SIGNATURE_BYTES])
{
    return pawl_host_ed25519(key, bytes, size, signature);
}
#else
/* Without a check nothing counts as signed. */
static bool ed25519_good(const uint8_t key[KEY_BYTES], const void *bytes, size_t size, const uint8_t signature[PAWL_SIGNATURE_BYTES])
{
    (void)key, (void)bytes, (void)size, (void)signature;
    return false;
}
#endif

static bool ed25519_made(const uint8_t *seed, const void *bytes, size_t size, uint8_t *key, uint8_t *signature)
{
    (void)seed, (void)bytes, (void)size, (void)key, (void)signature;
    return false;
}
#else
#include <nettle/eddsa.h>

static bool ed25519_good(const uint8_t key[KEY_BYTES], const void *bytes, size_t size, const uint8_t signature[PAWL_SIGNATURE_BYTES])
{
    return ed25519_sha512_verify(key, size, bytes, signature) == 1;
}

/* `signature` may be NULL: only the key. */
static bool ed25519_made(const uint8_t *seed, const void *bytes, size_t size, uint8_t *key, uint8_t *signature)
{
    ed25519_sha512_public_key(key, seed);
    if (signature != NULL)
        ed25519_sha512_sign(key, seed, size, bytes, signature);
    return true;
}
#endif

/* Exactly n bytes, as base64_code() writes them; false: not their base64. */
static bool base64_get(const char *text, uint8_t *out, size_t n)
{
    char again[SIGNATURE_ROOM];
    uint8_t bytes[BASE64_BYTES_MAX];
    size_t got;

    if (strlen(text) + 1 != BASE64_ROOM(n) || !base64_read(text, strlen(text), bytes, &got) || got != n)
        return false;
    base64_code(bytes, n, again);
    memcpy(out, bytes, n);
    return strcmp(again, text) == 0;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

bool key_read(const char *text, uint8_t out[KEY_BYTES])
{
    return text != NULL && strncmp(text, key_prefix, sizeof key_prefix - 1) == 0 && base64_get(text + sizeof key_prefix - 1, out, KEY_BYTES);
}

static void key_text(const uint8_t bytes[KEY_BYTES], char out[PAWL_KEY_ROOM])
{
    memcpy(out, key_prefix, sizeof key_prefix);
    base64_code(bytes, KEY_BYTES, out + sizeof key_prefix - 1);
}

pawl_code pawl_key_of_seed(const uint8_t seed[PAWL_SEED_BYTES], char key[PAWL_KEY_ROOM], pawl_err *err)
{
    uint8_t bytes[KEY_BYTES];

    if (!ed25519_made(seed, NULL, 0, bytes, NULL))
        return fail(err, PAWL_INVALID, "this build has no Ed25519: make the key elsewhere");
    key_text(bytes, key);
    return PAWL_OK;
}

bool pawl_key_valid(const char *key)
{
    uint8_t bytes[KEY_BYTES];

    return key_read(key, bytes);
}

bool pawl_key_fingerprint(const char *key, char out[PAWL_FINGERPRINT_ROOM])
{
    uint8_t bytes[KEY_BYTES];
    char hex[HASH_HEX + 1];
    hash h;

    if (!key_read(key, bytes))
        return false;
    hash_of(bytes, KEY_BYTES, &h);
    hash_hex(&h, hex);
    memcpy(out, hex, PAWL_FINGERPRINT_ROOM - 1);
    out[PAWL_FINGERPRINT_ROOM - 1] = '\0';
    return true;
}

pawl_code key_sign(const uint8_t seed[PAWL_SEED_BYTES], const void *bytes, size_t size, char key[PAWL_KEY_ROOM], char out[SIGNATURE_ROOM], pawl_err *err)
{
    uint8_t made[KEY_BYTES], signature[PAWL_SIGNATURE_BYTES];

    if (!ed25519_made(seed, bytes, size, made, signature))
        return fail(err, PAWL_INVALID, "this build has no Ed25519: sign elsewhere");
    key_text(made, key);
    base64_code(signature, PAWL_SIGNATURE_BYTES, out);
    return PAWL_OK;
}

bool key_signed(const char *key, const void *bytes, size_t size, const char *signature)
{
    uint8_t public_key[KEY_BYTES], of[PAWL_SIGNATURE_BYTES];

    return key_read(key, public_key) && signature != NULL && base64_get(signature, of, PAWL_SIGNATURE_BYTES) && ed25519_good(public_key, bytes, size, of);
}
