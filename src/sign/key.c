/* key.c - Ed25519 by nettle, and keys as text.
 *
 * Pure; any thread. A text is taken in one form only: what is not the base64 that is written here for the same bytes is refused. */
#include "sign/sign.h"

#include <string.h>

static const char key_prefix[] = "ed25519:";
static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

/* ---- base64 ------------------------------------------------------------------------------------------- */

static void base64_put(const uint8_t *from, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t left = (uint32_t)(n - i), v = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) | (left > 2 ? from[i + 2] : 0u);

        *out++ = base64_digits[v >> 18];
        *out++ = base64_digits[v >> 12 & 63];
        *out++ = left > 1 ? base64_digits[v >> 6 & 63] : '=';
        *out++ = left > 2 ? base64_digits[v & 63] : '=';
    }
    *out = '\0';
}

/* Exactly n bytes, with their padding; false: not their base64. */
static bool base64_get(const char *text, uint8_t *out, size_t n)
{
    const size_t whole = (n + 2) / 3 * 4;
    char again[SIGNATURE_ROOM];
    uint32_t v = 0;
    size_t got = 0;

    if (strlen(text) != whole || whole >= sizeof again)
        return false;
    for (size_t i = 0; i < whole; i++) {
        const char *at = text[i] != '=' ? strchr(base64_digits, text[i]) : base64_digits;

        if (at == NULL)
            return false;
        v = v << 6 | (uint32_t)(at - base64_digits);
        for (int shift = 16; i % 4 == 3 && shift >= 0; shift -= 8)
            if (got < n)
                out[got++] = (uint8_t)(v >> shift);
    }
    base64_put(out, n, again);
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
    base64_put(bytes, KEY_BYTES, out + sizeof key_prefix - 1);
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
    base64_put(signature, PAWL_SIGNATURE_BYTES, out);
    return PAWL_OK;
}

bool key_signed(const char *key, const void *bytes, size_t size, const char *signature)
{
    uint8_t public_key[KEY_BYTES], of[PAWL_SIGNATURE_BYTES];

    return key_read(key, public_key) && signature != NULL && base64_get(signature, of, PAWL_SIGNATURE_BYTES) && ed25519_good(public_key, bytes, size, of);
}
