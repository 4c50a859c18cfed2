/* hash.c - SHA-256, by which records are chained and definitions are named. */
#include "base/inner.h"

#ifdef PAWL_HOST_SHA256
/* The single-file build has no library to call: its host brings the hash. */
extern void pawl_host_sha256(const pawl_bytes *parts, size_t n, uint8_t out[32]);

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    pawl_host_sha256(parts, n, out->b);
}
#else
#include <nettle/sha2.h>

enum { TOGETHER_BYTES = 192 }; /* parts as short as an envelope and two digests go in one call */

void hash_parts(const pawl_bytes *parts, size_t n, hash *out)
{
    struct sha256_ctx sha;
    uint8_t together[TOGETHER_BYTES];
    size_t size = 0;

    sha256_init(&sha);
    for (size_t i = 0; i < n; i++) {
        if (n > 1 && parts[i].size <= sizeof together - size) {
            text_copy((char *)together + size, parts[i].data, parts[i].size);
            size += parts[i].size;
            continue;
        }
        if (size > 0)
            sha256_update(&sha, size, together);
        if (parts[i].size > 0)
            sha256_update(&sha, parts[i].size, (const uint8_t *)parts[i].data);
        size = 0;
    }
    if (size > 0)
        sha256_update(&sha, size, together);
    sha256_digest(&sha, HASH_BYTES, out->b);
}
#endif

void hash_of(const void *data, size_t size, hash *out)
{
    pawl_bytes part = { data, size };

    hash_parts(&part, 1, out);
}

/* Digits in a row, and what they say in pairs: loops of which compilers make steps of sixteen bytes. */
void hash_hex(const hash *h, char out[HASH_HEX + 1])
{
    uint8_t digits[HASH_HEX];

    for (size_t i = 0; i < HASH_BYTES; i++) {
        digits[2 * i] = h->b[i] >> 4;
        digits[2 * i + 1] = h->b[i] & 15;
    }
    for (size_t i = 0; i < HASH_HEX; i++)
        out[i] = (char)(digits[i] + (digits[i] < 10 ? '0' : 'a' - 10));
    out[HASH_HEX] = '\0';
}

bool hash_unhex(const char *text, size_t size, hash *out)
{
    const uint8_t no_digit = 0x80;
    uint8_t digits[HASH_HEX], all = 0;

    if (text == NULL || size != HASH_HEX)
        return false;
    for (size_t i = 0; i < HASH_HEX; i++) {
        uint8_t number = (uint8_t)(text[i] - '0'), letter = (uint8_t)(text[i] - 'a');

        digits[i] = number < 10 ? number : letter < 6 ? (uint8_t)(letter + 10) : no_digit;
        all |= digits[i];
    }
    if (all >= no_digit)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++)
        out->b[i] = (uint8_t)(digits[2 * i] << 4 | digits[2 * i + 1]);
    return true;
}
